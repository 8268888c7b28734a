//! `textDocument/completion`.

use serde_json::json;
use tileops_analyzer::ide::{self, CompletionKind, Topic};
use tower_lsp::jsonrpc::Result;
use tower_lsp::lsp_types::{
    CompletionItem, CompletionItemKind, CompletionParams, CompletionResponse, CompletionTextEdit, Documentation,
    InsertTextFormat, MarkupContent, MarkupKind,
};

use super::super::snapshot::Snapshot;
use super::{Target, text_edit};

/// What may stand where the cursor is, in the analyzer's order.
pub(crate) fn completion(snapshot: &Snapshot, params: CompletionParams) -> Result<Option<CompletionResponse>> {
    let Some((target, offset)) = Target::at(snapshot, &params.text_document_position) else { return Ok(None) };
    let found = ide::completions(target.db, &target.key, offset);
    let later = snapshot.session.can.resolve_documentation;
    let items = found.into_iter().enumerate().map(|(position, item)| {
        let mut edit = text_edit(&target.positions, item.edit);
        let snippet = item.snippet.filter(|_| snapshot.session.can.snippets);
        let insert_text_format = snippet.as_ref().map(|_| InsertTextFormat::SNIPPET);
        edit.new_text = snippet.unwrap_or(edit.new_text);
        CompletionItem {
            filter_text: Some(item.label.clone()),
            label: item.label,
            kind: Some(kind(item.kind)),
            detail: (!item.detail.is_empty()).then_some(item.detail),
            data: item.topic.filter(|_| later).map(|topic| json!({ "topic": topic.to_string() })),
            documentation: match (item.topic, later) {
                (Some(_), true) => None,
                (Some(topic), false) => markdown(ide::documentation(topic)),
                (None, _) => markdown(item.documentation),
            },
            sort_text: Some(format!("{position:04}")),
            insert_text_format,
            text_edit: Some(CompletionTextEdit::Edit(edit)),
            ..CompletionItem::default()
        }
    });
    Ok(Some(CompletionResponse::Array(items.collect())))
}

/// The item with its documentation.
pub(crate) fn resolve(_: &Snapshot, mut item: CompletionItem) -> Result<CompletionItem> {
    let topic = item.data.as_ref().and_then(|data| data.get("topic")?.as_str()).and_then(Topic::named);
    if let Some(topic) = topic {
        item.documentation = markdown(ide::documentation(topic));
    }
    Ok(item)
}

fn markdown(value: String) -> Option<Documentation> {
    let content = MarkupContent { kind: MarkupKind::Markdown, value };
    (!content.value.is_empty()).then_some(Documentation::MarkupContent(content))
}

fn kind(kind: CompletionKind) -> CompletionItemKind {
    match kind {
        CompletionKind::Key => CompletionItemKind::PROPERTY,
        CompletionKind::Word => CompletionItemKind::KEYWORD,
        CompletionKind::Name | CompletionKind::Tensor => CompletionItemKind::VARIABLE,
        CompletionKind::Type | CompletionKind::DType => CompletionItemKind::CLASS,
        CompletionKind::Function => CompletionItemKind::FUNCTION,
        CompletionKind::Field => CompletionItemKind::FIELD,
        CompletionKind::Op => CompletionItemKind::MODULE,
        CompletionKind::Code => CompletionItemKind::VALUE,
    }
}
