//! Bodies that differ between points, as nested conditions over what decides between them.

use std::sync::Arc;

use tileops_analyzer::check::{Assignment, Point};
use tileops_analyzer::lang::Value;

use super::expr::{Printer, string};
use super::outline::enclosed;
use super::stmt::Stmt;
use crate::layout::Doc;
use crate::shared::{affirmed_first, told_apart};

/// One body a point, each point with the same names.
pub(crate) type Arms = Vec<(Point, Vec<Stmt>)>;

/// The statements that run the body of the point that holds. What every body does stands once, and only what is between
/// follows conditions: those read parameters and arguments alone, which no statement changes.
pub(crate) fn branches(arms: Arms, printer: Printer<'_>) -> Vec<Stmt> {
    let Some(((_, first), others)) = arms.split_first() else { return Vec::new() };
    if others.iter().all(|(_, body)| body == first) {
        return first.clone();
    }
    let mut statements = Vec::new();
    // Of each arm, where its next segment starts.
    let mut starts = vec![0; arms.len()];
    let segment = |starts: &[usize], ends: &[usize]| -> Arms {
        let bounds = starts.iter().zip(ends);
        arms.iter()
            .zip(bounds)
            .map(|((point, body), (&from, &to))| (point.clone(), body.get(from..to).unwrap_or_default().to_vec()))
            .collect()
    };
    for (position, statement) in first.iter().enumerate() {
        let found = arms.iter().zip(&starts).enumerate().map(|(arm, ((_, body), &start))| match arm {
            0 => Some(position),
            _ => body.iter().skip(start).position(|other| other == statement).map(|ahead| start + ahead),
        });
        let Some(ends) = found.collect::<Option<Vec<usize>>>() else { continue };
        statements.extend(split(segment(&starts, &ends), printer));
        statements.push(statement.clone());
        starts = ends.into_iter().map(|end| end + 1).collect();
    }
    let ends: Vec<usize> = arms.iter().map(|(_, body)| body.len()).collect();
    statements.extend(split(segment(&starts, &ends), printer));
    statements
}

fn of<'p>(point: &'p Point, name: &str) -> Vec<&'p Assignment> {
    point.assignments.iter().filter(|(n, _)| &**n == name).map(|(_, a)| a).collect()
}

fn without(point: &Point, name: &str) -> Point {
    Point { assignments: point.assignments.iter().filter(|(n, _)| &**n != name).cloned().collect() }
}

/// Bodies that share no statement, behind conditions.
fn split(arms: Arms, printer: Printer<'_>) -> Vec<Stmt> {
    if let Some(((_, first), others)) = arms.split_first()
        && others.iter().all(|(_, body)| body == first)
    {
        return first.clone();
    }
    let mut names: Vec<Arc<str>> = Vec::new();
    for (name, _) in arms.iter().flat_map(|(point, _)| &point.assignments) {
        if !names.contains(name) {
            names.push(name.clone());
        }
    }
    let Some(name) = names.first().cloned() else {
        // Points that nothing tells apart have one body.
        return arms.into_iter().next().map(|(_, body)| body).unwrap_or_default();
    };
    // A name that the bodies do not follow is left out.
    let rest: Arms = arms.iter().map(|(point, body)| (without(point, &name), body.clone())).collect();
    let decides = rest
        .iter()
        .enumerate()
        .any(|(at, (point, body))| rest.iter().skip(at + 1).any(|(other, theirs)| other == point && theirs != body));
    if !decides {
        let mut kept: Arms = Vec::new();
        for arm in rest {
            if !kept.contains(&arm) {
                kept.push(arm);
            }
        }
        return branches(kept, printer);
    }
    let mut groups: Vec<(Vec<Assignment>, Arms)> = Vec::new();
    for ((point, _), arm) in arms.iter().zip(rest) {
        let own: Vec<Assignment> = of(point, &name).into_iter().cloned().collect();
        match groups.iter_mut().find(|(assignments, _)| *assignments == own) {
            Some((_, arms)) => arms.push(arm),
            None => groups.push((own, vec![arm])),
        }
    }
    let all: Vec<Vec<Assignment>> = groups.iter().map(|(own, _)| own.clone()).collect();
    // Of each body, the alternatives that lead to it.
    let mut bodies: Vec<(Vec<Vec<Assignment>>, Vec<Stmt>)> = Vec::new();
    for (own, arms) in groups {
        let body = branches(arms, printer);
        match bodies.iter_mut().find(|(_, known)| *known == body) {
            Some((alternatives, _)) => alternatives.push(own),
            None => bodies.push((vec![own], body)),
        }
    }
    affirmed_first(&mut bodies);
    // What needs nothing done stands last, where it need not be said.
    bodies.sort_by_key(|(_, body)| body.is_empty());
    let otherwise = if bodies.len() > 1 { bodies.pop().map(|(_, body)| body).unwrap_or_default() } else { Vec::new() };
    bodies.retain(|(_, body)| !body.is_empty());
    if bodies.is_empty() {
        return otherwise;
    }
    let arms = bodies.into_iter().map(|(alternatives, body)| {
        let alternatives = told_apart(&alternatives, &all);
        (condition(alternatives.iter().map(|own| tests(&name, own, printer)).collect()), body)
    });
    let arms = arms.collect();
    vec![Stmt::chain(arms, otherwise)]
}

/// One of the alternatives holds: all of its conditions do.
fn condition(alternatives: Vec<Vec<String>>) -> Doc {
    let joined = |operands: Vec<Doc>, word: &str| {
        let mut docs = Vec::new();
        for operand in operands {
            if !docs.is_empty() {
                docs.extend([Doc::Space, Doc::text(format!("{word} "))]);
            }
            docs.push(operand);
        }
        Doc::Cat(docs)
    };
    let several = alternatives.len() > 1;
    let alternative = |conditions: Vec<String>| {
        let encloses = several && conditions.len() > 1;
        let all = joined(conditions.into_iter().map(Doc::text).collect(), "and");
        if encloses { enclosed(all) } else { all }
    };
    joined(alternatives.into_iter().map(alternative).collect(), "or")
}

/// The conditions under which a point's assignments of one name hold.
fn tests(name: &str, own: &[Assignment], printer: Printer<'_>) -> Vec<String> {
    let param = printer.name(name);
    let valued = |place: &str, value: &Value| match value {
        Value::Bool(true) => place.to_owned(),
        Value::Bool(false) => format!("not {place}"),
        Value::Str(text) => format!("{place} == {}", string(text)),
        other => format!("{place} == {other}"),
    };
    let has_value = own.iter().any(|a| matches!(a, Assignment::Value(_)));
    let mut tests = Vec::new();
    for assignment in own {
        match assignment {
            // `not v` holds of an absent one too; the value of an enum tells by itself.
            Assignment::Present(true) if has_value => {
                let no = own.iter().any(|a| matches!(a, Assignment::Value(Value::Bool(false))));
                if no {
                    tests.push(printer.presence(name, true));
                }
            }
            Assignment::Present(present) => tests.push(printer.presence(name, *present)),
            Assignment::Value(value) => tests.push(valued(&param, value)),
            Assignment::Constructor { constructor, fields } => {
                tests.push(format!("{param}.kind == {}", string(constructor)));
                tests.extend(fields.iter().map(|(field, value)| valued(&format!("{param}.{field}"), value)));
            }
        }
    }
    tests
}
