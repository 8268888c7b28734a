//! Codes about workload rows.

codes! {
    ROW_KEY = "row-key", Error, "A workload row lacks a key that its call needs, or has one that it does not";
}
