//! `textDocument/semanticTokens`, of the whole and of a range.

use tileops_analyzer::ide::{self, SemanticKind};
use tileops_analyzer::text::{TextRange, TextSize};
use tower_lsp::jsonrpc::Result;
use tower_lsp::lsp_types::{
    SemanticToken, SemanticTokenModifier, SemanticTokenType, SemanticTokens, SemanticTokensLegend,
    SemanticTokensParams, SemanticTokensRangeParams, SemanticTokensRangeResult, SemanticTokensResult, Url,
};

use super::super::snapshot::Snapshot;
use super::Target;

/// The types and modifiers that tokens name by their positions.
pub(crate) fn legend() -> SemanticTokensLegend {
    SemanticTokensLegend {
        token_types: vec![
            SemanticTokenType::VARIABLE,
            SemanticTokenType::PARAMETER,
            SemanticTokenType::PROPERTY,
            SemanticTokenType::FUNCTION,
            SemanticTokenType::TYPE,
            SemanticTokenType::ENUM_MEMBER,
            SemanticTokenType::KEYWORD,
            SemanticTokenType::NUMBER,
            SemanticTokenType::STRING,
            SemanticTokenType::OPERATOR,
        ],
        token_modifiers: vec![SemanticTokenModifier::DECLARATION],
    }
}

/// The position of a kind in the legend.
fn kind(kind: SemanticKind) -> u32 {
    match kind {
        SemanticKind::Index | SemanticKind::Let | SemanticKind::Local | SemanticKind::Tensor => 0,
        SemanticKind::Param => 1,
        SemanticKind::Field => 2,
        SemanticKind::Function | SemanticKind::Family => 3,
        SemanticKind::Type | SemanticKind::DType => 4,
        SemanticKind::Member => 5,
        SemanticKind::Keyword => 6,
        SemanticKind::Number => 7,
        SemanticKind::String => 8,
        SemanticKind::Operator => 9,
    }
}

/// The tokens of a document.
pub(crate) fn full(snapshot: &Snapshot, params: SemanticTokensParams) -> Result<Option<SemanticTokensResult>> {
    let whole = |target: &Target<'_>| TextRange::up_to(TextSize::of(target.positions.text));
    Ok(tokens(snapshot, &params.text_document.uri, whole).map(SemanticTokensResult::Tokens))
}

/// The tokens of a part of it.
pub(crate) fn range(
    snapshot: &Snapshot,
    params: SemanticTokensRangeParams,
) -> Result<Option<SemanticTokensRangeResult>> {
    let part = |target: &Target<'_>| target.positions.text_range(params.range);
    Ok(tokens(snapshot, &params.text_document.uri, part).map(SemanticTokensRangeResult::Tokens))
}

fn tokens(snapshot: &Snapshot, uri: &Url, range: impl FnOnce(&Target<'_>) -> TextRange) -> Option<SemanticTokens> {
    let target = Target::of(snapshot, uri)?;
    let range = range(&target);
    let mut data = Vec::new();
    let (mut line, mut column) = (0, 0);
    for token in ide::semantic_tokens(target.db, &target.key, range) {
        let place = target.positions.range(token.range);
        // A token is on one line, and behind the one before it.
        if place.start.line != place.end.line || (place.start.line, place.start.character) < (line, column) {
            continue;
        }
        let delta_line = place.start.line - line;
        let delta_start = if delta_line == 0 { place.start.character - column } else { place.start.character };
        let length = place.end.character - place.start.character;
        let token_modifiers_bitset = u32::from(token.declares);
        data.push(SemanticToken {
            delta_line,
            delta_start,
            length,
            token_type: kind(token.kind),
            token_modifiers_bitset,
        });
        (line, column) = (place.start.line, place.start.character);
    }
    Some(SemanticTokens { result_id: None, data })
}
