//! Dense contractions: by cuBLASLt, and for few rows by a kernel that reads the weights as fast as memory gives them.

use tileops_device::{Compute, Grid, MatrixType, Product};
use tileops_ops::{CheckedCall, DType, OpError};

use crate::gpu::Gpu;
use crate::ops::{Planner, refused};
use crate::plan::{Arg, Multiply, Plan, Where};
use crate::source::{COPIES, MMA};

pub(crate) const PLANNERS: &[(&str, Planner)] = &[
    ("MatmulFwdOp", matmul),
    ("LinearFwdOp", linear),
    ("BatchedMatmulFwdOp", batched),
    ("AddmmFwdOp", addmm),
    ("GateUpMatmulFwdOp", gate_up),
];

/// The extent called `name`.
pub(crate) fn extent(call: &CheckedCall, name: &str) -> Result<u64, OpError> {
    size(call, call.int(name)?.get()?)
}

/// The operand `name`, where the call passes it.
pub(crate) fn optional(call: &CheckedCall, name: &'static str) -> Result<Option<Arg>, OpError> {
    Ok(call.present(name)?.then_some(Arg::Tensor(name)))
}

/// A number of elements, rows, bytes.
pub(crate) fn size(call: &CheckedCall, extent: i128) -> Result<u64, OpError> {
    // Kernels count rows and columns in 32 bits.
    match i32::try_from(extent) {
        Ok(size) => Ok(u64::try_from(size).unwrap_or(0)),
        Err(_) => {
            let most = i32::MAX;
            Err(refused(call.op(), format!("an extent of {extent}: the kernels take at most {most} a dimension")))
        }
    }
}

/// The product of extents.
pub(crate) fn many(call: &CheckedCall, name: &str) -> Result<u64, OpError> {
    size(
        call,
        call.shape(name)?.iter().try_fold(1_i128, |product, extent| product.checked_mul(*extent)).unwrap_or(i128::MAX),
    )
}

pub(crate) fn matrix_type(dtype: DType) -> MatrixType {
    match dtype {
        DType::BFloat16 => MatrixType::Bf16,
        DType::Float16 => MatrixType::Fp16,
        DType::Float8E4M3Fn => MatrixType::Fp8E4m3,
        DType::Float8E5M2 => MatrixType::Fp8E5m2,
        DType::Int8 => MatrixType::Int8,
        DType::Int32 => MatrixType::Int32,
        _ => MatrixType::Fp32,
    }
}

/// `elements` elements, `lanes` a thread, as blocks of 256 threads.
pub(crate) fn grid(elements: u64, lanes: u64) -> Grid {
    Grid::row(u32::try_from(elements.div_ceil(lanes * 256)).unwrap_or(u32::MAX), 256)
}

/// `y = factor * x`, repeated along the axes whose stride is zero.
pub(crate) fn spread(
    plan: Plan,
    (x, from): (Arg, DType),
    (y, to): (Arg, DType),
    factor: f32,
    (rows, columns): (u64, u64),
    strides: (i32, i32),
) -> Plan {
    let elements = rows * columns;
    let is_same = strides == (columns as i32, 1);
    let lanes = u64::from(128 / from.bits().max(to.bits()));
    let lanes = if is_same && elements.is_multiple_of(lanes) { lanes } else { 1 };
    let source = source!("product.cu").element("T", to).element("S", from).define("LANES", lanes).define("SPREAD", 1);
    let sizes = [Arg::I32(columns as i32), Arg::I32(strides.0), Arg::I32(strides.1)];
    let arguments = [x, y, Arg::F32(factor), Arg::I64(elements as i64)].into_iter().chain(sizes).collect();
    if elements == 0 { plan } else { plan.launch(source, "spread", grid(elements, lanes), arguments) }
}

/// How the scales of [`rescale`] are spread: rows that share one of the first, rows that share one of the second, or nothing
/// where it has one a column.
pub(crate) struct Spread {
    pub(crate) rows_a: u64,
    pub(crate) rows_b: Option<u64>,
}

