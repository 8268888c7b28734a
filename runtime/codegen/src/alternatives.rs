//! Bodies that differ between points, parted by what decides between them: for each body, the alternatives that lead to it.

use std::sync::Arc;

use tileops_analyzer::check::{Assignment, Point};
use tileops_analyzer::lang::Value;

/// One body a point, each point with the same names.
pub(crate) type Arms<S> = Vec<(Point, Vec<S>)>;

/// What arms are parted into.
#[derive(Debug, PartialEq)]
pub(crate) enum Parts<S> {
    /// One body, that of every point.
    One(Vec<S>),
    /// A name that decides between bodies, and for each alternative of it the arms that are left, without the name. Two
    /// of the alternatives at least lead to different bodies.
    By(Arc<str>, Vec<(Vec<Assignment>, Arms<S>)>),
}

/// Parts `arms` by the first name that the bodies follow.
pub(crate) fn parted<S: Clone + PartialEq>(mut arms: Arms<S>) -> Parts<S> {
    loop {
        let Some(((first, body), others)) = arms.split_first() else { return Parts::One(Vec::new()) };
        // Points that nothing tells apart have one body.
        let (false, Some((name, _))) = (others.iter().all(|(_, other)| other == body), first.assignments.first())
        else {
            return Parts::One(body.clone());
        };
        let name = name.clone();
        let rest: Arms<S> = arms.iter().map(|(point, body)| (without(point, &name), body.clone())).collect();
        let decides = rest.iter().enumerate().any(|(at, (point, body))| {
            rest.iter().skip(at + 1).any(|(other, theirs)| other == point && theirs != body)
        });
        if decides {
            let mut groups: Vec<(Vec<Assignment>, Arms<S>)> = Vec::new();
            for ((point, _), arm) in arms.iter().zip(rest) {
                let own: Vec<Assignment> = of(point, &name).into_iter().cloned().collect();
                match groups.iter_mut().find(|(alternative, _)| *alternative == own) {
                    Some((_, arms)) => arms.push(arm),
                    None => groups.push((own, vec![arm])),
                }
            }
            return Parts::By(name, groups);
        }
        // A name that the bodies do not follow is left out.
        arms.clear();
        for arm in rest {
            if !arms.contains(&arm) {
                arms.push(arm);
            }
        }
    }
}

/// Each body of `groups` once, with the alternatives that lead to it, each of them as far as it tells them from the others.
pub(crate) fn merged<S: PartialEq>(groups: Vec<(Vec<Assignment>, Vec<S>)>) -> Vec<(Vec<Vec<Assignment>>, Vec<S>)> {
    let all: Vec<Vec<Assignment>> = groups.iter().map(|(own, _)| own.clone()).collect();
    let mut bodies: Vec<(Vec<Vec<Assignment>>, Vec<S>)> = Vec::new();
    for (own, body) in groups {
        match bodies.iter_mut().find(|(_, known)| *known == body) {
            Some((alternatives, _)) => alternatives.push(own),
            None => bodies.push((vec![own], body)),
        }
    }
    affirmed_first(&mut bodies);
    // What needs nothing done stands last, where it need not be said.
    bodies.sort_by_key(|(_, body)| body.is_empty());
    bodies.into_iter().map(|(alternatives, body)| (told_apart(&alternatives, &all), body)).collect()
}

/// What a point says of a name.
pub(crate) fn of<'p>(point: &'p Point, name: &str) -> Vec<&'p Assignment> {
    point.assignments.iter().filter(|(n, _)| &**n == name).map(|(_, a)| a).collect()
}

fn without(point: &Point, name: &str) -> Point {
    Point { assignments: point.assignments.iter().filter(|(n, _)| &**n != name).cloned().collect() }
}

/// What tells `alternatives` from the others of `all`, each of them what points say of one discriminant: a constructor's field
/// that does not is left out.
fn told_apart(alternatives: &[Vec<Assignment>], all: &[Vec<Assignment>]) -> Vec<Vec<Assignment>> {
    let mut own = alternatives.to_vec();
    let mut others: Vec<Vec<Assignment>> = all.iter().filter(|other| !own.contains(other)).cloned().collect();
    let mut fields: Vec<(Arc<str>, Arc<str>)> = Vec::new();
    for assignment in all.iter().flatten() {
        if let Assignment::Constructor { constructor, fields: known } = assignment {
            for (field, _) in known {
                let field = (constructor.clone(), field.clone());
                if !fields.contains(&field) {
                    fields.push(field);
                }
            }
        }
    }
    for field in &fields {
        let (fewer, rest) = (without_field(&own, field), without_field(&others, field));
        if rest.iter().all(|other| !fewer.contains(other)) {
            (own, others) = (fewer, rest);
        }
    }
    own
}

