//! Tables: a row that several indices name is read once, and one that none names is not read.

use super::counts::{Costed, bytes_of, cost, distinct, width};
use crate::{CheckedCall, Int, OpError};

/// The rows of `table` that `ids` names, in bytes; a row has the extents behind the first.
fn rows(call: &CheckedCall, ids: &str, table: &str) -> Result<Int, OpError> {
    let each = call.tensor(table)?.shape.iter().skip(1).fold(Int::from(1), |each, &extent| each * extent);
    Ok(distinct(call.values(ids)?.iter().copied()) * each * width(call, table)?)
}

/// Rows of a table, scaled or not.
///
/// `ids [B, S]`, `table [V, H]`, `y [B, S, H]`; parameter `scale` or none.
///
/// *FLOPs.* The scale, where there is one. *Bytes.* Ids and result once; the table's rows that some id names.
pub fn embedding_roofline(call: &CheckedCall) -> Costed {
    let flops = if call.present("scale")? { call.tensor("y")?.numel() } else { Int::from(0) };
    cost(flops, call.bytes("ids")? + rows(call, "ids", "table")?, call.bytes("y")?)
}

/// Rows of a table, reduced by bags of `K`.
///
/// `ids [B, K]`, `table [V, H]`, `y [B, H]`; parameter `mode`.
///
/// *FLOPs.* An addition or a comparison an element of a row; the mean divides each result. *Bytes.* As [`embedding_roofline`].
pub fn embedding_bag_roofline(call: &CheckedCall) -> Costed {
    let (b, k, h) = (call.int("B")?, call.int("K")?, call.int("H")?);
    let mean = if call.str("mode")? == "mean" { b * h } else { Int::from(0) };
    cost(b * k * h + mean, call.bytes("ids")? + rows(call, "ids", "table")?, call.bytes("y")?)
}

/// The sum of a word's, a position's and a segment's row.
///
/// `ids` and `types [B, S]`, `words [V, H]`, `positions [P, H]`, `segments [2, H]`, `y [B, S, H]`.
///
/// *FLOPs.* Two additions an element. *Bytes.* Ids, types and result once; the words and the segments that are named; the first
/// `S` positions, if there is a sequence.
pub fn bert_embedding_roofline(call: &CheckedCall) -> Costed {
    let (b, s, h) = (call.int("B")?, call.int("S")?, call.int("H")?);
    let positions = b.min(1) * s * h * width(call, "positions")?;
    let named = rows(call, "ids", "words")? + rows(call, "types", "segments")?;
    cost(2 * b * s * h, bytes_of(call, &["ids", "types"])? + named + positions, call.bytes("y")?)
}

/// Rows of a tensor's leading axis.
///
/// `x [V, *L]`, `index [n]`, `y [n, *L]`. *FLOPs.* None. *Bytes.* Index and result once; the rows that are named.
pub fn index_select_roofline(call: &CheckedCall) -> Costed {
    cost(Int::from(0), call.bytes("index")? + rows(call, "index", "x")?, call.bytes("y")?)
}
