//! The record and its parts. The documentation of a field here is its documentation in `docs/records.md`.

use std::sync::Arc;
use std::time::SystemTime;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::extra::Extra;
use crate::stats;
use crate::text::Text;

/// The version of the schema that this crate reads and writes. A field that is added keeps it, a field that changes its
/// meaning does not.
pub const SCHEMA: &str = "tileops.record/1";

/// One row of one op, priced by the op itself and, where it ran, timed. Times are in nanoseconds, sizes in bytes.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "tileops.record/1")]
pub struct Record {
    /// The version of this schema: `tileops.record/1`.
    pub schema: Text,
    /// The op's class name: `RMSNormFwdOp`.
    pub op: Text,
    /// Names the case among the op's: the row's label, its dtypes, its dtype parameters. Records of one op and case are of
    /// one row.
    pub case: Text,
    /// The op's family: `norm`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub family: Option<Text>,
    /// The dtype by which the case is grouped: `bfloat16`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dtype: Option<Text>,
    /// What ran instead of the op on the same row, `torch-compile`. Absent for the op itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peer: Option<Text>,
    /// The case's parameters by name: construction parameters, indices and dtype indices, as the row states them.
    #[serde(default, skip_serializing_if = "Extra::is_empty")]
    pub params: Extra,
    /// The tensors that the call bound.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tensors: Vec<Tensor>,
    /// `total_flops` of the op's `eval_roofline()`, in FLOP.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flops: Option<u128>,
    /// `bytes_moved` of the op's `eval_roofline()`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u128>,
    /// The read half of `bytes`, of the op's `eval_roofline_read_bytes()`. Absent where the op declares none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_bytes: Option<u128>,
    /// `roof_key()`: the profile's key of the unit that prices the FLOPs, `tensor_core.bf16`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub roof_key: Option<Text>,
    /// Identifies the manifest entry's text when the op was priced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entry_hash: Option<Text>,
    /// `roofline_data_terms()`: what decided a number that the row's shapes do not.
    #[serde(default, skip_serializing_if = "Extra::is_empty")]
    pub data_terms: Extra,
    /// The seed of the row's own generator of inputs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// The values of metadata tensors, by name: what another program runs the row with. Of a price, where they were asked
    /// for.
    #[serde(default, skip_serializing_if = "Extra::is_empty")]
    pub values: Extra,
    /// What the elements of the other inputs are drawn from, by name: `{"uniform": {"low": -1.0, "high": 1.0}}`,
    /// `integers`, `one_in` or `constant`. Beside `values`.
    #[serde(default, skip_serializing_if = "Extra::is_empty")]
    pub distributions: Extra,
    /// How the output compared with the reference. Absent where nobody compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub correctness: Option<Box<Correctness>>,
    /// Why the row has no timing although it was meant to run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<Box<Failure>>,
    /// What the device measured. Absent for a row that was priced only, or failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timing: Option<Box<Timing>>,
    /// The device that ran it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<Arc<Device>>,
    /// The run that the record is of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<Arc<Run>>,
    /// Fields of a later version, or of another tool.
    #[serde(flatten)]
    pub extra: Extra,
}

/// One tensor of the call.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Tensor {
    /// Its name in the signature.
    pub name: Text,
    /// Its dtype.
    pub dtype: Text,
    /// Its extents.
    pub shape: Vec<u64>,
    /// Its strides in elements, where they are not those of a contiguous tensor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strides: Option<Vec<i64>>,
    /// What the op does with it: `read`, `write`, `mutate` or `alias`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effect: Option<Text>,
    /// Fields of a later version, or of another tool.
    #[serde(flatten)]
    pub extra: Extra,
}

/// How the output compared with the reference.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Correctness {
    /// Whether every element lay within the tolerance. A wrong kernel is not timed.
    pub passed: bool,
    /// What computed the reference: `cpu-f64`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<Text>,
    /// The largest error found, in units of the tolerance: at most 1 where it passed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worst: Option<f64>,
    /// The absolute tolerance.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub atol: Option<f64>,
    /// The relative tolerance.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rtol: Option<f64>,
    /// How many elements were compared: where computing all of them takes too long, a sample of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compared: Option<u64>,
    /// How many elements the call wrote.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub elements: Option<u64>,
    /// How many of those that were compared are wrong. Absent where none is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wrong: Option<u64>,
    /// Fields of a later version, or of another tool.
    #[serde(flatten)]
    pub extra: Extra,
}

