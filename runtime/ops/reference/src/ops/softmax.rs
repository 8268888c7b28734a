//! The softmax family along one axis.

use tileops_ops::{CheckedCall, OpError};

use crate::distribution::Distribution;
use crate::ops::each::{Each, Lines};
use crate::units::{Inputs, Reference, Sink, Target, Units};

pub(crate) const REFERENCES: &[Reference] = &[
    Reference::new("SoftmaxFwdOp", |call, inputs| {
        along_axis(call, inputs, Target::output("y"), |line| softmax(line).collect())
    }),
    Reference::new("LogSoftmaxFwdOp", |call, inputs| {
        let length = Lines::along(&call.shape("x")?, call.int("dim")?.get()?).length;
        let target = Target::output("y").sums(length, (length as f64).ln().max(1.0));
        along_axis(call, inputs, target, |line| {
            let (greatest, sum) = mass(line);
            line.iter().map(|x| x - greatest - sum.ln()).collect()
        })
    }),
    Reference::new("SoftmaxBwdOp", backward).drawing(|call, name| {
        // Shares of a whole, as a softmax gives them.
        let length = Lines::along(&call.shape("y").ok()?, call.int("dim").ok()?.get().ok()?).length.max(1);
        (name == "y").then_some(Distribution::Uniform { low: 0.0, high: 2.0 / length as f32 })
    }),
    Reference::new("ScaledMaskedSoftmaxFwdOp", scaled_masked),
];

/// `log(sum(exp(x)))`, by way of the greatest.
pub(crate) fn log_sum_exp(line: &[f64]) -> f64 {
    let (greatest, sum) = mass(line);
    if greatest == f64::NEG_INFINITY && !line.iter().any(|x| x.is_nan()) {
        return greatest;
    }
    greatest + sum.ln()
}

/// The greatest, and the sum of `exp(x - greatest)`: beside a number that is far out, the sum's logarithm would be lost.
fn mass(line: &[f64]) -> (f64, f64) {
    let greatest = line.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    (greatest, line.iter().map(|x| (x - greatest).exp()).sum())
}

fn softmax(line: &[f64]) -> impl Iterator<Item = f64> {
    let (greatest, sum) = mass(line);
    line.iter().map(move |x| (x - greatest).exp() / sum)
}

/// A function of each line along the call's `dim`: as many elements as the line has.
pub(crate) fn along_axis<'a>(
    call: &'a CheckedCall,
    inputs: &Inputs<'a>,
    target: Target,
    function: impl Fn(&[f64]) -> Vec<f64> + Send + Sync + 'a,
) -> Result<Box<dyn Units + 'a>, OpError> {
    let x = inputs.tensor(call, "x")?;
    let lines = Lines::along(x.shape, call.int("dim")?.get()?);
    let compute = move |line: usize, sink: &mut Sink| {
        for (at, value) in function(&lines.of(&x, line)).into_iter().enumerate() {
            sink.put(0, lines.at(line, at), value);
        }
    };
    Ok(Box::new(Each { targets: vec![target], count: lines.count(), cost: lines.length, compute }))
}

fn backward<'a>(call: &'a CheckedCall, inputs: &'a Inputs<'a>) -> Result<Box<dyn Units + 'a>, OpError> {
    let (dy, y) = (inputs.tensor(call, "dy")?, inputs.tensor(call, "y")?);
    let lines = Lines::along(y.shape, call.int("dim")?.get()?);
    let compute = move |line: usize, sink: &mut Sink| {
        let (gradient, shares) = (lines.of(&dy, line), lines.of(&y, line));
        let mean: f64 = gradient.iter().zip(&shares).map(|(g, y)| g * y).sum();
        for (at, (g, y)) in gradient.iter().zip(&shares).enumerate() {
            sink.put(0, lines.at(line, at), y * (g - mean));
        }
    };
    let target = Target::output("dx").sums(lines.length, 1.0 / lines.length.max(1) as f64);
    Ok(Box::new(Each { targets: vec![target], count: lines.count(), cost: lines.length, compute }))
}

fn scaled_masked<'a>(call: &'a CheckedCall, inputs: &'a Inputs<'a>) -> Result<Box<dyn Units + 'a>, OpError> {
    let (scores, mask) = (inputs.tensor(call, "scores")?, inputs.optional("mask"));
    let scale = call.float("scale")?;
    let (heads, height, length) = (scores.extent(1), scores.extent(2), scores.extent(3));
    let compute = move |row: usize, sink: &mut Sink| {
        let mut line: Vec<f64> = scores.row(row * length, length).iter().map(|x| x * scale).collect();
        if let Some(mask) = mask {
            // The mask's axes of extent one stand for all.
            let index = |axis: usize, at: usize| if mask.extent(axis) == 1 { 0 } else { at };
            let batch = index(0, row / height / heads);
            let of_row = (batch * mask.extent(2) + index(2, row % height)) * length;
            line.iter_mut().enumerate().for_each(|(at, x)| *x += mask.get(of_row + at));
        }
        for (at, value) in softmax(&line).enumerate() {
            sink.put(0, row * length + at, value);
        }
    };
    let count = scores.len() / length.max(1);
    Ok(Box::new(Each { targets: vec![Target::output("y")], count, cost: length, compute }))
}
