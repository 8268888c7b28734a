//! Expressions of the manifest as expressions of Rust, each of the type that its kind has there.

use std::cell::RefCell;
use std::sync::Arc;

use tileops_analyzer::check::{Scope, SymbolRole};
use tileops_analyzer::expr::{BinaryOp, BoolOp, Call, CompareOp, Expr, ExprKind, UnaryOp};
use tileops_analyzer::lang::{Constructor, DType, Kind};

use super::names::Names;
use super::stmt::{Stmt, call, call_with_block, read_by, string};
use crate::layout::{Doc, flat};

/// How tightly an expression binds, loosest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Level {
    Or,
    And,
    Compare,
    Sum,
    Product,
    Unary,
    Primary,
}

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
    fn new(doc: Doc, level: Level, ty: Ty) -> Self {
        Code { doc, level, ty }
    }

    fn text(text: impl Into<String>, level: Level, ty: Ty) -> Self {
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
    fn method(self, method: &str, arguments: Vec<Doc>, ty: Ty) -> Code {
        let open = Doc::Cat(vec![self.at(Level::Primary), Doc::text(format!(".{method}"))]);
        Code::new(Doc::Cat(vec![open, call("(", arguments, ")")]), Level::Primary, ty)
    }
}

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

/// `DType::Float16`
pub(crate) fn dtype_path(dtype: DType) -> String {
    format!("DType::{dtype:?}")
}

/// An integer literal; one beyond 32 bits says its type, since what takes an integer takes several.
fn integer(value: i128) -> Code {
    let text = if i32::try_from(value).is_ok() { value.to_string() } else { format!("{value}_i128") };
    Code::text(text, if value < 0 { Level::Unary } else { Level::Primary }, Ty::Plain)
}

