//! What runs an op: the seam between a checked call and a CPU or GPU.

use std::fmt;

use crate::call::Stage;
use crate::{Arguments, CheckedCall, Op, OpError, Tensor};

/// Runs the calls of one op.
///
/// An op is constructed without one, and then takes calls without data only: they are checked, their outputs described, and
/// they can be priced. [`State::implement`](crate::State::implement) gives it one. A CPU reference and a CUDA kernel are two
/// implementations of one op; each knows the [`Storage`](crate::Storage) that it runs on, and refuses another.
///
/// The op has checked the call before [`Implementation::run`], and checks what it gives: every output that the call emits is
/// there with its shape and dtype, and no other.
pub trait Implementation: fmt::Debug + Send + Sync {
    /// Runs `call`, and gives its outputs, each in storage of its own. What was passed as `out` holds the output that it
    /// buffers, and an alias is the input's storage. A composite makes the calls of its sub-ops with [`Run::stage`].
    fn run(&self, call: &CheckedCall, run: &mut Run<'_>) -> Result<Outputs, OpError>;

    /// Whether it takes calls without data as well: a composite, whose sub-ops are then called without data.
    fn takes_descriptions(&self) -> bool {
        false
    }
}

/// The outputs of a call, in the order declared; nothing for one that the call does not emit.
pub type Outputs = Vec<(&'static str, Option<Tensor>)>;

/// What an implementation runs with.
#[derive(Debug)]
pub struct Run<'a> {
    arguments: &'a Arguments,
    constructed: Vec<(&'static str, Option<&'a Tensor>)>,
    pub(crate) stages: Vec<Stage>,
}

impl<'a> Run<'a> {
    pub(crate) fn new(arguments: &'a Arguments, constructed: Vec<(&'static str, Option<&'a Tensor>)>) -> Self {
        Run { arguments, constructed, stages: Vec::new() }
    }

    /// The tensor passed as `name` in the call or in the construction, with its storage.
    pub fn tensor(&self, name: &str) -> Option<&'a Tensor> {
        let constructed = || self.constructed.iter().find(|(known, _)| *known == name).and_then(|(_, t)| *t);
        self.arguments.get(name).or_else(constructed)
    }

    /// The buffer that the caller passed.
    pub fn out(&self) -> Option<&'a Tensor> {
        self.arguments.out()
    }

    /// Makes a sub-op's call, and remembers it as that of the stage `name`.
    pub fn stage(&mut self, name: &'static str, op: &mut dyn Op, arguments: &Arguments) -> Result<Outputs, OpError> {
        let outputs = op.call(arguments)?;
        if let Some(call) = op.last_call() {
            self.stages.push(Stage { name, call: call.clone() });
        }
        Ok(outputs)
    }
}
