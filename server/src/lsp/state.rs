//! The one owner of the documents. Everything that changes them comes through one queue and is done in its order, on one
//! thread; everything that reads them reads a snapshot, on others.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender};
use std::sync::{Arc, Mutex};

use serde_json::Value;
use tileops_analyzer::db::{AnalysisDb, FileText};
use tileops_analyzer::workspace::{FileKind, TieIndex};
use tokio::sync::watch;
use tower_lsp::lsp_types::{
    DidChangeTextDocumentParams, DidChangeWatchedFilesParams, DidOpenTextDocumentParams, FileChangeType, MessageType,
    Url,
};

use super::bench::Run;
use super::documents::Document;
use super::judge::{self, Known};
use super::load::{self, Loaded};
use super::outbox::{Outbox, Outgoing, Progress, Refresh, StatusParams};
use super::records::{Places, Records};
use super::requests::semantic_tokens::Sent;
use super::session::{self, Session};
use super::settings::Settings;
use super::snapshot::{File, Files, Project, Snapshot};
use super::uris;
use crate::config::{Config, Configs, FILE_NAME};
use crate::discover::{is_yaml, normalized};
use crate::panics;
use crate::source::Source;
use crate::{engine, formulas};

/// What is done with a snapshot, on another thread.
pub(crate) type Job = Box<dyn FnOnce(Snapshot) + Send>;

/// What comes to the owner of the documents.
pub(crate) enum Message {
    /// The session begins.
    Start(Session, Settings),
    /// The client is ready to be asked things.
    Ready,
    Open(DidOpenTextDocumentParams),
    Change(DidChangeTextDocumentParams),
    Close(Url),
    /// Files changed on disk.
    Watched(DidChangeWatchedFilesParams),
    /// A file was saved: what the client does not watch may have changed.
    Saved(Url),
    /// The client says that its settings changed, and perhaps what they are.
    SettingsChanged(Value),
    /// What the settings are.
    Settings(Value),
    /// Workspace folders came and went.
    Folders {
        added: Vec<PathBuf>,
        removed: Vec<PathBuf>,
    },
    /// Files were read.
    Loaded(Loaded),
    /// Something to do with a snapshot of what is now.
    Read(Job),
    /// Diagnostics of these files were brought up to date.
    Judged {
        /// These are left.
        left: BTreeSet<Arc<str>>,
        /// Whether files were among them that the client does not know to have changed.
        changed: bool,
    },
    /// These files are left to be judged in the background.
    Background {
        left: Vec<Arc<str>>,
        changed: bool,
    },
    /// Everything on disk is to be read again.
    Reload,
    /// The rows of an op are to be priced.
    Price(Run),
    /// They were, or why not.
    Priced(Run, Result<(), String>),
    /// The records of a project are to be read again.
    ReadRecords(PathBuf),
    /// They were; what could not be read is said.
    Records {
        project: PathBuf,
        records: Box<Records>,
        problems: Vec<String>,
    },
    /// What the user should see, once.
    Warn(String),
    /// What nobody should ever see.
    Bug(String),
    /// Someone wants to know when there is nothing left to do.
    #[cfg(test)]
    WhenIdle(Sender<()>),
    /// Nothing is to be done any more.
    #[cfg(test)]
    Stop,
}

/// How many files the background judges before it looks up.
const BATCH: usize = 16;

