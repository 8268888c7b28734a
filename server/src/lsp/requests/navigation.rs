//! Definition, references, highlights and rename.

use tileops_analyzer::ide;
use tower_lsp::jsonrpc::{Error, ErrorCode, Result};
use tower_lsp::lsp_types::{
    DocumentHighlight, DocumentHighlightKind, DocumentHighlightParams, GotoDefinitionParams, GotoDefinitionResponse,
    Location, PrepareRenameResponse, ReferenceParams, RenameParams, TextDocumentPositionParams, WorkspaceEdit,
};

use super::super::snapshot::Snapshot;
use super::{Target, location, workspace_edit};

/// Where a name is declared.
pub(crate) fn definition(snapshot: &Snapshot, params: GotoDefinitionParams) -> Result<Option<GotoDefinitionResponse>> {
    let Some((target, offset)) = Target::at(snapshot, &params.text_document_position_params) else { return Ok(None) };
    Ok(ide::definition(target.db, &target.key, offset).map(|found| {
        GotoDefinitionResponse::Array(found.targets.iter().filter_map(|place| location(snapshot, place)).collect())
    }))
}

/// Everywhere that a name is used.
pub(crate) fn references(snapshot: &Snapshot, params: ReferenceParams) -> Result<Option<Vec<Location>>> {
    let Some((target, offset)) = Target::at(snapshot, &params.text_document_position) else { return Ok(None) };
    let found = ide::references(target.db, &target.key, offset, params.context.include_declaration);
    Ok(Some(found.iter().filter_map(|place| location(snapshot, place)).collect()))
}

/// The same in this document alone.
pub(crate) fn highlights(
    snapshot: &Snapshot,
    params: DocumentHighlightParams,
) -> Result<Option<Vec<DocumentHighlight>>> {
    let Some((target, offset)) = Target::at(snapshot, &params.text_document_position_params) else { return Ok(None) };
    let found = ide::highlights(target.db, &target.key, offset).into_iter().map(|highlight| DocumentHighlight {
        range: target.positions.range(highlight.range),
        kind: Some(if highlight.declares { DocumentHighlightKind::WRITE } else { DocumentHighlightKind::READ }),
    });
    Ok(Some(found.collect()))
}

/// Whether what stands here can be renamed, or why not.
pub(crate) fn prepare_rename(
    snapshot: &Snapshot,
    params: TextDocumentPositionParams,
) -> Result<Option<PrepareRenameResponse>> {
    let Some((target, offset)) = Target::at(snapshot, &params) else { return Ok(None) };
    let (range, placeholder) = ide::prepare_rename(target.db, &target.key, offset).map_err(refused)?;
    let range = target.positions.range(range);
    Ok(Some(PrepareRenameResponse::RangeWithPlaceholder { range, placeholder }))
}

/// Renames everywhere, or says why not.
pub(crate) fn rename(snapshot: &Snapshot, params: RenameParams) -> Result<Option<WorkspaceEdit>> {
    let Some((target, offset)) = Target::at(snapshot, &params.text_document_position) else { return Ok(None) };
    let files = ide::rename(target.db, &target.key, offset, &params.new_name).map_err(refused)?;
    let known = files.into_iter().filter_map(|file| Some((snapshot.files.get(&file.path)?, file.edits)));
    Ok(Some(workspace_edit(snapshot, known)))
}

fn refused(why: String) -> Error {
    // The protocol's `RequestFailed`: the request is sound, and cannot be fulfilled.
    Error { code: ErrorCode::ServerError(-32803), message: why.into(), data: None }
}
