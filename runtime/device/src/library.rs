//! The libraries of CUDA: which there are, what each has to have, what to do where one is missing or is another.

mod functions;
mod load;
#[cfg(test)]
mod stubs;

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

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
    /// Clocks, power and temperatures.
    Nvml,
}

/// A library that is loaded and has what this crate calls.
#[derive(Debug, Clone)]
struct Found {
    /// The file, as the system's loader found it.
    path: Option<PathBuf>,
    /// Its version, in words.
    version: Option<String>,
}

/// Why a library cannot be used.
#[derive(Debug, Clone)]
enum Unusable {
    /// There is none.
    Missing,
    /// There is one, and it is another than what this crate was made for.
    Unfit { found: String, needed: String, remedy: String },
}

impl Library {
    /// Every library, in the order in which a first-time user meets them.
    pub const ALL: [Library; 5] = [Library::Driver, Library::Nvrtc, Library::CublasLt, Library::Cupti, Library::Nvml];

    /// The file that is looked for.
    pub fn file_name(self) -> &'static str {
        match self {
            Library::Driver => "libcuda.so.1",
            Library::Nvrtc => "libnvrtc.so.13",
            Library::CublasLt => "libcublasLt.so.13",
            Library::Cupti => "libcupti.so.13",
            Library::Nvml => "libnvidia-ml.so.1",
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
            Library::Nvml => "clocks, power and throttle reasons; without it records have none",
        }
    }

    /// What to do where it is missing.
    pub fn remedy(self) -> &'static str {
        match self {
            Library::Driver => "install the NVIDIA driver (580 or later), or run on a machine with a GPU",
            Library::Nvrtc | Library::CublasLt | Library::Cupti => {
                "install CUDA 13, or point CUDA_HOME at it, or LD_LIBRARY_PATH at the folder that has the file"
            }
            Library::Nvml => {
                "install the NVIDIA driver (580 or later), which has it; in a container, ask for the driver's `utility` \
                 capability"
            }
        }
    }

    /// Whether an op's kernels run without it: what it says of a run is then not recorded.
    pub fn is_optional(self) -> bool {
        matches!(self, Library::Cupti | Library::Nvml)
    }

    /// Whether it can be loaded and used, which is tried once a process.
    pub fn is_present(self) -> bool {
        self.state().is_ok()
    }

    /// An error that says what to do, unless the library is there, of the version that this crate calls, and has every
    /// function that it calls. Each function of this crate that needs a library calls this first: the bindings panic
    /// without it.
    pub fn require(self) -> Result<(), DeviceError> {
        match self.state() {
            Ok(_) => Ok(()),
            Err(Unusable::Missing) => Err(DeviceError::Missing(self)),
            Err(Unusable::Unfit { found, needed, remedy }) => Err(DeviceError::Unfit {
                library: self,
                found: found.clone(),
                needed: needed.clone(),
                remedy: remedy.clone(),
            }),
        }
    }

    /// The file that its calls go to, where the system tells.
    pub fn loaded_from(self) -> Option<PathBuf> {
        self.state().as_ref().ok()?.path.clone()
    }

    /// Its version, as it says itself: `13.0`, or `CUDA 13.0, cuBLASLt 13.1.0`.
    pub fn version(self) -> Option<String> {
        self.state().as_ref().ok()?.version.clone()
    }

    fn state(self) -> &'static Result<Found, Unusable> {
        static STATES: [OnceLock<Result<Found, Unusable>>; 5] = [const { OnceLock::new() }; 5];
        STATES[self as usize].get_or_init(|| load::load(self))
    }
}

/// Where toolkits keep their libraries.
fn folders() -> Vec<PathBuf> {
    let roots = said().chain(installed());
    roots.flat_map(|root| ["lib64", "lib", "extras/CUPTI/lib64"].map(|sub| root.join(sub))).collect()
}

/// Where headers are looked for: where the environment says, then beside the compiler that is used, then where toolkits are
/// installed.
pub(crate) fn header_folders() -> Vec<PathBuf> {
    let compiler = Library::Nvrtc.loaded_from().and_then(|path| path.canonicalize().ok());
    let root = |path: &Path| path.parent().and_then(Path::parent).map(Path::to_owned);
    let beside = compiler.as_deref().and_then(root);
    let mut folders: Vec<PathBuf> = said().chain(beside).chain(installed()).map(|root| root.join("include")).collect();
    let mut known = std::collections::BTreeSet::new();
    folders.retain(|folder| known.insert(folder.clone()));
    folders
}

/// The toolkits that the environment names.
fn said() -> impl Iterator<Item = PathBuf> {
    let said = ["CUDA_HOME", "CUDA_PATH"].into_iter().filter_map(std::env::var_os);
    said.filter(|value| !value.is_empty()).map(PathBuf::from)
}

fn installed() -> impl Iterator<Item = PathBuf> {
    ["/usr/local/cuda", "/usr/local/cuda-13.0", "/opt/cuda"].into_iter().map(PathBuf::from)
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
