//! Norms of rows, with what stands before and behind them.

use tileops_device::Grid;
use tileops_ops::{CheckedCall, DType, OpError};

use crate::gpu::Gpu;
use crate::ops::Planner;
use crate::ops::elementwise::{bytes, divisor, maybe};
use crate::ops::rows::{Rows, blocks, columns_of_kernel, lanes, size};
use crate::plan::{Arg, Plan, Where};
use crate::source::{COPIES, MOMENTS, NARROW, ROW, Source};

pub(crate) const PLANNERS: &[(&str, Planner)] = &[
    ("RmsNormFwdOp", |call, gpu| {
        let columns = size(call.op(), call.shape("normalized_shape")?.iter().product())?;
        let eps = maybe(call, "eps")?.unwrap_or(epsilon(call.dtype("x")?));
        let norm = Norm { eps, ..Norm::over(call, "x", columns)? };
        if call.present("weight")? { norm.weight("weight", 1) } else { norm }.plan(call, gpu)
    }),
    ("LayerNormFwdOp", |call, gpu| {
        let mut norm = Norm { centred: true, ..Norm::new(call, "x")? };
        if call.present("weight")? {
            norm = norm.weight("weight", 1);
        }
        if call.present("bias")? {
            norm.bias = Some("bias");
        }
        norm.plan(call, gpu)
    }),
    ("AddRmsNormFwdOp", |call, gpu| {
        let norm = Norm { sum: Some("sum"), ..Norm::new(call, "x")? }.weight("weight", 1);
        Ok(norm.plan(call, gpu)?.place("sum", Where::In("residual")))
    }),
    ("AddLayerNormFwdOp", |call, gpu| {
        let norm = Norm { centred: true, sum: Some("sum"), bias: Some("bias"), ..Norm::new(call, "x")? };
        norm.weight("weight", 1).plan(call, gpu)
    }),
    ("AdaLayerNormFwdOp", |call, gpu| Norm { centred: true, modulated: true, ..Norm::new(call, "x")? }.plan(call, gpu)),
    ("GatedAdaLayerNormFwdOp", |call, gpu| {
        let new = Norm::new(call, "branch")?;
        let norm = Norm { centred: true, modulated: true, gate: Gate::OfSample, sum: Some("sum"), ..new };
        Ok(norm.plan(call, gpu)?.place("sum", Where::In("residual")))
    }),
    ("GemmaRmsNormFwdOp", |call, gpu| Norm::new(call, "x")?.weight("weight", 2).plan(call, gpu)),
    ("QkRmsNormFwdOp", |call, gpu| {
        let norm = Norm { y: "q", second: Some(("k", "k_weight")), ..Norm::new(call, "q")? };
        norm.weight("q_weight", 1).plan(call, gpu)
    }),
    ("GatedRmsNormFwdOp", |call, gpu| {
        let parts = size(call.op(), call.int("num_groups")?.get()?)?;
        let columns = size(call.op(), call.int("N")?.get()?)? / parts;
        let gate = if call.bool("norm_before_gate")? { Gate::Behind } else { Gate::Before };
        Norm { gate, parts, ..Norm::over(call, "x", columns)? }.weight("weight", 1).plan(call, gpu)
    }),
    ("RmsNormQuantizeFwdOp", |call, gpu| {
        let sum = call.present("residual")?.then_some("residual");
        Norm { y: "q", sum, row_scale: true, ..Norm::new(call, "x")? }.weight("weight", 1).plan(call, gpu)
    }),
    ("L2NormalizeFwdOp", |call, gpu| Norm { euclidean: true, ..Norm::new(call, "x")? }.plan(call, gpu)),
];

/// The distance from one to the next number: what PyTorch takes for an absent eps.
fn epsilon(dtype: DType) -> f64 {
    match dtype {
        DType::Float16 => 1.0 / 1024.0,
        DType::BFloat16 => 1.0 / 128.0,
        _ => f64::from(f32::EPSILON),
    }
}

/// Threads of a multiprocessor at 72 registers each, where 64 hold too little.
const LESS_CROWDED: i64 = 896;

/// A `Count` of `norm.cu`: a number of rows, and how it divides.
fn count(rows: i64) -> Arg {
    let [by, factor, shift] = divisor(u32::try_from(rows).unwrap_or(u32::MAX));
    bytes([rows as u32, (rows >> 32) as u32, by, factor, shift, 0])
}

