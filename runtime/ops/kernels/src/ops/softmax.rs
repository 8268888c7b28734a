//! The softmax family along one axis.

use tileops_ops::{CheckedCall, OpError};

use crate::gpu::Gpu;
use crate::ops::Planner;
use crate::ops::rows::{Axis, Rows, lanes, size};
use crate::plan::{Arg, Plan};
use crate::source::{COPIES, ROW};

pub(crate) const PLANNERS: &[(&str, Planner)] = &[
    ("SoftmaxFwdOp", |call, gpu| along_axis(call, gpu, Kind::Softmax, &["x", "y"])),
    ("LogSoftmaxFwdOp", |call, gpu| along_axis(call, gpu, Kind::LogSoftmax, &["x", "y"])),
    ("SoftmaxBwdOp", |call, gpu| along_axis(call, gpu, Kind::Backward, &["dy", "y", "dx"])),
    ("ScaledMaskedSoftmaxFwdOp", scaled_masked),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Softmax,
    LogSoftmax,
    Scaled,
    Backward,
}

fn along_axis(call: &CheckedCall, gpu: &Gpu, kind: Kind, tensors: &[&'static str]) -> Result<Plan, OpError> {
    let axis = Axis::new(call, &call.shape(tensors[0])?, call.int("dim")?.get()?)?;
    launch(call, gpu, kind, axis, tensors, Additional::default())
}

fn scaled_masked(call: &CheckedCall, gpu: &Gpu) -> Result<Plan, OpError> {
    let extent = |name| size(call.op(), call.int(name)?.get()?);
    let (heads, height) = (extent("H")?, extent("S")?);
    let axis = Axis::new(call, &call.shape("scores")?, -1)?;
    let scale = call.float("scale")? as f32;
    let is_masked = call.present("mask")?;
    let is_upside_down = !is_masked && (scale <= 0.0 || scale.is_nan());
    let mut more = Additional { arguments: vec![Arg::F32(scale)], is_masked, is_upside_down };
    if is_masked {
        // A mask of one batch, or of one row, is that of all.
        let shape = &call.tensor("mask")?.shape;
        let rows = size(call.op(), shape[2])?;
        let (batch_stride, row_stride) = (if shape[0] == 1 { 0 } else { rows }, i64::from(rows > 1));
        let index = |extent: i64| if narrow(&axis) { Arg::I32(extent as i32) } else { Arg::I64(extent) };
        more.arguments.extend([
            Arg::Tensor("mask"),
            index(heads),
            index(height),
            Arg::I64(batch_stride),
            Arg::I64(row_stride),
        ]);
    }
    launch(call, gpu, Kind::Scaled, axis, &["scores", "y"], more)
}

/// Whether rows are counted by 32 bits.
fn narrow(axis: &Axis) -> bool {
    i32::try_from(axis.outer).is_ok()
}

/// What a kernel takes beside the tensors and their extents.
#[derive(Debug, Clone, Default)]
struct Additional {
    arguments: Vec<Arg>,
    is_masked: bool,
    /// Scores are scaled by zero or less: what stands for no element in rows that are held would not be the least.
    is_upside_down: bool,
}

fn launch(
    call: &CheckedCall,
    gpu: &Gpu,
    kind: Kind,
    axis: Axis,
    tensors: &[&'static str],
    more: Additional,
) -> Result<Plan, OpError> {
    if axis.elements() == 0 {
        return Ok(Plan::new());
    }
    let dtype = call.dtype(tensors[0])?;
    let source = source!("softmax.cu")
        .with(ROW)
        .element("ELEMENT", dtype)
        .define("LOG_SOFTMAX", i32::from(kind == Kind::LogSoftmax))
        .define("SCALED", i32::from(kind == Kind::Scaled))
        .define("MASKED", i32::from(more.is_masked))
        .define("INDEX", if narrow(&axis) { "unsigned int" } else { "long long" })
        .define("BACKWARD", i32::from(kind == Kind::Backward));
    let mut arguments: Vec<Arg> = tensors.iter().map(|&name| Arg::Tensor(name)).collect();
    // Two tensors are held, or scores as floats.
    let most = if more.is_masked || kind == Kind::Backward { 4 } else { 8 };
    let rows = || {
        Rows::by_warps(axis.outer, axis.length, lanes(dtype), most)
            .or_else(|| Rows::new(axis.outer, axis.length, lanes(dtype), most, gpu))
    };
    let held = (axis.inner == 1 && !more.is_upside_down).then(rows).flatten();
    Ok(match held {
        Some(rows) => {
            // Columns fit into 32 bits, or the rows would not be held.
            arguments.extend([Arg::I32(axis.length as i32), Arg::I64(axis.outer)]);
            arguments.extend(more.arguments);
            // Shared memory has room for more blocks of long rows than registers, and so more of them are under way.
            match rows.staged(gpu).filter(|_| matches!(kind, Kind::Softmax | Kind::LogSoftmax)) {
                Some(rows) => {
                    let grid = rows.grid(call.op())?.shared(rows.staged_bytes());
                    let source = rows.define(source.with(COPIES).define("STAGED", 1));
                    Plan::new().launch(source, "softmax_staged_rows", grid, arguments)
                }
                None => Plan::new().launch(rows.define(source), "softmax_rows", rows.grid(call.op())?, arguments),
            }
        }
        None => {
            arguments.extend([Arg::I64(axis.length), Arg::I64(axis.inner)]);
            arguments.extend(more.arguments);
            let most = if matches!(kind, Kind::Softmax | Kind::LogSoftmax) { 8 } else { 0 };
            let (source, grid) = axis.columns(lanes(dtype), most, source, call.op())?;
            Plan::new().launch(source, "softmax_columns", grid, arguments)
        }
    })
}
