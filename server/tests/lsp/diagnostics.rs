//! Diagnostics: when they come, of which files, and that they are those of check mode.

use std::time::Duration;

use serde_json::{Value, json};

use crate::client::{Client, pulling, pushed};
use crate::project::{Project, entry, plain};

fn codes(diagnostics: &[Value]) -> Vec<&str> {
    diagnostics.iter().filter_map(|diagnostic| diagnostic["code"].as_str()).collect()
}

#[test]
fn a_defect_comes_and_goes_with_the_text() {
    let text = entry("AFwdOp", "[M]");
    let project = Project::new(&[("manifest/demo.yaml", &text)]);
    let uri = project.uri("manifest/demo.yaml");
    let mut client = Client::start(project.root(), pushed());
    client.open(&uri, 1, &text);
    assert_eq!(client.diagnostics(&uri, Some(1)), [Value::Null; 0]);
    let column = text.lines().nth(5).and_then(|line| line.find("[M]")).expect("the shape of `x`") + 1;
    let start = json!({"line": 5, "character": column});
    let end = json!({"line": 5, "character": column + 1});
    client.change(&uri, 2, json!([{"range": {"start": start, "end": end}, "text": "Q"}]));
    let found = client.diagnostics(&uri, Some(2));
    assert_eq!(codes(&found)[0], "unknown-name", "{found:?}");
    assert_eq!(found[0]["range"], json!({"start": start, "end": end}));
    assert_eq!(found[0]["source"], "tileops");
    assert!(found[0]["codeDescription"]["href"].as_str().is_some_and(|href| href.ends_with("/unknown-name.md")));
    client.change(&uri, 3, json!([{"text": text}]));
    assert_eq!(client.diagnostics(&uri, Some(3)), [Value::Null; 0]);
    client.shut_down();
}

#[test]
fn a_gpu_profile_is_judged_as_it_is_typed() {
    let text = "gpu: Test GPU\nhbm: {bandwidth: 1.0e+12}\nlatency_floor_ns: 0\n";
    let project = Project::new(&[("manifest/demo.yaml", &entry("AFwdOp", "[M]")), ("profiles/test.yaml", text)]);
    let uri = project.uri("profiles/test.yaml");
    let mut client = Client::start(project.root(), pushed());
    client.open(&uri, 1, text);
    assert_eq!(client.diagnostics(&uri, Some(1)), [Value::Null; 0]);
    client.change(&uri, 2, json!([{"text": text.replace("1.0e+12", "1.0e12")}]));
    assert_eq!(codes(&client.diagnostics(&uri, Some(2))), ["ambiguous-scalar"]);
    client.change(&uri, 3, json!([{"text": text.replace("12}", "12, calibration: 1.5}")}]));
    let found = client.diagnostics(&uri, Some(3));
    assert_eq!(codes(&found), ["profile-number"]);
    assert_eq!(found[0]["range"]["start"], json!({"line": 1, "character": 39}));
    client.shut_down();
}

#[test]
fn the_whole_workspace_is_judged_at_the_start() {
    let project = Project::new(&[
        ("manifest/demo.yaml", &entry("AFwdOp", "[M]")),
        ("manifest/demo_bad.yaml", &entry("BFwdOp", "[Q]")),
        ("elsewhere/demo.yaml", &entry("BFwdOp", "[Q]")),
    ]);
    let mut client = Client::start(project.root(), pushed());
    let found = client.diagnostics(&project.uri("manifest/demo_bad.yaml"), None);
    assert_eq!(plain(&found), project.checked("manifest/demo_bad.yaml"));
    assert!(!found.is_empty());
    client.idle(Duration::from_millis(300));
    // Clean files need no word, and other folders are no manifest.
    assert!(client.came("textDocument/publishDiagnostics").is_empty());
    client.shut_down();
}

