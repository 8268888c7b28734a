//! Compiling ahead: a process that compiles the kernels of all rows into the cache on disk, while the rows are run.
//!
//! A child that comes to a row whose kernel is not there yet compiles it itself, so nothing depends on this process.

use std::collections::BTreeSet;
use std::io::{BufRead as _, Write as _};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use tileops_device::{Compiler, Device};
use tileops_kernels::{Gpu, Source, Step, planner};
use tileops_ops::generated::REGISTRY;

use crate::child::of_its_own;
use crate::rows::Manifest;
use crate::worker::end_with_parent;

/// The hidden argument by which the process knows what it is.
pub const AHEAD: &str = "--compile-ahead";

/// What is compiled: the first line of standard input, as JSON.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Rows {
    /// The manifest's folder.
    pub manifest: PathBuf,
    /// The GPU's number.
    pub gpu: usize,
    /// Ops, each with the cases of its rows.
    pub ops: Vec<(String, Vec<String>)>,
}

/// The process, as its parent has it. It ends with its parent, or when this is dropped.
#[derive(Debug)]
pub struct Ahead {
    process: Child,
    _stdin: Option<ChildStdin>,
}

impl Ahead {
    /// Starts it.
    pub fn start(rows: &Rows) -> Result<Self> {
        let program = std::env::current_exe().context("cannot find this program")?;
        let mut command = Command::new(program);
        command.arg(AHEAD).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        of_its_own(&mut command);
        let mut process = command.spawn().context("cannot start a process that compiles")?;
        let mut stdin = process.stdin.take();
        if let Some(stdin) = &mut stdin {
            let mut line = serde_json::to_vec(rows)?;
            line.push(b'\n');
            // One that is gone already has nothing to do.
            let _ = stdin.write_all(&line);
        }
        Ok(Ahead { process, _stdin: stdin })
    }
}

impl Drop for Ahead {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Compiles what standard input states.
pub fn run() -> Result<()> {
    let mut line = String::new();
    std::io::stdin().lock().read_line(&mut line).context("cannot read what to compile")?;
    let rows: Rows = serde_json::from_str(&line).context("it is not what to compile")?;
    end_with_parent();
    // Its context is not kept: memory and time of the GPU are for the rows.
    let gpu = Gpu::try_from(Device::open(rows.gpu)?.facts())?;
    let sources = sources(&rows, &gpu)?;
    let compiler = Compiler::new(gpu.architecture.clone());
    // The other half of the cores is for references.
    let threads = std::thread::available_parallelism().map_or(1, |cores| cores.get().div_ceil(2));
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some(source) = sources.get(next.fetch_add(1, Ordering::Relaxed)) {
                    // What does not compile is said by the row's own child.
                    let _ = compiler.compile(source.file, &source.text());
                }
            });
        }
    });
    Ok(())
}

/// The sources of all rows, each once, in the order in which rows need them.
fn sources(rows: &Rows, gpu: &Gpu) -> Result<Vec<Source>> {
    let manifest = Manifest::read_some(&rows.manifest, |op| rows.ops.iter().any(|(name, _)| name == op))?;
    let mut known = BTreeSet::new();
    let mut sources = Vec::new();
    for (op, cases) in &rows.ops {
        let Some((entry, planner)) = manifest.entries().find(|entry| entry.op() == op).zip(planner(op)) else {
            continue;
        };
        for call in cases.iter().filter_map(|case| entry.call(case)) {
            // A row that cannot be planned is said by its own child, too.
            let Ok(called) = entry.called(REGISTRY, call) else { continue };
            let Some(plan) = called.last_call().and_then(|checked| planner(checked, gpu).ok()) else { continue };
            for step in plan.steps {
                if let Step::Launch(launch) = step
                    && known.insert(launch.source.text())
                {
                    sources.push(launch.source);
                }
            }
        }
    }
    Ok(sources)
}
