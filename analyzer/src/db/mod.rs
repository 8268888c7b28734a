//! The analysis of a manifest, memoised: what an edit did not touch is not done again.
//!
//! The inputs are the files' texts. A file is cut at its top-level keys, and an entry is known by its own text, so
//!
//! - an edit inside an entry re-does that entry only, and undoing it re-does nothing;
//! - an edit that only moves entries re-analyzes none of them;
//! - a changed ADT re-judges only the entries that name it;
//! - what spans entries reads their [`workspace::Summary`]s only;
//! - of a file that is not open, only what was found in it is kept, and an edit of another looks at none of it.
//!
//! Every computation is a pure function that lives elsewhere and knows nothing of this file.

mod queries;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;

use salsa::{Durability, Setter};

use self::queries::{
    Db, Folder, Project, Source, closed_analysis, closed_report, declaration, each_summary, entry_analysis, entry_tree,
    file_entries, file_kind, file_names, file_outline, file_types, folder_adts, folder_ops, open_report, types_source,
};
use crate::analysis::EntryAnalysis;
use crate::defect::Place;
use crate::lang::AdtTable;
use crate::model::is_builtin_type;
use crate::roofline::{FormulaPlace, Formulas};
use crate::syntax::{EntryTree, parse_entry};
use crate::text::{TextRange, TextSize};
use crate::workspace::{self, FileKind, FileOutline, FileReport, OpIndex, Ties, Types, folder};

/// A file, as it is given to the database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileText {
    /// Its path, with `/`.
    pub path: Arc<str>,
    /// Its text.
    pub text: Arc<str>,
    /// Whether it is part of a manifest by its place; if not, its content decides.
    pub configured: bool,
    /// Whether someone has it open: what is known of its entries is kept then, and what other files have costs its edits
    /// nothing.
    pub open: bool,
}

/// The memoised analysis of a set of files. A clone is a snapshot for another thread.
#[salsa::db]
#[derive(Clone)]
pub struct AnalysisDb {
    storage: salsa::Storage<Self>,
    files: Arc<BTreeMap<Arc<str>, Source>>,
    project: Option<Project>,
    formulas: Arc<Formulas>,
    /// Where formulas are defined, by name. No judgment reads it: a function that moves re-judges nothing.
    formula_places: Arc<BTreeMap<String, FormulaPlace>>,
}

#[salsa::db]
impl salsa::Database for AnalysisDb {}

#[salsa::db]
impl Db for AnalysisDb {}

/// Runs `action`, which asks a snapshot. Gives nothing where a newer text has made the snapshot stale meanwhile, or where
/// another thread was computing what this one waited for and came to no end: by a newer text, too, or by a panic, which
/// that thread has. A panic in `action` remains one.
pub fn unless_stale<T>(action: impl FnOnce() -> T) -> Option<T> {
    // What was being computed when it was cancelled is not looked at again.
    salsa::Cancelled::catch(std::panic::AssertUnwindSafe(action)).ok()
}

impl Default for AnalysisDb {
    fn default() -> Self {
        AnalysisDb::new(None)
    }
}

impl AnalysisDb {
    /// A database without files. `on_event` is told what salsa does: what it executes, what it reuses.
    pub fn new(on_event: Option<Box<dyn Fn(salsa::Event) + Send + Sync + 'static>>) -> Self {
        let formulas = Arc::new(Formulas::default());
        let formula_places = Arc::default();
        AnalysisDb {
            storage: salsa::Storage::new(on_event),
            files: Arc::default(),
            project: None,
            formulas,
            formula_places,
        }
    }

    /// Sets the text of a file that is open, and adds the file where it is new. Snapshots that are in use are cancelled.
    pub fn set_file(&mut self, path: &str, text: &str, configured: bool) {
        self.set_files([FileText { path: Arc::from(path), text: Arc::from(text), configured, open: true }]);
    }

    /// Sets many files at once.
    pub fn set_files(&mut self, files: impl IntoIterator<Item = FileText>) {
        let mut added = false;
        for FileText { path, text, configured, open } in files {
            let durability = durability(open);
            let Some(&source) = self.files.get(&path) else {
                let new = Source::builder(path.clone(), text, configured, open).durability(Durability::MEDIUM);
                let source = new.text_durability(durability).new(self);
                Arc::make_mut(&mut self.files).insert(path, source);
                added = true;
                continue;
            };
            if source.open(self) != open {
                source.set_open(self).with_durability(Durability::MEDIUM).to(open);
                source.set_text(self).with_durability(durability).to(text);
            } else if *source.text(self) != *text {
                source.set_text(self).with_durability(durability).to(text);
            }
            if source.configured(self) != configured {
                source.set_configured(self).with_durability(Durability::MEDIUM).to(configured);
            }
        }
        if added {
            self.update_project();
        }
    }

