//! Attention forward: of many queries by tiles of them, of few by parts of the keys.

use tileops_device::Grid;
use tileops_ops::{CheckedCall, DType, OpError};

use crate::gpu::Gpu;
use crate::ops::Planner;
use crate::ops::elementwise::maybe;
use crate::ops::gemm::extent;
use crate::ops::refused;
use crate::plan::{Arg, Plan};
use crate::source::{ATTENTION, COPIES, MMA, Source, WGMMA};

pub(crate) const PLANNERS: &[(&str, Planner)] = &[
    ("AttentionFwdOp", dense),
    ("VarlenAttentionFwdOp", varlen),
    ("PagedDecodeAttentionFwdOp", paged_decode),
    ("PagedPrefillAttentionFwdOp", paged_prefill),
];

/// What all attention has.
struct Shape {
    dtype: DType,
    /// Query heads a key head.
    share: u64,
    /// Key heads.
    groups: u64,
    /// The widths of a key and a value.
    head: u64,
    value: u64,
    is_causal: bool,
    /// How far back a query sees.
    window: Option<u64>,
    scale: Option<f64>,
    softcap: Option<f64>,
    has_sinks: bool,
    /// Rows of a page, where keys are in pages.
    page: Option<u64>,
}

impl Shape {
    fn new(call: &CheckedCall, value: &str) -> Result<Self, OpError> {
        let (heads, groups) = (extent(call, "H")?, extent(call, "G")?);
        let shape = Shape {
            dtype: call.dtype("T")?,
            share: heads / groups.max(1),
            groups,
            head: extent(call, "D")?,
            value: extent(call, value)?,
            is_causal: false,
            window: None,
            scale: None,
            softcap: None,
            has_sinks: false,
            page: None,
        };
        match shape.head.max(shape.value) {
            0..=256 => Ok(shape),
            width => Err(refused(call.op(), format!("heads of {width} numbers: the kernels take at most 256"))),
        }
    }

    fn scale(&self) -> f32 {
        // A head of no width has scores of zero, whatever they are scaled by.
        self.scale.unwrap_or(1.0 / (self.head.max(1) as f64).sqrt()) as f32
    }

    /// Elements of a row of keys and one of values in shared memory: whole tiles of 16, and 16 bytes more.
    fn pitches(&self) -> (u64, u64) {
        (self.head.max(1).next_multiple_of(16) + 8, self.value.next_multiple_of(16) + 8)
    }

    /// What `file`, one of the kernels of attention, is specialised by.
    fn specialize(&self, file: Source) -> Source {
        let (key_pitch, value_pitch) = self.pitches();
        file.with(COPIES)
            .with(MMA)
            .with(ATTENTION)
            .element("T", self.dtype)
            .define("HEAD", self.head)
            .define("VALUE", self.value)
            .define("KEY_PITCH", key_pitch)
            .define("VALUE_PITCH", value_pitch)
            .define("SHARE", self.share)
            .define("CAUSAL", u8::from(self.is_causal))
            .define("WINDOW", self.window.unwrap_or(0))
            .define("SOFTCAP", u8::from(self.softcap.is_some()))
            .define("SINKS", u8::from(self.has_sinks))
            .define("PAGE", self.page.unwrap_or(0))
    }

    fn factors(&self) -> [Arg; 2] {
        [Arg::F32(self.scale()), Arg::F32(self.softcap.unwrap_or(1.0) as f32)]
    }
}

/// How the calls of many queries are cut, and by which kernel.
struct Tiles {
    warps: u64,
    /// Times 16 rows a warp.
    blocks: u64,
    keys: u64,
    /// Blocks a multiprocessor.
    resident: u64,
    is_flash: bool,
}

impl Tiles {
    /// The instructions that are made for large tiles, where the widths are theirs; else as many rows a warp as registers hold
    /// their results: what a warp loads of keys and values serves all of them.
    fn new(shape: &Shape, gpu: &Gpu) -> Self {
        let tiles = |warps, blocks, resident| Tiles { warps, blocks, keys: 64, resident, is_flash: false };
        let is_even = shape.head == shape.value && matches!(shape.head, 64 | 128);
        // A narrow window has more of such tiles' keys outside of it than inside.
        let is_wide = shape.window.is_none_or(|window| window >= 512);
        if gpu.architecture == "sm_90a" && is_even && is_wide && shape.page.is_none() && shape.scale() > 0.0 {
            return Tiles { keys: 128, is_flash: true, ..tiles(8, 1, 1) };
        }
        let few = tiles(8, 1, 1);
        let many = match (shape.value, shape.head) {
            (0..=128, 0..=128) if shape.page.is_none() => tiles(4, 2, 2),
            (0..=128, 129..) if shape.page.is_none() => tiles(8, 2, 1),
            _ => return few,
        };
        if many.shared_bytes(shape) <= gpu.shared_bytes { many } else { few }
    }

