//! The inputs, and every memoised computation. A file that is open is memoised down to its entries' facts; of one that is
//! not, nothing is kept but what others see of it and what was found in it.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::analysis::{EntryAnalysis, EntryContext, ParsedEntry, judge, parse};
use crate::defect::Findings;
use crate::lang::{Adt, AdtTable};
use crate::model::is_builtin_type;
use crate::roofline::Formulas;
use crate::syntax::{EntryTree, parse_entry};
use crate::text::TextRange;
use crate::workspace::{
    self, FileKind, FileOutline, FileReport, OpIndex, Summary, Types, across_files, folder, is_types_file, within_file,
};

/// What the queries run on.
#[salsa::db]
pub(super) trait Db: salsa::Database {}

/// A file.
#[salsa::input]
pub(super) struct Source {
    /// Its path, with `/`.
    #[returns(clone)]
    pub(super) path: Arc<str>,
    /// Its text.
    #[returns(clone)]
    pub(super) text: Arc<str>,
    /// Whether it is part of a manifest by its place; if not, its content decides.
    #[returns(copy)]
    pub(super) configured: bool,
    /// Whether someone has it open: it is edited then, and looked into.
    #[returns(copy)]
    pub(super) open: bool,
}

/// The set of files.
#[salsa::input]
pub(super) struct Project {
    /// The files of each folder, in the order of their paths.
    #[returns(ref)]
    pub(super) folders: BTreeMap<Arc<str>, Vec<Source>>,
    /// What is known of the functions that rooflines can name.
    #[returns(clone)]
    pub(super) formulas: Arc<Formulas>,
}

/// A folder: one manifest.
#[salsa::interned]
pub(super) struct Folder<'db> {
    /// Its path.
    #[returns(clone)]
    path: Arc<str>,
}

/// An entry of a file that is open, known by its text alone: where it stands is not part of it.
#[salsa::interned]
pub(super) struct EntryText<'db> {
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

/// What is kept of an entry whose file is not open.
#[derive(Debug)]
pub(super) struct Verdict {
    summary: Summary,
    findings: Findings,
    comments: Vec<TextRange>,
}

// ---- files

/// The manifest that a file belongs to.
pub(super) fn folder_of(db: &dyn Db, source: Source) -> Folder<'_> {
    Folder::new(db, Arc::from(folder(&source.path(db))))
}

/// What a file is, and where its entries are.
#[salsa::tracked(returns(clone))]
pub(super) fn file_outline(db: &dyn Db, source: Source) -> Arc<FileOutline> {
    Arc::new(workspace::outline(&source.path(db), &source.text(db), source.configured(db)))
}

/// What a file is.
#[salsa::tracked(returns(copy))]
pub(super) fn file_kind(db: &dyn Db, source: Source) -> FileKind {
    file_outline(db, source).kind
}

/// The names that a file's entries have, in order: nothing, where one cannot be read.
#[salsa::tracked(returns(clone))]
pub(super) fn file_names(db: &dyn Db, source: Source) -> Arc<[Arc<str>]> {
    let outline = file_outline(db, source);
    if outline.kind != FileKind::Manifest {
        return Arc::default();
    }
    outline.chunks.iter().map(workspace::entry_name).collect()
}

/// The entries of an open manifest file. Moving them gives the same ones.
#[salsa::tracked(returns(ref))]
pub(super) fn file_entries<'db>(db: &'db dyn Db, source: Source) -> Vec<EntryText<'db>> {
    // The text is read first: what is interned then lives as long as the text does.
    let text = source.text(db);
    let outline = file_outline(db, source);
    if outline.kind != FileKind::Manifest || !source.open(db) {
        return Vec::new();
    }
    let folder = folder_of(db, source);
    let chunk = |range| Arc::from(workspace::slice(&text, range).unwrap_or(""));
    outline.chunks.iter().map(|c| EntryText::new(db, folder, chunk(c.range))).collect()
}

// ---- folders

