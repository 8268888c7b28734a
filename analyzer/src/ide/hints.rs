//! What an editor writes between the lines: derived bytes beside a roofline, the bytes of a row beside it.
//!
//! Formulas are never evaluated: a row's bytes are counted from its tensors.

use std::fmt::Write;

use super::site::Site;
use crate::analysis::EntryAnalysis;
use crate::db::AnalysisDb;
use crate::expr::{Axis, BinaryOp, Expr, ExprKind, ShapeKind};
use crate::lang::DType;
use crate::roofline::{Bytes, RooflineBody, Term};
use crate::text::{TextRange, TextSize};

/// Which hints are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HintKinds {
    /// The derived sum beside a roofline without `bytes`.
    pub derived_bytes: bool,
    /// The bytes of each row.
    pub row_bytes: bool,
}

impl Default for HintKinds {
    fn default() -> Self {
        HintKinds { derived_bytes: true, row_bytes: true }
    }
}

/// What a hint says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HintKind {
    /// The derived sum.
    DerivedBytes,
    /// A row's bytes.
    RowBytes,
    /// How the stated `bytes` differs.
    BytesDifference,
}

/// A text that stands behind a place without being part of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InlayHint {
    /// Where it stands, in the file.
    pub offset: TextSize,
    /// What it says.
    pub label: String,
    /// More, in Markdown; empty where there is none.
    pub tooltip: String,
    /// What it is about.
    pub kind: HintKind,
}

/// The hints in `range` of a file.
pub fn inlay_hints(db: &AnalysisDb, path: &str, range: TextRange, kinds: HintKinds) -> Vec<InlayHint> {
    let mut hints = Vec::new();
    for site in Site::all(db, path) {
        if site.range.intersect(range).is_none() {
            continue;
        }
        let Some(analysis) = &site.analysis else { continue };
        roofline_hints(&site, analysis, kinds, &mut hints);
        if kinds.row_bytes {
            row_hints(&site, analysis, &mut hints);
        }
    }
    hints.retain(|hint| range.contains_inclusive(hint.offset));
    hints.sort_by_key(|hint| hint.offset);
    hints
}

fn roofline_hints(site: &Site<'_>, analysis: &EntryAnalysis, kinds: HintKinds, hints: &mut Vec<InlayHint>) {
    let (Some(plan), Some(roofline)) = (&analysis.plan, analysis.entry.roofline.valid()) else { return };
    let flops = roofline.flops.range();
    let line_end = |range: TextRange| site.range.start() + end_of_line(site, range.end());
    // The arms that rows use come first; where there are no rows, all of them count.
    let used: Vec<_> = super::hover::branches(analysis);
    let agrees = |point: &crate::check::Point| {
        used.iter()
            .any(|(_, branch)| point.assignments.iter().all(|assignment| branch.point.assignments.contains(assignment)))
    };
    let mut arms: Vec<_> = plan.arms.iter().filter(|(point, _)| agrees(point)).collect();
    if arms.is_empty() {
        arms = plan.arms.iter().collect();
    }
    let mut sums: Vec<(String, String, String)> = Vec::new();
    for (point, body) in arms {
        let RooflineBody::Inline { bytes: Bytes::Derived(terms), .. } = body else { continue };
        let Some((sum, moved)) = sum_of(terms) else { continue };
        if !sums.iter().any(|(_, s, m)| *s == sum && *m == moved) {
            sums.push((analysis.checked.describe(point), sum, moved));
        }
    }
    let Some((_, sum, moved)) = sums.first() else { return };
    if !kinds.derived_bytes || !roofline.bytes.is_absent() {
        return;
    }
    let more = match sums.len() {
        0 | 1 => String::new(),
        n => format!("  (+{} on other branches)", n - 1),
    };
    let mut tooltip = String::new();
    for (when, sum, moved) in &sums {
        let when = if when.is_empty() { String::new() } else { format!("when {when}: ") };
        let _ = writeln!(tooltip, "- {when}`{sum}` ({moved})");
    }
    hints.push(InlayHint {
        offset: line_end(flops),
        label: format!("bytes = {sum}  ({moved}){more}"),
        tooltip,
        kind: HintKind::DerivedBytes,
    });
}

