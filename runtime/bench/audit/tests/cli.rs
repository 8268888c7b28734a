//! The program, with a script in the place of Nsight Compute.
#![cfg(unix)]

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value as Json;

/// Prints what Nsight Compute would of one kernel: `reads/OP`, beside the script, says how many bytes it read; an op
/// without such a file crashes, and one whose file says `hang` never ends.
const NCU: &str = r#"#!/bin/sh
here=$(dirname "$0"); echo "$@" >> "$here/args"; op=copy
while [ $# -gt 0 ]; do
  case "$1" in --log-file) log=$2; shift;; --op) op=$2; shift;; esac
  shift
done
[ -e "$here/denied" ] && { echo "==ERROR== ERR_NVGPUCTRPERM - The user does not have permission" > "$log"; exit 1; }
[ -e "$here/reads/$op" ] || { echo "an illegal memory access was encountered" >&2; exit 1; }
read=$(cat "$here/reads/$op")
[ "$read" = hang ] && exec sleep 60
{
  echo '==PROF== Connected to process 571'
  echo '"ID","Process ID","Kernel Name","Metric Name","Metric Unit","Metric Value"'
  echo "\"0\",\"571\",\"kernel\",\"dram__bytes_read.sum\",\"byte\",\"$read\""
  echo '"0","571","kernel","dram__bytes_write.sum","byte","1,024"'
  echo '"0","571","kernel","gpu__time_duration.sum","ns","33,280"'
} > "$log"
"#;

struct Setting {
    folder: tempfile::TempDir,
}

impl Setting {
    /// The ops of our manifest called `names`, implemented, in a manifest of their own.
    fn new(names: &[&str]) -> Setting {
        let folder = tempfile::tempdir().expect("a folder can be made");
        let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../manifest/elementwise_activation.yaml");
        let text = fs::read_to_string(own).expect("the manifest can be read");
        let entries: Vec<String> = names
            .iter()
            .map(|name| {
                let start = text.find(&format!("{name}:\n")).expect("the manifest has the op");
                let body = &text[start..];
                let end = body.find("\n\n").map_or(body.len(), |end| end + 1);
                body[..end].replace("status: spec-only", "status: implemented")
            })
            .collect();
        let manifest = folder.path().join("manifest");
        fs::create_dir(&manifest).expect("a folder can be made");
        fs::write(manifest.join("elementwise_activation.yaml"), entries.join("\n")).expect("a file can be written");
        fs::create_dir(folder.path().join("reads")).expect("a folder can be made");
        let ncu = folder.path().join("ncu");
        fs::write(&ncu, NCU).expect("a file can be written");
        fs::set_permissions(&ncu, fs::Permissions::from_mode(0o755)).expect("it can be made a program");
        let setting = Setting { folder };
        setting.reads("copy", "1,073,741,824");
        setting
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn reads(&self, op: &str, bytes: &str) {
        fs::write(self.path("reads").join(op), bytes).expect("a file can be written");
    }

    fn run(&self, arguments: &[&str]) -> (Option<i32>, String, String) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tileops-audit"));
        command.arg("--manifest").arg(self.path("manifest")).args(["--bench", "/bin/true"]);
        if !arguments.contains(&"--ncu") {
            command.arg("--ncu").arg(self.path("ncu"));
        }
        let output: Output = command.args(arguments).output().expect("the program runs");
        let text = |bytes| String::from_utf8(bytes).expect("it prints UTF-8");
        (output.status.code(), text(output.stdout), text(output.stderr))
    }

    /// How many bytes the largest row of the op reads, as the program lists it: half of what it moves.
    fn read_half(&self, op: &str) -> u128 {
        let (_, listed, error) = self.run(&["--list", "--op", op]);
        let number = |line: &str| line.split(": ").nth(1)?.split_whitespace().next()?.parse::<u128>().ok();
        listed.lines().find_map(number).unwrap_or_else(|| panic!("no row is listed: {listed}{error}")) / 2
    }
}

#[test]
fn rows_run_one_at_a_time_and_are_judged_by_what_was_read() {
    let setting = Setting::new(&["QuickGeluFwdOp", "ReluSquaredFwdOp", "SigmoidFwdOp"]);
    let half = setting.read_half("QuickGeluFwdOp");
    setting.reads("QuickGeluFwdOp", &half.to_string());
    setting.reads("ReluSquaredFwdOp", &(setting.read_half("ReluSquaredFwdOp") / 2).to_string());
    let (code, out, error) = setting.run(&["--format", "json"]);
    assert_eq!(code, Some(1), "{error}");
    let report: Json = serde_json::from_str(&out).expect("one document");
    let of = |op: &str| report["rows"].as_array().and_then(|rows| rows.iter().find(|row| row["op"] == op)).cloned();
    let verdict = |op: &str| of(op).map(|row| row["verdict"].clone());
    assert_eq!(verdict("QuickGeluFwdOp"), Some("OK".into()), "{out}");
    assert_eq!(verdict("ReluSquaredFwdOp"), Some("FAIL".into()), "{out}");
    let crashed = of("SigmoidFwdOp").expect("the row is reported");
    assert_eq!(crashed["verdict"], "ERROR");
    assert_eq!(crashed["why"], "the run failed: an illegal memory access was encountered");

    let given = fs::read_to_string(setting.path("args")).expect("the script ran");
    let lines: Vec<&str> = given.lines().collect();
    assert!(lines[0].contains("--copy 1073741824"), "the counters are checked before any row: {given}");
    assert_eq!(lines.len(), 4, "a run a row: {given}");
    for line in &lines[1..] {
        for part in [
            "--target-processes all --profile-from-start off --clock-control none --cache-control all --csv --metrics",
            "/bin/true --one-call --manifest",
            "--device cuda:0",
        ] {
            assert!(line.contains(part), "{part}: {line}");
        }
    }

    let (code, out, _) = setting.run(&["--op", "QuickGeluFwdOp"]);
    assert_eq!(code, Some(0));
    assert!(out.starts_with("OK  1 row: ") && out.contains("\n    QuickGeluFwdOp  "), "{out}");
    assert!(out.lines().nth(1).is_some_and(|line| line.starts_with("  premise: replay from cold caches")), "{out}");
}

