//! The report as CSV (RFC 4180): one line a row, an empty field for a value that does not exist.

use std::borrow::Cow;
use std::io;

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

/// Writes the report as CSV. Fails where `out` does.
pub fn csv(report: &Report, out: &mut dyn io::Write) -> io::Result<()> {
    write!(out, "{}\r\n", COLUMNS.join(","))?;
    super::in_order(&report.rows, out, |rows, text| {
        for row in rows {
            for (at, field) in fields(row).iter().enumerate() {
                if at > 0 {
                    text.push(',');
                }
                text.push_str(&quote(field));
            }
            text.push_str("\r\n");
        }
    })
}

fn fields(row: &Row) -> [String; COLUMNS.len()] {
    fn text<T: ToString>(value: Option<T>) -> String {
        value.map(|v| v.to_string()).unwrap_or_default()
    }
    let reading = row.priced.reading.as_ref();
    [
        row.op.to_string(),
        row.case.to_string(),
        text(row.family.as_ref()),
        text(row.dtype.as_ref()),
        text(row.flops),
        text(row.bytes),
        text(row.intensity()),
        text(row.roof_key.as_ref()),
        text(row.source.as_ref()),
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
