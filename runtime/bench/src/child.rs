//! A child: a process that runs the rows of one op, as its parent has it.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Child as Process, ChildStderr, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use tileops_record::{Failure, FailureKind};

use crate::stop::Stop;
use crate::tell::say;
use crate::worker::{Job, Message};

/// The hidden argument by which a child knows what it is.
pub(crate) const WORKER: &str = "--worker";

/// How long a child may take to be gone after it was killed.
const KILLED: Duration = Duration::from_secs(10);
/// How long is waited at a time.
const TURN: Duration = Duration::from_millis(50);

/// A child.
pub(crate) struct Child {
    process: Process,
    /// Closed when the child is to end.
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
    stderr: Option<Said>,
}

/// What a child does next.
pub(crate) enum Next {
    Said(Message),
    /// Nothing, for too long.
    Late,
    /// It ended.
    Gone,
    /// The run is to end, by this signal.
    Stopped(u8),
}

/// What a child says on standard error.
struct Said {
    kept: Arc<Mutex<Vec<u8>>>,
    listener: JoinHandle<()>,
}

impl Said {
    /// How much of it is kept.
    const KEPT: usize = 1 << 16;

    fn listen(mut stderr: ChildStderr) -> Self {
        let kept = Arc::new(Mutex::new(Vec::new()));
        let said = kept.clone();
        let listener = std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = stderr.read(&mut bytes) {
                let mut said = said.lock().unwrap_or_else(PoisonError::into_inner);
                said.extend_from_slice(&bytes[..count]);
                let beyond = said.len().saturating_sub(Said::KEPT);
                said.drain(..beyond);
            }
        });
        Said { kept, listener }
    }

    /// What the child said before it ended.
    fn text(self) -> String {
        // A process that the child has started may hold its standard error open.
        let start = Instant::now();
        while !self.listener.is_finished() && start.elapsed() < Duration::from_secs(1) {
            std::thread::sleep(Duration::from_millis(2));
        }
        String::from_utf8_lossy(&self.kept.lock().unwrap_or_else(PoisonError::into_inner)).into_owned()
    }
}

impl Child {
    pub(crate) fn start(job: &Job) -> Result<Self> {
        let program = std::env::current_exe().context("cannot find this program")?;
        let mut command = Command::new(program);
        command.arg(WORKER).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // Of a panic what it says is wanted, not where it came by.
        command.env("RUST_BACKTRACE", "0");
        of_its_own(&mut command);
        let mut process = command.spawn().context("cannot start a process for an op")?;
        let mut stdin = process.stdin.take();
        if let Some(stdin) = &mut stdin {
            let mut line = serde_json::to_vec(job)?;
            line.push(b'\n');
            // A child that is gone already says so when it is listened to.
            let _ = stdin.write_all(&line);
        }
        let (sender, lines) = channel();
        if let Some(stdout) = process.stdout.take() {
            std::thread::spawn(move || {
                for line in BufReader::new(stdout).lines() {
                    if line.map_or(true, |line| sender.send(line).is_err()) {
                        break;
                    }
                }
            });
        }
        let stderr = process.stderr.take().map(Said::listen);
        Ok(Child { process, stdin, lines, stderr })
    }

