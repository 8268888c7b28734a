//! What an editor asks beside diagnostics. What the answers say is tested where they are made; here, that they arrive.

use serde_json::{Value, json};

use crate::client::{Client, pushed};
use crate::project::{Project, entry};

/// A session with one open document, and where `needle` stands in it, `behind` characters on.
fn at(text: &str, needle: &str, behind: usize) -> Value {
    let offset = text.find(needle).expect("the text has it") + behind;
    let line = text[..offset].matches('\n').count();
    json!({"line": line, "character": offset - text[..offset].rfind('\n').map_or(0, |at| at + 1)})
}

#[test]
fn every_feature_that_is_advertised_answers() {
    let text = entry("AFwdOp", "[M]");
    let project = Project::new(&[("manifest/demo.yaml", &text)]);
    let uri = project.uri("manifest/demo.yaml");
    let mut capabilities = pushed();
    capabilities["textDocument"]["documentSymbol"] = json!({"hierarchicalDocumentSymbolSupport": true});
    capabilities["textDocument"]["hover"] = json!({"contentFormat": ["markdown"]});
    let mut client = Client::start(project.root(), capabilities);
    client.open(&uri, 1, &text);
    client.diagnostics(&uri, Some(1));
    let document = json!({"uri": uri});
    let index = json!({"textDocument": document, "position": at(&text, "\"[M]\"", 2)});
    let whole = json!({"start": {"line": 0, "character": 0}, "end": {"line": 999, "character": 0}});

    let hover = client.request("textDocument/hover", index.clone());
    assert!(hover["contents"]["value"].as_str().is_some_and(|text| text.contains('M')), "{hover}");
    let completion = client.request("textDocument/completion", index.clone());
    assert!(completion.as_array().is_some_and(|items| items.iter().any(|item| item["label"] == "M")), "{completion}");
    let definition = client.request("textDocument/definition", index.clone());
    assert_eq!(definition[0]["range"]["start"], at(&text, "{M: Dim}", 1));
    let mut params = index.clone();
    params["context"] = json!({"includeDeclaration": true});
    let references = client.request("textDocument/references", params);
    assert!(references.as_array().is_some_and(|places| places.len() >= 4), "{references}");
    let highlights = client.request("textDocument/documentHighlight", index.clone());
    assert!(highlights.as_array().is_some_and(|places| places.len() >= 4), "{highlights}");
    let prepared = client.request("textDocument/prepareRename", index.clone());
    assert_eq!(prepared["placeholder"], "M");
    let mut params = index.clone();
    params["newName"] = json!("Rows");
    let edit = client.request("textDocument/rename", params);
    assert!(edit["changes"][&uri].as_array().is_some_and(|edits| edits.len() >= 4), "{edit}");
    let mut params = index;
    params["newName"] = json!("not a name");
    let id = client.send("textDocument/rename", params);
    assert_eq!(client.answer(id)["error"]["code"], -32803);

    let hints = client.request("textDocument/inlayHint", json!({"textDocument": document, "range": whole}));
    let labels: Vec<&str> = hints.as_array().expect("hints").iter().filter_map(|hint| hint["label"].as_str()).collect();
    assert!(labels.iter().any(|label| label.contains("32")), "four rows of a float in, four out: {labels:?}");
    let symbols = client.request("textDocument/documentSymbol", json!({"textDocument": document}));
    assert_eq!(symbols[0]["name"], "AFwdOp");
    let symbols = client.request("workspace/symbol", json!({"query": "AFwd"}));
    assert_eq!(symbols[0]["location"]["uri"], uri);
    let folds = client.request("textDocument/foldingRange", json!({"textDocument": document}));
    assert!(folds.as_array().is_some_and(|folds| !folds.is_empty()));
    let positions = json!([at(&text, "\"[M]\"", 2)]);
    let selections =
        client.request("textDocument/selectionRange", json!({"textDocument": document, "positions": positions}));
    assert!(selections[0]["parent"].is_object(), "{selections}");
    let full = client.request("textDocument/semanticTokens/full", json!({"textDocument": document}));
    let part = client.request("textDocument/semanticTokens/range", json!({"textDocument": document, "range": whole}));
    assert_eq!(full["data"], part["data"]);
    assert!(full["data"].as_array().is_some_and(|data| !data.is_empty() && data.len() % 5 == 0));
    let rows = client.request("tileops/rows", json!({"textDocument": document}));
    let row = &rows["entries"][0]["rows"][0];
    assert_eq!((&rows["entries"][0]["op"], &row["label"]), (&json!("AFwdOp"), &json!("small")), "{rows}");
    assert_eq!(row["cases"][0]["read"], row["cases"][0]["write"], "{rows}");
    let changed = json!({"textDocument": document, "previousResultId": full["resultId"]});
    let delta = client.request("textDocument/semanticTokens/full/delta", changed.clone());
    assert_eq!(delta["edits"], json!([]), "nothing has changed: {delta}");
    client.change(&uri, 2, json!([{"text": text.replacen("M: Dim", "M: Dim, K: Dim", 1)}]));
    let changed = json!({"textDocument": document, "previousResultId": delta["resultId"]});
    let delta = client.request("textDocument/semanticTokens/full/delta", changed.clone());
    let edit = &delta["edits"][0];
    let (start, gone) = (edit["start"].as_u64().expect("a start"), edit["deleteCount"].as_u64().expect("a count"));
    let mut numbers = full["data"].as_array().expect("numbers").clone();
    let new = edit["data"].as_array().cloned().unwrap_or_default();
    assert!(new.len() < numbers.len() / 2, "only what changed is sent");
    numbers.splice(start as usize..(start + gone) as usize, new);
    let full = client.request("textDocument/semanticTokens/full", json!({"textDocument": document}));
    assert_eq!(full["data"], Value::Array(numbers));
    // An answer that is not the last is no ground to build on.
    let delta = client.request("textDocument/semanticTokens/full/delta", changed);
    assert_eq!(delta["data"], full["data"]);
    client.shut_down();
}

