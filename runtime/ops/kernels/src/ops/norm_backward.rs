//! Gradients of norms of rows, and of their weights.

use tileops_device::Grid;
use tileops_ops::{CheckedCall, OpError};

use crate::gpu::Gpu;
use crate::ops::Planner;
use crate::ops::rows::{blocks, dividing_lanes, lanes, size};
use crate::plan::{Arg, Plan};
use crate::source::{COPIES, ROW};

pub(crate) const PLANNERS: &[(&str, Planner)] = &[
    ("RmsNormBwdOp", |call, gpu| backward(call, gpu, false)),
    ("LayerNormBwdOp", |call, gpu| backward(call, gpu, true)),
];

/// The most threads of a block.
const MOST: i64 = 512;

/// Rows of a block that takes a warp each: where registers are few enough and rows enough for all multiprocessors, and otherwise.
const WARPS: (i64, i64) = (16, 8);

/// Threads of a multiprocessor, at 128 registers each, so that the blocks and their sums are few; at 72; and at 255.
const RESIDENT: (i64, i64, i64) = (512, 896, 256);

/// Shared memory of a multiprocessor that rows on their way take.
const SHARED_BYTES: i64 = 192 << 10;

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
        .with(COPIES)
        .element("ELEMENT", dtype)
        .define("WIDTH", width)
        .define("CENTRED", i32::from(centred));
    let means = if centred { Arg::Tensor("mean") } else { Arg::Null };
    let of_bias = if centred { Arg::Tensor("dbias") } else { Arg::Null };
    let (dy, x, weight, rstd) = (Arg::Tensor("dy"), Arg::Tensor("x"), Arg::Tensor("weight"), Arg::Tensor("rstd"));
    let (dx, of_weight) = (Arg::Tensor("dx"), Arg::Tensor("dweight"));
    let needed = columns / width;
    // A lane holds sums of 32 columns of the weight, or of 56 of it and the bias; more than 48 sums take twice the registers.
    let of_warp = (needed + 31) / 32;
    let of_lane = of_warp * width;
    let is_wide = centred && of_lane > 24;
    let is_many = rows >= WARPS.0 * i64::from(gpu.multiprocessors);
    let (vectors, group, in_block) = match () {
        () if of_lane <= if centred { 56 } else { 32 } => {
            (of_warp, 32, if is_many && !is_wide { WARPS.0 } else { WARPS.1 })
        }
        () if needed <= 256 => (1, (needed + 31) / 32 * 32, 1),
        () => (2, ((needed + 1) / 2 + 31) / 32 * 32, 1),
    };
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
    let together = if in_block > 1 { 1 } else { 2 / vectors };
    let threads = group * in_block;
    // What a block's warps wait for each other with, more blocks hide: a mean takes more of it. Two vectors of eight elements
    // have no room in so few registers.
    let resident = match () {
        () if in_block > 1 && is_wide => RESIDENT.2,
        () if centred && in_block == 1 && vectors * width <= 8 => RESIDENT.1,
        () => RESIDENT.0,
    };
    let at_once = (resident / threads).max(1);
    let stage = 2 * together * vectors * threads * width * i64::from(dtype.bits()) / 8;
    let stages = (SHARED_BYTES / (at_once * stage)).clamp(2, 4);
    // Where a block's warps join their sums.
    let shared = (stages * stage).max(if in_block > 1 { in_block * columns * 4 } else { 0 });
    let source = source
        .define("VECTORS", vectors)
        .define("GROUP", group)
        .define("ROWS", in_block)
        .define("TOGETHER", together)
        .define("STAGES", stages)
        .define("MIN_BLOCKS", at_once);
    let parts =
        ((rows + together * in_block - 1) / (together * in_block)).min(i64::from(gpu.multiprocessors) * at_once);
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
        let grid = Grid::row(blocks(op, parts)?, threads as u32).shared(shared as u32);
        plan = plan.launch(source.clone(), "norm_backward", grid, arguments);
    }
    let tensors = if centred { 2 } else { 1 };
    let grid =
        Grid { blocks: (blocks(op, (columns + 31) / 32 * tensors)?, 1, 1), threads: (32, 32, 1), shared_bytes: 0 };
    let arguments = vec![sums_of_weight, sums_of_bias, of_weight, of_bias, columns_of_kernel, Arg::I32(parts as i32)];
    Ok(plan.launch(source, "join_columns", grid, arguments))
}
