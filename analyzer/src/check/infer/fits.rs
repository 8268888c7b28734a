//! Which kinds a place takes, and the kinds of results.

use std::sync::Arc;

use crate::check::guards::{is_integer, is_number, item_of, map_dtypes};
use crate::check::types::union_of;
use crate::defect::list;
use crate::lang::builtins::{self, Gives, Takes};
use crate::lang::{DType, DTypeSet, Kind, Value};

/// The kind that both are; nothing where they are of different sorts.
pub(super) fn common(a: &Kind, b: &Kind) -> Option<Kind> {
    use Kind::*;
    Some(match (a, b) {
        (Error, _) | (_, Error) => Error,
        (a, b) if a == b => a.clone(),
        (None | Maybe(_), _) | (_, None | Maybe(_)) => union_of([a.clone(), b.clone()]),
        (Shape, Seq(item, _)) | (Seq(item, _), Shape) => Seq(Box::new(common(item, &Dim)?), Option::None),
        (Seq(x, m), Seq(y, n)) => {
            let item = if *m == Some(0) {
                (**y).clone()
            } else if *n == Some(0) {
                (**x).clone()
            } else {
                common(x, y)?
            };
            Seq(Box::new(item), m.filter(|_| m == n))
        }
        (a, b) if is_number(a) && is_number(b) => {
            if is_integer(a) && is_integer(b) {
                union_of([a.clone(), b.clone()])
            } else {
                Float
            }
        }
        (Enum(_), Enum(_)) | (DType(_), DType(_)) | (Adt(..), Adt(..)) | (Union(_), _) | (_, Union(_)) => {
            match union_of([a.clone(), b.clone()]) {
                Union(_) if matches!((a, b), (Adt(..), Adt(..))) => return Option::None,
                kind => kind,
            }
        }
        (DType(_), Enum(_)) | (Enum(_), DType(_)) | (Str, Enum(_)) | (Enum(_), Str) => union_of([a.clone(), b.clone()]),
        // An axis or several: what `reduced` takes as its axes.
        (a, Seq(..) | Shape) | (Seq(..) | Shape, a) if is_integer(a) => union_of([a.clone(), b.clone(), a.clone()]),
        _ => return Option::None,
    })
}

pub(super) fn is_dtype(kind: &Kind) -> bool {
    match kind {
        Kind::DType(_) => true,
        Kind::Enum(literals) => literals.iter().all(|literal| DType::from_name(literal).is_some()),
        _ => false,
    }
}

/// Whether every value of `kind` is one that a parameter of a built-in takes.
pub(super) fn fits_takes(kind: &Kind, takes: Takes) -> bool {
    let items = |admits: &dyn Fn(&Kind) -> bool| match kind {
        Kind::Shape => admits(&Kind::Dim),
        Kind::Seq(item, length) => *length == Some(0) || admits(item),
        _ => false,
    };
    match kind {
        Kind::Error => return true,
        Kind::Union(members) => {
            return members.iter().all(|member| fits_takes(member, takes))
                || (matches!(takes, Takes::Number | Takes::ValueOrDType) && is_number(kind));
        }
        Kind::Maybe(inner) => return fits_takes(&Kind::None, takes) && fits_takes(inner, takes),
        _ => {}
    }
    let is_none = *kind == Kind::None;
    match takes {
        Takes::Bool => *kind == Kind::Bool,
        Takes::Int => is_integer(kind),
        Takes::Shape | Takes::SeqInt => items(&is_integer),
        Takes::Seq => item_of(kind).is_some(),
        Takes::SeqBool => items(&|item| matches!(item, Kind::Bool | Kind::Error)),
        Takes::Axes => is_integer(kind) || is_none || items(&is_integer),
        Takes::PerAxis => is_integer(kind) || is_none || items(&|item| fits_takes(item, Takes::MaybeInt)),
        Takes::MaybeInt => is_integer(kind) || is_none,
        Takes::Literal(allowed) => {
            matches!(kind, Kind::Enum(literals) if literals.iter().all(|literal| allowed.contains(&&**literal)))
        }
        Takes::DType => is_dtype(kind),
        Takes::MaybeDType => is_dtype(kind) || is_none,
        Takes::ValueOrDType => matches!(kind, Kind::Float | Kind::Bool | Kind::DType(_)) || is_integer(kind),
        Takes::Number => matches!(kind, Kind::Float | Kind::Bool) || is_integer(kind),
        Takes::Adt(name) => matches!(kind, Kind::Adt(adt, _) if &*adt.name == name),
        Takes::Tensor | Takes::Presence => false,
    }
}

