//! roofline.txt §1.2, §1.4, §4.3 and §5, sentence by sentence, through what the crate gives its readers. The tests of the
//! arithmetic itself stand beside it in `price.rs`.

use tileops_record::{Device, Record, Timing, load};
use tileops_roofline::compare::{Comparison, Options, Verdict as Change};
use tileops_roofline::price::{Bound, Verdict, price};
use tileops_roofline::profile::Profile;
use tileops_roofline::report::Report;

/// 1 TB/s effective of 2; fp32 at 100 TFLOP/s of 200, bf16 at 500 of 1000, fp8 at 2000.
const PROFILE: &str = "
gpu: Test GPU
hbm: {bandwidth: 2.0e+12, calibration: 0.5, mixes: {copy: 0.45, write: 0.5}}
cuda_core: {fp32: {flops: 2.0e+14, calibration: 0.5}}
tensor_core: {bf16: {flops: 1.0e+15, calibration: 0.5}, fp8: {flops: 2.0e+15}}
latency_floor_ns: 2000
";

fn profile() -> Profile {
    Profile::from_yaml(PROFILE).expect("a profile")
}

fn record(case: &str, flops: u128, bytes: u128, roof_key: &str, ns: f64) -> Record {
    let timing = Timing { source: "cupti".into(), device_busy_ns: ns, ..Timing::default() };
    Record {
        flops: Some(flops),
        bytes: Some(bytes),
        roof_key: Some(roof_key.into()),
        timing: Some(timing.into()),
        device: Some(Device { name: "Test GPU".into(), ..Device::default() }.into()),
        ..Record::new("AnyFwdOp", case)
    }
}

fn efficiency(record: &Record) -> f64 {
    price(record, &profile()).reading.expect("a reading").efficiency
}

/// §1.2: peak_flops is the profile's section named by the roof key, effective.
#[test]
fn section_1_2_the_peak_is_of_the_unit_that_the_roof_key_names() {
    let of = |key| efficiency(&record("a", 1_000_000_000_000, 1, key, 20_000_000.0));
    // 1 TFLOP: 10 ms, 2 ms and 0.5 ms at the speed of light.
    assert_eq!((of("cuda_core.fp32"), of("tensor_core.bf16"), of("tensor_core.fp8")), (0.5, 0.1, 0.025));
}

/// §1.2: the bound depends on the shape, not on the op; the tool computes it per workload.
#[test]
fn section_1_2_two_rows_of_one_op_can_be_bound_otherwise() {
    let bound =
        |flops| price(&record("a", flops, 1_000_000, "cuda_core.fp32", 1e6), &profile()).reading.expect("read").bound;
    assert_eq!((bound(1_000), bound(1_000_000_000)), (Bound::Memory, Bound::Compute));
}

/// §1.2, statement 1: the bytes are the algorithm's minimum traffic, not what was measured.
#[test]
fn section_1_2_bytes_that_were_measured_price_nothing() {
    let mut measured = record("a", 0, 1_000_000, "cuda_core.fp32", 2_000.0);
    let before = efficiency(&measured);
    measured.extra.insert("dram_bytes", 64_000_000);
    measured.extra.insert("bandwidth_tbs", "1.9");
    assert_eq!(efficiency(&measured), before);
}

/// §1.2, statement 4: the metric does not certify a kernel as at its limit; a kernel that waits for something that no roof
/// prices stays below, and no verdict says that it is done or wrong.
#[test]
fn section_1_2_a_kernel_that_no_roof_describes_gets_no_verdict() {
    let reading = price(&record("a", 0, 1_000_000_000, "cuda_core.fp32", 2e6), &profile()).reading.expect("a reading");
    assert_eq!((reading.efficiency, reading.verdict), (0.5, Verdict::None));
}

/// §1.2, statement 5, and §1.4: the roof is the declared unit, inferred neither from the dtype nor from the kernel.
#[test]
fn section_1_4_the_roof_is_declared_and_never_inferred() {
    let mut fp8 = record("a", 1_000_000_000_000, 1, "tensor_core.fp8", 1e7);
    fp8.dtype = Some("float16".into());
    fp8.extra.insert("kernel", "fp16_mma_kernel");
    assert_eq!(efficiency(&fp8), 0.05);
    fp8.roof_key = None;
    assert_eq!(price(&fp8, &profile()).reading.expect_err("blank").to_string(), "it states no roof key");
}

/// §1.2: a blank is blank everywhere, and enters no average.
#[test]
fn section_1_2_a_blank_enters_no_average() {
    let mut records = vec![
        record("a", 0, 1_000_000, "cuda_core.fp32", 4_000.0),
        record("b", 0, 3_000_000, "cuda_core.fp32", 4_000.0),
    ];
    let alone = Report::new(records.clone(), &profile()).summary;
    for (case, change) in [
        ("events", (|r: &mut Record| r.timing.as_mut().expect("timed").source = "events".into()) as fn(&mut Record)),
        ("zero", |r| r.bytes = Some(0)),
        ("elsewhere", |r| r.device = Some(Device { name: "Other GPU".into(), ..Device::default() }.into())),
        ("untimed", |r| r.timing = None),
    ] {
        let mut blank = record(case, 0, 1_000_000, "cuda_core.fp32", 1_000.0);
        change(&mut blank);
        records.push(blank);
    }
    let report = Report::new(records, &profile());
    assert_eq!(report.summary.median_efficiency, Some(0.5));
    assert_eq!((report.summary.rows, report.summary.priced), (6, 2));
    assert_eq!(
        (report.summary.median_efficiency, report.summary.at_ceiling, report.summary.anomalies),
        (alone.median_efficiency, alone.at_ceiling, alone.anomalies)
    );
}

