//! A generated shape against the declared one: what it determines, and where the two contradict each other.

use std::sync::Arc;

use super::frame::Frame;
use super::words::plain;
use crate::check::linear;
use crate::defect::axes_word;
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
        let message = format!("`values` gives `{tensor}` {}, where its shape has {at_least}{fixed}", axes_word(rank));
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::check::{Branch, Plan, Point};
    use crate::defect::Findings;
    use crate::expr::{ShapeKind, parse_shape};
    use crate::syntax::Scalar;
    use crate::text::{TextRange, TextSize};

    fn axes(text: &str) -> Vec<Axis> {
        let len = TextSize::of(text);
        let mut findings = Findings::default();
        let shape = parse_shape(&Scalar::plain(text), TextRange::up_to(len), "shape", &mut findings);
        assert_eq!(findings, Findings::default(), "{text}");
        match shape.kind {
            ShapeKind::Axes(axes) => axes,
            _ => Vec::new(),
        }
    }

    fn branch() -> Branch {
        Branch {
            point: Point::default(),
            accepted: true,
            tensors: Vec::new(),
            lets: Vec::new(),
            rules: Vec::new(),
            relevant: vec!["M".into(), "S".into()],
            solved_by_generator: Vec::new(),
            plan: Plan::default(),
            poisoned: false,
            reads_more: false,
            certain: Vec::new(),
        }
    }

    fn frame<'a>(branch: &'a Branch, known: &[(&str, Value)]) -> Frame<'a> {
        Frame::new(branch, known.iter().map(|(name, value)| (Arc::from(*name), value.clone())).collect(), |_| false)
    }

    /// What unifying finds when each name that it finds is bound: nothing where the shapes contradict each other.
    fn solve(axes: &[Axis], extents: &[i128]) -> Option<Vec<(Arc<str>, Value)>> {
        let branch = branch();
        let mut frame = frame(&branch, &[("K", Value::Int(3))]);
        let mut solved = Vec::new();
        loop {
            match unify("t", axes, extents, &frame) {
                Unified::Agree => return Some(solved),
                Unified::Contradict(_) => return None,
                Unified::Open(found) => {
                    assert!(!found.is_empty(), "nothing more is found in {extents:?}");
                    for (name, value) in found {
                        frame.bind(&name, value.clone());
                        solved.push((name, value));
                    }
                }
            }
        }
    }

    /// Every value of `M` and `S` at which the axes are `extents`, by trying them all.
    fn search(axes: &[Axis], extents: &[i128]) -> Vec<(Value, Value)> {
        let mut found = Vec::new();
        let branch = branch();
        let ranges = (0..=extents.len()).flat_map(|from| (from..=extents.len()).map(move |to| (from, to)));
        let mut slices: Vec<Value> = ranges.map(|(from, to)| Value::ints(extents[from..to].iter().copied())).collect();
        slices.dedup();
        for m in 0..=20 {
            for s in &slices {
                let known = [("K", Value::Int(3)), ("M", Value::Int(m)), ("S", s.clone())];
                if crate::eval::evaluate_axes(axes, &frame(&branch, &known)).as_deref() == Ok(extents) {
                    let pair = (Value::Int(m), s.clone());
                    if !found.contains(&pair) {
                        found.push(pair);
                    }
                }
            }
        }
        found
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(300))]

        #[test]
        fn unifying_finds_what_a_search_finds(
            items in prop::collection::vec(
                prop_oneof![
                    2 => Just("M".to_owned()),
                    2 => (1..4i64, -2..4i64).prop_map(|(a, b)| format!("{a} * M + {b}")),
                    1 => Just("M + K".to_owned()),
                    1 => Just("K".to_owned()),
                    1 => (0..4i64).prop_map(|n| n.to_string()),
                ],
                1..4,
            ),
            splice in prop::option::of(0..4usize),
            extents in prop::collection::vec(0..8i128, 0..5),
        ) {
            let mut items = items;
            if let Some(at) = splice {
                items.insert(at.min(items.len()), "*S".to_owned());
            }
            let axes = axes(&format!("[{}]", items.join(", ")));
            let all = search(&axes, &extents);
            match solve(&axes, &extents) {
                None => prop_assert!(all.is_empty(), "{items:?} {extents:?}: {all:?}"),
                Some(solved) => {
                    prop_assert!(!all.is_empty(), "{items:?} {extents:?}: {solved:?}");
                    for (name, value) in solved {
                        let agree = all.iter().all(|(m, s)| *if &*name == "M" { m } else { s } == value);
                        prop_assert!(agree, "{items:?} {extents:?}: {name} is {value:?} or one of {all:?}");
                    }
                }
            }
        }
    }
}
