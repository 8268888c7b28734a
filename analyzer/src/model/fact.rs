//! Facts: what an entry states, fails to state, or states in a form that cannot be read.

use crate::text::TextRange;

/// One fact of an entry. Nothing turns an absent fact into a malformed one, or either into an empty default.
#[derive(Debug, Clone, PartialEq)]
pub enum Fact<T> {
    /// Not stated. The range is where it would stand: the section that lacks it.
    Absent(TextRange),
    /// Stated, but not readable as what it should be; its defect has been reported.
    Malformed(TextRange),
    /// Stated.
    Valid(T, TextRange),
}

impl<T> Fact<T> {
    /// The value, where it is valid.
    pub fn valid(&self) -> Option<&T> {
        match self {
            Fact::Valid(value, _) => Some(value),
            Fact::Absent(_) | Fact::Malformed(_) => None,
        }
    }

    /// Where it stands, or would.
    pub fn range(&self) -> TextRange {
        match self {
            Fact::Absent(range) | Fact::Malformed(range) | Fact::Valid(_, range) => *range,
        }
    }

    /// Whether it is not stated.
    pub fn is_absent(&self) -> bool {
        matches!(self, Fact::Absent(_))
    }

    /// Whether it is stated and unreadable.
    pub fn is_malformed(&self) -> bool {
        matches!(self, Fact::Malformed(_))
    }

    /// The valid value turned into another; the other two cases stay what they are.
    pub fn map<U>(self, f: impl FnOnce(T) -> U) -> Fact<U> {
        match self {
            Fact::Absent(range) => Fact::Absent(range),
            Fact::Malformed(range) => Fact::Malformed(range),
            Fact::Valid(value, range) => Fact::Valid(f(value), range),
        }
    }
}

impl<T> Fact<Vec<T>> {
    /// The items of a valid list, none of the other two: for passes that judge each item by itself. A pass that draws a
    /// conclusion from an item's absence matches on the fact instead.
    pub fn items(&self) -> &[T] {
        self.valid().map_or(&[], Vec::as_slice)
    }
}
