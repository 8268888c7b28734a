//! The primitives of the manifest language, as functions.

use crate::tensor::show;
use crate::{Category, DType, Failure, Int, OpError, Value, Variant, int};

/// Why an expression has no value: one clause.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{0}")]
pub struct Undefined(pub String);

impl From<Failure> for Undefined {
    fn from(failure: Failure) -> Self {
        Undefined(failure.to_string())
    }
}

type Result<T> = std::result::Result<T, Undefined>;

fn undefined<T>(why: impl Into<String>) -> Result<T> {
    Err(Undefined(why.into()))
}

/// The longest sequence that a primitive gives.
const MAX_ITEMS: i128 = 1 << 20;

fn positive(name: &str, value: Int) -> Result<i128> {
    match value.get()? {
        value if value > 0 => Ok(value),
        value => undefined(format!("`{name}` is {value}, and must be positive")),
    }
}

fn natural(name: &str, value: Int) -> Result<i128> {
    match value.get()? {
        value if value >= 0 => Ok(value),
        value => undefined(format!("`{name}` is {value}, and must be non-negative")),
    }
}

/// The shape that the shapes broadcast to, as in PyTorch.
pub fn broadcast(shapes: &[&[i128]]) -> Result<Vec<i128>> {
    let rank = shapes.iter().map(|shape| shape.len()).max().unwrap_or(0);
    let mut result = vec![1; rank];
    for shape in shapes {
        for (there, &extent) in result.iter_mut().skip(rank - shape.len()).zip(*shape) {
            if *there == 1 {
                *there = extent;
            } else if extent != 1 && extent != *there {
                let all: Vec<String> = shapes.iter().map(|shape| show(shape)).collect();
                return undefined(format!("{} do not broadcast", all.join(", ")));
            }
        }
    }
    Ok(result)
}

/// The axis that `axis` names, of a tensor of `rank` axes. A scalar has one for this purpose.
fn normalized(axis: i128, rank: i128) -> Option<i128> {
    let axes = rank.max(1);
    (-axes..axes).contains(&axis).then(|| axis.rem_euclid(axes))
}

/// The axes that `dim` names; nothing where it is `None`.
fn named(dim: &Value) -> Result<Option<Vec<i128>>> {
    match dim {
        Value::None => Ok(None),
        Value::Int(axis) => Ok(Some(vec![*axis])),
        other => match other.to_ints() {
            Some(axes) => Ok(Some(axes)),
            None => undefined(format!("`dim` is {other}, and must be an axis, several, or None")),
        },
    }
}

fn all_normalized(axes: &[i128], rank: i128) -> Result<Vec<i128>> {
    let each = axes.iter().map(|&axis| match normalized(axis, rank) {
        Some(axis) => Ok(axis),
        None => undefined(format!("`dim` has {axis}, which is no axis of a shape of rank {rank}")),
    });
    each.collect()
}

/// `s` with the axes `dim` reduced: dropped, or 1 where `keepdim`. `None` reduces all of them; an empty sequence all
/// (`full`), none (`noop`), or it has no value (`reject`).
pub fn reduced(s: &[i128], dim: &Value, keepdim: bool, mode: &str) -> Result<Vec<i128>> {
    let rank = s.len() as i128;
    let gone = match named(dim)? {
        None => (0..rank).collect(),
        Some(axes) if axes.is_empty() => match mode {
            "full" => (0..rank).collect(),
            "noop" => Vec::new(),
            _ => return undefined("`dim` is empty, and the mode is 'reject'"),
        },
        Some(axes) => all_normalized(&axes, rank)?,
    };
    let kept = s.iter().zip(0..).filter_map(|(&extent, axis)| match (gone.contains(&axis), keepdim) {
        (false, _) => Some(extent),
        (true, true) => Some(1),
        (true, false) => None,
    });
    Ok(kept.collect())
}

/// Whether every axis of `dim` is one of a tensor of that rank; `None` is.
pub fn valid_axes(dim: &Value, rank: impl Into<Int>) -> Result<bool> {
    let rank = natural("rank", rank.into())?;
    Ok(named(dim)?.is_none_or(|axes| axes.iter().all(|&axis| normalized(axis, rank).is_some())))
}

