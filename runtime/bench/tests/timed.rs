//! A timed run on the CPU, and what faults leave of it: each costs its own row, and the rest of the records are right.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use tileops_record::{FailureKind, Record, load};

const ROWS: [(&str, &str); 6] = [
    ("ReluFwdOp", "wide-float32"),
    ("ReluFwdOp", "inplace-float32"),
    ("ExpFwdOp", "square-float16"),
    ("ExpFwdOp", "square-bfloat16"),
    ("ExpFwdOp", "square-float32"),
    ("ExpFwdOp", "three-float32"),
];

fn small() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/small")
}

fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tileops-bench"));
    command.args(["--device", "cpu", "--budget", "0.05", "--manifest"]).arg(small()).args(arguments);
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

/// A driver that is there and refuses every call, with what a driver says that is not the kernel's.
#[cfg(target_os = "linux")]
#[test]
fn a_driver_that_does_not_work_is_no_reason_to_time_the_cpu() {
    use tileops_device::Library;
    let folder = tempfile::tempdir().expect("a folder can be made");
    let source = folder.path().join("driver.c");
    let functions = Library::Driver.functions();
    for (lacking, said_of_it) in [
        (
            None,
            "the GPU cannot be used (`--device cpu` runs the references, without a GPU): the NVIDIA driver does not start: \
             CUDA_ERROR_SYSTEM_DRIVER_MISMATCH",
        ),
        (
            Some("cuEventElapsedTime_v2"),
            "lacks `cuEventElapsedTime_v2`, and a driver of CUDA 13.0 or later is needed: install the NVIDIA driver (580 or",
        ),
    ] {
        let define = |name: &&str| format!("int {name}(void) {{ return 803; }}\n");
        let text: String = functions.iter().filter(|name| Some(**name) != lacking).map(define).collect();
        std::fs::write(&source, text).expect("it can be written");
        // Both names that are looked for.
        for name in ["libcuda.so", "libcuda.so.1"] {
            let built =
                Command::new("cc").args(["-shared", "-fPIC", "-o"]).arg(folder.path().join(name)).arg(&source).status();
            assert!(built.expect("a C compiler, which links this test, too").success());
        }
        let mut command = Command::new(env!("CARGO_BIN_EXE_tileops-bench"));
        let output = command.env("LD_LIBRARY_PATH", folder.path()).arg("--manifest").arg(small()).output();
        let output = output.expect("the program runs");
        assert_eq!(output.status.code(), Some(2), "{}", said(&output));
        let said = said(&output);
        assert!(said.contains(said_of_it) && !said.contains("panicked") && output.stdout.is_empty(), "{said}");
    }
    // A file that is no library, as in a container whose driver was not mounted.
    std::fs::remove_file(folder.path().join("libcuda.so")).expect("it is there");
    std::fs::write(folder.path().join("libcuda.so.1"), "").expect("it can be written");
    let mut command = Command::new(env!("CARGO_BIN_EXE_tileops-bench"));
    let output = command.env("LD_LIBRARY_PATH", folder.path()).arg("--manifest").arg(small()).output();
    let output = output.expect("the program runs");
    if !Path::new("/dev/nvidiactl").exists() {
        assert_eq!(output.status.code(), Some(2), "{}", said(&output));
        assert!(said(&output).contains("libcuda.so.1 cannot be loaded ("), "{}", said(&output));
    }
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Every row but those that `faulty` names has a time and passed, and every field of each is one that the schema has.
fn the_rest_is_right(records: &[Record], faulty: &[&str]) {
    for record in records {
        let (timing, correctness) = (record.timing.as_deref(), record.correctness.as_deref());
        let mut others = vec![&record.extra];
        others.extend(timing.map(|timing| &timing.extra));
        others.extend(timing.and_then(|timing| timing.policy.as_ref()).map(|policy| &policy.extra));
        others.extend(correctness.map(|correctness| &correctness.extra));
        if let Some(failure) = &record.failure {
            others.push(&failure.extra);
            assert!(FailureKind::ALL.iter().any(|kind| failure.kind == *kind.as_str()), "{failure:?}");
        }
        assert!(others.iter().all(|extra| extra.is_empty()), "{record:?}");
    }
    for record in records.iter().filter(|record| !faulty.contains(&record.case.as_str())) {
        let case = &record.case;
        assert!(record.failure.is_none(), "{case}: {:?}", record.failure);
        let correctness = record.correctness.as_ref().expect("it was compared");
        assert!(correctness.passed && correctness.compared == correctness.elements, "{case}");
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
        assert!((policy.within, &policy.seconds[..]) == (Some(0.01), &[0.05, 0.05]) && policy.confidence.is_some());
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
    let share =
        text.split_once("(kernels ").and_then(|(_, rest)| rest.split_once(')')).expect("kernels are a part of it");
    assert!(share.0.parse::<f64>().is_ok_and(|seconds| seconds > 0.0), "{text}");
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
    assert!(wrong.correctness.as_ref().is_some_and(|found| found.wrong >= Some(1) && found.wrong <= found.compared));
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
    assert!(said(&output).contains("recorded already: 4 rows"), "{}", said(&output));
    assert_eq!(rows(&file.records()), ROWS);
    the_rest_is_right(&file.records(), &[]);
}

#[test]
fn rows_without_a_time_are_run_again_until_they_have_one() {
    let file = File::new();
    let name = file.name();
    let faulty = ["--out", &name, "--inject", "wrong:ExpFwdOp:square-float16", "--inject", "abort:ReluFwdOp:wide*"];
    assert_eq!(run(&faulty).status.code(), Some(1));
    let output = run(&[&faulty[..4], &["--resume"]].concat());
    assert_eq!(output.status.code(), Some(1), "a row is still wrong: {}", said(&output));
    assert!(said(&output).contains("recorded already: 4 rows\n"), "{}", said(&output));
    assert!(said(&output).contains("taken out: 2 records without a time"), "{}", said(&output));
    assert_eq!(file.records().iter().filter(|record| record.failure.is_some()).count(), 1);
    let output = run(&["--out", &name, "--resume"]);
    assert!(output.status.success(), "{}", said(&output));
    let records = file.records();
    the_rest_is_right(&records, &[]);
    let mut found = rows(&records);
    found.sort_unstable();
    let mut all = ROWS;
    all.sort_unstable();
    assert_eq!(found, all, "each row once");
}

#[test]
fn what_a_process_takes_to_start_is_no_rows_time() {
    let file = File::new();
    let output = run(&["--out", &file.name(), "--limit", "2", "--op", "Exp*", "--inject", "slow-start:ExpFwdOp:*"]);
    assert!(output.status.success(), "{}", said(&output));
    assert_eq!(rows(&file.records()), ROWS[2..]);
}

#[test]
fn a_process_that_does_not_end_is_ended() {
    let file = File::new();
    let output = run(&["--out", &file.name(), "--limit", "2", "--inject", "linger:ReluFwdOp:*"]);
    assert!(output.status.success(), "its rows are right: {}", said(&output));
    assert!(said(&output).contains("ReluFwdOp: its process did not end within 2s"), "{}", said(&output));
    assert_eq!(rows(&file.records()), ROWS);
    the_rest_is_right(&file.records(), &[]);
}

#[test]
fn a_panic_is_said_in_its_own_words() {
    let file = File::new();
    let mut command = command(&["--out", &file.name(), "--op", "Exp*", "--inject", "panic:ExpFwdOp:three*"]);
    let output = command.env("RUST_BACKTRACE", "1").output().expect("the program runs");
    assert_eq!(output.status.code(), Some(1));
    let records = file.records();
    let message = records[3].failure.as_ref().and_then(|failure| failure.message.as_deref()).unwrap_or_default();
    assert!(message.contains("panicked at") && message.ends_with("a fault on purpose / in two lines"), "{message}");
}

#[test]
fn an_entry_that_is_changed_during_the_run_is_said_to_be() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let manifest = folder.path().join("elementwise.yaml");
    let text = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/small/elementwise.yaml"))
        .expect("the manifest can be read");
    std::fs::write(&manifest, &text).expect("it can be written");
    let file = File::new();
    let arguments = ["--device", "cpu", "--budget", "0.05", "--limit", "4", "--inject", "hang:ReluFwdOp:inplace*"];
    let mut child = Command::new(env!("CARGO_BIN_EXE_tileops-bench"))
        .args(arguments)
        .arg("--manifest")
        .arg(folder.path())
        .args(["--out", &file.name()])
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program runs");
    let mut stderr = BufReader::new(child.stderr.take().expect("it is piped")).lines().map_while(Result::ok);
    // The first row is done, and the second one hangs.
    assert!(stderr.any(|line| line.contains(" us (")));
    std::fs::write(&manifest, text.replace("label: three", "label: four")).expect("it can be written");
    stderr.for_each(drop);
    assert_eq!(child.wait().expect("it ends").code(), Some(1));
    let records = file.records();
    assert_eq!(rows(&records), ROWS);
    for record in &records[2..] {
        let failure = record.failure.as_ref().expect("it was not run");
        assert_eq!(failure.kind, "changed");
        assert!(failure.message.as_deref().unwrap_or_default().contains("changed in the manifest"), "{failure:?}");
    }
}

#[cfg(unix)]
#[test]
fn a_signal_ends_the_run_and_keeps_what_is_done() {
    for (signal, number) in [("INT", 2), ("TERM", 15)] {
        let file = File::new();
        let mut child = command(&["--out", &file.name(), "--inject", "hang:ExpFwdOp:square-float32"])
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program runs");
        let mut stderr = BufReader::new(child.stderr.take().expect("it is piped")).lines().map_while(Result::ok);
        assert_eq!(stderr.by_ref().filter(|line| line.contains(" us (")).take(4).count(), 4);
        let own = children(child.id());
        assert!(!own.is_empty(), "the op has a process");
        let kill = Command::new("sh").args(["-c", &format!("kill -{signal} {}", child.id())]).status();
        assert!(kill.expect("a shell runs").success());
        let last: Vec<String> = stderr.collect();
        assert_eq!(child.wait().expect("it ends").code(), Some(128 + number), "{last:?}");
        let [said] = &last[..] else { panic!("one line: {last:?}") };
        assert!(
            said.contains(&format!("signal {number}: `")) && said.contains("out.jsonl` has the 4 records of this run"),
            "{said}"
        );
        assert!(said.contains("--resume"), "{said}");
        assert!(own.iter().all(|id| !Path::new(&format!("/proc/{id}/status")).exists()), "none of {own:?} is left");
        assert_eq!(rows(&file.records()), ROWS[..4]);
    }
}

/// The processes that a process has started, where the system tells.
fn children(of: u32) -> Vec<String> {
    let listed = std::fs::read_to_string(format!("/proc/{of}/task/{of}/children")).unwrap_or_default();
    listed.split_whitespace().map(str::to_owned).collect()
}

#[test]
fn a_run_ends_where_nobody_reads_its_records() {
    let mut child = command(&["--inject", "hang:ExpFwdOp:square-float32"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program runs");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(2), "{}", said(&output));
    assert!(said(&output).contains("cannot print records"), "{}", said(&output));
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
    let array = [("ID", "3"), ("MIN", "3"), ("MAX", "3"), ("STEP", "1"), ("COUNT", "1")];
    let array = array.map(|(what, number)| (format!("SLURM_ARRAY_TASK_{what}"), number));
    let output = command(&["--out", &file.name()]).envs(array).output().expect("the program runs");
    assert_eq!(output.status.code(), Some(2), "one task that is run again is not all rows");
    assert!(said(&output).contains("--partition I/N"), "{}", said(&output));
    assert_eq!(rows(&file.records()), ROWS);
}

#[test]
fn rows_are_chosen_by_their_names_and_dtypes() {
    let file = File::new();
    let output = run(&["--out", &file.name(), "--row", "s*", "--dtype", "bfloat16"]);
    assert!(output.status.success(), "{}", said(&output));
    assert_eq!(rows(&file.records()), [("ExpFwdOp", "square-bfloat16")]);
    for (bad, said_of_it) in [
        ("--device=tpu", "cuda:N"),
        ("--partition=0/2", "2/8"),
        ("--within=0", "above 0 and at most 100"),
        ("--within=101", "above 0 and at most 100"),
        ("--budget=-1", "--budget is -1.0, and must be a time"),
        ("--limit=1e300", "--limit is 1e300, and must be a time"),
        ("--limit=1", "--limit is 1.0 and --budget 1.0: "),
        ("--limit=1.5", "the limit must be at least 2.0"),
    ] {
        let output = run_plain(&[bad]);
        assert_eq!(output.status.code(), Some(2), "{bad}");
        assert!(said(&output).contains(said_of_it), "{bad}: {}", said(&output));
    }
    assert!(said(&run_plain(&["--budget", "-1"])).contains("--budget is -1.0"), "in two arguments, too");
}

#[test]
fn what_leaves_no_row_is_said() {
    for (arguments, said_of_it) in [
        (vec!["--op", "ExpFwdO"], "`--op ExpFwdO` leaves no row; did you mean `ExpFwdOp`?"),
        (vec!["--op", "*relu"], "`--op *relu` leaves no row; did you mean `ReluFwdOp`?"),
        (vec!["--op", "Softmax*"], "`--op Softmax*` leaves no row; there is `ExpFwdOp` and `ReluFwdOp`\n"),
        (vec!["--dtype", "bf16"], "leaves no row; there is `bfloat16`, `float16` and `float32`\n"),
        (vec!["--row", "squares-float16"], "`--row squares-float16` leaves no row; did you mean `square-float16`?"),
        (vec!["--dtype", "bfloat"], "`--dtype bfloat` leaves no row; did you mean `bfloat16`?"),
        (
            vec!["--op", "Relu*", "--dtype", "bfloat16"],
            "`--dtype bfloat16` leaves no row of the ops that `--op Relu*` takes",
        ),
        (
            vec!["--row", "three*", "--dtype", "float16"],
            "`--dtype float16` leaves no row among those that `--row three*` takes",
        ),
        // A part of nothing is nothing.
        (vec!["--op", "Nothing", "--partition", "1/2"], "`--op Nothing` leaves no row"),
    ] {
        let output = run(&arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(said(&output).contains(said_of_it), "{arguments:?}: {}", said(&output));
    }
    // A part without rows of something is none of the user's mistakes.
    let output = run(&["--op", "Exp*", "--row", "three*", "--partition", "18446744073709551614/18446744073709551615"]);
    assert!(output.status.success() && said(&output).contains(": 0 of 1 rows"), "{}", said(&output));
}

#[test]
fn a_manifest_with_errors_is_refused_with_the_way_to_them() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    std::fs::write(folder.path().join("a.yaml"), "ExpFwdOp: {family: 3}\n").expect("it can be written");
    let place = folder.path().display().to_string();
    let output = run_plain(&["--device", "cpu", "--manifest", &place]);
    assert_eq!(output.status.code(), Some(2));
    assert!(said(&output).contains(&format!("`tileops-lsp --check {place}`")), "{}", said(&output));
}
