//! Presence and effects: what can be judged without going through the points, and what an alias must agree on at each.

use super::facts;
use super::sheet::{AxisItem, Item, Sheet, TensorSheet, When};
use super::signature::Fault;
use super::view::View;
use super::{SymbolRole, facts::Read};
use crate::defect::{Findings, codes, list, nearest, nearest_first};
use crate::expr::{Expr, ExprKind};
use crate::lang::Kind;
use crate::model::{Condition, Fact, Signature, TensorRole};
use crate::text::TextRange;

/// Judges presence conditions, their order, and the effects that contradict each other at every point.
pub(crate) fn judge(sheet: &Sheet, signature: &Signature, findings: &mut Findings) {
    for tensor in &sheet.tensors {
        let facts = &tensor.facts;
        let presence = if facts.role == TensorRole::Output { "nullable" } else { "optional" };
        judge_condition(sheet, &tensor.present, &facts.optional, &format!("{}.{presence}", facts.path), findings);
        judge_condition(sheet, &tensor.mutated, &facts.mutated, &format!("{}.mutated", facts.path), findings);
        let always = matches!(facts.optional, Fact::Valid(Condition::Always(true), _));
        if facts.role == TensorRole::Output && always {
            findings
                .report(
                    &codes::UNDECIDED_CONDITION,
                    facts.optional.range(),
                    format!("{}.nullable", facts.path),
                    &*facts.name.value,
                    format!("`nullable: true` does not say when `{}` is emitted", facts.name.value),
                )
                .help("write the condition under which the call emits it, as in `nullable: \"present(bias)\"`");
        }
        judge_write_only(tensor, findings);
    }
    judge_cycles(sheet, findings);
    judge_order(sheet, signature, findings);
    judge_aliases(sheet, signature, findings);
    judge_buffers(signature, findings);
}

/// A condition reads nothing but discriminants.
fn judge_condition(sheet: &Sheet, when: &When, fact: &Fact<Condition>, path: &str, findings: &mut Findings) {
    let When::Condition(item) = when else { return };
    if item.faulty || !item.open {
        return;
    }
    let (Some((name, range)), Fact::Valid(Condition::When(formula), _)) = (open_read(sheet, item), fact) else {
        return;
    };
    let what = match sheet.sym(&name).map(|sym| &sheet.symbols[sym]) {
        Some(symbol) => match symbol.role {
            SymbolRole::Index => "an index".to_owned(),
            SymbolRole::Let => "a `let` that reads more than discriminants".to_owned(),
            SymbolRole::Tensor(_) => "a tensor".to_owned(),
            SymbolRole::Param => match &symbol.kind {
                Kind::Adt(..) => "a field that has no finite set of values".to_owned(),
                _ => "a parameter that has no finite set of values".to_owned(),
            },
        },
        None => "unknown".to_owned(),
    };
    let allowed: Vec<String> = sheet
        .variables
        .iter()
        .map(|variable| match variable.options.first().map(Vec::as_slice) {
            Some([super::Assignment::Present(_)]) => format!("present({})", variable.name),
            Some([super::Assignment::Constructor { .. }]) => format!("{}.kind", variable.name),
            _ => variable.name.to_string(),
        })
        .collect();
    let help = match allowed.as_slice() {
        [] => "a condition reads Boolean and enum parameters, `present(…)`, and an ADT's `.kind`; this entry has none"
            .to_owned(),
        _ => format!("a condition may read {}", list(nearest_first(&name, allowed.iter().map(String::as_str)), "and")),
    };
    let range = range.unwrap_or(formula.expr.range);
    findings
        .report(
            &codes::UNDECIDED_CONDITION,
            range,
            path,
            &*name,
            format!("the condition reads `{name}`, which is {what}, and no discriminant"),
        )
        .help(help);
}

/// The first read of `item` that no point decides: its name, and where it stands.
fn open_read(sheet: &Sheet, item: &Item) -> Option<(std::sync::Arc<str>, Option<TextRange>)> {
    let mut found = None;
    facts::reads(&item.expr, &mut |read| {
        if found.is_none() && sheet.is_open(read) && !matches!(read, Read::Tensor(_)) {
            found = Some(read);
        }
    });
    let found: Read<'_> = found?;
    Some((found.name().clone(), range_of(&item.expr, found)))
}

