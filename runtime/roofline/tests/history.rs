//! `tileops-roofline history`, as a shell would see it, and its Parquet file, as DuckDB reads it.

#![allow(clippy::print_stdout, reason = "a test that is skipped says so")]

use std::path::Path;
use std::process::{Command, Output};
use std::{env, fs};

use serde_json::Value;
use tempfile::TempDir;

const PROFILE: &str = "\
gpu: Test GPU
hbm: {bandwidth: 2.0e+12, calibration: 0.5}
cuda_core: {fp32: {flops: 2.0e+14, calibration: 0.5}}
latency_floor_ns: 1000
";

struct Row<'a> {
    op: &'a str,
    ns: f64,
    bytes: u64,
    rest: &'a str,
}

fn record(row: &Row<'_>, night: usize) -> String {
    let Row { op, ns, bytes, rest } = row;
    let (low, high) = (ns * 0.998, ns * 1.002);
    format!(
        r#"{{"schema":"tileops.record/1","op":"{op}","case":"a|b","flops":1,"bytes":{bytes},"roof_key":"cuda_core.fp32","timing":{{"source":"cupti","device_busy_ns":{ns},"median_low_ns":{low},"median_high_ns":{high},"samples":50,"clocks":{{"sm_mhz":1980}}}},"device":{{"name":"Test GPU"}},"run":{{"tool":"tileops-bench","started":"2026-11-{:02}T02:00:00Z"}}{rest}}}"#,
        night + 1
    )
}

