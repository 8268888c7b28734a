//! Whether a call determines every index.

use super::effects::{show_axes, show_axis};
use super::sheet::{AxisItem, Bits, Sheet, Sym};
use super::signature::Fault;
use super::view::View;
use crate::defect::{Findings, codes, list};
use crate::lang::Kind;
use crate::model::Signature;
use crate::text::TextRange;

/// What reads an index at a point.
#[derive(Debug, Default)]
struct Readers {
    /// In the shape or the dtype of a tensor passed in.
    passed: Vec<PassedRead>,
    /// Outputs.
    outputs: Vec<(String, TextRange)>,
    /// Anything else: refinements, generators, predicates, the roofline.
    others: Vec<&'static str>,
}

/// A read of an index in the shape or the dtype of a tensor passed in.
#[derive(Debug)]
struct PassedRead {
    /// The tensor's name.
    tensor: String,
    /// The item as a message shows it.
    item: String,
    /// Where the shape or the dtype stands.
    range: TextRange,
}

/// Indices that the point's plan does not solve.
pub(crate) fn faults(sheet: &Sheet, view: &View, into: &mut Vec<Fault>, findings: &mut Findings) {
    let mut unsolved: Vec<Sym> = Vec::new();
    for index in &view.branch.plan.unsolved {
        let Some(sym) = sheet.sym(index) else { continue };
        if view.unsolvable || !view.sure.contains(sym) {
            let path = format!("signature.forall.{index}");
            let missing = "the shape or dtype of a tensor";
            findings.unreached(sheet.symbols[sym].range, path, format!("what solves `{index}`"), missing);
            continue;
        }
        unsolved.push(sym);
    }
    let mut done = Bits::default();
    for knot in knots(sheet, view, &unsolved) {
        done.extend(&knot.indices);
        into.push(knot_fault(sheet, &knot));
    }
    for sym in unsolved.into_iter().filter(|&sym| !done.contains(sym)) {
        into.push(unsolved_fault(sheet, view, sym));
    }
}

/// What a message says of an index of the kind: an input that would solve it.
fn solver(index: &str, kind: &Kind) -> String {
    match kind {
        Kind::Shape => format!("an input whose shape has `*{index}` as its only splice of unknown length"),
        Kind::DType(_) => format!("an input whose dtype is `{index}`"),
        _ => format!("an axis of an input that is `{index}`, or `a * {index} + e` with a positive literal `a`"),
    }
}

fn unsolved_fault(sheet: &Sheet, view: &View, sym: Sym) -> Fault {
    let symbol = &sheet.symbols[sym];
    let index = &symbol.name;
    let readers = readers(sheet, view, sym);
    let form = solver(index, &symbol.kind);
    let mut related = Vec::new();
    let (message, help) = if let Some(PassedRead { tensor, item, range }) = readers.passed.first() {
        related.push((*range, format!("`{tensor}` reads it here")));
        let message = format!("no input solves `{index}`, which `{tensor}` reads in `{item}`");
        (message, format!("{form} would solve it; or make it a parameter"))
    } else if !readers.outputs.is_empty() && readers.others.is_empty() {
        related.extend(readers.outputs.iter().map(|(output, range)| (*range, format!("`{output}` reads it here"))));
        let outputs = list(readers.outputs.iter().map(|(output, _)| output), "and");
        (
            format!("only outputs read `{index}` ({outputs}), so no call says what it is"),
            format!("make it a parameter, or a `let`; or use it in an input: {form} would solve it"),
        )
    } else {
        let mut what: Vec<&str> = readers.others.clone();
        what.dedup();
        (
            format!("no input solves `{index}`, which {} reads", what.first().unwrap_or(&"the signature")),
            format!("{form} would solve it; or make it a parameter"),
        )
    };
    Fault {
        code: &codes::UNSOLVED_INDEX,
        range: symbol.range,
        path: format!("signature.forall.{index}"),
        subject: index.to_string(),
        message,
        help: Some(help),
        related,
    }
}

