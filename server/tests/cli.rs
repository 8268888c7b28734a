//! The real program: every mode, format, option and exit code, as a shell would see them.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
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

/// `CLEAN` with one error, `unknown-value` at 3:11.
fn wrong() -> String {
    CLEAN.replace("spec-only", "planned")
}

/// A folder with files in it.
struct Project(TempDir);

impl Project {
    fn new(files: &[(&str, &str)]) -> Self {
        let project = Project(tempfile::tempdir().expect("a folder"));
        for (name, text) in files {
            project.write(name, text.as_bytes());
        }
        project
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn write(&self, name: &str, bytes: &[u8]) {
        let path = self.path().join(name);
        fs::create_dir_all(path.parent().expect("a parent")).expect("folders");
        fs::write(path, bytes).expect("written");
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path().join(name)).expect("readable")
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tileops-lsp"));
        command.args(arguments).current_dir(self.path()).env_remove("NO_COLOR").env_remove("CLICOLOR_FORCE");
        command
    }

    #[track_caller]
    fn run(&self, arguments: &[&str], expected: i32) -> (String, String) {
        let output = self.command(arguments).stdin(Stdio::null()).output().expect("it runs");
        finished(arguments, output, expected)
    }

    #[track_caller]
    fn pipe(&self, arguments: &[&str], input: &[u8], expected: i32) -> (String, String) {
        let mut command = self.command(arguments);
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it runs");
        child.stdin.take().expect("a pipe").write_all(input).expect("it reads");
        finished(arguments, child.wait_with_output().expect("it ends"), expected)
    }

    #[track_caller]
    fn json(&self, arguments: &[&str], expected: i32) -> Vec<Value> {
        let arguments: Vec<&str> = arguments.iter().copied().chain(["--format", "json"]).collect();
        match serde_json::from_str(&self.run(&arguments, expected).0).expect("JSON") {
            Value::Array(items) => items,
            other => panic!("no array: {other}"),
        }
    }
}

#[track_caller]
fn finished(arguments: &[&str], output: Output, expected: i32) -> (String, String) {
    let stdout = String::from_utf8(output.stdout).expect("UTF-8");
    let stderr = String::from_utf8(output.stderr).expect("UTF-8");
    assert_eq!(output.status.code(), Some(expected), "{arguments:?}\n{stdout}\n{stderr}");
    assert!(!stderr.contains("panicked"), "{stderr}");
    (stdout, stderr)
}

#[test]
fn clean_and_defective_manifests() {
    let project = Project::new(&[("manifest/demo.yaml", CLEAN)]);
    assert_eq!(project.run(&["--check"], 0), ("no defects in 1 file, 1 entry\n".to_owned(), String::new()));
    project.write("manifest/demo_b.yaml", wrong().replace("Demo", "Other").as_bytes());
    let (stdout, _) = project.run(&["--check"], 1);
    assert!(stdout.ends_with("\n1 error in 1 of 2 files\n"), "{stdout}");
    assert!(stdout.contains("error[unknown-value]") && stdout.contains("--> manifest/demo_b.yaml:3:11"), "{stdout}");
    assert!(stdout.contains("3 |   status: planned"), "{stdout}");
}

#[test]
fn gpu_profiles_are_judged_too() {
    let profile = |calibration| {
        format!("gpu: Test GPU\nhbm: {{bandwidth: 1.0e+12, calibration: {calibration}}}\nlatency_floor_ns: 0\n")
    };
    let config = "profile = \"gpus/test.yaml\"\n";
    let project =
        Project::new(&[("manifest/demo.yaml", CLEAN), ("gpus/test.yaml", &profile("0.9")), ("tileops.toml", config)]);
    let (stdout, _) = project.run(&["--check"], 0);
    assert_eq!(stdout, "no defects in 2 files, 1 entry\n");
    project.write("gpus/test.yaml", profile("1.2").as_bytes());
    for arguments in [&["--check"][..], &["--check", "gpus"], &["--check", "gpus/test.yaml"]] {
        let (stdout, _) = project.run(arguments, 1);
        assert!(stdout.contains("error[profile-number]: `hbm.calibration` cannot be 1.2"), "{stdout}");
        assert!(stdout.contains("--> gpus/test.yaml:2:40"), "{stdout}");
    }
    // Its numbers are for who measured them to correct.
    project.run(&["--check", "--fix", "--unsafe-fixes", "gpus"], 1);
    assert_eq!(fs::read_to_string(project.path().join("gpus/test.yaml")).expect("it is there"), profile("1.2"));
    fs::remove_file(project.path().join("gpus/test.yaml")).expect("it is removed");
    assert!(project.run(&["--check"], 2).1.contains("cannot read `gpus/test.yaml`"));
}

