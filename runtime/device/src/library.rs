//! The libraries of CUDA: which there are, where they are looked for, what to do where one is missing.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::OnceLock;

use libloading::os::unix::{Library as Loaded, RTLD_GLOBAL, RTLD_NOW};

use crate::DeviceError;

/// A library that is loaded when it is first needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Library {
    /// The driver.
    Driver,
    /// The compiler of CUDA C++.
    Nvrtc,
    /// Matrix products.
    CublasLt,
    /// The activity records that times are read from.
    Cupti,
}

impl Library {
    /// Every library, in the order in which a first-time user meets them.
    pub const ALL: [Library; 4] = [Library::Driver, Library::Nvrtc, Library::CublasLt, Library::Cupti];

    /// The file that is looked for.
    pub fn file_name(self) -> &'static str {
        match self {
            Library::Driver => "libcuda.so.1",
            Library::Nvrtc => "libnvrtc.so.13",
            Library::CublasLt => "libcublasLt.so.13",
            Library::Cupti => "libcupti.so.13",
        }
    }

    /// What it is needed for.
    pub fn purpose(self) -> &'static str {
        match self {
            Library::Driver => "the driver: everything on a GPU",
            Library::Nvrtc => "the compiler of the kernels",
            Library::CublasLt => "matrix products",
            Library::Cupti => {
                "device-busy times; without it times come from events, and have no speed-of-light reading"
            }
        }
    }

    /// What to do where it is missing.
    pub fn remedy(self) -> &'static str {
        match self {
            Library::Driver => "install the NVIDIA driver (580 or later), or run on a machine with a GPU",
            Library::Nvrtc | Library::CublasLt | Library::Cupti => {
                "install CUDA 13, or point CUDA_HOME at it, or LD_LIBRARY_PATH at the folder that has the file"
            }
        }
    }

    /// Whether it can be loaded, which is tried once a process.
    pub fn is_present(self) -> bool {
        matches!(self.state(), State::Whole | State::Lacks(_))
    }

    /// An error that says what to do, unless the library is there and whole. Each function of this crate that needs a
    /// library calls this first: the bindings panic without it.
    pub fn require(self) -> Result<(), DeviceError> {
        let broken = |why: String| DeviceError::Broken { library: self, why };
        match self.state() {
            State::Whole => Ok(()),
            State::Missing => Err(DeviceError::Missing(self)),
            State::Refused(why) => Err(broken(why.clone())),
            State::Lacks(function) => {
                let place = self.loaded_from().map_or_else(String::new, |path| format!(" ({})", path.display()));
                Err(broken(format!("it{place} has no `{function}`")))
            }
        }
    }

    fn state(self) -> &'static State {
        static STATES: [OnceLock<State>; 4] = [const { OnceLock::new() }; 4];
        STATES[self as usize].get_or_init(|| {
            let refused = self.preload();
            // SAFETY: loading a library runs its initialisers; these are NVIDIA's own, made to be loaded at any time.
            let is_there = unsafe {
                match self {
                    Library::Driver => cudarc::driver::sys::is_culib_present(),
                    Library::Nvrtc => cudarc::nvrtc::sys::is_culib_present(),
                    Library::CublasLt => cudarc::cublaslt::sys::is_culib_present(),
                    Library::Cupti => cudarc::cupti::sys::is_culib_present(),
                }
            };
            if !is_there {
                // Of a file that is not there the loader says its own name; another name is of something that it needs.
                let absent = format!("{}: cannot open shared object file: No such file", self.file_name());
                return match refused {
                    Some(why) if !why.starts_with(&absent) => State::Refused(why),
                    _ => State::Missing,
                };
            }
            let lacks = self.functions().iter().find(|function| {
                // SAFETY: as above; the address is looked up and not used.
                unsafe { cudarc::driver::sys::culib().get::<unsafe extern "C" fn()>(function.as_bytes()) }.is_err()
            });
            lacks.map_or(State::Whole, |function| State::Lacks(function))
        })
    }

    /// The functions of it that are called, through the bindings, which panic where one is missing: the driver's, since a
    /// driver is older than what it is used by. The other libraries come with this version of CUDA, or are not found.
    pub fn functions(self) -> &'static [&'static str] {
        match self {
            Library::Driver => DRIVER,
            Library::Nvrtc | Library::CublasLt | Library::Cupti => &[],
        }
    }

    /// The file that was loaded, where the system tells.
    pub fn loaded_from(self) -> Option<PathBuf> {
        let stem = self.file_name().split(".so").next()?;
        let maps = std::fs::read_to_string("/proc/self/maps").ok()?;
        let mut paths = maps.lines().filter_map(|line| line.split_whitespace().nth(5));
        paths.find(|path| path.rsplit('/').next().is_some_and(|name| name.starts_with(stem))).map(PathBuf::from)
    }

    /// Loads the file from a toolkit's folder where the system's loader does not know it: what is loaded under its name
    /// once is found by that name from then on. Gives what the system's loader said where none was loaded.
    fn preload(self) -> Option<String> {
        // SAFETY: as above; the handle is leaked, so nothing of it is unloaded while it is in use.
        let load = |path: OsString| unsafe { Loaded::open(Some(path), RTLD_NOW | RTLD_GLOBAL) };
        let by_name = load(self.file_name().into());
        let loaded = by_name.or_else(|error| {
            // The driver belongs to the system: no toolkit has one that works.
            let folders = if self == Library::Driver { Vec::new() } else { folders() };
            folders.into_iter().find_map(|folder| load(folder.join(self.file_name()).into()).ok()).ok_or(error)
        });
        match loaded {
            Ok(loaded) => {
                std::mem::forget(loaded);
                None
            }
            Err(error) => Some(said(&error)),
        }
    }
}

