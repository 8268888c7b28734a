//! The child: the rows of one op, one after another. What a kernel does to the process costs its own row.

use std::io::{BufRead as _, Read as _, Write as _};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow};
use serde::{Deserialize, Serialize};
use tileops_analyzer::workload::Call;
use tileops_device::DeviceError;
use tileops_ops::generated::REGISTRY;
use tileops_ops::{OpError, Outputs, Tensor};
use tileops_record::{Device, Failure, FailureKind, Record};
use tileops_reference::{Place, Reference, Target};

use crate::fault::{Fault, Faulty, Injection};
use crate::inputs::{Drawn, Set, row_seed};
use crate::judge::{self, Before};
use crate::machine::{Machine, Which};
use crate::price;
use crate::rows::{Entry, Manifest};
use crate::sample::{Effort, measure};
use crate::tell::Spent;

/// What a child is to do: the first line of its standard input, as JSON.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Job {
    /// The manifest's folder.
    pub manifest: PathBuf,
    /// The op.
    pub op: String,
    /// Its entry's hash when the run began.
    pub entry_hash: String,
    /// The cases of its rows.
    pub cases: Vec<String>,
    /// What runs it.
    pub which: Which,
    /// What its inputs show.
    pub drawn: Drawn,
    /// How many samples.
    pub effort: Effort,
    /// Faults on purpose.
    pub faults: Vec<Injection>,
}

impl Job {
    /// Whether the fault is one of the op's process.
    fn has(&self, fault: Fault) -> bool {
        self.faults.iter().any(|injected| injected.fault == fault && injected.op == self.op)
    }
}

/// What a child says: a line of its standard output each, as JSON.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum Message {
    /// The machine is taken up.
    Ready(Box<Device>),
    /// There is no such machine, or no such op: no child will do better.
    Refused(String),
    /// The op's entry is another one by now: none of its rows is run.
    Changed,
    /// A row begins.
    Begin(String),
    /// A row is done. Where the process is spent, it ends here.
    Done {
        /// The row's record.
        record: Box<Record>,
        /// Where its time went.
        spent: Spent,
        /// Whether the process can run no other row.
        is_spent: bool,
    },
}

/// Does the job that standard input states.
pub fn run() -> Result<()> {
    let mut line = String::new();
    std::io::stdin().lock().read_line(&mut line).context("cannot read the job")?;
    let job: Job = serde_json::from_str(&line).context("the job is not one")?;
    end_with_parent();
    let manifest = match Manifest::read_some(&job.manifest, |op| op == job.op) {
        Ok(manifest) => manifest,
        Err(error) => return tell(&Message::Refused(format!("{error:#}"))),
    };
    let Some(entry) = manifest.entries().next().filter(|entry| entry.hash() == job.entry_hash) else {
        return tell(&Message::Changed);
    };
    let taken = || -> Result<(Arc<dyn Machine>, &'static Reference)> {
        let reference = tileops_reference::of(&job.op).ok_or_else(|| anyhow!("{} has no reference", job.op))?;
        Ok((job.which.open()?, reference))
    };
    let (machine, reference) = match taken() {
        Ok(taken) => taken,
        Err(error) => return tell(&Message::Refused(format!("{error:#}"))),
    };
    if job.has(Fault::SlowStart) {
        std::thread::sleep(Duration::from_secs(3));
    }
    let device = Arc::new(machine.describe());
    tell(&Message::Ready(Box::new((*device).clone())))?;
    for case in &job.cases {
        // Its text is the same, and what it refers to is not: another entry's.
        let Some(call) = entry.call(case) else { return tell(&Message::Changed) };
        tell(&Message::Begin(case.clone()))?;
        let mut record = price::record(REGISTRY, &entry, call);
        record.device = Some(device.clone());
        record.seed = Some(row_seed(entry.op(), case));
        if job.drawn != Drawn::default() {
            record.extra.insert("drawn", job.drawn.to_string());
        }
        let mut row = Row { job: &job, machine: &machine, reference, entry: &entry, call, spent: Spent::default() };
        let mut is_spent = false;
        if record.failure.is_none()
            && let Err(error) = row.run(&mut record)
        {
            let (failure, lost) = failure(&error);
            (record.failure, is_spent) = (Some(Box::new(failure)), lost);
        }
        let spent = row.spent;
        tell(&Message::Done { record: Box::new(record), spent, is_spent })?;
        if is_spent {
            break;
        }
    }
    while job.has(Fault::Linger) {
        std::thread::park();
    }
    Ok(())
}

