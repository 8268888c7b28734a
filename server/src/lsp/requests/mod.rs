//! Answers to requests, by what they are about. Each is a plain function of a snapshot.

pub(crate) mod code_action;
pub(crate) mod completion;
pub(crate) mod diagnostic;
pub(crate) mod hover;
pub(crate) mod inlay_hint;
pub(crate) mod links;
pub(crate) mod navigation;
pub(crate) mod rows;
pub(crate) mod semantic_tokens;
pub(crate) mod signature_help;
pub(crate) mod symbols;

use std::path::Path;
use std::sync::Arc;

use tileops_analyzer::db::AnalysisDb;
use tileops_analyzer::ide;
use tileops_analyzer::text::TextSize;
use tower_lsp::lsp_types::{
    DocumentChanges, Location, OneOf, OptionalVersionedTextDocumentIdentifier, TextDocumentEdit,
    TextDocumentPositionParams, TextEdit, Url, WorkspaceEdit,
};

use super::positions::Positions;
use super::records::{Places, Records};
use super::snapshot::{File, Snapshot};
use super::state::Message;
use super::{load, uris};
use crate::source::Source;

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

    /// What benchmarks recorded of the document's ops; nothing where no records are configured. Where the client does not
    /// tell of changed files, they are looked at, and read again for the next who asks.
    fn records(&self, snapshot: &'s Snapshot) -> Option<&'s Records> {
        let project = snapshot.project(self.file)?;
        let places = Places::of(&project.config, &snapshot.settings);
        if places.records.is_empty() {
            return None;
        }
        if !snapshot.session.can.register_watchers && places.stamp() != project.records.stamp {
            // Where nobody takes it, the server is ending.
            let _ = snapshot.owner.send(Message::ReadRecords(project.config.root.clone()));
        }
        Some(&project.records)
    }

    /// The same, and the offset of a position.
    fn at(snapshot: &'s Snapshot, params: &TextDocumentPositionParams) -> Option<(Self, TextSize)> {
        let target = Target::of(snapshot, &params.text_document.uri)?;
        let offset = target.positions.offset(params.position);
        Some((target, offset))
    }
}

/// A place in a file that is known, or in a source of formulas.
fn location(snapshot: &Snapshot, place: &ide::Location) -> Option<Location> {
    if let Some(file) = snapshot.files.get(&place.path) {
        return Some(Location { uri: file.url.clone(), range: snapshot.positions(&file.source).range(place.range) });
    }
    let path = Path::new(&*place.path);
    let uri = uris::of_path(path)?;
    // Where the source has changed since it was read, the place is near, and is read again when the client tells.
    let source = Source::new(place.path.clone(), load::read(path)?.text);
    Some(Location { uri, range: snapshot.positions(&source).range(place.range) })
}

fn text_edit(positions: &Positions<'_>, edit: ide::Edit) -> TextEdit {
    TextEdit { range: positions.range(edit.range), new_text: edit.text }
}

/// Edits of files as the client takes them: of the versions that it has, where it can be told which.
fn workspace_edit<'s>(
    snapshot: &Snapshot,
    files: impl IntoIterator<Item = (&'s File, Vec<ide::Edit>)>,
) -> WorkspaceEdit {
    let edits = files.into_iter().map(|(file, edits)| {
        let positions = snapshot.positions(&file.source);
        let edits: Vec<TextEdit> = edits.into_iter().map(|edit| text_edit(&positions, edit)).collect();
        (file, edits)
    });
    if snapshot.session.can.document_changes {
        let edits = edits.map(|(file, edits)| TextDocumentEdit {
            text_document: OptionalVersionedTextDocumentIdentifier { uri: file.url.clone(), version: file.version },
            edits: edits.into_iter().map(OneOf::Left).collect(),
        });
        WorkspaceEdit { document_changes: Some(DocumentChanges::Edits(edits.collect())), ..WorkspaceEdit::default() }
    } else {
        let changes = edits.map(|(file, edits)| (file.url.clone(), edits)).collect();
        WorkspaceEdit { changes: Some(changes), ..WorkspaceEdit::default() }
    }
}
