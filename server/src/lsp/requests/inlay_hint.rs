//! `textDocument/inlayHint`.

use tileops_analyzer::ide::{self, HintKinds};
use tower_lsp::jsonrpc::Result;
use tower_lsp::lsp_types::{InlayHint, InlayHintLabel, InlayHintParams, InlayHintTooltip, MarkupContent, MarkupKind};

use super::super::snapshot::Snapshot;
use super::Target;

/// What is worth knowing beside the text.
pub(crate) fn inlay_hint(snapshot: &Snapshot, params: InlayHintParams) -> Result<Option<Vec<InlayHint>>> {
    let Some(target) = Target::of(snapshot, &params.text_document.uri) else { return Ok(None) };
    let settings = snapshot.settings.hints;
    let kinds = HintKinds { derived_bytes: settings.rooflines, row_bytes: settings.rows };
    let range = target.positions.text_range(params.range);
    let hints = ide::inlay_hints(target.db, &target.key, range, kinds).into_iter().map(|hint| InlayHint {
        position: target.positions.position(hint.offset),
        label: InlayHintLabel::String(hint.label),
        kind: None,
        text_edits: None,
        tooltip: (!hint.tooltip.is_empty()).then_some(InlayHintTooltip::MarkupContent(MarkupContent {
            kind: MarkupKind::Markdown,
            value: hint.tooltip,
        })),
        padding_left: Some(true),
        padding_right: None,
        data: None,
    });
    Ok(Some(hints.collect()))
}
