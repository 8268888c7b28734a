//! Runs what is emitted from our manifest under CPython, on every call that its rows determine and on thousands of bad
//! ones, and compares it with the analyzer.

mod support;

use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use serde_json::{Map, Value as Json, json};
use tileops_analyzer::analysis::EntryAnalysis;
use tileops_analyzer::check::{Branch, Mismatch, Observed, execute};
use tileops_analyzer::lang::{DType, Value};
use tileops_analyzer::model::{Fact, Formula, TensorRole};
use tileops_analyzer::roofline::{Bytes, RooflineBody};
use tileops_analyzer::workload::Call;
use tileops_analyzer::workspace::Report;
use tileops_codegen::{Target, emit};

use support::{analyzed, places, texts};

fn json_of(value: &Value) -> Json {
    match value {
        Value::Int(value) => i64::try_from(*value).map_or(Json::Null, Json::from),
        Value::Bool(value) => json!(value),
        Value::Float(value) if value.is_finite() => json!(value),
        Value::Float(value) => json!({"float": if *value < 0.0 { "-inf" } else { "inf" }}),
        Value::None => Json::Null,
        Value::Str(text) | Value::Opaque(text) => json!(&**text),
        Value::DType(dtype) => json!(dtype.name()),
        Value::Seq(items) => items.iter().map(json_of).collect(),
        Value::Adt(adt) => {
            let fields: Map<String, Json> =
                adt.fields.iter().map(|(name, value)| (name.to_string(), json_of(value))).collect();
            let mut whole = Map::new();
            whole.insert(adt.constructor.to_string(), Json::Object(fields));
            Json::Object(whole)
        }
    }
}

/// The values as an object, those of `Seq[Int]` indices left out: no call says them.
fn object(analysis: &EntryAnalysis, values: &[(Arc<str>, Value)]) -> Json {
    use tileops_analyzer::lang::Kind;
    let is_row_value = |name: &str| {
        analysis
            .scope
            .get(name)
            .is_some_and(|s| matches!(s.kind, Kind::Seq(..)) && s.role == tileops_analyzer::check::SymbolRole::Index)
    };
    let known = values.iter().filter(|(name, _)| !is_row_value(name));
    Json::Object(known.map(|(name, value)| (name.to_string(), json_of(value))).collect())
}

fn tensor_json(shape: &[i128], dtype: DType) -> Json {
    let shape: Vec<i64> = shape.iter().map(|&extent| i64::try_from(extent).expect("rows are small")).collect();
    json!({"shape": shape, "dtype": dtype.name()})
}

/// One changed tensor, as the analyzer's own inference sees the call.
type Changed = (Arc<str>, Vec<i128>, DType);

