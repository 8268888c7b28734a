//! A history as people and scripts read it.

use std::fmt::Write;

use anstyle::{AnsiColor, Style};
use serde_json::{Map, Value, json};
use tileops_record::units::time;

use super::layout::{Column, Layout};
use crate::compare::Verdict;
use crate::history::{Direction, Event, History, RowHistory, What};

/// How much of a history is printed.
#[derive(Debug, Clone, Copy, Default)]
pub struct HistoryView {
    /// Rows to which nothing happened, too.
    pub all: bool,
    /// Columns of the terminal; nothing where the output is no terminal.
    pub width: Option<usize>,
}

/// The history as a table for a terminal, with ANSI styles: the regressions first.
pub fn history_table(history: &History, view: HistoryView) -> String {
    let rows = shown(history, view.all);
    let columns = [
        Column::left("op").shrinks(14),
        Column::left("case").shrinks(14),
        Column::left("times").optional(3),
        Column::right("first").optional(2),
        Column::right("last"),
        Column::right("efficiency").optional(4),
        Column::left("trend").optional(1),
        Column::left("what happened").shrinks(16),
    ];
    let mut layout = Layout::new(columns, view.width);
    for row in &rows {
        layout.measure(&cells(history, row));
    }
    let layout = layout.settle();
    let mut out = String::new();
    if !rows.is_empty() {
        layout.head(&mut out);
    }
    for row in &rows {
        let style = match row.regression() {
            Some(_) => AnsiColor::Red.on_default(),
            None => Style::new(),
        };
        layout.line(&mut out, style, &cells(history, row));
    }
    if !rows.is_empty() {
        out.push('\n');
    }
    for line in profiles(history) {
        // Writing to a string cannot fail.
        let _ = writeln!(out, "{line}");
    }
    let _ = writeln!(out, "{}", summary(history));
    out
}

/// The history as Markdown.
pub fn history_markdown(history: &History, view: HistoryView) -> String {
    let mut out = format!("{}.\n", summary(history));
    for line in profiles(history) {
        let _ = writeln!(out, "\n{line}");
    }
    let rows = shown(history, view.all);
    if !rows.is_empty() {
        out.push_str("\n| op | case | times | first | last | efficiency | trend | what happened |\n");
        out.push_str("| --- | --- | --- | ---: | ---: | ---: | --- | --- |\n");
    }
    for row in rows {
        let _ = writeln!(out, "| {} |", cells(history, row).map(|c| c.replace('|', "\\|")).join(" | "));
    }
    out
}

/// The history as one JSON document.
pub fn history_json(history: &History) -> Value {
    let night = |n: &crate::history::Night| json!({"name": n.name, "started": n.started, "records": n.records.len(), "profile": n.profile.as_ref().map(|p| p.id())});
    let row = |row: &RowHistory| {
        let point = |p: &crate::history::Point| {
            let reading = p.priced.reading.as_ref().ok();
            json!({
                "night": history.nights[p.night].name,
                "ns": p.ns,
                "efficiency": reading.map(|r| r.efficiency),
                "verdict": reading.and_then(|r| r.verdict.as_str()),
                "blank_reason": p.priced.reading.as_ref().err().map(ToString::to_string),
                "change": p.judged.as_ref().map(|j| j.verdict.as_str()),
                "change_ratio": p.judged.as_ref().and_then(crate::compare::Judged::ratio),
                "change_reasons": p.judged.as_ref().map(|j| j.reasons.iter().map(|r| r.code()).collect::<Vec<_>>()),
            })
        };
        let event = |e: &Event| {
            let mut fields = Map::new();
            fields.insert("night".into(), json!(history.nights[e.night].name));
            match &e.what {
                What::Time { judged, open } => {
                    fields.insert("what".into(), json!(judged.verdict.as_str()));
                    fields.insert("ratio".into(), json!(judged.ratio()));
                    fields.insert("open".into(), json!(open));
                }
                What::Formula(stated) => {
                    fields.insert("what".into(), json!("formula"));
                    let stated = stated.iter().map(|s| json!({"field": s.field, "old": s.old, "new": s.new}));
                    fields.insert("stated".into(), stated.collect());
                }
                What::Failed(detail) => {
                    fields.insert("what".into(), json!("failed"));
                    fields.insert("detail".into(), json!(detail));
                }
            }
            Value::Object(fields)
        };
        json!({
            "op": row.key.op,
            "case": row.key.case,
            "regression": row.regression().map(|(night, judged)| json!({"since": history.nights[night].name, "ratio": judged.ratio()})),
            "trend": row.trend.map(|t| json!({"direction": t.direction.as_str(), "per_night": t.per_night, "p": t.p})),
            "points": row.points.iter().map(point).collect::<Vec<_>>(),
            "events": row.events.iter().map(event).collect::<Vec<_>>(),
        })
    };
    let profile = |change: &crate::history::ProfileChange| {
        let ceilings = change.ceilings.iter().map(|(key, was, is)| json!({"key": key, "old": was, "new": is}));
        json!({"night": history.nights[change.night].name, "ceilings": ceilings.collect::<Vec<_>>()})
    };
    json!({
        "summary": {"nights": history.nights.len(), "rows": history.rows.len(), "regressions": history.regressions()},
        "nights": history.nights.iter().map(night).collect::<Vec<_>>(),
        "profiles": history.profiles.iter().map(profile).collect::<Vec<_>>(),
        "rows": history.rows.iter().map(row).collect::<Vec<_>>(),
    })
}

