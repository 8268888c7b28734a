//! Codes about the shape of an entry: keys, required facts, names, files.

codes! {
    UNKNOWN_KEY = "unknown-key", Error, "A section has a key that it does not know",
        Fix "renames the key to the nearest one, or to the one that says the same in this section; or removes it";
    MISSING_KEY = "missing-key", Error, "A section lacks a key that it must have",
        Fix "adds the key where its value is known: the family of the file, the only word that it takes, a label that is free";
    CONFLICTING_KEYS = "conflicting-keys", Error, "A section has two keys that exclude each other",
        None "either of the two keys may be the one that is meant";
    WRONG_FORM = "wrong-form", Error, "A value has a form that its key does not take",
        Fix "quotes a text, unquotes `true` and `false`, makes a list of a lone item";
    UNKNOWN_VALUE = "unknown-value", Error, "A value is not one of the words that its key takes",
        Fix "writes the nearest word";
    INVALID_NAME = "invalid-name", Error, "A name is not an identifier, or is reserved",
        Fix "puts `_` in place of what no name has";
    OP_NAME = "op-name", Error, "An op's name does not have the form of one",
        Fix "writes the name in PascalCase, with `Op` at its end";
    DUPLICATE_NAME = "duplicate-name", Error, "A name is declared or listed twice",
        Fix "removes the repeat from a list of alternatives";
    UNKNOWN_KIND = "unknown-kind", Error, "An index or a field is declared with a kind that does not exist",
        Fix "writes the nearest kind, or puts `DType[…]` around dtypes";
    UNKNOWN_DTYPE = "unknown-dtype", Error, "A dtype does not exist",
        Fix "writes the dtype's own name for an alias such as `half` or `torch.float16`, else the nearest";
    FAMILY_FILE = "family-file", Error, "An entry is in a file that is not its family's",
        Fix "writes the family of the file's other entries, or the one that the file is called by";
    DUPLICATE_OP = "duplicate-op", Error, "An op is declared twice",
        Fix "removes an entry that is there word by word already";
    UNKNOWN_STAGE_OP = "unknown-stage-op", Error, "A stage runs an op that the manifest does not have",
        Fix "writes the nearest op";
}
