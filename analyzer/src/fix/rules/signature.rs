//! The signature: what nothing uses, what is there twice, effects.

use super::super::edits::{Held, at_path, edit, items, pairs, remove_item, remove_pair, slice, value_of, way};
use super::super::{Applicability, Candidate};
use super::keys::{add, remove};
use super::shown;
use crate::defect::Defect;
use crate::ide::site::Site;
use crate::syntax::Node;

/// Removes a family that no shape applies.
pub(super) fn unused_family(site: &Site<'_>, defect: &Defect) -> Vec<Candidate> {
    let sections = at_path(&site.tree, "signature.types").map_or(0, |types| pairs(types).len());
    let removed =
        if sections == 1 { remove_section(site, "types") } else { remove(site, defect, Applicability::Unsafe) };
    removed.into_iter().collect()
}

/// Removes a section of the signature.
fn remove_section(site: &Site<'_>, name: &str) -> Option<Candidate> {
    let signature = at_path(&site.tree, "signature")?;
    let at = pairs(signature).iter().position(|pair| pair.key.as_str() == Some(name))?;
    let edit = remove_pair(site.text(), &site.tree, signature, at)?;
    Some(Candidate::new(format!("Remove {}", shown(name)), vec![edit], Applicability::Unsafe))
}

/// Removes an index that nothing uses, from `forall` and from the rows.
pub(super) fn unused_index(site: &Site<'_>, defect: &Defect) -> Vec<Candidate> {
    let (text, tree) = (site.text(), &site.tree);
    let Some(forall) = at_path(tree, "signature.forall") else { return Vec::new() };
    let Some(at) = pairs(forall).iter().position(|pair| pair.key.range.contains_range(defect.range)) else {
        return Vec::new();
    };
    let declaration = if pairs(forall).len() == 1 {
        remove_section(site, "forall").map(|candidate| candidate.edits)
    } else {
        remove_pair(text, tree, forall, at).map(|edit| vec![edit])
    };
    let Some(mut edits) = declaration else { return Vec::new() };
    let name = Some(&*defect.subject);
    for row in at_path(tree, "workloads").into_iter().flat_map(items) {
        if let Some(at) = pairs(row).iter().position(|pair| pair.key.as_str() == name) {
            edits.extend(remove_pair(text, tree, row, at));
        }
        let Some(cases) = value_of(row, "dtype_cases") else { continue };
        // Cases of nothing but this index go with it.
        if items(cases).iter().all(|case| pairs(case).len() == 1 && value_of(case, &defect.subject).is_some()) {
            let at = pairs(row).iter().position(|pair| pair.key.as_str() == Some("dtype_cases"));
            edits.extend(at.and_then(|at| remove_pair(text, tree, row, at)));
            continue;
        }
        for case in items(cases) {
            let at = pairs(case).iter().position(|pair| pair.key.as_str() == name);
            edits.extend(at.and_then(|at| remove_pair(text, tree, case, at)));
        }
    }
    vec![Candidate::new(format!("Remove the index {}", shown(&defect.subject)), edits, Applicability::Unsafe)]
}

/// Drops the second of two scrutinees that are one.
pub(super) fn repeated_scrutinee(site: &Site<'_>, defect: &Defect) -> Vec<Candidate> {
    match way(&site.tree, defect.range).last() {
        Some(Held::Item(list, names, at))
            if names.iter().take(*at).any(|name| name.as_str() == Some(&*defect.subject)) =>
        {
            let title = format!("Remove the repeated {}", shown(&defect.subject));
            let edit = remove_item(site.text(), &site.tree, list, *at);
            edit.map(|edit| Candidate::new(title, vec![edit], Applicability::Safe)).into_iter().collect()
        }
        _ => Vec::new(),
    }
}

/// Drops a row of `dtype_combos` that is there already.
pub(super) fn repeated_combo(site: &Site<'_>, defect: &Defect) -> Vec<Candidate> {
    if defect.subject != "dtype_combos" {
        return Vec::new();
    }
    let Some(combos) = at_path(&site.tree, "signature.dtype_combos") else { return Vec::new() };
    let at = items(combos).iter().position(|row| row.range.contains_range(defect.range));
    let edit = at.and_then(|at| remove_item(site.text(), &site.tree, combos, at));
    edit.map(|edit| Candidate::new("Remove the repeated row", vec![edit], Applicability::Safe)).into_iter().collect()
}

/// Says of an input that it is written; gives an alias the shape and the dtype of its input.
pub(super) fn tensor_effect(site: &Site<'_>, defect: &Defect) -> Vec<Candidate> {
    let tree = &site.tree;
    let Some((owner, key)) = defect.path.rsplit_once('.') else { return Vec::new() };
    let Some(tensor) = at_path(tree, owner) else { return Vec::new() };
    let input = |name: &str| at_path(tree, &format!("signature.inputs.{name}"));
    match key {
        "write_only" => match value_of(tensor, "mutated") {
            None => add(site, tensor, "mutated", "true", Applicability::Safe).into_iter().collect(),
            Some(written) => {
                let old = slice(site.text(), written.range);
                vec![super::replace_node(written.range, old, "true".to_owned(), Applicability::Unsafe)]
            }
        },
        "alias" => {
            let aliased = input(&defect.subject).filter(|input| value_of(input, "mutated").is_none());
            let mut candidates: Vec<Candidate> = aliased
                .and_then(|input| add(site, input, "mutated", "true", Applicability::Unsafe))
                .into_iter()
                .collect();
            candidates.extend(remove(site, defect, Applicability::Unsafe));
            candidates
        }
        "buffer" => remove(site, defect, Applicability::Unsafe).into_iter().collect(),
        "shape" | "dtype" => {
            let alias = value_of(tensor, "alias").and_then(Node::as_str);
            let theirs = alias.and_then(input).and_then(|input| value_of(input, key));
            let (Some(theirs), Some(own)) = (theirs, value_of(tensor, key)) else { return Vec::new() };
            let (old, new) = (slice(site.text(), own.range), slice(site.text(), theirs.range));
            if new.contains(['\n', '\r']) {
                return Vec::new();
            }
            vec![Candidate::new(super::replace_title(old, new), vec![edit(own.range, new)], Applicability::Unsafe)]
        }
        _ => Vec::new(),
    }
}