#[test]
fn other_files_are_told_exactly_where_they_are_touched() {
    let text = entry("AFwdOp", "[M]");
    let project = Project::new(&[
        ("manifest/demo.yaml", &text),
        ("manifest/demo_more.yaml", &entry("BFwdOp", "[M]")),
        ("manifest/demo_third.yaml", &entry("CFwdOp", "[M]")),
    ]);
    let (uri, more) = (project.uri("manifest/demo.yaml"), project.uri("manifest/demo_more.yaml"));
    let mut client = Client::start(project.root(), pushed());
    client.open(&uri, 1, &text);
    client.diagnostics(&uri, Some(1));
    client.change(&uri, 2, json!([{"text": entry("BFwdOp", "[M]")}]));
    let found = client.diagnostics_until(&more, |found| !found.is_empty());
    assert_eq!(codes(&found), ["duplicate-op"]);
    assert_eq!(found[0]["relatedInformation"][0]["location"]["uri"], uri);
    // The place that it names moves with the text.
    client.change(&uri, 3, json!([{"text": format!("# moved\n{}", entry("BFwdOp", "[M]"))}]));
    let found = client.diagnostics_until(&more, |found| {
        found.first().is_some_and(|d| d["relatedInformation"][0]["location"]["range"]["start"]["line"] == 1)
    });
    assert_eq!(codes(&found), ["duplicate-op"]);
    client.change(&uri, 4, json!([{"text": text}]));
    client.diagnostics_until(&more, <[Value]>::is_empty);
    let third = project.uri("manifest/demo_third.yaml");
    assert!(client.came("textDocument/publishDiagnostics").iter().all(|message| message["params"]["uri"] != third));
    client.shut_down();
}

#[test]
fn a_changed_type_is_told_to_those_that_name_it() {
    let types = "adts:\n  A: {sum: {one: {}, two: {fields: {n: Dim}}}}\n";
    let named = entry("AFwdOp", "[M]").replace("    inputs", "    params: {p: {type: A}}\n    inputs");
    let named = named.replace("{M: 4,", "{M: 4, p: {two: {n: 3}},");
    let project = Project::new(&[("manifest/types.yaml", types), ("manifest/demo.yaml", &named)]);
    let (uri, types_uri) = (project.uri("manifest/demo.yaml"), project.uri("manifest/types.yaml"));
    let before = project.checked("manifest/demo.yaml");
    let mut client = Client::start(project.root(), pushed());
    client.open(&types_uri, 1, types);
    client.open(&uri, 1, &named);
    assert_eq!(plain(&client.diagnostics(&uri, Some(1))), before);
    client.change(&types_uri, 2, json!([{"text": types.replace("n: Dim", "n: Bool")}]));
    project.write("manifest/types.yaml", &types.replace("n: Dim", "n: Bool"));
    let after = project.checked("manifest/demo.yaml");
    assert_ne!(before, after);
    client.diagnostics_until(&uri, |found| plain(found) == after);
    client.shut_down();
}

#[test]
fn the_end_of_an_edit_is_what_check_mode_says() {
    let project = Project::own();
    let path = "manifest/gemm.yaml";
    let uri = project.uri(path);
    let text = project.read(path);
    let mut client = Client::start(project.root(), pushed());
    client.open(&uri, 1, &text);
    client.diagnostics(&uri, Some(1));
    let edited = text.replacen("Dim", "Dmi", 1).replacen("flops:", "flop:", 1).replacen("float16", "flaot16", 2);
    client.change(&uri, 2, json!([{"text": edited}]));
    project.write(path, &edited);
    let checked = project.checked(path);
    assert!(checked.len() > 2, "{checked:?}");
    client.diagnostics_until(&uri, |found| plain(found) == checked);
    client.shut_down();
}

