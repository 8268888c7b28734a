//! YAML itself: characters, scalars that readers disagree on, sharing, tags, repeated keys.

use super::super::edits::{
    Held, edit, is_flow, line_end, line_start, line_stop, pairs, quoted, remove_pair, slice, span, way,
};
use super::super::{Applicability, Candidate};
use super::keys::{held, holds_text};
use super::{quote, shown};
use crate::defect::{Defect, Place, codes};
use crate::ide::site::Site;
use crate::syntax::{Node, NodeKind, ScalarStyle, unambiguous};
use crate::text::{TextRange, TextSize};

/// What is not YAML and can only be meant one way.
pub(super) fn syntax(site: &Site<'_>, defect: &Defect) -> Vec<Candidate> {
    let text = site.text();
    let mut candidates = Vec::new();
    let sure = Applicability::Unsafe;
    let at = usize::from(defect.range.start());
    let (start, stop) = (line_start(text, at), line_stop(text, at));
    let line = text.get(start..stop).unwrap_or("");
    if line.contains('\t') {
        let lead = line.len() - line.trim_start_matches([' ', '\t']).len();
        let spaces = line.get(..lead).unwrap_or("").replace('\t', "  ");
        let rest = line.get(lead..).unwrap_or("").replace('\t', " ");
        let title = "Write spaces in place of tabs";
        candidates.push(Candidate::new(title, vec![edit(span(start, stop), format!("{spaces}{rest}"))], sure));
    }
    // `key:value`
    let key = line.trim_start_matches([' ', '-']);
    let lead = line.len() - key.len();
    let name = key.len() - key.trim_start_matches(super::is_word).len();
    if name > 0 && key.get(name..).is_some_and(|rest| rest.starts_with(':') && !rest.starts_with(": ")) {
        let colon = start + lead + name + 1;
        candidates.push(Candidate::new("Put a space behind the `:`", vec![edit(span(colon, colon), " ")], sure));
    }
    // `key value`, `key {…}`
    if name > 0 && key.get(name..).is_some_and(|rest| rest.starts_with([' ', '{', '['])) {
        let behind = start + lead + name;
        let space = if key.get(name..).is_some_and(|rest| rest.starts_with(' ')) { ":" } else { ": " };
        candidates.push(Candidate::new("Put a `:` behind the key", vec![edit(span(behind, behind), space)], sure));
    }
    // `key: a: b`, `key: @x`, `key: a # b`
    if let Some((before, value)) = key.split_once(": ") {
        let value_start = start + lead + before.len() + 2;
        let value = value.trim_end();
        if !value.is_empty() && !value.contains(['"', '\n']) {
            let whole = span(value_start, value_start + value.len());
            let title = format!("Quote {}", shown(value));
            candidates.push(Candidate::new(title, vec![edit(whole, quoted(&site.tree, value))], sure));
        }
    }
    // What is open on the line, closed at its end.
    for (open, close) in [('"', "\""), ('\'', "'"), ('[', "]"), ('{', "}")] {
        let opened = line.matches(open).count();
        let closed = if close.starts_with(open) { opened / 2 * 2 } else { line.matches(close).count() };
        if opened <= closed {
            continue;
        }
        // Behind the line, or before what closes something around it.
        let content = line.split(" #").next().unwrap_or(line).trim_end();
        let tail = content.len() - content.trim_end_matches(['}', ']', ',', ' ']).len();
        for back in 0..=tail {
            let end = start + content.len() - back;
            let title = format!("Close the `{open}`");
            candidates.push(Candidate::new(title, vec![edit(span(end, end), close)], sure));
        }
        // Or where the next key starts.
        for (comma, _) in content.match_indices(", ").filter(|_| !close.starts_with(['"', '\''])) {
            let at = start + comma;
            candidates.push(Candidate::new(format!("Close the `{open}`"), vec![edit(span(at, at), close)], sure));
        }
    }
    candidates
}

/// A character that no text of YAML has, or that ends a line to some readers only.
pub(super) fn character(site: &Site<'_>, defect: &Defect) -> Vec<Candidate> {
    let text = site.text();
    let characters = slice(text, defect.range);
    let Some(first) = characters.chars().next().filter(|_| !defect.subject.is_empty()) else { return Vec::new() };
    let mut candidates = Vec::new();
    let in_double = super::super::edits::scalar_at(&site.tree, defect.range)
        .and_then(Node::as_scalar)
        .is_some_and(|scalar| scalar.style == ScalarStyle::DoubleQuoted);
    if in_double {
        let escape: String = characters.chars().map(|c| format!("\\u{:04x}", u32::from(c))).collect();
        let title = format!("Write U+{:04X} as an escape", u32::from(first));
        candidates.push(Candidate::new(title, vec![edit(defect.range, escape)], Applicability::Safe));
        return candidates;
    }
    let instead = if matches!(first, '\u{85}' | '\u{2028}' | '\u{2029}') { " " } else { "" };
    let title = format!("Remove U+{:04X}", u32::from(first));
    candidates.push(Candidate::new(title, vec![edit(defect.range, instead)], Applicability::Unsafe));
    candidates
}

