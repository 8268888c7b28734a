//! What is offered where the cursor (`$0`) stands. What comes of accepting it is tested on the manifest, in
//! `tests/completion.rs`.

use super::super::*;
use super::{DEMO, cursor, open};
use crate::roofline::Formulas;
use crate::text::TextSize;

fn offered(text: &str) -> Vec<Completion> {
    let (db, offset) = cursor(text);
    completions(&db, "m/demo.yaml", offset)
}

/// DEMO with `from` (once) replaced by `to`, which has the cursor.
#[track_caller]
fn check(from: &str, to: &str, there: &[&str], not_there: &[&str]) -> Vec<Completion> {
    assert!(DEMO.contains(from), "{from}");
    let found = offered(&DEMO.replacen(from, to, 1));
    let has = |label: &str| found.iter().any(|item| item.label == label);
    let labels: Vec<&str> = found.iter().map(|item| item.label.as_str()).collect();
    for label in there {
        assert!(has(label), "no `{label}` in {labels:?}");
    }
    for label in not_there {
        assert!(!has(label), "`{label}` in {labels:?}");
    }
    found
}

fn snippet<'a>(found: &'a [Completion], label: &str) -> &'a str {
    let item = found.iter().find(|item| item.label == label).unwrap_or_else(|| panic!("no `{label}`"));
    item.snippet.as_deref().unwrap_or(&item.edit.text)
}

const FLOPS: &str = "\"2 * M * K\"";

#[test]
fn a_row_is_asked_for_what_it_lacks_with_values_of_the_right_type() {
    let row = "{M: 4, K: 8, dtype_cases: [{T: float16}], label: small}";
    let found = check(row, "{M: 4, $0}", &["K", "mode", "scale", "some", "dtype_cases", "label"], &["M", "T", "x"]);
    assert_eq!(snippet(&found, "K"), "K: ${1:1}");
    assert_eq!(snippet(&found, "mode"), "mode: ${1:loose}");
    assert_eq!(snippet(&found, "scale"), "scale: ${1:1}");
    // In block style too.
    check(&format!("- {row}"), "- M: 4\n    $0\n    label: small", &["K", "mode"], &["M", "label"]);
    check("label: small}", "so$0, label: small}", &["some"], &[]);
    check("label: small}", "some: [$0], label: small}", &["bias"], &["x", "y"]);
    check("label: small}", "mode: $0, label: small}", &["tight", "loose"], &["float16"]);
    check("[{T: float16}]", "[{$0}]", &["T"], &["M"]);
    check("[{T: float16}]", "[{T: $0}]", &["float16", "bfloat16"], &["float32"]);
}

#[test]
fn kinds_types_and_dtypes_are_offered_where_they_are_due() {
    check("{M: Dim,", "{M: $0,", &["Dim", "Shape", "Seq[Int]"], &["int"]);
    check("\"DType[float16 | bfloat16]\"", "\"DType[float16 | $0]\"", &["bfloat16", "float8_e4m3fn"], &["Dim"]);
    check("\"int | None\"", "$0", &["int", "bool", "torch.dtype", "int | None"], &["Dim"]);
    check("x: {dtype: T", "x: {dtype: $0", &["T", "float16", "int32"], &["M", "mode"]);
    check("optional: true", "optional: $0", &["true", "false"], &["True"]);
    check("\"DType[float16 | bfloat16]\"", "\"$0[float16 | bfloat16]\"", &["DType"], &["Dim", "Seq"]);
    check("\"DType[float16 | bfloat16]\"", "\"DType[float16 | $0]\"", &["bfloat16"], &["float16"]);
    check("x: {dtype: T,", "x: {values: \"full((M,), 1)\", dtype: $0,", &["int32", "int64"], &["T", "float16"]);
    check("optional: true", "optional: \"present($0)\"", &["scale"], &["x", "M"]);
    check("spec-only", "$0", &["implemented", "spec-only"], &[]);
    check("family: demo", "family: $0", &["demo"], &[]);
}

