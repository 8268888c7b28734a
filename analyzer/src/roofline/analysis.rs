//! Every defect of a roofline, and whether it can be emitted.

use std::sync::Arc;

use super::{Bytes, Formulas, RooflineBody, RooflinePlan, Term};
use crate::check::{BranchTensor, Checked, Inference, Point, Position, Scope, TensorsAt};
use crate::defect::{Findings, Severity, codes, nearest, nearest_first};
use crate::eval::fold;
use crate::expr::{Expr, ExprKind, Ident, Shape, ShapeKind};
use crate::model::schema::is_python_keyword;
use crate::model::{Condition, Entry, Fact, Formula, Roofline, Status, TensorRole};

/// As many points as a plan has arms at most. A formula that takes more branches than that is emitted by none.
const MOST_ARMS: usize = 4096;

/// Judges the roofline of `entry`, but for the kinds of its formulas: see [`check_formulas`]. `findings` holds what the passes before found: where that has an error outside the
/// rows, or the roofline itself has one, nothing can be emitted and there is no plan.
pub fn analyze(entry: &Entry, checked: &Checked, formulas: &Formulas, findings: &mut Findings) -> Option<RooflinePlan> {
    let roofline = entry.roofline.valid()?;
    judge_mode(entry, roofline, findings);
    if let Fact::Valid(func, _) = &roofline.func {
        judge_func(entry, func, formulas, findings);
    }
    if !is_safe(findings) || entry.signature.valid().is_none() {
        return None;
    }
    match (&roofline.flops, &roofline.bytes, &roofline.func) {
        (Fact::Absent(_), Fact::Absent(_), Fact::Valid(func, _)) => {
            let arm = (Point::default(), RooflineBody::Func(func.value.clone()));
            Some(RooflinePlan { arms: vec![arm] })
        }
        (Fact::Valid(flops, _), bytes, Fact::Absent(_)) if !bytes.is_malformed() => {
            inline_plan(entry, flops, bytes.valid(), checked, findings)
        }
        _ => None,
    }
}

/// Judges the names and kinds of the formulas.
pub fn check_formulas(entry: &Entry, scope: &Scope, findings: &mut Findings) {
    let Some(roofline) = entry.roofline.valid() else { return };
    for (key, fact) in [("flops", &roofline.flops), ("bytes", &roofline.bytes)] {
        if let Fact::Valid(formula, _) = fact {
            let taker = format!("`{key}`");
            Inference::new(scope, Position::Roofline, &formula.path, findings).integer(&formula.expr, &taker);
        }
    }
}

/// Whether nothing found so far makes emission unsafe. Rows and stages are not emitted.
fn is_safe(findings: &Findings) -> bool {
    findings.defects.iter().all(|defect| {
        defect.code.severity != Severity::Error
            || defect.path.starts_with("workloads")
            || defect.path.starts_with("composition")
    })
}

fn judge_mode(entry: &Entry, roofline: &Roofline, findings: &mut Findings) {
    let (flops, bytes, func) = (!roofline.flops.is_absent(), !roofline.bytes.is_absent(), !roofline.func.is_absent());
    let path = "roofline";
    if func && (flops || bytes) {
        let inline = if flops { ("flops", &roofline.flops) } else { ("bytes", &roofline.bytes) };
        let message = format!("a roofline has `{}` or `func`, not both", inline.0);
        findings
            .report(&codes::ROOFLINE_MODE, roofline.func.range(), "roofline.func", "func", message)
            .help("write formulas (`flops`, and `bytes` where they are not the sum of the tensors), or name a function")
            .related(inline.1.range(), format!("`{}` is written here", inline.0));
    } else if bytes && !flops {
        findings
            .report(
                &codes::ROOFLINE_MODE,
                roofline.bytes.range(),
                "roofline.bytes",
                "bytes",
                "a roofline with `bytes` needs `flops`",
            )
            .help("an op that computes nothing has `flops: \"0\"`");
    } else if !flops && !func {
        findings
            .report(&codes::ROOFLINE_MODE, entry.roofline.range(), path, path, "a roofline needs `flops` or `func`")
            .help("write `flops: \"<formula>\"`, or `func: <function>` where the cost needs code");
    }
}

