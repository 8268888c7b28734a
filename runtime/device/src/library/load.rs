//! Loading a library, and seeing that it is the one that this crate was made for.
//!
//! The bindings try a list of names, the bare `libX.so` first, and take what loads, whatever its version. The same names are
//! tried here, in the same order, so that what is examined is what the bindings use; a test of the addresses says so.

use std::ffi::{CStr, OsStr, c_char, c_int, c_void};
use std::path::{Path, PathBuf};

use libloading::os::unix::{Library as Loaded, RTLD_GLOBAL, RTLD_LAZY, RTLD_LOCAL, RTLD_NOW};

use super::{Found, Library, Unusable, folders};

/// The version of CUDA that the bindings were made for, as CUDA writes it.
const CUDA: i32 = 13000;

/// What a library says of its version.
struct Version {
    /// In words.
    text: String,
    /// Whether this crate can call it.
    fits: bool,
}

/// Loads `library` for good, unless it cannot be used.
pub(super) fn load(library: Library) -> Result<Found, Unusable> {
    let own = preload(library);
    let Some((name, loaded)) =
        candidates(library).into_iter().find_map(|name| open(&name).map(|loaded| (name, loaded)))
    else {
        return Err(match own {
            Ok(_) => Unusable::Missing,
            Err(found) => Unusable::Unfit { found, needed: needed(library), remedy: library.remedy().to_owned() },
        });
    };
    let (path, loaded) = path_of(loaded);
    let found = || path.as_ref().map_or_else(|| name.clone(), |path| path.display().to_string());
    let elsewhere = own.ok().flatten().filter(|own| Some(own) != path.as_ref());
    let remedy = || remedy(library, path.as_deref(), elsewhere.as_deref());
    let unfit = |found: String| Err(Unusable::Unfit { found, needed: needed(library), remedy: remedy() });

    let address = |symbol: &str| {
        // SAFETY: the symbol's address is taken, and nothing is called by it here.
        unsafe { loaded.get::<*mut c_void>(symbol.as_bytes()) }.ok().map(|symbol| symbol.into_raw())
    };
    // An old version has old functions, so that it is the better thing to say.
    let version = version(library, &address);
    if let Some(version) = version.as_ref().filter(|version| !version.fits) {
        return unfit(format!("{} is of {}", found(), version.text));
    }
    let lacking: Vec<&str> = library.functions().iter().copied().filter(|symbol| address(symbol).is_none()).collect();
    if let [first, rest @ ..] = &lacking[..] {
        let others = match rest.len() {
            0 => String::new(),
            1 => " and another function".to_owned(),
            more => format!(" and {more} other functions"),
        };
        return unfit(format!("{} lacks `{first}`{others}", found()));
    }
    if let Some(symbol) = library.functions().first()
        && address(symbol) != bound(library, symbol)
    {
        return unfit(format!("{} is not what calls go to", found()));
    }
    std::mem::forget(loaded);
    if let (Library::Nvrtc, Some(path), Some(version)) = (library, &path, &version) {
        load_builtins(path, version);
    }
    Ok(Found { path, version: version.map(|version| version.text) })
}

/// Loads the file from a toolkit's folder where the system's loader does not know it: what is loaded under its name once is
/// found by that name from then on. Gives the file, nothing where there is none.
///
/// # Errors
///
/// Where there is a file and the system cannot load it, in words.
fn preload(library: Library) -> Result<Option<PathBuf>, String> {
    // SAFETY: loading a library runs its initialisers; these are NVIDIA's own, made to be loaded at any time.
    let load = |path: &OsStr| unsafe { Loaded::open(Some(path), RTLD_NOW | RTLD_GLOBAL) };
    let name = library.file_name();
    // The driver and what comes with it belong to the system: no toolkit has one that works.
    let folders = if matches!(library, Library::Driver | Library::Nvml) { Vec::new() } else { folders() };
    let paths = folders.into_iter().map(|folder| folder.join(name)).filter(|path| path.exists());
    let mut refused = None;
    for path in std::iter::once(PathBuf::from(name)).chain(paths) {
        match load(path.as_os_str()) {
            Ok(loaded) => {
                let (path, loaded) = path_of(loaded);
                // It stays loaded while it is in use: for good.
                std::mem::forget(loaded);
                return Ok(path);
            }
            Err(error) => {
                let text = reason(&error);
                // So the loader says that there is no file of that name.
                if !text.starts_with(&format!("{name}: cannot open shared object file")) {
                    refused.get_or_insert(format!("{} cannot be loaded ({text})", path.display()));
                }
            }
        }
    }
    refused.map_or(Ok(None), Err)
}

