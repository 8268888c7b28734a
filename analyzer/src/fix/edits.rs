//! Edits of YAML text that keep everything else as it is: comments, order, indentation, quoting, line ends.

use crate::ide::Edit;
use crate::syntax::{EntryTree, Node, NodeKind, Pair, Scalar, ScalarStyle, ScalarValue, parse_entry};
use crate::text::{TextRange, TextSize};

/// `text` with `edits` made; nothing where they overlap or leave it.
pub fn apply(text: &str, edits: &[Edit]) -> Option<String> {
    let mut out = String::with_capacity(text.len() + 64);
    let mut at = 0;
    for edit in edits {
        let (start, end) = (usize::from(edit.range.start()), usize::from(edit.range.end()));
        out.push_str(text.get(at..start)?);
        text.get(start..end)?;
        out.push_str(&edit.text);
        at = end;
    }
    out.push_str(text.get(at..)?);
    Some(out)
}

/// How a text ends its lines.
pub(super) fn line_end(text: &str) -> &'static str {
    match text.find(['\n', '\r']).and_then(|at| text.get(at..)) {
        Some(rest) if rest.starts_with("\r\n") => "\r\n",
        Some(rest) if rest.starts_with('\r') => "\r",
        _ => "\n",
    }
}

pub(super) fn span(start: usize, end: usize) -> TextRange {
    // No entry is longer than 32 bits can say.
    let offset = |at: usize| TextSize::try_from(at).unwrap_or_default();
    TextRange::new(offset(start), offset(end.max(start)))
}

pub(super) fn edit(range: TextRange, text: impl Into<String>) -> Edit {
    Edit { range, text: text.into() }
}

pub(super) fn slice(text: &str, range: TextRange) -> &str {
    text.get(usize::from(range.start())..usize::from(range.end())).unwrap_or("")
}

/// The start of the line that `at` is on.
pub(super) fn line_start(text: &str, at: usize) -> usize {
    text.get(..at).and_then(|before| before.rfind(['\n', '\r'])).map_or(0, |i| i + 1)
}

/// The end of the line that `at` is on, without its line break.
pub(super) fn line_stop(text: &str, at: usize) -> usize {
    text.get(at..).and_then(|rest| rest.find(['\n', '\r'])).map_or(text.len(), |i| at + i)
}

/// The start of the line below the one that `at` is on.
pub(super) fn next_line(text: &str, at: usize) -> usize {
    let stop = line_stop(text, at);
    match text.get(stop..) {
        Some(rest) if rest.starts_with("\r\n") => stop + 2,
        Some(rest) if !rest.is_empty() => stop + 1,
        _ => stop,
    }
}

/// A place in a tree: what holds it, and which part of that it is.
#[derive(Debug, Clone, Copy)]
pub(super) enum Held<'t> {
    /// A pair of a mapping, by its position.
    Pair(&'t Node, &'t [Pair], usize),
    /// An item of a list, by its position.
    Item(&'t Node, &'t [Node], usize),
}

/// The way from the entry's value down to the innermost pair or item that has `range` in it.
pub(super) fn way<'t>(tree: &'t EntryTree, range: TextRange) -> Vec<Held<'t>> {
    let mut way = Vec::new();
    let mut node = &tree.value;
    loop {
        match &node.kind {
            NodeKind::Mapping(pairs) => {
                let covers = |pair: &Pair| {
                    TextRange::new(pair.key.range.start(), pair.value.range.end().max(pair.key.range.end()))
                        .contains_range(range)
                };
                let Some(at) = pairs.iter().position(covers) else { return way };
                way.push(Held::Pair(node, pairs, at));
                node = &pairs[at].value;
            }
            NodeKind::Sequence(items) => {
                let Some(at) = items.iter().position(|item| item.range.contains_range(range)) else { return way };
                way.push(Held::Item(node, items, at));
                node = &items[at];
            }
            NodeKind::Scalar(_) | NodeKind::Unreadable => return way,
        }
    }
}

