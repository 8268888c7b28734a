//! What can go wrong at the edge to CUDA.

use std::path::PathBuf;

use cudarc::driver::DriverError;
use cudarc::driver::sys::CUresult;

use crate::Library;

/// Why a device could not do what it was asked for.
#[derive(Debug, thiserror::Error)]
pub enum DeviceError {
    /// A library of CUDA is not there.
    #[error("{} is not installed: {}", .0.file_name(), .0.remedy())]
    Missing(Library),
    /// A library of CUDA is there, and cannot be used: it is of another version, or not whole.
    #[error("{found}, and {needed} is needed: {remedy}")]
    Unfit {
        /// Which.
        library: Library,
        /// The file, and what is wrong with it.
        found: String,
        /// What it should be.
        needed: String,
        /// What to do.
        remedy: String,
    },
    /// The driver is there, and does not start.
    #[error("the NVIDIA driver does not start: {name} ({text}): {remedy}")]
    Start {
        /// The driver's name for the error, `CUDA_ERROR_SYSTEM_DRIVER_MISMATCH`.
        name: String,
        /// The driver's words for it.
        text: String,
        /// What to do.
        remedy: &'static str,
    },
    /// The headers that kernels include are not there.
    #[error(
        "{file} does not compile: there is no {header} in {}: install the headers of CUDA 13 (`cuda-cudart-dev-13-0`, or \
         `nvidia-cuda-runtime` of PyPI), or point CUDA_HOME at the toolkit whose `include` has it",
        if .searched.is_empty() { "the folders of a toolkit".to_owned() } else { folders(.searched) }
    )]
    Headers {
        /// What the source is called.
        file: String,
        /// The first header that is missing.
        header: String,
        /// Where it was looked for.
        searched: Vec<PathBuf>,
    },
    /// The driver knows no device of that number.
    #[error(
        "there is no CUDA device {ordinal}: the driver knows {count}{}",
        if std::env::var_os("CUDA_VISIBLE_DEVICES").is_some() { ", of those that CUDA_VISIBLE_DEVICES names" } else { "" }
    )]
    NoDevice {
        /// The number that was asked for.
        ordinal: usize,
        /// How many there are.
        count: usize,
    },
    /// The device lacks what kernels are written for.
    #[error("{name} has compute capability {}.{}, and the kernels need {}.{} or later: {needs}", .capability.0, .capability.1, .least.0, .least.1)]
    TooOld {
        /// What the device is called.
        name: String,
        /// What it has.
        capability: (i32, i32),
        /// What it must have.
        least: (i32, i32),
        /// What that brings.
        needs: &'static str,
    },
    /// A call of the driver failed.
    #[error("{doing}: {name} ({text})")]
    Driver {
        /// What was being done.
        doing: String,
        /// The driver's name for the error, `CUDA_ERROR_OUT_OF_MEMORY`.
        name: String,
        /// The driver's words for it.
        text: String,
        /// Whether the context is lost: nothing works in this process from here on.
        is_fatal: bool,
    },
    /// A call of another library of CUDA failed.
    #[error("{doing}: {what}")]
    Library {
        /// What was being done.
        doing: String,
        /// What the library said.
        what: String,
    },
    /// A source does not compile.
    #[error("{file} does not compile:\n{log}")]
    Source {
        /// What the source is called.
        file: String,
        /// The compiler's words.
        log: String,
    },
    /// A launch does not fit its kernel.
    #[error("`{kernel}` cannot be launched so: {why}")]
    Launch {
        /// The kernel.
        kernel: String,
        /// What does not fit.
        why: String,
    },
    /// A copy does not fit its buffer.
    #[error("{bytes} bytes cannot be copied: the buffer has {capacity}")]
    Copy {
        /// How many bytes were to be copied.
        bytes: usize,
        /// How many the buffer has.
        capacity: usize,
    },
}

impl DeviceError {
    /// Whether nothing works in this process any more.
    pub fn is_fatal(&self) -> bool {
        matches!(self, DeviceError::Driver { is_fatal: true, .. })
    }

    /// Whether there was not enough memory: less of it may do.
    pub fn is_out_of_memory(&self) -> bool {
        matches!(self, DeviceError::Driver { name, .. } if name == "CUDA_ERROR_OUT_OF_MEMORY")
    }

