mod completion;
mod hints;
mod hover;
mod links;
mod signature_help;

use super::*;
use crate::db::AnalysisDb;
use crate::text::{TextRange, TextSize};

const DEMO: &str = r#"DemoFwdOp:
  family: demo
  status: spec-only
  signature:
    forall: {M: Dim, K: Dim, T: "DType[float16 | bfloat16]"}
    params:
      mode: {type: "'tight' | 'loose'", default: tight}
      scale: {type: "int | None", default: null}
    inputs:
      x: {dtype: T, shape: "[M, K]"}
      bias: {dtype: T, shape: "[K]", optional: true}
    outputs:
      y: {dtype: T, shape: "[M, K]"}
    shape_rules:
    - "mode == 'tight' or M > 0"
  workloads:
  - {M: 4, K: 8, dtype_cases: [{T: float16}], label: small}
  roofline:
    flops: "2 * M * K"
"#;

fn open(text: &str) -> AnalysisDb {
    let mut db = AnalysisDb::default();
    db.set_file("m/demo.yaml", text, true);
    db
}

/// Replaces `from` (once) by `to`, which holds the cursor as `$0`, and gives the database and the cursor.
fn at(from: &str, to: &str) -> (AnalysisDb, TextSize) {
    assert!(DEMO.contains(from), "{from}");
    let text = DEMO.replacen(from, to, 1);
    let offset = text.find("$0").expect("a cursor");
    (open(&text.replace("$0", "")), TextSize::new(offset as u32))
}

/// A text without its `$0`, and where that stood.
fn cursor(text: &str) -> (AnalysisDb, TextSize) {
    let offset = text.find("$0").expect("a cursor");
    (open(&text.replacen("$0", "", 1)), TextSize::new(offset as u32))
}

fn labels(from: &str, to: &str) -> Vec<String> {
    let (db, offset) = at(from, to);
    completions(&db, "m/demo.yaml", offset).into_iter().map(|item| item.label).collect()
}

#[track_caller]
fn check_completion(from: &str, to: &str, there: &[&str], not_there: &[&str]) {
    let found = labels(from, to);
    for label in there {
        assert!(found.iter().any(|other| other == label), "no `{label}` in {found:?}");
    }
    for label in not_there {
        assert!(!found.iter().any(|other| other == label), "`{label}` in {found:?}");
    }
}

#[test]
fn completion_offers_what_is_allowed() {
    check_completion(
        "x: {dtype: T, shape: \"[M, K]\"}",
        "x: {dtype: T, sh$0}",
        &["shape", "mutated"],
        &["dtype", "alias"],
    );
    check_completion("    shape_rules:", "    $0\n    shape_rules:", &["let", "types"], &["inputs", "family"]);
    check_completion("{M: Dim,", "{M: $0,", &["Dim", "Shape"], &[]);
    check_completion("\"2 * M * K\"", "\"2 * $0\"", &["M", "K", "prod", "bytes"], &["T", "x", "mode"]);
    check_completion("\"2 * M * K\"", "\"2 * M * bytes($0)\"", &["x", "y"], &["M"]);
    check_completion("\"[M, K]\"", "\"[M, $0", &["M", "K", "ceil_div"], &["T", "x", "bytes"]);
    check_completion("'tight' or M > 0", "$0\"\n    - \"M > 0", &["'tight'", "'loose'"], &["'float16'"]);
    check_completion("spec-only", "$0", &["implemented", "spec-only"], &[]);
    check_completion("{M: 4, K: 8,", "{M: 4, $0", &["K", "mode", "some"], &["M", "T"]);
    check_completion("T: float16}", "T: $0}", &["float16", "bfloat16"], &["int8"]);
    check_completion("\"2 * M * K\"", "\"scale.$0 if present(scale) else 0\"", &["value"], &["kind"]);
}

#[test]
fn a_name_is_followed_and_renamed() {
    let (db, offset) = at("\"2 * M * K\"", "\"2 * $0M * K\"");
    let found = definition(&db, "m/demo.yaml", offset).expect("a definition");
    let text = db.text("m/demo.yaml").unwrap_or_default();
    assert_eq!(usize::from(found.targets[0].range.start()), text.find("M: Dim").expect("declared"));
    assert_eq!(references(&db, "m/demo.yaml", offset, true).len(), 6);
    let edits = rename(&db, "m/demo.yaml", offset, "Rows").expect("a rename");
    assert_eq!(edits[0].edits.len(), 6);
    assert!(rename(&db, "m/demo.yaml", offset, "K").is_err() && rename(&db, "m/demo.yaml", offset, "a b").is_err());
    let (db, offset) = at("status:", "st$0atus:");
    assert!(prepare_rename(&db, "m/demo.yaml", offset).is_err_and(|why| why.contains("a key")));
}

#[test]
fn every_offset_of_any_text_has_an_answer() {
    let mut texts = vec![DEMO.to_owned(), String::new(), "\u{feff}# é\n".to_owned(), "A: {b: [".to_owned()];
    texts.extend([7, 120, 333, 505, 700].map(|cut: usize| DEMO[..cut.min(DEMO.len())].to_owned()));
    texts.push(DEMO.replace('"', ""));
    texts.push(DEMO.replace("  ", "\t"));
    texts.push(DEMO.replace('}', "é"));
    for text in texts {
        let db = open(&text);
        for offset in (0..text.len() as u32 + 2).step_by(3).map(TextSize::new) {
            let _ = hover(&db, "m/demo.yaml", offset);
            let _ = definition(&db, "m/demo.yaml", offset);
            let _ = completions(&db, "m/demo.yaml", offset);
            let _ = selection_ranges(&db, "m/demo.yaml", offset);
            let _ = rename(&db, "m/demo.yaml", offset, "other");
            let _ = signature_help(&db, "m/demo.yaml", offset);
        }
        let all = TextRange::up_to(TextSize::of(&*text));
        let _ = (document_symbols(&db, "m/demo.yaml"), folding_ranges(&db, "m/demo.yaml"));
        let _ = (semantic_tokens(&db, "m/demo.yaml", all), inlay_hints(&db, "m/demo.yaml", all, HintKinds::default()));
        let _ = (code_lenses(&db, "m/demo.yaml"), workspace_symbols(&db, "d"), document_links(&db, "m/demo.yaml"));
        let _ = row_cases(&db, "m/demo.yaml", all);
    }
}