/// Loads what the compiler at `path` loads when it compiles. It looks for that by name, and the system's loader does not
/// know the folder where the compiler itself was found by way of a toolkit's.
fn load_builtins(path: &Path, version: &Version) {
    let name = format!("libnvrtc-builtins.so.{}", version.text.trim_start_matches("CUDA "));
    let beside = path.canonicalize().ok().map(|path| path.with_file_name(name)).filter(|path| path.exists());
    // SAFETY: as in `preload`.
    let loaded = beside.map(|path| unsafe { Loaded::open(Some(path), RTLD_NOW | RTLD_GLOBAL) });
    // Where it cannot be loaded, the compiler says so.
    if let Some(Ok(loaded)) = loaded {
        std::mem::forget(loaded);
    }
}

/// The loader's own words.
fn reason(error: &libloading::Error) -> String {
    std::error::Error::source(error).map_or_else(|| error.to_string(), ToString::to_string)
}

/// The names that the bindings try, in their order.
fn candidates(library: Library) -> Vec<String> {
    let names: &[&str] = match library {
        Library::Driver => &["cuda", "nvcuda"],
        Library::Nvrtc => &["nvrtc"],
        Library::CublasLt => &["cublasLt"],
        Library::Cupti => &["cupti"],
        Library::Nvml => return vec![library.file_name().to_owned()],
    };
    names.iter().flat_map(|name| cudarc::get_lib_name_candidates(name)).collect()
}

/// Loads as the bindings do.
fn open(name: &str) -> Option<Loaded> {
    // SAFETY: as in `preload`.
    unsafe { Loaded::open(Some(name), RTLD_LAZY | RTLD_LOCAL) }.ok()
}

/// Where the bindings have a function. They have loaded their library from then on.
fn bound(library: Library, symbol: &str) -> Option<*mut c_void> {
    // SAFETY: the library is loaded already, so that this finds it, and no initialiser is run; nothing is called by the
    // address.
    unsafe {
        let bindings = match library {
            Library::Driver => cudarc::driver::sys::culib(),
            Library::Nvrtc => cudarc::nvrtc::sys::culib(),
            Library::CublasLt => cudarc::cublaslt::sys::culib(),
            Library::Cupti => cudarc::cupti::sys::culib(),
            Library::Nvml => return None,
        };
        bindings.get::<*mut c_void>(symbol.as_bytes()).ok().and_then(|symbol| symbol.try_as_raw_ptr())
    }
}

