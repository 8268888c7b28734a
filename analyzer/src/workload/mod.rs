//! Workload rows to calls: every tensor's shape, dtype and values, and the bytes that the call moves.

use std::sync::Arc;

use crate::lang::{DType, Value};
use crate::model::TensorRole;
use crate::text::TextRange;

/// One call that a row determines: the row at one of its dtype cases.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// The row's position in `workloads`, from zero.
    pub row: usize,
    /// Where the row stands.
    pub range: TextRange,
    /// The case's name: label, dtype values, dtype parameters' values, joined by `-`.
    pub case_id: String,
    /// Every value parameter, defaults filled in, in the order declared.
    pub params: Vec<(Arc<str>, Value)>,
    /// Every relevant index and `let`, solved.
    pub indices: Vec<(Arc<str>, Value)>,
    /// Every tensor of `params`, `inputs` and `outputs`, in the order declared; `None` where it is not passed.
    pub tensors: Vec<(Arc<str>, Option<CallTensor>)>,
}

/// A tensor of a call.
#[derive(Debug, Clone, PartialEq)]
pub struct CallTensor {
    /// The section that declares it.
    pub role: TensorRole,
    /// Its extents.
    pub shape: Vec<i128>,
    /// Its dtype.
    pub dtype: DType,
    /// What the call does to it.
    pub effect: Effect,
}

/// What a call does to a tensor's storage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Effect {
    /// Reads it.
    Read,
    /// Writes it.
    Write,
    /// Reads and writes it: a mutated input.
    ReadWrite,
    /// Nothing of its own: the storage is an input's that the call writes, and counts there.
    Alias,
}
