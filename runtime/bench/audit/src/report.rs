//! Verdicts as people and scripts read them.

use std::fmt::Write;

use serde_json::{Value, json};

use crate::exempt::Exemptions;
use crate::verdict::{Audited, PREMISE, Verdict};

/// The exit code: 1 where a formula failed or nobody could judge it, and 0 otherwise.
pub fn exit_code(rows: &[Audited]) -> u8 {
    u8::from(rows.iter().any(|row| row.verdict.fails()))
}

/// The rows, the ones to look at first in front, each verdict with its premise; then what they come to.
pub fn text(rows: &[Audited], exemptions: &Exemptions) -> String {
    let mut out = String::new();
    let mut sorted: Vec<&Audited> = rows.iter().collect();
    sorted.sort_by_key(|row| row.verdict);
    for row in &sorted {
        // Writing to a string cannot fail.
        let _ = writeln!(out, "{:<10}  {} {}: {}", row.verdict.word(), row.op, row.case, row.why);
        if let Some(written) = row.written {
            let declared = row.declared_write.map(|d| format!(", declared {d}")).unwrap_or_default();
            let _ = writeln!(out, "            written: {written:.0} bytes{declared}; not judged");
        }
        if let Some(when) = &row.exemption {
            let _ = writeln!(out, "            exempt when {when}");
        }
        if let Some(premise) = row.premise {
            let _ = writeln!(out, "            premise: {premise}");
        }
    }
    for unused in unused(rows, exemptions) {
        let _ = writeln!(out, "note: no row fell short where `{}` of {} holds", unused.when, unused.op);
    }
    let counts: Vec<String> = Verdict::ALL
        .iter()
        .map(|v| (rows.iter().filter(|r| r.verdict == *v).count(), v.word()))
        .filter(|(count, _)| *count > 0)
        .map(|(count, word)| format!("{count} {word}"))
        .collect();
    let _ = writeln!(
        out,
        "{} row{}: {}",
        rows.len(),
        if rows.len() == 1 { "" } else { "s" },
        if counts.is_empty() { "nothing was audited".to_owned() } else { counts.join(", ") }
    );
    out
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
