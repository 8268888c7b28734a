//! Where a report goes.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use anyhow::{Context, Result};

/// Writes `report` to `file`, or to standard output. A reader that has closed its end has read enough.
pub(crate) fn write(report: &[u8], file: Option<&Path>) -> Result<()> {
    match file {
        Some(path) => replace(path, report).with_context(|| format!("cannot write `{}`", path.display())),
        None => {
            let mut stdout = io::stdout().lock();
            match stdout.write_all(report).and_then(|()| stdout.flush()) {
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
                result => result.context("cannot write the report"),
            }
        }
    }
}

/// Replaces a file's content in one step, so that no reader sees half of it. What is no regular file is written to.
pub(crate) fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    if fs::symlink_metadata(path).is_ok_and(|metadata| !metadata.is_file()) {
        return fs::write(path, content);
    }
    let name = path.file_name().ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "the path names no file"))?;
    let mut temporary = std::ffi::OsString::from(".");
    temporary.push(name);
    temporary.push(format!(".{}", std::process::id()));
    let temporary = path.with_file_name(temporary);
    let written = fs::write(&temporary, content).and_then(|()| {
        // Who may read and write the file is not what is replaced.
        if let Ok(metadata) = fs::metadata(path) {
            fs::set_permissions(&temporary, metadata.permissions())?;
        }
        fs::rename(&temporary, path)
    });
    if written.is_err() {
        // What went wrong is said; a leftover that cannot be removed adds nothing to it.
        let _ = fs::remove_file(&temporary);
    }
    written
}
