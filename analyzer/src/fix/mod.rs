//! Fixes: for a defect that has a clear mend, the edits that make it.
//!
//! A fix is plain data with byte offsets. Where it comes from is one of two: the judgment that reports a defect knows the
//! text that is right ([`crate::defect::Instead`]), or a rule in `rules` finds the edits in the entry's tree. Neither is
//! trusted: a `Bench` applies the edits, judges the text anew, and lets a fix pass only if its defect is gone and no
//! other has come.

mod bench;
mod edits;
mod fixall;
mod rewrites;
mod rules;
mod suppression;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use crate::db::AnalysisDb;
use crate::defect::{Code, Defect, Place};
use crate::ide::Edit;
use crate::ide::site::Site;
use crate::suppress;
use crate::text::{TextRange, TextSize};
use crate::workspace::{FileReport, Located};

use bench::Bench;
pub use edits::apply;
pub use fixall::{FixAll, fix_all, fix_all_aside};
pub use rewrites::{Rewrite, rewrites};
pub use suppression::suppression;

/// How sure a fix is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Applicability {
    /// It says what the author meant; it can be made without being looked at.
    Safe,
    /// It may not be what the author meant, or decides what only the author can.
    Unsafe,
}

/// The identity of the defect that a fix mends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mended {
    /// The rule that is broken.
    pub code: &'static Code,
    /// Where in the entry.
    pub path: String,
    /// What it is about.
    pub subject: String,
}

/// The edits that mend one defect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fix {
    /// What it does, as an imperative: "Rename `shpae` to `shape`".
    pub title: String,
    /// The edits in the file, in order; no two overlap.
    pub edits: Vec<Edit>,
    /// How sure it is.
    pub applicability: Applicability,
    /// What it mends.
    pub mends: Mended,
}

impl Mended {
    fn of(defect: &Defect) -> Self {
        Mended { code: defect.code, path: defect.path.clone(), subject: defect.subject.clone() }
    }
}

/// A fix in the making: its edits are in the text that its rule was given.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Candidate {
    title: String,
    edits: Vec<Edit>,
    applicability: Applicability,
    /// Whether it is of no interest where one before it passes.
    is_last_resort: bool,
}

impl Candidate {
    fn new(title: impl Into<String>, edits: Vec<Edit>, applicability: Applicability) -> Self {
        Candidate { title: title.into(), edits, applicability, is_last_resort: false }
    }

    fn last_resort(mut self) -> Self {
        self.is_last_resort = true;
        self
    }
}

/// How many fixes of one defect are offered.
const OFFERED: usize = 3;
/// How much text is judged again in one pass over a file, in bytes: what it is bounded by where entries are huge and full of
/// defects.
const EFFORT: usize = 64 << 20;
/// How many defects of a file are looked at for fixes in one pass: a file that has more is not a manifest that went
/// wrong in places.
const LOOKED_AT: usize = 2_000;

/// What is found in a file once its suppression comments have had their say.
pub fn report(db: &AnalysisDb, path: &str) -> Option<FileReport> {
    let mut report = (*db.report(path)?).clone();
    suppress::apply(&db.text(path)?, &mut report);
    Some(report)
}

/// The defects of a file that `wanted` lets through, each with its fixes, surest first; those without one are left out.
pub fn fixes(db: &AnalysisDb, path: &str, wanted: &mut dyn FnMut(&Located) -> bool) -> Vec<(Located, Vec<Fix>)> {
    let Some(report) = report(db, path) else { return Vec::new() };
    let mut workshop = Workshop::new(db, path);
    let wanted = report.defects.into_iter().filter(|located| wanted(located)).take(LOOKED_AT);
    let fixed = wanted.map(|located| {
        let fixes = if workshop.effort > 0 { workshop.fixes(&located) } else { Vec::new() };
        (located, fixes)
    });
    fixed.filter(|(_, fixes)| !fixes.is_empty()).collect()
}

/// Makes the fixes of one file. What several defects of an entry need is made once.
struct Workshop<'a> {
    db: &'a AnalysisDb,
    path: &'a str,
    file: Option<Bench<'a>>,
    entry: Option<(TextSize, Bench<'a>)>,
    /// How much may still be judged, in bytes.
    effort: usize,
}

