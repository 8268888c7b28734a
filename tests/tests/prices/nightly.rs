//! Another project's nightly, where it is at hand: what it priced a call with, held against what our op of the same meaning
//! says of that call. Differences are explained in `tests/nightly.md`.
//!
//! `TILEOPS_NIGHTLY` keeps in a folder what runs the same calls with our kernels: a manifest of them, and the nightly's
//! times (`theirs.csv`).

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use serde_json::{Value as Json, json};
use tileops_analyzer::model::{Condition, Entry, Signature, Status, TensorRole};
use tileops_bench::rows::{Manifest as Benched, described, value_of};
use tileops_ops::generated::REGISTRY;
use tileops_ops::{Arguments, CheckedCall, OpError, Params, construct};

use crate::manifest::{Manifest, OURS, Row, read};
use crate::python::{Price, case, extents, run};

/// Ops of that project whose calls ours describes under another name.
const RENAMED: &[(&str, &str)] = &[
    ("ClampScalarFwdOp", "ClampFwdOp"),
    ("FusedAddLayerNormFwdOp", "AddLayerNormFwdOp"),
    ("FusedAddRMSNormFwdOp", "AddRmsNormFwdOp"),
    ("GemmFp8FwdOp", "ScaledMatmulFp8FwdOp"),
    ("GemmFwdOp", "MatmulFwdOp"),
    ("IsfiniteFwdOp", "IsFiniteFwdOp"),
    ("MaskedFillScalarFwdOp", "MaskedFillFwdOp"),
    ("MaxPool2dIndicesFwdOp", "MaxPool2dWithIndicesFwdOp"),
    ("RMSNormFwdOp", "RmsNormFwdOp"),
];

/// A case of the nightly: what it was priced with, and its device-busy time in microseconds, as it is written.
struct Timed {
    op: String,
    case: String,
    price: Price,
    time: String,
}

/// The corpus, where it is at hand. It may be absent, but not from whoever wants to keep its calls.
fn corpus() -> Option<PathBuf> {
    let root = tileops_tests::root().canonicalize().expect("the workspace is somewhere");
    let found = root.ancestors().map(|folder| folder.join("shared/corpus")).find(|folder| folder.is_dir());
    let wanted = std::env::var_os("TILEOPS_NIGHTLY").is_some();
    assert!(
        found.is_some() || !wanted,
        "TILEOPS_NIGHTLY is set, and no folder above {} has shared/corpus",
        root.display()
    );
    found
}

fn nightly(corpus: &Path) -> Vec<Timed> {
    let text = std::fs::read_to_string(corpus.join("nightly/h200-2026-08-22.csv")).expect("the nightly can be read");
    let timed = |line: &str| {
        let cells: Vec<&str> = line.split(',').collect();
        let price = (cells.get(8)?.parse().ok()?, cells.get(9)?.parse().ok()?);
        Some(Timed { op: cells[0].to_owned(), case: cells[1].to_owned(), price, time: cells[4].to_owned() })
    };
    text.lines().filter_map(timed).collect()
}

/// Whether a case was called `theirs` before its label became shorter: all words of its id are words of `theirs`, in
/// their order.
fn shortened(own: &str, theirs: &str) -> bool {
    let mut words = theirs.split('-');
    own.split('-').all(|word| words.any(|known| known == word))
}

/// A row of that project, the op of ours that describes the same call, and the call as ours takes it.
struct Shared<'m> {
    row: Row<'m>,
    op: &'static str,
    entry: &'static Entry,
    signature: &'static Signature,
    described: Json,
    timed: Timed,
    /// Its label, and whether it is another one than that night.
    label: &'m str,
    renamed: bool,
}

/// What both describe. Where a label became shorter since that night, the one case with the most words of it.
fn shared<'m>(manifest: &'m Manifest, corpus: &Path) -> Vec<Shared<'m>> {
    let mut found = Vec::new();
    for timed in nightly(corpus) {
        let rows = || manifest.rows().filter(|row| row.op == timed.op);
        let exact = rows().find(|row| *row.call.case_id == *timed.case);
        let renamed = exact.is_none();
        let closest = || {
            let words = |row: &Row<'_>| row.call.case_id.split('-').count();
            let shorter: Vec<_> = rows().filter(|row| shortened(&row.call.case_id, &timed.case)).collect();
            let most = shorter.iter().map(words).max();
            let mut longest = shorter.into_iter().filter(|row| Some(words(row)) == most);
            // Of two with as many nothing says which it is.
            longest.next().filter(|_| longest.next().is_none())
        };
        let Some(row) = exact.or_else(closest) else { continue };
        let name = RENAMED.iter().find(|(theirs, _)| *theirs == row.op).map_or(row.op, |(_, ours)| ours);
        let own = OURS.report.analyses.iter().map(|analysis| &analysis.entry).find(|entry| &*entry.name.value == name);
        let Some((entry, signature)) = own.and_then(|entry| Some((entry, entry.signature.valid()?))) else { continue };
        let described = described_as(entry, signature, &case(manifest, &row), &row);
        if let (Some(described), Some(label)) = (described, label(manifest, &row)) {
            let op = &*entry.name.value;
            found.push(Shared { row, op, entry, signature, described, timed, label, renamed });
        }
    }
    let rows: BTreeSet<String> = found.iter().map(|shared| shared.row.id()).collect();
    assert_eq!(rows.len(), found.len(), "a row is one case's");
    found
}