fn mutations(analysis: &EntryAnalysis, call: &Call) -> Vec<Json> {
    let passed: Vec<Arc<str>> =
        call.tensors.iter().filter(|(_, t)| t.is_some()).map(|(name, _)| name.clone()).collect();
    let point = analysis.checked.point_of(&call.params, &passed);
    let branch = analysis.checked.branch(&point);
    let mut found = Vec::new();
    let inputs: Vec<Changed> = call
        .tensors
        .iter()
        .filter_map(|(name, t)| t.as_ref().map(|t| (name.clone(), t)))
        .filter(|(_, tensor)| tensor.role != TensorRole::Output)
        .map(|(name, tensor)| (name, tensor.shape.clone(), tensor.dtype))
        .collect();
    for (position, (name, shape, dtype)) in inputs.iter().enumerate() {
        let mut changes: Vec<(Vec<i128>, DType)> = Vec::new();
        for axis in 0..shape.len() {
            for by in [-1, 1, shape[axis]] {
                let mut shape = shape.clone();
                shape[axis] += by;
                changes.push((shape, *dtype));
            }
            let mut shorter = shape.clone();
            shorter.remove(axis);
            changes.push((shorter, *dtype));
        }
        changes.push((shape.iter().copied().chain([1]).collect(), *dtype));
        changes.push(([1].into_iter().chain(shape.iter().copied()).collect(), *dtype));
        changes.extend([DType::Int8, DType::Float16, DType::Float64, DType::Int64].map(|d| (shape.clone(), d)));
        for (changed_shape, changed_dtype) in changes {
            if changed_shape.iter().any(|&extent| extent < 0) {
                continue;
            }
            let mut seen = inputs.clone();
            seen[position] = (name.clone(), changed_shape, changed_dtype);
            found.push(judged(analysis, &branch, call, &seen, position, *dtype != changed_dtype));
        }
        // A tensor that must be there is left out.
        let facts = branch.tensor(name).expect("a passed tensor is one of the branch");
        let declared = declaration(analysis, name);
        let optional = match declared {
            Some(tensor) => &tensor.optional,
            None => continue,
        };
        let refused = match optional {
            Fact::Absent(_) => Some(facts.path.to_string()),
            Fact::Valid(tileops_analyzer::model::Condition::When(_), _) => Some(format!("{}.optional", facts.path)),
            _ => None,
        };
        if let Some(refused) = refused {
            found.push(json!({"tensors": {&**name: null}, "refused": refused, "dtype": false, "indices": {}}));
        }
    }
    // A tensor that must not be there is passed.
    for (name, _) in call.tensors.iter().filter(|(_, tensor)| tensor.is_none()) {
        let Some(tensor) = declaration(analysis, name).filter(|t| t.role != TensorRole::Output) else { continue };
        if matches!(tensor.optional, Fact::Valid(tileops_analyzer::model::Condition::When(_), _)) {
            let refused = format!("{}.optional", tensor.path);
            let tensors = json!({&**name: tensor_json(&[1], DType::Float32)});
            found.push(json!({"tensors": tensors, "refused": refused, "dtype": false, "indices": {}}));
        }
    }
    found
}

fn declaration<'a>(analysis: &'a EntryAnalysis, name: &str) -> Option<&'a tileops_analyzer::model::Tensor> {
    let signature = analysis.entry.signature.valid()?;
    let inputs = signature.inputs.items().iter().chain(signature.outputs.items());
    inputs.into_iter().find(|tensor| &*tensor.name.value == name)
}

/// A changed call with the verdict of the analyzer's own inference.
fn judged(
    analysis: &EntryAnalysis,
    branch: &Branch,
    call: &Call,
    seen: &[Changed],
    position: usize,
    dtype: bool,
) -> Json {
    let observed: Vec<Observed<'_>> =
        seen.iter().map(|(name, shape, dtype)| Observed { name, shape, dtype: *dtype }).collect();
    let (refused, indices) = match execute(&branch.plan, &branch.point, &observed, &call.params) {
        Ok(solved) => (Json::Null, object(analysis, &solved)),
        Err(mismatch) => (json!(place(branch, &mismatch)), json!({})),
    };
    let (name, shape, changed) = &seen[position];
    let tensors = json!({&**name: tensor_json(shape, *changed)});
    json!({"tensors": tensors, "refused": refused, "dtype": dtype, "indices": indices})
}

fn place(branch: &Branch, mismatch: &Mismatch) -> String {
    match &mismatch.tensor {
        Some(tensor) => branch.tensor(tensor).map_or(String::new(), |tensor| tensor.path.to_string()),
        None => {
            let rule = branch.rules.iter().find(|rule| rule.range.contains_range(mismatch.range));
            rule.map_or("signature.".to_owned(), |rule| rule.path.to_string())
        }
    }
}

