//! Breaks our own manifests in one place at a time, and holds the analyzer to saying so there.
//!
//! The table of operators and the mutants that nothing reports are in `tests/mutations.md`; `UPDATE_EXPECT=1` rewrites
//! it, keeping the reasons. `MUTATE=<folder>` prints the table and the worst cascades of every mutant of a folder
//! instead, and `MUTATE_ONLY=<operator>` those of one operator. `MUTATE_ALL=<file>` makes every mutant, not a few of each
//! operator, writes the document to that file, and holds the whole to the same bar.

#![allow(clippy::print_stdout, reason = "asked for by hand, it prints its outcome")]

mod fixes;
mod operators;
mod text;
mod types;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use operators::{Mutant, Verdict, mutants};
use tileops_analyzer::analysis::{EntryContext, analyze_entry};
use tileops_analyzer::defect::{Defect, Place, Severity};
use tileops_analyzer::roofline::Formulas;
use tileops_analyzer::syntax::parse_entry;
use tileops_analyzer::workspace::{SourceFile, Workspace};
use tileops_tests::{root, update_expectations};

/// What became of a mutant.
struct Outcome {
    entry: Arc<str>,
    mutant: Mutant,
    before: String,
    errors: Vec<Defect>,
    placed: bool,
}

fn load(folder: &Path) -> Vec<SourceFile> {
    let mut files = Vec::new();
    for item in fs::read_dir(folder).expect("the folder can be listed") {
        let path = item.expect("an item can be read").path();
        if path.extension().is_some_and(|extension| extension == "yaml") {
            let text = fs::read_to_string(&path).expect("a manifest can be read");
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            files.push(SourceFile { path: name.into(), text: text.into(), configured: true, judged: true });
        }
    }
    files
}

fn workspace(files: Vec<SourceFile>) -> Workspace {
    let names = files.iter().flat_map(|file| file.text.lines().map(str::to_owned).collect::<Vec<_>>());
    let names = names.filter_map(|line| Some(line.trim().strip_prefix("func:")?.trim().rsplit('.').next()?.to_owned()));
    let formulas = Formulas { names: Some(names.collect()), ..Formulas::default() };
    Workspace::new(files).with_formulas(formulas)
}

/// Everything that is said of the mutated entry, at most `usize::MAX` of it, in ranges of the entry's text.
fn judge(manifest: &Workspace, position: usize, mutant: &Mutant) -> Vec<Defect> {
    let entry = &manifest.entries()[position];
    let mut text = manifest.entry_text(entry).to_owned();
    text.replace_range(mutant.edit.clone(), &mutant.replacement);
    let across = mutant.path.starts_with("composition") || mutant.path.starts_with("family");
    let defects = if across {
        let path = manifest.files()[entry.file].path.clone();
        let mutated = workspace(around(manifest, position, &text)).with_formulas(manifest.formulas().clone());
        let analyses = mutated.entries().iter().map(|entry| mutated.analyze(entry)).collect();
        let report = mutated.finish(analyses);
        let file = report.files.into_iter().find(|file| file.path == path);
        let located = file.into_iter().flat_map(|file| file.defects);
        let end = text.len();
        let located = located.map(|located| located.defect).filter(|defect| text::span(defect.range).end <= end);
        located.collect()
    } else {
        let context = EntryContext { adts: manifest.adts(entry.file), formulas: manifest.formulas() };
        analyze_entry(&text, &context).findings.defects
    };
    defects.into_iter().filter(|defect| defect.code.severity == Severity::Error).collect()
}

/// The files of a manifest with the entry at `position`, which is `text` now and stands first in its file, the entries that
/// it names, and the types: what crosses entries sees no more.
fn around(manifest: &Workspace, position: usize, text: &str) -> Vec<SourceFile> {
    let entry = &manifest.entries()[position];
    let mut texts: BTreeMap<usize, String> = BTreeMap::from([(entry.file, text.to_owned())]);
    for (other, named) in manifest.entries().iter().enumerate().filter(|(other, _)| *other != position) {
        if named.name.as_deref().is_some_and(|name| types::has_word(text, name)) {
            let file = texts.entry(named.file).or_default();
            if !file.is_empty() && !file.ends_with('\n') {
                file.push('\n');
            }
            file.push_str(manifest.entry_text(&manifest.entries()[other]));
        }
    }
    let mut files = Vec::new();
    for (position, file) in manifest.files().iter().enumerate() {
        match texts.remove(&position) {
            Some(text) => files.push(SourceFile { text: text.into(), ..file.clone() }),
            None if &*file.path == types::FILE => files.push(file.clone()),
            None => {}
        }
    }
    files
}

