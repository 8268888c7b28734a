//! Values as a manifest writes them: defaults and rows.

use std::sync::Arc;

use super::infer::some_of;
use super::show::cut;
use crate::defect::{Findings, list, nearest_first};
use crate::eval::{Environment, EvalFailure, evaluate};
use crate::expr::{ExprKind, parse_expression};
use crate::lang::builtins::{self, Gives, Role};
use crate::lang::{Adt, AdtValue, Constructor, DType, DTypeSet, Kind, Value};
use crate::syntax::{Node, NodeKind, Pair, Scalar, ScalarValue};
use crate::text::TextRange;

/// How deep a value may nest; no kind nests deeper than a sequence of optional integers in an ADT.
const DEPTH: u32 = 16;

/// Why a node is no value of a kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ValueProblem {
    /// The characters at fault.
    pub range: TextRange,
    /// Where they stand inside the value, to be appended to its path: empty, `[1]`, `.contiguous.alignment`.
    pub inside: String,
    /// What is wrong, as one clause: "`3` is an integer, not a list".
    pub message: String,
    /// What to write instead.
    pub help: Option<String>,
}

impl ValueProblem {
    fn new(node: &Node, inside: &str, message: String) -> Self {
        ValueProblem { range: node.range, inside: inside.to_owned(), message, help: None }
    }

    fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}

type Read = Result<Value, Vec<ValueProblem>>;

/// The value that `node` states, as one of `kind`. Of a node that is none, every problem; an empty list where what is
/// wrong has been reported already (unreadable YAML, a scalar that YAML readers disagree on, an unknown kind).
pub fn value_of_node(node: &Node, kind: &Kind) -> Result<Value, Vec<ValueProblem>> {
    read(node, kind, "", 0)
}

/// The value that `node` states for a `forall` index of `kind`. A `Seq[Int]` may be written as a call of a primitive
/// over integer literals, in a string; what is wrong with its form goes to `findings`.
pub fn value_of_index(
    node: &Node,
    kind: &Kind,
    path: &str,
    findings: &mut Findings,
) -> Result<Value, Vec<ValueProblem>> {
    match (kind, node.as_scalar()) {
        (Kind::Seq(..), Some(scalar)) if scalar.value == ScalarValue::Str => {
            sequence_call(node, scalar, path, findings)
        }
        (Kind::Seq(..), Some(scalar)) if scalar.yaml12.is_none() => {
            Err(vec![ValueProblem::new(node, "", format!("{} is no list of integers", quoted(node))).help(SEQUENCES)])
        }
        _ => value_of_node(node, kind),
    }
}

const SEQUENCES: &str = "write a list, or a call such as \"repeat(512, 4)\" or \"balanced_sizes(4096, 8)\"";

struct Nothing;

impl Environment for Nothing {
    fn value(&self, _: &str) -> Option<Value> {
        None
    }

    fn present(&self, _: &str) -> Option<bool> {
        None
    }
}

fn sequence_call(node: &Node, scalar: &Scalar, path: &str, findings: &mut Findings) -> Read {
    let before = findings.defects.len();
    let expr = parse_expression(scalar, node.range, path, findings);
    if findings.defects.len() > before {
        return Err(Vec::new());
    }
    let refuse = |range: TextRange, message: String| {
        Err(vec![ValueProblem { range, inside: String::new(), message, help: Some(SEQUENCES.to_owned()) }])
    };
    let ExprKind::Call(call) = &expr.kind else {
        return refuse(expr.range, format!("`{}` is no list of integers", cut(&expr.to_string())));
    };
    let name = &call.callee.value;
    let gives_sequence =
        builtins::find(name).is_some_and(|b| matches!(b.role, Role::Primitive { gives: Gives::SeqInt, .. }));
    if !gives_sequence {
        return refuse(call.callee.range, format!("`{name}` gives no list of integers"));
    }
    if call.comprehension.is_some() {
        return refuse(expr.range, "a row's value has no comprehension".to_owned());
    }
    for argument in call.args.iter().chain(call.keywords.iter().map(|(_, value)| value)) {
        if !matches!(argument.kind, ExprKind::Int(_)) {
            let message = format!("`{}` is no integer literal", cut(&argument.to_string()));
            return refuse(argument.range, message);
        }
    }
    match evaluate(&expr, &Nothing) {
        Ok(value) => Ok(value),
        Err(error) => match error.reason {
            EvalFailure::Domain(message) => refuse(error.range, message),
            EvalFailure::Undetermined(_) | EvalFailure::Poisoned => {
                refuse(error.range, format!("`{}` has no value", cut(&expr.to_string())))
            }
        },
    }
}

