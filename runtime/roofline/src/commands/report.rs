//! Records against a profile, as a report.

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use clap::{Args, ValueEnum};
use tileops_record::load;
use tileops_roofline::report::{self, Report, TableOptions};

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Files of records (`.jsonl`, `.jsonl.zst`), folders or globs.
    #[arg(required = true)]
    records: Vec<PathBuf>,
    /// The GPU profile.
    #[arg(long, required = true)]
    profile: Option<PathBuf>,
    /// How to print the report.
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
    /// Where to write the report instead of the standard output.
    #[arg(long, value_name = "FILE")]
    output_file: Option<PathBuf>,
    /// Also write the report as one self-contained HTML page: plots, filters, every row's facts.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// A table for a terminal.
    Table,
    /// One JSON document.
    Json,
    /// One line a row.
    Csv,
    /// For a pull request or a job summary.
    Markdown,
    /// For a test report.
    Junit,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode> {
    // clap requires it where there is no subcommand.
    let Some(path) = &arguments.profile else { bail!("no profile") };
    let profile = super::profile(path)?;
    let loaded = load(&arguments.records);
    super::complain(&loaded.problems);
    let report = Report::new(loaded.records, &profile);
    if let Some(path) = &arguments.html {
        fs::write(path, report::html(&report, &profile)).with_context(|| format!("cannot write {}", path.display()))?;
    }
    let output_file = arguments.output_file.as_deref();
    let text = match arguments.format {
        Format::Table => report::table(&report, &profile, TableOptions { width: super::width(output_file) }),
        Format::Json => format!("{:#}\n", report::json(&report, &profile)),
        Format::Csv => report::csv(&report),
        Format::Markdown => report::markdown(&report, &profile),
        Format::Junit => report::junit(&report, &profile)?,
    };
    super::write(&text, output_file)?;
    Ok(match (loaded.problems.is_empty(), report.healthy()) {
        (_, false) => ExitCode::from(1),
        (false, true) => ExitCode::from(2),
        (true, true) => ExitCode::SUCCESS,
    })
}