#[test]
fn comments_levels_and_settings_are_heeded() {
    let bad = entry("AFwdOp", "[Q]");
    let project = Project::new(&[("manifest/demo.yaml", &bad)]);
    let uri = project.uri("manifest/demo.yaml");
    let mut client = Client::start(project.root(), pushed());
    client.open(&uri, 1, &bad);
    let all = client.diagnostics(&uri, Some(1));
    assert!(codes(&all).contains(&"unknown-name"));
    client.change(&uri, 2, json!([{"text": format!("# tileops: ignore[unknown-name]\n{bad}")}]));
    let found = client.diagnostics(&uri, Some(2));
    assert!(!codes(&found).contains(&"unknown-name"), "{found:?}");
    client.change(&uri, 3, json!([{"text": bad}]));
    client.diagnostics(&uri, Some(3));

    // The editor's word, at run time.
    client.configuration = Some(json!({"codes": {"unknown-name": "advisory"}}));
    client.notify("workspace/didChangeConfiguration", json!({"settings": null}));
    client.diagnostics_until(&uri, |found| found.iter().any(|d| d["code"] == "unknown-name" && d["severity"] == 2));
    // The project's word goes before it.
    project.write("tileops.toml", "[codes]\nunknown-name = \"ignore\"\n");
    let change = json!({"uri": project.uri("tileops.toml"), "type": 1});
    client.notify("workspace/didChangeWatchedFiles", json!({"changes": [change]}));
    let found = client.diagnostics_until(&uri, |found| found.iter().all(|d| d["code"] != "unknown-name"));
    assert_eq!(plain(&found), project.checked("manifest/demo.yaml"));
    client.configuration = Some(json!({"unreached": true}));
    client.notify("workspace/didChangeConfiguration", json!({"settings": null}));
    let found = client.diagnostics_until(&uri, |found| found.iter().any(|d| d["severity"] == 4));
    assert!(codes(&found).contains(&"unreached"));
    client.shut_down();
}

#[test]
fn an_unknown_setting_is_said_once() {
    let project = Project::new(&[("manifest/demo.yaml", &entry("AFwdOp", "[M]"))]);
    let mut client = Client::start_with(project.root(), pushed(), json!({"unreachd": true}));
    let said = client.wait("a warning", |message| message["method"] == "window/showMessage");
    assert!(said["params"]["message"].as_str().is_some_and(|text| text.contains("`tileops.unreachd`")), "{said}");
    client.configuration = Some(json!({"unreachd": true}));
    client.notify("workspace/didChangeConfiguration", json!({"settings": null}));
    client.idle(Duration::from_millis(300));
    assert!(client.came("window/showMessage").is_empty());
    client.shut_down();
}

#[test]
fn only_manifests_are_judged_and_the_reason_is_said() {
    let project = Project::new(&[("manifest/demo.yaml", &entry("AFwdOp", "[M]"))]);
    let mut client = Client::start(project.root(), pushed());
    let cases = [
        (project.uri("manifest/new.yaml"), "", true, "manifest"),
        (project.uri("docker-compose.yaml"), "services:\n  a: {image: b}\n", false, "none"),
        (project.uri("other/demo.yaml"), &*entry("BFwdOp", "[Q]"), true, "manifest"),
        ("untitled:Untitled-1".to_owned(), &*entry("CFwdOp", "[Q]"), true, "manifest"),
        ("untitled:Untitled-2".to_owned(), "just: text\n", false, "none"),
    ];
    for (uri, text, manifest, kind) in cases {
        client.open(&uri, 1, text);
        let found = client.diagnostics(&uri, Some(1));
        assert_eq!(found.iter().any(|d| d["code"] == "unknown-name"), text.contains('Q'), "{uri}: {found:?}");
        assert!(manifest || found.is_empty());
        let status = client.wait("a status", |m| m["method"] == "tileops/status" && m["params"]["uri"] == uri);
        assert_eq!(
            (&status["params"]["manifest"], &status["params"]["kind"]),
            (&json!(manifest), &json!(kind)),
            "{uri}"
        );
        assert!(!status["params"]["reason"].as_str().expect("a reason").is_empty());
    }
    client.shut_down();
}

