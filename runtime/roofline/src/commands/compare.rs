//! Two sets of records against each other.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Result, bail};
use clap::{Args, ValueEnum};
use tileops_record::load;
use tileops_roofline::compare::{Comparison, Options, Reason, Verdict};
use tileops_roofline::report::{self, CompareView};

use super::Escapes;

/// Compares the times of two sets of records, row by row: same, faster, slower, ambiguous or unknown.
///
/// A verdict is decided by intervals and confirmed by clocks; how far two medians lie apart decides nothing. Several
/// records of one row on one side are its runs.
///
/// Exits 0 where no row has a verdict that `--fail-on` names and none was lost to a failure, 1 where one has, 2 where
/// something could not be read.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The records from before: a file, a folder or a glob.
    old: PathBuf,
    /// The records from after.
    new: PathBuf,
    /// How to print the comparison.
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
    /// Print what each verdict rests on: intervals, runs, clocks, and the meaning of each reason.
    #[arg(long)]
    explain: bool,
    /// Print the rows that stayed the same, too.
    #[arg(long)]
    all: bool,
    /// Compare the rows of peers, too; without it they only say whether the machine changed.
    #[arg(long)]
    peers: bool,
    /// Take SM clocks that a record does not state for equal. Without it, such a change is ambiguous.
    #[arg(long)]
    assume_equal_clocks: bool,
    /// The smallest change that matters, in percent. A row whose intervals overlap but cannot exclude it is ambiguous.
    #[arg(long, value_name = "PERCENT", default_value_t = 5.0)]
    resolution: f64,
    /// The verdicts that make the exit code 1.
    #[arg(long, value_enum, value_delimiter = ',', default_value = "slower")]
    fail_on: Vec<FailOn>,
    /// Where to write the comparison instead of the standard output.
    #[arg(long, value_name = "FILE")]
    output_file: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// A table for a terminal.
    Table,
    /// One JSON document.
    Json,
    /// For a pull request or a job summary.
    Markdown,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum FailOn {
    /// A row became slower, or fails now.
    Slower,
    /// The evidence does not decide.
    Ambiguous,
    /// There is no evidence.
    Unknown,
    /// Nothing does.
    Never,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode> {
    if !(arguments.resolution > 0.0 && arguments.resolution.is_finite()) {
        bail!("--resolution is a percentage above 0, and {} is none", arguments.resolution);
    }
    let (old, new) = (load(std::slice::from_ref(&arguments.old)), load(std::slice::from_ref(&arguments.new)));
    super::complain(&old.problems);
    super::complain(&new.problems);
    let options = Options {
        resolution: arguments.resolution / 100.0,
        assume_clocks: arguments.assume_equal_clocks,
        peers: arguments.peers,
    };
    let comparison = Comparison::new(&old.records, &new.records, &options);
    let output_file = arguments.output_file.as_deref();
    let view = CompareView { all: arguments.all, explain: arguments.explain, width: super::width(output_file) };
    let (text, escapes) = match arguments.format {
        Format::Table => (report::compare_table(&comparison, view), Escapes::Colours),
        Format::Json => (format!("{:#}\n", report::compare_json(&comparison)), Escapes::Text),
        Format::Markdown => (report::compare_markdown(&comparison, view), Escapes::Text),
    };
    super::write(output_file, escapes, text.as_bytes())?;
    let fails = |verdict: Verdict, reasons: &[Reason]| {
        arguments.fail_on.iter().any(|on| match on {
            FailOn::Slower => verdict == Verdict::Slower || reasons.contains(&Reason::Failed),
            FailOn::Ambiguous => verdict == Verdict::Ambiguous,
            FailOn::Unknown => verdict == Verdict::Unknown,
            FailOn::Never => false,
        })
    };
    let failed = comparison.changes.iter().any(|c| fails(c.judged.verdict, &c.judged.reasons));
    Ok(match (failed, old.problems.is_empty() && new.problems.is_empty()) {
        (true, _) => ExitCode::from(1),
        (false, false) => ExitCode::from(2),
        (false, true) => ExitCode::SUCCESS,
    })
}
