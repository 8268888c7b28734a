//! Gradients of norms of rows, and of their weights.

use tileops_device::Grid;
use tileops_ops::{CheckedCall, OpError};

use crate::gpu::Gpu;
use crate::ops::Planner;
use crate::ops::rows::{blocks, dividing_lanes, lanes, size};
use crate::plan::{Arg, Plan};
use crate::source::ROW;

pub(crate) const PLANNERS: &[(&str, Planner)] = &[
    ("RmsNormBwdOp", |call, gpu| backward(call, gpu, false)),
    ("LayerNormBwdOp", |call, gpu| backward(call, gpu, true)),
];

/// The most threads of a block.
const MOST: i64 = 512;

/// Threads of a multiprocessor at 64 registers each, and at about 100.
const RESIDENT: (i64, i64) = (1024, 640);

fn backward(call: &CheckedCall, gpu: &Gpu, centred: bool) -> Result<Plan, OpError> {
    let op = call.op();
    let (rows, columns) = (size(op, call.int("M")?.get()?)?, size(op, call.int("N")?.get()?)?);
    let dtype = call.dtype("x")?;
    if columns == 0 {
        return Ok(Plan::new());
    }
    let width = dividing_lanes(columns, lanes(dtype));
    let source = source!("norm_backward.cu")
        .with(ROW)
        .element("ELEMENT", dtype)
        .define("WIDTH", width)
        .define("CENTRED", i32::from(centred));
    let means = if centred { Arg::Tensor("mean") } else { Arg::Null };
    let of_bias = if centred { Arg::Tensor("dbias") } else { Arg::Null };
    let (dy, x, weight, rstd) = (Arg::Tensor("dy"), Arg::Tensor("x"), Arg::Tensor("weight"), Arg::Tensor("rstd"));
    let (dx, of_weight) = (Arg::Tensor("dx"), Arg::Tensor("dweight"));
    let needed = columns / width;
    let vectors = if needed <= 256 { 1 } else { 2 };
    let group = ((needed + vectors - 1) / vectors + 31) / 32 * 32;
    if group > MOST {
        let mut plan = Plan::new();
        if rows > 0 {
            let arguments = vec![dy.clone(), x.clone(), weight, means.clone(), rstd.clone(), dx, Arg::I64(columns)];
            plan = plan.launch(source.clone(), "gradient_of_rows", Grid::row(blocks(op, rows)?, 1024), arguments);
        }
        let arguments = vec![dy, x, means, rstd, of_weight, of_bias, Arg::I64(columns), Arg::I64(rows)];
        let grid = Grid { blocks: (blocks(op, (columns + 31) / 32)?, 1, 1), threads: (32, 32, 1), shared_bytes: 0 };
        return Ok(plan.launch(source, "gradients_of_columns", grid, arguments));
    }
    // Columns are less than a million here, by what a group takes.
    let columns_of_kernel = Arg::I32(columns as i32);
    // Rows whose vectors a thread holds at once: two vectors of each tensor.
    let together = 2 / vectors;
    // Two sums for each of two vectors take more registers.
    let resident = if centred && vectors == 2 { RESIDENT.1 } else { RESIDENT.0 };
    let at_once = (resident / group).max(1);
    let source = source
        .define("VECTORS", vectors)
        .define("GROUP", group)
        .define("TOGETHER", together)
        .define("MIN_BLOCKS", at_once);
    let parts = ((rows + together - 1) / together).min(i64::from(gpu.multiprocessors) * at_once);
    let mut plan = Plan::new();
    let bytes = usize::try_from(parts * columns * 4).unwrap_or(usize::MAX);
    let sums_of_weight = plan.scratch(bytes);
    let sums_of_bias = if centred { plan.scratch(bytes) } else { Arg::Null };
    if rows > 0 {
        let arguments = vec![
            dy,
            x,
            weight,
            means,
            rstd,
            dx,
            sums_of_weight.clone(),
            sums_of_bias.clone(),
            columns_of_kernel.clone(),
            Arg::I64(rows),
        ];
        plan = plan.launch(source.clone(), "norm_backward", Grid::row(blocks(op, parts)?, group as u32), arguments);
    }
    let tensors = if centred { 2 } else { 1 };
    let grid =
        Grid { blocks: (blocks(op, (columns + 31) / 32 * tensors)?, 1, 1), threads: (32, 32, 1), shared_bytes: 0 };
    let arguments = vec![sums_of_weight, sums_of_bias, of_weight, of_bias, columns_of_kernel, Arg::I32(parts as i32)];
    Ok(plan.launch(source, "join_columns", grid, arguments))
}
