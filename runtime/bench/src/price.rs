//! What every row costs: its op called without data, and asked.

use serde_json::{Map, Value as Json};
use tileops_analyzer::lang::builtins::WORKLOAD_SEED;
use tileops_analyzer::workload::{Call, Effect};
use tileops_ops::{Op, OpError, Registry, Value};
use tileops_record::{Failure, Record, Tensor};

use crate::rows::{Entry, described, value_of};

/// The record of a row that is priced, not timed. A row whose op cannot price it says why.
pub fn record(registry: &Registry, entry: &Entry<'_>, call: &Call) -> Record {
    let mut record = Record::new(entry.op(), call.case_id.as_str());
    record.family = entry.family().map(Into::into);
    record.entry_hash = Some(entry.hash().into());
    record.dtype = call.indices.iter().find_map(|(_, value)| match value {
        tileops_analyzer::lang::Value::DType(dtype) => Some(dtype.name().into()),
        _ => None,
    });
    record.params =
        call.params.iter().chain(&call.indices).map(|(name, value)| (&**name, json(&value_of(value)))).collect();
    let tensors = call.tensors.iter().filter_map(|(name, tensor)| {
        let tensor = tensor.as_ref()?;
        let effect = match tensor.effect {
            Effect::Read => "read",
            Effect::Write => "write",
            Effect::ReadWrite => "mutate",
            Effect::Alias => "alias",
        };
        Some(Tensor {
            name: (&**name).into(),
            dtype: tensor.dtype.name().into(),
            // A row whose extents are beyond 64 bits has no size that anything could hold.
            shape: tensor.shape.iter().map(|&extent| u64::try_from(extent).unwrap_or(u64::MAX)).collect(),
            effect: Some(effect.into()),
            ..Tensor::default()
        })
    });
    record.tensors = tensors.collect();
    if call.tensors.iter().flat_map(|(_, tensor)| tensor).any(|tensor| tensor.values.is_some()) {
        record.seed = Some(WORKLOAD_SEED);
    }
    if let Err(error) = entry.called(registry, call).and_then(|op| of_call(&*op, &mut record)) {
        record.failure = Some(Box::new(Failure {
            kind: kind(&error).into(),
            message: Some(error.to_string()),
            ..Failure::default()
        }));
    }
    record
}

/// Puts the values of metadata tensors into a record, by name: what another program runs the row with.
pub fn with_values(record: &mut Record, call: &Call) -> Result<(), OpError> {
    let mut values = Map::new();
    for (name, tensor) in &call.tensors {
        let Some(tensor) = tensor else { continue };
        if let Some(stated) = described(name, tensor)?.values {
            values.insert(name.to_string(), stated.iter().copied().collect());
        }
    }
    if !values.is_empty() {
        record.extra.insert("values", values);
    }
    Ok(())
}

/// Puts into `record` what the last call of `op` costs, as the op says. Nothing else in the benchmark writes these fields.
pub fn of_call(op: &dyn Op, record: &mut Record) -> Result<(), OpError> {
    let roofline = op.eval_roofline()?;
    record.flops = Some(roofline.flops);
    record.bytes = Some(roofline.bytes);
    record.read_bytes = op.eval_roofline_read_bytes().transpose()?;
    record.roof_key = Some(op.roof_key()?.into());
    record.data_terms = op.roofline_data_terms()?.iter().map(|(name, value)| (*name, json(value))).collect();
    Ok(())
}

fn kind(error: &OpError) -> &'static str {
    match error {
        OpError::UnknownOp { .. } => "unsupported",
        OpError::Refused { .. } => "refused",
        _ => "not_priced",
    }
}

/// A value as JSON: an integer beyond 64 bits as its digits, an infinity by its name.
fn json(value: &Value) -> Json {
    match value {
        Value::Int(value) => i64::try_from(*value).map_or_else(|_| value.to_string().into(), Json::from),
        Value::Bool(value) => (*value).into(),
        Value::Float(value) if value.is_finite() => (*value).into(),
        Value::None => Json::Null,
        Value::Str(text) => (&**text).into(),
        Value::DType(dtype) => dtype.name().into(),
        Value::Seq(items) => items.iter().map(json).collect(),
        Value::Variant(variant) => {
            let fields: Map<String, Json> =
                variant.fields.iter().map(|(name, value)| (name.to_string(), json(value))).collect();
            Json::Object(Map::from_iter([(variant.kind().to_owned(), Json::Object(fields))]))
        }
        other => other.to_string().into(),
    }
}
