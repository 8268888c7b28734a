//! One tensor in, one of the same shape out: functions of each element, activations among them.

use tileops_ops::{Category, CheckedCall, DType};

use crate::distribution::Distribution;
use crate::number::{get, round_to};
use crate::ops::elements::{Prepared, elements, maybe_within};
use crate::ops::facts::maybe;
use crate::units::{Inputs, Reference, Target};

pub(crate) const REFERENCES: &[Reference] = &[
    Reference::new("ExpFwdOp", |call, inputs| real(call, inputs, f64::exp)),
    Reference::new("LogFwdOp", |call, inputs| real(call, inputs, f64::ln)).drawing(positive),
    Reference::new("Log1pFwdOp", |call, inputs| real(call, inputs, f64::ln_1p)),
    Reference::new("SinFwdOp", |call, inputs| real(call, inputs, f64::sin)).drawing(|_, _| around(8.0)),
    Reference::new("TanhFwdOp", |call, inputs| real(call, inputs, f64::tanh)).drawing(|_, _| around(4.0)),
    Reference::new("ErfFwdOp", |call, inputs| real(call, inputs, libm::erf)).drawing(|_, _| around(3.0)),
    Reference::new("RsqrtFwdOp", |call, inputs| real(call, inputs, |x| 1.0 / x.sqrt())).drawing(positive),
    Reference::new("SqrtFwdOp", |call, inputs| real(call, inputs, f64::sqrt)).drawing(positive),
    Reference::new("ReciprocalFwdOp", |call, inputs| real(call, inputs, |x| 1.0 / x)).drawing(positive),
    Reference::new("CastFwdOp", |call, inputs| real(call, inputs, |x| x)),
    Reference::new("ReluFwdOp", |call, inputs| real_within(call, inputs, |x| nan_or(x, x.max(0.0)))),
    Reference::new("GeluFwdOp", |call, inputs| match call.str("approximate")? {
        "tanh" => real(call, inputs, gelu_tanh),
        _ => real(call, inputs, gelu),
    })
    .drawing(|_, _| around(4.0)),
    Reference::new("RoundFwdOp", round),
    Reference::new("FloorFwdOp", |call, inputs| either(call, inputs, f64::floor, |x| x)).drawing(wide),
    Reference::new("ClampFwdOp", clamp),
    Reference::new("NegFwdOp", |call, inputs| either(call, inputs, |x| -x, |x| -x)),
    Reference::new("SignFwdOp", |call, inputs| either(call, inputs, sign, i128::signum)),
    Reference::new("AbsFwdOp", |call, inputs| match call.tensor("x")?.dtype {
        DType::Complex64 => {
            let x = inputs.tensor(call, "x")?;
            let part = move |at| get(DType::Float32, x.bytes, at);
            elements(vec![Target::output("y")], x.len(), move |at, sink| {
                sink.put(0, at, part(2 * at).hypot(part(2 * at + 1)));
            })
        }
        _ => either(call, inputs, f64::abs, i128::abs),
    }),
    Reference::new("LogicalNotFwdOp", |call, inputs| truth(call, inputs, |x| x == 0.0)).drawing(|call, name| {
        let dtype = call.tensor(name).ok()?.dtype;
        (dtype.category() == Category::Int).then_some(Distribution::Integers { low: 0, high: 2 })
    }),
    Reference::new("IsFiniteFwdOp", |call, inputs| truth(call, inputs, f64::is_finite)),
    Reference::new("SigmoidFwdOp", |call, inputs| real(call, inputs, sigmoid)).drawing(|_, _| around(6.0)),
    Reference::new("SiluFwdOp", |call, inputs| real_within(call, inputs, silu)).drawing(|_, _| around(6.0)),
    Reference::new("QuickGeluFwdOp", |call, inputs| real(call, inputs, |x| x * sigmoid(1.702 * x)))
        .drawing(|_, _| around(4.0)),
    Reference::new("ReluSquaredFwdOp", |call, inputs| real(call, inputs, |x| nan_or(x, x.max(0.0) * x.max(0.0)))),
    Reference::new("LeakyReluFwdOp", |call, inputs| {
        let slope = call.float("negative_slope")?;
        real_within(call, inputs, move |x| if x > 0.0 { x } else { x * slope })
    }),
    Reference::new("EluFwdOp", |call, inputs| {
        let alpha = call.float("alpha")?;
        real(call, inputs, move |x| elu(x, alpha))
    })
    .drawing(|_, _| around(4.0)),
    Reference::new("SeluFwdOp", |call, inputs| real(call, inputs, |x| SELU_SCALE * elu(x, SELU_ALPHA)))
        .drawing(|_, _| around(4.0)),
    Reference::new("SoftplusFwdOp", |call, inputs| {
        let (beta, threshold) = (call.float("beta")?, call.float("threshold")?);
        real(call, inputs, move |x| {
            let scaled = beta * x;
            if scaled > threshold { x } else { scaled.exp().ln_1p() / beta }
        })
    })
    .drawing(|_, _| around(12.0)),
    Reference::new("MishFwdOp", |call, inputs| real(call, inputs, |x| x * softplus(x).tanh()))
        .drawing(|_, _| around(6.0)),
    Reference::new("HardswishFwdOp", |call, inputs| real(call, inputs, |x| x * within(x + 3.0, 0.0, 6.0) / 6.0))
        .drawing(|_, _| around(6.0)),
    Reference::new("HardsigmoidFwdOp", |call, inputs| real(call, inputs, |x| within(x + 3.0, 0.0, 6.0) / 6.0))
        .drawing(|_, _| around(6.0)),
    Reference::new("HardtanhFwdOp", |call, inputs| {
        let (low, high) = (call.float("min_val")?, call.float("max_val")?);
        real(call, inputs, move |x| within(x, low, high))
    })
    .drawing(|_, _| around(8.0)),
    Reference::new("LogSigmoidFwdOp", |call, inputs| {
        real(call, inputs, |x| nan_or(x, x.min(0.0)) - (-x.abs()).exp().ln_1p())
    })
    .drawing(|_, _| around(12.0)),
    Reference::new("LogitSoftcapFwdOp", |call, inputs| {
        let (logits, cap) = (inputs.tensor(call, "logits")?, call.float("cap")?);
        elements(vec![Target::input("logits")], logits.len(), move |at, sink| {
            sink.put(0, at, cap * (logits.get(at) / cap).tanh());
        })
    })
    .drawing(|_, _| around(60.0)),
];

