//! Contractions, routing and caches, on inputs whose results are known by hand.

mod dense;
mod moved;
mod narrow;
mod support;
