//! What can be configured: the keys of `tileops.toml` and the settings of an editor, each declared once. The readers take
//! the names from here, and `--print-schema` makes JSON schemas of it for the editors of either.

use serde_json::{Map, Value, json};
use tileops_analyzer::defect::{Severity, all_codes};

use crate::config::{DEFAULT_FOLDER, FILE_NAME};
use crate::levels::Level;

/// One thing that can be configured.
#[derive(Debug)]
pub(crate) struct Key {
    /// What it is called.
    pub(crate) name: &'static str,
    /// What it takes.
    pub(crate) takes: Takes,
    /// What it means, in Markdown.
    pub(crate) doc: &'static str,
}

/// What a key takes.
#[derive(Debug)]
pub(crate) enum Takes {
    /// `true` or `false`, and which of them holds where nothing is said.
    Flag(bool),
    /// A text.
    Text,
    /// One of some words.
    Word(&'static [&'static str]),
    /// A list of texts, each of them such a thing; what holds where nothing is said, if anything does.
    Texts(&'static str, &'static [&'static str]),
    /// A mapping from codes to levels.
    Levels,
    /// Keys of its own.
    Table(&'static [Key]),
}

const fn key(name: &'static str, takes: Takes, doc: &'static str) -> Key {
    Key { name, takes, doc }
}

/// The keys of `tileops.toml`.
pub(crate) static CONFIG: &[Key] = &[
    key(
        "manifest",
        Takes::Texts("A folder, relative to this file.", &[DEFAULT_FOLDER]),
        "The folders that hold manifests. Every YAML file in them is one.",
    ),
    key(
        "records",
        Takes::Texts("A file, a folder or a glob, relative to this file.", &[]),
        "Where the records of benchmarks are, which editors show beside rows.",
    ),
    key("profile", Takes::Text, "The GPU profile that records are held against, relative to this file."),
    key("formulas", Takes::Table(FORMULAS), "Where the functions are defined that `roofline.func` names."),
    key(
        "codes",
        Takes::Levels,
        "How defects are reported: each code as `error`, as `advisory`, or not at all with `ignore`.",
    ),
];

static FORMULAS: &[Key] = &[
    key("package", Takes::Text, "What the path of every `func` begins with: `tileops.perf.formulas`."),
    key(
        "sources",
        Takes::Texts("A Python or Rust file, or a folder of them, relative to this file.", &[]),
        "The sources that define the functions. They are read and never run.",
    ),
    key(
        "names",
        Takes::Texts("The name of a function.", &[]),
        "Functions that are defined elsewhere, and are taken to exist.",
    ),
];

/// The settings that an editor's user has.
pub(crate) static SETTINGS: &[Key] = &[
    key(
        "workspace",
        Takes::Flag(true),
        "Judge every manifest of the workspace. Otherwise only the files that are open are judged.",
    ),
    key(
        "manifest",
        Takes::Texts("A folder, relative to the workspace folder.", &[DEFAULT_FOLDER]),
        "The folders that hold manifests, in a workspace folder without a `tileops.toml`. Every YAML file in them is one.",
    ),
    key(
        "records",
        Takes::Texts("A file, a folder or a glob, relative to the project.", &[]),
        "Where the records of benchmarks are, in a project whose `tileops.toml` does not say.",
    ),
    key(
        "profile",
        Takes::Text,
        "The GPU profile that records are held against, in a project whose `tileops.toml` does not say.",
    ),
    key("hints", Takes::Table(HINTS), "Which previews stand in the text."),
    key("lenses", Takes::Table(LENSES), "What stands above an entry."),
    key("unreached", Takes::Flag(false), "Show judgments that could not be made, each with the fact that it lacks."),
    key(
        "codes",
        Takes::Levels,
        "How defects are reported: each code as `error`, as `advisory`, or not at all with `ignore`. What a project's \
         `tileops.toml` says goes before it.",
    ),
    key(
        "positionEncoding",
        Takes::Word(&["utf-8", "utf-16", "utf-32"]),
        "The unit of columns to use where the client offers it. Read at start only.",
    ),
    key("bench", Takes::Text, "The program that prices rows, where the server is to run it."),
];

static HINTS: &[Key] = &[
    key("rooflines", Takes::Flag(true), "Beside a roofline: the bytes derived from the signature."),
    key("differences", Takes::Flag(true), "Beside a stated `bytes`: how it differs from those."),
    key("rows", Takes::Flag(true), "Beside a workload row: the bytes of its call."),
    key("records", Takes::Flag(true), "Beside a workload row: what its record says."),
];

static LENSES: &[Key] = &[
    key("counts", Takes::Flag(true), "How many rows, calls and points an entry has."),
    key("runs", Takes::Flag(true), "What can be done with its rows."),
];

/// The names of keys, in order.
pub(crate) fn names(keys: &'static [Key]) -> Vec<&'static str> {
    keys.iter().map(|key| key.name).collect()
}

/// The keys of the table `name` among `keys`; none where it is no table.
pub(crate) fn table(keys: &'static [Key], name: &str) -> &'static [Key] {
    match keys.iter().find(|key| key.name == name).map(|key| &key.takes) {
        Some(Takes::Table(keys)) => keys,
        _ => &[],
    }
}

/// The JSON schema of `tileops.toml`.
pub(crate) fn config() -> Value {
    let mut schema = object(CONFIG, true);
    let head = json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": FILE_NAME,
        "description": "What a project says about its op manifest.",
    });
    if let (Value::Object(head), Value::Object(body)) = (head, &mut schema) {
        let rest = std::mem::replace(body, head);
        body.extend(rest);
    }
    schema
}

/// The settings as VS Code's `contributes.configuration.properties` has them: one flat object.
pub(crate) fn settings() -> Value {
    let mut properties = Map::new();
    flatten("tileops", SETTINGS, &mut properties);
    Value::Object(properties)
}

fn flatten(prefix: &str, keys: &[Key], properties: &mut Map<String, Value>) {
    for key in keys {
        let name = format!("{prefix}.{}", key.name);
        match key.takes {
            Takes::Table(keys) => flatten(&name, keys, properties),
            _ => {
                let mut property = takes(&key.takes, false);
                property.insert("markdownDescription".to_owned(), key.doc.into());
                // Settings are about a window: one server serves all its folders.
                property.insert("scope".to_owned(), "window".into());
                properties.insert(name, Value::Object(property));
            }
        }
    }
}

fn object(keys: &[Key], plain: bool) -> Value {
    let properties: Map<String, Value> = keys
        .iter()
        .map(|key| {
            let mut property = takes(&key.takes, plain);
            property.insert("description".to_owned(), key.doc.into());
            (key.name.to_owned(), Value::Object(property))
        })
        .collect();
    json!({ "type": "object", "properties": properties, "additionalProperties": false })
}

/// What a key takes, as a schema. A `plain` one states no default that its reader would write down.
fn takes(takes: &Takes, plain: bool) -> Map<String, Value> {
    let schema = match takes {
        Takes::Flag(default) => json!({ "type": "boolean", "default": default }),
        Takes::Text => json!({ "type": "string" }),
        Takes::Word(words) => json!({ "type": "string", "enum": words }),
        Takes::Texts(item, default) => {
            let mut schema = json!({ "type": "array", "items": { "type": "string", "description": item } });
            if !default.is_empty() {
                schema["default"] = json!(default);
            }
            schema
        }
        Takes::Levels => {
            let codes: Map<String, Value> = all_codes()
                .map(|(_, code)| {
                    let declared = match code.severity {
                        Severity::Error => "error",
                        Severity::Advisory => "advisory",
                    };
                    let summary = format!("{}. Reported as {declared} where nothing is said.", code.summary);
                    (code.name.to_owned(), json!({ "enum": Level::NAMES, "description": summary }))
                })
                .collect();
            let mut schema = json!({ "type": "object", "properties": codes, "additionalProperties": false });
            if !plain {
                schema["default"] = json!({});
            }
            schema
        }
        Takes::Table(keys) => object(keys, plain),
    };
    match schema {
        Value::Object(schema) => schema,
        // Every arm gives an object.
        _ => Map::new(),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use tileops_analyzer::model::schema;

    use super::*;

    fn documented(keys: &[Key]) {
        for key in keys {
            assert!(key.doc.ends_with('.') || key.doc.ends_with("`."), "{}", key.name);
            if let Takes::Table(keys) = key.takes {
                documented(keys);
            }
        }
    }

    #[test]
    fn every_key_says_what_it_means() {
        documented(CONFIG);
        documented(SETTINGS);
    }

    /// A value that a key takes.
    fn sample(takes: &Takes) -> Value {
        match takes {
            Takes::Flag(default) => json!(!default),
            Takes::Text => json!("x.y"),
            Takes::Word(words) => json!(words[0]),
            Takes::Texts(..) => json!(["x"]),
            Takes::Levels => json!({ "yaml-tag": "ignore" }),
            Takes::Table(keys) => {
                Value::Object(keys.iter().map(|key| (key.name.to_owned(), sample(&key.takes))).collect())
            }
        }
    }

    #[test]
    fn what_is_declared_is_read() {
        let value = sample(&Takes::Table(CONFIG));
        let text = toml::to_string(&value).expect("TOML");
        let source = std::sync::Arc::new(crate::source::Source::new(FILE_NAME.into(), text.into()));
        let mut notes = Vec::new();
        let config = crate::config::Config::parse(std::path::Path::new("/p"), &source, &mut notes);
        assert!(notes.is_empty(), "{notes:?}");
        assert_eq!((&*config.manifest, config.package.as_deref()), (&["x".to_owned()][..], Some("x.y")));
        let mut warnings = Vec::new();
        let settings = crate::lsp::settings::Settings::read(&sample(&Takes::Table(SETTINGS)), &mut warnings);
        assert!(warnings.is_empty(), "{warnings:?}");
        assert!(settings != crate::lsp::settings::Settings::default());
    }

    fn defaults(keys: &[Key]) -> Value {
        let of = |key: &Key| match &key.takes {
            Takes::Flag(default) => Some(json!(default)),
            Takes::Table(keys) => Some(defaults(keys)),
            _ => None,
        };
        Value::Object(keys.iter().filter_map(|key| Some((key.name.to_owned(), of(key)?))).collect())
    }

    #[test]
    fn what_is_declared_to_hold_where_nothing_is_said_does() {
        let read = crate::lsp::settings::Settings::read(&defaults(SETTINGS), &mut Vec::new());
        assert_eq!(read, crate::lsp::settings::Settings::default());
    }

    /// What the analyzer judges a profile by is what `tileops-roofline` reads: the keys, which must be there, and the numbers.
    #[test]
    fn a_profile_is_judged_by_the_keys_that_are_read() {
        let schema = tileops_roofline::profile::schema();
        let sections = [(&schema, &schema::PROFILE)].into_iter().chain(
            [("Hbm", &schema::HBM), ("Peak", &schema::PEAK)].map(|(name, of)| (&schema["definitions"][name], of)),
        );
        for (read, judged) in sections {
            let names: BTreeSet<&str> = judged.names().collect();
            let read_names = read["properties"].as_object().expect("keys").keys().map(String::as_str).collect();
            assert_eq!(names, read_names);
            assert_eq!(read["additionalProperties"], false);
            let required: BTreeSet<&str> = judged.keys.iter().filter(|key| key.required).map(|key| key.name).collect();
            let read_required = read["required"].as_array().expect("names").iter().filter_map(Value::as_str).collect();
            assert_eq!(required, read_required);
            for key in judged.keys {
                let bounds =
                    |value: &Value| ["minimum", "exclusiveMinimum", "maximum"].map(|bound| value[bound].as_f64());
                let of = |quantity| match quantity {
                    schema::Quantity::Rate => [None, Some(0.0), None],
                    schema::Quantity::Fraction => [None, Some(0.0), Some(1.0)],
                    schema::Quantity::Time => [Some(0.0), None, None],
                    schema::Quantity::Bytes => [Some(1.0), None, None],
                };
                let property = &read["properties"][key.name];
                match key.form {
                    schema::Form::Number(quantity) => assert_eq!(bounds(property), of(quantity), "{}", key.name),
                    schema::Form::Numbers(quantity) => {
                        assert_eq!(bounds(&property["additionalProperties"]), of(quantity), "{}", key.name);
                    }
                    _ => {}
                }
            }
        }
    }

    #[test]
    fn the_schema_of_settings_names_each_by_its_path() {
        let settings = settings();
        assert_eq!(settings["tileops.hints.rows"]["default"], true);
        assert_eq!(settings["tileops.manifest"]["default"], json!([DEFAULT_FOLDER]));
        let levels = &settings["tileops.codes"]["properties"]["yaml-tag"]["enum"];
        assert_eq!(*levels, json!(Level::NAMES));
    }
}
