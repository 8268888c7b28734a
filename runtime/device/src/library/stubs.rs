//! Libraries that are others than they should be, as small C files that are compiled here: what this crate says of them. A
//! library is loaded once a process, by a path that the process began with, so that each case is a process of its own.

#![allow(
    clippy::print_stderr,
    clippy::print_stdout,
    reason = "a test that is skipped says so, and a child what it found"
)]

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;

use super::Library;
use crate::{
    Activity, Argument, Compiled, Compiler, Compute, CublasLt, Device, DeviceError, Grid, MatrixType, Operands,
    Product, doctor,
};

/// What the functions of a library do that do more than succeed; those that are left do that alone.
const DRIVER: &str = r#"
#include <stdlib.h>
#include <string.h>
static int handles;
static void *current;
static int made(void **out) { *out = (void *)(size_t)(0x1000 + ++handles); return 0; }
int cuInit(unsigned flags) { return START; }
int cuDriverGetVersion(int *version) { *version = VERSION; return 0; }
int cuGetErrorName(int error, const char **out) { *out = error == 803 ? "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH" : "CUDA_ERROR_OTHER"; return 0; }
int cuGetErrorString(int error, const char **out) { *out = "words"; return 0; }
int cuDeviceGetCount(int *count) { *count = 2; return 0; }
int cuDeviceGet(int *device, int ordinal) { *device = ordinal; return 0; }
int cuDeviceGetName(char *name, int length, int device) { strncpy(name, "Stub", length); return 0; }
int cuDeviceGetUuid_v2(char *uuid, int device) { memset(uuid, device, 16); return 0; }
int cuDeviceTotalMem_v2(size_t *bytes, int device) { *bytes = 1 << 30; return 0; }
int cuDeviceGetAttribute(int *value, int attribute, int device) { *value = 9; return 0; }
int cuDevicePrimaryCtxRetain(void **context, int device) { *context = (void *)(size_t)(16 + device); return 0; }
int cuCtxGetCurrent(void **context) { *context = current; return 0; }
int cuCtxSetCurrent(void *context) { current = context; return 0; }
int cuStreamCreate(void **stream, unsigned flags) { return made(stream); }
int cuEventCreate(void **event, unsigned flags) { return made(event); }
int cuEventElapsedTime_v2(float *milliseconds, void *start, void *end) { *milliseconds = 2; return 0; }
int cuMemAlloc_v2(void **pointer, size_t bytes) { *pointer = malloc(bytes); return 0; }
int cuMemFree_v2(void *pointer) { free(pointer); return 0; }
int cuMemcpyHtoD_v2(void *to, const void *from, size_t bytes) { memcpy(to, from, bytes); return 0; }
int cuMemcpyDtoH_v2(void *to, const void *from, size_t bytes) { memcpy(to, from, bytes); return 0; }
int cuMemsetD8Async(void *to, unsigned char byte, size_t bytes, void *stream) { memset(to, byte, bytes); return 0; }
int cuModuleLoadData(void **module, const void *image) { return made(module); }
int cuModuleGetFunction(void **function, void *module, const char *name) { return made(function); }
int cuFuncGetParamInfo(void *function, size_t at, size_t *offset, size_t *size) { *offset = 0; *size = 8; return at < 1 ? 0 : 1; }
int cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, void *function, int threads, size_t shared, unsigned flags) { *blocks = 1; return 0; }
static int is_capturing, is_invalid;
int cuStreamBeginCapture_v2(void *stream, int mode) { if (is_capturing) return 401; is_capturing = 1; is_invalid = 0; return 0; }
int cuStreamSynchronize(void *stream) { if (is_capturing) { is_invalid = 1; return 900; } return 0; }
int cuStreamEndCapture(void *stream, void **graph) {
  if (!is_capturing) return 401;
  is_capturing = 0;
  if (is_invalid) { *graph = 0; return 901; }
  return made(graph);
}
int cuGraphInstantiateWithFlags(void **executable, void *graph, unsigned long long flags) { return made(executable); }
"#;
const NVRTC: &str = r#"
#include <string.h>
int nvrtcVersion(int *major, int *minor) { *major = VERSION / 1000; *minor = VERSION % 1000 / 10; return 0; }
int nvrtcCreateProgram(void **program, const char *source, const char *name, int headers, const char **texts, const char **names) { *program = program; return 0; }
int nvrtcGetProgramLogSize(void *program, size_t *size) { *size = 1; return 0; }
int nvrtcGetProgramLog(void *program, char *log) { *log = 0; return 0; }
int nvrtcGetCUBINSize(void *program, size_t *size) { *size = 4; return 0; }
int nvrtcGetCUBIN(void *program, char *code) { memcpy(code, "\177ELF", 4); return 0; }
"#;
const CUBLASLT: &str = r#"
#include <stddef.h>
size_t cublasLtGetCudartVersion(void) { return VERSION; }
size_t cublasLtGetVersion(void) { return VERSION / 1000 * 10000 + 403; }
int cublasLtCreate(void **handle) { *handle = handle; return 0; }
int cublasLtMatmulDescCreate(void **made, int compute, int scale) { *made = made; return 0; }
int cublasLtMatmulPreferenceCreate(void **made) { *made = made; return 0; }
int cublasLtMatrixLayoutCreate(void **made, int type, size_t rows, size_t columns, long stride) { *made = made; return 0; }
int cublasLtMatmulAlgoGetHeuristic(void *h, void *o, void *a, void *b, void *c, void *d, void *p, int most, void *results, int *count) { *count = 2; return 0; }
"#;
const CUPTI: &str = "
int cuptiGetVersion(unsigned *version) { *version = VERSION < 13000 ? 24 : VERSION * 10 + 1; return 0; }
";
const NVML: &str = "int nvmlNothing(void) { return 0; }\n";

