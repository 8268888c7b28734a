//! Where a report goes.

use std::io::{self, Write};
use std::path::Path;

use anyhow::{Context, Result};

/// Writes `report` to `file`, or to standard output. A reader that has closed its end has read enough.
pub(crate) fn write(report: &[u8], file: Option<&Path>) -> Result<()> {
    match file {
        Some(path) => {
            tileops_files::replace(path, report).with_context(|| format!("cannot write `{}`", path.display()))
        }
        None => {
            let mut stdout = io::stdout().lock();
            match stdout.write_all(report).and_then(|()| stdout.flush()) {
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
                result => result.context("cannot write the report"),
            }
        }
    }
}
