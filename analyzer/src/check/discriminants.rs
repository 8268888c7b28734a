//! The discriminants of an entry, and the values that each can take.

use std::sync::Arc;

use super::{Assignment, Discriminant, DiscriminantKind, Scope, SymbolRole};
use crate::lang::{Adt, Constructor, Kind, Value};
use crate::model::{Condition, Fact, Signature, TensorRole};
use crate::text::TextRange;

/// One name that a point assigns, and all that it can say of it. The presence of a `Maybe` and the value that it has
/// where it is present are one variable: no point gives a value to what is absent.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Variable {
    /// The name.
    pub(crate) name: Arc<str>,
    /// Where it is declared.
    pub(crate) range: TextRange,
    /// What a point can say of it, the plainest first: absent, `false`, the first literal.
    pub(crate) options: Vec<Vec<Assignment>>,
    /// Whether it is a parameter, and not a tensor or `out`.
    pub(crate) is_param: bool,
    /// Whether a point says its presence.
    pub(crate) is_maybe: bool,
    /// Whether a point says its value, a Boolean's or an enum's.
    pub(crate) has_values: bool,
}

/// The discriminants that a name is: none, one, or presence and value.
fn of_kind(name: &Arc<str>, kind: &Kind) -> Vec<Discriminant> {
    let one = |kind| Discriminant { name: name.clone(), kind };
    match kind {
        Kind::Bool => vec![one(DiscriminantKind::Bool)],
        Kind::Enum(literals) => vec![one(DiscriminantKind::Enum(literals.iter().cloned().collect()))],
        Kind::Adt(adt, _) => vec![one(DiscriminantKind::Adt(adt.clone()))],
        Kind::Maybe(inner) => {
            let mut found = vec![one(DiscriminantKind::Presence)];
            found.extend(of_kind(name, inner));
            found
        }
        _ => Vec::new(),
    }
}

/// Every discriminant of the entry: parameters in the order declared, then `optional: true` tensors, then `out`.
pub fn discriminants(signature: &Signature, scope: &Scope) -> Vec<Discriminant> {
    let mut found = Vec::new();
    for symbol in scope.iter() {
        if symbol.role == SymbolRole::Param {
            found.extend(of_kind(&symbol.name, &symbol.kind));
        }
    }
    for tensor in super::facts::tensors(signature) {
        let own = matches!(tensor.optional, Fact::Valid(Condition::Always(true), _));
        // Of two declarations of one name the first stands.
        let declared = scope.get(&tensor.name.value).is_none_or(|s| s.range == tensor.name.range);
        if own && declared && tensor.role != TensorRole::Output {
            found.push(Discriminant { name: tensor.name.value.clone(), kind: DiscriminantKind::Presence });
        }
    }
    if signature.outputs.items().iter().any(|t| t.buffer.valid().is_some()) {
        found.push(Discriminant { name: Arc::from("out"), kind: DiscriminantKind::Presence });
    }
    found
}

/// The variables of a point, in the order of the discriminants.
pub(crate) fn variables(discriminants: &[Discriminant], scope: &Scope, otherwise: TextRange) -> Vec<Variable> {
    let mut variables: Vec<Variable> = Vec::new();
    for discriminant in discriminants {
        let has_values = matches!(discriminant.kind, DiscriminantKind::Bool | DiscriminantKind::Enum(_));
        let values = values(&discriminant.kind);
        let absent_or = variables.last_mut().filter(|last| last.name == discriminant.name);
        match absent_or {
            // The presence came first: its `true` is refined by each value.
            Some(presence) => {
                presence.options.truncate(1);
                presence.options.extend(values.into_iter().map(|value| vec![Assignment::Present(true), value]));
            }
            None => variables.push(Variable {
                name: discriminant.name.clone(),
                range: scope.get(&discriminant.name).map_or(otherwise, |symbol| symbol.range),
                options: values.into_iter().map(|value| vec![value]).collect(),
                is_param: scope.get(&discriminant.name).is_some_and(|symbol| symbol.role == SymbolRole::Param),
                is_maybe: discriminant.kind == DiscriminantKind::Presence,
                has_values,
            }),
        }
    }
    variables
}

/// What a point can say of one discriminant.
fn values(kind: &DiscriminantKind) -> Vec<Assignment> {
    match kind {
        DiscriminantKind::Bool => [false, true].map(|b| Assignment::Value(Value::Bool(b))).to_vec(),
        DiscriminantKind::Enum(literals) => {
            literals.iter().map(|literal| Assignment::Value(Value::Str(literal.clone()))).collect()
        }
        DiscriminantKind::Presence => [false, true].map(Assignment::Present).to_vec(),
        DiscriminantKind::Adt(adt) => adt_values(adt),
    }
}

/// How many combinations of one constructor's finite fields are told apart. No real type comes near it.
const MAX_FIELD_COMBINATIONS: usize = 4096;

fn adt_values(adt: &Adt) -> Vec<Assignment> {
    adt.constructors.iter().flat_map(constructor_values).collect()
}

fn constructor_values(constructor: &Constructor) -> Vec<Assignment> {
    let mut combinations: Vec<Vec<(Arc<str>, Value)>> = vec![Vec::new()];
    for field in &constructor.fields {
        let values: Vec<Value> = finite_values(&field.kind);
        if values.is_empty() || combinations.len().saturating_mul(values.len()) > MAX_FIELD_COMBINATIONS {
            continue;
        }
        combinations = combinations
            .into_iter()
            .flat_map(|fields| {
                values.iter().map(move |value| {
                    let mut fields = fields.clone();
                    fields.push((field.name.clone(), value.clone()));
                    fields
                })
            })
            .collect();
    }
    combinations
        .into_iter()
        .map(|fields| Assignment::Constructor { constructor: constructor.name.clone(), fields })
        .collect()
}

/// The values of a finite kind; none of any other kind.
pub(crate) fn finite_values(kind: &Kind) -> Vec<Value> {
    match kind {
        Kind::Bool => vec![Value::Bool(false), Value::Bool(true)],
        Kind::Enum(literals) => literals.iter().cloned().map(Value::Str).collect(),
        _ => Vec::new(),
    }
}
