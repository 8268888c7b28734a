//! Norms of groups of channels: batch, group and instance norm.

use tileops_device::Grid;
use tileops_ops::{CheckedCall, DType, OpError};

use crate::gpu::Gpu;
use crate::ops::Planner;
use crate::ops::elementwise::{bytes, divisor};
use crate::ops::reduction;
use crate::ops::rows::{Rows, blocks, dividing_lanes, lanes, size};
use crate::plan::{Arg, Plan};
use crate::source::{COPIES, MOMENTS, ROW, Source};

pub(crate) const PLANNERS: &[(&str, Planner)] = &[
    ("BatchNormFwdOp", batch_norm),
    ("GroupNormFwdOp", |call, gpu| {
        let x = Extents::new(call)?;
        let groups = size(call.op(), call.int("num_groups")?.get()?)?;
        let channels = x.channels / groups;
        let layout = Layout {
            groups: x.batch * groups,
            group_stride: channels * x.length,
            segments: channels,
            stride: x.length,
            length: x.length,
            kinds: groups,
            channels,
            channel_step: 1,
        };
        layout.normalize(call, gpu, &x, &[x.batch * groups, channels * x.length], &[false, true])
    }),
    ("InstanceNormFwdOp", |call, gpu| {
        let x = Extents::new(call)?;
        let layout = Layout {
            groups: x.batch * x.channels,
            group_stride: x.length,
            segments: 1,
            stride: 0,
            length: x.length,
            kinds: x.channels,
            channels: 1,
            channel_step: 0,
        };
        layout.normalize(call, gpu, &x, &[x.batch * x.channels, x.length], &[false, true])
    }),
];

/// A block's shared memory, where four, three or two are to run at once on a multiprocessor of 228 KiB: blocks that are at
/// different stages keep its memory busy.
const SHARED_OF_SEVERAL: [i64; 3] = [55 << 10, 74 << 10, 112 << 10];

/// Shared memory of a block of which six run at once on a multiprocessor.
const SHARED_OF_MANY: i64 = 33 << 10;

/// Threads of a block with so much shared memory: few where many blocks run at once on a multiprocessor.
fn threads_of(shared: u32) -> i64 {
    match i64::from(shared) {
        bytes if bytes <= SHARED_OF_MANY => 128,
        bytes if bytes <= SHARED_OF_SEVERAL[0] => 256,
        _ => 512,
    }
}

/// Whether a cluster of 16 blocks finds its multiprocessors, which lie in one of Hopper's eight GPCs: where there are more than
/// eight times 15, one of them has as many. Cards with fewer, and slices of a card, may have none.
fn has_clusters_of_16(gpu: &Gpu) -> bool {
    gpu.architecture == "sm_90a" && gpu.multiprocessors > 8 * 15
}

/// The extents of x.
#[derive(Debug, Clone, Copy)]
struct Extents {
    batch: i64,
    channels: i64,
    /// Elements of a channel of a sample.
    length: i64,
}

impl Extents {
    fn new(call: &CheckedCall) -> Result<Self, OpError> {
        let shape = &call.tensor("x")?.shape;
        let extent = |value: i128| size(call.op(), value);
        Ok(Extents {
            batch: extent(shape[0])?,
            channels: extent(shape[1])?,
            length: extent(shape[2..].iter().product())?,
        })
    }
}

/// Groups, as `statistics.cu` has them.
#[derive(Debug, Clone, Copy)]
struct Layout {
    groups: i64,
    group_stride: i64,
    segments: i64,
    stride: i64,
    length: i64,
    kinds: i64,
    channels: i64,
    channel_step: i64,
}

fn source(call: &CheckedCall, width: i64) -> Result<Source, OpError> {
    let affine = if call.present("weight")? { call.dtype("weight")? } else { DType::Float32 };
    Ok(source!("statistics.cu")
        .with(ROW)
        .with(MOMENTS)
        .with(COPIES)
        .element("ELEMENT", call.dtype("x")?)
        .element("AFFINE", affine)
        .define("WIDTH", width))
}

