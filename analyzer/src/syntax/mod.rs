//! YAML text to a spanned tree, entry by entry.

mod tree;

pub use tree::{Node, NodeKind, Pair, Scalar, ScalarStyle, ScalarValue, SourceMap};

use crate::defect::Findings;
use crate::text::{TextRange, TextSize};

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
