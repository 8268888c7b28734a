//! Workflow commands of GitHub Actions: each becomes an annotation of the line in a pull request.

use std::io::{self, Write};

use super::Extent;
use crate::diagnostic::{Level, Outcome};

pub(super) fn render(outcome: &Outcome, out: &mut dyn Write) -> io::Result<()> {
    for diagnostic in &outcome.diagnostics {
        let command = match diagnostic.level {
            Level::Error => "error",
            Level::Advisory => "warning",
            Level::Unreached => "notice",
        };
        let Extent { start, end } = Extent::of(diagnostic);
        let path = &diagnostic.source.path;
        let title = format!("tileops ({})", diagnostic.code());
        write!(out, "::{command} title={},file={}", property(&title), property(path))?;
        write!(out, ",line={},endLine={}", start.0, end.0)?;
        // GitHub takes columns of one line alone, and the last one, not the one behind it.
        if start.0 == end.0 {
            write!(out, ",col={},endColumn={}", start.1, end.1.saturating_sub(1).max(start.1))?;
        }
        let mut text = format!("{path}:{}:{}: {}: {}", start.0, start.1, diagnostic.code(), diagnostic.message);
        if let Some(help) = &diagnostic.help {
            text.push_str("\nhelp: ");
            text.push_str(help);
        }
        writeln!(out, "::{}", data(&text))?;
    }
    Ok(())
}

/// Text of a command, escaped.
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// A property of a command, escaped.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
