//! What benchmark records say of rows. Their numbers are the op's own; nothing is computed from a formula here.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

use tileops_record::units::{si, time};
use tileops_record::{Reason, Record};
use tileops_roofline::price::{Blank, Bound, Verdict, bound, price};
use tileops_roofline::profile::Profile;
use walkdir::WalkDir;

use super::settings::Settings;
use crate::config::Config;
use crate::discover::normalized;
use crate::source;

/// Where a project's records are, and what they are held against.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Places {
    /// Files, folders and globs.
    pub(crate) records: Vec<PathBuf>,
    pub(crate) profile: Option<PathBuf>,
}

impl Places {
    /// What a project says, else what the editor does.
    pub(crate) fn of(config: &Config, settings: &Settings) -> Self {
        let records = config.records.as_ref().or(settings.records.as_ref());
        let profile = config.profile.as_ref().or(settings.profile.as_ref());
        let place = |path: &String| normalized(&config.root.join(path));
        Places { records: records.into_iter().flatten().map(place).collect(), profile: profile.map(place) }
    }

    /// A file for new records, which is then one of theirs; nothing where none would be.
    pub(crate) fn new_file(&self, name: &str) -> Option<PathBuf> {
        self.records.iter().find_map(|place| {
            let file = base(place).join(name);
            if is_glob(place) {
                let glob = globset::Glob::new(&place.to_string_lossy()).ok()?.compile_matcher();
                return glob.is_match(&file).then_some(file);
            }
            // A file that is named holds what somebody keeps in it.
            let is_file = place.file_name().is_some_and(|name| is_record_file(&name.to_string_lossy()));
            (!is_file).then_some(file)
        })
    }

    /// Whether a file may be one of them.
    pub(crate) fn may_have(&self, path: &Path) -> bool {
        let name = path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
        self.profile.as_deref() == Some(path)
            || self.records.iter().any(|place| place == path)
            || is_record_file(&name) && self.records.iter().any(|place| path.starts_with(base(place)))
    }

    /// Globs of the files that matter.
    pub(crate) fn globs(&self) -> Vec<String> {
        let key = |path: &Path| super::uris::path_key(path).to_string();
        let folders = self.records.iter().map(|place| format!("{}/**/*.{{jsonl,zst}}", key(&base(place))));
        let files = self.records.iter().filter(|place| !is_glob(place)).chain(&self.profile).map(|place| key(place));
        folders.chain(files).collect()
    }

    /// What changes when one of the files does, for clients that do not tell.
    pub(crate) fn stamp(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        let places = self.records.iter().map(|place| base(place)).chain(self.profile.clone());
        for item in places.flat_map(|place| WalkDir::new(place).sort_by_file_name()).flatten() {
            let name = item.file_name().to_string_lossy();
            if item.depth() == 0 || is_record_file(&name) {
                let known = item.metadata().ok().map(|data| (data.len(), data.modified().ok(), data.is_dir()));
                // A folder's own time says nothing of its files.
                let known = known.filter(|(_, _, is_dir)| !is_dir);
                (item.path(), known).hash(&mut hasher);
            }
        }
        hasher.finish()
    }
}

fn is_record_file(name: &str) -> bool {
    name.ends_with(".jsonl") || name.ends_with(".jsonl.zst")
}

fn is_glob(path: &Path) -> bool {
    path.to_string_lossy().contains(['*', '?', '['])
}

/// A path up to its first part with a wildcard.
fn base(path: &Path) -> PathBuf {
    path.iter().take_while(|part| !part.to_string_lossy().contains(['*', '?', '['])).collect()
}

/// The records of a project.
#[derive(Debug, Default)]
pub(crate) struct Records {
    /// By op, then by case, in the order read.
    by_case: BTreeMap<String, BTreeMap<String, Vec<Record>>>,
    profile: Option<Profile>,
    /// [`Places::stamp`] when they were read.
    pub(crate) stamp: u64,
}

