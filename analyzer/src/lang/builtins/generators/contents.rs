//! How the contents come about.

use super::*;

pub(super) fn lengths(args: &[Value]) -> Result<Vec<i128>> {
    Args(args).lengths(0, "L")
}

pub(super) fn some_lengths(args: &[Value]) -> Result<Vec<i128>> {
    let lengths = lengths(args)?;
    if lengths.is_empty() { fail("`L` is empty") } else { Ok(lengths) }
}

/// How many chunks each sequence has.
pub(super) fn chunks(args: &[Value]) -> Result<Vec<i128>> {
    let chunk = Args(args).positive(1, "c")?;
    lengths(args)?.into_iter().map(|n| ceil_div(n, chunk)).collect()
}

pub(super) fn entries(values: Vec<i128>) -> Result<Vec<i64>> {
    values.into_iter().map(entry).collect()
}

pub(super) fn least_and_greatest(values: &[i128]) -> Bounds {
    Some((*values.iter().min()?, *values.iter().max()?))
}

pub(super) fn prefix_sum(lengths: Vec<i128>) -> Result<Vec<i64>> {
    let mut out = Vec::with_capacity(lengths.len() + 1);
    let mut total = 0_i128;
    out.push(0);
    for n in lengths {
        total = checked(total.checked_add(n))?;
        out.push(entry(total)?);
    }
    Ok(out)
}

/// `(i, j)` for each `j` below `counts[i]`.
pub(super) fn pairs(counts: &[i128]) -> Result<Vec<i64>> {
    let mut out = Vec::with_capacity(entry_count(&[sum(counts)?, 2])?);
    for (i, &count) in counts.iter().enumerate() {
        (0..count as i64).for_each(|j| out.extend([i as i64, j]));
    }
    Ok(out)
}

pub(super) fn pair_bounds(counts: &[i128]) -> Bounds {
    let longest = *counts.iter().max()?;
    Some((0, (counts.len() as i128 - 1).max(longest - 1)))
}

/// A pool of numbers to draw from.
pub(super) fn pool_size(n: i128, name: &str) -> Result<u64> {
    match i64::try_from(n) {
        Ok(n) if n >= 0 => Ok(n as u64),
        _ => fail(format!("`{name}` is {n}, and its indices do not fit int64 entries")),
    }
}

/// Entries drawn by themselves, `count` values from `least` on.
pub(super) fn independent(shape: &[i128], least: i64, count: i128, seed: Seed) -> Result<Vec<i64>> {
    let mut random = Random::new(seed);
    entry(checked(count.checked_add(least.into()))?)?;
    let count = count as u64;
    Ok((0..entry_count(shape)?).map(|_| least + random.below(count) as i64).collect())
}

pub(super) fn sample(args: &[Value]) -> Result<(i128, i128)> {
    let (n, hi) = (Args(args).natural(0, "n")?, Args(args).int(1, "hi")?);
    if n > hi { fail(format!("`n` is {n}, and must be at most `hi`, which is {hi}")) } else { Ok((n, hi)) }
}

/// The arguments of `key_windows`.
pub(super) struct Windows {
    pub(super) lengths: Vec<i128>,
    pub(super) first: i128,
    pub(super) count: i128,
    pub(super) ends: bool,
}

impl Windows {
    pub(super) fn of(args: &[Value]) -> Result<Self> {
        let a = Args(args);
        let (lengths, first, count) = (lengths(args)?, a.natural(1, "first")?, a.natural(2, "count")?);
        let total = sum(&lengths)?;
        if count > total - first.min(total) {
            return fail(format!("`first + count` is {first} + {count}, and must be at most sum(L), which is {total}"));
        }
        entry(total)?;
        Ok(Windows { lengths, first, count, ends: a.literal(3, "side", SIDES)? == "end" })
    }

    pub(super) fn generate(&self) -> Result<Vec<i64>> {
        let size = entry_count(&[self.count])? as i64;
        let first = entry(self.first)?;
        if self.ends {
            return Ok((1..=size).map(|i| first + i).collect());
        }
        let mut out = Vec::with_capacity(size as usize);
        let mut start = 0_i64;
        for &length in &self.lengths {
            let end = start + length as i64;
            let inside = (end.min(first + size) - start.max(first)).max(0);
            out.extend(std::iter::repeat_n(start, inside as usize));
            start = end;
        }
        Ok(out)
    }
}

/// The arguments of `moe.layout_metadata`.
pub(super) struct Grouped {
    pub(super) layout: Layout,
    pub(super) rows: i128,
    pub(super) experts: i128,
}

