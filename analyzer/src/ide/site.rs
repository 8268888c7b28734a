//! Where the cursor stands: the entry, the path of values down to it, and what each of them is due to hold.

use std::sync::Arc;

use crate::analysis::EntryAnalysis;
use crate::check::Position;
use crate::db::AnalysisDb;
use crate::lang::AdtTable;
use crate::model::schema::{self, Form, Key, Section};
use crate::syntax::{EntryTree, Node, NodeKind, Pair, Scalar, ScalarValue};
use crate::text::{TextRange, TextSize};
use crate::workspace::{FileKind, slice};

/// A top-level key of a file with everything that is known of it. Ranges inside are relative to its text.
pub(crate) struct Site<'a> {
    pub(crate) db: &'a AnalysisDb,
    pub(crate) path: Arc<str>,
    pub(crate) kind: FileKind,
    file: Arc<str>,
    /// Its characters in the file.
    pub(crate) range: TextRange,
    pub(crate) tree: Arc<EntryTree>,
    /// Of an entry, not of a types file.
    pub(crate) analysis: Option<Arc<EntryAnalysis>>,
    pub(crate) adts: AdtTable,
}

impl<'a> Site<'a> {
    /// The one that `offset` of a file falls in, or stands behind.
    pub(crate) fn at(db: &'a AnalysisDb, path: &str, offset: TextSize) -> Option<Self> {
        let outline = db.outline(path)?;
        let position = outline.chunks.partition_point(|chunk| chunk.range.start() <= offset).checked_sub(1)?;
        Site::nth(db, path, position, outline.kind)
    }

    /// Every one of a file.
    pub(crate) fn all(db: &'a AnalysisDb, path: &str) -> Vec<Self> {
        let Some(outline) = db.outline(path) else { return Vec::new() };
        (0..outline.chunks.len()).filter_map(|position| Site::nth(db, path, position, outline.kind)).collect()
    }

    fn nth(db: &'a AnalysisDb, path: &str, position: usize, kind: FileKind) -> Option<Self> {
        let (tree, range) = db.tree(path, position)?;
        let analysis = db.entry(path, position);
        Some(Site { db, path: path.into(), kind, file: db.text(path)?, range, tree, analysis, adts: db.adts(path) })
    }

    pub(crate) fn text(&self) -> &str {
        slice(&self.file, self.range).unwrap_or("")
    }

    /// The characters of a range of it.
    pub(crate) fn slice(&self, range: TextRange) -> &str {
        slice(self.text(), range).unwrap_or("")
    }

    /// From an offset of the file to one of the site.
    pub(crate) fn local(&self, offset: TextSize) -> TextSize {
        offset.checked_sub(self.range.start()).unwrap_or_default()
    }

    /// From a range of the site to one of the file.
    pub(crate) fn global(&self, range: TextRange) -> TextRange {
        range + self.range.start()
    }

    /// The op's name.
    pub(crate) fn op(&self) -> Option<&Arc<str>> {
        self.analysis.as_ref().map(|analysis| &analysis.entry.name.value)
    }

    /// What its value is due to hold.
    pub(crate) fn root(&self) -> Due<'_> {
        root(self.kind, &self.tree)
    }

    /// Calls `visit` on every key and every value, outside in.
    pub(crate) fn visit<'t>(&'t self, visit: &mut dyn FnMut(Part<'t>)) {
        walk(&self.tree.value, self.root(), visit);
    }
}

/// What the value of a top-level key is due to hold.
pub(crate) fn root(kind: FileKind, tree: &EntryTree) -> Due<'_> {
    match (kind, tree.key.as_str()) {
        (FileKind::Types, Some(key)) => match schema::TYPES_FILE.key(key) {
            Some(key) => of_key(&schema::TYPES_FILE, key, Owner::default()),
            None => Due::Unknown,
        },
        (FileKind::Types, None) | (FileKind::Profile, _) => Due::Unknown,
        _ => Due::Section(&schema::ENTRY, Owner::default()),
    }
}

/// What the author named on the way down to a place.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Owner<'t> {
    /// The fixed key whose value the place is in.
    pub(crate) key: Option<&'static Key>,
    /// The index, parameter, tensor, `let`, family or ADT.
    pub(crate) name: Option<&'t str>,
    /// The section that declares it.
    pub(crate) within: Option<Names>,
    /// A formal, a column, a row's key, a constructor.
    pub(crate) member: Option<&'t str>,
    /// The constructor whose fields these are.
    pub(crate) field: Option<&'t str>,
    /// One of those fields.
    pub(crate) part: Option<&'t str>,
}

