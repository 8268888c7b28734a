//! Edits of YAML text, and the texts that fixes make.

use super::edits::{at_path, insert_pair, pairs, quoted, remove_item, remove_pair, rewrite, value_of};
use super::{Applicability, apply, fix_all, suppression};
use crate::db::AnalysisDb;
use crate::ide::Edit;
use crate::syntax::{Node, parse_entry};

/// The entry with the pair `key` of the mapping at `path` taken out; nothing where it cannot be.
fn without(text: &str, path: &str, key: &str) -> Option<String> {
    let tree = parse_entry(text);
    let mapping = at_path(&tree, path)?;
    let at = pairs(mapping).iter().position(|pair| pair.key.as_str() == Some(key))?;
    apply(text, &[remove_pair(text, &tree, mapping, at)?])
}

#[test]
fn a_pair_goes_and_nothing_else() {
    let block = "A:\n  # above\n  a: 1  # it\n  b:\n    c: [1,\n        2]\n  # below\n  d: |\n    text\n\n  e: 5";
    let cases = [
        ("a", "A:\n  # above\n  b:\n    c: [1,\n        2]\n  # below\n  d: |\n    text\n\n  e: 5"),
        ("b", "A:\n  # above\n  a: 1  # it\n  # below\n  d: |\n    text\n\n  e: 5"),
        ("d", "A:\n  # above\n  a: 1  # it\n  b:\n    c: [1,\n        2]\n  # below\n\n  e: 5"),
        ("e", "A:\n  # above\n  a: 1  # it\n  b:\n    c: [1,\n        2]\n  # below\n  d: |\n    text"),
    ];
    for (key, expected) in cases {
        assert_eq!(without(block, "", key).as_deref(), Some(expected), "{key}");
    }
    let flow = "A: {a: 1, b: [x, y], c: {d: 2,}}";
    assert_eq!(without(flow, "", "a").as_deref(), Some("A: {b: [x, y], c: {d: 2,}}"));
    assert_eq!(without(flow, "", "c").as_deref(), Some("A: {a: 1, b: [x, y]}"));
    assert_eq!(without(flow, "c", "d").as_deref(), Some("A: {a: 1, b: [x, y], c: {}}"));
}

#[test]
fn what_would_lose_a_comment_or_a_mapping_is_left() {
    assert_eq!(without("A:\n  a: 1\n", "", "a"), None);
    assert_eq!(without("A:\n  a: {x: 1,\n    # why\n    y: 2}\n  b: 3\n", "", "a"), None);
    assert_eq!(without("A:\n- x: 1\n  # why\n  y: 2\n", "[0]", "x"), None);
    assert_eq!(without("A:\n- x: 1  # it\n  y: 2\n", "[0]", "x").as_deref(), Some("A:\n- y: 2\n"));
    assert_eq!(without("A:\n- x: 1\n  y: 2\n", "[0]", "y").as_deref(), Some("A:\n- x: 1\n"));
}

#[test]
fn an_item_goes_with_its_dash() {
    let remove = |text: &str, at: usize| {
        let tree = parse_entry(text);
        apply(text, &[remove_item(text, &tree, &tree.value, at)?])
    };
    let block = "A:\r\n  - 1 # one\r\n  -  {a: 2}\r\n  # three\r\n  - 3\r\n";
    assert_eq!(remove(block, 0).as_deref(), Some("A:\r\n  -  {a: 2}\r\n  # three\r\n  - 3\r\n"));
    assert_eq!(remove(block, 1).as_deref(), Some("A:\r\n  - 1 # one\r\n  # three\r\n  - 3\r\n"));
    assert_eq!(remove(block, 2).as_deref(), Some("A:\r\n  - 1 # one\r\n  -  {a: 2}\r\n  # three\r\n"));
    assert_eq!(remove("A: [1, 2, 3]", 1).as_deref(), Some("A: [1, 3]"));
    assert_eq!(remove("A:\n- - 1\n  - 2\n", 0), None);
}

#[test]
fn a_pair_comes_where_it_is_put() {
    let insert = |text: &str, path: &str, after: Option<usize>| {
        let tree = parse_entry(text);
        apply(text, &[insert_pair(text, at_path(&tree, path)?, after, "k", "v")?])
    };
    assert_eq!(insert("A: {}", "", None).as_deref(), Some("A: {k: v}"));
    assert_eq!(insert("A: {a: 1, b: 2}", "", Some(0)).as_deref(), Some("A: {a: 1, k: v, b: 2}"));
    assert_eq!(insert("A: {a: 1}", "", None).as_deref(), Some("A: {k: v, a: 1}"));
    assert_eq!(insert("A:\r  a: 1 # it\r  b: 2", "", Some(0)).as_deref(), Some("A:\r  a: 1 # it\r  k: v\r  b: 2"));
    assert_eq!(insert("A:\n  a: 1", "", Some(0)).as_deref(), Some("A:\n  a: 1\n  k: v"));
    assert_eq!(insert("A:\n- a: 1\n  b: 2\n", "[0]", None).as_deref(), Some("A:\n- k: v\n  a: 1\n  b: 2\n"));
    assert_eq!(
        insert("A:\n  a:\n    x: |\n      t\n  b: 2\n", "", Some(0)).as_deref(),
        Some("A:\n  a:\n    x: |\n      t\n  k: v\n  b: 2\n")
    );
}

