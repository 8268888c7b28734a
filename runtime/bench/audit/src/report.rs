//! Verdicts as people and scripts read them.

use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::fmt::Write;

use serde_json::{Value, json};
use tileops_record::units::si;

use crate::exempt::Exemptions;
use crate::verdict::{Audited, FAR, PREMISE, SHORT, Verdict};

/// The exit code: 1 where a formula failed or nobody could judge it, and 0 otherwise.
pub fn exit_code(rows: &[Audited]) -> u8 {
    u8::from(rows.iter().any(|row| row.verdict.fails()))
}

/// The rows by verdict, the ones to look at first in front: what the verdict means, the premise that it rests on, what to do
/// next, and each row's measurements; then what they come to.
pub fn text(rows: &[Audited], exemptions: &Exemptions) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    for verdict in Verdict::ALL {
        let mut group: Vec<&Audited> = rows.iter().filter(|row| row.verdict == verdict).collect();
        if group.is_empty() {
            continue;
        }
        // The farther from what was declared, the earlier; among rows that agree the largest is the first, as it ran.
        match verdict {
            Verdict::Fail | Verdict::Exempt => group.sort_by(|a, b| by_share(a, b)),
            Verdict::Warn => group.sort_by(|a, b| by_share(b, a)),
            _ => {}
        }
        let _ = writeln!(out, "{}  {}: {}", verdict.word(), plural(group.len(), "row"), meaning(verdict));
        if let Some(premise) = verdict.premise() {
            let _ = writeln!(out, "  premise: {premise}");
        }
        if let Some(next) = next(verdict) {
            let _ = writeln!(out, "  next: {next}");
        }
        out.push('\n');
        table(&mut out, &group, exemptions);
        out.push('\n');
    }
    if rows.iter().any(|row| row.written.is_some()) {
        let _ = writeln!(
            out,
            "writes are reported and never judged: what still lies in the L2 cache at the end is not counted"
        );
    }
    for unused in unused(rows, exemptions) {
        let _ = writeln!(out, "note: no row fell short where `{}` of {} holds", unused.when, unused.op);
    }
    let count = |verdict: Verdict| rows.iter().filter(|row| row.verdict == verdict).count();
    let counts = |verdicts: &[Verdict]| {
        let counted = verdicts.iter().map(|v| (count(*v), v.word())).filter(|(count, _)| *count > 0);
        counted.map(|(count, word)| format!("{count} {word}")).collect::<Vec<_>>().join(", ")
    };
    let ops: BTreeSet<&str> = rows.iter().map(|row| &*row.op).collect();
    let all = if rows.is_empty() { "nothing was audited".to_owned() } else { counts(&Verdict::ALL) };
    let _ = writeln!(out, "{} of {}: {all}", plural(rows.len(), "row"), plural(ops.len(), "op"));
    let failing: Vec<Verdict> = Verdict::ALL.into_iter().filter(|v| v.fails() && count(*v) > 0).collect();
    if !failing.is_empty() {
        let _ = writeln!(out, "not passed: {}", counts(&failing));
    }
    out
}

/// What a verdict says of its rows.
fn meaning(verdict: Verdict) -> String {
    match verdict {
        Verdict::Fail => format!("fewer bytes were read than the formula declares, by over {} %", SHORT * 100.0),
        Verdict::Error => "there is no usable measurement".to_owned(),
        Verdict::NoVerdict => {
            "the op declares no read half, so that nothing could be judged; this is no pass".to_owned()
        }
        Verdict::Warn => format!("over {FAR} times the declared bytes were read"),
        Verdict::Exempt => "fewer bytes were read than declared, where a configured exception holds".to_owned(),
        Verdict::Skipped => "not run, or nothing to read".to_owned(),
        Verdict::Ok => "what was read is what the formula declares".to_owned(),
    }
}

/// What to do about a verdict.
fn next(verdict: Verdict) -> Option<&'static str> {
    match verdict {
        Verdict::Fail => Some(
            "find what the formula charges and no kernel has to fetch, and take it out; where a kernel may leave loads out that \
             decide nothing, configure an exception with its reason (--exempt)",
        ),
        Verdict::Error => {
            Some("measure a copy alone (--check-counters), then the row alone (--op OP); each row says what went wrong")
        }
        Verdict::NoVerdict => {
            Some("say in `runtime/ops/src/declared/reads.rs` what these ops read; a sum of the inputs is no read half")
        }
        Verdict::Warn => Some(
            "of one kernel, look for what it reads more than once; of several, for what they hand to each other through memory",
        ),
        Verdict::Exempt | Verdict::Skipped | Verdict::Ok => None,
    }
}

