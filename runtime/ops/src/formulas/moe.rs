//! Mixture of experts. Each stage is priced as the op that runs it alone.

use super::counts::{Costed, bytes_if_present, bytes_of, cost, distinct, number, width};
use crate::{CheckedCall, Int, OpError};

/// The stages of a token's `K` experts, `rows` rows in all: gate and up (`4 F H` a row), the gated activation (6 an element: 5
/// for silu or the erf form of the GELU, and the product), down (`2 F H`), the weighted combine (a product and a sum an element).
fn stages(rows: Int, h: Int, f: Int) -> Int {
    rows * (6 * f * h + 6 * f + 2 * h)
}

/// The routed experts of every token: gate and up, activation, down, weighted sum.
///
/// `x [N, H]`, `gate_up [E, 2 F, H]`, `down [E, H, F]`, `weights` and `ids [N, K]`; the result is `y [N, H]`.
///
/// *FLOPs.* Of `N K` rows: the two grouped contractions, the gated activation between them, the weighted combine.
///
/// *Bytes.* Rows, weights, ids and result once; the matrices of the experts that `ids` names.
pub fn expert_mlp_roofline(call: &CheckedCall) -> Costed {
    let (n, h, f, k) = (call.int("N")?, call.int("H")?, call.int("F")?, call.int("K")?);
    let experts = distinct(call.values("ids")?.iter().copied());
    let each = f * h * (2 * width(call, "gate_up")? + width(call, "down")?);
    cost(stages(n * k, h, f), bytes_of(call, &["x", "weights", "ids"])? + experts * each, call.bytes("y")?)
}

/// The same on fp8 matrices with a scale for each block.
///
/// `gate_up_scale [E, ceil(2 F / block), ceil(H / block)]`, `down_scale [E, ceil(H / block), ceil(F / block)]`.
///
/// *FLOPs.* A result takes its partial sum of each block of the contracted width with a product and an addition.
///
/// *Bytes.* An expert's scales are read with it.
pub fn expert_mlp_fp8_roofline(call: &CheckedCall) -> Costed {
    let (n, h, f, k) = (call.int("N")?, call.int("H")?, call.int("F")?, call.int("K")?);
    let (e, block) = (call.int("E")?, call.int("block")?);
    let experts = distinct(call.values("ids")?.iter().copied());
    let scaled = 2 * (2 * f * h.ceil_div(block) + h * f.ceil_div(block));
    let each = f * h * (2 * width(call, "gate_up")? + width(call, "down")?);
    // Every expert has as many scales as any other.
    let scales = bytes_of(call, &["gate_up_scale", "down_scale"])?.floor_div(e.max(1));
    let flops = stages(n * k, h, f) + n * k * scaled;
    cost(flops, bytes_of(call, &["x", "weights", "ids"])? + experts * (each + scales), call.bytes("y")?)
}

/// A whole layer: routing by the logits, the experts, the weighted sum, and a shared expert where there is one.
///
/// `x [N, H]`, `logits [N, E]`, `gate_up`, `down`, `shared_gate_up [2 S, H]` and `shared_down [H, S]` or none.
///
/// *FLOPs.* Routing: a score an expert (softmax 5, sigmoid 4) and a comparison for each of the `top_k` choices; the weights' sum
/// and division where they are normalized. The experts as [`expert_mlp_roofline`]. The shared expert as its own op: `6 H S`
/// for its contractions, `6 S` for its activation, `H` for the sum.
///
/// *Bytes.* Which experts are read is decided inside the call. Where the `experts` stage completed, its `ids` say; where
/// nothing says, at least `top_k` are read, if there is a token. What passes between the stages counts nothing.
pub fn fused_moe_roofline(call: &CheckedCall) -> Costed {
    let (n, h, f, e) = (call.int("N")?, call.int("H")?, call.int("F")?, call.int("E")?);
    let k = call.int("top_k")?;
    let score = if call.str("score")? == "softmax" { 5 } else { 4 };
    let normalized = if call.bool("normalize")? { 2 * n * k } else { Int::from(0) };
    let mut flops = n * e * (score + k) + normalized + stages(n * k, h, f);
    let each = f * h * (2 * width(call, "gate_up")? + width(call, "down")?);
    let mut read = bytes_of(call, &["x", "logits"])? + routed_experts(call)? * each;
    if call.present("shared_gate_up")? {
        let s = call.int("S")?;
        flops = flops + n * (6 * h * s + 6 * s + h);
        read = read + bytes_if_present(call, "shared_gate_up")? + bytes_if_present(call, "shared_down")?;
    }
    cost(flops, read, call.bytes("y")?)
}

/// How many experts the call reads: those that its stages' ids name, or the fewest that any routing names.
fn routed_experts(call: &CheckedCall) -> Result<Int, OpError> {
    let stages: Vec<&CheckedCall> = call.stage("experts").collect();
    if stages.is_empty() {
        return Ok(Int::from(if number(call, "N")? > 0 { number(call, "top_k")? } else { 0 }));
    }
    let mut named = Vec::new();
    for stage in stages {
        named.extend_from_slice(stage.values("ids")?);
    }
    Ok(distinct(named))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DType, Stage, Tensor, Value};

    /// Six tokens of width 4, five experts of width 3, two of them a token.
    fn layer(ids: Option<Vec<i64>>) -> CheckedCall {
        let params =
            vec![("top_k", Value::Int(2)), ("score", Value::from("softmax")), ("normalize", Value::Bool(false))];
        let indices = vec![("N", Value::Int(6)), ("H", Value::Int(4)), ("F", Value::Int(3)), ("E", Value::Int(5))];
        let tensor = |shape: &[i128]| Some(Tensor::new(shape, DType::BFloat16));
        let inputs = vec![
            ("x", tensor(&[6, 4])),
            ("logits", tensor(&[6, 5])),
            ("gate_up", tensor(&[5, 6, 4])),
            ("down", tensor(&[5, 4, 3])),
            ("shared_gate_up", None),
            ("shared_down", None),
        ];
        let mut call = CheckedCall::new("DemoOp", params, indices, inputs, vec![("y", tensor(&[6, 4]))]);
        if let Some(ids) = ids {
            let ids = Tensor::new([6, 2], DType::Int32).with_values(ids);
            let experts = CheckedCall::new("DemoExpertsOp", vec![], vec![], vec![("ids", Some(ids))], vec![]);
            call.stages.push(Stage { name: "experts", call: experts });
        }
        call
    }

    fn bytes(call: &CheckedCall) -> i128 {
        fused_moe_roofline(call).expect("the call has all of it").bytes().get().expect("it is small")
    }

    #[test]
    fn the_experts_that_the_stages_name_are_read() {
        // x, logits and y, and 3 * 4 * 3 numbers an expert, of 2 bytes each.
        let others = 2 * (24 + 30 + 24);
        let routed = |ids: [i64; 12]| bytes(&layer(Some(ids.to_vec())));
        assert_eq!(routed([0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1]), others + 2 * 72);
        assert_eq!(routed([0, 1, 2, 1, 0, 1, 0, 4, 0, 1, 0, 1]), others + 4 * 72);
        // What no stage says is the least that any routing reads.
        assert_eq!(bytes(&layer(None)), others + 2 * 72);
    }
}
