//! Contractions: each element of the result is a sum of products along the depth.

use crate::host::View;
use crate::units::{Sink, Target, Units};

/// How many elements of a row a unit has.
const BLOCK: usize = 64;
/// Of how many elements the typical size is taken.
const SAMPLE: usize = 4096;

/// Fills the numbers along the depth that belong to a row of the result.
pub(crate) type Left<'a> = Box<dyn Fn(usize, &mut [f64]) + Send + Sync + 'a>;
/// Fills those that belong to an element of the result, by its row and its column.
pub(crate) type Right<'a> = Box<dyn Fn(usize, usize, &mut [f64]) + Send + Sync + 'a>;
/// What becomes of a sum, by its row and its column.
pub(crate) type Finish<'a> = Box<dyn Fn(usize, usize, f64) -> f64 + Send + Sync + 'a>;

/// `result[row, column] = finish(sum over the depth of left(row) * right(row, column))`.
pub(crate) struct Contraction<'a> {
    pub(crate) target: Target,
    pub(crate) rows: usize,
    pub(crate) columns: usize,
    pub(crate) depth: usize,
    pub(crate) left: Left<'a>,
    pub(crate) right: Right<'a>,
    pub(crate) finish: Finish<'a>,
    /// Whether the results are whole numbers.
    pub(crate) whole: bool,
}

impl<'a> Contraction<'a> {
    /// Plain products of operands of typical sizes `sizes`, stored in the output `name`.
    pub(crate) fn new(
        name: &'static str,
        (rows, columns, depth): (usize, usize, usize),
        sizes: (f64, f64),
        left: Left<'a>,
        right: Right<'a>,
    ) -> Self {
        let target = Target::output(name).sums(depth, sizes.0 * sizes.1);
        Contraction { target, rows, columns, depth, left, right, finish: Box::new(|_, _, sum| sum), whole: false }
    }

    /// With something done to each sum.
    pub(crate) fn finished(self, finish: impl Fn(usize, usize, f64) -> f64 + Send + Sync + 'a) -> Self {
        Contraction { finish: Box::new(finish), ..self }
    }
}

impl Units for Contraction<'_> {
    fn targets(&self) -> Vec<Target> {
        vec![self.target]
    }

    fn count(&self) -> usize {
        self.rows * self.columns.div_ceil(BLOCK)
    }

    fn cost(&self) -> usize {
        // Both operands are read; the row's only once.
        (self.depth + 1) * BLOCK.min(self.columns)
    }

    fn compute(&self, unit: usize, sink: &mut Sink) {
        let blocks = self.columns.div_ceil(BLOCK);
        let (row, start) = (unit / blocks, unit % blocks * BLOCK);
        let (mut left, mut right) = (vec![0.0; self.depth], vec![0.0; self.depth]);
        (self.left)(row, &mut left);
        for column in start..(start + BLOCK).min(self.columns) {
            (self.right)(row, column, &mut right);
            let value = (self.finish)(row, column, dot(&left, &right));
            let at = row * self.columns + column;
            if self.whole { sink.put_int(0, at, value as i128) } else { sink.put(0, at, value) }
        }
    }
}

/// The sum of the products.
pub(crate) fn dot(left: &[f64], right: &[f64]) -> f64 {
    left.iter().zip(right).map(|(a, b)| a * b).sum()
}

/// Reads `step` elements apart, from `start` on.
pub(crate) fn lane(view: View<'_>, start: usize, step: usize, to: &mut [f64]) {
    if step == 1 {
        view.read(start, to);
    } else {
        to.iter_mut().enumerate().for_each(|(at, value)| *value = view.get(start + at * step));
    }
}

/// The typical size of the elements: the root of the mean of their squares, over a sample.
pub(crate) fn size(view: View<'_>) -> f64 {
    let len = view.len();
    let step = (len / SAMPLE).max(1);
    let squares: Vec<f64> = (0..len).step_by(step).map(|at| view.get(at).powi(2)).filter(|x| x.is_finite()).collect();
    if squares.is_empty() { 0.0 } else { (squares.iter().sum::<f64>() / squares.len() as f64).sqrt() }
}
