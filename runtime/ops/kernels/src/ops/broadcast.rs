//! Two or three tensors in, one out, broadcast to each other.

use tileops_ops::{Category, CheckedCall, DType, OpError, Tensor, Value};

use crate::ops::Planner;
use crate::ops::elementwise::{
    Function, bytes, common_lanes, count, divisor, grid, is_whole, lanes, lanes_of, precision, scalars, whole,
};
use crate::ops::refused;
use crate::plan::{Arg, Plan, Where};
use crate::source::ELEMENTWISE;

pub(crate) const PLANNERS: &[(&str, Planner)] = &[
    ("AddFwdOp", |call, _| {
        let sum = Function::of("plus_times(a, b, s)").with(call.float("alpha")?, 0.0);
        Ok(map(call, ["a", "b"], sum)?.place("y", Where::Out))
    }),
    ("SubFwdOp", |call, _| {
        let less = -call.float("alpha")?;
        // A factor of whole numbers wraps around as they do: 2^31 is the least one, and no scalar would hold it.
        let less = if is_whole(call.tensor("y")?.dtype) { f64::from(less as i64 as i32) } else { less };
        let difference = Function::of("plus_times(a, b, s)").with(less, 0.0);
        Ok(map(call, ["a", "b"], difference)?.place("y", Where::Out))
    }),
    ("MulFwdOp", |call, _| map(call, ["a", "b"], Function::of("a * b"))),
    ("DivFwdOp", |call, _| {
        let function = match call.present("rounding_mode")? {
            false => "static_cast<float>(a) / static_cast<float>(b)",
            true if call.str("rounding_mode")? == "floor" => "floor_quotient(a, b)",
            true => "trunc_quotient(a, b)",
        };
        map(call, ["a", "b"], Function::of(function))
    }),
    ("RemainderFwdOp", |call, _| map(call, ["a", "b"], Function::of("remainder_of(a, b)"))),
    ("PowFwdOp", |call, _| map(call, ["base", "exponent"], Function::of("power(a, b)"))),
    ("MaximumFwdOp", |call, _| map(call, ["a", "b"], Function::of("maximum(a, b)").words("left | right"))),
    ("MinimumFwdOp", |call, _| map(call, ["a", "b"], Function::of("minimum(a, b)").words("left & right"))),
    ("EqFwdOp", |call, _| map(call, ["a", "b"], Function::of("a == b").words("left ^ right ^ 0x01010101u"))),
    ("GtFwdOp", |call, _| map(call, ["a", "b"], Function::of("a > b"))),
    ("LogicalXorFwdOp", |call, _| map(call, ["a", "b"], Function::of("(a != 0) != (b != 0)").words("left ^ right"))),
    ("BitwiseAndFwdOp", |call, _| map(call, ["a", "b"], Function::of("a & b").words("left & right"))),
    ("PreluFwdOp", prelu),
    ("MaskedFillFwdOp", |call, _| {
        let value = match call.value("value")? {
            Value::Bool(truth) => f64::from(u8::from(*truth)),
            _ => call.float("value")?,
        };
        let plan = map(call, ["x", "mask"], Function::of("b ? static_cast<decltype(a)>(s) : a").with(value, 0.0))?;
        Ok(if call.bool("inplace")? { plan.place("y", Where::In("x")) } else { plan })
    }),
    ("WhereFwdOp", |call, _| map(call, ["condition", "a", "b"], Function::of("a ? b : c"))),
    ("LerpFwdOp", |call, _| {
        // From the nearer end, so that a weight of 1 gives the other exactly.
        let function = "c < 0.5f ? fmaf(c, b - a, a) : fmaf(c - 1.f, b - a, b)";
        map(call, ["start", "end", "weight"], Function::of(function))
    }),
    ("AddcmulFwdOp", |call, _| {
        let sum = Function::of("fmaf(s, b * c, a)").with(call.float("value")?, 0.0);
        Ok(map(call, ["x", "a", "b"], sum)?.place("y", Where::Out))
    }),
    ("AddcdivFwdOp", |call, _| {
        let sum = Function::of("fmaf(s, b / c, a)").with(call.float("value")?, 0.0);
        Ok(map(call, ["x", "a", "b"], sum)?.place("y", Where::Out))
    }),
    ("ClampTensorFwdOp", |call, _| map(call, ["x", "min", "max"], Function::of("clamped(a, b, c)"))),
    ("RepetitionPenaltyFwdOp", |call, _| {
        let penalty = call.float("penalty")?;
        let function = Function::of("b ? a * (a > 0.f ? s : t) : a").with(1.0 / penalty, penalty);
        mapped(call, &["logits", "seen"], "logits", function)
    }),
    ("GradClipFwdOp", |call, _| {
        // As torch.nn.utils.clip_grad_norm_ guards the norm.
        let function = Function::of("a * minimum(s / (b + 1e-6f), 1.f)").with(call.float("max_norm")?, 0.0);
        mapped(call, &["grad", "norm"], "grad", function)
    }),
];

