//! CUDA C++ to machine code, with the results kept on disk.

use std::ffi::CString;
use std::path::{Path, PathBuf};

use cudarc::nvrtc::{result as nvrtc, sys};
use sha2::{Digest, Sha256};

use crate::{DeviceError, Library, library};

/// Compiles for one architecture.
#[derive(Debug, Clone)]
pub struct Compiler {
    architecture: String,
    includes: Vec<PathBuf>,
    cache: Option<PathBuf>,
}

/// A compiled source.
#[derive(Debug, Clone)]
pub struct Compiled {
    /// The machine code.
    pub cubin: Vec<u8>,
    /// What the compiler said, with each kernel's resources.
    pub log: String,
    /// Whether it was taken from the disk.
    pub is_cached: bool,
}

/// What a kernel takes of a multiprocessor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resources {
    /// The kernel.
    pub kernel: String,
    /// Registers a thread.
    pub registers: u32,
    /// Bytes that a thread keeps in memory for want of registers, written and read back.
    pub spilled_bytes: u32,
}

impl Compiler {
    /// A compiler for `architecture`, as in `sm_90a`, that finds CUDA's headers where toolkits keep them and caches in
    /// the user's cache folder (`TILEOPS_CACHE_DIR`, else `tileops` in that of the system).
    pub fn new(architecture: impl Into<String>) -> Self {
        let includes = library::toolkits().into_iter().map(|root| root.join("include"));
        Compiler {
            architecture: architecture.into(),
            includes: includes.filter(|folder| folder.join("cuda_fp8.h").is_file()).take(1).collect(),
            cache: cache_folder(),
        }
    }

    /// The same, with headers from `folder` first.
    #[must_use]
    pub fn include(mut self, folder: impl Into<PathBuf>) -> Self {
        self.includes.insert(0, folder.into());
        self
    }

    /// The same, with its cache in `folder`, or without one.
    #[must_use]
    pub fn cache(mut self, folder: Option<PathBuf>) -> Self {
        self.cache = folder;
        self
    }

    /// Compiles `source`, which errors call `file`.
    pub fn compile(&self, file: &str, source: &str) -> Result<Compiled, DeviceError> {
        Library::Nvrtc.require()?;
        let mut options = vec![
            format!("--gpu-architecture={}", self.architecture),
            "--std=c++17".to_owned(),
            // Kernels are compiled as devices run them: contraction as nvcc does it, and no fast-math behind one's back.
            "--ptxas-options=-v".to_owned(),
        ];
        options.extend(self.includes.iter().map(|folder| format!("--include-path={}", folder.display())));
        let cached = self.cache.as_ref().map(|folder| folder.join(key(file, source, &options)));
        if let Some(compiled) = cached.as_deref().and_then(load) {
            return Ok(compiled);
        }
        let compiled = compile(file, source, &options)?;
        if let Some(path) = cached {
            // A cache that cannot be written costs time, not the result.
            let _ = store(&path, &compiled);
        }
        Ok(compiled)
    }
}

/// What each kernel of a compilation takes, by the compiler's log.
pub fn resources(log: &str) -> Vec<Resources> {
    let mut found = Vec::new();
    let mut current: Option<Resources> = None;
    let number_before = |line: &str, what: &str| {
        let before = line.split(what).next().filter(|before| before.len() < line.len())?;
        before.split_whitespace().next_back()?.parse::<u32>().ok()
    };
    for line in log.lines() {
        if let Some(name) = line.split("Compiling entry function '").nth(1).and_then(|rest| rest.split('\'').next()) {
            current = Some(Resources { kernel: name.to_owned(), registers: 0, spilled_bytes: 0 });
        }
        let Some(kernel) = &mut current else { continue };
        if let Some(stores) = number_before(line, " bytes spill stores") {
            kernel.spilled_bytes = stores.max(number_before(line, " bytes spill loads").unwrap_or(0));
        }
        if let Some(registers) = number_before(line, " registers") {
            kernel.registers = registers;
            found.extend(current.take());
        }
    }
    found
}

