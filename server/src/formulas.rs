//! The functions that a `func` roofline can name, read from the sources that a configuration lists.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use tileops_analyzer::roofline::{FormulaLanguage, Formulas, formula_names};
use walkdir::WalkDir;

use crate::config::Config;
use crate::diagnostic::Problem;
use crate::discover::{describe, normalized, shown};
use crate::source;

/// The formulas of `config`. What cannot be read becomes a problem, and leaves nothing to be said of names that it might
/// define.
pub(crate) fn read(config: &Config, problems: &mut Vec<Problem>) -> Formulas {
    let mut formulas = Formulas::default();
    if let Some(package) = &config.package {
        formulas.package = package.clone();
    }
    if config.sources.is_none() && config.names.is_none() {
        return formulas;
    }
    let before = problems.len();
    let mut names: BTreeSet<String> = config.names.iter().flatten().cloned().collect();
    for path in sources(config) {
        read_source(&path, &mut names, problems);
    }
    if problems.len() == before {
        formulas.names = Some(names);
    }
    formulas
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

fn read_source(root: &Path, names: &mut BTreeSet<String>, problems: &mut Vec<Problem>) {
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
            Ok(text) => names.extend(formula_names(&text, language)),
            Err(error) => problem(item.path(), format!("{error:#}")),
        }
    }
}
