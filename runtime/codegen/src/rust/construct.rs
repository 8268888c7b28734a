//! The struct of an op, and `new`: the parameters, their defaults and their checks.

use std::collections::BTreeSet;

use tileops_analyzer::analysis::EntryAnalysis;
use tileops_analyzer::check::{SymbolRole, value_of_node};
use tileops_analyzer::lang::{Kind, Value};
use tileops_analyzer::model::{Fact, ParamRole};

use super::check::{holds, list};
use super::expr::{Before, Place, Printer, chain, dtype_path};
use super::names::Names;
use super::stmt::{Stmt, call, read_by, string};
use crate::layout::Doc;
use crate::shared::{is_foreign, restrictions};

/// The type of the field that holds a parameter.
pub(super) fn field_type(kind: &Kind) -> String {
    match kind {
        Kind::Dim | Kind::Int => "i128".to_owned(),
        Kind::Bool => "bool".to_owned(),
        Kind::Float => "f64".to_owned(),
        Kind::Str | Kind::Enum(_) => "Arc<str>".to_owned(),
        Kind::DType(_) => "DType".to_owned(),
        Kind::Shape => "Vec<i128>".to_owned(),
        Kind::Seq(item, _) if matches!(**item, Kind::Int | Kind::Dim) => "Vec<i128>".to_owned(),
        Kind::Adt(..) => "Arc<Variant>".to_owned(),
        Kind::Maybe(inner) => match field_type(inner).as_str() {
            "Value" => "Value".to_owned(),
            inner => format!("Option<{inner}>"),
        },
        Kind::Seq(..) | Kind::Union(_) | Kind::None | Kind::Tensor | Kind::Opaque(_) | Kind::Error => {
            "Value".to_owned()
        }
    }
}

/// Whether the field's value is copied where it is read.
pub(super) fn is_copy(kind: &Kind) -> bool {
    let ty = field_type(kind);
    let inner = ty.strip_prefix("Option<").and_then(|ty| ty.strip_suffix('>')).unwrap_or(&ty);
    matches!(inner, "i128" | "bool" | "f64" | "DType")
}

/// The locals for the parameters that the statements read.
pub(super) fn locals(analysis: &EntryAnalysis, names: &Names, body: &[Stmt]) -> Vec<Stmt> {
    let read: BTreeSet<String> = read_by(body);
    let mut statements = Vec::new();
    if read.contains("op") {
        statements.push(Stmt::bind("op", Doc::text("Self::ENTRY")));
    }
    for symbol in analysis.scope.iter().filter(|symbol| symbol.role == SymbolRole::Param) {
        let own = names.get(&symbol.name);
        // `self.name` alone is no read of the local.
        if !reads_local(body, &own) {
            continue;
        }
        let ty = field_type(&symbol.kind);
        let value = match ty.as_str() {
            _ if is_copy(&symbol.kind) => format!("self.{own}"),
            "Arc<str>" | "Arc<Variant>" => format!("&*self.{own}"),
            ty if ty.starts_with("Option<") => format!("self.{own}.as_deref()"),
            _ => format!("&self.{own}"),
        };
        statements.push(Stmt::bind(&own, Doc::text(value)));
    }
    statements
}

/// Whether the statements read the local of that name, which a field of `self` is not.
fn reads_local(body: &[Stmt], own: &str) -> bool {
    let mut text = String::new();
    super::stmt::write_statements(&mut text, body, 0);
    let field = format!("self.{own}");
    let mut statements = Vec::new();
    for line in text.lines() {
        statements.push(Stmt::line(strip_fields(line, &field)));
    }
    read_by(&statements).contains(own)
}

/// `line` without the reads of the field.
fn strip_fields(line: &str, field: &str) -> String {
    let mut out = String::new();
    let mut rest = line;
    while let Some(at) = rest.find(field) {
        let behind = rest.get(at + field.len()..).unwrap_or_default();
        out.push_str(rest.get(..at).unwrap_or_default());
        if behind.starts_with(|c: char| c.is_alphanumeric() || c == '_') {
            out.push_str(field);
        }
        rest = behind;
    }
    out.push_str(rest);
    out
}

/// The fields of the struct, and the statements of `new`.
pub(super) struct Construction {
    pub(super) fields: Vec<(String, String)>,
    pub(super) new: Vec<Stmt>,
    /// What the parameters satisfy together; it reads the locals of `self`.
    pub(super) domain: Vec<Stmt>,
    /// The tensors that the op keeps: their names in the entry and in Rust.
    pub(super) tensors: Vec<(String, String)>,
}