/// The value at `path`: `signature.inputs.x`, `workloads[3]`. Of a key that is written twice the last stands.
pub(super) fn at_path<'t>(tree: &'t EntryTree, path: &str) -> Option<&'t Node> {
    let mut node = &tree.value;
    for step in path.split('.').filter(|step| !step.is_empty()) {
        let (name, positions) = step.split_at(step.find('[').unwrap_or(step.len()));
        if !name.is_empty() {
            node = value_of(node, name)?;
        }
        for position in positions.split(['[', ']']).filter(|part| !part.is_empty()) {
            let NodeKind::Sequence(items) = &node.kind else { return None };
            node = items.get(position.parse::<usize>().ok()?)?;
        }
    }
    Some(node)
}

/// The pairs of a mapping.
pub(super) fn pairs(node: &Node) -> &[Pair] {
    match &node.kind {
        NodeKind::Mapping(pairs) => pairs,
        _ => &[],
    }
}

/// The items of a list.
pub(super) fn items(node: &Node) -> &[Node] {
    match &node.kind {
        NodeKind::Sequence(items) => items,
        _ => &[],
    }
}

/// The value of `key` in a mapping.
pub(super) fn value_of<'t>(node: &'t Node, key: &str) -> Option<&'t Node> {
    pairs(node).iter().rev().find(|pair| pair.key.as_str() == Some(key)).map(|pair| &pair.value)
}

/// Whether a mapping or a list is in brackets.
pub(super) fn is_flow(text: &str, node: &Node) -> bool {
    slice(text, node.range).starts_with(['{', '['])
}

/// The end of what a pair states, without the white space and line ends behind it.
fn end_of(text: &str, node: &Node, least: TextSize) -> usize {
    let end = usize::from(node.range.end().max(least));
    let start = usize::from(least).min(end);
    text.get(start..end).map_or(end, |stated| start + stated.trim_end().len())
}

fn pair_end(text: &str, pair: &Pair) -> usize {
    let end = end_of(text, &pair.value, pair.key.range.end());
    // A key without a value has its colon.
    if end == usize::from(pair.key.range.end()) {
        let rest = text.get(end..).unwrap_or("");
        let blanks = rest.len() - rest.trim_start_matches(' ').len();
        if rest.trim_start_matches(' ').starts_with(':') {
            return end + blanks + 1;
        }
    }
    end
}

/// Removes the pair at position `at` of a mapping.
pub(super) fn remove_pair(text: &str, tree: &EntryTree, mapping: &Node, at: usize) -> Option<Edit> {
    let pairs = pairs(mapping);
    let extents: Vec<(usize, usize)> =
        pairs.iter().map(|pair| (usize::from(pair.key.range.start()), pair_end(text, pair))).collect();
    if is_flow(text, mapping) {
        remove_flow(text, tree, &extents, at)
    } else {
        remove_block(text, tree, &extents, at, false)
    }
}

/// Removes the item at position `at` of a list.
pub(super) fn remove_item(text: &str, tree: &EntryTree, list: &Node, at: usize) -> Option<Edit> {
    let extent = |item: &Node| (usize::from(item.range.start()), end_of(text, item, item.range.start()));
    let extents: Vec<(usize, usize)> = items(list).iter().map(extent).collect();
    if is_flow(text, list) {
        remove_flow(text, tree, &extents, at)
    } else {
        remove_block(text, tree, &extents, at, true)
    }
}

fn holds_comment(tree: &EntryTree, start: usize, end: usize) -> bool {
    tree.comments.iter().any(|comment| {
        let at = usize::from(comment.start());
        start <= at && at < end
    })
}

fn remove_flow(text: &str, tree: &EntryTree, extents: &[(usize, usize)], at: usize) -> Option<Edit> {
    let &(start, end) = extents.get(at)?;
    let (start, end) = match (at.checked_sub(1).and_then(|before| extents.get(before)), extents.get(at + 1)) {
        (_, Some(&(next, _))) => (start, next),
        (Some(&(_, before)), None) => (before, end),
        (None, None) => {
            // A comma may follow the only one.
            let rest = text.get(end..)?;
            let comma = rest.trim_start_matches([' ', '\t']).strip_prefix(',');
            (start, comma.map_or(end, |behind| text.len() - behind.len()))
        }
    };
    (!holds_comment(tree, start, end)).then(|| edit(span(start, end), ""))
}

