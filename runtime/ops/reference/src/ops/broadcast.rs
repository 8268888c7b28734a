//! Two or three tensors in, one out, broadcast to each other.

use tileops_ops::{Category, CheckedCall, DType};

use crate::distribution::Distribution;
use crate::number::round_to;
use crate::ops::elements::{Prepared, elements, maybe_within, operand};
use crate::ops::unary::{nan_or, wrapped};
use crate::units::{Inputs, Reference, Target};

pub(crate) const REFERENCES: &[Reference] = &[
    Reference::new("AddFwdOp", |call, inputs| {
        let alpha = call.float("alpha")?;
        both(call, inputs, ["a", "b"], move |a, b| a + alpha * b, move |a, b| a + alpha as i128 * b)
    }),
    Reference::new("SubFwdOp", |call, inputs| {
        let alpha = call.float("alpha")?;
        both(call, inputs, ["a", "b"], move |a, b| a - alpha * b, move |a, b| a - alpha as i128 * b)
    }),
    Reference::new("MulFwdOp", |call, inputs| real(call, inputs, ["a", "b"], |a, b| a * b)),
    Reference::new("DivFwdOp", div).drawing(divisor),
    Reference::new("RemainderFwdOp", |call, inputs| both(call, inputs, ["a", "b"], remainder, remainder_of_whole))
        .drawing(divisor),
    Reference::new("PowFwdOp", |call, inputs| real(call, inputs, ["base", "exponent"], f64::powf)).drawing(
        |_, name| {
            Some(match name {
                "base" => Distribution::Uniform { low: 0.0625, high: 4.0 },
                _ => Distribution::Uniform { low: -4.0, high: 4.0 },
            })
        },
    ),
    Reference::new("MaximumFwdOp", |call, inputs| both(call, inputs, ["a", "b"], maximum, i128::max)),
    Reference::new("MinimumFwdOp", |call, inputs| both(call, inputs, ["a", "b"], |a, b| -maximum(-a, -b), i128::min)),
    Reference::new("EqFwdOp", |call, inputs| truth(call, inputs, |a, b| a == b, |a, b| a == b)).drawing(few),
    Reference::new("GtFwdOp", |call, inputs| truth(call, inputs, |a, b| a > b, |a, b| a > b)).drawing(few),
    Reference::new("LogicalXorFwdOp", |call, inputs| {
        truth(call, inputs, |a, b| (a != 0.0) != (b != 0.0), |a, b| (a != 0) != (b != 0))
    })
    .drawing(few),
    Reference::new("BitwiseAndFwdOp", |call, inputs| both(call, inputs, ["a", "b"], |a, _| a, |a, b| a & b)),
    Reference::new("PreluFwdOp", prelu),
    Reference::new("MaskedFillFwdOp", masked_fill),
    Reference::new("WhereFwdOp", select),
    Reference::new("LerpFwdOp", |call, inputs| {
        three(call, inputs, ["start", "end", "weight"], |start, end, weight| start + weight * (end - start))
    })
    .drawing(|_, name| (name == "weight").then_some(Distribution::Uniform { low: 0.0, high: 1.0 })),
    Reference::new("AddcmulFwdOp", |call, inputs| {
        let value = call.float("value")?;
        three(call, inputs, ["x", "a", "b"], move |x, a, b| x + value * (a * b))
    }),
    Reference::new("AddcdivFwdOp", |call, inputs| {
        let value = call.float("value")?;
        three(call, inputs, ["x", "a", "b"], move |x, a, b| x + value * (a / b))
    })
    .drawing(|_, name| (name == "b").then_some(Distribution::Uniform { low: 0.5, high: 2.0 })),
    Reference::new("ClampTensorFwdOp", clamp).drawing(|call, name| {
        let whole = call.tensor(name).ok()?.dtype.category() == Category::Int;
        match (name, whole) {
            ("min", true) => Some(Distribution::Integers { low: -60, high: 10 }),
            ("max", true) => Some(Distribution::Integers { low: -10, high: 60 }),
            ("min", false) => Some(Distribution::Uniform { low: -0.6, high: 0.1 }),
            ("max", false) => Some(Distribution::Uniform { low: -0.1, high: 0.6 }),
            _ => None,
        }
    }),
    Reference::new("RepetitionPenaltyFwdOp", |call, inputs| {
        let penalty = call.float("penalty")?;
        let (logits, seen) = (inputs.tensor(call, "logits")?, inputs.tensor(call, "seen")?);
        elements(vec![Target::input("logits")], logits.len(), move |at, sink| {
            let logit = logits.get(at);
            let penalised = if logit > 0.0 { logit / penalty } else { logit * penalty };
            sink.put(0, at, if seen.int(at) != 0 { penalised } else { logit });
        })
    })
    .drawing(|_, name| (name == "logits").then_some(Distribution::Uniform { low: -8.0, high: 8.0 })),
    // As torch.nn.utils.clip_grad_norm_, which guards the norm by 1e-6.
    Reference::new("GradClipFwdOp", |call, inputs| {
        let (grad, norm) = (inputs.tensor(call, "grad")?, inputs.tensor(call, "norm")?);
        let factor = call.float("max_norm")? / (norm.get(0) + 1e-6);
        // A norm that is not a number leaves no gradient that is one.
        let factor = nan_or(factor, factor.min(1.0));
        elements(vec![Target::input("grad")], grad.len(), move |at, sink| sink.put(0, at, grad.get(at) * factor))
    })
    .drawing(|_, name| (name == "norm").then_some(Distribution::Uniform { low: 2.0, high: 8.0 })),
];

