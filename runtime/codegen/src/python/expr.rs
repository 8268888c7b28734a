//! Expressions of the manifest as expressions of Python.

use tileops_analyzer::check::{Scope, SymbolRole};
use tileops_analyzer::expr::{BoolOp, Call, Expr, ExprKind, Level, UnaryOp};
use tileops_analyzer::lang::{Constructor, DType, Kind, Value};

use super::outline::{enclosed, joined, spread};
use crate::layout::Doc;

/// Python's keywords, and what a parameter cannot be called in `__init__` or as an attribute.
const KEYWORDS: &[&str] = &[
    "False",
    "None",
    "True",
    "and",
    "as",
    "assert",
    "async",
    "await",
    "break",
    "class",
    "continue",
    "def",
    "del",
    "elif",
    "else",
    "except",
    "finally",
    "for",
    "from",
    "global",
    "if",
    "import",
    "in",
    "is",
    "lambda",
    "nonlocal",
    "not",
    "or",
    "pass",
    "raise",
    "return",
    "try",
    "while",
    "with",
    "yield",
    "self",
    "NAME",
    "last_call",
    "check_call",
    "eval_roofline",
    "completed_call",
    "outputs",
    "INF",
    "Variant",
    "dtype_name",
    "frozen",
    "is_bool",
    "is_dim",
    "is_dtype",
    "is_float",
    "is_int",
    "is_int_or_none",
    "is_seq",
    "is_str",
    "variant",
];

/// What else a local cannot be called: the other names that the methods use.
const LOCALS: &[&str] = &[
    "CheckedCall",
    "Op",
    "TensorInfo",
    "TensorLike",
    "balanced_sizes",
    "broadcast",
    "call",
    "category",
    "ceil_div",
    "coalesce_dtype",
    "conv_out",
    "dict",
    "divmod",
    "expected",
    "extents",
    "flops",
    "last",
    "len",
    "mhc_expansion",
    "moe_capacity",
    "moved",
    "out",
    "out_info",
    "per_axis",
    "pool_out",
    "prod",
    "promote_int_to_float",
    "reduced",
    "repeat",
    "representable",
    "rest",
    "show",
    "str",
    "tensors",
    "unique_axes",
    "valid_axes",
    "all_of",
    "max_of",
    "min_of",
    "solved",
    "sum_of",
];

/// `name` as a local or an argument of the emitted code.
pub(crate) fn identifier(name: &str) -> String {
    if KEYWORDS.contains(&name) || LOCALS.contains(&name) { format!("{name}_") } else { name.to_owned() }
}

/// `name` as an argument of `__init__` and an attribute.
pub(crate) fn attribute(name: &str) -> String {
    if KEYWORDS.contains(&name) { format!("{name}_") } else { name.to_owned() }
}

/// `text` as a string literal of Python.
pub(crate) fn string(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            '"' => out.push_str("\\\""),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            _ if u32::from(c) < 0x20 || u32::from(c) == 0x7f => out.push_str(&format!("\\x{:02x}", u32::from(c))),
            _ => out.push(c),
        }
    }
    out.push('"');
    out
}

/// `text` as part of an f-string.
pub(crate) fn braced(text: &str) -> String {
    let literal = string(text);
    // The literal's own quotes are the caller's.
    literal[1..literal.len() - 1].replace('{', "{{").replace('}', "}}")
}

/// A value as a literal of Python; nothing for one that has none.
pub(crate) fn value(value: &Value) -> Option<String> {
    Some(match value {
        Value::Int(value) => value.to_string(),
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        Value::Float(value) if value.is_infinite() => if *value < 0.0 { "-INF" } else { "INF" }.to_owned(),
        Value::Float(value) => format!("{value:?}"),
        Value::None => "None".to_owned(),
        Value::Str(text) => string(text),
        Value::DType(dtype) => string(dtype.name()),
        Value::Seq(items) => {
            let texts: Vec<String> = items.iter().map(self::value).collect::<Option<_>>()?;
            format!("({}{})", texts.join(", "), if texts.len() == 1 { "," } else { "" })
        }
        Value::Adt(adt) => {
            let fields: Vec<String> = adt
                .fields
                .iter()
                .map(|(name, field)| Some(format!("({}, {})", string(name), self::value(field)?)))
                .collect::<Option<_>>()?;
            let comma = if fields.len() == 1 { "," } else { "" };
            let (name, kind) = (string(&adt.adt), string(&adt.constructor));
            format!("Variant({name}, {kind}, ({}{comma}))", fields.join(", "))
        }
        Value::Opaque(_) => return None,
    })
}

/// Where an expression is evaluated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// In `check_call`: tensors are arguments.
    Check,
    /// In `eval_roofline`: tensors are those of the last call.
    Price,
}

