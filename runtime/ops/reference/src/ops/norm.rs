//! Norms of rows, with what stands before and behind them.

use tileops_ops::{DType, OpError};

use crate::host::View;
use crate::ops::each::{Each, volume};
use crate::ops::facts::extent;
use crate::ops::quantization::greatest;
use crate::ops::unary::silu;
use crate::units::{Reference, Sink, Target, Units};

pub(crate) const REFERENCES: &[Reference] = &[
    Reference::new("RmsNormFwdOp", |call, inputs| {
        let (x, weight) = (inputs.tensor(call, "x")?, inputs.optional("weight"));
        let columns = volume(&call.shape("normalized_shape")?);
        let eps = if call.present("eps")? { call.float("eps")? } else { epsilon(x.dtype) };
        rows(&x, columns, vec![Target::output("y")], move |row, sink| {
            let values = x.row(row * columns, columns);
            put(sink, 0, row, rms(&values, eps).zip(weights(weight, columns)).map(|(n, w)| n * w));
        })
    }),
    Reference::new("LayerNormFwdOp", |call, inputs| {
        let (x, weight, bias) = (inputs.tensor(call, "x")?, inputs.optional("weight"), inputs.optional("bias"));
        let (columns, eps) = (extent(call, "N")?, call.float("eps")?);
        rows(&x, columns, vec![centred("y", columns)], move |row, sink| {
            let values = x.row(row * columns, columns);
            put(sink, 0, row, affine(layer(&values, eps), weight, bias, columns));
        })
    }),
    Reference::new("AddRmsNormFwdOp", |call, inputs| {
        let (x, residual) = (inputs.tensor(call, "x")?, inputs.tensor(call, "residual")?);
        let (weight, columns, eps) = (inputs.optional("weight"), extent(call, "N")?, call.float("eps")?);
        let targets = vec![Target::output("y"), Target::within("sum", "residual")];
        rows(&x, columns, targets, move |row, sink| {
            let sum = added(&x, &residual, row, columns);
            put(sink, 0, row, rms(&sum, eps).zip(weights(weight, columns)).map(|(n, w)| n * w));
            put(sink, 1, row, sum.iter().copied());
        })
    }),
    Reference::new("AddLayerNormFwdOp", |call, inputs| {
        let (x, residual) = (inputs.tensor(call, "x")?, inputs.tensor(call, "residual")?);
        let (weight, bias) = (inputs.optional("weight"), inputs.optional("bias"));
        let (columns, eps) = (extent(call, "N")?, call.float("eps")?);
        rows(&x, columns, vec![centred("y", columns), Target::output("sum")], move |row, sink| {
            let sum = added(&x, &residual, row, columns);
            put(sink, 0, row, affine(layer(&sum, eps), weight, bias, columns));
            put(sink, 1, row, sum.iter().copied());
        })
    }),
    Reference::new("AdaLayerNormFwdOp", |call, inputs| {
        let (x, scale, shift) =
            (inputs.tensor(call, "x")?, inputs.tensor(call, "scale")?, inputs.tensor(call, "shift")?);
        let (height, columns, eps) = (extent(call, "S")?, extent(call, "N")?, call.float("eps")?);
        rows(&x, columns, vec![centred("y", columns)], move |row, sink| {
            let values = x.row(row * columns, columns);
            put(sink, 0, row, modulated(layer(&values, eps), &scale, &shift, row / height, columns));
        })
    }),
    Reference::new("GatedAdaLayerNormFwdOp", |call, inputs| {
        let (branch, gate) = (inputs.tensor(call, "branch")?, inputs.tensor(call, "gate")?);
        let (scale, shift) = (inputs.tensor(call, "scale")?, inputs.tensor(call, "shift")?);
        let residual = inputs.tensor(call, "residual")?;
        let (height, columns, eps) = (extent(call, "S")?, extent(call, "N")?, call.float("eps")?);
        let targets = vec![centred("y", columns), Target::within("sum", "residual")];
        rows(&branch, columns, targets, move |row, sink| {
            let sample = row / height;
            let of = |column: usize| {
                let at = row * columns + column;
                branch.get(at) * gate.get(sample * columns + column) + residual.get(at)
            };
            let sum: Vec<f64> = (0..columns).map(of).collect();
            put(sink, 0, row, modulated(layer(&sum, eps), &scale, &shift, sample, columns));
            put(sink, 1, row, sum.iter().copied());
        })
    }),
    Reference::new("GemmaRmsNormFwdOp", |call, inputs| {
        let (x, weight) = (inputs.tensor(call, "x")?, inputs.optional("weight"));
        let (columns, eps) = (extent(call, "N")?, call.float("eps")?);
        rows(&x, columns, vec![Target::output("y")], move |row, sink| {
            let values = x.row(row * columns, columns);
            put(sink, 0, row, rms(&values, eps).zip(weights(weight, columns)).map(|(n, w)| n * (1.0 + w)));
        })
    }),
    Reference::new("QkRmsNormFwdOp", |call, inputs| {
        let (q, k) = (inputs.tensor(call, "q")?, inputs.tensor(call, "k")?);
        let (q_weight, k_weight) = (inputs.optional("q_weight"), inputs.optional("k_weight"));
        let (columns, eps) = (extent(call, "D")?, call.float("eps")?);
        let of_q = q.len() / columns.max(1);
        let compute = move |unit: usize, sink: &mut Sink| {
            let (target, x, weight, row) = match unit.checked_sub(of_q) {
                None => (0, &q, q_weight, unit),
                Some(row) => (1, &k, k_weight, row),
            };
            let values = x.row(row * columns, columns);
            put(sink, target, row, rms(&values, eps).zip(weights(weight, columns)).map(|(n, w)| n * w));
        };
        let count = of_q + k.len() / columns.max(1);
        let targets = vec![Target::input("q"), Target::input("k")];
        Ok(Box::new(Each { targets, count, cost: columns, compute }))
    }),
    Reference::new("GatedRmsNormFwdOp", |call, inputs| {
        let (x, gate, weight) =
            (inputs.tensor(call, "x")?, inputs.tensor(call, "gate")?, inputs.tensor(call, "weight")?);
        let (groups, before, eps) = (extent(call, "num_groups")?, call.bool("norm_before_gate")?, call.float("eps")?);
        let columns = extent(call, "N")? / groups;
        rows(&x, columns, vec![Target::output("y")], move |row, sink| {
            let values = x.row(row * columns, columns);
            let gates: Vec<f64> = gate.row(row * columns, columns).into_iter().map(silu).collect();
            let weights = weight.row(row % groups * columns, columns);
            let weighed = |normed: Vec<f64>| normed.into_iter().zip(weights).map(|(n, w)| n * w);
            if before {
                put(sink, 0, row, weighed(rms(&values, eps).collect()).zip(gates).map(|(n, g)| n * g));
            } else {
                let gated: Vec<f64> = values.iter().zip(gates).map(|(x, g)| x * g).collect();
                put(sink, 0, row, weighed(rms(&gated, eps).collect()));
            }
        })
    }),
    Reference::new("RmsNormQuantizeFwdOp", |call, inputs| {
        let (x, residual) = (inputs.tensor(call, "x")?, inputs.optional("residual"));
        let (weight, columns, eps) = (inputs.optional("weight"), extent(call, "N")?, call.float("eps")?);
        let mut targets = vec![Target::output("q"), Target::output("scale").sums(columns, 0.0)];
        targets.extend(residual.map(|_| Target::input("residual")));
        let count = call.tensor("scale")?.shape.first().map_or(0, |&rows| usize::try_from(rows).unwrap_or(0));
        let compute = move |row: usize, sink: &mut Sink| {
            let values = match residual {
                Some(residual) => added(&x, &residual, row, columns),
                None => x.row(row * columns, columns),
            };
            let normed: Vec<f64> = rms(&values, eps).zip(weights(weight, columns)).map(|(n, w)| n * w).collect();
            // The row's greatest magnitude becomes the dtype's.
            let scale = greatest(normed.iter().copied()) / 448.0;
            put(sink, 0, row, normed.iter().map(|x| if scale == 0.0 { 0.0 } else { (x / scale).clamp(-448.0, 448.0) }));
            sink.put(1, row, scale);
            if residual.is_some() {
                put(sink, 2, row, values.iter().copied());
            }
        };
        Ok(Box::new(Each { targets, count, cost: columns, compute }))
    }),
    Reference::new("L2NormalizeFwdOp", |call, inputs| {
        let x = inputs.tensor(call, "x")?;
        let (columns, eps) = (extent(call, "N")?, call.float("eps")?);
        rows(&x, columns, vec![Target::output("y")], move |row, sink| {
            let values = x.row(row * columns, columns);
            // What is not a number stays so, where `max` would give eps.
            let length = values.iter().map(|x| x * x).sum::<f64>().sqrt();
            let length = if length < eps { eps } else { length };
            put(sink, 0, row, values.iter().map(|x| x / length));
        })
    }),
];

