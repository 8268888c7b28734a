//! `eval_roofline`: plain arithmetic over the last completed call.

use tileops_analyzer::analysis::EntryAnalysis;
use tileops_analyzer::check::SymbolRole;
use tileops_analyzer::eval::free_names;
use tileops_analyzer::roofline::{Bytes, RooflineBody, Term};

use super::declared;
use super::expr::{Place, Printer, identifier, string};
use super::outline::{joined, spread};
use super::stmt::Stmt;
use super::tree::{Arms, branches};
use crate::layout::Doc;
use crate::shared::can_fail;

pub(super) fn method(analysis: &EntryAnalysis) -> Result<Vec<Stmt>, String> {
    let Some(plan) = &analysis.plan else { return Err("its roofline has no plan".to_owned()) };
    let printer = Printer { scope: &analysis.scope, place: Place::Price, fields: None };
    let mut arms: Arms = Vec::new();
    let mut used = false;
    for (point, body) in &plan.arms {
        let statements = match body {
            RooflineBody::Func(path) => {
                let (module, name) = path.rsplit_once('.').ok_or_else(|| format!("`{path}` names no module"))?;
                vec![
                    Stmt::line(format!("from {module} import {name}")),
                    Stmt::line(String::new()),
                    Stmt::line(format!("return {name}(self.completed_call())")),
                ]
            }
            RooflineBody::Inline { flops, bytes } => {
                used = true;
                let mut read = free_names(flops);
                if let Bytes::Formula(formula) = bytes {
                    read.extend(free_names(formula));
                }
                let mut statements: Vec<Stmt> = analysis
                    .scope
                    .iter()
                    .filter(|symbol| {
                        matches!(symbol.role, SymbolRole::Index | SymbolRole::Let) && read.contains(&symbol.name)
                    })
                    .map(|symbol| {
                        Stmt::line(format!("{} = call.indices[{}]", identifier(&symbol.name), string(&symbol.name)))
                    })
                    .collect();
                let assign = |name: &str, path: &str, formula| {
                    let statement = Stmt::Simple(printer.statement(&format!("{name} = "), formula));
                    declared(path, statement, can_fail(formula))
                };
                statements.push(assign("flops", "roofline.flops", flops));
                statements.push(match bytes {
                    Bytes::Formula(formula) => assign("moved", "roofline.bytes", formula),
                    Bytes::Derived(terms) => {
                        let moved = |term: &Term| {
                            let size = Doc::list("call.bytes(", vec![Doc::text(string(&term.tensor))], ")");
                            match term.reads + term.writes {
                                0 => None,
                                1 => Some(size),
                                times => Some(Doc::Cat(vec![Doc::text(format!("{times} * ")), size])),
                            }
                        };
                        let mut sizes: Vec<Doc> = terms.iter().filter_map(moved).collect();
                        if sizes.is_empty() {
                            sizes.push(Doc::text("0"));
                        }
                        Stmt::Simple(spread("moved = ", joined(sizes, "+"), ""))
                    }
                });
                statements
            }
        };
        arms.push((point.clone(), statements));
    }
    if arms.is_empty() {
        return Err("its roofline has no branch".to_owned());
    }
    let mut body = vec![Stmt::line("\"\"\"The FLOPs and the bytes of the last call.\"\"\"")];
    if used {
        body.push(Stmt::line("call = self.completed_call()"));
    }
    body.extend(branches(arms, printer));
    if used {
        body.push(Stmt::line("return flops, moved"));
    }
    Ok(vec![Stmt::Block(Doc::text("def eval_roofline(self) -> tuple[int, int]:"), body)])
}
