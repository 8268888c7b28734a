//! What every target asks of an entry before it writes it.

use std::sync::Arc;

use tileops_analyzer::analysis::EntryAnalysis;
use tileops_analyzer::check::{Point, SymbolRole};
use tileops_analyzer::eval::free_names;
use tileops_analyzer::expr::{Axis, BinaryOp, Expr, ExprKind, Shape, ShapeKind};
use tileops_analyzer::lang::Kind;
use tileops_analyzer::model::{Condition, Fact, ParamRole, Signature, Tensor};

/// The most points that a method has branches for.
pub(crate) const MOST_POINTS: usize = 1024;

/// A refinement that discriminants alone decide.
pub(crate) struct Restriction<'a> {
    pub(crate) expr: &'a Expr,
    pub(crate) path: Arc<str>,
    /// Whether it reads parameters only.
    pub(crate) params_only: bool,
}

pub(crate) fn restrictions(analysis: &EntryAnalysis) -> Vec<Restriction<'_>> {
    let Some(signature) = analysis.entry.signature.valid() else { return Vec::new() };
    let discriminants = analysis.checked.discriminants();
    let points = analysis.checked.points_over(&deciding(analysis, signature), MOST_POINTS);
    let formulas = signature.shape_rules.items().iter().enumerate();
    let found = formulas.filter_map(|(position, rule)| {
        let formula = rule.valid()?;
        let names = free_names(&formula.expr);
        let own = names.iter().all(|name| discriminants.iter().any(|d| d.name == *name));
        let holds = |point: &Point| {
            let branch = analysis.checked.branch(point);
            let rule = branch.rules.iter().find(|rule| rule.position == position);
            rule.is_some_and(|rule| rule.expr.kind == ExprKind::Bool(true))
        };
        let decided = own && points.iter().all(holds);
        let params_only =
            names.iter().all(|name| analysis.scope.get(name).is_some_and(|symbol| symbol.role == SymbolRole::Param));
        decided.then(|| Restriction { expr: &formula.expr, path: formula.path.clone(), params_only })
    });
    found.collect()
}

pub(crate) fn tensors(signature: &Signature) -> impl Iterator<Item = &Tensor> {
    let construction = signature.params.items().iter().filter_map(|param| match &param.role {
        ParamRole::Tensor(tensor) => Some(&**tensor),
        ParamRole::Value { .. } => None,
    });
    construction.chain(signature.inputs.items()).chain(signature.outputs.items())
}

fn shape_names(shape: &Shape, names: &mut Vec<Arc<str>>) {
    match &shape.kind {
        ShapeKind::Axes(axes) => {
            axes.iter().for_each(|(Axis::One(expr) | Axis::Splice(expr))| names.extend(free_names(expr)));
        }
        ShapeKind::Family(_, arguments) => arguments.iter().for_each(|expr| names.extend(free_names(expr))),
        ShapeKind::Error(_) => {}
    }
}

/// The discriminants that something of the signature reads, and the tensors that may be absent.
pub(crate) fn deciding(analysis: &EntryAnalysis, signature: &Signature) -> Vec<Arc<str>> {
    let mut read: Vec<Arc<str>> = Vec::new();
    for tensor in tensors(signature) {
        read.push(tensor.name.value.clone());
        read.extend(tensor.dtype.valid().iter().flat_map(|formula| free_names(&formula.expr)));
        if let Fact::Valid(Condition::When(formula), _) = &tensor.optional {
            read.extend(free_names(&formula.expr));
        }
        if let Fact::Valid(shape, _) = &tensor.shape {
            shape_names(shape, &mut read);
        }
    }
    for family in signature.types.items() {
        for case in family.cases.items().iter().filter_map(Fact::valid) {
            if let Fact::Valid(shape, _) = &case.is {
                shape_names(shape, &mut read);
            }
        }
    }
    for rule in signature.shape_rules.items().iter().filter_map(Fact::valid) {
        read.extend(free_names(&rule.expr));
    }
    for item in signature.lets.items() {
        read.extend(item.value.valid().iter().flat_map(|formula| free_names(&formula.expr)));
    }
    let mut names: Vec<Arc<str>> = Vec::new();
    for discriminant in analysis.checked.discriminants() {
        if read.contains(&discriminant.name) && !names.contains(&discriminant.name) {
            names.push(discriminant.name.clone());
        }
    }
    names
}

/// Whether `kind` is of a foreign class, of which nothing is known: everything but `None` is one of its values.
pub(crate) fn is_foreign(kind: &Kind) -> bool {
    match kind {
        Kind::Opaque(_) => true,
        Kind::Union(members) => members.iter().any(is_foreign),
        _ => false,
    }
}

/// Whether an operation in `expr` has arguments at which it has no value.
pub(crate) fn can_fail(expr: &Expr) -> bool {
    const TOTAL: &[&str] = &[
        "len",
        "prod",
        "sum",
        "all",
        "category",
        "promote_int_to_float",
        "coalesce_dtype",
        "present",
        "bytes",
        "representable",
    ];
    let mut open = vec![expr];
    while let Some(expr) = open.pop() {
        match &expr.kind {
            ExprKind::Binary(BinaryOp::FloorDiv | BinaryOp::Mod, _, right)
                if !matches!(right.kind, ExprKind::Int(1..)) =>
            {
                return true;
            }
            ExprKind::Call(call) if !TOTAL.contains(&&*call.callee.value) => return true,
            ExprKind::Index(..) => return true,
            _ => {}
        }
        expr.for_each_child(&mut |child| open.push(child));
    }
    false
}