/// Why a row has no timing.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Failure {
    /// What happened, by its name. The set is open; the programs here say one of those below.
    #[schemars(extend("examples" = names_of_failures()))]
    pub kind: Text,
    /// What was said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Fields of a later version, or of another tool.
    #[serde(flatten)]
    pub extra: Extra,
}

/// Declares the kinds of failure: of each its name in records, and what happened.
macro_rules! failure_kinds {
    ($($kind:ident $name:literal $says:literal,)+) => {
        /// What can happen to a row, as far as this project's programs say it.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum FailureKind {
            $(#[doc = $says] $kind,)+
        }

        impl FailureKind {
            /// All of them.
            pub const ALL: &[FailureKind] = &[$(FailureKind::$kind),+];

            /// Its name in records.
            pub fn as_str(self) -> &'static str {
                match self { $(FailureKind::$kind => $name,)+ }
            }

            /// What happened, in words.
            pub fn says(self) -> &'static str {
                match self { $(FailureKind::$kind => $says,)+ }
            }
        }
    };
}

failure_kinds! {
    Wrong "wrong" "Its output is not the reference's.",
    Crashed "crashed" "Its process ended, or the device's context was lost.",
    Hung "hung" "Nothing came of it in the time that a row may take.",
    OutOfMemory "out_of_memory" "There was not enough memory.",
    Failed "failed" "A call failed, and the process could go on.",
    Refused "refused" "The op refused its arguments.",
    Changed "changed" "The manifest's entry was changed during the run.",
    Unsupported "unsupported" "Nothing that could run it is known.",
    NotPriced "not_priced" "The op could not say what it costs.",
}

fn names_of_failures() -> Vec<&'static str> {
    FailureKind::ALL.iter().map(|kind| kind.as_str()).collect()
}

impl Failure {
    /// A failure of that kind, with what was said.
    pub fn new(kind: FailureKind, message: impl Into<String>) -> Failure {
        Failure { kind: kind.as_str().into(), message: Some(message.into()), ..Failure::default() }
    }
}

/// What the device measured.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Timing {
    /// What took the times: `cupti` for device activity records. Rows of any other source, `events` or `cpu`, have no
    /// speed-of-light reading.
    pub source: Text,
    /// Why the source is not CUPTI.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The median of the device-busy times of one call.
    pub device_busy_ns: f64,
    /// The tenth percentile of the device-busy times.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p10_ns: Option<f64>,
    /// The ninetieth percentile of the device-busy times.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p90_ns: Option<f64>,
    /// The lower end of the interval that holds the true median with 95 % confidence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub median_low_ns: Option<f64>,
    /// The upper end of the interval that holds the true median with 95 % confidence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub median_high_ns: Option<f64>,
    /// How many samples the median is of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub samples: Option<u64>,
    /// The time of the device copies that the device-busy time excludes, one call's.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub excluded_copies_ns: f64,
    /// How many kernels one call launches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernels: Option<u64>,
    /// How the samples were taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<Arc<Policy>>,
    /// The clocks while they were taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clocks: Option<Clocks>,
    /// The median of the times from the start of a call's first kernel to the end of its last one: gaps between kernels are
    /// in it. Absent where no call had one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub elapsed_ns: Option<f64>,
    /// Fields of a later version, or of another tool.
    #[serde(flatten)]
    pub extra: Extra,
}

/// How samples were taken. Times of two policies are not comparable.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Policy {
    /// What was done to the L2 cache before each sample, in words: `read 256 MiB`.
    pub l2: Text,
    /// How many sets of inputs took turns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inputs: Option<u64>,
    /// How many calls came before the first sample.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warmup: Option<u64>,
    /// Whether a CUDA graph launched the calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub graph: Option<bool>,
    /// Samples were taken until the ends of the median's interval lay within this share of the median.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within: Option<f64>,
    /// With which probability the interval holds the true median.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confidence: Option<f64>,
    /// For how long samples were taken, in seconds: at least, and at most.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub seconds: Vec<f64>,
    /// Fields of a later version, or of another tool.
    #[serde(flatten)]
    pub extra: Extra,
}

