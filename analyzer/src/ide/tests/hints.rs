use super::super::*;
use super::{DEMO, open};
use crate::text::{TextRange, TextSize};

fn hints(text: &str, kinds: HintKinds) -> Vec<InlayHint> {
    let db = open(text);
    let report = db.report("m/demo.yaml").expect("a report");
    let errors: Vec<_> = report.defects.iter().map(|found| (&found.defect.message, found.defect.code.name)).collect();
    assert!(errors.is_empty(), "{errors:?} in\n{text}");
    inlay_hints(&db, "m/demo.yaml", TextRange::up_to(TextSize::of(text)), kinds)
}

fn labels(text: &str) -> Vec<String> {
    hints(text, HintKinds::default()).into_iter().map(|hint| hint.label).collect()
}

/// An entry with these parameters, tensors, rows and roofline.
fn entry(params: &str, tensors: &str, rows: &str, roofline: &str) -> String {
    format!(
        "DemoFwdOp:\n  family: demo\n  status: spec-only\n  signature:\n    forall: {{M: Dim, N: Dim, K: Dim, T: \
         \"DType[float16 | bfloat16 | float32]\"}}\n    params: {{{params}}}\n{tensors}  workloads:\n{rows}  roofline: {roofline}\n"
    )
}

const GEMM: &str = "    inputs:\n      a: {dtype: T, shape: \"[M, K]\"}\n      b: {dtype: T, shape: \"[K, N]\"}\n    \
                    outputs:\n      d: {dtype: T, shape: \"[M, N]\"}\n";

fn row(rest: &str, dtypes: &[&str]) -> String {
    let cases: Vec<String> = dtypes.iter().map(|dtype| format!("{{T: {dtype}}}")).collect();
    format!("  - {{M: 4, N: 8, K: 16, {rest}dtype_cases: [{}], label: r{}}}\n", cases.join(", "), rest.len())
}

#[test]
fn bytes_are_derived_in_the_terms_of_the_signature() {
    assert_eq!(labels(DEMO), ["128 B", "bytes = 4*M*K  (read x; write y)"]);
    let flops = "{flops: \"2 * M * N * K\"}";
    // The rows fix the width of `T`.
    let text = entry("", GEMM, &row("", &["float16", "bfloat16"]), flops);
    assert_eq!(labels(&text), ["448 B", "bytes = 2*M*K + 2*K*N + 2*M*N  (read a, b; write d)"]);
    let tooltip = hints(&text, HintKinds::default()).pop().expect("a hint").tooltip;
    assert!(tooltip.contains("`size(T)` as the rows have it: `float16`, `bfloat16`"), "{tooltip}");
    // They do not.
    let text = entry("", GEMM, &row("", &["float16", "float32"]), flops);
    assert_eq!(
        labels(&text),
        ["448 B | 896 B", "bytes = size(T)*M*K + size(T)*K*N + size(T)*M*N  (read a, b; write d)"]
    );
}

#[test]
fn equal_terms_are_added_whatever_order_they_are_written_in() {
    let tensors = "    inputs:\n      a: {dtype: T, shape: \"[M, K]\"}\n      b: {dtype: T, shape: \"[K, 2 * M]\"}\n    \
                   outputs:\n      d: {dtype: float32, shape: \"[K, M, N]\", buffer: out}\n      e: {dtype: T, shape: \"[N + 1]\"}\n";
    let tensors = tensors.replace("    outputs", "      c: {dtype: int8, shape: \"[N]\", mutated: true}\n    outputs");
    let text = entry("", &tensors, &row("", &["float16"]), "{flops: \"0\"}");
    let found = labels(&text).pop().expect("a hint");
    assert_eq!(found, "bytes = 6*M*K + 2*N + 4*K*M*N + 2*(N + 1)  (read a, b, c; write c, d, e)");
}

#[test]
fn each_branch_that_rows_take_has_its_own_sum_where_they_differ() {
    let tensors =
        GEMM.replace("    outputs", "      bias: {dtype: float32, shape: \"[N]\", optional: true}\n    outputs");
    let flops = "{flops: \"2 * M * N * K\"}";
    let both = row("", &["float16"]) + &row("some: [bias], ", &["float16"]);
    assert_eq!(
        labels(&entry("", &tensors, &both, flops)),
        [
            "448 B",
            "480 B",
            "bytes = 2*M*K + 2*K*N + 2*M*N  (read a, b; write d) when bias is not passed",
            "bytes = 2*M*K + 2*K*N + 4*N + 2*M*N  (read a, b, bias; write d) when bias is passed",
        ]
    );
    // A branch that no row takes is not shown, and one that changes nothing is none.
    let rows = row("", &["float16"]);
    let params = "wide: {type: bool, default: false}";
    let text = entry(params, &tensors, &rows, "{flops: \"M if wide else K\"}");
    assert_eq!(labels(&text).len(), 2);
    let rows = row("", &["float16"]) + &row("wide: true, ", &["float16"]);
    let text = entry(params, GEMM, &rows, "{flops: \"M if wide else N * K\"}");
    assert_eq!(labels(&text)[2], "bytes = 2*M*K + 2*K*N + 2*M*N  (read a, b; write d)");
    // Nor is one that writes the same products the other way round.
    let types = "    types:\n      Stored:\n        params: {turned: Bool, R: Dim, C: Dim}\n        match: turned\n        \
                 cases:\n        - {when: false, is: \"[R, C]\"}\n        - {when: true, is: \"[C, R]\"}\n";
    let turned = GEMM.replace("\"[M, K]\"", "\"Stored[wide, M, K]\"");
    let text = entry(params, &(types.to_owned() + &turned), &rows, "{flops: \"N * M * K\"}");
    assert_eq!(labels(&text)[2..], ["bytes = 2*M*K + 2*K*N + 2*M*N  (read a, b; write d)"]);
}

