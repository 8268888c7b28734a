//! The peers stand for ops of the manifest, and use parameters and tensors that these have.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use serde_json::{Value as Json, json};
use tileops_bench::inputs::{Recipe, row_seed, tensor_seed};
use tileops_bench::price;
use tileops_bench::rows::Manifest;
use tileops_ops::DType;
use tileops_reference::Distribution;

/// Prints, of each function in the table, its op and the names by which it subscripts `p` and `t`; a function that is defined
/// elsewhere in the file counts with what it subscripts itself.
const NAMES: &str = r#"
import ast, sys
tree = ast.parse(open(sys.argv[1], encoding="utf-8").read())
functions = {f.name: f for f in ast.walk(tree) if isinstance(f, ast.FunctionDef)}
def names(node, of, seen=()):
    found = set()
    for n in ast.walk(node):
        if isinstance(n, ast.Subscript) and isinstance(n.value, ast.Name) and n.value.id == of and isinstance(n.slice, ast.Constant):
            found.add(n.slice.value)
        if isinstance(n, ast.Name) and n.id in functions and n.id not in seen:
            arguments = [a.arg for a in functions[n.id].args.args]
            if of in arguments:
                found |= names(functions[n.id], of, (*seen, n.id))
    return found
table = next(n.value for n in ast.walk(tree) if isinstance(n, ast.Assign) and getattr(n.targets[0], "id", None) == "PEERS")
for key, value in zip(table.keys, table.values):
    print(key.value, ",".join(sorted(names(value, "p"))), ",".join(sorted(names(value, "t"))), sep="\t")
"#;

#[test]
fn every_peer_stands_for_an_op_and_uses_what_it_has() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let table = root.join("peers/torch_table.py");
    let output = Command::new("python3").args(["-c", NAMES]).arg(&table).output().expect("python3 runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let manifest = Manifest::read(&root.join("../../manifest")).expect("the manifest has no errors");
    let mut known: BTreeMap<&str, (BTreeSet<String>, BTreeSet<String>)> = BTreeMap::new();
    for entry in manifest.entries() {
        let (params, tensors) = known.entry(entry.op()).or_default();
        for call in entry.calls() {
            params.extend(call.params.iter().chain(&call.indices).map(|(name, _)| name.to_string()));
            tensors.extend(call.tensors.iter().map(|(name, _)| name.to_string()));
        }
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let mut count = 0;
    for line in text.lines() {
        let fields: Vec<&str> = line.split('\t').collect();
        let [op, params, tensors] = fields[..] else { panic!("{line}") };
        let (known_params, known_tensors) = known.get(op).unwrap_or_else(|| panic!("{op} is no op of the manifest"));
        for name in params.split(',').filter(|name| !name.is_empty()) {
            assert!(known_params.contains(name), "{op} has no parameter `{name}`");
        }
        for name in tensors.split(',').filter(|name| !name.is_empty()) {
            assert!(known_tensors.contains(name), "{op} has no tensor `{name}`");
        }
        count += 1;
    }
    assert!(count > 100, "{count}");
}

/// Runs a part of the peer without PyTorch: stand-ins take its place, and what is run needs none of it.
const STATISTICS: &str = r#"
import torch_times as peer
for count in (1, 5, 6, 20, 50, 100, 1500):
    ordered = [i * i / 7 for i in range(count)]
    interval = peer.median_interval(ordered)
    print(count, *(repr(peer.quantile(ordered, q)) for q in (0.1, 0.5, 0.9)), *(map(repr, interval or ())))
print(peer.union([(0, 5), (3, 9), (4, 6), (20, 21)]))
"#;

/// What a Python program prints that imports the peer's modules, with or without the stand-ins.
fn python(program: &str, has_stand_ins: bool) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut folders = vec![root.join("peers")];
    folders.extend(has_stand_ins.then(|| root.join("tests/stand_ins")));
    // Where the caller's own are, PyTorch may be.
    folders.extend(std::env::var_os("PYTHONPATH").iter().flat_map(std::env::split_paths));
    let path = std::env::join_paths(folders).expect("folders make a path");
    let output = Command::new("python3").args(["-B", "-c", program]).env("PYTHONPATH", path).output();
    let output = output.expect("python3 runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("it prints UTF-8")
}

#[test]
fn a_peers_statistics_are_those_of_the_benchmark() {
    use tileops_record::stats::{median_interval, quantile};

    let text = python(STATISTICS, true);
    let mut lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.pop(), Some("10"), "overlapping times count once");
    assert_eq!(lines.len(), 7);
    for line in lines {
        let numbers: Vec<f64> = line.split(' ').map(|number| number.parse().expect("a number")).collect();
        let ordered: Vec<f64> = (0..numbers[0] as usize).map(|i| (i * i) as f64 / 7.0).collect();
        let mut due: Vec<f64> = [0.1, 0.5, 0.9].iter().filter_map(|&q| quantile(&ordered, q)).collect();
        due.extend(median_interval(&ordered).into_iter().flat_map(|(low, high)| [low, high]));
        assert_eq!(numbers.len() - 1, due.len(), "{line}");
        for (number, due) in numbers[1..].iter().zip(&due) {
            assert!((number - due).abs() <= 1e-9 * due.abs(), "{line}: {due}");
        }
    }
}

