//! Byte offsets into a text, and the lines they fall on.
//!
//! All positions inside the analyzer are byte offsets ([`TextSize`]) and half-open byte ranges ([`TextRange`]).
//! Lines and columns exist at the edges only, through [`LineIndex`].

mod line_index;

pub use line_index::{LineColumn, LineIndex};
pub use text_size::{TextLen, TextRange, TextSize};

/// A value and the characters that state it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Spanned<T> {
    /// What was stated.
    pub value: T,
    /// Where.
    pub range: TextRange,
}

impl<T> Spanned<T> {
    /// Pairs `value` with the `range` that states it.
    pub fn new(value: T, range: TextRange) -> Self {
        Spanned { value, range }
    }
}