#[test]
fn json_says_all_that_there_is() {
    let project = Project::new(&[("demo.yaml", &wrong())]);
    let items = project.json(&["--check", "demo.yaml"], 1);
    assert_eq!(items.len(), 1);
    let item = &items[0];
    let keys: Vec<&str> = item.as_object().expect("an object").keys().map(String::as_str).collect();
    assert_eq!(
        keys,
        ["file", "entry", "code", "path", "subject", "severity", "message", "help", "related", "range", "byte_range"]
    );
    assert_eq!((&item["file"], &item["entry"]), (&"demo.yaml".into(), &"DemoFwdOp".into()));
    assert_eq!(
        (&item["code"], &item["path"], &item["severity"]),
        (&"unknown-value".into(), &"status".into(), &"error".into())
    );
    assert_eq!(item["range"]["start"], serde_json::json!({"line": 3, "column": 11}));
    assert_eq!(item["range"]["end"], serde_json::json!({"line": 3, "column": 18}));
    let bytes: Vec<usize> = serde_json::from_value(item["byte_range"].clone()).expect("two numbers");
    assert_eq!(&wrong()[bytes[0]..bytes[1]], "planned");
}

#[test]
fn every_format_writes_to_standard_output_and_to_a_file() {
    let project = Project::new(&[("demo.yaml", &wrong())]);
    for (format, part) in [
        ("human", "1 error in 1 of 1 file"),
        ("concise", "demo.yaml:3:11: error[unknown-value]: "),
        ("json", "\"code\": \"unknown-value\""),
        ("sarif", "\"version\": \"2.1.0\""),
        ("github", "::error title=tileops (unknown-value),file=demo.yaml,line=3,"),
        ("gitlab", "\"check_name\": \"unknown-value\""),
        ("junit", "<failure "),
    ] {
        let (stdout, _) = project.run(&["--check", "demo.yaml", "--format", format], 1);
        assert!(stdout.contains(part), "{format}: {stdout}");
        let (nothing, _) = project.run(&["--check", "demo.yaml", "--format", format, "--output-file", "report"], 1);
        assert_eq!((nothing.as_str(), project.read("report")), ("", stdout));
    }
}

#[test]
fn wrong_usage_is_2_and_help_is_0() {
    let project = Project::new(&[("demo.yaml", CLEAN)]);
    for arguments in [
        &["--check", "--rows"][..],
        &["--check", "--format", "yaml"],
        &["--check", "--format", "table"],
        &["--rows", "--format", "sarif"],
        &["--check", "--nonsense"],
        &["--check", "-"],
        &["--check", "--ignore", "unknown-kee"],
        &["--check", "demo.yaml", "--ignore", "unknown-key", "--error", "unknown-key"],
        &["--check", "demo.yaml", "--select-op", "["],
        &["--check", "demo.yaml", "--select-op", "DemoFwd"],
        &["--check", "demo.yaml", "--jobs", "0"],
        &["--check", "demo.yaml", "--jobs", "999999"],
        &["--check", "demo.yaml", "--baseline", "none.json"],
        &["--check"],
        &["demo.yaml"],
    ] {
        let (stdout, stderr) = project.run(arguments, 2);
        assert!(!stderr.is_empty(), "{arguments:?}: {stdout}");
    }
    assert!(project.run(&["--check", "--ignore", "unknown-kee"], 2).1.contains("did you mean `unknown-key`?"));
    assert!(
        project.run(&["--check", "demo.yaml", "--select-op", "DemoFwd"], 2).1.contains("did you mean `DemoFwdOp`?")
    );
    project.run(&["--help"], 0);
    assert!(project.run(&["--version"], 0).0.starts_with("tileops-lsp "));
}

