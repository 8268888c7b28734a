//! One tensor in, one of the same shape out: functions of each element, activations among them.

use tileops_ops::{Category, CheckedCall, DType, OpError};

use crate::gpu::Gpu;
use crate::ops::Planner;
use crate::ops::elementwise::{Function, count, grid, lanes, maybe, precision, scalars, whole};
use crate::plan::{Arg, Plan, Step, Where};
use crate::source::ELEMENTWISE;

pub(crate) const PLANNERS: &[(&str, Planner)] = &[
    ("ExpFwdOp", |call, _| map(call, "exponential(x)")),
    ("LogFwdOp", |call, _| map(call, "logarithm(x)")),
    ("Log1pFwdOp", |call, _| map(call, "logarithm_1p(x)")),
    ("SinFwdOp", |call, _| map(call, "sinf(x)")),
    ("TanhFwdOp", |call, _| map(call, "hyperbolic_tangent(x)")),
    ("ErfFwdOp", |call, _| map(call, "error_function(x)")),
    ("RsqrtFwdOp", |call, _| map(call, "rsqrtf(x)")),
    ("SqrtFwdOp", |call, _| map(call, "root(x)")),
    ("ReciprocalFwdOp", |call, _| map(call, "inverse(x)")),
    ("CastFwdOp", |call, _| map(call, "x")),
    ("ReluFwdOp", |call, _| map_within(call, Function::of("maximum(x, 0.f)"))),
    ("GeluFwdOp", |call, _| map(call, if call.str("approximate")? == "tanh" { "gelu_tanh(x)" } else { "gelu(x)" })),
    ("RoundFwdOp", round),
    ("FloorFwdOp", |call, _| map(call, by_category(call, "x", "floorf(x)")?)),
    ("DropoutFwdOp", dropout),
    ("ClampFwdOp", |call, _| {
        let low = maybe(call, "min")?.unwrap_or(f64::NEG_INFINITY);
        let high = maybe(call, "max")?.unwrap_or(f64::INFINITY);
        map(call, Function::of("clamped(x, a, b)").with(low, high))
    }),
    ("NegFwdOp", |call, _| Ok(map(call, "negated(x)")?.place("y", Where::Out))),
    ("AbsFwdOp", |call, _| map(call, "magnitude(x)")),
    ("SignFwdOp", |call, _| map(call, "sign(x)")),
    ("LogicalNotFwdOp", |call, _| map(call, Function::of("!x").words("word ^ 0x01010101u"))),
    ("IsFiniteFwdOp", |call, _| match call.tensor("x")?.dtype.category() {
        // Every whole number is finite, and none is read.
        Category::Int => filled(call, 1),
        _ => map(call, "fabsf(x) <= 3.402823466e38f"),
    }),
    ("SigmoidFwdOp", |call, _| map(call, "sigmoid(x)")),
    ("SiluFwdOp", |call, _| map_within(call, Function::of("silu(x)"))),
    ("QuickGeluFwdOp", |call, _| map(call, "quotient(x, 1.f + exponential_part(-1.702f * x))")),
    ("ReluSquaredFwdOp", |call, _| map(call, "maximum(x, 0.f) * maximum(x, 0.f)")),
    ("LeakyReluFwdOp", |call, _| {
        map_within(call, Function::of("x > 0.f ? x : x * a").with(call.float("negative_slope")?, 0.0))
    }),
    ("EluFwdOp", |call, _| map(call, Function::of("elu(x, a)").with(call.float("alpha")?, 0.0))),
    ("SeluFwdOp", |call, _| map(call, "1.0507009873554805f * elu(x, 1.6732632423543772f)")),
    ("SoftplusFwdOp", |call, _| {
        let (beta, threshold) = (call.float("beta")?, call.float("threshold")?);
        let expression = match beta == 1.0 {
            true => "chosen_above(x, b, x, softplus(x))",
            false => "chosen_above(a * x, b, x, softplus(a * x) * (1.f / a))",
        };
        map(call, Function::of(expression).with(beta, threshold))
    }),
    ("MishFwdOp", |call, _| map(call, "mish(x)")),
    ("HardswishFwdOp", |call, _| map(call, "hardswish(x)")),
    ("HardsigmoidFwdOp", |call, _| map(call, "clamped(x + 3.f, 0.f, 6.f) * (1.f / 6.f)")),
    ("HardtanhFwdOp", |call, _| {
        map(call, Function::of("clamped(x, a, b)").with(call.float("min_val")?, call.float("max_val")?))
    }),
    ("LogSigmoidFwdOp", |call, _| map(call, "log_sigmoid(x)")),
    ("LogitSoftcapFwdOp", |call, _| {
        let cap = call.float("cap")?;
        map_between(call, ["logits", "logits"], Function::of("a * hyperbolic_tangent(x * b)").with(cap, 1.0 / cap))
    }),
];

