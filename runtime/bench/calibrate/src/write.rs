//! Profiles and logs as text.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::{Value, json};
use tileops_device::Facts;
use tileops_roofline::profile::{Peak, Profile};

use crate::measure::{Measured, Rate, fraction};

/// What a measurement was made under.
#[derive(Debug, Clone)]
pub(crate) struct Conditions {
    pub(crate) driver: String,
    pub(crate) cuda: String,
    pub(crate) rounds: u32,
}

/// The profile as YAML, with how each number came about in comments.
pub(crate) fn profile(profile: &Profile, measured: &Measured, conditions: &Conditions) -> String {
    let Conditions { driver, cuda, rounds } = conditions;
    let mut text = String::new();
    let mut line = |line: &str| {
        text.push_str(line);
        text.push('\n');
    };
    line(&format!("# {}. Rates are theoretical, per second; a calibration is the fraction of one that a", profile.gpu));
    line("# microbenchmark reached. Effective values are the products, and are stored nowhere.");
    line(&format!(
        "# Calibrated by tileops-calibrate: device-busy times by CUPTI, medians of {rounds} rounds; behind each"
    ));
    line("# number the smallest and the largest round, and the clock of the multiprocessors.");
    line(&format!("gpu: {}", profile.gpu));
    line("hbm:");
    line(&format!("  bandwidth: {}", rate(profile.hbm.bandwidth)));
    if let Some(calibration) = profile.hbm.calibration {
        line("  # The envelope over the mixes.");
        line(&format!("  calibration: {calibration}"));
    }
    if !profile.hbm.mixes.is_empty() {
        line("  mixes:");
        for (name, value) in &profile.hbm.mixes {
            let note = measured.mixes.get(name.as_str()).map_or_else(String::new, |r| note(r, profile.hbm.bandwidth));
            line(&format!("    {name}: {value}{note}"));
        }
    }
    for (section, peaks, rates) in [
        ("cuda_core", &profile.cuda_core, &measured.cuda_core),
        ("tensor_core", &profile.tensor_core, &measured.tensor_core),
    ] {
        if peaks.is_empty() {
            continue;
        }
        line(&format!("{section}:"));
        for (name, Peak { flops, calibration, .. }) in peaks {
            let found = rates.get(name.as_str());
            if let Some(found) = found {
                line(&format!("  # {}.", found.by));
            }
            if let Some(sustained) = measured.sustained.get(name.as_str()).filter(|_| section == "tensor_core") {
                let (low, high) = sustained.spread();
                let clocks = clocks(sustained);
                line(&format!(
                    "  # Sustained over seconds, under the power limit: {} ({}..{}{clocks}).",
                    fraction(sustained.median(), *flops),
                    fraction(low, *flops),
                    fraction(high, *flops)
                ));
            }
            let calibration = calibration.map_or_else(String::new, |value| format!(", calibration: {value}"));
            let note = found.map_or_else(String::new, |found| note(found, *flops));
            line(&format!("  {name}: {{flops: {}{calibration}}}{note}", rate(*flops)));
        }
    }
    line(&format!(
        "# What a copy of 1 MiB takes out of a cold cache; a kernel that does nothing takes {} ns.",
        measured.empty_ns
    ));
    line(&format!("latency_floor_ns: {}", profile.latency_floor_ns));
    if let Some(bytes) = profile.l2_bytes {
        line(&format!("l2_bytes: {bytes}"));
    }
    line(&format!("source: tileops-calibrate on a device with driver {driver} and CUDA {cuda}"));
    text
}

/// A rate that YAML 1.1 reads as a number, too: with a point and a signed exponent.
fn rate(value: f64) -> String {
    let text = format!("{value:e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let point = if mantissa.contains('.') { "" } else { ".0" };
    format!("{mantissa}{point}e+{exponent}")
}

fn note(rate: &Rate, theoretical: f64) -> String {
    let (low, high) = rate.spread();
    format!("  # {}..{}{}", fraction(low, theoretical), fraction(high, theoretical), clocks(rate))
}

fn clocks(rate: &Rate) -> String {
    match rate.clocks() {
        Some((low, high)) if low == high => format!(" at {low} MHz"),
        Some((low, high)) => format!(" at {low} to {high} MHz"),
        None => String::new(),
    }
}

/// Everything that was measured, round by round.
pub(crate) fn log(facts: &Facts, measured: &Measured, conditions: &Conditions) -> String {
    let rate = |rate: &Rate| -> Value {
        let readings: Vec<Value> = rate
            .readings
            .iter()
            .map(|reading| {
                json!({
                    "sm_mhz": reading.clock_mhz,
                    "memory_mhz": reading.memory_clock_mhz,
                    "power_w": reading.watts,
                    "temperature_c": reading.celsius,
                    "throttle": reading.throttled_by,
                })
            })
            .collect();
        json!({ "by": rate.by, "rounds": rate.rounds, "readings": readings })
    };
    let rates = |rates: &std::collections::BTreeMap<&'static str, Rate>| -> Value {
        rates.iter().map(|(name, value)| ((*name).to_owned(), rate(value))).collect::<serde_json::Map<_, _>>().into()
    };
    let log = json!({
        "gpu": facts.name,
        "uuid": facts.uuid,
        "driver": conditions.driver,
        "cuda": conditions.cuda,
        "bytes_per_second": rates(&measured.mixes),
        "cuda_core_flops_per_second": rates(&measured.cuda_core),
        "tensor_core_flops_per_second": rates(&measured.tensor_core),
        "sustained_flops_per_second": rates(&measured.sustained),
        "latency_floor_ns": measured.latency_floor_ns,
        "empty_kernel_ns": measured.empty_ns,
    });
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = writeln!(text, "{log:#}");
    text
}

