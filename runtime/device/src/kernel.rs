//! Kernels, and launches whose arguments are checked.

use std::ffi::c_void;
use std::sync::Arc;

use cudarc::driver::{CudaFunction, CudaModule, result, sys};
use cudarc::nvrtc::Ptx;

use crate::error::Doing;
use crate::{Buffer, Compiled, Device, DeviceError};

/// Loaded machine code.
#[derive(Debug, Clone)]
pub struct Module {
    device: Device,
    module: Arc<CudaModule>,
}

/// A function that a device runs in many threads.
#[derive(Debug, Clone)]
pub struct Kernel {
    device: Device,
    name: String,
    function: CudaFunction,
    /// The size of each parameter, in bytes, as the compiled kernel declares it.
    parameters: Vec<usize>,
}

/// How many threads run a kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Grid {
    /// Blocks.
    pub blocks: (u32, u32, u32),
    /// Threads a block.
    pub threads: (u32, u32, u32),
    /// Dynamic shared memory a block, in bytes.
    pub shared_bytes: u32,
}

impl Grid {
    /// `blocks` blocks of `threads` threads in a row.
    pub fn row(blocks: u32, threads: u32) -> Self {
        Grid { blocks: (blocks, 1, 1), threads: (threads, 1, 1), shared_bytes: 0 }
    }

    /// The same, with dynamic shared memory.
    #[must_use]
    pub fn shared(self, shared_bytes: u32) -> Self {
        Grid { shared_bytes, ..self }
    }
}

/// An argument of a launch.
#[derive(Debug, Clone, Copy)]
pub enum Argument<'a> {
    /// The address of a buffer.
    Buffer(&'a Buffer),
    /// A pointer to nothing, for an optional tensor that is absent.
    Null,
    /// A 32-bit integer, signed or not.
    I32(i32),
    /// A 64-bit integer, signed or not.
    I64(i64),
    /// A 32-bit float.
    F32(f32),
    /// A structure that a kernel takes by value, as its bytes.
    Bytes(&'a [u8]),
}

impl Argument<'_> {
    fn bytes(&self) -> Vec<u8> {
        match self {
            Argument::Buffer(buffer) => buffer.address().to_ne_bytes().to_vec(),
            Argument::Null => 0_u64.to_ne_bytes().to_vec(),
            Argument::I32(value) => value.to_ne_bytes().to_vec(),
            Argument::I64(value) => value.to_ne_bytes().to_vec(),
            Argument::F32(value) => value.to_ne_bytes().to_vec(),
            Argument::Bytes(bytes) => bytes.to_vec(),
        }
    }
}

impl Device {
    /// Loads what was compiled.
    pub fn load(&self, compiled: &Compiled) -> Result<Module, DeviceError> {
        let module =
            self.context.load_module(Ptx::from_binary(compiled.cubin.clone())).doing("loading machine code")?;
        Ok(Module { device: self.clone(), module })
    }
}

impl Module {
    /// The kernel called `name`.
    pub fn kernel(&self, name: &str) -> Result<Kernel, DeviceError> {
        let function = self.module.load_function(name).doing(format!("looking for the kernel `{name}`"))?;
        let mut parameters = Vec::new();
        loop {
            let (mut offset, mut size) = (0, 0);
            // SAFETY: the function is loaded; two sizes are written to places that hold them.
            let found = unsafe {
                sys::cuFuncGetParamInfo(function.cu_function(), parameters.len(), &raw mut offset, &raw mut size)
            };
            match found {
                sys::CUresult::CUDA_SUCCESS => parameters.push(size),
                // Beyond the last one.
                sys::CUresult::CUDA_ERROR_INVALID_VALUE => break,
                error => error.result().doing(format!("reading the parameters of `{name}`"))?,
            }
        }
        Ok(Kernel { device: self.device.clone(), name: name.to_owned(), function, parameters })
    }
}

impl Kernel {
    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Allows launches with more dynamic shared memory than the 48 KiB that any kernel may ask for.
    pub fn allow_shared(&self, bytes: u32) -> Result<(), DeviceError> {
        let attribute = sys::CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
        let bytes = i32::try_from(bytes).unwrap_or(i32::MAX);
        self.function.set_attribute(attribute, bytes).doing(format!("giving `{}` shared memory", self.name))
    }

    /// Allows clusters of more than the 8 blocks that any GPU with clusters runs.
    pub fn allow_large_clusters(&self) -> Result<(), DeviceError> {
        let attribute = sys::CUfunction_attribute::CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED;
        self.function.set_attribute(attribute, 1).doing(format!("giving `{}` large clusters", self.name))
    }

    /// How many blocks of `threads` threads with `shared_bytes` fit a multiprocessor at once.
    pub fn occupancy(&self, threads: u32, shared_bytes: u32) -> Result<u32, DeviceError> {
        self.function
            .occupancy_max_active_blocks_per_multiprocessor(threads, shared_bytes as usize, None)
            .doing(format!("asking how many blocks of `{}` fit", self.name))
    }

    /// Puts a launch on the stream.
    ///
    /// # Errors
    ///
    /// Where the arguments are not as many, or not each of the size, that the kernel declares; where a buffer is another
    /// device's; where the grid is empty or too large; or as the driver says. What goes wrong while the kernel runs is said by [`Device::synchronize`].
    pub fn launch(&self, grid: Grid, arguments: &[Argument<'_>]) -> Result<(), DeviceError> {
        let refuse = |why: String| Err(DeviceError::Launch { kernel: self.name.clone(), why });
        if arguments.len() != self.parameters.len() {
            return refuse(format!("it takes {} arguments, not {}", self.parameters.len(), arguments.len()));
        }
        let mut values: Vec<Vec<u8>> = arguments.iter().map(Argument::bytes).collect();
        for (at, (value, &size)) in values.iter().zip(&self.parameters).enumerate() {
            if value.len() != size {
                return refuse(format!("argument {at} has {} bytes, and the kernel takes {size}", value.len()));
            }
        }
        for (at, argument) in arguments.iter().enumerate() {
            if let Argument::Buffer(buffer) = argument
                && let Some(why) = self.device.refuses(buffer)
            {
                return refuse(format!("argument {at} is {why}"));
            }
        }
        let threads = u64::from(grid.threads.0) * u64::from(grid.threads.1) * u64::from(grid.threads.2);
        if threads == 0 || threads > 1024 || [grid.blocks.0, grid.blocks.1, grid.blocks.2].contains(&0) {
            return refuse(format!("{:?} blocks of {:?} threads is no grid", grid.blocks, grid.threads));
        }
        let mut pointers: Vec<*mut c_void> = values.iter_mut().map(|value| value.as_mut_ptr().cast()).collect();
        self.device.bind()?;
        // SAFETY: there are as many arguments as the kernel has parameters, each of its size, and the driver copies them
        // before it returns. What the kernel does stays on the device, whose memory no Rust reference sees.
        unsafe {
            result::launch_kernel(
                self.function.cu_function(),
                grid.blocks,
                grid.threads,
                grid.shared_bytes,
                self.device.stream.cu_stream(),
                &mut pointers,
            )
        }
        .doing(format!("launching `{}`", self.name))?;
        self.device.captured.launched(&self.function);
        Ok(())
    }
}
