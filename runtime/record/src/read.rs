//! Records from files: JSON Lines, plain or zstd, one record a line. A malformed line costs itself.

use std::fmt;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use globset::Glob;
use rayon::iter::{IntoParallelIterator, ParallelIterator};
use walkdir::WalkDir;

use crate::record::{Device, Policy, Record, Run, SCHEMA};
use crate::text::Text;

/// What the files gave.
#[derive(Debug, Default)]
pub struct Loaded {
    /// The records, in the order of the files and their lines.
    pub records: Vec<Record>,
    /// What could not be read.
    pub problems: Vec<Problem>,
}

/// Something that could not be read; everything else was.
#[derive(Debug, thiserror::Error)]
pub struct Problem {
    /// The file.
    pub path: PathBuf,
    /// The line, from one; nothing where the file as a whole is at fault.
    pub line: Option<usize>,
    /// What is wrong.
    pub reason: Reason,
}

/// Why something could not be read.
#[derive(Debug, thiserror::Error)]
pub enum Reason {
    /// The operating system says so.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// The line is no record.
    #[error("not a record: {0}")]
    Form(String),
    /// The record is of a schema that this version does not read.
    #[error("its schema is `{0}`, and this version reads `{SCHEMA}`")]
    Schema(Text),
    /// No file matches.
    #[error("no file of records here: a record file ends in `.jsonl` or `.jsonl.zst`")]
    Nothing,
    /// The pattern is no glob.
    #[error("not a pattern: {0}")]
    Pattern(#[from] globset::Error),
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}:{line}: {}", self.path.display(), self.reason),
            None => write!(f, "{}: {}", self.path.display(), self.reason),
        }
    }
}

/// Loads every record of `paths`, each a file, a folder (searched for record files) or a glob.
pub fn load(paths: &[PathBuf]) -> Loaded {
    let mut records = Vec::new();
    let problems = each(paths, |record| record, |record| records.push(record));
    Loaded { records, problems }
}

/// Gives every record of `paths` to `map`, on as many threads as there are, and what it makes of them to `sink`, in the
/// order of the files and their lines. No more than a few thousand records are in memory at a time.
pub fn each<T: Send>(paths: &[PathBuf], map: impl Fn(Record) -> T + Sync, mut sink: impl FnMut(T)) -> Vec<Problem> {
    let mut problems = Vec::new();
    for path in paths {
        match files(path) {
            Ok(found) => {
                for file in found {
                    match open(&file) {
                        Ok(reader) => read_lines(&file, reader, &map, &mut sink, &mut problems),
                        Err(error) => problems.push(Problem { path: file, line: None, reason: error.into() }),
                    }
                }
            }
            Err(reason) => problems.push(Problem { path: path.clone(), line: None, reason }),
        }
    }
    problems
}

fn is_record_file(path: &Path) -> bool {
    let name = path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    name.ends_with(".jsonl") || name.ends_with(".jsonl.zst")
}

fn files(path: &Path) -> Result<Vec<PathBuf>, Reason> {
    if path.is_dir() {
        let walk = WalkDir::new(path).sort_by_file_name();
        let found: Vec<PathBuf> =
            walk.into_iter().filter_map(Result::ok).map(|e| e.into_path()).filter(|p| is_record_file(p)).collect();
        return if found.is_empty() { Err(Reason::Nothing) } else { Ok(found) };
    }
    let text = path.to_string_lossy();
    if path.exists() || !text.contains(['*', '?', '[']) {
        return Ok(vec![path.to_owned()]);
    }
    // The longest leading folder without a wildcard is where the search starts.
    let base: PathBuf = path.iter().take_while(|part| !part.to_string_lossy().contains(['*', '?', '['])).collect();
    let base = if base.as_os_str().is_empty() { PathBuf::from(".") } else { base };
    let glob = Glob::new(&text)?.compile_matcher();
    let found: Vec<PathBuf> = WalkDir::new(&base)
        .sort_by_file_name()
        .into_iter()
        .filter_map(Result::ok)
        .map(walkdir::DirEntry::into_path)
        .map(|p| p.strip_prefix("./").map(Path::to_owned).unwrap_or(p))
        .filter(|p| p.is_file() && glob.is_match(p))
        .collect();
    if found.is_empty() { Err(Reason::Nothing) } else { Ok(found) }
}

fn open(path: &Path) -> io::Result<Box<dyn BufRead>> {
    let file = BufReader::with_capacity(1 << 16, File::open(path)?);
    if path.extension().is_some_and(|e| e == "zst") {
        let decoder: Box<dyn Read> = Box::new(zstd::Decoder::new(file)?);
        return Ok(Box::new(BufReader::with_capacity(1 << 16, decoder)));
    }
    Ok(Box::new(file))
}