impl From<&str> for Function {
    fn from(expression: &str) -> Self {
        Function::of(expression)
    }
}

/// One expression where `x` has whole numbers, another where it has not.
fn by_category<'e>(call: &CheckedCall, whole: &'e str, real: &'e str) -> Result<&'e str, OpError> {
    Ok(if call.tensor("x")?.dtype.category() == Category::Int { whole } else { real })
}

/// y = function(x).
fn map(call: &CheckedCall, function: impl Into<Function>) -> Result<Plan, OpError> {
    map_between(call, ["x", "y"], function.into())
}

/// The same, in place where the call says so.
fn map_within(call: &CheckedCall, function: Function) -> Result<Plan, OpError> {
    let plan = map(call, function)?;
    Ok(if call.bool("inplace")? { plan.place("y", Where::In("x")) } else { plan })
}

fn map_between(call: &CheckedCall, [from, to]: [&'static str; 2], function: Function) -> Result<Plan, OpError> {
    let (x, y) = (call.tensor(from)?, call.tensor(to)?);
    let elements = count(x)?;
    if elements == 0 {
        return Ok(Plan::new());
    }
    let lanes = lanes(&[x.dtype, y.dtype]);
    let vectors = vectors(x.dtype, lanes, elements);
    let mut source = precision(source!("unary.cu").with(ELEMENTWISE), y.dtype)
        .element("TX", x.dtype)
        .element("TY", y.dtype)
        .define("LANES", lanes)
        .define("VECTORS", vectors)
        .define("FUNCTION(x)", format!("({})", function.expression));
    if let Some(words) = function.words.filter(|_| x.dtype == DType::Bool) {
        source = source.define("WORDS(word)", format!("({words})"));
    }
    let (source, [a, b]) = scalars(source, x.dtype, function.scalars);
    let arguments = vec![Arg::Tensor(from), Arg::Tensor(to), whole(call, elements)?, a, b];
    Ok(Plan::new().launch(source, "unary", grid(call, elements, lanes * vectors)?, arguments))
}

/// Loads of fewer than 16 bytes come several a thread, where threads enough are left.
fn vectors(dtype: DType, lanes: u64, elements: u64) -> u64 {
    let bytes = lanes * u64::from(dtype.bits()) / 8;
    if elements >= 1 << 22 { 16 / bytes.clamp(4, 16) } else { 1 }
}

/// y is `byte` in every byte of it.
fn filled(call: &CheckedCall, byte: u8) -> Result<Plan, OpError> {
    let steps = if count(call.tensor("y")?)? == 0 { vec![] } else { vec![Step::Fill(Arg::Tensor("y"), byte)] };
    Ok(Plan { steps, ..Plan::new() })
}

/// Whole numbers stay as they are; decimals are those of the exact product.
fn round(call: &CheckedCall, _: &Gpu) -> Result<Plan, OpError> {
    let decimals = call.int("decimals")?.get()?;
    let scale = 10_f64.powi(i32::try_from(decimals.unsigned_abs()).unwrap_or(i32::MAX));
    let function = match decimals {
        0 => Function::of(by_category(call, "x", "rintf(x)")?),
        1.. => Function::of("round_scaled(x, a)").with(scale, 0.0),
        _ => Function::of("rintf(x / a) * a").with(scale, 0.0),
    };
    map(call, function)
}

/// Without a chance the input is copied, or nothing of it is read.
fn dropout(call: &CheckedCall, _: &Gpu) -> Result<Plan, OpError> {
    let (x, p) = (call.tensor("x")?, call.float("p")?);
    let elements = count(x)?;
    match p {
        _ if !call.bool("training")? || p == 0.0 => return map(call, "x"),
        1.0 => return filled(call, 0),
        _ if elements == 0 => return Ok(Plan::new()),
        _ => {}
    }
    let lanes = lanes(&[x.dtype]);
    let source = source!("dropout.cu").with(ELEMENTWISE).element("ELEMENT", x.dtype);
    // A word is below p * 2^32 where it is below the next whole number; p is less than 1, and that is a word's.
    let below = (p * 2_f64.powi(32)).ceil().min(f64::from(u32::MAX)) as u32;
    let arguments = vec![
        Arg::Tensor("x"),
        Arg::Tensor("seed"),
        Arg::Tensor("y"),
        whole(call, elements)?,
        Arg::I32(below.cast_signed()),
        Arg::F32((1.0 / (1.0 - p)) as f32),
    ];
    Ok(Plan::new().launch(source, "dropout", grid(call, elements, lanes)?, arguments))
}
