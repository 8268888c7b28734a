//! Runs every case of `tests/fixes/*.md`, with every line end, and tries every fix that is offered for the cases of
//! `tests/defects` and the wrong examples of the codes' pages. `UPDATE_EXPECT=1` rewrites what a case is expected to give.
//!
//! A case's first blocks are a manifest. Behind them stand the fixes that are offered, one a line, and what becomes of the
//! first file when all safe ones are made (`fixed`), and all of them (`fixed unsafely`), where that is another text.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::ExitCode;

use libtest_mimic::{Arguments, Failed, Trial};
use tileops_analyzer::db::AnalysisDb;
use tileops_analyzer::defect::{Mend, all_codes};
use tileops_analyzer::fix::{self, Applicability, Fix, apply, fix_all};
use tileops_analyzer::roofline::Formulas;
use tileops_analyzer::workspace::Located;
use tileops_tests::{Case, File, cases, fenced_files, root, strip, update_expectations};

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let mut trials = vec![Trial::test("every code that says so has a fix in some case, and no other", table_is_true)];
    if update_expectations() {
        suites("tests/fixes").iter().for_each(|(_, path, markdown)| update(path, markdown));
    }
    for (topic, _, markdown) in suites("tests/fixes") {
        for case in cases(&markdown) {
            let place = format!("tests/fixes/{topic}.md:{}", case.line + 1);
            trials.push(Trial::test(format!("{topic}: {}", case.name), move || {
                run(&markdown_of(&place)?, &case, &place)
            }));
        }
    }
    for (topic, _, markdown) in suites("tests/defects") {
        for case in cases(&markdown) {
            let files: Vec<File> =
                case.files.iter().map(|file| File { text: strip(&file.text).text, ..file.clone() }).collect();
            trials.push(Trial::test(format!("every fix of {topic}: {}", case.name), move || hold(&files)));
        }
    }
    for (_, code) in all_codes() {
        let files = fenced_files(code.docs, "Wrong");
        trials.push(Trial::test(format!("every fix of the wrong example of {}", code.name), move || hold(&files)));
    }
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// The suites of a folder: topic, path, text.
fn suites(folder: &str) -> Vec<(String, std::path::PathBuf, String)> {
    let mut suites: Vec<_> = fs::read_dir(root().join(folder))
        .expect("the suite's folder can be listed")
        .map(|entry| entry.expect("an item of the suite's folder can be read").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "md"))
        .collect();
    suites.sort();
    let read = |path: std::path::PathBuf| {
        let topic = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let text = fs::read_to_string(&path).expect("a suite can be read");
        (topic, path, text)
    };
    suites.into_iter().map(read).collect()
}

fn markdown_of(place: &str) -> Result<String, Failed> {
    let path = place.rsplit_once(':').map_or(place, |(path, _)| path);
    Ok(fs::read_to_string(root().join(path))?)
}

/// The functions that the formula sources of cases define.
const FORMULAS: [&str; 2] = ["demo_roofline", "other_roofline"];

fn database<'f>(files: impl IntoIterator<Item = (&'f str, &'f str)>) -> AnalysisDb {
    let mut db = AnalysisDb::default();
    let names = Some(FORMULAS.map(str::to_owned).into());
    db.set_formulas(Formulas { names, ..Formulas::default() });
    for (name, text) in files {
        db.set_file(name, text, true);
    }
    db
}

fn sources(files: &[File]) -> Vec<&File> {
    files.iter().filter(|file| !file.name.starts_with("fixed")).collect()
}

fn of<'f>(files: &[&'f File]) -> Vec<(&'f str, &'f str)> {
    files.iter().map(|file| (file.name.as_str(), file.text.as_str())).collect()
}

/// What a case gives: the fixes offered, the text when the safe ones are made, and when all are.
fn outcome(files: &[(&str, &str)]) -> (Vec<String>, String, String) {
    let Some((first, text)) = files.first() else { return Default::default() };
    let db = database(files.iter().copied());
    let mut offered = Vec::new();
    for (located, fixes) in fix::fixes(&db, first, &mut |_| true) {
        for fix in fixes {
            let sure = match fix.applicability {
                Applicability::Safe => "safe",
                Applicability::Unsafe => "unsafe",
            };
            offered.push(format!("- `{}`, {sure}: {}", located.defect.code.name, fix.title));
        }
    }
    let fixed = |least| {
        let mut db = database(files.iter().copied());
        fix_all(&mut db, first, true, least, &mut |_| true)
            .map_or_else(|| (*text).to_owned(), |done| done.text.to_string())
    };
    (offered, fixed(Applicability::Safe), fixed(Applicability::Unsafe))
}

