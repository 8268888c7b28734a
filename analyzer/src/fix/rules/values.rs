//! Values of the wrong form, of the wrong type, or of no meaning.

use super::super::edits::{Held, decoded, edit, is_flow, quoted, rewrite, scalar_at, slice, span, way};
use super::super::{Applicability, Candidate};
use super::{quote, replace_node, shown};
use crate::defect::{Defect, nearest};
use crate::ide::site::{Due, Part, Site, descend};
use crate::lang::Kind;
use crate::model::schema::Form;
use crate::syntax::{Node, NodeKind, ScalarStyle, ScalarValue};
use crate::workload::MAX_LABEL;

/// The node that a defect marks, or the value of the key that it marks.
pub(super) fn marked<'s>(site: &'s Site<'_>, defect: &Defect) -> Option<&'s Node> {
    match way(&site.tree, defect.range).last()? {
        Held::Pair(_, pairs, at) => pairs.get(*at).map(|pair| &pair.value),
        Held::Item(_, items, at) => items.get(*at),
    }
}

/// A text that was written as something else, and the other way round.
pub(super) fn wrong_form(site: &Site<'_>, defect: &Defect) -> Vec<Candidate> {
    let Some(node) = marked(site, defect) else { return Vec::new() };
    let text = site.text();
    let written = slice(text, node.range);
    let mut candidates = Vec::new();
    match &node.kind {
        NodeKind::Scalar(scalar) => {
            let word = scalar.text.to_ascii_lowercase();
            if matches!(word.as_str(), "true" | "false") && scalar.value == ScalarValue::Str {
                candidates.push(replace_node(node.range, written, word, Applicability::Safe));
            }
            let is_one_line = !scalar.text.contains('\n') && !scalar.text.trim().is_empty();
            if !matches!(scalar.value, ScalarValue::Null) && is_one_line {
                if scalar.style == ScalarStyle::Plain {
                    candidates.push(quote(site, node.range, &scalar.text, Applicability::Safe));
                }
                // A lone text where a list of them is due.
                let listed = match scalar.style {
                    ScalarStyle::Plain => quoted(&site.tree, &scalar.text),
                    _ => written.to_owned(),
                };
                candidates.push(Candidate::new(
                    format!("Make {} a list", shown(written)),
                    vec![edit(node.range, format!("[{listed}]"))],
                    Applicability::Safe,
                ));
                candidates.push(Candidate::new(
                    format!("Make {} a list", shown(written)),
                    vec![edit(node.range, format!("[{written}]"))],
                    Applicability::Safe,
                ));
            }
        }
        NodeKind::Sequence(items) => {
            if is_flow(text, node) && !written.contains(['\n', '\r', '"', '\'']) {
                candidates.push(quote(site, node.range, written, Applicability::Safe));
            }
            if let [only] = items.as_slice() {
                let inner = slice(text, only.range).to_owned();
                if is_flow(text, node) {
                    candidates.push(replace_node(node.range, written, inner, Applicability::Safe));
                }
            }
        }
        NodeKind::Mapping(_) if is_flow(text, node) => {
            candidates.push(Candidate::new(
                format!("Make {} a list", shown(written)),
                vec![edit(node.range, format!("[{written}]"))],
                Applicability::Safe,
            ));
        }
        NodeKind::Mapping(_) | NodeKind::Unreadable => {}
    }
    candidates
}

/// A word that its key does not take, where it takes only one.
pub(super) fn unknown_value(site: &Site<'_>, defect: &Defect) -> Vec<Candidate> {
    let parts = descend(&site.tree.value, site.root(), defect.range.start());
    let Some(Part::Value { node, due: Due::Scalar(_, owner) }) = parts.last() else { return Vec::new() };
    let Some(Form::Choice([only])) = owner.key.map(|key| key.form) else { return Vec::new() };
    let written = slice(site.text(), node.range);
    vec![replace_node(node.range, written, (*only).to_owned(), Applicability::Unsafe)]
}

/// A name made of what a name can have.
pub(super) fn invalid_name(site: &Site<'_>, defect: &Defect) -> Vec<Candidate> {
    let mut name: String =
        defect.subject.trim().chars().map(|c| if super::is_word(c) || c == '.' { c } else { '_' }).collect();
    if name == defect.subject {
        name.push('_');
    }
    let edits = rewrite(site.text(), &site.tree, &[(defect.range, name.clone())]);
    let title = super::replace_title(&defect.subject, &name);
    let candidates = edits.into_iter().map(|edits| Candidate::new(title.clone(), edits, Applicability::Unsafe));
    candidates.map(Candidate::last_resort).collect()
}

