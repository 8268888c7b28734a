//! Runs every case of `tests/defects/*.md`. `UPDATE_EXPECT=1` rewrites the markers from what is found.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::ExitCode;

use libtest_mimic::{Arguments, Failed, Trial};
use tileops_tests::{Case, Found, Marked, Severity, cases, judge, root, strip, update_expectations};

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let folder = root().join("tests/defects");
    let mut trials = Vec::new();
    // Of each case, the severities of what it expects.
    let mut expected: BTreeMap<String, Vec<Severity>> = BTreeMap::new();
    let mut suites: Vec<_> = fs::read_dir(&folder)
        .expect("the suite's folder can be listed")
        .map(|entry| entry.expect("an item of the suite's folder can be read").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "md"))
        .collect();
    suites.sort();
    for path in suites {
        let markdown = fs::read_to_string(&path).expect("a suite can be read");
        let topic = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if update_expectations() {
            update(&path, &markdown);
        }
        let mut names = BTreeMap::new();
        for case in cases(&markdown) {
            let repeats = names.entry(case.name.clone()).or_insert(0);
            *repeats += 1;
            let twice = *repeats > 1;
            let name = format!("{topic}: {}", case.name);
            let markers = case.files.iter().flat_map(|file| strip(&file.text).markers);
            expected.insert(name.clone(), markers.map(|marker| marker.severity).collect());
            let place = format!("tests/defects/{topic}.md:{}", case.line + 1);
            trials.push(Trial::test(name, move || {
                if twice {
                    return Err(Failed::from(format!("{place}: another case has this name")));
                }
                run(&case, &place)
            }));
        }
    }
    trials.push(Trial::test("each rule of the language has its cases", move || rules(&expected)));
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// Holds `tests/rules.md` against the cases: each rule names some that it accepts and some that it refuses.
fn rules(expected: &BTreeMap<String, Vec<Severity>>) -> Result<(), Failed> {
    let text = fs::read_to_string(root().join("tests/rules.md"))?;
    let mut wrong = String::new();
    let mut rules = 0;
    for line in text.lines().filter(|line| line.starts_with("| ")) {
        // A bar of the rule's own is escaped.
        let line = line.replace("\\|", "");
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let &[rule, accepts, refuses] = cells.as_slice() else {
            let _ = writeln!(wrong, "no rule with two cells of cases: {line}");
            continue;
        };
        if rule == "rule" || rule.starts_with("---") {
            continue;
        }
        rules += 1;
        for (cell, is_refused) in [(accepts, false), (refuses, true)] {
            for case in cell.split("<br>") {
                let _ = match expected.get(case) {
                    None => writeln!(wrong, "{rule}: there is no case `{case}`"),
                    Some(severities) if is_refused && severities.is_empty() => {
                        writeln!(wrong, "{rule}: `{case}` refuses nothing")
                    }
                    Some(severities) if !is_refused && severities.contains(&Severity::Error) => {
                        writeln!(wrong, "{rule}: `{case}` has an error")
                    }
                    Some(_) => Ok(()),
                };
            }
        }
    }
    if rules == 0 {
        wrong.push_str("tests/rules.md has no rule");
    }
    if wrong.is_empty() { Ok(()) } else { Err(wrong.into()) }
}

