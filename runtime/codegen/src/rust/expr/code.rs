//! Pieces of Rust: a text, how tightly it binds, and its type.

use tileops_analyzer::expr::{BinaryOp, BoolOp, Level};
use tileops_analyzer::lang::DType;

use super::super::stmt::call;
use crate::layout::{Doc, flat};

/// What an expression is in Rust.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Ty {
    /// `i128`
    Plain,
    /// `Int`: checked arithmetic, with what failed in it.
    Int,
    Bool,
    /// `f64`
    Float,
    /// `&str`
    Str,
    DType,
    /// A sequence of `i128`.
    Ints(Form),
    /// `&Variant`
    Variant,
    /// `&Value`
    Value,
    /// `Option` of a copyable type.
    Opt(Box<Ty>),
}

/// How a sequence is at hand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// A `Vec` with a name.
    Place,
    /// A reference.
    Ref,
    /// A `Vec` without a name.
    Temporary,
    /// An array.
    Array,
}

/// An expression of Rust.
#[derive(Debug, Clone)]
pub(crate) struct Code {
    pub(crate) doc: Doc,
    pub(crate) level: Level,
    pub(crate) ty: Ty,
}

impl Code {
    pub(super) fn new(doc: Doc, level: Level, ty: Ty) -> Self {
        Code { doc, level, ty }
    }

    pub(super) fn text(text: impl Into<String>, level: Level, ty: Ty) -> Self {
        Code::new(Doc::text(text), level, ty)
    }

    /// The expression where only what binds at least as tightly as `least` stands without parentheses.
    pub(crate) fn at(&self, least: Level) -> Doc {
        if self.level < least {
            Doc::Cat(vec![Doc::text("("), self.doc.clone(), Doc::text(")")])
        } else {
            self.doc.clone()
        }
    }

    /// `self.method(arguments)`, which gives a `ty`.
    pub(super) fn method(self, method: &str, arguments: Vec<Doc>, ty: Ty) -> Code {
        let open = Doc::Cat(vec![self.at(Level::Primary), Doc::text(format!(".{method}"))]);
        Code::new(Doc::Cat(vec![open, call("(", arguments, ")")]), Level::Primary, ty)
    }
}

/// `DType::Float16`
pub(crate) fn dtype_path(dtype: DType) -> String {
    format!("DType::{dtype:?}")
}

/// An integer literal; one beyond 32 bits says its type, since what takes an integer takes several.
pub(super) fn integer(value: i128) -> Code {
    let text = if i32::try_from(value).is_ok() { value.to_string() } else { format!("{value}_i128") };
    Code::text(text, if value < 0 { Level::Unary } else { Level::Primary }, Ty::Plain)
}

pub(super) fn float(value: f64) -> Code {
    let text = match value {
        value if value == f64::INFINITY => "f64::INFINITY".to_owned(),
        value if value == f64::NEG_INFINITY => "f64::NEG_INFINITY".to_owned(),
        value => format!("{value:?}"),
    };
    Code::text(text, if value.is_sign_negative() { Level::Unary } else { Level::Primary }, Ty::Float)
}

/// `Some(doc)`
pub(super) fn some(doc: Doc) -> Doc {
    Doc::Cat(vec![Doc::text("Some("), doc, Doc::text(")")])
}

/// `-x`, `!x`
pub(super) fn prefixed(sign: &str, code: &Code, ty: Ty) -> Code {
    Code::new(Doc::Cat(vec![Doc::text(sign), code.at(Level::Unary)]), Level::Unary, ty)
}

/// The negation of a condition.
pub(super) fn negated(code: Code) -> Code {
    prefixed("!", &code, Ty::Bool)
}

