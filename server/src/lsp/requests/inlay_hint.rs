//! `textDocument/inlayHint`.

use tileops_analyzer::ide::{self, HintKinds};
use tileops_analyzer::text::{TextRange, TextSize};
use tower_lsp::jsonrpc::Result;
use tower_lsp::lsp_types::{InlayHint, InlayHintLabel, InlayHintParams, InlayHintTooltip, MarkupContent, MarkupKind};

use super::super::snapshot::Snapshot;
use super::Target;

/// What is worth knowing beside the text.
pub(crate) fn inlay_hint(snapshot: &Snapshot, params: InlayHintParams) -> Result<Option<Vec<InlayHint>>> {
    let Some(target) = Target::of(snapshot, &params.text_document.uri) else { return Ok(None) };
    let settings = snapshot.settings.hints;
    let kinds = HintKinds {
        derived_bytes: settings.rooflines,
        bytes_difference: settings.differences,
        row_bytes: settings.rows,
    };
    let range = target.positions.text_range(params.range);
    let hints = ide::inlay_hints(target.db, &target.key, range, kinds);
    let mut hints: Vec<InlayHint> =
        hints.into_iter().map(|hint| shown(&target, hint.offset, hint.label, hint.tooltip)).collect();
    if settings.records {
        for (offset, label, tooltip) in recorded(snapshot, &target, range) {
            let position = target.positions.position(offset);
            // Editors put hints of one place next to each other.
            let label = if hints.iter().any(|hint| hint.position == position) { format!("· {label}") } else { label };
            hints.push(shown(&target, offset, label, tooltip));
        }
        // What stands in one place stays in its order.
        hints.sort_by_key(|hint| hint.position);
    }
    Ok(Some(hints))
}

/// What the records say of the rows in a range.
fn recorded(snapshot: &Snapshot, target: &Target<'_>, range: TextRange) -> Vec<(TextSize, String, String)> {
    let Some(records) = target.records(snapshot) else { return Vec::new() };
    let mut hints = Vec::new();
    for row in ide::row_cases(target.db, &target.key, range) {
        let said = row.cases.iter().filter_map(|case| records.of(&row.op, case, &row.fingerprint));
        let (mut labels, mut tooltips): (Vec<String>, Vec<String>) = (Vec::new(), Vec::new());
        for said in said {
            let label = said.label();
            if !label.is_empty() && !labels.contains(&label) {
                labels.push(label);
            }
            tooltips.push(said.markdown());
        }
        if !labels.is_empty() {
            hints.push((row.end, labels.join(" | "), tooltips.join("\n")));
        }
    }
    hints
}

fn shown(target: &Target<'_>, offset: TextSize, label: String, tooltip: String) -> InlayHint {
    let content = MarkupContent { kind: MarkupKind::Markdown, value: tooltip };
    InlayHint {
        position: target.positions.position(offset),
        label: InlayHintLabel::String(label),
        kind: None,
        text_edits: None,
        tooltip: (!content.value.is_empty()).then_some(InlayHintTooltip::MarkupContent(content)),
        padding_left: Some(true),
        padding_right: None,
        data: None,
    }
}
