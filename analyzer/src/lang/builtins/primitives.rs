//! The primitives: what any expression can call.

use super::args::{Args, Layout, ceil_div, checked, fail, floor_div, item_count, sum};
use super::{Builtin, DomainError, Gives, Parameter, Passing, Role, Takes};
use crate::lang::{Category, DType, Value};

type Result = std::result::Result<Value, DomainError>;

const fn required(name: &'static str, takes: Takes) -> Parameter {
    Parameter::new(name, takes, Passing::Required)
}

const fn optional(name: &'static str, takes: Takes) -> Parameter {
    Parameter::new(name, takes, Passing::Optional)
}

const DEFAULT: Parameter = Parameter::new("default", Takes::MaybeInt, Passing::KeywordOnly);
const MODES: &[&str] = &["full", "noop", "reject"];

pub(super) static TABLE: &[Builtin] = &[
    Builtin {
        name: "broadcast",
        role: Role::Primitive { gives: Gives::Shape, eval: broadcast },
        params: &[Parameter::new("shapes", Takes::Shape, Passing::Variadic).at_least(0)],
        doc: "the shape that the shapes broadcast to, as in PyTorch",
        domain: "aligned at the last axis, the extents of an axis that are not 1 are the same",
    },
    Builtin {
        name: "reduced",
        role: Role::Primitive { gives: Gives::Shape, eval: reduced },
        params: &[
            required("s", Takes::Shape).at_least(0),
            required("dim", Takes::Axes),
            required("keepdim", Takes::Bool),
            required("mode", Takes::Literal(MODES)),
        ],
        doc: "the shape `s` with the axes `dim` reduced: dropped, or 1 where `keepdim`; `None` reduces all of them, an \
              empty sequence all ('full'), none ('noop'), or fails ('reject')",
        domain: "each axis is in [-rank, rank); at rank 0 it is 0 or -1",
    },
    Builtin {
        name: "valid_axes",
        role: Role::Primitive { gives: Gives::Bool, eval: valid_axes },
        params: &[required("dim", Takes::Axes), required("rank", Takes::Int).at_least(0)],
        doc: "whether every axis of `dim` is one of a tensor of that rank; `None` is",
        domain: "rank >= 0",
    },
    Builtin {
        name: "unique_axes",
        role: Role::Primitive { gives: Gives::Bool, eval: unique_axes },
        params: &[required("dim", Takes::Axes), required("rank", Takes::Int).at_least(0)],
        doc: "whether no two axes of `dim` are the same axis of a tensor of that rank",
        domain: "each axis is in [-rank, rank); at rank 0 it is 0 or -1",
    },
    Builtin {
        name: "per_axis",
        role: Role::Primitive { gives: Gives::Int, eval: per_axis },
        params: &[
            required("v", Takes::PerAxis),
            required("i", Takes::Int).at_least(0).below("n"),
            required("n", Takes::Int),
            optional("fallback", Takes::MaybeInt),
        ],
        doc: "item `i` of `v`, a sequence of `n`; `v` itself where it is a number; `fallback` where that is `None`",
        domain: "0 <= i < n, a sequence has `n` items, and what is `None` has a fallback",
    },
    Builtin {
        name: "ceil_div",
        role: Role::Primitive { gives: Gives::DimOfDims, eval: ceil_div_of },
        params: &[required("a", Takes::Int), required("b", Takes::Int).at_least(1)],
        doc: "`a` divided by `b`, rounded up",
        domain: "b > 0",
    },
    Builtin {
        name: "len",
        role: Role::Primitive { gives: Gives::Dim, eval: len },
        params: &[required("s", Takes::Seq)],
        doc: "how many items `s` has",
        domain: "",
    },
    Builtin {
        name: "prod",
        role: Role::Primitive { gives: Gives::Int, eval: prod },
        params: &[required("s", Takes::SeqInt)],
        doc: "the product of the items; 1 of none",
        domain: "",
    },
    Builtin {
        name: "sum",
        role: Role::Primitive { gives: Gives::Int, eval: sum_of },
        params: &[required("s", Takes::SeqInt)],
        doc: "the sum of the items; 0 of none",
        domain: "",
    },
    Builtin {
        name: "all",
        role: Role::Primitive { gives: Gives::Bool, eval: all_of },
        params: &[required("s", Takes::SeqBool)],
        doc: "whether every item holds; true of none",
        domain: "",
    },
    Builtin {
        name: "max",
        role: Role::Primitive { gives: Gives::Int, eval: |args| extreme(args, "greatest", |a, b| b > a) },
        params: &[required("s", Takes::SeqInt), DEFAULT],
        doc: "the greatest item; `default` of none",
        domain: "an empty sequence needs the default",
    },
    Builtin {
        name: "min",
        role: Role::Primitive { gives: Gives::Int, eval: |args| extreme(args, "least", |a, b| b < a) },
        params: &[required("s", Takes::SeqInt), DEFAULT],
        doc: "the least item; `default` of none",
        domain: "an empty sequence needs the default",
    },
    Builtin {
        name: "conv.out",
        role: Role::Primitive { gives: Gives::Int, eval: conv_out },
        params: &[
            required("L", Takes::Int),
            required("k", Takes::Int),
            required("s", Takes::Int).at_least(1),
            required("p", Takes::Int),
            required("d", Takes::Int),
        ],
        doc: "the length that a convolution gives: (L + 2p - d(k - 1) - 1) // s + 1 for length `L`, kernel `k`, stride \
              `s`, padding `p`, dilation `d`",
        domain: "s > 0",
    },
    Builtin {
        name: "pool.out",
        role: Role::Primitive { gives: Gives::Dim, eval: pool_out },
        params: &[
            required("L", Takes::Int),
            required("k", Takes::Int),
            required("s", Takes::Int).at_least(1),
            required("p", Takes::Int),
            required("d", Takes::Int),
            required("ceil_mode", Takes::Bool),
        ],
        doc: "the length that a pooling gives, as in PyTorch: rounded down or up, without a last window that starts in \
              the right padding, and never negative",
        domain: "s > 0",
    },
    Builtin {
        name: "moe.capacity",
        role: Role::Primitive { gives: Gives::Dim, eval: moe_capacity },
        params: &[
            required("layout", Takes::Adt(Layout::ADT)),
            required("R", Takes::Int).at_least(0),
            required("E", Takes::Int).at_least(0),
        ],
        doc: "how many rows the layout holds for `R` routed rows over `E` experts: E * max_m of a masked one, \
              R + E(alignment - 1) rounded up to the alignment of an aligned one, else R",
        domain: "R >= 0 and E >= 0",
    },
    Builtin {
        name: "mhc.expansion",
        role: Role::Primitive { gives: Gives::Dim, eval: mhc_expansion },
        params: &[required("q", Takes::Int)],
        doc: "the positive `n` with n * n + 2n == q",
        domain: "there is one: q + 1 is the square of 2 or more",
    },
    Builtin {
        name: "promote_int_to_float",
        role: Role::Primitive { gives: Gives::Promoted, eval: promote_int_to_float },
        params: &[required("T", Takes::DType)],
        doc: "float32 for an integer dtype, else `T`; bool is no integer dtype",
        domain: "",
    },
    Builtin {
        name: "coalesce_dtype",
        role: Role::Primitive { gives: Gives::Coalesced, eval: coalesce_dtype },
        params: &[required("v", Takes::MaybeDType), required("T", Takes::DType)],
        doc: "`v` where it is passed, else `T`",
        domain: "",
    },
    Builtin {
        name: "balanced_sizes",
        role: Role::Primitive { gives: Gives::SeqInt, eval: balanced_sizes },
        params: &[required("total", Takes::Int).at_least(0), required("count", Takes::Int).at_least(1)],
        doc: "`count` sizes that sum to `total`, as equal as they can be, the larger ones first",
        domain: "count > 0 and total >= 0",
    },
    Builtin {
        name: "repeat",
        role: Role::Primitive { gives: Gives::SeqInt, eval: repeat },
        params: &[required("value", Takes::Int), required("count", Takes::Int).at_least(0)],
        doc: "`count` times `value`",
        domain: "count >= 0",
    },
    Builtin {
        name: "category",
        role: Role::Primitive { gives: Gives::Category, eval: category },
        params: &[required("x", Takes::ValueOrDType)],
        doc: "'bool', 'int', 'float' or 'complex': what a number is, or what a dtype holds",
        domain: "",
    },
    Builtin {
        name: "representable",
        role: Role::Primitive { gives: Gives::Bool, eval: representable },
        params: &[required("v", Takes::Number), required("T", Takes::DType)],
        doc: "whether the number converts to the dtype without overflow, by PyTorch's rule for scalars",
        domain: "",
    },
    Builtin {
        name: "present",
        role: Role::Present,
        params: &[required("x", Takes::Presence)],
        doc: "whether the call passes the tensor, the `Maybe` parameter, or `out`",
        domain: "",
    },
    Builtin {
        name: "bytes",
        role: Role::Bytes,
        params: &[required("t", Takes::Tensor)],
        doc: "the size of the tensor in bytes",
        domain: "",
    },
];

