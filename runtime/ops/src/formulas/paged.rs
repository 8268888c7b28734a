//! Attention over a cache in pages.

use std::collections::{BTreeMap, BTreeSet};

use super::counts::{Costed, SOFTCAP, SOFTMAX, bytes_of, cost, number, optional, seen, segments, union, width};
use crate::{CheckedCall, Int, OpError};

/// What a call reads of the pages: distinct slots of the pool, and entries of the table.
struct Read {
    slots: i128,
    entries: i128,
}

/// The slots and the entries of the page table behind the half-open ranges of positions of the requests, a range a request.
/// Requests that share a page share its slots.
fn pages(call: &CheckedCall, page_size: i128, ranges: &[(i128, i128)]) -> Result<Read, OpError> {
    let table = call.values("page_table")?;
    let columns = call.tensor("page_table")?.shape.last().copied().unwrap_or(0);
    let mut slots: BTreeMap<i64, Vec<(i128, i128)>> = BTreeMap::new();
    let mut entries = 0;
    for (request, &(lo, hi)) in ranges.iter().enumerate() {
        if page_size <= 0 || hi <= lo {
            continue;
        }
        for column in lo.div_euclid(page_size)..(hi - 1).div_euclid(page_size) + 1 {
            let at = usize::try_from(columns)
                .ok()
                .and_then(|columns| Some(request * columns + usize::try_from(column).ok()?));
            let page = at.and_then(|at| table.get(at)).filter(|_| column < columns).ok_or_else(|| {
                OpError::OpNotAvailable {
                    op: call.op(),
                    message: format!(
                        "the page table has no entry for position {} of request {request}",
                        column * page_size
                    ),
                }
            })?;
            let first = column * page_size;
            slots.entry(*page).or_default().push(((lo - first).max(0), (hi - first).min(page_size)));
            entries += 1;
        }
    }
    Ok(Read { slots: slots.into_values().map(union).sum(), entries })
}

/// Paged decode attention: one query token a request, over the positions that its pages hold.
///
/// `q [B, H, D]`, `k_pages` and `v_pages [NP, page_size, G, D]`, `page_table [B, W]`, `kv_lengths [B]`; parameters `window` and
/// `softcap`, or none.
///
/// *FLOPs.* A request sees its last `window` positions, or all: `4 D + 5` a score, 3 more under a softcap; `D` divisions a row.
///
/// *Bytes.* Queries, lengths and output once; of the table the entries of pages that are seen; of the pool the distinct
/// slots behind them, `G` heads of `D` numbers of keys and of values each.
pub fn paged_decode_roofline(call: &CheckedCall) -> Costed {
    let (b, h, g, d) = (call.int("B")?, call.int("H")?, call.int("G")?, call.int("D")?);
    let window = optional(call, "window")?;
    let softcap = if call.present("softcap")? { SOFTCAP } else { 0 };
    let ranges: Vec<(i128, i128)> = call
        .values("kv_lengths")?
        .iter()
        .map(|&length| (i128::from(length).saturating_sub(window.unwrap_or(length.into())).max(0), length.into()))
        .collect();
    let scores: i128 = ranges.iter().map(|(lo, hi)| hi - lo).sum();
    let seen = pages(call, number(call, "page_size")?, &ranges)?;
    let flops = h * (scores * (4 * d + SOFTMAX + softcap) + b * d);
    let pool = g * d * seen.slots * (width(call, "k_pages")? + width(call, "v_pages")?);
    let table = Int::from(seen.entries * width(call, "page_table")?);
    cost(flops, bytes_of(call, &["q", "kv_lengths"])? + table + pool, call.bytes("o")?)
}

