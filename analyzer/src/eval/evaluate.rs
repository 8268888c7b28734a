//! Evaluation. Each form has its own function, so that the recursion's frames stay small.

use std::cell::Cell;
use std::sync::Arc;

use super::operators::{self, truth};
use super::{At, Environment, EvalError, EvalFailure, Local, presence_of_name, value_of_name};
use crate::expr::{Axis, BoolOp, Call, CompareOp, Comprehension, Expr, ExprKind, UnaryOp};
use crate::lang::builtins::{self, Builtin, DomainError, Passing, Role};
use crate::lang::{DType, Value};
use crate::text::{Spanned, TextRange};

type Result<T = Value> = std::result::Result<T, EvalError>;

/// The value of `expr`.
pub fn evaluate(expr: &Expr, environment: &dyn Environment) -> Result {
    eval(expr, At::start(environment, &Cell::new(0)))
}

/// The extents that `axes` stand for, splices spread. Whether each is non-negative is left to the caller.
pub fn evaluate_axes(axes: &[Axis], environment: &dyn Environment) -> Result<Vec<i128>> {
    let mut extents = Vec::with_capacity(axes.len());
    for axis in axes {
        let expr = match axis {
            Axis::One(expr) | Axis::Splice(expr) => expr,
        };
        let value = evaluate(expr, environment)?;
        match (axis, &value) {
            (Axis::One(_), Value::Int(extent)) => extents.push(*extent),
            (Axis::Splice(_), Value::Seq(items)) => {
                for (i, item) in items.iter().enumerate() {
                    match item {
                        Value::Int(extent) => extents.push(*extent),
                        other => {
                            return fail(expr.range, format!("item {i} is `{}`, and no integer", other.excerpt()));
                        }
                    }
                }
            }
            (Axis::One(_), other) => return fail(expr.range, format!("`{}` is no integer", other.excerpt())),
            (Axis::Splice(_), other) => return fail(expr.range, format!("`{}` is no sequence", other.excerpt())),
        }
    }
    Ok(extents)
}

pub(super) fn fail<T>(range: TextRange, why: String) -> Result<T> {
    Err(EvalError { range, reason: EvalFailure::Domain(why) })
}

fn placed<T>(range: TextRange, result: std::result::Result<T, String>) -> Result<T> {
    result.or_else(|why| fail(range, why))
}

fn undetermined<T>(range: TextRange, name: &Arc<str>) -> Result<T> {
    Err(EvalError { range, reason: EvalFailure::Undetermined(name.clone()) })
}

fn poisoned<T>(range: TextRange) -> Result<T> {
    Err(EvalError { range, reason: EvalFailure::Poisoned })
}

fn spend(steps: usize, range: TextRange, at: At<'_>) -> Result<()> {
    if at.spend(steps) { Ok(()) } else { fail(range, "it takes too many steps".to_owned()) }
}

/// How many items the value has, those of its items included.
fn weight(value: &Value) -> usize {
    // Tuples nest a few levels only.
    value.as_seq().map_or(0, |items| items.len() + items.iter().map(weight).sum::<usize>())
}

