//! The emitted Rust, run: each row's op is constructed by name, called without data, and asked.

use tileops_analyzer::workload::Call;
use tileops_bench::rows::{Manifest, value_of};
use tileops_ops::generated::REGISTRY;
use tileops_ops::{Op, OpError};

use crate::python::PRICES;

/// Every row of our manifest: its id, its call, and its op, called without data.
pub(crate) fn for_each_row(mut take: impl FnMut(&str, &str, &Call, Result<Box<dyn Op>, OpError>)) {
    let manifest = Manifest::read(&tileops_tests::root().join("manifest")).expect("our manifest is clean");
    let mut rows = 0;
    for entry in manifest.entries() {
        for call in entry.calls() {
            rows += 1;
            take(&format!("{} {}", entry.op(), call.case_id), entry.op(), call, entry.called(REGISTRY, call));
        }
    }
    assert_eq!(rows, PRICES.len());
}

#[test]
fn emitted_rust_and_emitted_python_price_every_row_alike() {
    let mut wrong = Vec::new();
    for_each_row(|id, _, call, op| {
        let found = op.as_ref().map_err(Clone::clone).and_then(|op| op.eval_roofline());
        let python = PRICES.get(id).map(|&(flops, bytes)| (u128::try_from(flops), u128::try_from(bytes)));
        match (found, python) {
            (Ok(found), Some((Ok(flops), Ok(bytes)))) if (found.flops, found.bytes) == (flops, bytes) => {}
            (found, python) => wrong.push(format!("{id}: {found:?}, and Python has {python:?}")),
        }
        // What the call resolved is what the row states.
        let op = op.unwrap_or_else(|error| panic!("{id}: {error}"));
        let resolved = op.last_call().expect("a call has completed");
        for (name, value) in &call.indices {
            let own = resolved.indices().iter().find(|(known, _)| **known == **name).map(|(_, value)| value);
            if let Some(own) = own.filter(|own| **own != value_of(value)) {
                wrong.push(format!("{id}: {name} is {own}, and the row has {value}"));
            }
        }
    });
    assert!(wrong.is_empty(), "{} rows differ:\n{}", wrong.len(), wrong.join("\n"));
}
