//! Each format on the same hand-made outcome.

use std::sync::Arc;

use tileops_analyzer::defect::codes;
use tileops_analyzer::text::{TextRange, TextSize};

use super::{Style, render, statistics};
use crate::cli::Format;
use crate::diagnostic::{Diagnostic, JudgedFile, Level, Outcome, Problem, Related};
use crate::exit::Exit;
use crate::source::Source;

const TEXT: &str =
    "DemoFwdOp:\n  family: demo  # 😀, 100%\n  shape: \"[é, Q]\"\n  let: {Q: 1, Q: 2}\r\n  x: >-\n    a\n    b\n";

fn range(needle: &str, nth: usize) -> TextRange {
    let (start, part) = TEXT.match_indices(needle).nth(nth).expect("the text has it");
    TextRange::at(TextSize::new(start as u32), TextSize::of(part))
}

fn outcome() -> Outcome {
    let source = Arc::new(Source::new("manifest/de mo.yaml".into(), TEXT.into()));
    let other = Arc::new(Source::new("manifest/types.yaml".into(), "adts:\n  Layout: {}\n".into()));
    let entry = Some(Arc::from("DemoFwdOp"));
    let base = Diagnostic {
        source: source.clone(),
        entry: entry.clone(),
        rule: Some(&codes::UNKNOWN_NAME),
        level: Level::Error,
        path: "signature.inputs.x.shape".to_owned(),
        subject: "Q".to_owned(),
        message: "`Q` is not declared".to_owned(),
        help: Some("did you mean `M`?".to_owned()),
        related: Vec::new(),
        range: range("Q", 0),
    };
    let mut diagnostics = vec![
        Diagnostic {
            entry: None,
            rule: Some(&codes::UNUSED_SUPPRESSION),
            level: Level::Advisory,
            path: String::new(),
            message: "of 100%, a: b,\nnothing".to_owned(),
            help: None,
            range: range("😀", 0),
            ..base.clone()
        },
        base.clone(),
        Diagnostic {
            rule: Some(&codes::DUPLICATE_KEY),
            path: "let.Q".to_owned(),
            message: "the key `Q` is repeated".to_owned(),
            help: None,
            related: vec![
                Related {
                    source: source.clone(),
                    range: range("Q", 1),
                    message: "it is first written here".to_owned(),
                },
                Related {
                    source: other.clone(),
                    range: TextRange::new(TextSize::new(8), TextSize::new(14)),
                    message: "`Layout` is declared here".to_owned(),
                },
            ],
            range: range("Q", 2),
            ..base.clone()
        },
        Diagnostic {
            rule: None,
            level: Level::Unreached,
            path: "x".to_owned(),
            subject: "signature.forall".to_owned(),
            message: "the kind of this formula is not judged: it needs signature.forall".to_owned(),
            help: None,
            range: TextRange::new(range(">-", 0).start(), TextSize::of(TEXT)),
            ..base
        },
    ];
    diagnostics.sort_by(Diagnostic::order);
    Outcome {
        diagnostics,
        files: vec![
            JudgedFile { source, entries: vec![entry, Some(Arc::from("OtherFwdOp"))] },
            JudgedFile { source: other, entries: Vec::new() },
        ],
        problems: vec![Problem { path: "gone.yaml".to_owned(), message: "No such file or directory".to_owned() }],
        unreached: 1,
        ..Outcome::default()
    }
}

fn rendered(format: Format, outcome: &Outcome) -> String {
    let mut out = Vec::new();
    let style = Style { styled: false, statistics: false, exit: Exit::Failure };
    render(format, outcome, &style, &mut out).expect("a vector takes everything");
    String::from_utf8(out).expect("reports are UTF-8")
}

#[test]
fn human() {
    insta::assert_snapshot!(rendered(Format::Human, &outcome()));
}

#[test]
fn concise() {
    insta::assert_snapshot!(rendered(Format::Concise, &outcome()));
}

#[test]
fn json() {
    insta::assert_snapshot!(rendered(Format::Json, &outcome()));
}

#[test]
fn github() {
    insta::assert_snapshot!(rendered(Format::Github, &outcome()));
}

#[test]
fn gitlab() {
    insta::assert_snapshot!(rendered(Format::Gitlab, &outcome()));
}

#[test]
fn junit() {
    insta::assert_snapshot!(rendered(Format::Junit, &outcome()));
}

#[test]
fn sarif() {
    let mut report: serde_json::Value = serde_json::from_str(&rendered(Format::Sarif, &outcome())).expect("JSON");
    let run = &mut report["runs"][0];
    let rules = run["tool"]["driver"]["rules"].as_array().expect("rules").clone();
    for result in run["results"].as_array().expect("results") {
        let index = result["ruleIndex"].as_u64().expect("an index") as usize;
        assert_eq!(rules[index]["id"], result["ruleId"]);
    }
    // What the registry says is not this snapshot's concern.
    run["tool"]["driver"]["rules"] = serde_json::Value::Null;
    run["originalUriBaseIds"] = serde_json::Value::Null;
    for result in run["results"].as_array_mut().expect("results") {
        result["ruleIndex"] = serde_json::Value::Null;
    }
    insta::assert_snapshot!(serde_json::to_string_pretty(&report).expect("JSON"));
}

#[test]
fn a_clean_outcome_is_said_in_every_format() {
    let mut outcome = outcome();
    outcome.diagnostics.clear();
    outcome.problems.clear();
    assert_eq!(rendered(Format::Human, &outcome), "no defects in 2 files, 2 entries\n");
    assert_eq!(rendered(Format::Concise, &outcome), "");
    assert_eq!(rendered(Format::Github, &outcome), "");
    assert_eq!(rendered(Format::Json, &outcome), "[]\n");
    assert_eq!(rendered(Format::Gitlab, &outcome), "[]\n");
    assert!(rendered(Format::Junit, &outcome).contains("failures=\"0\""));
}

#[test]
fn statistics_count_by_code() {
    insta::assert_snapshot!(statistics(&outcome()));
}

#[test]
fn a_long_line_is_not_shown_whole() {
    let text = format!("a: \"{}Q{}\"\n", "x + ".repeat(1_000), " + é".repeat(100_000));
    let mut outcome = outcome();
    outcome.diagnostics.truncate(1);
    for diagnostic in &mut outcome.diagnostics {
        let start = TextSize::new(text.find('Q').expect("it is there") as u32);
        diagnostic.range = TextRange::at(start, TextSize::new(1));
        diagnostic.source = Arc::new(Source::new("a.yaml".into(), text.as_str().into()));
    }
    let report = rendered(Format::Human, &outcome);
    assert!(report.len() < 2_000 && report.contains("a.yaml:1:4005") && report.contains("x + Q + é"), "{report}");
}
