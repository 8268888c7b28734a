//! Symbols, folding and selection: how a document is built.

use tileops_analyzer::ide::{self, SymbolKind as Kind};
use tower_lsp::jsonrpc::Result;
use tower_lsp::lsp_types::{
    DocumentSymbol, DocumentSymbolParams, DocumentSymbolResponse, FoldingRange, FoldingRangeParams, Location,
    SelectionRange, SelectionRangeParams, SymbolInformation, SymbolKind, WorkspaceSymbolParams,
};

use super::super::positions::Positions;
use super::super::snapshot::Snapshot;
use super::{Target, location};

/// The entries of a document, and what they declare.
pub(crate) fn document(snapshot: &Snapshot, params: DocumentSymbolParams) -> Result<Option<DocumentSymbolResponse>> {
    let Some(target) = Target::of(snapshot, &params.text_document.uri) else { return Ok(None) };
    let symbols = ide::document_symbols(target.db, &target.key);
    if snapshot.session.can.nested_symbols {
        let symbols = symbols.into_iter().map(|symbol| nested(&target.positions, symbol));
        return Ok(Some(DocumentSymbolResponse::Nested(symbols.collect())));
    }
    let symbols = symbols.into_iter().map(|symbol| {
        let range = target.positions.range(symbol.range);
        information(symbol.name, symbol.kind, Location { uri: target.file.url.clone(), range })
    });
    Ok(Some(DocumentSymbolResponse::Flat(symbols.collect())))
}

// The analyzer nests symbols as the language does, a few levels deep.
fn nested(positions: &Positions<'_>, symbol: ide::DocumentSymbol) -> DocumentSymbol {
    #[allow(deprecated, reason = "the field has to be there")]
    DocumentSymbol {
        // Editors refuse a symbol without a name.
        name: if symbol.name.is_empty() { "?".to_owned() } else { symbol.name },
        detail: (!symbol.detail.is_empty()).then_some(symbol.detail),
        kind: kind(symbol.kind),
        tags: None,
        deprecated: None,
        range: positions.range(symbol.range),
        selection_range: positions.range(symbol.focus),
        children: Some(symbol.children.into_iter().map(|child| nested(positions, child)).collect()),
    }
}

fn information(name: String, of: Kind, location: Location) -> SymbolInformation {
    #[allow(deprecated, reason = "the field has to be there")]
    SymbolInformation { name, kind: kind(of), tags: None, deprecated: None, location, container_name: None }
}

/// The ops and types of all manifests.
pub(crate) fn workspace(snapshot: &Snapshot, params: WorkspaceSymbolParams) -> Result<Option<Vec<SymbolInformation>>> {
    let found = snapshot.projects.values().flat_map(|project| ide::workspace_symbols(&project.db, &params.query));
    let symbols = found.filter_map(|symbol| {
        let place = location(snapshot, &symbol.location)?;
        Some(information(symbol.name, symbol.kind, place))
    });
    Ok(Some(symbols.collect()))
}

/// What can be folded.
pub(crate) fn folding(snapshot: &Snapshot, params: FoldingRangeParams) -> Result<Option<Vec<FoldingRange>>> {
    let Some(target) = Target::of(snapshot, &params.text_document.uri) else { return Ok(None) };
    let found = ide::folding_ranges(target.db, &target.key).into_iter().map(|range| {
        let range = target.positions.range(range);
        FoldingRange { start_line: range.start.line, end_line: range.end.line, ..FoldingRange::default() }
    });
    Ok(Some(found.collect()))
}

/// What to select around each position, from the inside out.
pub(crate) fn selection(snapshot: &Snapshot, params: SelectionRangeParams) -> Result<Option<Vec<SelectionRange>>> {
    let Some(target) = Target::of(snapshot, &params.text_document.uri) else { return Ok(None) };
    let selections = params.positions.iter().map(|&position| {
        let offset = target.positions.offset(position);
        let mut ranges = ide::selection_ranges(target.db, &target.key, offset);
        ranges.sort_by_key(|range| std::cmp::Reverse(range.len()));
        let outside_in = ranges.into_iter().map(|range| target.positions.range(range));
        let innermost = outside_in
            .fold(None, |parent, range| Some(Box::new(SelectionRange { range, parent })))
            .map(|selection| *selection);
        let here = tower_lsp::lsp_types::Range { start: position, end: position };
        innermost.unwrap_or(SelectionRange { range: here, parent: None })
    });
    Ok(Some(selections.collect()))
}

fn kind(kind: Kind) -> SymbolKind {
    match kind {
        Kind::Op => SymbolKind::CLASS,
        Kind::Section => SymbolKind::NAMESPACE,
        Kind::Index | Kind::Let => SymbolKind::VARIABLE,
        Kind::Param => SymbolKind::PROPERTY,
        Kind::Tensor => SymbolKind::ARRAY,
        Kind::Family => SymbolKind::FUNCTION,
        Kind::Row => SymbolKind::CONSTANT,
        Kind::Adt => SymbolKind::ENUM,
        Kind::Constructor => SymbolKind::ENUM_MEMBER,
        Kind::Field => SymbolKind::FIELD,
    }
}
