//! Where the characters of a decoded scalar stand in the source.

use crate::text::{TextRange, TextSize};

/// A monotone map from offsets in a decoded scalar to offsets in the entry's source.
///
/// It is a list of runs. A run that is as long decoded as written copies the source byte by byte; any other is one
/// replacement (an escape, a fold), whose decoded characters all stand for its whole source.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SourceMap {
    runs: Vec<Run>,
    /// Where the text starts in the source; what an empty text has.
    start: TextSize,
    /// The length of the decoded text.
    len: TextSize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Run {
    decoded: TextSize,
    decoded_len: TextSize,
    source: TextRange,
}

impl Run {
    fn copies(&self) -> bool {
        self.decoded_len == self.source.len()
    }
}

impl SourceMap {
    /// The map of an empty text that stands at `source`.
    pub fn empty(source: TextSize) -> Self {
        SourceMap { runs: Vec::new(), start: source, len: TextSize::new(0) }
    }

    /// A map that starts at `source` and copies `len` bytes one to one.
    pub fn identity(source: TextSize, len: TextSize) -> Self {
        let mut map = SourceMap::empty(source);
        map.push(TextRange::at(source, len), len);
        map
    }

    /// Says that the next `decoded_len` bytes of the text come from `source`. Sources must not run backwards.
    pub fn push(&mut self, source: TextRange, decoded_len: TextSize) {
        if decoded_len == TextSize::new(0) {
            return;
        }
        let copies = decoded_len == source.len();
        match self.runs.last_mut() {
            Some(last) if copies && last.copies() && last.source.end() == source.start() => {
                last.decoded_len += decoded_len;
                last.source = TextRange::new(last.source.start(), source.end());
            }
            _ => self.runs.push(Run { decoded: self.len, decoded_len, source }),
        }
        self.len += decoded_len;
    }

    /// The length of the decoded text.
    pub fn decoded_len(&self) -> TextSize {
        self.len
    }

    /// Where the decoded offset stands in the source. An offset past the end stands at the end.
    pub fn offset(&self, decoded: TextSize) -> TextSize {
        match self.run_at(decoded) {
            Some(run) if run.copies() => run.source.start() + (decoded - run.decoded),
            Some(run) => run.source.start(),
            None => self.runs.last().map_or(self.start, |run| run.source.end()),
        }
    }

    /// The source characters that decode to `range`.
    pub fn range(&self, range: TextRange) -> TextRange {
        let start = self.offset(range.start());
        if range.is_empty() {
            return TextRange::empty(start);
        }
        // The end of a character is not the start of the next one, where a fold or nothing at all stands between them.
        let end = match self.run_at(range.end() - TextSize::new(1)) {
            Some(run) if run.copies() => run.source.start() + (range.end() - run.decoded),
            Some(run) => run.source.end(),
            None => self.offset(range.end()),
        };
        TextRange::new(start, end.max(start))
    }

    /// The decoded offset that stands at or last before source offset `source`.
    pub fn decoded(&self, source: TextSize) -> TextSize {
        let next = self.runs.partition_point(|run| run.source.start() <= source);
        match next.checked_sub(1).and_then(|i| self.runs.get(i)) {
            Some(run) if source >= run.source.end() => run.decoded + run.decoded_len,
            Some(run) if run.copies() => run.decoded + (source - run.source.start()),
            Some(run) => run.decoded,
            None => TextSize::new(0),
        }
    }

    /// The run that holds the decoded byte at `decoded`.
    fn run_at(&self, decoded: TextSize) -> Option<&Run> {
        let next = self.runs.partition_point(|run| run.decoded <= decoded);
        let run = self.runs.get(next.checked_sub(1)?)?;
        (decoded < run.decoded + run.decoded_len).then_some(run)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(start: u32, end: u32) -> TextRange {
        TextRange::new(start.into(), end.into())
    }

    #[test]
    fn copied_runs_merge_and_replacements_stand_whole() {
        // The source `ab\x41cd`, from offset 10.
        let mut map = SourceMap::empty(10.into());
        map.push(range(10, 11), 1.into());
        map.push(range(11, 12), 1.into());
        map.push(range(12, 16), 1.into());
        map.push(range(16, 18), 2.into());
        assert_eq!(map.runs.len(), 3);
        assert_eq!(map.range(range(1, 2)), range(11, 12));
        assert_eq!(map.range(range(2, 3)), range(12, 16));
        assert_eq!(map.range(range(0, 5)), range(10, 18));
        assert_eq!(map.range(range(5, 5)), range(18, 18));
        assert_eq!(map.offset(99.into()), 18.into());
        assert_eq!([11, 13, 16, 40].map(|at: u32| u32::from(map.decoded(at.into()))), [1, 2, 3, 5]);
    }

    #[test]
    fn a_gap_belongs_to_no_character() {
        // `a\` + newline + `  b`: an escaped line break decodes to nothing.
        let mut map = SourceMap::empty(1.into());
        map.push(range(1, 2), 1.into());
        map.push(range(6, 7), 1.into());
        assert_eq!(map.range(range(0, 1)), range(1, 2));
        assert_eq!(map.range(range(1, 2)), range(6, 7));
        assert_eq!(u32::from(map.decoded(4.into())), 1);
    }
}