/// The distance from one to the dtype's next number: what an absent eps is.
fn epsilon(dtype: DType) -> f64 {
    match dtype {
        DType::Float16 => 2_f64.powi(-10),
        DType::BFloat16 => 2_f64.powi(-7),
        _ => 2_f64.powi(-23),
    }
}

/// What is centred is small where it cancels, and its errors are those of numbers around one.
fn centred(name: &'static str, columns: usize) -> Target {
    Target::output(name).sums(columns, 1.0)
}

/// A unit a row of `x`.
fn rows<'a>(
    x: &View<'a>,
    columns: usize,
    targets: Vec<Target>,
    compute: impl Fn(usize, &mut Sink) + Send + Sync + 'a,
) -> Result<Box<dyn Units + 'a>, OpError> {
    Ok(Box::new(Each { targets, count: x.len() / columns.max(1), cost: columns, compute }))
}

fn put(sink: &mut Sink, target: usize, row: usize, values: impl ExactSizeIterator<Item = f64>) {
    let start = row * values.len();
    for (at, value) in values.enumerate() {
        sink.put(target, start + at, value);
    }
}

fn weights(weight: Option<View<'_>>, columns: usize) -> Vec<f64> {
    weight.map_or_else(|| vec![1.0; columns], |weight| weight.row(0, columns))
}

