//! The planners, a room a family.

/// The source whose own text is that `.cu` file.
macro_rules! source {
    ($file:literal) => {
        $crate::source::Source::new($file, include_str!(concat!("../cu/", $file)))
    };
}

mod attention;
mod broadcast;
mod cache;
mod elementwise;
mod embedding;
mod gated;
mod gemm;
mod grouped;
mod layers;
mod loss;
mod map;
mod moe;
mod mse;
mod norm;
mod norm_backward;
mod optimizer;
mod position;
mod quantization;
mod quantized;
mod reduction;
mod residual;
mod rope;
mod rows;
mod scan;
mod softmax;
mod statistics;
mod topk;
mod unary;

use tileops_ops::{CheckedCall, OpError};

use crate::gpu::Gpu;
use crate::plan::Plan;

/// Plans a call of one op.
pub type Planner = fn(&CheckedCall, &Gpu) -> Result<Plan, OpError>;

/// Every planner by its op, a table a family.
pub const PLANNERS: &[&[(&str, Planner)]] = &[
    attention::PLANNERS,
    broadcast::PLANNERS,
    cache::PLANNERS,
    embedding::PLANNERS,
    gated::PLANNERS,
    gemm::PLANNERS,
    grouped::PLANNERS,
    layers::PLANNERS,
    loss::PLANNERS,
    moe::PLANNERS,
    mse::PLANNERS,
    norm::PLANNERS,
    norm_backward::PLANNERS,
    optimizer::PLANNERS,
    position::PLANNERS,
    quantization::PLANNERS,
    quantized::PLANNERS,
    reduction::PLANNERS,
    residual::PLANNERS,
    rope::PLANNERS,
    scan::PLANNERS,
    softmax::PLANNERS,
    statistics::PLANNERS,
    topk::PLANNERS,
    unary::PLANNERS,
];

/// What plans the op called `name`, where it has a kernel.
pub fn planner(name: &str) -> Option<Planner> {
    PLANNERS.iter().flat_map(|family| family.iter()).find(|(op, _)| *op == name).map(|(_, planner)| *planner)
}

/// A call of `op` that a kernel cannot take.
fn refused(op: &'static str, message: String) -> OpError {
    OpError::Implementation { op, message }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_op_has_one_planner() {
        let ops: Vec<&str> = PLANNERS.iter().flat_map(|family| family.iter()).map(|(op, _)| *op).collect();
        for (at, op) in ops.iter().enumerate() {
            assert!(!ops[..at].contains(op), "{op} has two");
            assert!(tileops_ops::generated::REGISTRY.iter().any(|r| r.name == *op), "{op} is no op of the manifest");
        }
    }
}
