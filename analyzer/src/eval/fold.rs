//! Folding: what is known is replaced, closed subexpressions are evaluated, decided operands and arms are dropped.
//!
//! Where `expr` has a value, the folded expression has the same. Where evaluation of a subexpression fails, it stays. A
//! value that no literal states (an ADT's, an opaque one, a long sequence) is known to what stands around it, and the
//! expression that gave it stays. Every part keeps the range of the source that it comes from.

use std::cell::Cell;

use super::evaluate::{apply, eval, presence_operand};
use super::operators::{self, truth};
use super::{At, Environment, Local, presence_of_name, value_of_name};
use crate::expr::{
    Axis, BinaryOp, BoolOp, Call, CompareOp, Comprehension, Expr, ExprKind, Ident, Shape, ShapeKind, UnaryOp,
};
use crate::lang::Value;
use crate::lang::builtins::{self, Builtin, Passing, Role};
use crate::text::{Spanned, TextRange};

/// The longest sequence that is written out where a name stood.
const MAX_ITEMS: usize = 64;

/// `expr` where the environment determines some of its names.
pub fn fold(expr: &Expr, environment: &dyn Environment) -> Expr {
    fold_expr(expr, At::start(environment, &Cell::new(0))).expr
}

/// `shape` with its axes, or its family's arguments, folded.
pub fn fold_shape(shape: &Shape, environment: &dyn Environment) -> Shape {
    let kind = match &shape.kind {
        ShapeKind::Axes(axes) => ShapeKind::Axes(axes.iter().map(|axis| fold_axis(axis, environment)).collect()),
        ShapeKind::Family(name, arguments) => {
            ShapeKind::Family(name.clone(), arguments.iter().map(|argument| fold(argument, environment)).collect())
        }
        ShapeKind::Error(parts) => ShapeKind::Error(parts.clone()),
    };
    Shape { kind, range: shape.range }
}

/// `axis` with its expression folded. A splice stays one, also of a sequence that is known.
pub fn fold_axis(axis: &Axis, environment: &dyn Environment) -> Axis {
    match axis {
        Axis::One(expr) => Axis::One(fold(expr, environment)),
        Axis::Splice(expr) => Axis::Splice(fold(expr, environment)),
    }
}

/// The call of a generator or a predicate with its arguments folded. Names of tensors among them stay.
pub fn fold_call(call: &Call, environment: &dyn Environment) -> Call {
    fold_arguments(call, At::start(environment, &Cell::new(0))).0
}

/// The literal that states `value`: a dtype by its name, a sequence as a tuple. Nothing for an ADT's value, an opaque
/// one, a sequence of more than 64 items, or the least 128-bit integer.
pub fn literal(value: &Value, range: TextRange) -> Option<Expr> {
    let kind = match value {
        // Its text would be the negation of an integer that does not fit.
        Value::Int(i128::MIN) => return None,
        Value::Int(value) => ExprKind::Int(*value),
        Value::Bool(value) => ExprKind::Bool(*value),
        Value::Float(value) => ExprKind::Float(*value),
        Value::None => ExprKind::None,
        Value::Str(text) => ExprKind::Str(text.clone()),
        Value::DType(dtype) => ExprKind::Name(dtype.name().into()),
        Value::Seq(items) if items.len() <= MAX_ITEMS => {
            ExprKind::Tuple(items.iter().map(|item| literal(item, range)).collect::<Option<_>>()?)
        }
        Value::Seq(_) | Value::Adt(_) | Value::Opaque(_) => return None,
    };
    Some(Expr::new(kind, range))
}

/// A folded expression and its value where it is known.
struct Folded {
    expr: Expr,
    value: Option<Value>,
}

impl Folded {
    fn open(kind: ExprKind, range: TextRange) -> Self {
        Folded { expr: Expr::new(kind, range), value: None }
    }

    /// The literal of `value`; `otherwise` where there is none.
    fn known(value: Value, range: TextRange, otherwise: impl FnOnce() -> ExprKind) -> Self {
        let expr = literal(&value, range).unwrap_or_else(|| Expr::new(otherwise(), range));
        Folded { expr, value: Some(value) }
    }

    /// As [`Folded::known`] where there is a value; else open.
    fn maybe(value: Option<Value>, range: TextRange, otherwise: impl FnOnce() -> ExprKind) -> Self {
        match value {
            Some(value) => Folded::known(value, range, otherwise),
            None => Folded::open(otherwise(), range),
        }
    }

    fn bool(value: bool, range: TextRange) -> Self {
        Folded { expr: Expr::new(ExprKind::Bool(value), range), value: Some(Value::Bool(value)) }
    }

