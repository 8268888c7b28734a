//! Carries plans out on a GPU.

use std::any::Any;
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use tileops_device::{
    Argument, Buffer, Compiler, CublasLt, Device, DeviceError, Kernel, MatrixMultiply, Module, Operands, Product,
};
use tileops_ops::{CheckedCall, Implementation, OpError, Outputs, Run, Storage, Tensor};

use crate::gpu::Gpu;
use crate::ops::Planner;
use crate::plan::{Arg, Multiply, Plan, Step, Where};
use crate::source::Source;

/// A GPU, with what was compiled for it and the memory that is at hand.
#[derive(Clone)]
pub struct Cuda(Arc<Inner>);

struct Inner {
    device: Device,
    gpu: Gpu,
    compiler: Compiler,
    modules: Mutex<BTreeMap<String, Module>>,
    kernels: Mutex<BTreeMap<(String, &'static str), Kernel>>,
    /// Products, each with the algorithm that was fastest, and the library, which is started when it is first needed.
    products: Mutex<(Option<CublasLt>, HashMap<Product, MatrixMultiply>)>,
    /// Freed memory, by its size: freeing and allocating wait for the GPU.
    free: Mutex<BTreeMap<usize, Vec<Buffer>>>,
}

impl fmt::Debug for Cuda {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Cuda").field(&self.0.gpu).finish()
    }
}

/// A tensor's elements on a GPU. Memory that is dropped is used again: all work is on one stream, so what was launched
/// before still finds it.
pub struct Memory {
    /// There until it is dropped.
    buffer: Option<Buffer>,
    bytes: usize,
    cuda: Cuda,
}

impl Memory {
    /// The memory as a kernel's argument takes it.
    pub fn buffer(&self) -> &Buffer {
        #[allow(clippy::unwrap_used, reason = "taken by `drop` alone, behind which there is no `self`")]
        self.buffer.as_ref().unwrap()
    }

    /// Its size in bytes, as asked for.
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

impl fmt::Debug for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Memory").field("bytes", &self.bytes).finish_non_exhaustive()
    }
}

