//! Losses over rows of logits, and the likeliest token.

use rayon::prelude::*;
use tileops_ops::{CheckedCall, OpError};

use crate::distribution::Distribution;
use crate::ops::each::Each;
use crate::ops::facts::extent;
use crate::ops::reduction::most;
use crate::ops::softmax::log_sum_exp;
use crate::units::{Inputs, Reference, Sink, Target, Units};

pub(crate) const REFERENCES: &[Reference] = &[
    Reference::new("CrossEntropyFwdOp", cross_entropy),
    Reference::new("CrossEntropyBwdOp", |call, inputs| {
        let (grad, logits) = (inputs.tensor(call, "grad")?, inputs.tensor(call, "logits")?);
        let (lse, target) = (inputs.tensor(call, "lse")?, inputs.tensor(call, "target")?);
        let columns = extent(call, "V")?;
        let compute = move |row: usize, sink: &mut Sink| {
            for column in 0..columns {
                let share = (logits.get(row * columns + column) - lse.get(row)).exp();
                let hit = f64::from(u8::from(column as i128 == target.int(row)));
                sink.put(0, row * columns + column, grad.get(row) * (share - hit));
            }
        };
        Ok(Box::new(Each { targets: vec![Target::input("logits")], count: grad.len(), cost: columns, compute }))
    })
    .drawing(|call, name| {
        // What the logits' own would be, about.
        let log = (call.int("V").ok()?.get().ok()? as f32).ln();
        (name == "lse").then_some(Distribution::Uniform { low: log, high: log + 0.5 })
    }),
    Reference::new("KlDivFwdOp", kl_div).drawing(|call, name| match name {
        "target" if !call.bool("log_target").ok()? => Some(Distribution::Uniform { low: 0.0, high: 1.0 }),
        _ => None,
    }),
    Reference::new("GreedySampleFwdOp", |call, inputs| {
        let logits = inputs.tensor(call, "logits")?;
        let (columns, with_logprobs) = (extent(call, "V")?, call.bool("return_logprobs")?);
        let mut targets = vec![Target::output("token")];
        if with_logprobs {
            targets.push(Target::output("logprob").sums(columns, (columns as f64).ln().max(1.0)));
        }
        let compute = move |row: usize, sink: &mut Sink| {
            let line = logits.row(row * columns, columns);
            let best = most(&line);
            sink.put_int(0, row, best as i128);
            if with_logprobs {
                sink.put(1, row, line[best] - log_sum_exp(&line));
            }
        };
        Ok(Box::new(Each { targets, count: logits.extent(0), cost: columns, compute }))
    }),
];

fn cross_entropy<'a>(call: &'a CheckedCall, inputs: &'a Inputs<'a>) -> Result<Box<dyn Units + 'a>, OpError> {
    let (logits, target) = (inputs.tensor(call, "logits")?, inputs.tensor(call, "target")?);
    let (rows, columns) = (extent(call, "N")?, extent(call, "V")?);
    let (smoothing, reduction) = (call.float("label_smoothing")?, call.str("reduction")?);
    let of_row = move |row: usize| {
        let line = logits.row(row * columns, columns);
        let whole = log_sum_exp(&line);
        let chosen = usize::try_from(target.int(row)).unwrap_or(0);
        let level = whole - line.iter().sum::<f64>() / columns as f64;
        (1.0 - smoothing) * (whole - line[chosen]) + smoothing * level
    };
    let target = Target::output("loss").sums(columns, (columns as f64).ln());
    if reduction == "none" {
        let compute = move |row: usize, sink: &mut Sink| sink.put(0, row, of_row(row));
        return Ok(Box::new(Each { targets: vec![target], count: rows, cost: columns, compute }));
    }
    let divisor = if reduction == "mean" { rows as f64 } else { 1.0 };
    let compute = move |_: usize, sink: &mut Sink| {
        let sum: f64 = (0..rows).into_par_iter().map(of_row).sum();
        sink.put(0, 0, sum / divisor);
    };
    Ok(Box::new(Each { targets: vec![target], count: 1, cost: rows * columns, compute }))
}

fn kl_div<'a>(call: &'a CheckedCall, inputs: &'a Inputs<'a>) -> Result<Box<dyn Units + 'a>, OpError> {
    let (input, target) = (inputs.tensor(call, "input")?, inputs.tensor(call, "target")?);
    let (rows, columns, log_target) = (extent(call, "N")?, extent(call, "V")?, call.bool("log_target")?);
    let of_row = move |row: usize| -> f64 {
        let pairs = (row * columns..(row + 1) * columns).map(|at| (input.get(at), target.get(at)));
        let terms = pairs.map(|(x, aim)| match log_target {
            true => aim.exp() * (aim - x),
            // No logarithm of nothing; a zero times an infinite input is no number, as PyTorch has it.
            false if aim == 0.0 => aim * -x,
            false => aim * (aim.ln() - x),
        });
        terms.sum()
    };
    let compute = move |_: usize, sink: &mut Sink| {
        let sum: f64 = (0..rows).into_par_iter().map(of_row).sum();
        sink.put(0, 0, sum / rows as f64);
    };
    let targets = vec![Target::output("loss").sums(rows * columns, columns as f64 / 4.0)];
    Ok(Box::new(Each { targets, count: 1, cost: rows * columns, compute }))
}