/// Writes the expressions of one entry.
#[derive(Clone, Copy)]
pub(crate) struct Printer<'a> {
    pub(crate) scope: &'a Scope,
    pub(crate) place: Place,
    /// The parameter and its constructor whose fields stand for themselves: in an ADT's invariant.
    pub(crate) fields: Option<(&'a str, &'a Constructor)>,
}

impl Printer<'_> {
    /// How tightly an expression binds as Python writes it.
    pub(super) fn level(self, expr: &Expr) -> Level {
        match &expr.kind {
            ExprKind::Bools(_, operands) if operands.len() == 1 => {
                operands.first().map_or(Level::Primary, |e| self.level(e))
            }
            // `x is not None`
            ExprKind::Call(call) if &*call.callee.value == "present" => Level::Compare,
            ExprKind::Attribute(base, name) if self.is_value(base, &name.value) => self.level(base),
            _ => expr.level(),
        }
    }

    /// Whether `base.field` is what a `Maybe` holds, which Python writes as the value itself.
    pub(super) fn is_value(self, base: &Expr, field: &str) -> bool {
        let own = |kind: &Kind| match kind {
            Kind::Adt(adt, _) => adt.constructors.iter().any(|c| c.field("value").is_some()),
            _ => false,
        };
        let symbol = base.as_name().and_then(|name| self.scope.get(name));
        field == "value" && !symbol.is_some_and(|symbol| own(&symbol.kind))
    }

    /// The expression where only what binds at least as tightly as `least` can stand without parentheses.
    pub(crate) fn expr(self, expr: &Expr, least: Level) -> Doc {
        if self.level(expr) < least {
            return enclosed(self.bare(expr));
        }
        // An operand is broken where the whole would not fit otherwise, not with it.
        Doc::Group(vec![self.bare(expr)])
    }

    /// `prefix` and the expression, as a statement: where it needs more than a line, broken in its own brackets if that
    /// does, else in parentheses.
    pub(crate) fn statement(self, prefix: &str, expr: &Expr) -> Doc {
        spread(prefix, self.bare(expr), "")
    }

    /// The expression without parentheses.
    pub(crate) fn bare(self, expr: &Expr) -> Doc {
        match &expr.kind {
            ExprKind::Int(value) => Doc::text(value.to_string()),
            ExprKind::Float(number) => Doc::text(value(&Value::Float(*number)).unwrap_or_default()),
            ExprKind::Bool(value) => Doc::text(if *value { "True" } else { "False" }),
            ExprKind::None => Doc::text("None"),
            ExprKind::Str(text) => Doc::text(string(text)),
            ExprKind::Tuple(items) => match items.as_slice() {
                [one] => Doc::Cat(vec![Doc::text("("), self.expr(one, Level::Any), Doc::text(",)")]),
                items => Doc::display("(", items.iter().map(|item| self.expr(item, Level::Any)).collect(), ")"),
            },
            ExprKind::Name(name) => Doc::text(self.name(name)),
            ExprKind::Unary(UnaryOp::Neg, operand) => Doc::Cat(vec![Doc::text("-"), self.expr(operand, Level::Unary)]),
            ExprKind::Unary(UnaryOp::Not, operand) => Doc::Cat(vec![Doc::text("not "), self.expr(operand, Level::Not)]),
            ExprKind::Binary(op, ..) => {
                let own = op.level();
                // A chain of operators of one precedence is broken at all of them.
                let mut operands = Vec::new();
                let mut first = expr;
                while let ExprKind::Binary(op, left, right) = &first.kind
                    && op.level() == own
                {
                    operands.push((op, right));
                    first = left;
                }
                let mut docs = vec![self.expr(first, own)];
                for (op, right) in operands.into_iter().rev() {
                    docs.extend([Doc::Space, Doc::text(format!("{} ", op.as_str())), self.expr(right, own.tighter())]);
                }
                Doc::Cat(docs)
            }
            ExprKind::Bools(op, operands) => {
                let tighter = match operands.len() {
                    0 => return Doc::text(if *op == BoolOp::And { "True" } else { "False" }),
                    1 => Level::Any,
                    // `and` within `or` is in parentheses, which tell a reader what binds.
                    _ => BoolOp::And.level().tighter(),
                };
                let operand = |operand: &Expr| {
                    // `and` and `or` of one condition are broken together.
                    let joins = matches!(operand.kind, ExprKind::Bools(..)) && self.level(operand) >= tighter;
                    if joins { self.bare(operand) } else { self.expr(operand, tighter) }
                };
                joined(operands.iter().map(operand).collect(), op.as_str())
            }
            ExprKind::Compare(first, rest) => {
                let mut docs = vec![self.expr(first, Level::Operand)];
                for (op, operand) in rest {
                    docs.extend([
                        Doc::Space,
                        Doc::text(format!("{} ", op.value.as_str())),
                        self.expr(operand, Level::Operand),
                    ]);
                }
                Doc::Cat(docs)
            }
            ExprKind::If { then, condition, otherwise } => Doc::Cat(vec![
                self.expr(then, Level::Or),
                Doc::Space,
                Doc::text("if "),
                self.expr(condition, Level::Or),
                Doc::Space,
                Doc::text("else "),
                self.expr(otherwise, Level::Any),
            ]),
            ExprKind::Call(call) => self.call(call),
            ExprKind::Index(base, index) => Doc::Cat(vec![
                self.expr(base, Level::Primary),
                Doc::text("["),
                self.expr(index, Level::Any),
                Doc::text("]"),
            ]),
            ExprKind::Slice(base, from, to) => {
                let mut docs = vec![self.expr(base, Level::Primary), Doc::text("[")];
                docs.extend(from.iter().map(|bound| self.expr(bound, Level::Primary)));
                docs.push(Doc::text(":"));
                docs.extend(to.iter().map(|bound| self.expr(bound, Level::Primary)));
                docs.push(Doc::text("]"));
                Doc::Cat(docs)
            }
            ExprKind::Attribute(base, name) if self.is_value(base, &name.value) => self.expr(base, Level::Any),
            ExprKind::Attribute(base, name) => {
                Doc::Cat(vec![self.expr(base, Level::Primary), Doc::text(format!(".{}", name.value))])
            }
            // An entry with an unreadable expression has no plan, and is refused before anything is written.
            ExprKind::Error(_) => Doc::text("None"),
        }
    }

    /// What a name is in the emitted code.
    pub(crate) fn name(self, name: &str) -> String {
        if let Some((param, constructor)) = self.fields
            && constructor.field(name).is_some()
        {
            return format!("self.{}.{name}", attribute(param));
        }
        match self.scope.get(name) {
            // The op may have been changed since the call.
            Some(symbol) if symbol.role == SymbolRole::Param && self.place == Place::Price => {
                format!("call.params[{}]", string(name))
            }
            Some(symbol) if symbol.role == SymbolRole::Param => format!("self.{}", attribute(name)),
            Some(_) => identifier(name),
            None => match DType::from_name(name) {
                Some(dtype) => string(dtype.name()),
                // A comprehension's variable.
                None => identifier(name),
            },
        }
    }

    /// Whether `name` is passed.
    pub(crate) fn presence(self, name: &str, present: bool) -> String {
        let is = if present { "is not None" } else { "is None" };
        match self.scope.get(name).map(|symbol| symbol.role) {
            _ if self.place == Place::Price => {
                format!("{}call.present({})", if present { "" } else { "not " }, string(name))
            }
            None => format!("out {is}"),
            Some(SymbolRole::Tensor(tileops_analyzer::model::TensorRole::Construction)) => {
                format!("self.{} {is}", attribute(name))
            }
            Some(_) => format!("{} {is}", self.name(name)),
        }
    }

    fn call(self, call: &Call) -> Doc {
        if let ("present", [Expr { kind: ExprKind::Name(name), .. }]) = (&*call.callee.value, call.args.as_slice()) {
            return Doc::text(self.presence(name, true));
        }
        if let ("bytes", [Expr { kind: ExprKind::Name(name), .. }]) = (&*call.callee.value, call.args.as_slice()) {
            return Doc::text(format!("call.bytes({})", string(name)));
        }
        let mut items: Vec<Doc> = call.args.iter().map(|argument| self.expr(argument, Level::Any)).collect();
        for (name, value) in &call.keywords {
            items.push(Doc::Cat(vec![Doc::text(format!("{}=", name.value)), self.expr(value, Level::Any)]));
        }
        let mut callee = call.callee.value.replace('.', "_");
        // A local of that name hides the function.
        if self.scope.get(&callee).is_some_and(|symbol| symbol.role != SymbolRole::Param) {
            callee.push_str("_of");
        }
        let open = format!("{callee}(");
        if let Some(comprehension) = &call.comprehension {
            // The element is the only argument; what a keyword adds makes the generator need parentheses of its own.
            let element = items.remove(0);
            let variable = identifier(&comprehension.variable.value);
            let each = Doc::Cat(vec![
                element,
                Doc::Space,
                Doc::text(format!("for {variable} in ")),
                self.expr(&comprehension.iterable, Level::Or),
            ]);
            if items.is_empty() {
                return Doc::Group(vec![
                    Doc::text(open),
                    Doc::Indent(vec![Doc::Line, Doc::Group(vec![each])]),
                    Doc::Line,
                    Doc::text(")"),
                ]);
            }
            items.insert(0, Doc::Cat(vec![Doc::text("("), each, Doc::text(")")]));
        }
        Doc::list(open, items, ")")
    }
}
