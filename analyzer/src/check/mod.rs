//! The judgments on one entry's signature: names, kinds, discriminants, families, effects, inference.

mod point;
mod scope;

pub use point::{Assignment, Discriminant, DiscriminantKind, Point};
pub use scope::{Scope, Symbol, SymbolRole};
