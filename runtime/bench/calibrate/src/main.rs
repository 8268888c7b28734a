//! `tileops-calibrate`: measures what a GPU reaches of its data sheet, and writes it into its profile.
//!
//! The profile's theoretical values are read and kept; its calibrations are measured. Neither the product of the two nor
//! any other derived value is written (roofline.txt, 5.1).

mod measure;
mod write;

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use clap::Parser;
use tileops_device::{Activity, Compiler, Device, Monitor};
use tileops_record::Run;
use tileops_roofline::profile::Profile;

use crate::measure::{Bench, Effort};

/// Measures what a GPU reaches of its data sheet, and writes it into its profile.
#[derive(Debug, Parser)]
#[command(name = "tileops-calibrate", version, max_term_width = 100)]
struct Arguments {
    /// The profile of the device: its theoretical values are kept, its calibrations written anew
    #[arg(long, value_name = "FILE", required_unless_present = "doctor")]
    profile: Option<PathBuf>,

    /// Write the profile here instead
    #[arg(long, value_name = "FILE", requires = "profile")]
    out: Option<PathBuf>,

    /// Write every round's rates, clocks and power as JSON, too
    #[arg(long, value_name = "FILE", requires = "profile")]
    log: Option<PathBuf>,

    /// Which device
    #[arg(long, value_name = "N", default_value_t = 0)]
    device: usize,

    /// How often each rate is measured
    #[arg(long, value_name = "N", default_value_t = 7, value_parser = clap::value_parser!(u32).range(3..=1000))]
    rounds: u32,

    /// How long a product runs for its sustained rate, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 4.0, value_parser = a_time, allow_negative_numbers = true)]
    sustained: f64,

    /// Say what of CUDA is found here, and what to do about the rest
    #[arg(long, conflicts_with_all = ["profile", "out", "log"])]
    doctor: bool,
}

/// A time that something can be measured for, in seconds.
fn a_time(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(seconds) if seconds > 0.0 && seconds <= 3600.0 => Ok(seconds),
        _ => Err("write a time in seconds, above 0 and at most 3600, as in `4` or `0.5`".to_owned()),
    }
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let outcome = match &arguments.profile {
        Some(profile) => calibrate(&arguments, profile).map(|()| ExitCode::SUCCESS),
        None => doctor(arguments.device),
    };
    outcome.unwrap_or_else(|error| {
        say(&format!("error: {error:#}"));
        ExitCode::from(2)
    })
}

#[allow(clippy::print_stderr, reason = "the one place where the program speaks")]
fn say(text: &str) {
    eprintln!("{text}");
}

fn calibrate(arguments: &Arguments, path: &Path) -> Result<()> {
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let mut profile = Profile::from_yaml(&text).with_context(|| path.display().to_string())?;
    let files = write::Files { profile: arguments.out.as_deref().unwrap_or(path), log: arguments.log.as_deref() };
    // Before anything is measured.
    files.check(path)?;
    let run = this_run();
    let device = Device::open(arguments.device)?;
    let facts = device.facts().clone();
    if !profile.matches(&facts.name) {
        bail!(
            "{} is of `{}`, and device {} is `{}`: name its own profile, or write one with the data sheet's values",
            path.display(),
            profile.gpu,
            arguments.device,
            facts.name
        );
    }
    let computed = facts.memory_bandwidth();
    if (profile.hbm.bandwidth / computed - 1.0).abs() > 0.02 {
        say(&format!(
            "warning: the profile's bandwidth is {:.4e} B/s, and the device's clock and lines give {computed:.4e}",
            profile.hbm.bandwidth
        ));
    }
    let monitor = Monitor::new(&device)?;
    // Recording begins before the first kernel, so that nothing runs unrecorded.
    let activity = Activity::start(&device)
        .context("a calibration is of device-busy times, which CUPTI alone tells; nothing was measured")?;
    let compiled = Compiler::new(facts.architecture()).compile("kernels.cu", include_str!("kernels.cu"))?;
    let module = device.load(&compiled)?;
    let effort = Effort { rounds: arguments.rounds, sustained_seconds: arguments.sustained };
    let bench = Bench { device: &device, activity: &activity, monitor: &monitor, module: &module, effort };

    let measured = bench.all(&profile, say)?;
    let conditions = write::Conditions {
        driver: monitor.driver()?,
        cuda: format!("{}.{}", facts.cuda / 1000, facts.cuda % 1000 / 10),
        rounds: arguments.rounds,
        run,
    };
    write::all(&files, &mut profile, &facts, &measured, &conditions)?;
    say(&format!("wrote {}", files.profile.display()));
    Ok(())
}

/// What the log says of this run.
fn this_run() -> Run {
    Run::begun(
        env!("CARGO_PKG_NAME"),
        env!("CARGO_PKG_VERSION"),
        option_env!("TILEOPS_REVISION"),
        option_env!("TILEOPS_DIRTY"),
    )
}

fn doctor(ordinal: usize) -> Result<ExitCode> {
    let report = tileops_device::doctor::examine(ordinal);
    match std::io::stdout().write_all(report.text().as_bytes()) {
        // Whoever reads has read enough.
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => {}
        written => written.context("cannot write the report")?,
    }
    // A calibration is of times by CUPTI, with clocks by NVML: it needs the whole.
    Ok(if report.is_whole() { ExitCode::SUCCESS } else { ExitCode::from(1) })
}
