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
    client.shut_down();
}

#[test]
fn a_document_that_is_not_known_has_nothing_to_say() {
    let project = Project::new(&[]);
    let mut client = Client::start(project.root(), pushed());
    let nowhere = json!({"textDocument": {"uri": "untitled:nowhere"}, "position": {"line": 3, "character": 3}});
    for method in ["hover", "completion", "definition", "documentHighlight", "prepareRename", "foldingRange"] {
        assert_eq!(client.request(&format!("textDocument/{method}"), nowhere.clone()), Value::Null, "{method}");
    }
    client.shut_down();
}
