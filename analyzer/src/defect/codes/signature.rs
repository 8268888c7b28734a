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
}
