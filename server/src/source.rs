//! Input texts: read with a bound, decoded so that offsets in the file stay offsets in the text.

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use anyhow::{Context, Result, bail};
use tileops_analyzer::text::{LineColumn, LineIndex, TextRange, TextSize};

/// The largest input that is read. The analyzer has a smaller bound of its own, which is a defect with a place.
pub(crate) const MAX_BYTES: u64 = 64 << 20;

/// A text that is judged or shown.
#[derive(Debug)]
pub(crate) struct Source {
    /// The path that reports show.
    pub(crate) path: Arc<str>,
    /// The text.
    pub(crate) text: Arc<str>,
    lines: OnceLock<LineIndex>,
}

impl Source {
    pub(crate) fn new(path: Arc<str>, text: Arc<str>) -> Self {
        Source { path, text, lines: OnceLock::new() }
    }

    /// Where lines start. Indexed when first asked for: a file without defects is never asked.
    pub(crate) fn lines(&self) -> &LineIndex {
        self.lines.get_or_init(|| LineIndex::new(&self.text))
    }

    /// The line and column of `offset`, from zero, in Unicode scalars.
    pub(crate) fn line_column(&self, offset: TextSize) -> LineColumn {
        self.lines().line_column(&self.text, offset)
    }

    /// The column of `offset` on its line, from zero, in UTF-16 code units.
    pub(crate) fn utf16_column(&self, offset: TextSize) -> u32 {
        let before = TextRange::new(self.line_start(offset), offset.min(TextSize::of(&*self.text)));
        self.slice(before).encode_utf16().count() as u32
    }

    /// The start of the line that `offset` falls on.
    pub(crate) fn line_start(&self, offset: TextSize) -> TextSize {
        self.lines().line_start(self.lines().line(offset.min(TextSize::of(&*self.text))))
    }

    /// The characters of a line with its line break.
    pub(crate) fn line_range(&self, line: u32) -> TextRange {
        TextRange::new(self.lines().line_start(line), self.lines().line_start(line + 1))
    }

    /// The text in `range`; nothing where the range is none of this text's.
    pub(crate) fn slice(&self, range: TextRange) -> &str {
        self.text.get(usize::from(range.start())..usize::from(range.end())).unwrap_or("")
    }
}

/// What the bytes of an input are.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Decoded {
    /// Text. Each byte that is no UTF-8 was replaced by `_`, which keeps every offset and leaves the YAML around it
    /// readable; the ranges are those bytes, adjacent ones together.
    Text(String, Vec<TextRange>),
    /// No text, for the reason given.
    NoText(&'static str),
}

/// Decodes `bytes`.
pub(crate) fn decode(bytes: Vec<u8>) -> Decoded {
    let bytes = match String::from_utf8(bytes) {
        Ok(text) => return Decoded::Text(text, Vec::new()),
        Err(error) => error.into_bytes(),
    };
    if bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) {
        return Decoded::NoText("it is UTF-16; a manifest is UTF-8");
    }
    let mut text = String::with_capacity(bytes.len());
    let mut faults: Vec<TextRange> = Vec::new();
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        if chunk.invalid().is_empty() {
            continue;
        }
        let start = TextSize::of(&text);
        text.extend(chunk.invalid().iter().map(|_| '_'));
        let end = TextSize::of(&text);
        match faults.last_mut() {
            Some(last) if last.end() == start => *last = TextRange::new(last.start(), end),
            _ => faults.push(TextRange::new(start, end)),
        }
    }
    let bad: usize = faults.iter().map(|fault| usize::from(fault.len())).sum();
    if bad > 16 && bad > bytes.len() / 32 {
        return Decoded::NoText("it is binary, or not UTF-8; a manifest is UTF-8 text");
    }
    Decoded::Text(text, faults)
}

/// Reads a file of at most [`MAX_BYTES`].
pub(crate) fn read(path: &Path) -> Result<Vec<u8>> {
    let file = File::open(path)?;
    let metadata = file.metadata()?;
    if metadata.is_dir() {
        bail!("it is a folder");
    }
    bounded(file, usize::try_from(metadata.len().min(MAX_BYTES)).unwrap_or(0))
}

/// Reads `input` to its end, which comes before [`MAX_BYTES`].
pub(crate) fn bounded(input: impl Read, expected: usize) -> Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(expected + 1);
    input.take(MAX_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_BYTES {
        bail!("it is larger than {} MiB", MAX_BYTES >> 20);
    }
    Ok(bytes)
}

/// Reads a file that has to be text in UTF-8.
pub(crate) fn read_text(path: &Path) -> Result<String> {
    String::from_utf8(read(path)?).context("it is not UTF-8")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bad_bytes_keep_every_offset() {
        let Decoded::Text(text, faults) = decode(b"a: \xff\xfe\nb: \xc3\xa9\xe2\x82\n".to_vec()) else {
            panic!("text")
        };
        assert_eq!(text, "a: __\nb: \u{e9}__\n");
        let ranges: Vec<(u32, u32)> = faults.iter().map(|r| (r.start().into(), r.end().into())).collect();
        assert_eq!(ranges, [(3, 5), (11, 13)]);
    }

    #[test]
    fn what_is_no_text_is_said() {
        assert_eq!(decode(b"\xff\xfea\0".to_vec()), Decoded::NoText("it is UTF-16; a manifest is UTF-8"));
        assert!(matches!(decode(b"AFwdOp:\n  x: \0\xff\n".to_vec()), Decoded::Text(..)));
        let noise: Vec<u8> = (0..=255).collect();
        assert!(matches!(decode(noise.repeat(8)), Decoded::NoText(_)));
        assert!(matches!(
            decode((0x80..=0xff).cycle().flat_map(|b| [b, b'a']).take(400).collect()),
            Decoded::NoText(_)
        ));
        assert_eq!(decode(Vec::new()), Decoded::Text(String::new(), Vec::new()));
    }

    #[test]
    fn columns_in_scalars_and_in_utf16() {
        let source = Source::new("a".into(), "x\né😀y".into());
        assert_eq!(source.line_column(TextSize::new(8)).column, 2);
        assert_eq!(source.utf16_column(TextSize::new(8)), 3);
        assert_eq!(source.utf16_column(TextSize::new(99)), 4);
    }
}
