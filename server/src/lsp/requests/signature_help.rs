//! `textDocument/signatureHelp`.

use tileops_analyzer::ide;
use tower_lsp::jsonrpc::Result;
use tower_lsp::lsp_types::{
    Documentation, MarkupContent, MarkupKind, ParameterInformation, ParameterLabel, SignatureHelp, SignatureHelpParams,
    SignatureInformation,
};

use super::super::positions::Encoding;
use super::super::snapshot::Snapshot;
use super::Target;

/// What the call around the cursor takes.
pub(crate) fn signature_help(snapshot: &Snapshot, params: SignatureHelpParams) -> Result<Option<SignatureHelp>> {
    let Some((target, offset)) = Target::at(snapshot, &params.text_document_position_params) else { return Ok(None) };
    let Some(help) = ide::signature_help(target.db, &target.key, offset) else { return Ok(None) };
    let markup = |value: String| {
        let kind = if snapshot.session.can.markdown { MarkupKind::Markdown } else { MarkupKind::PlainText };
        (!value.is_empty()).then_some(Documentation::MarkupContent(MarkupContent { kind, value }))
    };
    let label = help.label;
    let parameters: Vec<ParameterInformation> = help
        .parameters
        .into_iter()
        .map(|parameter| {
            let (start, end) = (usize::from(parameter.label.start()), usize::from(parameter.label.end()));
            let text = |from, to| label.get(from..to).unwrap_or("");
            // The protocol counts these in UTF-16, whatever was negotiated for positions.
            let units = |at| Encoding::Utf16.length(text(0, at));
            ParameterInformation {
                label: match snapshot.session.can.label_offsets {
                    true => ParameterLabel::LabelOffsets([units(start), units(end)]),
                    false => ParameterLabel::Simple(text(start, end).to_owned()),
                },
                documentation: markup(parameter.documentation),
            }
        })
        .collect();
    // One that is none of them is said by a number behind the last: nothing at all would mean the first.
    let active = help.active.unwrap_or(parameters.len());
    let active_parameter = u32::try_from(active).ok();
    let signature = SignatureInformation {
        label,
        documentation: markup(help.documentation),
        parameters: Some(parameters),
        active_parameter,
    };
    Ok(Some(SignatureHelp { signatures: vec![signature], active_signature: Some(0), active_parameter }))
}