/// The sum of some terms in the signature's names, and which tensors it reads and writes.
fn sum_of(terms: &[Term]) -> Option<(String, String)> {
    let mut parts = Vec::new();
    let (mut read, mut written): (Vec<&str>, Vec<&str>) = (Vec::new(), Vec::new());
    for term in terms {
        let count = term.reads + term.writes;
        if term.reads > 0 {
            read.push(&term.tensor);
        }
        if term.writes > 0 {
            written.push(&term.tensor);
        }
        parts.push(size_of(term, count)?);
    }
    let moved = [("read", &read), ("write", &written)]
        .into_iter()
        .filter(|(_, names)| !names.is_empty())
        .map(|(verb, names)| format!("{verb} {}", names.join(", ")))
        .collect::<Vec<_>>()
        .join("; ");
    Some((if parts.is_empty() { "0".to_owned() } else { parts.join(" + ") }, moved))
}

fn size_of(term: &Term, count: u32) -> Option<String> {
    let ShapeKind::Axes(axes) = &term.shape.kind else { return None };
    let mut factor = u128::from(count);
    let mut factors: Vec<String> = Vec::new();
    let dtype = match &term.dtype.kind {
        ExprKind::Name(name) => DType::from_name(name),
        ExprKind::Str(name) => DType::from_name(name),
        _ => None,
    };
    match dtype {
        Some(dtype) => factor = factor.checked_mul(u128::from(dtype.bits() / 8))?,
        None => factors.push(format!("size({})", term.dtype)),
    }
    for axis in axes {
        match axis {
            Axis::One(Expr { kind: ExprKind::Int(value), .. }) => {
                factor = factor.checked_mul(u128::try_from(*value).ok()?)?;
            }
            Axis::One(expr) => factors.push(atom(expr)),
            Axis::Splice(expr) => factors.push(format!("prod({expr})")),
        }
    }
    if factor != 1 || factors.is_empty() {
        factors.insert(0, factor.to_string());
    }
    Some(if factor == 0 { "0".to_owned() } else { factors.join("*") })
}

/// A factor, in parentheses where it must be.
fn atom(expr: &Expr) -> String {
    let is_atom = match &expr.kind {
        ExprKind::Name(_) | ExprKind::Call(_) | ExprKind::Attribute(..) | ExprKind::Index(..) | ExprKind::Int(_) => {
            true
        }
        ExprKind::Binary(operator, ..) => *operator == BinaryOp::Mul,
        _ => false,
    };
    if is_atom { expr.to_string() } else { format!("({expr})") }
}

fn row_hints(site: &Site<'_>, analysis: &EntryAnalysis, hints: &mut Vec<InlayHint>) {
    let mut at = 0;
    while let Some(first) = analysis.calls.get(at) {
        let cases: Vec<_> = analysis.calls[at..].iter().take_while(|call| call.row == first.row).collect();
        at += cases.len();
        let mut labels: Vec<String> = Vec::new();
        let mut tooltip = String::new();
        for call in &cases {
            let Some(traffic) = call.bytes() else { continue };
            let label = readable(traffic.total);
            if !labels.contains(&label) {
                labels.push(label);
            }
            let _ = writeln!(
                tooltip,
                "**{}**: {} bytes, {} read, {} written\n",
                call.case_id, traffic.total, traffic.read, traffic.write
            );
            for term in &traffic.terms {
                let _ = writeln!(tooltip, "- `{}`: {} read, {} written", term.tensor, term.read, term.write);
            }
            let solved: Vec<String> = call.indices.iter().map(|(name, value)| format!("{name} = {value}")).collect();
            if !solved.is_empty() {
                let _ = writeln!(tooltip, "\n`{}`\n", solved.join("`, `"));
            }
        }
        if labels.is_empty() {
            continue;
        }
        hints.push(InlayHint {
            offset: site.range.start() + end_of_line(site, first.range.end()),
            label: labels.join(" | "),
            tooltip,
            kind: HintKind::RowBytes,
        });
    }
}

/// The end of the content of the line that `offset` is on: a comment behind it stays behind the hint.
fn end_of_line(site: &Site<'_>, offset: TextSize) -> TextSize {
    let rest = site.text().get(usize::from(offset)..).unwrap_or("");
    let line = rest.split(['\n', '\r']).next().unwrap_or("");
    let content = line.split(" #").next().unwrap_or("").trim_end();
    offset + TextSize::of(content)
}

/// `12.5 MiB`, exact where it is below a kibibyte.
pub(crate) fn readable(bytes: u128) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let mut unit = 0;
    let mut size = 1024_u128;
    while bytes / size >= 1024 && unit + 1 < UNITS.len() {
        size *= 1024;
        unit += 1;
    }
    // Two decimals, cut rather than rounded, so that a size is never shown as more than it is.
    let whole = bytes / size;
    let rest = (bytes % size) * 100 / size;
    let exact = bytes.is_multiple_of(size);
    match exact {
        true => format!("{whole} {}", UNITS[unit]),
        false => format!("{whole}.{rest:02} {}", UNITS[unit]),
    }
}