/// The clocks while samples were taken, as the driver reported them.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Clocks {
    /// The SM clock in MHz: the median of what was read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sm_mhz: Option<f64>,
    /// The lowest SM clock that was read, in MHz.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sm_min_mhz: Option<f64>,
    /// The highest SM clock that was read, in MHz.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sm_max_mhz: Option<f64>,
    /// The memory clock in MHz.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_mhz: Option<f64>,
    /// What held the clocks down: `sw_power_cap`, `hw_thermal_slowdown`, …
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub throttle: Vec<Text>,
    /// The highest power draw that was read, in watts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub power_w: Option<f64>,
    /// The highest temperature that was read, in degrees Celsius.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature_c: Option<f64>,
    /// Why there is none: what NVML said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Text>,
    /// Fields of a later version, or of another tool.
    #[serde(flatten)]
    pub extra: Extra,
}

/// The device that ran a row.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Device {
    /// The name that the driver gives: `NVIDIA H200`.
    pub name: Text,
    /// The driver's version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub driver: Option<Text>,
    /// The CUDA version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cuda: Option<Text>,
    /// The compute capability: `9.0`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compute_capability: Option<Text>,
    /// The size of the L2 cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub l2_bytes: Option<u64>,
    /// The identifier of this very device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uuid: Option<Text>,
    /// Fields of a later version, or of another tool.
    #[serde(flatten)]
    pub extra: Extra,
}

/// What made the record, and from what.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Run {
    /// The program: `tileops-bench`.
    pub tool: Text,
    /// Its version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<Text>,
    /// The revision that git names, of the sources that ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<Text>,
    /// Whether the sources had changes that no revision holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dirty: Option<bool>,
    /// When the run began, in UTC as RFC 3339: `2026-11-29T20:00:00Z`. Runs are ordered by it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started: Option<Text>,
    /// The command line.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub command: Vec<String>,
    /// Versions of what ran, by name: `torch`, `cublaslt`.
    #[serde(default, skip_serializing_if = "Extra::is_empty")]
    pub libraries: Extra,
    /// Fields of a later version, or of another tool.
    #[serde(flatten)]
    pub extra: Extra,
}

impl Run {
    /// This process, which begins now: a tool of that version, and what its build says of its sources (`TILEOPS_REVISION`,
    /// `TILEOPS_DIRTY`).
    pub fn begun(tool: &str, version: &str, revision: Option<&str>, dirty: Option<&str>) -> Run {
        Run {
            tool: tool.into(),
            version: Some(version.into()),
            revision: revision.map(Into::into),
            dirty: dirty.map(|dirty| dirty == "true"),
            started: Some(humantime::format_rfc3339_seconds(SystemTime::now()).to_string().into()),
            command: std::env::args().collect(),
            ..Run::default()
        }
    }
}

impl Record {
    /// A record of this version that says nothing yet of that case.
    pub fn new(op: impl Into<Text>, case: impl Into<Text>) -> Record {
        Record { schema: SCHEMA.into(), op: op.into(), case: case.into(), ..Record::default() }
    }
}

impl Timing {
    /// The timing of `samples`, device-busy times in nanoseconds: median, percentiles, and the median's confidence
    /// interval where there are samples enough. Nothing where there is none, or one that is no time.
    pub fn of_samples(source: impl Into<Text>, samples: &[f64]) -> Option<Timing> {
        let mut sorted = samples.to_vec();
        if sorted.iter().any(|ns| !ns.is_finite() || *ns < 0.0) {
            return None;
        }
        sorted.sort_by(f64::total_cmp);
        let interval = stats::median_interval(&sorted);
        Some(Timing {
            source: source.into(),
            device_busy_ns: stats::quantile(&sorted, 0.5)?,
            p10_ns: stats::quantile(&sorted, 0.1),
            p90_ns: stats::quantile(&sorted, 0.9),
            median_low_ns: interval.map(|(low, _)| low),
            median_high_ns: interval.map(|(_, high)| high),
            samples: Some(sorted.len() as u64),
            ..Timing::default()
        })
    }

    /// The actual time of the metric: device-busy time plus the device copies excluded from it, in nanoseconds.
    pub fn actual_ns(&self) -> f64 {
        self.device_busy_ns + self.excluded_copies_ns
    }
}

fn is_zero(value: &f64) -> bool {
    *value == 0.0
}
