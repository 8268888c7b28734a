//! What an editor's user can set. `tileops.toml`, which is the project's word, goes before it.

use serde_json::Value;
use tileops_analyzer::defect::{list, nearest_first};

use crate::levels::{self, Level, Levels};
use crate::schema;

/// The settings, each with what holds where nothing is said.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Settings {
    /// Whether judgments that could not be made are shown as hints.
    pub(crate) unreached: bool,
    /// Whether every manifest of the workspace is judged, or open files alone.
    pub(crate) workspace: bool,
    /// The manifest folders of a workspace folder that has no `tileops.toml`.
    pub(crate) manifest: Option<Vec<String>>,
    /// How codes are reported.
    pub(crate) codes: Levels,
    /// The position encoding to use where the client offers it. Read at start only.
    pub(crate) position_encoding: Option<String>,
    /// Which hints are shown in the text.
    pub(crate) hints: Hints,
    /// What stands above an entry.
    pub(crate) lenses: Lenses,
    /// Where records are, in a project whose `tileops.toml` does not say: files, folders and globs.
    pub(crate) records: Option<Vec<String>>,
    /// The GPU profile that records are held against, in such a project.
    pub(crate) profile: Option<String>,
    /// The program that prices rows, where the server is to run it.
    pub(crate) bench: Option<String>,
}

/// Which hints are shown in the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Hints {
    /// Beside a roofline: the bytes derived from the signature.
    pub(crate) rooflines: bool,
    /// Beside a stated `bytes`: how it differs from those.
    pub(crate) differences: bool,
    /// Beside a workload row: the bytes of its call.
    pub(crate) rows: bool,
    /// Beside a workload row: what its record says.
    pub(crate) records: bool,
}

/// What stands above an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Lenses {
    /// How many rows, calls and points it has.
    pub(crate) counts: bool,
    /// What can be done with its rows.
    pub(crate) runs: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            unreached: false,
            workspace: true,
            manifest: None,
            codes: Levels::default(),
            position_encoding: None,
            hints: Hints { rooflines: true, differences: true, rows: true, records: true },
            lenses: Lenses { counts: true, runs: true },
            records: None,
            profile: None,
            bench: None,
        }
    }
}

impl Settings {
    /// Reads what a client sends. Whatever is wrong with it is said in `warnings`, and everything else holds.
    pub(crate) fn read(value: &Value, warnings: &mut Vec<String>) -> Self {
        let mut settings = Settings::default();
        // Some clients send the section's content, others the object that has the section.
        let value = value.get("tileops").unwrap_or(value);
        let Value::Object(object) = value else {
            if !value.is_null() {
                warnings.push("the settings of tileops are an object".to_owned());
            }
            return settings;
        };
        for (name, value) in object {
            match name.as_str() {
                // Lua writes an empty table as an empty array.
                _ if value.is_null() || value.as_array().is_some_and(Vec::is_empty) && name != "manifest" => {}
                "unreached" => flag(name, value, &mut settings.unreached, warnings),
                "workspace" => flag(name, value, &mut settings.workspace, warnings),
                "manifest" => match serde_json::from_value(value.clone()) {
                    Ok(folders) => settings.manifest = Some(folders),
                    Err(_) => warnings.push(wrong(name, "an array of folders")),
                },
                "positionEncoding" => match value.as_str() {
                    Some(word @ ("utf-8" | "utf-16" | "utf-32")) => settings.position_encoding = Some(word.to_owned()),
                    _ => warnings.push(wrong(name, "`utf-8`, `utf-16` or `utf-32`")),
                },
                "codes" => match value.as_object() {
                    Some(codes) => {
                        for (code, level) in codes {
                            let level = level.as_str().and_then(Level::named);
                            match (levels::code(code), level) {
                                (Ok(code), Some(level)) => settings.codes.set(code, level),
                                (Err(message), _) => warnings.push(format!("the setting `tileops.codes`: {message}")),
                                (Ok(_), None) => {
                                    warnings.push(wrong(&format!("codes.{code}"), &list(Level::NAMES, "or")));
                                }
                            }
                        }
                    }
                    None => warnings.push(wrong(name, "an object from codes to levels")),
                },
                "hints" => match value.as_object() {
                    Some(kinds) => {
                        for (kind, value) in kinds {
                            let full = format!("hints.{kind}");
                            match kind.as_str() {
                                "rooflines" => flag(&full, value, &mut settings.hints.rooflines, warnings),
                                "differences" => flag(&full, value, &mut settings.hints.differences, warnings),
                                "rows" => flag(&full, value, &mut settings.hints.rows, warnings),
                                "records" => flag(&full, value, &mut settings.hints.records, warnings),
                                _ => warnings.push(unknown_kind(name, &full)),
                            }
                        }
                    }
                    None => warnings.push(wrong(name, "an object from kinds of hints to true or false")),
                },
                "lenses" => match value.as_object() {
                    Some(kinds) => {
                        for (kind, value) in kinds {
                            let full = format!("lenses.{kind}");
                            match kind.as_str() {
                                "counts" => flag(&full, value, &mut settings.lenses.counts, warnings),
                                "runs" => flag(&full, value, &mut settings.lenses.runs, warnings),
                                _ => warnings.push(unknown_kind(name, &full)),
                            }
                        }
                    }
                    None => warnings.push(wrong(name, "an object from kinds of lenses to true or false")),
                },
                "records" => match serde_json::from_value(value.clone()) {
                    Ok(paths) => settings.records = Some(paths),
                    Err(_) => warnings.push(wrong(name, "an array of files, folders and globs")),
                },
                "profile" => text(name, value, &mut settings.profile, warnings),
                "bench" => text(name, value, &mut settings.bench, warnings),
                // The client's own: where the server is, and how much of the protocol it writes down.
                "path" | "trace" | "server" => {}
                _ => warnings.push(unknown(name, schema::names(schema::SETTINGS))),
            }
        }
        settings
    }
}

