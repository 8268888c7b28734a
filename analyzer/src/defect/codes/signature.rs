//! Codes about a signature: names, kinds, families, effects, inference.

codes! {
    // Names and kinds.
    UNKNOWN_NAME = "unknown-name", Error, "An expression names something that nothing declares",
        Fix "writes the nearest name; moves a refinement that defines a name to `let`";
    MISPLACED_NAME = "misplaced-name", Error, "A name stands where things of its sort cannot be read",
        Fix "asks for the presence of a tensor, or its bytes";
    SHADOWED_NAME = "shadowed-name", Error, "A comprehension's variable has the name of something else",
        Fix "gives the variable a name that nothing else has";
    LET_CYCLE = "let-cycle", Error, "A `let` is defined by itself",
        None "which definition of the cycle is wrong cannot be told";
    PARAMETER_TYPE = "parameter-type", Error, "A parameter's type is not one that the language knows",
        Fix "writes the nearest type";
    OPAQUE_TYPE = "opaque-type", Advisory, "A parameter's type is a bare name that nothing declares",
        None "which module the class is in, or what the ADT would be, is for the op's author to say";
    DEFAULT_ORDER = "default-order", Advisory, "A parameter without a default follows one with a default",
        None "where the parameter belongs is for the op's author to say";
    BAD_DEFAULT = "bad-default", Error, "A parameter's default is not a value of its type",
        Fix "unquotes a number, writes `null` for `None`, a literal for one that is near it";
    KIND_MISMATCH = "kind-mismatch", Error, "An expression has another kind than its place takes",
        Fix "asks for the presence of what can be absent, splices a sequence, makes an integer of a condition";
    NEVER_EQUAL = "never-equal", Error, "A comparison is between things that can never be equal",
        Fix "compares the constructor of a value with a constructor's name";
    NO_SUCH_MEMBER = "no-such-member", Error, "A literal is no member of the set that it is compared with",
        Fix "writes the nearest member";
    UNGUARDED_VALUE = "unguarded-value", Error, "An optional value is read where it may be absent",
        Fix "lets a refinement hold where the value is absent";
    UNGUARDED_FIELD = "unguarded-field", Error, "A field is read where its constructor may be another",
        Fix "lets a refinement hold where the constructor is another";
    UNKNOWN_FIELD = "unknown-field", Error, "Something has no field of that name",
        Fix "writes the nearest field; leaves out the `.value` of what is never absent";
    UNKNOWN_FUNCTION = "unknown-function", Error, "An expression calls a function that does not exist",
        Fix "writes the nearest function";
    MISPLACED_CALL = "misplaced-call", Error, "A function is called where it cannot be",
        None "what the call was to say has no form there";
    CALL_ARGUMENTS = "call-arguments", Error, "A call's arguments do not fit the parameters of what it calls",
        Fix "writes the nearest parameter's name";
    OUTSIDE_DOMAIN = "outside-domain", Error, "A part of an expression has no value, whatever the call",
        None "what the number was to be is for the op's author to say";

    // Discriminants, families, effects, inference.
    MANY_POINTS = "many-points", Advisory, "A group of discriminants has more combinations than can be checked at ease",
        None "which parameters need not be linked is for the op's author to say";
    EMPTY_DOMAIN = "empty-domain", Error, "The refinements reject every combination of discriminants",
        None "which refinement is wrong cannot be told";
    UNDECIDED_CONDITION = "undecided-condition", Error, "A condition reads something that no discriminant decides",
        None "what decides the condition is for the op's author to say";
    FAMILY_DEFINITION = "family-definition", Error, "The parts of a type family do not fit each other",
        Fix "writes the nearest formal, literal, constructor or field; removes a repeated scrutinee";
    FAMILY_CASES = "family-cases", Error, "Not exactly one case of a type family matches",
        None "the shape of a case that is missing, and which of two is right, cannot be told";
    FAMILY_APPLICATION = "family-application", Error, "A type family is applied to arguments that it cannot take",
        None "which argument is missing or too many cannot be told";
    UNUSED_FAMILY = "unused-family", Error, "No shape applies a type family",
        Fix "removes the family";
    REQUIRED_AFTER_OPTIONAL = "required-after-optional", Error, "A required input follows an optional one",
        None "the order of inputs is the order of the call's arguments, which its callers know";
    TENSOR_EFFECT = "tensor-effect", Error, "The effects of a signature's tensors contradict each other",
        Fix "adds `mutated: true`, or gives an alias the shape and the dtype of its input";
    METADATA_TENSOR = "metadata-tensor", Error, "A metadata tensor cannot hold what generates or constrains it",
        None "whether the generator or the tensor is wrong cannot be told";
    DTYPE_COMBOS = "dtype-combos", Error, "`dtype_combos` is no table of dtypes that a call can have",
        Fix "removes a repeated row; writes the nearest dtype";
    UNUSED_INDEX = "unused-index", Error, "An index is declared and never used",
        Fix "removes the index from `forall` and from the rows";
    UNSOLVED_INDEX = "unsolved-index", Error, "Nothing in a call says what an index is",
        None "what determines the index is for the op's author to say";
}

/// The codes that are about a part of an expression: said twice of one text and one subject, they are one mistake.
pub(crate) const OF_EXPRESSIONS: &[&super::Code] = &[
    &UNKNOWN_NAME,
    &MISPLACED_NAME,
    &KIND_MISMATCH,
    &NEVER_EQUAL,
    &NO_SUCH_MEMBER,
    &UNGUARDED_VALUE,
    &UNGUARDED_FIELD,
    &UNKNOWN_FIELD,
    &UNKNOWN_FUNCTION,
    &MISPLACED_CALL,
    &CALL_ARGUMENTS,
    &OUTSIDE_DOMAIN,
];
