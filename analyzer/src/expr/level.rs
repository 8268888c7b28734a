//! How tightly expressions bind: the one table of precedence, which everything that prints expressions reads.

use super::{BinaryOp, BoolOp, Expr, ExprKind, UnaryOp};

/// How tightly an expression binds, loosest first.
///
/// An expression stands without parentheses where what is asked for is no tighter than it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// A conditional.
    Any,
    /// `or`
    Or,
    /// `and`
    And,
    /// `not`
    Not,
    /// A comparison.
    Compare,
    /// An operand of a comparison.
    Operand,
    /// `+`, `-`
    Sum,
    /// `*`, `//`, `%`
    Product,
    /// A negation.
    Unary,
    /// A literal, a name, a call, an access, or what stands in brackets.
    Primary,
}

impl Level {
    /// The level that binds next tighter: that of the right operand of an operator which associates to the left.
    pub fn tighter(self) -> Level {
        match self {
            Level::Any => Level::Or,
            Level::Or => Level::And,
            Level::And => Level::Not,
            Level::Not => Level::Compare,
            Level::Compare => Level::Operand,
            Level::Operand => Level::Sum,
            Level::Sum => Level::Product,
            Level::Product => Level::Unary,
            Level::Unary | Level::Primary => Level::Primary,
        }
    }
}

impl BinaryOp {
    /// Its level, which its left operand may have too; the right one binds tighter.
    pub fn level(self) -> Level {
        match self {
            BinaryOp::Add | BinaryOp::Sub => Level::Sum,
            BinaryOp::Mul | BinaryOp::FloorDiv | BinaryOp::Mod => Level::Product,
        }
    }
}

impl BoolOp {
    /// Its level; its operands bind tighter.
    pub fn level(self) -> Level {
        match self {
            BoolOp::Or => Level::Or,
            BoolOp::And => Level::And,
        }
    }
}

impl Expr {
    /// How tightly it binds as it is printed.
    pub fn level(&self) -> Level {
        match &self.kind {
            ExprKind::If { .. } => Level::Any,
            ExprKind::Bools(op, operands) => match operands.as_slice() {
                // A fold may leave one operand, which is printed as it is, or none.
                [] => Level::Primary,
                [one] => one.level(),
                _ => op.level(),
            },
            ExprKind::Unary(UnaryOp::Not, _) => Level::Not,
            ExprKind::Compare(..) => Level::Compare,
            ExprKind::Binary(op, ..) => op.level(),
            ExprKind::Unary(UnaryOp::Neg, _) => Level::Unary,
            ExprKind::Int(value) if *value < 0 => Level::Unary,
            ExprKind::Float(value) if value.is_sign_negative() => Level::Unary,
            _ => Level::Primary,
        }
    }
}
