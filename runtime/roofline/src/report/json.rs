//! The report as JSON: `{"gpu", "summary", "rows": [...]}`. A row holds the record's own fields and, beside them, what it
//! is worth; a value that does not exist is null.

use serde_json::{Map, Value, json};

use tileops_record::Record;

use super::{Report, Row};
use crate::profile::Profile;

/// The report as one JSON document. Its records have to be kept: a row without its record is not in it.
pub fn json(report: &Report, profile: &Profile) -> Value {
    let mut fields = json_summary(report, profile);
    let rows = report.rows.iter().zip(&report.records).map(|(row, record)| json_row(row, record));
    fields.insert("rows".to_owned(), rows.collect());
    Value::Object(fields)
}

/// Everything but the rows.
pub fn json_summary(report: &Report, profile: &Profile) -> Map<String, Value> {
    let summary = &report.summary;
    let summary = json!({
        "rows": summary.rows,
        "priced": summary.priced,
        "median_efficiency": summary.median_efficiency,
        "at_ceiling": summary.at_ceiling,
        "anomalies": summary.anomalies,
        "latency_bound": summary.latency_bound,
        "formula_errors": summary.formula_errors,
        "with_peer": summary.with_peer,
        "behind_a_peer": summary.behind_a_peer,
    });
    let mut fields = Map::new();
    fields.insert("gpu".to_owned(), json!(profile.gpu));
    fields.insert("healthy".to_owned(), json!(report.healthy()));
    fields.insert("summary".to_owned(), summary);
    fields
}

/// One row: the record's own fields and, beside them, what it is worth.
pub fn json_row(row: &Row, record: &Record) -> Value {
    let mut fields = match serde_json::to_value(record) {
        Ok(Value::Object(fields)) => fields,
        // A record came from JSON or from numbers that JSON can state; a NaN time becomes null.
        _ => Map::new(),
    };
    let reading = row.priced.reading.as_ref();
    let mut put = |name: &str, value: Value| {
        fields.insert(name.to_owned(), value);
    };
    put("intensity", json!(row.intensity()));
    put("memory_ns", json!(reading.ok().map(|r| r.memory_ns)));
    put("compute_ns", json!(reading.ok().map(|r| r.compute_ns)));
    put("sol_ns", json!(reading.ok().map(|r| r.sol_ns)));
    put("actual_ns", json!(reading.ok().map(|r| r.actual_ns)));
    put("efficiency", json!(reading.ok().map(|r| r.efficiency)));
    put("bound", json!(reading.ok().map(|r| r.bound.as_str())));
    put("latency_bound", json!(reading.ok().map(|r| r.latency_bound)));
    put("fits_l2", json!(reading.ok().map(|r| r.fits_l2)));
    put("verdict", json!(reading.ok().and_then(|r| r.verdict.as_str())));
    put("blank_reason", json!(reading.err().map(ToString::to_string)));
    let breach =
        |b: &crate::price::Breach| json!({"roof": b.roof, "rate": b.rate, "ceiling": b.ceiling, "unit": b.unit});
    put("formula_errors", json!(row.priced.breaches.iter().map(breach).collect::<Vec<_>>()));
    let peers: Map<String, Value> = row.peers.iter().map(|(tag, ns)| (tag.to_string(), json!(ns))).collect();
    put("peers_ns", Value::Object(peers));
    put("against_best_peer", json!(row.against_best_peer()));
    Value::Object(fields)
}
