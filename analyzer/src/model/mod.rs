//! The entry model: what an entry states, every field a [`Fact`], read from its YAML tree.

mod entry;
mod fact;
mod read;
pub mod schema;

pub use entry::{
    AliasOf, Combo, Composition, Condition, DTypeCase, Effect, Entry, Family, FamilyCase, Formula, Generator, Index,
    IndexKind, Let, Param, ParamRole, Path, Pattern, PatternFields, Roofline, Row, Signature, Stage, StageTarget,
    Status, Tensor, TensorRole, TypeRef,
};
pub use fact::Fact;
pub use read::{TYPE_NAMES, TypesFile, read_entry, read_types};
pub(crate) use read::{is_builtin_type, is_profile, key_at, profile_key, profile_keys};
