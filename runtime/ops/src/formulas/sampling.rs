//! Choosing tokens where what is read depends on draws.

use super::counts::{Costed, bytes_of, cost, width};
use crate::{CheckedCall, Int};

/// Verification of `K` drafted tokens against a larger model's distributions.
///
/// `draft_probs [B, K, V]`, `target_probs [B, K + 1, V]`, `draft_tokens [B, K]`, `uniform [B, K + 1]`; outputs `tokens` and
/// `accepted`.
///
/// How many tokens are accepted depends on values that no checked call carries, so that this is the least over all of them.
/// A request that accepts all reads of each drafted token both probabilities, its draw and itself (a quotient and a
/// comparison), then a row of the target to draw from (a running sum and a comparison an element). One that refuses the first
/// reads that token's row of both distributions (a subtraction, a maximum and a sum an element, then as before) and two draws. In
/// between, each accepted token adds to the second. FLOPs and bytes take the lesser of the two each.
pub fn speculative_verify_roofline(call: &CheckedCall) -> Costed {
    let (b, k, v) = (call.int("B")?, call.int("K")?, call.int("V")?);
    let drafted = k.min(1);
    let probability = width(call, "target_probs")?;
    let (draw, token) = (width(call, "uniform")?, width(call, "draft_tokens")?);
    let all = (2 * k + 2 * v, (2 * k + v) * probability + (k + 1) * draw + k * token);
    // Without a drafted token there is none to refuse.
    let first =
        (2 * drafted + (2 + 3 * drafted) * v, (1 + drafted) * v * probability + (1 + drafted) * draw + drafted * token);
    let (flops, read): (Int, Int) = (all.0.min(first.0), all.1.min(first.1));
    cost(b * flops, b * read, bytes_of(call, &["tokens", "accepted"])?)
}
