//! The spanned tree of one YAML entry.

use std::sync::Arc;

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
    /// The key; any node, as in YAML.
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

/// A monotone map from offsets in a decoded scalar to offsets in the entry's source.
///
/// It is a list of runs; inside a run, one decoded byte is one source byte. A decoded character that came from an
/// escape or a fold starts a run of its own, whose source extent ends where the next run starts.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SourceMap {
    /// `(decoded start, source start)`, both strictly increasing; the last is the end of both texts.
    runs: Vec<(TextSize, TextSize)>,
}

impl SourceMap {
    /// A map that starts at `source` and copies `len` bytes one to one.
    pub fn identity(source: TextSize, len: TextSize) -> Self {
        let mut map = SourceMap::default();
        map.push(TextSize::new(0), source);
        map.push(len, source + len);
        map
    }

    /// Says that decoded offset `decoded` stands at `source`. Offsets must not decrease; a repeat of the last decoded
    /// offset moves its source (the end of one run is the start of the next).
    pub fn push(&mut self, decoded: TextSize, source: TextSize) {
        match self.runs.last_mut() {
            Some(last) if last.0 == decoded => last.1 = last.1.max(source),
            _ => self.runs.push((decoded, source)),
        }
    }

    /// Where the decoded offset stands in the source. An offset past the end stands at the end.
    pub fn offset(&self, decoded: TextSize) -> TextSize {
        let next = self.runs.partition_point(|&(d, _)| d <= decoded);
        let Some(&(run_decoded, run_source)) = next.checked_sub(1).and_then(|i| self.runs.get(i)) else {
            return self.runs.first().map_or(TextSize::new(0), |&(_, s)| s);
        };
        let within = run_source + (decoded - run_decoded);
        match self.runs.get(next) {
            Some(&(_, next_source)) => within.min(next_source),
            None => run_source,
        }
    }

    /// The source characters that decode to `range`.
    pub fn range(&self, range: TextRange) -> TextRange {
        let start = self.offset(range.start());
        if range.is_empty() {
            return TextRange::empty(start);
        }
        // The end of a character is the start of what follows it; stepping back one byte keeps a trailing fold or
        // escape of the *next* character out of the range.
        let last = range.end() - TextSize::new(1);
        let next = self.runs.partition_point(|&(d, _)| d <= last);
        let end = match next.checked_sub(1).and_then(|i| self.runs.get(i)) {
            Some(&(run_decoded, run_source)) => {
                let run_end = self.runs.get(next).copied().unwrap_or((run_decoded, run_source));
                let one_to_one = run_end.0 - run_decoded == run_end.1 - run_source;
                if one_to_one { run_source + (range.end() - run_decoded) } else { run_end.1 }
            }
            None => start,
        };
        TextRange::new(start, end.max(start))
    }

    /// The decoded offset that stands at or last before source offset `source`.
    pub fn decoded(&self, source: TextSize) -> TextSize {
        let next = self.runs.partition_point(|&(_, s)| s <= source);
        let Some(&(run_decoded, run_source)) = next.checked_sub(1).and_then(|i| self.runs.get(i)) else {
            return TextSize::new(0);
        };
        let within = run_decoded + (source - run_source);
        self.runs.get(next).map_or(run_decoded, |&(next_decoded, _)| within.min(next_decoded))
    }
}
