//! Links, lenses, and names that lead to other files.

use super::super::*;
use super::hover::with_formula;
use super::{DEMO, open};
use crate::roofline::FormulaLanguage;
use crate::text::TextSize;

const TYPES: &str = "adts:\n  Layout:\n    sum:\n      rows: {fields: {max_m: Dim}}\n      flat: {}\n";
const USER: &str = r#"UserFwdOp:
  family: user
  status: spec-only
  ref_api: torch.nn.functional.linear
  signature:
    forall: {M: Dim}
    params: {layout: {type: Layout}}
    inputs: {x: {dtype: float32, shape: "[M]"}}
    outputs: {y: {dtype: float32, shape: "[M]"}}
    shape_rules:
    - "layout.max_m > 0 if layout.kind == 'rows' else True"
  workloads:
  - {M: 4, layout: {rows: {max_m: 2}}, label: a}
  roofline: {flops: "M"} # tileops: ignore[unused-index, unknown-name]
  composition:
    kind: composite
    stages:
    - {name: first, op: DemoFwdOp}
"#;

fn project() -> crate::db::AnalysisDb {
    let mut db = open(DEMO);
    db.set_file("m/types.yaml", TYPES, true);
    db.set_file("m/user.yaml", USER, true);
    db
}

fn text_of(db: &crate::db::AnalysisDb, place: &Location) -> String {
    let text = db.text(&place.path).expect("a text");
    text[std::ops::Range::<usize>::from(place.range)].to_owned()
}

fn offset(text: &str, needle: &str) -> TextSize {
    TextSize::new(text.find(needle).expect("it is there") as u32)
}

#[test]
fn links_lead_to_ops_types_pages_and_codes() {
    let db = project();
    let found: Vec<(String, String)> = document_links(&db, "m/user.yaml")
        .into_iter()
        .map(|link| {
            let target = match link.target {
                LinkTarget::Place(place) => format!("{}: {}", place.path, text_of(&db, &place)),
                LinkTarget::Code(code) => format!("code {code}"),
                LinkTarget::Page(url) => url,
            };
            (USER[std::ops::Range::<usize>::from(link.range)].to_owned(), target)
        })
        .collect();
    let expected = [
        (
            "torch.nn.functional.linear",
            "https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.linear.html",
        ),
        ("Layout", "m/types.yaml: Layout"),
        ("unused-index", "code unused-index"),
        ("unknown-name", "code unknown-name"),
        ("DemoFwdOp", "m/demo.yaml: DemoFwdOp"),
    ];
    assert_eq!(found, expected.map(|(a, b)| (a.to_owned(), b.to_owned())));
    // Above the first entry too, and no page that nobody wrote.
    let db = open(&format!(
        "# tileops: ignore[yaml-tag]\n\n{}",
        DEMO.replace("family:", "ref_api: torch._scaled_mm\n  family:")
    ));
    let found = document_links(&db, "m/demo.yaml");
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].target, LinkTarget::Code("yaml-tag"));
}

#[test]
fn the_function_of_a_roofline_leads_to_its_source() {
    let text = DEMO.replace("flops: \"2 * M * K\"", "func: tileops.perf.formulas.demo_roofline");
    let source = "def other(call): ...\n\ndef demo_roofline(call):\n    \"\"\"Doc.\"\"\"\n";
    let db = with_formula(&text, FormulaLanguage::Python, source);
    let at = offset(&text, "demo_roofline");
    let targets = definition(&db, "m/demo.yaml", at).expect("a definition").targets;
    assert_eq!(&*targets[0].path, "/src/formulas");
    assert_eq!(&source[std::ops::Range::<usize>::from(targets[0].range)], "demo_roofline");
    assert!(matches!(&document_links(&db, "m/demo.yaml")[..], [DocumentLink { target: LinkTarget::Place(_), .. }]));
    assert_eq!(references(&db, "m/demo.yaml", at, true).len(), 2);
    assert_eq!(references(&db, "m/demo.yaml", at, false).len(), 1);
    assert!(prepare_rename(&db, "m/demo.yaml", at).is_err_and(|why| why.contains("formula sources")));
}

#[test]
fn a_lens_counts_what_an_entry_has() {
    let found = code_lenses(&open(DEMO), "m/demo.yaml");
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].op.as_str(), found[0].rows, found[0].cases), ("DemoFwdOp", 1, 1));
    assert!(found[0].points > 1);
}

/// Every text after a rename, in the order of the paths.
fn renamed(db: &crate::db::AnalysisDb, path: &str, at: TextSize, new: &str) -> Vec<String> {
    let mut texts = Vec::new();
    let edits = rename(db, path, at, new).expect("a rename");
    for path in db.paths() {
        let mut text = db.text(path).expect("a text").to_string();
        let mut own: Vec<_> = edits.iter().filter(|file| file.path == *path).flat_map(|file| &file.edits).collect();
        own.sort_by_key(|edit| std::cmp::Reverse(edit.range.start()));
        for edit in own {
            text.replace_range(std::ops::Range::<usize>::from(edit.range), &edit.text);
        }
        texts.push(text);
    }
    texts
}

#[test]
fn types_constructors_fields_and_ops_are_renamed_in_every_file() {
    let db = project();
    let defects = |db: &crate::db::AnalysisDb| {
        let mut found: Vec<String> = Vec::new();
        for path in db.paths() {
            let report = db.report(path).expect("a report");
            found.extend(report.defects.iter().map(|located| located.defect.code.name.to_owned()));
        }
        found
    };
    let before = defects(&db);
    for (path, needle, old, new) in [
        ("m/types.yaml", "Layout:", "Layout", "Placement"),
        ("m/types.yaml", "rows:", "rows", "grouped"),
        ("m/types.yaml", "max_m:", "max_m", "most"),
        ("m/demo.yaml", "DemoFwdOp", "DemoFwdOp", "OtherFwdOp"),
    ] {
        let text = db.text(path).expect("a text");
        let at = offset(&text, needle);
        let texts = renamed(&db, path, at, new);
        let word = |text: &str, word: &str| {
            text.split(|c: char| !(c.is_alphanumeric() || c == '_')).filter(|found| *found == word).count()
        };
        let had: usize = db.paths().filter_map(|path| db.text(path)).map(|text| word(&text, old)).sum();
        assert!(had >= 2, "{old}");
        assert_eq!(texts.iter().map(|text| word(text, new)).sum::<usize>(), had, "{old}: {texts:#?}");
        assert_eq!(texts.iter().map(|text| word(text, old)).sum::<usize>(), 0, "{old}: {texts:#?}");
        assert_eq!(references(&db, path, at, true).len(), had, "{old}");
        // What was right is right still.
        let mut after = crate::db::AnalysisDb::default();
        for (path, text) in db.paths().zip(&texts) {
            after.set_file(path, text, true);
        }
        assert_eq!(defects(&after), before, "{old}: {texts:#?}");
        // From a use in another file the same comes of it.
        let used = references(&db, path, at, false);
        assert_eq!(renamed(&db, &used[0].path, used[0].range.start(), new), texts, "{old}");
        let there = definition(&db, &used[0].path, used[0].range.start()).expect("a definition");
        assert_eq!(text_of(&db, &there.targets[0]), old);
    }
}
