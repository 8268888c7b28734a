//! Codes about a signature: names, kinds, families, effects, inference.

codes! {
    // Names and kinds.
    UNKNOWN_NAME = "unknown-name", Error, "An expression names something that nothing declares";
    MISPLACED_NAME = "misplaced-name", Error, "A name stands where things of its sort cannot be read";
    SHADOWED_NAME = "shadowed-name", Error, "A comprehension's variable has the name of something else";
    LET_CYCLE = "let-cycle", Error, "A `let` is defined by itself";
    PARAMETER_TYPE = "parameter-type", Error, "A parameter's type is not one that the language knows";
    BAD_DEFAULT = "bad-default", Error, "A parameter's default is not a value of its type";
    KIND_MISMATCH = "kind-mismatch", Error, "An expression has another kind than its place takes";
    NEVER_EQUAL = "never-equal", Error, "A comparison is between things that can never be equal";
    NO_SUCH_MEMBER = "no-such-member", Error, "A literal is no member of the set that it is compared with";
    UNGUARDED_VALUE = "unguarded-value", Error, "An optional value is read where it may be absent";
    UNGUARDED_FIELD = "unguarded-field", Error, "A field is read where its constructor may be another";
    UNKNOWN_FIELD = "unknown-field", Error, "Something has no field of that name";
    UNKNOWN_FUNCTION = "unknown-function", Error, "An expression calls a function that does not exist";
    MISPLACED_CALL = "misplaced-call", Error, "A function is called where it cannot be";
    CALL_ARGUMENTS = "call-arguments", Error, "A call's arguments do not fit the parameters of what it calls";

    // Discriminants, families, effects, inference.
    MANY_POINTS = "many-points", Advisory, "A group of discriminants has more combinations than can be checked at ease";
    EMPTY_DOMAIN = "empty-domain", Error, "The refinements reject every combination of discriminants";
    UNDECIDED_CONDITION = "undecided-condition", Error, "A condition reads something that no discriminant decides";
    FAMILY_DEFINITION = "family-definition", Error, "The parts of a type family do not fit each other";
    FAMILY_CASES = "family-cases", Error, "Not exactly one case of a type family matches";
    FAMILY_APPLICATION = "family-application", Error, "A type family is applied to arguments that it cannot take";
    UNUSED_FAMILY = "unused-family", Error, "No shape applies a type family";
    REQUIRED_AFTER_OPTIONAL = "required-after-optional", Error, "A required input follows an optional one";
    TENSOR_EFFECT = "tensor-effect", Error, "The effects of a signature's tensors contradict each other";
    METADATA_TENSOR = "metadata-tensor", Error, "A metadata tensor cannot hold what generates or constrains it";
    DTYPE_COMBOS = "dtype-combos", Error, "`dtype_combos` is no table of dtypes that a call can have";
    UNUSED_INDEX = "unused-index", Error, "An index is declared and never used";
    UNSOLVED_INDEX = "unsolved-index", Error, "Nothing in a call says what an index is";
}
