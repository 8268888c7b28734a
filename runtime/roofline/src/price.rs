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

use crate::profile::Profile;
use crate::record::Record;

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
        source_name: String,
    },
    /// The measured time is not a positive, finite number.
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
    /// The profile is another device's.
    #[error("the profile is of {profile}, and it ran on {device}")]
    NoProfile {
        /// The device that ran it.
        device: String,
        /// The profile's.
        profile: String,
    },
    /// The record does not name the unit that prices its FLOPs.
    #[error("it states no roof key")]
    NoRoofKey,
    /// The profile lacks the unit.
    #[error("the profile has no `{0}`")]
    UnknownRoofKey(String),
}

/// A rate above a theoretical ceiling: physically impossible, so that the formula is wrong.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{rate:.4e} {unit} is above the theoretical {ceiling:.4e} of `{roof}`")]
pub struct Breach {
    /// Which ceiling: `hbm`, or the roof key.
    pub roof: String,
    /// The rate that the record implies, per second.
    pub rate: f64,
    /// The theoretical ceiling, per second.
    pub ceiling: f64,
    /// `bytes/s` or `FLOP/s`.
    pub unit: &'static str,
}

/// Prices `record` against `profile`.
pub fn price(record: &Record, profile: &Profile) -> Priced {
    Priced { reading: reading(record, profile), breaches: breaches(record, profile) }
}

fn reading(record: &Record, profile: &Profile) -> Result<Reading, Blank> {
    let timing = record.timing.as_ref().ok_or(Blank::NotTimed)?;
    if timing.source != "cupti" {
        return Err(Blank::NotCupti { source_name: timing.source.clone() });
    }
    let actual_ns = timing.actual_ns();
    if !is_time(actual_ns) {
        return Err(Blank::NoTime(actual_ns));
    }
    let flops = record.flops.ok_or(Blank::NotPriced("FLOPs"))?;
    let bytes = record.bytes.ok_or(Blank::NotPriced("bytes"))?;
    if bytes == 0 {
        return Err(Blank::ZeroBytes);
    }
    let device = record.device.as_ref().ok_or(Blank::NoDevice)?;
    if !profile.matches(&device.name) {
        return Err(Blank::NoProfile { device: device.name.clone(), profile: profile.gpu.clone() });
    }
    let roof_key = record.roof_key.as_ref().ok_or(Blank::NoRoofKey)?;
    let peak = profile.peak(roof_key).ok_or_else(|| Blank::UnknownRoofKey(roof_key.clone()))?;

    let memory_ns = bytes as f64 / profile.bandwidth().effective * 1e9;
    let compute_ns = flops as f64 / peak.effective * 1e9;
    let sol_ns = memory_ns.max(compute_ns);
    let efficiency = sol_ns / actual_ns;
    let latency_bound = sol_ns < profile.latency_floor_ns && actual_ns < profile.latency_floor_ns;
    Ok(Reading {
        memory_ns,
        compute_ns,
        sol_ns,
        actual_ns,
        efficiency,
        bound: if compute_ns > memory_ns { Bound::Compute } else { Bound::Memory },
        latency_bound,
        fits_l2: profile.l2_bytes.is_some_and(|l2| bytes <= u128::from(l2)),
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
    let memory = record.bytes.map(|bytes| ("hbm".to_owned(), bytes, profile.bandwidth().theoretical, "bytes/s"));
    let compute = record.flops.zip(record.roof_key.as_ref()).and_then(|(flops, key)| {
        let peak = profile.peak(key)?;
        Some((key.clone(), flops, peak.theoretical, "FLOP/s"))
    });
    memory
        .into_iter()
        .chain(compute)
        .map(|(roof, work, ceiling, unit)| Breach { roof, rate: work as f64 / actual_ns * 1e9, ceiling, unit })
        .filter(|breach| breach.rate > breach.ceiling)
        .collect()
}

fn is_time(ns: f64) -> bool {
    ns.is_finite() && ns > 0.0
}
