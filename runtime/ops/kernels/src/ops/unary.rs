//! One tensor in, one of the same shape out.

use tileops_device::Grid;
use tileops_ops::{CheckedCall, OpError};

use crate::gpu::Gpu;
use crate::ops::Planner;
use crate::plan::{Arg, Plan, Where};
use crate::source::Source;

pub(crate) const PLANNERS: &[(&str, Planner)] = &[
    ("ExpFwdOp", |call, gpu| map(call, gpu, "expf(x)")),
    ("ReluFwdOp", |call, gpu| {
        let plan = map(call, gpu, "fmaxf(x, 0.f)")?;
        Ok(if call.bool("inplace")? { plan.place("y", Where::In("x")) } else { plan })
    }),
];

const UNARY: &str = include_str!("../cu/unary.cu");

/// A function of each element, as an expression of `x` in single precision.
fn map(call: &CheckedCall, _: &Gpu, function: &str) -> Result<Plan, OpError> {
    let (x, y) = (call.tensor("x")?, call.tensor("y")?);
    let source = Source::new("unary.cu", UNARY)
        .element("TX", x.dtype)
        .element("TY", y.dtype)
        .define("FUNCTION(x)", format!("({function})"));
    let elements = i64::try_from(x.numel().get()?).unwrap_or(i64::MAX);
    if elements == 0 {
        return Ok(Plan::new());
    }
    // Each thread takes one vector of 16 bytes of the wider side.
    let per_thread = i64::from(128 / x.dtype.bits().max(y.dtype.bits()));
    let threads = 256;
    let blocks = (elements as u64).div_ceil(per_thread as u64 * threads) as u32;
    let arguments = vec![Arg::Tensor("x"), Arg::Tensor("y"), Arg::I64(elements)];
    Ok(Plan::new().launch(source, "unary", Grid::row(blocks, threads as u32), arguments))
}
