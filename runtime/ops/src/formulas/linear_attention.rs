//! Attention with a state of fixed size: by the token, or in chunks where the signature has a chunk size.

use super::counts::{Costed, bytes_if_present, bytes_of, cost, number, segments};
use crate::{CheckedCall, Int, OpError};

/// Gated linear attention, token by token.
///
/// `q`, `k`, `gate [B, S, H, K]`, `v [B, S, H, V]`, `offsets` and `initial` or none; outputs `o` and `final`.
///
/// *FLOPs.* A token and head, with a state of `K` by `V`: the gate's exponential (`K`) and its product with the state (`K V`), the
/// key's with the value and their sum (`2 K V`), the query's scale (`K`) and its product with the state (`2 K V`). The state starts
/// from zero, or from `initial`.
///
/// *Bytes.* Each tensor once.
pub fn gated_linear_attention_roofline(call: &CheckedCall) -> Costed {
    let (b, s, h) = (call.int("B")?, call.int("S")?, call.int("H")?);
    let (k, v) = (call.int("K")?, call.int("V")?);
    let passed = bytes_if_present(call, "offsets")? + bytes_if_present(call, "initial")?;
    let read = bytes_of(call, &["q", "k", "v", "gate"])? + passed;
    cost(b * s * h * (5 * k * v + 2 * k), read, bytes_of(call, &["o", "final"])?)
}

/// The lengths of the chunks of the sequences that `offsets` bounds: whole ones, and a shorter one at a sequence's end.
fn chunks(call: &CheckedCall) -> Result<Vec<(i128, i128)>, OpError> {
    let chunk = number(call, "chunk")?.max(1);
    let mut found = Vec::new();
    for length in segments(call.values("offsets")?) {
        found.push((chunk, length / chunk));
        found.push((length % chunk, i128::from(length % chunk > 0)));
    }
    Ok(found)
}

/// Gated linear attention in chunks: the tokens of a chunk meet as in attention, chunks through the state.
///
/// `q`, `k`, `gate [N, H, K]`, `v [N, H, V]`, `offsets` and `chunks [R + 1]`, `initial` or none; outputs `o` and `final`.
///
/// *FLOPs.* A chunk of `c` tokens, a head. Its gates: their running sum, its exponential, that one's reciprocal (`3 c K`); the
/// query's decay and scale, the key's decay to the chunk's start and on to its end (`4 c K`). A pair of tokens on or below the
/// diagonal: the query with the key and its share of the value (`2 K + 2 V`). The state's read-out, which adds to what the pairs
/// gave (`2 c K V`); the state's decay (`K V`) and the keys' share of it (`2 c K V`).
///
/// *Bytes.* Each tensor once.
pub fn chunk_gated_linear_attention_roofline(call: &CheckedCall) -> Costed {
    let (h, k, v) = (call.int("H")?, call.int("K")?, call.int("V")?);
    let each = |(c, count): (i128, i128)| {
        let pairs = Int::from(c) * (c + 1);
        count * (pairs * (k + v) + c * (7 * k + 4 * k * v) + k * v)
    };
    let flops: Int = h * chunks(call)?.into_iter().map(each).sum::<Int>();
    let read = bytes_of(call, &["q", "k", "v", "gate", "offsets", "chunks"])? + bytes_if_present(call, "initial")?;
    cost(flops, read, bytes_of(call, &["o", "final"])?)
}

/// The gated delta rule in chunks: a token's update subtracts what the state recalls of its key, so that the updates of a
/// chunk solve a unit lower triangular system.
///
/// `q`, `k [N, G, K]`, `v [N, H, V]`, `g` and `beta [N, H]`, `offsets [R + 1]`, `chunks [NC, 2]`; outputs `o` and `final [R, H, K, V]`.
///
/// *FLOPs.* A chunk of `c` tokens has `s = c (c - 1) / 2` pairs below the diagonal and `s + c` on or below it. A query head: the
/// keys with the keys (`2 K s`), the queries with the keys (`2 K (s + c)`), the queries' scale (`c K`); its value heads share
/// them. A value head:
///
/// - the gates' running sum and its exponential (`2 c`), the pairs' decays (`2 s`);
/// - the system's matrix: decay and strength (`2 s`); its right side: the state's recall (`2 c K V`), its decay, the subtraction
///   from the value, the strength (`3 c V`); its solution by substitution (`2 s V`);
/// - the output: the state's read-out and its decay (`2 c K V + c V`), the pairs' decay and their share (`s + 2 (s + c) V`);
/// - the state: its decay (`K V`), the keys' decay to the chunk's end (`2 c + c K`), the updates (`2 c K V`).
///
/// *Bytes.* Each tensor once.
pub fn gated_delta_rule_chunk_roofline(call: &CheckedCall) -> Costed {
    let (h, g, k, v) = (call.int("H")?, call.int("G")?, call.int("K")?, call.int("V")?);
    let each = |(c, count): (i128, i128)| {
        let c = Int::from(c);
        let below = (c * (c - 1)).floor_div(2);
        let square = c * c;
        let query_head = 2 * k * square + c * k;
        let value_head = 6 * c * k * v + 2 * v * square + k * v + 4 * c * v + c * k + 5 * below + 4 * c;
        count * (g * query_head + h * value_head)
    };
    let flops: Int = chunks(call)?.into_iter().map(each).sum();
    let read = bytes_of(call, &["q", "k", "v", "g", "beta", "offsets", "chunks"])?;
    cost(flops, read, bytes_of(call, &["o", "final"])?)
}
