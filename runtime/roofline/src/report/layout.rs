//! Columns of text on a terminal: as wide as their content, narrowed and dropped until a line fits.

use anstyle::Style;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// A column, and what may be done to it where space is short.
#[derive(Debug, Clone, Copy)]
pub(super) struct Column {
    head: &'static str,
    right: bool,
    /// It may be cut down to that width.
    least: Option<usize>,
    /// It goes before a column of a higher rank does; without one it stays.
    rank: Option<u8>,
}

impl Column {
    /// A column of names.
    pub(super) const fn left(head: &'static str) -> Self {
        Column { head, right: false, least: None, rank: None }
    }

    /// A column of numbers.
    pub(super) const fn right(head: &'static str) -> Self {
        Column { head, right: true, least: None, rank: None }
    }

    /// May be cut down to `least` columns.
    pub(super) const fn shrinks(self, least: usize) -> Self {
        Column { least: Some(least), ..self }
    }

    /// May be left out, columns of a lower rank first.
    pub(super) const fn optional(self, rank: u8) -> Self {
        Column { rank: Some(rank), ..self }
    }
}

/// Columns whose content is being measured.
#[derive(Debug)]
pub(super) struct Layout<const N: usize> {
    columns: [Column; N],
    widths: [usize; N],
    total: Option<usize>,
}

/// Columns with their widths; those that are left out have none.
#[derive(Debug)]
pub(super) struct Settled<const N: usize> {
    columns: [Column; N],
    widths: [Option<usize>; N],
}

impl<const N: usize> Layout<N> {
    /// Columns under their heads, on a terminal of `total` columns.
    pub(super) fn new(columns: [Column; N], total: Option<usize>) -> Self {
        Layout { widths: columns.map(|c| columns_of(c.head)), columns, total }
    }

    /// Makes room for a line.
    pub(super) fn measure(&mut self, cells: &[String; N]) {
        for (width, cell) in self.widths.iter_mut().zip(cells) {
            *width = (*width).max(columns_of(cell));
        }
    }

    /// Makes room for what either has room for.
    pub(super) fn merge(mut self, other: Self) -> Self {
        for (width, theirs) in self.widths.iter_mut().zip(other.widths) {
            *width = (*width).max(theirs);
        }
        self
    }

    /// Fits the columns into the terminal.
    pub(super) fn settle(self) -> Settled<N> {
        Settled { widths: settle(&self.columns, self.widths, self.total), columns: self.columns }
    }
}

impl<const N: usize> Settled<N> {
    /// Writes the heads.
    pub(super) fn head(&self, out: &mut String) {
        self.line(out, Style::new().bold(), &self.columns.map(|c| c.head.to_owned()));
    }

    /// Writes a line.
    pub(super) fn line(&self, out: &mut String, style: Style, cells: &[String; N]) {
        let start = out.len();
        for ((column, width), cell) in self.columns.iter().zip(self.widths).zip(cells) {
            let Some(width) = width else { continue };
            let (text, cut) = cut(cell, width);
            let gap = width.saturating_sub(columns_of(text) + usize::from(cut));
            if column.right {
                out.extend(std::iter::repeat_n(' ', gap));
            }
            out.push_str(text);
            if cut {
                out.push('…');
            }
            if !column.right {
                out.extend(std::iter::repeat_n(' ', gap));
            }
            out.push_str("  ");
        }
        out.truncate(start + out[start..].trim_end().len());
        if !style.is_plain() {
            out.insert_str(start, &style.render().to_string());
            out.push_str(&style.render_reset().to_string());
        }
        out.push('\n');
    }
}

