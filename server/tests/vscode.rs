//! What the VS Code extension declares is what the program says: settings, schemas, grammar. `UPDATE_EXPECT=1` writes it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use serde_json::{Value, json};
use tileops_analyzer::expr;
use tileops_analyzer::lang::DType;
use tileops_analyzer::lang::builtins::{self, Role};
use tileops_analyzer::model::TYPE_NAMES;

fn extension() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../vscode-extension")
}

fn schema(of: &str) -> Value {
    let output = Command::new(env!("CARGO_BIN_EXE_tileops-lsp")).args(["--print-schema", of]).output();
    let output = output.expect("the program runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("a schema is JSON")
}

/// Holds a file to a text, or writes it.
fn expect(path: &str, text: &str) {
    let full = extension().join(path);
    if env::var_os("UPDATE_EXPECT").is_some() {
        fs::create_dir_all(full.parent().expect("a folder")).expect("made");
        fs::write(&full, text).expect("written");
    }
    let kept = fs::read_to_string(&full).unwrap_or_default().replace("\r\n", "\n");
    assert!(kept == text, "vscode-extension/{path} is stale: UPDATE_EXPECT=1 cargo test -p tileops-lsp --test vscode");
}

#[test]
fn the_settings_are_those_of_the_server() {
    let text = fs::read_to_string(extension().join("package.json")).expect("the extension has a package.json");
    let mut package: Value = serde_json::from_str(&text).expect("JSON");
    let groups = package["contributes"]["configuration"].as_array_mut().expect("groups of settings");
    let group = groups.iter_mut().find(|group| group["title"] == "Language server").expect("the server's group");
    let mut settings = schema("settings");
    let settings = settings.as_object_mut().expect("an object");
    // VS Code has columns in UTF-16 and no others, and runs programs in a terminal by itself.
    for of_others in ["tileops.positionEncoding", "tileops.bench"] {
        settings.shift_remove(of_others).expect("a setting that other editors have");
    }
    for (order, setting) in settings.values_mut().enumerate() {
        setting["order"] = order.into();
    }
    group["properties"] = Value::Object(settings.clone());
    expect("package.json", &format!("{package:#}\n"));
}

#[test]
fn the_schema_of_tileops_toml_is_what_is_read() {
    expect("schemas/tileops.schema.json", &format!("{:#}\n", schema("config")));
}

/// The schema is offered for every `profiles/*.yaml`, and other people have such files too: it says something about those
/// alone that name a GPU and its memory.
#[test]
fn the_schema_of_profiles_is_what_is_read() {
    let mut profile = schema("profile");
    let definitions = profile.as_object_mut().expect("an object").shift_remove("definitions");
    let draft = profile.as_object_mut().expect("an object").shift_remove("$schema");
    let schema = json!({
        "$schema": draft,
        "title": "GPU profile",
        "if": { "type": "object", "required": ["gpu", "hbm"] },
        "then": profile,
        "definitions": definitions,
    });
    expect("schemas/profile.schema.json", &format!("{schema:#}\n"));
}

/// Names as alternatives of a regular expression, the longest first.
fn alternatives(names: impl IntoIterator<Item = &'static str>) -> String {
    let mut names: Vec<&str> = names.into_iter().collect::<BTreeSet<_>>().into_iter().collect();
    names.sort_by_key(|name| std::cmp::Reverse(name.len()));
    names.join("|").replace('.', "\\.")
}

#[test]
fn the_grammar_is_made_of_the_analyzers_tables() {
    let by_role = |wanted: fn(&Role) -> bool| {
        alternatives(builtins::all().iter().filter(|builtin| wanted(&builtin.role)).map(|builtin| builtin.name))
    };
    let rule = |name: &str, pattern: String| json!({ "name": name, "match": pattern });
    let call = |names: String| format!("(?<![\\w.])(?:{names})(?=\\s*\\()");
    let patterns = vec![
        rule("constant.numeric.tileops", "(?<![\\w.])\\d+(?:\\.\\d+)?(?:[eE][+-]?\\d+)?(?!\\w)".to_owned()),
        rule("keyword.control.tileops", word(expr::keywords())),
        rule("constant.language.tileops", word(expr::constants())),
        rule(
            "support.function.builtin.tileops",
            call(by_role(|role| matches!(role, Role::Primitive { .. } | Role::Present | Role::Bytes))),
        ),
        rule("support.function.generator.tileops", call(by_role(|role| matches!(role, Role::Generator(_))))),
        rule("support.function.predicate.tileops", call(by_role(|role| matches!(role, Role::Predicate(_))))),
        rule("support.type.dtype.tileops", word(DType::ALL.iter().map(|dtype| dtype.name()))),
        rule("support.type.tileops", word(TYPE_NAMES)),
        rule("entity.name.function.tileops", "[A-Za-z_]\\w*(?=\\s*\\()".to_owned()),
        rule("entity.name.type.tileops", "(?<![\\w.])[A-Z]\\w*(?=\\s*\\[)".to_owned()),
        rule("variable.other.member.tileops", "(?<=\\.)[A-Za-z_]\\w*".to_owned()),
        rule("variable.other.tileops", "[A-Za-z_]\\w*".to_owned()),
        rule("keyword.operator.tileops", "//|==|!=|<=|>=|\\.\\.\\.|[-+*%<>|=]".to_owned()),
        rule("punctuation.tileops", "[\\[\\](){},:.]".to_owned()),
    ];
    // Inside single quotes YAML doubles a quote.
    for (quotes, literal) in [("double", "'[^'\"]*'"), ("single", "''[^'\"]*''")] {
        let literal = json!({ "name": "string.other.literal.tileops", "match": literal });
        let mut grammar = json!({
            "information_for_contributors": [
                "Made of the analyzer's tables: UPDATE_EXPECT=1 cargo test -p tileops-lsp --test vscode"
            ],
            "scopeName": format!("tileops.expression.{quotes}.injection"),
            "injectionSelector": format!(
                "L:meta.entry.tileops string.quoted.{quotes}.yaml - entity.name.tag - string.other.literal"
            ),
            "patterns": [literal, { "include": "#expression" }],
        });
        grammar["repository"] = json!({ "expression": { "patterns": patterns } });
        expect(&format!("syntaxes/tileops-expression-{quotes}.tmLanguage.json"), &format!("{grammar:#}\n"));
    }
}

fn word(names: impl IntoIterator<Item = &'static str>) -> String {
    format!("(?<![\\w.])(?:{})(?!\\w)", alternatives(names))
}
