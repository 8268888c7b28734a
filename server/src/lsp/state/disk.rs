//! Files on disk: those of the workspace's manifests, and those beside what is open.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tileops_analyzer::db::FileText;
use tileops_analyzer::workspace::is_types_file;
use tokio::sync::watch;
use tower_lsp::lsp_types::{DidChangeWatchedFilesParams, FileChangeType};

use super::super::load::{self, Loaded};
use super::super::outbox::{Outgoing, Progress};
use super::super::records::Places;
use super::super::snapshot::{File, Project};
use super::super::uris;
use super::{Message, State};
use crate::config::FILE_NAME;
use crate::discover::{is_yaml, normalized};
use crate::panics;
use crate::source::Source;

/// How many files of a folder are read before the first of them is judged.
const AT_ONCE: usize = 64;

impl State {
    /// A file on disk is what was read just now.
    pub(super) fn heard_of(&mut self, key: Arc<str>) {
        if self.listing > 0 {
            self.changed_meanwhile.insert(key.clone());
        }
        self.dirty.insert(key);
    }

    /// Whether a file is among the workspace's manifests by its place.
    pub(super) fn is_listed(&self, path: &Path) -> bool {
        self.listed.iter().any(|folder| path.starts_with(folder))
    }

    /// Adds or replaces a file that is not open.
    pub(super) fn set_on_disk(&mut self, path: &Path, text: load::Text, listed: bool) {
        let key = uris::path_key(path);
        let Some(url) = uris::of_path(path) else { return };
        let (configured, project) = self.place(&url);
        let file = File {
            url,
            source: Arc::new(Source::new(key.clone(), text.text.clone())),
            version: None,
            project: project.clone(),
            configured,
            faults: text.faults,
            listed,
        };
        self.files.insert(key.clone(), file);
        if let Some(project) = self.projects.get_mut(&project) {
            project.db.set_files([FileText { path: key, text: text.text, configured, open: false }]);
        }
    }

    pub(super) fn forget(&mut self, key: &Arc<str>) {
        let Some(file) = self.files.remove(key) else { return };
        if let Some(project) = self.projects.get_mut(&file.project) {
            project.db.remove_file(key);
        }
        self.dirty.insert(key.clone());
        self.outbox.publish(key, &file.url, self.revision, None, Vec::new());
    }

    /// Reads the other YAML files of a file's folder: a folder is one manifest.
    pub(super) fn know_folder_of(&mut self, path: &Path) {
        let Some(folder) = path.parent() else { return };
        if self.known_folders.insert(folder.to_path_buf()) {
            self.read_folder(folder);
        }
    }

    /// Reads what is not known yet of a folder: a few files at once, so that nothing is said without them; more of them, but
    /// for the types that all depend on, while the file that is open is judged already.
    fn read_folder(&mut self, folder: &Path) {
        let mut missing = load::paths(folder);
        missing.retain(|path| !self.files.contains_key(&uris::path_key(path)));
        let is_large = missing.len() > AT_ONCE;
        let at_once = missing.extract_if(.., |path| !is_large || is_types_file(&path.to_string_lossy())).collect();
        for (path, text) in load::texts(at_once) {
            self.set_on_disk(&path, text, false);
        }
        if !is_large {
            return;
        }
        Arc::make_mut(&mut self.partly_known).insert(folder.to_path_buf());
        self.load(Some(folder.to_path_buf()), move || load::texts(missing));
    }

    /// Has the manifests of the workspace folders read.
    pub(super) fn list_workspace(&mut self) {
        if !self.settings.workspace {
            return;
        }
        let mut folders = Vec::new();
        for root in self.roots.clone() {
            let config = self.config_of(&root);
            folders.extend(config.manifest.iter().map(|folder| normalized(&config.root.join(folder))));
            self.project(config);
        }
        folders.retain(|folder| self.listed.insert(folder.clone()));
        if !folders.is_empty() {
            self.load(None, move || load::manifests(&folders));
        }
    }

