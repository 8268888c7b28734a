//! Codes about the shape of an entry: keys, required facts, names, files.

codes! {
    UNKNOWN_KEY = "unknown-key", Error, "A section has a key that it does not know";
}