/// Ten nights: one op creeps, one becomes slower for good, one for two nights, one has another formula, one fails.
fn nights(folder: &Path) {
    for night in 0..10 {
        let mut lines = Vec::new();
        let mut push = |op: &str, ns: f64, bytes: u64| lines.push(record(&Row { op, ns, bytes, rest: "" }, night));
        push("CreepFwdOp", 100_000.0 * (1.0 + 0.001 * night as f64), 80_000_000);
        push("SlowFwdOp", if night < 6 { 100_000.0 } else { 112_000.0 }, 80_000_000);
        push("BlipFwdOp", if night == 4 || night == 5 { 130_000.0 } else { 100_000.0 }, 80_000_000);
        push("FormulaFwdOp", 100_000.0, if night < 5 { 50_000_000 } else { 80_000_000 });
        push("SteadyFwdOp", 100_000.0, 80_000_000);
        push("FailFwdOp", 100_000.0, 80_000_000);
        if night >= 8 {
            lines.pop();
            lines.push(r#"{"schema":"tileops.record/1","op":"FailFwdOp","case":"a|b","flops":1,"bytes":80000000,"failure":{"kind":"crashed","message":"illegal address"}}"#.to_owned());
        }
        lines.push(record(
            &Row { op: "SteadyFwdOp", ns: 120_000.0, bytes: 80_000_000, rest: r#","peer":"torch""# },
            night,
        ));
        // Their names sort otherwise than their ages: the records say when they ran.
        let own = folder.join(format!("run-{}", 9 - night));
        fs::create_dir_all(&own).expect("a folder");
        fs::write(own.join("r.jsonl"), lines.join("\n")).expect("written");
        if night == 0 {
            fs::write(own.join("profile.yaml"), PROFILE).expect("written");
        }
        if night == 7 {
            fs::write(own.join("profile.yaml"), PROFILE.replace("calibration: 0.5}\ncuda", "calibration: 0.4}\ncuda"))
                .expect("written");
        }
    }
}

fn project() -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    nights(&folder.path().join("nights"));
    fs::create_dir(folder.path().join("nights/notes")).expect("a folder");
    fs::write(folder.path().join("gpu.yaml"), PROFILE).expect("written");
    fs::write(folder.path().join("new.yaml"), PROFILE.replace("bandwidth: 2.0e+12", "bandwidth: 2.5e+12"))
        .expect("written");
    folder
}

fn history(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_tileops-roofline"))
        .args(["history", "nights"])
        .args(arguments)
        .current_dir(folder)
        .output()
        .expect("the program runs")
}

fn stdout(output: &Output) -> String {
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    String::from_utf8(output.stdout.clone()).expect("UTF-8")
}

#[test]
fn the_table_says_what_happened_and_when() {
    let folder = project();
    let output = history(folder.path(), &[]);
    assert_eq!(output.status.code(), Some(1), "there is a regression");
    insta::assert_snapshot!("history_table", stdout(&output));
    insta::assert_snapshot!("history_markdown", stdout(&history(folder.path(), &["--format", "markdown", "--all"])));
}

#[test]
fn the_json_form_has_every_point_and_every_event() {
    let folder = project();
    let report: Value = serde_json::from_str(&stdout(&history(folder.path(), &["--format", "json"]))).expect("JSON");
    assert_eq!(report["summary"], serde_json::json!({"nights": 10, "rows": 6, "regressions": 1}));
    let row = |op: &str| report["rows"].as_array().expect("rows").iter().find(|r| r["op"] == op).expect(op);
    let night = |n: usize| Value::from(format!("run-{}", 9 - n));
    assert_eq!(row("SlowFwdOp")["regression"]["since"], night(6));
    assert_eq!(row("SlowFwdOp")["regression"]["ratio"], 1.12);
    let events = |op: &str| {
        let events = row(op)["events"].as_array().expect("events").iter();
        events.map(|e| (e["night"].clone(), e["what"].as_str().expect("a word").to_owned())).collect::<Vec<_>>()
    };
    assert_eq!(events("BlipFwdOp"), [(night(4), "slower".to_owned()), (night(6), "faster".to_owned())]);
    assert_eq!(row("BlipFwdOp")["regression"], Value::Null, "it was undone");
    assert_eq!(events("FormulaFwdOp"), [(night(5), "formula".to_owned())]);
    assert_eq!(events("FailFwdOp"), [(night(8), "failed".to_owned())]);
    assert_eq!(events("SteadyFwdOp"), []);
    assert_eq!((&row("CreepFwdOp")["trend"]["direction"], events("CreepFwdOp").len()), (&"rising".into(), 0));
    assert_eq!(row("SteadyFwdOp")["trend"]["direction"], "level");
    assert_eq!(row("SteadyFwdOp")["points"].as_array().map(Vec::len), Some(10), "the peer is no row");
    // 80 MB at 1 TB/s are 80 us; the profile of the seventh night gives 0.8 TB/s.
    let efficiency = |n: usize| row("SteadyFwdOp")["points"][n]["efficiency"].as_f64().expect("a reading");
    assert_eq!((efficiency(0), efficiency(6), efficiency(7), efficiency(9)), (0.8, 0.8, 1.0, 1.0));
    assert_eq!(report["profiles"][0]["night"], night(7));
    assert_eq!(report["profiles"][0]["ceilings"], serde_json::json!([{"key": "hbm", "old": 1e12, "new": 0.8e12}]));
}

#[test]
fn another_profile_changes_efficiencies_and_no_measurement() {
    let folder = project();
    let run = |profile: &str| {
        let output = history(folder.path(), &["--format", "json", "--profile", profile]);
        serde_json::from_str::<Value>(&stdout(&output)).expect("JSON")
    };
    let (old, new) = (run("gpu.yaml"), run("new.yaml"));
    let mut compared = 0;
    for (a, b) in old["rows"].as_array().expect("rows").iter().zip(new["rows"].as_array().expect("rows")) {
        for (p, q) in a["points"].as_array().expect("points").iter().zip(b["points"].as_array().expect("points")) {
            assert_eq!((&p["ns"], &p["change"], &p["change_ratio"]), (&q["ns"], &q["change"], &q["change_ratio"]));
            if let (Some(e), Some(f)) = (p["efficiency"].as_f64(), q["efficiency"].as_f64()) {
                assert!((e / f - 1.25).abs() < 1e-12, "{e} {f}");
                compared += 1;
            }
        }
    }
    assert_eq!(compared, 58);
    assert_eq!(old["profiles"], Value::Array(vec![]), "one profile priced every night");
}

#[test]
fn what_is_no_night_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let output = history(folder.path(), &[]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).starts_with("error: nights: "));
    fs::create_dir(folder.path().join("nights")).expect("a folder");
    let output = history(folder.path(), &[]);
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(
        String::from_utf8_lossy(&output.stderr),
        "error: nights: no night here: a night is a folder with files of records, or such a file\n"
    );
    nights(&folder.path().join("nights"));
    fs::write(folder.path().join("nights/run-3/profile.yaml"), "gpu: 1\n").expect("written");
    fs::write(folder.path().join("nights/run-4/torn.jsonl"), "{").expect("written");
    let output = history(folder.path(), &[]);
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(errors.contains("run-3/profile.yaml: not a GPU profile: "), "{errors}");
    assert!(errors.contains("run-4/torn.jsonl:1: not a record: "), "{errors}");
    assert!(String::from_utf8_lossy(&output.stdout).contains("10 nights"), "the rest is reported");
}

