//! What fits its place and not the entry: a metadata tensor is held against its generator, an alias against what it is one
//! of, what an argument is on some branch against a built-in's domain, and a row's dtype against the refinements. That is
//! tried on the whole entry, where it can be so.

use super::super::site::{Holds, Site};
use super::expression::call_around;
use super::{Completion, MARK};
use crate::analysis::{EntryContext, judge, judge_declarations, parse};
use crate::defect::{Code, Findings, codes};
use crate::syntax::Node;
use crate::text::TextSize;

/// The codes of what is wrong with an entry because of what stands at one place in it.
const CODES: [&Code; 7] = [
    &codes::METADATA_TENSOR,
    &codes::OUTSIDE_DOMAIN,
    &codes::TENSOR_EFFECT,
    &codes::UNDECIDED_CONDITION,
    &codes::FAMILY_CASES,
    &codes::NO_SUCH_MEMBER,
    &codes::ROW_REFINEMENT,
];

/// Whether what stands in an expression is held against more than the expression: in a tensor whose contents are
/// `generated`, among the arguments of a built-in, where something is divided or subtracted, or compared with a literal.
pub(super) fn is_held_against_more(holds: Holds, before: &str, text: &str, generated: bool) -> bool {
    let by_effect = matches!(holds, Holds::TensorDType | Holds::Condition);
    generated
        || by_effect
        || holds == Holds::Predicate
        || call_around(before).is_some()
        || text.contains(['-', '/', '%', '\''])
}

/// More items than this are not tried: a place where so much can stand is held against little.
const MOST: usize = 128;

/// Drops what is wrong for the entry; nothing, where that is so of everything. `text` is the entry's with the mark in it,
/// and `node` the value that the mark stands in.
pub(super) fn retain_fitting(site: &Site<'_>, text: &str, node: &Node, found: &mut Vec<Completion>) {
    if found.len() > MOST {
        return;
    }
    let wrong: Vec<bool> = found.iter().map(|item| is_wrong(site, text, node, item)).collect();
    if wrong.iter().all(|wrong| *wrong) {
        return;
    }
    let mut wrong = wrong.into_iter();
    found.retain(|_| !wrong.next().unwrap_or(false));
}

fn is_wrong(site: &Site<'_>, text: &str, node: &Node, item: &Completion) -> bool {
    let inserted = item.snippet.as_deref().map_or_else(|| item.edit.text.clone(), plain);
    let text = text.replacen(MARK, &inserted, 1);
    let start = node.range.start();
    let end = node.range.end() + TextSize::of(&*inserted);
    let end = end.checked_sub(TextSize::of(MARK)).unwrap_or(start);
    let parsed = parse(&text);
    let findings = if parsed.entry.workloads.range().contains(start) {
        judge(&parsed, &EntryContext { adts: &site.adts, formulas: site.db.formulas() }).findings
    } else {
        // Nothing that stands elsewhere is held against the rows.
        let mut findings = Findings::default();
        judge_declarations(&parsed.entry, &site.adts, &mut findings);
        findings
    };
    findings
        .defects
        .iter()
        .any(|defect| CODES.contains(&defect.code) && start <= defect.range.start() && defect.range.end() <= end)
}

/// The text of a snippet, its placeholders as they are.
fn plain(snippet: &str) -> String {
    let mut text = String::new();
    let mut rest = snippet;
    while let Some(at) = rest.find("${") {
        let (before, behind) = rest.split_at(at);
        text.push_str(before);
        let Some((name, after)) = behind.split_once(':').and_then(|(_, named)| named.split_once('}')) else { break };
        text.push_str(name);
        rest = after;
    }
    text.push_str(rest);
    text
}
