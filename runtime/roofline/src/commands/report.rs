//! Records against a profile, as a report.

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Result, anyhow, bail};
use clap::{Args, ValueEnum};
use serde_json::Value;
use tileops_record::{Record, each, each_brief, load};
use tileops_roofline::profile::Profile;
use tileops_roofline::report::{self, Builder, Report, TableOptions, price_one};

use super::Escapes;

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
    /// Also write the roofline plot as one SVG file, for a README; it is light or dark as its reader is.
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
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
    let paths = &arguments.records;
    let json = arguments.format == Format::Json;
    // The page holds every record, and JSON prints every one: from files it reads them a second time, from a pipe it
    // cannot.
    let (report, problems) = if arguments.html.is_some() || (json && !paths.iter().all(|p| p.is_dir() || p.is_file())) {
        let loaded = load(paths);
        (Report::new(loaded.records, &profile), loaded.problems)
    } else {
        let mut builder = Builder::default();
        let problems = each_brief(paths, |record| price_one(&record, &profile), |item| builder.push(item));
        (builder.finish(), problems)
    };
    super::complain(&problems);
    if let Some(path) = &arguments.html {
        super::write(Some(path), Escapes::Text, report::html(&report, &profile).as_bytes())?;
    }
    if let Some(path) = &arguments.svg {
        // Its errors are not those of threads.
        let drawn = report::svg(&report, &profile).map_err(|error| anyhow!("cannot draw the plot: {error}"))?;
        super::write(Some(path), Escapes::Text, drawn.as_bytes())?;
    }
    let output_file = arguments.output_file.as_deref();
    let options = TableOptions { width: super::width(output_file) };
    let escapes = if arguments.format == Format::Table { Escapes::Colours } else { Escapes::Text };
    super::output(output_file, escapes, |out| match arguments.format {
        Format::Table => report::table(&report, &profile, options, out),
        Format::Json => print_json(&report, &profile, paths, out),
        Format::Csv => report::csv(&report, out),
        Format::Markdown => out.write_all(report::markdown(&report, &profile).as_bytes()),
        Format::Junit => out.write_all(report::junit(&report, &profile)?.as_bytes()),
    })?;
    Ok(match (problems.is_empty(), report.healthy()) {
        (_, false) => ExitCode::from(1),
        (false, true) => ExitCode::from(2),
        (true, true) => ExitCode::SUCCESS,
    })
}

/// `{"gpu", "healthy", "summary", "rows"}`, a row a line: a million rows are never one value in memory.
fn print_json(report: &Report, profile: &Profile, paths: &[PathBuf], out: &mut dyn Write) -> io::Result<()> {
    let head = format!("{:#}", Value::Object(report::json_summary(report, profile)));
    write!(out, "{},\n  \"rows\": [", head.trim_end_matches("\n}"))?;
    let mut result = Ok(());
    let mut first = true;
    let mut line = |text: Option<String>| {
        if let (Some(text), Ok(())) = (text, &result) {
            result = write!(out, "{}\n    {text}", if first { "" } else { "," });
            first = false;
        }
    };
    let print =
        |record: &Record| record.peer.is_none().then(|| report::json_line(&report.row(record, profile), record));
    if report.records.is_empty() {
        each(paths, |record| print(&record), &mut line);
    } else {
        report.records.iter().for_each(|record| line(print(record)));
    }
    result?;
    write!(out, "\n  ]\n}}\n")
}
