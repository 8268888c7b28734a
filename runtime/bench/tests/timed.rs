//! A timed run on the CPU, and what faults leave of it: each costs its own row, and the rest of the records are right.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use tileops_record::{Record, load};

const ROWS: [(&str, &str); 6] = [
    ("ReluFwdOp", "wide-float32"),
    ("ReluFwdOp", "inplace-float32"),
    ("ExpFwdOp", "square-float16"),
    ("ExpFwdOp", "square-bfloat16"),
    ("ExpFwdOp", "square-float32"),
    ("ExpFwdOp", "three-float32"),
];

fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tileops-bench"));
    command
        .args(["--device", "cpu", "--budget", "0.05", "--manifest"])
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/small"))
        .args(arguments);
    for name in ["SLURM_ARRAY_TASK_ID", "JOB_COMPLETION_INDEX"] {
        command.env_remove(name);
    }
    command
}

/// Without the arguments that the other runs share.
fn run_plain(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tileops-bench"));
    command.args(arguments).output().expect("the program runs")
}

fn run(arguments: &[&str]) -> Output {
    command(arguments).output().expect("the program runs")
}

struct File {
    folder: tempfile::TempDir,
}

impl File {
    fn new() -> Self {
        File { folder: tempfile::tempdir().expect("a folder can be made") }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("out.jsonl")
    }

    fn name(&self) -> String {
        self.path().display().to_string()
    }

    fn records(&self) -> Vec<Record> {
        let loaded = load(&[self.folder.path().to_owned()]);
        assert!(loaded.problems.is_empty(), "{:?}", loaded.problems);
        loaded.records
    }
}

fn rows(records: &[Record]) -> Vec<(&str, &str)> {
    records.iter().map(|record| (record.op.as_str(), record.case.as_str())).collect()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Every row but those that `faulty` names has a time and passed.
fn the_rest_is_right(records: &[Record], faulty: &[&str]) {
    for record in records.iter().filter(|record| !faulty.contains(&record.case.as_str())) {
        let case = &record.case;
        assert!(record.failure.is_none(), "{case}: {:?}", record.failure);
        let correctness = record.correctness.as_ref().expect("it was compared");
        assert!(correctness.passed && correctness.extra["compared"] == correctness.extra["elements"], "{case}");
        let timing = record.timing.as_ref().expect("it was timed");
        assert!(timing.device_busy_ns > 0.0 && timing.samples >= Some(1), "{case}: {timing:?}");
        assert!(timing.p10_ns <= Some(timing.device_busy_ns) && timing.p90_ns >= Some(timing.device_busy_ns), "{case}");
    }
}

#[test]
fn every_row_has_a_record_with_all_that_it_must_say() {
    let file = File::new();
    let output = run(&["--out", &file.name()]);
    assert!(output.status.success(), "{}", said(&output));
    let records = file.records();
    assert_eq!(rows(&records), ROWS);
    the_rest_is_right(&records, &[]);
    let priced = run(&["--price"]);
    assert_eq!(priced.status.code(), Some(2), "--price runs on no device");
    for record in &records {
        let timing = record.timing.as_ref().expect("it was timed");
        // Without CUPTI a record says so, and why.
        assert_eq!(timing.source, "cpu");
        assert!(timing.reason.as_ref().is_some_and(|reason| reason.contains("CPU")));
        let policy = timing.policy.as_ref().expect("its policy is stated");
        assert!(policy.inputs >= Some(2) && policy.warmup >= Some(1) && !policy.l2.is_empty());
        assert!(record.flops.is_some() && record.bytes.is_some() && record.roof_key.is_some());
        assert!(record.seed.is_some() && record.entry_hash.is_some() && record.device.is_some());
        let run = record.run.as_ref().expect("the run is named");
        assert_eq!(run.tool, "tileops-bench");
        assert!(run.started.is_some() && run.command.iter().any(|argument| argument == "--out"));
    }
    let text = said(&output);
    assert!(text.contains("6 rows of 2 ops run, 0 without a time"), "{text}");
    assert!(text.contains("samples") && text.contains("2 process starts"), "the split is printed: {text}");
}

#[test]
fn a_kernel_that_is_wrong_is_not_timed() {
    let file = File::new();
    let output = run(&["--out", &file.name(), "--inject", "wrong:ExpFwdOp:square-bfloat16"]);
    assert_eq!(output.status.code(), Some(1));
    let records = file.records();
    assert_eq!(rows(&records), ROWS);
    the_rest_is_right(&records, &["square-bfloat16"]);
    let wrong = &records[3];
    assert!(wrong.timing.is_none() && wrong.correctness.as_ref().is_some_and(|correctness| !correctness.passed));
    let failure = wrong.failure.as_ref().expect("it failed");
    assert_eq!(failure.kind, "wrong");
    let message = failure.message.as_deref().unwrap_or_default();
    assert!(message.contains("`y`[") && message.contains("times what is allowed"), "{message}");
}

#[test]
fn a_wrong_output_in_the_storage_of_an_input_is_seen() {
    let file = File::new();
    run(&["--out", &file.name(), "--op", "ReluFwdOp", "--inject", "wrong:ReluFwdOp:inplace*"]);
    let records = file.records();
    the_rest_is_right(&records, &["inplace-float32"]);
    assert_eq!(records[1].failure.as_ref().expect("it failed").kind, "wrong");
}

#[test]
fn a_process_that_ends_costs_its_row() {
    let file = File::new();
    let output = run(&["--out", &file.name(), "--inject", "abort:ExpFwdOp:square-float16"]);
    assert_eq!(output.status.code(), Some(1));
    let records = file.records();
    assert_eq!(rows(&records), ROWS, "the rows behind it were run, in their order");
    the_rest_is_right(&records, &["square-float16"]);
    let failure = records[2].failure.as_ref().expect("it failed");
    assert_eq!(failure.kind, "crashed");
    assert!(failure.message.as_deref().unwrap_or_default().contains("signal 6"), "{failure:?}");
    // What it would have cost is known all the same.
    assert!(records[2].flops.is_some() && records[2].device.is_some() && records[2].run.is_some());
}

#[test]
fn a_kernel_that_hangs_is_killed_and_costs_its_row() {
    let file = File::new();
    let output = run(&["--out", &file.name(), "--limit", "3", "--inject", "hang:ExpFwdOp:square-float32"]);
    assert_eq!(output.status.code(), Some(1));
    let records = file.records();
    assert_eq!(rows(&records), ROWS);
    the_rest_is_right(&records, &["square-float32"]);
    assert_eq!(records[4].failure.as_ref().expect("it failed").kind, "hung");
}

#[test]
fn a_run_that_is_killed_leaves_whole_records_and_is_continued() {
    let file = File::new();
    let mut child = command(&["--out", &file.name(), "--inject", "hang:ExpFwdOp:square-float32"])
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program runs");
    // Four rows are done, and it hangs in the fifth.
    let stderr = BufReader::new(child.stderr.take().expect("it is piped"));
    assert_eq!(stderr.lines().map_while(Result::ok).filter(|line| line.contains(" us (")).take(4).count(), 4);
    child.kill().expect("it can be killed");
    child.wait().expect("it ended");
    assert_eq!(rows(&file.records()), ROWS[..4]);
    the_rest_is_right(&file.records(), &[]);
    let refused = run(&["--out", &file.name()]);
    assert_eq!(refused.status.code(), Some(2), "nothing is overwritten");
    assert!(said(&refused).contains("--resume"), "{}", said(&refused));
    let output = run(&["--out", &file.name(), "--resume"]);
    assert!(output.status.success(), "{}", said(&output));
    assert!(said(&output).contains("4 rows are recorded already"), "{}", said(&output));
    assert_eq!(rows(&file.records()), ROWS);
    the_rest_is_right(&file.records(), &[]);
}

#[test]
fn an_entry_that_changed_is_run_again() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let manifest = folder.path().join("elementwise.yaml");
    let text = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/small/elementwise.yaml"))
        .expect("the manifest can be read");
    std::fs::write(&manifest, &text).expect("it can be written");
    let file = File::new();
    let (name, place) = (file.name(), folder.path().display().to_string());
    let run = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tileops-bench"));
        command.args(["--device", "cpu", "--budget", "0.05", "--op", "Exp*", "--resume", "--partition", "1/1"]);
        command.args(["--manifest", &place, "--out", &name]).output().expect("the program runs")
    };
    assert!(run().status.success());
    std::fs::write(&manifest, text.replace("S: [3]", "S: [5]")).expect("it can be written");
    assert!(run().status.success());
    assert_eq!(file.records().len(), 8, "all of its rows, since the entry is another one");
    assert!(run().status.success());
    assert_eq!(file.records().len(), 8);
}

