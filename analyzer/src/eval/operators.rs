//! The operators on values. An error is one clause: "`7 % 0` divides by zero".

use std::cmp::Ordering;

use crate::expr::{BinaryOp, CompareOp};
use crate::lang::Value;

type Result<T> = std::result::Result<T, String>;

/// `value` as the Boolean that a condition takes.
pub(super) fn truth(value: &Value) -> Result<bool> {
    value.as_bool().ok_or_else(|| format!("`{}` is no Boolean", value.excerpt()))
}

pub(super) fn negate(value: &Value) -> Result<Value> {
    if let Value::Float(value) = value {
        return Ok(Value::Float(-value));
    }
    match value.as_int().map(i128::checked_neg) {
        Some(Some(negated)) => Ok(Value::Int(negated)),
        Some(None) => Err(format!("`-({})` is beyond 128 bits", value.excerpt())),
        None => Err(format!("`{}` is no number", value.excerpt())),
    }
}

pub(super) fn binary(op: BinaryOp, left: &Value, right: &Value) -> Result<Value> {
    if let (Some(a), Some(b)) = (left.as_int(), right.as_int()) {
        return integers(op, a, b);
    }
    match (float(left), float(right)) {
        (Some(a), Some(b)) => floats(op, a, b),
        (a, _) => {
            let other = if a.is_none() { left } else { right };
            Err(format!("`{}` is no number", other.excerpt()))
        }
    }
}

fn float(value: &Value) -> Option<f64> {
    match value {
        Value::Float(value) => Some(*value),
        other => other.as_int().map(|value| value as f64),
    }
}

fn integers(op: BinaryOp, a: i128, b: i128) -> Result<Value> {
    let shown = || format!("`{a} {} {b}`", op.as_str());
    let result = match op {
        BinaryOp::Add => a.checked_add(b),
        BinaryOp::Sub => a.checked_sub(b),
        BinaryOp::Mul => a.checked_mul(b),
        BinaryOp::FloorDiv | BinaryOp::Mod if b == 0 => return Err(format!("{} divides by zero", shown())),
        // Rust rounds to zero, Python down: they differ by one where there is a remainder and the signs differ.
        BinaryOp::FloorDiv => a.checked_div(b).map(|quotient| quotient - i128::from(a % b != 0 && (a < 0) != (b < 0))),
        // `MIN % -1` overflows in Rust although its result is 0.
        BinaryOp::Mod => {
            let remainder = a.checked_rem(b).unwrap_or(0);
            Some(if remainder != 0 && (remainder < 0) != (b < 0) { remainder + b } else { remainder })
        }
    };
    result.map(Value::Int).ok_or_else(|| format!("{} is beyond 128 bits", shown()))
}

fn floats(op: BinaryOp, a: f64, b: f64) -> Result<Value> {
    let shown = || format!("`{} {} {}`", Value::Float(a), op.as_str(), Value::Float(b));
    let result = match op {
        BinaryOp::Add => a + b,
        BinaryOp::Sub => a - b,
        BinaryOp::Mul => a * b,
        BinaryOp::FloorDiv | BinaryOp::Mod if b == 0.0 => return Err(format!("{} divides by zero", shown())),
        BinaryOp::FloorDiv => floor_divide(a, b).0,
        BinaryOp::Mod => floor_divide(a, b).1,
    };
    if result.is_nan() { Err(format!("{} is not a number", shown())) } else { Ok(Value::Float(result)) }
}

/// Quotient and remainder as Python computes them: the remainder exactly, with the divisor's sign, and the quotient from
/// it. The divisor is not zero.
fn floor_divide(a: f64, b: f64) -> (f64, f64) {
    let mut remainder = a % b;
    let mut quotient = (a - remainder) / b;
    if remainder != 0.0 {
        if (b < 0.0) != (remainder < 0.0) {
            remainder += b;
            quotient -= 1.0;
        }
    } else {
        remainder = 0.0_f64.copysign(b);
    }
    let floor = if quotient != 0.0 {
        let floor = quotient.floor();
        if quotient - floor > 0.5 { floor + 1.0 } else { floor }
    } else {
        0.0_f64.copysign(a / b)
    };
    (floor, remainder)
}

