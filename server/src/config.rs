//! `tileops.toml`: what a project says about its manifest.
//!
//! ```toml
//! manifest = ["manifest"]                     # the folders that hold it, relative to this file
//!
//! records = ["records/*.jsonl.zst"]           # files, folders and globs of benchmark records, which editors show
//! profile = "profiles/h200.yaml"              # the GPU profile that they are held against
//!
//! [formulas]
//! package = "tileops.perf.formulas"           # what `roofline.func` starts with
//! sources = ["python/tileops/perf"]           # Python and Rust files, and folders of them, that define the formulas
//! names = ["gqa_fwd_roofline"]                # formulas defined elsewhere
//!
//! [codes]
//! unused-suppression = "error"                # error, advisory or ignore
//! ```

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tileops_analyzer::defect::{list, nearest, nearest_first};
use tileops_analyzer::text::{TextRange, TextSize};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::levels::{self, Level, Levels};
use crate::schema;
use crate::source::{self, Source};

/// The file's name.
pub(crate) const FILE_NAME: &str = "tileops.toml";

/// The folder that holds a manifest where nothing says otherwise.
pub(crate) const DEFAULT_FOLDER: &str = "manifest";

/// What a project says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Config {
    /// The folder that paths are relative to.
    pub(crate) root: PathBuf,
    /// The manifest folders, relative to `root`.
    pub(crate) manifest: Vec<String>,
    /// Where benchmark records are, relative to `root`; nothing where that is not said.
    pub(crate) records: Option<Vec<String>>,
    /// The GPU profile that they are held against, relative to `root`; nothing where that is not said.
    pub(crate) profile: Option<String>,
    /// The package of formulas, where one is said.
    pub(crate) package: Option<String>,
    /// Where formulas are defined, relative to `root`; nothing where that is not said.
    pub(crate) sources: Option<Vec<String>>,
    /// Formulas that are defined elsewhere; nothing where none are said.
    pub(crate) names: Option<Vec<String>>,
    /// How codes are reported.
    pub(crate) levels: Levels,
}

/// Something about a configuration file that needs saying.
#[derive(Debug)]
pub(crate) struct ConfigNote {
    pub(crate) source: Arc<Source>,
    pub(crate) range: TextRange,
    pub(crate) message: String,
    pub(crate) help: Option<String>,
    /// Whether the file cannot be followed because of it.
    pub(crate) fatal: bool,
}

impl Config {
    /// What holds without a configuration file, in `root`.
    pub(crate) fn without_file(root: &Path) -> Self {
        Config { root: root.to_path_buf(), manifest: vec![DEFAULT_FOLDER.to_owned()], ..Config::default() }
    }

    /// Whether `file`, an absolute path, lies in a manifest folder.
    pub(crate) fn holds(&self, file: &Path) -> bool {
        self.manifest.iter().any(|folder| file.starts_with(crate::discover::normalized(&self.root.join(folder))))
    }

    /// Reads the text of a configuration file. Whatever is wrong with it, everything else in it holds.
    pub(crate) fn parse(root: &Path, source: &Arc<Source>, notes: &mut Vec<ConfigNote>) -> Self {
        let before = notes.len();
        let mut reader = Reader { source, notes };
        let (table, errors) = DeTable::parse_recoverable(&source.text);
        for error in errors {
            reader.note(error.span().unwrap_or(0..0), error.message().to_owned(), None, true);
        }
        let mut config = Config { levels: Levels::default(), ..Config::without_file(root) };
        for (key, value) in table.into_inner() {
            match &**key.get_ref() {
                "manifest" => config.manifest = reader.strings(&value, "manifest").unwrap_or(config.manifest),
                "records" => config.records = reader.strings(&value, "records"),
                "profile" => config.profile = reader.string(&value, "profile"),
                "formulas" => {
                    for (key, value) in reader.table(&value, "formulas") {
                        match &**key.get_ref() {
                            "package" => config.package = reader.string(value, "formulas.package"),
                            "sources" => config.sources = reader.strings(value, "formulas.sources"),
                            "names" => config.names = reader.strings(value, "formulas.names"),
                            _ => reader.unknown(key, "`[formulas]`", schema::table(schema::CONFIG, "formulas")),
                        }
                    }
                }
                "codes" => {
                    for (key, value) in reader.table(&value, "codes") {
                        reader.level(key, value, &mut config.levels);
                    }
                }
                _ => reader.unknown(&key, FILE_NAME, schema::CONFIG),
            }
        }
        notes[before..].sort_by_key(|note| (note.range.start(), note.range.end()));
        config
    }
}