fn broadcast(args: &[Value]) -> Result {
    let shapes = (0..args.len())
        .map(|i| Args(args).lengths(i, &format!("shapes[{i}]")))
        .collect::<std::result::Result<Vec<_>, _>>()?;
    let rank = shapes.iter().map(Vec::len).max().unwrap_or(0);
    let mut result = vec![1; rank];
    for shape in &shapes {
        let missing = rank - shape.len();
        for (i, &extent) in shape.iter().enumerate() {
            let there = &mut result[missing + i];
            if *there == 1 {
                *there = extent;
            } else if extent != 1 && extent != *there {
                let all: Vec<String> = args.iter().map(Value::excerpt).collect();
                let axis = missing as i128 + i as i128 - rank as i128;
                return fail(format!(
                    "{} do not broadcast: axis {axis} is {there} in one and {extent} in another",
                    all.join(", ")
                ));
            }
        }
    }
    Ok(Value::ints(result))
}

/// The axis of a tensor of rank `rank` that `axis` names.
fn normalize(axis: i128, rank: i128) -> Option<i128> {
    // A scalar has one axis for this purpose.
    let axes = rank.max(1);
    if axis < -axes || axis >= axes {
        return None;
    }
    Some(if axis < 0 { axis + axes } else { axis })
}

enum Axes {
    All,
    One(i128),
    Several(Vec<i128>),
}

fn axes(args: &[Value], at: usize) -> std::result::Result<Axes, DomainError> {
    match Args(args).value(at) {
        Value::None => Ok(Axes::All),
        Value::Seq(_) => Args(args).ints(at, "dim").map(Axes::Several),
        _ => Args(args).int(at, "dim").map(Axes::One),
    }
}

