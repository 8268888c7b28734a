//! Holds who may know whom against what cargo resolves.

use std::process::Command;

/// What the analyzer must not depend on: protocols, async runtimes, walkers of file systems, GPUs, serialization, and
/// the crates that are built on it.
const FOREIGN: &[&str] = &[
    "async-std",
    "clap",
    "cudarc",
    "lsp-server",
    "lsp-types",
    "notify",
    "serde",
    "serde_json",
    "tileops-codegen",
    "tileops-lsp",
    "tileops-ops",
    "tileops-roofline",
    "tokio",
    "tower",
    "tower-lsp",
    "tower-lsp-server",
    "walkdir",
];

fn dependencies(package: &str) -> Vec<String> {
    let output = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args(["tree", "--package", package, "--edges", "normal", "--prefix", "none", "--format", "{p}", "--locked"])
        .current_dir(tileops_tests::root())
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "cargo tree: {}", String::from_utf8_lossy(&output.stderr));
    let tree = String::from_utf8_lossy(&output.stdout);
    tree.lines().filter_map(|line| line.split_whitespace().next()).map(str::to_owned).collect()
}

#[test]
fn the_analyzer_knows_no_protocol_no_runtime_no_file_system_and_no_gpu() {
    let found = dependencies("tileops-analyzer");
    assert!(found.iter().any(|name| name == "tree-sitter"), "the tree lists dependencies: {found:?}");
    let foreign: Vec<_> = found.iter().filter(|name| FOREIGN.contains(&name.as_str())).collect();
    assert!(foreign.is_empty(), "the analyzer depends on {foreign:?}");
}

/// What an op needs of the manifest was emitted: neither the analyzer nor a reader of the language is under it.
#[test]
fn the_ops_know_no_yaml() {
    let found = dependencies("tileops-ops");
    assert!(!found.iter().any(|name| name.contains("yaml")), "the ops depend on {found:?}");
}

#[test]
fn a_crate_knows_of_ours_what_is_said_of_it() {
    for (package, known) in [
        ("tileops-device", &["tileops-files"][..]),
        ("tileops-files", &[]),
        ("tileops-ops", &[]),
        ("tileops-record", &[]),
        ("tileops-roofline", &["tileops-files", "tileops-record"]),
    ] {
        let mut ours = dependencies(package);
        ours.retain(|name| name.starts_with("tileops-"));
        assert_eq!(ours[0], package, "the tree begins with the crate itself");
        assert_eq!(ours[1..], *known, "{package}");
    }
}

#[test]
fn the_analyzer_reads_no_file_and_starts_no_process() {
    let mut stack = vec![tileops_tests::root().join("analyzer/src")];
    while let Some(path) = stack.pop() {
        if path.is_dir() {
            stack.extend(std::fs::read_dir(&path).expect("a source folder can be listed").flatten().map(|e| e.path()));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = std::fs::read_to_string(&path).expect("a source file can be read");
            // Tests of a module may; they stand at its end.
            let code = text.split("#[cfg(test)]").next().unwrap_or("");
            for banned in ["std::fs", "std::net", "std::process", "std::env"] {
                assert!(!code.contains(banned), "{} uses {banned}", path.display());
            }
        }
    }
}
