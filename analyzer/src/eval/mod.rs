//! Expressions to values, and expressions folded where some of their names are known.
//!
//! Shapes, refinements, conditions and arguments are evaluated here. Formulas never are: a roofline is folded, checked
//! and printed, and its number comes from the generated method alone (`docs/architecture.md`, the evaluator boundary).

use std::sync::Arc;

use crate::lang::Value;
use crate::text::TextRange;

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
