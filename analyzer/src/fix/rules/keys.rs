//! Keys that a section does not know, or lacks.

use super::super::edits::{Held, at_path, edit, insert_pair, pairs, quoted, remove_pair, slice, value_of, way};
use super::super::{Applicability, Candidate};
use super::shown;
use crate::defect::Defect;
use crate::ide::site::{Due, Holds, Owner, Site};
use crate::lang::Kind;
use crate::model::schema::{self, Form, Section};
use crate::syntax::{Node, ScalarValue};
use crate::text::TextSize;

/// A key that means another in a section of this sort.
const OTHER_WORDS: &[(&str, &str)] = &[
    ("nullable", "optional"),
    ("optional", "nullable"),
    ("type", "dtype"),
    ("dtypes", "dtype_combos"),
    ("dtype", "type"),
    ("size", "shape"),
    ("in_place", "mutated"),
    ("inplace", "mutated"),
    ("rules", "shape_rules"),
    ("constraints", "shape_rules"),
    ("refinements", "shape_rules"),
    ("combos", "dtype_combos"),
    ("lets", "let"),
    ("families", "types"),
    ("parameters", "params"),
    ("attrs", "params"),
    ("indices", "forall"),
    ("function", "func"),
    ("flop", "flops"),
    ("memory", "bytes"),
    ("name", "label"),
    ("id", "label"),
    ("dtypes", "dtype_cases"),
    ("api", "ref_api"),
    ("steps", "stages"),
    ("where", "when"),
    ("shape", "is"),
    ("generator", "values"),
    ("require", "requires"),
];

/// Renames a key to the one that says the same here, or removes it.
pub(super) fn unknown_key(site: &Site<'_>, defect: &Defect) -> Vec<Candidate> {
    let mut candidates = Vec::new();
    for (_, other) in OTHER_WORDS.iter().filter(|(word, _)| *word == defect.subject) {
        let title = format!("Rename {} to `{other}`", shown(&defect.subject));
        candidates.push(Candidate::new(title, vec![edit(defect.range, *other)], Applicability::Unsafe));
    }
    candidates.extend(remove(site, defect, Applicability::Unsafe));
    candidates
}

/// Removes the pair whose key or value a defect stands in.
pub(super) fn remove(site: &Site<'_>, defect: &Defect, applicability: Applicability) -> Option<Candidate> {
    let way = way(&site.tree, defect.range);
    let (mapping, at) = way.iter().rev().find_map(|held| match held {
        Held::Pair(mapping, _, at) => Some((*mapping, *at)),
        Held::Item(..) => None,
    })?;
    let key = pairs(mapping).get(at)?.key.as_scalar()?;
    let edit = remove_pair(site.text(), &site.tree, mapping, at)?;
    Some(Candidate::new(format!("Remove {}", shown(&key.text)), vec![edit], applicability))
}

/// What a section at `path` is due to hold.
fn due_at<'s>(site: &'s Site<'_>, path: &str) -> Option<Due<'s>> {
    let mut found = None;
    let target = at_path(&site.tree, path)?;
    site.visit(&mut |part| {
        if let crate::ide::site::Part::Value { node, due } = part
            && std::ptr::eq(node, target)
        {
            found = Some(due);
        }
    });
    found
}

/// The position of the pair that a key of the section goes behind, by the order of the section's table.
pub(super) fn behind(section: &Section, mapping: &Node, key: &str) -> Option<usize> {
    let order = |name: &str| section.keys.iter().position(|known| known.name == name);
    let own = order(key)?;
    let before = |pair: &crate::syntax::Pair| pair.key.as_str().and_then(order).is_some_and(|other| other < own);
    pairs(mapping).iter().rposition(before)
}

/// Adds a key that is missing.
pub(super) fn missing_key(site: &Site<'_>, defect: &Defect) -> Vec<Candidate> {
    let Some(mapping) = at_path(&site.tree, &defect.path) else { return Vec::new() };
    let Some(Due::Section(section, owner)) = due_at(site, &defect.path) else { return Vec::new() };
    let Some(key) = section.key(&defect.subject) else { return Vec::new() };
    let mut values: Vec<(String, Applicability)> = Vec::new();
    let unsure = Applicability::Unsafe;
    match key.form {
        Form::Choice([only]) => values.push(((*only).to_owned(), Applicability::Safe)),
        _ => match key.name {
            // Nothing is known to serve an entry that does not say so.
            "status" => values.push(("spec-only".to_owned(), unsure)),
            "label" => values.extend(new_label(site).map(|label| (label, unsure))),
            "when" => values.push(("_".to_owned(), unsure)),
            "match" => values.extend(only_scrutinee(site, &owner).map(|name| (name, unsure))),
            "type" => values.extend(type_of_default(mapping).map(|ty| (ty.to_owned(), unsure))),
            "dtype" => values.extend(common(site, "dtype").map(|yaml| (yaml, unsure))),
            "shape" => values.extend(common(site, "shape").map(|yaml| (yaml, unsure))),
            "name" if std::ptr::eq(section, &schema::STAGE) => {
                values.extend(new_stage(site).map(|name| (name, unsure)));
            }
            _ => {}
        },
    }
    let insert = |(value, applicability): (String, Applicability)| {
        let behind = behind(section, mapping, key.name);
        let edit = insert_pair(site.text(), mapping, behind, key.name, &value)?;
        Some(Candidate::new(format!("Add `{}: {value}`", key.name), vec![edit], applicability))
    };
    values.into_iter().filter_map(insert).collect()
}

