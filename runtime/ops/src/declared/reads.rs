//! The read halves of the ops whose entry states `bytes`, which is one sum of what is read and what is written.
//!
//! Where `bytes` is left out, or a function of `formulas` has it, the read half is emitted. Each of these says what a call
//! reads on its own: a test adds what a recount from the tensors says is written, and holds the sum to `bytes`.

use super::OfCall;
use crate::formulas::bytes_of;
use crate::{Category, CheckedCall, Int, OpError};

/// A factor of zero leaves `c` out.
fn addmm(call: &CheckedCall) -> Result<Int, OpError> {
    let c = if call.float("beta")? == 0.0 { Int::from(0) } else { call.bytes("c")? };
    Ok(c + bytes_of(call, &["a", "b"])?)
}

/// Nothing where everything is dropped; the seed where something is drawn.
fn dropout(call: &CheckedCall) -> Result<Int, OpError> {
    let (training, p) = (call.bool("training")?, call.float("p")?);
    if !training || p == 0.0 {
        return call.bytes("x");
    }
    if p == 1.0 { Ok(Int::from(0)) } else { bytes_of(call, &["x", "seed"]) }
}

/// Every integer is finite.
fn is_finite(call: &CheckedCall) -> Result<Int, OpError> {
    if call.tensor("x")?.dtype.category() == Category::Int { Ok(Int::from(0)) } else { call.bytes("x") }
}

/// New keys and values, and where they go; of the caches nothing.
fn kv_cache_append(call: &CheckedCall) -> Result<Int, OpError> {
    bytes_of(call, &["k", "v", "slots"])
}

/// Of the tables, which may be longer than the sequence, a row a position.
fn rope(call: &CheckedCall) -> Result<Int, OpError> {
    let rows = (call.int("S")? + call.int("P")?).max(1);
    let row = bytes_of(call, &["cos", "sin"])?.floor_div(rows);
    Ok(call.bytes("x")? + call.int("S")? * row)
}

/// A pair takes its angle from one of three rows.
fn multimodal_rope(call: &CheckedCall) -> Result<Int, OpError> {
    Ok(call.bytes("x")? + bytes_of(call, &["cos", "sin"])?.floor_div(3))
}

/// Without an expert the result is what was routed.
fn shared_expert(call: &CheckedCall) -> Result<Int, OpError> {
    if call.present("gate_up")? { bytes_of(call, &["x", "routed", "gate_up", "down"]) } else { call.bytes("routed") }
}

/// Of a token's `Q` coefficients the `n` for reading.
fn hyper_connection_read(call: &CheckedCall) -> Result<Int, OpError> {
    let coefficient = call.bytes("coefficients")?.floor_div(call.int("Q")?);
    Ok(coefficient * call.int("n")? + call.bytes("streams")?)
}

/// The `n` for writing and the `n` by `n` for mixing.
fn hyper_connection_write(call: &CheckedCall) -> Result<Int, OpError> {
    let (n, coefficient) = (call.int("n")?, call.bytes("coefficients")?.floor_div(call.int("Q")?));
    Ok(coefficient * (n * n + n) + bytes_of(call, &["streams", "y"])?)
}

/// Each op with its read half.
pub(super) const READS: &[(&str, OfCall<Int>)] = &[
    ("AddmmFwdOp", addmm),
    ("DropoutFwdOp", dropout),
    ("HyperConnectionReadFwdOp", hyper_connection_read),
    ("HyperConnectionWriteFwdOp", hyper_connection_write),
    ("IsFiniteFwdOp", is_finite),
    ("KvCacheAppendFwdOp", kv_cache_append),
    ("MultimodalRopeFwdOp", multimodal_rope),
    ("RopeFwdOp", rope),
    ("SharedExpertFwdOp", shared_expert),
];