fn judge_func(entry: &Entry, func: &Ident, formulas: &Formulas, findings: &mut Findings) {
    let path = "roofline.func";
    let package = &formulas.package;
    let name = func.value.strip_prefix(package.as_str()).and_then(|rest| rest.strip_prefix('.'));
    let Some(name) = name.filter(|name| is_identifier(name)) else {
        let last = func.value.rsplit('.').next().unwrap_or_default();
        let help =
            if is_identifier(last) { format!("write `{package}.{last}`") } else { format!("write `{package}.<name>`") };
        let message = format!("`{}` is not a function of `{package}`", func.value);
        let known = formulas.names.as_ref().is_some_and(|names| names.contains(last));
        let meant = is_identifier(last).then(|| format!("{package}.{last}"));
        let defect = findings.report(&codes::FORMULA_PATH, func.range, path, &*func.value, message);
        defect.help(help).meant(meant);
        if !known {
            defect.guess();
        }
        return;
    };
    if !matches!(entry.status, Fact::Valid(Status::Implemented, _)) {
        return;
    }
    match &formulas.names {
        None => findings.unreached(func.range, path, format!("whether `{name}` exists"), "the formula sources"),
        Some(names) if names.contains(name) => {}
        Some(names) => {
            let order = nearest_first(name, names.iter().map(String::as_str));
            let help = if order.is_empty() {
                "the formula sources define no function".to_owned()
            } else {
                format!("they define {}", crate::check::some_of(&order, "and"))
            };
            let message = format!("the formula sources define no `{name}`");
            let meant = nearest(name, names.iter().map(String::as_str)).map(|near| format!("{package}.{near}"));
            findings.report(&codes::UNKNOWN_FORMULA, func.range, path, name, message).help(help).meant(meant);
        }
    }
}

fn is_identifier(name: &str) -> bool {
    let mut chars = name.chars();
    chars.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && chars.all(|c| c.is_ascii_alphanumeric() || c == '_')
        && !is_python_keyword(name)
}

fn inline_plan(
    entry: &Entry,
    flops: &Formula,
    bytes: Option<&Formula>,
    checked: &Checked,
    findings: &mut Findings,
) -> Option<RooflinePlan> {
    let names = deciding(entry, &[Some(flops), bytes], bytes.is_none(), checked);
    let points = checked.points_over(&names, MOST_ARMS + 1);
    if points.len() > MOST_ARMS {
        findings.unreached(
            entry.roofline.range(),
            "roofline",
            "the plan of the roofline",
            format!("a formula with at most {MOST_ARMS} branches"),
        );
        return None;
    }
    let mut arms = Vec::with_capacity(points.len());
    let mut safe = true;
    let mut unsized_tensors: Vec<Arc<str>> = Vec::new();
    let mut flops = FormulaAtPoints::new(entry, flops, checked);
    let mut bytes = bytes.map(|bytes| FormulaAtPoints::new(entry, bytes, checked));
    for point in points {
        // There is a signature: without one there is no point.
        let at = checked.tensors_at(&point)?;
        let flops_here = flops.at(&at.point);
        safe &= judge_sizes(&flops_here, &flops, (checked, &at), &mut unsized_tensors, findings);
        let bytes_here = match &mut bytes {
            Some(bytes) => {
                let folded = bytes.at(&at.point);
                safe &= judge_sizes(&folded, bytes, (checked, &at), &mut unsized_tensors, findings);
                Some(Bytes::Formula(folded))
            }
            None if at.poisoned => None,
            None => derived(&at.tensors).map(Bytes::Derived),
        };
        match bytes_here {
            Some(bytes) => arms.push((point, RooflineBody::Inline { flops: flops_here, bytes })),
            None => {
                findings.unreached(
                    entry.roofline.range(),
                    "roofline",
                    "the derived bytes",
                    "every tensor's shape, dtype and effect",
                );
                safe = false;
            }
        }
    }
    safe.then_some(RooflinePlan { arms })
}

