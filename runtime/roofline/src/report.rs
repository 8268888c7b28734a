//! Priced records as the reports that people and scripts read.

mod compare;
mod csv;
mod history;
mod html;
mod json;
mod junit;
mod layout;
mod markdown;
mod svg;
mod table;

pub use compare::{CompareView, compare_json, compare_markdown, compare_table};
pub use csv::csv;
pub use history::{HistoryView, history_json, history_markdown, history_table};
pub use html::html;
pub use json::{json, json_line, json_row, json_summary};
pub use junit::junit;
pub use markdown::markdown;
pub use svg::svg;
pub use table::{TableOptions, table};

use std::io;

use rayon::iter::ParallelIterator;
use rayon::slice::ParallelSlice;
use tileops_record::{Record, Text};

use crate::price::{Priced, Verdict, price};
use crate::profile::Profile;

/// What a report says of one record: a million of them are in memory at a time, the records are not.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// The op.
    pub op: Text,
    /// The case.
    pub case: Text,
    /// The op's family.
    pub family: Option<Text>,
    /// The dtype by which the case is grouped.
    pub dtype: Option<Text>,
    /// The unit that prices the FLOPs.
    pub roof_key: Option<Text>,
    /// What took the time.
    pub source: Option<Text>,
    /// The record's FLOPs.
    pub flops: Option<u128>,
    /// The record's bytes.
    pub bytes: Option<u128>,
    /// The record's actual time in nanoseconds, whatever took it.
    pub actual_ns: Option<f64>,
    /// Its price under the report's profile.
    pub priced: Priced,
    /// The peers' rows of the same op and case: tag and actual time in nanoseconds, fastest first. Only peers that were
    /// timed by the same source count.
    pub peers: Box<[(Text, f64)]>,
}

/// A report: rows, in the order of the records, and what they come to.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// One row a record of an op itself; peers' records stand in their row.
    pub rows: Vec<Row>,
    /// The records of the rows, where they were kept.
    pub records: Vec<Record>,
    /// What the rows come to.
    pub summary: Summary,
    peers: Vec<Peer>,
}

/// A peer's time on a row.
#[derive(Debug, Clone, PartialEq)]
struct Peer {
    op: Text,
    case: Text,
    tag: Text,
    source: Text,
    ns: f64,
}

/// A record, priced on its own: what the others say of its row is not known yet.
#[derive(Debug)]
pub struct Unjoined(Item);

#[derive(Debug)]
enum Item {
    Own(Row),
    Peer(Option<Peer>),
}

/// Prices a record for a report that a [`Builder`] puts together.
pub fn price_one(record: &Record, profile: &Profile) -> Unjoined {
    Unjoined(match &record.peer {
        None => Item::Own(Row::new(record, profile)),
        Some(tag) => Item::Peer(Peer::new(record, tag)),
    })
}

/// What the rows of a report come to. A blank enters none of the shares.
#[derive(Debug, Clone, PartialEq)]
pub struct Summary {
    /// How many rows there are.
    pub rows: usize,
    /// How many of them have a reading.
    pub priced: usize,
    /// The median efficiency of the rows that have a reading and are neither latency-bound nor an anomaly nor a
    /// formula error.
    pub median_efficiency: Option<f64>,
    /// How many rows are at their ceiling.
    pub at_ceiling: usize,
    /// How many rows are above what the ceiling allows.
    pub anomalies: usize,
    /// How many rows are latency-bound.
    pub latency_bound: usize,
    /// How many rows imply a rate that is physically impossible.
    pub formula_errors: usize,
    /// How many rows a peer beats, of those that have one.
    pub behind_a_peer: usize,
    /// How many rows have a peer.
    pub with_peer: usize,
}

/// Puts a report together from priced records. It keeps no record.
#[derive(Debug, Default)]
pub struct Builder {
    rows: Vec<Row>,
    peers: Vec<Peer>,
}

impl Builder {
    /// Takes the next record.
    pub fn push(&mut self, Unjoined(item): Unjoined) {
        match item {
            Item::Own(row) => self.rows.push(row),
            Item::Peer(peer) => self.peers.extend(peer),
        }
    }

    /// Joins rows and peers.
    pub fn finish(self) -> Report {
        let Builder { mut rows, mut peers } = self;
        peers.sort_by(|a, b| a.key().cmp(&b.key()));
        if !peers.is_empty() {
            for row in &mut rows {
                row.peers = peers_of(row, &peers);
            }
        }
        let summary = Summary::of(&rows);
        Report { rows, records: Vec::new(), summary, peers }
    }
}

impl Report {
    /// Prices `records` against `profile`, and keeps them.
    pub fn new(records: Vec<Record>, profile: &Profile) -> Report {
        let mut builder = Builder::default();
        records.iter().for_each(|record| builder.push(price_one(record, profile)));
        let mut report = builder.finish();
        report.records = records.into_iter().filter(|r| r.peer.is_none()).collect();
        report
    }

