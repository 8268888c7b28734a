//! What a profiler looks at.

use cudarc::driver::{profiler_start, profiler_stop};

use crate::error::Doing as _;
use crate::{Device, DeviceError};

impl Device {
    /// Does `work`, and all that it started on the device, in a range that profilers look at: Nsight Compute profiles the
    /// kernels of this range alone where it is started with `--profile-from-start off`. Without one, it is the work alone.
    pub fn in_profiler_range<T, E: From<DeviceError>>(&self, work: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
        self.synchronize()?;
        profiler_start().doing("starting the profiler's range").map_err(E::from)?;
        let done = work();
        let waited = self.synchronize();
        profiler_stop().doing("ending the profiler's range").map_err(E::from)?;
        let done = done?;
        waited?;
        Ok(done)
    }
}
