//! Contractions of groups of rows, each with a matrix of its own.

use tileops_ops::{CheckedCall, OpError};

use super::contraction::{Contraction, lane, size};
use super::facts::extent;
use crate::distribution::Distribution;
use crate::host::View;
use crate::units::{Inputs, Reference};

pub(crate) const REFERENCES: &[Reference] = &[
    Reference::new("GroupedMatmulFwdOp", |call, inputs| {
        let shape = (extent(call, "M")?, extent(call, "N")?, extent(call, "K")?);
        let (_, n, k) = shape;
        let (x, weight, offsets) = (inputs.tensor(call, "x")?, inputs.tensor(call, "weight")?, offsets(call, inputs)?);
        let left = move |row: usize, to: &mut [f64]| lane(x, row * k, 1, to);
        let right = move |row: usize, column: usize, to: &mut [f64]| {
            lane(weight, group_of(&offsets, row) * k * n + column, n, to);
        };
        Ok(Box::new(Contraction::new("y", shape, (size(x), size(weight)), Box::new(left), Box::new(right))))
    }),
    Reference::new("GroupedMatmulWgradOp", |call, inputs| {
        let (groups, n, k) = (extent(call, "G")?, extent(call, "N")?, extent(call, "K")?);
        let (x, dy, offsets) = (inputs.tensor(call, "x")?, inputs.tensor(call, "dy")?, offsets(call, inputs)?);
        // The depth is that of the longest group: zeros behind a shorter one.
        let depth = offsets.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap_or(0);
        let starts = offsets.clone();
        let column_of =
            |view: View<'_>, offsets: &[usize], group: usize, column: usize, width: usize, to: &mut [f64]| {
                let rows = offsets[group + 1] - offsets[group];
                lane(view, offsets[group] * width + column, width, &mut to[..rows]);
                to[rows..].fill(0.0);
            };
        let left = move |row: usize, to: &mut [f64]| column_of(x, &starts, row / k, row % k, k, to);
        let right = move |row: usize, column: usize, to: &mut [f64]| column_of(dy, &offsets, row / k, column, n, to);
        let shape = (groups * k, n, depth);
        Ok(Box::new(Contraction::new("dweight", shape, (size(x), size(dy)), Box::new(left), Box::new(right))))
    }),
    Reference::new("GroupedMatmulFp8FwdOp", |call, inputs| {
        let shape = (extent(call, "M")?, extent(call, "N")?, extent(call, "K")?);
        let (_, n, k) = shape;
        let (x, weight, offsets) = (inputs.tensor(call, "x")?, inputs.tensor(call, "weight")?, offsets(call, inputs)?);
        let (x_scale, w_scale) = (inputs.tensor(call, "x_scale")?, inputs.tensor(call, "weight_scale")?);
        let starts = offsets.clone();
        let left = move |row: usize, to: &mut [f64]| lane(x, row * k, 1, to);
        let right = move |row: usize, column: usize, to: &mut [f64]| {
            lane(weight, (group_of(&offsets, row) * n + column) * k, 1, to);
        };
        let sizes = (size(x) * size(x_scale), size(weight) * size(w_scale));
        let product = Contraction::new("y", shape, sizes, Box::new(left), Box::new(right));
        Ok(Box::new(product.finished(move |row, column, sum| {
            sum * x_scale.get(row) * w_scale.get(group_of(&starts, row) * n + column)
        })))
    })
    .drawing(|_, name| name.contains("scale").then_some(Distribution::Uniform { low: 0.5, high: 1.5 })),
    Reference::new("LayoutGroupedMatmulFwdOp", |call, inputs| {
        let (n, k) = (extent(call, "F")?, extent(call, "W")?);
        let (x, weight) = (inputs.tensor(call, "x")?, inputs.tensor(call, "weight")?);
        let rows = usize::try_from(call.tensor("y")?.numel().get()?).unwrap_or(0) / n.max(1);
        let experts = experts(call, inputs.tensor(call, "metadata")?, rows)?;
        let left = move |row: usize, to: &mut [f64]| lane(x, row * k, 1, to);
        // A row that is nobody's has zeros.
        let right = move |row: usize, column: usize, to: &mut [f64]| match experts[row] {
            Some(expert) => lane(weight, (expert * n + column) * k, 1, to),
            None => to.fill(0.0),
        };
        let sizes = (size(x), size(weight));
        Ok(Box::new(Contraction::new("y", (rows, n, k), sizes, Box::new(left), Box::new(right))))
    }),
];

fn offsets(call: &CheckedCall, inputs: &Inputs<'_>) -> Result<Vec<usize>, OpError> {
    let view = inputs.tensor(call, "offsets")?;
    Ok((0..view.len()).map(|at| usize::try_from(view.int(at)).unwrap_or(0)).collect())
}

/// The group of a row: the last one that begins at or before it.
fn group_of(offsets: &[usize], row: usize) -> usize {
    offsets.partition_point(|&start| start <= row).saturating_sub(1)
}

/// Each row's expert, as a layout's metadata says.
fn experts(call: &CheckedCall, metadata: View<'_>, rows: usize) -> Result<Vec<Option<usize>>, OpError> {
    let layout = call.variant("layout")?;
    let field = |name| -> Result<usize, OpError> {
        let value = layout.int(name).ok().and_then(|value| usize::try_from(value).ok());
        value.ok_or_else(|| OpError::Implementation {
            op: call.op(),
            message: format!("the layout has no size `{name}`"),
        })
    };
    if layout.is("metadata_kind", "per_row") {
        return Ok((0..rows).map(|row| usize::try_from(metadata.int(row)).ok()).collect());
    }
    let number = |expert: usize| usize::try_from(metadata.int(expert)).unwrap_or(0);
    let mut experts = vec![None; rows];
    let mut start = 0;
    for expert in 0..metadata.len() {
        let (from, to) = if layout.kind() == "masked" {
            (expert * field("max_m")?, expert * field("max_m")? + number(expert))
        } else {
            (start, number(expert))
        };
        experts.iter_mut().take(to).skip(from).for_each(|row| *row = Some(expert));
        start = if layout.kind() == "masked" { 0 } else { number(expert).next_multiple_of(field("alignment")?.max(1)) };
    }
    Ok(experts)
}
