//! What has no value whatever the call: a divisor that is zero, an argument outside its built-in's domain, an axis that is
//! negative. All of it is known of literals, at every point at which they stand there.

use std::sync::Arc;

use super::sheet::{Item, ShapeSheet, Sheet, When};
use super::signature::Fault;
use super::view::View;
use crate::defect::{Findings, Severity, codes};
use crate::eval::{self, Environment, EvalFailure};
use crate::expr::{Axis, BinaryOp, BoolOp, Call, Expr, ExprKind};
use crate::lang::Value;
use crate::lang::builtins::{self, Builtin, Role};
use crate::text::TextRange;

/// A part of an expression that has no value.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct NoValue {
    pub(crate) range: TextRange,
    pub(crate) subject: String,
    pub(crate) message: String,
}

/// What is known of a part: its value where it reads no name, or those of a conditional's arms.
enum Known {
    Value(Value),
    OneOf(Vec<Value>),
    Open,
}

/// Adds every part of `expr` that has no value. Kinds have been judged: an expression with a defect is not asked about.
pub(crate) fn no_values(expr: &Expr, into: &mut Vec<NoValue>) {
    walk(expr, into);
}

/// As [`no_values`], for an axis or each extent of a splice, none of which is negative either.
pub(crate) fn no_extents(expr: &Expr, into: &mut Vec<NoValue>) {
    let values = walk(expr, into).values();
    let negative = |value: &Value| match value {
        Value::Int(extent) => (*extent < 0).then_some(*extent),
        Value::Seq(items) => items.iter().filter_map(Value::as_int).find(|extent| *extent < 0),
        _ => None,
    };
    if let Some(extent) = values.iter().find_map(negative) {
        let shown = expr.to_string();
        let message = match shown == extent.to_string() {
            true => format!("an axis is `{extent}`, and none is negative"),
            false => format!("an axis, `{shown}`, is {extent}, and none is negative"),
        };
        into.push(NoValue { range: expr.range, subject: shown, message });
    }
}

/// As [`no_values`], for the call of a generator or a predicate.
pub(crate) fn no_call(call: &Call, into: &mut Vec<NoValue>) {
    let values: Vec<Vec<Value>> = arguments(call).map(|argument| walk(argument, into).values()).collect();
    if let Some(builtin) = builtins::find(&call.callee.value) {
        let given: Vec<&Expr> = arguments(call).collect();
        outside(builtin, call, &given, &values, into);
    }
}

fn arguments(call: &Call) -> impl Iterator<Item = &Expr> {
    call.args.iter().chain(call.keywords.iter().map(|(_, value)| value))
}

impl Known {
    /// The values that it can have, where that is known.
    fn values(self) -> Vec<Value> {
        match self {
            Known::Value(value) => vec![value],
            Known::OneOf(values) => values,
            Known::Open => Vec::new(),
        }
    }
}

/// Nothing is known but what the expression says itself.
struct Nothing;

impl Environment for Nothing {
    fn value(&self, _: &str) -> Option<Value> {
        None
    }

    fn present(&self, _: &str) -> Option<bool> {
        None
    }
}

