//! Random sessions against a simple model: texts are strings, files are a map, and what is wrong is what check mode finds
//! in a copy of them. `TILEOPS_SESSIONS` says how many there are and `TILEOPS_SEED` where they begin; without them, as many
//! as half a minute allows.

mod script;

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use clap::Parser;
use serde_json::{Value, json};
use tower_lsp::LanguageServer;
use tower_lsp::jsonrpc;
use tower_lsp::lsp_types::{
    Diagnostic, DidChangeTextDocumentParams, DidChangeWatchedFilesParams, DidOpenTextDocumentParams, Position, Url,
};

use self::script::{Numbers, Units};
use super::outbox::Outbox;
use super::positions::Encoding;
use super::server::Backend;
use super::session::{Can, Session};
use super::settings::Settings;
use super::state::{Message, State};
use crate::check::Checker;
use crate::cli::Arguments;
use crate::config::Configs;
use crate::diagnostic::Level;
use crate::discover;
use crate::engine::STACK_BYTES;

/// How long sessions go on where nothing else is said.
const TIME: Duration = Duration::from_secs(30);
/// How long a server may take to come to rest.
const PATIENCE: Duration = Duration::from_secs(60);

/// One session: the server, and what is known of it.
struct Run {
    numbers: Numbers,
    units: Units,
    pull: bool,
    root: tempfile::TempDir,
    backend: Arc<Backend>,
    outbox: Arc<Outbox>,
    open: BTreeMap<String, String>,
    disk: BTreeMap<String, String>,
    version: i32,
    settings: Value,
    published: BTreeMap<String, Vec<Diagnostic>>,
    requests: Vec<(String, tokio::task::JoinHandle<jsonrpc::Result<()>>)>,
    log: String,
}

impl Run {
    fn start(seed: u64) -> Self {
        let mut numbers = Numbers(seed);
        let root = tempfile::tempdir().expect("a folder");
        std::fs::create_dir(root.path().join("manifest")).expect("made");
        std::fs::write(root.path().join("tileops.toml"), "manifest = [\"manifest\"]\n").expect("written");
        let mut disk = BTreeMap::new();
        for file in script::FILES.iter().take(4).filter(|_| !numbers.one_in(4)).collect::<Vec<_>>() {
            let text = script::text_of(file, &mut numbers);
            std::fs::write(root.path().join("manifest").join(file), &text).expect("written");
            disk.insert((*file).to_owned(), text);
        }
        let units = [Units::Utf8, Units::Utf16, Units::Utf32][numbers.below(3)];
        let encoding = match units {
            Units::Utf8 => Encoding::Utf8,
            Units::Utf16 => Encoding::Utf16,
            Units::Utf32 => Encoding::Utf32,
        };
        let pull = numbers.one_in(3);
        let (sender, messages) = mpsc::channel();
        let outbox = Arc::new(Outbox::default());
        let owner = State::new(sender.clone(), outbox.clone()).expect("threads");
        let thread = std::thread::Builder::new().stack_size(STACK_BYTES);
        thread.spawn(move || owner.run(&messages)).expect("a thread");
        let can = Can { related: true, ..Can::default() };
        let roots = vec![root.path().to_path_buf()];
        let session = Session { client: "model".to_owned(), encoding, pull, roots, can, ..Session::default() };
        sender.send(Message::Start(session, Settings::default())).expect("it runs");
        let backend = Backend { state: sender, outbox: outbox.clone(), refreshes_diagnostics: Arc::default() };
        Run {
            numbers,
            units,
            pull,
            root,
            backend: Arc::new(backend),
            outbox,
            open: BTreeMap::new(),
            disk,
            version: 0,
            settings: json!({}),
            published: BTreeMap::new(),
            requests: Vec::new(),
            log: String::new(),
        }
    }

    fn url(&self, file: &str) -> Url {
        Url::from_file_path(self.root.path().join("manifest").join(file)).expect("an absolute path")
    }

    fn note(&mut self, what: &str) {
        writeln!(self.log, "{what}").expect("a string takes it");
    }