/// Ends this process when its parent has: the parent keeps the pipe of standard input open for as long as it lives. That is
/// so in the middle of a call, too, which may never return: nothing is waited for, and no fault is made of it.
pub fn end_with_parent() {
    std::thread::spawn(|| {
        let mut rest = Vec::new();
        let _ = std::io::stdin().lock().read_to_end(&mut rest);
        signal_hook::low_level::exit(1);
    });
}

fn tell(message: &Message) -> Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    let mut out = std::io::stdout().lock();
    out.write_all(&line).and_then(|()| out.flush()).context("the parent is gone")
}

/// A row's failure, and whether the process can run no other row. A context that is lost answers every call with the same
/// error.
fn failure(error: &anyhow::Error) -> (Failure, bool) {
    let device = error.chain().find_map(|cause| cause.downcast_ref::<DeviceError>());
    let (kind, is_spent) = match (device, error.downcast_ref()) {
        (Some(device), _) if device.is_out_of_memory() => (FailureKind::OutOfMemory, false),
        (Some(device), _) if device.is_fatal() => (FailureKind::Crashed, true),
        (_, Some(OpError::Refused { .. })) => (FailureKind::Refused, false),
        _ => (FailureKind::Failed, false),
    };
    (Failure::new(kind, format!("{error:#}")), is_spent)
}

/// One row.
struct Row<'a> {
    job: &'a Job,
    machine: &'a Arc<dyn Machine>,
    reference: &'static Reference,
    entry: &'a Entry<'a>,
    call: &'a Call,
    spent: Spent,
}

/// Runs `work`, and adds the time that it takes.
fn timed<T>(seconds: &mut f64, work: impl FnOnce() -> Result<T>) -> Result<T> {
    let start = Instant::now();
    let done = work();
    *seconds += start.elapsed().as_secs_f64();
    done
}

/// The most sets of inputs that take turns.
const SETS: usize = 16;

impl Row<'_> {
    fn run(&mut self, record: &mut Record) -> Result<()> {
        let described = self.entry.called(REGISTRY, self.call)?;
        let checked = described.completed_call()?;
        let (machine, mut spent) = (self.machine.clone(), self.spent);
        timed(&mut spent.compile, || machine.compile(checked))?;
        let set = |number| self.set(checked, number);
        let first = timed(&mut spent.inputs, || set(0));
        self.spent = spent;
        let mut first = first?;

        let mut reading = 0.0;
        let judged = timed(&mut spent.correctness, || self.judge(&mut first, record, &mut reading));
        (spent.reading, spent.correctness) = (reading, spent.correctness - reading);
        self.spent = spent;
        if let Some(fault) = judged? {
            let failure = Failure::new(FailureKind::Wrong, fault);
            record.failure = Some(Box::new(failure));
            return Ok(());
        }

        let (due, most) = machine.rotation();
        let each = first.storage().max(1);
        let count = due.div_ceil(each).clamp(2, SETS).min(most / each).max(1);
        let mut sets = vec![first];
        let made = timed(&mut spent.inputs, || {
            for number in 1..count {
                sets.push(self.set(checked, number)?);
            }
            Ok(())
        });
        self.spent = spent;
        made?;
        let timing = timed(&mut spent.samples, || measure(&*machine, &mut sets, &self.job.effort));
        if let Ok(timing) = &timing {
            spent.kernels += timing.samples.unwrap_or(0) as f64 * timing.device_busy_ns / 1e9;
        }
        self.spent = spent;
        record.timing = Some(Box::new(timing?));
        Ok(())
    }

    fn set(&self, checked: &tileops_ops::CheckedCall, number: usize) -> Result<Set> {
        let mut set =
            Set::new(&**self.machine, self.reference, self.entry, self.call, checked, self.job.drawn.0, number)?;
        let injected = self.job.faults.iter().find(|fault| fault.is_of(self.entry.op(), &self.call.case_id));
        if let (Some(injected), Some(inner)) = (injected, self.machine.implementation(self.entry.op())) {
            let faulty = Faulty { inner, fault: injected.fault, machine: self.machine.clone() };
            set.op.state_mut().implement(Arc::new(faulty));
        }
        Ok(set)
    }

    /// Makes the first call, and holds what it writes to the reference: says what is wrong.
    fn judge(&self, set: &mut Set, record: &mut Record, reading: &mut f64) -> Result<Option<String>> {
        let machine = &**self.machine;
        let mut before = Before::new();
        for input in &set.inputs {
            let bytes = timed(reading, || machine.read(&input.tensor))?;
            before.push((input.name.clone(), input.tensor.clone(), bytes));
        }
        let due = set.op.check_call(&set.arguments)?;
        let outputs: Vec<Tensor> = due.outputs().iter().filter_map(|(_, tensor)| tensor.clone()).collect();
        let mutated: Vec<Tensor> =
            set.inputs.iter().filter(|input| input.is_written).map(|input| input.tensor.clone()).collect();
        machine.poison(&outputs, &mutated)?;
        let outputs = set.op.call(&set.arguments)?;
        // The op that ran says what its call costs.
        price::of_call(&*set.op, record)?;
        let roof_key = record.roof_key.as_deref().unwrap_or_default().to_owned();
        let checked = set.op.completed_call()?;
        let seed = row_seed(self.entry.op(), &self.call.case_id);
        let written = |target: &Target| {
            let tensor = written(target, &outputs, set)?;
            Ok((tensor.dtype, timed(reading, || machine.read(tensor))?))
        };
        let mut judgment = judge::judge(self.reference, checked, &before, &roof_key, seed, written)?;
        if judgment.fault.is_none()
            && let Some(fault) = timed(reading, || stored_past(machine, &outputs, set))?
        {
            (judgment.correctness.passed, judgment.fault) = (false, Some(fault));
        }
        record.correctness = Some(Box::new(judgment.correctness));
        drop(outputs);
        set.renew(machine)?;
        Ok(judgment.fault)
    }
}

