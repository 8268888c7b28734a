//! The program: what it writes, what it leaves alone, and how it fails.

#[path = "support/places.rs"]
mod places;

use std::path::Path;
use std::process::{Command, Output};

use places::forms;

fn run(manifest: &Path, arguments: &[&str]) -> (Output, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_tileops-codegen"))
        .args(["--target", "python", "--manifest"])
        .arg(manifest)
        .args(arguments)
        .output()
        .expect("the program runs");
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    (output, error)
}

#[test]
fn output_is_written_once_checked_and_mended() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let out = folder.path().join("ops");
    let shown = out.display().to_string();
    let (output, error) = run(&forms(), &["--out", &shown, "--check"]);
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert!(error.contains("is missing") && !out.exists(), "{error}");
    assert!(run(&forms(), &["--out", &shown]).0.status.success());
    assert!(run(&forms(), &["--out", &shown, "--check"]).0.status.success());

    let module = out.join("forms.py");
    let written = || std::fs::metadata(&module).and_then(|m| m.modified()).expect("the file has a time");
    let text = std::fs::read_to_string(&module).expect("the file can be read");
    let before = written();
    assert!(run(&forms(), &["--out", &shown]).0.status.success());
    assert_eq!(written(), before, "what has not changed is not touched");

    std::fs::write(&module, text.replace("M * N", "M + N")).expect("the file can be written");
    let stale = out.join("gone.py");
    std::fs::write(&stale, text.lines().next().map(|line| format!("{line}\n")).expect("a header")).expect("written");
    let (output, error) = run(&forms(), &["--out", &shown, "--check"]);
    assert_eq!(output.status.code(), Some(1));
    for part in ["forms.py` is not what", "gone.py` has no family", "to mend it: tileops-codegen --manifest"] {
        assert!(error.contains(part), "{part}: {error}");
    }
    assert!(run(&forms(), &["--out", &shown]).0.status.success());
    assert_eq!(std::fs::read_to_string(&module).expect("the file can be read"), text);
    assert!(!stale.exists());

    std::fs::write(&module, "mine = 1\n").expect("the file can be written");
    let (output, error) = run(&forms(), &["--out", &shown]);
    assert_eq!(output.status.code(), Some(2), "{error}");
    assert!(error.contains("was not written by tileops-codegen"), "{error}");
}

#[test]
fn a_manifest_with_defects_is_refused_with_all_of_them() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let text = std::fs::read_to_string(forms().join("forms.yaml")).expect("the forms can be read");
    let text = text.replace("flops: \"M * N\"", "flops: \"M * Q\"").replace("flops: \"0\"", "flops: \"R\"");
    std::fs::write(folder.path().join("forms.yaml"), text).expect("a file can be written");
    let types = std::fs::read(forms().join("types.yaml")).expect("the types can be read");
    std::fs::write(folder.path().join("types.yaml"), types).expect("a file can be written");
    let (output, error) = run(folder.path(), &["--stdout"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(output.stdout.is_empty() && error.contains("`Q`") && error.contains("`R`"), "{error}");
    // What is selected alone is whole.
    let (output, error) = run(folder.path(), &["--stdout", "--op", "Presence*"]);
    assert!(output.status.success(), "{error}");
    assert!(String::from_utf8_lossy(&output.stdout).contains("class PresenceFwdOp(Op):"));
}

/// An op's module is written whole, and no other is touched.
#[test]
fn one_op_is_written_with_its_module_alone() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let (manifest, out) = (folder.path().join("manifest"), folder.path().join("ops"));
    std::fs::create_dir(&manifest).expect("a folder can be made");
    for (name, family) in [("one.yaml", "one"), ("two.yaml", "two")] {
        let op = format!("{}FwdOp", if family == "one" { "One" } else { "Two" });
        let text = std::fs::read_to_string(forms().join("forms.yaml")).expect("the forms can be read");
        let entry = text.split("\n\n").find(|entry| entry.starts_with("PlainFwdOp")).expect("an entry");
        let text = entry.replace("PlainFwdOp", &op).replace("family: forms", &format!("family: {family}"));
        std::fs::write(manifest.join(name), text).expect("a file can be written");
    }
    let shown = out.display().to_string();
    for (target, extension, listing) in [("rust", "rs", "mod.rs"), ("python", "py", "__init__.py")] {
        let run = |arguments: &[&str]| {
            let output = Command::new(env!("CARGO_BIN_EXE_tileops-codegen"))
                .args(["--target", target, "--out", &shown, "--manifest"])
                .arg(&manifest)
                .args(arguments)
                .output()
                .expect("the program runs");
            (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
        };
        assert_eq!(run(&[]).0, Some(0));
        let (one, two) = (out.join(format!("one.{extension}")), out.join(format!("two.{extension}")));
        let text = std::fs::read_to_string(&two).expect("the module can be read");
        assert!(out.join(listing).exists());
        for module in [&one, &two] {
            let edited = std::fs::read_to_string(module).expect("the module can be read") + "\n";
            std::fs::write(module, edited).expect("a file can be written");
        }
        let (code, error) = run(&["--op", "Two*", "--check"]);
        assert!(code == Some(1) && error.contains("two.") && !error.contains("one."), "{error}");
        assert_eq!(run(&["--op", "Two*"]).0, Some(0));
        assert_eq!(std::fs::read_to_string(&two).expect("the module can be read"), text);
        let (code, error) = run(&["--check"]);
        assert!(code == Some(1) && error.contains("one.") && !error.contains("two."), "{error}");
    }
}

#[test]
fn what_cannot_be_done_is_said() {
    let (output, error) = run(Path::new("/nowhere"), &["--stdout"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(error.contains("cannot list `/nowhere`"), "{error}");
    let (output, error) = run(&forms(), &["--stdout", "--op", "None*"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(error.contains("no op"), "{error}");
}
