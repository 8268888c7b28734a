//! `tileops-bench`: the ops of a manifest on the rows of their entries.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};
use clap::{Parser, Subcommand};
use globset::Glob;
use tileops_analyzer::workload::Call;
use tileops_bench::fault::Injection;
use tileops_bench::inputs::Drawn;
use tileops_bench::machine::Which;
use tileops_bench::rows::{Entry, Manifest};
use tileops_bench::sample::Effort;
use tileops_bench::select::{Filter, Partition, Selected, Selection};
use tileops_bench::stop::Stop;
use tileops_bench::store::{Sought, Store, of_partition, print, write_prices};
use tileops_bench::supervise::{self, Options};
use tileops_bench::tell::{Progress, many, say, split};
use tileops_bench::{ahead, one_call, price, worker};
use tileops_ops::generated::REGISTRY;
use tileops_record::Run;

/// Runs the ops of a manifest on the rows of their entries, and writes a record a row (JSON Lines).
///
/// Each op has a process of its own. Its output is held to the reference first; what is wrong is not timed. Times are
/// device-busy times by CUPTI, out of a cold L2 cache, on sets of inputs that take turns.
#[derive(Debug, Parser)]
#[command(name = "tileops-bench", version, max_term_width = 100, args_conflicts_with_subcommands = true)]
struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
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
    /// What the inputs are to show. `usual`: numbers as they come. `ends`: that a reduction, norm, scan or softmax loses no
    /// end of a row, which are so large that they decide. `specials`: that infinities, NaN, zeros and subnormals come through
    #[arg(long, value_name = "HOW", default_value_t, conflicts_with_all = ["price", "one_call", "resume"])]
    drawn: Drawn,
    /// Run part I of N, from 1. Without it, the environment of a Slurm array or of an indexed job of Kubernetes
    /// (with JOB_COMPLETIONS) says which
    #[arg(long, value_name = "I/N")]
    partition: Option<Partition>,
    /// Continue the file of --out: rows whose time it has, of the same entry and device, are not run again
    #[arg(long, requires = "out")]
    resume: bool,
    /// The file to write records to; its folder is made, and one that ends in `.zst` is compressed at the end. A partition
    /// puts its number before the ending. Without it, records are printed
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Take samples until the median is known to within this share of it, in percent
    #[arg(long, value_name = "PERCENT", default_value_t = 1.0, allow_negative_numbers = true)]
    within: f64,
    /// The longest time that samples of a row are taken for, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 1.0, allow_negative_numbers = true)]
    budget: f64,
    /// The longest time that a row may take, in seconds, at least 1 more than --budget; a process that takes longer is
    /// killed
    #[arg(long, value_name = "SECONDS", default_value_t = 120.0, allow_negative_numbers = true)]
    limit: f64,
    /// Make one call of each row, in the range that profilers look at, and judge and time nothing: what `tileops-audit`
    /// runs under Nsight Compute (`--profile-from-start off`)
    #[arg(long, conflicts_with_all = ["price", "partition", "resume", "out"])]
    one_call: bool,
    /// Make a fault happen, to see what it costs: `wrong`, `hang`, `crash`, ..., the op and the cases
    #[arg(long, value_name = "FAULT:OP:CASES", hide = true)]
    inject: Vec<Injection>,
    /// What a child is started with
    #[arg(long, hide = true)]
    worker: bool,
    /// What the process that compiles is started with
    #[arg(long, hide = true)]
    compile_ahead: bool,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Say what of CUDA is found here, of which versions, and what to do about the rest. Ends with 0 where ops run on the GPU
    Doctor {
        /// Which GPU: `cuda:N`
        #[arg(long, value_name = "DEVICE", default_value = "cuda:0")]
        device: Which,
    },
}

/// Exit codes: 0 every row has its price or time, 1 a row has none (its record says why), or no op runs on the GPU, 2 the
/// program could not do its work, 128 + N signal N ended it.
fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let done = if let Some(Command::Doctor { device }) = &arguments.command {
        doctor(*device)
    } else if arguments.worker {
        worker::run().map(|()| Outcome::Whole)
    } else if arguments.compile_ahead {
        ahead::run().map(|()| Outcome::Whole)
    } else if arguments.price {
        price_rows(&arguments)
    } else if arguments.one_call {
        call_rows(&arguments)
    } else {
        time_rows(&arguments)
    };
    match done {
        Ok(Outcome::Whole) => ExitCode::SUCCESS,
        Ok(Outcome::Lacking) => ExitCode::from(1),
        Ok(Outcome::Stopped(signal)) => ExitCode::from(128 + signal),
        Err(error) => {
            say(&format!("error: {error:#}"));
            ExitCode::from(2)
        }
    }
}

