//! JUnit XML: a suite a file, a test an entry that is well, and a test a diagnostic. Errors fail, unreached judgments
//! are skipped, advisories pass and say so.

use std::io::{self, Write};

use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};

use super::Extent;
use crate::diagnostic::{Diagnostic, Level, Outcome};

pub(super) fn render(outcome: &Outcome, out: &mut dyn Write) -> io::Result<()> {
    let mut report = Report::new("tileops-lsp");
    for file in &outcome.files {
        let mut suite = TestSuite::new(&*file.source.path);
        let found = outcome.diagnostics.iter().filter(|d| d.source.path == file.source.path);
        let found: Vec<&Diagnostic> = found.collect();
        for entry in &file.entries {
            if !found.iter().any(|diagnostic| diagnostic.entry == *entry) {
                suite.add_test_case(case(&file.source.path, entry.as_deref(), None, TestCaseStatus::success()));
            }
        }
        for diagnostic in found {
            suite.add_test_case(test(diagnostic));
        }
        if suite.test_cases.is_empty() {
            suite.add_test_case(case(&file.source.path, None, None, TestCaseStatus::success()));
        }
        report.add_test_suite(suite);
    }
    if !outcome.problems.is_empty() || !outcome.bugs.is_empty() {
        let mut suite = TestSuite::new("tileops-lsp");
        for problem in &outcome.problems {
            suite.add_test_case(case(&problem.path, None, None, error(&problem.message)));
        }
        for bug in &outcome.bugs {
            suite.add_test_case(case(&bug.path, bug.entry.as_deref(), None, error(&bug.message)));
        }
        report.add_test_suite(suite);
    }
    report.serialize(&mut *out).map_err(io::Error::other)
}

fn error(message: &str) -> TestCaseStatus {
    let mut status = TestCaseStatus::non_success(NonSuccessKind::Error);
    status.set_message(message);
    status
}

fn case(file: &str, entry: Option<&str>, what: Option<String>, status: TestCaseStatus) -> TestCase {
    let entry = entry.unwrap_or("(file)");
    let name = what.map_or_else(|| entry.to_owned(), |what| format!("{entry}: {what}"));
    let mut case = TestCase::new(name, status);
    case.set_classname(file);
    case
}

fn test(diagnostic: &Diagnostic) -> TestCase {
    let (line, column) = Extent::of(diagnostic).start;
    let file = &diagnostic.source.path;
    let mut text = format!("{file}:{line}:{column}: {}", diagnostic.message);
    if let Some(help) = &diagnostic.help {
        text.push_str("\nhelp: ");
        text.push_str(help);
    }
    let status = match diagnostic.level {
        Level::Error => {
            let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
            status.set_message(diagnostic.message.as_str()).set_type(diagnostic.code()).set_description(text.as_str());
            status
        }
        Level::Advisory => TestCaseStatus::success(),
        Level::Unreached => {
            let mut status = TestCaseStatus::skipped();
            status.set_message(diagnostic.message.as_str());
            status
        }
    };
    let what = format!("{} at {line}:{column}", diagnostic.code());
    let mut case = case(file, diagnostic.entry.as_deref(), Some(what), status);
    if diagnostic.level == Level::Advisory {
        case.set_system_out(format!("advisory: {text}"));
    }
    case
}
