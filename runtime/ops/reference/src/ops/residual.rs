//! Residual streams.

use tileops_ops::CheckedCall;

use crate::ops::elements::{Prepared, elements};
use crate::ops::facts::extent;
use crate::ops::unary::sigmoid;
use crate::units::{Inputs, Reference, Target};

pub(crate) const REFERENCES: &[Reference] =
    &[Reference::new("HyperConnectionReadFwdOp", read), Reference::new("HyperConnectionWriteFwdOp", write)];

/// What a layer sees: the streams, weighed by sigmoids of a token's first coefficients.
fn read<'a>(call: &CheckedCall, inputs: &Inputs<'a>) -> Prepared<'a> {
    let (coefficients, streams) = (inputs.tensor(call, "coefficients")?, inputs.tensor(call, "streams")?);
    let (n, width, q) = (extent(call, "n")?, extent(call, "H")?, extent(call, "Q")?);
    let targets = vec![Target::output("x").sums(n, 0.5)];
    elements(targets, streams.len() / n, move |at, sink| {
        let (token, column) = (at / width, at % width);
        let weighed = |stream: usize| {
            sigmoid(coefficients.get(token * q + stream)) * streams.get((token * n + stream) * width + column)
        };
        sink.put(0, at, (0..n).map(weighed).sum());
    })
}

/// The layer's output joins the mixed streams: behind the `n` coefficients for reading are `n` for writing, and then the
/// matrix that mixes, whose row is the stream that comes of it.
fn write<'a>(call: &CheckedCall, inputs: &Inputs<'a>) -> Prepared<'a> {
    let [coefficients, streams, y] = ["coefficients", "streams", "y"].map(|name| inputs.tensor(call, name));
    let (coefficients, streams, y) = (coefficients?, streams?, y?);
    let (n, width, q) = (extent(call, "n")?, extent(call, "H")?, extent(call, "Q")?);
    let targets = vec![Target::input("streams").sums(n + 1, 1.0)];
    elements(targets, streams.len(), move |at, sink| {
        let (token, stream, column) = (at / (n * width), at / width % n, at % width);
        let of = |coefficient: usize| coefficients.get(token * q + coefficient);
        let mixed = (0..n).map(|from| of(2 * n + stream * n + from) * streams.get((token * n + from) * width + column));
        sink.put(0, at, mixed.sum::<f64>() + of(n + stream) * y.get(token * width + column));
    })
}