fn cases(report: &Report) -> Vec<Json> {
    let mut cases = Vec::new();
    for analysis in &report.analyses {
        let entry = &analysis.entry;
        let roofline = entry.roofline.valid().expect("a clean entry has a roofline");
        let text = |formula: &Fact<Formula>| formula.valid().map(|formula| formula.expr.to_string());
        let plan = analysis.plan.as_ref().expect("a clean entry has a plan");
        let derived =
            plan.arms.iter().any(|(_, body)| matches!(body, RooflineBody::Inline { bytes: Bytes::Derived(_), .. }));
        let buffered = entry
            .signature
            .valid()
            .and_then(|signature| signature.outputs.items().iter().find(|output| output.buffer.valid().is_some()));
        for call in &analysis.calls {
            let tensors: Vec<Json> = call
                .tensors
                .iter()
                .map(|(name, tensor)| {
                    let role = analysis.scope.get(name).map(|symbol| symbol.role);
                    let role = match role {
                        Some(tileops_analyzer::check::SymbolRole::Tensor(TensorRole::Construction)) => "construction",
                        Some(tileops_analyzer::check::SymbolRole::Tensor(TensorRole::Output)) => "output",
                        _ => "input",
                    };
                    let mut described = match tensor {
                        Some(tensor) => tensor_json(&tensor.shape, tensor.dtype),
                        None => json!({"shape": [], "dtype": ""}),
                    };
                    described["name"] = json!(&**name);
                    described["role"] = json!(role);
                    described["passed"] = json!(tensor.is_some());
                    described
                })
                .collect();
            cases.push(json!({
                "op": &*entry.name.value,
                "family": entry.family.valid().map(|family| family.value.to_string()),
                "case_id": call.case_id,
                "params": object(analysis, &call.params),
                "indices": object(analysis, &call.indices),
                "tensors": tensors,
                "out": buffered.map(|output| output.name.value.to_string()),
                "derived": derived,
                "bytes": call.bytes().map(|traffic| traffic.total.to_string()),
                "flops": text(&roofline.flops),
                "moved": text(&roofline.bytes),
                "mutations": mutations(analysis, call),
            }));
        }
    }
    cases
}

