//! Types to kinds: a parameter's `type`, a formal's type, an index's kind.

use std::sync::Arc;

use crate::defect::{Findings, codes, list, nearest, nearest_first};
use crate::expr::{TypeExpr, TypeExprKind};
use crate::lang::{AdtTable, DType, DTypeSet, Kind, Literals};
use crate::model::IndexKind;
use crate::text::TextRange;

/// How deep types may nest before they are given up on; no real type nests five deep.
const DEPTH: u32 = 64;

/// Names of Python's own types that a parameter may have besides those with a kind of their own.
const PYTHON_TYPES: [&str; 10] =
    ["bytes", "bytearray", "callable", "complex", "dict", "frozenset", "object", "range", "set", "slice"];

/// Type names with a kind of their own, for help.
const TYPES: [&str; 8] = ["int", "bool", "float", "str", "Number", "None", "torch.dtype", "torch.Tensor"];

/// The kind of an index.
pub fn kind_of_index(kind: &IndexKind) -> Kind {
    match kind {
        IndexKind::Dim => Kind::Dim,
        IndexKind::Shape => Kind::Shape,
        IndexKind::DType(_) => Kind::DType(kind.dtypes()),
        IndexKind::Seq => Kind::Seq(Box::new(Kind::Int), None),
    }
}

/// The kind of a parameter's `type`. A type that has none is reported and gives [`Kind::Error`].
pub fn kind_of_type(ty: &TypeExpr, adts: &AdtTable, path: &str, findings: &mut Findings) -> Kind {
    report_repeats(ty, path, findings, 0);
    Reader { adts, path, findings }.read(ty, 0)
}

/// Members of a union that repeat an earlier one.
fn report_repeats(ty: &TypeExpr, path: &str, findings: &mut Findings, depth: u32) {
    let (TypeExprKind::Union(members) | TypeExprKind::Apply(_, members)) = &ty.kind else { return };
    if depth > DEPTH {
        return;
    }
    if matches!(ty.kind, TypeExprKind::Union(_)) {
        let mut seen: Vec<(String, TextRange)> = Vec::new();
        for member in members.iter().filter(|member| !matches!(member.kind, TypeExprKind::Error)) {
            let text = member.to_string();
            match seen.iter().find(|(earlier, _)| *earlier == text) {
                Some((_, first)) => {
                    findings
                        .report(&codes::DUPLICATE_NAME, member.range, path, &*text, format!("`{text}` is listed twice"))
                        .help("drop the repeat")
                        .related(*first, format!("`{text}` is first listed here"));
                }
                None => seen.push((text, member.range)),
            }
        }
    }
    members.iter().for_each(|member| report_repeats(member, path, findings, depth + 1));
}

