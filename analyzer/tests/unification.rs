//! What the inference plan finds is what a search over every small assignment finds.

#![allow(clippy::disallowed_methods, clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::fmt::Write as _;

use proptest::prelude::*;
use tileops_analyzer::check::{Observed, Point, execute};
use tileops_analyzer::lang::{DType, Value};
use tileops_analyzer::workspace::{SourceFile, Workspace};

/// One item of a declared shape over the dimensions `d0`, `d1`, `d2` and the splices `S0`, `S1`.
#[derive(Debug, Clone)]
enum Item {
    Dim(usize),
    Scaled(usize, i128, i128),
    Sum(usize, usize),
    Product(usize, usize),
    Literal(i128),
    Splice(usize),
}

/// What each index is.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct World {
    dims: [i128; 3],
    splices: [Vec<i128>; 2],
}

impl Item {
    fn text(&self) -> String {
        match self {
            Item::Dim(i) => format!("d{i}"),
            Item::Scaled(i, a, b) if *b < 0 => format!("{a} * d{i} - {}", -b),
            Item::Scaled(i, a, b) => format!("{a} * d{i} + {b}"),
            Item::Sum(i, j) => format!("d{i} + d{j}"),
            Item::Product(i, j) => format!("d{i} * d{j}"),
            Item::Literal(n) => n.to_string(),
            Item::Splice(i) => format!("*S{i}"),
        }
    }

    fn extents(&self, world: &World) -> Vec<i128> {
        let dim = |i: &usize| world.dims[*i];
        match self {
            Item::Dim(i) => vec![dim(i)],
            Item::Scaled(i, a, b) => vec![a * dim(i) + b],
            Item::Sum(i, j) => vec![dim(i) + dim(j)],
            Item::Product(i, j) => vec![dim(i) * dim(j)],
            Item::Literal(n) => vec![*n],
            Item::Splice(i) => world.splices[*i].clone(),
        }
    }

    fn reads(&self) -> Vec<String> {
        match self {
            Item::Dim(i) | Item::Scaled(i, ..) => vec![format!("d{i}")],
            Item::Sum(i, j) | Item::Product(i, j) => vec![format!("d{i}"), format!("d{j}")],
            Item::Literal(_) => Vec::new(),
            Item::Splice(i) => vec![format!("S{i}")],
        }
    }
}

fn item() -> impl Strategy<Value = Item> {
    prop_oneof![
        6 => (0..3usize).prop_map(Item::Dim),
        2 => (0..3usize, 1..4i128, -2..3i128).prop_map(|(i, a, b)| Item::Scaled(i, a, b)),
        1 => (0..3usize, 0..3usize).prop_map(|(i, j)| Item::Sum(i, j)),
        1 => (0..3usize, 0..3usize).prop_map(|(i, j)| Item::Product(i, j)),
        1 => (0..4i128).prop_map(Item::Literal),
        3 => (0..2usize).prop_map(Item::Splice),
    ]
}

fn world() -> impl Strategy<Value = World> {
    let splice = || prop::collection::vec(0..4i128, 0..3);
    (prop::array::uniform3(0..4i128), splice(), splice()).prop_map(|(dims, a, b)| World { dims, splices: [a, b] })
}

fn shapes(tensors: &[Vec<Item>], world: &World) -> Vec<Vec<i128>> {
    tensors.iter().map(|items| items.iter().flat_map(|item| item.extents(world)).collect()).collect()
}

/// Every assignment at which the declared shapes are the observed ones.
fn search(tensors: &[Vec<Item>], observed: &[Vec<i128>], read: &BTreeSet<String>) -> BTreeSet<World> {
    let most = observed.iter().flatten().copied().max().unwrap_or(0) + 2;
    let dims = |i: usize| if read.contains(&format!("d{i}")) { 0..=most } else { 0..=0 };
    // A splice is a part of a shape that was observed.
    let splices = |i: usize| -> BTreeSet<Vec<i128>> {
        let mut parts = BTreeSet::from([Vec::new()]);
        if read.contains(&format!("S{i}")) {
            for shape in observed {
                for from in 0..shape.len() {
                    parts.extend((from..shape.len()).map(|to| shape[from..=to].to_vec()));
                }
            }
        }
        parts
    };
    let (first, second) = (splices(0), splices(1));
    let mut found = BTreeSet::new();
    for d0 in dims(0) {
        for d1 in dims(1) {
            for d2 in dims(2) {
                for a in &first {
                    for b in &second {
                        let world = World { dims: [d0, d1, d2], splices: [a.clone(), b.clone()] };
                        if shapes(tensors, &world) == observed {
                            found.insert(world);
                        }
                    }
                }
            }
        }
    }
    found
}