    fn rows(&self) -> u64 {
        16 * self.warps * self.blocks
    }

    fn shared_bytes(&self, shape: &Shape) -> u32 {
        let (key_pitch, value_pitch) = shape.pitches();
        let bytes = match self.is_flash {
            // Without padding, and what it takes to begin at a multiple of 1 KiB.
            true => 2 * (self.rows() + 4 * self.keys) * shape.head + 1024,
            false => 2 * (self.rows() * key_pitch + 2 * self.keys * (key_pitch + value_pitch)),
        };
        bytes as u32
    }

    fn source(&self, shape: &Shape) -> Source {
        match self.is_flash {
            true => shape.specialize(source!("flash.cu")).with(WGMMA).multiplied("KIND", shape.dtype),
            false => shape
                .specialize(source!("attention.cu"))
                .define("WARPS", self.warps)
                .define("BLOCKS", self.blocks)
                .define("KEYS", self.keys)
                .define("RESIDENT", self.resident),
        }
    }
}

/// What a call passes besides queries, keys and values.
struct Passed {
    k: Arg,
    v: Arg,
    offsets: Arg,
    cached: Arg,
    page_table: Arg,
    lse: Arg,
}

const NULL: Arg = Arg::Null;

/// A packed batch of so many rows, or requests of so many queries and keys each.
enum Batch {
    Packed { requests: u64, tokens: u64, table_width: u64 },
    Even { requests: u64, queries: u64, length: u64 },
}

fn attention(shape: &Shape, batch: &Batch, passed: Passed, gpu: &Gpu) -> Plan {
    let tiles = Tiles::new(shape, gpu);
    let is_packed = matches!(batch, Batch::Packed { .. });
    let (requests, queries, length, table_width, blocks) = match *batch {
        // Each request may leave a tile in part.
        Batch::Packed { requests, tokens, table_width } => {
            (requests, 0, 0, table_width, ((tokens * shape.share).div_ceil(tiles.rows()) + requests, 1))
        }
        Batch::Even { requests, queries, length } => {
            (requests, queries, length, 0, ((queries * shape.share).div_ceil(tiles.rows()), requests))
        }
    };
    let source = tiles.source(shape).define("PACKED", u8::from(is_packed)).define("LSE", u8::from(passed.lse != NULL));
    let grid = Grid {
        blocks: (blocks.0 as u32, shape.groups as u32, blocks.1 as u32),
        threads: (32 * tiles.warps as u32, 1, 1),
        shared_bytes: tiles.shared_bytes(shape),
    };
    let sinks = if shape.has_sinks { Arg::Tensor("sinks") } else { NULL };
    let tensors =
        [passed.k, passed.v, sinks, passed.offsets, passed.cached, passed.page_table, Arg::Tensor("o"), passed.lse];
    let sizes = [requests, queries, length, shape.groups, table_width].map(|size| Arg::I32(size as i32));
    let arguments = [Arg::Tensor("q")].into_iter().chain(tensors).chain(sizes).chain(shape.factors()).collect();
    Plan::new().launch(source, if tiles.is_flash { "flash" } else { "attention" }, grid, arguments)
}

/// Tiles of the keys that are under way.
const STAGES: u64 = 3;
/// Keys a tile, as in `decode.cu`.
const DECODE_KEYS: u64 = 64;
/// Rows a block, as in `decode.cu`.
const DECODE_ROWS: u64 = 16;

/// Few queries of `requests` requests, each over at most `length` keys.
fn decode(
    shape: &Shape,
    (requests, queries, length): (u64, u64, u64),
    passed: Passed,
    table_width: u64,
    gpu: &Gpu,
) -> Plan {
    let (key_pitch, value_pitch) = shape.pitches();
    let row_tiles = (queries * shape.share).div_ceil(DECODE_ROWS);
    let shared = (2 * STAGES * DECODE_KEYS * (key_pitch + value_pitch)) as u32;
    // Parts enough for a few rounds of what fits the device at once, each of several tiles.
    let seen = shape.window.map_or(length, |window| length.min(window + queries));
    let resident = u64::from(gpu.shared_bytes / shared).clamp(1, 4);
    let wanted = (2 * resident * u64::from(gpu.multiprocessors)).div_ceil(requests * shape.groups * row_tiles);
    let parts = wanted.min(seen.div_ceil(4 * DECODE_KEYS)).clamp(1, 65_535);
    let source = shape.specialize(source!("decode.cu")).define("PARTS", u8::from(parts > 1)).define("STAGES", STAGES);
    let rows = requests * queries * shape.groups * shape.share;
    let mut plan = Plan::new();
    let (partial, partial_lse) = match parts {
        1 => (NULL, NULL),
        _ => (plan.scratch((4 * parts * rows * shape.value) as usize), plan.scratch((4 * parts * rows) as usize)),
    };
    let grid = Grid {
        blocks: (parts as u32, (shape.groups * row_tiles) as u32, requests as u32),
        threads: (128, 1, 1),
        shared_bytes: shared,
    };
    let sinks = if shape.has_sinks { Arg::Tensor("sinks") } else { NULL };
    let tensors = [
        passed.k,
        passed.v,
        sinks,
        passed.cached,
        passed.page_table,
        Arg::Tensor("o"),
        partial.clone(),
        partial_lse.clone(),
    ];
    let sizes = [queries, length, shape.groups, table_width].map(|size| Arg::I32(size as i32));
    let arguments = [Arg::Tensor("q")].into_iter().chain(tensors).chain(sizes).chain(shape.factors()).collect();
    let plan = plan.launch(source.clone(), "decode", grid, arguments);
    if parts == 1 {
        return plan;
    }
    let arguments = vec![partial, partial_lse, Arg::Tensor("o"), Arg::I32(parts as i32), Arg::I32(rows as i32)];
    plan.launch(source, "join", Grid::row(rows as u32, 128), arguments)
}

