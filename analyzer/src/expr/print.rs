//! Trees as text, with no more parentheses than the tree needs. Reading the text again gives the same tree.

use std::fmt::{self, Display, Formatter, Write as _};

use super::{Axis, BoolOp, Call, Expr, ExprKind, Level, Shape, ShapeKind, TypeExpr, TypeExprKind, UnaryOp};

/// Writes `expr` where only what binds at least as tightly as `least` can stand without parentheses.
fn write_expr(f: &mut Formatter<'_>, expr: &Expr, least: Level) -> fmt::Result {
    if expr.level() < least {
        f.write_char('(')?;
        write_bare(f, expr)?;
        return f.write_char(')');
    }
    write_bare(f, expr)
}

fn write_list<'a>(f: &mut Formatter<'_>, items: impl IntoIterator<Item = &'a Expr>) -> fmt::Result {
    for (position, item) in items.into_iter().enumerate() {
        if position > 0 {
            f.write_str(", ")?;
        }
        write_expr(f, item, Level::Any)?;
    }
    Ok(())
}

fn write_bare(f: &mut Formatter<'_>, expr: &Expr) -> fmt::Result {
    match &expr.kind {
        ExprKind::Int(value) => write!(f, "{value}"),
        ExprKind::Float(value) if value.is_infinite() => f.write_str(if *value < 0.0 { "-inf" } else { "inf" }),
        ExprKind::Float(value) => write!(f, "{value:?}"),
        ExprKind::Bool(value) => f.write_str(if *value { "True" } else { "False" }),
        ExprKind::None => f.write_str("None"),
        ExprKind::Str(text) => f.write_str(&quoted(text)),
        ExprKind::Tuple(items) => {
            f.write_char('(')?;
            write_list(f, items)?;
            f.write_str(if items.len() == 1 { ",)" } else { ")" })
        }
        ExprKind::Name(name) => f.write_str(name),
        ExprKind::Unary(UnaryOp::Neg, operand) => {
            f.write_char('-')?;
            write_expr(f, operand, Level::Unary)
        }
        ExprKind::Unary(UnaryOp::Not, operand) => {
            f.write_str("not ")?;
            write_expr(f, operand, Level::Not)
        }
        ExprKind::Binary(op, left, right) => {
            write_expr(f, left, op.level())?;
            write!(f, " {} ", op.as_str())?;
            write_expr(f, right, op.level().tighter())
        }
        ExprKind::Bools(op, operands) => {
            let tighter = match (operands.len(), op) {
                (0, op) => return f.write_str(if *op == BoolOp::And { "True" } else { "False" }),
                (1, _) => Level::Any,
                (_, op) => op.level().tighter(),
            };
            for (position, operand) in operands.iter().enumerate() {
                if position > 0 {
                    write!(f, " {} ", op.as_str())?;
                }
                write_expr(f, operand, tighter)?;
            }
            Ok(())
        }
        ExprKind::Compare(first, rest) => {
            write_expr(f, first, Level::Operand)?;
            for (op, operand) in rest {
                write!(f, " {} ", op.value.as_str())?;
                write_expr(f, operand, Level::Operand)?;
            }
            Ok(())
        }
        ExprKind::If { then, condition, otherwise } => {
            write_expr(f, then, Level::Or)?;
            f.write_str(" if ")?;
            write_expr(f, condition, Level::Or)?;
            f.write_str(" else ")?;
            write_expr(f, otherwise, Level::Any)
        }
        ExprKind::Call(call) => write_call(f, call),
        ExprKind::Index(base, index) => {
            write_expr(f, base, Level::Primary)?;
            f.write_char('[')?;
            write_expr(f, index, Level::Any)?;
            f.write_char(']')
        }
        ExprKind::Slice(base, from, to) => {
            write_expr(f, base, Level::Primary)?;
            f.write_char('[')?;
            if let Some(from) = from {
                write_expr(f, from, Level::Any)?;
            }
            f.write_char(':')?;
            if let Some(to) = to {
                write_expr(f, to, Level::Any)?;
            }
            f.write_char(']')
        }
        ExprKind::Attribute(base, name) => {
            // `1.kind` would be a float and a name.
            if matches!(base.kind, ExprKind::Int(0..)) {
                write!(f, "({base})")?;
            } else {
                write_expr(f, base, Level::Primary)?;
            }
            write!(f, ".{}", name.value)
        }
        ExprKind::Error(parts) => {
            f.write_str("<error: ")?;
            write_list(f, parts)?;
            f.write_char('>')
        }
    }
}

fn write_call(f: &mut Formatter<'_>, call: &Call) -> fmt::Result {
    write!(f, "{}(", call.callee.value)?;
    write_list(f, &call.args)?;
    for (position, (name, value)) in call.keywords.iter().enumerate() {
        if position > 0 || !call.args.is_empty() {
            f.write_str(", ")?;
        }
        write!(f, "{}=", name.value)?;
        write_expr(f, value, Level::Any)?;
    }
    if let Some(comprehension) = &call.comprehension {
        write!(f, " for {} in ", comprehension.variable.value)?;
        write_expr(f, &comprehension.iterable, Level::Or)?;
    }
    f.write_char(')')
}

/// `text` as a literal of the language.
pub(super) fn quoted(text: &str) -> String {
    let quote = if text.contains('\'') && !text.contains('"') { '"' } else { '\'' };
    let mut out = String::with_capacity(text.len() + 2);
    out.push(quote);
    for c in text.chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            _ if c == quote => out.extend(['\\', c]),
            _ if u32::from(c) < 0x20 || u32::from(c) == 0x7f => out.push_str(&format!("\\x{:02x}", u32::from(c))),
            _ => out.push(c),
        }
    }
    out.push(quote);
    out
}

impl Display for Expr {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write_expr(f, self, Level::Any)
    }
}

impl Display for Axis {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Axis::One(expr) => write_expr(f, expr, Level::Any),
            Axis::Splice(expr) => {
                f.write_char('*')?;
                write_expr(f, expr, Level::Operand)
            }
        }
    }
}

impl Display for Shape {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match &self.kind {
            ShapeKind::Axes(axes) => {
                f.write_char('[')?;
                for (position, axis) in axes.iter().enumerate() {
                    if position > 0 {
                        f.write_str(", ")?;
                    }
                    write!(f, "{axis}")?;
                }
                f.write_char(']')
            }
            ShapeKind::Family(name, arguments) => {
                write!(f, "{}[", name.value)?;
                write_list(f, arguments)?;
                f.write_char(']')
            }
            ShapeKind::Error(parts) => {
                f.write_str("<error: ")?;
                write_list(f, parts)?;
                f.write_char('>')
            }
        }
    }
}

impl Display for TypeExpr {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let write_types = |f: &mut Formatter<'_>, types: &[TypeExpr], between: &str| {
            for (position, ty) in types.iter().enumerate() {
                if position > 0 {
                    f.write_str(between)?;
                }
                write!(f, "{ty}")?;
            }
            Ok(())
        };
        match &self.kind {
            TypeExprKind::Name(name) => f.write_str(name),
            TypeExprKind::Literal(text) => f.write_str(&quoted(text)),
            TypeExprKind::Apply(name, arguments) => {
                write!(f, "{}[", name.value)?;
                write_types(f, arguments, ", ")?;
                f.write_char(']')
            }
            TypeExprKind::Ellipsis => f.write_str("..."),
            TypeExprKind::Union(members) => write_types(f, members, " | "),
            TypeExprKind::Error => f.write_str("<error>"),
        }
    }
}
