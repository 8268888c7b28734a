//! Graphs: work that is put on the stream once, and launched as a whole as often as it is needed.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use cudarc::driver::{CudaFunction, result, sys};

use crate::error::Doing as _;
use crate::{Device, DeviceError};

/// Launches, fills and products that were captured, and are launched together: the host pays for one launch.
///
/// A graph has the addresses of the buffers that it was captured with, not the buffers: keep them as long as it is
/// launched. The kernels' machine code it keeps itself. It is destroyed when it is dropped; what it has on the stream then is
/// still done.
pub struct Graph {
    device: Device,
    executable: sys::CUgraphExec,
    _kernels: Vec<CudaFunction>,
}

// SAFETY: the executable belongs to this value alone, and as this is not `Sync`, one thread at a time uses it.
unsafe impl Send for Graph {}

impl fmt::Debug for Graph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Graph").field("device", &self.device.facts().ordinal).finish_non_exhaustive()
    }
}

/// The kernels that were launched while the device's stream was captured: their code has to outlive the graph.
#[derive(Debug, Default)]
pub(crate) struct Captured {
    is_capturing: AtomicBool,
    kernels: Mutex<Vec<CudaFunction>>,
}

impl Captured {
    /// Keeps a kernel that was launched, where that is captured.
    pub(crate) fn launched(&self, kernel: &CudaFunction) {
        if self.is_capturing.load(Ordering::Relaxed) {
            self.kernels.lock().unwrap_or_else(PoisonError::into_inner).push(kernel.clone());
        }
    }

    fn take(&self) -> Vec<CudaFunction> {
        std::mem::take(&mut *self.kernels.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Device {
    /// Captures what `work` puts on the device's stream, launches, fills and products: none of it runs until the graph is
    /// launched. What waits for the device cannot be captured, such as reading and writing buffers, nor can allocating and
    /// dropping them, or choosing a product's fastest algorithm: do that before.
    ///
    /// ```no_run
    /// # fn demo(device: &tileops_device::Device, kernel: &tileops_device::Kernel) -> Result<(), tileops_device::DeviceError> {
    /// use tileops_device::{Argument, DeviceError, Grid};
    ///
    /// let buffer = device.allocate(4096)?;
    /// let graph = device.capture(|device| {
    ///     buffer.fill(0)?;
    ///     kernel.launch(Grid::row(4, 256), &[Argument::Buffer(&buffer)])
    /// })?;
    /// for _ in 0..100 {
    ///     graph.launch()?;
    /// }
    /// device.synchronize()
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// What `work` fails with; or where it did what cannot be captured, or the stream is captured already. The stream is as
    /// it was before, and can be used.
    pub fn capture<E: From<DeviceError>>(&self, work: impl FnOnce(&Device) -> Result<(), E>) -> Result<Graph, E> {
        let capture = Capture::begin(self)?;
        // Where the work fails or panics, the capture is ended as it is dropped.
        work(self)?;
        Ok(capture.end()?)
    }
}

impl Graph {
    /// Puts the whole on the stream.
    ///
    /// # Errors
    ///
    /// As the driver says. What goes wrong while it runs is said by [`Device::synchronize`].
    pub fn launch(&self) -> Result<(), DeviceError> {
        self.device.bind()?;
        // SAFETY: the executable is valid until this is dropped. What it does stays on the device.
        unsafe { result::graph::launch(self.executable, self.device.stream.cu_stream()) }.doing("launching a graph")
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        if self.device.bind().is_ok() {
            // SAFETY: the executable was made by `Capture::end`, and is destroyed here alone; the driver lets what is
            // running of it end.
            let _ = unsafe { result::graph::exec_destroy(self.executable) };
        }
    }
}

/// A stream that is being captured. However this goes out of scope, the stream is captured no more.
struct Capture<'a> {
    device: &'a Device,
}

impl<'a> Capture<'a> {
    fn begin(device: &'a Device) -> Result<Self, DeviceError> {
        device.bind()?;
        // Only what this thread does that cannot be captured is an error: others may go on.
        let mode = sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
        // SAFETY: the stream is the device's own, and is not the default one.
        unsafe { result::stream::begin_capture(device.stream.cu_stream(), mode) }.doing("beginning a capture")?;
        device.captured.is_capturing.store(true, Ordering::Relaxed);
        Ok(Capture { device })
    }

    fn end(self) -> Result<Graph, DeviceError> {
        let device = self.device;
        let ended = self.stop();
        let kernels = device.captured.take();
        std::mem::forget(self);
        let template = ended.doing("ending a capture")?;
        if template.is_null() {
            let what = "nothing can be launched of what was captured".to_owned();
            return Err(DeviceError::Library { doing: "ending a capture".to_owned(), what });
        }
        // SAFETY: the graph was made by the call above.
        let made = unsafe { result::graph::instantiate(template, sys::CUgraphInstantiate_flags(0)) };
        // SAFETY: as above; an executable does not need the graph that it was made of.
        let _ = unsafe { result::graph::destroy(template) };
        let executable = made.doing("making a captured graph executable")?;
        Ok(Graph { device: device.clone(), executable, _kernels: kernels })
    }

    /// Ends the capture, also one that the driver has given up already: until then the stream takes nothing.
    fn stop(&self) -> Result<sys::CUgraph, cudarc::driver::DriverError> {
        self.device.captured.is_capturing.store(false, Ordering::Relaxed);
        // What the work left behind for the next call that takes up the context is not this capture's end; the call is
        // made whatever it was.
        let _ = self.device.context.bind_to_thread();
        // SAFETY: the stream is the device's own, and this thread began its capture.
        unsafe { result::stream::end_capture(self.device.stream.cu_stream()) }
    }
}

impl Drop for Capture<'_> {
    fn drop(&mut self) {
        if let Ok(template) = self.stop()
            && !template.is_null()
        {
            // SAFETY: the graph was made by the call above, and nothing else has it.
            let _ = unsafe { result::graph::destroy(template) };
        }
        drop(self.device.captured.take());
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::print_stderr, reason = "a test that is skipped says so")]

