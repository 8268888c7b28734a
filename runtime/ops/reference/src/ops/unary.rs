//! One tensor in, one of the same shape out.

use tileops_ops::{CheckedCall, OpError};

use crate::host::View;
use crate::units::{Inputs, Reference, Sink, Target, Units};

pub(crate) const REFERENCES: &[Reference] = &[
    Reference::new("ExpFwdOp", |call, inputs| map(call, inputs, f64::exp)),
    Reference::new("ReluFwdOp", |call, inputs| {
        Ok(match call.bool("inplace")? {
            true => Box::new(Map { target: Target::within("y", "x"), ..Map::new(call, inputs, relu)? }),
            false => Box::new(Map::new(call, inputs, relu)?),
        })
    }),
];

fn relu(x: f64) -> f64 {
    x.max(0.0)
}

/// How many elements a unit has.
const BLOCK: usize = 4096;

/// A function of each element.
struct Map<'a, F> {
    x: View<'a>,
    target: Target,
    function: F,
}

impl<'a, F: Fn(f64) -> f64 + Send + Sync> Map<'a, F> {
    fn new(call: &CheckedCall, inputs: &Inputs<'a>, function: F) -> Result<Self, OpError> {
        Ok(Map { x: inputs.tensor(call, "x")?, target: Target::output("y"), function })
    }
}

fn map<'a>(
    call: &CheckedCall,
    inputs: &Inputs<'a>,
    function: impl Fn(f64) -> f64 + Send + Sync + 'a,
) -> Result<Box<dyn Units + 'a>, OpError> {
    Ok(Box::new(Map::new(call, inputs, function)?))
}

impl<F: Fn(f64) -> f64 + Send + Sync> Units for Map<'_, F> {
    fn targets(&self) -> Vec<Target> {
        vec![self.target]
    }

    fn count(&self) -> usize {
        self.x.len().div_ceil(BLOCK)
    }

    fn cost(&self) -> usize {
        BLOCK
    }

    fn compute(&self, unit: usize, sink: &mut Sink) {
        for at in unit * BLOCK..((unit + 1) * BLOCK).min(self.x.len()) {
            sink.put(0, at, (self.function)(self.x.get(at)));
        }
    }
}
