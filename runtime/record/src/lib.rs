//! The benchmark record: what one row of one op says, once it was priced and, where it ran, timed.
//!
//! Benchmarks write records and know no GPU profile; the roofline tool reads them and knows no op. Both know this crate,
//! and the schema that it declares (`docs/records.md`) is all that they share.

mod brief;
mod compact;
mod extra;
mod form;
mod read;
mod record;
pub mod stats;
mod text;
pub mod units;
mod write;

pub use extra::Extra;
pub use read::{Loaded, Problem, Reason, each, each_brief, load, parse};
pub use record::{Clocks, Correctness, Device, Failure, FailureKind, Policy, Record, Run, SCHEMA, Tensor, Timing};
pub use text::Text;
pub use write::Writer;

/// The schema of a record as a JSON Schema (draft 2020-12).
pub fn json_schema() -> serde_json::Value {
    schemars::schema_for!(Record).to_value()
}
