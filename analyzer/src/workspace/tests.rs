//! Whatever stands in an entry, it is judged, and its neighbours are judged as before.

use super::*;
use crate::syntax::{Node, NodeKind, parse_entry};

/// An entry with every section.
const ENTRY: &str = r#"DemoFwdOp:
  family: demo
  status: implemented
  ref_api: torch.demo
  signature:
    forall: {M: Dim, S: Shape, T: "DType[float16 | bfloat16]", lens: "Seq[Int]"}
    params:
      flag: {type: bool, default: false, kw_only: true}
      layout: {type: Layout}
      table: {dtype: float32, shape: "[M]", optional: true}
    inputs:
      x: {dtype: T, shape: "Mat[flag, M, M + 1]", contiguous: true, mutated: "flag"}
      cu: {dtype: int32, shape: "[M + 1]", values: "prefix_sum(lens)", requires: ["prefix_offsets(M)"], device: cpu}
      b: {dtype: T, shape: "[*S]", optional: "present(table)"}
    outputs:
      y: {dtype: T, shape: "[M, K]", buffer: out, nullable: "flag"}
      z: {dtype: T, shape: "[M]", alias: x}
    types:
      Mat:
        params: {t: Bool, R: Dim, C: Dim}
        match: [t]
        cases:
        - {when: [false], is: "[R, C]"}
        - {when: [true], is: "[C, R]"}
    let: {K: "ceil_div(M, 2)"}
    shape_rules: ["M > 0"]
    dtype_combos: [{T: float16}]
  workloads:
  - {M: 4, S: [1, 2], lens: [1, 3], layout: {masked: {rows: 2}}, some: [table], dtype_cases: [{T: float16}], label: small}
  roofline: {flops: "2 * M", bytes: "bytes(x)"}
  composition:
    kind: composite
    stages:
    - {name: first, op: NextFwdOp, optional: true}
    - {name: second, kernel: reduce}
"#;

const NEXT: &str = r#"NextFwdOp:
  family: other
  status: spec-only
  signature:
    forall: {M: Dim}
    inputs:
      x: {dtype: float32, shape: "[M, Q]"}
  workloads:
  - {M: 4, label: small}
  roofline: {flops: M + 1}
"#;

const TYPES: &str = r#"adts:
  Layout:
    sum:
      dense: {}
      masked:
        python: package.Masked
        fields: {rows: Dim, packing: {type: "'a' | 'b'", python: package.Packing}}
        invariant: "rows > 0"
"#;

fn report(files: &[(&str, &str)]) -> Report {
    let sources = files.iter().map(|(path, text)| SourceFile {
        path: (*path).into(),
        text: (*text).into(),
        configured: true,
        judged: true,
    });
    let workspace = Workspace::new(sources.collect());
    let report = workspace.finish(workspace.entries().iter().map(|entry| workspace.analyze(entry)).collect());
    for file in &report.files {
        let Some(source) = workspace.files().iter().find(|source| source.path == file.path) else { continue };
        for located in &file.defects {
            let defect = &located.defect;
            assert!(file::slice(&source.text, defect.range).is_some(), "{defect:?} stands nowhere");
            assert!(!defect.message.is_empty() && !defect.message.ends_with('.'), "{defect:?}");
            for related in &defect.related {
                let position = workspace.files().iter().position(|source| source.path == file.path).unwrap_or(0);
                let place = workspace.locate(position, &related.place);
                let text = place.and_then(|(f, range)| file::slice(&workspace.files()[f].text, range));
                assert!(text.is_some(), "{related:?} stands nowhere");
            }
        }
    }
    report
}

/// What is said of the last entry of the first file, relative to it.
fn last(report: &Report) -> Vec<(String, u32, u32)> {
    let file = &report.files[0];
    let Some((_, range)) = file.entries.last() else { return Vec::new() };
    let own = file.defects.iter().filter(|located| located.defect.range.start() >= range.start());
    own.map(|l| {
        let at = l.defect.range - range.start();
        (format!("{} {}", l.defect.code.name, l.defect.message), at.start().into(), at.end().into())
    })
    .collect()
}

#[test]
fn an_entry_cut_anywhere_changes_no_verdict_on_the_next() {
    let whole = report(&[("demo.yaml", &format!("{ENTRY}\n{NEXT}")), ("types.yaml", TYPES)]);
    let expected = last(&whole);
    assert!(!expected.is_empty());
    for end in (0..ENTRY.len()).filter(|&end| ENTRY.is_char_boundary(end)) {
        let text = format!("{}\n{NEXT}", &ENTRY[..end]);
        let cut = report(&[("demo.yaml", &text), ("types.yaml", TYPES)]);
        assert_eq!(last(&cut), expected, "after {:?}", &ENTRY[..end]);
    }
}

/// Every node of a tree.
fn nodes<'n>(node: &'n Node, found: &mut Vec<&'n Node>) {
    found.push(node);
    match &node.kind {
        NodeKind::Mapping(pairs) => {
            for pair in pairs {
                nodes(&pair.key, found);
                nodes(&pair.value, found);
            }
        }
        NodeKind::Sequence(items) => items.iter().for_each(|item| nodes(item, found)),
        NodeKind::Scalar(_) | NodeKind::Unreadable => {}
    }
}

const ODD: [&str; 14] = [
    "",
    "null",
    "~",
    "[]",
    "{}",
    "1",
    "1.5",
    "true",
    "yes",
    "\"\"",
    "[[], {1: 2}]",
    "{? [a] : b, c: {d: }}",
    "\"\\0é😀\"",
    "*nothing",
];

#[test]
fn any_value_in_any_place_is_judged() {
    for (position, source) in [ENTRY, TYPES].into_iter().enumerate() {
        let tree = parse_entry(source);
        let mut found = Vec::new();
        nodes(&tree.value, &mut found);
        for node in found.into_iter().skip(1) {
            for odd in ODD {
                let (start, end) = (usize::from(node.range.start()), usize::from(node.range.end()));
                let text = format!("{}{odd}{}", &source[..start], &source[end..]);
                let files = match position {
                    0 => [("demo.yaml", text.as_str()), ("types.yaml", TYPES)],
                    _ => [("demo.yaml", ENTRY), ("types.yaml", text.as_str())],
                };
                // `report` looks at every defect and every place that one names.
                report(&files);
            }
        }
    }
}