fn normalized(axes: &[i128], rank: i128) -> std::result::Result<Vec<i128>, DomainError> {
    axes.iter()
        .map(|&axis| match (normalize(axis, rank), rank) {
            (Some(axis), _) => Ok(axis),
            (None, 0) => fail(format!("`dim` has {axis}, and the axis of a scalar is 0 or -1")),
            (None, _) => fail(format!("`dim` has {axis}, outside [{}, {rank}) of a shape of rank {rank}", -rank)),
        })
        .collect()
}

fn reduced(args: &[Value]) -> Result {
    let a = Args(args);
    let shape = a.lengths(0, "s")?;
    let rank = shape.len() as i128;
    let keep = a.bool(2, "keepdim")?;
    let mode = a.literal(3, "mode", MODES)?;
    let all = || (0..rank).collect();
    // An axis that is named twice is reduced once: `unique_axes` is what refuses it.
    let gone: Vec<i128> = match axes(args, 1)? {
        Axes::All => all(),
        Axes::One(axis) => normalized(&[axis], rank)?,
        Axes::Several(named) if named.is_empty() => match mode {
            "full" => all(),
            "noop" => Vec::new(),
            _ => return fail("`dim` is empty, and the mode is 'reject'"),
        },
        Axes::Several(named) => normalized(&named, rank)?,
    };
    let mut reduced = vec![false; shape.len()];
    for axis in gone {
        // At rank 0 the scalar's axis is no axis of the shape.
        if let Some(flag) = reduced.get_mut(axis as usize) {
            *flag = true;
        }
    }
    let left = shape.iter().zip(&reduced).filter_map(|(&extent, &reduced)| match (reduced, keep) {
        (false, _) => Some(extent),
        (true, true) => Some(1),
        (true, false) => None,
    });
    Ok(Value::ints(left))
}

fn valid_axes(args: &[Value]) -> Result {
    let rank = Args(args).natural(1, "rank")?;
    let valid = match axes(args, 0)? {
        Axes::All => true,
        Axes::One(axis) => normalize(axis, rank).is_some(),
        Axes::Several(axes) => axes.iter().all(|&axis| normalize(axis, rank).is_some()),
    };
    Ok(Value::Bool(valid))
}

fn unique_axes(args: &[Value]) -> Result {
    let rank = Args(args).natural(1, "rank")?;
    let named = match axes(args, 0)? {
        Axes::All => Vec::new(),
        Axes::One(axis) => vec![axis],
        Axes::Several(axes) => axes,
    };
    let mut normal = normalized(&named, rank)?;
    normal.sort_unstable();
    Ok(Value::Bool(normal.windows(2).all(|pair| pair[0] != pair[1])))
}

fn per_axis(args: &[Value]) -> Result {
    let a = Args(args);
    let (i, n) = (a.natural(1, "i")?, a.int(2, "n")?);
    if i >= n {
        return fail(format!("`i` is {i}, and must be below `n`, {n}"));
    }
    let item = match a.value(0) {
        Value::Seq(items) => {
            if items.len() as i128 != n {
                return fail(format!("`v` is {}, and must have {n} items", a.value(0).excerpt()));
            }
            match usize::try_from(i).ok().and_then(|i| items.get(i)) {
                Some(item) => item,
                // Below the number of items.
                None => &Value::None,
            }
        }
        scalar => scalar,
    };
    match item {
        Value::None if *a.value(3) == Value::None => fail("`v` is None there, and there is no fallback"),
        Value::None => a.int(3, "fallback").map(Value::Int),
        item => match item.as_int() {
            Some(value) => Ok(Value::Int(value)),
            None => fail(format!("`v` is {}, and must be an integer, a sequence of integers or None", item.excerpt())),
        },
    }
}

fn ceil_div_of(args: &[Value]) -> Result {
    let a = Args(args).int(0, "a")?;
    ceil_div(a, Args(args).positive(1, "b")?).map(Value::Int)
}

fn len(args: &[Value]) -> Result {
    Ok(Value::Int(Args(args).seq(0, "s")?.len() as i128))
}

fn prod(args: &[Value]) -> Result {
    let items = Args(args).ints(0, "s")?;
    // Python would multiply beyond 128 bits and come back to zero.
    if items.contains(&0) {
        return Ok(Value::Int(0));
    }
    checked(items.iter().try_fold(1_i128, |product, &n| product.checked_mul(n))).map(Value::Int)
}

fn sum_of(args: &[Value]) -> Result {
    sum(&Args(args).ints(0, "s")?).map(Value::Int)
}

fn all_of(args: &[Value]) -> Result {
    let items = Args(args).seq(0, "s")?;
    for (i, item) in items.iter().enumerate() {
        match item {
            Value::Bool(true) => {}
            Value::Bool(false) => return Ok(Value::Bool(false)),
            other => return fail(format!("`s[{i}]` is {}, and must be a Boolean", other.excerpt())),
        }
    }
    Ok(Value::Bool(true))
}

fn extreme(args: &[Value], which: &str, better: fn(i128, i128) -> bool) -> Result {
    let items = Args(args).ints(0, "s")?;
    match items.into_iter().reduce(|best, item| if better(best, item) { item } else { best }) {
        Some(best) => Ok(Value::Int(best)),
        None if *Args(args).value(1) == Value::None => {
            fail(format!("an empty sequence has no {which} item, and there is no default"))
        }
        None => Args(args).int(1, "default").map(Value::Int),
    }
}

