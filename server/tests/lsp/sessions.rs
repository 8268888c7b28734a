//! Random sessions with the real server, over its real pipes: the same that `lsp/model` plays inside the process, with
//! cancellations as a client sends them. At the end, what is wrong is what a fresh check of a copy of the texts finds.
//! `TILEOPS_PIPE_SESSIONS` says how many there are and `TILEOPS_SEED` where they begin.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::client::{Client, PATIENCE, pulling, pushed};
use crate::project::{Project, plain};
use crate::script::{self, At, ERRORS, FILES, Numbers, Units};

struct Session {
    numbers: Numbers,
    units: Units,
    pull: bool,
    project: Project,
    client: Client,
    open: BTreeMap<String, String>,
    disk: BTreeMap<String, String>,
    version: i32,
    settings: Value,
    asked: Vec<(i64, &'static str)>,
    log: String,
}

impl Session {
    fn start(seed: u64) -> Self {
        let mut numbers = Numbers(seed);
        let project = Project::new(&[("tileops.toml", "manifest = [\"manifest\"]\n")]);
        std::fs::create_dir(project.path("manifest")).expect("made");
        let mut disk = BTreeMap::new();
        for file in FILES.iter().take(4) {
            if !numbers.one_in(4) {
                let text = script::text_of(file, &mut numbers);
                project.write(&format!("manifest/{file}"), &text);
                disk.insert((*file).to_owned(), text);
            }
        }
        let (units, name) =
            [(Units::Utf8, "utf-8"), (Units::Utf16, "utf-16"), (Units::Utf32, "utf-32")][numbers.below(3)];
        let pull = numbers.one_in(3);
        let mut capabilities = if pull { pulling() } else { pushed() };
        capabilities["general"]["positionEncodings"] = json!([name]);
        let mut client = Client::start(project.root(), capabilities);
        client.configuration = Some(json!({}));
        Session {
            numbers,
            units,
            pull,
            project,
            client,
            open: BTreeMap::new(),
            disk,
            version: 0,
            settings: json!({}),
            asked: Vec::new(),
            log: String::new(),
        }
    }

    fn uri(&self, file: &str) -> String {
        self.project.uri(&format!("manifest/{file}"))
    }

    fn note(&mut self, what: &str) {
        writeln!(self.log, "{what}").expect("a string takes it");
    }

    fn step(&mut self) {
        let file = FILES[self.numbers.below(FILES.len())];
        match self.numbers.below(20) {
            0..=7 => {
                let edits = if self.numbers.one_in(6) { 12 } else { 1 + self.numbers.below(2) };
                for _ in 0..edits {
                    self.edit(file);
                }
            }
            8 | 9 => self.open_or_close(file),
            10 | 11 => self.change_on_disk(file),
            12 => {
                self.settings = script::settings(&mut self.numbers);
                self.client.configuration = Some(self.settings.clone());
                self.note(&format!("settings {}", self.settings));
                let params = json!({"settings": {"tileops": self.settings}});
                self.client.notify("workspace/didChangeConfiguration", params);
            }
            _ => self.ask(file),
        }
        if self.numbers.one_in(5) {
            self.client.idle(Duration::from_millis(self.numbers.below(5) as u64));
        }
    }

    fn edit(&mut self, file: &str) {
        self.version += 1;
        let mut text = self.open.get(file).cloned().unwrap_or_default();
        let changes = script::edits(&mut self.numbers, file, &mut text, self.units);
        self.note(&format!("change {file} {changes:?}"));
        self.client.change(&self.uri(file), self.version, Value::Array(changes));
        // Of a document that is not open nothing changes.
        if let Some(before) = self.open.get_mut(file) {
            *before = text;
        }
    }

    fn open_or_close(&mut self, file: &str) {
        let uri = self.uri(file);
        if self.open.remove(file).is_some() {
            self.note(&format!("close {file}"));
            return self.client.close(&uri);
        }
        let same = self.disk.get(file).filter(|_| !self.numbers.one_in(3)).cloned();
        let text = same.unwrap_or_else(|| script::text_of(file, &mut self.numbers));
        self.version += 1;
        self.note(&format!("open {file} {text:?}"));
        self.client.open(&uri, self.version, &text);
        self.open.insert(file.to_owned(), text);
    }

    fn change_on_disk(&mut self, file: &str) {
        let path = format!("manifest/{file}");
        let kind = if self.numbers.one_in(3) && self.disk.remove(file).is_some() {
            std::fs::remove_file(self.project.path(&path)).expect("removed");
            3
        } else {
            let text = script::text_of(file, &mut self.numbers);
            self.project.write(&path, &text);
            if self.disk.insert(file.to_owned(), text).is_some() { 2 } else { 1 }
        };
        self.note(&format!("on disk {file} {kind} {:?}", self.disk.get(file)));
        let changes = json!([{"uri": self.uri(file), "type": kind}]);
        self.client.notify("workspace/didChangeWatchedFiles", json!({"changes": changes}));
    }

