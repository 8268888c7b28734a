//! Reductions over any axes.

use tileops_ops::{CheckedCall, DType, OpError, Value};

use crate::distribution::Distribution;
use crate::host::View;
use crate::ops::each::{Each, volume};
use crate::ops::softmax::log_sum_exp;
use crate::units::{Inputs, Reference, Sink, Target, Units};

pub(crate) const REFERENCES: &[Reference] = &[
    Reference::new("SumFwdOp", |call, inputs| {
        sums(call, inputs, |count| Target::output("y").sums(count, TYPICAL), |line| line.iter().sum())
    }),
    Reference::new("MeanFwdOp", |call, inputs| sums(call, inputs, |count| mean_of("y", count), mean)),
    Reference::new("ProdFwdOp", product).drawing(|call, _| {
        let count = Reduced::new(call, Empty::All).ok()?.count.max(1);
        Some(match call.dtype("x").ok()? {
            // An odd number's powers never come to zero.
            DType::Int64 => Distribution::Integers { low: 3, high: 4 },
            // Around one, so that the product is a number as well.
            _ => {
                let width = (1.0 / (count as f32).sqrt()).min(0.5);
                Distribution::Uniform { low: 1.0 - width, high: 1.0 + width }
            }
        })
    }),
    Reference::new("AmaxFwdOp", |call, inputs| sums(call, inputs, |_| Target::output("y"), |line| line[most(line)])),
    Reference::new("AminFwdOp", |call, inputs| sums(call, inputs, |_| Target::output("y"), |line| line[least(line)])),
    Reference::new("ArgmaxFwdOp", |call, inputs| whole(call, inputs, Empty::All, |line| most(line) as i128)),
    Reference::new("ArgminFwdOp", |call, inputs| whole(call, inputs, Empty::All, |line| least(line) as i128)),
    Reference::new("MaxDimFwdOp", |call, inputs| {
        let targets = |_| vec![Target::output("values"), Target::output("indices")];
        lines(call, inputs, Empty::All, targets, |at, line, sink| {
            let best = most(line);
            sink.put(0, at, line[best]);
            sink.put_int(1, at, best as i128);
        })
    }),
    Reference::new("AllFwdOp", |call, inputs| {
        whole(call, inputs, Empty::None, |line| i128::from(line.iter().all(|&x| x != 0.0)))
    }),
    Reference::new("AnyFwdOp", |call, inputs| {
        whole(call, inputs, Empty::None, |line| i128::from(line.iter().any(|&x| x != 0.0)))
    })
    .drawing(|call, _| {
        let count = Reduced::new(call, Empty::None).ok()?.count.max(1);
        Some(Distribution::OneIn(u32::try_from(count).unwrap_or(u32::MAX)))
    }),
    Reference::new("CountNonzeroFwdOp", |call, inputs| {
        whole(call, inputs, Empty::All, |line| line.iter().filter(|&&x| x != 0.0).count() as i128)
    })
    .drawing(|_, _| Some(Distribution::OneIn(3))),
    Reference::new("VarFwdOp", |call, inputs| {
        let correction = call.float("correction")?;
        sums(call, inputs, |count| Target::output("y").sums(count, 0.0), move |line| variance(line, correction))
    }),
    Reference::new("StdFwdOp", |call, inputs| {
        let correction = call.float("correction")?;
        sums(call, inputs, |count| Target::output("y").sums(count, 0.0), move |line| variance(line, correction).sqrt())
    }),
    Reference::new("VarMeanFwdOp", |call, inputs| {
        let correction = call.float("correction")?;
        let targets = |count| vec![Target::output("var").sums(count, 0.0), mean_of("mean", count)];
        lines(call, inputs, Empty::All, targets, move |at, line, sink| {
            sink.put(0, at, variance(line, correction));
            // Beside a variance, what is infinite leaves no mean. (PyTorch's is infinite where the infinity came last.)
            sink.put(1, at, if line.iter().all(|x| x.is_finite()) { mean(line) } else { f64::NAN });
        })
    }),
    Reference::new("VectorNormFwdOp", |call, inputs| {
        let order = call.float("ord")?;
        sums(call, inputs, |count| Target::output("y").sums(count, 0.0), move |line| norm(line, order))
    }),
    Reference::new("LogSumExpFwdOp", |call, inputs| {
        let target = |count: usize| Target::output("y").sums(count, (count.max(3) as f64).ln());
        // One that is infinite leaves nothing else.
        sums(call, inputs, target, |line| match line.contains(&f64::INFINITY) {
            true if !line.iter().any(|x| x.is_nan()) => f64::INFINITY,
            _ => log_sum_exp(line),
        })
    }),
];

/// About how large a drawn number is.
const TYPICAL: f64 = 0.5;

fn mean_of(name: &'static str, count: usize) -> Target {
    Target::output(name).sums(count, TYPICAL / count.max(1) as f64)
}

fn mean(line: &[f64]) -> f64 {
    line.iter().sum::<f64>() / line.len() as f64
}

fn variance(line: &[f64], correction: f64) -> f64 {
    let mean = mean(line);
    line.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (line.len() as f64 - correction).max(0.0)
}

fn norm(line: &[f64], order: f64) -> f64 {
    let magnitudes = line.iter().map(|x| x.abs());
    if line.iter().any(|x| x.is_nan()) && order != 0.0 {
        f64::NAN
    } else if order == f64::INFINITY {
        magnitudes.fold(0.0, f64::max)
    } else if order == f64::NEG_INFINITY {
        magnitudes.reduce(f64::min).unwrap_or(0.0)
    } else if order == 0.0 {
        line.iter().filter(|&&x| x != 0.0).count() as f64
    } else {
        magnitudes.map(|x| x.powf(order)).sum::<f64>().powf(1.0 / order)
    }
}

