//! Whether a call determines every index.

use super::sheet::{Bits, Sheet, Sym};
use super::signature::Fault;
use super::view::View;
use crate::defect::{Findings, codes, list};
use crate::lang::Kind;
use crate::model::Signature;

/// What reads an index at a point.
#[derive(Debug, Default)]
struct Readers {
    /// In the shape or the dtype of a tensor passed in: its name and the item as a message shows it.
    passed: Vec<(String, String)>,
    /// Outputs.
    outputs: Vec<String>,
    /// Anything else: refinements, generators, predicates, the roofline.
    others: Vec<&'static str>,
}

/// Indices that the point's plan does not solve.
pub(crate) fn faults(sheet: &Sheet, view: &View, into: &mut Vec<Fault>, findings: &mut Findings) {
    for index in &view.branch.plan.unsolved {
        let Some(sym) = sheet.sym(index) else { continue };
        let symbol = &sheet.symbols[sym];
        let path = format!("signature.forall.{index}");
        if view.unsolvable || !view.sure.contains(sym) {
            findings.unreached(symbol.range, path, format!("what solves `{index}`"), "the shape or dtype of a tensor");
            continue;
        }
        let readers = readers(sheet, view, sym);
        let form = match symbol.kind {
            Kind::Shape => format!("an input whose shape has `*{index}` as its only splice of unknown length"),
            Kind::DType(_) => format!("an input whose dtype is `{index}`"),
            _ => format!("an axis of an input that is `{index}`, or `a * {index} + e` with a positive literal `a`"),
        };
        let (message, help) = if let Some((tensor, item)) = readers.passed.first() {
            let message = format!("no input solves `{index}`, which `{tensor}` reads in `{item}`");
            (message, format!("{form} would solve it; or make it a parameter"))
        } else if !readers.outputs.is_empty() && readers.others.is_empty() {
            let outputs = list(&readers.outputs, "and");
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
        let (range, subject) = (symbol.range, index.to_string());
        into.push(Fault {
            code: &codes::UNSOLVED_INDEX,
            range,
            path,
            subject,
            message,
            help: Some(help),
            related: Vec::new(),
        });
    }
}

fn readers(sheet: &Sheet, view: &View, index: Sym) -> Readers {
    // The index, and the `let`s that pass it on.
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
            break;
        }
    }
    let reads = |syms: &[Sym]| syms.iter().any(|&sym| names.contains(sym));
    let mut readers = Readers::default();
    for (t, tensor) in sheet.tensors.iter().enumerate() {
        let branch = &view.branch.tensors[t];
        if branch.present == Some(false) {
            continue;
        }
        let mut items: Vec<String> = view.items[t]
            .iter()
            .flat_map(|items| items.iter())
            .filter(|axis| reads(&axis.item.syms))
            .map(|axis| format!("{}{}", if axis.splice { "*" } else { "" }, axis.item.expr))
            .collect();
        items.extend(view.dtypes[t].iter().filter(|item| reads(&item.syms)).map(|item| item.expr.to_string()));
        let name = branch.name.to_string();
        match items.into_iter().next() {
            Some(item) if tensor.is_passed() => readers.passed.push((name, item)),
            Some(_) => readers.outputs.push(name),
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
        findings
            .report(&codes::UNUSED_INDEX, symbol.range, path, &**name, message)
            .help(format!("use `{name}` in the shape or the dtype of an input, or remove it from `forall`"));
        unused.push(name.clone());
    }
    unused
}