/// §1.2: the model has no traction below the latency floor; regression detection still covers the row.
#[test]
fn section_1_2_a_latency_bound_row_is_still_compared() {
    let with = |ns: f64| {
        let mut record = record("a", 0, 100_000, "cuda_core.fp32", ns);
        let timing = record.timing.as_mut().expect("timed");
        (timing.median_low_ns, timing.median_high_ns) = (Some(ns - 10.0), Some(ns + 10.0));
        record
    };
    let (old, new) = (with(1_000.0), with(1_500.0));
    for record in [&old, &new] {
        assert!(price(record, &profile()).reading.expect("a reading").latency_bound);
    }
    let options = Options { assume_clocks: true, ..Options::default() };
    let comparison = Comparison::new(&[old], &[new], &options);
    assert_eq!(comparison.changes[0].judged.verdict, Change::Slower);
}

/// §4.3: the profile is selected by its `gpu` field against the measured device's name; no match leaves every reading
/// blank.
#[test]
fn section_4_3_no_matching_profile_leaves_every_reading_blank() {
    let records = (1..9).map(|n| record(&n.to_string(), n, 1_000_000, "cuda_core.fp32", 1e4)).collect();
    let other = Profile::from_yaml(&PROFILE.replace("Test GPU", "Test GPU PCIe")).expect("a profile");
    let report = Report::new(records, &other);
    assert!(report.rows.iter().all(|row| row.priced.reading.is_err() && row.priced.breaches.is_empty()));
    assert_eq!((report.summary.priced, report.summary.median_efficiency), (0, None));
}

/// §4.3: an anomaly is excluded from "at ceiling"; verdict lines are no gates, a formula error fails the run's health.
#[test]
fn section_4_3_verdicts_are_no_gates_and_impossible_rates_are() {
    let of = |ns| Report::new(vec![record("a", 0, 1_000_000, "cuda_core.fp32", ns)], &profile());
    let (slow, anomaly, wrong) = (of(100_000.0), of(900.0), of(400.0));
    assert_eq!((slow.healthy(), slow.summary.at_ceiling), (true, 0));
    assert_eq!((anomaly.healthy(), anomaly.summary.anomalies, anomaly.summary.at_ceiling), (true, 1, 0));
    assert_eq!((wrong.healthy(), wrong.summary.formula_errors, wrong.summary.at_ceiling), (false, 1, 0));
}

/// §4.3: both of a row's implied rates are compared, each with its own roof's theoretical ceiling.
#[test]
fn section_4_3_the_physics_check_names_every_roof_that_is_breached() {
    // 3 TB/s and 3 PFLOP/s.
    let both = record("a", 3_000_000_000, 3_000_000, "tensor_core.fp8", 1_000.0);
    let roofs: Vec<String> = price(&both, &profile()).breaches.iter().map(|b| b.roof.to_string()).collect();
    assert_eq!(roofs, ["hbm", "tensor_core.fp8"]);
}

/// §5.1: a profile stores theoretical values and calibrations, never their product; a bandwidth calibration is the envelope
/// of the mixes, since a ceiling that a mix exceeds is none.
#[test]
fn section_5_1_a_mix_above_the_bandwidths_calibration_is_refused() {
    let error = Profile::from_yaml(&PROFILE.replace("write: 0.5", "write: 0.52")).expect_err("no envelope");
    assert_eq!(
        error.to_string(),
        "`hbm.mixes.write` is 0.52: no mix lies above `hbm.calibration`, which is their envelope"
    );
    assert!(Profile::from_yaml(&PROFILE.replace("calibration: 0.5, mixes", "effective: 1.0e+12, mixes")).is_err());
}

/// §5.2: records hold raw times and what the op stated, so that a new profile re-prices old records.
#[test]
fn section_5_2_a_new_profile_prices_old_records_again_and_changes_none() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("r.jsonl");
    let text = serde_json::to_string(&record("a", 0, 1_000_000, "cuda_core.fp32", 4_000.0)).expect("JSON");
    std::fs::write(&path, &text).expect("written");
    let read = || load(std::slice::from_ref(&path)).records;
    let better = Profile::from_yaml(&PROFILE.replace("2.0e+12", "2.5e+12")).expect("a profile");
    let (old, new) = (Report::new(read(), &profile()), Report::new(read(), &better));
    assert_eq!(old.records, new.records);
    let efficiency = |report: &Report| report.rows[0].priced.reading.as_ref().expect("a reading").efficiency;
    assert_eq!((efficiency(&old), efficiency(&new)), (0.25, 0.2));
}
