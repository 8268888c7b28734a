//! What a file, or several entries of it, must agree on: documents, families, ops, suppression comments.

use super::super::edits::{edit, insert_pair, line_start, line_stop, next_line, rewrite, slice, span};
use super::super::{Applicability, Candidate, family_of_file, within};
use super::keys::behind;
use super::shown;
use crate::db::AnalysisDb;
use crate::defect::{Defect, codes, nearest};
use crate::ide::Edit;
use crate::ide::site::Site;
use crate::model::schema;
use crate::text::TextSize;
use crate::workspace::{Located, slice as slice_of, stem};

/// What may mend a defect of a file, in the file's offsets.
pub(super) fn rule(db: &AnalysisDb, path: &str, located: &Located, site: Option<&Site<'_>>) -> Vec<Candidate> {
    let Some(text) = db.text(path) else { return Vec::new() };
    let defect = &located.defect;
    let code = defect.code;
    if code == &codes::YAML_DOCUMENT {
        return document(&text, defect);
    }
    if code == &codes::UNUSED_SUPPRESSION || code == &codes::BAD_SUPPRESSION {
        return suppression(&text, defect);
    }
    let Some(site) = site else { return Vec::new() };
    let start = site.range.start();
    let Some(local) = within(defect, start) else { return Vec::new() };
    let mut candidates = if code == &codes::FAMILY_FILE {
        family(db, site, &local)
    } else if code == &codes::MISSING_KEY {
        missing_family(db, site)
    } else if code == &codes::DUPLICATE_OP {
        return repeated_op(db, site, &text);
    } else {
        Vec::new()
    };
    for edit in candidates.iter_mut().flat_map(|candidate| &mut candidate.edits) {
        edit.range += start;
    }
    candidates
}

/// Removes a marker of documents, or a directive.
fn document(text: &str, defect: &Defect) -> Vec<Candidate> {
    let at = usize::from(defect.range.start());
    let (start, stop) = (line_start(text, at), line_stop(text, at));
    let line = text.get(start..stop).unwrap_or("");
    // Below `---` is another document: that its entries belong to the first is a guess.
    let sure = if defect.subject == "---" { Applicability::Unsafe } else { Applicability::Safe };
    let marker = ["---", "..."].into_iter().find(|marker| line.starts_with(*marker));
    if let Some(marker) = marker
        && line.len() > marker.len()
        && !line.get(marker.len()..).is_some_and(|rest| rest.trim_start().starts_with('#'))
    {
        return Vec::new();
    }
    let title = format!("Remove {}", shown(line));
    vec![Candidate::new(title, vec![edit(span(start, next_line(text, at)), "")], sure)]
}

/// Writes the family of the file.
fn family(db: &AnalysisDb, site: &Site<'_>, defect: &Defect) -> Vec<Candidate> {
    let own = stem(&site.path).to_owned();
    let shared = family_of_file(db, &site.path, site.range.start());
    let names: Vec<String> = shared.iter().map(|family| family.to_string()).chain([own]).collect();
    let near = nearest(&defect.subject, names.iter().map(String::as_str)).map(str::to_owned);
    let mut candidates = Vec::new();
    for name in names {
        // A typo is one; an entry of another family may as well be in the wrong file.
        let sure = if near.as_ref() == Some(&name) { Applicability::Safe } else { Applicability::Unsafe };
        let edits = rewrite(site.text(), &site.tree, &[(defect.range, name.clone())]);
        let title = super::replace_title(&defect.subject, &name);
        candidates.extend(edits.map(|edits| Candidate::new(title, edits, sure)));
        if candidates.len() == 1 {
            break;
        }
    }
    candidates
}

/// Adds the family that the others in the file have, or the one that the file is called by.
fn missing_family(db: &AnalysisDb, site: &Site<'_>) -> Vec<Candidate> {
    let (name, sure) = match family_of_file(db, &site.path, site.range.start()) {
        Some(family) => (family.to_string(), Applicability::Safe),
        None => (stem(&site.path).to_owned(), Applicability::Unsafe),
    };
    let behind = behind(&schema::ENTRY, &site.tree.value, "family");
    let edit = insert_pair(site.text(), &site.tree.value, behind, "family", &name);
    edit.map(|edit| Candidate::new(format!("Add `family: {name}`"), vec![edit], sure)).into_iter().collect()
}

