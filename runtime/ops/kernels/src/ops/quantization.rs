//! To and from narrow dtypes.

use tileops_device::Grid;
use tileops_ops::{CheckedCall, DType, OpError};

use crate::gpu::Gpu;
use crate::ops::Planner;
use crate::ops::map::Map;
use crate::ops::rows::{Rows, blocks, columns_of_kernel, dividing_lanes, lanes, size};
use crate::plan::{Arg, Plan};
use crate::source::{NARROW, ROW, Source};

pub(crate) const PLANNERS: &[(&str, Planner)] = &[
    ("RowQuantizeFwdOp", |call, gpu| {
        let columns = extent(call, "x", -1)?;
        quantize_rows(call, gpu, columns, Scale::Quotient, Codes::of(call.dtype("q")?))
    }),
    ("TokenGroupQuantizeFwdOp", |call, gpu| {
        let scale = if call.bool("power_of_two")? { Scale::PowerAbove } else { Scale::Quotient };
        quantize_rows(call, gpu, integer(call, "group")?, scale, Codes::of(call.dtype("q")?))
    }),
    ("MxQuantizeFwdOp", |call, gpu| {
        let codes = if call.str("format")? == "fp4" { Codes::Fp4 } else { Codes::E4M3 };
        quantize_rows(call, gpu, 32, Scale::Mx, codes)
    }),
    ("BlockQuantizeFwdOp", quantize_blocks),
    ("TensorQuantizeFwdOp", |call, _| {
        Map { of_row: Arg::Tensor("scale"), ..Map::new("Quantize", "x", "q") }.plan(call, extent(call, "x", -1)?)
    }),
    ("BlockDequantizeFwdOp", |call, _| {
        let block = call.shape("block")?;
        let integers = (call_size(call, block[0])?, call_size(call, block[1])?);
        Map { of_row: Arg::Tensor("scale"), integers, ..Map::new("DequantizeBlock", "q", "y") }
            .plan(call, extent(call, "q", -1)?)
    }),
    ("RowDequantizeFwdOp", |call, _| {
        let (of_row, other) = (Arg::Tensor("scale"), Some(("column_scale", DType::Float32)));
        Map { of_row, other, ..Map::new("DequantizeRow", "q", "y") }.plan(call, extent(call, "q", -1)?)
    }),
    ("Int4DequantizeFwdOp", |call, _| {
        let other = Some(("scale", call.dtype("scale")?));
        let integers = (integer(call, "group")?, 0);
        Map { other, target: Arg::Tensor("zero"), integers, ..Map::new("DequantizeInt4", "packed", "y") }
            .plan(call, extent(call, "y", -1)?)
    }),
    ("FakeQuantizeFwdOp", |call, _| {
        let integers = (integer(call, "quant_min")?, integer(call, "quant_max")?);
        let (of_row, zero_of_row) = (Arg::Tensor("scale"), Arg::Tensor("zero_point"));
        let columns = call_size(call, call.shape("x")?.iter().skip(1).product())?;
        Map { of_row, zero_of_row, integers, ..Map::new("FakeQuantize", "x", "y") }.plan(call, columns)
    }),
];

fn call_size(call: &CheckedCall, value: i128) -> Result<i64, OpError> {
    size(call.op(), value)
}

/// An integer parameter or a dimension. It may be below zero.
fn integer(call: &CheckedCall, name: &str) -> Result<i64, OpError> {
    size(call.op(), call.int(name)?.get()?)
}

/// An extent of a tensor, counted from the end where it is negative.
fn extent(call: &CheckedCall, name: &str, axis: isize) -> Result<i64, OpError> {
    let shape = &call.tensor(name)?.shape;
    let axis = if axis < 0 { shape.len().checked_add_signed(axis) } else { usize::try_from(axis).ok() };
    call_size(call, axis.and_then(|axis| shape.get(axis)).copied().unwrap_or(1))
}

/// How a scale follows from the greatest magnitude, as `quantize.cu` numbers it.
#[derive(Debug, Clone, Copy)]
enum Scale {
    Quotient = 0,
    PowerAbove = 1,
    Mx = 2,
}