fn walk(expr: &Expr, into: &mut Vec<NoValue>) -> Known {
    match &expr.kind {
        ExprKind::Name(_) | ExprKind::Error(_) => Known::Open,
        ExprKind::Int(_) | ExprKind::Float(_) | ExprKind::Bool(_) | ExprKind::None | ExprKind::Str(_) => {
            computed(expr, into)
        }
        ExprKind::Binary(operator, left, right) => {
            let left = walk(left, into);
            let right = walk(right, into);
            if let (Known::Value(_), Known::Value(_)) = (&left, &right) {
                return computed(expr, into);
            }
            let divides = matches!(operator, BinaryOp::FloorDiv | BinaryOp::Mod);
            if divides && right.values().contains(&Value::Int(0)) {
                let shown = expr.to_string();
                let message = format!("`{shown}` divides by zero");
                into.push(NoValue { range: expr.range, subject: shown, message });
            }
            Known::Open
        }
        // What decides the whole leaves the rest unread.
        ExprKind::Bools(operator, operands) => {
            let mut closed = true;
            for operand in operands {
                match walk(operand, into) {
                    Known::Value(Value::Bool(value)) if value == (*operator == BoolOp::Or) => break,
                    Known::Value(_) => {}
                    Known::OneOf(_) | Known::Open => closed = false,
                }
            }
            if closed { computed(expr, into) } else { Known::Open }
        }
        ExprKind::If { then, condition, otherwise } => match walk(condition, into) {
            Known::Value(Value::Bool(true)) => walk(then, into),
            Known::Value(Value::Bool(false)) => walk(otherwise, into),
            _ => {
                let mut values = walk(then, into).values();
                let others = walk(otherwise, into).values();
                if values.is_empty() || others.is_empty() {
                    return Known::OneOf(if values.is_empty() { others } else { values });
                }
                values.extend(others);
                values.truncate(MAX_VALUES);
                Known::OneOf(values)
            }
        },
        ExprKind::Call(call) => walk_call(expr, call, into),
        _ => {
            let mut closed = !matches!(expr.kind, ExprKind::Attribute(..));
            let before = into.len();
            expr.for_each_child(&mut |child| closed &= matches!(walk(child, into), Known::Value(_)));
            if closed && into.len() == before { computed(expr, into) } else { Known::Open }
        }
    }
}

/// A part that reads no name.
fn computed(expr: &Expr, into: &mut Vec<NoValue>) -> Known {
    match eval::evaluate(expr, &Nothing) {
        Ok(value) => Known::Value(value),
        Err(error) => {
            if let EvalFailure::Domain(message) = error.reason {
                into.push(NoValue { range: error.range, subject: expr.to_string(), message });
            }
            Known::Open
        }
    }
}

fn walk_call(expr: &Expr, call: &Call, into: &mut Vec<NoValue>) -> Known {
    let Some(builtin) = builtins::find(&call.callee.value) else { return Known::Open };
    if !matches!(builtin.role, Role::Primitive { .. }) {
        return Known::Open;
    }
    if let Some(comprehension) = &call.comprehension {
        let before = into.len();
        let iterable = walk(&comprehension.iterable, into);
        call.args.iter().for_each(|element| {
            walk(element, into);
        });
        let others = call.keywords.iter().all(|(_, value)| matches!(walk(value, into), Known::Value(_)));
        // Closed where the elements read the variable alone.
        let closed = matches!(iterable, Known::Value(_)) && others && into.len() == before;
        return if closed { computed(expr, into) } else { Known::Open };
    }
    let before = into.len();
    let known: Vec<Known> = arguments(call).map(|argument| walk(argument, into)).collect();
    let closed = known.iter().all(|known| matches!(known, Known::Value(_)));
    let values: Vec<Vec<Value>> = known.into_iter().map(Known::values).collect();
    let given: Vec<&Expr> = arguments(call).collect();
    outside(builtin, call, &given, &values, into);
    if into.len() == before && closed { computed(expr, into) } else { Known::Open }
}

