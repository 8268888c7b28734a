//! What the planners of elementwise kernels share: sources, vectors, scalars, and divisions that are prepared here.

use tileops_device::Grid;
use tileops_ops::{Category, CheckedCall, DType, OpError, Tensor};

use crate::ops::refused;
use crate::plan::Arg;
use crate::source::Source;

/// Threads a block.
pub(crate) const THREADS: u64 = 256;

/// A function of elements: a C++ expression of the operands, and of up to two scalars.
#[derive(Debug, Clone)]
pub(crate) struct Function {
    /// The expression.
    pub expression: String,
    /// The scalars' values, which are arguments: another value compiles nothing anew.
    pub scalars: [f64; 2],
    /// The same of four Booleans at a time, a byte each.
    pub words: Option<&'static str>,
    /// Whether it is a few instructions, so that a kernel of it is little more than a copy.
    pub is_short: bool,
}

impl Function {
    /// A function that reads no scalar.
    pub(crate) fn of(expression: impl Into<String>) -> Self {
        Function { expression: expression.into(), scalars: [0.0; 2], words: None, is_short: false }
    }

    /// A function of a few instructions.
    pub(crate) fn short(expression: impl Into<String>) -> Self {
        Function { is_short: true, ..Function::of(expression) }
    }

    /// With the same function of words of Booleans.
    pub(crate) fn words(self, expression: &'static str) -> Self {
        Function { words: Some(expression), ..self }
    }

    /// With the scalars that the expression names.
    pub(crate) fn with(self, first: f64, second: f64) -> Self {
        Function { scalars: [first, second], ..self }
    }
}

/// The type that the elements of a dtype are computed in, as far as a scalar has it: whole or single precision.
pub(crate) fn is_whole(dtype: DType) -> bool {
    matches!(dtype.category(), Category::Int | Category::Bool)
}

/// Scalars beside elements of `dtype`: the definition of their type is added, and they become arguments.
pub(crate) fn scalars(source: Source, dtype: DType, values: [f64; 2]) -> (Source, [Arg; 2]) {
    match is_whole(dtype) {
        // As casts hold it: an absent bound is an infinity, and becomes the last number there is.
        true => (source.define("SCALAR", "int"), values.map(|value| Arg::I32(value as i32))),
        false => (source.define("SCALAR", "float"), values.map(|value| Arg::F32(value as f32))),
    }
}

/// The definition that says whether results keep 16 bits or fewer.
pub(crate) fn precision(source: Source, results: DType) -> Source {
    let narrow = results.category() == Category::Float && results.bits() <= 16;
    source.define("NARROW", u8::from(narrow))
}

/// How many elements make up 16 bytes of the widest of these dtypes.
pub(crate) fn lanes(dtypes: &[DType]) -> u64 {
    u64::from(128 / dtypes.iter().map(|dtype| dtype.bits()).max().unwrap_or(128))
}

/// Elements of which each has a thread of its own, all at once: vectors would leave multiprocessors without work.
const FEW: u64 = 1 << 14;

/// How many elements a vector of `lanes` at most has where there are `elements`.
pub(crate) fn lanes_of(elements: u64, lanes: u64) -> u64 {
    if elements <= FEW { 1 } else { lanes }
}

/// How many elements there are, as the kernels count.
pub(crate) fn count(tensor: &Tensor) -> Result<u64, OpError> {
    Ok(u64::try_from(tensor.numel().get()?).unwrap_or(u64::MAX))
}

/// The extent called `name`.
pub(crate) fn size(call: &CheckedCall, name: &str) -> Result<u64, OpError> {
    let extent = call.int(name)?.get()?;
    u64::try_from(extent).map_err(|_| refused(call.op(), format!("`{name}` is {extent}, which is no size")))
}

/// The number called `name`, where it is there.
pub(crate) fn maybe(call: &CheckedCall, name: &str) -> Result<Option<f64>, OpError> {
    if call.present(name)? { call.float(name).map(Some) } else { Ok(None) }
}

/// A grid whose threads take `items` in all, `each` of them a thread.
pub(crate) fn grid(call: &CheckedCall, items: u64, each: u64) -> Result<Grid, OpError> {
    let blocks = items.div_ceil(THREADS * each);
    match u32::try_from(blocks).ok().filter(|blocks| *blocks <= i32::MAX as u32) {
        Some(blocks) => Ok(Grid::row(blocks, THREADS as u32)),
        None => Err(refused(call.op(), format!("{blocks} blocks are more than a launch has"))),
    }
}

/// A count, as an argument.
pub(crate) fn whole(call: &CheckedCall, count: u64) -> Result<Arg, OpError> {
    i64::try_from(count).map(Arg::I64).map_err(|_| refused(call.op(), format!("{count} elements are beyond 64 bits")))
}

/// The largest power of two that divides each of `extents` and is not above `most`.
pub(crate) fn common_lanes(most: u64, extents: &[u64]) -> u64 {
    let mut lanes = most;
    while lanes > 1 && extents.iter().any(|extent| extent % lanes != 0) {
        lanes /= 2;
    }
    lanes
}

/// A `Divisor` of `common.cuh`: the quotients of numbers below 2^31 by `by`, as a product and a shift.
pub(crate) fn divisor(by: u32) -> [u32; 3] {
    // by > 2^31 has no such form, and no number below 2^31 has a quotient but 0.
    let by = by.clamp(1, 1 << 31);
    let shift = u32::BITS - (by - 1).leading_zeros();
    let factor = ((1_u64 << 32) * ((1_u64 << shift) - u64::from(by))) / u64::from(by) + 1;
    // Below 2^32, since by > 2^(shift - 1).
    [by, factor as u32, shift]
}

/// Structures that a kernel takes by value.
pub(crate) fn bytes(words: impl IntoIterator<Item = u32>) -> Arg {
    Arg::Bytes(words.into_iter().flat_map(u32::to_ne_bytes).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prepared_divisions_are_divisions() {
        let quotient = |x: u32, [_, factor, shift]: [u32; 3]| {
            let high = ((u64::from(x) * u64::from(factor)) >> 32) as u32;
            (high + x) >> shift
        };
        let mut by = 1_u32;
        while by < 1 << 31 {
            for near in [by.saturating_sub(1).max(1), by, by + 1, by + by / 3] {
                let prepared = divisor(near);
                for x in [0, 1, near - 1, near, near + 1, 2 * (near / 2), 1 << 30, (1 << 31) - 1] {
                    let x = x & ((1 << 31) - 1);
                    assert_eq!(quotient(x, prepared), x / near, "{x} / {near}");
                }
            }
            by *= 2;
        }
        let last = (1_u32 << 31) - 1;
        for by in (1..2000).chain([3136, 65_535, 65_536, 1_000_003, last]) {
            let prepared = divisor(by);
            let spread = (0..=last).step_by(104_729).chain([last - 1, last]);
            let multiples = (0..40).map_while(|times| by.checked_mul(times));
            let around = multiples.flat_map(|x| [x.saturating_sub(1), x, x.saturating_add(1)]).filter(|x| *x <= last);
            for x in spread.chain(around) {
                assert_eq!(quotient(x, prepared), x / by, "{x} / {by}");
            }
        }
    }
}