/// A formula folded at one point after the other. Points that agree in what decides it share what it folds to.
struct FormulaAtPoints<'a> {
    formula: &'a Formula,
    /// The discriminants that decide what it reads.
    names: Vec<Arc<str>>,
    /// Whether it reads the size of a tensor.
    reads_sizes: bool,
    folded: Vec<(Point, Expr)>,
}

impl<'a> FormulaAtPoints<'a> {
    fn new(entry: &Entry, formula: &'a Formula, checked: &Checked) -> Self {
        let mut reads_sizes = false;
        let mut open = vec![&formula.expr];
        while let Some(expr) = open.pop() {
            reads_sizes |= matches!(&expr.kind, ExprKind::Call(call) if &*call.callee.value == "bytes");
            expr.for_each_child(&mut |child| open.push(child));
        }
        let names = deciding(entry, &[Some(formula)], false, checked);
        FormulaAtPoints { formula, names, reads_sizes, folded: Vec::new() }
    }

    fn at(&mut self, point: &Point) -> Expr {
        let own = point.assignments.iter().filter(|(name, _)| self.names.contains(name));
        let known = self.folded.iter().find(|(known, _)| known.assignments.iter().eq(own.clone()));
        if let Some((_, expr)) = known {
            return expr.clone();
        }
        let assignments = own.cloned().collect();
        let expr = fold(&self.formula.expr, point);
        self.folded.push((Point { assignments }, expr.clone()));
        expr
    }
}

/// The discriminants that decide what the formulas read and, where bytes are derived, which tensors move and how.
fn deciding(entry: &Entry, formulas: &[Option<&Formula>], derived: bool, checked: &Checked) -> Vec<Arc<str>> {
    use crate::check::{reads, shape_reads, tensors};
    let Some(signature) = entry.signature.valid() else { return Vec::new() };
    let mut read: std::collections::BTreeSet<Arc<str>> = std::collections::BTreeSet::new();
    let mut open: Vec<Arc<str>> = Vec::new();
    for formula in formulas.iter().copied().flatten() {
        reads(&formula.expr, &mut |name| open.push(name.name().clone()));
    }
    if derived {
        for tensor in tensors(signature) {
            // Presence of the tensor itself, and of the buffer that the caller passes.
            open.push(tensor.name.value.clone());
        }
    }
    while let Some(name) = open.pop() {
        if !read.insert(name.clone()) {
            continue;
        }
        let value =
            signature.lets.items().iter().find(|item| item.name.value == name).and_then(|item| item.value.valid());
        if let Some(formula) = value {
            reads(&formula.expr, &mut |name| open.push(name.name().clone()));
        }
        let Some(tensor) = tensors(signature).find(|tensor| tensor.name.value == name) else { continue };
        for condition in [&tensor.optional, &tensor.mutated] {
            if let Fact::Valid(Condition::When(formula), _) = condition {
                reads(&formula.expr, &mut |name| open.push(name.name().clone()));
            }
        }
        if derived {
            if let Fact::Valid(dtype, _) = &tensor.dtype {
                reads(&dtype.expr, &mut |name| open.push(name.name().clone()));
            }
            if let Fact::Valid(shape, _) = &tensor.shape {
                shape_reads(shape, &mut |name| open.push(name.name().clone()));
            }
        }
    }
    checked.discriminants().iter().map(|d| d.name.clone()).filter(|name| read.contains(name)).collect()
}

