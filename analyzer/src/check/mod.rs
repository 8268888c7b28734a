//! The judgments on one entry's signature: names, kinds, discriminants, families, effects, inference.

mod attributes;
mod branch;
mod combos;
mod constants;
mod coverage;
pub(crate) mod describe;
mod discriminants;
mod effects;
pub(crate) mod facts;
mod families;
mod groups;
mod guards;
mod infer;
mod inference;
mod kinds;
pub(crate) mod linear;
mod metadata;
mod plan;
mod point;
mod scope;
mod sheet;
mod show;
mod signature;
mod types;
mod value;
mod view;

pub use attributes::withdraw_fields;
pub use branch::{Branch, BranchCall, BranchRule, BranchTensor};
pub(crate) use constants::judge_invariant;
pub use discriminants::discriminants;
pub(crate) use facts::{reads, shape_reads, tensors};
pub(crate) use infer::CallRole;
pub(crate) use infer::some_of;
pub use infer::{Inference, Position};
pub use kinds::check_kinds;
pub use plan::{Anchor, Mismatch, Observed, Place, Plan, Step, execute};
pub use point::{Assignment, Discriminant, DiscriminantKind, Point};
pub use scope::{FamilySymbol, Scope, Symbol, SymbolRole};
pub use signature::{Checked, check_signature};
pub use types::{kind_of_formal, kind_of_index, kind_of_type, union_of};
pub use value::{ValueProblem, value_of_index, value_of_node};
pub(crate) use view::TensorsAt;

#[cfg(test)]
mod tests;
