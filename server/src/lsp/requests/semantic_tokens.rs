//! `textDocument/semanticTokens`: of the whole, of what changed in it, and of a range.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use tileops_analyzer::ide::{self, SemanticKind};
use tileops_analyzer::text::{TextRange, TextSize};
use tower_lsp::jsonrpc::Result;
use tower_lsp::lsp_types::{
    SemanticToken, SemanticTokenModifier, SemanticTokenType, SemanticTokens, SemanticTokensDelta,
    SemanticTokensDeltaParams, SemanticTokensEdit, SemanticTokensFullDeltaResult, SemanticTokensLegend,
    SemanticTokensParams, SemanticTokensRangeParams, SemanticTokensRangeResult, SemanticTokensResult, Url,
};

use super::super::snapshot::Snapshot;
use super::Target;

/// The tokens that the client has of each document, with the name of the answer that they came with.
#[derive(Debug, Default)]
pub(crate) struct Sent {
    sent: Mutex<SentTokens>,
}

#[derive(Debug, Default)]
struct SentTokens {
    next: u64,
    by_file: BTreeMap<Arc<str>, (String, Arc<[SemanticToken]>)>,
}

impl Sent {
    /// Keeps what is sent, and gives it a name. Gives also what was sent before under the name `before`.
    fn replace(
        &self,
        key: &Arc<str>,
        tokens: &[SemanticToken],
        before: Option<&str>,
    ) -> (String, Option<Arc<[SemanticToken]>>) {
        // A panic leaves whole answers behind.
        let mut sent = self.sent.lock().unwrap_or_else(PoisonError::into_inner);
        sent.next += 1;
        let name = sent.next.to_string();
        let last = sent.by_file.insert(key.clone(), (name.clone(), tokens.into()));
        (name, last.filter(|(name, _)| Some(name.as_str()) == before).map(|(_, tokens)| tokens))
    }

    /// Forgets a document.
    pub(crate) fn forget(&self, key: &str) {
        self.sent.lock().unwrap_or_else(PoisonError::into_inner).by_file.remove(key);
    }
}

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
    Ok(tokens(snapshot, &params.text_document.uri, whole).map(|(key, data)| {
        let (name, _) = snapshot.tokens.replace(&key, &data, None);
        SemanticTokensResult::Tokens(SemanticTokens { result_id: Some(name), data })
    }))
}

/// What is to be done to the tokens of an earlier answer; all of them where that answer is not the last.
pub(crate) fn delta(
    snapshot: &Snapshot,
    params: SemanticTokensDeltaParams,
) -> Result<Option<SemanticTokensFullDeltaResult>> {
    Ok(tokens(snapshot, &params.text_document.uri, whole).map(|(key, data)| {
        let (name, last) = snapshot.tokens.replace(&key, &data, Some(&params.previous_result_id));
        match last {
            Some(last) => SemanticTokensFullDeltaResult::TokensDelta(SemanticTokensDelta {
                result_id: Some(name),
                edits: edit(&last, &data).into_iter().collect(),
            }),
            None => SemanticTokensFullDeltaResult::Tokens(SemanticTokens { result_id: Some(name), data }),
        }
    }))
}

fn whole(target: &Target<'_>) -> TextRange {
    TextRange::up_to(TextSize::of(target.positions.text))
}

/// The one edit that makes `after` of `before`, in the protocol's unit: a token is five numbers.
fn edit(before: &[SemanticToken], after: &[SemanticToken]) -> Option<SemanticTokensEdit> {
    let start = before.iter().zip(after).take_while(|(a, b)| a == b).count();
    let (before, after) = (before.get(start..)?, after.get(start..)?);
    let end = before.iter().rev().zip(after.iter().rev()).take_while(|(a, b)| a == b).count();
    let (gone, data) = (before.len() - end, after.get(..after.len() - end)?);
    let number = |count: usize| u32::try_from(count * 5).unwrap_or(u32::MAX);
    (gone > 0 || !data.is_empty()).then(|| SemanticTokensEdit {
        start: number(start),
        delete_count: number(gone),
        data: (!data.is_empty()).then(|| data.to_vec()),
    })
}

/// The tokens of a part of it.
pub(crate) fn range(
    snapshot: &Snapshot,
    params: SemanticTokensRangeParams,
) -> Result<Option<SemanticTokensRangeResult>> {
    let part = |target: &Target<'_>| target.positions.text_range(params.range);
    Ok(tokens(snapshot, &params.text_document.uri, part)
        .map(|(_, data)| SemanticTokensRangeResult::Tokens(SemanticTokens { result_id: None, data })))
}

fn tokens(
    snapshot: &Snapshot,
    uri: &Url,
    range: impl FnOnce(&Target<'_>) -> TextRange,
) -> Option<(Arc<str>, Vec<SemanticToken>)> {
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
    Some((target.key, data))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn tokens(lengths: &[u32]) -> Vec<SemanticToken> {
        let token = |&length: &u32| SemanticToken {
            delta_line: 0,
            delta_start: 1,
            length,
            token_type: 0,
            token_modifiers_bitset: 0,
        };
        lengths.iter().map(token).collect()
    }

    proptest! {
        #[test]
        fn an_edit_makes_the_one_of_the_other(
            before in prop::collection::vec(0u32..3, 0..12),
            after in prop::collection::vec(0u32..3, 0..12),
        ) {
            let (mut made, wanted) = (tokens(&before), tokens(&after));
            if let Some(edit) = edit(&made, &wanted) {
                let start = edit.start as usize / 5;
                made.splice(start..start + edit.delete_count as usize / 5, edit.data.unwrap_or_default());
            } else {
                prop_assert_eq!(&before, &after);
            }
            prop_assert_eq!(made, wanted);
        }
    }
}
