//! Pricing: one record against one profile.
//!
//! ```text
//! memory_time  = bytes_moved / hbm_bandwidth        (effective)
//! compute_time = total_flops / peak_flops           (effective, of the record's roof key)
//! sol_time     = max(memory_time, compute_time)
//! efficiency   = sol_time / actual_time
//! ```
//!
//! Times are in nanoseconds, rates per second.

use tileops_record::{Record, Text};

use crate::profile::Profile;

/// From this efficiency on, a row is at its ceiling.
pub const AT_CEILING: f64 = 0.80;
/// Above this efficiency, the formula or the calibration is wrong.
pub const ANOMALY: f64 = 1.05;

/// What a record is worth under a profile.
#[derive(Debug, Clone, PartialEq)]
pub struct Priced {
    /// The speed-of-light reading, or why there is none.
    pub reading: Result<Reading, Blank>,
    /// The rates that no device of the profile's kind can have.
    pub breaches: Vec<Breach>,
}

impl Priced {
    /// What a record is worth where no profile is known: blank.
    pub fn without_profile() -> Priced {
        Priced { reading: Err(Blank::WithoutProfile), breaches: Vec::new() }
    }
}

/// A speed-of-light reading.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Reading {
    /// The time of the row's bytes at the effective bandwidth, in nanoseconds.
    pub memory_ns: f64,
    /// The time of the row's FLOPs at the effective peak, in nanoseconds.
    pub compute_ns: f64,
    /// The greater of the two, in nanoseconds.
    pub sol_ns: f64,
    /// The time measured, excluded copies included, in nanoseconds.
    pub actual_ns: f64,
    /// `sol_ns / actual_ns`.
    pub efficiency: f64,
    /// Which term is the greater.
    pub bound: Bound,
    /// Both times lie below the latency floor: launching dominates, and the efficiency says nothing.
    pub latency_bound: bool,
    /// The row's bytes fit the L2 cache, which may have served some of them.
    pub fits_l2: bool,
    /// What the efficiency means.
    pub verdict: Verdict,
}

/// What limits a row at the speed of light.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Bound {
    /// Its bytes; a tie too.
    Memory,
    /// Its FLOPs.
    Compute,
}

/// What an efficiency means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// At least [`AT_CEILING`]: done.
    AtCeiling,
    /// Above [`ANOMALY`]: the formula or the calibration is wrong.
    Anomaly,
    /// Neither, or latency-bound.
    None,
}

/// Why a row has no reading. A blank is never guessed at and enters no average.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum Blank {
    /// It was priced only.
    #[error("not timed")]
    NotTimed,
    /// Something other than CUPTI took the time.
    #[error("timed by {source_name}, not by CUPTI")]
    NotCupti {
        /// What took it.
        source_name: Text,
    },
    /// The measured time is none that a clock can give.
    #[error("its time is {0} ns")]
    NoTime(f64),
    /// The record has no FLOPs or no bytes.
    #[error("it states no {0}")]
    NotPriced(&'static str),
    /// The bytes formula gives zero.
    #[error("its bytes formula gives 0")]
    ZeroBytes,
    /// The record does not say which device ran it.
    #[error("it names no device")]
    NoDevice,
    /// There is nothing to hold it against.
    #[error("no profile")]
    WithoutProfile,
    /// The profile is another device's.
    #[error("the profile is of {profile}, and it ran on {device}")]
    NoProfile {
        /// The device that ran it.
        device: Text,
        /// The profile's.
        profile: Text,
    },
    /// The record does not name the unit that prices its FLOPs.
    #[error("it states no roof key")]
    NoRoofKey,
    /// The profile lacks the unit.
    #[error("the profile has no `{0}`")]
    UnknownRoofKey(Text),
}

/// A rate above a theoretical ceiling: physically impossible, so that the formula is wrong.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{rate:.4e} {unit} is above the theoretical {ceiling:.4e} of `{roof}`")]
pub struct Breach {
    /// Which ceiling: `hbm`, or the roof key.
    pub roof: Text,
    /// The rate that the record implies, per second.
    pub rate: f64,
    /// The theoretical ceiling, per second.
    pub ceiling: f64,
    /// `bytes/s` or `FLOP/s`.
    pub unit: &'static str,
}

