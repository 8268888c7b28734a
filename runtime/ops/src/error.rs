//! Why an op is not constructed, a call not made, a roofline not priced.

use crate::Failure;

/// What can go wrong with an op.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum OpError {
    /// A construction or a call that the manifest's entry refuses.
    #[error("{op}: {declaration}: {message}")]
    Refused {
        /// The op.
        op: &'static str,
        /// The path of the declaration in the entry: `signature.inputs.weight.shape`.
        declaration: &'static str,
        /// What is wrong.
        message: String,
    },
    /// What was asked for needs a completed call, or one with values.
    #[error("{op}: {message}")]
    OpNotAvailable {
        /// The op.
        op: &'static str,
        /// What is lacking.
        message: String,
    },
    /// A formula asks for a fact that the checked call does not have, or has as another kind of value.
    #[error("{op}: the checked call has no {kind} `{name}`")]
    NoSuchFact {
        /// The op.
        op: &'static str,
        /// What was asked for: `integer`, `tensor`.
        kind: &'static str,
        /// Its name.
        name: String,
    },
    /// Arithmetic of a formula without a result.
    #[error("{0}")]
    Arithmetic(#[from] Failure),
    /// A call with data of an op that nothing runs.
    #[error("{op}: there is no implementation for a call with data")]
    NoImplementation {
        /// The op.
        op: &'static str,
    },
    /// The implementation failed, or gave outputs that contradict the call.
    #[error("{op}: the implementation: {message}")]
    Implementation {
        /// The op.
        op: &'static str,
        /// What went wrong.
        message: String,
    },
    /// No op has that name.
    #[error("there is no op `{name}`")]
    UnknownOp {
        /// The name.
        name: String,
    },
}

impl OpError {
    /// A refusal of `op` that names the declaration.
    pub fn refused(op: &'static str, declaration: &'static str, message: impl Into<String>) -> Self {
        OpError::Refused { op, declaration, message: message.into() }
    }
}