/// The label of the row that a call is of.
fn label<'m>(manifest: &'m Manifest, row: &Row<'_>) -> Option<&'m str> {
    let entry = &manifest.report.analyses.iter().find(|analysis| &*analysis.entry.name.value == row.op)?.entry;
    let written = entry.workloads.valid()?.get(row.call.row)?;
    Some(&written.valid()?.label.valid()?.value)
}

/// The call as one of our entry's op: inputs in their order, and the parameters that both have.
fn described_as(entry: &Entry, signature: &Signature, described: &Json, theirs: &Row<'_>) -> Option<Json> {
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
            let (name, shape) = (&*own.name.value, extents(&tensor.shape));
            json!({"name": name, "shape": shape, "dtype": tensor.dtype.name(), "values": null})
        })
        .collect();
    let family = entry.family.valid()?.value.to_string();
    Some(json!({"op": &*entry.name.value, "family": family, "params": params, "construction": [], "tensors": tensors}))
}

/// The same call of the emitted Rust.
fn called(shared: &Shared<'_>) -> Result<CheckedCall, OpError> {
    let own = shared.signature;
    let mut params = Params::new();
    for (name, value) in &shared.row.call.params {
        if own.params.items().iter().any(|own| own.name.value == *name) {
            params = params.with(&**name, value_of(value));
        }
    }
    let inputs = shared.row.call.tensors.iter().filter_map(|(_, tensor)| tensor.as_ref());
    let inputs = inputs.filter(|tensor| tensor.role == TensorRole::Input);
    let mut arguments = Arguments::new();
    for (tensor, own) in inputs.zip(own.inputs.items()) {
        arguments = arguments.with(&*own.name.value, described(&own.name.value, tensor)?);
    }
    let mut op = construct(REGISTRY, shared.op, &params)?;
    op.call(&arguments)?;
    Ok(op.last_call().expect("a call has completed").clone())
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

/// The calls that both describe, whose prices our op was asked for. One whose label changed is the same where its bytes
/// are.
fn priced(shared: Vec<Shared<'_>>) -> Vec<(Shared<'_>, Price)> {
    let prices = run(&OURS, shared.iter().map(|shared| shared.described.clone()).collect());
    // A call that our op refuses is another call.
    let taken = shared.into_iter().zip(prices).filter_map(|(shared, price)| Some((shared, price.ok()?)));
    taken.filter(|(shared, price)| !shared.renamed || price.1 == shared.timed.price.1).collect()
}

#[test]
fn a_nightly_prices_the_same_calls_alike_or_the_difference_is_explained() {
    let Some(corpus) = corpus() else { return };
    let manifest = read(&corpus.join("spec"));
    let (mut compared, mut alike) = (0, 0);
    let mut differing: BTreeMap<String, BTreeSet<&'static str>> = BTreeMap::new();
    let mut examples = BTreeMap::new();
    for (shared, ours) in priced(shared(&manifest, &corpus)) {
        let theirs = shared.timed.price;
        compared += 1;
        alike += usize::from(ours == theirs);
        if ours != theirs {
            let found = differing.entry(shared.op.to_owned()).or_default();
            found.extend((ours.0 != theirs.0).then_some("FLOPs"));
            found.extend((ours.1 != theirs.1).then_some("bytes"));
            let example = format!("{}: {ours:?}, there {theirs:?}", shared.row.id());
            examples.entry(shared.op.to_owned()).or_insert(example);
        }
    }
    let shown: Vec<&String> = examples.values().collect();
    assert_eq!(differing, explained(), "{alike} of {compared} are alike; {shown:#?}");
    assert!(compared >= 250 && alike * 2 > compared, "{alike} of {compared} rows are alike");
}

/// A value as a row of a manifest has it.
fn written(value: &tileops_ops::Value) -> String {
    use tileops_ops::Value as Own;
    match value {
        Own::None => "null".to_owned(),
        Own::Bool(value) => value.to_string(),
        // YAML 1.1 wants the point, and the sign of an exponent.
        Own::Float(value) if value.is_finite() => {
            let text = format!("{value:?}");
            let text = if text.contains('.') { text } else { text.replacen('e', ".0e", 1) };
            if text.contains("e-") { text } else { text.replacen('e', "e+", 1) }
        }
        Own::Float(value) if value.is_nan() => ".nan".to_owned(),
        Own::Float(value) => if *value < 0.0 { "-.inf" } else { ".inf" }.to_owned(),
        Own::Seq(items) => format!("[{}]", items.iter().map(written).collect::<Vec<_>>().join(", ")),
        Own::Str(text) => format!("{text:?}"),
        other => other.to_string(),
    }
}

#[test]
fn a_float_is_written_as_one_of_yaml() {
    for (value, text) in
        [(0.5, "0.5"), (2.0, "2.0"), (1e-5, "1.0e-5"), (2.5e-7, "2.5e-7"), (1e16, "1.0e+16"), (-1.5e300, "-1.5e+300")]
    {
        assert_eq!(written(&tileops_ops::Value::Float(value)), text);
    }
}

/// The row of our entry that makes `call`.
fn row(shared: &Shared<'_>, call: &CheckedCall) -> String {
    let own = shared.signature;
    let mut row = String::from("{");
    let (mut dtypes, mut indices) = (Vec::new(), Vec::new());
    for (name, value) in call.indices() {
        if own.forall.items().iter().any(|index| &*index.name.value == *name) {
            let list = if matches!(value, tileops_ops::Value::DType(_)) { &mut dtypes } else { &mut indices };
            list.push(format!("{name}: {}", written(value)));
        }
    }
    let params = call.params().iter().map(|(name, value)| format!("{name}: {}", written(value)));
    for item in indices.into_iter().chain(params) {
        let _ = write!(row, "{item}, ");
    }
    let passed =
        own.inputs.items().iter().filter(|input| matches!(input.optional.valid(), Some(Condition::Always(true))));
    let passed = passed.filter(|input| call.present(&input.name.value).unwrap_or_default());
    let some: Vec<&str> = passed.map(|input| &*input.name.value).collect();
    let some = if some.is_empty() { String::new() } else { format!("some: [{}], ", some.join(", ")) };
    let _ = write!(row, "{some}dtype_cases: [{{{}}}], label: {}}}", dtypes.join(", "), shared.label);
    row
}

#[test]
fn our_ops_take_the_calls_of_a_nightly_as_rows() {
    let Some(corpus) = corpus() else { return };
    let manifest = read(&corpus.join("spec"));
    let (mut rows, mut times) = (BTreeMap::<&str, Vec<String>>::new(), String::from("op,case,device_busy_us\n"));
    let mut expected = Vec::new();
    let implemented = |shared: &Shared<'_>| shared.entry.status.valid() == Some(&Status::Implemented);
    for (shared, price) in priced(shared(&manifest, &corpus).into_iter().filter(implemented).collect()) {
        let call = called(&shared).unwrap_or_else(|error| panic!("{}: Python takes it: {error}", shared.row.id()));
        rows.entry(shared.op).or_default().push(row(&shared, &call));
        expected.push((shared.op, price));
        let _ = writeln!(times, "{},{},{}", shared.op, shared.row.call.case_id, shared.timed.time);
    }
    let kept = std::env::var_os("TILEOPS_NIGHTLY").map(PathBuf::from);
    let temporary = tempfile::tempdir().expect("a temporary folder can be made");
    let folder = kept.as_deref().unwrap_or(temporary.path());
    std::fs::create_dir_all(folder.join("manifest")).expect("a folder can be made there");
    std::fs::write(folder.join("theirs.csv"), times).expect("the folder takes files");
    tileops_tests::with_rows(&tileops_tests::root().join("manifest"), &folder.join("manifest"), &rows)
        .expect("our manifest has these ops");
    let benched = Benched::read(&folder.join("manifest")).expect("the rows are right");
    let mut found: Vec<(&str, Price)> = Vec::new();
    for entry in benched.entries() {
        for call in entry.calls() {
            let op = entry.called(REGISTRY, call).unwrap_or_else(|error| panic!("{}: {error}", entry.op()));
            let price = op.eval_roofline().expect("a row has a price");
            let number = |value: u128| i128::try_from(value).expect("rows are small");
            found.push((entry.op(), (number(price.flops), number(price.bytes))));
        }
    }
    found.sort_unstable();
    expected.sort_unstable();
    assert_eq!(found, expected, "each row is the call that it was made of");
}
