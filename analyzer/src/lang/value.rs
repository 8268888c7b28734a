//! Values: what an expression is at one call.

use std::sync::Arc;

use super::DType;

/// A value of the expression language.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// An integer. All arithmetic on it is checked: a result beyond 128 bits is an error, never a wrap.
    Int(i128),
    /// A boolean.
    Bool(bool),
    /// A floating-point number; never NaN.
    Float(f64),
    /// `None`: an absent `Maybe`.
    None,
    /// A string.
    Str(Arc<str>),
    /// A tuple, a shape or a sequence.
    Seq(Arc<[Value]>),
    /// A dtype. It equals the string that names it.
    DType(DType),
    /// A value of an ADT.
    Adt(Arc<AdtValue>),
    /// A value that takes no part in types, by its text.
    Opaque(Arc<str>),
}

/// A value of an ADT: `{constructor: {field: value}}`.
#[derive(Debug, Clone, PartialEq)]
pub struct AdtValue {
    /// The ADT's name.
    pub adt: Arc<str>,
    /// The constructor's name.
    pub constructor: Arc<str>,
    /// Each field's value, in the order declared.
    pub fields: Vec<(Arc<str>, Value)>,
}

impl AdtValue {
    /// The field called `name`.
    pub fn field(&self, name: &str) -> Option<&Value> {
        self.fields.iter().find(|(field, _)| &**field == name).map(|(_, value)| value)
    }
}

impl Value {
    /// A shape or another sequence of integers.
    pub fn ints(items: impl IntoIterator<Item = i128>) -> Value {
        Value::Seq(items.into_iter().map(Value::Int).collect())
    }
}
