//! A comparison as people and scripts read it.

use std::fmt::Write;

use anstyle::{AnsiColor, Style};
use serde_json::{Value, json};
use tileops_record::units::time;

use super::layout::{Column, Layout};
use crate::compare::{Change, Comparison, Key, Reason, Side, Verdict};

/// How much of a comparison is printed.
#[derive(Debug, Clone, Copy, Default)]
pub struct CompareView {
    /// Rows that stayed the same, too.
    pub all: bool,
    /// Every row's intervals, clocks and reasons.
    pub explain: bool,
    /// Columns of the terminal; nothing where the output is no terminal.
    pub width: Option<usize>,
}

/// The comparison as a table for a terminal, with ANSI styles.
pub fn compare_table(comparison: &Comparison, view: CompareView) -> String {
    let shown = shown(comparison, view.all);
    let columns = [
        Column::left("op").shrinks(16),
        Column::left("case").shrinks(16),
        Column::right("old"),
        Column::right("new"),
        Column::right("change"),
        Column::left("verdict"),
        Column::left("why").shrinks(12),
    ];
    let mut layout = Layout::new(columns, view.width);
    for change in &shown {
        layout.measure(&cells(change));
    }
    let layout = layout.settle();
    let mut out = String::new();
    if !shown.is_empty() {
        layout.head(&mut out);
    }
    for change in &shown {
        layout.line(&mut out, style(change.judged.verdict), &cells(change));
        if view.explain {
            for line in explain(change) {
                // Writing to a string cannot fail.
                let _ = writeln!(out, "    {line}");
            }
        }
    }
    if !shown.is_empty() {
        out.push('\n');
    }
    for (what, change) in formulas(comparison) {
        let _ = writeln!(out, "formula changed: {}: {what}", change.key);
    }
    for (word, keys) in [("added", &comparison.added), ("removed", &comparison.removed)] {
        for key in keys {
            let _ = writeln!(out, "{word}: {key}");
        }
    }
    let _ = writeln!(out, "{}", summary(comparison));
    out
}

/// The comparison as Markdown, for a pull request.
pub fn compare_markdown(comparison: &Comparison, view: CompareView) -> String {
    let mut out = format!("{}.\n", summary(comparison));
    let shown = shown(comparison, view.all);
    if !shown.is_empty() {
        out.push_str(
            "\n| op | case | old | new | change | verdict | why |\n| --- | --- | ---: | ---: | ---: | --- | --- |\n",
        );
    }
    for change in &shown {
        let _ = writeln!(out, "| {} |", cells(change).map(|c| escape(&c)).join(" | "));
    }
    if view.explain {
        for change in &shown {
            let _ = writeln!(out, "\n**{}**\n", escape(&change.key.to_string()));
            for line in explain(change) {
                let _ = writeln!(out, "- {}", escape(&line));
            }
        }
    }
    let mut part = |title: &str, lines: Vec<String>| {
        if !lines.is_empty() {
            let _ = write!(out, "\n### {title}\n\n");
            for line in lines {
                let _ = writeln!(out, "- {}", escape(&line));
            }
        }
    };
    part(
        "Formulas that changed",
        formulas(comparison).map(|(what, change)| format!("{}: {what}", change.key)).collect(),
    );
    part("Rows added", comparison.added.iter().map(Key::to_string).collect());
    part("Rows removed", comparison.removed.iter().map(Key::to_string).collect());
    out
}

/// The comparison as one JSON document.
pub fn compare_json(comparison: &Comparison) -> Value {
    let side = |side: Option<Side>| {
        side.map(|s| json!({"ns": s.ns, "low_ns": s.interval.low, "high_ns": s.interval.high, "runs": s.runs, "sm_mhz": s.sm_mhz}))
    };
    let key = |key: &Key| json!({"op": key.op, "case": key.case, "peer": key.peer});
    let counts: serde_json::Map<String, Value> =
        Verdict::ALL.iter().map(|v| (v.as_str().to_owned(), json!(comparison.count(*v)))).collect();
    let row = |change: &Change| {
        let judged = &change.judged;
        json!({
            "op": change.key.op,
            "case": change.key.case,
            "peer": change.key.peer,
            "verdict": judged.verdict.as_str(),
            "reasons": judged.reasons.iter().map(|r| r.code()).collect::<Vec<_>>(),
            "detail": judged.detail,
            "ratio": judged.ratio(),
            "ratio_low": judged.ratio_interval().map(|i| i.low),
            "ratio_high": judged.ratio_interval().map(|i| i.high),
            "old": side(judged.old),
            "new": side(judged.new),
            "formula": change.formula.iter().map(|s| json!({"field": s.field, "old": s.old, "new": s.new})).collect::<Vec<_>>(),
        })
    };
    json!({
        "summary": {
            "verdicts": counts,
            "added": comparison.added.len(),
            "removed": comparison.removed.len(),
            "formulas_changed": comparison.formulas(),
            "peers_ratio": comparison.peers_ratio,
        },
        "rows": comparison.changes.iter().map(row).collect::<Vec<_>>(),
        "added": comparison.added.iter().map(key).collect::<Vec<_>>(),
        "removed": comparison.removed.iter().map(key).collect::<Vec<_>>(),
        "reasons": Reason::ALL.iter().map(|r| (r.code().to_owned(), json!(r.meaning()))).collect::<serde_json::Map<_, _>>(),
    })
}

