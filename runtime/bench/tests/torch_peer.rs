//! The program that times PyTorch, with stand-ins for PyTorch: what it reads, what it writes, and what goes wrong.
#![cfg(unix)]

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use serde_json::Value as Json;
use tileops_bench::inputs::row_seed;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_owned()
}

/// The program, in `folder`.
fn peer(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new("python3");
    command.arg("-B").arg(root().join("peers/torch_peer.py")).args(arguments).current_dir(folder);
    command.env("PYTHONPATH", root().join("tests/stand_ins")).env_remove("STAND_IN");
    command
}

/// What it does with `rows` as its standard input: its exit code, records and words.
fn run(folder: &Path, arguments: &[&str], rows: &str) -> (Option<i32>, Vec<Json>, String) {
    given(peer(folder, arguments), rows)
}

fn given(mut command: Command, rows: &str) -> (Option<i32>, Vec<Json>, String) {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("python3 runs");
    // Where it says that an argument is wrong, it reads nothing.
    let _ = child.stdin.take().expect("a pipe").write_all(rows.as_bytes());
    let output = child.wait_with_output().expect("it ends");
    let error = String::from_utf8(output.stderr).expect("it speaks UTF-8");
    (output.status.code(), records(&output.stdout), error)
}

fn records(bytes: &[u8]) -> Vec<Json> {
    let text = String::from_utf8_lossy(bytes);
    text.lines().map(|line| serde_json::from_str(line).expect("a record a line")).collect()
}

/// The first row of each op, as `tileops-bench --price --values` prints it.
fn rows(ops: &[&str]) -> String {
    static PRICED: OnceLock<String> = OnceLock::new();
    let priced = PRICED.get_or_init(|| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tileops-bench"));
        command.args(["--price", "--values", "--op", "{Abs,Exp,Floor,Log,Relu,Silu,Sin,Sqrt,Tanh}FwdOp", "--manifest"]);
        let output = command.arg(root().join("../../manifest")).output().expect("the program runs");
        String::from_utf8(output.stdout).expect("it prints UTF-8")
    });
    let row = |op: &&str| {
        let mut lines = priced.lines();
        let found = lines.find(|line| line.contains(&format!("\"op\":\"{op}\"")));
        found.map(|line| format!("{line}\n")).expect("the op has a row")
    };
    ops.iter().map(row).collect()
}

const QUICK: [&str; 4] = ["--budget", "0.02", "--jobs", "0"];

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a folder can be made")
}

/// What the stand-ins do: `exp` is a kernel, `log` never ends, `sqrt` ends its process, `tanh` is not implemented, `abs` finds
/// no memory, and after `sin` the GPU answers nothing any more.
#[test]
fn what_a_row_does_costs_that_row() {
    let folder = folder();
    let ops = ["LogFwdOp", "SqrtFwdOp", "SinFwdOp", "TanhFwdOp", "AbsFwdOp", "ExpFwdOp", "FloorFwdOp"];
    let arguments = ["--out", "out.jsonl", "--budget", "0.02", "--limit", "3", "--jobs", "2"];
    let (code, printed, error) = run(folder.path(), &arguments, &rows(&ops));
    assert_eq!((code, printed), (Some(1), vec![]), "{error}");
    let records = records(&fs::read(folder.path().join("out.jsonl")).expect("there are records"));
    let of = |record: &Json, field: &str| record["failure"][field].as_str().unwrap_or_default().to_owned();
    let kinds: Vec<String> = records.iter().map(|record| of(record, "kind")).collect();
    let due = ["hung", "crashed", "crashed", "unsupported", "out_of_memory", "", ""];
    assert_eq!(kinds, due.iter().flat_map(|kind| [*kind, *kind]).collect::<Vec<_>>(), "{error}");
    assert_eq!(of(&records[0], "message"), "nothing came of it in 3 s, and its process was killed");
    assert!(of(&records[2], "message").starts_with("its process ended by signal 11: "), "{}", records[2]);
    assert!(of(&records[2], "message").ends_with("the last words"), "{}", records[2]);
    assert!(of(&records[4], "message").contains("an illegal memory access"), "{}", records[4]);
    assert!(error.contains("10 records without a time"), "{error}");
    assert_eq!(records[10]["timing"]["device_busy_ns"], 700.0, "the kernel alone, without what flushes the cache");
    let reason = records[10]["timing"]["clocks"]["reason"].as_str().unwrap_or_default();
    assert!(reason.starts_with("NVML "), "no clock is read of a stand-in, and why is said: {}", records[10]);
    // Nothing that a killed process started is left.
    let loaded = tileops_record::load(&[folder.path().to_owned()]);
    assert!(loaded.problems.is_empty() && loaded.records.len() == 14, "{:?}", loaded.problems);
}