/// Indices that stand in each other's way: one mistake.
struct Knot {
    indices: Vec<Sym>,
    tensor: String,
    /// The item, or the items from the first splice to the last.
    text: String,
    splices: bool,
    range: TextRange,
}

/// The unsolved indices that one shape reads in one item, or at and between splices none of which has a known length.
fn knots(sheet: &Sheet, view: &View, unsolved: &[Sym]) -> Vec<Knot> {
    let mut found = Vec::new();
    let mut tied = Bits::default();
    let names: Vec<Bits> = unsolved.iter().map(|&sym| passed_on(sheet, view, sym)).collect();
    for (t, tensor) in sheet.tensors.iter().enumerate().filter(|(_, tensor)| tensor.is_passed()) {
        let Some(items) = view.items[t].as_ref().filter(|_| view.branch.tensors[t].present != Some(false)) else {
            continue;
        };
        let read_by = |item: &AxisItem| -> Vec<Sym> {
            let reads = |names: &Bits| item.item.syms.iter().any(|&sym| names.contains(sym));
            unsolved.iter().zip(&names).filter(|(_, names)| reads(names)).map(|(&sym, _)| sym).collect()
        };
        let reads: Vec<Vec<Sym>> = items.iter().map(read_by).collect();
        let mut open = (0..items.len()).filter(|&at| items[at].splice && !reads[at].is_empty());
        let spans = match (open.next(), open.next_back()) {
            (Some(first), Some(last)) => vec![(first, last, true)],
            _ => (0..items.len()).map(|at| (at, at, false)).collect(),
        };
        for (first, last, splices) in spans {
            let mut indices: Vec<Sym> = reads[first..=last].concat();
            indices.sort_unstable();
            indices.dedup();
            indices.retain(|&sym| !tied.contains(sym));
            if indices.len() < 2 {
                continue;
            }
            tied.extend(&indices);
            let text = if splices { show_axes(items) } else { items[first].item.expr.to_string() };
            let (tensor, range) = (tensor.facts.name.value.to_string(), tensor.facts.shape.range());
            found.push(Knot { indices, tensor, text, splices, range });
        }
    }
    found
}

fn knot_fault(sheet: &Sheet, knot: &Knot) -> Fault {
    let names: Vec<&str> = knot.indices.iter().map(|&sym| &*sheet.symbols[sym].name).collect();
    let Knot { tensor, text, .. } = knot;
    let all = list(&names, "and");
    let (message, help) = match knot.splices {
        true => (
            format!("no input solves {all}: `{tensor}` has more than one splice of unknown length in `{text}`"),
            "one splice of a shape can be solved from it: another input can solve the others, or make them parameters",
        ),
        false => (
            format!("no input solves {all}, which `{tensor}` reads together in `{text}`"),
            "an axis solves one index: another input can solve the others, or make them parameters",
        ),
    };
    // An entry has an index for each.
    let first = knot.indices.first().map(|&sym| &sheet.symbols[sym]);
    let range = first.map_or(knot.range, |symbol| symbol.range);
    let mut related = vec![(knot.range, format!("`{tensor}` reads them here"))];
    for &sym in knot.indices.iter().skip(1) {
        let symbol = &sheet.symbols[sym];
        related.push((symbol.range, format!("`{}` is declared here", symbol.name)));
    }
    Fault {
        code: &codes::UNSOLVED_INDEX,
        range,
        path: format!("signature.forall.{}", names.first().unwrap_or(&"")),
        subject: names.join(", "),
        message,
        help: Some(help.to_owned()),
        related,
    }
}

/// The index, and the `let`s that pass it on.
fn passed_on(sheet: &Sheet, view: &View, index: Sym) -> Bits {
    let mut names = Bits::default();
    names.insert(index);
    loop {
        let mut changed = false;
        for (l, item) in sheet.lets.iter().zip(&view.lets) {
            if let (Some(sym), Some(item)) = (l.sym, item)
                && item.syms.iter().any(|&s| names.contains(s))
            {
                changed |= names.insert(sym);
            }
        }
        if !changed {
            return names;
        }
    }
}