/// What the call stored past the end of an output, or of an input that it mutates.
fn stored_past(machine: &dyn Machine, outputs: &Outputs, set: &Set) -> Result<Option<String>> {
    let outputs = outputs.iter().filter_map(|(name, tensor)| Some((*name, tensor.as_ref()?)));
    let mutated = set.inputs.iter().filter(|input| input.is_written).map(|input| (&*input.name, &input.tensor));
    for (name, tensor) in outputs.chain(mutated) {
        if let Some(fault) = judge::stored_past(name, &machine.past(tensor)?) {
            return Ok(Some(fault));
        }
    }
    Ok(None)
}

/// The tensor that a target is.
fn written<'a>(target: &Target, outputs: &'a Outputs, set: &'a Set) -> Result<&'a Tensor> {
    let output = || outputs.iter().find(|(name, _)| *name == target.name).and_then(|(_, tensor)| tensor.as_ref());
    let input = |name: &str| set.inputs.iter().find(|input| input.name == name).map(|input| &input.tensor);
    let found = match target.place {
        Place::Output => output(),
        Place::In(of) => output().or_else(|| input(of)),
        Place::Input => input(target.name),
    };
    found.ok_or_else(|| anyhow!("the call has no `{}` that it could write", target.name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn driver(name: &str, is_fatal: bool) -> DeviceError {
        DeviceError::Driver { doing: "launching".to_owned(), name: name.to_owned(), text: "text".to_owned(), is_fatal }
    }

    /// The error's type decides, however much was said around it, and no text does.
    #[test]
    fn a_failure_is_of_the_kind_of_the_error_that_caused_it() {
        let of_op = |error: DeviceError| anyhow!(OpError::failed("DemoFwdOp", error)).context("the third call");
        let refused = OpError::refused("DemoFwdOp", "signature.inputs.x", "it is named CUDA_ERROR_ILLEGAL_ADDRESS");
        for (error, kind, is_spent) in [
            (of_op(driver("CUDA_ERROR_OUT_OF_MEMORY", false)), "out_of_memory", false),
            (anyhow!(driver("CUDA_ERROR_OUT_OF_MEMORY", false)), "out_of_memory", false),
            (of_op(driver("CUDA_ERROR_ILLEGAL_ADDRESS", true)), "crashed", true),
            (anyhow!(driver("CUDA_ERROR_LAUNCH_FAILED", true)).context("reading"), "crashed", true),
            (of_op(driver("CUDA_ERROR_INVALID_VALUE", false)), "failed", false),
            (anyhow!(refused).context("a row"), "refused", false),
            (anyhow!("the log speaks of CUDA_ERROR_OUT_OF_MEMORY"), "failed", false),
        ] {
            let said = format!("{error:#}");
            let (failure, spent) = failure(&error);
            assert_eq!((failure.kind.as_ref(), spent), (kind, is_spent), "{said}");
            assert_eq!(failure.message.as_deref(), Some(&*said));
        }
        let said = format!("{:#}", of_op(driver("CUDA_ERROR_ILLEGAL_ADDRESS", true)));
        assert_eq!(
            said,
            "the third call: DemoFwdOp: the implementation failed: launching: CUDA_ERROR_ILLEGAL_ADDRESS (text)"
        );
    }
}
