//! Workload rows: keys too many and too few, what is passed, dtypes, labels.

use super::super::edits::{
    Held, at_path, insert_pair, items, pairs, remove_item, remove_pair, rewrite, slice, value_of, way,
};
use super::super::{Applicability, Candidate};
use super::keys::behind;
use super::shown;
use crate::check::SymbolRole;
use crate::defect::Defect;
use crate::ide::site::Site;
use crate::lang::{DType, Kind};
use crate::model::{IndexKind, schema};
use crate::syntax::Node;

/// The row that a path is in.
fn row_of<'s>(site: &'s Site<'_>, path: &str) -> Option<&'s Node> {
    let end = path.find(']')? + 1;
    at_path(&site.tree, path.get(..end)?)
}

/// Removes a key that the call does not need; adds one that it does.
pub(super) fn row_key(site: &Site<'_>, defect: &Defect) -> Vec<Candidate> {
    let Some(row) = row_of(site, &defect.path) else { return Vec::new() };
    let name = &defect.subject;
    let symbol = site.analysis.as_ref().and_then(|analysis| analysis.scope.get(name));
    if let Some(at) = pairs(row).iter().position(|pair| pair.key.range.contains_range(defect.range)) {
        let sure = match symbol.map(|symbol| symbol.role) {
            Some(SymbolRole::Index) if !matches!(symbol.map(|s| &s.kind), Some(Kind::DType(_))) => Applicability::Safe,
            Some(SymbolRole::Let) => Applicability::Safe,
            _ => Applicability::Unsafe,
        };
        let edit = remove_pair(site.text(), &site.tree, row, at);
        return edit
            .map(|edit| Candidate::new(format!("Remove {}", shown(name)), vec![edit], sure))
            .into_iter()
            .collect();
    }
    let Some(symbol) = symbol else { return Vec::new() };
    // What all other rows say, then what any kind of it can be.
    let stated = stated_elsewhere(site, row, |other| value_of(other, name));
    let values = stated.into_iter().chain(samples(&symbol.kind));
    values.filter_map(|value| insert(site, row, name, &value)).map(Candidate::last_resort).collect()
}

/// What the other rows say, where all that say it say the same.
fn stated_elsewhere<'s>(site: &'s Site<'_>, row: &Node, read: impl Fn(&'s Node) -> Option<&'s Node>) -> Option<String> {
    let rows = at_path(&site.tree, "workloads")?;
    let others = items(rows).iter().filter(|other| !std::ptr::eq(*other, row));
    let mut written = others.filter_map(read).map(|node| slice(site.text(), node.range).trim_end());
    let first = written.next()?;
    (written.all(|other| other == first) && !first.contains(['\n', '\r'])).then(|| first.to_owned())
}

/// Values of a kind, the plainest first.
fn samples(kind: &Kind) -> Vec<String> {
    match kind {
        Kind::Dim | Kind::Int => vec!["1".to_owned(), "16".to_owned()],
        Kind::Bool => vec!["false".to_owned(), "true".to_owned()],
        Kind::Shape => vec!["[16, 16]".to_owned(), "[16]".to_owned()],
        Kind::Seq(..) => vec!["[1, 2]".to_owned()],
        Kind::Enum(literals) => literals.iter().map(ToString::to_string).collect(),
        Kind::DType(set) => set.iter().map(|dtype| dtype.name().to_owned()).take(1).collect(),
        Kind::Maybe(_) => vec!["null".to_owned()],
        _ => Vec::new(),
    }
}

/// Adds a parameter or an index before the keys that every row can have.
fn insert(site: &Site<'_>, row: &Node, name: &str, value: &str) -> Option<Candidate> {
    let own = |pair: &crate::syntax::Pair| pair.key.as_str().is_some_and(|key| schema::ROW.key(key).is_none());
    let behind = pairs(row).iter().rposition(own);
    let edit = insert_pair(site.text(), row, behind, name, value)?;
    Some(Candidate::new(format!("Add {}", shown(&format!("{name}: {value}"))), vec![edit], Applicability::Unsafe))
}

/// Takes a name out of `some`.
pub(super) fn row_some(site: &Site<'_>, defect: &Defect) -> Vec<Candidate> {
    let way = way(&site.tree, defect.range);
    let Some(Held::Item(list, names, at)) = way.last() else { return Vec::new() };
    let is_tensor = site.analysis.as_ref().is_some_and(|analysis| {
        analysis.scope.get(&defect.subject).is_some_and(|symbol| matches!(symbol.role, SymbolRole::Tensor(_)))
    });
    // What is passed anyway, or named twice, says nothing in `some`.
    let sure = if is_tensor { Applicability::Safe } else { Applicability::Unsafe };
    let edit = match names.len() {
        1 => row_of(site, &defect.path).and_then(|row| {
            let at = pairs(row).iter().position(|pair| pair.key.as_str() == Some("some"))?;
            remove_pair(site.text(), &site.tree, row, at)
        }),
        _ => remove_item(site.text(), &site.tree, list, *at),
    };
    edit.map(|edit| Candidate::new(format!("Remove {} from `some`", shown(&defect.subject)), vec![edit], sure))
        .into_iter()
        .collect()
}