/// Emits `manifest`, runs every call, and gives what the driver prints.
fn driven(manifest: &Path) -> Json {
    let (workspace, report) = analyzed(texts(manifest));
    let files = emit(Target::Python, &workspace, &report, &|_| true).expect("the manifest is emitted");
    let folder = tempfile::tempdir().expect("a folder can be made");
    let package = folder.path().join("emitted");
    std::fs::create_dir(&package).expect("a folder can be made");
    for file in &files {
        std::fs::write(package.join(&file.path), &file.text).expect("a file can be written");
    }
    let cases = folder.path().join("cases.json");
    std::fs::write(&cases, Json::Array(self::cases(&report)).to_string()).expect("a file can be written");
    let output = Command::new("python3")
        .arg(places::root().join("runtime/codegen/tests/driver.py"))
        .args([folder.path(), &cases])
        .output()
        .expect("python3 runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("the driver prints JSON")
}

#[test]
fn emitted_python_agrees_with_the_analyzer_on_every_row_and_on_bad_calls() {
    let found = driven(&places::ours());
    let problems = found["problems"].as_array().expect("a list");
    let shown: Vec<String> = problems.iter().take(20).map(Json::to_string).collect();
    assert!(problems.is_empty(), "{} problems:\n{}", problems.len(), shown.join("\n"));
    let count = |name: &str| found["counts"][name].as_u64().unwrap_or(0);
    assert!(count("calls") >= 100 && count("refused") >= 2000 && count("accepted") >= 100, "{}", found["counts"]);
}

/// The emitted Rust refuses the bad calls that the emitted Python refuses, by the same declarations, and accepts the others.
#[test]
fn emitted_rust_and_emitted_python_refuse_the_same_calls() {
    let manifest = places::ours();
    let (_, report) = analyzed(texts(&manifest));
    let verdicts = driven(&manifest)["verdicts"].as_array().expect("a list").clone();
    let cases = cases(&report);
    assert_eq!(cases.len(), verdicts.len());
    let calls = report.analyses.iter().flat_map(|analysis| analysis.calls.iter().map(move |call| (analysis, call)));
    let (mut wrong, mut count) = (Vec::new(), 0);
    for ((analysis, call), (case, verdicts)) in calls.zip(cases.iter().zip(&verdicts)) {
        let bad = case["mutations"].as_array().expect("a list");
        for (bad, python) in bad.iter().zip(verdicts.as_array().expect("a list")) {
            count += 1;
            let rust = verdict(analysis, call, &bad["tensors"]);
            if rust.as_deref() != python.as_str() {
                wrong.push(format!(
                    "{} {}: {}: {rust:?}, and Python has {python}",
                    case["op"], case["case_id"], bad["tensors"]
                ));
            }
        }
    }
    let shown: Vec<String> = wrong.iter().take(20).cloned().collect();
    assert!(wrong.is_empty(), "{} of {count} differ:\n{}", wrong.len(), shown.join("\n"));
    assert!(count >= 10_000, "{count}");
}

/// The declaration by which the emitted Rust refuses `call` with some tensors changed, if it does.
fn verdict(analysis: &EntryAnalysis, call: &Call, changed: &Json) -> Option<String> {
    use tileops_ops::{Arguments, OpError, Params, Tensor as Own};
    let (mut params, mut arguments) = (Params::new(), Arguments::new());
    for (name, value) in &call.params {
        params = params.with(&**name, tileops_bench::rows::value_of(value));
    }
    for (name, tensor) in &call.tensors {
        let role = analysis.scope.get(name).map(|symbol| symbol.role);
        let own = match changed.get(&**name) {
            Some(Json::Null) => None,
            Some(changed) => {
                let shape = changed["shape"].as_array().expect("a shape").iter();
                let shape: Vec<i128> = shape.map(|extent| extent.as_i64().expect("an extent").into()).collect();
                let dtype = changed["dtype"].as_str().and_then(tileops_ops::DType::from_name).expect("a dtype");
                Some(Own::new(shape, dtype))
            }
            None => tensor.as_ref().map(|t| Own::new(t.shape.clone(), tileops_bench::rows::dtype_of(t.dtype))),
        };
        let Some(own) = own else { continue };
        match role {
            Some(tileops_analyzer::check::SymbolRole::Tensor(TensorRole::Construction)) => {
                params = params.with_tensor(&**name, own);
            }
            Some(tileops_analyzer::check::SymbolRole::Tensor(TensorRole::Input)) => {
                arguments = arguments.with(&**name, own);
            }
            _ => {}
        }
    }
    let registry = tileops_ops::generated::REGISTRY;
    let op =
        tileops_ops::construct(registry, &analysis.entry.name.value, &params).expect("the parameters are the row's");
    match op.check_call(&arguments) {
        Ok(_) => None,
        Err(OpError::Refused { declaration, .. }) => Some(declaration.to_owned()),
        Err(other) => panic!("{other}"),
    }
}

/// What is written for each form of the language, as it was last looked at. With `UPDATE_EXPECTED` set it is written anew.
#[test]
fn each_form_is_written_as_expected_and_works() {
    let forms = places::forms();
    let (workspace, report) = analyzed(texts(&forms));
    let files = emit(Target::Python, &workspace, &report, &|_| true).expect("the forms are emitted");
    let text = &files.iter().find(|file| file.path == "forms.py").expect("a module a family").text;
    let expected = forms.join("expected.py");
    if std::env::var_os("UPDATE_EXPECTED").is_some() {
        std::fs::write(&expected, text).expect("a file can be written");
    }
    let before = std::fs::read_to_string(&expected).expect("what is expected can be read");
    assert!(before == *text, "the emitted code has changed; look at it with UPDATE_EXPECTED=1 and git diff");
    let found = driven(&forms);
    assert_eq!(found["problems"], json!([]));
}

/// The same of manifests that others wrote, where they are at hand.
#[test]
fn the_corpus_is_emitted_and_agrees() {
    let Some(corpus) = places::corpus() else { return };
    let found = driven(&corpus);
    let problems = found["problems"].as_array().expect("a list");
    let shown: Vec<String> = problems.iter().take(20).map(Json::to_string).collect();
    assert!(problems.is_empty(), "{} problems:\n{}", problems.len(), shown.join("\n"));
}
