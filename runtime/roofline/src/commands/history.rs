//! Many nights of records.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::{Args, ValueEnum};
use tileops_roofline::compare::Options;
use tileops_roofline::history::{History, nights, write_parquet};
use tileops_roofline::report::{self, HistoryView};

use super::Escapes;

/// Reads the nights in a folder: a trend per row, what became slower and stayed so, when a formula or a profile changed.
///
/// A night is a folder with files of records, or such a file. It is as old as its first run or, where its records do not
/// say, as its name. Exits 0 without a regression, 1 with one, 2 where something could not be read.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The folder of nights.
    folder: PathBuf,
    /// The GPU profile that prices every night. Without it, each night's own `profile.yaml`, or that of the night before.
    #[arg(long, value_name = "FILE")]
    profile: Option<PathBuf>,
    /// How to print the history.
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
    /// Print the rows to which nothing happened, too.
    #[arg(long)]
    all: bool,
    /// Take SM clocks that a record does not state for equal. Without it, such a change is ambiguous.
    #[arg(long)]
    assume_equal_clocks: bool,
    /// Also write every record of every night, and what it is worth, as one Parquet file.
    #[arg(long, value_name = "FILE")]
    parquet: Option<PathBuf>,
    /// Where to write the history instead of the standard output.
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

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode> {
    let profile = arguments.profile.as_deref().map(super::profile).transpose()?;
    let (nights, problems) = nights(&arguments.folder, profile.as_ref());
    for problem in &problems {
        let _ = writeln!(io::stderr(), "error: {problem}");
    }
    let options = Options { assume_clocks: arguments.assume_equal_clocks, ..Options::default() };
    let history = History::new(nights, &options);
    if let Some(path) = &arguments.parquet {
        let write = |file: &mut File| write_parquet(&history, BufWriter::new(file)).map_err(io::Error::other);
        tileops_files::replace_with(path, write).with_context(|| format!("cannot write {}", path.display()))?;
    }
    let output_file = arguments.output_file.as_deref();
    let view = HistoryView { all: arguments.all, width: super::width(output_file) };
    let (text, escapes) = match arguments.format {
        Format::Table => (report::history_table(&history, view), Escapes::Colours),
        Format::Json => (format!("{:#}\n", report::history_json(&history)), Escapes::Text),
        Format::Markdown => (report::history_markdown(&history, view), Escapes::Text),
    };
    super::write(output_file, escapes, text.as_bytes())?;
    Ok(match (history.regressions(), problems.is_empty()) {
        (1.., _) => ExitCode::from(1),
        (0, false) => ExitCode::from(2),
        (0, true) => ExitCode::SUCCESS,
    })
}