fn readers(sheet: &Sheet, view: &View, index: Sym) -> Readers {
    let names = passed_on(sheet, view, index);
    let reads = |syms: &[Sym]| syms.iter().any(|&sym| names.contains(sym));
    let mut readers = Readers::default();
    for (t, tensor) in sheet.tensors.iter().enumerate() {
        let branch = &view.branch.tensors[t];
        if branch.present == Some(false) {
            continue;
        }
        let shape = view.items[t]
            .iter()
            .flat_map(|items| items.iter())
            .find(|axis| reads(&axis.item.syms))
            .map(|axis| (show_axis(axis), tensor.facts.shape.range()));
        let dtype = view.dtypes[t].iter().find(|item| reads(&item.syms));
        let dtype = dtype.map(|item| (item.expr.to_string(), tensor.facts.dtype.range()));
        let name = branch.name.to_string();
        match shape.or(dtype) {
            Some((item, range)) if tensor.is_passed() => {
                readers.passed.push(PassedRead { tensor: name, item, range });
            }
            Some((_, range)) => readers.outputs.push((name, range)),
            None => {}
        }
        if branch.values.as_ref().is_some_and(|call| reads(&sheet.call_syms(&call.call))) {
            readers.others.push("a generator");
        }
        if branch.requires.iter().any(|call| reads(&sheet.call_syms(&call.call))) {
            readers.others.push("a predicate");
        }
    }
    if view.rules.iter().any(|item| reads(&item.syms)) {
        readers.others.push("a refinement");
    }
    if view.formulas.iter().any(|item| reads(&item.syms)) {
        readers.others.push("the roofline");
    }
    readers
}

/// Reports the indices that no point uses, and gives their names.
pub(crate) fn judge_unused(
    sheet: &Sheet,
    signature: &Signature,
    used: &Bits,
    findings: &mut Findings,
) -> Vec<std::sync::Arc<str>> {
    let mut unused = Vec::new();
    for &sym in sheet.indices.iter().filter(|&&sym| !used.contains(sym)) {
        let symbol = &sheet.symbols[sym];
        let name = &symbol.name;
        let path = format!("signature.forall.{name}");
        // Every expression reads infinity instead: the name has been refused.
        if &**name == "inf" {
            continue;
        }
        // What could not be read may use it; and a place whose family no case covers may too.
        if sheet.may_read(name) || signature.inputs.is_malformed() || signature.outputs.is_malformed() {
            findings.unreached(symbol.range, path, format!("the use of `{name}`"), "an expression of the signature");
            continue;
        }
        let mut somewhere = Bits::default();
        sheet.tensors.iter().for_each(|tensor| tensor.shape.add_syms(&mut somewhere));
        let mut note = |syms: &[Sym]| somewhere.extend(syms);
        sheet.lets.iter().filter_map(|l| l.value.as_ref()).for_each(|item| note(&item.syms));
        sheet.rules.iter().for_each(|rule| note(&rule.item.syms));
        sheet.formulas.iter().for_each(|item| note(&item.syms));
        for tensor in &sheet.tensors {
            tensor.dtype.iter().for_each(|item| note(&item.syms));
            tensor.values.iter().chain(&tensor.requires).for_each(|call| note(&call.syms));
        }
        let message = match somewhere.contains(sym) {
            true => format!("no accepted combination of discriminants uses `{name}`"),
            false => format!("nothing uses `{name}`"),
        };
        findings.report(&codes::UNUSED_INDEX, symbol.range, path, &**name, message).help(match symbol.kind {
            Kind::DType(_) => format!("use `{name}` as the dtype of an input, or remove it from `forall`"),
            Kind::Seq(..) => {
                format!("use `{name}` as the argument of a generator, or remove it from `forall`")
            }
            Kind::Shape => format!("splice `*{name}` into the shape of an input, or remove it from `forall`"),
            _ => format!("use `{name}` in the shape of an input, or remove it from `forall`"),
        });
        unused.push(name.clone());
    }
    unused
}