/// The rows to which something happened, regressions first, the worst in front.
fn shown(history: &History, all: bool) -> Vec<&RowHistory> {
    let heads = |row: &RowHistory| row.trend.is_some_and(|t| t.direction != Direction::Level);
    let mut rows: Vec<&RowHistory> = history.rows.iter().filter(|r| all || !r.events.is_empty() || heads(r)).collect();
    let badness = |row: &RowHistory| row.regression().and_then(|(_, judged)| judged.ratio()).unwrap_or(0.0);
    rows.sort_by(|a, b| badness(b).total_cmp(&badness(a)).then_with(|| a.key.cmp(&b.key)));
    rows
}

fn summary(history: &History) -> String {
    let count = |n: usize, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
    let mut parts = vec![count(history.nights.len(), "night"), count(history.rows.len(), "row")];
    if let (Some(first), Some(last)) = (history.nights.first(), history.nights.last()) {
        parts[0].push_str(&format!(" from {} to {}", first.name, last.name));
    }
    parts.push(match history.regressions() {
        0 => "no regression".to_owned(),
        n => count(n, "regression"),
    });
    let events = |is: fn(&What) -> bool| history.rows.iter().filter(|r| r.events.iter().any(|e| is(&e.what))).count();
    for (n, what) in [
        (events(|w| matches!(w, What::Formula(_))), "with another formula since"),
        (events(|w| matches!(w, What::Failed(_))), "that failed"),
        (
            history.rows.iter().filter(|r| r.trend.is_some_and(|t| t.direction == Direction::Rising)).count(),
            "creeping up",
        ),
    ] {
        if n > 0 {
            parts.push(format!("{n} {what}"));
        }
    }
    parts.join(", ")
}

fn profiles(history: &History) -> Vec<String> {
    history.profiles.iter().map(|c| format!("another profile since {}: {c}", history.nights[c.night].name)).collect()
}

fn cells(history: &History, row: &RowHistory) -> [String; 8] {
    let dash = || "–".to_owned();
    let times: Vec<f64> = row.points.iter().filter_map(|p| p.ns).collect();
    let efficiency = row.points.last().and_then(|p| p.priced.reading.as_ref().ok()).map(|r| r.efficiency);
    let trend = row.trend.map_or_else(dash, |t| match t.direction {
        Direction::Level => "level".to_owned(),
        other => format!("{} {:+.2} % a night", other.as_str(), t.per_night * 100.0),
    });
    [
        row.key.op.to_string(),
        row.key.case.to_string(),
        sparkline(&row.points.iter().map(|p| p.ns).collect::<Vec<_>>()),
        times.first().map_or_else(dash, |ns| time(*ns)),
        times.last().map_or_else(dash, |ns| time(*ns)),
        efficiency.map_or_else(dash, |e| format!("{:.1} %", e * 100.0)),
        trend,
        happened(history, row),
    ]
}

/// What happened last, the regression before anything else.
fn happened(history: &History, row: &RowHistory) -> String {
    let mut parts = Vec::new();
    let name = |night: usize| &history.nights[night].name;
    let change = |ratio: Option<f64>| ratio.map_or_else(String::new, |r| format!(" ({:+.1} %)", (r - 1.0) * 100.0));
    if let Some((night, judged)) = row.regression() {
        parts.push(format!("slower since {}{}", name(night), change(judged.ratio())));
    }
    for event in row.events.iter().rev() {
        let text = match &event.what {
            What::Time { open: true, .. } => continue,
            What::Time { judged, .. } if judged.verdict == Verdict::Slower => {
                format!("slower in {}{}, undone since", name(event.night), change(judged.ratio()))
            }
            What::Time { judged, .. } => format!("faster since {}{}", name(event.night), change(judged.ratio())),
            What::Formula(stated) => {
                let stated: Vec<String> = stated.iter().map(ToString::to_string).collect();
                format!("another formula since {}: {}", name(event.night), stated.join(", "))
            }
            What::Failed(detail) => format!("failed in {}: {detail}", name(event.night)),
        };
        parts.push(text);
    }
    parts.join("; ")
}

/// At most this many nights have a bar; the newest ones do.
const BARS: usize = 14;

/// Times as bars, from the shortest to the longest; a gap where there is none.
fn sparkline(times: &[Option<f64>]) -> String {
    const LEVELS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let times = &times[times.len().saturating_sub(BARS)..];
    let known = || times.iter().flatten().copied();
    let (low, high) = (known().fold(f64::INFINITY, f64::min), known().fold(0.0, f64::max));
    // Noise is no mountain: the scale spans a tenth of the time at least.
    let span = (high - low).max(high * 0.1);
    let bar = |ns: &Option<f64>| match ns {
        Some(ns) if span > 0.0 => LEVELS[(((ns - low) / span) * 7.0).round().clamp(0.0, 7.0) as usize],
        Some(_) => LEVELS[0],
        None => ' ',
    };
    times.iter().map(bar).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_rise_with_the_times_and_noise_stays_low() {
        assert_eq!(sparkline(&[Some(1.0), Some(1.5), None, Some(2.0)]), "▁▅ █");
        assert_eq!(sparkline(&[Some(100.0), Some(101.0)]), "▁▂");
        assert_eq!(sparkline(&[]), "");
    }
}
