//! Codes about the shape of an entry: keys, required facts, names, files.

codes! {
    UNKNOWN_KEY = "unknown-key", Error, "A section has a key that it does not know";
    MISSING_KEY = "missing-key", Error, "A section lacks a key that it must have";
    CONFLICTING_KEYS = "conflicting-keys", Error, "A section has two keys that exclude each other";
    WRONG_FORM = "wrong-form", Error, "A value has a form that its key does not take";
    UNKNOWN_VALUE = "unknown-value", Error, "A value is not one of the words that its key takes";
    INVALID_NAME = "invalid-name", Error, "A name is not an identifier, or is reserved";
    OP_NAME = "op-name", Error, "An op's name does not have the form of one";
    DUPLICATE_NAME = "duplicate-name", Error, "A name is declared or listed twice";
    UNKNOWN_KIND = "unknown-kind", Error, "An index or a field is declared with a kind that does not exist";
    UNKNOWN_DTYPE = "unknown-dtype", Error, "A dtype does not exist";
    FAMILY_FILE = "family-file", Error, "An entry is in a file that is not its family's";
    DUPLICATE_OP = "duplicate-op", Error, "An op is declared twice";
    UNKNOWN_STAGE_OP = "unknown-stage-op", Error, "A stage runs an op that the manifest does not have";
}
