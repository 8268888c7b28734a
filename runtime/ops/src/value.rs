//! Values of parameters and indices.

use std::fmt;
use std::sync::Arc;

use crate::DType;

/// A value of a parameter or an index.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// An integer.
    Int(i128),
    /// A Boolean.
    Bool(bool),
    /// A floating-point number.
    Float(f64),
    /// Nothing: an absent `Maybe`.
    None,
    /// A string.
    Str(Arc<str>),
    /// A dtype.
    DType(DType),
    /// A tuple, a shape or a sequence.
    Seq(Arc<[Value]>),
    /// A value of a sum type.
    Variant(Arc<Variant>),
}

/// A value of a sum type: the constructor, and its fields.
#[derive(Debug, Clone, PartialEq)]
pub struct Variant {
    /// The constructor's name.
    pub kind: Arc<str>,
    /// Each field's value.
    pub fields: Vec<(Arc<str>, Value)>,
}

impl Variant {
    /// The value of constructor `kind` with `fields`.
    pub fn new<N: Into<Arc<str>>>(kind: impl Into<Arc<str>>, fields: impl IntoIterator<Item = (N, Value)>) -> Self {
        Variant { kind: kind.into(), fields: fields.into_iter().map(|(name, value)| (name.into(), value)).collect() }
    }

    /// The field called `name`.
    pub fn field(&self, name: &str) -> Option<&Value> {
        self.fields.iter().find(|(field, _)| &**field == name).map(|(_, value)| value)
    }
}

impl Value {
    /// The integers of a shape or another sequence of nothing else.
    pub fn to_ints(&self) -> Option<Vec<i128>> {
        match self {
            Value::Seq(items) => {
                items.iter().map(|item| if let Value::Int(value) = item { Some(*value) } else { None }).collect()
            }
            _ => None,
        }
    }
}

macro_rules! from {
    ($($ty:ty => |$value:ident| $made:expr;)*) => {$(
        impl From<$ty> for Value {
            fn from($value: $ty) -> Self {
                $made
            }
        }
    )*};
}

from! {
    i128 => |value| Value::Int(value);
    i64 => |value| Value::Int(value.into());
    i32 => |value| Value::Int(value.into());
    bool => |value| Value::Bool(value);
    f64 => |value| Value::Float(value);
    &str => |value| Value::Str(value.into());
    Arc<str> => |value| Value::Str(value);
    DType => |value| Value::DType(value);
    &[i128] => |value| value.iter().copied().collect();
    Variant => |value| Value::Variant(Arc::new(value));
}

impl<T: Into<Value>> From<Vec<T>> for Value {
    fn from(items: Vec<T>) -> Self {
        items.into_iter().collect()
    }
}

impl<T: Into<Value>, const N: usize> From<[T; N]> for Value {
    fn from(items: [T; N]) -> Self {
        items.into_iter().collect()
    }
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Value::None, Into::into)
    }
}

impl<T: Into<Value>> FromIterator<T> for Value {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        Value::Seq(items.into_iter().map(Into::into).collect())
    }
}

/// As Python shows it.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Int(value) => write!(f, "{value}"),
            Value::Bool(true) => f.write_str("True"),
            Value::Bool(false) => f.write_str("False"),
            Value::Float(value) if value.is_infinite() => f.write_str(if *value < 0.0 { "-inf" } else { "inf" }),
            Value::Float(value) => write!(f, "{value:?}"),
            Value::None => f.write_str("None"),
            Value::Str(text) => write!(f, "'{text}'"),
            Value::DType(dtype) => write!(f, "{dtype}"),
            Value::Seq(items) => {
                f.write_str("(")?;
                for (position, item) in items.iter().enumerate() {
                    write!(f, "{}{item}", if position > 0 { ", " } else { "" })?;
                }
                f.write_str(if items.len() == 1 { ",)" } else { ")" })
            }
            Value::Variant(variant) => {
                write!(f, "{{{}: {{", variant.kind)?;
                for (position, (name, value)) in variant.fields.iter().enumerate() {
                    write!(f, "{}{name}: {value}", if position > 0 { ", " } else { "" })?;
                }
                f.write_str("}}")
            }
        }
    }
}