/// Assigns exactly the dtypes of the call.
pub(super) fn row_dtypes(site: &Site<'_>, defect: &Defect) -> Vec<Candidate> {
    let Some(row) = row_of(site, &defect.path) else { return Vec::new() };
    let mut candidates = Vec::new();
    let text = site.text();
    let Some(cases) = value_of(row, "dtype_cases") else {
        let behind = behind(&schema::ROW, row, "dtype_cases").or_else(|| pairs(row).len().checked_sub(1));
        let mut values: Vec<String> =
            stated_elsewhere(site, row, |other| value_of(other, "dtype_cases")).into_iter().collect();
        let example = assignments(site, &defect.subject);
        values.extend(example.map(|case| format!("[{{{}}}]", case.join(", "))));
        for value in values {
            let title = format!("Add {}", shown(&format!("dtype_cases: {value}")));
            let edit = insert_pair(text, row, behind, "dtype_cases", &value);
            candidates.extend(edit.map(|edit| Candidate::new(title, vec![edit], Applicability::Unsafe)));
        }
        return candidates;
    };
    if defect.subject == "dtype_cases" && defect.path.ends_with("dtype_cases") {
        let at = pairs(row).iter().position(|pair| pair.key.as_str() == Some("dtype_cases"));
        let edit = at.and_then(|at| remove_pair(text, &site.tree, row, at));
        candidates.extend(edit.map(|edit| Candidate::new("Remove `dtype_cases`", vec![edit], Applicability::Safe)));
        return candidates;
    }
    let case = items(cases).iter().position(|case| case.range.contains_range(defect.range));
    let Some((at, case)) = case.and_then(|at| Some((at, items(cases).get(at)?))) else { return candidates };
    if defect.subject == "dtype_cases" {
        let edit = remove_item(text, &site.tree, cases, at);
        let title = "Remove the repeated case";
        candidates.extend(edit.map(|edit| Candidate::new(title, vec![edit], Applicability::Safe)));
    } else if let Some(at) = pairs(case).iter().position(|pair| pair.key.range.contains_range(defect.range)) {
        let is_index = site
            .analysis
            .as_ref()
            .is_some_and(|analysis| analysis.scope.get(&defect.subject).is_some_and(|s| s.role == SymbolRole::Index));
        let sure = if is_index { Applicability::Safe } else { Applicability::Unsafe };
        let edit = remove_pair(text, &site.tree, case, at);
        candidates
            .extend(edit.map(|edit| Candidate::new(format!("Remove {}", shown(&defect.subject)), vec![edit], sure)));
    } else if defect.range == case.range
        && let Some(missing) = assignments(site, &defect.subject)
        && let Some(last) = pairs(case).len().checked_sub(1)
    {
        // Several keys at one place are one edit.
        let stated = missing.join(", ");
        if let Some((key, value)) = stated.split_once(": ") {
            let edit = insert_pair(text, case, Some(last), key, value);
            let title = format!("Add {}", shown(&stated));
            candidates.extend(edit.map(|edit| Candidate::new(title, vec![edit], Applicability::Unsafe)));
        }
    }
    candidates
}

/// `T: float16` for each of some dtype indices.
fn assignments(site: &Site<'_>, names: &str) -> Option<Vec<String>> {
    let analysis = site.analysis.as_ref()?;
    let signature = analysis.entry.signature.valid()?;
    let dtype = |name: &str| {
        let index = signature.forall.items().iter().find(|index| &*index.name.value == name)?;
        match index.kind.valid()? {
            IndexKind::DType(members) => members.first().map(|member| member.value),
            _ => None,
        }
    };
    names.split(", ").map(|name| Some(format!("{name}: {}", DType::name(dtype(name)?)))).collect()
}

/// Removes a row that says what another does; gives any other a label of its own.
pub(super) fn duplicate_case(site: &Site<'_>, defect: &Defect) -> Vec<Candidate> {
    let way = way(&site.tree, defect.range);
    let Some((list, rows, at)) = way.iter().find_map(|held| match held {
        Held::Item(list, rows, at) => Some((*list, *rows, *at)),
        Held::Pair(..) => None,
    }) else {
        return Vec::new();
    };
    let Some(row) = rows.get(at) else { return Vec::new() };
    let mut candidates = Vec::new();
    let written = |row: &Node| slice(site.text(), row.range).split_whitespace().collect::<Vec<_>>().join(" ");
    if rows.iter().take(at).any(|other| written(other) == written(row)) {
        let edit = remove_item(site.text(), &site.tree, list, at);
        candidates.extend(edit.map(|edit| Candidate::new("Remove the repeated row", vec![edit], Applicability::Safe)));
    }
    let taken: Vec<&str> =
        rows.iter().filter_map(|row| value_of(row, "label")?.as_scalar().map(|label| &*label.text)).collect();
    let label = (2..100).map(|n| format!("{}-{n}", defect.subject)).find(|label| !taken.contains(&label.as_str()));
    if let (Some(label), Some(stated)) = (label, value_of(row, "label")) {
        let edits = rewrite(site.text(), &site.tree, &[(stated.range, label.clone())]);
        let title = format!("Call the row `{label}`");
        candidates.extend(edits.map(|edits| Candidate::new(title, edits, Applicability::Unsafe)));
    }
    candidates
}
