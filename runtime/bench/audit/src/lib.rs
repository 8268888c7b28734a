//! The bytes audit: a formula's read half against what the memory's counters saw.
//!
//! ```text
//! rows ─ plan ─> which of them, largest first ─ Nsight Compute ─> ncu ─> counters ─ judge ─> verdict ─> report
//!                                                      exemptions ─────────────────┘
//! ```
//!
//! Nothing here runs anything: the program that does gives this crate the rows that it could run and the text that
//! Nsight Compute printed.

pub mod counters;
pub mod exempt;
pub mod ncu;
pub mod plan;
pub mod report;
pub mod verdict;

pub use exempt::{Exemption, Exemptions};
pub use ncu::Profile;
pub use plan::{Candidate, Plan};
pub use verdict::{Audited, Row, Run, Verdict, judge};