#[test]
fn explain_prints_pages_and_lists_codes() {
    let project = Project::new(&[]);
    let (page, _) = project.run(&["--explain", "unknown-key"], 0);
    assert!(page.starts_with("# unknown-key\n") && page.contains("## Wrong") && page.contains("## Right"), "{page}");
    let (_, list) = project.run(&["--explain", "unknown-kee"], 2);
    let lines: Vec<&str> = list.lines().collect();
    assert!(
        lines[0].contains("did you mean `unknown-key`?") && lines[2].trim_start().starts_with("unknown-key "),
        "{list}"
    );
    assert!(list.contains("yaml-syntax"), "{list}");
    assert!(project.run(&["--explain", "all"], 0).0.contains("unused-suppression"));
}

#[test]
fn unreadable_input_is_2_and_the_rest_is_judged() {
    let project = Project::new(&[("manifest/demo.yaml", &wrong())]);
    let (stdout, stderr) = project.run(&["--check", "manifest", "none.yaml", "none"], 2);
    assert!(stdout.contains("1 error in 1 of 1 file"), "{stdout}");
    assert!(
        stderr.contains("cannot read `none.yaml`: No such file or directory") && stderr.contains("`none`"),
        "{stderr}"
    );

    project.write("manifest/binary.yaml", &[0x7f, 0x45, 0x00, 0xf0, 0xff].repeat(20));
    project.write("manifest/utf16.yaml", b"\xff\xfea\0:\0");
    let (stdout, stderr) = project.run(&["--check"], 2);
    assert!(stdout.contains("1 error in 1 of 1 file"), "{stdout}");
    assert!(stderr.contains("binary.yaml`: it is binary") && stderr.contains("utf16.yaml`: it is UTF-16"), "{stderr}");
}

#[test]
fn a_file_beyond_the_bound_is_refused_unread() {
    let project = Project::new(&[("demo.yaml", &wrong())]);
    let big = fs::File::create(project.path().join("big.yaml")).expect("created");
    big.set_len((64 << 20) + 1).expect("a sparse file");
    let (stdout, stderr) = project.run(&["--check", "demo.yaml", "big.yaml"], 2);
    assert!(stdout.contains("1 error in 1 of 1 file") && stderr.contains("larger than 64 MiB"), "{stdout}{stderr}");
}

#[test]
fn bytes_that_are_no_utf8_are_one_defect_each_and_hide_nothing() {
    let mut bytes = CLEAN.replace("\"M\"}", "\"M\"}  # caf\u{1}").into_bytes();
    let at = bytes.iter().position(|&byte| byte == 1).expect("it is there");
    bytes[at] = 0xe9;
    bytes.extend(wrong().replace("Demo", "Other").bytes());
    let project = Project::new(&[]);
    project.write("demo.yaml", &bytes);
    let items = project.json(&["--check", "demo.yaml"], 1);
    let codes: Vec<_> = items.iter().map(|item| (item["entry"].as_str(), item["code"].as_str())).collect();
    assert_eq!(codes, [(Some("DemoFwdOp"), Some("yaml-character")), (Some("OtherFwdOp"), Some("unknown-value"))]);
    assert_eq!(items[0]["byte_range"], serde_json::json!([at, at + 1]));
}

#[cfg(unix)]
#[test]
fn what_may_not_be_read_is_said() {
    use std::os::unix::fs::PermissionsExt;
    let project = Project::new(&[("manifest/demo.yaml", CLEAN), ("manifest/closed.yaml", CLEAN)]);
    let closed = project.path().join("manifest/closed.yaml");
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o000)).expect("permissions");
    // Nothing is closed to the superuser.
    if fs::read(&closed).is_err() {
        let (_, stderr) = project.run(&["--check"], 2);
        assert!(stderr.contains("cannot read `manifest/closed.yaml`: Permission denied"), "{stderr}");
    }
}

