//! Matrix products by cuBLASLt.

use std::ffi::c_void;
use std::fmt;
use std::sync::Arc;

use cudarc::cublaslt::{result as lt, sys};

use crate::{Buffer, Device, DeviceError, Library};

/// What a matrix's elements are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MatrixType {
    /// bfloat16.
    Bf16,
    /// float16.
    Fp16,
    /// float32.
    Fp32,
    /// float8 e4m3.
    Fp8E4m3,
    /// float8 e5m2.
    Fp8E5m2,
    /// int8.
    Int8,
    /// int32.
    Int32,
}

impl MatrixType {
    /// The size of an element, in bytes.
    pub fn bytes(self) -> usize {
        match self {
            MatrixType::Fp8E4m3 | MatrixType::Fp8E5m2 | MatrixType::Int8 => 1,
            MatrixType::Bf16 | MatrixType::Fp16 => 2,
            MatrixType::Fp32 | MatrixType::Int32 => 4,
        }
    }

    fn code(self) -> sys::cudaDataType_t {
        match self {
            MatrixType::Bf16 => sys::cudaDataType_t::CUDA_R_16BF,
            MatrixType::Fp16 => sys::cudaDataType_t::CUDA_R_16F,
            MatrixType::Fp32 => sys::cudaDataType_t::CUDA_R_32F,
            MatrixType::Fp8E4m3 => sys::cudaDataType_t::CUDA_R_8F_E4M3,
            MatrixType::Fp8E5m2 => sys::cudaDataType_t::CUDA_R_8F_E5M2,
            MatrixType::Int8 => sys::cudaDataType_t::CUDA_R_8I,
            MatrixType::Int32 => sys::cudaDataType_t::CUDA_R_32I,
        }
    }
}

/// What products are computed and added up in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Compute {
    /// Exact products of the operands' elements, added up in fp32.
    Fp32,
    /// The same of fp32 operands that are rounded to tf32 first.
    Tf32,
    /// int32.
    Int32,
}

/// An operand as it is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Operand {
    /// Its elements.
    pub element: MatrixType,
    /// Whether its transpose is what is stored.
    pub transposed: bool,
    /// What the fp32 scales of its elements are, where they have some.
    pub scale: Option<MatrixScale>,
}

impl Operand {
    /// Stored as it is, without scales.
    pub fn plain(element: MatrixType) -> Self {
        Operand { element, transposed: false, scale: None }
    }

    /// The same, its transpose stored where `transposed`.
    #[must_use]
    pub fn transposed(self, transposed: bool) -> Self {
        Operand { transposed, ..self }
    }

    /// With scales.
    #[must_use]
    pub fn scaled(self, scale: MatrixScale) -> Self {
        Operand { scale: Some(scale), ..self }
    }
}

/// Which elements of an fp8 operand share a scale.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MatrixScale {
    /// All.
    One,
    /// Those of one row of A, or of one column of B.
    Outer,
    /// Those of one row of A, or of one column of B, in 128 steps of the depth: the scales of one such block lie behind
    /// one another, for all rows or columns.
    Depth128,
    /// Those of 128 rows of A, or columns of B, in 128 steps of the depth: the scales of one such block of rows or columns
    /// lie behind one another, padded to a multiple of four.
    Block128,
}

impl MatrixScale {
    fn code(self) -> sys::cublasLtMatmulMatrixScale_t {
        use sys::cublasLtMatmulMatrixScale_t as Mode;
        match self {
            MatrixScale::One => Mode::CUBLASLT_MATMUL_MATRIX_SCALE_SCALAR_32F,
            MatrixScale::Outer => Mode::CUBLASLT_MATMUL_MATRIX_SCALE_OUTER_VEC_32F,
            MatrixScale::Depth128 => Mode::CUBLASLT_MATMUL_MATRIX_SCALE_VEC128_32F,
            MatrixScale::Block128 => Mode::CUBLASLT_MATMUL_MATRIX_SCALE_BLK128x128_32F,
        }
    }

