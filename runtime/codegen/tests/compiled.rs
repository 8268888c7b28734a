//! Emitted Rust compiles, and clippy has nothing to say of it: an entry a form of the language, and manifests that others
//! wrote, where they are at hand.

mod support;

use std::path::Path;

use support::places;
use tileops_codegen::{Target, emit};

fn is_content(manifest: &Path) {
    let (workspace, report) = support::analyzed(support::texts(manifest));
    let files = emit(Target::Rust, &workspace, &report, &|_| true).expect("the manifest is emitted");
    assert!(!workspace.entries().is_empty());
    let folder = tempfile::tempdir().expect("a folder can be made");
    let output = support::Crate::new(folder.path(), &files).cargo(&["clippy", "--", "-D", "warnings"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn the_forms_compile() {
    is_content(&places::forms());
}

#[test]
fn the_corpus_compiles() {
    let Some(corpus) = places::corpus() else { return };
    is_content(&corpus);
}