/// Whether a defect stands in what was changed, or points there.
fn is_placed(defect: &Defect, mutant: &Mutant) -> bool {
    let grown = mutant.replacement.len();
    let moved = |range: &Range<usize>| {
        let at = |offset: usize| match offset >= mutant.edit.end {
            true => offset - mutant.edit.len() + grown,
            false => offset.min(mutant.edit.start + grown),
        };
        at(range.start)..at(range.end)
    };
    let constructs: Vec<Range<usize>> = mutant.construct.iter().map(moved).collect();
    let inside = |place: Range<usize>| constructs.iter().any(|c| place.start <= c.end && c.start <= place.end);
    let related = defect.related.iter().filter_map(|related| match related.place {
        Place::Here(range) => Some(text::span(range)),
        _ => None,
    });
    inside(text::span(defect.range)) || related.into_iter().any(inside)
}

/// Keeps `most` of each operator's mutants, spread evenly over all entries.
fn thin_out(mutants: &mut Vec<(Option<usize>, Mutant)>, most: usize) {
    let mut totals: BTreeMap<(Verdict, &str), (usize, usize)> = BTreeMap::new();
    for (_, mutant) in mutants.iter() {
        totals.entry((mutant.verdict, mutant.operator)).or_default().0 += 1;
    }
    mutants.retain(|(_, mutant)| {
        let Some((total, at)) = totals.get_mut(&(mutant.verdict, mutant.operator)) else { return true };
        *at += 1;
        let kept = most.min(*total);
        // One of each of `kept` equal parts.
        *at * kept / *total > (*at - 1) * kept / *total
    });
}

/// What becomes of a mutant of the entry at `position`, or of the types.
fn outcome(manifest: &Workspace, position: Option<usize>, mutant: &Mutant) -> Outcome {
    let Some(position) = position else {
        let (errors, placed) = types::judge(manifest, mutant, with_types);
        let file = manifest.files().iter().find(|file| &*file.path == types::FILE);
        let before = file.map_or(String::new(), |file| file.text[mutant.edit.clone()].to_owned());
        return Outcome { entry: types::FILE.into(), mutant: mutant.clone(), before, errors, placed };
    };
    let entry = &manifest.entries()[position];
    let errors = judge(manifest, position, mutant);
    let before = manifest.entry_text(entry)[mutant.edit.clone()].to_owned();
    let placed = errors.iter().any(|defect| is_placed(defect, mutant));
    let name = entry.name.clone().unwrap_or_else(|| Arc::from("?"));
    Outcome { entry: name, mutant: mutant.clone(), before, errors, placed }
}

/// The manifest with other types.
fn with_types(manifest: &Workspace, text: Arc<str>) -> Workspace {
    let mut files = manifest.files().to_vec();
    files.iter_mut().filter(|file| &*file.path == types::FILE).for_each(|file| file.text = text.clone());
    Workspace::new(files).with_formulas(manifest.formulas().clone())
}

fn run(manifest: &Workspace) -> Vec<Outcome> {
    let mut work: Vec<(Option<usize>, Mutant)> = Vec::new();
    let only = std::env::var("MUTATE_ONLY").ok();
    let is_set = |name| std::env::var_os(name).is_some();
    let all = is_set("MUTATE") || is_set("MUTATE_ALL") || only.is_some();
    let chosen = |mutant: &Mutant| only.as_deref().is_none_or(|only| only == mutant.operator);
    for (position, entry) in manifest.entries().iter().enumerate() {
        let text = manifest.entry_text(entry);
        let made = mutants(text, &parse_entry(text));
        work.extend(made.into_iter().filter(chosen).map(|mutant| (Some(position), mutant)));
    }
    if !all {
        thin_out(&mut work, MUTANTS);
    }
    if let Some(file) = manifest.files().iter().find(|file| &*file.path == types::FILE) {
        let entries: Vec<&str> = manifest.entries().iter().map(|entry| manifest.entry_text(entry)).collect();
        let made = types::mutants(&file.text, &entries.join("\n"));
        work.extend(made.into_iter().filter(chosen).map(|mutant| (None, mutant)));
    }
    let next = AtomicUsize::new(0);
    let threads = std::thread::available_parallelism().map_or(2, |n| n.get().min(8));
    let mut found: Vec<(usize, Outcome)> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads)
            .map(|_| {
                scope.spawn(|| {
                    let mut found = Vec::new();
                    loop {
                        let at = next.fetch_add(1, Ordering::Relaxed);
                        let Some((position, mutant)) = work.get(at) else { break };
                        found.push((at, outcome(manifest, *position, mutant)));
                    }
                    found
                })
            })
            .collect();
        workers.into_iter().flat_map(|worker| worker.join().expect("no mutant stops the analyzer")).collect()
    });
    found.sort_by_key(|(at, _)| *at);
    found.into_iter().map(|(_, outcome)| outcome).collect()
}

fn short(text: &str) -> String {
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let cut: String = flat.chars().take(60).collect();
    if cut.len() < flat.len() { format!("{cut}…") } else { cut }
}

