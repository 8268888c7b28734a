//! Keys and values into a cache and out of its pages, and parts of an attention joined.

use super::contraction::size;
use super::facts::extent;
use crate::distribution::Distribution;
use crate::host::View;
use crate::units::{Reference, Sink, Target, Units};

pub(crate) const REFERENCES: &[Reference] = &[
    Reference::new("KvCacheAppendFwdOp", |call, inputs| {
        let slots = inputs.tensor(call, "slots")?;
        Ok(Box::new(Moved {
            targets: vec![Target::input("k_cache"), Target::input("v_cache")],
            from: vec![inputs.tensor(call, "k")?, inputs.tensor(call, "v")?],
            width: extent(call, "G")? * extent(call, "D")?,
            rows: extent(call, "N")?,
            place: Box::new(move |row| (row, usize::try_from(slots.int(row)).unwrap_or(0))),
        }))
    }),
    Reference::new("PagedKvCacheGatherFwdOp", |call, inputs| {
        let (table, rows) = (inputs.tensor(call, "page_table")?, inputs.tensor(call, "rows")?);
        let (pages, page_size) = (extent(call, "W")?, extent(call, "page_size")?);
        let number = |view: View<'_>, at| usize::try_from(view.int(at)).unwrap_or(0);
        Ok(Box::new(Moved {
            targets: vec![Target::output("k"), Target::output("v")],
            from: vec![inputs.tensor(call, "k_pages")?, inputs.tensor(call, "v_pages")?],
            width: extent(call, "G")? * extent(call, "D")?,
            rows: extent(call, "N")?,
            place: Box::new(move |row| {
                let (request, position) = (number(rows, 2 * row), number(rows, 2 * row + 1));
                let page = number(table, request * pages + position / page_size);
                (page * page_size + position % page_size, row)
            }),
        }))
    }),
    Reference::new("MergeAttentionStatesFwdOp", |call, inputs| {
        Ok(Box::new(Merge {
            o: [inputs.tensor(call, "o_a")?, inputs.tensor(call, "o_b")?],
            lse: [inputs.tensor(call, "lse_a")?, inputs.tensor(call, "lse_b")?],
            rows: extent(call, "N")? * extent(call, "H")?,
            width: extent(call, "D")?,
            highest: inputs.tensor(call, "lse_a").map(size)?.max(inputs.tensor(call, "lse_b").map(size)?),
        }))
    })
    .drawing(|_, name| name.starts_with("lse").then_some(Distribution::Uniform { low: -2.0, high: 8.0 })),
];

/// Where row `row` comes from, and where it goes.
type Place<'a> = Box<dyn Fn(usize) -> (usize, usize) + Send + Sync + 'a>;

/// Rows of several tensors, moved alike.
struct Moved<'a> {
    targets: Vec<Target>,
    from: Vec<View<'a>>,
    width: usize,
    rows: usize,
    place: Place<'a>,
}

impl Units for Moved<'_> {
    fn targets(&self) -> Vec<Target> {
        self.targets.clone()
    }

    fn count(&self) -> usize {
        self.rows
    }

    fn cost(&self) -> usize {
        self.width * self.from.len()
    }

    fn compute(&self, unit: usize, sink: &mut Sink) {
        let (from, to) = (self.place)(unit);
        for (target, view) in self.from.iter().enumerate() {
            for at in 0..self.width {
                sink.put(target, to * self.width + at, view.get(from * self.width + at));
            }
        }
    }
}

/// `o = (o_a e^lse_a + o_b e^lse_b) / (e^lse_a + e^lse_b)`, and the logarithm of that sum.
struct Merge<'a> {
    o: [View<'a>; 2],
    lse: [View<'a>; 2],
    rows: usize,
    width: usize,
    /// The typical size of the logarithms.
    highest: f64,
}

impl Units for Merge<'_> {
    fn targets(&self) -> Vec<Target> {
        vec![Target::output("o").sums(2, 1.0), Target::output("lse").sums(2, 1.0 + self.highest)]
    }

    fn count(&self) -> usize {
        self.rows
    }

    fn cost(&self) -> usize {
        2 * self.width
    }

    fn compute(&self, unit: usize, sink: &mut Sink) {
        let lse = self.lse.map(|view| view.get(unit));
        let most = lse[0].max(lse[1]);
        // Without any key on either side there is nothing to weigh.
        let weights = lse.map(|lse| if most == f64::NEG_INFINITY { 0.0 } else { (lse - most).exp() });
        let sum = weights[0] + weights[1];
        for at in unit * self.width..(unit + 1) * self.width {
            let joined = weights[0] * self.o[0].get(at) + weights[1] * self.o[1].get(at);
            sink.put(0, at, if sum == 0.0 { 0.0 } else { joined / sum });
        }
        sink.put(1, unit, most + sum.ln());
    }
}
