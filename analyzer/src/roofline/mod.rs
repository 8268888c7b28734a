//! The roofline field: whether it can be emitted, and what would be.

mod analysis;
mod formulas;

use std::sync::Arc;

pub(crate) use analysis::derived;
pub use analysis::{analyze, check_formulas};
pub use formulas::{FormulaFunction, FormulaLanguage, FormulaPlace, Formulas, formula_functions};

use crate::check::Point;
use crate::expr::{Expr, Shape};

/// What emission needs of a roofline, decided. It exists only where emission is safe.
#[derive(Debug, Clone, PartialEq)]
pub struct RooflinePlan {
    /// One body a point; a single one with an empty point where no discriminant matters.
    pub arms: Vec<(Point, RooflineBody)>,
}

/// What the generated method computes at one point.
#[derive(Debug, Clone, PartialEq)]
pub enum RooflineBody {
    /// Formulas, folded at the point.
    Inline {
        /// `flops`
        flops: Expr,
        /// `bytes`, or the sum that stands for it.
        bytes: Bytes,
    },
    /// A call of the function with that path.
    Func(Arc<str>),
}

/// The bytes of an inline roofline.
#[derive(Debug, Clone, PartialEq)]
pub enum Bytes {
    /// The entry's own formula.
    Formula(Expr),
    /// The sum over the tensors of the point.
    Derived(Vec<Term>),
}

/// One tensor's part of the derived bytes.
#[derive(Debug, Clone, PartialEq)]
pub struct Term {
    /// The tensor.
    pub tensor: Arc<str>,
    /// How often its size counts as a read.
    pub reads: u32,
    /// How often its size counts as a write.
    pub writes: u32,
    /// Its shape at the point, families applied.
    pub shape: Shape,
    /// Its dtype at the point.
    pub dtype: Expr,
}
