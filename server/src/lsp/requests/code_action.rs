//! `textDocument/codeAction` and `codeAction/resolve`: a quick fix for each fix of each defect, all safe ones of a document
//! together, a comment that suppresses a defect, and what may be said more plainly.

use serde::{Deserialize, Serialize};
use tileops_analyzer::defect::Code;
use tileops_analyzer::fix::{self, Applicability, Fix};
use tileops_analyzer::ide::Edit;
use tileops_analyzer::text::{TextRange, TextSize};
use tileops_analyzer::workspace::Located;
use tower_lsp::jsonrpc::{Error, Result};
use tower_lsp::lsp_types::{
    CodeAction, CodeActionKind, CodeActionOptions, CodeActionOrCommand, CodeActionParams, CodeActionProviderCapability,
    CodeActionResponse, Url, WorkDoneProgressOptions, WorkspaceEdit,
};

use super::super::convert;
use super::super::snapshot::Snapshot;
use super::{Target, workspace_edit};
use crate::diagnostic;

/// All safe fixes of a document.
const FIX_ALL: CodeActionKind = CodeActionKind::new("source.fixAll.tileops");

/// How many defects of a range are looked at: a request comes whenever the cursor moves.
const LOOKED_AT: usize = 32;

/// What an action that is resolved later is about.
#[derive(Serialize, Deserialize)]
struct Later {
    uri: Url,
}

/// What the server says that it can do.
pub(crate) fn provider(can_resolve: bool) -> CodeActionProviderCapability {
    CodeActionProviderCapability::Options(CodeActionOptions {
        code_action_kinds: Some(vec![CodeActionKind::QUICKFIX, CodeActionKind::REFACTOR_REWRITE, FIX_ALL]),
        work_done_progress_options: WorkDoneProgressOptions::default(),
        resolve_provider: Some(can_resolve),
    })
}

/// What can be done about a range.
pub(crate) fn code_action(snapshot: &Snapshot, params: CodeActionParams) -> Result<Option<CodeActionResponse>> {
    // Older clients take commands only, and there is none that does this.
    if !snapshot.session.can.code_actions {
        return Ok(None);
    }
    let Some(target) = Target::of(snapshot, &params.text_document.uri) else { return Ok(None) };
    // What is not UTF-8 is not the text that is edited.
    if !target.file.faults.is_empty() {
        return Ok(None);
    }
    let only = params.context.only.as_deref();
    let wants = |kind: &CodeActionKind| only.is_none_or(|only| only.iter().any(|wanted| holds(wanted, kind)));
    let range = target.positions.text_range(params.range);
    let mut actions = Vec::new();
    let mut is_fixable = false;
    if wants(&CodeActionKind::QUICKFIX) {
        is_fixable = quick_fixes(snapshot, &target, range, &mut actions);
    }
    if wants(&CodeActionKind::REFACTOR_REWRITE) {
        rewrites(snapshot, &target, range, &mut actions);
    }
    // Asked for by name it is answered; else it is offered beside a fix that it has in it.
    if wants(&FIX_ALL) && (only.is_some() || is_fixable && snapshot.session.can.resolve_actions) {
        actions.extend(fix_all(snapshot, &target, &params.text_document.uri));
    }
    Ok(Some(actions.into_iter().map(CodeActionOrCommand::CodeAction).collect()))
}

/// Makes the edit of an action that was offered without it.
pub(crate) fn resolve(snapshot: &Snapshot, mut action: CodeAction) -> Result<CodeAction> {
    let Some(later) = action.data.clone().and_then(|data| serde_json::from_value::<Later>(data).ok()) else {
        return Ok(action);
    };
    if action.edit.is_none() {
        let target = Target::of(snapshot, &later.uri)
            .ok_or_else(|| Error::invalid_params(format!("there is no document `{}`", later.uri)))?;
        action.edit = all_edits(snapshot, &target);
    }
    Ok(action)
}

