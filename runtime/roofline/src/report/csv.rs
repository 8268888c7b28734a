//! The report as CSV (RFC 4180): one line a row, an empty field for a value that does not exist.

use std::fmt::{Display, Write as _};
use std::io;

use super::{Report, Row};
use crate::price::Reading;

/// What writes a field.
type Field = fn(&Row, &mut String);

const COLUMNS: [(&str, Field); 20] = [
    ("op", |row, out| text(out, &row.op)),
    ("case", |row, out| text(out, &row.case)),
    ("family", |row, out| text(out, row.family.as_deref().unwrap_or_default())),
    ("dtype", |row, out| text(out, row.dtype.as_deref().unwrap_or_default())),
    ("flops", |row, out| value(out, row.flops)),
    ("bytes", |row, out| value(out, row.bytes)),
    ("intensity", |row, out| value(out, row.intensity())),
    ("roof_key", |row, out| text(out, row.roof_key.as_deref().unwrap_or_default())),
    ("timing", |row, out| text(out, row.source.as_deref().unwrap_or_default())),
    ("actual_ns", |row, out| read(row, out, |r| r.actual_ns)),
    ("sol_ns", |row, out| read(row, out, |r| r.sol_ns)),
    ("efficiency", |row, out| read(row, out, |r| r.efficiency)),
    ("bound", |row, out| read(row, out, |r| r.bound.as_str())),
    ("latency_bound", |row, out| read(row, out, |r| r.latency_bound)),
    ("fits_l2", |row, out| read(row, out, |r| r.fits_l2)),
    ("verdict", |row, out| read(row, out, |r| r.verdict.as_str().unwrap_or_default())),
    ("blank_reason", |row, out| {
        if let Err(blank) = &row.priced.reading {
            text(out, &blank.to_string());
        }
    }),
    ("formula_errors", |row, out| {
        let breaches = &row.priced.breaches;
        if !breaches.is_empty() {
            text(out, &breaches.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "));
        }
    }),
    ("best_peer", |row, out| text(out, row.peers.first().map_or("", |(tag, _)| tag))),
    ("against_best_peer", |row, out| value(out, row.against_best_peer())),
];

/// Writes the report as CSV. Fails where `out` does.
pub fn csv(report: &Report, out: &mut dyn io::Write) -> io::Result<()> {
    write!(out, "{}\r\n", COLUMNS.map(|(name, _)| name).join(","))?;
    super::in_order(&report.rows, out, |rows, text| rows.iter().for_each(|row| line(row, text)))
}

fn line(row: &Row, out: &mut String) {
    for (at, (_, field)) in COLUMNS.iter().enumerate() {
        if at > 0 {
            out.push(',');
        }
        field(row, out);
    }
    out.push_str("\r\n");
}

/// Writes what may have to be quoted.
fn text(out: &mut String, field: &str) {
    if field.bytes().any(|byte| matches!(byte, b',' | b'"' | b'\r' | b'\n')) {
        out.push('"');
        out.push_str(&field.replace('"', "\"\""));
        out.push('"');
    } else {
        out.push_str(field);
    }
}

/// Writes a number, a truth value or a word of ours, where there is one.
fn value(out: &mut String, value: Option<impl Display>) {
    if let Some(value) = value {
        // Writing to a string cannot fail.
        let _ = write!(out, "{value}");
    }
}

/// Writes what a row's reading says, where it has one.
fn read<T: Display>(row: &Row, out: &mut String, of: impl FnOnce(&Reading) -> T) {
    value(out, row.priced.reading.as_ref().ok().map(of));
}
