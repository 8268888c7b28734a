//! The subcommands, and what they share.

pub(crate) mod compare;
pub(crate) mod history;
pub(crate) mod import;
pub(crate) mod report;

use std::fs::{self, File};
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::Path;

use anyhow::{Context, Result};
use tileops_record::Problem;
use tileops_roofline::profile::Profile;

/// Reads a profile.
pub(crate) fn profile(path: &Path) -> Result<Profile> {
    let text = fs::read_to_string(path).with_context(|| format!("cannot read the profile {}", path.display()))?;
    Profile::from_yaml(&text).with_context(|| format!("{}", path.display()))
}

/// Names what could not be read.
pub(crate) fn complain(problems: &[Problem]) {
    for problem in problems {
        let _ = writeln!(io::stderr(), "error: {problem}");
    }
}

/// The columns of the terminal that gets the output; nothing where it is none.
pub(crate) fn width(output_file: Option<&Path>) -> Option<usize> {
    if output_file.is_some() || !io::stdout().is_terminal() {
        return None;
    }
    terminal_size::terminal_size().map(|(width, _)| usize::from(width.0))
}

/// Writes `text` to the file, without colour, or to the standard output.
pub(crate) fn write(text: &str, output_file: Option<&Path>) -> Result<()> {
    output(output_file, |out| out.write_all(text.as_bytes()))
}

/// Has `print` write to the file, without colour, or to the standard output, with colour where that is wanted.
pub(crate) fn output(output_file: Option<&Path>, print: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
    match output_file {
        Some(path) => to_file(path, anstream::StripStream::new, print),
        None => to_stdout(anstream::stdout().lock(), print),
    }
}

/// As [`output`], for a document: it has no colours, and what looks like one is its text.
pub(crate) fn document(output_file: Option<&Path>, print: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
    match output_file {
        Some(path) => to_file(path, |file| file, print),
        None => to_stdout(io::stdout().lock(), print),
    }
}

fn to_file<W: Write>(
    path: &Path,
    stream: impl FnOnce(File) -> W,
    print: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<()> {
    let write = || {
        let mut out = BufWriter::new(stream(File::create(path)?));
        print(&mut out)?;
        out.flush()
    };
    write().with_context(|| format!("cannot write {}", path.display()))
}

fn to_stdout(stream: impl Write, print: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
    let mut out = BufWriter::new(stream);
    print(&mut out)?;
    Ok(out.flush()?)
}