#[test]
fn a_text_is_rewritten_in_its_style() {
    let rewritten = |written: &str, old: &str, new: &str| {
        let text = format!("A:\n  k: {written}\n");
        let tree = parse_entry(&text);
        let scalar = value_of(&tree.value, "k").and_then(Node::as_scalar)?;
        let start = scalar.text.find(old)?;
        let range = scalar.map.range(super::edits::span(start, start + old.len()));
        let text = apply(&text, &rewrite(&text, &tree, &[(range, new.to_owned())])?)?;
        Some(text.strip_prefix("A:\n  k: ")?.trim_end_matches('\n').to_owned())
    };
    let cases = [
        ("a + b", "b", "c", "a + c"),
        ("a + b", "b", "'c'", "a + 'c'"),
        ("a + b", "a", "[a]", "\"[a] + b\""),
        ("a + b", "a + b", "true", "\"true\""),
        ("'a + b'", "b", "'c'", "'a + ''c'''"),
        ("\"a + b\"", "b", "\"c\"", "\"a + \\\"c\\\"\""),
        ("\"a\\x20+ b\"", "b", "c", "\"a\\x20+ c\""),
        ("|\n    a +\n    b", "b", "'c'", "|\n    a +\n    'c'"),
        (">-\n    a +\n    b", "b", "\"c\"", ">-\n    a +\n    \"c\""),
    ];
    for (written, old, new, expected) in cases {
        assert_eq!(rewritten(written, old, new).as_deref(), Some(expected), "{written}");
    }
}

#[test]
fn quotes_are_those_of_the_entry() {
    let tree = parse_entry("A: {a: 'x', b: 'y', c: \"z\"}");
    assert_eq!(quoted(&tree, "t"), "'t'");
    assert_eq!(quoted(&tree, "it's"), "\"it's\"");
    assert_eq!(quoted(&tree, "a\u{7}"), "\"a\\u0007\"");
    assert_eq!(quoted(&parse_entry("A: {a: x}"), "say \"t\""), "'say \"t\"'");
}

#[test]
fn edits_that_do_not_fit_are_refused() {
    let edit = |start, end| Edit { range: super::edits::span(start, end), text: "x".to_owned() };
    assert_eq!(apply("abc", &[edit(0, 1), edit(2, 3)]).as_deref(), Some("xbx"));
    for wrong in [vec![edit(0, 2), edit(1, 3)], vec![edit(2, 9)], vec![edit(2, 3), edit(0, 1)]] {
        assert_eq!(apply("abc", &wrong), None);
    }
    assert_eq!(apply("é", &[edit(1, 2)]), None);
}

const ENTRY: &str = "AFwdOp:\n  family: demo\n  status: spec_only\n  signature:\n    forall: {M: Dim}\n    inputs: {x: {dtype: float32, shape: \"[M]\"}}\n    outputs: {y: {dtype: float32, shape: \"[M]\"}}\n  workloads:\n  - {M: 4, label: small}\n  roofline:\n    flops: |\n      M +\n      Q\n";

#[test]
fn a_defect_is_suppressed_where_a_comment_can_stand() {
    let mut db = AnalysisDb::default();
    db.set_file("m/demo.yaml", ENTRY, true);
    for (code, expected) in [
        ("unknown-value", "  status: spec_only  # tileops: ignore[unknown-value]\n"),
        ("unknown-name", "    flops: |  # tileops: ignore[unknown-name]\n"),
    ] {
        let report = super::report(&db, "m/demo.yaml").expect("the file is known");
        let located = report.defects.iter().find(|located| located.defect.code.name == code).expect("it is found");
        let fix = suppression(&db, "m/demo.yaml", located).expect("it can be suppressed");
        let fixed = apply(ENTRY, &fix.edits).expect("its edits fit");
        assert!(fixed.contains(expected), "{fixed}");
    }
}

#[test]
fn all_fixes_together_come_to_an_end() {
    let mut db = AnalysisDb::default();
    db.set_file("m/demo.yaml", ENTRY, true);
    let safe = fix_all(&mut db, "m/demo.yaml", true, Applicability::Safe, &mut |_| true).expect("the file is known");
    assert_eq!(safe.made.len(), 1);
    assert_eq!(*safe.text, *ENTRY.replace("spec_only", "spec-only"));
    let again = fix_all(&mut db, "m/demo.yaml", true, Applicability::Unsafe, &mut |_| true).expect("the file is known");
    assert_eq!((again.made.len(), again.text), (0, safe.text));
}

#[test]
fn a_code_with_a_rule_says_that_it_has_fixes() {
    for code in super::rules::ruled() {
        assert!(matches!(code.mend, crate::defect::Mend::Fix(_)), "{}", code.name);
    }
}
