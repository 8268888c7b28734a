//! Mixture of experts: choosing the experts, and moving the tokens' rows to them and back.

use tileops_ops::{CheckedCall, OpError};

use super::facts::extent;
use crate::distribution::Distribution;
use crate::host::View;
use crate::ops::unary::sigmoid;
use crate::units::{Inputs, Reference, Sink, Target, Units};

pub(crate) const REFERENCES: &[Reference] = &[
    Reference::new("TopkRouterFwdOp", |call, inputs| {
        let sigmoid = call.str("score")? == "sigmoid";
        let rule = Rule { sigmoid, normalize: call.bool("normalize")?, groups: 1, top_groups: 1, scaling: 1.0 };
        Ok(Box::new(Router::new(call, inputs, rule)?))
    })
    .drawing(logits),
    Reference::new("GroupedTopkRouterFwdOp", |call, inputs| {
        let (groups, top_groups) = (extent(call, "num_groups")?, extent(call, "top_groups")?);
        let rule = Rule { sigmoid: true, normalize: true, groups, top_groups, scaling: call.float("scaling")? };
        Ok(Box::new(Router::new(call, inputs, rule)?))
    })
    .drawing(logits),
    Reference::new("ExpertCountsFwdOp", |call, inputs| {
        let experts = Experts::new(call, inputs)?;
        Ok(Box::new(Counts { experts }))
    }),
    Reference::new("ExpertPermuteFwdOp", |call, inputs| {
        let experts = Experts::new(call, inputs)?;
        let bases = experts.bases(1);
        let places = experts.places(&bases, None);
        let x = inputs.tensor(call, "x")?;
        Ok(Box::new(Permute { x, width: extent(call, "H")?, each: extent(call, "K")?, places, bases }))
    }),
    Reference::new("ExpertGatherFwdOp", |call, inputs| Ok(Box::new(Gather::new(call, inputs)?))),
    Reference::new("ExpertCombineFwdOp", |call, inputs| {
        Ok(Box::new(Combine {
            rows: inputs.tensor(call, "rows")?,
            weights: inputs.tensor(call, "weights")?,
            places: inputs.tensor(call, "places")?,
            shared: inputs.optional("shared"),
            width: extent(call, "H")?,
            each: extent(call, "K")?,
            tokens: extent(call, "N")?,
        }))
    })
    .drawing(|_, name| (name == "weights").then_some(Distribution::Uniform { low: 0.0, high: 1.0 })),
];

fn logits(_: &CheckedCall, name: &str) -> Option<Distribution> {
    (name == "logits").then_some(Distribution::Uniform { low: -4.0, high: 4.0 })
}

/// How experts are scored and chosen.
struct Rule {
    /// Whether the score is the sigmoid of the logit, and not their softmax.
    sigmoid: bool,
    /// Whether the weights are divided by their sum.
    normalize: bool,
    /// The best of so many groups are chosen first.
    groups: usize,
    top_groups: usize,
    scaling: f64,
}

struct Router<'a> {
    logits: View<'a>,
    bias: Option<View<'a>>,
    experts: usize,
    top_k: usize,
    rule: Rule,
}

impl<'a> Router<'a> {
    fn new(call: &CheckedCall, inputs: &Inputs<'a>, rule: Rule) -> Result<Self, OpError> {
        Ok(Router {
            logits: inputs.tensor(call, "logits")?,
            bias: inputs.optional("bias"),
            experts: extent(call, "E")?,
            top_k: extent(call, "top_k")?,
            rule,
        })
    }
}

/// The places of the `count` greatest, the first of equal ones first; what is not a number is greater than any number.
fn greatest(values: &[f64], count: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&a, &b| {
        let (x, y) = (values[a], values[b]);
        match (x.is_nan(), y.is_nan()) {
            (false, false) => y.partial_cmp(&x).unwrap_or(std::cmp::Ordering::Equal),
            (x, y) => y.cmp(&x),
        }
    });
    order.truncate(count);
    order
}

