//! The predicates: what a metadata tensor's contents are required to be.

use super::args::{Args, Layout, argument_int, argument_ints, argument_value, ceil_div, entry, fail};
use super::{Argument, Builtin, Contents, DomainError, Parameter, Passing, Predicate, Role, Takes};
use crate::defect::axes_word;

type Result = std::result::Result<(), DomainError>;

const fn parameter(name: &'static str, takes: Takes) -> Parameter {
    Parameter::new(name, takes, Passing::Required)
}

/// Bounds say nothing about it.
const NEVER: fn((i128, i128), &[Argument<'_>]) -> bool = |_, _| false;

pub(super) static TABLE: &[Builtin] = &[
    Builtin {
        name: "prefix_offsets",
        role: Role::Predicate(&Predicate { rank: Some(1), holds: prefix_offsets, implied: NEVER }),
        params: &[parameter("total", Takes::Int).at_least(0)],
        doc: "offsets that start at 0, never fall, and end at `total`",
        domain: "",
    },
    Builtin {
        name: "max_segment",
        role: Role::Predicate(&Predicate { rank: Some(1), holds: max_segment, implied: NEVER }),
        params: &[parameter("bound", Takes::Int).at_least(0)],
        doc: "offsets of which no two neighbours are more than `bound` apart",
        domain: "",
    },
    Builtin {
        name: "in_range",
        role: Role::Predicate(&Predicate {
            rank: None,
            holds: in_range,
            implied: |(least, greatest), arguments| matches!(range(arguments), Ok((lo, hi)) if lo <= least && greatest < hi),
        }),
        params: &[parameter("lo", Takes::Int).below("hi"), parameter("hi", Takes::Int)],
        doc: "every entry is in [lo, hi)",
        domain: "",
    },
    Builtin {
        name: "sums_to",
        role: Role::Predicate(&Predicate { rank: Some(1), holds: sums_to, implied: NEVER }),
        params: &[parameter("total", Takes::Int)],
        doc: "the entries sum to `total`",
        domain: "",
    },
    Builtin {
        name: "exclusive_prefix_of",
        role: Role::Predicate(&Predicate { rank: Some(1), holds: exclusive_prefix_of, implied: NEVER }),
        params: &[parameter("L", Takes::SeqInt)],
        doc: "each entry is the sum of the lengths before it",
        domain: "",
    },
    Builtin {
        name: "chunk_offsets_of",
        role: Role::Predicate(&Predicate { rank: Some(1), holds: chunk_offsets_of, implied: NEVER }),
        params: &[parameter("offsets", Takes::SeqInt), parameter("c", Takes::Int).at_least(1)],
        doc: "0, then how many chunks of at most `c` positions the segments of `offsets` up to each have",
        domain: "c > 0",
    },
    Builtin {
        name: "indices_within",
        role: Role::Predicate(&Predicate { rank: Some(2), holds: indices_within, implied: NEVER }),
        params: &[parameter("offsets", Takes::SeqInt)],
        doc: "each row names a segment of `offsets` and a position inside it",
        domain: "",
    },
    Builtin {
        name: "attn.paged_fits",
        role: Role::Predicate(&Predicate { rank: Some(1), holds: paged_fits, implied: NEVER }),
        params: &[parameter("cu", Takes::SeqInt), parameter("cap", Takes::Int).at_least(0)],
        doc: "each request's cached length and its new tokens, a segment of `cu`, are at most `cap` together",
        domain: "",
    },
    Builtin {
        name: "moe.layout_valid",
        role: Role::Predicate(&Predicate { rank: Some(1), holds: layout_valid, implied: NEVER }),
        params: &[
            parameter("layout", Takes::Adt(Layout::ADT)),
            parameter("R", Takes::Int).at_least(0),
            parameter("E", Takes::Int).at_least(0),
        ],
        doc: "metadata of the layout for `R` rows and `E` experts",
        domain: "",
    },
];

/// The difference of two entries; it does not fit 64 bits always.
fn distance(from: i64, to: i64) -> i128 {
    i128::from(to) - i128::from(from)
}

fn falls(values: &[i64]) -> Option<usize> {
    values.windows(2).position(|pair| pair[1] < pair[0]).map(|i| i + 1)
}

fn never_falls(values: &[i64]) -> Result {
    match falls(values) {
        Some(i) => fail(format!("entry {i} is {}, less than the {} before it", values[i], values[i - 1])),
        None => Ok(()),
    }
}

fn prefix_offsets(contents: &Contents<'_>, arguments: &[Argument<'_>]) -> Result {
    let total = argument_int(arguments, 0, "total")?;
    let values = contents.values;
    match (values.first(), values.last()) {
        (Some(0), Some(&last)) => {
            never_falls(values)?;
            if i128::from(last) == total { Ok(()) } else { fail(format!("its last offset is {last}, not {total}")) }
        }
        (Some(first), _) => fail(format!("its first offset is {first}, not 0")),
        (None, _) => fail("it has no entries, and offsets start with 0"),
    }
}

fn max_segment(contents: &Contents<'_>, arguments: &[Argument<'_>]) -> Result {
    let bound = argument_int(arguments, 0, "bound")?;
    match contents.values.windows(2).position(|pair| distance(pair[0], pair[1]) > bound) {
        Some(i) => {
            let (from, to) = (contents.values[i], contents.values[i + 1]);
            let length = distance(from, to);
            fail(format!("segment {i} is {length} long, from {from} to {to}, more than {bound}"))
        }
        None => Ok(()),
    }
}