    /// How many numbers scale an operand of `outer` rows or columns.
    fn numbers(self, outer: u64, depth: u64) -> u64 {
        match self {
            MatrixScale::One => 1,
            MatrixScale::Outer => outer,
            MatrixScale::Depth128 => depth.div_ceil(128) * outer,
            MatrixScale::Block128 => depth.div_ceil(128).next_multiple_of(4) * outer.div_ceil(128),
        }
    }
}

/// `D = alpha A B + beta C + bias`, once for each of `batch`: all matrices row-major and packed, A `rows × depth`, B
/// `depth × columns`, C and D `rows × columns`, the bias one number a column.
///
/// Elements of fp8 need a depth and a number of columns that are multiples of 16, A stored as it is and B transposed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Product {
    /// Rows of the result.
    pub rows: u64,
    /// Columns of the result.
    pub columns: u64,
    /// The length that is summed over.
    pub depth: u64,
    /// How many there are, behind one another.
    pub batch: u64,
    /// The left operand.
    pub a: Operand,
    /// The right operand.
    pub b: Operand,
    /// The elements of the result, of C and of the bias.
    pub d: MatrixType,
    /// What is computed in.
    pub compute: Compute,
    /// Whether a bias is added.
    pub bias: bool,
}

impl Product {
    /// One product of operands of the same kind, whose right one is stored transposed, as a linear layer's weights are.
    pub fn linear(rows: u64, columns: u64, depth: u64, element: MatrixType, d: MatrixType, compute: Compute) -> Self {
        let (a, b) = (Operand::plain(element), Operand::plain(element).transposed(true));
        Product { rows, columns, depth, batch: 1, a, b, d, compute, bias: false }
    }
}

impl fmt::Display for Product {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Product { rows, columns, depth, batch, a, b, d, .. } = self;
        write!(f, "{rows} x {columns} x {depth}")?;
        if *batch != 1 {
            write!(f, ", {batch} times")?;
        }
        let stored = |operand: &Operand| if operand.transposed { "^T" } else { "" };
        write!(f, " ({:?}{} {:?}{} -> {d:?})", a.element, stored(a), b.element, stored(b))
    }
}

/// What a product is made of.
#[derive(Debug, Clone, Copy)]
pub struct Operands<'a> {
    /// A.
    pub a: &'a Buffer,
    /// B.
    pub b: &'a Buffer,
    /// C, which may be D; read where `beta` is not zero.
    pub c: Option<&'a Buffer>,
    /// D.
    pub d: &'a Buffer,
    /// The bias.
    pub bias: Option<&'a Buffer>,
    /// The scales of A.
    pub scale_a: Option<&'a Buffer>,
    /// The scales of B.
    pub scale_b: Option<&'a Buffer>,
    /// The factor of the product.
    pub alpha: f32,
    /// The factor of C.
    pub beta: f32,
}

impl<'a> Operands<'a> {
    /// `D = A B`.
    pub fn new(a: &'a Buffer, b: &'a Buffer, d: &'a Buffer) -> Self {
        Operands { a, b, c: None, d, bias: None, scale_a: None, scale_b: None, alpha: 1.0, beta: 0.0 }
    }
}

/// What algorithms may work in.
const WORKSPACE_BYTES: usize = 64 << 20;

/// How large the workspace is: filling it has to leave nothing of a trial in an L2 cache of `l2` bytes.
fn workspace_bytes(l2: u64) -> usize {
    WORKSPACE_BYTES.max(usize::try_from(l2.saturating_add(l2 / 10)).unwrap_or(usize::MAX))
}

/// How many algorithms are asked for: the first that the library proposes is not always the fastest.
const MOST_ALGORITHMS: usize = 8;
/// How often each is timed before one is chosen.
const TRIALS: usize = 5;

