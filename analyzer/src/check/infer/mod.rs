//! The kind of every expression, and whether it is one that its place takes.
//!
//! One walk visits each node once. It carries what the guards around a node say ([`Guards`]) and gives back the node's
//! kind together with what its truth and its falsity say, so that narrowing costs no second visit. A defect is reported
//! where it is found; the node then counts as what it was most likely meant to be, or as [`Kind::Error`], which fits
//! everywhere: one mistake gives one defect.

mod access;
mod calls;
mod compare;
mod fits;
mod names;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::check::guards::{Guards, Subject, is_integer, is_number, item_of};
use crate::check::show::show;
use crate::check::types::union_of;
use crate::check::{Scope, Symbol, SymbolRole};
use crate::defect::{Findings, codes, list, nearest, nearest_first};
use crate::expr::{Axis, BinaryOp, Expr, ExprKind, Ident, Shape, ShapeKind, UnaryOp};
use crate::lang::builtins::Takes;
use crate::lang::{Kind, Literals};
use fits::{common, describe, fits_kind, fits_takes};

/// Where an expression stands. It decides which names can be read there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Position {
    /// An axis, a splice or a family's argument.
    Shape,
    /// A `dtype`.
    Dtype,
    /// `optional`, `nullable` or `mutated`. That only discriminants are read is judged where they are known.
    Condition,
    /// A `let`.
    Let,
    /// A refinement.
    Refinement,
    /// An argument of a generator.
    Generator,
    /// An argument of a predicate.
    Predicate,
    /// A case of a family: it reads the family's formals.
    Family,
    /// `flops` or `bytes`.
    Roofline,
}

impl Position {
    /// What a message calls it.
    fn describe(self) -> &'static str {
        match self {
            Position::Shape => "a shape",
            Position::Dtype => "a dtype",
            Position::Condition => "a condition",
            Position::Let => "a `let`",
            Position::Refinement => "a refinement",
            Position::Generator => "a generator's argument",
            Position::Predicate => "a predicate's argument",
            Position::Family => "a family's case",
            Position::Roofline => "a roofline",
        }
    }

    /// Whether parameters that take no part in types can be read.
    fn reads_values(self) -> bool {
        matches!(self, Position::Refinement | Position::Roofline | Position::Condition)
    }

    /// Whether a symbol can be read here as a value.
    pub fn admits(self, symbol: &Symbol) -> bool {
        match symbol.role {
            SymbolRole::Tensor(_) => false,
            SymbolRole::Index => !is_value_list(symbol) || matches!(self, Position::Generator | Position::Condition),
            SymbolRole::Param | SymbolRole::Let => self.reads_values() || symbol.kind.takes_part_in_types(),
        }
    }
}

/// Whether a symbol is a `Seq[Int]` of `forall`.
fn is_value_list(symbol: &Symbol) -> bool {
    symbol.role == SymbolRole::Index && matches!(symbol.kind, Kind::Seq(..))
}

/// The role in which a call is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CallRole {
    Generator,
    Predicate,
}

/// What a place takes, and what messages call the place.
#[derive(Debug, Clone, Copy)]
struct Want<'a> {
    takes: Wanted<'a>,
    taker: &'a str,
}

#[derive(Debug, Clone, Copy)]
enum Wanted<'a> {
    Takes(Takes),
    Kind(&'a Kind),
}

impl Want<'_> {
    fn fits(&self, kind: &Kind) -> bool {
        match self.takes {
            Wanted::Takes(takes) => fits_takes(kind, takes),
            Wanted::Kind(expected) => fits_kind(kind, expected),
        }
    }

    fn describe(&self) -> String {
        match self.takes {
            Wanted::Takes(takes) => describe(takes),
            Wanted::Kind(kind) => format!("`{kind}`"),
        }
    }
}

/// An expression of a kind that its place does not take.
struct Misfit<'e> {
    expr: &'e Expr,
    kind: Kind,
}

