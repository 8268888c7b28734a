//! How fast `--check` is: a cold process on our manifest, on copies of it, and one entry judged again after an edit.
//!
//! `cargo bench -p tileops-lsp --bench check [-- FOLDER...]` prints, for each folder (our `manifest/` by default), the
//! median time of a cold process with every workload row instantiated, its MB/s and entries/s, and the ratio to PyYAML's
//! `safe_load` of the same files in the same run; the same for a hundred copies of the files; and the time to judge one
//! entry again. It asserts nothing: a machine's load is no fault of the code.

#![allow(clippy::print_stdout, reason = "a benchmark prints what it measured")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use tileops_analyzer::workspace::{SourceFile, Workspace};

const COLD_RUNS: usize = 15;
const COPIES: usize = 100;

fn main() {
    let folders: Vec<PathBuf> = std::env::args().skip(1).filter(|a| !a.starts_with("--")).map(PathBuf::from).collect();
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("../manifest");
    for folder in if folders.is_empty() { vec![own] } else { folders } {
        let files = files(&folder);
        println!("{}", fs::canonicalize(&folder).unwrap_or(folder).display());
        whole(&files, "as it is", COLD_RUNS);
        whole(&copies(&files), &format!("{COPIES} copies"), 3);
        entries(&files);
    }
}

/// The YAML files of a folder: name and text.
fn files(folder: &Path) -> Vec<(String, String)> {
    let mut files: Vec<(String, String)> = fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .map(|item| item.path())
        .filter(|path| path.extension().is_some_and(|e| e == "yaml"))
        .filter_map(|path| Some((path.file_name()?.to_string_lossy().into_owned(), fs::read_to_string(&path).ok()?)))
        .collect();
    files.sort();
    files
}

/// The same entries a hundred times, each copy under names of its own. A stage's op is renamed with the op.
fn copies(files: &[(String, String)]) -> Vec<(String, String)> {
    let mut copies = Vec::new();
    for copy in 0..COPIES {
        for (name, text) in files {
            if name == "types.yaml" {
                if copy == 0 {
                    copies.push((name.clone(), text.clone()));
                }
                continue;
            }
            let stem = name.trim_end_matches(".yaml");
            let renamed = text.replace("FwdOp", &format!("C{copy}FwdOp")).replace("BwdOp", &format!("C{copy}BwdOp"));
            let renamed: String = renamed
                .lines()
                .map(|line| match line.strip_suffix("Op:") {
                    Some(op) if !line.starts_with(' ') && !op.ends_with("Fwd") && !op.ends_with("Bwd") => {
                        format!("{op}C{copy}Op:\n")
                    }
                    _ => format!("{line}\n"),
                })
                .collect();
            copies.push((format!("{stem}_{copy}.yaml"), renamed));
        }
    }
    copies
}

fn whole(files: &[(String, String)], what: &str, runs: usize) {
    let Ok(folder) = tempfile::tempdir() else { return };
    let mut bytes = 0;
    for (name, text) in files {
        bytes += text.len();
        if fs::write(folder.path().join(name), text).is_err() {
            return;
        }
    }
    let entries = count(files);
    let check = median(runs, || {
        run(Command::new(env!("CARGO_BIN_EXE_tileops-lsp")).args(["--check", "--format", "concise"]).arg(folder.path()))
    });
    let per_second = |amount: f64| amount / check.as_secs_f64();
    print!(
        "  {what}: {} files, {:.2} MB, {entries} entries: {:.1} ms, {:.1} MB/s, {:.0} entries/s",
        files.len(),
        bytes as f64 / 1e6,
        check.as_secs_f64() * 1e3,
        per_second(bytes as f64 / 1e6),
        per_second(entries as f64),
    );
    // The interpreter's own start is not counted: it loads every file once it runs.
    let script = "import sys, glob, time, yaml\n\
                  texts = [open(f, encoding='utf-8').read() for f in sorted(glob.glob(sys.argv[1] + '/*.yaml'))]\n\
                  start = time.perf_counter()\n\
                  for text in texts: yaml.safe_load(text)\n\
                  print(time.perf_counter() - start)";
    let output = Command::new("python3").args(["-c", script]).arg(folder.path()).output();
    let seconds = output.ok().and_then(|o| String::from_utf8_lossy(&o.stdout).trim().parse::<f64>().ok());
    match seconds {
        Some(seconds) => println!(
            "; PyYAML safe_load alone: {:.1} ms, {:.1} times as long",
            seconds * 1e3,
            seconds / check.as_secs_f64()
        ),
        None => println!("; PyYAML is not here to compare with"),
    }
}

fn count(files: &[(String, String)]) -> usize {
    files.iter().flat_map(|(_, text)| text.lines()).filter(|l| !l.starts_with([' ', '#']) && l.ends_with("Op:")).count()
}

fn run(command: &mut Command) -> Duration {
    let start = Instant::now();
    let _ = command.stdout(Stdio::null()).stderr(Stdio::null()).status();
    start.elapsed()
}

fn median(runs: usize, mut one: impl FnMut() -> Duration) -> Duration {
    let mut times: Vec<Duration> = (0..runs).map(|_| one()).collect();
    times.sort_unstable();
    times[times.len() / 2]
}

/// What an edit inside one entry costs: that entry read and judged again, its rows instantiated.
fn entries(files: &[(String, String)]) {
    let sources = files
        .iter()
        .map(|(name, text)| SourceFile {
            path: name.as_str().into(),
            text: text.as_str().into(),
            configured: true,
            judged: true,
        })
        .collect();
    let workspace = Workspace::new(sources);
    let mut times: Vec<(Duration, String)> = workspace
        .entries()
        .iter()
        .map(|entry| {
            let time = median(9, || {
                let start = Instant::now();
                std::hint::black_box(workspace.analyze(entry));
                start.elapsed()
            });
            (time, entry.name.as_deref().unwrap_or_default().to_owned())
        })
        .collect();
    times.sort();
    let ms = |d: Duration| d.as_secs_f64() * 1e3;
    let total: Duration = times.iter().map(|(time, _)| *time).sum();
    if let (Some((middle, _)), Some((most, name))) = (times.get(times.len() / 2), times.last()) {
        println!(
            "  one entry judged again: median {:.3} ms, slowest {:.3} ms ({name}), all of them on one core {:.1} ms",
            ms(*middle),
            ms(*most),
            ms(total)
        );
    }
}
