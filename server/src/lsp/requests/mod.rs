//! Answers to requests, by what they are about. Each is a plain function of a snapshot.

pub(crate) mod completion;
pub(crate) mod diagnostic;
pub(crate) mod hover;
pub(crate) mod inlay_hint;
pub(crate) mod navigation;
pub(crate) mod semantic_tokens;
pub(crate) mod symbols;

use std::sync::Arc;

use tileops_analyzer::db::AnalysisDb;
use tileops_analyzer::ide;
use tileops_analyzer::text::TextSize;
use tower_lsp::lsp_types::{Location, TextDocumentPositionParams, TextEdit, Url};

use super::positions::Positions;
use super::snapshot::{File, Snapshot};

/// The document that a request is about. One that is not known has nothing to say.
struct Target<'s> {
    key: Arc<str>,
    file: &'s File,
    db: &'s AnalysisDb,
    positions: Positions<'s>,
}

impl<'s> Target<'s> {
    fn of(snapshot: &'s Snapshot, uri: &Url) -> Option<Self> {
        let (key, file) = snapshot.file(uri)?;
        Some(Target { key, file, db: snapshot.db(file)?, positions: snapshot.positions(&file.source) })
    }

    /// The same, and the offset of a position.
    fn at(snapshot: &'s Snapshot, params: &TextDocumentPositionParams) -> Option<(Self, TextSize)> {
        let target = Target::of(snapshot, &params.text_document.uri)?;
        let offset = target.positions.offset(params.position);
        Some((target, offset))
    }
}

/// A place in a file that is known.
fn location(snapshot: &Snapshot, place: &ide::Location) -> Option<Location> {
    let file = snapshot.files.get(&place.path)?;
    Some(Location { uri: file.url.clone(), range: snapshot.positions(&file.source).range(place.range) })
}

fn text_edit(positions: &Positions<'_>, edit: ide::Edit) -> TextEdit {
    TextEdit { range: positions.range(edit.range), new_text: edit.text }
}
