//! Metadata tensors: whether a tensor can hold what its generator gives and what its predicates read.

use super::effects::show_axes;
use super::groups::tensors_named;
use super::sheet::{AxisItem, CallItem, Sheet};
use super::signature::Fault;
use super::view::View;
use crate::defect::{Findings, axes_word, codes, list};
use crate::expr::{Call, Expr, ExprKind};
use crate::lang::builtins::{self, ResultShape, Role};
use crate::lang::{DType, DTypeSet, Kind};
use crate::model::Fact;

/// The dtypes of a metadata tensor.
fn metadata_dtypes() -> DTypeSet {
    builtins::METADATA_DTYPES.into_iter().collect()
}

/// Judges what no point changes: `requires` without `values`, and predicates over tensors that are no metadata.
pub(crate) fn judge(sheet: &Sheet, findings: &mut Findings) {
    for tensor in &sheet.tensors {
        let facts = &tensor.facts;
        if facts.values.is_absent() && facts.requires.valid().is_some_and(|r| !r.is_empty()) {
            findings
                .report(
                    &codes::METADATA_TENSOR,
                    facts.requires.range(),
                    format!("{}.requires", facts.path),
                    &*facts.name.value,
                    format!("`{}` has `requires` and no `values`", facts.name.value),
                )
                .help(
                    "`values` says what a workload row fills the tensor with, as in `values: \"as_tensor(lengths)\"`",
                );
        }
        for call in &tensor.requires {
            for name in tensors_named(sheet, call) {
                let named = sheet.tensors.iter().find(|t| t.facts.name.value == name);
                let Some(named) = named.filter(|t| t.facts.values.is_absent()) else { continue };
                let range = argument_range(&call.call, &name).unwrap_or(call.range);
                findings
                    .report(
                        &codes::METADATA_TENSOR,
                        range,
                        &*call.path,
                        &*name,
                        format!("`{name}` has no `values`, so `{}` cannot read its contents", call.call.callee.value),
                    )
                    .help("a predicate reads metadata tensors: inputs that have `values`")
                    .related(named.facts.name.range, format!("`{name}` is declared here"));
            }
        }
    }
}

fn argument_range(call: &Call, name: &str) -> Option<crate::text::TextRange> {
    let mut arguments = call.args.iter().chain(call.keywords.iter().map(|(_, value)| value));
    arguments.find(|arg| arg.as_name() == Some(name)).map(|arg| arg.range)
}

/// The number of axes, where the shape fixes it.
pub(crate) fn rank(sheet: &Sheet, items: &[AxisItem]) -> Option<usize> {
    items.iter().try_fold(0_usize, |rank, axis| {
        if !axis.splice {
            return Some(rank + 1);
        }
        let more = match &axis.item.expr.kind {
            ExprKind::Tuple(items) => items.len(),
            ExprKind::Name(name) => match sheet.sym(name).map(|sym| &sheet.symbols[sym].kind) {
                Some(Kind::Seq(_, Some(len))) => *len,
                _ => return None,
            },
            _ => return None,
        };
        rank.checked_add(more)
    })
}

/// The dtypes that a folded dtype expression can have; nothing where that is not known.
fn dtypes(sheet: &Sheet, expr: &Expr) -> Option<DTypeSet> {
    match &expr.kind {
        ExprKind::Name(name) => match sheet.sym(name) {
            None => DType::from_name(name).map(|dtype| DTypeSet::EMPTY.with(dtype)),
            Some(sym) => match &sheet.symbols[sym].kind {
                Kind::DType(set) => Some(*set),
                _ => None,
            },
        },
        ExprKind::Str(name) => DType::from_name(name).map(|dtype| DTypeSet::EMPTY.with(dtype)),
        ExprKind::If { then, otherwise, .. } => Some(dtypes(sheet, then)?.union(dtypes(sheet, otherwise)?)),
        _ => None,
    }
}

/// What does not fit at one point.
pub(crate) fn faults(sheet: &Sheet, view: &View, into: &mut Vec<Fault>) {
    for (t, tensor) in sheet.tensors.iter().enumerate() {
        let branch = &view.branch.tensors[t];
        if branch.present != Some(true) || (tensor.values.is_none() && tensor.requires.is_empty()) {
            continue;
        }
        let name = &tensor.facts.name.value;
        if let (Some(values), Some(dtype)) = (&tensor.values, &view.dtypes[t]) {
            let outside = dtypes(sheet, &dtype.expr).map(|set| set.difference(metadata_dtypes()));
            if let Some(outside) = outside.filter(|set| !set.is_empty()) {
                into.push(Fault {
                    code: &codes::METADATA_TENSOR,
                    range: tensor.facts.dtype.range(),
                    path: format!("{}.dtype", tensor.facts.path),
                    subject: name.to_string(),
                    message: format!(
                        "`{name}` has `values`, and its dtype can be {}",
                        list(outside.iter().map(DType::name), "or")
                    ),
                    help: Some(format!(
                        "a metadata tensor is {}",
                        list(builtins::METADATA_DTYPES.iter().map(|d| d.name()), "or")
                    )),
                    related: vec![(values.range, "its values are generated here".to_owned())],
                });
            }
        }
        let Some(items) = &view.items[t] else { continue };
        if items.iter().any(|axis| axis.item.faulty) {
            continue;
        }
        if let Some(values) = &tensor.values {
            let before = into.len();
            generator_faults(sheet, view, t, values, items, into);
            // The same shape is what is wrong for a predicate.
            if into.len() > before {
                continue;
            }
        }
        for call in &tensor.requires {
            predicate_faults(sheet, view, t, call, items, into);
        }
    }
}