    /// The Boolean that it is known to be.
    fn truth(&self) -> Option<bool> {
        truth(self.value.as_ref()?).ok()
    }

    fn boxed(self) -> Box<Expr> {
        Box::new(self.expr)
    }
}

fn fold_expr(expr: &Expr, at: At<'_>) -> Folded {
    let range = expr.range;
    let Some(at) = at.deeper() else { return Folded { expr: expr.clone(), value: None } };
    match &expr.kind {
        ExprKind::Int(_) | ExprKind::Float(_) | ExprKind::Bool(_) | ExprKind::None | ExprKind::Str(_) => {
            Folded { expr: expr.clone(), value: eval(expr, at).ok() }
        }
        // A dtype's name is left to be read where it stands: an index of that name may yet be determined.
        ExprKind::Name(name) => Folded::maybe(value_of_name(name, at.environment), range, || expr.kind.clone()),
        ExprKind::Tuple(items) => fold_tuple(items, range, at),
        ExprKind::Unary(op, operand) => fold_unary(*op, fold_expr(operand, at), range),
        ExprKind::Binary(op, left, right) => fold_binary(*op, left, right, range, at),
        ExprKind::Bools(op, operands) => fold_bools(*op, operands, range, at),
        ExprKind::Compare(first, rest) => fold_compare(first, rest, range, at),
        ExprKind::If { then, condition, otherwise } => fold_if(then, condition, otherwise, range, at),
        ExprKind::Call(call) => fold_function(call, range, at),
        ExprKind::Index(base, index) => fold_index(base, index, range, at),
        ExprKind::Slice(base, from, to) => fold_slice(base, (from.as_deref(), to.as_deref()), range, at),
        ExprKind::Attribute(base, field) => fold_attribute(base, field, range, at),
        ExprKind::Error(_) => Folded { expr: expr.clone(), value: None },
    }
}

fn fold_tuple(items: &[Expr], range: TextRange, at: At<'_>) -> Folded {
    let items: Vec<Folded> = items.iter().map(|item| fold_expr(item, at)).collect();
    let value = items.iter().map(|item| item.value.clone()).collect::<Option<Vec<Value>>>();
    let value = value.and_then(|items| operators::tuple(items).ok());
    let kind = ExprKind::Tuple(items.into_iter().map(|item| item.expr).collect());
    Folded { expr: Expr::new(kind, range), value }
}

fn fold_binary(op: BinaryOp, left: &Expr, right: &Expr, range: TextRange, at: At<'_>) -> Folded {
    let left = fold_expr(left, at);
    let right = fold_expr(right, at);
    let value = both(&left, &right).and_then(|(a, b)| operators::binary(op, a, b).ok());
    Folded::maybe(value, range, || ExprKind::Binary(op, left.boxed(), right.boxed()))
}

fn fold_if(then: &Expr, condition: &Expr, otherwise: &Expr, range: TextRange, at: At<'_>) -> Folded {
    let condition = fold_expr(condition, at);
    match condition.truth() {
        Some(true) => fold_expr(then, at),
        Some(false) => fold_expr(otherwise, at),
        None => {
            let (then, otherwise) = (fold_expr(then, at), fold_expr(otherwise, at));
            match (then.truth(), otherwise.truth()) {
                (Some(true), Some(false)) => condition,
                (Some(false), Some(true)) => Folded { expr: condition.expr.negated(), value: None },
                _ => {
                    let (then, otherwise) = (then.boxed(), otherwise.boxed());
                    Folded::open(ExprKind::If { then, condition: condition.boxed(), otherwise }, range)
                }
            }
        }
    }
}

fn fold_index(base: &Expr, index: &Expr, range: TextRange, at: At<'_>) -> Folded {
    let base = fold_expr(base, at);
    let index = fold_expr(index, at);
    let value = both(&base, &index).and_then(|(base, index)| operators::index(base, index).ok());
    Folded::maybe(value, range, || ExprKind::Index(base.boxed(), index.boxed()))
}

fn fold_attribute(base: &Expr, field: &Ident, range: TextRange, at: At<'_>) -> Folded {
    let direct = base.as_name().and_then(|name| at.environment.field(name, &field.value));
    let folded = fold_expr(base, at);
    let through = || folded.value.as_ref().and_then(|base| operators::attribute(base, &field.value).ok());
    let value = direct.or_else(through);
    // A name before a dot stays: `None.value` would say nothing.
    let stays = base.as_name().is_some();
    Folded::maybe(value, range, || {
        ExprKind::Attribute(if stays { Box::new(base.clone()) } else { folded.boxed() }, field.clone())
    })
}