#[test]
fn a_stated_bytes_is_compared_with_the_derived_sum_term_by_term() {
    let of = |bytes: &str| {
        let text = entry("", GEMM, &row("", &["float16"]), &format!("{{flops: \"N * M * K\", bytes: \"{bytes}\"}}"));
        labels(&text).pop().expect("a hint")
    };
    for (bytes, expected) in [
        ("bytes(a) + bytes(b) + bytes(d)", "= derived"),
        ("2 * (M * K + N * (K + M))", "= derived"),
        ("bytes(b) + 2 * M * (N + K)", "= derived"),
        ("bytes(a) + bytes(b)", "= derived - bytes(d)"),
        ("2 * M * K + 2 * K * N", "= derived - 2*M*N"),
        ("bytes(a) + 3 * bytes(b) + bytes(d) + 4 * M", "= derived + 2*bytes(b) + 4*M"),
        ("bytes(a) + bytes(d) + (bytes(b) if M > 1 else 0)", "= derived + (bytes(b) if M > 1 else 0) - bytes(b)"),
    ] {
        assert_eq!(of(bytes), expected, "{bytes}");
    }
}

#[test]
fn a_let_is_as_good_as_what_it_is() {
    let tensors = GEMM.replace("shape: \"[M, N]\"", "shape: \"[M, H]\"") + "    let: {H: \"N * 2\"}\n";
    let of = |bytes: &str| {
        let text =
            entry("", &tensors, &row("", &["float16"]), &format!("{{flops: \"N * M * K\", bytes: \"{bytes}\"}}"));
        labels(&text).pop().expect("a hint")
    };
    assert_eq!(of("bytes(a) + bytes(b) + 4 * M * N"), "= derived");
    assert_eq!(of("bytes(a) + bytes(b) + 2 * M * H"), "= derived");
}

#[test]
fn each_kind_has_its_switch_and_a_stated_bytes_no_sum() {
    let stated = entry("", GEMM, &row("", &["float16"]), "{flops: \"N * M * K\", bytes: \"bytes(a)\"}");
    let derived = entry("", GEMM, &row("", &["float16"]), "{flops: \"2 * M * N * K\"}");
    let none = HintKinds { derived_bytes: false, bytes_difference: false, row_bytes: false };
    let kinds = |text: &str, kinds| hints(text, kinds).into_iter().map(|hint| hint.kind).collect::<Vec<_>>();
    assert_eq!(kinds(&stated, none), []);
    assert_eq!(kinds(&derived, none), []);
    assert_eq!(kinds(&stated, HintKinds { bytes_difference: true, ..none }), [HintKind::BytesDifference]);
    assert_eq!(kinds(&stated, HintKinds { derived_bytes: true, ..none }), []);
    assert_eq!(kinds(&derived, HintKinds { derived_bytes: true, ..none }), [HintKind::DerivedBytes]);
    assert_eq!(kinds(&derived, HintKinds { bytes_difference: true, ..none }), []);
    assert_eq!(kinds(&derived, HintKinds { row_bytes: true, ..none }), [HintKind::RowBytes]);
}

#[test]
fn a_row_has_its_bytes_exactly_and_its_halves_and_indices_when_asked() {
    let tensors = "    inputs:\n      a: {dtype: T, shape: \"[M, K]\"}\n      b: {dtype: float32, shape: \"[N]\"}\n    \
                   outputs:\n      d: {dtype: T, shape: \"[M, N]\"}\n";
    let rows = "  - {M: 1000, N: 3, K: 1000, dtype_cases: [{T: float16}], label: odd} # a comment\n";
    let text = entry("", tensors, rows, "{flops: \"0\"}");
    let found = hints(&text, HintKinds::default());
    // 2 * 1000 * 1000 + 4 * 3 read, 2 * 1000 * 3 written.
    assert_eq!(found[0].label, "1.91 MiB (2006012 B)");
    assert_eq!(usize::from(found[0].offset), text.find(" # a comment").expect("it is there"));
    for part in [
        "2006012 bytes, 2000012 read, 6000 written",
        "`M = 1000`",
        "`T = float16`",
        "- `d`: `[1000, 3]` of `float16`, 0 read, 6000 written",
    ] {
        assert!(found[0].tooltip.contains(part), "{part} in {}", found[0].tooltip);
    }
}

#[test]
fn rows_are_what_records_are_held_against() {
    let text =
        format!("# Of the file.\n\n{}", entry("", GEMM, &row("", &["float16", "float32"]), "{flops: \"N * M * K\"}"));
    let db = open(&text);
    let found = row_cases(&db, "m/demo.yaml", TextRange::up_to(TextSize::of(&*text)));
    assert_eq!(found.len(), 1);
    assert_eq!(
        (found[0].op.as_str(), found[0].cases.as_slice()),
        ("DemoFwdOp", &["r0-float16".to_owned(), "r0-float32".to_owned()][..])
    );
    assert_eq!(found[0].fingerprint, crate::fingerprint(&text[text.find("DemoFwdOp").expect("it is there")..]));
    let slice = &text[std::ops::Range::<usize>::from(found[0].range)];
    assert!(slice.starts_with("{M: 4") && slice.ends_with('}'), "{slice}");
    assert!(row_cases(&db, "m/demo.yaml", TextRange::empty(TextSize::new(0))).is_empty());
}
