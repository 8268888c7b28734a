//! The Op interface.

use std::sync::Arc;

use crate::declared::{DataTerms, Declared};
use crate::implementation::{Outputs, Run};
use crate::{Arguments, CheckedCall, Implementation, Int, OpError, Params, Tensor};

/// What a call costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Roofline {
    /// The least arithmetic of the algorithm that the op runs.
    pub flops: u128,
    /// The least traffic of it.
    pub bytes: u128,
}

impl Roofline {
    /// What a formula gave, which is never negative.
    pub fn of(op: &'static str, flops: Int, bytes: Int) -> Result<Self, OpError> {
        let flops = natural(op, "roofline.flops", flops)?;
        Ok(Roofline { flops, bytes: natural(op, "roofline.bytes", bytes)? })
    }
}

/// The roof of every op whose arithmetic runs on CUDA cores in fp32.
pub const DEFAULT_ROOF: &str = "cuda_core.fp32";

/// What an op has besides its parameters.
#[derive(Debug, Clone, Default)]
pub struct State {
    last_call: Option<CheckedCall>,
    implementation: Option<Arc<dyn Implementation>>,
}

impl State {
    /// Has calls with data run by `implementation`.
    pub fn implement(&mut self, implementation: Arc<dyn Implementation>) {
        self.implementation = Some(implementation);
    }
}

/// An op: one entry of the manifest, constructed.
///
/// The required methods of every entry are emitted. `call` is what they serve: it checks, runs, checks what came out, and
/// remembers the call; `eval_roofline` prices the call that is remembered.
pub trait Op: Send {
    /// The entry's name.
    fn name(&self) -> &'static str;

    /// Checks a call, and gives what follows from it. Nothing is remembered.
    fn check_call(&self, arguments: &Arguments) -> Result<CheckedCall, OpError>;

    /// The FLOPs and the bytes of the last completed call, computed anew each time.
    fn eval_roofline(&self) -> Result<Roofline, OpError>;

    /// The bytes that `call` reads as far as they are emitted, where the roofline says them apart: bytes that follow from the
    /// effects of the signature, and a formula by hand. Nothing where `bytes` is an expression, which says a sum: there
    /// [`Op::eval_roofline_read_bytes`], which is what to ask, has what the op's author declares.
    fn emitted_read_bytes(&self, call: &CheckedCall) -> Result<Option<Int>, OpError> {
        let _ = call;
        Ok(None)
    }

    /// What the op's author declares in code.
    fn declared(&self) -> Declared;

    /// The tensors of the construction.
    fn constructed(&self) -> Vec<(&'static str, Option<&Tensor>)> {
        Vec::new()
    }

    /// What it has besides its parameters.
    fn state(&self) -> &State;

    /// The same, to be changed.
    fn state_mut(&mut self) -> &mut State;

    /// Makes a call: its checks, the implementation, the checks of what that gives. A call of descriptions gives
    /// descriptions. A call that fails leaves the last one as it was.
    fn call(&mut self, arguments: &Arguments) -> Result<Outputs, OpError> {
        let mut call = self.check_call(arguments)?;
        let with_data = has_data(self.name(), self.constructed(), arguments)?;
        let implementation = self.state().implementation.clone();
        let outputs = match (implementation, with_data) {
            (Some(implementation), with_data) if with_data != Some(false) || implementation.takes_descriptions() => {
                let mut run = Run::new(arguments, self.constructed());
                let outputs = implementation.run(&call, &mut run)?;
                call.stages = run.stages;
                check_outputs(&call, arguments, &outputs)?;
                outputs
            }
            (None, Some(true)) => return Err(OpError::NoImplementation { op: self.name() }),
            _ => call.outputs.clone(),
        };
        self.state_mut().last_call = Some(call);
        Ok(outputs)
    }

    /// The last completed call.
    fn last_call(&self) -> Option<&CheckedCall> {
        self.state().last_call.as_ref()
    }

    /// The last completed call, or why there is none.
    fn completed_call(&self) -> Result<&CheckedCall, OpError> {
        self.last_call()
            .ok_or_else(|| OpError::OpNotAvailable { op: self.name(), message: "no call has completed".to_owned() })
    }

