//! Exit codes.

use std::process::ExitCode;

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Nothing is wrong.
    Clean = 0,
    /// Something is wrong with the manifest.
    Defects = 1,
    /// The command line is wrong, or an input cannot be read.
    Failure = 2,
    /// Something is wrong with this program.
    Bug = 101,
    /// The run was interrupted.
    Interrupted = 130,
}

impl Exit {
    /// How clap's verdict on the command line ends: asking for help is no failure.
    pub(crate) fn from_clap(error: &clap::Error) -> Self {
        if error.exit_code() == 0 { Exit::Clean } else { Exit::Failure }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        ExitCode::from(exit as u8)
    }
}