/// Reports each `bytes(t)` that is read at a point where `t` is not passed, once for a tensor.
fn judge_sizes(
    folded: &Expr,
    formula: &FormulaAtPoints<'_>,
    (checked, at): (&Checked, &TensorsAt),
    reported: &mut Vec<Arc<str>>,
    findings: &mut Findings,
) -> bool {
    let mut safe = true;
    let mut open = if formula.reads_sizes { vec![folded] } else { Vec::new() };
    let is_absent = |name: &str| at.tensors.iter().any(|t| &*t.name == name && t.present == Some(false));
    while let Some(expr) = open.pop() {
        if let ExprKind::Call(call) = &expr.kind
            && &*call.callee.value == "bytes"
            && let [Expr { kind: ExprKind::Name(name), .. }] = call.args.as_slice()
            && is_absent(name)
        {
            safe = false;
            if !reported.contains(name) {
                reported.push(name.clone());
                let when = checked.describe(&at.point);
                let message = format!("`bytes({name})` is read where `{name}` is absent: when {when}");
                findings
                    .report(&codes::UNSIZED_TENSOR, expr.range, &*formula.formula.path, &**name, message)
                    .help(format!("write `(bytes({name}) if present({name}) else 0)`"))
                    .instead(format!("(bytes({name}) if present({name}) else 0)"));
            }
        }
        expr.for_each_child(&mut |child| open.push(child));
    }
    safe
}

