//! `tileops-lsp`: finds every defect of an op manifest.
//!
//! Without a mode it serves an editor on standard input and output. `--check` reports defects, `--rows` prints the calls
//! that workload rows determine, `--explain` prints the page of a code, `--print-schema` what can be configured. This crate is the edge: files, arguments, formats and exit codes live here, all judgments in
//! `tileops-analyzer`.

mod baseline;
mod check;
mod cli;
mod config;
mod diagnostic;
mod discover;
mod engine;
mod exit;
mod explain;
mod findings;
mod fix;
mod formulas;
mod levels;
mod lsp;
mod notes;
mod output;
mod panics;
mod render;
mod rows;
mod schema;
mod source;
mod watch;

use std::process::ExitCode;

use clap::Parser;

use crate::cli::{Arguments, Mode};
use crate::exit::Exit;

fn main() -> ExitCode {
    let arguments = match Arguments::try_parse().and_then(Arguments::validated) {
        Ok(arguments) => arguments,
        Err(error) => {
            // A closed pipe is the reader's choice, and what remains is to say how it went.
            let _ = error.print();
            return Exit::from_clap(&error).into();
        }
    };
    panics::install();
    // The process may be told to stop at any point; nothing it does leaves a half-written file behind.
    let _ = ctrlc::set_handler(|| {
        #[allow(clippy::exit, reason = "the handler's thread is the one place that can end the process at once")]
        std::process::exit(Exit::Interrupted as i32)
    });
    let notes = notes::Notes::new(arguments.color);
    let exit = panics::catch(|| run(&arguments, &notes)).unwrap_or_else(|panic| {
        notes.bug(&format!("internal error: {panic}"));
        Ok(Exit::Bug)
    });
    exit.unwrap_or_else(|error| {
        notes.error(&format!("{error:#}"));
        Exit::Failure
    })
    .into()
}

fn run(arguments: &Arguments, notes: &notes::Notes) -> anyhow::Result<Exit> {
    match arguments.mode() {
        Mode::Check if arguments.watch => watch::run(arguments, notes),
        Mode::Check => check::run(arguments, notes),
        Mode::Rows => rows::run(arguments, notes),
        Mode::Explain(code) => explain::run(code, notes),
        Mode::Schema(which) => {
            let schema = match which {
                cli::Schema::Config => schema::config(),
                cli::Schema::Settings => schema::settings(),
                cli::Schema::Profile => tileops_roofline::profile::schema(),
            };
            output::write(format!("{schema:#}\n").as_bytes(), None)?;
            Ok(Exit::Clean)
        }
        Mode::Server => lsp::run(),
    }
}
