//! Records from files: JSON Lines, plain or zstd, one record a line. A malformed line costs itself.

use std::fmt;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use globset::Glob;
use memchr::memchr_iter;
use rayon::iter::{IntoParallelRefIterator, ParallelIterator};
use walkdir::WalkDir;

use crate::brief::{self, Before};
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
pub fn each<T: Send>(paths: &[PathBuf], map: impl Fn(Record) -> T + Sync, sink: impl FnMut(T)) -> Vec<Problem> {
    each_chunk(paths, |chunk| parse_chunk(chunk, &map), sink)
}

/// As [`each`], for whoever prices records: of each, `map` is given which row it is (op, case, family, dtype, peer), what it
/// costs (FLOPs, bytes, roof key) and how long it took on which device (source, device-busy time, excluded copies; the
/// device's name). The other fields are checked and left out, which takes a fraction of the time.
pub fn each_brief<T: Send>(paths: &[PathBuf], map: impl Fn(Record) -> T + Sync, sink: impl FnMut(T)) -> Vec<Problem> {
    each_chunk(paths, |chunk| parse_briefly(chunk, &map), sink)
}

fn each_chunk<T: Send>(
    paths: &[PathBuf],
    parse: impl Fn(&Chunk) -> Parsed<T> + Sync,
    mut sink: impl FnMut(T),
) -> Vec<Problem> {
    let mut problems = Vec::new();
    for path in paths {
        match files(path) {
            Ok(found) => {
                for file in found {
                    match open(&file) {
                        Ok(reader) => read_lines(&file, reader, &parse, &mut sink, &mut problems),
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

fn open(path: &Path) -> io::Result<Box<dyn BufRead + Send>> {
    let file = BufReader::with_capacity(1 << 16, File::open(path)?);
    if path.extension().is_some_and(|e| e == "zst") {
        let decoder: Box<dyn Read + Send> = Box::new(zstd::Decoder::new(file)?);
        return Ok(Box::new(BufReader::with_capacity(1 << 16, decoder)));
    }
    Ok(Box::new(file))
}

/// Whole lines of a file.
#[derive(Default)]
struct Chunk {
    text: Vec<u8>,
    /// The number of its first line, from one.
    line: usize,
}

/// What a chunk gave: records, and what is wrong with which line.
type Parsed<T> = (Vec<T>, Vec<(usize, Reason)>);

/// How many bytes a chunk has, and then the rest of its last line.
const CHUNK: usize = 1 << 18;
/// How many chunks are parsed at a time.
const CHUNKS: usize = 16;

/// The lines of a file, by chunks.
struct Lines<R> {
    reader: R,
    /// The number of the next line.
    line: usize,
    /// Nothing is left, or nothing can be read any more.
    ended: bool,
}

impl<R: BufRead> Lines<R> {
    /// Reads the next chunks into `chunks`, whose buffers it uses again. Fails where the file does, after what could be read.
    fn fill(&mut self, chunks: &mut Vec<Chunk>) -> Result<(), (usize, Reason)> {
        chunks.resize_with(CHUNKS, Chunk::default);
        let mut used = 0;
        let mut result = Ok(());
        for chunk in &mut *chunks {
            if self.ended {
                break;
            }
            chunk.text.clear();
            chunk.line = self.line;
            let text = &mut chunk.text;
            text.reserve(CHUNK + (1 << 12));
            let read = self.reader.by_ref().take(CHUNK as u64).read_to_end(text).and_then(|read| match text.last() {
                Some(b'\n') | None => Ok(read),
                Some(_) => self.reader.read_until(b'\n', text),
            });
            self.line += memchr_iter(b'\n', text).count();
            self.ended = text.is_empty() || read.is_err();
            result = read.map(drop).map_err(|error| (self.line, Reason::from(error)));
            used += 1;
        }
        chunks.truncate(used);
        result
    }
}

/// Reads the lines of one file. An empty line is nothing; a line that is no record is a problem of its own. While chunks are
/// parsed the next ones are read.
fn read_lines<T: Send>(
    path: &Path,
    reader: impl BufRead + Send,
    parse: &(impl Fn(&Chunk) -> Parsed<T> + Sync),
    sink: &mut impl FnMut(T),
    problems: &mut Vec<Problem>,
) {
    let problem = |(line, reason): (usize, Reason)| Problem { path: path.to_owned(), line: Some(line), reason };
    let mut lines = Lines { reader, line: 1, ended: false };
    let (mut chunks, mut next) = (Vec::new(), Vec::new());
    let mut failed = lines.fill(&mut chunks);
    while !chunks.is_empty() {
        let parse = || chunks.par_iter().map(parse).collect::<Vec<_>>();
        let (read, parsed) = rayon::join(|| lines.fill(&mut next), parse);
        for (records, reasons) in parsed {
            records.into_iter().for_each(&mut *sink);
            problems.extend(reasons.into_iter().map(problem));
        }
        problems.extend(failed.err().map(problem));
        failed = read;
        std::mem::swap(&mut chunks, &mut next);
    }
}

/// The lines of a chunk that say something, with their numbers.
fn numbered(chunk: &Chunk) -> impl Iterator<Item = (usize, &[u8])> {
    let text = &*chunk.text;
    let mut start = 0;
    let lines = memchr_iter(b'\n', text).chain([text.len()]).map(move |end| {
        let line = &text[start..end];
        start = end + 1;
        line
    });
    (chunk.line..).zip(lines).filter(|(_, line)| !line.iter().all(u8::is_ascii_whitespace))
}

fn parse_chunk<T>(chunk: &Chunk, map: &impl Fn(Record) -> T) -> Parsed<T> {
    let mut shared = Shared::default();
    parse_each(chunk, |line| {
        let mut record = parse(line)?;
        shared.share(&mut record);
        Ok(map(record))
    })
}

/// What the brief reader does not take, the full one takes or explains.
fn parse_briefly<T>(chunk: &Chunk, map: &impl Fn(Record) -> T) -> Parsed<T> {
    let mut before = Before::default();
    parse_each(chunk, |line| brief::parse(line, &mut before).map_or_else(|| parse(line), Ok).map(map))
}

fn parse_each<T>(chunk: &Chunk, mut parse: impl FnMut(&[u8]) -> Result<T, Reason>) -> Parsed<T> {
    let (mut records, mut problems) = (Vec::new(), Vec::new());
    for (number, line) in numbered(chunk) {
        match parse(line) {
            Ok(record) => records.push(record),
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

/// The record of a line, with all that it says.
pub fn parse(line: &[u8]) -> Result<Record, Reason> {
    // Checked as a whole, its strings need not be one by one.
    let read = std::str::from_utf8(line).map_or_else(|_| serde_json::from_slice(line), serde_json::from_str);
    let record: Record = read.map_err(|error| Reason::Form(explain(line, &error)))?;
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
        let parse = |chunk: &Chunk| parse_chunk(chunk, &|record| record);
        read_lines(Path::new("r.jsonl"), text.as_bytes(), &parse, &mut sink, &mut loaded.problems);
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
        let parse = |chunk: &Chunk| parse_chunk(chunk, &|record| record);
        read_lines(Path::new("r.jsonl"), text.as_bytes(), &parse, &mut sink, &mut loaded.problems);
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
