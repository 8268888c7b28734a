//! Where records go: appended as they come, so that whatever ends the program leaves whole records behind.

mod continued;

use std::borrow::Cow;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use tileops_record::{Record, Writer, load};

use self::continued::{continued, locked};
use crate::select::Partition;

pub use continued::{Held, Row, Sought};

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
    let unpacked = name.strip_suffix(".zst").unwrap_or(&name);
    // What is behind the last dot of `h200.2026-11-30` is no ending.
    let is_ending = |(stem, ending): &(&str, &str)| {
        !stem.is_empty() && !ending.is_empty() && ending.bytes().all(|byte| byte.is_ascii_alphabetic())
    };
    let stem = unpacked.rsplit_once('.').filter(is_ending).map_or(unpacked, |(stem, _)| stem);
    path.with_file_name(format!("{stem}.{part}-of-{of}{}", &name[stem.len()..]))
}

/// Whether there is something in the file that would be lost.
fn is_filled(path: &Path) -> bool {
    path.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.len() > 0)
}

/// Whether the file's name says that it is compressed.
fn is_packed(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "zst")
}

/// Makes the folder that `path` is in.
fn make_folder(path: &Path) -> Result<()> {
    let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) else { return Ok(()) };
    std::fs::create_dir_all(folder)
        .with_context(|| format!("cannot make `{}`, the folder of `{}`", folder.display(), path.display()))
}

impl Store {
    /// Records go to `path`, or are printed where there is none. A file that ends in `.zst` is compressed at the end, and
    /// until then the records are beside it, without that ending. Where rows are sought, the file is continued: what it
    /// holds of them is said, and what is no record of theirs stays. Without them a file that holds something is refused.
    ///
    /// # Errors
    ///
    /// Where the file holds something and is not continued, holds something else than records, cannot be read or
    /// written, or is another run's.
    pub fn open(path: Option<&Path>, sought: Option<&Sought>) -> Result<(Self, Held)> {
        let Some(path) = path else {
            return Ok((Store { writer: None, plain: PathBuf::new(), packed: None }, Held::default()));
        };
        let packed = is_packed(path).then(|| path.to_owned());
        let plain = if packed.is_some() { path.with_extension("") } else { path.to_owned() };
        let refuse_filled = || match [Some(&plain), packed.as_ref()].into_iter().flatten().find(|path| is_filled(path))
        {
            Some(path) => bail!("`{}` has records: continue it with --resume, or name another file", path.display()),
            None => Ok(()),
        };
        if sought.is_none() {
            refuse_filled()?;
        }
        make_folder(path)?;
        let file = locked(&plain)?;
        let (file, held) = match sought {
            // Another run may have filled it since.
            None => (refuse_filled().map(|()| file)?, Held::default()),
            Some(sought) => continued(file, &plain, packed.as_deref(), sought)?,
        };
        Ok((Store { writer: Some(Writer::new(file)), plain, packed }, held))
    }

    /// Takes one record.
    ///
    /// # Errors
    ///
    /// Where it cannot be written, also where nobody reads any more what is printed.
    pub fn write(&mut self, record: &Record) -> Result<()> {
        match &mut self.writer {
            Some(writer) => writer.write(record).with_context(|| format!("cannot write `{}`", self.plain.display())),
            None => {
                let mut line = serde_json::to_vec(record)?;
                line.push(b'\n');
                let mut out = io::stdout().lock();
                out.write_all(&line).and_then(|()| out.flush()).context("cannot print records")
            }
        }
    }

    /// The file that records are in until the end; nothing where they are printed.
    pub fn place(&self) -> Option<&Path> {
        self.writer.as_ref().map(|_| &*self.plain)
    }

    /// Compresses the file where that is asked for.
    pub fn finish(self) -> Result<()> {
        let Some(packed) = &self.packed else { return Ok(()) };
        let context = || format!("cannot compress `{}`", self.plain.display());
        let bytes = std::fs::read(&self.plain).with_context(context)?;
        replace(packed, &bytes)?;
        // Until here the file is this run's own.
        std::fs::remove_file(&self.plain).with_context(context)
    }
}

/// Writes a file of prices: `path` is there whole, or not at all. One that ends in `.zst` is compressed. The prices of a
/// file that has nothing else are replaced.
///
/// # Errors
///
/// Where the file has anything else, which a measurement may have cost, or cannot be written.
pub fn write_prices(path: &Path, prices: &[u8]) -> Result<()> {
    if is_filled(path) && !has_prices_alone(path) {
        bail!(
            "`{}` has something else than prices, which are not written over it: name another file, or remove it first",
            path.display()
        );
    }
    make_folder(path)?;
    replace(path, prices)
}

/// Whether the file has records that no run has made, and nothing else.
fn has_prices_alone(path: &Path) -> bool {
    let is_price = |record: &Record| record.run.is_none() && record.timing.is_none() && record.peer.is_none();
    let loaded = load(&[path.to_owned()]);
    loaded.problems.is_empty() && loaded.records.iter().all(is_price)
}

