//! What the analyzer finds in a manifest held in memory, in the terms of markers.

use std::sync::Arc;

use tileops_analyzer::defect;
use tileops_analyzer::roofline::Formulas;
use tileops_analyzer::suppress;
use tileops_analyzer::text::{LineIndex, TextRange};
use tileops_analyzer::workspace::{SourceFile, Workspace};

use crate::marker::{self, Expected, Severity};

/// One thing that was found.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Found {
    /// The file's name.
    pub file: String,
    /// The line, from zero.
    pub line: usize,
    /// The first column, and the one behind the last on that line, in Unicode scalars.
    pub columns: (usize, usize),
    /// How bad it is.
    pub severity: Severity,
    /// The code; empty for an unreached judgment.
    pub code: &'static str,
    /// The message.
    pub message: String,
    /// The column at which the line's content starts.
    pub indentation: usize,
}

/// The functions that the formula sources of cases and examples define.
const FORMULAS: [&str; 2] = ["demo_roofline", "other_roofline"];

/// Judges files that lie in one folder, suppression comments included.
pub fn judge<'a>(files: impl IntoIterator<Item = (&'a str, &'a str)>) -> Vec<Found> {
    let files = files.into_iter().map(|(name, text)| SourceFile {
        path: Arc::from(name),
        text: Arc::from(text),
        configured: true,
        judged: true,
    });
    let names = Some(FORMULAS.map(str::to_owned).into());
    let formulas = Formulas { names, ..Formulas::default() };
    let workspace = Workspace::new(files.collect()).with_formulas(formulas);
    let analyses = workspace.entries().iter().map(|entry| workspace.analyze(entry)).collect();
    let report = workspace.finish(analyses);
    let mut found = Vec::new();
    for mut file in report.files {
        let Some(source) = workspace.files().iter().find(|source| source.path == file.path) else { continue };
        suppress::apply(&source.text, &mut file);
        let lines = LineIndex::new(&source.text);
        let place = |range| place(&source.text, &lines, range);
        let name = file.path.to_string();
        for located in &file.defects {
            let defect = &located.defect;
            let (line, columns, indentation) = place(defect.range);
            let severity = match defect.code.severity {
                defect::Severity::Error => Severity::Error,
                defect::Severity::Advisory => Severity::Advisory,
            };
            let (code, message) = (defect.code.name, defect.message.clone());
            found.push(Found { file: name.clone(), line, columns, severity, code, message, indentation });
        }
        for (_, unreached) in &file.unreached {
            let (line, columns, indentation) = place(unreached.range);
            let message = unreached.message();
            let severity = Severity::Unreached;
            found.push(Found { file: name.clone(), line, columns, severity, code: "", message, indentation });
        }
    }
    found.sort();
    found
}

/// The first line of `range`, the columns that it covers there, and where the line's content starts.
fn place(text: &str, lines: &LineIndex, range: TextRange) -> (usize, (usize, usize), usize) {
    let start = lines.line_column(text, range.start());
    let line = text.get(usize::from(lines.line_start(start.line))..usize::from(lines.line_start(start.line + 1)));
    let line = line.unwrap_or("").trim_end_matches(['\n', '\r']);
    let end = lines.line_column(text, range.end());
    let first = start.column as usize;
    let last = if end.line == start.line { end.column as usize } else { line.chars().count() };
    (start.line as usize, (first, last.max(first + 1)), line.chars().take_while(|c| *c == ' ').count())
}

impl Found {
    /// Whether `expected`, a marker of the same file, is about this.
    pub fn is(&self, expected: &Expected) -> bool {
        self.line == expected.line
            && self.columns == expected.columns
            && self.severity == expected.severity
            && self.code == expected.code
            && expected.message.as_ref().is_none_or(|part| self.message.contains(part))
    }

    /// `error[code]`, or `unreached`.
    pub fn head(&self) -> String {
        match self.severity {
            Severity::Unreached => self.severity.to_string(),
            Severity::Error | Severity::Advisory => format!("{}[{}]", self.severity, self.code),
        }
    }

    /// The marker line that expects this.
    pub fn marker(&self) -> String {
        marker::write(self.columns, self.indentation, &self.head(), &self.message)
    }
}
