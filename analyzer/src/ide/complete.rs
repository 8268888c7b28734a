//! What can stand where the cursor is.
//!
//! A name is put where the cursor stands and the text is read again, so that there is something to ask about however
//! broken the text is; what can stand in an expression is tried out there, and offered where the checker takes it.

use std::sync::Arc;

use super::Edit;
use super::hover::{describe_builtin, describe_dtype};
use super::mentions::{adt_of, formals, literals, role_noun};
use super::site::{Due, Holds, Items, Names, Owner, Part, Site, descend, is_tensor, root};
use crate::analysis::parse;
use crate::check::{CallRole, FamilySymbol, Inference, Point, Position, Scope, Symbol, SymbolRole, value_of_node};
use crate::db::AnalysisDb;
use crate::defect::{Findings, all_codes, codes, find_code};
use crate::eval::fold;
use crate::expr::{Expr, ExprKind, ShapeKind, parse_expression, parse_shape};
use crate::lang::builtins::{self, Builtin, Gives, METADATA_DTYPES, Passing, Role, Takes};
use crate::lang::{DType, DTypeSet, Kind, Literals, Value};
use crate::model::schema::{self, Form, INDEX_KINDS, Key, Section};
use crate::model::{Condition, Entry};
use crate::syntax::{EntryTree, Node, NodeKind, Scalar, ScalarStyle, parse_entry};
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
const KEYWORDS: [&str; 6] = ["in", "not in", "and", "or", "if", "else"];

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
    let mut patched = Vec::new();
    if starts_line && !rest.trim_start().starts_with(':') {
        patched.push(patch(":", ""));
    }
    patched.push(patch("", ""));
    if rest.trim().is_empty() && !open.is_empty() {
        patched.push(patch("", &open));
    }
    if let Some(quote) = open.get(..1).filter(|quote| matches!(*quote, "\"" | "'") && !rest.contains(*quote)) {
        patched.push(patch("", quote));
    }
    let mut best = Vec::new();
    for text in patched {
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
        };
        work.complete(&text, &tree, size(start + 1));
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

/// What closes the brackets that are open behind an expression.
fn brackets(text: &str) -> String {
    let mut open: Vec<char> = Vec::new();
    for c in text.chars() {
        match c {
            '(' => open.push(')'),
            '[' => open.push(']'),
            ')' | ']' if open.last() == Some(&c) => {
                open.pop();
            }
            _ => {}
        }
    }
    open.iter().rev().collect()
}

