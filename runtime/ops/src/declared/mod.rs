//! What an op's author declares in code, beside the manifest: the compute roof, the read half, what decided a number.

mod reads;
mod roofs;
mod terms;

use crate::{CheckedCall, Int, OpError, Value};

/// A function of a checked call.
pub type OfCall<T> = fn(&CheckedCall) -> Result<T, OpError>;

/// What decided a call's numbers: a name and a value each.
pub type DataTerms = Vec<(&'static str, Value)>;

/// The declarations of one op. What is absent has its default.
#[derive(Debug, Clone, Copy, Default)]
pub struct Declared {
    /// The roof of a call; [`DEFAULT_ROOF`](crate::DEFAULT_ROOF) where absent.
    pub roof_key: Option<OfCall<&'static str>>,
    /// The bytes that a call reads; where absent, those that the roofline says apart: bytes that the effects give, or a
    /// formula by hand. An entry that states `bytes` has no other read half than this.
    pub read_bytes: Option<OfCall<Int>>,
    /// What decided the numbers of a call beside its shapes.
    pub data_terms: Option<OfCall<DataTerms>>,
}

/// What the author of the op called `name` declares.
pub fn of(name: &str) -> Declared {
    let roof = roofs::ROOFS.iter().find(|(ops, _)| ops.contains(&name));
    let terms = terms::TERMS.iter().find(|(op, _)| *op == name);
    let reads = reads::READS.iter().find(|(op, _)| *op == name);
    Declared {
        roof_key: roof.map(|(_, roof_key)| *roof_key),
        read_bytes: reads.map(|(_, read_bytes)| *read_bytes),
        data_terms: terms.map(|(_, data_terms)| *data_terms),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generated::REGISTRY;

    #[test]
    fn what_is_declared_is_of_ops_that_there_are() {
        let roofs = roofs::ROOFS.iter().flat_map(|(ops, _)| ops.iter());
        let ops = roofs.chain(reads::READS.iter().map(|(op, _)| op)).chain(terms::TERMS.iter().map(|(op, _)| op));
        for op in ops {
            assert!(REGISTRY.iter().any(|registration| registration.name == *op), "{op} is no op of the manifest");
        }
    }
}