fn added(x: &View<'_>, residual: &View<'_>, row: usize, columns: usize) -> Vec<f64> {
    let start = row * columns;
    (start..start + columns).map(|at| x.get(at) + residual.get(at)).collect()
}

fn rms(values: &[f64], eps: f64) -> impl ExactSizeIterator<Item = f64> {
    let square = values.iter().map(|x| x * x).sum::<f64>() / values.len() as f64;
    let root = (square + eps).sqrt();
    values.iter().map(move |x| x / root)
}

fn layer(values: &[f64], eps: f64) -> impl ExactSizeIterator<Item = f64> {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let variance = values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / values.len() as f64;
    let root = (variance + eps).sqrt();
    values.iter().map(move |x| (x - mean) / root)
}

fn affine(
    normed: impl ExactSizeIterator<Item = f64>,
    weight: Option<View<'_>>,
    bias: Option<View<'_>>,
    columns: usize,
) -> impl ExactSizeIterator<Item = f64> {
    let biases = bias.map_or_else(|| vec![0.0; columns], |bias| bias.row(0, columns));
    normed.zip(weights(weight, columns)).zip(biases).map(|((n, w), b)| n * w + b)
}

fn modulated(
    normed: impl ExactSizeIterator<Item = f64>,
    scale: &View<'_>,
    shift: &View<'_>,
    sample: usize,
    columns: usize,
) -> impl ExactSizeIterator<Item = f64> {
    let of_sample = |view: &View<'_>| view.row(sample * columns, columns);
    normed.zip(of_sample(scale)).zip(of_sample(shift)).map(|((n, scale), shift)| n * (1.0 + scale) + shift)
}