/// Drops a member that a union has already.
pub(super) fn repeated_member(site: &Site<'_>, defect: &Defect) -> Vec<Candidate> {
    let Some((node, scalar)) = scalar_at(&site.tree, defect.range).and_then(|node| Some((node, node.as_scalar()?)))
    else {
        return Vec::new();
    };
    let part = decoded(scalar, node, defect.range);
    let Some(before) = scalar.text.get(..part.start) else { return Vec::new() };
    let lead = before.trim_end();
    let Some(rest) = lead.strip_suffix(['|', ',']) else { return Vec::new() };
    let start = rest.trim_end().len();
    let range = scalar.map.range(span(start, part.end));
    let edits = rewrite(site.text(), &site.tree, &[(range, String::new())]);
    let title = format!("Remove the repeated {}", shown(&defect.subject));
    edits.into_iter().map(|edits| Candidate::new(title.clone(), edits, Applicability::Safe)).collect()
}

/// A value that its type does not have.
pub(super) fn value(site: &Site<'_>, defect: &Defect) -> Vec<Candidate> {
    let mut candidates = Vec::new();
    let Some(analysis) = &site.analysis else { return candidates };
    let Some(symbol) = analysis.scope.get(&defect.subject) else { return candidates };
    let Some(node) = marked(site, defect) else { return candidates };
    let written = slice(site.text(), node.range);
    let mut put = |yaml: String, applicability| {
        candidates.push(replace_node(node.range, written, yaml, applicability));
    };
    if let NodeKind::Sequence(items) = &node.kind
        && let [only] = items.as_slice()
        && is_flow(site.text(), node)
    {
        put(slice(site.text(), only.range).to_owned(), Applicability::Unsafe);
    }
    let Some(scalar) = node.as_scalar() else { return candidates };
    let text = scalar.text.trim();
    if scalar.value == ScalarValue::Str {
        let lower = text.to_ascii_lowercase();
        match lower.as_str() {
            "none" | "null" | "nil" => put("null".to_owned(), Applicability::Safe),
            "true" | "yes" | "on" => put("true".to_owned(), Applicability::Safe),
            "false" | "no" | "off" => put("false".to_owned(), Applicability::Safe),
            _ => {}
        }
        // A number, or a list, in quotes.
        let is_number = !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || "+-._".contains(c));
        let is_list = text.starts_with('[') && text.ends_with(']');
        if (is_number && text.contains(|c: char| c.is_ascii_digit()) || is_list) && scalar.style != ScalarStyle::Plain {
            put(text.to_owned(), Applicability::Safe);
        }
        if let Some(near) = words(&symbol.kind, text) {
            put(near, Applicability::Safe);
        }
    }
    if let ScalarValue::Float(value) = scalar.value
        && value.fract() == 0.0
        && value.abs() < 1e15
    {
        put(format!("{value:.0}"), Applicability::Safe);
    }
    if let ScalarValue::Int(value) = scalar.value {
        put(format!("{value}.0"), Applicability::Safe);
        if value == 0 || value == 1 {
            put(if value == 1 { "true" } else { "false" }.to_owned(), Applicability::Unsafe);
        }
        put(quoted(&site.tree, text), Applicability::Unsafe);
        put(format!("[{value}]"), Applicability::Unsafe);
    }
    candidates
}

/// The literals, dtypes and constructors of a kind that `text` may be a misspelt one of.
fn words(kind: &Kind, text: &str) -> Option<String> {
    match kind {
        Kind::Enum(literals) => nearest(text, literals.iter().map(|literal| &**literal)).map(str::to_owned),
        Kind::DType(set) => {
            let names: Vec<&str> = set.iter().map(crate::lang::DType::name).collect();
            let bare = text.strip_prefix("torch.").unwrap_or(text);
            let exact = crate::lang::DType::from_alias(bare).map(crate::lang::DType::name);
            exact.or_else(|| nearest(bare, names)).map(str::to_owned)
        }
        Kind::Maybe(inner) => words(inner, text),
        Kind::Union(members) => members.iter().find_map(|member| words(member, text)),
        _ => None,
    }
}

/// A label of what a label can have.
pub(super) fn label(site: &Site<'_>, defect: &Defect) -> Vec<Candidate> {
    let mut label = String::new();
    for c in defect.subject.trim().chars() {
        match c {
            c if c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-') => label.push(c),
            '×' => label.push('x'),
            _ if label.ends_with('-') || label.is_empty() => {}
            _ => label.push('-'),
        }
    }
    let label = label.trim_end_matches('-');
    // Two labels can be one when they are cut.
    let sure = if label.len() > MAX_LABEL { Applicability::Unsafe } else { Applicability::Safe };
    let label = label.get(..MAX_LABEL.min(label.len())).unwrap_or(label);
    if label.is_empty() {
        return Vec::new();
    }
    let edits = rewrite(site.text(), &site.tree, &[(defect.range, label.to_owned())]);
    let title = super::replace_title(&defect.subject, label);
    edits.into_iter().map(|edits| Candidate::new(title.clone(), edits, sure)).collect()
}
