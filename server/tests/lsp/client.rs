//! A small client of the real server, over its real pipes.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// How long anything may take. Generous: machines that run tests are busy.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) struct Client {
    pub(crate) child: Child,
    stdin: Option<ChildStdin>,
    incoming: Receiver<Value>,
    waiting: VecDeque<Value>,
    next: i64,
    /// What `workspace/configuration` is answered with; nothing: never.
    pub(crate) configuration: Option<Value>,
    /// Whether requests of the server are answered at all.
    pub(crate) answers: bool,
}

/// The capabilities of a client that is sent diagnostics.
pub(crate) fn pushed() -> Value {
    json!({
        "general": {"positionEncodings": ["utf-16"]},
        "textDocument": {"publishDiagnostics": {
            "relatedInformation": true, "versionSupport": true, "codeDescriptionSupport": true, "dataSupport": true,
            "tagSupport": {"valueSet": [1, 2]}
        }},
        "workspace": {"configuration": true, "didChangeWatchedFiles": {"dynamicRegistration": true}},
        "window": {"workDoneProgress": true}
    })
}

/// The same for one that asks for them.
pub(crate) fn pulling() -> Value {
    let mut capabilities = pushed();
    capabilities["textDocument"]["diagnostic"] = json!({"dynamicRegistration": false});
    capabilities["workspace"]["diagnostics"] = json!({"refreshSupport": true});
    capabilities
}

pub(crate) fn uri(path: &Path) -> String {
    format!("file://{}", path.display())
}

impl Client {
    /// Starts the server, without a word yet.
    pub(crate) fn spawn() -> Self {
        Client::spawn_with(
            Command::new(env!("CARGO_BIN_EXE_tileops-lsp")).env("TILEOPS_LSP_TEST_PANIC", "tileops.test.panic"),
        )
    }

    pub(crate) fn spawn_with(command: &mut Command) -> Self {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("the server starts");
        let stdout = child.stdout.take().expect("a pipe");
        let (sender, incoming) = channel();
        std::thread::spawn(move || {
            let mut reader = BufReader::new(stdout);
            while let Some(message) = read_message(&mut reader) {
                if sender.send(message).is_err() {
                    break;
                }
            }
        });
        let stdin = child.stdin.take();
        Client { child, stdin, incoming, waiting: VecDeque::new(), next: 0, configuration: None, answers: true }
    }

    /// Starts the server and the session.
    pub(crate) fn start(root: &Path, capabilities: Value) -> Self {
        Client::start_with(root, capabilities, Value::Null)
    }

    pub(crate) fn start_with(root: &Path, capabilities: Value, options: Value) -> Self {
        let mut client = Client::spawn();
        client.initialize(root, capabilities, options);
        client
    }

    pub(crate) fn initialize(&mut self, root: &Path, capabilities: Value, options: Value) -> Value {
        let params = json!({
            "processId": std::process::id(), "capabilities": capabilities, "initializationOptions": options,
            "clientInfo": {"name": "test"}, "rootUri": uri(root),
            "workspaceFolders": [{"uri": uri(root), "name": "root"}]
        });
        let answer = self.request("initialize", params);
        self.notify("initialized", json!({}));
        answer
    }

    pub(crate) fn write(&mut self, message: &Value) {
        let body = message.to_string();
        self.write_raw(format!("Content-Length: {}\r\n\r\n{body}", body.len()).as_bytes());
    }

    pub(crate) fn write_raw(&mut self, bytes: &[u8]) {
        let stdin = self.stdin.as_mut().expect("the pipe is open");
        stdin.write_all(bytes).and_then(|()| stdin.flush()).expect("the server reads");
    }

    pub(crate) fn close_stdin(&mut self) {
        self.stdin = None;
    }

