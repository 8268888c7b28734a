//! The spanned tree of one YAML entry.

use std::sync::Arc;

use super::SourceMap;
use crate::text::{TextRange, TextSize};

/// One YAML node. Its range covers the characters of the value itself, quotes and brackets included, but neither its
/// anchor, its tag, nor a comment. A value that is not there (`key:`) is a null [`Scalar`] with an empty range behind
/// the colon.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// The characters of the value.
    pub range: TextRange,
    /// What the value is.
    pub kind: NodeKind,
}

/// What a node is. Aliases are resolved while the tree is built (each use carries a defect of its own), so a tree has
/// none; an alias that resolves to nothing is [`NodeKind::Unreadable`].
#[derive(Debug, Clone, PartialEq)]
pub enum NodeKind {
    /// A scalar of any style.
    Scalar(Scalar),
    /// A mapping, with its pairs in the order written. Duplicate keys are kept (each repeat carries a defect).
    Mapping(Vec<Pair>),
    /// A sequence, with its items in the order written.
    Sequence(Vec<Node>),
    /// A place that the YAML reader could not make sense of; its defect has been reported.
    Unreadable,
}

/// A key and its value.
#[derive(Debug, Clone, PartialEq)]
pub struct Pair {
    /// The key; any node, as in YAML. A word that is no string (`on`, `null`) has its defect and is taken for the name
    /// that it was meant to be; its `yaml12` is then what it is to PyYAML.
    pub key: Node,
    /// The value.
    pub value: Node,
}

/// A scalar: its decoded text, how it was written, and what the two families of YAML readers make of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Scalar {
    /// The text after escapes and folds.
    pub text: Arc<str>,
    /// How it was written.
    pub style: ScalarStyle,
    /// What PyYAML's `safe_load` (YAML 1.1) reads.
    pub value: ScalarValue,
    /// What a YAML 1.2 core-schema reader (serde) reads, where it is not the same value.
    pub yaml12: Option<ScalarValue>,
    /// From offsets in `text` to offsets in the entry.
    pub map: SourceMap,
}

/// How a scalar was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScalarStyle {
    /// `text`
    Plain,
    /// `'text'`
    SingleQuoted,
    /// `"text"`
    DoubleQuoted,
    /// `|`
    Literal,
    /// `>`
    Folded,
}

/// The typed value of a scalar.
#[derive(Debug, Clone, PartialEq)]
pub enum ScalarValue {
    /// `null`, `~` or nothing.
    Null,
    /// A boolean.
    Bool(bool),
    /// An integer that fits 128 bits.
    Int(i128),
    /// A floating-point number; an integer beyond 128 bits is [`ScalarValue::Other`].
    Float(f64),
    /// A string.
    Str,
    /// Anything else that a reader types (a date, a huge integer, a tagged value), by the reader's name for it.
    Other(&'static str),
}

impl Scalar {
    /// The string `text`, written as it is from offset 0 of its source.
    pub fn plain(text: &str) -> Self {
        Scalar {
            text: text.into(),
            style: ScalarStyle::Plain,
            value: ScalarValue::Str,
            yaml12: None,
            map: SourceMap::identity(TextSize::new(0), TextSize::of(text)),
        }
    }
}

impl ScalarValue {
    /// What a message calls such a value: "a boolean", "an integer", …
    pub fn describe(&self) -> &'static str {
        match self {
            ScalarValue::Null => "null",
            ScalarValue::Bool(_) => "a boolean",
            ScalarValue::Int(_) => "an integer",
            ScalarValue::Float(_) => "a float",
            ScalarValue::Str => "a string",
            ScalarValue::Other(what) => what,
        }
    }
}

impl Node {
    /// The scalar, if it is one.
    pub fn as_scalar(&self) -> Option<&Scalar> {
        match &self.kind {
            NodeKind::Scalar(scalar) => Some(scalar),
            _ => None,
        }
    }

    /// The text of a string scalar: quoted, block, or plain text that PyYAML reads as a string.
    pub fn as_str(&self) -> Option<&str> {
        self.as_scalar().filter(|s| s.value == ScalarValue::Str).map(|s| &*s.text)
    }

    /// What a message calls this node: "a mapping", "a list", "an integer", …
    pub fn describe(&self) -> &'static str {
        match &self.kind {
            NodeKind::Scalar(scalar) => scalar.value.describe(),
            NodeKind::Mapping(_) => "a mapping",
            NodeKind::Sequence(_) => "a list",
            NodeKind::Unreadable => "unreadable YAML",
        }
    }
}
