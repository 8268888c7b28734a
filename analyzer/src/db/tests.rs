//! What is executed again, and what is not.

use std::sync::Mutex;

use proptest::prelude::*;

use super::*;
use crate::workspace::TieIndex;

/// A database, and what it executed since it was last asked.
struct Watched {
    db: AnalysisDb,
    executed: Arc<Mutex<Vec<String>>>,
}

impl Watched {
    fn new(files: &[(&str, &str)]) -> Self {
        let executed: Arc<Mutex<Vec<String>>> = Arc::default();
        let log = executed.clone();
        let mut db = AnalysisDb::new(Some(Box::new(move |event: salsa::Event| {
            let what = match event.kind {
                salsa::EventKind::WillExecute { database_key } => format!("{database_key:?}"),
                salsa::EventKind::DidValidateMemoizedValue { database_key } => format!("still {database_key:?}"),
                salsa::EventKind::DidValidateInternedValue { key, .. } => format!("still {key:?}"),
                _ => return,
            };
            log.lock().expect("no test panics while it holds the lock").push(what);
        })));
        for (path, text) in files {
            db.set_file(path, text, true);
        }
        let watched = Watched { db, executed };
        watched.check();
        watched.executed(""); // what the first check executed is of no interest
        watched
    }

    /// Reports on every file, and says how many defects there are.
    fn check(&self) -> usize {
        self.db.paths().filter_map(|path| self.db.report(path)).map(|report| report.defects.len()).sum()
    }

    /// How often the query was executed since this was last called.
    fn executed(&self, query: &str) -> usize {
        let mut log = self.executed.lock().expect("no test panics while it holds the lock");
        let count = log.iter().filter(|key| key.starts_with(query)).count();
        log.clear();
        count
    }

    fn analyses_after(&mut self, path: &str, text: &str) -> usize {
        self.db.set_file(path, text, true);
        self.check();
        self.executed("entry_analysis")
    }
}

fn entry(name: &str, ty: &str, flops: &str) -> String {
    format!(
        "{name}:\n  family: demo\n  status: spec-only\n  signature:\n    forall: {{M: Dim}}\n    params: {{p: {{type: {ty}}}}}\n    \
         inputs: {{x: {{dtype: float32, shape: \"[M]\"}}}}\n    outputs: {{y: {{dtype: float32, shape: \"[M]\"}}}}\n  \
         workloads:\n  - {{M: 4, p: 1, label: small}}\n  roofline: {{flops: \"{flops}\"}}\n"
    )
}

const TYPES: &str = "adts:\n  A: {sum: {one: {}, two: {fields: {n: Dim}}}}\n  B: {sum: {one: {}}}\n";

#[test]
fn an_edit_inside_an_entry_re_does_that_entry_only() {
    let files = ["AFwdOp", "BFwdOp", "CFwdOp"].map(|name| entry(name, "int", "M"));
    let mut db = Watched::new(&[("m/demo.yaml", &files.concat())]);
    let edited = format!("{}{}{}", files[0], entry("BFwdOp", "int", "2 * M"), files[2]);
    assert_eq!(db.analyses_after("m/demo.yaml", &edited), 1);
    // Undone, the entry is what it was: nothing is left to do.
    assert_eq!(db.analyses_after("m/demo.yaml", &files.concat()), 0);
}

#[test]
fn an_edit_that_only_moves_entries_re_analyzes_none() {
    let files = ["AFwdOp", "BFwdOp"].map(|name| entry(name, "int", "M"));
    let mut db = Watched::new(&[("m/demo.yaml", &files.concat())]);
    assert_eq!(db.analyses_after("m/demo.yaml", &format!("# A comment.\n\n{}", files.concat())), 0);
    assert_eq!(db.analyses_after("m/demo.yaml", &format!("{}{}", files[1], files[0])), 0);
    let at = db.db.entries("m/demo.yaml");
    assert_eq!(&*at[0].0.entry.name.value, "BFwdOp");
}

#[test]
fn another_file_costs_nothing() {
    let mut db = Watched::new(&[
        ("m/demo.yaml", &entry("AFwdOp", "int", "M")),
        ("m/demo_more.yaml", &entry("BFwdOp", "int", "M")),
    ]);
    assert_eq!(db.analyses_after("m/demo_third.yaml", &entry("CFwdOp", "int", "M")), 1);
}

