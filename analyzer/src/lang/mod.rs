//! The facts of the language, each declared once: dtypes, kinds, values, built-ins, keywords.

pub mod builtins;
mod dtype;
mod kind;
mod value;

pub use dtype::{Category, DType, DTypeSet};
pub use kind::{Adt, AdtTable, Constructor, Field, Kind, Literals};
pub use value::{AdtValue, Value};
