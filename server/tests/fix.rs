//! `--fix`, `--diff` and `--unsafe-fixes` of the real program, on real files.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

const CLEAN: &str = "\
DemoFwdOp:
  family: demo
  status: spec-only
  signature:
    forall: {M: Dim, T: \"DType[float16 | bfloat16]\"}
    inputs:
      x: {dtype: T, shape: \"[M]\"}
    outputs:
      y: {dtype: T, shape: \"[M]\"}
  workloads:
  - {M: 4, dtype_cases: [{T: float16}], label: small}
  roofline: {flops: \"M\"}
";

/// `CLEAN` with two defects that are safe to fix, one that is fixed unsafely and one that is not fixed.
fn wrong() -> String {
    CLEAN
        .replace("spec-only", "spec_only  # for now")
        .replace("shape: \"[M]\"}\n    outputs", "shpae: \"[M]\", notes: none}\n    outputs")
        .replace("  roofline", "  composition: {kind: composite, stages: [{name: a, op: NoSuchThing}]}\n  roofline")
}

/// The same with the safe fixes made.
fn safely() -> String {
    wrong().replace("spec_only", "spec-only").replace("shpae", "shape")
}

struct Project(TempDir);

impl Project {
    fn new(files: &[(&str, &str)]) -> Self {
        let project = Project(tempfile::tempdir().expect("a folder"));
        for (name, text) in files {
            project.write(name, text);
        }
        project
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
        fs::write(path, text).expect("written");
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).expect("readable")
    }

    #[track_caller]
    fn run(&self, arguments: &[&str], expected: i32) -> (String, String) {
        self.pipe(arguments, b"", expected)
    }

    #[track_caller]
    fn pipe(&self, arguments: &[&str], input: &[u8], expected: i32) -> (String, String) {
        let (stdout, stderr) = self.bytes(arguments, input, expected);
        (String::from_utf8(stdout).expect("UTF-8"), stderr)
    }

    #[track_caller]
    fn bytes(&self, arguments: &[&str], input: &[u8], expected: i32) -> (Vec<u8>, String) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tileops-lsp"));
        command.args(arguments).current_dir(self.0.path()).env_remove("CLICOLOR_FORCE");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("it runs");
        // A program that does not read its input may be gone already.
        let _ = child.stdin.take().expect("a pipe").write_all(input);
        let Output { status, stdout, stderr } = child.wait_with_output().expect("it ends");
        let stderr = String::from_utf8(stderr).expect("UTF-8");
        assert_eq!(status.code(), Some(expected), "{arguments:?}\n{}\n{stderr}", String::from_utf8_lossy(&stdout));
        assert!(!stderr.contains("panicked"), "{stderr}");
        (stdout, stderr)
    }

    /// The names in a folder.
    fn names(&self, folder: &str) -> Vec<String> {
        let names = fs::read_dir(self.path(folder)).expect("listed").flatten();
        let mut names: Vec<_> = names.map(|item| item.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }
}

#[test]
fn safe_fixes_are_made_and_the_rest_is_reported() {
    let other = CLEAN.replace("Demo", "Other");
    let project = Project::new(&[("manifest/demo.yaml", &wrong()), ("manifest/demo_b.yaml", &other)]);
    let (stdout, _) = project.run(&["--check"], 1);
    assert!(stdout.contains("\n[*] 2 fixable with --fix, 1 more with --unsafe-fixes\n"), "{stdout}");
    let (stdout, stderr) = project.run(&["--check", "--fix"], 1);
    assert!(stderr.contains("note: 2 fixed in 1 file, 2 left\n"), "{stderr}");
    assert!(stdout.contains("error[unknown-stage-op]") && stdout.contains("2 errors in 1 of 2 files"), "{stdout}");
    assert!(stdout.ends_with("[*] 1 fixable with --fix --unsafe-fixes\n"), "{stdout}");
    assert_eq!(project.read("manifest/demo.yaml"), safely());
    assert_eq!(project.read("manifest/demo_b.yaml"), other);
    assert_eq!(project.names("manifest"), ["demo.yaml", "demo_b.yaml"]);
    // Again there is nothing to do.
    let (_, stderr) = project.run(&["--check", "--fix"], 1);
    assert!(stderr.contains("note: nothing is fixed, 2 left\n"), "{stderr}");
    let (_, stderr) = project.run(&["--check", "--fix", "--unsafe-fixes"], 1);
    assert!(stderr.contains("note: 1 fixed in 1 file, 1 left\n"), "{stderr}");
    assert_eq!(project.read("manifest/demo.yaml"), safely().replace(", notes: none", ""));
}

#[test]
fn what_is_clean_when_it_is_fixed_is_clean() {
    let project = Project::new(&[("manifest/demo.yaml", &CLEAN.replace("spec-only", "spec_only"))]);
    let (stdout, stderr) = project.run(&["--check", "--fix"], 0);
    assert_eq!(stdout, "no defects in 1 file, 1 entry\n");
    assert_eq!(stderr, "note: 1 fixed in 1 file, 0 left\n");
    assert_eq!(project.read("manifest/demo.yaml"), CLEAN);
}

#[test]
fn a_diff_changes_nothing() {
    let project = Project::new(&[("manifest/demo.yaml", &wrong())]);
    let (stdout, stderr) = project.run(&["--check", "--diff"], 1);
    assert!(stderr.contains("note: 2 would be fixed in 1 file, 2 left\n"), "{stderr}");
    let expected = "\
--- a/manifest/demo.yaml
+++ b/manifest/demo.yaml
@@ -1,10 +1,10 @@
 DemoFwdOp:
   family: demo
-  status: spec_only  # for now
+  status: spec-only  # for now
   signature:
     forall: {M: Dim, T: \"DType[float16 | bfloat16]\"}
     inputs:
-      x: {dtype: T, shpae: \"[M]\", notes: none}
+      x: {dtype: T, shape: \"[M]\", notes: none}
     outputs:
       y: {dtype: T, shape: \"[M]\"}
   workloads:
";
    assert_eq!(stdout, expected);
    assert_eq!(project.read("manifest/demo.yaml"), wrong());
    // The exit code says that there is something to do, also where nothing would be left.
    project.write("manifest/demo.yaml", &CLEAN.replace("spec-only", "spec_only"));
    let (stdout, _) = project.run(&["--check", "--diff", "--output-file", "fix.patch"], 1);
    assert_eq!(stdout, "");
    assert!(project.read("fix.patch").contains("+  status: spec-only\n"));
    project.write("manifest/demo.yaml", CLEAN);
    assert_eq!(project.run(&["--check", "--diff"], 0).0, "");
    // A patch of it makes what `--fix` makes, a missing line end included.
    project.write("manifest/demo.yaml", CLEAN.replace("flops: \"M\"", "flpos: \"M\"").trim_end());
    let (stdout, _) = project.run(&["--check", "--diff"], 1);
    assert!(stdout.ends_with("+  roofline: {flops: \"M\"}\n\\ No newline at end of file\n"), "{stdout}");
}

#[test]
fn standard_input_comes_back_fixed() {
    let project = Project::new(&[]);
    let arguments = ["--check", "--fix", "-", "--stdin-filename", "manifest/demo.yaml"];
    let (stdout, stderr) = project.pipe(&arguments, wrong().as_bytes(), 1);
    assert_eq!(stdout, safely());
    assert!(stderr.contains("error[unknown-stage-op]") && stderr.contains("2 fixed in 1 file, 2 left"), "{stderr}");
    // What needs no fix comes back as it is, whatever it is.
    let (stdout, _) = project.pipe(&arguments, CLEAN.as_bytes(), 0);
    assert_eq!(stdout, CLEAN);
    let broken = [wrong().as_bytes(), b"# \xff\n"].concat();
    let (stdout, stderr) = project.bytes(&arguments, &broken, 1);
    assert_eq!(stdout, broken);
    assert!(stderr.contains("not UTF-8"), "{stderr}");
    let diff = ["--check", "--diff", "-", "--stdin-filename", "manifest/demo.yaml"];
    let (stdout, _) = project.pipe(&diff, wrong().as_bytes(), 1);
    assert!(stdout.starts_with("--- a/manifest/demo.yaml\n+++ b/manifest/demo.yaml\n@@ "), "{stdout}");
    assert!(!project.path("manifest").exists());
}

#[test]
fn what_is_not_reported_is_not_fixed() {
    let suppressed = wrong().replace("spec_only  # for now", "spec_only  # tileops: ignore[unknown-value]");
    let two = format!("{suppressed}{}", wrong().replace("DemoFwdOp", "OtherFwdOp"));
    let project = Project::new(&[("manifest/demo.yaml", &two)]);
    // By a comment, by the selection, by a level.
    project.run(&["--check", "--fix", "--select-op", "Demo*", "--ignore", "unknown-stage-op"], 1);
    assert_eq!(project.read("manifest/demo.yaml"), two.replacen("shpae", "shape", 1));
    project.run(&["--check", "--fix", "--ignore", "unknown-value,unknown-stage-op"], 1);
    assert_eq!(project.read("manifest/demo.yaml"), two.replace("shpae", "shape"));
    // By the baseline.
    project.write("manifest/demo.yaml", &two);
    project.run(&["--check", "--baseline", "known.json", "--write-baseline"], 0);
    let added = format!("{two}{}", CLEAN.replace("Demo", "Third").replace("spec-only", "spec_only"));
    project.write("manifest/demo.yaml", &added);
    let (_, stderr) = project.run(&["--check", "--fix", "--baseline", "known.json"], 0);
    assert!(stderr.contains("1 fixed in 1 file, 0 left"), "{stderr}");
    let expected = format!("{two}{}", CLEAN.replace("Demo", "Third"));
    assert_eq!(project.read("manifest/demo.yaml"), expected);
}

#[test]
fn a_fix_in_one_file_makes_one_in_another_possible() {
    // The stage names the op that the other file misspells; its name is a guess, so it takes both.
    let stage = CLEAN
        .replace("  roofline", "  composition: {kind: composite, stages: [{name: a, op: OtherFwdOp}]}\n  roofline");
    let project = Project::new(&[
        ("manifest/demo.yaml", &stage),
        ("manifest/demo_b.yaml", &CLEAN.replace("DemoFwdOp", "other_fwd")),
    ]);
    project.run(&["--check", "--fix", "--unsafe-fixes"], 0);
    assert_eq!(project.read("manifest/demo_b.yaml"), CLEAN.replace("Demo", "Other"));
    assert_eq!(project.read("manifest/demo.yaml"), stage);
}

#[test]
fn reports_of_every_format_are_of_what_is_left() {
    for (format, left) in
        [("json", "\"code\": \"unknown-stage-op\""), ("github", "::error "), ("concise", "unknown-stage-op")]
    {
        let project = Project::new(&[("manifest/demo.yaml", &wrong())]);
        let (stdout, stderr) = project.run(&["--check", "--fix", "--format", format], 1);
        assert!(stdout.contains(left) && !stdout.contains("unknown-value"), "{format}: {stdout}");
        assert!(stderr.contains("2 fixed in 1 file, 2 left"), "{stderr}");
    }
}

#[test]
fn line_ends_and_the_first_mark_stay() {
    let text = format!("\u{feff}{}", wrong().replace('\n', "\r\n"));
    let project = Project::new(&[("manifest/demo.yaml", &text)]);
    project.run(&["--check", "--fix"], 1);
    assert_eq!(project.read("manifest/demo.yaml"), format!("\u{feff}{}", safely().replace('\n', "\r\n")));
}

#[cfg(unix)]
#[test]
fn permissions_and_links_stay() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let project = Project::new(&[("manifest/demo.yaml", &wrong()), ("elsewhere/linked.yaml", &wrong())]);
    let path = project.path("manifest/demo.yaml");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).expect("set");
    symlink(Path::new("../elsewhere/linked.yaml"), project.path("manifest/demo_b.yaml")).expect("linked");
    project.run(&["--check", "--fix", "--ignore", "duplicate-op"], 1);
    assert_eq!(fs::metadata(&path).expect("there").permissions().mode() & 0o777, 0o640);
    assert!(fs::symlink_metadata(project.path("manifest/demo_b.yaml")).expect("there").is_symlink());
    assert_eq!(project.read("elsewhere/linked.yaml"), safely());
}

#[test]
fn options_that_do_not_go_together_are_refused() {
    let project = Project::new(&[("manifest/demo.yaml", CLEAN)]);
    for wrong in [
        vec!["--fix"],
        vec!["--check", "--unsafe-fixes"],
        vec!["--check", "--fix", "--diff"],
        vec!["--check", "--fix", "--watch"],
        vec!["--check", "--diff", "--watch"],
        vec!["--check", "--diff", "--format", "json"],
        vec!["--rows", "--fix"],
        vec!["--check", "--fix", "-", "manifest", "--stdin-filename", "manifest/a.yaml"],
    ] {
        project.run(&wrong, 2);
    }
}