impl<'a> Workshop<'a> {
    fn new(db: &'a AnalysisDb, path: &'a str) -> Self {
        Workshop { db, path, file: None, entry: None, effort: EFFORT }
    }

    fn fixes(&mut self, located: &Located) -> Vec<Fix> {
        let Some(site) = Site::at(self.db, self.path, located.defect.range.start()) else {
            return self.of_file(located, None);
        };
        if rules::concerns_file(located) || !site.range.contains_range(located.defect.range) {
            return self.of_file(located, Some(&site));
        }
        let start = site.range.start();
        let Some(defect) = within(&located.defect, start) else { return Vec::new() };
        let candidates = rules::in_entry(&site, &defect);
        if candidates.is_empty() {
            return Vec::new();
        }
        if self.entry.as_ref().is_none_or(|(at, _)| *at != start) {
            self.entry = Bench::of_entry(self.db, &site).map(|bench| (start, bench));
        }
        let Some((_, bench)) = &self.entry else { return Vec::new() };
        passed(bench, candidates, &defect, start, &mut self.effort)
    }

    fn of_file(&mut self, located: &Located, site: Option<&Site<'_>>) -> Vec<Fix> {
        let candidates = rules::in_file(self.db, self.path, located, site);
        if candidates.is_empty() {
            return Vec::new();
        }
        if self.file.is_none() {
            self.file = Bench::of_file(self.db, self.path);
        }
        let Some(bench) = &self.file else { return Vec::new() };
        passed(bench, candidates, &located.defect, TextSize::new(0), &mut self.effort)
    }
}

/// The candidates that mend `defect` and break nothing, in file offsets.
fn passed(
    bench: &Bench<'_>,
    candidates: Vec<Candidate>,
    defect: &Defect,
    start: TextSize,
    effort: &mut usize,
) -> Vec<Fix> {
    let mut fixes: Vec<Fix> = Vec::new();
    for mut candidate in candidates {
        if fixes.len() == OFFERED {
            break;
        }
        if candidate.is_last_resort && !fixes.is_empty() {
            continue;
        }
        if *effort == 0 {
            break;
        }
        *effort = effort.saturating_sub(bench.cost());
        candidate.edits.sort_by_key(|edit| (edit.range.start(), edit.range.end()));
        if !bench.mends(&candidate.edits, defect) {
            continue;
        }
        let edits: Vec<Edit> =
            candidate.edits.into_iter().map(|edit| Edit { range: edit.range + start, text: edit.text }).collect();
        if fixes.iter().all(|fix| fix.edits != edits) {
            let Candidate { title, applicability, .. } = candidate;
            fixes.push(Fix { title, edits, applicability, mends: Mended::of(defect) });
        }
    }
    // Where several are as good, none is what was meant for sure.
    if fixes.iter().filter(|fix| fix.applicability == Applicability::Safe).count() > 1 {
        fixes.iter_mut().for_each(|fix| fix.applicability = Applicability::Unsafe);
    }
    fixes.sort_by_key(|fix| fix.applicability);
    fixes
}

/// A defect in offsets of a text that starts at `start` of the file.
fn within(defect: &Defect, start: TextSize) -> Option<Defect> {
    let shift = |range: TextRange| range.checked_sub(start);
    let mut defect = defect.clone();
    defect.range = shift(defect.range)?;
    if let Some(instead) = &mut defect.instead {
        instead.range = shift(instead.range)?;
    }
    defect.related.retain_mut(|related| match &mut related.place {
        Place::Here(range) => shift(*range).map(|shifted| *range = shifted).is_some(),
        Place::Adt(_) | Place::Op(..) => true,
    });
    Some(defect)
}

/// The family that the entries of a file have, where all but one agree on it, and that one aside.
fn family_of_file(db: &AnalysisDb, path: &str, aside: TextSize) -> Option<Arc<str>> {
    let mut families = db
        .entries(path)
        .into_iter()
        .filter(|(_, range)| range.start() != aside)
        .filter_map(|(entry, _)| entry.entry.family.valid().map(|family| family.value.clone()));
    let first = families.next()?;
    families.all(|other| other == first).then_some(first)
}
