//! What an op manifest says, what is wrong with it, and what can be emitted from it.
//!
//! ```text
//! text ─ syntax ─> spanned tree ─ model ─> facts ─ check ─> defects + unreached judgments
//!                                    └──── roofline ─> plan (per discriminant point)
//!                                    └──── workload ─> calls (shapes, dtypes, values)
//!                                    └──── ide ─> hovers, completions, hints, edits (plain data)
//!                                    └──── fix ─> edits that mend defects, each of them tried
//! ```
//!
//! The crate knows no protocol, no async runtime, no file system and no GPU: its inputs are texts, its outputs plain
//! data. Every function is total: any bytes give a result. See `docs/architecture.md`.

pub mod analysis;
pub mod check;
pub mod db;
pub mod defect;
pub mod eval;
pub mod expr;
mod fingerprint;
pub mod fix;
pub mod ide;
pub mod lang;
pub mod model;
pub mod roofline;
pub mod suppress;
pub mod syntax;
pub mod text;
pub mod workload;
pub mod workspace;

pub use fingerprint::fingerprint;