    use super::*;
    use crate::{Argument, Compiler, Grid};

    const SOURCE: &str = "\
extern \"C\" __global__ void add(unsigned* words, int count, int value) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) words[i] += value;
}
";
    const WORDS: usize = 1000;

    /// On a GPU: what is captured runs when it is launched and not before, as often as it is, also when the kernel's own
    /// value is gone; and a stream whose capture failed is as good as before.
    #[test]
    fn what_is_captured_runs_when_it_is_launched() {
        if !Device::count().is_ok_and(|count| count > 0) {
            eprintln!("skipped: there is no GPU");
            return;
        }
        let device = Device::open(0).expect("a device");
        let compiled = Compiler::new(device.facts().architecture()).cache(None).compile("add.cu", SOURCE);
        let compiled = compiled.expect("it compiles");
        let buffer = device.upload(&[0; 4 * WORDS]).expect("memory");
        let words = |what: &str| -> Vec<u32> {
            let mut bytes = vec![0; 4 * WORDS];
            buffer.read(&mut bytes).expect(what);
            bytes.chunks_exact(4).map(|word| u32::from_ne_bytes([word[0], word[1], word[2], word[3]])).collect()
        };
        let graph = {
            let kernel = device.load(&compiled).and_then(|module| module.kernel("add")).expect("a kernel");
            let add = |value: i32| {
                let arguments = [Argument::Buffer(&buffer), Argument::I32(WORDS as i32), Argument::I32(value)];
                kernel.launch(Grid::row(4, 256), &arguments)
            };
            let graph = device
                .capture(|_| {
                    buffer.fill(1)?;
                    add(2)?;
                    add(3)
                })
                .expect("a graph");
            assert_eq!(words("nothing ran yet"), vec![0; WORDS]);

            let refused = device.capture(|_| {
                add(100)?;
                buffer.read(&mut [0; 4])
            });
            assert!(matches!(&refused, Err(DeviceError::Driver { is_fatal: false, .. })), "{refused:?}");
            let nested = device.capture(|device| device.capture(|_| add(100)).map(drop));
            assert!(nested.is_err(), "{nested:?}");
            let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                device.capture(|_| -> Result<(), DeviceError> { panic!("in the middle of a capture") })
            }));
            assert!(panicked.is_err());
            add(7).expect("the stream is as good as before");
            assert_eq!(words("what failed did nothing"), vec![7; WORDS]);
            graph
        };
        for _ in 0..3 {
            graph.launch().expect("launched");
            assert_eq!(words("all of it ran"), vec![0x0101_0101 + 5; WORDS]);
        }
        drop(graph);
        device.synchronize().expect("nothing went wrong");
    }
}
