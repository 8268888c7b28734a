//! Marker lines: which characters of the line above are expected to be at fault.

use std::fmt;

/// What a marker expects, or what was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// An error.
    Error,
    /// An advisory.
    Advisory,
    /// A judgment that could not be made.
    Unreached,
}

/// One marker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expected {
    /// The line marked, by its number in the text without markers, from zero.
    pub line: usize,
    /// The first column marked, and the one behind the last, in Unicode scalars.
    pub columns: (usize, usize),
    /// How bad it is.
    pub severity: Severity,
    /// The code; empty for an unreached judgment.
    pub code: String,
    /// A text that the message contains.
    pub message: Option<String>,
    /// The marker as written.
    pub written: String,
}

/// A text without its markers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Marked {
    /// The lines that are no markers.
    pub text: String,
    /// The markers, in the order written.
    pub markers: Vec<Expected>,
}

/// Takes the marker lines out of `text`.
pub fn strip(text: &str) -> Marked {
    let mut kept: Vec<&str> = Vec::new();
    let mut markers = Vec::new();
    for line in text.lines() {
        match parse(line, kept.len().saturating_sub(1)) {
            Some(marker) => markers.push(marker),
            None => kept.push(line),
        }
    }
    Marked { text: kept.iter().map(|line| format!("{line}\n")).collect(), markers }
}

fn parse(line: &str, target: usize) -> Option<Expected> {
    let trimmed = line.trim_start();
    let carets = trimmed.strip_prefix('#').unwrap_or(trimmed).trim_start();
    let rest = carets.trim_start_matches('^');
    let width = carets.len() - rest.len();
    if width == 0 {
        return None;
    }
    // Everything before the carets is `#` and blanks.
    let start = line.chars().count() - carets.chars().count();
    let rest = rest.trim();
    let (head, message) = match rest.split_once(": ") {
        Some((head, message)) => (head, Some(message.trim().to_owned())),
        None => (rest, None),
    };
    let coded = |severity: &str| head.strip_prefix(severity)?.strip_prefix('[')?.strip_suffix(']');
    let (severity, code) = match (coded("error"), coded("advisory"), head) {
        (Some(code), ..) => (Severity::Error, code),
        (_, Some(code), _) => (Severity::Advisory, code),
        (_, _, "unreached") => (Severity::Unreached, ""),
        _ => return None,
    };
    Some(Expected {
        line: target,
        columns: (start, start + width),
        severity,
        code: code.to_owned(),
        message,
        written: line.to_owned(),
    })
}

/// The marker line for characters `columns` of a line whose content starts at column `indentation`.
pub(crate) fn write(columns: (usize, usize), indentation: usize, head: &str, message: &str) -> String {
    let (start, end) = columns;
    // A `#` needs a column of its own before the carets; a marker without one is understood as well.
    let lead = match (start.checked_sub(1), start > indentation) {
        (None, _) => String::new(),
        (Some(_), true) => format!("{}#", " ".repeat(indentation)),
        (Some(_), false) => "#".to_owned(),
    };
    let gap = " ".repeat(start - lead.len());
    format!("{lead}{gap}{} {head}: {message}", "^".repeat(end.saturating_sub(start).max(1)))
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Severity::Error => "error",
            Severity::Advisory => "advisory",
            Severity::Unreached => "unreached",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markers_mark_the_nearest_line_that_is_none() {
        let marked =
            strip("a: 1\n#  ^ error[one]: so: it is\n^ advisory[two]\nb: é2\n#  ^^ unreached\n# ^^ no marker\n");
        assert_eq!(marked.text, "a: 1\nb: é2\n# ^^ no marker\n");
        let found: Vec<_> = marked.markers.iter().map(|m| (m.line, m.columns, m.severity, m.code.as_str())).collect();
        assert_eq!(
            found,
            [
                (0, (3, 4), Severity::Error, "one"),
                (0, (0, 1), Severity::Advisory, "two"),
                (1, (3, 5), Severity::Unreached, ""),
            ]
        );
        assert_eq!(marked.markers[0].message.as_deref(), Some("so: it is"));
    }

    #[test]
    fn a_written_marker_reads_back() {
        for columns in [(0, 3), (1, 2), (2, 3), (7, 9)] {
            let line = write(columns, 2, "error[x]", "m");
            let read = parse(&line, 0).expect("a marker");
            assert_eq!(
                (read.columns, read.code.as_str(), read.message.as_deref()),
                (columns, "x", Some("m")),
                "{line}"
            );
        }
    }
}
