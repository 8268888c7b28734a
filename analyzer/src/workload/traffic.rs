//! The bytes that a call moves, counted from its tensors by the effect rules alone. No roofline is read for it: it is
//! the count that a formula is compared with.

use std::sync::Arc;

use super::{Call, CallTensor};

/// What a call moves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Traffic {
    /// Bytes read and written.
    pub total: u128,
    /// Bytes read.
    pub read: u128,
    /// Bytes written.
    pub write: u128,
    /// One term a tensor that is passed or emitted, in the order declared; the terms sum to the totals.
    pub terms: Vec<TrafficTerm>,
}

/// One tensor's part of a call's traffic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrafficTerm {
    /// The tensor.
    pub tensor: Arc<str>,
    /// Its size in bytes.
    pub size: u128,
    /// Its bytes read.
    pub read: u128,
    /// Its bytes written.
    pub write: u128,
}

impl CallTensor {
    /// How many elements it has; nothing where that is beyond 128 bits.
    pub fn elements(&self) -> Option<u128> {
        elements(&self.shape)
    }

    /// Its size in bytes, `ceil(elements * bits / 8)`; nothing where that is beyond 128 bits.
    pub fn size(&self) -> Option<u128> {
        Some(self.elements()?.checked_mul(u128::from(self.dtype.bits()))?.div_ceil(8))
    }
}

/// The product of a shape's extents. A zero extent empties the tensor, however large the others are.
pub(super) fn elements(shape: &[i128]) -> Option<u128> {
    if shape.contains(&0) {
        return Some(0);
    }
    shape.iter().try_fold(1u128, |product, &extent| product.checked_mul(u128::try_from(extent).ok()?))
}

impl Call {
    /// What the call moves: a read for each tensor argument, a write for each output, both for an input that the call
    /// mutates, the write alone where it is `write_only`, and nothing for an output that is an input written here.
    /// Nothing at all where a size is beyond 128 bits, which the judgment of the row refuses.
    pub fn bytes(&self) -> Option<Traffic> {
        let mut traffic = Traffic { total: 0, read: 0, write: 0, terms: Vec::new() };
        for (name, tensor) in &self.tensors {
            let Some(tensor) = tensor else { continue };
            let size = tensor.size()?;
            let (reads, writes) = tensor.effect.counts();
            let read = size.checked_mul(u128::from(reads))?;
            let write = size.checked_mul(u128::from(writes))?;
            traffic.read = traffic.read.checked_add(read)?;
            traffic.write = traffic.write.checked_add(write)?;
            traffic.terms.push(TrafficTerm { tensor: name.clone(), size, read, write });
        }
        traffic.total = traffic.read.checked_add(traffic.write)?;
        Some(traffic)
    }
}

#[cfg(test)]
mod tests {
    use super::super::Effect;
    use super::*;
    use crate::lang::DType;
    use crate::model::TensorRole;
    use crate::text::{TextRange, TextSize};

    fn tensor(shape: &[i128], dtype: DType, effect: Effect) -> Option<CallTensor> {
        Some(CallTensor { role: TensorRole::Input, shape: shape.to_vec(), dtype, effect, values: None })
    }

    fn call(tensors: Vec<(&str, Option<CallTensor>)>) -> Call {
        Call {
            row: 0,
            range: TextRange::empty(TextSize::new(0)),
            case_id: "case".to_owned(),
            params: Vec::new(),
            indices: Vec::new(),
            tensors: tensors.into_iter().map(|(name, tensor)| (Arc::from(name), tensor)).collect(),
        }
    }

    #[test]
    fn each_effect_counts_as_said() {
        let call = call(vec![
            ("x", tensor(&[2, 3], DType::Float16, Effect::Read)),
            ("skipped", None),
            ("cache", tensor(&[10], DType::Float32, Effect::ReadWrite)),
            ("buffer", tensor(&[4], DType::Int64, Effect::Write)),
            ("y", tensor(&[], DType::Float64, Effect::Write)),
            ("cache_out", tensor(&[10], DType::Float32, Effect::Alias)),
        ]);
        let traffic = call.bytes().expect("small sizes");
        assert_eq!((traffic.total, traffic.read, traffic.write), (12 + 40 + 40 + 32 + 8, 52, 80));
        let sizes: Vec<_> = traffic.terms.iter().map(|t| (&*t.tensor, t.size, t.read, t.write)).collect();
        assert_eq!(
            sizes,
            [("x", 12, 12, 0), ("cache", 40, 40, 40), ("buffer", 32, 0, 32), ("y", 8, 0, 8), ("cache_out", 40, 0, 0)]
        );
    }

    #[test]
    fn sizes_beyond_128_bits_are_nothing_and_a_zero_extent_is_zero() {
        let huge = i128::MAX;
        assert_eq!(tensor(&[huge, huge], DType::Bool, Effect::Read).and_then(|t| t.size()), None);
        assert_eq!(tensor(&[huge, 2, 0, huge], DType::Bool, Effect::Read).and_then(|t| t.size()), Some(0));
        assert_eq!(call(vec![("x", tensor(&[huge, huge], DType::Bool, Effect::Read))]).bytes(), None);
    }
}
