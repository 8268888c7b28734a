//! Configurations of editors that are not driven here: what they say is what the server takes. Those of Neovim and Emacs
//! are used for real, under `tests/editors`.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};

use crate::client::{Client, pushed};
use crate::project::{Project, entry};

/// The features that Helix's `only-features` and `except-features` know (its book, "Configuring language servers").
const FEATURES: [&str; 18] = [
    "format",
    "goto-definition",
    "goto-declaration",
    "goto-type-definition",
    "goto-reference",
    "goto-implementation",
    "signature-help",
    "hover",
    "document-highlight",
    "completion",
    "code-action",
    "workspace-command",
    "document-symbols",
    "workspace-symbols",
    "diagnostics",
    "rename-symbol",
    "inlay-hints",
    "document-colors",
];

/// Helix starts the command, gives `config` as the options of `initialize`, and answers `workspace/configuration` with the
/// part of it that the section names.
#[test]
fn helix_is_configured_as_the_server_takes_it() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../contrib/helix/languages.toml");
    let text = std::fs::read_to_string(file).expect("the configuration");
    let whole: toml::Table = text.parse().expect("TOML");
    let whole = serde_json::to_value(whole).expect("TOML is no more than JSON here");
    let server = &whole["language-server"]["tileops"];
    let known = ["command", "args", "config", "required-root-patterns", "environment", "timeout"];
    assert!(server.as_object().expect("a table").keys().all(|key| known.contains(&key.as_str())), "{server}");
    assert_eq!(server["command"], "tileops-lsp");
    let language = &whole["language"][0];
    assert_eq!(language["name"], "yaml");
    let servers = language["language-servers"].as_array().expect("an array");
    assert_eq!(servers[0], "tileops", "who stands first is asked first");
    for server in servers {
        let excepted = server["except-features"].as_array().into_iter().flatten();
        for feature in excepted {
            assert!(FEATURES.contains(&feature.as_str().expect("a name")), "Helix has no feature {feature}");
        }
    }

    let defect = entry("AFwdOp", "[Q]");
    let project = Project::new(&[("manifest/demo.yaml", &defect)]);
    let patterns = server["required-root-patterns"].as_array().expect("an array");
    assert!(patterns.iter().any(|name| project.path(name.as_str().expect("a name")).exists()), "its root is found");
    let args = server["args"].as_array().expect("an array").iter().map(|arg| arg.as_str().expect("a text"));
    let mut client = Client::spawn_with(Command::new(env!("CARGO_BIN_EXE_tileops-lsp")).args(args));
    client.configuration = Some(server["config"]["tileops"].clone());
    client.initialize(project.root(), pushed(), server["config"].clone());
    let uri = project.uri("manifest/demo.yaml");
    client.open(&uri, 1, &defect);
    assert!(!client.diagnostics(&uri, Some(1)).is_empty());
    client.notify("workspace/didChangeConfiguration", json!({"settings": server["config"]}));
    client.request("tileops/debugInfo", Value::Null);
    client.idle(Duration::from_millis(100));
    // A setting that it does not know, or of another form, would be said.
    assert!(client.came("window/showMessage").is_empty(), "{:?}", client.came("window/showMessage"));
    client.shut_down();
}
