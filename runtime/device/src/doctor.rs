//! What of CUDA is found here, of which versions, and what to do about the rest.

use std::fmt::Write as _;
use std::path::Path;

use crate::{Activity, Argument, Compiled, Compiler, Device, DeviceError, Grid, Library, Monitor, resources};

const SOURCE: &str = include_str!("doctor.cu");
const KERNEL: &str = "tileops_doctor";
const THREADS: u32 = 256;
/// What is compiled for where there is no device to ask.
const ARCHITECTURE: &str = "sm_90a";

/// What was found.
#[derive(Debug, Clone)]
pub struct Report {
    text: String,
    lacking: usize,
    poorer: usize,
}

impl Report {
    /// All of it, a line or two each.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether kernels can be compiled and run on the GPU here.
    pub fn runs_kernels(&self) -> bool {
        self.lacking == 0
    }

    /// Whether besides nothing is missing that times and their conditions are read from.
    pub fn is_whole(&self) -> bool {
        self.lacking == 0 && self.poorer == 0
    }

    fn line(&mut self, label: &str, text: impl std::fmt::Display) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.text, "{label:<9}{text}");
    }

    /// Something without which kernels do not run.
    fn lacks(&mut self, label: &str, text: impl std::fmt::Display) {
        self.lacking += 1;
        self.line(label, text);
    }
}

/// Looks at everything that a run on GPU number `ordinal` needs; what is missing does not keep it from looking at the rest.
pub fn examine(ordinal: usize) -> Report {
    let mut report = Report { text: String::new(), lacking: 0, poorer: 0 };
    for library in Library::ALL {
        of_library(&mut report, library);
    }
    let device = of_device(&mut report, ordinal);
    let architecture = device.as_ref().map_or_else(|| ARCHITECTURE.to_owned(), |device| device.facts().architecture());
    let compiler = Compiler::new(architecture.clone());
    let compiled = of_compiler(&mut report, &compiler, &architecture);
    of_cache(&mut report, compiler.cache_folder());
    if let Some(device) = &device {
        // Recording begins before the first kernel, so that there is something that it could miss.
        let activity = Library::Cupti.is_present().then(|| Activity::start(device));
        if let Some(compiled) = &compiled {
            match run(device, compiled) {
                Ok(()) => report.line("kernel", "it ran on the device, and gave what it should"),
                Err(error) => report.lacks("kernel", error),
            }
        }
        of_times(&mut report, activity);
    }
    let verdict = match (report.lacking, report.poorer) {
        (0, 0) => "everything is here: kernels run, and are timed".to_owned(),
        (0, _) => "kernels run; what is said of their times is less than it could be, as above".to_owned(),
        (1, _) => "kernels do not run on a GPU here: mend what is said above".to_owned(),
        (more, _) => format!("kernels do not run on a GPU here: mend the {more} things above, from the first on"),
    };
    report.line("so", verdict);
    report
}

fn of_library(report: &mut Report, library: Library) {
    let name = library.file_name();
    let (label, wrong, remedy) = match library.require() {
        Ok(()) => {
            let version = library.version().map_or_else(String::new, |version| format!(", {version}"));
            let from = library.loaded_from().map_or_else(String::new, |path| format!(" ({})", path.display()));
            let needed = if library == Library::Driver { "; CUDA 13.0 or later is needed" } else { "" };
            report.line("found", format_args!("{name}{version}{needed}{from}"));
            return;
        }
        Err(DeviceError::Unfit { found, needed, remedy, .. }) => {
            ("unfit", Some(format!("{found}, and {needed} is needed")), remedy)
        }
        Err(_) => ("missing", None, library.remedy().to_owned()),
    };
    let what = format!("{name}: {}", library.purpose());
    if library.is_optional() {
        report.poorer += 1;
        report.line(label, what);
    } else {
        report.lacks(label, what);
    }
    for more in wrong.into_iter().chain([remedy]) {
        report.line("", more);
    }
}

