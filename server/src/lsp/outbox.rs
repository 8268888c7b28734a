//! What goes to the client unasked. Nobody waits for a client here: what it is slow to take, or never answers, piles up
//! as one message a file at most.

use std::collections::{BTreeMap, VecDeque};
use std::hash::{DefaultHasher, Hasher};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::sync::{Notify, watch};
use tower_lsp::Client;
use tower_lsp::lsp_types::notification::{Notification, Progress as ProgressNotification};
use tower_lsp::lsp_types::request::WorkDoneProgressCreate;
use tower_lsp::lsp_types::{
    ConfigurationItem, Diagnostic, DidChangeWatchedFilesRegistrationOptions, FileSystemWatcher, MessageType,
    NumberOrString, ProgressParams, ProgressParamsValue, Registration, Unregistration, Url, WorkDoneProgress,
    WorkDoneProgressBegin, WorkDoneProgressCreateParams, WorkDoneProgressEnd, WorkDoneProgressReport,
};

use super::state::Message;

/// How long a client is waited for that was asked something.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long work goes on before its progress is shown.
const QUIET: Duration = Duration::from_millis(300);
/// How often progress is said at most.
const REPORTS: Duration = Duration::from_millis(100);

/// Says whether a file is treated as part of a manifest, and why.
#[derive(Debug)]
pub(crate) enum Status {}

impl Notification for Status {
    type Params = StatusParams;
    const METHOD: &'static str = "tileops/status";
}

/// What [`Status`] says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StatusParams {
    pub(crate) uri: Url,
    /// Whether the file is part of a manifest.
    pub(crate) manifest: bool,
    /// What it is: `manifest`, `types` or `none`.
    pub(crate) kind: String,
    /// Why, as a sentence without a full stop.
    pub(crate) reason: String,
}

/// What a client may be asked to fetch again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refresh {
    Diagnostics,
    Hints,
    Lenses,
}

/// A message, or a request whose answer comes back as a [`Message`] or not at all.
#[derive(Debug)]
pub(crate) enum Outgoing {
    Status(StatusParams),
    Show(MessageType, String),
    Log(MessageType, String),
    Watch(Vec<FileSystemWatcher>),
    RegisterConfiguration,
    PullConfiguration,
    Refresh(Refresh),
    /// Shows progress while the counts change and their sender lives.
    Progress(watch::Receiver<Progress>),
    /// Shows that something is being done while the sender lives.
    Work(String, watch::Receiver<()>),
}

/// How far work has come.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Progress {
    pub(crate) done: usize,
    pub(crate) total: usize,
}

/// What waits to be sent, and what was last said of each file.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    waiting: Mutex<Waiting>,
    wake: Notify,
    /// Whether the client may be sent anything yet.
    open: AtomicBool,
}

#[derive(Debug, Default)]
struct Waiting {
    messages: VecDeque<Outgoing>,
    /// The files whose diagnostics wait, in the order of their news.
    files: VecDeque<Arc<str>>,
    last: BTreeMap<Arc<str>, Published>,
}

#[derive(Debug)]
struct Published {
    url: Url,
    /// The state of the workspace that it was said of.
    revision: u64,
    version: Option<i32>,
    /// What it comes to: enough to know whether something else is said.
    digest: Option<u64>,
    /// What is to be sent. What was sent is not kept.
    waiting: Option<Vec<Diagnostic>>,
}

/// A number that is the same for the same diagnostics; nothing where there are none.
fn digest(found: &[Diagnostic]) -> Option<u64> {
    let mut hasher = DefaultHasher::new();
    // Diagnostics are plain data: they can always be written.
    hasher.write(&serde_json::to_vec(found).unwrap_or_default());
    (!found.is_empty()).then(|| hasher.finish())
}

impl Outbox {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        // Nothing in here is left half-changed by a panic.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets everything out that has waited for the client to be ready.
    pub(crate) fn open(&self) {
        self.open.store(true, Ordering::Release);
        self.wake.notify_one();
    }

    /// Sends a message after those that wait.
    pub(crate) fn send(&self, message: Outgoing) {
        self.lock().messages.push_back(message);
        self.wake.notify_one();
    }

