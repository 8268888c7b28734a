//! `textDocument/diagnostic` and `workspace/diagnostic`: diagnostics for clients that ask. An answer's result id is made
//! of the answer, so that it is the same exactly while the answer is.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hasher};
use std::sync::Arc;

use tower_lsp::jsonrpc::{Error, Result};
use tower_lsp::lsp_types::{
    Diagnostic, DocumentDiagnosticParams, DocumentDiagnosticReport, DocumentDiagnosticReportResult,
    FullDocumentDiagnosticReport, RelatedFullDocumentDiagnosticReport, RelatedUnchangedDocumentDiagnosticReport,
    UnchangedDocumentDiagnosticReport, WorkspaceDiagnosticParams, WorkspaceDiagnosticReport,
    WorkspaceDiagnosticReportResult, WorkspaceDocumentDiagnosticReport, WorkspaceFullDocumentDiagnosticReport,
    WorkspaceUnchangedDocumentDiagnosticReport,
};

use super::super::snapshot::Snapshot;
use super::super::uris;

/// What is wrong with one document.
pub(crate) fn document(
    snapshot: &Snapshot,
    params: DocumentDiagnosticParams,
) -> Result<DocumentDiagnosticReportResult> {
    let items = snapshot.diagnostics(&uris::key(&params.text_document.uri));
    let result_id = result_id(&items);
    let report = if params.previous_result_id.as_ref() == Some(&result_id) {
        let report = UnchangedDocumentDiagnosticReport { result_id };
        DocumentDiagnosticReport::Unchanged(RelatedUnchangedDocumentDiagnosticReport {
            related_documents: None,
            unchanged_document_diagnostic_report: report,
        })
    } else {
        let report = FullDocumentDiagnosticReport { result_id: Some(result_id), items };
        DocumentDiagnosticReport::Full(RelatedFullDocumentDiagnosticReport {
            related_documents: None,
            full_document_diagnostic_report: report,
        })
    };
    Ok(DocumentDiagnosticReportResult::Report(report))
}

/// What is wrong with every file: those that the client knows to be clean are left out while they stay so.
pub(crate) fn workspace(
    snapshot: &Snapshot,
    params: WorkspaceDiagnosticParams,
) -> Result<WorkspaceDiagnosticReportResult> {
    let mut previous: BTreeMap<Arc<str>, _> =
        params.previous_result_ids.into_iter().map(|known| (uris::key(&known.uri), known)).collect();
    let mut items = Vec::new();
    for (key, file) in snapshot.files.iter().filter(|(_, file)| file.is_judged()) {
        if snapshot.is_stale() {
            return Err(Error::content_modified());
        }
        let found = snapshot.diagnostics(key);
        let known = previous.remove(key);
        if found.is_empty() && known.is_none() {
            continue;
        }
        items.push(report(file.url.clone(), file.version.map(i64::from), found, known.map(|known| known.value)));
    }
    // What is no longer there is no longer wrong.
    items.extend(previous.into_values().map(|known| report(known.uri, None, Vec::new(), None)));
    Ok(WorkspaceDiagnosticReportResult::Report(WorkspaceDiagnosticReport { items }))
}

fn report(
    uri: tower_lsp::lsp_types::Url,
    version: Option<i64>,
    items: Vec<Diagnostic>,
    known: Option<String>,
) -> WorkspaceDocumentDiagnosticReport {
    let result_id = result_id(&items);
    if known.as_ref() == Some(&result_id) {
        let unchanged_document_diagnostic_report = UnchangedDocumentDiagnosticReport { result_id };
        let report = WorkspaceUnchangedDocumentDiagnosticReport { uri, version, unchanged_document_diagnostic_report };
        return WorkspaceDocumentDiagnosticReport::Unchanged(report);
    }
    let full_document_diagnostic_report = FullDocumentDiagnosticReport { result_id: Some(result_id), items };
    let report = WorkspaceFullDocumentDiagnosticReport { uri, version, full_document_diagnostic_report };
    WorkspaceDocumentDiagnosticReport::Full(report)
}

fn result_id(items: &[Diagnostic]) -> String {
    let mut hasher = DefaultHasher::new();
    // Diagnostics are plain data: they can always be written.
    hasher.write(&serde_json::to_vec(items).unwrap_or_default());
    format!("{:016x}", hasher.finish())
}