impl Grouped {
    pub(super) fn of(args: &[Value]) -> Result<Self> {
        let a = Args(args);
        let (layout, rows, experts) = (a.layout(0, "layout")?, a.natural(1, "R")?, a.positive(2, "E")?);
        match layout {
            Layout::Masked { max_m } if experts.checked_mul(max_m) != Some(rows) => {
                fail(format!("`R` is {rows}, and must be E * max_m of the masked layout, {experts} * {max_m}"))
            }
            Layout::Contiguous { alignment, .. } if rows % alignment != 0 => {
                fail(format!("`R` is {rows}, and must be a multiple of the layout's alignment, {alignment}"))
            }
            _ => Ok(Grouped { layout, rows, experts }),
        }
    }

    pub(super) fn len(&self) -> i128 {
        match self.layout {
            Layout::Contiguous { per_row: true, .. } => self.rows,
            _ => self.experts,
        }
    }

    pub(super) fn bounds(&self) -> (i128, i128) {
        match self.layout {
            Layout::Masked { max_m } => (0, max_m),
            Layout::Contiguous { per_row: true, .. } => (0, self.experts - 1),
            Layout::Contiguous { per_row: false, .. } => (0, self.rows),
        }
    }

    pub(super) fn generate(&self) -> Result<Vec<i64>> {
        let count = entry_count(&[self.len()])?;
        entry(self.rows)?;
        let mut out = Vec::with_capacity(count);
        match self.layout {
            // Every other expert's rows are half valid, so that the mask has something to mask.
            Layout::Masked { max_m } => {
                let full = entry(max_m)?;
                out.extend((0..count).map(|expert| if expert % 2 == 0 { full } else { full / 2 }));
            }
            Layout::Contiguous { per_row: true, alignment, .. } => {
                // No more experts than rows are reached, so the loop is as long as the result.
                for (expert, tiles) in balanced(self.rows / alignment, self.experts).take(count).enumerate() {
                    out.extend(std::iter::repeat_n(expert as i64, (tiles * alignment) as usize));
                }
            }
            Layout::Contiguous { per_row: false, aligned, alignment } => {
                let mut start = 0;
                for tiles in balanced(self.rows / alignment, self.experts) {
                    // The last tile of an expert is half padding, where there is padding.
                    let padding = if aligned && tiles > 0 { alignment / 2 } else { 0 };
                    out.push(entry(start + tiles * alignment - padding)?);
                    start += tiles * alignment;
                }
            }
        }
        Ok(out)
    }
}

/// The arguments of `paged_block_table`.
pub(super) struct Paged {
    pub(super) batch: i128,
    pub(super) width: i128,
    pub(super) pool: i128,
}

impl Paged {
    pub(super) fn of(args: &[Value]) -> Result<Self> {
        let a = Args(args);
        let (batch, width, pool) = (a.natural(0, "B")?, a.positive(1, "width")?, a.int(2, "pool")?);
        if width > pool {
            return fail(format!("`width` is {width}, and must be at most `pool`, which is {pool}"));
        }
        Ok(Paged { batch, width, pool })
    }

    pub(super) fn generate(&self, seed: Seed) -> Result<Vec<i64>> {
        let count = entry_count(&[self.batch, self.width])?;
        let pool = pool_size(self.pool, "pool")?;
        let mut random = Random::new(seed);
        let mut out = Vec::with_capacity(count);
        if count as u64 <= pool {
            Distinct::new(pool, count as u64).draw_once(&mut random, pool, count as u64, &mut out);
        } else {
            let mut distinct = Distinct::new(pool, self.width as u64);
            (0..self.batch).for_each(|_| distinct.draw(&mut random, pool, self.width as u64, &mut out));
        }
        Ok(out)
    }
}

/// The arguments of `topk_ids`.
pub(super) struct TopK {
    pub(super) rows: i128,
    pub(super) k: i128,
    pub(super) experts: i128,
}

impl TopK {
    pub(super) fn of(args: &[Value]) -> Result<Self> {
        let a = Args(args);
        let (rows, k, experts) = (a.natural(0, "N")?, a.positive(1, "K")?, a.int(2, "E")?);
        if k > experts {
            return fail(format!("`K` is {k}, and must be at most `E`, which is {experts}"));
        }
        Ok(TopK { rows, k, experts })
    }

    pub(super) fn generate(&self, seed: Seed) -> Result<Vec<i64>> {
        let count = entry_count(&[self.rows, self.k])?;
        let experts = pool_size(self.experts, "E")?;
        let mut random = Random::new(seed);
        let mut out = Vec::with_capacity(count);
        if count > 0 {
            let mut distinct = Distinct::new(experts, self.k as u64);
            (0..self.rows).for_each(|_| distinct.draw(&mut random, experts, self.k as u64, &mut out));
        }
        Ok(out)
    }
}

/// Draws at most `k` of the first `visible` numbers and pads the row to `k` entries.
pub(super) fn padded(
    distinct: &mut Distinct,
    random: &mut Random,
    visible: u64,
    k: usize,
    padding: i64,
    out: &mut Vec<i64>,
) -> std::ops::Range<usize> {
    let start = out.len();
    distinct.draw(random, visible, k as u64, out);
    let drawn = start..out.len();
    out.resize(start + k, padding);
    drawn
}

