//! Ruff finds nothing to say about emitted Python, and nothing to format: what a library adopts stays as it was emitted.

#![allow(clippy::print_stdout, reason = "a test that is skipped says so")]

#[path = "support/places.rs"]
mod places;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Ruff as `RUFF` says, or as `PATH` does. It may be absent, but not from CI.
fn ruff() -> Option<PathBuf> {
    let path = std::env::var_os("RUFF").map_or_else(|| PathBuf::from("ruff"), PathBuf::from);
    let found = Command::new(&path).arg("--version").output().is_ok_and(|output| output.status.success());
    assert!(found || std::env::var_os("CI").is_none(), "CI has to have ruff: `pip install ruff`");
    if !found {
        println!("skipped: ruff is not installed");
    }
    found.then_some(path)
}

fn run(ruff: &Path, arguments: &[&str], folder: &Path) -> Output {
    Command::new(ruff)
        .args(arguments)
        .arg("--no-cache")
        .arg("--config")
        .arg(places::root().join("runtime/codegen/tests/ruff.toml"))
        .arg(folder)
        .output()
        .expect("ruff runs")
}

/// Says nothing of the Python in `folder`, and would change nothing of it.
fn is_content(ruff: &Path, folder: &Path) {
    let format = run(ruff, &["format", "--diff"], folder);
    assert!(format.status.success(), "{}:\n{}", folder.display(), said(&format));
    let lint = run(ruff, &["check", "--output-format", "concise"], folder);
    assert!(lint.status.success(), "{}:\n{}", folder.display(), said(&lint));
}

/// What ruff said: what it finds, and why it could not look.
fn said(output: &Output) -> String {
    let [found, failed] = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes));
    format!("{}{failed}", found.chars().take(4000).collect::<String>())
}

#[test]
fn emitted_python_is_as_ruff_leaves_it() {
    let Some(ruff) = ruff() else { return };
    for manifest in [Some(places::ours()), Some(places::forms()), places::corpus()].into_iter().flatten() {
        let folder = tempfile::tempdir().expect("a folder can be made");
        let written = Command::new(env!("CARGO_BIN_EXE_tileops-codegen"))
            .args(["--target", "python", "--manifest"])
            .arg(&manifest)
            .arg("--out")
            .arg(folder.path().join("ops"))
            .status()
            .expect("the program runs");
        assert!(written.success(), "{}", manifest.display());
        is_content(&ruff, &folder.path().join("ops"));
    }
    is_content(&ruff, &places::root().join("runtime/ops/python"));
}

/// The two checks can fail.
#[test]
fn ruff_tells_other_python_apart() {
    let Some(ruff) = ruff() else { return };
    let folder = tempfile::tempdir().expect("a folder can be made");
    let line = format!("x = [\n    \"{}\"\n]\nif x:\n    if x[0]:\n        print(l)\n", "a".repeat(70));
    std::fs::write(folder.path().join("other.py"), line).expect("a file can be written");
    let format = run(&ruff, &["format", "--diff"], folder.path());
    assert!(!format.status.success() && String::from_utf8_lossy(&format.stdout).contains("+x = ["), "{format:?}");
    let lint = run(&ruff, &["check", "--output-format", "concise"], folder.path());
    assert!(!lint.status.success() && said(&lint).contains("SIM102"), "{}", said(&lint));
    // A file that is no Python is refused on the other stream.
    std::fs::write(folder.path().join("other.py"), "x = [\n").expect("a file can be written");
    let refused = said(&run(&ruff, &["format", "--diff"], folder.path()));
    assert!(refused.contains("other.py"), "{refused}");
}
