//! `signature`: indices, parameters, tensors, lets, refinements and dtype combinations.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::family;
use super::fields::{self, Fields, Slot};
use crate::defect::{Defect, Findings, codes, list, nearest, nearest_first};
use crate::expr::{Ident, TypeExpr, TypeExprKind, parse_type};
use crate::lang::DType;
use crate::model::schema::{self, INDEX_KINDS, Section};
use crate::model::{
    Combo, Effect, Fact, Formula, Index, IndexKind, Let, Param, ParamRole, Path, Signature, Tensor, TensorRole, TypeRef,
};
use crate::syntax::{Node, NodeKind};
use crate::text::{Spanned, TextRange};

/// Reads `signature`.
pub(super) fn read(slot: Slot<'_>, findings: &mut Findings) -> Option<Signature> {
    let fields = Fields::open(&schema::SIGNATURE, slot, "`signature`", findings)?;
    let declaring = ["forall", "params", "inputs", "outputs", "types", "let"];
    let sections = declaring.iter().filter_map(|key| fields.value(key));
    let complete = fields.is_complete()
        && sections.into_iter().all(|node| match &node.kind {
            NodeKind::Mapping(pairs) => fields::is_complete(pairs),
            NodeKind::Scalar(_) | NodeKind::Sequence(_) | NodeKind::Unreadable => false,
        });
    let signature = Signature {
        complete,
        forall: fields.fact("forall", findings, |slot, findings| {
            Some(fields::named(fields::mapping(slot, true, findings)?, slot.path, findings, index))
        }),
        params: fields.fact("params", findings, |slot, findings| {
            Some(fields::named(fields::mapping(slot, true, findings)?, slot.path, findings, param))
        }),
        inputs: fields.fact("inputs", findings, |slot, findings| tensors(slot, TensorRole::Input, findings)),
        outputs: fields.fact("outputs", findings, |slot, findings| tensors(slot, TensorRole::Output, findings)),
        types: fields.fact("types", findings, |slot, findings| {
            Some(fields::named(fields::mapping(slot, true, findings)?, slot.path, findings, family::read))
        }),
        lets: fields.fact("let", findings, |slot, findings| {
            Some(fields::named(fields::mapping(slot, true, findings)?, slot.path, findings, binding))
        }),
        shape_rules: fields.fact("shape_rules", findings, |slot, findings| {
            let expects = "a condition in a string";
            fields::items(slot, true, expects, "\"M % 16 == 0\"", findings, |_, item, findings| {
                fields::formula(item, findings)
            })
        }),
        dtype_combos: fields.fact("dtype_combos", findings, |slot, findings| {
            fields::items(
                slot,
                false,
                "a mapping of dtype names to dtypes",
                "{T: float16}",
                findings,
                |_, item, findings| {
                    let columns = dtype_row(item, findings)?;
                    Some(Combo { columns, range: item.node.range })
                },
            )
        }),
    };
    distinct_names(&signature, findings);
    Some(signature)
}

/// Names to dtypes: a row of `dtype_combos` or of `dtype_cases`.
pub(super) fn dtype_row(slot: Slot<'_>, findings: &mut Findings) -> Option<Vec<(Ident, Fact<DType>)>> {
    let pairs = fields::mapping(slot, false, findings)?;
    Some(fields::named(pairs, slot.path, findings, |name, node, path, findings| {
        let slot = member(&name, node, path, "the name of a dtype", "float16");
        let fact = fact(slot, fields::dtype(slot, findings));
        (name, fact)
    }))
}

/// The slot of a member of a mapping from names.
pub(super) fn member<'a>(
    name: &Ident,
    node: &'a Node,
    path: &'a str,
    expects: &'static str,
    example: &'a str,
) -> Slot<'a> {
    Slot { node, key: name.range, path, expects, example }
}

/// A value that was read, or not, as a fact.
pub(super) fn fact<T>(slot: Slot<'_>, value: Option<T>) -> Fact<T> {
    match value {
        Some(value) => Fact::Valid(value, slot.node.range),
        None => Fact::Malformed(if slot.node.range.is_empty() { slot.key } else { slot.node.range }),
    }
}

