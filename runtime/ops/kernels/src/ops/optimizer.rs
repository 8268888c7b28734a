//! What a training step does with gradients.

use tileops_ops::{CheckedCall, OpError};

use crate::gpu::Gpu;
use crate::ops::Planner;
use crate::ops::elementwise::{count, grid, size, whole};
use crate::plan::{Arg, Plan};
use crate::source::ELEMENTWISE;

pub(crate) const PLANNERS: &[(&str, Planner)] = &[("AdamWStepFwdOp", adamw)];

/// Elements a thread, as in `adamw.cu`.
const LANES: u64 = 4;

fn adamw(call: &CheckedCall, _: &Gpu) -> Result<Plan, OpError> {
    let weight = call.tensor("weight")?;
    let elements = count(weight)?;
    if elements == 0 {
        return Ok(Plan::new());
    }
    let [lr, beta1, beta2, eps, decay] = ["lr", "beta1", "beta2", "eps", "weight_decay"].map(|name| call.float(name));
    let (lr, beta1, beta2, eps, decay) = (lr?, beta1?, beta2?, eps?, decay?);
    let step = i32::try_from(size(call, "step")?).unwrap_or(i32::MAX);
    // In double precision here, as all of it is the same for every element. In the order of `Step`.
    let constants = [
        1.0 - lr * decay,
        beta1,
        1.0 - beta1,
        beta2,
        1.0 - beta2,
        lr / (1.0 - beta1.powi(step)),
        (1.0 - beta2.powi(step)).sqrt().recip(),
        eps,
    ];
    let constants = constants.into_iter().flat_map(|constant| (constant as f32).to_ne_bytes()).collect();
    let source = source!("adamw.cu").with(ELEMENTWISE).element("ELEMENT", weight.dtype);
    let arguments = vec![
        Arg::Tensor("weight"),
        Arg::Tensor("grad"),
        Arg::Tensor("moment"),
        Arg::Tensor("variance"),
        whole(call, elements)?,
        Arg::Bytes(constants),
    ];
    Ok(Plan::new().launch(source, "adamw", grid(call, elements, LANES)?, arguments))
}
