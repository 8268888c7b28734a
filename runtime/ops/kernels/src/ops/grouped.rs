//! Contractions of groups of rows, each with a matrix of its own.

use tileops_device::Grid;
use tileops_ops::{CheckedCall, DType, OpError};

use crate::gpu::Gpu;
use crate::ops::Planner;
use crate::ops::gemm::{extent, size};
use crate::ops::refused;
use crate::plan::{Arg, Plan};
use crate::source::{COPIES, GROUPED, MMA, Source, WGMMA};

pub(crate) const PLANNERS: &[(&str, Planner)] = &[
    ("GroupedMatmulFwdOp", grouped),
    ("GroupedMatmulWgradOp", weight_gradient),
    ("GroupedMatmulFp8FwdOp", grouped_fp8),
    ("LayoutGroupedMatmulFwdOp", by_layout),
];

/// What says whose a row is.
#[derive(Debug, Clone, Copy)]
enum By {
    /// Where each group begins, and where the last one ends.
    Offsets,
    /// Where each group ends; the next one begins at the next multiple of so many rows.
    Ends(u64),
    /// How many of its so many rows each group has.
    Counts(u64),
    /// Where each group begins, then where each ends.
    Spans,
}

impl By {
    fn code(self) -> (u8, u64) {
        match self {
            By::Offsets => (0, 1),
            By::Ends(align) => (1, align),
            By::Counts(rows) => (2, rows),
            By::Spans => (3, 1),
        }
    }
}

/// A contraction of groups.
pub(crate) struct Grouped {
    /// What x and the weights have, and what the result has.
    dtypes: (DType, DType),
    /// Whether the weights' rows are what x's rows meet: `[G, N, K]`.
    is_transposed: bool,
    /// Whether the contraction is over a group's rows.
    is_summed: bool,
    by: By,
    groups: u64,
    /// Rows of x in all.
    rows: u64,
    n: u64,
    k: u64,
}

/// Depth of a step of the pipeline, as in the sources.
const DEPTH: u64 = 64;

/// x, the weights, what says whose a row is, the scales, the result.
type Tensors = [Arg; 6];

/// How the result is cut, and by which kernel.
struct Tile {
    rows: u64,
    columns: u64,
    shared_bytes: u64,
    is_warpgroup: bool,
}

impl Grouped {
    /// Rows behind one another, as offsets say, and weights `[G, N, K]` of the same dtype.
    pub(crate) fn packed(dtype: DType, (groups, rows, n, k): (u64, u64, u64, u64)) -> Self {
        Grouped { dtypes: (dtype, dtype), is_transposed: true, is_summed: false, by: By::Offsets, groups, rows, n, k }
    }

    fn is_fp8(&self) -> bool {
        self.dtypes.0 == DType::Float8E4M3Fn
    }

    /// Whether rows are whole vectors.
    fn is_aligned(&self) -> bool {
        match (self.is_transposed, self.is_fp8()) {
            (true, false) => self.k.is_multiple_of(8),
            (true, true) => self.k.is_multiple_of(16),
            (false, _) => self.k.is_multiple_of(8) && self.n.is_multiple_of(8),
        }
    }

    /// Few rows a tile where groups have few; large tiles, and the instructions that are made for them, where they have many.
    fn tile(&self, gpu: &Gpu) -> Tile {
        let down = if self.is_summed { self.k } else { self.rows / self.groups.max(1) };
        let is_warpgroup = gpu.architecture == "sm_90a"
            && !self.is_summed
            && !self.is_fp8()
            && self.is_aligned()
            && self.n.is_multiple_of(8)
            && down > 96;
        if is_warpgroup {
            // Four stages, and what it takes to begin at a multiple of 1 KiB.
            return Tile { rows: 128, columns: 256, shared_bytes: 4 * 2 * DEPTH * (128 + 256) + 1024, is_warpgroup };
        }
        let (rows, columns) = (if down <= 96 { 64 } else { 128 }, 128);
        let x = if self.is_summed { DEPTH * (rows + 8) } else { rows * (DEPTH + 8) };
        let w = if self.is_transposed { columns * (DEPTH + 8) } else { DEPTH * (columns + 8) };
        Tile { rows, columns, shared_bytes: 3 * 2 * (x + w), is_warpgroup }
    }

    fn source(&self, tile: &Tile) -> Source {
        let source = if tile.is_warpgroup {
            source!("warpgroup.cu")
                .with(GROUPED)
                .with(WGMMA)
                .element("T", self.dtypes.0)
                .multiplied("KIND", self.dtypes.0)
        } else {
            let operand = if self.is_fp8() { DType::UInt16 } else { self.dtypes.0 };
            source!("grouped.cu")
                .with(GROUPED)
                .element("U", operand)
                .element("TD", self.dtypes.1)
                .define("FP8", u8::from(self.is_fp8()))
                .define("ALIGNED", u8::from(self.is_aligned()))
        };
        source
            .with(COPIES)
            .with(MMA)
            .define("STORED", u8::from(self.is_transposed))
            .define("SUMMED", u8::from(self.is_summed))
            .define("GROUPS_BY", self.by.code().0)
            .define("ROWS", tile.rows)
            .define("COLUMNS", tile.columns)
    }

