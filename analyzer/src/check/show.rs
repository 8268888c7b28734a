//! How messages quote what the manifest says.

use crate::expr::{Expr, ExprKind, TypeExpr, TypeExprKind};

/// The type as written, spaces normalized.
pub(crate) fn show_type(ty: &TypeExpr) -> String {
    match &ty.kind {
        TypeExprKind::Name(name) => name.to_string(),
        TypeExprKind::Literal(text) => format!("'{text}'"),
        TypeExprKind::Apply(name, _) => format!("{}[…]", name.value),
        TypeExprKind::Ellipsis => "...".into(),
        TypeExprKind::Union(_) => "this union".into(),
        TypeExprKind::Error => "this".into(),
    }
}

/// The expression, in backticks where it is short.
pub(crate) fn show(expr: &Expr) -> String {
    match &expr.kind {
        ExprKind::Name(name) => format!("`{name}`"),
        _ => "this expression".into(),
    }
}