/// Literal arguments outside the built-in's domain, whatever the others are.
fn outside(builtin: &Builtin, call: &Call, given: &[&Expr], values: &[Vec<Value>], into: &mut Vec<NoValue>) {
    let bound = builtins::bind(builtin, call);
    if !bound.problems.is_empty() {
        return;
    }
    let values_of = |argument: &Expr| {
        let position = given.iter().position(|other| std::ptr::eq(*other, argument));
        position.and_then(|position| values.get(position)).map_or(&[][..], Vec::as_slice)
    };
    // Another argument counts where it has one value.
    let of_parameter = |position: usize| match values_of(bound.arguments.get(position)?.first()?) {
        [one] => Some(one),
        _ => None,
    };
    for (position, arguments) in bound.arguments.iter().enumerate() {
        for argument in arguments {
            let mut values = values_of(argument).iter();
            if let Some(why) = values.find_map(|value| builtin.outside(position, value, &of_parameter)) {
                let message = format!("in `{}`, {why}", builtin.name);
                into.push(NoValue { range: argument.range, subject: builtin.name.to_owned(), message });
                return;
            }
            // Of a sequence some of whose items are open, the others are known.
            let items = if let ExprKind::Tuple(items) = &argument.kind { items.as_slice() } else { &[] };
            let known = items.iter().enumerate().filter_map(|(at, item)| Some((at, item, closed(item)?)));
            let wrong = known
                .filter(|_| values_of(argument).is_empty())
                .find_map(|(at, item, value)| Some((item.range, builtin.outside_item(position, at, &value)?)));
            if let Some((range, why)) = wrong {
                let message = format!("in `{}`, {why}", builtin.name);
                into.push(NoValue { range, subject: builtin.name.to_owned(), message });
                return;
            }
        }
    }
}

/// The value of an expression that reads no name.
fn closed(expr: &Expr) -> Option<Value> {
    eval::evaluate(expr, &Nothing).ok()
}

/// What an invariant of an ADT says of no value at all: parts without a value, and that it never holds.
pub(crate) fn judge_invariant(invariant: &Expr, path: &str, constructor: &str, findings: &mut Findings) {
    let mut found = Vec::new();
    no_values(invariant, &mut found);
    let path = Arc::from(path);
    let is_sound = found.is_empty();
    report(&path, &mut found, findings);
    if is_sound && eval::fold(invariant, &Nothing).kind == ExprKind::Bool(false) {
        let message = "this invariant never holds";
        let help = format!("no `{constructor}` satisfies it; correct or remove it");
        findings.report(&codes::EMPTY_DOMAIN, invariant.range, &*path, "invariant", message).help(help);
    }
}

fn fault(path: &str, found: NoValue) -> Fault {
    Fault {
        code: &codes::OUTSIDE_DOMAIN,
        range: found.range,
        path: path.to_owned(),
        subject: found.subject,
        message: found.message,
        help: None,
        related: Vec::new(),
    }
}

/// How many values of nested conditionals are looked at.
const MAX_VALUES: usize = 16;

/// An expression, where it stands, and whether it is an extent.
type Place<'a> = (&'a Item, String, bool);

/// What the expressions say themselves, at whatever point.
pub(crate) fn judge(sheet: &Sheet, findings: &mut Findings) {
    let mut places: Vec<Place<'_>> = Vec::new();
    for tensor in &sheet.tensors {
        let path = &tensor.facts.path;
        if let ShapeSheet::Axes { items, .. } = &tensor.shape {
            places.extend(items.iter().map(|axis| (&axis.item, format!("{path}.shape"), true)));
        }
        places.extend(tensor.dtype.iter().map(|item| (item, format!("{path}.dtype"), false)));
        for (when, key) in [(&tensor.present, "optional"), (&tensor.mutated, "mutated")] {
            if let When::Condition(item) = when {
                places.push((item, format!("{path}.{key}"), false));
            }
        }
    }
    for l in &sheet.lets {
        places.extend(l.value.iter().map(|item| (item, format!("signature.let.{}", l.name), false)));
    }
    places.extend(sheet.rules.iter().map(|rule| (&rule.item, rule.path.to_string(), false)));
    places.extend(sheet.formulas.iter().zip(&sheet.formula_paths).map(|(item, path)| (item, path.to_string(), false)));
    let mut found = Vec::new();
    for (item, path, is_extent) in places.into_iter().filter(|(item, ..)| !item.faulty) {
        look(item, is_extent, &mut found);
        report(&Arc::from(path), &mut found, findings);
    }
    let calls = sheet.tensors.iter().flat_map(|tensor| tensor.values.iter().chain(&tensor.requires));
    for call in calls.filter(|call| !call.faulty) {
        no_call(&call.call, &mut found);
        report(&call.path, &mut found, findings);
    }
}

