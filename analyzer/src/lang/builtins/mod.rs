//! The built-ins: one table that serves checker, completion, hover, folding, codegen and workload instantiation.

mod args;
mod bind;
mod generators;
mod predicates;
mod primitives;
mod random;
mod signature;

use std::sync::LazyLock;

use rustc_hash::FxHashMap;

use super::{DType, Value};

pub use args::MAX_ITEMS;
pub use bind::{BindProblem, Bound, bind};
pub use random::{Random, WORKLOAD_SEED};

/// Every built-in: primitives, `present` and `bytes`, generators, predicates, each group in the order of the reference.
pub fn all() -> &'static [&'static Builtin] {
    &ALL
}

/// The built-in called `name`.
pub fn find(name: &str) -> Option<&'static Builtin> {
    BY_NAME.get(name).copied()
}

static ALL: LazyLock<Vec<&'static Builtin>> =
    LazyLock::new(|| primitives::TABLE.iter().chain(generators::TABLE).chain(predicates::TABLE).collect());

static BY_NAME: LazyLock<FxHashMap<&'static str, &'static Builtin>> =
    LazyLock::new(|| ALL.iter().map(|&builtin| (builtin.name, builtin)).collect());

/// A built-in function.
#[derive(Debug)]
pub struct Builtin {
    /// The name it is called by, dots included: `conv.out`.
    pub name: &'static str,
    /// Where it can be called, and what it computes there.
    pub role: Role,
    /// Its parameters, in order.
    pub params: &'static [Parameter],
    /// One line on what it gives.
    pub doc: &'static str,
    /// One line on which arguments it accepts; empty where the kinds say it all.
    pub domain: &'static str,
}

/// One parameter of a built-in.
#[derive(Debug)]
pub struct Parameter {
    /// Its name; it can be passed by it.
    pub name: &'static str,
    /// What it takes.
    pub takes: Takes,
    /// How it is passed.
    pub passing: Passing,
    /// The least integer that it admits, of a sequence in each item.
    pub least: Option<i128>,
    /// The parameter that it is not above.
    pub most: Option<Most>,
}

/// An upper bound of a parameter: another parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Most {
    /// That parameter's name.
    pub parameter: &'static str,
    /// Whether the bound itself is excluded.
    pub strict: bool,
}

impl Parameter {
    /// A parameter that admits every value of what it takes.
    const fn new(name: &'static str, takes: Takes, passing: Passing) -> Self {
        Parameter { name, takes, passing, least: None, most: None }
    }

    /// With no integer below `least`.
    const fn at_least(self, least: i128) -> Self {
        Parameter { least: Some(least), ..self }
    }

    /// With no integer above the value of another parameter.
    const fn at_most(self, parameter: &'static str) -> Self {
        Parameter { most: Some(Most { parameter, strict: false }), ..self }
    }

    /// With integers below the value of another parameter only.
    const fn below(self, parameter: &'static str) -> Self {
        Parameter { most: Some(Most { parameter, strict: true }), ..self }
    }
}

fn least_in_words(least: i128) -> String {
    match least {
        0 => "non-negative".to_owned(),
        1 => "positive".to_owned(),
        least => format!("{least} or more"),
    }
}

impl Builtin {
    /// Why the parameter at `position` does not admit `value`; `other` gives the values of the other parameters, where they
    /// are known. What depends on more than that is left to the implementation.
    pub fn outside<'v>(
        &self,
        position: usize,
        value: &Value,
        other: &dyn Fn(usize) -> Option<&'v Value>,
    ) -> Option<DomainError> {
        let parameter = self.params.get(position)?;
        let name = parameter.name;
        if let Some(least) = parameter.least {
            if let Some(found) = value.as_int().filter(|value| *value < least) {
                return Some(DomainError(format!("`{name}` is {found}, and must be {}", least_in_words(least))));
            }
            let mut items = value.as_seq().unwrap_or_default().iter().enumerate();
            if let Some(error) = items.find_map(|(i, item)| self.outside_item(position, i, item)) {
                return Some(error);
            }
        }
        if let (Some(most), Some(value)) = (parameter.most, value.as_int()) {
            let bound = self.params.iter().position(|p| p.name == most.parameter).and_then(other)?.as_int()?;
            if value > bound || (most.strict && value == bound) {
                let relation = if most.strict { "below" } else { "at most" };
                let bound_name = most.parameter;
                return Some(DomainError(format!(
                    "`{name}` is {value}, and must be {relation} `{bound_name}`, {bound}"
                )));
            }
        }
        None
    }

    /// Why item `at` of the sequence that the parameter at `position` takes lies outside its domain.
    pub fn outside_item(&self, position: usize, at: usize, item: &Value) -> Option<DomainError> {
        let parameter = self.params.get(position)?;
        let (least, name) = (parameter.least?, parameter.name);
        let found = item.as_int().filter(|value| *value < least)?;
        Some(DomainError(format!("`{name}[{at}]` is {found}, and must be {}", least_in_words(least))))
    }
}