#[test]
fn what_is_closed_and_not_on_disk_is_cleared() {
    let project = Project::new(&[("manifest/demo.yaml", &entry("AFwdOp", "[M]"))]);
    let mut client = Client::start(project.root(), pushed());
    for uri in [project.uri("manifest/demo_new.yaml"), "untitled:x".to_owned()] {
        client.open(&uri, 1, &entry("BFwdOp", "[Q]"));
        assert!(!client.diagnostics(&uri, Some(1)).is_empty());
        client.close(&uri);
        client.diagnostics_until(&uri, <[Value]>::is_empty);
    }
    // What is on disk counts again once its editor has closed it.
    let uri = project.uri("manifest/demo.yaml");
    client.open(&uri, 7, &entry("AFwdOp", "[Q]"));
    assert!(!client.diagnostics(&uri, Some(7)).is_empty());
    client.close(&uri);
    client.diagnostics_until(&uri, <[Value]>::is_empty);
    client.shut_down();
}

#[test]
fn changes_on_disk_count_for_what_is_not_open() {
    let text = entry("AFwdOp", "[M]");
    let project = Project::new(&[("manifest/demo.yaml", &text), ("manifest/demo_b.yaml", &entry("BFwdOp", "[M]"))]);
    let (uri, other) = (project.uri("manifest/demo.yaml"), project.uri("manifest/demo_b.yaml"));
    let mut client = Client::start(project.root(), pushed());
    let registered = client.wait("watchers", |message| message["method"] == "client/registerCapability");
    assert!(registered.to_string().contains("manifest/**/*.{yaml,yml}"), "{registered}");
    client.open(&uri, 1, &text);
    client.diagnostics(&uri, Some(1));
    project.write("manifest/demo.yaml", "broken: [");
    project.write("manifest/demo_b.yaml", &entry("BFwdOp", "[Q]"));
    let changes = json!([{"uri": uri, "type": 2}, {"uri": other, "type": 2}]);
    client.notify("workspace/didChangeWatchedFiles", json!({"changes": changes}));
    assert!(!client.diagnostics_until(&other, |found| !found.is_empty()).is_empty());
    std::fs::remove_file(project.path("manifest/demo_b.yaml")).expect("removed");
    client.notify("workspace/didChangeWatchedFiles", json!({"changes": [{"uri": other, "type": 3}]}));
    client.diagnostics_until(&other, <[Value]>::is_empty);
    let open = client.came("textDocument/publishDiagnostics");
    assert!(open.iter().all(|message| message["params"]["uri"] != uri), "the editor's text counts: {open:?}");
    client.shut_down();
}

#[test]
fn a_client_that_asks_is_not_sent_any() {
    let bad = entry("AFwdOp", "[Q]");
    let project = Project::new(&[("manifest/demo.yaml", &bad), ("manifest/demo_b.yaml", &entry("BFwdOp", "[Q]"))]);
    let uri = project.uri("manifest/demo.yaml");
    let mut client = Client::spawn();
    let answer = client.initialize(project.root(), pulling(), Value::Null);
    assert_eq!(answer["capabilities"]["diagnosticProvider"]["workspaceDiagnostics"], true);
    client.open(&uri, 1, &bad);
    let report = client.request("textDocument/diagnostic", json!({"textDocument": {"uri": uri}}));
    assert_eq!(report["kind"], "full");
    assert_eq!(plain(report["items"].as_array().expect("items")), project.checked("manifest/demo.yaml"));
    let params = json!({"textDocument": {"uri": uri}, "previousResultId": report["resultId"]});
    let again = client.request("textDocument/diagnostic", params);
    assert_eq!((&again["kind"], &again["resultId"]), (&json!("unchanged"), &report["resultId"]));

    client.wait("a refresh", |message| message["method"] == "workspace/diagnostic/refresh");
    let all = client.request("workspace/diagnostic", json!({"previousResultIds": []}));
    assert_eq!(all["items"].as_array().map(Vec::len), Some(2), "{all}");
    let known: Vec<Value> = all["items"]
        .as_array()
        .expect("items")
        .iter()
        .map(|item| json!({"uri": item["uri"], "value": item["resultId"]}))
        .collect();
    let again = client.request("workspace/diagnostic", json!({"previousResultIds": known}));
    assert!(again["items"].as_array().expect("items").iter().all(|item| item["kind"] == "unchanged"), "{again}");
    assert!(client.came("textDocument/publishDiagnostics").is_empty());
    client.shut_down();
}