/// The codes that a suppression comment can name, where the cursor is in one.
fn codes_in_comment(site: &Site<'_>, line: &str, at: usize) -> Option<Vec<Completion>> {
    let comment = line.find("# tileops:").or_else(|| line.find("#tileops:"))?;
    let stated = &line[comment..];
    let start = stated.rfind(['[', ',', ' ']).map(|i| i + 1)?;
    let size = |at: usize| TextSize::try_from(at).unwrap_or_default();
    let word_start = at - (stated.len() - start);
    let rest = site.text().get(at..).unwrap_or("");
    let end = at + rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '-')).unwrap_or(rest.len());
    let range = site.global(TextRange::new(size(word_start), size(end)));
    let item = |label: &str, text: String, detail: &str, topic: Option<Topic>| Completion {
        label: label.to_owned(),
        kind: CompletionKind::Code,
        detail: detail.to_owned(),
        documentation: String::new(),
        topic,
        edit: Edit { range, text },
        snippet: None,
    };
    if !stated.contains('[') {
        return Some(vec![item("ignore", "ignore[]".to_owned(), "suppress defects here", None)]);
    }
    let unsuppressible = [&codes::BAD_SUPPRESSION, &codes::UNUSED_SUPPRESSION];
    let suppressible = all_codes().filter(|(_, code)| !unsuppressible.contains(code));
    Some(
        suppressible
            .map(|(_, code)| item(code.name, code.name.to_owned(), code.summary, Some(Topic::Code(code.name))))
            .collect(),
    )
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

    fn complete(&mut self, text: &str, tree: &EntryTree, at: TextSize) {
        let parts = descend(&tree.value, root(self.site.kind, tree), at);
        match parts.last() {
            Some(&Part::Key { node, value, mapping, due }) if mentions_mark(node) => {
                self.keys(text, mapping, due, value);
            }
            Some(&Part::Value { node, due }) if mentions_mark(node) => match due {
                Due::Scalar(holds, owner) => self.values(text, tree, node, holds, owner),
                // A mapping that is being begun in brackets, or a list's first item.
                Due::List(Items::Scalars(holds), owner) => self.values(text, tree, node, holds, owner),
                _ => {}
            },
            _ => {}
        }
    }

    fn keys(&mut self, text: &str, mapping: &Node, due: Due<'_>, value: &Node) {
        let NodeKind::Mapping(pairs) = &mapping.kind else { return };
        let adds_colon = value.range.is_empty();
        let present: Vec<&str> = pairs.iter().filter_map(|pair| pair.key.as_str()).collect();
        match due {
            Due::Section(section, owner) => {
                let is = |other: &Section| std::ptr::eq(section, other);
                let mut sections = vec![section];
                // A parameter that says nothing yet may be either.
                let may_be_tensor = present.iter().all(|key| *key == MARK || schema::TENSOR_PARAM.key(key).is_some());
                if is(&schema::VALUE_PARAM) && may_be_tensor && !is_tensor(Some(mapping)) {
                    sections.push(&schema::TENSOR_PARAM);
                }
                let excluded = |key: &str| match key {
                    "op" => present.contains(&"kernel"),
                    "kernel" => present.contains(&"op"),
                    "func" if is(&schema::ROOFLINE) => present.contains(&"flops") || present.contains(&"bytes"),
                    "flops" | "bytes" if is(&schema::ROOFLINE) => present.contains(&"func"),
                    _ => false,
                };
                if is(&schema::ROW) {
                    self.row_keys(text, mapping, &owner, &present, adds_colon);
                }
                for key in sections.iter().flat_map(|section| section.keys) {
                    // Only these two say that it is a tensor.
                    let is_open = sections.len() == 2 && section.key(key.name).is_none();
                    let is_early = is_open && !adds_colon && !matches!(key.name, "dtype" | "shape");
                    if !present.contains(&key.name) && !excluded(key.name) && !is_early && takes(key, value) {
                        self.key(key, adds_colon);
                    }
                }
            }
            Due::Named(Names::Combo | Names::Case, _) => {
                let Some(analysis) = &self.site.analysis else { return };
                let names: Vec<(Arc<str>, String)> = analysis
                    .scope
                    .iter()
                    .filter(|symbol| matches!(symbol.kind, Kind::DType(_)) && !present.contains(&&*symbol.name))
                    .map(|symbol| (symbol.name.clone(), symbol.kind.to_string()))
                    .collect();
                for (name, kind) in names {
                    self.named_key(&name, &kind, "", adds_colon);
                }
            }
            Due::Named(names @ (Names::AdtValue | Names::AdtFields | Names::Pattern | Names::PatternFields), owner) => {
                let Some(analysis) = self.site.analysis.clone() else { return };
                let adts: Vec<_> = match names {
                    Names::AdtValue | Names::AdtFields => {
                        let name = owner.member.or(owner.name);
                        name.and_then(|n| analysis.scope.get(n))
                            .and_then(|s| adt_of(&s.kind))
                            .cloned()
                            .into_iter()
                            .collect()
                    }
                    _ => formals(&analysis.scope, &owner)
                        .into_iter()
                        .flatten()
                        .filter_map(|(_, k)| adt_of(k))
                        .cloned()
                        .collect(),
                };
                for constructor in adts.iter().flat_map(|adt| &adt.constructors) {
                    if matches!(names, Names::AdtValue | Names::Pattern) {
                        self.named_key(&constructor.name, "constructor", "", adds_colon);
                    } else if owner.field == Some(&constructor.name) {
                        for field in constructor.fields.iter().filter(|field| !present.contains(&&*field.name)) {
                            self.named_key(&field.name, &field.kind.to_string(), "", adds_colon);
                        }
                    }
                }
            }
            _ => {}
        }
    }

    fn key(&mut self, key: &'static Key, adds_colon: bool) {
        let (in_flow, indent) = (self.in_flow, " ".repeat(self.column + 2));
        let required = if key.required { "required" } else { "optional" };
        let Some(item) = self.add(key.name, CompletionKind::Key, required, key.doc) else { return };
        if !adds_colon {
            return;
        }
        let name = key.name;
        item.edit.text = format!("{name}: ");
        let example = escaped(key.example);
        item.snippet = Some(match key.form {
            Form::Section(_) | Form::Kinds | Form::Types | Form::Lets | Form::Named(_) if in_flow => {
                format!("{name}: {{$0}}")
            }
            Form::List(_) | Form::DTypeRows | Form::Expressions | Form::Predicates | Form::Names if in_flow => {
                format!("{name}: [$0]")
            }
            Form::Section(_) | Form::Kinds | Form::Types | Form::Lets | Form::Named(_) => {
                format!("{name}:\n{indent}$0")
            }
            Form::List(_) | Form::DTypeRows | Form::Expressions | Form::Predicates => {
                format!("{name}:\n{}- $0", indent.get(2..).unwrap_or(""))
            }
            _ => format!("{name}: ${{1:{example}}}"),
        });
    }

    fn named_key(&mut self, name: &str, detail: &str, value: &str, adds_colon: bool) {
        if let Some(item) = self.add(name, CompletionKind::Name, detail, "")
            && adds_colon
        {
            item.edit.text = format!("{name}: ");
            if !value.is_empty() {
                item.snippet = Some(format!("{name}: ${{1:{}}}", escaped(value)));
            }
        }
    }

    /// The parameters and indices that a row still has to state, or can.
    fn row_keys(&mut self, text: &str, mapping: &Node, _: &Owner<'_>, present: &[&str], adds_colon: bool) {
        let NodeKind::Mapping(pairs) = &mapping.kind else { return };
        let Some(analysis) = self.site.analysis.clone() else { return };
        let Some(signature) = analysis.entry.signature.valid() else { return };
        let _ = text;
        let stated = |name: &str| pairs.iter().find(|pair| pair.key.as_str() == Some(name)).map(|pair| &pair.value);
        let mut params: Vec<(Arc<str>, Value)> = Vec::new();
        for param in signature.params.items() {
            let crate::model::ParamRole::Value { default, .. } = &param.role else { continue };
            let Some(symbol) = analysis.scope.get(&param.name.value) else { continue };
            let node = stated(&param.name.value).or(default.valid());
            if let Some(value) = node.and_then(|node| value_of_node(node, &symbol.kind).ok()) {
                params.push((param.name.value.clone(), value));
            }
            if !present.contains(&&*param.name.value) {
                let need = if default.is_absent() { "required parameter" } else { "parameter" };
                self.named_key(
                    &param.name.value,
                    &format!("{need}: {}", symbol.kind),
                    &sample(&symbol.kind),
                    adds_colon,
                );
            }
        }
        let some: Vec<Arc<str>> = match stated("some").map(|node| &node.kind) {
            Some(NodeKind::Sequence(items)) => items.iter().filter_map(|item| item.as_str().map(Arc::from)).collect(),
            _ => Vec::new(),
        };
        let branch = analysis.checked.branch(&analysis.checked.point_of(&params, &some));
        for name in &branch.relevant {
            let Some(symbol) = analysis.scope.get(name) else { continue };
            let is_due = !branch.solved_by_generator.contains(name) && !matches!(symbol.kind, Kind::DType(_));
            if is_due && !present.contains(&&**name) {
                self.named_key(name, &format!("index: {}", symbol.kind), &sample(&symbol.kind), adds_colon);
            }
        }
    }

    fn words<'w>(&mut self, words: impl IntoIterator<Item = &'w str>, detail: &str) {
        for word in words {
            self.add(word, CompletionKind::Word, detail, "");
        }
    }

    fn dtypes(&mut self, set: DTypeSet) {
        for dtype in set.iter() {
            self.dtype(dtype);
        }
    }

    fn dtype(&mut self, dtype: DType) {
        if let Some(item) = self.add(dtype.name(), CompletionKind::DType, &format!("{} bits", dtype.bits()), "") {
            item.topic = Some(Topic::DType(dtype));
        }
    }

    fn values(&mut self, text: &str, tree: &EntryTree, node: &Node, holds: Holds, owner: Owner<'_>) {
        let analysis = self.site.analysis.clone();
        let entry = parse(text).entry;
        let scope = Scope::of(&entry, &self.site.adts, &mut Findings::default());
        match holds {
            Holds::Choice(words) => {
                let doc = owner.key.map_or("", |key| key.doc);
                self.words(words.iter().copied(), doc);
            }
            Holds::Bool => self.words(["true", "false"], ""),
            Holds::Family => {
                let path = &self.site.path;
                if let Some(analysis) = &analysis
                    && let Some(family) = analysis.entry.family.valid()
                    && !family.value.contains(MARK)
                {
                    self.add(&family.value, CompletionKind::Word, "family", "");
                }
                self.words([crate::workspace::stem(path)], "the family of this file");
            }
            Holds::Op => {
                for op in self.site.db.ops(&self.site.path) {
                    self.add(&op, CompletionKind::Op, "op", "");
                }
            }
            Holds::Function => {
                let formulas = self.site.db.formulas();
                for name in formulas.names.iter().flatten() {
                    self.add(name, CompletionKind::Function, &formulas.package, "");
                }
                // The whole path stands where only a word is replaced.
                let typed = node.as_scalar().is_some_and(|scalar| scalar.text.contains('.'));
                for item in self.found.iter_mut().filter(|_| !typed) {
                    item.edit.text = format!("{}.{}", formulas.package, item.label);
                }
            }
            Holds::Alias => {
                for symbol in
                    scope.iter().filter(|s| s.role == crate::check::SymbolRole::Tensor(crate::model::TensorRole::Input))
                {
                    self.add(&symbol.name, CompletionKind::Tensor, "input", "");
                }
            }
            Holds::Some => {
                let signature = analysis.as_ref().and_then(|a| a.entry.signature.valid());
                for tensor in signature.into_iter().flat_map(crate::check::tensors) {
                    if matches!(tensor.optional.valid(), Some(crate::model::Condition::Always(true))) {
                        self.add(&tensor.name.value, CompletionKind::Tensor, "optional tensor", "");
                    }
                }
            }
            Holds::Match => {
                for (name, kind) in formals(&scope, &owner).into_iter().flatten() {
                    if matches!(kind, Kind::Bool | Kind::Enum(_) | Kind::Adt(..) | Kind::Error) {
                        self.add(name, CompletionKind::Name, &kind.to_string(), "");
                    }
                }
            }
            Holds::Pattern => {
                for (_, kind) in formals(&scope, &owner).into_iter().flatten() {
                    match kind {
                        Kind::Bool => self.words(["true", "false"], "Bool"),
                        kind => self.words(literals(kind), "literal"),
                    }
                }
                self.words(["_"], "anything");
            }
            Holds::DType => {
                let set = owner.member.and_then(|name| scope.get(name)).map(|symbol| symbol.kind.clone());
                self.dtypes(match set {
                    Some(Kind::DType(set)) => set,
                    _ => DTypeSet::ALL,
                });
            }
            Holds::RowValue | Holds::Default => {
                if let Some(symbol) = owner.member.or(owner.name).and_then(|name| scope.get(name)) {
                    self.plain_values(&symbol.kind.clone());
                }
            }
            Holds::IndexKind | Holds::FormalKind | Holds::FieldKind | Holds::Type => self.types(node, holds),
            Holds::Expression(_)
            | Holds::Condition
            | Holds::Shape(_)
            | Holds::TensorDType
            | Holds::Generator
            | Holds::Predicate => {
                let _ = tree;
                self.expression(node, holds, owner, (&entry, &scope));
            }
            Holds::Kernel | Holds::StageName | Holds::Qualified | Holds::Label => {}
        }
    }

    fn plain_values(&mut self, kind: &Kind) {
        match kind {
            Kind::Bool => self.words(["true", "false"], "Bool"),
            Kind::DType(set) => self.dtypes(*set),
            Kind::None => self.words(["null"], "None"),
            Kind::Maybe(inner) => {
                self.plain_values(inner);
                self.words(["null"], "None");
            }
            Kind::Union(members) => members.iter().for_each(|member| self.plain_values(member)),
            kind => self.words(literals(kind), "literal"),
        }
    }

    fn types(&mut self, node: &Node, holds: Holds) {
        let Some(scalar) = node.as_scalar() else { return };
        let before = scalar.text.split(MARK).next().unwrap_or("").trim_end();
        let is_quoted = matches!(scalar.style, ScalarStyle::SingleQuoted | ScalarStyle::DoubleQuoted);
        let behind = scalar.text.split(MARK).nth(1).unwrap_or("");
        let stated: Vec<&str> = scalar.text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).collect();
        if behind.trim_start().starts_with('[') {
            // What takes arguments, without them.
            let of_ints = stated.contains(&"Int");
            let heads: &[&str] = match holds {
                Holds::IndexKind => &["DType", "Seq"],
                Holds::FormalKind => &["DType"],
                Holds::Type => &["list", "tuple"],
                _ => &[],
            };
            let is_due = |head: &str| match head {
                "Seq" => of_ints || behind.trim_start() == "[]",
                "DType" => !of_ints,
                // A list is as long as it is.
                "list" => !behind.contains(','),
                _ => true,
            };
            for head in heads.iter().filter(|head| is_due(head)) {
                self.add(head, CompletionKind::Type, "", "");
            }
            return;
        }
        // A literal is the author's own.
        if before.matches('\'').count() % 2 == 1 {
            return;
        }
        if before.ends_with("Seq[") && holds == Holds::IndexKind {
            self.add("Int", CompletionKind::Type, "", "");
            return;
        }
        if before.ends_with(['[', '|']) && (before.contains("DType[") || holds == Holds::Type) {
            for dtype in DType::ALL.iter().filter(|dtype| !stated.contains(&dtype.name())) {
                self.dtype(*dtype);
            }
            if before.contains("DType[") {
                return;
            }
        }
        let mut add = |name: &str, doc: &str| {
            let text = if name.contains(['[', '|']) && !is_quoted { format!("\"{name}\"") } else { name.to_owned() };
            if let Some(item) = self.add(name, CompletionKind::Type, "", doc) {
                item.edit.text = text;
            }
        };
        match holds {
            Holds::IndexKind => {
                for (name, doc) in INDEX_KINDS {
                    add(&name.replace('…', "float16 | bfloat16"), doc);
                }
            }
            Holds::FieldKind => schema::FIELD_KINDS.iter().for_each(|name| add(name, "")),
            Holds::FormalKind => ["Dim", "Int", "Bool", "Shape", "DType"].iter().for_each(|name| add(name, "")),
            _ => ["int", "bool", "float", "str", "Number", "torch.dtype", "int | None", "list[int]", "tuple[int, ...]"]
                .iter()
                .for_each(|name| add(name, "")),
        }
        if holds == Holds::Type && (before.is_empty() || before.ends_with('|')) {
            for dtype in DType::ALL.iter().filter(|dtype| !stated.contains(&dtype.name())) {
                self.dtype(*dtype);
            }
        }
        if holds != Holds::IndexKind && holds != Holds::FieldKind {
            for adt in self.site.adts.iter() {
                self.found.push(Completion {
                    label: adt.name.to_string(),
                    kind: CompletionKind::Type,
                    detail: "type of types.yaml".to_owned(),
                    documentation: String::new(),
                    topic: None,
                    edit: Edit { range: self.range, text: adt.name.to_string() },
                    snippet: None,
                });
            }
        }
    }

    fn expression(&mut self, node: &Node, holds: Holds, owner: Owner<'_>, (entry, scope): (&Entry, &Scope)) {
        let Some(scalar) = node.as_scalar() else { return };
        // What is open in the expression is closed, so that what stands in it can be judged.
        let whole = format!("{}{}", scalar.text, brackets(&scalar.text));
        let text = whole.as_str();
        let Some(cursor) = text.find(MARK) else { return };
        let before = &text[..cursor];
        let is_plain = scalar.style == ScalarStyle::Plain;
        // A whole plain scalar can be put in quotes; in brackets, a comma would end any other.
        self.quotes_calls = is_plain && scalar.text.trim() == MARK;
        self.bears_commas = !is_plain || !self.in_flow;
        let probe = Probe { scope, holds, owner, text, entry };
        let behind = &text[cursor + MARK.len()..];
        let unfinished = probe.defects(MARK, Some(Kind::Error));
        let dotted =
            behind.split(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '.'))).next().unwrap_or("");
        if let Some(rest) = dotted.strip_prefix('.')
            && behind[dotted.len()..].starts_with('(')
        {
            let groups = builtins::all().iter().filter_map(|builtin| builtin.name.split_once('.'));
            let groups: Vec<&str> = groups.filter(|(_, name)| *name == rest).map(|(group, _)| group).collect();
            let least = groups.iter().map(|group| probe.defects(group, None)).min();
            for group in groups.iter().filter(|group| Some(probe.defects(group, None)) == least) {
                self.add(group, CompletionKind::Function, "", "");
            }
            return;
        }
        if behind.starts_with('[') && matches!(holds, Holds::Shape(Position::Shape)) && before.trim().is_empty() {
            let whole = Scalar::plain(text);
            let range = TextRange::up_to(TextSize::of(text));
            let count = match parse_shape(&whole, range, "", &mut Findings::default()).kind {
                ShapeKind::Family(_, arguments) => Some(arguments.len()),
                _ => None,
            };
            let takes_them = |family: &&FamilySymbol| {
                family.formals.as_ref().zip(count).is_none_or(|(formals, count)| formals.len() == count)
            };
            let names: Vec<&str> = scope.families().filter(takes_them).map(|family| &*family.name).collect();
            let least = names.iter().map(|name| probe.defects(name, None)).min();
            for name in names.iter().filter(|name| Some(probe.defects(name, None)) == least) {
                self.add(name, CompletionKind::Type, "type family", "");
            }
            return;
        }
        if let Some(arguments) = behind.strip_prefix('(') {
            self.callees(&probe, before, arguments.trim_start().starts_with(')'));
            return;
        }
        // Where the place takes no more than some names, whatever stands for the cursor is a mistake of its own: what
        // makes the fewest is what fits.
        let names = scope.iter().map(|symbol| &*symbol.name).filter(|name| *name != MARK);
        let own = formals(scope, &owner).into_iter().flatten().map(|(name, _)| &**name);
        let least = names.chain(own).chain(KEYWORDS).chain(["True", "1"]).map(|name| probe.defects(name, None)).min();
        let base = unfinished.min(least.unwrap_or(unfinished));
        let fits = |candidate: &str| probe.defects(candidate, None) <= base;
        if let Some(dotted) = before.strip_suffix('.') {
            let chain = dotted.rsplit(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).next().unwrap_or("");
            for builtin in builtins::all() {
                if let Some(rest) = builtin.name.strip_prefix(chain).and_then(|rest| rest.strip_prefix('.')) {
                    self.function(builtin, rest);
                }
            }
            let mut fields: Vec<(String, String)> =
                vec![("value".into(), String::new()), ("kind".into(), String::new())];
            let kinds =
                scope.iter().map(|s| &s.kind).chain(formals(scope, &owner).into_iter().flatten().map(|(_, k)| k));
            for constructor in kinds.filter_map(adt_of).flat_map(|adt| &adt.constructors) {
                fields.extend(constructor.fields.iter().map(|f| (f.name.to_string(), f.kind.to_string())));
            }
            for (field, detail) in fields {
                // The name that stands for the cursor is an unknown field itself.
                if probe.defects(&field, None) < unfinished.max(1) {
                    self.add(&field, CompletionKind::Field, &detail, "");
                }
            }
            return;
        }
        let opening = before.chars().rev().find(|c| !c.is_whitespace());
        let in_string = before.matches('\'').count() % 2 == 1;
        let compares = |text: &str| {
            let text = text.trim_end();
            text.ends_with("==") || text.ends_with("!=") || text.ends_with(" in") || matches!(opening, Some('(' | ','))
        };
        if in_string || compares(before) {
            let mut known: Vec<String> = Vec::new();
            let kinds =
                scope.iter().map(|s| &s.kind).chain(formals(scope, &owner).into_iter().flatten().map(|(_, k)| k));
            for kind in kinds {
                known.extend(literals(kind).iter().map(|literal| (*literal).to_owned()));
                for constructor in adt_of(kind).iter().flat_map(|adt| &adt.constructors) {
                    known.push(constructor.name.to_string());
                    known.extend(constructor.fields.iter().flat_map(|f| literals(&f.kind)).map(str::to_owned));
                }
                if let Kind::DType(set) = kind {
                    known.extend(set.iter().map(|dtype| dtype.name().to_owned()));
                }
            }
            for builtin in builtins::all() {
                for parameter in builtin.params {
                    if let Takes::Literal(words) = parameter.takes {
                        known.extend(words.iter().map(|word| (*word).to_owned()));
                    }
                }
            }
            known.sort_unstable();
            known.dedup();
            let quote = if scalar.style == ScalarStyle::SingleQuoted { "\"" } else { "'" };
            let candidate = |literal: &str| if in_string { literal.to_owned() } else { format!("'{literal}'") };
            let least = known.iter().map(|literal| probe.defects(&candidate(literal), None)).min().unwrap_or(0);
            let base = base.min(least);
            for literal in known {
                // Where a misplaced string is no defect of its own, only what is compared with tells.
                if probe.defects(&candidate(&literal), None) <= base
                    && !probe_is_loose(&probe, base)
                    && let Some(item) = self.add(&literal, CompletionKind::Word, "literal", "")
                    && !in_string
                {
                    item.label = format!("'{literal}'");
                    item.edit.text = format!("{quote}{literal}{quote}");
                }
            }
            if in_string {
                return;
            }
        }
        match holds {
            Holds::Generator | Holds::Predicate if before.trim().is_empty() => {
                let is_generator = holds == Holds::Generator;
                for builtin in builtins::all() {
                    if matches!(builtin.role, Role::Generator(_)) == is_generator
                        && matches!(builtin.role, Role::Generator(_) | Role::Predicate(_))
                    {
                        self.function(builtin, builtin.name);
                    }
                }
                return;
            }
            Holds::Shape(Position::Shape) if before.trim().is_empty() => {
                for family in scope.families() {
                    let formals: Vec<&str> = family.formals.iter().flatten().map(|(name, _)| &**name).collect();
                    let text = format!("{}[{}]", family.name, formals.join(", "));
                    if let Some(item) = self.add(&family.name, CompletionKind::Type, &text, "type family") {
                        let slots: Vec<String> =
                            formals.iter().enumerate().map(|(i, name)| format!("${{{}:{name}}}", i + 1)).collect();
                        let whole = format!("{}[{}]", family.name, slots.join(", "));
                        let quote = if is_plain { "\"" } else { "" };
                        item.edit.text = format!("{quote}{text}{quote}");
                        item.snippet = Some(format!("{quote}{whole}{quote}"));
                    }
                }
                return;
            }
            _ => {}
        }
        if holds == Holds::Condition && self.quotes_calls {
            // Without quotes it is YAML's own word.
            self.words(["true", "false"], "Bool");
        }
        let metadata = holds == Holds::TensorDType && probe.generates();
        if holds == Holds::TensorDType {
            let is_due = |dtype: &DType| !metadata || METADATA_DTYPES.contains(dtype);
            for dtype in DType::ALL.iter().filter(|dtype| is_due(dtype) && fits(dtype.name())) {
                self.dtype(*dtype);
            }
        }
        for (name, kind) in
            formals(scope, &owner).into_iter().flatten().filter(|_| holds == Holds::Shape(Position::Family))
        {
            if fits(name) {
                self.add(name, CompletionKind::Name, &kind.to_string(), "formal");
            }
        }
        let sizes = before.trim_end().ends_with("bytes(");
        for symbol in scope.iter() {
            let is_due = match &symbol.kind {
                Kind::DType(set) if metadata => set.iter().all(|dtype| METADATA_DTYPES.contains(&dtype)),
                _ => true,
            };
            // A `let` that reads itself has no value.
            let is_own = owner.within == Some(Names::Lets) && owner.name == Some(&*symbol.name);
            let is_decided = holds != Holds::Condition || probe.decides(symbol);
            let has_size = !sizes || symbol.kind != Kind::Tensor || self.is_passed(&symbol.name, &probe);
            let is_due = is_due && !is_own && is_decided && has_size;
            if &*symbol.name != MARK && is_due && fits(&symbol.name) {
                let kind = if symbol.kind == Kind::Tensor { CompletionKind::Tensor } else { CompletionKind::Name };
                self.add(&symbol.name, kind, &symbol.kind.to_string(), role_noun(symbol.role));
            }
        }
        if probe.speaks() {
            for word in KEYWORDS.into_iter().filter(|word| fits(word)) {
                self.add(word, CompletionKind::Word, "", "");
            }
        }
        // A comprehension's variable is a name too.
        for variable in text.split("for ").skip(1).filter_map(|rest| rest.split_whitespace().next()) {
            let is_name = variable.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
            if is_name && variable != MARK && scope.get(variable).is_none() && fits(variable) {
                self.add(variable, CompletionKind::Name, "", "variable");
            }
        }
        for word in ["True", "False", "None"] {
            let is_yaml = holds == Holds::Condition && self.quotes_calls;
            if !is_yaml && holds != Holds::TensorDType && !matches!(holds, Holds::Shape(_)) && fits(word) {
                self.add(word, CompletionKind::Word, "", "");
            }
        }
        if before.trim_end().ends_with("present(") && scope.takes_out() {
            self.add("out", CompletionKind::Tensor, "the caller's buffer", "");
        }
        for builtin in builtins::all() {
            let result = match builtin.role {
                // What it gives is no set of two names.
                Role::Primitive { .. } if metadata => continue,
                Role::Primitive { gives, .. } => result_kind(gives),
                Role::Present => Kind::Bool,
                Role::Bytes if holds == Holds::Expression(Position::Roofline) => Kind::Dim,
                _ => continue,
            };
            if probe.defects(MARK, Some(result)) <= base {
                self.function(builtin, builtin.name);
            }
        }
    }

    /// Whether a tensor is passed on every branch where the formula, with it for the cursor, reads its size.
    fn is_passed(&self, name: &str, probe: &Probe<'_>) -> bool {
        const MOST: usize = 256;
        let Some(analysis) = &self.site.analysis else { return true };
        let checked = &analysis.checked;
        let is_absent = |point: &Point| {
            let branch = checked.branch(point);
            branch.tensor(name).is_some_and(|tensor| tensor.present == Some(false))
        };
        let names: Vec<Arc<str>> =
            checked.discriminants().iter().map(|discriminant| discriminant.name.clone()).collect();
        let absent: Vec<Point> = checked.points_over(&names, MOST).into_iter().filter(is_absent).collect();
        if absent.is_empty() {
            return true;
        }
        let text = probe.text.replace(MARK, name);
        let range = TextRange::up_to(TextSize::of(&*text));
        let expr = parse_expression(&Scalar::plain(&text), range, "", &mut Findings::default());
        absent.iter().all(|point| !reads_size(&fold(&expr, &checked.branch(point).point), name))
    }

    /// The functions that take the arguments that are there already; where there are none yet, those whose result fits.
    fn callees(&mut self, probe: &Probe<'_>, before: &str, is_empty: bool) {
        let chain =
            before.rsplit(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '.'))).next().unwrap_or("");
        let unknown = probe.defects(MARK, None);
        for builtin in builtins::all() {
            let Some(rest) = builtin.name.strip_prefix(chain) else { continue };
            // An unknown function is one mistake; one that is known has none, or is no better.
            let is_due = probe.defects(rest, None) < unknown.max(1);
            let could_be = is_empty && probe.defects(rest, None) <= unknown;
            if (is_due || could_be)
                && let Some(item) = self.add(rest, CompletionKind::Function, &builtin.signature(), "")
            {
                item.topic = Some(Topic::Builtin(builtin.name));
            }
        }
    }

    /// `name` is what of the built-in's name is still to be written. One whose arguments the scalar's style cannot bear is
    /// not offered.
    fn function(&mut self, builtin: &'static Builtin, name: &str) {
        let required = builtin.params.iter().filter(|p| matches!(p.passing, Passing::Required | Passing::Variadic));
        let names: Vec<String> = required.enumerate().map(|(i, p)| format!("${{{}:{}}}", i + 1, p.name)).collect();
        let quotes = self.quotes_calls;
        if names.len() > 1 && !quotes && !self.bears_commas {
            return;
        }
        if let Some(item) = self.add(name, CompletionKind::Function, &builtin.signature(), "") {
            item.topic = Some(Topic::Builtin(builtin.name));
            item.snippet = Some(match quotes {
                true => format!("\"{name}({})\"", names.join(", ")),
                false => format!("{name}({})", names.join(", ")),
            });
        }
    }
}