/// A type in a string. `None` where it could not be read as it stands, which has been reported: a type that was mended
/// says nothing about the values it was meant to have.
pub(super) fn type_expr(slot: Slot<'_>, findings: &mut Findings) -> Option<TypeExpr> {
    fields::text(slot, findings)?;
    let scalar = slot.node.as_scalar()?;
    let before = findings.defects.len();
    let ty = parse_type(scalar, slot.node.range, slot.path, findings);
    (findings.defects.len() == before && ty.kind != TypeExprKind::Error).then_some(ty)
}

fn index(name: Ident, node: &Node, path: &str, findings: &mut Findings) -> Index {
    let slot = member(&name, node, path, "a kind in a string", "Dim");
    let kind = type_expr(slot, findings).and_then(|ty| index_kind(&ty, path, findings));
    Index { kind: fact(slot, kind), path: Path::from(path), name }
}

fn index_kind(ty: &TypeExpr, path: &str, findings: &mut Findings) -> Option<IndexKind> {
    match &ty.kind {
        TypeExprKind::Name(name) if &**name == "Dim" => Some(IndexKind::Dim),
        TypeExprKind::Name(name) if &**name == "Shape" => Some(IndexKind::Shape),
        TypeExprKind::Apply(head, arguments) if &*head.value == "Seq" => match arguments.as_slice() {
            [TypeExpr { kind: TypeExprKind::Name(element), .. }] if &**element == "Int" => Some(IndexKind::Seq),
            [TypeExpr { kind: TypeExprKind::Error, .. }] => None,
            _ => {
                unknown_kind(
                    ty,
                    path,
                    "Seq",
                    "an index of kind `Seq` is a list of `Int`",
                    "write `Seq[Int]`",
                    findings,
                );
                None
            }
        },
        TypeExprKind::Apply(head, arguments) if &*head.value == "DType" => dtype_members(ty, arguments, path, findings),
        TypeExprKind::Name(name) if &**name == "DType" => {
            let help = "list the dtypes that it ranges over: `DType[float16 | bfloat16]`";
            unknown_kind(ty, path, "DType", "`DType` does not say which dtypes", help, findings);
            None
        }
        TypeExprKind::Name(name) if &**name == "Seq" => {
            unknown_kind(ty, path, "Seq", "`Seq` does not say of what", "write `Seq[Int]`", findings);
            None
        }
        TypeExprKind::Error => None,
        TypeExprKind::Name(found) | TypeExprKind::Apply(Spanned { value: found, .. }, _) => {
            if DType::from_name(found).is_some() {
                let help = format!("write `DType[{found}]`");
                unknown_kind(ty, path, found, format!("`{found}` is a dtype, not a kind"), help, findings)
                    .instead(format!("DType[{found}]"));
                return None;
            }
            let heads = ["Dim", "Shape", "DType", "Seq"];
            let near = nearest(found, heads).or(match &**found {
                "int" | "Int" | "Integer" | "dim" => Some("Dim"),
                "list" | "tuple" => Some("Seq"),
                "dtype" | "torch.dtype" => Some("DType"),
                _ => None,
            });
            let spelled = |head: &str| INDEX_KINDS.iter().map(|(kind, _)| *kind).find(|kind| kind.starts_with(head));
            let kinds = list(nearest_first(near.unwrap_or(found), INDEX_KINDS.iter().map(|(kind, _)| *kind)), "and");
            let help = match near.and_then(spelled) {
                Some(kind) => format!("did you mean `{kind}`? The kinds are {kinds}"),
                None => format!("the kinds are {kinds}"),
            };
            unknown_kind(
                ty,
                path,
                found,
                format!("an index cannot be of kind `{}`", fields::shown(found)),
                help,
                findings,
            )
            .meant(near.filter(|near| matches!(*near, "Dim" | "Shape")));
            None
        }
        TypeExprKind::Union(members) => {
            let dtypes =
                members.iter().all(|m| matches!(&m.kind, TypeExprKind::Name(n) if DType::from_name(n).is_some()));
            let help = if dtypes { format!("write `DType[{ty}]`") } else { "an index has one kind".to_owned() };
            unknown_kind(ty, path, &ty.to_string(), "an index cannot be of a union of kinds", help, findings)
                .meant(dtypes.then(|| format!("DType[{ty}]")));
            None
        }
        TypeExprKind::Literal(_) | TypeExprKind::Ellipsis => {
            let kinds = list(INDEX_KINDS.iter().map(|(kind, _)| *kind), "and");
            let help = format!("the kinds are {kinds}");
            unknown_kind(ty, path, &ty.to_string(), format!("`{ty}` is not a kind"), help, findings);
            None
        }
    }
}

