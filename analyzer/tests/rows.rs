//! Rows made calls: what the manifest's own rows give, and that a call made from a row is inferred back to it.

#![allow(clippy::disallowed_methods, clippy::unwrap_used)]

use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

use proptest::prelude::*;
use tileops_analyzer::analysis::EntryAnalysis;
use tileops_analyzer::check::{Observed, execute};
use tileops_analyzer::lang::{Kind, Value};
use tileops_analyzer::model::TensorRole;
use tileops_analyzer::workload::{Call, CallTensor};
use tileops_analyzer::workspace::{SourceFile, Workspace};

fn manifest() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../manifest")
}

fn analyze_texts(texts: &[(&str, String)]) -> Vec<EntryAnalysis> {
    let source = |(name, text): &(&str, String)| SourceFile {
        path: Arc::from(*name),
        text: Arc::from(text.as_str()),
        configured: true,
        judged: true,
    };
    let workspace = Workspace::new(texts.iter().map(source).collect());
    workspace.entries().iter().map(|entry| workspace.analyze(entry)).collect()
}

fn analyze(files: &[&str]) -> Vec<EntryAnalysis> {
    let texts: Vec<_> =
        files.iter().map(|name| (*name, std::fs::read_to_string(manifest().join(name)).unwrap())).collect();
    analyze_texts(&texts)
}

fn show(call: &Call) -> String {
    let traffic = call.bytes().unwrap();
    let mut out = format!("{}: {} = {} read + {} written\n", call.case_id, traffic.total, traffic.read, traffic.write);
    for (name, tensor) in &call.tensors {
        let Some(CallTensor { shape, dtype, effect, values, .. }) = tensor else {
            let _ = writeln!(out, "  {name}: not passed");
            continue;
        };
        let _ = write!(out, "  {name}: {}{shape:?} {}", dtype.name(), effect.name());
        if let Some(values) = values {
            let contents = values.values().unwrap();
            let sum: i128 = contents.iter().map(|&v| i128::from(v)).sum();
            let first: Vec<i64> = contents.iter().take(6).copied().collect();
            let _ = write!(out, " {}: {first:?}… sum {sum}", values.name());
        }
        out.push('\n');
    }
    out
}

fn rows_of(files: &[&str]) -> String {
    let mut out = String::new();
    for analysis in analyze(files) {
        for call in &analysis.calls {
            let _ = write!(out, "{} {}", analysis.entry.name.value, show(call));
        }
    }
    out
}

#[test]
fn the_calls_of_our_own_rows() {
    insta::assert_snapshot!("attention", rows_of(&["attention.yaml"]));
    insta::assert_snapshot!("moe", rows_of(&["moe.yaml", "types.yaml"]));
    insta::assert_snapshot!("norm", rows_of(&["norm.yaml"]));
}

#[test]
fn the_same_rows_give_the_same_calls() {
    let files = ["attention.yaml", "moe.yaml", "types.yaml"];
    assert_eq!(rows_of(&files), rows_of(&files));
}

#[test]
fn every_row_of_our_manifest_is_a_call() {
    let mut names: Vec<String> = std::fs::read_dir(manifest())
        .unwrap()
        .map(|item| item.unwrap().file_name().to_string_lossy().into_owned())
        .filter(|name| name.ends_with(".yaml"))
        .collect();
    names.sort();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    for analysis in analyze(&names) {
        let (name, findings) = (&analysis.entry.name.value, &analysis.findings);
        // Formulas are judged where their sources are known.
        let lacking = findings.unreached.iter().any(|unreached| unreached.path != "roofline.func");
        assert!(findings.defects.is_empty() && !lacking, "{name}: {findings:#?}");
        let rows = analysis.entry.workloads.items().iter().filter_map(|row| row.valid());
        let cases: usize = rows.map(|row| row.dtype_cases.items().len().max(1)).sum();
        assert_eq!(analysis.calls.len(), cases, "{name}");
        analysis.calls.iter().for_each(|call| comes_back(&analysis, call));
    }
}

