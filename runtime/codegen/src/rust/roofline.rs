//! `eval_roofline`: plain arithmetic over the last completed call.

use std::collections::BTreeSet;

use tileops_analyzer::analysis::EntryAnalysis;
use tileops_analyzer::check::{Point, SymbolRole};
use tileops_analyzer::eval::free_names;
use tileops_analyzer::expr::Expr;
use tileops_analyzer::roofline::{Bytes, RooflineBody, RooflinePlan, Term};

use super::check::narrowed;
use super::expr::{Before, Place, Printer, Ty, checked, type_of};
use super::names::Names;
use super::stmt::{Stmt, bind, free_in, read_by, string};
use super::tree::{Arms, branches, settle};
use crate::layout::Doc;

/// The bodies of `eval_roofline` and of `emitted_read_bytes`, if there is one.
pub(super) struct Roofline {
    pub(super) price: Vec<Stmt>,
    pub(super) reads: Option<Vec<Stmt>>,
}

pub(super) fn roofline(analysis: &EntryAnalysis, names: &Names) -> Result<Roofline, String> {
    let Some(plan) = &analysis.plan else { return Err("its roofline has no plan".to_owned()) };
    let before = Before::default();
    let printer =
        Printer { scope: &analysis.scope, names, place: Place::Price, narrowed: &[], fields: None, before: &before };
    if let [(_, RooflineBody::Func(path))] = plan.arms.as_slice() {
        let name = path.rsplit('.').next().unwrap_or(path);
        return Ok(Roofline {
            price: vec![
                Stmt::line(format!("let cost = formulas::{name}(self.completed_call()?)?;")),
                Stmt::line("Roofline::of(Self::ENTRY.0, cost.flops, cost.bytes())"),
            ],
            reads: Some(vec![Stmt::line(format!("Ok(Some(formulas::{name}(call)?.read))"))]),
        });
    }
    let (mut arms, mut reads): (Arms, Arms) = (Vec::new(), Vec::new());
    let mut derived = true;
    for (point, body) in &plan.arms {
        let RooflineBody::Inline { flops, bytes } = body else {
            return Err("its roofline is a function at some points only".to_owned());
        };
        let present = narrowed(point);
        let printer = Printer { narrowed: &present, ..printer };
        let mut statements = read(analysis, &printer, flops, &[]);
        let amount = |name: &str, formula: &Expr, statements: &mut Vec<Stmt>| -> Result<(), String> {
            before.start(&format!("roofline.{name}"));
            let code = checked(printer.number(formula)?);
            statements.extend(before.take());
            bind(statements, name, code.doc, |local| before.made(local));
            Ok(())
        };
        amount("flops", flops, &mut statements)?;
        match bytes {
            Bytes::Formula(formula) => {
                derived = false;
                let read = read(analysis, &printer, formula, &statements);
                statements.extend(read);
                amount("bytes", formula, &mut statements)?;
            }
            Bytes::Derived(terms) => {
                let mut read = sum("read", terms, plan, |term| term.reads);
                read.push(Stmt::line("Ok(Some(read))"));
                reads.push((point.clone(), read));
                statements.extend(sum("bytes", terms, plan, |term| term.reads + term.writes));
            }
        }
        statements.push(Stmt::line("Roofline::of(Self::ENTRY.0, flops, bytes)"));
        arms.push((point.clone(), statements));
    }
    if arms.is_empty() {
        return Err("its roofline has no branch".to_owned());
    }
    let price = method(analysis, &printer, arms, true)?;
    let reads = if derived { Some(method(analysis, &printer, reads, false)?) } else { None };
    Ok(Roofline { price, reads })
}