/// `left op right`.
pub(super) fn compare(op: CompareOp, left: &Value, right: &Value) -> Result<bool> {
    let ordered = |holds: fn(Ordering) -> bool| order(left, right).map(holds);
    match op {
        CompareOp::Eq => Ok(left.equals(right)),
        CompareOp::Ne => Ok(!left.equals(right)),
        CompareOp::Lt => ordered(Ordering::is_lt),
        CompareOp::Le => ordered(Ordering::is_le),
        CompareOp::Gt => ordered(Ordering::is_gt),
        CompareOp::Ge => ordered(Ordering::is_ge),
        CompareOp::In => contains(right, left),
        CompareOp::NotIn => contains(right, left).map(|found| !found),
    }
}

fn contains(items: &Value, item: &Value) -> Result<bool> {
    match items {
        Value::Seq(items) => Ok(items.iter().any(|other| other.equals(item))),
        other => Err(format!("`{}` is no sequence", other.excerpt())),
    }
}

/// The order of two numbers, two strings or two sequences.
fn order(left: &Value, right: &Value) -> Result<Ordering> {
    match (left, right) {
        (Value::Str(a), Value::Str(b)) => Ok(a.cmp(b)),
        (Value::Seq(a), Value::Seq(b)) => match a.iter().zip(b.iter()).find(|(a, b)| !a.equals(b)) {
            // The nesting of values is bounded by that of the expression that states them.
            Some((a, b)) => order(a, b),
            None => Ok(a.len().cmp(&b.len())),
        },
        _ => left
            .compare_numbers(right)
            .ok_or_else(|| format!("`{}` and `{}` have no order", left.excerpt(), right.excerpt())),
    }
}

/// The tuple of `items`. It nests a few levels and holds so many items only: where tuples stand for tuples, the whole
/// could be exponentially larger than its text.
pub(super) fn tuple(items: Vec<Value>) -> Result<Value> {
    const LEVELS: usize = 4;
    const ITEMS: usize = 1 << 16;
    fn fits(items: &[Value], levels: usize, budget: &mut usize) -> bool {
        let Some(left) = budget.checked_sub(items.len()) else { return false };
        *budget = left;
        items.iter().all(|item| match item {
            Value::Seq(items) => levels > 1 && fits(items, levels - 1, budget),
            _ => true,
        })
    }
    if fits(&items, LEVELS, &mut { ITEMS }) {
        Ok(Value::Seq(items.into()))
    } else {
        Err(format!("a tuple nests more than {LEVELS} levels, or holds more than {ITEMS} items"))
    }
}

/// `base[index]`
pub(super) fn index(base: &Value, index: &Value) -> Result<Value> {
    let items = sequence(base)?;
    let at = integer(index)?;
    let length = items.len() as i128;
    let position = if at < 0 { at.saturating_add(length) } else { at };
    match usize::try_from(position).ok().and_then(|position| items.get(position)) {
        Some(item) => Ok(item.clone()),
        None => Err(format!("`{}[{at}]` is outside its {length} items", base.excerpt())),
    }
}

/// `base[from:to]`
pub(super) fn slice(base: &Value, from: Option<&Value>, to: Option<&Value>) -> Result<Value> {
    let items = sequence(base)?;
    let length = items.len() as i128;
    let bound = |bound: Option<&Value>, otherwise: i128| -> Result<i128> {
        match bound {
            None | Some(Value::None) => Ok(otherwise),
            Some(value) => {
                let at = integer(value)?;
                Ok((if at < 0 { at.saturating_add(length) } else { at }).clamp(0, length))
            }
        }
    };
    let (from, to) = (bound(from, 0)?, bound(to, length)?);
    // Both are clamped to the length.
    Ok(Value::Seq(items.get(from as usize..to as usize).unwrap_or_default().into()))
}

fn sequence(value: &Value) -> Result<&[Value]> {
    value.as_seq().ok_or_else(|| format!("`{}` is no sequence", value.excerpt()))
}

fn integer(value: &Value) -> Result<i128> {
    value.as_int().ok_or_else(|| format!("`{}` is no integer", value.excerpt()))
}

/// `base.field`
pub(super) fn attribute(base: &Value, field: &str) -> Result<Value> {
    match (base, field) {
        (Value::None, "value") => Err("an absent parameter has no `value`".to_owned()),
        (value, "value") if !matches!(value, Value::Adt(adt) if adt.field(field).is_some()) => Ok(value.clone()),
        (Value::Adt(value), "kind") => Ok(Value::Str(value.constructor.clone())),
        (Value::Adt(value), field) => {
            value.field(field).cloned().ok_or_else(|| format!("`{}` has no `{field}`", value.constructor))
        }
        (value, field) => Err(format!("`{}` has no `{field}`", value.excerpt())),
    }
}
