//! Values of parameters and indices.

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

use crate::primitives::Undefined;
use crate::{DType, Int};

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

    /// The value of a constructor without fields.
    pub fn bare(kind: impl Into<Arc<str>>) -> Self {
        Variant { kind: kind.into(), fields: Vec::new() }
    }

    /// The constructor's name.
    pub fn kind(&self) -> &str {
        &self.kind
    }

    /// The field called `name`.
    pub fn field(&self, name: &str) -> Option<&Value> {
        self.fields.iter().find(|(field, _)| &**field == name).map(|(_, value)| value)
    }

    fn lacks(&self, kind: &str, name: &str) -> Undefined {
        Undefined(format!("`{}` has no {kind} `{name}`", self.kind))
    }

    /// The integer field called `name`.
    pub fn int(&self, name: &str) -> Result<i128, Undefined> {
        match self.field(name) {
            Some(Value::Int(value)) => Ok(*value),
            _ => Err(self.lacks("integer", name)),
        }
    }

    /// The Boolean field called `name`.
    pub fn bool(&self, name: &str) -> Result<bool, Undefined> {
        match self.field(name) {
            Some(Value::Bool(value)) => Ok(*value),
            _ => Err(self.lacks("Boolean", name)),
        }
    }

    /// The field called `name`, one of a set of literals.
    pub fn str(&self, name: &str) -> Result<&str, Undefined> {
        match self.field(name) {
            Some(Value::Str(value)) => Ok(value),
            _ => Err(self.lacks("string", name)),
        }
    }

    /// Whether the field called `name` is that literal.
    pub fn is(&self, name: &str, literal: &str) -> bool {
        self.str(name) == Ok(literal)
    }
}

/// A field's name, and what its value must be.
pub type FieldTest<'a> = (&'a str, fn(&Value) -> bool);

impl Value {
    /// Whether it is an integer.
    pub fn is_int(&self) -> bool {
        matches!(self, Value::Int(_))
    }

    /// Whether it is an integer, and not negative.
    pub fn is_dim(&self) -> bool {
        matches!(self, Value::Int(0..))
    }

    /// Whether it is a Boolean.
    pub fn is_bool(&self) -> bool {
        matches!(self, Value::Bool(_))
    }

    /// Whether it is a number: a Boolean is none.
    pub fn is_float(&self) -> bool {
        matches!(self, Value::Int(_)) || matches!(self, Value::Float(value) if !value.is_nan())
    }

    /// Whether it is a string.
    pub fn is_str(&self) -> bool {
        matches!(self, Value::Str(_))
    }

    /// Whether it is `None`.
    pub fn is_none(&self) -> bool {
        matches!(self, Value::None)
    }

    /// Whether it is one of the literals.
    pub fn is_one_of(&self, literals: &[&str]) -> bool {
        matches!(self, Value::Str(text) if literals.contains(&&**text))
    }

    /// The dtype that it is, or that it names.
    pub fn to_dtype(&self) -> Option<DType> {
        match self {
            Value::DType(dtype) => Some(*dtype),
            Value::Str(name) => DType::from_name(name),
            _ => None,
        }
    }

    /// Whether it is one of the dtypes.
    pub fn is_dtype_of(&self, dtypes: &[DType]) -> bool {
        self.to_dtype().is_some_and(|dtype| dtypes.contains(&dtype))
    }

    /// Whether it is a sequence (of that length, where there is one) of such items.
    pub fn is_seq(&self, item: fn(&Value) -> bool, length: Option<usize>) -> bool {
        matches!(self, Value::Seq(items) if length.is_none_or(|n| items.len() == n) && items.iter().all(item))
    }