/// Divisors are not zero; dividends are several times as large.
fn divisor(call: &CheckedCall, name: &str) -> Option<Distribution> {
    let whole = call.tensor(name).ok()?.dtype.category() == Category::Int;
    Some(match (name, whole) {
        ("b", true) => Distribution::Integers { low: 1, high: 64 },
        ("b", false) => Distribution::Uniform { low: 0.25, high: 2.0 },
        (_, true) => Distribution::Integers { low: -5000, high: 5000 },
        (_, false) => Distribution::Uniform { low: -16.0, high: 16.0 },
    })
}

/// Whole numbers of which many are equal.
fn few(call: &CheckedCall, name: &str) -> Option<Distribution> {
    match call.tensor(name).ok()?.dtype.category() {
        Category::Bool => None,
        _ => Some(Distribution::Integers { low: 0, high: 4 }),
    }
}

fn maximum(a: f64, b: f64) -> f64 {
    if a.is_nan() || b.is_nan() { f64::NAN } else { a.max(b) }
}

/// A function of real numbers, and the same of whole ones, which wraps around in the output's dtype.
fn both<'a>(
    call: &CheckedCall,
    inputs: &Inputs<'a>,
    names: [&str; 2],
    f: impl Fn(f64, f64) -> f64 + Send + Sync + 'a,
    whole: impl Fn(i128, i128) -> i128 + Send + Sync + 'a,
) -> Prepared<'a> {
    let y = call.tensor("y")?;
    let [a, b] = [operand(call, inputs, names[0], "y")?, operand(call, inputs, names[1], "y")?];
    let (dtype, count) = (y.dtype, count(call)?);
    let target = vec![Target::output("y")];
    match dtype.category() {
        Category::Int | Category::Bool => elements(target, count, move |at, sink| {
            sink.put_int(0, at, wrapped(dtype, whole(a.int(at), b.int(at))));
        }),
        _ => elements(target, count, move |at, sink| sink.put(0, at, f(a.get(at), b.get(at)))),
    }
}

fn real<'a>(
    call: &CheckedCall,
    inputs: &Inputs<'a>,
    names: [&str; 2],
    f: impl Fn(f64, f64) -> f64 + Send + Sync + 'a,
) -> Prepared<'a> {
    both(call, inputs, names, f, |a, _| a)
}

fn three<'a>(
    call: &CheckedCall,
    inputs: &Inputs<'a>,
    names: [&str; 3],
    f: impl Fn(f64, f64, f64) -> f64 + Send + Sync + 'a,
) -> Prepared<'a> {
    let [a, b, c] = names.map(|name| operand(call, inputs, name, "y"));
    let (a, b, c) = (a?, b?, c?);
    elements(vec![Target::output("y")], count(call)?, move |at, sink| {
        sink.put(0, at, f(a.get(at), b.get(at), c.get(at)));
    })
}

fn truth<'a>(
    call: &CheckedCall,
    inputs: &Inputs<'a>,
    f: impl Fn(f64, f64) -> bool + Send + Sync + 'a,
    whole: impl Fn(i128, i128) -> bool + Send + Sync + 'a,
) -> Prepared<'a> {
    let [a, b] = [operand(call, inputs, "a", "y")?, operand(call, inputs, "b", "y")?];
    let exact = matches!(a.view.dtype.category(), Category::Int | Category::Bool);
    elements(vec![Target::output("y")], count(call)?, move |at, sink| {
        let holds = if exact { whole(a.int(at), b.int(at)) } else { f(a.get(at), b.get(at)) };
        sink.put_int(0, at, holds.into());
    })
}

fn count(call: &CheckedCall) -> Result<usize, tileops_ops::OpError> {
    Ok(usize::try_from(call.tensor("y")?.numel().get()?).unwrap_or(usize::MAX))
}

