//! What a report is made of, whatever its format.

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

use serde::Serialize;
use tileops_analyzer::defect::Code;
use tileops_analyzer::text::TextRange;

use crate::source::Source;

/// How bad an item of a report is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Level {
    Error,
    Advisory,
    /// A judgment that could not be made.
    Unreached,
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Level::Error => "error",
            Level::Advisory => "advisory",
            Level::Unreached => "unreached",
        })
    }
}

/// The code of a judgment that could not be made: there is one way to lack a fact.
pub(crate) const UNREACHED: &str = "unreached";

/// One item of a report.
#[derive(Debug, Clone)]
pub(crate) struct Diagnostic {
    pub(crate) source: Arc<Source>,
    /// The entry; nothing for what concerns the file.
    pub(crate) entry: Option<Arc<str>>,
    /// The rule that is broken; nothing for an unreached judgment.
    pub(crate) rule: Option<&'static Code>,
    pub(crate) level: Level,
    pub(crate) path: String,
    pub(crate) subject: String,
    pub(crate) message: String,
    pub(crate) help: Option<String>,
    pub(crate) related: Vec<Related>,
    pub(crate) range: TextRange,
}

/// Another place that an item involves.
#[derive(Debug, Clone)]
pub(crate) struct Related {
    pub(crate) source: Arc<Source>,
    pub(crate) range: TextRange,
    pub(crate) message: String,
}

impl Diagnostic {
    pub(crate) fn code(&self) -> &'static str {
        self.rule.map_or(UNREACHED, |rule| rule.name)
    }

    /// The order of reports: total, and the same whatever the threads did.
    pub(crate) fn order(&self, other: &Self) -> Ordering {
        fn key(d: &Diagnostic) -> (&str, u32, u32, Level, &str, [&str; 3]) {
            let (start, end) = (d.range.start().into(), d.range.end().into());
            (&d.source.path, start, end, d.level, d.code(), [&d.path, &d.subject, &d.message])
        }
        key(self).cmp(&key(other))
    }
}

/// A file that was judged.
#[derive(Debug)]
pub(crate) struct JudgedFile {
    pub(crate) source: Arc<Source>,
    /// The names of the entries that were looked at, in order.
    pub(crate) entries: Vec<Option<Arc<str>>>,
}

/// A file that was left alone.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Skipped {
    pub(crate) path: Arc<str>,
    pub(crate) reason: String,
    /// Whether the command line named it.
    pub(crate) named: bool,
}

/// An input that could not be read.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Problem {
    pub(crate) path: String,
    pub(crate) message: String,
}

/// A bug of this program that showed in one entry.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Bug {
    pub(crate) path: Arc<str>,
    pub(crate) entry: Option<Arc<str>>,
    pub(crate) message: String,
}

/// Everything that a check found.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    /// What is reported, in order.
    pub(crate) diagnostics: Vec<Diagnostic>,
    /// The files judged, in order.
    pub(crate) files: Vec<JudgedFile>,
    /// The files left alone, in order.
    pub(crate) skipped: Vec<Skipped>,
    /// The inputs that could not be read, in order.
    pub(crate) problems: Vec<Problem>,
    /// Our own bugs, in order.
    pub(crate) bugs: Vec<Bug>,
    /// How many judgments could not be made, reported or not.
    pub(crate) unreached: usize,
    /// How many defects comments suppress.
    pub(crate) suppressed: usize,
    /// How many defects the baseline holds back.
    pub(crate) baselined: usize,
    /// How many of the defects have a safe fix, and how many have another; nothing where that was not asked.
    pub(crate) fixable: Option<(usize, usize)>,
    /// The names of all entries, selected or not.
    pub(crate) all_names: Vec<Option<Arc<str>>>,
}

impl Outcome {
    /// How many items of a level are reported.
    pub(crate) fn count(&self, level: Level) -> usize {
        self.diagnostics.iter().filter(|diagnostic| diagnostic.level == level).count()
    }

    /// How many entries were looked at.
    pub(crate) fn entries(&self) -> usize {
        self.files.iter().map(|file| file.entries.len()).sum()
    }

    /// The names of all ops, selected or not.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.all_names.iter().filter_map(|name| name.as_deref())
    }

    /// "3 errors and 1 advisory in 2 of 14 files", or that there are none.
    pub(crate) fn summary(&self) -> String {
        let files = self.files.len();
        let (errors, advisories) = (self.count(Level::Error), self.count(Level::Advisory));
        let mut parts = Vec::new();
        if errors > 0 {
            parts.push(count(errors, "error", "errors"));
        }
        if advisories > 0 {
            parts.push(count(advisories, "advisory", "advisories"));
        }
        if parts.is_empty() {
            let entries = count(self.entries(), "entry", "entries");
            return format!("no defects in {}, {entries}", count(files, "file", "files"));
        }
        let mut touched: Vec<&str> = Vec::new();
        for diagnostic in self.diagnostics.iter().filter(|diagnostic| diagnostic.level != Level::Unreached) {
            // Items come file by file.
            if touched.last() != Some(&&*diagnostic.source.path) {
                touched.push(&diagnostic.source.path);
            }
        }
        format!("{} in {} of {}", parts.join(" and "), touched.len(), count(files, "file", "files"))
    }
}

/// "1 file", "2 files".
pub(crate) fn count(number: usize, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}
