//! Residual streams.

use tileops_ops::{CheckedCall, OpError};

use crate::ops::Planner;
use crate::ops::elementwise::{common_lanes, grid, lanes, size, whole};
use crate::plan::{Arg, Plan};
use crate::source::ELEMENTWISE;

pub(crate) const PLANNERS: &[(&str, Planner)] = &[
    ("HyperConnectionReadFwdOp", |call, _| streams(call, "residual_read", ["coefficients", "streams", "x"])),
    ("HyperConnectionWriteFwdOp", |call, _| streams(call, "residual_write", ["coefficients", "streams", "y"])),
];

/// A thread takes the same vector of all streams of a token.
fn streams(call: &CheckedCall, kernel: &'static str, names: [&'static str; 3]) -> Result<Plan, OpError> {
    let dtype = call.tensor("streams")?.dtype;
    let (tokens, width, n) = (size(call, "N")?, size(call, "H")?, size(call, "n")?);
    if tokens * width == 0 {
        return Ok(Plan::new());
    }
    let lanes = common_lanes(lanes(&[dtype]), &[width]);
    let vectors = tokens * (width / lanes);
    let source =
        source!("residual.cu").with(ELEMENTWISE).element("ELEMENT", dtype).define("STREAMS", n).define("LANES", lanes);
    let mut arguments = names.map(Arg::Tensor).to_vec();
    arguments.extend([whole(call, vectors)?, whole(call, width)?, whole(call, size(call, "Q")?)?]);
    Ok(Plan::new().launch(source, kernel, grid(call, vectors, 1)?, arguments))
}
