//! Samples of a row: as many as its median needs to be known.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use tileops_device::Reading;
use tileops_record::{Clocks, Policy, Timing, stats};

use crate::inputs::Set;
use crate::machine::{Machine, Sample};

/// How many samples are taken.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Effort {
    /// How far the ends of the median's interval may be from it, as a share of it.
    pub within: f64,
    /// How long samples are taken, in seconds: at least, and at most.
    pub seconds: (f64, f64),
}

impl Default for Effort {
    fn default() -> Self {
        Effort { within: 0.01, seconds: (0.1, 1.0) }
    }
}

/// The fewest samples, and the most.
const SAMPLES: (usize, usize) = (20, 10_000);
/// Calls before the first sample, at most, and how long they are made for, in seconds.
const WARM_UP: (usize, f64) = (5, 0.1);
/// How long a batch of samples takes, about, in seconds: clocks are read once a batch.
const BATCH_SECONDS: f64 = 0.03;

/// Takes samples of the op's call on the sets in turn.
pub fn measure(machine: &dyn Machine, sets: &mut [Set], effort: &Effort) -> Result<Timing> {
    let mut turn = 0;
    let mut batch = |count: usize| -> Result<(Vec<Sample>, Option<Reading>)> {
        let (first, many) = (turn, sets.len());
        turn += count;
        let shared = std::cell::RefCell::new(&mut *sets);
        machine.sample(count, &mut |number| shared.borrow()[(first + number) % many].renew(machine), &mut |number| {
            let set = &mut shared.borrow_mut()[(first + number) % many];
            set.op.call(&set.arguments)?;
            Ok(())
        })
    };
    let warming = Instant::now();
    let mut warmed = 0;
    while warmed < WARM_UP.0 && (warmed == 0 || warming.elapsed().as_secs_f64() < WARM_UP.1) {
        batch(1)?;
        warmed += 1;
    }
    let mut each = warming.elapsed().as_secs_f64() / warmed as f64;
    let (mut samples, mut readings) = (Vec::new(), Vec::new());
    let (least, most) = (Duration::from_secs_f64(effort.seconds.0), Duration::from_secs_f64(effort.seconds.1));
    let start = Instant::now();
    loop {
        let count = ((BATCH_SECONDS / each) as usize).clamp(1, 512).min(SAMPLES.1 - samples.len());
        let (taken, reading) = batch(count)?;
        samples.extend(taken);
        readings.extend(reading);
        let elapsed = start.elapsed();
        let is_known = samples.len() >= SAMPLES.0 && elapsed >= least && is_within(&samples, effort.within);
        if is_known || elapsed >= most || samples.len() >= SAMPLES.1 {
            break;
        }
        each = elapsed.as_secs_f64() / samples.len() as f64;
    }
    let clock = machine.clock();
    let busy: Vec<f64> = samples.iter().map(|sample| sample.busy).collect();
    let mut timing = Timing::of_samples(clock.source, &busy).context("no sample is a time")?;
    timing.reason = clock.reason;
    timing.excluded_copies_ns = middle(&samples, |sample| sample.copies);
    timing.kernels = samples.last().and_then(|sample| sample.kernels);
    timing.clocks = clocks(&readings, clock.unread);
    let policy = Policy {
        l2: clock.l2.into(),
        inputs: Some(sets.len() as u64),
        warmup: Some(warmed as u64),
        graph: Some(false),
        within: Some(effort.within),
        confidence: Some(stats::CONFIDENCE),
        seconds: vec![effort.seconds.0, effort.seconds.1],
        ..Policy::default()
    };
    timing.policy = Some(Arc::new(policy));
    // Of one kernel it is the device-busy time.
    if samples.iter().any(|sample| sample.elapsed > sample.busy) {
        timing.elapsed_ns = Some(middle(&samples, |sample| sample.elapsed));
    }
    Ok(timing)
}

fn sorted(samples: &[Sample], of: impl Fn(&Sample) -> f64) -> Vec<f64> {
    let mut values: Vec<f64> = samples.iter().map(of).collect();
    values.sort_by(f64::total_cmp);
    values
}

fn middle(samples: &[Sample], of: impl Fn(&Sample) -> f64) -> f64 {
    stats::median(&sorted(samples, of)).unwrap_or(0.0)
}

/// Whether the median's interval ends within that share of the median.
fn is_within(samples: &[Sample], share: f64) -> bool {
    let busy = sorted(samples, |sample| sample.busy);
    match (stats::median(&busy), stats::median_interval(&busy)) {
        (Some(median), Some((low, high))) => (median - low).max(high - median) <= share * median,
        _ => false,
    }
}

/// The clocks that were read; where none was, why, if the device has some.
fn clocks(readings: &[Reading], unread: Option<String>) -> Option<Clocks> {
    let mut sm: Vec<f64> = readings.iter().map(|reading| f64::from(reading.clock_mhz)).collect();
    sm.sort_by(f64::total_cmp);
    let Some(middle) = stats::median(&sm) else {
        return unread.map(|why| Clocks { reason: Some(why.into()), ..Clocks::default() });
    };
    let mut throttle: Vec<&str> =
        readings.iter().flat_map(|reading| &reading.throttled_by).map(String::as_str).collect();
    throttle.sort_unstable();
    throttle.dedup();
    Some(Clocks {
        sm_mhz: Some(middle),
        sm_min_mhz: sm.first().copied(),
        sm_max_mhz: sm.last().copied(),
        memory_mhz: readings.last().map(|reading| f64::from(reading.memory_clock_mhz)),
        throttle: throttle.into_iter().map(Into::into).collect(),
        power_w: readings.iter().map(|reading| reading.watts).reduce(f64::max),
        temperature_c: readings.iter().map(|reading| f64::from(reading.celsius)).reduce(f64::max),
        ..Clocks::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_median_is_known_where_its_interval_is_narrow() {
        let of =
            |times: &[f64]| -> Vec<Sample> { times.iter().map(|&busy| Sample { busy, ..Sample::default() }).collect() };
        assert!(is_within(&of(&[100.0; 20]), 0.01));
        let wide: Vec<f64> = (0..20).map(|at| 100.0 + f64::from(at) * 2.0).collect();
        assert!(!is_within(&of(&wide), 0.01));
        assert!(!is_within(&of(&[100.0; 3]), 0.01), "too few to tell");
    }

    #[test]
    fn clocks_that_were_not_read_say_why() {
        let why = "starting NVML: libnvidia-ml.so.1 cannot be loaded";
        let found = clocks(&[], Some(why.to_owned())).expect("why is said");
        assert_eq!((found.reason.as_deref(), found.sm_mhz), (Some(why), None));
        assert_eq!(clocks(&[], None), None, "a CPU has none that anyone reads");
        let reading =
            Reading { clock_mhz: 1980, memory_clock_mhz: 3201, watts: 412.5, celsius: 41, throttled_by: vec![] };
        let found = clocks(&[reading], Some("the second reading failed".to_owned())).expect("one was read");
        assert_eq!((found.reason, found.sm_mhz), (None, Some(1980.0)));
    }
}
