//! The bytes audit: a formula's read half against what the memory's counters saw.
//!
//! ```text
//! rows ─ plan ─> which of them, largest first ─ Nsight Compute ─> ncu ─> counters ─ judge ─> verdict ─> report
//!                                                      exemptions ─────────────────┘
//! ```
//!
//! `launch` is the one room that starts a program; the others judge what they are given: the rows that could be run, and the
//! text that Nsight Compute printed. `candidates` reads the rows of a manifest.

pub mod candidates;
pub mod counters;
pub mod exempt;
pub mod launch;
pub mod ncu;
pub mod plan;
pub mod report;
pub mod verdict;

pub use exempt::{Exemption, Exemptions};
pub use ncu::Profile;
pub use plan::{Candidate, Plan};
pub use verdict::{Audited, Row, Run, Verdict, judge};