/// The owner of the documents.
pub(crate) struct State {
    sender: Sender<Message>,
    outbox: Arc<Outbox>,
    /// Where requests are answered, and where diagnostics are made.
    front: rayon::ThreadPool,
    /// Where the rest of the workspace is judged, so that it keeps nobody waiting.
    back: rayon::ThreadPool,
    session: Arc<Session>,
    settings: Arc<Settings>,
    roots: Vec<PathBuf>,
    configs: Configs,
    /// The manifest folders that were asked to be read.
    listed: BTreeSet<PathBuf>,
    /// The folders of which every file is known.
    known_folders: BTreeSet<PathBuf>,
    documents: BTreeMap<Arc<str>, Document>,
    files: Files,
    projects: BTreeMap<PathBuf, Project>,
    revision: u64,
    latest: Arc<AtomicU64>,
    /// Open documents whose text is not in their project's database yet.
    unflushed: BTreeSet<Arc<str>>,
    /// Files whose diagnostics have to be made anew.
    dirty: BTreeSet<Arc<str>>,
    /// What ties files to others.
    ties: Arc<Mutex<TieIndex>>,
    judging: bool,
    background: VecDeque<Arc<str>>,
    in_background: bool,
    progress: Option<watch::Sender<Progress>>,
    statuses: BTreeMap<Arc<str>, FileKind>,
    tokens: Arc<Sent>,
    /// The projects whose records are being read, and whether they have to be read again.
    reading: BTreeMap<PathBuf, bool>,
    warned: BTreeSet<String>,
    /// Whether the client will be told to fetch diagnostics again when there is nothing else to do.
    refresh: bool,
    /// How many listings of the workspace are under way, and what has changed on disk meanwhile.
    listing: usize,
    changed_meanwhile: BTreeSet<Arc<str>>,
    #[cfg(test)]
    waiting: Vec<Sender<()>>,
    #[cfg(test)]
    stopped: bool,
}

impl State {
    pub(crate) fn new(sender: Sender<Message>, outbox: Arc<Outbox>) -> anyhow::Result<Self> {
        let threads = std::thread::available_parallelism().map_or(2, usize::from);
        Ok(State {
            sender,
            outbox,
            front: engine::threads(threads.clamp(1, 4))?,
            back: engine::threads(1)?,
            session: Arc::new(Session::default()),
            settings: Arc::default(),
            roots: Vec::new(),
            configs: Configs::default(),
            listed: BTreeSet::new(),
            known_folders: BTreeSet::new(),
            documents: BTreeMap::new(),
            files: Files::default(),
            projects: BTreeMap::new(),
            revision: 0,
            latest: Arc::default(),
            unflushed: BTreeSet::new(),
            dirty: BTreeSet::new(),
            ties: Arc::default(),
            judging: false,
            background: VecDeque::new(),
            in_background: false,
            progress: None,
            statuses: BTreeMap::new(),
            tokens: Arc::default(),
            reading: BTreeMap::new(),
            warned: BTreeSet::new(),
            refresh: false,
            listing: 0,
            changed_meanwhile: BTreeSet::new(),
            #[cfg(test)]
            waiting: Vec::new(),
            #[cfg(test)]
            stopped: false,
        })
    }

    /// Takes messages until nobody can send any.
    pub(crate) fn run(mut self, messages: &Receiver<Message>) {
        while let Ok(message) = messages.recv() {
            // Everything that has come is taken before anything is judged: of a storm of edits the last text counts.
            let mut next = Some(message);
            while let Some(message) = next {
                self.guarded("a notification", |state| state.take(message));
                next = messages.try_recv().ok();
            }
            self.guarded("judging", State::settle);
            #[cfg(test)]
            if self.stopped {
                return;
            }
        }
    }

    fn guarded(&mut self, what: &str, action: impl FnOnce(&mut Self)) {
        if let Err(panic) = panics::catch(|| action(self)) {
            self.bug(&format!("{what}: {panic}"));
        }
    }

    fn bug(&mut self, what: &str) {
        let text = format!("internal error: {what}; this is a bug in tileops-lsp");
        if self.warned.insert(text.clone()) {
            self.outbox.send(Outgoing::Show(MessageType::ERROR, text.clone()));
        }
        self.outbox.send(Outgoing::Log(MessageType::ERROR, text));
    }