fn remove_block(text: &str, tree: &EntryTree, extents: &[(usize, usize)], at: usize, dash: bool) -> Option<Edit> {
    let &(start, end) = extents.get(at)?;
    // Without its last part it would be no mapping, or list, any more.
    if extents.len() == 1 {
        return None;
    }
    let line = line_start(text, start);
    let lead = text.get(line..start)?.trim_matches(' ');
    if lead != if dash { "-" } else { "" } {
        // The first key of a list's item: the next one takes its place behind the dash.
        let &(next, _) = extents.get(at + 1)?;
        let apart = !dash && line_start(text, next) != line && !holds_comment(tree, line_stop(text, end), next);
        return apart.then(|| edit(span(start, next), ""));
    }
    // A comment inside would be lost; the one behind it is about it.
    if holds_comment(tree, start, end) {
        return None;
    }
    let below = next_line(text, end);
    if below == text.len() && !text.ends_with(['\n', '\r']) {
        // The last line has no end, and the one above is the last now.
        let above = text.get(..line)?.trim_end_matches(['\n', '\r']).len();
        return Some(edit(span(above, below), ""));
    }
    Some(edit(span(line, below), ""))
}

/// Adds `key: value` to a mapping: behind the pair at position `after`, or before the first.
pub(super) fn insert_pair(text: &str, mapping: &Node, after: Option<usize>, key: &str, value: &str) -> Option<Edit> {
    let NodeKind::Mapping(pairs) = &mapping.kind else { return None };
    let stated = format!("{key}: {value}");
    if is_flow(text, mapping) {
        let Some(first) = pairs.first() else {
            let at = usize::from(mapping.range.start()) + 1;
            return Some(edit(span(at, at), stated));
        };
        return Some(match after.and_then(|after| pairs.get(after)) {
            Some(pair) => {
                let at = pair_end(text, pair);
                edit(span(at, at), format!(", {stated}"))
            }
            None => edit(TextRange::empty(first.key.range.start()), format!("{stated}, ")),
        });
    }
    let first = pairs.first()?;
    let start = usize::from(first.key.range.start());
    let indent = " ".repeat(start - line_start(text, start));
    let end = line_end(text);
    // A value of several lines is indented as the key is.
    let stated = stated.replace('\n', &format!("{end}{indent}"));
    Some(match after.and_then(|after| pairs.get(after)) {
        Some(pair) => {
            let at = line_stop(text, pair_end(text, pair));
            edit(span(at, at), format!("{end}{indent}{stated}"))
        }
        None => edit(span(start, start), format!("{stated}{end}{indent}")),
    })
}

/// Whether an entry quotes with `'` rather than `"`.
fn prefers_single(tree: &EntryTree) -> bool {
    let (mut single, mut double) = (0, 0);
    let mut open = vec![&tree.value];
    while let Some(node) = open.pop() {
        match &node.kind {
            NodeKind::Scalar(scalar) => match scalar.style {
                ScalarStyle::SingleQuoted => single += 1,
                ScalarStyle::DoubleQuoted => double += 1,
                ScalarStyle::Plain | ScalarStyle::Literal | ScalarStyle::Folded => {}
            },
            NodeKind::Mapping(pairs) => open.extend(pairs.iter().flat_map(|pair| [&pair.key, &pair.value])),
            NodeKind::Sequence(items) => open.extend(items),
            NodeKind::Unreadable => {}
        }
    }
    single > double
}

/// `text` in the quotes that the entry uses.
pub(super) fn quoted(tree: &EntryTree, text: &str) -> String {
    let plain = !text.chars().any(char::is_control);
    if plain && !text.contains('\'') && (prefers_single(tree) || text.contains(['"', '\\'])) {
        format!("'{text}'")
    } else {
        format!("\"{}\"", escaped(text))
    }
}

