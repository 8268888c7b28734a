//! `textDocument/documentLink` and `textDocument/codeLens`: what stands in a text, and above an entry, to be followed.

use serde_json::json;
use tileops_analyzer::ide::{self, LinkTarget};
use tower_lsp::jsonrpc::Result;
use tower_lsp::lsp_types::{CodeLens, CodeLensParams, Command, DocumentLink, DocumentLinkParams, Url};

use super::super::commands::{BENCH_ROWS, PRICE_ROWS};
use super::super::convert;
use super::super::snapshot::Snapshot;
use super::{Target, location};
use crate::diagnostic::count;

/// The parts of a document that lead elsewhere.
pub(crate) fn links(snapshot: &Snapshot, params: DocumentLinkParams) -> Result<Option<Vec<DocumentLink>>> {
    let Some(target) = Target::of(snapshot, &params.text_document.uri) else { return Ok(None) };
    let links = ide::document_links(target.db, &target.key).into_iter().filter_map(|link| {
        let (uri, tooltip) = match link.target {
            LinkTarget::Place(place) => {
                let place = location(snapshot, &place)?;
                let mut uri = place.uri;
                // Clients go to the line that a fragment names.
                uri.set_fragment(Some(&format!("L{}", place.range.start.line + 1)));
                (uri, "Go to its declaration")
            }
            LinkTarget::Code(code) => (convert::page(code)?, "What the code means"),
            LinkTarget::Page(page) => (Url::parse(&page).ok()?, "Its documentation"),
        };
        Some(DocumentLink {
            range: target.positions.range(link.range),
            target: Some(uri),
            tooltip: Some(tooltip.to_owned()),
            data: None,
        })
    });
    Ok(Some(links.collect()))
}

/// What each entry has, and what can be done with its rows.
pub(crate) fn lenses(snapshot: &Snapshot, params: CodeLensParams) -> Result<Option<Vec<CodeLens>>> {
    let Some(target) = Target::of(snapshot, &params.text_document.uri) else { return Ok(None) };
    let wanted = snapshot.settings.lenses;
    let is_file = target.file.url.scheme() == "file";
    let mut lenses = Vec::new();
    for lens in ide::code_lenses(target.db, &target.key) {
        let range = target.positions.range(lens.range);
        let mut add = |title: String, command: &str| {
            // The op is what editors with commands of their own need; the document is what the server needs besides.
            let arguments = (!command.is_empty()).then(|| vec![json!(lens.op), json!(target.file.url)]);
            let command = Some(Command { title, command: command.to_owned(), arguments });
            lenses.push(CodeLens { range, command, data: None });
        };
        if wanted.counts {
            let mut parts = vec![count(lens.rows, "row", "rows")];
            if lens.cases != lens.rows {
                parts.push(count(lens.cases, "call", "calls"));
            }
            parts.push(count(lens.points, "point", "points"));
            add(parts.join(", "), "");
        }
        // What is not saved in a folder has no rows that a program could read.
        if wanted.runs && is_file && lens.rows > 0 {
            add("price the rows".to_owned(), PRICE_ROWS);
            add("bench the rows".to_owned(), BENCH_ROWS);
        }
    }
    Ok(Some(lenses))
}