    fn take(&mut self, message: Message) {
        match message {
            Message::Start(session, settings) => {
                self.roots = session.roots.clone();
                self.session = Arc::new(session);
                self.settings = Arc::new(settings);
                self.list_workspace();
            }
            Message::Ready => {
                if self.session.can.register_configuration {
                    self.outbox.send(Outgoing::RegisterConfiguration);
                }
                if self.session.can.configuration {
                    self.outbox.send(Outgoing::PullConfiguration);
                }
                self.watch();
            }
            Message::Open(params) => self.open(params),
            Message::Change(params) => {
                let key = uris::key(&params.text_document.uri);
                // What is not open cannot change; the client hears of it from the requests that find nothing.
                let Some(document) = self.documents.get_mut(&key) else { return };
                document.apply(params.text_document.version, params.content_changes, self.session.encoding);
                self.advance();
                self.unflushed.insert(key);
            }
            Message::Close(uri) => self.close(&uri),
            Message::Watched(params) => self.watched(&params),
            Message::Saved(uri) => {
                if uris::path(&uri).is_some_and(|path| path.file_name().is_some_and(|name| name == FILE_NAME)) {
                    self.reconfigure();
                }
            }
            Message::SettingsChanged(value) => {
                if self.session.can.configuration {
                    self.outbox.send(Outgoing::PullConfiguration);
                } else if !value.is_null() {
                    self.set(&value);
                }
            }
            // A client without the section says null: what it said at the start holds.
            Message::Settings(Value::Null) => {}
            Message::Settings(value) => self.set(&value),
            Message::Folders { added, removed } => {
                self.roots.retain(|root| !removed.contains(root));
                self.roots.extend(added);
                self.reconfigure();
            }
            Message::Loaded(loaded) => self.loaded(loaded),
            Message::Read(job) => {
                self.flush();
                let snapshot = self.snapshot();
                self.front.spawn(move || job(snapshot));
            }
            Message::Judged { left, changed } => {
                self.judging = false;
                self.dirty.extend(left);
                self.refresh |= changed;
            }
            Message::Background { left, changed } => {
                self.in_background = false;
                for key in left.into_iter().rev() {
                    self.background.push_front(key);
                }
                self.refresh |= changed;
                self.report_progress();
            }
            Message::Reload => self.reconfigure(),
            Message::Price(run) => self.price(run),
            Message::Priced(run, result) => {
                // One that could not price a row has said so in a record.
                self.read_records(&run.cwd);
                if let Err(why) = result {
                    self.outbox.send(Outgoing::Show(MessageType::ERROR, why));
                }
            }
            Message::ReadRecords(project) => self.read_records(&project),
            Message::Records { project, records, problems } => {
                let again = self.reading.remove(&project) == Some(true);
                for problem in problems {
                    self.warn(&problem);
                }
                if again {
                    self.read_records(&project);
                } else if let Some(project) = self.projects.get_mut(&project) {
                    project.records = records.into();
                    self.refresh_hints();
                }
            }
            Message::Warn(text) => self.warn(&text),
            Message::Bug(what) => self.bug(&what),
            #[cfg(test)]
            Message::WhenIdle(sender) => self.waiting.push(sender),
            #[cfg(test)]
            Message::Stop => self.stopped = true,
        }
    }

    // ---- documents

    fn open(&mut self, params: DidOpenTextDocumentParams) {
        let document = params.text_document;
        let key = uris::key(&document.uri);
        self.advance();
        if let Some(path) = uris::path(&document.uri) {
            self.know_folder_of(&path);
        }
        let (configured, project) = self.place(&document.uri);
        let text: Arc<str> = document.text.as_str().into();
        let listed = self.files.get(&key).is_some_and(|file| file.listed);
        let file = File {
            url: document.uri.clone(),
            source: Arc::new(Source::new(key.clone(), text.clone())),
            version: Some(document.version),
            project: project.clone(),
            configured,
            faults: Arc::default(),
            listed,
        };
        self.files.insert(key.clone(), file);
        if let Some(project) = self.projects.get_mut(&project) {
            project.db.set_files([FileText { path: key.clone(), text, configured, open: true }]);
        }
        self.documents.insert(key.clone(), Document::new(document.uri, document.version, &document.text));
        self.statuses.remove(&key);
        self.dirty.insert(key);
    }

