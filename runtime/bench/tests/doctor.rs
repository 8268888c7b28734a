//! `tileops-bench doctor`, on the machine that runs the tests.

use std::process::{Command, Output};

use tileops_device::Library;

fn doctor(arguments: &[&str], cache: &std::path::Path) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tileops-bench"));
    command.arg("doctor").args(arguments).env("TILEOPS_CACHE_DIR", cache).output().expect("the program runs")
}

#[test]
fn it_says_what_is_found_and_what_to_do_about_the_rest() {
    let folder = tempfile::tempdir().expect("a folder");
    let output = doctor(&[], folder.path());
    let text = String::from_utf8_lossy(&output.stdout);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.is_empty(), "{said}");
    for library in Library::ALL {
        let version = library.version().unwrap_or_default();
        let remedy = if library.is_present() { "" } else { "install" };
        let at = text.find(library.file_name());
        assert!(at.is_some_and(|at| text[at..].contains(remedy)) && text.contains(&version), "{library:?}\n{text}");
    }
    assert!(text.contains(&format!("{}, and it can be written", folder.path().join("cubin").display())), "{text}");
    let has_gpu = tileops_device::Device::count().is_ok_and(|count| count > 0);
    assert_eq!(text.contains("kernel   it ran on the device"), output.status.success(), "{text}");
    assert!(has_gpu || output.status.code() == Some(1), "{text}");
}

#[test]
fn a_cache_that_cannot_be_written_is_said() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("file");
    std::fs::write(&file, "no folder").expect("written");
    let output = doctor(&["--device", "cuda:0"], &file);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("cubin cannot be written (") && text.contains("set TILEOPS_CACHE_DIR to a folder"), "{text}");
}

#[test]
fn it_is_of_gpus_and_takes_none_of_the_bench_s_options() {
    let folder = tempfile::tempdir().expect("a folder");
    let output = doctor(&["--device", "cpu"], folder.path());
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("`cuda:N`"), "{output:?}");
    assert_eq!(doctor(&["--price"], folder.path()).status.code(), Some(2));
}