#[test]
fn partitions_share_the_rows_and_have_files_of_their_own() {
    let file = File::new();
    for (index, named) in [(0, false), (1, true)] {
        let part = format!("{}/2", index + 1);
        let mut command = match named {
            true => command(&["--out", &file.name(), "--partition", &part]),
            false => command(&["--out", &file.name()]),
        };
        let environment = [("JOB_COMPLETION_INDEX", index.to_string()), ("JOB_COMPLETIONS", "2".to_owned())];
        let output = command.envs(environment.into_iter().filter(|_| !named)).output().expect("the program runs");
        assert!(output.status.success(), "{}", said(&output));
    }
    assert!(file.folder.path().join("out.1-of-2.jsonl").exists(), "a file of its own");
    assert_eq!(rows(&file.records()), ROWS);
}

#[test]
fn rows_are_chosen_by_their_names_and_dtypes() {
    let file = File::new();
    let output = run(&["--out", &file.name(), "--row", "s*", "--dtype", "bfloat16"]);
    assert!(output.status.success(), "{}", said(&output));
    assert_eq!(rows(&file.records()), [("ExpFwdOp", "square-bfloat16")]);
    let output = run(&["--op", "SoftmaxFwdOp"]);
    assert_eq!(output.status.code(), Some(2), "no such op here");
    for (bad, said_of_it) in [("--device=tpu", "cuda:N"), ("--partition=0/2", "2/8"), ("--within=0", "percent")] {
        let output = run_plain(&[bad]);
        assert_eq!(output.status.code(), Some(2), "{bad}");
        assert!(said(&output).contains(said_of_it), "{bad}: {}", said(&output));
    }
}
