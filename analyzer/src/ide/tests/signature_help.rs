//! `$0` is the cursor; the active parameter is marked in the signature.

use super::super::*;
use super::{at, cursor};

fn shown(help: Option<SignatureHelp>) -> String {
    let Some(help) = help else { return "nothing".to_owned() };
    match help.active.map(|active| help.parameters[active].label) {
        Some(range) => {
            let (start, end) = (usize::from(range.start()), usize::from(range.end()));
            format!("{}<{}>{}", &help.label[..start], &help.label[start..end], &help.label[end..])
        }
        None => help.label,
    }
}

#[track_caller]
fn check(from: &str, to: &str, expected: &str) {
    let (db, offset) = at(from, to);
    assert_eq!(shown(signature_help(&db, "m/demo.yaml", offset)), expected, "{to}");
}

#[test]
fn the_argument_at_the_cursor_is_active() {
    let flops = "\"2 * M * K\"";
    for (to, expected) in [
        ("\"ceil_div($0M, K)\"", "ceil_div(<a: Int>, b: Int) -> Int"),
        ("\"ceil_div(M,$0 K)\"", "ceil_div(a: Int, <b: Int>) -> Int"),
        ("\"ceil_div(M, K, $0)\"", "ceil_div(a: Int, b: Int) -> Int"),
        ("\"ceil_div(M, K)$0\"", "nothing"),
        ("\"ceil_div$0(M, K)\"", "nothing"),
        // The innermost that is a call.
        ("\"ceil_div(M, prod(($0M, K)))\"", "prod(<s: Seq[Int]>) -> Int"),
        ("\"ceil_div(prod((M, K)), $0K)\"", "ceil_div(a: Int, <b: Int>) -> Int"),
        ("\"ceil_div((M + $0K), K)\"", "ceil_div(<a: Int>, b: Int) -> Int"),
        // By name, on either side of the sign.
        ("\"max((M,), default=$00)\"", "max(s: Seq[Int], *, <default: Int | None = None>) -> Int"),
        ("\"max((M,), defa$0ult=0)\"", "max(s: Seq[Int], *, <default: Int | None = None>) -> Int"),
        ("\"max((M,), $0)\"", "max(s: Seq[Int], *, default: Int | None = None) -> Int"),
        ("\"sum(n for n in $0(M, K))\"", "sum(<s: Seq[Int]>) -> Int"),
        ("\"prod(broadcast((M,), (K,), $0))\"", "broadcast(<*shapes: Shape>) -> Shape"),
        ("\"conv.out(M, 3, $01, 0, 1)\"", "conv.out(L: Int, k: Int, <s: Int>, p: Int, d: Int) -> Int"),
        // Brackets and commas in a text are none.
        (
            "\"len(reduced((M,), 0, True, 'a, (b', $0))\"",
            "reduced(s: Shape, dim: Int | Seq[Int] | None, keepdim: Bool, mode: 'full' | 'noop' | 'reject') -> Shape",
        ),
        ("\"M if present($0bias) else 0\"", "present(<x: tensor | Maybe | out>) -> Bool"),
        ("\"bytes($0\"", "bytes(<t: tensor>) -> Dim"),
        ("\"nothing_known($0M)\"", "nothing"),
    ] {
        check(flops, to, expected);
    }
}

#[test]
fn a_call_is_found_in_every_style_of_scalar() {
    let flops = "\"2 * M * K\"";
    for to in [
        "ceil_div(M, $0K)",
        "'ceil_div(M, $0K)'",
        "\"ceil_div(M, $0K)\"",
        "\"ceil_div(M,\\x20$0K)\"",
        ">-\n      ceil_div(M,\n      $0K)",
        "|-\n      ceil_div(M,\n      $0K)",
        // Still being written.
        "\"ceil_div(M, $0",
        "'2 * ceil_div(M, $0",
        "ceil_div(M, $0",
        "\"2 * (ceil_div(M, $0",
    ] {
        check(flops, to, "ceil_div(a: Int, <b: Int>) -> Int");
    }
    let (db, offset) = cursor("AFwdOp:\n  signature:\n    inputs: {x: {dtype: float16, shape: \"[ceil_div(M, $0");
    assert_eq!(shown(signature_help(&db, "m/demo.yaml", offset)), "ceil_div(a: Int, <b: Int>) -> Int");
}

#[test]
fn generators_predicates_and_families_have_theirs() {
    let with = |x: &str| format!("x: {{dtype: int32, {x}, shape: \"[M]\"}}");
    let x = "x: {dtype: T, shape: \"[M, K]\"}";
    check(x, &with("values: \"full((M,), $03)\""), "full(shape: Shape, <v: Int>) -> [*shape]");
    check(
        x,
        &with("values: \"full((M,), 3)\", requires: [\"in_range(0, $0M)\"]"),
        "in_range(lo: Int, <hi: Int>) -> Bool",
    );
    let (db, offset) = at(x, &with("values: \"full((M,), 3)\", requires: [\"in_range(0, $0M)\"]"));
    let help = signature_help(&db, "m/demo.yaml", offset).expect("help");
    assert!(help.documentation.contains("unwritten"), "{}", help.documentation);
    let family = "params:\n      p: {type: bool, default: false}\n    types:\n      Mat:\n        params: {t: Bool, R: Dim, C: Dim}\n        match: t\n        cases:\n        - {when: true, is: \"[C, R]\"}\n        - {when: false, is: \"[R, C]\"}\n    inputs:\n      w: {dtype: T, shape: \"Mat[p, $0M, K]\"}";
    check("inputs:", family, "Mat[t: Bool, <R: Dim>, C: Dim]");
    check("inputs:", &family.replace("$0M, K]", "M, K, $0]"), "Mat[t: Bool, R: Dim, C: Dim]");
    check("inputs:", &family.replace("$0M, K]", "ceil_div($0M, 2), K]"), "ceil_div(<a: Int>, b: Int) -> Int");
    let (db, offset) = at("inputs:", family);
    let help = signature_help(&db, "m/demo.yaml", offset).expect("help");
    assert!(help.documentation.contains("`true`: `[C, R]`"), "{}", help.documentation);
    // A row's call of a primitive.
    let row = "S: Seq[Int]";
    let text = format!("forall: {{{row}, M: Dim,");
    let (db, offset) = cursor(
        &super::DEMO.replace("forall: {M: Dim,", &text).replace("- {M: 4,", "- {S: \"balanced_sizes(16, $04)\", M: 4,"),
    );
    assert_eq!(
        shown(signature_help(&db, "m/demo.yaml", offset)),
        "balanced_sizes(total: Int, <count: Int>) -> Seq[Int]"
    );
}
