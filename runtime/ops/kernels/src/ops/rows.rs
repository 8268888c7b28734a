//! How rows, and the columns of an axis, are spread over threads.

use std::fmt::Display;

use tileops_device::Grid;
use tileops_ops::{CheckedCall, DType, OpError};

use crate::gpu::Gpu;
use crate::ops::refused;
use crate::source::Source;

/// Shared memory that a kernel takes beside the vectors that it stages, at most.
const BESIDE_STAGED: u32 = 1 << 10;

/// Elements of a vector of 16 bytes.
pub(crate) fn lanes(dtype: DType) -> i64 {
    i64::from(128 / dtype.bits())
}

/// A size, which a tensor that fits into memory has.
pub(crate) fn size(op: &'static str, value: i128) -> Result<i64, OpError> {
    i64::try_from(value).map_err(|_| refused(op, format!("{value} elements are more than a kernel counts")))
}

/// As many blocks as a grid can have.
pub(crate) fn blocks(op: &'static str, count: i64) -> Result<u32, OpError> {
    u32::try_from(count)
        .ok()
        .filter(|&count| count <= i32::MAX as u32)
        .ok_or_else(|| refused(op, format!("{count} blocks are more than a grid has")))
}

/// Columns as the kernels of rows take them: 32 bits count those behind the last one as well, as many as a block takes at once.
pub(crate) fn columns_of_kernel<N: TryInto<i32> + Display + Copy>(
    op: &'static str,
    columns: N,
) -> Result<i32, OpError> {
    const MOST: i32 = i32::MAX - (1 << 16);
    let counted = columns.try_into().ok().filter(|&columns| columns <= MOST);
    counted.ok_or_else(|| refused(op, format!("{columns} columns are more than the kernel counts")))
}

/// How many vectors of `lanes` elements a row of `columns` touches: one that starts within a vector may touch one more.
pub(crate) fn vectors_of_row(columns: i64, lanes: i64) -> i64 {
    if columns % lanes == 0 { columns / lanes } else { (columns + 2 * lanes - 2) / lanes }
}

/// The largest power of two of elements that divides `extent` and makes up 16 bytes or less.
pub(crate) fn dividing_lanes(extent: i64, lanes: i64) -> i64 {
    let mut width = lanes;
    while extent % width != 0 {
        width /= 2;
    }
    width.max(1)
}

/// Rows that are held in registers, as `row.cuh` has them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rows {
    lanes: i64,
    vectors: i64,
    group: i64,
    in_block: i64,
    cluster: i64,
    aligned: bool,
    rows: i64,
    columns: i64,
    /// Threads that a multiprocessor is to have registers for.
    threads_at_once: i64,
}

impl Rows {
    /// `rows` rows of `columns` elements, in vectors of `lanes` elements, of which a thread holds `most` where it has to.
    /// Nothing where they are too long for that.
    pub(crate) fn new(rows: i64, columns: i64, lanes: i64, most: i64, gpu: &Gpu) -> Option<Self> {
        Rows::spread((rows, columns), lanes, most, false, gpu)
    }

    /// The same, with several vectors a thread also where rows are short, for kernels whose threads have much to do for a row
    /// besides its elements.
    pub(crate) fn wide(rows: i64, columns: i64, lanes: i64, most: i64, gpu: &Gpu) -> Option<Self> {
        Rows::spread((rows, columns), lanes, most, true, gpu)
    }

    fn spread((rows, columns): (i64, i64), lanes: i64, most: i64, is_wide: bool, gpu: &Gpu) -> Option<Self> {
        let aligned = columns % lanes == 0;
        let needed = vectors_of_row(columns, lanes);
        let place = |vectors, group, in_block, cluster| {
            Some(Rows { lanes, vectors, group, in_block, cluster, aligned, rows, columns, threads_at_once: 1024 })
        };
        if i32::try_from(columns).is_err() {
            return None;
        }
        if needed <= 32 {
            let vectors = if is_wide && needed >= 8 { 2 } else { 1 };
            let group = ((needed + vectors - 1) / vectors).max(1).unsigned_abs().next_power_of_two() as i64;
            return place(vectors, group, 256 / group, 1);
        }
        if needed <= 32 * most.min(4) {
            return place((needed + 31) / 32, 32, 8, 1);
        }
        let each = |cluster: i64| (needed + cluster - 1) / cluster;
        let mut cluster = 1;
        while cluster < 8 && each(cluster) > 512 * most {
            cluster *= 2;
        }
        // Few rows: more blocks a row, but for what a block has done before blocks have exchanged anything; and more threads.
        while cluster < 8 && rows * cluster < i64::from(gpu.multiprocessors) && each(cluster) > 1024 {
            cluster *= 2;
        }
        let is_wide = is_wide && rows > i64::from(gpu.multiprocessors);
        let threads = |vectors: i64| ((each(cluster) + vectors - 1) / vectors + 31) / 32 * 32;
        let vectors = match () {
            () if is_wide && each(cluster) >= 256 && each(cluster) % 128 != 0 && each(cluster) % 96 == 0 => 3.min(most),
            () if threads(2) <= 256 && !(is_wide && each(cluster) >= 256) => 2,
            () if threads(4) <= 512 => 4.min(most),
            () => most,
        };
        (threads(vectors) <= 1024).then(|| place(vectors, threads(vectors), 1, cluster)).flatten()
    }