impl Storage for Memory {
    fn nbytes(&self) -> usize {
        self.bytes
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        if let Some(buffer) = self.buffer.take() {
            lock(&self.cuda.0.free).entry(buffer.bytes()).or_default().push(buffer);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Blocks of a cluster that any GPU with clusters runs; more have to be allowed.
const PORTABLE_CLUSTER: u32 = 8;

/// Sizes are rounded up to this, so that memory of nearly the same size is used again, and so that kernels can read whole
/// vectors of 16 bytes at a tensor's end.
const GRAIN: usize = 512;

impl Cuda {
    /// On `device`. One that the kernels do not run on is refused.
    pub fn new(device: Device) -> Result<Self, DeviceError> {
        let gpu = Gpu::try_from(device.facts())?;
        let compiler = Compiler::new(gpu.architecture.clone());
        let (modules, kernels, products, free) = Default::default();
        Ok(Cuda(Arc::new(Inner { device, gpu, compiler, modules, kernels, products, free })))
    }

    /// The device.
    pub fn device(&self) -> &Device {
        &self.0.device
    }

    /// Its facts, as planners take them.
    pub fn gpu(&self) -> &Gpu {
        &self.0.gpu
    }

    /// What runs the op that `planner` plans.
    pub fn implementation(&self, planner: Planner) -> Arc<dyn Implementation> {
        Arc::new(Planned { cuda: self.clone(), planner })
    }

    /// Memory of `bytes` bytes, whose contents are what they were before.
    pub fn allocate(&self, bytes: usize) -> Result<Arc<Memory>, DeviceError> {
        let size = bytes.max(1).next_multiple_of(GRAIN);
        let at_hand = lock(&self.0.free).get_mut(&size).and_then(Vec::pop);
        let buffer = match at_hand {
            Some(buffer) => buffer,
            None => match self.0.device.allocate(size) {
                Ok(buffer) => buffer,
                Err(_) => {
                    // What is at hand in other sizes may be what is lacking.
                    self.trim()?;
                    self.0.device.allocate(size)?
                }
            },
        };
        Ok(Arc::new(Memory { buffer: Some(buffer), bytes, cuda: self.clone() }))
    }

    /// Gives back the memory that nothing uses.
    pub fn trim(&self) -> Result<(), DeviceError> {
        self.0.device.synchronize()?;
        lock(&self.0.free).clear();
        Ok(())
    }

    /// Uploads a tensor's elements.
    pub fn upload(&self, tensor: &Tensor, bytes: &[u8]) -> Result<Tensor, DeviceError> {
        let memory = self.allocate(bytes.len())?;
        memory.buffer().write(bytes)?;
        Ok(tensor.described().with_storage(memory))
    }

    /// Downloads a tensor's elements; nothing where they are not on this kind of device.
    pub fn download(&self, tensor: &Tensor) -> Result<Option<Vec<u8>>, DeviceError> {
        let Some(memory) = memory(tensor) else { return Ok(None) };
        let mut bytes = vec![0; memory.bytes];
        memory.buffer().read(&mut bytes)?;
        Ok(Some(bytes))
    }

    /// The kernel `name` of `source`, compiled where it was not yet.
    pub fn kernel(&self, source: &Source, name: &'static str) -> Result<Kernel, DeviceError> {
        let text = source.text();
        if let Some(kernel) = lock(&self.0.kernels).get(&(text.clone(), name)) {
            return Ok(kernel.clone());
        }
        let known = lock(&self.0.modules).get(&text).cloned();
        let module = match known {
            Some(module) => module,
            None => {
                let compiled = self.0.compiler.compile(source.file, &text)?;
                let module = self.0.device.load(&compiled)?;
                lock(&self.0.modules).insert(text.clone(), module.clone());
                module
            }
        };
        let kernel = module.kernel(name)?;
        if source.blocks_of_cluster() > PORTABLE_CLUSTER {
            kernel.allow_large_clusters()?;
        }
        lock(&self.0.kernels).insert((text, name), kernel.clone());
        Ok(kernel)
    }

    /// Multiplies.
    fn multiply(&self, product: Product, operands: &Operands<'_>) -> Result<(), DeviceError> {
        let mut products = lock(&self.0.products);
        let (library, known) = &mut *products;
        if let Some(multiply) = known.get_mut(&product) {
            return multiply.run_fastest(operands);
        }
        let library = match library {
            Some(library) => library,
            None => library.insert(CublasLt::new(&self.0.device)?),
        };
        let multiply = library.prepare(product)?;
        known.entry(product).or_insert(multiply).run_fastest(operands)
    }
}

/// A tensor's elements, where they are a GPU's.
fn memory(tensor: &Tensor) -> Option<&Memory> {
    tensor.storage.as_ref()?.as_any().downcast_ref()
}

/// Runs the calls of one op.
#[derive(Debug)]
struct Planned {
    cuda: Cuda,
    planner: Planner,
}

impl Implementation for Planned {
    fn run(&self, call: &CheckedCall, run: &mut Run<'_>) -> Result<Outputs, OpError> {
        let failed = |error: DeviceError| OpError::failed(call.op(), error);
        let plan = (self.planner)(call, self.cuda.gpu())?;
        let outputs = self.outputs(call, run, &plan)?;
        let scratch: Vec<Arc<Memory>> =
            plan.scratch.iter().map(|&bytes| self.cuda.allocate(bytes)).collect::<Result<_, _>>().map_err(failed)?;
        let given = Given { op: call.op(), run, outputs: &outputs, scratch: &scratch };
        for step in &plan.steps {
            match step {
                Step::Launch(launch) => {
                    let kernel = self.cuda.kernel(&launch.source, launch.kernel).map_err(failed)?;
                    // What the kernel declares itself counts towards the 48 KiB that need no leave.
                    if launch.grid.shared_bytes > 0 {
                        kernel.allow_shared(launch.grid.shared_bytes).map_err(failed)?;
                    }
                    let arguments: Vec<Argument<'_>> =
                        launch.arguments.iter().map(|argument| given.argument(argument)).collect::<Result<_, _>>()?;
                    kernel.launch(launch.grid, &arguments).map_err(failed)?;
                }
                Step::Product(multiply) => {
                    self.cuda.multiply(multiply.product, &given.operands(multiply)?).map_err(failed)?;
                }
                Step::Fill(what, byte) => given.buffer(what)?.fill(*byte).map_err(failed)?,
            }
        }
        Ok(outputs)
    }
}

impl Planned {
    fn outputs(&self, call: &CheckedCall, run: &Run<'_>, plan: &Plan) -> Result<Outputs, OpError> {
        let failed = |message: String| OpError::Implementation { op: call.op(), message };
        let mut outputs = Outputs::new();
        for (name, due) in call.outputs() {
            let Some(due) = due else {
                outputs.push((name, None));
                continue;
            };
            let place = plan.places.iter().find(|(known, _)| known == name).map(|(_, place)| *place);
            let elsewhere = match place {
                Some(Where::In(input)) => Some(run.tensor(input).ok_or_else(|| failed(format!("no `{input}`")))?),
                Some(Where::Out) => run.out(),
                None => None,
            };
            let storage = match elsewhere {
                Some(tensor) => tensor.storage.clone().ok_or_else(|| failed(format!("`{name}` has no elements")))?,
                None => {
                    let bytes = usize::try_from(due.nbytes()?).unwrap_or(usize::MAX);
                    self.cuda.allocate(bytes).map_err(|error| OpError::failed(call.op(), error))? as Arc<dyn Storage>
                }
            };
            outputs.push((name, Some(due.described().with_storage(storage))));
        }
        Ok(outputs)
    }
}

/// What a plan's arguments are resolved in.
struct Given<'a> {
    op: &'static str,
    run: &'a Run<'a>,
    outputs: &'a Outputs,
    scratch: &'a [Arc<Memory>],
}

impl<'a> Given<'a> {
    fn memory(&self, argument: &Arg) -> Result<Option<&'a Memory>, OpError> {
        let tensor = match argument {
            Arg::Scratch(number) => return Ok(self.scratch.get(*number).map(|memory| &**memory)),
            Arg::Tensor(name) => {
                let output =
                    self.outputs.iter().find(|(known, _)| known == name).and_then(|(_, tensor)| tensor.as_ref());
                output.or_else(|| self.run.tensor(name))
            }
            _ => None,
        };
        match tensor {
            None => Ok(None),
            Some(tensor) => memory(tensor).map(Some).ok_or_else(|| OpError::Implementation {
                op: self.op,
                message: format!("{argument:?} is not in the memory of a GPU"),
            }),
        }
    }

    /// The memory that must be there.
    fn buffer(&self, argument: &Arg) -> Result<&'a Buffer, OpError> {
        self.memory(argument)?.map(Memory::buffer).ok_or_else(|| self.lacks(argument))
    }

