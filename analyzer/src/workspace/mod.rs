//! Several files as one manifest: what each file is, and the judgments that span entries.
//!
//! Files in one folder are one manifest. Nothing here reads a file system: a file is its path and its text.
//!
//! [`Workspace`] is the batch: it is built once, its entries are analyzed on any threads in any order, and
//! [`Workspace::finish`] merges the results in a total order. The language server keeps the same pure functions
//! memoised in [`crate::db`].

mod across;
mod file;
#[cfg(test)]
mod tests;
mod ties;

use std::collections::BTreeMap;
use std::sync::Arc;

use rustc_hash::FxHashMap;

pub use across::{OpIndex, Summary, across_files, within_file};
pub use file::{FileKind, FileOutline, Types, folder, is_types_file, outline, types};
pub(crate) use file::{entry_name, key_range, slice, stem};
pub use ties::{TieIndex, Ties, Touched};

use crate::analysis::{EntryAnalysis, EntryContext, analyze_entry};
use crate::defect::{Defect, Findings, Place, Unreached};
use crate::lang::AdtTable;
use crate::roofline::Formulas;
use crate::text::{TextRange, TextSize};

/// A file, as it is given to the analyzer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceFile {
    /// Its path, with `/`. Files with the same folder are one manifest.
    pub path: Arc<str>,
    /// Its text.
    pub text: Arc<str>,
    /// Whether it is part of a manifest by its place; if not, its content decides.
    pub configured: bool,
    /// Whether it is judged. A file that is not is there for what the others name.
    pub judged: bool,
}

/// One entry of a workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntryRef {
    /// The position of its file in [`Workspace::files`].
    pub file: usize,
    /// Its key, where it has one that can be read.
    pub name: Option<Arc<str>>,
    /// Its characters in the file.
    pub range: TextRange,
}

/// A set of files, cut and ready to be analyzed.
#[derive(Debug)]
pub struct Workspace {
    files: Vec<SourceFile>,
    outlines: Vec<FileOutline>,
    types: BTreeMap<Arc<str>, (usize, Types)>,
    entries: Vec<EntryRef>,
    /// Folder, then op, to the positions of its entries; looked up, never iterated.
    declarations: FxHashMap<Arc<str>, FxHashMap<Arc<str>, Vec<usize>>>,
    none: AdtTable,
    formulas: Formulas,
}

/// A defect and the entry that it is in.
#[derive(Debug, Clone, PartialEq)]
pub struct Located {
    /// The name of the entry; nothing for a defect of the file.
    pub entry: Option<Arc<str>>,
    /// The defect, in file offsets.
    pub defect: Defect,
}

/// What is known of one file after analysis. All ranges are in file offsets.
#[derive(Debug, Clone, PartialEq)]
pub struct FileReport {
    /// Its path.
    pub path: Arc<str>,
    /// What it is.
    pub kind: FileKind,
    /// Its defects, in their total order.
    pub defects: Vec<Located>,
    /// What could not be judged, each with its entry, in order.
    pub unreached: Vec<(Option<Arc<str>>, Unreached)>,
    /// Its entries, in order: name and extent.
    pub entries: Vec<(Option<Arc<str>>, TextRange)>,
    /// Its comments, each with its `#`, in order; those before the first entry are not among them.
    pub comments: Vec<TextRange>,
}

/// What is known of all files.
#[derive(Debug)]
pub struct Report {
    /// The files that are judged, in the order of their paths.
    pub files: Vec<FileReport>,
    /// Every entry's analysis, in the order of [`Workspace::entries`].
    pub analyses: Vec<EntryAnalysis>,
}

impl Workspace {
    /// Cuts `files` and reads their types. Of two files with the same path the first stands.
    pub fn new(mut files: Vec<SourceFile>) -> Self {
        files.sort_by(|a, b| a.path.cmp(&b.path));
        files.dedup_by(|later, first| later.path == first.path);
        let outlines: Vec<FileOutline> =
            files.iter().map(|file| outline(&file.path, &file.text, file.configured)).collect();
        Workspace::assemble(files, outlines)
    }