/// Puts `text` in the place of a file, whole or not at all.
pub(crate) fn replace(path: &Path, text: &str) -> Result<()> {
    tileops_files::replace(path, text.as_bytes()).with_context(|| format!("cannot write {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tileops_device::Reading;

    fn measured() -> Measured {
        let rate = |by: &str, rounds: &[f64]| Rate {
            by: by.to_owned(),
            rounds: rounds.to_vec(),
            readings: [1965, 1980]
                .into_iter()
                .map(|clock_mhz| Reading {
                    clock_mhz,
                    memory_clock_mhz: 3201,
                    watts: 412.5,
                    celsius: 41,
                    throttled_by: Vec::new(),
                })
                .collect(),
        };
        let mut measured = Measured { latency_floor_ns: 1664.0, empty_ns: 608.0, ..Measured::default() };
        measured.mixes.insert("copy", rate("copy_plain", &[4.29e12, 4.3e12, 4.28e12]));
        measured.mixes.insert("write", rate("write_streamed", &[4.7e12, 4.69e12, 4.71e12]));
        measured.tensor_core.insert("bf16", rate("proposal 2", &[8.1e14, 8.2e14, 8.0e14]));
        measured.sustained.insert("bf16", rate("proposal 2", &[6.7e14]));
        measured
    }

    fn theoretical() -> Profile {
        Profile::from_yaml(
            "gpu: NVIDIA H200\nhbm: {bandwidth: 4.814e+12}\ncuda_core: {fp32: {flops: 6.69e+13, calibration: 0.5}}\n\
             tensor_core: {bf16: {flops: 9.894e+14}}\nlatency_floor_ns: 1\nl2_bytes: 62914560\n",
        )
        .expect("a profile")
    }

    #[test]
    fn a_profile_has_theory_and_calibration_and_no_product() {
        let (mut made, measured) = (theoretical(), measured());
        measured.apply(&mut made);
        let conditions = Conditions { driver: "580.159.04".into(), cuda: "13.0".into(), rounds: 3 };
        let text = profile(&made, &measured, &conditions);
        let read = Profile::from_yaml(&text).expect("what is written is read");
        assert_eq!(read.hbm.bandwidth, 4.814e12);
        assert_eq!(read.hbm.mixes.get("copy"), Some(&0.891));
        assert_eq!(read.hbm.calibration, Some(0.976), "the envelope is the fastest mix");
        assert_eq!(read.tensor_core["bf16"].calibration, Some(0.819));
        assert_eq!(read.cuda_core["fp32"].calibration, Some(0.5), "what was not measured stays");
        assert_eq!(read.latency_floor_ns, 1664.0);
        assert!(text.contains("write: 0.976  # 0.974..0.978 at 1965 to 1980 MHz"), "{text}");
        assert!(text.contains("Sustained over seconds, under the power limit: 0.677"), "{text}");
        assert!(!text.contains("4.698") && !text.contains("8.1e"), "no product is stored: {text}");
    }

    #[test]
    fn rates_are_numbers_to_every_reader() {
        assert_eq!([rate(4.814e12), rate(1e15), rate(6.69e13)], ["4.814e+12", "1.0e+15", "6.69e+13"]);
    }

    #[test]
    fn a_calibration_over_one_is_no_profile() {
        let (mut made, mut measured) = (theoretical(), measured());
        measured.mixes.get_mut("write").expect("measured").rounds = vec![5e12];
        measured.apply(&mut made);
        let conditions = Conditions { driver: String::new(), cuda: String::new(), rounds: 1 };
        assert!(Profile::from_yaml(&profile(&made, &measured, &conditions)).is_err());
    }
}
