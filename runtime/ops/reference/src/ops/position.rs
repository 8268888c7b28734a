//! Masks, biases and tables that follow from positions.

use tileops_ops::{CheckedCall, DType};

use crate::distribution::Distribution;
use crate::ops::elements::{Prepared, elements};
use crate::ops::facts::extent;
use crate::units::{Inputs, Reference, Target};

pub(crate) const REFERENCES: &[Reference] = &[
    Reference::new("CausalMaskFwdOp", causal),
    Reference::new("AlibiBiasFwdOp", |call, inputs| {
        let slopes = inputs.tensor(call, "slopes")?;
        let (queries, keys) = (extent(call, "queries")?, extent(call, "keys")?);
        elements(vec![Target::output("bias")], slopes.len() * queries * keys, move |at, sink| {
            let (head, query, key) = (at / (queries * keys), at / keys % queries, at % keys);
            // The queries are the last of the keys' positions.
            let distance = (keys - queries + query).abs_diff(key);
            sink.put(0, at, -slopes.get(head) * distance as f64);
        })
    })
    .drawing(|_, _| Some(Distribution::Uniform { low: 0.0, high: 1.0 })),
    Reference::new("SinusoidalPositionsFwdOp", |call, _| {
        let (length, width, period) = (extent(call, "length")?, extent(call, "width")?, call.float("max_period")?);
        let half = width / 2;
        elements(vec![Target::output("table")], length * width, move |at, sink| {
            let (position, column) = (at / width, at % width);
            let angle = position as f64 * period.powf(-((column % half) as f64) / half as f64);
            sink.put(0, at, if column < half { angle.sin() } else { angle.cos() });
        })
    }),
    Reference::new("RopeTableFwdOp", |call, inputs| {
        let frequencies = inputs.tensor(call, "frequencies")?;
        let (pairs, length) = (extent(call, "P")?, extent(call, "length")?);
        let factor = call.float("attention_factor")?;
        elements(vec![Target::output("cos"), Target::output("sin")], length * pairs, move |at, sink| {
            let angle = (at / pairs) as f64 * frequencies.get(at % pairs);
            sink.put(0, at, factor * angle.cos());
            sink.put(1, at, factor * angle.sin());
        })
    })
    .drawing(|_, _| Some(Distribution::Uniform { low: 0.0, high: 1.0 })),
    Reference::new("CausalLengthsMaskFwdOp", |call, inputs| {
        let (valid, size) = (inputs.tensor(call, "valid")?, extent(call, "size")?);
        elements(vec![Target::output("mask")], valid.len() * size * size, move |at, sink| {
            let (request, query, key) = (at / (size * size), at / size % size, at % size);
            sink.put_int(0, at, (key <= query && (key as i128) < valid.int(request)).into());
        })
    }),
];

/// Which keys a query sees: true as a Boolean; as a number, zero for them and negative infinity for the others.
fn causal<'a>(call: &CheckedCall, _: &Inputs<'a>) -> Prepared<'a> {
    let length = extent(call, "length")?;
    let window = if call.present("window")? { extent(call, "window")? } else { length };
    let truth = call.tensor("mask")?.dtype == DType::Bool;
    elements(vec![Target::output("mask")], length * length, move |at, sink| {
        let (query, key) = (at / length, at % length);
        let seen = key <= query && query - key < window;
        if truth {
            sink.put_int(0, at, seen.into());
        } else {
            sink.put(0, at, if seen { 0.0 } else { f64::NEG_INFINITY });
        }
    })
}