struct Reader<'r> {
    source: &'r Arc<Source>,
    notes: &'r mut Vec<ConfigNote>,
}

type Key<'i> = Spanned<std::borrow::Cow<'i, str>>;

impl Reader<'_> {
    fn note(&mut self, span: Range<usize>, message: String, help: Option<String>, fatal: bool) {
        let length = self.source.text.len();
        let clamp = |offset: usize| TextSize::try_from(offset.min(length)).unwrap_or_default();
        let range = TextRange::new(clamp(span.start), clamp(span.end.max(span.start)));
        self.notes.push(ConfigNote { source: self.source.clone(), range, message, help, fatal });
    }

    fn unknown(&mut self, key: &Key<'_>, place: &str, known: &'static [schema::Key]) {
        let found = key.get_ref();
        let help = format!("it knows {}", list(nearest_first(found, schema::names(known)), "and"));
        self.note(key.span(), format!("{place} has no key `{found}`"), Some(help), false);
    }

    fn wrong(&mut self, value: &Spanned<DeValue<'_>>, key: &str, takes: &str) {
        let found = match value.get_ref() {
            DeValue::String(_) => "a string",
            DeValue::Integer(_) => "an integer",
            DeValue::Float(_) => "a float",
            DeValue::Boolean(_) => "a boolean",
            DeValue::Datetime(_) => "a date",
            DeValue::Array(_) => "an array",
            DeValue::Table(_) => "a table",
        };
        self.note(value.span(), format!("`{key}` takes {takes}, not {found}"), None, true);
    }

    fn string(&mut self, value: &Spanned<DeValue<'_>>, key: &str) -> Option<String> {
        match value.get_ref() {
            DeValue::String(text) => Some(text.to_string()),
            _ => {
                self.wrong(value, key, "a string");
                None
            }
        }
    }

    fn strings(&mut self, value: &Spanned<DeValue<'_>>, key: &str) -> Option<Vec<String>> {
        match value.get_ref() {
            DeValue::Array(items) => Some(items.iter().filter_map(|item| self.string(item, key)).collect()),
            _ => {
                self.wrong(value, key, "an array of strings");
                None
            }
        }
    }

    fn table<'v, 'i>(
        &mut self,
        value: &'v Spanned<DeValue<'i>>,
        key: &str,
    ) -> Vec<(&'v Key<'i>, &'v Spanned<DeValue<'i>>)> {
        match value.get_ref() {
            DeValue::Table(table) => table.iter().collect(),
            _ => {
                self.wrong(value, key, "a table");
                Vec::new()
            }
        }
    }

    fn level(&mut self, key: &Key<'_>, value: &Spanned<DeValue<'_>>, levels: &mut Levels) {
        let name = key.get_ref();
        let code = match levels::code(name) {
            Ok(code) => Some(code),
            Err(message) => {
                self.note(key.span(), message, None, false);
                None
            }
        };
        let Some(word) = self.string(value, &format!("codes.{name}")) else { return };
        match (code, Level::named(&word)) {
            (Some(code), Some(level)) => levels.set(code, level),
            (None, Some(_)) => {}
            (_, None) => {
                let help = match nearest(&word, Level::NAMES) {
                    Some(close) => format!("did you mean `{close}`?"),
                    None => format!("it is reported as {}", list(Level::NAMES, "or")),
                };
                self.note(value.span(), format!("a code cannot be reported as `{word}`"), Some(help), true);
            }
        }
    }
}

