//! The parts of a file: symbols, folds, selections, links, lenses and tokens.

use std::sync::Arc;

use super::mentions::{Subject, mentions};
use super::navigate::{Location, is_manifest};
use super::site::{Due, Holds, Names, Part, Site, language, text_range};
use crate::check::SymbolRole;
use crate::db::AnalysisDb;
use crate::defect::{Place, find_code};
use crate::expr::{TokenClass, tokens};
use crate::syntax::{Node, NodeKind};
use crate::text::{TextRange, TextSize};

/// What a symbol is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SymbolKind {
    /// An entry.
    Op,
    /// A section of an entry.
    Section,
    /// An index.
    Index,
    /// A parameter.
    Param,
    /// A tensor.
    Tensor,
    /// A `let`.
    Let,
    /// A type family.
    Family,
    /// A workload row.
    Row,
    /// An ADT.
    Adt,
    /// A constructor of an ADT.
    Constructor,
    /// A field of a constructor.
    Field,
}

/// A named part of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocumentSymbol {
    /// Its name.
    pub name: String,
    /// More about it; may be empty.
    pub detail: String,
    /// What it is.
    pub kind: SymbolKind,
    /// All of it.
    pub range: TextRange,
    /// Its name's characters.
    pub focus: TextRange,
    /// The parts of it.
    pub children: Vec<DocumentSymbol>,
}

/// The symbols of a file, as a tree.
pub fn document_symbols(db: &AnalysisDb, path: &str) -> Vec<DocumentSymbol> {
    let mut found = Vec::new();
    for site in Site::all(db, path) {
        let Some(key) = site.tree.key.as_scalar() else { continue };
        let children = children(&site, &site.tree.value, site.root());
        let kind = if site.analysis.is_some() { SymbolKind::Op } else { SymbolKind::Section };
        let detail = site.analysis.as_ref().and_then(|a| a.entry.family.valid().map(|f| f.value.to_string()));
        found.push(symbol(
            &site,
            &key.text,
            detail.unwrap_or_default(),
            kind,
            (&site.tree.key, &site.tree.value),
            children,
        ));
    }
    found
}

fn symbol(
    site: &Site<'_>,
    name: &str,
    detail: String,
    kind: SymbolKind,
    (key, value): (&Node, &Node),
    children: Vec<DocumentSymbol>,
) -> DocumentSymbol {
    DocumentSymbol {
        name: if name.is_empty() { "?".to_owned() } else { name.to_owned() },
        detail,
        kind,
        range: site.global(key.range.cover(value.range)),
        focus: site.global(text_range(key)),
        children,
    }
}

fn children<'t>(site: &'t Site<'_>, node: &'t Node, due: Due<'t>) -> Vec<DocumentSymbol> {
    let mut found = Vec::new();
    match (&node.kind, due) {
        (NodeKind::Mapping(pairs), _) => {
            for pair in pairs {
                let Some(name) = pair.key.as_str() else { continue };
                let kind = match due {
                    Due::Section(..) => match due.of_pair(pair) {
                        Due::Named(..) | Due::Section(..) | Due::List(super::site::Items::Sections(_), _) => {
                            SymbolKind::Section
                        }
                        _ => continue,
                    },
                    Due::Named(names, _) => match names {
                        Names::Forall => SymbolKind::Index,
                        Names::Params => SymbolKind::Param,
                        Names::Inputs | Names::Outputs => SymbolKind::Tensor,
                        Names::Types => SymbolKind::Family,
                        Names::Lets => SymbolKind::Let,
                        Names::Adts => SymbolKind::Adt,
                        Names::Constructors => SymbolKind::Constructor,
                        Names::Fields => SymbolKind::Field,
                        _ => continue,
                    },
                    _ => continue,
                };
                let detail = match kind {
                    SymbolKind::Index | SymbolKind::Let | SymbolKind::Field => {
                        pair.value.as_scalar().map(|scalar| scalar.text.to_string()).unwrap_or_default()
                    }
                    _ => String::new(),
                };
                let inner = match kind {
                    SymbolKind::Section | SymbolKind::Adt | SymbolKind::Constructor => {
                        children(site, &pair.value, due.of_pair(pair))
                    }
                    _ => Vec::new(),
                };
                found.push(symbol(site, name, detail, kind, (&pair.key, &pair.value), inner));
            }
        }
        (NodeKind::Sequence(items), Due::List(..)) => {
            for item in items {
                let NodeKind::Mapping(pairs) = &item.kind else { continue };
                let named = pairs.iter().find(|pair| matches!(pair.key.as_str(), Some("label" | "name")));
                let name = named.and_then(|pair| pair.value.as_scalar()).map(|scalar| scalar.text.to_string());
                let focus = named.map_or(item, |pair| &pair.value);
                let name = name.unwrap_or_default();
                found.push(symbol(site, &name, String::new(), SymbolKind::Row, (item, item), Vec::new()));
                if let Some(last) = found.last_mut() {
                    last.focus = site.global(focus.range);
                }
            }
        }
        _ => {}
    }
    found
}

