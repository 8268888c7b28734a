//! Rust that is emitted from manifests that others wrote, where they are at hand.

mod support;

use support::places;
use tileops_codegen::{Target, emit};

#[test]
fn the_corpus_compiles() {
    let Some(corpus) = places::corpus() else { return };
    let (workspace, report) = support::analyzed(support::texts(&corpus));
    let files = emit(Target::Rust, &workspace, &report, &|_| true).expect("the corpus is emitted");
    assert!(!workspace.entries().is_empty());
    let folder = tempfile::tempdir().expect("a folder can be made");
    let output = support::Crate::new(folder.path(), &files).cargo(&["check"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