/// What an expression was found to be.
struct Found {
    kind: Kind,
    /// The kind before guards narrowed it.
    declared: Kind,
    subject: Option<Subject>,
    /// What holds where it is true, and where it is false; nothing where that says nothing.
    branches: Option<Box<(Guards, Guards)>>,
}

impl Found {
    fn new(kind: Kind) -> Self {
        Found { declared: kind.clone(), kind, subject: None, branches: None }
    }

    fn error() -> Self {
        Found::new(Kind::Error)
    }

    fn bool(yes: Guards, no: Guards) -> Self {
        Found { branches: Some(Box::new((yes, no))), ..Found::new(Kind::Bool) }
    }

    fn branches(self, guards: &Guards) -> (Guards, Guards) {
        match self.branches {
            Some(both) => *both,
            None => (guards.clone(), guards.clone()),
        }
    }
}

/// Infers and judges the expressions of one text.
pub struct Inference<'a> {
    scope: &'a Scope,
    position: Position,
    path: &'a str,
    findings: &'a mut Findings,
    /// The formals of the family whose case is judged.
    formals: Option<&'a [(Arc<str>, Kind)]>,
    /// Comprehensions' variables, innermost last.
    locals: Vec<(Arc<str>, Kind)>,
    /// Unknown names that this text has been reported for already.
    unknown: BTreeSet<Arc<str>>,
    guards: Guards,
}

impl<'a> Inference<'a> {
    /// Judges a text at `path` that stands in `position`.
    pub fn new(scope: &'a Scope, position: Position, path: &'a str, findings: &'a mut Findings) -> Self {
        Inference {
            scope,
            position,
            path,
            findings,
            formals: None,
            locals: Vec::new(),
            unknown: BTreeSet::new(),
            guards: Guards::default(),
        }
    }

    /// With a family's formals, which are then all the names there are.
    pub(crate) fn with_formals(mut self, formals: &'a [(Arc<str>, Kind)]) -> Self {
        self.formals = Some(formals);
        self
    }

    /// With one more name, of a kind, as a comprehension's variable is one.
    pub(crate) fn with_local(mut self, name: Arc<str>, kind: Kind) -> Self {
        self.locals.push((name, kind));
        self
    }

    /// Where what is known of the subject at `path` is `kind`.
    pub(crate) fn narrow(&mut self, path: &Arc<str>, kind: Kind) {
        self.guards = self.guards.with(path, Some(kind));
    }

    /// Where `condition` holds. The condition is judged elsewhere: what is wrong with it is not reported here.
    pub(crate) fn assume(&mut self, condition: &Expr) {
        let mut silent = Findings::default();
        let mut inner = Inference {
            scope: self.scope,
            position: Position::Condition,
            path: self.path,
            findings: &mut silent,
            formals: self.formals,
            locals: Vec::new(),
            unknown: BTreeSet::new(),
            guards: self.guards.clone(),
        };
        let guards = inner.guards.clone();
        let (yes, _) = inner.infer(condition, &guards).branches(&guards);
        self.guards = yes;
    }

    /// The kind of an expression that can be of any.
    pub fn value(&mut self, expr: &Expr) -> Kind {
        let guards = self.guards.clone();
        self.infer(expr, &guards).kind
    }

    /// Judges an expression that must be Boolean.
    pub fn condition(&mut self, expr: &Expr, taker: &str) {
        self.wants(expr, Wanted::Takes(Takes::Bool), taker);
    }

    /// Judges an expression that must be an integer.
    pub fn integer(&mut self, expr: &Expr, taker: &str) {
        self.wants(expr, Wanted::Takes(Takes::Int), taker);
    }

    /// Judges a `dtype` and gives its kind.
    pub fn dtype(&mut self, expr: &Expr) -> Kind {
        self.wants(expr, Wanted::Takes(Takes::DType), "a tensor's `dtype`")
    }

