//! Storms, races, and clients that misbehave: the server answers or errors, and keeps every document exact.

use std::time::Duration;

use serde_json::{Value, json};

use crate::client::{Client, pulling, pushed};
use crate::project::{Project, entry, plain};

/// Numbers that look random and are the same every time.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % limit.max(1)
    }
}

fn units(text: &str, encoding: &str) -> usize {
    match encoding {
        "utf-8" => text.len(),
        "utf-16" => text.encode_utf16().count(),
        _ => text.chars().count(),
    }
}

/// The position of a byte offset that is between characters.
fn position(text: &str, offset: usize, encoding: &str) -> Value {
    let before = &text[..offset];
    let line = before.matches('\n').count();
    let start = before.rfind('\n').map_or(0, |at| at + 1);
    json!({"line": line, "character": units(&before[start..], encoding)})
}

/// A boundary between characters at or before a random place.
fn boundary(text: &str, numbers: &mut Numbers) -> usize {
    text.floor_char_boundary(numbers.below(text.len() + 1))
}

#[test]
fn a_storm_of_edits_requests_and_cancellations_leaves_the_document_exact() {
    for encoding in ["utf-8", "utf-16", "utf-32"] {
        let project = Project::own();
        let path = "manifest/norm.yaml";
        let uri = project.uri(path);
        let mut text = project.read(path);
        let mut capabilities = pushed();
        capabilities["general"]["positionEncodings"] = json!([encoding]);
        let mut client = Client::spawn();
        let answer = client.initialize(project.root(), capabilities, Value::Null);
        assert_eq!(answer["capabilities"]["positionEncoding"], encoding);
        client.open(&uri, 0, &text);
        let mut numbers = Numbers(encoding.len() as u64);
        let pieces = ["x", "\n", "  ", "😀", "é", ": ", "\"", "[", "# c\n", ""];
        let mut sent = Vec::new();
        for version in 1..=300 {
            let (a, b) = (boundary(&text, &mut numbers), numbers.below(6));
            let end = text.ceil_char_boundary((a + b).min(text.len()));
            let piece = pieces[numbers.below(pieces.len())];
            let range = json!({"start": position(&text, a, encoding), "end": position(&text, end, encoding)});
            client.change(&uri, version, json!([{"range": range, "text": piece}]));
            text.replace_range(a..end, piece);
            match numbers.below(5) {
                0 => sent.push(client.send("textDocument/diagnostic", json!({"textDocument": {"uri": uri}}))),
                1 => {
                    let id = client.send("textDocument/diagnostic", json!({"textDocument": {"uri": uri}}));
                    client.notify("$/cancelRequest", json!({"id": id}));
                    sent.push(id);
                }
                2 if version % 7 == 0 => client.idle(Duration::from_millis(3)),
                _ => {}
            }
        }
        for id in sent {
            let answer = client.answer(id);
            let code = answer.pointer("/error/code").and_then(Value::as_i64);
            assert!(matches!(code, None | Some(-32800 | -32801)), "{answer}");
        }
        // The text is what the edits made of it: at its end, what is wrong is what a fresh check finds.
        project.write(path, &text);
        let checked = project.checked(path);
        let columns = |d: &Value| d["range"].clone();
        let found = client.diagnostics(&uri, Some(300));
        let found = if found.len() == checked.len() {
            found
        } else {
            client.diagnostics_until(&uri, |f| f.len() == checked.len())
        };
        if encoding == "utf-32" {
            assert_eq!(plain(&found), checked);
        } else {
            let without = |items: &[Value]| items.iter().map(|i| json!([i[0], i[1], i[2]])).collect::<Vec<_>>();
            assert_eq!(without(&plain(&found)), without(&checked));
            for diagnostic in &found {
                let line = columns(diagnostic)["end"]["line"].as_u64().expect("a line") as usize;
                let width = text.split('\n').nth(line).map_or(0, |line| units(line, encoding));
                assert!(columns(diagnostic)["end"]["character"].as_u64().expect("a column") as usize <= width);
            }
        }
        client.shut_down();
    }
}