/// `L + 2p - d(k - 1) - 1`: how far the last window that fits starts from the first.
fn slack(args: &[Value]) -> std::result::Result<i128, DomainError> {
    let a = Args(args);
    let (length, kernel) = (a.int(0, "L")?, a.int(1, "k")?);
    let (padding, dilation) = (a.int(3, "p")?, a.int(4, "d")?);
    let span = kernel.checked_sub(1).and_then(|k| k.checked_mul(dilation));
    let padded = padding.checked_mul(2).and_then(|both| both.checked_add(length));
    checked(padded.and_then(|n| n.checked_sub(span?)).and_then(|n| n.checked_sub(1)))
}

fn conv_out(args: &[Value]) -> Result {
    let stride = Args(args).positive(2, "s")?;
    let steps = floor_div(slack(args)?, stride)?;
    checked(steps.checked_add(1)).map(Value::Int)
}

fn pool_out(args: &[Value]) -> Result {
    let a = Args(args);
    let stride = a.positive(2, "s")?;
    let slack = slack(args)?;
    let windows = if a.bool(5, "ceil_mode")? {
        let windows = checked(ceil_div(slack, stride)?.checked_add(1))?;
        let last_start = checked((windows - 1).checked_mul(stride))?;
        let right_padding = checked(a.int(0, "L")?.checked_add(a.int(3, "p")?))?;
        windows - i128::from(last_start >= right_padding)
    } else {
        checked(floor_div(slack, stride)?.checked_add(1))?
    };
    Ok(Value::Int(windows.max(0)))
}

fn moe_capacity(args: &[Value]) -> Result {
    let a = Args(args);
    let (rows, experts) = (a.natural(1, "R")?, a.natural(2, "E")?);
    let capacity = match a.layout(0, "layout")? {
        Layout::Masked { max_m } => checked(experts.checked_mul(max_m))?,
        Layout::Contiguous { aligned: true, alignment, .. } => {
            let padded = experts.checked_mul(alignment - 1).and_then(|padding| padding.checked_add(rows));
            checked(ceil_div(checked(padded)?, alignment)?.checked_mul(alignment))?
        }
        Layout::Contiguous { aligned: false, .. } => rows,
    };
    Ok(Value::Int(capacity))
}

fn mhc_expansion(args: &[Value]) -> Result {
    let q = Args(args).int(0, "q")?;
    // n * n + 2n == q says (n + 1) * (n + 1) == q + 1.
    let n = u128::try_from(q).map_or(0, |q| (q + 1).isqrt() - 1);
    match i128::try_from(n) {
        Ok(n) if n > 0 && n * (n + 2) == q => Ok(Value::Int(n)),
        _ => fail(format!("`q` is {q}, and no positive n has n * n + 2n == {q}")),
    }
}

fn promote_int_to_float(args: &[Value]) -> Result {
    let dtype = Args(args).dtype(0, "T")?;
    Ok(Value::DType(if dtype.category() == Category::Int { DType::Float32 } else { dtype }))
}

fn coalesce_dtype(args: &[Value]) -> Result {
    let a = Args(args);
    let dtype = if *a.value(0) == Value::None { a.dtype(1, "T")? } else { a.dtype(0, "v")? };
    Ok(Value::DType(dtype))
}

fn balanced_sizes(args: &[Value]) -> Result {
    let a = Args(args);
    let (total, count) = (a.natural(0, "total")?, a.positive(1, "count")?);
    item_count(count)?;
    Ok(Value::ints(super::args::balanced(total, count)))
}

fn repeat(args: &[Value]) -> Result {
    let a = Args(args);
    let (value, count) = (a.int(0, "value")?, a.natural(1, "count")?);
    Ok(Value::ints(std::iter::repeat_n(value, item_count(count)?)))
}

fn category(args: &[Value]) -> Result {
    let category = match Args(args).value(0) {
        Value::Bool(_) => Category::Bool,
        Value::Int(_) => Category::Int,
        Value::Float(_) => Category::Float,
        other => match other.as_dtype() {
            Some(dtype) => dtype.category(),
            None => return fail(format!("`x` is {}, and must be a number or a dtype", other.excerpt())),
        },
    };
    Ok(Value::Str(category.name().into()))
}

/// The numbers that a dtype can hold.
enum Limits {
    /// Every number converts.
    Any,
    /// Between the two, both included.
    Int(i128, i128),
    /// Up to that size, either sign; and infinity or not.
    Float(f64, bool),
    /// Between the two, both included, without infinity.
    Positive(f64, f64),
}

fn limits(dtype: DType) -> Limits {
    const BFLOAT16_MAX: f64 = 3.389_531_389_251_535_5e38;
    match dtype {
        DType::Bool => Limits::Any,
        DType::Int8 => Limits::Int(i8::MIN.into(), i8::MAX.into()),
        DType::Int16 => Limits::Int(i16::MIN.into(), i16::MAX.into()),
        DType::Int32 => Limits::Int(i32::MIN.into(), i32::MAX.into()),
        DType::Int64 => Limits::Int(i64::MIN.into(), i64::MAX.into()),
        DType::UInt8 => Limits::Int(0, u8::MAX.into()),
        DType::UInt16 => Limits::Int(0, u16::MAX.into()),
        DType::UInt32 => Limits::Int(0, u32::MAX.into()),
        DType::UInt64 => Limits::Int(0, u64::MAX.into()),
        DType::Float16 => Limits::Float(65504.0, true),
        DType::BFloat16 => Limits::Float(BFLOAT16_MAX, true),
        DType::Float32 | DType::Complex64 => Limits::Float(f32::MAX.into(), true),
        DType::Float64 | DType::Complex128 => Limits::Float(f64::MAX, true),
        DType::Float8E4M3Fn => Limits::Float(448.0, false),
        DType::Float8E4M3FnUz => Limits::Float(240.0, false),
        DType::Float8E5M2 => Limits::Float(57344.0, true),
        DType::Float8E5M2FnUz => Limits::Float(57344.0, false),
        // Powers of two from 2^-127 to 2^127: no zero, no sign, no infinity.
        DType::Float8E8M0FnU => Limits::Positive(f64::powi(2.0, -127), f64::powi(2.0, 127)),
    }
}

