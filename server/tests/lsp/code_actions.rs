//! Code actions: what is offered where, and that the document is right once the client has made an edit.

use serde_json::{Value, json};

use crate::client::{Client, pushed};
use crate::project::{Project, entry};

/// The capabilities of a client that takes code actions, in an encoding.
fn capabilities(encoding: &str, versioned: bool, resolves: bool) -> Value {
    let mut capabilities = pushed();
    capabilities["general"]["positionEncodings"] = json!([encoding]);
    capabilities["textDocument"]["codeAction"] = json!({
        "codeActionLiteralSupport": {"codeActionKind": {"valueSet": ["", "quickfix", "refactor", "source"]}},
        "isPreferredSupport": true, "dataSupport": true
    });
    if resolves {
        capabilities["textDocument"]["codeAction"]["resolveSupport"] = json!({"properties": ["edit"]});
    }
    capabilities["workspace"]["workspaceEdit"] = json!({"documentChanges": versioned});
    capabilities
}

/// Where the byte `offset` of a text is to a client.
fn position(text: &str, offset: usize, encoding: &str) -> Value {
    let line = text[..offset].rfind('\n').map_or(0, |at| at + 1);
    let before = &text[line..offset];
    let character = if encoding == "utf-8" { before.len() } else { before.encode_utf16().count() };
    json!({"line": text[..offset].matches('\n').count(), "character": character})
}

/// The byte that a position of a client is.
fn offset(text: &str, position: &Value, encoding: &str) -> usize {
    let line = position["line"].as_u64().expect("a line") as usize;
    let start: usize = text.split_inclusive('\n').take(line).map(str::len).sum();
    let mut left = position["character"].as_u64().expect("a character") as usize;
    let mut at = start;
    for c in text[start..].chars() {
        if left == 0 {
            break;
        }
        left -= if encoding == "utf-8" { c.len_utf8() } else { c.len_utf16() };
        at += c.len_utf8();
    }
    at
}

/// A text with the edits of a code action made, as a client makes them.
fn edited(text: &str, edits: &Value, encoding: &str) -> String {
    let mut edits: Vec<(usize, usize, &str)> = edits
        .as_array()
        .expect("edits")
        .iter()
        .map(|edit| {
            let at = |end: &str| offset(text, &edit["range"][end], encoding);
            (at("start"), at("end"), edit["newText"].as_str().expect("a text"))
        })
        .collect();
    edits.sort_unstable();
    let mut text = text.to_owned();
    for (start, end, new) in edits.into_iter().rev() {
        text.replace_range(start..end, new);
    }
    text
}

struct Session {
    client: Client,
    uri: String,
    text: String,
    encoding: &'static str,
    _project: Project,
}

impl Session {
    fn new(text: &str, encoding: &'static str, versioned: bool, resolves: bool) -> Self {
        let project = Project::new(&[("manifest/demo.yaml", text)]);
        let uri = project.uri("manifest/demo.yaml");
        let mut client = Client::start(project.root(), capabilities(encoding, versioned, resolves));
        client.open(&uri, 7, text);
        client.diagnostics(&uri, Some(7));
        Session { client, uri, text: text.to_owned(), encoding, _project: project }
    }

    /// What is offered at `needle`; of some kinds only, where they are given.
    fn actions(&mut self, needle: &str, only: Option<&[&str]>) -> Vec<Value> {
        let at = self.text.find(needle).expect("the text has it");
        let place = |at| position(&self.text, at, self.encoding);
        let range = json!({"start": place(at), "end": place(at + needle.len())});
        let mut context = json!({"diagnostics": []});
        if let Some(only) = only {
            context["only"] = json!(only);
        }
        let params = json!({"textDocument": {"uri": self.uri}, "range": range, "context": context});
        let answer = self.client.request("textDocument/codeAction", params);
        answer.as_array().expect("a list").clone()
    }

    fn edits<'a>(&self, action: &'a Value) -> &'a Value {
        match action["edit"].get("documentChanges") {
            Some(changes) => {
                assert_eq!(changes[0]["textDocument"], json!({"uri": self.uri, "version": 7}));
                &changes[0]["edits"]
            }
            None => &action["edit"]["changes"][&self.uri],
        }
    }

    fn made(&self, action: &Value) -> String {
        edited(&self.text, self.edits(action), self.encoding)
    }
}

fn titled<'a>(actions: &'a [Value], title: &str) -> &'a Value {
    let found = actions.iter().find(|action| action["title"] == title);
    found.unwrap_or_else(|| panic!("no `{title}` among {actions:#?}"))
}

/// An entry with defects behind characters of several bytes.
fn wrong() -> String {
    entry("AFwdOp", "[M]")
        .replace("family: demo", "family: demo  # \u{1d538} \u{e9}")
        .replace("shape: \"[M]\"}}\n    outputs", "\"shape\": \"[M]\", \"contigous\": true}}  # \u{1d538}\n    outputs")
        .replace("flops: \"M\"", "\"\\u0066lpos\": \"M\"")
        .replace("label: small", "label: \"\u{1d538} small\"")
}

