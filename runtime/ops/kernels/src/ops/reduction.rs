//! Reductions over any axes.

use tileops_device::Grid;
use tileops_ops::{CheckedCall, DType, OpError, Value};

use crate::gpu::Gpu;
use crate::ops::Planner;
use crate::ops::elementwise::{bytes, divisor};
use crate::ops::refused;
use crate::ops::rows::{blocks, dividing_lanes, lanes, size, vectors_of_row};
use crate::plan::{Arg, Plan};
use crate::source::{MOMENTS, ROW};

pub(crate) const PLANNERS: &[(&str, Planner)] = &[
    ("SumFwdOp", |call, gpu| over_axes(call, gpu, Empty::All, &Reduction::by("Total"))),
    ("MeanFwdOp", |call, gpu| over_axes(call, gpu, Empty::All, &Reduction::by("Mean"))),
    ("ProdFwdOp", |call, gpu| {
        let whole = call.dtype("x")? == DType::Int64;
        over_axes(call, gpu, Empty::All, &Reduction::by(if whole { "WholeProduct" } else { "Product" }))
    }),
    ("AmaxFwdOp", |call, gpu| over_axes(call, gpu, Empty::All, &Reduction::by("Most"))),
    ("AminFwdOp", |call, gpu| over_axes(call, gpu, Empty::All, &Reduction::by("Least"))),
    ("ArgmaxFwdOp", |call, gpu| over_axes(call, gpu, Empty::All, &Reduction::by("PlaceOfMost"))),
    ("ArgminFwdOp", |call, gpu| over_axes(call, gpu, Empty::All, &Reduction::by("PlaceOfLeast"))),
    ("MaxDimFwdOp", |call, gpu| {
        let both = Reduction { first: "values", second: Some("indices"), ..Reduction::by("MostAndPlace") };
        over_axes(call, gpu, Empty::All, &both)
    }),
    ("AllFwdOp", |call, gpu| over_axes(call, gpu, Empty::None, &Reduction::by("All"))),
    ("AnyFwdOp", |call, gpu| over_axes(call, gpu, Empty::None, &Reduction::by("Any"))),
    ("CountNonzeroFwdOp", |call, gpu| over_axes(call, gpu, Empty::All, &Reduction::by("Count"))),
    ("VarFwdOp", |call, gpu| over_axes(call, gpu, Empty::All, &moments(call, "Variance")?)),
    ("StdFwdOp", |call, gpu| over_axes(call, gpu, Empty::All, &moments(call, "Deviation")?)),
    ("VarMeanFwdOp", |call, gpu| {
        let both = Reduction { first: "var", second: Some("mean"), ..moments(call, "VarianceAndMean")? };
        over_axes(call, gpu, Empty::All, &both)
    }),
    ("VectorNormFwdOp", |call, gpu| over_axes(call, gpu, Empty::All, &norm(call.float("ord")?))),
    ("LogSumExpFwdOp", |call, gpu| over_axes(call, gpu, Empty::All, &Reduction::by("LogSumExp"))),
    ("GreedySampleFwdOp", |call, gpu| {
        let greedy = match call.bool("return_logprobs")? {
            true => Reduction { first: "token", second: Some("logprob"), ..Reduction::by("Likeliest") },
            false => Reduction { first: "token", ..Reduction::by("PlaceOfMost") },
        };
        let logits = call.tensor("logits")?;
        let given = Given::new(call, "logits", &greedy)?;
        reduce(Plan::new(), call.op(), gpu, given, &extents(call, &logits.shape)?, &[false, true], &greedy)
    }),
];

/// What an accumulator of `reduce.cu` takes at most, in bytes: it asserts so.
const ACCUMULATOR_BYTES: i64 = 32;

/// How many blocks of columns may be split among blocks: `reduce.cu` counts those that have come to their end.
const COUNTERS: i64 = 1024;

/// How many elements 32 bits count: places up to two vectors behind the last one are counted as well.
const MOST_OF_32_BITS: i64 = i32::MAX as i64 - 64;

/// Threads that a multiprocessor has registers for, at 64 each.
const THREADS_AT_ONCE: i64 = 1024;

/// What an empty sequence of axes reduces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Empty {
    All,
    None,
}

