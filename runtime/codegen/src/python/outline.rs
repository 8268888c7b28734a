//! Whether a formatter of Python breaks an expression in its own brackets, or puts it in parentheses: black's rule, as ruff
//! has it.

use tileops_analyzer::check::SymbolRole;
use tileops_analyzer::expr::{BinaryOp, Expr, ExprKind, Level, UnaryOp};

use super::expr::{Place, Printer};
use crate::layout::Doc;

/// How loosely an operator binds, as far as the rule tells them apart: `and` and `or` are one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Looseness {
    Product,
    Sum,
    Comparison,
    Boolean,
    Conditional,
}

/// What the rule reads of an expression: all that stands outside of brackets.
#[derive(Debug, Default)]
pub(super) struct Outline {
    /// The loosest operator, and how often it stands there.
    loosest: Option<(Looseness, usize)>,
    has_brackets: bool,
    /// Whether the first part is in brackets; nothing before there is one.
    first: Option<bool>,
    /// Whether the last part ends in brackets.
    last: bool,
}

impl Outline {
    pub(super) fn of(printer: Printer<'_>, expr: &Expr) -> Outline {
        let mut outline = Outline::default();
        outline.part(printer, expr, Level::Any);
        outline
    }

    /// One operator at most is given up to be broken at, and there are brackets at an end to be broken instead.
    pub(super) fn breaks_in_brackets(&self) -> bool {
        self.has_brackets
            && match self.loosest {
                None => true,
                Some((_, count)) => count == 1 && (self.last || self.first == Some(true)),
            }
    }

    fn operator(&mut self, looseness: Looseness, count: usize) {
        match &mut self.loosest {
            Some((known, _)) if *known > looseness => {}
            Some((known, known_count)) if *known == looseness => *known_count += count,
            loosest => *loosest = Some((looseness, count)),
        }
    }

    /// What stands where only what binds at least as tightly as `least` has no parentheses.
    fn part(&mut self, printer: Printer<'_>, expr: &Expr, least: Level) {
        if printer.level(expr) < least {
            self.brackets(true);
        } else {
            self.open(printer, expr);
        }
    }

    /// Brackets, which may be the first thing: those of a call are not.
    fn brackets(&mut self, first: bool) {
        self.has_brackets = true;
        self.last = true;
        self.first.get_or_insert(first);
    }

    fn word(&mut self) {
        self.last = false;
        self.first.get_or_insert(false);
    }

    fn open(&mut self, printer: Printer<'_>, expr: &Expr) {
        match &expr.kind {
            ExprKind::Binary(op, left, right) => {
                let sum = matches!(op, BinaryOp::Add | BinaryOp::Sub);
                self.operator(if sum { Looseness::Sum } else { Looseness::Product }, 1);
                self.part(printer, left, op.level());
                self.part(printer, right, op.level().tighter());
            }
            ExprKind::Bools(op, operands) => {
                if operands.is_empty() {
                    self.word();
                }
                if let [one] = operands.as_slice() {
                    return self.part(printer, one, Level::Any);
                }
                self.operator(Looseness::Boolean, operands.len().saturating_sub(1));
                operands.iter().for_each(|operand| self.part(printer, operand, op.level().tighter()));
            }
            ExprKind::Compare(first, rest) => {
                self.operator(Looseness::Comparison, rest.len());
                self.part(printer, first, Level::Operand);
                rest.iter().for_each(|(_, operand)| self.part(printer, operand, Level::Operand));
            }
            // Two words of it can be broken at.
            ExprKind::If { .. } => {
                self.operator(Looseness::Conditional, 2);
                self.word();
            }
            ExprKind::Unary(op, operand) => {
                self.word();
                let level = if *op == UnaryOp::Not { Level::Not } else { Level::Unary };
                self.part(printer, operand, level);
            }
            ExprKind::Tuple(items) => {
                self.brackets(true);
                self.has_brackets = !items.is_empty() || self.has_brackets;
            }
            ExprKind::Call(call) if &*call.callee.value == "present" && printer.place == Place::Check => {
                self.operator(Looseness::Comparison, 1);
                self.word();
            }
            ExprKind::Call(_) => self.brackets(false),
            // A subscript is no end that is broken.
            ExprKind::Index(base, _) | ExprKind::Slice(base, ..) => {
                self.part(printer, base, Level::Primary);
                self.has_brackets = true;
            }
            ExprKind::Attribute(base, field) if printer.is_value(base, &field.value) => self.open(printer, base),
            // `call.params["name"]`
            ExprKind::Name(name)
                if printer.place == Place::Price
                    && printer.scope.get(name).is_some_and(|symbol| symbol.role == SymbolRole::Param) =>
            {
                self.word();
                self.has_brackets = true;
            }
            _ => self.word(),
        }
    }
}

/// An expression that is broken in its brackets alone, the last of them first.
pub(super) fn bracketed(doc: Doc) -> Doc {
    match doc {
        Doc::Space => Doc::text(" "),
        Doc::Cat(items) => Doc::Cat(items.into_iter().map(bracketed).collect()),
        Doc::Group(items) if items.iter().any(|item| matches!(item, Doc::Indent(_))) => Doc::Bracket(items),
        Doc::Group(items) => Doc::Cat(items.into_iter().map(bracketed).collect()),
        other => other,
    }
}
