//! What fits its place and not the entry: a metadata tensor is held against its generator, and what an argument is on some
//! branch against a built-in's domain. That is tried on the whole signature, where it can be so.

use super::super::site::{Holds, Site};
use super::{Completion, MARK};
use crate::analysis::parse;
use crate::check::{Scope, check_signature};
use crate::defect::{Code, Findings, codes};
use crate::syntax::Node;
use crate::text::TextSize;

/// The codes of what is wrong with an entry because of what stands at one place in it.
const CODES: [&Code; 2] = [&codes::METADATA_TENSOR, &codes::OUTSIDE_DOMAIN];

/// Whether what stands in an expression is held against more than the expression: in a tensor whose contents are
/// `generated`, among the arguments of a built-in, where something is divided or subtracted.
pub(super) fn is_held_against_more(holds: Holds, before: &str, text: &str, generated: bool) -> bool {
    let in_call = {
        let mut depth = 0_usize;
        before.chars().rev().any(|c| {
            match c {
                ')' => depth += 1,
                '(' if depth == 0 => return true,
                '(' => depth -= 1,
                _ => {}
            }
            false
        })
    };
    generated || in_call || holds == Holds::Predicate || text.contains(['-', '/', '%'])
}

/// Drops what is wrong for the entry; nothing, where that is so of everything. `text` is the entry's with the mark in it,
/// and `node` the value that the mark stands in.
pub(super) fn retain_fitting(site: &Site<'_>, text: &str, node: &Node, found: &mut Vec<Completion>) {
    let wrong: Vec<bool> = found.iter().map(|item| is_wrong(site, text, node, item)).collect();
    if wrong.iter().all(|wrong| *wrong) {
        return;
    }
    let mut wrong = wrong.into_iter();
    found.retain(|_| !wrong.next().unwrap_or(false));
}

fn is_wrong(site: &Site<'_>, text: &str, node: &Node, item: &Completion) -> bool {
    // What is still to be written decides about a call.
    if item.snippet.is_some() {
        return false;
    }
    let text = text.replacen(MARK, &item.edit.text, 1);
    let start = node.range.start();
    let end = node.range.end() + TextSize::of(&*item.edit.text);
    let end = end.checked_sub(TextSize::of(MARK)).unwrap_or(start);
    let entry = parse(&text).entry;
    let mut findings = Findings::default();
    let scope = Scope::of(&entry, &site.adts, &mut findings);
    check_signature(&entry, &scope, &site.adts, &mut findings);
    findings
        .defects
        .iter()
        .any(|defect| CODES.contains(&defect.code) && start <= defect.range.start() && defect.range.end() <= end)
}