    /// Sets what is known of the functions that rooflines can name. Snapshots that are in use are cancelled.
    pub fn set_formulas(&mut self, formulas: Formulas) {
        if *self.formulas == formulas {
            return;
        }
        self.formulas = Arc::new(formulas);
        if let Some(project) = self.project {
            let formulas = self.formulas.clone();
            project.set_formulas(self).with_durability(Durability::MEDIUM).to(formulas);
        }
    }

    /// Sets where the functions are defined that rooflines can name.
    pub fn set_formula_places(&mut self, places: BTreeMap<String, FormulaPlace>) {
        self.formula_places = Arc::new(places);
    }

    /// Where the function with a path is defined: `tileops.perf.formulas.gqa`.
    pub fn formula_place(&self, path: &str) -> Option<&FormulaPlace> {
        let name = path.strip_prefix(self.formulas.package.as_str())?.strip_prefix('.')?;
        self.formula_places.get(name)
    }

    /// Forgets a file.
    pub fn remove_file(&mut self, path: &str) {
        let Some(source) = Arc::make_mut(&mut self.files).remove(path) else { return };
        // An input is never dropped; its text can be.
        source.set_text(self).with_durability(Durability::MEDIUM).to(Arc::from(""));
        self.update_project();
    }

    fn update_project(&mut self) {
        let mut folders: BTreeMap<Arc<str>, Vec<Source>> = BTreeMap::new();
        for (path, &source) in &*self.files {
            match folders.get_mut(folder(path)) {
                Some(sources) => sources.push(source),
                None => drop(folders.insert(folder(path).into(), vec![source])),
            }
        }
        match self.project {
            Some(project) => {
                project.set_folders(self).with_durability(Durability::MEDIUM).to(folders);
            }
            None => {
                let formulas = self.formulas.clone();
                self.project = Some(Project::builder(folders, formulas).durability(Durability::MEDIUM).new(self));
            }
        }
    }

    /// The paths of all files, in order.
    pub fn paths(&self) -> impl Iterator<Item = &Arc<str>> {
        self.files.keys()
    }

    /// The text of a file.
    pub fn text(&self, path: &str) -> Option<Arc<str>> {
        self.files.get(path).map(|source| source.text(self))
    }

    /// What a file is.
    pub fn kind(&self, path: &str) -> Option<FileKind> {
        self.files.get(path).map(|&source| file_kind(self, source))
    }

    /// Everything that is found in a file.
    pub fn report(&self, path: &str) -> Option<Arc<FileReport>> {
        let (project, source) = (self.project?, *self.files.get(path)?);
        Some(match source.open(self) {
            true => open_report(self, project, source),
            false => Arc::new(closed_report(self, project, source)),
        })
    }

    /// What ties a file to the others of its manifest.
    pub fn ties(&self, path: &str) -> Option<Ties> {
        let (report, outline) = (self.report(path)?, self.outline(path)?);
        let (project, source) = (self.project?, *self.files.get(path)?);
        let mut ties = Ties::default();
        let text = source.text(self);
        for (name, chunk) in file_names(self, source).iter().zip(&outline.chunks) {
            let range = workspace::key_range(chunk.key.as_deref(), chunk.range, &text);
            ties.declares.entry(name.clone()).or_default().push(range);
        }
        each_summary(self, project, source, |summary| {
            ties.runs.extend(summary.stages.iter().map(|(op, _)| op.value.clone()));
            ties.types.extend(summary.types.iter().filter(|name| !is_builtin_type(name)).cloned());
        });
        let places = report.defects.iter().flat_map(|located| &located.defect.related);
        ties.places.extend(places.filter_map(|related| match &related.place {
            Place::Adt(name) => Some(Arc::from(name.as_str())),
            Place::Here(_) | Place::Op(..) => None,
        }));
        Some(ties)
    }

    /// The types file of the manifest that a file belongs to, and what it declares.
    pub fn types_file(&self, path: &str) -> Option<(Arc<str>, Arc<Types>)> {
        let source = types_source(self, self.project?, Folder::new(self, Arc::from(folder(path))))?;
        Some((source.path(self), file_types(self, source)))
    }

    /// The analysis of the entry that `offset` of a file falls in, and where the entry stands.
    pub fn entry_at(&self, path: &str, offset: TextSize) -> Option<(Arc<EntryAnalysis>, TextRange)> {
        let outline = self.outline(path)?;
        let position = outline.chunks.partition_point(|chunk| chunk.range.start() <= offset).checked_sub(1)?;
        Some((self.entry(path, position)?, outline.chunks.get(position)?.range))
    }

