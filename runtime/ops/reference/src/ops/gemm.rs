//! Dense contractions.

use tileops_ops::{CheckedCall, OpError};

use super::contraction::{Contraction, dot, lane, size};
use super::facts::extent;
use crate::host::View;
use crate::ops::unary::{gelu, gelu_tanh, nan_or, silu};
use crate::units::{Inputs, Reference, Sink, Target, Units};

pub(crate) const REFERENCES: &[Reference] = &[
    Reference::new("MatmulFwdOp", |call, inputs| {
        let shape = (extent(call, "M")?, extent(call, "N")?, extent(call, "K")?);
        let (m, n, k) = shape;
        let (a, b) = (inputs.tensor(call, "a")?, inputs.tensor(call, "b")?);
        let (trans_a, trans_b) = (call.bool("trans_a")?, call.bool("trans_b")?);
        let left = move |row: usize, to: &mut [f64]| match trans_a {
            false => lane(a, row * k, 1, to),
            true => lane(a, row, m, to),
        };
        let right = move |_: usize, column: usize, to: &mut [f64]| match trans_b {
            false => lane(b, column, n, to),
            true => lane(b, column * k, 1, to),
        };
        Ok(Box::new(Contraction::new("d", shape, (size(a), size(b)), Box::new(left), Box::new(right))))
    }),
    Reference::new("LinearFwdOp", |call, inputs| {
        let (n, k) = (extent(call, "N")?, extent(call, "K")?);
        let (x, weight, bias) = (inputs.tensor(call, "x")?, inputs.tensor(call, "weight")?, inputs.optional("bias"));
        let shape = (call.tensor("y")?.numel().get()? as usize / n.max(1), n, k);
        let left = move |row: usize, to: &mut [f64]| lane(x, row * k, 1, to);
        let right = move |_: usize, column: usize, to: &mut [f64]| lane(weight, column * k, 1, to);
        let product = Contraction::new("y", shape, (size(x), size(weight)), Box::new(left), Box::new(right));
        Ok(Box::new(product.finished(move |_, column, sum| sum + bias.map_or(0.0, |bias| bias.get(column)))))
    }),
    Reference::new("BatchedMatmulFwdOp", |call, inputs| {
        let (g, m, n, k) = (extent(call, "G")?, extent(call, "M")?, extent(call, "N")?, extent(call, "K")?);
        let (a, b) = (inputs.tensor(call, "a")?, inputs.tensor(call, "b")?);
        let left = move |row: usize, to: &mut [f64]| lane(a, row * k, 1, to);
        let right = move |row: usize, column: usize, to: &mut [f64]| lane(b, row / m * k * n + column, n, to);
        Ok(Box::new(Contraction::new("d", (g * m, n, k), (size(a), size(b)), Box::new(left), Box::new(right))))
    }),
    Reference::new("AddmmFwdOp", |call, inputs| {
        let shape = (extent(call, "M")?, extent(call, "N")?, extent(call, "K")?);
        let (_, n, k) = shape;
        let (a, b, c) = (inputs.tensor(call, "a")?, inputs.tensor(call, "b")?, inputs.tensor(call, "c")?);
        let (alpha, beta) = (call.float("alpha")?, call.float("beta")?);
        let left = move |row: usize, to: &mut [f64]| lane(a, row * k, 1, to);
        let right = move |_: usize, column: usize, to: &mut [f64]| lane(b, column, n, to);
        let product = Contraction::new("d", shape, (alpha.abs() * size(a), size(b)), Box::new(left), Box::new(right));
        Ok(Box::new(product.finished(move |row, column, sum| {
            let at = if c.len() == n { column } else { row * n + column };
            // Without a factor c is left out, and so are its infinities and what is not a number.
            alpha * sum + if beta == 0.0 { 0.0 } else { beta * c.get(at) }
        })))
    }),
    Reference::new("GateUpMatmulFwdOp", |call, inputs| Ok(Box::new(GateUp::new(call, inputs)?))),
];

/// A function of one number.
pub(crate) type Function = fn(f64) -> f64;

/// The activation of that name.
pub(crate) fn activation(name: &str) -> Function {
    match name {
        "relu" => |x| nan_or(x, x.max(0.0)),
        "gelu" => gelu,
        "gelu_tanh" => gelu_tanh,
        _ => silu,
    }
}

/// `activation(x gate^T) * (x up^T)`.
struct GateUp<'a> {
    x: View<'a>,
    gate: View<'a>,
    up: View<'a>,
    function: Function,
    columns: usize,
    depth: usize,
    target: Target,
}

/// How many elements of a row a unit has.
const BLOCK: usize = 64;

impl<'a> GateUp<'a> {
    fn new(call: &CheckedCall, inputs: &Inputs<'a>) -> Result<Self, OpError> {
        let (columns, depth) = (extent(call, "F")?, extent(call, "K")?);
        let (x, gate, up) = (inputs.tensor(call, "x")?, inputs.tensor(call, "gate")?, inputs.tensor(call, "up")?);
        // An error of one half is multiplied by the other one.
        let one = size(x) * size(gate).max(size(up));
        let target = Target::output("y").sums(depth, one * (1.0 + one * (depth as f64).sqrt()));
        Ok(GateUp { x, gate, up, function: activation(call.str("activation")?), columns, depth, target })
    }
}

impl Units for GateUp<'_> {
    fn targets(&self) -> Vec<Target> {
        vec![self.target]
    }

    fn count(&self) -> usize {
        self.x.extent(0) * self.columns.div_ceil(BLOCK)
    }

    fn cost(&self) -> usize {
        2 * (self.depth + 1) * BLOCK.min(self.columns)
    }

    fn compute(&self, unit: usize, sink: &mut Sink) {
        let blocks = self.columns.div_ceil(BLOCK);
        let (row, start) = (unit / blocks, unit % blocks * BLOCK);
        let (mut x, mut weights) = (vec![0.0; self.depth], vec![0.0; self.depth]);
        lane(self.x, row * self.depth, 1, &mut x);
        for column in start..(start + BLOCK).min(self.columns) {
            let mut half = |view| {
                lane(view, column * self.depth, 1, &mut weights);
                dot(&x, &weights)
            };
            let (gate, up) = (half(self.gate), half(self.up));
            sink.put(0, row * self.columns + column, (self.function)(gate) * up);
        }
    }
}