/// `y = x * a * b`, element by element.
pub(crate) fn rescale(
    plan: Plan,
    (x, from): (Arg, &'static str),
    (y, to): (Arg, DType),
    (rows, columns): (u64, u64),
    spread: Spread,
) -> Plan {
    let lanes = if columns.is_multiple_of(4) { 4 } else { 1 };
    let source = source!("product.cu")
        .element("T", to)
        .define("S", from)
        .define("LANES", lanes)
        .define("RESCALE", 1)
        .define("BY_COLUMN", u8::from(spread.rows_b.is_none()));
    let elements = rows * columns;
    let held = |rows: u64| Arg::I32(i32::try_from(rows).unwrap_or(i32::MAX));
    let arguments = vec![
        x,
        Arg::Tensor("scale_a"),
        Arg::Tensor("scale_b"),
        y,
        Arg::I64(elements as i64),
        held(columns),
        held(spread.rows_a),
        held(spread.rows_b.unwrap_or(1)),
    ];
    if elements == 0 { plan } else { plan.launch(source, "rescale", grid(elements, lanes), arguments) }
}

/// `y = a + b`, element by element.
pub(crate) fn add(plan: Plan, (a, b): (Arg, Arg), y: Arg, dtype: DType, elements: u64) -> Plan {
    let lanes = u64::from(128 / dtype.bits());
    let lanes = if elements.is_multiple_of(lanes) { lanes } else { 1 };
    let source = source!("product.cu").element("T", dtype).element("S", dtype).define("LANES", lanes).define("ADD", 1);
    let arguments = vec![a, b, y, Arg::I64(elements as i64)];
    if elements == 0 { plan } else { plan.launch(source, "add", grid(elements, lanes), arguments) }
}

/// What a gated activation does to the gate, as an expression of `x`.
pub(crate) fn activation(name: &str) -> &'static str {
    match name {
        "relu" => "maximum(x, 0.f)",
        "gelu" => "(0.5f * x * (1.f + erff(x * 0.70710678f)))",
        "gelu_tanh" => "(0.5f * x * (1.f + tanhf(0.79788456f * (x + 0.044715f * x * x * x))))",
        _ => "(x / (1.f + __expf(-x)))",
    }
}

/// `y = activation(gate) * up`, whose rows are `stride` elements apart; without a pointer of its own, `up` is in the gate's
/// rows, behind it.
pub(crate) fn gated(
    plan: Plan,
    (gate, up): (Arg, Option<Arg>),
    y: Arg,
    (from, to): (DType, DType),
    function: &'static str,
    (rows, columns, stride): (u64, u64, u64),
) -> Plan {
    let lanes = u64::from(128 / from.bits());
    let lanes = if columns.is_multiple_of(lanes) && stride.is_multiple_of(lanes) { lanes } else { 1 };
    let source = source!("product.cu")
        .element("T", to)
        .element("S", from)
        .define("LANES", lanes)
        .define("BEHIND", u8::from(up.is_none()))
        .define("ACTIVATION", function);
    let elements = rows * columns;
    let arguments = vec![
        gate.clone(),
        up.unwrap_or(gate),
        y,
        Arg::I64(elements as i64),
        Arg::I32(columns as i32),
        Arg::I32(stride as i32),
    ];
    if elements == 0 { plan } else { plan.launch(source, "gated", grid(elements, lanes), arguments) }
}

/// Weights that are read once for few rows of x.
pub(crate) struct Streamed {
    /// As `stream.cu` numbers them.
    pub(crate) format: u32,
    /// How many weights a lane takes at once.
    pub(crate) depth: u64,
    /// Their pointer, and that of the second ones, where a gated activation joins two products.
    pub(crate) weights: (Arg, Option<Arg>),
    /// The scale and the zero, where the format has them.
    pub(crate) scales: (Option<Arg>, Option<Arg>),
    /// The bias, where there is one.
    pub(crate) bias: Option<Arg>,
    /// How many weights of a row share a scale.
    pub(crate) group: u64,
    /// What the gate goes through.
    pub(crate) function: Option<&'static str>,
}

impl Streamed {
    /// Of the same dtype as x.
    fn plain(weights: Arg) -> Self {
        let (scales, bias, group, function) = ((None, None), None, 1, None);
        Streamed { format: 0, depth: 8, weights: (weights, None), scales, bias, group, function }
    }
}

/// The most rows of x for which reading the weights is what takes the time.
const FEW: u64 = 16;