    fn close(&mut self, uri: &Url) {
        let key = uris::key(uri);
        if self.documents.remove(&key).is_none() {
            return;
        }
        self.advance();
        self.unflushed.remove(&key);
        self.statuses.remove(&key);
        self.tokens.forget(&key);
        // What the client had in mind is gone: what counts is on disk.
        let on_disk = uris::path(uri).and_then(|path| Some((load::read(&path)?, path)));
        match on_disk {
            Some((text, path)) => {
                let listed = self.is_listed(&path);
                self.set_on_disk(&path, text, listed);
            }
            None => self.forget(&key),
        }
        self.heard_of(key);
    }

    /// A file on disk is what was read just now.
    fn heard_of(&mut self, key: Arc<str>) {
        if self.listing > 0 {
            self.changed_meanwhile.insert(key.clone());
        }
        self.dirty.insert(key);
    }

    /// Whether a file is among the workspace's manifests by its place.
    fn is_listed(&self, path: &Path) -> bool {
        self.listed.iter().any(|folder| path.starts_with(folder))
    }

    /// Puts edited texts where snapshots see them.
    fn flush(&mut self) {
        for key in std::mem::take(&mut self.unflushed) {
            let Some(document) = self.documents.get(&key) else { continue };
            let text = document.text();
            let source = Arc::new(Source::new(key.clone(), text.clone()));
            let Some(file) = self.files.edit(&key, document.version, source) else { continue };
            if let Some(project) = self.projects.get_mut(&file.project) {
                project.db.set_files([FileText { path: key.clone(), text, configured: file.configured, open: true }]);
            }
            self.dirty.insert(key);
        }
    }

    fn advance(&mut self) {
        self.revision += 1;
        self.latest.store(self.revision, Ordering::Release);
    }

    // ---- files on disk

    /// Adds or replaces a file that is not open.
    fn set_on_disk(&mut self, path: &Path, text: load::Text, listed: bool) {
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

    fn forget(&mut self, key: &Arc<str>) {
        let Some(file) = self.files.remove(key) else { return };
        if let Some(project) = self.projects.get_mut(&file.project) {
            project.db.remove_file(key);
        }
        self.dirty.insert(key.clone());
        self.outbox.publish(key, &file.url, self.revision, None, Vec::new());
    }

    /// Whether a file is part of a manifest by its place, and the project that it is in.
    fn place(&mut self, uri: &Url) -> (bool, PathBuf) {
        let Some(path) = uris::path(uri) else {
            let config = Arc::new(Config::without_file(Path::new("")));
            return (false, self.project(config));
        };
        let folder = path.parent().unwrap_or(&path).to_path_buf();
        let config = self.config_of(&folder);
        (config.holds(&path), self.project(config))
    }

    /// The configuration that holds in a folder.
    fn config_of(&mut self, folder: &Path) -> Arc<Config> {
        if let Some(config) = self.configs.of(folder) {
            return config;
        }
        let root = session::root_of(&self.roots, folder).map_or(folder, PathBuf::as_path);
        let mut config = Config::without_file(root);
        if let Some(manifest) = &self.settings.manifest {
            config.manifest = manifest.clone();
        }
        Arc::new(config)
    }

    /// The project of a configuration: a new one where there is none yet.
    fn project(&mut self, config: Arc<Config>) -> PathBuf {
        let root = config.root.clone();
        if !self.projects.contains_key(&root) {
            let mut problems = Vec::new();
            let mut db = AnalysisDb::default();
            let known = formulas::read(&config, &mut problems);
            db.set_formulas(known.formulas);
            db.set_formula_places(known.places);
            for problem in problems {
                self.warn(&format!("cannot read `{}`: {}", problem.path, problem.message));
            }
            self.projects.insert(root.clone(), Project { config, db, records: Arc::default() });
            self.read_records(&root);
            self.say_config_notes();
        }
        root
    }

    /// Reads the other YAML files of a file's folder: a folder is one manifest.
    fn know_folder_of(&mut self, path: &Path) {
        let Some(folder) = path.parent() else { return };
        if !self.known_folders.insert(folder.to_path_buf()) {
            return;
        }
        for (path, text) in load::folder(folder) {
            if !self.files.contains_key(&uris::path_key(&path)) {
                self.set_on_disk(&path, text, false);
            }
        }
    }

    /// Has the manifests of the workspace folders read.
    fn list_workspace(&mut self) {
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
            self.listing += 1;
            let sender = self.sender.clone();
            self.back.spawn(move || {
                let loaded = panics::catch(|| load::manifests(&folders)).unwrap_or_else(|panic| {
                    // Where nobody takes it, the server is ending.
                    let _ = sender.send(Message::Bug(format!("reading the workspace: {panic}")));
                    Loaded::default()
                });
                let _ = sender.send(Message::Loaded(loaded));
            });
        }
    }

