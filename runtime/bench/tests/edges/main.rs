//! Rows at the edges of what kernels take (`rows.txt`), and rows that are drawn with special numbers (`specials.txt`): they are
//! planned, their kernels compile, and where there is a GPU their results are the references'. There the rows at the edges are
//! drawn twice, as they come and so that their ends decide.
//!
//! `TILEOPS_REQUIRE_GPU` makes the absence of a GPU an error; `TILEOPS_EDGES` keeps the manifest of these rows in a folder,
//! and that of special numbers in its folder `specials`.

mod ends;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use tileops_bench::rows::Manifest;
use tileops_device::{Compiler, Library, resources};
use tileops_kernels::{Gpu, Step, planner};
use tileops_ops::generated::REGISTRY;

/// The rows at the edges.
const ROWS: &str = include_str!("rows.txt");
/// The rows that are drawn with special numbers.
const SPECIALS: &str = include_str!("specials.txt");

/// The manifest's entries of the ops in `text`, with those rows instead of their own, in `folder`.
fn write(text: &'static str, folder: &Path) {
    let mut rows: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let (op, row) = line.split_once(' ').expect("an op and a row");
        rows.entry(op).or_default().push(row);
    }
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../manifest");
    tileops_tests::with_rows(&manifest, folder, &rows).expect("the manifest has these ops");
}

/// A folder with the manifest of these rows.
fn folder() -> (Option<tempfile::TempDir>, PathBuf) {
    match std::env::var_os("TILEOPS_EDGES") {
        Some(folder) => {
            std::fs::create_dir_all(&folder).expect("a folder can be made there");
            (None, folder.into())
        }
        None => {
            let folder = tempfile::tempdir().expect("a temporary folder can be made");
            let path = folder.path().to_owned();
            (Some(folder), path)
        }
    }
}

#[test]
fn rows_at_the_edges_are_planned_and_their_kernels_compile() {
    let (_kept, folder) = folder();
    let specials = folder.join("specials");
    std::fs::create_dir_all(&specials).expect("a folder can be made there");
    write(ROWS, &folder);
    write(SPECIALS, &specials);
    let manifests = [folder, specials].map(|folder| Manifest::read(&folder).expect("the rows are right"));
    let gpu = Gpu::h200();
    let mut sources = BTreeMap::new();
    for entry in manifests.iter().flat_map(Manifest::entries) {
        let planner = planner(entry.op()).unwrap_or_else(|| panic!("{} has no kernel", entry.op()));
        assert!(!entry.calls().is_empty(), "{} has no rows", entry.op());
        for call in entry.calls() {
            let row = format!("{} {}", entry.op(), call.case_id);
            let op = entry.called(REGISTRY, call).unwrap_or_else(|error| panic!("{row}: {error}"));
            let plan = planner(op.last_call().expect("it was called"), &gpu).unwrap_or_else(|e| panic!("{row}: {e}"));
            for step in plan.steps {
                if let Step::Launch(launch) = step {
                    assert!(launch.grid.shared_bytes <= gpu.shared_bytes, "{row}: {:?}", launch.grid);
                    sources.entry(launch.source.text()).or_insert((launch.source.file, row.clone()));
                }
            }
        }
    }
    if let Err(error) = Library::Nvrtc.require() {
        assert!(std::env::var_os("TILEOPS_REQUIRE_NVRTC").is_none(), "{error}");
        return;
    }
    let compiler = Compiler::new(gpu.architecture);
    let mut faults = Vec::new();
    for (text, (file, row)) in sources {
        match compiler.compile(file, &text) {
            Err(error) => faults.push(format!("{row}: {error}")),
            Ok(compiled) => {
                let spilling = resources(&compiled.log).into_iter().filter(|kernel| kernel.spilled_bytes > 0);
                faults.extend(spilling.map(|k| format!("{row}: {} spills {} bytes", k.kernel, k.spilled_bytes)));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn rows_at_the_edges_are_right_on_a_gpu() {
    if let Err(error) = Library::Driver.require() {
        assert!(std::env::var_os("TILEOPS_REQUIRE_GPU").is_none(), "{error}");
        return;
    }
    for (rows, drawn) in [(ROWS, "usual"), (ROWS, "ends"), (SPECIALS, "specials")] {
        right(rows, drawn, "cuda:0");
    }
}

/// What a reference makes of special numbers it stores as they are, and none of them stops it.
#[test]
fn references_take_special_numbers() {
    right(SPECIALS, "specials", "cpu");
}

/// Every row passes.
fn right(rows: &'static str, drawn: &str, device: &str) {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    write(rows, folder.path());
    let run = Command::new(env!("CARGO_BIN_EXE_tileops-bench"))
        .args(["--device", device, "--drawn", drawn, "--budget", "0.01", "--manifest"])
        .arg(folder.path())
        .output()
        .expect("it can be started");
    let said = String::from_utf8_lossy(&run.stderr);
    assert!(run.status.success(), "{drawn}: {said}\n{}", String::from_utf8_lossy(&run.stdout));
}
