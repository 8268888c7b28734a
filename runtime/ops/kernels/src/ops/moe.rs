//! Mixture of experts: choosing the experts, and moving the tokens' rows to them and back.

use tileops_device::Grid;
use tileops_ops::{CheckedCall, DType, OpError};

use crate::gpu::Gpu;
use crate::ops::Planner;
use crate::ops::gemm::extent;
use crate::ops::refused;
use crate::plan::{Arg, Plan};
use crate::source::Source;

pub(crate) const PLANNERS: &[(&str, Planner)] = &[
    ("TopkRouterFwdOp", router),
    ("GroupedTopkRouterFwdOp", grouped_router),
    ("ExpertCountsFwdOp", counts),
    ("ExpertPermuteFwdOp", permute),
    ("ExpertGatherFwdOp", gather),
    ("ExpertCombineFwdOp", combine),
];

/// How a router chooses.
struct Route {
    sigmoid: bool,
    biased: bool,
    normalize: bool,
    groups: u64,
    top_groups: u64,
    scaling: f32,
}

/// Warps a block, as in `route.cu`.
const WARPS: u64 = 4;

fn route(call: &CheckedCall, gpu: &Gpu, how: &Route) -> Result<Plan, OpError> {
    let (n, e, top_k) = (extent(call, "N")?, extent(call, "E")?, extent(call, "top_k")?);
    if e > 1024 {
        return Err(refused(call.op(), format!("{e} experts: the kernel takes at most 1024")));
    }
    if n == 0 {
        return Ok(Plan::new());
    }
    let is_grouped = how.groups > 1;
    let shared = if is_grouped { WARPS * 8 * (e + 2 * how.groups) } else { 0 };
    if shared > u64::from(gpu.shared_bytes) {
        return Err(refused(call.op(), format!("{e} experts in {} groups do not fit shared memory", how.groups)));
    }
    let source = source!("route.cu")
        .element("T", call.tensor("logits")?.dtype)
        .define("SIGMOID", u8::from(how.sigmoid))
        .define("BIASED", u8::from(how.biased))
        .define("GROUPED", u8::from(is_grouped))
        .define("EACH", e.div_ceil(32).max(1));
    let arguments = vec![
        Arg::Tensor("logits"),
        Arg::Tensor("bias"),
        Arg::Tensor("weights"),
        Arg::Tensor("ids"),
        Arg::I32(n as i32),
        Arg::I32(e as i32),
        Arg::I32(top_k as i32),
        Arg::I32(i32::from(how.normalize)),
        Arg::I32(how.groups as i32),
        Arg::I32(how.top_groups as i32),
        Arg::F32(how.scaling),
    ];
    let grid = Grid::row(n.div_ceil(WARPS) as u32, 32 * WARPS as u32).shared(shared as u32);
    Ok(Plan::new().launch(source, "route", grid, arguments))
}

fn router(call: &CheckedCall, gpu: &Gpu) -> Result<Plan, OpError> {
    let sigmoid = call.str("score")? == "sigmoid";
    let (biased, normalize) = (call.present("bias")?, call.bool("normalize")?);
    route(call, gpu, &Route { sigmoid, biased, normalize, groups: 1, top_groups: 1, scaling: 1.0 })
}

fn grouped_router(call: &CheckedCall, gpu: &Gpu) -> Result<Plan, OpError> {
    let (groups, top_groups) = (extent(call, "num_groups")?, extent(call, "top_groups")?);
    let scaling = call.float("scaling")? as f32;
    route(call, gpu, &Route { sigmoid: true, biased: true, normalize: true, groups, top_groups, scaling })
}

/// Where an expert's rows begin.
#[derive(Clone, Copy)]
enum Placed {
    /// Behind the last expert's.
    Tight,
    /// At multiples of so many rows.
    Tiled(u64),
    /// In slabs of so many rows; those beyond have no place.
    Slab(u64),
}

