//! The mean of squared differences.

use tileops_device::Grid;
use tileops_ops::{CheckedCall, OpError};

use crate::gpu::Gpu;
use crate::ops::Planner;
use crate::ops::elementwise::{count, lanes, whole};
use crate::plan::{Arg, Plan};
use crate::source::ELEMENTWISE;

pub(crate) const PLANNERS: &[(&str, Planner)] = &[("MseLossFwdOp", mse)];

/// A sum a block, and then their sum.
fn mse(call: &CheckedCall, gpu: &Gpu) -> Result<Plan, OpError> {
    let input = call.tensor("input")?;
    let elements = count(input)?;
    let vectors = elements.div_ceil(lanes(&[input.dtype]));
    // Four vectors a thread, or more where that would be more blocks than run at once.
    let blocks = vectors.div_ceil(4 * 256).clamp(1, 8 * u64::from(gpu.multiprocessors)) as u32;
    let source = source!("mse.cu").with(ELEMENTWISE).element("ELEMENT", input.dtype);
    let mut plan = Plan::new();
    let partial = plan.scratch(4 * blocks as usize);
    let first = vec![Arg::Tensor("input"), Arg::Tensor("target"), partial.clone(), whole(call, elements)?];
    let count = Arg::Bytes((elements as f64).to_ne_bytes().to_vec());
    let second = vec![partial, Arg::Tensor("loss"), Arg::I32(blocks as i32), count];
    Ok(plan.launch(source.clone(), "mse_partial", Grid::row(blocks, 256), first).launch(
        source,
        "mse_whole",
        Grid::row(1, 256),
        second,
    ))
}