/// What came of it.
enum Outcome {
    /// Every row has what was asked for.
    Whole,
    /// Some row has not.
    Lacking,
    /// A signal ended it.
    Stopped(u8),
}

fn outcome(failed: usize) -> Outcome {
    if failed == 0 { Outcome::Whole } else { Outcome::Lacking }
}

fn doctor(device: Which) -> Result<Outcome> {
    let Which::Cuda(number) = device else {
        bail!("the CPU needs no doctor: it is GPUs that are looked at (`cuda:N`)")
    };
    let report = tileops_device::doctor::examine(number);
    print(report.text().as_bytes())?;
    Ok(if report.runs_kernels() { Outcome::Whole } else { Outcome::Lacking })
}

fn filter(arguments: &Arguments) -> Filter {
    Filter {
        op: arguments.op.as_ref().map(Glob::compile_matcher),
        row: arguments.row.as_ref().map(Glob::compile_matcher),
        dtype: arguments.dtype.clone(),
    }
}

fn price_rows(arguments: &Arguments) -> Result<Outcome> {
    let manifest = Manifest::read(&arguments.manifest)?;
    let entries: Vec<_> = manifest.entries().collect();
    let selected = filter(arguments).rows(&entries).map_err(|why| nothing(arguments, &why))?;
    let mut lines = Vec::new();
    let (ops, mut rows, mut failed) = (selected.len(), 0_usize, 0_usize);
    for (entry, calls) in &selected {
        for call in calls {
            let mut record = price::record(REGISTRY, entry, call);
            rows += 1;
            if arguments.values {
                price::with_inputs(&mut record, REGISTRY, entry, call)?;
            }
            if let Some(failure) = &record.failure {
                failed += 1;
                say(&format!("{} {}: {}", record.op, record.case, failure.message.as_deref().unwrap_or_default()));
            }
            serde_json::to_writer(&mut lines, &record)?;
            lines.push(b'\n');
        }
    }
    match &arguments.out {
        Some(path) => write_prices(path, &lines)?,
        None => print(&lines)?,
    }
    say(&format!("{rows} rows of {ops} ops priced, {failed} without a price"));
    Ok(outcome(failed))
}

/// The error of a selection without rows.
fn nothing(arguments: &Arguments, why: &str) -> anyhow::Error {
    anyhow!("no row of `{}` is selected: {why}", arguments.manifest.display())
}

fn call_rows(arguments: &Arguments) -> Result<Outcome> {
    let manifest = Manifest::read(&arguments.manifest)?;
    let which = arguments.device.map_or_else(Which::first, Ok)?;
    let selection = Selection::new(manifest.entries(), &filter(arguments), which);
    let selection = selection.map_err(|why| nothing(arguments, &why))?;
    let machine = which.open()?;
    for selected in &selection.ops {
        for call in &selected.calls {
            let row = || format!("{} {}", selected.entry.op(), call.case_id);
            one_call::run(&*machine, &selected.entry, call).with_context(row)?;
        }
    }
    Ok(Outcome::Whole)
}

/// How much longer than its samples a row may take, at least, in seconds: the op's first call, and its reference.
const MARGIN: f64 = 1.0;

/// How long a row may take, and how its samples are taken.
fn effort(arguments: &Arguments) -> Result<(Duration, Effort)> {
    let seconds = |value: f64, name: &str| {
        Duration::try_from_secs_f64(value)
            .ok()
            .filter(|time| !time.is_zero())
            .with_context(|| format!("--{name} is {value:?}, and must be a time in seconds, as in `--{name} 10`"))
    };
    let (limit, budget) = (seconds(arguments.limit, "limit")?, seconds(arguments.budget, "budget")?);
    if arguments.limit < arguments.budget + MARGIN {
        bail!(
            "--limit is {:?} and --budget {:?}: a row takes longer than its samples, so the limit must be at least {:?}",
            arguments.limit,
            arguments.budget,
            arguments.budget + MARGIN
        );
    }
    if !(arguments.within > 0.0 && arguments.within <= 100.0) {
        bail!("--within is {:?}, and must be a share in percent, above 0 and at most 100", arguments.within);
    }
    let (least, longest) = (Effort::default().seconds.0, budget.as_secs_f64());
    Ok((limit, Effort { within: arguments.within / 100.0, seconds: (least.min(longest), longest) }))
}

