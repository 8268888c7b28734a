//! `tileops-bench`: the ops of a manifest on the rows of their entries.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context, Result, bail};
use clap::Parser;
use globset::Glob;
use tileops_bench::fault::Injection;
use tileops_bench::machine::Which;
use tileops_bench::rows::Manifest;
use tileops_bench::sample::Effort;
use tileops_bench::select::{Filter, Partition, Selection};
use tileops_bench::store::{Store, of_partition, print, replace};
use tileops_bench::supervise::{self, Options};
use tileops_bench::tell::{Progress, say, split};
use tileops_bench::{ahead, one_call, price, worker};
use tileops_ops::generated::REGISTRY;
use tileops_record::Run;

/// Runs the ops of a manifest on the rows of their entries, and writes a record a row (JSON Lines).
///
/// Each op has a process of its own. Its output is held to the reference first; what is wrong is not timed. Times are
/// device-busy times by CUPTI, out of a cold L2 cache, on sets of inputs that take turns.
#[derive(Debug, Parser)]
#[command(name = "tileops-bench", version, max_term_width = 100)]
struct Arguments {
    /// Price every row, and run none: its op is called without data and says its FLOPs and bytes. Needs no GPU
    #[arg(long, conflicts_with_all = ["device", "partition", "resume"])]
    price: bool,
    /// With what the inputs hold, which another program needs to run the same rows: the values of metadata tensors, what the
    /// others are drawn from, and the row's seed
    #[arg(long, requires = "price")]
    values: bool,
    /// The folder of the manifest's YAML files
    #[arg(long, value_name = "DIR", default_value = "manifest")]
    manifest: PathBuf,
    /// Only the ops whose name matches
    #[arg(long, value_name = "GLOB")]
    op: Option<Glob>,
    /// Only the rows whose case matches
    #[arg(long, value_name = "GLOB")]
    row: Option<Glob>,
    /// Only the rows of that dtype
    #[arg(long, value_name = "NAME")]
    dtype: Option<String>,
    /// What runs the ops: `cuda:N`, or `cpu`, by their references. Without it the first GPU, or the CPU where there is none
    #[arg(long, value_name = "DEVICE")]
    device: Option<Which>,
    /// Run part I of N, from 1. Without it, the environment of a Slurm array or of an indexed job of Kubernetes
    /// (with JOB_COMPLETIONS) says which
    #[arg(long, value_name = "I/N")]
    partition: Option<Partition>,
    /// Continue the file of --out: rows that it has of the same entries are not run again
    #[arg(long, requires = "out")]
    resume: bool,
    /// The file to append records to; one that ends in `.zst` is compressed at the end. A partition puts its number
    /// before the ending. Without it, records are printed
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Take samples until the median is known to within this share of it, in percent
    #[arg(long, value_name = "PERCENT", default_value_t = 1.0)]
    within: f64,
    /// The longest time that samples of a row are taken for, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 1.0)]
    budget: f64,
    /// The longest time that a row may take, in seconds; a process that takes longer is killed
    #[arg(long, value_name = "SECONDS", default_value_t = 120.0)]
    limit: f64,
    /// Make one call of each row, in the range that profilers look at, and judge and time nothing: what `tileops-audit`
    /// runs under Nsight Compute (`--profile-from-start off`)
    #[arg(long, conflicts_with_all = ["price", "partition", "resume", "out"])]
    one_call: bool,
    /// Make a fault happen, to see what it costs: `wrong`, `hang`, `crash` or `abort`, the op and the cases
    #[arg(long, value_name = "FAULT:OP:CASES", hide = true)]
    inject: Vec<Injection>,
    /// What a child is started with
    #[arg(long, hide = true)]
    worker: bool,
    /// What the process that compiles is started with
    #[arg(long, hide = true)]
    compile_ahead: bool,
}

/// Exit codes: 0 every row has its price or time, 1 a row has none (its record says why), 2 the program could not do its
/// work.
fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let done = if arguments.worker {
        worker::run().map(|()| true)
    } else if arguments.compile_ahead {
        ahead::run().map(|()| true)
    } else if arguments.price {
        price_rows(&arguments)
    } else if arguments.one_call {
        call_rows(&arguments)
    } else {
        time_rows(&arguments)
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            say(&format!("error: {error:#}"));
            ExitCode::from(2)
        }
    }
}

fn filter(arguments: &Arguments) -> Filter {
    Filter {
        op: arguments.op.as_ref().map(Glob::compile_matcher),
        row: arguments.row.as_ref().map(Glob::compile_matcher),
        dtype: arguments.dtype.clone(),
    }
}

fn price_rows(arguments: &Arguments) -> Result<bool> {
    let manifest = Manifest::read(&arguments.manifest)?;
    let filter = filter(arguments);
    let mut lines = Vec::new();
    let (mut ops, mut rows, mut failed) = (0_usize, 0_usize, 0_usize);
    for entry in manifest.entries().filter(|entry| filter.takes_op(entry.op())) {
        ops += 1;
        for call in entry.calls().iter().filter(|call| filter.takes(call)) {
            let mut record = price::record(REGISTRY, &entry, call);
            rows += 1;
            if arguments.values {
                price::with_inputs(&mut record, REGISTRY, &entry, call)?;
            }
            if let Some(failure) = &record.failure {
                failed += 1;
                say(&format!("{} {}: {}", record.op, record.case, failure.message.as_deref().unwrap_or_default()));
            }
            serde_json::to_writer(&mut lines, &record)?;
            lines.push(b'\n');
        }
    }
    if rows == 0 {
        bail!("no op of `{}` is selected", arguments.manifest.display());
    }
    match &arguments.out {
        Some(path) => replace(path, &lines)?,
        None => print(&lines)?,
    }
    say(&format!("{rows} rows of {ops} ops priced, {failed} without a price"));
    Ok(failed == 0)
}

