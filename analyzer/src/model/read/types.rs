//! `types.yaml`: the algebraic data types that entries share.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::fields::{self, Fields, Slot};
use super::signature::{member, type_expr};
use crate::defect::{Findings, codes, list, nearest, nearest_first};
use crate::expr::{Expr, ExprKind, Ident, TypeExpr, TypeExprKind};
use crate::lang::{Adt, AdtTable, Constructor, DType, Field, Kind};
use crate::model::Fact;
use crate::model::schema::{self, FIELD_KINDS};
use crate::syntax::{Chunk, EntryTree, Node, NodeKind};
use crate::text::{TextRange, TextSize};

/// What one top-level key of a types file says. All ranges are relative to its chunk.
#[derive(Debug, Clone, PartialEq)]
pub struct TypesFile {
    /// The types that could be read, in the order declared; `complete` where all could.
    pub table: AdtTable,
    /// Where each type's name stands.
    pub names: Vec<Ident>,
}

/// Reads one top-level key of a types file: `adts`, or a key that such a file does not know. Every defect of its form goes
/// to `findings`; those of its YAML are the tree's own.
pub fn read_types(chunk: &Chunk, tree: &EntryTree, findings: &mut Findings) -> TypesFile {
    let unread = |complete| TypesFile { table: AdtTable::new(Vec::new(), complete), names: Vec::new() };
    let Some(key) = fields::string(&tree.key) else { return unread(false) };
    let known = schema::TYPES_FILE.names();
    if schema::TYPES_FILE.key(&key.value).is_none() {
        let shown = fields::shown(chunk.key.as_deref().unwrap_or(&key.value));
        findings
            .report(
                &codes::UNKNOWN_KEY,
                key.range,
                &*key.value,
                &*key.value,
                format!("{} has no key `{shown}`", schema::TYPES_FILE.noun),
            )
            .help(format!("its only key is {}", list(known, "and")))
            .meant(nearest(&key.value, schema::TYPES_FILE.names()));
        return unread(true);
    }
    let mut names = Vec::new();
    let slot = member(&key, &tree.value, "adts", "a mapping of type names to types", "{Layout: {sum: {…}}}");
    let Some(pairs) = fields::mapping(slot, true, findings) else { return unread(false) };
    let read = fields::named(pairs, "adts", findings, |name, node, path, findings| {
        names.push(name.clone());
        adt(name, node, path, findings)
    });
    let complete = read.iter().all(Option::is_some) && tree.findings.defects.is_empty();
    TypesFile { table: AdtTable::new(read.into_iter().flatten().map(Arc::new).collect(), complete), names }
}

/// Names that a `type` or a kind gives a meaning of its own.
pub const TYPE_NAMES: [&str; 21] = [
    "Bool", "DType", "Dim", "Float", "Int", "None", "Number", "Seq", "Shape", "Str", "Tensor", "bool", "complex",
    "dict", "float", "int", "list", "object", "set", "str", "tuple",
];

/// Whether a type has a meaning that no ADT gives it: a built-in, a dtype, a dotted name.
pub(crate) fn is_builtin_type(name: &str) -> bool {
    TYPE_NAMES.contains(&name) || name.contains('.') || DType::from_name(name).is_some()
}

/// An ADT. `None` where a constructor, a field or its own form could not be read: nothing is then judged by it.
fn adt(name: Ident, node: &Node, path: &str, findings: &mut Findings) -> Option<Adt> {
    if is_builtin_type(&name.value) {
        findings
            .report(
                &codes::INVALID_NAME,
                name.range,
                path,
                &*name.value,
                format!("a type cannot be called `{}`", name.value),
            )
            .help("that name has a meaning in the language already; choose another");
    }
    let slot = member(&name, node, path, "a mapping", "{sum: {dense: {}, masked: {fields: {max_m: Dim}}}}");
    let title = format!("type `{}`", fields::shown(&name.value));
    let fields = Fields::open(&schema::ADT, slot, &title, findings)?;
    let constructors = fields.fact("sum", findings, |slot, findings| {
        let pairs = fields::mapping(slot, false, findings)?;
        fields::named(pairs, slot.path, findings, constructor).into_iter().collect::<Option<Vec<_>>>()
    });
    match constructors {
        Fact::Valid(mut constructors, _) => {
            // Relative to the type's own name, so that moving the type changes nothing that depends on it.
            for invariant in constructors.iter_mut().filter_map(|constructor| constructor.invariant.as_mut()) {
                move_up(invariant, name.range.start());
            }
            Some(Adt { name: name.value, constructors })
        }
        Fact::Absent(_) | Fact::Malformed(_) => None,
    }
}

fn constructor(name: Ident, node: &Node, path: &str, findings: &mut Findings) -> Option<Constructor> {
    let slot = member(&name, node, path, "a mapping", "{fields: {max_m: Dim}}");
    let title = format!("constructor `{}`", fields::shown(&name.value));
    let section = Fields::open(&schema::CONSTRUCTOR, slot, &title, findings)?;
    let python = section.fact("python", findings, fields::qualified_name);
    let fields = section.fact("fields", findings, |slot, findings| {
        let pairs = fields::mapping(slot, true, findings)?;
        fields::named(pairs, slot.path, findings, field).into_iter().collect::<Option<Vec<Field>>>()
    });
    let invariant = section.fact("invariant", findings, fields::formula);
    let members = match &fields {
        Fact::Valid(members, _) => members.clone(),
        Fact::Absent(_) => Vec::new(),
        Fact::Malformed(_) => return None,
    };
    Some(Constructor {
        name: name.value,
        python: python.valid().map(|name| name.value.clone()),
        fields: members,
        invariant: invariant.valid().map(|formula| formula.expr.clone()),
    })
}

