//! What records say beside rows: read, read again when they change, stale when the entry does.

use serde_json::{Value, json};
use tileops_analyzer::fingerprint;

use crate::client::{Client, pushed};
use crate::project::{Project, entry};

const PROFILE: &str =
    "gpu: Test GPU\nhbm: {bandwidth: 1.0e+12}\ncuda_core: {fp32: {flops: 1.0e+14}}\nlatency_floor_ns: 100\n";
const CONFIG: &str = "records = [\"records/*.jsonl\"]\nprofile = \"profile.yaml\"\n";

fn record(text: &str, flops: u32, timed: bool) -> String {
    let timing = json!({"source": "cupti", "device_busy_ns": 2000.0});
    let mut record = json!({
        "schema": "tileops.record/1", "op": "AFwdOp", "case": "small", "flops": flops, "bytes": 1_000_000,
        "roof_key": "cuda_core.fp32", "entry_hash": fingerprint(text)
    });
    if timed {
        record["timing"] = timing;
        record["device"] = json!({"name": "Test GPU"});
    }
    format!("{record}\n")
}

fn labels(client: &mut Client, uri: &str) -> Vec<String> {
    let whole = json!({"start": {"line": 0, "character": 0}, "end": {"line": 999, "character": 0}});
    let hints = client.request("textDocument/inlayHint", json!({"textDocument": {"uri": uri}, "range": whole}));
    let labels = hints.as_array().expect("hints").iter().filter_map(|hint| hint["label"].as_str());
    labels.map(str::to_owned).collect()
}

