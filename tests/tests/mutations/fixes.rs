//! Tries every fix that is offered for a mutant: its defect is gone, none has come, and what is outside its edits is as it was.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use tileops_analyzer::db::{AnalysisDb, FileText};
use tileops_analyzer::fix::{self, Applicability, Fix, apply};
use tileops_analyzer::syntax::parse_entry;
use tileops_analyzer::workspace::{SourceFile, Workspace};
use tileops_tests::root;

use crate::operators::{Mutant, Verdict, mutants};
use crate::text::span;

/// How many mutants of an operator are tried: each takes several judgments.
const MUTANTS: usize = 12;

/// What became of the mutants of an operator.
#[derive(Debug, Clone, Copy, Default)]
struct Row {
    mutants: usize,
    /// Of how many a safe fix gives the entry back as it was.
    restored: usize,
}

type Tally = BTreeMap<(&'static str, String, String), usize>;

fn tally(db: &AnalysisDb, path: &str) -> Tally {
    let mut tally = Tally::new();
    for located in fix::report(db, path).into_iter().flat_map(|report| report.defects) {
        let defect = located.defect;
        let path = defect.path.chars().filter(|c| !c.is_ascii_digit()).collect();
        *tally.entry((defect.code.name, path, defect.subject)).or_default() += 1;
    }
    tally
}

/// Why a fix is none.
fn refuted(db: &mut AnalysisDb, path: &str, text: &str, before: &Tally, fix: &Fix) -> Result<String, String> {
    let fixed = apply(text, &fix.edits).ok_or("its edits overlap, or leave the text")?;
    db.set_file(path, &fixed, true);
    let after = tally(db, path);
    db.set_file(path, text, true);
    let (code, subject) = (fix.mends.code.name, &fix.mends.subject);
    let count = |tally: &Tally| {
        tally.iter().filter(|((c, _, s), _)| *c == code && s == subject).map(|(_, count)| count).sum::<usize>()
    };
    if count(&after) >= count(before) {
        return Err("its defect is still there".to_owned());
    }
    match after.iter().find(|(key, count)| **count > before.get(*key).copied().unwrap_or(0)) {
        Some(((code, path, subject), _)) => Err(format!("it brings {code} at `{path}` about `{subject}`")),
        None => Ok(fixed),
    }
}

fn try_mutant(db: &mut AnalysisDb, manifest: &Workspace, position: usize, mutant: &Mutant) -> Result<Row, String> {
    let entry = &manifest.entries()[position];
    let file = &manifest.files()[entry.file];
    let range = span(entry.range);
    let mut text = file.text.to_string();
    text.replace_range(range.start + mutant.edit.start..range.start + mutant.edit.end, &mutant.replacement);
    db.set_file(&file.path, &text, true);
    let before = tally(db, &file.path);
    let mut row = Row { mutants: 1, ..Row::default() };
    for (located, fixes) in fix::fixes(db, &file.path, &mut |_| true) {
        for fix in fixes {
            let fixed = refuted(db, &file.path, &text, &before, &fix).map_err(|why| {
                let Mutant { operator, path, replacement, .. } = mutant;
                let entry = entry.name.as_deref().unwrap_or("?");
                format!(
                    "{entry}: {operator} at `{path}`: `{replacement}`: {}: {}: {why}",
                    located.defect.code.name, fix.title
                )
            })?;
            if fix.applicability == Applicability::Safe {
                row.restored |= usize::from(fixed == *file.text);
            }
        }
    }
    db.set_file(&file.path, &file.text, true);
    Ok(row)
}

fn database(manifest: &Workspace) -> AnalysisDb {
    let mut db = AnalysisDb::default();
    db.set_formulas(manifest.formulas().clone());
    let text =
        |file: &SourceFile| FileText { path: file.path.clone(), text: file.text.clone(), configured: true, open: true };
    db.set_files(manifest.files().iter().map(text));
    db
}

#[test]
fn every_fix_of_a_mutant_is_one() {
    let manifest = super::workspace(super::load(&root().join("manifest")));
    let mut work: Vec<(Option<usize>, Mutant)> = Vec::new();
    for (position, entry) in manifest.entries().iter().enumerate() {
        let text = manifest.entry_text(entry);
        let made = mutants(text, &parse_entry(text)).into_iter().filter(|mutant| mutant.verdict == Verdict::Wrong);
        work.extend(made.map(|mutant| (Some(position), mutant)));
    }
    super::thin_out(&mut work, MUTANTS);
    let next = AtomicUsize::new(0);
    let threads = std::thread::available_parallelism().map_or(2, |n| n.get().min(8));
    let rows: Vec<(&'static str, Result<Row, String>)> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads)
            .map(|_| {
                scope.spawn(|| {
                    let mut db = database(&manifest);
                    let mut rows = Vec::new();
                    while let Some((position, mutant)) = work.get(next.fetch_add(1, Ordering::Relaxed)) {
                        let position = position.unwrap_or_default();
                        rows.push((mutant.operator, try_mutant(&mut db, &manifest, position, mutant)));
                    }
                    rows
                })
            })
            .collect();
        workers.into_iter().flat_map(|worker| worker.join().expect("no mutant stops a fix")).collect()
    });
    let mut table: BTreeMap<&str, Row> = BTreeMap::new();
    let mut wrong = Vec::new();
    for (operator, row) in rows {
        match row {
            Ok(row) => {
                let sum = table.entry(operator).or_default();
                sum.mutants += row.mutants;
                sum.restored += row.restored;
            }
            Err(why) => wrong.push(why),
        }
    }
    assert!(wrong.is_empty(), "{} fixes are none:\n{}", wrong.len(), wrong.join("\n"));
    // What a typo made, a fix unmakes.
    for operator in ["misspell a key", "misspell a built-in", "misspell a word of the language", "write a key twice"] {
        let Row { mutants, restored } = table.get(operator).copied().unwrap_or_default();
        assert!(mutants > 0 && restored * 10 >= mutants * 9, "{operator}: {restored} of {mutants} are restored");
    }
}
