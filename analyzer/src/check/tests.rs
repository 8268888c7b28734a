//! The judgments over points, on entries as they are written.

use std::sync::Arc;

use proptest::prelude::*;

use super::{Checked, Observed, Point, Scope, check_signature, execute};
use crate::defect::Findings;
use crate::eval::Environment;
use crate::lang::{AdtTable, AdtValue, DType, Value};
use crate::model::{Entry, read_entry};
use crate::syntax::parse_entry;

/// What `check_signature` alone finds in `signature` (its YAML, indented by four), with the entry and the result.
pub(crate) fn check(signature: &str) -> (Findings, Entry, Checked) {
    let text = format!(
        "DemoFwdOp:\n  family: demo\n  status: spec-only\n  signature:\n{signature}\n  workloads:\n  - {{label: a}}\n  roofline: {{func: \"tileops.perf.formulas.demo\"}}\n"
    );
    check_entry(&text)
}

pub(crate) fn check_entry(text: &str) -> (Findings, Entry, Checked) {
    let tree = parse_entry(text);
    let mut before = Findings::default();
    let entry = read_entry(&tree, &mut before);
    let adts = AdtTable::new(vec![Arc::new(layout())], true);
    let scope = Scope::of(&entry, &adts, &mut before);
    let mut findings = Findings::default();
    let checked = check_signature(&entry, &scope, &adts, &mut findings);
    findings.normalize();
    (findings, entry, checked)
}

/// An ADT with a finite field.
fn layout() -> crate::lang::Adt {
    use crate::lang::{Adt, Constructor, Field, Kind};
    let field = |name: &str, kind| Field { name: name.into(), kind };
    let modes = Kind::Enum([Arc::from("rows"), Arc::from("sums")].into());
    let constructor = |name: &str, fields| Constructor { name: name.into(), python: None, fields, invariant: None };
    Adt {
        name: "Layout".into(),
        constructors: vec![
            constructor("packed", vec![field("mode", modes), field("step", Kind::Dim)]),
            constructor("padded", vec![field("most", Kind::Dim)]),
        ],
    }
}

/// The codes and messages of what `check_signature` finds in `signature`.
fn messages(signature: &str) -> Vec<String> {
    check(signature).0.defects.iter().map(|d| format!("{}: {}", d.code.name, d.message)).collect()
}

fn names(names: &[Arc<str>]) -> Vec<&str> {
    names.iter().map(|name| &**name).collect()
}

fn param(name: &str, value: Value) -> (Arc<str>, Value) {
    (name.into(), value)
}

const FLAGGED: &str = r#"
    forall: {M: Dim, N: Dim, lens: "Seq[Int]"}
    params:
      wide: {type: bool, default: false}
      scale: {type: "float | None", default: null}
      mode: {type: "'a' | 'b'", default: a}
      layout: {type: Layout}
    inputs:
      x: {dtype: float32, shape: "[M, 2 * N if wide else N]"}
      cu: {dtype: int32, shape: "[B + 1]", optional: true, values: "prefix_sum(lens)"}
    outputs:
      y: {dtype: float32, shape: "[M]", buffer: out}
      z: {dtype: float32, shape: "[P]", nullable: "present(cu)"}
    let:
      P: "layout.most if layout.kind == 'padded' else M"
    shape_rules:
    - "mode == 'a' or not wide"
"#;

fn with_batch(signature: &str) -> String {
    signature.replace("{M: Dim, N: Dim", "{M: Dim, N: Dim, B: Dim")
}