#[test]
fn a_call_has_help_while_it_is_written() {
    let text = entry("AFwdOp", "[M]").replace("flops: \"M\"", "flops: \"ceil_div(M, ");
    let project = Project::new(&[("manifest/demo.yaml", &text)]);
    let uri = project.uri("manifest/demo.yaml");
    for offsets in [true, false] {
        let mut capabilities = pushed();
        let parameters = json!({"parameterInformation": {"labelOffsetSupport": offsets}});
        capabilities["textDocument"]["signatureHelp"] = json!({"signatureInformation": parameters});
        let mut client = Client::start(project.root(), capabilities);
        client.open(&uri, 1, &text);
        let position = at(&text, "ceil_div(M, ", 12);
        let help =
            client.request("textDocument/signatureHelp", json!({"textDocument": {"uri": uri}, "position": position}));
        let signature = &help["signatures"][0];
        assert_eq!(signature["label"], "ceil_div(a: Int, b: Int) -> Int");
        assert_eq!((&help["activeParameter"], &signature["activeParameter"]), (&json!(1), &json!(1)));
        let label = if offsets { json!([17, 23]) } else { json!("b: Int") };
        assert_eq!(signature["parameters"][1]["label"], label);
        assert!(signature["documentation"]["value"].as_str().is_some_and(|text| text.contains("primitive")));
        client.shut_down();
    }
}

#[test]
fn documentation_of_a_completion_comes_when_it_is_asked_for() {
    let text = entry("AFwdOp", "[M]").replace("flops: \"M\"", "flops: \"\"");
    let project = Project::new(&[("manifest/demo.yaml", &text)]);
    let uri = project.uri("manifest/demo.yaml");
    let params = json!({"textDocument": {"uri": uri}, "position": at(&text, "flops: \"", 8)});
    let item = |client: &mut Client| {
        let items = client.request("textDocument/completion", params.clone());
        let items = items.as_array().expect("items");
        items.iter().find(|item| item["label"] == "ceil_div").expect("a primitive").clone()
    };
    let mut client = Client::start(project.root(), pushed());
    client.open(&uri, 1, &text);
    let eager = item(&mut client);
    assert!(eager["documentation"]["value"].as_str().is_some_and(|text| text.contains("ceil_div(a: Int")), "{eager}");
    client.shut_down();
    let mut capabilities = pushed();
    let item_support = json!({"resolveSupport": {"properties": ["documentation"]}});
    capabilities["textDocument"]["completion"] = json!({"completionItem": item_support});
    let mut client = Client::start(project.root(), capabilities);
    client.open(&uri, 1, &text);
    let lazy = item(&mut client);
    assert!(lazy.get("documentation").is_none(), "{lazy}");
    let resolved = client.request("completionItem/resolve", lazy.clone());
    assert_eq!(resolved["documentation"], eager["documentation"]);
    assert_eq!(resolved["textEdit"], lazy["textEdit"]);
    // What the server did not make is given back.
    let odd = json!({"label": "x", "data": {"topic": "builtin/nothing"}});
    assert_eq!(client.request("completionItem/resolve", odd)["label"], "x");
    client.shut_down();
}