/// A library that is made for a test.
struct Stub<'a> {
    library: Library,
    file: &'a str,
    version: i32,
    /// What `cuInit` returns.
    start: i32,
    without: &'a str,
}

impl<'a> Stub<'a> {
    fn new(library: Library, file: &'a str, version: i32) -> Self {
        Stub { library, file, version, start: 0, without: "" }
    }

    fn source(&self) -> String {
        let written = match self.library {
            Library::Driver => DRIVER,
            Library::Nvrtc => NVRTC,
            Library::CublasLt => CUBLASLT,
            Library::Cupti => CUPTI,
            Library::Nvml => NVML,
        };
        let is_left_out = |line: &str| !self.without.is_empty() && line.contains(&format!(" {}(", self.without));
        let mut source = format!("#define VERSION {}\n#define START {}\n", self.version, self.start);
        source.extend(written.lines().filter(|line| !is_left_out(line)).map(|line| format!("{line}\n")));
        for symbol in self.library.functions() {
            if *symbol != self.without && !written.contains(&format!(" {symbol}(")) {
                let _ = writeln!(source, "int {symbol}() {{ return 0; }}");
            }
        }
        source
    }

    /// Compiles it into `folder`.
    fn make(&self, folder: &Path) {
        std::fs::create_dir_all(folder).expect("a folder");
        let source = folder.join(format!("{}.c", self.file));
        std::fs::write(&source, self.source()).expect("written");
        let mut compiler = Command::new("cc");
        let file = folder.join(self.file);
        compiler.args(["-shared", "-fPIC", "-w", "-o"]).arg(&file).arg(&source);
        // As NVIDIA's libraries do, it says by which name it is to be found once it is loaded.
        let name = if self.file.ends_with(".so") {
            format!("{}.{}", self.file, self.version / 1000)
        } else {
            self.file.into()
        };
        let output = compiler.arg(format!("-Wl,-soname,{name}")).output().expect("a C compiler");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
}

/// Whether a child has the libraries of a test alone: there is a C compiler, and the system's loader knows nothing of CUDA.
fn can_be_made() -> bool {
    static CAN: OnceLock<bool> = OnceLock::new();
    *CAN.get_or_init(|| {
        let folder = tempfile::tempdir().expect("a folder");
        let why = if Command::new("cc").arg("--version").output().is_err() {
            "there is no C compiler"
        } else if child("says_what_it_found", text(folder.path()), folder.path()).matches(" is not installed").count()
            < 5
        {
            "CUDA is installed here, and would be found beside libraries that are made for a test"
        } else {
            return true;
        };
        eprintln!("skipped: {why}");
        false
    })
}

const NVIDIAS: [(Library, &str, &str); 3] = [
    (Library::Nvrtc, "libnvrtc.so.13", "libnvrtc.so.12"),
    (Library::CublasLt, "libcublasLt.so.13", "libcublasLt.so.12"),
    (Library::Cupti, "libcupti.so.13", "libcupti.so.12"),
];

/// What a child says that begins with these libraries.
fn child(test: &str, folders: &str, toolkit: &Path) -> String {
    let cache = tempfile::tempdir().expect("a folder");
    let output = Command::new(std::env::current_exe().expect("this program"))
        .args(["--exact", &format!("library::stubs::{test}"), "--ignored", "--nocapture", "--test-threads=1"])
        .env("LD_LIBRARY_PATH", folders)
        .env("CUDA_HOME", toolkit)
        .env_remove("CUDA_PATH")
        .env("TILEOPS_CACHE_DIR", cache.path())
        .output()
        .expect("it runs");
    let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && said.contains("1 passed") && !said.contains("panicked"), "{said}");
    said
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a path of characters")
}