fn read(node: &Node, kind: &Kind, inside: &str, depth: u32) -> Read {
    if depth > DEPTH || matches!(kind, Kind::Error) || matches!(node.kind, NodeKind::Unreadable) {
        return Err(Vec::new());
    }
    match kind {
        Kind::Maybe(inner) => {
            if is_null(node) {
                Ok(Value::None)
            } else {
                read(node, inner, inside, depth + 1)
            }
        }
        Kind::Union(members) => union(node, members, kind, inside, depth),
        Kind::Shape => items(node, &Kind::Dim, None, kind, inside, depth),
        Kind::Seq(item, length) => items(node, item, *length, kind, inside, depth),
        Kind::Adt(adt, _) => adt_value(node, adt, inside, depth),
        Kind::Opaque(name) => {
            if is_null(node) {
                return wrong(node, kind, inside);
            }
            let text = node.as_scalar().map_or_else(|| name.clone(), |scalar| scalar.text.clone());
            Ok(Value::Opaque(text))
        }
        _ => scalar(node, kind, inside),
    }
}

fn scalar(node: &Node, kind: &Kind, inside: &str) -> Read {
    let Some(scalar) = node.as_scalar() else { return wrong(node, kind, inside) };
    match (kind, &scalar.value) {
        (Kind::Int, ScalarValue::Int(value)) => Ok(Value::Int(*value)),
        (Kind::Dim, ScalarValue::Int(value)) if *value >= 0 => Ok(Value::Int(*value)),
        (Kind::Dim, ScalarValue::Int(value)) => {
            Err(vec![ValueProblem::new(node, inside, format!("{value} is negative, and a dimension is not"))])
        }
        (Kind::Bool, ScalarValue::Bool(value)) => Ok(Value::Bool(*value)),
        (Kind::Float, ScalarValue::Float(value)) if !value.is_nan() => Ok(Value::Float(*value)),
        (Kind::Float, ScalarValue::Float(_)) => {
            Err(vec![ValueProblem::new(node, inside, "NaN is no value of a parameter".to_owned())])
        }
        (Kind::Float, ScalarValue::Int(value)) => Ok(Value::Float(*value as f64)),
        (Kind::None, ScalarValue::Null) => Ok(Value::None),
        (Kind::Str, ScalarValue::Str) => Ok(Value::Str(scalar.text.clone())),
        (Kind::Enum(literals), ScalarValue::Str) => match literals.get(&scalar.text) {
            Some(literal) => Ok(Value::Str(literal.clone())),
            None => {
                let order = nearest_first(&scalar.text, literals.iter().map(|literal| &**literal));
                let message = format!("`{}` is none of its values", cut(&scalar.text));
                Err(vec![ValueProblem::new(node, inside, message).help(format!("it is {}", some_of(&order, "or")))])
            }
        },
        (Kind::DType(set), ScalarValue::Str) => match DType::from_name(&scalar.text) {
            Some(dtype) if set.contains(dtype) => Ok(Value::DType(dtype)),
            found => {
                let order = nearest_first(&scalar.text, set.iter().map(DType::name));
                let text = cut(&scalar.text);
                let message = match found {
                    Some(_) => format!("`{text}` is none of its dtypes"),
                    None => format!("`{text}` is no dtype"),
                };
                Err(vec![ValueProblem::new(node, inside, message).help(format!("it is {}", some_of(&order, "or")))])
            }
        },
        _ => wrong(node, kind, inside),
    }
}