#[test]
fn standard_input_stands_for_a_file() {
    let project =
        Project::new(&[("manifest/demo.yaml", CLEAN), ("manifest/demo_b.yaml", &CLEAN.replace("Demo", "Other"))]);
    let arguments = ["--check", "-", "--stdin-filename", "manifest/demo.yaml", "--format", "concise"];
    assert_eq!(project.pipe(&arguments, CLEAN.as_bytes(), 0).0, "");
    let (stdout, _) = project.pipe(&arguments, wrong().as_bytes(), 1);
    assert!(stdout.starts_with("manifest/demo.yaml:3:11: ") && stdout.lines().count() == 1, "{stdout}");
    // It is judged among the files beside it.
    let (stdout, _) = project.pipe(&arguments, CLEAN.replace("Demo", "Other").as_bytes(), 0);
    assert_eq!(stdout, "", "the second declaration is in a file that is not judged");
    let other = ["--check", "-", "--stdin-filename", "manifest/demo_c.yaml", "--format", "concise"];
    assert!(project.pipe(&other, CLEAN.as_bytes(), 1).0.contains("duplicate-op"));
    project.pipe(&arguments, b"", 1);
    project.pipe(&arguments, b"\xff\xfe\0\0", 2);
}

#[test]
fn another_projects_yaml_is_left_alone() {
    let project = Project::new(&[
        ("ops/demo.yaml", &wrong()),
        ("ops/values.yaml", "replicas: 3\nimage: {tag: x}\n"),
        (".github/workflows/ci.yaml", "on: push\n"),
        ("ops/broken.yaml", "a: [\n"),
    ]);
    let (stdout, stderr) = project.run(&["--check", "."], 1);
    assert!(stdout.ends_with("1 error in 1 of 1 file\n"), "{stdout}");
    assert!(stderr.contains("skipped 2 files that are no manifests"), "{stderr}");
    let (_, stderr) = project.run(&["--check", ".", "--verbose"], 1);
    assert!(stderr.contains("skipped `ops/values.yaml`: no entry in it has a `signature`"), "{stderr}");
    let (_, stderr) = project.run(&["--check", ".github"], 0);
    assert!(stderr.contains("skipped"), "{stderr}");
}

#[test]
fn a_file_that_is_named_is_judged_whatever_it_holds() {
    let project = Project::new(&[
        ("ops/values.yaml", "replicas: 3\n"),
        ("ops/demo.yaml", "OpName:\n"),
        ("ops/empty.yaml", ""),
        ("ops/other.yaml", "on: push\n"),
    ]);
    let (stdout, stderr) = project.run(&["--check", "ops/values.yaml", "--format", "concise"], 1);
    assert!(stdout.contains("ops/values.yaml:1:1: error[op-name]"), "{stdout}");
    assert!(!stderr.contains("skipped"), "files beside it were not asked for: {stderr}");
    let (stdout, _) = project.run(&["--check", "ops/demo.yaml", "--format", "concise"], 1);
    assert!(stdout.contains("ops/demo.yaml:1:"), "{stdout}");
    project.run(&["--check", "ops/empty.yaml"], 1);
}

#[test]
fn configuration_is_found_upwards_and_obeyed() {
    let project = Project::new(&[
        ("tileops.toml", "manifest = [\"ops\"]\n[codes]\nunknown-value = \"advisory\"\n"),
        ("ops/demo.yaml", &wrong()),
        ("ops/none.yaml", "a: 1\n"),
        ("deep/er/x.txt", ""),
    ]);
    let (stdout, _) = project.run(&["--check", "--format", "concise"], 1);
    assert!(stdout.contains("ops/demo.yaml:3:11: advisory[unknown-value]"), "{stdout}");
    assert!(stdout.contains("ops/none.yaml:"), "a file of a manifest folder is a manifest: {stdout}");
    fs::remove_file(project.path().join("ops/none.yaml")).expect("removed");
    project.run(&["--check"], 0);
    project.run(&["--check", "--error-on-advisory"], 1);
    project.run(&["--check", "--error", "unknown-value"], 1);
    assert_eq!(project.run(&["--check", "--ignore", "unknown-value", "--format", "concise"], 0).0, "");
    let output = Command::new(env!("CARGO_BIN_EXE_tileops-lsp"))
        .args(["--check", "--format", "concise"])
        .current_dir(project.path().join("deep/er"))
        .output()
        .expect("it runs");
    assert!(String::from_utf8_lossy(&output.stdout).starts_with("../../ops/demo.yaml:3:11: "), "{output:?}");
}