/// A label that no row has.
fn new_label(site: &Site<'_>) -> Option<String> {
    let rows = at_path(&site.tree, "workloads")?;
    let taken: Vec<&str> = super::super::edits::items(rows)
        .iter()
        .filter_map(|row| value_of(row, "label").and_then(|label| Some(&*label.as_scalar()?.text)))
        .collect();
    (1..1000).map(|n| format!("case-{n}")).find(|label| !taken.contains(&label.as_str()))
}

/// A name that no stage has.
fn new_stage(site: &Site<'_>) -> Option<String> {
    let stages = at_path(&site.tree, "composition.stages")?;
    let taken: Vec<&str> = super::super::edits::items(stages)
        .iter()
        .filter_map(|stage| value_of(stage, "name").and_then(Node::as_str))
        .collect();
    (1..1000).map(|n| format!("stage_{n}")).find(|name| !taken.contains(&name.as_str()))
}

/// The only formal of a family that can be matched.
fn only_scrutinee(site: &Site<'_>, owner: &Owner<'_>) -> Option<String> {
    let analysis = site.analysis.as_ref()?;
    let formals = analysis.scope.family(owner.name?)?.formals.as_ref()?;
    let mut finite = formals.iter().filter(|(_, kind)| matches!(kind, Kind::Bool | Kind::Enum(_) | Kind::Adt(..)));
    let (name, _) = finite.next()?;
    finite.next().is_none().then(|| name.to_string())
}

fn type_of_default(mapping: &Node) -> Option<&'static str> {
    match value_of(mapping, "default")?.as_scalar()?.value {
        ScalarValue::Bool(_) => Some("bool"),
        ScalarValue::Int(_) => Some("int"),
        ScalarValue::Float(_) => Some("float"),
        _ => None,
    }
}

/// What every tensor that states `key` states, as written.
fn common(site: &Site<'_>, key: &str) -> Option<String> {
    let mut stated: Vec<&str> = Vec::new();
    for section in ["signature.inputs", "signature.outputs"] {
        let tensors = at_path(&site.tree, section).into_iter().flat_map(pairs);
        stated.extend(tensors.filter_map(|pair| value_of(&pair.value, key)).map(|node| slice(site.text(), node.range)));
    }
    let first = *stated.first()?;
    (stated.iter().all(|other| *other == first) && !first.contains(['\n', '\r'])).then(|| first.to_owned())
}

/// Adds `key: value` to a mapping at its end.
pub(super) fn add(site: &Site<'_>, mapping: &Node, key: &str, value: &str, a: Applicability) -> Option<Candidate> {
    let last = pairs(mapping).len().checked_sub(1);
    let edit = insert_pair(site.text(), mapping, last, key, value)?;
    Some(Candidate::new(format!("Add {}", shown(&format!("{key}: {value}"))), vec![edit], a))
}

/// A `let` in the signature: the edits that define it, and where its section is not there, that open it.
pub(super) fn define(site: &Site<'_>, name: &str, value: &str) -> Option<Vec<crate::ide::Edit>> {
    let signature = at_path(&site.tree, "signature")?;
    let text = site.text();
    let value = quoted(&site.tree, value);
    if let Some(lets) = value_of(signature, "let") {
        let last = pairs(lets).len().checked_sub(1);
        return Some(vec![insert_pair(text, lets, last, name, &value)?]);
    }
    let behind = behind(&schema::SIGNATURE, signature, "let");
    Some(vec![insert_pair(text, signature, behind, "let", &format!("{{{name}: {value}}}"))?])
}

/// Whether a place is due to hold a text rather than a value of some type.
pub(super) fn holds_text(holds: Holds) -> bool {
    !matches!(holds, Holds::Bool | Holds::RowValue | Holds::Default | Holds::Condition | Holds::Pattern)
}

/// What the scalar at `offset` is due to hold, and who owns it.
pub(super) fn held<'s>(site: &'s Site<'_>, offset: TextSize) -> Option<(Holds, Owner<'s>)> {
    match crate::ide::site::descend(&site.tree.value, site.root(), offset).last()? {
        crate::ide::site::Part::Value { due: Due::Scalar(holds, owner), .. } => Some((*holds, *owner)),
        _ => None,
    }
}