/// Whole lines of a file.
struct Chunk {
    text: Vec<u8>,
    /// The number of its first line, from one.
    line: usize,
}

/// How many bytes a chunk has, and then the rest of its last line.
const CHUNK: usize = 1 << 18;
/// How many chunks are parsed at a time.
const CHUNKS: usize = 16;

/// Reads the lines of one file. An empty line is nothing; a line that is no record is a problem of its own.
fn read_lines<T: Send>(
    path: &Path,
    mut reader: impl BufRead,
    map: &(impl Fn(Record) -> T + Sync),
    sink: &mut impl FnMut(T),
    problems: &mut Vec<Problem>,
) {
    let mut line = 1;
    let problem = |(line, reason): (usize, Reason)| Problem { path: path.to_owned(), line: Some(line), reason };
    loop {
        let mut chunks = Vec::with_capacity(CHUNKS);
        let mut end = None;
        while chunks.len() < CHUNKS && end.is_none() {
            let mut text = Vec::with_capacity(CHUNK + (1 << 12));
            let read = reader.by_ref().take(CHUNK as u64).read_to_end(&mut text).and_then(|read| match text.last() {
                Some(b'\n') | None => Ok(read),
                Some(_) => reader.read_until(b'\n', &mut text),
            });
            let lines = text.iter().filter(|byte| **byte == b'\n').count();
            match read {
                _ if text.is_empty() && read.is_ok() => end = Some(None),
                Err(error) => end = Some(Some((line + lines, Reason::from(error)))),
                Ok(_) => {}
            }
            chunks.push(Chunk { text, line });
            line += lines;
        }
        let parsed: Vec<_> = chunks.into_par_iter().map(|chunk| parse_chunk(&chunk, map)).collect();
        for (records, reasons) in parsed {
            records.into_iter().for_each(&mut *sink);
            problems.extend(reasons.into_iter().map(problem));
        }
        if let Some(failed) = end {
            problems.extend(failed.map(problem));
            return;
        }
    }
}

fn parse_chunk<T>(chunk: &Chunk, map: &impl Fn(Record) -> T) -> (Vec<T>, Vec<(usize, Reason)>) {
    let mut records = Vec::new();
    let mut problems = Vec::new();
    let mut shared = Shared::default();
    for (number, line) in (chunk.line..).zip(chunk.text.split(|byte| *byte == b'\n')) {
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        match parse(line) {
            Ok(mut record) => {
                shared.share(&mut record);
                records.push(map(record));
            }
            Err(reason) => problems.push((number, reason)),
        }
    }
    (records, problems)
}

/// Parts that the records of a run repeat: one of them is kept.
#[derive(Default)]
struct Shared {
    device: Option<Arc<Device>>,
    run: Option<Arc<Run>>,
    policy: Option<Arc<Policy>>,
}

impl Shared {
    fn share(&mut self, record: &mut Record) {
        one(&mut self.device, &mut record.device);
        one(&mut self.run, &mut record.run);
        if let Some(timing) = &mut record.timing {
            one(&mut self.policy, &mut timing.policy);
        }
    }
}

fn one<T: PartialEq>(kept: &mut Option<Arc<T>>, found: &mut Option<Arc<T>>) {
    match (&kept, &found) {
        (Some(known), Some(new)) if known == new => found.clone_from(kept),
        (_, Some(_)) => kept.clone_from(found),
        (_, None) => {}
    }
}

fn parse(line: &[u8]) -> Result<Record, Reason> {
    let record: Record = serde_json::from_slice(line).map_err(|error| Reason::Form(explain(line, &error)))?;
    if record.schema != *SCHEMA {
        return Err(Reason::Schema(record.schema));
    }
    Ok(record)
}