/// The library on one device, with the memory that its algorithms work in.
#[derive(Debug, Clone)]
pub struct CublasLt(Arc<Session>);

#[derive(Debug)]
struct Session {
    device: Device,
    handle: sys::cublasLtHandle_t,
    /// All work is on the device's one stream, so that all products share it.
    workspace: Buffer,
}

// SAFETY: a handle may be used by any thread, and by several at once, says the library's documentation.
unsafe impl Send for Session {}
// SAFETY: as above.
unsafe impl Sync for Session {}

impl CublasLt {
    /// On `device`.
    pub fn new(device: &Device) -> Result<Self, DeviceError> {
        Library::CublasLt.require()?;
        device.bind()?;
        let workspace = device.allocate(workspace_bytes(device.facts().l2_bytes))?;
        let handle = lt::create_handle().map_err(|e| DeviceError::library("starting cuBLASLt", e))?;
        Ok(CublasLt(Arc::new(Session { device: device.clone(), handle, workspace })))
    }

    /// Prepares `product`.
    pub fn prepare(&self, product: Product) -> Result<MatrixMultiply, DeviceError> {
        let fail = |e| DeviceError::library(format!("preparing the product {product}"), e);
        self.0.device.bind()?;
        let scale = match product.compute {
            Compute::Int32 => sys::cudaDataType_t::CUDA_R_32I,
            Compute::Fp32 | Compute::Tf32 => sys::cudaDataType_t::CUDA_R_32F,
        };
        let compute = match product.compute {
            Compute::Fp32 => sys::cublasComputeType_t::CUBLAS_COMPUTE_32F,
            Compute::Tf32 => sys::cublasComputeType_t::CUBLAS_COMPUTE_32F_FAST_TF32,
            Compute::Int32 => sys::cublasComputeType_t::CUBLAS_COMPUTE_32I,
        };
        // From here on each object belongs to the result, whose destructor frees it, whatever fails behind it.
        let mut made = MatrixMultiply {
            session: self.clone(),
            product,
            descriptor: std::ptr::null_mut(),
            layouts: [std::ptr::null_mut(); 3],
            algorithms: Vec::new(),
            chosen: None,
        };
        made.descriptor = lt::create_matmul_desc(compute, scale).map_err(fail)?;
        made.describe().map_err(fail)?;
        // The library's matrices are column-major: it reads ours as their transposes, and D^T is B^T A^T.
        let Product { rows, columns, depth, .. } = product;
        let stored = |operand: Operand, across, down| if operand.transposed { (down, across) } else { (across, down) };
        made.layouts = [std::ptr::null_mut(); 3];
        let shapes = [
            (product.b.element, stored(product.b, columns, depth)),
            (product.a.element, stored(product.a, depth, rows)),
            (product.d, (columns, rows)),
        ];
        for (layout, (element, (across, down))) in made.layouts.iter_mut().zip(shapes) {
            *layout = matrix(element, across, down, product.batch).map_err(fail)?;
        }
        made.algorithms = made.proposals().map_err(fail)?;
        Ok(made)
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // SAFETY: the handle was made by the library, and is destroyed here alone.
        let _ = unsafe { lt::destroy_handle(self.handle) };
    }
}

/// The layout of `batch` packed matrices of `down` rows of `across` elements.
fn matrix(
    element: MatrixType,
    across: u64,
    down: u64,
    batch: u64,
) -> Result<sys::cublasLtMatrixLayout_t, lt::CublasError> {
    let signed = |size: u64| i64::try_from(size).unwrap_or(i64::MAX);
    let layout = lt::create_matrix_layout(element.code(), across, down, signed(across))?;
    if batch != 1 {
        use sys::cublasLtMatrixLayoutAttribute_t as Attribute;
        let (count, stride) = (i32::try_from(batch).unwrap_or(i32::MAX), signed(across.saturating_mul(down)));
        // SAFETY: the layout is valid, and each attribute is an integer of the size that is pointed at.
        let set = unsafe {
            lt::set_matrix_layout_attribute(
                layout,
                Attribute::CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT,
                (&raw const count).cast(),
                size_of::<i32>(),
            )
            .and_then(|()| {
                lt::set_matrix_layout_attribute(
                    layout,
                    Attribute::CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET,
                    (&raw const stride).cast(),
                    size_of::<i64>(),
                )
            })
        };
        if let Err(error) = set {
            // SAFETY: it was made above, and nothing else has it.
            let _ = unsafe { lt::destroy_matrix_layout(layout) };
            return Err(error);
        }
    }
    Ok(layout)
}

