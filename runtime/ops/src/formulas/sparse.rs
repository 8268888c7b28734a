//! Attention over keys that a selection chose: this call's selection decides, not an average over selections.

use std::collections::{BTreeMap, BTreeSet};

use super::counts::{Costed, SOFTMAX, bytes_of, cost, number, union, width};
use crate::{CheckedCall, Int};

/// Attention of a packed causal batch over selected blocks of keys.
///
/// `q [N, H, D]`, `k` and `v [N, G, D]`; `blocks [N, G, K]` names the blocks of `block_size` keys of its own sequence that a
/// token sees, of which the first `counts [N, G]` hold; an entry that lies behind the token is padding. `offsets [R + 1]`.
///
/// *FLOPs.* A group's `H / G` query heads score the keys of the blocks up to the token itself: `4 D + 5` a score; `D` divisions a
/// row.
///
/// *Bytes.* Queries, counts, offsets and output once; of the selection the entries that hold; of keys and values, for each
/// group, the distinct positions that some token sees.
pub fn block_sparse_attention_roofline(call: &CheckedCall) -> Costed {
    let (n, h, d) = (call.int("N")?, call.int("H")?, call.int("D")?);
    let (groups, most, size) = (number(call, "G")?, number(call, "K")?, number(call, "block_size")?);
    let (blocks, counts, offsets) = (call.values("blocks")?, call.values("counts")?, call.values("offsets")?);
    let (mut scores, mut entries) = (0_i128, 0_i128);
    // Of each block, the keys up to the last token that sees it.
    let mut seen: BTreeMap<(usize, i128, i64), i128> = BTreeMap::new();
    for (sequence, bounds) in offsets.windows(2).enumerate() {
        for token in bounds[0]..bounds[1] {
            let position = i128::from(token - bounds[0]);
            for group in 0..groups {
                let row = i128::from(token) * groups + group;
                let at =
                    |index: i128, values: &[i64]| usize::try_from(index).ok().and_then(|at| values.get(at)).copied();
                let kept = i128::from(at(row, counts).unwrap_or(0)).clamp(0, most);
                entries += kept;
                for block in (0..kept).filter_map(|entry| at(row * most + entry, blocks)) {
                    let keys = (position + 1 - i128::from(block) * size).min(size);
                    if block >= 0 && keys > 0 {
                        scores += keys;
                        let longest = seen.entry((sequence, group, block)).or_default();
                        *longest = keys.max(*longest);
                    }
                }
            }
        }
    }
    let keys: i128 = seen.values().sum();
    let flops = h.floor_div(groups) * scores * (4 * d + SOFTMAX) + n * h * d;
    let selection = Int::from(entries * width(call, "blocks")?);
    let keys_read = d * keys * (width(call, "k")? + width(call, "v")?);
    cost(flops, bytes_of(call, &["q", "counts", "offsets"])? + selection + keys_read, call.bytes("o")?)
}

/// Attention over the latent positions that an indexer kept.
///
/// `q [B, S, H, D]`, `kv [B, L, 1, D]`, of whose numbers the first `value_width` are value too; `selected [B, S, 1, K]`, padded
/// with `L`.
///
/// *FLOPs.* A head and a kept position: `2 D + 2 value_width + 5`; `value_width` divisions a row.
///
/// *Bytes.* Queries, selection and output once; of the cache the distinct positions that some query kept.
pub fn topk_sparse_attention_roofline(call: &CheckedCall) -> Costed {
    let (b, s, h, d) = (call.int("B")?, number(call, "S")?, call.int("H")?, call.int("D")?);
    let (l, k, v) = (number(call, "L")?, number(call, "K")?, call.int("value_width")?);
    let (kept, distinct) = selected(call.values("selected")?, s * k, l);
    let flops = h * (kept * (2 * d + 2 * v + SOFTMAX) + b * s * v);
    let keys_read = d * distinct * width(call, "kv")?;
    cost(flops, bytes_of(call, &["q", "selected"])? + keys_read, call.bytes("o")?)
}

/// Attention over chosen positions of each request's own keys.
///
/// `q [B, S, H, D]`, `k` and `v [B, P, G, D]`; `positions [B, S, K]`, the same for every head, padded with -1.
///
/// *FLOPs.* A head and a position: `4 D + 5`; `D` divisions a row. *Bytes.* Queries, positions and output once; of keys and
/// values the distinct positions that some query chose, with all their heads.
pub fn sparse_positions_roofline(call: &CheckedCall) -> Costed {
    let (b, s, h) = (call.int("B")?, number(call, "S")?, call.int("H")?);
    let (g, d, p, k) = (call.int("G")?, call.int("D")?, number(call, "P")?, number(call, "K")?);
    let (kept, distinct) = selected(call.values("positions")?, s * k, p);
    let flops = h * (kept * (4 * d + SOFTMAX) + b * s * d);
    let keys_read = g * d * distinct * (width(call, "k")? + width(call, "v")?);
    cost(flops, bytes_of(call, &["q", "positions"])? + keys_read, call.bytes("o")?)
}

/// How many entries name a position below `extent`, and how many positions they name, each `each` entries being of one
/// request.
fn selected(values: &[i64], each: i128, extent: i128) -> (i128, Int) {
    let mut kept = 0;
    let mut distinct = BTreeSet::new();
    let each = usize::try_from(each).unwrap_or(usize::MAX).max(1);
    for (request, chosen) in values.chunks(each).enumerate() {
        for &position in chosen.iter().filter(|&&position| (0..extent).contains(&i128::from(position))) {
            kept += 1;
            distinct.insert((request, position));
        }
    }
    (kept, Int::from(distinct.len()))
}

/// Scores of packed queries with the keys from each one's start to its end.
///
/// `q [C, D]`, `k [N, D]`, `starts` and `ends [C]`; `scores [C, N]` is written whole, minus infinity where there is no score.
///
/// *FLOPs.* `2 D` a score. *Bytes.* Queries, both bounds and scores once; the keys that lie in some window.
pub fn key_windows_roofline(call: &CheckedCall) -> Costed {
    let d = call.int("D")?;
    let windows: Vec<(i128, i128)> =
        call.values("starts")?.iter().zip(call.values("ends")?).map(|(&lo, &hi)| (lo.into(), hi.into())).collect();
    let scores: i128 = windows.iter().map(|(lo, hi)| (hi - lo).max(0)).sum();
    let keys_read = d * union(windows) * width(call, "k")?;
    cost(2 * d * scores, bytes_of(call, &["q", "starts", "ends"])? + keys_read, call.bytes("scores")?)
}