/// A child: says what is found, in one line a library, then the whole report.
#[test]
#[ignore = "the tests below start it with libraries of their own"]
fn says_what_it_found() {
    for library in Library::ALL {
        match library.require() {
            Ok(()) => println!("\n{library:?} is {:?} of {:?}", library.loaded_from(), library.version()),
            Err(error) => println!("\n{library:?} is not: {error}"),
        }
    }
    match Device::count() {
        Ok(count) => println!("{count} devices"),
        Err(error) => println!("no GPU: {}, {error}", error.is_absence()),
    }
    let report = doctor::examine(0);
    println!("{}runs kernels: {}", report.text(), report.runs_kernels());
}

/// A child: calls all that this crate does.
#[test]
#[ignore = "the test below starts it with libraries of its own"]
fn does_everything() {
    everything().expect("each function is there, and succeeds");
}

fn everything() -> Result<(), DeviceError> {
    assert_eq!(Device::count()?, 2);
    assert!(matches!(Device::open(2), Err(DeviceError::NoDevice { .. })));
    let (device, other) = (Device::open(0)?, Device::open(1)?);
    let buffer = device.upload(&[1; 64])?;
    buffer.fill(7)?;
    let mut bytes = [0; 64];
    buffer.read(&mut bytes)?;
    assert_eq!(bytes, [7; 64]);
    let (start, end) = (device.event()?, device.event()?);
    device.record(&start)?;
    device.record(&end)?;
    assert!((start.nanoseconds_to(&end)? - 2e6).abs() < 1e-6);
    let compiled: Compiled = Compiler::new("sm_90a").cache(None).compile("demo.cu", "")?;
    let kernel = device.load(&compiled)?.kernel("demo")?;
    kernel.allow_shared(1 << 16)?;
    kernel.allow_large_clusters()?;
    assert_eq!(kernel.occupancy(32, 0)?, 1);
    kernel.launch(Grid::row(1, 1), &[Argument::Buffer(&buffer)])?;
    let elsewhere = other.allocate(64)?;
    let refused = kernel.launch(Grid::row(1, 1), &[Argument::Buffer(&elsewhere)]).expect_err("another device's");
    assert!(refused.to_string().contains("argument 0 is in the memory of CUDA device 1"), "{refused}");
    let again = Device::open(0)?;
    kernel.launch(Grid::row(1, 1), &[Argument::Buffer(&again.allocate(64)?)])?;

    let graph = device.capture(|_| kernel.launch(Grid::row(1, 1), &[Argument::Buffer(&buffer)]))?;
    graph.launch()?;
    drop(graph);
    // However a capture fails, the next one begins.
    let failed = device.capture(|_| kernel.launch(Grid::row(0, 1), &[]));
    assert!(matches!(failed, Err(DeviceError::Launch { .. })), "{failed:?}");
    let failed = device.capture(|_| buffer.read(&mut [0; 4])).expect_err("reading waits");
    assert!(failed.to_string().starts_with("waiting for the device"), "{failed}");
    let failed = device.capture(|device| {
        let _ = device.synchronize();
        Ok::<_, DeviceError>(())
    });
    assert!(failed.expect_err("nothing was captured").to_string().starts_with("ending a capture"));
    let failed = device.capture(|device| device.capture(|_| Ok::<_, DeviceError>(())).map(drop));
    assert!(failed.expect_err("it is captured already").to_string().starts_with("beginning a capture"));
    let unwound = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        device.capture(|_| -> Result<(), DeviceError> { std::panic::resume_unwind(Box::new(())) })
    }));
    assert!(unwound.is_err());
    device.capture(|_| Ok::<_, DeviceError>(()))?.launch()?;
    device.synchronize()?;
    device.in_profiler_range(|| Ok::<_, DeviceError>(()))?;

    let library = CublasLt::new(&device)?;
    let large = device.allocate(1 << 16)?;
    let mut product = library.prepare(Product {
        batch: 2,
        bias: true,
        ..Product::linear(16, 16, 16, MatrixType::Int8, MatrixType::Int32, Compute::Int32)
    })?;
    let operands = Operands { bias: Some(&large), ..Operands::new(&large, &large, &large) };
    product.run_fastest(&operands)?;
    let refused = product.run(0, &Operands { alpha: 0.5, ..operands }).expect_err("half of an integer");
    assert!(refused.to_string().contains("alpha is 0.5"), "{refused}");
    let foreign = other.allocate(1 << 16)?;
    let refused = product.run(0, &Operands { b: &foreign, ..operands }).expect_err("another device's");
    assert!(refused.to_string().contains("B is in the memory of CUDA device 1"), "{refused}");

    let activity = Activity::start(&device)?;
    assert!(activity.take()?.is_empty());
    Ok(())
}