/// A reduction, as `reduce.cu` has it.
#[derive(Debug, Clone)]
pub(crate) struct Reduction {
    pub(crate) accumulator: &'static str,
    pub(crate) first: &'static str,
    pub(crate) second: Option<&'static str>,
    pub(crate) parameter: f64,
    pub(crate) defines: Vec<(&'static str, String)>,
}

impl Reduction {
    pub(crate) fn by(accumulator: &'static str) -> Self {
        Reduction { accumulator, first: "y", second: None, parameter: 1.0, defines: Vec::new() }
    }

    /// Whether its accumulator is 32 bits: a sum, an extreme, a truth.
    fn is_of_one_word(&self) -> bool {
        matches!(
            self.accumulator,
            "Total" | "Mean" | "Norm" | "Most" | "Least" | "MostMagnitude" | "LeastMagnitude" | "All" | "Any"
        )
    }

    /// Whether it holds two accumulators, which leave registers for fewer vectors.
    fn is_of_two(&self) -> bool {
        self.accumulator == "Likeliest"
    }
}

fn moments(call: &CheckedCall, accumulator: &'static str) -> Result<Reduction, OpError> {
    Ok(Reduction { parameter: call.float("correction")?, ..Reduction::by(accumulator) })
}

/// The norm of an order: what a magnitude adds, and what becomes of the sum.
fn norm(order: f64) -> Reduction {
    let sum = |powered: String, rooted: String| Reduction {
        defines: vec![("POWERED(a)", powered), ("ROOTED(sum)", rooted)],
        ..Reduction::by("Norm")
    };
    let number = |value: f64| format!("{:?}f", value as f32);
    match order {
        f64::INFINITY => Reduction::by("MostMagnitude"),
        f64::NEG_INFINITY => Reduction::by("LeastMagnitude"),
        0.0 => sum("(a != 0.f ? 1.f : 0.f)".to_owned(), "(sum)".to_owned()),
        1.0 => sum("(a)".to_owned(), "(sum)".to_owned()),
        2.0 => sum("(a * a)".to_owned(), "sqrtf(sum)".to_owned()),
        3.0 => sum("(a * a * a)".to_owned(), "cbrtf(sum)".to_owned()),
        _ => sum(format!("powf(a, {})", number(order)), format!("powf(sum, {})", number(1.0 / order))),
    }
}

/// What is reduced, and into what.
pub(crate) struct Given {
    pub(crate) x: Arg,
    pub(crate) more: Arg,
    pub(crate) target: Arg,
    pub(crate) element: DType,
    pub(crate) first: (Arg, DType),
    pub(crate) second: Option<(Arg, DType)>,
}

impl Given {
    pub(crate) fn new(call: &CheckedCall, x: &'static str, by: &Reduction) -> Result<Self, OpError> {
        let second = by.second.map(|name| Ok::<_, OpError>((Arg::Tensor(name), call.dtype(name)?))).transpose()?;
        Ok(Given {
            x: Arg::Tensor(x),
            more: Arg::Null,
            target: Arg::Null,
            element: call.dtype(x)?,
            first: (Arg::Tensor(by.first), call.dtype(by.first)?),
            second,
        })
    }
}

pub(crate) fn extents(call: &CheckedCall, shape: &[i128]) -> Result<Vec<i64>, OpError> {
    shape.iter().map(|&extent| size(call.op(), extent)).collect()
}

/// Which axes of `rank` the parameter `dim` names. A scalar has one axis.
fn named(call: &CheckedCall, rank: usize, empty: Empty) -> Result<Vec<bool>, OpError> {
    let rank = rank.max(1);
    let axes = match call.value("dim")? {
        Value::None => return Ok(vec![true; rank]),
        Value::Int(axis) => vec![*axis],
        value => value.to_ints().unwrap_or_default(),
    };
    if axes.is_empty() {
        return Ok(vec![empty == Empty::All; rank]);
    }
    let mut named = vec![false; rank];
    for axis in axes {
        let axis = usize::try_from(if axis < 0 { axis + rank as i128 } else { axis }).unwrap_or(0);
        named[axis.min(rank - 1)] = true;
    }
    Ok(named)
}

fn over_axes(call: &CheckedCall, gpu: &Gpu, empty: Empty, by: &Reduction) -> Result<Plan, OpError> {
    let mut shape = extents(call, &call.tensor("x")?.shape)?;
    let named = named(call, shape.len(), empty)?;
    if shape.is_empty() {
        shape.push(1);
    }
    reduce(Plan::new(), call.op(), gpu, Given::new(call, "x", by)?, &shape, &named, by)
}

/// The variances and the means over the axes of `shape` that are `reduced`, in single precision.
pub(crate) fn moments_of(
    plan: Plan,
    call: &CheckedCall,
    gpu: &Gpu,
    x: &'static str,
    (variances, means): (Arg, Arg),
    shape: &[i64],
    reduced: &[bool],
) -> Result<Plan, OpError> {
    let by = Reduction { parameter: 0.0, ..Reduction::by("VarianceAndMean") };
    let given = Given {
        x: Arg::Tensor(x),
        more: Arg::Null,
        target: Arg::Null,
        element: call.dtype(x)?,
        first: (variances, DType::Float32),
        second: Some((means, DType::Float32)),
    };
    reduce(plan, call.op(), gpu, given, shape, reduced, &by)
}

/// A run of neighbouring axes that are all reduced, or all kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Run {
    extent: i64,
    stride: i64,
    reduced: bool,
}

