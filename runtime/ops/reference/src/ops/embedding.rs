//! Rows of tables.

use tileops_ops::CheckedCall;

use crate::host::View;
use crate::ops::elements::{Prepared, elements};
use crate::ops::facts::{extent, maybe};
use crate::units::{Inputs, Reference, Sink, Target};

pub(crate) const REFERENCES: &[Reference] = &[
    Reference::new("EmbeddingFwdOp", |call, inputs| {
        let (ids, table) = (inputs.tensor(call, "ids")?, inputs.tensor(call, "table")?);
        let (width, scale) = (extent(call, "H")?, maybe(call, "scale")?.unwrap_or(1.0));
        elements(vec![Target::output("y")], ids.len() * width, move |at, sink| {
            sink.put(0, at, table.get(row(ids, at / width) * width + at % width) * scale);
        })
    }),
    Reference::new("EmbeddingBagFwdOp", bag),
    Reference::new("BertEmbeddingFwdOp", |call, inputs| {
        let [ids, types, words] = ["ids", "types", "words"].map(|name| inputs.tensor(call, name));
        let (ids, types, words) = (ids?, types?, words?);
        let (positions, segments) = (inputs.tensor(call, "positions")?, inputs.tensor(call, "segments")?);
        let (width, length) = (extent(call, "H")?, extent(call, "S")?);
        elements(vec![Target::output("y").sums(3, 1.0)], ids.len() * width, move |at, sink| {
            let (token, column) = (at / width, at % width);
            let word = words.get(row(ids, token) * width + column);
            let segment = segments.get(row(types, token) * width + column);
            sink.put(0, at, word + positions.get(token % length * width + column) + segment);
        })
    }),
    Reference::new("IndexSelectFwdOp", |call, inputs| {
        let (x, index) = (inputs.tensor(call, "x")?, inputs.tensor(call, "index")?);
        let width = x.shape[1..].iter().map(|&extent| usize::try_from(extent).unwrap_or(0)).product::<usize>();
        let whole = x.dtype.category() == tileops_ops::Category::Int;
        elements(vec![Target::output("y")], index.len() * width, move |at, sink: &mut Sink| {
            let from = row(index, at / width) * width + at % width;
            if whole { sink.put_int(0, at, x.int(from)) } else { sink.put(0, at, x.get(from)) }
        })
    }),
];

/// The row that an index names. A call's values are within the table.
fn row(ids: View<'_>, at: usize) -> usize {
    usize::try_from(ids.int(at)).unwrap_or(0)
}

/// The sum, the mean or the maximum of the rows that a bag names.
fn bag<'a>(call: &CheckedCall, inputs: &Inputs<'a>) -> Prepared<'a> {
    let (ids, table) = (inputs.tensor(call, "ids")?, inputs.tensor(call, "table")?);
    let (width, k) = (extent(call, "H")?, extent(call, "K")?);
    let mode = call.str("mode")?.to_owned();
    let target = match &*mode {
        "max" => Target::output("y"),
        "sum" => Target::output("y").sums(k, 1.0),
        _ => Target::output("y").sums(k, 1.0 / k as f64),
    };
    elements(vec![target], ids.len() / k * width, move |at, sink| {
        let (bag, column) = (at / width, at % width);
        let values = (0..k).map(|of| table.get(row(ids, bag * k + of) * width + column));
        let value = match &*mode {
            // What is not a number stays where it is the first, and is passed over behind it: PyTorch compares.
            "max" => values.reduce(|most, value| if value > most { value } else { most }).unwrap_or(f64::NEG_INFINITY),
            "sum" => values.sum(),
            _ => values.sum::<f64>() / k as f64,
        };
        sink.put(0, at, value);
    })
}