/// Asks until one of the hints has a part: records are read while other things are answered.
#[track_caller]
fn wait_for(client: &mut Client, uri: &str, part: &str) -> Vec<String> {
    for _ in 0..2000 {
        let found = labels(client, uri);
        if found.iter().any(|label| label.contains(part)) {
            return found;
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    panic!("no {part:?} in {:?}", labels(client, uri));
}

#[test]
fn records_stand_beside_their_rows_and_are_stale_when_the_entry_changes() {
    let text = entry("AFwdOp", "[M]");
    let project = Project::new(&[
        ("manifest/demo.yaml", &text),
        ("tileops.toml", CONFIG),
        ("profile.yaml", PROFILE),
        ("records/a.jsonl", &record(&text, 40_000_000, true)),
    ]);
    let uri = project.uri("manifest/demo.yaml");
    let mut capabilities = pushed();
    capabilities["workspace"]["inlayHint"] = json!({"refreshSupport": true});
    let mut client = Client::start(project.root(), capabilities);
    client.open(&uri, 1, &text);
    // The client is told when they are there.
    client.wait("a refresh", |message| message["method"] == "workspace/inlayHint/refresh");
    let found = labels(&mut client, &uri);
    assert_eq!(
        found,
        ["32 B", "· 40.0 MFLOP, 40.0 FLOP/B, memory-bound, 50% of its roof", "bytes = 8*M  (read x; write y)"]
    );
    let line = text.lines().position(|line| line.contains("label: small")).expect("a row");
    let column = text.lines().nth(line).and_then(|line| line.find("small")).expect("a label");
    let position = json!({"textDocument": {"uri": uri}, "position": {"line": line, "character": column}});
    let hover = client.request("textDocument/hover", position);
    let said = hover["contents"]["value"].as_str().expect("a text");
    assert!(said.contains("32 bytes, 16 read, 16 written") && said.contains("efficiency: 50.0%"), "{said}");

    let edited = text.replace("flops: \"M\"", "flops: \"2 * M\"");
    client.change(&uri, 2, json!([{"text": edited}]));
    let found = labels(&mut client, &uri);
    assert!(found[1].ends_with("50% of its roof, stale"), "{found:?}");
    // Priced again, the record is of this text.
    project.write("records/b.jsonl", &record(&edited, 80_000_000, false));
    let change = json!({"uri": project.uri("records/b.jsonl"), "type": 1});
    client.notify("workspace/didChangeWatchedFiles", json!({"changes": [change]}));
    let found = wait_for(&mut client, &uri, "80.0 MFLOP");
    assert_eq!(found[1], "· 80.0 MFLOP, 80.0 FLOP/B, memory-bound");
    // A comment behind the entry is no change of it.
    client.change(&uri, 3, json!([{"text": format!("{edited}\n# The end.\n")}]));
    assert_eq!(labels(&mut client, &uri)[1], "· 80.0 MFLOP, 80.0 FLOP/B, memory-bound");
    // Its switch.
    client.configuration = Some(json!({"hints": {"records": false}}));
    client.notify("workspace/didChangeConfiguration", json!({"settings": null}));
    client.wait("a refresh", |message| message["method"] == "workspace/inlayHint/refresh");
    for _ in 0..200 {
        if labels(&mut client, &uri).len() == 2 {
            client.shut_down();
            return;
        }
    }
    panic!("the setting is not heeded");
}

#[test]
fn a_client_that_watches_nothing_sees_new_records_and_settings_name_them() {
    let text = entry("AFwdOp", "[M]");
    let project = Project::new(&[("manifest/demo.yaml", &text), ("profile.yaml", PROFILE)]);
    let uri = project.uri("manifest/demo.yaml");
    let mut capabilities = pushed();
    capabilities["workspace"]["didChangeWatchedFiles"] = json!({"dynamicRegistration": false});
    let options = json!({"records": ["records"], "profile": "profile.yaml"});
    let mut client = Client::start_with(project.root(), capabilities, options);
    client.open(&uri, 1, &text);
    assert_eq!(labels(&mut client, &uri).len(), 2);
    project.write("records/a.jsonl", &record(&text, 1000, false));
    wait_for(&mut client, &uri, "1.00 kFLOP");
    project.write("records/a.jsonl", &record(&text, 22_000, false));
    wait_for(&mut client, &uri, "22.0 kFLOP");
    // What is broken in them is said, once, and the rest holds.
    project.write("records/b.jsonl", "no record\n");
    // A request makes the server look.
    labels(&mut client, &uri);
    let said = client.wait("a warning", |message| message["method"] == "window/showMessage");
    assert!(said["params"]["message"].as_str().is_some_and(|text| text.contains("b.jsonl:1: not a record")), "{said}");
    client.shut_down();
}

#[cfg(unix)]
#[test]
fn the_server_prices_rows_with_the_program_that_it_is_told() {
    use std::os::unix::fs::PermissionsExt;

    let text = entry("AFwdOp", "[M]");
    let project = Project::new(&[("manifest/demo.yaml", &text), ("tileops.toml", CONFIG), ("profile.yaml", PROFILE)]);
    project.write("new.jsonl", &record(&text, 7_000_000, false));
    // `--price --manifest DIR --op OP --out FILE`
    let script = "#!/bin/sh\nif [ \"$5\" = BFwdOp ]; then echo 'no such row' >&2; exit 3; fi\ncp new.jsonl \"$7\"\n";
    project.write("bench.sh", script);
    let mode = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(project.path("bench.sh"), mode).expect("executable");
    let uri = project.uri("manifest/demo.yaml");
    let mut client = Client::start_with(project.root(), pushed(), json!({"bench": "./bench.sh"}));
    let text = text + &entry("BFwdOp", "[M]");
    client.open(&uri, 1, &text);
    let run = |client: &mut Client, op: &str| {
        client.request("workspace/executeCommand", json!({"command": "tileops.priceRows", "arguments": [op, uri]}))
    };
    assert_eq!(run(&mut client, "AFwdOp")["started"], true);
    client.wait("progress", |message| {
        message["method"] == "$/progress" && message["params"]["value"]["title"] == "Pricing the rows of AFwdOp"
    });
    client.wait("its end", |message| message["method"] == "$/progress" && message["params"]["value"]["kind"] == "end");
    wait_for(&mut client, &uri, "7.00 MFLOP");
    assert!(project.path("records/priced-AFwdOp.jsonl").exists());
    run(&mut client, "BFwdOp");
    let said = client.wait("an error", |message| message["method"] == "window/showMessage");
    let message = said["params"]["message"].as_str().expect("a text");
    assert!(message.contains("`BFwdOp` failed") && message.contains("no such row"), "{message}");
    // To time them takes a terminal, and perhaps another machine.
    let benched = client
        .request("workspace/executeCommand", json!({"command": "tileops.benchRows", "arguments": ["AFwdOp", uri]}));
    assert_eq!((&benched["started"], &benched["command"]), (&Value::Bool(false), &json!("./bench.sh")));
    client.shut_down();
}
