//! Gradients of norms of rows, and of their weights.

use tileops_ops::{CheckedCall, OpError};

use crate::distribution::Distribution;
use crate::ops::each::Each;
use crate::ops::facts::extent;
use crate::units::{Inputs, Reference, Sink, Target, Units};

pub(crate) const REFERENCES: &[Reference] = &[
    Reference::new("RmsNormBwdOp", backward).drawing(statistics),
    Reference::new("LayerNormBwdOp", backward).drawing(statistics),
];

/// About what rows of numbers between -1 and 1 have.
fn statistics(_: &CheckedCall, name: &str) -> Option<Distribution> {
    match name {
        "rstd" => Some(Distribution::Uniform { low: 1.0, high: 2.0 }),
        "mean" => Some(Distribution::Uniform { low: -0.1, high: 0.1 }),
        _ => None,
    }
}

/// Units are the rows, whose dx they give, and behind them the columns, whose weights' gradients they give. Without a mean
/// there is no bias.
fn backward<'a>(call: &'a CheckedCall, inputs: &'a Inputs<'a>) -> Result<Box<dyn Units + 'a>, OpError> {
    let (dy, x) = (inputs.tensor(call, "dy")?, inputs.tensor(call, "x")?);
    let (weight, rstd) = (inputs.tensor(call, "weight")?, inputs.tensor(call, "rstd")?);
    let mean = inputs.optional("mean");
    let (rows, columns) = (extent(call, "M")?, extent(call, "N")?);
    let mean_of = move |row: usize| mean.map_or(0.0, |mean| mean.get(row));
    let normed = move |row: usize, column: usize| (x.get(row * columns + column) - mean_of(row)) * rstd.get(row);
    let compute = move |unit: usize, sink: &mut Sink| {
        if let Some(column) = unit.checked_sub(rows) {
            let gradients = |row: usize| dy.get(row * columns + column);
            sink.put(1, column, (0..rows).map(|row| gradients(row) * normed(row, column)).sum());
            if mean.is_some() {
                sink.put(2, column, (0..rows).map(gradients).sum());
            }
            return;
        }
        let h: Vec<f64> = (0..columns).map(|column| normed(unit, column)).collect();
        let g: Vec<f64> = (0..columns).map(|column| dy.get(unit * columns + column) * weight.get(column)).collect();
        let share = |sum: f64| sum / columns as f64;
        let level = if mean.is_some() { share(g.iter().sum()) } else { 0.0 };
        let along = share(g.iter().zip(&h).map(|(g, h)| g * h).sum());
        for (column, (g, h)) in g.iter().zip(&h).enumerate() {
            sink.put(0, unit * columns + column, rstd.get(unit) * (g - level - h * along));
        }
    };
    let mut targets = vec![Target::output("dx").sums(columns, 0.5), Target::output("dweight").sums(rows, 0.5)];
    if mean.is_some() {
        targets.push(Target::output("dbias").sums(rows, 0.5));
    }
    Ok(Box::new(Each { targets, count: rows + columns, cost: rows.max(columns), compute }))
}