/// The sum that stands for the bytes at a point; nothing where a tensor's part of it is not decided.
pub(crate) fn derived(tensors: &[BranchTensor]) -> Option<Vec<Term>> {
    let mut terms = Vec::new();
    for tensor in tensors {
        if !tensor.present? {
            continue;
        }
        let (reads, writes) = match tensor.role {
            TensorRole::Construction => (1, 0),
            TensorRole::Input if tensor.mutated? => {
                if tensor.write_only {
                    (0, 1)
                } else {
                    (1, 1)
                }
            }
            TensorRole::Input => (1, 0),
            TensorRole::Output => {
                let target = tensor.alias.as_deref().and_then(|alias| tensors.iter().find(|t| &*t.name == alias));
                // The storage of an input that the call writes counts there.
                if let Some(target) = target
                    && target.present?
                    && target.mutated?
                {
                    continue;
                }
                (0, 1)
            }
        };
        let shape = Shape { kind: ShapeKind::Axes(tensor.axes.as_ref()?.to_vec()), range: tensor.shape_range };
        let dtype = (**tensor.dtype.as_ref()?).clone();
        terms.push(Term { tensor: tensor.name.clone(), reads, writes, shape, dtype });
    }
    Some(terms)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::{EntryContext, analyze_entry};
    use crate::lang::AdtTable;

    fn plan(params: &str, tensors: &str, roofline: &str) -> (Option<RooflinePlan>, Vec<&'static str>, usize) {
        let text = format!(
            "DemoFwdOp:\n  family: demo\n  status: implemented\n  signature:\n    forall: {{M: Dim, T: \"DType[float16]\"}}\n    \
             params: {{{params}}}\n{tensors}  workloads:\n  - {{M: 4, dtype_cases: [{{T: float16}}], label: small}}\n  \
             roofline: {roofline}\n"
        );
        let adts = AdtTable::new(Vec::new(), true);
        let analysis = analyze_entry(&text, &EntryContext { adts: &adts, formulas: &Formulas::default() });
        let codes = analysis.findings.defects.iter().map(|defect| defect.code.name).collect();
        let unreached = analysis.findings.unreached.iter().filter(|u| u.path.starts_with("roofline")).count();
        (analysis.plan, codes, unreached)
    }

    /// Each arm as its point, its flops, and its terms (`tensor` reads writes) or its formula of bytes.
    fn arms(plan: Option<RooflinePlan>) -> Vec<(usize, String, String)> {
        let plan = plan.expect("the entry has a plan");
        let arm = |(point, body): (Point, RooflineBody)| match body {
            RooflineBody::Func(path) => (point.assignments.len(), path.to_string(), String::new()),
            RooflineBody::Inline { flops, bytes } => {
                let bytes = match bytes {
                    Bytes::Formula(formula) => formula.to_string(),
                    Bytes::Derived(terms) => {
                        let terms: Vec<String> =
                            terms.iter().map(|t| format!("{} {} {}", t.tensor, t.reads, t.writes)).collect();
                        terms.join(", ")
                    }
                };
                (point.assignments.len(), flops.to_string(), bytes)
            }
        };
        plan.arms.into_iter().map(arm).collect()
    }

    const PLAIN: &str = "    inputs: {x: {dtype: T, shape: \"[M]\"}}\n    outputs: {y: {dtype: T, shape: \"[M]\"}}\n";

    #[test]
    fn what_decides_nothing_makes_no_arm() {
        let (plan, ..) = plan("wide: {type: bool, default: false}", PLAIN, "{flops: \"2 * M\"}");
        assert_eq!(arms(plan), [(0, "2 * M".to_owned(), "x 1 0, y 0 1".to_owned())]);
    }

    #[test]
    fn formulas_are_folded_where_they_branch() {
        let flops = "{flops: \"M if wide else 3 * M\", bytes: \"bytes(x)\"}";
        let (plan, ..) = plan("wide: {type: bool, default: false}", PLAIN, flops);
        let found = arms(plan);
        assert_eq!(found.iter().map(|arm| arm.1.as_str()).collect::<Vec<_>>(), ["3 * M", "M"]);
        assert!(found.iter().all(|arm| arm.2 == "bytes(x)"));
    }

    #[test]
    fn derived_bytes_follow_the_effects() {
        let tensors = "    inputs:\n      x: {dtype: T, shape: \"[M]\", mutated: inplace}\n      \
                       w: {dtype: T, shape: \"[M]\", mutated: true, write_only: true}\n      \
                       b: {dtype: T, shape: \"[M]\", optional: true}\n    outputs:\n      \
                       y: {dtype: T, shape: \"[M]\", nullable: \"not inplace\"}\n      \
                       z: {dtype: T, shape: \"[M]\", alias: w}\n";
        let (plan, codes, _) = plan("inplace: {type: bool, default: false}", tensors, "{flops: \"0\"}");
        // The only row passes no `b`: that is a defect of the rows, which are not emitted.
        assert!(codes.iter().all(|code| code.contains("cover")), "{codes:?}");
        let found: Vec<String> = arms(plan).into_iter().map(|arm| arm.2).collect();
        assert_eq!(found, ["x 1 0, w 0 1, y 0 1", "x 1 0, w 0 1, b 1 0, y 0 1", "x 1 1, w 0 1", "x 1 1, w 0 1, b 1 0"]);
    }

    #[test]
    fn a_function_is_one_arm_and_its_existence_unreached_without_sources() {
        let (plan, codes, unreached) = plan("", PLAIN, "{func: tileops.perf.formulas.demo}");
        assert_eq!(arms(plan), [(0, "tileops.perf.formulas.demo".to_owned(), String::new())]);
        assert_eq!((codes.len(), unreached), (0, 1));
    }

    #[test]
    fn nothing_is_emitted_from_an_entry_with_a_defect() {
        for roofline in
            ["{flops: \"N\"}", "{flops: \"M\", func: f}", "{flops: \"M > 0\"}", "{}", "5", "{flops: \"M +\"}"]
        {
            let (plan, codes, _) = plan("", PLAIN, roofline);
            assert!(plan.is_none() && !codes.is_empty(), "{roofline}: {codes:?}");
        }
        let (plan, ..) = plan("wide: {type: bol, default: false}", PLAIN, "{flops: \"M\"}");
        assert!(plan.is_none());
    }
}