/// Whether no two axes of `dim` are the same axis of a tensor of that rank.
pub fn unique_axes(dim: &Value, rank: impl Into<Int>) -> Result<bool> {
    let rank = natural("rank", rank.into())?;
    let mut axes = all_normalized(&named(dim)?.unwrap_or_default(), rank)?;
    axes.sort_unstable();
    Ok(axes.windows(2).all(|pair| pair[0] != pair[1]))
}

/// Item `i` of `v`, a sequence of `n`; `v` itself where it is a number; `fallback` where that is `None`.
pub fn per_axis(v: &Value, i: impl Into<Int>, n: impl Into<Int>, fallback: &Value) -> Result<i128> {
    let (i, n) = (i.into().get()?, n.into().get()?);
    let item = match v {
        Value::Seq(items) if items.len() as i128 != n => {
            return undefined(format!("`v` is {v}, and must have {n} items"));
        }
        Value::Seq(items) => match usize::try_from(i).ok().and_then(|i| items.get(i)) {
            Some(item) => item,
            None => return undefined(format!("`i` is {i}, outside [0, {n})")),
        },
        scalar => scalar,
    };
    match (item, fallback) {
        (Value::Int(value), _) | (Value::None, Value::Int(value)) => Ok(*value),
        (Value::None, _) => undefined("`v` is None there, and there is no fallback"),
        (other, _) => undefined(format!("`v` is {other}, and must be an integer, a sequence of integers or None")),
    }
}

/// How many items a sequence has.
pub fn len(items: &[i128]) -> i128 {
    items.len() as i128
}

/// The product of the items; 1 of none.
pub fn prod(items: &[i128]) -> Int {
    // Python would multiply beyond 128 bits and come back to zero.
    if items.contains(&0) {
        return int(0);
    }
    items.iter().fold(int(1), |product, &item| product * item)
}

/// The sum of the items; 0 of none.
pub fn sum(items: &[i128]) -> Int {
    items.iter().map(|&item| int(item)).sum()
}

/// The greatest item; `default` of none.
pub fn max_of(items: &[i128], default: Option<Int>) -> Result<i128> {
    extreme(items.iter().copied().max(), default, "greatest")
}

/// The least item; `default` of none.
pub fn min_of(items: &[i128], default: Option<Int>) -> Result<i128> {
    extreme(items.iter().copied().min(), default, "least")
}

fn extreme(item: Option<i128>, default: Option<Int>, which: &str) -> Result<i128> {
    match (item, default) {
        (Some(item), _) => Ok(item),
        (None, Some(default)) => Ok(default.get()?),
        (None, None) => undefined(format!("an empty sequence has no {which} item, and there is no default")),
    }
}

/// `s[i]`, from the end where `i` is negative.
pub fn item(s: &[i128], i: impl Into<Int>) -> Result<i128> {
    let i = i.into().get()?;
    let length = s.len() as i128;
    let at = if i < 0 { i.saturating_add(length) } else { i };
    match usize::try_from(at).ok().and_then(|at| s.get(at)) {
        Some(item) => Ok(*item),
        None => undefined(format!("{} has no item {i}", show(s))),
    }
}

/// `s[from:to]`; a bound that is out of range is the range's end.
pub fn slice(s: &[i128], from: Option<Int>, to: Option<Int>) -> Result<Vec<i128>> {
    let length = s.len() as i128;
    let bound = |bound: Option<Int>, otherwise: i128| -> Result<usize> {
        let at = match bound {
            Some(bound) => bound.get()?,
            None => otherwise,
        };
        // Clamped to a length.
        Ok((if at < 0 { at.saturating_add(length) } else { at }).clamp(0, length) as usize)
    };
    let (from, to) = (bound(from, 0)?, bound(to, length)?);
    Ok(s.get(from..to).unwrap_or_default().to_vec())
}

/// Whether `item` equals one of the items.
pub fn one_of(item: &Value, items: &[Value]) -> bool {
    items.iter().any(|other| other.equals(item))
}

