//! What the emitted modules use.

pub use std::sync::Arc;

pub use crate::entry::{Axes, Construction, Entry, all, also, one};
pub use crate::primitives::*;
pub use crate::{
    Arguments, CheckedCall, DType, Declared, Int, Op, OpError, Params, Registration, Roofline, State, Tensor, Value,
    Variant, int,
};
