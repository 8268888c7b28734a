//! Profiles and logs as text.

use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use tileops_device::Facts;
use tileops_record::Run;
use tileops_roofline::profile::{Peak, Profile};

use crate::measure::{Measured, Rate, fraction};

/// What a measurement was made under.
#[derive(Debug, Clone)]
pub(crate) struct Conditions {
    pub(crate) driver: String,
    pub(crate) cuda: String,
    pub(crate) rounds: u32,
    pub(crate) run: Run,
}

/// Where a calibration goes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Files<'a> {
    pub(crate) profile: &'a Path,
    pub(crate) log: Option<&'a Path>,
}

impl Files<'_> {
    /// Fails where what is measured could not be written; `read` is the profile that is read.
    pub(crate) fn check(&self, read: &Path) -> Result<()> {
        let is_same =
            |a: &Path, b: &Path| a == b || a.canonicalize().is_ok_and(|a| b.canonicalize().is_ok_and(|b| a == b));
        if let Some(log) = self.log.filter(|log| [read, self.profile].iter().any(|other| is_same(log, other))) {
            bail!("--log `{}` is the profile's file: name another for the log", log.display());
        }
        for path in [Some(self.profile), self.log].into_iter().flatten() {
            tileops_files::can_replace(path).with_context(|| {
                format!(
                    "cannot write `{}`, so nothing was measured; name a file of a folder that takes one",
                    path.display()
                )
            })?;
        }
        Ok(())
    }
}

/// Writes what was measured: its log first, which holds whatever the profile cannot.
pub(crate) fn all(
    files: &Files<'_>,
    profile: &mut Profile,
    facts: &Facts,
    measured: &Measured,
    conditions: &Conditions,
) -> Result<()> {
    if let Some(path) = files.log {
        replace(path, &log(facts, measured, conditions))?;
    }
    measured.apply(profile);
    let text = self::profile(profile, measured, conditions);
    // What is written is what will be read: a calibration over 1 is refused here, where the data sheet can be mended.
    Profile::from_yaml(&text).with_context(|| {
        let kept = match files.log {
            Some(path) => format!("what was measured is in {}", path.display()),
            None => "--log FILE keeps what was measured".to_owned(),
        };
        format!("the measurement gives no profile ({kept}); is a theoretical value too low?")
    })?;
    replace(files.profile, &text)
}

/// The profile as YAML, with how each number came about in comments.
pub(crate) fn profile(profile: &Profile, measured: &Measured, conditions: &Conditions) -> String {
    let Conditions { driver, cuda, rounds, run } = conditions;
    let mut text = String::new();
    let mut line = |line: &str| {
        text.push_str(line);
        text.push('\n');
    };
    line(&format!(
        "# {}. Rates are theoretical, per second; a calibration is the fraction of one that a",
        profile.gpu.replace('\n', " ")
    ));
    line("# microbenchmark reached. Effective values are the products, and are stored nowhere.");
    line(&format!(
        "# Calibrated by tileops-calibrate: device-busy times by CUPTI, medians of {rounds} rounds; behind each"
    ));
    line("# number the smallest and the largest round, and the clock of the multiprocessors.");
    line(&format!("gpu: {}", scalar(&profile.gpu)));
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
            line(&format!("    {}: {value}{note}", scalar(name)));
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
            line(&format!("  {}: {{flops: {}{calibration}}}{note}", scalar(name), rate(*flops)));
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
    let day = run.started.as_deref().and_then(|started| started.split('T').next()).unwrap_or_default();
    let (tool, version) = (&*run.tool, run.version.as_deref().unwrap_or_default());
    let now = format!("{CALIBRATED} {day} by {tool} {version} on a device with driver {driver} and CUDA {cuda}");
    // What it says of the theoretical values stays; what it says of an earlier calibration goes.
    let before = profile.source.as_deref().unwrap_or_default();
    let before = before.split(CALIBRATED).next().unwrap_or_default().trim_end_matches(['.', ';', ' ']);
    let source =
        if before.is_empty() || before.starts_with("tileops-calibrate on ") { now } else { format!("{before}; {now}") };
    line(&format!("source: {}", scalar(&source)));
    text
}

/// What the source of a calibrated profile has before the day.
const CALIBRATED: &str = "calibrated on";