#[test]
fn a_quick_fix_is_made_in_every_encoding_and_line_end() {
    for encoding in ["utf-8", "utf-16"] {
        for end in ["\n", "\r\n"] {
            let text = wrong().replace('\n', end);
            let mut session = Session::new(&text, encoding, true, true);
            let actions = session.actions("contigous", None);
            let rename = titled(&actions, "Replace `contigous` by `contiguous`");
            assert_eq!((&rename["kind"], &rename["isPreferred"]), (&json!("quickfix"), &json!(true)));
            assert_eq!(rename["diagnostics"][0]["code"], "unknown-key");
            assert_eq!(session.made(rename), text.replace("contigous", "contiguous"));
            let removal = titled(&actions, "Remove `contigous`");
            assert_eq!(removal["isPreferred"], Value::Null);
            assert_eq!(session.made(removal), text.replace(", \"contigous\": true", ""));
            let suppression = titled(&actions, "Suppress `unknown-key` here");
            // The line has a comment already, so this one stands above.
            let comment = format!("    # tileops: ignore[unknown-key]{end}    inputs:");
            assert_eq!(session.made(suppression), text.replace("    inputs:", &comment));
            let label = session.actions("\u{1d538} small", None);
            let label = titled(&label, "Replace `\u{1d538} small` by `small`");
            assert_eq!(session.made(label), text.replace("\u{1d538} small", "small"));
            session.client.shut_down();
        }
    }
}

#[test]
fn what_is_made_is_not_wrong_any_more() {
    let mut session = Session::new(&wrong(), "utf-16", false, false);
    let (uri, text) = (session.uri.clone(), session.text.clone());
    let actions = session.actions("contigous", Some(&["quickfix"]));
    assert!(actions.iter().all(|action| action["kind"] == "quickfix"), "{actions:#?}");
    let before = session.client.diagnostics_of(&uri, 8, &text);
    for (version, title) in [(9, "Replace `contigous` by `contiguous`"), (10, "Suppress `unknown-key` here")] {
        let made = session.made(titled(&actions, title));
        let after = session.client.diagnostics_of(&uri, version, &made);
        assert_eq!(after.len() + 1, before.len(), "{title}: {after:#?}");
    }
    session.client.shut_down();
}

#[test]
fn kinds_that_are_asked_for_are_given() {
    let text = wrong();
    let mut session = Session::new(&text, "utf-16", true, false);
    let kinds = |actions: &[Value]| {
        let mut kinds: Vec<String> =
            actions.iter().map(|action| action["kind"].as_str().expect("a kind").to_owned()).collect();
        kinds.dedup();
        kinds
    };
    assert_eq!(kinds(&session.actions("contigous", Some(&["source"]))), ["source.fixAll.tileops"]);
    assert_eq!(kinds(&session.actions("contigous", Some(&["quickfix"]))), ["quickfix"]);
    assert_eq!(kinds(&session.actions("contigous", Some(&["refactor"]))), [""; 0]);
    // Without a defect there is nothing to do.
    assert_eq!(kinds(&session.actions("forall", None)), [""; 0]);
    let all = session.actions("AFwdOp", Some(&["source.fixAll"]));
    let expected =
        text.replace("contigous", "contiguous").replace("\u{1d538} small", "small").replace("\\u0066lpos", "flops");
    assert_eq!(session.made(&all[0]), expected);
    session.client.shut_down();
}

#[test]
fn fixing_all_is_resolved_when_it_is_chosen() {
    let text = wrong();
    let mut session = Session::new(&text, "utf-8", true, true);
    let actions = session.actions("contigous", None);
    let all = titled(&actions, "Fix all that is safe to fix").clone();
    assert_eq!((&all["kind"], all.get("edit")), (&json!("source.fixAll.tileops"), None));
    let resolved = session.client.request("codeAction/resolve", all);
    let made = session.made(&resolved);
    assert!(made.contains("contiguous") && made.contains("label: \"small\""), "{made}");
    session.client.shut_down();
}

#[test]
fn bytes_that_the_signature_says_can_be_dropped() {
    let text = entry("AFwdOp", "[M]").replace("flops: \"M\"}", "flops: \"M\", bytes: \"bytes(x) + 4 * M\"}");
    let mut session = Session::new(&text, "utf-16", true, false);
    let actions = session.actions("bytes(x)", Some(&["refactor.rewrite"]));
    let made = session.made(titled(&actions, "Drop `bytes`, which is the sum over the tensors"));
    assert_eq!(made, entry("AFwdOp", "[M]"));
    session.client.shut_down();
    let other = text.replace("4 * M", "8 * M");
    let mut session = Session::new(&other, "utf-16", true, false);
    assert_eq!(session.actions("bytes(x)", Some(&["refactor.rewrite"])), Vec::<Value>::new());
    session.client.shut_down();
}

#[test]
fn a_client_that_takes_commands_only_is_offered_none() {
    let text = wrong();
    let project = Project::new(&[("manifest/demo.yaml", &text)]);
    let mut client = Client::spawn();
    let answer = client.initialize(project.root(), pushed(), Value::Null);
    assert_eq!(answer["capabilities"].get("codeActionProvider"), None);
    client.shut_down();
}
