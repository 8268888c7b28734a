//! Byte offset to line and column, for any line ending.

use text_size::TextSize;

/// A line and a column, both from zero; the column counts Unicode scalars.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LineColumn {
    /// The line, from zero.
    pub line: u32,
    /// Unicode scalars before the position on its line.
    pub column: u32,
}

/// Where each line of a text starts. `\n`, `\r\n` and a lone `\r` each end a line, as in YAML and in LSP.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LineIndex {
    starts: Vec<TextSize>,
    len: TextSize,
}

impl LineIndex {
    /// Indexes `text`.
    pub fn new(text: &str) -> Self {
        let bytes = text.as_bytes();
        let mut starts = vec![TextSize::new(0)];
        for (i, &b) in bytes.iter().enumerate() {
            let ends_line = b == b'\n' || (b == b'\r' && bytes.get(i + 1) != Some(&b'\n'));
            if ends_line {
                starts.push(TextSize::new(i as u32 + 1));
            }
        }
        LineIndex { starts, len: TextSize::of(text) }
    }

    /// How many lines the text has; at least one.
    pub fn line_count(&self) -> u32 {
        self.starts.len() as u32
    }

    /// The offset at which `line` starts; the text's end for a line past it.
    pub fn line_start(&self, line: u32) -> TextSize {
        self.starts.get(line as usize).copied().unwrap_or(self.len)
    }

    /// The line that `offset` falls on; an offset past the end falls on the last line.
    pub fn line(&self, offset: TextSize) -> u32 {
        self.starts.partition_point(|&start| start <= offset) as u32 - 1
    }

    /// The line and column of `offset` in `text`, the text that was indexed. An offset past the end or inside a
    /// character counts as the nearest one before it.
    pub fn line_column(&self, text: &str, offset: TextSize) -> LineColumn {
        let line = self.line(offset.min(self.len));
        let start = usize::from(self.line_start(line));
        let mut end = usize::from(offset).min(text.len());
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        let column = text.get(start..end).map_or(0, |s| s.chars().count() as u32);
        LineColumn { line, column }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_ending_ends_a_line() {
        let text = "a\nb\r\nc\rd";
        let index = LineIndex::new(text);
        assert_eq!(index.line_count(), 4);
        let at = |needle: &str| {
            let found = index.line_column(text, TextSize::new(text.find(needle).expect("present") as u32));
            (found.line, found.column)
        };
        assert_eq!([at("a"), at("b"), at("c"), at("d")], [(0, 0), (1, 0), (2, 0), (3, 0)]);
    }

    #[test]
    fn columns_count_scalars_and_never_split_one() {
        let text = "é😀x";
        let index = LineIndex::new(text);
        assert_eq!(index.line_column(text, TextSize::new(6)).column, 2);
        assert_eq!(index.line_column(text, TextSize::new(4)).column, 1);
        assert_eq!(index.line_column(text, TextSize::new(99)).column, 3);
    }
}