/// What `of` gives for each item.
pub fn each<T>(
    items: &[i128],
    of: impl Fn(i128) -> std::result::Result<T, OpError>,
) -> std::result::Result<Vec<T>, OpError> {
    items.iter().map(|&item| of(item)).collect()
}

/// Whether every item holds, up to the first that does not; true of none.
pub fn all_of(
    items: &[i128],
    holds: impl Fn(i128) -> std::result::Result<bool, OpError>,
) -> std::result::Result<bool, OpError> {
    for &item in items {
        if !holds(item)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The quotient, rounded down as Python does it.
pub fn float_floor_div(a: f64, b: f64) -> Result<f64> {
    float_divide(a, b).map(|(quotient, _)| quotient)
}

/// The remainder, with the divisor's sign.
pub fn float_mod(a: f64, b: f64) -> Result<f64> {
    float_divide(a, b).map(|(_, remainder)| remainder)
}

/// Quotient and remainder as CPython computes them: the remainder exactly, and the quotient from it.
fn float_divide(a: f64, b: f64) -> Result<(f64, f64)> {
    if b == 0.0 {
        return Err(Failure::DivisionByZero.into());
    }
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
    Ok((floor, remainder))
}

/// How far the last window that fits starts from the first.
fn slack(l: Int, k: Int, p: Int, d: Int) -> Int {
    l + 2 * p - d * (k - 1) - 1
}

/// The length that a convolution gives, for length `l`, kernel `k`, stride `s`, padding `p`, dilation `d`.
pub fn conv_out(
    l: impl Into<Int>,
    k: impl Into<Int>,
    s: impl Into<Int>,
    p: impl Into<Int>,
    d: impl Into<Int>,
) -> Result<i128> {
    let stride = positive("s", s.into())?;
    Ok((slack(l.into(), k.into(), p.into(), d.into()).floor_div(stride) + 1).get()?)
}

/// The length that a pooling gives, as in PyTorch: rounded down or up, without a last window that starts in the right
/// padding, and never negative.
pub fn pool_out(
    l: impl Into<Int>,
    k: impl Into<Int>,
    s: impl Into<Int>,
    p: impl Into<Int>,
    d: impl Into<Int>,
    ceil_mode: bool,
) -> Result<i128> {
    let (l, p) = (l.into(), p.into());
    let stride = positive("s", s.into())?;
    let slack = slack(l, k.into(), p, d.into());
    if !ceil_mode {
        return Ok((slack.floor_div(stride) + 1).max(0).get()?);
    }
    let windows = slack.ceil_div(stride) + 1;
    let starts_in_padding = ((windows - 1) * stride).get()? >= (l + p).get()?;
    Ok((windows - i128::from(starts_in_padding)).max(0).get()?)
}

/// How many rows a grouped layout holds for `r` routed rows over `e` experts.
pub fn moe_capacity(layout: &Variant, r: impl Into<Int>, e: impl Into<Int>) -> Result<i128> {
    let (r, e) = (natural("R", r.into())?, natural("E", e.into())?);
    if &*layout.kind == "masked" {
        return Ok((int(e) * layout.int("max_m")?).get()?);
    }
    if !layout.is("packing", "aligned") {
        return Ok(r);
    }
    let alignment = layout.int("alignment")?;
    Ok(((int(r) + int(e) * (int(alignment) - 1)).ceil_div(alignment) * alignment).get()?)
}

/// The positive `n` with `n * n + 2n == q`.
pub fn mhc_expansion(q: impl Into<Int>) -> Result<i128> {
    let q = q.into().get()?;
    // n * n + 2n == q says (n + 1) * (n + 1) == q + 1.
    let n = u128::try_from(q).map_or(0, |q| (q + 1).isqrt() - 1);
    match i128::try_from(n) {
        Ok(n) if n > 0 && n * (n + 2) == q => Ok(n),
        _ => undefined(format!("`q` is {q}, and no positive n has n * n + 2n == {q}")),
    }
}

/// `float32` for an integer dtype, else `t`; `bool` is no integer dtype.
pub fn promote_int_to_float(t: DType) -> DType {
    if t.category() == Category::Int { DType::Float32 } else { t }
}

/// `v` where it is passed, else `t`.
pub fn coalesce_dtype(v: Option<DType>, t: DType) -> DType {
    v.unwrap_or(t)
}

fn item_count(count: i128) -> Result<usize> {
    match usize::try_from(count) {
        Ok(size) if count <= MAX_ITEMS => Ok(size),
        _ => undefined(format!("its result has {count} items, more than the {MAX_ITEMS} that are computed")),
    }
}

/// `count` sizes that sum to `total`, as equal as they can be, the larger ones first.
pub fn balanced_sizes(total: impl Into<Int>, count: impl Into<Int>) -> Result<Vec<i128>> {
    let (total, count) = (natural("total", total.into())?, positive("count", count.into())?);
    item_count(count)?;
    Ok((0..count).map(|i| total / count + i128::from(i < total % count)).collect())
}

/// `count` times `value`.
pub fn repeat(value: impl Into<Int>, count: impl Into<Int>) -> Result<Vec<i128>> {
    let (value, count) = (value.into().get()?, natural("count", count.into())?);
    Ok(vec![value; item_count(count)?])
}

/// `bool`, `int`, `float` or `complex`: what a number is, or what a dtype holds.
pub fn category(x: &Value) -> Result<&'static str> {
    match x {
        Value::Bool(_) => Ok(Category::Bool.name()),
        Value::Int(_) => Ok(Category::Int.name()),
        Value::Float(_) => Ok(Category::Float.name()),
        Value::DType(dtype) => Ok(dtype.category().name()),
        other => undefined(format!("`x` is {other}, and must be a number or a dtype")),
    }
}

/// Whether the number converts to the dtype without overflow, by PyTorch's rule for scalars.
pub fn representable(v: &Value, t: DType) -> Result<bool> {
    const BFLOAT16_MAX: f64 = 3.389_531_389_251_535_5e38;
    // A Boolean converts to every dtype, and every number to a Boolean.
    if matches!(v, Value::Bool(_)) || t == DType::Bool {
        return Ok(true);
    }
    let at_most = |limit: &Value| v.compare(limit).map(std::cmp::Ordering::is_le);
    let at_least = |limit: &Value| v.compare(limit).map(std::cmp::Ordering::is_ge);
    let float = |max: f64, has_infinity: bool| match v {
        Value::Float(value) if value.is_infinite() => Ok(has_infinity),
        _ => Ok(at_least(&Value::Float(-max))? && at_most(&Value::Float(max))?),
    };
    let signed = |bits: u32| {
        let half = 1_i128 << (bits - 1);
        Ok(at_least(&Value::Int(-half))? && at_most(&Value::Int(half - 1))?)
    };
    match t {
        DType::Float16 => float(65504.0, true),
        DType::BFloat16 => float(BFLOAT16_MAX, true),
        DType::Float32 | DType::Complex64 => float(f32::MAX.into(), true),
        DType::Float64 | DType::Complex128 => float(f64::MAX, true),
        DType::Float8E4M3Fn => float(448.0, false),
        DType::Float8E4M3FnUz => float(240.0, false),
        DType::Float8E5M2 => float(57344.0, true),
        DType::Float8E5M2FnUz => float(57344.0, false),
        // Powers of two from 2^-127 to 2^127: no zero, no sign, no infinity.
        DType::Float8E8M0FnU => {
            Ok(at_least(&Value::Float(f64::powi(2.0, -127)))? && at_most(&Value::Float(f64::powi(2.0, 127)))?)
        }
        DType::UInt8 | DType::UInt16 | DType::UInt32 | DType::UInt64 => {
            let most = (1_i128 << t.bits()) - 1;
            // A negative integer wraps, a negative fraction does not.
            let least = if matches!(v, Value::Int(_)) { -most } else { 0 };
            Ok(at_least(&Value::Int(least))? && at_most(&Value::Int(most))?)
        }
        DType::Int8 | DType::Int16 | DType::Int32 | DType::Int64 => signed(t.bits()),
        DType::Bool => Ok(true),
    }
}
