//! `tileops-audit`: what the memory's counters say of bytes formulas.

mod copy;

use std::ffi::OsString;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow, bail};
use clap::{Parser, ValueEnum};
use globset::Glob;
use serde_json::{Map, Value as Json, json};
use tileops_analyzer::defect::nearest;
use tileops_audit::candidates::{self, Priced};
use tileops_audit::counters;
use tileops_audit::launch::Profiler;
use tileops_audit::{Audited, Candidate, Exemptions, Plan, Row, Run, Verdict, judge, report};
use tileops_bench::rows::{Entry, Manifest};
use tileops_device::Device;
use tileops_ops::generated::REGISTRY;

/// Holds the bytes formulas of a manifest's ops against hardware counters: rows run under Nsight Compute, one at a time, and
/// what the memory was read for is compared with `eval_roofline_read_bytes()`.
///
/// The rows are the manifest's own, the largest of each branch of each formula. Before the first, a copy whose traffic is
/// known is measured: counters that are wrong of it judge nothing.
#[derive(Debug, Parser)]
#[command(name = "tileops-audit", version, max_term_width = 100)]
struct Arguments {
    /// The folder of the manifest's YAML files
    #[arg(long, value_name = "DIR", default_value = "manifest")]
    manifest: PathBuf,
    /// Only the ops whose name matches
    #[arg(long, value_name = "GLOB")]
    op: Option<Glob>,
    /// At most so many rows: each op has one before any has two, the largest first
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..))]
    rows: Option<u64>,
    /// The calls for which a shortfall proves nothing: a YAML file of `exemptions: [{op, when, reason}]`; ours is
    /// `runtime/bench/audit/exemptions.yaml`
    #[arg(long, value_name = "FILE")]
    exempt: Option<PathBuf>,
    /// The GPU
    #[arg(long, value_name = "DEVICE", default_value = "cuda:0")]
    device: String,
    /// Nsight Compute
    #[arg(long, value_name = "PATH", default_value = "ncu")]
    ncu: PathBuf,
    /// The program that makes a row's call; without it, the one beside this program
    #[arg(long, value_name = "PATH")]
    bench: Option<PathBuf>,
    /// The longest time that a row may take, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 300, value_parser = clap::value_parser!(u64).range(1..))]
    limit: u64,
    /// How verdicts are printed, or rows by --list
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// The file to write verdicts to, or rows by --list; without it, they are printed
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Print which rows would be run, and run none. Needs no GPU
    #[arg(long)]
    list: bool,
    /// Measure the copy alone: can this machine's counters be trusted?
    #[arg(long, conflicts_with_all = ["list", "out", "rows", "op", "exempt"])]
    check_counters: bool,
    /// What Nsight Compute is started with for the copy: how many bytes
    #[arg(long, hide = true)]
    copy: Option<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For people.
    Text,
    /// One document, for programs.
    Json,
}

/// Exit codes: 0 no formula is refuted, 1 one is, or one could not be judged (FAIL, ERROR, NO-VERDICT), 2 the program could
/// not do its work.
fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            say(&format!("error: {error:#}"));
            ExitCode::from(2)
        }
    }
}

