//! Holds the documentation of codes to what the analyzer does: both examples of every page are run, every code has a
//! case in the Markdown suite, and `docs/defects` is what the registry says. `UPDATE_EXPECT=1` writes `docs/defects`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::process::ExitCode;

use libtest_mimic::{Arguments, Failed, Trial};
use tileops_analyzer::defect::{Code, Mend, all_codes};
use tileops_tests::{Found, Severity, cases, fenced_files, judge, root, strip, update_expectations};

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let covered = covered_codes();
    let mut trials = vec![
        Trial::test("names are unique and kebab-case", names_are_well_formed),
        Trial::test("docs/defects is fresh", generated_pages_are_fresh),
    ];
    for (_, code) in all_codes() {
        trials.push(Trial::test(format!("{}: the wrong example", code.name), || wrong_example(code)));
        trials.push(Trial::test(format!("{}: the right example", code.name), || right_example(code)));
        let has_case = covered.contains(code.name);
        trials.push(Trial::test(format!("{}: a case in tests/defects", code.name), move || {
            if has_case { Ok(()) } else { Err("no case of tests/defects/*.md marks this code".into()) }
        }));
    }
    libtest_mimic::run(&arguments, trials).exit_code()
}

fn names_are_well_formed() -> Result<(), Failed> {
    let mut seen = BTreeSet::new();
    for (_, code) in all_codes() {
        let well_formed = !code.name.is_empty() && code.name.chars().all(|c| c.is_ascii_lowercase() || c == '-');
        if !well_formed || !seen.insert(code.name) {
            return Err(format!("`{}` is not a kebab-case name of its own", code.name).into());
        }
        if code.summary.is_empty() || code.summary.ends_with('.') || code.summary.contains('\n') {
            return Err(format!("`{}`: a summary is one line without a full stop", code.name).into());
        }
    }
    Ok(())
}

fn example(code: &Code, heading: &str) -> Result<Vec<Found>, Failed> {
    let files = fenced_files(code.docs, heading);
    if files.is_empty() {
        return Err(format!("the page of `{}` has no ```yaml block under `## {heading}`", code.name).into());
    }
    let mut found = judge(files.iter().map(|file| (file.name.as_str(), file.text.as_str())));
    found.retain(|found| found.severity != Severity::Unreached);
    Ok(found)
}

fn describe(found: &[Found]) -> String {
    found.iter().fold(String::new(), |mut text, found| {
        let _ = write!(text, "\n  {}:{}: {}: {}", found.file, found.line + 1, found.head(), found.message);
        text
    })
}

fn wrong_example(code: &Code) -> Result<(), Failed> {
    let found = example(code, "Wrong")?;
    if !found.is_empty() && found.iter().all(|found| found.code == code.name) {
        return Ok(());
    }
    Err(format!("the wrong example of `{}` must have that defect and no other; found:{}", code.name, describe(&found))
        .into())
}

fn right_example(code: &Code) -> Result<(), Failed> {
    let found = example(code, "Right")?;
    if found.is_empty() {
        return Ok(());
    }
    Err(format!("the right example of `{}` must be clean; found:{}", code.name, describe(&found)).into())
}

/// The codes that some case of the Markdown suite marks.
fn covered_codes() -> BTreeSet<String> {
    let mut covered = BTreeSet::new();
    for entry in fs::read_dir(root().join("tests/defects")).expect("the suite's folder can be listed").flatten() {
        let Ok(markdown) = fs::read_to_string(entry.path()) else { continue };
        for file in cases(&markdown).iter().flat_map(|case| &case.files) {
            covered.extend(strip(&file.text).markers.into_iter().map(|marker| marker.code));
        }
    }
    covered
}

/// Every file of `docs/defects`, by its name.
fn pages() -> BTreeMap<String, String> {
    let mut pages = BTreeMap::new();
    let mut index = String::from(
        "# Defects\n\nEvery code that `tileops-lsp --check` can report, by what it judges. `tileops-lsp --explain CODE` \
         prints a page.\n\nGenerated from `analyzer/src/defect/codes`; edit there, then run\n\
         `UPDATE_EXPECT=1 cargo test -p tileops-tests --test docs`.\n",
    );
    let mut last = "";
    for (group, code) in all_codes() {
        if group != last {
            let _ = write!(index, "\n## {group}\n\n| code | severity | fix | summary |\n| --- | --- | --- | --- |\n");
            last = group;
        }
        let fix = if let Mend::Fix(_) = code.mend { "yes" } else { "" };
        let (name, severity, summary) = (code.name, code.severity.name(), code.summary);
        let _ = writeln!(index, "| [`{name}`]({name}.md) | {severity} | {fix} | {summary} |");
        pages.insert(format!("{}.md", code.name), code.page());
    }
    pages.insert("README.md".to_owned(), index);
    pages
}

fn generated_pages_are_fresh() -> Result<(), Failed> {
    let folder = root().join("docs/defects");
    let pages = pages();
    let mut stale = Vec::new();
    for (name, page) in &pages {
        let path = folder.join(name);
        let current = fs::read_to_string(&path).ok().map(|text| text.replace("\r\n", "\n"));
        if current.as_deref() != Some(page) {
            if update_expectations() {
                fs::create_dir_all(&folder)?;
                fs::write(&path, page)?;
            } else {
                stale.push(name.clone());
            }
        }
    }
    for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if !pages.contains_key(&name) {
            if update_expectations() {
                fs::remove_file(entry.path())?;
            } else {
                stale.push(name);
            }
        }
    }
    if stale.is_empty() {
        return Ok(());
    }
    Err(format!(
        "docs/defects is not what the registry says: {}; run UPDATE_EXPECT=1 cargo test -p tileops-tests --test docs",
        stale.join(", ")
    )
    .into())
}