/// Where `read` first stands in `expr`.
fn range_of(expr: &Expr, read: Read<'_>) -> Option<TextRange> {
    let here = match (&expr.kind, read) {
        (ExprKind::Name(name), Read::Value(wanted) | Read::Present(wanted) | Read::Tensor(wanted)) => name == wanted,
        (ExprKind::Attribute(base, field), Read::Field(wanted, wanted_field)) => {
            field.value == *wanted_field && facts::without_value(base).as_name() == Some(wanted)
        }
        _ => false,
    };
    if here {
        return Some(expr.range);
    }
    let mut found = None;
    expr.for_each_child(&mut |child| {
        if found.is_none() {
            found = range_of(child, read);
        }
    });
    found
}

/// A tensor's presence cannot depend on itself.
fn judge_cycles(sheet: &Sheet, findings: &mut Findings) {
    // The first of a cycle stands for it; a tensor that only reads one is left to it.
    let conditional = |name: &str| sheet.cyclic.iter().copied().find(|&t| &*sheet.tensors[t].facts.name.value == name);
    let reads = |t: usize| -> Vec<usize> {
        let mut found = Vec::new();
        let mut lets: Vec<usize> = Vec::new();
        let mut note = |read: Read<'_>, lets: &mut Vec<usize>| match read {
            Read::Present(name) => found.extend(conditional(name)),
            Read::Value(name) => {
                let l = sheet.lets.iter().position(|l| l.name == *name);
                if let Some(l) = l.filter(|l| !lets.contains(l)) {
                    lets.push(l);
                }
            }
            Read::Field(..) | Read::Tensor(_) => {}
        };
        if let When::Condition(item) = &sheet.tensors[t].present {
            facts::reads(&item.expr, &mut |read| note(read, &mut lets));
        }
        let mut next = 0;
        while let Some(&l) = lets.get(next) {
            next += 1;
            if let Some(item) = &sheet.lets[l].value {
                facts::reads(&item.expr, &mut |read| note(read, &mut lets));
            }
        }
        found
    };
    let edges: Vec<(usize, Vec<usize>)> = sheet.cyclic.iter().map(|&t| (t, reads(t))).collect();
    for (start, _) in &edges {
        let mut reached: Vec<usize> = Vec::new();
        let mut pending = vec![*start];
        while let Some(at) = pending.pop() {
            for &to in edges.iter().find(|(t, _)| *t == at).map_or(&[][..], |(_, to)| to) {
                if !reached.contains(&to) {
                    reached.push(to);
                    pending.push(to);
                }
            }
        }
        // On a cycle, and its first member.
        if !reached.contains(start) || reached.iter().any(|t| t < start) {
            continue;
        }
        let facts = &sheet.tensors[*start].facts;
        let mut others: Vec<&str> =
            reached.iter().filter(|t| *t != start).map(|&t| &*sheet.tensors[t].facts.name.value).collect();
        others.sort_unstable();
        let through =
            if others.is_empty() { String::new() } else { format!(" through that of {}", list(others, "and")) };
        findings.report(
            &codes::UNDECIDED_CONDITION,
            facts.optional.range(),
            format!("{}.optional", facts.path),
            &*facts.name.value,
            format!("the presence of `{}` depends on itself{through}", facts.name.value),
        );
    }
}

/// A required input does not follow an optional one.
fn judge_order(sheet: &Sheet, signature: &Signature, findings: &mut Findings) {
    // What is wrong with a condition may be that it is there.
    let is_faulty = |name: &str| {
        let found = sheet.tensors.iter().find(|tensor| &*tensor.facts.name.value == name);
        found.is_some_and(|tensor| matches!(&tensor.present, When::Condition(item) if item.faulty))
    };
    let optional =
        |fact: &Fact<Condition>| matches!(fact, Fact::Valid(Condition::Always(true) | Condition::When(_), _));
    let (mut first, mut reported) = (None, false);
    for tensor in signature.inputs.items() {
        match first {
            None if optional(&tensor.optional) && !is_faulty(&tensor.name.value) => first = Some(tensor),
            // Every one that follows has the same cause.
            Some(_) if reported => {}
            Some(before) if !optional(&tensor.optional) && !tensor.optional.is_malformed() => {
                reported = true;
                findings
                    .report(
                        &codes::REQUIRED_AFTER_OPTIONAL,
                        tensor.name.range,
                        &*tensor.path,
                        &*tensor.name.value,
                        format!(
                            "`{}` is required and follows `{}`, which is optional",
                            tensor.name.value, before.name.value
                        ),
                    )
                    .help(format!("move `{}` before `{}`", tensor.name.value, before.name.value))
                    .related(before.name.range, format!("`{}` is declared here", before.name.value));
            }
            _ => {}
        }
    }
}