    /// The analyses of a file's entries, in order, each with where it stands.
    pub fn entries(&self, path: &str) -> Vec<(Arc<EntryAnalysis>, TextRange)> {
        let Some(outline) = self.outline(path) else { return Vec::new() };
        let chunks = outline.chunks.iter().enumerate();
        chunks.filter_map(|(position, chunk)| Some((self.entry(path, position)?, chunk.range))).collect()
    }

    /// A file cut at its top-level keys.
    pub fn outline(&self, path: &str) -> Option<Arc<FileOutline>> {
        self.files.get(path).map(|&source| file_outline(self, source))
    }

    /// The spanned trees of a file's chunks, in order, each with where it stands.
    pub fn trees(&self, path: &str) -> Vec<(Arc<EntryTree>, TextRange)> {
        let Some(outline) = self.outline(path) else { return Vec::new() };
        (0..outline.chunks.len()).filter_map(|position| self.tree(path, position)).collect()
    }

    /// The spanned tree of a file's chunk, and where it stands.
    pub fn tree(&self, path: &str, position: usize) -> Option<(Arc<EntryTree>, TextRange)> {
        let &source = self.files.get(path)?;
        let range = file_outline(self, source).chunks.get(position)?.range;
        let tree = match file_entries(self, source).get(position) {
            Some(&entry) => entry_tree(self, entry),
            None => Arc::new(parse_entry(workspace::slice(&source.text(self), range)?)),
        };
        Some((tree, range))
    }

    /// The analysis of the entry at a position of a file. That of a file which is not open is made each time.
    pub fn entry(&self, path: &str, position: usize) -> Option<Arc<EntryAnalysis>> {
        let (project, source) = (self.project?, *self.files.get(path)?);
        if source.open(self) {
            return Some(entry_analysis(self, project, *file_entries(self, source).get(position)?));
        }
        if file_kind(self, source) != FileKind::Manifest {
            return None;
        }
        closed_analysis(self, project, source, position).map(|(analysis, _)| Arc::new(analysis))
    }

    /// The files of the manifest that a file belongs to, in the order of their paths.
    pub fn siblings(&self, path: &str) -> Vec<Arc<str>> {
        let Some(project) = self.project else { return Vec::new() };
        project.folders(self).get(folder(path)).into_iter().flatten().map(|source| source.path(self)).collect()
    }

    /// What is known of the functions that rooflines can name.
    pub fn formulas(&self) -> &Formulas {
        &self.formulas
    }

    /// The ADTs that the entries of a file can name.
    pub fn adts(&self, path: &str) -> AdtTable {
        let folder = Folder::new(self, Arc::from(folder(path)));
        let none = || AdtTable::new(Vec::new(), true);
        self.project.map_or_else(none, |project| (*folder_adts(self, project, folder)).clone())
    }

    /// The ops of the manifest that a file belongs to.
    pub(crate) fn op_index(&self, path: &str) -> OpIndex {
        let Some(project) = self.project else { return OpIndex::default() };
        let folder = Folder::new(self, Arc::from(folder(path)));
        (*folder_ops(self, project, folder)).clone()
    }

    /// The names of the ops of the manifest that a file belongs to, in alphabetical order.
    pub fn ops(&self, path: &str) -> Vec<String> {
        let Some(project) = self.project else { return Vec::new() };
        let folder = Folder::new(self, Arc::from(folder(path)));
        folder_ops(self, project, folder).names().map(str::to_owned).collect()
    }

    /// Where a place that a defect in the file at `path` names stands: a file and characters of it.
    pub fn locate(&self, path: &str, place: &Place) -> Option<(Arc<str>, TextRange)> {
        let (own, _) = self.files.get_key_value(path)?;
        let project = self.project?;
        let folder = Folder::new(self, Arc::from(folder(path)));
        match place {
            Place::Here(range) => Some((own.clone(), *range)),
            Place::Adt(name) => {
                let source = types_source(self, project, folder)?;
                let types = file_types(self, source);
                let (_, range) = types.places.iter().find(|(adt, _)| **adt == **name)?;
                Some((source.path(self), *range))
            }
            Place::Op(name, nth) => {
                let (source, position) = declaration(self, project, folder, name, *nth as usize)?;
                let outline = file_outline(self, source);
                let chunk = outline.chunks.get(position)?;
                let range = workspace::key_range(chunk.key.as_deref(), chunk.range, &source.text(self));
                Some((source.path(self), range))
            }
        }
    }
}

/// How often a text changes: one that is open, with every keystroke.
fn durability(open: bool) -> Durability {
    if open { Durability::LOW } else { Durability::MEDIUM }
}
