//! Codes of defects in suppression comments.

use super::super::Edit;
use super::super::site::Site;
use super::{Completion, CompletionKind, Topic};
use crate::defect::{all_codes, codes};
use crate::text::{TextRange, TextSize};

/// The codes that a suppression comment can name, where the cursor is in one.
pub(super) fn codes_in_comment(site: &Site<'_>, line: &str, at: usize) -> Option<Vec<Completion>> {
    let comment = line.find("# tileops:").or_else(|| line.find("#tileops:"))?;
    let stated = &line[comment..];
    let start = stated.rfind(['[', ',', ' ']).map(|i| i + 1)?;
    let size = |at: usize| TextSize::try_from(at).unwrap_or_default();
    let word_start = at - (stated.len() - start);
    let rest = site.text().get(at..).unwrap_or("");
    let end = at + rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '-')).unwrap_or(rest.len());
    let range = site.global(TextRange::new(size(word_start), size(end)));
    let item = |label: &str, text: String, detail: &str, topic: Option<Topic>| Completion {
        label: label.to_owned(),
        kind: CompletionKind::Code,
        detail: detail.to_owned(),
        documentation: String::new(),
        topic,
        edit: Edit { range, text },
        snippet: None,
    };
    if !stated.contains('[') {
        return Some(vec![item("ignore", "ignore[]".to_owned(), "suppress defects here", None)]);
    }
    let unsuppressible = [&codes::BAD_SUPPRESSION, &codes::UNUSED_SUPPRESSION];
    let suppressible = all_codes().filter(|(_, code)| !unsuppressible.contains(code));
    Some(
        suppressible
            .map(|(_, code)| item(code.name, code.name.to_owned(), code.summary, Some(Topic::Code(code.name))))
            .collect(),
    )
}