/// The first member that takes the node. Where none does, the problems of the only member of the node's form, if there
/// is one, say more than the union's.
fn union(node: &Node, members: &[Kind], kind: &Kind, inside: &str, depth: u32) -> Read {
    // An integer stays one where an integer is due as well.
    for member in members {
        if let Ok(value) = read(node, member, inside, depth + 1) {
            return Ok(value);
        }
    }
    let alike: Vec<&Kind> = members
        .iter()
        .filter(|member| match node.kind {
            NodeKind::Sequence(_) => matches!(member, Kind::Seq(..) | Kind::Shape),
            NodeKind::Mapping(_) => matches!(member, Kind::Adt(..)),
            NodeKind::Scalar(_) => node.as_str().is_some() && matches!(member, Kind::Enum(_) | Kind::DType(_)),
            NodeKind::Unreadable => false,
        })
        .collect();
    match alike.as_slice() {
        [one] => read(node, one, inside, depth + 1),
        _ => wrong(node, kind, inside),
    }
}

fn items(node: &Node, item: &Kind, length: Option<usize>, kind: &Kind, inside: &str, depth: u32) -> Read {
    let NodeKind::Sequence(nodes) = &node.kind else { return wrong(node, kind, inside) };
    let mut values = Vec::with_capacity(nodes.len());
    let mut problems = Vec::new();
    let mut reported = false;
    for (position, node) in nodes.iter().enumerate() {
        match read(node, item, &format!("{inside}[{position}]"), depth + 1) {
            Ok(value) => values.push(value),
            Err(more) => {
                reported |= more.is_empty();
                problems.extend(more);
            }
        }
    }
    if let Some(length) = length
        && nodes.len() != length
        && problems.is_empty()
        && !reported
    {
        let plural = if nodes.len() == 1 { "" } else { "s" };
        let message = format!("it has {} item{plural}, and {length} are due", nodes.len());
        problems.push(ValueProblem::new(node, inside, message));
    }
    if problems.is_empty() && !reported { Ok(Value::Seq(values.into())) } else { Err(problems) }
}

fn adt_value(node: &Node, adt: &Arc<Adt>, inside: &str, depth: u32) -> Read {
    let form = || {
        let constructors: Vec<String> = adt.constructors.iter().map(constructor_form).collect();
        format!("write {}", list(constructors, "or"))
    };
    let NodeKind::Mapping(pairs) = &node.kind else {
        if node.as_scalar().is_some_and(|scalar| scalar.yaml12.is_some()) {
            return Err(Vec::new());
        }
        let message = format!("{} is no `{}`", quoted(node), adt.name);
        return Err(vec![ValueProblem::new(node, inside, message).help(form())]);
    };
    let [Pair { key, value }] = pairs.as_slice() else {
        let message = format!("a `{}` has one constructor, and this has {}", adt.name, pairs.len());
        return Err(vec![ValueProblem::new(node, inside, message).help(form())]);
    };
    let Some(name) = key.as_str() else {
        return Err(vec![ValueProblem::new(key, inside, format!("{} is no constructor", quoted(key))).help(form())]);
    };
    let Some(constructor) = adt.constructor(name) else {
        let order = nearest_first(name, adt.constructors.iter().map(|c| &*c.name));
        let message = format!("`{}` has no constructor `{}`", adt.name, cut(name));
        let help = format!("its constructors are {}", some_of(&order, "and"));
        return Err(vec![ValueProblem::new(key, inside, message).help(help)]);
    };
    let inside = format!("{inside}.{name}");
    let fields = fields(value, constructor, &inside, depth)?;
    let value_of = AdtValue { adt: adt.name.clone(), constructor: constructor.name.clone(), fields };
    if let Some(invariant) = &constructor.invariant {
        match evaluate(invariant, &Fields(&value_of.fields)) {
            Ok(Value::Bool(false)) => {
                let message = format!("it breaks the invariant of `{name}`: `{}`", cut(&invariant.to_string()));
                return Err(vec![ValueProblem::new(value, &inside, message)]);
            }
            Err(error) => {
                if let EvalFailure::Domain(reason) = error.reason {
                    let message = format!("the invariant of `{name}` has no value at it: {reason}");
                    return Err(vec![ValueProblem::new(value, &inside, message)]);
                }
            }
            Ok(_) => {}
        }
    }
    Ok(Value::Adt(Arc::new(value_of)))
}