    async fn step(&mut self) {
        let file = script::FILES[self.numbers.below(script::FILES.len())].to_owned();
        match self.numbers.below(20) {
            0..=7 => {
                // A storm now and then: edits that nobody waits between.
                let edits = if self.numbers.one_in(6) { 12 } else { 1 + self.numbers.below(2) };
                for _ in 0..edits {
                    self.edit(&file).await;
                }
            }
            8 | 9 => self.open_or_close(&file).await,
            10 | 11 => self.change_on_disk(&file).await,
            12 => self.set().await,
            _ => self.request(&file).await,
        }
        if self.numbers.one_in(5) {
            self.take_news();
        }
    }

    async fn edit(&mut self, file: &str) {
        self.version += 1;
        let before = self.open.get(file).cloned();
        // Of a document that is not open nothing changes.
        let mut text = before.clone().unwrap_or_default();
        let changes = script::edits(&mut self.numbers, file, &mut text, self.units);
        self.note(&format!("change {file} {changes:?}"));
        let params =
            json!({"textDocument": {"uri": self.url(file), "version": self.version}, "contentChanges": changes});
        let params: DidChangeTextDocumentParams = serde_json::from_value(params).expect("parameters");
        self.backend.did_change(params).await;
        if before.is_some() {
            self.open.insert(file.to_owned(), text);
        }
    }

    async fn open_or_close(&mut self, file: &str) {
        let uri = self.url(file);
        if self.open.remove(file).is_some() {
            self.note(&format!("close {file}"));
            let params = serde_json::from_value(json!({"textDocument": {"uri": uri}})).expect("parameters");
            return self.backend.did_close(params).await;
        }
        let same = self.disk.get(file).filter(|_| !self.numbers.one_in(3)).cloned();
        let text = same.unwrap_or_else(|| script::text_of(file, &mut self.numbers));
        self.version += 1;
        self.note(&format!("open {file} {text:?}"));
        let document = json!({"uri": uri, "languageId": "yaml", "version": self.version, "text": text});
        let params: DidOpenTextDocumentParams =
            serde_json::from_value(json!({"textDocument": document})).expect("parameters");
        self.backend.did_open(params).await;
        self.open.insert(file.to_owned(), text);
    }

    async fn change_on_disk(&mut self, file: &str) {
        let path = self.root.path().join("manifest").join(file);
        let kind = if self.numbers.one_in(3) && self.disk.remove(file).is_some() {
            std::fs::remove_file(&path).expect("removed");
            3
        } else {
            let text = script::text_of(file, &mut self.numbers);
            std::fs::write(&path, &text).expect("written");
            if self.disk.insert(file.to_owned(), text).is_some() { 2 } else { 1 }
        };
        self.note(&format!("on disk {file} {kind} {:?}", self.disk.get(file)));
        let params = json!({"changes": [{"uri": self.url(file), "type": kind}]});
        let params: DidChangeWatchedFilesParams = serde_json::from_value(params).expect("parameters");
        self.backend.did_change_watched_files(params).await;
    }

    async fn set(&mut self) {
        self.settings = script::settings(&mut self.numbers);
        self.note(&format!("settings {}", self.settings));
        let params = serde_json::from_value(json!({"settings": {"tileops": self.settings}})).expect("parameters");
        self.backend.did_change_configuration(params).await;
    }

    /// Asks something of a document, open or not, and takes the question back now and then.
    async fn request(&mut self, file: &str) {
        let text = self.open.get(file).or_else(|| self.disk.get(file)).cloned().unwrap_or_default();
        let uri = self.url(file);
        let (method, params) = script::question(&mut self.numbers, uri.as_str(), &text, self.units);
        self.note(&format!("{method} {file} {params}"));
        let backend = self.backend.clone();
        macro_rules! ask {
            ($call:ident) => {{
                let params = serde_json::from_value(params).expect("parameters");
                tokio::spawn(async move { backend.$call(params).await.map(drop) })
            }};
        }
        let asked = match method {
            "textDocument/completion" => ask!(completion),
            "textDocument/hover" => ask!(hover),
            "textDocument/definition" => ask!(goto_definition),
            "textDocument/prepareRename" => ask!(prepare_rename),
            "textDocument/rename" => ask!(rename),
            "textDocument/inlayHint" => ask!(inlay_hint),
            "textDocument/documentSymbol" => ask!(document_symbol),
            "textDocument/semanticTokens/full" => ask!(semantic_tokens_full),
            "textDocument/diagnostic" => ask!(diagnostic),
            "workspace/diagnostic" => ask!(workspace_diagnostic),
            "textDocument/references" => ask!(references),
            other => unreachable!("{other} is not asked"),
        };
        // What is asked is heard at once; the answer comes when it comes.
        tokio::task::yield_now().await;
        if self.numbers.one_in(3) {
            asked.abort();
        }
        self.requests.push((method.to_owned(), asked));
        if self.numbers.one_in(3) {
            let at = self.numbers.below(self.requests.len());
            self.requests[at].1.abort();
        }
    }