/// The arguments of `nsa_block_indices`.
pub(super) struct Blocks {
    pub(super) lengths: Vec<i128>,
    pub(super) tokens: i128,
    pub(super) size: i128,
    pub(super) selected: i128,
    pub(super) heads: i128,
}

impl Blocks {
    pub(super) fn of(args: &[Value]) -> Result<Self> {
        let a = Args(args);
        let lengths = lengths(args)?;
        let tokens = sum(&lengths)?;
        let (size, selected, heads) = (a.positive(1, "bs")?, a.positive(2, "sel")?, a.natural(3, "H")?);
        Ok(Blocks { lengths, tokens, size, selected, heads })
    }

    pub(super) fn generate(&self, seed: Seed) -> Result<Vec<i64>> {
        let count = entry_count(&[self.tokens, self.heads, self.selected])?;
        let mut out = Vec::with_capacity(count);
        if count == 0 {
            return Ok(out);
        }
        let longest = self.lengths.iter().copied().max().unwrap_or(0);
        let most = pool_size(ceil_div(longest, self.size)?.max(1), "L")?;
        let (k, padding) = (self.selected as usize, entry(self.tokens)?);
        let mut random = Random::new(seed);
        let mut distinct = Distinct::new(most, k as u64);
        for &length in &self.lengths {
            for position in 0..length {
                let visible = ceil_div(position, self.size)?.max(1) as u64;
                for _ in 0..self.heads {
                    let drawn = padded(&mut distinct, &mut random, visible, k, padding, &mut out);
                    out[drawn].sort_unstable();
                }
            }
        }
        Ok(out)
    }
}

/// The arguments of `causal_topk_indices`.
pub(super) struct Causal {
    pub(super) batch: i128,
    pub(super) queries: i128,
    pub(super) heads: i128,
    pub(super) k: i128,
    pub(super) extent: i128,
    pub(super) start: i128,
    pub(super) stride: i128,
}

impl Causal {
    pub(super) fn of(args: &[Value]) -> Result<Self> {
        let a = Args(args);
        Ok(Causal {
            batch: a.natural(0, "B")?,
            queries: a.natural(1, "S")?,
            heads: a.natural(2, "H")?,
            k: a.natural(3, "K")?,
            extent: a.natural(4, "E")?,
            start: a.natural(5, "start")?,
            stride: a.positive(6, "stride")?,
        })
    }

    pub(super) fn generate(&self, seed: Seed) -> Result<Vec<i64>> {
        let count = entry_count(&[self.batch, self.queries, self.heads, self.k])?;
        let mut out = Vec::with_capacity(count);
        if count == 0 {
            return Ok(out);
        }
        let visible = |query: i128| {
            let seen = query.saturating_add(self.start) / self.stride;
            seen.max(1).min(self.extent)
        };
        let padding = entry(self.extent)?;
        let mut random = Random::new(seed);
        let mut distinct = Distinct::new(pool_size(visible(self.queries - 1), "E")?, self.k as u64);
        for _ in 0..self.batch {
            for query in 0..self.queries {
                for _ in 0..self.heads {
                    let visible = visible(query) as u64;
                    padded(&mut distinct, &mut random, visible, self.k as usize, padding, &mut out);
                }
            }
        }
        Ok(out)
    }
}

/// The arguments of `attn.sparse_topk_positions`.
pub(super) struct Sparse {
    pub(super) lengths: Vec<i128>,
    pub(super) queries: i128,
    pub(super) k: i128,
}

impl Sparse {
    pub(super) fn of(args: &[Value]) -> Result<Self> {
        let (queries, k) = (Args(args).natural(1, "S_q")?, Args(args).natural(2, "K")?);
        let lengths = lengths(args)?;
        match lengths.iter().position(|&n| n < queries) {
            Some(i) => fail(format!("`L[{i}]` is {}, and must be at least `S_q`, which is {queries}", lengths[i])),
            None => Ok(Sparse { lengths, queries, k }),
        }
    }

    pub(super) fn generate(&self, seed: Seed) -> Result<Vec<i64>> {
        let count = entry_count(&[self.lengths.len() as i128, self.queries, self.k])?;
        let mut out = Vec::with_capacity(count);
        if count == 0 {
            return Ok(out);
        }
        let longest = pool_size(self.lengths.iter().copied().max().unwrap_or(0), "L")?;
        let mut random = Random::new(seed);
        let mut distinct = Distinct::new(longest, self.k as u64);
        for &length in &self.lengths {
            for query in 0..self.queries {
                let visible = (length - self.queries + query + 1) as u64;
                padded(&mut distinct, &mut random, visible, self.k as usize, -1, &mut out);
            }
        }
        Ok(out)
    }
}
