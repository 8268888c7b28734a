//! Workload rows to calls: every tensor's shape, dtype and values, and the bytes that the call moves.

mod frame;
mod generated;
mod instantiate;
mod label;
mod row;
mod rows;
mod traffic;
mod unify;
mod words;

use std::sync::Arc;

pub use generated::Generated;
pub use label::{MAX_LABEL, case_id};
pub use rows::check_rows;
pub use traffic::{Traffic, TrafficTerm};

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
    /// Every relevant index and `let`, solved: indices in the order of `forall`, then `let`s in theirs.
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
    /// Its contents, for a metadata tensor: a recipe that is followed when somebody reads it.
    pub values: Option<Arc<Generated>>,
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

impl Effect {
    /// The name that `--rows` prints.
    pub fn name(self) -> &'static str {
        match self {
            Effect::Read => "read",
            Effect::Write => "write",
            Effect::ReadWrite => "read-write",
            Effect::Alias => "alias",
        }
    }

    /// How often the tensor's size counts as a read, and how often as a write.
    pub fn counts(self) -> (u32, u32) {
        match self {
            Effect::Read => (1, 0),
            Effect::Write => (0, 1),
            Effect::ReadWrite => (1, 1),
            Effect::Alias => (0, 0),
        }
    }
}

impl Call {
    /// The tensor called `name`, where it is passed.
    pub fn tensor(&self, name: &str) -> Option<&CallTensor> {
        self.tensors.iter().find(|(n, _)| &**n == name).and_then(|(_, tensor)| tensor.as_ref())
    }
}