/// Prices `record` against `profile`.
pub fn price(record: &Record, profile: &Profile) -> Priced {
    let breaches = breaches(record, profile);
    let mut reading = reading(record, profile);
    // A formula error is never a fast kernel: between the theoretical ceiling and the anomaly line there is no verdict.
    if let (Ok(reading), false) = (&mut reading, breaches.is_empty())
        && reading.verdict == Verdict::AtCeiling
    {
        reading.verdict = Verdict::None;
    }
    Priced { reading, breaches }
}

/// What limits a record's row at the speed of light, whether it was timed or not.
pub fn bound(record: &Record, profile: &Profile) -> Result<Bound, Blank> {
    limits(record, profile).map(|(memory_ns, compute_ns)| Bound::of(memory_ns, compute_ns))
}

impl Bound {
    /// A tie is memory-bound.
    fn of(memory_ns: f64, compute_ns: f64) -> Self {
        if compute_ns > memory_ns { Bound::Compute } else { Bound::Memory }
    }
}

/// Whether the profile is of the device that ran a record.
fn device_of(record: &Record, profile: &Profile) -> Result<(), Blank> {
    let device = record.device.as_ref().ok_or(Blank::NoDevice)?;
    match profile.matches(&device.name) {
        true => Ok(()),
        false => Err(Blank::NoProfile { device: device.name.clone(), profile: profile.gpu.as_str().into() }),
    }
}

/// The times of a record's bytes and of its FLOPs at the effective rates, in nanoseconds.
fn limits(record: &Record, profile: &Profile) -> Result<(f64, f64), Blank> {
    let flops = record.flops.ok_or(Blank::NotPriced("FLOPs"))?;
    let bytes = record.bytes.ok_or(Blank::NotPriced("bytes"))?;
    if bytes == 0 {
        return Err(Blank::ZeroBytes);
    }
    let roof_key = record.roof_key.as_ref().ok_or(Blank::NoRoofKey)?;
    let peak = profile.peak(roof_key).ok_or_else(|| Blank::UnknownRoofKey(roof_key.clone()))?;
    Ok((bytes as f64 / profile.bandwidth().effective * 1e9, flops as f64 / peak.effective * 1e9))
}

fn reading(record: &Record, profile: &Profile) -> Result<Reading, Blank> {
    let timing = record.timing.as_ref().ok_or(Blank::NotTimed)?;
    if timing.source != *"cupti" {
        return Err(Blank::NotCupti { source_name: timing.source.clone() });
    }
    let actual_ns = timing.actual_ns();
    if !is_time(actual_ns) {
        return Err(Blank::NoTime(actual_ns));
    }
    device_of(record, profile)?;
    let (memory_ns, compute_ns) = limits(record, profile)?;
    let sol_ns = memory_ns.max(compute_ns);
    let efficiency = sol_ns / actual_ns;
    // A time so short that the quotient overflows was not measured by any clock.
    if !efficiency.is_finite() {
        return Err(Blank::NoTime(actual_ns));
    }
    let latency_bound = sol_ns < profile.latency_floor_ns && actual_ns < profile.latency_floor_ns;
    Ok(Reading {
        memory_ns,
        compute_ns,
        sol_ns,
        actual_ns,
        efficiency,
        bound: Bound::of(memory_ns, compute_ns),
        latency_bound,
        fits_l2: profile.l2_bytes.zip(record.bytes).is_some_and(|(l2, bytes)| bytes <= u128::from(l2)),
        verdict: if efficiency > ANOMALY {
            Verdict::Anomaly
        } else if efficiency >= AT_CEILING && !latency_bound {
            Verdict::AtCeiling
        } else {
            Verdict::None
        },
    })
}

/// The physics check: every rate that the record implies, against the theoretical ceilings. It needs a time and a
/// matching profile, and nothing else that a reading needs: a blank row can still breach.
fn breaches(record: &Record, profile: &Profile) -> Vec<Breach> {
    let Some(actual_ns) = record.timing.as_ref().map(|t| t.actual_ns()).filter(|&ns| is_time(ns)) else {
        return Vec::new();
    };
    if !record.device.as_ref().is_some_and(|d| profile.matches(&d.name)) {
        return Vec::new();
    }
    let above = |work: u128, ceiling: f64| Some(work as f64 / actual_ns * 1e9).filter(|rate| *rate > ceiling);
    let memory = record.bytes.and_then(|bytes| {
        let ceiling = profile.bandwidth().theoretical;
        Some(Breach { roof: "hbm".into(), rate: above(bytes, ceiling)?, ceiling, unit: "bytes/s" })
    });
    let compute = record.flops.zip(record.roof_key.as_ref()).and_then(|(flops, key)| {
        let ceiling = profile.peak(key)?.theoretical;
        Some(Breach { roof: key.clone(), rate: above(flops, ceiling)?, ceiling, unit: "FLOP/s" })
    });
    memory.into_iter().chain(compute).collect()
}