pub(super) fn eval(expr: &Expr, at: At<'_>) -> Result {
    let Some(at) = at.deeper() else { return poisoned(expr.range) };
    spend(1, expr.range, at)?;
    match &expr.kind {
        ExprKind::Int(value) => Ok(Value::Int(*value)),
        ExprKind::Float(value) if value.is_nan() => poisoned(expr.range),
        ExprKind::Float(value) => Ok(Value::Float(*value)),
        ExprKind::Bool(value) => Ok(Value::Bool(*value)),
        ExprKind::None => Ok(Value::None),
        ExprKind::Str(text) => Ok(Value::Str(text.clone())),
        ExprKind::Name(name) => eval_name(name, expr.range, at.environment),
        ExprKind::Tuple(items) => {
            let items = items.iter().map(|item| eval(item, at)).collect::<Result<Vec<Value>>>()?;
            placed(expr.range, operators::tuple(items))
        }
        ExprKind::Unary(op, operand) => eval_unary(*op, operand, expr.range, at),
        ExprKind::Binary(op, left, right) => {
            let left = eval(left, at)?;
            let right = eval(right, at)?;
            placed(expr.range, operators::binary(*op, &left, &right))
        }
        ExprKind::Bools(op, operands) => eval_bools(*op, operands, at),
        ExprKind::Compare(first, rest) => eval_compare(first, rest, at),
        ExprKind::If { then, condition, otherwise } => {
            let arm = if eval_truth(condition, at)? { then } else { otherwise };
            eval(arm, at)
        }
        ExprKind::Call(call) => eval_call(call, expr.range, at),
        ExprKind::Index(base, index) => {
            let base = eval(base, at)?;
            let index = eval(index, at)?;
            placed(expr.range, operators::index(&base, &index))
        }
        ExprKind::Slice(base, from, to) => {
            let bounds = (from.as_deref(), to.as_deref());
            eval_slice(base, bounds, expr.range, at)
        }
        ExprKind::Attribute(base, field) => eval_attribute(base, &field.value, expr.range, at),
        ExprKind::Error(_) => poisoned(expr.range),
    }
}

fn eval_name(name: &Arc<str>, range: TextRange, environment: &dyn Environment) -> Result {
    // What the entry declares hides the dtype of that name.
    let value = value_of_name(name, environment).or_else(|| DType::from_name(name).map(Value::DType));
    value.map_or_else(|| undetermined(range, name), Ok)
}

fn eval_truth(expr: &Expr, at: At<'_>) -> Result<bool> {
    let value = eval(expr, at)?;
    placed(expr.range, truth(&value))
}

fn eval_unary(op: UnaryOp, operand: &Expr, range: TextRange, at: At<'_>) -> Result {
    match op {
        UnaryOp::Not => Ok(Value::Bool(!eval_truth(operand, at)?)),
        UnaryOp::Neg => {
            let value = eval(operand, at)?;
            placed(range, operators::negate(&value))
        }
    }
}

fn eval_bools(op: BoolOp, operands: &[Expr], at: At<'_>) -> Result {
    let decisive = op == BoolOp::Or;
    for operand in operands {
        if eval_truth(operand, at)? == decisive {
            return Ok(Value::Bool(decisive));
        }
    }
    Ok(Value::Bool(!decisive))
}

fn eval_compare(first: &Expr, rest: &[(Spanned<CompareOp>, Expr)], at: At<'_>) -> Result {
    let mut left = eval(first, at)?;
    let mut start = first.range;
    for (op, operand) in rest {
        let right = eval(operand, at)?;
        spend(weight(&left) + weight(&right), operand.range, at)?;
        if !placed(start.cover(operand.range), operators::compare(op.value, &left, &right))? {
            return Ok(Value::Bool(false));
        }
        (left, start) = (right, operand.range);
    }
    Ok(Value::Bool(true))
}

fn eval_slice(base: &Expr, (from, to): (Option<&Expr>, Option<&Expr>), range: TextRange, at: At<'_>) -> Result {
    let base = eval(base, at)?;
    let from = from.map(|bound| eval(bound, at)).transpose()?;
    let to = to.map(|bound| eval(bound, at)).transpose()?;
    let slice = placed(range, operators::slice(&base, from.as_ref(), to.as_ref()))?;
    spend(weight(&slice), range, at)?;
    Ok(slice)
}

fn eval_attribute(base: &Expr, field: &Arc<str>, range: TextRange, at: At<'_>) -> Result {
    if let Some(name) = base.as_name()
        && let Some(value) = at.environment.field(name, field)
    {
        return Ok(value);
    }
    let base = eval(base, at)?;
    placed(range, operators::attribute(&base, field))
}