/// A text as YAML on one line, in quotes where it has to be.
fn scalar(text: &str) -> String {
    let plain = serde_yaml::to_string(text).ok().map(|yaml| yaml.trim_end().to_owned());
    // A text of several lines is none in YAML's own form; in JSON's it is, which YAML reads.
    plain.filter(|plain| !plain.contains('\n')).unwrap_or_else(|| json!(text).to_string())
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
        "run": conditions.run,
        "rounds": conditions.rounds,
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
        let conditions = conditions();
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

    fn conditions() -> Conditions {
        let run = Run {
            tool: "tileops-calibrate".into(),
            version: Some("0.1.0".into()),
            revision: Some("818fe99".into()),
            started: Some("2026-11-29T20:00:00Z".into()),
            command: vec!["tileops-calibrate".into(), "--rounds".into(), "3".into()],
            ..Run::default()
        };
        Conditions { driver: "580.159.04".into(), cuda: "13.0".into(), rounds: 3, run }
    }

    fn facts() -> Facts {
        Facts {
            ordinal: 0,
            name: "NVIDIA H200".into(),
            uuid: "0123456789abcdef0123456789abcdef".into(),
            capability: (9, 0),
            multiprocessors: 132,
            l2_bytes: 62_914_560,
            memory_bytes: 150 << 30,
            memory_clock_khz: 3_201_000,
            memory_bus_bits: 6016,
            shared_bytes_per_block: 232_448,
            clock_khz: 1_980_000,
            cuda: 13_000,
        }
    }

    #[test]
    fn a_calibration_over_one_is_no_profile_and_its_log_is_kept() {
        let folder = tempfile::tempdir().expect("a folder");
        let (out, log) = (folder.path().join("out.yaml"), folder.path().join("log.json"));
        std::fs::write(&out, "as it was").expect("it is written");
        let mut measured = measured();
        measured.mixes.get_mut("write").expect("measured").rounds = vec![5e12];
        for kept in [Some(&*log), None] {
            let files = Files { profile: &out, log: kept };
            let error = all(&files, &mut theoretical(), &facts(), &measured, &conditions()).expect_err("it is over 1");
            let said = format!("{error:#}");
            assert!(said.contains("hbm.calibration") && said.contains("is a theoretical value too low?"), "{said}");
            let due = if kept.is_some() { "what was measured is in " } else { "--log FILE keeps what was measured" };
            assert!(said.contains(due), "{said}");
        }
        assert_eq!(std::fs::read_to_string(&out).expect("it can be read"), "as it was");
        let text = std::fs::read_to_string(&log).expect("the log is there");
        let log: Value = serde_json::from_str(&text).expect("it is JSON");
        assert_eq!(log["bytes_per_second"]["write"]["rounds"][0], 5e12);
    }

    #[test]
    fn a_log_says_what_made_it_and_on_which_device() {
        let log: Value = serde_json::from_str(&log(&facts(), &measured(), &conditions())).expect("it is JSON");
        assert_eq!(log["uuid"], "0123456789abcdef0123456789abcdef");
        assert_eq!(log["run"]["revision"], "818fe99");
        assert_eq!(log["run"]["started"], "2026-11-29T20:00:00Z");
        assert_eq!(log["run"]["command"], json!(["tileops-calibrate", "--rounds", "3"]));
    }

    #[test]
    fn the_source_of_the_theoretical_values_stays() {
        let mut made = theoretical();
        let mut sources = Vec::new();
        for source in [Some("data sheet: rev #3"), None, Some("tileops-calibrate on a device with driver 1 and CUDA 2")]
        {
            made.source = source.map(str::to_owned);
            // A calibration of what was calibrated says the same.
            for _ in 0..2 {
                let text = profile(&made, &Measured::default(), &conditions());
                made = Profile::from_yaml(&text).expect("what is written is read");
            }
            sources.push(made.source.clone().expect("it is stated"));
        }
        let now =
            "calibrated on 2026-11-29 by tileops-calibrate 0.1.0 on a device with driver 580.159.04 and CUDA 13.0";
        assert_eq!(sources, [&*format!("data sheet: rev #3; {now}"), now, now]);
    }

    #[test]
    fn names_are_quoted_where_yaml_would_read_something_else() {
        for name in ["NVIDIA H200", "*x", "&x: y", "yes", "123", "a # b", "it's \"so\"", "two\nlines", "- x", ""] {
            let mut made = theoretical();
            made.gpu = name.to_owned();
            made.cuda_core.insert(name.to_owned(), Peak { flops: 1e12, calibration: None });
            made.hbm.mixes.insert(name.to_owned(), 0.5);
            made.hbm.calibration = Some(0.5);
            let text = profile(&made, &Measured::default(), &conditions());
            let read = Profile::from_yaml(&text).unwrap_or_else(|error| panic!("{name}: {error}\n{text}"));
            assert_eq!((read.gpu.as_str(), read.cuda_core.contains_key(name)), (name, true), "{text}");
        }
        assert_eq!([scalar("NVIDIA H200"), scalar("*x")], ["NVIDIA H200", "'*x'"]);
    }
}
