//! The peers stand for ops of the manifest, and use parameters and tensors that these have.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use tileops_bench::rows::Manifest;

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
    let script = root.join("peers/torch_peer.py");
    let output = Command::new("python3").args(["-c", NAMES]).arg(&script).output().expect("python3 runs");
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
const STAND_INS: &str = r#"
import runpy, sys, types
class Anything:
    def __getattr__(self, name): return Anything()
    def __call__(self, *a, **k): return Anything()
class Module(types.ModuleType):
    def __getattr__(self, name):
        if name.startswith("__"): raise AttributeError(name)
        return Anything()
for name in ("torch", "torch.nn", "torch.nn.functional", "triton", "triton.language"):
    sys.modules[name] = Module(name)
for name, part in (("torch", "nn"), ("torch.nn", "functional"), ("triton", "language")):
    setattr(sys.modules[name], part, sys.modules[f"{name}.{part}"])
sys.modules["triton"].jit = lambda function: function
peer = runpy.run_path(sys.argv[1], run_name="peer")
for count in (1, 5, 6, 20, 50, 100, 1500):
    ordered = [i * i / 7 for i in range(count)]
    interval = peer["median_interval"](ordered)
    print(count, *(repr(peer["quantile"](ordered, q)) for q in (0.1, 0.5, 0.9)), *(map(repr, interval or ())))
print(peer["union"]([(0, 5), (3, 9), (4, 6), (20, 21)]))
"#;

#[test]
fn a_peers_statistics_are_those_of_the_benchmark() {
    use tileops_record::stats::{median_interval, quantile};

    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("peers/torch_peer.py");
    let output = Command::new("python3").args(["-B", "-c", STAND_INS]).arg(script).output().expect("python3 runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8_lossy(&output.stdout);
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
