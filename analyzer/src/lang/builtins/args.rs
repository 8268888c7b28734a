//! Arguments read as what a built-in takes. The checker has judged their kinds; a value that slips through is an error.

use std::borrow::Cow;

use super::{Argument, Contents, DomainError};
use crate::lang::{AdtValue, DType, Value};

/// The longest sequence that a primitive gives: above, a row's slip of the pen would fill the memory.
pub const MAX_ITEMS: i128 = 1 << 20;

/// The most entries that a generator gives.
const MAX_ENTRIES: i128 = 1 << 26;

pub(super) fn fail<T>(why: impl Into<String>) -> Result<T, DomainError> {
    Err(DomainError(why.into()))
}

/// The values that a built-in is called with, in the order of its parameters.
#[derive(Clone, Copy)]
pub(super) struct Args<'a>(pub(super) &'a [Value]);

impl<'a> Args<'a> {
    /// The value at `at`; `None` where an optional one is left out.
    pub(super) fn value(self, at: usize) -> &'a Value {
        self.0.get(at).unwrap_or(&Value::None)
    }

    fn wrong<T>(self, at: usize, name: &str, due: &str) -> Result<T, DomainError> {
        fail(format!("`{name}` is {}, and must be {due}", self.value(at).excerpt()))
    }

    pub(super) fn int(self, at: usize, name: &str) -> Result<i128, DomainError> {
        match self.value(at).as_int() {
            Some(value) => Ok(value),
            None => self.wrong(at, name, "an integer"),
        }
    }

    pub(super) fn positive(self, at: usize, name: &str) -> Result<i128, DomainError> {
        match self.int(at, name)? {
            value if value > 0 => Ok(value),
            _ => self.wrong(at, name, "positive"),
        }
    }

    pub(super) fn natural(self, at: usize, name: &str) -> Result<i128, DomainError> {
        match self.int(at, name)? {
            value if value >= 0 => Ok(value),
            _ => self.wrong(at, name, "non-negative"),
        }
    }

    pub(super) fn bool(self, at: usize, name: &str) -> Result<bool, DomainError> {
        match self.value(at) {
            Value::Bool(value) => Ok(*value),
            _ => self.wrong(at, name, "a Boolean"),
        }
    }

    pub(super) fn seq(self, at: usize, name: &str) -> Result<&'a [Value], DomainError> {
        match self.value(at) {
            Value::Seq(items) => Ok(items),
            _ => self.wrong(at, name, "a sequence"),
        }
    }

    pub(super) fn ints(self, at: usize, name: &str) -> Result<Vec<i128>, DomainError> {
        let items = self.seq(at, name)?;
        items.iter().enumerate().map(|(i, item)| item_int(i, item, name)).collect()
    }

    /// A sequence of non-negative integers: lengths, sizes, a shape.
    pub(super) fn lengths(self, at: usize, name: &str) -> Result<Vec<i128>, DomainError> {
        let items = self.ints(at, name)?;
        match items.iter().position(|&n| n < 0) {
            Some(i) => fail(format!("`{name}[{i}]` is {}, and must be non-negative", items[i])),
            None => Ok(items),
        }
    }

    pub(super) fn literal(self, at: usize, name: &str, allowed: &[&'static str]) -> Result<&'static str, DomainError> {
        let found = match self.value(at) {
            Value::Str(text) => allowed.iter().copied().find(|literal| *literal == &**text),
            _ => None,
        };
        match found {
            Some(literal) => Ok(literal),
            None => {
                let quoted: Vec<String> = allowed.iter().map(|literal| format!("'{literal}'")).collect();
                self.wrong(at, name, &format!("one of {}", quoted.join(", ")))
            }
        }
    }

    pub(super) fn dtype(self, at: usize, name: &str) -> Result<DType, DomainError> {
        match self.value(at).as_dtype() {
            Some(dtype) => Ok(dtype),
            None => self.wrong(at, name, "a dtype"),
        }
    }

    pub(super) fn layout(self, at: usize, name: &str) -> Result<Layout, DomainError> {
        match self.value(at) {
            Value::Adt(value) => Layout::of(value),
            _ => self.wrong(at, name, "a layout"),
        }
    }
}

fn item_int(i: usize, item: &Value, name: &str) -> Result<i128, DomainError> {
    match item.as_int() {
        Some(value) => Ok(value),
        None => fail(format!("`{name}[{i}]` is {}, and must be an integer", item.excerpt())),
    }
}

/// How the rows of a grouped operand are organised by expert: what the built-ins read of an `MGroupedLayout`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Layout {
    /// A fixed number of rows an expert, the first of which are valid.
    Masked { max_m: i128 },
    /// Each expert's rows behind the previous one's.
    Contiguous {
        /// Whether each expert's rows start at a multiple of `alignment`; if not, `alignment` is 1.
        aligned: bool,
        /// Whether the metadata has an expert's number a row, or an expert's end an expert.
        per_row: bool,
        alignment: i128,
    },
}

impl Layout {
    /// The name of the ADT.
    pub(super) const ADT: &'static str = "MGroupedLayout";

