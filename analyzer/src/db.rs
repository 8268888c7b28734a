//! The analysis of a manifest, memoised: what an edit did not touch is not done again.
//!
//! The inputs are the files' texts. A file is cut at its top-level keys, and an entry is known by its own text, so
//!
//! - an edit inside an entry re-does that entry only, and undoing it re-does nothing;
//! - an edit that only moves entries re-analyzes none of them;
//! - a changed ADT re-judges only the entries that name it;
//! - what spans entries reads their [`Summary`]s only.
//!
//! Every computation is a pure function that lives elsewhere and knows nothing of this file.

use std::collections::BTreeMap;
use std::sync::Arc;

use salsa::Setter;

use crate::analysis::{EntryAnalysis, EntryContext, ParsedEntry, judge, mentioned_types, parse};
use crate::defect::{Findings, Place};
use crate::lang::{Adt, AdtTable};
use crate::model::is_builtin_type;
use crate::roofline::{FormulaPlace, Formulas};
use crate::syntax::{EntryTree, parse_entry};
use crate::text::{TextRange, TextSize};
use crate::workspace::{
    self, FileKind, FileOutline, FileReport, OpIndex, Summary, Types, across_files, folder, within_file,
};

/// What the queries run on.
#[salsa::db]
trait Db: salsa::Database {}

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

/// A file.
#[salsa::input]
struct Source {
    /// Its path, with `/`.
    #[returns(clone)]
    path: Arc<str>,
    /// Its text.
    #[returns(clone)]
    text: Arc<str>,
    /// Whether it is part of a manifest by its place; if not, its content decides.
    #[returns(copy)]
    configured: bool,
}

/// The set of files.
#[salsa::input]
struct Project {
    /// The files, in the order of their paths.
    #[returns(ref)]
    sources: Vec<Source>,
    /// What is known of the functions that rooflines can name.
    #[returns(clone)]
    formulas: Arc<Formulas>,
}

/// A folder: one manifest.
#[salsa::interned]
struct Folder<'db> {
    /// Its path.
    #[returns(clone)]
    path: Arc<str>,
}

/// An entry, known by its text alone: where it stands is not part of it.
#[salsa::interned]
struct EntryText<'db> {
    /// The manifest that it belongs to.
    #[returns(copy)]
    folder: Folder<'db>,
    /// Its text.
    #[returns(clone)]
    text: Arc<str>,
}

/// The name of a type.
#[salsa::interned]
struct TypeName<'db> {
    /// The name.
    #[returns(clone)]
    name: Arc<str>,
}

/// What a file is, and where its entries are.
#[salsa::tracked(returns(clone))]
fn file_outline(db: &dyn Db, source: Source) -> Arc<FileOutline> {
    Arc::new(workspace::outline(&source.path(db), &source.text(db), source.configured(db)))
}

/// What a file is.
#[salsa::tracked(returns(copy))]
fn file_kind(db: &dyn Db, source: Source) -> FileKind {
    file_outline(db, source).kind
}

/// A manifest file's entries. Moving them gives the same ones.
#[salsa::tracked(returns(ref))]
fn file_entries<'db>(db: &'db dyn Db, source: Source) -> Vec<EntryText<'db>> {
    let outline = file_outline(db, source);
    if outline.kind != FileKind::Manifest {
        return Vec::new();
    }
    let folder = Folder::new(db, Arc::from(folder(&source.path(db))));
    let text = source.text(db);
    let chunk = |range| Arc::from(workspace::slice(&text, range).unwrap_or(""));
    outline.chunks.iter().map(|c| EntryText::new(db, folder, chunk(c.range))).collect()
}

/// An entry's facts.
#[salsa::tracked(returns(clone), no_eq)]
fn parsed<'db>(db: &'db dyn Db, entry: EntryText<'db>) -> Arc<ParsedEntry> {
    Arc::new(parse(&entry.text(db)))
}

/// An entry's spanned tree, for the editor: only the trees that were looked at last are kept.
#[salsa::tracked(returns(clone), no_eq, lru = 256)]
fn entry_tree<'db>(db: &'db dyn Db, entry: EntryText<'db>) -> Arc<EntryTree> {
    Arc::new(parse_entry(&entry.text(db)))
}

