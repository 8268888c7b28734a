//! Layers of several contractions.

use tileops_ops::{CheckedCall, DType, OpError};

use super::contraction::{Contraction, dot, lane, size};
use super::facts::extent;
use super::gemm::{Function, activation};
use crate::host::View;
use crate::number::round_to;
use crate::units::{Inputs, Reference, Sink, Target, Units};

pub(crate) const REFERENCES: &[Reference] = &[
    Reference::new("ExpertMlpFwdOp", |call, inputs| {
        let (ids, weights) = (inputs.tensor(call, "ids")?, inputs.tensor(call, "weights")?);
        let (experts, function) = (extent(call, "E")?, activation(call.str("activation")?));
        let each = extent(call, "K")?;
        let mlp = Mlp::new(call, inputs, experts, function)?;
        let choices = move |token: usize| -> Vec<(usize, f64)> {
            let of = token * each..(token + 1) * each;
            of.map(|at| (usize::try_from(ids.int(at)).unwrap_or(0), weights.get(at))).collect()
        };
        Ok(Box::new(Layer {
            targets: vec![mlp.target(Target::input("y"), each)],
            choices: Box::new(choices),
            routed: None,
            mlp,
        }))
    }),
    Reference::new("SharedExpertFwdOp", |call, inputs| {
        let routed = inputs.tensor(call, "routed")?;
        if !call.present("gate_up")? {
            return Ok(Box::new(Same { routed }));
        }
        let mlp = Mlp::new(call, inputs, 1, activation("silu"))?;
        let targets = vec![mlp.target(Target::output("shared"), 1), mlp.target(Target::output("y"), 1)];
        Ok(Box::new(Layer { targets, choices: Box::new(|_| vec![(0, 1.0)]), routed: Some(routed), mlp }))
    }),
    Reference::new("OuterProductMeanFwdOp", |call, inputs| {
        let (s, r, c) = (extent(call, "S")?, extent(call, "R")?, extent(call, "C")?);
        let (a, b) = (inputs.tensor(call, "a")?, inputs.tensor(call, "b")?);
        // Row (i, j) has the C x C products of a's column i and b's column j.
        let left = |_: usize, to: &mut [f64]| to.fill(1.0);
        let right = move |row: usize, column: usize, to: &mut [f64]| {
            let (i, j, x, y) = (row / r, row % r, column / c, column % c);
            let mut other = vec![0.0; s];
            lane(a, i * c + x, r * c, to);
            lane(b, j * c + y, r * c, &mut other);
            to.iter_mut().zip(other).for_each(|(to, other)| *to *= other);
        };
        let product =
            Contraction::new("d", (r * r, c * c, s), (size(a) / s as f64, size(b)), Box::new(left), Box::new(right));
        Ok(Box::new(product.finished(move |_, _, sum| sum / s as f64)))
    }),
];

/// Gate, up and down of some experts.
struct Mlp<'a> {
    x: View<'a>,
    gate_up: View<'a>,
    down: View<'a>,
    function: Function,
    /// What stages of the layer hand on is stored as this.
    dtype: DType,
    hidden: usize,
    width: usize,
    tokens: usize,
    /// Whether gate and up are stored before they are joined.
    stores_halves: bool,
}

impl<'a> Mlp<'a> {
    fn new(call: &CheckedCall, inputs: &Inputs<'a>, experts: usize, function: Function) -> Result<Self, OpError> {
        Ok(Mlp {
            x: inputs.tensor(call, "x")?,
            gate_up: inputs.tensor(call, "gate_up")?,
            down: inputs.tensor(call, "down")?,
            function,
            dtype: call.dtype("T")?,
            hidden: extent(call, "H")?,
            width: extent(call, "F")?,
            tokens: extent(call, "N")?,
            stores_halves: experts > 1,
        })
    }