/// Without a rounding mode the quotient of integers is a float, of operands that were converted to it.
fn div<'a>(call: &CheckedCall, inputs: &Inputs<'a>) -> Prepared<'a> {
    let names = ["a", "b"];
    if !call.present("rounding_mode")? {
        let whole = call.tensor("a")?.dtype.category() == Category::Int;
        let single = move |x| if whole { round_to(DType::Float32, x) } else { x };
        return real(call, inputs, names, move |a, b| single(a) / single(b));
    }
    match call.str("rounding_mode")? {
        "floor" => both(call, inputs, names, floor_quotient, floor_div),
        _ => both(call, inputs, names, |a, b| (a / b).trunc(), |a, b| if b == 0 { 0 } else { a / b }),
    }
}

/// The quotient towards negative infinity, by way of the rest, as PyTorch has it: an infinite dividend has no rest, and a
/// number that is not above zero is less than nothing of an infinite divisor, or nothing.
fn floor_quotient(a: f64, b: f64) -> f64 {
    let rest = a % b;
    if b == 0.0 || rest.is_nan() {
        return if b == 0.0 { a / b } else { f64::NAN };
    }
    let whole = ((a - rest) / b).round();
    if rest != 0.0 && (rest < 0.0) != (b < 0.0) { whole - 1.0 } else { whole }
}

/// The quotient towards negative infinity; by zero, zero.
fn floor_div(a: i128, b: i128) -> i128 {
    if b == 0 { 0 } else { a.div_euclid(b) - i128::from(b < 0 && a.rem_euclid(b) != 0) }
}

/// `a - floor(a / b) * b`, which has the sign of `b`.
fn remainder(a: f64, b: f64) -> f64 {
    let rest = a % b;
    if rest != 0.0 && (rest < 0.0) != (b < 0.0) { rest + b } else { rest }
}

fn remainder_of_whole(a: i128, b: i128) -> i128 {
    if b == 0 { 0 } else { a - floor_div(a, b) * b }
}

/// One slope a channel, or one for all of them.
fn prelu<'a>(call: &CheckedCall, inputs: &Inputs<'a>) -> Prepared<'a> {
    let (x, weight) = (inputs.tensor(call, "x")?, inputs.tensor(call, "weight")?);
    let channels = x.extent(1);
    let inner = x.shape[2..].iter().map(|&extent| usize::try_from(extent).unwrap_or(0)).product::<usize>();
    let slopes = weight.len();
    elements(vec![Target::output("y")], x.len(), move |at, sink| {
        let slope = weight.get(if slopes == 1 { 0 } else { at / inner % channels });
        let element = x.get(at);
        sink.put(0, at, if element > 0.0 { element } else { slope * element });
    })
}

fn masked_fill<'a>(call: &CheckedCall, inputs: &Inputs<'a>) -> Prepared<'a> {
    let value = match call.value("value")? {
        tileops_ops::Value::Bool(truth) => f64::from(u8::from(*truth)),
        _ => call.float("value")?,
    };
    let x = inputs.tensor(call, "x")?;
    let mask = operand(call, inputs, "mask", "y")?;
    elements(vec![maybe_within(call, "y", "x")?], x.len(), move |at, sink| {
        sink.put(0, at, if mask.int(at) != 0 { value } else { x.get(at) });
    })
}

fn select<'a>(call: &CheckedCall, inputs: &Inputs<'a>) -> Prepared<'a> {
    let condition = operand(call, inputs, "condition", "y")?;
    let (a, b) = (operand(call, inputs, "a", "y")?, operand(call, inputs, "b", "y")?);
    let whole = a.view.dtype.category() == Category::Int;
    elements(vec![Target::output("y")], count(call)?, move |at, sink| {
        let chosen = if condition.int(at) != 0 { &a } else { &b };
        if whole { sink.put_int(0, at, chosen.int(at)) } else { sink.put(0, at, chosen.get(at)) }
    })
}

fn clamp<'a>(call: &CheckedCall, inputs: &Inputs<'a>) -> Prepared<'a> {
    let [x, low, high] = ["x", "min", "max"].map(|name| operand(call, inputs, name, "y"));
    let (x, low, high) = (x?, low?, high?);
    let whole = x.view.dtype.category() == Category::Int;
    elements(vec![Target::output("y")], count(call)?, move |at, sink| {
        if whole {
            sink.put_int(0, at, x.int(at).max(low.int(at)).min(high.int(at)));
        } else {
            sink.put(0, at, -maximum(-maximum(x.get(at), low.get(at)), -high.get(at)));
        }
    })
}
