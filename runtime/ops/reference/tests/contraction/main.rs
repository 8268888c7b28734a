//! Contractions, routing and caches, on inputs whose results are known by hand.

mod attention;
mod dense;
mod grouped;
mod layers;
mod moved;
mod narrow;
mod support;
