//! References on a few numbers whose results are known by hand.
#![allow(clippy::unwrap_used, reason = "a test")]

mod attention;
mod dense;
mod elementwise;
mod grouped;
mod layers;
mod moved;
mod narrow;
mod positions;
mod reductions;
mod rows;
mod support;
