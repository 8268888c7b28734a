//! Whether the counters can be trusted here: a copy whose traffic is known, before any formula is judged by them.

use crate::ncu::{CsvError, Profile, READ};

/// How far a copy's measured reads may lie from its size: some lines are read twice, none is left out.
const TOLERANCE: f64 = 0.02;

/// Why no formula can be judged on this machine.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Unusable {
    /// The driver lets only administrators read counters.
    #[error(
        "the driver lets only administrators read the GPU's counters: run as root, or set the module option \
         `NVreg_RestrictProfilingToAdminUsers=0` and load the driver again"
    )]
    Permission,
    /// Nsight Compute did not print what was asked for.
    #[error(transparent)]
    Csv(#[from] CsvError),
    /// The copy was not profiled.
    #[error("no kernel was profiled")]
    NoKernel,
    /// The metric has no value.
    #[error("`{READ}` has no value: this device or this version of Nsight Compute does not count it")]
    NoMetric,
    /// The value is not what the copy reads.
    #[error(
        "a copy of {expected} bytes read {read:.0}, by the counters: other work on the device, or caches that were not cold"
    )]
    Implausible {
        /// How many bytes the copy reads.
        expected: u128,
        /// What was measured.
        read: f64,
    },
}

/// Holds what Nsight Compute printed of one copy of `expected` bytes against that number; gives the share that was read.
pub fn check(text: &str, expected: u128) -> Result<f64, Unusable> {
    if text.contains("ERR_NVGPUCTRPERM") {
        return Err(Unusable::Permission);
    }
    let profile = Profile::parse(text)?;
    if profile.kernels.is_empty() {
        return Err(Unusable::NoKernel);
    }
    let read = profile.sum(READ).ok_or(Unusable::NoMetric)?;
    let share = read / expected as f64;
    if (share - 1.0).abs() <= TOLERANCE { Ok(share) } else { Err(Unusable::Implausible { expected, read }) }
}
