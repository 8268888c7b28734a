//! What comes of accepting a completion, anywhere in our own manifest.

#![allow(clippy::disallowed_methods)]

use tileops_analyzer::db::AnalysisDb;
use tileops_analyzer::defect::Severity;
use tileops_analyzer::ide::{Completion, completions};
use tileops_analyzer::syntax::{EntryTree, Node, NodeKind};
use tileops_analyzer::text::{TextRange, TextSize};

/// The text of an item, and the ranges of what a snippet leaves to be written over.
fn accepted(item: &Completion) -> (String, Vec<TextRange>, bool) {
    let Some(snippet) = &item.snippet else { return (item.edit.text.clone(), Vec::new(), false) };
    let (mut text, mut holes, mut open_end) = (String::new(), Vec::new(), false);
    let mut rest = snippet.as_str();
    while let Some(c) = rest.chars().next() {
        rest = &rest[c.len_utf8()..];
        match c {
            '\\' => {
                let escaped = rest.chars().next().expect("something is escaped");
                text.push(escaped);
                rest = &rest[escaped.len_utf8()..];
            }
            '$' if rest.starts_with('{') => {
                let from = rest.find(':').expect("a placeholder") + 1;
                let start = text.len();
                rest = &rest[from..];
                loop {
                    let c = rest.chars().next().expect("a placeholder ends");
                    rest = &rest[c.len_utf8()..];
                    match c {
                        '}' => break,
                        '\\' => {
                            let escaped = rest.chars().next().expect("something is escaped");
                            text.push(escaped);
                            rest = &rest[escaped.len_utf8()..];
                        }
                        c => text.push(c),
                    }
                }
                holes.push(TextRange::new(TextSize::new(start as u32), TextSize::of(&*text)));
            }
            '$' => {
                rest = rest.strip_prefix('0').expect("the end of a snippet");
                open_end = true;
            }
            c => text.push(c),
        }
    }
    (text, holes, open_end)
}

/// The key or the value that `offset` of an entry stands in.
fn innermost(tree: &EntryTree, offset: TextSize) -> TextRange {
    let mut node = &tree.value;
    loop {
        let touches = |node: &&Node| node.range.contains_inclusive(offset);
        let next = match &node.kind {
            NodeKind::Mapping(pairs) => {
                if let Some(key) = pairs.iter().map(|pair| &pair.key).find(touches) {
                    return key.range;
                }
                pairs.iter().map(|pair| &pair.value).find(touches)
            }
            NodeKind::Sequence(items) => items.iter().find(touches),
            NodeKind::Scalar(_) | NodeKind::Unreadable => None,
        };
        match next {
            Some(inner) => node = inner,
            None => return node.range,
        }
    }
}

/// The codes of the errors inside the key or the value that `offset` stands in, but for those inside `holes`.
fn errors(db: &AnalysisDb, path: &str, offset: TextSize, holes: &[TextRange]) -> Vec<&'static str> {
    let Some((analysis, entry)) = db.entry_at(path, offset) else { return Vec::new() };
    let Some((tree, _)) = db.trees(path).into_iter().find(|(_, range)| *range == entry) else { return Vec::new() };
    let whole = innermost(&tree, offset - entry.start());
    let mut found: Vec<&'static str> = analysis
        .findings
        .defects
        .iter()
        .filter(|defect| defect.code.severity == Severity::Error && whole.contains_range(defect.range))
        .filter(|defect| !holes.iter().any(|hole| hole.contains_range(defect.range + entry.start())))
        .map(|defect| defect.code.name)
        .collect();
    found.sort_unstable();
    found
}

/// The words of a manifest outside its comments.
fn words(text: &str) -> Vec<TextRange> {
    let mut found = Vec::new();
    let mut line_start = 0;
    for line in text.split_inclusive('\n') {
        let end = line.find(" #").or(line.starts_with('#').then_some(0)).unwrap_or(line.len());
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let mut start = None;
        for (at, c) in line[..end].char_indices().chain([(end, ' ')]) {
            match (is_word(c), start) {
                (true, None) => start = Some(at),
                (false, Some(from)) => {
                    if line[from..].starts_with(|c: char| c.is_ascii_alphabetic()) {
                        let size = |at: usize| TextSize::new((line_start + at) as u32);
                        found.push(TextRange::new(size(from), size(at)));
                    }
                    start = None;
                }
                _ => {}
            }
        }
        line_start += line.len();
    }
    found
}