/// The kind of a family's formal: `Dim`, `Int`, `Bool`, `Shape`, `DType[…]`, an enum or an ADT's name.
pub fn kind_of_formal(ty: &TypeExpr, adts: &AdtTable, path: &str, findings: &mut Findings) -> Kind {
    const FORMALS: [&str; 4] = ["Dim", "Int", "Bool", "Shape"];
    report_repeats(ty, path, findings, 0);
    match &ty.kind {
        TypeExprKind::Error => return Kind::Error,
        TypeExprKind::Name(name) => match &**name {
            "Dim" => return Kind::Dim,
            "Int" => return Kind::Int,
            "Bool" => return Kind::Bool,
            "Shape" => return Kind::Shape,
            "DType" => return Kind::DType(DTypeSet::ALL),
            _ => {
                if let Some(adt) = adts.get(name) {
                    return whole(adt);
                }
                if !adts.complete && name.chars().next().is_some_and(char::is_uppercase) {
                    findings.unreached(ty.range, path, format!("what `{name}` is"), "types.yaml");
                    return Kind::Error;
                }
            }
        },
        TypeExprKind::Apply(callee, members) if &*callee.value == "DType" => {
            let names = members.iter().map(|member| match &member.kind {
                TypeExprKind::Name(name) => DType::from_name(name),
                _ => None,
            });
            if let Some(set) = names.collect::<Option<DTypeSet>>() {
                return Kind::DType(set);
            }
            if let [TypeExpr { kind: TypeExprKind::Union(members), .. }] = members.as_slice() {
                let names = members.iter().map(|member| match &member.kind {
                    TypeExprKind::Name(name) => DType::from_name(name),
                    _ => None,
                });
                if let Some(set) = names.collect::<Option<DTypeSet>>() {
                    return Kind::DType(set);
                }
            }
        }
        TypeExprKind::Literal(_) | TypeExprKind::Union(_) => {
            let kind = Reader { adts, path, findings: &mut Findings::default() }.read(ty, 0);
            if matches!(kind, Kind::Enum(_)) {
                return kind;
            }
        }
        TypeExprKind::Apply(..) | TypeExprKind::Ellipsis => {}
    }
    let text = ty.to_string();
    let known: Vec<&str> = FORMALS.into_iter().chain(adts.iter().map(|adt| &*adt.name)).collect();
    let order = nearest_first(&text, known);
    findings
        .report(&codes::PARAMETER_TYPE, ty.range, path, text.clone(), format!("`{text}` is no kind of a formal"))
        .help(format!(
            "a formal is {}, `DType[…]` or a union of quoted literals",
            list(&order, "or").replace(" or ", ", ")
        ))
        .meant(nearest(&text, order.iter().copied()));
    Kind::Error
}

/// An ADT with all its constructors.
pub(crate) fn whole(adt: &Arc<crate::lang::Adt>) -> Kind {
    let constructors = adt.constructors.iter().map(|c| c.name.clone()).collect();
    Kind::Adt(adt.clone(), constructors)
}

struct Reader<'a> {
    adts: &'a AdtTable,
    path: &'a str,
    findings: &'a mut Findings,
}