/// How an argument is passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Passing {
    /// By position or by name; it must be there.
    Required,
    /// By position or by name; it may be left out.
    Optional,
    /// By name only; it may be left out.
    KeywordOnly,
    /// Any number of positional arguments.
    Variadic,
}

/// What a parameter takes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Takes {
    /// A Boolean.
    Bool,
    /// An integer.
    Int,
    /// A shape (any sequence of integers).
    Shape,
    /// A sequence of integers; in a predicate, another metadata tensor's contents too.
    SeqInt,
    /// A sequence of anything.
    Seq,
    /// A sequence of Booleans.
    SeqBool,
    /// `Int | Seq[Int] | None`.
    Axes,
    /// `Int | Seq[Maybe[Int]] | None`: a scalar, one item an axis, or nothing.
    PerAxis,
    /// An integer or `None`.
    MaybeInt,
    /// One of the string literals.
    Literal(&'static [&'static str]),
    /// A dtype.
    DType,
    /// A dtype or `None`.
    MaybeDType,
    /// A number, or a dtype.
    ValueOrDType,
    /// A number.
    Number,
    /// A value of the named ADT.
    Adt(&'static str),
    /// The name of a tensor (of a metadata tensor, in a predicate).
    Tensor,
    /// The name of a tensor or of a `Maybe` parameter, or `out`.
    Presence,
}

/// Where a built-in can be called, and what it computes there.
#[derive(Debug, Clone, Copy)]
pub enum Role {
    /// In any expression: a value of its arguments.
    Primitive {
        /// The kind of the result.
        gives: Gives,
        /// The value. Arguments come bound to `params` in order: an optional one left out is absent from the end or
        /// [`Value::None`]; a variadic one is spread.
        eval: fn(&[Value]) -> Result<Value, DomainError>,
    },
    /// In any expression, but decided by the checker and the call rather than computed: `present(x)`.
    Present,
    /// In a roofline only: `bytes(t)`.
    Bytes,
    /// As a metadata tensor's `values`.
    Generator(&'static Generator),
    /// In `requires`; the constrained tensor's contents are the implicit first argument.
    Predicate(&'static Predicate),
}

/// The kind of a primitive's result.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Gives {
    /// `Dim`
    Dim,
    /// `Int`
    Int,
    /// `Dim` where all its integer arguments are `Dim`, else `Int`.
    DimOfDims,
    /// `Bool`
    Bool,
    /// `Shape`
    Shape,
    /// `Seq[Int]`
    SeqInt,
    /// A dtype: the argument's set with its integral members turned into `float32`.
    Promoted,
    /// A dtype: one of the first argument's, or of the second's.
    Coalesced,
    /// One of `'bool'`, `'int'`, `'float'`, `'complex'`.
    Category,
}

/// How a generator works.
#[derive(Debug)]
pub struct Generator {
    /// Whether it draws from the row's private generator.
    pub seeded: bool,
    /// The axes of its result, each an expression over its parameters; for the two that have no fixed rank, see
    /// [`ResultShape`].
    pub shape: ResultShape,
    /// The result's shape at given arguments.
    pub result_shape: fn(&[Value]) -> Result<Vec<i128>, DomainError>,
    /// The result's values in row-major order.
    pub generate: fn(&[Value], Seed) -> Result<Vec<i64>, DomainError>,
    /// The least and the greatest value that `generate` can give, where that is known without generating: it lets
    /// `in_range` hold without a million entries being drawn.
    pub bounds: fn(&[Value]) -> Option<(i128, i128)>,
}

/// The shape of a generator's result.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ResultShape {
    /// One expression of the language an axis, over the generator's parameters: `["len(L) + 1"]`.
    Axes(&'static [&'static str]),
    /// The parameter of that name is the shape.
    Param(&'static str),
    /// `[R]` where the layout's `metadata_kind` is `per_row`, else `[E]`.
    LayoutMetadata,
}

