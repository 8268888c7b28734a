//! One line a diagnostic: for editors' error parsers, `grep` and short attention.

use std::io::{self, Write};

use super::Extent;
use crate::diagnostic::{Level, Outcome};

pub(super) fn render(outcome: &Outcome, out: &mut dyn Write) -> io::Result<()> {
    for diagnostic in &outcome.diagnostics {
        let (line, column) = Extent::of(diagnostic).start;
        let head = match diagnostic.level {
            Level::Unreached => Level::Unreached.to_string(),
            level => format!("{level}[{}]", diagnostic.code()),
        };
        let message = diagnostic.message.replace(['\n', '\r'], " ");
        writeln!(out, "{}:{line}:{column}: {head}: {message}", diagnostic.source.path)?;
    }
    Ok(())
}