    pub(crate) fn notify(&mut self, method: &str, params: Value) {
        self.write(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    /// Sends a request and gives its id.
    pub(crate) fn send(&mut self, method: &str, params: Value) -> i64 {
        self.next += 1;
        let id = self.next;
        self.write(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        id
    }

    /// Waits for the answer of a request.
    pub(crate) fn answer(&mut self, id: i64) -> Value {
        self.wait("an answer", |message| message.get("method").is_none() && message["id"] == json!(id))
    }

    /// Sends a request and gives its result.
    pub(crate) fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.send(method, params);
        let answer = self.answer(id);
        assert!(answer.get("error").is_none(), "{method}: {answer}");
        answer["result"].clone()
    }

    /// Waits for the message that `is` picks, and answers what the server asks meanwhile.
    pub(crate) fn wait(&mut self, what: &str, is: impl Fn(&Value) -> bool) -> Value {
        let deadline = Instant::now() + PATIENCE;
        if let Some(at) = self.waiting.iter().position(&is) {
            return self.waiting.remove(at).expect("it is there");
        }
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let message = match self.incoming.recv_timeout(left) {
                Ok(message) => message,
                Err(RecvTimeoutError::Timeout) => panic!("no {what} came; there waits {:?}", self.waiting),
                Err(RecvTimeoutError::Disconnected) => panic!("the server ended; no {what} came"),
            };
            self.serve(&message);
            if is(&message) {
                return message;
            }
            self.waiting.push_back(message);
        }
    }

    fn serve(&mut self, message: &Value) {
        let (Some(method), Some(id)) = (message["method"].as_str(), message.get("id")) else { return };
        // Who has closed the pipe answers nothing more.
        if !self.answers || self.stdin.is_none() {
            return;
        }
        let result = match (method, &self.configuration) {
            ("workspace/configuration", Some(value)) => json!([value]),
            ("workspace/configuration", None) => json!([null]),
            _ => Value::Null,
        };
        self.write(&json!({"jsonrpc": "2.0", "id": id, "result": result}));
    }

    /// Takes in what comes within `time`.
    pub(crate) fn idle(&mut self, time: Duration) {
        let deadline = Instant::now() + time;
        while let Ok(message) = self.incoming.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            self.serve(&message);
            self.waiting.push_back(message);
        }
    }

    /// Everything of a method that has come and was not waited for.
    pub(crate) fn came(&self, method: &str) -> Vec<&Value> {
        self.waiting.iter().filter(|message| message["method"] == method).collect()
    }

    /// The same, taken.
    pub(crate) fn take(&mut self, method: &str) -> Vec<Value> {
        let (taken, left) = self.waiting.drain(..).partition(|message| message["method"] == method);
        self.waiting = left;
        Vec::from(taken)
    }

    /// The answers that have come and were not waited for.
    pub(crate) fn answered(&self) -> impl Iterator<Item = &Value> {
        self.waiting.iter().filter(|message| message.get("method").is_none())
    }

    pub(crate) fn open(&mut self, uri: &str, version: i32, text: &str) {
        let document = json!({"uri": uri, "languageId": "yaml", "version": version, "text": text});
        self.notify("textDocument/didOpen", json!({"textDocument": document}));
    }

    pub(crate) fn change(&mut self, uri: &str, version: i32, changes: Value) {
        let document = json!({"uri": uri, "version": version});
        self.notify("textDocument/didChange", json!({"textDocument": document, "contentChanges": changes}));
    }

    pub(crate) fn close(&mut self, uri: &str) {
        self.notify("textDocument/didClose", json!({"textDocument": {"uri": uri}}));
    }

    /// Waits for the diagnostics of a file; of a version, where one is given.
    pub(crate) fn diagnostics(&mut self, uri: &str, version: Option<i32>) -> Vec<Value> {
        let message = self.wait(&format!("diagnostics of {uri} in version {version:?}"), |message| {
            message["method"] == "textDocument/publishDiagnostics"
                && message["params"]["uri"] == uri
                && version.is_none_or(|version| message["params"]["version"] == version)
        });
        message["params"]["diagnostics"].as_array().expect("an array").clone()
    }

    /// Makes a text the next version of a document, and waits for what is wrong with it.
    pub(crate) fn diagnostics_of(&mut self, uri: &str, version: i32, text: &str) -> Vec<Value> {
        self.change(uri, version, json!([{"text": text}]));
        self.diagnostics(uri, Some(version))
    }

    /// Waits for diagnostics of a file that are as they should be: news of other files may make them so later.
    pub(crate) fn diagnostics_until(&mut self, uri: &str, are: impl Fn(&[Value]) -> bool) -> Vec<Value> {
        let message = self.wait(&format!("such diagnostics of {uri}"), |message| {
            message["method"] == "textDocument/publishDiagnostics"
                && message["params"]["uri"] == uri
                && are(message["params"]["diagnostics"].as_array().expect("an array"))
        });
        message["params"]["diagnostics"].as_array().expect("an array").clone()
    }

    /// Waits for the process to end.
    pub(crate) fn exit(&mut self) -> ExitStatus {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.child.try_wait().expect("a process") {
                return status;
            }
            assert!(Instant::now() < deadline, "the server is still there");
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    /// Ends the session in order.
    pub(crate) fn shut_down(mut self) {
        self.request("shutdown", Value::Null);
        self.notify("exit", Value::Null);
        assert_eq!(self.exit().code(), Some(0));
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        // It has ended already, or the test has failed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn read_message(reader: &mut impl BufRead) -> Option<Value> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        match line.trim() {
            "" => break,
            header => {
                if let Some(value) = header.strip_prefix("Content-Length: ") {
                    length = value.parse().ok()?;
                }
            }
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    serde_json::from_slice(&body).ok()
}