/// The first of those that none exceeds. What is not a number exceeds all.
pub(crate) fn most(line: &[f64]) -> usize {
    first_of(line, |x, best| x > best)
}

fn least(line: &[f64]) -> usize {
    first_of(line, |x, best| x < best)
}

fn first_of(line: &[f64], better: impl Fn(f64, f64) -> bool) -> usize {
    let mut best = 0;
    for (at, &x) in line.iter().enumerate() {
        if !line[best].is_nan() && (x.is_nan() || better(x, line[best])) {
            best = at;
        }
    }
    best
}

/// What an empty sequence of axes reduces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Empty {
    All,
    None,
}

/// Which elements of `x` an output has.
struct Reduced {
    /// The extents and strides of the axes that are kept, the outermost first, and of those that are not.
    kept: Vec<(usize, usize)>,
    reduced: Vec<(usize, usize)>,
    count: usize,
}

impl Reduced {
    fn new(call: &CheckedCall, empty: Empty) -> Result<Self, OpError> {
        let shape = &call.tensor("x")?.shape;
        let rank = shape.len();
        let named = match call.value("dim")? {
            Value::None => (0..rank as i128).collect(),
            Value::Int(axis) => vec![*axis],
            value => value.to_ints().unwrap_or_default(),
        };
        let all = named.is_empty() && empty == Empty::All;
        let is_named = |axis: usize| named.iter().any(|&n| n == axis as i128 || n + rank as i128 == axis as i128);
        let mut reduction = Reduced { kept: Vec::new(), reduced: Vec::new(), count: 1 };
        for axis in 0..rank {
            let (extent, stride) = (volume(&shape[axis..=axis]), volume(&shape[axis + 1..]));
            if all || is_named(axis) {
                reduction.reduced.push((extent, stride));
                reduction.count *= extent;
            } else {
                reduction.kept.push((extent, stride));
            }
        }
        Ok(reduction)
    }

    fn outputs(&self) -> usize {
        self.kept.iter().map(|(extent, _)| extent).product()
    }

    /// Visits the places of the elements of output `at`, in their order.
    fn visit(&self, mut at: usize, visit: &mut impl FnMut(usize)) {
        let mut start = 0;
        for (extent, stride) in self.kept.iter().rev() {
            start += at % extent * stride;
            at /= extent;
        }
        walk(&self.reduced, start, visit);
    }

    /// The elements of output `at`, in their order.
    fn of(&self, x: &View<'_>, at: usize) -> Vec<f64> {
        let mut line = Vec::with_capacity(self.count);
        self.visit(at, &mut |place| line.push(x.get(place)));
        line
    }
}

fn walk(axes: &[(usize, usize)], start: usize, visit: &mut impl FnMut(usize)) {
    match axes {
        [] => visit(start),
        [(extent, stride), inner @ ..] => (0..*extent).for_each(|at| walk(inner, start + at * stride, visit)),
    }
}

fn lines<'a>(
    call: &'a CheckedCall,
    inputs: &Inputs<'a>,
    empty: Empty,
    targets: impl Fn(usize) -> Vec<Target>,
    compute: impl Fn(usize, &[f64], &mut Sink) + Send + Sync + 'a,
) -> Result<Box<dyn Units + 'a>, OpError> {
    let x = inputs.tensor(call, "x")?;
    let reduced = Reduced::new(call, empty)?;
    let (targets, count, cost) = (targets(reduced.count), reduced.outputs(), reduced.count);
    let compute = move |at: usize, sink: &mut Sink| compute(at, &reduced.of(&x, at), sink);
    Ok(Box::new(Each { targets, count, cost, compute }))
}

/// One number of each line.
fn sums<'a>(
    call: &'a CheckedCall,
    inputs: &Inputs<'a>,
    target: impl Fn(usize) -> Target,
    function: impl Fn(&[f64]) -> f64 + Send + Sync + 'a,
) -> Result<Box<dyn Units + 'a>, OpError> {
    lines(call, inputs, Empty::All, |count| vec![target(count)], move |at, line, sink| sink.put(0, at, function(line)))
}

/// One whole number or Boolean of each line.
fn whole<'a>(
    call: &'a CheckedCall,
    inputs: &Inputs<'a>,
    empty: Empty,
    function: fn(&[f64]) -> i128,
) -> Result<Box<dyn Units + 'a>, OpError> {
    lines(call, inputs, empty, |_| vec![Target::output("y")], move |at, line, sink| sink.put_int(0, at, function(line)))
}

fn product<'a>(call: &'a CheckedCall, inputs: &'a Inputs<'a>) -> Result<Box<dyn Units + 'a>, OpError> {
    let x = inputs.tensor(call, "x")?;
    if x.dtype != DType::Int64 {
        return sums(call, inputs, |count| Target::output("y").sums(count, 0.0), |line| line.iter().product());
    }
    let reduced = Reduced::new(call, Empty::All)?;
    let (count, cost) = (reduced.outputs(), reduced.count);
    let compute = move |at: usize, sink: &mut Sink| {
        // Whole numbers that overflow wrap around.
        let mut product = 1_i64;
        reduced.visit(at, &mut |place| product = product.wrapping_mul(x.int(place) as i64));
        sink.put_int(0, at, i128::from(product));
    };
    Ok(Box::new(Each { targets: vec![Target::output("y")], count, cost, compute }))
}