/// A symbol that the whole workspace can ask for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkspaceSymbol {
    /// Its name.
    pub name: String,
    /// What it is.
    pub kind: SymbolKind,
    /// Where its name stands.
    pub location: Location,
}

/// The ops and types whose names have the letters of `query` in order.
pub fn workspace_symbols(db: &AnalysisDb, query: &str) -> Vec<WorkspaceSymbol> {
    let matches = |name: &str| {
        let mut left = name.chars().flat_map(char::to_lowercase);
        query.chars().flat_map(char::to_lowercase).filter(|c| !c.is_whitespace()).all(|c| left.any(|other| other == c))
    };
    let paths: Vec<Arc<str>> = db.paths().cloned().collect();
    let mut found = Vec::new();
    for path in paths.iter().filter(|path| is_manifest(db, path)) {
        let Some(outline) = db.outline(path) else { continue };
        let text = db.text(path).unwrap_or_default();
        for chunk in &outline.chunks {
            let Some(name) = chunk.key.as_deref().filter(|name| *name != "adts" && matches(name)) else { continue };
            let range = crate::workspace::key_range(Some(name), chunk.range, &text);
            let location = Location { path: path.clone(), range };
            found.push(WorkspaceSymbol { name: name.to_owned(), kind: SymbolKind::Op, location });
        }
        if outline.kind == crate::workspace::FileKind::Types {
            for adt in db.adts(path).iter().filter(|adt| matches(&adt.name)) {
                if let Some((path, range)) = db.locate(path, &Place::Adt(adt.name.to_string())) {
                    let location = Location { path, range };
                    found.push(WorkspaceSymbol { name: adt.name.to_string(), kind: SymbolKind::Adt, location });
                }
            }
        }
    }
    found
}

/// The parts of a file that can be folded: every value of several lines, in order, each from the end of its key's line.
pub fn folding_ranges(db: &AnalysisDb, path: &str) -> Vec<TextRange> {
    let mut found = Vec::new();
    for site in Site::all(db, path) {
        let mut add = |from: TextSize, node: &Node| {
            let range = TextRange::new(from.min(node.range.end()), node.range.end());
            let text = site.slice(range).trim_end();
            if text.contains('\n') {
                found.push(site.global(TextRange::at(range.start(), TextSize::of(text))));
            }
        };
        add(site.tree.key.range.start(), &site.tree.value);
        site.visit(&mut |part| {
            if let Part::Key { node, value, .. } = part
                && !value.range.is_empty()
            {
                add(node.range.start(), value);
            }
        });
    }
    found.sort_by_key(|range| (range.start(), std::cmp::Reverse(range.end())));
    found.dedup();
    found
}

/// The ever larger parts of a file around `offset`, from the smallest.
pub fn selection_ranges(db: &AnalysisDb, path: &str, offset: TextSize) -> Vec<TextRange> {
    let Some(text) = db.text(path) else { return Vec::new() };
    let whole = TextRange::up_to(TextSize::of(&*text));
    let mut found = vec![whole];
    if let Some(site) = Site::at(db, path, offset) {
        let at = site.local(offset);
        found.push(site.range);
        let mut pairs = Vec::new();
        site.visit(&mut |part| {
            if let Part::Key { node, value, .. } = part {
                pairs.push(node.range.cover(value.range));
            }
            pairs.push(part.range());
            if let Part::Value { node, due: Due::Scalar(holds, _) } = part
                && node.range.contains_inclusive(at)
            {
                pairs.push(text_range(node));
                if let Some(scalar) = language(node, holds) {
                    pairs.extend(tokens(scalar, node.range).iter().map(|token| token.range));
                }
            }
        });
        pairs.retain(|range| range.contains_inclusive(at) && !range.is_empty());
        found.extend(pairs.into_iter().map(|range| site.global(range)));
    }
    found.sort_by_key(|range| range.len());
    found.dedup();
    // Each holds the one before it.
    let mut nested: Vec<TextRange> = Vec::new();
    for range in found {
        if nested.last().is_none_or(|inner| range.contains_range(*inner)) {
            nested.push(range);
        }
    }
    nested
}

/// A part of a file that leads elsewhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocumentLink {
    /// Its characters.
    pub range: TextRange,
    /// Where it leads.
    pub target: LinkTarget,
}