#[test]
fn links_and_lenses_lead_where_they_say() {
    let text = entry("AFwdOp", "[M]")
        .replace("roofline: {flops: \"M\"}", "roofline: {func: tileops.perf.formulas.demo}")
        + "  ref_api: torch.add # tileops: ignore[unused-index]\n";
    let source = "//! Formulas.\n\n/// Counts twice.\npub fn demo(call: &Call) -> (u128, u128) { (0, 0) }\n";
    let project = Project::new(&[
        ("manifest/demo.yaml", &text),
        ("src/formulas.rs", source),
        ("tileops.toml", "[formulas]\nsources = [\"src\"]\n"),
    ]);
    let uri = project.uri("manifest/demo.yaml");
    let mut capabilities = pushed();
    capabilities["textDocument"]["hover"] = json!({"contentFormat": ["markdown"]});
    let mut client = Client::start(project.root(), capabilities);
    client.open(&uri, 1, &text);
    let document = json!({"uri": uri});
    let links = client.request("textDocument/documentLink", json!({"textDocument": document}));
    let targets: Vec<&str> =
        links.as_array().expect("links").iter().filter_map(|link| link["target"].as_str()).collect();
    assert_eq!(targets.len(), 3, "{targets:?}");
    assert_eq!(targets[0], format!("{}#L4", project.uri("src/formulas.rs")));
    assert!(targets[1].ends_with("generated/torch.add.html"), "{targets:?}");
    assert!(targets[2].ends_with("/unused-index.md"), "{targets:?}");
    let position = json!({"textDocument": document, "position": at(&text, "formulas.demo", 10)});
    let definition = client.request("textDocument/definition", position.clone());
    assert_eq!(definition[0]["uri"], project.uri("src/formulas.rs"));
    assert_eq!(definition[0]["range"]["start"], json!({"line": 3, "character": 7}));
    let hover = client.request("textDocument/hover", position);
    assert!(hover["contents"]["value"].as_str().is_some_and(|text| text.contains("Counts twice.")), "{hover}");
    let lenses = client.request("textDocument/codeLens", json!({"textDocument": document}));
    let titles: Vec<&str> =
        lenses.as_array().expect("lenses").iter().filter_map(|l| l["command"]["title"].as_str()).collect();
    assert_eq!(titles, ["1 row, 1 point", "price the rows", "bench the rows"]);
    assert_eq!(lenses[1]["command"]["arguments"], json!(["AFwdOp", uri]));
    // Each has its switch.
    client.configuration = Some(json!({"lenses": {"runs": false}}));
    client.notify("workspace/didChangeConfiguration", json!({"settings": null}));
    client.change(&uri, 2, json!([{"text": format!("{text}\n")}]));
    for _ in 0..200 {
        let lenses = client.request("textDocument/codeLens", json!({"textDocument": document}));
        if lenses.as_array().is_some_and(|lenses| lenses.len() == 1) {
            client.shut_down();
            return;
        }
    }
    panic!("the setting is not heeded");
}

