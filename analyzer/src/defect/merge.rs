//! One mistake is one defect: what several places repeat is said once, with the other places beside it.

use super::{Defect, Findings, Place, codes, list};
use crate::text::TextRange;

/// Merges defects of one entry, in their total order, that say the same of one subject: in one text, and of a name that
/// nothing declares, in every text. Where `forall` is not there at all, all of its names are one mistake.
pub(crate) fn merge_repeats(findings: &mut Findings, has_forall: bool, rows: usize) {
    let mut kept: Vec<Defect> = Vec::with_capacity(findings.defects.len());
    for defect in std::mem::take(&mut findings.defects) {
        let same = |earlier: &&mut Defect| {
            earlier.code == defect.code
                && earlier.subject == defect.subject
                && said(earlier) == said(&defect)
                && (text_of(earlier) == text_of(&defect) || is_undeclared(&defect))
        };
        let mergeable = codes::OF_EXPRESSIONS.contains(&defect.code);
        match kept.iter_mut().rev().filter(|_| mergeable).find(same) {
            Some(earlier) => note(earlier, defect.range, again(&defect)),
            None => kept.push(defect),
        }
    }
    if !has_forall {
        merge_undeclared(&mut kept);
    }
    drop_explained(&mut kept);
    merge_rows(&mut kept, rows);
    findings.defects = kept;
}

/// That a type is a bare name is no second mistake where a use shows that it is one.
fn drop_explained(defects: &mut Vec<Defect>) {
    let shown: Vec<String> = defects
        .iter()
        .filter(|defect| *defect.code == codes::MISPLACED_NAME || *defect.code == codes::UNKNOWN_FIELD)
        .map(|defect| defect.message.clone())
        .collect();
    // What stands at a key that was refused, and a column of an index that nothing uses, are part of that mistake.
    let refused = [&codes::ROW_DTYPES, &codes::DTYPE_COMBOS, &codes::UNKNOWN_NAME];
    let keys: Vec<String> = defects
        .iter()
        .filter(|defect| refused.contains(&defect.code))
        .flat_map(|defect| [defect.path.clone(), format!("{}.{}", defect.path, defect.subject)])
        .filter(|path| path.contains(".dtype_cases[") || path.contains(".dtype_combos["))
        .collect();
    let unused: Vec<String> =
        defects.iter().filter(|d| *d.code == codes::UNUSED_INDEX).map(|defect| defect.subject.clone()).collect();
    defects.retain(|defect| {
        let of_key = *defect.code == codes::WRONG_FORM || *defect.code == codes::UNKNOWN_DTYPE;
        let of_unused = *defect.code == codes::DTYPE_COMBOS
            && defect.message.ends_with(&format!("the column `{}`", defect.subject));
        !(of_key && keys.contains(&defect.path) || of_unused && unused.contains(&defect.subject))
    });
    defects.retain(|defect| {
        let name = defect.path.strip_prefix("signature.params.").and_then(|path| path.strip_suffix(".type"));
        let explains = |name: &str| shown.iter().any(|m| m.starts_with(&format!("`{name}` is `{}`,", defect.subject)));
        *defect.code != codes::OPAQUE_TYPE || !name.is_some_and(explains)
    });
}

/// What every row lacks, or has too much, is one mistake of the entry.
fn merge_rows(defects: &mut Vec<Defect>, rows: usize) {
    if rows < 2 {
        return;
    }
    let of_row = |defect: &Defect| defect.path.split([']', '.']).next().unwrap_or_default().to_owned();
    let mut at = 0;
    while let Some(first) = defects.get(at) {
        at += 1;
        if *first.code != codes::ROW_KEY && *first.code != codes::ROW_DTYPES {
            continue;
        }
        let (first, path) = (first.clone(), of_row(first));
        let same = |defect: &Defect| {
            (defect.code, &defect.subject, &defect.message) == (first.code, &first.subject, &first.message)
        };
        let mut seen = vec![path];
        for defect in defects.iter().skip(at).filter(|defect| same(defect)) {
            let row = of_row(defect);
            if !seen.contains(&row) {
                seen.push(row);
            }
        }
        if seen.len() < rows {
            continue;
        }
        let mut position = 0;
        let mut others = Vec::new();
        defects.retain(|defect| {
            position += 1;
            let repeats = position > at && same(defect);
            if repeats {
                others.push(defect.range);
            }
            !repeats
        });
        if let Some(first) = defects.get_mut(at - 1) {
            others.into_iter().for_each(|range| note(first, range, "the same here".to_owned()));
        }
    }
}

/// What a defect says, less what it says of its place alone: reading an optional value as if it were passed is one mistake,
/// whatever takes it.
fn said(defect: &Defect) -> &str {
    match defect.message.split_once(", and ") {
        Some((what, _)) if *defect.code == codes::KIND_MISMATCH && what.contains("is `Maybe[") => what,
        _ => &defect.message,
    }
}

/// The text that a defect stands in; the cases of a family are one.
fn text_of(defect: &Defect) -> &str {
    defect.path.split(".cases[").next().unwrap_or_default()
}

/// Whether the defect says of a name that the entry does not declare it.
fn is_undeclared(defect: &Defect) -> bool {
    *defect.code == codes::UNKNOWN_NAME && defect.message == format!("`{}` is not declared", defect.subject)
}

fn again(defect: &Defect) -> String {
    match is_undeclared(defect) {
        true => format!("`{}` is read here too", defect.subject),
        false => "the same here".to_owned(),
    }
}

fn note(defect: &mut Defect, range: TextRange, message: String) {
    if range != defect.range && !defect.related.iter().any(|related| related.place == Place::Here(range)) {
        defect.related(range, message);
    }
}

/// Several undeclared names of an entry without a `forall` lack that section.
fn merge_undeclared(defects: &mut Vec<Defect>) {
    let names: Vec<String> = defects.iter().filter(|d| is_undeclared(d)).map(|d| d.subject.clone()).collect();
    if names.len() < 2 {
        return;
    }
    let mut others = Vec::new();
    let mut at = None;
    let mut position = 0;
    defects.retain(|defect| {
        let undeclared = is_undeclared(defect);
        if undeclared && at.is_some() {
            others.push((defect.range, defect.subject.clone(), defect.related.clone()));
            return false;
        }
        if undeclared {
            at = Some(position);
        }
        position += 1;
        true
    });
    let Some(first) = at.and_then(|at| defects.get_mut(at)) else { return };
    first.message = format!("{} are not declared: the signature has no `forall`", list(&names, "and"));
    first.help("write `forall: {…}` with each of them and its kind: `Dim`, `Shape`, `DType[…]` or `Seq[Int]`");
    for (range, name, mut related) in others {
        note(first, range, format!("`{name}` is read here"));
        first.related.append(&mut related);
    }
}