    /// Has files read on another thread.
    fn load(&mut self, folder: Option<PathBuf>, read: impl FnOnce() -> Vec<(PathBuf, load::Text)> + Send + 'static) {
        self.listing += 1;
        let sender = self.sender.clone();
        self.back.spawn(move || {
            let files = panics::catch(read).unwrap_or_else(|panic| {
                // Where nobody takes it, the server is ending.
                let _ = sender.send(Message::Bug(format!("reading files: {panic}")));
                Vec::new()
            });
            let _ = sender.send(Message::Loaded(Loaded { files, folder }));
        });
    }

    pub(super) fn loaded(&mut self, loaded: Loaded) {
        self.advance();
        let mut by_project: BTreeMap<PathBuf, Vec<FileText>> = BTreeMap::new();
        self.listing = self.listing.saturating_sub(1);
        let mut keys = BTreeSet::new();
        let listed = loaded.folder.is_none();
        for (path, text) in loaded.files {
            let key = uris::path_key(&path);
            // What was read may be older than what has been heard since.
            if self.changed_meanwhile.contains(&key) || !listed && self.files.contains_key(&key) {
                continue;
            }
            keys.insert(key.clone());
            if self.documents.contains_key(&key) {
                continue;
            }
            let Some(url) = uris::of_path(&path) else { continue };
            let (configured, project) = self.place(&url);
            by_project.entry(project.clone()).or_default().push(FileText {
                path: key.clone(),
                text: text.text.clone(),
                configured,
                open: false,
            });
            let source = Arc::new(Source::new(key.clone(), text.text));
            let file = File { url, source, version: None, project, configured, faults: text.faults, listed };
            self.files.insert(key.clone(), file);
            if listed {
                self.background.push_back(key);
            }
        }
        if listed {
            self.files.list(&keys);
        }
        if self.listing == 0 {
            // They were judged without what has come now.
            self.dirty.append(&mut self.changed_meanwhile);
        }
        for (project, files) in by_project {
            if let Some(project) = self.projects.get_mut(&project) {
                project.db.set_files(files);
            }
        }
        if let Some(folder) = &loaded.folder {
            Arc::make_mut(&mut self.partly_known).remove(folder);
            self.refresh = true;
        }
        // What is open is judged again with all that it names.
        self.dirty.extend(self.documents.keys().cloned());
        if self.session.can.progress && !self.background.is_empty() {
            let (sender, receiver) = watch::channel(Progress::default());
            self.progress = Some(sender);
            self.outbox.send(Outgoing::Progress(receiver));
            self.report_progress();
        }
    }

    pub(super) fn watched(&mut self, params: &DidChangeWatchedFilesParams) {
        let mut configuration = false;
        for event in &params.changes {
            let Some(path) = uris::path(&event.uri) else { continue };
            let key = uris::path_key(&path);
            // The client's own text of an open document is what counts.
            if self.documents.contains_key(&key) {
                continue;
            }
            let of_records = |project: &&Project| Places::of(&project.config, &self.settings).may_have(&path);
            let recorded: Vec<PathBuf> =
                self.projects.values().filter(of_records).map(|project| project.config.root.clone()).collect();
            if !recorded.is_empty() {
                recorded.iter().for_each(|project| self.read_records(project));
                continue;
            }
            let is_source = path.extension().is_some_and(|extension| extension == "py" || extension == "rs");
            if is_source || path.file_name().is_some_and(|name| name == FILE_NAME) {
                configuration = true;
            } else if event.typ == FileChangeType::DELETED {
                self.advance();
                self.delete(&key);
                self.heard_of(key);
            } else if is_yaml(&path) {
                let listed = self.is_listed(&path);
                let is_known = path.parent().is_some_and(|folder| self.known_folders.contains(folder));
                if !listed && !is_known {
                    continue;
                }
                self.advance();
                match load::read(&path) {
                    Some(text) => self.set_on_disk(&path, text, listed),
                    None => self.forget(&key),
                }
                self.heard_of(key);
            }
        }
        if configuration {
            self.reconfigure();
        }
    }

    /// A file is gone, or a folder with everything in it.
    pub(super) fn delete(&mut self, key: &Arc<str>) {
        let within = format!("{key}/");
        let gone = self.files.keys().filter(|known| *known == key || known.starts_with(&within));
        let gone: Vec<_> = gone.filter(|known| !self.documents.contains_key(*known)).cloned().collect();
        for key in gone {
            self.forget(&key);
        }
    }
}