#[test]
fn discriminants_are_parameters_then_tensors_then_out() {
    let (findings, _, checked) = check(&with_batch(FLAGGED));
    assert_eq!(findings.defects, []);
    let found: Vec<&str> = checked.discriminants().iter().map(|d| &*d.name).collect();
    assert_eq!(found, ["wide", "scale", "mode", "layout", "cu", "out"]);
    let all: Vec<Arc<str>> = checked.discriminants().iter().map(|d| d.name.clone()).collect();
    // 2 * 2 * 2 * 3 * 2 * 2 combinations, less those with `mode` b and `wide`.
    assert_eq!(checked.points_over(&all, usize::MAX).len(), 72);
    assert_eq!(checked.points_over(&all[4..5], 10).len(), 2);
    assert_eq!(checked.points_over(&[], 10), [Point::default()]);
}

#[test]
fn a_branch_decides_what_its_point_fixes() {
    let (_, _, checked) = check(&with_batch(FLAGGED));
    let padded =
        AdtValue { adt: "Layout".into(), constructor: "padded".into(), fields: vec![("most".into(), Value::Int(3))] };
    let params = [
        param("wide", Value::Bool(true)),
        param("scale", Value::None),
        param("mode", Value::Str("a".into())),
        param("layout", Value::Adt(Arc::new(padded))),
    ];
    let point = checked.point_of(&params, &["cu".into()]);
    let branch = checked.branch(&point);
    assert!(branch.accepted && !branch.poisoned);
    assert_eq!(
        checked.describe(&point),
        "`wide` is true, `scale` is not passed, `mode` is `a`, `layout` is `padded`, `cu` is passed and `out` is not passed"
    );
    assert_eq!(names(&branch.relevant), ["M", "N", "B", "lens"]);
    assert_eq!(branch.folded_let("P").map(|p| p.to_string()).as_deref(), Some("layout.most"));
    let x = branch.tensor("x").and_then(|x| x.axes.clone()).expect("axes");
    assert_eq!(x.iter().map(|a| a.to_string()).collect::<Vec<_>>(), ["M", "2 * N"]);
    assert_eq!(branch.tensor("z").and_then(|z| z.present), Some(true));
    assert_eq!(branch.point.present("x"), Some(true));
    assert!(branch.plan.unsolved.is_empty());

    let point = checked.point_of(&params, &[]);
    let branch = checked.branch(&point);
    assert_eq!(names(&branch.relevant), ["M", "N"]);
    assert_eq!(branch.tensor("z").and_then(|z| z.present), Some(false));
    assert!(branch.tensor("cu").is_some_and(|cu| cu.axes.is_none() && cu.values.is_none()));

    let mut refused = params.clone();
    refused[2].1 = Value::Str("b".into());
    assert!(!checked.accepts(&checked.point_of(&refused, &[])));
}

#[test]
fn what_a_generator_determines_is_not_given_by_a_row() {
    let (_, _, checked) = check(&with_batch(FLAGGED));
    let branch = checked.branch(&checked.point_of(&[param("wide", Value::Bool(false))], &["cu".into()]));
    assert_eq!(names(&branch.solved_by_generator), ["B"]);
}

#[test]
fn a_generator_of_unknown_arguments_determines_nothing() {
    // `T` stands in the generator's own shape, so it is not known before.
    let (findings, _, checked) = check(
        r#"
    forall: {T: Dim, K: Dim}
    inputs:
      x: {dtype: int32, shape: "[T, K]", values: "topk_ids(T, K, E)"}
    params: {E: {type: int}}
    outputs:
      y: {dtype: int32, shape: "[T]"}"#,
    );
    assert_eq!(findings.defects, []);
    let branch = checked.branch(&checked.point_of(&[], &[]));
    assert_eq!(names(&branch.relevant), ["T", "K"]);
    assert_eq!(names(&branch.solved_by_generator), [""; 0]);
}

#[test]
fn a_poisoned_input_makes_inference_unreached_and_nothing_else() {
    let (findings, ..) = check(
        r#"
    forall: {M: Dim, K: Dim}
    inputs:
      x: {dtype: float32, shape: "[M, Q]"}
      w: {dtype: float32, shape: "[M"}
    outputs:
      y: {dtype: float32, shape: "[K]"}"#,
    );
    assert_eq!(findings.defects, []);
    assert!(findings.unreached.iter().any(|u| u.judgment == "what solves `K`"), "{:?}", findings.unreached);
}

