//! Expressions of the manifest as expressions of Rust, each of the type that its kind has there.

mod calls;
mod code;
mod convert;
mod operators;

use std::cell::RefCell;
use std::sync::Arc;

use tileops_analyzer::check::{Scope, SymbolRole};
use tileops_analyzer::expr::{Expr, ExprKind, Level, UnaryOp};
use tileops_analyzer::lang::{Constructor, DType, Kind};

use super::names::{Names, snake};
use super::stmt::{Stmt, call, string};
use crate::layout::{Doc, flat};

pub(crate) use code::{Code, Form, Ty, chain, checked, dtype_path};
use code::{float, integer, prefixed, some};

type Printed = Result<Code, String>;

/// Where an expression is evaluated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// In `check_call`: tensors and parameters are locals.
    Check,
    /// In `eval_roofline`: what it reads is read of the call.
    Price,
}

/// The statements that stand before an expression: each computes a part of it that may have no value, and names the
/// declaration of the expression.
#[derive(Debug, Default)]
pub(crate) struct Before {
    path: RefCell<String>,
    statements: RefCell<Vec<Stmt>>,
    /// The locals that were made for the expression.
    made: RefCell<Vec<String>>,
}

impl Before {
    /// The next expression is of the declaration `path`.
    pub(crate) fn start(&self, path: &str) {
        path.clone_into(&mut self.path.borrow_mut());
        self.made.borrow_mut().clear();
    }

    /// The declaration of the expression.
    pub(crate) fn path(&self) -> String {
        self.path.borrow().clone()
    }

    /// Whether the name is that of a local that was made for the expression.
    pub(crate) fn made(&self, name: &str) -> bool {
        self.made.borrow().iter().any(|made| made == name)
    }

    /// What stands before the expression that was printed.
    pub(crate) fn take(&self) -> Vec<Stmt> {
        self.statements.take()
    }
}

/// Writes the expressions of one entry.
#[derive(Clone, Copy)]
pub(crate) struct Printer<'a> {
    pub(crate) scope: &'a Scope,
    pub(crate) names: &'a Names,
    pub(crate) place: Place,
    /// The `Maybe` parameters that are known to be there: their names stand for their values.
    pub(crate) narrowed: &'a [Arc<str>],
    /// The parameter and its constructor whose fields stand for themselves: in an ADT's invariant.
    pub(crate) fields: Option<(&'a str, &'a Constructor)>,
    pub(crate) before: &'a Before,
}

/// What a parameter, an index or a `let` of a kind is in Rust where it is read; `owned` says that its name holds it.
pub(crate) fn type_of(kind: &Kind, place: Place, owned: bool) -> Ty {
    let sequence = Ty::Ints(if owned { Form::Place } else { Form::Ref });
    match kind {
        Kind::Dim | Kind::Int if place == Place::Price => Ty::Int,
        Kind::Dim | Kind::Int => Ty::Plain,
        Kind::Bool => Ty::Bool,
        Kind::Float => Ty::Float,
        Kind::Str | Kind::Enum(_) => Ty::Str,
        Kind::DType(_) => Ty::DType,
        Kind::Shape => sequence,
        Kind::Seq(item, _) if matches!(**item, Kind::Int | Kind::Dim) => sequence,
        Kind::Adt(..) => Ty::Variant,
        Kind::Maybe(inner) => match type_of(inner, Place::Check, false) {
            Ty::Value => Ty::Value,
            _ if place == Place::Price => Ty::Value,
            inner => Ty::Opt(Box::new(inner)),
        },
        Kind::Seq(..) | Kind::Union(_) | Kind::None | Kind::Tensor | Kind::Opaque(_) | Kind::Error => Ty::Value,
    }
}

/// Behind a name that stands for what its `Option` holds; see [`resolve`](super::tree::resolve).
pub(crate) const HELD: char = '#';

impl<'a> Printer<'a> {
    /// A local for what `value` gives; the statement stands before the expression. A value that is there already is
    /// not computed again.
    pub(super) fn local(&self, hint: &str, value: Doc, ty: Ty, level: Level) -> Code {
        let mut statements = self.before.statements.borrow_mut();
        for statement in statements.iter() {
            if let Stmt::Let(names, known) = statement
                && *known == value
                && let [name] = names.as_slice()
            {
                return Code::text(name.clone(), level, ty);
            }
        }
        let name = self.fresh(hint);
        statements.push(Stmt::bind(&name, value));
        Code::text(name, level, ty)
    }

