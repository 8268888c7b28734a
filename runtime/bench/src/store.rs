//! Where records go: appended as they come, so that whatever ends the program leaves whole records behind.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use tileops_record::{Record, Writer, load};

use crate::select::Partition;

/// The rows that a file has records of, by op, case and entry hash.
pub type Recorded = BTreeSet<(String, String, String)>;

/// Takes records.
#[derive(Debug)]
pub struct Store {
    writer: Option<Writer>,
    /// The file that records are appended to.
    plain: PathBuf,
    /// What it becomes at the end, where that is asked for.
    packed: Option<PathBuf>,
}

/// The file of a partition: its number is put before the ending, `out.2-of-8.jsonl`.
pub fn of_partition(path: &Path, partition: Option<Partition>) -> PathBuf {
    let Some(Partition { part, of }) = partition.filter(|partition| partition.of > 1) else { return path.to_owned() };
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let at = name.find(".jsonl").unwrap_or(name.len());
    let (stem, ending) = name.split_at(at);
    path.with_file_name(format!("{stem}.{part}-of-{of}{ending}"))
}

impl Store {
    /// Records go to `path`, or are printed where there is none. A file that ends in `.zst` is compressed at the end, and
    /// until then the records are beside it, without that ending. What a file that exists holds is continued by
    /// `is_resumed`, and its rows are given; without it, the file is left alone.
    pub fn open(path: Option<&Path>, is_resumed: bool) -> Result<(Self, Recorded)> {
        let Some(path) = path else {
            return Ok((Store { writer: None, plain: PathBuf::new(), packed: None }, Recorded::new()));
        };
        let packed = path.extension().is_some_and(|extension| extension == "zst").then(|| path.to_owned());
        let plain = if packed.is_some() { path.with_extension("") } else { path.to_owned() };
        let is_filled = |path: &Path| path.metadata().is_ok_and(|metadata| metadata.len() > 0);
        let mut recorded = Recorded::new();
        if is_resumed {
            if let Some(packed) = packed.as_deref().filter(|packed| packed.exists() && !plain.exists()) {
                unpack(packed, &plain)?;
            }
            if plain.exists() {
                let loaded = load(std::slice::from_ref(&plain));
                recorded.extend(loaded.records.into_iter().filter(|record| record.peer.is_none()).filter_map(
                    |record| Some((record.op.to_string(), record.case.to_string(), record.entry_hash?.to_string())),
                ));
            }
        } else if let Some(path) = [Some(&plain), packed.as_ref()].into_iter().flatten().find(|path| is_filled(path)) {
            bail!("`{}` has records: continue it with --resume, or name another file", path.display());
        }
        let writer = Writer::append(&plain).with_context(|| format!("cannot write `{}`", plain.display()))?;
        Ok((Store { writer: Some(writer), plain, packed }, recorded))
    }

    /// Takes one record.
    pub fn write(&mut self, record: &Record) -> Result<()> {
        match &mut self.writer {
            Some(writer) => writer.write(record).with_context(|| format!("cannot write `{}`", self.plain.display())),
            None => {
                let mut line = serde_json::to_vec(record)?;
                line.push(b'\n');
                print(&line)
            }
        }
    }

    /// Compresses the file where that is asked for.
    pub fn finish(mut self) -> Result<()> {
        self.writer = None;
        let Some(packed) = &self.packed else { return Ok(()) };
        let context = || format!("cannot compress `{}`", self.plain.display());
        let bytes = std::fs::read(&self.plain).with_context(context)?;
        replace(packed, &bytes)?;
        std::fs::remove_file(&self.plain).with_context(context)
    }
}

fn unpack(packed: &Path, plain: &Path) -> Result<()> {
    let context = || format!("cannot read `{}`", packed.display());
    let file = std::fs::File::open(packed).with_context(context)?;
    let bytes = zstd::decode_all(file).with_context(context)?;
    replace(plain, &bytes)
}

/// Writes a file beside its place and moves it there: no reader ever sees half of it. One that ends in `.zst` is compressed.
pub fn replace(path: &Path, lines: &[u8]) -> Result<()> {
    let context = || format!("cannot write `{}`", path.display());
    let compressed = path.extension().is_some_and(|extension| extension == "zst");
    let packed =
        if compressed { Cow::from(zstd::encode_all(lines, 0).with_context(context)?) } else { Cow::from(lines) };
    tileops_files::replace(path, &packed).with_context(context)
}

/// Prints lines. A reader that has gone away is no reason to fail.
pub fn print(lines: &[u8]) -> Result<()> {
    match io::stdout().lock().write_all(lines) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => result.context("cannot print"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(case: &str) -> Record {
        Record { entry_hash: Some("abc".into()), ..Record::new("ExpFwdOp", case) }
    }

    #[test]
    fn a_file_with_records_is_continued_or_left_alone() {
        let folder = tempfile::tempdir().expect("a folder");
        for name in ["out.jsonl", "out.jsonl.zst"] {
            let path = folder.path().join(name);
            let (mut store, recorded) = Store::open(Some(&path), true).expect("a new file");
            assert!(recorded.is_empty());
            store.write(&record("a")).expect("written");
            // Killed here: what is there is whole, whatever the file is called in the end.
            drop(store);
            let (mut store, recorded) = Store::open(Some(&path), true).expect("an old file");
            assert_eq!(recorded.iter().map(|(_, case, _)| case.as_str()).collect::<Vec<_>>(), ["a"]);
            store.write(&record("b")).expect("written");
            store.finish().expect("finished");
            let error = Store::open(Some(&path), false).expect_err("there are records");
            assert!(error.to_string().contains("--resume"), "{error}");
            let (_, recorded) = Store::open(Some(&path), true).expect("an old file");
            assert_eq!(recorded.len(), 2, "{name}");
            std::fs::remove_file(folder.path().join("out.jsonl")).expect("it is there");
        }
    }

    #[test]
    fn each_partition_has_a_file_of_its_own() {
        let part = |part, of| Some(Partition { part, of });
        assert_eq!(of_partition(Path::new("a/out.jsonl.zst"), part(2, 8)), Path::new("a/out.2-of-8.jsonl.zst"));
        assert_eq!(of_partition(Path::new("out"), part(2, 8)), Path::new("out.2-of-8"));
        assert_eq!(of_partition(Path::new("out.jsonl"), part(1, 1)), Path::new("out.jsonl"));
        assert_eq!(of_partition(Path::new("out.jsonl"), None), Path::new("out.jsonl"));
    }
}
