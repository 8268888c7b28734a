//! The parent: a child an op. A child that crashes, hangs or runs out of memory costs the row that it was at; the rows behind
//! it go to a new one.

use std::collections::VecDeque;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use tileops_analyzer::workload::Call;
use tileops_ops::generated::REGISTRY;
use tileops_record::{Device, Failure, Record, Run};

use crate::fault::Injection;
use crate::inputs::row_seed;
use crate::machine::Which;
use crate::price;
use crate::sample::Effort;
use crate::select::Selected;
use crate::tell::{Progress, Spent};
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
}

/// The hidden argument by which a child knows what it is.
pub const WORKER: &str = "--worker";

/// Runs rows, and gives their records to `sink` as they come.
pub fn run(
    manifest: &Path,
    ops: &[Selected<'_>],
    options: &Options,
    run: &Arc<Run>,
    progress: &Progress,
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
                cases: rest.iter().map(|call| call.case_id.clone()).collect(),
                which: options.which,
                effort: options.effort,
                faults: options.faults.clone(),
            })?;
            summary.processes += 1;
            let mut begun = Instant::now();
            loop {
                let failure = match child.next(options.limit) {
                    Next::Said(Message::Ready(found)) => {
                        device = Some(Arc::new(*found));
                        continue;
                    }
                    Next::Said(Message::Refused(why)) => bail!(why),
                    Next::Said(Message::Begin(case)) => {
                        begun = Instant::now();
                        progress.begin(selected.entry.op(), &case);
                        continue;
                    }
                    Next::Said(Message::Done { mut record, spent, is_spent }) => {
                        in_rows += begun.elapsed();
                        rest.pop_front();
                        record.run = Some(run.clone());
                        record.device.clone_from(&device);
                        summary.spent += spent;
                        summary.count(&record);
                        sink(&record)?;
                        progress.done(&record);
                        if is_spent || rest.is_empty() {
                            child.end();
                            break;
                        }
                        continue;
                    }
                    Next::Late => child.kill(options.limit),
                    Next::Gone => child.gone(),
                };
                in_rows += begun.elapsed();
                let Some(call) = rest.pop_front() else { break };
                let mut record = price::record(REGISTRY, &selected.entry, call);
                record.seed = Some(row_seed(selected.entry.op(), &call.case_id));
                record.failure = Some(Box::new(failure));
                record.run = Some(run.clone());
                record.device.clone_from(&device);
                summary.count(&record);
                sink(&record)?;
                progress.done(&record);
                break;
            }
            summary.starts += start.elapsed().saturating_sub(in_rows);
        }
    }
    Ok(summary)
}

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
    stderr: Option<JoinHandle<String>>,
}

/// What a child does next.
enum Next {
    Said(Message),
    /// Nothing, for too long.
    Late,
    /// It ended.
    Gone,
}

impl Worker {
    fn start(job: &Job) -> Result<Self> {
        let program = std::env::current_exe().context("cannot find this program")?;
        let mut process = Command::new(program)
            .arg(WORKER)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .context("cannot start a process for an op")?;
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
        let stderr = process.stderr.take().map(|mut stderr| {
            std::thread::spawn(move || {
                let mut bytes = Vec::new();
                let _ = stderr.read_to_end(&mut bytes);
                String::from_utf8_lossy(&bytes).into_owned()
            })
        });
        Ok(Worker { process, stdin, lines, stderr })
    }

    fn next(&mut self, limit: Duration) -> Next {
        loop {
            match self.lines.recv_timeout(limit) {
                Ok(line) => match serde_json::from_str(&line) {
                    Ok(message) => return Next::Said(message),
                    // Something else has written to the child's standard output.
                    Err(_) => continue,
                },
                Err(RecvTimeoutError::Timeout) => return Next::Late,
                Err(RecvTimeoutError::Disconnected) => return Next::Gone,
            }
        }
    }

    /// Lets a child that has nothing left to do end.
    fn end(&mut self) {
        // It ends by itself; its pipe stays open until it has, since a closed one means that nobody waits for it.
        let _ = self.process.wait();
        self.stdin = None;
    }

    fn kill(&mut self, limit: Duration) -> Failure {
        let _ = self.process.kill();
        let _ = self.process.wait();
        let message = format!("nothing came of it in {} s, and its process was killed", limit.as_secs_f64());
        Failure { kind: "hung".into(), message: Some(message), ..Failure::default() }
    }

    /// What ended a child that should not have.
    fn gone(&mut self) -> Failure {
        let status = self.process.wait();
        let said = self.stderr.take().and_then(|thread| thread.join().ok()).unwrap_or_default();
        let mut message = match status {
            Ok(status) => ended(status),
            Err(error) => format!("its process cannot be waited for: {error}"),
        };
        let last: Vec<&str> = said.lines().rev().filter(|line| !line.trim().is_empty()).take(4).collect();
        if !last.is_empty() {
            message += ": ";
            message += &last.into_iter().rev().collect::<Vec<_>>().join(" / ");
        }
        let is_out_of_memory = said.contains("memory allocation of") && said.contains("failed");
        let kind = if is_out_of_memory { "out_of_memory" } else { "crashed" };
        Failure { kind: kind.into(), message: Some(message), ..Failure::default() }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // After an error of this process: no child outlives it.
        if matches!(self.process.try_wait(), Ok(None)) {
            let _ = self.process.kill();
            let _ = self.process.wait();
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
