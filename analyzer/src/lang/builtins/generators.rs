//! The generators: what fills a metadata tensor.

use super::args::{Args, Layout, balanced, ceil_div, checked, entry, entry_count, fail, sum};
use super::random::{Distinct, Random};
use super::{Builtin, DomainError, Generator, Parameter, Passing, ResultShape, Role, Seed, Takes};
use crate::lang::Value;

type Result<T> = std::result::Result<T, DomainError>;
type Bounds = Option<(i128, i128)>;

const fn parameter(name: &'static str, takes: Takes) -> Parameter {
    Parameter::new(name, takes, Passing::Required)
}

const LENGTHS: Parameter = parameter("L", Takes::SeqInt).at_least(0);
const CHUNK: Parameter = parameter("c", Takes::Int).at_least(1);
const SIDES: &[&str] = &["start", "end"];
const LENGTHS_DOMAIN: &str = "every length >= 0";

pub(super) static TABLE: &[Builtin] = &[
    Builtin {
        name: "as_tensor",
        role: Role::Generator(&Generator {
            seeded: false,
            shape: ResultShape::Axes(&["len(L)"]),
            result_shape: |args| Ok(vec![Args(args).seq(0, "L")?.len() as i128]),
            generate: |args, _| entries(Args(args).ints(0, "L")?),
            bounds: |args| least_and_greatest(&Args(args).ints(0, "L").ok()?),
        }),
        params: &[parameter("L", Takes::SeqInt)],
        doc: "the list itself",
        domain: "",
    },
    Builtin {
        name: "prefix_sum",
        role: Role::Generator(&Generator {
            seeded: false,
            shape: ResultShape::Axes(&["len(L) + 1"]),
            result_shape: |args| Ok(vec![lengths(args)?.len() as i128 + 1]),
            generate: |args, _| prefix_sum(lengths(args)?),
            bounds: |args| Some((0, sum(&lengths(args).ok()?).ok()?)),
        }),
        params: &[LENGTHS],
        doc: "0, then the sum of the lengths up to each: where each sequence of a packed batch starts and ends",
        domain: LENGTHS_DOMAIN,
    },
    Builtin {
        name: "exclusive_prefix_sum",
        role: Role::Generator(&Generator {
            seeded: false,
            shape: ResultShape::Axes(&["len(L)"]),
            result_shape: |args| Ok(vec![some_lengths(args)?.len() as i128]),
            generate: |args, _| {
                let mut sums = prefix_sum(some_lengths(args)?)?;
                sums.pop();
                Ok(sums)
            },
            bounds: |args| {
                let mut lengths = some_lengths(args).ok()?;
                lengths.pop();
                Some((0, sum(&lengths).ok()?))
            },
        }),
        params: &[LENGTHS],
        doc: "the sum of the lengths before each: where each sequence of a packed batch starts",
        domain: "L is not empty, every length >= 0",
    },
    Builtin {
        name: "chunk_indices",
        role: Role::Generator(&Generator {
            seeded: false,
            shape: ResultShape::Axes(&["sum(ceil_div(n, c) for n in L)", "2"]),
            result_shape: |args| Ok(vec![sum(&chunks(args)?)?, 2]),
            generate: |args, _| pairs(&chunks(args)?),
            bounds: |args| pair_bounds(&chunks(args).ok()?),
        }),
        params: &[LENGTHS, CHUNK],
        doc: "a (sequence, chunk) pair for each chunk of at most `c` positions of each sequence",
        domain: "c > 0, every length >= 0",
    },
    Builtin {
        name: "token_indices",
        role: Role::Generator(&Generator {
            seeded: false,
            shape: ResultShape::Axes(&["sum(L)", "2"]),
            result_shape: |args| Ok(vec![sum(&lengths(args)?)?, 2]),
            generate: |args, _| pairs(&lengths(args)?),
            bounds: |args| pair_bounds(&lengths(args).ok()?),
        }),
        params: &[LENGTHS],
        doc: "a (sequence, position) pair for each position of each sequence",
        domain: LENGTHS_DOMAIN,
    },
    Builtin {
        name: "packed_positions",
        role: Role::Generator(&Generator {
            seeded: false,
            shape: ResultShape::Axes(&["sum(L)"]),
            result_shape: |args| Ok(vec![sum(&lengths(args)?)?]),
            generate: |args, _| {
                let lengths = lengths(args)?;
                let mut out = Vec::with_capacity(entry_count(&[sum(&lengths)?])?);
                lengths.iter().for_each(|&n| out.extend(0..n as i64));
                Ok(out)
            },
            bounds: |args| Some((0, (lengths(args).ok()?.into_iter().max()? - 1).max(0))),
        }),
        params: &[LENGTHS],
        doc: "the positions of a packed batch, from 0 in each sequence",
        domain: LENGTHS_DOMAIN,
    },
    Builtin {
        name: "chunk_offsets",
        role: Role::Generator(&Generator {
            seeded: false,
            shape: ResultShape::Axes(&["len(L) + 1"]),
            result_shape: |args| Ok(vec![chunks(args)?.len() as i128 + 1]),
            generate: |args, _| prefix_sum(chunks(args)?),
            bounds: |args| Some((0, sum(&chunks(args).ok()?).ok()?)),
        }),
        params: &[LENGTHS, CHUNK],
        doc: "0, then how many chunks of at most `c` positions the sequences up to each have",
        domain: "c > 0, every length >= 0",
    },
    Builtin {
        name: "key_windows",
        role: Role::Generator(&Generator {
            seeded: false,
            shape: ResultShape::Axes(&["count"]),
            result_shape: |args| Ok(vec![Windows::of(args)?.count]),
            generate: |args, _| Windows::of(args)?.generate(),
            bounds: |args| {
                let windows = Windows::of(args).ok()?;
                Some(if windows.ends {
                    (windows.first + 1, windows.first + windows.count)
                } else {
                    (0, windows.first + windows.count)
                })
            },
        }),
        params: &[
            LENGTHS,
            parameter("first", Takes::Int).at_least(0),
            parameter("count", Takes::Int).at_least(0),
            parameter("side", Takes::Literal(SIDES)),
        ],
        doc: "for `count` positions of a packed batch from `first` on, where the keys that each one sees start (its \
              sequence's first position) or end (just behind itself)",
        domain: "first >= 0, count >= 0, first + count <= sum(L)",
    },
    Builtin {
        name: "full",
        role: Role::Generator(&Generator {
            seeded: false,
            shape: ResultShape::Param("shape"),
            result_shape: |args| Args(args).lengths(0, "shape"),
            generate: |args, _| {
                let count = entry_count(&Args(args).lengths(0, "shape")?)?;
                Ok(vec![entry(Args(args).int(1, "v")?)?; count])
            },
            bounds: |args| Args(args).int(1, "v").ok().map(|v| (v, v)),
        }),
        params: &[parameter("shape", Takes::Shape).at_least(0), parameter("v", Takes::Int)],
        doc: "`v` everywhere",
        domain: "every extent >= 0",
    },
    Builtin {
        name: "moe.layout_metadata",
        role: Role::Generator(&Generator {
            seeded: false,
            shape: ResultShape::LayoutMetadata,
            result_shape: |args| Grouped::of(args).map(|grouped| vec![grouped.len()]),
            generate: |args, _| Grouped::of(args)?.generate(),
            bounds: |args| Grouped::of(args).ok().map(|grouped| grouped.bounds()),
        }),
        params: &[
            parameter("layout", Takes::Adt(Layout::ADT)),
            parameter("R", Takes::Int).at_least(0),
            parameter("E", Takes::Int).at_least(1),
        ],
        doc: "the metadata of the layout for `R` rows that `E` experts share as evenly as it allows: each expert's \
              number of valid rows, each row's expert, or each expert's end",
        domain: "E > 0, R >= 0; R == E * max_m of a masked layout; R is a multiple of the alignment of an aligned one",
    },
    Builtin {
        name: "paged_block_table",
        role: Role::Generator(&Generator {
            seeded: true,
            shape: ResultShape::Axes(&["B", "width"]),
            result_shape: |args| Paged::of(args).map(|p| vec![p.batch, p.width]),
            generate: |args, seed| Paged::of(args)?.generate(seed),
            bounds: |args| Paged::of(args).ok().map(|p| (0, p.pool - 1)),
        }),
        params: &[
            parameter("B", Takes::Int).at_least(0),
            parameter("width", Takes::Int).at_least(1).at_most("pool"),
            parameter("pool", Takes::Int),
        ],
        doc: "each request's pages, drawn from the pool: no page twice in a request, nor in two where the pool is large \
              enough",
        domain: "B >= 0, 0 < width <= pool",
    },
    Builtin {
        name: "nsa_block_indices",
        role: Role::Generator(&Generator {
            seeded: true,
            shape: ResultShape::Axes(&["sum(L)", "H", "sel"]),
            result_shape: |args| Blocks::of(args).map(|b| vec![b.tokens, b.heads, b.selected]),
            generate: |args, seed| Blocks::of(args)?.generate(seed),
            bounds: |args| Blocks::of(args).ok().map(|b| (0, b.tokens)),
        }),
        params: &[
            LENGTHS,
            parameter("bs", Takes::Int).at_least(1),
            parameter("sel", Takes::Int).at_least(1),
            parameter("H", Takes::Int).at_least(0),
        ],
        doc: "for each position of a packed batch and each head, the blocks of `bs` keys that it attends to, drawn from \
              those that lie before it (the first always): at most `sel`, ascending, padded with sum(L)",
        domain: "bs > 0, sel > 0, H >= 0, every length >= 0",
    },
    Builtin {
        name: "nsa_block_counts",
        role: Role::Generator(&Generator {
            seeded: true,
            shape: ResultShape::Axes(&["T", "H"]),
            result_shape: |args| Ok(vec![Args(args).natural(0, "T")?, Args(args).natural(1, "H")?]),
            generate: |args, seed| {
                let (tokens, heads) = (Args(args).natural(0, "T")?, Args(args).natural(1, "H")?);
                independent(&[tokens, heads], 1, Args(args).positive(2, "sel")?, seed)
            },
            bounds: |args| Some((1, Args(args).positive(2, "sel").ok()?)),
        }),
        params: &[
            parameter("T", Takes::Int).at_least(0),
            parameter("H", Takes::Int).at_least(0),
            parameter("sel", Takes::Int).at_least(1),
        ],
        doc: "how many blocks each position and head attends to, from 1 to `sel`",
        domain: "T >= 0, H >= 0, sel > 0",
    },
    Builtin {
        name: "topk_ids",
        role: Role::Generator(&Generator {
            seeded: true,
            shape: ResultShape::Axes(&["N", "K"]),
            result_shape: |args| TopK::of(args).map(|t| vec![t.rows, t.k]),
            generate: |args, seed| TopK::of(args)?.generate(seed),
            bounds: |args| TopK::of(args).ok().map(|t| (0, t.experts - 1)),
        }),
        params: &[
            parameter("N", Takes::Int).at_least(0),
            parameter("K", Takes::Int).at_least(1).at_most("E"),
            parameter("E", Takes::Int),
        ],
        doc: "`K` of `E` experts for each of `N` rows, none twice in a row",
        domain: "N >= 0, 0 < K <= E",
    },
    Builtin {
        name: "random_ids",
        role: Role::Generator(&Generator {
            seeded: true,
            shape: ResultShape::Axes(&["N", "w"]),
            result_shape: |args| {
                Args(args).positive(2, "hi")?;
                Ok(vec![Args(args).natural(0, "N")?, Args(args).natural(1, "w")?])
            },
            generate: |args, seed| {
                let shape = [Args(args).natural(0, "N")?, Args(args).natural(1, "w")?];
                independent(&shape, 0, Args(args).positive(2, "hi")?, seed)
            },
            bounds: |args| Some((0, Args(args).positive(2, "hi").ok()? - 1)),
        }),
        params: &[
            parameter("N", Takes::Int).at_least(0),
            parameter("w", Takes::Int).at_least(0),
            parameter("hi", Takes::Int).at_least(1),
        ],
        doc: "indices below `hi`, each drawn by itself",
        domain: "N >= 0, w >= 0, hi > 0",
    },
    Builtin {
        name: "sample_indices",
        role: Role::Generator(&Generator {
            seeded: true,
            shape: ResultShape::Axes(&["n"]),
            result_shape: |args| sample(args).map(|(n, _)| vec![n]),
            generate: |args, seed| {
                let (n, hi) = sample(args)?;
                let (count, hi) = (entry_count(&[n])?, pool_size(hi, "hi")?);
                let mut out = Vec::with_capacity(count);
                Distinct::new(hi, count as u64).draw_once(&mut Random::new(seed), hi, count as u64, &mut out);
                Ok(out)
            },
            bounds: |args| sample(args).ok().map(|(_, hi)| (0, (hi - 1).max(0))),
        }),
        params: &[parameter("n", Takes::Int).at_least(0).at_most("hi"), parameter("hi", Takes::Int)],
        doc: "`n` indices below `hi`, none twice",
        domain: "0 <= n <= hi",
    },
    Builtin {
        name: "causal_topk_indices",
        role: Role::Generator(&Generator {
            seeded: true,
            shape: ResultShape::Axes(&["B", "S", "H", "K"]),
            result_shape: |args| Causal::of(args).map(|c| vec![c.batch, c.queries, c.heads, c.k]),
            generate: |args, seed| Causal::of(args)?.generate(seed),
            bounds: |args| Causal::of(args).ok().map(|c| (0, c.extent)),
        }),
        params: &[
            parameter("B", Takes::Int).at_least(0),
            parameter("S", Takes::Int).at_least(0),
            parameter("H", Takes::Int).at_least(0),
            parameter("K", Takes::Int).at_least(0),
            parameter("E", Takes::Int).at_least(0),
            parameter("start", Takes::Int).at_least(0),
            parameter("stride", Takes::Int).at_least(1),
        ],
        doc: "for each query and head, at most `K` of the keys that it sees, none twice, padded with `E`; query `t` sees \
              the first (t + start) // stride of `E` keys, and one at least",
        domain: "B, S, H, K, E and start >= 0, stride > 0",
    },
    Builtin {
        name: "attn.sparse_topk_positions",
        role: Role::Generator(&Generator {
            seeded: true,
            shape: ResultShape::Axes(&["len(L)", "S_q", "K"]),
            result_shape: |args| Sparse::of(args).map(|s| vec![s.lengths.len() as i128, s.queries, s.k]),
            generate: |args, seed| Sparse::of(args)?.generate(seed),
            bounds: |args| {
                let sparse = Sparse::of(args).ok()?;
                Some((-1, (sparse.lengths.into_iter().max()? - 1).max(-1)))
            },
        }),
        params: &[LENGTHS, parameter("S_q", Takes::Int).at_least(0), parameter("K", Takes::Int).at_least(0)],
        doc: "for each of the last `S_q` positions of each request, at most `K` of the positions up to it, none twice, \
              padded with -1",
        domain: "S_q >= 0, K >= 0, every length >= S_q",
    },
];