/// The bullets of a case.
fn bullets(markdown: &str, case: &Case) -> Vec<String> {
    let mut fenced = false;
    let mut found = Vec::new();
    for line in markdown.lines().skip(case.line + 1) {
        if line.starts_with("```") {
            fenced = !fenced;
        } else if !fenced && line.starts_with("## ") {
            break;
        } else if !fenced && line.starts_with("- ") {
            found.push(line.to_owned());
        }
    }
    found
}

fn run(markdown: &str, case: &Case, place: &str) -> Result<(), Failed> {
    let files = of(&sources(&case.files));
    let (offered, safe, all) = outcome(&files);
    let original = files.first().map_or("", |(_, text)| text);
    let expected = |name: &str, or: &str| {
        case.files.iter().find(|file| file.name == name).map_or_else(|| or.to_owned(), |file| file.text.clone())
    };
    let expected_safe = expected("fixed", original);
    let expected_all = expected("fixed unsafely", &expected_safe);
    let mut report = String::new();
    if offered != bullets(markdown, case) {
        let _ = writeln!(report, "{place}: these fixes are offered:\n{}", offered.join("\n"));
    }
    if safe != expected_safe {
        let _ = writeln!(report, "{place}: with the safe fixes it is\n{safe}");
    }
    if all != expected_all {
        let _ = writeln!(report, "{place}: with all fixes it is\n{all}");
    }
    // The same with other line ends, and without the last one.
    for end in ["\r\n", "\r"] {
        let other: Vec<(&str, String)> = files.iter().map(|(name, text)| (*name, text.replace('\n', end))).collect();
        let other: Vec<(&str, &str)> = other.iter().map(|(name, text)| (*name, text.as_str())).collect();
        let (_, other_safe, other_all) = outcome(&other);
        for (what, text, is) in [("safe", &safe, other_safe), ("all", &all, other_all)] {
            if text.replace('\n', end) != is {
                let _ = writeln!(report, "{place}: with {what} fixes and {end:?} for line ends it is\n{is:?}");
            }
        }
    }
    let open: Vec<(&str, &str)> = files.iter().map(|(name, text)| (*name, text.trim_end_matches('\n'))).collect();
    let (_, open_safe, open_all) = outcome(&open);
    for (what, text, is) in [("safe", &safe, open_safe), ("all", &all, open_all)] {
        if text.trim_end_matches('\n') != is {
            let _ = writeln!(report, "{place}: with {what} fixes and no line end at the end it is\n{is:?}");
        }
    }
    if report.is_empty() {
        return Ok(());
    }
    report.push_str("(UPDATE_EXPECT=1 cargo test -p tileops-tests --test fixes rewrites what is expected)");
    Err(report.into())
}

/// Rewrites a suite from what its cases give.
fn update(path: &Path, markdown: &str) {
    let lines: Vec<&str> = markdown.lines().collect();
    let cases = cases(markdown);
    let mut text = String::new();
    let head = cases.first().map_or(lines.len(), |case| case.line);
    for line in lines.iter().take(head) {
        let _ = writeln!(text, "{line}");
    }
    for case in &cases {
        let sources = sources(&case.files);
        let end = sources.iter().map(|file| file.lines.end + 1).max().unwrap_or(case.line + 1);
        for line in lines.iter().take(end).skip(case.line) {
            let _ = writeln!(text, "{line}");
        }
        let files = of(&sources);
        let (offered, safe, all) = outcome(&files);
        if !offered.is_empty() {
            let _ = writeln!(text, "\n{}", offered.join("\n"));
        }
        let original = files.first().map_or("", |(_, text)| text);
        let close = |text: &str| if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
        if safe != original {
            let _ = writeln!(text, "\n```yaml fixed\n{safe}{}```", close(&safe));
        }
        if all != safe {
            let _ = writeln!(text, "\n```yaml fixed unsafely\n{all}{}```", close(&all));
        }
        text.push('\n');
    }
    let text = format!("{}\n", text.trim_end());
    if text != markdown {
        fs::write(path, text).expect("a suite can be written");
    }
}

type Tally = BTreeMap<(String, String, String), usize>;