impl Units for Router<'_> {
    fn targets(&self) -> Vec<Target> {
        vec![Target::output("weights").sums(self.experts, 0.0), Target::output("ids")]
    }

    fn count(&self) -> usize {
        self.logits.extent(0)
    }

    fn cost(&self) -> usize {
        self.experts * 8
    }

    fn compute(&self, unit: usize, sink: &mut Sink) {
        let logits = self.logits.row(unit * self.experts, self.experts);
        let highest = logits.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let total: f64 = logits.iter().map(|logit| (logit - highest).exp()).sum();
        let score = |expert: usize| match self.rule.sigmoid {
            true => sigmoid(logits[expert]),
            false => (logits[expert] - highest).exp() / total,
        };
        // Scores grow with the logits: which are compared themselves, where nothing is added.
        let mut choices: Vec<f64> = match self.bias {
            Some(bias) => (0..self.experts).map(|expert| score(expert) + bias.get(expert)).collect(),
            None => logits.clone(),
        };
        let size = self.experts / self.rule.groups;
        if self.rule.groups > 1 {
            let sums: Vec<f64> = (0..self.rule.groups)
                .map(|group| {
                    let members = &choices[group * size..(group + 1) * size];
                    greatest(members, 2).iter().map(|&at| members[at]).sum()
                })
                .collect();
            let kept = greatest(&sums, self.rule.top_groups);
            for (expert, choice) in choices.iter_mut().enumerate() {
                if !kept.contains(&(expert / size)) {
                    *choice = f64::NEG_INFINITY;
                }
            }
        }
        let chosen = greatest(&choices, self.top_k);
        let sum: f64 = if self.rule.normalize { chosen.iter().map(|&expert| score(expert)).sum() } else { 1.0 };
        for (at, &expert) in chosen.iter().enumerate() {
            sink.put(0, unit * self.top_k + at, score(expert) / sum * self.rule.scaling);
            sink.put_int(1, unit * self.top_k + at, expert as i128);
        }
    }
}

/// The expert of each of the tokens' rows, and how many each has.
struct Experts {
    ids: Vec<usize>,
    counts: Vec<usize>,
}

impl Experts {
    fn new(call: &CheckedCall, inputs: &Inputs<'_>) -> Result<Self, OpError> {
        let view = inputs.tensor(call, "ids")?;
        let mut counts = vec![0; extent(call, "num_experts")?];
        let ids: Vec<usize> = (0..view.len()).map(|at| usize::try_from(view.int(at)).unwrap_or(0)).collect();
        for &id in &ids {
            counts[id] += 1;
        }
        Ok(Experts { ids, counts })
    }

    /// Where each expert's rows begin, at multiples of `tile`, and where the last one's end.
    fn bases(&self, tile: usize) -> Vec<usize> {
        let mut bases = vec![0];
        for &count in &self.counts {
            bases.push(bases[bases.len() - 1] + count.next_multiple_of(tile));
        }
        bases
    }

    /// Where each row stands: an expert's rows in the order of the tokens, those beyond the capacity nowhere.
    fn places(&self, bases: &[usize], capacity: Option<usize>) -> Vec<Option<usize>> {
        let mut seen = vec![0; self.counts.len()];
        let place = |&id: &usize| {
            let rank = seen[id];
            seen[id] += 1;
            capacity.is_none_or(|capacity| rank < capacity).then(|| bases[id] + rank)
        };
        self.ids.iter().map(place).collect()
    }
}

struct Counts {
    experts: Experts,
}

impl Units for Counts {
    fn targets(&self) -> Vec<Target> {
        vec![Target::output("counts"), Target::output("offsets")]
    }

    fn count(&self) -> usize {
        1
    }

    fn cost(&self) -> usize {
        self.experts.ids.len() + self.experts.counts.len()
    }

    fn compute(&self, _: usize, sink: &mut Sink) {
        for (at, &count) in self.experts.counts.iter().enumerate() {
            sink.put_int(0, at, count as i128);
        }
        for (at, &base) in self.experts.bases(1).iter().enumerate() {
            sink.put_int(1, at, base as i128);
        }
    }
}

/// A unit a row, and one for the offsets.
struct Permute<'a> {
    x: View<'a>,
    width: usize,
    each: usize,
    places: Vec<Option<usize>>,
    bases: Vec<usize>,
}

