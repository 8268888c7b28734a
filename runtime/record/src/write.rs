//! Records to a file, one a line, so that whatever ends the program leaves whole records behind.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;

use crate::record::Record;

/// Appends records to a file. Each is one write, and on the way to the disk before the next one is measured.
#[derive(Debug)]
pub struct Writer {
    file: File,
    line: Vec<u8>,
}

impl Writer {
    /// Opens `path` for appending, and makes it where it does not exist. A last line without its end is what a killed
    /// program left: the next record begins on a line of its own, and the torn one costs itself when it is read.
    pub fn append(path: &Path) -> io::Result<Writer> {
        let mut file = OpenOptions::new().create(true).read(true).append(true).open(path)?;
        let mut last = [b'\n'];
        if file.metadata()?.len() > 0 {
            file.seek(SeekFrom::End(-1))?;
            file.read_exact(&mut last)?;
        }
        if last != [b'\n'] {
            file.write_all(b"\n")?;
        }
        Ok(Writer { file, line: Vec::new() })
    }

    /// Writes one record.
    pub fn write(&mut self, record: &Record) -> io::Result<()> {
        self.line.clear();
        serde_json::to_writer(&mut self.line, record)?;
        self.line.push(b'\n');
        self.file.write_all(&self.line)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::read::load;

    #[test]
    fn a_torn_line_costs_itself_alone() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("r.jsonl");
        Writer::append(&path).expect("opened").write(&Record::new("AddFwdOp", "a")).expect("written");
        let whole = fs::read(&path).expect("read");
        fs::write(&path, [whole.as_slice(), &whole[..20]].concat()).expect("torn");
        let mut writer = Writer::append(&path).expect("opened");
        writer.write(&Record::new("AddFwdOp", "b")).expect("written");
        writer.write(&Record::new("AddFwdOp", "c")).expect("written");
        let loaded = load(&[path]);
        assert_eq!(loaded.records.iter().map(|r| r.case.as_str()).collect::<Vec<_>>(), ["a", "b", "c"]);
        assert_eq!(loaded.problems.iter().map(|p| p.line).collect::<Vec<_>>(), [Some(2)]);
    }
}