/// `y = x W^T` where the weights are read once.
pub(crate) fn stream(
    plan: Plan,
    (x, dtype): (Arg, DType),
    weights: Streamed,
    y: Arg,
    (m, n, k): (u64, u64, u64),
    gpu: &Gpu,
) -> Plan {
    let columns = m.div_ceil(8).next_power_of_two().min(4);
    let is_gated = weights.weights.1.is_some();
    // More rows of W a block read x less often; but every multiprocessor is to have several blocks.
    let fits = |tiles: u64| n.div_ceil(16 * tiles) >= 4 * u64::from(gpu.multiprocessors) && columns * tiles <= 8;
    let tiles = if is_gated { 2 } else { [4, 2].into_iter().find(|&tiles| m > 1 && fits(tiles)).unwrap_or(1) };
    let at_once = match (weights.depth, tiles) {
        (32, 4) => 1,
        (32, 1) if columns == 1 => 4,
        (32, _) | (16, 2..) => 2,
        (_, 4) => 2,
        _ => 4,
    };
    let source = source!("stream.cu")
        .with(COPIES)
        .with(MMA)
        .element("T", dtype)
        .define("FORMAT", weights.format)
        .define("DEPTH", weights.depth)
        .define("TILES", tiles)
        .define("COLUMNS", columns)
        .define("AT_ONCE", at_once)
        .define("GATED", u8::from(is_gated))
        .define("ACTIVATION", weights.function.unwrap_or("x"));
    let rows = if is_gated { 16 } else { 16 * tiles };
    let blocks = (n.div_ceil(rows) as u32, m.div_ceil(8 * columns) as u32, 1);
    let null = |argument: Option<Arg>| argument.unwrap_or(Arg::Null);
    let arguments = vec![
        x,
        weights.weights.0,
        null(weights.weights.1),
        null(weights.scales.0),
        null(weights.scales.1),
        null(weights.bias),
        y,
        Arg::I32(m as i32),
        Arg::I32(n as i32),
        Arg::I32(k as i32),
        Arg::I32(weights.group as i32),
    ];
    plan.launch(source, "stream", Grid { blocks, threads: (256, 1, 1), shared_bytes: 0 }, arguments)
}

/// Whether the rows of a matrix of 16-bit elements are whole vectors.
fn is_even(k: u64) -> bool {
    k.is_multiple_of(8)
}

fn matmul(call: &CheckedCall, gpu: &Gpu) -> Result<Plan, OpError> {
    let (m, n, k) = (extent(call, "M")?, extent(call, "N")?, extent(call, "K")?);
    let (trans_a, trans_b) = (call.bool("trans_a")?, call.bool("trans_b")?);
    let dtype = call.dtype("T")?;
    let (a, b, d) = (Arg::Tensor("a"), Arg::Tensor("b"), Arg::Tensor("d"));
    if m * n == 0 || k == 0 {
        return Ok(if m * n == 0 { Plan::new() } else { Plan::new().fill(d, 0) });
    }
    if m <= FEW && trans_b && (!trans_a || m == 1) && is_even(k) {
        return Ok(stream(Plan::new(), (a, dtype), Streamed::plain(b), d, (m, n, k), gpu));
    }
    let element = matrix_type(dtype);
    let mut product = Product::linear(m, n, k, element, element, Compute::Fp32);
    product.a.transposed = trans_a;
    product.b.transposed = trans_b;
    Ok(Plan::new().product(Multiply::new(product, a, b, d)))
}

fn linear(call: &CheckedCall, gpu: &Gpu) -> Result<Plan, OpError> {
    let (m, n, k) = (many(call, "B")?, extent(call, "N")?, extent(call, "K")?);
    let dtype = call.dtype("T")?;
    let bias = optional(call, "bias")?;
    let (x, weight, y) = (Arg::Tensor("x"), Arg::Tensor("weight"), Arg::Tensor("y"));
    let plan = Plan::new().place("y", Where::Out);
    if m * n == 0 {
        return Ok(plan);
    }
    if k == 0 {
        return Ok(match bias {
            Some(bias) => spread(plan, (bias, dtype), (y, dtype), 1.0, (m, n), (0, 1)),
            None => plan.fill(y, 0),
        });
    }
    if m <= FEW && dtype != DType::Float32 && is_even(k) {
        let weights = Streamed { bias, ..Streamed::plain(weight) };
        return Ok(stream(plan, (x, dtype), weights, y, (m, n, k), gpu));
    }
    let element = matrix_type(dtype);
    let product = Product { bias: bias.is_some(), ..Product::linear(m, n, k, element, element, Compute::Fp32) };
    Ok(plan.product(Multiply { bias, ..Multiply::new(product, x, weight, y) }))
}