fn constructor_form(constructor: &Constructor) -> String {
    let fields: Vec<String> = constructor.fields.iter().map(|field| format!("{}: …", field.name)).collect();
    format!("{{{}: {{{}}}}}", constructor.name, fields.join(", "))
}

fn fields(
    node: &Node,
    constructor: &Constructor,
    inside: &str,
    depth: u32,
) -> Result<Vec<(Arc<str>, Value)>, Vec<ValueProblem>> {
    let form = || format!("write `{}`", constructor_form(constructor));
    let pairs: &[Pair] = match &node.kind {
        NodeKind::Mapping(pairs) => pairs,
        _ if is_null(node) && constructor.fields.is_empty() => &[],
        NodeKind::Unreadable => return Err(Vec::new()),
        _ => {
            let message = format!("{} is no mapping of the fields of `{}`", quoted(node), constructor.name);
            return Err(vec![ValueProblem::new(node, inside, message).help(form())]);
        }
    };
    let mut problems = Vec::new();
    let mut reported = false;
    let mut values: Vec<Option<Value>> = vec![None; constructor.fields.len()];
    let mut given = vec![false; constructor.fields.len()];
    for Pair { key, value } in pairs {
        let position = key.as_str().and_then(|name| constructor.fields.iter().position(|f| &*f.name == name));
        let Some(position) = position else {
            let text = key.as_scalar().map_or("", |scalar| &scalar.text);
            let order = nearest_first(text, constructor.fields.iter().map(|field| &*field.name));
            let message = match key.as_str() {
                Some(name) => format!("`{}` has no field `{}`", constructor.name, cut(name)),
                None => format!("`{}` has no field {}", constructor.name, quoted(key)),
            };
            let help = if order.is_empty() {
                "it has no fields".to_owned()
            } else {
                format!("its fields are {}", some_of(&order, "and"))
            };
            problems.push(ValueProblem::new(key, inside, message).help(help));
            continue;
        };
        let field = &constructor.fields[position];
        given[position] = true;
        match read(value, &field.kind, &format!("{inside}.{}", field.name), depth + 1) {
            Ok(value) => values[position] = Some(value),
            Err(more) => {
                reported |= more.is_empty();
                problems.extend(more);
            }
        }
    }
    let missing: Vec<&str> =
        constructor.fields.iter().zip(&given).filter(|(_, given)| !**given).map(|(field, _)| &*field.name).collect();
    // A field under a wrong name is one mistake, not two.
    if !missing.is_empty() && problems.len() < missing.len() {
        let message = format!("`{}` lacks {}", constructor.name, list(&missing, "and"));
        problems.push(ValueProblem::new(node, inside, message).help(form()));
    }
    let values: Option<Vec<(Arc<str>, Value)>> =
        constructor.fields.iter().zip(values).map(|(field, value)| Some((field.name.clone(), value?))).collect();
    match values {
        Some(values) if problems.is_empty() && !reported => Ok(values),
        _ => Err(problems),
    }
}

struct Fields<'a>(&'a [(Arc<str>, Value)]);

impl Environment for Fields<'_> {
    fn value(&self, name: &str) -> Option<Value> {
        self.0.iter().find(|(field, _)| &**field == name).map(|(_, value)| value.clone())
    }

    fn present(&self, _: &str) -> Option<bool> {
        None
    }
}

fn is_null(node: &Node) -> bool {
    node.as_scalar().is_some_and(|scalar| scalar.value == ScalarValue::Null)
}

