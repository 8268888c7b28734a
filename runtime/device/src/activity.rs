//! How long the device was busy, by CUPTI's activity records.

use std::alloc::Layout;
use std::ffi::CStr;
use std::sync::{Mutex, PoisonError};

use cudarc::cupti::result::{CuptiError, activity};
use cudarc::cupti::sys;
use cudarc::driver::sys::CUcontext;

use crate::{Device, DeviceError, Library};

/// What the device did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SpanKind {
    /// It ran a kernel.
    Kernel,
    /// It copied memory.
    Copy,
    /// It filled memory.
    Fill,
}

/// Some time in which the device was busy with one thing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Span {
    /// With what.
    pub kind: SpanKind,
    /// The kernel's name; empty for what is none.
    pub name: String,
    /// When it began, in nanoseconds on the device's clock. The clock ticks every 32 of them.
    pub start: u64,
    /// When it ended.
    pub end: u64,
}

impl Span {
    /// How long it took, in nanoseconds.
    pub fn nanoseconds(&self) -> u64 {
        self.end.saturating_sub(self.start)
    }
}

/// The recording of what the device does. It lasts as long as the process: CUPTI has one subscriber a process.
#[derive(Debug)]
pub struct Activity {
    device: Device,
}

const BUFFER_BYTES: usize = 4 << 20;
/// What CUPTI asks of a buffer.
const BUFFER_LAYOUT: Layout = match Layout::from_size_align(BUFFER_BYTES, 8) {
    Ok(layout) => layout,
    Err(_) => panic!("4 MiB, aligned to 8 bytes"),
};

/// What CUPTI's threads have handed over.
static SPANS: Mutex<Vec<Span>> = Mutex::new(Vec::new());

impl Activity {
    /// Begins recording.
    ///
    /// # Errors
    ///
    /// Where CUPTI is missing, or another profiler holds it, as under Nsight Compute.
    pub fn start(device: &Device) -> Result<Self, DeviceError> {
        Library::Cupti.require()?;
        let fail = |e: CuptiError| match e.0 {
            sys::CUptiResult::CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED => DeviceError::Library {
                doing: "starting CUPTI".to_owned(),
                what: "another profiler holds it, as under Nsight Compute or compute-sanitizer".to_owned(),
            },
            _ => refused("starting CUPTI", e),
        };
        activity::register_callbacks(Some(buffer_requested), Some(buffer_completed)).map_err(fail)?;
        for kind in [
            sys::CUpti_ActivityKind::CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
            sys::CUpti_ActivityKind::CUPTI_ACTIVITY_KIND_MEMCPY,
            sys::CUpti_ActivityKind::CUPTI_ACTIVITY_KIND_MEMSET,
        ] {
            activity::enable(kind).map_err(fail)?;
        }
        Ok(Activity { device: device.clone() })
    }

    /// Everything since the last call, in the order in which it began; the device has finished it.
    ///
    /// # Errors
    ///
    /// Where the device's work failed, or CUPTI dropped records: what is left would not be the whole.
    pub fn take(&self) -> Result<Vec<Span>, DeviceError> {
        self.device.synchronize()?;
        activity::flush_all(1).map_err(|e| refused("reading CUPTI's records", e))?;
        let mut dropped = 0;
        // SAFETY: a number is written to a place that holds one; a null context stands for all of them.
        unsafe { activity::get_num_dropped_records(std::ptr::null_mut(), 0, &raw mut dropped) }
            .map_err(|e| refused("counting dropped records", e))?;
        let mut spans = std::mem::take(&mut *SPANS.lock().unwrap_or_else(PoisonError::into_inner));
        if dropped > 0 {
            return Err(DeviceError::library("reading CUPTI's records", format!("{dropped} were dropped")));
        }
        spans.sort_by_key(|span| (span.start, span.end));
        Ok(spans)
    }
}

/// By the error's name: the bindings ask CUPTI for its words, and panic where it has none.
fn refused(doing: &str, error: CuptiError) -> DeviceError {
    DeviceError::library(doing, error.0)
}

extern "C" fn buffer_requested(buffer: *mut *mut u8, size: *mut usize, most_records: *mut usize) {
    // SAFETY: CUPTI passes three places to write to. Where there is no memory the buffer is null, which CUPTI takes for
    // a refusal, and counts what it drops.
    unsafe {
        *buffer = std::alloc::alloc(BUFFER_LAYOUT);
        *size = if (*buffer).is_null() { 0 } else { BUFFER_BYTES };
        *most_records = 0;
    }
}

extern "C" fn buffer_completed(_: CUcontext, _: u32, buffer: *mut u8, _: usize, valid: usize) {
    if buffer.is_null() {
        return;
    }
    let mut record: *mut sys::CUpti_Activity = std::ptr::null_mut();
    let mut spans = SPANS.lock().unwrap_or_else(PoisonError::into_inner);
    // SAFETY: the buffer is one that was given out above, with `valid` bytes of records in it; CUPTI walks them.
    while valid > 0 && unsafe { activity::get_next_record(buffer, valid, &mut record) }.is_ok() {
        // SAFETY: CUPTI points at a record whose first field is its kind.
        spans.extend(unsafe { span(record) });
    }
    // SAFETY: the buffer is one that was given out above, and comes back once.
    unsafe { std::alloc::dealloc(buffer, BUFFER_LAYOUT) };
}

/// What a record says.
///
/// # Safety
///
/// `record` points at a record of CUPTI's, of the layout that its kind has in the bindings' version.
unsafe fn span(record: *const sys::CUpti_Activity) -> Option<Span> {
    use sys::CUpti_ActivityKind as Kind;
    // Records are packed, so that each field is read where it stands, aligned or not.
    macro_rules! read {
        ($record:expr, $field:ident) => {
            // SAFETY: by the function's contract the record has the field.
            unsafe { (&raw const (*$record).$field).read_unaligned() }
        };
    }
    // SAFETY: every record begins with its kind, an unsigned integer.
    let kind = unsafe { record.cast::<u32>().read_unaligned() };
    if kind == Kind::CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL as u32 || kind == Kind::CUPTI_ACTIVITY_KIND_KERNEL as u32 {
        let kernel = record.cast::<sys::CUpti_ActivityKernel10>();
        let name = read!(kernel, name);
        let name = if name.is_null() {
            String::new()
        } else {
            // SAFETY: CUPTI keeps kernels' names as C strings while their module is loaded.
            unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned()
        };
        Some(Span { kind: SpanKind::Kernel, name, start: read!(kernel, start), end: read!(kernel, end) })
    } else if kind == Kind::CUPTI_ACTIVITY_KIND_MEMCPY as u32 {
        let copy = record.cast::<sys::CUpti_ActivityMemcpy6>();
        Some(Span { kind: SpanKind::Copy, name: String::new(), start: read!(copy, start), end: read!(copy, end) })
    } else if kind == Kind::CUPTI_ACTIVITY_KIND_MEMSET as u32 {
        let fill = record.cast::<sys::CUpti_ActivityMemset4>();
        Some(Span { kind: SpanKind::Fill, name: String::new(), start: read!(fill, start), end: read!(fill, end) })
    } else {
        None
    }
}
