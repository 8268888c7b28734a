//! Where the ends of rows decide (`--drawn ends`), the judge sees that one is lost, or that a neighbour's is read.

use std::collections::BTreeMap;

use rayon::prelude::*;
use tileops_analyzer::workload::Call;
use tileops_bench::inputs::{Recipe, row_seed, tensor_seed};
use tileops_bench::judge::differing;
use tileops_bench::price;
use tileops_bench::rows::{Entry, Manifest, described};
use tileops_ops::generated::REGISTRY;
use tileops_ops::{CheckedCall, DType};
use tileops_reference::{Deciding, Distribution, Drawing, Ends, Inputs, Reference, Sink, View};

/// An input on the host.
struct Input {
    name: String,
    shape: Vec<i128>,
    dtype: DType,
    bytes: Vec<u8>,
    ends: Option<Ends>,
}

/// Rows that are drawn of an input whose ends decide; of another one, as many elements.
const ROWS: u64 = 3;

fn inputs(reference: &Reference, entry: &Entry<'_>, call: &Call, checked: &CheckedCall) -> Vec<Input> {
    let seed = row_seed(entry.op(), &call.case_id);
    let mut inputs = Vec::new();
    for (name, tensor) in &call.tensors {
        let (Some(tensor), Ok(due)) = (tensor, checked.tensor(name)) else { continue };
        let count = usize::try_from(due.numel().get().expect("it is small")).expect("it is a size");
        let width = due.dtype.bits() as usize / 8;
        let mut input = Input {
            name: name.to_string(),
            shape: due.shape.clone(),
            dtype: due.dtype,
            bytes: vec![0; count * width],
            ends: None,
        };
        let described = described(name, tensor).expect("it was described before");
        if let Some(values) = &described.values {
            input.bytes = Recipe::Stated(values.clone()).bytes(due.dtype, count);
        } else {
            let distribution = reference.distribution(checked, name, due.dtype, Drawing::Ends);
            let seed = tensor_seed(seed, name, 0);
            let mut draw = |at: u64| distribution.draw(seed, at, due.dtype, &mut input.bytes, at as usize);
            if let Distribution::Ends(ends) = distribution {
                let rows = ends.rows;
                let places = (0..ROWS).flat_map(|row| (0..rows.count()).map(move |index| rows.at(row, index)));
                places.filter(|&at| at < count as u64).for_each(draw);
                input.ends = Some(ends);
            } else {
                (0..(count as u64).min(2_000_000)).for_each(&mut draw);
            }
        }
        inputs.push(input);
    }
    inputs
}

fn computed(
    reference: &Reference,
    checked: &CheckedCall,
    inputs: &[Input],
    row: usize,
) -> (Vec<tileops_reference::Target>, Sink) {
    let views = inputs
        .iter()
        .map(|input| (input.name.as_str(), View { dtype: input.dtype, shape: &input.shape, bytes: &input.bytes }));
    let inputs = Inputs::new(views.collect());
    let units = (reference.prepare)(checked, &inputs).expect("it is prepared");
    let mut sink = Sink::new();
    // A unit is a row, unless all rows are one.
    units.compute(row.min(units.count() - 1), &mut sink);
    (units.targets(), sink)
}

