//! Discriminants and their points.

use std::sync::Arc;

use crate::eval::Environment;
use crate::lang::{Adt, Value};

/// Something whose value decides which branch of the signature a call takes.
#[derive(Debug, Clone, PartialEq)]
pub struct Discriminant {
    /// The parameter, the tensor or `out`.
    pub name: Arc<str>,
    /// What its values are.
    pub kind: DiscriminantKind,
}

/// What a discriminant's values are.
#[derive(Debug, Clone, PartialEq)]
pub enum DiscriminantKind {
    /// A Boolean parameter.
    Bool,
    /// An enum parameter's literals.
    Enum(Vec<Arc<str>>),
    /// Whether a `Maybe` parameter, an `optional: true` tensor or `out` is passed. A `Maybe[Bool]` or a `Maybe` of an
    /// enum is two discriminants of one name: its presence, and its value where it is present.
    Presence,
    /// An ADT parameter's constructors, each with its finite fields.
    Adt(Arc<Adt>),
}

/// What a point says of one discriminant.
#[derive(Debug, Clone, PartialEq)]
pub enum Assignment {
    /// A Boolean or an enum literal.
    Value(Value),
    /// Passed or not.
    Present(bool),
    /// A constructor and the values of its finite fields.
    Constructor {
        /// The constructor.
        constructor: Arc<str>,
        /// Its Boolean and enum fields.
        fields: Vec<(Arc<str>, Value)>,
    },
}

/// One combination of discriminants: what decides a branch of the signature. Discriminants that it does not name are
/// undetermined.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Point {
    /// The assignments, in the order of the discriminants.
    pub assignments: Vec<(Arc<str>, Assignment)>,
}

impl Point {
    fn find<T>(&self, name: &str, pick: impl Fn(&Assignment) -> Option<T>) -> Option<T> {
        self.assignments.iter().filter(|(n, _)| &**n == name).find_map(|(_, a)| pick(a))
    }
}

impl Environment for Point {
    fn value(&self, name: &str) -> Option<Value> {
        self.find(name, |a| match a {
            Assignment::Value(value) => Some(value.clone()),
            Assignment::Present(false) => Some(Value::None),
            _ => None,
        })
    }

    fn present(&self, name: &str) -> Option<bool> {
        self.find(name, |a| match a {
            Assignment::Present(present) => Some(*present),
            _ => None,
        })
    }

    fn field(&self, name: &str, field: &str) -> Option<Value> {
        self.find(name, |a| match a {
            Assignment::Constructor { constructor, fields } => {
                if field == "kind" {
                    Some(Value::Str(constructor.clone()))
                } else {
                    fields.iter().find(|(f, _)| &**f == field).map(|(_, v)| v.clone())
                }
            }
            _ => None,
        })
    }
}