/// Writes a file beside its place and moves it there: no reader ever sees half of it. One that ends in `.zst` is compressed.
fn replace(path: &Path, lines: &[u8]) -> Result<()> {
    let context = || format!("cannot write `{}`", path.display());
    let packed =
        if is_packed(path) { Cow::from(zstd::encode_all(lines, 0).with_context(context)?) } else { Cow::from(lines) };
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
    use std::fs;
    use std::sync::Arc;

    use tileops_record::{Device, Failure, Timing};

    use super::*;

    fn record(case: &str) -> Record {
        let device = Device { name: "A CPU".into(), ..Device::default() };
        Record { entry_hash: Some("abc".into()), device: Some(Arc::new(device)), ..Record::new("ExpFwdOp", case) }
    }

    fn timed(case: &str) -> Record {
        let timing = Timing { source: "cpu".into(), device_busy_ns: 1.0, ..Timing::default() };
        Record { timing: Some(Box::new(timing)), ..record(case) }
    }

    fn failed(case: &str, kind: &str) -> Record {
        Record { failure: Some(Box::new(Failure { kind: kind.into(), ..Failure::default() })), ..record(case) }
    }

    fn sought(cases: &[&str]) -> Sought {
        let row = |case: &&str| ("ExpFwdOp".to_owned(), (*case).to_owned(), "abc".to_owned());
        Sought { rows: cases.iter().map(row).collect(), device: "A CPU".to_owned(), sources: vec!["cpu"] }
    }

    fn write(path: &Path, records: &[Record]) {
        let line = |record: &Record| serde_json::to_string(record).expect("a line") + "\n";
        fs::write(path, records.iter().map(line).collect::<String>()).expect("written");
    }

    fn cases(path: &Path) -> Vec<String> {
        let loaded = load(&[path.to_owned()]);
        assert!(loaded.problems.is_empty(), "{:?}", loaded.problems);
        loaded.records.iter().map(|record| record.case.to_string()).collect()
    }

    fn done(held: &Held) -> Vec<&str> {
        held.done.iter().map(|(_, case, _)| case.as_str()).collect()
    }

    #[test]
    fn a_file_with_records_is_continued_or_left_alone() {
        let folder = tempfile::tempdir().expect("a folder");
        let sought = sought(&["a", "b"]);
        for name in ["new/out.jsonl", "new/out.jsonl.zst"] {
            let path = folder.path().join(name);
            let (mut store, held) = Store::open(Some(&path), Some(&sought)).expect("a new file, in a new folder");
            assert_eq!(held, Held::default());
            store.write(&timed("a")).expect("written");
            // Killed here: what is there is whole, whatever the file is called in the end.
            drop(store);
            let (mut store, held) = Store::open(Some(&path), Some(&sought)).expect("an old file");
            assert_eq!(done(&held), ["a"]);
            store.write(&timed("b")).expect("written");
            store.finish().expect("finished");
            let error = Store::open(Some(&path), None).expect_err("there are records");
            assert!(error.to_string().contains("--resume"), "{error}");
            let error = write_prices(&path, b"").expect_err("there are records");
            assert!(error.to_string().contains("name another file"), "{error}");
            let (_, held) = Store::open(Some(&path), Some(&sought)).expect("an old file");
            assert_eq!(done(&held), ["a", "b"], "{name}");
            fs::remove_file(folder.path().join("new/out.jsonl")).expect("it is there");
        }
    }

    #[test]
    fn what_a_file_holds_of_a_row_is_a_time_of_this_device_or_is_run_again() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("out.jsonl");
        let gpu = Arc::new(Device { name: "NVIDIA H200".into(), ..Device::default() });
        let of_gpu = |record: Record| Record { device: Some(gpu.clone()), ..record };
        let priced = Record { device: None, ..record("priced") };
        let events = Timing { source: "events".into(), device_busy_ns: 1.0, ..Timing::default() };
        let peer = Record { peer: Some("torch-eager".into()), ..failed("of a peer", "unsupported") };
        let records = [
            timed("timed"),
            failed("wrong", "wrong"),
            priced,
            of_gpu(timed("of the GPU")),
            of_gpu(failed("of the GPU", "hung")),
            Record { timing: Some(Box::new(events)), ..timed("by events") },
            Record { entry_hash: Some("old".into()), ..timed("of another entry") },
            peer,
            failed("not asked for", "hung"),
            failed("not asked for", "crashed"),
        ];
        write(&path, &records);
        let all = ["timed", "wrong", "priced", "of the GPU", "by events", "of another entry", "of a peer"];
        let (_, held) = Store::open(Some(&path), Some(&sought(&all))).expect("a file of records");
        assert_eq!(done(&held), ["timed"]);
        assert_eq!(held.untimed, 3);
        let left = load(std::slice::from_ref(&path)).records;
        let kept: Vec<&Record> =
            records.iter().enumerate().filter(|(at, _)| ![1, 2, 8].contains(at)).map(|(_, r)| r).collect();
        assert_eq!(left.iter().collect::<Vec<_>>(), kept, "no measurement is taken out, and no peer's record");
    }

    #[test]
    fn a_compressed_file_and_one_beside_it_are_taken_together() {
        let folder = tempfile::tempdir().expect("a folder");
        let (plain, packed) = (folder.path().join("y.jsonl"), folder.path().join("y.jsonl.zst"));
        for beside in [vec![], vec![timed("a")], vec![timed("a"), timed("b"), timed("c")]] {
            write(&plain, &[timed("a"), failed("c", "hung"), timed("b")]);
            let bytes = fs::read(&plain).expect("read");
            replace(&packed, &bytes).expect("packed");
            write(&plain, &beside);
            let (store, held) = Store::open(Some(&packed), Some(&sought(&["a", "b", "c"]))).expect("both are read");
            assert_eq!(held.done.len(), beside.len().max(2), "{beside:?}");
            store.finish().expect("finished");
            let mut left = cases(&packed);
            left.sort();
            assert_eq!(left, ["a", "b", "c"][..beside.len().max(2)]);
        }
        let bytes = fs::read(&packed).expect("read");
        fs::write(&packed, &bytes[..bytes.len() - 9]).expect("cut");
        let error = Store::open(Some(&packed), Some(&sought(&[]))).expect_err("it is cut short");
        assert!(error.to_string().contains("zstd -dcq"), "{error}");
        assert_eq!(fs::read(&packed).expect("it is left alone").len(), bytes.len() - 9);
    }

    #[test]
    fn a_record_that_a_kill_has_torn_is_cut_off_and_nothing_else_is() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("out.jsonl");
        write(&path, &[timed("a"), timed("b")]);
        let whole = fs::read(&path).expect("read");
        for end in [whole.len() - 1, whole.len() - 2, whole.len() / 2 + 3] {
            fs::write(&path, &whole[..end]).expect("torn");
            let (mut store, held) = Store::open(Some(&path), Some(&sought(&["a", "b"]))).expect("it is continued");
            let is_whole = end == whole.len() - 1;
            assert_eq!(held.torn, if is_whole { 0 } else { end - whole.len() / 2 });
            assert_eq!(done(&held), ["a", "b"][..if is_whole { 2 } else { 1 }]);
            store.write(&timed("c")).expect("written");
            drop(store);
            assert_eq!(cases(&path).last().map(String::as_str), Some("c"));
        }
        for text in ["# Notes\n\nMine.\n", "mine", "{\"schema\":\"tileops.record/9\",\"op\":\"A\",\"case\":\"a\"}\n"] {
            fs::write(&path, text).expect("written");
            let error = Store::open(Some(&path), Some(&sought(&[]))).expect_err("it is no file of records").to_string();
            assert!(error.contains("out.jsonl`, line 1: ") && error.contains("name another one"), "{error}");
            assert_eq!(fs::read_to_string(&path).expect("it is left alone"), text);
        }
    }

    #[test]
    fn two_runs_do_not_write_one_file() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("out.jsonl");
        write(&path, &[failed("a", "hung"), timed("b")]);
        // The first one puts a new file in its place, which is its own as well.
        let (first, held) = Store::open(Some(&path), Some(&sought(&["a", "b"]))).expect("the first");
        assert_eq!(held.untimed, 1);
        for sought in [None, Some(&sought(&["a"]))] {
            let error = Store::open(Some(&path), sought).expect_err("it is taken").to_string();
            assert!(error.contains("out.jsonl`"), "{error}");
            assert_eq!(error.contains("another run is writing"), sought.is_some(), "{error}");
        }
        drop(first);
        Store::open(Some(&path), Some(&sought(&["a"]))).expect("it is free again");
    }

    #[test]
    fn each_partition_has_a_file_of_its_own() {
        let part = |part, of| Some(Partition { part, of });
        for (name, expected) in [
            ("a/out.jsonl.zst", "a/out.2-of-8.jsonl.zst"),
            ("out", "out.2-of-8"),
            ("o.zst", "o.2-of-8.zst"),
            ("o.json", "o.2-of-8.json"),
            ("h200.2026-11-30", "h200.2026-11-30.2-of-8"),
            ("h200.jsonl.old.jsonl", "h200.jsonl.old.2-of-8.jsonl"),
            (".jsonl", ".jsonl.2-of-8"),
        ] {
            assert_eq!(of_partition(Path::new(name), part(2, 8)), Path::new(expected));
        }
        assert_eq!(of_partition(Path::new("out.jsonl"), part(1, 1)), Path::new("out.jsonl"));
        assert_eq!(of_partition(Path::new("out.jsonl"), None), Path::new("out.jsonl"));
    }
}