/// Of two bodies, the one under `if x` before the one under `if not x`: a reader takes a condition as it is.
fn affirmed_first<T>(bodies: &mut [(Vec<Vec<Assignment>>, T)]) {
    let says = |alternatives: &[Vec<Assignment>]| match alternatives {
        [own] => match own.as_slice() {
            [Assignment::Present(says) | Assignment::Value(Value::Bool(says))] => Some(*says),
            _ => None,
        },
        _ => None,
    };
    if let [(first, _), (second, _)] = &*bodies
        && says(first) == Some(false)
        && says(second) == Some(true)
    {
        bodies.swap(0, 1);
    }
}

/// The alternatives without a constructor's field, each once.
fn without_field(alternatives: &[Vec<Assignment>], (of, dropped): &(Arc<str>, Arc<str>)) -> Vec<Vec<Assignment>> {
    let mut found: Vec<Vec<Assignment>> = Vec::new();
    for alternative in alternatives {
        let mut alternative = alternative.clone();
        for assignment in &mut alternative {
            if let Assignment::Constructor { constructor, fields } = assignment
                && constructor == of
            {
                fields.retain(|(field, _)| field != dropped);
            }
        }
        if !found.contains(&alternative) {
            found.push(alternative);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(constructor: &str, fields: &[(&str, &str)]) -> Vec<Assignment> {
        let fields = fields.iter().map(|(name, value)| (Arc::from(*name), Value::Str(Arc::from(*value)))).collect();
        vec![Assignment::Constructor { constructor: constructor.into(), fields }]
    }

    #[test]
    fn a_field_that_tells_nothing_apart_is_left_out() {
        let packed = |by: &str, order: &str| rows("packed", &[("by", by), ("order", order)]);
        let all =
            [packed("row", "up"), packed("row", "down"), packed("end", "up"), packed("end", "down"), rows("slab", &[])];
        assert_eq!(told_apart(&all[..4], &all), [rows("packed", &[])]);
        assert_eq!(told_apart(&all[..2], &all), [rows("packed", &[("by", "row")])]);
        assert_eq!(told_apart(&[all[0].clone(), all[2].clone()], &all), [rows("packed", &[("order", "up")])]);
        assert_eq!(told_apart(&[all[0].clone(), all[3].clone()], &all), [all[0].clone(), all[3].clone()]);
        assert_eq!(told_apart(&all[4..], &all), [rows("slab", &[])]);
    }

    #[test]
    fn what_is_affirmed_stands_first() {
        let present = |is: bool| vec![vec![Assignment::Present(is)]];
        let mut two = [(present(false), "without"), (present(true), "with")];
        affirmed_first(&mut two);
        assert_eq!(two.map(|(_, body)| body), ["with", "without"]);
        let mut kept = [(present(false), "without"), (vec![rows("packed", &[])], "packed")];
        affirmed_first(&mut kept);
        assert_eq!(kept.map(|(_, body)| body), ["without", "packed"]);
    }

    fn point(assignments: &[(&str, bool)]) -> Point {
        let assignment = |&(name, is): &(&str, bool)| (Arc::from(name), Assignment::Value(Value::Bool(is)));
        Point { assignments: assignments.iter().map(assignment).collect() }
    }

    #[test]
    fn a_name_that_bodies_do_not_follow_parts_nothing() {
        let arm = |a, b, body| (point(&[("a", a), ("b", b)]), vec![body]);
        let by_b = vec![arm(true, true, 1), arm(true, false, 2), arm(false, true, 1), arm(false, false, 2)];
        let group = |is, body| (vec![Assignment::Value(Value::Bool(is))], vec![(point(&[]), vec![body])]);
        assert_eq!(parted(by_b), Parts::By("b".into(), vec![group(true, 1), group(false, 2)]));
        assert_eq!(parted(vec![arm(true, true, 1), arm(false, true, 1)]), Parts::One(vec![1]));
        assert_eq!(parted(Arms::<u8>::new()), Parts::One(vec![]));
    }

    #[test]
    fn bodies_stand_once_and_the_empty_one_last() {
        let rows = |constructor: &str| rows(constructor, &[]);
        let groups =
            vec![(rows("packed"), vec![]), (rows("slab"), vec![1]), (rows("paged"), vec![]), (rows("ring"), vec![2])];
        let expected = vec![
            (vec![rows("slab")], vec![1]),
            (vec![rows("ring")], vec![2]),
            (vec![rows("packed"), rows("paged")], vec![]),
        ];
        assert_eq!(merged(groups), expected);
    }
}
