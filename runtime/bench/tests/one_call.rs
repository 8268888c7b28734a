//! What a profiler is started with: a row's call, and no more.

use std::path::Path;
use std::process::{Command, Output};

fn run(arguments: &[&str]) -> (Option<i32>, String, String) {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../manifest");
    let output: Output = Command::new(env!("CARGO_BIN_EXE_tileops-bench"))
        .args(["--one-call", "--device", "cpu", "--manifest"])
        .arg(manifest)
        .args(arguments)
        .output()
        .expect("the program runs");
    let text = |bytes| String::from_utf8(bytes).expect("it prints UTF-8");
    (output.status.code(), text(output.stdout), text(output.stderr))
}

#[test]
fn a_call_is_made_and_nothing_is_said() {
    let found = run(&["--op", "SigmoidFwdOp", "--row", "mobilenet-v3-se-gate*"]);
    assert_eq!(found, (Some(0), String::new(), String::new()));
}

#[test]
fn what_cannot_be_called_is_said() {
    let (code, _, error) = run(&["--op", "SiluFwdOp", "--row", "nothing"]);
    assert!(
        code == Some(2) && error.contains("`--row nothing` leaves no row of the ops that `--op SiluFwdOp` takes"),
        "{error}"
    );
    let (code, _, error) = run(&["--op", "SiluFwdOp", "--out", "records.jsonl"]);
    assert!(code == Some(2) && error.contains("cannot be used with"), "{error}");
}