    /// Rows of middling length, each held by a warp, of which a thread holds `most` vectors at most: warps wait for no other.
    pub(crate) fn by_warps(rows: i64, columns: i64, lanes: i64, most: i64) -> Option<Self> {
        let aligned = columns % lanes == 0;
        let needed = vectors_of_row(columns, lanes);
        let vectors = (needed + 31) / 32;
        (needed > 32 && vectors <= most).then_some(Rows {
            lanes,
            vectors,
            group: 32,
            in_block: 8,
            cluster: 1,
            aligned,
            rows,
            columns,
            threads_at_once: 1024,
        })
    }

    /// A warp for each row, `in_block` rows a block.
    pub(crate) fn in_blocks_of(self, in_block: i64) -> Self {
        Rows { in_block, ..self }
    }

    /// With registers for `threads` threads of a multiprocessor at once.
    pub(crate) fn for_threads(self, threads: i64) -> Self {
        Rows { threads_at_once: threads, ..self }
    }

    /// Each row held by one block, whose threads hold `vectors` vectors.
    pub(crate) fn by_block(self, vectors: i64) -> Self {
        let needed = vectors_of_row(self.columns, self.lanes);
        let group = ((needed + vectors - 1) / vectors + 31) / 32 * 32;
        Rows { vectors, group, in_block: 1, cluster: 1, ..self }
    }

    /// Rows of any length, cut into chunks of a block each; and how many chunks there are.
    pub(crate) fn chunked(rows: i64, columns: i64, lanes: i64) -> (Self, i64) {
        let (vectors, group) = (4, 512);
        let chunk = Rows {
            lanes,
            vectors,
            group,
            in_block: 1,
            cluster: 1,
            aligned: columns % lanes == 0,
            rows,
            columns,
            threads_at_once: 1024,
        };
        (chunk, (vectors_of_row(columns, lanes) + vectors * group - 1) / (vectors * group))
    }

    /// The same for a kernel that needs up to 128 registers a thread, instead of 64.
    pub(crate) fn roomy(self) -> Self {
        self.for_threads(512)
    }

    /// The same for a kernel that keeps its vectors in shared memory, and needs few registers. Nothing where rows are not long,
    /// or the card's registers have room for all of them, or its shared memory has not for one block.
    pub(crate) fn staged(self, gpu: &Gpu) -> Option<Self> {
        let at_once = i64::from(gpu.multiprocessors) * (self.threads_at_once / self.group);
        let has_room = self.staged_bytes() + BESIDE_STAGED <= gpu.shared_bytes;
        (self.cluster > 1 && self.blocks() > at_once && has_room).then_some(Rows { threads_at_once: 1536, ..self })
    }

    /// The shared memory that a block's vectors take.
    pub(crate) fn staged_bytes(&self) -> u32 {
        // Registers would hold them.
        (self.vectors * self.group * self.in_block * 16) as u32
    }

    /// The same with so many vectors a thread, where a block has a row, or a part of it, and can have the threads for that.
    pub(crate) fn holding(self, vectors: i64) -> Self {
        let of_block = (vectors_of_row(self.columns, self.lanes) + self.cluster - 1) / self.cluster;
        let group = ((of_block + vectors - 1) / vectors + 31) / 32 * 32;
        if self.group > 32 && group > 32 && group <= 1024 { Rows { vectors, group, ..self } } else { self }
    }

    /// Whether there are no more blocks than multiprocessors, each with a whole row.
    pub(crate) fn is_few(&self, gpu: &Gpu) -> bool {
        self.cluster == 1 && self.blocks() <= i64::from(gpu.multiprocessors)
    }

    /// How many elements a thread holds.
    pub(crate) fn elements_of_thread(&self) -> i64 {
        self.vectors * self.lanes
    }

    /// Whether the threads of a row hold no vectors beyond it.
    pub(crate) fn is_full(&self) -> bool {
        self.columns == self.lanes * self.vectors * self.group * self.cluster
    }

    /// Whether blocks have no rows beyond the last one.
    pub(crate) fn is_exact(&self) -> bool {
        self.rows % self.in_block == 0
    }

    /// Whether each block has whole rows, all of which share what each `count` neighbouring rows do.
    pub(crate) fn shares_in_blocks(&self, count: i64) -> bool {
        self.cluster == 1 && self.is_full() && self.is_exact() && count % self.in_block == 0
    }

