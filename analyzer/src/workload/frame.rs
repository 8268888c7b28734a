//! The names of one call while it is being made: what the row states, what generators determine, what `let`s compute.

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use crate::check::{Branch, Point};
use crate::eval::{Environment, EvalError, EvalFailure, evaluate};
use crate::lang::{DType, Value};

/// How deep one `let` may pull others in before it waits for the next round.
const MAX_DEPTH: u32 = 32;

/// What has become of a `let`.
#[derive(Debug, Clone)]
enum LetState {
    /// Not computed; in that round a name was missing (none yet: round 0).
    Waiting(u32),
    /// Being computed.
    Open,
    /// Computed.
    Done(Value),
    /// It has no value at this call.
    Failed(EvalError),
    /// Its definition is wrong, as was said: it is not computed.
    Wrong,
}

/// The names of a call. `let`s are computed when they are first read.
pub(super) struct Frame<'a> {
    pub(super) branch: &'a Branch,
    known: Vec<(Arc<str>, Value)>,
    lets: RefCell<Vec<LetState>>,
    /// Rises with every name that becomes known, so that a `let` that lacked one is tried again.
    round: Cell<u32>,
    depth: Cell<u32>,
}

impl<'a> Frame<'a> {
    /// The names of a call at `branch`: `known` ones, and the `let`s but those that `is_wrong` names.
    pub(super) fn new(branch: &'a Branch, known: Vec<(Arc<str>, Value)>, is_wrong: impl Fn(&str) -> bool) -> Self {
        let state = |(name, _): &(Arc<str>, _)| if is_wrong(name) { LetState::Wrong } else { LetState::Waiting(0) };
        let lets = RefCell::new(branch.lets.iter().map(state).collect());
        Frame { branch, known, lets, round: Cell::new(1), depth: Cell::new(0) }
    }

    /// Binds a name that was not known.
    pub(super) fn bind(&mut self, name: &Arc<str>, value: Value) {
        self.known.push((name.clone(), value));
        self.round.set(self.round.get().saturating_add(1));
    }

    /// The value of a name that the row, a default or a generator gives.
    pub(super) fn given(&self, name: &str) -> Option<&Value> {
        self.known.iter().find(|(n, _)| &**n == name).map(|(_, value)| value)
    }

    /// Why the `let` called `name` has no value, where it was computed and failed.
    pub(super) fn failure(&self, name: &str) -> Option<EvalError> {
        let position = self.position(name)?;
        match self.lets.borrow().get(position)? {
            LetState::Failed(error) => Some(error.clone()),
            _ => None,
        }
    }

    /// Computes every `let` that can be.
    pub(super) fn settle(&self) {
        for _ in 0..=self.branch.lets.len() {
            let before = self.undecided();
            (0..self.branch.lets.len()).for_each(|position| drop(self.force(position)));
            if self.undecided() == before {
                return;
            }
            // One that waited for another's turn, not for a name, is tried again.
            self.round.set(self.round.get().saturating_add(1));
        }
    }

    fn undecided(&self) -> usize {
        self.lets.borrow().iter().filter(|state| matches!(state, LetState::Waiting(_))).count()
    }

    fn position(&self, name: &str) -> Option<usize> {
        self.branch.lets.iter().position(|(n, _)| &**n == name)
    }

    fn set(&self, position: usize, state: LetState) {
        if let Some(slot) = self.lets.borrow_mut().get_mut(position) {
            *slot = state;
        }
    }

    fn force(&self, position: usize) -> Option<Value> {
        let round = self.round.get();
        match self.lets.borrow().get(position)? {
            LetState::Done(value) => return Some(value.clone()),
            LetState::Open | LetState::Failed(_) | LetState::Wrong => return None,
            LetState::Waiting(tried) if *tried == round => return None,
            LetState::Waiting(_) => {}
        }
        if self.depth.get() >= MAX_DEPTH {
            return None;
        }
        let (_, expr) = self.branch.lets.get(position)?;
        self.set(position, LetState::Open);
        self.depth.set(self.depth.get() + 1);
        let result = evaluate(expr, self);
        self.depth.set(self.depth.get() - 1);
        let (state, value) = match result {
            Ok(value) => (LetState::Done(value.clone()), Some(value)),
            Err(EvalError { reason: EvalFailure::Undetermined(_), .. }) => (LetState::Waiting(round), None),
            Err(error) => (LetState::Failed(error), None),
        };
        self.set(position, state);
        value
    }
}

impl Environment for Frame<'_> {
    fn value(&self, name: &str) -> Option<Value> {
        let stated = self.given(name).cloned().or_else(|| self.force(self.position(name)?));
        // A dtype's own name stands for it where nothing else does.
        stated.or_else(|| DType::from_name(name).map(Value::DType))
    }

    fn present(&self, name: &str) -> Option<bool> {
        let point: &Point = &self.branch.point;
        point.present(name).or_else(|| self.given(name).map(|value| *value != Value::None))
    }

    fn field(&self, name: &str, field: &str) -> Option<Value> {
        match self.given(name)? {
            Value::Adt(adt) if field == "kind" => Some(Value::Str(adt.constructor.clone())),
            Value::Adt(adt) => adt.field(field).cloned(),
            _ => None,
        }
    }
}