#[test]
fn a_record_says_what_made_it_and_from_what() {
    let folder = folder();
    let (code, records, error) = run(folder.path(), &QUICK, &rows(&["ExpFwdOp"]));
    assert_eq!((code, records.len()), (Some(0), 2), "{error}");
    assert_eq!((&records[0]["peer"], &records[1]["peer"]), (&"torch-eager".into(), &"torch-compile".into()));
    for record in &records {
        let case = record["case"].as_str().expect("a case");
        assert_eq!(record["seed"], row_seed("ExpFwdOp", case));
        let run = &record["run"];
        assert_eq!((&run["tool"], &run["version"]), (&"torch_peer".into(), &env!("CARGO_PKG_VERSION").into()));
        assert_eq!(run["libraries"]["torch"], "2.99.0");
        assert_eq!(record["device"]["name"], "Stand-in");
    }
    let git = Command::new("git").args(["rev-parse", "HEAD"]).current_dir(root()).output();
    if let Some(git) = git.ok().filter(|git| git.status.success()) {
        let run = &records[0]["run"];
        assert_eq!(run["revision"], String::from_utf8_lossy(&git.stdout).trim());
        assert!(run["dirty"].is_boolean(), "{run}");
    }
    // A row of another tool has the seed that the benchmark would give it.
    let mut row: Json = serde_json::from_str(&rows(&["ExpFwdOp"])).expect("a row");
    row.as_object_mut().expect("an object").remove("seed");
    let (_, again, error) = run_one(folder.path(), &row);
    assert_eq!(again[0]["seed"], records[0]["seed"], "{error}");
}

fn run_one(folder: &Path, row: &Json) -> (Option<i32>, Vec<Json>, String) {
    run(folder, &QUICK, &format!("{row}\n"))
}