    /// Judges what the `let` called `name` stands for, and gives its kind.
    pub(crate) fn let_value(&mut self, name: &str, expr: &Expr) -> Kind {
        let kind = self.value(expr);
        if kind.can_be_let() {
            return kind;
        }
        let message = format!("`{name}` is `{kind}`, and a `let` stands for something that types can read");
        self.findings
            .report(&codes::KIND_MISMATCH, expr.range, self.path, name, message)
            .help("a `let` is an integer, a Boolean, a shape, a literal of an enum or a dtype");
        Kind::Error
    }

    fn wants(&mut self, expr: &Expr, takes: Wanted<'_>, taker: &str) -> Kind {
        let guards = self.guards.clone();
        self.expect(expr, Want { takes, taker }, &guards).kind
    }

    /// Judges a shape: each axis and splice, or each argument of the family that it applies.
    pub fn shape(&mut self, shape: &Shape) {
        match &shape.kind {
            ShapeKind::Axes(axes) => axes.iter().for_each(|axis| match axis {
                Axis::One(expr) => self.integer(expr, "an axis"),
                Axis::Splice(expr) => {
                    self.wants(expr, Wanted::Takes(Takes::Shape), "a splice");
                }
            }),
            ShapeKind::Family(name, arguments) => self.application(name, arguments),
            ShapeKind::Error(parts) => parts.iter().for_each(|part| self.names_in(part)),
        }
    }

    fn application(&mut self, name: &Ident, arguments: &[Expr]) {
        let guards = self.guards.clone();
        // That the family exists and takes as many arguments is judged with the families.
        let formals = self.scope.family(&name.value).and_then(|family| family.formals.as_deref());
        for (position, argument) in arguments.iter().enumerate() {
            match formals.and_then(|formals| formals.get(position)) {
                Some((formal, kind)) => {
                    let taker = format!("`{}` of `{}`", formal, name.value);
                    self.expect(argument, Want { takes: Wanted::Kind(kind), taker: &taker }, &guards);
                }
                None => {
                    self.infer(argument, &guards);
                }
            }
        }
    }

    /// Judges `expr` where `want` is due. A conditional is judged arm by arm.
    fn expect(&mut self, expr: &Expr, want: Want<'_>, guards: &Guards) -> Found {
        let mut misfits = Vec::new();
        let found = self.fit(expr, want, guards, &mut misfits);
        self.report_misfits(&misfits, want);
        found
    }