fn flag(name: &str, value: &Value, target: &mut bool, warnings: &mut Vec<String>) {
    match value.as_bool() {
        Some(value) => *target = value,
        None => warnings.push(wrong(name, "true or false")),
    }
}

fn text(name: &str, value: &Value, target: &mut Option<String>, warnings: &mut Vec<String>) {
    match value.as_str() {
        // What an editor shows as an empty field says nothing.
        Some(value) => *target = (!value.is_empty()).then(|| value.to_owned()),
        None => warnings.push(wrong(name, "a path")),
    }
}

fn wrong(name: &str, takes: &str) -> String {
    format!("the setting `tileops.{name}` takes {takes}")
}

/// Says that a table of settings has no `full`, and what it has.
fn unknown_kind(table: &str, full: &str) -> String {
    let kinds = schema::names(schema::table(schema::SETTINGS, table));
    let known: Vec<String> = kinds.iter().map(|kind| format!("{table}.{kind}")).collect();
    unknown(full, known.iter().map(String::as_str))
}

fn unknown<'k>(name: &str, known: impl IntoIterator<Item = &'k str>) -> String {
    let known = list(nearest_first(name, known), "and");
    format!("there is no setting `tileops.{name}`; there are {known}")
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use tileops_analyzer::defect::codes;

    use super::*;

    #[test]
    fn settings_are_read_with_or_without_their_section() {
        let inner = json!({"unreached": true, "codes": {"yaml-tag": "ignore"}, "hints": {"rows": false}, "path": "x"});
        for value in [json!({"tileops": inner}), inner] {
            let mut warnings = Vec::new();
            let settings = Settings::read(&value, &mut warnings);
            assert_eq!(warnings, [""; 0]);
            assert!(settings.unreached && !settings.hints.rows && settings.hints.rooflines);
            assert_eq!(settings.codes.level(&Levels::default(), &codes::YAML_TAG), Level::Ignore);
        }
    }

    #[test]
    fn what_is_wrong_is_said_and_the_rest_holds() {
        let mut warnings = Vec::new();
        let value = json!({
            "unreachd": true, "unreached": 1, "workspace": false, "codes": {"yaml-tga": "error", "yaml-tag": "loud"},
            "hints": {"row": true}, "manifest": "m", "positionEncoding": "utf-7"
        });
        let settings = Settings::read(&value, &mut warnings);
        assert!(!settings.workspace);
        assert_eq!(warnings.len(), 7, "{warnings:?}");
        assert!(warnings[0].contains("there are `unreached`"));
        for value in [json!(null), json!(3), json!([]), json!("x")] {
            Settings::read(&value, &mut warnings);
        }
    }
}
