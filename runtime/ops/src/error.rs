//! Why an op is not constructed, a call not made, a roofline not priced.

use std::error::Error;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

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
    /// What the implementation runs on failed: its error is the source.
    #[error("{op}: the implementation failed")]
    Failed {
        /// The op.
        op: &'static str,
        /// Why.
        #[source]
        cause: Cause,
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

    /// The failure of what runs `op`. Who asks for the sources of it gets `error` itself.
    pub fn failed(op: &'static str, error: impl Error + Send + Sync + 'static) -> Self {
        OpError::Failed { op, cause: Cause(Arc::new(error)) }
    }
}

/// An error of another crate, shared. Two are equal where they say the same.
#[derive(Debug, Clone)]
pub struct Cause(Arc<dyn Error + Send + Sync>);

impl Deref for Cause {
    type Target = dyn Error + Send + Sync;

    fn deref(&self) -> &Self::Target {
        &*self.0
    }
}

impl PartialEq for Cause {
    fn eq(&self, other: &Cause) -> bool {
        self.0.to_string() == other.0.to_string()
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_source_of_a_failure_is_the_error_itself() {
        let error = OpError::failed("DemoFwdOp", Failure::Overflow);
        assert_eq!(error.source().and_then(|source| source.downcast_ref()), Some(&Failure::Overflow));
        assert_eq!(error.to_string(), "DemoFwdOp: the implementation failed");
        assert_eq!(error, error.clone());
    }
}