/// The file that a library was loaded from, as the system's loader knows it.
fn path_of(loaded: Loaded) -> (Option<PathBuf>, Loaded) {
    let handle = loaded.into_raw();
    // SAFETY: the handle is the one that was taken out.
    (path_of_handle(handle), unsafe { Loaded::from_raw(handle) })
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn path_of_handle(handle: *mut c_void) -> Option<PathBuf> {
    use std::os::unix::ffi::OsStrExt as _;
    /// The beginning of the loader's `struct link_map` (`<link.h>`), which is the same on every Linux.
    #[repr(C)]
    struct LinkMap {
        base: usize,
        name: *const c_char,
    }
    let mut map: *const LinkMap = std::ptr::null();
    // SAFETY: the handle is open, and a pointer is written to a place that holds one.
    let failed = unsafe { libc::dlinfo(handle, libc::RTLD_DI_LINKMAP, (&raw mut map).cast()) } != 0;
    if failed || map.is_null() {
        return None;
    }
    // SAFETY: the loader's own description of an open library, whose name is a C string.
    let name = unsafe { CStr::from_ptr((*map).name) };
    (!name.is_empty()).then(|| PathBuf::from(OsStr::from_bytes(name.to_bytes())))
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn path_of_handle(_: *mut c_void) -> Option<PathBuf> {
    None
}

/// What `library` says of its version; nothing where it has no function that says it, or that fails.
fn version(library: Library, address: &dyn Fn(&str) -> Option<*mut c_void>) -> Option<Version> {
    match library {
        Library::Driver => {
            // SAFETY: NVIDIA's function of that name has this type in every version; it writes one integer.
            let get: unsafe extern "C" fn(*mut c_int) -> c_int =
                unsafe { std::mem::transmute(address("cuDriverGetVersion")?) };
            let mut version = 0;
            // SAFETY: as above.
            (unsafe { get(&raw mut version) } == 0).then(|| Version { text: cuda(version), fits: version >= CUDA })
        }
        Library::Nvrtc => {
            // SAFETY: NVIDIA's function of that name has this type in every version; it writes two integers.
            let get: unsafe extern "C" fn(*mut c_int, *mut c_int) -> c_int =
                unsafe { std::mem::transmute(address("nvrtcVersion")?) };
            let (mut major, mut minor) = (0, 0);
            // SAFETY: as above.
            let said = unsafe { get(&raw mut major, &raw mut minor) } == 0;
            said.then(|| Version { text: format!("CUDA {major}.{minor}"), fits: major == CUDA / 1000 })
        }
        Library::CublasLt => {
            let call = |name: &str| {
                // SAFETY: NVIDIA's functions of these names have this type in every version, and take nothing.
                let get: unsafe extern "C" fn() -> usize = unsafe { std::mem::transmute(address(name)?) };
                // SAFETY: as above.
                i32::try_from(unsafe { get() }).ok()
            };
            let (runtime, own) = (call("cublasLtGetCudartVersion")?, call("cublasLtGetVersion")?);
            let own = format!("cuBLASLt {}.{}.{}", own / 10000, own / 100 % 100, own % 100);
            Some(Version { text: format!("{}, {own}", cuda(runtime)), fits: runtime / 1000 == CUDA / 1000 })
        }
        Library::Cupti => {
            // SAFETY: NVIDIA's function of that name has this type in every version; it writes one integer.
            let get: unsafe extern "C" fn(*mut u32) -> c_int =
                unsafe { std::mem::transmute(address("cuptiGetVersion")?) };
            let mut version = 0;
            // SAFETY: as above.
            let said = unsafe { get(&raw mut version) } == 0;
            said.then(|| {
                // From CUDA 13.0 on (130001), CUPTI's version begins with CUDA's; those before it counted to 28.
                let (major, minor) = (version / 10_000, version / 100 % 100);
                let text = if major >= 13 {
                    format!("CUDA {major}.{minor}, CUPTI's interface {version}")
                } else {
                    format!("CUDA 12 or older, CUPTI's interface {version}")
                };
                Version { text, fits: major == CUDA.unsigned_abs() / 1000 }
            })
        }
        Library::Nvml => None,
    }
}

/// A version as CUDA writes it: 13000 is 13.0.
fn cuda(version: i32) -> String {
    format!("CUDA {}.{}", version / 1000, version % 1000 / 10)
}

fn needed(library: Library) -> String {
    match library {
        Library::Driver => "a driver of CUDA 13.0 or later".to_owned(),
        _ => format!("`{}` of CUDA 13", library.file_name()),
    }
}

/// What to do about the file at `path`, which is loaded and is of no use; `elsewhere` is the one that was meant.
fn remedy(library: Library, path: Option<&Path>, elsewhere: Option<&Path>) -> String {
    let folder = path.and_then(Path::parent).filter(|folder| !folder.as_os_str().is_empty());
    if let Some(folder) = folder.filter(|folder| library == Library::Driver && folder.ends_with("stubs")) {
        return format!(
            "that is the toolkit's stub, which programs are linked against and none runs with: take {} out of \
             LD_LIBRARY_PATH",
            folder.display()
        );
    }
    let elsewhere = elsewhere.filter(|elsewhere| elsewhere.parent() != folder);
    let (Some(folder), Some(elsewhere)) = (folder, elsewhere) else { return library.remedy().to_owned() };
    let said = std::env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
    let hides = format!("it is loaded in the place of {}", elsewhere.display());
    if std::env::split_paths(&said).any(|said| said == folder) {
        return format!("{hides}: take {} out of LD_LIBRARY_PATH", folder.display());
    }
    let bare = library.file_name().trim_end_matches(|c: char| c.is_ascii_digit()).trim_end_matches('.');
    match elsewhere.parent().filter(|folder| folder.join(bare).exists()) {
        Some(folder) => format!("{hides}: put {} first in LD_LIBRARY_PATH", folder.display()),
        None => {
            format!("{hides}: make a link `{bare}` to that in a folder, and put the folder first in LD_LIBRARY_PATH")
        }
    }
}
