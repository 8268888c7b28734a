//! What a run says while it goes on, and where its time went.

use std::io::{IsTerminal as _, Write as _};
use std::iter::Sum;
use std::ops::{Add, AddAssign};
use std::time::Duration;

use anyhow::Result;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde::{Deserialize, Serialize};
use tileops_record::Record;

/// A line on standard error. A reader that has gone away is no reason to fail.
pub fn say(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// So many of them: `1 row`, `2 rows`.
pub fn many(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// Where a row's time went, in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Spent {
    /// Samples: calls, with what comes before each.
    pub samples: f64,
    /// How much of that the device was busy with the samples' kernels: their number times the median.
    pub kernels: f64,
    /// The reference, and comparing with it.
    pub correctness: f64,
    /// Reading tensors back for it.
    pub reading: f64,
    /// Drawing inputs.
    pub inputs: f64,
    /// Compiling kernels.
    pub compile: f64,
}

impl Add for Spent {
    type Output = Spent;

    fn add(self, other: Spent) -> Spent {
        Spent {
            samples: self.samples + other.samples,
            kernels: self.kernels + other.kernels,
            correctness: self.correctness + other.correctness,
            reading: self.reading + other.reading,
            inputs: self.inputs + other.inputs,
            compile: self.compile + other.compile,
        }
    }
}

impl AddAssign for Spent {
    fn add_assign(&mut self, other: Spent) {
        *self = *self + other;
    }
}

impl Sum for Spent {
    fn sum<I: Iterator<Item = Spent>>(parts: I) -> Spent {
        parts.fold(Spent::default(), Add::add)
    }
}

/// The split of a run's wall time, as text.
pub fn split(spent: Spent, starts: Duration, processes: usize, wall: Duration) -> String {
    let starts = starts.as_secs_f64();
    let known = spent.samples + spent.correctness + spent.reading + spent.inputs + spent.compile + starts;
    let rest = (wall.as_secs_f64() - known).max(0.0);
    let beside = if spent.samples > 0.0 { (wall.as_secs_f64() - starts) / spent.samples } else { 0.0 };
    format!(
        "{:.1} s: samples {:.1} (kernels {:.1}), correctness {:.1}, reading back {:.1}, inputs {:.1}, compile {:.1}, {processes} process starts {starts:.1}, \
         rest {rest:.1}; {beside:.2} times the samples without the starts",
        wall.as_secs_f64(),
        spent.samples,
        spent.kernels,
        spent.correctness,
        spent.reading,
        spent.inputs,
        spent.compile,
    )
}

/// A bar on a terminal, and a line a row.
#[derive(Debug)]
pub struct Progress(ProgressBar);

impl Progress {
    /// Of that many rows.
    pub fn new(rows: usize) -> Self {
        match std::io::stderr().is_terminal() {
            true => Progress::on(ProgressDrawTarget::stderr(), rows),
            false => Progress(ProgressBar::hidden()),
        }
    }

    fn on(target: ProgressDrawTarget, rows: usize) -> Self {
        let style = ProgressStyle::with_template("{bar:30} {pos}/{len} {elapsed}, {eta} left  {msg}");
        let bar = ProgressBar::with_draw_target(Some(rows as u64), target);
        Progress(style.map_or(bar.clone(), |style| bar.clone().with_style(style)))
    }

    /// A row begins.
    pub fn begin(&self, op: &str, case: &str) {
        self.0.set_message(format!("{op} {case}"));
        self.0.tick();
    }

    /// A row is done: keeps its record, which may be printed where the bar is, and says what came of it.
    pub fn done(&self, record: &Record, keep: impl FnOnce() -> Result<()>) -> Result<()> {
        let text = line(record);
        let kept = self.0.suspend(|| {
            keep()?;
            say(&text);
            Ok(())
        });
        self.0.inc(1);
        kept
    }

    /// Says something between two rows.
    pub fn say(&self, text: &str) {
        self.0.suspend(|| say(text));
    }

    /// All are.
    pub fn end(&self) {
        self.0.finish_and_clear();
    }
}

/// A row's outcome: `ReluFwdOp small-float32  12.35 us (12.10 to 12.61, 204 samples)`.
fn line(record: &Record) -> String {
    let name = format!("{} {}", record.op, record.case);
    if let Some(failure) = &record.failure {
        return format!("{name}  {}: {}", failure.kind, failure.message.as_deref().unwrap_or_default());
    }
    let Some(timing) = &record.timing else { return name };
    let us = |ns: f64| ns / 1e3;
    let spread = match (timing.p10_ns, timing.p90_ns) {
        (Some(low), Some(high)) => format!("{:.2} to {:.2}, ", us(low), us(high)),
        _ => String::new(),
    };
    let by = if *timing.source == *"cupti" { String::new() } else { format!(", by {}", timing.source) };
    format!("{name}  {:.2} us ({spread}{} samples{by})", us(timing.actual_ns()), timing.samples.unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bar_is_not_there_while_a_record_is_printed() {
        let terminal = indicatif::InMemoryTerm::new(10, 80);
        let progress = Progress::on(ProgressDrawTarget::term_like(Box::new(terminal.clone())), 2);
        progress.begin("ExpFwdOp", "square");
        assert!(terminal.contents().contains("0/2"), "{}", terminal.contents());
        let mut seen = None;
        let keep = || {
            seen = Some(terminal.contents());
            Ok(())
        };
        progress.done(&Record::new("ExpFwdOp", "square"), keep).expect("it is kept");
        assert_eq!(seen.as_deref(), Some(""));
    }

    #[test]
    fn the_split_adds_up() {
        let one = Spent { samples: 1.0, kernels: 0.25, correctness: 0.5, reading: 0.25, inputs: 0.25, compile: 0.125 };
        let both: Spent = [one, one].into_iter().sum();
        let text = split(both, Duration::from_secs(2), 3, Duration::from_secs(8));
        let due = "8.0 s: samples 2.0 (kernels 0.5), correctness 1.0, reading back 0.5, inputs 0.5, compile 0.2, 3 process starts 2.0, \
                   rest 1.8; 3.00 times";
        assert!(text.starts_with(due), "{text}");
    }
}
