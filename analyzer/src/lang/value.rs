//! Values: what an expression is at one call.

use std::cmp::Ordering;
use std::fmt::{self, Display, Formatter};
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

    /// The integer that it is, or that a Boolean counts as.
    pub fn as_int(&self) -> Option<i128> {
        match self {
            Value::Int(value) => Some(*value),
            Value::Bool(value) => Some(i128::from(*value)),
            _ => None,
        }
    }

    /// The Boolean that it is.
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Value::Bool(value) => Some(*value),
            _ => None,
        }
    }

    /// The items of a sequence.
    pub fn as_seq(&self) -> Option<&[Value]> {
        match self {
            Value::Seq(items) => Some(items),
            _ => None,
        }
    }

    /// The integers of a sequence of nothing else.
    pub fn as_ints(&self) -> Option<Vec<i128>> {
        self.as_seq()?.iter().map(Value::as_int).collect()
    }

    /// The dtype that it is, or that a string names.
    pub fn as_dtype(&self) -> Option<DType> {
        match self {
            Value::DType(dtype) => Some(*dtype),
            Value::Str(name) => DType::from_name(name),
            _ => None,
        }
    }

    /// `==` of the language: as Python's, and a dtype equals the string that names it.
    pub fn equals(&self, other: &Value) -> bool {
        match (self, other) {
            (Value::Str(a), Value::Str(b)) | (Value::Opaque(a), Value::Opaque(b)) => a == b,
            (Value::DType(a), Value::DType(b)) => a == b,
            (Value::DType(dtype), Value::Str(name)) | (Value::Str(name), Value::DType(dtype)) => {
                dtype.name() == &**name
            }
            (Value::None, Value::None) => true,
            (Value::Seq(a), Value::Seq(b)) => a.len() == b.len() && a.iter().zip(b.iter()).all(|(a, b)| a.equals(b)),
            (Value::Adt(a), Value::Adt(b)) => {
                a.adt == b.adt
                    && a.constructor == b.constructor
                    && a.fields.len() == b.fields.len()
                    && a.fields.iter().all(|(name, value)| b.field(name).is_some_and(|other| value.equals(other)))
            }
            _ => self.compare_numbers(other) == Some(Ordering::Equal),
        }
    }

    /// The order of two numbers (a Boolean is 0 or 1), exact for an integer and a float; nothing for anything else.
    pub fn compare_numbers(&self, other: &Value) -> Option<Ordering> {
        match (self, other) {
            (Value::Float(a), Value::Float(b)) => a.partial_cmp(b),
            (Value::Float(a), b) => compare_int_to_float(b.as_int()?, *a).map(Ordering::reverse),
            (a, Value::Float(b)) => compare_int_to_float(a.as_int()?, *b),
            (a, b) => Some(a.as_int()?.cmp(&b.as_int()?)),
        }
    }

    /// The value as a message shows it: a long sequence or text is cut.
    pub fn excerpt(&self) -> String {
        const ITEMS: usize = 8;
        const CHARACTERS: usize = 60;
        let shown = match self {
            Value::Seq(items) if items.len() > ITEMS => {
                let first: Vec<String> = items.iter().take(ITEMS).map(Value::excerpt).collect();
                return format!("({}, …: {} items)", first.join(", "), items.len());
            }
            Value::Str(text) if text.len() > CHARACTERS => Value::Str(cut(text, CHARACTERS).into()).to_string(),
            other => other.to_string(),
        };
        if shown.chars().count() > 2 * CHARACTERS { cut(&shown, 2 * CHARACTERS) } else { shown }
    }
}

fn cut(text: &str, characters: usize) -> String {
    text.chars().take(characters).chain(['…']).collect()
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
    let fraction = b - whole;
    Some(a.cmp(&(whole as i128)).then(0.0_f64.partial_cmp(&fraction)?))
}

impl Display for AdtValue {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{{{}: {{", self.constructor)?;
        for (position, (name, value)) in self.fields.iter().enumerate() {
            if position > 0 {
                f.write_str(", ")?;
            }
            write!(f, "{name}: {value}")?;
        }
        f.write_str("}}")
    }
}

/// As the language writes it; a dtype is its bare name, an ADT's value is as a row writes it.
impl Display for Value {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Value::Int(value) => write!(f, "{value}"),
            Value::Bool(true) => f.write_str("True"),
            Value::Bool(false) => f.write_str("False"),
            Value::Float(value) if value.is_infinite() => f.write_str(if *value < 0.0 { "-inf" } else { "inf" }),
            Value::Float(value) => write!(f, "{value:?}"),
            Value::None => f.write_str("None"),
            Value::Str(text) => write!(f, "'{text}'"),
            Value::Seq(items) => {
                f.write_str("(")?;
                for (position, item) in items.iter().enumerate() {
                    if position > 0 {
                        f.write_str(", ")?;
                    }
                    write!(f, "{item}")?;
                }
                f.write_str(if items.len() == 1 { ",)" } else { ")" })
            }
            Value::DType(dtype) => f.write_str(dtype.name()),
            Value::Adt(value) => write!(f, "{value}"),
            Value::Opaque(text) => f.write_str(text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_compare_exactly() {
        let big = (1_i128 << 53) + 1;
        assert!(!Value::Int(big).equals(&Value::Float(big as f64)));
        assert_eq!(Value::Int(big).compare_numbers(&Value::Float(big as f64)), Some(Ordering::Greater));
        assert_eq!(Value::Int(i128::MAX).compare_numbers(&Value::Float(f64::INFINITY)), Some(Ordering::Less));
        assert_eq!(Value::Int(i128::MIN).compare_numbers(&Value::Float(-(2.0_f64.powi(127)))), Some(Ordering::Equal));
        assert_eq!(Value::Int(-1).compare_numbers(&Value::Float(-0.5)), Some(Ordering::Less));
        assert_eq!(Value::Int(0).compare_numbers(&Value::Float(-0.5)), Some(Ordering::Greater));
        assert!(Value::Bool(true).equals(&Value::Int(1)));
        assert!(Value::Bool(true).equals(&Value::Float(1.0)));
    }

    #[test]
    fn a_dtype_equals_its_name() {
        assert!(Value::DType(DType::Float16).equals(&Value::Str("float16".into())));
        assert!(!Value::DType(DType::Float16).equals(&Value::Str("half".into())));
        assert!(!Value::Int(1).equals(&Value::Str("1".into())));
        assert!(Value::ints([1, 2]).equals(&Value::Seq([Value::Bool(true), Value::Float(2.0)].into())));
    }

    #[test]
    fn long_values_are_cut_in_messages() {
        assert_eq!(Value::ints([1]).excerpt(), "(1,)");
        assert_eq!(Value::ints(0..20).excerpt(), "(0, 1, 2, 3, 4, 5, 6, 7, …: 20 items)");
        assert!(Value::Str("x".repeat(1000).into()).excerpt().len() < 80);
    }
}
