//! Rust that is emitted from manifests that others wrote, where they are at hand.

mod support;

use std::path::PathBuf;

use tileops_codegen::{Target, emit};

/// The folder of the manifests: `TILEOPS_CORPUS`, or `shared/corpus/spec` beside the repository.
fn corpus() -> Option<PathBuf> {
    let named = std::env::var_os("TILEOPS_CORPUS").map(PathBuf::from);
    let root = support::root();
    let beside = root.ancestors().map(|folder| folder.join("shared/corpus/spec"));
    named.into_iter().chain(beside).find(|folder| folder.is_dir())
}

#[test]
fn the_corpus_compiles() {
    let Some(corpus) = corpus() else { return };
    let (workspace, report) = support::analyzed(support::texts(&corpus));
    let files = emit(Target::Rust, &workspace, &report, &|_| true).expect("the corpus is emitted");
    assert!(!workspace.entries().is_empty());
    let folder = tempfile::tempdir().expect("a folder can be made");
    let output = support::Crate::new(folder.path(), &files).cargo(&["check"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