#[test]
fn a_wrong_configuration_is_said_at_its_place() {
    let project = Project::new(&[("tileops.toml", "manifst = [\"ops\"]\n"), ("manifest/demo.yaml", CLEAN)]);
    let (stdout, stderr) = project.run(&["--check"], 0);
    assert_eq!(stdout, "no defects in 1 file, 1 entry\n");
    assert!(stderr.contains("has no key `manifst`") && stderr.contains("tileops.toml:1:1"), "{stderr}");
    assert!(stderr.contains("it knows `manifest`"), "{stderr}");
    project.write("tileops.toml", b"manifest = 3\n");
    assert!(project.run(&["--check"], 2).1.contains("`manifest` takes an array of strings, not an integer"));
    project.write("tileops.toml", b"manifest = [\n");
    project.run(&["--check"], 2);
    project.write("tileops.toml", b"manifest = [\"gone\"]\n");
    assert!(project.run(&["--check"], 2).1.contains("cannot read `gone`"));
}

#[test]
fn formulas_are_found_in_sources_without_importing_them() {
    let text =
        CLEAN.replace("spec-only", "implemented").replace("{flops: \"M\"}", "{func: \"my.formulas.demo_roofline\"}");
    let project = Project::new(&[
        ("tileops.toml", "[formulas]\npackage = \"my.formulas\"\nsources = [\"python\"]\n"),
        ("manifest/demo.yaml", &text),
        ("python/my/formulas.py", "raise RuntimeError\n\ndef demo_roofline(call):\n    return 0, 0\n"),
    ]);
    project.run(&["--check"], 0);
    project.write("python/my/formulas.py", b"def demo_rooflin(call): ...\n");
    let (stdout, _) = project.run(&["--check"], 1);
    assert!(stdout.contains("demo_rooflin`"), "the nearest name is said: {stdout}");
    project.write("tileops.toml", b"[formulas]\npackage = \"my.formulas\"\nnames = [\"demo_roofline\"]\n");
    project.run(&["--check"], 0);
    project.write("tileops.toml", b"[formulas]\npackage = \"my.formulas\"\nsources = [\"gone\"]\n");
    assert!(project.run(&["--check"], 2).1.contains("cannot read `gone`: No such file or directory"));
    project.write("tileops.toml", b"[formulas]\npackage = \"other\"\n");
    project.run(&["--check"], 1);
}

#[test]
fn levels_of_the_command_line_go_before() {
    let project = Project::new(&[("demo.yaml", &wrong())]);
    assert!(
        project.run(&["--check", "demo.yaml", "--warn", "unknown-value"], 0).0.contains("1 advisory in 1 of 1 file")
    );
    project.run(&["--check", "demo.yaml", "--warn", "unknown-value", "--error-on-advisory"], 1);
    project.run(&["--check", "demo.yaml", "--ignore", "unknown-value,unknown-key"], 0);
}

#[test]
fn ops_are_selected_by_globs() {
    let two = format!("{}{}", wrong(), wrong().replace("Demo", "Other"));
    let project = Project::new(&[("demo.yaml", &two)]);
    let entries = |arguments: &[&str]| -> Vec<String> {
        let items = project.json(&[&["--check", "demo.yaml"], arguments].concat(), 1);
        items.iter().map(|item| item["entry"].as_str().expect("a name").to_owned()).collect()
    };
    assert_eq!(entries(&[]), ["DemoFwdOp", "OtherFwdOp"]);
    assert_eq!(entries(&["--select-op", "Oth*"]), ["OtherFwdOp"]);
    assert_eq!(entries(&["--select-op", "Oth*", "--select-op", "DemoFwdOp"]), ["DemoFwdOp", "OtherFwdOp"]);
}

