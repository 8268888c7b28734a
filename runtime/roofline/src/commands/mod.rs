//! The subcommands, and what they share.

pub(crate) mod compare;
pub(crate) mod history;
pub(crate) mod import;
pub(crate) mod report;

use std::fs;
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

/// What escape sequences are in an output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Escapes {
    /// Colours: a file gets none, nor does a standard output where they are not wanted.
    Colours,
    /// Text like any other: a document has no colours.
    Text,
}

/// Has `print` write to the file, or to the standard output.
pub(crate) fn output(
    output_file: Option<&Path>,
    escapes: Escapes,
    print: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<()> {
    let write = || match output_file {
        // Whole or not at all: JSON is made of records that are read meanwhile, of this file too where it is one of them.
        Some(path) => tileops_files::replace_with(path, |file| match escapes {
            Escapes::Colours => buffered(anstream::StripStream::new(file), print),
            Escapes::Text => buffered(file, print),
        }),
        None => match escapes {
            Escapes::Colours => buffered(anstream::stdout().lock(), print),
            Escapes::Text => buffered(io::stdout().lock(), print),
        },
    };
    let place = || output_file.map_or_else(|| "to the standard output".to_owned(), |path| path.display().to_string());
    write().with_context(|| format!("cannot write {}", place()))
}

fn buffered(out: impl Write, print: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let mut out = BufWriter::new(out);
    print(&mut out)?;
    out.flush()
}

/// As [`output`], of a whole text.
pub(crate) fn write(output_file: Option<&Path>, escapes: Escapes, text: &[u8]) -> Result<()> {
    output(output_file, escapes, |out| out.write_all(text))
}