#[test]
fn groups_of_many_combinations_are_checked_in_bounded_time() {
    let flags: String = (0..40).map(|i| format!("      p{i}: {{type: bool, default: false}}\n")).collect();
    let all: Vec<String> = (0..40).map(|i| format!("p{i}")).collect();
    let signature = format!(
        "    forall: {{M: Dim}}\n    params:\n{flags}    inputs:\n      x: {{dtype: float32, shape: \"[M if {} else M]\"}}\n    outputs:\n      y: {{dtype: float32, shape: \"[M]\"}}\n",
        all.join(" or ")
    );
    let found = messages(&signature);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].contains("1099511627776 combinations, of which 1024 are checked"), "{found:?}");
}

#[test]
fn a_long_chain_of_lets_is_no_recursion() {
    let lets: String = (0..3000).map(|i| format!("      l{}: \"l{i} + 1\"\n", i + 1)).collect();
    let signature = format!(
        "    forall: {{M: Dim}}\n    inputs:\n      x: {{dtype: float32, shape: \"[M]\"}}\n    outputs:\n      y: {{dtype: float32, shape: \"[l3000]\"}}\n    let:\n      l0: \"M\"\n{lets}"
    );
    assert_eq!(messages(&signature), [""; 0]);
}

/// `m * M + n * N + c`.
#[derive(Debug, Clone, Copy)]
struct Linear {
    m: i128,
    n: i128,
    c: i128,
}

#[derive(Debug, Clone, Copy)]
enum Piece {
    One(Linear),
    S,
    R,
}

