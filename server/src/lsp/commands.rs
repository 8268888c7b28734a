//! `workspace/executeCommand`, and what a bug report needs to know.

use std::fmt::Write;
use std::path::Path;

use serde_json::{Value, json};
use tileops_analyzer::defect::{all_codes, nearest};
use tower_lsp::jsonrpc::{Error, Result};
use tower_lsp::lsp_types::{ExecuteCommandParams, Url};

use super::records::Places;
use super::snapshot::Snapshot;
use super::state::Message;
use super::uris;
use crate::diagnostic::count;
use crate::discover::normalized;
use crate::{levels, panics};

/// Describes the server's state.
const DEBUG_INFO: &str = "tileops.debugInfo";
/// Gives the page of a code.
const EXPLAIN_DEFECT: &str = "tileops.explainDefect";
/// Reads everything on disk again.
const RELOAD: &str = "tileops.reload";
/// Prices the rows of an op, or says how.
pub(crate) const PRICE_ROWS: &str = "tileops.priceRows";
/// Says how to time the rows of an op.
pub(crate) const BENCH_ROWS: &str = "tileops.benchRows";

/// The commands that clients are told of.
pub(crate) const NAMES: [&str; 5] = [DEBUG_INFO, EXPLAIN_DEFECT, RELOAD, PRICE_ROWS, BENCH_ROWS];

/// The program that prices and times rows, where the settings name no other.
const BENCH: &str = "tileops-bench";

/// Does what a command says.
pub(crate) fn execute(snapshot: &Snapshot, params: ExecuteCommandParams) -> Result<Option<Value>> {
    panics::injected(&params.command);
    let arguments = &params.arguments;
    match params.command.as_str() {
        DEBUG_INFO => Ok(Some(Value::String(debug_info(snapshot)))),
        EXPLAIN_DEFECT => explain(arguments).map(Some),
        RELOAD => {
            // Where nobody takes it, the server is ending.
            let _ = snapshot.owner.send(Message::Reload);
            Ok(None)
        }
        PRICE_ROWS => run(snapshot, arguments, true).map(Some),
        BENCH_ROWS => run(snapshot, arguments, false).map(Some),
        other => Err(Error::invalid_params(match nearest(other, NAMES) {
            Some(close) => format!("there is no command `{other}`; did you mean `{close}`?"),
            None => format!("there is no command `{other}`"),
        })),
    }
}

/// The same as a request of its own.
pub(crate) fn debug_request(snapshot: &Snapshot, _: Option<Value>) -> Result<Value> {
    Ok(json!({ "text": debug_info(snapshot) }))
}

/// The page of the code that is named, in Markdown; of all of them a list where none is.
fn explain(arguments: &[Value]) -> Result<Value> {
    match arguments.first() {
        None | Some(Value::Null) => {
            let mut list = String::from("# Defect codes\n");
            for (group, code) in all_codes() {
                let _ = write!(list, "\n- `{}` ({group}): {}", code.name, code.summary);
            }
            Ok(Value::String(list))
        }
        Some(Value::String(name)) => {
            let code = levels::code(name).map_err(Error::invalid_params)?;
            Ok(Value::String(code.page()))
        }
        Some(_) => Err(Error::invalid_params(format!("{EXPLAIN_DEFECT} takes the name of a code"))),
    }
}

/// How the rows of an op are priced or timed: `{command, args, cwd}`, for the client's terminal. Without an op (null) it is
/// about every op; the address is then that of a manifest, or of a folder with one. Where the settings say that the server
/// runs the program, it prices the rows itself, and `started` is true.
fn run(snapshot: &Snapshot, arguments: &[Value], price: bool) -> Result<Value> {
    let name = if price { PRICE_ROWS } else { BENCH_ROWS };
    let wrong = || Error::invalid_params(format!("{name} takes the name of an op and the address of its document"));
    let (op, uri) = match arguments {
        [Value::String(op), Value::String(uri), ..] => (Some(op), uri),
        [Value::Null, Value::String(uri), ..] => (None, uri),
        _ => return Err(wrong()),
    };
    let uri = Url::parse(uri).map_err(|_| wrong())?;
    let known = snapshot.file(&uri);
    if let Some(op) = op {
        let (key, file) = known.as_ref().ok_or_else(|| unknown(&uri))?;
        let ops = snapshot.db(file).map(|db| db.ops(key)).unwrap_or_default();
        if !ops.iter().any(|known| known == op) {
            return Err(Error::invalid_params(match nearest(op, ops.iter().map(String::as_str)) {
                Some(close) => format!("the manifest has no op `{op}`; did you mean `{close}`?"),
                None => format!("the manifest has no op `{op}`"),
            }));
        }
    }
    let path = uris::path(&uri).ok_or_else(|| Error::invalid_params(format!("`{uri}` is not saved in a folder")))?;
    let (project, manifest) = match known {
        Some((_, file)) => (snapshot.project(file), path.parent().map(Path::to_path_buf)),
        None => {
            let project = snapshot.projects.values().find(|project| project.config.root == path);
            let folder = project.and_then(|project| project.config.manifest.first());
            (project, folder.map(|folder| normalized(&path.join(folder))))
        }
    };
    let project = project.ok_or_else(|| unknown(&uri))?;
    let cwd = project.config.root.as_path();
    let program = snapshot.settings.bench.clone().unwrap_or_else(|| BENCH.to_owned());
    let done = if price { "priced" } else { "timed" };
    let file = format!("{done}-{}.jsonl", op.map_or("all", String::as_str));
    let out = Places::of(&project.config, &snapshot.settings).new_file(&file);
    let relative = |path: &Path| match path.strip_prefix(cwd) {
        Ok(within) if within.as_os_str().is_empty() => ".".to_owned(),
        Ok(within) => within.to_string_lossy().into_owned(),
        Err(_) => path.to_string_lossy().into_owned(),
    };
    let mut args: Vec<String> = if price { vec!["--price".to_owned()] } else { Vec::new() };
    args.extend(manifest.iter().flat_map(|folder| ["--manifest".to_owned(), relative(folder)]));
    args.extend(op.iter().flat_map(|op| ["--op".to_owned(), (*op).clone()]));
    args.extend(out.iter().flat_map(|out| ["--out".to_owned(), relative(out)]));
    // What is printed only would be lost.
    let runs = price && snapshot.settings.bench.is_some() && out.is_some();
    if runs {
        let (program, args) = (program.clone(), args.clone());
        let command = super::bench::Run { op: op.cloned(), program, args, cwd: cwd.into(), out };
        let _ = snapshot.owner.send(Message::Price(command));
    }
    Ok(json!({ "command": program, "args": args, "cwd": cwd.to_string_lossy(), "started": runs }))
}

fn unknown(uri: &Url) -> Error {
    Error::invalid_params(format!("`{uri}` is not known"))
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
        let records = project.records.len();
        line("project", format!("{}, manifest folders {manifest}, {files} files, {records} records", root.display()));
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
