//! A gate and a value side by side, and the product of the activated gate with the value.

use tileops_ops::{CheckedCall, DType};

use crate::distribution::Distribution;
use crate::number::round_to;
use crate::ops::elements::{Prepared, elements, rows};
use crate::ops::facts::{extent, maybe};
use crate::ops::quantization::greatest;
use crate::ops::unary::{gelu, gelu_tanh, nan_or, sigmoid, silu, within};
use crate::units::{Inputs, Reference, Target};

pub(crate) const REFERENCES: &[Reference] = &[
    Reference::new("SiluAndMulFwdOp", |call, inputs| halves(call, inputs, |gate, value| silu(gate) * value))
        .drawing(around_zero),
    Reference::new("GegluFwdOp", |call, inputs| match call.str("approximate")? {
        "tanh" => halves(call, inputs, |gate, value| gelu_tanh(gate) * value),
        _ => halves(call, inputs, |gate, value| gelu(gate) * value),
    })
    .drawing(around_zero),
    // The gate is the second half here.
    Reference::new("GluFwdOp", |call, inputs| halves(call, inputs, |value, gate| value * sigmoid(gate)))
        .drawing(around_zero),
    Reference::new("RegluFwdOp", |call, inputs| {
        halves(call, inputs, |gate, value| nan_or(gate, gate.max(0.0)) * value)
    })
    .drawing(around_zero),
    Reference::new("ClampedSwigluFwdOp", clamped_swiglu)
        .drawing(|_, _| Some(Distribution::Uniform { low: -9.0, high: 9.0 })),
    Reference::new("SiluAndMulQuantizeFwdOp", quantized).drawing(around_zero),
];

fn around_zero(_: &CheckedCall, _: &str) -> Option<Distribution> {
    Some(Distribution::Uniform { low: -4.0, high: 4.0 })
}

/// `f` of the first and the second half of each row.
fn halves<'a>(call: &CheckedCall, inputs: &Inputs<'a>, f: impl Fn(f64, f64) -> f64 + Send + Sync + 'a) -> Prepared<'a> {
    let (x, width) = (inputs.tensor(call, "x")?, extent(call, "F")?);
    elements(vec![Target::output("y")], x.len() / 2, move |at, sink| {
        let first = at / width * 2 * width + at % width;
        sink.put(0, at, f(x.get(first), x.get(first + width)));
    })
}

/// Gate and value alternate; the gate is clamped from above, the value on both sides.
fn clamped_swiglu<'a>(call: &CheckedCall, inputs: &Inputs<'a>) -> Prepared<'a> {
    let (x, alpha) = (inputs.tensor(call, "x")?, call.float("alpha")?);
    let limit = maybe(call, "limit")?.unwrap_or(f64::INFINITY);
    elements(vec![Target::output("y")], x.len() / 2, move |at, sink| {
        let (gate, value) = (within(x.get(2 * at), f64::NEG_INFINITY, limit), within(x.get(2 * at + 1), -limit, limit));
        sink.put(0, at, gate * sigmoid(alpha * gate) * (value + 1.0));
    })
}

/// The greatest number of `float8_e4m3fn`.
const GREATEST: f64 = 448.0;

/// A group's scale is its greatest magnitude over the dtype's; the group of zeros has the scale zero, and is zeros.
fn quantized<'a>(call: &CheckedCall, inputs: &Inputs<'a>) -> Prepared<'a> {
    let x = inputs.tensor(call, "x")?;
    let (width, group) = (extent(call, "F")?, extent(call, "group")?);
    let groups = width / group;
    let targets = vec![Target::output("q"), Target::output("scale")];
    rows(targets, x.extent(0) * groups, 2 * group, move |unit, sink| {
        let (row, first) = (unit / groups, unit % groups * group);
        let products: Vec<f64> = (first..first + group)
            .map(|column| {
                let at = row * 2 * width + column;
                silu(x.get(at)) * x.get(at + width)
            })
            .collect();
        let scale = greatest(products.iter().copied()) / GREATEST;
        // The scale that the quotients are taken by is the one that is stored.
        let stored = round_to(DType::Float32, scale);
        for (column, product) in products.iter().enumerate() {
            let quotient = if stored == 0.0 { 0.0 } else { (product / stored).clamp(-GREATEST, GREATEST) };
            sink.put(0, row * width + first + column, quotient);
        }
        sink.put(1, unit, scale);
    })
}