/// What is wrong with a line that is no record, and in which field: parsed again, by readers that keep track.
fn explain(line: &[u8], error: &serde_json::Error) -> String {
    let value: serde_json::Value = match serde_json::from_slice(line) {
        Ok(value) => value,
        Err(error) => return error.to_string(),
    };
    match serde_path_to_error::deserialize::<_, Record>(value) {
        Err(error) if error.path().iter().next().is_some() => format!("`{}`: {}", error.path(), error.inner()),
        Err(error) => error.into_inner().to_string(),
        Ok(_) => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_malformed_line_costs_itself_and_unknown_fields_survive() {
        let text = concat!(
            r#"{"schema":"tileops.record/1","op":"AddFwdOp","case":"a","flops":1,"bytes":2,"note":{"by":"me"}}"#,
            "\n\n{\"schema\":\"tileops.record/1\",\"op\":\n",
            r#"{"schema":"tileops.record/9","op":"AddFwdOp","case":"b"}"#,
            "\n",
            r#"{"schema":"tileops.record/1","op":"MulFwdOp","case":"c"}"#,
        );
        let mut loaded = Loaded::default();
        let mut sink = |record| loaded.records.push(record);
        read_lines(Path::new("r.jsonl"), text.as_bytes(), &|record| record, &mut sink, &mut loaded.problems);
        assert_eq!(loaded.records.iter().map(|r| r.op.as_str()).collect::<Vec<_>>(), ["AddFwdOp", "MulFwdOp"]);
        assert_eq!(loaded.records[0].extra["note"]["by"], "me");
        let problems: Vec<String> = loaded.problems.iter().map(ToString::to_string).collect();
        assert!(problems[0].starts_with("r.jsonl:3: not a record: EOF"), "{problems:?}");
        assert_eq!(
            problems[1],
            "r.jsonl:4: its schema is `tileops.record/9`, and this version reads `tileops.record/1`"
        );
    }

    #[test]
    fn what_is_wrong_with_a_line_is_named_by_its_field() {
        for (fields, expected) in [
            (
                r#""timing":{"source":"cupti","device_busy_ns":"fast"}"#,
                "`timing.device_busy_ns`: invalid type: string \"fast\", expected f64",
            ),
            (r#""timing":{"source":"cupti"}"#, "`timing`: missing field `device_busy_ns`"),
            (r#""flops":-1"#, "`flops`: invalid value: integer `-1`, expected u128"),
            (r#""flops":1.5"#, "`flops`: invalid type: floating point `1.5`, expected u128"),
            (
                r#""tensors":[{"name":"x","dtype":"f32","shape":[2,-2]}]"#,
                "`tensors[0].shape[1]`: invalid value: integer `-2`, expected u64",
            ),
            (r#""op":"again""#, "duplicate field `op`"),
            (r#""bytes":1} {"#, "trailing characters"),
        ] {
            let line = format!(r#"{{"schema":"{SCHEMA}","op":"A","case":"a",{fields}}}"#);
            let reason = parse(line.as_bytes()).expect_err(&line).to_string();
            assert!(reason.starts_with(&format!("not a record: {expected}")), "{line}: {reason}");
        }
    }

    #[test]
    fn lines_keep_their_order_and_their_numbers_over_many_chunks() {
        let record =
            |n: usize| format!(r#"{{"schema":"{SCHEMA}","op":"A","case":"{n}","note":"{}"}}"#, "x".repeat(n % 997));
        let lines: Vec<String> =
            (1..=40_000).map(|n| if n % 9_999 == 0 { "{".to_owned() } else { record(n) }).collect();
        let text = lines.join("\n");
        assert!(text.len() > CHUNK * CHUNKS, "several rounds");
        let mut loaded = Loaded::default();
        let mut sink = |record| loaded.records.push(record);
        read_lines(Path::new("r.jsonl"), text.as_bytes(), &|record| record, &mut sink, &mut loaded.problems);
        let bad: Vec<usize> = loaded.problems.iter().filter_map(|p| p.line).collect();
        assert_eq!(bad, [9_999, 19_998, 29_997, 39_996]);
        let cases: Vec<usize> = loaded.records.iter().map(|r| r.case.parse().expect("a number")).collect();
        assert_eq!(cases, (1..=40_000).filter(|n| n % 9_999 != 0).collect::<Vec<_>>());
    }

    #[test]
    fn what_a_run_repeats_is_kept_once() {
        let line = |case: &str, gpu: &str| {
            format!(
                r#"{{"schema":"{SCHEMA}","op":"A","case":"{case}","device":{{"name":"{gpu}"}},"run":{{"tool":"bench"}}}}"#
            )
        };
        let text = [line("a", "X"), line("b", "X"), line("c", "Y"), line("d", "Y")].join("\n");
        let chunk = Chunk { text: text.into_bytes(), line: 1 };
        let (records, _) = parse_chunk(&chunk, &|record| record);
        let devices: Vec<&Arc<Device>> = records.iter().filter_map(|r| r.device.as_ref()).collect();
        assert!(Arc::ptr_eq(devices[0], devices[1]) && Arc::ptr_eq(devices[2], devices[3]));
        assert_eq!((&*devices[1].name, &*devices[2].name), ("X", "Y"));
    }
}