fn representable(args: &[Value]) -> Result {
    let a = Args(args);
    let value = a.value(0);
    let at_most = |limit: &Value| value.compare_numbers(limit).map(std::cmp::Ordering::is_le);
    let at_least = |limit: &Value| value.compare_numbers(limit).map(std::cmp::Ordering::is_ge);
    let between = |lo: Value, hi: Value| match (at_least(&lo), at_most(&hi)) {
        (Some(above), Some(below)) => Ok(above && below),
        _ => fail(format!("`v` is {}, and must be a number", value.excerpt())),
    };
    let infinite = matches!(value, Value::Float(value) if value.is_infinite());
    let limits = limits(a.dtype(1, "T")?);
    let fits = match (limits, value) {
        // A Boolean converts to every dtype.
        (Limits::Any, Value::Int(_) | Value::Float(_)) | (_, Value::Bool(_)) => true,
        // Unsigned integers take a negative integer that they can wrap, and no negative fraction.
        (Limits::Int(0, hi), Value::Int(_)) => between(Value::Int(-hi), Value::Int(hi))?,
        (Limits::Int(lo, hi), _) => between(Value::Int(lo), Value::Int(hi))?,
        (Limits::Float(_, infinity), _) if infinite => infinity,
        (Limits::Float(max, _), _) => between(Value::Float(-max), Value::Float(max))?,
        (Limits::Positive(lo, hi), _) => between(Value::Float(lo), Value::Float(hi))?,
        (Limits::Any, _) => between(Value::Int(0), Value::Int(0))?,
    };
    Ok(Value::Bool(fits))
}

#[cfg(test)]
mod tests {
    use super::super::find;
    use super::*;
    use crate::lang::AdtValue;
    use Value::{Bool, Float, Int, None};

    fn call(name: &str, args: &[Value]) -> std::result::Result<Value, String> {
        match find(name).unwrap().role {
            Role::Primitive { eval, .. } => eval(args).map_err(|error| error.0),
            _ => panic!("{name} is no primitive"),
        }
    }

    fn ints<const N: usize>(items: [i128; N]) -> Value {
        Value::ints(items)
    }

    fn str(text: &str) -> Value {
        Value::Str(text.into())
    }

    fn contiguous(packing: &str, alignment: i128) -> Value {
        Value::Adt(
            AdtValue {
                adt: Layout::ADT.into(),
                constructor: "contiguous".into(),
                fields: vec![
                    ("packing".into(), str(packing)),
                    ("metadata_kind".into(), str("per_row")),
                    ("alignment".into(), Int(alignment)),
                ],
            }
            .into(),
        )
    }

    fn masked(max_m: i128) -> Value {
        let fields = vec![("max_m".into(), Int(max_m))];
        Value::Adt(AdtValue { adt: Layout::ADT.into(), constructor: "masked".into(), fields }.into())
    }

    #[test]
    fn shapes_broadcast_as_in_pytorch() {
        let ok = |shapes: &[Value], expected: Value| assert_eq!(call("broadcast", shapes), Ok(expected));
        ok(&[], ints([]));
        ok(&[ints([])], ints([]));
        ok(&[ints([]), ints([3])], ints([3]));
        ok(&[ints([5, 1, 4]), ints([3, 1])], ints([5, 3, 4]));
        ok(&[ints([1]), ints([0])], ints([0]));
        ok(&[ints([0]), ints([1]), ints([0])], ints([0]));
        ok(&[ints([1, 1]), ints([2, 1]), ints([1, 3])], ints([2, 3]));
        assert_eq!(
            call("broadcast", &[ints([0]), ints([3])]),
            Err("(0,), (3,) do not broadcast: axis -1 is 0 in one and 3 in another".into())
        );
        assert_eq!(
            call("broadcast", &[ints([2, 3]), ints([4, 3])]),
            Err("(2, 3), (4, 3) do not broadcast: axis -2 is 2 in one and 4 in another".into())
        );
        assert_eq!(
            call("broadcast", &[ints([2]), ints([-1])]),
            Err("`shapes[1][0]` is -1, and must be non-negative".into())
        );
        assert!(call("broadcast", &[Int(3)]).is_err());
    }

    #[test]
    fn axes_are_reduced() {
        let reduced = |s: Value, dim: Value, keep: bool, mode: &str| call("reduced", &[s, dim, Bool(keep), str(mode)]);
        let s = || ints([2, 3, 4]);
        assert_eq!(reduced(s(), Int(1), false, "full"), Ok(ints([2, 4])));
        assert_eq!(reduced(s(), Int(-1), true, "full"), Ok(ints([2, 3, 1])));
        assert_eq!(reduced(s(), None, false, "reject"), Ok(ints([])));
        assert_eq!(reduced(s(), None, true, "reject"), Ok(ints([1, 1, 1])));
        assert_eq!(reduced(s(), ints([0, -1]), false, "noop"), Ok(ints([3])));
        assert_eq!(reduced(s(), ints([0, -3]), false, "noop"), Ok(ints([3, 4])));
        assert_eq!(reduced(s(), ints([]), false, "full"), Ok(ints([])));
        assert_eq!(reduced(s(), ints([]), true, "noop"), Ok(s()));
        assert_eq!(reduced(s(), ints([]), false, "reject"), Err("`dim` is empty, and the mode is 'reject'".into()));
        assert_eq!(
            reduced(s(), Int(3), false, "full"),
            Err("`dim` has 3, outside [-3, 3) of a shape of rank 3".into())
        );
        for axis in [0, -1] {
            assert_eq!(reduced(ints([]), Int(axis), true, "full"), Ok(ints([])));
        }
        assert_eq!(reduced(ints([]), None, true, "full"), Ok(ints([])));
        assert_eq!(
            reduced(ints([]), Int(1), true, "full"),
            Err("`dim` has 1, and the axis of a scalar is 0 or -1".into())
        );
        assert_eq!(
            reduced(s(), Int(0), false, "none"),
            Err("`mode` is 'none', and must be one of 'full', 'noop', 'reject'".into())
        );
        assert!(call("reduced", &[s(), Int(0), Int(1), str("full")]).is_err());
    }

