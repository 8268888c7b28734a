//! `workspace/executeCommand`, and what a bug report needs to know.

use std::fmt::Write;
use std::path::Path;

use serde_json::{Value, json};
use tileops_analyzer::defect::{all_codes, nearest};
use tower_lsp::jsonrpc::{Error, Result};
use tower_lsp::lsp_types::{ExecuteCommandParams, Url};

use super::records::Places;
use super::snapshot::{File, Snapshot};
use super::state::Message;
use super::uris;
use crate::diagnostic::count;
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

/// How the rows of an op are priced or timed: `{command, args, cwd}`, for the client's terminal. Where the settings say
/// that the server runs the program, it prices the rows itself, and `started` is true.
fn run(snapshot: &Snapshot, arguments: &[Value], price: bool) -> Result<Value> {
    let name = if price { PRICE_ROWS } else { BENCH_ROWS };
    let wrong = || Error::invalid_params(format!("{name} takes the name of an op and the address of its document"));
    let [Value::String(op), Value::String(uri), ..] = arguments else { return Err(wrong()) };
    let uri = Url::parse(uri).map_err(|_| wrong())?;
    let (key, file) = snapshot.file(&uri).ok_or_else(|| Error::invalid_params(format!("`{uri}` is not known")))?;
    let ops = snapshot.db(file).map(|db| db.ops(&key)).unwrap_or_default();
    if !ops.iter().any(|known| known == op) {
        return Err(Error::invalid_params(match nearest(op, ops.iter().map(String::as_str)) {
            Some(close) => format!("the manifest has no op `{op}`; did you mean `{close}`?"),
            None => format!("the manifest has no op `{op}`"),
        }));
    }
    let cwd = root_of(snapshot, file, &uri)?;
    let program = snapshot.settings.bench.clone().unwrap_or_else(|| BENCH.to_owned());
    let places = snapshot.project(file).map(|project| Places::of(&project.config, &snapshot.settings));
    let out = places.and_then(|places| places.new_file(op)).filter(|_| price);
    let relative = |path: &Path| path.strip_prefix(cwd).unwrap_or(path).to_string_lossy().into_owned();
    let mut args: Vec<String> = if price { vec!["--price".to_owned()] } else { Vec::new() };
    if let Some(folder) = uris::path(&uri).as_deref().and_then(Path::parent) {
        args.extend(["--manifest".to_owned(), relative(folder)]);
    }
    args.extend(["--op".to_owned(), op.clone()]);
    if let Some(out) = &out {
        args.extend(["--out".to_owned(), relative(out)]);
    }
    // What is printed only would be lost.
    let runs = price && snapshot.settings.bench.is_some() && out.is_some();
    if runs {
        let (program, args) = (program.clone(), args.clone());
        let command = super::bench::Run { op: op.clone(), program, args, cwd: cwd.into(), out };
        let _ = snapshot.owner.send(Message::Price(command));
    }
    Ok(json!({ "command": program, "args": args, "cwd": cwd.to_string_lossy(), "started": runs }))
}

/// The folder that a project's programs run in.
fn root_of<'s>(snapshot: &'s Snapshot, file: &'s File, uri: &Url) -> Result<&'s Path> {
    let in_a_folder = || Error::invalid_params(format!("`{uri}` is not saved in a folder"));
    uris::path(uri).ok_or_else(in_a_folder)?;
    snapshot.projects.get(&file.project).map(|project| project.config.root.as_path()).ok_or_else(in_a_folder)
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
