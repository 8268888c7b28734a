//! Sites of an entry's text: its mappings, lists and scalars by path, and the tokens of its expressions.

use std::ops::Range;

use tileops_analyzer::syntax::{EntryTree, Node, NodeKind, ScalarStyle, ScalarValue};
use tileops_analyzer::text::TextRange;

/// One node, by where it stands.
#[derive(Debug, Clone)]
pub(crate) struct Site<'t> {
    /// The keys and positions that lead to it.
    pub(crate) path: Vec<String>,
    /// The node.
    pub(crate) node: &'t Node,
    /// Its key, if it is the value of one.
    pub(crate) key: Option<&'t Node>,
    /// Key and value of what it stands in.
    pub(crate) parent: Range<usize>,
}

pub(crate) fn span(range: TextRange) -> Range<usize> {
    usize::from(range.start())..usize::from(range.end())
}

/// Every node below the entry, parents first.
pub(crate) fn sites(tree: &EntryTree) -> Vec<Site<'_>> {
    let mut found = Vec::new();
    let whole = span(tree.key.range).start..span(tree.value.range).end;
    walk(&tree.value, Some(&tree.key), Vec::new(), whole, &mut found);
    found
}

fn walk<'t>(node: &'t Node, key: Option<&'t Node>, path: Vec<String>, parent: Range<usize>, found: &mut Vec<Site<'t>>) {
    let whole = key.map_or(span(node.range).start, |key| span(key.range).start)..span(node.range).end;
    found.push(Site { path: path.clone(), node, key, parent });
    match &node.kind {
        NodeKind::Mapping(pairs) => {
            for pair in pairs {
                let mut path = path.clone();
                path.push(pair.key.as_scalar().map_or(String::new(), |s| s.text.to_string()));
                walk(&pair.value, Some(&pair.key), path, whole.clone(), found);
            }
        }
        NodeKind::Sequence(items) => {
            for (position, item) in items.iter().enumerate() {
                let mut path = path.clone();
                path.push(position.to_string());
                walk(item, None, path, whole.clone(), found);
            }
        }
        NodeKind::Scalar(_) | NodeKind::Unreadable => {}
    }
}

impl Site<'_> {
    /// Key and value.
    pub(crate) fn whole(&self) -> Range<usize> {
        let node = span(self.node.range);
        self.key.map_or(node.start, |key| span(key.range).start)..node.end
    }

    /// Whether the path is `pattern`, in which `*` stands for any one segment and `a|b` for either.
    pub(crate) fn is(&self, pattern: &str) -> bool {
        let mut segments = pattern.split('.');
        let fits = self.path.iter().all(|part| {
            segments.next().is_some_and(|segment| segment == "*" || segment.split('|').any(|one| one == part))
        });
        fits && segments.next().is_none()
    }

    /// The characters of a scalar between its quotes, or of all of it.
    pub(crate) fn inner(&self) -> Range<usize> {
        let whole = span(self.node.range);
        match self.node.as_scalar().map(|s| s.style) {
            Some(ScalarStyle::SingleQuoted | ScalarStyle::DoubleQuoted) if whole.len() >= 2 => {
                whole.start + 1..whole.end - 1
            }
            _ => whole,
        }
    }

    /// Whether the scalar is quoted or a block: anything can be written in it.
    pub(crate) fn is_quoted(&self) -> bool {
        self.node.as_scalar().is_some_and(|s| s.style != ScalarStyle::Plain)
    }

    /// Whether it holds an expression.
    pub(crate) fn is_expression(&self) -> bool {
        const PLACES: [&str; 8] = [
            "signature.params|inputs|outputs.*.shape",
            "signature.params|inputs|outputs.*.optional|nullable|mutated",
            "signature.params|inputs|outputs.*.dtype|values",
            "signature.params|inputs|outputs.*.requires.*",
            "signature.types.*.cases.*.is",
            "signature.let.*",
            "signature.shape_rules.*",
            "roofline.flops|bytes",
        ];
        self.node.as_scalar().is_some_and(|s| s.value == ScalarValue::Str) && PLACES.iter().any(|place| self.is(place))
    }

    pub(crate) fn last(&self) -> &str {
        self.path.last().map_or("", String::as_str)
    }
}

