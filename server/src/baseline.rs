//! The baseline: defects that are known, counted by file, entry, code and message, and left out of reports. It only
//! shrinks: a defect once gone is not known again.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};

use crate::diagnostic::{Level, Outcome, count};
use crate::discover::{normalized, relative};
use crate::notes::Notes;

/// The format that this program writes and reads.
const VERSION: u32 = 1;

/// The file.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Baseline {
    version: u32,
    /// In their order, none twice.
    defects: Vec<Row>,
}

/// Defects that are alike.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    #[serde(flatten)]
    key: Key,
    count: usize,
}

/// What makes defects alike. No line is part of it: what moves stays known.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
struct Key {
    /// The file, relative to the folder of the baseline.
    file: String,
    entry: Option<String>,
    code: String,
    message: String,
}

/// The defects that a baseline lists, to ask for.
#[derive(Debug, Default)]
pub(crate) struct Known {
    /// The folder of the baseline.
    folder: PathBuf,
    keys: BTreeSet<Key>,
}

impl Known {
    /// Reads the baseline at `path`; one that is not there lists nothing.
    pub(crate) fn read(path: &Path) -> Result<Self> {
        let folder = normalized(path).parent().map_or_else(PathBuf::new, Path::to_path_buf);
        let text = match fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Known::default()),
            Err(error) => return Err(error).with_context(|| format!("cannot read the baseline `{}`", path.display())),
        };
        let baseline: Baseline =
            serde_json::from_str(&text).with_context(|| format!("cannot read the baseline `{}`", path.display()))?;
        Ok(Known { folder, keys: baseline.defects.into_iter().map(|row| row.key).collect() })
    }

    /// Whether it lists a defect of the file that reports show as `shown`.
    pub(crate) fn holds(&self, shown: &str, entry: Option<&str>, code: &str, message: &str) -> bool {
        !self.keys.is_empty()
            && self.keys.contains(&Key {
                file: relative(&normalized(Path::new(shown)), &self.folder),
                entry: entry.map(str::to_owned),
                code: code.to_owned(),
                message: message.to_owned(),
            })
    }
}

impl Baseline {
    /// Takes the defects that the baseline at `path` lists out of `outcome`, and says which of its rows are stale. With
    /// `write`, a baseline that is not there yet is written from all defects, and one that is loses its stale rows.
    /// `selected` says which entries the run looked at.
    pub(crate) fn apply(
        path: &Path,
        write: bool,
        outcome: &mut Outcome,
        selected: impl Fn(Option<&str>) -> bool,
        notes: &Notes,
    ) -> Result<()> {
        let place = || format!("the baseline `{}`", path.display());
        let folder = normalized(path).parent().map_or_else(PathBuf::new, Path::to_path_buf);
        let file = |shown: &str| relative(&normalized(Path::new(shown)), &folder);
        let (mut known, new) = match fs::read_to_string(path) {
            Ok(text) => {
                let baseline: Baseline =
                    serde_json::from_str(&text).with_context(|| format!("cannot read {}", place()))?;
                if baseline.version != VERSION {
                    bail!("{} has version {}, not {VERSION}", place(), baseline.version);
                }
                let mut known: BTreeMap<Key, usize> = BTreeMap::new();
                for row in baseline.defects {
                    *known.entry(row.key).or_default() += row.count;
                }
                (known, false)
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound && write => (BTreeMap::new(), true),
            Err(error) => {
                let hint = if error.kind() == io::ErrorKind::NotFound { " (--write-baseline makes one)" } else { "" };
                return Err(error).with_context(|| format!("cannot read {}{hint}", place()));
            }
        };

        let mut left = known.clone();
        let mut held = 0;
        outcome.diagnostics.retain(|diagnostic| {
            if diagnostic.level == Level::Unreached {
                return true;
            }
            let key = Key {
                file: file(&diagnostic.source.path),
                entry: diagnostic.entry.as_deref().map(str::to_owned),
                code: diagnostic.code().to_owned(),
                message: diagnostic.message.clone(),
            };
            if new {
                *known.entry(key).or_default() += 1;
                held += 1;
                return false;
            }
            match left.get_mut(&key).filter(|left| **left > 0) {
                Some(left) => {
                    *left -= 1;
                    held += 1;
                    false
                }
                None => true,
            }
        });
        outcome.baselined = held;

        // A row is stale where the run looked and found less, or where there is nothing to look at any more.
        let judged: Vec<String> = outcome.files.iter().map(|judged| file(&judged.source.path)).collect();
        let unread: Vec<String> = outcome.problems.iter().map(|problem| file(&problem.path)).collect();
        let broken = |key: &Key| {
            outcome.bugs.iter().any(|bug| bug.entry.as_deref() == key.entry.as_deref() && file(&bug.path) == key.file)
        };
        let looked_at = |key: &Key| {
            let gone = !unread.contains(&key.file) && !folder.join(&key.file).exists();
            (gone || judged.contains(&key.file)) && selected(key.entry.as_deref()) && !broken(key)
        };
        let mut removed = 0;
        for (key, left) in left.into_iter().filter(|(key, left)| *left > 0 && looked_at(key)) {
            if !write {
                let entry = key.entry.as_deref().map_or_else(String::new, |entry| format!(", `{entry}`"));
                let times = if left == 1 { String::new() } else { format!(" ({left} times)") };
                notes.warning(&format!(
                    "{} lists a defect that is gone{times}: {}{entry}: {}: {}",
                    place(),
                    key.file,
                    key.code,
                    key.message
                ));
            }
            removed += left;
            if let Some(known) = known.get_mut(&key) {
                *known -= left;
            }
        }
        if write {
            known.retain(|_, count| *count > 0);
            let defects: Vec<Row> = known.into_iter().map(|(key, count)| Row { key, count }).collect();
            let total: usize = defects.iter().map(|row| row.count).sum();
            let mut text = serde_json::to_string_pretty(&Baseline { version: VERSION, defects }).context("no JSON")?;
            text.push('\n');
            if new || removed > 0 {
                tileops_files::replace(path, text.as_bytes()).with_context(|| format!("cannot write {}", place()))?;
            }
            let mut said = format!("{} lists {}", place(), count(total, "defect", "defects"));
            if removed > 0 {
                said.push_str(&format!("; {} gone from it", count(removed, "is", "are")));
            }
            notes.note(&said);
        }
        Ok(())
    }
}
