//! Mutations of `types.yaml`. What a type declares is used in entries: those that name it judge it.

use std::ops::Range;
use std::sync::Arc;

use tileops_analyzer::defect::{Defect, Severity};
use tileops_analyzer::syntax::parse_entry;
use tileops_analyzer::workspace::{SourceFile, Workspace};

use crate::operators::{Mutant, Verdict};
use crate::text::{TokenKind, removal, sites, span, tokens};

/// The name under which `types.yaml` stands among the entries.
pub(crate) const FILE: &str = "types.yaml";

/// Whether `text` has `word` in it as a whole word.
pub(crate) fn has_word(text: &str, word: &str) -> bool {
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(word)
        .any(|(at, _)| !text[..at].ends_with(is_name) && !text[at + word.len()..].starts_with(is_name))
}

/// Every mutant of the types in `text`; `entries` is the text of all entries.
pub(crate) fn mutants(text: &str, entries: &str) -> Vec<Mutant> {
    let Some(start) = text.find("adts:") else { return Vec::new() };
    let chunk = &text[start..];
    let tree = parse_entry(chunk);
    let mut found = Vec::new();
    let used = |word: &str| if has_word(entries, word) { Verdict::Wrong } else { Verdict::Open };
    let sites = sites(&tree);
    for site in &sites {
        let mut add = |operator: &'static str, verdict, edit: Range<usize>, replacement: String| {
            found.push(Mutant {
                operator,
                verdict,
                path: format!("adts.{}", site.path.join(".")),
                edit: edit.start + start..edit.end + start,
                replacement,
                construct: [site.whole(), site.parent.clone()].map(|r| r.start + start..r.end + start).to_vec(),
            });
        };
        let key = site.key.map(|key| span(key.range)).filter(|_| !site.path.is_empty());
        let name = site.path.last().cloned().unwrap_or_default();
        let declares = site.is("*") || site.is("*.sum.*") || site.is("*.sum.*.fields.*");
        if let Some(key) = &key {
            match declares {
                true => add("rename what a type declares", used(&name), key.clone(), format!("{name}_q")),
                false => add("misspell a key of a type", Verdict::Wrong, key.end..key.end, "q".to_owned()),
            }
        }
        // The member is gone: what entries say of it has nothing to stand on.
        let parent = sites.iter().find(|s| site.path.split_last().is_some_and(|(_, rest)| rest == s.path));
        if let Some(parent) = parent {
            let siblings = sites.iter().filter(|s| s.path.len() == site.path.len() && s.path.starts_with(&parent.path));
            let position = siblings.take_while(|s| s.path != site.path).count();
            if let Some((edit, replacement)) = removal(parent.node, position, chunk) {
                let verdict = match name.as_str() {
                    "sum" | "type" => Verdict::Wrong,
                    _ if declares => used(&name),
                    "fields" if has_word(entries, &site.path[2]) => Verdict::Wrong,
                    _ => Verdict::Open,
                };
                add("drop a member of a type", verdict, edit, replacement.to_owned());
            }
        }
        let inner = site.inner();
        let is_kind = site.is("*.sum.*.fields.*") || site.is("*.sum.*.fields.*.type");
        if is_kind && site.node.as_scalar().is_some() {
            let field = site.path[4].clone();
            add("a kind that is none", Verdict::Wrong, span(site.node.range), "Dimm".to_owned());
            for kind in ["Bool", "Dim"].into_iter().filter(|kind| *kind != &chunk[inner.clone()]) {
                add("another kind of a field", used(&field), span(site.node.range), kind.to_owned());
            }
            for token in tokens(chunk, inner.clone()).into_iter().filter(|token| token.kind == TokenKind::Text) {
                let literal = token.text.trim_matches('\'').to_owned();
                let at = token.range;
                add("a literal twice", Verdict::Wrong, inner.end..inner.end, format!(" | {}", &chunk[at.clone()]));
                add("rename a literal of a field", used(&literal), at.end - 1..at.end - 1, "_q".to_owned());
            }
        }
        if site.is("*.sum.*.invariant") {
            let whole = span(site.node.range);
            if let Some(token) = tokens(chunk, inner.clone()).into_iter().find(|token| token.kind == TokenKind::Name) {
                let end = token.range.end;
                add("misspell a name of an invariant", Verdict::Wrong, end..end, "_q".to_owned());
                let text = format!("\"{} + 1\"", token.text);
                add("an invariant that is no condition", Verdict::Wrong, whole.clone(), text);
            }
            add("an invariant that is no condition", Verdict::Wrong, whole.clone(), "12".to_owned());
            add("an invariant that is no expression", Verdict::Wrong, whole, "\"(\"".to_owned());
            let text = format!("not ({})", &chunk[inner.clone()]);
            add("turn an invariant around", Verdict::Open, inner.clone(), text);
        }
        if site.is("*.sum.*.python") || site.is("*.sum.*.fields.*.python") {
            for text in ["torch.class", "plain", "12"] {
                add("a Python name that is none", Verdict::Wrong, span(site.node.range), text.to_owned());
            }
        }
    }
    found
}

/// The errors of the mutated types and of the entries that name a type, and whether one is placed.
pub(crate) fn judge(
    manifest: &Workspace,
    mutant: &Mutant,
    make: fn(&Workspace, Arc<str>) -> Workspace,
) -> (Vec<Defect>, bool) {
    let Some(file) = manifest.files().iter().find(|file| &*file.path == FILE) else { return (Vec::new(), false) };
    let mut text = file.text.to_string();
    text.replace_range(mutant.edit.clone(), &mutant.replacement);
    let mutated = make(manifest, text.into());
    let mut errors = Vec::new();
    let mut placed = false;
    let names: Vec<&str> = mutant.path.split('.').skip(1).filter(|part| *part != "sum" && *part != "fields").collect();
    for entry in mutated.entries() {
        let text = mutated.entry_text(entry);
        if !names.first().is_some_and(|name| has_word(text, name)) {
            continue;
        }
        for defect in mutated.analyze(entry).findings.defects {
            if defect.code.severity == Severity::Error {
                let at = text.get(span(defect.range)).unwrap_or_default();
                placed |= names.iter().any(|name| has_word(at, name) || has_word(&defect.message, name));
                errors.push(defect);
            }
        }
    }
    let own: Vec<SourceFile> = mutated.files().iter().filter(|file| &*file.path == FILE).cloned().collect();
    for file in Workspace::new(own).finish(Vec::new()).files {
        for located in file.defects.into_iter().filter(|located| located.defect.code.severity == Severity::Error) {
            placed |= crate::is_placed(&located.defect, mutant);
            errors.push(located.defect);
        }
    }
    (errors, placed)
}
