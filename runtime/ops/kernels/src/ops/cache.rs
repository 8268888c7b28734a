//! Keys and values into a cache and out of its pages, and parts of an attention joined.

use tileops_ops::{CheckedCall, OpError};

use crate::gpu::Gpu;
use crate::ops::Planner;
use crate::ops::gemm::{extent, grid};
use crate::plan::{Arg, Plan};
use crate::source::Source;

pub(crate) const PLANNERS: &[(&str, Planner)] =
    &[("KvCacheAppendFwdOp", append), ("PagedKvCacheGatherFwdOp", gather), ("MergeAttentionStatesFwdOp", merge)];

/// `rows` rows of `width` elements of `bits` bits: the source, how many elements a thread takes, and how many there are.
fn rows(part: &'static str, rows: u64, width: u64, bits: u32) -> (Source, u64, u64) {
    let lanes = u64::from(128 / bits);
    let lanes = if width.is_multiple_of(lanes) { lanes } else { 1 };
    (source!("cache.cu").define(part, 1).define("LANES", lanes), lanes, rows * width)
}

fn append(call: &CheckedCall, _: &Gpu) -> Result<Plan, OpError> {
    let (k, cache) = (call.tensor("k")?.dtype, call.tensor("k_cache")?.dtype);
    let width = extent(call, "G")? * extent(call, "D")?;
    let (source, lanes, elements) = rows("APPEND", extent(call, "N")?, width, k.bits());
    if elements == 0 {
        return Ok(Plan::new());
    }
    let tensors = ["k", "v", "k_cache", "v_cache", "slots"].map(Arg::Tensor);
    let arguments = tensors.into_iter().chain([Arg::I64(elements as i64), Arg::I32(width as i32)]).collect();
    Ok(Plan::new().launch(source.element("T", k).element("C", cache), "append", grid(elements, lanes), arguments))
}

fn gather(call: &CheckedCall, _: &Gpu) -> Result<Plan, OpError> {
    let k = call.tensor("k")?.dtype;
    let width = extent(call, "G")? * extent(call, "D")?;
    let (source, lanes, elements) = rows("GATHER", extent(call, "N")?, width, k.bits());
    if elements == 0 {
        return Ok(Plan::new());
    }
    let tensors = ["k_pages", "v_pages", "page_table", "rows", "k", "v"].map(Arg::Tensor);
    let sizes = [width, extent(call, "W")?, extent(call, "page_size")?].map(|size| Arg::I32(size as i32));
    let arguments = tensors.into_iter().chain([Arg::I64(elements as i64)]).chain(sizes).collect();
    Ok(Plan::new().launch(source.element("T", k).element("C", k), "gather", grid(elements, lanes), arguments))
}

fn merge(call: &CheckedCall, _: &Gpu) -> Result<Plan, OpError> {
    let dtype = call.dtype("T")?;
    let (n, h, d) = (extent(call, "N")?, extent(call, "H")?, extent(call, "D")?);
    let (source, lanes, elements) = rows("MERGE", n * h, d, dtype.bits());
    if elements == 0 {
        return Ok(Plan::new());
    }
    let tensors = ["o_a", "lse_a", "o_b", "lse_b", "o", "lse"].map(Arg::Tensor);
    let arguments = tensors.into_iter().chain([Arg::I64(elements as i64), Arg::I32(d as i32)]).collect();
    Ok(Plan::new().launch(source.element("T", dtype).element("C", dtype), "merge", grid(elements, lanes), arguments))
}