/// Numbers up to `most` on both sides of zero.
fn around(most: f32) -> Option<Distribution> {
    Some(Distribution::Uniform { low: -most, high: most })
}

/// Numbers above zero.
fn positive(call: &CheckedCall, name: &str) -> Option<Distribution> {
    Some(match call.tensor(name).ok()?.dtype.category() {
        Category::Int => Distribution::Integers { low: 1, high: 1000 },
        _ => Distribution::Uniform { low: 0.0625, high: 4.0 },
    })
}

/// Numbers with several whole ones between them.
fn wide(call: &CheckedCall, name: &str) -> Option<Distribution> {
    (call.tensor(name).ok()?.dtype.category() == Category::Float).then(|| around(100.0))?
}

/// `value`, unless `x` is not a number: comparisons would lose that.
pub(crate) fn nan_or(x: f64, value: f64) -> f64 {
    if x.is_nan() { x } else { value }
}

pub(crate) fn within(x: f64, low: f64, high: f64) -> f64 {
    nan_or(x, x.max(low).min(high))
}

fn sign(x: f64) -> f64 {
    // Of what is not a number, PyTorch's sign is zero.
    f64::from(i8::from(x > 0.0) - i8::from(x < 0.0))
}

/// `1 / (1 + exp(-x))`
pub(crate) fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

/// `x * sigmoid(x)`
pub(crate) fn silu(x: f64) -> f64 {
    x / (1.0 + (-x).exp())
}

/// `x` times the normal distribution's integral up to it.
pub(crate) fn gelu(x: f64) -> f64 {
    0.5 * x * libm::erfc(-x * std::f64::consts::FRAC_1_SQRT_2)
}

/// The GELU by a hyperbolic tangent (Hendrycks, Gimpel, 2016).
pub(crate) fn gelu_tanh(x: f64) -> f64 {
    let inner = (2.0 / std::f64::consts::PI).sqrt() * (x + 0.044_715 * x * x * x);
    // x / 2 (1 + tanh(inner)), which does not cancel in this form.
    x * sigmoid(2.0 * inner)
}

fn softplus(x: f64) -> f64 {
    x.max(0.0) + (-x.abs()).exp().ln_1p()
}

