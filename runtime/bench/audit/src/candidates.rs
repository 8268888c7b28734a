//! The rows of a manifest that could be audited: those of implemented ops, each with what its op says of it.

use std::collections::BTreeSet;
use std::sync::Arc;

use tileops_analyzer::check::Assignment;
use tileops_analyzer::model::{Fact, Status};
use tileops_analyzer::roofline::RooflineBody;
use tileops_analyzer::workload::Call;
use tileops_bench::price;
use tileops_bench::rows::Entry;
use tileops_ops::Registry;
use tileops_record::Record;

use crate::plan::Candidate;

/// A row, and its price.
#[derive(Debug)]
pub struct Priced<'m> {
    /// Its call.
    pub call: &'m Call,
    /// What its op says that it costs, or why it cannot.
    pub record: Record,
    /// What tells the branches of its formula apart.
    branch: Vec<(String, String)>,
}

/// The rows of an entry; nothing where its op is not implemented.
pub fn of<'m>(registry: &Registry, entry: &Entry<'m>) -> Vec<Priced<'m>> {
    if !matches!(entry.analysis.entry.status, Fact::Valid(Status::Implemented, _)) {
        return Vec::new();
    }
    let deciding = deciding(entry);
    let priced = |call: &'m Call| {
        let record = price::record(registry, entry, call);
        Priced { call, record, branch: branch(entry, call, deciding.as_ref()) }
    };
    entry.calls().iter().map(priced).collect()
}

impl Priced<'_> {
    /// The row as one that may be chosen; nothing where its op could not price it.
    pub fn candidate(&self) -> Option<Candidate> {
        let bytes = self.record.bytes.filter(|_| self.record.failure.is_none())?;
        let (op, case) = (self.record.op.to_string(), self.call.case_id.clone());
        Some(Candidate { op, case, branch: self.branch.clone(), bytes })
    }
}

/// The discriminants that an inline formula, or the sum that stands for one, branches on. A function may branch on any.
fn deciding(entry: &Entry<'_>) -> Option<BTreeSet<Arc<str>>> {
    let arms = &entry.analysis.plan.as_ref()?.arms;
    let is_inline = arms.iter().all(|(_, body)| matches!(body, RooflineBody::Inline { .. }));
    is_inline.then(|| arms.iter().flat_map(|(point, _)| &point.assignments).map(|(name, _)| name.clone()).collect())
}

fn branch(entry: &Entry<'_>, call: &Call, deciding: Option<&BTreeSet<Arc<str>>>) -> Vec<(String, String)> {
    let passed: Vec<Arc<str>> =
        call.tensors.iter().filter(|(_, tensor)| tensor.is_some()).map(|(name, _)| name.clone()).collect();
    let point = entry.analysis.checked.point_of(&call.params, &passed);
    let own = point.assignments.into_iter().filter(|(name, _)| deciding.is_none_or(|names| names.contains(name)));
    own.map(|(name, assignment)| {
        let value = match assignment {
            Assignment::Value(value) => value.excerpt(),
            Assignment::Present(present) => if present { "passed" } else { "not passed" }.to_owned(),
            Assignment::Constructor { constructor, fields } => {
                let fields: Vec<String> = fields.iter().map(|(field, value)| format!("{field}: {value}")).collect();
                if fields.is_empty() {
                    constructor.to_string()
                } else {
                    format!("{constructor} ({})", fields.join(", "))
                }
            }
        };
        (name.to_string(), value)
    })
    .collect()
}