fn eval_call(call: &Call, range: TextRange, at: At<'_>) -> Result {
    let Some(builtin) = builtins::find(&call.callee.value) else { return poisoned(call.callee.range) };
    match builtin.role {
        Role::Present => match presence_operand(call) {
            Some(name) => match presence_of_name(name, at.environment) {
                Some(present) => Ok(Value::Bool(present)),
                None => undetermined(range, name),
            },
            None => poisoned(range),
        },
        Role::Primitive { eval: function, .. } => {
            let arguments = match &call.comprehension {
                Some(comprehension) => eval_comprehension(call, comprehension, builtin, at)?,
                None => eval_arguments(call, builtin, range, at)?,
            };
            apply(builtin, function, &arguments, range, at)
        }
        // The size of a tensor is a formula's matter, and generators and predicates are no expressions.
        Role::Bytes | Role::Generator(_) | Role::Predicate(_) => poisoned(range),
    }
}

/// The name that `present(x)` asks about.
pub(super) fn presence_operand(call: &Call) -> Option<&Arc<str>> {
    match (call.args.as_slice(), call.keywords.as_slice(), &call.comprehension) {
        ([operand], [], None) => match &operand.kind {
            ExprKind::Name(name) => Some(name),
            _ => None,
        },
        _ => None,
    }
}

pub(super) fn apply(
    builtin: &Builtin,
    function: fn(&[Value]) -> std::result::Result<Value, DomainError>,
    arguments: &[Value],
    range: TextRange,
    at: At<'_>,
) -> Result {
    let result = function(arguments).or_else(|error| fail(range, format!("in `{}`, {error}", builtin.name)))?;
    spend(arguments.iter().map(weight).sum::<usize>() + weight(&result), range, at)?;
    Ok(result)
}

/// The arguments in the order of the parameters, variadic ones spread, `None` for one left out.
fn eval_arguments(call: &Call, builtin: &Builtin, range: TextRange, at: At<'_>) -> Result<Vec<Value>> {
    let mut values = Vec::with_capacity(builtin.params.len());
    // Most calls state what is required, in order: nothing is to be bound.
    let plain = call.keywords.is_empty()
        && call.args.len() <= builtin.params.len()
        && builtin.params.iter().enumerate().all(|(i, parameter)| match parameter.passing {
            Passing::Required => i < call.args.len(),
            Passing::Optional => true,
            Passing::KeywordOnly => i >= call.args.len(),
            Passing::Variadic => false,
        });
    if plain {
        for argument in &call.args {
            values.push(eval(argument, at)?);
        }
        return Ok(values);
    }
    let bound = builtins::bind(builtin, call);
    if !bound.problems.is_empty() {
        return poisoned(range);
    }
    for (parameter, arguments) in builtin.params.iter().zip(&bound.arguments) {
        for argument in arguments {
            values.push(eval(argument, at)?);
        }
        if arguments.is_empty() && parameter.passing != Passing::Variadic {
            values.push(Value::None);
        }
    }
    Ok(values)
}

/// The arguments of `f(element for variable in iterable, key=…)`: the elements as a sequence, then the keywords.
fn eval_comprehension(call: &Call, comprehension: &Comprehension, builtin: &Builtin, at: At<'_>) -> Result<Vec<Value>> {
    let range = call.callee.range;
    let bound = builtins::bind(builtin, call);
    let [element] = call.args.as_slice() else { return poisoned(range) };
    if !bound.problems.is_empty() {
        return poisoned(range);
    }
    let iterable = eval(&comprehension.iterable, at)?;
    let Value::Seq(items) = iterable else {
        return fail(comprehension.iterable.range, format!("`{}` is no sequence", iterable.excerpt()));
    };
    let mut elements = Vec::with_capacity(items.len());
    let mut local = Local { outer: at.environment, name: &comprehension.variable.value, value: None };
    for item in items.iter() {
        local.value = Some(item.clone());
        let value = eval(element, at.within(&local))?;
        // As in Python, `all` asks no further.
        let decided = builtin.name == "all" && value == Value::Bool(false);
        elements.push(value);
        if decided {
            break;
        }
    }
    let mut values = vec![Value::Seq(elements.into())];
    for arguments in bound.arguments.iter().skip(1) {
        match arguments.first() {
            Some(argument) => values.push(eval(argument, at)?),
            None => values.push(Value::None),
        }
    }
    Ok(values)
}
