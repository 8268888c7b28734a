//! The parent: a child an op. A child that crashes, hangs or runs out of memory costs the row that it was at; the rows behind
//! it go to a new one.

use std::collections::VecDeque;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::Path;
use std::process::{Child, ChildStderr, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use tileops_analyzer::workload::Call;
use tileops_ops::generated::REGISTRY;
use tileops_record::{Device, Failure, FailureKind, Record, Run};

use crate::fault::Injection;
use crate::inputs::row_seed;
use crate::machine::Which;
use crate::price;
use crate::sample::Effort;
use crate::select::Selected;
use crate::stop::Stop;
use crate::tell::{Progress, Spent, say};
use crate::worker::{Job, Message};

/// How rows are run.
#[derive(Debug, Clone)]
pub struct Options {
    /// What runs them.
    pub which: Which,
    /// How many samples a row has.
    pub effort: Effort,
    /// How long a row may take.
    pub limit: Duration,
    /// Faults on purpose.
    pub faults: Vec<Injection>,
}

/// What came of a run.
#[derive(Debug, Clone, Copy, Default)]
pub struct Summary {
    /// Rows that were run.
    pub rows: usize,
    /// Rows without a time.
    pub failed: usize,
    /// Where the time of the rows went.
    pub spent: Spent,
    /// What children took beside their rows.
    pub starts: Duration,
    /// How many children there were.
    pub processes: usize,
    /// The signal that ended it before its last row.
    pub stopped: Option<u8>,
}

/// The hidden argument by which a child knows what it is.
pub const WORKER: &str = "--worker";

/// How long a child may take to start, at least, and to be gone after it was killed.
const PROCESS: Duration = Duration::from_secs(120);
const KILLED: Duration = Duration::from_secs(10);
/// How long is waited at a time.
const TURN: Duration = Duration::from_millis(50);

/// Runs rows, and gives their records to `sink` as they come.
pub fn run(
    manifest: &Path,
    ops: &[Selected<'_>],
    options: &Options,
    run: &Arc<Run>,
    progress: &Progress,
    stop: &Stop,
    sink: &mut dyn FnMut(&Record) -> Result<()>,
) -> Result<Summary> {
    let mut summary = Summary::default();
    let mut device: Option<Arc<Device>> = None;
    for selected in ops {
        let mut rest: VecDeque<&Call> = selected.calls.iter().copied().collect();
        while !rest.is_empty() {
            let start = Instant::now();
            let mut in_rows = Duration::ZERO;
            let mut child = Worker::start(&Job {
                manifest: manifest.to_owned(),
                op: selected.entry.op().to_owned(),
                entry_hash: selected.entry.hash(),
                cases: rest.iter().map(|call| call.case_id.clone()).collect(),
                which: options.which,
                effort: options.effort,
                faults: options.faults.clone(),
            })?;
            summary.processes += 1;
            let mut begun: Option<Instant> = None;
            loop {
                // What a process takes to start is no row's time.
                let limit = if begun.is_some() { options.limit } else { options.limit.max(PROCESS) };
                let (failure, lost) = match child.next(limit, stop) {
                    Next::Said(Message::Ready(found)) => {
                        device = Some(Arc::new(*found));
                        continue;
                    }
                    Next::Said(Message::Refused(why)) => bail!(why),
                    Next::Said(Message::Begin(case)) => {
                        begun = Some(Instant::now());
                        progress.begin(selected.entry.op(), &case);
                        continue;
                    }
                    Next::Said(Message::Done { mut record, spent, is_spent }) => {
                        in_rows += begun.take().map_or(Duration::ZERO, |begun| begun.elapsed());
                        rest.pop_front();
                        record.run = Some(run.clone());
                        record.device.clone_from(&device);
                        summary.spent += spent;
                        summary.count(&record);
                        progress.done(&record, || sink(&record))?;
                        if is_spent || rest.is_empty() {
                            if !child.end(options.limit, stop) {
                                let (op, limit) = (selected.entry.op(), options.limit);
                                progress.say(&format!(
                                    "{op}: its process did not end within {limit:?} of its last row, and was killed"
                                ));
                            }
                            break;
                        }
                        continue;
                    }
                    Next::Said(Message::Changed) => (Failure::new(FailureKind::Changed, CHANGED), rest.len()),
                    Next::Late => (child.kill(limit, begun.is_some()), 1),
                    Next::Gone => (child.gone(), 1),
                    Next::Stopped(signal) => {
                        summary.stopped = Some(signal);
                        return Ok(summary);
                    }
                };
                in_rows += begun.map_or(Duration::ZERO, |begun| begun.elapsed());
                for call in rest.drain(..lost.min(rest.len())) {
                    let mut record = price::record(REGISTRY, &selected.entry, call);
                    record.seed = Some(row_seed(selected.entry.op(), &call.case_id));
                    record.failure = Some(Box::new(failure.clone()));
                    record.run = Some(run.clone());
                    record.device.clone_from(&device);
                    summary.count(&record);
                    progress.done(&record, || sink(&record))?;
                }
                break;
            }
            summary.starts += start.elapsed().saturating_sub(in_rows);
            // Between two children there is nobody who is waited for.
            if let Some(signal) = stop.signal() {
                summary.stopped = Some(signal);
                return Ok(summary);
            }
        }
    }
    Ok(summary)
}

/// What is said of rows whose entry is another one by now.
const CHANGED: &str = "the entry was changed in the manifest, or taken out of it, since the run began: --resume runs the row as \
                       the entry has it then";

impl Summary {
    fn count(&mut self, record: &Record) {
        self.rows += 1;
        self.failed += usize::from(record.failure.is_some());
    }
}

/// A child.
struct Worker {
    process: Child,
    /// Closed when the child is to end.
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
    stderr: Option<Said>,
}

/// What a child does next.
enum Next {
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

impl Worker {
    fn start(job: &Job) -> Result<Self> {
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
        Ok(Worker { process, stdin, lines, stderr })
    }

    fn next(&mut self, limit: Duration, stop: &Stop) -> Next {
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
    fn end(&mut self, limit: Duration, stop: &Stop) -> bool {
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

    fn kill(&mut self, limit: Duration, has_begun: bool) -> Failure {
        let ending = if self.end_now() { "was killed" } else { "could not even be killed" };
        let what = if has_begun { "nothing came of it" } else { "its process did not begin with it" };
        Failure::new(FailureKind::Hung, format!("{what} in {limit:?}, and the process {ending}"))
    }

    /// What ended a child that should not have.
    fn gone(&mut self) -> Failure {
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

impl Drop for Worker {
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
