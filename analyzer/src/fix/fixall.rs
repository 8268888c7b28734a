//! All fixes of a file together, again and again until none is left.

use std::sync::Arc;

use super::{Applicability, Fix, apply, fixes};
use crate::db::{AnalysisDb, FileText};
use crate::ide::Edit;
use crate::text::TextRange;
use crate::workspace::{FileKind, Located};

/// How often a file is fixed and judged anew: a fix can make another possible, and every fix leaves fewer defects.
const PASSES: usize = 100;

/// What became of a file.
#[derive(Debug, Clone, PartialEq)]
pub struct FixAll {
    /// Its text.
    pub text: Arc<str>,
    /// The fixes that were made, in the order made. Their edits are in the texts of their passes.
    pub made: Vec<Fix>,
}

/// Makes all fixes of a file that are as sure as `least`, for the defects that `wanted` lets through, until there is none.
/// The database holds the fixed text afterwards.
pub fn fix_all(
    db: &mut AnalysisDb,
    path: &str,
    configured: bool,
    least: Applicability,
    wanted: &mut dyn FnMut(&Located) -> bool,
) -> Option<FixAll> {
    let mut text = db.text(path)?;
    let mut made = Vec::new();
    for _ in 0..PASSES {
        let found = fixes(db, path, wanted);
        let candidates: Vec<&Fix> = found.iter().filter_map(|(_, fixes)| choose(fixes, least)).collect();
        let chosen = disjoint(candidates.iter().copied());
        if chosen.is_empty() {
            break;
        }
        let before = defects(db, path);
        // Each fix was tried alone. Together they may get in one another's way: then the first of them goes first.
        let mut taken = chosen;
        loop {
            let edits = merged(&taken);
            let Some(fixed) = apply(&text, &edits) else { break };
            db.set_file(path, &fixed, configured);
            if defects(db, path) + taken.len() <= before || taken.len() == 1 {
                text = fixed.into();
                break;
            }
            taken.truncate(taken.len().div_ceil(2));
        }
        made.extend(taken.into_iter().cloned());
    }
    Some(FixAll { text, made })
}

/// The same, where the database is a snapshot: it is done in one of its own, which has the files of the manifest.
pub fn fix_all_aside(
    db: &AnalysisDb,
    path: &str,
    least: Applicability,
    wanted: &mut dyn FnMut(&Located) -> bool,
) -> Option<FixAll> {
    let is_skipped = |path: &str| matches!(db.kind(path), None | Some(FileKind::Skipped(_)));
    if is_skipped(path) {
        return None;
    }
    let siblings = db.siblings(path).into_iter().filter(|path| !is_skipped(path));
    let text = |path: Arc<str>| Some(FileText { text: db.text(&path)?, path, configured: true, open: true });
    let texts: Vec<_> = siblings.filter_map(text).collect();
    let mut aside = AnalysisDb::default();
    aside.set_formulas(db.formulas().clone());
    aside.set_files(texts);
    fix_all(&mut aside, path, true, least, wanted)
}

/// The one fix of a defect that is made without being looked at.
fn choose(fixes: &[Fix], least: Applicability) -> Option<&Fix> {
    fixes.first().filter(|fix| fix.applicability <= least)
}

fn defects(db: &AnalysisDb, path: &str) -> usize {
    super::report(db, path).map_or(0, |report| report.defects.len())
}

/// Those fixes, in order, that touch nothing that an earlier one touches.
pub(super) fn disjoint<'f>(fixes: impl Iterator<Item = &'f Fix>) -> Vec<&'f Fix> {
    let mut taken: Vec<&Fix> = Vec::new();
    let mut places: Vec<TextRange> = Vec::new();
    for fix in fixes {
        let meets = |range: TextRange| places.iter().any(|other| other.intersect(range).is_some());
        if fix.edits.iter().any(|edit| meets(edit.range)) {
            continue;
        }
        places.extend(fix.edits.iter().map(|edit| edit.range));
        taken.push(fix);
    }
    taken
}

fn merged(fixes: &[&Fix]) -> Vec<Edit> {
    let mut edits: Vec<Edit> = fixes.iter().flat_map(|fix| fix.edits.iter().cloned()).collect();
    edits.sort_by_key(|edit| (edit.range.start(), edit.range.end()));
    edits
}