/// The files of a folder, in the order of their paths.
#[salsa::tracked(returns(ref))]
pub(super) fn folder_sources<'db>(db: &'db dyn Db, project: Project, of: Folder<'db>) -> Vec<Source> {
    project.folders(db).get(&of.path(db)).cloned().unwrap_or_default()
}

/// Those that are open.
#[salsa::tracked(returns(ref))]
fn open_sources<'db>(db: &'db dyn Db, project: Project, folder: Folder<'db>) -> Vec<Source> {
    folder_sources(db, project, folder).iter().copied().filter(|source| source.open(db)).collect()
}

/// Those that are not.
fn closed_sources<'db>(db: &'db dyn Db, project: Project, folder: Folder<'db>) -> impl Iterator<Item = Source> {
    folder_sources(db, project, folder).iter().copied().filter(|source| !source.open(db))
}

/// The types file of a folder.
#[salsa::tracked(returns(copy))]
pub(super) fn types_source<'db>(db: &'db dyn Db, project: Project, folder: Folder<'db>) -> Option<Source> {
    // What other files hold is not asked: it may change with every keystroke.
    let mut named =
        folder_sources(db, project, folder).iter().copied().filter(|source| is_types_file(&source.path(db)));
    named.find(|&source| file_kind(db, source) == FileKind::Types)
}

/// What a types file declares.
#[salsa::tracked(returns(clone))]
pub(super) fn file_types(db: &dyn Db, source: Source) -> Arc<Types> {
    Arc::new(workspace::types(&source.text(db), &file_outline(db, source)))
}

/// Every ADT of a folder, wherever they stand.
#[salsa::tracked(returns(clone))]
pub(super) fn folder_adts<'db>(db: &'db dyn Db, project: Project, folder: Folder<'db>) -> Arc<AdtTable> {
    Arc::new(match types_source(db, project, folder) {
        Some(source) => file_types(db, source).table.clone(),
        None => AdtTable::new(Vec::new(), true),
    })
}

/// One ADT of a folder.
#[salsa::tracked(returns(clone))]
fn adt<'db>(db: &'db dyn Db, project: Project, folder: Folder<'db>, name: TypeName<'db>) -> Option<Arc<Adt>> {
    folder_adts(db, project, folder).get(&name.name(db)).cloned()
}

/// Whether every ADT of a folder could be read.
#[salsa::tracked(returns(copy))]
fn types_are_complete<'db>(db: &'db dyn Db, project: Project, folder: Folder<'db>) -> bool {
    folder_adts(db, project, folder).complete
}

/// The ADTs that a verdict depends on, of an entry that names `types`: those that it names; all of them where it names a
/// type that nothing declares, as the message then lists them.
fn named_adts<'db>(db: &'db dyn Db, project: Project, folder: Folder<'db>, types: &[Arc<str>]) -> AdtTable {
    let mut adts = Vec::new();
    for name in types {
        match adt(db, project, folder, TypeName::new(db, name.clone())) {
            Some(adt) => adts.push(adt),
            None if is_builtin_type(name) => {}
            None => return (*folder_adts(db, project, folder)).clone(),
        }
    }
    AdtTable::new(adts, types_are_complete(db, project, folder))
}

/// The ops that the files of a folder declare which are not open: an edit does not touch them.
#[salsa::tracked(returns(clone))]
fn closed_ops<'db>(db: &'db dyn Db, project: Project, folder: Folder<'db>) -> Arc<OpIndex> {
    let mut ops = OpIndex::default();
    for source in closed_sources(db, project, folder) {
        file_names(db, source).iter().for_each(|name| ops.declare(name));
    }
    Arc::new(ops)
}

/// The ops of a folder.
#[salsa::tracked(returns(clone))]
pub(super) fn folder_ops<'db>(db: &'db dyn Db, project: Project, folder: Folder<'db>) -> Arc<OpIndex> {
    let mut ops = OpIndex::over(closed_ops(db, project, folder));
    for &source in open_sources(db, project, folder) {
        file_names(db, source).iter().for_each(|name| ops.declare(name));
    }
    Arc::new(ops)
}

/// Where ops are declared: a file's path, the file, and the position of the entry in it, in that order.
type Declarations = BTreeMap<Arc<str>, Vec<(Arc<str>, Source, usize)>>;

