//! The references, a room a family.

mod each;
mod norm;
mod softmax;
mod unary;

use crate::units::Reference;

/// Every reference, a table a family.
pub const REFERENCES: &[&[Reference]] = &[norm::REFERENCES, softmax::REFERENCES, unary::REFERENCES];

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
