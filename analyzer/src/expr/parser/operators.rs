//! Operators: between two values, and before one.

use crate::expr::lexer::{Token, TokenKind, TokenKind as T};
use crate::expr::problem::excerpt;
use crate::expr::{BinaryOp, BoolOp, CompareOp, ExprKind, UnaryOp};
use crate::text::{Spanned, TextRange};

use super::{Note, Parsed, Parser, cover_all, infix_power, is_closer, power, starts_operand};

/// A comparison's operator as written.
#[derive(Debug, Clone, Copy)]
struct Comparison {
    kind: TokenKind,
    /// What it compares by, if it is one of the language.
    op: Option<CompareOp>,
    /// `!=` and `is not`
    negated: bool,
    place: TextRange,
}

/// One side of a comparison.
#[derive(Debug, Clone, Copy)]
struct Side {
    outer: TextRange,
    is_none: bool,
    is_name: bool,
    note: Note,
}

impl Parser<'_> {
    pub(super) fn arithmetic(&mut self, left: Parsed, power: u8) -> Parsed {
        let token = self.bump();
        let op = arithmetic_of(token.kind);
        let problem = match op {
            Some(_) => None,
            None => self.refused_operator(token),
        };
        // `**` groups to the right, every other operator to the left.
        let right = self.expr(if power == power::POWER { power::UNARY } else { power + 1 });
        self.combined(token, op, problem, left, right)
    }

    fn combined(
        &mut self,
        token: Token,
        op: Option<BinaryOp>,
        problem: Option<usize>,
        left: Parsed,
        right: Parsed,
    ) -> Parsed {
        let range = left.outer.cover(right.outer);
        if let Some(op) = op {
            let height = left.height.max(right.height);
            return self.node(ExprKind::Binary(op, left.expr, right.expr), range, height);
        }
        if token.kind == T::DoubleStar
            && let Some(problem) = problem
        {
            let help = match right.expr.kind {
                ExprKind::Int(2) => {
                    let base = excerpt(self.text_of(left.outer));
                    format!("write the product `{base} * {base}`")
                }
                _ => "write the power as a product".to_owned(),
            };
            let product = match right.expr.kind {
                ExprKind::Int(2) if is_operand(&left.expr.kind) || self.text_of(left.outer).starts_with('(') => {
                    let base = self.text_of(left.outer);
                    Some(format!("({base} * {base})"))
                }
                _ => None,
            };
            if let Some(problem) = self.problems.get(problem) {
                problem.help(help);
                if let Some(product) = product {
                    problem.instead_of(range, product);
                }
            }
        }
        self.error(vec![left, right], range)
    }

    /// Reports an arithmetic operator outside the language. Gives the position of the problem.
    fn refused_operator(&mut self, token: Token) -> Option<usize> {
        let (what, help) = match token.kind {
            T::Slash => ("true division", "`//` divides and rounds down; `ceil_div(a, b)` divides and rounds up"),
            T::DoubleStar => ("a power", ""),
            T::At => ("a matrix product", ""),
            T::Amp => ("a bit operator", "for conditions, write `and`"),
            T::Pipe => ("a bit operator", "for conditions, write `or`"),
            T::Caret => ("a bit operator", "for conditions, write `!=`"),
            T::Shl => ("a bit operator", "multiply by the power of two"),
            T::Shr => ("a bit operator", "divide by the power of two with `//`"),
            // The lexer has reported these.
            _ => {
                self.disorder += 1;
                return None;
            }
        };
        let message = format!("`{}` is {what}, which is outside the language", self.text_of(token.range));
        let problem = self.refuse(token.range, message);
        if !help.is_empty() {
            problem.help(help);
        }
        Some(self.problems.last())
    }

    /// `a b`: two values without an operator.
    pub(super) fn juxtaposed(&mut self, left: Parsed) -> Parsed {
        self.missing_operator();
        let right = self.expr(power::UNARY);
        self.pair(left, right)
    }

    fn pair(&mut self, left: Parsed, right: Parsed) -> Parsed {
        let range = left.outer.cover(right.outer);
        self.error(vec![left, right], range)
    }

    fn missing_operator(&mut self) {
        let found = self.token(0);
        let message = match self.openers.last() {
            Some(_) => format!("a comma or an operator is missing before {}", self.shown(found)),
            None => format!("an operator is missing before {}", self.shown(found)),
        };
        self.structural(found.range, message);
    }

    pub(super) fn bools(&mut self, first: Parsed, op: BoolOp, power: u8) -> Parsed {
        let mut range = first.outer;
        let mut height = first.height;
        let mut operands = vec![*first.expr];
        while infix_power(self.peek(), self.nth(1)) == Some(power) {
            let token = self.bump();
            self.respelled(token);
            let operand = self.expr(power + 1);
            range = range.cover(operand.outer);
            height = height.max(operand.height);
            operands.push(*operand.expr);
        }
        self.node(ExprKind::Bools(op, operands), range, height)
    }

    /// Reports an operator that another language spells so and whose meaning is plain.
    fn respelled(&mut self, token: Token) {
        let write = match token.kind {
            T::AmpAmp => "and",
            T::PipePipe => "or",
            T::Bang => "not",
            T::LtGt | T::NotEqEq => "!=",
            T::EqEqEq => "==",
            T::Reversed if self.text_of(token.range) == "=>" => ">=",
            T::Reversed => "<=",
            _ => return,
        };
        let message = format!("`{}` is not an operator of the language", self.text_of(token.range));
        // `!x` has no space to part the word from its operand.
        let apart = if token.kind == T::Bang { " " } else { "" };
        self.refuse(token.range, message).help(format!("write `{write}`")).instead(format!("{write}{apart}"));
    }

    pub(super) fn conditional(&mut self, then: Parsed) -> Parsed {
        let keyword = self.bump();
        let condition = self.expr(power::OR);
        let mut parts = vec![then, condition];
        if self.peek() != T::Else {
            self.missing_else(keyword);
            // With this part the conditional has four at least, or no `else`.
            parts.push(self.nothing());
            while starts_operand(self.peek()) {
                parts.push(self.expr(power::OR));
            }
        }
        if self.peek() == T::Else {
            self.bump();
            parts.push(self.expr(power::CONDITIONAL));
        } else {
            self.disorder += 1;
        }
        self.conditional_of(parts)
    }

    fn missing_else(&mut self, keyword: Token) {
        let found = self.token(0);
        if found.kind == T::End && !self.openers.is_empty() {
            self.disorder += 1;
            return;
        }
        let problem = if self.at_close() || found.kind == T::Comma {
            self.structural(keyword.range, "`if` has no `else`")
        } else {
            let message = format!("expected `else`, found {}", self.shown(found));
            self.structural(found.range, message)
        };
        if let Some(problem) = problem {
            problem.help("a conditional is written `a if condition else b`");
        }
    }

    /// A conditional of its three parts; anything but three is no conditional.
    fn conditional_of(&mut self, parts: Vec<Parsed>) -> Parsed {
        let range = cover_all(&parts);
        match <[Parsed; 3]>::try_from(parts) {
            Ok([then, condition, otherwise]) => {
                let height = then.height.max(condition.height).max(otherwise.height);
                let kind = ExprKind::If { then: then.expr, condition: condition.expr, otherwise: otherwise.expr };
                self.node(kind, range, height)
            }
            Err(parts) => self.error(parts, range),
        }
    }

    /// `condition ? a : b`
    pub(super) fn question(&mut self, condition: Parsed) -> Parsed {
        let mark = self.bump();
        let then = self.expr(power::CONDITIONAL);
        let mut parts = vec![condition, then];
        if self.peek() == T::Colon {
            self.bump();
            parts.push(self.expr(power::CONDITIONAL));
        }
        self.refused_question(mark, parts)
    }

    fn refused_question(&mut self, mark: Token, parts: Vec<Parsed>) -> Parsed {
        let whole = match parts.as_slice() {
            [condition, then, otherwise] => {
                let text = |p: &Parsed| self.text_of(p.outer);
                Some(format!("{} if {} else {}", text(then), text(condition), text(otherwise)))
            }
            _ => None,
        };
        let help = match &whole {
            Some(whole) => format!("write `{}`", excerpt(whole)),
            None => "a conditional is written `a if condition else b`".to_owned(),
        };
        let range = cover_all(&parts);
        let problem = self.refuse(mark.range, "`?` is not an operator of the language").help(help);
        if let Some(whole) = whole {
            problem.instead_of(range, whole);
        }
        self.error(parts, range)
    }

    /// `name := value`, and `a not b`, which is no operator at all.
    pub(super) fn walrus(&mut self, left: Parsed) -> Parsed {
        let token = self.bump();
        if token.kind == T::Not {
            if let Some(problem) = self.structural(token.range, "expected `in` after `not`") {
                problem.help("write `not in`, or put `and` or `or` before `not`");
            }
            let right = self.expr(power::NOT);
            return self.pair(left, right);
        }
        let value = self.expr(power::CONDITIONAL);
        self.refused_walrus(token, left, value)
    }

    fn refused_walrus(&mut self, token: Token, left: Parsed, value: Parsed) -> Parsed {
        let range = left.outer.cover(value.outer);
        let name = excerpt(self.text_of(left.outer)).into_owned();
        let text = excerpt(self.text_of(value.outer)).into_owned();
        self.refuse(token.range, "`:=` defines a name, and an expression defines none")
            .help(format!("define it in the signature, `let: {{{name}: \"{text}\"}}`"));
        self.error(vec![value], range)
    }

    pub(super) fn comparison(&mut self, first: Parsed) -> Parsed {
        let assigns = self.peek() == T::Assign;
        let mut refused = false;
        let mut operators = Vec::new();
        let mut operands = vec![first];
        while infix_power(self.peek(), self.nth(1)) == Some(power::COMPARE) {
            let comparison = self.comparison_operator();
            let right = self.expr(power::COMPARE + 1);
            operands.push(right);
            refused |= self.judge_comparison(comparison, &operands);
            operators.push(comparison);
        }
        self.compared(operands, operators, refused, assigns)
    }

    fn comparison_operator(&mut self) -> Comparison {
        let token = self.bump();
        let mut place = token.range;
        let mut negated = false;
        let op = match token.kind {
            T::EqEq | T::EqEqEq => Some(CompareOp::Eq),
            T::NotEq | T::NotEqEq | T::LtGt => Some(CompareOp::Ne),
            T::Lt => Some(CompareOp::Lt),
            T::Le => Some(CompareOp::Le),
            T::Gt => Some(CompareOp::Gt),
            T::Ge => Some(CompareOp::Ge),
            T::Reversed if self.text_of(token.range) == "=>" => Some(CompareOp::Ge),
            T::Reversed => Some(CompareOp::Le),
            T::In => Some(CompareOp::In),
            T::Not => {
                place = place.cover(self.bump().range);
                Some(CompareOp::NotIn)
            }
            _ => None,
        };
        if token.kind == T::Is && self.peek() == T::Not {
            place = place.cover(self.bump().range);
            negated = true;
        }
        self.respelled(token);
        Comparison { kind: token.kind, op, negated: negated || op == Some(CompareOp::Ne), place }
    }

    fn compared(&mut self, operands: Vec<Parsed>, operators: Vec<Comparison>, refused: bool, assigns: bool) -> Parsed {
        let range = cover_all(&operands);
        if refused {
            // A name before `=` may be what the author meant to define, one compared with `None` may be a tensor, and
            // `None` says nothing by itself: none of them is judged any further.
            let is_name = |p: &Parsed| matches!(p.expr.kind, ExprKind::Name(_));
            let with_none = operands.iter().any(|p| p.expr.kind == ExprKind::None);
            let defines = assigns && operands.first().is_some_and(is_name);
            let parts = operands.into_iter().skip(usize::from(defines));
            let kept = parts.filter(|p| p.expr.kind != ExprKind::None && !(with_none && is_name(p)));
            return self.error(kept.collect(), range);
        }
        let height = operands.iter().map(|p| p.height).max().unwrap_or(0);
        let mut operands = operands.into_iter().map(|p| p.expr);
        let Some(first) = operands.next() else { return self.error(Vec::new(), range) };
        let operators = operators.into_iter().map(|c| Spanned::new(c.op.unwrap_or(CompareOp::Eq), self.place(c.place)));
        let rest = operators.zip(operands.map(|operand| *operand)).collect();
        self.node(ExprKind::Compare(first, rest), range, height)
    }

    fn side(&self, parsed: &Parsed) -> Side {
        Side {
            outer: parsed.outer,
            is_none: parsed.expr.kind == ExprKind::None,
            is_name: matches!(parsed.expr.kind, ExprKind::Name(_)),
            note: self.note(parsed.note),
        }
    }

    /// Reports a comparison outside the language.
    fn judge_comparison(&mut self, comparison: Comparison, operands: &[Parsed]) -> bool {
        let [.., left, right] = operands else { return false };
        let (left, right) = (self.side(left), self.side(right));
        let Comparison { kind, op, negated, place } = comparison;
        let whole = left.outer.cover(right.outer);
        let equality = matches!(op, Some(CompareOp::Eq | CompareOp::Ne)) || kind == T::Is;
        match kind {
            T::Assign => {
                self.refuse(place, "`=` is not an operator of the language")
                    .help("write `==` to compare; a name is defined in the signature's `let`")
                    .instead("==")
                    .guess();
                return true;
            }
            T::Augmented => {
                let message = format!("`{}` assigns, and an expression assigns nothing", self.text_of(place));
                self.refuse(place, message);
                return true;
            }
            _ => {}
        }
        if equality && (left.is_none || right.is_none) {
            let operand = if right.is_none { left } else { right };
            let text = excerpt(self.text_of(operand.outer)).into_owned();
            let message = format!("`{}` is outside the language", excerpt(self.text_of(whole)));
            let not = if negated { "" } else { "not " };
            let help = if operand.is_name {
                format!("write `{not}present({text})`")
            } else if operand.is_none {
                "write `True` or `False`".to_owned()
            } else {
                format!("whether a parameter or a tensor `x` is passed is `{not}present(x)`")
            };
            let presence = operand.is_name.then(|| format!("{not}present({})", self.text_of(operand.outer)));
            let problem = self.refuse(whole, message).help(help);
            if let Some(presence) = presence {
                problem.instead(presence);
            }
            return true;
        }
        if kind == T::Is {
            let message = format!("`{}` is not an operator of the language", excerpt(self.text_of(place)));
            let write = if negated { "!=" } else { "==" };
            self.refuse(place, message).help(format!("write `{write}`")).instead(write);
            return true;
        }
        if !equality {
            return false;
        }
        match (left.note, right.note) {
            (Note::TensorShape { problem, .. }, Note::TensorShape { problem: second, .. }) => {
                self.widen(problem, whole, "compares shapes, and a shape is declared, not compared");
                if let Some(problem) = self.problems.get(problem) {
                    problem.help("give both tensors one shape term, such as `shape: \"[*S]\"`");
                }
                if let Some(second) = self.problems.get(second) {
                    second.withdraw();
                }
                false
            }
            (Note::TensorShape { problem, base }, _) | (_, Note::TensorShape { problem, base }) => {
                let other = if matches!(left.note, Note::TensorShape { .. }) { right } else { left };
                let axes = self.text_of(other.outer).trim();
                let axes = axes.strip_prefix(['(', '[']).and_then(|a| a.strip_suffix([')', ']'])).unwrap_or("*S");
                let axes = axes.trim().trim_end_matches(',');
                let help = format!(
                    "write it as the `shape` of `{}`: `shape: \"[{}]\"`",
                    excerpt(self.text_of(base)),
                    excerpt(axes)
                );
                self.widen(problem, whole, "compares a shape, and a shape is declared, not compared");
                if let Some(problem) = self.problems.get(problem) {
                    problem.help(help);
                }
                false
            }
            (Note::LenOfSet { problem, modulus, iterable }, _) | (_, Note::LenOfSet { problem, modulus, iterable }) => {
                let n = modulus.map_or("n".into(), |n| excerpt(self.text_of(n))).into_owned();
                let dim = excerpt(self.text_of(iterable)).into_owned();
                let not = if negated { "not " } else { "" };
                let call =
                    modulus.map(|n| format!("{not}unique_axes({}, {})", self.text_of(iterable), self.text_of(n)));
                self.widen(problem, whole, "builds a set, which is outside the language");
                if let Some(problem) = self.problems.get(problem) {
                    problem.help(format!("write `{not}unique_axes({dim}, {n})`"));
                    if let Some(call) = call {
                        problem.instead(call);
                    }
                }
                true
            }
            _ => false,
        }
    }

    /// Makes a problem one of the wider form that it is part of.
    fn widen(&mut self, problem: usize, whole: TextRange, why: &str) {
        let text = excerpt(self.text_of(whole)).into_owned();
        if let Some(problem) = self.problems.get(problem) {
            problem.range = whole;
            problem.message = format!("`{text}` {why}");
            problem.subject = text;
        }
    }

    /// A prefix operator and its operand, or a primary with what follows it.
    pub(super) fn operand(&mut self, min: u8) -> Parsed {
        match self.peek() {
            T::Minus | T::Not | T::Bang => self.unary(min),
            T::Plus | T::Tilde => self.refused_unary(),
            T::Star | T::DoubleStar if starts_operand(self.nth(1)) && self.may_spread() => self.refused_spread(),
            T::Lambda => self.lambda(),
            _ => {
                let primary = self.primary();
                self.postfixes(primary)
            }
        }
    }

    fn unary(&mut self, min: u8) -> Parsed {
        let token = self.prefix(min);
        let operand = self.expr(if token.kind == T::Not { power::NOT } else { power::UNARY });
        let op = if token.kind == T::Minus { UnaryOp::Neg } else { UnaryOp::Not };
        let range = token.range.cover(operand.outer);
        self.node(ExprKind::Unary(op, operand.expr), range, operand.height)
    }

    fn prefix(&mut self, min: u8) -> Token {
        let token = self.bump();
        self.respelled(token);
        if token.kind == T::Not
            && min > power::NOT
            && let Some(problem) = self.structural(token.range, "`not` binds weaker than the operator before it")
        {
            problem.help("put it in parentheses, `(not …)`");
        }
        token
    }

    fn refused_unary(&mut self) -> Parsed {
        let token = self.bump();
        let (message, help, instead) = match token.kind {
            T::Plus => ("a `+` before a value is outside the language", "leave it out", ""),
            _ => ("`~` is a bit operator, which is outside the language", "for conditions, write `not`", "not "),
        };
        self.refuse(token.range, message).help(help).instead(instead);
        let operand = self.expr(power::UNARY);
        let range = token.range.cover(operand.outer);
        self.error(vec![operand], range)
    }

    fn refused_spread(&mut self) -> Parsed {
        let star = self.bump();
        let operand = self.expr(power::BIT_OR);
        let range = star.range.cover(operand.outer);
        let text = self.text_of(star.range);
        self.refuse(range, format!("`{text}` spreads a sequence, and only a shape's brackets take that"))
            .help("in a shape, write `\"[*S, K]\"`; elsewhere, write the sequence without the star");
        self.error(vec![operand], range)
    }

    /// Whether a star here stands where an item starts, and not where an operand is missing.
    fn may_spread(&self) -> bool {
        self.previous().is_none_or(|p| matches!(p.kind, T::LParen | T::LBracket | T::LBrace | T::Comma))
    }

    fn lambda(&mut self) -> Parsed {
        let start = self.bump().range;
        while !matches!(self.peek(), T::Colon | T::End) && !is_closer(self.peek()) {
            self.bump();
        }
        let mut range = start.cover(self.previous().map_or(start, |t| t.range));
        if self.peek() == T::Colon {
            self.bump();
            // Its names may be the lambda's own, so nothing of it is kept.
            let body = self.expr(power::CONDITIONAL);
            range = range.cover(body.outer);
        }
        self.refuse(range, "`lambda` makes a function, and the language has no functions of its own")
            .help("name a value in the signature's `let`");
        self.error(Vec::new(), range)
    }
}

/// Whether an expression can stand next to any operator without parentheses.
fn is_operand(kind: &ExprKind) -> bool {
    matches!(
        kind,
        ExprKind::Name(_) | ExprKind::Int(_) | ExprKind::Call(_) | ExprKind::Index(..) | ExprKind::Attribute(..)
    )
}

fn arithmetic_of(kind: TokenKind) -> Option<BinaryOp> {
    Some(match kind {
        T::Plus => BinaryOp::Add,
        T::Minus => BinaryOp::Sub,
        T::Star => BinaryOp::Mul,
        T::DoubleSlash => BinaryOp::FloorDiv,
        T::Percent => BinaryOp::Mod,
        _ => return None,
    })
}
