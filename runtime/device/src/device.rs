//! One GPU: its facts, its memory, the stream that work is put on.

use std::sync::Arc;

use cudarc::driver::sys::CUdevice_attribute as Attribute;
use cudarc::driver::{CudaContext, CudaStream, DriverError, result, sys};

use crate::error::Doing;
use crate::graph::Captured;
use crate::{DeviceError, Library};

/// A GPU that work can be given to.
#[derive(Debug, Clone)]
pub struct Device {
    pub(crate) context: Arc<CudaContext>,
    pub(crate) stream: Arc<CudaStream>,
    pub(crate) captured: Arc<Captured>,
    facts: Arc<Facts>,
}

/// What a device is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Facts {
    /// Its number.
    pub ordinal: usize,
    /// Its name, which GPU profiles are matched by: `NVIDIA H200`.
    pub name: String,
    /// Its identity, in hexadecimal.
    pub uuid: String,
    /// The compute capability, as in (9, 0).
    pub capability: (i32, i32),
    /// The version of CUDA that the driver has: 13000 is 13.0.
    pub cuda: i32,
    /// How many multiprocessors it has.
    pub multiprocessors: u32,
    /// The size of its L2 cache, in bytes.
    pub l2_bytes: u64,
    /// The size of its memory, in bytes.
    pub memory_bytes: u64,
    /// The highest clock of the multiprocessors, in kHz.
    pub clock_khz: u32,
    /// The clock of the memory, in kHz.
    pub memory_clock_khz: u32,
    /// How many data lines the memory has.
    pub memory_bus_bits: u32,
    /// The most shared memory that a block may ask for, in bytes.
    pub shared_bytes_per_block: u32,
}

impl Facts {
    /// The bandwidth of the memory by its data sheet, in bytes a second: two transfers a clock on every line.
    pub fn memory_bandwidth(&self) -> f64 {
        2.0 * f64::from(self.memory_clock_khz) * 1e3 * f64::from(self.memory_bus_bits) / 8.0
    }

    /// The architecture that kernels are compiled for, with the features of that very device: `sm_90a`.
    pub fn architecture(&self) -> String {
        let (major, minor) = self.capability;
        // Only from 9.0 on are there features of one architecture alone.
        format!("sm_{major}{minor}{}", if major >= 9 { "a" } else { "" })
    }
}

impl Device {
    /// How many devices there are.
    ///
    /// # Errors
    ///
    /// Where there is no driver, or it is too old, or it does not start; [`DeviceError::is_absence`] tells the first from the
    /// others.
    pub fn count() -> Result<usize, DeviceError> {
        Library::Driver.require()?;
        match result::init() {
            Ok(()) => {}
            Err(DriverError(sys::CUresult::CUDA_ERROR_NO_DEVICE)) => return Ok(0),
            Err(error) => return Err(crate::error::start(error)),
        }
        Ok(usize::try_from(result::device::get_count().doing("counting the devices")?).unwrap_or(0))
    }

    /// The name of device number `ordinal`, which takes no context of it.
    pub fn name_of(ordinal: usize) -> Result<String, DeviceError> {
        let count = Device::count()?;
        let no_device = |_| DeviceError::NoDevice { ordinal, count };
        let number = i32::try_from(ordinal).map_err(no_device)?;
        if ordinal >= count {
            return Err(DeviceError::NoDevice { ordinal, count });
        }
        let device = result::device::get(number).doing("finding the device")?;
        result::device::get_name(device).doing("reading the device's name")
    }

    /// Device number `ordinal`, with a stream of its own.
    pub fn open(ordinal: usize) -> Result<Self, DeviceError> {
        let count = Device::count()?;
        if ordinal >= count {
            return Err(DeviceError::NoDevice { ordinal, count });
        }
        let context = CudaContext::new(ordinal).doing("making a context")?;
        // SAFETY: all work goes on one stream, in order, so buffers need no events to follow who uses them.
        unsafe { context.disable_event_tracking() };
        let stream = context.new_stream().doing("making a stream")?;
        let facts = Arc::new(facts(&context, ordinal)?);
        Ok(Device { context, stream, captured: Arc::default(), facts })
    }

