//! Runs manifests written in Markdown: each `##` heading is a case, each fenced YAML block a file of its manifest, and
//! comment lines under the characters at fault say which defects are expected there.
//!
//! ````text
//! ## a name that nothing declares
//!
//! ```yaml
//! DemoFwdOp:
//!   signature:
//!     inputs:
//!       x: {dtype: T, shape: "[M, Q]"}
//!     #                            ^ error[unknown-name]: `Q` is not declared
//! ```
//! ````
//!
//! A marker line is an optional `#`, a run of `^`, and `error[code]`, `advisory[code]` or `unreached`; behind a colon
//! may follow a text that the message contains. It marks characters of the nearest line above that is no marker, columns
//! counted in Unicode scalars. A defect over several lines is marked on its first, to that line's end; one at no
//! character at all, at the character behind it. Markers are taken out before the text is analyzed. Judgments that are
//! unreached are compared where a case marks one.

mod judge;
mod markdown;
mod marker;
mod rows;

use std::path::{Path, PathBuf};

pub use judge::{Found, judge};
pub use markdown::{Case, File, cases, fenced_files};
pub use marker::{Expected, Marked, Severity, strip};
pub use rows::with_rows;

/// The workspace's root.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new(".")).to_path_buf()
}

/// Whether expectations are to be rewritten from what is found.
pub fn update_expectations() -> bool {
    std::env::var_os("UPDATE_EXPECT").is_some_and(|value| value != "0" && !value.is_empty())
}