pub(super) fn construction(analysis: &EntryAnalysis, names: &Names) -> Result<Construction, String> {
    let Some(signature) = analysis.entry.signature.valid() else { return Err("it has no signature".to_owned()) };
    let mut made = Construction { fields: Vec::new(), new: Vec::new(), domain: Vec::new(), tensors: Vec::new() };
    let known = signature.params.items().iter().map(|param| Doc::text(string(&param.name.value))).collect();
    let known = Doc::Cat(vec![Doc::text("&"), call("[", known, "]")]);
    let given = call("op.construction(", vec![Doc::text("params"), known], ")?");
    let mut reads = Vec::new();
    for param in signature.params.items() {
        let name = &*param.name.value;
        let own = names.get(name);
        let path = string(&format!("signature.params.{name}"));
        match &param.role {
            ParamRole::Tensor(_) => {
                made.fields.push((own.clone(), "Option<Tensor>".to_owned()));
                made.tensors.push((name.to_owned(), own.clone()));
                reads.push(Stmt::bind(&own, Doc::text(format!("given.tensor({path})"))));
            }
            ParamRole::Value { default, .. } => {
                let kind = analysis.scope.get(name).map_or(&Kind::Error, |symbol| &symbol.kind);
                made.fields.push((own.clone(), field_type(kind)));
                let accepts = accepts(kind)?;
                let due = Doc::text(string(&described(kind)));
                let value = match default {
                    Fact::Valid(node, _) => {
                        let read =
                            value_of_node(node, kind).map_err(|_| format!("the default of `{name}` has no value"))?;
                        let default = Doc::text(literal(&read)?);
                        call("given.or(", vec![Doc::text(path), default, accepts, due], ")?")
                    }
                    _ => call("given.required(", vec![Doc::text(path), accepts, due], ")?"),
                };
                reads.push(Stmt::bind(&own, value));
                invariants(analysis, names, name, kind, &mut made.domain)?;
            }
        }
    }
    match reads.is_empty() {
        true => made.new.push(Stmt::line("Self::ENTRY.construction(params, &[])?;")),
        false => {
            made.new.push(Stmt::bind("op", Doc::text("Self::ENTRY")));
            made.new.push(Stmt::bind("given", given));
            made.new.extend(reads);
        }
    }
    let before = Before::default();
    let printer =
        Printer { scope: &analysis.scope, names, place: Place::Check, narrowed: &[], fields: None, before: &before };
    for rule in restrictions(analysis).into_iter().filter(|rule| rule.params_only) {
        made.domain.extend(holds(&rule.path, rule.expr, rule.expr, &printer)?);
    }
    let mut domain = locals(analysis, names, &made.domain);
    domain.append(&mut made.domain);
    made.domain = domain;
    Ok(made)
}

/// What every value of the parameter's ADT satisfies, by its constructor.
fn invariants(
    analysis: &EntryAnalysis,
    names: &Names,
    name: &str,
    kind: &Kind,
    body: &mut Vec<Stmt>,
) -> Result<(), String> {
    let (base, maybe) = match kind {
        Kind::Maybe(inner) => (&**inner, true),
        kind => (kind, false),
    };
    let Kind::Adt(adt, _) = base else { return Ok(()) };
    let own = names.get(name);
    for constructor in &adt.constructors {
        let Some(invariant) = &constructor.invariant else { continue };
        let before = Before::default();
        let printer = Printer {
            scope: &analysis.scope,
            names,
            place: Place::Check,
            narrowed: &[],
            fields: Some((name, constructor)),
            before: &before,
        };
        let check = holds(&format!("signature.params.{name}"), invariant, invariant, &printer)?;
        let is = format!("{own}.kind() == {}", string(&constructor.name));
        let inner = Stmt::If(vec![(Some(Doc::text(is)), check)], None);
        body.push(match maybe {
            true => Stmt::If(vec![(Some(Doc::text(format!("let Some({own}) = {own}"))), vec![inner])], None),
            false => inner,
        });
    }
    Ok(())
}

fn described(kind: &Kind) -> String {
    match kind {
        Kind::Maybe(inner) => format!("{} or None", described(inner)),
        other => other.to_string(),
    }
}

/// A value as what `Value` is made of.
fn literal(value: &Value) -> Result<String, String> {
    Ok(match value {
        Value::Int(value) if i32::try_from(*value).is_ok() => value.to_string(),
        Value::Int(value) => format!("{value}_i128"),
        Value::Bool(value) => value.to_string(),
        Value::Float(value) if value.is_infinite() => {
            if *value < 0.0 { "f64::NEG_INFINITY" } else { "f64::INFINITY" }.to_owned()
        }
        Value::Float(value) => format!("{value:?}"),
        Value::None => "Value::None".to_owned(),
        Value::Str(text) | Value::Opaque(text) => string(text),
        Value::DType(dtype) => dtype_path(*dtype),
        Value::Seq(items) if items.is_empty() => "Vec::<Value>::new()".to_owned(),
        Value::Seq(items) if items.iter().all(|item| matches!(item, Value::Int(_))) => {
            let texts: Vec<String> = items.iter().map(literal).collect::<Result<_, _>>()?;
            format!("[{}]", texts.join(", "))
        }
        Value::Seq(items) => {
            let item = |item: &Value| match item {
                Value::None => Ok("Value::None".to_owned()),
                item => literal(item).map(|text| format!("Value::from({text})")),
            };
            let texts: Vec<String> = items.iter().map(item).collect::<Result<_, String>>()?;
            format!("[{}]", texts.join(", "))
        }
        Value::Adt(adt) => {
            let field = |(name, value): &(std::sync::Arc<str>, Value)| match value {
                Value::None => Ok(format!("({}, Value::None)", string(name))),
                value => Ok(format!("({}, Value::from({}))", string(name), literal(value)?)),
            };
            let fields: Vec<String> = adt.fields.iter().map(field).collect::<Result<_, String>>()?;
            match fields.is_empty() {
                true => format!("Variant::bare({})", string(&adt.constructor)),
                false => format!("Variant::new({}, [{}])", string(&adt.constructor), fields.join(", ")),
            }
        }
    })
}