fn field(name: Ident, node: &Node, path: &str, findings: &mut Findings) -> Option<Field> {
    if &*name.value == "kind" {
        findings
            .report(&codes::INVALID_NAME, name.range, path, "kind", "a field cannot be called `kind`")
            .help("`.kind` reads which constructor a value has; choose another name");
    }
    let kind = if let NodeKind::Mapping(_) = &node.kind {
        let slot = member(&name, node, path, "a kind or a mapping", "Dim");
        let title = format!("field `{}`", fields::shown(&name.value));
        let section = Fields::open(&schema::FIELD, slot, &title, findings)?;
        section.fact("python", findings, fields::qualified_name);
        let kind = section.fact("type", findings, field_kind);
        match kind {
            Fact::Valid(kind, _) => kind,
            Fact::Absent(_) | Fact::Malformed(_) => return None,
        }
    } else {
        field_kind(member(&name, node, path, "a kind or a mapping", "Dim"), findings)?
    };
    Some(Field { name: name.value, kind })
}

fn field_kind(slot: Slot<'_>, findings: &mut Findings) -> Option<Kind> {
    let ty = type_expr(slot, findings)?;
    match &ty.kind {
        TypeExprKind::Name(name) => match &**name {
            "Dim" => return Some(Kind::Dim),
            "Int" => return Some(Kind::Int),
            "Bool" => return Some(Kind::Bool),
            _ => {}
        },
        TypeExprKind::Literal(literal) => return Some(Kind::Enum(BTreeSet::from([literal.clone()]))),
        TypeExprKind::Union(members) => {
            let literals = members.iter().map(|member| match &member.kind {
                TypeExprKind::Literal(literal) => Some(literal.clone()),
                _ => None,
            });
            if let Some(literals) = literals.collect::<Option<BTreeSet<_>>>() {
                repeated_literals(members, slot.path, findings);
                return Some(Kind::Enum(literals));
            }
        }
        TypeExprKind::Apply(..) | TypeExprKind::Ellipsis => {}
        TypeExprKind::Error => return None,
    }
    if !has_error(&ty) {
        let shown = ty.to_string();
        let kinds = list(nearest_first(&shown, FIELD_KINDS), "and");
        let near = nearest(&shown, FIELD_KINDS).map(|near| format!("did you mean `{near}`? ")).unwrap_or_default();
        findings
            .report(
                &codes::UNKNOWN_KIND,
                ty.range,
                slot.path,
                &*shown,
                format!("a field cannot be of kind `{}`", fields::shown(&shown)),
            )
            .help(format!("{near}The kinds are {kinds}, and unions of quoted literals"))
            .meant(nearest(&shown, FIELD_KINDS));
    }
    None
}

fn has_error(ty: &TypeExpr) -> bool {
    let mut stack = vec![ty];
    while let Some(ty) = stack.pop() {
        match &ty.kind {
            TypeExprKind::Error => return true,
            TypeExprKind::Apply(_, members) | TypeExprKind::Union(members) => stack.extend(members),
            TypeExprKind::Name(_) | TypeExprKind::Literal(_) | TypeExprKind::Ellipsis => {}
        }
    }
    false
}

fn repeated_literals(members: &[TypeExpr], path: &str, findings: &mut Findings) {
    let mut seen: Vec<(&str, TextRange)> = Vec::new();
    for member in members {
        let TypeExprKind::Literal(literal) = &member.kind else { continue };
        match seen.iter().find(|(earlier, _)| *earlier == &**literal) {
            Some((_, first)) => {
                findings
                    .report(
                        &codes::DUPLICATE_NAME,
                        member.range,
                        path,
                        &**literal,
                        format!("`'{literal}'` is listed twice"),
                    )
                    .help("drop the repeat")
                    .related(*first, format!("`'{literal}'` is first listed here"));
            }
            None => seen.push((literal, member.range)),
        }
    }
}

/// Takes `by` from every range of an expression. The recursion is as deep as the parser lets expressions be.
fn move_up(expr: &mut Expr, by: TextSize) {
    let up = |range: &mut TextRange| *range = range.checked_sub(by).unwrap_or(*range);
    up(&mut expr.range);
    match &mut expr.kind {
        ExprKind::Int(_)
        | ExprKind::Float(_)
        | ExprKind::Bool(_)
        | ExprKind::None
        | ExprKind::Str(_)
        | ExprKind::Name(_) => {}
        ExprKind::Tuple(items) | ExprKind::Bools(_, items) | ExprKind::Error(items) => {
            items.iter_mut().for_each(|item| move_up(item, by));
        }
        ExprKind::Unary(_, operand) => move_up(operand, by),
        ExprKind::Attribute(operand, name) => {
            move_up(operand, by);
            up(&mut name.range);
        }
        ExprKind::Binary(_, left, right) | ExprKind::Index(left, right) => {
            move_up(left, by);
            move_up(right, by);
        }
        ExprKind::Compare(first, rest) => {
            move_up(first, by);
            for (operator, operand) in rest {
                up(&mut operator.range);
                move_up(operand, by);
            }
        }
        ExprKind::If { then, condition, otherwise } => {
            for part in [then, condition, otherwise] {
                move_up(part, by);
            }
        }
        ExprKind::Call(call) => {
            up(&mut call.callee.range);
            call.args.iter_mut().for_each(|argument| move_up(argument, by));
            for (name, value) in &mut call.keywords {
                up(&mut name.range);
                move_up(value, by);
            }
            if let Some(comprehension) = &mut call.comprehension {
                up(&mut comprehension.variable.range);
                move_up(&mut comprehension.iterable, by);
            }
        }
        ExprKind::Slice(base, from, to) => {
            move_up(base, by);
            for bound in [from, to].into_iter().flatten() {
                move_up(bound, by);
            }
        }
    }
}