fn is_time(ns: f64) -> bool {
    ns.is_finite() && ns > 0.0
}

impl Bound {
    /// `memory` or `compute`.
    pub fn as_str(self) -> &'static str {
        match self {
            Bound::Memory => "memory",
            Bound::Compute => "compute",
        }
    }
}

impl Verdict {
    /// `at_ceiling`, `anomaly`, or nothing.
    pub fn as_str(self) -> Option<&'static str> {
        match self {
            Verdict::AtCeiling => Some("at_ceiling"),
            Verdict::Anomaly => Some("anomaly"),
            Verdict::None => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tileops_record::{Device, Timing};

    use super::*;

    /// 1 TB/s and 100 TFLOP/s effective, of 2 TB/s and 200 TFLOP/s theoretical.
    const PROFILE: &str = "
gpu: Test GPU
hbm: {bandwidth: 2.0e+12, calibration: 0.5}
cuda_core: {fp32: {flops: 2.0e+14, calibration: 0.5}}
tensor_core: {bf16: {flops: 1.0e+15}}
latency_floor_ns: 1000
l2_bytes: 1000
";

    fn profile() -> Profile {
        Profile::from_yaml(PROFILE).unwrap()
    }

    fn record(flops: u128, bytes: u128, busy_ns: f64) -> Record {
        let timing = Timing { source: "cupti".into(), device_busy_ns: busy_ns, ..Timing::default() };
        Record {
            flops: Some(flops),
            bytes: Some(bytes),
            roof_key: Some("cuda_core.fp32".into()),
            timing: Some(timing.into()),
            device: Some(Device { name: "Test GPU".into(), ..Device::default() }.into()),
            ..Record::new("AddFwdOp", "a")
        }
    }

    fn read(record: &Record) -> Reading {
        price(record, &profile()).reading.unwrap()
    }

    fn blank(change: impl FnOnce(&mut Record)) -> String {
        let mut record = record(1, 1_000_000, 1e6);
        change(&mut record);
        price(&record, &profile()).reading.unwrap_err().to_string()
    }

    #[test]
    fn section_1_2_a_formula_error_is_never_at_its_ceiling() {
        // 1.02e15 FLOP/s on a unit of 1e15 that nothing calibrated: 102 %, which no anomaly is.
        let mut record = record(1_020_000_000_000, 1, 1e6);
        record.roof_key = Some("tensor_core.bf16".into());
        let priced = price(&record, &profile());
        assert_eq!(priced.breaches.len(), 1);
        assert_eq!(priced.reading.unwrap().verdict, Verdict::None);
    }

    #[test]
    fn section_1_2_times_use_effective_values_and_the_greater_is_the_speed_of_light() {
        // 1e6 B at 1e12 B/s = 1 us; 3e8 FLOP at 1e14 FLOP/s = 3 us.
        let reading = read(&record(300_000_000, 1_000_000, 6_000.0));
        assert_eq!((reading.memory_ns, reading.compute_ns, reading.sol_ns), (1_000.0, 3_000.0, 3_000.0));
        assert_eq!((reading.efficiency, reading.bound), (0.5, Bound::Compute));
    }

    #[test]
    fn section_1_2_a_tie_is_memory_bound() {
        assert_eq!(read(&record(100_000_000, 1_000_000, 6_000.0)).bound, Bound::Memory);
    }

    #[test]
    fn section_1_2_what_was_not_timed_has_a_bound_too() {
        let mut priced = record(300_000_000, 1_000_000, 1.0);
        (priced.timing, priced.device) = (None, None);
        assert_eq!(bound(&priced, &profile()), Ok(Bound::Compute));
        priced.bytes = Some(0);
        assert_eq!(bound(&priced, &profile()), Err(Blank::ZeroBytes));
    }

    #[test]
    fn section_1_2_actual_time_counts_the_excluded_copies() {
        let mut copied = record(0, 1_000_000, 1_000.0);
        copied.timing.as_mut().unwrap().excluded_copies_ns = 1_000.0;
        assert_eq!(read(&copied).efficiency, 0.5);
    }

    #[test]
    fn section_1_2_blank_never_guessed() {
        assert_eq!(blank(|r| r.timing.as_mut().unwrap().source = "events".into()), "timed by events, not by CUPTI");
        assert_eq!(blank(|r| r.bytes = Some(0)), "its bytes formula gives 0");
        assert_eq!(
            blank(|r| r.device = Some(Device { name: "Other".into(), ..Device::default() }.into())),
            "the profile is of Test GPU, and it ran on Other"
        );
        assert_eq!(blank(|r| r.timing = None), "not timed");
        assert_eq!(blank(|r| r.roof_key = None), "it states no roof key");
        assert_eq!(blank(|r| r.roof_key = Some("tensor_core.fp8".into())), "the profile has no `tensor_core.fp8`");
        assert_eq!(blank(|r| r.flops = None), "it states no FLOPs");
        assert_eq!(blank(|r| r.timing.as_mut().unwrap().device_busy_ns = f64::NAN), "its time is NaN ns");
    }

    #[test]
    fn section_1_2_latency_bound_needs_both_times_below_the_floor() {
        assert!(read(&record(0, 500_000, 900.0)).latency_bound);
        assert!(!read(&record(0, 500_000, 1_100.0)).latency_bound);
        assert!(!read(&record(0, 1_100_000, 900.0)).latency_bound);
    }

    #[test]
    fn section_4_3_verdicts_at_their_lines() {
        let verdict = |busy| read(&record(0, 2_000_000, busy)).verdict;
        assert_eq!(verdict(2_000.0 / 0.80), Verdict::AtCeiling);
        assert_eq!(verdict(2_000.0 / 0.79), Verdict::None);
        assert_eq!(verdict(2_000.0 / 1.05), Verdict::AtCeiling);
        assert_eq!(verdict(2_000.0 / 1.06), Verdict::Anomaly);
        // Launching dominates: no traction, so nothing is at its ceiling.
        assert_eq!(read(&record(0, 900_000, 950.0)).verdict, Verdict::None);
    }

    #[test]
    fn section_4_3_the_physics_check_is_against_theoretical_ceilings() {
        let breaches =
            |r: &Record| price(r, &profile()).breaches.iter().map(|b| b.roof.to_string()).collect::<Vec<_>>();
        // 1.9e12 B/s is above the effective and below the theoretical bandwidth.
        assert!(breaches(&record(0, 1_900_000, 1_000.0)).is_empty());
        assert_eq!(breaches(&record(0, 2_100_000, 1_000.0)), ["hbm"]);
        assert_eq!(breaches(&record(210_000_000, 1, 1_000.0)), ["cuda_core.fp32"]);
        // A row without a reading can breach too.
        let mut events = record(0, 2_100_000, 1_000.0);
        events.timing.as_mut().unwrap().source = "events".into();
        assert_eq!(breaches(&events), ["hbm"]);
        assert_eq!(
            price(&record(0, 2_100_000, 1_000.0), &profile()).breaches[0].to_string(),
            "2.1000e12 bytes/s is above the theoretical 2.0000e12 of `hbm`"
        );
    }

    #[test]
    fn a_size_that_l2_could_serve_is_labelled_and_keeps_its_verdict() {
        let reading = read(&record(0, 1_000, 1.2));
        assert!(reading.fits_l2);
        assert!(!read(&record(0, 1_001, 1.2)).fits_l2);
    }

    proptest! {
        #[test]
        fn efficiency_scales_as_it_must(flops in 0u128..1 << 60, bytes in 1u128..1 << 50, busy in 1.0f64..1e12) {
            let one = read(&record(flops, bytes, busy));
            let slower = read(&record(flops, bytes, busy * 2.0));
            prop_assert!((one.efficiency - 2.0 * slower.efficiency).abs() <= 1e-9 * one.efficiency);
            let more = read(&record(flops * 2, bytes * 2, busy));
            prop_assert!((more.efficiency - 2.0 * one.efficiency).abs() <= 1e-9 * more.efficiency);
            prop_assert_eq!(one.bound, more.bound);
        }

        #[test]
        fn no_number_gives_a_nan(flops in any::<u128>(), bytes in any::<u128>(), busy in any::<f64>(), copies in any::<f64>()) {
            let mut r = record(flops, bytes, busy);
            r.timing.as_mut().unwrap().excluded_copies_ns = copies;
            let priced = price(&r, &profile());
            if let Ok(reading) = priced.reading {
                prop_assert!(reading.efficiency.is_finite() && reading.efficiency >= 0.0);
            }
            prop_assert!(priced.breaches.iter().all(|b| !b.rate.is_nan()));
        }
    }
}
