//! Benchmark records and a GPU profile to speed-of-light efficiency.
//!
//! The crate knows records and profiles alone: no op, no manifest, no device. A record carries the FLOPs, the bytes and
//! the roof key that the op stated when it was timed, so that a new profile re-prices an old run.

#[cfg(feature = "tool")]
pub mod compare;
#[cfg(feature = "tool")]
pub mod history;
#[cfg(feature = "tool")]
pub mod import;
pub mod price;
pub mod profile;
#[cfg(feature = "tool")]
pub mod report;