#[test]
fn what_is_called_is_in_the_tables_and_what_lacks_it_is_refused() {
    if !can_be_made() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let whole = folder.path().join("whole");
    let mut all = vec![Stub::new(Library::Driver, "libcuda.so.1", 13000)];
    all.extend(NVIDIAS.map(|(library, file, _)| Stub::new(library, file, 13000)));
    all.iter().for_each(|stub| stub.make(&whole));
    child("does_everything", text(&whole), folder.path());

    for stub in all {
        let lacking = folder.path().join(stub.file);
        let without = stub.library.functions().last().copied().expect("a symbol");
        Stub { without, ..stub }.make(&lacking);
        let said = child("says_what_it_found", &format!("{}:{}", text(&lacking), text(&whole)), folder.path());
        let expected = format!("{:?} is not: {}/{} lacks `{without}`, and", stub.library, text(&lacking), stub.file);
        assert!(said.contains(&expected) && said.contains("install"), "{expected}\n{said}");
        let label = format!("\nunfit    {}: {}\n         {}/", stub.file, stub.library.purpose(), text(&lacking));
        assert!(said.contains(&label) && said.contains("runs kernels: false"), "{said}");
    }
}

#[test]
fn libraries_of_cuda_12_are_too_old() {
    if !can_be_made() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let old = folder.path().join("old");
    for (library, _, file) in NVIDIAS {
        Stub::new(library, file, 12040).make(&old);
    }
    Stub::new(Library::Driver, "libcuda.so.1", 12020).make(&old);
    let said = child("says_what_it_found", text(&old), folder.path());
    for (library, wanted, file) in NVIDIAS {
        let found = if library == Library::Cupti { "CUDA 12 or older, CUPTI's interface 24" } else { "CUDA 12.4" };
        let expected = format!("{library:?} is not: {}/{file} is of {found}", text(&old));
        assert!(said.contains(&expected), "{expected}\n{said}");
        assert!(said.contains(&format!("and `{wanted}` of CUDA 13 is needed: install CUDA 13")), "{said}");
    }
    let driver = format!(
        "Driver is not: {}/libcuda.so.1 is of CUDA 12.2, and a driver of CUDA 13.0 or later is needed: install the NVIDIA \
         driver (580 or later)",
        text(&old)
    );
    assert!(said.contains(&driver) && said.contains("no GPU: false"), "{said}");
    assert!(said.contains("runs kernels: false"), "{said}");
}