/// Operands with a Boolean operator between them.
pub(super) fn joined(op: BoolOp, mut operands: Vec<Code>) -> Code {
    if operands.len() <= 1 {
        return operands.pop().unwrap_or_else(|| Code::text((op == BoolOp::And).to_string(), Level::Primary, Ty::Bool));
    }
    let sign = match op {
        BoolOp::Or => "||",
        BoolOp::And => "&&",
    };
    let docs = operands.iter().map(|code| code.at(op.level().tighter())).collect();
    Code::new(chain(sign, docs), op.level(), Ty::Bool)
}

/// `&Value::from(x)` as the receiver of a method.
pub(super) fn strip_reference(code: Code) -> Code {
    let strip = |doc: &Doc| match doc {
        Doc::Text(text) => text.strip_prefix('&').map(Doc::text),
        _ => None,
    };
    let doc = match &code.doc {
        Doc::Cat(items) | Doc::Group(items) if matches!(items.first(), Some(Doc::Text(text)) if text.starts_with('&')) =>
        {
            let mut items = items.clone();
            if let Some(first) = items.first_mut()
                && let Some(stripped) = strip(first)
            {
                *first = stripped;
            }
            Doc::Cat(items)
        }
        doc => strip(doc).unwrap_or_else(|| doc.clone()),
    };
    Code { doc, level: Level::Primary, ..code }
}

/// The integer as `Int`.
pub(crate) fn checked(code: Code) -> Code {
    if code.ty == Ty::Int {
        return code;
    }
    Code::new(Doc::Cat(vec![Doc::text("int("), code.doc, Doc::text(")")]), Level::Primary, Ty::Int)
}

/// `a op b` with arithmetic operators, which associate to the left.
pub(super) fn infix(op: BinaryOp, a: Code, b: Code, ty: Ty) -> Code {
    let (own, sign) = (op.level(), op.as_str());
    let mut docs = match &a.doc {
        // A chain of one operator is broken at all of them.
        Doc::Group(items) if a.level == own && is_chain(items, sign) => items.clone(),
        _ => vec![a.at(own)],
    };
    docs.push(Doc::Indent(vec![Doc::Space, Doc::text(format!("{sign} ")), glued(b.at(own.tighter()))]));
    Code::new(Doc::Group(docs), own, ty)
}

/// A chain as an operand: its first operand is not left alone on its line where it is short.
pub(super) fn glued(doc: Doc) -> Doc {
    match doc {
        Doc::Group(mut items) if items.len() > 2 && items.first().is_some_and(|first| flat(first).len() <= 2) => {
            if let Some(second) = items.get_mut(1)
                && let Doc::Indent(parts) = second
                && parts.first() == Some(&Doc::Space)
            {
                let rest = parts.split_off(1);
                *second = Doc::Cat([vec![Doc::text(" ")], rest].concat());
            }
            Doc::Group(items)
        }
        doc => doc,
    }
}

/// Whether the items are a chain of the operator: what follows the first are steps of it.
pub(super) fn is_chain(items: &[Doc], op: &str) -> bool {
    let step = format!("{op} ");
    items.len() > 1
        && items.iter().skip(1).all(|item| match item {
            Doc::Indent(parts) => matches!(parts.get(1), Some(Doc::Text(text)) if *text == step),
            _ => false,
        })
}

/// Operands with a Boolean operator between them.
pub(crate) fn chain(op: &str, operands: Vec<Doc>) -> Doc {
    let mut docs = Vec::new();
    for (position, operand) in operands.into_iter().enumerate() {
        if position == 0 {
            docs.push(operand);
        } else {
            docs.push(Doc::Indent(vec![Doc::Space, Doc::text(format!("{op} ")), operand]));
        }
    }
    Doc::Group(docs)
}

pub(super) fn comparison(sign: &str, a: Code, b: Code) -> Code {
    let doc = Doc::Group(vec![
        a.at(Level::Sum),
        Doc::Indent(vec![Doc::Space, Doc::text(format!("{sign} ")), b.at(Level::Sum)]),
    ]);
    Code::new(doc, Level::Compare, Ty::Bool)
}
