//! The branches of a signature that are worth showing: those that the rows take.

use std::sync::Arc;

use crate::analysis::EntryAnalysis;
use crate::check::describe::when;
use crate::check::{Branch, Point};
use crate::workload::Call;

/// As many branches are looked at as this.
const MOST: usize = 16;

/// A branch, and the calls that take it.
pub(crate) struct Taken<'a> {
    point: Point,
    pub(crate) branch: Arc<Branch>,
    pub(crate) calls: Vec<&'a Call>,
}

/// The branches that the rows take, in their order; where no row gives a call, those that the roofline tells apart.
pub(crate) fn branches(analysis: &EntryAnalysis) -> Vec<Taken<'_>> {
    let mut found: Vec<Taken<'_>> = Vec::new();
    let taken = |point: Point, calls| Taken { branch: analysis.checked.branch(&point), point, calls };
    for call in &analysis.calls {
        let passed: Vec<_> =
            call.tensors.iter().filter(|(_, tensor)| tensor.is_some()).map(|(name, _)| name.clone()).collect();
        let point = analysis.checked.point_of(&call.params, &passed);
        match found.iter().position(|other| other.point == point) {
            Some(at) => found[at].calls.push(call),
            None if found.len() < MOST => found.push(taken(point, vec![call])),
            None => {}
        }
    }
    if found.is_empty() {
        let arms = analysis.plan.iter().flat_map(|plan| &plan.arms).map(|(point, _)| point.clone());
        found.extend(arms.take(MOST).map(|point| taken(point, Vec::new())));
    }
    if found.is_empty() {
        found.push(taken(Point::default(), Vec::new()));
    }
    found
}

/// What `of` says of each branch, equal answers once, each with the branches that it holds on, in words: `` `p` is true ``.
/// The words are empty where one answer holds on all; a branch of which nothing is said is left out.
pub(crate) fn distinct<T: PartialEq>(
    branches: &[Taken<'_>],
    mut of: impl FnMut(&Taken<'_>) -> Option<T>,
) -> Vec<(String, T)> {
    let mut groups: Vec<(Vec<usize>, T)> = Vec::new();
    for (position, branch) in branches.iter().enumerate() {
        let Some(answer) = of(branch) else { continue };
        match groups.iter_mut().find(|(_, other)| *other == answer) {
            Some((members, _)) => members.push(position),
            None => groups.push((vec![position], answer)),
        }
    }
    let alone = groups.len() == 1;
    let words = |members: &[usize]| {
        let mut clauses: Vec<String> = Vec::new();
        for &first in members.iter().filter(|_| !alone) {
            // The first of those that are marked is the one that is described.
            let order = std::iter::once(first).chain((0..branches.len()).filter(|&other| other != first));
            let judged: Vec<(&Point, bool)> =
                order.filter_map(|at| Some((&branches.get(at)?.point, members.contains(&at)))).collect();
            let clause = when(&judged).trim_start_matches(" when ").to_owned();
            if !clause.is_empty() && !clauses.contains(&clause) {
                clauses.push(clause);
            }
        }
        clauses.join(", or ")
    };
    groups.into_iter().map(|(members, answer)| (words(&members), answer)).collect()
}
