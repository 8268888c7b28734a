//! `workloads`: the form of rows. What a row must state is judged when it is made a call.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::fields::{self, Fields, Slot};
use super::signature::dtype_row;
use crate::defect::Findings;
use crate::expr::Ident;
use crate::model::{DTypeCase, Fact, Path, Row, Signature, schema};
use crate::syntax::Node;

/// Reads `workloads`. A key of a row that `signature` declares is not taken for a misspelt one.
pub(super) fn read(slot: Slot<'_>, signature: Option<&Signature>, findings: &mut Findings) -> Option<Vec<Fact<Row>>> {
    let mut declared: FxHashSet<Arc<str>> = FxHashSet::default();
    if let Some(signature) = signature {
        declared.extend(signature.forall.items().iter().map(|index| index.name.value.clone()));
        declared.extend(signature.params.items().iter().map(|param| param.name.value.clone()));
    }
    fields::items(slot, false, "a mapping", "{M: 1024, label: square}", findings, |position, item, findings| {
        row(position, item, &declared, findings)
    })
}

fn row(position: usize, slot: Slot<'_>, declared: &FxHashSet<Arc<str>>, findings: &mut Findings) -> Option<Row> {
    let label = format!("`{}`", slot.path);
    let row = Fields::open_with(&schema::ROW, Some(declared), slot, &label, findings)?;
    let mut values: Vec<(Ident, Node)> = Vec::new();
    let mut seen: FxHashMap<Arc<str>, usize> = FxHashMap::default();
    for (name, node) in row.open_pairs() {
        // Of a key that is written twice the last value stands, as in every reader.
        match seen.get(&name.value).and_then(|&position| values.get_mut(position)) {
            Some((_, value)) => *value = node.clone(),
            None => {
                seen.insert(name.value.clone(), values.len());
                values.push((name, node.clone()));
            }
        }
    }
    Some(Row {
        position,
        values,
        some: row.fact("some", findings, |slot, findings| fields::names(slot, true, findings)),
        dtype_cases: row.fact("dtype_cases", findings, |slot, findings| {
            let expects = "a mapping of dtype indices to dtypes";
            fields::items(slot, false, expects, "{T: float16}", findings, |_, item, findings| {
                Some(DTypeCase { assignments: dtype_row(item, findings)?, range: item.node.range })
            })
        }),
        label: row.fact("label", findings, fields::text),
        complete: row.is_complete(),
        range: slot.node.range,
        path: Path::from(slot.path),
    })
}
