//! Records to a file, one a line, so that whatever ends the program leaves whole records behind.

use std::fs::File;
use std::io::{self, Write};

use crate::record::Record;

/// Appends records to a file. Each is one write, and on the way to the disk before the next one is measured.
#[derive(Debug)]
pub struct Writer {
    file: File,
    line: Vec<u8>,
}

impl Writer {
    /// Writes behind what `file` holds, whose last line has its end: it is open for appending, or at its end.
    pub fn new(file: File) -> Writer {
        Writer { file, line: Vec::new() }
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
        let open = || File::options().create(true).append(true).open(&path).expect("opened");
        Writer::new(open()).write(&Record::new("AddFwdOp", "a")).expect("written");
        let whole = fs::read(&path).expect("read");
        fs::write(&path, [whole.as_slice(), &whole[..20], b"\n"].concat()).expect("torn");
        let mut writer = Writer::new(open());
        writer.write(&Record::new("AddFwdOp", "b")).expect("written");
        writer.write(&Record::new("AddFwdOp", "c")).expect("written");
        let loaded = load(&[path]);
        assert_eq!(loaded.records.iter().map(|r| r.case.as_str()).collect::<Vec<_>>(), ["a", "b", "c"]);
        assert_eq!(loaded.problems.iter().map(|p| p.line).collect::<Vec<_>>(), [Some(2)]);
    }
}
