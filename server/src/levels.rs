//! How each code is reported: as declared, as configured, as asked on the command line.

use std::collections::BTreeMap;

use anyhow::{Result, bail};
use tileops_analyzer::defect::{Code, Severity, all_codes, find_code, nearest};

use crate::cli::Arguments;

/// How a code is reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Level {
    Error,
    Advisory,
    Ignore,
}

impl Level {
    /// The words of `tileops.toml`.
    pub(crate) const NAMES: [&'static str; 3] = ["error", "advisory", "ignore"];

    /// The level that a word of `tileops.toml` names.
    pub(crate) fn named(name: &str) -> Option<Self> {
        match name {
            "error" => Some(Level::Error),
            "advisory" => Some(Level::Advisory),
            "ignore" => Some(Level::Ignore),
            _ => None,
        }
    }
}

/// Levels that differ from what the codes declare.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Levels(BTreeMap<&'static str, Level>);

impl Levels {
    /// The levels that the command line asks for.
    pub(crate) fn from_arguments(arguments: &Arguments) -> Result<Self> {
        let mut levels = Levels::default();
        let asked = [
            ("--error", &arguments.error, Level::Error),
            ("--warn", &arguments.warn, Level::Advisory),
            ("--ignore", &arguments.ignore, Level::Ignore),
        ];
        for (option, names, level) in asked {
            for name in names {
                let code = code(name).map_err(|message| anyhow::anyhow!("{option}: {message}"))?;
                if levels.0.insert(code.name, level).is_some_and(|before| before != level) {
                    bail!("`{name}` is given two levels; name it behind one of --error, --warn and --ignore");
                }
            }
        }
        Ok(levels)
    }

    /// Sets a code's level.
    pub(crate) fn set(&mut self, code: &'static Code, level: Level) {
        self.0.insert(code.name, level);
    }

    /// How `code` is reported where `self` goes before `beneath`, and that before what the code declares.
    pub(crate) fn level(&self, beneath: &Levels, code: &Code) -> Level {
        let declared = match code.severity {
            Severity::Error => Level::Error,
            Severity::Advisory => Level::Advisory,
        };
        self.0.get(code.name).or_else(|| beneath.0.get(code.name)).copied().unwrap_or(declared)
    }
}

/// The code called `name`, or what to say where there is none.
pub(crate) fn code(name: &str) -> Result<&'static Code, String> {
    find_code(name).ok_or_else(|| match nearest(name, all_codes().map(|(_, code)| code.name)) {
        Some(close) => format!("there is no code `{name}`; did you mean `{close}`?"),
        None => format!("there is no code `{name}`; `--explain all` lists the codes"),
    })
}