#[test]
fn a_changed_type_re_judges_only_the_entries_that_name_it() {
    let files = [("AFwdOp", "A"), ("BFwdOp", "B"), ("IFwdOp", "int")].map(|(name, ty)| entry(name, ty, "M"));
    let mut db = Watched::new(&[("m/types.yaml", TYPES), ("m/demo.yaml", &files.concat())]);
    assert_eq!(db.analyses_after("m/types.yaml", &TYPES.replace("n: Dim", "n: Bool")), 1);
    // Moving the types, or a change that no value can show, changes none.
    assert_eq!(db.analyses_after("m/types.yaml", &format!("# Types.\n{}", TYPES.replace("n: Dim", "n: Bool"))), 0);
}

#[test]
fn a_duplicate_op_is_found_without_re_analysis() {
    let mut db = Watched::new(&[
        ("m/demo.yaml", &entry("AFwdOp", "int", "M")),
        ("m/demo_more.yaml", &entry("BFwdOp", "int", "M")),
    ]);
    let before = db.check();
    assert_eq!(db.analyses_after("m/demo_more.yaml", &entry("AFwdOp", "int", "M")), 0);
    assert_eq!(db.check(), before + 1);
    let place = db.db.locate("m/demo_more.yaml", &Place::Op("AFwdOp".to_owned(), 0));
    assert_eq!(place.map(|(path, _)| path).as_deref(), Some("m/demo.yaml"));
    db.db.remove_file("m/demo.yaml");
    assert_eq!(db.check(), 0);
}

#[test]
fn the_memoised_report_is_the_batch_report() {
    let bad = entry("AFwdOp", "A", "M").replace("family: demo", "family: [demo]");
    let files = [
        ("m/types.yaml", TYPES.to_owned()),
        ("m/demo.yaml", format!("{bad}{}", entry("BFwdOp", "int", "M"))),
        ("m/demo_more.yaml", entry("BFwdOp", "B", "M").replace("family: demo", "family: other")),
        ("n/demo.yaml", "# nothing\n".to_owned()),
    ];
    let mut db = AnalysisDb::default();
    for (path, text) in &files {
        db.set_file(path, text, true);
    }
    let sources = files.iter().map(|(path, text)| workspace::SourceFile {
        path: (*path).into(),
        text: text.as_str().into(),
        configured: true,
        judged: true,
    });
    let batch = workspace::Workspace::new(sources.collect());
    let report = batch.finish(batch.entries().iter().map(|entry| batch.analyze(entry)).collect());
    for file in &report.files {
        assert_eq!(db.report(&file.path).as_deref(), Some(file));
    }
}

fn closed(path: &str, text: &str) -> FileText {
    FileText { path: path.into(), text: text.into(), configured: true, open: false }
}

#[test]
fn an_edit_looks_at_no_file_that_is_not_open() {
    let looked_at = |others: usize| {
        let mut db = Watched::new(&[("m/types.yaml", TYPES), ("m/demo.yaml", &entry("AFwdOp", "A", "M"))]);
        let entry_of = |number: usize| entry(&format!("B{number}FwdOp"), "A", "M");
        db.db.set_files((0..others).map(|number| closed(&format!("m/demo_{number}.yaml"), &entry_of(number))));
        db.check();
        // What was interned is let go of after some revisions: the count is steady from then on.
        for round in 0..8 {
            db.db.set_file("m/demo.yaml", &entry("AFwdOp", "A", &format!("{round} * M")), true);
            db.executed("");
            db.db.report("m/demo.yaml").expect("it is there");
            db.db.ties("m/demo.yaml").expect("it is there");
        }
        db.executed("")
    };
    let few = looked_at(2);
    assert!(few > 0);
    assert_eq!(looked_at(200), few);
}

#[test]
fn of_a_file_that_is_not_open_no_analysis_is_kept() {
    let text = entry("AFwdOp", "A", "M");
    let renamed = TYPES.replace("A:", "C:");
    let mut db = Watched::new(&[]);
    db.db.set_files([closed("m/demo.yaml", &text), closed("m/types.yaml", TYPES)]);
    let found = told(&db.db, "m/demo.yaml");
    assert!(!found.is_empty());
    let log = |db: &Watched, query: &str| db.executed(query);
    assert_eq!(log(&db, "entry_analysis") + log(&db, "parsed"), 0);
    // It is judged once, and again where a type changes that it names.
    assert_eq!((told(&db.db, "m/demo.yaml"), log(&db, "closed_entry")), (found.clone(), 0));
    db.db.set_file("m/types.yaml", &renamed, true);
    let after = told(&db.db, "m/demo.yaml");
    assert_eq!(log(&db, "closed_entry"), 1);
    assert_ne!(after, found);
    db.db.set_file("m/types.yaml", &format!("# More.\n{renamed}"), true);
    assert_eq!((told(&db.db, "m/demo.yaml"), log(&db, "closed_entry")), (after, 0));
    // What an editor asks of it is answered all the same, and opened it has the same defects.
    assert_eq!(db.db.entries("m/demo.yaml").len(), 1);
    let closed = db.db.report("m/demo.yaml");
    db.db.set_file("m/demo.yaml", &text, true);
    assert_eq!(db.db.report("m/demo.yaml"), closed);
}