    #[test]
    fn axes_are_judged() {
        let valid = |dim: Value, rank: i128| call("valid_axes", &[dim, Int(rank)]);
        assert_eq!(valid(None, 0), Ok(Bool(true)));
        assert_eq!(valid(Int(-1), 0), Ok(Bool(true)));
        assert_eq!(valid(Int(1), 0), Ok(Bool(false)));
        assert_eq!(valid(Int(-2), 2), Ok(Bool(true)));
        assert_eq!(valid(Int(2), 2), Ok(Bool(false)));
        assert_eq!(valid(ints([0, -3]), 2), Ok(Bool(false)));
        assert_eq!(valid(ints([]), 2), Ok(Bool(true)));
        assert_eq!(valid(None, -1), Err("`rank` is -1, and must be non-negative".into()));
        assert!(valid(str("a"), 1).is_err());
        let unique = |dim: Value, rank: i128| call("unique_axes", &[dim, Int(rank)]);
        assert_eq!(unique(None, 3), Ok(Bool(true)));
        assert_eq!(unique(Int(1), 3), Ok(Bool(true)));
        assert_eq!(unique(ints([0, 1, -1]), 3), Ok(Bool(true)));
        assert_eq!(unique(ints([0, -3]), 3), Ok(Bool(false)));
        assert_eq!(unique(ints([0, -1]), 0), Ok(Bool(false)));
        assert!(unique(ints([3]), 3).is_err());
    }

    #[test]
    fn an_item_an_axis() {
        let per_axis = |v: Value, i: i128, n: i128, fallback: Value| call("per_axis", &[v, Int(i), Int(n), fallback]);
        assert_eq!(per_axis(Int(3), 1, 2, None), Ok(Int(3)));
        assert_eq!(per_axis(ints([3, 4]), 1, 2, None), Ok(Int(4)));
        assert_eq!(per_axis(None, 0, 2, Int(7)), Ok(Int(7)));
        assert_eq!(per_axis(Value::Seq([Int(1), None].into()), 1, 2, Int(7)), Ok(Int(7)));
        assert_eq!(per_axis(None, 0, 2, None), Err("`v` is None there, and there is no fallback".into()));
        assert_eq!(per_axis(ints([3, 4]), 0, 3, None), Err("`v` is (3, 4), and must have 3 items".into()));
        assert_eq!(per_axis(ints([3, 4]), 2, 2, None), Err("`i` is 2, and must be below `n`, 2".into()));
        assert!(per_axis(ints([3, 4]), -1, 2, None).is_err());
        assert!(per_axis(str("a"), 0, 1, None).is_err());
        assert_eq!(call("per_axis", &[Int(5), Int(0), Int(1)]), Ok(Int(5)));
    }

    #[test]
    fn division_rounds_up() {
        let ceil_div = |a: i128, b: i128| call("ceil_div", &[Int(a), Int(b)]);
        for (a, b, expected) in [(0, 3, 0), (1, 3, 1), (3, 3, 1), (4, 3, 2), (-1, 3, 0), (-3, 3, -1), (-4, 3, -1)] {
            assert_eq!(ceil_div(a, b), Ok(Int(expected)), "{a} {b}");
        }
        assert_eq!(ceil_div(i128::MAX, 1), Ok(Int(i128::MAX)));
        assert_eq!(ceil_div(i128::MIN, 1), Ok(Int(i128::MIN)));
        assert_eq!(ceil_div(1, 0), Err("`b` is 0, and must be positive".into()));
        assert_eq!(ceil_div(1, -2), Err("`b` is -2, and must be positive".into()));
    }

    #[test]
    fn sequences_are_folded() {
        assert_eq!(call("len", &[ints([4, 5])]), Ok(Int(2)));
        assert_eq!(call("len", &[str("ab")]), Err("`s` is 'ab', and must be a sequence".into()));
        assert_eq!(call("prod", &[ints([])]), Ok(Int(1)));
        assert_eq!(call("prod", &[ints([2, 3, 4])]), Ok(Int(24)));
        assert_eq!(call("prod", &[ints([i128::MAX, i128::MAX, 0])]), Ok(Int(0)));
        assert_eq!(call("prod", &[ints([i128::MAX, 2])]), Err("the result is beyond 128 bits".into()));
        assert_eq!(call("sum", &[ints([])]), Ok(Int(0)));
        assert_eq!(call("sum", &[ints([2, -3])]), Ok(Int(-1)));
        assert_eq!(call("sum", &[Value::Seq([Bool(true), Int(2)].into())]), Ok(Int(3)));
        assert_eq!(
            call("sum", &[Value::Seq([Int(1), str("a")].into())]),
            Err("`s[1]` is 'a', and must be an integer".into())
        );
        assert!(call("sum", &[ints([i128::MAX, 1])]).is_err());
        assert_eq!(call("all", &[ints([])]), Ok(Bool(true)));
        assert_eq!(call("all", &[Value::Seq([Bool(true), Bool(false)].into())]), Ok(Bool(false)));
        assert_eq!(call("all", &[ints([1])]), Err("`s[0]` is 1, and must be a Boolean".into()));
        assert_eq!(call("max", &[ints([2, 7, 3])]), Ok(Int(7)));
        assert_eq!(call("min", &[ints([2, 7, 3]), None]), Ok(Int(2)));
        assert_eq!(call("max", &[ints([]), Int(4)]), Ok(Int(4)));
        assert_eq!(
            call("min", &[ints([])]),
            Err("an empty sequence has no least item, and there is no default".into())
        );
    }

