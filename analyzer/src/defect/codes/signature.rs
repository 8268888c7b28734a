//! Codes about a signature: names, kinds, families, effects, inference.

codes! {
    UNKNOWN_NAME = "unknown-name", Error, "An expression names something that nothing declares";
}
