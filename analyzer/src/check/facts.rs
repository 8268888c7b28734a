//! Walks over a signature that several judgments share.

use std::sync::Arc;

use crate::expr::{Axis, Call, Expr, ExprKind, Shape, ShapeKind};
use crate::lang::Value;
use crate::model::{ParamRole, Signature, Tensor};

/// Every tensor, in the order `params`, `inputs`, `outputs`.
pub(crate) fn tensors(signature: &Signature) -> impl Iterator<Item = &Tensor> {
    let constructed = signature.params.items().iter().filter_map(|param| match &param.role {
        ParamRole::Tensor(tensor) => Some(&**tensor),
        ParamRole::Value { .. } => None,
    });
    constructed.chain(signature.inputs.items()).chain(signature.outputs.items())
}

/// What an expression reads of one name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Read<'a> {
    /// Its value.
    Value(&'a Arc<str>),
    /// Whether it is passed: `present(x)`.
    Present(&'a Arc<str>),
    /// A field of it, `.kind` included: `layout.max_m`. `v.value` is a read of the value.
    Field(&'a Arc<str>, &'a Arc<str>),
    /// The tensor of that name as an operand: `bytes(x)`, or a metadata tensor in a predicate.
    Tensor(&'a Arc<str>),
}

impl<'a> Read<'a> {
    /// The name read.
    pub(crate) fn name(self) -> &'a Arc<str> {
        match self {
            Read::Value(name) | Read::Present(name) | Read::Field(name, _) | Read::Tensor(name) => name,
        }
    }
}

/// Calls `visit` on everything that `expr` reads, in the order written. A comprehension's variable is not read.
pub(crate) fn reads<'a>(expr: &'a Expr, visit: &mut dyn FnMut(Read<'a>)) {
    walk(expr, &mut Vec::new(), visit);
}

/// `v` of `v.value`, anything else as it is: what is narrowed by a guard is read by its name.
pub(crate) fn without_value(expr: &Expr) -> &Expr {
    match &expr.kind {
        ExprKind::Attribute(base, field) if &*field.value == "value" => base,
        _ => expr,
    }
}

fn walk<'a>(expr: &'a Expr, bound: &mut Vec<&'a str>, visit: &mut dyn FnMut(Read<'a>)) {
    match &expr.kind {
        ExprKind::Name(name) => {
            if !bound.contains(&&**name) {
                visit(Read::Value(name));
            }
        }
        ExprKind::Attribute(base, field) => match without_value(base).kind {
            ExprKind::Name(ref name) if !bound.contains(&&**name) => visit(match &*field.value {
                "value" => Read::Value(name),
                _ => Read::Field(name, &field.value),
            }),
            _ => walk(base, bound, visit),
        },
        ExprKind::Call(call) => walk_call(call, bound, visit),
        _ => expr.for_each_child(&mut |child| walk(child, bound, visit)),
    }
}

fn walk_call<'a>(call: &'a Call, bound: &mut Vec<&'a str>, visit: &mut dyn FnMut(Read<'a>)) {
    let operand = match call.args.as_slice() {
        [Expr { kind: ExprKind::Name(name), .. }] => Some(name),
        _ => None,
    };
    match (&*call.callee.value, operand) {
        ("present", Some(name)) => visit(Read::Present(name)),
        ("bytes", Some(name)) => visit(Read::Tensor(name)),
        _ => {
            if let Some(comprehension) = &call.comprehension {
                walk(&comprehension.iterable, bound, visit);
                bound.push(&comprehension.variable.value);
            }
            call.args.iter().for_each(|arg| walk(arg, bound, visit));
            if call.comprehension.is_some() {
                bound.pop();
            }
            call.keywords.iter().for_each(|(_, value)| walk(value, bound, visit));
        }
    }
}

/// As [`reads`], for every argument of a call (the callee may be a generator or a predicate).
pub(crate) fn call_reads<'a>(call: &'a Call, visit: &mut dyn FnMut(Read<'a>)) {
    walk_call(call, &mut Vec::new(), visit);
}

/// As [`reads`], for one item of a shape.
pub(crate) fn axis_reads<'a>(axis: &'a Axis, visit: &mut dyn FnMut(Read<'a>)) {
    let (Axis::One(expr) | Axis::Splice(expr)) = axis;
    reads(expr, visit);
}

/// As [`reads`], for a shape as written: the arguments of a family's application, not its cases.
pub(crate) fn shape_reads<'a>(shape: &'a Shape, visit: &mut dyn FnMut(Read<'a>)) {
    match &shape.kind {
        ShapeKind::Axes(axes) => axes.iter().for_each(|axis| axis_reads(axis, visit)),
        ShapeKind::Family(_, operands) | ShapeKind::Error(operands) => {
            operands.iter().for_each(|operand| reads(operand, visit));
        }
    }
}

/// Whether the tree has a place that could not be read.
pub(crate) fn has_error(expr: &Expr) -> bool {
    let mut found = matches!(expr.kind, ExprKind::Error(_));
    expr.for_each_child(&mut |child| found = found || has_error(child));
    found
}

/// As [`has_error`], for a shape.
pub(crate) fn shape_has_error(shape: &Shape) -> bool {
    match &shape.kind {
        ShapeKind::Axes(axes) => axes.iter().any(|(Axis::One(expr) | Axis::Splice(expr))| has_error(expr)),
        ShapeKind::Family(_, operands) => operands.iter().any(has_error),
        ShapeKind::Error(_) => true,
    }
}

/// The value of a literal.
pub(crate) fn literal(expr: &Expr) -> Option<Value> {
    Some(match &expr.kind {
        ExprKind::Int(value) => Value::Int(*value),
        ExprKind::Float(value) => Value::Float(*value),
        ExprKind::Bool(value) => Value::Bool(*value),
        ExprKind::None => Value::None,
        ExprKind::Str(text) => Value::Str(text.clone()),
        ExprKind::Tuple(items) => Value::Seq(items.iter().map(literal).collect::<Option<_>>()?),
        _ => return None,
    })
}

/// The nodes of a tree and its depth.
pub(crate) fn extent(expr: &Expr) -> (usize, usize) {
    let (mut nodes, mut depth) = (1_usize, 0_usize);
    expr.for_each_child(&mut |child| {
        let (below, deep) = extent(child);
        nodes = nodes.saturating_add(below);
        depth = depth.max(deep);
    });
    (nodes, depth + 1)
}