    /// Publishes what is wrong with a file, unless something newer was published, or the same.
    pub(crate) fn publish(
        &self,
        key: &Arc<str>,
        url: &Url,
        revision: u64,
        version: Option<i32>,
        found: Vec<Diagnostic>,
    ) {
        let digest = digest(&found);
        let mut waiting = self.lock();
        let waiting = &mut *waiting;
        let news = Published { url: url.clone(), revision, version, digest, waiting: Some(found) };
        match waiting.last.get_mut(key) {
            Some(last) if last.revision > revision => return,
            Some(last) if last.version == version && last.digest == digest && last.url == *url => {
                last.revision = revision;
                return;
            }
            Some(last) => {
                let queued = last.waiting.is_some();
                *last = news;
                if queued {
                    return;
                }
            }
            // Silence says that nothing is wrong with a file that is not open.
            None if digest.is_none() && version.is_none() => return,
            None => {
                waiting.last.insert(key.clone(), news);
            }
        }
        waiting.files.push_back(key.clone());
        self.wake.notify_one();
    }

    /// What is to be said of the file whose news has waited longest.
    pub(super) fn take_file(&self) -> Option<(Url, Option<i32>, Vec<Diagnostic>)> {
        let mut waiting = self.lock();
        let key = waiting.files.pop_front()?;
        let last = waiting.last.get_mut(&key)?;
        let taken = (last.url.clone(), last.version, last.waiting.take()?);
        if last.version.is_none() && last.digest.is_none() {
            waiting.last.remove(&key);
        }
        Some(taken)
    }

    /// Sends what waits, for as long as the client is there.
    pub(crate) async fn pump(self: Arc<Self>, client: Client, answers: Sender<Message>) {
        let mut watching = false;
        loop {
            self.wake.notified().await;
            while self.open.load(Ordering::Acquire) {
                let message = self.lock().messages.pop_front();
                if let Some(message) = message {
                    send(message, &client, &answers, &mut watching).await;
                } else if let Some((url, version, diagnostics)) = self.take_file() {
                    client.publish_diagnostics(url, diagnostics, version).await;
                } else {
                    break;
                }
            }
        }
    }
}

async fn send(message: Outgoing, client: &Client, answers: &Sender<Message>, watching: &mut bool) {
    match message {
        Outgoing::Status(params) => client.send_notification::<Status>(params).await,
        Outgoing::Show(kind, text) => client.show_message(kind, text).await,
        Outgoing::Log(kind, text) => client.log_message(kind, text).await,
        Outgoing::Watch(watchers) => {
            const ID: &str = "tileops-files";
            let method = "workspace/didChangeWatchedFiles".to_owned();
            let options = DidChangeWatchedFilesRegistrationOptions { watchers };
            let registration = Registration {
                id: ID.to_owned(),
                method: method.clone(),
                register_options: serde_json::to_value(options).ok(),
            };
            let client = client.clone();
            let again = std::mem::replace(watching, true);
            ask(async move {
                if again {
                    // A client that does not forget the old ones tells of more files than it needs to.
                    let _ = client.unregister_capability(vec![Unregistration { id: ID.to_owned(), method }]).await;
                }
                let _ = client.register_capability(vec![registration]).await;
            });
        }
        Outgoing::RegisterConfiguration => {
            let registration = Registration {
                id: "tileops-settings".to_owned(),
                method: "workspace/didChangeConfiguration".to_owned(),
                register_options: Some(serde_json::json!({"section": "tileops"})),
            };
            let client = client.clone();
            ask(async move {
                let _ = client.register_capability(vec![registration]).await;
            });
        }
        Outgoing::PullConfiguration => {
            let (client, answers) = (client.clone(), answers.clone());
            ask(async move {
                let item = ConfigurationItem { scope_uri: None, section: Some("tileops".to_owned()) };
                if let Ok(values) = client.configuration(vec![item]).await
                    && let Some(value) = values.into_iter().next()
                {
                    // Where nobody takes it, the server is ending.
                    let _ = answers.send(Message::Settings(value));
                }
            });
        }
        Outgoing::Refresh(what) => {
            let client = client.clone();
            ask(async move {
                let _ = match what {
                    Refresh::Diagnostics => client.workspace_diagnostic_refresh().await,
                    Refresh::Hints => client.inlay_hint_refresh().await,
                    Refresh::Lenses => client.code_lens_refresh().await,
                };
            });
        }
        Outgoing::Progress(counts) => {
            tokio::spawn(show_progress(client.clone(), counts));
        }
        Outgoing::Work(title, ended) => {
            tokio::spawn(show_work(client.clone(), title, ended));
        }
    }
}

/// Lets a request go its way. A client that never answers is not waited for; one that answers late finds someone who
/// listens, as the protocol's library gives up the whole session where nobody does.
fn ask(request: impl Future<Output = ()> + Send + 'static) {
    tokio::spawn(request);
}