/// The problem of a node of the wrong form.
fn wrong(node: &Node, kind: &Kind, inside: &str) -> Read {
    if node.as_scalar().is_some_and(|scalar| scalar.yaml12.is_some()) {
        // YAML readers disagree on the scalar: that is its defect.
        return Err(Vec::new());
    }
    let problem = if is_null(node) {
        ValueProblem::new(node, inside, format!("null is no {}", noun(kind))).help("only a type `… | None` admits null")
    } else {
        let problem = ValueProblem::new(node, inside, format!("{} is no {}", quoted(node), noun(kind)));
        match (kind, node.as_str()) {
            (Kind::Int | Kind::Dim | Kind::Float | Kind::Bool, Some(text)) if text.parse::<f64>().is_ok() => {
                problem.help("write it without quotes")
            }
            (Kind::Bool, Some("True" | "False" | "true" | "false")) => problem.help("write it without quotes"),
            _ => problem,
        }
    };
    Err(vec![problem])
}

/// What a message calls a value of the kind, after "no".
fn noun(kind: &Kind) -> String {
    match kind {
        Kind::Dim => "dimension (an integer, zero or more)".into(),
        Kind::Int => "integer".into(),
        Kind::Bool => "Boolean".into(),
        Kind::Float => "number".into(),
        Kind::Str => "string".into(),
        Kind::Shape => "list of dimensions".into(),
        Kind::Enum(literals) => {
            let literals: Vec<&str> = literals.iter().map(|literal| &**literal).collect();
            format!("string out of {}", some_of(&literals, "and"))
        }
        Kind::DType(set) if *set == DTypeSet::ALL => "dtype".into(),
        Kind::Seq(item, _) if matches!(**item, Kind::Int) => "list of integers".into(),
        Kind::Seq(..) => format!("list (`{kind}`)"),
        other => format!("value of `{other}`"),
    }
}

