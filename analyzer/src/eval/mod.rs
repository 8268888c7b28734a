//! Expressions to values, and expressions folded where some of their names are known.
//!
//! Shapes, refinements, conditions and arguments are evaluated here. Formulas never are: a roofline is folded, checked
//! and printed, and its number comes from the generated method alone (`docs/architecture.md`, the evaluator boundary).
//!
//! The semantics is Python's, on integers of 128 bits whose every operation is checked, with four differences that
//! keep the language closed: conditions and the operands of `and`, `or` and `not` are Booleans; a result that is no
//! number (`inf - inf`) is an error; a dtype equals the string that names it; `v.value` of a `Maybe` that is passed is
//! the value itself.

mod evaluate;
mod fold;
mod names;
mod operators;

#[cfg(test)]
mod tests;

use std::cell::Cell;
use std::sync::Arc;

use crate::lang::Value;
use crate::text::TextRange;

pub use evaluate::{evaluate, evaluate_axes};
pub use fold::{fold, fold_axis, fold_call, fold_shape, literal};
pub use names::free_names;

/// What names stand for. A name that is not determined is `None`.
pub trait Environment {
    /// The value of an index, a parameter, a `let` or a comprehension's variable.
    fn value(&self, name: &str) -> Option<Value>;
    /// Whether a tensor, a `Maybe` parameter or `out` is passed.
    fn present(&self, name: &str) -> Option<bool>;
    /// `name.field` where the field is known although the whole value is not: `.kind` and the finite fields of an ADT
    /// parameter at a discriminant point.
    fn field(&self, name: &str, field: &str) -> Option<Value> {
        let _ = (name, field);
        None
    }
}

/// Why an expression has no value.
#[derive(Debug, Clone, PartialEq)]
pub struct EvalError {
    /// The subexpression at fault.
    pub range: TextRange,
    /// Why.
    pub reason: EvalFailure,
}

/// The reasons for which an expression has no value.
#[derive(Debug, Clone, PartialEq)]
pub enum EvalFailure {
    /// A name is not determined.
    Undetermined(Arc<str>),
    /// An operation or a built-in fails at these operands: "`7 % 0` divides by zero".
    Domain(String),
    /// The expression is one that the checker refuses; its defect has been reported.
    Poisoned,
}

/// The deepest expression that is looked into: somewhat deeper than what the parser reads, since trees are put together
/// from several texts. What lies below has no value and folds to itself.
const MAX_DEPTH: usize = 2 * crate::expr::MAX_DEPTH;

/// How much one evaluation may do, counted in items made and looked at: nested comprehensions could go on for ever.
const MAX_STEPS: u64 = 1 << 22;

/// Where an evaluation is.
#[derive(Clone, Copy)]
struct At<'a> {
    environment: &'a dyn Environment,
    depth: usize,
    steps: &'a Cell<u64>,
}

impl<'a> At<'a> {
    fn start(environment: &'a dyn Environment, steps: &'a Cell<u64>) -> Self {
        At { environment, depth: 0, steps }
    }

    /// One level further down; nothing where that is too deep.
    fn deeper(self) -> Option<Self> {
        (self.depth < MAX_DEPTH).then_some(At { depth: self.depth + 1, ..self })
    }

    /// The same place in another environment.
    fn within<'b>(self, environment: &'b dyn Environment) -> At<'b>
    where
        'a: 'b,
    {
        At { environment, depth: self.depth, steps: self.steps }
    }

    /// Counts `steps`; false where there are too many.
    fn spend(self, steps: usize) -> bool {
        let spent = self.steps.get().saturating_add(steps as u64);
        self.steps.set(spent);
        spent <= MAX_STEPS
    }
}

/// An environment in which one name stands for something else: a comprehension's variable, bound or (while folding) not.
struct Local<'a> {
    outer: &'a dyn Environment,
    name: &'a str,
    value: Option<Value>,
}

impl Environment for Local<'_> {
    fn value(&self, name: &str) -> Option<Value> {
        if name == self.name { self.value.clone() } else { self.outer.value(name) }
    }

    fn present(&self, name: &str) -> Option<bool> {
        if name == self.name { None } else { self.outer.present(name) }
    }

    fn field(&self, name: &str, field: &str) -> Option<Value> {
        if name == self.name { None } else { self.outer.field(name, field) }
    }
}

/// The value of the name: what the environment says, or `None` for a parameter that is not passed.
fn value_of_name(name: &str, environment: &dyn Environment) -> Option<Value> {
    let value = environment.value(name);
    value.or_else(|| (environment.present(name) == Some(false)).then_some(Value::None))
}

/// Whether `name` is passed.
fn presence_of_name(name: &str, environment: &dyn Environment) -> Option<bool> {
    environment.present(name).or_else(|| environment.value(name).map(|value| value != Value::None))
}