#[test]
fn unreached_judgments_are_listed_on_demand() {
    let project = Project::new(&[("demo.yaml", &CLEAN.replace("forall: {M: Dim", "forall: [M: Dim"))]);
    let items = project.json(&["--check", "demo.yaml", "--unreached"], 1);
    let severities: Vec<&str> = items.iter().filter_map(|item| item["severity"].as_str()).collect();
    assert!(severities.contains(&"error"), "{items:#?}");
    assert!(severities.iter().all(|severity| ["error", "advisory", "unreached"].contains(severity)));
    let without = project.json(&["--check", "demo.yaml"], 1);
    assert!(without.iter().all(|item| item["severity"] != "unreached"));
}

#[test]
fn statistics_count_codes() {
    let two = format!("{}{}", wrong(), wrong().replace("Demo", "Other"));
    let project = Project::new(&[("demo.yaml", &two)]);
    let (stdout, _) = project.run(&["--check", "demo.yaml", "--statistics"], 1);
    assert!(
        stdout.contains("     2  error      unknown-value\n") && stdout.ends_with("2 errors in 1 of 1 file\n"),
        "{stdout}"
    );
    let (stdout, stderr) = project.run(&["--check", "demo.yaml", "--statistics", "--format", "json"], 1);
    serde_json::from_str::<Value>(&stdout).expect("JSON stays JSON");
    assert!(stderr.contains("     2  error      unknown-value\n"), "{stderr}");
}

#[test]
fn comments_suppress_and_are_counted() {
    let text = wrong().replace("planned", "planned  # tileops: ignore[unknown-value]");
    let project = Project::new(&[("demo.yaml", &text)]);
    let (stdout, stderr) = project.run(&["--check", "demo.yaml"], 0);
    assert_eq!(stdout, "no defects in 1 file, 1 entry\n");
    assert!(stderr.contains("1 defect is suppressed by comments"), "{stderr}");
    project.write("demo.yaml", text.replace("planned", "spec-only").as_bytes());
    assert!(project.run(&["--check", "demo.yaml"], 0).0.contains("advisory[unused-suppression]"));
}

#[test]
fn a_baseline_holds_back_and_only_shrinks() {
    let project = Project::new(&[("manifest/demo.yaml", &wrong())]);
    let write = ["--check", "--baseline", "baseline.json", "--write-baseline"];
    let use_it = ["--check", "--baseline", "baseline.json"];
    let (stdout, _) = project.run(&write, 0);
    assert_eq!(stdout, "no defects in 1 file, 1 entry\n");
    let first = project.read("baseline.json");
    let (_, stderr) = project.run(&use_it, 0);
    assert!(stderr.contains("1 defect is held back"), "{stderr}");
    // What moves stays known.
    project.write("manifest/demo.yaml", format!("# moved\n\n{}", wrong()).as_bytes());
    project.run(&use_it, 0);

    // A second defect is new, even one like the first, and is not taken in.
    let more =
        format!("{}{}", wrong().replace("label: small}", "label: small, label: x}"), wrong().replace("Demo", "Other"));
    project.write("manifest/demo.yaml", more.as_bytes());
    let (stdout, _) = project.run(&use_it, 1);
    assert!(stdout.contains("duplicate-key") && stdout.contains("2 errors in 1 of 1 file"), "{stdout}");
    project.run(&write, 1);
    assert_eq!(project.read("baseline.json"), first);

    // What is gone is said, and then forgotten for good.
    project.write("manifest/demo.yaml", CLEAN.as_bytes());
    let (_, stderr) = project.run(&use_it, 0);
    assert!(stderr.contains("a defect that is gone") && stderr.contains("`DemoFwdOp`: unknown-value"), "{stderr}");
    project.run(&write, 0);
    assert!(!project.read("baseline.json").contains("unknown-value"));
    project.write("manifest/demo.yaml", wrong().as_bytes());
    project.run(&write, 1);
    assert!(!project.read("baseline.json").contains("unknown-value"));
}