#[test]
fn two_edits_that_race_are_applied_in_order() {
    let project = Project::new(&[]);
    let uri = project.uri("manifest/demo.yaml");
    let mut client = Client::start(project.root(), pushed());
    client.open(&uri, 0, "");
    let (good, bad) = (entry("AFwdOp", "[M]"), entry("AFwdOp", "[Q]"));
    for round in 0..100 {
        // Both stand in the pipe before the server looks; were they swapped, the defect would stay.
        let mut bytes = Vec::new();
        for (version, text) in [(2 * round + 1, &bad), (2 * round + 2, &good)] {
            let params = json!({"textDocument": {"uri": uri, "version": version}, "contentChanges": [{"text": text}]});
            let body = json!({"jsonrpc": "2.0", "method": "textDocument/didChange", "params": params}).to_string();
            bytes.extend(format!("Content-Length: {}\r\n\r\n{body}", body.len()).bytes());
        }
        client.write_raw(&bytes);
        assert_eq!(client.diagnostics(&uri, Some(2 * round + 2)), [Value::Null; 0]);
    }
    client.shut_down();
}

#[test]
fn a_panic_costs_its_request() {
    let project = Project::new(&[("manifest/demo.yaml", &entry("AFwdOp", "[Q]"))]);
    let mut client = Client::start(project.root(), pushed());
    for _ in 0..3 {
        let id = client.send("workspace/executeCommand", json!({"command": "tileops.test.panic"}));
        let error = client.answer(id)["error"].clone();
        assert_eq!(error["code"], -32603);
        let message = error["message"].as_str().expect("a message");
        assert!(message.contains("workspace/executeCommand") && message.contains("a deliberate panic"), "{message}");
    }
    let id = client.send("workspace/executeCommand", json!({"command": "tileops.nothing"}));
    assert_eq!(client.answer(id)["error"]["code"], -32602);
    let info = client.request("workspace/executeCommand", json!({"command": "tileops.debugInfo"}));
    assert!(info.as_str().expect("a text").contains("client: test"));
    assert!(!client.diagnostics(&project.uri("manifest/demo.yaml"), None).is_empty());
    client.shut_down();
}

#[test]
fn closed_and_unknown_documents_are_no_trouble() {
    let project = Project::new(&[("manifest/demo.yaml", &entry("AFwdOp", "[M]"))]);
    let uri = project.uri("manifest/demo.yaml");
    let mut client = Client::start(project.root(), pulling());
    client.open(&uri, 1, "");
    client.close(&uri);
    for odd in [&*uri, "file:///nowhere/x.yaml", "untitled:y", "git:/a?x", "file://host/share/a.yaml", "a:b"] {
        client.change(odd, 5, json!([{"text": "x"}]));
        client.close(odd);
        client.notify("textDocument/didSave", json!({"textDocument": {"uri": odd}}));
        let report = client.request("textDocument/diagnostic", json!({"textDocument": {"uri": odd}}));
        assert_eq!(report["items"], json!([]), "{odd}");
        client.open(odd, 1, &entry("BFwdOp", "[Q]"));
        let report = client.request("textDocument/diagnostic", json!({"textDocument": {"uri": odd}}));
        assert!(!report["items"].as_array().expect("items").is_empty(), "{odd}");
        client.close(odd);
    }
    // Not even an address.
    client.open("not an address", 1, "x");
    let id = client.send("textDocument/diagnostic", json!({"textDocument": {"uri": "not an address"}}));
    assert_eq!(client.answer(id)["error"]["code"], -32602);
    client.shut_down();
}

