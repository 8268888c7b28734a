//! What a file that is continued holds, and that one run at a time does.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fs::{File, TryLockError};
use std::io::{Read as _, Write as _};
use std::path::Path;

use anyhow::{Context, Result, bail};
use tileops_record::{Record, parse};

/// A row: its op, its case, its entry's hash.
pub type Row = (String, String, String);

/// The rows that a run is to have the times of, and which times count as theirs.
#[derive(Debug, Clone, Default)]
pub struct Sought {
    /// The rows.
    pub rows: BTreeSet<Row>,
    /// The name of the device that runs them.
    pub device: String,
    /// What takes their times there, and what does as well.
    pub sources: Vec<&'static str>,
}

/// What a file that is continued held.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Held {
    /// The rows that have their time: they are not run again.
    pub done: BTreeSet<Row>,
    /// How many records without a time were taken out, because their rows are run again or have a time by now.
    pub untimed: usize,
    /// How many bytes were taken off its end: a record that was being written when the program was killed.
    pub torn: usize,
}

/// Opens a file for appending, and keeps other runs away from it for as long as it is open.
pub(super) fn locked(path: &Path) -> Result<File> {
    let context = || format!("cannot write `{}`", path.display());
    loop {
        let file = File::options().create(true).read(true).append(true).open(path).with_context(context)?;
        if !file.metadata().with_context(context)?.is_file() {
            return Ok(file);
        }
        match file.try_lock() {
            Ok(()) if is_at(&file, path) => return Ok(file),
            // Another run has just put a new file in its place.
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                bail!("another run is writing `{}`: wait until it has ended, or name another file", path.display())
            }
            // A file system without locks.
            Err(TryLockError::Error(_)) => return Ok(file),
        }
    }
}

#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let place = |metadata: std::fs::Metadata| (metadata.dev(), metadata.ino());
    file.metadata().map(place).ok() == path.metadata().map(place).ok()
}

#[cfg(not(unix))]
fn is_at(_: &File, path: &Path) -> bool {
    path.exists()
}

/// Puts into `plain`, open as `file`, what it and the compressed file hold together, without what this run replaces.
pub(super) fn continued(mut file: File, plain: &Path, packed: Option<&Path>, sought: &Sought) -> Result<(File, Held)> {
    let context = || format!("cannot read `{}`", plain.display());
    let mut bytes = Vec::new();
    if file.metadata().with_context(context)?.is_file() {
        file.read_to_end(&mut bytes).with_context(context)?;
    }
    let (own, torn) = lines(plain, &bytes)?;
    let unpacked = match packed.filter(|packed| packed.exists()) {
        Some(packed) => unpack(packed)?,
        None => Vec::new(),
    };
    let (before, _) = lines(packed.unwrap_or(plain), &unpacked)?;
    let known: HashSet<&[u8]> = own.iter().map(|line| line.text).collect();
    let mut all: Vec<Line<'_>> = before.into_iter().filter(|line| !known.contains(line.text)).collect();
    all.extend(own);
    let replaced = replaced(&all, sought);
    let done = all.iter().filter_map(|line| sought.done(&line.record)).collect();
    let mut whole = Vec::new();
    for (line, _) in all.iter().zip(&replaced).filter(|(_, is_replaced)| !**is_replaced) {
        whole.extend_from_slice(line.text);
        whole.push(b'\n');
    }
    let held = Held { done, untimed: replaced.into_iter().filter(|&is_replaced| is_replaced).count(), torn };
    if whole == bytes {
        return Ok((file, held));
    }
    let mut new = None;
    let written = tileops_files::replace_with(plain, |file| {
        file.write_all(&whole)?;
        // Nobody else comes between. Where it is the old file that is written to, it is locked already.
        let _ = file.try_lock();
        new = Some(file.try_clone()?);
        Ok(())
    });
    written.with_context(|| format!("cannot write `{}`", plain.display()))?;
    Ok((new.filter(|new| is_at(new, plain) && !is_at(&file, plain)).unwrap_or(file), held))
}

/// A line that is a record.
struct Line<'a> {
    text: &'a [u8],
    record: Record,
}

/// The records of a file, and how many bytes are behind the last whole one. A file with anything else is refused.
fn lines<'a>(path: &Path, bytes: &'a [u8]) -> Result<(Vec<Line<'a>>, usize)> {
    let mut lines = Vec::new();
    for (number, text) in (1..).zip(bytes.split_inclusive(|&byte| byte == b'\n')) {
        let (text, has_end) = text.strip_suffix(b"\n").map_or((text, false), |text| (text, true));
        if text.trim_ascii().is_empty() {
            continue;
        }
        match parse(text) {
            Ok(record) => lines.push(Line { text, record }),
            // A kill leaves the beginning of a record; of anything else nothing is taken away.
            Err(_) if !has_end && (b"{\"schema\":".starts_with(text) || text.starts_with(b"{\"schema\":")) => {
                return Ok((lines, text.len()));
            }
            Err(reason) => bail!(
                "`{}`, line {number}: {reason}. --resume continues a file of records alone: name another one, or take the \
                 line out",
                path.display()
            ),
        }
    }
    Ok((lines, 0))
}

impl Sought {
    /// The row that the record is the time of, by this device.
    fn done(&self, record: &Record) -> Option<Row> {
        let timing = record.timing.as_ref().filter(|_| record.peer.is_none())?;
        let is_ours = record.device.as_ref().is_some_and(|device| *device.name == *self.device);
        let row = (record.op.to_string(), record.case.to_string(), record.entry_hash.as_ref()?.to_string());
        (is_ours && self.sources.iter().any(|source| *timing.source == **source) && self.rows.contains(&row))
            .then_some(row)
    }
}

/// Which records say nothing any more: those without a time whose row this run times, has timed, or says something newer
/// of. Readers take each record of a row for a row.
fn replaced(lines: &[Line<'_>], sought: &Sought) -> Vec<bool> {
    let rows: BTreeSet<(&str, &str)> = sought.rows.iter().map(|(op, case, _)| (&**op, &**case)).collect();
    let device = |record: &Record| record.device.as_ref().map(|device| device.name.to_string());
    let mut last = BTreeMap::new();
    for (at, Line { record, .. }) in lines.iter().enumerate().filter(|(_, line)| line.record.peer.is_none()) {
        last.insert((&*record.op, &*record.case, record.entry_hash.as_deref(), device(record)), at);
    }
    let is_replaced = |(at, Line { record, .. }): (usize, &Line<'_>)| {
        if record.peer.is_some() || record.timing.is_some() {
            return false;
        }
        let device = device(record);
        let is_ours = device.as_ref().is_none_or(|name| *name == sought.device);
        (is_ours && rows.contains(&(&*record.op, &*record.case)))
            || last.get(&(&*record.op, &*record.case, record.entry_hash.as_deref(), device)) != Some(&at)
    };
    lines.iter().enumerate().map(is_replaced).collect()
}

fn unpack(packed: &Path) -> Result<Vec<u8>> {
    let name = packed.display();
    let file = File::open(packed).with_context(|| format!("cannot read `{name}`"))?;
    zstd::decode_all(file).with_context(|| {
        format!(
            "`{name}` cannot be decompressed, perhaps because it was cut short: what is left of it can be had by \
             `zstd -dcq {name} > rest.jsonl`, and continued with `--out rest.jsonl --resume`"
        )
    })
}