    fn loaded(&mut self, loaded: Loaded) {
        self.advance();
        let mut by_project: BTreeMap<PathBuf, Vec<FileText>> = BTreeMap::new();
        self.listing = self.listing.saturating_sub(1);
        let mut keys = BTreeSet::new();
        for (path, text) in loaded.files {
            let key = uris::path_key(&path);
            // What was read may be older than what has been heard since.
            if self.changed_meanwhile.contains(&key) {
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
            let file = File { url, source, version: None, project, configured, faults: text.faults, listed: true };
            self.files.insert(key.clone(), file);
            self.background.push_back(key);
        }
        self.files.list(&keys);
        if self.listing == 0 {
            // They were judged without what has come now.
            self.dirty.append(&mut self.changed_meanwhile);
        }
        for (project, files) in by_project {
            if let Some(project) = self.projects.get_mut(&project) {
                project.db.set_files(files);
            }
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

    fn report_progress(&mut self) {
        let left = self.background.len();
        if let Some(progress) = &self.progress {
            if left == 0 && !self.in_background {
                self.progress = None;
                return;
            }
            progress.send_modify(|progress| {
                progress.total = progress.total.max(left);
                progress.done = progress.total - left;
            });
        }
    }

    fn watched(&mut self, params: &DidChangeWatchedFilesParams) {
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
    fn delete(&mut self, key: &Arc<str>) {
        let within = format!("{key}/");
        let gone = self.files.keys().filter(|known| *known == key || known.starts_with(&within));
        let gone: Vec<_> = gone.filter(|known| !self.documents.contains_key(*known)).cloned().collect();
        for key in gone {
            self.forget(&key);
        }
    }

    // ---- configuration

    fn set(&mut self, value: &Value) {
        let mut warnings = Vec::new();
        let settings = Settings::read(value, &mut warnings);
        for warning in warnings {
            self.warn(&warning);
        }
        if settings == *self.settings {
            return;
        }
        let before = &self.settings;
        let places = settings.manifest != before.manifest || settings.workspace != before.workspace;
        let records = settings.records != before.records || settings.profile != before.profile;
        self.settings = Arc::new(settings);
        if places {
            self.reconfigure();
        } else {
            self.advance();
            self.judge_everything();
        }
        if records && !places {
            let projects: Vec<PathBuf> = self.projects.keys().cloned().collect();
            projects.iter().for_each(|project| self.read_records(project));
            self.watch();
        }
        self.refresh_hints();
        if self.session.can.refresh_lenses {
            self.outbox.send(Outgoing::Refresh(Refresh::Lenses));
        }
    }

    fn refresh_hints(&self) {
        if self.session.can.refresh_hints {
            self.outbox.send(Outgoing::Refresh(Refresh::Hints));
        }
    }

    // ---- records

    /// Has the records of a project read, where it has some.
    fn read_records(&mut self, root: &Path) {
        let Some(project) = self.projects.get_mut(root) else { return };
        let places = Places::of(&project.config, &self.settings);
        if places == Places::default() {
            project.records = Arc::default();
            return;
        }
        // What changes while they are read is read when they are.
        if let Some(again) = self.reading.get_mut(root) {
            *again = true;
            return;
        }
        self.reading.insert(root.to_path_buf(), false);
        let (sender, project) = (self.sender.clone(), root.to_path_buf());
        self.back.spawn(move || {
            let message = match panics::catch(|| Records::read(&places)) {
                Ok((records, problems)) => Message::Records { project, records: Box::new(records), problems },
                Err(panic) => Message::Bug(format!("reading records: {panic}")),
            };
            // Where nobody takes it, the server is ending.
            let _ = sender.send(message);
        });
    }

    /// Runs the program that prices rows, with progress while it runs.
    fn price(&mut self, run: Run) {
        let (shown, ended) = watch::channel(());
        if self.session.can.progress {
            self.outbox.send(Outgoing::Work(format!("Pricing the rows of {}", run.op), ended));
        }
        let sender = self.sender.clone();
        let thread = std::thread::Builder::new().name("pricing".to_owned());
        let started = thread.spawn(move || {
            let result = run.run();
            drop(shown);
            let _ = sender.send(Message::Priced(run, result));
        });
        if let Err(error) = started {
            self.outbox.send(Outgoing::Show(MessageType::ERROR, format!("cannot price rows: {error}")));
        }
    }

    /// Says something to the user, once.
    fn warn(&mut self, text: &str) {
        if self.warned.insert(text.to_owned()) {
            self.outbox.send(Outgoing::Show(MessageType::WARNING, text.to_owned()));
        }
    }

    fn say_config_notes(&mut self) {
        let notes = std::mem::take(&mut self.configs.notes);
        for note in notes {
            let line = note.source.lines().line(note.range.start()) + 1;
            let help = note.help.map_or_else(String::new, |help| format!("; {help}"));
            self.warn(&format!("{}:{line}: {}{help}", note.source.path, note.message));
        }
        for (path, message) in std::mem::take(&mut self.configs.unreadable) {
            self.warn(&format!("cannot read `{}`: {message}", path.display()));
        }
    }

    /// Begins anew with what is on disk and in the client's documents: what places mean has changed.
    fn reconfigure(&mut self) {
        self.advance();
        self.flush();
        self.configs = Configs::default();
        self.projects.clear();
        self.listed.clear();
        self.known_folders.clear();
        self.background.clear();
        self.statuses.clear();
        self.ties = Arc::default();
        let before = std::mem::take(&mut self.files);
        for (key, file) in before.iter().filter(|(key, _)| !self.documents.contains_key(*key)) {
            // Those that are still part of the workspace are read again.
            self.outbox.publish(key, &file.url, self.revision, None, Vec::new());
        }
        let open: Vec<Url> = self.documents.values().map(|document| document.url.clone()).collect();
        for uri in open {
            if let Some(path) = uris::path(&uri) {
                self.know_folder_of(&path);
            }
            let key = uris::key(&uri);
            let (configured, project) = self.place(&uri);
            let Some(document) = self.documents.get(&key) else { continue };
            let text = document.text();
            let file = File {
                url: uri,
                source: Arc::new(Source::new(key.clone(), text.clone())),
                version: Some(document.version),
                project: project.clone(),
                configured,
                faults: Arc::default(),
                listed: false,
            };
            self.files.insert(key.clone(), file);
            if let Some(project) = self.projects.get_mut(&project) {
                project.db.set_files([FileText { path: key.clone(), text, configured, open: true }]);
            }
            self.dirty.insert(key);
        }
        self.list_workspace();
        self.watch();
        self.refresh = true;
    }

    fn judge_everything(&mut self) {
        self.dirty.extend(self.documents.keys().cloned());
        self.background = self.files.iter().filter(|(_, file)| file.listed).map(|(key, _)| key.clone()).collect();
        self.refresh = true;
    }

    /// Asks the client to say what happens to the files that matter.
    fn watch(&mut self) {
        if !self.session.can.register_watchers {
            return;
        }
        let mut folders: Vec<PathBuf> = self.listed.iter().cloned().collect();
        let mut globs = vec![format!("**/{FILE_NAME}")];
        for project in self.projects.values() {
            for source in formulas::sources(&project.config) {
                globs.push(format!("{}/**/*.{{py,rs}}", uris::path_key(&source)));
                globs.push(uris::path_key(&source).to_string());
            }
            globs.extend(Places::of(&project.config, &self.settings).globs());
        }
        folders.retain(|folder| folder.is_absolute());
        globs.extend(folders.iter().map(|folder| format!("{}/**/*.{{yaml,yml}}", uris::path_key(folder))));
        self.outbox.send(Outgoing::Watch(load::watchers(globs)));
    }

    // ---- judging

    fn snapshot(&self) -> Snapshot {
        Snapshot {
            session: self.session.clone(),
            settings: self.settings.clone(),
            files: self.files.clone(),
            projects: self.projects.clone(),
            outbox: self.outbox.clone(),
            owner: self.sender.clone(),
            tokens: self.tokens.clone(),
            revision: self.revision,
            latest: self.latest.clone(),
        }
    }

    /// Starts whatever has to be done about what changed.
    fn settle(&mut self) {
        self.flush();
        if !self.dirty.is_empty() && !self.judging {
            self.judging = true;
            let snapshot = self.snapshot();
            let dirty = std::mem::take(&mut self.dirty);
            let known = Known { ties: self.ties.clone(), all: self.background.is_empty() && !self.in_background };
            self.say_statuses_of(&dirty);
            let sender = self.sender.clone();
            self.front.spawn(move || {
                let message = judge::changed(&snapshot, &known, dirty);
                drop(snapshot);
                // Where nobody takes it, the server is ending.
                let _ = sender.send(message);
            });
        }
        if !self.judging && !self.in_background && !self.background.is_empty() {
            self.in_background = true;
            let files: Vec<_> = self.background.drain(..self.background.len().min(BATCH)).collect();
            let snapshot = self.snapshot();
            let (sender, ties) = (self.sender.clone(), self.ties.clone());
            self.back.spawn(move || {
                let message = judge::in_background(&snapshot, &ties, files);
                drop(snapshot);
                let _ = sender.send(message);
            });
        }
        let idle = self.listing == 0 && !self.judging && !self.in_background && self.background.is_empty();
        #[cfg(test)]
        if idle {
            // Whoever no longer waits has failed already.
            for waiting in self.waiting.drain(..) {
                let _ = waiting.send(());
            }
        }
        if idle && self.refresh {
            self.refresh = false;
            if self.session.pull {
                self.outbox.send(Outgoing::Refresh(Refresh::Diagnostics));
            }
        }
    }

    /// Says what open documents are, where that is news.
    fn say_statuses_of(&mut self, keys: &BTreeSet<Arc<str>>) {
        for key in keys {
            let Some((file, document)) = self.files.get(key).zip(self.documents.get(key)) else { continue };
            let Some(kind) = self.projects.get(&file.project).and_then(|project| project.db.kind(key)) else {
                continue;
            };
            if self.statuses.insert(key.clone(), kind) == Some(kind) {
                continue;
            }
            self.outbox.send(Outgoing::Status(status(document.url.clone(), file.configured, kind)));
        }
    }
}

/// What is said of a file that is open.
fn status(uri: Url, configured: bool, kind: FileKind) -> StatusParams {
    let place = if configured { "it is in a manifest folder" } else { "its content is that of one" };
    let (manifest, kind, reason) = match kind {
        FileKind::Manifest => (true, "manifest", place),
        FileKind::Types => (true, "types", place),
        FileKind::Skipped(reason) => (false, "none", reason),
    };
    StatusParams { uri, manifest, kind: kind.to_owned(), reason: reason.to_owned() }
}