    /// As [`Self::expect`], but what does not fit is added to `misfits`: with others of one operator it is one mistake.
    fn fit<'e>(&mut self, expr: &'e Expr, want: Want<'_>, guards: &Guards, misfits: &mut Vec<Misfit<'e>>) -> Found {
        if let ExprKind::If { then, condition, otherwise } = &expr.kind {
            let boolean = Want { takes: Wanted::Takes(Takes::Bool), taker: "the condition of a conditional" };
            let (yes, no) = self.expect(condition, boolean, guards).branches(guards);
            let before = misfits.len();
            let then = self.fit(then, want, &yes, misfits);
            let between = misfits.len();
            let otherwise = self.fit(otherwise, want, &no, misfits);
            // No arm fits: the conditional as a whole is what does not.
            if let ([first], [second]) = (&misfits[before..between], &misfits[between..]) {
                let kind = union_of([first.kind.clone(), second.kind.clone()]);
                misfits.truncate(before);
                misfits.push(Misfit { expr, kind });
            }
            return joined(union_of([then.kind.clone(), otherwise.kind.clone()]), then, &yes, otherwise, &no);
        }
        let mut found = self.infer(expr, guards);
        if !want.fits(&found.kind) {
            misfits.push(Misfit { expr, kind: std::mem::replace(&mut found.kind, Kind::Error) });
        }
        found
    }

    /// Reports operands that do not fit: one mistake, placed at the first of them.
    fn report_misfits(&mut self, misfits: &[Misfit<'_>], want: Want<'_>) {
        let [first, others @ ..] = misfits else { return };
        let before = self.findings.defects.len();
        self.mismatch(first.expr, &first.kind, want);
        let Some(defect) = self.findings.defects.get_mut(before) else { return };
        for other in others {
            defect.related(other.expr.range, format!("{} is {}", show(other.expr), what(other.expr, &other.kind)));
        }
    }

    fn mismatch(&mut self, expr: &Expr, kind: &Kind, want: Want<'_>) {
        // A declaration called `inf` has been refused, and was meant here.
        if matches!(expr.kind, ExprKind::Float(value) if value.is_infinite()) && self.scope.get("inf").is_some() {
            return;
        }
        let shown = show(expr);
        let wanted = want.describe();
        // A literal outside the literals that are due is a member that does not exist.
        if let (ExprKind::Str(text), Wanted::Takes(Takes::Literal(allowed))) = (&expr.kind, want.takes) {
            let order: Vec<String> =
                nearest_first(text, allowed.iter().copied()).iter().map(|l| format!("'{l}'")).collect();
            let message = format!("{shown} is no value of {}", want.taker);
            self.findings
                .report(&codes::NO_SUCH_MEMBER, expr.range, self.path, &**text, message)
                .help(format!("write {}", list(order, "or")))
                .meant(nearest(text, allowed.iter().copied()).map(|near| format!("'{near}'")));
            return;
        }
        let message = format!("{shown} is {}, and {} takes {wanted}", what(expr, kind), want.taker);
        let help = self.mismatch_help(expr, kind, want);
        let instead = self.mismatch_instead(expr, kind, want);
        let symbol = match expr.as_name() {
            Some(name) if self.formals.is_none() && self.local(name).is_none() => self.scope.get(name),
            _ => None,
        };
        let defect = self.findings.report(&codes::KIND_MISMATCH, expr.range, self.path, subject_text(expr), message);
        if let Some(help) = help {
            defect.help(help);
        }
        if let Some(instead) = instead {
            defect.instead(instead).guess();
        }
        if let Some(symbol) = symbol {
            defect.related(symbol.range, format!("`{}` is declared here", symbol.name));
        }
    }

    /// What an expression of another kind was most likely meant to say.
    fn mismatch_instead(&self, expr: &Expr, kind: &Kind, want: Want<'_>) -> Option<String> {
        let text = text_of(expr);
        let takes = |kind: &Kind| want.fits(kind);
        match kind {
            Kind::Maybe(inner) if takes(&Kind::Bool) && !want.fits(inner) => Some(format!("present({text})")),
            Kind::Bool if takes(&Kind::Int) => Some(format!("(1 if {text} else 0)")),
            Kind::Dim | Kind::Int if takes(&Kind::Bool) => Some(format!("({text} != 0)")),
            Kind::Shape | Kind::Seq(..) if want.taker == "an axis" => Some(format!("*{text}")),
            _ => None,
        }
    }

    fn mismatch_help(&self, expr: &Expr, kind: &Kind, want: Want<'_>) -> Option<String> {
        let integer = matches!(want.takes, Wanted::Takes(Takes::Int) | Wanted::Kind(Kind::Dim | Kind::Int));
        let sequence = matches!(
            want.takes,
            Wanted::Takes(Takes::Shape | Takes::SeqInt | Takes::Seq) | Wanted::Kind(Kind::Shape | Kind::Seq(..))
        );
        let boolean = matches!(want.takes, Wanted::Takes(Takes::Bool) | Wanted::Kind(Kind::Bool));
        let name = expr.as_name();
        match kind {
            Kind::Maybe(inner) => {
                let name = name?;
                if boolean && !want.fits(inner) {
                    return Some(format!("whether it is passed is `present({name})`"));
                }
                if matches!(want.takes, Wanted::Takes(Takes::DType)) && self.position == Position::Dtype {
                    return Some(format!("write `coalesce_dtype({name}, …)`, which says what absence means"));
                }
                want.fits(inner).then(|| format!("write `{name}.value` where `present({name})` holds"))
            }
            Kind::Bool if integer => Some("write `1 if … else 0`".to_owned()),
            Kind::Dim | Kind::Int if boolean => Some("compare it: `… != 0`".to_owned()),
            Kind::Shape | Kind::Seq(..) if want.taker == "an axis" => {
                name.map(|name| format!("a sequence is spliced: `*{name}`"))
            }
            Kind::Dim | Kind::Int if want.taker == "a splice" => {
                Some("an integer is an axis without the star".to_owned())
            }
            Kind::Union(members)
                if integer && members.iter().any(is_integer) && members.iter().any(|m| item_of(m).is_some()) =>
            {
                name.map(|name| format!("write `per_axis({name}, i, n)`, the item of axis i of n"))
            }
            Kind::Float if integer => {
                Some("only integers are due here: use integer arithmetic, `//` included".to_owned())
            }
            Kind::Dim | Kind::Int if sequence => Some("a tuple of one is written `(x,)`".to_owned()),
            _ => None,
        }
    }

    fn infer(&mut self, expr: &Expr, guards: &Guards) -> Found {
        match &expr.kind {
            ExprKind::Int(value) => Found::new(if *value >= 0 { Kind::Dim } else { Kind::Int }),
            ExprKind::Float(_) => Found::new(Kind::Float),
            ExprKind::Bool(value) => {
                let dead = guards.with(&"".into(), None);
                if *value { Found::bool(guards.clone(), dead) } else { Found::bool(dead, guards.clone()) }
            }
            ExprKind::None => Found::new(Kind::None),
            ExprKind::Str(text) => Found::new(Kind::Enum(Literals::from([text.clone()]))),
            ExprKind::Tuple(items) => {
                let kinds: Vec<Kind> = items.iter().map(|item| self.infer(item, guards).kind).collect();
                Found::new(Kind::Seq(Box::new(union_of(kinds)), Some(items.len())))
            }
            ExprKind::Name(name) => self.name(name, expr.range, guards),
            ExprKind::Unary(UnaryOp::Not, operand) => {
                let boolean = Want { takes: Wanted::Takes(Takes::Bool), taker: "`not`" };
                let (yes, no) = self.expect(operand, boolean, guards).branches(guards);
                Found::bool(no, yes)
            }
            ExprKind::Unary(UnaryOp::Neg, operand) => {
                let [kind] = self.operands([operand], "-", guards);
                Found::new(if kind == Kind::Dim { Kind::Int } else { kind })
            }
            ExprKind::Binary(operator, left, right) => self.binary(*operator, left, right, guards),
            ExprKind::Bools(operator, operands) => self.bools(*operator, operands, guards),
            ExprKind::Compare(first, rest) => self.compare(first, rest, guards),
            ExprKind::If { then, condition, otherwise } => {
                let boolean = Want { takes: Wanted::Takes(Takes::Bool), taker: "the condition of a conditional" };
                let (yes, no) = self.expect(condition, boolean, guards).branches(guards);
                let then = self.infer(then, &yes);
                let otherwise = self.infer(otherwise, &no);
                let kind = match common(&then.kind, &otherwise.kind) {
                    Some(kind) => kind,
                    None => {
                        let message = format!(
                            "the arms of this conditional have no kind in common: `{}` and `{}`",
                            then.kind, otherwise.kind
                        );
                        self.findings.report(&codes::KIND_MISMATCH, expr.range, self.path, "if", message);
                        Kind::Error
                    }
                };
                joined(kind, then, &yes, otherwise, &no)
            }
            ExprKind::Call(call) => self.call(call, expr.range, guards),
            ExprKind::Index(base, index) => self.index(base, index, guards),
            ExprKind::Slice(base, from, to) => {
                let kind = self.sequence(base, "a slice", guards);
                for bound in from.iter().chain(to) {
                    let want = Want { takes: Wanted::Takes(Takes::Int), taker: "the bound of a slice" };
                    self.expect(bound, want, guards);
                }
                Found::new(match kind {
                    Kind::Seq(item, _) => Kind::Seq(item, None),
                    kind => kind,
                })
            }
            ExprKind::Attribute(base, field) => self.attribute(base, field, guards),
            ExprKind::Error(parts) => {
                parts.iter().for_each(|part| self.names_in(part));
                Found::error()
            }
        }
    }

    /// The kinds of the operands of an arithmetic operator; [`Kind::Error`] for one that is no number.
    fn operands<const N: usize>(&mut self, operands: [&Expr; N], operator: &str, guards: &Guards) -> [Kind; N] {
        let mut misfits = Vec::new();
        let kinds = operands.map(|expr| {
            let kind = self.infer(expr, guards).kind;
            if is_number(&kind) {
                return kind;
            }
            misfits.push(Misfit { expr, kind });
            Kind::Error
        });
        let taker = format!("`{operator}`");
        self.report_misfits(&misfits, Want { takes: Wanted::Takes(Takes::Int), taker: &taker });
        kinds
    }

    fn binary(&mut self, operator: BinaryOp, left: &Expr, right: &Expr, guards: &Guards) -> Found {
        let [l, r] = self.operands([left, right], operator.as_str(), guards);
        // A number with a fraction makes the result one, whatever the other operand was meant to be.
        if !is_integer(&l) || !is_integer(&r) {
            return Found::new(Kind::Float);
        }
        if l == Kind::Error || r == Kind::Error {
            return Found::error();
        }
        let positive = matches!(right.kind, ExprKind::Int(value) if value > 0);
        let dim = l == Kind::Dim
            && match operator {
                BinaryOp::Add | BinaryOp::Mul => r == Kind::Dim,
                BinaryOp::FloorDiv | BinaryOp::Mod => positive,
                BinaryOp::Sub => false,
            };
        Found::new(if dim { Kind::Dim } else { Kind::Int })
    }
}