/// The generator's result has the declared rank, and no axis that differs for sure.
fn generator_faults(
    sheet: &Sheet,
    view: &View,
    t: usize,
    values: &CallItem,
    items: &[AxisItem],
    into: &mut Vec<Fault>,
) {
    let tensor = &sheet.tensors[t];
    let callee = &values.call.callee.value;
    let Some(Role::Generator(generator)) = builtins::find(callee).map(|builtin| builtin.role) else { return };
    let Some(declared) = rank(sheet, items) else { return };
    let result: Option<(usize, &[&str])> = match generator.shape {
        ResultShape::Axes(axes) => Some((axes.len(), axes)),
        ResultShape::LayoutMetadata => Some((1, &[])),
        ResultShape::Param(parameter) => {
            let position = builtins::find(callee).and_then(|b| b.params.iter().position(|p| p.name == parameter));
            let folded = view.branch.tensors[t].values.as_ref().map(|v| &v.call);
            let argument = folded.and_then(|call| {
                let keyword = call.keywords.iter().find(|(n, _)| &*n.value == parameter).map(|(_, value)| value);
                keyword.or_else(|| position.and_then(|p| call.args.get(p)))
            });
            match argument.map(|argument| &argument.kind) {
                Some(ExprKind::Tuple(axes)) => Some((axes.len(), &[][..])),
                _ => None,
            }
        }
    };
    let Some((given, axes)) = result else { return };
    let at = |message: String| Fault {
        code: &codes::METADATA_TENSOR,
        range: tensor.facts.shape.range(),
        path: format!("{}.shape", tensor.facts.path),
        subject: tensor.facts.name.value.to_string(),
        message,
        help: match axes {
            [] => None,
            _ => Some(format!("its result is `[{}]`", axes.join(", "))),
        },
        related: vec![(values.range, "the generator is called here".to_owned())],
    };
    if given != declared {
        into.push(at(format!(
            "`{callee}` gives {}, and `{}` has {}",
            axes_word(given),
            tensor.facts.name.value,
            axes_word(declared)
        )));
        return;
    }
    if items.len() != axes.len() {
        return;
    }
    for (position, (item, axis)) in items.iter().zip(axes).enumerate() {
        let (ExprKind::Int(here), Ok(there)) = (&item.item.expr.kind, axis.parse::<i128>()) else { continue };
        if *here != there {
            into.push(at(format!("axis {position} of what `{callee}` gives is {there}, and not {here}")));
        }
    }
}

/// The predicate reads tensors of the declared rank, and its other tensors are there.
fn predicate_faults(sheet: &Sheet, view: &View, t: usize, call: &CallItem, items: &[AxisItem], into: &mut Vec<Fault>) {
    let tensor = &sheet.tensors[t];
    let name = &tensor.facts.name.value;
    let callee = &call.call.callee.value;
    if let Some(Role::Predicate(predicate)) = builtins::find(callee).map(|builtin| builtin.role)
        && let Some(reads) = predicate.rank
    {
        let declared = rank(sheet, items);
        if declared != Some(reads) {
            let has = match declared {
                Some(declared) => axes_word(declared),
                None => format!("a number of axes that `{}` does not fix", show_axes(items)),
            };
            into.push(Fault {
                code: &codes::METADATA_TENSOR,
                range: call.range,
                path: call.path.to_string(),
                subject: callee.to_string(),
                message: format!("`{callee}` reads a tensor of {}, and `{name}` has {has}", axes_word(reads)),
                help: None,
                related: vec![(tensor.facts.shape.range(), format!("the shape of `{name}` is here"))],
            });
        }
    }
    for other in tensors_named(sheet, call) {
        let Some(o) = sheet.tensors.iter().position(|t| t.facts.name.value == other) else { continue };
        if matches!(sheet.tensors[o].facts.values, Fact::Absent(_)) || view.branch.tensors[o].present != Some(false) {
            continue;
        }
        into.push(Fault {
            code: &codes::METADATA_TENSOR,
            range: argument_range(&call.call, &other).unwrap_or(call.range),
            path: call.path.to_string(),
            subject: other.to_string(),
            message: format!("`{callee}` constrains `{name}` by `{other}`, which is not passed"),
            help: Some(format!("make `{other}` present wherever `{name}` is, as in `optional: \"present({name})\"`")),
            related: vec![(sheet.tensors[o].facts.name.range, format!("`{other}` is declared here"))],
        });
    }
}