/// The order of two rows whose reads were judged: such a row has a share.
fn by_share(a: &Audited, b: &Audited) -> Ordering {
    a.share().unwrap_or_default().total_cmp(&b.share().unwrap_or_default())
}

/// The heads of a group's table: names on the left, numbers on the right.
const HEADS: [&str; 8] = ["op", "case", "read", "declared", "share", "kernels", "written", "declared"];
const NAMES: usize = 2;

/// The rows under their heads; a column that no row of the group has is left out. What a row says beside its numbers stands
/// below it.
fn table(out: &mut String, rows: &[&Audited], exemptions: &Exemptions) {
    let lines: Vec<[String; HEADS.len()]> = rows.iter().map(|row| cells(row)).collect();
    let widths: [Option<usize>; HEADS.len()] = std::array::from_fn(|at| {
        let widest = lines.iter().map(|line| line[at].chars().count()).max().unwrap_or(0);
        (widest > 0).then(|| widest.max(HEADS[at].len()))
    });
    let line = |cells: [&str; HEADS.len()]| {
        let mut line = String::from("  ");
        for (at, (cell, width)) in cells.iter().zip(widths).enumerate() {
            // Writing to a string cannot fail.
            let _ = match width {
                Some(width) if at < NAMES => write!(line, "  {cell:<width$}"),
                Some(width) => write!(line, "  {cell:>width$}"),
                None => Ok(()),
            };
        }
        line.trim_end().to_owned() + "\n"
    };
    out.push_str(&line(HEADS));
    for (row, cells) in rows.iter().zip(&lines) {
        out.push_str(&line(cells.each_ref().map(String::as_str)));
        if let Some(note) = note(row, exemptions) {
            let _ = writeln!(out, "      {note}");
        }
    }
}

/// A row's cells, under [`HEADS`].
fn cells(row: &Audited) -> [String; HEADS.len()] {
    let bytes = |bytes: Option<f64>| bytes.map(|bytes| si(bytes, "B")).unwrap_or_default();
    let measured = row.read.is_some();
    [
        row.op.clone(),
        row.case.clone(),
        bytes(row.read),
        bytes(row.declared_read.filter(|_| measured).map(|bytes| bytes as f64)),
        row.share().map(|share| format!("{:.1} %", share * 100.0)).unwrap_or_default(),
        row.kernels.map(|kernels| kernels.to_string()).unwrap_or_default(),
        bytes(row.written),
        bytes(row.declared_write.filter(|_| row.written.is_some()).map(|bytes| bytes as f64)),
    ]
}

/// What a row says that neither its numbers nor its verdict do.
fn note(row: &Audited, exemptions: &Exemptions) -> Option<String> {
    match row.verdict {
        Verdict::Error | Verdict::Skipped => Some(row.why.clone()),
        Verdict::Exempt => {
            let when = row.exemption.as_deref().unwrap_or_default();
            let of_row = exemptions.iter().find(|e| e.op == row.op && e.when == when);
            let reason = of_row.map_or(&*row.why, |exemption| exemption.reason.trim());
            Some(format!("when {when}: {reason}"))
        }
        Verdict::Fail | Verdict::NoVerdict | Verdict::Warn | Verdict::Ok => None,
    }
}

fn plural(count: usize, one: &str) -> String {
    format!("{count} {one}{}", if count == 1 { "" } else { "s" })
}

/// The rows as one JSON document.
pub fn json(rows: &[Audited], exemptions: &Exemptions) -> Value {
    let counts: serde_json::Map<String, Value> = Verdict::ALL
        .iter()
        .map(|v| (v.word().to_owned(), json!(rows.iter().filter(|r| r.verdict == *v).count())))
        .collect();
    json!({
        "premise": PREMISE,
        "verdicts": counts,
        "rows": rows,
        "unused_exemptions": unused(rows, exemptions).map(|e| json!({"op": e.op, "when": e.when})).collect::<Vec<_>>(),
    })
}

/// The exemptions that no row of these needed.
fn unused<'a>(rows: &'a [Audited], exemptions: &'a Exemptions) -> impl Iterator<Item = &'a crate::exempt::Exemption> {
    exemptions
        .iter()
        .filter(|e| rows.iter().any(|row| row.op == e.op))
        .filter(|e| !rows.iter().any(|row| row.op == e.op && row.exemption.as_ref() == Some(&e.when)))
}
