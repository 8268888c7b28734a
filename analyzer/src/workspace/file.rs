//! One file: what it is, where its entries are, what it declares.

use std::sync::Arc;

use crate::check::{Inference, Position, Scope, Symbol, SymbolRole, judge_invariant};
use crate::defect::Findings;
use crate::lang::{Adt, AdtTable};
use crate::model::{is_profile, key_at, profile_key, profile_keys, read_types};
use crate::syntax::{Chunk, Cut, NodeKind, cut, parse_entry};
use crate::text::{TextRange, TextSize};

/// What a file is to a manifest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// A mapping from op names to entries.
    Manifest,
    /// `types.yaml`: the ADTs that the entries beside it share.
    Types,
    /// A GPU profile.
    Profile,
    /// Not part of a manifest, for the reason given. It is left alone.
    Skipped(&'static str),
}

/// A file cut at its top-level keys, and what it is.
#[derive(Debug, Clone, PartialEq)]
pub struct FileOutline {
    /// What it is.
    pub kind: FileKind,
    /// Its chunks, in order.
    pub chunks: Vec<Chunk>,
    /// The defects of the file as a whole, in file offsets; none for a file that is left alone.
    pub findings: Findings,
}

/// Cuts a file and says what it is. A `configured` file is part of the manifest by its place; any other by its content: a
/// mapping of which a value has a `signature`, or a `types.yaml` with `adts`. A GPU profile is known by its keys.
pub fn outline(path: &str, text: &str, configured: bool) -> FileOutline {
    let Cut { chunks, mut findings, .. } = cut(text);
    let kind = if is_types_file(path) {
        if configured || chunks.iter().any(|chunk| chunk.key.as_deref() == Some("adts")) {
            FileKind::Types
        } else {
            FileKind::Skipped("it has no `adts`")
        }
    } else if is_profile(chunks.iter().filter_map(|chunk| chunk.key.as_deref())) {
        judge_profile(text, &chunks, &mut findings);
        findings.normalize();
        return FileOutline { kind: FileKind::Profile, chunks: Vec::new(), findings };
    } else if configured || has_signature(text, &chunks) {
        FileKind::Manifest
    } else {
        FileKind::Skipped("no entry in it has a `signature`")
    };
    if let FileKind::Skipped(_) = kind {
        return FileOutline { kind, chunks: Vec::new(), findings: Findings::default() };
    }
    findings.normalize();
    FileOutline { kind, chunks, findings }
}

/// Judges a GPU profile: all that is found is of the file as a whole.
fn judge_profile(text: &str, chunks: &[Chunk], findings: &mut Findings) {
    let mut keys = Vec::new();
    let mut is_complete = findings.defects.is_empty();
    for chunk in chunks {
        let mut tree = parse_entry(slice(text, chunk.range).unwrap_or(""));
        let mut found = Findings::default();
        profile_key(&tree, &mut found);
        match key_at(&tree, chunk.range.start()) {
            Some(key) => keys.push(key),
            None => is_complete = false,
        }
        // A chunk's paths begin below its key.
        if let Some(key) = chunk.key.as_deref() {
            for defect in &mut tree.findings.defects {
                let dot = if defect.path.is_empty() { "" } else { "." };
                defect.path = format!("{key}{dot}{}", defect.path);
            }
        }
        found.append(std::mem::take(&mut tree.findings));
        super::rebase(&mut found, chunk.range.start());
        findings.append(found);
    }
    profile_keys(&keys, is_complete, findings);
}

/// Whether a file declares types, going by its name.
pub fn is_types_file(path: &str) -> bool {
    matches!(file_name(path), "types.yaml" | "types.yml")
}

/// The name that an entry is declared under, by its chunk; an empty one where it cannot be read. That the entry is broken
/// further down takes it from nobody.
pub(crate) fn entry_name(chunk: &Chunk) -> Arc<str> {
    chunk.key.as_deref().unwrap_or("").into()
}

/// The part of a path behind its last separator.
pub(crate) fn file_name(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().unwrap_or(path)
}

/// The part of a path before its last separator: the manifest that the file belongs to.
pub fn folder(path: &str) -> &str {
    path.strip_suffix(file_name(path)).map_or("", |folder| folder.trim_end_matches(['/', '\\']))
}

/// A file's name without its extension.
pub(crate) fn stem(path: &str) -> &str {
    let name = file_name(path);
    name.rsplit_once('.').map_or(name, |(stem, _)| stem)
}

/// Whether one of the chunks is an entry with a `signature`.
fn has_signature(text: &str, chunks: &[Chunk]) -> bool {
    chunks.iter().any(|chunk| {
        let Some(text) = slice(text, chunk.range) else { return false };
        // Most entries say so on a line of their own, at the depth of the entry's first key.
        text.contains("signature") && (is_block_key(text) || is_parsed_key(text))
    })
}

fn is_block_key(chunk: &str) -> bool {
    let mut lines = chunk.split(['\n', '\r']).filter(|line| is_content(line)).skip(1);
    let depth = |line: &str| line.len() - line.trim_start_matches(' ').len();
    let Some(first) = lines.next() else { return false };
    let is_signature = |line: &str| {
        depth(line) == depth(first)
            && line.trim_start().strip_prefix("signature").is_some_and(|rest| rest.starts_with(':'))
    };
    depth(first) > 0 && (is_signature(first) || lines.any(is_signature))
}