/// The gate: none, the sample's, or an element's through silu.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Gate {
    No,
    OfSample,
    Before,
    Behind,
}

/// A norm, as `norm.cu` has it.
#[derive(Debug, Clone)]
struct Norm {
    x: &'static str,
    y: &'static str,
    rows: i64,
    columns: i64,
    eps: f64,
    centred: bool,
    euclidean: bool,
    modulated: bool,
    gate: Gate,
    /// Where the sum with `residual` is stored.
    sum: Option<&'static str>,
    /// The weight, and how `norm.cu` takes it.
    weight: Option<(&'static str, i32)>,
    bias: Option<&'static str>,
    row_scale: bool,
    /// Neighbouring rows that share the weight's columns between them.
    parts: i64,
    /// A second tensor that is mutated, and its weight.
    second: Option<(&'static str, &'static str)>,
}

impl Norm {
    /// Over the last axis of `x`.
    fn new(call: &CheckedCall, x: &'static str) -> Result<Self, OpError> {
        let columns = call.tensor(x)?.shape.last().copied().unwrap_or(1);
        Norm::over(call, x, size(call.op(), columns)?)
    }

    /// Over rows of `columns` elements of `x`.
    fn over(call: &CheckedCall, x: &'static str, columns: i64) -> Result<Self, OpError> {
        let elements = size(call.op(), call.tensor(x)?.numel().get()?)?;
        Ok(Norm {
            x,
            y: "y",
            rows: if columns == 0 { 0 } else { elements / columns },
            columns,
            eps: call.float("eps").unwrap_or(0.0),
            centred: false,
            euclidean: false,
            modulated: false,
            gate: Gate::No,
            sum: None,
            weight: None,
            bias: None,
            row_scale: false,
            parts: 1,
            second: None,
        })
    }

    fn weight(self, name: &'static str, how: i32) -> Self {
        Norm { weight: Some((name, how)), ..self }
    }

    /// Rows that a warp holds wait for no other warp. Half as wide, vectors may come out even where whole ones do not. With the
    /// sample's gate, three warps for a row are faster where they have several even vectors each.
    fn by_warps(&self, rows: i64, dtype: DType, gpu: &Gpu) -> Option<Rows> {
        const BYTES: i64 = 96;
        let (whole, bytes) = (lanes(dtype), i64::from(dtype.bits() / 8));
        let comes_out = |width: i64| self.columns % (32 * width) == 0;
        let width = if !comes_out(whole) && comes_out(whole / 2) { whole / 2 } else { whole };
        // Where vectors do not come out, it takes registers to look for a row's end.
        let elements = if comes_out(width) { 40 } else { 32 };
        let of_warps = Rows::by_warps(rows, self.columns, width, (elements / width).min(BYTES / (width * bytes)))?;
        let of_three = self.columns / (96 * width);
        if self.gate == Gate::OfSample && of_three > 1 && self.columns % (96 * width) == 0 {
            return Some(of_warps.by_block(of_three));
        }
        let is_small = self.columns * bytes < 2048 && rows >= 16 * i64::from(gpu.multiprocessors);
        // As many rows as can share a sample's scale and shift.
        Some(of_warps.in_blocks_of(if is_small || self.modulated { 8 } else { 4 }))
    }