fn unknown_kind<'f>(
    ty: &TypeExpr,
    path: &str,
    subject: &str,
    message: impl Into<String>,
    help: impl Into<String>,
    findings: &'f mut Findings,
) -> &'f mut Defect {
    findings.report(&codes::UNKNOWN_KIND, ty.range, path, subject, message).help(help)
}

/// The members of `DType[…]`. A set of which a member is unknown is unreadable: what it does not have cannot be said.
fn dtype_members(ty: &TypeExpr, arguments: &[TypeExpr], path: &str, findings: &mut Findings) -> Option<IndexKind> {
    let mut members: Vec<Spanned<DType>> = Vec::new();
    let mut whole = true;
    let mut stack: Vec<&TypeExpr> = arguments.iter().rev().collect();
    if arguments.len() > 1 {
        let help = "separate the dtypes by `|`";
        unknown_kind(ty, path, "DType", "`DType` takes one union of dtypes", help, findings);
        whole = false;
    }
    while let Some(argument) = stack.pop() {
        match &argument.kind {
            TypeExprKind::Union(alternatives) => stack.extend(alternatives.iter().rev()),
            TypeExprKind::Name(name) => match DType::from_name(name) {
                Some(dtype) => match members.iter().find(|member| member.value == dtype) {
                    Some(first) => {
                        findings
                            .report(
                                &codes::DUPLICATE_NAME,
                                argument.range,
                                path,
                                &**name,
                                format!("`{name}` is listed twice"),
                            )
                            .help("drop the repeat")
                            .related(first.range, format!("`{name}` is first listed here"));
                    }
                    None => members.push(Spanned::new(dtype, argument.range)),
                },
                None => {
                    fields::unknown_dtype(&Spanned::new(name.clone(), argument.range), path, findings);
                    whole = false;
                }
            },
            TypeExprKind::Error => whole = false,
            TypeExprKind::Literal(_) | TypeExprKind::Apply(..) | TypeExprKind::Ellipsis => {
                let shown: Arc<str> = argument.to_string().into();
                fields::unknown_dtype(&Spanned::new(shown, argument.range), path, findings);
                whole = false;
            }
        }
    }
    (whole && !members.is_empty()).then_some(IndexKind::DType(members))
}

fn param(name: Ident, node: &Node, path: &str, findings: &mut Findings) -> Param {
    let title = format!("parameter `{}`", fields::shown(&name.value));
    let role = match &node.kind {
        NodeKind::Mapping(pairs) => {
            let has = |key: &str| pairs.iter().any(|pair| pair.key.as_str() == Some(key));
            if has("type")
                && let Some(other) = ["dtype", "shape"].into_iter().find(|key| has(key))
            {
                let at = pairs.iter().find(|pair| pair.key.as_str() == Some(other)).map_or(node.range, |p| p.key.range);
                findings
                    .report(
                        &codes::CONFLICTING_KEYS,
                        at,
                        format!("{path}.{other}"),
                        other,
                        format!("{title} has a `type`, as a value, and a `{other}`, as a tensor"),
                    )
                    .help("a value has `type`; a tensor that is passed at construction has `dtype` and `shape`");
                let range = node.range;
                let role = ParamRole::Value {
                    ty: Fact::Malformed(range),
                    default: Fact::Malformed(range),
                    kw_only: Fact::Malformed(range),
                };
                return Param { name, role, path: Path::from(path) };
            }
            if !has("type") && (has("dtype") || has("shape")) {
                let slot = member(&name, node, path, "a mapping", "{dtype: float32, shape: \"[M]\"}");
                ParamRole::Tensor(Box::new(tensor_fields(
                    Fields::open(&schema::TENSOR_PARAM, slot, &title, findings),
                    name.clone(),
                    slot,
                    TensorRole::Construction,
                    findings,
                )))
            } else {
                value_param(&name, node, path, &title, findings)
            }
        }
        _ => value_param(&name, node, path, &title, findings),
    };
    Param { name, role, path: Path::from(path) }
}

