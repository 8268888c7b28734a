//! `tileops-roofline`: prices benchmark records against a GPU profile.

use std::fs;
use std::io::{self, IsTerminal, Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use clap::{Parser, Subcommand, ValueEnum};
use tileops_record::load;
use tileops_roofline::import::{Assumptions, RoofMap, import_junit};
use tileops_roofline::profile::Profile;
use tileops_roofline::report::{self, Report, TableOptions};

/// Prices benchmark records against a GPU profile: speed-of-light efficiency, bounds, verdicts.
///
/// Exits 0 for a healthy run, 1 where a row implies a physically impossible rate, 2 where something could not be read.
#[derive(Debug, Parser)]
#[command(version, args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
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

#[derive(Debug, Subcommand)]
enum Command {
    /// Turns JUnit reports of pytest nightlies into records, one JSON object a line.
    Import {
        /// Reports: `.xml`, or `.xml.xz`.
        #[arg(required = true)]
        reports: Vec<PathBuf>,
        /// The device that ran them; a report does not say.
        #[arg(long, value_name = "NAME")]
        device: Option<String>,
        /// A YAML mapping from op to roof key, for reports that state none.
        #[arg(long, value_name = "FILE")]
        roofs: Option<PathBuf>,
        /// Where to write the records instead of the standard output.
        #[arg(long, value_name = "FILE")]
        output_file: Option<PathBuf>,
    },
    /// Prints the JSON Schema of a record.
    Schema,
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

fn main() -> ExitCode {
    match run(Arguments::parse()) {
        Ok(code) => code,
        // A reader that has seen enough is no failure.
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(io::stderr(), "error: {error:#}");
            ExitCode::from(2)
        }
    }
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|e| e.downcast_ref::<io::Error>().is_some_and(|e| e.kind() == io::ErrorKind::BrokenPipe))
}

fn run(arguments: Arguments) -> Result<ExitCode> {
    match arguments.command {
        Some(Command::Import { reports, device, roofs, output_file }) => {
            return import(&reports, device, roofs.as_deref(), output_file.as_deref());
        }
        Some(Command::Schema) => {
            write(&format!("{:#}\n", tileops_record::json_schema()), None)?;
            return Ok(ExitCode::SUCCESS);
        }
        None => {}
    }
    // clap requires it where there is no subcommand.
    let Some(path) = arguments.profile else { bail!("no profile") };
    let text = fs::read_to_string(&path).with_context(|| format!("cannot read the profile {}", path.display()))?;
    let profile = Profile::from_yaml(&text).with_context(|| format!("{}", path.display()))?;
    let loaded = load(&arguments.records);
    for problem in &loaded.problems {
        let _ = writeln!(io::stderr(), "error: {problem}");
    }
    let report = Report::new(loaded.records, &profile);
    if let Some(path) = &arguments.html {
        fs::write(path, report::html(&report, &profile)).with_context(|| format!("cannot write {}", path.display()))?;
    }
    let text = match arguments.format {
        Format::Table => {
            let width = terminal_width(arguments.output_file.is_none());
            report::table(&report, &profile, TableOptions { width })
        }
        Format::Json => format!("{:#}\n", report::json(&report, &profile)),
        Format::Csv => report::csv(&report),
        Format::Markdown => report::markdown(&report, &profile),
        Format::Junit => report::junit(&report, &profile)?,
    };
    write(&text, arguments.output_file.as_deref())?;
    Ok(match (loaded.problems.is_empty(), report.healthy()) {
        (_, false) => ExitCode::from(1),
        (false, true) => ExitCode::from(2),
        (true, true) => ExitCode::SUCCESS,
    })
}

fn terminal_width(to_stdout: bool) -> Option<usize> {
    if !to_stdout || !io::stdout().is_terminal() {
        return None;
    }
    terminal_size::terminal_size().map(|(width, _)| usize::from(width.0))
}

fn import(
    reports: &[PathBuf],
    device: Option<String>,
    roofs: Option<&Path>,
    output_file: Option<&Path>,
) -> Result<ExitCode> {
    let roofs = match roofs {
        Some(path) => {
            let text = fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
            RoofMap::from_yaml(&text)
                .with_context(|| format!("{} is no mapping from op to roof key", path.display()))?
        }
        None => RoofMap::default(),
    };
    let assumptions = Assumptions { device, roofs };
    let mut lines = String::new();
    let mut whole = true;
    let (mut records, mut untimed) = (0, 0);
    for path in reports {
        let xml = read_xml(path).with_context(|| format!("cannot read {}", path.display()))?;
        let imported = import_junit(&xml, &assumptions);
        for error in &imported.errors {
            whole = false;
            let _ = writeln!(io::stderr(), "error: {}: {error}", path.display());
        }
        untimed += imported.untimed;
        records += imported.records.len();
        for record in &imported.records {
            lines.push_str(&serde_json::to_string(record).context("a record that JSON cannot state")?);
            lines.push('\n');
        }
    }
    write(&lines, output_file)?;
    let _ = writeln!(io::stderr(), "{records} records; {untimed} test cases state no time");
    Ok(if whole { ExitCode::SUCCESS } else { ExitCode::from(2) })
}

fn read_xml(path: &Path) -> Result<String> {
    let bytes = fs::read(path)?;
    let bytes = if path.extension().is_some_and(|e| e == "xz") {
        let mut plain = Vec::new();
        liblzma::read::XzDecoder::new(bytes.as_slice()).read_to_end(&mut plain)?;
        plain
    } else {
        bytes
    };
    String::from_utf8(bytes).context("not UTF-8")
}

fn write(text: &str, output_file: Option<&Path>) -> Result<()> {
    match output_file {
        Some(path) => {
            let plain = anstream::adapter::strip_str(text).to_string();
            fs::write(path, plain).with_context(|| format!("cannot write {}", path.display()))
        }
        None => {
            let mut stdout = anstream::stdout().lock();
            stdout.write_all(text.as_bytes())?;
            Ok(stdout.flush()?)
        }
    }
}
