//! The workspace at one moment: what requests read. It does not change, and it says when it has become stale.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::Sender;

use tileops_analyzer::db::AnalysisDb;
use tileops_analyzer::defect::Code;
use tileops_analyzer::text::TextRange;
use tileops_analyzer::workspace::{FileKind, FileReport};
use tower_lsp::lsp_types::{Diagnostic, Url};

use super::convert;
use super::outbox::Outbox;
use super::positions::Positions;
use super::records::Records;
use super::requests::semantic_tokens::Sent;
use super::session::Session;
use super::settings::Settings;
use super::state::Message;
use super::uris;
use crate::config::Config;
use crate::findings::{self, Found, Reporting};
use crate::levels::Level;
use crate::source::Source;

/// A file that is known.
#[derive(Debug, Clone)]
pub(crate) struct File {
    /// Its address, as the client spells it where it has the file open.
    pub(crate) url: Url,
    /// Its text.
    pub(crate) source: Arc<Source>,
    /// The version, where the client has it open.
    pub(crate) version: Option<i32>,
    /// The root of its configuration: which project it is in.
    pub(crate) project: PathBuf,
    /// Whether it is part of a manifest by its place.
    pub(crate) configured: bool,
    /// What in it is not UTF-8.
    pub(crate) faults: Arc<[TextRange]>,
    /// Whether it is part of the workspace's manifests, and judged though it is not open.
    pub(crate) listed: bool,
}

impl File {
    /// Whether what is wrong with it is said.
    pub(crate) fn is_judged(&self) -> bool {
        self.listed || self.version.is_some()
    }
}

/// The files under one configuration.
#[derive(Clone)]
pub(crate) struct Project {
    pub(crate) config: Arc<Config>,
    pub(crate) db: AnalysisDb,
    /// What benchmarks recorded of its ops.
    pub(crate) records: Arc<Records>,
}

/// The files that are known, by their keys. Those that are open are kept apart: they change with every keystroke, and the
/// others need not be copied for that.
#[derive(Debug, Clone, Default)]
pub(crate) struct Files {
    open: Arc<BTreeMap<Arc<str>, File>>,
    closed: Arc<BTreeMap<Arc<str>, File>>,
}

impl Files {
    pub(crate) fn get(&self, key: &str) -> Option<&File> {
        self.open.get(key).or_else(|| self.closed.get(key))
    }

    pub(crate) fn contains_key(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    /// Adds or replaces a file.
    pub(crate) fn insert(&mut self, key: Arc<str>, file: File) {
        let (own, other) = match file.version {
            Some(_) => (&mut self.open, &mut self.closed),
            None => (&mut self.closed, &mut self.open),
        };
        if other.contains_key(&key) {
            Arc::make_mut(other).remove(&key);
        }
        Arc::make_mut(own).insert(key, file);
    }

    /// Changes what an open file holds.
    pub(crate) fn edit(&mut self, key: &str, version: i32, source: Arc<Source>) -> Option<&File> {
        let file = Arc::make_mut(&mut self.open).get_mut(key)?;
        (file.version, file.source) = (Some(version), source);
        Some(file)
    }

    /// Makes files part of the workspace's manifests.
    pub(crate) fn list(&mut self, keys: &BTreeSet<Arc<str>>) {
        for files in [&mut self.open, &mut self.closed] {
            for (key, file) in Arc::make_mut(files) {
                file.listed |= keys.contains(key);
            }
        }
    }

    pub(crate) fn remove(&mut self, key: &str) -> Option<File> {
        if self.open.contains_key(key) {
            return Arc::make_mut(&mut self.open).remove(key);
        }
        Arc::make_mut(&mut self.closed).remove(key)
    }

    /// Every file, those that are open first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&Arc<str>, &File)> {
        self.open.iter().chain(&*self.closed)
    }

    pub(crate) fn keys(&self) -> impl Iterator<Item = &Arc<str>> {
        self.iter().map(|(key, _)| key)
    }

    pub(crate) fn values(&self) -> impl Iterator<Item = &File> {
        self.iter().map(|(_, file)| file)
    }

    pub(crate) fn len(&self) -> usize {
        self.open.len() + self.closed.len()
    }
}