fn call_rows(arguments: &Arguments) -> Result<bool> {
    let manifest = Manifest::read(&arguments.manifest)?;
    let which = arguments.device.unwrap_or_default();
    let selection = Selection::new(manifest.entries(), &filter(arguments), which, None);
    if selection.ops.is_empty() {
        bail!("no op of `{}` that can run on {which} is selected", arguments.manifest.display());
    }
    let machine = which.open()?;
    for selected in &selection.ops {
        for call in &selected.calls {
            let row = || format!("{} {}", selected.entry.op(), call.case_id);
            one_call::run(&*machine, &selected.entry, call).with_context(row)?;
        }
    }
    Ok(true)
}

fn time_rows(arguments: &Arguments) -> Result<bool> {
    let start = Instant::now();
    let environment = Partition::of_environment(|name| std::env::var(name).ok());
    let partition = match arguments.partition {
        Some(partition) => Some(partition),
        None => environment.map_err(anyhow::Error::msg)?,
    };
    let seconds = |value: f64, name: &str| {
        Duration::try_from_secs_f64(value)
            .ok()
            .filter(|time| !time.is_zero())
            .with_context(|| format!("--{name} is {value}, and must be a time in seconds"))
    };
    let (limit, budget) = (seconds(arguments.limit, "limit")?, seconds(arguments.budget, "budget")?);
    if !(arguments.within > 0.0 && arguments.within <= 100.0) {
        bail!("--within is {}, and must be a share in percent", arguments.within);
    }
    let which = arguments.device.unwrap_or_default();
    if arguments.device.is_none() && which == Which::Cpu {
        say("there is no GPU: ops run on the CPU, by their references");
    }
    let manifest = Manifest::read(&arguments.manifest)?;
    let mut selection = Selection::new(manifest.entries(), &filter(arguments), which, partition);
    if let Some(partition) = partition {
        say(&format!("part {partition}"));
    }
    for (why, (ops, rows)) in &selection.lacking {
        say(&format!("not run: {rows} rows of {ops} ops, {why}"));
    }
    if selection.ops.is_empty() && partition.is_none() {
        bail!("no op of `{}` that can run on {which} is selected", arguments.manifest.display());
    }
    let out = arguments.out.as_deref().map(|path| of_partition(path, partition));
    let (mut store, recorded) = Store::open(out.as_deref(), arguments.resume)?;
    let before = selection.rows();
    for selected in &mut selection.ops {
        let (op, hash) = (selected.entry.op(), selected.entry.hash());
        selected.calls.retain(|call| !recorded.contains(&(op.to_owned(), call.case_id.clone(), hash.clone())));
    }
    selection.ops.retain(|selected| !selected.calls.is_empty());
    let rows = selection.rows();
    if before > rows {
        say(&format!("{} rows are recorded already", before - rows));
    }
    let run = Arc::new(this_run());
    let default = Effort::default();
    let longest = budget.as_secs_f64();
    let options = Options {
        which,
        effort: Effort { within: arguments.within / 100.0, seconds: (default.seconds.0.min(longest), longest) },
        limit,
        faults: arguments.inject.clone(),
    };
    let ahead = match which {
        Which::Cuda(gpu) if rows > 0 => {
            let cases = |calls: &[&tileops_analyzer::workload::Call]| calls.iter().map(|c| c.case_id.clone()).collect();
            let ops = selection.ops.iter().map(|selected| (selected.entry.op().to_owned(), cases(&selected.calls)));
            let manifest = arguments.manifest.clone();
            Some(ahead::Ahead::start(&ahead::Rows { manifest, gpu, ops: ops.collect() })?)
        }
        _ => None,
    };
    let progress = Progress::new(rows);
    let mut sink = |record: &tileops_record::Record| store.write(record);
    let outcome = supervise::run(&arguments.manifest, &selection.ops, &options, &run, &progress, &mut sink);
    progress.end();
    drop(ahead);
    let summary = outcome?;
    store.finish()?;
    say(&format!("{} rows of {} ops run, {} without a time", summary.rows, selection.ops.len(), summary.failed));
    say(&split(summary.spent, summary.starts, summary.processes, start.elapsed()));
    Ok(summary.failed == 0)
}

/// What records say of this run.
fn this_run() -> Run {
    Run {
        tool: env!("CARGO_PKG_NAME").into(),
        version: Some(env!("CARGO_PKG_VERSION").into()),
        revision: option_env!("TILEOPS_REVISION").map(Into::into),
        dirty: option_env!("TILEOPS_DIRTY").map(|dirty| dirty == "true"),
        started: Some(humantime::format_rfc3339_seconds(SystemTime::now()).to_string().into()),
        command: std::env::args().collect(),
        ..Run::default()
    }
}