    /// A name like `hint` that no other local has.
    fn fresh(&self, hint: &str) -> String {
        let mut made = self.before.made.borrow_mut();
        let numbered = (2..).map(|number| format!("{hint}_{number}"));
        let mut names = std::iter::once(hint.to_owned()).chain(numbered);
        // There are more numbers than names.
        let name = names.find(|name| !made.contains(name) && !self.names.is_taken(name)).unwrap_or_default();
        made.push(name.clone());
        name
    }

    /// A local for what a function gives that may be undefined.
    pub(super) fn defined(&self, hint: &str, result: Doc, ty: Ty) -> Code {
        let path = Doc::text(string(&self.before.path.borrow()));
        self.local(hint, call("op.within(", vec![path, result], ")?"), ty, Level::Primary)
    }

    /// The integer as `i128`; anything else as it is.
    pub(super) fn plain(&self, code: Code) -> Code {
        if code.ty != Ty::Int {
            return code;
        }
        let path = Doc::text(string(&self.before.path.borrow()));
        let hint = if flat(&code.doc).contains(".modulo(") { "rest" } else { "amount" };
        self.local(hint, call("op.value(", vec![path, code.doc], ")?"), Ty::Plain, Level::Primary)
    }

    /// What `print` gives, and the statements before it alone.
    pub(super) fn apart<T>(&self, print: impl FnOnce() -> Result<T, String>) -> Result<(Vec<Stmt>, T), String> {
        let outer = self.before.statements.take();
        let printed = print();
        let own = self.before.statements.replace(outer);
        Ok((own, printed?))
    }

    /// What a name is where it stands.
    pub(super) fn name(&self, name: &str) -> Printed {
        if let Some((param, constructor)) = self.fields
            && let Some(field) = constructor.field(name)
        {
            return self.field(&self.names.get(param), name, &field.kind);
        }
        let own = self.names.get(name);
        match self.scope.get(name) {
            Some(symbol) => {
                let optional = matches!(type_of(&symbol.kind, self.place, false), Ty::Opt(_));
                let narrowed = self.narrowed.iter().any(|known| **known == *name);
                let kind = match &symbol.kind {
                    Kind::Maybe(inner) if narrowed => inner,
                    kind => kind,
                };
                let owned = symbol.role != SymbolRole::Param || self.place == Place::Price;
                let own = if optional && narrowed { format!("{own}{HELD}") } else { own };
                Ok(Code::text(own, Level::Primary, type_of(kind, self.place, owned)))
            }
            None => match DType::from_name(name) {
                Some(dtype) => Ok(Code::text(dtype_path(dtype), Level::Primary, Ty::DType)),
                // A comprehension's variable.
                None => Ok(Code::text(own, Level::Primary, Ty::Plain)),
            },
        }
    }

    pub(super) fn field(&self, variant: &str, field: &str, kind: &Kind) -> Printed {
        let (method, ty) = match kind {
            Kind::Dim | Kind::Int => ("int", Ty::Plain),
            Kind::Bool => ("bool", Ty::Bool),
            Kind::Enum(_) | Kind::Str => ("str", Ty::Str),
            other => return Err(format!("a field of kind `{other}` has no form in Rust")),
        };
        let read = Doc::text(format!("{variant}.{method}({})", string(field)));
        Ok(self.defined(&snake(field), read, ty))
    }