/// What other entries see of one.
#[salsa::tracked(returns(clone))]
fn summary<'db>(db: &'db dyn Db, entry: EntryText<'db>) -> Arc<Summary> {
    Arc::new(Summary::of(&parsed(db, entry).entry))
}

/// The files of a folder, in the order of their paths.
#[salsa::tracked(returns(ref))]
fn folder_sources<'db>(db: &'db dyn Db, project: Project, of: Folder<'db>) -> Vec<Source> {
    let path = of.path(db);
    project.sources(db).iter().copied().filter(|source| folder(&source.path(db)) == &*path).collect()
}

/// The types file of a folder.
#[salsa::tracked(returns(copy))]
fn types_source<'db>(db: &'db dyn Db, project: Project, folder: Folder<'db>) -> Option<Source> {
    folder_sources(db, project, folder).iter().copied().find(|&source| file_kind(db, source) == FileKind::Types)
}

/// What a types file declares.
#[salsa::tracked(returns(clone))]
fn file_types(db: &dyn Db, source: Source) -> Arc<Types> {
    Arc::new(workspace::types(&source.text(db), &file_outline(db, source)))
}

/// One ADT of a folder.
#[salsa::tracked(returns(clone))]
fn adt<'db>(db: &'db dyn Db, project: Project, folder: Folder<'db>, name: TypeName<'db>) -> Option<Arc<Adt>> {
    file_types(db, types_source(db, project, folder)?).table.get(&name.name(db)).cloned()
}

/// Whether every ADT of a folder could be read.
#[salsa::tracked(returns(copy))]
fn types_are_complete<'db>(db: &'db dyn Db, project: Project, folder: Folder<'db>) -> bool {
    types_source(db, project, folder).is_none_or(|source| file_types(db, source).table.complete)
}

/// The ADTs that an entry's verdict depends on: those that it names; all of them where it names a type that nothing
/// declares, as the message then lists them.
#[salsa::tracked(returns(clone))]
fn entry_adts<'db>(db: &'db dyn Db, project: Project, entry: EntryText<'db>) -> Arc<AdtTable> {
    let folder = entry.folder(db);
    let mut adts = Vec::new();
    for name in mentioned_types(&parsed(db, entry).entry) {
        match adt(db, project, folder, TypeName::new(db, name.clone())) {
            Some(adt) => adts.push(adt),
            None if is_builtin_type(&name) => {}
            None => {
                let all = types_source(db, project, folder).map(|source| file_types(db, source).table.clone());
                return Arc::new(all.unwrap_or_else(|| AdtTable::new(Vec::new(), true)));
            }
        }
    }
    Arc::new(AdtTable::new(adts, types_are_complete(db, project, folder)))
}

/// Everything that is found about an entry on its own.
#[salsa::tracked(returns(clone), no_eq)]
fn entry_analysis<'db>(db: &'db dyn Db, project: Project, entry: EntryText<'db>) -> Arc<EntryAnalysis> {
    let parsed = parsed(db, entry);
    let adts = entry_adts(db, project, entry);
    let formulas = project.formulas(db);
    Arc::new(judge(&parsed, &EntryContext { adts: &adts, formulas: &formulas }))
}

/// The ops of a folder.
#[salsa::tracked(returns(clone))]
fn folder_ops<'db>(db: &'db dyn Db, project: Project, folder: Folder<'db>) -> Arc<OpIndex> {
    let mut ops = OpIndex::default();
    for &source in folder_sources(db, project, folder) {
        for &entry in file_entries(db, source) {
            ops.declare(&summary(db, entry).name.value);
        }
    }
    Arc::new(ops)
}

/// How many declarations of `name` stand before entry `position` of `source`.
fn earlier_declarations<'db>(
    db: &'db dyn Db,
    project: Project,
    folder: Folder<'db>,
    source: Source,
    position: usize,
    name: &str,
) -> u32 {
    let mut count = 0;
    for &other in folder_sources(db, project, folder) {
        for (i, &entry) in file_entries(db, other).iter().enumerate() {
            if other == source && i == position {
                return count;
            }
            count += u32::from(*summary(db, entry).name.value == *name);
        }
    }
    count
}

