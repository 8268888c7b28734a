//! `$/cancelRequest`: a request is answered once, whenever its cancellation comes.

use std::time::Duration;

use serde_json::{Value, json};

use crate::client::{Client, pulling, pushed};
use crate::project::Project;

const CANCELLED: i64 = -32800;

fn frame(message: &Value) -> Vec<u8> {
    let body = message.to_string();
    format!("Content-Length: {}\r\n\r\n{body}", body.len()).into_bytes()
}

fn code(answer: &Value) -> Option<i64> {
    answer.pointer("/error/code").and_then(Value::as_i64)
}

/// Nothing more comes with an id that was answered.
fn assert_silence(client: &mut Client, ids: &[i64]) {
    client.request("tileops/debugInfo", Value::Null);
    client.idle(Duration::from_millis(200));
    let again = client.answered().filter(|answer| ids.iter().any(|id| answer["id"] == json!(id))).count();
    assert_eq!(again, 0);
}

#[test]
fn before_the_answer_the_request_ends_with_the_error_that_says_so() {
    let project = Project::own();
    let (path, mut client) = ("manifest/gemm.yaml", Client::start(project.root(), pulling()));
    let (uri, text) = (project.uri(path), project.read(path));
    client.open(&uri, 1, &text);
    // Request and cancellation stand in the pipe together, behind work: the whole workspace is judged for an answer.
    let mut ids = Vec::new();
    let mut cancelled = 0;
    for version in 2..30 {
        let id = 1_000 + i64::from(version);
        ids.push(id);
        let mut bytes = frame(&json!({
            "jsonrpc": "2.0", "method": "textDocument/didChange", "params": {
                "textDocument": {"uri": uri, "version": version},
                "contentChanges": [{"text": text.replace("4096", &format!("{}", 4096 + version))}]
            }
        }));
        bytes.extend(frame(&json!({
            "jsonrpc": "2.0", "id": id, "method": "workspace/diagnostic", "params": {"previousResultIds": []}
        })));
        bytes.extend(frame(&json!({"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": id}})));
        client.write_raw(&bytes);
        let answer = client.answer(id);
        match code(&answer) {
            Some(CANCELLED) => cancelled += 1,
            code => assert!(matches!(code, None | Some(-32801)), "{answer}"),
        }
    }
    // One or another may have been answered first; most were not.
    assert!(cancelled > 14, "{cancelled} of {} were cancelled", ids.len());
    assert_silence(&mut client, &ids);
    // The document is what the last edit made of it, and is answered about.
    let report = client.request("textDocument/diagnostic", json!({"textDocument": {"uri": uri}}));
    assert_eq!(report["kind"], "full");
    client.shut_down();
}

#[test]
fn after_the_answer_and_for_what_nobody_asked_it_is_no_trouble() {
    let project = Project::own();
    let (path, mut client) = ("manifest/norm.yaml", Client::start(project.root(), pushed()));
    let uri = project.uri(path);
    client.open(&uri, 1, &project.read(path));
    client.diagnostics(&uri, Some(1));
    let mut ids = Vec::new();
    for _ in 0..20 {
        let params = json!({"textDocument": {"uri": uri}, "position": {"line": 3, "character": 3}});
        let id = client.send("textDocument/hover", params);
        assert!(client.answer(id).get("error").is_none());
        client.notify("$/cancelRequest", json!({"id": id}));
        ids.push(id);
    }
    for params in [json!({"id": 987_654}), json!({"id": "a name"}), json!({"id": null}), json!({}), json!(7)] {
        client.notify("$/cancelRequest", params);
    }
    assert_silence(&mut client, &ids);
    assert!(client.came("window/showMessage").is_empty());
    client.shut_down();
}
