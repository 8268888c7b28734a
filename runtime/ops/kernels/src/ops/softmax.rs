//! The softmax family along one axis.

use tileops_ops::{CheckedCall, OpError};

use crate::gpu::Gpu;
use crate::ops::Planner;
use crate::ops::rows::{Axis, Rows, lanes, size};
use crate::plan::{Arg, Plan};
use crate::source::ROW;

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
    Masked,
    Backward,
}

fn along_axis(call: &CheckedCall, gpu: &Gpu, kind: Kind, tensors: &[&'static str]) -> Result<Plan, OpError> {
    let axis = Axis::new(call, &call.shape(tensors[0])?, call.int("dim")?.get()?)?;
    launch(call, gpu, kind, axis, tensors, Vec::new())
}

fn scaled_masked(call: &CheckedCall, gpu: &Gpu) -> Result<Plan, OpError> {
    let extent = |name| size(call.op(), call.int(name)?.get()?);
    let (heads, height) = (extent("H")?, extent("S")?);
    let axis = Axis::new(call, &call.shape("scores")?, -1)?;
    // A mask of one batch, or of one row, is that of all.
    let (batch_stride, row_stride) = match call.present("mask")? {
        false => (0, 0),
        true => {
            let shape = &call.tensor("mask")?.shape;
            let rows = size(call.op(), shape[2])?;
            (if shape[0] == 1 { 0 } else { rows }, i64::from(rows > 1))
        }
    };
    let mask = vec![
        Arg::Tensor("mask"),
        Arg::F32(call.float("scale")? as f32),
        Arg::I64(heads),
        Arg::I64(height),
        Arg::I64(batch_stride),
        Arg::I64(row_stride),
    ];
    launch(call, gpu, Kind::Masked, axis, &["scores", "y"], mask)
}

fn launch(
    call: &CheckedCall,
    gpu: &Gpu,
    kind: Kind,
    axis: Axis,
    tensors: &[&'static str],
    more: Vec<Arg>,
) -> Result<Plan, OpError> {
    if axis.elements() == 0 {
        return Ok(Plan::new());
    }
    let dtype = call.dtype(tensors[0])?;
    let source = source!("softmax.cu")
        .with(ROW)
        .element("ELEMENT", dtype)
        .define("LOG_SOFTMAX", i32::from(kind == Kind::LogSoftmax))
        .define("MASKED", i32::from(kind == Kind::Masked))
        .define("BACKWARD", i32::from(kind == Kind::Backward));
    let mut arguments: Vec<Arg> = tensors.iter().map(|&name| Arg::Tensor(name)).collect();
    // Two tensors are held, or scores as floats.
    let most = if matches!(kind, Kind::Masked | Kind::Backward) { 4 } else { 8 };
    let held = (axis.inner == 1).then(|| Rows::new(axis.outer, axis.length, lanes(dtype), most, gpu)).flatten();
    Ok(match held {
        Some(rows) => {
            // Columns fit into 32 bits, or the rows would not be held.
            arguments.extend([Arg::I32(axis.length as i32), Arg::I64(axis.outer)]);
            arguments.extend(more);
            Plan::new().launch(rows.define(source), "softmax_rows", rows.grid(call.op())?, arguments)
        }
        None => {
            arguments.extend([Arg::I64(axis.length), Arg::I64(axis.inner)]);
            arguments.extend(more);
            let (source, grid) = axis.columns(lanes(dtype), source, call.op())?;
            Plan::new().launch(source, "softmax_columns", grid, arguments)
        }
    })
}
