//! Protocol positions and byte offsets. Everything behind this file counts bytes.

use tileops_analyzer::text::{LineIndex, TextRange, TextSize};
use tower_lsp::lsp_types::{Position, PositionEncodingKind, Range};

/// The unit that a client counts columns in.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Encoding {
    Utf8,
    #[default]
    Utf16,
    Utf32,
}

impl Encoding {
    /// The encoding to use with a client that offers `offered`: the one asked for where it is offered; else UTF-16,
    /// which other servers of the same file use, as some clients cannot mix; else the first that is known.
    pub(crate) fn negotiate(offered: Option<&[PositionEncodingKind]>, asked: Option<&str>) -> Self {
        let offered: Vec<Encoding> =
            offered.unwrap_or_default().iter().filter_map(|kind| Encoding::named(kind.as_str())).collect();
        asked
            .and_then(Encoding::named)
            .filter(|asked| offered.contains(asked))
            .or_else(|| offered.iter().copied().find(|&encoding| encoding == Encoding::Utf16))
            .or_else(|| offered.first().copied())
            .unwrap_or(Encoding::Utf16)
    }

    fn named(name: &str) -> Option<Self> {
        match name {
            "utf-8" => Some(Encoding::Utf8),
            "utf-16" => Some(Encoding::Utf16),
            "utf-32" => Some(Encoding::Utf32),
            _ => None,
        }
    }

    /// The protocol's name for it.
    pub(crate) fn kind(self) -> PositionEncodingKind {
        match self {
            Encoding::Utf8 => PositionEncodingKind::UTF8,
            Encoding::Utf16 => PositionEncodingKind::UTF16,
            Encoding::Utf32 => PositionEncodingKind::UTF32,
        }
    }

    /// The length of `text` in the encoding's units.
    pub(crate) fn length(self, text: &str) -> u32 {
        let units = match self {
            Encoding::Utf8 => text.len(),
            Encoding::Utf16 => text.chars().map(char::len_utf16).sum(),
            Encoding::Utf32 => text.chars().count(),
        };
        u32::try_from(units).unwrap_or(u32::MAX)
    }

    /// The byte offset of `column` in `line`, a line without its break. A column past the end is the end; one inside a
    /// character is that character's start.
    pub(crate) fn byte_of_column(self, line: &str, column: u32) -> usize {
        let column = column as usize;
        if self == Encoding::Utf8 || line.is_ascii() {
            return line.floor_char_boundary(column.min(line.len()));
        }
        let mut units = 0;
        for (byte, character) in line.char_indices() {
            let width = if self == Encoding::Utf16 { character.len_utf16() } else { 1 };
            if units + width > column {
                return byte;
            }
            units += width;
        }
        line.len()
    }
}

/// A text and where its lines start: what positions in it are converted with.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Positions<'t> {
    pub(crate) text: &'t str,
    pub(crate) lines: &'t LineIndex,
    pub(crate) encoding: Encoding,
}

impl Positions<'_> {
    /// The position of a byte offset; one past the end is the end, one inside a character is that character's start.
    pub(crate) fn position(&self, offset: TextSize) -> Position {
        let offset = self.text.floor_char_boundary(usize::from(offset).min(self.text.len()));
        // The floor of an offset fits where the offset did.
        let line = self.lines.line(TextSize::try_from(offset).unwrap_or_default());
        let start = usize::from(self.lines.line_start(line));
        let before = self.text.get(start..offset).unwrap_or("");
        // A position is never between `\r` and `\n`, which are one break.
        let split = before.ends_with('\r') && self.text.as_bytes().get(offset) == Some(&b'\n');
        let before = if split { before.trim_end_matches('\r') } else { before };
        Position { line, character: self.encoding.length(before) }
    }

    /// The range between byte offsets.
    pub(crate) fn range(&self, range: TextRange) -> Range {
        Range { start: self.position(range.start()), end: self.position(range.end()) }
    }

    /// The byte offset of a position. One past the end of its line is the line's end, one past the last line is the
    /// text's end.
    pub(crate) fn offset(&self, position: Position) -> TextSize {
        if position.line >= self.lines.line_count() {
            return TextSize::of(self.text);
        }
        let start = self.lines.line_start(position.line);
        let end = self.lines.line_start(position.line + 1);
        let line = self.text.get(usize::from(start)..usize::from(end)).unwrap_or("");
        let line = without_break(line);
        let within = self.encoding.byte_of_column(line, position.character);
        start + TextSize::try_from(within).unwrap_or_default()
    }

    /// The byte range of a range; one that runs backwards is read forwards.
    pub(crate) fn text_range(&self, range: Range) -> TextRange {
        let (a, b) = (self.offset(range.start), self.offset(range.end));
        TextRange::new(a.min(b), a.max(b))
    }
}