/// What the system's loader said of a file.
fn said(error: &libloading::Error) -> String {
    use std::error::Error as _;
    error.source().map_or_else(|| error.to_string(), ToString::to_string)
}

/// What became of loading a library.
#[derive(Debug)]
enum State {
    Whole,
    /// There is no such file.
    Missing,
    /// There is one, and the system's loader does not take it.
    Refused(String),
    /// It was loaded, and lacks a function.
    Lacks(&'static str),
}

const DRIVER: &[&str] = &[
    "cuInit",
    "cuGetErrorName",
    "cuGetErrorString",
    "cuDriverGetVersion",
    "cuDeviceGetCount",
    "cuDeviceGet",
    "cuDeviceGetName",
    "cuDeviceGetAttribute",
    "cuDeviceGetUuid_v2",
    "cuDeviceTotalMem_v2",
    "cuDevicePrimaryCtxRetain",
    "cuDevicePrimaryCtxRelease_v2",
    "cuCtxGetCurrent",
    "cuCtxSetCurrent",
    "cuStreamCreate",
    "cuStreamSynchronize",
    "cuStreamDestroy_v2",
    "cuEventCreate",
    "cuEventRecord",
    "cuEventElapsedTime_v2",
    "cuEventDestroy_v2",
    "cuMemAlloc_v2",
    "cuMemFree_v2",
    "cuMemcpyHtoD_v2",
    "cuMemcpyDtoH_v2",
    "cuMemsetD8Async",
    "cuModuleLoadData",
    "cuModuleGetFunction",
    "cuModuleUnload",
    "cuFuncGetParamInfo",
    "cuFuncSetAttribute",
    "cuLaunchKernel",
    "cuProfilerStart",
    "cuProfilerStop",
];

/// Where toolkits keep their libraries.
fn folders() -> Vec<PathBuf> {
    toolkits().iter().flat_map(|root| ["lib64", "lib", "extras/CUPTI/lib64"].map(|sub| root.join(sub))).collect()
}

/// Where toolkits are: where the environment says, then where they are installed.
pub(crate) fn toolkits() -> Vec<PathBuf> {
    let said = ["CUDA_HOME", "CUDA_PATH"].into_iter().filter_map(std::env::var_os).map(PathBuf::from);
    said.chain(["/usr/local/cuda", "/usr/local/cuda-13.0", "/opt/cuda"].map(PathBuf::from)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_library_is_an_error_that_says_what_to_do() {
        for library in Library::ALL {
            match library.require() {
                Ok(()) => assert!(library.is_present()),
                Err(error) => {
                    let text = error.to_string();
                    assert!(text.contains(library.file_name()) && text.contains("install"), "{text}");
                }
            }
        }
    }
}