/// A product that is ready to run, with the algorithms that the library proposes.
#[derive(Debug)]
pub struct MatrixMultiply {
    session: CublasLt,
    product: Product,
    descriptor: sys::cublasLtMatmulDesc_t,
    layouts: [sys::cublasLtMatrixLayout_t; 3],
    algorithms: Vec<sys::cublasLtMatmulHeuristicResult_t>,
    chosen: Option<usize>,
}

// SAFETY: the descriptor and the layouts belong to this value alone, and are changed behind `&mut`.
unsafe impl Send for MatrixMultiply {}

impl MatrixMultiply {
    /// Sets an attribute of the descriptor.
    fn set<T>(&self, attribute: sys::cublasLtMatmulDescAttributes_t, value: T) -> Result<(), lt::CublasError> {
        // SAFETY: the descriptor is valid; callers pass the type that the attribute has.
        unsafe { lt::set_matmul_desc_attribute(self.descriptor, attribute, (&raw const value).cast(), size_of::<T>()) }
    }

    fn describe(&self) -> Result<(), lt::CublasError> {
        use sys::cublasLtMatmulDescAttributes_t as Attribute;
        // The library's A is our B.
        let sides = [
            (
                self.product.b,
                Attribute::CUBLASLT_MATMUL_DESC_TRANSA,
                Attribute::CUBLASLT_MATMUL_DESC_A_SCALE_MODE,
                Attribute::CUBLASLT_MATMUL_DESC_A_SCALE_POINTER,
            ),
            (
                self.product.a,
                Attribute::CUBLASLT_MATMUL_DESC_TRANSB,
                Attribute::CUBLASLT_MATMUL_DESC_B_SCALE_MODE,
                Attribute::CUBLASLT_MATMUL_DESC_B_SCALE_POINTER,
            ),
        ];
        for (operand, transpose, mode, pointer) in sides {
            self.set(transpose, i32::from(operand.transposed))?;
            if let Some(scale) = operand.scale {
                self.set(mode, scale.code() as i32)?;
                // The library proposes nothing for scales that it has no address of; each run says its own.
                self.set(pointer, self.session.0.workspace.address())?;
            }
        }
        if self.product.bias {
            self.set(Attribute::CUBLASLT_MATMUL_DESC_EPILOGUE, sys::cublasLtEpilogue_t::CUBLASLT_EPILOGUE_BIAS as u32)?;
            self.set(Attribute::CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, self.product.d.code() as i32)?;
        }
        Ok(())
    }

