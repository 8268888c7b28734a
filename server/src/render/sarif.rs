//! SARIF 2.1.0. Columns are UTF-16 code units, as its consumers count them.

use std::io::{self, Write};
use std::path::Path;

use serde_json::{Value, json};
use tileops_analyzer::defect::{Severity, all_codes};
use tileops_analyzer::text::TextRange;

use super::gitlab::Fingerprints;
use super::write_json;
use crate::diagnostic::{Diagnostic, Level, Outcome, UNREACHED};
use crate::exit::Exit;
use crate::source::Source;

const SCHEMA: &str = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";

pub(super) fn render(outcome: &Outcome, exit: Exit, out: &mut dyn Write) -> io::Result<()> {
    let mut rules: Vec<Value> = all_codes()
        .map(|(group, code)| {
            json!({
                "id": code.name,
                "shortDescription": {"text": code.summary},
                "fullDescription": {"text": code.docs.split("\n\n## ").next().unwrap_or("").trim()},
                "help": {"text": code.page(), "markdown": code.page()},
                "defaultConfiguration": {"level": match code.severity {
                    Severity::Error => "error",
                    Severity::Advisory => "warning",
                }},
                "properties": {"tags": [group]},
            })
        })
        .collect();
    if outcome.count(Level::Unreached) > 0 {
        rules.push(json!({
            "id": UNREACHED,
            "shortDescription": {"text": "A judgment could not be made for want of a fact"},
            "defaultConfiguration": {"level": "note"},
        }));
    }
    let mut fingerprints = Fingerprints::default();
    let results: Vec<Value> =
        outcome.diagnostics.iter().map(|diagnostic| result(diagnostic, &rules, &mut fingerprints)).collect();
    let unread = outcome
        .problems
        .iter()
        .map(|problem| notification(&problem.path, &format!("cannot read `{}`: {}", problem.path, problem.message)));
    let bugs = outcome.bugs.iter().map(|bug| notification(&bug.path, &format!("internal error: {}", bug.message)));
    let notifications: Vec<Value> = unread.chain(bugs).collect();
    let mut run = json!({
        "tool": {"driver": {
            "name": "tileops-lsp",
            "version": env!("CARGO_PKG_VERSION"),
            "semanticVersion": env!("CARGO_PKG_VERSION"),
            "informationUri": env!("CARGO_PKG_REPOSITORY"),
            "rules": rules,
        }},
        "columnKind": "utf16CodeUnits",
        "invocations": [{
            "executionSuccessful": notifications.is_empty(),
            "exitCode": exit as u8,
            "toolExecutionNotifications": notifications,
        }],
        "results": results,
    });
    if let Ok(working) = std::env::current_dir() {
        run["originalUriBaseIds"] = json!({"WORKING": {"uri": folder_uri(&working)}});
    }
    write_json(&json!({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}), out)
}

fn result(diagnostic: &Diagnostic, rules: &[Value], fingerprints: &mut Fingerprints) -> Value {
    let code = diagnostic.code();
    let mut text = diagnostic.message.clone();
    if let Some(help) = &diagnostic.help {
        text.push_str("\nhelp: ");
        text.push_str(help);
    }
    let name = [diagnostic.entry.as_deref().unwrap_or(""), &diagnostic.path];
    let name = name.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(".");
    let mut location = place(&diagnostic.source, diagnostic.range);
    if !name.is_empty() {
        location["logicalLocations"] = json!([{"fullyQualifiedName": name, "kind": "member"}]);
    }
    let mut result = json!({
        "ruleId": code,
        "level": match diagnostic.level {
            Level::Error => "error",
            Level::Advisory => "warning",
            Level::Unreached => "note",
        },
        "message": {"text": text},
        "locations": [location],
        "partialFingerprints": {"identity/v1": fingerprints.of(diagnostic)},
    });
    if let Some(index) = rules.iter().position(|rule| rule["id"] == code) {
        result["ruleIndex"] = json!(index);
    }
    let related = diagnostic.related.iter().map(|related| {
        let mut place = place(&related.source, related.range);
        place["message"] = json!({"text": related.message});
        place
    });
    let related: Vec<Value> = related.collect();
    if !related.is_empty() {
        result["relatedLocations"] = json!(related);
    }
    result
}

fn place(source: &Source, range: TextRange) -> Value {
    let line = |offset| source.line_column(offset).line + 1;
    json!({
        "physicalLocation": {
            "artifactLocation": {"uri": encoded(&source.path), "uriBaseId": "WORKING"},
            "region": {
                "startLine": line(range.start()),
                "startColumn": source.utf16_column(range.start()) + 1,
                "endLine": line(range.end()),
                "endColumn": source.utf16_column(range.end()) + 1,
            },
        },
    })
}

fn notification(path: &str, text: &str) -> Value {
    json!({
        "level": "error",
        "message": {"text": text},
        "locations": [{"physicalLocation": {"artifactLocation": {"uri": encoded(path), "uriBaseId": "WORKING"}}}],
    })
}

/// The URI of a folder, with the `/` at its end that makes it a base.
fn folder_uri(folder: &Path) -> String {
    let path = folder.to_string_lossy().replace(std::path::MAIN_SEPARATOR, "/");
    format!("file:///{}/", encoded(path.trim_start_matches('/').trim_end_matches('/')))
}

/// A path as part of a URI.
fn encoded(path: &str) -> String {
    let mut text = String::with_capacity(path.len());
    for byte in path.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => text.push(char::from(byte)),
            _ => text.push_str(&format!("%{byte:02X}")),
        }
    }
    text
}