    /// What the sum over `each` experts of a token is judged by: the errors of what is stored between the stages, and of what
    /// is added up last.
    fn target(&self, target: Target, each: usize) -> Target {
        let half = size(self.x) * size(self.gate_up) * (self.hidden as f64).sqrt();
        let (scale, terms) = (half * half.max(1.0) * size(self.down), self.width * each);
        target.sums(terms, scale).rounded(self.dtype, 1.5 * scale * (terms as f64).sqrt())
    }

    /// What the experts' gated activation gives for a token.
    fn activated(&self, token: usize, expert: usize) -> Vec<f64> {
        let (mut x, mut weights) = (vec![0.0; self.hidden], vec![0.0; self.hidden]);
        lane(self.x, token * self.hidden, 1, &mut x);
        let stored = |value: f64| if self.stores_halves { round_to(self.dtype, value) } else { value };
        let mut half = |row: usize| {
            lane(self.gate_up, (expert * 2 * self.width + row) * self.hidden, 1, &mut weights);
            stored(dot(&x, &weights))
        };
        let pair = |at| round_to(self.dtype, (self.function)(half(at)) * half(self.width + at));
        (0..self.width).map(pair).collect()
    }

    /// Element `column` of the expert's result.
    fn result(&self, activated: &[f64], expert: usize, column: usize) -> f64 {
        let mut weights = vec![0.0; self.width];
        lane(self.down, (expert * self.hidden + column) * self.width, 1, &mut weights);
        round_to(self.dtype, dot(activated, &weights))
    }
}

/// A token's experts, and their weights.
type Choices<'a> = Box<dyn Fn(usize) -> Vec<(usize, f64)> + Send + Sync + 'a>;

/// Of how many elements of a token a unit gives the result.
const COLUMNS: usize = 64;

/// Every token's experts. What one stage hands to the next is rounded to the dtype that it is stored in. A unit is a part of a
/// token's row.
struct Layer<'a> {
    mlp: Mlp<'a>,
    choices: Choices<'a>,
    routed: Option<View<'a>>,
    targets: Vec<Target>,
}

impl Layer<'_> {
    /// The parts of a row that are units. The experts' activations are computed for each of them, so that parts are few.
    fn parts(&self) -> usize {
        self.mlp.hidden.div_ceil(COLUMNS.max(self.mlp.hidden / 4))
    }
}

impl Units for Layer<'_> {
    fn targets(&self) -> Vec<Target> {
        self.targets.clone()
    }

    fn count(&self) -> usize {
        self.mlp.tokens * self.parts()
    }

    fn cost(&self) -> usize {
        let columns = self.mlp.hidden.div_ceil(self.parts().max(1));
        (self.choices)(0).len() * self.mlp.width * (2 * self.mlp.hidden + columns)
    }

    fn compute(&self, unit: usize, sink: &mut Sink) {
        let (token, part) = (unit / self.parts(), unit % self.parts());
        let columns = self.mlp.hidden.div_ceil(self.parts());
        let experts: Vec<(usize, f64, Vec<f64>)> = (self.choices)(token)
            .into_iter()
            .map(|(expert, weight)| (expert, weight, self.mlp.activated(token, expert)))
            .collect();
        for column in part * columns..((part + 1) * columns).min(self.mlp.hidden) {
            let sum: f64 = experts
                .iter()
                .map(|(expert, weight, activated)| weight * self.mlp.result(activated, *expert, column))
                .sum();
            let at = token * self.mlp.hidden + column;
            sink.put(0, at, sum);
            if let Some(routed) = self.routed {
                sink.put(1, at, sum + routed.get(at));
            }
        }
    }
}

/// Without a shared expert, what was routed is the result itself.
struct Same<'a> {
    routed: View<'a>,
}

impl Units for Same<'_> {
    fn targets(&self) -> Vec<Target> {
        vec![Target::output("y")]
    }

    fn count(&self) -> usize {
        self.routed.extent(0)
    }

    fn cost(&self) -> usize {
        self.routed.extent(1)
    }

    fn compute(&self, unit: usize, sink: &mut Sink) {
        let width = self.routed.extent(1);
        (unit * width..(unit + 1) * width).for_each(|at| sink.put(0, at, self.routed.get(at)));
    }
}
