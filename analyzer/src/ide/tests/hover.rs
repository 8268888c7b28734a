use super::super::*;
use super::{DEMO, at, cursor, open};
use crate::db::AnalysisDb;
use crate::roofline::{FormulaLanguage, FormulaPlace, formula_functions};

fn said(from: &str, to: &str) -> String {
    let (db, offset) = at(from, to);
    hover(&db, "m/demo.yaml", offset).unwrap_or_else(|| panic!("nothing is said of {to}")).markdown
}

#[track_caller]
fn check(from: &str, to: &str, parts: &[&str]) {
    let found = said(from, to);
    for part in parts {
        assert!(found.contains(part), "no {part:?} in\n{found}");
    }
}

const FLOPS: &str = "\"2 * M * K\"";

#[test]
fn a_name_has_its_kind_where_it_is_solved_from_and_its_values() {
    check(FLOPS, "\"2 * $0M * K\"", &["M: Dim", "index", "solved from axis 0 of `x`", "On every row: `4`"]);
    check("T: \"DType", "$0T: \"DType", &["solved from the dtype of `x`", "On every row: `float16`"]);
    check("mode: {type", "$0mode: {type", &["parameter", "'tight'", "On every row: `'tight'`"]);
    check("scale: {type", "$0scale: {type", &["Maybe[Int]", "On every row: `None`"]);
    check("\"'tight' |", "\"'ti$0ght' |", &["a literal of `mode`"]);
    check("dtype: T", "$0dtype: T", &["a key of an input tensor"]);
    check("T: float16", "T: flo$0at16", &["16 bits"]);
    check("forall: {M: Dim", "forall: {M: Di$0m", &["`Dim`"]);
}

#[test]
fn a_tensor_has_its_shape_dtype_and_effect() {
    check("x: {dtype", "$0x: {dtype", &["input", "`[M, K]` of `T`", "On every row: `[4, 8]` of `float16`, 64 B"]);
    check("bias: {dtype", "$0bias: {dtype", &["absent", "On every row: absent"]);
    check(
        "x: {dtype: T, shape: \"[M, K]\"}",
        "$0x: {dtype: T, shape: \"[M, K]\", mutated: true}",
        &["`[M, K]` of `T`, read and written"],
    );
    check(
        "y: {dtype: T, shape: \"[M, K]\"}",
        "$0y: {dtype: T, shape: \"[M, K]\", alias: x}",
        &["output", "the storage of `x`"],
    );
}

const BRANCHES: &str = r#"DemoFwdOp:
  family: demo
  status: spec-only
  signature:
    types:
      Mat:
        params: {t: Bool, R: Dim, C: Dim}
        match: t
        cases:
        - {when: true, is: "[C, R]"}
        - {when: false, is: "[R, C]"}
    forall: {M: Dim, K: Dim}
    params: {flip: {type: bool, default: false}}
    inputs: {x: {dtype: float16, shape: "Mat[flip, M, K]"}}
    outputs: {y: {dtype: float16, shape: "[M, H]"}}
    let: {H: "2 * K if flip else K"}
  workloads:
  - {M: 4, K: 8, label: straight}
  - {M: 4, K: 16, flip: true, label: flipped}
  roofline: {flops: "M * K"}
"#;

#[test]
fn what_differs_from_branch_to_branch_is_said_of_each() {
    let of = |from: &str, to: &str| {
        let (db, offset) = cursor(&BRANCHES.replacen(from, to, 1));
        hover(&db, "m/demo.yaml", offset).expect("a hover").markdown
    };
    let found = of("{x: {dtype", "{$0x: {dtype");
    assert!(found.contains("- when `flip` is false: `[M, K]` of `float16`"), "{found}");
    assert!(found.contains("- when `flip` is true: `[K, M]` of `float16`"), "{found}");
    assert!(found.contains("- straight: `[4, 8]`") && found.contains("- flipped: `[16, 4]`"), "{found}");
    let found = of("let: {H", "let: {$0H");
    assert!(found.contains("`let`") && found.contains("- when `flip` is true: `2 * K`"), "{found}");
    assert!(found.contains("- straight: `8`") && found.contains("- flipped: `32`"), "{found}");
    // Of all the rows the same, once.
    let found = of("{M: Dim", "{$0M: Dim");
    assert!(found.contains("On every row: `4`") && found.contains("axis 0 of `x`"), "{found}");
    let found = of("\"Mat[flip", "\"M$0at[flip");
    assert!(found.contains("Mat[t: Bool, R: Dim, C: Dim]") && found.contains("- `true`: `[C, R]`"), "{found}");
    let found = of("{t: Bool, R", "{$0t: Bool, R");
    assert!(found.contains("formal of the type family `Mat`"), "{found}");
}