/// Whether a key takes a value that is there already.
fn takes(key: &Key, value: &Node) -> bool {
    let is_list = matches!(
        key.form,
        Form::NameOrNames
            | Form::Names
            | Form::Expressions
            | Form::Predicates
            | Form::Patterns
            | Form::DTypeRows
            | Form::List(_)
            | Form::Any
    );
    let is_mapping =
        matches!(key.form, Form::Kinds | Form::Types | Form::Lets | Form::Named(_) | Form::Patterns | Form::Any);
    match &value.kind {
        _ if value.range.is_empty() => true,
        NodeKind::Mapping(pairs) => match key.form {
            Form::Section(section) => {
                pairs.iter().all(|pair| pair.key.as_str().is_none_or(|name| section.key(name).is_some()))
            }
            _ => is_mapping,
        },
        NodeKind::Sequence(_) => is_list,
        NodeKind::Scalar(_) => {
            !matches!(
                key.form,
                Form::Section(_) | Form::Kinds | Form::Types | Form::Lets | Form::Named(_) | Form::List(_)
            ) && (!is_list || matches!(key.form, Form::NameOrNames | Form::Patterns | Form::Any))
        }
        NodeKind::Unreadable => true,
    }
}

/// Whether the place takes anything at all, so that trying out tells nothing.
fn probe_is_loose(probe: &Probe<'_>, base: usize) -> bool {
    probe.defects("'zz no member zz'", None) <= base && !probe.text.contains('\'')
}

