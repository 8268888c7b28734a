//! Losses over rows of logits.

use tileops_ops::{CheckedCall, DType, OpError};

use crate::gpu::Gpu;
use crate::ops::Planner;
use crate::ops::map::Map;
use crate::ops::reduction::{Given, Reduction, extents, reduce};
use crate::ops::rows::size;
use crate::plan::{Arg, Plan};

pub(crate) const PLANNERS: &[(&str, Planner)] = &[
    ("CrossEntropyFwdOp", cross_entropy),
    ("CrossEntropyBwdOp", |call, _| {
        let (of_row, other, target) = (Arg::Tensor("grad"), Some(("lse", DType::Float32)), Arg::Tensor("target"));
        Map { of_row, other, target, ..Map::new("CrossEntropyGradient", "logits", "logits") }
            .plan(call, size(call.op(), call.int("V")?.get()?)?)
    }),
    ("KlDivFwdOp", |call, gpu| {
        let by = if call.bool("log_target")? { "LogDivergence" } else { "Divergence" };
        // The mean over the rows, of which there is one.
        pairs(call, gpu, by, 1.0 / call.float("N")?)
    }),
];

fn cross_entropy(call: &CheckedCall, gpu: &Gpu) -> Result<Plan, OpError> {
    let shape = extents(call, &call.tensor("logits")?.shape)?;
    let reduction = call.str("reduction")?;
    let parameter = call.float("label_smoothing")?;
    let defines = vec![("SMOOTHED", i32::from(parameter != 0.0).to_string())];
    let by = Reduction { first: "loss", parameter, defines, ..Reduction::by("CrossEntropy") };
    let mut plan = Plan::new();
    let of_rows = if reduction == "none" {
        Arg::Tensor("loss")
    } else {
        plan.scratch(usize::try_from(shape[0]).unwrap_or(0) * 4)
    };
    let given = Given {
        target: Arg::Tensor("target"),
        first: (of_rows.clone(), DType::Float32),
        ..Given::new(call, "logits", &by)?
    };
    plan = reduce(plan, call.op(), gpu, given, &shape, &[false, true], &by)?;
    if reduction == "none" {
        return Ok(plan);
    }
    let parameter = if reduction == "mean" { 1.0 / shape[0] as f64 } else { 1.0 };
    let total = Reduction { first: "loss", parameter, ..Reduction::by("Total") };
    let given = Given { x: of_rows, element: DType::Float32, ..Given::new(call, "logits", &total)? };
    reduce(plan, call.op(), gpu, given, &shape[..1], &[true], &total)
}

/// A sum over pairs of elements of `input` and `target`.
fn pairs(call: &CheckedCall, gpu: &Gpu, accumulator: &'static str, parameter: f64) -> Result<Plan, OpError> {
    let by = Reduction { first: "loss", parameter, ..Reduction::by(accumulator) };
    let elements = size(call.op(), call.tensor("input")?.numel().get()?)?;
    let given = Given { more: Arg::Tensor("target"), ..Given::new(call, "input", &by)? };
    reduce(Plan::new(), call.op(), gpu, given, &[elements], &[true], &by)
}