#[test]
fn a_baseline_is_only_stale_where_a_run_looked() {
    let project =
        Project::new(&[("manifest/demo.yaml", &wrong()), ("manifest/demo_b.yaml", &wrong().replace("Demo", "Other"))]);
    project.run(&["--check", "--baseline", "b.json", "--write-baseline"], 0);
    let before = project.read("b.json");
    let (_, stderr) = project.run(&["--check", "manifest/demo.yaml", "--baseline", "b.json", "--write-baseline"], 0);
    assert!(!stderr.contains("gone"), "{stderr}");
    assert_eq!(project.read("b.json"), before);
    fs::remove_file(project.path().join("manifest/demo_b.yaml")).expect("removed");
    let (_, stderr) = project.run(&["--check", "--baseline", "b.json"], 0);
    assert!(stderr.contains("demo_b.yaml"), "{stderr}");
    project.write("b.json", b"{\"version\": 1}");
    project.run(&["--check", "--baseline", "b.json"], 2);
}

#[test]
fn the_order_is_the_same_for_any_number_of_threads() {
    let mut files = Vec::new();
    for name in 0..20 {
        let text: String = (0..10).map(|op| wrong().replace("Demo", &format!("Demo{name}x{op}"))).collect();
        files.push((format!("manifest/demo_{name}.yaml"), text));
    }
    let files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    let project = Project::new(&files);
    let report = |jobs: &str| project.run(&["--check", "--format", "json", "--jobs", jobs], 1).0;
    let one = report("1");
    assert!((0..3).all(|_| report("8") == one));
    let items: Vec<Value> = serde_json::from_str(&one).expect("JSON");
    let order: Vec<(String, u64)> = items
        .iter()
        .map(|item| (item["file"].to_string(), item["byte_range"][0].as_u64().expect("an offset")))
        .collect();
    assert!(order.is_sorted() && order.len() >= 200);
}

#[test]
fn colors_are_used_when_asked_for() {
    let project = Project::new(&[("demo.yaml", &wrong())]);
    let has_colors =
        |arguments: &[&str]| project.run(&[&["--check", "demo.yaml"], arguments].concat(), 1).0.contains('\u{1b}');
    assert!(!has_colors(&[]), "a pipe is no terminal");
    assert!(has_colors(&["--color", "always"]));
    assert!(!has_colors(&["--color", "never"]));
    let output = project.command(&["--check", "demo.yaml"]).env("NO_COLOR", "1").output().expect("it runs");
    assert!(!output.stdout.contains(&0x1b));
}

#[test]
fn a_bug_of_ours_is_101_and_hides_nothing_else() {
    let second = wrong().replace("DemoFwdOp", "OtherFwdOp");
    let project = Project::new(&[("demo.yaml", &format!("{CLEAN}{second}"))]);
    let output = project
        .command(&["--check", "--format", "concise", "."])
        .env("TILEOPS_LSP_TEST_PANIC", "DemoFwdOp")
        .output()
        .expect("it runs");
    let stdout = String::from_utf8(output.stdout).expect("UTF-8");
    let stderr = String::from_utf8(output.stderr).expect("UTF-8");
    assert_eq!(output.status.code(), Some(101), "{stdout}\n{stderr}");
    assert!(stdout.starts_with("demo.yaml:15:11: error[unknown-value]"), "the other entry is judged: {stdout}");
    assert!(stderr.contains("DemoFwdOp") && stderr.contains("a deliberate panic"), "{stderr}");
    assert!(stderr.contains("panics.rs"), "the place is said: {stderr}");
}

#[cfg(unix)]
#[test]
fn an_interrupted_run_is_130() {
    let project = Project::new(&[]);
    // Standard input stays open, so that the run waits for it until the signal comes.
    let arguments = ["--check", "-", "--stdin-filename", "demo.yaml"];
    let mut child = project
        .command(&arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it runs");
    let pid = child.id().to_string();
    // The handler is there from the moment on that the signal is caught at all, which the kernel tells.
    let caught = || {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        let mask = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).map(str::trim);
        mask.and_then(|mask| u64::from_str_radix(mask, 16).ok()).is_some_and(|mask| mask & (1 << 1) != 0)
    };
    let start = Instant::now();
    while cfg!(target_os = "linux") && !caught() && start.elapsed() < Duration::from_secs(20) {
        std::thread::sleep(Duration::from_millis(10));
    }
    assert!(Command::new("kill").args(["-INT", &pid]).status().expect("kill runs").success());
    let keep_open = child.stdin.take();
    let output = child.wait_with_output().expect("it ends");
    drop(keep_open);
    finished(&arguments, output, 130);
}

