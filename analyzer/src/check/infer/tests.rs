//! Unit tests of inference on single expressions.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::{Inference, Position};
use crate::check::{Scope, Symbol, SymbolRole};
use crate::defect::Findings;
use crate::expr::{Expr, parse_expression};
use crate::lang::{Adt, Constructor, DType, DTypeSet, Field, Kind};
use crate::model::TensorRole;
use crate::syntax::Scalar;
use crate::text::{TextLen, TextRange};

fn parse(text: &str) -> Expr {
    let len = text.text_len();
    let mut findings = Findings::default();
    let expr = parse_expression(&Scalar::plain(text), TextRange::up_to(len), "test", &mut findings);
    assert!(findings.defects.is_empty(), "{text}: {:?}", findings.defects);
    expr
}

fn layout() -> Kind {
    let field = |name: &str, kind| Field { name: name.into(), kind };
    let constructor = |name: &str, fields| Constructor { name: name.into(), python: None, fields, invariant: None };
    let order = Kind::Enum(["row", "column"].into_iter().map(Arc::from).collect());
    let adt = Adt {
        name: "Layout".into(),
        constructors: vec![
            constructor("dense", vec![field("order", order)]),
            constructor("blocked", vec![field("block", Kind::Dim)]),
            constructor("tiled", vec![field("block", Kind::Int), field("swizzle", Kind::Bool)]),
        ],
    };
    let names: BTreeSet<Arc<str>> = adt.constructors.iter().map(|c| c.name.clone()).collect();
    Kind::Adt(Arc::new(adt), names)
}

fn scope() -> Scope {
    let half: DTypeSet = [DType::Float16, DType::BFloat16].into_iter().collect();
    let maybe = |kind| Kind::Maybe(Box::new(kind));
    let mode = Kind::Enum(["a", "b", "c"].into_iter().map(Arc::from).collect());
    let symbols = [
        ("M", SymbolRole::Index, Kind::Dim),
        ("N", SymbolRole::Index, Kind::Dim),
        ("S", SymbolRole::Index, Kind::Shape),
        ("T", SymbolRole::Index, Kind::DType(half)),
        ("i", SymbolRole::Param, Kind::Int),
        ("b", SymbolRole::Param, Kind::Bool),
        ("f", SymbolRole::Param, Kind::Float),
        ("v", SymbolRole::Param, maybe(Kind::Int)),
        ("w", SymbolRole::Param, maybe(mode.clone())),
        ("mode", SymbolRole::Param, mode),
        ("layout", SymbolRole::Param, layout()),
        ("pair", SymbolRole::Param, Kind::Seq(Box::new(Kind::Int), Some(2))),
        ("broken", SymbolRole::Param, Kind::Error),
        ("x", SymbolRole::Tensor(TensorRole::Input), Kind::Tensor),
    ];
    let symbol = |(name, role, kind): (&str, SymbolRole, Kind)| Symbol {
        name: name.into(),
        role,
        kind,
        range: TextRange::default(),
    };
    Scope::new(symbols.into_iter().map(symbol).collect(), true)
}

fn infer(text: &str) -> (Kind, Vec<&'static str>) {
    let scope = scope();
    let mut findings = Findings::default();
    let kind = Inference::new(&scope, Position::Refinement, "test", &mut findings).value(&parse(text));
    (kind, findings.defects.iter().map(|defect| defect.code.name).collect())
}

#[track_caller]
fn is(text: &str, kind: &str) {
    let (found, codes) = infer(text);
    assert!(codes.is_empty(), "{text}: {codes:?}");
    assert_eq!(found.to_string(), kind, "{text}");
}

#[track_caller]
fn refuses(text: &str, codes: &[&str]) {
    assert_eq!(infer(text).1, codes, "{text}");
}

#[test]
fn arithmetic_keeps_dimensions_where_the_reference_says() {
    for text in ["M + N", "M * N", "M // 4", "M % 4", "M + 1", "7", "2 * M + 1"] {
        is(text, "Dim");
    }
    for text in ["M - N", "-M", "M // N", "M % N", "M + i", "i * 2", "-1", "M // -2", "M // 0"] {
        is(text, "Int");
    }
    for text in ["f * 2", "M + 0.5", "-f", "f // 2"] {
        is(text, "Float");
    }
}