    fn of(value: &AdtValue) -> Result<Layout, DomainError> {
        let field = |name: &str| value.field(name).unwrap_or(&Value::None);
        let wrong = |name: &str, due: &str| {
            DomainError(format!("`layout.{name}` is {}, and must be {due}", field(name).excerpt()))
        };
        let choice = |name: &str, yes: &str, no: &str| match field(name) {
            Value::Str(text) if &**text == yes => Ok(true),
            Value::Str(text) if &**text == no => Ok(false),
            _ => Err(wrong(name, &format!("'{yes}' or '{no}'"))),
        };
        match &*value.constructor {
            "masked" => match field("max_m").as_int() {
                Some(max_m) if max_m >= 0 => Ok(Layout::Masked { max_m }),
                _ => Err(wrong("max_m", "a non-negative integer")),
            },
            "contiguous" => {
                let aligned = choice("packing", "aligned", "tight")?;
                let per_row = choice("metadata_kind", "per_row", "physical_psum")?;
                match field("alignment").as_int() {
                    Some(alignment) if alignment >= 1 => Ok(Layout::Contiguous { aligned, per_row, alignment }),
                    _ => Err(wrong("alignment", "a positive integer")),
                }
            }
            other => fail(format!("`layout` is `{other}`, and must be `contiguous` or `masked`")),
        }
    }
}

/// Integers that a predicate's argument gives, whichever of the two forms it has.
pub(super) fn argument_ints<'a>(
    arguments: &'a [Argument<'_>],
    at: usize,
    name: &str,
) -> Result<Cow<'a, [i64]>, DomainError> {
    match arguments.get(at) {
        Some(Argument::Tensor(Contents { values, .. })) => Ok(Cow::Borrowed(values)),
        Some(Argument::Value(value)) => {
            let items = Args(std::slice::from_ref(value)).ints(0, name)?;
            items.into_iter().map(entry).collect::<Result<Vec<i64>, _>>().map(Cow::Owned)
        }
        None => fail(format!("`{name}` is missing")),
    }
}

/// A predicate's argument that is a value.
pub(super) fn argument_value<'a>(
    arguments: &'a [Argument<'_>],
    at: usize,
    name: &str,
) -> Result<&'a Value, DomainError> {
    match arguments.get(at) {
        Some(Argument::Value(value)) => Ok(value),
        Some(Argument::Tensor(_)) => fail(format!("`{name}` is a tensor, and must be a value")),
        None => fail(format!("`{name}` is missing")),
    }
}

/// A predicate's argument that is an integer.
pub(super) fn argument_int(arguments: &[Argument<'_>], at: usize, name: &str) -> Result<i128, DomainError> {
    Args(std::slice::from_ref(argument_value(arguments, at, name)?)).int(0, name)
}

/// `value` as an entry of a metadata tensor.
pub(super) fn entry(value: i128) -> Result<i64, DomainError> {
    match i64::try_from(value) {
        Ok(value) => Ok(value),
        Err(_) => fail(format!("{value} does not fit an int64 entry")),
    }
}

/// An arithmetic result, or the error that it left 128 bits.
pub(super) fn checked(result: Option<i128>) -> Result<i128, DomainError> {
    match result {
        Some(value) => Ok(value),
        None => fail("the result is beyond 128 bits"),
    }
}

pub(super) fn sum(items: &[i128]) -> Result<i128, DomainError> {
    checked(items.iter().try_fold(0_i128, |total, &n| total.checked_add(n)))
}

/// `a / b` rounded up; `b` is positive.
pub(super) fn ceil_div(a: i128, b: i128) -> Result<i128, DomainError> {
    let floor = checked(a.checked_div_euclid(b))?;
    checked(floor.checked_add(i128::from(a.checked_rem_euclid(b) != Some(0))))
}

/// `a / b` rounded down; `b` is positive.
pub(super) fn floor_div(a: i128, b: i128) -> Result<i128, DomainError> {
    checked(a.checked_div_euclid(b))
}

/// The size of a sequence of `count` items, if it may be made.
pub(super) fn item_count(count: i128) -> Result<usize, DomainError> {
    match usize::try_from(count) {
        Ok(size) if count <= MAX_ITEMS => Ok(size),
        _ => fail(format!("its result has {count} items, more than the {MAX_ITEMS} that are computed")),
    }
}

/// The number of entries of a tensor of `shape`, if it may be made.
pub(super) fn entry_count(shape: &[i128]) -> Result<usize, DomainError> {
    if shape.contains(&0) {
        return Ok(0);
    }
    let count = shape.iter().try_fold(1_i128, |product, &n| product.checked_mul(n));
    match count.map(|count| (count, usize::try_from(count))) {
        Some((count, Ok(size))) if count <= MAX_ENTRIES => Ok(size),
        _ => fail(format!("its result has more than the {MAX_ENTRIES} entries that are generated")),
    }
}

/// `count` sizes that sum to `total`, the first `total % count` one larger; `count` is positive, `total` is not negative.
pub(super) fn balanced(total: i128, count: i128) -> impl Iterator<Item = i128> {
    let (each, larger) = (total / count, total % count);
    (0..count).map(move |i| each + i128::from(i < larger))
}