/// Whether a kind is one of those that a client means by `wanted`: kinds are nested by their dots.
fn holds(wanted: &CodeActionKind, kind: &CodeActionKind) -> bool {
    kind.as_str().strip_prefix(wanted.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        || wanted.as_str().is_empty()
}

/// The fixes of the defects that touch `range`, and the comments that suppress them. Whether a safe one is among them.
fn quick_fixes(snapshot: &Snapshot, target: &Target<'_>, range: TextRange, actions: &mut Vec<CodeAction>) -> bool {
    let touches = |other: TextRange| range.intersect(other).is_some();
    let Some(found) = snapshot.defects(&target.key) else { return false };
    let shown: Vec<&diagnostic::Diagnostic> =
        found.iter().filter(|found| found.rule.is_some() && touches(found.range)).take(LOOKED_AT).collect();
    if shown.is_empty() {
        return false;
    }
    let is_shown = |located: &Located| shown.iter().any(|found| is_same(found, located));
    let mut safe = false;
    let fixed = fix::fixes(target.db, &target.key, &mut |located| is_shown(located));
    let report = fix::report(target.db, &target.key);
    for found in shown {
        let attached = vec![convert::diagnostic(snapshot, found)];
        let fixes = fixed.iter().find(|(located, _)| is_same(found, located)).map_or(&[][..], |(_, fixes)| fixes);
        let sure = fixes.iter().filter(|fix| fix.applicability == Applicability::Safe).count();
        safe |= sure > 0;
        for fix in fixes {
            let is_preferred = sure == 1 && fix.applicability == Applicability::Safe;
            actions.push(CodeAction {
                diagnostics: Some(attached.clone()),
                is_preferred: is_preferred.then_some(true),
                ..action(snapshot, target, fix.title.clone(), CodeActionKind::QUICKFIX, fix.edits.clone())
            });
        }
        let located = report.iter().flat_map(|report| &report.defects).find(|located| is_same(found, located));
        if let Some(Fix { title, edits, .. }) =
            located.and_then(|located| fix::suppression(target.db, &target.key, located))
        {
            actions.push(CodeAction {
                diagnostics: Some(attached),
                ..action(snapshot, target, title, CodeActionKind::QUICKFIX, edits)
            });
        }
    }
    safe
}

/// Whether what is shown is this defect.
fn is_same(found: &diagnostic::Diagnostic, located: &Located) -> bool {
    let defect = &located.defect;
    found.rule.is_some_and(|rule: &'static Code| rule == defect.code)
        && found.range == defect.range
        && found.path == defect.path
        && found.subject == defect.subject
}

/// What stands at `range` and can be said more plainly.
fn rewrites(snapshot: &Snapshot, target: &Target<'_>, range: TextRange, actions: &mut Vec<CodeAction>) {
    for fix in fix::rewrites(target.db, &target.key, range) {
        actions.push(action(snapshot, target, fix.title, CodeActionKind::REFACTOR_REWRITE, fix.edits));
    }
}

fn fix_all(snapshot: &Snapshot, target: &Target<'_>, uri: &Url) -> Option<CodeAction> {
    let mut action =
        CodeAction { title: "Fix all that is safe to fix".to_owned(), kind: Some(FIX_ALL), ..CodeAction::default() };
    if snapshot.session.can.resolve_actions {
        // An address can always be written.
        action.data = serde_json::to_value(Later { uri: uri.clone() }).ok();
        return Some(action);
    }
    action.edit = Some(all_edits(snapshot, target)?);
    Some(action)
}

/// The edits of all safe fixes; nothing where there is none.
fn all_edits(snapshot: &Snapshot, target: &Target<'_>) -> Option<WorkspaceEdit> {
    if !target.file.faults.is_empty() {
        return None;
    }
    let level = snapshot.level(target.file)?;
    let mut is_reported = |located: &Located| level(located.defect.code) != crate::levels::Level::Ignore;
    let done = fix::fix_all_aside(target.db, &target.key, Applicability::Safe, &mut is_reported)?;
    let edit = difference(&target.file.source.text, &done.text)?;
    Some(workspace_edit(snapshot, [(target.file, vec![edit])]))
}

/// The one edit that makes a text another: what they begin and end with alike stays.
fn difference(before: &str, after: &str) -> Option<Edit> {
    if before == after {
        return None;
    }
    let alike = |a: &mut dyn Iterator<Item = char>, b: &mut dyn Iterator<Item = char>, most: usize| {
        let mut length = 0;
        for (a, b) in a.zip(b) {
            if a != b || length + a.len_utf8() > most {
                break;
            }
            length += a.len_utf8();
        }
        length
    };
    let start = alike(&mut before.chars(), &mut after.chars(), usize::MAX);
    let most = before.len().min(after.len()) - start;
    let end = alike(&mut before.chars().rev(), &mut after.chars().rev(), most);
    let size = |at: usize| TextSize::try_from(at).unwrap_or_default();
    let range = TextRange::new(size(start), size(before.len() - end));
    Some(Edit { range, text: after.get(start..after.len() - end)?.to_owned() })
}

fn action(
    snapshot: &Snapshot,
    target: &Target<'_>,
    title: String,
    kind: CodeActionKind,
    edits: Vec<Edit>,
) -> CodeAction {
    let edit = workspace_edit(snapshot, [(target.file, edits)]);
    CodeAction { title, kind: Some(kind), edit: Some(edit), ..CodeAction::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_nested_by_their_dots() {
        let fix_all = |wanted: &'static str| holds(&CodeActionKind::new(wanted), &FIX_ALL);
        assert!(fix_all("") && fix_all("source") && fix_all("source.fixAll") && fix_all("source.fixAll.tileops"));
        assert!(!fix_all("source.fix") && !fix_all("quickfix") && !fix_all("source.fixAll.tileops.more"));
    }

    #[test]
    fn a_difference_is_what_differs() {
        let difference = |before, after| difference(before, after).map(|edit| (edit.range, edit.text));
        let range = |start: u32, end: u32| TextRange::new(start.into(), end.into());
        assert_eq!(difference("abc", "abc"), None);
        assert_eq!(difference("abc", "axc"), Some((range(1, 2), "x".to_owned())));
        assert_eq!(difference("aa", "aaa"), Some((range(2, 2), "a".to_owned())));
        assert_eq!(difference("aaa", "a"), Some((range(1, 3), String::new())));
        assert_eq!(difference("é\u{301}x", "é\u{302}x"), Some((range(2, 4), "\u{302}".to_owned())));
    }
}
