//! Masks, biases and tables that follow from positions.

use tileops_ops::{CheckedCall, DType, OpError};

use crate::ops::Planner;
use crate::ops::elementwise::{bytes, common_lanes, count, divisor, grid, lanes, size, whole};
use crate::ops::refused;
use crate::ops::rows::columns_of_kernel;
use crate::plan::{Arg, Plan};
use crate::source::ELEMENTWISE;

pub(crate) const PLANNERS: &[(&str, Planner)] = &[
    ("CausalMaskFwdOp", |call, _| {
        let length = size(call, "length")?;
        let window = if call.present("window")? { size(call, "window")? } else { length };
        let [inside, outside] = match call.tensor("mask")?.dtype {
            DType::Bool => ["true", "false"],
            _ => ["0.f", "-__int_as_float(0x7f800000)"],
        };
        let seen = Content::Between { from: "row - p + 1", to: "row + 1", inside, outside };
        by_position(call, "mask", [length, length], None, seen, [window.min(length), 0])
    }),
    ("AlibiBiasFwdOp", |call, _| {
        let (queries, keys) = (size(call, "queries")?, size(call, "keys")?);
        let function = Content::Function("-datum * static_cast<float>(abs(p + row - column))");
        by_position(call, "bias", [queries, keys], Some("slopes"), function, [keys - queries, 0])
    }),
    ("CausalLengthsMaskFwdOp", |call, _| {
        let size = size(call, "size")?;
        let seen = Content::Between { from: "0", to: "min(row + 1, datum)", inside: "true", outside: "false" };
        by_position(call, "mask", [size, size], Some("valid"), seen, [0, 0])
    }),
    ("SinusoidalPositionsFwdOp", |call, _| {
        let (width, period) = (size(call, "width")?, call.float("max_period")?);
        angles(call, None, ["table", "table"], width / 2, width, period.log2(), 1.0)
    }),
    ("RopeTableFwdOp", |call, _| {
        let pairs = size(call, "P")?;
        angles(call, Some("frequencies"), ["cos", "sin"], pairs, pairs, 0.0, call.float("attention_factor")?)
    }),
];

/// What the elements of a row are, by C++ expressions of plane, row and column, of the integers p and q, and of the plane's
/// element of some data, `datum`.
enum Content {
    Function(&'static str),
    /// One value from a column up to another, and another value elsewhere.
    Between {
        from: &'static str,
        to: &'static str,
        inside: &'static str,
        outside: &'static str,
    },
}

/// A tensor whose elements are a function of plane, row and column, and of the plane's element of `data`.
fn by_position(
    call: &CheckedCall,
    output: &'static str,
    [rows, columns]: [u64; 2],
    data: Option<&'static str>,
    content: Content,
    integers: [u64; 2],
) -> Result<Plan, OpError> {
    let y = call.tensor(output)?;
    let elements = count(y)?;
    if elements == 0 {
        return Ok(Plan::new());
    }
    let int = |value: u64| {
        i32::try_from(value).map(Arg::I32).map_err(|_| refused(call.op(), format!("{value} positions are too many")))
    };
    int(rows.max(columns))?;
    let lanes = common_lanes(lanes(&[y.dtype]), &[columns]);
    let vectors = elements / lanes;
    let mut source = source!("position.cu")
        .with(ELEMENTWISE)
        .element("TY", y.dtype)
        .define("LANES", lanes)
        .define("WIDE", u8::from(vectors >= 1 << 31));
    source = match content {
        Content::Function(function) => source.define("FUNCTION", format!("({function})")),
        Content::Between { from, to, inside, outside } => source
            .define("FROM", format!("({from})"))
            .define("TO", format!("({to})"))
            .define("INSIDE", format!("({inside})"))
            .define("OUTSIDE", format!("({outside})")),
    };
    let mut arguments = Vec::new();
    if let Some(data) = data {
        source = source.element("TD", call.tensor(data)?.dtype);
        arguments.push(Arg::Tensor(data));
    }
    arguments.extend([
        Arg::Tensor(output),
        whole(call, vectors)?,
        bytes(divisor((columns / lanes) as u32)),
        bytes(divisor(rows as u32)),
        int(integers[0])?,
        int(integers[1])?,
    ]);
    Ok(Plan::new().launch(source, "position", grid(call, vectors, 1)?, arguments))
}

/// Rows that a thread takes, as in `angles.cu`.
const ROWS: u64 = 4;

/// Cosines and sines of position times frequency: read from `frequencies`, or powers of a period.
fn angles(
    call: &CheckedCall,
    frequencies: Option<&'static str>,
    [cos, sin]: [&'static str; 2],
    columns: u64,
    stride: u64,
    log2_period: f64,
    factor: f64,
) -> Result<Plan, OpError> {
    let (dtype, length) = (call.tensor(cos)?.dtype, size(call, "length")?);
    if columns * length == 0 {
        return Ok(Plan::new());
    }
    if length > 1 << 24 {
        return Err(refused(call.op(), format!("{length} positions are more than single precision counts")));
    }
    let lanes = common_lanes((lanes(&[dtype])).min(4), &[columns]);
    let source = source!("angles.cu")
        .with(ELEMENTWISE)
        .element("ELEMENT", dtype)
        .define("LANES", lanes)
        .define("TABLE", u8::from(frequencies.is_some()));
    let mut arguments: Vec<Arg> = frequencies.into_iter().map(Arg::Tensor).collect();
    arguments.extend([
        Arg::Tensor(cos),
        Arg::Tensor(sin),
        whole(call, length)?,
        Arg::I32(columns_of_kernel(call.op(), columns)?),
        whole(call, stride)?,
        Arg::Bytes(log2_period.to_ne_bytes().to_vec()),
        Arg::F32(factor as f32),
    ]);
    let threads = columns / lanes * length.div_ceil(ROWS);
    Ok(Plan::new().launch(source, "angles", grid(call, threads, 1)?, arguments))
}