fn batch_norm(call: &CheckedCall, gpu: &Gpu) -> Result<Plan, OpError> {
    let x = Extents::new(call)?;
    if x.batch * x.channels * x.length == 0 {
        return Ok(Plan::new());
    }
    if !call.bool("training")? {
        let (means, variances) = (Arg::Tensor("running_mean"), Arg::Tensor("running_var"));
        return segments(Plan::new(), call, &x, means, variances, 1, x.channels);
    }
    let layout = Layout {
        groups: x.channels,
        group_stride: x.length,
        segments: x.batch,
        stride: x.channels * x.length,
        length: x.length,
        kinds: x.channels,
        channels: 1,
        channel_step: 0,
    };
    layout.normalize(call, gpu, &x, &[x.batch, x.channels, x.length], &[true, false, true])
}

/// Normalizes by statistics that are known, of segments in the order of memory.
fn segments(
    plan: Plan,
    call: &CheckedCall,
    x: &Extents,
    means: Arg,
    variances: Arg,
    each: i64,
    groups: i64,
) -> Result<Plan, OpError> {
    let width = dividing_lanes(x.length, lanes(call.dtype("x")?));
    let chunks = (x.length / width + 511) / 512;
    // Groups and channels are no more than the segments, which are no more than a grid's blocks.
    let count = blocks(call.op(), x.batch * x.channels * chunks)?;
    let arguments = vec![
        Arg::Tensor("x"),
        Arg::Tensor("y"),
        Arg::Tensor("weight"),
        Arg::Tensor("bias"),
        means,
        variances,
        Arg::I64(x.length),
        Arg::I32(each as i32),
        Arg::I32(groups as i32),
        Arg::I32(x.channels as i32),
        Arg::I32(chunks as i32),
        Arg::F32(call.float("eps")? as f32),
    ];
    Ok(plan.launch(source(call, width)?, "normalize_segments", Grid::row(count, 128), arguments))
}

impl Layout {
    /// Whether a group's elements follow each other.
    fn is_of_neighbours(&self) -> bool {
        self.stride == self.length || self.segments == 1
    }

    /// Groups that are short enough as rows that are held in registers, in vectors of `width` elements.
    fn rows(&self, width: i64, gpu: &Gpu) -> Option<Rows> {
        let columns = self.segments * self.length;
        if !self.is_of_neighbours() || columns / width > 1024 {
            return None;
        }
        // More vectors of a thread, and what the segment of each is weighed by, are more than 64 registers.
        let most = if self.channel_step == 0 { 8 } else { 6 };
        Rows::by_warps(self.groups, columns, width, most).or_else(|| Rows::new(self.groups, columns, width, 4, gpu))
    }

    /// How many blocks share a group, and the shared memory of each; nothing where the groups are too long to be held.
    fn held(&self, bytes: i64, width: i64, gpu: &Gpu) -> Option<(i64, u32)> {
        let vectors = self.segments * self.length / width;
        let of_block = |cluster: i64| {
            let share = (vectors + cluster - 1) / cluster;
            // A share touches a segment more than it holds, and one more where it starts within one.
            let weighed = if self.channel_step == 0 { 0 } else { share / (self.length / width) + 2 };
            (share * width * bytes + 15) / 16 * 16 + weighed * 8
        };
        let at_most = |limit: i64| [1, 2, 4, 8].into_iter().find(|&cluster| of_block(cluster) <= limit);
        let limit = i64::from(gpu.shared_bytes) - 1024;
        let mut cluster = SHARED_OF_SEVERAL.into_iter().find_map(at_most).or_else(|| at_most(limit))?;
        // Few groups: more blocks each.
        let multiprocessors = i64::from(gpu.multiprocessors);
        while cluster < 8 && self.groups * cluster < multiprocessors && of_block(cluster) > 8 << 10 {
            cluster *= 2;
        }
        // Or smaller ones, which are there at once.
        let is_large = |cluster| of_block(cluster) > SHARED_OF_SEVERAL[0];
        if has_clusters_of_16(gpu) && is_large(8) && !is_large(16) {
            cluster = 16;
        }
        Some((cluster, of_block(cluster) as u32))
    }