    /// The key of the GPU profile's unit that prices the FLOPs of the last call: the unit that an optimal implementation
    /// would use.
    fn roof_key(&self) -> Result<&'static str, OpError> {
        let call = self.completed_call()?;
        self.declared().roof_key.map_or(Ok(DEFAULT_ROOF), |roof_key| roof_key(call))
    }

    /// The bytes that the last call reads; nothing for an op that declares no read half.
    fn eval_roofline_read_bytes(&self) -> Option<Result<u128, OpError>> {
        let read = self.completed_call().and_then(|call| match self.declared().read_bytes {
            Some(read_bytes) => read_bytes(call).map(Some),
            None => self.emitted_read_bytes(call),
        });
        match read {
            Ok(None) => None,
            Ok(Some(bytes)) => Some(natural(self.name(), "roofline.bytes", bytes)),
            Err(error) => Some(Err(error)),
        }
    }

    /// What decided the numbers of the last call beside its shapes: a name and a value each.
    fn roofline_data_terms(&self) -> Result<DataTerms, OpError> {
        match self.declared().data_terms {
            Some(data_terms) => data_terms(self.completed_call()?),
            None => Ok(Vec::new()),
        }
    }
}

/// Whether the call has data: its tensors have elements, all of them. Nothing where there is no tensor to tell it.
fn has_data(
    op: &'static str,
    constructed: Vec<(&'static str, Option<&Tensor>)>,
    arguments: &Arguments,
) -> Result<Option<bool>, OpError> {
    let constructed = constructed.into_iter().filter_map(|(name, tensor)| Some((name, tensor?)));
    let passed = arguments.tensors.iter().map(|(name, tensor)| (name.as_str(), tensor));
    let tensors: Vec<_> = constructed.chain(passed).chain(arguments.out().map(|out| ("out", out))).collect();
    if tensors.is_empty() {
        return Ok(None);
    }
    if tensors.iter().all(|(_, tensor)| tensor.storage.is_none()) {
        return Ok(Some(false));
    }
    match tensors.iter().find(|(_, tensor)| tensor.storage.is_none()) {
        Some((name, _)) => Err(OpError::Implementation {
            op,
            message: format!("`{name}` has no elements, and other tensors of the call have theirs"),
        }),
        None => Ok(Some(true)),
    }
}

/// Whether an implementation gave what the call promises.
fn check_outputs(call: &CheckedCall, arguments: &Arguments, outputs: &Outputs) -> Result<(), OpError> {
    let wrong = |message: String| Err(OpError::Implementation { op: call.op, message });
    if let Some((name, _)) = outputs.iter().find(|(name, _)| !call.outputs.iter().any(|(known, _)| known == name)) {
        return wrong(format!("`{name}` is no output"));
    }
    for (name, due) in &call.outputs {
        let given = outputs.iter().find(|(known, _)| known == name).and_then(|(_, tensor)| tensor.as_ref());
        match (due, given) {
            (Some(due), Some(given)) if due.is_alike(given) => {}
            (Some(due), Some(given)) => return wrong(format!("`{name}` is {given}, and must be {due}")),
            (Some(due), None) => return wrong(format!("`{name}` is missing, and must be {due}")),
            (None, Some(given)) => return wrong(format!("`{name}` is {given}, and this call emits none")),
            (None, None) => {}
        }
    }
    if let Some(out) = arguments.out().filter(|out| out.storage.is_some())
        && !outputs.iter().flat_map(|(_, tensor)| tensor).any(|tensor| tensor.shares_storage(out))
    {
        return wrong("`out` was passed, and no output is in it".to_owned());
    }
    Ok(())
}

/// A number of FLOPs or bytes, which is never negative.
fn natural(op: &'static str, declaration: &'static str, value: Int) -> Result<u128, OpError> {
    let value = value.get().map_err(|why| OpError::refused(op, declaration, format!("it has no value: {why}")))?;
    u128::try_from(value).map_err(|_| OpError::refused(op, declaration, format!("it is {value}, below zero")))
}

/// An op that can be constructed by name.
#[derive(Debug, Clone, Copy)]
pub struct Registration {
    /// The entry's name.
    pub name: &'static str,
    /// The entry's family.
    pub family: &'static str,
    /// Constructs it.
    pub new: fn(&Params) -> Result<Box<dyn Op>, OpError>,
}

impl Registration {
    /// The op `name` of `family`, which `new` constructs.
    pub const fn new(
        new: fn(&Params) -> Result<Box<dyn Op>, OpError>,
        name: &'static str,
        family: &'static str,
    ) -> Self {
        Registration { name, family, new }
    }
}

/// The ops of a manifest, sorted by name.
pub type Registry = [Registration];

/// Constructs the op called `name` from `registry`.
pub fn construct(registry: &Registry, name: &str, params: &Params) -> Result<Box<dyn Op>, OpError> {
    match registry.binary_search_by(|registration| registration.name.cmp(name)) {
        Ok(at) => (registry[at].new)(params),
        Err(_) => Err(OpError::UnknownOp { name: name.to_owned() }),
    }
}