fn shown(comparison: &Comparison, all: bool) -> Vec<&Change> {
    comparison.changes.iter().filter(|c| all || c.judged.verdict != Verdict::Same).collect()
}

fn formulas(comparison: &Comparison) -> impl Iterator<Item = (String, &Change)> {
    comparison
        .changes
        .iter()
        .filter(|c| !c.formula.is_empty())
        .map(|change| (change.formula.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "), change))
}

fn summary(comparison: &Comparison) -> String {
    let rows = comparison.changes.len();
    let mut parts = vec![format!("{rows} row{} compared", if rows == 1 { "" } else { "s" })];
    parts.extend(
        Verdict::ALL
            .iter()
            .filter(|v| comparison.count(**v) > 0)
            .map(|v| format!("{} {}", comparison.count(*v), v.as_str())),
    );
    for (count, what) in [
        (comparison.formulas(), "with another formula"),
        (comparison.added.len(), "added"),
        (comparison.removed.len(), "removed"),
    ] {
        if count > 0 {
            parts.push(format!("{count} {what}"));
        }
    }
    if let Some(ratio) = comparison.peers_ratio {
        parts.push(format!("peers {} in the median", percent(ratio)));
    }
    parts.join(", ")
}

fn cells(change: &Change) -> [String; 7] {
    let judged = &change.judged;
    let dash = || "–".to_owned();
    let case = match &change.key.peer {
        Some(peer) => format!("{} ({peer})", change.key.case),
        None => change.key.case.to_string(),
    };
    let mut why: Vec<String> = judged.reasons.iter().map(|r| r.code().to_owned()).collect();
    if let (Some(first), Some(detail)) = (why.first_mut(), &judged.detail) {
        first.push_str(&format!(" ({detail})"));
    }
    [
        change.key.op.to_string(),
        case,
        judged.old.map_or_else(dash, |s| time(s.ns)),
        judged.new.map_or_else(dash, |s| time(s.ns)),
        judged.ratio().map_or_else(dash, percent),
        judged.verdict.as_str().to_owned(),
        why.join(", "),
    ]
}

/// What a verdict rests on, a sentence a line.
fn explain(change: &Change) -> Vec<String> {
    let judged = &change.judged;
    let mut lines = Vec::new();
    for (name, side) in [("old", judged.old), ("new", judged.new)] {
        if let Some(side) = side {
            let runs = if side.runs == 1 { "1 run".to_owned() } else { format!("{} runs", side.runs) };
            let clock =
                side.sm_mhz.map_or_else(|| "SM clock not stated".to_owned(), |mhz| format!("SM clock {mhz:.0} MHz"));
            lines.push(format!(
                "{name}: {}, between {} and {}; {runs}, {clock}",
                precise(side.ns),
                precise(side.interval.low),
                precise(side.interval.high)
            ));
        }
    }
    if let Some(interval) = judged.ratio_interval() {
        lines.push(format!("change: between {} and {}", percent(interval.low), percent(interval.high)));
    }
    lines.extend(judged.reasons.iter().map(|reason| format!("{}: {}", reason.code(), reason.meaning())));
    lines.extend(judged.detail.iter().cloned());
    lines
}

/// A time with the digits that tell two of them apart.
fn precise(ns: f64) -> String {
    if ns < 1e6 { format!("{ns:.0} ns") } else { format!("{:.2} µs", ns / 1e3) }
}

/// `+5.0 %`, `-12.3 %`; `x3.2` from twice on.
fn percent(ratio: f64) -> String {
    if ratio >= 2.0 { format!("x{ratio:.1}") } else { format!("{:+.1} %", (ratio - 1.0) * 100.0) }
}

fn escape(text: &str) -> String {
    text.replace('|', "\\|")
}

fn style(verdict: Verdict) -> Style {
    match verdict {
        Verdict::Slower => AnsiColor::Red.on_default(),
        Verdict::Faster => AnsiColor::Green.on_default(),
        Verdict::Ambiguous => AnsiColor::Yellow.on_default(),
        Verdict::Unknown => Style::new().dimmed(),
        Verdict::Same => Style::new(),
    }
}
