//! The one table of an entry's fixed sections: which keys each knows, what each key takes, and what it means.
//!
//! Reading, unknown-key messages, completion and hover all read this table.

use crate::lang::DType;

/// A mapping whose keys the language fixes.
#[derive(Debug)]
pub struct Section {
    /// What a message calls such a mapping: "an input tensor".
    pub noun: &'static str,
    /// Its keys, in the order of the reference.
    pub keys: &'static [Key],
    /// Whether it also takes names that the author chooses: a workload row's parameters and indices.
    pub open: bool,
}

/// One key of a fixed section.
#[derive(Debug)]
pub struct Key {
    /// The key.
    pub name: &'static str,
    /// The form of its value.
    pub form: Form,
    /// What a message says the value must be: "a mapping of index names to kinds".
    pub expects: &'static str,
    /// A value that would be accepted, as it is written in YAML.
    pub example: &'static str,
    /// Whether every such section has it.
    pub required: bool,
    /// What it states, in one line.
    pub doc: &'static str,
}

/// The form of a key's value.
#[derive(Debug, Clone, Copy)]
pub enum Form {
    /// One of some words.
    Choice(&'static [&'static str]),
    /// A name.
    Name,
    /// A name, or a list of names.
    NameOrNames,
    /// A list of names.
    Names,
    /// Names joined by dots.
    QualifiedName,
    /// A string.
    Text,
    /// `true` or `false`.
    Bool,
    /// `true`, `false` or a condition in a string.
    Condition,
    /// An expression in a string.
    Expression,
    /// A list of expressions, each in a string.
    Expressions,
    /// A dtype, or an expression that gives one.
    DType,
    /// A shape in a string.
    Shape,
    /// A type.
    Type,
    /// A call of a generator in a string.
    Generator,
    /// A list of calls of predicates, each in a string.
    Predicates,
    /// The patterns of a family's case.
    Patterns,
    /// A list of mappings from names to dtypes.
    DTypeRows,
    /// Any value.
    Any,
    /// A mapping with the keys of a section.
    Section(&'static Section),
    /// A mapping from names that the author chooses to kinds of `forall`.
    Kinds,
    /// A mapping from names that the author chooses to types.
    Types,
    /// A mapping from names that the author chooses to expressions.
    Lets,
    /// A mapping from names that the author chooses to sections of that form; `params` has one of two.
    Named(&'static [&'static Section]),
    /// A list of sections of that form.
    List(&'static Section),
    /// A number.
    Number(Quantity),
    /// A mapping from names that the author chooses to numbers.
    Numbers(Quantity),
    /// A mapping from some words to sections of that form.
    Units(&'static [&'static str], &'static Section),
}

/// What a number of a GPU profile measures: which numbers it can be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quantity {
    /// A rate, per second: above zero.
    Rate,
    /// The fraction of a rate that was reached: above zero, and no more than all of it.
    Fraction,
    /// A time: zero or more.
    Time,
    /// A size in bytes: a whole number.
    Bytes,
}

impl Section {
    /// The key called `name`.
    pub fn key(&self, name: &str) -> Option<&'static Key> {
        self.keys.iter().find(|key| key.name == name)
    }

    /// The names of the keys, in order.
    pub fn names(&self) -> impl Iterator<Item = &'static str> + use<> {
        self.keys.iter().map(|key| key.name)
    }
}

