//! To and from narrow dtypes.

use tileops_ops::{CheckedCall, DType, OpError};

use crate::distribution::Distribution;
use crate::host::View;
use crate::ops::each::{Each, volume};
use crate::ops::facts::extent;
use crate::units::{Inputs, Reference, Sink, Target, Units};

pub(crate) const REFERENCES: &[Reference] = &[
    Reference::new("RowQuantizeFwdOp", |call, inputs| {
        let (columns, dtype) = (extent(call, "N")?, call.dtype("q")?);
        groups(call, inputs, columns, move |greatest| single(greatest / range(dtype)))
    }),
    Reference::new("TokenGroupQuantizeFwdOp", |call, inputs| {
        let power_of_two = call.bool("power_of_two")?;
        groups(call, inputs, extent(call, "group")?, move |greatest| {
            let scale = single(greatest / range(DType::Float8E4M3Fn));
            if power_of_two && scale > 0.0 && scale.is_finite() { 2_f64.powi(exponent_above(scale)) } else { scale }
        })
    }),
    Reference::new("MxQuantizeFwdOp", mx),
    Reference::new("BlockQuantizeFwdOp", |call, inputs| {
        let x = inputs.tensor(call, "x")?;
        let (rows, columns) = (x.extent(0), x.extent(1));
        let [height, width] = block(call)?;
        let across = columns.div_ceil(width);
        let compute = move |unit: usize, sink: &mut Sink| {
            let (top, left) = (unit / across * height, unit % across * width);
            let (bottom, right) = ((top + height).min(rows), (left + width).min(columns));
            let all = || (top..bottom).flat_map(move |row| (left..right).map(move |column| row * columns + column));
            let greatest = greatest(all().map(|at| x.get(at)));
            let scale = single(greatest / range(DType::Float8E4M3Fn));
            all().for_each(|at| sink.put(0, at, code(x.get(at), scale, DType::Float8E4M3Fn)));
            sink.put(1, unit, scale);
        };
        let (targets, cost) = (vec![Target::output("q"), Target::output("scale")], height * width);
        Ok(Box::new(Each { targets, count: rows.div_ceil(height) * across, cost, compute }))
    }),
    Reference::new("TensorQuantizeFwdOp", |call, inputs| {
        let (x, scale) = (inputs.tensor(call, "x")?, inputs.tensor(call, "scale")?.get(0));
        let dtype = call.dtype("q")?;
        each(&x, "q", move |at| code(x.get(at), scale, dtype))
    })
    .drawing(|_, name| (name == "scale").then_some(SCALES)),
    Reference::new("BlockDequantizeFwdOp", |call, inputs| {
        let (q, scale) = (inputs.tensor(call, "q")?, inputs.tensor(call, "scale")?);
        let (columns, across, [height, width]) = (q.extent(1), scale.extent(1), block(call)?);
        each(&q, "y", move |at| {
            let (row, column) = (at / columns, at % columns);
            q.get(at) * scale.get(row / height * across + column / width)
        })
    }),
    Reference::new("RowDequantizeFwdOp", |call, inputs| {
        let (q, scale) = (inputs.tensor(call, "q")?, inputs.tensor(call, "scale")?);
        let (columns, column_scale) = (q.extent(1), inputs.optional("column_scale"));
        each(&q, "y", move |at| {
            let of_column = column_scale.map_or(1.0, |scales| scales.get(at % columns));
            q.get(at) * scale.get(at / columns) * of_column
        })
    }),
    Reference::new("Int4DequantizeFwdOp", |call, inputs| {
        let (packed, scale) = (inputs.tensor(call, "packed")?, inputs.tensor(call, "scale")?);
        let (zero, group) = (inputs.optional("zero"), extent(call, "group")?);
        let count = 2 * packed.len();
        // Rows are whole groups, so that a group is known by an element's place in all.
        elements(count, "y", move |at| {
            // The low half of a byte comes first.
            let number = packed.int(at / 2) >> (4 * (at % 2)) & 15;
            (number as f64 - zero.map_or(0.0, |zero| zero.get(at / group))) * scale.get(at / group)
        })
    })
    .drawing(|_, name| match name {
        "packed" => Some(Distribution::Integers { low: 0, high: 256 }),
        "zero" => Some(Distribution::Integers { low: 0, high: 16 }),
        _ => None,
    }),
    Reference::new("FakeQuantizeFwdOp", |call, inputs| {
        let (x, scale) = (inputs.tensor(call, "x")?, inputs.tensor(call, "scale")?);
        let zero_point = inputs.tensor(call, "zero_point")?;
        let (least, most) = (call.float("quant_min")?, call.float("quant_max")?);
        let columns = volume(&x.shape[1..]).max(1);
        each(&x, "y", move |at| {
            let (scale, zero) = (scale.get(at / columns), zero_point.int(at / columns) as f64);
            // PyTorch multiplies by the reciprocal, each rounded to single precision.
            let number = single(x.get(at) * single(1.0 / scale)).round_ties_even() + zero;
            // What is not a number is the least one: the whole number that PyTorch converts it to is below all.
            let number = if number.is_nan() { least } else { number };
            (number.clamp(least, most) - zero) * scale
        })
    })
    .drawing(|_, name| match name {
        "scale" => Some(SCALES),
        "zero_point" => Some(Distribution::Integers { low: -3, high: 4 }),
        _ => None,
    }),
];

