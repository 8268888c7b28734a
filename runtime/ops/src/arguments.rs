//! What an op is constructed with, and what it is called with.

use crate::{Tensor, Value};

/// The parameters of a construction, by name: values, and tensors that the op keeps.
#[derive(Debug, Clone, Default)]
pub struct Params {
    pub(crate) values: Vec<(String, Value)>,
    pub(crate) tensors: Vec<(String, Tensor)>,
}

impl Params {
    /// None.
    pub fn new() -> Self {
        Params::default()
    }

    /// With the value `name`; one that was stated before is replaced.
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        let name = name.into();
        self.values.retain(|(known, _)| *known != name);
        self.values.push((name, value.into()));
        self
    }

    /// With the tensor `name`.
    #[must_use]
    pub fn with_tensor(mut self, name: impl Into<String>, tensor: Tensor) -> Self {
        let name = name.into();
        self.tensors.retain(|(known, _)| *known != name);
        self.tensors.push((name, tensor));
        self
    }
}

/// The tensors of a call, by name. One that is left out is not passed.
#[derive(Debug, Clone, Default)]
pub struct Arguments {
    pub(crate) tensors: Vec<(String, Tensor)>,
    pub(crate) out: Option<Tensor>,
}

impl Arguments {
    /// None.
    pub fn new() -> Self {
        Arguments::default()
    }

    /// With the input `name`.
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, tensor: Tensor) -> Self {
        let name = name.into();
        self.tensors.retain(|(known, _)| *known != name);
        self.tensors.push((name, tensor));
        self
    }

    /// With a buffer for the output that takes one.
    #[must_use]
    pub fn with_out(mut self, out: Tensor) -> Self {
        self.out = Some(out);
        self
    }

    /// The input called `name`, where it is passed.
    pub fn get(&self, name: &str) -> Option<&Tensor> {
        self.tensors.iter().find(|(known, _)| known == name).map(|(_, tensor)| tensor)
    }

    /// The buffer that is passed.
    pub fn out(&self) -> Option<&Tensor> {
        self.out.as_ref()
    }
}
