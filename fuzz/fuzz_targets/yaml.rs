//! Any bytes, read as a manifest file.

#![no_main]

#[path = "../checks.rs"]
mod checks;

libfuzzer_sys::fuzz_target!(|data: &[u8]| checks::file(&String::from_utf8_lossy(data)));
