//! Where a fix proves itself: its edits are applied, and the text is judged anew.

use std::collections::BTreeMap;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::edits::apply;
use crate::analysis::{EntryAnalysis, EntryContext, analyze_entry};
use crate::db::AnalysisDb;
use crate::defect::{Defect, Findings};
use crate::ide::Edit;
use crate::ide::site::Site;
use crate::lang::AdtTable;
use crate::suppress;
use crate::workspace::{
    FileKind, FileReport, OpIndex, Summary, across_files, entry_name, outline, slice, types, within_file,
};

/// A text and all that it is judged against. The text is a whole file, or one of its entries taken for a file, which costs
/// what the entry does.
pub(super) struct Bench<'a> {
    db: &'a AnalysisDb,
    path: Arc<str>,
    text: Arc<str>,
    adts: AdtTable,
    /// The ops that other texts declare.
    others: OpIndex,
    /// The entries that are analyzed already, by their texts.
    known: FxHashMap<String, Arc<EntryAnalysis>>,
    /// How often each defect is there.
    before: Tally,
}

/// Defects by code, path and subject. Positions in lists are no part of it: where an item goes, those behind it move up.
type Tally = BTreeMap<(&'static str, String, String), usize>;

impl<'a> Bench<'a> {
    /// The bench of one entry of a file, or of the types in it.
    pub(super) fn of_entry(db: &'a AnalysisDb, site: &Site<'_>) -> Option<Self> {
        let own = site.analysis.clone().map(|analysis| (site.text().to_owned(), analysis));
        Bench::new(db, &site.path, site.text().into(), own)
    }

    /// The bench of a file.
    pub(super) fn of_file(db: &'a AnalysisDb, path: &str) -> Option<Self> {
        let text = db.text(path)?;
        let entries = db.entries(path).into_iter();
        let known = entries.filter_map(|(analysis, range)| Some((slice(&text, range)?.to_owned(), analysis)));
        Bench::new(db, path, text.clone(), known)
    }

    fn new(
        db: &'a AnalysisDb,
        path: &str,
        text: Arc<str>,
        known: impl IntoIterator<Item = (String, Arc<EntryAnalysis>)>,
    ) -> Option<Self> {
        let known = known.into_iter().collect();
        let mut bench = Bench {
            db,
            path: path.into(),
            text: text.clone(),
            adts: db.adts(path),
            others: db.op_index(path),
            known,
            before: Tally::new(),
        };
        // Those of the text itself are declared by it.
        for chunk in &outline(path, &text, true).chunks {
            bench.others.forget(&entry_name(chunk));
        }
        bench.before = tally(&bench.judge(&text));
        Some(bench)
    }

    /// How much there is to judge when a fix is tried, in bytes.
    pub(super) fn cost(&self) -> usize {
        self.text.len()
    }

    /// Whether `edits` leave a text without `defect` and without any that was not there.
    pub(super) fn mends(&self, edits: &[Edit], defect: &Defect) -> bool {
        let Some(text) = apply(&self.text, edits) else { return false };
        if text == *self.text {
            return false;
        }
        let after = tally(&self.judge(&text));
        let identity = identity(defect);
        let count = |tally: &Tally| tally.get(&identity).copied().unwrap_or(0);
        count(&after) < count(&self.before)
            && after.iter().all(|(key, count)| *count <= self.before.get(key).copied().unwrap_or(0))
    }

    /// What is found in a text that stands where the file does.
    fn judge(&self, text: &str) -> FileReport {
        let outline = outline(&self.path, text, true);
        let types = (outline.kind == FileKind::Types).then(|| types(text, &outline));
        let context = EntryContext { adts: &self.adts, formulas: self.db.formulas() };
        let chunks = if outline.kind == FileKind::Manifest { outline.chunks.as_slice() } else { &[] };
        let analyses: Vec<Arc<EntryAnalysis>> = chunks
            .iter()
            .map(|chunk| {
                let text = slice(text, chunk.range).unwrap_or("");
                self.known.get(text).cloned().unwrap_or_else(|| Arc::new(analyze_entry(text, &context)))
            })
            .collect();
        let summaries: Vec<Summary> = analyses.iter().map(|analysis| Summary::of(&analysis.entry)).collect();
        let mut ops = self.others.clone();
        let mut cross = vec![Findings::default(); summaries.len()];
        let earlier: Vec<u32> = chunks
            .iter()
            .map(|chunk| {
                let name = entry_name(chunk);
                let earlier = ops.declarations(&name);
                ops.declare(&name);
                earlier
            })
            .collect();
        for ((summary, nth), found) in summaries.iter().zip(earlier).zip(&mut cross) {
            across_files(summary, nth, &ops, found);
        }
        within_file(&self.path, &summaries.iter().collect::<Vec<_>>(), &mut cross);
        let judged =
            analyses.iter().zip(cross).map(|(analysis, cross)| (&analysis.findings, &*analysis.comments, cross));
        let mut report = FileReport::assemble(self.path.clone(), &outline, types.as_ref(), judged);
        suppress::apply(text, &mut report);
        report
    }
}

fn tally(report: &FileReport) -> Tally {
    let mut tally = Tally::new();
    for located in &report.defects {
        *tally.entry(identity(&located.defect)).or_default() += 1;
    }
    tally
}

fn identity(defect: &Defect) -> (&'static str, String, String) {
    (defect.code.name, without_positions(&defect.path), defect.subject.clone())
}

/// `workloads[3].M` as `workloads[].M`.
fn without_positions(path: &str) -> String {
    let mut inside = false;
    path.chars()
        .filter(|c| {
            match c {
                '[' => inside = true,
                ']' => inside = false,
                _ => return !(inside && c.is_ascii_digit()),
            }
            true
        })
        .collect()
}
