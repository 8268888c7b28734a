//! Attributes of tensors are outside the language; a field of an ADT may have the name of one.

use std::sync::Arc;

use super::types::{kind_of_formal, kind_of_type};
use crate::defect::{Defect, Findings, codes};
use crate::lang::{Adt, AdtTable, Kind};
use crate::model::{Entry, Fact, ParamRole};

/// A name that stands for a value of an ADT, in the texts whose paths start with one of the prefixes.
struct Value {
    name: Arc<str>,
    adt: Arc<Adt>,
    within: Vec<String>,
}

/// Takes back what was refused as an attribute of a tensor and is a field of an ADT: the parser knows no kinds.
pub fn withdraw_fields(entry: &Entry, adts: &AdtTable, findings: &mut Findings) {
    if !findings.defects.iter().any(|defect| *defect.code == codes::REFUSED_FORM) {
        return;
    }
    let values = values(entry, adts);
    findings
        .defects
        .retain(|defect| *defect.code != codes::REFUSED_FORM || !values.iter().any(|value| value.is_read_by(defect)));
}

fn values(entry: &Entry, adts: &AdtTable) -> Vec<Value> {
    let Some(signature) = entry.signature.valid() else { return Vec::new() };
    // What is wrong with a type is said where the names are read.
    let mut silent = Findings::default();
    let mut values = Vec::new();
    for param in signature.params.items() {
        if let ParamRole::Value { ty: Fact::Valid(ty, _), .. } = &param.role
            && let Some(adt) = adt_of(&kind_of_type(&ty.ty, adts, &ty.path, &mut silent))
        {
            let within = vec!["signature.".to_owned(), "roofline.".to_owned()];
            values.push(Value { name: param.name.value.clone(), adt, within });
        }
    }
    for family in signature.types.items() {
        for (formal, kind) in family.params.items() {
            let kind = kind.valid().map(|kind| kind_of_formal(kind, adts, &family.path, &mut silent));
            if let Some(adt) = kind.as_ref().and_then(adt_of) {
                values.push(Value { name: formal.value.clone(), adt, within: vec![format!("{}.", family.path)] });
            }
        }
    }
    values
}

impl Value {
    /// Whether what the defect refuses reads a field of it.
    fn is_read_by(&self, defect: &Defect) -> bool {
        let fields = self.adt.constructors.iter().flat_map(|constructor| &constructor.fields);
        self.within.iter().any(|prefix| defect.path.starts_with(prefix.as_str()))
            && fields.map(|field| &field.name).any(|field| {
                [".", ".value."].iter().any(|dot| has_path(&defect.subject, &format!("{}{dot}{field}", self.name)))
            })
    }
}

/// Whether `text` has `path` in it, and no longer path around that.
fn has_path(text: &str, path: &str) -> bool {
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(path).any(|(at, _)| {
        let (before, behind) = (text.get(..at).unwrap_or(""), text.get(at + path.len()..).unwrap_or(""));
        !before.ends_with(|c| is_name(c) || c == '.') && !behind.starts_with(is_name)
    })
}

fn adt_of(kind: &Kind) -> Option<Arc<Adt>> {
    match kind {
        Kind::Adt(adt, _) => Some(adt.clone()),
        Kind::Maybe(inner) => adt_of(inner),
        _ => None,
    }
}