/// What others are told of a file: its defects, each with the places that it names.
fn told(db: &AnalysisDb, path: &str) -> Vec<String> {
    let Some(report) = db.report(path) else { return Vec::new() };
    let place = |place: &Place| format!("{:?}", db.locate(path, place));
    let defects = report.defects.iter().map(|located| {
        let places: Vec<String> = located.defect.related.iter().map(|related| place(&related.place)).collect();
        format!("{located:?} {places:?}")
    });
    defects.chain(report.unreached.iter().map(|unreached| format!("{unreached:?}"))).collect()
}

/// One text of those that a file of the model can have.
fn texts() -> impl Strategy<Value = (usize, Option<String>, bool)> {
    let name = prop::sample::select(vec!["AFwdOp", "BFwdOp", "CFwdOp", "? [x]", "\"AFwdOp\""]);
    let ty = prop::sample::select(vec!["int", "A", "B", "Missing"]);
    let stage = prop::sample::select(vec!["", "AFwdOp", "BFwdOp", "MissingFwdOp"]);
    let one = (name, ty, stage, 0usize..2).prop_map(|(name, ty, stage, above)| {
        let text = entry(name, ty, "M");
        let stages = match stage {
            "" => String::new(),
            op => format!("  composition:\n    kind: composite\n    stages:\n    - {{name: s, op: {op}}}\n"),
        };
        format!("{}{text}{stages}", "# Above.\n".repeat(above))
    });
    let manifest = prop::collection::vec(one, 0..3).prop_map(|entries| entries.concat());
    let types = prop::sample::select(vec![
        TYPES.to_owned(),
        format!("# Moved.\n{TYPES}"),
        TYPES.replace("n: Dim", "n: Bool"),
        TYPES.replace("  B:", "  Missing:"),
        "adts:\n  A: {sum: 3}\n  B: {sum: {one: {}}}\n".to_owned(),
        "not: types\n".to_owned(),
    ]);
    let manifest = (0usize..3, prop::option::weighted(0.9, manifest), any::<bool>());
    let types = (3usize..5, prop::option::weighted(0.9, types), any::<bool>());
    prop_oneof![3 => manifest, 1 => types]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// Whatever changes: each file whose defects are others now is among those that are said to be touched, and what is
    /// said of a file that is open is what is said of one that is not.
    #[test]
    fn what_a_change_touches_is_known(changes in prop::collection::vec(texts(), 1..14)) {
        let paths = ["m/demo.yaml", "m/demo_b.yaml", "m/demo_c.yaml", "m/types.yaml", "m/types.yml"].map(Arc::<str>::from);
        let mut db = AnalysisDb::default();
        db.set_files(paths.iter().map(|path| closed(path, "")));
        let mut index = TieIndex::default();
        for path in &paths {
            index.update(path, db.ties(path), db.types_file(path));
        }
        for (file, text, open) in changes {
            let before: Vec<_> = paths.iter().map(|path| told(&db, path)).collect();
            let path = &paths[file];
            let was_known = db.text(path).is_some();
            match text {
                Some(text) => db.set_files([FileText { open, ..closed(path, &text) }]),
                None => db.remove_file(path),
            }
            let touched = index.update(path, db.ties(path), db.types_file(path));
            // A file that is new touches what it is tied to.
            prop_assert_eq!(touched.was_known, was_known);
            let touched = touched.files;
            for (other, before) in paths.iter().zip(&before) {
                if other != path && told(&db, other) != *before {
                    prop_assert!(touched.contains(other), "{} changed with {}", other, path);
                }
                // Those that point elsewhere now are known by that.
                index.update(other, db.ties(other), db.types_file(other));
            }
            let mut fresh = AnalysisDb::default();
            let texts = paths.iter().filter_map(|path| Some((path, db.text(path)?)));
            fresh.set_files(texts.map(|(path, text)| closed(path, &text)));
            for path in &paths {
                prop_assert_eq!(told(&db, path), told(&fresh, path), "{}", path);
            }
        }
    }
}