fn value_param(name: &Ident, node: &Node, path: &str, title: &str, findings: &mut Findings) -> ParamRole {
    let slot = member(name, node, path, "a mapping", "{type: int}");
    let Some(fields) = Fields::open(&schema::VALUE_PARAM, slot, title, findings) else {
        let range = slot_range(slot);
        return ParamRole::Value {
            ty: Fact::Malformed(range),
            default: Fact::Malformed(range),
            kw_only: Fact::Malformed(range),
        };
    };
    ParamRole::Value {
        ty: fields.fact("type", findings, |slot, findings| {
            Some(TypeRef { ty: type_expr(slot, findings)?, path: Path::from(slot.path) })
        }),
        default: fields
            .fact("default", findings, |slot, _| (!fields::is_reported(slot.node)).then(|| slot.node.clone())),
        kw_only: fields.fact("kw_only", findings, fields::boolean),
    }
}

/// A `dtype`. A union of dtypes is what an index ranges over.
fn dtype_formula(slot: Slot<'_>, findings: &mut Findings) -> Option<Formula> {
    let before = findings.defects.len();
    let formula = fields::formula(slot, findings);
    let union = findings.defects.iter_mut().skip(before).find(|d| *d.code == codes::REFUSED_FORM && &*d.subject == "|");
    if let (Some(defect), Some(text)) = (union, slot.node.as_str())
        && text.split('|').all(|name| DType::from_name(name.trim()).is_some())
    {
        let text = text.trim();
        defect.help(format!("declare an index, `T: \"DType[{text}]\"` in `forall`, and write `dtype: T`"));
    }
    formula
}

fn slot_range(slot: Slot<'_>) -> TextRange {
    if slot.node.range.is_empty() { slot.key } else { slot.node.range }
}

fn tensors(slot: Slot<'_>, role: TensorRole, findings: &mut Findings) -> Option<Vec<Tensor>> {
    let (section, title): (&'static Section, &str) = match role {
        TensorRole::Output => (&schema::OUTPUT, "output"),
        TensorRole::Input | TensorRole::Construction => (&schema::INPUT, "input"),
    };
    let pairs = fields::mapping(slot, true, findings)?;
    Some(fields::named(pairs, slot.path, findings, |name, node, path, findings| {
        let slot = member(&name, node, path, "a mapping", "{dtype: float32, shape: \"[M]\"}");
        let title = format!("{title} `{}`", fields::shown(&name.value));
        let fields = Fields::open(section, slot, &title, findings);
        tensor_fields(fields, name, slot, role, findings)
    }))
}