#[test]
fn a_client_that_cannot_be_told_to_ask_again_is_sent_them() {
    let project = Project::new(&[("manifest/demo.yaml", &entry("AFwdOp", "[Q]"))]);
    let mut capabilities = pulling();
    capabilities["workspace"]["diagnostics"] = json!({});
    let mut client = Client::spawn();
    let answer = client.initialize(project.root(), capabilities, Value::Null);
    assert!(answer["capabilities"].get("diagnosticProvider").is_none());
    assert!(!client.diagnostics(&project.uri("manifest/demo.yaml"), None).is_empty());
    client.shut_down();
}

#[test]
fn folders_come_and_go() {
    let first = Project::new(&[("manifest/demo.yaml", &entry("AFwdOp", "[Q]"))]);
    let second = Project::new(&[("ops/demo.yaml", &entry("AFwdOp", "[Q]")), ("tileops.toml", "manifest = ['ops']\n")]);
    let (uri, other) = (first.uri("manifest/demo.yaml"), second.uri("ops/demo.yaml"));
    let mut client = Client::start(first.root(), pushed());
    assert!(!client.diagnostics(&uri, None).is_empty());
    let folder = |project: &Project| json!([{"uri": crate::client::uri(project.root()), "name": "x"}]);
    let event = json!({"added": folder(&second), "removed": []});
    client.notify("workspace/didChangeWorkspaceFolders", json!({"event": event}));
    assert!(!client.diagnostics_until(&other, |found| !found.is_empty()).is_empty());
    let event = json!({"added": [], "removed": folder(&first)});
    client.notify("workspace/didChangeWorkspaceFolders", json!({"event": event}));
    client.diagnostics_until(&uri, <[Value]>::is_empty);
    client.shut_down();
}

#[test]
fn of_a_folder_too_large_to_be_read_at_once_nothing_is_said_that_its_files_disprove() {
    let composite = |op: &str| {
        let stages = format!("  composition: {{kind: composite, stages: [{{name: s, op: {op}}}]}}\n");
        entry("CompositeFwdOp", "[M]") + &stages
    };
    let project = Project::new(&[("elsewhere/types.yaml", "adts:\n  A: {sum: {one: {}}}\n")]);
    for number in 0..200 {
        project.write(&format!("elsewhere/demo_{number:03}.yaml"), &entry(&format!("N{number}FwdOp"), "[M]"));
    }
    let uri = project.uri("elsewhere/demo_zzz.yaml");
    let mut client = Client::start(project.root(), pushed());
    client.open(&uri, 1, &composite("N199FwdOp"));
    assert_eq!(client.diagnostics(&uri, Some(1)), [Value::Null; 0], "its op may be in any file");
    // Everything is known by and by.
    client.change(&uri, 2, json!([{"text": composite("NobodyFwdOp")}]));
    let found = client.diagnostics_until(&uri, |found| !found.is_empty());
    assert_eq!(found[0]["code"], "unknown-stage-op");
    client.change(&uri, 3, json!([{"text": composite("N199FwdOp")}]));
    assert_eq!(client.diagnostics(&uri, Some(3)), [Value::Null; 0]);
    client.change(&uri, 4, json!([{"text": entry("N7FwdOp", "[M]")}]));
    client.diagnostics_until(&uri, |found| found.iter().any(|found| found["code"] == "duplicate-op"));
    client.shut_down();
}
