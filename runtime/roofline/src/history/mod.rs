//! Many nights: a trend per row, what became slower and stayed so, when a formula or a profile changed.

mod nights;
mod parquet;
mod trend;

pub use nights::{Night, Problem, ProfileChange, nights};
pub use parquet::write_parquet;
pub use trend::{Direction, Trend};

use std::collections::BTreeMap;

use tileops_record::Record;

use crate::compare::{Judged, Key, Options, Stated, Verdict, judge, stated};
use crate::price::{Priced, price};

/// How many nights before one its baseline holds at most: more would hold on to what a machine was like long ago.
const BASELINE: usize = 7;

/// Everything that the nights say.
#[derive(Debug)]
pub struct History {
    /// The nights, oldest first.
    pub nights: Vec<Night>,
    /// The ops' own rows, in the order of their keys.
    pub rows: Vec<RowHistory>,
    /// The nights from which on another profile priced the records.
    pub profiles: Vec<ProfileChange>,
}

/// One row over the nights.
#[derive(Debug)]
pub struct RowHistory {
    /// The row.
    pub key: Key,
    /// The nights that have it, oldest first.
    pub points: Vec<Point>,
    /// What happened to it, oldest first.
    pub events: Vec<Event>,
    /// Where its time is heading since it last changed.
    pub trend: Option<Trend>,
}

/// One row of one night.
#[derive(Debug)]
pub struct Point {
    /// The night, as an index into [`History::nights`].
    pub night: usize,
    /// The night's records of the row, as indices into [`Night::records`]: its runs.
    pub records: Vec<usize>,
    /// The actual time in nanoseconds: the median of the runs'.
    pub ns: Option<f64>,
    /// What the night's last record of the row is worth under the night's profile.
    pub priced: Priced,
    /// The night against its baseline, the nights before it since the row last changed. Nothing for the first one.
    pub judged: Option<Judged>,
}

/// What happened to a row in one night.
#[derive(Debug)]
pub struct Event {
    /// The night.
    pub night: usize,
    /// What happened.
    pub what: What,
}

/// What can happen to a row.
#[derive(Debug)]
pub enum What {
    /// It became slower or faster.
    Time {
        /// The night against its baseline.
        judged: Judged,
        /// Whether the newest nights are still slower than that baseline. Never of a row that became faster.
        open: bool,
    },
    /// The op states other work than the night before.
    Formula(Vec<Stated>),
    /// It was timed before and fails now.
    Failed(String),
}

impl RowHistory {
    /// The change that made the row slower and was not undone since.
    pub fn regression(&self) -> Option<(usize, &Judged)> {
        self.events.iter().rev().find_map(|event| match &event.what {
            What::Time { judged, open: true } => Some((event.night, judged)),
            _ => None,
        })
    }
}

impl History {
    /// Reads the history out of `nights`, oldest first.
    pub fn new(nights: Vec<Night>, options: &Options) -> History {
        let mut by_key: BTreeMap<Key, Vec<(usize, Vec<usize>)>> = BTreeMap::new();
        for (night, entry) in nights.iter().enumerate() {
            for (at, record) in entry.records.iter().enumerate().filter(|(_, r)| r.peer.is_none()) {
                let points = by_key.entry(Key::of(record)).or_default();
                match points.last_mut() {
                    Some((last, records)) if *last == night => records.push(at),
                    _ => points.push((night, vec![at])),
                }
            }
        }
        let rows = by_key.into_iter().map(|(key, points)| row(key, points, &nights, options)).collect();
        let profiles = ProfileChange::of(&nights);
        History { nights, rows, profiles }
    }

    /// How many rows have a regression that was not undone.
    pub fn regressions(&self) -> usize {
        self.rows.iter().filter(|row| row.regression().is_some()).count()
    }
}

fn row(key: Key, points: Vec<(usize, Vec<usize>)>, nights: &[Night], options: &Options) -> RowHistory {
    let mut row = RowHistory { key, points: Vec::new(), events: Vec::new(), trend: None };
    // The runs since the row last changed, oldest first.
    let mut baseline: Vec<&Record> = Vec::new();
    let mut before: Option<&Record> = None;
    // The baselines of the slowdowns, each with the event's place.
    let mut slowdowns: Vec<(usize, Vec<&Record>)> = Vec::new();
    let mut since = 0;
    for (night, records) in points {
        let runs: Vec<&Record> = records.iter().map(|at| &nights[night].records[*at]).collect();
        let Some(&last) = runs.last() else { continue };
        if let Some(before) = before {
            let formula = stated(&[before], &[last]);
            if !formula.is_empty() {
                row.events.push(Event { night, what: What::Formula(formula) });
            }
        }
        let judged = (!baseline.is_empty()).then(|| judge(recent(&baseline), &runs, options));
        if let Some(judged) = &judged {
            match judged.verdict {
                Verdict::Slower | Verdict::Faster => {
                    if judged.verdict == Verdict::Slower {
                        slowdowns.push((row.events.len(), recent(&baseline).to_vec()));
                    }
                    row.events.push(Event { night, what: What::Time { judged: judged.clone(), open: false } });
                    baseline.clear();
                    since = row.points.len();
                }
                Verdict::Unknown if judged.reasons.contains(&crate::compare::Reason::Failed) => {
                    let detail = judged.detail.clone().unwrap_or_default();
                    let again =
                        matches!(row.events.last(), Some(Event { what: What::Failed(said), .. }) if *said == detail);
                    if !again {
                        row.events.push(Event { night, what: What::Failed(detail) });
                    }
                }
                // Another device, source or policy: what was before is no baseline for what comes.
                Verdict::Unknown if runs.iter().any(|r| r.timing.is_some()) => {
                    baseline.clear();
                    since = row.points.len();
                }
                _ => {}
            }
        }
        baseline.extend(runs.iter().copied().filter(|r| r.timing.is_some()));
        let mut times: Vec<f64> = runs
            .iter()
            .filter_map(|r| Some(r.timing.as_ref()?.actual_ns()))
            .filter(|ns| ns.is_finite() && *ns > 0.0)
            .collect();
        times.sort_by(f64::total_cmp);
        let priced = match &nights[night].profile {
            Some(profile) => price(last, profile),
            None => Priced::without_profile(),
        };
        row.points.push(Point { night, records, ns: tileops_record::stats::median(&times), priced, judged });
        before = Some(last);
    }
    for (at, old) in slowdowns {
        let still = judge(&old, recent(&baseline), options).verdict == Verdict::Slower;
        if let What::Time { open, .. } = &mut row.events[at].what {
            *open = still;
        }
    }
    let steady: Vec<(f64, f64)> = row.points[since..].iter().filter_map(|p| Some((p.night as f64, p.ns?))).collect();
    row.trend = Trend::of(&steady);
    row
}

/// The newest runs of a baseline.
fn recent<'a, 'b>(baseline: &'b [&'a Record]) -> &'b [&'a Record] {
    &baseline[baseline.len().saturating_sub(BASELINE)..]
}
