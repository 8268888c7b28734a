//! Another project's nightly, where it is at hand: what it priced a call with, held against what our op of the same meaning
//! says of that call. Differences are explained in `tests/nightly.md`.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value as Json, json};
use tileops_analyzer::model::TensorRole;

use crate::manifest::{OURS, Row, read};
use crate::python::{case, run};

/// Ops of that project whose calls ours describes under another name.
const RENAMED: &[(&str, &str)] = &[
    ("FusedAddLayerNormFwdOp", "AddLayerNormFwdOp"),
    ("GemmFwdOp", "MatmulFwdOp"),
    ("IsfiniteFwdOp", "IsFiniteFwdOp"),
    ("MaxPool2dIndicesFwdOp", "MaxPool2dWithIndicesFwdOp"),
    ("RMSNormFwdOp", "RmsNormFwdOp"),
];

/// The call as one of our op called `name`: inputs in their order, and the parameters that both have.
fn ours(theirs: &Row<'_>, described: &Json, name: &str) -> Option<Json> {
    let analysis = OURS.report.analyses.iter().find(|analysis| &*analysis.entry.name.value == name)?;
    let signature = analysis.entry.signature.valid()?;
    let mut params = described["params"].as_object()?.clone();
    params.retain(|param, _| signature.params.items().iter().any(|own| &*own.name.value == param));
    let inputs = theirs.call.tensors.iter().filter_map(|(_, tensor)| tensor.as_ref());
    let inputs: Vec<_> = inputs.filter(|tensor| tensor.role == TensorRole::Input).collect();
    let own = signature.inputs.items();
    if inputs.len() > own.len() {
        return None;
    }
    let tensors: Vec<Json> = inputs
        .iter()
        .zip(own)
        .map(|(tensor, own)| {
            let shape: Vec<i64> = tensor.shape.iter().filter_map(|&extent| i64::try_from(extent).ok()).collect();
            json!({"name": &*own.name.value, "shape": shape, "dtype": tensor.dtype.name(), "values": null})
        })
        .collect();
    let family = analysis.entry.family.valid()?.value.to_string();
    Some(json!({"op": name, "family": family, "params": params, "construction": [], "tensors": tensors}))
}

/// What `tests/nightly.md` explains: of each op, whether FLOPs and whether bytes differ.
fn explained() -> BTreeMap<String, BTreeSet<&'static str>> {
    let path = tileops_tests::root().join("tests/nightly.md");
    let text = std::fs::read_to_string(path).expect("the explanations can be read");
    let rows = text.lines().filter(|line| line.starts_with("| `"));
    rows.map(|row| {
        let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        assert!(cells.len() == 3 && !cells[2].is_empty(), "an op, what differs, and why: {row}");
        let differing = ["FLOPs", "bytes"].into_iter().filter(|what| cells[1].contains(what)).collect();
        (cells[0].trim_matches('`').to_owned(), differing)
    })
    .collect()
}

#[test]
fn a_nightly_prices_the_same_calls_alike_or_the_difference_is_explained() {
    let root = tileops_tests::root().canonicalize().expect("the workspace is somewhere");
    let corpus = root.ancestors().map(|folder| folder.join("shared/corpus")).find(|folder| folder.is_dir());
    let Some(corpus) = corpus else { return };
    let text = std::fs::read_to_string(corpus.join("nightly/h200-2026-08-22.csv")).expect("the nightly can be read");
    let nightly: BTreeMap<(&str, &str), (i128, i128)> = text
        .lines()
        .filter_map(|line| {
            let cells: Vec<&str> = line.split(',').collect();
            Some(((*cells.first()?, *cells.get(1)?), (cells.get(8)?.parse().ok()?, cells.get(9)?.parse().ok()?)))
        })
        .collect();

    let manifest = read(&corpus.join("spec"));
    let (mut cases, mut expected) = (Vec::new(), Vec::new());
    for row in manifest.rows() {
        let Some(&price) = nightly.get(&(row.op, &*row.call.case_id)) else { continue };
        let name = RENAMED.iter().find(|(theirs, _)| *theirs == row.op).map_or(row.op, |(_, ours)| ours);
        if let Some(described) = ours(&row, &case(&manifest, &row), name) {
            cases.push(described);
            expected.push((row.id(), name, price));
        }
    }
    let (mut compared, mut alike) = (0, 0);
    let mut differing: BTreeMap<String, BTreeSet<&'static str>> = BTreeMap::new();
    let mut examples = BTreeMap::new();
    for ((id, op, theirs), ours) in expected.into_iter().zip(run(&OURS, cases)) {
        // A call that our op refuses is another call.
        let Ok(ours) = ours else { continue };
        compared += 1;
        alike += usize::from(ours == theirs);
        if ours != theirs {
            let found = differing.entry(op.to_owned()).or_default();
            found.extend((ours.0 != theirs.0).then_some("FLOPs"));
            found.extend((ours.1 != theirs.1).then_some("bytes"));
            examples.entry(op.to_owned()).or_insert(format!("{id}: {ours:?}, there {theirs:?}"));
        }
    }
    let shown: Vec<&String> = examples.values().collect();
    assert_eq!(differing, explained(), "{alike} of {compared} are alike; {shown:#?}");
    assert!(compared >= 250 && alike * 2 > compared, "{alike} of {compared} rows are alike");
}
