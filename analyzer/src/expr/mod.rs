//! The expression language: shapes, `let`, refinements, conditions, generator arguments, formulas, types.
//!
//! Reading never fails. A malformed text still gives a tree, with [`ExprKind::Error`] where it could not be read, and
//! every defect of it.

mod ast;

pub use ast::{
    Axis, BinaryOp, BoolOp, Call, CompareOp, Comprehension, Expr, ExprKind, Ident, Shape, ShapeKind, TypeExpr,
    TypeExprKind, UnaryOp,
};