impl Placed {
    fn code(self) -> (u8, u64) {
        match self {
            Placed::Tight => (0, 1),
            Placed::Tiled(tile) => (1, tile),
            Placed::Slab(capacity) => (2, capacity),
        }
    }
}

/// What rows of `bytes` bytes are moved in, and how many such a row has.
fn vectors(bytes: u64) -> (&'static str, u64) {
    match bytes {
        bytes if bytes.is_multiple_of(16) => ("uint4", bytes / 16),
        bytes if bytes.is_multiple_of(2) => ("unsigned short", bytes / 2),
        bytes => ("unsigned char", bytes),
    }
}

fn source(placed: Placed, index: u8, row_bytes: u64) -> Source {
    source!("experts.cu")
        .define("PLACED", placed.code().0)
        .define("INDEX", index)
        .define("VECTOR", vectors(row_bytes).0)
}

/// A block an expert, as in `experts.cu`.
fn by_expert(experts: u64, parts: u64) -> Grid {
    Grid { blocks: (experts as u32, parts as u32, 1), threads: (512, 1, 1), shared_bytes: 0 }
}

/// What the kernel `experts` writes.
struct Written {
    counts: Arg,
    offsets: Arg,
    known: Arg,
    places: Arg,
}

const NULL: Arg = Arg::Null;

fn experts(plan: Plan, source: Source, (rows, experts): (u64, u64), to: Written, tile: u64) -> Plan {
    let arguments = vec![
        Arg::Tensor("ids"),
        Arg::I32(rows as i32),
        Arg::I32(experts as i32),
        to.counts,
        to.offsets,
        to.known,
        to.places,
        Arg::I32(tile as i32),
    ];
    plan.launch(source, "experts", by_expert(experts, 1), arguments)
}

/// Each of `n` tokens' rows to its `k` places in `rows`.
fn scatter(plan: Plan, source: Source, (places, rows): (Arg, Arg), (n, k): (u64, u64), row_bytes: u64) -> Plan {
    let width = vectors(row_bytes).1;
    if n * k * width == 0 {
        return plan;
    }
    let blocks = (n as u32, width.div_ceil(256) as u32, 1);
    let arguments = vec![Arg::Tensor("x"), places, rows, Arg::I32(k as i32), Arg::I32(width as i32)];
    plan.launch(source, "scatter", Grid { blocks, threads: (256, 1, 1), shared_bytes: 0 }, arguments)
}

/// The size of a row of `x`, in bytes.
fn row_bytes(call: &CheckedCall) -> Result<u64, OpError> {
    Ok(extent(call, "H")? * u64::from(call.tensor("x")?.dtype.bits()) / 8)
}

fn counts(call: &CheckedCall, _: &Gpu) -> Result<Plan, OpError> {
    let (n, k, e) = (extent(call, "N")?, extent(call, "K")?, extent(call, "num_experts")?);
    let to = Written { counts: Arg::Tensor("counts"), offsets: Arg::Tensor("offsets"), known: NULL, places: NULL };
    Ok(experts(Plan::new(), source(Placed::Tight, 0, 16), (n * k, e), to, 1))
}

fn permute(call: &CheckedCall, _: &Gpu) -> Result<Plan, OpError> {
    let (n, k, e) = (extent(call, "N")?, extent(call, "K")?, extent(call, "num_experts")?);
    let bytes = row_bytes(call)?;
    let source = source(Placed::Tight, 0, bytes);
    let places = Arg::Tensor("places");
    let to = Written { counts: NULL, offsets: Arg::Tensor("offsets"), known: NULL, places: places.clone() };
    let plan = experts(Plan::new(), source.clone(), (n * k, e), to, 1);
    Ok(scatter(plan, source, (places, Arg::Tensor("rows")), (n, k), bytes))
}