    fn ask(&mut self, file: &str) {
        let text = self.open.get(file).or_else(|| self.disk.get(file)).cloned().unwrap_or_default();
        let uri = self.uri(file);
        let (method, params) = script::question(&mut self.numbers, &uri, &text, self.units);
        self.note(&format!("{method} {file} {params}"));
        let id = self.client.send(method, params);
        self.asked.push((id, method));
        if self.numbers.one_in(3) {
            let (id, _) = self.asked[self.numbers.below(self.asked.len())];
            self.client.notify("$/cancelRequest", json!({"id": id}));
        }
    }

    fn finish(mut self) -> Result<(), String> {
        for (id, method) in std::mem::take(&mut self.asked) {
            let answer = self.client.answer(id);
            let code = answer.pointer("/error/code").and_then(Value::as_i64);
            if code.is_some_and(|code| !ERRORS.contains(&code)) {
                return Err(format!("{method}: {answer}\n{}", self.log));
            }
        }
        let expected = self.checked();
        let until = Instant::now() + PATIENCE;
        let mut published: BTreeMap<String, Vec<Value>> = BTreeMap::new();
        loop {
            for message in self.client.take("textDocument/publishDiagnostics") {
                let uri = message["params"]["uri"].as_str().expect("an address").to_owned();
                let found = message["params"]["diagnostics"].as_array().expect("an array").clone();
                published.insert(uri, found);
            }
            let mut wrong = None;
            for file in FILES {
                let uri = self.uri(file);
                let found = if self.pull {
                    self.client.request("textDocument/diagnostic", json!({"textDocument": {"uri": uri}}))["items"]
                        .as_array()
                        .expect("items")
                        .clone()
                } else {
                    published.get(&uri).cloned().unwrap_or_default()
                };
                let mut found = plain(&found);
                let mut due = expected.get(file).cloned().unwrap_or_default();
                let by_text = |value: &Value| value.to_string();
                found.sort_by_key(by_text);
                due.sort_by_key(by_text);
                if found != due {
                    wrong = Some(format!("{file}: {found:#?}\nis not what check mode says:\n{due:#?}\n{}", self.log));
                    break;
                }
            }
            match wrong {
                None => break,
                // News of other files may be under way.
                Some(_) if Instant::now() < until => self.client.idle(Duration::from_millis(20)),
                Some(wrong) => return Err(wrong),
            }
        }
        self.client.shut_down();
        Ok(())
    }

    /// What check mode says of a copy of the files, with the texts that are open in place of those on disk.
    fn checked(&self) -> BTreeMap<String, Vec<Value>> {
        let copy = Project::new(&[("tileops.toml", "manifest = [\"manifest\"]\n")]);
        std::fs::create_dir(copy.path("manifest")).expect("made");
        let mut files = self.disk.clone();
        files.extend(self.open.clone());
        for (file, text) in &files {
            copy.write(&format!("manifest/{file}"), text);
        }
        let mut options = Vec::new();
        for (code, level) in self.settings["codes"].as_object().into_iter().flatten() {
            let option = if level == "advisory" { "warn" } else { level.as_str().expect("a level") };
            options.extend([format!("--{option}"), code.clone()]);
        }
        if self.settings["unreached"] == true {
            options.push("--unreached".to_owned());
        }
        // Check mode counts characters.
        let place = |file: &str, at: &Value| {
            let at = |name: &str| at[name].as_u64().expect("a number") as u32;
            let text = &files[file];
            let offset = script::offset(text, At { line: at("line"), character: at("character") }, Units::Utf32);
            script::position(text, offset, self.units).json()
        };
        let range = |file: &str, range: &Value| json!({"start": place(file, &range["start"]), "end": place(file, &range["end"])});
        let mut found = BTreeMap::new();
        let options: Vec<&str> = options.iter().map(String::as_str).collect();
        for (path, mut items) in copy.checked_with(&options) {
            let name = |path: &str| path.rsplit('/').next().expect("a name").to_owned();
            let file = name(&path);
            for item in &mut items {
                item[3] = range(&file, &item[3]);
                for related in item[4].as_array_mut().expect("an array") {
                    let other = name(related[0].as_str().expect("an address"));
                    related[1] = range(&other, &related[1]);
                    related[0] = json!(self.uri(&other));
                }
            }
            found.insert(file, items);
        }
        found
    }
}

#[test]
fn random_sessions_over_pipes_end_as_check_mode_says() {
    let number = |name: &str, other| std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(other);
    let (first, sessions) = (number("TILEOPS_SEED", 1), number("TILEOPS_PIPE_SESSIONS", 40));
    for seed in first..first + sessions {
        let mut session = Session::start(seed);
        let steps = 5 + session.numbers.below(30);
        for _ in 0..steps {
            session.step();
        }
        session.finish().unwrap_or_else(|why| panic!("TILEOPS_SEED={seed}: {why}"));
    }
}
