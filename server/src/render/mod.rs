//! Reports in every format. A format reads an [`Outcome`] and writes bytes; none knows another.

mod concise;
mod github;
mod gitlab;
pub(crate) mod human;
mod json;
mod junit;
mod sarif;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{self, Write};

use crate::cli::Format;
use crate::diagnostic::{Diagnostic, Level, Outcome};
use crate::exit::Exit;

/// How a report looks, and how the run that it is about ends.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Style {
    /// Whether to use colors.
    pub(crate) styled: bool,
    /// Whether to count by code.
    pub(crate) statistics: bool,
    /// The exit code.
    pub(crate) exit: Exit,
}

/// Writes `outcome` to `out`.
pub(crate) fn render(format: Format, outcome: &Outcome, style: &Style, out: &mut dyn Write) -> io::Result<()> {
    match format {
        Format::Human => human::render(outcome, style, out),
        Format::Concise => concise::render(outcome, out),
        Format::Json => json::render(outcome, out),
        Format::Sarif => sarif::render(outcome, style.exit, out),
        Format::Github => github::render(outcome, out),
        Format::Gitlab => gitlab::render(outcome, out),
        Format::Junit => junit::render(outcome, out),
        // The command line refuses a table of defects.
        Format::Table => Ok(()),
    }
}

/// How often each code is reported, the most frequent first.
pub(crate) fn statistics(outcome: &Outcome) -> String {
    let mut counts: BTreeMap<(Level, &str), usize> = BTreeMap::new();
    for diagnostic in &outcome.diagnostics {
        *counts.entry((diagnostic.level, diagnostic.code())).or_default() += 1;
    }
    let mut counts: Vec<_> = counts.into_iter().collect();
    counts.sort_by(|((a_level, a_code), a), ((b_level, b_code), b)| (b, a_level, a_code).cmp(&(a, b_level, b_code)));
    counts.iter().fold(String::new(), |mut text, ((level, code), count)| {
        let _ = writeln!(text, "{count:>6}  {:<9}  {code}", level.to_string());
        text
    })
}

/// Where a diagnostic starts and ends: lines and columns from one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Extent {
    start: (u32, u32),
    end: (u32, u32),
}

impl Extent {
    /// Columns in Unicode scalars.
    fn of(diagnostic: &Diagnostic) -> Self {
        let place = |offset| {
            let at = diagnostic.source.line_column(offset);
            (at.line + 1, at.column + 1)
        };
        Extent { start: place(diagnostic.range.start()), end: place(diagnostic.range.end()) }
    }
}

/// Writes JSON and a line break.
fn write_json(value: &impl serde::Serialize, out: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, value)?;
    out.write_all(b"\n")
}
