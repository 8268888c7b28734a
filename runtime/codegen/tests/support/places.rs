//! Where manifests lie.

#![allow(dead_code, reason = "each test goes to some of these places")]

use std::path::{Path, PathBuf};

/// The workspace's folder.
pub(crate) fn root() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.canonicalize().expect("the workspace is somewhere")
}

/// The folder of our manifest.
pub(crate) fn ours() -> PathBuf {
    root().join("manifest")
}

/// The folder of the manifest that has an entry a form of the language.
pub(crate) fn forms() -> PathBuf {
    root().join("runtime/codegen/tests/forms")
}

/// The folder of manifests that others wrote, where they are at hand: `TILEOPS_CORPUS`, or `shared/corpus/spec` beside the
/// repository.
pub(crate) fn corpus() -> Option<PathBuf> {
    let named = std::env::var_os("TILEOPS_CORPUS").map(PathBuf::from);
    let root = root();
    let beside = root.ancestors().map(|folder| folder.join("shared/corpus/spec"));
    named.into_iter().chain(beside).find(|folder| folder.is_dir())
}
