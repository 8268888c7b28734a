//! The record: what one timed (or priced) row of an op says. One JSON object a line.
//!
//! The schema is versioned by its `schema` field; fields that this version does not know are kept as they are.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The version that this crate writes.
pub const SCHEMA: &str = "tileops.record/1";

/// One row of one op, priced by the op itself and, where it ran, timed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// [`SCHEMA`].
    pub schema: String,
    /// The op's class name.
    pub op: String,
    /// The case id: label, dtypes, dtype parameters.
    pub case: String,
    /// The op's family.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub family: Option<String>,
    /// The dtypes of the case, for grouping.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dtype: Option<String>,
    /// What ran: absent for the op itself, a tag such as `torch-compile` for a peer on the same row.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peer: Option<String>,
    /// `total_flops` of the op's `eval_roofline()`, in FLOP.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flops: Option<u128>,
    /// `bytes_moved` of the op's `eval_roofline()`, in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u128>,
    /// `roof_key()`: the profile's key of the unit that prices the FLOPs, `tensor_core.bf16`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub roof_key: Option<String>,
    /// Identifies the entry's text when the op was priced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entry_hash: Option<String>,
    /// What the device measured; absent for a row that was priced only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timing: Option<Timing>,
    /// The device that ran it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<Device>,
    /// What decided a number that the row's shapes do not.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub data_terms: Map<String, Value>,
    /// Fields of a later version, or of another tool.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// What the device measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Timing {
    /// What took the times: `cupti`, or another source, whose rows have no speed-of-light reading.
    pub source: String,
    /// The median device-busy time, in nanoseconds.
    pub device_busy_ns: f64,
    /// The tenth percentile of the device-busy time, in nanoseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p10_ns: Option<f64>,
    /// The ninetieth percentile of the device-busy time, in nanoseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p90_ns: Option<f64>,
    /// The time of device copies that the device-busy time excludes, in nanoseconds.
    #[serde(default)]
    pub excluded_copies_ns: f64,
    /// How many samples the median is of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub samples: Option<u64>,
    /// Why the source is not CUPTI.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The SM clock over the samples, in MHz.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sm_clock_mhz: Option<f64>,
    /// Fields of a later version, or of another tool.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// The device that ran a row.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Device {
    /// The name that the driver gives: `NVIDIA H200`.
    pub name: String,
    /// The driver's version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub driver: Option<String>,
    /// The CUDA version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cuda: Option<String>,
    /// Fields of a later version, or of another tool.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

impl Timing {
    /// The actual time of the metric: device-busy time plus the device copies excluded from it, in nanoseconds.
    pub fn actual_ns(&self) -> f64 {
        self.device_busy_ns + self.excluded_copies_ns
    }
}
