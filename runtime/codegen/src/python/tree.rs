//! Bodies that differ between points, as nested conditions over what decides between them.

use tileops_analyzer::check::Assignment;
use tileops_analyzer::lang::Value;

use super::expr::{Printer, string};
use super::outline::{enclosed, joined};
use super::stmt::Stmt;
use crate::alternatives::{self, Parts, merged, parted};
use crate::layout::Doc;

/// One body a point, each point with the same names.
pub(crate) type Arms = alternatives::Arms<Stmt>;

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

/// Bodies that share no statement, behind conditions.
fn split(arms: Arms, printer: Printer<'_>) -> Vec<Stmt> {
    let (name, groups) = match parted(arms) {
        Parts::One(body) => return body,
        Parts::By(name, groups) => (name, groups),
    };
    let mut bodies = merged(groups.into_iter().map(|(own, arms)| (own, branches(arms, printer))).collect());
    // Two bodies at least, since the name decides, of which only the last can be empty.
    let otherwise = bodies.pop().map(|(_, body)| body).unwrap_or_default();
    let arms = bodies.into_iter().map(|(alternatives, body)| {
        (condition(alternatives.iter().map(|own| tests(&name, own, printer)).collect()), body)
    });
    vec![Stmt::chain(arms.collect(), otherwise)]
}

/// One of the alternatives holds: all of its conditions do.
fn condition(alternatives: Vec<Vec<String>>) -> Doc {
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
