//! The parent: a child an op. A child that crashes, hangs or runs out of memory costs the row that it was at; the rows behind
//! it go to a new one.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use tileops_analyzer::workload::Call;
use tileops_ops::generated::REGISTRY;
use tileops_record::{Device, Failure, FailureKind, Record, Run};

use crate::child::{Child, Next};
use crate::fault::Injection;
use crate::inputs::Drawn;
use crate::inputs::row_seed;
use crate::machine::Which;
use crate::price;
use crate::sample::Effort;
use crate::select::Selected;
use crate::stop::Stop;
use crate::tell::{Progress, Spent};
use crate::worker::{Job, Message};

/// How rows are run.
#[derive(Debug, Clone)]
pub struct Options {
    /// What runs them.
    pub which: Which,
    /// What their inputs show.
    pub drawn: Drawn,
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

/// How long a child may take to start, at least.
const START: Duration = Duration::from_secs(120);

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
            let mut child = Child::start(&Job {
                manifest: manifest.to_owned(),
                op: selected.entry.op().to_owned(),
                entry_hash: selected.entry.hash(),
                cases: rest.iter().map(|call| call.case_id.clone()).collect(),
                which: options.which,
                drawn: options.drawn,
                effort: options.effort,
                faults: options.faults.clone(),
            })?;
            summary.processes += 1;
            let mut begun: Option<Instant> = None;
            loop {
                // What a process takes to start is no row's time.
                let limit = if begun.is_some() { options.limit } else { options.limit.max(START) };
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