/// What is stored for an element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Codes {
    E4M3,
    E5M2,
    Int8,
    Fp4,
}

impl Codes {
    fn of(dtype: DType) -> Self {
        match dtype {
            DType::Int8 => Codes::Int8,
            DType::Float8E5M2 => Codes::E5M2,
            _ => Codes::E4M3,
        }
    }

    fn define(self, source: Source) -> Source {
        // The greatest magnitude, and its exponent.
        let (dtype, range, exponent) = match self {
            Codes::E4M3 => (DType::Float8E4M3Fn, "448.f", 8),
            Codes::E5M2 => (DType::Float8E5M2, "57344.f", 15),
            Codes::Int8 => (DType::Int8, "127.f", 6),
            Codes::Fp4 => (DType::UInt8, "6.f", 2),
        };
        source
            .element("RESULT", dtype)
            .define("RANGE", range)
            .define("EXPONENT", exponent)
            .define("PACKED", i32::from(self == Codes::Fp4))
    }
}

/// Rows of `columns` elements of `x`, each with a scale of its own.
fn quantize_rows(call: &CheckedCall, gpu: &Gpu, columns: i64, scale: Scale, codes: Codes) -> Result<Plan, OpError> {
    let elements = call_size(call, call.tensor("x")?.numel().get()?)?;
    if elements == 0 {
        return Ok(Plan::new());
    }
    let rows = elements / columns;
    let dtype = call.dtype("x")?;
    let source = codes
        .define(source!("quantize.cu").with(ROW).with(NARROW))
        .element("ELEMENT", dtype)
        .define("SCALE", scale as i32)
        .define("BLOCK", 0);
    let (source, grid) = match Rows::new(rows, columns, lanes(dtype), 8, gpu) {
        Some(shape) => (shape.define(source).define("LONG", 0), shape.grid(call.op())?),
        None => {
            let source = source
                .define("WIDTH", lanes(dtype))
                .define("VECTORS", 8)
                .define("GROUP", 512)
                .define("ROWS", 1)
                .define("CLUSTER", 1)
                .define("ALIGNED", i32::from(columns % lanes(dtype) == 0))
                .define("MIN_BLOCKS", 1)
                .define("LONG", 1);
            (source, Grid::row(blocks(call.op(), rows)?, 512))
        }
    };
    let arguments = vec![
        Arg::Tensor("x"),
        Arg::Tensor("q"),
        Arg::Tensor("scale"),
        Arg::I32(columns_of_kernel(call.op(), columns)?),
        Arg::I64(rows),
    ];
    Ok(Plan::new().launch(source, "quantize_rows", grid, arguments))
}

fn quantize_blocks(call: &CheckedCall, _: &Gpu) -> Result<Plan, OpError> {
    let (rows, columns) = (extent(call, "x", 0)?, extent(call, "x", 1)?);
    let block = call.shape("block")?;
    if rows == 0 || columns == 0 {
        return Ok(Plan::new());
    }
    // A block beyond the tensor's own extents is the whole of it.
    let (height, width) = (call_size(call, block[0])?.min(rows), call_size(call, block[1])?.min(columns));
    let dtype = call.dtype("x")?;
    let lanes = dividing_lanes(columns, dividing_lanes(width, lanes(dtype)));
    let threads = if height * width / lanes <= 2048 { 512 } else { 1024 };
    let source = Codes::E4M3
        .define(source!("quantize.cu").with(ROW).with(NARROW))
        .element("ELEMENT", dtype)
        .define("WIDTH", lanes)
        .define("VECTORS", 4)
        .define("GROUP", threads)
        .define("SCALE", Scale::Quotient as i32)
        .define("HEIGHT", columns_of_kernel(call.op(), height)?)
        .define("ACROSS", columns_of_kernel(call.op(), width / lanes)?)
        .define("BLOCK", 1);
    let count = ((rows + height - 1) / height) * ((columns + width - 1) / width);
    let arguments = vec![Arg::Tensor("x"), Arg::Tensor("q"), Arg::Tensor("scale"), Arg::I64(rows), Arg::I64(columns)];
    Ok(Plan::new().launch(source, "quantize_blocks", Grid::row(blocks(call.op(), count)?, threads as u32), arguments))
}