fn entry(tensors: &[Vec<Item>], read: &BTreeSet<String>) -> String {
    let mut forall: Vec<String> =
        read.iter().map(|name| format!("{name}: {}", if name.starts_with('S') { "Shape" } else { "Dim" })).collect();
    forall.push("T: \"DType[float16]\"".to_owned());
    let mut inputs = String::new();
    for (position, items) in tensors.iter().enumerate() {
        let axes: Vec<String> = items.iter().map(Item::text).collect();
        let _ = writeln!(inputs, "      t{position}: {{dtype: T, shape: \"[{}]\"}}", axes.join(", "));
    }
    format!(
        "DemoFwdOp:\n  family: demo\n  status: spec-only\n  signature:\n    forall: {{{}}}\n    inputs:\n{inputs}    \
         outputs:\n      y: {{dtype: T, shape: \"[]\"}}\n  workloads: [{{label: row}}]\n  roofline: {{flops: \"1\"}}\n",
        forall.join(", ")
    )
}

fn analyze(text: &str) -> tileops_analyzer::analysis::EntryAnalysis {
    let file = SourceFile { path: "demo.yaml".into(), text: text.into(), configured: true, judged: true };
    let workspace = Workspace::new(vec![file]);
    workspace.analyze(&workspace.entries()[0])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn a_plan_finds_what_a_search_finds(
        tensors in prop::collection::vec(prop::collection::vec(item(), 0..4), 1..4),
        world in world(),
        spoil in prop::option::of((0..3usize, 0..4usize, 0..4i128)),
    ) {
        let read: BTreeSet<String> = tensors.iter().flatten().flat_map(Item::reads).collect();
        let mut observed = shapes(&tensors, &world);
        // No tensor has a negative extent.
        prop_assume!(observed.iter().flatten().all(|&extent| extent >= 0));
        if let Some((tensor, axis, extent)) = spoil
            && let Some(shape) = observed.get_mut(tensor)
        {
            match shape.get_mut(axis) {
                Some(slot) => *slot = extent,
                None => shape.push(extent),
            }
        }
        let text = entry(&tensors, &read);
        let analysis = analyze(&text);
        let branch = analysis.checked.branch(&Point::default());
        let names: Vec<String> = (0..tensors.len()).map(|t| format!("t{t}")).collect();
        let passed: Vec<Observed<'_>> = names
            .iter()
            .zip(&observed)
            .map(|(name, shape)| Observed { name, shape, dtype: DType::Float16 })
            .collect();
        let solved = execute(&branch.plan, &branch.point, &passed, &[]);
        let found = search(&tensors, &observed, &read);
        if branch.plan.unsolved.is_empty() {
            match solved {
                Ok(solved) => {
                    let value = |name: &str| solved.iter().find(|(n, _)| &**n == name).map(|(_, value)| value.clone());
                    let dim = |i: usize| match value(&format!("d{i}")) {
                        Some(Value::Int(n)) => n,
                        _ => 0,
                    };
                    let splice = |i: usize| match value(&format!("S{i}")) {
                        Some(Value::Seq(items)) => items.iter().filter_map(Value::as_int).collect(),
                        _ => Vec::new(),
                    };
                    let inferred = World { dims: [dim(0), dim(1), dim(2)], splices: [splice(0), splice(1)] };
                    prop_assert_eq!(found, BTreeSet::from([inferred]), "{} {:?}", text, observed);
                }
                Err(mismatch) => prop_assert!(found.is_empty(), "{text} {observed:?} {mismatch:?} {found:?}"),
            }
        } else {
            // What the plan leaves unsolved is said, once at least, and a shape that it refuses has no solution.
            let unsolved = analysis.findings.defects.iter().any(|defect| defect.code.name == "unsolved-index");
            prop_assert!(unsolved, "{text}");
            prop_assert!(solved.is_ok() || found.is_empty(), "{text} {observed:?} {found:?}");
        }
    }
}