/// The axes in as few runs as there can be, the outermost first. Axes of one element are left out.
fn collapse(shape: &[i64], reduced: &[bool]) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    let mut stride = 1;
    for (&extent, &reduced) in shape.iter().zip(reduced).rev() {
        match runs.last_mut() {
            _ if extent == 1 => {}
            Some(run) if run.reduced == reduced => run.extent *= extent,
            _ => runs.push(Run { extent, stride, reduced }),
        }
        stride *= extent;
    }
    runs.reverse();
    runs
}

/// Runs as `reduce.cu` takes axes: how many, their extents, their strides.
fn axes(op: &'static str, runs: &[Run]) -> Result<Arg, OpError> {
    const MOST: usize = 8;
    if runs.len() > MOST {
        let message = format!("axes that are reduced and kept alternate {} times; a kernel takes {MOST}", runs.len());
        return Err(refused(op, message));
    }
    let mut words = [0_i64; 1 + 2 * MOST];
    words[0] = runs.len() as i64;
    for (at, run) in runs.iter().enumerate() {
        (words[1 + at], words[1 + MOST + at]) = (run.extent, run.stride);
    }
    Ok(Arg::Bytes(words.iter().flat_map(|word| word.to_ne_bytes()).collect()))
}

pub(crate) fn reduce(
    mut plan: Plan,
    op: &'static str,
    gpu: &Gpu,
    given: Given,
    shape: &[i64],
    reduced: &[bool],
    by: &Reduction,
) -> Result<Plan, OpError> {
    let extent_of = |reduced_ones: bool| -> i64 {
        shape.iter().zip(reduced).filter(|(_, reduced)| **reduced == reduced_ones).map(|(extent, _)| extent).product()
    };
    let (outputs, count) = (extent_of(false), extent_of(true));
    if outputs == 0 {
        return Ok(plan);
    }
    let mut runs = collapse(shape, reduced);
    let innermost = runs.pop().unwrap_or(Run { extent: 1, stride: 1, reduced: true });
    let (walked, kept): (Vec<Run>, Vec<Run>) = runs.into_iter().partition(|run| run.reduced);
    let source = source!("reduce.cu").with(ROW).with(MOMENTS);
    // Booleans are taken as their bytes.
    let mut source = match given.element {
        DType::Bool => source.element("ELEMENT", DType::UInt8),
        element => source.element("ELEMENT", element),
    };
    source = source
        .element("FIRST", given.first.1)
        .element("SECOND", given.second.as_ref().map_or(DType::Float32, |(_, dtype)| *dtype))
        .define("ACCUMULATOR", by.accumulator)
        .define("COUNTERS", COUNTERS)
        .define("PAIRED", i32::from(given.more != Arg::Null))
        .define("ONE_REDUCED", i32::from(walked.len() <= 1))
        .define("INDEX", if outputs.max(1) * count.max(1) <= MOST_OF_32_BITS { "unsigned int" } else { "long long" });
    for (name, value) in &by.defines {
        source = source.define(name, value);
    }
    let second = given.second.map_or(Arg::Null, |(second, _)| second);
    let (first, target, parameter) = (given.first.0, given.target, Arg::F32(by.parameter as f32));
    let (kept_axes, walked_axes) = (axes(op, &kept)?, axes(op, &walked)?);
    let segments: i64 = walked.iter().map(|run| run.extent).product();
    let columns = innermost.extent;
    let prepared = |by: i64| bytes(divisor(u32::try_from(by).unwrap_or(u32::MAX)));
    if innermost.reduced {
        let width = lanes(given.element);
        let aligned = columns % width == 0;
        // Two tensors, or two accumulators, leave registers for fewer vectors.
        let heavy = given.more != Arg::Null || by.is_of_two();
        let each = vectors_of_row(columns, width);
        let light = by.is_of_one_word() && walked.is_empty();
        let shape = RowShape::new(outputs, segments * each, heavy, light, aligned, gpu);
        // Their number is known to the kernel: most vectors are then inside of a row wherever it starts.
        let short = !aligned && !heavy && walked.is_empty() && shape.at_once && shape.group <= 32;
        source = source
            .define("WIDTH", width)
            .define("GROUP", shape.group)
            .define("ROWS", shape.in_block)
            .define("UNROLL", shape.unroll)
            .define("SPLITS", most_splits(gpu))
            .define("MIN_BLOCKS", (THREADS_AT_ONCE / (shape.group * shape.in_block)).max(1))
            .define("AT_ONCE", i32::from(shape.at_once))
            .define("COLUMNS", if short { columns } else { 0 })
            .define("EXACT", i32::from(aligned && shape.is_exact(segments * each)))
            .define("CLUSTER", shape.cluster)
            .define("SEGMENTED", i32::from(!walked.is_empty()))
            .define("PLAIN", i32::from(walked.is_empty() && kept.len() <= 1))
            .define("SPLIT", i32::from(shape.splits > 1))
            .define("ALIGNED", i32::from(aligned));
        let arguments = vec![
            given.x,
            first,
            Arg::I64(columns),
            Arg::I64(outputs),
            Arg::I64(segments),
            parameter,
            Arg::I32(shape.splits as i32),
            Arg::I64(shape.share(segments * each)),
            prepared(shape.splits),
            prepared(each),
            given.more,
            second,
            target,
            kept_axes,
            walked_axes,
        ];
        let grid = Grid::row(blocks(op, shape.blocks)?, (shape.group * shape.in_block) as u32);
        Ok(plan.launch(source, "reduce_rows", grid, arguments))
    } else {
        let width = dividing_lanes(columns, lanes(given.element));
        let across_all = ((columns / width) as u64).next_power_of_two() as i64;
        let along = (256 / across_all.min(16)).min((count.max(1) as u64).next_power_of_two() as i64);
        let across = (256 / along).min(across_all);
        let across_blocks = (columns + across * width - 1) / (across * width);
        let whole = outputs / columns * across_blocks;
        // Accumulators of several words leave room for fewer threads.
        let at_once = (if by.is_of_one_word() { THREADS_AT_ONCE } else { 768 }) / (across * along);
        let resident = i64::from(gpu.multiprocessors) * at_once.clamp(1, 4);
        let splits = if whole * 2 < resident { (resident / whole).min(count / (along * 4)).max(1) } else { 1 };
        // Parts of a few elements are done before blocks have joined what they have found.
        let splits = if whole > COUNTERS || count <= along * 16 { 1 } else { splits };
        // A block's columns are as many where some are beyond the last.
        let found = whole * splits * across * width * ACCUMULATOR_BYTES;
        let partials = if splits == 1 { Arg::Null } else { plan.scratch(usize::try_from(found).unwrap_or(usize::MAX)) };
        source = source.define("WIDTH", width).define("TX", across).define("TY", along).define("AT_ONCE", at_once);
        let arguments = vec![
            given.x,
            first,
            second,
            partials,
            kept_axes,
            walked_axes,
            Arg::I64(count),
            Arg::I64(columns),
            Arg::I32(splits as i32),
            Arg::I64((count + splits - 1) / splits),
            parameter,
            prepared(splits),
            prepared(across_blocks),
        ];
        let grid = Grid {
            blocks: (blocks(op, whole * splits)?, 1, 1),
            threads: (across as u32, along as u32, 1),
            shared_bytes: 0,
        };
        Ok(plan.launch(source, "reduce_columns", grid, arguments))
    }
}