/// A scalar that families of readers read differently: what only one reading fits is meant.
pub(super) fn ambiguous_scalar(site: &Site<'_>, defect: &Defect) -> Vec<Candidate> {
    let Some(node) = super::super::edits::scalar_at(&site.tree, defect.range) else { return Vec::new() };
    let Some(scalar) = node.as_scalar() else { return Vec::new() };
    let is_text = held(site, node.range.start()).is_some_and(|(holds, _)| holds_text(holds));
    let mut candidates = Vec::new();
    let readings = [Some(&scalar.value), scalar.yaml12.as_ref()];
    for yaml in readings.into_iter().flatten().filter_map(unambiguous).filter(|_| !is_text) {
        let title = super::replace_title(&scalar.text, &yaml);
        let edits = vec![edit(node.range, yaml)];
        if !candidates.iter().any(|other: &Candidate| other.edits == edits) {
            candidates.push(Candidate::new(title, edits, Applicability::Safe));
        }
    }
    candidates.push(quote(site, node.range, &scalar.text, Applicability::Safe));
    candidates
}

/// A key that some readers take for something else.
pub(super) fn non_string_key(site: &Site<'_>, defect: &Defect) -> Vec<Candidate> {
    let key = way(&site.tree, defect.range).last().and_then(|held| match held {
        Held::Pair(_, pairs, at) => pairs.get(*at).map(|pair| &pair.key),
        Held::Item(..) => None,
    });
    let key = key.unwrap_or(&site.tree.key);
    let Some(scalar) = key.as_scalar().filter(|_| key.range.contains_range(defect.range)) else { return Vec::new() };
    if scalar.text.is_empty() || scalar.style != ScalarStyle::Plain {
        return Vec::new();
    }
    vec![quote(site, key.range, &scalar.text, Applicability::Safe)]
}

/// Of a repeated key every reader takes the last: the others say nothing.
pub(super) fn duplicate_key(site: &Site<'_>, defect: &Defect) -> Vec<Candidate> {
    let way = way(&site.tree, defect.range);
    let Some((mapping, at)) = way.iter().rev().find_map(|held| match held {
        Held::Pair(mapping, pairs, at) if pairs.get(*at).is_some_and(|p| p.key.range.contains_range(defect.range)) => {
            Some((*mapping, *at))
        }
        _ => None,
    }) else {
        return Vec::new();
    };
    let all = pairs(mapping);
    let key = all.get(at).and_then(|pair| pair.key.as_scalar());
    let same = |pair: &crate::syntax::Pair| pair.key.as_scalar().map(|k| &k.text) == key.map(|k| &k.text);
    let Some(first) = all.iter().position(same).filter(|first| *first < at) else { return Vec::new() };
    let value = |at: usize| all.get(at).map(|pair| slice(site.text(), pair.value.range).trim());
    let sure = if value(first) == value(at) { Applicability::Safe } else { Applicability::Unsafe };
    let title = format!("Remove the first {}, which no reader takes", shown(&defect.subject));
    let edit = remove_pair(site.text(), &site.tree, mapping, first);
    edit.map(|edit| Candidate::new(title, vec![edit], sure)).into_iter().collect()
}

/// Removes a tag; what it made a string is quoted.
pub(super) fn tag(site: &Site<'_>, defect: &Defect) -> Vec<Candidate> {
    let text = site.text();
    let end = usize::from(defect.range.end());
    let rest = text.get(end..).unwrap_or("");
    let blanks = rest.len() - rest.trim_start_matches(' ').len();
    let removal = edit(span(usize::from(defect.range.start()), end + blanks), "");
    let title = format!("Remove {}", shown(&defect.subject));
    let mut candidates = Vec::new();
    let scalar = super::super::edits::scalar_at(
        &site.tree,
        TextRange::empty(TextSize::try_from(end + blanks).unwrap_or_default()),
    );
    if defect.subject == "!!str"
        && let Some(node) = scalar
        && let Some(scalar) = node.as_scalar().filter(|scalar| scalar.style == ScalarStyle::Plain)
    {
        let edits = vec![removal.clone(), edit(node.range, quoted(&site.tree, &scalar.text))];
        candidates.push(Candidate::new(title.clone(), edits, Applicability::Safe));
    }
    let sure = match defect.subject.as_str() {
        "!!map" | "!!seq" | "!!int" | "!!float" | "!!bool" | "!!null" => Applicability::Safe,
        _ => Applicability::Unsafe,
    };
    if candidates.is_empty() {
        candidates.push(Candidate::new(title, vec![removal], sure));
    }
    candidates
}