fn judge_write_only(tensor: &TensorSheet, findings: &mut Findings) {
    let facts = &tensor.facts;
    let written = matches!(facts.mutated, Fact::Valid(Condition::Always(true), _))
        || facts.mutated.is_malformed()
        || matches!(&tensor.mutated, When::Condition(item) if item.faulty);
    if facts.write_only.valid() != Some(&true) || written {
        return;
    }
    let how = match &facts.mutated {
        Fact::Valid(Condition::When(_), _) => "is mutated under a condition only",
        _ => "is not mutated",
    };
    findings
        .report(
            &codes::TENSOR_EFFECT,
            facts.write_only.range(),
            format!("{}.write_only", facts.path),
            &*facts.name.value,
            format!("`{}` is `write_only` and {how}", facts.name.value),
        )
        .help("a `write_only` input is one that every call overwrites: write `mutated: true` beside it");
}

/// `alias` names an input that can be written, and stands without `buffer`.
fn judge_aliases(sheet: &Sheet, signature: &Signature, findings: &mut Findings) {
    let inputs = signature.inputs.items();
    let mut aliased: Vec<(&str, TextRange)> = Vec::new();
    for tensor in &sheet.tensors {
        let facts = &tensor.facts;
        let Some(alias) = facts.alias.valid() else { continue };
        let name = &alias.value;
        let path = format!("{}.alias", facts.path);
        if facts.buffer.valid().is_some() {
            findings
                .report(
                    &codes::TENSOR_EFFECT,
                    facts.buffer.range(),
                    format!("{}.buffer", facts.path),
                    &*facts.name.value,
                    format!("`{}` is the storage of `{name}` and takes no buffer of its own", facts.name.value),
                )
                .help("remove `buffer`, or `alias`")
                .related(alias.range, "it is an alias here");
        }
        let Some(input) = inputs.iter().find(|t| t.name.value == *name) else {
            if signature.inputs.is_malformed() {
                findings.unreached(alias.range, path, format!("what `{name}` is"), "signature.inputs");
                continue;
            }
            let written = inputs.iter().filter(|t| is_written(&t.mutated)).map(|t| &*t.name.value);
            let mut allowed = nearest_first(name, written);
            let help = if allowed.is_empty() {
                allowed = nearest_first(name, inputs.iter().map(|t| &*t.name.value));
                format!(
                    "an alias names an input with `mutated`; the inputs are {}, and none is mutated",
                    list(&allowed, "and")
                )
            } else {
                format!("the inputs that the call writes are {}", list(&allowed, "and"))
            };
            let what = match sheet.sym(name) {
                Some(_) => format!("`{name}` is no input"),
                None => format!("`{name}` is not declared"),
            };
            let code = if sheet.sym(name).is_some() { &codes::TENSOR_EFFECT } else { &codes::UNKNOWN_NAME };
            findings
                .report(
                    code,
                    alias.range,
                    path,
                    &**name,
                    format!("{what}, and `{}` cannot be its alias", facts.name.value),
                )
                .help(help)
                .meant(nearest(name, allowed.iter().copied()));
            continue;
        };
        if !is_written(&input.mutated) && !input.mutated.is_malformed() {
            findings
                .report(
                    &codes::TENSOR_EFFECT,
                    alias.range,
                    path,
                    &**name,
                    format!("`{}` is an alias of `{name}`, which no call writes", facts.name.value),
                )
                .help(format!("write `mutated: true` at `{name}`, or remove `alias`"))
                .related(input.name.range, format!("`{name}` is declared here"));
        } else if let Some((_, first)) = aliased.iter().find(|(n, _)| *n == &**name) {
            findings
                .report(
                    &codes::TENSOR_EFFECT,
                    alias.range,
                    path,
                    &**name,
                    format!("two outputs are aliases of `{name}`"),
                )
                .help("one storage is one output")
                .related(*first, "the other one is here");
        }
        aliased.push((name, alias.range));
    }
}