    /// Whether there is no GPU here: no driver, or a driver that has none. A driver that is too old or does not start is
    /// another matter: there may be a GPU, which is then not used.
    pub fn is_absence(&self) -> bool {
        match self {
            DeviceError::Missing(library) => *library == Library::Driver,
            DeviceError::NoDevice { count, .. } => *count == 0,
            DeviceError::Driver { name, .. } => name == "CUDA_ERROR_NO_DEVICE",
            _ => false,
        }
    }

    pub(crate) fn library(doing: impl Into<String>, what: impl std::fmt::Debug) -> Self {
        DeviceError::Library { doing: doing.into(), what: format!("{what:?}") }
    }
}

fn folders(searched: &[PathBuf]) -> String {
    searched.iter().map(|folder| folder.display().to_string()).collect::<Vec<_>>().join(", ")
}

/// What the driver says of an error: its name, and its words.
pub(crate) fn words(error: DriverError) -> (String, String) {
    let say = |text: Result<&std::ffi::CStr, DriverError>| {
        text.map_or_else(|_| format!("{:?}", error.0), |text| text.to_string_lossy().into_owned())
    };
    (say(error.error_name()), say(error.error_string()))
}

/// The driver's refusal to start.
pub(crate) fn start(error: DriverError) -> DeviceError {
    let remedy = match error.0 {
        CUresult::CUDA_ERROR_SYSTEM_DRIVER_MISMATCH => {
            "the kernel's module and libcuda are of different versions, as after an update: restart the machine (or, in a \
             container, take out the libcuda that hides the host's)"
        }
        CUresult::CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE => {
            "a libcuda of CUDA's `compat` folder was loaded, which this GPU does not take: take the folder out of \
             LD_LIBRARY_PATH, or install driver 580 or later"
        }
        CUresult::CUDA_ERROR_SYSTEM_NOT_READY => {
            "a service that the GPUs need is not running: start `nvidia-fabricmanager`, and see that `nvidia-smi` is content"
        }
        CUresult::CUDA_ERROR_STUB_LIBRARY => {
            "the toolkit's stub of libcuda was loaded: take its `stubs` folder out of LD_LIBRARY_PATH"
        }
        _ => {
            "see what `nvidia-smi` says; the kernel's modules `nvidia` and `nvidia_uvm` have to be loaded (`nvidia-modprobe \
             -u -c=0`), and /dev/nvidia* has to be readable and writable here"
        }
    };
    let (name, text) = words(error);
    DeviceError::Start { name, text, remedy }
}

/// Says what was being done where the driver refuses.
pub(crate) trait Doing<T> {
    fn doing(self, what: impl Into<String>) -> Result<T, DeviceError>;
}

impl<T> Doing<T> for Result<T, DriverError> {
    fn doing(self, what: impl Into<String>) -> Result<T, DeviceError> {
        self.map_err(|error| {
            // After these the context answers every call with the same error.
            let is_fatal = matches!(
                error.0,
                CUresult::CUDA_ERROR_ILLEGAL_ADDRESS
                    | CUresult::CUDA_ERROR_LAUNCH_FAILED
                    | CUresult::CUDA_ERROR_LAUNCH_TIMEOUT
                    | CUresult::CUDA_ERROR_MISALIGNED_ADDRESS
                    | CUresult::CUDA_ERROR_INVALID_ADDRESS_SPACE
                    | CUresult::CUDA_ERROR_INVALID_PC
                    | CUresult::CUDA_ERROR_ILLEGAL_INSTRUCTION
                    | CUresult::CUDA_ERROR_ASSERT
                    | CUresult::CUDA_ERROR_HARDWARE_STACK_ERROR
                    | CUresult::CUDA_ERROR_ECC_UNCORRECTABLE
                    | CUresult::CUDA_ERROR_NVLINK_UNCORRECTABLE
                    | CUresult::CUDA_ERROR_EXTERNAL_DEVICE
                    | CUresult::CUDA_ERROR_CONTEXT_IS_DESTROYED
                    | CUresult::CUDA_ERROR_UNKNOWN
            );
            let (name, text) = words(error);
            DeviceError::Driver { doing: what.into(), name, text, is_fatal }
        })
    }
}