    /// The row of `record` in this report, priced against `profile` again.
    pub fn row(&self, record: &Record, profile: &Profile) -> Row {
        let mut row = Row::new(record, profile);
        row.peers = peers_of(&row, &self.peers);
        row
    }

    /// Whether no row implies an impossible rate: the run's health.
    pub fn healthy(&self) -> bool {
        self.summary.formula_errors == 0
    }
}

impl Peer {
    fn new(record: &Record, tag: &Text) -> Option<Peer> {
        let timing = record.timing.as_ref()?;
        let ns = timing.actual_ns();
        let (op, case) = (record.op.clone(), record.case.clone());
        (ns.is_finite() && ns > 0.0).then(|| Peer { op, case, tag: tag.clone(), source: timing.source.clone(), ns })
    }

    fn key(&self) -> (&str, &str) {
        (&self.op, &self.case)
    }
}

fn peers_of(row: &Row, sorted: &[Peer]) -> Box<[(Text, f64)]> {
    let Some(source) = &row.source else { return Box::default() };
    let key = (&*row.op, &*row.case);
    let start = sorted.partition_point(|peer| peer.key() < key);
    let of_row = sorted[start..].iter().take_while(|peer| peer.key() == key);
    let mut peers: Vec<(Text, f64)> =
        of_row.filter(|peer| peer.source == *source).map(|peer| (peer.tag.clone(), peer.ns)).collect();
    peers.sort_by(|a, b| a.1.total_cmp(&b.1).then_with(|| a.0.cmp(&b.0)));
    peers.into_boxed_slice()
}

impl Row {
    fn new(record: &Record, profile: &Profile) -> Row {
        let timing = record.timing.as_deref();
        Row {
            op: record.op.clone(),
            case: record.case.clone(),
            family: record.family.clone(),
            dtype: record.dtype.clone(),
            roof_key: record.roof_key.clone(),
            source: timing.map(|t| t.source.clone()),
            flops: record.flops,
            bytes: record.bytes,
            actual_ns: timing.map(|t| t.actual_ns()),
            priced: price(record, profile),
            peers: Box::default(),
        }
    }

    /// The op's time over the fastest peer's: below 1 the op is the faster one.
    pub fn against_best_peer(&self) -> Option<f64> {
        let ours = self.actual_ns?;
        let (_, theirs) = self.peers.first()?;
        (ours.is_finite() && ours > 0.0).then(|| ours / theirs)
    }

    /// The record's FLOPs over its bytes.
    pub fn intensity(&self) -> Option<f64> {
        let (flops, bytes) = (self.flops?, self.bytes?);
        (bytes > 0).then(|| flops as f64 / bytes as f64)
    }
}

impl Summary {
    fn of(rows: &[Row]) -> Summary {
        let readings: Vec<_> = rows.iter().filter_map(|row| row.priced.reading.as_ref().ok()).collect();
        let mut honest: Vec<f64> = rows
            .iter()
            .filter(|row| row.priced.breaches.is_empty())
            .filter_map(|row| row.priced.reading.as_ref().ok())
            .filter(|r| !r.latency_bound && r.verdict != Verdict::Anomaly)
            .map(|r| r.efficiency)
            .collect();
        honest.sort_by(f64::total_cmp);
        let ratios: Vec<f64> = rows.iter().filter_map(Row::against_best_peer).collect();
        Summary {
            rows: rows.len(),
            priced: readings.len(),
            median_efficiency: median(&honest),
            at_ceiling: readings.iter().filter(|r| r.verdict == Verdict::AtCeiling).count(),
            anomalies: readings.iter().filter(|r| r.verdict == Verdict::Anomaly).count(),
            latency_bound: readings.iter().filter(|r| r.latency_bound).count(),
            formula_errors: rows.iter().filter(|row| !row.priced.breaches.is_empty()).count(),
            behind_a_peer: ratios.iter().filter(|&&ratio| ratio > 1.0).count(),
            with_peer: ratios.len(),
        }
    }
}

fn median(sorted: &[f64]) -> Option<f64> {
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        n if n % 2 == 1 => Some(sorted[middle]),
        _ => Some((sorted[middle - 1] + sorted[middle]) / 2.0),
    }
}

/// How many rows one thread turns into text at a time.
const BLOCK: usize = 1 << 10;

/// Writes what `print` makes of `rows`, in their order, printed by as many threads as there are.
fn in_order<T: Sync>(rows: &[T], out: &mut dyn io::Write, print: impl Fn(&[T], &mut String) + Sync) -> io::Result<()> {
    for blocks in rows.chunks(BLOCK * 16) {
        let texts: Vec<String> = blocks
            .par_chunks(BLOCK)
            .map(|rows| {
                let mut text = String::new();
                print(rows, &mut text);
                text
            })
            .collect();
        for text in texts {
            out.write_all(text.as_bytes())?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_of_an_even_count_is_the_middle_of_two() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[1.0, 3.0]), Some(2.0));
        assert_eq!(median(&[1.0, 2.0, 9.0]), Some(2.0));
    }
}
