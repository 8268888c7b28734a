//! What several formulas count: pairs of a causal mask, elements under moving windows, elements named by an index.

use std::collections::BTreeMap;

use super::Cost;
use crate::{CheckedCall, Int, OpError, Value};

/// What a formula gives.
pub(super) type Costed = Result<Cost, OpError>;

/// What is computed, read and written.
pub(super) fn cost(flops: Int, read: Int, written: Int) -> Costed {
    Ok(Cost { flops, read, written })
}

/// The softmax of an attention, a score: scale, running maximum, subtraction, exponential, sum.
pub(super) const SOFTMAX: i128 = 5;

/// A capped score: the division by the cap, tanh, the product with the cap.
pub(super) const SOFTCAP: i128 = 3;

/// The integer called `name`, as a number to loop over.
pub(super) fn number(call: &CheckedCall, name: &str) -> Result<i128, OpError> {
    Ok(call.int(name)?.get()?)
}

/// The integer of a parameter that may be absent.
pub(super) fn optional(call: &CheckedCall, name: &str) -> Result<Option<i128>, OpError> {
    if call.present(name)? { number(call, name).map(Some) } else { Ok(None) }
}

/// The bytes of an element of the tensor called `name`.
pub(super) fn width(call: &CheckedCall, name: &str) -> Result<i128, OpError> {
    Ok(i128::from(call.tensor(name)?.dtype.bits()) / 8)
}

/// The size of the tensor called `name`, or nothing where it is not passed.
pub(super) fn bytes_if_present(call: &CheckedCall, name: &str) -> Result<Int, OpError> {
    if call.present(name)? { call.bytes(name) } else { Ok(Int::from(0)) }
}

/// The sum of the sizes of tensors that are passed.
pub(crate) fn bytes_of(call: &CheckedCall, names: &[&str]) -> Result<Int, OpError> {
    names.iter().map(|name| call.bytes(name)).sum()
}

/// The lengths of the segments that `offsets` bounds.
pub(super) fn segments(offsets: &[i64]) -> impl Iterator<Item = i128> + '_ {
    offsets.windows(2).map(|pair| i128::from(pair[1]) - i128::from(pair[0]))
}

/// How many different numbers there are.
pub(super) fn distinct(values: impl IntoIterator<Item = i64>) -> Int {
    let mut values: Vec<i64> = values.into_iter().collect();
    values.sort_unstable();
    values.dedup();
    Int::from(values.len())
}

/// What the queries of one sequence see.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Seen {
    /// Pairs of a query and a key that it sees: the scores of a head.
    pub(super) pairs: i128,
    /// Keys that some query sees: the last ones.
    pub(super) keys: i128,
}

/// `queries` at the end of `keys` positions, each of which sees itself and the positions before it, at most `window` in all;
/// without `causal` every key.
pub(super) fn seen(queries: i128, keys: i128, causal: bool, window: Option<i128>) -> Seen {
    if queries <= 0 || keys <= 0 {
        return Seen { pairs: 0, keys: 0 };
    }
    if !causal {
        return Seen { pairs: queries.saturating_mul(keys), keys };
    }
    let window = window.unwrap_or(keys).min(keys);
    // Queries at the first n positions see 1, 2, ... keys, and never more than the window.
    let first = |n: i128| {
        let growing = n.clamp(0, window);
        (growing.saturating_mul(growing.saturating_add(1)) / 2)
            .saturating_add((n.max(0) - growing).saturating_mul(window))
    };
    Seen { pairs: first(keys) - first(keys - queries), keys: keys.min(queries.saturating_add(window - 1)) }
}

/// The numbers that half-open ranges hold, each counted once.
pub(super) fn union(mut ranges: Vec<(i128, i128)>) -> i128 {
    ranges.sort_unstable();
    let (mut count, mut end) = (0, i128::MIN);
    for (lo, hi) in ranges {
        let lo = lo.max(end);
        if hi > lo {
            count += hi - lo;
            end = hi;
        }
    }
    count
}

/// Windows that move along one axis, as a pooling's or a convolution's do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Axis {
    /// Products of a window and an element of the input that lies in it.
    pub(super) taps: i128,
    /// Elements of the input that lie in some window.
    pub(super) read: i128,
    /// Elements of the kernel that meet the input in some window.
    pub(super) kernel: i128,
}

