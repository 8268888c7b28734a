//! What every row of our manifest costs: by the emitted Python and its formulas under CPython, by the formulas in Rust, by
//! hand, and by counts that read no roofline.

mod formulas;
mod goldens;
mod guide;
mod manifest;
mod nightly;
mod oracle;
mod python;
mod recount;
mod rust;