    /// Whether a whole warp has a row.
    pub(crate) fn is_of_warp(&self) -> bool {
        self.group == 32
    }

    /// Whether a row is a part of a block.
    pub(crate) fn is_within_warp(&self) -> bool {
        self.group <= 32
    }

    /// Whether the card has no more than so many turns of blocks to do, with 128 registers for each of their threads.
    pub(crate) fn is_done_in(&self, turns: i64, gpu: &Gpu) -> bool {
        self.blocks() <= i64::from(gpu.multiprocessors) * turns * (512 / (self.group * self.in_block))
    }

    fn blocks(&self) -> i64 {
        (self.rows + self.in_block - 1) / self.in_block * self.cluster
    }

    /// What `row.cuh` needs to know.
    pub(crate) fn define(&self, source: Source) -> Source {
        let threads = self.group * self.in_block;
        source
            .define("WIDTH", self.lanes)
            .define("VECTORS", self.vectors)
            .define("GROUP", self.group)
            .define("ROWS", self.in_block)
            .define("CLUSTER", self.cluster)
            .define("ALIGNED", i32::from(self.aligned))
            .define("MIN_BLOCKS", (self.threads_at_once / threads).max(1))
    }

    /// The launch.
    pub(crate) fn grid(&self, op: &'static str) -> Result<Grid, OpError> {
        Ok(Grid::row(blocks(op, self.blocks())?, (self.group * self.in_block) as u32))
    }
}

/// An axis of a tensor, between what is outside of it and what is inside.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Axis {
    pub(crate) outer: i64,
    pub(crate) length: i64,
    pub(crate) inner: i64,
}

impl Axis {
    /// The axis `dim` of `shape`, counted from the end where it is negative. A scalar has one axis of one element.
    pub(crate) fn new(call: &CheckedCall, shape: &[i128], dim: i128) -> Result<Self, OpError> {
        let rank = shape.len() as i128;
        let axis = usize::try_from(if dim < 0 { dim + rank } else { dim }).unwrap_or(0);
        let product = |extents: &[i128]| size(call.op(), extents.iter().product());
        let (before, from) = shape.split_at(axis.min(shape.len()));
        let (length, after) = match from {
            [] => (1, [].as_slice()),
            [length, after @ ..] => (*length, after),
        };
        Ok(Axis { outer: product(before)?, length: size(call.op(), length)?, inner: product(after)? })
    }

    /// How many elements there are.
    pub(crate) fn elements(&self) -> i64 {
        self.outer * self.length * self.inner
    }

    /// Columns spread over blocks: `TX` lanes of `W` columns, `TY` parts of the axis, of which a thread holds `PARTS`, `most` at
    /// most, or none. Lines of fewer lanes are as good as full ones where they leave more parts.
    pub(crate) fn columns(
        &self,
        lanes: i64,
        most: i64,
        source: Source,
        op: &'static str,
    ) -> Result<(Source, Grid), OpError> {
        let width = dividing_lanes(self.inner, lanes);
        let widest = ((self.inner / width).max(1) as u64).next_power_of_two().min(16) as i64;
        let parts = |across: i64| (self.length + 256 / across - 1) / (256 / across);
        let (across, parts) = [widest, widest.min(8)]
            .into_iter()
            .map(|across| (across, parts(across)))
            .find(|(_, parts)| *parts <= most)
            .unwrap_or((widest, 0));
        let along = 256 / across;
        let count = self.outer * ((self.inner + across * width - 1) / (across * width));
        let grid =
            Grid { blocks: (blocks(op, count)?, 1, 1), threads: (across as u32, along as u32, 1), shared_bytes: 0 };
        let source = source.define("WIDTH", width).define("TX", across).define("TY", along).define("PARTS", parts);
        Ok((source, grid))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_behind_the_last_one_are_counted_by_32_bits() {
        let furthest = |rows: Rows| rows.lanes * rows.vectors * rows.group;
        let most = i64::from(i32::MAX) - (1 << 16);
        let (chunk, chunks) = Rows::chunked(1, most, 16);
        assert!(i32::try_from(furthest(chunk) * chunks).is_ok());
        assert!(columns_of_kernel("op", most).is_ok());
        assert!(columns_of_kernel("op", most + 1).is_err());
    }

    #[test]
    fn rows_are_staged_where_a_block_of_them_fits() {
        let small = Gpu { shared_bytes: 101_376, ..Gpu::h200() };
        let of = |columns| Rows::new(400, columns, 4, 8, &Gpu::h200()).expect("clusters hold it");
        assert_eq!(of(256_000).staged_bytes(), 131_072);
        assert!(of(256_000).staged(&Gpu::h200()).is_some() && of(256_000).staged(&small).is_none());
        assert!(of(128_000).staged(&small).is_some());
    }
}
