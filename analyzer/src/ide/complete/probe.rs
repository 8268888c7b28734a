//! Trying out what can stand for the cursor.

use super::super::mentions::formals;
use super::super::site::{Holds, Owner};
use super::MARK;
use crate::check::{CallRole, Inference, Position, Scope, Symbol, SymbolRole};
use crate::defect::Findings;
use crate::expr::{ExprKind, parse_expression, parse_shape};
use crate::lang::Kind;
use crate::model::{Condition, Entry};
use crate::syntax::Scalar;
use crate::text::{TextRange, TextSize};

/// Tries out what can stand for the cursor.
pub(super) struct Probe<'a> {
    pub(super) scope: &'a Scope,
    pub(super) holds: Holds,
    pub(super) owner: Owner<'a>,
    pub(super) text: &'a str,
    pub(super) entry: &'a Entry,
}

impl Probe<'_> {
    /// Whether operators can stand here.
    pub(super) fn speaks(&self) -> bool {
        matches!(self.holds, Holds::Expression(_) | Holds::Condition | Holds::Shape(_)) && self.text.trim() != MARK
    }

    /// Whether a name is one that a condition can be built from.
    pub(super) fn decides(&self, symbol: &Symbol) -> bool {
        let is_optional = |tensor: &crate::model::Tensor| {
            tensor.name.value == symbol.name && matches!(tensor.optional.valid(), Some(Condition::Always(true)))
        };
        match &symbol.kind {
            Kind::Bool | Kind::Enum(_) | Kind::Maybe(_) | Kind::Adt(..) => symbol.role == SymbolRole::Param,
            Kind::Tensor => {
                self.entry.signature.valid().is_some_and(|signature| crate::check::tensors(signature).any(is_optional))
            }
            Kind::Error => true,
            _ => false,
        }
    }

    /// Whether the cursor is in a tensor whose contents a generator gives.
    pub(super) fn generates(&self) -> bool {
        let Some(signature) = self.entry.signature.valid() else { return false };
        let own = |tensor: &&crate::model::Tensor| Some(&*tensor.name.value) == self.owner.name;
        crate::check::tensors(signature).find(own).is_some_and(|tensor| !tensor.values.is_absent())
    }

    /// How many defects the text has with `candidate` for the cursor; `kind` is what the candidate is where nothing
    /// declares it.
    pub(super) fn defects(&self, candidate: &str, kind: Option<Kind>) -> usize {
        let text = self.text.replace(MARK, candidate);
        let range = TextRange::up_to(TextSize::of(&*text));
        let scalar = Scalar::plain(&text);
        let mut found = Findings::default();
        let position = match self.holds {
            Holds::Expression(position) | Holds::Shape(position) => position,
            Holds::Condition => Position::Condition,
            Holds::TensorDType => Position::Dtype,
            Holds::Generator => Position::Generator,
            _ => Position::Predicate,
        };
        let shape = matches!(self.holds, Holds::Shape(_)).then(|| parse_shape(&scalar, range, "", &mut found));
        let expr = shape.is_none().then(|| parse_expression(&scalar, range, "", &mut found));
        let mut inference = Inference::new(self.scope, position, "", &mut found);
        if let (Position::Family, Some(formals)) = (position, formals(self.scope, &self.owner)) {
            inference = inference.with_formals(formals);
        }
        if let Some(kind) = kind {
            inference = inference.with_local(candidate.into(), kind);
        }
        if let Some(shape) = shape {
            inference.shape(&shape);
        }
        if let Some(expr) = expr {
            match (self.holds, position) {
                (Holds::Generator | Holds::Predicate, _) => {
                    let role = if self.holds == Holds::Generator { CallRole::Generator } else { CallRole::Predicate };
                    if let ExprKind::Call(call) = &expr.kind {
                        inference.generator_or_predicate(call, role, expr.range);
                    }
                }
                (_, Position::Roofline) => inference.integer(&expr, "a roofline"),
                (_, Position::Refinement | Position::Condition) => inference.condition(&expr, "a condition"),
                (_, Position::Dtype) => {
                    inference.dtype(&expr);
                }
                (_, Position::Let) => {
                    inference.let_value(self.owner.name.unwrap_or_default(), &expr);
                }
                _ => {
                    inference.value(&expr);
                }
            }
        }
        found.defects.len()
    }
}