/// Whether every value of `kind` is one of `expected`: a formal's kind. An integer passes as a dimension, with the
/// obligation to be non-negative.
pub(super) fn fits_kind(kind: &Kind, expected: &Kind) -> bool {
    match (kind, expected) {
        (Kind::Error, _) | (_, Kind::Error) => true,
        (Kind::Union(members), _) => members.iter().all(|member| fits_kind(member, expected)),
        (Kind::Dim | Kind::Int, Kind::Dim | Kind::Int) => true,
        (Kind::Enum(found), Kind::Enum(allowed)) => found.is_subset(allowed),
        (Kind::DType(found), Kind::DType(allowed)) => found.difference(*allowed).is_empty(),
        (Kind::Adt(found, _), Kind::Adt(allowed, _)) => found.name == allowed.name,
        (Kind::Shape | Kind::Seq(..), Kind::Shape | Kind::Seq(..)) => {
            item_of(kind).is_some_and(|item| is_integer(&item))
        }
        (found, expected) => found == expected,
    }
}

/// What a parameter takes, as messages write it.
pub(super) fn describe(takes: Takes) -> String {
    match takes {
        Takes::Bool => "`Bool`".into(),
        Takes::Int => "`Int`".into(),
        Takes::Shape => "`Shape`".into(),
        Takes::SeqInt => "`Seq[Int]`".into(),
        Takes::Seq => "a sequence".into(),
        Takes::SeqBool => "`Seq[Bool]`".into(),
        Takes::Axes => "`Int`, `Seq[Int]` or `None`".into(),
        Takes::PerAxis => "`Int`, `Seq[Maybe[Int]]` or `None`".into(),
        Takes::MaybeInt => "`Int` or `None`".into(),
        Takes::Literal(allowed) => list(allowed.iter().map(|literal| format!("'{literal}'")), "or"),
        Takes::DType => "a dtype".into(),
        Takes::MaybeDType => "a dtype or `None`".into(),
        Takes::ValueOrDType => "a number or a dtype".into(),
        Takes::Number => "a number".into(),
        Takes::Adt(name) => format!("`{name}`"),
        Takes::Tensor => "a tensor".into(),
        Takes::Presence => "a tensor, an optional parameter or `out`".into(),
    }
}

/// The kind of a primitive's result.
pub(super) fn result(
    gives: Gives,
    kinds: &[Option<Kind>],
    eval: fn(&[Value]) -> Result<Value, builtins::DomainError>,
) -> Kind {
    let all_dims = || kinds.iter().flatten().all(|kind| matches!(kind, Kind::Dim));
    let set = |at: usize| match kinds.get(at) {
        Some(Some(kind)) => dtype_set(kind),
        _ => None,
    };
    match gives {
        Gives::Dim => Kind::Dim,
        Gives::Int => Kind::Int,
        Gives::DimOfDims => {
            if all_dims() {
                Kind::Dim
            } else {
                Kind::Int
            }
        }
        Gives::Bool => Kind::Bool,
        Gives::Shape => Kind::Shape,
        Gives::SeqInt => Kind::Seq(Box::new(Kind::Int), None),
        Gives::Promoted => set(kinds.len().saturating_sub(1)).map_or(Kind::Error, |set| {
            Kind::DType(map_dtypes(set, |dtype| match eval(&[Value::DType(dtype)]) {
                Ok(Value::DType(promoted)) => Some(promoted),
                _ => None,
            }))
        }),
        Gives::Coalesced => match (set(0), set(1)) {
            (Some(a), Some(b)) => match kinds.first() {
                Some(Some(Kind::Maybe(_) | Kind::None)) => Kind::DType(a.union(b)),
                _ => Kind::DType(a),
            },
            _ => Kind::Error,
        },
        Gives::Category => Kind::Enum(["bool", "int", "float", "complex"].into_iter().map(Arc::from).collect()),
    }
}

pub(super) fn dtype_set(kind: &Kind) -> Option<DTypeSet> {
    match kind {
        Kind::DType(set) => Some(*set),
        Kind::Enum(literals) => literals.iter().map(|literal| DType::from_name(literal)).collect(),
        Kind::Maybe(inner) => dtype_set(inner),
        Kind::None => Some(DTypeSet::EMPTY),
        Kind::Union(members) => {
            members.iter().try_fold(DTypeSet::EMPTY, |set, member| Some(set.union(dtype_set(member)?)))
        }
        _ => None,
    }
}