fn range(arguments: &[Argument<'_>]) -> std::result::Result<(i128, i128), DomainError> {
    Ok((argument_int(arguments, 0, "lo")?, argument_int(arguments, 1, "hi")?))
}

/// The subscripts of the entry at `position`: "3" of a vector, "(0, 3)" of a matrix.
fn subscripts(shape: &[i128], position: usize) -> String {
    if shape.len() == 1 {
        return position.to_string();
    }
    let mut rest = position as i128;
    let mut axes: Vec<String> = shape
        .iter()
        .rev()
        .map(|&extent| {
            let extent = extent.max(1);
            let at = rest % extent;
            rest /= extent;
            at.to_string()
        })
        .collect();
    axes.reverse();
    format!("({})", axes.join(", "))
}

fn in_range(contents: &Contents<'_>, arguments: &[Argument<'_>]) -> Result {
    let (lo, hi) = range(arguments)?;
    match contents.values.iter().position(|&value| !(lo..hi).contains(&value.into())) {
        Some(i) => {
            fail(format!("entry {} is {}, outside [{lo}, {hi})", subscripts(contents.shape, i), contents.values[i]))
        }
        None => Ok(()),
    }
}

fn sums_to(contents: &Contents<'_>, arguments: &[Argument<'_>]) -> Result {
    let total = argument_int(arguments, 0, "total")?;
    // Fewer than 2^63 entries of 64 bits cannot leave 128 bits.
    let sum: i128 = contents.values.iter().copied().map(i128::from).sum();
    if sum == total { Ok(()) } else { fail(format!("its entries sum to {sum}, not {total}")) }
}

fn exclusive_prefix_of(contents: &Contents<'_>, arguments: &[Argument<'_>]) -> Result {
    let lengths = argument_ints(arguments, 0, "L")?;
    same_count(contents, lengths.len(), "lengths")?;
    let mut before = 0_i128;
    for (i, (&value, &length)) in contents.values.iter().zip(lengths.iter()).enumerate() {
        if i128::from(value) != before {
            return fail(format!("entry {i} is {value}, and the lengths before it sum to {before}"));
        }
        before += i128::from(length);
    }
    Ok(())
}

fn same_count(contents: &Contents<'_>, due: usize, what: &str) -> Result {
    match contents.values.len() {
        count if count == due => Ok(()),
        count => fail(format!("it has {count} entries, and there are {due} {what}")),
    }
}

