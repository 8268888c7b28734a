//! Which revision of the sources is built, for the records: of the benchmark, and of the calibration beside it.

#![allow(clippy::print_stdout, reason = "how a build script speaks to Cargo")]

use std::process::Command;

fn main() {
    let git = |arguments: &[&str]| {
        let output = Command::new("git").args(arguments).output().ok().filter(|output| output.status.success())?;
        Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    // Sources without a repository, as in a package, have no revision.
    let Some(revision) = git(&["rev-parse", "HEAD"]) else { return };
    let changed = git(&["status", "--porcelain", "--untracked-files=no", ":/analyzer", ":/runtime", ":/Cargo.lock"]);
    println!("cargo::rustc-env=TILEOPS_REVISION={revision}");
    println!("cargo::rustc-env=TILEOPS_DIRTY={}", changed.is_none_or(|files| !files.is_empty()));
    if let Some(root) = git(&["rev-parse", "--show-toplevel"]) {
        for path in ["analyzer/src", "runtime", "Cargo.lock"] {
            println!("cargo::rerun-if-changed={root}/{path}");
        }
    }
    for name in ["HEAD", "logs/HEAD"] {
        if let Some(path) = git(&["rev-parse", "--git-path", name]) {
            println!("cargo::rerun-if-changed={path}");
        }
    }
}
