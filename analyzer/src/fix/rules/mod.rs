//! The rules that make fixes, by the code that they mend. What a rule gives is tried before it is offered, so a rule says
//! what may be meant and leaves it to the trial whether that holds.

mod expressions;
mod files;
mod keys;
mod rows;
mod signature;
mod values;
mod yaml;

use super::edits::{self, quoted, rewrite};
use super::{Applicability, Candidate, Edit};
use crate::db::AnalysisDb;
use crate::defect::{Code, Defect, Place, codes};
use crate::ide::site::Site;
use crate::text::TextRange;
use crate::workspace::Located;

/// A rule: from a defect of an entry to what may mend it, the likeliest first. Ranges are in the entry's text.
type Rule = fn(&Site<'_>, &Defect) -> Vec<Candidate>;

/// The rules for defects of an entry. A code may have several; the text that a judgment knows comes before them all.
static RULES: &[(&Code, Rule)] = &[
    (&codes::YAML_SYNTAX, yaml::syntax),
    (&codes::YAML_CHARACTER, yaml::character),
    (&codes::YAML_ANCHOR, yaml::anchor),
    (&codes::YAML_MERGE_KEY, yaml::merge_key),
    (&codes::YAML_TAG, yaml::tag),
    (&codes::DUPLICATE_KEY, yaml::duplicate_key),
    (&codes::NON_STRING_KEY, yaml::non_string_key),
    (&codes::AMBIGUOUS_SCALAR, yaml::ambiguous_scalar),
    (&codes::UNKNOWN_KEY, keys::unknown_key),
    (&codes::MISSING_KEY, keys::missing_key),
    (&codes::WRONG_FORM, values::wrong_form),
    (&codes::UNKNOWN_VALUE, values::unknown_value),
    (&codes::INVALID_NAME, values::invalid_name),
    (&codes::DUPLICATE_NAME, values::repeated_member),
    (&codes::BAD_DEFAULT, values::value),
    (&codes::ROW_VALUE, values::value),
    (&codes::ROW_LABEL, values::label),
    (&codes::REFUSED_FORM, expressions::refused_form),
    (&codes::UNKNOWN_NAME, expressions::definition),
    (&codes::SHADOWED_NAME, expressions::shadowed_name),
    (&codes::UNGUARDED_VALUE, expressions::unguarded),
    (&codes::UNGUARDED_FIELD, expressions::unguarded),
    (&codes::FAMILY_DEFINITION, signature::repeated_scrutinee),
    (&codes::UNUSED_FAMILY, signature::unused_family),
    (&codes::UNUSED_INDEX, signature::unused_index),
    (&codes::TENSOR_EFFECT, signature::tensor_effect),
    (&codes::DTYPE_COMBOS, signature::repeated_combo),
    (&codes::ROW_KEY, rows::row_key),
    (&codes::ROW_SOME, rows::row_some),
    (&codes::ROW_DTYPES, rows::row_dtypes),
    (&codes::DUPLICATE_CASE, rows::duplicate_case),
];

/// Whether a defect is judged by more than its entry, so that its fixes are tried on the whole file.
pub(super) fn concerns_file(located: &Located) -> bool {
    let file = [
        &codes::FAMILY_FILE,
        &codes::DUPLICATE_OP,
        &codes::YAML_DOCUMENT,
        &codes::YAML_TOP_LEVEL,
        &codes::BAD_SUPPRESSION,
        &codes::UNUSED_SUPPRESSION,
    ];
    file.contains(&located.defect.code)
        || located.defect.code == &codes::MISSING_KEY && located.defect.subject == "family"
}

/// What may mend a defect of an entry.
pub(super) fn in_entry(site: &Site<'_>, defect: &Defect) -> Vec<Candidate> {
    let mut candidates = instead(site, defect);
    for (_, rule) in RULES.iter().filter(|(code, _)| *code == defect.code) {
        candidates.extend(rule(site, defect));
    }
    candidates
}

/// What may mend a defect of a file; ranges are in the file's text.
pub(super) fn in_file(db: &AnalysisDb, path: &str, located: &Located, site: Option<&Site<'_>>) -> Vec<Candidate> {
    files::rule(db, path, located, site)
}

/// The text that the judgment knows to be right.
fn instead(site: &Site<'_>, defect: &Defect) -> Vec<Candidate> {
    let Some(instead) = &defect.instead else { return Vec::new() };
    let applicability = if instead.is_guess { Applicability::Unsafe } else { Applicability::Safe };
    let old = site.slice(instead.range);
    let title = replace_title(old, &instead.text);
    // A name is reported once, however often its text and other places of the entry use it.
    let here = same_words(site, instead.range);
    let mut everywhere = here.clone();
    for related in &defect.related {
        if let Place::Here(range) = related.place
            && site.slice(range) == old
        {
            everywhere.push(range);
            everywhere.extend(same_words(site, range));
        }
    }
    everywhere.sort_by_key(|range| (range.start(), range.end()));
    everywhere.dedup();
    let mut ways = Vec::new();
    for places in [vec![instead.range], here, everywhere] {
        ways.extend(replace_words(site, &places, &instead.text));
    }
    ways.into_iter().map(|edits| Candidate::new(title.clone(), edits, applicability)).collect()
}

/// Puts `new` in place of what stands at `places`, each scalar in its own style.
fn replace_words(site: &Site<'_>, places: &[TextRange], new: &str) -> Option<Vec<Edit>> {
    let scalar_of = |range: TextRange| edits::scalar_at(&site.tree, range).map(|node| node.range);
    let mut edits = Vec::new();
    for together in places.chunk_by(|one, next| scalar_of(*one) == scalar_of(*next)) {
        let changes: Vec<(TextRange, String)> = together.iter().map(|range| (*range, new.to_owned())).collect();
        edits.extend(rewrite(site.text(), &site.tree, &changes)?);
    }
    (!edits.is_empty()).then_some(edits)
}

/// The places in a scalar where the word at `range` stands.
fn same_words(site: &Site<'_>, range: TextRange) -> Vec<TextRange> {
    let Some((node, scalar)) = edits::scalar_at(&site.tree, range).and_then(|node| Some((node, node.as_scalar()?)))
    else {
        return Vec::new();
    };
    let part = edits::decoded(scalar, node, range);
    let Some(word) = scalar.text.get(part).filter(|word| !word.is_empty() && word.chars().all(is_word)) else {
        return Vec::new();
    };
    let alone = |at: usize| {
        let before = scalar.text.get(..at).and_then(|text| text.chars().next_back());
        let behind = scalar.text.get(at + word.len()..).and_then(|text| text.chars().next());
        ![before, behind].into_iter().flatten().any(|c| is_word(c) || matches!(c, '.' | '\'' | '"'))
    };
    let places = scalar.text.match_indices(word).filter(|(at, _)| alone(*at));
    places.map(|(at, _)| scalar.map.range(edits::span(at, at + word.len()))).collect()
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// "Replace `a` by `b`", short.
fn replace_title(old: &str, new: &str) -> String {
    match (old.is_empty(), new.trim().is_empty()) {
        (_, true) => format!("Remove {}", shown(old)),
        (true, false) => format!("Write {}", shown(new)),
        (false, false) => format!("Replace {} by {}", shown(old), shown(new)),
    }
}

/// A text as a title shows it: on one line, and cut where it is long.
fn shown(text: &str) -> String {
    const LONGEST: usize = 40;
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let cut: String = flat.chars().take(LONGEST).collect();
    let more = if cut.len() < flat.len() { "…" } else { "" };
    format!("`{cut}{more}`")
}

/// Puts `yaml` in place of a node.
fn replace_node(range: TextRange, old: &str, yaml: String, applicability: Applicability) -> Candidate {
    Candidate::new(replace_title(old, &yaml), vec![edits::edit(range, yaml)], applicability)
}

/// A node's text in quotes.
fn quote(site: &Site<'_>, range: TextRange, text: &str, applicability: Applicability) -> Candidate {
    let yaml = quoted(&site.tree, text);
    Candidate::new(format!("Quote {}", shown(text)), vec![edits::edit(range, yaml)], applicability)
}

/// The codes that some rule is for, besides those whose judgments know the text that is right.
#[cfg(test)]
pub(super) fn ruled() -> impl Iterator<Item = &'static Code> {
    RULES.iter().map(|(code, _)| *code)
}
