//! Units that a closure computes, and where the elements of a line are.

use crate::host::View;
use crate::units::{Sink, Target, Units};

/// Units that a closure computes.
pub(crate) struct Each<F> {
    pub(crate) targets: Vec<Target>,
    pub(crate) count: usize,
    /// About how many numbers one reads.
    pub(crate) cost: usize,
    pub(crate) compute: F,
}

impl<F: Fn(usize, &mut Sink) + Send + Sync> Units for Each<F> {
    fn targets(&self) -> Vec<Target> {
        self.targets.clone()
    }

    fn count(&self) -> usize {
        self.count
    }

    fn cost(&self) -> usize {
        self.cost
    }

    fn compute(&self, unit: usize, sink: &mut Sink) {
        (self.compute)(unit, sink);
    }
}

/// The elements of a shape.
pub(crate) fn volume(shape: &[i128]) -> usize {
    usize::try_from(shape.iter().product::<i128>()).unwrap_or(0)
}

/// An axis, between what is outside of it and what is inside: lines of `length` elements, `inner` apart.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Lines {
    pub(crate) outer: usize,
    pub(crate) length: usize,
    pub(crate) inner: usize,
}

impl Lines {
    /// Along the axis `dim` of `shape`, counted from the end where it is negative. A scalar has one axis of one element.
    pub(crate) fn along(shape: &[i128], dim: i128) -> Self {
        if shape.is_empty() {
            return Lines { outer: 1, length: 1, inner: 1 };
        }
        let axis = usize::try_from(if dim < 0 { dim + shape.len() as i128 } else { dim }).unwrap_or(0);
        Lines { outer: volume(&shape[..axis]), length: volume(&shape[axis..=axis]), inner: volume(&shape[axis + 1..]) }
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.outer * self.inner
    }

    /// Where element `at` of line number `line` is.
    pub(crate) fn at(&self, line: usize, at: usize) -> usize {
        (line / self.inner * self.length + at) * self.inner + line % self.inner
    }

    /// The elements of a line.
    pub(crate) fn of(&self, view: &View<'_>, line: usize) -> Vec<f64> {
        (0..self.length).map(|at| view.get(self.at(line, at))).collect()
    }
}
