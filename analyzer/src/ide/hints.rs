//! What an editor writes between the lines: derived bytes beside a roofline, the bytes of a row beside it.
//!
//! Formulas are never evaluated: a row's bytes are counted from its tensors, and a stated `bytes` is compared with the
//! derived sum term by term.

use std::fmt::Write;

use super::branches::{Taken, branches, distinct};
use super::hover::describe_call;
use super::site::Site;
use super::sums::{Reader, Sum, Width, size};
use crate::analysis::EntryAnalysis;
use crate::check::SymbolRole;
use crate::db::AnalysisDb;
use crate::eval::fold;
use crate::expr::{Expr, ExprKind};
use crate::lang::{DType, Kind};
use crate::roofline::{Term, derived};
use crate::text::{TextRange, TextSize};

/// As many branches have a hint of their own as this.
const MOST_SHOWN: usize = 4;
/// A hint is no longer than this, in characters; its tooltip has the rest.
const MOST_CHARACTERS: usize = 120;

/// Which hints are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HintKinds {
    /// The derived sum beside a roofline without `bytes`.
    pub derived_bytes: bool,
    /// How a stated `bytes` differs from the derived sum.
    pub bytes_difference: bool,
    /// The bytes of each row.
    pub row_bytes: bool,
}

impl Default for HintKinds {
    fn default() -> Self {
        HintKinds { derived_bytes: true, bytes_difference: true, row_bytes: true }
    }
}

/// What a hint says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HintKind {
    /// The derived sum.
    DerivedBytes,
    /// How the stated `bytes` differs.
    BytesDifference,
    /// A row's bytes.
    RowBytes,
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

/// The sum that stands for `bytes` on a branch, and the tensors that it reads and writes.
struct Derived {
    sum: Sum,
    moved: String,
}

impl PartialEq for Derived {
    /// In whatever order the terms and their factors are written.
    fn eq(&self, other: &Self) -> bool {
        self.moved == other.moved && self.sum.minus(&other.sum).is_some_and(|left| left.is_empty())
    }
}

fn roofline_hints(site: &Site<'_>, analysis: &EntryAnalysis, kinds: HintKinds, hints: &mut Vec<InlayHint>) {
    let Some(roofline) = analysis.entry.roofline.valid() else { return };
    let flops = roofline.flops.range();
    let mut add = |behind: TextRange, labels: Vec<(String, String)>, tooltip: String, kind| {
        let offset = site.range.start() + end_of_line(site, behind.end());
        let more = labels.len().saturating_sub(MOST_SHOWN);
        for (position, (when, what)) in labels.into_iter().take(MOST_SHOWN).enumerate() {
            // What it says comes first: editors cut hints short.
            let mut label = if when.is_empty() { what } else { format!("{what} when {}", when.replace('`', "")) };
            if let Some((cut, _)) = label.char_indices().nth(MOST_CHARACTERS) {
                label.truncate(cut);
                label.push('…');
            }
            if more > 0 && position + 1 == MOST_SHOWN {
                let _ = write!(label, "  (+{more} on other branches)");
            }
            hints.push(InlayHint { offset, label, tooltip: tooltip.clone(), kind });
        }
    };
    if roofline.bytes.is_absent() {
        if !kinds.derived_bytes || roofline.flops.is_absent() {
            return;
        }
        let taken = branches(analysis);
        let found = distinct(&taken, |taken| sum_of(analysis, taken));
        let mut tooltip = String::new();
        for (when, Derived { sum, moved }) in &found {
            let _ = writeln!(tooltip, "- {}`{sum}` ({moved})", when_is(when));
        }
        tooltip.push_str(&widths_note(analysis, &taken));
        let labels = found.into_iter().map(|(when, d)| (when, format!("bytes = {}  ({})", d.sum, d.moved)));
        add(flops, labels.collect(), tooltip, HintKind::DerivedBytes);
    } else if let Some(bytes) = roofline.bytes.valid().filter(|_| kinds.bytes_difference) {
        let taken = branches(analysis);
        let found = distinct(&taken, |taken| difference(analysis, taken, &bytes.expr));
        let mut tooltip = String::new();
        for (when, (difference, derived)) in &found {
            let _ = writeln!(tooltip, "- {}`{difference}`, where the derived sum is `{derived}`", when_is(when));
        }
        let labels = found.into_iter().map(|(when, (difference, _))| (when, difference));
        add(roofline.bytes.range(), labels.collect(), tooltip, HintKind::BytesDifference);
    }
}