    #[test]
    fn convolutions_have_lengths() {
        let conv = |l: i128, k: i128, s: i128, p: i128, d: i128| call("conv.out", &[l, k, s, p, d].map(Int));
        assert_eq!(conv(7, 3, 2, 0, 1), Ok(Int(3)));
        assert_eq!(conv(7, 3, 2, 1, 2), Ok(Int(3)));
        assert_eq!(conv(2, 3, 2, 0, 1), Ok(Int(0)));
        assert_eq!(conv(1, 4, 2, 0, 1), Ok(Int(-1)));
        assert_eq!(conv(7, 3, 0, 0, 1), Err("`s` is 0, and must be positive".into()));
        assert_eq!(conv(i128::MAX, 3, 1, i128::MAX, 1), Err("the result is beyond 128 bits".into()));
    }

    #[test]
    fn poolings_have_lengths() {
        let pool = |l: i128, k: i128, s: i128, p: i128, d: i128, ceil: bool| {
            call("pool.out", &[Int(l), Int(k), Int(s), Int(p), Int(d), Bool(ceil)])
        };
        assert_eq!(pool(7, 2, 2, 0, 1, false), Ok(Int(3)));
        assert_eq!(pool(7, 2, 2, 0, 1, true), Ok(Int(4)));
        assert_eq!(pool(6, 2, 2, 0, 1, true), Ok(Int(3)));
        // A third window would start at 6, and the right padding starts there or before.
        assert_eq!(pool(5, 2, 3, 1, 1, true), Ok(Int(2)));
        assert_eq!(pool(4, 2, 3, 1, 1, true), Ok(Int(2)));
        assert_eq!(pool(1, 4, 2, 0, 1, false), Ok(Int(0)));
        assert_eq!(pool(7, 3, 2, 1, 2, false), Ok(Int(3)));
        assert!(pool(7, 3, -1, 1, 2, false).is_err());
        // By brute force: windows of stride `s` that start inside the input or the left padding.
        for (l, k, s, p) in (0..9).flat_map(|l| (1..4).flat_map(move |k| (1..4).map(move |s| (l, k, s, k / 2)))) {
            let windows = |whole: bool| {
                let starts = (0..).map(|i| i * s - p).take_while(|&at| match whole {
                    true => at + k <= l + p,
                    false => at + k < l + p + s && at < l,
                });
                starts.count() as i128
            };
            assert_eq!(pool(l, k, s, p, 1, false), Ok(Int(windows(true))), "floor {l} {k} {s} {p}");
            assert_eq!(pool(l, k, s, p, 1, true), Ok(Int(windows(false))), "ceil {l} {k} {s} {p}");
        }
    }

    #[test]
    fn layouts_have_capacities() {
        let capacity = |layout: Value, r: i128, e: i128| call("moe.capacity", &[layout, Int(r), Int(e)]);
        assert_eq!(capacity(masked(16), 100, 8), Ok(Int(128)));
        assert_eq!(capacity(contiguous("tight", 1), 100, 8), Ok(Int(100)));
        assert_eq!(capacity(contiguous("aligned", 4), 10, 3), Ok(Int(20)));
        assert_eq!(capacity(contiguous("aligned", 4), 11, 3), Ok(Int(20)));
        assert_eq!(capacity(contiguous("aligned", 4), 12, 3), Ok(Int(24)));
        assert_eq!(
            capacity(contiguous("aligned", 0), 12, 3),
            Err("`layout.alignment` is 0, and must be a positive integer".into())
        );
        assert_eq!(capacity(masked(16), -1, 8), Err("`R` is -1, and must be non-negative".into()));
        assert_eq!(capacity(None, 1, 8), Err("`layout` is None, and must be a layout".into()));
    }

    #[test]
    fn expansions_are_square_roots() {
        let expansion = |q: i128| call("mhc.expansion", &[Int(q)]);
        assert_eq!(expansion(3), Ok(Int(1)));
        assert_eq!(expansion(24), Ok(Int(4)));
        for q in [-1, 0, 1, 2, 4, 23, i128::MIN, i128::MAX] {
            assert_eq!(expansion(q), Err(format!("`q` is {q}, and no positive n has n * n + 2n == {q}")));
        }
    }