    fn take_news(&mut self) {
        while let Some((url, _, found)) = self.outbox.take_file() {
            self.published.insert(url.to_string(), found);
        }
    }

    /// Waits until there is nothing left to do, and compares.
    async fn finish(mut self) -> Result<(), String> {
        for (name, asked) in std::mem::take(&mut self.requests) {
            match asked.await {
                Ok(Ok(())) => {}
                // Stale, refused, or an odd name.
                Ok(Err(error)) if script::ERRORS.contains(&error.code.code()) => {}
                Ok(Err(error)) => return Err(format!("{name}: {error}\n{}", self.log)),
                Err(error) if error.is_cancelled() => {}
                Err(error) => return Err(format!("{name}: {error}\n{}", self.log)),
            }
        }
        let (sender, rested) = mpsc::channel();
        self.backend.state.send(Message::WhenIdle(sender)).expect("it runs");
        rested.recv_timeout(PATIENCE).map_err(|_| format!("it does not come to rest\n{}", self.log))?;
        self.take_news();

        let (sender, texts) = mpsc::channel();
        let read = move |snapshot: super::snapshot::Snapshot| {
            let open = snapshot.files.iter().filter(|(_, file)| file.version.is_some());
            let open: BTreeMap<String, String> =
                open.map(|(_, file)| (file.url.to_string(), file.source.text.to_string())).collect();
            sender.send(open).expect("someone waits");
        };
        self.backend.state.send(Message::Read(Box::new(read))).expect("it runs");
        let texts = texts.recv_timeout(PATIENCE).map_err(|_| "no snapshot".to_owned())?;
        let expected: BTreeMap<String, String> =
            self.open.iter().map(|(file, text)| (self.url(file).to_string(), text.clone())).collect();
        if texts != expected {
            return Err(format!("texts differ: {texts:?}, not {expected:?}\n{}", self.log));
        }

        let checked = self.checked();
        for file in script::FILES {
            let found = if self.pull {
                let params = json!({"textDocument": {"uri": self.url(file)}});
                let report = self.backend.diagnostic(serde_json::from_value(params).expect("parameters")).await;
                let report = serde_json::to_value(report.map_err(|error| error.to_string())?).expect("a report");
                serde_json::from_value(report["items"].clone()).expect("diagnostics")
            } else {
                self.published.get(self.url(file).as_str()).cloned().unwrap_or_default()
            };
            let mut found: Vec<String> = found.iter().map(|found| self.plain(found)).collect();
            let mut checked = checked.get(file).cloned().unwrap_or_default();
            found.sort();
            checked.sort();
            if found != checked {
                return Err(format!("{file}: {found:#?}\nis not what check mode says:\n{checked:#?}\n{}", self.log));
            }
        }
        self.backend.state.send(Message::Stop).expect("it runs");
        Ok(())
    }

    fn plain(&self, found: &Diagnostic) -> String {
        let file = |url: &Url| url.path().rsplit('/').next().unwrap_or_default().to_owned();
        let related = found.related_information.iter().flatten();
        let related: Vec<_> = related
            .map(|r| (file(&r.location.uri), r.location.range.start, r.location.range.end, &r.message))
            .collect();
        let code = serde_json::to_value(&found.code).expect("a code");
        format!(
            "{code} {:?} {:?} {:?} {} {related:?}",
            found.severity, found.range.start, found.range.end, found.message
        )
    }

