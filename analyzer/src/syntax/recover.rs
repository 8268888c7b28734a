//! Reading an entry that is not well-formed.
//!
//! A reader of YAML stops at the first thing it refuses. To read on, the smallest place that explains the refusal is
//! replaced, at the same length, by something harmless, and the entry is read again: the replaced place becomes
//! [`NodeKind::Unreadable`], everything else keeps its meaning and its offsets, and the next refusal is a defect of its
//! own. Candidates are tried from the smallest: an item between brackets, what tree-sitter's error-tolerant parser marks
//! as an error, the value of a key, a line with what is indented below it. The first that lets the reader get past is
//! taken.

use super::compose::{Composed, compose};
use super::scan::{Refusal, is_break, span};
use super::{Node, NodeKind, Pair, characters, tree_sitter};
use crate::defect::{Findings, codes};
use crate::text::{TextRange, TextSize};

/// How many refusals of one entry are told one by one. What lies behind the last is unreadable.
const MAX_REFUSALS: usize = 12;
/// How many bytes the readings of one entry may cover, all together, beyond the first.
const REREAD_BUDGET: usize = 1 << 22;

/// An entry as far as it can be read.
pub(super) struct Recovered {
    pub(super) root: Option<Node>,
    pub(super) comments: Vec<TextRange>,
    pub(super) findings: Findings,
}

/// What a damaged place is replaced by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fill {
    /// A value.
    Scalar,
    /// A key without a value.
    Pair,
    /// Nothing.
    Blank,
}

pub(super) fn read(chunk: &str) -> Recovered {
    let mut findings = Findings::default();
    let clean = characters::clean(chunk, &mut findings);
    let characters = clean.damage.clone();
    let mut damage = clean.damage;
    let mut text = clean.text.into_owned();
    let mut blanks: Vec<TextRange> = Vec::new();
    let mut budget = REREAD_BUDGET.max(4 * text.len());
    let mut composed = compose(&text, &damage);
    let mut told = 0;
    let mut faults = Vec::new();
    while let Some((path, refusal)) = composed.refusal.take() {
        // What stopped the reading forgets the faults in front of it; they are seen again below.
        let refusal = blame(&text, refusal);
        told += 1;
        // A character that YAML forbids has a defect already.
        if !characters
            .iter()
            .any(|c| c.contains_range(refusal.range) || c.intersect(refusal.range).is_some_and(|r| !r.is_empty()))
        {
            report(&mut findings, chunk, &path, &refusal);
        }
        let mut candidates = if told < MAX_REFUSALS { candidates(&text, &refusal) } else { Vec::new() };
        candidates.extend(last_resorts(&text, &refusal));
        let mut next: Option<(String, Vec<TextRange>, Composed)> = None;
        for (range, fill) in candidates {
            if budget < text.len() {
                break;
            }
            budget -= text.len();
            let attempt = replace(&text, range, fill);
            let mut attempt_damage = damage.clone();
            insert(&mut attempt_damage, range);
            let result = compose(&attempt, &attempt_damage);
            let gets_past = match &result.refusal {
                None => true,
                Some((_, next)) => next.at >= usize::from(range.end()) && next.at > refusal.at,
            };
            if gets_past {
                if fill == Fill::Blank {
                    blanks.push(range);
                }
                next = Some((attempt, attempt_damage, result));
                break;
            }
        }
        match next {
            Some((new_text, new_damage, result)) => (text, damage, composed) = (new_text, new_damage, result),
            None => {
                composed.root = None;
                break;
            }
        }
    }
    faults.append(&mut composed.faults);
    for (path, fault) in &faults {
        report(&mut findings, chunk, path, fault);
    }
    findings.append(std::mem::take(&mut composed.findings));
    if let Some(root) = &mut composed.root {
        for &range in &blanks {
            mark(root, chunk, range);
        }
    }
    Recovered { root: composed.root, comments: composed.comments, findings }
}

fn report(findings: &mut Findings, chunk: &str, path: &str, refusal: &Refusal) {
    let code = if refusal.is_limit { &codes::YAML_LIMIT } else { &codes::YAML_SYNTAX };
    let range = span(
        chunk.floor_char_boundary(refusal.range.start().into()),
        chunk.floor_char_boundary(refusal.range.end().into()),
    );
    let defect = findings.report(code, range, path, "", refusal.message.clone());
    defect.help = refusal.help.map(str::to_owned);
}

fn insert(damage: &mut Vec<TextRange>, range: TextRange) {
    damage.retain(|old| !range.contains_range(*old));
    let at = damage.partition_point(|old| old.start() <= range.start());
    damage.insert(at, range);
}

