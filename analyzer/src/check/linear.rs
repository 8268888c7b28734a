//! Axes that are linear in one unknown.

use std::sync::Arc;

use super::facts;
use crate::expr::{BinaryOp, Expr, ExprKind, UnaryOp};

/// `coefficient * unknown + offset`; no offset is zero.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Linear {
    pub(crate) coefficient: i128,
    pub(crate) offset: Option<Expr>,
}

/// `expr` as a linear form in `unknown`, where it is one by its syntax: sums and differences of the name, of its
/// products with integer literals, and of terms that do not read it.
pub(crate) fn linear(expr: &Expr, unknown: &str) -> Option<Linear> {
    if !reads(expr, unknown) {
        return Some(Linear { coefficient: 0, offset: Some(expr.clone()) });
    }
    match &expr.kind {
        ExprKind::Name(_) => Some(Linear { coefficient: 1, offset: None }),
        ExprKind::Unary(UnaryOp::Neg, operand) => scale(linear(operand, unknown)?, -1, expr),
        ExprKind::Binary(BinaryOp::Mul, left, right) => match (&left.kind, &right.kind) {
            (ExprKind::Int(factor), _) => scale(linear(right, unknown)?, *factor, expr),
            (_, ExprKind::Int(factor)) => scale(linear(left, unknown)?, *factor, expr),
            _ => None,
        },
        ExprKind::Binary(op @ (BinaryOp::Add | BinaryOp::Sub), left, right) => {
            let left = linear(left, unknown)?;
            let right = linear(right, unknown)?;
            let subtracts = *op == BinaryOp::Sub;
            let coefficient = match subtracts {
                true => left.coefficient.checked_sub(right.coefficient)?,
                false => left.coefficient.checked_add(right.coefficient)?,
            };
            let offset = match (left.offset, right.offset) {
                (offset, None) => offset,
                (None, Some(offset)) if !subtracts => Some(offset),
                (None, Some(offset)) => scale(Linear { coefficient, offset: Some(offset) }, -1, expr)?.offset,
                (Some(a), Some(b)) => Some(Expr::new(ExprKind::Binary(*op, Box::new(a), Box::new(b)), expr.range)),
            };
            Some(Linear { coefficient, offset })
        }
        _ => None,
    }
}

fn scale(form: Linear, factor: i128, at: &Expr) -> Option<Linear> {
    let coefficient = form.coefficient.checked_mul(factor)?;
    let offset = form.offset.map(|offset| match (&offset.kind, factor) {
        (_, 1) => offset,
        (ExprKind::Int(value), _) if value.checked_mul(factor).is_some() => {
            Expr::new(ExprKind::Int(value * factor), offset.range)
        }
        _ => Expr::new(
            ExprKind::Binary(BinaryOp::Mul, Box::new(Expr::new(ExprKind::Int(factor), at.range)), Box::new(offset)),
            at.range,
        ),
    });
    Some(Linear { coefficient, offset })
}

fn reads(expr: &Expr, name: &str) -> bool {
    let mut found = false;
    facts::reads(expr, &mut |read| found |= &**read.name() == name);
    found
}

/// `expr` as `coefficient * unknown + offset` with a positive coefficient: an axis that solves `unknown`.
pub(crate) fn solves(expr: &Expr, unknown: &str) -> Option<(i128, Option<Arc<Expr>>)> {
    let form = linear(expr, unknown)?;
    (form.coefficient > 0).then(|| (form.coefficient, form.offset.map(Arc::new)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::TextRange;

    fn e(kind: ExprKind) -> Expr {
        Expr::new(kind, TextRange::default())
    }

    fn name(text: &str) -> Expr {
        e(ExprKind::Name(text.into()))
    }

    fn int(value: i128) -> Expr {
        e(ExprKind::Int(value))
    }

    fn binary(op: BinaryOp, left: Expr, right: Expr) -> Expr {
        e(ExprKind::Binary(op, Box::new(left), Box::new(right)))
    }

    #[test]
    fn sums_and_literal_multiples_of_the_unknown_are_linear() {
        let expr = binary(BinaryOp::Add, name("e"), binary(BinaryOp::Mul, name("M"), int(2)));
        assert_eq!(linear(&expr, "M"), Some(Linear { coefficient: 2, offset: Some(name("e")) }));
        let expr = binary(BinaryOp::Mul, int(3), binary(BinaryOp::Sub, name("M"), int(1)));
        let form = linear(&expr, "M").expect("linear");
        assert_eq!(form.coefficient, 3);
        assert_eq!(solves(&name("M"), "M"), Some((1, None)));
    }

    #[test]
    fn products_of_names_and_negative_multiples_do_not_solve() {
        assert_eq!(solves(&binary(BinaryOp::Mul, name("g"), name("M")), "M"), None);
        assert_eq!(solves(&binary(BinaryOp::Sub, int(8), name("M")), "M"), None);
        assert_eq!(solves(&binary(BinaryOp::FloorDiv, name("M"), int(2)), "M"), None);
        assert_eq!(solves(&binary(BinaryOp::Sub, name("M"), name("M")), "M"), None);
    }
}