    fn proposals(&self) -> Result<Vec<sys::cublasLtMatmulHeuristicResult_t>, lt::CublasError> {
        let preference = lt::create_matmul_pref()?;
        let bytes = WORKSPACE_BYTES;
        let mut found = 0;
        // SAFETY: the results are plain data for which all zeros is a value; the library writes at most as many as said.
        let mut results: Vec<sys::cublasLtMatmulHeuristicResult_t> =
            vec![unsafe { std::mem::zeroed() }; MOST_ALGORITHMS];
        let [a, b, d] = self.layouts;
        // SAFETY: every handle is one made for this problem, the attribute is a size and one is pointed at, and the
        // preference is destroyed once, after its use.
        let outcome = unsafe {
            lt::set_matmul_pref_attribute(
                preference,
                sys::cublasLtMatmulPreferenceAttributes_t::CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                (&raw const bytes).cast(),
                size_of::<usize>(),
            )
            .and_then(|()| {
                sys::cublasLtMatmulAlgoGetHeuristic(
                    self.session.0.handle,
                    self.descriptor,
                    a,
                    b,
                    d,
                    d,
                    preference,
                    MOST_ALGORITHMS as i32,
                    results.as_mut_ptr(),
                    &raw mut found,
                )
                .result()
            })
        };
        // SAFETY: as above.
        let _ = unsafe { lt::destroy_matmul_pref(preference) };
        outcome?;
        results.truncate(usize::try_from(found).unwrap_or(0));
        results.retain(|result| result.state == sys::cublasStatus_t::CUBLAS_STATUS_SUCCESS);
        Ok(results)
    }

    /// How many algorithms there are to choose from.
    pub fn algorithms(&self) -> usize {
        self.algorithms.len()
    }

    /// Puts the product on the stream, by algorithm number `algorithm`.
    pub fn run(&mut self, algorithm: usize, operands: &Operands<'_>) -> Result<(), DeviceError> {
        use sys::cublasLtMatmulDescAttributes_t as Attribute;
        let Some(chosen) = self.algorithms.get(algorithm) else {
            return self.refuse(format!("it has no algorithm {algorithm} for {}", self.product));
        };
        self.fits(operands)?;
        let Session { device, handle, workspace } = &*self.session.0;
        device.bind()?;
        let fail = |e| DeviceError::library(format!("multiplying {}", self.product), e);
        let pointers = [
            (Attribute::CUBLASLT_MATMUL_DESC_BIAS_POINTER, operands.bias),
            (Attribute::CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, operands.scale_b),
            (Attribute::CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, operands.scale_a),
        ];
        for (attribute, buffer) in pointers {
            if let Some(buffer) = buffer {
                self.set(attribute, buffer.address()).map_err(fail)?;
            }
        }
        // What is no whole number was refused above, where it matters.
        let [alpha_whole, beta_whole] = [operands.alpha, operands.beta].map(|factor| whole(factor).unwrap_or_default());
        let (alpha, beta): (*const c_void, *const c_void) = match self.product.compute {
            Compute::Int32 => ((&raw const alpha_whole).cast(), (&raw const beta_whole).cast()),
            Compute::Fp32 | Compute::Tf32 => ((&raw const operands.alpha).cast(), (&raw const operands.beta).cast()),
        };
        let [la, lb, ld] = self.layouts;
        // SAFETY: every handle is one made for this problem, every buffer holds its matrix, and the factors, of the type
        // that the descriptor says, are read before the call returns.
        unsafe {
            lt::matmul(
                *handle,
                self.descriptor,
                alpha,
                beta,
                operands.b.address() as *const c_void,
                la,
                operands.a.address() as *const c_void,
                lb,
                operands.c.unwrap_or(operands.d).address() as *const c_void,
                ld,
                operands.d.address() as *mut c_void,
                ld,
                &raw const chosen.algo,
                workspace.address() as *mut c_void,
                WORKSPACE_BYTES,
                device.stream.cu_stream().cast(),
            )
        }
        .map_err(fail)
    }

    /// Puts the product on the stream by the fastest algorithm. Which one that is is timed the first time, into memory of
    /// its own, with operands that no cache holds; that waits for the device, and later calls do not.
    pub fn run_fastest(&mut self, operands: &Operands<'_>) -> Result<(), DeviceError> {
        let chosen = match self.chosen {
            Some(chosen) => chosen,
            None => {
                let chosen = self.fastest(operands)?;
                self.chosen = Some(chosen);
                chosen
            }
        };
        self.run(chosen, operands)
    }

