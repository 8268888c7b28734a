//! Tests of the front end as a whole.

use std::fmt::Write;

use super::*;

/// A tree in a compact form: strings quoted, other scalars by value, unreadable places as `?`.
fn show(node: &Node) -> String {
    let mut out = String::new();
    write_node(node, &mut out);
    out
}

fn write_node(node: &Node, out: &mut String) {
    match &node.kind {
        NodeKind::Unreadable => out.push('?'),
        NodeKind::Scalar(s) => match &s.value {
            ScalarValue::Str => write!(out, "{:?}", s.text).unwrap(),
            ScalarValue::Null => out.push_str("null"),
            ScalarValue::Bool(v) => write!(out, "{v}").unwrap(),
            ScalarValue::Int(v) => write!(out, "{v}").unwrap(),
            ScalarValue::Float(v) => write!(out, "{v:?}").unwrap(),
            ScalarValue::Other(what) => write!(out, "<{what}>").unwrap(),
        },
        NodeKind::Mapping(pairs) => {
            out.push('{');
            for (i, pair) in pairs.iter().enumerate() {
                if i > 0 {
                    out.push_str(", ");
                }
                write_node(&pair.key, out);
                out.push_str(": ");
                write_node(&pair.value, out);
            }
            out.push('}');
        }
        NodeKind::Sequence(items) => {
            out.push('[');
            for (i, item) in items.iter().enumerate() {
                if i > 0 {
                    out.push_str(", ");
                }
                write_node(item, out);
            }
            out.push(']');
        }
    }
}

/// The value of an entry and its defects, each as `code@characters: message`.
fn read(chunk: &str) -> (String, Vec<String>) {
    let tree = parse_entry(chunk);
    let defects = tree.findings.defects.iter().map(|d| format!("{}@{}: {}", d.code.name, &chunk[d.range], d.message));
    (show(&tree.value), defects.collect())
}

#[test]
fn probe() {
    for c in [
        "Op:\n  family: demo\n  sha\n  status: x\n  sig:\n    a: 1\n",
        "Op:\n  shape: [M, K\n  status: x\n  sig:\n    a: 1\n",
        "Op:\n  shape: \"[M, K]\n  status: x\n  sig:\n    a: 1\n  z: 2\n",
        "Op:\n  shape: \"[M, K]\n  status: x\n  sig:\n    a: \"1\"\n  z: 2\n",
        "Op:\n  shape: M\n   status: x\n  sig:\n    a: 1\n",
        "Op:\n  shape: \"M\"\n   status: x\n  sig:\n    a: 1\n",
        "Op:\n  shape: M\n\tstatus: x\n  sig:\n    a: 1\n",
        "Op:\n  shape: a: b\n  status: x\n  sig:\n    a: 1\n",
        "Op:\n  shape: @x\n  status: x\n  sig:\n    a: 1\n",
        "Op:\n  shape: {a: 1,\nb: 2}\n  status: x\n",
        "Op:\n  sig\n    a: 1\n    b: 2\n  status: x\n",
        "Op:\n  w:\n  - {M: 4, dtype_cases [{T: f}], label: small}\n  - {M: 4, l: \"x\" y, b: 1}\n  - @x\n  - - y\n   z: 1\n  s: 1\n",
        "Op:\n    a: 1\n  b: 2\n    c: 3\n",
        "Op: [\n",
        "Op: \"",
        "- x\n",
        "Op: *a\n",
        "Op: {a: &x [1, *x], b: *x}\n",
        "Op:\n  a: \"\\q \\ud800 ok\"\n  b: yes\n  1: x\n  a: 2\n  yes: 1\n  <<: {q: 1}\n",
        "x",
    ] {
        let (v, d) = read(c);
        println!("{c}--> {v}");
        for d in d {
            println!("   {d}");
        }
        println!();
    }
}