    #[test]
    fn dtypes_are_promoted() {
        let promote = |name: &str| call("promote_int_to_float", &[str(name)]);
        for (from, to) in [("int8", "float32"), ("uint64", "float32"), ("bool", "bool"), ("bfloat16", "bfloat16")] {
            assert_eq!(promote(from), Ok(Value::DType(DType::from_name(to).unwrap())));
        }
        assert_eq!(promote("half"), Err("`T` is 'half', and must be a dtype".into()));
        let half = || Value::DType(DType::Float16);
        assert_eq!(call("coalesce_dtype", &[None, half()]), Ok(half()));
        assert_eq!(call("coalesce_dtype", &[Value::DType(DType::Int8), half()]), Ok(Value::DType(DType::Int8)));
        assert!(call("coalesce_dtype", &[None, None]).is_err());
    }

    #[test]
    fn sizes_are_balanced() {
        let sizes = |total: i128, count: i128| call("balanced_sizes", &[Int(total), Int(count)]);
        assert_eq!(sizes(10, 4), Ok(ints([3, 3, 2, 2])));
        assert_eq!(sizes(2, 3), Ok(ints([1, 1, 0])));
        assert_eq!(sizes(0, 1), Ok(ints([0])));
        assert_eq!(sizes(3, 0), Err("`count` is 0, and must be positive".into()));
        assert_eq!(sizes(-1, 2), Err("`total` is -1, and must be non-negative".into()));
        assert!(sizes(1, i128::MAX).unwrap_err().contains("more than the 1048576 that are computed"));
        assert_eq!(call("repeat", &[Int(-5), Int(2)]), Ok(ints([-5, -5])));
        assert_eq!(call("repeat", &[Int(5), Int(0)]), Ok(ints([])));
        assert_eq!(call("repeat", &[Int(5), Int(-1)]), Err("`count` is -1, and must be non-negative".into()));
        assert!(call("repeat", &[Int(5), Int(1 << 40)]).is_err());
    }

    #[test]
    fn numbers_and_dtypes_have_categories() {
        let category = |x: Value| call("category", &[x]);
        assert_eq!(category(Bool(true)), Ok(str("bool")));
        assert_eq!(category(Int(1)), Ok(str("int")));
        assert_eq!(category(Float(1.0)), Ok(str("float")));
        assert_eq!(category(Value::DType(DType::Complex64)), Ok(str("complex")));
        assert_eq!(category(str("uint8")), Ok(str("int")));
        assert!(category(None).is_err());
    }

    #[test]
    fn scalars_convert_as_in_pytorch() {
        let fits = |v: Value, dtype: &str| match call("representable", &[v, str(dtype)]) {
            Ok(Bool(fits)) => fits,
            other => panic!("{other:?}"),
        };
        let two = |n: i32| f64::powi(2.0, n);
        for (dtype, max) in [
            ("float16", 65504.0),
            ("bfloat16", two(127) * (2.0 - two(-7))),
            ("float32", two(127) * (2.0 - two(-23))),
            ("float64", f64::MAX),
            ("complex64", two(127) * (2.0 - two(-23))),
            ("float8_e4m3fn", 448.0),
            ("float8_e4m3fnuz", 240.0),
            ("float8_e5m2", 57344.0),
            ("float8_e5m2fnuz", 57344.0),
        ] {
            let infinity = !matches!(dtype, "float8_e4m3fn" | "float8_e4m3fnuz" | "float8_e5m2fnuz");
            for sign in [1.0, -1.0] {
                assert!(fits(Float(sign * max), dtype), "{dtype}");
                assert_eq!(fits(Float(sign * f64::INFINITY), dtype), infinity, "{dtype}");
                if !matches!(dtype, "float64") {
                    assert!(!fits(Float(sign * max * (1.0 + f64::EPSILON)), dtype), "{dtype}");
                }
            }
            assert!(fits(Float(0.0), dtype) && fits(Int(-3), dtype) && fits(Bool(true), dtype));
        }
        assert!(fits(Int(65504), "float16") && !fits(Int(65505), "float16"));
        for (dtype, lo, hi) in [
            ("int8", -128, 127),
            ("int16", -32768, 32767),
            ("int32", -(1 << 31), (1 << 31) - 1),
            ("int64", -(1 << 63), (1 << 63) - 1),
            // An unsigned dtype takes a negative integer whose size it can hold.
            ("uint8", -255, 255),
            ("uint16", -65535, 65535),
            ("uint32", -((1 << 32) - 1), (1 << 32) - 1),
            ("uint64", -((1 << 64) - 1), (1_i128 << 64) - 1),
        ] {
            assert!(fits(Int(lo), dtype) && fits(Int(hi), dtype), "{dtype}");
            assert!(!fits(Int(lo - 1), dtype) && !fits(Int(hi + 1), dtype), "{dtype}");
            assert!(!fits(Float(f64::INFINITY), dtype) && fits(Float(1.5), dtype), "{dtype}");
        }
        assert!(fits(Float(255.0), "uint8") && !fits(Float(255.5), "uint8") && !fits(Float(-0.5), "uint8"));
        assert!(fits(Float(-128.0), "int8") && !fits(Float(-128.5), "int8"));
        assert!(fits(Float(f64::INFINITY), "bool") && fits(Int(7), "bool"));
        assert!(fits(Float(1.0), "float8_e8m0fnu") && fits(Float(two(127)), "float8_e8m0fnu"));
        assert!(!fits(Float(0.0), "float8_e8m0fnu") && !fits(Float(two(128)), "float8_e8m0fnu"));
        assert!(!fits(Int(-1), "float8_e8m0fnu") && !fits(Float(f64::INFINITY), "float8_e8m0fnu"));
        assert!(call("representable", &[None, str("int8")]).is_err());
        assert!(call("representable", &[None, str("bool")]).is_err());
        assert!(call("representable", &[Int(1), str("half")]).is_err());
    }
}
