//! Contractions whose operands are narrow: fp8 and int8 by cuBLASLt, weights of eight and four bits by the kernel that reads
//! each once. What neither takes, a plain kernel does.

use tileops_device::{Compute, Grid, MatrixScale, MatrixType, Operand, Product};
use tileops_ops::{CheckedCall, DType, OpError};

use crate::gpu::Gpu;
use crate::ops::Planner;
use crate::ops::gemm::{Spread, Streamed, extent, grid, many, matrix_type, optional, rescale, spread, stream};
use crate::plan::{Arg, Multiply, Plan};

pub(crate) const PLANNERS: &[(&str, Planner)] = &[
    ("ScaledMatmulFp8FwdOp", scaled_fp8),
    ("BlockScaledMatmulFp8FwdOp", block_scaled_fp8),
    ("BatchedMatmulFp8FwdOp", batched_fp8),
    ("MatmulInt8FwdOp", int8),
    ("MatmulInt8WeightFwdOp", int8_weight),
    ("MatmulInt4WeightFwdOp", int4_weight),
    ("MatmulMxfp4WeightFwdOp", mxfp4_weight),
];

/// What the plain kernel computes, as expressions of its pointers.
struct Plain<'e> {
    /// An element of the left operand, by `row` and `at`.
    a: &'e str,
    /// An element of the right operand, by `column` and `at`.
    b: &'e str,
    /// What becomes of `sum`.
    finish: &'e str,
    /// What products are added up in.
    sum: &'e str,
    /// The inputs: both operands, and the scale and the zero that the expressions read.
    inputs: [&'static str; 4],
    /// How many elements share a scale.
    group: u64,
}

/// A product that nothing faster takes. The result is `d`, or `y`.
fn plain(
    call: &CheckedCall,
    output: &'static str,
    (batch, m, n, k): (u64, u64, u64, u64),
    of: Plain<'_>,
) -> Result<Plan, OpError> {
    let [a, b, scale, zero] = of.inputs;
    let dtype = |name| call.tensor(name).map_or(DType::Float32, |tensor| tensor.dtype);
    let source = source!("plain.cu")
        .element("TA", dtype(a))
        .element("TB", dtype(b))
        .element("TS", dtype(scale))
        .element("TD", dtype(output))
        .define("SUM", of.sum)
        .define("A(row, at)", format!("({})", of.a))
        .define("B(column, at)", format!("({})", of.b))
        .define("FINISH(sum, row, column)", format!("({})", of.finish));
    let tensors = [a, b, "scale_a", "scale_b", scale, zero, "bias", output];
    let sizes = [m, n, k, of.group].map(|size| Arg::I32(size as i32));
    let blocks = (n.div_ceil(32) as u32, m.div_ceil(32) as u32, batch as u32);
    let grid = Grid { blocks, threads: (256, 1, 1), shared_bytes: 0 };
    let arguments = tensors.map(Arg::Tensor).into_iter().chain(sizes).collect();
    Ok(if batch * m * n == 0 { Plan::new() } else { Plan::new().launch(source, "plain", grid, arguments) })
}

/// Elements behind one another, a row of `k` after the other.
const A: &str = "to_float(a[(batch * m + row) * k + at])";
const B: &str = "to_float(b[(batch * n + column) * k + at])";

/// `A B^T` of fp8 operands with scales of those kinds.
fn fp8_product(
    call: &CheckedCall,
    (m, n, k): (u64, u64, u64),
    (scale_a, scale_b): (Option<MatrixScale>, Option<MatrixScale>),
    d: MatrixType,
) -> Result<Product, OpError> {
    let operand = |name, transposed, scale| -> Result<Operand, OpError> {
        Ok(Operand { element: matrix_type(call.tensor(name)?.dtype), transposed, scale })
    };
    let (a, b) = (operand("a", false, scale_a)?, operand("b", true, scale_b)?);
    Ok(Product { a, b, ..Product::linear(m, n, k, a.element, d, Compute::Fp32) })
}