    /// What check mode says of a copy of the files, with the texts that are open in place of those on disk.
    fn checked(&self) -> BTreeMap<String, Vec<String>> {
        let copy = tempfile::tempdir().expect("a folder");
        let manifest = copy.path().join("manifest");
        std::fs::create_dir(&manifest).expect("made");
        std::fs::write(copy.path().join("tileops.toml"), "manifest = [\"manifest\"]\n").expect("written");
        let mut files = self.disk.clone();
        files.extend(self.open.clone());
        for (file, text) in &files {
            std::fs::write(manifest.join(file), text).expect("written");
        }
        let mut line = vec!["tileops-lsp".to_owned(), "--check".to_owned(), "--jobs".to_owned(), "1".to_owned()];
        for (code, level) in self.settings["codes"].as_object().into_iter().flatten() {
            let option = if level == "advisory" { "warn" } else { level.as_str().expect("a level") };
            line.extend([format!("--{option}"), code.clone()]);
        }
        if self.settings["unreached"] == true {
            line.push("--unreached".to_owned());
        }
        line.push(manifest.display().to_string());
        let arguments = Arguments::try_parse_from(line).expect("arguments");
        let checker = Checker::new(&arguments).expect("a checker");
        let mut configs = Configs::default();
        let inputs = discover::discover(&arguments, &mut configs).expect("inputs");
        let outcome = checker.outcome(inputs, &configs, &crate::baseline::Known::default());
        let name = |path: &str| Path::new(path).file_name().map(|name| name.to_string_lossy().into_owned());
        let place = |text: &str, range: tileops_analyzer::text::TextRange| {
            let at = |offset: tileops_analyzer::text::TextSize| {
                let at = script::position(text, usize::from(offset), self.units);
                Position::new(at.line, at.character)
            };
            (at(range.start()), at(range.end()))
        };
        let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for diagnostic in &outcome.diagnostics {
            let severity = match diagnostic.level {
                Level::Error => 1,
                Level::Advisory => 2,
                Level::Unreached => 4,
            };
            let (start, end) = place(&diagnostic.source.text, diagnostic.range);
            let range = tower_lsp::lsp_types::Range::new(start, end);
            let help = diagnostic.help.as_ref().map_or_else(String::new, |help| format!("\n{help}"));
            let related = diagnostic.related.iter().map(|related| {
                let (start, end) = place(&related.source.text, related.range);
                let uri = self.url(&name(&related.source.path).expect("a name"));
                json!({"location": {"uri": uri, "range": {"start": start, "end": end}}, "message": related.message})
            });
            let related: Vec<Value> = related.collect();
            let plain = json!({
                "range": range, "severity": severity, "code": diagnostic.code(),
                "message": format!("{}{help}", diagnostic.message), "relatedInformation": related
            });
            let mut plain: Diagnostic = serde_json::from_value(plain).expect("a diagnostic");
            plain.related_information = plain.related_information.filter(|related| !related.is_empty());
            let file = name(&diagnostic.source.path).expect("a name");
            found.entry(file).or_default().push(self.plain(&plain));
        }
        found
    }
}

async fn session(seed: u64) -> Result<(), String> {
    let mut run = Run::start(seed);
    let steps = 5 + run.numbers.below(30);
    for _ in 0..steps {
        run.step().await;
    }
    run.finish().await
}

#[test]
fn random_sessions_end_as_the_model_says() {
    let number = |name: &str| std::env::var(name).ok().and_then(|value| value.parse::<u64>().ok());
    let (first, asked) = (number("TILEOPS_SEED").unwrap_or(1), number("TILEOPS_SESSIONS"));
    let since = Instant::now();
    let threads = 2;
    let run = |thread: u64| -> Result<u64, String> {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        let mut done = 0;
        loop {
            let seed = first + done * threads + thread;
            let enough = asked.map_or_else(|| since.elapsed() > TIME, |sessions| seed >= first + sessions);
            if enough {
                return Ok(done);
            }
            runtime.block_on(session(seed)).map_err(|why| format!("TILEOPS_SEED={seed}: {why}"))?;
            done += 1;
        }
    };
    let done: Vec<Result<u64, String>> = std::thread::scope(|scope| {
        let running: Vec<_> = (0..threads).map(|thread| scope.spawn(move || run(thread))).collect();
        running.into_iter().map(|thread| thread.join().expect("no panic")).collect()
    });
    let mut sessions = 0;
    for done in done {
        match done {
            Ok(done) => sessions += done,
            Err(why) => panic!("{why}"),
        }
    }
    assert!(sessions > 0);
    #[allow(clippy::print_stderr, reason = "how much was tested is not to be guessed")]
    {
        eprintln!("{sessions} sessions in {:.1} s", since.elapsed().as_secs_f64());
    }
}