/// Where a link leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LinkTarget {
    /// A declaration: a stage's op, a parameter's type, a roofline's function.
    Place(Location),
    /// The page of a defect code.
    Code(&'static str),
    /// A page of another project's documentation.
    Page(String),
}

/// The links of a file: stages' ops, shared types, functions of rooflines, the APIs that ops follow, and the codes in
/// suppression comments.
pub fn document_links(db: &AnalysisDb, path: &str) -> Vec<DocumentLink> {
    let mut found = Vec::new();
    if let (Some(text), Some(outline)) = (db.text(path), db.outline(path))
        && is_manifest(db, path)
    {
        let head = outline.chunks.first().map_or(TextSize::of(&*text), |first| first.range.start());
        let own = [(TextRange::up_to(head), None)].into_iter();
        let chunks = db.trees(path).into_iter().map(|(tree, range)| (range, Some(tree)));
        for (range, tree) in own.chain(chunks) {
            let comments = match &tree {
                Some(tree) => tree.comments.clone(),
                None => head_comments(text.get(std::ops::Range::<usize>::from(range)).unwrap_or("")),
            };
            for comment in comments {
                code_links(&text, comment + range.start(), &mut found);
            }
        }
    }
    for site in Site::all(db, path) {
        site.visit(&mut |part| {
            let Part::Value { node, due: Due::Scalar(holds, _) } = part else { return };
            let Some(name) = node.as_str() else { return };
            let target = match holds {
                Holds::Op => db.locate(path, &Place::Op(name.to_owned(), 0)).map(to_place),
                Holds::Type => db.locate(path, &Place::Adt(name.to_owned())).map(to_place),
                Holds::Function => {
                    db.formula_place(name).map(|place| to_place((place.path.clone(), place.function.range)))
                }
                Holds::Qualified => api_page(name).map(LinkTarget::Page),
                _ => None,
            };
            found.extend(target.map(|target| DocumentLink { range: site.global(text_range(node)), target }));
        });
    }
    found.sort_by_key(|link| link.range.start());
    found
}

fn to_place((path, range): (Arc<str>, TextRange)) -> LinkTarget {
    LinkTarget::Place(Location { path, range })
}

/// The comments above the first entry, each with its `#`.
fn head_comments(head: &str) -> Vec<TextRange> {
    let mut found = Vec::new();
    let mut start = 0;
    for line in head.split_inclusive(['\n', '\r']) {
        let content = line.trim();
        if content.starts_with('#') {
            let at = start + line.find('#').unwrap_or(0);
            let size = |at: usize| TextSize::try_from(at).unwrap_or_default();
            found.push(TextRange::at(size(at), TextSize::of(content)));
        }
        start += line.len();
    }
    found
}

/// The codes in a comment that suppresses some.
fn code_links(text: &str, comment: TextRange, found: &mut Vec<DocumentLink>) {
    let said = text.get(std::ops::Range::<usize>::from(comment)).unwrap_or("");
    let Some(list) = said.find("tileops:").and_then(|from| Some(from + said.get(from..)?.find('[')? + 1)) else {
        return;
    };
    let mut at = list;
    let inside = said.get(list..).unwrap_or("");
    for word in inside.split(']').next().unwrap_or("").split(',') {
        let name = word.trim();
        if let Some(code) = find_code(name) {
            let start = at + word.find(name).unwrap_or(0);
            let start = comment.start() + TextSize::try_from(start).unwrap_or_default();
            let range = TextRange::at(start, TextSize::of(name));
            found.push(DocumentLink { range, target: LinkTarget::Code(code.name) });
        }
        at += word.len() + 1;
    }
}

/// The page of a public function of PyTorch.
fn api_page(name: &str) -> Option<String> {
    let mut parts = name.split('.');
    let is_public = |part: &str| !part.is_empty() && part.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    let documented = parts.next() == Some("torch")
        && parts.clone().next().is_some()
        && parts.all(|part| is_public(part) && !part.starts_with('_'));
    documented.then(|| format!("https://docs.pytorch.org/docs/stable/generated/{name}.html"))
}

/// What stands above an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodeLens {
    /// The entry's name.
    pub range: TextRange,
    /// The op.
    pub op: String,
    /// How many rows it has.
    pub rows: usize,
    /// How many calls they determine.
    pub cases: usize,
    /// How many points of its discriminants were checked.
    pub points: usize,
}

