//! `__init__`: the parameters, their defaults and their checks.

use tileops_analyzer::analysis::EntryAnalysis;
use tileops_analyzer::check::{Scope, value_of_node};
use tileops_analyzer::lang::Kind;
use tileops_analyzer::model::{Condition, Fact, ParamRole};

use super::expr::{Place, Printer, attribute, braced, string, value};
use super::outline::{Outline, enclosed, joined};
use super::stmt::Stmt;
use super::{header, refuse};
use crate::layout::{Doc, flat};
use crate::shared::{can_fail, is_foreign, restrictions};

pub(super) fn method(analysis: &EntryAnalysis) -> Result<Vec<Stmt>, String> {
    let Some(signature) = analysis.entry.signature.valid() else { return Err("it has no signature".to_owned()) };
    let mut positional = vec![Doc::text("self")];
    let mut by_name = Vec::new();
    let mut body = Vec::new();
    let mut defaulted = false;
    for param in signature.params.items() {
        let name = &*param.name.value;
        let own = attribute(name);
        let (annotation, default, kw_only) = match &param.role {
            ParamRole::Tensor(tensor) => {
                let optional = matches!(tensor.optional, Fact::Valid(Condition::Always(true) | Condition::When(_), _));
                body.push(Stmt::line(format!("self.{own} = {own}")));
                let annotation = if optional { "TensorLike | None" } else { "TensorLike" };
                (annotation.to_owned(), optional.then(|| "None".to_owned()), false)
            }
            ParamRole::Value { default, kw_only, .. } => {
                let kind = analysis.scope.get(name).map_or(&Kind::Error, |symbol| &symbol.kind);
                let default = match default {
                    Fact::Valid(node, _) => {
                        let read =
                            value_of_node(node, kind).map_err(|_| format!("the default of `{name}` has no value"))?;
                        Some(value(&read).ok_or_else(|| format!("the default of `{name}` has no form in Python"))?)
                    }
                    _ => None,
                };
                body.extend(checks(name, kind)?);
                body.extend(invariants(&analysis.scope, name, kind));
                (annotation(kind), default, kw_only.valid().copied().unwrap_or(false))
            }
        };
        let text = match &default {
            Some(default) => format!("{own}: {annotation} = {default}"),
            None => format!("{own}: {annotation}"),
        };
        // Python wants what has no default first; what comes behind a default is passed by name.
        if kw_only || (defaulted && default.is_none()) {
            by_name.push(Doc::text(text));
        } else {
            defaulted |= default.is_some();
            positional.push(Doc::text(text));
        }
    }
    if !by_name.is_empty() {
        positional.push(Doc::text("*"));
        positional.extend(by_name);
    }
    let printer = Printer { scope: &analysis.scope, place: Place::Check, fields: None };
    for rule in restrictions(analysis).into_iter().filter(|rule| rule.params_only) {
        body.push(Stmt::when(
            printer.bare(&rule.expr.negated()),
            vec![refuse(&rule.path, &format!("`{}` does not hold", braced(&rule.expr.to_string())))],
        ));
    }
    if body.is_empty() {
        return Ok(Vec::new());
    }
    body.push(Stmt::line("self.last_call = None"));
    Ok(vec![Stmt::Block(header("__init__", positional, "None"), body)])
}

/// What every value of the parameter's ADT satisfies, by its constructor.
fn invariants(scope: &Scope, name: &str, kind: &Kind) -> Vec<Stmt> {
    let (base, maybe) = match kind {
        Kind::Maybe(inner) => (&**inner, true),
        kind => (kind, false),
    };
    let Kind::Adt(adt, _) = base else { return Vec::new() };
    let path = format!("signature.params.{name}");
    let own = format!("self.{}", attribute(name));
    let mut body = Vec::new();
    for constructor in &adt.constructors {
        let Some(invariant) = &constructor.invariant else { continue };
        let printer = Printer { scope, place: Place::Check, fields: Some((name, constructor)) };
        let message = format!("`{}` of `{}` does not hold", braced(&invariant.to_string()), constructor.name);
        let check = Stmt::when(printer.bare(&invariant.negated()), vec![refuse(&path, &message)]);
        let passed = if maybe { format!("{own} is not None and ") } else { String::new() };
        body.push(Stmt::when(
            Doc::text(format!("{passed}{own}.kind == {}", string(&constructor.name))),
            vec![super::declared(&path, check, can_fail(invariant))],
        ));
    }
    body
}