fn tensor_fields(
    fields: Option<Fields<'_>>,
    name: Ident,
    slot: Slot<'_>,
    role: TensorRole,
    findings: &mut Findings,
) -> Tensor {
    let path = Path::from(slot.path);
    let Some(fields) = fields else {
        let range = slot_range(slot);
        return Tensor {
            name,
            role,
            dtype: Fact::Malformed(range),
            shape: Fact::Malformed(range),
            optional: Fact::Malformed(range),
            mutated: Fact::Malformed(range),
            write_only: Fact::Malformed(range),
            values: Fact::Malformed(range),
            requires: Fact::Malformed(range),
            contiguous: Fact::Malformed(range),
            device: Fact::Malformed(range),
            buffer: Fact::Malformed(range),
            alias: Fact::Malformed(range),
            path,
        };
    };
    let optional = if role == TensorRole::Output { "nullable" } else { "optional" };
    Tensor {
        name,
        role,
        dtype: fields.fact("dtype", findings, dtype_formula),
        shape: fields.fact("shape", findings, fields::shape),
        optional: fields.fact(optional, findings, fields::condition),
        mutated: fields.fact("mutated", findings, fields::condition),
        write_only: fields.fact("write_only", findings, fields::boolean),
        values: fields.fact("values", findings, |slot, findings| fields::call(slot, "a generator", findings)),
        requires: fields.fact("requires", findings, |slot, findings| {
            let expects = "a call of a predicate in a string";
            fields::items(slot, true, expects, "\"in_range(0, N)\"", findings, |_, item, findings| {
                fields::call(item, "a predicate", findings)
            })
        }),
        contiguous: fields.fact("contiguous", findings, fields::boolean),
        device: fields.fact("device", findings, |slot, findings| {
            fields::choice(slot, fields.choices("device"), findings).map(|(_, word)| word)
        }),
        buffer: fields.fact("buffer", findings, |slot, findings| {
            fields::choice(slot, fields.choices("buffer"), findings).map(|_| Effect::Out)
        }),
        alias: fields.fact("alias", findings, fields::name),
        path,
    }
}

fn binding(name: Ident, node: &Node, path: &str, findings: &mut Findings) -> Let {
    let slot = member(&name, node, path, "an expression in a string", "\"ceil_div(M, 128)\"");
    let value = fields::formula(slot, findings);
    Let { value: fact(slot, value), path: Path::from(path), name }
}

/// Index, parameter, tensor and `let` names are distinct, and none is `out`. A repeat within one section is a duplicate
/// key, which the YAML reader reports.
fn distinct_names(signature: &Signature, findings: &mut Findings) {
    let indices = signature.forall.items().iter().map(|index| ("an index", &index.name, &index.path));
    let params = signature.params.items().iter().map(|param| ("a parameter", &param.name, &param.path));
    let inputs = signature.inputs.items().iter().map(|tensor| ("an input", &tensor.name, &tensor.path));
    let outputs = signature.outputs.items().iter().map(|tensor| ("an output", &tensor.name, &tensor.path));
    let lets = signature.lets.items().iter().map(|binding| ("a `let`", &binding.name, &binding.path));

    let sections = [
        ("signature.forall", signature.forall.is_malformed(), signature.forall.range()),
        ("signature.params", signature.params.is_malformed(), signature.params.range()),
        ("signature.inputs", signature.inputs.is_malformed(), signature.inputs.range()),
        ("signature.outputs", signature.outputs.is_malformed(), signature.outputs.range()),
        ("signature.let", signature.lets.is_malformed(), signature.lets.range()),
    ];
    for (path, _, range) in sections.into_iter().filter(|(_, malformed, _)| *malformed) {
        findings.unreached(range, path, "whether the names of the signature are distinct", path);
    }

    let mut seen: FxHashMap<&str, (&str, TextRange)> = FxHashMap::default();
    for (what, name, path) in indices.chain(params).chain(inputs).chain(outputs).chain(lets) {
        let text = &*name.value;
        if text == "out" {
            findings
                .report(&codes::INVALID_NAME, name.range, &**path, text, format!("{what} cannot be called `out`"))
                .help(
                    "`out` is the buffer that a caller may pass for an output with `buffer: out`; choose another name",
                );
        }
        if text == "inf" {
            findings
                .report(&codes::INVALID_NAME, name.range, &**path, text, format!("{what} cannot be called `inf`"))
                .help("`inf` is infinity in every expression; choose another name");
        }
        match seen.get(text) {
            Some((earlier, range)) => {
                findings
                    .report(
                        &codes::DUPLICATE_NAME,
                        name.range,
                        &**path,
                        text,
                        format!(
                            "{what} cannot be called `{0}`: {earlier} is called `{0}` already",
                            fields::shown(text)
                        ),
                    )
                    .help("the names of indices, parameters, tensors and lets of an entry are distinct")
                    .related(*range, format!("`{}` is first declared here", fields::shown(text)));
            }
            None => {
                seen.insert(text, (what, name.range));
            }
        }
    }
}
