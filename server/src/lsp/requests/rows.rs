//! `tileops/rows`: the entries of a document, their rows, the bytes of the rows' calls and what their records are worth, for
//! a view beside the text.
//!
//! The parameter is `{textDocument: {uri}}`. The answer is
//! `{entries: [{op, range, rows: [{label, range, cases: [{id, read, write, record}]}]}], gpu, roofs, records, profile}`,
//! where `record` is a [`Record`] or null, `records` and `profile` are the configured paths, and `roofs` the ceilings of the
//! profile. Bytes and FLOPs are for showing: floating-point numbers, not exact beyond 2^53.

use std::path::Path;

use serde::{Deserialize, Serialize};
use tileops_analyzer::ide;
use tileops_roofline::price::{bound, price};
use tileops_roofline::profile::Profile;
use tower_lsp::jsonrpc::Result;
use tower_lsp::lsp_types::{Range, TextDocumentIdentifier};

use super::super::records::{Places, Records, Said};
use super::super::snapshot::Snapshot;
use super::Target;

/// What is asked for.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RowsParams {
    text_document: TextDocumentIdentifier,
}

/// The entries, in the order written.
#[derive(Debug, Default, Serialize)]
pub(crate) struct RowsResult {
    entries: Vec<Entry>,
    /// The device that the profile is of.
    gpu: Option<String>,
    /// The ceilings that the profile allows.
    roofs: Vec<Roof>,
    /// Where records are.
    records: Vec<String>,
    profile: Option<String>,
}

#[derive(Debug, Serialize)]
struct Entry {
    op: String,
    range: Range,
    rows: Vec<Row>,
}

#[derive(Debug, Serialize)]
struct Row {
    label: Option<String>,
    range: Range,
    cases: Vec<Case>,
}

#[derive(Debug, Serialize)]
struct Case {
    id: String,
    read: Option<f64>,
    write: Option<f64>,
    record: Option<Record>,
}

/// What a case's record says, held against the profile where there is one.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Record {
    flops: Option<f64>,
    bytes: Option<f64>,
    roof: Option<String>,
    device: Option<String>,
    time_ns: Option<f64>,
    bound: Option<&'static str>,
    efficiency: Option<f64>,
    verdict: Option<&'static str>,
    latency_bound: bool,
    fits_l2: bool,
    /// Why there is no efficiency.
    blank: Option<String>,
    /// The impossible rates that it implies.
    formula_errors: Vec<String>,
    /// Whether it was made of another text of the entry.
    stale: bool,
}

/// A ceiling, in FLOP and bytes a second, as it was reached.
#[derive(Debug, Serialize)]
struct Roof {
    key: String,
    flops: f64,
    bandwidth: f64,
}

/// The rows of a document; none of one that is not known.
pub(crate) fn rows(snapshot: &Snapshot, params: RowsParams) -> Result<RowsResult> {
    let Some(target) = Target::of(snapshot, &params.text_document.uri) else { return Ok(RowsResult::default()) };
    let records = target.records(snapshot);
    let places = snapshot.project(target.file).map(|project| Places::of(&project.config, &snapshot.settings));
    let entry = |entry: ide::EntryRows| {
        let case = |case: ide::Case| Case {
            record: records
                .and_then(|records| records.of(&entry.op, &case.id, &entry.fingerprint))
                .map(|said| worth(&said)),
            id: case.id,
            read: case.bytes.map(|(read, _)| read as f64),
            write: case.bytes.map(|(_, write)| write as f64),
        };
        let row = |row: ide::Row| Row {
            label: row.label,
            range: target.positions.range(row.range),
            cases: row.cases.into_iter().map(case).collect(),
        };
        let rows = entry.rows.into_iter().map(row).collect();
        Entry { op: entry.op, range: target.positions.range(entry.range), rows }
    };
    let entries = ide::entry_rows(target.db, &target.key).into_iter().map(entry).collect();
    let profile = records.and_then(Records::profile);
    let shown = |path: &Path| path.to_string_lossy().into_owned();
    Ok(RowsResult {
        entries,
        gpu: profile.map(|profile| profile.gpu.clone()),
        roofs: profile.map(roofs).unwrap_or_default(),
        records: places.iter().flat_map(|places| &places.records).map(|path| shown(path)).collect(),
        profile: places.and_then(|places| places.profile).map(|path| shown(&path)),
    })
}

fn roofs(profile: &Profile) -> Vec<Roof> {
    let bandwidth = profile.bandwidth().effective;
    profile.peaks().map(|(key, peak)| Roof { key, flops: peak.effective, bandwidth }).collect()
}

fn worth(said: &Said<'_>) -> Record {
    let record = said.record;
    let priced = said.profile.map(|profile| price(record, profile));
    let reading = priced.as_ref().map(|priced| priced.reading.as_ref());
    let read = reading.and_then(std::result::Result::ok);
    Record {
        flops: record.flops.map(|flops| flops as f64),
        bytes: record.bytes.map(|bytes| bytes as f64),
        roof: record.roof_key.as_ref().map(ToString::to_string),
        device: record.device.as_ref().map(|device| device.name.to_string()),
        time_ns: record.timing.as_ref().map(|timing| timing.actual_ns()).filter(|ns| ns.is_finite()),
        bound: said.profile.and_then(|profile| bound(record, profile).ok()).map(|bound| bound.as_str()),
        efficiency: read.map(|reading| reading.efficiency),
        verdict: read.and_then(|reading| reading.verdict.as_str()),
        latency_bound: read.is_some_and(|reading| reading.latency_bound),
        fits_l2: read.is_some_and(|reading| reading.fits_l2),
        blank: match reading {
            None => Some("no GPU profile is configured".to_owned()),
            Some(reading) => reading.err().map(ToString::to_string),
        },
        formula_errors: priced.iter().flat_map(|priced| &priced.breaches).map(ToString::to_string).collect(),
        stale: said.stale,
    }
}
