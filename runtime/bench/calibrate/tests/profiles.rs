//! The profiles that come with the project.

#![allow(clippy::disallowed_methods, reason = "a test reads the repository")]

use std::collections::BTreeSet;
use std::path::Path;

use tileops_roofline::profile::Profile;

#[test]
fn each_is_sound_has_a_device_of_its_own_and_says_whether_it_was_measured() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../profiles");
    let mut devices = BTreeSet::new();
    for entry in std::fs::read_dir(&folder).expect("profiles/ is there") {
        let path = entry.expect("an entry").path();
        let text = std::fs::read_to_string(&path).expect("text");
        let profile = Profile::from_yaml(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        assert!(devices.insert(profile.gpu.clone()), "{}: `{}` has two profiles", path.display(), profile.gpu);
        let peaks = || profile.cuda_core.values().chain(profile.tensor_core.values());
        if text.contains("Not calibrated") {
            let fractions = peaks().filter_map(|peak| peak.calibration).chain(profile.hbm.calibration);
            assert_eq!(fractions.count(), 0, "{} says that nothing was measured", path.display());
        } else {
            assert!(peaks().all(|peak| peak.calibration.is_some()), "{} lacks a calibration", path.display());
            // The envelope over the mixes, and each of them kept.
            let envelope = profile.hbm.mixes.values().copied().reduce(f64::max);
            assert_eq!(profile.hbm.calibration, envelope, "{}", path.display());
            assert_eq!(
                profile.hbm.mixes.keys().map(String::as_str).collect::<Vec<_>>(),
                ["copy", "read", "triad", "write"]
            );
        }
    }
    assert!(devices.len() >= 4, "{devices:?}");
}
