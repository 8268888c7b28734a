//! What every row costs: its op called without data, and asked.

use serde_json::{Map, Value as Json, json};
use tileops_analyzer::lang::builtins::WORKLOAD_SEED;
use tileops_analyzer::workload::{Call, Effect};
use tileops_ops::{Op, OpError, Registry, Value};
use tileops_record::{Failure, FailureKind, Record, Tensor};
use tileops_reference::{Distribution, Drawing, Reference};

use crate::inputs::row_seed;
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
        call.params.iter().chain(&call.indices).map(|(name, value)| (&**name, json_of(&value_of(value)))).collect();
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
        record.failure = Some(Box::new(Failure::new(kind(&error), error.to_string())));
    }
    record
}

/// Puts what the inputs of a row hold into its record, by name, which is what another program runs the row with: the values
/// of metadata tensors, what the others are drawn from, and the seed of the row's generator.
pub fn with_inputs(record: &mut Record, registry: &Registry, entry: &Entry<'_>, call: &Call) -> Result<(), OpError> {
    record.seed = Some(row_seed(entry.op(), &call.case_id));
    // A row that its op refuses has no inputs.
    if record.failure.is_some() {
        return Ok(());
    }
    let op = entry.called(registry, call)?;
    let (checked, reference) = (op.completed_call()?, tileops_reference::of(entry.op()));
    let (mut values, mut distributions) = (Map::new(), Map::new());
    entry.passed(call, &mut |name, tensor| {
        let described = described(name, tensor)?;
        match &described.values {
            Some(stated) => drop(values.insert(name.to_owned(), stated.iter().copied().collect())),
            None => {
                let default = || Distribution::of(described.dtype);
                let usual = |r: &Reference| r.distribution(checked, name, described.dtype, Drawing::Usual);
                let from = reference.map_or_else(default, usual);
                distributions.insert(name.to_owned(), distribution(from));
            }
        }
        Ok::<_, OpError>(described)
    })?;
    (record.values, record.distributions) = (values.into(), distributions.into());
    Ok(())
}

/// A distribution as JSON, by the reference's names: `{"uniform": {"low": -1.0, "high": 1.0}}`.
pub fn distribution(from: Distribution) -> Json {
    match from {
        Distribution::Uniform { low, high } => json!({"uniform": {"low": low, "high": high}}),
        Distribution::Integers { low, high } => json!({"integers": {"low": low, "high": high}}),
        Distribution::OneIn(many) => json!({"one_in": many}),
        Distribution::Constant(value) => json!({"constant": value}),
        Distribution::Ends(ends) => json!({"ends": {"end": ends.end, "low": ends.low, "high": ends.high}}),
        Distribution::Specials { largest, .. } => json!({"specials": {"largest": largest}}),
    }
}

/// Puts into `record` what the last call of `op` costs, as the op says. Nothing else in the benchmark writes these fields.
pub fn of_call(op: &dyn Op, record: &mut Record) -> Result<(), OpError> {
    let roofline = op.eval_roofline()?;
    record.flops = Some(roofline.flops);
    record.bytes = Some(roofline.bytes);
    record.read_bytes = op.eval_roofline_read_bytes().transpose()?;
    record.roof_key = Some(op.roof_key()?.into());
    record.data_terms = op.roofline_data_terms()?.iter().map(|(name, value)| (*name, json_of(value))).collect();
    Ok(())
}

fn kind(error: &OpError) -> FailureKind {
    match error {
        OpError::UnknownOp { .. } => FailureKind::Unsupported,
        OpError::Refused { .. } => FailureKind::Refused,
        _ => FailureKind::NotPriced,
    }
}

/// A value as JSON: an integer beyond 64 bits as its digits, an infinity by its name.
fn json_of(value: &Value) -> Json {
    match value {
        Value::Int(value) => i64::try_from(*value).map_or_else(|_| value.to_string().into(), Json::from),
        Value::Bool(value) => (*value).into(),
        Value::Float(value) if value.is_finite() => (*value).into(),
        Value::None => Json::Null,
        Value::Str(text) => (&**text).into(),
        Value::DType(dtype) => dtype.name().into(),
        Value::Seq(items) => items.iter().map(json_of).collect(),
        Value::Variant(variant) => {
            let fields: Map<String, Json> =
                variant.fields.iter().map(|(name, value)| (name.to_string(), json_of(value))).collect();
            Json::Object(Map::from_iter([(variant.kind().to_owned(), Json::Object(fields))]))
        }
        other => other.to_string().into(),
    }
}
