//! Files on disk.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tileops_analyzer::text::TextRange;
use tower_lsp::lsp_types::{FileSystemWatcher, GlobPattern};
use walkdir::WalkDir;

use crate::discover::is_yaml;
use crate::source::{self, Decoded};

/// The text of a file.
#[derive(Debug, Clone)]
pub(crate) struct Text {
    pub(crate) text: Arc<str>,
    /// What in it is not UTF-8.
    pub(crate) faults: Arc<[TextRange]>,
}

/// Files that were read.
#[derive(Debug)]
pub(crate) struct Loaded {
    pub(crate) files: Vec<(PathBuf, Text)>,
    /// The folder whose files these are, where no more was asked for: else they are manifests of the workspace.
    pub(crate) folder: Option<PathBuf>,
}

/// The text of a file; nothing where it has none or cannot be read.
pub(crate) fn read(path: &Path) -> Option<Text> {
    match source::decode(source::read(path).ok()?) {
        Decoded::Text(text, faults) => Some(Text { text: text.into(), faults: faults.into() }),
        Decoded::NoText(_) => None,
    }
}

/// The paths of the YAML files of a folder.
pub(crate) fn paths(folder: &Path) -> Vec<PathBuf> {
    // A folder that cannot be listed has no files.
    let items = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> =
        items.map(|item| item.path()).filter(|path| !is_hidden(path) && is_yaml(path)).collect();
    paths.sort();
    paths
}

/// The texts of files, of those that have one.
pub(crate) fn texts(paths: Vec<PathBuf>) -> Vec<(PathBuf, Text)> {
    paths.into_iter().filter_map(|path| Some((read(&path)?, path))).map(|(text, path)| (path, text)).collect()
}

/// The YAML files of manifest folders, and of the folders in them.
pub(crate) fn manifests(folders: &[PathBuf]) -> Vec<(PathBuf, Text)> {
    let mut files = Vec::new();
    for root in folders {
        let walk = WalkDir::new(root).sort_by_file_name().into_iter();
        for item in walk.filter_entry(|item| item.depth() == 0 || !is_hidden(item.path())).flatten() {
            if is_yaml(item.path())
                && item.path().is_file()
                && let Some(text) = read(item.path())
            {
                files.push((item.into_path(), text));
            }
        }
    }
    files
}

fn is_hidden(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'))
}

/// Watchers of globs, for every kind of change.
pub(crate) fn watchers(globs: Vec<String>) -> Vec<FileSystemWatcher> {
    globs.into_iter().map(|glob| FileSystemWatcher { glob_pattern: GlobPattern::String(glob), kind: None }).collect()
}