/// Everything that is found in a file.
#[salsa::tracked(returns(clone), no_eq)]
fn file_report(db: &dyn Db, project: Project, source: Source) -> Arc<FileReport> {
    let path = source.path(db);
    let outline = file_outline(db, source);
    let folder = Folder::new(db, Arc::from(folder(&path)));
    let types = (types_source(db, project, folder) == Some(source)).then(|| file_types(db, source));

    let entries = file_entries(db, source);
    let analyses: Vec<Arc<EntryAnalysis>> = entries.iter().map(|&e| entry_analysis(db, project, e)).collect();
    let summaries: Vec<Summary> = entries.iter().map(|&entry| (*summary(db, entry)).clone()).collect();
    let mut cross = vec![Findings::default(); entries.len()];
    if !entries.is_empty() {
        let ops = folder_ops(db, project, folder);
        for (position, (summary, found)) in summaries.iter().zip(&mut cross).enumerate() {
            let name = &*summary.name.value;
            let nth = if ops.declarations(name) > 1 {
                earlier_declarations(db, project, folder, source, position, name)
            } else {
                0
            };
            across_files(summary, nth, &ops, found);
        }
        within_file(&path, &summaries, &mut cross);
    }
    let judged = analyses.iter().map(|analysis| &**analysis).zip(cross);
    Arc::new(FileReport::assemble(path, &outline, types.as_deref(), judged))
}

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

    /// Sets a file's text, and adds the file where it is new. Snapshots that are in use are cancelled.
    pub fn set_file(&mut self, path: &str, text: &str, configured: bool) {
        self.set_files([(Arc::from(path), Arc::from(text), configured)]);
    }

    /// Sets many files at once: path, text, and whether each is part of a manifest by its place.
    pub fn set_files(&mut self, files: impl IntoIterator<Item = (Arc<str>, Arc<str>, bool)>) {
        let mut added = false;
        for (path, text, configured) in files {
            let Some(&source) = self.files.get(&path) else {
                let source = Source::new(self, path.clone(), text, configured);
                Arc::make_mut(&mut self.files).insert(path, source);
                added = true;
                continue;
            };
            if *source.text(self) != *text {
                source.set_text(self).to(text);
            }
            if source.configured(self) != configured {
                source.set_configured(self).to(configured);
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
            project.set_formulas(self).to(formulas);
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
        source.set_text(self).to(Arc::from(""));
        self.update_project();
    }

    fn update_project(&mut self) {
        let sources: Vec<Source> = self.files.values().copied().collect();
        match self.project {
            Some(project) => {
                project.set_sources(self).to(sources);
            }
            None => {
                let formulas = self.formulas.clone();
                self.project = Some(Project::new(self, sources, formulas));
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
        Some(file_report(self, self.project?, *self.files.get(path)?))
    }

    /// The analysis of the entry that `offset` of a file falls in, and where the entry stands.
    pub fn entry_at(&self, path: &str, offset: TextSize) -> Option<(Arc<EntryAnalysis>, TextRange)> {
        let &source = self.files.get(path)?;
        let outline = file_outline(self, source);
        let chunks = &outline.chunks;
        let position = chunks.partition_point(|chunk| chunk.range.start() <= offset).checked_sub(1)?;
        let &entry = file_entries(self, source).get(position)?;
        Some((entry_analysis(self, self.project?, entry), chunks.get(position)?.range))
    }

    /// The analyses of a file's entries, in order, each with where it stands.
    pub fn entries(&self, path: &str) -> Vec<(Arc<EntryAnalysis>, TextRange)> {
        let (Some(project), Some(&source)) = (self.project, self.files.get(path)) else { return Vec::new() };
        let outline = file_outline(self, source);
        let entries = file_entries(self, source).iter();
        entries.zip(&outline.chunks).map(|(&e, chunk)| (entry_analysis(self, project, e), chunk.range)).collect()
    }

    /// A file cut at its top-level keys.
    pub fn outline(&self, path: &str) -> Option<Arc<FileOutline>> {
        self.files.get(path).map(|&source| file_outline(self, source))
    }

    /// The spanned trees of a file's chunks, in order, each with where it stands.
    pub fn trees(&self, path: &str) -> Vec<(Arc<EntryTree>, TextRange)> {
        let Some(&source) = self.files.get(path) else { return Vec::new() };
        let outline = file_outline(self, source);
        (0..outline.chunks.len()).filter_map(|position| self.tree(path, position)).collect()
    }

    /// The spanned tree of a file's chunk, and where it stands.
    pub fn tree(&self, path: &str, position: usize) -> Option<(Arc<EntryTree>, TextRange)> {
        let &source = self.files.get(path)?;
        let outline = file_outline(self, source);
        let range = outline.chunks.get(position)?.range;
        let tree = match file_entries(self, source).get(position) {
            Some(&entry) => entry_tree(self, entry),
            None => Arc::new(parse_entry(workspace::slice(&source.text(self), range)?)),
        };
        Some((tree, range))
    }

    /// The analysis of the entry at a position of a file.
    pub fn entry(&self, path: &str, position: usize) -> Option<Arc<EntryAnalysis>> {
        let &source = self.files.get(path)?;
        let &entry = file_entries(self, source).get(position)?;
        Some(entry_analysis(self, self.project?, entry))
    }

    /// The files of the manifest that a file belongs to, in the order of their paths.
    pub fn siblings(&self, path: &str) -> Vec<Arc<str>> {
        let own = folder(path);
        self.files.keys().filter(|other| folder(other) == own).cloned().collect()
    }

    /// What is known of the functions that rooflines can name.
    pub fn formulas(&self) -> &Formulas {
        &self.formulas
    }

    /// The ADTs that the entries of a file can name.
    pub fn adts(&self, path: &str) -> AdtTable {
        let types = || {
            let folder = Folder::new(self, Arc::from(folder(path)));
            Some(file_types(self, types_source(self, self.project?, folder)?).table.clone())
        };
        types().unwrap_or_else(|| AdtTable::new(Vec::new(), true))
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
                let mut left = *nth;
                for &source in folder_sources(self, project, folder) {
                    for (position, &entry) in file_entries(self, source).iter().enumerate() {
                        let summary = summary(self, entry);
                        if *summary.name.value != **name {
                            continue;
                        }
                        if left == 0 {
                            let start = file_outline(self, source).chunks.get(position)?.range.start();
                            return Some((source.path(self), summary.name.range + start));
                        }
                        left -= 1;
                    }
                }
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    /// A database, and what it executed since it was last asked.
    struct Watched {
        db: AnalysisDb,
        executed: Arc<Mutex<Vec<String>>>,
    }

    impl Watched {
        fn new(files: &[(&str, &str)]) -> Self {
            let executed: Arc<Mutex<Vec<String>>> = Arc::default();
            let log = executed.clone();
            let mut db = AnalysisDb::new(Some(Box::new(move |event: salsa::Event| {
                if let salsa::EventKind::WillExecute { database_key } = event.kind {
                    log.lock().expect("no test panics while it holds the lock").push(format!("{database_key:?}"));
                }
            })));
            for (path, text) in files {
                db.set_file(path, text, true);
            }
            let watched = Watched { db, executed };
            watched.check();
            watched.executed(""); // what the first check executed is of no interest
            watched
        }

        /// Reports on every file, and says how many defects there are.
        fn check(&self) -> usize {
            self.db.paths().filter_map(|path| self.db.report(path)).map(|report| report.defects.len()).sum()
        }

        /// How often the query was executed since this was last called.
        fn executed(&self, query: &str) -> usize {
            let mut log = self.executed.lock().expect("no test panics while it holds the lock");
            let count = log.iter().filter(|key| key.starts_with(query)).count();
            log.clear();
            count
        }

        fn analyses_after(&mut self, path: &str, text: &str) -> usize {
            self.db.set_file(path, text, true);
            self.check();
            self.executed("entry_analysis")
        }
    }

    fn entry(name: &str, ty: &str, flops: &str) -> String {
        format!(
            "{name}:\n  family: demo\n  status: spec-only\n  signature:\n    forall: {{M: Dim}}\n    params: {{p: {{type: {ty}}}}}\n    \
             inputs: {{x: {{dtype: float32, shape: \"[M]\"}}}}\n    outputs: {{y: {{dtype: float32, shape: \"[M]\"}}}}\n  \
             workloads:\n  - {{M: 4, p: 1, label: small}}\n  roofline: {{flops: \"{flops}\"}}\n"
        )
    }

    const TYPES: &str = "adts:\n  A: {sum: {one: {}, two: {fields: {n: Dim}}}}\n  B: {sum: {one: {}}}\n";

    #[test]
    fn an_edit_inside_an_entry_re_does_that_entry_only() {
        let files = ["AFwdOp", "BFwdOp", "CFwdOp"].map(|name| entry(name, "int", "M"));
        let mut db = Watched::new(&[("m/demo.yaml", &files.concat())]);
        let edited = format!("{}{}{}", files[0], entry("BFwdOp", "int", "2 * M"), files[2]);
        assert_eq!(db.analyses_after("m/demo.yaml", &edited), 1);
        // Undone, the entry is what it was: nothing is left to do.
        assert_eq!(db.analyses_after("m/demo.yaml", &files.concat()), 0);
    }

    #[test]
    fn an_edit_that_only_moves_entries_re_analyzes_none() {
        let files = ["AFwdOp", "BFwdOp"].map(|name| entry(name, "int", "M"));
        let mut db = Watched::new(&[("m/demo.yaml", &files.concat())]);
        assert_eq!(db.analyses_after("m/demo.yaml", &format!("# A comment.\n\n{}", files.concat())), 0);
        assert_eq!(db.analyses_after("m/demo.yaml", &format!("{}{}", files[1], files[0])), 0);
        let at = db.db.entries("m/demo.yaml");
        assert_eq!(&*at[0].0.entry.name.value, "BFwdOp");
    }

    #[test]
    fn another_file_costs_nothing() {
        let mut db = Watched::new(&[
            ("m/demo.yaml", &entry("AFwdOp", "int", "M")),
            ("m/demo_more.yaml", &entry("BFwdOp", "int", "M")),
        ]);
        assert_eq!(db.analyses_after("m/demo_third.yaml", &entry("CFwdOp", "int", "M")), 1);
    }

    #[test]
    fn a_changed_type_re_judges_only_the_entries_that_name_it() {
        let files = [("AFwdOp", "A"), ("BFwdOp", "B"), ("IFwdOp", "int")].map(|(name, ty)| entry(name, ty, "M"));
        let mut db = Watched::new(&[("m/types.yaml", TYPES), ("m/demo.yaml", &files.concat())]);
        assert_eq!(db.analyses_after("m/types.yaml", &TYPES.replace("n: Dim", "n: Bool")), 1);
        // Moving the types, or a change that no value can show, changes none.
        assert_eq!(db.analyses_after("m/types.yaml", &format!("# Types.\n{}", TYPES.replace("n: Dim", "n: Bool"))), 0);
    }

    #[test]
    fn a_duplicate_op_is_found_without_re_analysis() {
        let mut db = Watched::new(&[
            ("m/demo.yaml", &entry("AFwdOp", "int", "M")),
            ("m/demo_more.yaml", &entry("BFwdOp", "int", "M")),
        ]);
        let before = db.check();
        assert_eq!(db.analyses_after("m/demo_more.yaml", &entry("AFwdOp", "int", "M")), 0);
        assert_eq!(db.check(), before + 1);
        let place = db.db.locate("m/demo_more.yaml", &Place::Op("AFwdOp".to_owned(), 0));
        assert_eq!(place.map(|(path, _)| path).as_deref(), Some("m/demo.yaml"));
        db.db.remove_file("m/demo.yaml");
        assert_eq!(db.check(), 0);
    }

    #[test]
    fn the_memoised_report_is_the_batch_report() {
        let bad = entry("AFwdOp", "A", "M").replace("family: demo", "family: [demo]");
        let files = [
            ("m/types.yaml", TYPES.to_owned()),
            ("m/demo.yaml", format!("{bad}{}", entry("BFwdOp", "int", "M"))),
            ("m/demo_more.yaml", entry("BFwdOp", "B", "M").replace("family: demo", "family: other")),
            ("n/demo.yaml", "# nothing\n".to_owned()),
        ];
        let mut db = AnalysisDb::default();
        for (path, text) in &files {
            db.set_file(path, text, true);
        }
        let sources = files.iter().map(|(path, text)| workspace::SourceFile {
            path: (*path).into(),
            text: text.as_str().into(),
            configured: true,
            judged: true,
        });
        let batch = workspace::Workspace::new(sources.collect());
        let report = batch.finish(batch.entries().iter().map(|entry| batch.analyze(entry)).collect());
        for file in &report.files {
            assert_eq!(db.report(&file.path).as_deref(), Some(file));
        }
    }
}
