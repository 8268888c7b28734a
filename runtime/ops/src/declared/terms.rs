//! What decided the numbers of an op beside its shapes.

use std::collections::BTreeSet;

use super::{DataTerms, OfCall};
use crate::{CheckedCall, OpError, Value};

/// How many experts the routing names: their weights are read.
fn experts(call: &CheckedCall) -> Result<DataTerms, OpError> {
    let named: BTreeSet<i64> = call.values("ids")?.iter().copied().collect();
    Ok(vec![("experts_read", Value::Int(named.len() as i128))])
}

/// How many keys the requests have, all together.
fn keys(call: &CheckedCall) -> Result<DataTerms, OpError> {
    let keys = call.values("kv_lengths")?.iter().map(|&length| i128::from(length)).sum();
    Ok(vec![("keys_read", Value::Int(keys))])
}

/// Each op with its terms.
pub(super) const TERMS: &[(&str, OfCall<DataTerms>)] =
    &[("ExpertMlpFwdOp", experts), ("ExpertMlpFp8FwdOp", experts), ("PagedDecodeAttentionFwdOp", keys)];
