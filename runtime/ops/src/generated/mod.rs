//! The ops of the manifest.

use crate::Registration;

/// Every op, by name.
pub static REGISTRY: &[Registration] = &[];