/// The library takes rows of whole vectors.
fn is_aligned(n: u64, k: u64) -> bool {
    n.is_multiple_of(16) && k.is_multiple_of(16) && k > 0
}

fn scaled_fp8(call: &CheckedCall, _: &Gpu) -> Result<Plan, OpError> {
    let (m, n, k) = (extent(call, "M")?, extent(call, "N")?, extent(call, "K")?);
    let (d, bias) = (Arg::Tensor("d"), optional(call, "bias")?);
    let to = call.tensor("d")?.dtype;
    let mut plan = Plan::new();
    if m * n == 0 {
        return Ok(plan);
    }
    if k == 0 {
        return Ok(match bias {
            Some(bias) => spread(plan, (bias, to), (d, to), 1.0, (m, n), (0, 1)),
            None => plan.fill(d, 0),
        });
    }
    let is_one = (many(call, "SA")? == 1, many(call, "SB")? == 1);
    let mut scales = (Arg::Tensor("scale_a"), Arg::Tensor("scale_b"));
    let kind = if is_one == (true, true) { MatrixScale::One } else { MatrixScale::Outer };
    if kind == MatrixScale::Outer {
        // The library has one number on both sides, or one a row and one a column.
        for (scale, is_one, outer) in [(&mut scales.0, is_one.0, m), (&mut scales.1, is_one.1, n)] {
            if is_one {
                let repeated = plan.scratch(4 * outer as usize);
                let (from, to) = ((scale.clone(), DType::Float32), (repeated.clone(), DType::Float32));
                plan = spread(plan, from, to, 1.0, (outer, 1), (0, 0));
                *scale = repeated;
            }
        }
    }
    let product = fp8_product(call, (m, n, k), (Some(kind), Some(kind)), matrix_type(to))?;
    let product = Product { bias: bias.is_some(), ..product };
    let multiply = Multiply::new(product, Arg::Tensor("a"), Arg::Tensor("b"), d);
    Ok(plan.product(Multiply { bias, scale_a: Some(scales.0), scale_b: Some(scales.1), ..multiply }))
}

fn block_scaled_fp8(call: &CheckedCall, _: &Gpu) -> Result<Plan, OpError> {
    let (m, n, k) = (extent(call, "M")?, extent(call, "N")?, extent(call, "K")?);
    let block = extent(call, "block")?;
    if !(block == 128 && is_aligned(n, k) && m.is_multiple_of(4)) {
        let a = format!("{A} * scale_a[row * ((k + group - 1LL) / group) + at / group]");
        let b = format!("{B} * scale_b[column / group * ((k + group - 1LL) / group) + at / group]");
        let of = Plain { a: &a, b: &b, finish: "sum", sum: "float", inputs: ["a", "b", "", ""], group: block };
        return plain(call, "d", (1, m, n, k), of);
    }
    if m * n == 0 {
        return Ok(Plan::new());
    }
    // The library has the rows' scales a block of the depth after the other, and pads the columns' ones.
    let mut plan = Plan::new();
    let (blocks, columns) = (k.div_ceil(128), n.div_ceil(128));
    let source = source!("rearrange.cu").element("T", DType::Float32);
    let sizes = |rows: u64, columns: u64, width: u64| [rows, columns, width].map(|size| Arg::I32(size as i32));
    let scale_a = plan.scratch((4 * blocks * m) as usize);
    let tiles =
        Grid { blocks: (blocks.div_ceil(32) as u32, m.div_ceil(32) as u32, 1), threads: (256, 1, 1), shared_bytes: 0 };
    let arguments = [Arg::Tensor("scale_a"), scale_a.clone()].into_iter().chain(sizes(m, blocks, m)).collect();
    plan = plan.launch(source.clone(), "transpose", tiles, arguments);
    let mut scale_b = Arg::Tensor("scale_b");
    let width = blocks.next_multiple_of(4);
    if width != blocks {
        let padded = plan.scratch((4 * width * columns) as usize);
        let arguments = [scale_b, padded.clone()].into_iter().chain(sizes(columns, blocks, width)).collect();
        plan = plan.launch(source, "pad", grid(width * columns, 1), arguments);
        scale_b = padded;
    }
    let kinds = (Some(MatrixScale::Depth128), Some(MatrixScale::Block128));
    let product = fp8_product(call, (m, n, k), kinds, matrix_type(call.tensor("d")?.dtype))?;
    let multiply = Multiply::new(product, Arg::Tensor("a"), Arg::Tensor("b"), Arg::Tensor("d"));
    Ok(plan.product(Multiply { scale_a: Some(scale_a), scale_b: Some(scale_b), ..multiply }))
}