/// The width of each column, or nothing where it is left out.
fn settle<const N: usize>(columns: &[Column; N], full: [usize; N], total: Option<usize>) -> [Option<usize>; N] {
    // A column without head and content is none.
    let mut widths = full.map(|width| (width > 0).then_some(width));
    let Some(total) = total else { return widths };
    let used = |widths: &[Option<usize>; N]| widths.iter().flatten().map(|w| w + 2).sum::<usize>().saturating_sub(2);
    // The width to which cutting alone can bring the columns that are left.
    let least = |widths: &[Option<usize>; N]| {
        let cut =
            |(column, width): (&Column, &Option<usize>)| width.map(|w| column.least.map_or(w, |least| least.min(w)));
        let mut all = [None; N];
        for (at, pair) in columns.iter().zip(widths).enumerate() {
            all[at] = cut(pair);
        }
        used(&all)
    };
    let mut ranks: Vec<(u8, usize)> = columns.iter().enumerate().filter_map(|(at, c)| Some((c.rank?, at))).collect();
    ranks.sort_unstable();
    for (_, at) in ranks {
        if least(&widths) > total {
            widths[at] = None;
        }
    }
    // What is still too much is taken from the widest column that may be cut, one by one.
    while used(&widths) > total {
        let widest = (0..N)
            .filter_map(|at| Some((widths[at]?, at)))
            .filter(|(width, at)| columns[*at].least.is_some_and(|least| *width > least))
            .max_by_key(|(width, at)| (*width, N - at));
        // Nothing is left to take: the names go down to a letter or two before a number is cut.
        let widest = widest.or_else(|| {
            (0..N)
                .filter_map(|at| Some((widths[at]?, at)))
                .filter(|(width, at)| columns[*at].least.is_some() && *width > 4)
                .max()
        });
        let Some((width, at)) = widest else { break };
        widths[at] = Some(width - 1);
    }
    widths
}

/// The columns that a text takes: of plain ones, which nearly all are, as many as there are letters.
fn columns_of(text: &str) -> usize {
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~')) { text.len() } else { text.width() }
}

/// What of `text` fits, and whether a mark for the rest has to follow.
fn cut(text: &str, width: usize) -> (&str, bool) {
    if columns_of(text) <= width {
        return (text, false);
    }
    let mut used = 0;
    for (at, c) in text.char_indices() {
        used += c.width().unwrap_or(0);
        if used + 1 > width {
            return (&text[..at], true);
        }
    }
    (text, false)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_line_is_as_wide_as_the_terminal_at_most(cells in prop::collection::vec("\\PC{0,40}", 4), total in 30usize..150) {
            let columns = [Column::left("op").shrinks(8), Column::left("case").shrinks(8).optional(2), Column::right("n").optional(1), Column::left("why").shrinks(6)];
            let cells: [String; 4] = std::array::from_fn(|at| cells[at].clone());
            // A number is never cut: where it fits beside the names' least widths, everything fits.
            let cells = [cells[0].clone(), cells[1].clone(), cells[2].chars().take(4).collect(), cells[3].clone()];
            let mut layout = Layout::new(columns, Some(total));
            layout.measure(&cells);
            let layout = layout.settle();
            let mut out = String::new();
            layout.head(&mut out);
            layout.line(&mut out, Style::new(), &cells);
            let plain = anstream::adapter::strip_str(&out).to_string();
            for line in plain.lines() {
                prop_assert!(line.width() <= total, "{line:?} at {total}");
            }
        }
    }

    #[test]
    fn columns_go_by_rank_and_names_are_cut_last() {
        let columns =
            [Column::left("op").shrinks(6), Column::right("bytes").optional(1), Column::right("time").optional(2)];
        let cells = ["ElementwiseFwdOp", "101 MB", "12.5 µs"].map(str::to_owned);
        let print = |total| {
            let mut layout = Layout::new(columns, Some(total));
            layout.measure(&cells);
            let layout = layout.settle();
            let mut out = String::new();
            layout.line(&mut out, Style::new(), &cells);
            out
        };
        assert_eq!(print(40), "ElementwiseFwdOp  101 MB  12.5 µs\n");
        assert_eq!(print(28), "Elementwis…  101 MB  12.5 µs\n");
        assert_eq!(print(20), "Elementwis…  12.5 µs\n");
        assert_eq!(print(10), "Elementwi…\n");
    }
}
