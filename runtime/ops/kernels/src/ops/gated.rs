//! A gate and a value side by side, and the product of the activated gate with the value.

use tileops_device::Grid;
use tileops_ops::{CheckedCall, OpError};

use crate::gpu::Gpu;
use crate::ops::Planner;
use crate::ops::elementwise::{
    Function, bytes, common_lanes, count, divisor, grid, lanes, maybe, precision, size, whole,
};
use crate::ops::refused;
use crate::plan::{Arg, Plan};
use crate::source::ELEMENTWISE;

pub(crate) const PLANNERS: &[(&str, Planner)] = &[
    ("SiluAndMulFwdOp", |call, _| halves(call, "silu(first) * second")),
    ("GegluFwdOp", |call, _| match call.str("approximate")? {
        "tanh" => halves(call, "gelu_tanh(first) * second"),
        _ => halves(call, "gelu(first) * second"),
    }),
    ("GluFwdOp", |call, _| halves(call, "first * sigmoid(second)")),
    ("RegluFwdOp", |call, _| halves(call, "maximum(first, 0.f) * second")),
    ("ClampedSwigluFwdOp", |call, _| {
        let limit = maybe(call, "limit")?.unwrap_or(f64::INFINITY);
        let function = "clamped_swiglu(first, second, s, t)";
        pairs(call, Function::of(function).with(call.float("alpha")?, limit), true)
    }),
    ("SiluAndMulQuantizeFwdOp", quantized),
];

fn halves(call: &CheckedCall, function: &str) -> Result<Plan, OpError> {
    pairs(call, Function::of(function), false)
}

fn pairs(call: &CheckedCall, function: Function, interleaved: bool) -> Result<Plan, OpError> {
    let y = call.tensor("y")?;
    let (elements, width) = (count(y)?, size(call, "F")?);
    if elements == 0 {
        return Ok(Plan::new());
    }
    let lanes = common_lanes(lanes(&[y.dtype]), &[if interleaved { elements } else { width }]);
    let vectors = elements / lanes;
    let wide = vectors >= 1 << 31;
    let source = precision(source!("gated.cu").with(ELEMENTWISE), y.dtype)
        .element("ELEMENT", y.dtype)
        .define("LANES", lanes)
        .define("INTERLEAVED", u8::from(interleaved))
        .define("WIDE", u8::from(wide))
        .define("FUNCTION", format!("({})", function.expression));
    let row_vectors = bytes(divisor(u32::try_from(width / lanes).unwrap_or(u32::MAX)));
    let [s, t] = function.scalars.map(|scalar| Arg::F32(scalar as f32));
    let arguments =
        vec![Arg::Tensor("x"), Arg::Tensor("y"), whole(call, vectors)?, whole(call, width)?, row_vectors, s, t];
    Ok(Plan::new().launch(source, "gated", grid(call, vectors, 1)?, arguments))
}

/// The vectors that a thread holds between its group's maximum and the quotients.
const HELD: u64 = 8;

/// A group is a part of a warp's, a warp's or a block's.
fn quantized(call: &CheckedCall, _: &Gpu) -> Result<Plan, OpError> {
    let (x, scales) = (call.tensor("x")?, count(call.tensor("scale")?)?);
    let (width, group) = (size(call, "F")?, size(call, "group")?);
    if scales == 0 {
        return Ok(Plan::new());
    }
    let lanes = common_lanes(lanes(&[x.dtype]), &[group]);
    let vectors = group / lanes;
    let team = match vectors {
        0..=32 => vectors.next_power_of_two(),
        33..=128 => 32,
        _ => vectors.div_ceil(HELD).next_power_of_two().clamp(64, 1024),
    };
    let held = vectors.div_ceil(team).min(if team > 512 { HELD / 4 } else { HELD });
    let source = source!("gated_quantize.cu")
        .with(ELEMENTWISE)
        .element("ELEMENT", x.dtype)
        .define("LANES", lanes)
        .define("VECTORS", held)
        .define("TEAM", team)
        .define("HELD", u8::from(team * held >= vectors))
        // The hardware's exponential is right to 2^-21, far below eight bits, and below what the scale is held to.
        .define("NARROW", 1);
    let threads = if team > 32 { team } else { 256 };
    let blocks = (scales * team).div_ceil(threads);
    let fits = scales < 1 << 31 && blocks < 1 << 31 && group < 1 << 31;
    if !fits {
        return Err(refused(call.op(), format!("{scales} groups of {group} are beyond a launch")));
    }
    let arguments = vec![
        Arg::Tensor("x"),
        Arg::Tensor("q"),
        Arg::Tensor("scale"),
        Arg::I32(scales as i32),
        whole(call, width)?,
        Arg::I32(group as i32),
        bytes(divisor((width / group) as u32)),
    ];
    Ok(Plan::new().launch(source, "gated_quantize", Grid::row(blocks as u32, threads as u32), arguments))
}
