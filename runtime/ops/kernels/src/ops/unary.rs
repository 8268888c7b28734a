//! One tensor in, one of the same shape out: functions of each element, activations among them.

use tileops_device::Grid;
use tileops_ops::{Category, CheckedCall, DType, OpError};

use crate::gpu::Gpu;
use crate::ops::Planner;
use crate::ops::elementwise::{Function, THREADS, count, grid, lanes, lanes_of, maybe, precision, scalars, whole};
use crate::ops::refused;
use crate::plan::{Arg, Plan, Where};
use crate::source::ELEMENTWISE;

pub(crate) const PLANNERS: &[(&str, Planner)] = &[
    ("ExpFwdOp", |call, gpu| map(call, gpu, "exponential(x)")),
    ("LogFwdOp", |call, gpu| map(call, gpu, "logarithm(x)")),
    ("Log1pFwdOp", |call, gpu| map(call, gpu, "logarithm_1p(x)")),
    ("SinFwdOp", |call, gpu| map(call, gpu, "sinf(x)")),
    ("TanhFwdOp", |call, gpu| map(call, gpu, "hyperbolic_tangent(x)")),
    ("ErfFwdOp", |call, gpu| map(call, gpu, "error_function(x)")),
    ("RsqrtFwdOp", |call, gpu| map(call, gpu, "rsqrtf(x)")),
    ("SqrtFwdOp", |call, gpu| map(call, gpu, "root(x)")),
    ("ReciprocalFwdOp", |call, gpu| map(call, gpu, "inverse(x)")),
    ("CastFwdOp", |call, gpu| map(call, gpu, Function::short("x"))),
    ("ReluFwdOp", |call, gpu| map_within(call, gpu, Function::short("maximum(x, 0.f)"))),
    ("GeluFwdOp", |call, gpu| {
        map(call, gpu, if call.str("approximate")? == "tanh" { "gelu_tanh(x)" } else { "gelu(x)" })
    }),
    ("RoundFwdOp", round),
    ("FloorFwdOp", |call, gpu| map(call, gpu, by_category(call, "x", "floorf(x)")?)),
    ("DropoutFwdOp", dropout),
    ("ClampFwdOp", |call, gpu| {
        let low = maybe(call, "min")?.unwrap_or(f64::NEG_INFINITY);
        let high = maybe(call, "max")?.unwrap_or(f64::INFINITY);
        map(call, gpu, Function::short("clamped(x, a, b)").with(low, high))
    }),
    ("NegFwdOp", |call, gpu| Ok(map(call, gpu, Function::short("negated(x)"))?.place("y", Where::Out))),
    ("AbsFwdOp", |call, gpu| map(call, gpu, Function::short("magnitude(x)"))),
    ("SignFwdOp", |call, gpu| map(call, gpu, "sign(x)")),
    ("LogicalNotFwdOp", |call, gpu| map(call, gpu, Function::of("!x").words("word ^ 0x01010101u"))),
    ("IsFiniteFwdOp", |call, gpu| match call.tensor("x")?.dtype.category() {
        // Every whole number is finite, and none is read.
        Category::Int => filled(call, 1),
        _ => map(call, gpu, "fabsf(x) <= 3.402823466e38f"),
    }),
    ("SigmoidFwdOp", |call, gpu| map(call, gpu, "sigmoid(x)")),
    ("SiluFwdOp", |call, gpu| map_within(call, gpu, Function::of("silu(x)"))),
    ("QuickGeluFwdOp", |call, gpu| map(call, gpu, "quotient(x, 1.f + exponential_part(-1.702f * x))")),
    ("ReluSquaredFwdOp", |call, gpu| map(call, gpu, "maximum(x, 0.f) * maximum(x, 0.f)")),
    ("LeakyReluFwdOp", |call, gpu| {
        map_within(call, gpu, Function::of("x > 0.f ? x : x * a").with(call.float("negative_slope")?, 0.0))
    }),
    ("EluFwdOp", |call, gpu| map(call, gpu, Function::of("elu(x, a)").with(call.float("alpha")?, 0.0))),
    ("SeluFwdOp", |call, gpu| map(call, gpu, "1.0507009873554805f * elu(x, 1.6732632423543772f)")),
    ("SoftplusFwdOp", |call, gpu| {
        let (beta, threshold) = (call.float("beta")?, call.float("threshold")?);
        let expression = match beta == 1.0 {
            true => "chosen_above(x, b, x, softplus(x))",
            false => "chosen_above(a * x, b, x, softplus(a * x) * (1.f / a))",
        };
        map(call, gpu, Function::of(expression).with(beta, threshold))
    }),
    ("MishFwdOp", |call, gpu| map(call, gpu, "mish(x)")),
    ("HardswishFwdOp", |call, gpu| map(call, gpu, Function::short("hardswish(x)"))),
    ("HardsigmoidFwdOp", |call, gpu| map(call, gpu, Function::short("clamped(x + 3.f, 0.f, 6.f) * (1.f / 6.f)"))),
    ("HardtanhFwdOp", |call, gpu| {
        map(call, gpu, Function::short("clamped(x, a, b)").with(call.float("min_val")?, call.float("max_val")?))
    }),
    ("LogSigmoidFwdOp", |call, gpu| map(call, gpu, "log_sigmoid(x)")),
    ("LogitSoftcapFwdOp", |call, gpu| {
        let cap = call.float("cap")?;
        map_between(call, gpu, ["logits", "logits"], Function::of("a * hyperbolic_tangent(x * b)").with(cap, 1.0 / cap))
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
fn map(call: &CheckedCall, gpu: &Gpu, function: impl Into<Function>) -> Result<Plan, OpError> {
    map_between(call, gpu, ["x", "y"], function.into())
}

/// The same, in place where the call says so.
fn map_within(call: &CheckedCall, gpu: &Gpu, function: Function) -> Result<Plan, OpError> {
    let plan = map(call, gpu, function)?;
    Ok(if call.bool("inplace")? { plan.place("y", Where::In("x")) } else { plan })
}

fn map_between(
    call: &CheckedCall,
    gpu: &Gpu,
    [from, to]: [&'static str; 2],
    function: Function,
) -> Result<Plan, OpError> {
    let (x, y) = (call.tensor(from)?, call.tensor(to)?);
    let elements = count(x)?;
    if elements == 0 {
        return Ok(Plan::new());
    }
    // Booleans that are taken as words stay whole ones.
    let words = function.words.filter(|_| x.dtype == DType::Bool);
    let most = lanes(&[x.dtype, y.dtype]);
    let lanes = if words.is_some() { most } else { lanes_of(elements, most) };
    let at_once = function.is_short && is_one_wave(gpu, lanes * u64::from(x.dtype.bits()) / 8, elements / lanes);
    let vectors = if at_once { WAVE_VECTORS } else { vectors([x.dtype, y.dtype], lanes, elements) };
    let mut source = precision(source!("unary.cu").with(ELEMENTWISE), y.dtype)
        .element("TX", x.dtype)
        .element("TY", y.dtype)
        .define("LANES", lanes)
        .define("VECTORS", vectors)
        .define("THREADS", THREADS)
        .define("BOUNDS", if at_once { format!("THREADS, {WAVE_BLOCKS}") } else { "THREADS".to_owned() })
        .define("FUNCTION(x)", format!("({})", function.expression));
    if let Some(words) = words {
        source = source.define("WORDS(word)", format!("({words})"));
    }
    let (source, [a, b]) = scalars(source, x.dtype, function.scalars);
    let arguments = vec![Arg::Tensor(from), Arg::Tensor(to), whole(call, elements)?, a, b];
    Ok(Plan::new().launch(source, "unary", grid(call, elements, lanes * vectors)?, arguments))
}

/// What a thread takes, and how many blocks a multiprocessor has registers for, where all blocks are to run at once.
const WAVE_VECTORS: u64 = 4;
const WAVE_BLOCKS: u64 = 6;

/// Whether so many vectors are more than a wave of blocks, but all of them are under way at once where a thread has several:
/// then none waits for another's end.
fn is_one_wave(gpu: &Gpu, bytes: u64, vectors: u64) -> bool {
    let multiprocessors = u64::from(gpu.multiprocessors);
    bytes == 16
        && vectors > multiprocessors * 8 * THREADS
        && vectors <= multiprocessors * WAVE_BLOCKS * WAVE_VECTORS * THREADS
}

/// Vectors a thread, where threads enough are left: several of loads of fewer than 16 bytes, and two where results are
/// narrower, or Booleans that are computed as words, with little to do for what is stored.
fn vectors([x, y]: [DType; 2], lanes: u64, elements: u64) -> u64 {
    let bytes = lanes * u64::from(x.bits()) / 8;
    match elements {
        0..0x40_0000 => 1,
        _ => 16 / bytes.clamp(4, 16) * if y == DType::Bool || (x.bits() == 32 && y.bits() == 16) { 2 } else { 1 },
    }
}

/// y is `byte` in every byte of it.
fn filled(call: &CheckedCall, byte: u8) -> Result<Plan, OpError> {
    let (threads, vectors) = (128_u64, 2_u64);
    let y = call.tensor("y")?;
    let bytes = count(y)? * u64::from(y.dtype.bits()) / 8;
    if bytes == 0 {
        return Ok(Plan::new());
    }
    let blocks = (bytes / 16).div_ceil(threads * vectors).max(1);
    let blocks = u32::try_from(blocks).ok().filter(|blocks| *blocks <= i32::MAX as u32);
    let blocks = blocks.ok_or_else(|| refused(call.op(), format!("{bytes} bytes are more than a launch fills")))?;
    let arguments = vec![Arg::Tensor("y"), whole(call, bytes)?, Arg::I32(i32::from(byte))];
    let source = source!("fill.cu").define("THREADS", threads).define("VECTORS", vectors);
    Ok(Plan::new().launch(source, "fill", Grid::row(blocks, threads as u32), arguments))
}

/// Whole numbers stay as they are; decimals are those of the product in single precision.
fn round(call: &CheckedCall, gpu: &Gpu) -> Result<Plan, OpError> {
    let decimals = call.int("decimals")?.get()?;
    let scale = 10_f64.powi(i32::try_from(decimals.unsigned_abs()).unwrap_or(i32::MAX));
    let function = match decimals {
        0 => Function::of(by_category(call, "x", "rintf(x)")?),
        1.. => Function::of("rintf(x * a) / a").with(scale, 0.0),
        _ => Function::of("rintf(x / a) * a").with(scale, 0.0),
    };
    map(call, gpu, function)
}

/// Without a chance the input is copied, or nothing of it is read.
fn dropout(call: &CheckedCall, gpu: &Gpu) -> Result<Plan, OpError> {
    let (x, p) = (call.tensor("x")?, call.float("p")?);
    let elements = count(x)?;
    match p {
        _ if !call.bool("training")? || p == 0.0 => return map(call, gpu, "x"),
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