fn declare(db: &dyn Db, source: Source, declarations: &mut Declarations) {
    for (position, name) in file_names(db, source).iter().enumerate() {
        declarations.entry(name.clone()).or_default().push((source.path(db), source, position));
    }
}

/// The same for the files that are not open.
#[salsa::tracked(returns(ref), no_eq)]
fn closed_declarations<'db>(db: &'db dyn Db, project: Project, folder: Folder<'db>) -> Declarations {
    let mut declarations = Declarations::new();
    closed_sources(db, project, folder).for_each(|source| declare(db, source, &mut declarations));
    declarations
}

/// The same for the files that are open.
#[salsa::tracked(returns(ref), no_eq)]
fn open_declarations<'db>(db: &'db dyn Db, project: Project, folder: Folder<'db>) -> Declarations {
    let mut declarations = Declarations::new();
    open_sources(db, project, folder).iter().for_each(|&source| declare(db, source, &mut declarations));
    declarations
}

/// Where `name` is declared for the `nth` time, from zero: the file, and the position of the entry in it.
pub(super) fn declaration<'db>(
    db: &'db dyn Db,
    project: Project,
    folder: Folder<'db>,
    name: &str,
    nth: usize,
) -> Option<(Source, usize)> {
    let closed = closed_declarations(db, project, folder).get(name);
    let mut all: Vec<_> = closed.into_iter().flatten().collect();
    all.extend(open_declarations(db, project, folder).get(name).into_iter().flatten());
    all.sort_by(|(a, _, i), (b, _, j)| (a, i).cmp(&(b, j)));
    all.get(nth).map(|&&(_, source, position)| (source, position))
}

/// How many declarations of `name` stand before the entry at `position` of `source`.
fn earlier<'db>(
    db: &'db dyn Db,
    project: Project,
    folder: Folder<'db>,
    (source, position): (Source, usize),
    name: &str,
) -> u32 {
    let own = (source.path(db), position);
    let before = |declarations: &Declarations| {
        let all = declarations.get(name).map_or(&[][..], |all| all);
        all.partition_point(|(path, _, position)| (path, position) < (&own.0, &own.1))
    };
    let count = before(closed_declarations(db, project, folder)) + before(open_declarations(db, project, folder));
    u32::try_from(count).unwrap_or(u32::MAX)
}

// ---- entries

/// An entry's facts.
#[salsa::tracked(returns(clone), no_eq)]
fn parsed<'db>(db: &'db dyn Db, entry: EntryText<'db>) -> Arc<ParsedEntry> {
    Arc::new(parse(&entry.text(db)))
}

/// An entry's spanned tree, for the editor: only the trees that were looked at last are kept.
#[salsa::tracked(returns(clone), no_eq, lru = 256)]
pub(super) fn entry_tree<'db>(db: &'db dyn Db, entry: EntryText<'db>) -> Arc<EntryTree> {
    Arc::new(parse_entry(&entry.text(db)))
}

/// What other entries see of one.
#[salsa::tracked(returns(clone))]
pub(super) fn summary<'db>(db: &'db dyn Db, entry: EntryText<'db>) -> Arc<Summary> {
    Arc::new(Summary::of(&parsed(db, entry).entry))
}

/// The ADTs that an entry's verdict depends on.
#[salsa::tracked(returns(clone))]
fn entry_adts<'db>(db: &'db dyn Db, project: Project, entry: EntryText<'db>) -> Arc<AdtTable> {
    Arc::new(named_adts(db, project, entry.folder(db), &summary(db, entry).types))
}

/// Everything that is found about an entry on its own.
#[salsa::tracked(returns(clone), no_eq)]
pub(super) fn entry_analysis<'db>(db: &'db dyn Db, project: Project, entry: EntryText<'db>) -> Arc<EntryAnalysis> {
    let parsed = parsed(db, entry);
    let adts = entry_adts(db, project, entry);
    let formulas = project.formulas(db);
    Arc::new(judge(&parsed, &EntryContext { adts: &adts, formulas: &formulas }))
}