fn elu(x: f64, alpha: f64) -> f64 {
    if x > 0.0 { x } else { alpha * x.exp_m1() }
}

/// The fixed point for normalised activations (Klambauer et al., 2017).
const SELU_ALPHA: f64 = 1.673_263_242_354_377_3;
const SELU_SCALE: f64 = 1.050_700_987_355_480_5;

/// A function of real numbers. A whole number is converted to single precision first, as PyTorch does.
fn real<'a>(call: &CheckedCall, inputs: &Inputs<'a>, f: impl Fn(f64) -> f64 + Send + Sync + 'a) -> Prepared<'a> {
    mapped(call, inputs, Target::output("y"), f)
}

/// The same, in place where the call says so.
fn real_within<'a>(call: &CheckedCall, inputs: &Inputs<'a>, f: impl Fn(f64) -> f64 + Send + Sync + 'a) -> Prepared<'a> {
    mapped(call, inputs, maybe_within(call, "y", "x")?, f)
}

fn mapped<'a>(
    call: &CheckedCall,
    inputs: &Inputs<'a>,
    target: Target,
    f: impl Fn(f64) -> f64 + Send + Sync + 'a,
) -> Prepared<'a> {
    let x = inputs.tensor(call, "x")?;
    let whole = x.dtype.category() == Category::Int;
    elements(vec![target], x.len(), move |at, sink| {
        let element = x.get(at);
        sink.put(0, at, f(if whole { round_to(DType::Float32, element) } else { element }));
    })
}

/// A function of real numbers, and one of whole numbers, whose results wrap around as 32 bits do.
fn either<'a>(
    call: &CheckedCall,
    inputs: &Inputs<'a>,
    f: impl Fn(f64) -> f64 + Send + Sync + 'a,
    whole: impl Fn(i128) -> i128 + Send + Sync + 'a,
) -> Prepared<'a> {
    let x = inputs.tensor(call, "x")?;
    let target = vec![Target::output("y")];
    match x.dtype.category() {
        Category::Int => {
            elements(target, x.len(), move |at, sink| sink.put_int(0, at, wrapped(x.dtype, whole(x.int(at)))))
        }
        _ => elements(target, x.len(), move |at, sink| sink.put(0, at, f(x.get(at)))),
    }
}

/// A whole number as its low bits are read by a dtype.
pub(crate) fn wrapped(dtype: DType, value: i128) -> i128 {
    match dtype {
        DType::Int8 => i128::from(value as i8),
        DType::UInt8 => i128::from(value as u8),
        DType::Int16 => i128::from(value as i16),
        DType::Int32 => i128::from(value as i32),
        DType::Int64 => i128::from(value as i64),
        _ => value,
    }
}

/// A truth value for each element.
fn truth<'a>(call: &CheckedCall, inputs: &Inputs<'a>, f: impl Fn(f64) -> bool + Send + Sync + 'a) -> Prepared<'a> {
    let x = inputs.tensor(call, "x")?;
    elements(vec![Target::output("y")], x.len(), move |at, sink| sink.put_int(0, at, f(x.get(at)).into()))
}

/// Halves go to the even neighbour; decimals are those of the product in single precision, as PyTorch has it: 2.675 is a
/// little less, times 100 it is 267.5, and it becomes 2.68.
fn round<'a>(call: &CheckedCall, inputs: &Inputs<'a>) -> Prepared<'a> {
    let decimals = call.int("decimals")?.get()?;
    let scale = 10_f64.powi(i32::try_from(decimals.unsigned_abs()).unwrap_or(i32::MAX));
    let single = |x: f64| f64::from(x as f32);
    let scale = single(scale);
    match decimals {
        0 => either(call, inputs, f64::round_ties_even, |x| x),
        1.. => either(call, inputs, move |x| single(single(x * scale).round_ties_even() / scale), |x| x),
        _ => either(call, inputs, move |x| single(single(x / scale).round_ties_even() * scale), |x| x),
    }
}

fn clamp<'a>(call: &CheckedCall, inputs: &Inputs<'a>) -> Prepared<'a> {
    let low = maybe(call, "min")?.unwrap_or(f64::NEG_INFINITY);
    let high = maybe(call, "max")?.unwrap_or(f64::INFINITY);
    // As casts cut, an infinite bound is beyond every whole number.
    let (least, greatest) = (low as i128, high as i128);
    either(call, inputs, move |x| within(x, low, high), move |x| x.max(least).min(greatest))
}