/// Writes an alias out; removes an anchor that no alias names.
pub(super) fn anchor(site: &Site<'_>, defect: &Defect) -> Vec<Candidate> {
    let text = site.text();
    let written = slice(text, defect.range);
    if written.starts_with('&') {
        let is_named = site.tree.findings.defects.iter().any(|other| {
            other.code == &codes::YAML_ANCHOR
                && other.subject == defect.subject
                && slice(text, other.range).starts_with('*')
        });
        if is_named {
            return Vec::new();
        }
        let end = usize::from(defect.range.end());
        let rest = text.get(end..).unwrap_or("");
        let blanks = rest.len() - rest.trim_start_matches(' ').len();
        // The blank before an anchor that ends its line would be left over.
        let ends_line = rest.get(blanks..).is_some_and(|rest| rest.is_empty() || rest.starts_with(['\n', '\r']));
        let start = usize::from(defect.range.start());
        let before = text.get(..start).unwrap_or("");
        let start = if ends_line { before.trim_end_matches(' ').len() } else { start };
        let removal = edit(span(start, end + blanks), "");
        return vec![Candidate::new(format!("Remove {}", shown(written)), vec![removal], Applicability::Safe)];
    }
    let place = defect.related.iter().find_map(|related| match related.place {
        Place::Here(range) => Some(range),
        Place::Adt(_) | Place::Op(..) => None,
    });
    let Some(node) = place.and_then(|anchor| anchored(site, anchor)) else { return Vec::new() };
    let Some(value) = written_out(site, node, defect.range) else { return Vec::new() };
    // A block starts on the line below, and the blank before it is left over.
    let start = usize::from(defect.range.start());
    let blanks = text.get(..start).map_or(0, |before| before.len() - before.trim_end_matches(' ').len());
    let start = if value.starts_with(['\n', '\r']) { start - blanks } else { start };
    let whole = span(start, defect.range.end().into());
    vec![Candidate::new(format!("Write {} out", shown(written)), vec![edit(whole, value)], Applicability::Safe)]
}

/// The node that the anchor at `range` names: the first that starts behind it.
fn anchored<'s>(site: &'s Site<'_>, anchor: TextRange) -> Option<&'s Node> {
    let mut found: Option<&Node> = None;
    let mut open = vec![&site.tree.value];
    while let Some(node) = open.pop() {
        // Of those that start together the outermost is named, which comes first.
        if node.range.start() >= anchor.end() && found.is_none_or(|best| node.range.start() < best.range.start()) {
            found = Some(node);
        }
        match &node.kind {
            NodeKind::Mapping(pairs) => open.extend(pairs.iter().rev().flat_map(|pair| [&pair.value, &pair.key])),
            NodeKind::Sequence(items) => open.extend(items.iter().rev()),
            NodeKind::Scalar(_) | NodeKind::Unreadable => {}
        }
    }
    found
}

/// A node's text as it can stand at `place`.
fn written_out(site: &Site<'_>, node: &Node, place: TextRange) -> Option<String> {
    let text = site.text();
    let written = slice(text, node.range).trim_end();
    // What has anchors or comments of its own is written out after those are gone.
    let shares = site
        .tree
        .findings
        .defects
        .iter()
        .any(|other| other.code == &codes::YAML_ANCHOR && node.range.contains_range(other.range));
    let explains = site.tree.comments.iter().any(|comment| node.range.contains_range(*comment));
    if shares || explains {
        return None;
    }
    let is_one_line = !written.contains(['\n', '\r']);
    if is_one_line && (is_flow(text, node) || node.as_scalar().is_some()) {
        return Some(written.to_owned());
    }
    if let Some(scalar) = node.as_scalar() {
        return Some(quoted(&site.tree, &scalar.text));
    }
    // A block: its lines, as deep as they belong here.
    let line = line_start(text, place.start().into());
    let lead = text.get(line..usize::from(place.start()))?;
    let depth = lead.len() - lead.trim_start_matches([' ', '-']).len();
    let is_value = lead.trim_end().ends_with(':');
    let start = usize::from(node.range.start());
    let own = start - line_start(text, start);
    let end = line_end(text);
    if !is_value || is_flow(text, node) {
        return None;
    }
    let indent = " ".repeat(depth + 2);
    let lines: Option<Vec<String>> = written
        .lines()
        .enumerate()
        .map(|(number, line)| {
            let line = if number == 0 { line } else { line.get(own.min(line.len() - line.trim_start().len())..)? };
            Some(format!("{indent}{line}").trim_end().to_owned())
        })
        .collect();
    Some(format!("{end}{}", lines?.join(end)))
}

