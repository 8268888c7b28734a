//! What holds for any text at all. Used by the fuzz targets here and by the analyzer's tests.

#![allow(dead_code, unreachable_pub)]

use std::sync::Arc;

use tileops_analyzer::defect::{Findings, Place};
use tileops_analyzer::expr::{parse_expression, parse_shape, parse_type};
use tileops_analyzer::syntax::{
    EntryTree, Node, NodeKind, Scalar, ScalarStyle, ScalarValue, SourceMap, cut, parse_entry,
};
use tileops_analyzer::text::{TextLen, TextRange, TextSize};

/// Whether `range` lies in `text`, between characters.
fn is_place(text: &str, range: TextRange) -> bool {
    text.get(usize::from(range.start())..usize::from(range.end())).is_some()
}

/// Every place of every defect lies in the text.
pub fn findings(text: &str, findings: &Findings) {
    for defect in &findings.defects {
        assert!(is_place(text, defect.range), "{defect:?} in {text:?}");
        assert!(!defect.message.is_empty() && !defect.message.ends_with('.'), "{defect:?}");
        for related in &defect.related {
            let Place::Here(range) = related.place else { continue };
            assert!(is_place(text, range), "{defect:?} in {text:?}");
        }
    }
}

fn node(text: &str, node: &Node) {
    assert!(is_place(text, node.range), "{node:?} in {text:?}");
    match &node.kind {
        NodeKind::Unreadable => {}
        NodeKind::Scalar(scalar) => {
            assert_eq!(scalar.map.decoded_len(), TextSize::of(&*scalar.text));
            let mut last = TextSize::new(0);
            for (i, c) in scalar.text.char_indices() {
                let source = scalar.map.range(TextRange::at(TextSize::new(i as u32), c.text_len()));
                assert!(is_place(text, source), "{c:?} of {scalar:?} in {text:?}");
                assert!(source.start() >= last, "{scalar:?} in {text:?}");
                last = source.end();
                if source.len() == c.text_len() && !c.is_whitespace() && !text.contains('\\') {
                    assert!(text[source].starts_with(c), "{c:?} of {scalar:?} in {text:?}");
                }
            }
            let end = scalar.map.offset(TextSize::of(&*scalar.text));
            assert!(is_place(text, TextRange::empty(end)), "{scalar:?} in {text:?}");
        }
        NodeKind::Mapping(pairs) => {
            for pair in pairs {
                self::node(text, &pair.key);
                self::node(text, &pair.value);
            }
        }
        NodeKind::Sequence(items) => items.iter().for_each(|item| self::node(text, item)),
    }
}

/// A text read as an entry.
pub fn entry(text: &str) -> EntryTree {
    let tree = parse_entry(text);
    node(text, &tree.key);
    node(text, &tree.value);
    findings(text, &tree.findings);
    for &comment in &tree.comments {
        assert!(is_place(text, comment) && text[comment].starts_with('#'), "{comment:?} in {text:?}");
    }
    let unreadable = tree.key.kind == NodeKind::Unreadable || tree.value.kind == NodeKind::Unreadable;
    assert!(!unreadable || !tree.findings.defects.is_empty(), "nothing unreadable without a defect: {text:?}");
    tree
}

/// A text read as a file.
pub fn file(text: &str) {
    let cut = cut(text);
    findings(text, &cut.findings);
    let mut end = cut.head;
    for chunk in &cut.chunks {
        assert_eq!(chunk.range.start(), end, "{text:?}");
        assert!(is_place(text, chunk.range), "{text:?}");
        end = chunk.range.end();
        entry(&text[chunk.range]);
    }
    assert_eq!(end, TextSize::of(text), "the chunks cover the file: {text:?}");
    if cut.chunks.is_empty() {
        assert!(!cut.findings.defects.is_empty(), "a file without entries has a defect: {text:?}");
    }
    entry(text);
}

fn scalar(text: &str) -> (Scalar, TextRange) {
    let range = TextRange::up_to(TextSize::of(text));
    let map = SourceMap::identity(range.start(), range.len());
    let scalar =
        Scalar { text: Arc::from(text), style: ScalarStyle::DoubleQuoted, value: ScalarValue::Str, yaml12: None, map };
    (scalar, range)
}

/// Reads `text` one way; what it prints as, if it is well-formed.
fn read<T: ToString>(text: &str, parse: impl Fn(&Scalar, TextRange, &str, &mut Findings) -> T) -> Option<String> {
    let (scalar, range) = scalar(text);
    let mut found = Findings::default();
    let tree = parse(&scalar, range, "path", &mut found);
    findings(text, &found);
    found.defects.is_empty().then(|| tree.to_string())
}

/// A text read as an expression, a shape and a type: places lie in it, and what is well-formed prints as something that
/// reads as the same.
pub fn expression(text: &str) {
    if let Some(printed) = read(text, parse_expression) {
        assert_eq!(read(&printed, parse_expression).as_ref(), Some(&printed), "{text:?}");
    }
    if let Some(printed) = read(text, parse_shape) {
        assert_eq!(read(&printed, parse_shape).as_ref(), Some(&printed), "{text:?}");
    }
    if let Some(printed) = read(text, parse_type) {
        assert_eq!(read(&printed, parse_type).as_ref(), Some(&printed), "{text:?}");
    }
}