fn time_rows(arguments: &Arguments) -> Result<Outcome> {
    let start = Instant::now();
    let environment = Partition::of_environment(|name| std::env::var(name).ok());
    let partition = match arguments.partition {
        Some(partition) => Some(partition),
        None => environment.map_err(anyhow::Error::msg)?,
    };
    let (limit, effort) = effort(arguments)?;
    let which = arguments.device.map_or_else(Which::first, Ok)?;
    if arguments.device.is_none() && which == Which::Cpu {
        say("there is no GPU: ops run on the CPU, by their references");
    }
    let manifest = Manifest::read(&arguments.manifest)?;
    let selection = Selection::new(manifest.entries(), &filter(arguments), which);
    let mut selection = selection.map_err(|why| nothing(arguments, &why))?;
    for (why, (ops, rows)) in &selection.lacking {
        say(&format!("not run: {rows} rows of {ops} ops, {why}"));
    }
    if let Some(partition) = partition {
        let all = selection.rows();
        selection.cut(partition);
        say(&format!("part {partition}: {} of {all} rows", selection.rows()));
    }
    let out = arguments.out.as_deref().map(|path| of_partition(path, partition));
    let mut store = match arguments.resume {
        true => resumed(out.as_deref(), which, &mut selection)?,
        false => Store::open(out.as_deref(), None)?.0,
    };
    let rows = selection.rows();
    let run = Arc::new(this_run());
    let options = Options { which, drawn: arguments.drawn, effort, limit, faults: arguments.inject.clone() };
    let stop = Stop::listen().context("cannot listen to signals")?;
    let ahead = match which {
        Which::Cuda(gpu) if rows > 0 => {
            let cases = |calls: &[&Call]| calls.iter().map(|c| c.case_id.clone()).collect();
            let ops = selection.ops.iter().map(|selected| (selected.entry.op().to_owned(), cases(&selected.calls)));
            let manifest = arguments.manifest.clone();
            Some(ahead::Ahead::start(&ahead::Rows { manifest, gpu, ops: ops.collect() })?)
        }
        _ => None,
    };
    let progress = Progress::new(rows);
    let mut sink = |record: &tileops_record::Record| store.write(record);
    let done = supervise::run(&arguments.manifest, &selection.ops, &options, &run, &progress, &stop, &mut sink);
    progress.end();
    drop(ahead);
    let summary = done?;
    if let Some(signal) = summary.stopped {
        let done = many(summary.rows, "record");
        say(&match store.place() {
            Some(path) => {
                format!(
                    "ended by signal {signal}: `{}` has the {done} of this run, --resume continues it",
                    path.display()
                )
            }
            None => format!("ended by signal {signal}: {done} printed"),
        });
        return Ok(Outcome::Stopped(signal));
    }
    store.finish()?;
    say(&format!("{} rows of {} ops run, {} without a time", summary.rows, selection.ops.len(), summary.failed));
    say(&split(summary.spent, summary.starts, summary.processes, start.elapsed()));
    Ok(outcome(summary.failed))
}

/// Continues the file `out`: takes the rows whose times it has out of the selection.
fn resumed(out: Option<&Path>, which: Which, selection: &mut Selection<'_>) -> Result<Store> {
    let row = |entry: &Entry<'_>, call: &Call| (entry.op().to_owned(), call.case_id.clone(), entry.hash());
    let of_op =
        |selected: &Selected<'_>| -> Vec<_> { selected.calls.iter().map(|call| row(&selected.entry, call)).collect() };
    let sought = Sought {
        rows: selection.ops.iter().flat_map(of_op).collect(),
        device: which.device_name()?,
        sources: which.sources().to_vec(),
    };
    let (store, held) = Store::open(out, Some(&sought))?;
    if held.torn > 0 {
        let place = store.place().unwrap_or(Path::new("")).display();
        say(&format!(
            "the last record of `{place}` was torn when a run was killed: its {} bytes are cut off",
            held.torn
        ));
    }
    if !held.done.is_empty() {
        say(&format!("recorded already: {}", many(held.done.len(), "row")));
    }
    if held.untimed > 0 {
        say(&format!(
            "taken out: {} without a time, of rows that are run again or have one",
            many(held.untimed, "record")
        ));
    }
    for selected in &mut selection.ops {
        let entry = selected.entry;
        selected.calls.retain(|call| !held.done.contains(&row(&entry, call)));
    }
    selection.ops.retain(|selected| !selected.calls.is_empty());
    Ok(store)
}

/// What records say of this run.
fn this_run() -> Run {
    Run::begun(
        env!("CARGO_PKG_NAME"),
        env!("CARGO_PKG_VERSION"),
        option_env!("TILEOPS_REVISION"),
        option_env!("TILEOPS_DIRTY"),
    )
}