/// The axes of a family's case, as written.
pub(crate) fn check_axes(axes: &[Axis], path: &str, findings: &mut Findings) {
    let mut found = Vec::new();
    for Axis::One(expr) | Axis::Splice(expr) in axes {
        let is_faulty = |defect: &crate::defect::Defect| {
            defect.code.severity == Severity::Error && expr.range.contains_range(defect.range)
        };
        if !findings.defects.iter().any(is_faulty) {
            no_extents(expr, &mut found);
            report(&Arc::from(path), &mut found, findings);
        }
    }
}

fn look(item: &Item, is_extent: bool, into: &mut Vec<NoValue>) {
    match is_extent {
        true => no_extents(&item.expr, into),
        false => no_values(&item.expr, into),
    }
}

fn report(path: &Arc<str>, found: &mut Vec<NoValue>, findings: &mut Findings) {
    for found in found.drain(..) {
        findings.report(&codes::OUTSIDE_DOMAIN, found.range, &**path, found.subject, found.message);
    }
}

/// What depends on the point. `said` are the places of what holds at every point.
pub(crate) fn faults(sheet: &Sheet, view: &View, said: &[TextRange], into: &mut Vec<Fault>) {
    let mut found = Vec::new();
    let is_said = |found: &NoValue| said.iter().any(|range| found.range.contains_range(*range));
    let mut note = |path: &str, found: &mut Vec<NoValue>| {
        into.extend(found.drain(..).filter(|found| !is_said(found)).map(|found| fault(path, found)));
    };
    for (t, tensor) in sheet.tensors.iter().enumerate() {
        let branch = &view.branch.tensors[t];
        if branch.present == Some(false) {
            continue;
        }
        let path = &tensor.facts.path;
        let varies = |position: usize| match &tensor.shape {
            ShapeSheet::Axes { items, .. } => items.get(position).is_some_and(|axis| axis.item.varies()),
            // Arguments were put in.
            ShapeSheet::Family(_) => true,
            ShapeSheet::Broken => false,
        };
        let axes = view.items[t].iter().flat_map(|items| items.iter()).enumerate();
        for (_, axis) in axes.filter(|(position, axis)| varies(*position) && !axis.item.faulty) {
            look(&axis.item, true, &mut found);
        }
        if !found.is_empty() {
            note(&format!("{path}.shape"), &mut found);
        }
        if let (Some(written), Some(item)) = (&tensor.dtype, &view.dtypes[t])
            && written.varies()
            && !written.faulty
        {
            look(item, false, &mut found);
            note(&format!("{path}.dtype"), &mut found);
        }
        let folded = branch.values.iter().chain(&branch.requires);
        for (written, call) in tensor.values.iter().chain(&tensor.requires).zip(folded) {
            if !written.vars.is_empty() && !written.faulty {
                no_call(&call.call, &mut found);
                note(&call.path, &mut found);
            }
        }
    }
    let lets =
        sheet.lets.iter().zip(&view.lets).filter_map(|(l, folded)| Some((l.value.as_ref()?, folded.as_ref()?, l)));
    for (_, item, l) in lets.filter(|(written, ..)| written.varies() && !written.faulty) {
        // A `let` counts where something reads it.
        if l.sym.is_some_and(|sym| view.read.contains(sym)) {
            look(item, false, &mut found);
            note(&format!("signature.let.{}", l.name), &mut found);
        }
    }
    for (rule, item) in sheet.rules.iter().zip(&view.rules).filter(|(rule, _)| rule.item.varies() && !rule.item.faulty)
    {
        look(item, false, &mut found);
        note(&rule.path, &mut found);
    }
    let formulas = sheet.formulas.iter().zip(&view.formulas).zip(&sheet.formula_paths);
    for ((_, item), path) in formulas.filter(|((written, _), _)| written.varies() && !written.faulty) {
        look(item, false, &mut found);
        note(path, &mut found);
    }
}
