//! `--fix` and `--diff`: the fixes of what a check reports, made or shown.
//!
//! What comments or the baseline hold back, what levels ignore and what is not selected is left as it is.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, Result, anyhow, bail};
use similar::TextDiff;
use tileops_analyzer::db::{AnalysisDb, FileText};
use tileops_analyzer::fix::{self, Applicability};
use tileops_analyzer::workspace::{FileKind, FileReport, Located};

use crate::baseline::Known;
use crate::check::Checker;
use crate::config::Configs;
use crate::diagnostic::{Level, Outcome, count};
use crate::discover::{self, Inputs};
use crate::engine::{self, Group};
use crate::source::Source;
use crate::{levels, output, source};

/// How often all files are gone through: a fix in one can make one in another possible.
const ROUNDS: usize = 10;
/// Above how many defects it is not counted how many of them have a fix.
const COUNTED: usize = 200;
/// In how many bytes.
const COUNTED_BYTES: usize = 2 << 20;

/// A file whose text is another when it is fixed.
#[derive(Debug)]
pub(crate) struct FixedFile {
    /// As reports show it.
    shown: Arc<str>,
    path: PathBuf,
    before: Arc<str>,
    after: Arc<str>,
    /// How many fixes that took.
    made: usize,
}

/// Everything that a run fixes.
#[derive(Debug, Default)]
pub(crate) struct Fixed {
    /// In the order of their paths.
    files: Vec<FixedFile>,
    /// The path that standard input stands for, and its bytes when it is fixed.
    pub(crate) stdin: Option<(Arc<str>, Vec<u8>)>,
}

impl Fixed {
    /// How many fixes were made.
    pub(crate) fn made(&self) -> usize {
        self.files.iter().map(|file| file.made).sum()
    }

    /// "3 fixed in 2 files, 1 left".
    pub(crate) fn summary(&self, left: &Outcome, is_dry: bool) -> String {
        let left = left.count(Level::Error) + left.count(Level::Advisory);
        let fixed = if is_dry { "would be fixed" } else { "fixed" };
        match self.made() {
            0 => format!("nothing {}, {left} left", if is_dry { "would be fixed" } else { "is fixed" }),
            made => format!("{made} {fixed} in {}, {left} left", count(self.files.len(), "file", "files")),
        }
    }

    /// What is fixed as a unified diff.
    pub(crate) fn diff(&self) -> String {
        let mut text = String::new();
        for file in &self.files {
            let diff = TextDiff::from_lines(&*file.before, &*file.after);
            let (old, new) = (format!("a/{}", file.shown), format!("b/{}", file.shown));
            // Writing to a string cannot fail.
            let _ = write!(text, "{}", diff.unified_diff().context_radius(3).header(&old, &new));
        }
        text
    }
}

/// Which defects are fixed: those that a check reports.
struct Reported<'a> {
    checker: &'a Checker<'a>,
    group: &'a Group,
    known: &'a Known,
}

impl Reported<'_> {
    fn has(&self, file: &str, located: &Located) -> bool {
        let code = located.defect.code;
        self.checker.levels.level(&self.group.config.levels, code) != levels::Level::Ignore
            && (located.entry.is_none() || self.checker.selection.selects(located.entry.as_deref()))
            && !self.known.holds(file, located.entry.as_deref(), code.name, &located.defect.message)
    }
}

