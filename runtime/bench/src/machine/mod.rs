//! What runs ops and takes their times: the CPU, or a GPU.

mod cpu;
mod cuda;

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use anyhow::{Context as _, Result, bail};
use serde::{Deserialize, Serialize};
use tileops_device::Reading;
use tileops_ops::{CheckedCall, Implementation, Tensor};
use tileops_record::Device;

use crate::fault::Fault;
use crate::inputs::Recipe;

pub use cpu::Host;
pub use cuda::{Gpu, SOURCE as KERNELS};

/// Which machine: `cpu`, `cuda:0`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Which {
    /// The CPU, by the references.
    Cpu,
    /// A GPU, by its number.
    Cuda(usize),
}

impl FromStr for Which {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once(':') {
            None if text == "cpu" => Ok(Which::Cpu),
            None if text == "cuda" => Ok(Which::Cuda(0)),
            Some(("cuda", number)) if number.parse::<usize>().is_ok() => Ok(Which::Cuda(number.parse().unwrap_or(0))),
            _ => Err("it is neither `cpu` nor `cuda:N`".to_owned()),
        }
    }
}

impl fmt::Display for Which {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Which::Cpu => f.write_str("cpu"),
            Which::Cuda(number) => write!(f, "cuda:{number}"),
        }
    }
}

impl Which {
    /// The first GPU, or the CPU where there is none.
    ///
    /// # Errors
    ///
    /// Where there is a driver and it does not work: times of the CPU are not what was meant.
    pub fn first() -> Result<Self> {
        match tileops_device::Device::count() {
            Ok(0) => Ok(Which::Cpu),
            Ok(_) => Ok(Which::Cuda(0)),
            Err(error) if error.is_absence() => Ok(Which::Cpu),
            Err(error) => {
                Err(error).context("the GPU cannot be used (`--device cpu` runs the references, without a GPU)")
            }
        }
    }

    /// The name that records have of the machine.
    pub fn device_name(self) -> Result<String> {
        match self {
            Which::Cpu => Ok(Host.describe().name.to_string()),
            Which::Cuda(number) => {
                tileops_device::Device::name_of(number).with_context(|| format!("cannot use cuda:{number}"))
            }
        }
    }

    /// What takes times on the machine, and what does as well: a time by CUPTI is one wherever times are by events.
    pub fn sources(self) -> &'static [&'static str] {
        match self {
            Which::Cpu => &["cpu"],
            Which::Cuda(_) if tileops_device::Library::Cupti.is_present() => &["cupti"],
            Which::Cuda(_) => &["cupti", "events"],
        }
    }

    /// Takes the machine up.
    pub fn open(self) -> Result<Arc<dyn Machine>> {
        match self {
            Which::Cpu => Ok(Arc::new(Host)),
            Which::Cuda(number) => Ok(Arc::new(Gpu::open(number)?)),
        }
    }

    /// Why nothing can run the op here; nothing where something can.
    pub fn lacks(self, op: &str) -> Option<&'static str> {
        if tileops_reference::of(op).is_none() {
            return Some("no reference");
        }
        match self {
            Which::Cuda(_) if tileops_kernels::planner(op).is_none() => Some("no CUDA kernel"),
            _ => None,
        }
    }
}

/// What took a machine's times.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Clock {
    /// `cupti`, `events` or `cpu`.
    pub source: &'static str,
    /// Why it is not CUPTI.
    pub reason: Option<String>,
    /// What is done to the L2 cache before each sample.
    pub l2: String,
    /// Why the device's clocks could not be read, where they should have been.
    pub unread: Option<String>,
}

/// One call's times, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Sample {
    /// In which the device was busy with kernels and fills.
    pub busy: f64,
    /// In which it was busy with copies and nothing else.
    pub copies: f64,
    /// From the first kernel's start to the last one's end: gaps between kernels are in it.
    pub elapsed: f64,
    /// How many kernels ran; nothing where the clock does not tell.
    pub kernels: Option<u64>,
}

/// The byte that memory is spoiled with.
pub const POISON: u8 = 0xa5;

/// What runs ops and takes their times.
pub trait Machine: Send + Sync {
    /// What records say of it.
    fn describe(&self) -> Device;

    /// What takes its times.
    fn clock(&self) -> Clock;

    /// What runs the op called `op`, where something does.
    fn implementation(&self, op: &str) -> Option<Arc<dyn Implementation>>;

    /// Compiles what the call launches.
    fn compile(&self, call: &CheckedCall) -> Result<()>;

    /// How much memory the sets of inputs should take together, and the most that they may, in bytes.
    fn rotation(&self) -> (usize, usize);

    /// A tensor with elements.
    fn make(&self, described: &Tensor, recipe: &Recipe) -> Result<Tensor>;

    /// Gives a tensor its elements anew.
    fn renew(&self, tensor: &Tensor, recipe: &Recipe) -> Result<()>;

    /// A tensor's elements, once the work before is done.
    fn read(&self, tensor: &Tensor) -> Result<Vec<u8>>;

    /// Spoils the memory that the next call's outputs will have: an element that a kernel does not write is then wrong.
    /// What is behind the end of the inputs that the call mutates is spoiled, too, and the inputs are left as they are.
    fn poison(&self, outputs: &[Tensor], mutated: &[Tensor]) -> Result<()>;

    /// The bytes of a tensor's memory behind its end, once the work before is done: [`POISON`], unless something was stored
    /// there. None where its memory ends with it.
    fn past(&self, tensor: &Tensor) -> Result<Vec<u8>>;

    /// Makes the fault happen, as an injected one.
    fn fail(&self, fault: Fault, outputs: &[Tensor]) -> Result<()>;

    /// What the device is doing, where that can be read.
    fn reading(&self) -> Option<Reading>;

    /// Takes `count` samples: before each, `renew` with its number, then what the clock's policy does, then `call`. The
    /// device's clocks are read while it works.
    fn sample(
        &self,
        count: usize,
        renew: &mut dyn FnMut(usize) -> Result<()>,
        call: &mut dyn FnMut(usize) -> Result<()>,
    ) -> Result<(Vec<Sample>, Option<Reading>)>;

    /// Does `work`, and all that it starts, in the range that profilers look at, where the machine has one.
    fn in_profiler_range(&self, work: &mut dyn FnMut() -> Result<()>) -> Result<()> {
        work()
    }
}

/// The elements of a tensor.
fn elements(tensor: &Tensor) -> Result<usize> {
    match tensor.numel().get().map(usize::try_from) {
        Ok(Ok(count)) => Ok(count),
        _ => bail!("{tensor} has more elements than memory can hold"),
    }
}