    fn fastest(&mut self, operands: &Operands<'_>) -> Result<usize, DeviceError> {
        if self.algorithms.is_empty() {
            self.refuse(format!("cuBLASLt has no algorithm for {}", self.product))?;
        }
        if self.algorithms.len() == 1 {
            return Ok(0);
        }
        let session = self.session.clone();
        let Session { device, workspace, .. } = &*session.0;
        let (start, end) = (device.event()?, device.event()?);
        let aside = device.allocate(operands.d.bytes())?;
        let trial = Operands { c: Some(operands.c.unwrap_or(operands.d)), d: &aside, ..*operands };
        fastest_of(self.algorithms.len(), |algorithm| {
            // The first run is not timed, and what it is refused for is not a time.
            self.run(algorithm, &trial)?;
            let mut times = Vec::with_capacity(TRIALS);
            for _ in 0..TRIALS {
                // Larger than the cache, so that nothing of the last trial is left in it.
                workspace.fill(0)?;
                device.record(&start)?;
                self.run(algorithm, &trial)?;
                device.record(&end)?;
                device.synchronize()?;
                times.push(start.nanoseconds_to(&end)?);
            }
            times.sort_by(f64::total_cmp);
            Ok(times[TRIALS / 2])
        })
    }

    fn refuse(&self, why: String) -> Result<(), DeviceError> {
        Err(DeviceError::Launch { kernel: "cublasLtMatmul".to_owned(), why })
    }

    /// Whether every buffer holds its matrix, and what the product takes is there.
    fn fits(&self, operands: &Operands<'_>) -> Result<(), DeviceError> {
        let Product { rows, columns, depth, batch, a, b, d, bias, .. } = self.product;
        let matrix = |across: u64, down: u64, bytes: usize| batch * across * down * bytes as u64;
        let c = operands.c.filter(|_| operands.beta != 0.0);
        if self.product.compute == Compute::Int32 {
            for (name, factor) in [("alpha", operands.alpha), ("beta", operands.beta)] {
                if whole(factor).is_none() {
                    return self.refuse(format!(
                        "{name} is {factor}, and what is computed in int32 takes whole factors of at most 2^24"
                    ));
                }
            }
        }
        if operands.beta != 0.0 && c.is_none() {
            return self.refuse("C has a factor, and is not passed".to_owned());
        }
        let scales = |operand: Operand, outer| operand.scale.map_or(0, |scale| 4 * scale.numbers(outer, depth));
        let needed = [
            ("A", Some(operands.a), matrix(rows, depth, a.element.bytes())),
            ("B", Some(operands.b), matrix(depth, columns, b.element.bytes())),
            ("C", c, if c.is_some() { matrix(rows, columns, d.bytes()) } else { 0 }),
            ("D", Some(operands.d), matrix(rows, columns, d.bytes())),
            ("the bias", operands.bias, if bias { columns * d.bytes() as u64 } else { 0 }),
            ("the scales of A", operands.scale_a, scales(a, rows)),
            ("the scales of B", operands.scale_b, scales(b, columns)),
        ];
        for (name, buffer, bytes) in needed {
            let held = buffer.map_or(0, |buffer| buffer.bytes() as u64);
            if held < bytes {
                return self.refuse(format!("{name} has {held} bytes, and {} takes {bytes}", self.product));
            }
            if let Some(why) = buffer.and_then(|buffer| self.session.0.device.refuses(buffer)) {
                return self.refuse(format!("{name} is {why}"));
            }
        }
        Ok(())
    }
}

/// A factor as the integer that it is; nothing where it is none that a float tells from its neighbours.
fn whole(factor: f32) -> Option<i32> {
    const EXACT: f32 = 16_777_216.0;
    // What is cut off is nothing, and what is left fits.
    (factor.trunc() == factor && factor.abs() <= EXACT).then_some(factor as i32)
}

