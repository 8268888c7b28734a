//! The text of an open document, edited as the client says, exactly.

use std::borrow::Cow;
use std::sync::Arc;

use ropey::Rope;
use tower_lsp::lsp_types::{Position, TextDocumentContentChangeEvent, Url};

use super::positions::{Encoding, without_break};

/// A document that a client has open.
#[derive(Debug)]
pub(crate) struct Document {
    /// Its address, as the client spells it.
    pub(crate) url: Url,
    /// The version that the client gave it last.
    pub(crate) version: i32,
    rope: Rope,
}

impl Document {
    pub(crate) fn new(url: Url, version: i32, text: &str) -> Self {
        Document { url, version, rope: Rope::from_str(text) }
    }

    /// Applies changes in their order. A position that is in no text, past the end or inside a character, is clamped.
    pub(crate) fn apply(&mut self, version: i32, changes: Vec<TextDocumentContentChangeEvent>, encoding: Encoding) {
        for change in changes {
            match change.range {
                None => self.rope = Rope::from_str(&change.text),
                Some(range) => {
                    let (a, b) = (self.char_of(range.start, encoding), self.char_of(range.end, encoding));
                    let (start, end) = (a.min(b), a.max(b));
                    // Both are at most the length in characters, by `char_of`.
                    self.rope.remove(start..end);
                    self.rope.insert(start, &change.text);
                }
            }
        }
        self.version = version;
    }

    /// The character that a position stands before.
    fn char_of(&self, position: Position, encoding: Encoding) -> usize {
        let line = position.line as usize;
        if line >= self.rope.len_lines() {
            return self.rope.len_chars();
        }
        let slice = self.rope.line(line);
        let text: Cow<'_, str> = slice.into();
        let byte = encoding.byte_of_column(without_break(&text), position.character);
        let within = text.get(..byte).map_or(0, |before| before.chars().count());
        self.rope.line_to_char(line) + within
    }

    /// The whole text.
    pub(crate) fn text(&self) -> Arc<str> {
        String::from(&self.rope).into()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tower_lsp::lsp_types::Range;

    use super::*;

    fn url() -> Url {
        Url::parse("untitled:a").expect("a URL")
    }

    fn change(range: Option<(u32, u32, u32, u32)>, text: &str) -> TextDocumentContentChangeEvent {
        let range = range.map(|(a, b, c, d)| Range::new(Position::new(a, b), Position::new(c, d)));
        TextDocumentContentChangeEvent { range, range_length: None, text: text.to_owned() }
    }

    #[test]
    fn changes_apply_in_order_each_to_the_text_before_it() {
        let mut document = Document::new(url(), 1, "ab\ncd\n");
        document.apply(
            2,
            vec![change(Some((0, 1, 1, 1)), "X\n"), change(Some((1, 0, 1, 0)), "Y"), change(Some((9, 9, 9, 9)), "end")],
            Encoding::Utf16,
        );
        assert_eq!((&*document.text(), document.version), ("aX\nYd\nend", 2));
        document.apply(3, vec![change(None, "new"), change(Some((0, 3, 0, 0)), "")], Encoding::Utf8);
        assert_eq!(&*document.text(), "");
    }

    #[test]
    fn only_the_breaks_of_the_protocol_end_lines() {
        let mut document = Document::new(url(), 1, "a\u{2028}b\u{85}c\u{b}d\re");
        document.apply(2, vec![change(Some((1, 0, 1, 0)), "!")], Encoding::Utf16);
        assert_eq!(&*document.text(), "a\u{2028}b\u{85}c\u{b}d\r!e");
    }

    /// The model: a text as a `String`, positions resolved by walking it.
    fn model_offset(text: &str, position: Position, encoding: Encoding) -> usize {
        let mut line_start = 0;
        for _ in 0..position.line {
            let rest = &text[line_start..];
            let Some(at) = rest.find(['\r', '\n']) else { return text.len() };
            line_start += at + if rest[at..].starts_with("\r\n") { 2 } else { 1 };
        }
        let line = &text[line_start..];
        let line = &line[..line.find(['\r', '\n']).unwrap_or(line.len())];
        let mut units = 0;
        for (byte, c) in line.char_indices() {
            let width = match encoding {
                Encoding::Utf8 => c.len_utf8(),
                Encoding::Utf16 => c.len_utf16(),
                Encoding::Utf32 => 1,
            };
            if units + width > position.character as usize {
                return line_start + byte;
            }
            units += width;
        }
        line_start + line.len()
    }

    fn edits() -> impl Strategy<Value = Vec<(u32, u32, u32, u32, String)>> {
        prop::collection::vec((0u32..8, 0u32..12, 0u32..8, 0u32..12, "[a\u{e9}😀\r\n\u{feff}]{0,6}"), 1..24)
    }

    proptest! {
        #[test]
        fn edits_give_what_they_give_of_a_string(start in "[a\u{e9}\u{2028}😀\r\n]{0,40}", edits in edits()) {
            for encoding in [Encoding::Utf8, Encoding::Utf16, Encoding::Utf32] {
                let mut document = Document::new(url(), 0, &start);
                let mut model = start.clone();
                for (version, (a, b, c, d, text)) in edits.iter().enumerate() {
                    let (from, to) = (Position::new(*a, *b), Position::new(*c, *d));
                    let (x, y) = (model_offset(&model, from, encoding), model_offset(&model, to, encoding));
                    model.replace_range(x.min(y)..x.max(y), text);
                    document.apply(version as i32, vec![change(Some((*a, *b, *c, *d)), text)], encoding);
                    prop_assert_eq!(&*document.text(), &*model);
                }
            }
        }
    }
}