fn compile(file: &str, source: &str, options: &[String]) -> Result<Compiled, DeviceError> {
    let source_text = |text: &str| {
        CString::new(text).map_err(|_| DeviceError::Source { file: file.to_owned(), log: "it has a NUL".to_owned() })
    };
    let (text, name) = (source_text(source)?, source_text(file)?);
    let program =
        nvrtc::create_program(&text, Some(&name)).map_err(|e| DeviceError::library(format!("taking in {file}"), e))?;
    let made = || -> Result<Compiled, DeviceError> {
        // SAFETY: the program is the one made above, and is destroyed below, once.
        let outcome = unsafe { nvrtc::compile_program(program, options) };
        // SAFETY: the log is there from now on.
        let log = unsafe { nvrtc::get_program_log(program) }.map_err(|e| DeviceError::library("reading the log", e))?;
        let bytes: Vec<u8> = log.iter().map(|c| *c as u8).take_while(|byte| *byte != 0).collect();
        let log = String::from_utf8_lossy(&bytes).into_owned();
        if outcome.is_err() {
            return Err(DeviceError::Source { file: file.to_owned(), log });
        }
        let fail = |e| DeviceError::library(format!("taking {file}'s machine code"), e);
        let mut size = 0;
        // SAFETY: the size is written to a place that holds one.
        unsafe { sys::nvrtcGetCUBINSize(program, &raw mut size) }.result().map_err(fail)?;
        let mut cubin = vec![0_u8; size];
        // SAFETY: as many bytes are written as the call before said, and there is room for them.
        unsafe { sys::nvrtcGetCUBIN(program, cubin.as_mut_ptr().cast()) }.result().map_err(fail)?;
        Ok(Compiled { cubin, log, is_cached: false })
    }();
    // SAFETY: the program is not used again.
    let _ = unsafe { nvrtc::destroy_program(program) };
    made
}

/// What a result depends on: the source, the options and the compiler.
fn key(file: &str, source: &str, options: &[String]) -> String {
    let (mut major, mut minor) = (0, 0);
    // SAFETY: two integers are written to places that hold them. Where that fails, they stay 0.
    let _ = unsafe { sys::nvrtcVersion(&raw mut major, &raw mut minor) };
    let mut hash = Sha256::new();
    for part in [file, source, &options.join("\n"), &format!("{major}.{minor}")] {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    hash.finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}

/// `cubin` and log of a compilation, as stored; nothing where there is none or it is not whole.
fn load(path: &Path) -> Option<Compiled> {
    let bytes = std::fs::read(path).ok()?;
    let (length, rest) = bytes.split_first_chunk::<8>()?;
    let (cubin, log) = rest.split_at_checked(usize::try_from(u64::from_le_bytes(*length)).ok()?)?;
    let is_whole = cubin.starts_with(b"\x7fELF");
    is_whole.then(|| Compiled {
        cubin: cubin.to_vec(),
        log: String::from_utf8_lossy(log).into_owned(),
        is_cached: true,
    })
}

fn store(path: &Path, compiled: &Compiled) -> std::io::Result<()> {
    let Some(folder) = path.parent() else { return Ok(()) };
    std::fs::create_dir_all(folder)?;
    let length = (compiled.cubin.len() as u64).to_le_bytes();
    // Two processes may store the same at once: either's file is whole.
    tileops_files::replace(path, &[&length, &compiled.cubin[..], compiled.log.as_bytes()].concat())
}

fn cache_folder() -> Option<PathBuf> {
    let of = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let system = || of("XDG_CACHE_HOME").or_else(|| of("HOME").map(|home| home.join(".cache")));
    of("TILEOPS_CACHE_DIR").or_else(|| Some(system()?.join("tileops"))).map(|folder| folder.join("cubin"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What `ptxas -v` prints of two kernels, one of which spills.
    const LOG: &str = "\
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'copy' for 'sm_90a'
ptxas info    : Function properties for copy
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 12 registers, used 0 barriers
ptxas info    : Compiling entry function 'wide' for 'sm_90a'
ptxas info    : Function properties for wide
    40 bytes stack frame, 36 bytes spill stores, 52 bytes spill loads
ptxas info    : Used 255 registers, used 1 barriers, 40 bytes cumulative stack size
";

    #[test]
    fn a_log_tells_registers_and_spills() {
        let resource =
            |kernel: &str, registers, spilled_bytes| Resources { kernel: kernel.into(), registers, spilled_bytes };
        assert_eq!(resources(LOG), [resource("copy", 12, 0), resource("wide", 255, 52)]);
    }

    #[test]
    fn what_is_stored_is_loaded_and_half_a_file_is_not() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("deep/er");
        let compiled = Compiled { cubin: b"\x7fELF code".to_vec(), log: LOG.to_owned(), is_cached: false };
        store(&path, &compiled).expect("stored");
        let loaded = load(&path).expect("loaded");
        assert!(loaded.is_cached && loaded.cubin == compiled.cubin && loaded.log == LOG);
        let bytes = std::fs::read(&path).expect("bytes");
        std::fs::write(&path, &bytes[..12]).expect("cut");
        assert!(load(&path).is_none());
        std::fs::write(&path, b"").expect("cut");
        assert!(load(&path).is_none());
    }

    #[test]
    fn a_key_depends_on_every_part() {
        if Library::Nvrtc.require().is_err() {
            return;
        }
        let options = ["-a".to_owned(), "-b".to_owned()];
        let keys =
            [key("f", "x", &options), key("f", "y", &options), key("g", "x", &options), key("f", "x", &options[..1])];
        let distinct: std::collections::BTreeSet<_> = keys.iter().collect();
        assert_eq!(distinct.len(), keys.len());
    }
}