/// `text` as it stands between double quotes.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c.is_control() || matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}') => {
                out.push_str(&format!("\\u{:04x}", u32::from(c)));
            }
            c => out.push(c),
        }
    }
    out
}

/// The scalar, a key or a value, that has `range` in it.
pub(super) fn scalar_at(tree: &EntryTree, range: TextRange) -> Option<&Node> {
    if tree.key.range.contains_range(range) && tree.key.as_scalar().is_some() {
        return Some(&tree.key);
    }
    match way(tree, range).last()? {
        Held::Pair(_, pairs, at) => {
            let Pair { key, value } = pairs.get(*at)?;
            [key, value].into_iter().find(|node| node.as_scalar().is_some() && node.range.contains_range(range))
        }
        Held::Item(_, items, at) => items.get(*at).filter(|item| item.as_scalar().is_some()),
    }
}

/// The decoded characters of a scalar that source characters stand for.
pub(super) fn decoded(scalar: &Scalar, node: &Node, range: TextRange) -> std::ops::Range<usize> {
    if range == node.range {
        return 0..scalar.text.len();
    }
    let start = usize::from(scalar.map.decoded(range.start()));
    let end = usize::from(scalar.map.decoded(range.end()));
    start..end.max(start)
}

/// Puts texts in place of parts of one scalar, in whatever style it is written. The ranges are source characters.
pub(super) fn rewrite(text: &str, tree: &EntryTree, changes: &[(TextRange, String)]) -> Option<Vec<Edit>> {
    let (first, _) = changes.first()?;
    let node = scalar_at(tree, *first)?;
    let scalar = node.as_scalar()?;
    let mut expected = scalar.text.to_string();
    let mut ordered: Vec<&(TextRange, String)> = changes.iter().collect();
    ordered.sort_by_key(|(range, _)| std::cmp::Reverse(range.start()));
    for (range, new) in &ordered {
        if !node.range.contains_range(*range) {
            return None;
        }
        let part = decoded(scalar, node, *range);
        expected.get(part.clone())?;
        expected.replace_range(part, new);
    }
    // An edit that covers the quotes leaves them.
    let inside = |range: TextRange| {
        let whole = scalar.map.range(TextRange::up_to(TextSize::of(&*scalar.text)));
        if range == node.range && !whole.is_empty() && node.range.contains_range(whole) { whole } else { range }
    };
    let encode = |new: &str| match scalar.style {
        ScalarStyle::SingleQuoted => new.replace('\'', "''"),
        ScalarStyle::DoubleQuoted => escaped(new),
        ScalarStyle::Plain | ScalarStyle::Literal | ScalarStyle::Folded => new.to_owned(),
    };
    let in_place: Vec<Edit> = ordered.iter().rev().map(|(range, new)| edit(inside(*range), encode(new))).collect();
    let mut ways = Vec::new();
    if !changes.iter().any(|(_, new)| new.contains(['\n', '\r'])) {
        ways.push(in_place);
    }
    if matches!(scalar.style, ScalarStyle::Plain | ScalarStyle::SingleQuoted | ScalarStyle::DoubleQuoted) {
        ways.push(vec![edit(node.range, quoted(tree, &expected))]);
    }
    ways.into_iter().find(|edits| reads_as(text, edits, node.range.start(), scalar, &expected))
}

/// Whether the scalar that starts at `start` has the text `expected` after `edits`.
fn reads_as(text: &str, edits: &[Edit], start: TextSize, before: &Scalar, expected: &str) -> bool {
    let Some(text) = apply(text, edits) else { return false };
    let tree = parse_entry(&text);
    let after = scalar_at(&tree, TextRange::empty(start)).filter(|node| node.range.start() == start);
    after.and_then(Node::as_scalar).is_some_and(|after| {
        *after.text == *expected && (after.value == ScalarValue::Str || before.value != ScalarValue::Str)
    })
}