/// Scales that leave codes of many magnitudes, and some that are cut.
const SCALES: Distribution = Distribution::Uniform { low: 0.004, high: 0.2 };

/// A number in single precision: scales are stored so, and quotients by them are PyTorch's.
fn single(x: f64) -> f64 {
    f64::from(x as f32)
}

/// The greatest magnitude of a narrow dtype.
fn range(dtype: DType) -> f64 {
    match dtype {
        DType::Float8E5M2 => 57_344.0,
        DType::Int8 => 127.0,
        _ => 448.0,
    }
}

/// The greatest magnitude: what is not a number goes into the scale, and so into all that is counted in it.
pub(crate) fn greatest(values: impl Iterator<Item = f64>) -> f64 {
    values.fold(0.0, |most: f64, x| if most.is_nan() || x.is_nan() { f64::NAN } else { most.max(x.abs()) })
}

/// What `x` becomes in units of `scale`. What is not a number stays so where the dtype has such, and is 0 in whole numbers.
fn code(x: f64, scale: f64, dtype: DType) -> f64 {
    if scale == 0.0 {
        return 0.0;
    }
    let quotient = single(x / scale);
    match dtype {
        DType::Int8 => quotient.round_ties_even().clamp(-128.0, 127.0),
        _ => quotient.clamp(-range(dtype), range(dtype)),
    }
}

/// The least whole number whose power of two is not below `x`.
fn exponent_above(x: f64) -> i32 {
    let nearest = x.log2().round() as i32;
    (nearest - 1..=nearest + 1).find(|&exponent| 2_f64.powi(exponent) >= x).unwrap_or(nearest)
}

/// The greatest whole number whose power of two is not above `x`.
fn exponent_below(x: f64) -> i32 {
    let nearest = x.log2().round() as i32;
    (nearest - 1..=nearest + 1).rev().find(|&exponent| 2_f64.powi(exponent) <= x).unwrap_or(nearest)
}

fn block(call: &CheckedCall) -> Result<[usize; 2], OpError> {
    let block = call.shape("block")?;
    Ok([volume(&block[..1]), volume(&block[1..2])])
}

/// How many elements a unit has.
const BLOCK: usize = 4096;