fn when_is(when: &str) -> String {
    if when.is_empty() { String::new() } else { format!("when {when}: ") }
}

/// The derived sum of a branch.
fn sum_of(analysis: &EntryAnalysis, taken: &Taken<'_>) -> Option<Derived> {
    if taken.branch.poisoned {
        return None;
    }
    let terms = derived(&taken.branch.tensors)?;
    let mut sum = Sum::default();
    let (mut read, mut written): (Vec<&str>, Vec<&str>) = (Vec::new(), Vec::new());
    for term in &terms {
        if term.reads > 0 {
            read.push(&term.tensor);
        }
        if term.writes > 0 {
            written.push(&term.tensor);
        }
        sum.add(&size(term, &width(analysis, taken, term))?, i128::from(term.reads + term.writes))?;
    }
    let moved = [("read", &read), ("write", &written)]
        .into_iter()
        .filter(|(_, names)| !names.is_empty())
        .map(|(verb, names)| format!("{verb} {}", names.join(", ")))
        .collect::<Vec<_>>()
        .join("; ");
    Some(Derived { sum, moved })
}

/// How the stated `bytes` of a branch differs from the derived sum, and that sum.
fn difference(analysis: &EntryAnalysis, taken: &Taken<'_>, bytes: &Expr) -> Option<(String, String)> {
    if taken.branch.poisoned {
        return None;
    }
    let terms = derived(&taken.branch.tensors)?;
    let stated = fold(bytes, &taken.branch.point);
    let shown = sum_of(analysis, taken)?.sum.to_string();
    // Tensor by tensor, then in the terms of the signature, then in what its `let`s are: the shortest is shown.
    let whole = |reader: &Reader<'_>, sized: &dyn Fn(&Term) -> Option<Sum>| {
        let mut sum = Sum::default();
        for term in &terms {
            sum.add(&sized(term)?, i128::from(term.reads + term.writes))?;
        }
        reader.read(&stated).minus(&sum)
    };
    let by_tensor = Reader { bytes: &|_| None, lets: None };
    let mut found: Vec<Sum> = Vec::new();
    found.extend(whole(&by_tensor, &|term| Some(Sum::name(&format!("bytes({})", term.tensor)))));
    for lets in [None, Some(&*taken.branch)] {
        let plain = Reader { bytes: &|_| None, lets };
        let sized = |term: &Term| plain.size(term, &width(analysis, taken, term));
        let bytes_of = |name: &str| sized(terms.iter().find(|term| &*term.tensor == name)?);
        found.extend(whole(&Reader { bytes: &bytes_of, lets }, &sized));
    }
    // Of two that are as short, the first.
    let least = found.into_iter().min_by_key(Sum::len)?;
    let label = if least.is_empty() { "= derived".to_owned() } else { format!("= derived{}", least.signed()) };
    Some((label, shown))
}

/// The width of a tensor's dtype on a branch: that of the rows' calls, or of all that the dtype can be.
fn width(analysis: &EntryAnalysis, taken: &Taken<'_>, term: &Term) -> Width {
    let stated = match &term.dtype.kind {
        ExprKind::Name(name) | ExprKind::Str(name) => DType::from_name(name),
        _ => None,
    };
    let mut widths: Vec<u32> = match stated {
        Some(dtype) => vec![dtype.bits() / 8],
        None => {
            let calls = taken.calls.iter().filter_map(|call| call.tensor(&term.tensor));
            calls.map(|tensor| tensor.dtype.bits() / 8).collect()
        }
    };
    if widths.is_empty()
        && let ExprKind::Name(name) = &term.dtype.kind
        && let Some(Kind::DType(set)) = analysis.scope.get(name).map(|symbol| &symbol.kind)
    {
        widths.extend(set.iter().map(|dtype| dtype.bits() / 8));
    }
    widths.dedup();
    match widths.as_slice() {
        [bytes] => Width::Known(*bytes),
        _ => Width::Of(term.dtype.to_string()),
    }
}