#[test]
fn what_cannot_be_done_is_one_line_that_says_what_to_write() {
    let folder = folder();
    fs::write(folder.path().join("full.jsonl"), rows(&["ExpFwdOp"])).expect("a file can be written");
    fs::write(folder.path().join("bad.jsonl.zst"), "no archive").expect("a file can be written");
    fs::write(folder.path().join("bad.jsonl"), rows(&["ExpFwdOp"]) + "{\"op\":7}\n").expect("a file can be written");
    fs::create_dir(folder.path().join("empty")).expect("a folder can be made");
    let row = rows(&["ExpFwdOp"]);
    let mut failed: Json = serde_json::from_str(&row).expect("a row");
    failed["failure"] = serde_json::json!({"kind": "refused"});
    let failed = failed.to_string();
    for (arguments, rows, said) in [
        (&["--within", "-1"][..], &*row, "`-1` is not a share in percent: write a number above 0 and at most 100"),
        (&["--within", "nan"], &row, "`nan` is not a share in percent"),
        (&["--budget", "0"], &row, "`0` is not a time in seconds: write a number above 0"),
        (&["--limit", "inf"], &row, "`inf` is not a time in seconds"),
        (&["--jobs", "-5"], &row, "`-5` is not a count of processes: write 0 for none"),
        (&["--device", "gpu"], &row, "`gpu` is no GPU: write `cuda:N`"),
        (&["--device", "cuda:7"], &row, "there is no `cuda:7`: PyTorch finds 1, from `cuda:0`"),
        (&["--resume"], &row, "--resume continues the file of --out: name it"),
        (&["nothing.jsonl"], "", "cannot read `nothing.jsonl`: No such file"),
        (&["empty"], "", "`empty` holds no file of rows: one ends in `.jsonl`"),
        (&["bad.jsonl.zst"], "", "bad.jsonl.zst`"),
        (&["--out", "full.jsonl/out.jsonl"], &row, "cannot write `full.jsonl/out.jsonl`: "),
        (
            &["--out", "bad.jsonl", "--resume"],
            &row,
            "bad.jsonl:2: not a record: it has no `op`; --resume continues a file of",
        ),
        (&["--out", "empty"], &row, "cannot write `empty`: it is a folder"),
        (&["--out", "full.jsonl"], &row, "`full.jsonl` has records: continue it with --resume"),
        (&["--out", "full.jsonl", "--resume", "full.jsonl"], "", "`full.jsonl` is the file of --out, too"),
        (
            &["--out", "new.jsonl"],
            "",
            "standard input: there is no row: write what `tileops-bench --price --values` prints",
        ),
        (&["--op", "expfwdop"], &row, "matches --op `expfwdop`; `ExpFwdOp` is close"),
        (&["--op", "exp"], &row, "matches --op `exp`; `ExpFwdOp` is close"),
        (&["--row", "none*"], &row, "no row's case matches --row `none*`"),
        (&[], &failed, "none of the 1 rows can be run"),
        (&[], r#"{"op":"NopeFwdOp","case":"a","tensors":[]}"#, "none of the 1 rows can be run"),
    ] {
        let (code, records, error) = run(folder.path(), arguments, rows);
        assert_eq!((code, records), (Some(2), vec![]), "{arguments:?}: {error}");
        let last = error.lines().last().unwrap_or_default();
        assert!(last.starts_with("error: ") && last.contains(said), "{arguments:?}: {error}");
        assert!(error.lines().count() <= 2, "{arguments:?}: {error}");
    }
    assert!(!folder.path().join("new.jsonl").exists(), "a file that no record came to is not left");
    for (stand_in, said) in [
        ("missing", "PyTorch is not installed for `"),
        ("no-gpu", "PyTorch finds no GPU: `nvidia-smi` says what the driver knows"),
    ] {
        let mut command = peer(folder.path(), &QUICK);
        command.env("STAND_IN", stand_in);
        let (code, _, error) = given(command, &row);
        assert!(code == Some(2) && error.starts_with("error: ") && error.contains(said), "{error}");
        assert_eq!(error.lines().count(), 1, "{error}");
        let mut help = peer(folder.path(), &["--help"]);
        let help = help.env("STAND_IN", stand_in).output().expect("python3 runs");
        assert!(help.status.success() && help.stdout.starts_with(b"usage: "), "it needs no PyTorch");
    }
}

#[test]
fn a_line_that_is_no_row_costs_itself() {
    let folder = folder();
    let good = rows(&["ExpFwdOp"]);
    let bad = [
        ("{\"op\":", "it is no JSON: "),
        ("[1]", "it is no JSON object"),
        (r#"{"case":"a"}"#, "it has no `op`"),
        (r#"{"op":"A","case":"a"}"#, "it has no `tensors`"),
        (r#"{"op":"A","case":"a","tensors":[{"name":"x"}]}"#, "one of its `tensors` lacks its name, dtype or shape"),
        (r#"{"op":"A","case":"a","tensors":[],"params":3}"#, "its `params` is no object"),
        (r#"{"schema":"tileops.record/9","op":"A","case":"a"}"#, "its schema is `tileops.record/9`"),
    ];
    let lines: String = bad.iter().map(|(line, _)| format!("{line}\n")).collect();
    let text = format!("{lines}{good}");
    fs::write(folder.path().join("rows.jsonl"), &text).expect("a file can be written");
    let (code, records, error) = run(folder.path(), &[&QUICK[..], &["rows.jsonl"]].concat(), "");
    assert_eq!((code, records.len()), (Some(1), 2), "{error}");
    for (number, (line, said)) in bad.iter().enumerate() {
        let place = format!("rows.jsonl:{}: not a row: {said}", number + 1);
        assert!(error.lines().any(|line| line.starts_with(&place)), "{line}: {error}");
    }
}

#[test]
fn a_file_is_continued_with_what_has_no_time_there() {
    let folder = folder();
    let out = folder.path().join("runs/out.jsonl");
    let arguments = [&QUICK[..], &["--limit", "2", "--out", "runs/out.jsonl", "--resume"]].concat();
    let text = rows(&["ExpFwdOp", "TanhFwdOp"]);
    let first = text.lines().next().expect("a row").to_owned() + "\n";
    let (code, _, error) = run(folder.path(), &arguments, &first);
    assert_eq!(code, Some(0), "{error}");
    // A record of the op itself stays, and so does a failure of another row; what a killed run began does not.
    let own = r#"{"schema":"tileops.record/1","op":"ExpFwdOp","case":"a"}"#;
    let other =
        r#"{"schema":"tileops.record/1","op":"AbsFwdOp","case":"a","peer":"torch-eager","failure":{"kind":"hung"}}"#;
    let whole = fs::read_to_string(&out).expect("there are records");
    fs::write(&out, format!("{own}\n{other}\n{whole}{{\"schema\":\"tile")).expect("it can be written");
    for _ in 0..2 {
        let (code, _, error) = run(folder.path(), &arguments, &text);
        assert!(code == Some(1) && error.contains("2 of 4 times are recorded already"), "{error}");
        let loaded = tileops_record::load(std::slice::from_ref(&out));
        assert!(loaded.problems.is_empty(), "{:?}", loaded.problems);
        let failures = loaded.records.iter().filter(|record| record.failure.is_some() && &*record.op == "TanhFwdOp");
        assert_eq!((loaded.records.len(), failures.count()), (6, 2), "a failure is run again, and is there once");
    }
    // One run at a time: whoever holds the file keeps the others away.
    let held = fs::File::options().append(true).open(&out).expect("it is there");
    held.try_lock().expect("nobody has it");
    let (code, _, error) = run(folder.path(), &arguments, &text);
    assert!(code == Some(2) && error.contains("another run is writing `runs/out.jsonl`: wait until it"), "{error}");
}

#[test]
fn rows_and_records_may_be_compressed_or_in_folders() {
    let folder = folder();
    let text = rows(&["ExpFwdOp", "FloorFwdOp"]);
    let lines: Vec<&str> = text.lines().collect();
    fs::create_dir_all(folder.path().join("rows/deep")).expect("a folder can be made");
    fs::write(folder.path().join("rows/a.jsonl"), lines[0]).expect("a file can be written");
    let packed = zstd::encode_all(format!("{}\n{}", lines[1], lines[0]).as_bytes(), 0).expect("it is compressed");
    fs::write(folder.path().join("rows/deep/b.jsonl.zst"), packed).expect("a file can be written");
    fs::write(folder.path().join("rows/notes.txt"), "no rows").expect("a file can be written");
    let arguments = [&QUICK[..], &["rows", "--out", "out.jsonl.zst", "--resume"]].concat();
    let (code, _, error) = run(folder.path(), &arguments, "");
    if error.contains("nothing here reads or writes one") {
        assert!(code == Some(2) && error.contains("install the program `zstd`, or "), "{error}");
        return;
    }
    assert_eq!(code, Some(0), "{error}");
    let out = folder.path().join("out.jsonl.zst");
    let count = || tileops_record::load(std::slice::from_ref(&out)).records.len();
    assert_eq!(count(), 4, "a row that is there twice is timed once: {error}");
    assert!(!folder.path().join("out.jsonl").exists());
    let (code, _, error) = run(folder.path(), &arguments, "");
    assert!(code == Some(0) && error.contains("4 of 4 times are recorded already"), "{error}");
    assert_eq!(count(), 4);
}

#[test]
fn a_reader_that_has_gone_away_ends_it_quietly() {
    let folder = folder();
    fs::write(folder.path().join("rows.jsonl"), rows(&["ExpFwdOp", "FloorFwdOp", "ReluFwdOp", "SiluFwdOp"]))
        .expect("a file can be written");
    let mut command = peer(folder.path(), &[&QUICK[..], &["rows.jsonl"]].concat());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("python3 runs");
    let mut line = String::new();
    BufReader::new(child.stdout.take().expect("a pipe")).read_line(&mut line).expect("there is a record");
    let output = child.wait_with_output().expect("it ends");
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(line.starts_with('{') && output.status.success(), "{error}");
    assert!(!error.contains("Traceback") && !error.contains("Exception"), "{error}");
}

/// Whether a process of that group is left; one that is dead and not waited for yet is none.
fn is_left(group: &str) -> bool {
    let processes = fs::read_dir("/proc").expect("processes can be listed").filter_map(Result::ok);
    let mut stats = processes.filter_map(|process| fs::read_to_string(process.path().join("stat")).ok());
    // Behind the name, in parentheses: the state, the parent, the group.
    stats.any(|stat| {
        let fields: Vec<&str> = stat.rsplit_once(") ").map_or(vec![], |(_, rest)| rest.split(' ').collect());
        fields.len() > 2 && fields[2] == group && fields[0] != "Z"
    })
}

/// The first row is timed, and the second never ends.
#[test]
#[cfg(target_os = "linux")]
fn whatever_ends_it_leaves_whole_records_and_no_process() {
    for (signal, due) in [("INT", Some(130)), ("TERM", Some(143)), ("KILL", None)] {
        let folder = folder();
        fs::write(folder.path().join("rows.jsonl"), rows(&["ExpFwdOp", "LogFwdOp"])).expect("a file can be written");
        let mut command =
            peer(folder.path(), &[&QUICK[..], &["rows.jsonl", "--out", "out.jsonl", "--limit", "60"]].concat());
        let mut running = command.stderr(Stdio::piped()).spawn().expect("python3 runs");
        let mut said = BufReader::new(running.stderr.take().expect("a pipe")).lines().map_while(Result::ok);
        assert!(said.any(|line| line.contains("torch-compile  0.70 us")), "the first row has its times");
        let parent = running.id().to_string();
        let children = format!("/proc/{parent}/task/{parent}/children");
        let child = fs::read_to_string(children).expect("it has a child").trim().to_owned();
        assert!(is_left(&child), "a group of its own: {child}");
        let killed = Command::new("kill").args(["-s", signal, &parent]).status().expect("kill runs");
        assert!(killed.success());
        let status = running.wait().expect("it ends");
        assert_eq!(status.code(), due, "{signal}");
        let rest: Vec<String> = said.collect();
        let is_said = rest.iter().any(|line| line.contains("the records until here are whole, and --resume continues"));
        assert_eq!(is_said, due.is_some(), "{signal}: {rest:?}");
        // The group of a parent that was killed notices by itself.
        for _ in 0..500 {
            if !is_left(&child) {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        assert!(!is_left(&child), "{signal}: a process is left");
        let loaded = tileops_record::load(&[folder.path().join("out.jsonl")]);
        assert!(loaded.problems.is_empty() && loaded.records.len() == 2, "{signal}: {:?}", loaded.problems);
    }
}
