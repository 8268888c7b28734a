//! Rows whose elements are computed one by one, with what belongs to the row.

use tileops_device::Grid;
use tileops_ops::{CheckedCall, DType, OpError};

use crate::ops::refused;
use crate::ops::rows::{blocks, columns_of_kernel, lanes, size, vectors_of_row};
use crate::plan::{Arg, Plan};
use crate::source::{NARROW, ROW};

/// A map of `map.cu`: what it reads besides `x`.
#[derive(Debug, Clone)]
pub(crate) struct Map {
    pub(crate) name: &'static str,
    pub(crate) x: &'static str,
    pub(crate) y: &'static str,
    pub(crate) of_row: Arg,
    pub(crate) other: Option<(&'static str, DType)>,
    pub(crate) target: Arg,
    pub(crate) zero_of_row: Arg,
    pub(crate) integers: (i64, i64),
}

impl Map {
    pub(crate) fn new(name: &'static str, x: &'static str, y: &'static str) -> Self {
        let (of_row, target, zero_of_row) = (Arg::Null, Arg::Null, Arg::Null);
        Map { name, x, y, of_row, other: None, target, zero_of_row, integers: (0, 0) }
    }

    /// Over rows of `columns` elements of `y`.
    pub(crate) fn plan(self, call: &CheckedCall, columns: i64) -> Result<Plan, OpError> {
        let elements = size(call.op(), call.tensor(self.y)?.numel().get()?)?;
        if elements == 0 {
            return Ok(Plan::new());
        }
        let rows = elements / columns;
        let (x, y) = (call.dtype(self.x)?, call.dtype(self.y)?);
        let lanes = lanes(x).min(lanes(y));
        let aligned = columns % lanes == 0;
        let needed = vectors_of_row(columns, lanes);
        let (group, in_block, vectors, chunks) = if needed <= 32 {
            let group = needed.unsigned_abs().next_power_of_two() as i64;
            (group, 256 / group, 1, 1)
        } else {
            // As few idle threads as there can be, two vectors each where there are so many.
            let group = ((needed + 31) / 32 * 32).min(256);
            let vectors = if needed > 256 { 2 } else { 1 };
            (group, 1, vectors, (needed + group * vectors - 1) / (group * vectors))
        };
        let source = source!("map.cu")
            .with(ROW)
            .with(NARROW)
            .element("ELEMENT", x)
            .element("RESULT", y)
            .element("OTHER", self.other.map_or(DType::Float32, |(_, dtype)| dtype))
            .define("MAP", self.name)
            .define("WIDTH", lanes)
            .define("VECTORS", vectors)
            .define("GROUP", group)
            .define("ROWS", in_block)
            .define("CLUSTER", 1)
            .define("CHUNKS", chunks)
            .define("ALIGNED", i32::from(aligned));
        let integer = |value: i64| {
            let why = || format!("{value} does not fit the kernel's integers");
            i32::try_from(value).map(Arg::I32).map_err(|_| refused(call.op(), why()))
        };
        let arguments = vec![
            Arg::Tensor(self.x),
            Arg::Tensor(self.y),
            self.of_row,
            self.other.map_or(Arg::Null, |(name, _)| Arg::Tensor(name)),
            self.target,
            self.zero_of_row,
            Arg::I32(columns_of_kernel(call.op(), columns)?),
            Arg::I64(rows),
            integer(self.integers.0)?,
            integer(self.integers.1)?,
        ];
        let count = blocks(call.op(), (rows + in_block - 1) / in_block * chunks)?;
        Ok(Plan::new().launch(source, "map_rows", Grid::row(count, (group * in_block) as u32), arguments))
    }
}