impl Reader<'_> {
    fn read(&mut self, ty: &TypeExpr, depth: u32) -> Kind {
        if depth > DEPTH {
            return Kind::Error;
        }
        match &ty.kind {
            TypeExprKind::Error => Kind::Error,
            TypeExprKind::Name(name) => self.name(ty, name),
            TypeExprKind::Literal(literal) => Kind::Enum(Literals::from([literal.clone()])),
            TypeExprKind::Ellipsis => self.refuse(ty, "`...` stands behind the one item of a `tuple` only"),
            TypeExprKind::Union(members) => self.union(members, depth),
            TypeExprKind::Apply(callee, arguments) => match &*callee.value {
                "list" => match arguments.as_slice() {
                    [item] => Kind::Seq(Box::new(self.read(item, depth + 1)), None),
                    _ => self.refuse(ty, "`list` takes the type of its items: `list[int]`"),
                },
                "tuple" => match arguments.as_slice() {
                    [item, TypeExpr { kind: TypeExprKind::Ellipsis, .. }] => {
                        Kind::Seq(Box::new(self.read(item, depth + 1)), None)
                    }
                    items => {
                        let kinds: Vec<Kind> = items.iter().map(|item| self.read(item, depth + 1)).collect();
                        Kind::Seq(Box::new(union_of(kinds)), Some(items.len()))
                    }
                },
                "DType" | "Seq" => self.refuse(ty, "an index has this kind, a parameter has a type"),
                "Optional" => self.refuse(ty, "write `X | None`"),
                "Union" => self.refuse(ty, "write `X | Y`"),
                "List" | "Sequence" if self.adts.get(&callee.value).is_none() => self.refuse(ty, "write `list[…]`"),
                "Tuple" if self.adts.get(&callee.value).is_none() => self.refuse(ty, "write `tuple[…]`"),
                "Dict" if self.adts.get(&callee.value).is_none() => self.refuse(ty, "write `dict`"),
                "Literal" => self.refuse(ty, "write the literals themselves: `'a' | 'b'`"),
                name if is_foreign(name) || PYTHON_TYPES.contains(&name) => {
                    // The arguments of a foreign generic say nothing to the language.
                    Kind::Opaque(ty.to_string().into())
                }
                name => {
                    let name: Arc<str> = name.into();
                    self.unknown(callee.range, &name)
                }
            },
        }
    }

    fn name(&mut self, ty: &TypeExpr, name: &Arc<str>) -> Kind {
        match &**name {
            "int" => Kind::Int,
            "bool" => Kind::Bool,
            "float" => Kind::Float,
            "str" => Kind::Str,
            "None" => Kind::None,
            // Python's numbers: `category` tells which of them one is.
            "Number" => Kind::Union(vec![Kind::Bool, Kind::Int, Kind::Float]),
            "torch.dtype" => Kind::DType(DTypeSet::ALL),
            "list" | "tuple" => self.refuse(ty, &format!("say what it holds: `{name}[{}]`", sample(name))),
            "Dim" | "Int" => self.refuse(ty, "write `int`"),
            "Bool" => self.refuse(ty, "write `bool`"),
            "Shape" => self.refuse(ty, "write `tuple[int, ...]`"),
            "DType" => self.refuse(ty, "write `torch.dtype`, or the dtypes that it admits: `float16 | bfloat16`"),
            "string" => self.refuse(ty, "write `str`"),
            "Tensor" if self.adts.get(name).is_none() => self.refuse(ty, "write `torch.Tensor`"),
            "List" | "Sequence" if self.adts.get(name).is_none() => self.refuse(ty, "write `list[int]`"),
            "Tuple" if self.adts.get(name).is_none() => self.refuse(ty, "write `tuple[int, ...]`"),
            "Dict" if self.adts.get(name).is_none() => self.refuse(ty, "write `dict`"),
            other => {
                if let Some(dtype) = DType::from_name(other) {
                    Kind::DType(DTypeSet::EMPTY.with(dtype))
                } else if let Some(adt) = self.adts.get(other) {
                    whole(adt)
                } else if PYTHON_TYPES.contains(&other) {
                    Kind::Opaque(name.clone())
                } else if is_foreign(other) {
                    // A class of the op's own, unless it is an ADT's name with a typo in it.
                    let known = self.adts.iter().map(|adt| &*adt.name).chain(TYPES);
                    let near = if other.contains('.') { None } else { nearest(other, known) };
                    match near {
                        Some(near) if self.adts.complete || TYPES.contains(&near) => self.unknown(ty.range, name),
                        _ if !self.adts.complete && !other.contains('.') => {
                            self.findings.unreached(ty.range, self.path, format!("what `{name}` is"), "types.yaml");
                            Kind::Error
                        }
                        _ => {
                            if !other.contains('.') {
                                self.opaque(ty.range, name);
                            }
                            Kind::Opaque(name.clone())
                        }
                    }
                } else {
                    self.unknown(ty.range, name)
                }
            }
        }
    }

    fn union(&mut self, members: &[TypeExpr], depth: u32) -> Kind {
        // `bool` is the dtype where the other members are dtypes, else Python's type.
        let dtypes = members.iter().filter_map(|member| match &member.kind {
            TypeExprKind::Name(name) if &**name == "None" => None,
            TypeExprKind::Name(name) => Some(DType::from_name(name)),
            _ => Some(None),
        });
        if let Some(set) = dtypes.collect::<Option<DTypeSet>>()
            && !set.difference(DTypeSet::EMPTY.with(DType::Bool)).is_empty()
        {
            let optional = members.iter().any(|m| matches!(&m.kind, TypeExprKind::Name(n) if &**n == "None"));
            return if optional { Kind::Maybe(Box::new(Kind::DType(set))) } else { Kind::DType(set) };
        }
        let kinds: Vec<Kind> = members.iter().map(|member| self.read(member, depth + 1)).collect();
        union_of(kinds)
    }

    /// A bare name that nothing declares: it may be a class of the op's own, whose values say nothing to the language.
    fn opaque(&mut self, range: TextRange, name: &Arc<str>) {
        let adts: Vec<&str> = nearest_first(name, self.adts.iter().map(|adt| &*adt.name));
        let declared = match adts.as_slice() {
            [] => "types.yaml declares none".to_owned(),
            adts => format!("types.yaml declares {}", list(adts, "and")),
        };
        self.findings
            .report(
                &codes::OPAQUE_TYPE,
                range,
                self.path,
                &**name,
                format!("`{name}` is no ADT: its values are taken as they are, and take no part in types"),
            )
            .help(format!("a class is named with its module, as `package.{name}`; {declared}"));
    }

    fn unknown(&mut self, range: TextRange, name: &Arc<str>) -> Kind {
        let known: Vec<&str> = TYPES.into_iter().chain(self.adts.iter().map(|adt| &*adt.name)).collect();
        let order = nearest_first(name, known);
        self.findings
            .report(&codes::PARAMETER_TYPE, range, self.path, &**name, format!("`{name}` is no type of a parameter"))
            .help(format!(
                "a type is {}, a dtype, a quoted literal, `list[…]`, `tuple[…]`, a dotted name, or a union of them",
                list(&order, "or").replace(" or ", ", ")
            ))
            .meant(nearest(name, order.iter().copied()));
        Kind::Error
    }

    fn refuse(&mut self, ty: &TypeExpr, help: &str) -> Kind {
        let text = ty.to_string();
        self.findings
            .report(&codes::PARAMETER_TYPE, ty.range, self.path, &*text, format!("`{text}` is no type of a parameter"))
            .help(help);
        Kind::Error
    }
}

