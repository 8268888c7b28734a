//! Layers of several contractions.

use tileops_device::{Compute, MatrixType, Operand, Product};
use tileops_ops::{CheckedCall, DType, OpError};

use crate::gpu::Gpu;
use crate::ops::Planner;
use crate::ops::gemm::{activation, add, extent, gated, grid, matrix_type, spread};
use crate::ops::grouped::Grouped;
use crate::ops::moe;
use crate::plan::{Arg, Multiply, Plan};

pub(crate) const PLANNERS: &[(&str, Planner)] = &[
    ("ExpertMlpFwdOp", expert_mlp),
    ("SharedExpertFwdOp", shared_expert),
    ("OuterProductMeanFwdOp", outer_product_mean),
];

const NULL: Arg = Arg::Null;

/// The tokens' rows to their experts, gate and up, the gated activation, down, and the weighted sum of a token's rows.
fn expert_mlp(call: &CheckedCall, gpu: &Gpu) -> Result<Plan, OpError> {
    let (n, h, f) = (extent(call, "N")?, extent(call, "H")?, extent(call, "F")?);
    let (e, k, dtype) = (extent(call, "E")?, extent(call, "K")?, call.dtype("T")?);
    if n * h == 0 {
        return Ok(Plan::new());
    }
    let mut plan = Plan::new();
    let (rows, bytes) = (n * k, |elements: u64| elements as usize * 2);
    let offsets = plan.scratch(4 * (e + 1) as usize);
    let places = plan.scratch(4 * rows as usize);
    let moved = plan.scratch(bytes(rows * h));
    let halves = plan.scratch(bytes(rows * 2 * f));
    let activated = plan.scratch(bytes(rows * f));
    let results = plan.scratch(bytes(rows * h));
    plan = moe::place(plan, (rows, e), offsets.clone(), places.clone());
    plan = moe::scatter_rows(plan, places.clone(), moved.clone(), (n, k), 2 * h);
    let gate_up = Grouped::packed(dtype, (e, rows, 2 * f, h));
    plan = gate_up.plan(plan, [moved, Arg::Tensor("gate_up"), offsets.clone(), NULL, NULL, halves.clone()], gpu);
    plan = gated(
        plan,
        (halves, None),
        activated.clone(),
        (dtype, dtype),
        activation(call.str("activation")?),
        (rows, f, 2 * f),
    );
    let down = Grouped::packed(dtype, (e, rows, h, f));
    plan = down.plan(plan, [activated, Arg::Tensor("down"), offsets, NULL, NULL, results.clone()], gpu);
    Ok(moe::combine_rows(plan, [results, Arg::Tensor("weights"), places, NULL, Arg::Tensor("y")], dtype, (n, k, h)))
}

/// A shared expert's result where its weights are passed, and its sum with what was routed.
fn shared_expert(call: &CheckedCall, _: &Gpu) -> Result<Plan, OpError> {
    let (n, h, dtype) = (extent(call, "N")?, extent(call, "H")?, call.dtype("T")?);
    let plan = Plan::new();
    if !call.present("gate_up")? {
        let (routed, y) = ((Arg::Tensor("routed"), dtype), (Arg::Tensor("y"), dtype));
        return Ok(spread(plan, routed, y, 1.0, (n, h), (h as i32, 1)));
    }
    if n * h == 0 {
        return Ok(plan);
    }
    let mut plan = plan;
    let (f, element) = (extent(call, "F")?, matrix_type(dtype));
    let (x, y, shared) = (Arg::Tensor("x"), Arg::Tensor("y"), Arg::Tensor("shared"));
    let halves = plan.scratch((4 * n * 2 * f) as usize);
    let activated = plan.scratch((2 * n * f) as usize);
    let gate_up = Product::linear(n, 2 * f, h, element, MatrixType::Fp32, Compute::Fp32);
    plan = plan.product(Multiply::new(gate_up, x, Arg::Tensor("gate_up"), halves.clone()));
    plan = gated(plan, (halves, None), activated.clone(), (DType::Float32, dtype), activation("silu"), (n, f, 2 * f));
    let down = Product::linear(n, h, f, element, element, Compute::Fp32);
    plan = plan.product(Multiply::new(down, activated, Arg::Tensor("down"), shared.clone()));
    Ok(add(plan, (shared, Arg::Tensor("routed")), y, dtype, n * h))
}

/// Every pair's outer product, as one product of `[S, R C]` with itself transposed, and its axes put in their order.
fn outer_product_mean(call: &CheckedCall, _: &Gpu) -> Result<Plan, OpError> {
    let (s, r, c, dtype) = (extent(call, "S")?, extent(call, "R")?, extent(call, "C")?, call.dtype("T")?);
    let elements = r * r * c * c;
    if elements == 0 {
        return Ok(Plan::new());
    }
    let mut plan = Plan::new();
    let element = matrix_type(dtype);
    let pairs = plan.scratch(elements as usize * element.bytes());
    let product = Product {
        a: Operand::plain(element).transposed(true),
        b: Operand::plain(element),
        ..Product::linear(r * c, r * c, s, element, element, Compute::Fp32)
    };
    let multiply = Multiply::new(product, Arg::Tensor("a"), Arg::Tensor("b"), pairs.clone());
    let plan = plan.product(Multiply { alpha: 1.0 / s as f32, ..multiply });
    // [R, C, R, C] to [R, R, C, C].
    let lanes = if (c * element.bytes() as u64).is_multiple_of(16) { 16 / element.bytes() as u64 } else { 1 };
    let source = source!("rearrange.cu").element("T", dtype).define("LANES", lanes);
    let arguments = vec![pairs, Arg::Tensor("d"), Arg::I64(elements as i64), Arg::I32(r as i32), Arg::I32(c as i32)];
    Ok(plan.launch(source, "swap", grid(elements, lanes), arguments))
}