/// The lengths of the segments of `offsets`.
fn segments(offsets: &[i64]) -> std::result::Result<Vec<i128>, DomainError> {
    if offsets.is_empty() {
        return fail("`offsets` has no entries, and offsets start with 0");
    }
    match falls(offsets) {
        Some(i) => fail(format!("`offsets[{i}]` is {}, less than the {} before it", offsets[i], offsets[i - 1])),
        None => Ok(offsets.windows(2).map(|pair| distance(pair[0], pair[1])).collect()),
    }
}

fn chunk_offsets_of(contents: &Contents<'_>, arguments: &[Argument<'_>]) -> Result {
    let offsets = argument_ints(arguments, 0, "offsets")?;
    let chunk = argument_int(arguments, 1, "c")?;
    if chunk <= 0 {
        return fail(format!("`c` is {chunk}, and must be positive"));
    }
    let segments = segments(&offsets)?;
    same_count(contents, segments.len() + 1, "offsets")?;
    let mut before = 0_i128;
    for (i, &value) in contents.values.iter().enumerate() {
        if i128::from(value) != before {
            return fail(format!("entry {i} is {value}, and the segments before it have {before} chunks of {chunk}"));
        }
        before += ceil_div(segments.get(i).copied().unwrap_or(0), chunk)?;
    }
    Ok(())
}

fn indices_within(contents: &Contents<'_>, arguments: &[Argument<'_>]) -> Result {
    let offsets = argument_ints(arguments, 0, "offsets")?;
    let segments = segments(&offsets)?;
    match contents.shape {
        [_, 2] => {}
        [_, n] => return fail(format!("its rows have {n} entries, and must have 2: a segment and a position")),
        shape => return fail(format!("it has {}, and must have 2", axes_word(shape.len()))),
    }
    for (row, pair) in contents.values.chunks_exact(2).enumerate() {
        let (segment, position) = (pair[0], pair[1]);
        let Some(&length) = usize::try_from(segment).ok().and_then(|i| segments.get(i)) else {
            return fail(format!("row {row} names segment {segment}, outside [0, {})", segments.len()));
        };
        if !(0..length).contains(&position.into()) {
            return fail(format!(
                "row {row} names position {position}, outside [0, {length}), the positions of segment {segment}"
            ));
        }
    }
    Ok(())
}

fn paged_fits(contents: &Contents<'_>, arguments: &[Argument<'_>]) -> Result {
    let cu = argument_ints(arguments, 0, "cu")?;
    let cap = argument_int(arguments, 1, "cap")?;
    same_count(contents, cu.len().saturating_sub(1), "segments of `cu`")?;
    for (i, (&cached, pair)) in contents.values.iter().zip(cu.windows(2)).enumerate() {
        let new = distance(pair[0], pair[1]);
        let length = i128::from(cached) + new;
        if length > cap {
            return fail(format!(
                "request {i} has {cached} cached and {new} new tokens, {length} together, more than {cap}"
            ));
        }
    }
    Ok(())
}

fn layout_valid(contents: &Contents<'_>, arguments: &[Argument<'_>]) -> Result {
    let layout = Args(std::slice::from_ref(argument_value(arguments, 0, "layout")?)).layout(0, "layout")?;
    let (rows, experts) = (argument_int(arguments, 1, "R")?, argument_int(arguments, 2, "E")?);
    let values = contents.values;
    let count = values.len() as i128;
    let (due, what) = match layout {
        Layout::Contiguous { per_row: true, .. } => (rows, "rows"),
        _ => (experts, "experts"),
    };
    if count != due {
        return fail(format!("it has {count} entries, and there are {due} {what}"));
    }
    match layout {
        Layout::Masked { max_m } => match values.iter().position(|&v| !(0..=max_m).contains(&v.into())) {
            Some(i) => fail(format!("expert {i} has {} valid rows, outside [0, {max_m}]", values[i])),
            None => Ok(()),
        },
        Layout::Contiguous { per_row: true, aligned, alignment } => {
            // The rows behind the last expert's, padding only, name one expert more.
            let top = experts + i128::from(aligned);
            if let Some(i) = values.iter().position(|&v| !(0..top).contains(&v.into())) {
                return fail(format!("row {i} names expert {}, outside [0, {top})", values[i]));
            }
            never_falls(values)?;
            let cut =
                values.windows(2).enumerate().find(|&(i, pair)| pair[0] != pair[1] && (i as i128 + 1) % alignment != 0);
            match cut {
                Some((i, pair)) => fail(format!(
                    "expert {} starts at row {}, which is no multiple of the alignment, {alignment}",
                    pair[1],
                    i + 1
                )),
                None => Ok(()),
            }
        }
        Layout::Contiguous { per_row: false, aligned, alignment } => ends_valid(values, rows, aligned, alignment),
    }
}

