//! Comparisons and Boolean operators: what they compare, and what they prove.

use std::sync::Arc;

use super::{Found, Inference, Misfit, Want, Wanted, some_of, subject_text, text_of, what};
use crate::check::guards::{
    Guards, Subject, can_equal, constructors, intersect, is_number, item_of, literals_of, members, subtract,
};
use crate::check::show::show;
use crate::check::types::union_of;
use crate::defect::{codes, nearest, nearest_first};
use crate::expr::{BoolOp, CompareOp, Expr, ExprKind};
use crate::lang::builtins::Takes;
use crate::lang::{Kind, Literals};
use crate::text::{Spanned, TextRange};

impl Inference<'_> {
    pub(super) fn bools(&mut self, operator: BoolOp, operands: &[Expr], guards: &Guards) -> Found {
        let taker = format!("`{}`", operator.as_str());
        let want = Want { takes: Wanted::Takes(Takes::Bool), taker: &taker };
        let mut here = guards.clone();
        let mut decided: Option<Guards> = None;
        let mut misfits = Vec::new();
        for operand in operands {
            let (yes, no) = self.fit(operand, want, &here, &mut misfits).branches(&here);
            let (goes_on, decides) = match operator {
                BoolOp::And => (yes, no),
                BoolOp::Or => (no, yes),
            };
            decided = Some(match decided {
                Some(before) => before.or(&decides),
                None => decides,
            });
            here = goes_on;
        }
        self.report_misfits(&misfits, want);
        let decided = decided.unwrap_or_else(|| guards.clone());
        match operator {
            BoolOp::And => Found::bool(here, decided),
            BoolOp::Or => Found::bool(decided, here),
        }
    }

    pub(super) fn compare(&mut self, first: &Expr, rest: &[(Spanned<CompareOp>, Expr)], guards: &Guards) -> Found {
        let mut yes = guards.clone();
        let mut no = guards.clone();
        let mut left_expr = first;
        let mut left = self.infer(first, guards);
        // Operands of `<` and its like that are no numbers: in a chain too, they are one mistake.
        let mut unordered: Vec<Misfit<'_>> = Vec::new();
        let mut taker = String::new();
        for (operator, right_expr) in rest {
            let right = self.infer(right_expr, guards);
            if matches!(operator.value, CompareOp::Lt | CompareOp::Le | CompareOp::Gt | CompareOp::Ge) {
                for (expr, found) in [(left_expr, &left), (right_expr, &right)] {
                    if !is_number(&found.kind) && unordered.last().is_none_or(|last| last.expr.range != expr.range) {
                        unordered.push(Misfit { expr, kind: found.kind.clone() });
                    }
                }
                if taker.is_empty() {
                    taker = format!("`{}`", operator.value.as_str());
                }
            } else {
                self.judge_comparison(operator.value, operator.range, (left_expr, &left), (right_expr, &right));
            }
            let (holds, fails) = narrow_by(operator.value, (left_expr, &left), (right_expr, &right), &yes);
            yes = holds;
            if rest.len() == 1 {
                no = fails;
            }
            left_expr = right_expr;
            left = right;
        }
        self.report_misfits(&unordered, Want { takes: Wanted::Takes(Takes::Number), taker: &taker });
        Found::bool(yes, no)
    }

    pub(super) fn judge_comparison(
        &mut self,
        operator: CompareOp,
        range: TextRange,
        (left_expr, left): (&Expr, &Found),
        (right_expr, right): (&Expr, &Found),
    ) {
        match operator {
            CompareOp::Eq | CompareOp::Ne => self.judge_equality(range, (left_expr, left), (right_expr, right)),
            // Judged for the whole chain.
            CompareOp::Lt | CompareOp::Le | CompareOp::Gt | CompareOp::Ge => {}
            CompareOp::In | CompareOp::NotIn => {
                if let ExprKind::Tuple(items) = &right_expr.kind {
                    for item in items {
                        // The items' own defects have been reported with the tuple.
                        let kind = self.silently(item);
                        self.judge_equality(item.range, (left_expr, left), (item, &Found::new(kind)));
                    }
                    return;
                }
                match item_of(&right.kind) {
                    Some(kind) => {
                        if !can_equal(&left.declared, &kind) {
                            self.never_equal(range, (left_expr, left), (right_expr, &Found::new(right.kind.clone())));
                        }
                    }
                    None => {
                        let taker = format!("`{}`", operator.as_str());
                        let want = Want { takes: Wanted::Takes(Takes::Seq), taker: &taker };
                        self.mismatch(right_expr, &right.kind, want);
                    }
                }
            }
        }
    }

    /// The kind of an expression that has been judged already.
    pub(super) fn silently(&mut self, expr: &Expr) -> Kind {
        match &expr.kind {
            ExprKind::Str(text) => Kind::Enum(Literals::from([text.clone()])),
            ExprKind::Int(_) => Kind::Dim,
            ExprKind::Float(_) => Kind::Float,
            ExprKind::Bool(_) => Kind::Bool,
            ExprKind::None => Kind::None,
            ExprKind::Tuple(items) => {
                let kinds: Vec<Kind> = items.iter().map(|item| self.silently(item)).collect();
                Kind::Seq(Box::new(union_of(kinds)), Some(items.len()))
            }
            // Anything else can equal whatever its sort can: the sort of the whole tuple has been judged.
            _ => Kind::Error,
        }
    }

    pub(super) fn judge_equality(
        &mut self,
        range: TextRange,
        (left_expr, left): (&Expr, &Found),
        (right_expr, right): (&Expr, &Found),
    ) {
        for ((literal_expr, _), (other_expr, other)) in
            [((left_expr, left), (right_expr, right)), ((right_expr, right), (left_expr, left))]
        {
            let ExprKind::Str(literal) = &literal_expr.kind else { continue };
            if matches!(other_expr.kind, ExprKind::Str(_)) {
                continue;
            }
            if let Some(allowed) = members(&other.declared) {
                if !allowed.contains(literal) {
                    self.no_such_member(literal, literal_expr.range, other_expr, other, &allowed);
                }
                return;
            }
        }
        if !can_equal(&left.declared, &right.declared) {
            self.never_equal(range, (left_expr, left), (right_expr, right));
        }
    }

    pub(super) fn no_such_member(
        &mut self,
        literal: &str,
        range: TextRange,
        expr: &Expr,
        found: &Found,
        allowed: &[Arc<str>],
    ) {
        let shown = show(expr);
        let message = match found.declared {
            Kind::DType(_) => format!("{shown} can never be `'{literal}'`"),
            _ => format!("{shown} has no value `'{literal}'`"),
        };
        let order: Vec<String> =
            nearest_first(literal, allowed.iter().map(|a| &**a)).iter().map(|a| format!("'{a}'")).collect();
        let order: Vec<&str> = order.iter().map(String::as_str).collect();
        let symbol = expr.as_name().filter(|_| self.formals.is_none()).and_then(|name| self.scope.get(name));
        let defect = self
            .findings
            .report(&codes::NO_SUCH_MEMBER, range, self.path, literal, message)
            .help(format!("it is {}", some_of(&order, "or")));
        defect.meant(nearest(literal, allowed.iter().map(|a| &**a)).map(|near| format!("'{near}'")));
        if let Some(symbol) = symbol {
            defect.related(symbol.range, format!("`{}` is declared here", symbol.name));
        }
    }

    pub(super) fn never_equal(
        &mut self,
        range: TextRange,
        (left_expr, left): (&Expr, &Found),
        (right_expr, right): (&Expr, &Found),
    ) {
        let message = format!(
            "{} is {} and {} is {}: they can never be equal",
            show(left_expr),
            what(left_expr, &left.declared),
            show(right_expr),
            what(right_expr, &right.declared)
        );
        let help = match (&left.declared, &right.declared) {
            (Kind::Adt(..), Kind::Enum(_)) => Some(format!("the constructor's name is `{}.kind`", text_of(left_expr))),
            (Kind::Enum(_), Kind::Adt(..)) => Some(format!("the constructor's name is `{}.kind`", text_of(right_expr))),
            (Kind::Bool, Kind::Dim | Kind::Int) | (Kind::Dim | Kind::Int, Kind::Bool) => {
                Some("a Boolean is a condition by itself".to_owned())
            }
            _ => None,
        };
        let defect = self.findings.report(&codes::NEVER_EQUAL, range, self.path, subject_text(left_expr), message);
        if let Some(help) = help {
            defect.help(help);
        }
        match (&left.declared, &right.declared) {
            (Kind::Adt(..), Kind::Enum(_)) => {
                defect.instead_of(left_expr.range, format!("{}.kind", text_of(left_expr)));
            }
            (Kind::Enum(_), Kind::Adt(..)) => {
                defect.instead_of(right_expr.range, format!("{}.kind", text_of(right_expr)));
            }
            _ => {}
        }
    }
}