fn tally(db: &AnalysisDb, files: &[File]) -> Tally {
    let mut tally = Tally::new();
    for file in files {
        for Located { defect, .. } in fix::report(db, &file.name).into_iter().flat_map(|report| report.defects) {
            // What stands behind an item that goes moves up.
            let path: String = defect.path.chars().filter(|c| !c.is_ascii_digit()).collect();
            *tally.entry((defect.code.name.to_owned(), path, defect.subject)).or_default() += 1;
        }
    }
    tally
}

/// Every fix that is offered for a manifest takes its defect away, brings none and leaves everything else as it is; all of
/// them together come to an end, at which there is nothing left to do.
fn hold(files: &[File]) -> Result<(), Failed> {
    let texts = || files.iter().map(|file| (file.name.as_str(), file.text.as_str()));
    let db = database(texts());
    let before = tally(&db, files);
    for file in files {
        for (located, fixes) in fix::fixes(&db, &file.name, &mut |_| true) {
            if let Mend::None(_) = located.defect.code.mend {
                return Err(format!("`{}` says that it has no fix", located.defect.code.name).into());
            }
            for fix in fixes {
                try_fix(file, &texts().collect::<Vec<_>>(), files, &before, &fix)
                    .map_err(|why| format!("{}: {}: {why}", located.defect.code.name, fix.title))?;
            }
        }
    }
    for least in [Applicability::Safe, Applicability::Unsafe] {
        let mut db = database(texts());
        for file in files {
            let Some(first) = fix_all(&mut db, &file.name, true, least, &mut |_| true) else { continue };
            let again = fix_all(&mut db, &file.name, true, least, &mut |_| true);
            if let Some(again) = again.filter(|again| again.text != first.text) {
                return Err(format!("fixed again it is another text:\n{}\nthan\n{}", again.text, first.text).into());
            }
        }
        let after = tally(&db, files);
        if let Some(((code, path, subject), _)) =
            after.iter().find(|(key, count)| **count > before.get(*key).copied().unwrap_or(0))
        {
            return Err(format!("all {least:?} fixes together bring {code} at `{path}` about `{subject}`").into());
        }
    }
    Ok(())
}

fn try_fix(file: &File, texts: &[(&str, &str)], files: &[File], before: &Tally, fix: &Fix) -> Result<(), String> {
    if fix.title.is_empty() || fix.title.contains('\n') || fix.edits.is_empty() {
        return Err("it has no title of one line, or no edit".to_owned());
    }
    let ordered = fix.edits.windows(2).all(|pair| pair[0].range.end() <= pair[1].range.start());
    if !ordered {
        return Err("its edits overlap".to_owned());
    }
    let fixed = apply(&file.text, &fix.edits).ok_or("its edits leave the text")?;
    let mut db = database(texts.iter().copied());
    db.set_file(&file.name, &fixed, true);
    let after = tally(&db, files);
    let (code, subject) = (fix.mends.code.name, &fix.mends.subject);
    let count = |tally: &Tally| {
        tally.iter().filter(|((c, _, s), _)| c == code && s == subject).map(|(_, count)| count).sum::<usize>()
    };
    if count(&after) >= count(before) {
        return Err(format!("the defect is still there in\n{fixed}"));
    }
    match after.iter().find(|(key, count)| **count > before.get(*key).copied().unwrap_or(0)) {
        Some(((code, path, subject), _)) => Err(format!("it brings {code} at `{path}` about `{subject}` in\n{fixed}")),
        None => Ok(()),
    }
}

/// The registry says of each code whether it has a fix: some case of `tests/fixes` fixes each that has.
fn table_is_true() -> Result<(), Failed> {
    let mut fixed = BTreeSet::new();
    for (_, _, markdown) in suites("tests/fixes") {
        for case in cases(&markdown) {
            let codes =
                bullets(&markdown, &case).into_iter().filter_map(|line| Some(line.split('`').nth(1)?.to_owned()));
            fixed.extend(codes);
        }
    }
    let wrong: Vec<&str> = all_codes()
        .filter(|(_, code)| matches!(code.mend, Mend::Fix(_)) != fixed.contains(code.name))
        .map(|(_, code)| code.name)
        .collect();
    if wrong.is_empty() {
        Ok(())
    } else {
        Err(format!("what these codes say of fixes is not so: {}", wrong.join(", ")).into())
    }
}