impl Outcome {
    /// What was changed, as one line.
    fn change(&self) -> String {
        let Mutant { path, replacement, .. } = &self.mutant;
        format!("{} `{path}`: `{}` -> `{}`", self.entry, short(&self.before), short(replacement))
    }
}

#[derive(Default)]
struct Tally<'o> {
    total: usize,
    killed: usize,
    placed: usize,
    survivors: Vec<&'o Outcome>,
    misplaced: Vec<&'o Outcome>,
}

fn tally(outcomes: &[Outcome]) -> BTreeMap<(Verdict, &'static str), Tally<'_>> {
    let mut table: BTreeMap<(Verdict, &'static str), Tally<'_>> = BTreeMap::new();
    for outcome in outcomes {
        let row = table.entry((outcome.mutant.verdict, outcome.mutant.operator)).or_default();
        row.total += 1;
        row.killed += usize::from(!outcome.errors.is_empty());
        row.placed += usize::from(outcome.placed);
        if outcome.errors.is_empty() {
            row.survivors.push(outcome);
        } else if !outcome.placed {
            row.misplaced.push(outcome);
        }
    }
    table
}

/// Why mutants of an operator that may give another valid manifest can survive.
const REASONS: &[(&str, &str)] = &[
    (
        "a float for an integer",
        "Refinements compare numbers of any sort, and a formula may read a float as long as its result is none.",
    ),
    ("a negative value", "The parameter is an `int`, and no refinement bounds it from below."),
    ("a value one shorter", "A `Shape` of another rank, or a list of fewer axes, is another call of the same op."),
    ("an argument one larger", "A looser bound, or another list, is as well-formed; the row's values still keep it."),
    ("an axis more", "The tensor has another rank, of which the op's own inference is as sure."),
    ("an axis one longer", "`a * M + e` is solved as `M` is: the signature is another one, and it is consistent."),
    ("an effect more", "Any input may be written."),
    ("an optional input more", "The last input may be optional where the others solve every index."),
    ("another condition", "The other constant, or a condition that always holds, is a signature of its own."),
    ("another dtype", "A fixed dtype, where the index is read elsewhere too."),
    ("another operator", "Other arithmetic of the same kinds, or the opposite condition where the rows keep it."),
    ("another value", "Another call of the same op."),
    ("change a number", "Another number of the same kind; the rows keep it."),
    ("drop a key", "The key is optional and nothing refers to it."),
    ("drop a member of a type", "The Python name and the invariant are optional."),
    ("drop an argument", "The argument has a default, or the call takes any number of them."),
    ("drop an axis", "The tensor has another rank, and what the axis read is read elsewhere."),
    (
        "misspell a formula's name",
        "Whether the function exists is asked of an implemented entry; these are `spec-only`.",
    ),
    ("remove a guard", "What is guarded can be read without, or is an alternative without `.value`."),
    ("remove a literal of an enum", "Nothing else writes the literal."),
    ("remove a member of a dtype set", "No row and no `dtype_combos` has the dtype."),
    ("rename a declaration", "Nothing reads the name: tensors are mostly named by their declaration alone."),
    ("some of nothing", "An empty `some` is as none."),
    ("swap arguments", "Both are of one kind: the call means something else and is as well-formed."),
    ("swap arguments of a family", "Both are of one kind: the shape is another one and is consistent."),
    ("swap two axes", "The layout is another one and is consistent."),
    ("the label of another row", "The ids differ by their dtypes."),
    ("use another name of the section", "Both names have one kind, and each is still solved and read."),
];

/// How many mutants of one operator are made, spread evenly over the entries.
const MUTANTS: usize = 80;

fn document(outcomes: &[Outcome], known: &BTreeMap<String, String>) -> String {
    let table = tally(outcomes);
    let mut text = String::from(HEAD);
    for verdict in [Verdict::Wrong, Verdict::Open] {
        let own = || table.iter().filter(|((of, _), _)| *of == verdict);
        let sum = |count: fn(&Tally<'_>) -> usize| own().map(|(_, row)| count(row)).sum::<usize>();
        let title = match verdict {
            Verdict::Wrong => "Changes that make the entry wrong",
            Verdict::Open => "Changes that may give another valid entry",
        };
        let _ = writeln!(text, "\n## {title}\n\n| operator | mutants | reported | placed |\n| --- | --: | --: | --: |");
        for ((_, operator), row) in own() {
            let _ = writeln!(text, "| {operator} | {} | {} | {} |", row.total, row.killed, row.placed);
        }
        let (total, killed, placed) = (sum(|r| r.total), sum(|r| r.killed), sum(|r| r.placed));
        let _ = writeln!(text, "| all | {total} | {killed} | {placed} |");
        for ((_, operator), row) in own() {
            if row.survivors.is_empty() && (verdict == Verdict::Open || row.misplaced.is_empty()) {
                continue;
            }
            let _ = writeln!(text, "\n### {operator}\n");
            match verdict {
                Verdict::Wrong => {
                    let groups = [("survives", &row.survivors), ("reported elsewhere", &row.misplaced)];
                    for (how, outcomes) in groups {
                        for outcome in outcomes {
                            let key = format!("- {how}: {}", outcome.change());
                            let reason = known.get(&key).map_or("?", String::as_str);
                            let _ = writeln!(text, "{key}\n  {reason}");
                        }
                    }
                }
                Verdict::Open => {
                    let reason = REASONS.iter().find(|(of, _)| of == operator).map_or("?", |(_, reason)| *reason);
                    let _ = writeln!(text, "{reason}\n");
                    let mut by_entry: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
                    for outcome in &row.survivors {
                        by_entry.entry(&outcome.entry).or_default().push(&outcome.mutant.path);
                    }
                    for (entry, mut paths) in by_entry {
                        let all = paths.len();
                        paths.dedup();
                        let paths: Vec<String> = paths
                            .iter()
                            .map(|path| path.strip_prefix("signature.").unwrap_or(path).to_owned())
                            .collect();
                        let _ = writeln!(text, "- {entry} ({all}): {}", paths.join(", "));
                    }
                }
            }
        }
    }
    text
}

const HEAD: &str = "# Mutants of our own manifests

Written by `UPDATE_EXPECT=1 cargo test -p tileops-tests --test mutations`, but for the reasons under the first heading,
which are kept. A mutant is an entry of `manifest/` or its `types.yaml`, changed in one place. It is reported when it has an error, and placed
when that error stands in what was changed, in what that stands in, or points there.
";

fn reasons(document: &str) -> BTreeMap<String, String> {
    let lines: Vec<&str> = document.lines().collect();
    let pairs = lines.windows(2).filter(|pair| pair[0].starts_with("- ") && pair[1].starts_with("  "));
    pairs.map(|pair| (pair[0].to_owned(), pair[1].trim().to_owned())).collect()
}

#[test]
fn what_makes_an_entry_wrong_is_reported_where_it_stands() {
    let elsewhere = std::env::var_os("MUTATE");
    let folder = elsewhere.as_ref().map_or_else(|| root().join("manifest"), std::path::PathBuf::from);
    let manifest = workspace(load(&folder));
    let outcomes = run(&manifest);
    let looking = elsewhere.is_some() || std::env::var_os("MUTATE_ONLY").is_some();
    if looking {
        println!("{}", document(&outcomes, &BTreeMap::new()));
        // One code about one subject in several places is one thing to mend.
        let kinds = |outcome: &&Outcome| {
            let all = outcome.errors.iter().map(|defect| (defect.code.name, &*defect.subject));
            all.collect::<std::collections::BTreeSet<_>>().len()
        };
        let mut worst: Vec<&Outcome> = outcomes.iter().filter(|outcome| kinds(outcome) > 1).collect();
        worst.sort_by_key(|outcome| std::cmp::Reverse(kinds(outcome)));
        println!("# {} mutants with more than one kind of defect", worst.len());
        let mut shown: BTreeMap<&str, usize> = BTreeMap::new();
        for outcome in worst {
            let times = shown.entry(outcome.mutant.operator).or_default();
            *times += 1;
            if *times > 3 {
                continue;
            }
            println!("{} {}: {}", outcome.errors.len(), outcome.mutant.operator, outcome.change());
            for defect in outcome.errors.iter().take(6) {
                println!("    {} {}: {}", defect.code.name, defect.path, defect.message);
            }
        }
        return;
    }
    let path = root().join("tests/mutations.md");
    let written = fs::read_to_string(&path).unwrap_or_default();
    let text = document(&outcomes, &reasons(&written));
    if let Some(file) = std::env::var_os("MUTATE_ALL") {
        fs::write(file, &text).expect("the document can be written");
    } else if update_expectations() {
        fs::write(&path, &text).expect("the table can be written");
    } else {
        assert!(
            text == written,
            "tests/mutations.md is stale: UPDATE_EXPECT=1 cargo test -p tileops-tests --test mutations"
        );
    }
    let table = tally(&outcomes);
    let wrong = table.iter().filter(|((verdict, _), _)| *verdict == Verdict::Wrong);
    let (total, placed) = wrong.fold((0, 0), |(total, placed), (_, row)| (total + row.total, placed + row.placed));
    assert!(placed * 100 >= total * 95, "{placed} of {total} mutants that make an entry wrong are reported in place");
    let unexplained = text.lines().filter(|line| matches!(line.trim(), "?")).count();
    assert_eq!(unexplained, 0, "mutants in tests/mutations.md have no reason");
}
