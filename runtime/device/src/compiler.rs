//! CUDA C++ to machine code, with the results kept on disk.

use std::ffi::CString;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use cudarc::nvrtc::{result as nvrtc, sys};
use sha2::{Digest, Sha256};

use crate::{DeviceError, Library, library};

/// What kernels include, and what that includes in turn.
const HEADERS: [&str; 6] =
    ["cuda_bf16.h", "cuda_bf16.hpp", "cuda_fp16.h", "cuda_fp16.hpp", "cuda_fp8.h", "cuda_fp8.hpp"];

/// Compiles for one architecture.
#[derive(Debug, Clone)]
pub struct Compiler {
    architecture: String,
    includes: Vec<PathBuf>,
    cache: Option<PathBuf>,
    /// What identifies the headers, once it was needed.
    headers: OnceLock<[u8; 32]>,
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
        let mut includes = library::header_folders();
        includes.retain(|folder| HEADERS.iter().all(|header| folder.join(header).is_file()));
        includes.truncate(1);
        Compiler { architecture: architecture.into(), includes, cache: cache_folder(), headers: OnceLock::new() }
    }

    /// Where headers are looked for, in that order.
    pub fn includes(&self) -> &[PathBuf] {
        &self.includes
    }

    /// Where results are kept, if anywhere.
    pub fn cache_folder(&self) -> Option<&Path> {
        self.cache.as_deref()
    }

    /// The same, with headers from `folder` first.
    #[must_use]
    pub fn include(mut self, folder: impl Into<PathBuf>) -> Self {
        self.includes.insert(0, folder.into());
        self.headers = OnceLock::new();
        self
    }

    /// The same, with its cache in `folder`, or without one.
    #[must_use]
    pub fn cache(mut self, folder: Option<PathBuf>) -> Self {
        self.cache = folder;
        self
    }

    /// Compiles `source`, which errors call `file`.
    ///
    /// # Errors
    ///
    /// Where there is no compiler, the source is wrong, or CUDA's headers, which it includes, are not found.
    pub fn compile(&self, file: &str, source: &str) -> Result<Compiled, DeviceError> {
        Library::Nvrtc.require()?;
        let mut options = vec![
            format!("--gpu-architecture={}", self.architecture),
            "--std=c++17".to_owned(),
            // Kernels are compiled as devices run them: contraction as nvcc does it, and no fast-math behind one's back.
            "--ptxas-options=-v".to_owned(),
        ];
        options.extend(self.includes.iter().map(|folder| format!("--include-path={}", folder.display())));
        let cached = self.cache.as_ref().map(|folder| folder.join(key(file, source, &options, self.headers())));
        if let Some(compiled) = cached.as_deref().and_then(load) {
            return Ok(compiled);
        }
        let compiled = compile(file, source, &options).map_err(|error| self.or_headers(error))?;
        if let Some(path) = cached {
            // A cache that cannot be written costs time, not the result.
            let _ = store(&path, &compiled);
        }
        Ok(compiled)
    }

    /// Where it is one of CUDA's own headers that a source lacks, nothing is wrong with the source.
    fn or_headers(&self, error: DeviceError) -> DeviceError {
        let DeviceError::Source { file, log } = &error else { return error };
        // "cannot" where it looked into folders, "could not" where it had none.
        let is_lacking = |name: &&str| log.contains(&format!("open source file \"{name}\""));
        let Some(header) = HEADERS.into_iter().find(is_lacking) else {
            return error;
        };
        let searched = if self.includes.is_empty() { library::header_folders() } else { self.includes.clone() };
        DeviceError::Headers { file: file.clone(), header: header.to_owned(), searched }
    }

    /// What identifies the headers that sources include: their contents, which another toolkit has others of.
    fn headers(&self) -> &[u8; 32] {
        self.headers.get_or_init(|| {
            let mut hash = Sha256::new();
            for name in HEADERS {
                let bytes = self.includes.iter().find_map(|folder| std::fs::read(folder.join(name)).ok());
                hash.update(bytes.as_ref().map_or(u64::MAX, |bytes| bytes.len() as u64).to_le_bytes());
                hash.update(bytes.unwrap_or_default());
            }
            hash.finalize().into()
        })
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

/// What a result depends on: the source, the options, the headers and the compiler.
fn key(file: &str, source: &str, options: &[String], headers: &[u8; 32]) -> String {
    let (mut major, mut minor) = (0, 0);
    // SAFETY: two integers are written to places that hold them. Where that fails, they stay 0.
    let _ = unsafe { sys::nvrtcVersion(&raw mut major, &raw mut minor) };
    let mut hash = Sha256::new();
    for part in [file, source, &options.join("\n"), &format!("{major}.{minor}")] {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    hash.update(headers);
    hash.finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}

/// `cubin` and log of a compilation, as stored: the length of each, then each. Nothing where there is none, or it is not
/// whole.
fn load(path: &Path) -> Option<Compiled> {
    let bytes = std::fs::read(path).ok()?;
    let (lengths, rest) = bytes.split_first_chunk::<16>()?;
    let length = |at: usize| -> Option<usize> {
        let bytes = lengths.get(at..)?.first_chunk::<8>()?;
        usize::try_from(u64::from_le_bytes(*bytes)).ok()
    };
    let (cubin, log) = rest.split_at_checked(length(0)?)?;
    let is_whole = cubin.starts_with(b"\x7fELF") && log.len() == length(8)?;
    is_whole.then(|| Compiled {
        cubin: cubin.to_vec(),
        log: String::from_utf8_lossy(log).into_owned(),
        is_cached: true,
    })
}

fn store(path: &Path, compiled: &Compiled) -> std::io::Result<()> {
    let Some(folder) = path.parent() else { return Ok(()) };
    std::fs::create_dir_all(folder)?;
    let (cubin, log) = (&compiled.cubin[..], compiled.log.as_bytes());
    let [of_cubin, of_log] = [cubin, log].map(|part| (part.len() as u64).to_le_bytes());
    // Two processes may store the same at once: either's file is whole.
    tileops_files::replace(path, &[&of_cubin, &of_log, cubin, log].concat())
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
        for length in 0..bytes.len() {
            std::fs::write(&path, &bytes[..length]).expect("cut");
            assert!(load(&path).is_none(), "{length} of {} bytes", bytes.len());
        }
    }

    #[test]
    fn a_key_depends_on_every_part() {
        if Library::Nvrtc.require().is_err() {
            return;
        }
        let options = ["-a".to_owned(), "-b".to_owned()];
        let (some, other) = ([1; 32], [2; 32]);
        let keys = [
            key("f", "x", &options, &some),
            key("f", "y", &options, &some),
            key("g", "x", &options, &some),
            key("f", "x", &options[..1], &some),
            key("f", "x", &options, &other),
        ];
        let distinct: std::collections::BTreeSet<_> = keys.iter().collect();
        assert_eq!(distinct.len(), keys.len());
    }

    #[test]
    fn other_headers_are_another_result() {
        let folder = tempfile::tempdir().expect("a folder");
        for header in HEADERS {
            std::fs::write(folder.path().join(header), "// old").expect("written");
        }
        let of = || *Compiler::new("sm_90a").include(folder.path()).headers();
        let mut known = vec![of()];
        assert_eq!(known[0], of());
        for header in HEADERS {
            std::fs::write(folder.path().join(header), "// new").expect("written");
            assert!(!known.contains(&of()), "{header}");
            known.push(of());
        }
    }

    #[test]
    fn headers_that_are_missing_are_not_the_source_s_fault() {
        if Library::Nvrtc.require().is_err() {
            return;
        }
        let folder = tempfile::tempdir().expect("a folder");
        let mut compiler = Compiler::new("sm_90a").cache(None);
        compiler.includes = Vec::new();
        let error = compiler.compile("demo.cu", "#include <cuda_fp8.h>\n").expect_err("it has no folders");
        assert!(matches!(error, DeviceError::Headers { .. }), "{error}");
        compiler.includes = vec![folder.path().to_owned()];
        for header in ["cuda_bf16.h", "cuda_fp16.h", "cuda_fp8.h"] {
            let error = compiler.compile("demo.cu", &format!("#include <{header}>\n")).expect_err("there is none");
            assert!(matches!(&error, DeviceError::Headers { header: named, .. } if named == header), "{error}");
            let text = error.to_string();
            assert!(text.contains(header) && text.contains("install"), "{text}");
            assert!(text.contains(&folder.path().display().to_string()), "{text}");
        }
        let error = compiler.compile("demo.cu", "#include <mine.h>\n").expect_err("there is none");
        assert!(matches!(error, DeviceError::Source { .. }), "{error}");
    }
}