    /// Normalizes each group by its own statistics, which are those over the axes of `shape` that are `reduced`.
    fn normalize(
        &self,
        call: &CheckedCall,
        gpu: &Gpu,
        x: &Extents,
        shape: &[i64],
        reduced: &[bool],
    ) -> Result<Plan, OpError> {
        let elements: i64 = shape.iter().product();
        if elements == 0 {
            return Ok(Plan::new());
        }
        let dtype = call.dtype("x")?;
        let width = dividing_lanes(self.length, lanes(dtype));
        let running = |name| if call.present("running_mean") == Ok(true) { Arg::Tensor(name) } else { Arg::Null };
        let momentum = call.float("momentum").unwrap_or(0.0) as f32;
        if let Some(rows) = self.rows(width, gpu).filter(|_| running("running_mean") == Arg::Null) {
            let source = rows.define(source(call, width)?).define("BY_SEGMENT", i32::from(self.channel_step != 0));
            let arguments = vec![
                Arg::Tensor("x"),
                Arg::Tensor("y"),
                Arg::Tensor("weight"),
                Arg::Tensor("bias"),
                Arg::I64(self.groups),
                // A row that is held has no more than an integer counts.
                Arg::I32((self.segments * self.length) as i32),
                bytes(divisor(self.length as u32)),
                Arg::I64(self.kinds),
                Arg::I64(self.channels),
                Arg::F32(call.float("eps")? as f32),
            ];
            return Ok(Plan::new().launch(source, "normalize_rows", rows.grid(call.op())?, arguments));
        }
        let (short, held) = (elements < 1 << 31, self.held(i64::from(dtype.bits()) / 8, width, gpu));
        if let (true, Some((cluster, shared))) = (short, held) {
            let threads = threads_of(shared);
            let source = source(call, width)?
                .define("GROUP", threads)
                .define("CLUSTER", cluster)
                .define("NEIGHBOURS", i32::from(self.is_of_neighbours()))
                .define("BY_SEGMENT", i32::from(self.channel_step != 0));
            let arguments = vec![
                Arg::Tensor("x"),
                Arg::Tensor("y"),
                Arg::Tensor("weight"),
                Arg::Tensor("bias"),
                running("running_mean"),
                running("running_var"),
                Arg::I64(self.group_stride),
                Arg::I64(self.stride),
                // Less than the elements, which fit.
                Arg::I32(self.segments as i32),
                Arg::I32(self.length as i32),
                Arg::I64((1 << 40) / (self.length / width) + 1),
                Arg::I32(self.kinds as i32),
                Arg::I32(self.channels as i32),
                Arg::F32(call.float("eps")? as f32),
                Arg::F32(momentum),
            ];
            let grid = Grid::row(blocks(call.op(), self.groups * cluster)?, threads as u32).shared(shared);
            return Ok(Plan::new().launch(source, "normalize_groups", grid, arguments));
        }
        let mut plan = Plan::new();
        let of_groups = usize::try_from(self.groups).unwrap_or(0) * 4;
        let (variances, means) = (plan.scratch(of_groups), plan.scratch(of_groups));
        plan = reduction::moments_of(plan, call, gpu, "x", (variances.clone(), means.clone()), shape, reduced)?;
        if running("running_mean") != Arg::Null {
            let count = elements / self.groups;
            let arguments = vec![
                Arg::Tensor("running_mean"),
                Arg::Tensor("running_var"),
                means.clone(),
                variances.clone(),
                Arg::I32(i32::try_from(self.groups).unwrap_or(i32::MAX)),
                Arg::F32(momentum),
                Arg::F32(count as f32),
            ];
            let grid = Grid::row(blocks(call.op(), (self.groups + 255) / 256)?, 256);
            plan = plan.launch(source(call, width)?, "update_running", grid, arguments);
        }
        // In the order of memory: a batch norm's channels alternate, and other groups' channels are neighbours.
        let each = if reduced[0] { 1 } else { self.segments };
        segments(plan, call, x, means, variances, each, self.groups)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clusters_of_16_are_of_cards_that_have_room_for_one() {
        let layout = Layout {
            groups: 6,
            group_stride: 120_040,
            segments: 10,
            stride: 12_004,
            length: 12_004,
            kinds: 3,
            channels: 10,
            channel_step: 1,
        };
        let cluster = |gpu: &Gpu| layout.held(4, 4, gpu).map(|(cluster, _)| cluster);
        assert_eq!(cluster(&Gpu::h200()), Some(16));
        assert_eq!(cluster(&Gpu { multiprocessors: 78, ..Gpu::h200() }), Some(8));
        assert_eq!(cluster(&Gpu { architecture: "sm_120a".to_owned(), ..Gpu::h200() }), Some(8));
    }
}
