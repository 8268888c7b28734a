//! Contractions whose operands are narrow.

use tileops_ops::CheckedCall;

use super::contraction::{Contraction, lane, size};
use super::facts::extent;
use crate::distribution::Distribution;
use crate::host::View;
use crate::units::Reference;

pub(crate) const REFERENCES: &[Reference] = &[
    Reference::new("ScaledMatmulFp8FwdOp", |call, inputs| {
        let shape = (extent(call, "M")?, extent(call, "N")?, extent(call, "K")?);
        let k = shape.2;
        let (a, b) = (inputs.tensor(call, "a")?, inputs.tensor(call, "b")?);
        let (scale_a, scale_b) = (inputs.tensor(call, "scale_a")?, inputs.tensor(call, "scale_b")?);
        let bias = inputs.optional("bias");
        let left = move |row: usize, to: &mut [f64]| lane(a, row * k, 1, to);
        let right = move |_: usize, column: usize, to: &mut [f64]| lane(b, column * k, 1, to);
        let sizes = (size(a) * size(scale_a), size(b) * size(scale_b));
        let product = Contraction::new("d", shape, sizes, Box::new(left), Box::new(right));
        Ok(Box::new(product.finished(move |row, column, sum| {
            sum * one_or(scale_a, row) * one_or(scale_b, column) + bias.map_or(0.0, |bias| bias.get(column))
        })))
    })
    .drawing(scales),
    Reference::new("BlockScaledMatmulFp8FwdOp", |call, inputs| {
        let shape = (extent(call, "M")?, extent(call, "N")?, extent(call, "K")?);
        let (k, block) = (shape.2, extent(call, "block")?);
        let blocks = k.div_ceil(block);
        let (a, b) = (inputs.tensor(call, "a")?, inputs.tensor(call, "b")?);
        let (scale_a, scale_b) = (inputs.tensor(call, "scale_a")?, inputs.tensor(call, "scale_b")?);
        let left = move |row: usize, to: &mut [f64]| {
            lane(a, row * k, 1, to);
            to.iter_mut().enumerate().for_each(|(at, value)| *value *= scale_a.get(row * blocks + at / block));
        };
        let right = move |_: usize, column: usize, to: &mut [f64]| {
            lane(b, column * k, 1, to);
            let scale = |at| scale_b.get(column / block * blocks + at / block);
            to.iter_mut().enumerate().for_each(|(at, value)| *value *= scale(at));
        };
        let sizes = (size(a) * size(scale_a), size(b) * size(scale_b));
        Ok(Box::new(Contraction::new("d", shape, sizes, Box::new(left), Box::new(right))))
    })
    .drawing(scales),
    Reference::new("BatchedMatmulFp8FwdOp", |call, inputs| {
        let (g, m, n, k) = (extent(call, "G")?, extent(call, "M")?, extent(call, "N")?, extent(call, "K")?);
        let (a, b) = (inputs.tensor(call, "a")?, inputs.tensor(call, "b")?);
        let (scale_a, scale_b) = (inputs.tensor(call, "scale_a")?, inputs.tensor(call, "scale_b")?);
        let left = move |row: usize, to: &mut [f64]| lane(a, row * k, 1, to);
        let right = move |row: usize, column: usize, to: &mut [f64]| lane(b, (row / m * n + column) * k, 1, to);
        let sizes = (size(a) * size(scale_a), size(b) * size(scale_b));
        let product = Contraction::new("d", (g * m, n, k), sizes, Box::new(left), Box::new(right));
        let scaled = move |row: usize, _, sum| sum * one_or(scale_a, row / m) * one_or(scale_b, row / m);
        Ok(Box::new(product.finished(scaled)))
    })
    .drawing(scales),
    Reference::new("MatmulInt8FwdOp", |call, inputs| {
        let shape = (extent(call, "M")?, extent(call, "N")?, extent(call, "K")?);
        let k = shape.2;
        let (a, b) = (inputs.tensor(call, "a")?, inputs.tensor(call, "b")?);
        let left = move |row: usize, to: &mut [f64]| lane(a, row * k, 1, to);
        let right = move |_: usize, column: usize, to: &mut [f64]| lane(b, column * k, 1, to);
        // Sums of whole numbers are exact, whatever their order.
        let product = Contraction::new("d", (shape.0, shape.1, k), (0.0, 0.0), Box::new(left), Box::new(right));
        Ok(Box::new(match (inputs.optional("scale_a"), inputs.optional("scale_b")) {
            (Some(scale_a), Some(scale_b)) => {
                product.finished(move |row, column, sum| sum * scale_a.get(row) * scale_b.get(column))
            }
            _ => Contraction { whole: true, ..product },
        }))
    })
    .drawing(|call, name| match name {
        "a" | "b" => Some(Distribution::Integers { low: -128, high: 128 }),
        // As they are where a row's largest number is 127.
        _ => scales(call, name).map(|_| Distribution::Uniform { low: 0.001, high: 0.01 }),
    }),
    Reference::new("MatmulInt8WeightFwdOp", |call, inputs| {
        let shape = (extent(call, "M")?, extent(call, "N")?, extent(call, "K")?);
        let k = shape.2;
        let (x, weight, scale) =
            (inputs.tensor(call, "x")?, inputs.tensor(call, "weight")?, inputs.tensor(call, "scale")?);
        let bias = inputs.optional("bias");
        let left = move |row: usize, to: &mut [f64]| lane(x, row * k, 1, to);
        let right = move |_: usize, column: usize, to: &mut [f64]| lane(weight, column * k, 1, to);
        let sizes = (size(x), size(weight) * size(scale));
        let product = Contraction::new("y", shape, sizes, Box::new(left), Box::new(right));
        Ok(Box::new(
            product.finished(move |_, column, sum| sum * scale.get(column) + bias.map_or(0.0, |bias| bias.get(column))),
        ))
    })
    .drawing(|_, name| match name {
        "weight" => Some(Distribution::Integers { low: -128, high: 128 }),
        "scale" => Some(Distribution::Uniform { low: 0.001, high: 0.01 }),
        _ => None,
    }),
    Reference::new("MatmulInt4WeightFwdOp", |call, inputs| {
        let shape = (extent(call, "M")?, extent(call, "N")?, extent(call, "K")?);
        let (k, group) = (shape.2, extent(call, "group")?);
        let (x, packed) = (inputs.tensor(call, "x")?, inputs.tensor(call, "packed")?);
        let (scale, zero) = (inputs.tensor(call, "scale")?, inputs.tensor(call, "zero")?);
        let left = move |row: usize, to: &mut [f64]| lane(x, row * k, 1, to);
        let right = move |_: usize, column: usize, to: &mut [f64]| {
            for (at, value) in to.iter_mut().enumerate() {
                let of = column * (k / group) + at / group;
                *value = (f64::from(nibble(packed, column * k + at)) - zero.get(of)) * scale.get(of);
            }
        };
        // The numbers that are added up go to 15, zeros included.
        let sizes = (size(x), size(scale) * (8.0 + size(zero)));
        Ok(Box::new(Contraction::new("y", shape, sizes, Box::new(left), Box::new(right))))
    })
    .drawing(|_, name| match name {
        "packed" => Some(Distribution::Integers { low: 0, high: 256 }),
        "scale" => Some(Distribution::Uniform { low: 0.01, high: 0.1 }),
        "zero" => Some(Distribution::Integers { low: 6, high: 10 }),
        _ => None,
    }),
    Reference::new("MatmulMxfp4WeightFwdOp", |call, inputs| {
        let shape = (extent(call, "M")?, extent(call, "N")?, extent(call, "K")?);
        let k = shape.2;
        let (x, packed, scale) =
            (inputs.tensor(call, "x")?, inputs.tensor(call, "packed")?, inputs.tensor(call, "scale")?);
        let bias = inputs.optional("bias");
        let left = move |row: usize, to: &mut [f64]| lane(x, row * k, 1, to);
        let right = move |_: usize, column: usize, to: &mut [f64]| {
            for (at, value) in to.iter_mut().enumerate() {
                *value = fp4(nibble(packed, column * k + at)) * scale.get(column * (k / 32) + at / 32);
            }
        };
        let sizes = (size(x), 3.0 * size(scale));
        let product = Contraction::new("y", shape, sizes, Box::new(left), Box::new(right));
        Ok(Box::new(product.finished(move |_, column, sum| sum + bias.map_or(0.0, |bias| bias.get(column)))))
    })
    .drawing(|_, name| (name == "packed").then_some(Distribution::Integers { low: 0, high: 256 })),
];

/// Scales are positive.
fn scales(_: &CheckedCall, name: &str) -> Option<Distribution> {
    name.contains("scale").then_some(Distribution::Uniform { low: 0.5, high: 1.5 })
}

/// The number of that row or column, or the only one.
fn one_or(scale: View<'_>, at: usize) -> f64 {
    scale.get(if scale.len() == 1 { 0 } else { at })
}

/// Number `at` of those of four bits, two a byte, the even one in the low half.
fn nibble(packed: View<'_>, at: usize) -> u8 {
    (packed.bytes[at / 2] >> (at % 2 * 4)) & 15
}

/// A number of four bits: a sign, two bits of exponent with a bias of one, one of mantissa (OCP microscaling formats, E2M1).
fn fp4(code: u8) -> f64 {
    let magnitude = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0][usize::from(code & 7)];
    if code & 8 == 0 { magnitude } else { -magnitude }
}
