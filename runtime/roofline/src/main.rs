//! `tileops-roofline`: prices benchmark records against a GPU profile, and compares them.

mod commands;

use std::io::{self, Write};
use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};
use commands::Escapes;

/// Prices benchmark records against a GPU profile: speed-of-light efficiency, bounds, verdicts.
///
/// Exits 0 for a healthy run, 1 where a row implies a physically impossible rate, 2 where something could not be read.
#[derive(Debug, Parser)]
#[command(version, args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    report: commands::report::Arguments,
}

#[derive(Debug, Subcommand)]
enum Command {
    Compare(commands::compare::Arguments),
    History(commands::history::Arguments),
    Import(commands::import::Arguments),
    /// Prints the JSON Schema of a record.
    Schema,
}

fn main() -> ExitCode {
    match run(Cli::parse()) {
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

fn run(arguments: Cli) -> Result<ExitCode> {
    match arguments.command {
        Some(Command::Compare(arguments)) => commands::compare::run(&arguments),
        Some(Command::History(arguments)) => commands::history::run(&arguments),
        Some(Command::Import(arguments)) => commands::import::run(&arguments),
        Some(Command::Schema) => {
            commands::write(None, Escapes::Text, format!("{:#}\n", tileops_record::json_schema()).as_bytes())?;
            Ok(ExitCode::SUCCESS)
        }
        None => commands::report::run(&arguments.report),
    }
}
