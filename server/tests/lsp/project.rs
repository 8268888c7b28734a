//! Manifests to work on, and what check mode says of them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use tempfile::TempDir;

/// A folder with a manifest.
pub(crate) struct Project {
    folder: TempDir,
}

impl Project {
    pub(crate) fn new(files: &[(&str, &str)]) -> Self {
        let project = Project { folder: tempfile::tempdir().expect("a folder") };
        for (path, text) in files {
            project.write(path, text);
        }
        project
    }

    /// A copy of our own manifest.
    pub(crate) fn own() -> Self {
        let project = Project::new(&[]);
        let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("../manifest");
        for item in std::fs::read_dir(from).expect("the manifest") {
            let path = item.expect("a file").path();
            let name = path.file_name().and_then(|name| name.to_str()).expect("a name");
            project.write(&format!("manifest/{name}"), &std::fs::read_to_string(&path).expect("a text"));
        }
        project
    }

    pub(crate) fn root(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.root().join(path)
    }

    pub(crate) fn uri(&self, path: &str) -> String {
        super::client::uri(&self.path(path))
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.path(path);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        std::fs::write(path, text).expect("written");
    }

    pub(crate) fn read(&self, path: &str) -> String {
        std::fs::read_to_string(self.path(path)).expect("a text")
    }

    /// What check mode says of a file, as this protocol would put it, columns in scalars.
    pub(crate) fn checked(&self, path: &str) -> Vec<Value> {
        self.checked_with(&[]).remove(path).unwrap_or_default()
    }

    /// The same of all files, by their paths.
    pub(crate) fn checked_with(&self, options: &[&str]) -> BTreeMap<String, Vec<Value>> {
        let output = Command::new(env!("CARGO_BIN_EXE_tileops-lsp"))
            .args(["--check", "--format", "json"])
            .args(options)
            .arg("manifest")
            .current_dir(self.root())
            .output()
            .expect("check mode runs");
        let items: Vec<Value> = serde_json::from_slice(&output.stdout).expect("a report");
        let zero = |position: &Value| {
            let from_one = |name: &str| position[name].as_u64().expect("a number") - 1;
            json!({"line": from_one("line"), "character": from_one("column")})
        };
        let range = |range: &Value| json!({"start": zero(&range["start"]), "end": zero(&range["end"])});
        let mut found: BTreeMap<String, Vec<Value>> = BTreeMap::new();
        for item in &items {
            let help = item["help"].as_str().map_or_else(String::new, |help| format!("\n{help}"));
            let severity = match item["severity"].as_str() {
                Some("error") => 1,
                Some("advisory") => 2,
                _ => 4,
            };
            let message = format!("{}{help}", item["message"].as_str().expect("a text"));
            let related = item["related"].as_array().expect("an array").iter();
            let related: Vec<Value> = related
                .map(|place| {
                    let uri = self.uri(place["file"].as_str().expect("a path"));
                    json!([uri, range(&place["range"]), place["message"]])
                })
                .collect();
            let file = item["file"].as_str().expect("a path").to_owned();
            found.entry(file).or_default().push(json!([
                item["code"],
                severity,
                message,
                range(&item["range"]),
                related
            ]));
        }
        found
    }
}

/// Diagnostics in the form of [`Project::checked`].
pub(crate) fn plain(diagnostics: &[Value]) -> Vec<Value> {
    let related = |diagnostic: &Value| -> Vec<Value> {
        let places = diagnostic["relatedInformation"].as_array().cloned().unwrap_or_default();
        places.iter().map(|p| json!([p["location"]["uri"], p["location"]["range"], p["message"]])).collect()
    };
    let plain = |d: &Value| json!([d["code"], d["severity"], d["message"], d["range"], related(d)]);
    diagnostics.iter().map(plain).collect()
}

/// An entry of an op without defects.
pub(crate) fn entry(name: &str, shape: &str) -> String {
    format!(
        "{name}:\n  family: demo\n  status: spec-only\n  signature:\n    forall: {{M: Dim}}\n    inputs: {{x: {{dtype: \
         float32, shape: \"{shape}\"}}}}\n    outputs: {{y: {{dtype: float32, shape: \"[M]\"}}}}\n  workloads:\n  - {{M: 4, \
         label: small}}\n  roofline: {{flops: \"M\"}}\n"
    )
}
