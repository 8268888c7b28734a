//! One call of a row, for a profiler to look at: nothing is judged, and nothing is timed.

use anyhow::{Result, anyhow};
use tileops_analyzer::workload::Call;
use tileops_ops::generated::REGISTRY;
use tileops_reference::Drawing;

use crate::inputs::Set;
use crate::machine::Machine;
use crate::rows::Entry;

/// Makes the row's call twice: once so that all that happens on a first call has happened, then, on the same inputs as
/// before, in the range that profilers look at.
pub fn run(machine: &dyn Machine, entry: &Entry<'_>, call: &Call) -> Result<()> {
    let op = entry.op();
    let reference = tileops_reference::of(op).ok_or_else(|| anyhow!("{op} has no reference"))?;
    let described = entry.called(REGISTRY, call)?;
    let checked = described.completed_call()?;
    machine.compile(checked)?;
    let mut set = Set::new(machine, reference, entry, call, checked, Drawing::Usual, 0)?;
    drop(set.op.call(&set.arguments)?);
    set.renew(machine)?;
    machine.in_profiler_range(&mut || {
        set.op.call(&set.arguments)?;
        Ok(())
    })
}