fn float(value: f64) -> Code {
    let text = match value {
        value if value == f64::INFINITY => "f64::INFINITY".to_owned(),
        value if value == f64::NEG_INFINITY => "f64::NEG_INFINITY".to_owned(),
        value => format!("{value:?}"),
    };
    Code::text(text, if value.is_sign_negative() { Level::Unary } else { Level::Primary }, Ty::Float)
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
    fn local(&self, hint: &str, value: Doc, ty: Ty, level: Level) -> Code {
        let mut statements = self.before.statements.borrow_mut();
        for statement in statements.iter() {
            if let Stmt::Let(names, known) = statement
                && *known == value
                && let [name] = names.as_slice()
            {
                return Code::text(name.clone(), level, ty);
            }
        }
        let mut made = self.before.made.borrow_mut();
        let mut number = 1;
        let mut name = hint.to_owned();
        while made.contains(&name) || self.names.is_taken(&name) {
            number += 1;
            name = format!("{hint}_{number}");
        }
        made.push(name.clone());
        statements.push(Stmt::bind(&name, value));
        Code::text(name, level, ty)
    }

    /// A local for what a function gives that may be undefined.
    fn defined(&self, hint: &str, result: Doc, ty: Ty) -> Code {
        let path = Doc::text(string(&self.before.path.borrow()));
        self.local(hint, call("op.within(", vec![path, result], ")?"), ty, Level::Primary)
    }

    /// The integer as `i128`; anything else as it is.
    fn plain(&self, code: Code) -> Code {
        if code.ty != Ty::Int {
            return code;
        }
        let path = Doc::text(string(&self.before.path.borrow()));
        let hint = if flat(&code.doc).contains(".modulo(") { "rest" } else { "amount" };
        self.local(hint, call("op.value(", vec![path, code.doc], ")?"), Ty::Plain, Level::Primary)
    }

    /// What `print` gives, and the statements before it alone.
    fn apart<T>(&self, print: impl FnOnce() -> Result<T, String>) -> Result<(Vec<Stmt>, T), String> {
        let outer = self.before.statements.take();
        let printed = print();
        let own = self.before.statements.replace(outer);
        Ok((own, printed?))
    }

    /// What a name is where it stands.
    fn name(&self, name: &str) -> Printed {
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

    fn field(&self, variant: &str, field: &str, kind: &Kind) -> Printed {
        let (method, ty) = match kind {
            Kind::Dim | Kind::Int => ("int", Ty::Plain),
            Kind::Bool => ("bool", Ty::Bool),
            Kind::Enum(_) | Kind::Str => ("str", Ty::Str),
            other => return Err(format!("a field of kind `{other}` has no form in Rust")),
        };
        let read = Doc::text(format!("{variant}.{method}({})", string(field)));
        Ok(self.defined(&super::names::snake(field), read, ty))
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

    fn attribute(&self, base: &Expr, field: &str) -> Printed {
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
    fn given(&self, code: Code, inner: Ty) -> Printed {
        match inner {
            Ty::Variant | Ty::DType => Err(format!("`{}` is read where it may be absent", flat(&code.doc))),
            inner => Ok(code.method("unwrap_or_default", Vec::new(), inner)),
        }
    }

    fn tuple(&self, items: &[Expr]) -> Printed {
        let codes: Vec<Code> = items.iter().map(|item| self.expr(item)).collect::<Result<_, _>>()?;
        if codes.iter().all(|code| matches!(code.ty, Ty::Plain | Ty::Int)) {
            let docs = codes.into_iter().map(|code| self.plain(code).doc).collect();
            return Ok(Code::new(call("[", docs, "]"), Level::Primary, Ty::Ints(Form::Array)));
        }
        let docs: Vec<Doc> = codes.into_iter().map(|code| self.owned_value(code)).collect::<Result<_, _>>()?;
        Ok(Code::new(call("&Value::from([", docs, "])"), Level::Unary, Ty::Value))
    }

    fn binary(&self, op: BinaryOp, left: &Expr, right: &Expr) -> Printed {
        let (a, b) = (self.expr(left)?, self.expr(right)?);
        if a.ty == Ty::Float || b.ty == Ty::Float {
            let (a, b) = (self.float_of(a)?, self.float_of(b)?);
            return Ok(match op {
                BinaryOp::FloorDiv => {
                    self.defined("quotient", call("float_floor_div(", vec![a.doc, b.doc], ")"), Ty::Float)
                }
                BinaryOp::Mod => self.defined("rest", call("float_mod(", vec![a.doc, b.doc], ")"), Ty::Float),
                op => infix(op.as_str(), a, b, Ty::Float),
            });
        }
        let (a, b) = (self.number_of(a)?, self.number_of(b)?);
        let literal = |expr: &Expr, value: i128| matches!(expr.kind, ExprKind::Int(v) if v == value);
        match op {
            // What changes nothing is not written.
            BinaryOp::Mul if literal(left, 1) => Ok(b),
            BinaryOp::Mul if literal(right, 1) => Ok(a),
            BinaryOp::Mul if literal(left, 0) || literal(right, 0) => Ok(integer(0)),
            BinaryOp::Add if literal(left, 0) => Ok(b),
            BinaryOp::Add | BinaryOp::Sub if literal(right, 0) => Ok(a),
            BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul => {
                let a = if b.ty == Ty::Int { a } else { checked(a) };
                Ok(infix(op.as_str(), a, b, Ty::Int))
            }
            BinaryOp::FloorDiv | BinaryOp::Mod => {
                let positive = matches!(right.kind, ExprKind::Int(1..));
                let (plain, checked_name) = match op {
                    BinaryOp::FloorDiv => ("div_euclid", "floor_div"),
                    _ => ("rem_euclid", "modulo"),
                };
                if a.ty == Ty::Plain && positive && !matches!(left.kind, ExprKind::Int(_)) {
                    return Ok(a.method(plain, vec![b.doc], Ty::Plain));
                }
                Ok(checked(a).method(checked_name, vec![b.doc], Ty::Int))
            }
        }
    }

    /// Operands are evaluated up to the first that decides, as Python does it.
    fn bools(&self, op: BoolOp, operands: &[Expr]) -> Printed {
        let mut left: Vec<Code> = Vec::new();
        for operand in operands {
            let (before, code) = self.apart(|| self.boolean(operand))?;
            if before.is_empty() || left.is_empty() {
                self.before.statements.borrow_mut().extend(before);
                left.push(code);
                continue;
            }
            let so_far = joined(op, std::mem::take(&mut left));
            let mut body = before;
            body.push(Stmt::Expr(code.doc));
            let decided = vec![Stmt::line((op == BoolOp::Or).to_string())];
            let arms = match op {
                BoolOp::And => vec![(Some(so_far.doc), body), (None, decided)],
                BoolOp::Or => vec![(Some(so_far.doc), decided), (None, body)],
            };
            left.push(self.lazily("holds", arms, Ty::Bool));
        }
        Ok(joined(op, left))
    }

    /// A local for what one of the arms gives, each with statements of its own.
    fn lazily(&self, hint: &str, arms: Vec<(Option<Doc>, Vec<Stmt>)>, ty: Ty) -> Code {
        let mut made = self.before.made.borrow_mut();
        let mut number = 1;
        let mut name = hint.to_owned();
        while made.contains(&name) || self.names.is_taken(&name) {
            number += 1;
            name = format!("{hint}_{number}");
        }
        made.push(name.clone());
        self.before.statements.borrow_mut().push(Stmt::If(arms, Some(vec![name.clone()])));
        Code::text(name, Level::Primary, ty)
    }

    fn compare(&self, first: &Expr, rest: &[(tileops_analyzer::text::Spanned<CompareOp>, Expr)]) -> Printed {
        let mut codes = Vec::new();
        let mut left = first;
        for (op, right) in rest {
            codes.push(self.comparison(op.value, left, right)?);
            left = right;
        }
        Ok(joined(BoolOp::And, codes))
    }

    fn comparison(&self, op: CompareOp, left: &Expr, right: &Expr) -> Printed {
        if matches!(op, CompareOp::In | CompareOp::NotIn) {
            return self.membership(op == CompareOp::NotIn, left, right);
        }
        let (a, b) = (self.expr(left)?, self.expr(right)?);
        let sign = op.as_str();
        let number = |code: &Code| matches!(code.ty, Ty::Plain | Ty::Int);
        if number(&a) && number(&b) {
            return Ok(comparison(sign, self.plain(a), self.plain(b)));
        }
        let exact = |expr: &Expr| matches!(expr.kind, ExprKind::Int(v) if v.unsigned_abs() < 1 << 53);
        match (&a.ty, &b.ty) {
            (Ty::Float, Ty::Float) => return Ok(comparison(sign, a, b)),
            (Ty::Float, _) if exact(right) => return Ok(comparison(sign, a, self.float_of(b)?)),
            (_, Ty::Float) if exact(left) => return Ok(comparison(sign, self.float_of(a)?, b)),
            (Ty::Bool, Ty::Bool) if matches!(op, CompareOp::Eq | CompareOp::Ne) => {
                // A comparison with a literal is the condition, or its negation.
                let same = |literal: bool| literal == (op == CompareOp::Eq);
                match (&left.kind, &right.kind) {
                    (_, ExprKind::Bool(literal)) => return Ok(if same(*literal) { a } else { negated(a) }),
                    (ExprKind::Bool(literal), _) => return Ok(if same(*literal) { b } else { negated(b) }),
                    _ => return Ok(comparison(sign, a, b)),
                }
            }
            (Ty::Bool, Ty::Bool) | (Ty::Str, Ty::Str) => return Ok(comparison(sign, a, b)),
            (Ty::DType, Ty::DType) if matches!(op, CompareOp::Eq | CompareOp::Ne) => return Ok(comparison(sign, a, b)),
            (Ty::DType, Ty::Str) | (Ty::Str, Ty::DType) if matches!(op, CompareOp::Eq | CompareOp::Ne) => {
                let named = |expr: &Expr| match &expr.kind {
                    ExprKind::Str(text) => DType::from_name(text),
                    _ => None,
                };
                match (named(left), named(right)) {
                    (Some(dtype), _) => {
                        return Ok(comparison(sign, Code::text(dtype_path(dtype), Level::Primary, Ty::DType), b));
                    }
                    (_, Some(dtype)) => {
                        return Ok(comparison(sign, a, Code::text(dtype_path(dtype), Level::Primary, Ty::DType)));
                    }
                    _ => {}
                }
            }
            (Ty::Ints(_), Ty::Ints(_)) if matches!(op, CompareOp::Eq | CompareOp::Ne) => {
                let whole = |code: Code| {
                    if code.ty == Ty::Ints(Form::Array) {
                        return code;
                    }
                    let doc = Doc::Cat(vec![code.at(Level::Primary), Doc::text("[..]")]);
                    Code::new(doc, Level::Primary, code.ty.clone())
                };
                return Ok(comparison(sign, whole(a), whole(b)));
            }
            _ => {}
        }
        // Values whose types are known when the call is made only.
        let (a, b) = (self.value_of(a)?, self.value_of(b)?);
        let receiver = strip_reference(a);
        match op {
            CompareOp::Eq => Ok(receiver.method("equals", vec![b.doc], Ty::Bool)),
            CompareOp::Ne => Ok(prefixed("!", &receiver.method("equals", vec![b.doc], Ty::Bool), Ty::Bool)),
            _ => {
                let is = match op {
                    CompareOp::Lt => "is_lt",
                    CompareOp::Le => "is_le",
                    CompareOp::Gt => "is_gt",
                    _ => "is_ge",
                };
                let order = self.defined("order", receiver.method("compare", vec![b.doc], Ty::Bool).doc, Ty::Bool);
                Ok(order.method(is, Vec::new(), Ty::Bool))
            }
        }
    }

    fn membership(&self, negated: bool, item: &Expr, items: &Expr) -> Printed {
        let code = self.expr(item)?;
        let found = match &items.kind {
            ExprKind::Tuple(members) => {
                let members: Vec<Code> = members.iter().map(|member| self.expr(member)).collect::<Result<_, _>>()?;
                let alike = |code: &Code| match code.ty {
                    Ty::Int => Ty::Plain,
                    ref other => other.clone(),
                };
                if matches!(code.ty, Ty::Ints(_)) && members.iter().all(|m| m.ty == Ty::Ints(Form::Array)) {
                    let sides = Doc::Cat(vec![code.at(Level::Primary), Doc::text("[..]")]);
                    let side = Code::new(sides, Level::Primary, code.ty);
                    let equal = members.into_iter().map(|member| comparison("==", side.clone(), member));
                    let found = joined(BoolOp::Or, equal.collect());
                    return Ok(if negated { prefixed("!", &found, Ty::Bool) } else { found });
                }
                let simple = matches!(code.ty, Ty::Plain | Ty::Int | Ty::Bool | Ty::Float | Ty::Str | Ty::DType);
                if simple && members.iter().all(|member| alike(member) == alike(&code)) {
                    let item = Doc::Cat(vec![Doc::text("&"), self.plain(code).at(Level::Unary)]);
                    let docs = members.into_iter().map(|member| self.plain(member).doc).collect();
                    let array = Code::new(call("[", docs, "]"), Level::Primary, Ty::Ints(Form::Array));
                    array.method("contains", vec![item], Ty::Bool)
                } else {
                    let docs: Vec<Doc> =
                        members.into_iter().map(|member| self.owned_value(member)).collect::<Result<_, _>>()?;
                    let items = Doc::Cat(vec![Doc::text("&"), call("[", docs, "]")]);
                    let arguments = vec![self.value_of(code)?.doc, items];
                    Code::new(call("one_of(", arguments, ")"), Level::Primary, Ty::Bool)
                }
            }
            _ => {
                let all = self.expr(items)?;
                match (&all.ty, &code.ty) {
                    (Ty::Ints(_), Ty::Plain | Ty::Int) => {
                        let item = Doc::Cat(vec![Doc::text("&"), self.plain(code).at(Level::Unary)]);
                        all.method("contains", vec![item], Ty::Bool)
                    }
                    _ => {
                        let all = strip_reference(self.value_of(all)?);
                        let contains = all.method("contains", vec![self.value_of(code)?.doc], Ty::Bool);
                        self.defined("contained", contains.doc, Ty::Bool)
                    }
                }
            }
        };
        Ok(if negated { prefixed("!", &found, Ty::Bool) } else { found })
    }

    fn conditional(&self, condition: &Expr, then: &Expr, otherwise: &Expr) -> Printed {
        let condition = self.boolean(condition)?;
        let (mut before_then, mut then) = self.apart(|| self.expr(then))?;
        let (mut before_otherwise, mut otherwise) = self.apart(|| self.expr(otherwise))?;
        // A parameter of several kinds is what its arm has found it to be.
        if then.ty == Ty::Value && otherwise.ty != Ty::Value {
            let (more, code) = self.apart(|| self.alike(then, &otherwise.ty))?;
            (then, before_then) = (code, [before_then, more].concat());
        } else if otherwise.ty == Ty::Value && then.ty != Ty::Value {
            let (more, code) = self.apart(|| self.alike(otherwise, &then.ty))?;
            (otherwise, before_otherwise) = (code, [before_otherwise, more].concat());
        }
        match (&then.ty, &otherwise.ty) {
            (Ty::Plain | Ty::Int, Ty::Plain | Ty::Int) if then.ty != otherwise.ty => {
                (then, otherwise) = (checked(then), checked(otherwise));
            }
            (Ty::Ints(_), Ty::Ints(_)) => {
                let owned = |doc| Code::new(doc, Level::Primary, Ty::Ints(Form::Temporary));
                then = owned(self.vec_of(then)?);
                otherwise = owned(self.vec_of(otherwise)?);
            }
            (a, b) if a == b => {}
            (Ty::Float, _) | (_, Ty::Float) => {
                let (more, code) = self.apart(|| self.float_of(then))?;
                (then, before_then) = (code, [before_then, more].concat());
                let (more, code) = self.apart(|| self.float_of(otherwise))?;
                (otherwise, before_otherwise) = (code, [before_otherwise, more].concat());
            }
            _ => return Err("the arms of a conditional are of kinds that have no common type in Rust".to_owned()),
        }
        if before_then.is_empty() && before_otherwise.is_empty() && then.ty == Ty::Bool {
            match (flat(&then.doc).as_str(), flat(&otherwise.doc).as_str()) {
                ("true", "false") => return Ok(condition),
                ("false", "true") => return Ok(negated(condition)),
                _ => {}
            }
        }
        let ty = match then.ty.clone() {
            Ty::Ints(_) => Ty::Ints(Form::Place),
            ty => ty,
        };
        before_then.push(Stmt::Expr(then.doc));
        before_otherwise.push(Stmt::Expr(otherwise.doc));
        Ok(self.lazily("chosen", vec![(Some(condition.doc), before_then), (None, before_otherwise)], ty))
    }

    /// A value as an expression of a type is.
    fn alike(&self, code: Code, ty: &Ty) -> Printed {
        Ok(match ty {
            Ty::Plain | Ty::Int => self.of_value(code, "as_int", Ty::Plain),
            Ty::Bool => self.of_value(code, "as_bool", Ty::Bool),
            Ty::Float => self.of_value(code, "as_float", Ty::Float),
            Ty::Str => self.of_value(code, "as_str", Ty::Str),
            Ty::DType => self.of_value(code, "as_dtype", Ty::DType),
            Ty::Ints(_) => self.of_value(code, "as_ints", Ty::Ints(Form::Place)),
            Ty::Variant | Ty::Value | Ty::Opt(_) => code,
        })
    }

    fn call(&self, called: &Call) -> Printed {
        let name = &*called.callee.value;
        if let ("present", [Expr { kind: ExprKind::Name(name), .. }]) = (name, called.args.as_slice()) {
            return self.presence(name, true);
        }
        if let ("bytes", [Expr { kind: ExprKind::Name(tensor), .. }]) = (name, called.args.as_slice()) {
            return Ok(Code::text(format!("call.bytes({})?", string(tensor)), Level::Primary, Ty::Int));
        }
        if called.comprehension.is_some() {
            return self.comprehension(called);
        }
        let bound = arguments(called)?;
        let argument = |position: usize| bound.get(position).copied().flatten();
        let need = |position: usize| argument(position).ok_or_else(|| format!("`{name}` lacks an argument"));
        let number = |position: usize| self.number(need(position)?).map(|code| code.doc);
        let numbers = |count: usize| (0..count).map(number).collect::<Result<Vec<Doc>, String>>();
        let value = |position: usize| self.value(need(position)?).map(|code| code.doc);
        let slice = |position: usize| self.slice_of(self.expr(need(position)?)?);
        let place = Ty::Ints(Form::Place);
        Ok(match name {
            "ceil_div" => checked(self.number(need(0)?)?).method("ceil_div", vec![number(1)?], Ty::Int),
            "len" => match self.expr(need(0)?)? {
                code if code.ty == Ty::Value => {
                    self.defined("length", strip_reference(code).method("count", Vec::new(), Ty::Plain).doc, Ty::Plain)
                }
                code => Code::new(call("len(", vec![self.slice_of(code)?], ")"), Level::Primary, Ty::Plain),
            },
            "prod" | "sum" => Code::new(call(format!("{name}("), vec![slice(0)?], ")"), Level::Primary, Ty::Int),
            "all" => {
                let all = strip_reference(self.value(need(0)?)?).method("all", Vec::new(), Ty::Bool);
                self.defined("all_hold", all.doc, Ty::Bool)
            }
            "max" | "min" => {
                let default = match argument(1) {
                    Some(Expr { kind: ExprKind::None, .. }) | None => Doc::text("None"),
                    Some(default) => some(checked(self.number(default)?).doc),
                };
                let hint = if name == "max" { "greatest" } else { "least" };
                self.defined(hint, call(format!("{name}_of("), vec![slice(0)?, default], ")"), Ty::Plain)
            }
            "broadcast" => {
                let shapes: Vec<Doc> =
                    called.args.iter().map(|s| self.slice_of(self.expr(s)?)).collect::<Result<_, _>>()?;
                let list = call("broadcast(&[", shapes, "])");
                self.defined("common", list, place)
            }
            "reduced" => {
                let docs = vec![slice(0)?, value(1)?, self.boolean(need(2)?)?.doc, self.text(need(3)?)?.doc];
                self.defined("left", call("reduced(", docs, ")"), place)
            }
            "valid_axes" => self.defined("valid", call("valid_axes(", vec![value(0)?, number(1)?], ")"), Ty::Bool),
            "unique_axes" => self.defined("unique", call("unique_axes(", vec![value(0)?, number(1)?], ")"), Ty::Bool),
            "per_axis" => {
                let fallback = match argument(3) {
                    Some(fallback) => self.value(fallback)?.doc,
                    None => Doc::text("&Value::None"),
                };
                let docs = vec![value(0)?, number(1)?, number(2)?, fallback];
                self.defined("along", call("per_axis(", docs, ")"), Ty::Plain)
            }
            "conv.out" => self.defined("length", call("conv_out(", numbers(5)?, ")"), Ty::Plain),
            "pool.out" => {
                let mut docs = numbers(5)?;
                docs.push(self.boolean(need(5)?)?.doc);
                self.defined("length", call("pool_out(", docs, ")"), Ty::Plain)
            }
            "moe.capacity" => {
                let docs = vec![self.expr(need(0)?)?.doc, number(1)?, number(2)?];
                self.defined("capacity", call("moe_capacity(", docs, ")"), Ty::Plain)
            }
            "mhc.expansion" => self.defined("expansion", call("mhc_expansion(", numbers(1)?, ")"), Ty::Plain),
            "promote_int_to_float" => {
                let docs = vec![self.dtype(need(0)?)?.doc];
                Code::new(call("promote_int_to_float(", docs, ")"), Level::Primary, Ty::DType)
            }
            "coalesce_dtype" => {
                let first = match need(0)? {
                    Expr { kind: ExprKind::None, .. } => Doc::text("None"),
                    first => match self.expr(first)? {
                        code if matches!(code.ty, Ty::Opt(_)) => code.doc,
                        code => some(self.dtype_of(code)?.doc),
                    },
                };
                let docs = vec![first, self.dtype(need(1)?)?.doc];
                Code::new(call("coalesce_dtype(", docs, ")"), Level::Primary, Ty::DType)
            }
            "balanced_sizes" | "repeat" => self.defined("sizes", call(format!("{name}("), numbers(2)?, ")"), place),
            "category" => self.defined("category_of", call("category(", vec![value(0)?], ")"), Ty::Str),
            "representable" => {
                let docs = vec![value(0)?, self.dtype(need(1)?)?.doc];
                self.defined("fits", call("representable(", docs, ")"), Ty::Bool)
            }
            other => return Err(format!("`{other}` has no form in Rust")),
        })
    }

    fn comprehension(&self, called: &Call) -> Printed {
        let (Some(comprehension), [element]) = (&called.comprehension, called.args.as_slice()) else {
            return Err("a comprehension has one element".to_owned());
        };
        let variable = self.names.get(&comprehension.variable.value);
        let items = self.expr(&comprehension.iterable)?;
        let items = match items.ty {
            Ty::Ints(_) => items,
            Ty::Value => {
                let ints = strip_reference(items).method("as_ints", Vec::new(), Ty::Bool).doc;
                self.defined("items", ints, Ty::Ints(Form::Place))
            }
            _ => return Err("a comprehension runs over a sequence of integers".to_owned()),
        };
        let callee = &*called.callee.value;
        if callee == "all" {
            let (mut before, element) = self.apart(|| self.boolean(element))?;
            if before.is_empty() {
                // A variable that the element does not read is none.
                let read = read_by(&[Stmt::Expr(element.doc.clone())]).contains(&variable);
                let pattern = if read { format!("|&{variable}|") } else { "|_|".to_owned() };
                let iterated = items.method("iter", Vec::new(), Ty::Bool);
                let docs = vec![iterated.doc, Doc::text(format!(".all({pattern} ")), element.doc, Doc::text(")")];
                return Ok(Code::new(Doc::Cat(docs), Level::Primary, Ty::Bool));
            }
            before.push(Stmt::Expr(Doc::Cat(vec![Doc::text("Ok("), element.doc, Doc::text(")")])));
            let open =
                Doc::Cat(vec![Doc::text("all_of("), self.slice_of(items)?, Doc::text(format!(", |{variable}| "))]);
            return Ok(self.local("all_hold", call_with_block(open, before, ")?"), Ty::Bool, Level::Primary));
        }
        let (mut before, element) = self.apart(|| self.number(element).map(|code| self.plain(code)))?;
        let slice = self.slice_of(items)?;
        before.push(Stmt::Expr(Doc::Cat(vec![Doc::text("Ok("), element.doc, Doc::text(")")])));
        let open = Doc::Cat(vec![Doc::text("each("), slice, Doc::text(format!(", |{variable}| "))]);
        let each = self.local("items", call_with_block(open, before, ")?"), Ty::Ints(Form::Place), Level::Primary);
        let each = self.slice_of(each)?;
        match callee {
            "sum" => Ok(Code::new(call("sum(", vec![each], ")"), Level::Primary, Ty::Int)),
            which => {
                let default = match called.keywords.iter().find(|(name, _)| &*name.value == "default") {
                    Some((_, default)) => some(checked(self.number(default)?).doc),
                    None => Doc::text("None"),
                };
                let hint = if which == "max" { "greatest" } else { "least" };
                Ok(self.defined(hint, call(format!("{which}_of("), vec![each, default], ")"), Ty::Plain))
            }
        }
    }

    /// Whether `name` is passed.
    pub(crate) fn presence(&self, name: &str, present: bool) -> Printed {
        let not = if present { "" } else { "!" };
        if self.place == Place::Price {
            let level = if present { Level::Primary } else { Level::Unary };
            return Ok(Code::text(format!("{not}call.present({})?", string(name)), level, Ty::Bool));
        }
        let is = if present { "is_some()" } else { "is_none()" };
        Ok(match self.scope.get(name) {
            None => Code::text(format!("arguments.out().{is}"), Level::Primary, Ty::Bool),
            Some(symbol) => {
                let own = self.names.get(name);
                match type_of(&symbol.kind, self.place, false) {
                    Ty::Value if symbol.role == SymbolRole::Param => {
                        let level = if present { Level::Unary } else { Level::Primary };
                        Code::text(format!("{}{own}.is_none()", if present { "!" } else { "" }), level, Ty::Bool)
                    }
                    _ => Code::text(format!("{own}.{is}"), Level::Primary, Ty::Bool),
                }
            }
        })
    }

    // What a place takes.

    pub(crate) fn number(&self, expr: &Expr) -> Printed {
        let code = self.expr(expr)?;
        self.number_of(code)
    }

    /// What a method of a value gives that has several types.
    fn of_value(&self, code: Code, method: &str, ty: Ty) -> Code {
        self.defined("value", strip_reference(code).method(method, Vec::new(), Ty::Bool).doc, ty)
    }

    fn number_of(&self, code: Code) -> Printed {
        match code.ty.clone() {
            Ty::Plain | Ty::Int => Ok(code),
            Ty::Bool => Ok(Code::new(call("i128::from(", vec![code.doc], ")"), Level::Primary, Ty::Plain)),
            Ty::Value => Ok(self.of_value(code, "as_int", Ty::Plain)),
            Ty::Opt(inner) => {
                let inner = self.given(code, *inner)?;
                self.number_of(inner)
            }
            _ => Err(format!("`{}` is no integer in Rust", flat(&code.doc))),
        }
    }

    pub(crate) fn boolean(&self, expr: &Expr) -> Printed {
        let code = self.expr(expr)?;
        match code.ty.clone() {
            Ty::Bool => Ok(code),
            Ty::Value => Ok(self.of_value(code, "as_bool", Ty::Bool)),
            Ty::Opt(inner) if *inner == Ty::Bool => self.given(code, Ty::Bool),
            _ => Err(format!("`{}` is no Boolean in Rust", flat(&code.doc))),
        }
    }

    fn float_of(&self, code: Code) -> Printed {
        match code.ty.clone() {
            Ty::Float => Ok(code),
            Ty::Plain if flat(&code.doc).chars().all(|c| c.is_ascii_digit() || c == '-') => {
                Ok(Code::text(format!("{}.0", flat(&code.doc)), code.level, Ty::Float))
            }
            Ty::Plain | Ty::Int => {
                let code = self.plain(code);
                // A cast's `<` would open generics.
                let docs = vec![Doc::text("("), code.at(Level::Unary), Doc::text(" as f64)")];
                Ok(Code::new(Doc::Cat(docs), Level::Primary, Ty::Float))
            }
            Ty::Value => Ok(self.of_value(code, "as_float", Ty::Float)),
            Ty::Opt(inner) => {
                let inner = self.given(code, *inner)?;
                self.float_of(inner)
            }
            _ => Err(format!("`{}` is no number in Rust", flat(&code.doc))),
        }
    }

    fn text(&self, expr: &Expr) -> Printed {
        let code = self.expr(expr)?;
        match code.ty {
            Ty::Str => Ok(code),
            Ty::Value => Ok(self.of_value(code, "as_str", Ty::Str)),
            _ => Err(format!("`{}` is no string in Rust", flat(&code.doc))),
        }
    }

    pub(crate) fn dtype(&self, expr: &Expr) -> Printed {
        if let ExprKind::Str(text) = &expr.kind
            && let Some(dtype) = DType::from_name(text)
        {
            return Ok(Code::text(dtype_path(dtype), Level::Primary, Ty::DType));
        }
        let code = self.expr(expr)?;
        self.dtype_of(code)
    }

    fn dtype_of(&self, code: Code) -> Printed {
        match code.ty {
            Ty::DType => Ok(code),
            Ty::Value => Ok(self.of_value(code, "as_dtype", Ty::DType)),
            _ => Err(format!("`{}` is no dtype in Rust", flat(&code.doc))),
        }
    }

    /// A sequence as `&[i128]`.
    pub(crate) fn slice_of(&self, code: Code) -> Result<Doc, String> {
        match code.ty.clone() {
            Ty::Ints(Form::Ref) => Ok(code.doc),
            Ty::Ints(_) => Ok(Doc::Cat(vec![Doc::text("&"), code.at(Level::Unary)])),
            Ty::Value => {
                let ints = self.of_value(code, "as_ints", Ty::Ints(Form::Place));
                self.slice_of(ints)
            }
            Ty::Opt(inner) => {
                let inner = self.given(code, *inner)?;
                self.slice_of(inner)
            }
            _ => Err(format!("`{}` is no sequence of integers in Rust", flat(&code.doc))),
        }
    }

    /// A sequence as `Vec<i128>`.
    pub(crate) fn vec_of(&self, code: Code) -> Result<Doc, String> {
        match code.ty.clone() {
            Ty::Ints(Form::Place) => Ok(code.method("clone", Vec::new(), Ty::Bool).doc),
            Ty::Ints(Form::Ref) => Ok(code.method("to_vec", Vec::new(), Ty::Bool).doc),
            Ty::Ints(Form::Temporary) => Ok(code.doc),
            Ty::Ints(Form::Array) => Ok(Doc::Cat(vec![Doc::text("vec!"), code.doc])),
            _ => {
                let slice = self.slice_of(code)?;
                Ok(Doc::Cat(vec![slice, Doc::text(".to_vec()")]))
            }
        }
    }

    /// An expression as `&Value`.
    fn value(&self, expr: &Expr) -> Printed {
        let code = self.expr(expr)?;
        self.value_of(code)
    }

    fn value_of(&self, code: Code) -> Printed {
        if code.ty == Ty::Value {
            return Ok(code);
        }
        let doc = Doc::Cat(vec![Doc::text("&"), self.owned_value(code)?]);
        Ok(Code::new(doc, Level::Unary, Ty::Value))
    }

    fn owned_value(&self, code: Code) -> Result<Doc, String> {
        let inner = match code.ty.clone() {
            Ty::Value => {
                let text = flat(&code.doc);
                return Ok(match text.strip_prefix('&') {
                    Some(owned) => Doc::text(owned),
                    None => Doc::Cat(vec![code.doc, Doc::text(".clone()")]),
                });
            }
            Ty::Plain | Ty::Int => self.plain(code).doc,
            Ty::Ints(Form::Array) => code.doc,
            Ty::Ints(_) => self.slice_of(code)?,
            Ty::Variant => Doc::Cat(vec![code.doc, Doc::text(".clone()")]),
            _ => code.doc,
        };
        Ok(Doc::Cat(vec![Doc::text("Value::from("), inner, Doc::text(")")]))
    }
}

/// `Some(doc)`
fn some(doc: Doc) -> Doc {
    Doc::Cat(vec![Doc::text("Some("), doc, Doc::text(")")])
}

/// `-x`, `!x`
fn prefixed(sign: &str, code: &Code, ty: Ty) -> Code {
    Code::new(Doc::Cat(vec![Doc::text(sign), code.at(Level::Unary)]), Level::Unary, ty)
}

/// The negation of a condition.
fn negated(code: Code) -> Code {
    prefixed("!", &code, Ty::Bool)
}

/// Operands with a Boolean operator between them.
fn joined(op: BoolOp, mut operands: Vec<Code>) -> Code {
    if operands.len() <= 1 {
        return operands.pop().unwrap_or_else(|| Code::text((op == BoolOp::And).to_string(), Level::Primary, Ty::Bool));
    }
    let (own, tighter, sign) = match op {
        BoolOp::Or => (Level::Or, Level::And, "||"),
        BoolOp::And => (Level::And, Level::Compare, "&&"),
    };
    let docs = operands.iter().map(|code| code.at(tighter)).collect();
    Code::new(chain(sign, docs), own, Ty::Bool)
}

/// `&Value::from(x)` as the receiver of a method.
fn strip_reference(code: Code) -> Code {
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
fn infix(op: &str, a: Code, b: Code, ty: Ty) -> Code {
    let (own, tighter) = match op {
        "+" | "-" => (Level::Sum, Level::Product),
        _ => (Level::Product, Level::Unary),
    };
    let mut docs = match &a.doc {
        // A chain of one operator is broken at all of them.
        Doc::Group(items) if a.level == own && is_chain(items, op) => items.clone(),
        _ => vec![a.at(own)],
    };
    docs.push(Doc::Indent(vec![Doc::Space, Doc::text(format!("{op} ")), glued(b.at(tighter))]));
    Code::new(Doc::Group(docs), own, ty)
}

/// A chain as an operand: its first operand is not left alone on its line where it is short.
fn glued(doc: Doc) -> Doc {
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
fn is_chain(items: &[Doc], op: &str) -> bool {
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

fn comparison(sign: &str, a: Code, b: Code) -> Code {
    let doc = Doc::Group(vec![
        a.at(Level::Sum),
        Doc::Indent(vec![Doc::Space, Doc::text(format!("{sign} ")), b.at(Level::Sum)]),
    ]);
    Code::new(doc, Level::Compare, Ty::Bool)
}

/// The arguments of a call in the order of the built-in's parameters.
fn arguments(called: &Call) -> Result<Vec<Option<&Expr>>, String> {
    let builtin = tileops_analyzer::lang::builtins::find(&called.callee.value)
        .ok_or_else(|| format!("`{}` is no built-in", called.callee.value))?;
    let mut bound: Vec<Option<&Expr>> = called.args.iter().map(Some).collect();
    for (name, value) in &called.keywords {
        let position = builtin.params.iter().position(|param| param.name == &*name.value);
        let position = position.ok_or_else(|| format!("`{}` has no `{}`", builtin.name, name.value))?;
        if bound.len() <= position {
            bound.resize(position + 1, None);
        }
        if let Some(slot) = bound.get_mut(position) {
            *slot = Some(value);
        }
    }
    Ok(bound)
}
