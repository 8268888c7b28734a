//! Rotary embeddings.

use tileops_ops::{CheckedCall, OpError};

use crate::distribution::Distribution;
use crate::host::View;
use crate::ops::elements::{Prepared, rows};
use crate::ops::facts::extent;
use crate::units::{Inputs, Reference, Sink, Target};

pub(crate) const REFERENCES: &[Reference] = &[
    Reference::new("RopeFwdOp", rope).drawing(unit),
    Reference::new("RopeQkInplaceFwdOp", rope_qk).drawing(unit),
    Reference::new("MultimodalRopeFwdOp", multimodal).drawing(unit),
    Reference::new("AxialRopeQkFwdOp", axial).drawing(unit),
];

fn unit(_: &CheckedCall, _: &str) -> Option<Distribution> {
    Some(Distribution::Uniform { low: -1.0, high: 1.0 })
}

/// Where the two numbers of pair `pair` of `pairs` are.
fn places(interleaved: bool, pair: usize, pairs: usize) -> (usize, usize) {
    if interleaved { (2 * pair, 2 * pair + 1) } else { (pair, pair + pairs) }
}

/// A head's pairs, turned by angles of which `turn` gives cosine and sine, and the columns behind them as they are.
fn turned(
    x: View<'_>,
    first: usize,
    (width, pairs, interleaved): (usize, usize, bool),
    turn: impl Fn(usize) -> (f64, f64),
    target: usize,
    sink: &mut Sink,
) {
    for pair in 0..pairs {
        let (a, b) = places(interleaved, pair, pairs);
        let ((cos, sin), (left, right)) = (turn(pair), (x.get(first + a), x.get(first + b)));
        sink.put(target, first + a, left * cos - right * sin);
        sink.put(target, first + b, right * cos + left * sin);
    }
    for column in 2 * pairs..width {
        sink.put(target, first + column, x.get(first + column));
    }
}

fn rope<'a>(call: &CheckedCall, inputs: &Inputs<'a>) -> Prepared<'a> {
    let [x, cos, sin] = ["x", "cos", "sin"].map(|name| inputs.tensor(call, name));
    let (x, cos, sin) = (x?, cos?, sin?);
    let [length, heads, width, rotated] = ["S", "H", "D", "R"].map(|name| extent(call, name));
    let (length, heads, width, pairs) = (length?, heads?, width?, rotated? / 2);
    let interleaved = call.str("layout")? == "pairs";
    rows(vec![Target::output("y").sums(2, 1.0)], x.len() / width, width, move |head, sink| {
        let position = head / heads % length;
        let turn = |pair| (cos.get(position * pairs + pair), sin.get(position * pairs + pair));
        turned(x, head * width, (width, pairs, interleaved), turn, 0, sink);
    })
}

/// Cosines beside sines, a row a position; columns behind the rotated ones stay as they are.
fn rope_qk<'a>(call: &CheckedCall, inputs: &Inputs<'a>) -> Prepared<'a> {
    let [q, k, table, positions] = ["q", "k", "table", "positions"].map(|name| inputs.tensor(call, name));
    let (q, k, table, positions) = (q?, k?, table?, positions?);
    let [heads, groups, width, rotated] = ["H", "G", "D", "rotary_dim"].map(|name| extent(call, name));
    let (heads, groups, width, rotated) = (heads?, groups?, width?, rotated?);
    let (pairs, interleaved) = (rotated / 2, call.bool("interleaved")?);
    let targets = vec![Target::input("q").sums(2, 1.0), Target::input("k").sums(2, 1.0)];
    rows(targets, positions.len(), (heads + groups) * width, move |token, sink| {
        let row = usize::try_from(positions.int(token)).unwrap_or(0) * rotated;
        let turn = |pair| (table.get(row + pair), table.get(row + pairs + pair));
        for (target, x, heads) in [(0, q, heads), (1, k, groups)] {
            for head in 0..heads {
                turned(x, (token * heads + head) * width, (width, pairs, interleaved), turn, target, sink);
            }
        }
    })
}

/// The pairs fall into sections, each with its own row of the tables.
fn multimodal<'a>(call: &CheckedCall, inputs: &Inputs<'a>) -> Prepared<'a> {
    let [x, cos, sin] = ["x", "cos", "sin"].map(|name| inputs.tensor(call, name));
    let (x, cos, sin) = (x?, cos?, sin?);
    let [tokens, heads, width] = ["N", "H", "D"].map(|name| extent(call, name));
    let (tokens, heads, width) = (tokens?, heads?, width?);
    let pairs = width / 2;
    let mut sections = Vec::new();
    for (section, extent) in call.shape("sections")?.into_iter().enumerate() {
        sections.extend(std::iter::repeat_n(section, usize::try_from(extent).unwrap_or(0)));
    }
    if sections.len() != pairs {
        return Err(OpError::Implementation { op: call.op(), message: "the sections are not the pairs".to_owned() });
    }
    rows(vec![Target::output("y").sums(2, 1.0)], x.len() / width, width, move |head, sink| {
        let turn = |pair| {
            let at = (sections[pair] * tokens + head / heads) * pairs + pair;
            (cos.get(at), sin.get(at))
        };
        turned(x, head * width, (width, pairs, false), turn, 0, sink);
    })
}

/// Each pair times the 2 by 2 matrix of its position.
fn axial<'a>(call: &CheckedCall, inputs: &Inputs<'a>) -> Prepared<'a> {
    let [q, k, table] = ["q", "k", "table"].map(|name| inputs.tensor(call, name));
    let (q, k, table) = (q?, k?, table?);
    let (length, width) = (extent(call, "S")?, extent(call, "D")?);
    let targets = vec![Target::output("q_out").sums(2, 1.0), Target::output("k_out").sums(2, 1.0)];
    rows(targets, q.len() / width, 2 * width, move |row, sink| {
        for pair in 0..width / 2 {
            let matrix = (row % length * (width / 2) + pair) * 4;
            for (target, x) in [q, k].into_iter().enumerate() {
                let first = row * width + 2 * pair;
                for out in 0..2 {
                    let [left, right] = [0, 1].map(|of| table.get(matrix + 2 * out + of) * x.get(first + of));
                    sink.put(target, first + out, left + right);
                }
            }
        }
    })
}