    fn plan(&self, call: &CheckedCall, gpu: &Gpu) -> Result<Plan, OpError> {
        let elements_of = |name| size(call.op(), call.tensor(name)?.numel().get()?);
        let second_rows = match self.second {
            Some((name, _)) if self.columns > 0 => elements_of(name)? / self.columns,
            _ => 0,
        };
        let mut plan = Plan::new();
        let all = self.rows + second_rows;
        if all == 0 {
            // A row without columns is quantized by a scale of zero.
            if self.row_scale {
                plan = plan.fill(Arg::Tensor("scale"), 0);
            }
            return Ok(plan);
        }
        let dtype = call.dtype(self.x)?;
        let source = source!("norm.cu")
            .with(ROW)
            .with(NARROW)
            .with(COPIES)
            .with(MOMENTS)
            .element("ELEMENT", dtype)
            .element("RESULT", call.dtype(self.y)?)
            .define("CENTRED", i32::from(self.centred))
            .define("EUCLIDEAN", i32::from(self.euclidean))
            .define("BRANCH_GATE", i32::from(self.gate == Gate::OfSample))
            .define("RESIDUAL", i32::from(self.sum.is_some()))
            .define(
                "SILU",
                match self.gate {
                    Gate::Before => 1,
                    Gate::Behind => 2,
                    Gate::No | Gate::OfSample => 0,
                },
            )
            .define("WEIGHT", self.weight.map_or(0, |(_, how)| how))
            .define("BIAS", i32::from(self.bias.is_some()))
            .define("PARTS", i32::from(self.parts > 1))
            .define("FEW", i32::from(i32::try_from(all).is_ok()))
            .define("MODULATED", i32::from(self.modulated))
            .define("QUANTIZED", i32::from(self.row_scale))
            .define("TWO", i32::from(self.second.is_some()));
        // Where little is to be done for a row and much is loaded, more threads are faster than more vectors of each.
        let is_gated = matches!(self.gate, Gate::Before | Gate::Behind);
        let is_wide = !is_gated && (self.sum.is_none() || self.centred || self.row_scale);
        let spread = if is_wide { Rows::wide } else { Rows::new };
        let of_warps = if self.centred { self.by_warps(all, dtype, gpu) } else { None };
        let rows = of_warps.or_else(|| spread(all, self.columns, lanes(dtype), 4, gpu));
        let samples = if self.modulated { size(call.op(), call.int("S")?.get()?)? } else { 1 };
        let (source, grid): (Source, Grid) = match rows {
            Some(rows) => {
                // Columns that no vector divides are looked at one by one, and a warp's row of a sum is loaded twice as wide.
                let takes_more = match () {
                    () if self.row_scale => self.columns % lanes(dtype) != 0,
                    () => self.centred && self.sum.is_some() && rows.is_of_warp(),
                };
                // Where no block waits for another's place, or one for each, weights are waited for together with the row:
                // a sample's are in no cache yet.
                let turns = if self.modulated && !rows.is_within_warp() { 2 } else { 1 };
                let is_ahead = rows.is_done_in(turns, gpu);
                let rows = match () {
                    () if takes_more || is_ahead => rows.roomy(),
                    () if self.gate == Gate::OfSample => rows.for_threads(LESS_CROWDED),
                    () => rows,
                };
                // A sample's scale and shift take no registers on their way to shared memory.
                let is_staged =
                    self.modulated && !(is_ahead || takes_more) && rows.is_of_warp() && rows.shares_in_blocks(samples);
                let rows = if is_staged { rows.for_threads(LESS_CROWDED) } else { rows };
                let source = rows
                    .define(source)
                    .define("STAGED", i32::from(is_staged))
                    .define("FULL", i32::from(rows.is_full()))
                    .define("EXACT", i32::from(rows.is_exact()));
                (source.define("LONG", 0).define("AHEAD", i32::from(is_ahead)), rows.grid(call.op())?)
            }
            None => {
                let source = source
                    .define("WIDTH", lanes(dtype))
                    .define("VECTORS", 1)
                    .define("GROUP", 1024)
                    .define("ROWS", 1)
                    .define("CLUSTER", 1)
                    .define("ALIGNED", i32::from(self.columns % lanes(dtype) == 0))
                    .define("MIN_BLOCKS", 1)
                    .define("FULL", 0)
                    .define("EXACT", 1)
                    .define("STAGED", 0)
                    .define("LONG", 1)
                    .define("AHEAD", 0);
                (source, Grid::row(blocks(call.op(), all)?, 1024))
            }
        };
        let named = |name: Option<&'static str>| name.map_or(Arg::Null, Arg::Tensor);
        let modulation = |name| if self.modulated { Arg::Tensor(name) } else { Arg::Null };
        let arguments = vec![
            Arg::Tensor(self.x),
            named(self.sum.map(|_| "residual")),
            named(self.sum),
            if self.gate == Gate::No { Arg::Null } else { Arg::Tensor("gate") },
            named(self.weight.map(|(name, _)| name)),
            named(self.bias),
            modulation("scale"),
            modulation("shift"),
            Arg::Tensor(self.y),
            if self.row_scale { Arg::Tensor("scale") } else { Arg::Null },
            Arg::I32(columns_of_kernel(call.op(), self.columns)?),
            Arg::I64(self.rows),
            Arg::F32(self.eps as f32),
            count(samples),
            count(self.parts),
            named(self.second.map(|(name, _)| name)),
            named(self.second.map(|(_, weight)| weight)),
            named(self.second.map(|(name, _)| name)),
            Arg::I64(second_rows),
        ];
        plan = plan.launch(source, "norm_rows", grid, arguments);
        Ok(plan)
    }
}