fn of_device(report: &mut Report, ordinal: usize) -> Option<Device> {
    if !Library::Driver.is_present() {
        // Said already.
        return None;
    }
    let device = match Device::open(ordinal) {
        Ok(device) => device,
        Err(error) => {
            report.lacks("device", &error);
            match error {
                DeviceError::NoDevice { count: 0, .. } => report.line(
                    "",
                    "the driver works, and sees no GPU: in a container, pass one in (`--gpus all`); elsewhere, see `nvidia-smi`",
                ),
                DeviceError::NoDevice { count, .. } => report.line("", format_args!("they are 0 to {}", count - 1)),
                _ => {}
            }
            return None;
        }
    };
    let facts = device.facts();
    let (major, minor) = facts.capability;
    report.line("device", format_args!("{} ({}), compute capability {major}.{minor}", facts.name, facts.ordinal));
    report.line(
        "",
        format_args!(
            "{} multiprocessors to {} MHz, {:.0} GB/s by the data sheet, L2 {} MiB, memory {} GiB",
            facts.multiprocessors,
            facts.clock_khz / 1000,
            facts.memory_bandwidth() / 1e9,
            facts.l2_bytes >> 20,
            facts.memory_bytes >> 30
        ),
    );
    if Library::Nvml.is_present() {
        match Monitor::new(&device).and_then(|monitor| Ok((monitor.driver()?, monitor.library()?, monitor.read()?))) {
            Ok((driver, library, now)) => {
                report.line("driver", format_args!("{driver}, NVML {library}"));
                let held = if now.throttled_by.is_empty() { "nothing".to_owned() } else { now.throttled_by.join(", ") };
                report.line(
                    "now",
                    format_args!("{} MHz, {:.0} W, {} °C, held back by {held}", now.clock_mhz, now.watts, now.celsius),
                );
            }
            Err(error) => {
                report.poorer += 1;
                report.line("NVML", format_args!("{error}; {}", Library::Nvml.purpose()));
            }
        }
    }
    Some(device)
}

fn of_compiler(report: &mut Report, compiler: &Compiler, architecture: &str) -> Option<Compiled> {
    if !Library::Nvrtc.is_present() {
        return None;
    }
    match compiler.clone().cache(None).compile("doctor.cu", SOURCE) {
        Ok(compiled) => {
            for folder in compiler.includes() {
                report.line("headers", folder.display());
            }
            // The compiler's log says so, where it is of one that writes it.
            let registers: String = resources(&compiled.log)
                .iter()
                .map(|kernel| format!(", with {} registers", kernel.registers))
                .collect();
            report.line("compiler", format_args!("a kernel for {architecture} compiles{registers}"));
            Some(compiled)
        }
        Err(error) => {
            report.lacks(if matches!(error, DeviceError::Headers { .. }) { "headers" } else { "compiler" }, error);
            None
        }
    }
}

fn of_cache(report: &mut Report, folder: Option<&Path>) {
    let Some(folder) = folder else {
        report.line("cache", "none: kernels are compiled anew by every process; set TILEOPS_CACHE_DIR to a folder");
        return;
    };
    let probe = folder.join(format!(".doctor-{}", std::process::id()));
    let written = std::fs::create_dir_all(folder).and_then(|()| std::fs::write(&probe, b"x"));
    let _ = std::fs::remove_file(&probe);
    match written {
        Ok(()) => report.line("cache", format_args!("{}, and it can be written", folder.display())),
        Err(error) => {
            report.line("cache", format_args!("{} cannot be written ({error})", folder.display()));
            report
                .line("", "kernels are compiled anew by every process; set TILEOPS_CACHE_DIR to a folder that can be");
        }
    }
}

/// Runs the kernel, and looks at what it wrote.
fn run(device: &Device, compiled: &Compiled) -> Result<(), DeviceError> {
    let kernel = device.load(compiled)?.kernel(KERNEL)?;
    let out = device.allocate(4 * THREADS as usize)?;
    out.fill(0xff)?;
    kernel.launch(Grid::row(1, THREADS), &[Argument::Buffer(&out)])?;
    let mut bytes = vec![0; out.bytes()];
    out.read(&mut bytes)?;
    let due = (0..THREADS).flat_map(|i| (3 * (i % 8)).to_ne_bytes());
    if !bytes.iter().copied().eq(due) {
        let what = "what it wrote is not what it computes".to_owned();
        return Err(DeviceError::Library { doing: format!("running `{KERNEL}`"), what });
    }
    Ok(())
}

fn of_times(report: &mut Report, activity: Option<Result<Activity, DeviceError>>) {
    let why = match activity {
        Some(Ok(activity)) => match activity.take() {
            Ok(_) => {
                report.line("times", "of the device's own clock, by CUPTI");
                return;
            }
            Err(error) => error.to_string(),
        },
        Some(Err(error)) => error.to_string(),
        None => "CUPTI cannot be used, as above".to_owned(),
    };
    report.poorer += 1;
    report.line("times", format_args!("by events alone, without a speed-of-light reading: {why}"));
}

#[cfg(test)]
mod tests {
    use super::*;

    /// On any machine: each library has its line, what is compiled without a GPU is, and the verdict is the last line.
    #[test]
    fn a_report_goes_on_where_something_is_missing() {
        let report = examine(0);
        let text = report.text();
        for library in Library::ALL {
            assert!(text.contains(library.file_name()), "{library:?}\n{text}");
        }
        assert!(text.lines().any(|line| line.starts_with("cache ")), "{text}");
        let is_compiled = text.lines().any(|line| line.starts_with("compiler ") || line.starts_with("headers "));
        assert_eq!(Library::Nvrtc.is_present(), is_compiled, "{text}");
        assert!(text.lines().last().is_some_and(|line| line.starts_with("so ")), "{text}");
        if !Library::Driver.is_present() {
            assert!(!report.runs_kernels(), "{text}");
        }
    }
}