/// One lens an entry.
pub fn code_lenses(db: &AnalysisDb, path: &str) -> Vec<CodeLens> {
    let lens = |site: Site<'_>| {
        let analysis = site.analysis.clone()?;
        Some(CodeLens {
            range: site.global(text_range(&site.tree.key)),
            op: site.op()?.to_string(),
            rows: analysis.entry.workloads.items().len(),
            cases: analysis.calls.len(),
            points: analysis.checked.points_checked(),
        })
    };
    Site::all(db, path).into_iter().filter_map(lens).collect()
}

/// What the characters of an expression are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SemanticKind {
    /// An index, or a formal of a family.
    Index,
    /// A parameter.
    Param,
    /// A `let`.
    Let,
    /// A tensor.
    Tensor,
    /// A type family.
    Family,
    /// A type, a kind or an ADT.
    Type,
    /// A dtype.
    DType,
    /// A built-in.
    Function,
    /// A field.
    Field,
    /// A literal of an enum, a constructor.
    Member,
    /// A comprehension's variable.
    Local,
    /// A keyword or a constant.
    Keyword,
    /// A number.
    Number,
    /// A string.
    String,
    /// An operator.
    Operator,
}

/// A token of an expression.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SemanticToken {
    /// Its characters; within one line.
    pub range: TextRange,
    /// What it is.
    pub kind: SemanticKind,
    /// Whether the name is declared here.
    pub declares: bool,
}

/// The tokens of the expressions in `range`, and of the names declared there, in order; no two overlap.
pub fn semantic_tokens(db: &AnalysisDb, path: &str, range: TextRange) -> Vec<SemanticToken> {
    let mut found: Vec<SemanticToken> = Vec::new();
    for site in Site::all(db, path) {
        if site.range.intersect(range).is_none() {
            continue;
        }
        let mut own: Vec<SemanticToken> = Vec::new();
        for mention in mentions(&site) {
            if !(mention.in_expression || mention.declares) {
                continue;
            }
            let kind = match &mention.subject {
                Subject::Name(name) => {
                    match site.analysis.as_ref().and_then(|a| a.scope.get(name)).map(|symbol| symbol.role) {
                        Some(SymbolRole::Index) => SemanticKind::Index,
                        Some(SymbolRole::Param) => SemanticKind::Param,
                        Some(SymbolRole::Let) => SemanticKind::Let,
                        Some(SymbolRole::Tensor(_)) => SemanticKind::Tensor,
                        None => continue,
                    }
                }
                Subject::Formal(..) => SemanticKind::Index,
                Subject::Out => SemanticKind::Tensor,
                Subject::Family(_) => SemanticKind::Family,
                Subject::Local(..) => SemanticKind::Local,
                Subject::Adt(_) | Subject::Kind(_) | Subject::Type(_) | Subject::Op(_) => SemanticKind::Type,
                Subject::Constructor(..) | Subject::Literal(_) => SemanticKind::Member,
                Subject::Field(..) | Subject::Member(_) => SemanticKind::Field,
                Subject::Builtin(_) => SemanticKind::Function,
                Subject::DType(_) => SemanticKind::DType,
                _ => continue,
            };
            own.push(SemanticToken { range: mention.range, kind, declares: mention.declares });
        }
        own.sort_by_key(|token| token.range.start());
        let named = own.len();
        site.visit(&mut |part| {
            let Part::Value { node, due: Due::Scalar(holds, _) } = part else { return };
            let Some(scalar) = language(node, holds) else { return };
            for token in tokens(scalar, node.range) {
                let kind = match token.class {
                    TokenClass::Keyword | TokenClass::Constant => SemanticKind::Keyword,
                    TokenClass::Number => SemanticKind::Number,
                    TokenClass::String => SemanticKind::String,
                    TokenClass::Operator => SemanticKind::Operator,
                    TokenClass::Name | TokenClass::Punctuation | TokenClass::Unknown => continue,
                };
                // A name that means something more is told already.
                let after = own[..named].partition_point(|other| other.range.start() < token.range.end());
                let told =
                    after.checked_sub(1).and_then(|i| own.get(i)).is_some_and(|o| o.range.end() > token.range.start());
                if !told {
                    own.push(SemanticToken { range: token.range, kind, declares: false });
                }
            }
        });
        own.retain(|token| !site.slice(token.range).contains(['\n', '\r']) && !token.range.is_empty());
        found.extend(own.into_iter().map(|token| SemanticToken { range: site.global(token.range), ..token }));
    }
    found.retain(|token| range.intersect(token.range).is_some());
    found.sort_by_key(|token| (token.range.start(), token.range.end()));
    let mut end = TextSize::new(0);
    found.retain(|token| {
        let keeps = token.range.start() >= end;
        if keeps {
            end = token.range.end();
        }
        keeps
    });
    found
}
