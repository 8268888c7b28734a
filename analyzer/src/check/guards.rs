//! What guards say: the kinds that conditions have narrowed.

use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::Arc;

use super::types::union_of;
use crate::lang::{DType, DTypeSet, Kind, Literals};

/// Something that a guard can narrow: a name or a field of it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Subject {
    /// The name, with its fields behind dots. A `.value` is no part of it: where `v` is present, `v.value` is `v`.
    pub(crate) path: Arc<str>,
    /// The ADT's kind, where the subject is the constructor of what `path` names: `layout.kind`.
    pub(crate) tag_of: Option<Kind>,
}

/// The kinds of subjects where some conditions hold.
#[derive(Debug, Clone, Default)]
pub(crate) struct Guards {
    facts: Rc<Vec<(Arc<str>, Kind)>>,
    /// Whether the conditions exclude each other: nothing is ever evaluated here.
    dead: bool,
}

impl Guards {
    /// The narrowed kind of the subject at `path`.
    pub(crate) fn get(&self, path: &str) -> Option<&Kind> {
        self.facts.iter().find(|(p, _)| &**p == path).map(|(_, kind)| kind)
    }

    /// With `kind` as what the subject at `path` is; nothing says that it cannot be anything.
    pub(crate) fn with(&self, path: &Arc<str>, kind: Option<Kind>) -> Guards {
        let Some(kind) = kind else {
            return Guards { facts: self.facts.clone(), dead: true };
        };
        let mut facts = self.facts.clone();
        let list = Rc::make_mut(&mut facts);
        match list.iter_mut().find(|(p, _)| p == path) {
            Some(fact) => fact.1 = kind,
            None => list.push((path.clone(), kind)),
        }
        Guards { facts, dead: self.dead }
    }

    /// What holds where either holds.
    pub(crate) fn or(&self, other: &Guards) -> Guards {
        if self.dead || Rc::ptr_eq(&self.facts, &other.facts) {
            return other.clone();
        }
        if other.dead {
            return self.clone();
        }
        let both = self.facts.iter().filter_map(|(path, kind)| {
            let other = other.get(path)?;
            let joined = if kind == other { kind.clone() } else { union_of([kind.clone(), other.clone()]) };
            Some((path.clone(), joined))
        });
        Guards { facts: Rc::new(both.collect()), dead: false }
    }
}

/// The part of `kind` that can equal one of `literals`; nothing where no part can. A kind that has no literals of its
/// own stays as it is.
pub(crate) fn intersect(kind: &Kind, literals: &Literals) -> Option<Kind> {
    match kind {
        Kind::Enum(members) => {
            let common: Literals = members.intersection(literals).cloned().collect();
            (!common.is_empty()).then_some(Kind::Enum(common))
        }
        Kind::DType(set) => {
            let common: DTypeSet = set.iter().filter(|dtype| literals.contains(dtype.name())).collect();
            (!common.is_empty()).then_some(Kind::DType(common))
        }
        Kind::Maybe(inner) => intersect(inner, literals),
        Kind::Union(members) => {
            let common: Vec<Kind> = members
                .iter()
                .filter(|member| matches!(member, Kind::Enum(_) | Kind::DType(_) | Kind::Str | Kind::Opaque(_)))
                .filter_map(|member| intersect(member, literals))
                .collect();
            (!common.is_empty()).then(|| union_of(common))
        }
        Kind::None => None,
        other => Some(other.clone()),
    }
}

/// The part of `kind` that is none of `literals`; nothing where no part is left.
pub(crate) fn subtract(kind: &Kind, literals: &Literals) -> Option<Kind> {
    match kind {
        Kind::Enum(members) => {
            let rest: Literals = members.difference(literals).cloned().collect();
            (!rest.is_empty()).then_some(Kind::Enum(rest))
        }
        Kind::DType(set) => {
            let rest: DTypeSet = set.iter().filter(|dtype| !literals.contains(dtype.name())).collect();
            (!rest.is_empty()).then_some(Kind::DType(rest))
        }
        Kind::Maybe(inner) => Some(subtract(inner, literals).map_or(Kind::None, |rest| Kind::Maybe(Box::new(rest)))),
        Kind::Union(members) => {
            let rest: Vec<Kind> = members.iter().filter_map(|member| subtract(member, literals)).collect();
            (!rest.is_empty()).then(|| union_of(rest))
        }
        other => Some(other.clone()),
    }
}

