//! Priced records as the reports that people and scripts read.

mod compare;
mod csv;
mod history;
mod html;
mod json;
mod junit;
mod layout;
mod markdown;
mod table;

pub use compare::{CompareView, compare_json, compare_markdown, compare_table};
pub use csv::csv;
pub use history::{HistoryView, history_json, history_markdown, history_table};
pub use html::html;
pub use json::json;
pub use junit::junit;
pub use markdown::markdown;
pub use table::{TableOptions, table};

use tileops_record::{Record, Text};

use crate::price::{Bound, Priced, Verdict, price};
use crate::profile::Profile;

/// A record and what it is worth.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// The record.
    pub record: Record,
    /// Its price under the report's profile.
    pub priced: Priced,
    /// The peers' rows of the same op and case: tag and actual time in nanoseconds, fastest first. Only peers that were
    /// timed by the same source count.
    pub peers: Vec<(Text, f64)>,
}

/// A report: rows, in the order of the records, and what they come to.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// One row a record of an op itself; peers' records stand in their row.
    pub rows: Vec<Row>,
    /// What the rows come to.
    pub summary: Summary,
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

impl Report {
    /// Prices `records` against `profile`. Without a profile every reading is blank.
    pub fn new(records: Vec<Record>, profile: &Profile) -> Report {
        let (own, mut peers): (Vec<Record>, Vec<Record>) = records.into_iter().partition(|r| r.peer.is_none());
        peers.sort_by(|a, b| (&a.op, &a.case).cmp(&(&b.op, &b.case)));
        let rows: Vec<Row> = own
            .into_iter()
            .map(|record| {
                let priced = price(&record, profile);
                let peers = peers_of(&record, &peers);
                Row { record, priced, peers }
            })
            .collect();
        let summary = Summary::of(&rows);
        Report { rows, summary }
    }

    /// Whether no row implies an impossible rate: the run's health.
    pub fn healthy(&self) -> bool {
        self.summary.formula_errors == 0
    }
}

fn peers_of(record: &Record, sorted: &[Record]) -> Vec<(Text, f64)> {
    let Some(timing) = &record.timing else { return Vec::new() };
    let key = (&record.op, &record.case);
    let start = sorted.partition_point(|r| (&r.op, &r.case) < key);
    let mut peers: Vec<(Text, f64)> = sorted[start..]
        .iter()
        .take_while(|r| (&r.op, &r.case) == key)
        .filter_map(|r| {
            let theirs = r.timing.as_ref().filter(|t| t.source == timing.source)?;
            let ns = theirs.actual_ns();
            (ns.is_finite() && ns > 0.0).then(|| (r.peer.clone().unwrap_or_default(), ns))
        })
        .collect();
    peers.sort_by(|a, b| a.1.total_cmp(&b.1).then_with(|| a.0.cmp(&b.0)));
    peers
}

impl Row {
    /// The op's time over the fastest peer's: below 1 the op is the faster one.
    pub fn against_best_peer(&self) -> Option<f64> {
        let ours = self.record.timing.as_ref()?.actual_ns();
        let (_, theirs) = self.peers.first()?;
        (ours.is_finite() && ours > 0.0).then(|| ours / theirs)
    }

    /// The record's FLOPs over its bytes.
    pub fn intensity(&self) -> Option<f64> {
        let (flops, bytes) = (self.record.flops?, self.record.bytes?);
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

impl Bound {
    /// `memory` or `compute`.
    pub fn as_str(self) -> &'static str {
        match self {
            Bound::Memory => "memory",
            Bound::Compute => "compute",
        }
    }
}

impl Verdict {
    /// `at_ceiling`, `anomaly`, or nothing.
    pub fn as_str(self) -> Option<&'static str> {
        match self {
            Verdict::AtCeiling => Some("at_ceiling"),
            Verdict::Anomaly => Some("anomaly"),
            Verdict::None => None,
        }
    }
}

/// 1,536 bytes as `1.54 kB`: three significant digits and an SI prefix.
pub fn si(value: f64, unit: &str) -> String {
    const PREFIXES: [&str; 7] = ["", "k", "M", "G", "T", "P", "E"];
    let mut value = value;
    let mut prefix = 0;
    while value.abs() >= 999.5 && prefix + 1 < PREFIXES.len() {
        value /= 1000.0;
        prefix += 1;
    }
    let digits = if prefix == 0 && value.fract() == 0.0 {
        0
    } else if value.abs() < 9.995 {
        2
    } else if value.abs() < 99.95 {
        1
    } else {
        0
    };
    format!("{value:.digits$} {}{unit}", PREFIXES[prefix])
}

/// Nanoseconds as `950 ns`, `12.5 µs`, `1.86 ms` or `2.10 s`.
pub fn time(ns: f64) -> String {
    let (value, unit) = match ns.abs() {
        n if n < 999.5 => (ns, "ns"),
        n if n < 999.5e3 => (ns / 1e3, "µs"),
        n if n < 999.5e6 => (ns / 1e6, "ms"),
        _ => (ns / 1e9, "s"),
    };
    si(value, unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_at_a_glance() {
        assert_eq!(si(1536.0, "B"), "1.54 kB");
        assert_eq!(si(512.0, "B"), "512 B");
        assert_eq!(si(100_663_296.0, "B"), "101 MB");
        assert_eq!(time(12_500.0), "12.5 µs");
        assert_eq!(time(999_700.0), "1.00 ms");
        assert_eq!(time(950.0), "950 ns");
    }

    #[test]
    fn the_median_of_an_even_count_is_the_middle_of_two() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[1.0, 3.0]), Some(2.0));
        assert_eq!(median(&[1.0, 2.0, 9.0]), Some(2.0));
    }
}