/// `text` with `range` replaced at the same length; line breaks stay.
fn replace(text: &str, range: TextRange, fill: Fill) -> String {
    let (start, end) = (usize::from(range.start()), usize::from(range.end()));
    let mut replaced = String::with_capacity(text.len());
    replaced.push_str(text.get(..start).unwrap_or_default());
    let mut first_line = true;
    let mut place = 0;
    for c in text.get(start..end).unwrap_or_default().chars() {
        if is_break(c) {
            first_line = false;
            replaced.push(c);
            continue;
        }
        for _ in 0..c.len_utf8() {
            replaced.push(match fill {
                Fill::Scalar if first_line => 'x',
                Fill::Pair if first_line && place == 0 => 'x',
                Fill::Pair if first_line && place == 1 => ':',
                _ => ' ',
            });
            place += 1;
        }
    }
    replaced.push_str(text.get(end..).unwrap_or_default());
    replaced
}

/// The line that an offset stands on, and what is in front of its value.
struct Line {
    end: usize,
    /// Behind the indentation and the dashes.
    content: usize,
    /// The column of the last dash, or of the content.
    column: usize,
    has_dash: bool,
    /// Behind the first `key:`, with the blanks that follow it.
    value: Option<usize>,
    /// The offset of that colon.
    colon: usize,
}

fn line_start(text: &str, at: usize) -> usize {
    let before = text.get(..at).unwrap_or_default();
    before.char_indices().rev().find(|&(_, c)| is_break(c)).map_or(0, |(i, c)| i + c.len_utf8())
}

fn line_end(text: &str, at: usize) -> usize {
    let rest = text.get(at..).unwrap_or_default();
    rest.find(is_break).map_or(text.len(), |end| at + end)
}

fn line_of(text: &str, at: usize) -> Line {
    let start = line_start(text, at);
    let end = line_end(text, at);
    let bytes = text.as_bytes();
    let is_blank = |at: usize| at >= end || matches!(bytes.get(at), Some(b' ' | b'\t'));
    let mut content = start;
    let mut dash = None;
    loop {
        match bytes.get(content) {
            Some(b' ' | b'\t') if content < end => content += 1,
            Some(b'-' | b'?') if content < end && is_blank(content + 1) => {
                dash = Some(content);
                content += 1;
            }
            _ => break,
        }
    }
    let line = text.get(content..end).unwrap_or_default();
    let key_end = match line.as_bytes().first() {
        Some(&quote @ (b'"' | b'\'')) => {
            let close = line.get(1..).unwrap_or_default().bytes().position(|b| b == quote);
            close
                .map(|close| close + 2)
                .filter(|&end| line.get(end..).is_some_and(|rest| rest.trim_start().starts_with(':')))
        }
        Some(b'[' | b'{') => None,
        _ => Some(0),
    };
    let colon = key_end.and_then(|from| {
        let rest = line.as_bytes().get(from..)?;
        let found = rest
            .iter()
            .enumerate()
            .position(|(i, &b)| b == b':' && matches!(rest.get(i + 1), None | Some(b' ' | b'\t')))?;
        Some(content + from + found)
    });
    let value = colon.map(|colon| {
        let rest = text.get(colon + 1..end).unwrap_or_default();
        colon + 1 + (rest.len() - rest.trim_start_matches([' ', '\t']).len())
    });
    Line {
        end,
        content,
        column: dash.unwrap_or(content) - start,
        has_dash: dash.is_some(),
        value,
        colon: colon.unwrap_or(end),
    }
}

/// The end of the lines below `end` that are indented deeper than `column`; with `dashes`, list items at `column` too.
fn end_of_deeper(text: &str, end: usize, column: usize, dashes: bool) -> usize {
    let mut last = end;
    let mut at = end;
    while let Some(c) = text.get(at..).and_then(|rest| rest.chars().next()) {
        let start = match c {
            '\r' if text.as_bytes().get(at + 1) == Some(&b'\n') => at + 2,
            c => at + c.len_utf8(),
        };
        at = line_end(text, start);
        let line = text.get(start..at).unwrap_or_default();
        let content = line.trim_start_matches([' ', '\t']);
        if content.is_empty() {
            continue;
        }
        let indent = line.len() - content.len();
        let is_item = dashes && indent == column && (content == "-" || content.starts_with("- "));
        if indent <= column && !is_item {
            break;
        }
        last = at;
    }
    last
}

/// The end of the lines below `end` that are indented with tabs as well.
fn end_of_tabbed(text: &str, end: usize) -> usize {
    let mut last = end;
    loop {
        let start = last + text.get(last..).and_then(|rest| rest.chars().next()).map_or(0, char::len_utf8);
        let end = line_end(text, start);
        let line = text.get(start..end).unwrap_or_default();
        if start == last || !line.trim_start_matches(' ').starts_with('\t') {
            return last;
        }
        last = end;
    }
}

