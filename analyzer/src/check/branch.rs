//! What a signature says at one discriminant point.

use std::sync::Arc;

use super::Point;
use super::plan::Plan;
use crate::expr::{Axis, Call, Expr};
use crate::model::TensorRole;
use crate::text::TextRange;

/// A signature at one point: every condition decided, every expression folded, every family applied.
#[derive(Debug, Clone, PartialEq)]
pub struct Branch {
    /// The point, completed with the presence of every tensor that it decides.
    pub point: Point,
    /// Whether the domain restrictions accept the point.
    pub accepted: bool,
    /// Every tensor of `params`, `inputs` and `outputs`, in the order declared.
    pub tensors: Vec<BranchTensor>,
    /// The `let`s, in the order declared, each folded. One whose value could not be read is not here.
    pub lets: Vec<(Arc<str>, Arc<Expr>)>,
    /// The refinements, folded, those that the point decides included. One that could not be read is not here.
    pub rules: Vec<BranchRule>,
    /// The `forall` indices of any kind that are relevant, in the order declared.
    pub relevant: Vec<Arc<str>>,
    /// Those of `relevant` that a generator determines: a row does not give them.
    pub solved_by_generator: Vec<Arc<str>>,
    /// How inference finds the indices.
    pub plan: Plan,
    /// Whether a tensor or a `let` could not be read or judged (its defect has been reported): then no call can be made.
    pub poisoned: bool,
    /// Whether something that could not be read, be it a refinement or a formula, may read more than is known: then an
    /// absence from `relevant` proves nothing.
    pub reads_more: bool,
    /// Those of `relevant` that a sound place reads, and of which it is known whether a generator determines them.
    pub certain: Vec<Arc<str>>,
}

/// A refinement at a point.
#[derive(Debug, Clone, PartialEq)]
pub struct BranchRule {
    /// Its position in `shape_rules`, from zero.
    pub position: usize,
    /// The refinement, folded.
    pub expr: Arc<Expr>,
    /// Where it stands as written.
    pub range: TextRange,
    /// `signature.shape_rules[i]`
    pub path: Arc<str>,
}

/// A tensor at a point.
#[derive(Debug, Clone, PartialEq)]
pub struct BranchTensor {
    /// Its name.
    pub name: Arc<str>,
    /// The section that declares it.
    pub role: TensorRole,
    /// `signature.<section>.<name>`
    pub path: Arc<str>,
    /// Where its name stands.
    pub range: TextRange,
    /// Whether it is passed or emitted; nothing where the point does not decide that.
    pub present: Option<bool>,
    /// Its axes, folded, families applied; nothing where it is absent, or its shape could not be read or applied.
    pub axes: Option<Arc<[Axis]>>,
    /// Where its shape stands.
    pub shape_range: TextRange,
    /// Its dtype, folded; nothing where it is absent or could not be read.
    pub dtype: Option<Arc<Expr>>,
    /// Whether the call writes it, for an input; nothing where the point does not decide that.
    pub mutated: Option<bool>,
    /// `write_only`
    pub write_only: bool,
    /// `buffer: out`
    pub buffer: bool,
    /// `alias`, where it names a tensor.
    pub alias: Option<Arc<str>>,
    /// `values`, its arguments folded.
    pub values: Option<BranchCall>,
    /// `requires`, each with its arguments folded.
    pub requires: Vec<BranchCall>,
}

/// A generator's or a predicate's call at a point.
#[derive(Debug, Clone, PartialEq)]
pub struct BranchCall {
    /// The call, its arguments folded.
    pub call: Arc<Call>,
    /// Where it stands.
    pub range: TextRange,
    /// The path of the scalar that states it.
    pub path: Arc<str>,
}

impl Branch {
    /// The tensor called `name`.
    pub fn tensor(&self, name: &str) -> Option<&BranchTensor> {
        self.tensors.iter().find(|tensor| &*tensor.name == name)
    }

    /// The `let` called `name`, folded.
    pub fn folded_let(&self, name: &str) -> Option<&Arc<Expr>> {
        self.lets.iter().find(|(n, _)| &**n == name).map(|(_, value)| value)
    }
}