/// Which dtypes make the widths that the sums have in numbers, where the rows decide that.
fn widths_note(analysis: &EntryAnalysis, taken: &[Taken<'_>]) -> String {
    let mut note = String::new();
    let indices = analysis.scope.iter().filter(|symbol| symbol.role == SymbolRole::Index);
    for symbol in indices {
        let Kind::DType(set) = &symbol.kind else { continue };
        let mut all: Vec<u32> = set.iter().map(|dtype| dtype.bits()).collect();
        all.sort_unstable();
        all.dedup();
        let mut used: Vec<DType> = Vec::new();
        for call in taken.iter().flat_map(|taken| &taken.calls) {
            let value = call.indices.iter().find(|(name, _)| *name == symbol.name).map(|(_, value)| value);
            if let Some(crate::lang::Value::DType(dtype)) = value
                && !used.contains(dtype)
            {
                used.push(*dtype);
            }
        }
        let one_width = used.first().is_some_and(|first| used.iter().all(|dtype| dtype.bits() == first.bits()));
        if all.len() > 1 && one_width {
            let names: Vec<String> = used.iter().map(|dtype| format!("`{}`", dtype.name())).collect();
            let _ = writeln!(note, "\n`size({})` as the rows have it: {}", symbol.name, names.join(", "));
        }
    }
    note
}

fn row_hints(site: &Site<'_>, analysis: &EntryAnalysis, hints: &mut Vec<InlayHint>) {
    for calls in analysis.calls.chunk_by(|a, b| a.row == b.row) {
        let Some(first) = calls.first() else { continue };
        let mut labels: Vec<String> = Vec::new();
        let mut tooltip = String::new();
        for call in calls {
            let Some(traffic) = call.bytes() else { continue };
            let label = readable(traffic.total);
            if !labels.contains(&label) {
                labels.push(label);
            }
            tooltip.push_str(&describe_call(call));
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

/// A workload row, and where something is said beside it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowCases {
    /// The op.
    pub op: String,
    /// The identity of the entry's text: see [`crate::fingerprint`].
    pub fingerprint: String,
    /// The row, in the file.
    pub range: TextRange,
    /// Its label.
    pub label: Option<TextRange>,
    /// The end of what its line says.
    pub end: TextSize,
    /// The ids of the cases that it determines.
    pub cases: Vec<String>,
}

/// The workload rows in `range` of a file that determine a call.
pub fn row_cases(db: &AnalysisDb, path: &str, range: TextRange) -> Vec<RowCases> {
    let mut found = Vec::new();
    for site in Site::all(db, path).iter().filter(|site| site.range.intersect(range).is_some()) {
        let (Some(analysis), Some(op)) = (&site.analysis, site.op()) else { continue };
        let mut fingerprint = None;
        for calls in analysis.calls.chunk_by(|a, b| a.row == b.row) {
            let Some((position, row)) = calls.first().map(|call| (call.row, call.range)) else { continue };
            let stated = analysis.entry.workloads.items().get(position).and_then(|row| row.valid());
            let label = stated.and_then(|row| row.label.valid()).map(|label| site.global(label.range));
            if site.global(row).intersect(range).is_none() {
                continue;
            }
            found.push(RowCases {
                op: op.to_string(),
                fingerprint: fingerprint.get_or_insert_with(|| crate::fingerprint(site.text())).clone(),
                range: site.global(row),
                label,
                end: site.range.start() + end_of_line(site, row.end()),
                cases: calls.iter().map(|call| call.case_id.clone()).collect(),
            });
        }
    }
    found
}

/// The end of the content of the line that `offset` is on: a comment behind it stays behind the hint.
fn end_of_line(site: &Site<'_>, offset: TextSize) -> TextSize {
    let rest = site.text().get(usize::from(offset)..).unwrap_or("");
    let line = rest.split(['\n', '\r']).next().unwrap_or("");
    let content = line.split(" #").next().unwrap_or("").trim_end();
    offset + TextSize::of(content)
}

/// `96 MiB`, or `95.99 MiB (100663294 B)` where the unit does not say it exactly.
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
    match bytes.is_multiple_of(size) {
        true => format!("{whole} {}", UNITS[unit]),
        false => format!("{whole}.{rest:02} {} ({bytes} B)", UNITS[unit]),
    }
}
