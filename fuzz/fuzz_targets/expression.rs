//! Any bytes, read as an expression, a shape and a type.

#![no_main]

#[path = "../checks.rs"]
mod checks;

libfuzzer_sys::fuzz_target!(|data: &[u8]| checks::expression(&String::from_utf8_lossy(data)));
