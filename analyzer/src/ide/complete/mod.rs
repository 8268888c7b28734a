//! What can stand where the cursor is.
//!
//! A name is put where the cursor stands and the text is read again, so that there is something to ask about however
//! broken the text is; what can stand in an expression is tried out there, and offered where the checker takes it.

mod comment;
mod expression;
mod keys;
mod probe;
mod values;
mod whole;

use self::comment::codes_in_comment;
use super::Edit;
use super::hover::{describe_builtin, describe_dtype};
use super::site::{Due, Items, Part, Site, descend, root};
use crate::db::AnalysisDb;
use crate::defect::{codes, find_code};
use crate::lang::DType;
use crate::lang::builtins;
use crate::syntax::{EntryTree, Node, NodeKind, parse_entry};
use crate::text::{TextRange, TextSize};

/// What a completion inserts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CompletionKind {
    /// A key.
    Key,
    /// A word, a literal.
    Word,
    /// An index, a parameter, a `let`.
    Name,
    /// A tensor.
    Tensor,
    /// A type, a kind, an ADT, a family.
    Type,
    /// A dtype.
    DType,
    /// A built-in.
    Function,
    /// A field.
    Field,
    /// An op.
    Op,
    /// A defect code.
    Code,
}

/// Something of the language that is documented at length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Topic {
    /// A built-in.
    Builtin(&'static str),
    /// A defect code.
    Code(&'static str),
    /// A dtype.
    DType(DType),
}

impl Topic {
    /// The topic with a name that [`Topic`]'s `Display` gave.
    pub fn named(name: &str) -> Option<Topic> {
        let (group, name) = name.split_once('/')?;
        match group {
            "builtin" => builtins::find(name).map(|builtin| Topic::Builtin(builtin.name)),
            "code" => find_code(name).map(|code| Topic::Code(code.name)),
            "dtype" => DType::from_name(name).map(Topic::DType),
            _ => None,
        }
    }
}

impl std::fmt::Display for Topic {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Topic::Builtin(name) => write!(f, "builtin/{name}"),
            Topic::Code(name) => write!(f, "code/{name}"),
            Topic::DType(dtype) => write!(f, "dtype/{}", dtype.name()),
        }
    }
}

/// What there is to say of a topic, in Markdown.
pub fn documentation(topic: Topic) -> String {
    match topic {
        Topic::Builtin(name) => builtins::find(name).map(describe_builtin).unwrap_or_default(),
        Topic::Code(name) => find_code(name).map(|code| code.page()).unwrap_or_default(),
        Topic::DType(dtype) => describe_dtype(dtype),
    }
}

/// Something that can stand where the cursor is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Completion {
    /// What is shown, and what typing filters by.
    pub label: String,
    /// What it is.
    pub kind: CompletionKind,
    /// Its kind or signature; may be empty.
    pub detail: String,
    /// More, in Markdown; empty where there is nothing more, or a topic has it.
    pub documentation: String,
    /// What [`documentation`] is to be asked about.
    pub topic: Option<Topic>,
    /// What accepting it does.
    pub edit: Edit,
    /// The edit's text with placeholders, where it has some: `ceil_div(${1:a}, ${2:b})`.
    pub snippet: Option<String>,
}

/// What can stand between two operands.
const KEYWORDS: [&str; 8] = ["in", "not in", "and", "or", "if", "else", "not", "for"];

/// The name that stands for the cursor.
const MARK: &str = "zzcursorzz";

/// What can stand at `offset` of a file.
pub fn completions(db: &AnalysisDb, path: &str, offset: TextSize) -> Vec<Completion> {
    let Some(site) = Site::at(db, path, offset) else { return Vec::new() };
    let text = site.text();
    let at = usize::from(site.local(offset)).min(text.len());
    let at = text.floor_char_boundary(at);
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let before = &text[..at];
    let after = &text[at..];
    let line = before.rfind(['\n', '\r']).map_or(0, |i| i + 1);
    if let Some(found) = codes_in_comment(&site, &text[line..at], at) {
        return found;
    }
    let start = before.rfind(|c| !is_word(c)).map_or(0, |i| i + before[i..].chars().next().map_or(1, char::len_utf8));
    let start = behind_escape(&before[line.min(start)..], line.min(start), start).min(at);
    let end = at + after.find(|c| !is_word(c)).unwrap_or(after.len());
    let size = |at: usize| TextSize::try_from(at).unwrap_or_default();
    let range = site.global(TextRange::new(size(start), size(end)));
    let rest = text[end..].split(['\n', '\r']).next().unwrap_or("");
    let lead = &text[line..start.max(line)];
    let starts_line = lead.trim_start_matches(['-', ' ']).is_empty();
    let open = closers(lead);
    let patch = |colon: &str, close: &str| format!("{}{MARK}{colon}{close}{}", &text[..start], &text[end..]);
    // Each with whether the name stands as a key.
    let mut patched = Vec::new();
    if starts_line && !rest.trim_start().starts_with(':') {
        patched.push((patch(":", ""), true));
    }
    patched.push((patch("", ""), false));
    if rest.trim().is_empty() && !open.is_empty() {
        patched.push((patch("", &open), false));
    }
    if let Some(quote) = open.get(..1).filter(|quote| matches!(*quote, "\"" | "'") && !rest.contains(*quote)) {
        patched.push((patch("", quote), false));
    }
    let mut best = Vec::new();
    for (text, as_key) in patched {
        let tree = parse_entry(&text);
        let broken = tree.findings.defects.iter().any(|defect| defect.code == &codes::YAML_SYNTAX);
        let mut work = Work {
            site: &site,
            range,
            found: Vec::new(),
            in_flow: !open.is_empty(),
            column: start - line,
            quotes_calls: false,
            bears_commas: true,
            beside: Vec::new(),
        };
        work.complete(&text, &tree, size(start + 1), as_key);
        work.found.retain(|completion| completion.label != MARK);
        if !work.found.is_empty() {
            if !broken {
                return work.found;
            }
            if best.is_empty() {
                best = work.found;
            }
        }
    }
    best
}

