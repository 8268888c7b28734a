//! The judgments on a signature that range over its discriminant points, behind one entry point.

use std::sync::Arc;

use super::discriminants::{Variable, discriminants, variables};
use super::{Branch, Discriminant, Point, Scope};
use crate::defect::Findings;
use crate::lang::{AdtTable, Value};
use crate::model::{Entry, Signature};

/// A judged signature: its discriminants, and what it says at each of their points.
#[derive(Debug)]
pub struct Checked {
    discriminants: Vec<Discriminant>,
    variables: Vec<Variable>,
    signature: Option<Signature>,
}

/// Judges the signature of `entry` at its discriminant points: presence and effects, families, inference, `dtype_combos`.
/// What it finds goes to `findings`; the result answers for any point.
pub fn check_signature(entry: &Entry, scope: &Scope, _adts: &AdtTable, _findings: &mut Findings) -> Checked {
    let signature = entry.signature.valid().cloned();
    let discriminants = signature.as_ref().map_or_else(Vec::new, |s| discriminants(s, scope));
    let variables = variables(&discriminants, |name| scope.get(name).map_or(entry.name.range, |s| s.range));
    Checked { discriminants, variables, signature }
}

impl Checked {
    /// Every discriminant: parameters, `optional: true` tensors, `out`.
    pub fn discriminants(&self) -> &[Discriminant] {
        &self.discriminants
    }

    /// The point of a call with these parameter values (an absent `Maybe` is [`Value::None`]) and these `optional: true`
    /// tensors and buffers passed. A discriminant parameter without a value is left undetermined.
    pub fn point_of(&self, params: &[(Arc<str>, Value)], passed: &[Arc<str>]) -> Point {
        let _ = (params, passed, &self.variables, &self.signature);
        Point::default()
    }

    /// The accepted combinations of the discriminants called `names` (of those in the order of the discriminants), at
    /// most `limit` of them. Other discriminants are left undetermined. No name gives one empty point.
    pub fn points_over(&self, names: &[Arc<str>], limit: usize) -> Vec<Point> {
        let _ = (names, limit);
        vec![Point::default()]
    }

    /// What the signature says at `point`. A point that leaves discriminants undetermined gives a view that leaves what
    /// depends on them undecided.
    pub fn branch(&self, point: &Point) -> Arc<Branch> {
        Arc::new(Branch {
            point: point.clone(),
            accepted: true,
            tensors: Vec::new(),
            lets: Vec::new(),
            rules: Vec::new(),
            relevant: Vec::new(),
            solved_by_generator: Vec::new(),
            plan: super::Plan::default(),
            poisoned: true,
        })
    }
}
