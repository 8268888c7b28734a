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
        static PRESENT: [OnceLock<bool>; 4] = [const { OnceLock::new() }; 4];
        *PRESENT[self as usize].get_or_init(|| {
            self.preload();
            // SAFETY: loading a library runs its initialisers; these are NVIDIA's own, made to be loaded at any time.
            unsafe {
                match self {
                    Library::Driver => cudarc::driver::sys::is_culib_present(),
                    Library::Nvrtc => cudarc::nvrtc::sys::is_culib_present(),
                    Library::CublasLt => cudarc::cublaslt::sys::is_culib_present(),
                    Library::Cupti => cudarc::cupti::sys::is_culib_present(),
                }
            }
        })
    }

    /// An error that says what to do, unless the library is there. Each function of this crate that needs a library
    /// calls this first: the bindings panic without it.
    pub fn require(self) -> Result<(), DeviceError> {
        if self.is_present() { Ok(()) } else { Err(DeviceError::Missing(self)) }
    }

    /// The file that was loaded, where the system tells.
    pub fn loaded_from(self) -> Option<PathBuf> {
        let stem = self.file_name().split(".so").next()?;
        let maps = std::fs::read_to_string("/proc/self/maps").ok()?;
        let mut paths = maps.lines().filter_map(|line| line.split_whitespace().nth(5));
        paths.find(|path| path.rsplit('/').next().is_some_and(|name| name.starts_with(stem))).map(PathBuf::from)
    }

    /// Loads the file from a toolkit's folder where the system's loader does not know it: what is loaded under its name
    /// once is found by that name from then on.
    fn preload(self) {
        // SAFETY: as above; the handle is leaked, so nothing of it is unloaded while it is in use.
        let load = |path: OsString| unsafe { Loaded::open(Some(path), RTLD_NOW | RTLD_GLOBAL) };
        let by_name = load(self.file_name().into());
        let loaded = by_name.or_else(|error| {
            // The driver belongs to the system: no toolkit has one that works.
            let folders = if self == Library::Driver { Vec::new() } else { folders() };
            folders.into_iter().find_map(|folder| load(folder.join(self.file_name()).into()).ok()).ok_or(error)
        });
        if let Ok(loaded) = loaded {
            std::mem::forget(loaded);
        }
    }
}

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
