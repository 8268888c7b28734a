//! `tileops-roofline compare`, as a shell would see it.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;
use tempfile::TempDir;

/// A record of `op` at about `ns`, within 1 % of it, at the given SM clock.
fn record(op: &str, ns: f64, mhz: &str, rest: &str) -> String {
    let clocks = if mhz.is_empty() { String::new() } else { format!(r#","clocks":{{"sm_mhz":{mhz}}}"#) };
    let (low, high) = (ns * 0.995, ns * 1.005);
    format!(
        r#"{{"schema":"tileops.record/1","op":"{op}","case":"big-bfloat16","flops":8,"bytes":16,"entry_hash":"e1","timing":{{"source":"cupti","device_busy_ns":{ns},"p10_ns":{low},"p90_ns":{high},"median_low_ns":{low},"median_high_ns":{high},"samples":50{clocks}}},"device":{{"name":"NVIDIA H200"}}{rest}}}"#
    )
}

fn old() -> String {
    [
        record("AddFwdOp", 1e5, "1980", ""),
        record("CastFwdOp", 1e5, "1980", ""),
        record("DivFwdOp", 1e5, "", ""),
        record("ExpFwdOp", 1e5, "1980", ""),
        record("GoneFwdOp", 1e5, "1980", ""),
        record("HungFwdOp", 1e5, "1980", ""),
        record("MulFwdOp", 1e5, "1980", ""),
        record("NegFwdOp", 1e5, "1980", ""),
        record("AddFwdOp", 2e5, "1980", r#","peer":"torch""#),
    ]
    .join("\n")
}

fn new() -> String {
    let failed = r#"{"schema":"tileops.record/1","op":"HungFwdOp","case":"big-bfloat16","flops":8,"bytes":16,"failure":{"kind":"hung","message":"killed after 30 s"}}"#;
    [
        record("AddFwdOp", 1.1e5, "1980", ""),
        record("CastFwdOp", 0.8e5, "1980", ""),
        record("DivFwdOp", 1.3e5, "", ""),
        record("ExpFwdOp", 1.1e5, "1800", ""),
        failed.to_owned(),
        record("MulFwdOp", 1.001e5, "1980", "").replace(r#""bytes":16"#, r#""bytes":24"#).replace("e1", "e2"),
        record("NegFwdOp", 1.001e5, "1980", ""),
        record("NewFwdOp", 1e5, "1980", ""),
        record("AddFwdOp", 2.02e5, "1980", r#","peer":"torch""#),
    ]
    .join("\n")
}

fn project(old: &str, new: &str) -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("old.jsonl"), old).expect("written");
    fs::write(folder.path().join("new.jsonl"), new).expect("written");
    folder
}

fn compare(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_tileops-roofline"))
        .args(["compare", "old.jsonl", "new.jsonl"])
        .args(arguments)
        .current_dir(folder)
        .output()
        .expect("the program runs")
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("UTF-8")
}

#[test]
fn every_format_tells_times_formulas_and_rows_apart() {
    let folder = project(&old(), &new());
    for (name, arguments) in [
        ("compare_table", ["--format", "table"].as_slice()),
        ("compare_explain", &["--explain", "--all"]),
        ("compare_markdown", &["--format", "markdown"]),
        ("compare_json", &["--format", "json"]),
    ] {
        let output = compare(folder.path(), arguments);
        assert_eq!(output.status.code(), Some(1), "{name}: {}", String::from_utf8_lossy(&output.stderr));
        insta::assert_snapshot!(name, stdout(&output));
    }
}

#[test]
fn the_exit_code_is_what_fail_on_asks_for() {
    let code = |old: &str, new: &str, arguments: &[&str]| compare(project(old, new).path(), arguments).status.code();
    let (slow, fast) = (record("AddFwdOp", 1.1e5, "1980", ""), record("AddFwdOp", 1e5, "1980", ""));
    assert_eq!(code(&fast, &slow, &[]), Some(1));
    assert_eq!(code(&slow, &fast, &[]), Some(0));
    assert_eq!(code(&fast, &slow, &["--fail-on", "never"]), Some(0));
    let unclocked = record("AddFwdOp", 1.1e5, "", "");
    assert_eq!(code(&fast, &unclocked, &[]), Some(0));
    assert_eq!(code(&fast, &unclocked, &["--fail-on", "slower,ambiguous"]), Some(1));
    assert_eq!(code(&fast, &unclocked, &["--assume-equal-clocks"]), Some(1));
    assert_eq!(code(&fast, r#"{"schema":"tileops.record/1","op":"AddFwdOp","case":"big-bfloat16"}"#, &[]), Some(0));
    assert_eq!(
        code(
            &fast,
            r#"{"schema":"tileops.record/1","op":"AddFwdOp","case":"big-bfloat16"}"#,
            &["--fail-on", "unknown"]
        ),
        Some(1)
    );
    let failed = r#"{"schema":"tileops.record/1","op":"AddFwdOp","case":"big-bfloat16","failure":{"kind":"crashed"}}"#;
    assert_eq!(code(&fast, failed, &[]), Some(1), "a row that no longer runs is no better than a slow one");
    assert_eq!(code(&fast, "{", &[]), Some(2));
    assert_eq!(code(&fast, &fast, &["--resolution", "0"]), Some(2));
}

#[test]
fn runs_of_one_side_count_together_and_peers_are_rows_on_request() {
    let runs = [1e5, 1.02e5, 1.04e5].map(|ns| record("AddFwdOp", ns, "1980", "")).join("\n");
    let folder = project(&runs, &record("AddFwdOp", 1.045e5, "1980", ""));
    let report: Value = serde_json::from_str(&stdout(&compare(folder.path(), &["--format", "json"]))).expect("JSON");
    assert_eq!((&report["rows"][0]["old"]["runs"], &report["rows"][0]["old"]["ns"]), (&3.into(), &1.02e5.into()));
    let folder = project(&old(), &new());
    let count = |arguments: &[&str]| {
        let report: Value = serde_json::from_str(&stdout(&compare(folder.path(), arguments))).expect("JSON");
        report["rows"].as_array().expect("rows").iter().filter(|row| row["peer"] == "torch").count()
    };
    assert_eq!((count(&["--format", "json"]), count(&["--format", "json", "--peers"])), (0, 1));
}

#[test]
fn the_documentation_names_every_reason() {
    let page =
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/compare.md")).expect("the page");
    for reason in tileops_roofline::compare::Reason::ALL {
        let row = format!("| `{}` | {} |", reason.code(), reason.meaning());
        assert!(page.contains(&row), "docs/compare.md lacks {row}");
    }
}