/// `windows` of `kernel` elements `dilation` apart, `stride` apart from one another, over `extent` elements behind `padding`.
///
/// Element `j` of window `o` lies at `o * stride - padding + j * dilation`. For each `j` the windows in which that is an
/// element of the input are a range; two ranges meet the same elements where `j * dilation - padding` leaves the same
/// remainder by the stride, and there they are ranges of the quotients. So the work depends on the kernel alone.
pub(super) fn axis(extent: i128, windows: i128, kernel: i128, stride: i128, padding: i128, dilation: i128) -> Axis {
    let mut found = Axis { taps: 0, read: 0, kernel: 0 };
    if stride <= 0 {
        return found;
    }
    let mut classes: BTreeMap<i128, Vec<(i128, i128)>> = BTreeMap::new();
    for j in 0..kernel.max(0) {
        let Some(start) = j.checked_mul(dilation).and_then(|at| at.checked_sub(padding)) else { continue };
        // The first window with start + o * stride >= 0, and the first with start + o * stride >= extent.
        let reaches = |at: i128| at.saturating_sub(start).saturating_add(stride - 1).div_euclid(stride);
        let (lo, hi) = (reaches(0).clamp(0, windows.max(0)), reaches(extent.max(0)).clamp(0, windows.max(0)));
        if hi > lo {
            found.taps += hi - lo;
            found.kernel += 1;
            let quotient = start.div_euclid(stride);
            classes.entry(start.rem_euclid(stride)).or_default().push((quotient + lo, quotient + hi));
        }
    }
    found.read = classes.into_values().map(union).sum();
    found
}

/// The value for spatial axis `position` of a parameter that is one integer, a tuple of them, or absent.
pub(super) fn per_axis(call: &CheckedCall, name: &str, position: usize, fallback: i128) -> Result<i128, OpError> {
    match call.value(name) {
        Ok(Value::Seq(items)) => match items.get(position) {
            Some(Value::Int(value)) => Ok(*value),
            Some(Value::None) => Ok(fallback),
            _ => number(call, name),
        },
        Ok(Value::None) => Ok(fallback),
        _ => number(call, name),
    }
}

/// The extents that the last axes of a tensor have, behind the first `leading`.
pub(super) fn spatial(call: &CheckedCall, name: &str, leading: usize) -> Result<Vec<i128>, OpError> {
    Ok(call.tensor(name)?.shape.iter().copied().skip(leading).collect())
}

/// The product of `factors`.
pub(super) fn product(factors: impl IntoIterator<Item = i128>) -> Int {
    factors.into_iter().fold(Int::from(1), |product, factor| product * factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_mask_lets_through_is_counted_as_by_hand() {
        for queries in 0..7 {
            for keys in queries..9 {
                for window in [None, Some(1), Some(3), Some(20)] {
                    let mut expected = (0, std::collections::BTreeSet::new());
                    for query in keys - queries..keys {
                        for key in 0..keys {
                            if key <= query && window.is_none_or(|w| query - key < w) {
                                expected.0 += 1;
                                expected.1.insert(key);
                            }
                        }
                    }
                    let found = seen(queries, keys, true, window);
                    let keys_seen = i128::try_from(expected.1.len()).expect("it is small");
                    assert_eq!((found.pairs, found.keys), (expected.0, keys_seen), "{queries} {keys} {window:?}");
                }
                assert_eq!(seen(queries, keys, false, None).pairs, queries * keys);
            }
        }
        assert_eq!(seen(1, 0, false, None), Seen { pairs: 0, keys: 0 });
        assert_eq!(seen(i128::MAX, i128::MAX, false, None).pairs, i128::MAX);
    }

    #[test]
    fn what_windows_meet_is_counted_as_by_hand() {
        for extent in [0, 1, 2, 5, 8] {
            for (kernel, stride, padding, dilation) in
                [(3, 1, 1, 1), (1, 2, 0, 1), (3, 2, 1, 2), (2, 5, 0, 1), (3, 1, 4, 4), (2, 3, 1, 3), (0, 1, 0, 1)]
            {
                for windows in 0..9 {
                    let mut taps = 0;
                    let (mut read, mut used) = (std::collections::BTreeSet::new(), std::collections::BTreeSet::new());
                    for o in 0..windows {
                        for j in 0..kernel {
                            let at = o * stride - padding + j * dilation;
                            if (0..extent).contains(&at) {
                                taps += 1;
                                read.insert(at);
                                used.insert(j);
                            }
                        }
                    }
                    let size = |set: &std::collections::BTreeSet<i128>| i128::try_from(set.len()).expect("it is small");
                    let expected = Axis { taps, read: size(&read), kernel: size(&used) };
                    let found = axis(extent, windows, kernel, stride, padding, dilation);
                    assert_eq!(found, expected, "{extent} {windows} {kernel} {stride} {padding} {dilation}");
                }
            }
        }
    }

    #[test]
    fn ranges_are_counted_once() {
        assert_eq!(union(vec![(5, 8), (0, 2), (1, 3), (7, 8), (4, 4), (9, 3)]), 6);
        assert_eq!(union(Vec::new()), 0);
        assert_eq!(distinct([3, 1, 3, -1]).get(), Ok(3));
        assert_eq!(segments(&[0, 3, 3, 5]).collect::<Vec<_>>(), [3, 0, 2]);
    }
}
