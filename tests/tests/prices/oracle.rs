//! The structural oracle: bytes recounted from the tensors that a row binds, without the roofline block and without the
//! method that was generated from it.
//!
//! Level one counts every tensor by what the call does to it: an input read, an output written, a mutated input both, a
//! `write_only` one written, an alias nothing of its own. Level two ([`recount`]) is by hand, for calls that read a part of
//! something: it marks elements one by one, where a formula counts them in closed form. An entry is at exactly one level: at
//! the second where it has a case, and then the first must be wrong on some row of it.

use std::collections::BTreeMap;

use crate::manifest::{OURS, Row};
use crate::python::PRICES;
use crate::recount::{View, recount, recount_written};
use crate::rust::for_each_row;

#[test]
fn bytes_are_what_a_recount_from_the_tensors_gives() {
    let mut wrong = Vec::new();
    // Of each op: whether it has a case by hand, and whether the first level fails on some row.
    let mut levels: BTreeMap<&str, (bool, bool)> = BTreeMap::new();
    for row in OURS.rows() {
        let view = View::of(row.call);
        let (_, bytes) = PRICES[&row.id()];
        let (first, second) = (view.every_tensor(), recount(row.op, &view));
        let (by_hand, differs) = levels.entry(row.op).or_default();
        *by_hand |= second.is_some();
        *differs |= first != bytes;
        let expected = second.unwrap_or(first);
        if expected != bytes {
            wrong.push(format!("{}: {bytes}, recounted {expected}", row.id()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    for (op, (by_hand, differs)) in &levels {
        assert!(
            !by_hand || *differs,
            "{op}: the first level recounts every row of it, and a case by hand is one too many"
        );
    }
    // An entry without a row would be at no level.
    assert_eq!(levels.len(), OURS.report.analyses.len());
}

/// Every op states its read half, on every row: what the recount leaves when what is written is taken from it. The audit has a
/// verdict on no other op.
#[test]
fn read_halves_are_what_a_recount_from_the_tensors_gives() {
    let mut wrong = Vec::new();
    for_each_row(|id, name, call, op| {
        let view = View::of(call);
        let expected = recount(name, &view).unwrap_or(view.every_tensor()) - recount_written(name, &view);
        match op.unwrap_or_else(|error| panic!("{id}: {error}")).eval_roofline_read_bytes() {
            Some(Ok(read)) if i128::try_from(read) == Ok(expected) => {}
            Some(found) => wrong.push(format!("{id}: {found:?}, recounted {expected}")),
            None => wrong.push(format!("{id}: no read half is declared")),
        }
    });
    assert!(wrong.is_empty(), "{} rows differ:\n{}", wrong.len(), wrong.join("\n"));
}

/// The analyzer's own preview of derived bytes is the first level's count.
#[test]
fn derived_bytes_are_what_the_analyzer_shows() {
    let mut count = 0;
    for row in OURS.rows().filter(|row: &Row<'_>| row.derived) {
        let shown = row.call.bytes().map(|traffic| traffic.total);
        let recounted = u128::try_from(View::of(row.call).every_tensor()).ok();
        assert_eq!(shown, recounted, "{}", row.id());
        count += 1;
    }
    assert!(count >= 400, "{count} rows derive their bytes");
}