/// As [`intersect`] (or, where `keep` is false, [`subtract`]), over the constructors of an ADT.
pub(crate) fn constructors(kind: &Kind, literals: &Literals, keep: bool) -> Option<Kind> {
    match kind {
        Kind::Adt(adt, members) => {
            let rest: BTreeSet<Arc<str>> =
                members.iter().filter(|member| literals.contains(*member) == keep).cloned().collect();
            (!rest.is_empty()).then(|| Kind::Adt(adt.clone(), rest))
        }
        other => Some(other.clone()),
    }
}

/// The names of every literal that `kind` admits, where a finite set bounds them: an enum's, or a dtype set's.
pub(crate) fn members(kind: &Kind) -> Option<Vec<Arc<str>>> {
    match kind {
        Kind::Enum(literals) => Some(literals.iter().cloned().collect()),
        Kind::DType(set) => Some(set.iter().map(|dtype| dtype.name().into()).collect()),
        Kind::Maybe(inner) => members(inner),
        Kind::Union(kinds) => {
            if kinds.iter().any(|kind| matches!(kind, Kind::Str | Kind::Opaque(_) | Kind::Error)) {
                return None;
            }
            let found: Vec<Vec<Arc<str>>> = kinds.iter().filter_map(members).collect();
            (!found.is_empty()).then(|| found.concat())
        }
        _ => None,
    }
}

/// The literals of an enum, or the names of a dtype set.
pub(crate) fn literals_of(kind: &Kind) -> Option<Literals> {
    match kind {
        Kind::Enum(_) | Kind::DType(_) => members(kind).map(|names| names.into_iter().collect()),
        _ => None,
    }
}

/// Whether a value of one kind can equal one of the other.
pub(crate) fn can_equal(a: &Kind, b: &Kind) -> bool {
    use Kind::*;
    match (a, b) {
        (Error | Opaque(_), _) | (_, Error | Opaque(_)) => true,
        (Maybe(inner), other) | (other, Maybe(inner)) => match other {
            None | Maybe(_) => true,
            _ => can_equal(inner, other),
        },
        (Union(members), other) | (other, Union(members)) => members.iter().any(|member| can_equal(member, other)),
        (Dim | Int | Float, Dim | Int | Float) | (Bool, Bool) | (None, None) => true,
        (Str, Str | Enum(_) | DType(_)) | (Enum(_) | DType(_), Str) => true,
        (Enum(a), Enum(b)) => a.iter().any(|literal| b.contains(literal)),
        (DType(a), DType(b)) => !a.intersection(*b).is_empty(),
        (Enum(literals), DType(set)) | (DType(set), Enum(literals)) => literals
            .iter()
            .filter_map(|literal| crate::lang::DType::from_name(literal))
            .any(|dtype| set.contains(dtype)),
        (Shape, Shape) => true,
        (Shape, Seq(item, _)) | (Seq(item, _), Shape) => can_equal(item, &Dim),
        (Seq(a, m), Seq(b, n)) => {
            let lengths = match (m, n) {
                (Some(m), Some(n)) => m == n,
                _ => true,
            };
            lengths && (can_equal(a, b) || (m.unwrap_or(0) == 0 && n.unwrap_or(0) == 0))
        }
        (Adt(a, _), Adt(b, _)) => a.name == b.name,
        _ => false,
    }
}

/// Whether values of the kind are integers.
pub(crate) fn is_integer(kind: &Kind) -> bool {
    match kind {
        Kind::Dim | Kind::Int | Kind::Error => true,
        Kind::Union(members) => members.iter().all(is_integer),
        _ => false,
    }
}

/// Whether values of the kind are numbers. A `Number` of Python may be a Boolean.
pub(crate) fn is_number(kind: &Kind) -> bool {
    match kind {
        Kind::Float => true,
        Kind::Union(members) => {
            members.iter().all(|member| is_number(member) || *member == Kind::Bool) && members.contains(&Kind::Float)
        }
        other => is_integer(other),
    }
}

/// The kind of a sequence's items.
pub(crate) fn item_of(kind: &Kind) -> Option<Kind> {
    match kind {
        Kind::Shape => Some(Kind::Dim),
        Kind::Seq(item, _) => Some((**item).clone()),
        Kind::Error => Some(Kind::Error),
        Kind::Union(members) => {
            let items: Option<Vec<Kind>> = members.iter().map(item_of).collect();
            items.map(union_of)
        }
        _ => None,
    }
}

/// The set with the integral dtypes turned into `float32`, as `promote` maps each.
pub(crate) fn map_dtypes(set: DTypeSet, promote: impl Fn(DType) -> Option<DType>) -> DTypeSet {
    set.iter().map(|dtype| promote(dtype).unwrap_or(dtype)).collect()
}