#[test]
fn a_run_that_does_not_end_costs_its_row() {
    let setting = Setting::new(&["QuickGeluFwdOp"]);
    setting.reads("QuickGeluFwdOp", "hang");
    let (code, out, error) = setting.run(&["--limit", "1"]);
    assert_eq!(code, Some(1), "{error}");
    assert!(out.starts_with("ERROR  1 row: ") && out.contains("\n      it took longer than 1 s\n"), "{out}");
}

#[test]
fn counters_that_cannot_be_trusted_judge_nothing() {
    let setting = Setting::new(&["QuickGeluFwdOp"]);
    let (code, _, error) = setting.run(&["--check-counters"]);
    assert_eq!(code, Some(0), "{error}");
    assert!(error.contains("counters: a copy of 1073741824 bytes read 100.00 % of them"), "{error}");
    setting.reads("copy", "9,000");
    let (code, out, error) = setting.run(&[]);
    assert_eq!((code, out.as_str()), (Some(2), ""), "{error}");
    assert!(error.contains("a copy of 1073741824 bytes read 9000"), "{error}");
    fs::write(setting.path("denied"), "").expect("a file can be written");
    let (code, _, error) = setting.run(&["--check-counters"]);
    assert!(code == Some(2) && error.contains("NVreg_RestrictProfilingToAdminUsers=0"), "{error}");
}

#[test]
fn what_cannot_be_done_is_said() {
    let setting = Setting::new(&["QuickGeluFwdOp", "SigmoidFwdOp"]);
    for (arguments, part) in [
        (&["--op", "Nothing*"][..], "` matches `--op Nothing*`; `--list` names those of `"),
        (&["--op", "sigmoidfwdop"], "` matches `--op sigmoidfwdop`; did you mean `SigmoidFwdOp`?"),
        (&["--op", "sigmoid"], "` matches `--op sigmoid`; did you mean `SigmoidFwdOp`?"),
        (&["--op", "fwd"], "` matches `--op fwd`; 2 have it in their names: write `--op '*Fwd*'`"),
        (&["--rows", "0"], "invalid value '0' for '--rows <COUNT>'"),
        (&["--limit", "0"], "invalid value '0' for '--limit <SECONDS>'"),
        (&["--list", "--out", "/nowhere/list.txt"], "cannot write `/nowhere/list.txt`: name a file of a folder"),
        (&["--out", "/nowhere/audit.txt"], "cannot write `/nowhere/audit.txt`: name a file of a folder"),
        (&["--device", "cpu"][..], "--device is `cpu`: Nsight Compute profiles GPUs"),
        (&["--ncu", "/nowhere/ncu"][..], "say where it is with `--ncu PATH`"),
    ] {
        let (code, _, error) = setting.run(arguments);
        assert!(code == Some(2) && error.contains(part), "{arguments:?}: {error}");
    }
    let exempt = setting.path("exempt.yaml");
    fs::write(&exempt, "exemptions: [{op: QuickGeluFwdOp, when: Q > 1, reason: why}]\n")
        .expect("a file can be written");
    let (code, _, error) = setting.run(&["--list", "--exempt", &exempt.display().to_string()]);
    assert!(code == Some(2) && error.contains("`Q` is no parameter"), "{error}");
}

#[test]
fn a_list_goes_where_and_in_the_form_that_is_asked_for() {
    let setting = Setting::new(&["QuickGeluFwdOp", "SigmoidFwdOp"]);
    let out = setting.path("list.json");
    let place = out.display().to_string();
    let (code, printed, error) = setting.run(&["--list", "--format", "json", "--out", &place, "--rows", "1"]);
    assert_eq!((code, printed.as_str()), (Some(0), ""), "{error}");
    let listed: Json =
        serde_json::from_str(&fs::read_to_string(&out).expect("the file is there")).expect("one document");
    assert_eq!(
        (listed["rows"].as_array().map(Vec::len), listed["uncovered"].as_array().map(Vec::len)),
        (Some(1), Some(1))
    );
    let row = &listed["rows"][0];
    let op = row["op"].as_str().expect("an op");
    assert_eq!(row["bytes"].as_u64().map(u128::from), Some(setting.read_half(op) * 2), "{row}");
    assert!(row["case"].is_string() && row["branch"].is_object(), "{row}");
    let (_, text, _) = setting.run(&["--list"]);
    let (code, printed, _) = setting.run(&["--list", "--out", &place]);
    assert_eq!((code, printed.as_str(), fs::read_to_string(&out).expect("it is there")), (Some(0), "", text));
}

#[test]
fn without_a_gpu_that_is_what_is_said_first() {
    let setting = Setting::new(&["QuickGeluFwdOp"]);
    let (code, _, error) = setting.run(&["--ncu", "/nowhere/ncu"]);
    let without_gpu = tileops_device::Device::count().map_or(true, |count| count == 0);
    assert_eq!((code, error.starts_with("error: there is no GPU")), (Some(2), without_gpu), "{error}");
    assert!(error.contains("say where it is with `--ncu PATH`"), "{error}");
    assert_eq!(error.lines().count(), 1, "{error}");
}