/// A mapping whose keys the author chooses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Names {
    Forall,
    Params,
    Inputs,
    Outputs,
    Types,
    Lets,
    Formals,
    /// A row of `dtype_combos`.
    Combo,
    /// An item of `dtype_cases`.
    Case,
    Adts,
    Constructors,
    Fields,
    /// An ADT's value in a row or a default: constructors.
    AdtValue,
    /// The fields of such a value.
    AdtFields,
    /// A pattern: constructors.
    Pattern,
    /// The fields of such a pattern.
    PatternFields,
}

/// What a scalar is due to hold.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Holds {
    Choice(&'static [&'static str]),
    Family,
    Alias,
    Op,
    Kernel,
    StageName,
    Function,
    Qualified,
    Label,
    Bool,
    Expression(Position),
    Condition,
    Shape(Position),
    Type,
    IndexKind,
    FormalKind,
    FieldKind,
    TensorDType,
    DType,
    Generator,
    Predicate,
    /// A value of a row.
    RowValue,
    Default,
    Some,
    Match,
    Pattern,
}

/// What a value is due to hold.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Due<'t> {
    Section(&'static Section, Owner<'t>),
    Named(Names, Owner<'t>),
    List(Items, Owner<'t>),
    Scalar(Holds, Owner<'t>),
    /// Nothing is known of it.
    Unknown,
}

/// What the items of a list are.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Items {
    Sections(&'static Section),
    Names(Names),
    Scalars(Holds),
}

/// A key or a value on the way down.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Part<'t> {
    /// The key of a pair, in a mapping that is due to hold something.
    Key { node: &'t Node, value: &'t Node, mapping: &'t Node, due: Due<'t> },
    /// A value.
    Value { node: &'t Node, due: Due<'t> },
}

impl<'t> Part<'t> {
    pub(crate) fn range(&self) -> TextRange {
        match self {
            Part::Key { node, .. } | Part::Value { node, .. } => node.range,
        }
    }
}

impl<'t> Due<'t> {
    /// What the value of the pair is due to hold.
    pub(crate) fn of_pair(self, pair: &'t Pair) -> Due<'t> {
        let Some(key) = pair.key.as_str() else { return Due::Unknown };
        self.of(key, Some(&pair.value))
    }

    /// What the value of a key is due to hold; `value` helps where the key alone does not say.
    pub(crate) fn of(self, key: &'t str, value: Option<&Node>) -> Due<'t> {
        match self {
            Due::Section(section, owner) => match section.key(key) {
                Some(known) => of_key(section, known, owner),
                None if section.open => {
                    Due::Scalar(Holds::RowValue, Owner { member: Some(key), key: None, ..owner }).with_value(value)
                }
                None => Due::Unknown,
            },
            Due::Named(names, owner) => of_name(names, owner, key, value),
            Due::Scalar(Holds::RowValue | Holds::Default, owner) => of_name(Names::AdtValue, owner, key, value),
            Due::Scalar(Holds::Pattern, owner) => of_name(Names::Pattern, owner, key, value),
            Due::List(..) | Due::Scalar(..) | Due::Unknown => Due::Unknown,
        }
    }

    /// A value that may be a mapping of an ADT's constructor.
    fn with_value(self, value: Option<&Node>) -> Due<'t> {
        match (self, value.map(|node| &node.kind)) {
            (Due::Scalar(Holds::RowValue | Holds::Default, owner), Some(NodeKind::Mapping(_))) => {
                Due::Named(Names::AdtValue, owner)
            }
            (Due::Scalar(Holds::Pattern, owner), Some(NodeKind::Mapping(_))) => Due::Named(Names::Pattern, owner),
            _ => self,
        }
    }

    /// What an item is due to hold.
    pub(crate) fn of_item(self, item: Option<&Node>) -> Due<'t> {
        match self {
            Due::List(items, owner) => match items {
                Items::Sections(section) => Due::Section(section, owner),
                Items::Names(names) => Due::Named(names, owner),
                Items::Scalars(holds) => Due::Scalar(holds, owner).with_value(item),
            },
            // A list where one may stand: of names, of patterns, of integers.
            Due::Scalar(holds @ (Holds::Match | Holds::RowValue | Holds::Default), owner) => Due::Scalar(holds, owner),
            // The position of a case is kept: which of its patterns it is, is the member's business.
            Due::Scalar(Holds::Pattern, owner) => Due::Scalar(Holds::Pattern, owner).with_value(item),
            _ => Due::Unknown,
        }
    }
}

fn of_key<'t>(section: &'static Section, key: &'static Key, owner: Owner<'t>) -> Due<'t> {
    let owner = Owner { key: Some(key), ..owner };
    let is = |other: &Section| std::ptr::eq(section, other);
    let scalar = |holds| Due::Scalar(holds, owner);
    match key.form {
        Form::Choice(words) => scalar(Holds::Choice(words)),
        Form::Name => scalar(match key.name {
            "family" => Holds::Family,
            "alias" => Holds::Alias,
            "op" => Holds::Op,
            "kernel" => Holds::Kernel,
            _ => Holds::StageName,
        }),
        Form::NameOrNames => scalar(Holds::Match),
        Form::Names => Due::List(Items::Scalars(Holds::Some), owner),
        Form::QualifiedName => scalar(if key.name == "func" { Holds::Function } else { Holds::Qualified }),
        Form::Text => scalar(Holds::Label),
        Form::Bool => scalar(Holds::Bool),
        Form::Condition => scalar(Holds::Condition),
        Form::Expression if is(&schema::ROOFLINE) => scalar(Holds::Expression(Position::Roofline)),
        Form::Expression => scalar(Holds::Expression(Position::Refinement)),
        Form::Expressions => Due::List(Items::Scalars(Holds::Expression(Position::Refinement)), owner),
        Form::DType => scalar(Holds::TensorDType),
        Form::Shape if is(&schema::CASE) => scalar(Holds::Shape(Position::Family)),
        Form::Shape => scalar(Holds::Shape(Position::Shape)),
        Form::Type if is(&schema::FIELD) => scalar(Holds::FieldKind),
        Form::Type => scalar(Holds::Type),
        Form::Generator => scalar(Holds::Generator),
        Form::Predicates => Due::List(Items::Scalars(Holds::Predicate), owner),
        Form::Patterns => scalar(Holds::Pattern),
        Form::DTypeRows if is(&schema::ROW) => Due::List(Items::Names(Names::Case), Owner { member: None, ..owner }),
        Form::DTypeRows => Due::List(Items::Names(Names::Combo), owner),
        Form::Any => scalar(Holds::Default),
        Form::Section(section) => Due::Section(section, owner),
        Form::Kinds => Due::Named(Names::Forall, owner),
        Form::Types => Due::Named(Names::Formals, owner),
        Form::Lets => Due::Named(Names::Lets, owner),
        Form::Named(sections) => {
            let of = |section: &Section| sections.iter().any(|s| std::ptr::eq(*s, section));
            let names = if of(&schema::VALUE_PARAM) {
                Names::Params
            } else if of(&schema::INPUT) {
                Names::Inputs
            } else if of(&schema::OUTPUT) {
                Names::Outputs
            } else if of(&schema::FAMILY) {
                Names::Types
            } else if of(&schema::ADT) {
                Names::Adts
            } else if of(&schema::CONSTRUCTOR) {
                Names::Constructors
            } else {
                Names::Fields
            };
            Due::Named(names, owner)
        }
        Form::List(section) => Due::List(Items::Sections(section), owner),
        // Of GPU profiles, which have a schema for editors.
        Form::Number(_) | Form::Numbers(_) | Form::Units(..) => Due::Unknown,
    }
}

