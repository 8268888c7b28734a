//! Ruff finds nothing to say about emitted Python, and nothing to format: what a library adopts stays as it was emitted.

#![allow(clippy::print_stdout, reason = "a test that is skipped says so")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the workspace is somewhere")
}

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
        .arg(root().join("runtime/codegen/tests/ruff.toml"))
        .arg(folder)
        .output()
        .expect("ruff runs")
}

/// Says nothing of the Python in `folder`, and would change nothing of it.
fn is_content(ruff: &Path, folder: &Path) {
    let said = |output: &Output| String::from_utf8_lossy(&output.stdout).chars().take(4000).collect::<String>();
    let format = run(ruff, &["format", "--diff"], folder);
    assert!(format.status.success(), "{}:\n{}", folder.display(), said(&format));
    let lint = run(ruff, &["check", "--output-format", "concise"], folder);
    assert!(lint.status.success(), "{}:\n{}", folder.display(), said(&lint));
}

#[test]
fn emitted_python_is_as_ruff_leaves_it() {
    let Some(ruff) = ruff() else { return };
    let root = root();
    let corpus = root.ancestors().map(|folder| folder.join("shared/corpus/spec")).find(|folder| folder.is_dir());
    for manifest in [Some(root.join("manifest")), Some(root.join("runtime/codegen/tests/forms")), corpus] {
        let Some(manifest) = manifest else { continue };
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
    is_content(&ruff, &root.join("runtime/ops/python"));
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
    let said = String::from_utf8_lossy(&lint.stdout);
    assert!(!lint.status.success() && said.contains("SIM102"), "{said}");
}