    pub(crate) fn expr(&self, expr: &Expr) -> Printed {
        match &expr.kind {
            ExprKind::Int(value) => Ok(integer(*value)),
            ExprKind::Float(value) => Ok(float(*value)),
            ExprKind::Bool(value) => Ok(Code::text(value.to_string(), Level::Primary, Ty::Bool)),
            ExprKind::None => Ok(Code::text("&Value::None", Level::Unary, Ty::Value)),
            ExprKind::Str(text) => Ok(Code::text(string(text), Level::Primary, Ty::Str)),
            ExprKind::Tuple(items) => self.tuple(items),
            ExprKind::Name(name) => self.name(name),
            ExprKind::Unary(UnaryOp::Neg, operand) => {
                let operand = self.expr(operand)?;
                match operand.ty {
                    Ty::Float => Ok(prefixed("-", &operand, Ty::Float)),
                    _ => Ok(prefixed("-", &checked(self.number_of(operand)?), Ty::Int)),
                }
            }
            ExprKind::Unary(UnaryOp::Not, operand) => Ok(prefixed("!", &self.boolean(operand)?, Ty::Bool)),
            ExprKind::Binary(op, left, right) => self.binary(*op, left, right),
            ExprKind::Bools(op, operands) => self.bools(*op, operands),
            ExprKind::Compare(first, rest) => self.compare(first, rest),
            ExprKind::If { then, condition, otherwise } => self.conditional(condition, then, otherwise),
            ExprKind::Call(call) => self.call(call),
            ExprKind::Index(base, index) => {
                let (base, index) = (self.expr(base)?, self.number(index)?);
                match base.ty {
                    Ty::Value => {
                        Ok(self.defined("item", base.method("item", vec![index.doc], Ty::Value).doc, Ty::Value))
                    }
                    _ => {
                        Ok(self.defined("extent", call("item(", vec![self.slice_of(base)?, index.doc], ")"), Ty::Plain))
                    }
                }
            }
            ExprKind::Slice(base, from, to) => {
                let base = self.expr(base)?;
                let bound = |bound: &Option<Box<Expr>>| match bound {
                    Some(bound) => Ok(some(checked(self.number(bound)?).doc)),
                    None => Ok::<Doc, String>(Doc::text("None")),
                };
                let arguments = vec![self.slice_of(base)?, bound(from)?, bound(to)?];
                Ok(self.defined("part", call("slice(", arguments, ")"), Ty::Ints(Form::Place)))
            }
            ExprKind::Attribute(base, name) => self.attribute(base, &name.value),
            // An entry with an unreadable expression has no plan, and is refused before anything is written.
            ExprKind::Error(_) => Err("an expression could not be read".to_owned()),
        }
    }

    pub(super) fn attribute(&self, base: &Expr, field: &str) -> Printed {
        let symbol = base.as_name().and_then(|name| self.scope.get(name));
        let kind = symbol.map(|symbol| match &symbol.kind {
            Kind::Maybe(inner) => &**inner,
            kind => kind,
        });
        if let (Some(symbol), Some(Kind::Adt(adt, _))) = (symbol, kind) {
            let own = self.names.get(&symbol.name);
            if field == "kind" {
                return Ok(Code::text(format!("{own}.kind()"), Level::Primary, Ty::Str));
            }
            let declared = adt.constructors.iter().find_map(|constructor| constructor.field(field));
            if let Some(declared) = declared {
                return self.field(&own, field, &declared.kind);
            }
        }
        // What a `Maybe` holds.
        let code = self.expr(base)?;
        match code.ty.clone() {
            Ty::Opt(inner) => self.given(code, *inner),
            _ => Ok(code),
        }
    }

    /// What a `Maybe` holds, where something around it has found that it holds something.
    pub(super) fn given(&self, code: Code, inner: Ty) -> Printed {
        match inner {
            Ty::Variant | Ty::DType => Err(format!("`{}` is read where it may be absent", flat(&code.doc))),
            inner => Ok(code.method("unwrap_or_default", Vec::new(), inner)),
        }
    }

    pub(super) fn tuple(&self, items: &[Expr]) -> Printed {
        let codes: Vec<Code> = items.iter().map(|item| self.expr(item)).collect::<Result<_, _>>()?;
        if codes.iter().all(|code| matches!(code.ty, Ty::Plain | Ty::Int)) {
            let docs = codes.into_iter().map(|code| self.plain(code).doc).collect();
            return Ok(Code::new(call("[", docs, "]"), Level::Primary, Ty::Ints(Form::Array)));
        }
        let docs: Vec<Doc> = codes.into_iter().map(|code| self.owned_value(code)).collect::<Result<_, _>>()?;
        Ok(Code::new(call("&Value::from([", docs, "])"), Level::Unary, Ty::Value))
    }

    /// A local for what one of the arms gives, each with statements of its own.
    pub(super) fn lazily(&self, hint: &str, arms: Vec<(Option<Doc>, Vec<Stmt>)>, ty: Ty) -> Code {
        let name = self.fresh(hint);
        self.before.statements.borrow_mut().push(Stmt::If(arms, Some(vec![name.clone()])));
        Code::text(name, Level::Primary, ty)
    }
}