impl Records {
    /// Reads them, and says what could not be.
    pub(crate) fn read(places: &Places) -> (Self, Vec<String>) {
        let stamp = places.stamp();
        let mut problems = Vec::new();
        let loaded = tileops_record::load(&places.records);
        // Where there are none yet, nothing is wrong.
        let is_wrong = |reason: &Reason| match reason {
            Reason::Nothing => false,
            Reason::Io(error) => error.kind() != std::io::ErrorKind::NotFound,
            _ => true,
        };
        let wrong = loaded.problems.iter().filter(|problem| is_wrong(&problem.reason));
        problems.extend(wrong.map(|problem| format!("records: {problem}")));
        let mut by_case: BTreeMap<String, BTreeMap<String, Vec<Record>>> = BTreeMap::new();
        for record in loaded.records.into_iter().filter(|record| record.peer.is_none()) {
            let cases = by_case.entry(record.op.to_string()).or_default();
            cases.entry(record.case.to_string()).or_default().push(record);
        }
        let profile = places.profile.as_ref().and_then(|path| {
            let read = source::read_text(path).map_err(|error| format!("{error:#}"));
            let read = read.and_then(|text| Profile::from_yaml(&text).map_err(|error| error.to_string()));
            read.map_err(|error| problems.push(format!("profile: {}: {error}", path.display()))).ok()
        });
        (Records { by_case, profile, stamp }, problems)
    }

    /// The GPU profile that they are held against.
    pub(crate) fn profile(&self) -> Option<&Profile> {
        self.profile.as_ref()
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.by_case.values().flat_map(|cases| cases.values()).map(Vec::len).sum()
    }

    /// The record of a case that says most of it as it stands: one of this text before one of another, one that was timed
    /// before one that was priced only, a later one before an earlier one.
    pub(crate) fn of(&self, op: &str, case: &str, fingerprint: &str) -> Option<Said<'_>> {
        let records = self.by_case.get(op)?.get(case)?;
        let is_stale = |record: &Record| record.entry_hash.as_ref().is_some_and(|hash| hash.as_str() != fingerprint);
        let record = records.iter().max_by_key(|record| (!is_stale(record), record.timing.is_some()))?;
        Some(Said { record, profile: self.profile.as_ref(), stale: is_stale(record) })
    }
}

/// What a record says of a case.
pub(crate) struct Said<'r> {
    pub(crate) record: &'r Record,
    pub(crate) profile: Option<&'r Profile>,
    /// Whether it was made of another text of the entry.
    pub(crate) stale: bool,
}

