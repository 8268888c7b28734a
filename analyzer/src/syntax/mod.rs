//! YAML text to a spanned tree, entry by entry.
//!
//! A file is [`cut`] at its top-level keys and each entry is read on its own by [`parse_entry`]. What an entry says is
//! what PyYAML's `safe_load` says: the scanner and the grammar follow PyYAML's rule by rule (tree-sitter-yaml has the
//! grammar of YAML 1.2, refuses texts that PyYAML reads and takes others that it does not). Where an entry is not
//! well-formed, the reader looks for the smallest place that explains it, with tree-sitter's error-tolerant tree as one
//! of its advisers, and reads the rest.

mod characters;
mod compose;
mod cut;
mod recover;
mod resolve;
mod scan;
mod source_map;
#[cfg(test)]
mod tests;
mod tree;
mod tree_sitter;

pub(crate) use compose::unambiguous;
pub use cut::cut;
pub use source_map::SourceMap;
pub use tree::{Node, NodeKind, Pair, Scalar, ScalarStyle, ScalarValue};

use crate::defect::{Findings, codes};
use crate::text::{TextRange, TextSize};

/// The largest file that is read, in bytes.
pub const MAX_FILE_BYTES: usize = 32 << 20;
/// How many entries of a file are read.
pub const MAX_ENTRIES: usize = 20_000;
/// The largest entry that is read, in bytes.
pub const MAX_ENTRY_BYTES: usize = 8 << 20;
/// The longest entry that is read, in lines.
pub const MAX_ENTRY_LINES: usize = 30_000;
/// How deep mappings and lists nest in an entry that is read.
pub const MAX_DEPTH: usize = 64;

/// One top-level entry of a manifest file: its text and where it starts. Offsets inside an entry are relative to
/// `range.start()`, so an edit above it changes nothing in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chunk {
    /// The key as written and decoded (`GemmFwdOp`), or nothing where there is none to read.
    pub key: Option<String>,
    /// The chunk's characters in the file: from the key's line up to the next top-level key.
    pub range: TextRange,
}

/// A file cut at its top-level keys.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Cut {
    /// The entries, in order; together with the head they cover the file.
    pub chunks: Vec<Chunk>,
    /// Where the first chunk starts: comments, a BOM and directives stand before it.
    pub head: TextSize,
    /// Defects of the file as a whole (several documents, a top level that is no block mapping, …), in file offsets.
    pub findings: Findings,
}

/// One parsed entry.
#[derive(Debug, Clone, PartialEq)]
pub struct EntryTree {
    /// The entry's key.
    pub key: Node,
    /// The entry's value.
    pub value: Node,
    /// Comments, each with its `#`, in order: suppressions are written in them.
    pub comments: Vec<TextRange>,
    /// The YAML-level defects of the entry.
    pub findings: Findings,
}

/// Reads one entry: the characters of a [`Chunk`].
///
/// Whatever the text, there is a key and a value. What could not be read is [`NodeKind::Unreadable`] and has a defect;
/// everything else is there. A `---` or `...` line ends the entry.
pub fn parse_entry(chunk: &str) -> EntryTree {
    let mut findings = Findings::default();
    if let Some(message) = beyond_limits(chunk) {
        let start = TextRange::empty(TextSize::new(0));
        findings.report(&codes::YAML_LIMIT, first_line(chunk), "", "", message);
        let up_to_key = chunk.get(..usize::from(first_line(chunk).end())).unwrap_or_default();
        let key = match recover::read(up_to_key).root.map(|root| root.kind) {
            Some(NodeKind::Mapping(pairs)) => pairs.into_iter().next().map(|pair| pair.key),
            _ => None,
        };
        return EntryTree {
            key: key.unwrap_or(Node { range: start, kind: NodeKind::Unreadable }),
            value: Node { range: start, kind: NodeKind::Unreadable },
            comments: Vec::new(),
            findings,
        };
    }
    let recovered = recover::read(chunk);
    findings.append(recovered.findings);
    let unreadable = |range| Node { range, kind: NodeKind::Unreadable };
    let whole = recovered.root.as_ref().map_or(TextRange::empty(TextSize::new(0)), |root| root.range);
    let mut pairs = match recovered.root.map(|root| root.kind) {
        Some(NodeKind::Mapping(pairs)) => pairs.into_iter(),
        _ => Vec::new().into_iter(),
    };
    let (key, value) = match pairs.next() {
        Some(pair) => (pair.key, pair.value),
        None => {
            if findings.defects.is_empty() {
                let first = first_line(chunk);
                let text = chunk.get(usize::from(first.start())..usize::from(first.end())).unwrap_or_default();
                let message = match text {
                    "" => "the entry has no key".to_owned(),
                    text => format!("{} is no entry: no key with a `:` starts it", scan::shorten(text)),
                };
                let help = "write `Name:`, and below it, indented, what belongs to the entry";
                findings.report(&codes::YAML_SYNTAX, first, "", "", message).help(help);
            }
            (unreadable(whole), unreadable(whole))
        }
    };
    if let Some(second) = pairs.find(|pair| pair.key.kind != NodeKind::Unreadable) {
        let message = "a second key stands in one entry";
        let help = "start every entry in the same column, on a line of its own";
        findings.report(&codes::YAML_SYNTAX, second.key.range, "", "", message).help(help);
    }
    EntryTree { key, value, comments: recovered.comments, findings }
}

/// The first line that holds more than a comment, without its end; its start where it is very long.
fn first_line(chunk: &str) -> TextRange {
    let mut start = 0;
    for line in chunk.split_inclusive(['\n', '\r']) {
        let content = line.trim_end();
        if !content.is_empty() && !content.starts_with('#') {
            return scan::span(start, start + content.floor_char_boundary(4096));
        }
        start += line.len();
    }
    TextRange::default()
}

fn beyond_limits(chunk: &str) -> Option<String> {
    if chunk.len() > MAX_ENTRY_BYTES {
        return Some(format!("the entry has {} bytes, more than the {MAX_ENTRY_BYTES} that are read", chunk.len()));
    }
    let bytes = chunk.as_bytes();
    let ends_line = |(i, &b): (usize, &u8)| b == b'\n' || (b == b'\r' && bytes.get(i + 1) != Some(&b'\n'));
    let lines = bytes.iter().enumerate().filter(|&byte| ends_line(byte)).count();
    (lines > MAX_ENTRY_LINES)
        .then(|| format!("the entry has more than {MAX_ENTRY_LINES} lines, which is as long as one may be"))
}
