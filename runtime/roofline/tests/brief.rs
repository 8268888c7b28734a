//! What pricing reads of a record is what the brief reader keeps of it: on the records of a real run, reports made by both
//! readers are equal. A field that prices start to read, and that reader leaves out, parts them.

use std::path::{Path, PathBuf};

use tileops_record::{each, each_brief};
use tileops_roofline::profile::Profile;
use tileops_roofline::report::{Builder, price_one};

#[test]
fn both_readers_give_the_same_report() {
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let profile = std::fs::read_to_string(top.join("profiles/h200.yaml")).expect("the profile");
    let profile = Profile::from_yaml(&profile).expect("a profile");
    let records: Vec<PathBuf> =
        ["rows", "torch-compile"].map(|name| top.join(format!("runtime/bench/records/h200/{name}.jsonl.zst"))).into();
    let (mut full, mut brief) = (Builder::default(), Builder::default());
    let problems = each(&records, |record| price_one(&record, &profile), |item| full.push(item));
    assert!(problems.is_empty(), "{problems:?}");
    let problems = each_brief(&records, |record| price_one(&record, &profile), |item| brief.push(item));
    assert!(problems.is_empty(), "{problems:?}");
    let (full, brief) = (full.finish(), brief.finish());
    assert!(full.summary.priced > 500 && full.summary.with_peer > 50, "{:?}", full.summary);
    for (full, brief) in full.rows.iter().zip(&brief.rows) {
        assert_eq!(full, brief);
    }
    assert_eq!(full, brief);
}