/// The configuration of each folder, found upwards and read once.
#[derive(Debug, Default)]
pub(crate) struct Configs {
    by_folder: BTreeMap<PathBuf, Option<Arc<Config>>>,
    /// What the files need said, in the order found.
    pub(crate) notes: Vec<ConfigNote>,
    /// The configuration files that cannot be read, and why.
    pub(crate) unreadable: Vec<(PathBuf, String)>,
}

impl Configs {
    /// The configuration that holds in `folder`, an absolute path.
    pub(crate) fn of(&mut self, folder: &Path) -> Option<Arc<Config>> {
        let mut visited = Vec::new();
        let mut found = None;
        for ancestor in folder.ancestors() {
            if let Some(known) = self.by_folder.get(ancestor) {
                found = known.clone();
                break;
            }
            visited.push(ancestor.to_path_buf());
            let file = ancestor.join(FILE_NAME);
            if file.is_file() {
                found = Some(self.read(ancestor, &file));
                break;
            }
        }
        for folder in visited {
            self.by_folder.insert(folder, found.clone());
        }
        found
    }

    fn read(&mut self, root: &Path, file: &Path) -> Arc<Config> {
        match source::read_text(file) {
            Ok(text) => {
                let path = crate::discover::shown(file);
                let source = Arc::new(Source::new(path.into(), text.into()));
                Arc::new(Config::parse(root, &source, &mut self.notes))
            }
            Err(error) => {
                self.unreadable.push((file.to_path_buf(), format!("{error:#}")));
                Arc::new(Config::without_file(root))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tileops_analyzer::defect::codes;

    fn parse(text: &str) -> (Config, Vec<(String, String, bool)>) {
        let source = Arc::new(Source::new("tileops.toml".into(), text.into()));
        let mut notes = Vec::new();
        let config = Config::parse(Path::new("/p"), &source, &mut notes);
        let notes = notes.iter().map(|n| (source.slice(n.range).to_owned(), n.message.clone(), n.fatal)).collect();
        (config, notes)
    }

    #[test]
    fn a_whole_file_is_read() {
        let (config, notes) = parse(
            "manifest = ['a', 'b/c']\n[formulas]\npackage = 'x.y'\nsources = ['s']\nnames = ['n']\n[codes]\n\
             unknown-key = 'advisory'\nyaml-tag = 'ignore'\n",
        );
        assert_eq!(notes, []);
        assert_eq!(config.manifest, ["a", "b/c"]);
        assert_eq!((config.package.as_deref(), &config.names), (Some("x.y"), &Some(vec!["n".to_owned()])));
        let level = |code| config.levels.level(&Levels::default(), code);
        assert_eq!(level(&codes::UNKNOWN_KEY), Level::Advisory);
        assert_eq!(level(&codes::YAML_TAG), Level::Ignore);
        assert_eq!(level(&codes::YAML_SYNTAX), Level::Error);
        assert!(config.holds(Path::new("/p/b/c/d.yaml")) && !config.holds(Path::new("/p/b/d.yaml")));
    }

    #[test]
    fn what_is_wrong_is_said_with_its_place_and_the_rest_holds() {
        let (config, notes) = parse(
            "manifst = ['a']\nmanifest = ['m']\n[codes]\nunknown-kee = 'error'\nyaml-tag = 'eror'\nunknown-key = 3\n",
        );
        assert_eq!(config.manifest, ["m"]);
        let mut said: Vec<&str> = notes.iter().map(|(at, ..)| at.as_str()).collect();
        said.sort_unstable();
        assert_eq!(said, ["'eror'", "3", "manifst", "unknown-kee"]);
        assert!(notes.iter().any(|(_, message, _)| message.contains("did you mean `unknown-key`?")));
    }

    #[test]
    fn any_text_gives_a_configuration() {
        for text in ["= 1", "[", "a = \"", "\u{0}", "manifest = 3", "codes = []", "[formulas]\nx = 1", "é = 'x"] {
            let (_, notes) = parse(text);
            assert!(!notes.is_empty(), "{text:?}");
        }
    }
}
