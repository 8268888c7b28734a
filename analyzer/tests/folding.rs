//! Folding then evaluating is evaluating; folding again changes nothing.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod random;

use std::collections::BTreeMap;
use std::sync::Arc;

use random::{Names, Source, parse};
use tileops_analyzer::eval::{Environment, evaluate, fold, free_names, literal};
use tileops_analyzer::expr::Expr;
use tileops_analyzer::lang::builtins::{Random, Seed};
use tileops_analyzer::lang::{AdtValue, DType, Value};

#[derive(Debug, Default, Clone)]
struct World {
    values: BTreeMap<&'static str, Value>,
    present: BTreeMap<&'static str, bool>,
    kind: Option<Value>,
}

impl Environment for World {
    fn value(&self, name: &str) -> Option<Value> {
        self.values.get(name).cloned()
    }

    fn present(&self, name: &str) -> Option<bool> {
        self.present.get(name).copied()
    }

    fn field(&self, name: &str, field: &str) -> Option<Value> {
        if (name, field) == ("layout", "kind") { self.kind.clone() } else { None }
    }
}

fn layout(random: &mut Random) -> Value {
    let string = |text: &str| Value::Str(text.into());
    let (constructor, fields) = match random.below(2) {
        0 => ("masked", vec![("max_m".into(), Value::Int(5))]),
        _ => (
            "contiguous",
            vec![
                ("packing".into(), string("tight")),
                ("metadata_kind".into(), string("per_row")),
                ("alignment".into(), Value::Int(1)),
            ],
        ),
    };
    Value::Adt(Arc::new(AdtValue { adt: "MGroupedLayout".into(), constructor: constructor.into(), fields }))
}

/// A world in which everything is determined, and a part of it.
fn worlds(seed: u64) -> (World, World) {
    let mut random = Random::new(Seed(seed));
    let mut whole = World::default();
    for name in ["a", "b", "c"] {
        let value = random.below(9) as i128 - 3;
        whole.values.insert(name, Value::Int(value));
    }
    for name in ["p", "q"] {
        let value = random.below(2) == 0;
        whole.values.insert(name, Value::Bool(value));
    }
    // Long ones are not written out.
    for name in ["s", "t"] {
        let length = if random.below(4) == 0 { 70 } else { random.below(4) };
        let items: Vec<i128> = (0..length).map(|_| random.below(6) as i128).collect();
        whole.values.insert(name, Value::ints(items));
    }
    for name in ["m", "r"] {
        let present = random.below(2) == 0;
        whole.present.insert(name, present);
        whole.values.insert(name, if present { Value::Int(4) } else { Value::None });
    }
    let dtype = if random.below(2) == 0 { DType::Float16 } else { DType::Int32 };
    whole.values.insert("T", Value::DType(dtype));
    whole.values.insert("e", Value::Str(if random.below(2) == 0 { "tight" } else { "aligned" }.into()));
    let layout = layout(&mut random);
    if let Value::Adt(value) = &layout {
        whole.kind = Some(Value::Str(value.constructor.clone()));
    }
    whole.values.insert("layout", layout);
    let mut part = whole.clone();
    part.values.retain(|_, _| random.below(2) == 0);
    part.present.retain(|_, _| random.below(2) == 0);
    if random.below(2) == 0 {
        part.kind = None;
    }
    (whole, part)
}

fn check(expr: &Expr, whole: &World, part: &World) -> bool {
    let folded = fold(expr, part);
    assert_eq!(fold(&folded, part), folded, "folding again changes {expr}, which is {folded}, in {part:?}");
    assert_eq!(parse(&folded.to_string()).to_string(), folded.to_string(), "{expr} folds to what does not read back");
    for name in free_names(&folded) {
        let known = DType::from_name(&name).is_some() || free_names(expr).contains(&name);
        assert!(known, "{expr} folds to {folded}, which reads {name}");
    }
    match evaluate(expr, whole) {
        Ok(value) => {
            assert_eq!(
                evaluate(&folded, whole),
                Ok(value.clone()),
                "{expr} folds to {folded} in {part:?} of {whole:?}"
            );
            let all = fold(expr, whole);
            assert_eq!(evaluate(&all, whole), Ok(value.clone()), "{expr} folds to {all} in {whole:?}");
            if let Some(literal) = literal(&value, expr.range) {
                assert_eq!(all.to_string(), literal.to_string(), "{expr} in {whole:?}");
            }
            true
        }
        Err(_) => {
            // No promise of a value, but none of a panic either.
            let _ = evaluate(&folded, whole);
            let _ = fold(expr, whole);
            false
        }
    }
}

#[test]
fn folding_then_evaluating_is_evaluating() {
    let mut with_value = 0;
    let count = 8_000;
    for seed in 0..count {
        let mut source = Source::new(seed, Names::Some);
        let text = source.any(2 + (seed % 4) as u32);
        let (whole, part) = worlds(seed ^ 0x5eed);
        with_value += u32::from(check(&parse(&text), &whole, &part));
    }
    assert!(with_value > count as u32 / 2, "only {with_value} of {count} expressions have a value");
}
