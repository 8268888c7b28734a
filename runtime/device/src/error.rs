//! What can go wrong at the edge to CUDA.

use cudarc::driver::DriverError;
use cudarc::driver::sys::CUresult;

use crate::Library;

/// Why a device could not do what it was asked for.
#[derive(Debug, thiserror::Error)]
pub enum DeviceError {
    /// A library of CUDA is not there.
    #[error("{} is not installed: {}", .0.file_name(), .0.remedy())]
    Missing(Library),
    /// A library of CUDA is there, and cannot be used.
    #[error("{} cannot be used: {why}; {}", .library.file_name(), .library.remedy())]
    Broken {
        /// The library.
        library: Library,
        /// What is wrong with it.
        why: String,
    },
    /// The driver knows no device of that number.
    #[error("there is no CUDA device {ordinal}: the driver knows {count}")]
    NoDevice {
        /// The number that was asked for.
        ordinal: usize,
        /// How many there are.
        count: usize,
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

    /// Whether there is no GPU here: no driver, or a driver that has none. A driver that does not work is another matter.
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

/// Says what was being done where the driver refuses.
pub(crate) trait Doing<T> {
    fn doing(self, what: impl Into<String>) -> Result<T, DeviceError>;
}

impl<T> Doing<T> for Result<T, DriverError> {
    fn doing(self, what: impl Into<String>) -> Result<T, DeviceError> {
        self.map_err(|error| {
            let say = |text: Result<&std::ffi::CStr, DriverError>| {
                text.map_or_else(|_| format!("{:?}", error.0), |text| text.to_string_lossy().into_owned())
            };
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
            DeviceError::Driver {
                doing: what.into(),
                name: say(error.error_name()),
                text: say(error.error_string()),
                is_fatal,
            }
        })
    }
}
