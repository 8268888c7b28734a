//! The generators: what fills a metadata tensor.

mod contents;
#[cfg(test)]
mod tests;

use contents::*;

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
