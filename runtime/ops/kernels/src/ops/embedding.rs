//! Rows of tables.

use tileops_device::Grid;
use tileops_ops::{CheckedCall, OpError};

use crate::gpu::Gpu;
use crate::ops::Planner;
use crate::ops::elementwise::{bytes, common_lanes, count, divisor, grid, lanes, maybe, size, whole};
use crate::ops::refused;
use crate::plan::{Arg, Plan};
use crate::source::ELEMENTWISE;

pub(crate) const PLANNERS: &[(&str, Planner)] = &[
    ("EmbeddingFwdOp", |call, _| {
        let (width, scale) = (size(call, "H")?, maybe(call, "scale")?);
        rows(call, ["ids", "table"], width, scale)
    }),
    ("IndexSelectFwdOp", |call, _| {
        let width = call.shape("L")?.iter().map(|&extent| u64::try_from(extent).unwrap_or(0)).product();
        rows(call, ["index", "x"], width, None)
    }),
    ("BertEmbeddingFwdOp", bert),
    ("EmbeddingBagFwdOp", bag),
];

/// The rows of a table that numbers name, times a scale.
fn rows(call: &CheckedCall, [ids, table]: [&'static str; 2], width: u64, scale: Option<f64>) -> Result<Plan, OpError> {
    let y = call.tensor("y")?;
    let elements = count(y)?;
    if elements == 0 {
        return Ok(Plan::new());
    }
    let lanes = common_lanes(lanes(&[y.dtype]), &[width]);
    let vectors = elements / lanes;
    let source = source!("gather.cu")
        .with(ELEMENTWISE)
        .element("ELEMENT", y.dtype)
        .define("LANES", lanes)
        .define("SCALED", u8::from(scale.is_some()))
        .define("WIDE", u8::from(vectors >= 1 << 31))
        .define("BERT", 0);
    let arguments = vec![
        Arg::Tensor(ids),
        Arg::Tensor(table),
        Arg::Tensor("y"),
        whole(call, vectors)?,
        bytes(divisor(u32::try_from(width / lanes).unwrap_or(u32::MAX))),
        whole(call, width)?,
        Arg::F32(scale.unwrap_or(1.0) as f32),
    ];
    Ok(Plan::new().launch(source, "gather", grid(call, vectors, 1)?, arguments))
}

fn bert(call: &CheckedCall, _: &Gpu) -> Result<Plan, OpError> {
    let (y, width) = (call.tensor("y")?, size(call, "H")?);
    let elements = count(y)?;
    if elements == 0 {
        return Ok(Plan::new());
    }
    let lanes = common_lanes(lanes(&[y.dtype]), &[width]);
    let vectors = elements / lanes;
    let source = source!("gather.cu")
        .with(ELEMENTWISE)
        .element("ELEMENT", y.dtype)
        .define("LANES", lanes)
        .define("SCALED", 0)
        .define("WIDE", 0)
        .define("BERT", 1);
    let mut arguments = ["ids", "types", "words", "positions", "segments", "y"].map(Arg::Tensor).to_vec();
    arguments.extend([whole(call, vectors)?, whole(call, width)?, whole(call, size(call, "S")?)?]);
    Ok(Plan::new().launch(source, "gather_sum", grid(call, vectors, 1)?, arguments))
}

fn bag(call: &CheckedCall, gpu: &Gpu) -> Result<Plan, OpError> {
    let y = call.tensor("y")?;
    let (bags, k, width) = (size(call, "B")?, size(call, "K")?, size(call, "H")?);
    if bags * width == 0 {
        return Ok(Plan::new());
    }
    let lanes = common_lanes(lanes(&[y.dtype]), &[width]);
    let row = width / lanes;
    // Few bags: narrower teams, of which more share a bag's rows. Eight rows are asked for at once.
    let full = u64::from(gpu.multiprocessors) * 2048;
    let mut columns = row.next_power_of_two().min(32);
    let mut shares = 1;
    while columns * shares < 256 && shares * 8 < k && bags * row * shares < full {
        shares *= 2;
    }
    while columns > 8 && columns * shares >= 256 && bags * row * shares < full {
        (columns, shares) = (columns / 2, shares * 2);
    }
    let mode = call.str("mode")?;
    let source = source!("gather_bag.cu")
        .with(ELEMENTWISE)
        .element("ELEMENT", y.dtype)
        .define("LANES", lanes)
        .define("COLUMNS", columns)
        .define("SHARES", shares)
        .define("MAXIMUM", u8::from(mode == "max"));
    let scale = if mode == "mean" { 1.0 / k as f64 } else { 1.0 };
    let arguments = vec![
        Arg::Tensor("ids"),
        Arg::Tensor("table"),
        Arg::Tensor("y"),
        whole(call, bags)?,
        Arg::I32(i32::try_from(k).map_err(|_| refused(call.op(), format!("a bag of {k} rows is too large")))?),
        whole(call, width)?,
        Arg::F32(scale as f32),
    ];
    let blocks =
        (i32::try_from(bags.div_ceil(256 / (columns * shares))).ok()).zip(u16::try_from(row.div_ceil(columns)).ok());
    let (x, y) =
        blocks.ok_or_else(|| refused(call.op(), format!("{bags} bags of {width} columns are beyond a launch")))?;
    let grid = Grid { blocks: (x as u32, y.into(), 1), ..Grid::row(1, 256) };
    Ok(Plan::new().launch(source, "gather_bag", grid, arguments))
}