fn manifest() -> Vec<(String, String)> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../manifest");
    let mut files: Vec<(String, String)> = std::fs::read_dir(folder)
        .expect("the manifest")
        .map(|item| item.expect("a file").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "yaml"))
        .map(|path| {
            let name = path.file_name().expect("a name").to_string_lossy().into_owned();
            (format!("m/{name}"), std::fs::read_to_string(path).expect("a text"))
        })
        .collect();
    files.sort();
    files
}

/// Of a manifest in which a word is missing, every item that is offered in its place is one that the checker takes there:
/// the key or the value that it stands in has no error that it has not while the word is missing. What a snippet leaves to
/// be written over does not count. What follows from the choice elsewhere (an index that nothing uses any more, a row that
/// no longer fits) is another matter. And the word itself is offered, where anything is.
#[test]
fn an_accepted_completion_brings_no_error_and_what_was_there_is_offered() {
    // Positions and items are sampled evenly; these give some hundred positions and a few thousand items.
    let every: usize = std::env::var("TILEOPS_COMPLETIONS_EVERY").ok().and_then(|n| n.parse().ok()).unwrap_or(71);
    const MOST_ITEMS: usize = 12;
    let files = manifest();
    let mut db = AnalysisDb::default();
    for (path, text) in &files {
        db.set_file(path, text, true);
    }
    let mut faults: Vec<String> = Vec::new();
    let mut missing: Vec<String> = Vec::new();
    let (mut positions, mut items, mut nth) = (0, 0, 0);
    for (path, text) in &files {
        for word in words(text) {
            nth += 1;
            if nth % every != 0 {
                continue;
            }
            let range = std::ops::Range::<usize>::from(word);
            let mut without = text.clone();
            without.replace_range(range.clone(), "");
            db.set_file(path, &without, true);
            let found = completions(&db, path, word.start());
            if found.is_empty() {
                continue;
            }
            positions += 1;
            let before = errors(&db, path, word.start(), &[]);
            let line = text[..range.start].matches('\n').count() + 1;
            let was = &text[range.clone()];
            let place = format!("{path}:{line} `{was}`");
            if !found.iter().any(|item| item.label.trim_matches('\'') == was || item.edit.text.contains(was)) {
                missing
                    .push(format!("{place}: {:?}", found.iter().map(|item| &item.label).take(8).collect::<Vec<_>>()));
            }
            let step = found.len().div_ceil(MOST_ITEMS);
            for item in found.iter().step_by(step) {
                items += 1;
                let (inserted, holes, open_end) = accepted(item);
                let mut after = without.clone();
                after.replace_range(std::ops::Range::<usize>::from(item.edit.range), &inserted);
                db.set_file(path, &after, true);
                let holes: Vec<TextRange> = holes.into_iter().map(|hole| hole + item.edit.range.start()).collect();
                let at = item.edit.range.start() + TextSize::new(u32::from(!inserted.is_empty()));
                let mut now = errors(&db, path, at, &holes);
                now.retain(|code| !before.contains(code));
                // The rest of it is still to be written.
                now.retain(|code| !(open_end && ["wrong-form", "missing-key"].contains(code)));
                if !now.is_empty() {
                    faults.push(format!("{place}: `{inserted}` brings {now:?}"));
                }
            }
        }
        db.set_file(path, text, true);
    }
    let told = |what: &str, found: &[String]| format!("{} {what}:\n{}\n", found.len(), found.join("\n"));
    assert!(
        faults.is_empty() && missing.is_empty(),
        "{items} items at {positions} positions\n{}{}",
        told("bring an error", &faults),
        told("words are not offered where they stood", &missing)
    );
    assert!(positions > 20 && items > 200, "{positions} positions, {items} items");
}
