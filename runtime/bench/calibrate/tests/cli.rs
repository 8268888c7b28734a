//! What the program says before it measures anything: no test here needs a GPU.

#![allow(clippy::disallowed_methods, reason = "a test writes files of its own")]

use std::path::Path;
use std::process::Command;

const PROFILE: &str = "gpu: No such device\nhbm: {bandwidth: 4.8e+12}\nlatency_floor_ns: 0\nsource: data sheet\n";

fn run(folder: &Path, arguments: &[&str]) -> (Option<i32>, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tileops-calibrate"));
    let output = command.args(arguments).current_dir(folder).output().expect("the program runs");
    (output.status.code(), String::from_utf8(output.stderr).expect("it speaks UTF-8"))
}

#[test]
fn what_could_not_be_written_is_said_before_anything_is_measured() {
    let folder = tempfile::tempdir().expect("a folder");
    let profile = folder.path().join("p.yaml");
    std::fs::write(&profile, PROFILE).expect("it is written");
    std::fs::create_dir(folder.path().join("folder")).expect("it is made");
    for (arguments, said) in [
        (&["--out", "none/p.yaml"][..], "cannot write `none/p.yaml`, so nothing was measured"),
        (&["--log", "none/log.json"], "cannot write `none/log.json`, so nothing was measured"),
        (&["--out", "folder"], "cannot write `folder`, so nothing was measured"),
        (&["--log", "p.yaml"], "--log `p.yaml` is the profile's file: name another for the log"),
        (&["--log", "./p.yaml"], "--log `./p.yaml` is the profile's file"),
        (&["--out", "new.yaml", "--log", "new.yaml"], "--log `new.yaml` is the profile's file"),
    ] {
        let (code, error) = run(folder.path(), &[&["--profile", "p.yaml"], arguments].concat());
        assert!(code == Some(2) && error.starts_with("error: ") && error.contains(said), "{arguments:?}: {error}");
    }
    assert_eq!(std::fs::read_to_string(&profile).expect("it can be read"), PROFILE);
    assert_eq!(std::fs::read_dir(folder.path()).expect("it can be listed").count(), 2, "nothing else is left");
    // Where all can be written, the device is what it looks at next.
    let (code, error) = run(folder.path(), &["--profile", "p.yaml", "--out", "new.yaml", "--log", "log.json"]);
    assert!(code == Some(2) && !error.contains("cannot write"), "{error}");
}

#[test]
fn a_time_is_one() {
    let folder = tempfile::tempdir().expect("a folder");
    for bad in ["-1", "0", "nan", "inf", "1e9", "soon"] {
        let (code, error) = run(folder.path(), &["--profile", "p.yaml", &format!("--sustained={bad}")]);
        let said = "write a time in seconds, above 0 and at most 3600, as in `4` or `0.5`";
        assert!(
            code == Some(2) && error.contains(&format!("invalid value '{bad}'")) && error.contains(said),
            "{error}"
        );
        let (code, error) = run(folder.path(), &["--profile", "p.yaml", "--sustained", bad]);
        assert!(code == Some(2) && error.contains(said), "{error}");
    }
}
