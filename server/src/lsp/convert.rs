//! From what the analyzer found to what the protocol calls it.

use serde_json::json;
use tileops_analyzer::defect::{Code, codes};
use tower_lsp::lsp_types::{
    CodeDescription, Diagnostic, DiagnosticRelatedInformation, DiagnosticSeverity, DiagnosticTag, Location,
    NumberOrString, Url,
};

use super::snapshot::Snapshot;
use crate::diagnostic::{self, Level};

/// Where the pages of the codes are.
const PAGES: &str = concat!(env!("CARGO_PKG_REPOSITORY"), "/blob/main/docs/defects/");

/// A diagnostic. Of its related places, those in files that have an address are kept.
pub(crate) fn diagnostic(snapshot: &Snapshot, found: &diagnostic::Diagnostic) -> Diagnostic {
    let can = &snapshot.session.can;
    let severity = match found.level {
        Level::Error => DiagnosticSeverity::ERROR,
        Level::Advisory => DiagnosticSeverity::WARNING,
        Level::Unreached => DiagnosticSeverity::HINT,
    };
    let related = found.related.iter().filter_map(|related| {
        let uri = snapshot.files.get(&related.source.path)?.url.clone();
        let range = snapshot.positions(&related.source).range(related.range);
        Some(DiagnosticRelatedInformation { location: Location { uri, range }, message: related.message.clone() })
    });
    let related: Vec<_> = if can.related { related.collect() } else { Vec::new() };
    let unnecessary = found.rule.is_some_and(is_unnecessary);
    Diagnostic {
        range: snapshot.positions(&found.source).range(found.range),
        severity: Some(severity),
        code: Some(NumberOrString::String(found.code().to_owned())),
        code_description: found
            .rule
            .filter(|_| can.code_links)
            .and_then(|code| page(code.name))
            .map(|href| CodeDescription { href }),
        source: Some("tileops".to_owned()),
        message: match &found.help {
            Some(help) => format!("{}\n{help}", found.message),
            None => found.message.clone(),
        },
        related_information: (!related.is_empty()).then_some(related),
        tags: (can.unnecessary && unnecessary).then(|| vec![DiagnosticTag::UNNECESSARY]),
        data: can
            .diagnostic_data
            .then(|| json!({"entry": found.entry.as_deref(), "path": found.path, "subject": found.subject})),
    }
}

/// The address of a code's page.
pub(crate) fn page(code: &str) -> Option<Url> {
    Url::parse(&format!("{PAGES}{code}.md")).ok()
}

/// Whether what a defect marks could be deleted.
fn is_unnecessary(code: &'static Code) -> bool {
    *code == codes::UNUSED_SUPPRESSION || *code == codes::UNUSED_FAMILY || *code == codes::UNUSED_INDEX
}
