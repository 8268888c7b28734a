//! The report as JSON: `{"gpu", "summary", "rows": [...]}`. A row holds the record's own fields and, beside them, what it
//! is worth; a value that does not exist is null.

use serde::Serialize;
use serde_json::{Map, Value, json};
use tileops_record::Record;

use super::{Report, Row};
use crate::price::Breach;
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
    let row = JsonRow { record, worth: Worth::new(row) };
    // A record came from JSON or from numbers that JSON can state; a NaN time becomes null. A number beyond 64 bits has a
    // text and no exact value.
    let of_text = |_| serde_json::to_string(&row).and_then(|text| serde_json::from_str(&text));
    serde_json::to_value(&row).or_else(of_text).unwrap_or_default()
}

/// [`json_row`] as text.
pub fn json_line(row: &Row, record: &Record) -> String {
    // A field of another tool may have the name of one of ours, which is the one that stands.
    if !record.extra.is_empty() {
        return json_row(row, record).to_string();
    }
    serde_json::to_string(&JsonRow { record, worth: Worth::new(row) }).unwrap_or_default()
}

#[derive(Serialize)]
struct JsonRow<'a> {
    #[serde(flatten)]
    record: &'a Record,
    #[serde(flatten)]
    worth: Worth<'a>,
}

/// What a record is worth.
#[derive(Serialize)]
struct Worth<'a> {
    intensity: Option<f64>,
    memory_ns: Option<f64>,
    compute_ns: Option<f64>,
    sol_ns: Option<f64>,
    actual_ns: Option<f64>,
    efficiency: Option<f64>,
    bound: Option<&'static str>,
    latency_bound: Option<bool>,
    fits_l2: Option<bool>,
    verdict: Option<&'static str>,
    blank_reason: Option<String>,
    formula_errors: Vec<JsonBreach<'a>>,
    peers_ns: Map<String, Value>,
    against_best_peer: Option<f64>,
}

#[derive(Serialize)]
struct JsonBreach<'a> {
    roof: &'a str,
    rate: f64,
    ceiling: f64,
    unit: &'static str,
}

impl<'a> Worth<'a> {
    fn new(row: &'a Row) -> Self {
        let (reading, blank) = match &row.priced.reading {
            Ok(reading) => (Some(reading), None),
            Err(blank) => (None, Some(blank)),
        };
        let breach = |b: &'a Breach| JsonBreach { roof: &b.roof, rate: b.rate, ceiling: b.ceiling, unit: b.unit };
        Worth {
            intensity: row.intensity(),
            memory_ns: reading.map(|r| r.memory_ns),
            compute_ns: reading.map(|r| r.compute_ns),
            sol_ns: reading.map(|r| r.sol_ns),
            actual_ns: reading.map(|r| r.actual_ns),
            efficiency: reading.map(|r| r.efficiency),
            bound: reading.map(|r| r.bound.as_str()),
            latency_bound: reading.map(|r| r.latency_bound),
            fits_l2: reading.map(|r| r.fits_l2),
            verdict: reading.and_then(|r| r.verdict.as_str()),
            blank_reason: blank.map(ToString::to_string),
            formula_errors: row.priced.breaches.iter().map(breach).collect(),
            peers_ns: row.peers.iter().map(|(tag, ns)| (tag.to_string(), json!(ns))).collect(),
            against_best_peer: row.against_best_peer(),
        }
    }
}

#[cfg(test)]
mod tests {
    use tileops_record::{Device, Timing};

    use super::*;
    use crate::report::Report;

    const PROFILE: &str =
        "gpu: G\nhbm: {bandwidth: 1.0e+12}\ncuda_core: {fp32: {flops: 1.0e+14}}\nlatency_floor_ns: 1\n";

    fn of(change: impl FnOnce(&mut Record)) -> (Value, String) {
        let timing = Timing { source: "cupti".into(), device_busy_ns: 9.0, ..Timing::default() };
        let mut record = Record {
            flops: Some(1),
            bytes: Some(2),
            roof_key: Some("cuda_core.fp32".into()),
            timing: Some(timing.into()),
            device: Some(Device { name: "G".into(), ..Device::default() }.into()),
            ..Record::new("AFwdOp", "a")
        };
        change(&mut record);
        let report = Report::new(vec![record], &Profile::from_yaml(PROFILE).expect("a profile"));
        let (row, record) = (&report.rows[0], &report.records[0]);
        (json_row(row, record), json_line(row, record))
    }

    #[test]
    fn a_row_as_a_value_and_as_text_is_the_same() {
        let changes: [fn(&mut Record); 5] = [
            |_| {},
            |r| r.timing = None,
            |r| r.bytes = Some(u128::from(u64::MAX)),
            |r| r.params.insert("M", 4),
            |r| r.extra.insert("note", "mine"),
        ];
        for change in changes {
            let (value, text) = of(change);
            assert_eq!(value.to_string(), text);
        }
    }

    #[test]
    fn our_own_fields_stand_where_another_tools_have_their_name() {
        let (value, text) = of(|r| r.extra.insert("efficiency", "great"));
        assert_eq!((&value["efficiency"], text.matches("efficiency").count()), (&json!(2e-3 / 9.0), 1));
    }

    #[test]
    fn a_count_beyond_64_bits_costs_no_other_field() {
        let (value, text) = of(|r| r.bytes = Some(u128::MAX));
        assert_eq!((&value["op"], value["bytes"].as_f64()), (&json!("AFwdOp"), Some(u128::MAX as f64)));
        assert!(text.contains(&u128::MAX.to_string()), "{text}");
    }
}