/// Finds the texts that `inputs` have when they are fixed, and puts them in the place of what can be read. Nothing is
/// written.
pub(crate) fn find(checker: &Checker<'_>, inputs: &mut Inputs, configs: &Configs, known: &Known) -> Result<Fixed> {
    let mut fixed = Fixed::default();
    // Standard input can be read once.
    if let Some((shown, input)) = inputs.files.iter().find(|(_, input)| input.stdin) {
        let bytes = engine::read(input).context("cannot read standard input")?;
        inputs.contents.insert(shown.clone(), bytes.clone());
        fixed.stdin = Some((shown.clone(), bytes));
    }
    let least = if checker.arguments.unsafe_fixes { Applicability::Unsafe } else { Applicability::Safe };
    for group in &engine::judge(inputs.clone(), configs).groups {
        let reported = Reported { checker, group, known };
        let mut db = database(group);
        let mut made: BTreeMap<Arc<str>, usize> = BTreeMap::new();
        for round in 0..ROUNDS {
            let mut changed = false;
            for report in group.report.files.iter().filter(|report| is_fixable(group, report)) {
                // In the first round it is known which files have a defect.
                if round == 0 && !may_have_defects(group, report) {
                    continue;
                }
                let mut wanted = |located: &Located| reported.has(&report.path, located);
                let Some(done) = fix::fix_all(&mut db, &report.path, true, least, &mut wanted) else { continue };
                changed |= !done.made.is_empty();
                *made.entry(report.path.clone()).or_default() += done.made.len();
            }
            if !changed {
                break;
            }
        }
        for (shown, made) in made.into_iter().filter(|(_, made)| *made > 0) {
            let before = source_of(group, &shown).map(|source| source.text.clone());
            let (Some(before), Some(after), Some(input)) = (before, db.text(&shown), inputs.files.get(&shown)) else {
                continue;
            };
            let bytes = after.as_bytes().to_vec();
            if let Some((_, text)) = fixed.stdin.as_mut().filter(|(stdin, _)| *stdin == shown) {
                text.clone_from(&bytes);
            }
            inputs.contents.insert(shown.clone(), bytes);
            fixed.files.push(FixedFile { shown, path: input.path.clone(), before, after, made });
        }
    }
    fixed.files.sort_by(|a, b| a.shown.cmp(&b.shown));
    Ok(fixed)
}

/// How many of the defects that are reported have a safe fix, and how many have another; nothing where there are too many
/// to ask.
pub(crate) fn fixable(checker: &Checker<'_>, group: &Group, known: &Known) -> Option<(usize, usize)> {
    let defects: usize = group.report.files.iter().map(|report| report.defects.len()).sum();
    if defects > COUNTED {
        return None;
    }
    let asked = group.report.files.iter().filter(|report| is_fixable(group, report) && may_have_defects(group, report));
    let asked: Vec<&FileReport> = asked.collect();
    if asked.is_empty() {
        return Some((0, 0));
    }
    let size = |report: &&FileReport| source_of(group, &report.path).map_or(0, |source| source.text.len());
    if asked.iter().map(size).sum::<usize>() > COUNTED_BYTES {
        return None;
    }
    let reported = Reported { checker, group, known };
    let db = database(group);
    let (mut safe, mut other) = (0, 0);
    for report in asked {
        for (_, fixes) in fix::fixes(&db, &report.path, &mut |located| reported.has(&report.path, located)) {
            match fixes.first().map(|fix| fix.applicability) {
                Some(Applicability::Safe) => safe += 1,
                Some(Applicability::Unsafe) => other += 1,
                None => {}
            }
        }
    }
    Some((safe, other))
}

/// The texts of a group, to try fixes on.
fn database(group: &Group) -> AnalysisDb {
    let mut db = AnalysisDb::default();
    db.set_formulas(group.workspace.formulas().clone());
    db.set_files(group.workspace.files().iter().map(|file| FileText {
        path: file.path.clone(),
        text: file.text.clone(),
        configured: file.configured,
        open: true,
    }));
    db
}

/// Whether a file has defects, those of suppression comments included, which are found last.
fn may_have_defects(group: &Group, report: &FileReport) -> bool {
    !report.defects.is_empty() || source_of(group, &report.path).is_some_and(|source| source.text.contains("tileops:"))
}

fn source_of<'g>(group: &'g Group, shown: &str) -> Option<&'g Arc<Source>> {
    group.position(shown).and_then(|position| group.source(position))
}

/// Whether a file's text is the one on disk: bytes that are no UTF-8 are not.
fn is_fixable(group: &Group, report: &FileReport) -> bool {
    !matches!(report.kind, FileKind::Skipped(_)) && !group.faults.contains_key(&report.path)
}

/// Writes what is fixed: each file in one step, and standard input to standard output. A file that has changed since it was
/// read is left as it is.
pub(crate) fn write(fixed: &Fixed) -> Result<()> {
    for file in &fixed.files {
        if fixed.stdin.as_ref().is_some_and(|(stdin, _)| *stdin == file.shown) {
            continue;
        }
        let place = || format!("cannot fix `{}`", file.shown);
        if source::read(&file.path).with_context(place)? != file.before.as_bytes() {
            bail!("{}: it has changed while it was being fixed", place());
        }
        tileops_files::replace(&file.path, file.after.as_bytes())
            .map_err(|error| anyhow!(discover::describe(&error)))
            .with_context(place)?;
    }
    match &fixed.stdin {
        Some((_, text)) => output::write(text, None),
        None => Ok(()),
    }
}
