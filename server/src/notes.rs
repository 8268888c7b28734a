//! What is said beside the report: on standard error, so that the report stays what its format says.

use std::io::{self, Write};

use anstyle::{AnsiColor, Style};

use crate::cli::ColorChoice;

/// Says things on standard error. A closed standard error is no reason to fail.
#[derive(Debug)]
pub(crate) struct Notes {
    styled: bool,
}

impl Notes {
    pub(crate) fn new(color: ColorChoice) -> Self {
        Notes { styled: color.applies_to(&io::stderr()) }
    }

    /// Whether colors are welcome on standard error.
    pub(crate) fn styled(&self) -> bool {
        self.styled
    }

    /// Something that keeps the run from doing what it was asked.
    pub(crate) fn error(&self, message: &str) {
        self.say("error", AnsiColor::BrightRed, message);
    }

    /// Something that may not be what was meant.
    pub(crate) fn warning(&self, message: &str) {
        self.say("warning", AnsiColor::BrightYellow, message);
    }

    /// Something worth knowing.
    pub(crate) fn note(&self, message: &str) {
        self.say("note", AnsiColor::BrightGreen, message);
    }

    /// A bug of this program.
    pub(crate) fn bug(&self, message: &str) {
        self.error(message);
        self.note("this is a bug in tileops-lsp; please report it with the input that shows it");
    }

    /// Text as it is.
    pub(crate) fn raw(&self, text: &str) {
        let _ = io::stderr().lock().write_all(text.as_bytes());
    }

    fn say(&self, word: &str, color: AnsiColor, message: &str) {
        let style = if self.styled { color.on_default().bold() } else { Style::new() };
        self.raw(&format!("{style}{word}{style:#}: {message}\n"));
    }
}
