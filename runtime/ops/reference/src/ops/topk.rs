//! The k greatest of each row, or the least.

use std::cmp::Ordering;

use crate::ops::each::Each;
use crate::ops::facts::extent;
use crate::units::{Reference, Sink, Target};

pub(crate) const REFERENCES: &[Reference] = &[Reference::new("TopKFwdOp", |call, inputs| {
    let x = inputs.tensor(call, "x")?;
    let (columns, k, largest) = (extent(call, "V")?, extent(call, "k")?, call.bool("largest")?);
    let compute = move |row: usize, sink: &mut Sink| {
        let line = x.row(row * columns, columns);
        let mut places: Vec<usize> = (0..columns).collect();
        // Of equal ones the first: the sort is stable.
        places.sort_by(|&a, &b| {
            let order = ascending(line[a], line[b]);
            if largest { order.reverse() } else { order }
        });
        for (at, &place) in places[..k].iter().enumerate() {
            sink.put(0, row * k + at, line[place]);
            sink.put_int(1, row * k + at, place as i128);
        }
    };
    let targets = vec![Target::output("values"), Target::output("indices")];
    Ok(Box::new(Each { targets, count: x.len() / columns.max(1), cost: columns * 16, compute }))
})];

/// The order of numbers. What is not a number is above all.
fn ascending(a: f64, b: f64) -> Ordering {
    a.partial_cmp(&b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
}
