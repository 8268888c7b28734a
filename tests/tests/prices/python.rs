//! The emitted Python, run.

use std::collections::BTreeMap;
use std::io::Write;
use std::process::{Command, Stdio};
use std::sync::LazyLock;

use serde_json::{Map, Value as Json, json};
use tileops_analyzer::lang::Value;
use tileops_analyzer::model::TensorRole;
use tileops_codegen::{Target, emit};

use crate::manifest::{Manifest, OURS, Row};

/// What a call costs: FLOPs and bytes.
pub(crate) type Price = (i128, i128);

/// What each row of our manifest costs, by its id.
pub(crate) static PRICES: LazyLock<BTreeMap<String, Price>> = LazyLock::new(|| {
    let rows: Vec<Row<'_>> = OURS.rows().collect();
    let prices = run(&OURS, rows.iter().map(|row| case(&OURS, row)).collect());
    let mut failed = Vec::new();
    let mut found = BTreeMap::new();
    for (row, price) in rows.iter().zip(prices) {
        match price {
            Ok(price) => drop(found.insert(row.id(), price)),
            Err(message) => failed.push(format!("{}: {message}", row.id())),
        }
    }
    assert!(failed.is_empty(), "{} rows have no price:\n{}", failed.len(), failed.join("\n"));
    found
});

/// A call as JSON: what its op is constructed from and called with.
pub(crate) fn case(manifest: &Manifest, row: &Row<'_>) -> Json {
    let analysis = manifest.report.analyses.iter().find(|analysis| &*analysis.entry.name.value == row.op);
    let family = analysis.and_then(|analysis| analysis.entry.family.valid()).map(|family| family.value.to_string());
    let mut params = Map::new();
    for (name, value) in &row.call.params {
        params.insert(name.to_string(), json_of(value));
    }
    let (mut tensors, mut construction) = (Vec::new(), Vec::new());
    for (name, tensor) in &row.call.tensors {
        let Some(tensor) = tensor else { continue };
        match tensor.role {
            TensorRole::Output => continue,
            TensorRole::Construction => construction.push(name.to_string()),
            TensorRole::Input => {}
        }
        // Values are long, and only formulas read them.
        let values = tensor.values.as_ref().filter(|_| row.func.is_some());
        let values = values.map(|recipe| recipe.generate().expect("a clean row has its values").to_vec());
        tensors.push(
            json!({"name": &**name, "shape": extents(&tensor.shape), "dtype": tensor.dtype.name(), "values": values}),
        );
    }
    json!({"op": row.op, "family": family, "params": params, "construction": construction, "tensors": tensors})
}

pub(crate) fn extents(shape: &[i128]) -> Vec<i64> {
    shape.iter().map(|&extent| i64::try_from(extent).expect("rows are small")).collect()
}

fn json_of(value: &Value) -> Json {
    match value {
        Value::Int(value) => json!(i64::try_from(*value).expect("rows are small")),
        Value::Bool(value) => json!(value),
        Value::Float(value) if value.is_finite() => json!(value),
        Value::Float(value) => json!({"float": value.to_string()}),
        Value::None => Json::Null,
        Value::Str(text) | Value::Opaque(text) => json!(&**text),
        Value::DType(dtype) => json!(dtype.name()),
        Value::Seq(items) => items.iter().map(json_of).collect(),
        Value::Adt(adt) => {
            let fields: Map<String, Json> = adt.fields.iter().map(|(name, v)| (name.to_string(), json_of(v))).collect();
            json!({adt.constructor.to_string(): fields})
        }
    }
}

/// Emits `manifest`, and prices the calls that `cases` describe, or says why one has no price.
pub(crate) fn run(manifest: &Manifest, cases: Vec<Json>) -> Vec<Result<Price, String>> {
    let files =
        emit(Target::Python, &manifest.workspace, &manifest.report, &|_| true).expect("the manifest is emitted");
    let folder = tempfile::tempdir().expect("a folder can be made");
    std::fs::create_dir(folder.path().join("emitted")).expect("a folder can be made");
    for file in &files {
        std::fs::write(folder.path().join("emitted").join(&file.path), &file.text).expect("a file can be written");
    }
    let root = tileops_tests::root();
    let mut python = Command::new("python3")
        .arg(root.join("tests/tests/prices/price.py"))
        .arg(folder.path())
        .arg(root.join("runtime/ops/python"))
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("python3 runs");
    let text = Json::Array(cases).to_string();
    python.stdin.take().expect("it is piped").write_all(text.as_bytes()).expect("it can be written");
    let output = python.wait_with_output().expect("it ends");
    assert!(output.status.success(), "the driver failed");
    let results: Vec<Json> = serde_json::from_slice(&output.stdout).expect("the driver prints JSON");
    let number = |value: &Json| value.as_str().and_then(|text| text.parse().ok()).expect("it is an integer");
    let price = |result: &Json| match result {
        Json::Array(pair) => Ok((number(&pair[0]), number(&pair[1]))),
        other => Err(other.as_str().unwrap_or_default().to_owned()),
    };
    results.iter().map(price).collect()
}