fn of_name<'t>(names: Names, owner: Owner<'t>, key: &'t str, value: Option<&Node>) -> Due<'t> {
    let named = Owner { name: Some(key), within: Some(names), member: None, ..owner };
    let member = Owner { member: Some(key), ..owner };
    let field = Owner { field: Some(key), ..owner };
    match names {
        Names::Forall => Due::Scalar(Holds::IndexKind, named),
        Names::Params if is_tensor(value) => Due::Section(&schema::TENSOR_PARAM, named),
        Names::Params => Due::Section(&schema::VALUE_PARAM, named),
        Names::Inputs => Due::Section(&schema::INPUT, named),
        Names::Outputs => Due::Section(&schema::OUTPUT, named),
        Names::Types => Due::Section(&schema::FAMILY, named),
        Names::Lets => Due::Scalar(Holds::Expression(Position::Let), named),
        Names::Formals => Due::Scalar(Holds::FormalKind, member),
        Names::Combo | Names::Case => Due::Scalar(Holds::DType, member),
        Names::Adts => Due::Section(&schema::ADT, named),
        Names::Constructors => Due::Section(&schema::CONSTRUCTOR, member),
        Names::Fields => match value.map(|node| &node.kind) {
            Some(NodeKind::Mapping(_)) => Due::Section(&schema::FIELD, field),
            _ => Due::Scalar(Holds::FieldKind, field),
        },
        Names::AdtValue => Due::Named(Names::AdtFields, Owner { field: Some(key), ..owner }),
        Names::AdtFields => Due::Scalar(Holds::RowValue, Owner { key: None, part: Some(key), ..owner }),
        Names::Pattern => match value.map(|node| &node.kind) {
            Some(NodeKind::Mapping(_)) => Due::Named(Names::PatternFields, field),
            _ => Due::Scalar(Holds::Pattern, field),
        },
        Names::PatternFields => Due::Scalar(Holds::Pattern, Owner { part: Some(key), ..owner }),
    }
}

