//! Attention forward, of dense, packed and paged keys.

use tileops_ops::{CheckedCall, OpError};

use super::contraction::{dot, lane, size};
use super::facts::extent;
use crate::host::View;
use crate::units::{Inputs, Reference, Sink, Target, Units};

pub(crate) const REFERENCES: &[Reference] = &[
    Reference::new("AttentionFwdOp", |call, inputs| {
        let (queries, length) = (extent(call, "S")?, extent(call, "L")?);
        let rule = Rule {
            is_causal: call.bool("is_causal")?,
            window: maybe(call, "window")?.map(|window| window as usize),
            scale: maybe(call, "scale")?,
            softcap: maybe(call, "softcap")?,
        };
        let of = move |token: usize| {
            let request = token / queries;
            Seen { position: token % queries + length - queries.min(length), total: length, request }
        };
        let attention = Attention::new(call, inputs, ("k", "v"), rule, Box::new(of))?;
        Ok(Box::new(attention.keys(move |seen, key| seen.request * length + key)))
    }),
    Reference::new("VarlenAttentionFwdOp", |call, inputs| {
        let rule = Rule { is_causal: call.bool("is_causal")?, ..Rule::default() };
        let offsets = integers(inputs.tensor(call, "offsets")?);
        let starts = offsets.clone();
        let of = move |token: usize| {
            let request = request_of(&offsets, token);
            let (start, end) = (offsets[request], offsets[request + 1]);
            Seen { position: token - start, total: end - start, request }
        };
        let mut attention = Attention::new(call, inputs, ("k", "v"), rule, Box::new(of))?;
        attention.has_lse = true;
        Ok(Box::new(attention.keys(move |seen, key| starts[seen.request] + key)))
    }),
    Reference::new("PagedDecodeAttentionFwdOp", |call, inputs| {
        let rule = Rule {
            window: maybe(call, "window")?.map(|window| window as usize),
            softcap: maybe(call, "softcap")?,
            ..Rule::default()
        };
        let lengths = integers(inputs.tensor(call, "kv_lengths")?);
        let of = move |token: usize| {
            let total = lengths[token];
            Seen { position: total.saturating_sub(1), total, request: token }
        };
        let attention = Attention::new(call, inputs, ("k_pages", "v_pages"), rule, Box::new(of))?;
        Ok(Box::new(attention.keys(pages(call, inputs)?)))
    }),
    Reference::new("PagedPrefillAttentionFwdOp", |call, inputs| {
        let rule = Rule { is_causal: true, softcap: maybe(call, "softcap")?, ..Rule::default() };
        let offsets = integers(inputs.tensor(call, "offsets")?);
        let cached = integers(inputs.tensor(call, "cached_lengths")?);
        let of = move |token: usize| {
            let request = request_of(&offsets, token);
            let (start, end) = (offsets[request], offsets[request + 1]);
            Seen { position: cached[request] + token - start, total: cached[request] + end - start, request }
        };
        let attention = Attention::new(call, inputs, ("k_pages", "v_pages"), rule, Box::new(of))?;
        Ok(Box::new(attention.keys(pages(call, inputs)?)))
    }),
];

/// An optional parameter.
fn maybe(call: &CheckedCall, name: &str) -> Result<Option<f64>, OpError> {
    if call.present(name)? { call.float(name).map(Some) } else { Ok(None) }
}

fn integers(view: View<'_>) -> Vec<usize> {
    (0..view.len()).map(|at| usize::try_from(view.int(at)).unwrap_or(0)).collect()
}

/// The request that a packed token belongs to: the last one that begins at or before it and is not empty there.
fn request_of(offsets: &[usize], token: usize) -> usize {
    offsets.partition_point(|&start| start <= token).saturating_sub(1)
}

/// Where a position of a request lies, by its row of the page table.
fn pages<'a>(
    call: &CheckedCall,
    inputs: &Inputs<'a>,
) -> Result<impl Fn(Seen, usize) -> usize + Send + Sync + 'a, OpError> {
    let (table, width) = (integers(inputs.tensor(call, "page_table")?), extent(call, "W")?);
    let page_size = extent(call, "page_size")?;
    Ok(move |seen: Seen, key: usize| table[seen.request * width + key / page_size] * page_size + key % page_size)
}

/// Which keys a query sees.
#[derive(Debug, Default)]
struct Rule {
    is_causal: bool,
    /// Its own position and so many less one before it.
    window: Option<usize>,
    scale: Option<f64>,
    softcap: Option<f64>,
}

/// Where a query stands.
#[derive(Debug, Clone, Copy)]
struct Seen {
    position: usize,
    /// How many keys its request has.
    total: usize,
    request: usize,
}

type Of<'a> = Box<dyn Fn(usize) -> Seen + Send + Sync + 'a>;
type Key<'a> = Box<dyn Fn(Seen, usize) -> usize + Send + Sync + 'a>;