/// A token of an expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Token {
    pub(crate) kind: TokenKind,
    pub(crate) range: Range<usize>,
    pub(crate) text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TokenKind {
    /// A name that is no keyword, no callee, no field and no keyword argument.
    Name,
    /// `conv.out` of a call.
    Callee,
    /// What follows a dot, the dot left out.
    Field,
    /// `keepdim` of `keepdim=True`.
    Argument,
    /// `and`, `if`, …
    Keyword,
    /// A string, its quotes included.
    Text,
    Number,
    Operator,
}

const KEYWORDS: [&str; 8] = ["and", "or", "not", "in", "if", "else", "for", "is"];

/// The tokens of `text[range]`.
pub(crate) fn tokens(text: &str, range: Range<usize>) -> Vec<Token> {
    let source = &text[range.clone()];
    let bytes = source.as_bytes();
    let mut tokens: Vec<Token> = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let start = at;
        let kind = match bytes[at] {
            byte if byte.is_ascii_whitespace() || !byte.is_ascii() => {
                at += 1;
                continue;
            }
            b'\'' => {
                at += 1;
                while at < bytes.len() && bytes[at] != b'\'' {
                    at += 1;
                }
                at = (at + 1).min(bytes.len());
                TokenKind::Text
            }
            byte if byte.is_ascii_digit() => {
                while at < bytes.len() && (bytes[at].is_ascii_alphanumeric() || bytes[at] == b'.') {
                    at += 1;
                }
                TokenKind::Number
            }
            byte if byte.is_ascii_alphabetic() || byte == b'_' => {
                while at < bytes.len() && (bytes[at].is_ascii_alphanumeric() || bytes[at] == b'_') {
                    at += 1;
                }
                match KEYWORDS.contains(&&source[start..at]) {
                    true => TokenKind::Keyword,
                    false => TokenKind::Name,
                }
            }
            _ => {
                at += 1;
                let two = source.get(start..start + 2).unwrap_or("");
                if ["//", "==", "!=", "<=", ">=", "**"].contains(&two) {
                    at += 1;
                }
                TokenKind::Operator
            }
        };
        tokens.push(Token { kind, range: range.start + start..range.start + at, text: source[start..at].to_owned() });
    }
    // A scalar in a block starts with its header.
    if let [first, ..] = tokens.as_slice()
        && first.text == ">"
    {
        tokens.drain(..2.min(tokens.len()));
    }
    for position in 0..tokens.len() {
        if tokens[position].kind != TokenKind::Name {
            continue;
        }
        let text_at = |p: Option<usize>| p.and_then(|p| tokens.get(p)).map_or("", |token| token.text.as_str());
        let (before, after) = (text_at(position.checked_sub(1)), text_at(Some(position + 1)));
        let after_field = text_at(Some(position + 3));
        tokens[position].kind = if before == "." {
            if after == "(" { TokenKind::Callee } else { TokenKind::Field }
        } else if after == "(" || (after == "." && after_field == "(") {
            TokenKind::Callee
        } else if after == "=" {
            TokenKind::Argument
        } else {
            TokenKind::Name
        };
    }
    tokens
}

/// The edit that takes item `position` out of a mapping or a list: what to replace, by what.
pub(crate) fn removal(node: &Node, position: usize, text: &str) -> Option<(Range<usize>, &'static str)> {
    let items: Vec<Range<usize>> = match &node.kind {
        NodeKind::Mapping(pairs) => {
            pairs.iter().map(|pair| span(pair.key.range).start..span(pair.value.range).end).collect()
        }
        NodeKind::Sequence(items) => items.iter().map(|item| span(item.range)).collect(),
        _ => return None,
    };
    let own = items.get(position)?.clone();
    let empty = if matches!(node.kind, NodeKind::Mapping(_)) { "{}" } else { "[]" };
    Some(match (position, items.get(position + 1)) {
        (_, Some(next)) => (own.start..next.start, ""),
        (0, None) if text[span(node.range)].starts_with(['{', '[']) => (own, ""),
        (0, None) => (span(node.range), empty),
        (_, None) => (items[position - 1].end..own.end, ""),
    })
}