/// y = function(a, b) or function(a, b, c), with these inputs.
fn map<const N: usize>(call: &CheckedCall, names: [&'static str; N], function: Function) -> Result<Plan, OpError> {
    mapped(call, &names, "y", function)
}

fn mapped(
    call: &CheckedCall,
    names: &[&'static str],
    output: &'static str,
    function: Function,
) -> Result<Plan, OpError> {
    let operands: Vec<&Tensor> = names.iter().map(|name| call.tensor(name)).collect::<Result<_, _>>()?;
    let shapes: Vec<Vec<i128>> = operands.iter().map(|tensor| tensor.shape.clone()).collect();
    launched(call, names, &shapes, output, function)
}

/// The slopes lie along the second axis of x.
fn prelu(call: &CheckedCall, _: &crate::gpu::Gpu) -> Result<Plan, OpError> {
    let (x, weight) = (call.tensor("x")?, call.tensor("weight")?);
    let mut slopes = vec![1; x.shape.len() - 1];
    slopes[0] = weight.shape[0];
    launched(call, &["x", "weight"], &[x.shape.clone(), slopes], "y", Function::of("a > 0.f ? a : a * b"))
}

/// One launch of `broadcast.cu` on operands of these shapes.
fn launched(
    call: &CheckedCall,
    names: &[&'static str],
    shapes: &[Vec<i128>],
    output: &'static str,
    function: Function,
) -> Result<Plan, OpError> {
    let y = call.tensor(output)?;
    let elements = count(y)?;
    if elements == 0 {
        return Ok(Plan::new());
    }
    let dtypes: Vec<DType> = names.iter().map(|name| Ok(call.tensor(name)?.dtype)).collect::<Result<_, OpError>>()?;
    let axes =
        Axes::new(&y.shape, shapes).ok_or_else(|| refused(call.op(), "its extents are beyond 64 bits".to_owned()))?;
    let repeat = axes.repeat(elements, &dtypes);
    let most = axes.lanes(&dtypes, y.dtype, repeat > 0);
    let lanes =
        if axes.extents.is_empty() { most } else { common_lanes(most, &axes.extents[axes.extents.len() - 1..]) };
    let lanes = lanes_of(elements, lanes);
    // Odd rows are read by small vectors, and more of them.
    let vectors = match repeat {
        0 if elements >= 1 << 20 => (most / lanes).min(4),
        0 => 1,
        _ => repeat,
    };
    let mut source = precision(source!("broadcast.cu").with(ELEMENTWISE), y.dtype)
        .element("TY", y.dtype)
        .define("LANES", lanes)
        .define("VECTORS", vectors)
        .define("AXES", axes.extents.len())
        .define("REPEAT", repeat)
        .define("FUNCTION", format!("({})", function.expression));
    let booleans = dtypes.iter().chain([&y.dtype]).all(|dtype| *dtype == DType::Bool);
    if let Some(words) = function.words.filter(|_| booleans && lanes.is_multiple_of(4)) {
        source = source.define("WORDS(left, right)", format!("({words})"));
    }
    const TYPES: [&str; 3] = ["TA", "TB", "TC"];
    const HOWS: [&str; 3] = ["HOW_A", "HOW_B", "HOW_C"];
    const SAME: [&str; 3] = ["SAME_A", "SAME_B", "SAME_C"];
    for (at, dtype) in dtypes.iter().enumerate() {
        source = source.element(TYPES[at], *dtype).define(HOWS[at], axes.hows[at]);
        source = source.define(SAME[at], u8::from(axes.is_same(at)));
    }
    // The scalars are of the dtype that has one: a mask has not.
    let of = dtypes.iter().copied().find(|dtype| dtype.category() != Category::Bool).unwrap_or(DType::Bool);
    let (source, [s, t]) = scalars(source, of, function.scalars);
    let wide =
        elements / lanes >= 1 << 31 || axes.strides.iter().flatten().any(|stride| u32::try_from(*stride).is_err());
    let mut arguments: Vec<Arg> = names.iter().map(|name| Arg::Tensor(name)).collect();
    arguments.extend([Arg::Tensor(output), whole(call, elements)?, s, t]);
    if !axes.extents.is_empty() {
        arguments.push(axes.argument(lanes, wide));
    }
    let grid = match repeat {
        0 => grid(call, elements.div_ceil(lanes), vectors)?,
        _ => grid(call, axes.extents[0].div_ceil(repeat) * (elements / axes.extents[0] / lanes), 1)?,
    };
    Ok(Plan::new().launch(source.define("WIDE", u8::from(wide)), "broadcast", grid, arguments))
}

/// How operands lie under an output. Axes that every operand steps through alike are one; where all of them are, or an
/// operand has one element, there is nothing to compute of a position, and no axes are.
#[derive(Debug, PartialEq)]
struct Axes {
    extents: Vec<u64>,
    /// Each operand's strides, in elements.
    strides: Vec<Vec<u64>>,
    /// How each is read, by the names of `broadcast.cu`.
    hows: Vec<&'static str>,
}

impl Axes {
    /// Nothing where an extent is beyond 64 bits.
    fn new(to: &[i128], shapes: &[Vec<i128>]) -> Option<Self> {
        let mut strides: Vec<Vec<u64>> = Vec::new();
        for shape in shapes {
            let mut of = vec![0; to.len()];
            let behind = to.len() - shape.len();
            let mut stride = 1_u64;
            for (axis, &extent) in shape.iter().enumerate().rev() {
                if extent != 1 {
                    of[behind + axis] = stride;
                }
                stride = stride.checked_mul(u64::try_from(extent).ok()?)?;
            }
            strides.push(of);
        }
        let mut axes = Axes { extents: Vec::new(), strides: vec![Vec::new(); shapes.len()], hows: Vec::new() };
        for (axis, &extent) in to.iter().enumerate().filter(|(_, extent)| **extent != 1) {
            let extent = u64::try_from(extent).ok()?;
            let last = axes.extents.len();
            let one_with_last =
                last > 0 && strides.iter().zip(&axes.strides).all(|(of, known)| known[last - 1] == of[axis] * extent);
            if one_with_last {
                axes.extents[last - 1] *= extent;
                axes.strides.iter_mut().zip(&strides).for_each(|(known, of)| known[last - 1] = of[axis]);
            } else {
                axes.extents.push(extent);
                axes.strides.iter_mut().zip(&strides).for_each(|(known, of)| known.push(of[axis]));
            }
        }
        // What lies as a packed tensor with the output's extents does.
        let mut packed = Vec::new();
        let mut stride = 1;
        for extent in axes.extents.iter().rev() {
            packed.insert(0, stride);
            stride *= extent;
        }
        axes.hows = (axes.strides.iter())
            .map(|of| match of.last() {
                _ if of.iter().all(|stride| *stride == 0) => "ONE",
                _ if *of == packed => "ALIKE",
                Some(0) => "ACROSS",
                _ => "ALONG",
            })
            .collect();
        if axes.hows.iter().all(|how| matches!(*how, "ONE" | "ALIKE")) {
            axes.extents.clear();
            axes.strides.iter_mut().for_each(Vec::clear);
        }
        Some(axes)
    }

    /// Whether an operand is the same for every step along the outermost axis.
    fn is_same(&self, operand: usize) -> bool {
        self.strides[operand].first() == Some(&0)
    }

    /// How many steps along the outermost axis a thread takes: several where an operand with as much to read as the output
    /// is the same for them, and threads enough are left; more steps where reading it takes as long as some of them.
    fn repeat(&self, elements: u64, dtypes: &[DType]) -> u64 {
        let held = (0..self.hows.len()).filter(|at| self.hows[*at] == "ALONG" && self.is_same(*at));
        let most = match (held.map(|at| dtypes[at].bits()).max(), elements) {
            (None, _) | (_, 0..0x40_0000) => 0,
            (Some(64..), 0x100_0000..) => 16,
            (_, 0x400_0000..) => 8,
            _ => 4,
        };
        if self.extents.first().is_some_and(|extent| *extent >= most) { most } else { 0 }
    }

    /// How many elements a vector has: 16 bytes of the widest that is streamed. What a thread holds over steps may be four
    /// times as wide.
    fn lanes(&self, dtypes: &[DType], result: DType, repeats: bool) -> u64 {
        let held = |at: usize| repeats && self.is_same(at);
        let streamed: Vec<DType> = (dtypes.iter().enumerate())
            .filter(|(at, _)| !repeats || (matches!(self.hows[*at], "ALIKE" | "ALONG") && !held(*at)))
            .map(|(_, dtype)| *dtype)
            .chain([result])
            .collect();
        let most = (0..dtypes.len()).filter(|at| held(*at)).map(|at| 512 / u64::from(dtypes[at].bits())).min();
        lanes(&streamed).min(most.unwrap_or(16))
    }

    /// The structure that the kernel takes. Its positions count vectors of `lanes` elements.
    fn argument(&self, lanes: u64, wide: bool) -> Arg {
        let last = self.extents.len() - 1;
        let extents =
            self.extents.iter().enumerate().map(|(axis, extent)| if axis == last { extent / lanes } else { *extent });
        let strides = self.strides.iter().flat_map(|of| {
            of.iter().enumerate().map(move |(axis, stride)| if axis == last { stride * lanes } else { *stride })
        });
        match wide {
            true => Arg::Bytes(extents.chain(strides).flat_map(u64::to_ne_bytes).collect()),
            // Extents and strides that are beyond 32 bits are wide.
            false => {
                bytes(extents.flat_map(|extent| divisor(extent as u32)).chain(strides.map(|stride| stride as u32)))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axes(to: &[i128], shapes: &[&[i128]]) -> Axes {
        let shapes: Vec<Vec<i128>> = shapes.iter().map(|shape| shape.to_vec()).collect();
        Axes::new(to, &shapes).unwrap()
    }

    #[test]
    fn axes_that_are_stepped_through_alike_are_one() {
        let alike = axes(&[4, 8, 16], &[&[4, 8, 16], &[4, 8, 16]]);
        assert_eq!((alike.extents.len(), &*alike.hows), (0, &["ALIKE", "ALIKE"][..]));
        let one = axes(&[4, 8], &[&[4, 8], &[]]);
        assert_eq!((one.extents.len(), &*one.hows), (0, &["ALIKE", "ONE"][..]));
        let channel = axes(&[64, 256, 56, 56], &[&[64, 256, 56, 56], &[256, 1, 1]]);
        assert_eq!(channel.extents, [64, 256, 3136]);
        assert_eq!(channel.strides, [[802_816, 3136, 1], [0, 1, 0]]);
        assert_eq!(channel.hows, ["ALIKE", "ACROSS"]);
        let outer = axes(&[4096, 4096], &[&[4096], &[4096, 1]]);
        assert_eq!((&*outer.extents, &*outer.hows), (&[4096, 4096][..], &["ALONG", "ACROSS"][..]));
        let middle = axes(&[64, 1024, 16], &[&[64, 1024, 16], &[64, 1, 16]]);
        assert_eq!(middle.strides[1], [16, 0, 1]);
        let rows = axes(&[2, 3, 5], &[&[2, 3, 5], &[2, 3, 1]]);
        assert_eq!((&*rows.extents, &*rows.strides[1]), (&[6, 5][..], &[1, 0][..]));
        assert_eq!(axes(&[1, 1], &[&[1, 1], &[]]).hows, ["ONE", "ONE"]);
    }
}
