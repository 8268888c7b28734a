//! The k greatest of each row, or the least.

use tileops_device::Grid;
use tileops_ops::{CheckedCall, OpError};

use crate::gpu::Gpu;
use crate::ops::Planner;
use crate::ops::rows::{blocks, columns_of_kernel, lanes, size};
use crate::plan::{Arg, Plan};
use crate::source::ROW;

pub(crate) const PLANNERS: &[(&str, Planner)] = &[("TopKFwdOp", top_k)];

/// Rows that are short enough for each element to look at all others.
const SHORT: i64 = 1024;

/// Pairs that a block can sort.
const MOST: i64 = 4096;

fn top_k(call: &CheckedCall, _: &Gpu) -> Result<Plan, OpError> {
    let op = call.op();
    let extent = |name| size(op, call.int(name)?.get()?);
    let (columns, k) = (extent("V")?, extent("k")?);
    let rows = size(op, call.tensor("x")?.numel().get()?)? / columns;
    if rows == 0 {
        return Ok(Plan::new());
    }
    let dtype = call.dtype("x")?;
    let source = source!("topk.cu")
        .with(ROW)
        .element("ELEMENT", dtype)
        .define("WIDTH", lanes(dtype))
        .define("LARGEST", i32::from(call.bool("largest")?));
    let mut arguments = vec![
        Arg::Tensor("x"),
        Arg::Tensor("values"),
        Arg::Tensor("indices"),
        Arg::I32(columns_of_kernel(call.op(), columns)?),
        Arg::I32(columns_of_kernel(call.op(), k)?),
    ];
    if columns <= SHORT || k > MOST {
        let chunks = (columns + 255) / 256;
        arguments.push(Arg::I32(columns_of_kernel(call.op(), chunks)?));
        return Ok(Plan::new().launch(source, "rank_rows", Grid::row(blocks(op, rows * chunks)?, 256), arguments));
    }
    // Room for the bin of the k-th as well.
    let capacity = if k <= 1024 { 2048 } else { MOST };
    let source = source.define("CAPACITY", capacity);
    Ok(Plan::new().launch(source, "select_rows", Grid::row(blocks(op, rows)?, 1024), arguments))
}