/// How many blocks that share rows there are at most: as many as run at once, of the fewest threads.
fn most_splits(gpu: &Gpu) -> i64 {
    i64::from(gpu.multiprocessors) * THREADS_AT_ONCE / 128
}

/// How rows are spread over threads.
#[derive(Debug, Clone, Copy)]
struct RowShape {
    group: i64,
    in_block: i64,
    /// Blocks that share a row, and whether they are one cluster: then they are so many, and 1 else.
    splits: i64,
    cluster: i64,
    blocks: i64,
    /// Vectors that a thread takes at once, and whether it takes no others.
    unroll: i64,
    at_once: bool,
}

impl RowShape {
    /// Vectors of a split, of `vectors`: whole ones for a warp. Whole ones for a block would leave some splits with few.
    fn share(&self, vectors: i64) -> i64 {
        let at_once = self.splits * 32;
        (vectors + at_once - 1) / at_once * 32
    }

    /// Whether a thread's vectors are all there are for it, and none is beyond the row's.
    fn is_exact(&self, vectors: i64) -> bool {
        self.at_once && self.in_block == 1 && vectors == self.group * self.unroll
    }

    /// For `rows` of `vectors` each. Those of rows that are not `aligned` may be whole or not; `heavy` accumulators leave
    /// registers for fewer, and `light` ones are a word of rows that lie together.
    fn new(rows: i64, vectors: i64, heavy: bool, light: bool, aligned: bool, gpu: &Gpu) -> Self {
        let most = if heavy { 2 } else { 4 };
        let multiprocessors = i64::from(gpu.multiprocessors);
        let within_warp = |group: i64| {
            let in_block = 256 / group;
            let unroll = ((vectors + group - 1) / group).clamp(1, most).unsigned_abs().next_power_of_two() as i64;
            RowShape {
                group,
                in_block,
                splits: 1,
                cluster: 1,
                blocks: (rows + in_block - 1) / in_block,
                unroll,
                // Whole vectors of a few threads each went faster with fewer blocks, of more registers, at once.
                at_once: vectors <= group * unroll && !heavy && (unroll <= 2 || !aligned),
            }
        };
        if vectors <= 32 {
            // Two vectors a thread, or four where threads next to each other still read 64 bytes.
            let each = if vectors > 8 { 4 } else { 2 };
            return within_warp(((vectors + each - 1) / each).max(1).unsigned_abs().next_power_of_two() as i64);
        }
        let rows_are_many = rows >= multiprocessors * 16;
        if light && (256..=1024).contains(&vectors) && rows_are_many {
            // Small blocks come and go: what one reads, another reduces meanwhile.
            let group = (vectors + 63) / 64 * 32;
            return RowShape { group, in_block: 1, splits: 1, cluster: 1, blocks: rows, unroll: 2, at_once: true };
        }
        if vectors <= 1024 && rows_are_many {
            return within_warp(32);
        }
        let group = match vectors {
            ..1024 => 128,
            1024..4096 => 256,
            _ => 512,
        };
        // What runs at once: no more blocks than that, so that none runs alone at the end.
        let resident = multiprocessors * THREADS_AT_ONCE / group;
        let splits = (resident / rows).min(vectors / (group * 2)).max(1);
        // Where each has a multiprocessor of its own, blocks of a cluster join what they have found sooner than by way of memory.
        // A thread has up to two turns there.
        let cluster = 1 << splits.min(8).ilog2();
        let (splits, cluster) = match () {
            () if rows * cluster <= multiprocessors && vectors <= cluster * group * most * 2 => (cluster, cluster),
            () => (splits, 1),
        };
        RowShape { group, in_block: 1, splits, cluster, blocks: rows * splits, unroll: most, at_once: false }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_collapse_into_as_few_as_there_can_be() {
        let run = |extent, stride, reduced| Run { extent, stride, reduced };
        let channels = collapse(&[64, 256, 56, 56], &[true, false, true, true]);
        assert_eq!(channels, [run(64, 802_816, true), run(256, 3136, false), run(3136, 1, true)]);
        assert_eq!(collapse(&[8, 1, 4], &[true, false, true]), [run(32, 1, true)]);
        assert_eq!(collapse(&[1, 1], &[true, false]), []);
    }
}
