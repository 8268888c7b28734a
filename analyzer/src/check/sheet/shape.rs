//! Shapes made ready: applications of families expanded and judged.

use std::sync::Arc;

use super::{Application, AxisItem, Bits, Item, ShapeSheet, Sheet};
use crate::check::{facts, families};
use crate::defect::{Findings, codes};
use crate::expr::{Axis, Expr, Ident, Shape, ShapeKind};
use crate::lang::Kind;
use crate::model::Pattern;

impl Sheet {
    fn axes(&self, axes: &[Axis]) -> ShapeSheet {
        let items: Arc<[AxisItem]> = axes
            .iter()
            .map(|axis| match axis {
                Axis::One(expr) => AxisItem { splice: false, item: self.item(expr) },
                Axis::Splice(expr) => AxisItem { splice: true, item: self.item(expr) },
            })
            .collect();
        let varies = items.iter().any(|axis| axis.item.varies());
        ShapeSheet::Axes { items, axes: axes.into(), varies }
    }

    /// How many families may be applied inside each other.
    const MAX_NESTING: usize = 32;

    pub(super) fn shape(
        &mut self,
        shape: &Shape,
        path: &str,
        depth: usize,
        budget: &mut usize,
        findings: &mut Findings,
    ) -> ShapeSheet {
        let (name, arguments) = match &shape.kind {
            ShapeKind::Axes(axes) => return self.axes(axes),
            ShapeKind::Error(_) => return ShapeSheet::Broken,
            ShapeKind::Family(name, arguments) => (name, arguments),
        };
        if depth == 0
            && let Some((position, _)) = self.families.find(&name.value)
        {
            self.applied[position] = true;
        }
        let families = std::mem::take(&mut self.families);
        // An application inside a case is judged with the case; here it is expanded only.
        let mut silent = Findings::default();
        let judged = {
            let into = if depth == 0 { &mut *findings } else { &mut silent };
            families::judge_application(&families, name, arguments, path, into)
        };
        let expanded = judged.and_then(|(position, family)| {
            let scrutinees: Vec<Item> =
                family.scrutinees.iter().filter_map(|&s| arguments.get(s)).map(|arg| self.item(arg)).collect();
            if !self.judge_scrutinees(family, &scrutinees, name, path, findings) || depth >= Self::MAX_NESTING {
                return None;
            }
            let cases: Option<Vec<(Vec<Pattern>, Shape)>> = family
                .cases
                .iter()
                .map(|case| {
                    let shape = families::substitute_shape(&case.shape, &family.formals, arguments, budget)?;
                    Some((case.patterns.clone(), shape))
                })
                .collect();
            if cases.is_none() {
                findings
                    .report(
                        &codes::FAMILY_APPLICATION,
                        name.range,
                        path,
                        &*name.value,
                        format!("`{}` with its arguments put in grows too large", name.value),
                    )
                    .help("name the large arguments in `let`");
            }
            Some((position, scrutinees, cases?))
        });
        self.families = families;
        let Some((family, scrutinees, cases)) = expanded else { return ShapeSheet::Broken };
        let cases = cases
            .into_iter()
            .map(|(patterns, shape)| (patterns, self.shape(&shape, path, depth + 1, budget, findings)))
            .collect();
        ShapeSheet::Family(Box::new(Application { family, scrutinees, cases }))
    }

    /// Whether the points decide every scrutinee of an application; one that they do not is a defect.
    fn judge_scrutinees(
        &self,
        family: &families::FamilyFacts,
        scrutinees: &[Item],
        name: &Ident,
        path: &str,
        findings: &mut Findings,
    ) -> bool {
        let mut decided = true;
        for (&position, item) in family.scrutinees.iter().zip(scrutinees) {
            let Some((formal, kind)) = family.formals.get(position) else { continue };
            if item.faulty {
                decided = false;
                continue;
            }
            let names_adt = facts::without_value(&item.expr).as_name().and_then(|n| self.sym(n)).is_some_and(|sym| {
                match &self.symbols[sym].kind {
                    Kind::Adt(..) => true,
                    Kind::Maybe(inner) => matches!(**inner, Kind::Adt(..)),
                    _ => false,
                }
            });
            let fits = match kind {
                Kind::Adt(..) => names_adt,
                _ => !item.open,
            };
            if fits {
                continue;
            }
            decided = false;
            // An argument of the wrong kind is a defect of its own kind, judged where kinds are.
            let wrong_kind = matches!(kind, Kind::Adt(..)) || names_adt || self.is_plain_misfit(&item.expr, kind);
            if wrong_kind {
                continue;
            }
            findings
                .report(
                    &codes::FAMILY_APPLICATION,
                    item.expr.range,
                    path,
                    &*name.value,
                    format!(
                        "`{}` matches on `{}`, which no discriminant decides here: `{}`",
                        name.value, formal.value, item.expr
                    ),
                )
                .help("pass a Boolean or an enum parameter, `present(…)`, or a condition over them")
                .related(family.name.range, format!("`{}` is declared here", name.value));
        }
        decided
    }

    /// Whether the argument is a bare name whose kind cannot be the formal's.
    fn is_plain_misfit(&self, expr: &Expr, formal: &Kind) -> bool {
        let Some(symbol) = expr.as_name().and_then(|n| self.sym(n)).map(|sym| &self.symbols[sym]) else { return false };
        match formal {
            Kind::Bool => !matches!(symbol.kind, Kind::Bool),
            _ => !matches!(symbol.kind, Kind::Enum(_)),
        }
    }
}

impl ShapeSheet {
    pub(crate) fn add_vars(&self, vars: &mut Bits) {
        match self {
            ShapeSheet::Axes { items, .. } => items.iter().for_each(|axis| vars.union(&axis.item.vars)),
            ShapeSheet::Family(application) => {
                application.scrutinees.iter().for_each(|item| vars.union(&item.vars));
                application.cases.iter().for_each(|(_, shape)| shape.add_vars(vars));
            }
            ShapeSheet::Broken => {}
        }
    }

    /// The symbols that it reads in any case.
    pub(crate) fn add_syms(&self, syms: &mut Bits) {
        match self {
            ShapeSheet::Axes { items, .. } => items.iter().for_each(|axis| syms.extend(&axis.item.syms)),
            ShapeSheet::Family(application) => application.cases.iter().for_each(|(_, shape)| shape.add_syms(syms)),
            ShapeSheet::Broken => {}
        }
    }

    pub(super) fn is_unread(&self) -> bool {
        match self {
            ShapeSheet::Axes { .. } => false,
            ShapeSheet::Family(application) => application.cases.iter().any(|(_, shape)| shape.is_unread()),
            ShapeSheet::Broken => true,
        }
    }
}