/// Whether a line has anything besides space and a comment.
fn is_content(line: &str) -> bool {
    let content = line.trim_start();
    !content.is_empty() && !content.starts_with('#')
}

/// Where the key of a chunk stands, for a chunk that is not parsed: behind the comments above it.
pub(crate) fn key_range(key: Option<&str>, range: TextRange, text: &str) -> TextRange {
    let text = slice(text, range).unwrap_or("");
    let mut start = 0;
    for line in text.split_inclusive(['\n', '\r']) {
        if is_content(line) {
            start += line.len() - line.trim_start().len();
            break;
        }
        start += line.len();
    }
    let length = key.map_or(0, str::len).min(text.len().saturating_sub(start));
    // A chunk is shorter than its file, whose length fits 32 bits.
    let offset = |at: usize| TextSize::try_from(at).unwrap_or_default();
    TextRange::at(range.start() + offset(start), offset(length))
}

fn is_parsed_key(chunk: &str) -> bool {
    match parse_entry(chunk).value.kind {
        NodeKind::Mapping(pairs) => pairs.iter().any(|pair| pair.key.as_str() == Some("signature")),
        NodeKind::Scalar(_) | NodeKind::Sequence(_) | NodeKind::Unreadable => false,
    }
}

/// The characters of `text` in `range`. A range of a chunk lies in its text; any other gives nothing.
pub(crate) fn slice(text: &str, range: TextRange) -> Option<&str> {
    text.get(usize::from(range.start())..usize::from(range.end()))
}

/// The ADTs of a types file.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Types {
    /// The types that could be read; `complete` where all could.
    pub table: AdtTable,
    /// Each type's name and where it stands in the file.
    pub places: Vec<(Arc<str>, TextRange)>,
    /// The defects of the file's types, in file offsets, and the key that each stands under.
    pub findings: Findings,
    /// Its comments in file offsets, each with its `#`, in order.
    pub comments: Vec<TextRange>,
}

/// Reads the ADTs of a types file that was cut into `chunks`.
pub fn types(text: &str, outline: &FileOutline) -> Types {
    let mut adts: Vec<Arc<Adt>> = Vec::new();
    let mut found = Types::default();
    let mut complete = outline.findings.defects.is_empty();
    for chunk in &outline.chunks {
        let Some(text) = slice(text, chunk.range) else { continue };
        let mut tree = parse_entry(text);
        let mut findings = Findings::default();
        let read = read_types(chunk, &tree, &mut findings);
        for adt in read.table.iter() {
            let name = read.names.iter().find(|name| name.value == adt.name);
            check_invariants(adt, name.map_or(TextSize::new(0), |name| name.range.start()), &mut findings);
        }
        findings.append(std::mem::take(&mut tree.findings));
        super::rebase(&mut findings, chunk.range.start());
        found.findings.append(findings);
        found.comments.extend(tree.comments.iter().map(|&comment| comment + chunk.range.start()));
        found.places.extend(read.names.into_iter().map(|name| (name.value, name.range + chunk.range.start())));
        complete &= read.table.complete;
        adts.extend(read.table.iter().cloned());
    }
    found.table = AdtTable::new(adts, complete);
    found.findings.normalize();
    found
}

/// Judges the invariants of an ADT: each reads the fields of its own constructor. The ADT's name stands at `start`.
fn check_invariants(adt: &Adt, start: TextSize, findings: &mut Findings) {
    for constructor in &adt.constructors {
        let Some(invariant) = &constructor.invariant else { continue };
        let fields = constructor.fields.iter().map(|field| Symbol {
            name: field.name.clone(),
            role: SymbolRole::Param,
            kind: field.kind.clone(),
            range: TextRange::default(),
        });
        let scope = Scope::new(fields.collect(), true);
        let path = format!("adts.{}.sum.{}.invariant", adt.name, constructor.name);
        let mut found = Findings::default();
        Inference::new(&scope, Position::Refinement, &path, &mut found).condition(invariant, "an invariant");
        if found.defects.is_empty() {
            judge_invariant(invariant, &path, &constructor.name, &mut found);
        }
        super::rebase(&mut found, start);
        findings.append(found);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn paths_fall_into_folder_and_stem() {
        assert_eq!((folder("a/b/c.yaml"), stem("a/b/c.yaml")), ("a/b", "c"));
        assert_eq!((folder("c.yaml"), stem("c.yaml")), ("", "c"));
        assert_eq!((folder(""), stem("")), ("", ""));
    }

    proptest! {
        /// Where the cut of a file and an entry itself both give its name, they give the same.
        #[test]
        fn a_name_is_read_from_the_cut_as_from_the_entry(
            pieces in prop::collection::vec(
                prop::sample::select(vec![
                    "AFwdOp", "B", ":", ": ", "\n", "  ", "'", "\"", "\\x41", "? ", "- ", "[", "]", "{", "}", ",", "#", " # ",
                    "&a ", "*a", "!t ", "|", ">", "1", "yes", "~", "\t", "\r", "é", "---\n", "a: 1\n", "\nCOp:\n  x: 1\n",
                ]),
                0..24,
            )
        ) {
            let text = pieces.concat();
            for chunk in outline("m/demo.yaml", &text, true).chunks {
                let read = crate::analysis::parse(slice(&text, chunk.range).unwrap_or("")).entry.name.value;
                prop_assert!(read.is_empty() || chunk.key.is_none() || read == entry_name(&chunk), "{:?}", text);
            }
        }
    }
}