fn quoted(node: &Node) -> String {
    match (&node.kind, node.as_scalar()) {
        (_, Some(scalar)) if scalar.value == ScalarValue::Null => "null".into(),
        (_, Some(scalar)) if scalar.value == ScalarValue::Str => format!("the string `{}`", cut(&scalar.text)),
        (_, Some(scalar)) => format!("`{}`", cut(&scalar.text)),
        _ => node.describe().into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lang::Field;
    use crate::syntax::parse_entry;

    fn node(text: &str) -> Node {
        parse_entry(&format!("k: {text}\n")).value
    }

    fn messages(text: &str, kind: &Kind) -> Vec<String> {
        match value_of_node(&node(text), kind) {
            Ok(value) => panic!("{text} is {value:?}"),
            Err(problems) => {
                problems.into_iter().map(|problem| format!("{}{}", problem.inside, problem.message)).collect()
            }
        }
    }

    fn ints(length: Option<usize>) -> Kind {
        Kind::Seq(Box::new(Kind::Int), length)
    }

    fn layout() -> Kind {
        let field = |name: &str, kind| Field { name: name.into(), kind };
        let constructor = |name: &str, fields| Constructor { name: name.into(), python: None, fields, invariant: None };
        let adt = Adt {
            name: "Layout".into(),
            constructors: vec![
                constructor("dense", vec![]),
                constructor("blocked", vec![field("block", Kind::Dim), field("swizzle", Kind::Bool)]),
            ],
        };
        super::super::types::whole(&Arc::new(adt))
    }

    #[test]
    fn scalars_of_every_kind() {
        let value = |text: &str, kind: &Kind| value_of_node(&node(text), kind).expect(text);
        assert_eq!(value("-3", &Kind::Int), Value::Int(-3));
        assert_eq!(value("3", &Kind::Float), Value::Float(3.0));
        assert_eq!(value("0.5", &Kind::Float), Value::Float(0.5));
        assert_eq!(value("true", &Kind::Bool), Value::Bool(true));
        assert_eq!(value("null", &Kind::Maybe(Box::new(Kind::Int))), Value::None);
        assert_eq!(value("7", &Kind::Maybe(Box::new(Kind::Int))), Value::Int(7));
        assert_eq!(value("float16", &Kind::DType(DTypeSet::ALL)), Value::DType(DType::Float16));
        assert_eq!(value("a", &Kind::Enum([Arc::from("a")].into())), Value::Str("a".into()));
        assert_eq!(value("2", &Kind::Union(vec![Kind::Int, Kind::Float])), Value::Int(2));
        assert_eq!(value("2.5", &Kind::Union(vec![Kind::Int, Kind::Float])), Value::Float(2.5));
        assert_eq!(value("[1, 2]", &ints(Some(2))), Value::ints([1, 2]));
        assert_eq!(value("[1, 2]", &Kind::Union(vec![Kind::Int, ints(None)])), Value::ints([1, 2]));
        assert_eq!(value("{a: 1}", &Kind::Opaque("dict".into())), Value::Opaque("dict".into()));
    }

    #[test]
    fn every_problem_is_said_at_its_place() {
        assert_eq!(messages("-1", &Kind::Dim), ["-1 is negative, and a dimension is not"]);
        assert_eq!(messages("[1, -2, x]", &Kind::Shape).len(), 2);
        assert_eq!(messages("[1, 2.5]", &ints(None)), ["[1]`2.5` is no integer"]);
        assert_eq!(messages("[1]", &ints(Some(2))), ["it has 1 item, and 2 are due"]);
        assert_eq!(messages("[[1]]", &Kind::Union(vec![Kind::Int, ints(None)])), ["[0]a list is no integer"]);
        assert_eq!(messages(".nan", &Kind::Float), ["NaN is no value of a parameter"]);
        assert_eq!(messages("null", &Kind::Int), ["null is no integer"]);
        assert_eq!(messages("{1: 2}", &Kind::Int), ["a mapping is no integer"]);
    }

    #[test]
    fn values_of_an_adt_have_one_constructor_and_its_fields_exactly() {
        let layout = layout();
        for good in ["{dense: {}}", "{dense: null}", "{blocked: {swizzle: true, block: 2}}"] {
            assert!(value_of_node(&node(good), &layout).is_ok(), "{good}");
        }
        assert_eq!(messages("{blocked: {block: 2}}", &layout), [".blocked`blocked` lacks `swizzle`"]);
        assert_eq!(messages("{blocked: {block: -2, swizzle: 1}}", &layout).len(), 2);
        assert_eq!(messages("{blocked: {blok: 2, swizzle: true}}", &layout), [".blocked`blocked` has no field `blok`"]);
        assert_eq!(messages("{dense: {}, blocked: {}}", &layout), ["a `Layout` has one constructor, and this has 2"]);
        assert_eq!(messages("{}", &layout), ["a `Layout` has one constructor, and this has 0"]);
        assert_eq!(messages("dense", &layout), ["the string `dense` is no `Layout`"]);
    }

    #[test]
    fn what_has_been_reported_gives_no_problem() {
        assert!(messages("1_000", &Kind::Str).is_empty());
        assert!(messages("1", &Kind::Error).is_empty());
    }

    #[test]
    fn a_value_list_is_a_list_or_a_call() {
        let index = |text: &str| {
            let mut findings = Findings::default();
            let read = value_of_index(&node(text), &ints(None), "workloads[0].L", &mut findings);
            (read.map_err(|problems| problems.len()), findings.defects.len())
        };
        assert_eq!(index("[1, 2]"), (Ok(Value::ints([1, 2])), 0));
        assert_eq!(index("\"repeat(4, 3)\""), (Ok(Value::ints([4, 4, 4])), 0));
        assert_eq!(index("\"balanced_sizes(5, 2)\""), (Ok(Value::ints([3, 2])), 0));
        for bad in ["\"repeat(M, 3)\"", "\"repeat(4)\"", "\"prod((1, 2))\"", "\"4\"", "4", "\"repeat(4, -1)\""] {
            assert_eq!(index(bad), (Err(1), 0), "{bad}");
        }
        assert_eq!(index("\"repeat(4,\"").0, Err(0));
    }
}