/// A conditional: where it is true, one of its arms is.
fn joined(kind: Kind, then: Found, yes: &Guards, otherwise: Found, no: &Guards) -> Found {
    if kind != Kind::Bool {
        return Found::new(kind);
    }
    let (then_yes, then_no) = then.branches(yes);
    let (otherwise_yes, otherwise_no) = otherwise.branches(no);
    Found::bool(then_yes.or(&otherwise_yes), then_no.or(&otherwise_no))
}

/// "`a`, `b` and 3 more": a list that stays readable.
pub(crate) fn some_of(names: &[&str], joiner: &str) -> String {
    const MOST: usize = 10;
    match names.len().checked_sub(MOST) {
        Some(rest) if rest > 1 => {
            let shown: Vec<String> = names.iter().take(MOST).map(|name| format!("`{name}`")).collect();
            format!("{} {joiner} {rest} more", shown.join(", "))
        }
        _ => list(names, joiner),
    }
}

fn count(n: usize, noun: &str) -> String {
    if n == 1 { format!("1 {noun}") } else { format!("{n} {noun}s") }
}

/// What a message calls an expression of a kind: a literal by its sort.
fn what(expr: &Expr, kind: &Kind) -> String {
    match expr.kind {
        ExprKind::Str(_) => "a string".to_owned(),
        ExprKind::Int(_) => "an integer".to_owned(),
        ExprKind::Float(_) => "a float".to_owned(),
        _ => format!("`{kind}`"),
    }
}

/// The expression's text, for use inside a longer piece of code.
fn text_of(expr: &Expr) -> String {
    expr.to_string()
}

/// What the defect of an expression is about: the name in it, or its text.
fn subject_text(expr: &Expr) -> String {
    expr.as_name().map_or_else(|| text_of(expr), str::to_owned)
}