impl Units for Permute<'_> {
    fn targets(&self) -> Vec<Target> {
        vec![Target::output("rows"), Target::output("places"), Target::output("offsets")]
    }

    fn count(&self) -> usize {
        self.places.len() + 1
    }

    fn cost(&self) -> usize {
        self.width + 1
    }

    fn compute(&self, unit: usize, sink: &mut Sink) {
        let Some(&place) = self.places.get(unit) else {
            self.bases.iter().enumerate().for_each(|(at, &base)| sink.put_int(2, at, base as i128));
            return;
        };
        let place = place.unwrap_or(0);
        sink.put_int(1, unit, place as i128);
        for at in 0..self.width {
            sink.put(0, place * self.width + at, self.x.get(unit / self.each * self.width + at));
        }
    }
}

/// A unit a row of the result, and one for the index.
struct Gather<'a> {
    x: View<'a>,
    width: usize,
    each: usize,
    /// The token's row that is in each row; zeros where there is none.
    from: Vec<Option<usize>>,
    index: Vec<i128>,
}

impl<'a> Gather<'a> {
    fn new(call: &CheckedCall, inputs: &Inputs<'a>) -> Result<Self, OpError> {
        let experts = Experts::new(call, inputs)?;
        let layout = call.variant("layout")?;
        let field = |name| -> Result<usize, OpError> {
            let value = layout.int(name);
            value.ok().and_then(|value| usize::try_from(value).ok()).ok_or_else(|| OpError::Implementation {
                op: call.op(),
                message: format!("the layout has no size `{name}`"),
            })
        };
        let width = extent(call, "H")?;
        let rows = usize::try_from(call.tensor("rows")?.numel().get()?).unwrap_or(0) / width.max(1);
        let (places, index) = if layout.kind() == "slab" {
            let capacity = field("capacity")?;
            let bases: Vec<usize> = (0..experts.counts.len()).map(|expert| expert * capacity).collect();
            let index = experts.counts.iter().map(|&count| count.min(capacity) as i128).collect();
            (experts.places(&bases, Some(capacity)), index)
        } else {
            let bases = experts.bases(field("tile")?);
            let places = experts.places(&bases, None);
            let index = match layout.is("index", "by_row") {
                false => bases.iter().map(|&base| base as i128).collect(),
                true => {
                    let mut index = vec![-1; rows];
                    for (&place, &id) in places.iter().zip(&experts.ids) {
                        if let Some(place) = place {
                            index[place] = id as i128;
                        }
                    }
                    index
                }
            };
            (places, index)
        };
        let mut from = vec![None; rows];
        for (row, place) in places.iter().enumerate() {
            if let Some(place) = *place {
                from[place] = Some(row);
            }
        }
        Ok(Gather { x: inputs.tensor(call, "x")?, width, each: extent(call, "K")?, from, index })
    }
}

impl Units for Gather<'_> {
    fn targets(&self) -> Vec<Target> {
        vec![Target::output("rows"), Target::output("index")]
    }

    fn count(&self) -> usize {
        self.from.len() + 1
    }

    fn cost(&self) -> usize {
        self.width + 1
    }

    fn compute(&self, unit: usize, sink: &mut Sink) {
        let Some(&from) = self.from.get(unit) else {
            self.index.iter().enumerate().for_each(|(at, &index)| sink.put_int(1, at, index));
            return;
        };
        for at in 0..self.width {
            let value = from.map_or(0.0, |row| self.x.get(row / self.each * self.width + at));
            sink.put(0, unit * self.width + at, value);
        }
    }
}

/// A unit a token.
struct Combine<'a> {
    rows: View<'a>,
    weights: View<'a>,
    places: View<'a>,
    shared: Option<View<'a>>,
    width: usize,
    each: usize,
    tokens: usize,
}

impl Units for Combine<'_> {
    fn targets(&self) -> Vec<Target> {
        vec![Target::output("y").sums(self.each + 1, 1.0)]
    }

    fn count(&self) -> usize {
        self.tokens
    }

    fn cost(&self) -> usize {
        self.width * (self.each + 1)
    }

    fn compute(&self, unit: usize, sink: &mut Sink) {
        for at in 0..self.width {
            let of_row = |row: usize| {
                let place = usize::try_from(self.places.int(row)).unwrap_or(0);
                self.weights.get(row) * self.rows.get(place * self.width + at)
            };
            let routed: f64 = (unit * self.each..(unit + 1) * self.each).map(of_row).sum();
            let at = unit * self.width + at;
            sink.put(0, at, routed + self.shared.map_or(0.0, |shared| shared.get(at)));
        }
    }
}