#[test]
fn commands_say_what_they_can() {
    let text = entry("AFwdOp", "[M]");
    let project = Project::new(&[("manifest/demo.yaml", &text)]);
    let uri = project.uri("manifest/demo.yaml");
    let mut client = Client::spawn();
    let answer = client.initialize(project.root(), pushed(), Value::Null);
    let advertised = answer["capabilities"]["executeCommandProvider"]["commands"].as_array().expect("commands").clone();
    assert_eq!(advertised.len(), 5, "{advertised:?}");
    client.open(&uri, 1, &text);
    let mut run = |command: &str, arguments: Value| {
        let id = client.send("workspace/executeCommand", json!({"command": command, "arguments": arguments}));
        client.answer(id)
    };
    let explained = run("tileops.explainDefect", json!(["unknown-name"]));
    assert!(explained["result"].as_str().is_some_and(|text| text.starts_with("# unknown-name")), "{explained}");
    let all = run("tileops.explainDefect", json!([]));
    assert!(all["result"].as_str().is_some_and(|text| text.contains("- `unknown-name`")), "{all}");
    let wrong = run("tileops.explainDefect", json!(["unknown-nam"]));
    assert!(wrong["error"]["message"].as_str().is_some_and(|text| text.contains("did you mean `unknown-name`?")));
    let priced = run("tileops.priceRows", json!(["AFwdOp", uri]));
    let root = project.root().canonicalize().expect("a folder");
    let expected = json!({"command": "tileops-bench", "args": ["--price", "--manifest", "manifest", "--op", "AFwdOp"], "cwd": root, "started": false});
    assert_eq!(priced["result"], expected);
    let benched = run("tileops.benchRows", json!(["AFwdOp", uri]));
    assert_eq!(benched["result"]["args"], json!(["--manifest", "manifest", "--op", "AFwdOp"]));
    // Of every op, by a manifest or by the folder of the project.
    for address in [uri.clone(), crate::client::uri(&root)] {
        let all = run("tileops.priceRows", json!([null, address]));
        assert_eq!(all["result"]["args"], json!(["--price", "--manifest", "manifest"]), "{all}");
    }
    for (arguments, part) in [
        (json!([null, "file:///nowhere"]), "is not known"),
        (json!(["AFwdO", uri]), "did you mean `AFwdOp`?"),
        (json!(["AFwdOp"]), "takes the name of an op"),
        (json!([]), "takes the name of an op"),
        (json!(["AFwdOp", "not an address"]), "takes the name of an op"),
        (json!(["AFwdOp", "untitled:x"]), "is not known"),
    ] {
        let error = run("tileops.priceRows", arguments.clone())["error"].clone();
        assert!(error["message"].as_str().is_some_and(|text| text.contains(part)), "{arguments}: {error}");
    }
    let unknown = run("tileops.priceRow", json!([]));
    assert!(unknown["error"]["message"].as_str().is_some_and(|text| text.contains("`tileops.priceRows`")));
    // What changed on disk behind the client's back is seen.
    project.write("manifest/demo_more.yaml", &entry("BFwdOp", "[Q]"));
    run("tileops.reload", json!([]));
    client.diagnostics_until(&project.uri("manifest/demo_more.yaml"), |found| !found.is_empty());
    client.shut_down();
    // A client that has some of its own is not told of those.
    let mut capabilities = pushed();
    capabilities["experimental"] = json!({"commands": {"commands": ["tileops.priceRows", "editor.own"]}});
    let mut client = Client::spawn();
    let answer = client.initialize(project.root(), capabilities, Value::Null);
    let told = answer["capabilities"]["executeCommandProvider"]["commands"].as_array().expect("commands").clone();
    assert_eq!(told.len(), 4);
    assert!(!told.contains(&json!("tileops.priceRows")));
    client.shut_down();
}