#[test]
fn the_file_that_is_named_is_the_one_that_is_used() {
    if !can_be_made() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let (bare, toolkit) = (folder.path().join("bare"), folder.path().join("toolkit"));
    let right = toolkit.join("lib64");
    Stub::new(Library::Nvrtc, "libnvrtc.so.13", 13000).make(&right);
    let said = child("says_what_it_found", text(&folder.path().join("none")), &toolkit);
    let expected = format!("Nvrtc is Some({:?}) of Some(\"CUDA 13.0\")", right.join("libnvrtc.so.13"));
    assert!(said.contains(&expected), "{expected}\n{said}");

    // The bindings take the bare name first.
    Stub::new(Library::Nvrtc, "libnvrtc.so", 12040).make(&bare);
    let said = child("says_what_it_found", text(&bare), &toolkit);
    let expected = format!(
        "Nvrtc is not: {0}/libnvrtc.so is of CUDA 12.4, and `libnvrtc.so.13` of CUDA 13 is needed: it is loaded in the place \
         of {1}/libnvrtc.so.13: take {0} out of LD_LIBRARY_PATH",
        text(&bare),
        text(&right)
    );
    assert!(said.contains(&expected), "{expected}\n{said}");

    let other = folder.path().join("other");
    Stub::new(Library::Nvrtc, "libnvrtc.so", 13010).make(&other);
    let said = child("says_what_it_found", text(&other), &toolkit);
    let expected = "of Some(\"CUDA 13.";
    assert!(said.contains("Nvrtc is Some(") && said.contains(expected), "{said}");
}

#[test]
fn a_driver_that_does_not_start_is_not_a_machine_without_a_gpu() {
    if !can_be_made() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    for (start, expected) in [
        (
            803,
            "no GPU: false, the NVIDIA driver does not start: CUDA_ERROR_SYSTEM_DRIVER_MISMATCH (words): the kernel's module",
        ),
        (999, "no GPU: false, the NVIDIA driver does not start: CUDA_ERROR_OTHER (words): see what `nvidia-smi` says"),
        (100, "0 devices\n"),
        (100, "the driver works, and sees no GPU"),
    ] {
        let here = folder.path().join(start.to_string());
        Stub { start, ..Stub::new(Library::Driver, "libcuda.so.1", 13000) }.make(&here);
        let said = child("says_what_it_found", text(&here), folder.path());
        assert!(said.contains(expected) && said.contains("runs kernels: false"), "{expected}\n{said}");
    }
}

#[test]
fn a_file_that_is_no_library_is_said_to_be_none() {
    if !can_be_made() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("libcupti.so.13"), "not a library").expect("written");
    let said = child("says_what_it_found", text(folder.path()), folder.path());
    assert!(said.contains("Cupti is not: libcupti.so.13 cannot be loaded ("), "{said}");
}

/// The remedy that an error names has to be one: a toolkit that CUDA_HOME alone names compiles.
#[test]
fn a_toolkit_s_compiler_finds_what_belongs_to_it() {
    let Some(compiler) = Library::Nvrtc.loaded_from().and_then(|path| path.canonicalize().ok()) else {
        assert!(std::env::var_os("TILEOPS_REQUIRE_NVRTC").is_none(), "there is a compiler");
        eprintln!("skipped: there is no NVRTC");
        return;
    };
    let toolkit = compiler.parent().and_then(Path::parent).expect("a toolkit has folders");
    let folder = tempfile::tempdir().expect("a folder");
    let said = child("says_what_it_found", text(folder.path()), toolkit);
    assert!(said.contains("compiler a kernel for sm_") || said.contains("headers  doctor.cu"), "{said}");
}