/// Where a word starts that was found to start at `start`, where an escape of a double-quoted text stands there: `\x20M`.
/// `text` begins at `from` and ends at the cursor.
fn behind_escape(text: &str, from: usize, start: usize) -> usize {
    let before = text.get(..start - from).unwrap_or("");
    let slashes = before.len() - before.trim_end_matches('\\').len();
    if slashes % 2 == 0 || !closers(before.trim_end_matches('\\')).starts_with('"') {
        return start;
    }
    let letter = text.get(start - from..).and_then(|rest| rest.chars().next());
    start
        + match letter {
            Some('x') => 3,
            Some('u') => 5,
            Some('U') => 9,
            Some(_) => 1,
            None => 0,
        }
}

/// What closes the quotes and brackets that are open behind `line`.
pub(super) fn closers(line: &str) -> String {
    let mut open: Vec<char> = Vec::new();
    let mut escaped = false;
    for c in line.chars() {
        match open.last() {
            Some('"') if escaped => escaped = false,
            Some('"') if c == '\\' => escaped = true,
            Some(&quote @ ('"' | '\'')) => {
                if c == quote {
                    open.pop();
                }
            }
            _ => match c {
                '"' | '\'' => open.push(c),
                '[' => open.push(']'),
                '{' => open.push('}'),
                ']' | '}' if open.last() == Some(&c) => {
                    open.pop();
                }
                _ => {}
            },
        }
    }
    open.iter().rev().collect()
}

struct Work<'a> {
    site: &'a Site<'a>,
    range: TextRange,
    found: Vec<Completion>,
    in_flow: bool,
    column: usize,
    /// Whether the scalar is nothing but the cursor, and plain: a call is put in quotes.
    quotes_calls: bool,
    /// Whether a comma is part of the scalar.
    bears_commas: bool,
    /// What stands in the list that the cursor is in.
    beside: Vec<String>,
}

impl Work<'_> {
    fn add(&mut self, label: &str, kind: CompletionKind, detail: &str, documentation: &str) -> Option<&mut Completion> {
        if self.found.iter().any(|other| other.label == label) {
            return None;
        }
        self.found.push(Completion {
            label: label.to_owned(),
            kind,
            detail: detail.to_owned(),
            documentation: documentation.to_owned(),
            topic: None,
            edit: Edit { range: self.range, text: label.to_owned() },
            snippet: None,
        });
        self.found.last_mut()
    }

    fn complete(&mut self, text: &str, tree: &EntryTree, at: TextSize, as_key: bool) {
        let parts = descend(&tree.value, root(self.site.kind, tree), at);
        match parts.last() {
            Some(&Part::Key { node, value, mapping, due }) if mentions_mark(node) => {
                self.keys(text, mapping, due, value);
            }
            // The colon of a key is none of a text of several lines.
            Some(&Part::Value { node, due }) if mentions_mark(node) && !as_key => {
                let beside = parts.iter().rev().find_map(|part| match part {
                    Part::Value { node, .. } => match &node.kind {
                        NodeKind::Sequence(items) => {
                            Some(items.iter().filter_map(Node::as_str).map(str::to_owned).collect())
                        }
                        _ => None,
                    },
                    Part::Key { .. } => None,
                });
                self.beside = beside.unwrap_or_default();
                match due {
                    Due::Scalar(holds, owner) => self.values(text, tree, node, holds, owner),
                    // A mapping that is being begun in brackets, or a list's first item.
                    Due::List(Items::Scalars(holds), owner) => self.values(text, tree, node, holds, owner),
                    _ => {}
                }
            }
            _ => {}
        }
    }
}

fn mentions_mark(node: &Node) -> bool {
    node.as_scalar().is_some_and(|scalar| scalar.text.contains(MARK))
}
