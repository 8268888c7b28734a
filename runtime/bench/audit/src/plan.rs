//! Which rows are audited: the manifest's own, so many that every branch of a formula is covered, the largest of each.
//!
//! A row is never scaled up: a larger shape may cross a line between two kernels, and the audit would be of one that no
//! benchmark runs.

use std::collections::BTreeMap;

/// What tells the branches of a formula apart: a row's discriminants and their values.
pub type Branch = [(String, String)];

/// A row that could be audited.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    /// The op.
    pub op: String,
    /// The case.
    pub case: String,
    /// What tells the branches of the op's formula apart: the row's discriminants and their values.
    pub branch: Vec<(String, String)>,
    /// How many bytes the row moves.
    pub bytes: u128,
}

/// What is audited, and what is not.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Plan<'a> {
    /// The rows, largest first.
    pub rows: Vec<&'a Candidate>,
    /// The largest row of each branch that the limit leaves out.
    pub uncovered: Vec<&'a Candidate>,
}

impl<'a> Plan<'a> {
    /// The largest candidate of each op and branch, largest first; of at most `limit` rows in all, every op has one before
    /// any has two.
    pub fn new(candidates: &'a [Candidate], limit: Option<usize>) -> Plan<'a> {
        let mut best: BTreeMap<(&str, &Branch), &Candidate> = BTreeMap::new();
        for candidate in candidates {
            let place = best.entry((&candidate.op, &*candidate.branch)).or_insert(candidate);
            if (candidate.bytes, &place.case) > (place.bytes, &candidate.case) {
                *place = candidate;
            }
        }
        let mut rows: Vec<&Candidate> = best.into_values().collect();
        let size = |c: &&Candidate| std::cmp::Reverse(c.bytes);
        rows.sort_by(|a, b| size(a).cmp(&size(b)).then_with(|| (&a.op, &a.case).cmp(&(&b.op, &b.case))));
        // Its place among its op's branches comes before its size.
        let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
        let mut ranked: Vec<(usize, &Candidate)> = rows
            .into_iter()
            .map(|c| {
                let rank = seen.entry(&c.op).or_default();
                *rank += 1;
                (*rank, c)
            })
            .collect();
        ranked.sort_by_key(|(rank, _)| *rank);
        let cut = limit.unwrap_or(ranked.len()).min(ranked.len());
        let uncovered = ranked.split_off(cut).into_iter().map(|(_, c)| c).collect();
        let mut rows: Vec<&Candidate> = ranked.into_iter().map(|(_, c)| c).collect();
        rows.sort_by(|a, b| size(a).cmp(&size(b)).then_with(|| (&a.op, &a.case).cmp(&(&b.op, &b.case))));
        Plan { rows, uncovered }
    }
}