/// Paged prefill attention: packed new tokens of each request, behind what its pages already hold; the pages hold the new
/// tokens' keys and values too.
///
/// `q [N, H, D]`, pages as in [`paged_decode_roofline`], `offsets [B + 1]`, `cached_lengths [B]`; parameter `softcap` or none.
///
/// *FLOPs.* A request of `n` new tokens behind `c` cached ones is causal attention of `n` queries over `c + n` keys.
///
/// *Bytes.* As paged decode; a request without new tokens reads no page.
pub fn paged_prefill_roofline(call: &CheckedCall) -> Costed {
    let (n, h, g, d) = (call.int("N")?, call.int("H")?, call.int("G")?, call.int("D")?);
    let softcap = if call.present("softcap")? { SOFTCAP } else { 0 };
    let mut pairs = Int::from(0);
    let mut ranges = Vec::new();
    for (new, &cached) in segments(call.values("offsets")?).zip(call.values("cached_lengths")?) {
        let seen = seen(new, new + i128::from(cached), true, None);
        pairs = pairs + seen.pairs;
        ranges.push((0, seen.keys));
    }
    let seen = pages(call, number(call, "page_size")?, &ranges)?;
    let flops = h * (pairs * (4 * d + SOFTMAX + softcap) + n * d);
    let pool = g * d * seen.slots * (width(call, "k_pages")? + width(call, "v_pages")?);
    let table = Int::from(seen.entries * width(call, "page_table")?);
    cost(flops, bytes_of(call, &["q", "offsets", "cached_lengths"])? + table + pool, call.bytes("o")?)
}

/// Latent attention in decoding, absorbed: a position of the cache holds `C` latent numbers, key and value of every head, and
/// `R` rotated ones, key alone.
///
/// `q_latent [B, H, C]`, `q_rope [B, H, R]`, `cache [NP, page_size, C + R]`, `page_table`, `kv_lengths`; output `[B, H, C]`.
///
/// *FLOPs.* A score: `2 (C + R)` for the query with the key, `2 C` for its share of the output, 5 for the softmax; `C`
/// divisions a row.
///
/// *Bytes.* As paged decode; a slot is `C + R` numbers, read once for all heads, as key and as value.
pub fn mla_paged_decode_roofline(call: &CheckedCall) -> Costed {
    let (b, h, c, r) = (call.int("B")?, call.int("H")?, call.int("C")?, call.int("R")?);
    let ranges: Vec<(i128, i128)> = call.values("kv_lengths")?.iter().map(|&length| (0, length.into())).collect();
    let scores: i128 = ranges.iter().map(|(_, hi)| hi).sum();
    let seen = pages(call, number(call, "page_size")?, &ranges)?;
    let flops = h * (scores * (2 * (c + r) + 2 * c + SOFTMAX) + b * c);
    let pool = (c + r) * (seen.slots * width(call, "cache")?);
    let table = Int::from(seen.entries * width(call, "page_table")?);
    cost(flops, bytes_of(call, &["q_latent", "q_rope", "kv_lengths"])? + table + pool, call.bytes("o")?)
}

/// Cached keys and values copied out of their pages, packed.
///
/// `rows [N, 2]` names the request and the position of each packed row; `k` and `v [N, G, D]` are written.
///
/// *FLOPs.* None. *Bytes.* The rows' names and the outputs once; the table's entries that some row needs, and the distinct
/// slots behind them. The offsets say nothing that the rows do not, and are not read.
pub fn paged_gather_roofline(call: &CheckedCall) -> Costed {
    let (g, d, page_size) = (call.int("G")?, call.int("D")?, number(call, "page_size")?);
    let table = call.values("page_table")?;
    let columns = call.tensor("page_table")?.shape.last().copied().unwrap_or(0);
    let (mut slots, mut entries) = (BTreeSet::new(), BTreeSet::new());
    for row in call.values("rows")?.chunks_exact(2) {
        let (request, position) = (i128::from(row[0]), i128::from(row[1]));
        if page_size <= 0 {
            continue;
        }
        let entry = request * columns + position.div_euclid(page_size);
        let page = usize::try_from(entry).ok().and_then(|at| table.get(at)).ok_or_else(|| OpError::OpNotAvailable {
            op: call.op(),
            message: format!("the page table has no entry for position {position} of request {request}"),
        })?;
        entries.insert(entry);
        slots.insert((*page, position.rem_euclid(page_size)));
    }
    let pool = g * d * Int::from(slots.len()) * (width(call, "k_pages")? + width(call, "v_pages")?);
    let table = Int::from(entries.len()) * width(call, "page_table")?;
    cost(Int::from(0), call.bytes("rows")? + table + pool, bytes_of(call, &["k", "v"])?)
}
