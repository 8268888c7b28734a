//! A program under Nsight Compute: how it is started, how long it may take, what it gave.

use std::ffi::OsString;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::ncu::{METRICS, Profile};
use crate::verdict::Run;

/// Nsight Compute, and how long one run under it may take.
#[derive(Debug, Clone)]
pub struct Profiler {
    /// The program: `ncu`, or a path.
    pub program: PathBuf,
    /// The longest time of a run.
    pub limit: Duration,
}

/// What a run under Nsight Compute left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finished {
    /// What Nsight Compute wrote: its table, among lines of its own.
    pub table: String,
    /// The last line of standard error that says something.
    pub complaint: Option<String>,
    /// Whether the program ended well.
    pub success: bool,
    /// Whether it took too long, and was ended.
    pub timed_out: bool,
}

/// Why nothing could be started.
#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    /// There is no such program.
    #[error(
        "cannot start `{program}`: {error}. Install Nsight Compute (it comes with the CUDA toolkit), or say where it is \
         with `--ncu PATH`"
    )]
    Start {
        /// What was to be started.
        program: String,
        /// Why it could not be.
        error: std::io::Error,
    },
    /// The files of the run could not be made or read.
    #[error("cannot keep what `{program}` prints: {error}")]
    Files {
        /// What was to be started.
        program: String,
        /// Why.
        error: std::io::Error,
    },
}

/// What Nsight Compute is told before the program's own arguments: counters of the kernels of the profiled range, of every
/// process, each replayed from cold caches at the clocks as they are, in a table of base units in `log`.
pub fn options(log: &Path) -> Vec<OsString> {
    let mut options: Vec<OsString> = [
        "--target-processes",
        "all",
        "--profile-from-start",
        "off",
        "--clock-control",
        "none",
        "--cache-control",
        "all",
        "--csv",
        "--metrics",
    ]
    .map(OsString::from)
    .into();
    options.push(METRICS.join(",").into());
    options.push("--log-file".into());
    options.push(log.into());
    options
}

/// Ends a child and everything of its group.
fn end(child: &mut Child) -> std::io::Result<()> {
    #[cfg(unix)]
    {
        let group = format!("-{}", child.id());
        // Where there is no such program, the child alone is ended below.
        let _ = Command::new("kill").args(["-KILL", "--", &group]).stderr(Stdio::null()).status();
    }
    child.kill()
}

impl Profiler {
    /// Runs `program` with `arguments` under Nsight Compute, in `folder` for its files.
    pub fn run(&self, folder: &Path, program: &Path, arguments: &[OsString]) -> Result<Finished, LaunchError> {
        let name = || self.program.display().to_string();
        let files = |error| LaunchError::Files { program: name(), error };
        let (log, errors) = (folder.join("ncu.csv"), folder.join("stderr.txt"));
        // A table that an earlier run left is no table of this one.
        let _ = std::fs::remove_file(&log);
        let stderr = File::create(&errors).map_err(files)?;
        let mut command = Command::new(&self.program);
        command.args(options(&log)).arg(program).args(arguments);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(stderr);
        // What Nsight Compute starts ends with it.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let mut child = command.spawn().map_err(|error| LaunchError::Start { program: name(), error })?;
        let ended = self.wait(&mut child).map_err(files)?;
        let said = String::from_utf8_lossy(&std::fs::read(&errors).map_err(files)?).into_owned();
        let table = match std::fs::read(&log) {
            Ok(table) => String::from_utf8_lossy(&table).into_owned(),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(files(error)),
        };
        let complaint = said.lines().rev().map(str::trim).find(|line| !line.is_empty()).map(str::to_owned);
        Ok(Finished { table, complaint, success: ended == Some(true), timed_out: ended.is_none() })
    }

    /// Whether the child ended well; nothing where it took too long, and was ended.
    fn wait(&self, child: &mut Child) -> std::io::Result<Option<bool>> {
        let start = Instant::now();
        loop {
            if let Some(status) = child.try_wait()? {
                return Ok(Some(status.success()));
            }
            if start.elapsed() >= self.limit {
                end(child)?;
                child.wait()?;
                return Ok(None);
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// What `finished` says of a row of which one call was profiled.
    pub fn row(&self, finished: &Finished) -> Run {
        let because = |what: String| match &finished.complaint {
            Some(complaint) => Run::Failed(format!("{what}: {complaint}")),
            None => Run::Failed(what),
        };
        if finished.timed_out {
            return Run::Failed(format!("it took longer than {} s", self.limit.as_secs_f64()));
        }
        if !finished.success {
            return because("the run failed".to_owned());
        }
        match Profile::parse(&finished.table) {
            Ok(profile) => Run::Measured { profile, calls: 1 },
            Err(error) => because(error.to_string()),
        }
    }
}