#[test]
fn a_closed_pipe_is_no_failure_of_ours() {
    let text: String = (0..2_000).map(|op| wrong().replace("Demo", &format!("Demo{op}"))).collect();
    let project = Project::new(&[("demo.yaml", &text)]);
    for format in ["human", "json", "concise", "junit", "sarif"] {
        let mut command = project.command(&["--check", "demo.yaml", "--format", format]);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it runs");
        let mut stdout = child.stdout.take().expect("a pipe");
        stdout.read_exact(&mut [0; 16]).expect("some output");
        drop(stdout);
        let output = child.wait_with_output().expect("it ends");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(
            output.status.code() == Some(1) && !stderr.contains("panic") && !stderr.contains("error"),
            "{format}: {output:?}"
        );
    }
}

#[test]
fn rows_are_printed_for_people_and_for_scripts() {
    let project = Project::new(&[("demo.yaml", CLEAN)]);
    let rows =
        match serde_json::from_str(&project.run(&["--rows", "demo.yaml", "--format", "json"], 0).0).expect("JSON") {
            Value::Array(rows) => rows,
            other => panic!("no array: {other}"),
        };
    for row in &rows {
        let keys: Vec<&str> = row.as_object().expect("an object").keys().map(String::as_str).collect();
        assert_eq!(keys, ["file", "op", "case_id", "tensors", "bytes", "read", "write"]);
    }
    let (table, _) = project.run(&["--rows", "demo.yaml"], 0);
    assert!(table.ends_with(&format!("{} call{}\n", rows.len(), if rows.len() == 1 { "" } else { "s" })), "{table}");
    project.write("demo.yaml", wrong().as_bytes());
    assert!(project.run(&["--rows", "demo.yaml"], 1).1.contains("`demo.yaml` has 1 error"));
}

#[cfg(unix)]
#[test]
fn watching_reports_again_after_a_change_and_ends_when_interrupted() {
    let project = Project::new(&[("manifest/demo.yaml", CLEAN)]);
    let mut command = project.command(&["--check", "--watch"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it runs");
    let (lines, received) = std::sync::mpsc::channel();
    for stream in [
        Box::new(child.stdout.take().expect("a pipe")) as Box<dyn Read + Send>,
        Box::new(child.stderr.take().expect("a pipe")),
    ] {
        let lines = lines.clone();
        std::thread::spawn(move || {
            BufReader::new(stream).lines().map_while(Result::ok).try_for_each(|line| lines.send(line))
        });
    }
    // The two streams come in any order: what was read is kept.
    let mut log: Vec<String> = Vec::new();
    let mut wait_for = |part: &str, times: usize| {
        let deadline = Instant::now() + Duration::from_secs(20);
        while log.iter().filter(|line| line.contains(part)).count() < times {
            match received.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(line) => log.push(line),
                Err(_) => return false,
            }
        }
        true
    };
    let mut seen = vec![wait_for("no defects in 1 file", 1), wait_for("watching for changes", 1)];
    project.write("manifest/demo.yaml", wrong().as_bytes());
    seen.extend([wait_for("1 error in 1 of 1 file", 1), wait_for("watching for changes", 2)]);
    project.write("manifest/demo_b.yaml", wrong().replace("Demo", "Other").as_bytes());
    seen.push(wait_for("2 errors in 2 of 2 files", 1));
    let interrupted = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    if !interrupted.is_ok_and(|status| status.success()) {
        child.kill().expect("it can be ended");
    }
    let status = child.wait().expect("it ends");
    assert_eq!((seen, status.code()), (vec![true; 5], Some(130)));
}