fn both<'a>(left: &'a Folded, right: &'a Folded) -> Option<(&'a Value, &'a Value)> {
    Some((left.value.as_ref()?, right.value.as_ref()?))
}

fn fold_unary(op: UnaryOp, operand: Folded, range: TextRange) -> Folded {
    let value = match op {
        UnaryOp::Not => operand.truth().map(|value| Value::Bool(!value)),
        UnaryOp::Neg => operand.value.as_ref().and_then(|value| operators::negate(value).ok()),
    };
    Folded::maybe(value, range, || ExprKind::Unary(op, operand.boxed()))
}

/// Operands that decide nothing are dropped, one that decides all is all, on either side. Nothing has an effect here, so
/// the order in which Python would come by them does not matter where the whole has a value.
fn fold_bools(op: BoolOp, operands: &[Expr], range: TextRange, at: At<'_>) -> Folded {
    let decisive = op == BoolOp::Or;
    let mut left = Vec::new();
    for operand in operands {
        let folded = fold_expr(operand, at);
        match folded.truth() {
            Some(value) if value == decisive => return Folded::bool(decisive, range),
            Some(_) => {}
            None => left.push(folded),
        }
    }
    match left.len() {
        0 | 1 => left.pop().unwrap_or_else(|| Folded::bool(!decisive, range)),
        _ => Folded::open(ExprKind::Bools(op, left.into_iter().map(|folded| folded.expr).collect()), range),
    }
}

/// A chain is a conjunction of its links. One that does not hold decides it; those that hold are dropped at its ends.
fn fold_compare(first: &Expr, rest: &[(Spanned<CompareOp>, Expr)], range: TextRange, at: At<'_>) -> Folded {
    let first = fold_expr(first, at);
    let rest: Vec<_> = rest.iter().map(|(op, operand)| (op.clone(), fold_expr(operand, at))).collect();
    let mut links: Vec<Option<bool>> = Vec::with_capacity(rest.len());
    let mut left = &first;
    for (op, right) in &rest {
        links.push(both(left, right).and_then(|(a, b)| operators::compare(op.value, a, b).ok()));
        left = right;
    }
    if links.contains(&Some(false)) {
        return Folded::bool(false, range);
    }
    let Some(from) = links.iter().position(|&link| link != Some(true)) else { return Folded::bool(true, range) };
    let to = links.iter().rposition(|&link| link != Some(true)).map_or(from, |last| last);
    // Operand 0 is `first`; link `i` stands between operands `i` and `i + 1`.
    let (mut start, mut chain) = (first.expr, Vec::new());
    for (i, (op, operand)) in rest.into_iter().enumerate() {
        if i < from {
            start = operand.expr;
        } else if i <= to {
            chain.push((op, operand.expr));
        }
    }
    match chain.as_slice() {
        [(op, right)] => compared_with_truth(&start, op.value, right),
        _ => None,
    }
    .unwrap_or_else(|| Folded::open(ExprKind::Compare(Box::new(start), chain), range))
}

/// A condition that is compared with a truth value is that condition, or its negation.
fn compared_with_truth(left: &Expr, op: CompareOp, right: &Expr) -> Option<Folded> {
    let (truth, condition) = match (&left.kind, &right.kind) {
        (ExprKind::Bool(truth), _) => (*truth, right),
        (_, ExprKind::Bool(truth)) => (*truth, left),
        _ => return None,
    };
    let holds = match op {
        CompareOp::Eq => truth,
        CompareOp::Ne => !truth,
        _ => return None,
    };
    let is_condition = match &condition.kind {
        ExprKind::Compare(..) | ExprKind::Bools(..) | ExprKind::Unary(UnaryOp::Not, _) => true,
        ExprKind::Call(call) => &*call.callee.value == "present",
        _ => false,
    };
    is_condition.then(|| Folded { expr: if holds { condition.clone() } else { condition.negated() }, value: None })
}

fn fold_slice(base: &Expr, (from, to): (Option<&Expr>, Option<&Expr>), range: TextRange, at: At<'_>) -> Folded {
    let base = fold_expr(base, at);
    let from = from.map(|bound| fold_expr(bound, at));
    let to = to.map(|bound| fold_expr(bound, at));
    let known = |bound: &Option<Folded>| bound.as_ref().is_none_or(|bound| bound.value.is_some());
    let value = match &base.value {
        Some(base) if known(&from) && known(&to) => {
            let bound = |bound: &Option<Folded>| bound.as_ref().and_then(|bound| bound.value.clone());
            operators::slice(base, bound(&from).as_ref(), bound(&to).as_ref()).ok()
        }
        _ => None,
    };
    Folded::maybe(value, range, || ExprKind::Slice(base.boxed(), from.map(Folded::boxed), to.map(Folded::boxed)))
}