fn batched(call: &CheckedCall, _: &Gpu) -> Result<Plan, OpError> {
    let (g, m, n, k) = (extent(call, "G")?, extent(call, "M")?, extent(call, "N")?, extent(call, "K")?);
    let d = Arg::Tensor("d");
    if g * m * n == 0 || k == 0 {
        return Ok(if g * m * n == 0 { Plan::new() } else { Plan::new().fill(d, 0) });
    }
    let element = matrix_type(call.dtype("T")?);
    let mut product = Product { batch: g, ..Product::linear(m, n, k, element, element, Compute::Fp32) };
    product.b.transposed = false;
    Ok(Plan::new().product(Multiply::new(product, Arg::Tensor("a"), Arg::Tensor("b"), d)))
}

fn addmm(call: &CheckedCall, _: &Gpu) -> Result<Plan, OpError> {
    let (m, n, k) = (extent(call, "M")?, extent(call, "N")?, extent(call, "K")?);
    let (alpha, beta) = (call.float("alpha")? as f32, call.float("beta")? as f32);
    let dtype = call.dtype("T")?;
    let (c, d) = (Arg::Tensor("c"), Arg::Tensor("d"));
    let plan = Plan::new().place("d", Where::Out);
    if m * n == 0 {
        return Ok(plan);
    }
    let is_row = many(call, "C")? == n;
    let row_stride = if is_row { 0 } else { n as i32 };
    if k == 0 {
        return Ok(match beta {
            0.0 => plan.fill(d, 0),
            _ => spread(plan, (c, dtype), (d, dtype), beta, (m, n), (row_stride, 1)),
        });
    }
    let element = matrix_type(dtype);
    let mut product = Product::linear(m, n, k, element, element, Compute::Fp32);
    product.b.transposed = false;
    let multiply = Multiply { alpha, ..Multiply::new(product, Arg::Tensor("a"), Arg::Tensor("b"), d.clone()) };
    Ok(match (beta, is_row && m > 1) {
        (0.0, _) => plan.product(multiply),
        (1.0, true) => {
            let product = Product { bias: true, ..product };
            plan.product(Multiply { product, bias: Some(c), ..multiply })
        }
        // The library takes no factor for a bias: the result starts as it, and the product is added.
        (_, true) => spread(plan, (c, dtype), (d.clone(), dtype), beta, (m, n), (0, 1)).product(Multiply {
            c: Some(d),
            beta: 1.0,
            ..multiply
        }),
        (_, false) => plan.product(Multiply { c: Some(c), beta, ..multiply }),
    })
}

fn gate_up(call: &CheckedCall, gpu: &Gpu) -> Result<Plan, OpError> {
    let (m, f, k) = (extent(call, "M")?, extent(call, "F")?, extent(call, "K")?);
    let dtype = call.dtype("T")?;
    let function = activation(call.str("activation")?);
    let (x, gate, up, y) = (Arg::Tensor("x"), Arg::Tensor("gate"), Arg::Tensor("up"), Arg::Tensor("y"));
    if m * f == 0 || k == 0 {
        // Every activation keeps zero.
        return Ok(if m * f == 0 { Plan::new() } else { Plan::new().fill(y, 0) });
    }
    if m <= FEW && is_even(k) {
        let weights = Streamed { weights: (gate, Some(up)), function: Some(function), ..Streamed::plain(Arg::Null) };
        return Ok(stream(Plan::new(), (x, dtype), weights, y, (m, f, k), gpu));
    }
    // The halves stay as they were summed: rounded, they would be worth less than the result.
    let product = Product::linear(m, f, k, matrix_type(dtype), MatrixType::Fp32, Compute::Fp32);
    let mut plan = Plan::new();
    let [g, u] = [(); 2].map(|()| plan.scratch(4 * (m * f) as usize));
    let plan = plan.product(Multiply::new(product, x.clone(), gate, g.clone())).product(Multiply::new(
        product,
        x,
        up,
        u.clone(),
    ));
    Ok(gated(plan, (g, Some(u)), y, (DType::Float32, dtype), function, (m, f, f)))
}