/// Whether Python has DuckDB. CI has to.
fn duckdb() -> bool {
    let found = Command::new("python3").args(["-c", "import duckdb"]).output().is_ok_and(|o| o.status.success());
    assert!(found || env::var_os("CI").is_none(), "CI has to have DuckDB for Python");
    found
}

/// What DuckDB makes of a query, as JSON.
fn query(folder: &Path, sql: &str) -> Value {
    let script = "import duckdb, json, sys\nprint(json.dumps(duckdb.sql(sys.argv[1]).fetchall()))";
    let output = Command::new("python3").args(["-c", script, sql]).current_dir(folder).output().expect("Python runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

#[test]
fn duckdb_reads_the_parquet_file_as_it_is() {
    if !duckdb() {
        println!("skipped: python3 has no duckdb");
        return;
    }
    let folder = project();
    for (profile, file) in [("gpu.yaml", "old.parquet"), ("new.yaml", "new.parquet")] {
        history(folder.path(), &["--parquet", file, "--profile", profile]);
    }
    let one = |sql: &str| query(folder.path(), sql)[0].clone();
    assert_eq!(
        one("select count(*), count(peer), count(efficiency), count(failure) from 'old.parquet'"),
        serde_json::json!([70, 10, 68, 2])
    );
    assert_eq!(
        one("select typeof(flops), typeof(actual_ns), typeof(op), typeof(latency_bound) from 'old.parquet' limit 1"),
        serde_json::json!(["BIGINT", "DOUBLE", "VARCHAR", "BOOLEAN"])
    );
    let measured = query(
        folder.path(),
        "select night, started, actual_ns, bytes, sm_mhz from 'old.parquet' where op = 'SlowFwdOp' order by started",
    );
    assert_eq!(measured[0], serde_json::json!(["run-9", "2026-11-01T02:00:00Z", 100_000.0, 80_000_000, 1980.0]));
    assert_eq!(measured[9], serde_json::json!(["run-0", "2026-11-10T02:00:00Z", 112_000.0, 80_000_000, 1980.0]));
    let changes = query(
        folder.path(),
        "select night, round(change_ratio, 3), change_reasons from 'old.parquet' where change = 'slower' and op = 'SlowFwdOp'",
    );
    assert_eq!(changes, serde_json::json!([["run-3", 1.12, "intervals-apart,cycles-confirm"]]));
    // A blank efficiency is null, which no average counts.
    assert_eq!(
        one("select round(avg(efficiency), 9), count(blank_reason) from 'old.parquet' where op = 'FailFwdOp'"),
        serde_json::json!([0.8, 2])
    );
    // The record itself is there, word for word.
    let kept = one("select record from 'old.parquet' where op = 'SlowFwdOp' and night = 'run-9'")[0]
        .as_str()
        .expect("text")
        .to_owned();
    let written = record(&Row { op: "SlowFwdOp", ns: 100_000.0, bytes: 80_000_000, rest: "" }, 0);
    assert_eq!(
        serde_json::from_str::<tileops_record::Record>(&kept).expect("a record"),
        serde_json::from_str(&written).expect("a record")
    );
    // Another profile: every measurement as it was, every efficiency another one.
    let same = "select count(*) from 'old.parquet' a join 'new.parquet' b using (night, op, \"case\") \
        where a.peer is not distinct from b.peer and a.record = b.record and a.actual_ns is not distinct from b.actual_ns";
    assert_eq!(one(same), serde_json::json!([70]));
    let other = "select count(*) from 'old.parquet' a join 'new.parquet' b using (night, op, \"case\") \
        where a.peer is null and b.peer is null and a.efficiency <> b.efficiency and a.profile <> b.profile";
    assert_eq!(one(other), serde_json::json!([58]));
}
