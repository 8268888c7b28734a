//! The report as one HTML page that needs nothing else: no network, no second file.

use std::collections::HashMap;

use serde_json::{Number, Value, json};

use super::Report;
use crate::price::{ANOMALY, AT_CEILING};
use crate::profile::{Ceiling, Profile};

const PAGE: &str = include_str!("../../assets/report.html");
const STYLE: &str = include_str!("../../assets/report.css");
const SCRIPT: &str = include_str!("../../assets/report.js");
const LIBRARY: &str = include_str!("../../assets/echarts/echarts.common.min.js");

/// The report as a self-contained page.
pub fn html(report: &Report, profile: &Profile) -> String {
    let mut data = super::json(report, profile);
    if let Some(fields) = data.as_object_mut() {
        let ceiling = |c: Ceiling| json!({"theoretical": c.theoretical, "effective": c.effective});
        let peak =
            |(key, c): (String, Ceiling)| json!({"key": key, "theoretical": c.theoretical, "effective": c.effective});
        fields.insert("at_ceiling".into(), json!(AT_CEILING));
        fields.insert("anomaly".into(), json!(ANOMALY));
        let peaks: Vec<_> = profile.peaks().map(peak).collect();
        fields.insert(
            "profile".into(),
            json!({"hbm": ceiling(profile.bandwidth()), "peaks": peaks, "source": profile.source}),
        );
    }
    spell(&mut data);
    share(&mut data);
    fill(&[("style", STYLE), ("data", &escape(&data.to_string())), ("library", LIBRARY), ("script", SCRIPT)])
}

/// Makes a text of each integer that a script's numbers cannot hold: a seed is told to its last digit. What the script
/// computes with stays a number.
fn spell(data: &mut Value) {
    fn exact(value: &mut Value) {
        const BEYOND: u64 = 1 << 53;
        let size = |number: &Number| number.as_u64().or_else(|| number.as_i64().map(i64::unsigned_abs));
        match value {
            Value::Number(number) if size(number) > Some(BEYOND) => *value = Value::String(number.to_string()),
            Value::Array(values) => values.iter_mut().for_each(exact),
            Value::Object(fields) => fields.values_mut().for_each(exact),
            _ => {}
        }
    }
    for row in data.get_mut("rows").and_then(Value::as_array_mut).into_iter().flatten() {
        let fields = row.as_object_mut().into_iter().flatten();
        fields
            .filter(|(name, _)| !matches!(name.as_str(), "flops" | "bytes" | "read_bytes"))
            .for_each(|(_, v)| exact(v));
    }
}

/// Puts what many rows state alike into `shared` once, and its place there into each row.
fn share(data: &mut Value) {
    let mut places: HashMap<String, usize> = HashMap::new();
    let mut shared = Vec::new();
    let mut once = |value: Option<&mut Value>| {
        let Some(value @ Value::Object(_)) = value else { return };
        let place = *places.entry(value.to_string()).or_insert_with(|| {
            shared.push(value.take());
            shared.len() - 1
        });
        *value = place.into();
    };
    for row in data.get_mut("rows").and_then(Value::as_array_mut).into_iter().flatten() {
        once(row.get_mut("device"));
        once(row.get_mut("run"));
        once(row.pointer_mut("/timing/policy"));
    }
    data["shared"] = shared.into();
}

/// Inside a script element nothing ends it but `</script`, and `<!--` changes how it is read; JSON can spell `<` otherwise.
fn escape(json: &str) -> String {
    json.replace('<', "\\u003c")
}

/// Puts each text in its place, in one pass, so that a text that looks like a place stays what it is.
fn fill(texts: &[(&str, &str)]) -> String {
    let mut out = String::with_capacity(PAGE.len() + texts.iter().map(|(_, text)| text.len()).sum::<usize>());
    let mut rest = PAGE;
    while let Some((before, after)) = rest.split_once("/*{{") {
        out.push_str(before);
        let (name, after) = after.split_once("}}*/").unwrap_or((after, ""));
        out.push_str(texts.iter().find(|(n, _)| *n == name).map_or("", |(_, text)| text));
        rest = after;
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_is_filled_and_no_asset_ends_its_element() {
        let page = fill(&[("style", "S"), ("data", "/*{{script}}*/"), ("library", "L"), ("script", "C")]);
        assert!(page.contains("<script id=\"data\" type=\"application/json\">/*{{script}}*/</script>"));
        assert!(
            page.contains("\nS\n</style>") && page.contains("<script>L</script>") && page.contains("\nC\n</script>")
        );
        for asset in [SCRIPT, LIBRARY] {
            assert!(!asset.contains("</script") && !asset.contains("<!--"));
        }
        assert!(!STYLE.contains("</style"));
    }

    #[test]
    fn what_rows_state_alike_is_in_the_data_once() {
        let row = |name: &str| json!({"device": {"name": name}, "run": null, "timing": {"policy": {"l2": "read"}}});
        let mut data = json!({"rows": [row("X"), row("Y"), row("X"), {"op": "A"}]});
        share(&mut data);
        assert_eq!(data["shared"], json!([{"name": "X"}, {"l2": "read"}, {"name": "Y"}]));
        let row = |device: usize| json!({"device": device, "run": null, "timing": {"policy": 1}});
        assert_eq!(data["rows"], json!([row(0), row(2), row(0), {"op": "A"}]));
    }

    #[test]
    fn integers_that_a_script_would_round_are_texts() {
        let mut data =
            json!({"rows": [{"seed": u64::MAX, "params": {"N": [i64::MIN, 1_u64 << 53, 0.5]}, "flops": u64::MAX}]});
        spell(&mut data);
        let params = json!({"N": ["-9223372036854775808", 9_007_199_254_740_992_u64, 0.5]});
        assert_eq!(data["rows"], json!([{"seed": "18446744073709551615", "params": params, "flops": u64::MAX}]));
    }

    #[test]
    fn record_text_cannot_leave_the_data() {
        assert_eq!(escape(r#"{"op":"</script><!--"}"#), r#"{"op":"\u003c/script>\u003c!--"}"#);
    }
}
