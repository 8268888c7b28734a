//! The checked call: all that a formula may read.

use crate::{DType, Int, OpError, Tensor, Value, Variant};

/// A call that passed its checks.
///
/// A formula is a function of it and of nothing else: parameters and indices by name (the names of an entry are distinct),
/// presence, each tensor's shape, dtype and size, the values of metadata tensors, and of a composite the calls that its
/// stages completed. A name that the call has not, or has as another kind of value, is an error: then the formula or the
/// call model is wrong.
///
/// ```
/// use tileops_ops::{CheckedCall, Int, OpError};
///
/// /// A contraction over the experts that `ids` names: an expert that no token is sent to reads no weights.
/// fn routed(call: &CheckedCall) -> Result<(Int, Int), OpError> {
///     let (n, k) = (call.int("N")?, call.int("K")?);
///     let mut experts = call.values("ids")?.to_vec();
///     experts.sort_unstable();
///     experts.dedup();
///     let each = call.bytes("weights")?.floor_div(call.int("E")?);
///     let softcap = if call.present("softcap")? { 3 * n } else { Int::from(0) };
///     Ok((2 * n * k + softcap, call.bytes("x")? + each * Int::from(experts.len()) + call.bytes("y")?))
/// }
/// ```
#[derive(Debug, Clone)]
pub struct CheckedCall {
    pub(crate) op: &'static str,
    pub(crate) params: Vec<(&'static str, Value)>,
    pub(crate) indices: Vec<(&'static str, Value)>,
    pub(crate) tensors: Vec<(&'static str, Option<Tensor>)>,
    pub(crate) outputs: Vec<(&'static str, Option<Tensor>)>,
    pub(crate) out: Option<Tensor>,
    pub(crate) stages: Vec<Stage>,
}

/// A call that a composite's sub-op completed.
#[derive(Debug, Clone)]
pub struct Stage {
    /// The stage's name in the entry's composition.
    pub name: &'static str,
    /// The call.
    pub call: CheckedCall,
}

fn find<'a, T>(items: &'a [(&'static str, T)], name: &str) -> Option<&'a T> {
    items.iter().find(|(n, _)| *n == name).map(|(_, item)| item)
}

impl CheckedCall {
    /// A call of `op`: what it was called with, and what follows from that.
    pub fn new(
        op: &'static str,
        params: Vec<(&'static str, Value)>,
        indices: Vec<(&'static str, Value)>,
        tensors: Vec<(&'static str, Option<Tensor>)>,
        outputs: Vec<(&'static str, Option<Tensor>)>,
    ) -> Self {
        CheckedCall { op, params, indices, tensors, outputs, out: None, stages: Vec::new() }
    }

    /// With the buffer that the caller passed as `out`.
    #[must_use]
    pub fn with_out(mut self, out: Option<Tensor>) -> Self {
        self.out = out;
        self
    }

    /// The op.
    pub fn op(&self) -> &'static str {
        self.op
    }

    /// The value parameters, in the order declared.
    pub fn params(&self) -> &[(&'static str, Value)] {
        &self.params
    }

    /// The indices and `let`s that the call's branch resolves.
    pub fn indices(&self) -> &[(&'static str, Value)] {
        &self.indices
    }

    /// The tensors passed, those of the construction first; nothing for one that was not.
    pub fn inputs(&self) -> &[(&'static str, Option<Tensor>)] {
        &self.tensors
    }

    /// The outputs; nothing for one that the call does not emit.
    pub fn outputs(&self) -> &[(&'static str, Option<Tensor>)] {
        &self.outputs
    }

    /// The buffer that the caller passed.
    pub fn out(&self) -> Option<&Tensor> {
        self.out.as_ref()
    }

    /// The calls that a composite's sub-ops completed, in their order.
    pub fn stages(&self) -> &[Stage] {
        &self.stages
    }

    fn lacks(&self, kind: &'static str, name: &str) -> OpError {
        OpError::NoSuchFact { op: self.op, kind, name: name.to_owned() }
    }

    /// The parameter, index or `let` called `name`.
    pub fn value(&self, name: &str) -> Result<&Value, OpError> {
        find(&self.indices, name).or_else(|| find(&self.params, name)).ok_or_else(|| self.lacks("value", name))
    }

    /// The integer called `name`.
    pub fn int(&self, name: &str) -> Result<Int, OpError> {
        match self.value(name)? {
            Value::Int(value) => Ok(Int::from(*value)),
            _ => Err(self.lacks("integer", name)),
        }
    }

    /// The Boolean called `name`.
    pub fn bool(&self, name: &str) -> Result<bool, OpError> {
        match self.value(name)? {
            Value::Bool(value) => Ok(*value),
            _ => Err(self.lacks("Boolean", name)),
        }
    }

    /// The number called `name`; an integer is one.
    pub fn float(&self, name: &str) -> Result<f64, OpError> {
        match self.value(name)? {
            Value::Float(value) => Ok(*value),
            Value::Int(value) => Ok(*value as f64),
            _ => Err(self.lacks("number", name)),
        }
    }

    /// The string called `name`.
    pub fn str(&self, name: &str) -> Result<&str, OpError> {
        match self.value(name)? {
            Value::Str(value) => Ok(value),
            _ => Err(self.lacks("string", name)),
        }
    }

    /// The dtype called `name`: an index, a parameter, or the dtype of a tensor.
    pub fn dtype(&self, name: &str) -> Result<DType, OpError> {
        match self.value(name) {
            Ok(Value::DType(value)) => Ok(*value),
            _ => self.tensor(name).map(|tensor| tensor.dtype).map_err(|_| self.lacks("dtype", name)),
        }
    }

    /// The shape (or another sequence of integers) called `name`, or that of a tensor.
    pub fn shape(&self, name: &str) -> Result<Vec<i128>, OpError> {
        match self.value(name).ok().and_then(Value::to_ints) {
            Some(extents) => Ok(extents),
            None => self.tensor(name).map(|tensor| tensor.shape.clone()).map_err(|_| self.lacks("shape", name)),
        }
    }

    /// The value of a sum type called `name`.
    pub fn variant(&self, name: &str) -> Result<&Variant, OpError> {
        match self.value(name)? {
            Value::Variant(value) => Ok(value),
            _ => Err(self.lacks("variant", name)),
        }
    }

    fn slot(&self, name: &str) -> Option<&Option<Tensor>> {
        find(&self.tensors, name).or_else(|| find(&self.outputs, name))
    }

    /// Whether the tensor, the parameter or `out` called `name` is there.
    pub fn present(&self, name: &str) -> Result<bool, OpError> {
        if name == "out" {
            return Ok(self.out.is_some());
        }
        if let Some(tensor) = self.slot(name) {
            return Ok(tensor.is_some());
        }
        self.value(name).map(|value| *value != Value::None)
    }

    /// The tensor called `name`, which is there.
    pub fn tensor(&self, name: &str) -> Result<&Tensor, OpError> {
        match self.slot(name) {
            Some(Some(tensor)) => Ok(tensor),
            Some(None) => {
                Err(OpError::OpNotAvailable { op: self.op, message: format!("`{name}` is not part of this call") })
            }
            None => Err(self.lacks("tensor", name)),
        }
    }

    /// The size of the tensor called `name`, in bytes.
    pub fn bytes(&self, name: &str) -> Result<Int, OpError> {
        Ok(Int::from(self.tensor(name)?.nbytes()?))
    }

    /// The contents of the metadata tensor called `name`, row-major. A call without data has none.
    pub fn values(&self, name: &str) -> Result<&[i64], OpError> {
        match &self.tensor(name)?.values {
            Some(values) => Ok(values),
            None => Err(OpError::OpNotAvailable {
                op: self.op,
                message: format!("the values of `{name}` are not known: the call was made without them"),
            }),
        }
    }

    /// The calls that the sub-op of the stage called `name` completed.
    pub fn stage(&self, name: &str) -> impl Iterator<Item = &CheckedCall> {
        self.stages.iter().filter(move |stage| stage.name == name).map(|stage| &stage.call)
    }
}
