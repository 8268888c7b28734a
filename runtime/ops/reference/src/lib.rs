//! What the ops compute, on the CPU.
//!
//! Each implemented op has a [`Reference`] here: its definition, written for reading and computed in double precision (whole
//! numbers exactly), sharing nothing with the CUDA kernels but the op's checked call. It is the judge of their output, and
//! what runs an op where there is no GPU ([`Cpu`]).
//!
//! A reference is cut into units that do not depend on each other ([`Units`]): a row of a norm, a block of an elementwise op,
//! a row of a product. A call is computed whole, all units in parallel, or judged by some of them where computing all would
//! take too long.

mod cpu;
mod deciding;
mod distribution;
mod host;
mod number;
mod ops;
mod units;

pub use cpu::Cpu;
pub use deciding::{Deciding, Ends, Rows};
pub use distribution::{Distribution, Drawing};
pub use host::{Host, View};
pub use number::{get, get_int, put, put_int, round_to};
pub use ops::{REFERENCES, of};
pub use units::{Inputs, Place, Prepare, Reference, Sink, Target, Units};