fn is_written(mutated: &Fact<Condition>) -> bool {
    matches!(mutated, Fact::Valid(Condition::Always(true) | Condition::When(_), _))
}

fn judge_buffers(signature: &Signature, findings: &mut Findings) {
    let mut buffered = signature.outputs.items().iter().filter(|t| t.buffer.valid().is_some());
    let Some(first) = buffered.next() else { return };
    for other in buffered {
        findings
            .report(
                &codes::TENSOR_EFFECT,
                other.buffer.range(),
                format!("{}.buffer", other.path),
                &*other.name.value,
                format!("`{}` and `{}` both take `out`", first.name.value, other.name.value),
            )
            .help("`out` is one buffer: one output of an entry takes it")
            .related(first.buffer.range(), format!("`{}` takes it here", first.name.value));
    }
}

/// At a point where an aliased input is written, its alias has its shape and its dtype.
pub(crate) fn faults(sheet: &Sheet, view: &View, into: &mut Vec<Fault>) {
    for (t, tensor) in sheet.tensors.iter().enumerate() {
        let branch = &view.branch.tensors[t];
        let Some(alias) = tensor.facts.alias.valid().filter(|_| branch.present == Some(true)) else { continue };
        let Some(other) =
            sheet.tensors.iter().position(|o| o.facts.role == TensorRole::Input && o.facts.name.value == alias.value)
        else {
            continue;
        };
        let input = &view.branch.tensors[other];
        if input.present != Some(true) || input.mutated != Some(true) {
            continue;
        }
        let (name, alias_name) = (&tensor.facts.name.value, &alias.value);
        let mut disagree = |key: &str, range: TextRange, here: String, there: String, theirs: TextRange| {
            into.push(Fault {
                code: &codes::TENSOR_EFFECT,
                range,
                path: format!("{}.{key}", tensor.facts.path),
                subject: name.to_string(),
                message: format!(
                    "`{name}` is the storage of `{alias_name}`, but its {key} is `{here}` and not `{there}`"
                ),
                help: Some(format!("an alias has the {key} of its input: write `{there}`")),
                related: vec![(theirs, format!("`{alias_name}` is declared here"))],
            });
        };
        if let (Some(a), Some(b)) = (&view.items[t], &view.items[other]) {
            let same = a.len() == b.len()
                && a.iter().zip(b.iter()).all(|(a, b)| a.splice == b.splice && same(&a.item.expr, &b.item.expr));
            let broken = a.iter().chain(b.iter()).any(|axis| axis.item.faulty);
            if !same && !broken {
                let (here, there) = (show_axes(a), show_axes(b));
                disagree("shape", tensor.facts.shape.range(), here, there, sheet.tensors[other].facts.shape.range());
            }
        }
        if let (Some(a), Some(b)) = (&view.dtypes[t], &view.dtypes[other])
            && !same(&a.expr, &b.expr)
            && !a.faulty
            && !b.faulty
        {
            let (here, there) = (a.expr.to_string(), b.expr.to_string());
            disagree("dtype", tensor.facts.dtype.range(), here, there, sheet.tensors[other].facts.dtype.range());
        }
    }
}

/// Whether two trees are the same but for where they stand.
fn same(a: &Expr, b: &Expr) -> bool {
    a.to_string() == b.to_string()
}

/// Axes as a message shows them.
pub(crate) fn show_axes(items: &[AxisItem]) -> String {
    let axes: Vec<String> = items.iter().map(show_axis).collect();
    format!("[{}]", axes.join(", "))
}

/// One axis, or one splice.
pub(crate) fn show_axis(axis: &AxisItem) -> String {
    format!("{}{}", if axis.splice { "*" } else { "" }, axis.item.expr)
}