/// A line on standard error. A reader that has gone away is no reason to fail.
fn say(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// The bytes of the copy: far beyond any L2 cache.
const COPY: usize = 1 << 30;

fn run(arguments: &Arguments) -> Result<u8> {
    let number = match arguments.device.strip_prefix("cuda:").map(str::parse) {
        Some(Ok(number)) => number,
        _ => bail!("--device is `{}`: Nsight Compute profiles GPUs, as in `cuda:0`", arguments.device),
    };
    if let Some(bytes) = arguments.copy {
        return copy::run(number, bytes).map(|()| 0);
    }
    let profiler = Profiler { program: arguments.ncu.clone(), limit: Duration::from_secs(arguments.limit) };
    let folder = tempfile::tempdir().context("cannot make a folder for what Nsight Compute writes")?;
    if let Some(path) = &arguments.out {
        // Before anything is measured.
        tileops_files::can_replace(path)
            .with_context(|| format!("cannot write `{}`: name a file of a folder that takes one", path.display()))?;
    }
    if arguments.check_counters {
        say(&check(&profiler, folder.path(), arguments)?);
        return Ok(0);
    }
    let manifest = Manifest::read(&arguments.manifest)?;
    let matcher = arguments.op.as_ref().map(Glob::compile_matcher);
    let all: Vec<_> = manifest.entries().collect();
    let takes_op = |op: &str| matcher.as_ref().is_none_or(|glob| glob.is_match(op));
    let entries: Vec<_> = all.iter().filter(|entry| takes_op(entry.op())).copied().collect();
    if entries.is_empty() {
        bail!(unknown(arguments, &all));
    }
    let exemptions = exemptions(arguments.exempt.as_deref(), &manifest)?;
    let rows: Vec<Priced<'_>> = entries.iter().flat_map(|entry| candidates::of(REGISTRY, entry)).collect();
    if rows.is_empty() {
        bail!("none of the {} ops that are selected is implemented: there is nothing to run", entries.len());
    }
    let chosen: Vec<Candidate> = rows.iter().filter_map(Priced::candidate).collect();
    let plan = Plan::new(&chosen, arguments.rows.map(|rows| usize::try_from(rows).unwrap_or(usize::MAX)));
    if !plan.uncovered.is_empty() {
        say(&format!(
            "{} branches of formulas have no row among the {} of --rows",
            plan.uncovered.len(),
            plan.rows.len()
        ));
    }
    if arguments.list {
        return give(&list(&plan, arguments.format)?, arguments).map(|()| 0);
    }
    say(&check(&profiler, folder.path(), arguments)?);
    let mut audited: Vec<Audited> = rows.iter().filter_map(unpriced).collect();
    for (at, candidate) in plan.rows.iter().enumerate() {
        let of = |row: &&Priced<'_>| *row.record.op == *candidate.op && row.call.case_id == candidate.case;
        let Some(row) = rows.iter().find(of) else { continue };
        let verdict = audit(row, &profiler, folder.path(), &exemptions, arguments)?;
        let (word, count) = (verdict.verdict.word(), plan.rows.len());
        say(&format!("{}/{count} {} {}: {word}", at + 1, candidate.op, candidate.case));
        audited.push(verdict);
    }
    let text = match arguments.format {
        Format::Text => report::text(&audited, &exemptions),
        Format::Json => serde_json::to_string_pretty(&report::json(&audited, &exemptions))? + "\n",
    };
    give(&text, arguments)?;
    Ok(report::exit_code(&audited))
}

/// Writes `text` to the file of --out, or prints it.
fn give(text: &str, arguments: &Arguments) -> Result<()> {
    match &arguments.out {
        Some(path) => {
            let written = tileops_files::replace(path, text.as_bytes());
            written.with_context(|| format!("cannot write `{}`", path.display()))
        }
        None => print(text),
    }
}

/// That no op is selected, and which was meant, perhaps: one that is close, or one of those that have it in their names.
fn unknown(arguments: &Arguments, entries: &[Entry<'_>]) -> String {
    let folder = arguments.manifest.display();
    let Some(op) = arguments.op.as_ref().map(|glob| glob.glob()) else {
        return format!("`{folder}` has no entry");
    };
    let bare = op.trim_matches('*').to_ascii_lowercase();
    let names = || entries.iter().map(Entry::op);
    let is_part = |name: &&str| !bare.is_empty() && name.to_ascii_lowercase().contains(&bare);
    let many = names().filter(is_part).count();
    let meant = match (nearest(op, names()), names().find(is_part)) {
        (Some(name), _) => format!("; did you mean `{name}`?"),
        (None, Some(name)) if many == 1 => format!("; did you mean `{name}`?"),
        (None, Some(name)) => {
            // As the name spells it: a glob takes no other case.
            let at = name.to_ascii_lowercase().find(&bare).unwrap_or_default();
            let spelled = name.get(at..at + bare.len()).unwrap_or(name);
            format!("; {many} have it in their names: write `--op '*{spelled}*'`")
        }
        (None, None) => format!("; `--list` names those of `{folder}` that are implemented"),
    };
    format!("no op of `{folder}` matches `--op {op}`{meant}")
}

fn print(text: &str) -> Result<()> {
    match std::io::stdout().lock().write_all(text.as_bytes()) {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        result => result.context("cannot print"),
    }
}

fn exemptions(path: Option<&Path>, manifest: &Manifest) -> Result<Exemptions> {
    let Some(path) = path else { return Ok(Exemptions::default()) };
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read `{}`", path.display()))?;
    let refused = |errors: Vec<_>| {
        let lines: Vec<String> =
            errors.iter().map(|error: &tileops_audit::exempt::ConfigError| error.to_string()).collect();
        anyhow::anyhow!("`{}`:\n{}", path.display(), lines.join("\n"))
    };
    let exemptions = Exemptions::from_yaml(&text).map_err(refused)?;
    let entries: Vec<_> = manifest.entries().collect();
    let errors = exemptions.check(|op| entries.iter().find(|entry| entry.op() == op).map(|entry| entry.calls()));
    if errors.is_empty() { Ok(exemptions) } else { Err(refused(errors)) }
}

/// The rows that would be run.
fn list(plan: &Plan<'_>, format: Format) -> Result<String> {
    if format == Format::Json {
        let row = |row: &&Candidate| {
            let branch: Map<String, Json> =
                row.branch.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
            json!({"op": row.op, "case": row.case, "bytes": row.bytes as u64, "branch": branch})
        };
        let rows = |rows: &[&Candidate]| rows.iter().map(row).collect::<Vec<_>>();
        let document = json!({"rows": rows(&plan.rows), "uncovered": rows(&plan.uncovered)});
        return Ok(serde_json::to_string_pretty(&document)? + "\n");
    }
    let mut text = String::new();
    for row in &plan.rows {
        let branch: Vec<String> = row.branch.iter().map(|(name, value)| format!("{name} {value}")).collect();
        let branch = if branch.is_empty() { String::new() } else { format!("  ({})", branch.join(", ")) };
        text += &format!("{} {}: {} bytes{branch}\n", row.op, row.case, row.bytes);
    }
    Ok(text)
}

/// Measures the copy, and says what came of it.
fn check(profiler: &Profiler, folder: &Path, arguments: &Arguments) -> Result<String> {
    let own = std::env::current_exe().context("cannot tell which program this is")?;
    let given: [OsString; 4] =
        ["--copy".into(), COPY.to_string().into(), "--device".into(), (&arguments.device).into()];
    let finished = profiler.run(folder, &own, &given).map_err(|error| match no_gpu(arguments) {
        // What Nsight Compute is there for comes first.
        Some(why) => anyhow!("{why}. Rows are listed without one by `--list`. Beside the GPU: {error}"),
        None => error.into(),
    })?;
    // What Nsight Compute says of permissions is in its table, or among its errors.
    let complaint = finished.complaint.as_deref().unwrap_or_default();
    let text = if finished.table.is_empty() { complaint } else { &finished.table };
    let share = counters::check(text, COPY as u128);
    let share = match &share {
        Err(counters::Unusable::Csv(_) | counters::Unusable::NoKernel) if !complaint.is_empty() => {
            share.with_context(|| format!("a copy could not be measured ({complaint})"))?
        }
        _ => share.context("the counters cannot be trusted here")?,
    };
    Ok(format!("counters: a copy of {COPY} bytes read {:.2} % of them", share * 100.0))
}

/// Why there is no GPU to audit on; nothing where there is one.
fn no_gpu(arguments: &Arguments) -> Option<String> {
    match Device::count() {
        Ok(0) => Some("there is no GPU here".to_owned()),
        Ok(_) => None,
        Err(error) => Some(format!("there is no GPU that `{}` could be: {error}", arguments.device)),
    }
}

/// A row whose op could not say what it costs.
fn unpriced(row: &Priced<'_>) -> Option<Audited> {
    let failure = row.record.failure.as_ref()?;
    let no_run = Run::Failed(String::new());
    let unjudged = Row { op: &row.record.op, call: row.call, declared: None, bytes: None, run: no_run };
    let why = failure.message.clone().unwrap_or_else(|| failure.kind.to_string());
    let why = format!("its op has no price: {why}");
    Some(Audited { verdict: Verdict::Error, why, ..judge(&unjudged, &Exemptions::default()) })
}

fn audit(
    row: &Priced<'_>,
    profiler: &Profiler,
    folder: &Path,
    exemptions: &Exemptions,
    arguments: &Arguments,
) -> Result<Audited> {
    let (op, declared) = (&*row.record.op, row.record.read_bytes);
    // Without a declared read half there is nothing to compare.
    let run = match declared {
        None | Some(0) => Run::Not("there is nothing to compare its reads with".to_owned()),
        Some(_) => profiler.row(&profiler.run(folder, &bench(arguments)?, &one_call(row, arguments))?),
    };
    Ok(judge(&Row { op, call: row.call, declared, bytes: row.record.bytes, run }, exemptions))
}

/// What makes a row's call: `tileops-bench`, beside this program.
fn bench(arguments: &Arguments) -> Result<PathBuf> {
    if let Some(bench) = &arguments.bench {
        return Ok(bench.clone());
    }
    let own = std::env::current_exe().context("cannot tell which program this is")?;
    let beside = own.with_file_name(format!("tileops-bench{}", std::env::consts::EXE_SUFFIX));
    if !beside.is_file() {
        bail!("`{}` is not there: build it, or say where it is with `--bench PATH`", beside.display());
    }
    Ok(beside)
}

/// The arguments with which `tileops-bench` makes the one call of a row in a range that profilers look at.
fn one_call(row: &Priced<'_>, arguments: &Arguments) -> Vec<OsString> {
    vec![
        "--one-call".into(),
        "--manifest".into(),
        (&arguments.manifest).into(),
        "--op".into(),
        row.record.op.to_string().into(),
        "--row".into(),
        row.call.case_id.clone().into(),
        "--device".into(),
        (&arguments.device).into(),
    ]
}
