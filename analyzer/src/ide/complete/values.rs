//! Values that are words: choices, types, dtypes, names of ops and functions.

use super::super::Edit;
use super::super::mentions::{adt_of, formals, literals};
use super::super::site::{Holds, Owner};
use super::whole::retain_fitting;
use super::{Completion, CompletionKind, MARK, Topic, Work};
use crate::analysis::parse;
use crate::check::Scope;
use crate::defect::Findings;
use crate::lang::{DType, DTypeSet, Kind};
use crate::model::schema::{self, INDEX_KINDS};
use crate::syntax::{EntryTree, Node, ScalarStyle};

impl Work<'_> {
    pub(super) fn words<'w>(&mut self, words: impl IntoIterator<Item = &'w str>, detail: &str) {
        for word in words {
            self.add(word, CompletionKind::Word, detail, "");
        }
    }

    pub(super) fn dtypes(&mut self, set: DTypeSet) {
        for dtype in set.iter() {
            self.dtype(dtype);
        }
    }

    pub(super) fn dtype(&mut self, dtype: DType) {
        if let Some(item) = self.add(dtype.name(), CompletionKind::DType, &format!("{} bits", dtype.bits()), "") {
            item.topic = Some(Topic::DType(dtype));
        }
    }

    pub(super) fn values(&mut self, text: &str, tree: &EntryTree, node: &Node, holds: Holds, owner: Owner<'_>) {
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
                    let is_optional = matches!(tensor.optional.valid(), Some(crate::model::Condition::Always(true)));
                    if is_optional && !self.beside.iter().any(|name| **name == *tensor.name.value) {
                        self.add(&tensor.name.value, CompletionKind::Tensor, "optional tensor", "");
                    }
                }
            }
            Holds::Match => {
                for (name, kind) in formals(&scope, &owner).into_iter().flatten() {
                    let is_due = matches!(kind, Kind::Bool | Kind::Enum(_) | Kind::Adt(..) | Kind::Error);
                    if is_due && !self.beside.iter().any(|other| **other == **name) {
                        self.add(name, CompletionKind::Name, &kind.to_string(), "");
                    }
                }
            }
            Holds::Pattern if owner.part.is_some() => {
                for (_, kind) in formals(&scope, &owner).into_iter().flatten() {
                    if let Some(kind) = part_of(kind, &owner) {
                        self.plain_values(&kind);
                    }
                }
                self.words(["_"], "anything");
            }
            Holds::Pattern => {
                for (_, kind) in formals(&scope, &owner).into_iter().flatten() {
                    match kind {
                        Kind::Bool => self.words(["true", "false"], "Bool"),
                        kind => self.words(literals(kind), "literal"),
                    }
                }
                self.words(["_"], "anything");
                // What another case matches already is matched twice.
                retain_fitting(self.site, text, node, &mut self.found);
            }
            Holds::DType => {
                let set = owner.member.and_then(|name| scope.get(name)).map(|symbol| symbol.kind.clone());
                self.dtypes(match set {
                    Some(Kind::DType(set)) => set,
                    _ => DTypeSet::ALL,
                });
                retain_fitting(self.site, text, node, &mut self.found);
            }
            Holds::RowValue | Holds::Default => {
                if let Some(symbol) = owner.member.or(owner.name).and_then(|name| scope.get(name)) {
                    let kind = match owner.part {
                        Some(_) => part_of(&symbol.kind, &owner),
                        None => Some(symbol.kind.clone()),
                    };
                    kind.iter().for_each(|kind| self.plain_values(kind));
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
                if self.expression(node, holds, owner, (&entry, &scope)) {
                    retain_fitting(self.site, text, node, &mut self.found);
                }
            }
            Holds::Kernel | Holds::StageName | Holds::Qualified | Holds::Label => {}
        }
    }

    pub(super) fn plain_values(&mut self, kind: &Kind) {
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

    pub(super) fn types(&mut self, node: &Node, holds: Holds) {
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
                "list" => !behind.split(']').next().is_some_and(|arguments| arguments.contains(',')),
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
        // A union names each of its members once.
        let in_union = holds == Holds::Type && (before.ends_with('|') || behind.trim_start().starts_with('|'));
        let members = members_around(&scalar.text);
        let mut add = |name: &str, doc: &str| {
            if in_union && name.split('|').any(|member| members.contains(&member.trim())) {
                return;
            }
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
            _ if in_union => {
                ["int", "bool", "float", "str", "None", "Number", "torch.dtype"].iter().for_each(|name| add(name, ""))
            }
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
}

/// The kind of a field of a constructor of an ADT, by their names in `owner`.
fn part_of(kind: &Kind, owner: &Owner<'_>) -> Option<Kind> {
    let constructor = adt_of(kind)?.constructors.iter().find(|one| Some(&*one.name) == owner.field)?;
    constructor.fields.iter().find(|field| Some(&*field.name) == owner.part).map(|field| field.kind.clone())
}

/// The members of the union that the mark stands in.
fn members_around(text: &str) -> Vec<&str> {
    let at = text.find(MARK).unwrap_or(0);
    let ends = |opens: char, closes: char| {
        let mut depth = 0_usize;
        move |c: char| {
            let is_end = depth == 0 && (c == closes || c == ',');
            if c == opens {
                depth += 1;
            } else if c == closes {
                depth = depth.saturating_sub(1);
            }
            is_end
        }
    };
    let (mut before, mut behind) = (ends(']', '['), ends('[', ']'));
    let start = text[..at].char_indices().rev().find(|(_, c)| before(*c)).map_or(0, |(i, _)| i + 1);
    let end = text[at..].char_indices().find(|(_, c)| behind(*c)).map_or(text.len(), |(i, _)| at + i);
    text.get(start..end).unwrap_or("").split('|').map(str::trim).collect()
}