    /// The same from outlines that were made elsewhere, on several threads perhaps: `outlines[i]` is [`outline`] of
    /// `files[i]`. Files are in the order of their paths, no path twice.
    pub fn assemble(files: Vec<SourceFile>, outlines: Vec<FileOutline>) -> Self {
        let mut entries: Vec<EntryRef> = Vec::new();
        let mut read = BTreeMap::new();
        for (position, (file, outline)) in files.iter().zip(&outlines).enumerate() {
            match outline.kind {
                FileKind::Manifest => entries.extend(outline.chunks.iter().map(|chunk| EntryRef {
                    file: position,
                    name: chunk.key.as_deref().map(Arc::from),
                    range: chunk.range,
                })),
                FileKind::Types => {
                    // `types.yaml` sorts before `types.yml`, and stands.
                    read.entry(Arc::from(folder(&file.path))).or_insert_with(|| (position, types(&file.text, outline)));
                }
                FileKind::Profile | FileKind::Skipped(_) => {}
            }
        }
        let mut declarations: FxHashMap<Arc<str>, FxHashMap<Arc<str>, Vec<usize>>> = FxHashMap::default();
        for (position, entry) in entries.iter().enumerate() {
            let (Some(name), Some(file)) = (&entry.name, files.get(entry.file)) else { continue };
            let folder = declarations.entry(Arc::from(folder(&file.path))).or_default();
            folder.entry(name.clone()).or_default().push(position);
        }
        let none = AdtTable::new(Vec::new(), true);
        let formulas = Formulas::default();
        Workspace { files, outlines, types: read, entries, declarations, none, formulas }
    }

    /// With what is known of the functions that rooflines can name.
    #[must_use]
    pub fn with_formulas(mut self, formulas: Formulas) -> Self {
        self.formulas = formulas;
        self
    }

    /// What is known of the functions that rooflines can name.
    pub fn formulas(&self) -> &Formulas {
        &self.formulas
    }

    /// The files, in the order of their paths.
    pub fn files(&self) -> &[SourceFile] {
        &self.files
    }

    /// What the file at `position` is.
    pub fn kind(&self, position: usize) -> Option<FileKind> {
        self.outlines.get(position).map(|outline| outline.kind)
    }

    /// Every entry, file by file.
    pub fn entries(&self) -> &[EntryRef] {
        &self.entries
    }

    /// The text of an entry.
    pub fn entry_text(&self, entry: &EntryRef) -> &str {
        self.files.get(entry.file).and_then(|file| file::slice(&file.text, entry.range)).unwrap_or("")
    }

    /// The ADTs that the entries of the file at `position` can name.
    pub fn adts(&self, position: usize) -> &AdtTable {
        let folder = self.files.get(position).map_or("", |file| folder(&file.path));
        self.types.get(folder).map_or(&self.none, |(_, types)| &types.table)
    }

    /// Analyzes one entry. Any thread may analyze any entry.
    pub fn analyze(&self, entry: &EntryRef) -> EntryAnalysis {
        analyze_entry(self.entry_text(entry), &EntryContext { adts: self.adts(entry.file), formulas: &self.formulas })
    }

    /// Where a place that a defect in `file` names stands: a file and characters of it.
    pub fn locate(&self, file: usize, place: &Place) -> Option<(usize, TextRange)> {
        let folder = folder(&self.files.get(file)?.path);
        match place {
            Place::Here(range) => Some((file, *range)),
            Place::Adt(name) => {
                let (position, types) = self.types.get(folder)?;
                let (_, range) = types.places.iter().find(|(adt, _)| **adt == **name)?;
                Some((*position, *range))
            }
            Place::Op(name, nth) => {
                let &position = self.declarations.get(folder)?.get(name.as_str())?.get(*nth as usize)?;
                let entry = self.entries.get(position)?;
                let text = &self.files.get(entry.file)?.text;
                Some((entry.file, file::key_range(entry.name.as_deref(), entry.range, text)))
            }
        }
    }