    pub(crate) fn plan(&self, plan: Plan, tensors: Tensors, gpu: &Gpu) -> Plan {
        let tile = self.tile(gpu);
        let across = self.n.div_ceil(tile.columns);
        let blocks = match (self.is_summed, self.by) {
            (true, _) => (self.k.div_ceil(tile.rows), across, self.groups),
            (false, By::Counts(rows)) => (self.groups * rows.div_ceil(tile.rows) * across, 1, 1),
            // Each group may leave a tile in part.
            (false, _) => ((self.rows.div_ceil(tile.rows) + self.groups) * across, 1, 1),
        };
        let grid = Grid {
            blocks: (blocks.0 as u32, blocks.1 as u32, blocks.2 as u32),
            threads: (256, 1, 1),
            shared_bytes: tile.shared_bytes as u32,
        };
        let depth = if self.is_fp8() { self.k / 2 } else { self.k };
        let sizes = [self.groups, self.n, depth, self.by.code().1].map(|size| Arg::I32(size as i32));
        plan.launch(self.source(&tile), "grouped", grid, tensors.into_iter().chain(sizes).collect())
    }
}

const NULL: Arg = Arg::Null;

fn grouped(call: &CheckedCall, gpu: &Gpu) -> Result<Plan, OpError> {
    let (rows, groups) = (extent(call, "M")?, extent(call, "G")?);
    let (n, k, dtype) = (extent(call, "N")?, extent(call, "K")?, call.dtype("T")?);
    let y = Arg::Tensor("y");
    if rows * n == 0 || k == 0 {
        return Ok(if rows * n == 0 { Plan::new() } else { Plan::new().fill(y, 0) });
    }
    let dtypes = (dtype, dtype);
    let of = Grouped { dtypes, is_transposed: false, is_summed: false, by: By::Offsets, groups, rows, n, k };
    let tensors = [Arg::Tensor("x"), Arg::Tensor("weight"), Arg::Tensor("offsets"), NULL, NULL, y];
    Ok(of.plan(Plan::new(), tensors, gpu))
}

fn weight_gradient(call: &CheckedCall, gpu: &Gpu) -> Result<Plan, OpError> {
    let (rows, groups) = (extent(call, "M")?, extent(call, "G")?);
    let (n, k, dtype) = (extent(call, "N")?, extent(call, "K")?, call.dtype("T")?);
    if groups * n * k == 0 {
        return Ok(Plan::new());
    }
    let dtypes = (dtype, dtype);
    let of = Grouped { dtypes, is_transposed: false, is_summed: true, by: By::Offsets, groups, rows, n, k };
    let tensors = [Arg::Tensor("x"), Arg::Tensor("dy"), Arg::Tensor("offsets"), NULL, NULL, Arg::Tensor("dweight")];
    Ok(of.plan(Plan::new(), tensors, gpu))
}

fn grouped_fp8(call: &CheckedCall, gpu: &Gpu) -> Result<Plan, OpError> {
    let (rows, groups) = (extent(call, "M")?, extent(call, "G")?);
    let (n, k) = (extent(call, "N")?, extent(call, "K")?);
    if !k.is_multiple_of(2) {
        return Err(refused(call.op(), format!("a depth of {k}: the kernel takes two elements at once")));
    }
    let y = Arg::Tensor("y");
    if rows * n == 0 || k == 0 {
        return Ok(if rows * n == 0 { Plan::new() } else { Plan::new().fill(y, 0) });
    }
    let dtypes = (call.tensor("x")?.dtype, call.tensor("y")?.dtype);
    let of = Grouped { dtypes, is_transposed: true, is_summed: false, by: By::Offsets, groups, rows, n, k };
    let tensors = ["x", "weight", "offsets", "x_scale", "weight_scale", "y"].map(Arg::Tensor);
    Ok(of.plan(Plan::new(), tensors, gpu))
}

fn by_layout(call: &CheckedCall, gpu: &Gpu) -> Result<Plan, OpError> {
    let groups = extent(call, "num_experts")?;
    let (n, k, dtype) = (extent(call, "F")?, extent(call, "W")?, call.dtype("T")?);
    let layout = call.variant("layout")?;
    let field = |name| -> Result<u64, OpError> {
        let value = layout.int(name);
        size(call, value.map_err(|why| refused(call.op(), why.to_string()))?)
    };
    let (x, y) = (Arg::Tensor("x"), Arg::Tensor("y"));
    let rows = size(call, call.tensor("y")?.numel().get()? / i128::from(n.max(1)))?;
    if rows * n == 0 {
        return Ok(Plan::new());
    }
    // Rows that are nobody's are zeros.
    let mut plan = Plan::new().fill(y.clone(), 0);
    if k == 0 {
        return Ok(plan);
    }
    let by = match (layout.kind(), layout.is("metadata_kind", "per_row")) {
        ("masked", _) => By::Counts(field("max_m")?),
        (_, false) => By::Ends(field("alignment")?.max(1)),
        (_, true) => By::Spans,
    };
    let of = Grouped { dtypes: (dtype, dtype), is_transposed: true, is_summed: false, by, groups, rows, n, k };
    let mut metadata = Arg::Tensor("metadata");
    if matches!(by, By::Spans) {
        let spans = plan.scratch((8 * groups) as usize);
        let arguments = vec![metadata, spans.clone(), Arg::I32(rows as i32), Arg::I32(groups as i32)];
        let grid = Grid::row(rows.div_ceil(256) as u32, 256);
        plan = plan.fill(spans.clone(), 0).launch(of.source(&of.tile(gpu)), "spans", grid, arguments);
        metadata = spans;
    }
    Ok(of.plan(plan, [x, Arg::Tensor("weight"), metadata, NULL, NULL, y], gpu))
}
