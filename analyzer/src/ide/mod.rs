//! What an editor shows and does, as plain data: byte offsets in files, no protocol.
//!
//! Every function takes the memoised analysis, a file's path and offsets in its text, and is total: a path that is not
//! there, an offset past the end and any broken text give an empty answer. What the language says of a key, a kind, a
//! built-in, a dtype or a defect is read from its one table.

mod branches;
mod complete;
mod hints;
mod hover;
mod mentions;
mod navigate;
mod rows;
mod signature_help;
pub(crate) mod site;
mod structure;
pub(crate) mod sums;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use crate::text::TextRange;

pub use complete::{Completion, CompletionKind, Topic, completions, documentation};
pub use hints::{HintKind, HintKinds, InlayHint, RowCases, inlay_hints, row_cases};
pub use hover::{Hover, hover};
pub use navigate::{Definition, Highlight, Location, definition, highlights, prepare_rename, references, rename};
pub use rows::{Case, EntryRows, Row, entry_rows};
pub use signature_help::{SignatureHelp, SignatureParameter, signature_help};
pub use structure::{
    CodeLens, DocumentLink, DocumentSymbol, LinkTarget, SemanticKind, SemanticToken, SymbolKind, WorkspaceSymbol,
    code_lenses, document_links, document_symbols, folding_ranges, selection_ranges, semantic_tokens,
    workspace_symbols,
};

/// A text in the place of another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit {
    /// What is replaced, in the file.
    pub range: TextRange,
    /// What stands there instead.
    pub text: String,
}

/// The edits of one file; no two overlap.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileEdits {
    /// The file's path.
    pub path: Arc<str>,
    /// The edits.
    pub edits: Vec<Edit>,
}