/// Writes the keys out that `<<` merges.
pub(super) fn merge_key(site: &Site<'_>, defect: &Defect) -> Vec<Candidate> {
    let text = site.text();
    let line = text.get(usize::from(defect.range.start())..).unwrap_or("");
    let Some(rest) = line.strip_prefix("<<:") else { return Vec::new() };
    let blanks = rest.len() - rest.trim_start_matches(' ').len();
    let alias_start = usize::from(defect.range.end()) + 1 + blanks;
    let alias = rest.trim_start_matches(' ');
    if alias.starts_with('{') {
        return merged_braces(site, defect, alias, alias_start);
    }
    let Some(name) = alias.strip_prefix('*') else { return Vec::new() };
    let length = name.find([' ', ',', '}', '\n', '\r']).unwrap_or(name.len());
    let name = name.get(..length).unwrap_or("");
    let place = site.tree.findings.defects.iter().find(|other| {
        other.code == &codes::YAML_ANCHOR && other.subject == name && slice(text, other.range).starts_with('&')
    });
    let Some(node) = place.and_then(|anchor| anchored(site, anchor.range)) else { return Vec::new() };
    let NodeKind::Mapping(merged) = &node.kind else { return Vec::new() };
    // A key that is written beside it stands.
    let holder = mapping_around(site, defect.range);
    let stated: Vec<&str> = holder
        .into_iter()
        .flat_map(pairs)
        .filter_map(|pair| (!node.range.contains_range(pair.key.range)).then(|| pair.key.as_str()).flatten())
        .collect();
    let mut parts = Vec::new();
    for pair in merged {
        let Some(key) = pair.key.as_str() else { return Vec::new() };
        if stated.contains(&key) {
            continue;
        }
        let value = slice(text, pair.value.range).trim_end();
        if value.contains(['\n', '\r']) {
            return Vec::new();
        }
        parts.push(format!("{}: {value}", slice(text, pair.key.range)));
    }
    let start = usize::from(defect.range.start());
    let in_flow = holder.is_some_and(|holder| is_flow(text, holder));
    let indent = " ".repeat(start - line_start(text, start));
    let joiner = if in_flow { ", ".to_owned() } else { format!("{}{indent}", line_end(text)) };
    if parts.is_empty() {
        return Vec::new();
    }
    let whole = span(start, alias_start + 1 + length);
    let title = format!("Write the keys of {} out", shown(&format!("*{name}")));
    vec![Candidate::new(title, vec![edit(whole, parts.join(&joiner))], Applicability::Safe)]
}

/// `<<: {a: 1}` in braces as `a: 1`.
fn merged_braces(site: &Site<'_>, defect: &Defect, braces: &str, start: usize) -> Vec<Candidate> {
    let Some(close) = braces.find('}') else { return Vec::new() };
    let inside = braces.get(1..close).unwrap_or("").trim();
    let in_flow = mapping_around(site, defect.range).is_some_and(|holder| is_flow(site.text(), holder));
    if !in_flow || inside.is_empty() || inside.contains(['{', '"', '\'', '\n', '\r']) {
        return Vec::new();
    }
    let whole = span(defect.range.start().into(), start + close + 1);
    vec![Candidate::new("Write the merged keys out", vec![edit(whole, inside)], Applicability::Safe)]
}

/// The innermost mapping that has `range` in it.
fn mapping_around<'s>(site: &'s Site<'_>, range: TextRange) -> Option<&'s Node> {
    let mut found = None;
    let mut open = vec![&site.tree.value];
    while let Some(node) = open.pop() {
        if !node.range.contains_range(range) {
            continue;
        }
        match &node.kind {
            NodeKind::Mapping(pairs) => {
                found = Some(node);
                open.extend(pairs.iter().map(|pair| &pair.value));
            }
            NodeKind::Sequence(items) => open.extend(items),
            NodeKind::Scalar(_) | NodeKind::Unreadable => {}
        }
    }
    found
}
