//! Running reductions along one axis.

use tileops_device::Grid;
use tileops_ops::{CheckedCall, DType, OpError};

use crate::gpu::Gpu;
use crate::ops::Planner;
use crate::ops::rows::{Axis, Rows, blocks, columns_of_kernel, dividing_lanes, lanes, size};
use crate::plan::{Arg, Plan};
use crate::source::{ROW, Source};

pub(crate) const PLANNERS: &[(&str, Planner)] = &[
    ("CumsumFwdOp", |call, gpu| scan(call, gpu, if is_whole(call)? { "WholeSums" } else { "Sums" })),
    ("CumprodFwdOp", |call, gpu| scan(call, gpu, if is_whole(call)? { "WholeProducts" } else { "Products" })),
    ("CummaxFwdOp", |call, gpu| scan(call, gpu, if is_whole(call)? { "WholeMaxima" } else { "Maxima" })),
    ("LogCumsumExpFwdOp", |call, gpu| scan(call, gpu, "LogSums")),
    ("SegmentSumFwdOp", segment_sum),
];

/// What a state of `scan.cu` takes at most, in bytes: it asserts so.
const STATE_BYTES: i64 = 16;

/// Threads of a team, of those that take turns at a block's columns.
const TEAM: i64 = 128;

/// Threads of a multiprocessor at 80 registers each, which running log-sums of four vectors take.
const OF_LOGARITHMS: i64 = 768;

fn is_whole(call: &CheckedCall) -> Result<bool, OpError> {
    Ok(matches!(call.dtype("x")?, DType::Int32 | DType::Int64))
}

fn scan(call: &CheckedCall, gpu: &Gpu, state: &'static str) -> Result<Plan, OpError> {
    let op = call.op();
    let dtype = call.dtype("x")?;
    let axis = Axis::new(call, &call.shape("x")?, call.int("dim")?.get()?)?;
    if axis.elements() == 0 {
        return Ok(Plan::new());
    }
    let placed = op == "CummaxFwdOp";
    let (y, places) = if placed { ("values", Arg::Tensor("indices")) } else { ("y", Arg::Null) };
    let source = source!("scan.cu")
        .with(ROW)
        .element("ELEMENT", dtype)
        .define("STATE", state)
        .define("PLACE", if i32::try_from(axis.length).is_ok() { "int" } else { "long long" })
        .define("PLACED", i32::from(placed))
        .define("LOGARITHMS", i32::from(state == "LogSums"));
    // What is computed once for all, or for chunks: their totals, what is before each, and then the elements.
    let launches =
        |plan: Plan, source: Source, kernel, grid: Grid, chunks: i64, arguments: &dyn Fn(Arg) -> Vec<Arg>| {
            if chunks == 1 {
                let source = source.define("LONG", 0).define("TOTALS", 0);
                return Ok(plan.launch(source, kernel, grid, arguments(Arg::Null)));
            }
            let mut plan = plan;
            let lines = axis.outer * axis.inner;
            let carries = plan.scratch(usize::try_from(lines * chunks * STATE_BYTES).unwrap_or(usize::MAX));
            let (totals, last) = (source.clone().define("LONG", 1).define("TOTALS", 1), source.define("LONG", 1));
            let last = last.define("TOTALS", 0);
            let between = vec![carries.clone(), Arg::I64(lines), Arg::I64(axis.inner), Arg::I32(chunks as i32)];
            Ok::<_, OpError>(
                plan.launch(totals, kernel, grid, arguments(carries.clone()))
                    .launch(last.clone(), "scan_carries", Grid::row(blocks(op, (lines + 255) / 256)?, 256), between)
                    .launch(last, kernel, grid, arguments(carries)),
            )
        };
    if axis.inner == 1 && columns_of_kernel(op, axis.length).is_ok() {
        let most = if placed || dtype == DType::Int64 { 4 } else { 8 };
        let (rows, chunks) = match Rows::new(axis.outer, axis.length, lanes(dtype), most, gpu) {
            Some(rows) => (rows, 1),
            None => Rows::chunked(axis.outer, axis.length, lanes(dtype)),
        };
        let arguments = |carries: Arg| {
            vec![
                Arg::Tensor("x"),
                Arg::Tensor(y),
                places.clone(),
                carries,
                Arg::I32(axis.length as i32),
                Arg::I64(axis.outer),
                Arg::I32(chunks as i32),
            ]
        };
        let is_logarithms = state == "LogSums";
        let holds_few = rows.elements_of_thread() <= 4 * lanes(dtype);
        let rows = match () {
            () if chunks == 1 && rows.is_few(gpu) => rows.holding(1),
            () if is_logarithms && holds_few => rows.holding(4),
            () => rows,
        };
        let rows = match () {
            () if is_logarithms && holds_few => rows.for_threads(OF_LOGARITHMS),
            () if !is_logarithms && !placed && rows.elements_of_thread() <= 32 => rows,
            () => rows.roomy(),
        };
        let source = source.define("FULL", i32::from(rows.is_full()));
        let mut grid = rows.grid(op)?;
        grid.blocks.0 = blocks(op, i64::from(grid.blocks.0) * chunks)?;
        return launches(Plan::new(), rows.define(source), "scan_rows", grid, chunks, &arguments);
    }
    // Strips of columns that a block walks down: wide ones read whole lines, but there is to be one for each multiprocessor.
    let strips = |across: i64| axis.outer * ((axis.inner + across - 1) / across);
    let power = |value: i64| value.max(1).unsigned_abs().next_power_of_two() as i64;
    let multiprocessors = i64::from(gpu.multiprocessors);
    let mut across = power(axis.inner).min(32);
    while across > 8 && strips(across) < multiprocessors * 7 / 8 {
        across /= 2;
    }
    // States that cost more to combine are combined half as often, by half as many threads, which have twice the registers.
    let most = if state == "LogSums" { 16 } else { 8 };
    let hold = power((axis.length + 31) / 32).min(most);
    let parts = TEAM / across;
    let tiles = (axis.length + parts * hold - 1) / (parts * hold);
    let threads = if hold > 8 { 512 } else { 1024 };
    let teams = power(tiles).min(threads / TEAM);
    // Few columns of many elements are cut into chunks.
    let chunks = (multiprocessors / strips(across)).min(tiles / (4 * teams)).max(1);
    let grid = Grid::row(blocks(op, strips(across) * chunks)?, (across * parts * teams) as u32);
    let source = source.define("WIDTH", 1).define("TX", across).define("PARTS", parts).define("HOLD", hold);
    let is_whole = axis.inner % across == 0 && axis.length % (parts * hold) == 0;
    let source = source.define("TEAMS", teams).define("RESIDENT", threads).define("WHOLE", i32::from(is_whole));
    let arguments = |carries: Arg| {
        vec![
            Arg::Tensor("x"),
            Arg::Tensor(y),
            places.clone(),
            carries,
            Arg::I64(axis.length),
            Arg::I64(axis.inner),
            Arg::I32(i32::try_from(chunks).unwrap_or(i32::MAX)),
        ]
    };
    launches(Plan::new(), source, "scan_columns", grid, chunks, &arguments)
}