/// Each expert's end is at or behind its start: the previous end, rounded up to the alignment.
fn ends_valid(ends: &[i64], rows: i128, aligned: bool, alignment: i128) -> Result {
    let rows = i128::from(entry(rows)?);
    let mut start = 0_i128;
    for (expert, &end) in ends.iter().enumerate() {
        if i128::from(end) < start {
            return fail(format!("expert {expert} ends at {end}, before its start, {start}"));
        }
        start = match ceil_div(end.into(), alignment)?.checked_mul(alignment) {
            Some(next) => next,
            None => return fail("the result is beyond 128 bits"),
        };
    }
    match ends.last().map(|&last| i128::from(last)) {
        Some(last) if aligned && last > rows => fail(format!("the last expert ends at {last}, behind the {rows} rows")),
        Some(last) if !aligned && last != rows => fail(format!("the last expert ends at {last}, not at {rows}")),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::find;
    use super::*;
    use crate::lang::{AdtValue, Value};

    fn holds_of(
        name: &str,
        shape: &[i128],
        values: &[i64],
        arguments: &[Argument<'_>],
    ) -> std::result::Result<(), String> {
        match find(name).unwrap().role {
            Role::Predicate(predicate) => {
                (predicate.holds)(&Contents { shape, values }, arguments).map_err(|error| error.0)
            }
            _ => panic!("{name} is no predicate"),
        }
    }

    fn holds(name: &str, values: &[i64], arguments: &[Argument<'_>]) -> std::result::Result<(), String> {
        holds_of(name, &[values.len() as i128], values, arguments)
    }

    fn int(value: i128) -> Argument<'static> {
        Argument::Value(Value::Int(value))
    }

    fn seq<const N: usize>(items: [i128; N]) -> Argument<'static> {
        Argument::Value(Value::ints(items))
    }

    fn no(text: &str) -> std::result::Result<(), String> {
        Err(text.into())
    }

    #[test]
    fn offsets() {
        let offsets = |values: &[i64], total: i128| holds("prefix_offsets", values, &[int(total)]);
        assert_eq!(offsets(&[0, 2, 2, 5], 5), Ok(()));
        assert_eq!(offsets(&[0], 0), Ok(()));
        assert_eq!(offsets(&[0, 2], 3), no("its last offset is 2, not 3"));
        assert_eq!(offsets(&[1, 2], 2), no("its first offset is 1, not 0"));
        assert_eq!(offsets(&[0, 3, 2], 2), no("entry 2 is 2, less than the 3 before it"));
        assert_eq!(offsets(&[], 0), no("it has no entries, and offsets start with 0"));
        assert!(holds("prefix_offsets", &[0], &[]).is_err());
        assert!(holds("prefix_offsets", &[0], &[Argument::Value(Value::None)]).is_err());
        assert_eq!(holds("max_segment", &[0, 2, 5], &[int(3)]), Ok(()));
        assert_eq!(holds("max_segment", &[], &[int(3)]), Ok(()));
        assert_eq!(holds("max_segment", &[0, 2, 5], &[int(2)]), no("segment 1 is 3 long, from 2 to 5, more than 2"));
        assert!(holds("max_segment", &[i64::MIN, i64::MAX], &[int(2)]).is_err());
    }

    #[test]
    fn ranges() {
        let arguments = [int(0), int(8)];
        assert_eq!(holds("in_range", &[0, 7], &arguments), Ok(()));
        assert_eq!(holds("in_range", &[], &arguments), Ok(()));
        assert_eq!(holds("in_range", &[1, 2, 3, 9], &arguments), no("entry 3 is 9, outside [0, 8)"));
        assert_eq!(holds("in_range", &[-1], &arguments), no("entry 0 is -1, outside [0, 8)"));
        assert_eq!(
            holds_of("in_range", &[2, 3], &[0, 0, 0, 0, 0, 8], &arguments),
            no("entry (1, 2) is 8, outside [0, 8)")
        );
        assert_eq!(holds_of("in_range", &[], &[8], &arguments), no("entry () is 8, outside [0, 8)"));
        let Role::Predicate(predicate) = find("in_range").unwrap().role else { panic!("no predicate") };
        assert!((predicate.implied)((0, 7), &arguments));
        assert!(!(predicate.implied)((0, 8), &arguments) && !(predicate.implied)((-1, 7), &arguments));
        assert!(!(predicate.implied)((0, 7), &[]));
    }

    #[test]
    fn sums() {
        assert_eq!(holds("sums_to", &[1, 2], &[int(3)]), Ok(()));
        assert_eq!(holds("sums_to", &[1, 2], &[int(4)]), no("its entries sum to 3, not 4"));
        assert!(holds("sums_to", &[i64::MAX; 3], &[int(4)]).is_err());
        assert_eq!(holds("exclusive_prefix_of", &[0, 3, 3], &[seq([3, 0, 2])]), Ok(()));
        let tensor = Argument::Tensor(Contents { shape: &[2], values: &[3, 2] });
        assert_eq!(holds("exclusive_prefix_of", &[0, 3], &[tensor]), Ok(()));
        assert_eq!(
            holds("exclusive_prefix_of", &[0, 2], &[seq([3, 0])]),
            no("entry 1 is 2, and the lengths before it sum to 3")
        );
        assert_eq!(holds("exclusive_prefix_of", &[0], &[seq([3, 0])]), no("it has 1 entries, and there are 2 lengths"));
    }

    #[test]
    fn chunks() {
        let chunks = |values: &[i64], c: i128| holds("chunk_offsets_of", values, &[seq([0, 3, 3, 5]), int(c)]);
        assert_eq!(chunks(&[0, 2, 2, 3], 2), Ok(()));
        assert_eq!(chunks(&[0, 2, 3, 3], 2), no("entry 2 is 3, and the segments before it have 2 chunks of 2"));
        assert_eq!(chunks(&[0, 2], 2), no("it has 2 entries, and there are 4 offsets"));
        assert_eq!(chunks(&[0, 2], 0), no("`c` is 0, and must be positive"));
        assert_eq!(
            holds("chunk_offsets_of", &[0, 1], &[seq([3, 0]), int(2)]),
            no("`offsets[1]` is 0, less than the 3 before it")
        );
    }

    #[test]
    fn pairs() {
        let within =
            |values: &[i64]| holds_of("indices_within", &[values.len() as i128 / 2, 2], values, &[seq([0, 3, 3, 5])]);
        assert_eq!(within(&[0, 0, 0, 2, 2, 1]), Ok(()));
        assert_eq!(within(&[]), Ok(()));
        assert_eq!(within(&[0, 0, 1, 0]), no("row 1 names position 0, outside [0, 0), the positions of segment 1"));
        assert_eq!(within(&[3, 0]), no("row 0 names segment 3, outside [0, 3)"));
        assert_eq!(within(&[-1, 0]), no("row 0 names segment -1, outside [0, 3)"));
        assert!(within(&[0, -1]).is_err());
        assert!(holds_of("indices_within", &[1, 3], &[0, 0, 0], &[seq([0, 3])]).is_err());
        assert!(holds("indices_within", &[0, 0], &[seq([0, 3])]).is_err());
        assert!(within(&[0]).is_ok(), "an odd entry is the caller's, whose shape and values disagree");
    }

    #[test]
    fn pages() {
        let fits = |values: &[i64], cap: i128| holds("attn.paged_fits", values, &[seq([0, 2, 5]), int(cap)]);
        assert_eq!(fits(&[6, 5], 8), Ok(()));
        assert_eq!(fits(&[6, 6], 8), no("request 1 has 6 cached and 3 new tokens, 9 together, more than 8"));
        assert_eq!(fits(&[6], 8), no("it has 1 entries, and there are 2 segments of `cu`"));
        assert_eq!(holds("attn.paged_fits", &[], &[seq([]), int(1)]), Ok(()));
    }

    #[test]
    fn layouts() {
        let layout = |packing: &str, metadata: &str, alignment: i128| {
            let fields = vec![
                ("packing".into(), Value::Str(packing.into())),
                ("metadata_kind".into(), Value::Str(metadata.into())),
                ("alignment".into(), Value::Int(alignment)),
            ];
            Value::Adt(AdtValue { adt: Layout::ADT.into(), constructor: "contiguous".into(), fields }.into())
        };
        let fields = vec![("max_m".into(), Value::Int(4))];
        let masked = Value::Adt(AdtValue { adt: Layout::ADT.into(), constructor: "masked".into(), fields }.into());
        let valid = |layout: &Value, values: &[i64], rows: i128, experts: i128| {
            holds("moe.layout_valid", values, &[Argument::Value(layout.clone()), int(rows), int(experts)])
        };
        assert_eq!(valid(&masked, &[4, 0, 2], 12, 3), Ok(()));
        assert_eq!(valid(&masked, &[4, 5, 2], 12, 3), no("expert 1 has 5 valid rows, outside [0, 4]"));
        assert_eq!(valid(&masked, &[4], 12, 3), no("it has 1 entries, and there are 3 experts"));

        let tight = layout("tight", "physical_psum", 1);
        assert_eq!(valid(&tight, &[2, 2, 5], 5, 3), Ok(()));
        assert_eq!(valid(&tight, &[2, 1, 5], 5, 3), no("expert 1 ends at 1, before its start, 2"));
        assert_eq!(valid(&tight, &[2, 2, 4], 5, 3), no("the last expert ends at 4, not at 5"));
        assert_eq!(valid(&tight, &[-1], 5, 1), no("expert 0 ends at -1, before its start, 0"));

        let tight_rows = layout("tight", "per_row", 1);
        assert_eq!(valid(&tight_rows, &[0, 0, 2], 3, 3), Ok(()));
        assert_eq!(valid(&tight_rows, &[0, 0, 3], 3, 3), no("row 2 names expert 3, outside [0, 3)"));
        assert_eq!(valid(&tight_rows, &[0, 1, 0], 3, 3), no("entry 2 is 0, less than the 1 before it"));
        assert_eq!(valid(&tight_rows, &[0, 1], 3, 3), no("it has 2 entries, and there are 3 rows"));

        let aligned = layout("aligned", "physical_psum", 4);
        assert_eq!(valid(&aligned, &[3, 7, 8], 12, 3), Ok(()));
        assert_eq!(valid(&aligned, &[3, 3, 8], 12, 3), no("expert 1 ends at 3, before its start, 4"));
        assert_eq!(valid(&aligned, &[3, 7, 13], 12, 3), no("the last expert ends at 13, behind the 12 rows"));

        let aligned_rows = layout("aligned", "per_row", 2);
        assert_eq!(valid(&aligned_rows, &[0, 0, 1, 1, 2, 2], 6, 2), Ok(()));
        assert_eq!(
            valid(&aligned_rows, &[0, 0, 0, 1, 2, 2], 6, 2),
            no("expert 1 starts at row 3, which is no multiple of the alignment, 2")
        );
        assert!(holds("moe.layout_valid", &[], &[int(1), int(0), int(0)]).is_err());
    }
}