/// Removes an entry that is there word by word already.
fn repeated_op(db: &AnalysisDb, site: &Site<'_>, file: &str) -> Vec<Candidate> {
    let own = words(site.text());
    let is_twice = db.siblings(&site.path).iter().any(|path| {
        let Some(text) = db.text(path) else { return false };
        db.entries(path).iter().any(|(_, range)| {
            (*range != site.range || **path != *site.path)
                && slice_of(&text, *range).is_some_and(|other| words(other) == own)
        })
    });
    if !is_twice {
        return Vec::new();
    }
    let mut whole = site.range;
    if whole.end() == TextSize::of(file) && !file.ends_with(['\n', '\r']) {
        // The last line of the file has no end, and the one above is the last now.
        let above = file.get(..usize::from(whole.start())).unwrap_or("").trim_end_matches(['\n', '\r']);
        whole = whole.cover(span(above.len(), above.len()));
    }
    vec![Candidate::new("Remove the repeated entry", vec![edit(whole, "")], Applicability::Safe)]
}

fn words(text: &str) -> Vec<&str> {
    text.split(['\n', '\r'])
        .filter(|line| !line.trim_start().starts_with('#'))
        .flat_map(str::split_whitespace)
        .collect()
}

/// Mends a suppression comment, or takes what it does not need out of it.
fn suppression(text: &str, defect: &Defect) -> Vec<Candidate> {
    let sure = Applicability::Safe;
    let written = slice(text, defect.range);
    let mut candidates = Vec::new();
    if let Some(instead) = &defect.instead {
        let title = super::replace_title(written, &instead.text);
        candidates.push(Candidate::new(title, vec![edit(instead.range, instead.text.clone())], sure));
    }
    if written.starts_with('#') {
        // The comment as a whole: its brackets may be open.
        if written.contains('[') && !written.contains(']') {
            let end = usize::from(defect.range.end());
            candidates.push(Candidate::new("Close the brackets", vec![edit(span(end, end), "]")], sure));
        }
        let at = usize::from(defect.range.start());
        candidates.push(Candidate::new("Remove the comment", vec![without_comment(text, at)], Applicability::Unsafe));
        return candidates;
    }
    if defect.instead.is_none() {
        let title = match written {
            "" => "Remove the comma".to_owned(),
            code => format!("Remove {} from the comment", shown(code)),
        };
        candidates.extend(without_code(text, defect).map(|edit| Candidate::new(title, vec![edit], sure)));
    }
    candidates
}

/// Takes one code out of a comment; with the last one goes the comment.
fn without_code(text: &str, defect: &Defect) -> Option<Edit> {
    let (start, end) = (usize::from(defect.range.start()), usize::from(defect.range.end()));
    let line = line_start(text, start);
    let open = line + text.get(line..start)?.rfind('[')?;
    let close = end + text.get(end..line_stop(text, end))?.find(']')?;
    let inside = text.get(open + 1..close)?;
    if inside.split(',').filter(|code| !code.trim().is_empty()).count() <= usize::from(!defect.range.is_empty()) {
        let comment = text.get(line..open)?.rfind('#')?;
        return Some(without_comment(text, line + comment));
    }
    // The part between two commas that the code is in, with one of the commas.
    let before = text.get(open + 1..start)?.rfind(',').map(|at| open + 1 + at);
    let behind = text.get(end..close)?.find(',').map(|at| end + at);
    let (from, to) = match (before, behind) {
        (Some(before), Some(behind)) => (before, behind),
        (Some(before), None) => (before, close),
        (None, Some(behind)) => {
            let rest = text.get(behind + 1..close)?;
            (open + 1, behind + 1 + (rest.len() - rest.trim_start().len()))
        }
        (None, None) => return None,
    };
    Some(edit(span(from, to), ""))
}

/// Removes the comment that starts at `at`: its line, where it has one of its own.
fn without_comment(text: &str, at: usize) -> Edit {
    let line = line_start(text, at);
    let before = text.get(line..at).unwrap_or("");
    if before.trim_start_matches('\u{feff}').trim().is_empty() {
        let start = line + if before.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
        return edit(span(start, next_line(text, at)), "");
    }
    edit(span(line + before.trim_end().len(), line_stop(text, at)), "")
}