fn mentions_mark(node: &Node) -> bool {
    node.as_scalar().is_some_and(|scalar| scalar.text.contains(MARK))
}

/// A text without what a snippet gives a meaning.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('$', "\\$").replace('}', "\\}")
}

/// A value of a kind, to be written over.
fn sample(kind: &Kind) -> String {
    match kind {
        Kind::Dim | Kind::Int => "1".to_owned(),
        Kind::Float => "1.0".to_owned(),
        Kind::Bool => "true".to_owned(),
        Kind::Shape | Kind::Seq(..) => "[1]".to_owned(),
        Kind::Maybe(inner) => sample(inner),
        Kind::Enum(literals) => literals.iter().next().map(|literal| literal.to_string()).unwrap_or_default(),
        Kind::DType(set) => set.iter().next().map(|dtype| dtype.name().to_owned()).unwrap_or_default(),
        _ => String::new(),
    }
}

fn result_kind(gives: Gives) -> Kind {
    match gives {
        Gives::Dim | Gives::DimOfDims => Kind::Dim,
        Gives::Int => Kind::Int,
        Gives::Bool => Kind::Bool,
        Gives::Shape => Kind::Shape,
        Gives::SeqInt => Kind::Seq(Box::new(Kind::Int), None),
        Gives::Promoted | Gives::Coalesced => Kind::DType(DTypeSet::ALL),
        Gives::Category => Kind::Enum(Literals::from(["bool".into(), "int".into(), "float".into(), "complex".into()])),
    }
}