    fn operands(&self, multiply: &Multiply) -> Result<Operands<'a>, OpError> {
        let optional = |argument: &Option<Arg>| argument.as_ref().map(|known| self.buffer(known)).transpose();
        Ok(Operands {
            a: self.buffer(&multiply.a)?,
            b: self.buffer(&multiply.b)?,
            c: optional(&multiply.c)?,
            d: self.buffer(&multiply.d)?,
            bias: optional(&multiply.bias)?,
            scale_a: optional(&multiply.scale_a)?,
            scale_b: optional(&multiply.scale_b)?,
            alpha: multiply.alpha,
            beta: multiply.beta,
        })
    }

    fn argument(&self, argument: &'a Arg) -> Result<Argument<'a>, OpError> {
        Ok(match argument {
            Arg::Tensor(_) => self.memory(argument)?.map_or(Argument::Null, |memory| Argument::Buffer(memory.buffer())),
            Arg::Scratch(_) => Argument::Buffer(self.buffer(argument)?),
            Arg::Null => Argument::Null,
            Arg::I32(value) => Argument::I32(*value),
            Arg::I64(value) => Argument::I64(*value),
            Arg::F32(value) => Argument::F32(*value),
            Arg::Bytes(bytes) => Argument::Bytes(bytes),
        })
    }

    fn lacks(&self, argument: &Arg) -> OpError {
        OpError::Implementation { op: self.op, message: format!("the plan has no {argument:?}") }
    }
}