/// A line without its break.
pub(crate) fn without_break(line: &str) -> &str {
    let line = line.strip_suffix('\n').unwrap_or(line);
    line.strip_suffix('\r').unwrap_or(line)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ALL: [Encoding; 3] = [Encoding::Utf8, Encoding::Utf16, Encoding::Utf32];

    fn with<T>(text: &str, encoding: Encoding, action: impl FnOnce(Positions<'_>) -> T) -> T {
        let lines = LineIndex::new(text);
        action(Positions { text, lines: &lines, encoding })
    }

    #[test]
    fn utf16_is_preferred_and_silence_means_it() {
        let utf8 = PositionEncodingKind::UTF8;
        let utf16 = PositionEncodingKind::UTF16;
        let utf32 = PositionEncodingKind::UTF32;
        assert_eq!(Encoding::negotiate(None, None), Encoding::Utf16);
        assert_eq!(Encoding::negotiate(Some(&[]), Some("utf-8")), Encoding::Utf16);
        assert_eq!(Encoding::negotiate(Some(&[utf8.clone(), utf16.clone()]), None), Encoding::Utf16);
        assert_eq!(Encoding::negotiate(Some(&[utf16, utf8.clone()]), Some("utf-8")), Encoding::Utf8);
        assert_eq!(Encoding::negotiate(Some(&[utf8]), None), Encoding::Utf8);
        assert_eq!(Encoding::negotiate(Some(&[utf32]), Some("utf-7")), Encoding::Utf32);
    }

    #[test]
    fn columns_count_the_units_of_the_encoding() {
        let text = "aé😀b\r\nx";
        for (encoding, column) in [(Encoding::Utf8, 7), (Encoding::Utf16, 4), (Encoding::Utf32, 3)] {
            with(text, encoding, |p| {
                assert_eq!(p.position(TextSize::new(7)), Position::new(0, column));
                assert_eq!(p.offset(Position::new(0, column)), TextSize::new(7));
            });
        }
    }

    #[test]
    fn what_is_past_the_end_or_inside_a_character_is_clamped() {
        let text = "a😀\r\nx";
        with(text, Encoding::Utf16, |p| {
            assert_eq!(p.offset(Position::new(0, 2)), TextSize::new(1), "the second half of a surrogate pair");
            assert_eq!(p.offset(Position::new(0, 99)), TextSize::new(5), "the line's end, before its break");
            assert_eq!(p.offset(Position::new(9, 0)), TextSize::new(8));
            assert_eq!(p.offset(Position::new(u32::MAX, u32::MAX)), TextSize::new(8));
            assert_eq!(p.position(TextSize::new(3)), Position::new(0, 1));
            assert_eq!(p.position(TextSize::new(6)), Position::new(0, 3), "between the halves of a break");
            assert_eq!(p.position(TextSize::new(99)), Position::new(1, 1));
        });
        with(text, Encoding::Utf8, |p| assert_eq!(p.offset(Position::new(0, 3)), TextSize::new(1)));
    }

    proptest! {
        #[test]
        fn every_offset_survives_the_round_trip(text in "[a\u{e9}\u{2028}\u{feff}😀\r\n]{0,40}") {
            for encoding in ALL {
                with(&text, encoding, |p| {
                    for (byte, _) in text.char_indices().chain([(text.len(), ' ')]) {
                        let split = byte > 0 && text.as_bytes()[byte - 1] == b'\r'
                            && text.as_bytes().get(byte) == Some(&b'\n');
                        if !split {
                            let offset = TextSize::new(byte as u32);
                            prop_assert_eq!(p.offset(p.position(offset)), offset);
                        }
                    }
                    Ok(())
                })?;
            }
        }

        #[test]
        fn any_position_gives_a_boundary(text in "[a\u{e9}😀\r\n]{0,20}", line in 0u32..9, column in 0u32..30) {
            for encoding in ALL {
                with(&text, encoding, |p| {
                    let offset = usize::from(p.offset(Position::new(line, column)));
                    prop_assert!(text.is_char_boundary(offset));
                    Ok(())
                })?;
            }
        }
    }
}