/// A bracket on an earlier line that is not closed before the block goes on is to blame for what is refused below it.
fn blame(text: &str, refusal: Refusal) -> Refusal {
    let Some(open) = refusal.flow else { return refusal };
    let at = usize::from(refusal.range.start());
    if refusal.is_limit || refusal.construct == Some(open) || line_start(text, at) <= open {
        return refusal;
    }
    let line = line_of(text, open);
    let mut next = line.end;
    while next < at {
        let start = next + text.get(next..).and_then(|rest| rest.chars().next()).map_or(1, char::len_utf8);
        next = line_end(text, start);
        let below = line_of(text, start);
        let indent = below.content - start;
        let is_sibling = indent <= line.column && (below.value.is_some() || below.has_dash);
        if is_sibling && start < text.len() && below.content < below.end {
            let bracket = text.get(open..=open).unwrap_or("[");
            return Refusal {
                range: span(open, open + 1),
                construct: Some(open),
                message: format!("this `{bracket}` is never closed"),
                help: None,
                ..refusal
            };
        }
    }
    refusal
}

/// Replacements that may let the reader past `refusal`, best first.
fn candidates(text: &str, refusal: &Refusal) -> Vec<(TextRange, Fill)> {
    let mut candidates = Vec::new();
    let culprit = refusal.construct.unwrap_or(refusal.range.start().into()).min(text.len());
    let line = line_of(text, culprit);
    if let Some(open) = refusal.flow
        && let Some(item) = flow_item(text, open, culprit)
    {
        if let Some(value) = flow_value(text, item)
            && value.start() <= TextSize::of(text.get(..culprit).unwrap_or_default())
        {
            candidates.push((value, Fill::Scalar));
        }
        candidates.push((item, Fill::Scalar));
    }
    match line.value {
        Some(value) if culprit > line.colon && value < line.end => {
            let column = if line.has_dash { line.content - line_start(text, culprit) } else { line.column };
            let unit = span(value, end_of_deeper(text, line.end, column, true));
            let smaller = tree_sitter::errors(text).into_iter().filter(|error| {
                unit.contains_range(*error) && error.end() >= refusal.range.start() && !error.is_empty()
            });
            candidates.extend(smaller.map(|error| (error, Fill::Scalar)));
            candidates.push((unit, Fill::Scalar));
            candidates.push((unit, Fill::Blank));
        }
        _ => {
            // A tab in front of the line is part of what is wrong with it.
            let start = line.content.min(culprit);
            let end = if start < line.content {
                end_of_tabbed(text, line.end)
            } else {
                end_of_deeper(text, line.end, line.column, false)
            };
            let unit = span(start, end);
            let fills = if start < line.content {
                &[Fill::Blank][..]
            } else if line.has_dash && line.value.is_none() {
                &[Fill::Scalar, Fill::Pair, Fill::Blank]
            } else {
                &[Fill::Pair, Fill::Blank, Fill::Scalar]
            };
            candidates.extend(fills.iter().map(|&fill| (unit, fill)));
        }
    }
    candidates.retain(|(range, _)| !range.is_empty());
    candidates
}

/// Replacements of everything from the refused line, or from the one above it, on.
fn last_resorts(text: &str, refusal: &Refusal) -> Vec<(TextRange, Fill)> {
    let at = refusal.construct.unwrap_or(usize::MAX).min(refusal.range.start().into()).min(text.len());
    let start = line_start(text, at);
    let end = text.trim_end().len();
    let mut resorts = Vec::new();
    let above = line_start(text, text.floor_char_boundary(start.saturating_sub(1)));
    for from in [start, above] {
        let line = line_of(text, from);
        // The entry's own key is kept.
        let from = if from == 0 { line.value.unwrap_or(line.content) } else { line.content };
        if from < end {
            resorts.push((span(from, end), Fill::Blank));
            resorts.push((span(from, end), Fill::Scalar));
        }
    }
    // Everything behind the entry's key.
    let first = text.find(|c: char| !(c.is_whitespace())).map_or(0, |at| line_of(text, at).value.unwrap_or(at));
    if first < end {
        resorts.push((span(first, end), Fill::Blank));
        resorts.push((span(first, end), Fill::Scalar));
    }
    resorts
}