    /// Whether it is a value of one of the constructors, with such fields and no others.
    pub fn is_variant_of(&self, constructors: &[(&str, &[FieldTest<'_>])]) -> bool {
        let Value::Variant(variant) = self else { return false };
        constructors.iter().any(|(kind, fields)| {
            &*variant.kind == *kind
                && variant.fields.len() == fields.len()
                && fields.iter().all(|(name, is)| variant.field(name).is_some_and(is))
        })
    }

    /// The order of two numbers, exact for an integer and a float, or of two strings.
    pub fn compare(&self, other: &Value) -> Result<Ordering, Undefined> {
        let order = match (self, other) {
            (Value::Str(a), Value::Str(b)) => Some(a.cmp(b)),
            (Value::Float(a), Value::Float(b)) => a.partial_cmp(b),
            (Value::Float(a), b) => b.to_int().and_then(|b| compare_int_to_float(b, *a)).map(Ordering::reverse),
            (a, Value::Float(b)) => a.to_int().and_then(|a| compare_int_to_float(a, *b)),
            (a, b) => a.to_int().zip(b.to_int()).map(|(a, b)| a.cmp(&b)),
        };
        order.ok_or_else(|| Undefined(format!("{self} and {other} have no order")))
    }

    /// Whether the two are equal as Python has it: a number by its value, a dtype and its name.
    pub fn equals(&self, other: &Value) -> bool {
        match (self, other) {
            (Value::Seq(a), Value::Seq(b)) => a.len() == b.len() && a.iter().zip(&**b).all(|(a, b)| a.equals(b)),
            (Value::DType(_), Value::Str(_)) | (Value::Str(_), Value::DType(_)) => self.to_dtype() == other.to_dtype(),
            (Value::Str(_) | Value::None | Value::DType(_) | Value::Variant(_) | Value::Seq(_), _) => self == other,
            _ => self.compare(other) == Ok(Ordering::Equal),
        }
    }

    fn is_no(&self, what: &str) -> Undefined {
        Undefined(format!("{self} is no {what}"))
    }

    /// The integer that it is, or that a Boolean counts as.
    pub fn as_int(&self) -> Result<i128, Undefined> {
        self.to_int().ok_or_else(|| self.is_no("integer"))
    }

    /// The Boolean that it is.
    pub fn as_bool(&self) -> Result<bool, Undefined> {
        bool::from_value(self).ok_or_else(|| self.is_no("Boolean"))
    }

    /// The number that it is.
    pub fn as_float(&self) -> Result<f64, Undefined> {
        f64::from_value(self).ok_or_else(|| self.is_no("number"))
    }

    /// The string that it is.
    pub fn as_str(&self) -> Result<&str, Undefined> {
        match self {
            Value::Str(text) => Ok(text),
            _ => Err(self.is_no("string")),
        }
    }

    /// The dtype that it is, or that it names.
    pub fn as_dtype(&self) -> Result<DType, Undefined> {
        self.to_dtype().ok_or_else(|| self.is_no("dtype"))
    }

    /// The integers of a sequence.
    pub fn as_ints(&self) -> Result<Vec<i128>, Undefined> {
        self.to_ints().ok_or_else(|| self.is_no("sequence of integers"))
    }

    fn items(&self) -> Result<&[Value], Undefined> {
        match self {
            Value::Seq(items) => Ok(items),
            _ => Err(self.is_no("sequence")),
        }
    }

    /// How many items a sequence has.
    pub fn count(&self) -> Result<i128, Undefined> {
        self.items().map(|items| items.len() as i128)
    }

    /// The item of a sequence, from its end where `i` is negative.
    pub fn item(&self, i: impl Into<Int>) -> Result<&Value, Undefined> {
        let (items, i) = (self.items()?, i.into().get()?);
        let at = if i < 0 { i.saturating_add(items.len() as i128) } else { i };
        let item = usize::try_from(at).ok().and_then(|at| items.get(at));
        item.ok_or_else(|| Undefined(format!("{self} has no item {i}")))
    }

    /// Whether a sequence has an item that equals `item`.
    pub fn contains(&self, item: &Value) -> Result<bool, Undefined> {
        Ok(self.items()?.iter().any(|other| other.equals(item)))
    }

    /// Whether every item of a sequence is true.
    pub fn all(&self) -> Result<bool, Undefined> {
        for item in self.items()? {
            if !item.as_bool()? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The integer that it is, or that a Boolean counts as.
    fn to_int(&self) -> Option<i128> {
        match self {
            Value::Int(value) => Some(*value),
            Value::Bool(value) => Some(i128::from(*value)),
            _ => None,
        }
    }

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

/// The order of `a` and `b`, without rounding either.
fn compare_int_to_float(a: i128, b: f64) -> Option<Ordering> {
    // 2^127: the first float above every i128.
    const LIMIT: f64 = 170_141_183_460_469_231_731_687_303_715_884_105_728.0;
    if b.is_nan() {
        return None;
    }
    if b >= LIMIT {
        return Some(Ordering::Less);
    }
    if b < -LIMIT {
        return Some(Ordering::Greater);
    }
    // Within the limits the integral part converts exactly.
    let whole = b.trunc();
    Some(a.cmp(&(whole as i128)).then(0.0_f64.partial_cmp(&(b - whole))?))
}

/// What a parameter of a kind is in Rust.
pub trait FromValue: Sized {
    /// The value as that type, where it is one.
    fn from_value(value: &Value) -> Option<Self>;
}

macro_rules! from_value {
    ($($ty:ty => $pattern:pat => $made:expr;)*) => {$(
        impl FromValue for $ty {
            fn from_value(value: &Value) -> Option<Self> {
                match value {
                    $pattern => Some($made),
                    _ => None,
                }
            }
        }
    )*};
}

from_value! {
    i128 => Value::Int(value) => *value;
    bool => Value::Bool(value) => *value;
    Arc<str> => Value::Str(value) => value.clone();
    Arc<Variant> => Value::Variant(value) => value.clone();
}

impl FromValue for Value {
    fn from_value(value: &Value) -> Option<Self> {
        Some(value.clone())
    }
}

impl FromValue for f64 {
    fn from_value(value: &Value) -> Option<Self> {
        match value {
            Value::Float(value) => Some(*value),
            Value::Int(value) => Some(*value as f64),
            _ => None,
        }
    }
}

impl FromValue for DType {
    fn from_value(value: &Value) -> Option<Self> {
        value.to_dtype()
    }
}

impl FromValue for Vec<i128> {
    fn from_value(value: &Value) -> Option<Self> {
        value.to_ints()
    }
}

impl<T: FromValue> FromValue for Option<T> {
    fn from_value(value: &Value) -> Option<Self> {
        match value {
            Value::None => Some(None),
            value => T::from_value(value).map(Some),
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
    &Vec<i128> => |value| value.iter().copied().collect();
    Variant => |value| Value::Variant(Arc::new(value));
    Arc<Variant> => |value| Value::Variant(value);
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
