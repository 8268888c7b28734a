//! Ops whose elements do not depend on each other, and what their rooms share.

use tileops_ops::{CheckedCall, OpError};

use crate::host::View;
use crate::ops::each::Each;
use crate::units::{Inputs, Sink, Target, Units};

/// How many elements a unit has.
const BLOCK: usize = 4096;

/// A call, ready to be computed.
pub(crate) type Prepared<'a> = Result<Box<dyn Units + 'a>, OpError>;

/// `count` positions, of which `each` puts the elements.
pub(crate) fn elements<'a>(
    targets: Vec<Target>,
    count: usize,
    each: impl Fn(usize, &mut Sink) + Send + Sync + 'a,
) -> Prepared<'a> {
    let block = move |unit: usize, sink: &mut Sink| {
        (unit * BLOCK..((unit + 1) * BLOCK).min(count)).for_each(|at| each(at, sink));
    };
    Ok(Box::new(Each { targets, count: count.div_ceil(BLOCK), cost: BLOCK, compute: block }))
}

/// `count` rows of about `width` numbers, of which `each` puts the elements.
pub(crate) fn rows<'a>(
    targets: Vec<Target>,
    count: usize,
    width: usize,
    each: impl Fn(usize, &mut Sink) + Send + Sync + 'a,
) -> Prepared<'a> {
    Ok(Box::new(Each { targets, count, cost: width, compute: each }))
}

/// The target called `output`: in the storage of `input` where the call says `inplace`.
pub(crate) fn maybe_within(call: &CheckedCall, output: &'static str, input: &'static str) -> Result<Target, OpError> {
    Ok(if call.bool("inplace")? { Target::within(output, input) } else { Target::output(output) })
}

/// An operand, read at the positions of what it is broadcast to.
#[derive(Debug, Clone)]
pub(crate) struct Broadcast<'a> {
    /// The operand.
    pub view: View<'a>,
    /// Extents of the output, outermost first.
    extents: Vec<usize>,
    /// What a step along each of them is in the operand.
    strides: Vec<usize>,
}

impl<'a> Broadcast<'a> {
    /// `view` as it is read at the positions of a tensor with the extents `to`.
    pub(crate) fn new(view: View<'a>, to: &[i128]) -> Self {
        let extents: Vec<usize> = to.iter().map(|&extent| usize::try_from(extent).unwrap_or(0)).collect();
        let mut strides = vec![0; extents.len()];
        let behind = extents.len() - view.shape.len();
        let mut stride = 1;
        for axis in (0..view.shape.len()).rev() {
            if view.extent(axis) != 1 {
                strides[behind + axis] = stride;
            }
            stride *= view.extent(axis);
        }
        Broadcast { view, extents, strides }
    }

    /// The position in the operand of what is read for the output's element `at`.
    pub(crate) fn place(&self, at: usize) -> usize {
        let (mut rest, mut place) = (at, 0);
        for (&extent, &stride) in self.extents.iter().zip(&self.strides).rev() {
            place += rest % extent * stride;
            rest /= extent;
        }
        place
    }

    /// The number that is read for the output's element `at`.
    pub(crate) fn get(&self, at: usize) -> f64 {
        self.view.get(self.place(at))
    }

    /// The whole number that is read for the output's element `at`.
    pub(crate) fn int(&self, at: usize) -> i128 {
        self.view.int(self.place(at))
    }
}

/// The input called `name`, broadcast to the output called `output`.
pub(crate) fn operand<'a>(
    call: &CheckedCall,
    inputs: &Inputs<'a>,
    name: &str,
    output: &str,
) -> Result<Broadcast<'a>, OpError> {
    Ok(Broadcast::new(inputs.tensor(call, name)?, &call.tensor(output)?.shape))
}
