//! Running reductions along one axis.

use tileops_ops::{CheckedCall, DType, OpError};

use crate::distribution::Distribution;
use crate::ops::each::{Each, Lines};
use crate::ops::facts::extent;
use crate::ops::softmax::along_axis;
use crate::units::{Inputs, Reference, Sink, Target, Units};

pub(crate) const REFERENCES: &[Reference] = &[
    Reference::new("CumsumFwdOp", |call, inputs| match whole(call)? {
        Some(bits) => wholes(call, inputs, bits, 0, i128::wrapping_add),
        None => reals(call, inputs, 0.5, |line| running(line, 0.0, |sum, x| sum + x)),
    }),
    Reference::new("CumprodFwdOp", |call, inputs| match whole(call)? {
        Some(bits) => wholes(call, inputs, bits, 1, i128::wrapping_mul),
        None => reals(call, inputs, 0.0, |line| running(line, 1.0, |product, x| product * x)),
    })
    .drawing(|call, _| {
        let length = Lines::along(&call.shape("x").ok()?, call.int("dim").ok()?.get().ok()?).length.max(1);
        Some(match whole(call).ok()? {
            Some(_) => Distribution::Integers { low: 3, high: 4 },
            None => {
                // Around one, so that long products are numbers as well.
                let width = (1.0 / (length as f32).sqrt()).min(0.5);
                Distribution::Uniform { low: 1.0 - width, high: 1.0 + width }
            }
        })
    }),
    Reference::new("CummaxFwdOp", |call, inputs| {
        let x = inputs.tensor(call, "x")?;
        let lines = Lines::along(x.shape, call.int("dim")?.get()?);
        let compute = move |line: usize, sink: &mut Sink| {
            let values = lines.of(&x, line);
            let mut best = 0;
            for (at, &value) in values.iter().enumerate() {
                // The last of several that are as great. What is not a number exceeds all.
                if value.is_nan() || (!values[best].is_nan() && value >= values[best]) {
                    best = at;
                }
                sink.put(0, lines.at(line, at), values[best]);
                sink.put_int(1, lines.at(line, at), best as i128);
            }
        };
        let targets = vec![Target::output("values"), Target::output("indices")];
        Ok(Box::new(Each { targets, count: lines.count(), cost: lines.length, compute }))
    }),
    Reference::new("LogCumsumExpFwdOp", |call, inputs| {
        let length = Lines::along(&call.shape("x")?, call.int("dim")?.get()?).length;
        reals(call, inputs, (length.max(3) as f64).ln(), |line| {
            running(line, f64::NEG_INFINITY, |whole, x| {
                let (most, least) = if whole.is_nan() || whole > x { (whole, x) } else { (x, whole) };
                if most == least { most + 2_f64.ln() } else { most + (least - most).exp().ln_1p() }
            })
        })
    }),
    Reference::new("SegmentSumFwdOp", |call, inputs| {
        let (x, starts) = (inputs.tensor(call, "x")?, inputs.tensor(call, "starts")?);
        let (lengths, columns) = (inputs.tensor(call, "lengths_of")?, extent(call, "H")?);
        let compute = move |segment: usize, sink: &mut Sink| {
            let start = usize::try_from(starts.int(segment)).unwrap_or(0);
            let length = usize::try_from(lengths.int(segment)).unwrap_or(0);
            for column in 0..columns {
                let sum = (start..start + length).map(|row| x.get(row * columns + column)).sum();
                sink.put(0, segment * columns + column, sum);
            }
        };
        let (count, rows) = (lengths.len(), x.extent(0));
        let targets = vec![Target::output("y").sums(rows, 0.5)];
        Ok(Box::new(Each { targets, count, cost: rows * columns / count.max(1), compute }))
    }),
];

/// The bits of a dtype of whole numbers.
fn whole(call: &CheckedCall) -> Result<Option<u32>, OpError> {
    let dtype = call.dtype("x")?;
    Ok(matches!(dtype, DType::Int32 | DType::Int64).then(|| dtype.bits()))
}

fn running(line: &[f64], start: f64, fold: impl Fn(f64, f64) -> f64) -> Vec<f64> {
    line.iter()
        .scan(start, |state, &x| {
            *state = fold(*state, x);
            Some(*state)
        })
        .collect()
}

fn reals<'a>(
    call: &'a CheckedCall,
    inputs: &Inputs<'a>,
    scale: f64,
    function: impl Fn(&[f64]) -> Vec<f64> + Send + Sync + 'a,
) -> Result<Box<dyn Units + 'a>, OpError> {
    let length = Lines::along(&call.shape("x")?, call.int("dim")?.get()?).length;
    along_axis(call, inputs, Target::output("y").sums(length, scale), function)
}

/// Whole numbers that overflow wrap around.
fn wholes<'a>(
    call: &'a CheckedCall,
    inputs: &Inputs<'a>,
    bits: u32,
    start: i128,
    fold: fn(i128, i128) -> i128,
) -> Result<Box<dyn Units + 'a>, OpError> {
    let x = inputs.tensor(call, "x")?;
    let lines = Lines::along(x.shape, call.int("dim")?.get()?);
    let compute = move |line: usize, sink: &mut Sink| {
        let mut state = start;
        for at in 0..lines.length {
            let place = lines.at(line, at);
            state = fold(state, x.int(place)) << (128 - bits) >> (128 - bits);
            sink.put_int(0, place, state);
        }
    };
    Ok(Box::new(Each { targets: vec![Target::output("y")], count: lines.count(), cost: lines.length, compute }))
}
