//! A folder of nights: which files are of one night, and which profile priced them.

use std::path::{Path, PathBuf};
use std::{fmt, fs, io};

use tileops_record::{Record, load, units};

use crate::profile::{Profile, ProfileError};

/// The profile of a night lies beside its records under this name.
const PROFILE: &str = "profile.yaml";

/// The records of one night.
#[derive(Debug)]
pub struct Night {
    /// The name of its folder or file.
    pub name: String,
    /// When the first of its runs began, where the records say.
    pub started: Option<String>,
    /// Its records.
    pub records: Vec<Record>,
    /// The profile that prices them.
    pub profile: Option<Profile>,
}

/// Something that could not be read; everything else was.
#[derive(Debug, thiserror::Error)]
pub enum Problem {
    /// A file of records, or a line of one.
    #[error("{0}")]
    Record(#[from] tileops_record::Problem),
    /// A night's profile.
    #[error("{path}: {reason}", path = .0.display(), reason = .1)]
    Profile(PathBuf, ProfileError),
    /// The operating system says so.
    #[error("{path}: {reason}", path = .0.display(), reason = .1)]
    Io(PathBuf, io::Error),
    /// The folder has nothing in it that could be a night.
    #[error("{path}: no night here: a night is a folder with files of records, or such a file", path = .0.display())]
    Nothing(PathBuf),
}

/// The nights of a folder, oldest first: each folder in it, and each file of records that lies in it. A night is as old as
/// its first run or, where its records do not say, as its name. `profile` prices all of them; without it, the
/// `profile.yaml` in a night's folder, or the one of the night before.
pub fn nights(folder: &Path, profile: Option<&Profile>) -> (Vec<Night>, Vec<Problem>) {
    let mut problems = Vec::new();
    let mut nights = Vec::new();
    let mut paths: Vec<PathBuf> = match fs::read_dir(folder) {
        Ok(entries) => entries.filter_map(Result::ok).map(|e| e.path()).collect(),
        Err(error) => return (nights, vec![Problem::Io(folder.to_owned(), error)]),
    };
    paths.sort();
    for path in paths {
        let name = path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
        let is_file = name.ends_with(".jsonl") || name.ends_with(".jsonl.zst");
        if name.starts_with('.') || !(path.is_dir() || is_file) {
            continue;
        }
        let name = name.trim_end_matches(".zst").trim_end_matches(".jsonl").to_owned();
        let loaded = load(std::slice::from_ref(&path));
        let empty = loaded.records.is_empty() && path.is_dir();
        // A folder without records is no night, and no mistake either.
        problems.extend(
            loaded
                .problems
                .into_iter()
                .filter(|p| !(empty && matches!(p.reason, tileops_record::Reason::Nothing)))
                .map(Problem::from),
        );
        if loaded.records.is_empty() {
            continue;
        }
        let own = path.join(PROFILE);
        let profile = match profile {
            Some(profile) => Some(profile.clone()),
            None if own.is_file() => match fs::read_to_string(&own) {
                Ok(text) => Profile::from_yaml(&text).map_err(|error| problems.push(Problem::Profile(own, error))).ok(),
                Err(error) => {
                    problems.push(Problem::Io(own, error));
                    None
                }
            },
            None => None,
        };
        let started = loaded.records.iter().filter_map(|r| Some(r.run.as_ref()?.started.as_ref()?.to_string())).min();
        nights.push(Night { name, started, records: loaded.records, profile });
    }
    if nights.is_empty() && problems.is_empty() {
        problems.push(Problem::Nothing(folder.to_owned()));
    }
    nights.sort_by(|a, b| a.age().cmp(b.age()).then_with(|| a.name.cmp(&b.name)));
    let mut last: Option<Profile> = None;
    for night in &mut nights {
        match &night.profile {
            Some(profile) => last = Some(profile.clone()),
            None => night.profile.clone_from(&last),
        }
    }
    (nights, problems)
}

impl Night {
    /// By what nights are ordered.
    fn age(&self) -> &str {
        self.started.as_deref().unwrap_or(&self.name)
    }
}

/// A night from which on another profile priced the records.
#[derive(Debug, Clone, PartialEq)]
pub struct ProfileChange {
    /// The first night of the new profile.
    pub night: usize,
    /// The ceilings that changed: the key, and what it was and is per second. A ceiling that one side lacks is nothing.
    pub ceilings: Vec<(String, Option<f64>, Option<f64>)>,
}

impl ProfileChange {
    /// Every change over the nights.
    pub fn of(nights: &[Night]) -> Vec<ProfileChange> {
        let changed = |(at, pair): (usize, &[Night])| match (&pair[0].profile, &pair[1].profile) {
            (Some(old), Some(new)) if old.id() != new.id() => {
                Some(ProfileChange { night: at + 1, ceilings: ceilings(old, new) })
            }
            _ => None,
        };
        nights.windows(2).enumerate().filter_map(changed).collect()
    }
}

fn ceilings(old: &Profile, new: &Profile) -> Vec<(String, Option<f64>, Option<f64>)> {
    let of = |profile: &Profile, key: &str| match key {
        "hbm" => Some(profile.bandwidth().effective),
        key => profile.peak(key).map(|c| c.effective),
    };
    let mut keys: Vec<String> = old.peaks().chain(new.peaks()).map(|(key, _)| key).collect();
    keys.sort();
    keys.dedup();
    keys.insert(0, "hbm".to_owned());
    keys.into_iter()
        .map(|key| {
            let (was, is) = (of(old, &key), of(new, &key));
            (key, was, is)
        })
        .filter(|(_, was, is)| was != is)
        .collect()
}

impl fmt::Display for ProfileChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = |key: &str, value: &Option<f64>| {
            let unit = if key == "hbm" { "B/s" } else { "FLOP/s" };
            value.map_or_else(|| "nothing".to_owned(), |v| units::si(v, unit))
        };
        let parts: Vec<String> = self
            .ceilings
            .iter()
            .map(|(key, was, is)| format!("{key} {} -> {}", text(key, was), text(key, is)))
            .collect();
        if parts.is_empty() { f.write_str("no ceiling changed") } else { f.write_str(&parts.join(", ")) }
    }
}
