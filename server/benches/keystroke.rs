//! How long a keystroke takes to become diagnostics, and how long completion and hover take, at the client's side of the
//! pipe; and the memory then: `cargo bench -p tileops-lsp --bench keystroke`. The document is about 50 KB; 2,000 other
//! manifests, copies of our own, are in the workspace. The baseline is yaml-language-server (npm), on the same edits of the
//! same document, with the JSON schema that is written here. `TILEOPS_BENCH_SERVER` names another build of the server.

#![allow(clippy::print_stdout, reason = "its output is what it is for")]

#[allow(dead_code, reason = "the sessions of tests do more")]
#[path = "../tests/lsp/client.rs"]
mod client;

use std::fmt::Write;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::client::{Client, pushed, uri};

const OTHERS: usize = 2000;
const BYTES: usize = 50_000;
const KEYSTROKES: i32 = 400;

fn main() {
    let folder = tempfile::tempdir().expect("a folder");
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("../manifest");
    let mut texts: Vec<(String, String)> = std::fs::read_dir(own)
        .expect("the manifest")
        .flatten()
        .map(|item| (item.file_name().to_string_lossy().into_owned(), std::fs::read_to_string(item.path())))
        .map(|(name, text)| (name, text.expect("a text")))
        .collect();
    texts.sort();
    for number in 0..OTHERS {
        let (name, text) = &texts[number % texts.len()];
        let folder = folder.path().join(format!("manifest/copy{:03}", number / texts.len()));
        std::fs::create_dir_all(&folder).expect("made");
        std::fs::write(folder.join(name), text).expect("written");
    }
    let (_, gemm) = texts.iter().find(|(name, _)| name == "gemm.yaml").expect("the family of matrix products");
    let mut large = String::new();
    let mut copy = 0;
    while large.len() < BYTES {
        for line in gemm.lines() {
            match line.strip_suffix("FwdOp:").filter(|name| !name.starts_with([' ', '#'])) {
                Some(name) => writeln!(large, "{name}{copy}FwdOp:").expect("a string takes it"),
                None => writeln!(large, "{line}").expect("a string takes it"),
            }
        }
        copy += 1;
    }
    let path = folder.path().join("manifest/gemm.yaml");
    std::fs::write(&path, &large).expect("written");
    let file = uri(&path);

    let since = Instant::now();
    let server = std::env::var_os("TILEOPS_BENCH_SERVER");
    let mut client = match &server {
        Some(server) => Client::spawn_with(&mut Command::new(server)),
        None => Client::spawn(),
    };
    client.initialize(folder.path(), pushed(), json!(null));
    client.open(&file, 0, &large);
    client.diagnostics(&file, Some(0));
    println!("open: {:.1} ms from the start of the process to the first diagnostics", milliseconds(since.elapsed()));
    loop {
        let info = client.request("tileops/debugInfo", json!(null));
        let text = info["text"].as_str().expect("a text");
        if text.contains(&format!("files: {} files", OTHERS + 1)) {
            break;
        }
        client.idle(Duration::from_millis(50));
    }
    // The rest of the workspace is judged while someone types, as it would be; most of it before.
    client.idle(Duration::from_secs(20));

    let line = large.lines().position(|line| line.contains("label:")).expect("a row");
    let column = large.lines().nth(line).and_then(|text| text.find("label:")).expect("its label") + "label: ".len();
    let own = keystrokes(&mut client, &file, line, column, |client, version| {
        client.diagnostics(&file, Some(version));
    });
    println!("{} bytes, {OTHERS} other manifests, {KEYSTROKES} keystrokes and as many requests:", large.len());
    report("keystroke to diagnostics", &own);
    let shape = large.lines().position(|line| line.contains("shape: \"[")).expect("a shape");
    let within = large.lines().nth(shape).and_then(|text| text.find("\"[")).expect("its text") + 2;
    for method in ["completion", "hover"] {
        let params = json!({"textDocument": {"uri": file}, "position": {"line": shape, "character": within}});
        let times = (0..KEYSTROKES).map(|_| {
            let since = Instant::now();
            client.request(&format!("textDocument/{method}"), params.clone());
            let taken = since.elapsed();
            client.idle(Duration::from_millis(2));
            taken
        });
        report(method, &times.collect::<Vec<_>>());
    }
    let info = client.request("tileops/debugInfo", json!(null));
    let memory = info["text"].as_str().and_then(|text| text.lines().find(|line| line.starts_with("memory")));
    println!("  {}", memory.unwrap_or("memory: not known here"));
    client.shut_down();

    match baseline(folder.path(), &file, &large, line, column) {
        Ok(theirs) => {
            report("yaml-language-server, keystroke to diagnostics", &theirs);
            let ratio = |share| at(&theirs, share) / at(&own, share);
            println!("  ratio to ours: median {:.0}, p99 {:.0}", ratio(50), ratio(99));
        }
        Err(why) => println!("  yaml-language-server: not measured, {why}"),
    }
}

