//! The report for a terminal: rows grouped by family, sorted, cut to the width there is.

use std::cmp::Ordering;
use std::io;

use anstyle::{AnsiColor, Style};
use rayon::iter::{IntoParallelRefIterator, ParallelIterator};
use rayon::slice::ParallelSliceMut;
use tileops_record::Text;
use tileops_record::units::{si, time};
use unicode_width::UnicodeWidthStr;

use super::layout::{Column, Layout};
use super::{Report, Row};
use crate::price::Verdict;
use crate::profile::Profile;

/// How the table is drawn.
#[derive(Debug, Clone, Copy)]
pub struct TableOptions {
    /// Columns of the terminal; nothing where the output is no terminal, and nothing is cut then.
    pub width: Option<usize>,
}

/// On a narrow terminal the work goes first, then the bound and the time: what is left is which row, and how good.
const COLUMNS: [Column; 9] = [
    Column::left("op").shrinks(14),
    Column::left("case").shrinks(14),
    Column::right("bytes").optional(2),
    Column::right("FLOPs").optional(1),
    Column::right("time").optional(4),
    Column::left("bound").optional(3),
    Column::right("efficiency"),
    Column::left("against peer").optional(0),
    Column::left("").shrinks(10),
];

/// Writes the report as a table, with ANSI styles; the caller strips them where colour is off. Fails where `out` does.
pub fn table(report: &Report, profile: &Profile, options: TableOptions, out: &mut dyn io::Write) -> io::Result<()> {
    let bold = Style::new().bold();
    let mut rows = super::markdown::by_efficiency(report);
    // Stable: within a family the worst efficiency stays first. Rows of no family come last.
    let same = |a: &Option<Text>, b: &Option<Text>| a.as_ref().zip(b.as_ref()).is_some_and(|(a, b)| a.same(b));
    rows.par_sort_by(|Row { family: a, .. }, Row { family: b, .. }| match same(a, b) {
        true => Ordering::Equal,
        false => (a.is_none(), a).cmp(&(b.is_none(), b)),
    });
    let grouped = rows.iter().any(|row| row.family.is_some());
    let mut columns = COLUMNS;
    if report.summary.with_peer == 0 {
        columns[7] = Column::left("");
    }
    let empty = || Layout::new(columns, options.width);
    let measure = |mut layout: Layout<9>, row: &&Row| {
        layout.measure(&cells(row));
        layout
    };
    let layout = rows.par_iter().fold(empty, measure).reduce(empty, Layout::merge).settle();
    let mut head = String::new();
    layout.head(&mut head);
    out.write_all(head.as_bytes())?;
    let mut of_family = rows.chunk_by(|a, b| a.family == b.family);
    of_family.try_for_each(|rows| {
        if let (true, Some(row)) = (grouped, rows.first()) {
            writeln!(out, "\n{bold}{}{bold:#}", row.family.as_deref().unwrap_or("no family"))?;
        }
        super::in_order(rows, out, |rows, text| {
            for row in rows {
                layout.line(text, style(row), &cells(row));
            }
        })
    })?;
    writeln!(out)?;
    for row in rows.iter().filter(|row| !row.priced.breaches.is_empty()) {
        let error = AnsiColor::Red.on_default().bold();
        for breach in &row.priced.breaches {
            writeln!(out, "{error}formula error{error:#}: {} {}: {breach}", row.op, row.case)?;
        }
    }
    writeln!(out, "{}", wrap(&summary(report, profile), options.width))
}

/// Breaks a list at its commas where it is wider than the terminal.
fn wrap(list: &str, width: Option<usize>) -> String {
    let mut out = String::new();
    let mut used = 0;
    for part in list.split(", ") {
        if used > 0 {
            out.push(',');
            used += 1;
        }
        if used > 0 && width.is_some_and(|width| used + 2 + part.width() > width) {
            out.push('\n');
            used = 0;
        } else if used > 0 {
            out.push(' ');
            used += 1;
        }
        out.push_str(part);
        used += part.width();
    }
    out
}

/// The report's closing line.
pub(super) fn summary(report: &Report, profile: &Profile) -> String {
    let s = &report.summary;
    let mut parts = vec![format!(
        "{} row{} on {}, {} with a reading",
        s.rows,
        if s.rows == 1 { "" } else { "s" },
        profile.gpu,
        s.priced
    )];
    if let Some(median) = s.median_efficiency {
        parts.push(format!("median efficiency {:.1} %", median * 100.0));
    }
    parts.push(format!("{} at ceiling", s.at_ceiling));
    for (count, what) in [
        (s.latency_bound, "latency-bound"),
        (s.anomalies, "above the ceiling"),
        (s.formula_errors, "with a formula error"),
    ] {
        if count > 0 {
            parts.push(format!("{count} {what}"));
        }
    }
    if s.with_peer > 0 {
        parts.push(format!("{} of {} behind a peer", s.behind_a_peer, s.with_peer));
    }
    parts.join(", ")
}

/// A row as text, a dash for a value that does not exist; what stands under [`COLUMNS`].
pub(super) fn cells(row: &Row) -> [String; 9] {
    let reading = row.priced.reading.as_ref();
    let dash = || "–".to_owned();
    [
        row.op.to_string(),
        row.case.to_string(),
        row.bytes.map_or_else(dash, |b| si(b as f64, "B")),
        row.flops.map_or_else(dash, |f| si(f as f64, "FLOP")),
        reading.map_or_else(|_| dash(), |r| time(r.actual_ns)),
        reading.map_or_else(|_| dash(), |r| r.bound.as_str().to_owned()),
        reading.map_or_else(|_| dash(), |r| format!("{:.1} %", r.efficiency * 100.0)),
        against_peer(row),
        remark(row),
    ]
}

/// How many times as fast as the fastest peer the op is, and which one that is.
fn against_peer(row: &Row) -> String {
    match (row.against_best_peer(), row.peers.first()) {
        (Some(share), Some((tag, _))) => format!("{:.2}× {tag}", 1.0 / share),
        _ => String::new(),
    }
}

/// What stands behind an efficiency: verdict, labels, or why there is no reading.
fn remark(row: &Row) -> String {
    let mut remarks: Vec<String> = Vec::new();
    if !row.priced.breaches.is_empty() {
        remarks.push("formula error".to_owned());
    }
    match &row.priced.reading {
        Ok(reading) => {
            match reading.verdict {
                Verdict::AtCeiling => remarks.push("at ceiling".to_owned()),
                Verdict::Anomaly => remarks.push("anomaly".to_owned()),
                Verdict::None => {}
            }
            if reading.latency_bound {
                remarks.push("latency-bound".to_owned());
            }
            if reading.fits_l2 {
                remarks.push("fits L2".to_owned());
            }
        }
        Err(reason) => remarks.push(reason.to_string()),
    }
    remarks.join(", ")
}

fn style(row: &Row) -> Style {
    match &row.priced.reading {
        _ if !row.priced.breaches.is_empty() => AnsiColor::Red.on_default(),
        Ok(r) if r.verdict == Verdict::Anomaly => AnsiColor::Red.on_default(),
        Ok(r) if r.verdict == Verdict::AtCeiling => AnsiColor::Green.on_default(),
        Ok(_) => Style::new(),
        Err(_) => Style::new().dimmed(),
    }
}