fn batched_fp8(call: &CheckedCall, _: &Gpu) -> Result<Plan, OpError> {
    let (g, m, n, k) = (extent(call, "G")?, extent(call, "M")?, extent(call, "N")?, extent(call, "K")?);
    let is_one = (many(call, "SA")? == 1, many(call, "SB")? == 1);
    if !is_aligned(n, k) {
        let index = |is_one: bool| if is_one { "0" } else { "batch" };
        let finish = format!("sum * scale_a[{}] * scale_b[{}]", index(is_one.0), index(is_one.1));
        let of = Plain { a: A, b: B, finish: &finish, sum: "float", inputs: ["a", "b", "", ""], group: 1 };
        return plain(call, "d", (g, m, n, k), of);
    }
    if g * m * n == 0 {
        return Ok(Plan::new());
    }
    let to = call.tensor("d")?.dtype;
    let (a, b, d) = (Arg::Tensor("a"), Arg::Tensor("b"), Arg::Tensor("d"));
    if is_one == (true, true) {
        let one = Some(MatrixScale::One);
        let product = Product { batch: g, ..fp8_product(call, (m, n, k), (one, one), matrix_type(to))? };
        let scales = (Some(Arg::Tensor("scale_a")), Some(Arg::Tensor("scale_b")));
        return Ok(Plan::new().product(Multiply {
            scale_a: scales.0,
            scale_b: scales.1,
            ..Multiply::new(product, a, b, d)
        }));
    }
    // The library has no scale a matrix: the sums are scaled behind it, before they are rounded.
    let mut plan = Plan::new();
    let sums = plan.scratch((4 * g * m * n) as usize);
    let product = Product { batch: g, ..fp8_product(call, (m, n, k), (None, None), MatrixType::Fp32)? };
    let plan = plan.product(Multiply::new(product, a, b, sums.clone()));
    let rows = |is_one: bool| if is_one { g * m } else { m };
    let scales = Spread { rows_a: rows(is_one.0), rows_b: Some(rows(is_one.1)) };
    Ok(rescale(plan, (sums, "float"), (d, to), (g * m, n), scales))
}

fn int8(call: &CheckedCall, _: &Gpu) -> Result<Plan, OpError> {
    let (m, n, k) = (extent(call, "M")?, extent(call, "N")?, extent(call, "K")?);
    let is_scaled = call.present("scale_a")?;
    if !is_aligned(n, k) {
        let finish = if is_scaled { "sum * scale_a[row] * scale_b[column]" } else { "sum" };
        let (a, b) = ("a[(batch * m + row) * k + at]", "b[(batch * n + column) * k + at]");
        return plain(
            call,
            "d",
            (1, m, n, k),
            Plain { a, b, finish, sum: "int", inputs: ["a", "b", "", ""], group: 1 },
        );
    }
    let (a, b, d) = (Arg::Tensor("a"), Arg::Tensor("b"), Arg::Tensor("d"));
    let product = Product::linear(m, n, k, MatrixType::Int8, MatrixType::Int32, Compute::Int32);
    let mut plan = Plan::new();
    if m * n == 0 {
        return Ok(plan);
    }
    if !is_scaled {
        return Ok(plan.product(Multiply::new(product, a, b, d)));
    }
    let sums = plan.scratch((4 * m * n) as usize);
    let plan = plan.product(Multiply::new(product, a, b, sums.clone()));
    let to = call.tensor("d")?.dtype;
    Ok(rescale(plan, (sums, "int"), (d, to), (m, n), Spread { rows_a: 1, rows_b: None }))
}

