//! The report as Markdown, for a pull request or a job summary.

use std::fmt::Write;

use rayon::slice::ParallelSliceMut;

use super::{Report, Row};
use crate::profile::Profile;

/// The report as Markdown: what it comes to, the formula errors, then every row, worst efficiency first.
pub fn markdown(report: &Report, profile: &Profile) -> String {
    let mut out = String::new();
    let s = &report.summary;
    // Writing to a string cannot fail.
    let _ = writeln!(out, "**{}**: {} rows, {} with a reading.", profile.gpu, s.rows, s.priced);
    if let Some(median) = s.median_efficiency {
        let _ = writeln!(out, "Median efficiency {:.1} %, {} at ceiling.", median * 100.0, s.at_ceiling);
    }
    let errors: Vec<&Row> = report.rows.iter().filter(|r| !r.priced.breaches.is_empty()).collect();
    if !errors.is_empty() {
        let _ = writeln!(out, "\n### Formula errors\n");
        for row in errors {
            for breach in &row.priced.breaches {
                let _ = writeln!(out, "- `{}` `{}`: {breach}", row.op, row.case);
            }
        }
    }
    let _ = writeln!(out, "\n| op | case | bytes | FLOPs | time | bound | efficiency | against peer | verdict |");
    let _ = writeln!(out, "| --- | --- | ---: | ---: | ---: | --- | ---: | --- | --- |");
    for row in by_efficiency(report) {
        let _ = writeln!(out, "| {} |", super::table::cells(row).map(|c| c.replace('|', "\\|")).join(" | "));
    }
    out
}

/// The rows that have a reading by rising efficiency, then the others, rows of one efficiency by their names.
pub(super) fn by_efficiency(report: &Report) -> Vec<&Row> {
    let efficiency = |row: &Row| row.priced.reading.as_ref().map_or(f64::INFINITY, |r| r.efficiency);
    let mut rows: Vec<(f64, &Row)> = report.rows.iter().map(|row| (efficiency(row), row)).collect();
    rows.par_sort_by(|(x, a), (y, b)| x.total_cmp(y).then_with(|| (&a.op, &a.case).cmp(&(&b.op, &b.case))));
    rows.into_iter().map(|(_, row)| row).collect()
}