    /// What it is.
    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    /// Memory of `bytes` bytes, with anything in it.
    pub fn allocate(&self, bytes: usize) -> Result<Buffer, DeviceError> {
        self.bind()?;
        // SAFETY: the pointer is kept in a buffer that frees it once, and is read by kernels and copies alone. An
        // allocation of nothing is one of a byte, so that every buffer has an address of its own.
        let pointer = unsafe { result::malloc_sync(bytes.max(1)) }.doing(format!("allocating {bytes} bytes"))?;
        Ok(Buffer { pointer, bytes, device: self.clone() })
    }

    /// Memory with `data` in it.
    pub fn upload(&self, data: &[u8]) -> Result<Buffer, DeviceError> {
        let buffer = self.allocate(data.len())?;
        buffer.write(data)?;
        Ok(buffer)
    }

    /// Waits until the stream's work is done; what went wrong in it is said here.
    pub fn synchronize(&self) -> Result<(), DeviceError> {
        self.stream.synchronize().doing("waiting for the device")
    }

    /// A mark on the stream that says when it was passed.
    pub fn event(&self) -> Result<Event, DeviceError> {
        let flags = Some(sys::CUevent_flags::CU_EVENT_DEFAULT);
        Ok(Event(self.context.new_event(flags).doing("making an event")?))
    }

    /// Marks the present end of the stream.
    pub fn record(&self, event: &Event) -> Result<(), DeviceError> {
        event.0.record(&self.stream).doing("recording an event")
    }

    /// Why `buffer` is of no use to this device; nothing where it is its own.
    pub(crate) fn refuses(&self, buffer: &Buffer) -> Option<String> {
        let (own, other) = (&self.context, &buffer.device.context);
        let is_own = Arc::ptr_eq(own, other) || own == other;
        let (here, there) = (self.facts.ordinal, buffer.device.facts.ordinal);
        (!is_own).then(|| format!("in the memory of CUDA device {there}, and this runs on device {here}"))
    }

    /// Makes the context the calling thread's own.
    pub(crate) fn bind(&self) -> Result<(), DeviceError> {
        self.context.bind_to_thread().doing("taking up the context")
    }
}