/// The item of the bracket at `open` that `at` stands in, if the bracket is closed.
fn flow_item(text: &str, open: usize, at: usize) -> Option<TextRange> {
    let bytes = text.as_bytes();
    let mut stack: Vec<u8> = Vec::new();
    let mut before = b',';
    let mut start = open + 1;
    let mut found = None;
    let mut i = open;
    loop {
        let &b = bytes.get(i)?;
        match b {
            b'[' => stack.push(b']'),
            b'{' => stack.push(b'}'),
            b']' | b'}' if stack.pop() != Some(b) => return None,
            b'"' | b'\'' if matches!(before, b'[' | b'{' | b',' | b':') => {
                let rest = bytes.get(i + 1..)?;
                i += 1 + rest.iter().position(|&c| c == b)?;
            }
            _ => {}
        }
        let item_ends = (b == b',' && stack.len() == 1) || stack.is_empty();
        if item_ends && found.is_none() {
            if start <= at && at <= i {
                found = Some((start, i));
            }
            start = i + 1;
        }
        if stack.is_empty() {
            break;
        }
        if !b.is_ascii_whitespace() {
            before = b;
        }
        i += 1;
    }
    let (start, end) = found?;
    let item = text.get(start..end)?;
    let start = start + (item.len() - item.trim_start().len());
    let end = start + item.trim().len();
    (start < end).then(|| span(start, end))
}

/// The value of an item between brackets that starts with a plain key.
fn flow_value(text: &str, item: TextRange) -> Option<TextRange> {
    let (key, value) = text.get(usize::from(item.start())..usize::from(item.end()))?.split_once(": ")?;
    let is_plain = key.chars().all(|c| c.is_alphanumeric() || c == '_');
    let start = usize::from(item.end()) - value.trim_start().len();
    // A second key in it tells of a comma that is missing, and then both pairs are in doubt.
    (is_plain && !value.contains(": ") && start < usize::from(item.end())).then(|| span(start, item.end().into()))
}

/// Puts an unreadable pair or item where a line was blanked, so that no one takes what it said for absent.
fn mark(root: &mut Node, text: &str, range: TextRange) {
    let start = usize::from(range.start());
    let column = match text.as_bytes().get(start) {
        // How deep a tab goes is anyone's guess; the line above is as good as any.
        Some(b'\t') => usize::MAX,
        _ => start - line_start(text, start),
    };
    let mut is_root = true;
    let unreadable = || Node { range, kind: NodeKind::Unreadable };
    let mut node = root;
    loop {
        // The last member that starts before the line, if the line is indented deeply enough to belong to it.
        let deeper = match &node.kind {
            NodeKind::Mapping(pairs) => {
                let last = pairs.partition_point(|pair| pair.key.range.start() < range.start());
                // Whatever is indented at all belongs to the entry.
                let column = if is_root && column > 0 { usize::MAX } else { column };
                last.checked_sub(1)
                    .filter(|&i| pairs.get(i).is_some_and(|p| holds(&p.value, text, range.start(), column)))
            }
            NodeKind::Sequence(items) => {
                let last = items.partition_point(|item| item.range.start() < range.start());
                last.checked_sub(1)
                    .filter(|&i| items.get(i).is_some_and(|item| holds(item, text, range.start(), column)))
            }
            NodeKind::Scalar(_) | NodeKind::Unreadable => None,
        };
        is_root = false;
        if let Some(i) = deeper {
            // The position was found in this very list just above.
            node = match &mut node.kind {
                NodeKind::Mapping(pairs) => &mut pairs[i].value,
                NodeKind::Sequence(items) => &mut items[i],
                NodeKind::Scalar(_) | NodeKind::Unreadable => return,
            };
            continue;
        }
        match &mut node.kind {
            NodeKind::Mapping(pairs) => {
                let at = pairs.partition_point(|pair| pair.key.range.start() < range.start());
                pairs.insert(at, Pair { key: unreadable(), value: unreadable() });
            }
            NodeKind::Sequence(items) => {
                let at = items.partition_point(|item| item.range.start() < range.start());
                items.insert(at, unreadable());
            }
            NodeKind::Scalar(_) | NodeKind::Unreadable => {}
        }
        return;
    }
}

/// Whether a line at `column` behind `at` belongs to `node`, a value read before it.
fn holds(node: &Node, text: &str, at: TextSize, column: usize) -> bool {
    let is_collection = match &node.kind {
        NodeKind::Mapping(pairs) => !pairs.is_empty(),
        NodeKind::Sequence(items) => !items.is_empty(),
        NodeKind::Scalar(_) | NodeKind::Unreadable => false,
    };
    let start = usize::from(node.range.start());
    let is_block = !matches!(text.as_bytes().get(start), Some(b'{' | b'['));
    is_collection && is_block && node.range.start() < at && start - line_start(text, start) <= column
}