/// Types and deletes a character of a label, again and again, and waits for what `published` waits for.
fn keystrokes(
    client: &mut Client,
    file: &str,
    line: usize,
    column: usize,
    mut published: impl FnMut(&mut Client, i32),
) -> Vec<Duration> {
    let one = |version: i32| {
        let start = json!({"line": line, "character": column});
        let end = json!({"line": line, "character": column + 1 - (version as usize % 2)});
        let text = if version % 2 == 1 { "x" } else { "" };
        let since = Instant::now();
        client.change(file, version, json!([{"range": {"start": start, "end": end}, "text": text}]));
        published(client, version);
        let taken = since.elapsed();
        client.idle(Duration::from_millis(20));
        taken
    };
    (1..=KEYSTROKES).map(one).collect()
}

/// The same edits in yaml-language-server.
fn baseline(root: &Path, file: &str, text: &str, line: usize, column: usize) -> Result<Vec<Duration>, String> {
    let tools = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/ci/yaml-language-server");
    let program = tools.join("node_modules/.bin/yaml-language-server");
    if !program.exists() {
        std::fs::create_dir_all(&tools).map_err(|error| error.to_string())?;
        let install = ["install", "--no-audit", "--no-fund", "--silent", "--prefix"];
        let installed = Command::new("npm").args(install).arg(&tools).arg("yaml-language-server@1.19").status();
        if !installed.is_ok_and(|status| status.success()) {
            return Err("npm cannot install it".to_owned());
        }
    }
    // What a schema can say of a manifest: keys, and the types of their values.
    let schema = json!({
        "type": "object",
        "additionalProperties": {
            "type": "object",
            "additionalProperties": false,
            "required": ["family", "status", "signature", "workloads", "roofline"],
            "properties": {
                "family": {"type": "string"}, "status": {"enum": ["implemented", "spec-only"]}, "ref_api": {"type": "string"},
                "signature": {"type": "object"}, "composition": {"type": "object"}, "roofline": {"type": "object"},
                "workloads": {"type": "array", "items": {"type": "object", "required": ["label"], "properties": {
                    "label": {"type": "string", "pattern": "^[A-Za-z0-9._-]{1,28}$"}
                }}}
            }
        }
    });
    let path = root.join("schema.json");
    std::fs::write(&path, schema.to_string()).map_err(|error| error.to_string())?;
    let mut client = Client::spawn_with(Command::new(program).arg("--stdio"));
    client.initialize(root, pushed(), json!(null));
    client.configuration = Some(json!({"validate": true, "schemas": {(uri(&path)): "*.yaml"}}));
    client.notify(
        "workspace/didChangeConfiguration",
        json!({"settings": {"yaml": {
            "validate": true, "schemas": {(uri(&path)): "*.yaml"}
        }}}),
    );
    client.open(file, 0, text);
    client.diagnostics_until(file, |_| true);
    client.idle(Duration::from_secs(2));
    // It gives no versions: what comes after the edit is taken for its answer.
    let times = keystrokes(&mut client, file, line, column, |client, _| {
        client.diagnostics_until(file, |_| true);
    });
    Ok(times)
}

/// The time that a share of all does not exceed, in milliseconds.
fn at(times: &[Duration], share: usize) -> f64 {
    let mut times = times.to_vec();
    times.sort();
    milliseconds(times[(times.len() - 1) * share / 100])
}

fn report(what: &str, times: &[Duration]) {
    let at = |share| at(times, share);
    println!(
        "  {what}: median {:.2} ms, p90 {:.2} ms, p99 {:.2} ms, longest {:.2} ms",
        at(50),
        at(90),
        at(99),
        at(100)
    );
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
