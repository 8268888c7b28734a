//! The program, on our manifest: a record a row, with what the op says.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value as Json;
use tileops_bench::inputs::row_seed;
use tileops_bench::rows::Manifest;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn run(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_tileops-bench"))
        .args(["--price", "--manifest"])
        .arg(root().join("manifest"))
        .args(arguments)
        .output()
        .expect("the program runs")
}

fn lines(bytes: &[u8]) -> Vec<Json> {
    let text = String::from_utf8_lossy(bytes);
    text.lines().map(|line| serde_json::from_str(line).expect("a record a line")).collect()
}

#[test]
fn every_row_has_its_price() {
    let output = run(&[]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let records = lines(&output.stdout);
    let manifest = Manifest::read(&root().join("manifest")).expect("our manifest is clean");
    let rows: Vec<(String, String)> = manifest
        .entries()
        .flat_map(|entry| entry.calls().iter().map(move |call| (entry.op().to_owned(), call.case_id.clone())))
        .collect();
    let said: Vec<(String, String)> = records
        .iter()
        .map(|r| (r["op"].as_str().unwrap_or_default().to_owned(), r["case"].as_str().unwrap_or_default().to_owned()))
        .collect();
    assert!(rows.len() >= 400, "{}", rows.len());
    assert_eq!(said, rows, "a record a row, in their order");
    for record in &records {
        let id = format!("{} {}", record["op"], record["case"]);
        assert_eq!(record["schema"], tileops_record::SCHEMA, "{id}");
        for field in ["flops", "bytes"] {
            assert!(record[field].is_u64(), "{id}: {field} is {}", record[field]);
        }
        for field in ["roof_key", "entry_hash", "family"] {
            assert!(record[field].as_str().is_some_and(|text| !text.is_empty()), "{id}: {field}");
        }
        let read = record.get("read_bytes").and_then(Json::as_u64);
        assert!(read.is_some_and(|read| Some(read) <= record["bytes"].as_u64()), "{id}: {read:?} bytes are read");
    }
}

/// What another program draws a row's inputs by: a generator of the row's own, and what the op's reference draws from.
#[test]
fn a_row_with_values_says_what_its_inputs_hold() {
    let output = run(&["--values"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let (mut least, mut stated) = (None, 0);
    for row in lines(&output.stdout) {
        let (op, case) = (row["op"].as_str().unwrap_or_default(), row["case"].as_str().unwrap_or_default());
        assert_eq!(row["seed"], row_seed(op, case), "{op} {case}");
        for tensor in row["tensors"].as_array().into_iter().flatten() {
            let (name, effect) = (tensor["name"].as_str().unwrap_or_default(), tensor["effect"].as_str());
            let (drawn, values) = (row["distributions"].get(name), row["values"].get(name));
            let many = usize::from(drawn.is_some()) + usize::from(values.is_some());
            // A cache that a call writes into is passed to it, too.
            let due = if matches!(effect, Some("read" | "mutate")) { 1..=1 } else { 0..=1 };
            assert!(due.contains(&many), "{op} {case} {name}: {many}");
            stated += usize::from(values.is_some());
        }
        if op == "LogFwdOp" {
            least = row["distributions"]["x"]["uniform"]["low"].as_f64();
        }
    }
    assert!(least.is_some_and(|least| least > 0.0), "a logarithm is of what is positive: {least:?}");
    assert!(stated > 10, "{stated}");
}

#[test]
fn a_file_is_written_whole_and_compressed_by_its_name() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let plain = folder.path().join("prices.jsonl");
    let packed = folder.path().join("prices.jsonl.zst");
    for path in [&plain, &packed] {
        let output = run(&["--op", "Matmul*", "--out", &path.display().to_string()]);
        assert!(output.status.success() && output.stdout.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    let text = std::fs::read(&plain).expect("the file can be read");
    let unpacked = zstd::decode_all(&*std::fs::read(&packed).expect("the file can be read")).expect("it is compressed");
    assert_eq!(text, unpacked);
    let loaded = tileops_record::load(&[plain, packed]);
    assert!(loaded.problems.is_empty() && loaded.records.len() >= 2, "{:?}", loaded.problems);
    let first = loaded.records.iter().find(|r| r.op.as_str() == "MatmulFwdOp").expect("a matmul has a row");
    assert!(first.roof_key.as_ref().is_some_and(|key| key.as_str().starts_with("tensor_core.")), "{first:?}");
}

#[test]
fn prices_replace_prices_and_nothing_else() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let record = |rest: &str| format!("{{\"schema\":\"tileops.record/1\",\"op\":\"ExpFwdOp\",\"case\":\"a\"{rest}}}\n");
    let timed = record(r#","timing":{"source":"cupti","device_busy_ns":12.5}"#);
    let of_run = record(r#","failure":{"kind":"hung"},"run":{"tool":"tileops-bench"}"#);
    for (name, text, is_replaced) in [
        ("prices.jsonl", record(r#","flops":7"#), true),
        ("timed.jsonl", record("") + &timed, false),
        ("failed.jsonl", of_run, false),
        ("notes.md", "# Notes\n".to_owned(), false),
        ("timed.jsonl.zst", timed, false),
    ] {
        let path = folder.path().join(name);
        let packed = name.ends_with(".zst");
        let bytes = if packed { zstd::encode_all(text.as_bytes(), 0).expect("packed") } else { text.into_bytes() };
        std::fs::write(&path, &bytes).expect("the file can be written");
        let output = run(&["--op", "Exp*", "--out", &path.display().to_string()]);
        assert_eq!(output.status.code(), Some(if is_replaced { 0 } else { 2 }), "{name}: {output:?}");
        assert_eq!(std::fs::read(&path).expect("the file can be read") != bytes, is_replaced, "{name}");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(is_replaced || (said.contains(name) && said.contains("something else than prices")), "{said}");
    }
}

#[test]
fn what_cannot_be_done_is_said() {
    let output = run(&["--op", "None*"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("`--op None*` leaves no row"), "{output:?}");
    let output = run(&["--resume"]);
    assert_eq!(output.status.code(), Some(2), "prices are not resumed");
}
