//! Which files a run looks at.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use walkdir::WalkDir;

use crate::cli::Arguments;
use crate::config::{Config, Configs, DEFAULT_FOLDER};
use crate::diagnostic::Problem;

/// A file that a run reads.
#[derive(Debug, Clone)]
pub(crate) struct Input {
    /// Where it is.
    pub(crate) path: PathBuf,
    /// Whether its text comes from standard input.
    pub(crate) stdin: bool,
    /// Whether it is taken for a manifest whatever it holds: it lies in a manifest folder, or the command line names it.
    pub(crate) configured: bool,
    /// Whether it is judged. A file that is not is read for what the others name.
    pub(crate) judged: bool,
    /// Whether the command line named it.
    pub(crate) named: bool,
    /// Its configuration: the position in [`Inputs::configs`].
    pub(crate) config: usize,
}

/// All files that a run reads.
#[derive(Debug, Clone, Default)]
pub(crate) struct Inputs {
    /// The files by the path that reports show, which is their order.
    pub(crate) files: BTreeMap<Arc<str>, Input>,
    /// The configurations that hold for some of them.
    pub(crate) configs: Vec<Arc<Config>>,
    /// What could not be read.
    pub(crate) problems: Vec<Problem>,
    /// The folders asked for that hold no YAML file, as they are shown.
    pub(crate) barren: Vec<String>,
    /// What some of the files hold, in place of what can be read.
    pub(crate) contents: BTreeMap<Arc<str>, Vec<u8>>,
}

/// The files and folders that a run is about, standard input aside. Fails where there is nothing to look for at all.
pub(crate) fn roots(arguments: &Arguments, configs: &mut Configs) -> Result<Vec<PathBuf>> {
    if !arguments.paths.is_empty() {
        return Ok(arguments
            .paths
            .iter()
            .filter(|path| path.as_os_str() != "-")
            .map(|path| normalized(path))
            .collect());
    }
    default_roots(&working_folder()?, configs)
}

/// Finds the files of a run.
pub(crate) fn discover(arguments: &Arguments, configs: &mut Configs) -> Result<Inputs> {
    let mut inputs = Inputs::default();
    let roots = roots(arguments, configs)?;
    let mut finder = Finder { working: working_folder()?, configs, inputs: &mut inputs };
    for root in &roots {
        finder.add_root(root);
    }
    if arguments.reads_stdin()
        && let Some(name) = &arguments.stdin_filename
    {
        finder.add(&normalized(name), true, true);
    }
    finder.add_siblings();
    inputs.problems.sort();
    Ok(inputs)
}

fn working_folder() -> Result<PathBuf> {
    std::env::current_dir().context("cannot tell the working folder")
}

fn default_roots(working: &Path, configs: &mut Configs) -> Result<Vec<PathBuf>> {
    if let Some(config) = configs.of(working) {
        // The profile that its records are held against is judged as well.
        let paths = config.manifest.iter().chain(&config.profile);
        return Ok(paths.map(|path| normalized(&config.root.join(path))).collect());
    }
    let folder = working.join(DEFAULT_FOLDER);
    if !folder.is_dir() {
        bail!(
            "no PATH is given, and there is neither a tileops.toml here or above nor a folder `{DEFAULT_FOLDER}` here"
        );
    }
    Ok(vec![folder])
}

struct Finder<'f> {
    working: PathBuf,
    configs: &'f mut Configs,
    inputs: &'f mut Inputs,
}

