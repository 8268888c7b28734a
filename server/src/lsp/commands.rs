//! `workspace/executeCommand`, and what a bug report needs to know.

use std::fmt::Write;

use serde_json::{Value, json};
use tower_lsp::jsonrpc::{Error, Result};
use tower_lsp::lsp_types::ExecuteCommandParams;

use super::snapshot::Snapshot;
use crate::diagnostic::count;
use crate::panics;

/// Describes the server's state.
const DEBUG_INFO: &str = "tileops.debugInfo";

/// The commands that clients are told of.
pub(crate) const NAMES: [&str; 1] = [DEBUG_INFO];

/// Does what a command says.
pub(crate) fn execute(snapshot: &Snapshot, params: ExecuteCommandParams) -> Result<Option<Value>> {
    panics::injected(&params.command);
    match params.command.as_str() {
        DEBUG_INFO => Ok(Some(Value::String(debug_info(snapshot)))),
        other => Err(Error::invalid_params(format!("there is no command `{other}`"))),
    }
}

/// The same as a request of its own.
pub(crate) fn debug_request(snapshot: &Snapshot, _: Option<Value>) -> Result<Value> {
    Ok(json!({ "text": debug_info(snapshot) }))
}

/// What the server knows of itself, for a bug report. It names no content of any file.
fn debug_info(snapshot: &Snapshot) -> String {
    let session = &snapshot.session;
    let mut text = String::new();
    let mut line = |name: &str, value: String| {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{name}: {value}");
    };
    line("version", env!("CARGO_PKG_VERSION").to_owned());
    line("platform", format!("{} {}", std::env::consts::OS, std::env::consts::ARCH));
    line("client", if session.client.is_empty() { "unnamed".to_owned() } else { session.client.clone() });
    line("positions", session.encoding.kind().as_str().to_owned());
    line("diagnostics", if session.pull { "the client asks" } else { "the server sends" }.to_owned());
    line("folders", session.roots.iter().map(|root| root.display().to_string()).collect::<Vec<_>>().join(", "));
    line("settings", format!("{:?}", snapshot.settings));
    let open = snapshot.files.values().filter(|file| file.version.is_some()).count();
    line("files", format!("{}, {open} open", count(snapshot.files.len(), "file", "files")));
    for (root, project) in &snapshot.projects {
        let files = snapshot.files.values().filter(|file| file.project == *root).count();
        let manifest = project.config.manifest.join(", ");
        line("project", format!("{}, manifest folders {manifest}, {files} files", root.display()));
    }
    line("revision", snapshot.revision.to_string());
    if let Some(memory) = memory() {
        line("memory", memory);
    }
    text
}

/// The memory that the process holds, where the system says so in a file.
fn memory() -> Option<String> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
    Some(line.trim_start_matches("VmRSS:").trim().to_owned())
}
