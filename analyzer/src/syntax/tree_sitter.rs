//! Where tree-sitter's error-tolerant parser sees an error.
//!
//! It is asked about small entries that have been refused only: it is written in C, is slow on large inputs, and fails
//! on texts of some thirty thousand lines or a few hundred levels. Its grammar is that of YAML 1.2, so what it accepts
//! or refuses decides nothing.

use tree_sitter::Parser;

use super::scan::span;
use super::{MAX_DEPTH, MAX_ENTRY_LINES};
use crate::text::TextRange;

/// The largest text that is parsed.
const MAX_BYTES: usize = 0x8000;

/// The outermost error nodes, smallest first.
pub(super) fn errors(text: &str) -> Vec<TextRange> {
    if !is_safe(text) {
        return Vec::new();
    }
    // A lone carriage return ends a line, which the parser does not know.
    let text = text.replace('\r', "\n");
    let mut parser = Parser::new();
    if parser.set_language(&tree_sitter_yaml::LANGUAGE.into()).is_err() {
        return Vec::new();
    }
    let Some(tree) = parser.parse(&text, None) else { return Vec::new() };
    let mut errors = Vec::new();
    let mut cursor = tree.walk();
    loop {
        let node = cursor.node();
        let is_whole = node.parent().is_none();
        if node.is_error() && !is_whole {
            errors.push(span(node.start_byte(), node.end_byte()));
        } else if node.has_error() && cursor.goto_first_child() {
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                errors.sort_by_key(|range| (range.len(), range.start()));
                return errors;
            }
        }
    }
}

/// Whether `text` stays far from everything that the C parser cannot take.
fn is_safe(text: &str) -> bool {
    if text.len() > MAX_BYTES {
        return false;
    }
    let mut lines = 0;
    let mut brackets = 0usize;
    let mut deepest = 0;
    let mut indents: Vec<usize> = Vec::new();
    for line in text.split(['\n', '\r']) {
        lines += 1;
        let content = line.trim_start_matches([' ', '\t', '-', '?', ':']);
        let indent = line.len() - content.len();
        while indents.last().is_some_and(|&last| last >= indent) {
            indents.pop();
        }
        if !content.is_empty() {
            indents.push(indent);
        }
        // Dashes nest on their own line.
        let dashes = line.bytes().take(indent).filter(|b| matches!(b, b'-' | b'?' | b':')).count();
        for b in content.bytes() {
            match b {
                b'[' | b'{' => brackets += 1,
                b']' | b'}' => brackets = brackets.saturating_sub(1),
                _ => {}
            }
        }
        deepest = deepest.max(indents.len() + dashes + brackets);
    }
    lines <= MAX_ENTRY_LINES && deepest <= 2 * MAX_DEPTH
}