/// Asks the client to show progress under `token`, and says whether it does.
async fn may_show(client: &Client, token: &NumberOrString) -> bool {
    let (client, create) = (client.clone(), WorkDoneProgressCreateParams { token: token.clone() });
    // What is given up is the waiting, and not the request.
    let asked = tokio::spawn(async move { client.send_request::<WorkDoneProgressCreate>(create).await });
    matches!(tokio::time::timeout(PATIENCE, asked).await, Ok(Ok(Ok(()))))
}

async fn show_progress(client: Client, mut counts: watch::Receiver<Progress>) {
    let is_over = |counts: &watch::Receiver<Progress>| counts.has_changed().is_err();
    tokio::time::sleep(QUIET).await;
    if is_over(&counts) {
        return;
    }
    let token = NumberOrString::String("tileops-judging".to_owned());
    if !may_show(&client, &token).await || is_over(&counts) {
        return;
    }
    let say = |value: WorkDoneProgress| {
        let params = ProgressParams { token: token.clone(), value: ProgressParamsValue::WorkDone(value) };
        client.send_notification::<ProgressNotification>(params)
    };
    let state = |progress: Progress| {
        let percentage = (progress.done * 100).checked_div(progress.total).unwrap_or(0).min(100) as u32;
        (Some(format!("{} of {} files", progress.done, progress.total)), Some(percentage))
    };
    let (message, percentage) = state(*counts.borrow());
    let title = "Judging manifests".to_owned();
    say(WorkDoneProgress::Begin(WorkDoneProgressBegin { title, cancellable: Some(false), message, percentage })).await;
    while counts.changed().await.is_ok() {
        let (message, percentage) = state(*counts.borrow_and_update());
        say(WorkDoneProgress::Report(WorkDoneProgressReport { cancellable: Some(false), message, percentage })).await;
        tokio::time::sleep(REPORTS).await;
    }
    say(WorkDoneProgress::End(WorkDoneProgressEnd { message: None })).await;
}

async fn show_work(client: Client, title: String, mut ended: watch::Receiver<()>) {
    let token = NumberOrString::String(format!("tileops: {title}"));
    if !may_show(&client, &token).await {
        return;
    }
    let say = |value: WorkDoneProgress| {
        let params = ProgressParams { token: token.clone(), value: ProgressParamsValue::WorkDone(value) };
        client.send_notification::<ProgressNotification>(params)
    };
    let begin = WorkDoneProgressBegin { title, cancellable: Some(false), message: None, percentage: None };
    say(WorkDoneProgress::Begin(begin)).await;
    while ended.changed().await.is_ok() {}
    say(WorkDoneProgress::End(WorkDoneProgressEnd { message: None })).await;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn diagnostic(message: &str) -> Diagnostic {
        Diagnostic { message: message.to_owned(), ..Diagnostic::default() }
    }

    #[test]
    fn a_file_waits_once_and_its_newest_news_is_sent() {
        let outbox = Outbox::default();
        let (key, url) = (Arc::<str>::from("/a"), Url::parse("file:///a").expect("a URL"));
        outbox.publish(&key, &url, 1, Some(1), vec![diagnostic("old")]);
        outbox.publish(&key, &url, 3, Some(3), vec![diagnostic("new")]);
        outbox.publish(&key, &url, 2, Some(2), vec![diagnostic("late")]);
        let (_, version, diagnostics) = outbox.take_file().expect("one waits");
        assert_eq!((version, &*diagnostics[0].message), (Some(3), "new"));
        assert!(outbox.take_file().is_none());
        outbox.publish(&key, &url, 4, Some(3), vec![diagnostic("new")]);
        assert!(outbox.take_file().is_none(), "the same is not said twice");
    }

    #[test]
    fn what_is_clean_and_closed_is_said_only_where_something_was_wrong() {
        let outbox = Outbox::default();
        let (key, url) = (Arc::<str>::from("/a"), Url::parse("file:///a").expect("a URL"));
        outbox.publish(&key, &url, 1, None, Vec::new());
        assert!(outbox.take_file().is_none());
        outbox.publish(&key, &url, 2, None, vec![diagnostic("x")]);
        outbox.publish(&key, &url, 3, None, Vec::new());
        assert!(outbox.take_file().is_some_and(|(_, _, found)| found.is_empty()));
        assert!(outbox.lock().last.is_empty());
    }
}
