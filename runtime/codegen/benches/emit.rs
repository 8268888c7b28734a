//! How fast a thousand entries are emitted, how long what is emitted takes to compile, and what a price costs.
//!
//! `cargo bench -p tileops-codegen --bench emit` copies our manifest's entries, under names of their own, until there are a
//! thousand, and prints the median time to emit them (analysis not counted) in each language, and the time in which cargo
//! builds the crate of them (what it is built on not counted). Then the time of one `eval_roofline()`, of every op with an
//! inline roofline. It asserts nothing: a machine's load is no fault of the code.

#![allow(clippy::print_stdout, reason = "a benchmark prints what it measured")]

#[path = "../tests/support/mod.rs"]
mod support;

use std::hint::black_box;
use std::time::{Duration, Instant};

use tileops_analyzer::roofline::RooflineBody;
use tileops_bench::rows::Manifest;
use tileops_codegen::{EmittedFile, Target, emit};

const ENTRIES: usize = 1000;
const RUNS: usize = 7;
const PRICES: u32 = 20_000;

fn main() {
    let (workspace, report) = support::analyzed(copies());
    let count = workspace.entries().len();
    for target in [Target::Rust, Target::Python] {
        let mut times = Vec::new();
        let mut files = Vec::new();
        for _ in 0..RUNS {
            let start = Instant::now();
            match emit(target, &workspace, &report, &|_| true) {
                Ok(emitted) => files = emitted,
                Err(refusals) => return println!("nothing is emitted: {:?}", refusals.first()),
            }
            times.push(start.elapsed());
        }
        let (time, lines) = (median(times), files.iter().map(|file| file.text.lines().count()).sum::<usize>());
        println!("{}: {count} entries, {lines} lines, emitted in {:.1} ms", target.name(), time.as_secs_f64() * 1e3);
        if target == Target::Rust {
            compile(&files, count);
        }
    }
    prices();
}

/// Our manifest's files, and copies of them whose entries have names of their own.
fn copies() -> Vec<(String, String)> {
    let own = support::texts(&support::places::ours());
    let entries =
        |text: &str| text.lines().filter(|line| line.ends_with("Op:") && !line.starts_with([' ', '#'])).count();
    let entries: usize = own.iter().map(|(_, text)| entries(text)).sum();
    let mut files = own.clone();
    for copy in 1..ENTRIES.div_ceil(entries.max(1)) {
        for (path, text) in own.iter().filter(|(path, _)| !path.ends_with("types.yaml")) {
            // An op's name is a word that ends in `Op`, wherever it stands.
            let words = text.split_inclusive(|c: char| !c.is_ascii_alphanumeric()).map(|word| {
                let name = word.trim_end_matches(|c: char| !c.is_ascii_alphanumeric());
                match name.strip_suffix("Op") {
                    Some(stem) => format!("{stem}C{copy}Op{}", &word[name.len()..]),
                    None => word.to_owned(),
                }
            });
            files.push((path.replace(".yaml", &format!("_c{copy}.yaml")), words.collect()));
        }
    }
    files
}

fn compile(files: &[EmittedFile], entries: usize) {
    let Ok(folder) = tempfile::tempdir() else { return };
    // What the crate is built on is built with an empty one.
    let empty = [EmittedFile { path: "mod.rs".to_owned(), text: String::new() }];
    support::Crate::new(folder.path(), &empty).cargo(&["build"]);
    let emitted = support::Crate::new(folder.path(), files);
    let start = Instant::now();
    let output = emitted.cargo(&["build"]);
    match output.status.success() {
        true => println!("rust: {entries} entries compile in {:.1} s (cargo build)", start.elapsed().as_secs_f64()),
        false => println!("rust: does not compile: {}", String::from_utf8_lossy(&output.stderr)),
    }
}

fn prices() {
    let manifest = match Manifest::read(&support::places::ours()) {
        Ok(manifest) => manifest,
        Err(error) => return println!("no price: {error:#}"),
    };
    let mut times: Vec<(Duration, &str)> = Vec::new();
    for entry in manifest.entries() {
        let arms = entry.analysis.plan.iter().flat_map(|plan| &plan.arms);
        let is_inline = arms.clone().all(|(_, body)| matches!(body, RooflineBody::Inline { .. }));
        let Some(call) = entry.calls().first().filter(|_| is_inline) else { continue };
        let Ok(op) = entry.called(tileops_ops::generated::REGISTRY, call) else { continue };
        let of_one = || {
            let start = Instant::now();
            for _ in 0..PRICES {
                let _ = black_box(op.eval_roofline());
            }
            start.elapsed() / PRICES
        };
        times.push((median((0..RUNS).map(|_| of_one()).collect()), entry.op()));
    }
    times.sort();
    if let (Some((middle, _)), Some((most, op))) = (times.get(times.len() / 2), times.last()) {
        println!("eval_roofline(): {} inline entries, median {middle:?}, slowest {most:?} ({op})", times.len());
    }
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}
