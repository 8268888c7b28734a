//! Keys: of the sections, of the rows, of values of ADTs.

use std::sync::Arc;

use super::super::mentions::{adt_of, formals};
use super::super::site::{Due, Names, Owner, is_tensor};
use super::{CompletionKind, MARK, Work};
use crate::check::{SymbolRole, value_of_node};
use crate::lang::{Kind, Value};
use crate::model::schema::{self, Form, Key, Section};
use crate::syntax::{Node, NodeKind};

impl Work<'_> {
    pub(super) fn keys(&mut self, text: &str, mapping: &Node, due: Due<'_>, value: &Node) {
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
                    .filter(|symbol| symbol.role == SymbolRole::Index && matches!(symbol.kind, Kind::DType(_)))
                    .filter(|symbol| !present.contains(&&*symbol.name))
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
                        // A pattern tells apart what has few values.
                        let is_due = |kind: &Kind| {
                            names != Names::PatternFields || matches!(kind, Kind::Bool | Kind::Enum(_) | Kind::Adt(..))
                        };
                        let left = constructor.fields.iter().filter(|field| !present.contains(&&*field.name));
                        for field in left.filter(|field| is_due(&field.kind)) {
                            self.named_key(&field.name, &field.kind.to_string(), "", adds_colon);
                        }
                    }
                }
            }
            _ => {}
        }
    }

    pub(super) fn key(&mut self, key: &'static Key, adds_colon: bool) {
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

    pub(super) fn named_key(&mut self, name: &str, detail: &str, value: &str, adds_colon: bool) {
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
    pub(super) fn row_keys(&mut self, text: &str, mapping: &Node, _: &Owner<'_>, present: &[&str], adds_colon: bool) {
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