/// The workspace at one moment.
#[derive(Clone)]
pub(crate) struct Snapshot {
    pub(crate) session: Arc<Session>,
    pub(crate) settings: Arc<Settings>,
    pub(crate) files: Files,
    pub(crate) projects: BTreeMap<PathBuf, Project>,
    /// The folders of which some files are still to be read.
    pub(crate) partly_known: Arc<BTreeSet<PathBuf>>,
    pub(crate) outbox: Arc<Outbox>,
    /// The owner of the documents, who is told what has to change.
    pub(crate) owner: Sender<Message>,
    /// The tokens that the client has of each document.
    pub(crate) tokens: Arc<Sent>,
    /// Which moment it is.
    pub(crate) revision: u64,
    /// Which moment it has become meanwhile.
    pub(crate) latest: Arc<AtomicU64>,
}

impl Snapshot {
    /// Whether something has changed since.
    pub(crate) fn is_stale(&self) -> bool {
        self.latest.load(Ordering::Acquire) != self.revision
    }

    /// The file with an address, and its key.
    pub(crate) fn file(&self, uri: &Url) -> Option<(Arc<str>, &File)> {
        let key = uris::key(uri);
        let file = self.files.get(&key)?;
        Some((key, file))
    }

    /// The project that a file is in.
    pub(crate) fn project(&self, file: &File) -> Option<&Project> {
        self.projects.get(&file.project)
    }

    /// The analysis that a file is part of.
    pub(crate) fn db(&self, file: &File) -> Option<&AnalysisDb> {
        self.project(file).map(|project| &project.db)
    }

    /// What converts positions in a text.
    pub(crate) fn positions<'s>(&self, source: &'s Source) -> Positions<'s> {
        Positions { text: &source.text, lines: source.lines(), encoding: self.session.encoding }
    }

    /// What the analyzer found in a file.
    pub(crate) fn report(&self, key: &str) -> Option<Arc<FileReport>> {
        self.db(self.files.get(key)?)?.report(key)
    }

    /// What is wrong with a file, before the protocol; nothing for a file that is not judged.
    pub(crate) fn defects(&self, key: &str) -> Option<Vec<crate::diagnostic::Diagnostic>> {
        let (file, report) = (self.files.get(key)?, self.report(key)?);
        if !file.is_judged() || matches!(report.kind, FileKind::Skipped(_)) {
            return None;
        }
        Some(self.found(file, &report).diagnostics)
    }

    /// The levels of the codes in a file.
    pub(crate) fn level(&self, file: &File) -> Option<impl Fn(&'static Code) -> Level> {
        let project = self.projects.get(&file.project)?;
        let is_named = file.url.scheme() == "file";
        let is_partly_known = !self.partly_known.is_empty()
            && uris::path(&file.url)
                .is_some_and(|path| path.parent().is_some_and(|folder| self.partly_known.contains(folder)));
        // The project's own word goes before the editor's.
        Some(move |code: &'static Code| match code.name {
            // What has no name yet cannot have the wrong one.
            "family-file" if !is_named => Level::Ignore,
            // The op may stand in a file that is still to be read.
            "unknown-stage-op" if is_partly_known => Level::Ignore,
            _ => project.config.levels.level(&self.settings.codes, code),
        })
    }

    /// What is wrong with a file.
    pub(crate) fn diagnostics(&self, key: &str) -> Vec<Diagnostic> {
        let found = self.defects(key).unwrap_or_default();
        found.iter().map(|diagnostic| convert::diagnostic(self, diagnostic)).collect()
    }

    fn found(&self, file: &File, report: &FileReport) -> Found {
        let (Some(project), Some(level)) = (self.projects.get(&file.project), self.level(file)) else {
            return Found::default();
        };
        let reporting = Reporting {
            level: &level,
            unreached: self.settings.unreached,
            selects: &|_| true,
            locate: &|place| {
                let (path, range) = project.db.locate(&report.path, place)?;
                Some((self.files.get(&path)?.source.clone(), range))
            },
        };
        findings::collect(&file.source, report.clone(), &file.faults, &reporting)
    }
}