/// Which of `count` algorithms takes the least time. What the library proposes it may yet refuse: then another one is the
/// fastest, unless nothing works in this process any more.
///
/// # Errors
///
/// What the last one failed with, where all do.
fn fastest_of(count: usize, mut time: impl FnMut(usize) -> Result<f64, DeviceError>) -> Result<usize, DeviceError> {
    let mut best: Option<(f64, usize)> = None;
    let mut refused = None;
    for algorithm in 0..count {
        match time(algorithm) {
            Ok(taken) if best.is_none_or(|(least, _)| taken < least) => best = Some((taken, algorithm)),
            Ok(_) => {}
            Err(error) if error.is_fatal() => return Err(error),
            Err(error) => refused = Some(error),
        }
    }
    match (best, refused) {
        (Some((_, algorithm)), _) => Ok(algorithm),
        (None, Some(error)) => Err(error),
        (None, None) => Ok(0),
    }
}

impl Drop for MatrixMultiply {
    fn drop(&mut self) {
        // SAFETY: each object is null or was made by the library, and is destroyed here alone.
        unsafe {
            for layout in self.layouts.into_iter().filter(|layout| !layout.is_null()) {
                let _ = lt::destroy_matrix_layout(layout);
            }
            if !self.descriptor.is_null() {
                let _ = lt::destroy_matmul_desc(self.descriptor);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scales_are_counted_as_the_library_lays_them_out() {
        assert_eq!(MatrixScale::One.numbers(4096, 4096), 1);
        assert_eq!(MatrixScale::Outer.numbers(4096, 128), 4096);
        assert_eq!(MatrixScale::Depth128.numbers(100, 300), 300);
        // Three blocks of the depth are padded to four, for two blocks of columns.
        assert_eq!(MatrixScale::Block128.numbers(130, 300), 8);
    }

    #[test]
    fn the_fastest_is_of_those_that_ran() {
        let failed = |name: &str, is_fatal| {
            let (doing, text) = ("multiplying".to_owned(), "text".to_owned());
            Err(DeviceError::Driver { doing, name: name.to_owned(), text, is_fatal })
        };
        let times = |at: usize| [Ok(5.0), failed("REFUSED", false), Ok(3.0), Ok(4.0)].into_iter().nth(at);
        assert_eq!(fastest_of(4, |at| times(at).expect("a time")).expect("one ran"), 2);
        let all = fastest_of(3, |at| failed(&format!("REFUSED_{at}"), false)).expect_err("none ran");
        assert!(all.to_string().contains("REFUSED_2"), "{all}");
        let mut tried = 0;
        let lost = fastest_of(3, |at| {
            tried += 1;
            if at == 1 { failed("LOST", true) } else { Ok(1.0) }
        });
        assert!(lost.expect_err("nothing works any more").is_fatal() && tried == 2);
    }

    #[test]
    fn a_factor_in_whole_numbers_is_one() {
        for (factor, integer) in [(1.0, Some(1)), (-3.0, Some(-3)), (0.0, Some(0)), (16_777_216.0, Some(1 << 24))] {
            assert_eq!(whole(factor), integer);
        }
        for factor in [0.5, 1.25, f32::NAN, f32::INFINITY, 3e9, -3e9] {
            assert_eq!(whole(factor), None, "{factor}");
        }
    }

    #[test]
    fn what_is_filled_between_trials_is_larger_than_the_cache() {
        const L40S: u64 = 96 << 20;
        assert!(workspace_bytes(L40S) as u64 > L40S);
        assert_eq!(workspace_bytes(40 << 20), WORKSPACE_BYTES);
    }

    #[test]
    fn a_product_says_what_it_is() {
        let product = Product::linear(4, 8, 16, MatrixType::Bf16, MatrixType::Bf16, Compute::Fp32);
        assert_eq!(product.to_string(), "4 x 8 x 16 (Bf16 Bf16^T -> Bf16)");
        assert_eq!(Product { batch: 3, ..product }.to_string(), "4 x 8 x 16, 3 times (Bf16 Bf16^T -> Bf16)");
    }
}
