//! The ways in which a session ends. Each ends the process, and promptly.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::client::{Client, pushed};
use crate::project::{Project, entry};

fn session() -> (Project, Client) {
    let project = Project::new(&[("manifest/demo.yaml", &entry("AFwdOp", "[M]"))]);
    let client = Client::start(project.root(), pushed());
    (project, client)
}

/// How long an end may take. Without other work it takes a hundredth of that.
const PROMPT: Duration = Duration::from_secs(10);

#[test]
fn shutdown_then_exit() {
    for params in [Some(Value::Null), Some(json!({})), None] {
        let (_project, mut client) = session();
        let mut message = json!({"jsonrpc": "2.0", "id": 77, "method": "shutdown"});
        if let Some(params) = params {
            message["params"] = params;
        }
        client.write(&message);
        let answer = client.answer(77);
        assert_eq!(answer.get("result"), Some(&Value::Null), "{answer}");
        client.notify("exit", Value::Null);
        let since = Instant::now();
        assert_eq!(client.exit().code(), Some(0));
        assert!(since.elapsed() < PROMPT);
    }
}

#[test]
fn after_shutdown_requests_are_refused() {
    let (project, mut client) = session();
    client.request("shutdown", Value::Null);
    let id =
        client.send("textDocument/diagnostic", json!({"textDocument": {"uri": project.uri("manifest/demo.yaml")}}));
    assert_eq!(client.answer(id)["error"]["code"], -32600);
    client.notify("exit", Value::Null);
    assert_eq!(client.exit().code(), Some(0));
}

#[test]
fn exit_alone_is_an_error() {
    let (_project, mut client) = session();
    // Its input stays open, as editors leave it.
    client.notify("exit", Value::Null);
    assert_eq!(client.exit().code(), Some(1));
}

#[test]
fn exit_before_the_start() {
    let mut client = Client::spawn();
    client.notify("exit", Value::Null);
    assert_eq!(client.exit().code(), Some(1));
}

#[test]
fn the_end_of_the_input() {
    let (_project, mut client) = session();
    client.close_stdin();
    assert_eq!(client.exit().code(), Some(1));
    let mut client = Client::spawn();
    client.close_stdin();
    assert_eq!(client.exit().code(), Some(1));
}

#[test]
fn what_came_before_the_end_of_the_input_is_answered() {
    let (_project, mut client) = session();
    let id = client.send("tileops/debugInfo", Value::Null);
    client.close_stdin();
    assert!(client.answer(id)["result"]["text"].is_string());
    client.exit();
}

#[cfg(unix)]
#[test]
fn a_signal() {
    let (_project, mut client) = session();
    let killed = Command::new("kill").args(["-TERM", &client.child.id().to_string()]).status().expect("kill");
    assert!(killed.success());
    let since = Instant::now();
    client.exit();
    assert!(since.elapsed() < PROMPT);
}

#[cfg(target_os = "linux")]
#[test]
fn a_parent_that_dies() {
    // The server's input stays open: this test holds it. Its parent, as it is told, is another process.
    let mut parent = Command::new("sleep").arg("1000").stdin(Stdio::null()).spawn().expect("a process");
    let mut client = Client::spawn();
    client.request("initialize", json!({"processId": parent.id(), "capabilities": {}, "rootUri": null}));
    client.notify("initialized", json!({}));
    client.idle(Duration::from_millis(1500));
    assert!(client.child.try_wait().expect("a process").is_none(), "its parent lives");
    parent.kill().expect("killed");
    // It is not waited for yet: a parent that died is gone all the same.
    client.exit();
    parent.wait().expect("it ended");
}
