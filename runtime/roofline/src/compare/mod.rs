//! Two sets of records against each other, row by row.
//!
//! A verdict is decided by intervals and confirmed by clocks ([`judge`]): a ratio of medians alone decides nothing. What
//! the op says of itself (its FLOPs, its bytes, its roof key) is compared apart from what the device measured.

mod judge;
mod reason;

pub use judge::{Interval, Judged, Options, Side, judge};
pub use reason::Reason;

use std::collections::BTreeMap;
use std::fmt;

use tileops_record::stats::median;
use tileops_record::{Record, Text};

/// What became of a row's time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Verdict {
    /// The intervals lie apart and the clocks do not explain it: the new time is the longer one.
    Slower,
    /// The intervals lie apart and the clocks do not explain it: the new time is the shorter one.
    Faster,
    /// There is evidence, and it does not decide.
    Ambiguous,
    /// There is no evidence, or none that can be compared.
    Unknown,
    /// The intervals overlap, and are narrow enough that a change would have shown.
    Same,
}

impl Verdict {
    /// Every verdict, the one to look at first in front.
    pub const ALL: [Verdict; 5] =
        [Verdict::Slower, Verdict::Faster, Verdict::Ambiguous, Verdict::Unknown, Verdict::Same];

    /// `slower`, `faster`, `ambiguous`, `unknown` or `same`.
    pub fn as_str(self) -> &'static str {
        match self {
            Verdict::Slower => "slower",
            Verdict::Faster => "faster",
            Verdict::Ambiguous => "ambiguous",
            Verdict::Unknown => "unknown",
            Verdict::Same => "same",
        }
    }
}

/// Names a row over all runs.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// The op.
    pub op: Text,
    /// The case.
    pub case: Text,
    /// The peer that ran instead of the op.
    pub peer: Option<Text>,
}

impl Key {
    /// The row that a record is of.
    pub fn of(record: &Record) -> Key {
        Key { op: record.op.clone(), case: record.case.clone(), peer: record.peer.clone() }
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.op, self.case)?;
        match &self.peer {
            Some(peer) => write!(f, " ({peer})"),
            None => Ok(()),
        }
    }
}

/// Something that an op states and that is no measurement, before and after.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stated {
    /// Which field of the record.
    pub field: &'static str,
    /// What it was.
    pub old: String,
    /// What it is.
    pub new: String,
}

impl fmt::Display for Stated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} -> {}", self.field, self.old, self.new)
    }
}

/// A row that both sides have.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// The row.
    pub key: Key,
    /// What became of its time, and why that is the verdict.
    pub judged: Judged,
    /// What the op states otherwise than before: a change of the formula, not of the time.
    pub formula: Vec<Stated>,
}

/// What two sets of records come to.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Comparison {
    /// The rows that both sides have, by verdict and then by how much their time changed.
    pub changes: Vec<Change>,
    /// The rows that only the new side has.
    pub added: Vec<Key>,
    /// The rows that only the old side has.
    pub removed: Vec<Key>,
    /// How the times of peers changed, new over old, in the median: peers are not what changed, the machine is.
    pub peers_ratio: Option<f64>,
}

impl Comparison {
    /// Compares `old` and `new`. Several records of one row on one side are its runs, and count together. Peers are no
    /// rows of their own unless `options` says so.
    pub fn new(old: &[Record], new: &[Record], options: &Options) -> Comparison {
        let (before, after) = (rows(old), rows(new));
        let mut comparison = Comparison::default();
        let mut peers = Vec::new();
        for (key, olds) in &before {
            let Some(news) = after.get(key) else {
                if key.peer.is_none() || options.peers {
                    comparison.removed.push(key.clone());
                }
                continue;
            };
            let judged = judge(olds, news, options);
            if key.peer.is_some() {
                peers.extend(judged.ratio());
                if !options.peers {
                    continue;
                }
            }
            let formula = stated(olds, news);
            comparison.changes.push(Change { key: key.clone(), judged, formula });
        }
        let own = |key: &&Key| key.peer.is_none() || options.peers;
        comparison.added = after.keys().filter(own).filter(|key| !before.contains_key(*key)).cloned().collect();
        comparison.changes.sort_by(|a, b| {
            let size = |c: &Change| c.judged.ratio().map_or(0.0, |r| -r.ln().abs());
            let verdict = |c: &Change| c.judged.verdict;
            verdict(a).cmp(&verdict(b)).then_with(|| size(a).total_cmp(&size(b))).then_with(|| a.key.cmp(&b.key))
        });
        peers.sort_by(f64::total_cmp);
        comparison.peers_ratio = median(&peers);
        comparison
    }

    /// How many rows have that verdict.
    pub fn count(&self, verdict: Verdict) -> usize {
        self.changes.iter().filter(|c| c.judged.verdict == verdict).count()
    }

    /// How many rows' formulas changed.
    pub fn formulas(&self) -> usize {
        self.changes.iter().filter(|c| !c.formula.is_empty()).count()
    }
}

fn rows(records: &[Record]) -> BTreeMap<Key, Vec<&Record>> {
    let mut rows: BTreeMap<Key, Vec<&Record>> = BTreeMap::new();
    for record in records {
        rows.entry(Key::of(record)).or_default().push(record);
    }
    rows
}

/// What the newest record of a row states otherwise than the last one before. A field that one side lacks is not
/// compared: an older tool may not have written it, and a row that failed may not have been priced.
pub fn stated(old: &[&Record], new: &[&Record]) -> Vec<Stated> {
    let (Some(old), Some(new)) = (old.last(), new.last()) else { return Vec::new() };
    let mut changed = Vec::new();
    let mut hold = |field: &'static str, old: Option<String>, new: Option<String>| {
        if let (Some(old), Some(new)) = (old, new)
            && old != new
        {
            changed.push(Stated { field, old, new });
        }
    };
    let count = |value: Option<u128>| value.map(|v| v.to_string());
    let text = |value: &Option<Text>| value.as_ref().map(Text::to_string);
    hold("flops", count(old.flops), count(new.flops));
    hold("bytes", count(old.bytes), count(new.bytes));
    hold("read_bytes", count(old.read_bytes), count(new.read_bytes));
    hold("roof_key", text(&old.roof_key), text(&new.roof_key));
    hold("entry_hash", text(&old.entry_hash), text(&new.entry_hash));
    changed
}