fn fold_function(call: &Call, range: TextRange, at: At<'_>) -> Folded {
    let builtin = builtins::find(&call.callee.value);
    match builtin.map(|builtin| (builtin, builtin.role)) {
        Some((_, Role::Present)) => match presence_operand(call) {
            Some(name) => Folded::maybe(presence_of_name(name, at.environment).map(Value::Bool), range, || {
                ExprKind::Call(call.clone())
            }),
            None => Folded::open(ExprKind::Call(call.clone()), range),
        },
        Some((_, Role::Bytes)) => Folded::open(ExprKind::Call(call.clone()), range),
        Some((builtin, Role::Primitive { eval: function, .. })) => {
            let (folded, values) = fold_arguments(call, at);
            let value = match (&call.comprehension, values) {
                (None, Some(values)) => arguments_in_order(builtin, &folded, &values)
                    .and_then(|arguments| apply(builtin, function, &arguments, range, at).ok()),
                (Some(_), Some(_)) => {
                    // The elements' values are the whole call's matter: its names may all be known now.
                    eval(&Expr::new(ExprKind::Call(folded.clone()), range), at).ok()
                }
                (_, None) => None,
            };
            Folded::maybe(value, range, || ExprKind::Call(folded))
        }
        _ => Folded::open(ExprKind::Call(fold_arguments(call, at).0), range),
    }
}

/// The values of positional arguments, then of keywords, put in the order of the parameters.
fn arguments_in_order(builtin: &Builtin, call: &Call, values: &[Value]) -> Option<Vec<Value>> {
    let bound = builtins::bind(builtin, call);
    if !bound.problems.is_empty() {
        return None;
    }
    let all: Vec<&Expr> = call.args.iter().chain(call.keywords.iter().map(|(_, value)| value)).collect();
    let value_of = |argument: &Expr| {
        let position = all.iter().position(|other| std::ptr::eq(*other, argument))?;
        values.get(position).cloned()
    };
    let mut ordered = Vec::with_capacity(builtin.params.len());
    for (parameter, arguments) in builtin.params.iter().zip(&bound.arguments) {
        for argument in arguments {
            ordered.push(value_of(argument)?);
        }
        if arguments.is_empty() && parameter.passing != Passing::Variadic {
            ordered.push(Value::None);
        }
    }
    Some(ordered)
}

/// The call with its arguments folded, and their values (positional ones, then keywords) where all are known. Of a
/// comprehension the element counts as known where its iterable is.
fn fold_arguments(call: &Call, at: At<'_>) -> (Call, Option<Vec<Value>>) {
    // A predicate's argument may be a tensor, which is no value even where it is not passed.
    let reads_tensors = matches!(
        builtins::find(&call.callee.value),
        Some(Builtin { role: Role::Predicate(_) | Role::Bytes | Role::Present, .. })
    );
    let argument = |expr: &Expr, at: At<'_>| match expr.as_name() {
        Some(name) if reads_tensors && at.environment.value(name).is_none() => {
            Folded { expr: expr.clone(), value: None }
        }
        _ => fold_expr(expr, at),
    };
    let mut values = Some(Vec::new());
    let mut note = |value: Option<Value>| match (&mut values, value) {
        (Some(values), Some(value)) => values.push(value),
        (values, _) => *values = None,
    };
    let mut args = Vec::with_capacity(call.args.len());
    let comprehension = call.comprehension.as_ref().map(|comprehension| {
        let iterable = fold_expr(&comprehension.iterable, at);
        let variable = comprehension.variable.clone();
        let local = Local { outer: at.environment, name: &comprehension.variable.value, value: None };
        for element in &call.args {
            args.push(argument(element, at.within(&local)).expr);
        }
        note(iterable.value);
        Box::new(Comprehension { variable, iterable: iterable.expr })
    });
    if call.comprehension.is_none() {
        for expr in &call.args {
            let folded = argument(expr, at);
            args.push(folded.expr);
            note(folded.value);
        }
    }
    let mut keywords = Vec::with_capacity(call.keywords.len());
    for (keyword, expr) in &call.keywords {
        let folded = argument(expr, at);
        keywords.push((keyword.clone(), folded.expr));
        note(folded.value);
    }
    (Call { callee: call.callee.clone(), args, keywords, comprehension }, values)
}