#[test]
fn an_expression_takes_what_its_place_and_its_branch_do() {
    check(FLOPS, "\"2 * $0\"", &["M", "K", "prod", "bytes", "ceil_div"], &["T", "x", "mode", "scale"]);
    // What may be absent has a size where it is passed.
    check(FLOPS, "\"bytes($0)\"", &["x", "y"], &["M", "bias"]);
    check(FLOPS, "\"bytes($0) if present(bias) else 0\"", &["x", "bias"], &["M"]);
    check(FLOPS, "\"2 * $0(M)\"", &[], &["M", "ceil_div", "present"]);
    check(FLOPS, "\"2 * $0(M, K)\"", &["ceil_div"], &["M", "prod"]);
    check(FLOPS, "\"$0.out(M, 3, 1, 0, 1)\"", &["conv"], &["pool", "M"]);
    check(FLOPS, "\"M if mode $0 ('tight',) else K\"", &["in", "not in"], &["M", "and"]);
    check(FLOPS, "\"M if present($0) else K\"", &["bias", "scale"], &["M", "mode"]);
    check(FLOPS, "\"M if mode == $0 else K\"", &["'tight'", "'loose'"], &["'float16'"]);
    check(FLOPS, "\"M if mode == '$0' else K\"", &["tight", "loose"], &["float16"]);
    check(FLOPS, "\"scale.$0 if present(scale) else 0\"", &["value"], &["kind"]);
    // Not where it may be absent.
    check(FLOPS, "\"0 if present(scale) else scale.$0\"", &[], &["value", "kind"]);
    check("\"[M, K]\"", "\"[M, $0]\"", &["M", "K"], &["T", "x", "bytes", "mode"]);
    check("x: {dtype: T,", "x: {values: $0, dtype: T,", &["full", "prefix_sum"], &["in_range", "prod"]);
    // A predicate over vectors is none of a matrix.
    check(
        "x: {dtype: T,",
        "x: {requires: [$0], dtype: T,",
        &["in_range", "indices_within"],
        &["full", "prefix_offsets"],
    );
    check("optional: true", "optional: \"mode == $0\"", &["'tight'"], &["'float16'"]);
    check(FLOPS, "\"sum($0 for n in (M, K))\"", &["n", "M"], &["T"]);
    check(FLOPS, "\"sum(n $0 n in (M, K))\"", &["for"], &["and", "M"]);
    check(FLOPS, "\"M if $0 present(bias) else K\"", &["not"], &["and", "M"]);
    check(FLOPS, "\"pool.out(M, 3, 1, 0, 1, $0=True)\"", &["ceil_mode"], &["M", "k"]);
    // A text of several lines has no key at the start of one.
    check(FLOPS, ">-\n      $0 * M\n      + K", &["K", "bytes"], &["in", "if", "False"]);
    // Types read no fractions, and so no `let` has one.
    check("    inputs:", "    let: {P: \"$0 * K\"}\n    inputs:", &["M"], &["inf"]);
    // What no dtype of the function's can equal is not compared.
    let mixed = DEMO.replacen("float16 | bfloat16", "float16 | int32", 1);
    let found = offered(&mixed.replacen("mode == 'tight' or M > 0", "present(bias) == ($0 == 'int32')", 1));
    let has = |label: &str| found.iter().any(|item| item.label == label);
    assert!(has("T") && !has("promote_int_to_float"), "{:?}", found.iter().map(|item| &item.label).collect::<Vec<_>>());
}

#[test]
fn a_family_is_applied_and_its_cases_use_its_formals() {
    let family = |cases: &str, shape: &str| {
        format!(
            "types:\n      Mat:\n        params: {{t: Bool, R: Dim, C: Dim}}\n        match: t\n        cases:\n{cases}    \
             inputs:\n      w: {{dtype: T, shape: \"{shape}\"}}"
        )
    };
    let cases = "        - {when: true, is: \"[C, R]\"}\n        - {when: false, is: \"[R, C]\"}\n";
    let found = check("inputs:", &family(cases, "$0"), &["Mat"], &["M"]);
    assert_eq!(snippet(&found, "Mat"), "Mat[${1:t}, ${2:R}, ${3:C}]");
    check("inputs:", &family(cases, "Mat[False, $0, K]"), &["M", "K"], &["T", "mode"]);
    let within = cases.replace("[R, C]", "[R, $0]");
    check("inputs:", &family(&within, "Mat[False, M, K]"), &["R", "C"], &["M", "K", "t"]);
    let when = cases.replace("when: false", "when: $0");
    check("inputs:", &family(&when, "Mat[False, M, K]"), &["true", "false", "_"], &["M"]);
    let by = family(cases, "Mat[False, M, K]").replace("match: t", "match: $0");
    check("inputs:", &by, &["t"], &["R", "M"]);
}