/// What a comparison says of its operands where it holds and where it fails, on top of `guards`.
pub(super) fn narrow_by(
    operator: CompareOp,
    (left_expr, left): (&Expr, &Found),
    (right_expr, right): (&Expr, &Found),
    guards: &Guards,
) -> (Guards, Guards) {
    let (equal, negated) = match operator {
        CompareOp::Eq => (true, false),
        CompareOp::Ne => (true, true),
        CompareOp::In => (false, false),
        CompareOp::NotIn => (false, true),
        _ => return (guards.clone(), guards.clone()),
    };
    let mut holds = guards.clone();
    let mut fails = guards.clone();
    if equal {
        for ((_, found), (other_expr, other)) in
            [((left_expr, left), (right_expr, right)), ((right_expr, right), (left_expr, left))]
        {
            let Some(subject) = &found.subject else { continue };
            let Some(literals) = literals_of(&other.kind) else {
                // What equals something that is never absent is present.
                if let (Kind::Maybe(inner), false) = (&found.kind, may_be_none(&other.kind)) {
                    holds = holds.with(&subject.path, Some((**inner).clone()));
                }
                continue;
            };
            holds = narrow_subject(&holds, subject, &found.kind, &literals, true);
            if matches!(other_expr.kind, ExprKind::Str(_)) {
                fails = narrow_subject(&fails, subject, &found.kind, &literals, false);
            }
        }
    } else if let (Some(subject), ExprKind::Tuple(items)) = (&left.subject, &right_expr.kind) {
        let literals: Option<Literals> = items
            .iter()
            .map(|item| match &item.kind {
                ExprKind::Str(text) => Some(text.clone()),
                _ => None,
            })
            .collect();
        if let Some(literals) = literals {
            holds = narrow_subject(&holds, subject, &left.kind, &literals, true);
            fails = narrow_subject(&fails, subject, &left.kind, &literals, false);
        }
    }
    if negated { (fails, holds) } else { (holds, fails) }
}

pub(super) fn narrow_subject(
    guards: &Guards,
    subject: &Subject,
    kind: &Kind,
    literals: &Literals,
    keep: bool,
) -> Guards {
    if let Some(adt) = &subject.tag_of {
        let narrowed = constructors(guards.get(&subject.path).unwrap_or(adt), literals, keep);
        return guards.with(&subject.path, narrowed);
    }
    let narrowed = if keep { intersect(kind, literals) } else { subtract(kind, literals) };
    guards.with(&subject.path, narrowed)
}

pub(super) fn may_be_none(kind: &Kind) -> bool {
    matches!(kind, Kind::None | Kind::Maybe(_) | Kind::Error | Kind::Opaque(_))
}