/// Whether a name is one of a class that the language knows nothing about: `torch.device`, `RoutingSpec`.
fn is_foreign(name: &str) -> bool {
    name.contains('.') || name.chars().next().is_some_and(char::is_uppercase)
}

fn sample(name: &str) -> &'static str {
    if name == "list" { "int" } else { "int, ..." }
}

/// The union of kinds in its normal form: flat, with literals, dtypes and constructors merged, without repeats, and with
/// `None` turned into a `Maybe` around the rest.
pub fn union_of(kinds: impl IntoIterator<Item = Kind>) -> Kind {
    let mut members: Vec<Kind> = Vec::new();
    let mut optional = false;
    let mut stack: Vec<Kind> = kinds.into_iter().collect();
    stack.reverse();
    while let Some(kind) = stack.pop() {
        match kind {
            Kind::Error => return Kind::Error,
            Kind::None => optional = true,
            Kind::Maybe(inner) => {
                optional = true;
                stack.push(*inner);
            }
            Kind::Union(inner) => stack.extend(inner.into_iter().rev()),
            kind => {
                let merged = members.iter_mut().any(|member| match (&mut *member, &kind) {
                    (Kind::Enum(into), Kind::Enum(more)) => {
                        into.extend(more.iter().cloned());
                        true
                    }
                    (Kind::DType(into), Kind::DType(more)) => {
                        *into = into.union(*more);
                        true
                    }
                    (Kind::Adt(into, constructors), Kind::Adt(from, more)) if into.name == from.name => {
                        constructors.extend(more.iter().cloned());
                        true
                    }
                    (Kind::Int, Kind::Dim) => true,
                    (into @ Kind::Dim, Kind::Int) => {
                        *into = Kind::Int;
                        true
                    }
                    (member, kind) => member == kind,
                });
                if !merged {
                    members.push(kind);
                }
            }
        }
    }
    let core = match members.len() {
        0 => return if optional { Kind::None } else { Kind::Error },
        1 => members.swap_remove(0),
        _ => Kind::Union(members),
    };
    if optional { Kind::Maybe(Box::new(core)) } else { core }
}