impl Finder<'_> {
    fn add_root(&mut self, root: &Path) {
        if !root.is_dir() {
            // A missing file is found out when it is read, as is one that may not be.
            return self.add(root, true, false);
        }
        let mut any = false;
        let walk = WalkDir::new(root).sort_by_file_name().into_iter();
        let visible =
            |item: &walkdir::DirEntry| item.depth() == 0 || !item.file_name().to_string_lossy().starts_with('.');
        for item in walk.filter_entry(visible) {
            match item {
                Ok(item) if is_yaml(item.path()) && item.path().is_file() => {
                    any = true;
                    self.add(item.path(), false, false);
                }
                Ok(_) => {}
                Err(error) => {
                    let path = shown(error.path().unwrap_or(root));
                    let message = error.io_error().map_or_else(|| error.to_string(), describe);
                    self.inputs.problems.push(Problem { path, message });
                }
            }
        }
        if !any {
            self.inputs.barren.push(shown(root));
        }
    }

    /// Adds a file to judge.
    fn add(&mut self, path: &Path, named: bool, stdin: bool) {
        let (configured, config) = self.config(path);
        let configured = configured || named;
        let input = Input { path: path.to_path_buf(), stdin, configured, judged: true, named, config };
        let key: Arc<str> = relative(path, &self.working).into();
        let known = self.inputs.files.entry(key).or_insert(input);
        known.configured |= configured;
        known.named |= named;
        known.stdin |= stdin;
    }

    /// Adds the files beside those to judge: a folder is one manifest, and its files name what others declare.
    fn add_siblings(&mut self) {
        let mut folders: Vec<PathBuf> =
            self.inputs.files.values().filter_map(|input| input.path.parent().map(Path::to_path_buf)).collect();
        folders.sort();
        folders.dedup();
        for folder in folders {
            // A folder that cannot be listed has been reported, or the file named in it will be.
            let Ok(items) = std::fs::read_dir(&folder) else { continue };
            for path in items.flatten().map(|item| item.path()) {
                let hidden = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
                if hidden || !is_yaml(&path) || !path.is_file() {
                    continue;
                }
                let key: Arc<str> = relative(&path, &self.working).into();
                if !self.inputs.files.contains_key(&key) {
                    let (configured, config) = self.config(&path);
                    let input = Input { path, stdin: false, configured, judged: false, named: false, config };
                    self.inputs.files.insert(key, input);
                }
            }
        }
    }

    /// Whether a file lies in a manifest folder, and the position of its configuration.
    fn config(&mut self, path: &Path) -> (bool, usize) {
        let folder = path.parent().unwrap_or(path);
        let config = self.configs.of(folder).unwrap_or_else(|| Arc::new(Config::without_file(&self.working)));
        let configured = config.holds(path);
        let known = self.inputs.configs.iter().position(|known| *known == config);
        let position = known.unwrap_or_else(|| {
            self.inputs.configs.push(config);
            self.inputs.configs.len() - 1
        });
        (configured, position)
    }
}

/// Whether a file's name is one of YAML.
pub(crate) fn is_yaml(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "yaml" || extension == "yml")
}

/// An absolute path without `.` and `..`. Links stay: a path is shown as it was given.
pub(crate) fn normalized(path: &Path) -> PathBuf {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
    let mut parts = PathBuf::new();
    for component in absolute.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                parts.pop();
            }
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => parts.push(component),
        }
    }
    parts
}

/// A path as reports show it: relative to the working folder, with `/`.
pub(crate) fn shown(path: &Path) -> String {
    match std::env::current_dir() {
        Ok(working) => relative(&normalized(path), &working),
        Err(_) => slashed(path),
    }
}

/// `path` relative to `folder`, with `/`; both are absolute and normalized.
pub(crate) fn relative(path: &Path, folder: &Path) -> String {
    let mut rest = path.components().peekable();
    let mut base = folder.components().peekable();
    while let (Some(a), Some(b)) = (rest.peek(), base.peek()) {
        if a != b {
            break;
        }
        rest.next();
        base.next();
    }
    if base.peek().is_some_and(|part| matches!(part, Component::Prefix(_) | Component::RootDir)) {
        // They are on different drives.
        return slashed(path);
    }
    let mut parts: Vec<String> = base.map(|_| "..".to_owned()).collect();
    parts.extend(rest.map(|part| part.as_os_str().to_string_lossy().into_owned()));
    if parts.is_empty() { ".".to_owned() } else { parts.join("/") }
}

fn slashed(path: &Path) -> String {
    path.to_string_lossy().replace(std::path::MAIN_SEPARATOR, "/")
}

/// What an error of the system says, without the system's number for it.
pub(crate) fn describe(error: &std::io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or(&text).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_shown_relative_to_the_working_folder() {
        let relative = |path: &str| relative(Path::new(path), Path::new("/a/b"));
        assert_eq!(relative("/a/b/c/d.yaml"), "c/d.yaml");
        assert_eq!(relative("/a/x.yaml"), "../x.yaml");
        assert_eq!(relative("/z/x.yaml"), "../../z/x.yaml");
        assert_eq!(relative("/a/b"), ".");
        assert_eq!(normalized(Path::new("/a/./b/../c")), Path::new("/a/c"));
    }
}