fn segment_sum(call: &CheckedCall, gpu: &Gpu) -> Result<Plan, OpError> {
    let op = call.op();
    let extent = |name| size(op, call.int(name)?.get()?);
    let (rows, segments, columns) = (extent("N")?, extent("R")?, extent("H")?);
    if segments * columns == 0 {
        return Ok(Plan::new());
    }
    let dtype = call.dtype("x")?;
    let width = dividing_lanes(columns, lanes(dtype));
    let whole = segments * ((columns + 16 * width - 1) / (16 * width));
    // Segments of middling length are split until there is work for all, and each thread still has a few rows.
    let splits = (i64::from(gpu.multiprocessors) * 4 / whole).min(rows / segments / 64).max(1);
    let source = source!("segment_sum.cu").with(ROW).element("ELEMENT", dtype).define("WIDTH", width);
    let mut plan = Plan::new();
    let outputs = segments * columns;
    let sums = match splits {
        1 => Arg::Tensor("y"),
        _ => plan.scratch(usize::try_from(outputs * splits * 4).unwrap_or(usize::MAX)),
    };
    let arguments = vec![
        Arg::Tensor("x"),
        Arg::Tensor("starts"),
        Arg::Tensor("lengths_of"),
        sums.clone(),
        Arg::I64(columns),
        Arg::I32(splits as i32),
    ];
    let grid = Grid { blocks: (blocks(op, whole * splits)?, 1, 1), threads: (16, 16, 1), shared_bytes: 0 };
    plan = plan.launch(source.clone(), "segment_sum", grid, arguments);
    if splits == 1 {
        return Ok(plan);
    }
    let arguments = vec![sums, Arg::Tensor("y"), Arg::I64(columns), Arg::I64(outputs), Arg::I32(splits as i32)];
    Ok(plan.launch(source, "join_splits", Grid::row(blocks(op, (outputs + 255) / 256)?, 256), arguments))
}