/// Inferring the call from its tensors alone gives the row's indices, and all of them.
fn comes_back(analysis: &EntryAnalysis, call: &Call) {
    let passed: Vec<Arc<str>> =
        call.tensors.iter().filter(|(_, tensor)| tensor.is_some()).map(|(name, _)| name.clone()).collect();
    let branch = analysis.checked.branch(&analysis.checked.point_of(&call.params, &passed));
    let observed: Vec<Observed<'_>> = call
        .tensors
        .iter()
        .filter_map(|(name, tensor)| Some((name, tensor.as_ref()?)))
        .filter(|(_, tensor)| tensor.role != TensorRole::Output)
        .map(|(name, tensor)| Observed { name, shape: &tensor.shape, dtype: tensor.dtype })
        .collect();
    let solved = execute(&branch.plan, &branch.point, &observed, &call.params).unwrap();
    for name in &branch.relevant {
        let sequence = matches!(analysis.scope.get(name).map(|symbol| &symbol.kind), Some(Kind::Seq(..)));
        if sequence || branch.solved_by_generator.contains(name) {
            continue;
        }
        let stated = call.indices.iter().find(|(n, _)| n == name).map(|(_, value)| value);
        let inferred = solved.iter().find(|(n, _)| n == name).map(|(_, value)| value);
        assert_eq!(inferred, stated, "`{name}` of {} {}", analysis.entry.name.value, call.case_id);
    }
}

/// An axis over the dimensions `d0`, `d1`, `d2`, as text.
fn axis() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => (0..3usize).prop_map(|i| format!("d{i}")),
        1 => (0..3usize, 1..5i64, 0..4i64).prop_map(|(i, a, b)| format!("{a} * d{i} + {b}")),
        1 => (0..3usize, 0..3usize).prop_map(|(i, j)| format!("d{i} * d{j}")),
        1 => (0..3usize, 1..4i64).prop_map(|(i, k)| format!("d{i} // {k}")),
        1 => (1..9i64).prop_map(|n| n.to_string()),
        1 => (0..3usize, 1..4i64).prop_map(|(i, k)| format!("ceil_div(d{i}, {k})")),
    ]
}

/// A small right entry: the first tensor solves every index, whatever the others add.
fn entry() -> impl Strategy<Value = String> {
    let extra = prop::collection::vec(prop::collection::vec(axis(), 0..4), 0..4);
    let dims = prop::array::uniform3(0..7i64);
    let splice = prop::collection::vec(0..5i64, 0..4);
    (extra, dims, splice, 0..3usize, any::<bool>(), 1..4i64).prop_map(|(extra, [d0, d1, d2], splice, at, passed, a)| {
        let mut axes = vec!["d0".to_owned(), format!("{a} * d1 + 1"), "d2".to_owned()];
        axes.insert(at, "*S".to_owned());
        let mut inputs = format!("      x: {{dtype: T, shape: \"[{}]\"}}\n", axes.join(", "));
        for (position, axes) in extra.iter().enumerate() {
            let optional = if position + 1 == extra.len() { ", optional: true" } else { "" };
            let _ = writeln!(inputs, "      e{position}: {{dtype: T, shape: \"[{}]\"{optional}}}", axes.join(", "));
        }
        let some = match extra.len() {
            n if passed && n > 0 => format!("some: [e{}], ", n - 1),
            _ => String::new(),
        };
        format!(
            r#"DemoFwdOp:
  family: demo
  status: spec-only
  signature:
    forall: {{d0: Dim, d1: Dim, d2: Dim, S: Shape, T: "DType[float16 | float32 | int8]"}}
    inputs:
{inputs}    outputs:
      y: {{dtype: T, shape: "[*S, d0 * d1]"}}
  workloads:
  - {{d0: {d0}, d1: {d1}, d2: {d2}, S: {splice:?}, {some}dtype_cases: [{{T: float16}}, {{T: int8}}], label: row}}
  roofline: {{flops: "d0"}}
"#
        )
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn a_call_is_inferred_back_to_its_row(text in entry()) {
        let analysis = analyze_texts(&[("demo.yaml", text.clone())]).remove(0);
        let findings = &analysis.findings;
        prop_assert!(findings.defects.is_empty() && findings.unreached.is_empty(), "{text}\n{findings:#?}");
        prop_assert_eq!(analysis.calls.len(), 2);
        for call in &analysis.calls {
            comes_back(&analysis, call);
            let x = call.tensor("x").unwrap();
            let elements: i128 = x.shape.iter().product();
            prop_assert_eq!(x.size(), u128::try_from(elements * i128::from(x.dtype.bits()) / 8).ok());
            let splice = call.indices.iter().find(|(name, _)| &**name == "S");
            prop_assert!(matches!(splice, Some((_, Value::Seq(_)))));
        }
    }
}
