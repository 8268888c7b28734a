//! Attention over dense tensors and packed batches.

use super::counts::{
    Costed, SOFTCAP, SOFTMAX, bytes_if_present, bytes_of, cost, number, optional, seen, segments, width,
};
use crate::{CheckedCall, Int};

/// Attention forward: dense, causal or within a window, with grouped heads, a softcap and sinks.
///
/// `q [B, S, H, D]`, `k [B, L, G, D]`, `v [B, L, G, V]`, `sinks [H]` or none; parameters `is_causal`, `window`, `softcap`.
///
/// *FLOPs.* A score: `2 D` for the query with the key, `2 V` for its share of the output, 5 for the softmax, 3 for a softcap.
/// A row: with a sink one more score, which is given (maximum, subtraction, exponential, sum: 4); `V` divisions by its sum.
/// Causal queries stand at the end: query `i` at position `i + L - S`.
///
/// *Bytes.* Queries, sinks and output once; of keys and values the positions that some query sees.
pub fn attention_roofline(call: &CheckedCall) -> Costed {
    let (b, s, l) = (call.int("B")?, number(call, "S")?, number(call, "L")?);
    let (h, g, d, v) = (call.int("H")?, call.int("G")?, call.int("D")?, call.int("V")?);
    let seen = seen(s, l, call.bool("is_causal")?, optional(call, "window")?);
    let softcap = if call.present("softcap")? { SOFTCAP } else { 0 };
    let sink = if call.present("sinks")? { 4 } else { 0 };
    let flops = b * h * (seen.pairs * (2 * d + 2 * v + SOFTMAX + softcap) + s * (v + sink));
    let keys = b * g * seen.keys * (d * width(call, "k")? + v * width(call, "v")?);
    cost(flops, call.bytes("q")? + bytes_if_present(call, "sinks")? + keys, call.bytes("o")?)
}

/// Attention forward over a packed batch: requests behind one another, each one attending to itself.
///
/// `q [N, H, D]`, `k` and `v [N, G, D]`, `offsets [R + 1]`; outputs `o` and the rows' `lse [H, N]`.
///
/// *FLOPs.* As [`attention_roofline`] for each request, whose length is the distance of two offsets; a row's `lse` adds the
/// logarithm of its sum and the maximum.
///
/// *Bytes.* Every tensor once: a token sees itself, so that no key is left out.
pub fn varlen_attention_roofline(call: &CheckedCall) -> Costed {
    let (n, h, d) = (call.int("N")?, call.int("H")?, call.int("D")?);
    let causal = call.bool("is_causal")?;
    let pairs: Int =
        segments(call.values("offsets")?).map(|length| Int::from(seen(length, length, causal, None).pairs)).sum();
    let flops = h * (pairs * (4 * d + SOFTMAX) + n * (d + 2));
    cost(flops, bytes_of(call, &["q", "k", "v", "offsets"])?, bytes_of(call, &["o", "lse"])?)
}
