//! Records from files: JSON Lines, plain or zstd, one record a line. A malformed line costs itself.

use std::fmt;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use globset::Glob;
use walkdir::WalkDir;

use crate::record::{Record, SCHEMA};
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
    let mut loaded = Loaded::default();
    for path in paths {
        match files(path) {
            Ok(found) => {
                for file in found {
                    match open(&file) {
                        Ok(reader) => read_lines(&file, reader, &mut loaded),
                        Err(error) => loaded.problems.push(Problem { path: file, line: None, reason: error.into() }),
                    }
                }
            }
            Err(reason) => loaded.problems.push(Problem { path: path.clone(), line: None, reason }),
        }
    }
    loaded
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

/// Reads the lines of one file. An empty line is nothing; a line that is no record is a problem of its own.
pub fn read_lines(path: &Path, mut reader: impl BufRead, loaded: &mut Loaded) {
    let mut line = Vec::new();
    for number in 1.. {
        line.clear();
        match reader.read_until(b'\n', &mut line) {
            Ok(0) => return,
            Ok(_) => {}
            Err(error) => {
                loaded.problems.push(Problem { path: path.to_owned(), line: Some(number), reason: error.into() });
                return;
            }
        }
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        match parse(&line) {
            Ok(record) => loaded.records.push(record),
            Err(reason) => loaded.problems.push(Problem { path: path.to_owned(), line: Some(number), reason }),
        }
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
        read_lines(Path::new("r.jsonl"), text.as_bytes(), &mut loaded);
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
}
