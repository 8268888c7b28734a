//! From what the analyzer found in a file to what is reported of it: suppression comments and levels applied. Check mode
//! and the language server both go through here, and so report the same.

use std::sync::Arc;

use tileops_analyzer::defect::{Code, Defect, Place, Unreached, codes};
use tileops_analyzer::suppress;
use tileops_analyzer::text::{TextRange, TextSize};
use tileops_analyzer::workspace::{FileReport, Located};

use crate::diagnostic::{Diagnostic, Level, Related};
use crate::levels;
use crate::source::Source;

/// Characters of a file.
pub(crate) type Location = (Arc<Source>, TextRange);

/// How the findings of a file are reported.
pub(crate) struct Reporting<'r> {
    /// The level of each code.
    pub(crate) level: &'r dyn Fn(&'static Code) -> levels::Level,
    /// Whether judgments that could not be made are reported, too.
    pub(crate) unreached: bool,
    /// Which entries are looked at; nothing stands for the file.
    pub(crate) selects: &'r dyn Fn(&Option<Arc<str>>) -> bool,
    /// Where a place stands that a defect names.
    pub(crate) locate: &'r dyn Fn(&Place) -> Option<Location>,
}

/// What is reported of a file.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// In the order of places.
    pub(crate) diagnostics: Vec<Diagnostic>,
    /// How many judgments could not be made, reported or not.
    pub(crate) unreached: usize,
    /// How many defects comments suppress.
    pub(crate) suppressed: usize,
}

/// What is reported of `source`, of which `report` is the report, and `faults` the bytes that are no UTF-8.
pub(crate) fn collect(
    source: &Arc<Source>,
    mut report: FileReport,
    faults: &[TextRange],
    reporting: &Reporting<'_>,
) -> Found {
    if !faults.is_empty() {
        report_bad_bytes(&mut report, faults);
    }
    let suppressed = suppress::apply(&source.text, &mut report);
    let mut diagnostics = Vec::new();
    for Located { entry, defect } in report.defects.into_iter().filter(|located| (reporting.selects)(&located.entry)) {
        let level = match (reporting.level)(defect.code) {
            levels::Level::Error => Level::Error,
            levels::Level::Advisory => Level::Advisory,
            levels::Level::Ignore => continue,
        };
        let Defect { code, range, path, subject, message, help, related, instead: _ } = defect;
        let related = related.into_iter().filter_map(|related| {
            let (source, range) = (reporting.locate)(&related.place)?;
            Some(Related { source, range, message: related.message })
        });
        diagnostics.push(Diagnostic {
            source: source.clone(),
            entry,
            rule: Some(code),
            level,
            path,
            subject,
            message,
            help,
            related: related.collect(),
            range,
        });
    }
    let unreached: Vec<_> = report.unreached.into_iter().filter(|(entry, _)| (reporting.selects)(entry)).collect();
    let count = unreached.len();
    for (entry, judgment) in unreached.into_iter().filter(|_| reporting.unreached) {
        let message = judgment.message();
        let Unreached { range, path, missing, .. } = judgment;
        diagnostics.push(Diagnostic {
            source: source.clone(),
            entry,
            rule: None,
            level: Level::Unreached,
            path,
            subject: missing,
            message,
            help: None,
            related: Vec::new(),
            range,
        });
    }
    let suppressed = suppressed.iter().filter(|located| (reporting.selects)(&located.entry)).count();
    Found { diagnostics, unreached: count, suppressed }
}

/// Adds the bytes of a file that are no UTF-8 to its report, in place of what their stand-ins brought about.
fn report_bad_bytes(report: &mut FileReport, faults: &[TextRange]) {
    let touched = |range: TextRange| faults.iter().any(|fault| fault.intersect(range).is_some());
    report.defects.retain(|located| !touched(located.defect.range));
    report.unreached.retain(|(_, unreached)| !touched(unreached.range));
    for &range in faults {
        let within = |(_, entry): &&(Option<Arc<str>>, TextRange)| entry.contains_range(range);
        let entry = report.entries.iter().find(within).and_then(|(name, _)| name.clone());
        let what = if range.len() == TextSize::new(1) { "this byte is" } else { "these bytes are" };
        let defect = Defect {
            code: &codes::YAML_CHARACTER,
            range,
            path: String::new(),
            subject: String::new(),
            message: format!("{what} not UTF-8"),
            help: Some("save the file as UTF-8".to_owned()),
            related: Vec::new(),
            instead: None,
        };
        report.defects.push(Located { entry, defect });
    }
}
