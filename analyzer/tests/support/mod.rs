//! What several tests of the analyzer need: CPython as a judge, and choices that are the same on every machine.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]
#![allow(clippy::print_stderr, reason = "a test that is skipped says so")]
#![allow(dead_code, reason = "each test uses its part")]

use std::io::Write as _;
use std::process::{Command, Stdio};

use serde::Serialize;
use serde::de::DeserializeOwned;
use tileops_analyzer::lang::builtins::{self, Seed};

/// What CPython, run with `arguments`, answers in JSON to `question` in JSON.
///
/// Nothing where python3 or `module` is not installed, except in CI, which needs them.
pub(crate) fn judge<T: DeserializeOwned>(
    module: &str,
    arguments: &[&str],
    question: &(impl Serialize + ?Sized),
) -> Option<T> {
    let import = format!("import {module}");
    if !Command::new("python3").args(["-c", &import]).output().is_ok_and(|output| output.status.success()) {
        assert!(std::env::var_os("CI").is_none(), "CI needs python3 with `{module}` for this test");
        eprintln!("skipped: python3 with `{module}` is not installed, so we were compared with nothing");
        return None;
    }
    let mut python =
        Command::new("python3").args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut stdin = python.stdin.take().unwrap();
    let question = serde_json::to_vec(question).unwrap();
    let writer = std::thread::spawn(move || stdin.write_all(&question));
    let output = python.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    assert!(output.status.success(), "the judge failed");
    Some(serde_json::from_slice(&output.stdout).unwrap())
}

/// A source of choices.
pub(crate) struct Random(builtins::Random);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Random(builtins::Random::new(Seed(seed)))
    }

    pub(crate) fn below(&mut self, n: usize) -> usize {
        usize::try_from(self.0.below(n as u64)).unwrap()
    }

    pub(crate) fn pick<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len())]
    }
}