/// Judges a case, and says what differs from its markers.
fn run(case: &Case, place: &str) -> Result<(), Failed> {
    if case.files.is_empty() {
        return Err(format!("{place}: the case has no ```yaml block").into());
    }
    let marked: Vec<Marked> = case.files.iter().map(|file| strip(&file.text)).collect();
    let found = judge(case.files.iter().zip(&marked).map(|(file, marked)| (file.name.as_str(), marked.text.as_str())));
    let with_unreached = expects_unreached(&marked);

    let mut report = String::new();
    for (file, marked) in case.files.iter().zip(&marked) {
        let mut found: Vec<&Found> = here(&found, &file.name, with_unreached).collect();
        let mut missing = Vec::new();
        for marker in &marked.markers {
            match found.iter().position(|found| found.is(marker)) {
                Some(position) => drop(found.remove(position)),
                None => missing.push(marker),
            }
        }
        if missing.is_empty() && found.is_empty() {
            continue;
        }
        let _ = writeln!(report, "{place}: {}", file.name);
        for (number, line) in marked.text.lines().enumerate() {
            let lost: Vec<_> = missing.iter().filter(|marker| marker.line == number).collect();
            let extra: Vec<_> = found.iter().filter(|found| found.line == number).collect();
            if lost.is_empty() && extra.is_empty() {
                continue;
            }
            let _ = writeln!(report, "   {line}");
            for marker in lost {
                let _ = writeln!(report, " - {}", marker.written);
            }
            for found in extra {
                let _ = writeln!(report, " + {}", found.marker());
            }
        }
        // What stands behind the last line, an empty file's defect for one.
        let count = marked.text.lines().count();
        for found in found.iter().filter(|found| found.line >= count) {
            let _ = writeln!(report, " + {}", found.marker());
        }
    }
    if report.is_empty() {
        return Ok(());
    }
    report.push_str(
        "(- expected, + found; UPDATE_EXPECT=1 cargo test -p tileops-tests --test defects rewrites the markers)",
    );
    Err(report.into())
}

fn expects_unreached(marked: &[Marked]) -> bool {
    marked.iter().flat_map(|marked| &marked.markers).any(|marker| marker.severity == Severity::Unreached)
}

fn here<'f>(found: &'f [Found], file: &'f str, with_unreached: bool) -> impl Iterator<Item = &'f Found> {
    found.iter().filter(move |f| f.file == file && (with_unreached || f.severity != Severity::Unreached))
}

/// Rewrites the markers of a suite. A marker that still holds keeps its words.
fn update(path: &Path, markdown: &str) {
    let mut lines: Vec<Option<String>> = markdown.lines().map(|line| Some(line.to_owned())).collect();
    for case in cases(markdown) {
        let marked: Vec<Marked> = case.files.iter().map(|file| strip(&file.text)).collect();
        let found = judge(case.files.iter().zip(&marked).map(|(f, m)| (f.name.as_str(), m.text.as_str())));
        let with_unreached = expects_unreached(&marked);
        for (file, marked) in case.files.iter().zip(&marked) {
            let mut markers = marked.markers.clone();
            let mut text = String::new();
            let mut write_for = |number: usize, text: &mut String| {
                for found in here(&found, &file.name, with_unreached).filter(|found| found.line == number) {
                    let line = match markers.iter().position(|marker| found.is(marker)) {
                        Some(position) => markers.remove(position).written,
                        None => found.marker(),
                    };
                    text.push_str(&line);
                    text.push('\n');
                }
            };
            let mut count = 0;
            for (number, line) in marked.text.lines().enumerate() {
                text.push_str(line);
                text.push('\n');
                write_for(number, &mut text);
                count = number + 1;
            }
            write_for(count, &mut text);
            for line in lines.iter_mut().take(file.lines.end).skip(file.lines.start) {
                *line = None;
            }
            // An empty block has no line to stand in for; its opening fence carries the text then.
            let anchor = if file.lines.is_empty() { file.lines.start - 1 } else { file.lines.start };
            if let Some(slot) = lines.get_mut(anchor) {
                *slot = match slot.take() {
                    Some(fence) if text.is_empty() => Some(fence),
                    Some(fence) => Some(format!("{fence}\n{}", text.trim_end_matches('\n'))),
                    None => Some(text.trim_end_matches('\n').to_owned()),
                };
            }
        }
    }
    let text: String = lines.into_iter().flatten().map(|line| format!("{line}\n")).collect();
    if text != markdown {
        fs::write(path, text).expect("a suite can be written");
    }
}