/// Prints the seeds of some rows and tensors, and whole numbers that are drawn by them.
const SEEDS: &str = r#"
from seeds import *
for op, case in (("ExpFwdOp", "a"), ("Ab", ""), ("LinearFwdOp", "h\u00f6he-1")):
    row = row_seed(op, case)
    for number in (0, 3):
        seed = tensor_seed(row, "x", number)
        print(row, seed, *(str(low + offset(bits(seed, at), high - low)) for at in range(5) for low, high in
                           ((-100, 100), (0, 1 << 33), (-(1 << 40), 1 << 40))))
"#;

#[test]
fn a_peers_seeds_and_bits_are_those_of_the_benchmark() {
    let mut lines = Vec::new();
    for (op, case) in [("ExpFwdOp", "a"), ("Ab", ""), ("LinearFwdOp", "h\u{f6}he-1")] {
        let row = row_seed(op, case);
        for number in [0, 3] {
            let seed = tensor_seed(row, "x", number);
            let mut line = vec![row.to_string(), seed.to_string()];
            for at in 0..5 {
                for (low, high) in [(-100, 100), (0, 1 << 33), (-(1 << 40), 1 << 40)] {
                    let mut bytes = [0; 8];
                    Distribution::Integers { low, high }.draw(seed, at, DType::Int64, &mut bytes, 0);
                    line.push(i64::from_ne_bytes(bytes).to_string());
                }
            }
            lines.push(line.join(" "));
        }
    }
    assert_eq!(python(SEEDS, false).lines().collect::<Vec<_>>(), lines);
}

/// Prints the bytes of tensors that PyTorch draws on the CPU, in hexadecimal digits; nothing where there is no PyTorch.
const DRAWS: &str = r#"
import importlib.util, json
if importlib.util.find_spec("torch"):
    import torch, torch_inputs
    torch_inputs.CHUNK = 300
    for dtype, source, seed in json.loads("""ASKED"""):
        made = torch_inputs.drawn([1000], getattr(torch, dtype), source, seed, "cpu")
        print(bytes(made.view(torch.uint8).tolist()).hex())
"#;

#[test]
fn a_peer_draws_what_the_benchmark_draws() {
    const SEED: u64 = 0x9234_5678_9abc_def1;
    let cases = [
        (DType::Float32, Distribution::Uniform { low: -1.0, high: 1.0 }),
        (DType::Float32, Distribution::Uniform { low: 0.1, high: 3.7 }),
        (DType::BFloat16, Distribution::Uniform { low: -0.02, high: 0.01 }),
        (DType::Float16, Distribution::Uniform { low: -4.0, high: 4.0 }),
        (DType::Float8E4M3Fn, Distribution::Uniform { low: -1.0, high: 1.0 }),
        (DType::Int64, Distribution::Integers { low: -(1 << 40), high: 1 << 40 }),
        (DType::Int32, Distribution::Integers { low: -100, high: 100 }),
        (DType::UInt8, Distribution::Integers { low: 0, high: 100 }),
        (DType::Bool, Distribution::OneIn(7)),
        (DType::BFloat16, Distribution::Constant(0.3)),
    ];
    let asked =
        cases.iter().zip(SEED..).map(|((dtype, from), seed)| json!([dtype.name(), price::distribution(*from), seed]));
    let drawn = python(&DRAWS.replace("ASKED", &Json::from_iter(asked).to_string()), false);
    if drawn.is_empty() {
        // Without PyTorch, what is drawn in it stands on the test above.
        return;
    }
    assert_eq!(drawn.lines().count(), cases.len());
    for (((dtype, from), seed), drawn) in cases.iter().zip(SEED..).zip(drawn.lines()) {
        let due = Recipe::Drawn(*from, seed).bytes(*dtype, 1000);
        let due: String = due.iter().map(|byte| format!("{byte:02x}")).collect();
        assert!(drawn == due, "{dtype} {from:?}:\n{drawn}\n{due}");
    }
}
