//! The functions that a `func` roofline can name, read from the sources that a configuration lists.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tileops_analyzer::roofline::{FormulaLanguage, FormulaPlace, Formulas, formula_functions};
use walkdir::WalkDir;

use crate::config::Config;
use crate::diagnostic::Problem;
use crate::discover::{describe, normalized, shown};
use crate::source;

/// What is known of a project's formulas.
#[derive(Debug, Default)]
pub(crate) struct Known {
    /// What is judged by.
    pub(crate) formulas: Formulas,
    /// Where those are defined that a source defines; of two of one name the first.
    pub(crate) places: BTreeMap<String, FormulaPlace>,
}

/// The formulas of `config`. What cannot be read becomes a problem, and leaves nothing to be said of names that it might
/// define.
pub(crate) fn read(config: &Config, problems: &mut Vec<Problem>) -> Known {
    let mut known = Known::default();
    if let Some(package) = &config.package {
        known.formulas.package = package.clone();
    }
    if config.sources.is_none() && config.names.is_none() {
        return known;
    }
    let before = problems.len();
    for path in sources(config) {
        read_source(&path, &mut known.places, problems);
    }
    if problems.len() == before {
        let named = config.names.iter().flatten();
        let names: BTreeSet<String> = named.chain(known.places.keys()).cloned().collect();
        known.formulas.names = Some(names);
    }
    known
}

/// The files and folders that `config` lists.
pub(crate) fn sources(config: &Config) -> impl Iterator<Item = PathBuf> {
    config.sources.iter().flatten().map(|path| normalized(&config.root.join(path)))
}

/// The language of a file, by its name.
pub(crate) fn language(path: &Path) -> Option<FormulaLanguage> {
    match path.extension()?.to_str()? {
        "py" => Some(FormulaLanguage::Python),
        "rs" => Some(FormulaLanguage::Rust),
        _ => None,
    }
}

fn read_source(root: &Path, places: &mut BTreeMap<String, FormulaPlace>, problems: &mut Vec<Problem>) {
    let mut problem = |path: &Path, message: String| problems.push(Problem { path: shown(path), message });
    if !root.is_dir() && root.exists() && language(root).is_none() {
        return problem(root, "a source of formulas is a Python or a Rust file, or a folder of them".to_owned());
    }
    let visible = |item: &walkdir::DirEntry| item.depth() == 0 || !item.file_name().to_string_lossy().starts_with('.');
    for item in WalkDir::new(root).sort_by_file_name().into_iter().filter_entry(visible) {
        let item = match item {
            Ok(item) => item,
            Err(error) => {
                let message = error.io_error().map_or_else(|| error.to_string(), describe);
                problem(error.path().unwrap_or(root), message);
                continue;
            }
        };
        let Some(language) = language(item.path()).filter(|_| item.path().is_file()) else { continue };
        match source::read_text(item.path()) {
            Ok(text) => {
                let path: Arc<str> = item.path().to_string_lossy().replace(std::path::MAIN_SEPARATOR, "/").into();
                for function in formula_functions(&text, language) {
                    let name = function.name.clone();
                    places.entry(name).or_insert_with(|| FormulaPlace { path: path.clone(), language, function });
                }
            }
            Err(error) => problem(item.path(), format!("{error:#}")),
        }
    }
}