/// In which row which element is replaced by which one of which row.
type Slip = (&'static str, u64, u64, (u64, u64));

/// What a kernel might do: lose an end, or read the end of a neighbour.
fn slips(ends: &Ends, rows: u64) -> Vec<Slip> {
    let (last, middle) = (ends.rows.count() - 1, (ends.rows.count() * 2 / 3).min(ends.rows.count() - 2));
    let mut slips = vec![("loses the last element", 0, last, (0, middle))];
    match ends.deciding {
        Deciding::Both => slips.push(("loses the first element", 0, 0, (0, middle))),
        Deciding::One if rows > 2 => slips.push(("loses the first element", 2, 0, (2, middle))),
        Deciding::One => {}
    }
    if rows > 1 {
        slips.push(("reads the end of the row before", 1, middle, (0, last)));
    }
    if rows > 2 {
        slips.push(("reads the start of the row behind", 1, middle, (2, 0)));
    }
    slips
}

/// What the judge does not see of a row of the manifest; how many slips it was shown.
fn unseen(entry: &Entry<'_>, call: &Call) -> (Vec<String>, usize) {
    let row = format!("{} {}", entry.op(), call.case_id);
    let reference = tileops_reference::of(entry.op()).unwrap_or_else(|| panic!("{row}: no reference"));
    let op = entry.called(REGISTRY, call).unwrap_or_else(|error| panic!("{row}: {error}"));
    let checked = op.last_call().expect("it was called");
    let roof_key = price::record(REGISTRY, entry, call).roof_key.unwrap_or_default();
    let mut inputs = inputs(reference, entry, call, checked);
    let elements = |input: &Input| input.bytes.len() as u64 * 8 / u64::from(input.dtype.bits());
    let of_ends = |input: &Input| Some((input.ends?, elements(input))).filter(|(_, elements)| *elements > 0);
    // Of two elements none is in the middle.
    let Some((ends, elements)) = inputs.iter().find_map(of_ends).filter(|(ends, _)| ends.rows.count() > 2) else {
        return (Vec::new(), 0);
    };
    let slips = slips(&ends, elements / ends.rows.count());
    let mut faults = Vec::new();
    let mut computed_of = BTreeMap::new();
    for &(what, of, index, (from_row, from)) in &slips {
        let (targets, due) =
            computed_of.entry(of).or_insert_with(|| computed(reference, checked, &inputs, of as usize));
        let mut kept = Vec::new();
        for input in &mut inputs {
            let Some(ends) = input.ends else { continue };
            let width = input.dtype.bits() as usize / 8;
            let [to, from] =
                [(of, index), (from_row, from)].map(|(row, index)| ends.rows.at(row, index) as usize * width);
            // What all rows share has no row beside its own.
            if to.max(from) + width > input.bytes.len() {
                continue;
            }
            kept.push((input.name.clone(), to, input.bytes[to..to + width].to_vec()));
            input.bytes.copy_within(from..from + width, to);
        }
        let (_, got) = computed(reference, checked, &inputs, of as usize);
        for (name, to, bytes) in kept {
            let input = inputs.iter_mut().find(|input| input.name == name).expect("it was there");
            input.bytes[to..to + bytes.len()].copy_from_slice(&bytes);
        }
        let wrong = differing(checked, targets, &roof_key, due, &got).expect("targets are the call's");
        // What is computed of the element alone is wrong whatever becomes of the rest. A scan's last element has no rest.
        let per_element = targets
            .iter()
            .filter(|target| {
                checked.tensor(target.name).is_ok_and(|t| t.numel().get().is_ok_and(|count| count as u64 >= elements))
            })
            .count() as u64;
        let is_scan = entry.op().starts_with("Cum") || entry.op() == "LogCumsumExpFwdOp";
        if wrong <= if is_scan { 0 } else { per_element } {
            faults.push(format!("{row}: a kernel that {what} of row {of} is taken for right"));
        }
    }
    (faults, slips.len())
}

#[test]
fn a_lost_end_and_a_neighbours_are_seen_in_every_row_at_the_edges() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    super::write(super::ROWS, folder.path());
    let manifest = Manifest::read(folder.path()).expect("the rows are right");
    let calls: Vec<_> =
        manifest.entries().flat_map(|entry| entry.calls().iter().map(move |call| (entry, call))).collect();
    let found: Vec<_> = calls.par_iter().map(|(entry, call)| unseen(entry, call)).collect();
    let (mut faults, mut shown) = (Vec::new(), BTreeMap::new());
    for ((entry, _), (unseen, slips)) in calls.iter().zip(found) {
        faults.extend(unseen);
        *shown.entry(entry.op()).or_insert(0) += slips;
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    let without: Vec<&str> =
        shown.iter().filter(|(_, slips)| **slips == 0).map(|(op, _): (&&str, &usize)| *op).collect();
    assert_eq!(without, WITHOUT, "ops whose rows have no ends to lose");
}

/// Elementwise ops and conversions, blocks that are cut, means of one element each, and segments of any length.
const WITHOUT: &[&str] = &[
    "BlockDequantizeFwdOp",
    "BlockQuantizeFwdOp",
    "CastFwdOp",
    "CrossEntropyBwdOp",
    "FakeQuantizeFwdOp",
    "GeluFwdOp",
    "GtFwdOp",
    "Int4DequantizeFwdOp",
    "IsFiniteFwdOp",
    "MeanFwdOp",
    "PowFwdOp",
    "RowDequantizeFwdOp",
    "SegmentSumFwdOp",
    "SinFwdOp",
    "TensorQuantizeFwdOp",
];