#[test]
fn odd_addresses_and_more_than_one_root_are_served() {
    let project = Project::new(&[
        ("one/manifest/demo.yaml", &entry("AFwdOp", "[M]")),
        ("two words/manifest/demo.yaml", &entry("AFwdOp", "[Q]")),
        ("é #?%/manifest/demo.yaml", &entry("BFwdOp", "[M]")),
    ]);
    let encoded = |path: &str| {
        let mut uri = String::from("file://");
        for byte in project.path(path).to_string_lossy().bytes() {
            match byte {
                b'/' | b'.' | b'-' | b'_' | b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => uri.push(char::from(byte)),
                byte => uri.push_str(&format!("%{byte:02X}")),
            }
        }
        uri
    };
    let mut client = Client::spawn();
    let folder = |path: &str| json!({"uri": encoded(path), "name": path});
    let params = json!({
        "processId": std::process::id(), "capabilities": pushed(), "rootUri": null,
        "workspaceFolders": [folder("one"), folder("two words"), folder("é #?%")]
    });
    client.request("initialize", params);
    client.notify("initialized", json!({}));
    // One op in two roots is no duplicate.
    let bad = encoded("two words/manifest/demo.yaml");
    let found = client.diagnostics_until(&bad, |found| !found.is_empty());
    assert!(found.iter().all(|d| d["code"] != "duplicate-op"), "{found:?}");
    let symbols = client.request("workspace/symbol", json!({"query": "FwdOp"}));
    assert_eq!(symbols.as_array().map(Vec::len), Some(3), "{symbols}");
    // As the client spells it, and otherwise.
    let text = entry("BFwdOp", "[M]");
    let first = encoded("é #?%/manifest/demo.yaml");
    let spelled = first.replace("demo.yaml", "%64emo.yaml");
    for uri in [&first, &spelled] {
        client.open(uri, 1, &text);
        let position = json!({"textDocument": {"uri": uri}, "position": at(&text, "\"[M]\"", 2)});
        let hover = client.request("textDocument/hover", position.clone());
        assert!(hover["contents"]["value"].as_str().is_some_and(|text| text.contains("On every row: `4`")), "{hover}");
        let definition = client.request("textDocument/definition", position);
        assert_eq!(definition[0]["uri"], **uri);
        client.close(uri);
    }
    // A root comes and goes.
    project.write("three/manifest/demo.yaml", &entry("CFwdOp", "[Q]"));
    let event = json!({"added": [folder("three")], "removed": [folder("two words")]});
    client.notify("workspace/didChangeWorkspaceFolders", json!({"event": event}));
    client.diagnostics_until(&encoded("three/manifest/demo.yaml"), |found| !found.is_empty());
    client.diagnostics_until(&bad, <[Value]>::is_empty);
    client.shut_down();
}

#[test]
fn a_document_without_a_file_has_every_feature() {
    let project = Project::new(&[]);
    let mut client = Client::start(project.root(), pushed());
    let text = entry("AFwdOp", "[M]");
    for uri in ["untitled:Untitled-1", "untitled:/a%20b/c.yaml", "vscode-notebook-cell:/x#y", "git:/a.yaml?ref"] {
        client.open(uri, 1, &text);
        let document = json!({"uri": uri});
        let position = json!({"textDocument": document, "position": at(&text, "\"[M]\"", 2)});
        assert!(client.request("textDocument/hover", position.clone())["contents"].is_object(), "{uri}");
        assert!(client.request("textDocument/completion", position.clone())[0].is_object(), "{uri}");
        assert_eq!(client.request("textDocument/definition", position.clone())[0]["uri"], uri);
        let mut renamed = position;
        renamed["newName"] = json!("Rows");
        assert!(client.request("textDocument/rename", renamed)["changes"][uri].is_array(), "{uri}");
        // There is no folder to run anything in.
        let lenses = client.request("textDocument/codeLens", json!({"textDocument": document}));
        assert_eq!(lenses.as_array().map(Vec::len), Some(1), "{uri}: {lenses}");
        client.close(uri);
    }
    client.shut_down();
}

#[test]
fn a_document_that_is_not_known_has_nothing_to_say() {
    let project = Project::new(&[]);
    let mut client = Client::start(project.root(), pushed());
    let nowhere = json!({"textDocument": {"uri": "untitled:nowhere"}, "position": {"line": 3, "character": 3}});
    for method in [
        "hover",
        "completion",
        "definition",
        "documentHighlight",
        "prepareRename",
        "foldingRange",
        "signatureHelp",
        "codeLens",
        "documentLink",
        "semanticTokens/full",
    ] {
        assert_eq!(client.request(&format!("textDocument/{method}"), nowhere.clone()), Value::Null, "{method}");
    }
    assert_eq!(client.request("tileops/rows", nowhere.clone())["entries"], json!([]));
    client.shut_down();
}
