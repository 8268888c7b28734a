//! Rotary embeddings by position.

use super::counts::{Costed, cost, distinct, width};
use crate::CheckedCall;

/// Queries and keys of packed tokens, rotated where they lie by a table that has a row a position.
///
/// `q [N, H, D]` and `k [N, G, D]` are read and written; `table [P, rotary_dim]` holds cosines beside sines; `positions [N]`.
///
/// *FLOPs.* A pair takes four products, an addition and a subtraction: 3 a rotated number.
///
/// *Bytes.* The rotated columns of queries and keys twice, the others not at all; the positions; the table's rows that some
/// position names.
pub fn rope_positions_roofline(call: &CheckedCall) -> Costed {
    let (n, heads, rotated) = (call.int("N")?, call.int("H")? + call.int("G")?, call.int("rotary_dim")?);
    let columns = n * heads * rotated * width(call, "q")?;
    let rows = distinct(call.values("positions")?.iter().copied()) * rotated * width(call, "table")?;
    cost(3 * n * heads * rotated, columns + rows + call.bytes("positions")?, columns)
}