/// How a predicate works.
#[derive(Debug)]
pub struct Predicate {
    /// The rank of the tensors it reads; `None` for any.
    pub rank: Option<usize>,
    /// Whether the contents satisfy it. The error says what does not hold: "entry 3 is 9, outside [0, 8)".
    pub holds: fn(&Contents<'_>, &[Argument<'_>]) -> Result<(), DomainError>,
    /// Whether it holds of any contents whose values lie between the bounds, both included. Where it does, nothing need
    /// be generated; where not, [`Predicate::holds`] decides.
    pub implied: fn(bounds: (i128, i128), arguments: &[Argument<'_>]) -> bool,
}

/// The contents of a metadata tensor.
#[derive(Debug, Clone, Copy)]
pub struct Contents<'a> {
    /// Its shape.
    pub shape: &'a [i128],
    /// Its values, row-major.
    pub values: &'a [i64],
}

/// An argument of a predicate: a value, or another metadata tensor's contents.
#[derive(Debug, Clone)]
pub enum Argument<'a> {
    /// A value.
    Value(Value),
    /// A tensor.
    Tensor(Contents<'a>),
}

/// What seeds a generator: the workload seed, the op's name and the tensor's name, mixed; see [`Seed::new`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seed(pub u64);

/// Why a built-in fails at its arguments: one clause without the function's name, "`b` is 0, and must be positive".
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct DomainError(pub String);

/// The dtypes that a metadata tensor can have.
pub const METADATA_DTYPES: [DType; 2] = [DType::Int32, DType::Int64];

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::lang::AdtValue;

    /// A value that every parameter of that kind admits, beside the others of this kind.
    fn admitted(parameter: &Parameter) -> Value {
        match parameter.takes {
            Takes::Axes => Value::Int(0),
            Takes::Int | Takes::MaybeInt | Takes::PerAxis => Value::Int(if parameter.most.is_some() { 1 } else { 4 }),
            Takes::Bool => Value::Bool(false),
            Takes::Shape | Takes::SeqInt | Takes::Seq => Value::ints([4, 4, 4]),
            Takes::Literal(literals) => Value::Str(literals[0].into()),
            Takes::Adt(adt) => {
                let fields = vec![("max_m".into(), Value::Int(1))];
                Value::Adt(Arc::new(AdtValue { adt: adt.into(), constructor: "masked".into(), fields }))
            }
            _ => Value::None,
        }
    }

    #[test]
    fn what_a_parameter_does_not_admit_fails() {
        let mut tried = 0;
        for builtin in all() {
            let run = |args: &[Value]| match builtin.role {
                Role::Primitive { eval, .. } => eval(args).map(|_| ()),
                Role::Generator(generator) => {
                    (generator.result_shape)(args).and_then(|_| (generator.generate)(args, Seed(1))).map(|_| ())
                }
                _ => Ok(()),
            };
            let base: Vec<Value> = builtin.params.iter().map(admitted).collect();
            for (position, parameter) in builtin.params.iter().enumerate() {
                let below = parameter.least.map(|least| match base[position] {
                    Value::Seq(_) => Value::ints([4, least - 1, 4]),
                    _ => Value::Int(least - 1),
                });
                let above = parameter.most.map(|most| Value::Int(if most.strict { 4 } else { 5 }));
                for value in below.into_iter().chain(above) {
                    let mut args = base.clone();
                    args[position] = value.clone();
                    let other = |at: usize| args.get(at).filter(|_| at != position);
                    let said = builtin.outside(position, &value, &other);
                    assert!(said.is_some(), "{}: {}", builtin.name, parameter.name);
                    if matches!(builtin.role, Role::Predicate(_)) {
                        continue;
                    }
                    assert!(run(&base).is_ok() || builtin.name == "mhc.expansion", "{}", builtin.name);
                    assert!(run(&args).is_err(), "{}: {} admits {value:?}", builtin.name, parameter.name);
                    tried += 1;
                }
            }
        }
        assert!(tried > 40, "{tried}");
    }
}
