//! The report as CSV (RFC 4180): one line a row, an empty field for a value that does not exist.

use std::borrow::Cow;

use super::{Report, Row};

const COLUMNS: [&str; 20] = [
    "op",
    "case",
    "family",
    "dtype",
    "flops",
    "bytes",
    "intensity",
    "roof_key",
    "timing",
    "actual_ns",
    "sol_ns",
    "efficiency",
    "bound",
    "latency_bound",
    "fits_l2",
    "verdict",
    "blank_reason",
    "formula_errors",
    "best_peer",
    "against_best_peer",
];

/// The report as CSV.
pub fn csv(report: &Report) -> String {
    let mut out = COLUMNS.join(",");
    out.push_str("\r\n");
    for row in &report.rows {
        let fields = fields(row);
        out.push_str(&fields.iter().map(|f| quote(f)).collect::<Vec<_>>().join(","));
        out.push_str("\r\n");
    }
    out
}

fn fields(row: &Row) -> [String; COLUMNS.len()] {
    fn text<T: ToString>(value: Option<T>) -> String {
        value.map(|v| v.to_string()).unwrap_or_default()
    }
    let record = &row.record;
    let reading = row.priced.reading.as_ref();
    [
        record.op.to_string(),
        record.case.to_string(),
        text(record.family.as_ref()),
        text(record.dtype.as_ref()),
        text(record.flops),
        text(record.bytes),
        text(row.intensity()),
        text(record.roof_key.as_ref()),
        text(record.timing.as_ref().map(|t| &t.source)),
        text(reading.ok().map(|r| r.actual_ns)),
        text(reading.ok().map(|r| r.sol_ns)),
        text(reading.ok().map(|r| r.efficiency)),
        text(reading.ok().map(|r| r.bound.as_str())),
        text(reading.ok().map(|r| r.latency_bound)),
        text(reading.ok().map(|r| r.fits_l2)),
        text(reading.ok().and_then(|r| r.verdict.as_str())),
        text(reading.err()),
        row.priced.breaches.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "),
        text(row.peers.first().map(|(tag, _)| tag)),
        text(row.against_best_peer()),
    ]
}

fn quote(field: &str) -> Cow<'_, str> {
    if field.contains([',', '"', '\r', '\n']) {
        Cow::Owned(format!("\"{}\"", field.replace('"', "\"\"")))
    } else {
        Cow::Borrowed(field)
    }
}