macro_rules! section {
    (
        $(#[$meta:meta])* $constant:ident, $noun:literal $(, $open:ident)?;
        $($name:literal $requirement:ident $form:expr, $expects:literal, $example:literal, $doc:literal;)*
    ) => {
        $(#[$meta])*
        pub static $constant: Section = Section {
            noun: $noun,
            keys: &[$(Key {
                name: $name,
                form: $form,
                expects: $expects,
                example: $example,
                required: section!(@required $requirement),
                doc: $doc,
            }),*],
            open: section!(@open $($open)?),
        };
    };
    (@required required) => { true };
    (@required optional) => { false };
    (@open open) => { true };
    (@open) => { false };
}

section! {
    /// An entry.
    ENTRY, "an entry";
    "family" required Form::Name, "the name of a family", "gemm",
        "The family that the op belongs to: the module that holds it, and the file that its entry is in.";
    "status" required Form::Choice(&["implemented", "spec-only"]), "`implemented` or `spec-only`", "spec-only",
        "Whether an implementation serves the entry. `spec-only` skips only the checks that need one.";
    "ref_api" optional Form::QualifiedName, "a qualified name in a string", "torch.matmul",
        "The public API that the op follows.";
    "signature" required Form::Section(&SIGNATURE), "a mapping", "{inputs: {…}, outputs: {…}}",
        "What the op takes and gives, on every branch.";
    "workloads" required Form::List(&ROW), "a non-empty list of rows", "[{M: 1024, label: square}]",
        "The calls that the op is tested, timed and priced on, one row each.";
    "roofline" required Form::Section(&ROOFLINE), "a mapping", "{flops: \"2 * M * N * K\"}",
        "The least work of a call: floating-point operations and bytes moved.";
    "composition" optional Form::Section(&COMPOSITION), "a mapping", "{kind: composite, stages: [{name: first, op: GemmFwdOp}]}",
        "The stages of an op that runs others.";
}

section! {
    /// `signature`
    SIGNATURE, "a signature";
    "forall" optional Form::Kinds, "a mapping of index names to kinds", "{M: Dim}",
        "The indices that are solved from a call, each with its kind.";
    "params" optional Form::Named(&[&VALUE_PARAM, &TENSOR_PARAM]), "a mapping of parameter names to parameters",
        "{eps: {type: float, default: 1.0e-6}}",
        "What the op is constructed with, in the order of its arguments.";
    "inputs" optional Form::Named(&[&INPUT]), "a mapping of tensor names to tensors",
        "{x: {dtype: float32, shape: \"[M]\"}}",
        "The tensors that a call takes, in the order of its arguments.";
    "outputs" optional Form::Named(&[&OUTPUT]), "a mapping of tensor names to tensors",
        "{y: {dtype: float32, shape: \"[M]\"}}",
        "The tensors that a call gives, in order.";
    "types" optional Form::Named(&[&FAMILY]), "a mapping of family names to type families",
        "{Mat: {params: {t: Bool, R: Dim, C: Dim}, match: t, cases: […]}}",
        "Type families: shapes that a discriminant chooses.";
    "let" optional Form::Lets, "a mapping of names to expressions", "{blocks: \"ceil_div(M, 128)\"}",
        "Names for what follows from indices and parameters.";
    "shape_rules" optional Form::Expressions, "a list of conditions, each in a string", "[\"M % 16 == 0\"]",
        "The refinements that every call satisfies.";
    "dtype_combos" optional Form::DTypeRows, "a non-empty list of mappings from dtype names to dtypes",
        "[{T: float16, S: float32}]",
        "The combinations of dtypes that are accepted; every one where it is absent.";
}

section! {
    /// A parameter that is a value.
    VALUE_PARAM, "a value parameter";
    "type" required Form::Type, "a type", "int",
        "What values it takes, as a Python type.";
    "default" optional Form::Any, "a value", "0",
        "The value where a call does not state one. A parameter without it is required.";
    "kw_only" optional Form::Bool, "`true` or `false`", "true",
        "Whether it is passed by name only.";
}

section! {
    /// A parameter that is a tensor.
    TENSOR_PARAM, "a construction-time tensor";
    "dtype" required Form::DType, "a dtype, a name, or an expression in a string", "float32",
        "Its dtype: a dtype's name, a DType index, a dtype parameter, or an expression that gives one.";
    "shape" required Form::Shape, "a shape in a string", "\"[M, N]\"",
        "Its shape: a list of axes, or a type family applied to arguments.";
    "optional" optional Form::Condition, "`true`, `false`, or a condition in a string", "true",
        "Whether it may be left out; a condition says when it is passed.";
    "values" optional Form::Generator, "a call of a generator in a string", "\"prefix_sum(lengths)\"",
        "How a workload row fills it: a generator's call.";
    "requires" optional Form::Predicates, "a list of calls of predicates, each in a string", "[\"in_range(0, N)\"]",
        "What its contents satisfy; they are each predicate's first argument.";
    "contiguous" optional Form::Bool, "`true` or `false`", "true",
        "Whether its storage must be contiguous.";
    "device" optional Form::Choice(&["cpu"]), "`cpu`", "cpu",
        "Where its storage is, if not on the op's own device.";
}

section! {
    /// A tensor of `inputs`.
    INPUT, "an input tensor";
    "dtype" required Form::DType, "a dtype, a name, or an expression in a string", "float32",
        "Its dtype: a dtype's name, a DType index, a dtype parameter, or an expression that gives one.";
    "shape" required Form::Shape, "a shape in a string", "\"[M, N]\"",
        "Its shape: a list of axes, or a type family applied to arguments.";
    "optional" optional Form::Condition, "`true`, `false`, or a condition in a string", "true",
        "Whether it may be left out; a condition says when it is passed.";
    "mutated" optional Form::Condition, "`true`, `false`, or a condition in a string", "true",
        "Whether the call writes it; a condition says when.";
    "write_only" optional Form::Bool, "`true` or `false`", "true",
        "Whether the call writes it without reading it; it is `mutated: true` too.";
    "values" optional Form::Generator, "a call of a generator in a string", "\"prefix_sum(lengths)\"",
        "How a workload row fills it: a generator's call.";
    "requires" optional Form::Predicates, "a list of calls of predicates, each in a string", "[\"in_range(0, N)\"]",
        "What its contents satisfy; they are each predicate's first argument.";
    "contiguous" optional Form::Bool, "`true` or `false`", "true",
        "Whether its storage must be contiguous.";
    "device" optional Form::Choice(&["cpu"]), "`cpu`", "cpu",
        "Where its storage is, if not on the op's own device.";
}

section! {
    /// A tensor of `outputs`.
    OUTPUT, "an output tensor";
    "dtype" required Form::DType, "a dtype, a name, or an expression in a string", "float32",
        "Its dtype: a dtype's name, a DType index, a dtype parameter, or an expression that gives one.";
    "shape" required Form::Shape, "a shape in a string", "\"[M, N]\"",
        "Its shape: a list of axes, or a type family applied to arguments.";
    "nullable" optional Form::Condition, "`true`, `false`, or a condition in a string", "\"present(bias)\"",
        "When the call gives it; where the condition fails, it gives None.";
    "buffer" optional Form::Choice(&["out"]), "`out`", "out",
        "`out`: the caller may pass the buffer that the output is written to.";
    "alias" optional Form::Name, "the name of an input", "x",
        "The input whose storage the output is.";
    "contiguous" optional Form::Bool, "`true` or `false`", "true",
        "Whether its storage is contiguous.";
}

section! {
    /// A member of `types`.
    FAMILY, "a type family";
    "params" required Form::Types, "a non-empty mapping of formal names to kinds", "{t: Bool, R: Dim, C: Dim}",
        "Its formals, in the order in which arguments bind to them, each with its kind.";
    "match" required Form::NameOrNames, "the name of a formal, or a non-empty list of them", "t",
        "The formals that choose the case.";
    "cases" required Form::List(&CASE), "a non-empty list of cases", "[{when: _, is: \"[R, C]\"}]",
        "Its cases: exhaustive and disjoint.";
}

section! {
    /// A case of a type family.
    CASE, "a case";
    "when" required Form::Patterns, "a pattern, or a list of one pattern for each name of `match`", "true",
        "What the case matches: `true`, `false`, a literal, a constructor, or `_` for anything.";
    "is" required Form::Shape, "a shape in a string", "\"[R, C]\"",
        "The shape where the case matches.";
}

section! {
    /// A row of `workloads`. Its other keys are the parameters and indices that it states.
    ROW, "a workload row", open;
    "some" optional Form::Names, "a list of tensor names", "[bias]",
        "The `optional: true` tensors that the call passes.";
    "dtype_cases" optional Form::DTypeRows, "a non-empty list of mappings from dtype indices to dtypes",
        "[{T: float16}, {T: bfloat16}]",
        "One call each: what the relevant DType indices are.";
    "label" required Form::Text, "a string", "square",
        "The name of the row, and how its case ids start.";
}

section! {
    /// `roofline`
    ROOFLINE, "a roofline";
    "flops" optional Form::Expression, "an expression in a string", "\"2 * M * N * K\"",
        "The floating-point operations of a call.";
    "bytes" optional Form::Expression, "an expression in a string", "\"bytes(x) + bytes(y)\"",
        "The bytes that a call moves; derived from the signature where it is absent.";
    "func" optional Form::QualifiedName, "a qualified name in a string", "\"tileops.perf.formulas.gemm_fwd\"",
        "The function that computes both, instead of `flops` and `bytes`.";
}

section! {
    /// `composition`
    COMPOSITION, "a composition";
    "kind" required Form::Choice(&["composite"]), "`composite`", "composite",
        "How the op is composed.";
    "stages" required Form::List(&STAGE), "a non-empty list of stages", "[{name: first, op: GemmFwdOp}]",
        "What the op runs, in order.";
}

section! {
    /// A stage of a composition.
    STAGE, "a stage";
    "name" required Form::Name, "a name", "first",
        "The stage's name, unique in the composition.";
    "op" optional Form::Name, "the name of an op", "GemmFwdOp",
        "The op of the manifest that the stage runs. A stage has this or `kernel`.";
    "kernel" optional Form::Name, "the name of a kernel", "reduce",
        "The kernel of the op itself that the stage runs. A stage has this or `op`.";
    "optional" optional Form::Bool, "`true` or `false`", "true",
        "Whether some calls do without the stage.";
}

section! {
    /// `types.yaml`
    TYPES_FILE, "a types file";
    "adts" required Form::Named(&[&ADT]), "a mapping of type names to types", "{Layout: {sum: {…}}}",
        "The algebraic data types that entries share.";
}

section! {
    /// A member of `adts`.
    ADT, "an algebraic data type";
    "sum" required Form::Named(&[&CONSTRUCTOR]), "a non-empty mapping of constructor names to constructors",
        "{dense: {}, masked: {fields: {max_m: Dim}}}",
        "Its constructors: a value is exactly one of them.";
}

section! {
    /// A constructor of an algebraic data type.
    CONSTRUCTOR, "a constructor";
    "python" optional Form::QualifiedName, "a qualified name in a string", "package.module.MaskedLayout",
        "The Python class of its values.";
    "fields" optional Form::Named(&[&FIELD]), "a mapping of field names to kinds", "{max_m: Dim}",
        "Its fields, each `Dim`, `Int`, `Bool` or an enum.";
    "invariant" optional Form::Expression, "a condition in a string", "\"max_m > 0\"",
        "What every value of it satisfies, over its fields.";
}

section! {
    /// A field of a constructor, where it is not a kind alone.
    FIELD, "a field";
    "type" required Form::Type, "`Dim`, `Int`, `Bool` or a union of quoted literals", "\"'tight' | 'aligned'\"",
        "Its kind.";
    "python" optional Form::QualifiedName, "a qualified name in a string", "package.module.Packing",
        "The Python type of its values.";
}

section! {
    /// A GPU profile.
    PROFILE, "a GPU profile";
    "gpu" required Form::Text, "a device's name in a string", "NVIDIA H200",
        "The device's name, as its driver gives it; the device of a record is held against it.";
    "hbm" required Form::Section(&HBM), "a mapping", "{bandwidth: 4.8e+12}",
        "The memory.";
    "cuda_core" optional Form::Units(CUDA_CORE, &PEAK), "a mapping of what is computed to rates", "{fp32: {flops: 6.7e+13}}",
        "The rates of the CUDA cores.";
    "tensor_core" optional Form::Units(TENSOR_CORE, &PEAK), "a mapping of operands to rates", "{bf16: {flops: 9.9e+14}}",
        "The rates of the tensor cores.";
    "latency_floor_ns" required Form::Number(Quantity::Time), "a number", "1100",
        "The time below which a launch dominates, in nanoseconds.";
    "l2_bytes" optional Form::Number(Quantity::Bytes), "an integer", "62914560",
        "The size of the L2 cache, in bytes.";
    "source" optional Form::Text, "a string", "data sheet",
        "Where the numbers are from.";
}

section! {
    /// A profile's memory.
    HBM, "a profile's memory";
    "bandwidth" required Form::Number(Quantity::Rate), "a number", "4.8e+12",
        "The theoretical bandwidth, in bytes a second.";
    "calibration" optional Form::Number(Quantity::Fraction), "a number", "0.93",
        "The envelope over the measured mixes of reads and writes, as a fraction of `bandwidth`.";
    "mixes" optional Form::Numbers(Quantity::Fraction), "a mapping of mixes to numbers", "{copy: 0.9}",
        "The fraction that each mix reached, kept as data.";
}

section! {
    /// A rate of a profile.
    PEAK, "a rate";
    "flops" required Form::Number(Quantity::Rate), "a number", "9.9e+14",
        "The theoretical rate, in FLOP a second.";
    "calibration" optional Form::Number(Quantity::Fraction), "a number", "0.8",
        "The fraction of it that was reached.";
}

/// What the CUDA cores of a GPU have rates of their own for.
const CUDA_CORE: &[&str] = &["fp64", "fp32", "fp16", "bf16", "int32"];
/// The operands of tensor cores.
const TENSOR_CORE: &[&str] = &["fp64", "tf32", "bf16", "fp16", "fp8", "fp6", "fp4", "int8", "int4", "b1"];

/// Every section of a GPU profile, with where it stands.
pub static PROFILE_SECTIONS: &[(&str, &Section)] =
    &[("<profile>", &PROFILE), ("hbm", &HBM), ("cuda_core.<unit>", &PEAK), ("tensor_core.<unit>", &PEAK)];

/// Every section of a manifest, with where it stands: for documentation and completion.
pub static SECTIONS: &[(&str, &Section)] = &[
    ("<Op>", &ENTRY),
    ("signature", &SIGNATURE),
    ("signature.params.<name>", &VALUE_PARAM),
    ("signature.params.<name>", &TENSOR_PARAM),
    ("signature.inputs.<name>", &INPUT),
    ("signature.outputs.<name>", &OUTPUT),
    ("signature.types.<name>", &FAMILY),
    ("signature.types.<name>.cases[]", &CASE),
    ("workloads[]", &ROW),
    ("roofline", &ROOFLINE),
    ("composition", &COMPOSITION),
    ("composition.stages[]", &STAGE),
    ("types.yaml", &TYPES_FILE),
    ("adts.<name>", &ADT),
    ("adts.<name>.sum.<name>", &CONSTRUCTOR),
    ("adts.<name>.sum.<name>.fields.<name>", &FIELD),
];

/// The kinds of `forall`, each with its meaning.
pub static INDEX_KINDS: &[(&str, &str)] = &[
    ("Dim", "A non-negative integer: the length of an axis."),
    ("Shape", "A tuple of `Dim`: any number of axes."),
    ("DType[…]", "One of the dtypes listed: `DType[float16 | bfloat16]`."),
    ("Seq[Int]", "A list of integers, which a generator takes and a workload row states."),
];

/// The kinds of an ADT's fields, as a message lists them.
pub(crate) const FIELD_KINDS: [&str; 3] = ["Dim", "Int", "Bool"];

/// The names of all dtypes.
pub(crate) fn dtype_names() -> impl Iterator<Item = &'static str> {
    DType::ALL.iter().map(|dtype| dtype.name())
}

/// Whether Python gives a name a meaning of its own, so that nothing can be called by it.
pub(crate) fn is_python_keyword(name: &str) -> bool {
    PYTHON_KEYWORDS.contains(&name)
}

/// Names that Python gives a meaning of its own.
const PYTHON_KEYWORDS: [&str; 35] = [
    "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue", "def", "del",
    "elif", "else", "except", "finally", "for", "from", "global", "if", "import", "in", "is", "lambda", "nonlocal",
    "not", "or", "pass", "raise", "return", "try", "while", "with", "yield",
];

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_key_is_listed_once_and_documented() {
        for (place, section) in SECTIONS.iter().chain(PROFILE_SECTIONS) {
            let names: BTreeSet<_> = section.names().collect();
            assert_eq!(names.len(), section.keys.len(), "{place}");
            for key in section.keys {
                assert!(key.doc.ends_with('.'), "{place}: {}", key.name);
                assert!(!key.expects.is_empty() && !key.example.is_empty(), "{place}: {}", key.name);
            }
        }
    }
}
