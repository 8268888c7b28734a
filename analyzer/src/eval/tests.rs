//! Evaluation and folding on texts.

use super::*;
use crate::defect::Findings;
use crate::expr::{Expr, ExprKind, Shape, ShapeKind, parse_expression, parse_shape};
use crate::lang::{AdtValue, DType};
use crate::syntax::Scalar;
use crate::text::TextSize;

fn parse(text: &str) -> Expr {
    parse_expression(&Scalar::plain(text), TextRange::up_to(TextSize::of(text)), "", &mut Findings::default())
}

fn parsed_shape(text: &str) -> Shape {
    parse_shape(&Scalar::plain(text), TextRange::up_to(TextSize::of(text)), "", &mut Findings::default())
}

#[derive(Default)]
struct World {
    values: Vec<(&'static str, Value)>,
    present: Vec<(&'static str, bool)>,
    fields: Vec<(&'static str, &'static str, Value)>,
}

impl Environment for World {
    fn value(&self, name: &str) -> Option<Value> {
        self.values.iter().find(|(n, _)| *n == name).map(|(_, value)| value.clone())
    }

    fn present(&self, name: &str) -> Option<bool> {
        self.present.iter().find(|(n, _)| *n == name).map(|(_, present)| *present)
    }

    fn field(&self, name: &str, field: &str) -> Option<Value> {
        self.fields.iter().find(|(n, f, _)| (*n, *f) == (name, field)).map(|(.., value)| value.clone())
    }
}

fn string(text: &str) -> Value {
    Value::Str(text.into())
}

fn world() -> World {
    let masked = AdtValue {
        adt: "MGroupedLayout".into(),
        constructor: "masked".into(),
        fields: vec![("max_m".into(), Value::Int(16))],
    };
    World {
        values: vec![
            ("M", Value::Int(6)),
            ("zero", Value::Int(0)),
            ("flag", Value::Bool(true)),
            ("S", Value::ints([2, 3, 4])),
            ("long", Value::ints(vec![1; 100])),
            ("T", Value::DType(DType::Float16)),
            ("window", Value::Int(9)),
            ("layout", Value::Adt(masked.into())),
            ("device", Value::Opaque("cuda".into())),
        ],
        present: vec![("bias", true), ("scale", false), ("absent", false), ("window", true)],
        fields: vec![("other", "kind", string("contiguous")), ("other", "packing", string("tight"))],
    }
}

fn value(text: &str) -> Result<Value, String> {
    evaluate(&parse(text), &world()).map_err(|error| match error.reason {
        EvalFailure::Domain(why) => {
            format!("{}: {why}", &text[usize::from(error.range.start())..usize::from(error.range.end())])
        }
        EvalFailure::Undetermined(name) => format!("{name}?"),
        EvalFailure::Poisoned => "poisoned".into(),
    })
}

fn int(text: &str) -> i128 {
    match value(text) {
        Ok(Value::Int(value)) => value,
        other => panic!("{text} is {other:?}"),
    }
}

fn bool(text: &str) -> bool {
    match value(text) {
        Ok(Value::Bool(value)) => value,
        other => panic!("{text} is {other:?}"),
    }
}

fn error(text: &str) -> String {
    value(text).expect_err(text)
}

fn folded(text: &str) -> String {
    fold(&parse(text), &world()).to_string()
}

#[test]
fn names_and_presence() {
    assert_eq!(int("M + 1"), 7);
    assert_eq!(error("M + N"), "N?");
    assert_eq!(value("absent"), Ok(Value::None));
    assert_eq!(int("window.value"), 9);
    assert_eq!(error("absent.value"), "absent.value: an absent parameter has no `value`");
    assert!(bool("present(bias) and not present(scale) and present(window) and present(M)"));
    assert_eq!(error("present(nothing)"), "nothing?");
    assert_eq!(value("float32"), Ok(Value::DType(DType::Float32)));
    assert!(bool("T == 'float16' and T in ('float16', 'bfloat16') and T != 'float32'"));
    assert_eq!(error("bytes(bias)"), "poisoned");
    assert_eq!(error("topk_ids(1, 1, 1)"), "poisoned");
    assert_eq!(error("unknown(1)"), "poisoned");
    assert_eq!(error("ceil_div(1)"), "poisoned");
    assert_eq!(error("M ** 2"), "poisoned");
}

#[test]
fn fields() {
    assert!(bool("layout.kind == 'masked'"));
    assert_eq!(int("layout.max_m"), 16);
    assert_eq!(error("layout.alignment"), "layout.alignment: `masked` has no `alignment`");
    assert!(bool("other.kind == 'contiguous' and other.packing == 'tight'"));
    assert_eq!(error("other.alignment"), "other?");
    assert_eq!(error("M.kind"), "M.kind: `6` has no `kind`");
}

#[test]
fn arithmetic_fails_at_its_characters() {
    assert_eq!(error("1 + M // zero"), "M // zero: `6 // 0` divides by zero");
    assert_eq!(error("M % zero"), "M % zero: `6 % 0` divides by zero");
    let largest = i128::MAX;
    assert_eq!(error(&format!("{largest} + M")), format!("{largest} + M: `{largest} + 6` is beyond 128 bits"));
    assert_eq!(
        error(&format!("-(-{largest} - 1)")).split(": ").last(),
        Some(&*format!("`-({})` is beyond 128 bits", i128::MIN))
    );
    assert_eq!(int(&format!("(-{largest} - 1) % -1")), 0);
    assert_eq!(error("inf - inf"), "inf - inf: `inf - inf` is not a number");
    assert_eq!(error("'a' + 1"), "'a' + 1: `'a'` is no number");
    assert_eq!(error("1 + 'a'"), "1 + 'a': `'a'` is no number");
    assert_eq!(error("-S"), "-S: `(2, 3, 4)` is no number");
    assert_eq!(error("1 if M else 2"), "M: `6` is no Boolean");
    assert_eq!(error("flag and M"), "M: `6` is no Boolean");
    assert_eq!(error("1 < M < 'a'"), "M < 'a': `6` and `'a'` have no order");
    assert_eq!(error("1 in M"), "1 in M: `6` is no sequence");
    assert_eq!(error("S[3]"), "S[3]: `(2, 3, 4)[3]` is outside its 3 items");
    assert_eq!(error("S[flag:'a']"), "S[flag:'a']: `'a'` is no integer");
    assert_eq!(error("ceil_div(M, zero)"), "ceil_div(M, zero): in `ceil_div`, `b` is 0, and must be positive");
}

#[test]
fn decided_early() {
    assert!(!bool("False and 1 // 0 == 0"));
    assert!(bool("True or N"));
    assert!(!bool("2 < 1 < N"));
    assert_eq!(int("1 if flag else N"), 1);
    assert_eq!(error("N or True"), "N?");
}

#[test]
fn calls() {
    assert_eq!(value("broadcast(S, (3, 1))"), Ok(Value::ints([2, 3, 4])));
    assert_eq!(value("broadcast()"), Ok(Value::ints([])));
    assert_eq!(int("ceil_div(b=4, a=M)"), 2);
    assert_eq!(int("per_axis(absent, 0, 2, fallback=M)"), 6);
    assert_eq!(int("per_axis((1, 2), 1, 2)"), 2);
    assert_eq!(int("max((), default=5)"), 5);
    assert_eq!(int("sum(n * 2 for n in S)"), 18);
    assert_eq!(int("sum(sum(a * b for b in S) for a in S)"), 81);
    assert_eq!(int("sum(S for S in S)"), 9);
    assert!(bool("all(n > 1 for n in S)"));
    assert!(!bool("all(n != 3 and n // (n - 4) != 0 for n in S)"), "`all` stops at the first that does not hold");
    assert_eq!(error("sum(n // 0 for n in S)"), "n // 0: `2 // 0` divides by zero");
    assert_eq!(error("sum(n for n in M)"), "M: `6` is no sequence");
    assert_eq!(value("coalesce_dtype(absent, T)"), Ok(Value::DType(DType::Float16)));
    assert_eq!(int("conv.out(M, 3, 1, 0, 1)"), 4);
}

#[test]
fn evaluation_ends() {
    let nested = "sum(sum(sum(len(repeat(1, 1000)) for a in repeat(1, 9999)) for b in repeat(1, 9999)) for c in long)";
    assert!(error(nested).contains("too many steps"));
    let _ = folded(nested);
    let mut deep = parse("M");
    for _ in 0..1_000 {
        deep = Expr::new(ExprKind::Unary(crate::expr::UnaryOp::Neg, Box::new(deep)), TextRange::default());
    }
    assert_eq!(evaluate(&deep, &world()).map_err(|e| e.reason), Err(EvalFailure::Poisoned));
    assert_eq!(free_names(&deep), []);
    let _ = fold(&deep, &world());
}

#[test]
fn tuples_do_not_grow_without_bound() {
    assert!(value("((((1,),),),)").is_ok());
    assert!(error("(((((1,),),),),)").contains("nests more than 4 levels"));
    assert_eq!(folded("len((((((1,),),),),))"), "len((((((1,),),),),))");
}

#[test]
fn shapes_are_evaluated() {
    let axes = |text: &str| match parsed_shape(text).kind {
        ShapeKind::Axes(axes) => evaluate_axes(&axes, &world()).map_err(|error| error.reason),
        other => panic!("{other:?}"),
    };
    assert_eq!(axes("[]"), Ok(vec![]));
    assert_eq!(axes("[M, *S, M - 7]"), Ok(vec![6, 2, 3, 4, -1]));
    assert_eq!(axes("[*reduced(S, 1, True, 'full')]"), Ok(vec![2, 1, 4]));
    assert_eq!(axes("[S]"), Err(EvalFailure::Domain("`(2, 3, 4)` is no integer".into())));
    assert_eq!(axes("[*M]"), Err(EvalFailure::Domain("`6` is no sequence".into())));
    assert_eq!(axes("[*(1, 'a')]"), Err(EvalFailure::Domain("item 1 is `'a'`, and no integer".into())));
    assert_eq!(axes("[M, N]"), Err(EvalFailure::Undetermined("N".into())));
}

#[test]
fn known_names_are_replaced() {
    for (text, expected) in [
        ("M + N", "6 + N"),
        ("M + 1 + N", "7 + N"),
        ("N + M * 2", "N + 12"),
        ("(M, N)", "(6, N)"),
        ("S", "(2, 3, 4)"),
        ("len(long) + N", "100 + N"),
        ("long", "long"),
        ("long[2:4]", "(1, 1)"),
        ("T", "float16"),
        ("promote_int_to_float(T)", "float16"),
        ("coalesce_dtype(absent, U)", "coalesce_dtype(None, U)"),
        ("absent.value", "absent.value"),
        ("window.value + N", "9 + N"),
        ("layout", "layout"),
        ("layout.max_m * N", "16 * N"),
        ("moe.capacity(layout, N, 2)", "moe.capacity(layout, N, 2)"),
        ("moe.capacity(layout, 3, 2)", "32"),
        ("other.kind == 'contiguous'", "True"),
        ("other.alignment", "other.alignment"),
        ("device == 'cuda'", "False"),
        ("-(M)", "-6"),
        ("-N", "-N"),
        ("M // 0 + N", "6 // 0 + N"),
        ("M % zero", "6 % 0"),
        ("bytes(bias) + M", "bytes(bias) + 6"),
        ("bytes(scale)", "bytes(scale)"),
        ("S[N]", "(2, 3, 4)[N]"),
        ("S[1:][0]", "3"),
    ] {
        assert_eq!(folded(text), expected, "{text}");
    }
}

#[test]
fn decided_operands_are_dropped() {
    for (text, expected) in [
        ("flag and x", "x"),
        ("x and flag", "x"),
        ("x and not flag", "False"),
        ("x or flag", "True"),
        ("not flag or x", "x"),
        ("x or not flag or y", "x or y"),
        ("present(bias) and present(q)", "present(q)"),
        ("not present(scale)", "True"),
        ("not x", "not x"),
        ("flag and not flag", "False"),
        ("a if flag else b", "a"),
        ("a if not flag else M", "6"),
        ("a if x else M", "a if x else 6"),
        ("a if x and flag else b", "a if x else b"),
        ("M if present(scale) else N", "N"),
        ("1 < M < x", "6 < x"),
        ("x < M < 7", "x < 6"),
        ("x < 7 < M", "False"),
        ("x < 1 < 2 < y", "x < 1 < 2 < y"),
        ("1 < 2 < 3", "True"),
        ("x in (1, M)", "x in (1, 6)"),
        ("M not in (1, 6)", "False"),
        ("N + 1 if 3 in S else 0", "N + 1"),
    ] {
        assert_eq!(folded(text), expected, "{text}");
    }
}

#[test]
fn comprehensions_are_folded() {
    for (text, expected) in [
        ("sum(n * M for n in S)", "54"),
        ("sum(n * N for n in S)", "sum(n * N for n in (2, 3, 4))"),
        ("sum(n * M for n in X)", "sum(n * 6 for n in X)"),
        ("sum(M for M in X)", "sum(M for M in X)"),
        ("all(flag and n > N for n in X)", "all(n > N for n in X)"),
        ("sum(N for n in ())", "0"),
        ("max(X, default=M)", "max(X, default=6)"),
        ("sum(sum(a * b for b in S) for a in X)", "sum(sum(a * b for b in (2, 3, 4)) for a in X)"),
    ] {
        assert_eq!(folded(text), expected, "{text}");
    }
}

#[test]
fn calls_of_generators_and_predicates_are_folded() {
    let call = |text: &str| match parse(text).kind {
        ExprKind::Call(call) => {
            let range = TextRange::default();
            Expr::new(ExprKind::Call(fold_call(&call, &world())), range).to_string()
        }
        other => panic!("{other:?}"),
    };
    assert_eq!(call("prefix_sum(S)"), "prefix_sum((2, 3, 4))");
    assert_eq!(call("topk_ids(M, N, ceil_div(M, 4))"), "topk_ids(6, N, 2)");
    assert_eq!(call("in_range(0, M + 1)"), "in_range(0, 7)");
    // `scale` is a tensor here, and stays one.
    assert_eq!(call("exclusive_prefix_of(scale)"), "exclusive_prefix_of(scale)");
    assert_eq!(call("indices_within(bias)"), "indices_within(bias)");
}

#[test]
fn shapes_are_folded() {
    let shape = |text: &str| fold_shape(&parsed_shape(text), &world()).to_string();
    assert_eq!(shape("[M + 1, *S, *X, N]"), "[7, *(2, 3, 4), *X, N]");
    assert_eq!(shape("Mat[flag and x, M, K]"), "Mat[x, 6, K]");
}

/// What stands beside a truth value, or chooses between the two, is a condition itself.
#[test]
fn a_condition_says_its_own_truth() {
    assert_eq!(folded("(N == 1) == present(bias)"), "N == 1");
    assert_eq!(folded("present(scale) == (N in S)"), "N not in (2, 3, 4)");
    assert_eq!(folded("(N == 1) != True"), "N != 1");
    assert_eq!(folded("False if N == 1 else True"), "N != 1");
    assert_eq!(folded("flag if N == 1 else not flag"), "N == 1");
    // A name may stand for a value that is no Boolean.
    assert_eq!(folded("N == True"), "N == True");
    assert_eq!(folded("1 if N == 1 else 0"), "1 if N == 1 else 0");
}

#[test]
fn folding_keeps_places() {
    let folded = fold(&parse("N + (M + 1)"), &world());
    let ExprKind::Binary(_, left, right) = folded.kind else { panic!("no sum") };
    assert_eq!((u32::from(left.range.start()), u32::from(left.range.end())), (0, 1));
    assert_eq!((u32::from(right.range.start()), u32::from(right.range.end())), (5, 10));
}

#[test]
fn names_that_are_read() {
    let names = |text: &str| free_names(&parse(text)).iter().map(|n| n.to_string()).collect::<Vec<_>>().join(" ");
    assert_eq!(names("M + N * M"), "M N");
    assert_eq!(names("present(bias) and layout.kind == 'masked' and v.value > 0"), "bias layout v");
    assert_eq!(names("sum(n * M for n in S) + n"), "S M n");
    assert_eq!(names("max(X, default=K)"), "X K");
    assert_eq!(names("conv.out(L, 3, 1, 0, 1) + bytes(x)"), "L x");
}
