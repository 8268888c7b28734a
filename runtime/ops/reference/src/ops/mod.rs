//! The references, a room a family.

mod attention;
mod broadcast;
mod cache;
mod contraction;
mod dropout;
mod each;
mod elements;
mod embedding;
mod facts;
mod gated;
mod gemm;
mod grouped;
mod layers;
mod loss;
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
mod scan;
mod softmax;
mod statistics;
mod topk;
mod unary;

pub(crate) use each::Lines;

use crate::units::Reference;

/// Every reference, a table a family.
pub const REFERENCES: &[&[Reference]] = &[
    attention::REFERENCES,
    broadcast::REFERENCES,
    cache::REFERENCES,
    dropout::REFERENCES,
    embedding::REFERENCES,
    gated::REFERENCES,
    gemm::REFERENCES,
    grouped::REFERENCES,
    layers::REFERENCES,
    loss::REFERENCES,
    moe::REFERENCES,
    mse::REFERENCES,
    norm::REFERENCES,
    norm_backward::REFERENCES,
    optimizer::REFERENCES,
    position::REFERENCES,
    quantization::REFERENCES,
    quantized::REFERENCES,
    reduction::REFERENCES,
    residual::REFERENCES,
    rope::REFERENCES,
    scan::REFERENCES,
    softmax::REFERENCES,
    statistics::REFERENCES,
    topk::REFERENCES,
    unary::REFERENCES,
];

/// The reference of the op called `name`, where it has one.
pub fn of(name: &str) -> Option<&'static Reference> {
    REFERENCES.iter().flat_map(|family| family.iter()).find(|reference| reference.op == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_op_has_one_reference() {
        let ops: Vec<&str> = REFERENCES.iter().flat_map(|family| family.iter()).map(|reference| reference.op).collect();
        for (at, op) in ops.iter().enumerate() {
            assert!(!ops[..at].contains(op), "{op} has two");
            assert!(tileops_ops::generated::REGISTRY.iter().any(|r| r.name == *op), "{op} is no op of the manifest");
        }
    }
}
