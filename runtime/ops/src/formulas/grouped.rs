//! Grouped contractions: a group, or an expert, without rows reads no matrix.

use super::counts::{Costed, bytes_of, cost, number, segments, width};
use crate::{CheckedCall, Int, OpError, Value};

/// How many segments have rows.
fn groups_with_rows(call: &CheckedCall) -> Result<Int, OpError> {
    Ok(Int::from(segments(call.values("offsets")?).filter(|&rows| rows > 0).count()))
}

/// `G` groups of rows behind one another, each meeting its own matrix.
///
/// `x [M, K]`, `weight [G, K, N]`, `offsets [G + 1]`, `y [M, N]`.
///
/// *FLOPs.* `2 M N K`: every row meets one matrix. *Bytes.* Rows, offsets and result once, and the matrices of the groups
/// that have rows.
pub fn grouped_matmul_roofline(call: &CheckedCall) -> Costed {
    let (m, n, k) = (call.int("M")?, call.int("N")?, call.int("K")?);
    let matrices = groups_with_rows(call)? * n * k * width(call, "weight")?;
    cost(2 * m * n * k, bytes_of(call, &["x", "offsets"])? + matrices, call.bytes("y")?)
}

/// The same of fp8 operands, with a scale for each row of `x` and each column of a matrix.
///
/// `x_scale [M]`, `weight [G, N, K]`, `weight_scale [G, N]`.
///
/// *FLOPs.* A result takes its row's and its column's scale: 2. *Bytes.* A matrix's scales are read with it.
pub fn grouped_matmul_fp8_roofline(call: &CheckedCall) -> Costed {
    let (m, n, k) = (call.int("M")?, call.int("N")?, call.int("K")?);
    let each = n * k * width(call, "weight")? + n * width(call, "weight_scale")?;
    let flops = 2 * m * n * k + 2 * m * n;
    let read = bytes_of(call, &["x", "x_scale", "offsets"])? + groups_with_rows(call)? * each;
    cost(flops, read, call.bytes("y")?)
}

/// Rows that lie as `layout` says, each meeting its expert's matrix.
///
/// `x`, `weight [num_experts, F, W]`, `metadata`. In a slab an expert has as many valid rows as its metadata says. Behind one
/// another, the metadata is each row's expert (negative for padding), or each expert's end; its rows start at the multiple of
/// the alignment that is at or behind the previous expert's end.
///
/// *FLOPs.* `2 F W` a valid row. *Bytes.* Metadata and result once, the valid rows, and the matrices of the experts that
/// have some.
pub fn layout_grouped_matmul_roofline(call: &CheckedCall) -> Costed {
    let (w, f) = (call.int("W")?, call.int("F")?);
    let metadata = call.values("metadata")?;
    let layout = call.variant("layout")?;
    let per_row = matches!(layout.field("metadata_kind"), Some(Value::Str(kind)) if &**kind == "per_row");
    let mut rows = vec![0_i128; usize::try_from(number(call, "num_experts")?).unwrap_or(0)];
    if per_row {
        for &expert in metadata {
            if let Some(rows) = usize::try_from(expert).ok().and_then(|expert| rows.get_mut(expert)) {
                *rows += 1;
            }
        }
    } else {
        let alignment = match layout.field("alignment") {
            Some(Value::Int(alignment)) => (*alignment).max(1),
            _ => 1,
        };
        let slab = &*layout.kind == "masked";
        let mut start = 0_i128;
        for (rows, &entry) in rows.iter_mut().zip(metadata) {
            let entry = i128::from(entry);
            *rows = (entry - start).max(0);
            if !slab {
                start = entry.saturating_add(alignment - 1).div_euclid(alignment).saturating_mul(alignment);
            }
        }
    }
    let valid: i128 = rows.iter().sum();
    let matrices = Int::from(rows.iter().filter(|&&rows| rows > 0).count()) * f * w * width(call, "weight")?;
    let rows = w * valid * width(call, "x")?;
    cost(2 * w * f * valid, call.bytes("metadata")? + rows + matrices, call.bytes("y")?)
}
