//! The formulas in Rust and in Python are the same functions.

use std::collections::BTreeSet;

use tileops_ops::formulas::ALL;

use crate::manifest::{OURS, checked};
use crate::python::PRICES;

#[test]
fn rust_and_python_price_every_row_alike() {
    let mut wrong = Vec::new();
    let mut count = 0;
    for row in OURS.rows() {
        let Some(func) = row.func else { continue };
        let (_, formula) = ALL.iter().find(|(name, _)| *name == func).unwrap_or_else(|| panic!("no formula `{func}`"));
        let price = formula(&checked(&row)).and_then(|cost| Ok((cost.flops.get()?, cost.bytes().get()?)));
        let python = PRICES[&row.id()];
        if price != Ok(python) {
            wrong.push(format!("{}: {price:?}, in Python {python:?}", row.id()));
        }
        count += 1;
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count >= 100, "{count} rows have a formula");
}

#[test]
fn every_formula_prices_an_entry_and_both_languages_have_it() {
    let used: BTreeSet<&str> = OURS.rows().filter_map(|row| row.func).collect();
    let rust: BTreeSet<&str> = ALL.iter().map(|(name, _)| *name).collect();
    assert_eq!(rust, used);
    let package = tileops_tests::root().join("runtime/ops/python/tileops/perf/formulas/__init__.py");
    let text = std::fs::read_to_string(package).expect("the package can be read");
    let listed = text.split_once("__all__ = [").expect("it says what it exports").1;
    let python: BTreeSet<&str> = listed.split('"').skip(1).step_by(2).collect();
    assert_eq!(python, used);
}

/// What the checked call lacks is said; nothing is priced by a guess.
#[test]
fn a_call_without_values_has_no_price() {
    for row in OURS.rows().filter(|row| row.func == Some("expert_mlp_roofline")) {
        let mut call = checked(&row);
        let stripped: Vec<_> = call
            .inputs()
            .iter()
            .map(|(name, tensor)| (*name, tensor.clone().map(|tensor| tileops_ops::Tensor { values: None, ..tensor })))
            .collect();
        call = tileops_ops::CheckedCall::new(
            call.op(),
            call.params().to_vec(),
            call.indices().to_vec(),
            stripped,
            call.outputs().to_vec(),
        );
        let error = tileops_ops::formulas::expert_mlp_roofline(&call).expect_err("the routing is not known");
        assert!(matches!(error, tileops_ops::OpError::OpNotAvailable { .. }), "{error}");
        assert!(error.to_string().contains("`ids`"), "{error}");
    }
}

/// A stage costs what the op that runs it alone costs.
#[test]
fn composites_sum_the_ops_of_their_stages() {
    use serde_json::{Value as Json, json};
    let tensor = |name: &str, shape: &[i128], dtype: &str, values: Option<Vec<i128>>| {
        let extents: Vec<i64> = shape.iter().map(|&extent| i64::try_from(extent).expect("rows are small")).collect();
        let values =
            values.map(|values| values.iter().map(|&v| i64::try_from(v).expect("it is small")).collect::<Vec<_>>());
        json!({"name": name, "shape": extents, "dtype": dtype, "values": values})
    };
    let op = |family: &str, op: &str, params: Json, tensors: Vec<Json>| json!({"op": op, "family": family, "params": params, "construction": [], "tensors": tensors});
    let (mut cases, mut expected) = (Vec::new(), Vec::new());
    for row in OURS.rows().filter(|row| matches!(row.op, "ExpertMlpFwdOp" | "FusedMoeFwdOp")) {
        let shape = |name: &str| row.call.tensor(name).map(|tensor| tensor.shape.clone());
        let (x, gate_up) = (shape("x").expect("it is passed"), shape("gate_up").expect("it is passed"));
        let (n, h, e, f) = (x[0], x[1], gate_up[0], gate_up[1] / 2);
        let param =
            |name: &str| row.call.params.iter().find(|(param, _)| &**param == name).map(|(_, value)| value.to_string());
        let k: i128 = match shape("ids") {
            Some(ids) => ids[1],
            None => param("top_k").and_then(|k| k.parse().ok()).expect("it is an integer"),
        };
        let rows = n * k;
        let grouped = |columns: i128, width: i128| {
            let mut offsets = vec![rows; usize::try_from(e).expect("it is small") + 1];
            offsets[0] = 0;
            let tensors = vec![
                tensor("x", &[rows, width], "bfloat16", None),
                tensor("weight", &[e, width, columns], "bfloat16", None),
                tensor("offsets", &[e + 1], "int32", Some(offsets)),
            ];
            op("gemm", "GroupedMatmulFwdOp", json!({}), tensors)
        };
        let mut stages = vec![
            grouped(2 * f, h),
            op("elementwise", "SiluAndMulFwdOp", json!({}), vec![tensor("x", &[rows, 2 * f], "bfloat16", None)]),
            grouped(h, f),
            op(
                "moe",
                "ExpertCombineFwdOp",
                json!({}),
                vec![
                    tensor("rows", &[rows, h], "bfloat16", None),
                    tensor("weights", &[n, k], "float32", None),
                    tensor("places", &[rows], "int32", None),
                ],
            ),
        ];
        if row.op == "FusedMoeFwdOp" {
            let score =
                if param("score").is_some_and(|score| score.contains("sigmoid")) { "sigmoid" } else { "softmax" };
            let params = json!({"top_k": i64::try_from(k).expect("it is small"), "score": score});
            let logits = vec![tensor("logits", &[n, e], "float32", None)];
            stages.push(op("moe", "TopkRouterFwdOp", params, logits));
            if let Some(shared) = shape("shared_gate_up") {
                let tensors = vec![
                    tensor("x", &x, "bfloat16", None),
                    tensor("routed", &x, "bfloat16", None),
                    tensor("gate_up", &shared, "bfloat16", None),
                    tensor("down", &[h, shared[0] / 2], "bfloat16", None),
                ];
                stages.push(op("moe", "SharedExpertFwdOp", json!({}), tensors));
            }
        }
        expected.push((row.id(), stages.len()));
        cases.extend(stages);
    }
    let prices = crate::python::run(&OURS, cases);
    let mut prices = prices.into_iter().map(|price| price.expect("a stage has a price").0);
    for (id, stages) in expected {
        let sum: i128 = prices.by_ref().take(stages).sum();
        assert_eq!(PRICES[&id].0, sum, "{id}");
    }
}