#[test]
fn keys_have_snippets_of_the_form_that_they_take() {
    let found = check("    shape_rules:", "    $0\n    shape_rules:", &["let", "types", "dtype_combos"], &["inputs"]);
    assert_eq!(snippet(&found, "let"), "let:\n      $0");
    assert_eq!(snippet(&found, "dtype_combos"), "dtype_combos:\n    - $0");
    let found =
        check("y: {dtype: T, shape: \"[M, K]\"}", "y: {dtype: T, $0}", &["shape", "alias"], &["dtype", "optional"]);
    assert!(snippet(&found, "shape").starts_with("shape: ${1:"));
    let found = check("x: {dtype: T, shape: \"[M, K]\"}", "x: {dtype: T, sh$0}", &["shape"], &["dtype"]);
    assert_eq!(found.iter().find(|item| item.label == "shape").map(|item| item.edit.range.len()), Some(2.into()));
    // What is written behind is kept.
    let found = check("status: spec-only", "st$0: spec-only", &["status"], &[]);
    assert_eq!(snippet(&found, "status"), "status");
}

#[test]
fn other_entries_functions_and_codes_are_known_by_name() {
    let stages = "  composition:\n    kind: composite\n    stages:\n    - {name: first, op: $0}\n";
    let found = offered(&format!("{DEMO}{}{stages}", DEMO.replace("DemoFwdOp", "OtherFwdOp")));
    let labels: Vec<&str> = found.iter().map(|item| item.label.as_str()).collect();
    assert_eq!(labels, ["DemoFwdOp", "OtherFwdOp"]);
    let func = |typed: &str| {
        let text = DEMO.replace("flops: \"2 * M * K\"", &format!("func: {typed}$0"));
        let offset = text.find("$0").expect("a cursor");
        let mut db = open(&text.replace("$0", ""));
        let names = ["gqa_fwd", "norm_fwd"].map(str::to_owned).into();
        db.set_formulas(Formulas { names: Some(names), ..Formulas::default() });
        let found = completions(&db, "m/demo.yaml", TextSize::new(offset as u32));
        found.into_iter().map(|item| item.edit.text).collect::<Vec<_>>()
    };
    assert_eq!(func(""), ["tileops.perf.formulas.gqa_fwd", "tileops.perf.formulas.norm_fwd"]);
    assert_eq!(func("tileops.perf.formulas.g"), ["gqa_fwd", "norm_fwd"]);
    check("spec-only", "spec-only # tileops: ignore[$0]", &["unknown-name", "unused-index"], &["bad-suppression"]);
    check("spec-only", "spec-only # tileops: ignore[unknown-name, $0]", &["unused-index"], &[]);
    check("spec-only", "spec-only # tileops: $0", &["ignore"], &["unknown-name"]);
}

#[test]
fn an_edit_is_right_inside_every_style_of_scalar() {
    for (to, expected) in [
        ("2 * $0", "2 * K"),
        ("'2 * $0'", "'2 * K'"),
        ("\"2 * $0\"", "\"2 * K\""),
        ("\"2 *\\x20$0\"", "\"2 *\\x20K\""),
        (">-\n      2 *\n      $0", ">-\n      2 *\n      K"),
        ("|-\n      2 *\n      $0", "|-\n      2 *\n      K"),
        ("\"2 * $0", "\"2 * K"),
    ] {
        let text = DEMO.replacen(FLOPS, to, 1);
        let found = offered(&text);
        let item = found.iter().find(|item| item.label == "K").unwrap_or_else(|| panic!("no `K` in {to}"));
        let mut after = text.replace("$0", "");
        after.replace_range(std::ops::Range::<usize>::from(item.edit.range), &item.edit.text);
        assert_eq!(after, DEMO.replacen(FLOPS, expected, 1));
    }
    // A literal's quotes are not those of the scalar.
    let literal = |flops: &str| {
        let found = offered(&DEMO.replacen(FLOPS, flops, 1));
        found.iter().find(|item| item.label.contains("tight")).map(|item| item.edit.text.clone())
    };
    assert_eq!(literal("\"M if mode == $0 else K\"").as_deref(), Some("'tight'"));
    assert_eq!(literal("'M if mode == $0 else K'").as_deref(), Some("\"tight\""));
}
