//! The emitted Rust that is checked in is what our manifest gives.

#[path = "support/places.rs"]
mod places;

use std::process::Command;

#[test]
fn the_emitted_ops_are_up_to_date() {
    let output = Command::new(env!("CARGO_BIN_EXE_tileops-codegen"))
        .args(["--manifest", "manifest", "--target", "rust", "--out", "runtime/ops/src/generated", "--check"])
        .current_dir(places::root())
        .output()
        .expect("the program runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// What is emitted is as `cargo fmt` leaves it: ours, and the corpus where it is at hand.
#[test]
fn the_emitted_ops_are_formatted() {
    for manifest in [Some(places::ours()), places::corpus()].into_iter().flatten() {
        let folder = tempfile::tempdir().expect("a folder can be made");
        let written = Command::new(env!("CARGO_BIN_EXE_tileops-codegen"))
            .args(["--target", "rust", "--manifest"])
            .arg(&manifest)
            .arg("--out")
            .arg(folder.path())
            .status()
            .expect("the program runs");
        assert!(written.success(), "{}", manifest.display());
        let output = Command::new("rustfmt")
            .args(["--edition", "2024", "--style-edition", "2024", "--check", "--config-path"])
            .arg(places::root().join("rustfmt.toml"))
            .arg(folder.path().join("mod.rs"))
            .output()
            .expect("rustfmt runs");
        let diff = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{}:\n{}", manifest.display(), diff.chars().take(4000).collect::<String>());
    }
}