/// The same of an entry in a file that is not open. It is not kept.
pub(super) fn closed_analysis(
    db: &dyn Db,
    project: Project,
    source: Source,
    position: usize,
) -> Option<(EntryAnalysis, Summary)> {
    let range = file_outline(db, source).chunks.get(position)?.range;
    let parsed = parse(workspace::slice(&source.text(db), range)?);
    let summary = Summary::of(&parsed.entry);
    let adts = named_adts(db, project, folder_of(db, source), &summary.types);
    let formulas = project.formulas(db);
    Some((judge(&parsed, &EntryContext { adts: &adts, formulas: &formulas }), summary))
}

/// What is found about an entry in a file that is not open.
#[salsa::tracked(returns(clone), no_eq)]
pub(super) fn closed_entry(db: &dyn Db, project: Project, source: Source, position: usize) -> Option<Arc<Verdict>> {
    let (analysis, summary) = closed_analysis(db, project, source, position)?;
    Some(Arc::new(Verdict { summary, findings: analysis.findings, comments: analysis.comments }))
}

/// Shows what other entries see of each of a file's.
pub(super) fn each_summary(db: &dyn Db, project: Project, source: Source, mut see: impl FnMut(&Summary)) {
    for &entry in file_entries(db, source) {
        see(&summary(db, entry));
    }
    if !source.open(db) {
        let verdicts = (0..file_names(db, source).len()).filter_map(|at| closed_entry(db, project, source, at));
        verdicts.for_each(|verdict| see(&verdict.summary));
    }
}

// ---- what is found in a file

/// What is found in an open file.
#[salsa::tracked(returns(clone), no_eq)]
pub(super) fn open_report(db: &dyn Db, project: Project, source: Source) -> Arc<FileReport> {
    let entries = file_entries(db, source);
    let analyses: Vec<_> = entries.iter().map(|&entry| entry_analysis(db, project, entry)).collect();
    let summaries: Vec<_> = entries.iter().map(|&entry| summary(db, entry)).collect();
    let summaries: Vec<&Summary> = summaries.iter().map(|summary| &**summary).collect();
    let found = analyses.iter().map(|analysis| (&analysis.findings, &*analysis.comments));
    Arc::new(report(db, project, source, &summaries, found))
}

/// What is found in a file that is not open. It is put together from what is kept of its entries.
pub(super) fn closed_report(db: &dyn Db, project: Project, source: Source) -> FileReport {
    let count = file_names(db, source).len();
    // Each of these positions has an entry.
    let verdicts: Vec<_> = (0..count).filter_map(|position| closed_entry(db, project, source, position)).collect();
    let summaries: Vec<&Summary> = verdicts.iter().map(|verdict| &verdict.summary).collect();
    let found = verdicts.iter().map(|verdict| (&verdict.findings, &*verdict.comments));
    report(db, project, source, &summaries, found)
}

fn report<'f>(
    db: &dyn Db,
    project: Project,
    source: Source,
    summaries: &[&Summary],
    found: impl Iterator<Item = (&'f Findings, &'f [TextRange])>,
) -> FileReport {
    let path = source.path(db);
    let outline = file_outline(db, source);
    let folder = folder_of(db, source);
    let is_types = outline.kind == FileKind::Types && types_source(db, project, folder) == Some(source);
    let types = is_types.then(|| file_types(db, source));
    let mut cross = vec![Findings::default(); summaries.len()];
    if !summaries.is_empty() {
        let ops = folder_ops(db, project, folder);
        let names = file_names(db, source);
        for (position, ((summary, name), found)) in summaries.iter().zip(&*names).zip(&mut cross).enumerate() {
            let is_repeated = ops.declarations(name) > 1;
            let nth = if is_repeated { earlier(db, project, folder, (source, position), name) } else { 0 };
            across_files(summary, nth, &ops, found);
        }
        within_file(&path, summaries, &mut cross);
    }
    let judged = found.zip(cross).map(|((findings, comments), cross)| (findings, comments, cross));
    FileReport::assemble(path, &outline, types.as_deref(), judged)
}
