//! Matrix products by cuBLASLt.

use std::ffi::c_void;

use cudarc::cublaslt::{result as lt, sys};

use crate::{Buffer, Device, DeviceError, Library};

/// What the elements of a product's operands are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MatrixType {
    /// bfloat16, accumulated in fp32.
    Bf16,
    /// float16, accumulated in fp32.
    Fp16,
    /// float32, rounded to tf32 and accumulated in fp32.
    Tf32,
    /// float8 e4m3 without scales, accumulated in fp32; the result is bfloat16.
    Fp8,
    /// int8, accumulated in int32; the result is int32.
    Int8,
}

impl MatrixType {
    /// The size of an operand's element, in bytes.
    pub fn operand_bytes(self) -> usize {
        match self {
            MatrixType::Bf16 | MatrixType::Fp16 => 2,
            MatrixType::Tf32 => 4,
            MatrixType::Fp8 | MatrixType::Int8 => 1,
        }
    }

    /// The size of the result's element, in bytes.
    pub fn result_bytes(self) -> usize {
        match self {
            MatrixType::Bf16 | MatrixType::Fp16 | MatrixType::Fp8 => 2,
            MatrixType::Tf32 | MatrixType::Int8 => 4,
        }
    }

    fn operand(self) -> sys::cudaDataType_t {
        match self {
            MatrixType::Bf16 => sys::cudaDataType_t::CUDA_R_16BF,
            MatrixType::Fp16 => sys::cudaDataType_t::CUDA_R_16F,
            MatrixType::Tf32 => sys::cudaDataType_t::CUDA_R_32F,
            MatrixType::Fp8 => sys::cudaDataType_t::CUDA_R_8F_E4M3,
            MatrixType::Int8 => sys::cudaDataType_t::CUDA_R_8I,
        }
    }

    fn result(self) -> sys::cudaDataType_t {
        match self {
            MatrixType::Fp8 => sys::cudaDataType_t::CUDA_R_16BF,
            MatrixType::Int8 => sys::cudaDataType_t::CUDA_R_32I,
            same => same.operand(),
        }
    }
}

/// `D = A^T B` of column-major matrices: A is k × m, B is k × n, D is m × n, which row-major callers read as a product
/// of an m × k matrix and the transpose of an n × k one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Problem {
    /// Rows of the result.
    pub m: u64,
    /// Columns of the result.
    pub n: u64,
    /// The length that is summed over.
    pub k: u64,
    /// What the elements are.
    pub element: MatrixType,
}

const WORKSPACE_BYTES: usize = 64 << 20;
/// How many algorithms are asked for: the first that the library proposes is not always the fastest.
const MOST_ALGORITHMS: usize = 8;

/// A product that is ready to run, with the algorithms that the library proposes.
#[derive(Debug)]
pub struct MatrixMultiply {
    device: Device,
    problem: Problem,
    handle: sys::cublasLtHandle_t,
    descriptor: sys::cublasLtMatmulDesc_t,
    layouts: [sys::cublasLtMatrixLayout_t; 3],
    algorithms: Vec<sys::cublasLtMatmulHeuristicResult_t>,
    workspace: Buffer,
}

impl MatrixMultiply {
    /// Prepares `problem`.
    pub fn new(device: &Device, problem: Problem) -> Result<Self, DeviceError> {
        Library::CublasLt.require()?;
        device.bind()?;
        let fail = |e| DeviceError::library(format!("preparing the product {problem:?}"), e);
        let Problem { m, n, k, element } = problem;
        let workspace = device.allocate(WORKSPACE_BYTES)?;
        let (compute, scale) = match element {
            MatrixType::Tf32 => {
                (sys::cublasComputeType_t::CUBLAS_COMPUTE_32F_FAST_TF32, sys::cudaDataType_t::CUDA_R_32F)
            }
            MatrixType::Int8 => (sys::cublasComputeType_t::CUBLAS_COMPUTE_32I, sys::cudaDataType_t::CUDA_R_32I),
            _ => (sys::cublasComputeType_t::CUBLAS_COMPUTE_32F, sys::cudaDataType_t::CUDA_R_32F),
        };
        // From here on each object belongs to the result, whose destructor frees it, whatever fails behind it.
        let mut made = MatrixMultiply {
            device: device.clone(),
            problem,
            handle: lt::create_handle().map_err(fail)?,
            descriptor: std::ptr::null_mut(),
            layouts: [std::ptr::null_mut(); 3],
            algorithms: Vec::new(),
            workspace,
        };
        made.descriptor = lt::create_matmul_desc(compute, scale).map_err(fail)?;
        let transposed = 1_i32;
        // SAFETY: the attribute is a 32-bit integer, and one is pointed at.
        unsafe {
            lt::set_matmul_desc_attribute(
                made.descriptor,
                sys::cublasLtMatmulDescAttributes_t::CUBLASLT_MATMUL_DESC_TRANSA,
                (&raw const transposed).cast(),
                size_of::<i32>(),
            )
        }
        .map_err(fail)?;
        let signed = |size: u64| i64::try_from(size).unwrap_or(i64::MAX);
        made.layouts = [
            lt::create_matrix_layout(element.operand(), k, m, signed(k)).map_err(fail)?,
            lt::create_matrix_layout(element.operand(), k, n, signed(k)).map_err(fail)?,
            lt::create_matrix_layout(element.result(), m, n, signed(m)).map_err(fail)?,
        ];
        made.algorithms = made.proposals().map_err(fail)?;
        Ok(made)
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
                    self.handle,
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
    pub fn run(&self, algorithm: usize, a: &Buffer, b: &Buffer, d: &Buffer) -> Result<(), DeviceError> {
        let Problem { m, n, k, element } = self.problem;
        let refuse = |why: String| Err(DeviceError::Launch { kernel: "cublasLtMatmul".to_owned(), why });
        let Some(chosen) = self.algorithms.get(algorithm) else {
            return refuse(format!("it has no algorithm {algorithm} for {:?}", self.problem));
        };
        for (name, buffer, elements, bytes) in [
            ("A", a, m * k, element.operand_bytes()),
            ("B", b, n * k, element.operand_bytes()),
            ("D", d, m * n, element.result_bytes()),
        ] {
            if (buffer.bytes() as u64) < elements * bytes as u64 {
                return refuse(format!("{name} has {} bytes for {elements} elements of {bytes}", buffer.bytes()));
            }
        }
        self.device.bind()?;
        let (one, zero, whole, nothing) = (1_f32, 0_f32, 1_i32, 0_i32);
        let (alpha, beta): (*const c_void, *const c_void) = match element {
            MatrixType::Int8 => ((&raw const whole).cast(), (&raw const nothing).cast()),
            _ => ((&raw const one).cast(), (&raw const zero).cast()),
        };
        let [la, lb, ld] = self.layouts;
        // SAFETY: every handle is one made for this problem, every buffer holds its matrix, and the factors, of the type
        // that the descriptor says, are read before the call returns.
        unsafe {
            lt::matmul(
                self.handle,
                self.descriptor,
                alpha,
                beta,
                a.address() as *const c_void,
                la,
                b.address() as *const c_void,
                lb,
                d.address() as *const c_void,
                ld,
                d.address() as *mut c_void,
                ld,
                &raw const chosen.algo,
                self.workspace.address() as *mut c_void,
                self.workspace.bytes(),
                self.device.stream.cu_stream().cast(),
            )
        }
        .map_err(|e| DeviceError::library(format!("multiplying {:?}", self.problem), e))
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
            let _ = lt::destroy_handle(self.handle);
        }
    }
}
