//! The one owner of the documents. Everything that changes them comes through one queue and is done in its order, on one
//! thread; everything that reads them reads a snapshot, on others.

mod configuration;
mod disk;
mod documents;
mod judging;
mod records;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender};
use std::sync::{Arc, Mutex};

use serde_json::Value;
use tileops_analyzer::workspace::{FileKind, TieIndex};
use tokio::sync::watch;
use tower_lsp::lsp_types::{
    DidChangeTextDocumentParams, DidChangeWatchedFilesParams, DidOpenTextDocumentParams, MessageType, Url,
};

use super::bench::Run;
use super::documents::Document;
use super::load::Loaded;
use super::outbox::{Outbox, Outgoing, Progress};
use super::records::Records;
use super::requests::semantic_tokens::Sent;
use super::session::Session;
use super::settings::Settings;
use super::snapshot::{Files, Project, Snapshot};
use super::uris;
use crate::config::{Configs, FILE_NAME};
use crate::engine;
use crate::panics;

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
    /// The folders of which every file is known, or will be: a folder is one manifest.
    known_folders: BTreeSet<PathBuf>,
    /// Those of them that are too large to have been read at once.
    partly_known: Arc<BTreeSet<PathBuf>>,
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
            partly_known: Arc::default(),
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

    fn advance(&mut self) {
        self.revision += 1;
        self.latest.store(self.revision, Ordering::Release);
    }

    /// Says something to the user, once.
    fn warn(&mut self, text: &str) {
        if self.warned.insert(text.to_owned()) {
            self.outbox.send(Outgoing::Show(MessageType::WARNING, text.to_owned()));
        }
    }

    fn snapshot(&self) -> Snapshot {
        Snapshot {
            session: self.session.clone(),
            settings: self.settings.clone(),
            files: self.files.clone(),
            projects: self.projects.clone(),
            partly_known: self.partly_known.clone(),
            outbox: self.outbox.clone(),
            owner: self.sender.clone(),
            tokens: self.tokens.clone(),
            revision: self.revision,
            latest: self.latest.clone(),
        }
    }
}