fn facts(context: &CudaContext, ordinal: usize) -> Result<Facts, DeviceError> {
    let attribute = |attribute: Attribute| -> Result<u32, DeviceError> {
        let value = context.attribute(attribute).doing("reading the device's attributes")?;
        Ok(u32::try_from(value).unwrap_or(0))
    };
    let mut cuda = 0;
    // SAFETY: the driver writes one integer to a place that holds one.
    unsafe { sys::cuDriverGetVersion(&raw mut cuda) }.result().doing("reading the driver's version")?;
    let uuid = context.uuid().doing("reading the device's identity")?;
    // The bytes are C characters, signed or not by the platform.
    let uuid = uuid.bytes.iter().map(|byte| format!("{:02x}", *byte as u8)).collect();
    Ok(Facts {
        ordinal,
        name: context.name().doing("reading the device's name")?,
        uuid,
        capability: context.compute_capability().doing("reading the compute capability")?,
        cuda,
        multiprocessors: attribute(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?,
        l2_bytes: attribute(Attribute::CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE)?.into(),
        memory_bytes: context.total_mem().doing("reading the memory's size")? as u64,
        clock_khz: attribute(Attribute::CU_DEVICE_ATTRIBUTE_CLOCK_RATE)?,
        memory_clock_khz: attribute(Attribute::CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE)?,
        memory_bus_bits: attribute(Attribute::CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH)?,
        shared_bytes_per_block: attribute(Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)?,
    })
}

/// Memory on a device.
#[derive(Debug)]
pub struct Buffer {
    pointer: sys::CUdeviceptr,
    bytes: usize,
    device: Device,
}

impl Buffer {
    /// Its size, in bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Its address on the device.
    pub fn address(&self) -> u64 {
        self.pointer
    }

    /// Copies `data` to the buffer's start, once the work before it is done.
    pub fn write(&self, data: &[u8]) -> Result<(), DeviceError> {
        self.fits(data.len())?;
        self.device.synchronize()?;
        // SAFETY: the buffer has at least as many bytes, and nothing else runs on the device.
        unsafe { result::memcpy_htod_sync(self.pointer, data) }.doing("copying to the device")
    }

    /// Copies the buffer's start to `data`, once the work before it is done.
    pub fn read(&self, data: &mut [u8]) -> Result<(), DeviceError> {
        self.fits(data.len())?;
        self.device.synchronize()?;
        // SAFETY: as above.
        unsafe { result::memcpy_dtoh_sync(data, self.pointer) }.doing("copying from the device")
    }

    /// The bytes from `start` on, once the work before it is done; none where the buffer has no more than `start`.
    pub fn read_from(&self, start: usize) -> Result<Vec<u8>, DeviceError> {
        let mut data = vec![0; self.bytes.saturating_sub(start)];
        self.device.bind()?;
        self.device.synchronize()?;
        if !data.is_empty() {
            // SAFETY: `data` ends where the buffer does, and nothing else runs on the device.
            unsafe { result::memcpy_dtoh_sync(&mut data, self.pointer + start as u64) }
                .doing("copying from the device")?;
        }
        Ok(data)
    }

    /// Fills the buffer with `byte`, on the stream.
    pub fn fill(&self, byte: u8) -> Result<(), DeviceError> {
        self.fill_from(0, byte)
    }

    /// Fills the bytes from `start` on with `byte`, on the stream.
    pub fn fill_from(&self, start: usize, byte: u8) -> Result<(), DeviceError> {
        self.device.bind()?;
        let count = self.bytes.saturating_sub(start);
        if count == 0 {
            return Ok(());
        }
        // SAFETY: no bytes but the buffer's own are written, after the stream's work before it.
        unsafe { result::memset_d8_async(self.pointer + start as u64, byte, count, self.device.stream.cu_stream()) }
            .doing("filling a buffer")
    }

    fn fits(&self, bytes: usize) -> Result<(), DeviceError> {
        self.device.bind()?;
        if bytes <= self.bytes { Ok(()) } else { Err(DeviceError::Copy { bytes, capacity: self.bytes }) }
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        // What still uses the memory is waited for by the call itself; where the context is lost, so is the memory, and
        // there is nobody to tell.
        if self.device.bind().is_ok() {
            // SAFETY: the pointer is from `malloc_sync` and is freed here alone.
            let _ = unsafe { result::free_sync(self.pointer) };
        }
    }
}

/// A mark on a stream.
#[derive(Debug)]
pub struct Event(cudarc::driver::CudaEvent);

impl Event {
    /// The time from this mark to `end`, in nanoseconds, once both are passed.
    pub fn nanoseconds_to(&self, end: &Event) -> Result<f64, DeviceError> {
        Ok(f64::from(self.0.elapsed_ms(&end.0).doing("reading two events")?) * 1e6)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_gpu_opening_a_device_is_an_error() {
        if Device::count().is_ok_and(|count| count > 0) {
            let count = Device::count().expect("counted just now");
            assert!(matches!(Device::open(count), Err(DeviceError::NoDevice { .. })));
        } else {
            assert!(Device::open(0).is_err());
        }
    }

    #[test]
    fn a_data_sheet_is_arithmetic() {
        let h200 = Facts {
            ordinal: 0,
            name: "NVIDIA H200".into(),
            uuid: String::new(),
            capability: (9, 0),
            cuda: 13000,
            multiprocessors: 132,
            l2_bytes: 62_914_560,
            memory_bytes: 150_109_880_320,
            clock_khz: 1_980_000,
            memory_clock_khz: 3_201_000,
            memory_bus_bits: 6016,
            shared_bytes_per_block: 232_448,
        };
        // 2 x 3201 MHz x 6016 / 8.
        assert!((h200.memory_bandwidth() - 4.814_304e12).abs() < 1.0);
        assert_eq!(h200.architecture(), "sm_90a");
    }
}
