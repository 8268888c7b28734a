//! Manifests in memory, and crates of what is emitted from them.

#![allow(dead_code, reason = "a test that runs Python has no crate")]

pub(crate) mod places;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tileops_analyzer::workspace::{Report, SourceFile, Workspace};
use tileops_codegen::EmittedFile;

use places::root;

/// The texts of a folder's YAML files, each with its path.
pub(crate) fn texts(folder: &Path) -> Vec<(String, String)> {
    let listed = std::fs::read_dir(folder).expect("the folder can be listed").flatten().map(|item| item.path());
    let mut paths: Vec<PathBuf> = listed.filter(|path| path.extension().is_some_and(|e| e == "yaml")).collect();
    paths.sort();
    let text = |path: &PathBuf| std::fs::read_to_string(path).expect("a manifest can be read");
    paths.iter().map(|path| (path.display().to_string(), text(path))).collect()
}

/// The manifest of these texts, judged.
pub(crate) fn analyzed(texts: Vec<(String, String)>) -> (Workspace, Report) {
    let file = |(path, text): (String, String)| SourceFile {
        path: path.into(),
        text: text.into(),
        configured: true,
        judged: true,
    };
    let workspace = Workspace::new(texts.into_iter().map(file).collect());
    let analyses = workspace.entries().iter().map(|entry| workspace.analyze(entry)).collect();
    let report = workspace.finish(analyses);
    (workspace, report)
}

/// A crate of emitted Rust, in `folder`. Formulas that we do not have stand in it as functions of the checked call.
pub(crate) struct Crate<'f> {
    folder: &'f Path,
}

impl<'f> Crate<'f> {
    /// Writes the crate.
    pub(crate) fn new(folder: &'f Path, files: &[EmittedFile]) -> Crate<'f> {
        let generated = folder.join("src/generated");
        std::fs::create_dir_all(&generated).expect("a folder can be made");
        let ops = root().join("runtime/ops");
        let manifest = format!(
            "[package]\nname = \"emitted\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[workspace]\n\n\
             [dependencies]\ntileops-ops = {{ path = {:?} }}\n",
            ops.display().to_string()
        );
        std::fs::write(folder.join("Cargo.toml"), manifest).expect("a file can be written");
        // The versions that are locked are here; no other is asked for.
        std::fs::copy(root().join("Cargo.lock"), folder.join("Cargo.lock")).expect("the lock can be copied");
        let mut formulas = BTreeSet::new();
        for file in files {
            for call in file.text.split("formulas::").skip(1) {
                let name = call.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').next().unwrap_or_default();
                formulas.insert(name.to_owned());
            }
            let text = file.text.replace("tileops_ops::formulas", "crate::formulas");
            std::fs::write(generated.join(&file.path), text).expect("a file can be written");
        }
        let ours: BTreeSet<&str> = tileops_ops::formulas::ALL.iter().map(|(name, _)| *name).collect();
        let mut library =
            "pub mod generated;\n\npub mod formulas {\n    pub use tileops_ops::formulas::*;\n".to_owned();
        for name in formulas.iter().filter(|name| !name.is_empty() && !ours.contains(name.as_str())) {
            let _ = writeln!(
                library,
                "    pub fn {name}(_: &tileops_ops::CheckedCall) -> \
                 Result<tileops_ops::formulas::Cost, tileops_ops::OpError> {{\n        \
                 let none = tileops_ops::int(0);\n        \
                 Ok(tileops_ops::formulas::Cost {{ flops: none, read: none, written: none }})\n    }}"
            );
        }
        library.push_str(
            "}\n\npub mod declared {\n    pub fn of(_: &str) -> tileops_ops::Declared {\n        \
             tileops_ops::Declared::default()\n    }\n}\n",
        );
        std::fs::write(folder.join("src/lib.rs"), library).expect("a file can be written");
        Crate { folder }
    }

    /// Runs cargo on it, with the crates that it is built on kept between runs.
    pub(crate) fn cargo(&self, arguments: &[&str]) -> Output {
        Command::new(env!("CARGO"))
            .arg("--offline")
            .args(arguments)
            .current_dir(self.folder)
            .env("CARGO_TARGET_DIR", root().join("target/emitted"))
            .env_remove("RUSTFLAGS")
            .output()
            .expect("cargo runs")
    }
}
