//! A generated shape against the declared one: what it determines, and where the two contradict each other.

use std::sync::Arc;

use super::frame::Frame;
use super::words::plain;
use crate::check::linear;
use crate::eval::{EvalError, EvalFailure, evaluate};
use crate::expr::{Axis, Expr, ExprKind};
use crate::lang::Value;

/// A contradiction: which item of the declared shape, and what is said of it.
pub(super) struct Contradiction<'a> {
    pub(super) expr: &'a Expr,
    pub(super) message: String,
}

/// What unifying came to.
pub(super) enum Unified<'a> {
    /// The shapes agree, and every name of the declared one is known.
    Agree,
    /// They do not.
    Contradict(Contradiction<'a>),
    /// Too little is known yet to compare everything. These names follow already.
    Open(Vec<(Arc<str>, Value)>),
}

/// One item of the declared shape.
enum Item<'a> {
    /// So many axes, of these extents.
    Known(&'a Expr, Vec<i128>, bool),
    /// One axis that is not known.
    One(&'a Expr, Arc<str>),
    /// A splice that is not known.
    Many(&'a Expr, Arc<str>),
}

/// Compares `extents` with `axes` at what `frame` knows. `tensor` is named in the message.
pub(super) fn unify<'a>(tensor: &str, axes: &'a [Axis], extents: &[i128], frame: &Frame<'_>) -> Unified<'a> {
    let mut items = Vec::with_capacity(axes.len());
    for axis in axes {
        let (Axis::One(expr) | Axis::Splice(expr)) = axis;
        let splice = matches!(axis, Axis::Splice(_));
        items.push(match evaluate(expr, frame) {
            Ok(Value::Int(extent)) if !splice => Item::Known(expr, vec![extent], false),
            Ok(Value::Seq(values)) if splice => {
                let lengths = values.iter().map(|value| if let Value::Int(n) = value { *n } else { -1 });
                Item::Known(expr, lengths.collect(), true)
            }
            Err(EvalError { reason: EvalFailure::Undetermined(name), .. }) if splice => Item::Many(expr, name),
            Err(EvalError { reason: EvalFailure::Undetermined(name), .. }) => Item::One(expr, name),
            // What has no value is said where the shape itself is made.
            _ => return Unified::Open(Vec::new()),
        });
    }
    let fixed: usize = items
        .iter()
        .map(|item| match item {
            Item::Known(_, lengths, _) => lengths.len(),
            Item::One(..) => 1,
            Item::Many(..) => 0,
        })
        .sum();
    let open = items.iter().filter(|item| matches!(item, Item::Many(..))).count();
    let rank = extents.len();
    if open > 1 {
        return Unified::Open(Vec::new());
    }
    if rank < fixed || (open == 0 && rank != fixed) {
        let Some(first) = items.first() else {
            // A shape without items has no expression to point at; its rank was checked against the signature.
            return Unified::Open(Vec::new());
        };
        let (Item::Known(expr, ..) | Item::One(expr, _) | Item::Many(expr, _)) = first;
        let at_least = if open == 1 { "at least " } else { "" };
        let message = format!("`values` gives `{tensor}` {rank} axes, where its shape has {at_least}{fixed}");
        return Unified::Contradict(Contradiction { expr, message });
    }
    let mut found: Vec<(Arc<str>, Value)> = Vec::new();
    let mut whole = true;
    let mut at = 0;
    for item in items {
        let length = match &item {
            Item::Known(_, lengths, _) => lengths.len(),
            Item::One(..) => 1,
            Item::Many(..) => rank - fixed,
        };
        let part = extents.get(at..at + length).unwrap_or(&[]);
        let position = at;
        at += length;
        match item {
            Item::Known(expr, lengths, splice) => {
                if lengths != part {
                    let message = match (splice, part, lengths.as_slice()) {
                        (false, [given], [said]) if matches!(expr.kind, ExprKind::Int(_)) => format!(
                            "`values` gives axis {position} of `{tensor}` {given} entries, where its shape says {said}"
                        ),
                        (false, [given], [said]) => format!(
                            "`values` gives axis {position} of `{tensor}` {given} entries, where its shape says `{expr}`, \
                             which is {said}"
                        ),
                        _ => format!(
                            "`values` gives axes {position} to {} of `{tensor}` the extents {}, where its shape says \
                             `*{expr}`, which is {}",
                            at.saturating_sub(1),
                            plain(&Value::ints(part.iter().copied())),
                            plain(&Value::ints(lengths.iter().copied())),
                        ),
                    };
                    return Unified::Contradict(Contradiction { expr, message });
                }
            }
            Item::Many(expr, name) => match expr.as_name() {
                Some(_) => found.push((name, Value::ints(part.iter().copied()))),
                None => whole = false,
            },
            Item::One(expr, name) => {
                let [extent] = part else { continue };
                // Two axes may determine one name: the second is compared once the first is bound.
                if found.iter().any(|(n, _)| *n == name) {
                    whole = false;
                    continue;
                }
                let Some((coefficient, offset)) = linear::solves(expr, &name) else {
                    whole = false;
                    continue;
                };
                let offset = match offset.map(|offset| evaluate(&offset, frame)) {
                    None => 0,
                    Some(Ok(Value::Int(offset))) => offset,
                    Some(_) => {
                        whole = false;
                        continue;
                    }
                };
                let solved = extent
                    .checked_sub(offset)
                    .filter(|rest| rest.checked_rem(coefficient) == Some(0))
                    .and_then(|rest| rest.checked_div(coefficient))
                    .filter(|solved| *solved >= 0);
                match solved {
                    Some(value) => found.push((name, Value::Int(value))),
                    None => {
                        let message = format!(
                            "`values` gives axis {position} of `{tensor}` {extent} entries, which `{expr}` cannot be"
                        );
                        return Unified::Contradict(Contradiction { expr, message });
                    }
                }
            }
        }
    }
    if whole && found.is_empty() { Unified::Agree } else { Unified::Open(found) }
}