#[test]
fn a_label_says_what_its_row_determines() {
    check(
        "label: small",
        "label: sm$0all",
        &[
            "**small-float16**",
            "128 bytes, 64 read, 64 written",
            "`x`: `[4, 8]` of `float16`",
            "`bias`: absent",
            "`M = 4`",
        ],
    );
}

#[test]
fn a_built_in_has_its_documentation() {
    check(FLOPS, "\"ceil_$0div(M, K)\"", &["ceil_div(a: Int, b: Int) -> Int", "A primitive: "]);
    check(FLOPS, "\"conv.$0out(M, 3, 1, 0, 1)\"", &["conv.out(L: Int"]);
}

#[test]
fn a_defect_is_explained_where_it_stands() {
    let found = said(FLOPS, "\"2 * $0Q * K\"");
    assert!(
        found.contains("**unknown-name**") && found.contains("An equality in `shape_rules` defines no name"),
        "{found}"
    );
    assert!(!found.contains("## Wrong"), "{found}");
    // Together with what else is known of the place.
    let found = said("status: spec-only", "sta$0tus: spec_only");
    assert!(found.contains("**status**"), "{found}");
    let found = said("status: spec-only", "status: spec$0_only");
    assert!(found.contains("**unknown-value**"), "{found}");
    // And in a comment that suppresses it.
    check("status: spec-only", "status: spec_only # tileops: ignore[unknown-$0value]", &["# unknown-value"]);
}

#[test]
fn an_op_has_its_signature_where_another_names_it() {
    let composed = DEMO.replace("DemoFwdOp", "OtherFwdOp")
        + "  composition:\n    kind: composite\n    stages:\n    - {name: first, op: Demo$0FwdOp}\n";
    let (db, offset) = cursor(&format!("{DEMO}{composed}"));
    let found = hover(&db, "m/demo.yaml", offset).expect("a hover").markdown;
    assert!(found.contains("DemoFwdOp(mode, scale)(x, bias) -> y") && found.contains("1 row"), "{found}");
}

/// A database that knows where `demo_roofline` is defined.
pub(super) fn with_formula(text: &str, language: FormulaLanguage, source: &str) -> AnalysisDb {
    let mut db = open(text);
    let path = "/src/formulas";
    let places = formula_functions(source, language);
    let places = places
        .into_iter()
        .map(|function| (function.name.clone(), FormulaPlace { path: path.into(), language, function }));
    db.set_formula_places(places.collect());
    db
}

#[test]
fn the_function_of_a_roofline_has_its_documentation() {
    let text = DEMO.replace("flops: \"2 * M * K\"", "func: tileops.perf.formulas.demo_$0roofline");
    let offset = crate::text::TextSize::new(text.find("$0").expect("a cursor") as u32);
    let text = text.replace("$0", "");
    let source = "/// Reads `x` twice.\npub fn demo_roofline(call: &Call) -> (u128, u128) { (0, 0) }\n";
    let db = with_formula(&text, FormulaLanguage::Rust, source);
    let found = hover(&db, "m/demo.yaml", offset).expect("a hover").markdown;
    assert!(found.contains("```rust\npub fn demo_roofline(call: &Call)"), "{found}");
    assert!(found.contains("Reads `x` twice."), "{found}");
    let found = hover(&open(&text), "m/demo.yaml", offset).expect("a hover").markdown;
    assert!(found.contains("the function that computes the roofline"), "{found}");
}
