//! `textDocument/hover`.

use tileops_analyzer::ide;
use tileops_analyzer::text::{TextRange, TextSize};
use tower_lsp::jsonrpc::Result;
use tower_lsp::lsp_types::{Hover, HoverContents, HoverParams, MarkupContent, MarkupKind};

use super::super::snapshot::Snapshot;
use super::Target;

/// What stands where the cursor is.
pub(crate) fn hover(snapshot: &Snapshot, params: HoverParams) -> Result<Option<Hover>> {
    let Some((target, offset)) = Target::at(snapshot, &params.text_document_position_params) else { return Ok(None) };
    let named = ide::hover(target.db, &target.key, offset);
    let named = named.map(|hover| (hover.range, hover.markdown));
    Ok(with_records(snapshot, &target, offset, named).map(|(range, markdown)| {
        // Markdown that is read as it is written is still read.
        let kind = if snapshot.session.can.markdown { MarkupKind::Markdown } else { MarkupKind::PlainText };
        Hover {
            contents: HoverContents::Markup(MarkupContent { kind, value: markdown }),
            range: Some(target.positions.range(range)),
        }
    }))
}

/// What stands where the cursor is, and, on a row's label or on nothing in particular of a row, what its records say.
fn with_records(
    snapshot: &Snapshot,
    target: &Target<'_>,
    offset: TextSize,
    named: Option<(TextRange, String)>,
) -> Option<(TextRange, String)> {
    let recorded = || {
        let records = target.records(snapshot)?;
        let row = ide::row_cases(target.db, &target.key, TextRange::empty(offset)).into_iter().next()?;
        let is_label = row.label.is_some_and(|label| label.contains_inclusive(offset));
        let said = row.cases.iter().filter_map(|case| records.of(&row.op, case, &row.fingerprint));
        let said: Vec<String> = said.map(|said| said.markdown()).collect();
        (!said.is_empty() && (is_label || named.is_none())).then(|| (row.label.unwrap_or(row.range), said.join("\n")))
    };
    match (recorded(), &named) {
        (Some((_, said)), Some((range, text))) => Some((*range, format!("{text}\n\n---\n\n{said}"))),
        (Some(said), None) => Some(said),
        (None, _) => named,
    }
}