/// What accepts the values of a kind, as a function of `&Value`.
fn accepts(kind: &Kind) -> Result<Doc, String> {
    if let Some(path) = predicate_path(kind) {
        return Ok(Doc::text(path));
    }
    if let Kind::Maybe(inner) = kind
        && is_foreign(inner)
    {
        return Ok(Doc::text("|_| true"));
    }
    let mut tests = tests(kind)?;
    let body = match tests.len() {
        1 => tests.remove(0),
        _ => chain("||", tests),
    };
    Ok(Doc::Group(vec![
        Doc::text("|v| "),
        Doc::IfBroken("{"),
        Doc::Indent(vec![Doc::Line, body]),
        Doc::Line,
        Doc::IfBroken("}"),
    ]))
}

fn predicate_path(kind: &Kind) -> Option<&'static str> {
    match kind {
        Kind::Dim => Some("Value::is_dim"),
        Kind::Int => Some("Value::is_int"),
        Kind::Bool => Some("Value::is_bool"),
        Kind::Float => Some("Value::is_float"),
        Kind::Str => Some("Value::is_str"),
        Kind::None => Some("Value::is_none"),
        _ => None,
    }
}

/// Tests of `v`, one of which holds of a value of the kind.
fn tests(kind: &Kind) -> Result<Vec<Doc>, String> {
    let one = |text: &str| Ok(vec![Doc::text(text)]);
    if let Some(path) = predicate_path(kind) {
        return one(&format!("v.{}()", path.trim_start_matches("Value::")));
    }
    match kind {
        Kind::Enum(literals) => {
            let literals = literals.iter().map(|literal| Doc::text(string(literal))).collect();
            Ok(vec![call("v.is_one_of(&[", literals, "])")])
        }
        Kind::DType(set) => {
            let dtypes = set.iter().map(|dtype| Doc::text(dtype_path(dtype))).collect();
            Ok(vec![call("v.is_dtype_of(&[", dtypes, "])")])
        }
        Kind::Shape => one("v.is_seq(Value::is_dim, None)"),
        Kind::Seq(item, length) => {
            let length = length.map_or("None".to_owned(), |length| format!("Some({length})"));
            let mut docs = vec![Doc::text("v.is_seq(")];
            docs.push(accepts(item)?);
            docs.push(Doc::text(format!(", {length})")));
            Ok(vec![Doc::Cat(docs)])
        }
        Kind::Maybe(inner) => {
            let mut all = vec![Doc::text("v.is_none()")];
            all.extend(tests(inner)?);
            Ok(all)
        }
        Kind::Union(_) if is_foreign(kind) => one("!v.is_none()"),
        Kind::Union(members) => {
            let mut all = Vec::new();
            for member in members {
                all.extend(tests(member)?);
            }
            Ok(all)
        }
        Kind::Opaque(_) => one("!v.is_none()"),
        Kind::Adt(adt, _) => {
            let constructors = adt.constructors.iter().map(|constructor| {
                let fields = constructor.fields.iter().map(|field| {
                    Ok(Doc::Cat(vec![
                        Doc::text(format!("({}, ", string(&field.name))),
                        accepts(&field.kind)?,
                        Doc::text(")"),
                    ]))
                });
                let fields = call("[", fields.collect::<Result<Vec<Doc>, String>>()?, "]");
                let fields = Doc::Cat(vec![Doc::text("&"), fields]);
                Ok(call("(", vec![Doc::text(string(&constructor.name)), fields], ")"))
            });
            let constructors = constructors.collect::<Result<Vec<Doc>, String>>()?;
            Ok(vec![call("v.is_variant_of(&[", constructors, "])")])
        }
        _ => Err("a parameter's type is not known".to_owned()),
    }
}

/// The tensors that the op keeps, as its method gives them.
pub(super) fn kept(tensors: &[(String, String)]) -> Doc {
    let items = tensors.iter().map(|(name, own)| Doc::text(format!("({}, self.{own}.as_ref())", string(name))));
    list(items.collect())
}