#[test]
fn results_have_the_kinds_of_the_reference() {
    is("M == 4", "Bool");
    is("1 < M <= N", "Bool");
    is("not b", "Bool");
    is("M if b else N", "Dim");
    is("M if b else i", "Int");
    is("1 if b else 0.5", "Float");
    is("M if b else None", "Maybe[Dim]");
    is("'a' if b else 'd'", "'a' | 'd'");
    is("(M, 2)", "Seq[Dim; 2]");
    is("(M, -1)", "Seq[Int; 2]");
    is("S[0]", "Dim");
    is("S[1:]", "Shape");
    is("pair[1]", "Int");
    is("pair[:1]", "Seq[Int]");
    is("layout.kind", "'blocked' | 'dense' | 'tiled'");
    is("T", "DType[float16 | bfloat16]");
}

#[test]
fn an_error_fits_everywhere_and_gives_nothing() {
    for text in ["broken + 1", "not broken", "broken[0]", "broken.value", "broken == 'x'", "broken.kind", "-broken < 3"]
    {
        refuses(text, &[]);
    }
    refuses("(nothing + 1) * 2 > 3 and not (nothing == 'x')", &["unknown-name"]);
}

#[test]
fn guards_narrow_presence() {
    refuses("v.value > 0", &["unguarded-value"]);
    refuses("present(v) and v.value > 0", &[]);
    refuses("not present(v) or v.value > 0", &[]);
    refuses("present(v) or v.value > 0", &["unguarded-value"]);
    refuses("not (not present(v)) and v.value > 0", &[]);
    refuses("not (present(v) and b) or v.value > 0", &[]);
    refuses("(b and present(v) or present(v) and not b) and v.value > 0", &[]);
    refuses("(b or present(v)) and v.value > 0", &["unguarded-value"]);
    refuses("(v.value if present(v) else 1) > 0", &[]);
    refuses("(1 if present(v) else v.value) > 0", &["unguarded-value"]);
    refuses("v.value + v.value > 0", &["unguarded-value", "unguarded-value"]);
    is("v.value if present(v) else M", "Int");
}

#[test]
fn guards_narrow_literals_and_constructors() {
    is("mode if mode != 'a' else 'b'", "'b' | 'c'");
    is("mode if mode in ('a', 'b') else 'a'", "'a' | 'b'");
    is("'z' if mode not in ('a', 'b') else mode", "'a' | 'b' | 'z'");
    is("w.value if present(w) and w.value != 'a' else 'b'", "'b' | 'c'");
    is("w if w == 'a' else 'b'", "'a' | 'b'");
    is("T if T == 'float16' else 'float16'", "DType[float16] | 'float16'");
    refuses("layout.block > 0", &["unguarded-field"]);
    refuses("layout.kind == 'dense' or layout.block > 0", &[]);
    refuses("layout.kind != 'dense' and layout.block > 0", &[]);
    refuses("layout.kind in ('blocked', 'tiled') and layout.block > 0", &[]);
    refuses("layout.kind not in ('dense',) and layout.block > 0", &[]);
    refuses("layout.kind == 'blocked' and layout.swizzle", &["unguarded-field"]);
    refuses("layout.kind == 'dense' or layout.kind == 'blocked' or layout.swizzle", &[]);
    refuses("(layout.block if layout.kind == 'tiled' else layout.block if layout.kind == 'blocked' else 1) > 0", &[]);
    is("layout.kind if layout.kind != 'dense' else 'tiled'", "'blocked' | 'tiled'");
}

#[test]
fn deep_and_wide_conditions_are_judged_in_linear_time() {
    let mut deep = "present(v)".to_owned();
    for _ in 0..80 {
        deep = format!("(({deep}) if b else not (not ({deep_part})))", deep_part = "present(v) and b");
    }
    let _ = infer(&deep);
    let nested = (0..60).fold("b".to_owned(), |inner, _| format!("(not ({inner}) and (mode == 'a' or b))"));
    refuses(&nested, &[]);
    let wide = vec!["mode == 'a' and v == 1"; 2000].join(" or ");
    refuses(&wide, &[]);
}