/// The statements of a method; `completes` says that it asks for the call itself.
fn method(analysis: &EntryAnalysis, printer: &Printer<'_>, arms: Arms, completes: bool) -> Result<Vec<Stmt>, String> {
    let points: Vec<Point> = arms.iter().map(|(point, _)| point.clone()).collect();
    let body = settle(branches(arms, printer, true, &BTreeSet::new())?);
    let read = read_by(&body);
    let mut statements = Vec::new();
    // What the conditions read.
    for symbol in analysis.scope.iter().filter(|symbol| symbol.role == SymbolRole::Param) {
        let own = printer.names.get(&symbol.name);
        let decides = points.iter().any(|point| point.assignments.iter().any(|(name, _)| *name == symbol.name));
        if decides && free_in(&body).contains(&own) {
            statements.extend(getter(printer, &symbol.name));
        }
    }
    statements.extend(body);
    if completes {
        let read_call = read_by(&statements).contains("call");
        let completed = Doc::text("self.completed_call()?");
        statements
            .insert(0, if read_call { Stmt::bind("call", completed) } else { Stmt::line("self.completed_call()?;") });
    }
    if read.contains("op") {
        statements.insert(0, Stmt::bind("op", Doc::text("Self::ENTRY")));
    }
    Ok(statements)
}

/// Reads what a formula reads of the call, and the statements have not.
fn read(analysis: &EntryAnalysis, printer: &Printer<'_>, formula: &Expr, before: &[Stmt]) -> Vec<Stmt> {
    let names = free_names(formula);
    let symbols = analysis.scope.iter().filter(|symbol| {
        matches!(symbol.role, SymbolRole::Index | SymbolRole::Let | SymbolRole::Param) && names.contains(&symbol.name)
    });
    symbols.filter_map(|symbol| getter(printer, &symbol.name)).filter(|getter| !before.contains(getter)).collect()
}

/// `let name = call.kind("name")?;`
fn getter(printer: &Printer<'_>, name: &str) -> Option<Stmt> {
    let symbol = printer.scope.get(name)?;
    let kind = match &symbol.kind {
        tileops_analyzer::lang::Kind::Maybe(inner) if printer.narrowed.contains(&symbol.name) => inner,
        kind => kind,
    };
    let method = match type_of(kind, Place::Price, true) {
        Ty::Plain | Ty::Int => "int",
        Ty::Bool => "bool",
        Ty::Float => "float",
        Ty::Str => "str",
        Ty::DType => "dtype",
        Ty::Ints(_) => "shape",
        Ty::Variant => "variant",
        Ty::Value | Ty::Opt(_) => "value",
    };
    Some(Stmt::bind(&printer.names.get(name), Doc::text(format!("call.{method}({})?", string(name)))))
}

/// `name` is the sizes of tensors, each as often as `times` says: those that count alike at every point, then the others.
fn sum(name: &str, terms: &[Term], plan: &RooflinePlan, times: impl Fn(&Term) -> u32) -> Vec<Stmt> {
    let always = |term: &Term| {
        plan.arms.iter().all(|(_, body)| match body {
            RooflineBody::Inline { bytes: Bytes::Derived(others), .. } => {
                others.iter().any(|other| other.tensor == term.tensor && times(other) == times(term))
            }
            _ => false,
        })
    };
    let size = |term: &Term| match times(term) {
        1 => format!("call.bytes({})?", string(&term.tensor)),
        times => format!("{times} * call.bytes({})?", string(&term.tensor)),
    };
    let counted = || terms.iter().filter(|term| times(term) > 0);
    let mut docs: Vec<Doc> = Vec::new();
    for term in counted().filter(|term| always(term)) {
        docs.push(match docs.is_empty() {
            true => Doc::text(size(term)),
            false => Doc::Indent(vec![Doc::Space, Doc::text("+ "), Doc::text(size(term))]),
        });
    }
    let first = if docs.is_empty() { Doc::text("int(0)") } else { Doc::Group(docs) };
    let mut statements = vec![Stmt::bind(name, first)];
    statements.extend(
        counted()
            .filter(|term| !always(term))
            .map(|term| Stmt::bind(name, Doc::text(format!("{name} + {}", size(term))))),
    );
    statements
}