/// Whether the value of a parameter is that of a tensor.
pub(crate) fn is_tensor(value: Option<&Node>) -> bool {
    let Some(NodeKind::Mapping(pairs)) = value.map(|node| &node.kind) else { return false };
    let has = |name: &str| pairs.iter().any(|pair| pair.key.as_str() == Some(name));
    (has("dtype") || has("shape")) && !has("type")
}

/// Calls `visit` on every key and value below `node`, outside in.
pub(crate) fn walk<'t>(node: &'t Node, due: Due<'t>, visit: &mut dyn FnMut(Part<'t>)) {
    visit(Part::Value { node, due });
    match &node.kind {
        NodeKind::Mapping(pairs) => {
            for pair in pairs {
                visit(Part::Key { node: &pair.key, value: &pair.value, mapping: node, due });
                walk(&pair.value, due.of_pair(pair), visit);
            }
        }
        NodeKind::Sequence(items) => {
            for item in items {
                walk(item, due.of_item(Some(item)), visit);
            }
        }
        NodeKind::Scalar(_) | NodeKind::Unreadable => {}
    }
}

/// The parts that `offset` touches, from the outermost to the innermost. The last is a key where the cursor is in one.
pub(crate) fn descend<'t>(root: &'t Node, due: Due<'t>, offset: TextSize) -> Vec<Part<'t>> {
    let mut parts = Vec::new();
    let (mut node, mut due) = (root, due);
    // A tree is no deeper than what the YAML reader takes; each turn goes one step down.
    loop {
        parts.push(Part::Value { node, due });
        match &node.kind {
            NodeKind::Mapping(pairs) => {
                if let Some(pair) = pairs.iter().find(|pair| touches(&pair.key, offset)) {
                    parts.push(Part::Key { node: &pair.key, value: &pair.value, mapping: node, due });
                    return parts;
                }
                let Some(pair) = pairs.iter().find(|pair| touches(&pair.value, offset)) else { return parts };
                due = due.of_pair(pair);
                node = &pair.value;
            }
            NodeKind::Sequence(items) => {
                let Some(item) = items.iter().find(|item| touches(item, offset)) else { return parts };
                due = due.of_item(Some(item));
                node = item;
            }
            NodeKind::Scalar(_) | NodeKind::Unreadable => return parts,
        }
    }
}

fn touches(node: &Node, offset: TextSize) -> bool {
    node.range.contains_inclusive(offset)
}

/// The characters of a scalar's text, quotes aside.
pub(crate) fn text_range(node: &Node) -> TextRange {
    match node.as_scalar() {
        Some(scalar) => {
            let range = scalar.map.range(TextRange::up_to(TextSize::of(&*scalar.text)));
            if node.range.contains_range(range) && !range.is_empty() { range } else { node.range }
        }
        None => node.range,
    }
}

/// The scalar of a text in the expression language, in a place that is due to hold one.
pub(crate) fn language(node: &Node, holds: Holds) -> Option<&Scalar> {
    let scalar = node.as_scalar()?;
    let is_text = scalar.value == ScalarValue::Str;
    let speaks = match holds {
        Holds::Expression(_)
        | Holds::Condition
        | Holds::Shape(_)
        | Holds::Type
        | Holds::IndexKind
        | Holds::FormalKind
        | Holds::FieldKind
        | Holds::TensorDType
        | Holds::Generator
        | Holds::Predicate => true,
        Holds::RowValue => scalar.text.ends_with(')'),
        _ => false,
    };
    (is_text && speaks).then_some(scalar)
}
