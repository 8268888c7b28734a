//! `textDocument/hover`.

use tileops_analyzer::ide;
use tower_lsp::jsonrpc::Result;
use tower_lsp::lsp_types::{Hover, HoverContents, HoverParams, MarkupContent, MarkupKind};

use super::super::snapshot::Snapshot;
use super::Target;

/// What stands where the cursor is.
pub(crate) fn hover(snapshot: &Snapshot, params: HoverParams) -> Result<Option<Hover>> {
    let Some((target, offset)) = Target::at(snapshot, &params.text_document_position_params) else { return Ok(None) };
    Ok(ide::hover(target.db, &target.key, offset).map(|hover| {
        // Markdown that is read as it is written is still read.
        let kind = if snapshot.session.can.markdown { MarkupKind::Markdown } else { MarkupKind::PlainText };
        Hover {
            contents: HoverContents::Markup(MarkupContent { kind, value: hover.markdown }),
            range: Some(target.positions.range(hover.range)),
        }
    }))
}