/// `softmax(q k^T scale) v`, a unit a query and head.
struct Attention<'a> {
    q: View<'a>,
    k: View<'a>,
    v: View<'a>,
    sinks: Option<View<'a>>,
    heads: usize,
    groups: usize,
    /// The widths of a key and a value.
    head: usize,
    value: usize,
    tokens: usize,
    rule: Rule,
    of: Of<'a>,
    /// The row of a request's key.
    key: Key<'a>,
    has_lse: bool,
    /// How many keys a request has, at most and at least.
    longest: usize,
    fewest: usize,
}

impl<'a> Attention<'a> {
    fn new(
        call: &CheckedCall,
        inputs: &Inputs<'a>,
        (k, v): (&str, &str),
        rule: Rule,
        of: Of<'a>,
    ) -> Result<Self, OpError> {
        let (q, k, v) = (inputs.tensor(call, "q")?, inputs.tensor(call, k)?, inputs.tensor(call, v)?);
        let last = |view: View<'_>| view.shape.last().and_then(|&extent| usize::try_from(extent).ok()).unwrap_or(0);
        let (heads, head) = (extent(call, "H")?, last(q));
        let tokens = q.len() / (heads * head).max(1);
        let totals: Vec<usize> = (0..tokens).step_by(tokens.div_ceil(64).max(1)).map(|token| of(token).total).collect();
        let (longest, fewest) = (totals.iter().max().copied().unwrap_or(0), totals.iter().min().copied().unwrap_or(0));
        Ok(Attention {
            sinks: inputs.optional("sinks"),
            groups: extent(call, "G")?,
            value: last(v),
            key: Box::new(|_, key| key),
            has_lse: false,
            q,
            k,
            v,
            heads,
            head,
            tokens,
            rule,
            of,
            longest,
            fewest,
        })
    }

    fn keys(self, key: impl Fn(Seen, usize) -> usize + Send + Sync + 'a) -> Self {
        Attention { key: Box::new(key), ..self }
    }
}

impl Units for Attention<'_> {
    fn targets(&self) -> Vec<Target> {
        // A mean of the values, whose weights are rounded to their dtype on the way: the more there are, the less their
        // errors come to. Some queries of a causal call see few.
        let least = if self.rule.is_causal { self.fewest.min(16) } else { self.fewest };
        let least = self.rule.window.map_or(least, |window| least.min(window)).max(1) as f64;
        let o = Target::output("o")
            .sums(self.longest, size(self.v))
            .rounded(self.v.dtype, 6.0 * size(self.v) / least.sqrt());
        if self.has_lse { vec![o, Target::output("lse").sums(self.head, 1.0)] } else { vec![o] }
    }

    fn count(&self) -> usize {
        self.tokens * self.heads
    }

    fn cost(&self) -> usize {
        let seen = self.rule.window.map_or(self.longest, |window| window.min(self.longest));
        seen * (self.head + self.value) + self.head
    }

    fn compute(&self, unit: usize, sink: &mut Sink) {
        let (token, head) = (unit / self.heads, unit % self.heads);
        let seen = (self.of)(token);
        let group = head / (self.heads / self.groups);
        let end = if self.rule.is_causal { seen.total.min(seen.position + 1) } else { seen.total };
        let start = self.rule.window.map_or(0, |window| (seen.position + 1).saturating_sub(window));
        let scale = self.rule.scale.unwrap_or(1.0 / (self.head as f64).sqrt());
        let (mut q, mut row) = (vec![0.0; self.head], vec![0.0; self.head]);
        lane(self.q, unit * self.head, 1, &mut q);
        let place = |key: usize, width: usize| ((self.key)(seen, key) * self.groups + group) * width;
        let scores: Vec<f64> = (start..end)
            .map(|key| {
                lane(self.k, place(key, self.head), 1, &mut row);
                let score = scale * dot(&q, &row);
                self.rule.softcap.map_or(score, |cap| cap * (score / cap).tanh())
            })
            .collect();
        let sink_score = self.sinks.map_or(f64::NEG_INFINITY, |sinks| sinks.get(head));
        let highest = scores.iter().copied().fold(sink_score, f64::max);
        let (mut out, mut value) = (vec![0.0; self.value], vec![0.0; self.value]);
        let mut sum = if highest == f64::NEG_INFINITY { 0.0 } else { (sink_score - highest).exp() };
        for (key, score) in (start..end).zip(&scores) {
            let weight = (score - highest).exp();
            sum += weight;
            lane(self.v, place(key, self.value), 1, &mut value);
            out.iter_mut().zip(&value).for_each(|(out, value)| *out += weight * value);
        }
        for (at, out) in out.iter().enumerate() {
            sink.put(0, unit * self.value + at, if sum == 0.0 { 0.0 } else { out / sum });
        }
        if self.has_lse {
            sink.put(1, head * self.tokens + token, highest + sum.ln());
        }
    }
}