fn int8_weight(call: &CheckedCall, gpu: &Gpu) -> Result<Plan, OpError> {
    let (m, n, k) = (extent(call, "M")?, extent(call, "N")?, extent(call, "K")?);
    let bias = optional(call, "bias")?;
    if !k.is_multiple_of(16) || m * n * k == 0 {
        let of = Plain {
            a: A,
            b: "b[(batch * n + column) * k + at]",
            finish: "sum * to_float(scale[column]) + (bias != nullptr ? to_float(bias[column]) : 0.f)",
            sum: "float",
            inputs: ["x", "weight", "scale", ""],
            group: 1,
        };
        return plain(call, "y", (1, m, n, k), of);
    }
    let weights = Streamed {
        format: 1,
        depth: 16,
        weights: (Arg::Tensor("weight"), None),
        scales: (Some(Arg::Tensor("scale")), None),
        bias,
        group: 1,
        function: None,
    };
    Ok(stream(Plan::new(), (Arg::Tensor("x"), call.dtype("T")?), weights, Arg::Tensor("y"), (m, n, k), gpu))
}

/// How many weights of four bits a lane takes: those of four lanes share a scale.
fn depth(group: u64) -> Option<u64> {
    [32, 16, 8].into_iter().find(|depth| group.is_multiple_of(4 * depth))
}

fn int4_weight(call: &CheckedCall, gpu: &Gpu) -> Result<Plan, OpError> {
    let (m, n, k) = (extent(call, "M")?, extent(call, "N")?, extent(call, "K")?);
    let group = extent(call, "group")?;
    let Some(depth) = depth(group).filter(|_| m * n * k > 0) else {
        let of = Plain {
            a: A,
            b: "(((b[column * (k / 2LL) + at / 2] >> (at % 2 * 4)) & 15) \
                - to_float(zero[column * (k / group) + at / group])) * to_float(scale[column * (k / group) + at / group])",
            finish: "sum",
            sum: "float",
            inputs: ["x", "packed", "scale", "zero"],
            group,
        };
        return plain(call, "y", (1, m, n, k), of);
    };
    let weights = Streamed {
        format: 2,
        depth,
        weights: (Arg::Tensor("packed"), None),
        scales: (Some(Arg::Tensor("scale")), Some(Arg::Tensor("zero"))),
        bias: None,
        group,
        function: None,
    };
    Ok(stream(Plan::new(), (Arg::Tensor("x"), call.dtype("T")?), weights, Arg::Tensor("y"), (m, n, k), gpu))
}

fn mxfp4_weight(call: &CheckedCall, gpu: &Gpu) -> Result<Plan, OpError> {
    let (m, n, k) = (extent(call, "M")?, extent(call, "N")?, extent(call, "K")?);
    let (x, y, dtype) = (Arg::Tensor("x"), Arg::Tensor("y"), call.dtype("T")?);
    let bias = optional(call, "bias")?;
    if m * n * k == 0 {
        return Ok(match bias {
            _ if m * n == 0 => Plan::new(),
            Some(bias) => spread(Plan::new(), (bias, dtype), (y, dtype), 1.0, (m, n), (0, 1)),
            None => Plan::new().fill(y, 0),
        });
    }
    let weights = Streamed {
        format: 3,
        depth: 8,
        weights: (Arg::Tensor("packed"), None),
        scales: (Some(Arg::Tensor("scale")), None),
        bias,
        group: 32,
        function: None,
    };
    Ok(stream(Plan::new(), (x, dtype), weights, y, (m, n, k), gpu))
}