/// Whether an expression reads `bytes(name)`.
fn reads_size(expr: &Expr, name: &str) -> bool {
    let mut open = vec![expr];
    while let Some(expr) = open.pop() {
        if let ExprKind::Call(call) = &expr.kind
            && &*call.callee.value == "bytes"
            && call.args.first().and_then(Expr::as_name) == Some(name)
        {
            return true;
        }
        expr.for_each_child(&mut |child| open.push(child));
    }
    false
}

/// Tries out what can stand for the cursor.
struct Probe<'a> {
    scope: &'a Scope,
    holds: Holds,
    owner: Owner<'a>,
    text: &'a str,
    entry: &'a Entry,
}

impl Probe<'_> {
    /// Whether operators can stand here.
    fn speaks(&self) -> bool {
        matches!(self.holds, Holds::Expression(_) | Holds::Condition | Holds::Shape(_)) && self.text.trim() != MARK
    }

    /// Whether a name is one that a condition can be built from.
    fn decides(&self, symbol: &Symbol) -> bool {
        let is_optional = |tensor: &crate::model::Tensor| {
            tensor.name.value == symbol.name && matches!(tensor.optional.valid(), Some(Condition::Always(true)))
        };
        match &symbol.kind {
            Kind::Bool | Kind::Enum(_) | Kind::Maybe(_) | Kind::Adt(..) => symbol.role == SymbolRole::Param,
            Kind::Tensor => {
                self.entry.signature.valid().is_some_and(|signature| crate::check::tensors(signature).any(is_optional))
            }
            Kind::Error => true,
            _ => false,
        }
    }

    /// Whether the cursor is in a tensor whose contents a generator gives.
    fn generates(&self) -> bool {
        let Some(signature) = self.entry.signature.valid() else { return false };
        let own = |tensor: &&crate::model::Tensor| Some(&*tensor.name.value) == self.owner.name;
        crate::check::tensors(signature).find(own).is_some_and(|tensor| !tensor.values.is_absent())
    }

    /// How many defects the text has with `candidate` for the cursor; `kind` is what the candidate is where nothing
    /// declares it.
    fn defects(&self, candidate: &str, kind: Option<Kind>) -> usize {
        let text = self.text.replace(MARK, candidate);
        let range = TextRange::up_to(TextSize::of(&*text));
        let scalar = Scalar::plain(&text);
        let mut found = Findings::default();
        let position = match self.holds {
            Holds::Expression(position) | Holds::Shape(position) => position,
            Holds::Condition => Position::Condition,
            Holds::TensorDType => Position::Dtype,
            Holds::Generator => Position::Generator,
            _ => Position::Predicate,
        };
        let shape = matches!(self.holds, Holds::Shape(_)).then(|| parse_shape(&scalar, range, "", &mut found));
        let expr = shape.is_none().then(|| parse_expression(&scalar, range, "", &mut found));
        let mut inference = Inference::new(self.scope, position, "", &mut found);
        if let (Position::Family, Some(formals)) = (position, formals(self.scope, &self.owner)) {
            inference = inference.with_formals(formals);
        }
        if let Some(kind) = kind {
            inference = inference.with_local(candidate.into(), kind);
        }
        if let Some(shape) = shape {
            inference.shape(&shape);
        }
        if let Some(expr) = expr {
            match (self.holds, position) {
                (Holds::Generator | Holds::Predicate, _) => {
                    let role = if self.holds == Holds::Generator { CallRole::Generator } else { CallRole::Predicate };
                    if let ExprKind::Call(call) = &expr.kind {
                        inference.generator_or_predicate(call, role, expr.range);
                    }
                }
                (_, Position::Roofline) => inference.integer(&expr, "a roofline"),
                (_, Position::Refinement | Position::Condition) => inference.condition(&expr, "a condition"),
                (_, Position::Dtype) => {
                    inference.dtype(&expr);
                }
                _ => {
                    inference.value(&expr);
                }
            }
        }
        found.defects.len()
    }
}