fn gather(call: &CheckedCall, _: &Gpu) -> Result<Plan, OpError> {
    let (n, k, e) = (extent(call, "N")?, extent(call, "K")?, extent(call, "num_experts")?);
    let layout = call.variant("layout")?;
    let field = |name| -> Result<u64, OpError> {
        let value = layout.int(name).map_err(|why| refused(call.op(), why.to_string()))?;
        u64::try_from(value).map_err(|_| refused(call.op(), format!("`{name}` is {value}")))
    };
    let (placed, index) = match (layout.kind(), layout.is("index", "by_row")) {
        ("slab", _) => (Placed::Slab(field("capacity")?), 3),
        (_, false) => (Placed::Tiled(field("tile")?), 1),
        (_, true) => (Placed::Tiled(field("tile")?), 2),
    };
    let bytes = row_bytes(call)?;
    let source = source(placed, index, bytes);
    let tile = placed.code().1;
    let mut plan = Plan::new();
    let known = plan.scratch((4 * e) as usize);
    let places = plan.scratch((4 * n * k) as usize);
    let counting = Written { counts: known.clone(), offsets: NULL, known: NULL, places: NULL };
    let placing = Written { counts: NULL, offsets: NULL, known: known.clone(), places: places.clone() };
    let plan = experts(plan, source.clone(), (n * k, e), counting, tile);
    let plan = experts(plan, source.clone(), (n * k, e), placing, tile);
    let plan = scatter(plan, source.clone(), (places, Arg::Tensor("rows")), (n, k), bytes);
    let end = match placed {
        Placed::Slab(capacity) => e * capacity,
        _ => extent(call, "P")?,
    };
    let arguments = vec![
        known,
        Arg::Tensor("rows"),
        Arg::Tensor("index"),
        Arg::I32(e as i32),
        Arg::I32(tile as i32),
        Arg::I32(end as i32),
        Arg::I32(vectors(bytes).1 as i32),
    ];
    Ok(plan.launch(source, "rest", by_expert(e, 16), arguments))
}

fn combine(call: &CheckedCall, _: &Gpu) -> Result<Plan, OpError> {
    let (n, k, h) = (extent(call, "N")?, extent(call, "K")?, extent(call, "H")?);
    let tensors = ["rows", "weights", "places", "shared", "y"].map(Arg::Tensor);
    Ok(combine_rows(Plan::new(), tensors, call.dtype("T")?, (n, k, h)))
}

/// Where the rows of each of `e` experts begin, and where each of the tokens' `rows` rows stands.
pub(crate) fn place(plan: Plan, (rows, e): (u64, u64), offsets: Arg, places: Arg) -> Plan {
    let to = Written { counts: NULL, offsets, known: NULL, places };
    experts(plan, source(Placed::Tight, 0, 16), (rows, e), to, 1)
}

/// Each of `n` tokens' rows of x to its `k` places in `rows`.
pub(crate) fn scatter_rows(plan: Plan, places: Arg, rows: Arg, (n, k): (u64, u64), row_bytes: u64) -> Plan {
    scatter(plan, source(Placed::Tight, 0, row_bytes), (places, rows), (n, k), row_bytes)
}

/// A token's `k` rows, weighted and summed, and the shared expert's: rows, weights, places, shared, the result.
pub(crate) fn combine_rows(plan: Plan, tensors: [Arg; 5], dtype: DType, (n, k, h): (u64, u64, u64)) -> Plan {
    if n * h == 0 {
        return plan;
    }
    let lanes = if h.is_multiple_of(8) { 8 } else { 1 };
    let source = source(Placed::Tight, 0, 16).element("T", dtype).define("LANES", lanes);
    let arguments = tensors.into_iter().chain([Arg::I32(k as i32), Arg::I32(h as i32)]).collect();
    let blocks = (n as u32, h.div_ceil(256 * lanes) as u32, 1);
    plan.launch(source, "combine", Grid { blocks, threads: (256, 1, 1), shared_bytes: 0 }, arguments)
}