    /// Merges the analyses of all entries, `analyses[i]` being that of `entries()[i]`, with the judgments that span
    /// entries and files.
    pub fn finish(&self, analyses: Vec<EntryAnalysis>) -> Report {
        let summaries: Vec<Summary> = analyses.iter().map(|analysis| Summary::of(&analysis.entry)).collect();
        let mut cross: Vec<Findings> = vec![Findings::default(); self.entries.len()];

        let names: Vec<Arc<str>> = self.entries.iter().map(|entry| entry.name.clone().unwrap_or_default()).collect();
        let mut by_folder: BTreeMap<&str, OpIndex> = BTreeMap::new();
        for (entry, name) in self.entries.iter().zip(&names) {
            let Some(file) = self.files.get(entry.file) else { continue };
            by_folder.entry(folder(&file.path)).or_default().declare(name);
        }
        let mut seen: BTreeMap<&str, BTreeMap<&str, u32>> = BTreeMap::new();
        for (((entry, name), summary), found) in self.entries.iter().zip(&names).zip(&summaries).zip(&mut cross) {
            let Some(file) = self.files.get(entry.file) else { continue };
            let folder = folder(&file.path);
            let Some(index) = by_folder.get(folder) else { continue };
            let nth = seen.entry(folder).or_default().entry(name).or_default();
            across_files(summary, *nth, index, found);
            // Entries whose names cannot be read do not repeat each other.
            *nth += u32::from(!name.is_empty());
        }
        let mut start = 0;
        while let Some(first) = self.entries.get(start) {
            let count = self.entries[start..].iter().take_while(|entry| entry.file == first.file).count();
            let path = self.files.get(first.file).map_or("", |file| &*file.path);
            let summaries: Vec<&Summary> = summaries[start..start + count].iter().collect();
            within_file(path, &summaries, &mut cross[start..start + count]);
            start += count;
        }

        let mut reports: Vec<FileReport> = Vec::new();
        let mut next = 0;
        let mut cross = cross.into_iter();
        for (position, (file, outline)) in self.files.iter().zip(&self.outlines).enumerate() {
            let first = next;
            next += self.entries[first..].iter().take_while(|entry| entry.file == position).count();
            let judged = analyses.iter().take(next).skip(first).zip(cross.by_ref().take(next - first));
            if file.judged {
                let types = self.types.values().find(|(p, _)| *p == position).map(|(_, types)| types);
                let found = judged.map(|(analysis, cross)| (&analysis.findings, &*analysis.comments, cross));
                reports.push(FileReport::assemble(file.path.clone(), outline, types, found));
            } else {
                judged.for_each(drop);
            }
        }
        Report { files: reports, analyses }
    }
}

impl FileReport {
    /// Puts together what was found in a file: what its outline and its types say, and, for each of its entries in
    /// order, what was found in it, its comments, and what the judgments across entries found in it.
    pub(crate) fn assemble<'a>(
        path: Arc<str>,
        outline: &FileOutline,
        types: Option<&Types>,
        entries: impl Iterator<Item = (&'a Findings, &'a [TextRange], Findings)>,
    ) -> Self {
        let mut report = FileReport {
            path,
            kind: outline.kind,
            defects: Vec::new(),
            unreached: Vec::new(),
            entries: Vec::new(),
            comments: Vec::new(),
        };
        report.take(None, outline.findings.clone());
        if let Some(types) = types {
            report.take(None, types.findings.clone());
            report.comments.extend(&types.comments);
        }
        for (chunk, (findings, comments, cross)) in outline.chunks.iter().zip(entries) {
            let start = chunk.range.start();
            let name: Option<Arc<str>> = chunk.key.as_deref().map(Arc::from);
            let mut findings = findings.clone();
            findings.append(cross);
            findings.normalize();
            rebase(&mut findings, start);
            report.take(name.clone(), findings);
            report.entries.push((name, chunk.range));
            report.comments.extend(comments.iter().map(|&comment| comment + start));
        }
        report.sort();
        report
    }

    /// Takes over findings in file offsets.
    fn take(&mut self, entry: Option<Arc<str>>, findings: Findings) {
        self.defects.extend(findings.defects.into_iter().map(|defect| Located { entry: entry.clone(), defect }));
        self.unreached.extend(findings.unreached.into_iter().map(|unreached| (entry.clone(), unreached)));
    }

    /// Puts defects and unreached judgments in the order of their places. Those of one entry are in order already, and
    /// a stable sort keeps what stands at one place in it.
    fn sort(&mut self) {
        self.defects.sort_by_key(|located| (located.defect.range.start(), located.defect.range.end()));
        self.unreached.sort_by_key(|(_, unreached)| (unreached.range.start(), unreached.range.end()));
    }
}

/// Turns offsets that are relative to an entry into offsets of the file that has the entry at `start`.
pub fn rebase(findings: &mut Findings, start: TextSize) {
    for defect in &mut findings.defects {
        defect.range += start;
        if let Some(instead) = &mut defect.instead {
            instead.range += start;
        }
        for related in &mut defect.related {
            if let Place::Here(range) = &mut related.place {
                *range += start;
            }
        }
    }
    for unreached in &mut findings.unreached {
        unreached.range += start;
    }
}
