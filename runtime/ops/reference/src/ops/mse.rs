//! The mean of squared differences.

use crate::ops::elements::rows;
use crate::units::{Reference, Target};

pub(crate) const REFERENCES: &[Reference] = &[Reference::new("MseLossFwdOp", |call, inputs| {
    let (input, target) = (inputs.tensor(call, "input")?, inputs.tensor(call, "target")?);
    let count = input.len();
    // Squares of differences do not cancel: errors grow as those of one addition after another.
    rows(vec![Target::output("loss").sums(count, 0.0)], 1, count, move |_, sink| {
        let squares = (0..count).map(|at| (input.get(at) - target.get(at)).powi(2));
        sink.put(0, 0, squares.sum::<f64>() / count as f64);
    })
})];