/// The checks and the normal form of one parameter.
fn checks(name: &str, kind: &Kind) -> Result<Vec<Stmt>, String> {
    let own = attribute(name);
    let path = format!("signature.params.{name}");
    let (base, maybe) = match kind {
        Kind::Maybe(inner) => (&**inner, true),
        kind => (kind, false),
    };
    let mut body = Vec::new();
    if let Kind::Adt(adt, _) = base {
        let constructors = adt
            .constructors
            .iter()
            .map(|constructor| {
                let fields = constructor
                    .fields
                    .iter()
                    .map(|field| Ok(Doc::text(format!("{}: {}", string(&field.name), lambda(&field.kind)?))))
                    .collect::<Result<Vec<Doc>, String>>()?;
                let python = string(constructor.python.as_deref().unwrap_or_default());
                Ok(Doc::Cat(vec![
                    Doc::text(format!("{}: ", string(&constructor.name))),
                    Doc::display("(", vec![Doc::text(python), Doc::display("{", fields, "}")], ")"),
                ]))
            })
            .collect::<Result<Vec<Doc>, String>>()?;
        let call = Doc::list(
            format!("self.{own} = variant("),
            vec![Doc::text(own.clone()), Doc::text(string(&adt.name)), Doc::display("{", constructors, "}")],
            ")",
        );
        let read = super::declared(&path, Stmt::Simple(call), true);
        if maybe {
            body.push(Stmt::line(format!("self.{own} = None")));
            body.push(Stmt::when(Doc::text(format!("{own} is not None")), vec![read]));
        } else {
            body.push(read);
        }
        return Ok(body);
    }
    if let Some(test) = violation(&own, kind)? {
        body.push(Stmt::when(
            test,
            vec![refuse(
                &path,
                &format!("`{}` is {{{own}!r}}, and must be {}", braced(name), braced(&described(kind))),
            )],
        ));
    }
    let normal = match base {
        Kind::DType(_) if maybe => format!("None if {own} is None else dtype_name({own})"),
        Kind::DType(_) => format!("dtype_name({own})"),
        Kind::Seq(..) | Kind::Union(_) => format!("frozen({own})"),
        _ => own.clone(),
    };
    body.push(Stmt::line(format!("self.{own} = {normal}")));
    Ok(body)
}

fn described(kind: &Kind) -> String {
    match kind {
        Kind::Maybe(inner) => format!("{} or None", described(inner)),
        other => other.to_string(),
    }
}

/// The condition under which `place` holds no value of `kind`; nothing where every value is one.
fn violation(place: &str, kind: &Kind) -> Result<Option<Doc>, String> {
    if let Kind::Enum(literals) = kind {
        let literals = tuple(literals.iter().map(|literal| string(literal)));
        return Ok(Some(Doc::Cat(vec![Doc::text(format!("{place} not in ")), literals])));
    }
    if *kind == Kind::None {
        return Ok(Some(Doc::text(format!("{place} is not None"))));
    }
    if is_foreign(kind) {
        return Ok(Some(Doc::text(format!("{place} is None"))));
    }
    let tests = predicate(place, kind)?;
    if tests.is_empty() {
        return Ok(None);
    }
    let holds = joined(tests, "or");
    let holds = if Outline::of(&holds).is_loose() { enclosed(holds) } else { holds };
    Ok(Some(Doc::Cat(vec![Doc::text("not "), holds])))
}

