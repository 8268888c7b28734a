//! What the page of measured records says of them, the records say: how many rows reach the speed of light that we ask of a
//! kernel, and how they stand beside PyTorch.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use tileops_record::each;
use tileops_roofline::profile::Profile;
use tileops_roofline::report::{Builder, Report, Row, price_one};

/// The families whose kernels memory bounds, as the page calls them.
const MEMORY_BOUND: [(&str, &str); 3] =
    [("elementwise, gated", "elementwise"), ("norm", "norm"), ("reduction, softmax, scan", "reduction")];
const OTHERS: [&str; 5] = ["loss", "gemm", "attention", "quantization", "moe"];

fn top() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn profile() -> Profile {
    let text = std::fs::read_to_string(top().join("profiles/h200.yaml")).expect("the profile");
    Profile::from_yaml(&text).expect("a profile")
}

fn records(names: &[&str]) -> Vec<PathBuf> {
    names.iter().map(|name| top().join(format!("runtime/bench/records/h200/{name}.jsonl.zst"))).collect()
}

fn report(names: &[&str]) -> Report {
    let (profile, mut builder) = (profile(), Builder::default());
    let problems = each(&records(names), |record| price_one(&record, &profile), |item| builder.push(item));
    assert!(problems.is_empty(), "{problems:?}");
    builder.finish()
}

/// The page, its lines joined: sentences go on behind the end of a line.
fn page() -> String {
    let text = std::fs::read_to_string(top().join("runtime/bench/records/README.md")).expect("the page");
    text.lines().map(|line| if line.starts_with('|') { format!("\n{line}\n") } else { format!("{line} ") }).collect()
}

fn says(page: &str, sentence: &str) {
    assert!(page.contains(sentence), "the page does not say: {sentence}");
}

fn percent((part, whole): (usize, usize)) -> usize {
    (200 * part + whole) / (2 * whole)
}

/// Of the rows whose speed of light takes `floor_ns` at least, how many there are, and how many of them are `good` first.
fn share(rows: &[Row], floor_ns: f64, of: impl Fn(&str) -> bool, good: impl Fn(&Row) -> bool) -> (usize, usize) {
    let above = |row: &&Row| {
        let reading = row.priced.reading.as_ref().unwrap_or_else(|blank| panic!("{} {}: {blank:?}", row.op, row.case));
        reading.sol_ns >= floor_ns && row.family.as_deref().is_some_and(&of)
    };
    let rows: Vec<&Row> = rows.iter().filter(above).collect();
    (rows.iter().filter(|row| good(row)).count(), rows.len())
}

#[test]
fn every_row_passed_and_was_timed_by_the_device() {
    let bad = |names: &[&str]| {
        let (mut bad, mut rows) = (Vec::new(), 0);
        let item = |record: tileops_record::Record| {
            let passed = record.correctness.as_ref().is_some_and(|correctness| correctness.passed);
            let by_device = record.timing.as_ref().is_some_and(|timing| &*timing.source == "cupti");
            let clean = record.run.as_ref().is_some_and(|run| run.dirty == Some(false));
            (passed && by_device && clean, format!("{} {}", record.op, record.case))
        };
        let problems = each(&records(names), item, |(good, row)| {
            rows += 1;
            if !good {
                bad.push(row);
            }
        });
        assert!(problems.is_empty(), "{problems:?}");
        (rows, bad)
    };
    assert_eq!(bad(&["rows"]), (549, vec![]));
    assert_eq!(bad(&["nightly/calls"]), (330, vec![]));
}

#[test]
fn so_many_rows_reach_the_speed_of_light_that_kernels_are_to_reach() {
    let (page, report) = (page(), report(&["rows"]));
    let floor = profile().latency_floor_ns;
    let reaches = |row: &Row| row.priced.reading.as_ref().is_ok_and(|reading| reading.efficiency >= 0.8);
    let shares =
        |of: &dyn Fn(&str) -> bool| [floor, 4.0 * floor, 10_000.0].map(|ns| share(&report.rows, ns, of, reaches));
    let cells = |shares: [(usize, usize); 3]| shares.map(|(part, whole)| format!("{part} of {whole}")).join(" | ");
    for (called, family) in MEMORY_BOUND.into_iter().chain(OTHERS.map(|family| (family, family))) {
        says(&page, &format!("| {called} | {} |", cells(shares(&|of| of == family))));
    }
    let together = shares(&|of| MEMORY_BOUND.iter().any(|(_, family)| *family == of));
    let cells = together.map(|share| format!("{} of {} ({} %)", share.0, share.1, percent(share))).join(" | ");
    says(&page, &format!("| these three | {cells} |"));
    assert!(
        together[0].0 * 10 >= together[0].1 * 8,
        "of the rows above the floor 80 % are to reach 80 %: {together:?}"
    );
    says(&page, &format!("What bounds the {} others", together[0].1 - together[0].0));
    says(&page, &format!("{} rows below 4.48", together[0].1 - together[1].1));
    let summary = &report.summary;
    says(
        &page,
        &format!(
            "median {:.0} % of speed of light, {} at ceiling",
            100.0 * summary.median_efficiency.unwrap_or(0.0),
            summary.at_ceiling
        ),
    );
}

#[test]
fn ours_and_theirs_are_of_one_card() {
    let cards = |name| {
        let mut cards = BTreeSet::new();
        let card = |record: tileops_record::Record| {
            record.device.as_ref().and_then(|device| device.uuid.clone()).map(|uuid| uuid.to_string())
        };
        let problems = each(&records(&[name]), card, |card| _ = cards.insert(card));
        assert!(problems.is_empty(), "{problems:?}");
        cards
    };
    let ours = cards("rows");
    assert!(ours.len() == 1 && !ours.contains(&None), "{ours:?}");
    assert_eq!(cards("torch-compile"), ours);
}

#[test]
fn so_many_rows_are_as_fast_as_pytorchs() {
    let (page, report) = (page(), report(&["rows", "torch-compile"]));
    let beside: Vec<Row> = report.rows.iter().filter(|row| !row.peers.is_empty()).cloned().collect();
    let is_as_fast = |row: &Row| row.actual_ns.is_some_and(|ns| ns <= 1.03 * row.peers[0].1);
    let above = share(&beside, profile().latency_floor_ns, |_| true, is_as_fast);
    says(&page, &format!("on {} of the {} rows above the latency floor ({} %)", above.0, above.1, percent(above)));
    let all = share(&beside, 0.0, |_| true, is_as_fast);
    says(&page, &format!("on {} of all {} ({} %)", all.0, all.1, percent(all)));
    let of = |family: &str| share(&beside, 0.0, |of| of == family, is_as_fast);
    let [elementwise, norms, reductions] = ["elementwise", "norm", "reduction"].map(of);
    says(
        &page,
        &format!(
            "{} of {} elementwise, {} of {} norms, {} of {} reductions",
            elementwise.0, elementwise.1, norms.0, norms.1, reductions.0, reductions.1
        ),
    );
    assert!(all.0 * 10 >= all.1 * 9, "nine of ten rows are to be as fast: {all:?}");
}