    pub(crate) fn next(&mut self, limit: Duration, stop: &Stop) -> Next {
        let mut waited = Duration::ZERO;
        while waited < limit {
            if let Some(signal) = stop.signal() {
                return Next::Stopped(signal);
            }
            let start = Instant::now();
            match self.lines.recv_timeout(TURN.min(limit - waited)) {
                Ok(line) => {
                    // Else something else has written to the child's standard output.
                    if let Ok(message) = serde_json::from_str(&line) {
                        return Next::Said(message);
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Next::Gone,
            }
            // The time for which this process was stopped, as by Ctrl-Z, is no time of the child's.
            waited += start.elapsed().min(2 * TURN);
        }
        Next::Late
    }

    /// Waits until the child has ended, and not for longer than that.
    fn wait(&mut self, limit: Duration) -> Option<std::io::Result<ExitStatus>> {
        let start = Instant::now();
        loop {
            match self.process.try_wait() {
                Ok(None) if start.elapsed() < limit => std::thread::sleep(Duration::from_millis(2)),
                Ok(None) => return None,
                Ok(Some(status)) => return Some(Ok(status)),
                Err(error) => return Some(Err(error)),
            }
        }
    }

    /// Ends the child at once. One that the driver holds may not end: it is left behind.
    fn end_now(&mut self) -> bool {
        let _ = self.process.kill();
        self.wait(KILLED).is_some()
    }

    /// Lets a child that has nothing left to do end: whether it did so by itself.
    pub(crate) fn end(&mut self, limit: Duration, stop: &Stop) -> bool {
        // Its pipe stays open until it has, since a closed one means that nobody waits for it.
        let start = Instant::now();
        let mut has_ended = self.wait(TURN.min(limit)).is_some();
        while !has_ended && start.elapsed() < limit && stop.signal().is_none() {
            has_ended = self.wait(TURN).is_some();
        }
        if !has_ended {
            self.end_now();
        }
        self.stdin = None;
        has_ended || stop.signal().is_some()
    }

    pub(crate) fn kill(&mut self, limit: Duration, has_begun: bool) -> Failure {
        let ending = if self.end_now() { "was killed" } else { "could not even be killed" };
        let what = if has_begun { "nothing came of it" } else { "its process did not begin with it" };
        Failure::new(FailureKind::Hung, format!("{what} in {limit:?}, and the process {ending}"))
    }

    /// What ended a child that should not have.
    pub(crate) fn gone(&mut self) -> Failure {
        let status = self.wait(KILLED);
        if status.is_none() {
            self.end_now();
        }
        let said = self.stderr.take().map(Said::text).unwrap_or_default();
        let mut message = match status {
            Some(Ok(status)) => ended(status),
            Some(Err(error)) => format!("its process cannot be waited for: {error}"),
            None => "its process closed its standard output, did not end, and was killed".to_owned(),
        };
        let last = last_words(&said);
        if !last.is_empty() {
            message += ": ";
            message += &last.join(" / ");
        }
        let is_out_of_memory = said.contains("memory allocation of") && said.contains("failed");
        Failure::new(if is_out_of_memory { FailureKind::OutOfMemory } else { FailureKind::Crashed }, message)
    }
}

/// The lines of standard error that say what happened: those of the last panic, or the last ones.
fn last_words(said: &str) -> Vec<&str> {
    let lines: Vec<&str> = said
        .lines()
        .filter(|line| !line.trim().is_empty() && !line.starts_with("note: run with `RUST_BACKTRACE"))
        .collect();
    let panic = lines.iter().rposition(|line| line.starts_with("thread ") && line.contains("panicked at"));
    match panic {
        Some(at) => lines[at..].iter().take(6).copied().collect(),
        None => lines[lines.len().saturating_sub(4)..].to_vec(),
    }
}

/// Makes it no member of the terminal's group: Ctrl-C is for the parent, which ends its children.
pub(crate) fn of_its_own(command: &mut Command) {
    #[cfg(unix)]
    {
        use std::os::unix::process::CommandExt as _;
        command.process_group(0);
    }
    #[cfg(not(unix))]
    let _ = command;
}

impl Drop for Child {
    fn drop(&mut self) {
        // After an error of this process: no child outlives it.
        if matches!(self.process.try_wait(), Ok(None)) && !self.end_now() {
            say("a process that an op ran in could not be killed, and is left behind");
        }
    }
}

#[cfg(unix)]
fn ended(status: ExitStatus) -> String {
    use std::os::unix::process::ExitStatusExt as _;
    match (status.signal(), status.code()) {
        (Some(9), _) => "its process was killed (signal 9), perhaps by the system for want of memory".to_owned(),
        (Some(signal), _) => format!("its process ended by signal {signal}"),
        (None, code) => format!("its process ended with code {}", code.unwrap_or(-1)),
    }
}

#[cfg(not(unix))]
fn ended(status: ExitStatus) -> String {
    format!("its process ended: {status}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_words_are_those_of_the_panic() {
        let panic = "thread 'main' (7) panicked at src/a.rs:1:2:\nindex out of bounds\nthe len is 3";
        let noise: String = (0..9).map(|n| format!("{n}: a::frame\n")).collect();
        let expected: Vec<&str> = panic.lines().collect();
        let note = "note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace";
        assert_eq!(last_words(&format!("{noise}\n{panic}\n{note}\n")), expected);
        let all: Vec<&str> = noise.lines().collect();
        assert_eq!(last_words(&noise), all[5..]);
        assert!(last_words("\n").is_empty());
    }
}
