//! What `docs/records.md` and `docs/record.schema.json` say is what the types say. `UPDATE_EXPECT=1` rewrites both.

use std::fmt::Write;
use std::path::Path;
use std::{env, fs};

use serde_json::Value;
use tileops_record::{FailureKind, Record, SCHEMA, json_schema};

/// The parts of a record, in the order of the page: the name in the schema, and where it stands in a record.
const PARTS: [(&str, &str); 9] = [
    ("Tensor", "`tensors[]`"),
    ("Correctness", "`correctness`"),
    ("Failure", "`failure`"),
    ("Timing", "`timing`"),
    ("Policy", "`timing.policy`"),
    ("Clocks", "`timing.clocks`"),
    ("Device", "`device`"),
    ("Run", "`run`"),
    ("", ""),
];

fn docs() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs")
}

fn hold(name: &str, expected: &str) {
    let path = docs().join(name);
    let found = fs::read_to_string(&path).unwrap_or_default().replace("\r\n", "\n");
    if found == expected {
        return;
    }
    assert!(
        env::var_os("UPDATE_EXPECT").is_some(),
        "docs/{name} is stale: UPDATE_EXPECT=1 cargo test -p tileops-record --test schema"
    );
    fs::write(path, expected).expect("written");
}

/// A field's type in words.
fn kind(field: &Value) -> String {
    let name = |value: &Value| match value.as_str() {
        Some("integer") => "integer".to_owned(),
        Some(name) => name.to_owned(),
        None => String::new(),
    };
    if let Some(reference) = field["$ref"].as_str() {
        return reference.rsplit('/').next().unwrap_or_default().to_lowercase();
    }
    if let Some(any) = field["anyOf"].as_array() {
        return any.iter().map(kind).find(|k| k != "null").unwrap_or_default();
    }
    match &field["type"] {
        Value::Array(types) => {
            let known: Vec<String> = types.iter().map(name).filter(|n| n != "null").collect();
            if known == ["array"] { format!("list of {}s", kind(&field["items"])) } else { known.join(" or ") }
        }
        one if one == "array" => format!("list of {}s", kind(&field["items"])),
        one => name(one),
    }
}

fn table(schema: &Value) -> String {
    let mut out = String::from("| field | type | what it says |\n| --- | --- | --- |\n");
    let required: Vec<&str> = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        let text = field["description"].as_str().unwrap_or_default();
        assert!(!text.is_empty(), "{name} has no documentation");
        let must = if required.contains(&name.as_str()) { ", required" } else { "" };
        let _ = writeln!(out, "| `{name}` | {}{must} | {} |", kind(field), text.replace('\n', " ").replace('|', "\\|"));
    }
    out
}

#[test]
fn the_page_and_the_schema_say_what_the_types_say() {
    let schema = json_schema();
    hold("record.schema.json", &format!("{schema:#}\n"));

    let page = fs::read_to_string(docs().join("records.md")).expect("the page").replace("\r\n", "\n");
    let mark = page.lines().find(|line| line.starts_with("<!-- generated:")).expect("a mark").to_owned();
    let (written, _) = page.split_once(&mark).expect("a mark");
    let mut out = format!("{written}{mark}\n\n## The record\n\n{}", table(&schema));
    for (name, place) in PARTS.iter().filter(|(name, _)| !name.is_empty()) {
        let part = &schema["$defs"][name];
        let about = part["description"].as_str().expect("documentation").replace('\n', " ");
        let _ = write!(out, "\n## {place}\n\n{about}\n\n{}", table(part));
        if *name == "Failure" {
            let line = |kind: &FailureKind| format!("| `{}` | {} |\n", kind.as_str(), kind.says());
            let kinds: String = FailureKind::ALL.iter().map(line).collect();
            let _ = write!(out, "\n### The kinds of failure\n\n| kind | what happened |\n| --- | --- |\n{kinds}");
        }
    }
    hold("records.md", &out);
    let defined: Vec<&String> = schema["$defs"].as_object().expect("parts").keys().collect();
    assert!(defined.iter().all(|d| PARTS.iter().any(|(name, _)| name == d)), "{defined:?} all have their table");
}

/// The page's own example.
fn example() -> String {
    let page = fs::read_to_string(docs().join("records.md")).expect("the page").replace("\r\n", "\n");
    let (_, rest) = page.split_once("```json\n").expect("an example");
    rest.split_once("\n```").expect("its end").0.to_owned()
}

#[test]
fn the_example_is_a_record_and_comes_back_as_it_was() {
    let text = example();
    let record: Record = serde_json::from_str(&text).expect("a record");
    assert_eq!(record.schema, *SCHEMA);
    assert!(record.extra.is_empty(), "every field is a known one");
    assert_eq!(serde_json::to_string(&record).expect("JSON"), text);
}

#[test]
fn unknown_fields_are_kept_wherever_they_stand() {
    let mut value: Value = serde_json::from_str(&example()).expect("JSON");
    let mut places = 0;
    fn plant(value: &mut Value, places: &mut usize, free: bool) {
        match value {
            Value::Object(fields) => {
                for (name, inner) in fields.iter_mut() {
                    plant(inner, places, matches!(name.as_str(), "params" | "data_terms" | "libraries"));
                }
                if !free {
                    *places += 1;
                    fields.insert("of_a_later_version".to_owned(), serde_json::json!({"n": [1, null, "x"]}));
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| plant(item, places, false)),
            _ => {}
        }
    }
    plant(&mut value, &mut places, false);
    assert_eq!(places, 9, "the record and every part");
    let record: Record = serde_json::from_value(value.clone()).expect("a record");
    assert_eq!(serde_json::to_value(&record).expect("JSON"), value);
}

#[test]
fn counts_beyond_64_bits_survive() {
    let big = u128::from(u64::MAX) * 1_000;
    let text = format!(r#"{{"schema":"{SCHEMA}","op":"A","case":"b","flops":{big}}}"#);
    let record: Record = serde_json::from_str(&text).expect("a record");
    assert_eq!(record.flops, Some(big));
    assert_eq!(serde_json::to_string(&record).expect("JSON"), text);
}

#[test]
fn what_must_be_there_is_asked_for_by_name() {
    for (text, expected) in [
        (r#"{"schema":"tileops.record/1","op":"A"}"#, "missing field `case`"),
        (r#"{"schema":"tileops.record/1","op":"A","case":"b","flops":-1}"#, "number out of range"),
        (
            r#"{"schema":"tileops.record/1","op":"A","case":"b","timing":{"source":"cupti"}}"#,
            "missing field `device_busy_ns`",
        ),
        (r#"["tileops.record/1"]"#, "invalid type: sequence"),
    ] {
        let error = serde_json::from_str::<Record>(text).expect_err(text).to_string();
        assert!(error.contains(expected), "{text}: {error}");
    }
}
