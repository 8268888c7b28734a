//! The judgments on one entry's signature: names, kinds, discriminants, families, effects, inference.

mod branch;
mod discriminants;
mod facts;
mod plan;
mod point;
mod scope;
mod signature;

pub use branch::{Branch, BranchCall, BranchRule, BranchTensor};
pub use discriminants::discriminants;
pub use plan::{Anchor, Mismatch, Observed, Place, Plan, Step, execute};
pub use point::{Assignment, Discriminant, DiscriminantKind, Point};
pub use scope::{Scope, Symbol, SymbolRole};
pub use signature::{Checked, check_signature};
