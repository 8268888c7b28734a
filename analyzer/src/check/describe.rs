//! Points in words: "when `trans_a` is true and `bias` is passed".

use std::sync::Arc;

use super::discriminants::Variable;
use super::{Assignment, Point};
use crate::lang::Value;

/// A value as a message shows it.
pub(crate) fn show(value: &Value) -> String {
    match value {
        Value::Bool(b) => b.to_string(),
        Value::None => "None".to_owned(),
        Value::Int(n) => n.to_string(),
        other => format!("`{}`", plain(other)),
    }
}

/// A value without quotes.
pub(crate) fn plain(value: &Value) -> String {
    match value {
        Value::Str(text) | Value::Opaque(text) => text.to_string(),
        Value::DType(dtype) => dtype.name().to_owned(),
        Value::Bool(b) => b.to_string(),
        Value::Int(n) => n.to_string(),
        Value::Float(x) => x.to_string(),
        Value::None => "None".to_owned(),
        Value::Seq(items) => format!("({})", items.iter().map(plain).collect::<Vec<_>>().join(", ")),
        Value::Adt(adt) => adt.constructor.to_string(),
    }
}

/// One thing that a point says.
#[derive(Debug, Clone, PartialEq)]
enum Atom {
    Present(Arc<str>, bool),
    Value(Arc<str>, Value),
    Constructor(Arc<str>, Arc<str>),
    Field(Arc<str>, Arc<str>, Value),
}

fn atoms(point: &Point) -> Vec<Atom> {
    let mut atoms = Vec::new();
    for (name, assignment) in &point.assignments {
        match assignment {
            Assignment::Present(present) => atoms.push(Atom::Present(name.clone(), *present)),
            Assignment::Value(value) => atoms.push(Atom::Value(name.clone(), value.clone())),
            Assignment::Constructor { constructor, fields } => {
                atoms.push(Atom::Constructor(name.clone(), constructor.clone()));
                atoms.extend(fields.iter().map(|(f, value)| Atom::Field(name.clone(), f.clone(), value.clone())));
            }
        }
    }
    atoms
}

fn words(atoms: &[Atom]) -> String {
    let mut clauses: Vec<String> = Vec::new();
    for atom in atoms {
        clauses.push(match atom {
            Atom::Present(name, present) => {
                // A value says that its name is passed.
                if *present
                    && atoms.iter().any(|a| matches!(a, Atom::Value(n, _) | Atom::Constructor(n, _) if n == name))
                {
                    continue;
                }
                format!("`{name}` is {}passed", if *present { "" } else { "not " })
            }
            Atom::Value(name, value) => format!("`{name}` is {}", show(value)),
            Atom::Constructor(name, constructor) => format!("`{name}` is `{constructor}`"),
            Atom::Field(name, field, value) => format!("`{name}.{field}` is {}", show(value)),
        });
    }
    match clauses.as_slice() {
        [] => String::new(),
        [one] => one.clone(),
        [most @ .., last] => format!("{} and {last}", most.join(", ")),
    }
}

/// Everything that a point says, in words, without the "when".
pub(crate) fn point(point: &Point) -> String {
    words(&atoms(point))
}

/// " when …": the least that, among `judged`, implies what holds at exactly the points marked; empty where it holds at all of
/// them. The description is that of the first marked point, with each part dropped that is not needed.
pub(crate) fn when(judged: &[(&Point, bool)]) -> String {
    if judged.iter().all(|(_, holds)| *holds) {
        return String::new();
    }
    let Some((first, _)) = judged.iter().find(|(_, holds)| *holds) else { return String::new() };
    let mut kept = atoms(first);
    let others: Vec<Vec<Atom>> = judged.iter().filter(|(_, holds)| !holds).map(|(point, _)| atoms(point)).collect();
    let implies = |kept: &[Atom]| !others.iter().any(|other| kept.iter().all(|atom| other.contains(atom)));
    // From the last to the first: what is declared first is named first.
    for position in (0..kept.len()).rev() {
        let mut fewer = kept.clone();
        fewer.remove(position);
        if implies(&fewer) {
            kept = fewer;
        }
    }
    let words = words(&kept);
    if words.is_empty() { words } else { format!(" when {words}") }
}

/// The names of variables.
pub(crate) fn names(variables: &[Variable], which: &[usize]) -> Vec<Arc<str>> {
    which.iter().filter_map(|&v| variables.get(v)).map(|v| v.name.clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(a: bool, b: bool) -> Point {
        let value = |v| Assignment::Value(Value::Bool(v));
        Point { assignments: vec![("a".into(), value(a)), ("b".into(), Assignment::Present(b))] }
    }

    #[test]
    fn a_description_names_only_what_matters() {
        let points = [at(false, false), at(true, false), at(false, true), at(true, true)];
        let judge = |holds: [bool; 4]| when(&points.iter().zip(holds).collect::<Vec<_>>());
        assert_eq!(judge([false, true, false, true]), " when `a` is true");
        assert_eq!(judge([false, false, false, true]), " when `a` is true and `b` is passed");
        assert_eq!(judge([true, true, true, true]), "");
        assert_eq!(judge([true, true, false, false]), " when `b` is not passed");
    }
}