/// The conditions of which one holds where `place` holds a value of `kind`. None where every value is one.
fn predicate(place: &str, kind: &Kind) -> Result<Vec<Doc>, String> {
    let simple = |text: String| Ok(vec![Doc::text(text)]);
    match kind {
        Kind::Dim => simple(format!("is_dim({place})")),
        Kind::Int => simple(format!("is_int({place})")),
        Kind::Bool => simple(format!("is_bool({place})")),
        Kind::Float => simple(format!("is_float({place})")),
        Kind::Str => simple(format!("is_str({place})")),
        Kind::None => simple(format!("{place} is None")),
        Kind::Enum(literals) => {
            let literals = tuple(literals.iter().map(|literal| string(literal)));
            Ok(vec![Doc::Cat(vec![Doc::text(format!("{place} in ")), literals])])
        }
        Kind::DType(set) => {
            let set = tuple(set.iter().map(|dtype| string(dtype.name())));
            Ok(vec![Doc::list("is_dtype(", vec![Doc::text(place), set], ")")])
        }
        Kind::Shape => simple(format!("is_seq({place}, is_dim)")),
        Kind::Seq(item, length) => {
            let length = length.map(|n| format!(", {n}")).unwrap_or_default();
            let item = match &**item {
                Kind::Dim => "is_dim".to_owned(),
                Kind::Int => "is_int".to_owned(),
                Kind::Bool => "is_bool".to_owned(),
                Kind::Float => "is_float".to_owned(),
                Kind::Maybe(inner) if **inner == Kind::Int => "is_int_or_none".to_owned(),
                other => lambda(other)?,
            };
            simple(format!("is_seq({place}, {item}{length})"))
        }
        Kind::Maybe(inner) if is_foreign(inner) => Ok(Vec::new()),
        Kind::Maybe(inner) => {
            let mut tests = predicate(place, inner)?;
            tests.insert(0, Doc::text(format!("{place} is None")));
            Ok(tests)
        }
        Kind::Union(_) if is_foreign(kind) => simple(format!("{place} is not None")),
        Kind::Union(members) => {
            let tests = members.iter().map(|member| predicate(place, member));
            Ok(tests.collect::<Result<Vec<_>, _>>()?.concat())
        }
        Kind::Opaque(_) => simple(format!("{place} is not None")),
        Kind::Adt(adt, _) => Err(format!("a sequence or union of `{}` has no form in Python", adt.name)),
        Kind::Tensor | Kind::Error => Err("a parameter's type is not known".to_owned()),
    }
}

/// A function that says whether its argument is a value of `kind`.
fn lambda(kind: &Kind) -> Result<String, String> {
    let tests = predicate("v", kind)?;
    Ok(if tests.is_empty() { "lambda v: True".to_owned() } else { format!("lambda v: {}", flat(&joined(tests, "or"))) })
}

/// A tuple of literals.
fn tuple(literals: impl Iterator<Item = String>) -> Doc {
    let mut literals: Vec<Doc> = literals.map(Doc::text).collect();
    match (literals.pop(), literals.is_empty()) {
        (Some(one), true) => Doc::Cat(vec![Doc::text("("), one, Doc::text(",)")]),
        (last, _) => {
            literals.extend(last);
            Doc::display("(", literals, ")")
        }
    }
}

fn annotation(kind: &Kind) -> String {
    match kind {
        Kind::Dim | Kind::Int => "int".to_owned(),
        Kind::Bool => "bool".to_owned(),
        Kind::Float => "float".to_owned(),
        Kind::Str => "str".to_owned(),
        Kind::None => "None".to_owned(),
        Kind::Enum(literals) => {
            let texts: Vec<String> = literals.iter().map(|literal| string(literal)).collect();
            format!("Literal[{}]", texts.join(", "))
        }
        Kind::Shape => "Sequence[int]".to_owned(),
        Kind::Seq(item, _) => format!("Sequence[{}]", annotation(item)),
        Kind::Maybe(inner) => match annotation(inner).as_str() {
            "Any" => "Any".to_owned(),
            inner => format!("{inner} | None"),
        },
        Kind::Union(members) => {
            let mut texts: Vec<String> = Vec::new();
            for text in members.iter().map(annotation) {
                if !texts.contains(&text) {
                    texts.push(text);
                }
            }
            // To a checker of types every `int` is a `float`.
            if texts.iter().any(|text| text == "float") {
                texts.retain(|text| text != "int");
            }
            texts.join(" | ")
        }
        Kind::DType(_) | Kind::Adt(..) | Kind::Tensor | Kind::Opaque(_) | Kind::Error => "Any".to_owned(),
    }
}