#[test]
fn positions_in_no_text_are_clamped() {
    let project = Project::new(&[]);
    let uri = project.uri("manifest/demo.yaml");
    let mut client = Client::start(project.root(), pushed());
    client.open(&uri, 1, "a: 😀\r\nb");
    let far = json!({"line": 4_000_000_000_u32, "character": 4_000_000_000_u32});
    let changes = json!([
        {"range": {"start": {"line": 0, "character": 4}, "end": {"line": 0, "character": 4}}, "text": ""},
        {"range": {"start": far, "end": far}, "text": "c"},
        {"range": {"start": far, "end": {"line": 0, "character": 0}}, "text": entry("AFwdOp", "[Q]")}
    ]);
    client.change(&uri, 2, changes);
    project.write("manifest/demo.yaml", &entry("AFwdOp", "[Q]"));
    assert_eq!(plain(&client.diagnostics(&uri, Some(2))), project.checked("manifest/demo.yaml"));
    client.shut_down();
}

#[test]
fn a_client_that_never_answers_and_one_that_does_not_read() {
    let project = Project::own();
    let path = "manifest/gemm.yaml";
    let (uri, text) = (project.uri(path), project.read(path));
    let mut client = Client::spawn();
    client.answers = false;
    client.initialize(project.root(), pushed(), Value::Null);
    client.open(&uri, 0, &text);
    // Far more than any pipe holds, in both directions, without a look at what comes.
    for version in 1..=400 {
        let broken = text.replace("Dim", "Dmi");
        client.change(&uri, version, json!([{"text": if version % 2 == 0 { &text } else { &broken }}]));
        client.send("tileops/debugInfo", Value::Null);
    }
    client.diagnostics(&uri, Some(400));
    client.shut_down();
}

#[test]
fn a_client_that_answers_late_is_heard() {
    let project = Project::own();
    let mut client = Client::spawn();
    client.answers = false;
    let mut capabilities = pushed();
    capabilities["workspace"]["didChangeConfiguration"] = json!({"dynamicRegistration": true});
    client.initialize(project.root(), capabilities, Value::Null);
    let asked = client.wait("a question", |message| message["method"] == "workspace/configuration");
    let registered = client.wait("another", |message| message["method"] == "client/registerCapability");
    // Longer than the server waits for anything.
    client.idle(Duration::from_millis(10_500));
    for question in [asked, registered] {
        let result = if question["method"] == "workspace/configuration" { json!([null]) } else { Value::Null };
        client.write(&json!({"jsonrpc": "2.0", "id": question["id"], "result": result}));
    }
    assert!(client.request("tileops/debugInfo", Value::Null)["text"].is_string());
    client.shut_down();
}

#[test]
fn nonsense_is_answered_with_errors() {
    let project = Project::new(&[("manifest/demo.yaml", &entry("AFwdOp", "[M]"))]);
    let mut client = Client::spawn();
    let id = client.send("textDocument/diagnostic", json!({"textDocument": {"uri": "file:///x"}}));
    assert_eq!(client.answer(id)["error"]["code"], -32002, "before the start");
    let odd =
        json!({"processId": null, "rootUri": "nowhere", "capabilities": null, "workspaceFolders": [{"uri": "x"}]});
    let answer = client.request("initialize", odd);
    assert_eq!(answer["capabilities"]["positionEncoding"], "utf-16");
    client.notify("initialized", Value::Null);
    for params in [json!(null), json!(3), json!({}), json!({"textDocument": 1})] {
        let id = client.send("textDocument/diagnostic", params.clone());
        assert_eq!(client.answer(id)["error"]["code"], -32602, "{params}");
        client.notify("textDocument/didChange", params.clone());
        client.notify("workspace/didChangeWatchedFiles", params);
    }
    let id = client.send("tileops/nothing", json!({}));
    assert_eq!(client.answer(id)["error"]["code"], -32601);
    client.notify("$/nothing", json!({}));
    client.write_raw(b"Content-Length: 5\r\n\r\n{...}");
    client.wait("an error", |message| message["error"]["code"] == -32700);
    let uri = project.uri("manifest/demo.yaml");
    client.open(&uri, 1, &entry("AFwdOp", "[Q]"));
    assert!(!client.diagnostics(&uri, Some(1)).is_empty());
    client.shut_down();
}