impl Said<'_> {
    /// In a line: `137 GFLOP, 1365.3 FLOP/B, compute-bound, 71% of its roof`.
    pub(crate) fn label(&self) -> String {
        let Record { flops, bytes, .. } = self.record;
        let mut parts: Vec<String> = Vec::new();
        parts.extend(flops.map(|flops| si(flops as f64, "FLOP")));
        if let (Some(flops), Some(bytes)) = (flops, bytes.filter(|&bytes| bytes > 0)) {
            parts.push(format!("{:.1} FLOP/B", *flops as f64 / bytes as f64));
        }
        if let Some(profile) = self.profile {
            let priced = price(self.record, profile);
            match (&priced.reading, bound(self.record, profile)) {
                (Ok(reading), _) if reading.latency_bound => parts.push("latency-bound".to_owned()),
                (_, Ok(Bound::Memory)) => parts.push("memory-bound".to_owned()),
                (_, Ok(Bound::Compute)) => parts.push("compute-bound".to_owned()),
                _ => {}
            }
            match &priced.reading {
                _ if !priced.breaches.is_empty() => parts.push("formula error".to_owned()),
                Ok(reading) => {
                    let anomaly = if reading.verdict == Verdict::Anomaly { " (anomaly)" } else { "" };
                    parts.push(format!("{:.0}% of its roof{anomaly}", reading.efficiency * 100.0));
                }
                Err(_) => {}
            }
        }
        if self.stale {
            parts.push("stale".to_owned());
        }
        parts.join(", ")
    }

    /// In Markdown, exactly.
    pub(crate) fn markdown(&self) -> String {
        let record = self.record;
        let mut text = format!("**{}**, as recorded", record.case);
        match (&record.entry_hash, self.stale) {
            (_, true) => text.push_str(" **before the entry was changed: stale**"),
            (None, _) => text.push_str(" (the record does not say of which text of the entry)"),
            _ => {}
        }
        text.push_str("\n\n");
        let mut line = |name: &str, value: String| {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "- {name}: {value}");
        };
        if let Some(flops) = record.flops {
            line("FLOPs", flops.to_string());
        }
        if let Some(bytes) = record.bytes {
            line("bytes", bytes.to_string());
        }
        if let Some(key) = &record.roof_key {
            line("roof", format!("`{key}`"));
        }
        if let Some(timing) = &record.timing {
            let samples = timing.samples.map(|samples| format!(", median of {samples}")).unwrap_or_default();
            line("time", format!("{}{samples}, by {}", time(timing.actual_ns()), timing.source));
        }
        if let Some(device) = &record.device {
            line("device", device.name.to_string());
        }
        if let Some(failure) = &record.failure {
            let message = failure.message.as_deref().map(|message| format!(": {message}")).unwrap_or_default();
            line("not timed", format!("{}{message}", failure.kind));
        }
        match self.profile {
            None => line("efficiency", "no GPU profile is configured (`profile`)".to_owned()),
            Some(profile) => {
                let priced = price(record, profile);
                match &priced.reading {
                    Ok(reading) => {
                        line("at the speed of light", format!("{} on {}", time(reading.sol_ns), profile.gpu));
                        line("efficiency", format!("{:.1}%", reading.efficiency * 100.0));
                        if reading.fits_l2 {
                            line("note", "its bytes fit the L2 cache".to_owned());
                        }
                    }
                    Err(Blank::NotTimed) if record.failure.is_some() => {}
                    Err(blank) => line("efficiency", format!("blank, {blank}")),
                }
                for breach in &priced.breaches {
                    line("formula error", breach.to_string());
                }
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROFILE: &str = "gpu: Test GPU\nhbm: {bandwidth: 1.0e+12}\ncuda_core: {fp32: {flops: 1.0e+14}}\n\
                           latency_floor_ns: 100\nl2_bytes: 10\n";

    fn records(lines: &[&str]) -> Records {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("a.jsonl");
        let full = |line: &&str| {
            format!(
                r#"{{"schema":"tileops.record/1","op":"AFwdOp","case":"small","roof_key":"cuda_core.fp32",{line}}}"#
            )
        };
        std::fs::write(&file, lines.iter().map(full).collect::<Vec<_>>().join("\n")).expect("written");
        let profile = folder.path().join("p.yaml");
        std::fs::write(&profile, PROFILE).expect("written");
        let places = Places { records: vec![folder.path().to_path_buf()], profile: Some(profile) };
        let (records, problems) = Records::read(&places);
        assert_eq!(problems, [""; 0]);
        records
    }

    const TIMED: &str = r#""timing":{"source":"cupti","device_busy_ns":2000.0},"device":{"name":"Test GPU"}"#;

    fn label(line: &str) -> String {
        records(&[line]).of("AFwdOp", "small", "now").expect("a record").label()
    }

    #[test]
    fn a_record_is_priced_in_a_line() {
        // 1e6 B at 1e12 B/s take 1 us, 4e7 FLOP at 1e14 FLOP/s 0.4 us.
        let priced = r#""flops":40000000,"bytes":1000000,"entry_hash":"now""#;
        assert_eq!(label(priced), "40.0 MFLOP, 40.0 FLOP/B, memory-bound");
        assert_eq!(label(&format!("{priced},{TIMED}")), "40.0 MFLOP, 40.0 FLOP/B, memory-bound, 50% of its roof");
        let stale = priced.replace("now", "then");
        assert_eq!(label(&format!("{stale},{TIMED}")), "40.0 MFLOP, 40.0 FLOP/B, memory-bound, 50% of its roof, stale");
        let compute = r#""flops":180000000,"bytes":1000000"#;
        assert_eq!(label(&format!("{compute},{TIMED}")), "180 MFLOP, 180.0 FLOP/B, compute-bound, 90% of its roof");
        let impossible = r#""flops":999,"bytes":4000000"#;
        assert_eq!(label(&format!("{impossible},{TIMED}")), "999 FLOP, 0.0 FLOP/B, memory-bound, formula error");
        assert_eq!(label(r#""bytes":0,"flops":0"#), "0 FLOP");
        // As reports say it.
        assert_eq!(label(r#""flops":1999999999"#), "2.00 GFLOP");
    }

    #[test]
    fn the_record_of_this_text_comes_first_then_the_timed_then_the_later() {
        let old = format!(r#""flops":1,"bytes":1,"entry_hash":"then",{TIMED}"#);
        let now = r#""flops":2,"bytes":1,"entry_hash":"now""#;
        let later = r#""flops":3,"bytes":1,"entry_hash":"now""#;
        let found = records(&[&old, now, later]);
        let said = found.of("AFwdOp", "small", "now").expect("a record");
        assert_eq!((said.record.flops, said.stale), (Some(3), false));
        let said = found.of("AFwdOp", "small", "then").expect("a record");
        assert_eq!((said.record.flops, said.stale), (Some(1), false));
        let said = found.of("AFwdOp", "small", "other").expect("a record");
        assert_eq!((said.record.flops, said.stale), (Some(1), true));
        assert!(found.of("AFwdOp", "large", "now").is_none() && found.of("BFwdOp", "small", "now").is_none());
        assert_eq!(found.len(), 3);
    }

    #[test]
    fn a_record_is_told_in_full() {
        let text = records(&[&format!(r#""flops":40000000,"bytes":1000000,{TIMED}"#)])
            .of("AFwdOp", "small", "now")
            .expect("a record")
            .markdown();
        for part in
            ["FLOPs: 40000000", "bytes: 1000000", "`cuda_core.fp32`", "2 µs, by cupti", "50.0%", "1 µs on Test GPU"]
        {
            assert!(text.contains(part), "{part} in {text}");
        }
        assert!(text.contains("does not say of which text"), "{text}");
        let text = records(&[r#""timing":{"source":"cupti","device_busy_ns":2.1e9}"#])
            .of("AFwdOp", "small", "now")
            .expect("a record")
            .markdown();
        assert!(text.contains("2.10 s, by cupti"), "{text}");
        let text = records(&[r#""flops":1,"bytes":1,"entry_hash":"then""#])
            .of("AFwdOp", "small", "now")
            .expect("a record")
            .markdown();
        assert!(text.contains("stale") && text.contains("blank, not timed"), "{text}");
    }

    #[test]
    fn what_cannot_be_read_is_said_and_what_is_not_there_is_not() {
        let folder = tempfile::tempdir().expect("a folder");
        let places = |name: &str| Places { records: vec![folder.path().join(name)], profile: None };
        assert!(Records::read(&places("nowhere/*.jsonl")).1.is_empty());
        assert!(Records::read(&places("nowhere.jsonl")).1.is_empty());
        std::fs::write(folder.path().join("bad.jsonl"), "{}\nnothing\n").expect("written");
        assert_eq!(Records::read(&places("bad.jsonl")).1.len(), 2);
        let profile = Places { records: Vec::new(), profile: Some(folder.path().join("bad.jsonl")) };
        assert!(Records::read(&profile).1[0].contains("not a GPU profile"));
        let here = places("*.jsonl");
        assert_eq!(here.new_file("a.jsonl"), Some(folder.path().join("a.jsonl")));
        assert_eq!(places("records").new_file("a.jsonl"), Some(folder.path().join("records/a.jsonl")));
        assert_eq!(places("kept.jsonl").new_file("a.jsonl"), None);
        assert_eq!(places("*.jsonl.zst").new_file("a.jsonl"), None);
        assert!(here.may_have(&folder.path().join("x.jsonl")) && !here.may_have(&folder.path().join("x.yaml")));
        let before = here.stamp();
        assert_eq!(here.stamp(), before);
        std::fs::write(folder.path().join("new.jsonl"), "").expect("written");
        assert_ne!(here.stamp(), before);
    }
}
