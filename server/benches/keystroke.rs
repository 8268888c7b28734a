//! How long a keystroke takes to become diagnostics, at the client's side of the pipe: `cargo bench -p tileops-lsp`. The
//! document is about 50 KB; 2,000 other manifests, copies of our own, are in the workspace.

#![allow(clippy::print_stdout, reason = "its output is what it is for")]

#[allow(dead_code, reason = "the sessions of tests do more")]
#[path = "../tests/lsp/client.rs"]
mod client;

use std::fmt::Write;
use std::path::Path;
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
    let mut client = Client::start(folder.path(), pushed());
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
    let mut times = Vec::new();
    for version in 1..=KEYSTROKES {
        let start = json!({"line": line, "character": column});
        let end = json!({"line": line, "character": column + 1 - (version as usize % 2)});
        let text = if version % 2 == 1 { "x" } else { "" };
        let since = Instant::now();
        client.change(&file, version, json!([{"range": {"start": start, "end": end}, "text": text}]));
        client.diagnostics(&file, Some(version));
        times.push(since.elapsed());
        client.idle(Duration::from_millis(20));
    }
    times.sort();
    let at = |share: usize| milliseconds(times[(times.len() - 1) * share / 100]);
    println!("keystroke to diagnostics, {} bytes, {OTHERS} other manifests, {KEYSTROKES} keystrokes:", large.len());
    println!("  median {:.2} ms, p90 {:.2} ms, p99 {:.2} ms, longest {:.2} ms", at(50), at(90), at(99), at(100));
    let info = client.request("tileops/debugInfo", json!(null));
    let memory = info["text"].as_str().and_then(|text| text.lines().find(|line| line.starts_with("memory")));
    println!("  {}", memory.unwrap_or("memory: not known here"));
    client.shut_down();
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