fn lengths(args: &[Value]) -> Result<Vec<i128>> {
    Args(args).lengths(0, "L")
}

fn some_lengths(args: &[Value]) -> Result<Vec<i128>> {
    let lengths = lengths(args)?;
    if lengths.is_empty() { fail("`L` is empty") } else { Ok(lengths) }
}

/// How many chunks each sequence has.
fn chunks(args: &[Value]) -> Result<Vec<i128>> {
    let chunk = Args(args).positive(1, "c")?;
    lengths(args)?.into_iter().map(|n| ceil_div(n, chunk)).collect()
}

fn entries(values: Vec<i128>) -> Result<Vec<i64>> {
    values.into_iter().map(entry).collect()
}

fn least_and_greatest(values: &[i128]) -> Bounds {
    Some((*values.iter().min()?, *values.iter().max()?))
}

fn prefix_sum(lengths: Vec<i128>) -> Result<Vec<i64>> {
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
fn pairs(counts: &[i128]) -> Result<Vec<i64>> {
    let mut out = Vec::with_capacity(entry_count(&[sum(counts)?, 2])?);
    for (i, &count) in counts.iter().enumerate() {
        (0..count as i64).for_each(|j| out.extend([i as i64, j]));
    }
    Ok(out)
}

fn pair_bounds(counts: &[i128]) -> Bounds {
    let longest = *counts.iter().max()?;
    Some((0, (counts.len() as i128 - 1).max(longest - 1)))
}

/// A pool of numbers to draw from.
fn pool_size(n: i128, name: &str) -> Result<u64> {
    match i64::try_from(n) {
        Ok(n) if n >= 0 => Ok(n as u64),
        _ => fail(format!("`{name}` is {n}, and its indices do not fit int64 entries")),
    }
}

/// Entries drawn by themselves, `count` values from `least` on.
fn independent(shape: &[i128], least: i64, count: i128, seed: Seed) -> Result<Vec<i64>> {
    let mut random = Random::new(seed);
    entry(checked(count.checked_add(least.into()))?)?;
    let count = count as u64;
    Ok((0..entry_count(shape)?).map(|_| least + random.below(count) as i64).collect())
}

fn sample(args: &[Value]) -> Result<(i128, i128)> {
    let (n, hi) = (Args(args).natural(0, "n")?, Args(args).int(1, "hi")?);
    if n > hi { fail(format!("`n` is {n}, and must be at most `hi`, which is {hi}")) } else { Ok((n, hi)) }
}

/// The arguments of `key_windows`.
struct Windows {
    lengths: Vec<i128>,
    first: i128,
    count: i128,
    ends: bool,
}

impl Windows {
    fn of(args: &[Value]) -> Result<Self> {
        let a = Args(args);
        let (lengths, first, count) = (lengths(args)?, a.natural(1, "first")?, a.natural(2, "count")?);
        let total = sum(&lengths)?;
        if count > total - first.min(total) {
            return fail(format!("`first + count` is {first} + {count}, and must be at most sum(L), which is {total}"));
        }
        entry(total)?;
        Ok(Windows { lengths, first, count, ends: a.literal(3, "side", SIDES)? == "end" })
    }

    fn generate(&self) -> Result<Vec<i64>> {
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
struct Grouped {
    layout: Layout,
    rows: i128,
    experts: i128,
}

impl Grouped {
    fn of(args: &[Value]) -> Result<Self> {
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

    fn len(&self) -> i128 {
        match self.layout {
            Layout::Contiguous { per_row: true, .. } => self.rows,
            _ => self.experts,
        }
    }

    fn bounds(&self) -> (i128, i128) {
        match self.layout {
            Layout::Masked { max_m } => (0, max_m),
            Layout::Contiguous { per_row: true, .. } => (0, self.experts - 1),
            Layout::Contiguous { per_row: false, .. } => (0, self.rows),
        }
    }

    fn generate(&self) -> Result<Vec<i64>> {
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
struct Paged {
    batch: i128,
    width: i128,
    pool: i128,
}

impl Paged {
    fn of(args: &[Value]) -> Result<Self> {
        let a = Args(args);
        let (batch, width, pool) = (a.natural(0, "B")?, a.positive(1, "width")?, a.int(2, "pool")?);
        if width > pool {
            return fail(format!("`width` is {width}, and must be at most `pool`, which is {pool}"));
        }
        Ok(Paged { batch, width, pool })
    }

    fn generate(&self, seed: Seed) -> Result<Vec<i64>> {
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
struct TopK {
    rows: i128,
    k: i128,
    experts: i128,
}

impl TopK {
    fn of(args: &[Value]) -> Result<Self> {
        let a = Args(args);
        let (rows, k, experts) = (a.natural(0, "N")?, a.positive(1, "K")?, a.int(2, "E")?);
        if k > experts {
            return fail(format!("`K` is {k}, and must be at most `E`, which is {experts}"));
        }
        Ok(TopK { rows, k, experts })
    }

    fn generate(&self, seed: Seed) -> Result<Vec<i64>> {
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
fn padded(
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
struct Blocks {
    lengths: Vec<i128>,
    tokens: i128,
    size: i128,
    selected: i128,
    heads: i128,
}

impl Blocks {
    fn of(args: &[Value]) -> Result<Self> {
        let a = Args(args);
        let lengths = lengths(args)?;
        let tokens = sum(&lengths)?;
        let (size, selected, heads) = (a.positive(1, "bs")?, a.positive(2, "sel")?, a.natural(3, "H")?);
        Ok(Blocks { lengths, tokens, size, selected, heads })
    }

    fn generate(&self, seed: Seed) -> Result<Vec<i64>> {
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
struct Causal {
    batch: i128,
    queries: i128,
    heads: i128,
    k: i128,
    extent: i128,
    start: i128,
    stride: i128,
}

impl Causal {
    fn of(args: &[Value]) -> Result<Self> {
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

    fn generate(&self, seed: Seed) -> Result<Vec<i64>> {
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
struct Sparse {
    lengths: Vec<i128>,
    queries: i128,
    k: i128,
}

impl Sparse {
    fn of(args: &[Value]) -> Result<Self> {
        let (queries, k) = (Args(args).natural(1, "S_q")?, Args(args).natural(2, "K")?);
        let lengths = lengths(args)?;
        match lengths.iter().position(|&n| n < queries) {
            Some(i) => fail(format!("`L[{i}]` is {}, and must be at least `S_q`, which is {queries}", lengths[i])),
            None => Ok(Sparse { lengths, queries, k }),
        }
    }

    fn generate(&self, seed: Seed) -> Result<Vec<i64>> {
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

#[cfg(test)]
mod tests {
    use super::super::{Argument, Contents, Predicate, all, find};
    use super::*;
    use crate::defect::Findings;
    use crate::eval::{Environment, evaluate_axes};
    use crate::expr::{ShapeKind, parse_shape};
    use crate::lang::AdtValue;
    use crate::syntax::Scalar;
    use crate::text::{TextRange, TextSize};
    use Value::Int;

    fn generator(name: &str) -> &'static Generator {
        match find(name).unwrap().role {
            Role::Generator(generator) => generator,
            _ => panic!("{name} is no generator"),
        }
    }

    /// The shape and the values; checks that they agree with each other and with the bounds.
    fn made(name: &str, args: &[Value]) -> std::result::Result<(Vec<i128>, Vec<i64>), String> {
        let generator = generator(name);
        let shape = (generator.result_shape)(args).map_err(|e| e.0)?;
        let values = (generator.generate)(args, Seed(1)).map_err(|e| e.0)?;
        assert_eq!(shape.iter().product::<i128>(), values.len() as i128, "{name}");
        assert_eq!(stated_shape(name, args), Some(shape.clone()), "{name}");
        match (generator.bounds)(args) {
            Some((lo, hi)) => assert!(values.iter().all(|&v| (lo..=hi).contains(&v.into())), "{name}: {lo} {hi}"),
            None => assert!(values.is_empty(), "{name} has no bounds"),
        }
        assert_eq!((generator.generate)(args, Seed(1)).unwrap(), values, "{name} is not stable");
        Ok((shape, values))
    }

    struct Parameters<'a>(&'static [Parameter], &'a [Value]);

    impl Environment for Parameters<'_> {
        fn value(&self, name: &str) -> Option<Value> {
            self.1.get(self.0.iter().position(|parameter| parameter.name == name)?).cloned()
        }

        fn present(&self, _: &str) -> Option<bool> {
            None
        }
    }

    /// The shape as the table states it, for readers that have no values.
    fn stated_shape(name: &str, args: &[Value]) -> Option<Vec<i128>> {
        let environment = Parameters(find(name)?.params, args);
        let text = match generator(name).shape {
            ResultShape::LayoutMetadata => {
                let per_row = matches!(Args(args).layout(0, "layout"), Ok(Layout::Contiguous { per_row: true, .. }));
                if per_row { "[R]".to_owned() } else { "[E]".to_owned() }
            }
            stated => stated.to_string(),
        };
        let len = TextSize::of(text.as_str());
        let mut findings = Findings::default();
        let shape = parse_shape(&Scalar::plain(&text), TextRange::up_to(len), "", &mut findings);
        assert!(findings.defects.is_empty(), "{text}");
        match shape.kind {
            ShapeKind::Axes(axes) => evaluate_axes(&axes, &environment).ok(),
            _ => None,
        }
    }

    fn values(name: &str, args: &[Value]) -> Vec<i64> {
        made(name, args).unwrap().1
    }

    fn ints<const N: usize>(items: [i128; N]) -> Value {
        Value::ints(items)
    }

    fn str(text: &str) -> Value {
        Value::Str(text.into())
    }

    fn layout(packing: &str, metadata: &str, alignment: i128) -> Value {
        let fields = vec![
            ("packing".into(), str(packing)),
            ("metadata_kind".into(), str(metadata)),
            ("alignment".into(), Int(alignment)),
        ];
        Value::Adt(AdtValue { adt: Layout::ADT.into(), constructor: "contiguous".into(), fields }.into())
    }

    fn masked(max_m: i128) -> Value {
        let fields = vec![("max_m".into(), Int(max_m))];
        Value::Adt(AdtValue { adt: Layout::ADT.into(), constructor: "masked".into(), fields }.into())
    }

    fn distinct(row: &[i64]) -> bool {
        let mut sorted = row.to_vec();
        sorted.sort_unstable();
        sorted.windows(2).all(|pair| pair[0] != pair[1])
    }

    #[test]
    fn lengths_become_offsets() {
        let l = || ints([3, 0, 2]);
        assert_eq!(made("as_tensor", &[l()]), Ok((vec![3], vec![3, 0, 2])));
        assert_eq!(made("as_tensor", &[ints([])]), Ok((vec![0], vec![])));
        assert_eq!(made("prefix_sum", &[l()]), Ok((vec![4], vec![0, 3, 3, 5])));
        assert_eq!(made("prefix_sum", &[ints([])]), Ok((vec![1], vec![0])));
        assert_eq!(made("exclusive_prefix_sum", &[l()]), Ok((vec![3], vec![0, 3, 3])));
        assert_eq!(made("exclusive_prefix_sum", &[ints([])]), Err("`L` is empty".into()));
        assert_eq!(made("chunk_offsets", &[l(), Int(2)]), Ok((vec![4], vec![0, 2, 2, 3])));
        assert_eq!(made("chunk_offsets", &[l(), Int(0)]), Err("`c` is 0, and must be positive".into()));
        assert_eq!(made("prefix_sum", &[ints([1, -1])]), Err("`L[1]` is -1, and must be non-negative".into()));
        assert_eq!(made("prefix_sum", &[Int(3)]), Err("`L` is 3, and must be a sequence".into()));
        assert_eq!(
            made("as_tensor", &[ints([1 << 70])]),
            Err("1180591620717411303424 does not fit an int64 entry".into())
        );
    }

    #[test]
    fn lengths_become_pairs() {
        let l = || ints([3, 0, 2]);
        assert_eq!(made("token_indices", &[l()]), Ok((vec![5, 2], vec![0, 0, 0, 1, 0, 2, 2, 0, 2, 1])));
        assert_eq!(made("chunk_indices", &[l(), Int(2)]), Ok((vec![3, 2], vec![0, 0, 0, 1, 2, 0])));
        assert_eq!(made("packed_positions", &[l()]), Ok((vec![5], vec![0, 1, 2, 0, 1])));
        assert_eq!(made("token_indices", &[ints([])]), Ok((vec![0, 2], vec![])));
        assert_eq!(made("packed_positions", &[ints([0])]), Ok((vec![0], vec![])));
        assert!(made("packed_positions", &[ints([1 << 40])]).unwrap_err().contains("more than the"));
        assert!(made("chunk_indices", &[l(), Int(-1)]).is_err());
    }

    #[test]
    fn windows_start_with_the_sequence_and_end_behind_the_position() {
        let window = |first: i128, count: i128, side: &str| {
            made("key_windows", &[ints([3, 0, 2]), Int(first), Int(count), str(side)])
        };
        assert_eq!(window(0, 5, "start"), Ok((vec![5], vec![0, 0, 0, 3, 3])));
        assert_eq!(window(0, 5, "end"), Ok((vec![5], vec![1, 2, 3, 4, 5])));
        assert_eq!(window(2, 2, "start"), Ok((vec![2], vec![0, 3])));
        assert_eq!(window(2, 2, "end"), Ok((vec![2], vec![3, 4])));
        assert_eq!(window(5, 0, "end"), Ok((vec![0], vec![])));
        assert_eq!(window(4, 2, "end"), Err("`first + count` is 4 + 2, and must be at most sum(L), which is 5".into()));
        assert!(window(9, 0, "end").is_ok_and(|(_, values)| values.is_empty()));
        assert!(window(-1, 0, "end").is_err() && window(0, 1, "left").is_err());
    }

    #[test]
    fn full_tensors() {
        assert_eq!(made("full", &[ints([2, 2]), Int(-7)]), Ok((vec![2, 2], vec![-7; 4])));
        assert_eq!(made("full", &[ints([]), Int(1)]), Ok((vec![], vec![1])));
        assert_eq!(made("full", &[ints([-1]), Int(1)]), Err("`shape[0]` is -1, and must be non-negative".into()));
    }

    #[test]
    fn layouts_have_metadata() {
        let metadata = |layout: Value, r: i128, e: i128| made("moe.layout_metadata", &[layout, Int(r), Int(e)]);
        assert_eq!(metadata(masked(5), 15, 3), Ok((vec![3], vec![5, 2, 5])));
        assert_eq!(
            metadata(masked(5), 14, 3),
            Err("`R` is 14, and must be E * max_m of the masked layout, 3 * 5".into())
        );
        assert_eq!(metadata(layout("tight", "physical_psum", 1), 5, 3), Ok((vec![3], vec![2, 4, 5])));
        assert_eq!(metadata(layout("tight", "per_row", 1), 5, 3), Ok((vec![5], vec![0, 0, 1, 1, 2])));
        assert_eq!(metadata(layout("aligned", "per_row", 2), 6, 2), Ok((vec![6], vec![0, 0, 0, 0, 1, 1])));
        assert_eq!(metadata(layout("aligned", "physical_psum", 4), 12, 4), Ok((vec![4], vec![2, 6, 10, 12])));
        assert_eq!(metadata(layout("aligned", "per_row", 2), 0, 2), Ok((vec![0], vec![])));
        assert_eq!(
            metadata(layout("aligned", "per_row", 4), 6, 2),
            Err("`R` is 6, and must be a multiple of the layout's alignment, 4".into())
        );
        assert_eq!(metadata(masked(5), 0, 0), Err("`E` is 0, and must be positive".into()));
    }

    #[test]
    fn metadata_of_a_layout_is_valid() {
        let Role::Predicate(predicate) = find("moe.layout_valid").unwrap().role else { panic!("no predicate") };
        for experts in 1..6 {
            for rows in (0..48).step_by(4) {
                for alignment in [1, 2, 4] {
                    for metadata in ["per_row", "physical_psum"] {
                        let packing = if alignment == 1 { "tight" } else { "aligned" };
                        let args = [layout(packing, metadata, alignment), Int(rows), Int(experts)];
                        assert_eq!(valid(predicate, "moe.layout_metadata", &args), Ok(()), "{args:?}");
                    }
                }
            }
            let args = [masked(7), Int(7 * experts), Int(experts)];
            assert_eq!(valid(predicate, "moe.layout_metadata", &args), Ok(()));
        }
    }

    fn valid(predicate: &Predicate, name: &str, args: &[Value]) -> std::result::Result<(), DomainError> {
        let (shape, values) = made(name, args).unwrap();
        let arguments: Vec<Argument<'_>> = args.iter().cloned().map(Argument::Value).collect();
        (predicate.holds)(&Contents { shape: &shape, values: &values }, &arguments)
    }

    #[test]
    fn pages_are_distinct() {
        let pages = values("paged_block_table", &[Int(3), Int(4), Int(12)]);
        assert!(distinct(&pages));
        let pages = values("paged_block_table", &[Int(5), Int(4), Int(6)]);
        assert!(pages.chunks(4).all(distinct) && pages.iter().all(|&page| (0..6).contains(&page)));
        assert_eq!(values("paged_block_table", &[Int(0), Int(4), Int(6)]), []);
        assert_eq!(
            made("paged_block_table", &[Int(3), Int(7), Int(6)]),
            Err("`width` is 7, and must be at most `pool`, which is 6".into())
        );
        assert_eq!(
            made("paged_block_table", &[Int(3), Int(0), Int(6)]),
            Err("`width` is 0, and must be positive".into())
        );
    }

    #[test]
    fn experts_are_distinct_in_a_row() {
        let (shape, ids) = made("topk_ids", &[Int(200), Int(8), Int(10)]).unwrap();
        assert_eq!(shape, [200, 8]);
        assert!(ids.chunks(8).all(distinct) && ids.iter().all(|&id| (0..10).contains(&id)));
        assert!((0..10).all(|expert| ids.contains(&expert)));
        assert_eq!(
            made("topk_ids", &[Int(2), Int(3), Int(2)]),
            Err("`K` is 3, and must be at most `E`, which is 2".into())
        );
        assert!(made("topk_ids", &[Int(-1), Int(1), Int(2)]).is_err());
        assert!(made("topk_ids", &[Int(1), Int(0), Int(2)]).is_err());
    }

    #[test]
    fn samples_are_distinct() {
        for (n, hi) in [(0, 0), (0, 5), (5, 5), (3, 1 << 40), (1000, 1000)] {
            let sample = values("sample_indices", &[Int(n), Int(hi)]);
            assert!(distinct(&sample) && sample.len() as i128 == n);
        }
        assert_eq!(
            made("sample_indices", &[Int(3), Int(2)]),
            Err("`n` is 3, and must be at most `hi`, which is 2".into())
        );
        let ids = values("random_ids", &[Int(100), Int(3), Int(2)]);
        assert!(ids.contains(&0) && ids.contains(&1));
        assert_eq!(made("random_ids", &[Int(1), Int(1), Int(0)]), Err("`hi` is 0, and must be positive".into()));
        assert!(made("random_ids", &[Int(1), Int(1), Int(i128::MAX)]).is_err());
    }

    #[test]
    fn queries_see_the_past_only() {
        let args = [2, 9, 2, 4, 6, 3, 2].map(Int);
        let (shape, indices) = made("causal_topk_indices", &args).unwrap();
        assert_eq!(shape, [2, 9, 2, 4]);
        for (row, chosen) in indices.chunks(4).enumerate() {
            let query = (row / 2 % 9) as i64;
            let visible = ((query + 3) / 2).clamp(1, 6);
            let (seen, padding) = chosen.split_at(visible.min(4) as usize);
            assert!(distinct(seen) && seen.iter().all(|&key| (0..visible).contains(&key)), "{query} {chosen:?}");
            assert!(padding.iter().all(|&key| key == 6));
        }
        assert_eq!(values("causal_topk_indices", &[1, 1, 1, 2, 0, 0, 1].map(Int)), [0, 0]);
        assert_eq!(
            made("causal_topk_indices", &[1, 1, 1, 2, 0, 0, 0].map(Int)),
            Err("`stride` is 0, and must be positive".into())
        );
        assert!(made("causal_topk_indices", &[1, 1, 1, 2, 0, -1, 1].map(Int)).is_err());
    }

    #[test]
    fn requests_see_their_own_past_only() {
        let (shape, positions) = made("attn.sparse_topk_positions", &[ints([2, 7]), Int(2), Int(3)]).unwrap();
        assert_eq!(shape, [2, 2, 3]);
        for (chosen, visible) in positions.chunks(3).zip([1_i64, 2, 6, 7]) {
            let (seen, padding) = chosen.split_at(visible.min(3) as usize);
            assert!(distinct(seen) && seen.iter().all(|&key| (0..visible).contains(&key)));
            assert!(padding.iter().all(|&key| key == -1));
        }
        assert_eq!(
            made("attn.sparse_topk_positions", &[ints([2, 1]), Int(2), Int(3)]),
            Err("`L[1]` is 1, and must be at least `S_q`, which is 2".into())
        );
        assert_eq!(values("attn.sparse_topk_positions", &[ints([]), Int(2), Int(3)]), []);
    }

    #[test]
    fn blocks_are_ascending_and_padded() {
        let (shape, blocks) = made("nsa_block_indices", &[ints([5, 3]), Int(2), Int(2), Int(2)]).unwrap();
        assert_eq!(shape, [8, 2, 2]);
        let visible = [1, 1, 1, 2, 2, 1, 1, 1];
        for (row, chosen) in blocks.chunks(2).enumerate() {
            let (seen, padding) = chosen.split_at(visible[row / 2].min(2) as usize);
            assert!(seen.windows(2).all(|pair| pair[0] < pair[1]));
            assert!(seen.iter().all(|&block| (0..visible[row / 2]).contains(&block)));
            assert!(padding.iter().all(|&block| block == 8));
        }
        assert!(made("nsa_block_indices", &[ints([5]), Int(0), Int(2), Int(2)]).is_err());
        let counts = values("nsa_block_counts", &[Int(40), Int(2), Int(3)]);
        assert!(counts.iter().all(|n| (1..=3).contains(n)) && (1..=3).all(|n| counts.contains(&n)));
        assert!(made("nsa_block_counts", &[Int(1), Int(1), Int(0)]).is_err());
    }

    #[test]
    fn no_argument_makes_a_generator_panic() {
        let odd = [
            Value::None,
            Int(-1),
            Int(0),
            Int(3),
            Int(i128::MAX),
            Int(i64::MAX.into()),
            ints([]),
            ints([1, 2]),
            ints([i64::MAX.into(), i64::MAX.into(), 5]),
            str("start"),
            masked(1 << 100),
            layout("aligned", "physical_psum", 1 << 100),
            layout("tight", "per_row", 1),
        ];
        for builtin in all() {
            let Role::Generator(generator) = builtin.role else { continue };
            let count = builtin.params.len() as u32;
            let combinations = (odd.len() as u64).pow(count);
            // A fixed stride visits some thousands of the combinations of the longer lists.
            for step in (0..combinations).step_by((combinations / 5000 + 1) as usize) {
                let digit = |at: u32| odd[(step / (odd.len() as u64).pow(at) % odd.len() as u64) as usize].clone();
                let args: Vec<Value> = (0..count).map(digit).collect();
                let shape = (generator.result_shape)(&args);
                let _ = (generator.bounds)(&args);
                if shape.is_ok_and(|shape| {
                    shape.iter().try_fold(1_i128, |n, &m| n.checked_mul(m)).is_some_and(|n| n < 1 << 16)
                }) {
                    let _ = (generator.generate)(&args, Seed(0));
                }
            }
        }
    }
}