impl Piece {
    fn text(self) -> String {
        let Piece::One(Linear { m, n, c }) = self else {
            return if matches!(self, Piece::S) { "*S".into() } else { "*R".into() };
        };
        let mut terms = Vec::new();
        for (factor, name) in [(m, "M"), (n, "N")] {
            match factor {
                0 => {}
                1 => terms.push(name.to_owned()),
                _ => terms.push(format!("{factor} * {name}")),
            }
        }
        let sum = terms.join(" + ");
        match (sum.as_str(), c) {
            ("", _) => c.to_string(),
            (_, 0) => sum,
            (_, 1..) => format!("{sum} + {c}"),
            _ => format!("{sum} - {}", -c),
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
struct Solution {
    m: i128,
    n: i128,
    s: Vec<i128>,
    r: Vec<i128>,
}

/// The shape at a solution; nothing where an extent would be negative.
fn shape_at(pieces: &[Piece], at: &Solution) -> Option<Vec<i128>> {
    let mut shape = Vec::new();
    for piece in pieces {
        match piece {
            Piece::One(Linear { m, n, c }) => shape.push(m * at.m + n * at.n + c),
            Piece::S => shape.extend(&at.s),
            Piece::R => shape.extend(&at.r),
        }
    }
    shape.iter().all(|&extent| extent >= 0).then_some(shape)
}

fn small_tuples() -> Vec<Vec<i128>> {
    let mut tuples = vec![vec![]];
    for a in 0..3 {
        tuples.push(vec![a]);
        tuples.extend((0..3).map(|b| vec![a, b]));
    }
    tuples
}

fn piece() -> impl Strategy<Value = Piece> {
    prop_oneof![
        5 => (0..3_i128, 0..2_i128, -1..3_i128)
            .prop_map(|(m, n, c)| Piece::One(Linear { m, n, c: if m == 0 && n == 0 { c.abs() } else { c } })),
        1 => Just(Piece::S),
        1 => Just(Piece::R),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    /// Where a plan solves every index, it finds the solution that a search over small dimensions finds, and refuses the
    /// shapes for which there is none.
    #[test]
    fn unification_finds_what_a_search_finds(
        tensors in proptest::collection::vec(proptest::collection::vec(piece(), 0..4), 1..4),
        (m, n) in (0..4_i128, 0..4_i128),
        (s, r) in (0..13_usize, 0..13_usize),
        // Which extent of which tensor is changed, and to what.
        change in proptest::option::of((0..3_usize, 0..4_usize, 0..7_i128)),
    ) {
        let inputs: String = tensors
            .iter()
            .enumerate()
            .map(|(t, pieces)| {
                let axes: Vec<String> = pieces.iter().map(|piece| piece.text()).collect();
                format!("      t{t}: {{dtype: float32, shape: \"[{}]\"}}\n", axes.join(", "))
            })
            .collect();
        let text = format!("    forall: {{M: Dim, N: Dim, S: Shape, R: Shape}}\n    inputs:\n{inputs}    outputs:\n      y: {{dtype: float32, shape: \"[M, N, *S, *R]\"}}");
        let (_, _, checked) = check(&text);
        let branch = checked.branch(&Point::default());
        prop_assert!(!branch.poisoned);

        let tuples = small_tuples();
        let truth = Solution { m, n, s: tuples[s].clone(), r: tuples[r].clone() };
        let shapes: Option<Vec<Vec<i128>>> = tensors.iter().map(|pieces| shape_at(pieces, &truth)).collect();
        let Some(mut shapes) = shapes else { return Ok(()) };
        if let Some((t, axis, extent)) = change
            && let Some(slot) = shapes.get_mut(t).and_then(|shape| shape.get_mut(axis)) {
                *slot = extent;
            }
        let labels: Vec<String> = (0..shapes.len()).map(|t| format!("t{t}")).collect();
        let observed: Vec<Observed<'_>> = shapes
            .iter()
            .zip(&labels)
            .map(|(shape, name)| Observed { name, shape, dtype: DType::Float32 })
            .collect();
        let result = execute(&branch.plan, &branch.point, &observed, &[]);
        if !branch.plan.unsolved.is_empty() {
            // A part is solved: at an unchanged call that part is right.
            if change.is_none() {
                let solved = result.expect("the call is one that the signature describes");
                for (name, value) in solved {
                    let expected = match &*name {
                        "M" => Value::Int(truth.m),
                        "N" => Value::Int(truth.n),
                        "S" => Value::ints(truth.s.iter().copied()),
                        _ => Value::ints(truth.r.iter().copied()),
                    };
                    prop_assert_eq!(value, expected);
                }
            }
            return Ok(());
        }
        let consistent = |at: &Solution| {
            tensors.iter().zip(&shapes).all(|(pieces, shape)| shape_at(pieces, at).as_ref() == Some(shape))
        };
        let found = result.map(|solved| {
            let int = |name: &str| match solved.iter().find(|(n, _)| &**n == name) {
                Some((_, Value::Int(value))) => *value,
                _ => -1,
            };
            let seq = |name: &str| match solved.iter().find(|(n, _)| &**n == name) {
                Some((_, Value::Seq(items))) => {
                    items.iter().map(|item| if let Value::Int(n) = item { *n } else { -1 }).collect()
                }
                _ => vec![-1],
            };
            Solution { m: int("M"), n: int("N"), s: seq("S"), r: seq("R") }
        });
        let mut searched = Vec::new();
        for m in 0..8 {
            for n in 0..8 {
                for s in &tuples {
                    for r in &tuples {
                        let at = Solution { m, n, s: s.clone(), r: r.clone() };
                        if consistent(&at) {
                            searched.push(at);
                        }
                    }
                }
            }
        }
        match found {
            Ok(at) => {
                prop_assert!(consistent(&at), "{at:?} is no solution");
                prop_assert!(searched.iter().all(|other| *other == at), "{at:?} is not the only solution: {searched:?}");
            }
            Err(mismatch) => prop_assert!(searched.is_empty(), "{mismatch:?} although {searched:?}"),
        }
    }
}
