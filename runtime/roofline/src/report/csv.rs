//! The report as CSV (RFC 4180): one line a row, an empty field for a value that does not exist.

use std::fmt::{Display, Write as _};
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
    super::in_order(&report.rows, out, |rows, text| rows.iter().for_each(|row| line(row, text)))
}

/// A row's fields, in the order of [`COLUMNS`].
fn line(row: &Row, out: &mut String) {
    let reading = row.priced.reading.as_ref();
    let ok = reading.ok();
    text(out, Some(&*row.op));
    text(out, Some(&*row.case));
    text(out, row.family.as_deref());
    text(out, row.dtype.as_deref());
    number(out, row.flops);
    number(out, row.bytes);
    number(out, row.intensity());
    text(out, row.roof_key.as_deref());
    text(out, row.source.as_deref());
    number(out, ok.map(|r| r.actual_ns));
    number(out, ok.map(|r| r.sol_ns));
    number(out, ok.map(|r| r.efficiency));
    text(out, ok.map(|r| r.bound.as_str()));
    number(out, ok.map(|r| r.latency_bound));
    number(out, ok.map(|r| r.fits_l2));
    text(out, ok.and_then(|r| r.verdict.as_str()));
    text(out, reading.err().map(ToString::to_string).as_deref());
    text(out, Some(&row.priced.breaches.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")));
    text(out, row.peers.first().map(|(tag, _)| &**tag));
    number(out, row.against_best_peer());
    // The line's end stands where a further field would be parted from the last one.
    out.truncate(out.len() - 1);
    out.push_str("\r\n");
}

/// Writes a field that may have to be quoted, and what parts it from the next.
fn text(out: &mut String, field: Option<&str>) {
    let field = field.unwrap_or_default();
    if field.bytes().any(|byte| matches!(byte, b',' | b'"' | b'\r' | b'\n')) {
        out.push('"');
        out.push_str(&field.replace('"', "\"\""));
        out.push('"');
    } else {
        out.push_str(field);
    }
    out.push(',');
}

/// Writes a number or a truth value, and what parts it from the next field.
fn number(out: &mut String, value: Option<impl Display>) {
    if let Some(value) = value {
        // Writing to a string cannot fail.
        let _ = write!(out, "{value}");
    }
    out.push(',');
}