fn dense(call: &CheckedCall, gpu: &Gpu) -> Result<Plan, OpError> {
    let (requests, queries, length) = (extent(call, "B")?, extent(call, "S")?, extent(call, "L")?);
    let shape = Shape {
        is_causal: call.bool("is_causal")?,
        window: maybe(call, "window")?.map(|window| window as u64),
        scale: maybe(call, "scale")?,
        softcap: maybe(call, "softcap")?,
        has_sinks: call.present("sinks")?,
        ..Shape::new(call, "V")?
    };
    if requests * queries * shape.groups * shape.share * shape.value == 0 {
        return Ok(Plan::new());
    }
    let (k, v) = (Arg::Tensor("k"), Arg::Tensor("v"));
    let passed = Passed { k, v, offsets: NULL, cached: NULL, page_table: NULL, lse: NULL };
    if queries * shape.share <= DECODE_ROWS {
        return Ok(decode(&shape, (requests, queries, length), passed, 0, gpu));
    }
    Ok(attention(&shape, &Batch::Even { requests, queries, length }, passed, gpu))
}

fn varlen(call: &CheckedCall, gpu: &Gpu) -> Result<Plan, OpError> {
    let (tokens, requests) = (extent(call, "N")?, extent(call, "R")?);
    let shape = Shape { is_causal: call.bool("is_causal")?, ..Shape::new(call, "D")? };
    if tokens * shape.groups * shape.share == 0 {
        return Ok(Plan::new());
    }
    let (k, v) = (Arg::Tensor("k"), Arg::Tensor("v"));
    let (offsets, lse) = (Arg::Tensor("offsets"), Arg::Tensor("lse"));
    let passed = Passed { k, v, offsets, cached: NULL, page_table: NULL, lse };
    Ok(attention(&shape, &Batch::Packed { requests, tokens, table_width: 0 }, passed, gpu))
}

/// Keys and values in pages.
fn paged(cached: &'static str, offsets: Arg) -> Passed {
    Passed {
        k: Arg::Tensor("k_pages"),
        v: Arg::Tensor("v_pages"),
        offsets,
        cached: Arg::Tensor(cached),
        page_table: Arg::Tensor("page_table"),
        lse: NULL,
    }
}

fn paged_decode(call: &CheckedCall, gpu: &Gpu) -> Result<Plan, OpError> {
    let (requests, width, page) = (extent(call, "B")?, extent(call, "W")?, extent(call, "page_size")?);
    let shape = Shape {
        window: maybe(call, "window")?.map(|window| window as u64),
        softcap: maybe(call, "softcap")?,
        page: Some(page),
        ..Shape::new(call, "D")?
    };
    if requests * shape.groups * shape.share * shape.value == 0 {
        return Ok(Plan::new());
    }
    Ok(decode(&shape, (requests, 1, width * page), paged("kv_lengths", NULL), width, gpu))
}

fn paged_prefill(call: &CheckedCall, gpu: &Gpu) -> Result<Plan, OpError> {
    let (tokens, requests) = (extent(call, "N")?, extent(call, "B")?);
    let (table_width, page) = (extent(call, "W")?, extent(call, "page_size")?);
    let shape = Shape { is_causal: true, softcap: maybe(call, "softcap")?, page: Some(page), ..Shape::new(call, "D")? };
    if tokens * shape.groups * shape.share * shape.value == 0 {
        return Ok(Plan::new());
    }
    let passed = paged("cached_lengths", Arg::Tensor("offsets"));
    Ok(attention(&shape, &Batch::Packed { requests, tokens, table_width }, passed, gpu))
}