fn elements<'a>(
    count: usize,
    name: &'static str,
    function: impl Fn(usize) -> f64 + Send + Sync + 'a,
) -> Result<Box<dyn Units + 'a>, OpError> {
    let compute = move |unit: usize, sink: &mut Sink| {
        (unit * BLOCK..((unit + 1) * BLOCK).min(count)).for_each(|at| sink.put(0, at, function(at)));
    };
    Ok(Box::new(Each { targets: vec![Target::output(name)], count: count.div_ceil(BLOCK), cost: BLOCK, compute }))
}

fn each<'a>(
    of: &View<'a>,
    name: &'static str,
    function: impl Fn(usize) -> f64 + Send + Sync + 'a,
) -> Result<Box<dyn Units + 'a>, OpError> {
    elements(of.len(), name, function)
}

/// Groups of neighbouring elements of `x`, each with the scale that follows from its greatest magnitude.
fn groups<'a>(
    call: &'a CheckedCall,
    inputs: &Inputs<'a>,
    group: usize,
    scale: impl Fn(f64) -> f64 + Send + Sync + 'a,
) -> Result<Box<dyn Units + 'a>, OpError> {
    let (x, dtype) = (inputs.tensor(call, "x")?, call.dtype("q")?);
    let compute = move |unit: usize, sink: &mut Sink| {
        let values = x.row(unit * group, group);
        let scale = scale(greatest(values.iter().copied()));
        for (at, &x) in values.iter().enumerate() {
            sink.put(0, unit * group + at, code(x, scale, dtype));
        }
        sink.put(1, unit, scale);
    };
    let targets = vec![Target::output("q"), Target::output("scale")];
    Ok(Box::new(Each { targets, count: x.len() / group.max(1), cost: group, compute }))
}

/// The microscaling formats (OCP MX 1.0): the scale is the power of two of the greatest magnitude over that of the format's.
fn mx<'a>(call: &'a CheckedCall, inputs: &'a Inputs<'a>) -> Result<Box<dyn Units + 'a>, OpError> {
    const GROUP: usize = 32;
    let x = inputs.tensor(call, "x")?;
    let four_bits = call.str("format")? == "fp4";
    let greatest_exponent = if four_bits { 2 } else { 8 };
    let compute = move |unit: usize, sink: &mut Sink| {
        let values = x.row(unit * GROUP, GROUP);
        let greatest = greatest(values.iter().copied());
        let exponent =
            if greatest > 0.0 && greatest.is_finite() { exponent_below(greatest) - greatest_exponent } else { -127 };
        // The scale has no infinity: what is infinite leaves no number.
        let scale = if greatest.is_finite() { 2_f64.powi(exponent.clamp(-127, 127)) } else { f64::NAN };
        if four_bits {
            for (at, pair) in values.chunks_exact(2).enumerate() {
                let byte = nearest_of_four_bits(pair[0] / scale) | nearest_of_four_bits(pair[1] / scale) << 4;
                sink.put_int(0, unit * GROUP / 2 + at, byte);
            }
        } else {
            for (at, x) in values.iter().enumerate() {
                sink.put(0, unit * GROUP + at, (x / scale).clamp(-448.0, 448.0));
            }
        }
        sink.put(1, unit, scale);
    };
    let targets = vec![Target::output("q"), Target::output("scale")];
    Ok(Box::new(Each { targets, count: x.len() / GROUP, cost: GROUP, compute }))
}

/// The number of the nearest of E2M1's magnitudes, ties to the even one, with the sign above.
fn nearest_of_four_bits(x: f64) -> i128 {
    const MAGNITUDES: [f64; 8] = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0];
    let distance = |code: &usize| (MAGNITUDES[*code] - x.abs()).abs();
    let nearer = |a: &usize, b: &usize| distance(a).total_cmp(&distance(b)).then((a % 2).cmp(&(b % 2)));
    if x.is_nan() {
        return 0;
    }
    let code = (0..MAGNITUDES.len()).min_by(nearer).unwrap_or(0);
    code as i128 | if x.is_sign_negative() { 8 } else { 0 }
}
