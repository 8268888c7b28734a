//! Tokens to trees: precedence climbing over a token list, with every problem reported and none fatal.

use std::collections::hash_map::Entry;
use std::ops::ControlFlow;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::defect::codes::{EXPRESSION_LIMIT, REFUSED_FORM};
use crate::text::{Spanned, TextRange, TextSize};

use super::lexer::{self, Form, Token, TokenKind, TokenKind as T};
use super::problem::{Problem, Problems, excerpt};
use super::{
    BinaryOp, BoolOp, Call, CompareOp, Comprehension, Expr, ExprKind, Ident, MAX_DEPTH, Source, TypeExpr, TypeExprKind,
    UnaryOp,
};

/// How tightly an operator binds; the order is Python's.
mod power {
    pub(super) const ANY: u8 = 0;
    pub(super) const CONDITIONAL: u8 = 1;
    pub(super) const OR: u8 = 2;
    pub(super) const AND: u8 = 3;
    pub(super) const NOT: u8 = 4;
    pub(super) const COMPARE: u8 = 5;
    pub(super) const BIT_OR: u8 = 6;
    pub(super) const BIT_XOR: u8 = 7;
    pub(super) const BIT_AND: u8 = 8;
    pub(super) const SHIFT: u8 = 9;
    pub(super) const SUM: u8 = 10;
    pub(super) const PRODUCT: u8 = 11;
    pub(super) const UNARY: u8 = 12;
    pub(super) const POWER: u8 = 13;
}

/// The functions that take a comprehension.
const COMPREHENSION_CALLEES: &[&str] = &["all", "sum", "max", "min"];

/// What an expression reads of a tensor in Python, and what stands for it here.
const TENSOR_ATTRIBUTES: &[(&str, &str)] = &[
    ("shape", "give the tensor a `shape` whose axes are named, such as `\"[B, S]\"`, and read those names"),
    (
        "dtype",
        "give the tensor a `dtype` that is an index of `forall`, such as `T: \"DType[float16 | bfloat16]\"`, and read that name",
    ),
    ("ndim", "give the tensor a `shape` with a splice, such as `\"[*S]\"`, and write `len(S)`"),
    ("size", "give the tensor a `shape` whose axes are named, such as `\"[B, S]\"`, and read those names"),
    ("device", "a tensor's `device` is a key of its own, and no expression reads it"),
    ("itemsize", "in a roofline, `bytes(x)` is the size of the tensor `x`"),
    ("nbytes", "in a roofline, `bytes(x)` is the size of the tensor `x`"),
    ("T", "a transposed tensor is one whose `shape` names the axes in the other order"),
    ("mT", "a transposed tensor is one whose `shape` names the axes in the other order"),
    ("is_cuda", "a tensor's `device` is a key of its own, and no expression reads it"),
    ("requires_grad", "no expression reads it"),
];

/// Methods of tensors and tuples that formulas are often written with, and what stands for them here.
const METHODS: &[(&str, &str)] = &[
    ("size", "give the tensor a `shape` whose axes are named, such as `\"[B, S]\"`, and read those names"),
    ("dim", "give the tensor a `shape` with a splice, such as `\"[*S]\"`, and write `len(S)`"),
    ("ndimension", "give the tensor a `shape` with a splice, such as `\"[*S]\"`, and write `len(S)`"),
    ("numel", "give the tensor a `shape` with a splice, such as `\"[*S]\"`, and write `prod(S)`"),
    ("nelement", "give the tensor a `shape` with a splice, such as `\"[*S]\"`, and write `prod(S)`"),
    ("prod", "write `prod(s)` with the sequence as the argument"),
    ("sum", "write `sum(s)` with the sequence as the argument"),
    ("max", "write `max(s)` with the sequence as the argument"),
    ("min", "write `min(s)` with the sequence as the argument"),
    ("element_size", "in a roofline, `bytes(x)` is the size of the tensor `x`"),
    ("is_contiguous", "write `contiguous: true` in the tensor's declaration"),
    ("stride", "write `contiguous: true` in the tensor's declaration"),
    ("is_floating_point", "write `category(T) == 'float'` for the tensor's dtype `T`"),
    ("is_complex", "write `category(T) == 'complex'` for the tensor's dtype `T`"),
];

/// A tree in the making.
#[derive(Debug)]
pub(super) struct Parsed {
    pub(super) expr: Box<Expr>,
    /// Its height as a tree.
    height: usize,
    /// Where it stands in the decoded text, parentheses around it included.
    pub(super) outer: TextRange,
    /// The position of its note.
    note: usize,
}

/// What a form outside the language was, for the form around it.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Note {
    Plain,
    /// `base.shape` and the like.
    TensorShape {
        problem: usize,
        base: TextRange,
    },
    /// `{element for … in iterable}`; of an `a % n` element, the place of `n`.
    SetComprehension {
        problem: usize,
        modulus: Option<TextRange>,
        iterable: TextRange,
    },
    /// `len` of that.
    LenOfSet {
        problem: usize,
        modulus: Option<TextRange>,
        iterable: TextRange,
    },
}

/// An open bracket.
#[derive(Debug, Clone, Copy)]
struct Opener {
    kind: TokenKind,
    range: TextRange,
}

pub(super) struct Parser<'a> {
    source: &'a Source<'a>,
    pub(super) text: &'a str,
    tokens: Vec<Token>,
    cut_short: bool,
    at: usize,
    depth: usize,
    openers: Vec<Opener>,
    pub(super) problems: Problems,
    pub(super) form: Form,
    /// A structural problem was just reported: what follows it is not judged until the text makes sense again.
    pub(super) panicking: bool,
    /// How many structural problems there were, those not reported included.
    pub(super) disorder: usize,
    /// A limit was reached: nothing more is read.
    stopped: bool,
    /// What forms outside the language were; the first says nothing.
    notes: Vec<Note>,
}

/// The position of the note that says nothing.
const PLAIN: usize = 0;

impl<'a> Parser<'a> {
    pub(super) fn new(source: &'a Source<'a>, form: Form) -> Self {
        let mut problems = Problems::default();
        let lexed = lexer::lex(source.text(), form, &mut problems);
        Parser {
            source,
            text: source.text(),
            tokens: lexed.tokens,
            cut_short: lexed.cut_short,
            at: 0,
            depth: 0,
            openers: Vec::new(),
            problems,
            form,
            panicking: false,
            disorder: 0,
            stopped: false,
            notes: vec![Note::Plain],
        }
    }

    // Tokens.

    pub(super) fn token(&self, ahead: usize) -> Token {
        // The list is never empty: it ends with `End`.
        let end = self.tokens.len() - 1;
        let position = if self.stopped { end } else { (self.at + ahead).min(end) };
        self.tokens[position]
    }

    pub(super) fn peek(&self) -> TokenKind {
        self.token(0).kind
    }

    pub(super) fn nth(&self, ahead: usize) -> TokenKind {
        self.token(ahead).kind
    }

    pub(super) fn bump(&mut self) -> Token {
        let token = self.token(0);
        if token.kind != T::End {
            self.at += 1;
        }
        token
    }

    pub(super) fn previous(&self) -> Option<Token> {
        self.at.checked_sub(1).and_then(|at| self.tokens.get(at)).copied()
    }

    /// Whether the text has no tokens at all.
    pub(super) fn is_blank(&self) -> bool {
        self.at == 0 && self.peek() == T::End && !self.stopped
    }

    pub(super) fn text_of(&self, range: TextRange) -> &'a str {
        self.text.get(usize::from(range.start())..usize::from(range.end())).unwrap_or("")
    }

    pub(super) fn shown(&self, token: Token) -> String {
        if token.kind == T::End { "the end".to_owned() } else { format!("`{}`", excerpt(self.text_of(token.range))) }
    }

    pub(super) fn place(&self, range: TextRange) -> TextRange {
        self.source.place(range)
    }

    // Problems.

    /// Reports a structural problem, unless it follows from the one before.
    pub(super) fn structural(&mut self, range: TextRange, message: impl Into<String>) -> Option<&mut Problem> {
        self.disorder += 1;
        if self.stopped || std::mem::replace(&mut self.panicking, true) {
            return None;
        }
        let subject = excerpt(self.text_of(range)).into_owned();
        Some(self.problems.report(self.form.code, range, subject, message))
    }

    pub(super) fn refuse(&mut self, range: TextRange, message: impl Into<String>) -> &mut Problem {
        let subject = excerpt(self.text_of(range)).into_owned();
        self.problems.report(&REFUSED_FORM, range, subject, message)
    }

    /// Something is missing before the next token, or behind the one before it.
    fn missing_operand(&mut self) {
        let found = self.token(0);
        let ends = matches!(
            found.kind,
            T::End | T::Comma | T::Colon | T::RParen | T::RBracket | T::RBrace | T::Else | T::For | T::Semicolon
        );
        if found.kind == T::End && (!self.openers.is_empty() || self.cut_short) || is_closer(found.kind) && self.at == 0
        {
            // The text breaks off, or starts with a bracket that closes nothing; that is said at the bracket.
            self.disorder += 1;
            return;
        }
        match self.previous() {
            Some(previous) if ends && takes_operand(previous.kind) => {
                let message = format!("{} lacks the value after it", self.shown(previous));
                self.structural(previous.range, message);
            }
            _ => {
                let message = format!("expected a value, found {}", self.shown(found));
                self.structural(found.range, message);
            }
        }
    }

    fn limit(&mut self) -> Parsed {
        let range = self.token(0).range;
        if !self.stopped {
            let message = format!("the {} nests deeper than {MAX_DEPTH} levels here", self.form.noun);
            let subject = excerpt(self.text_of(range)).into_owned();
            self.problems.report(&EXPRESSION_LIMIT, range, subject, message).help("name a part of it in `let`");
            self.stopped = true;
            self.disorder += 1;
        }
        // Nothing of what comes is in the tree.
        self.nothing()
    }

    // Nodes.

    fn parsed(&self, kind: ExprKind, range: TextRange, height: usize) -> Parsed {
        Parsed { expr: Box::new(Expr::new(kind, self.place(range))), height, outer: range, note: PLAIN }
    }

    fn leaf(&self, kind: ExprKind, range: TextRange) -> Parsed {
        self.parsed(kind, range, 1)
    }

    /// A node over operands of which the highest has `height`.
    fn node(&mut self, kind: ExprKind, range: TextRange, height: usize) -> Parsed {
        if height >= MAX_DEPTH {
            return self.limit();
        }
        self.parsed(kind, range, height + 1)
    }

    /// A place where nothing is.
    fn nothing(&mut self) -> Parsed {
        let at = self.last_end();
        self.error(Vec::new(), TextRange::empty(at))
    }

    /// A place outside the language, with what could be read in it.
    fn error(&mut self, parts: Vec<Parsed>, range: TextRange) -> Parsed {
        let height = parts.iter().map(|p| p.height).max().unwrap_or(0);
        let parts = parts.into_iter().map(|p| *p.expr).collect();
        if height >= MAX_DEPTH {
            return self.limit();
        }
        self.parsed(ExprKind::Error(parts), range, height + 1)
    }

    fn noted(&mut self, mut parsed: Parsed, note: Note) -> Parsed {
        parsed.note = self.notes.len();
        self.notes.push(note);
        parsed
    }

    fn note(&self, position: usize) -> Note {
        self.notes.get(position).copied().unwrap_or(Note::Plain)
    }

    // Brackets.

    pub(super) fn open(&mut self) -> TextRange {
        let token = self.bump();
        self.openers.push(Opener { kind: token.kind, range: token.range });
        self.panicking = false;
        token.range
    }

    /// Closes the innermost bracket; gives the place of its closing one, or of where it should be.
    pub(super) fn close(&mut self) -> TextRange {
        let Some(opener) = self.openers.pop() else { return self.token(0).range };
        let found = self.token(0);
        if found.kind == closer_of(opener.kind) {
            self.bump();
            return found.range;
        }
        let elsewhere = self.openers.iter().any(|outer| closer_of(outer.kind) == found.kind);
        let open = self.text_of(opener.range);
        if found.kind == T::End || elsewhere || !is_closer(found.kind) {
            self.disorder += 1;
            if !(self.stopped || self.cut_short && found.kind == T::End) {
                let message = format!("`{open}` is never closed");
                self.problems.report(self.form.code, opener.range, open, message);
                self.panicking = true;
            }
            return TextRange::empty(self.previous().map_or(opener.range.end(), |t| t.range.end()));
        }
        self.bump();
        self.disorder += 1;
        let shown = self.text_of(found.range);
        self.problems
            .report(self.form.code, found.range, shown, format!("`{shown}` does not close `{open}`"))
            .related(opener.range, format!("`{open}` is opened here"));
        self.panicking = true;
        found.range
    }

    /// Whether the list of the innermost bracket ends here.
    pub(super) fn at_close(&self) -> bool {
        self.peek() == T::End || is_closer(self.peek())
    }

    /// Reads items between commas up to a closing bracket. Gives the number of commas.
    pub(super) fn separated<A>(&mut self, items: &mut A, item: fn(&mut Self, &mut A)) -> usize {
        let mut commas = 0;
        while !self.at_close() {
            if self.peek() == T::Comma {
                self.missing_operand();
            } else {
                item(self, items);
            }
            if self.peek() == T::Comma {
                self.bump();
                self.panicking = false;
                commas += 1;
                continue;
            }
            if self.at_close() {
                break;
            }
            self.expected_comma();
            self.skip_junk();
            if self.peek() == T::Comma {
                self.bump();
                self.panicking = false;
                commas += 1;
            }
        }
        commas
    }

    fn expected_comma(&mut self) {
        let found = self.token(0);
        let closer = self.openers.last().map_or("the end".to_owned(), |o| format!("`{}`", closer_text(o.kind)));
        let message = format!("expected `,` or {closer}, found {}", self.shown(found));
        self.structural(found.range, message);
    }

    /// Passes over what cannot belong where it stands, up to a comma or a closing bracket.
    fn skip_junk(&mut self) {
        while !self.at_close() && self.peek() != T::Comma {
            if starts_operand(self.peek()) {
                self.expr(power::ANY);
            } else {
                self.bump();
            }
        }
    }

    // Expressions.

    /// A whole text as one expression.
    pub(super) fn whole(&mut self) -> Expr {
        if self.is_blank() {
            return self.blank();
        }
        let mut left = self.expr(power::ANY);
        loop {
            let found = self.token(0);
            match found.kind {
                T::End => return *left.expr,
                T::Comma => left = self.bare_tuple(left),
                _ => left = self.trailing(left),
            }
        }
    }

    /// The node of a text without tokens. White space alone is a defect; strays have had theirs.
    fn blank(&mut self) -> Expr {
        let whole = TextRange::up_to(TextSize::of(self.text));
        if self.problems.is_empty() {
            let message = format!("the {} is empty", self.form.noun);
            self.problems.report(self.form.code, whole, "", message);
        }
        Expr::new(ExprKind::Error(Vec::new()), self.place(whole))
    }

    /// Reports a token that cannot follow a whole expression, and goes on behind it.
    fn trailing(&mut self, left: Parsed) -> Parsed {
        let found = self.bump();
        let shown = self.shown(found);
        if is_closer(found.kind) {
            self.disorder += 1;
            let subject = self.text_of(found.range);
            self.problems.report(self.form.code, found.range, subject, format!("{shown} closes nothing"));
            self.panicking = true;
            return self.infixes(left, power::ANY);
        }
        if found.kind == T::For {
            self.at -= 1;
            let start = left.outer;
            let iterable = self.comprehension_clause();
            let range = start.cover(self.previous().map_or(start, |t| t.range));
            if iterable.is_some() {
                self.misplaced_comprehension(range);
            }
            return self.error(iterable.map(|(_, iterable)| iterable).into_iter().collect(), range);
        }
        self.structural(found.range, format!("expected an operator or the end, found {shown}"));
        let start = left.outer.start();
        let mut parts = vec![left];
        if starts_operand(self.peek()) {
            parts.push(self.expr(power::ANY));
        }
        let end = parts.last().map_or(start, |p| p.outer.end());
        let range = TextRange::new(start, end.max(found.range.end()));
        self.error(parts, range)
    }

    fn bare_tuple(&mut self, first: Parsed) -> Parsed {
        let start = first.outer.start();
        let comma = self.token(0).range;
        let mut parts = vec![first];
        while self.peek() == T::Comma {
            self.bump();
            self.panicking = false;
            if self.peek() != T::End && self.peek() != T::Comma {
                parts.push(self.expr(power::ANY));
            }
        }
        let end = self.previous().map_or(start, |t| t.range.end());
        let range = TextRange::new(start, end.max(start));
        let mut items: Vec<&str> = parts.iter().map(|p| self.text_of(p.outer)).collect();
        let text = if items.len() == 1 { format!("({},)", items.remove(0)) } else { format!("({})", items.join(", ")) };
        self.disorder += 1;
        self.problems
            .report(self.form.code, comma, ",", "a tuple needs parentheses around it")
            .help(format!("write `{}`", excerpt(&text)));
        self.error(parts, range)
    }

    pub(super) fn expr(&mut self, min: u8) -> Parsed {
        if self.depth >= MAX_DEPTH {
            return self.limit();
        }
        self.depth += 1;
        let left = self.operand(min);
        let whole = self.infixes(left, min);
        self.depth -= 1;
        whole
    }

    /// What a star spreads.
    pub(super) fn spread(&mut self) -> Parsed {
        self.expr(power::BIT_OR)
    }

    fn infixes(&mut self, mut left: Parsed, min: u8) -> Parsed {
        loop {
            match self.infix(left, min) {
                ControlFlow::Continue(wider) => left = wider,
                ControlFlow::Break(whole) => return whole,
            }
        }
    }

    /// One operator and its right operand behind `left`, if one that binds at least as tightly as `min` is there.
    fn infix(&mut self, left: Parsed, min: u8) -> ControlFlow<Parsed, Parsed> {
        let kind = self.peek();
        let Some(power) = infix_power(kind, self.nth(1)) else {
            if min == power::ANY && starts_operand(kind) {
                return ControlFlow::Continue(self.juxtaposed(left));
            }
            return ControlFlow::Break(left);
        };
        if power < min || kind == T::Not && self.nth(1) != T::In && min != power::ANY {
            return ControlFlow::Break(left);
        }
        if !matches!(left.expr.kind, ExprKind::Error(_)) {
            self.panicking = false;
        }
        ControlFlow::Continue(match power {
            power::CONDITIONAL if kind == T::If => self.conditional(left),
            power::CONDITIONAL => self.question(left),
            power::OR => self.bools(left, BoolOp::Or, power),
            power::AND => self.bools(left, BoolOp::And, power),
            power::COMPARE => self.comparison(left),
            power::ANY => self.walrus(left),
            _ => self.arithmetic(left, power),
        })
    }

    fn arithmetic(&mut self, left: Parsed, power: u8) -> Parsed {
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
            if let Some(problem) = self.problems.get(problem) {
                problem.help(help);
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
    fn juxtaposed(&mut self, left: Parsed) -> Parsed {
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

    fn bools(&mut self, first: Parsed, op: BoolOp, power: u8) -> Parsed {
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
        self.refuse(token.range, message).help(format!("write `{write}`"));
    }

    fn conditional(&mut self, then: Parsed) -> Parsed {
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
    fn question(&mut self, condition: Parsed) -> Parsed {
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
        let help = match parts.as_slice() {
            [condition, then, otherwise] => {
                let text = |p: &Parsed| self.text_of(p.outer);
                let whole = format!("{} if {} else {}", text(then), text(condition), text(otherwise));
                format!("write `{}`", excerpt(&whole))
            }
            _ => "a conditional is written `a if condition else b`".to_owned(),
        };
        self.refuse(mark.range, "`?` is not an operator of the language").help(help);
        let range = cover_all(&parts);
        self.error(parts, range)
    }

    /// `name := value`, and `a not b`, which is no operator at all.
    fn walrus(&mut self, left: Parsed) -> Parsed {
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

    fn comparison(&mut self, first: Parsed) -> Parsed {
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
                    .help("write `==` to compare; a name is defined in the signature's `let`");
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
            self.refuse(whole, message).help(help);
            return true;
        }
        if kind == T::Is {
            let message = format!("`{}` is not an operator of the language", excerpt(self.text_of(place)));
            self.refuse(place, message).help(format!("write `{}`", if negated { "!=" } else { "==" }));
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
                true
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
                true
            }
            (Note::LenOfSet { problem, modulus, iterable }, _) | (_, Note::LenOfSet { problem, modulus, iterable }) => {
                let n = modulus.map_or("n".into(), |n| excerpt(self.text_of(n))).into_owned();
                let dim = excerpt(self.text_of(iterable)).into_owned();
                self.widen(problem, whole, "builds a set, which is outside the language");
                if let Some(problem) = self.problems.get(problem) {
                    problem.help(format!("write `{}unique_axes({dim}, {n})`", if negated { "not " } else { "" }));
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
    fn operand(&mut self, min: u8) -> Parsed {
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
        let (message, help) = match token.kind {
            T::Plus => ("a `+` before a value is outside the language", "leave it out"),
            _ => ("`~` is a bit operator, which is outside the language", "for conditions, write `not`"),
        };
        self.refuse(token.range, message).help(help);
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

    fn primary(&mut self) -> Parsed {
        match self.peek() {
            T::LParen => self.group(),
            T::LBracket => self.list(),
            T::LBrace => self.braces(),
            T::BadCharacter => self.bad_character(),
            _ => self.atom(),
        }
    }

    /// A primary of one token.
    fn atom(&mut self) -> Parsed {
        let token = self.token(0);
        let range = token.range;
        let text = self.text_of(range);
        let kind = match token.kind {
            T::Name if text == "inf" => ExprKind::Float(f64::INFINITY),
            T::Name => ExprKind::Name(Arc::from(text)),
            T::Int => match lexer::int_value(text) {
                Some(value) => ExprKind::Int(value),
                None => {
                    let message = format!("`{}` does not fit a 128-bit integer", excerpt(text));
                    self.problems.report(self.form.code, range, excerpt(text), message);
                    ExprKind::Error(Vec::new())
                }
            },
            T::Float => match lexer::float_value(text) {
                Some(value) => ExprKind::Float(value),
                None => {
                    let message = format!("`{}` is beyond the largest float", excerpt(text));
                    self.problems.report(self.form.code, range, excerpt(text), message).help("infinity is `inf`");
                    ExprKind::Error(Vec::new())
                }
            },
            T::True => ExprKind::Bool(true),
            T::False => ExprKind::Bool(false),
            T::None => ExprKind::None,
            T::String => return self.string(),
            T::Ellipsis => {
                self.refuse(range, "`...` is outside the language");
                ExprKind::Error(Vec::new())
            }
            T::Reserved => {
                self.structural(range, format!("`{text}` is a keyword of Python, and no name"));
                ExprKind::Error(Vec::new())
            }
            T::BadOperand => {
                self.disorder += 1;
                ExprKind::Error(Vec::new())
            }
            _ => {
                self.missing_operand();
                return self.nothing();
            }
        };
        self.bump();
        self.leaf(kind, range)
    }

    fn bad_character(&mut self) -> Parsed {
        let range = self.bump().range;
        self.disorder += 1;
        self.panicking = true;
        if !starts_operand(self.peek()) {
            return self.error(Vec::new(), range);
        }
        let operand = self.expr(power::UNARY);
        let range = range.cover(operand.outer);
        self.error(vec![operand], range)
    }

    fn string(&mut self) -> Parsed {
        let token = self.bump();
        let text = self.text_of(token.range);
        let (value, bad) = lexer::string_value(text);
        let whole = bad.is_empty();
        for (place, why) in bad {
            let shown = text.get(place.clone()).unwrap_or("");
            let start = token.range.start();
            // Both offsets lie in the token, whose offsets fit.
            let at = |offset: usize| start + TextSize::new(offset as u32);
            let range = TextRange::new(at(place.start), at(place.end));
            let problem = self.problems.report(
                self.form.code,
                range,
                excerpt(shown),
                format!("`{}` {why} of a string", excerpt(shown)).replace("digits of a string", "digits"),
            );
            problem.help("a backslash itself is written `\\\\`");
        }
        let mut range = token.range;
        if self.peek() == T::String {
            let mut joined = value;
            while self.peek() == T::String {
                let next = self.bump();
                joined.push_str(&lexer::string_value(self.text_of(next.range)).0);
                range = range.cover(next.range);
            }
            let help = format!("write one string, `{}`", excerpt(&super::print::quoted(&joined)));
            self.refuse(range, "strings side by side are outside the language").help(help);
            return self.error(Vec::new(), range);
        }
        if !whole {
            return self.error(Vec::new(), range);
        }
        self.leaf(ExprKind::Str(Arc::from(value)), range)
    }

    fn group(&mut self) -> Parsed {
        let open = self.open();
        let mut items = Items::default();
        let before = self.disorder;
        let commas = self.separated(&mut items, Self::item);
        self.grouped(open, items, commas, self.disorder != before)
    }

    fn grouped(&mut self, open: TextRange, mut items: Items, commas: usize, disorder: bool) -> Parsed {
        let closes = self.peek() == T::RParen;
        let range = open.cover(self.close());
        if let Some((_, iterable)) = items.comprehension {
            self.misplaced_comprehension(range);
            return self.error(vec![iterable], range);
        }
        if commas == 0
            && let [_] = items.list.as_slice()
            && let Some(mut only) = items.list.pop()
        {
            only.outer = range;
            return only;
        }
        // An opening bracket and nothing else is no empty tuple.
        if disorder || !closes && items.list.is_empty() {
            return self.error(items.list, range);
        }
        let height = items.list.iter().map(|p| p.height).max().unwrap_or(0);
        let items = items.list.into_iter().map(|p| *p.expr).collect();
        self.node(ExprKind::Tuple(items), range, height)
    }

    /// An item of a display, with the `for` that may follow it.
    fn item(&mut self, items: &mut Items) {
        let item = self.expr(power::ANY);
        match self.peek() {
            T::For => self.comprehension_of(item, items),
            T::Colon if items.braces => {
                self.bump();
                items.dict = true;
                items.list.push(item);
                let value = self.expr(power::ANY);
                if self.peek() == T::For {
                    self.comprehension_of(value, items);
                } else {
                    items.list.push(value);
                }
            }
            _ => items.list.push(item),
        }
    }

    /// The element is not kept: the names in it may be the comprehension's own.
    fn comprehension_of(&mut self, element: Parsed, items: &mut Items) {
        let modulus = self.modulus_of(&element);
        if let Some((_, iterable)) = self.comprehension_clause() {
            items.comprehension = Some((element.outer, iterable));
            items.modulus = modulus;
        }
    }

    /// The place of `n` in an element `a % n`.
    fn modulus_of(&self, element: &Parsed) -> Option<TextRange> {
        let ExprKind::Binary(BinaryOp::Mod, ..) = element.expr.kind else { return None };
        let text = self.text_of(element.outer);
        let behind = text.rfind('%')? + 1;
        let n = text.get(behind..)?.trim_end();
        let leading = n.len() - n.trim_start().len();
        // Offsets in a text that is lexed fit.
        let start = element.outer.start() + TextSize::new((behind + leading) as u32);
        Some(TextRange::at(start, TextSize::of(n.trim_start())))
    }

    /// An item where no comprehension can stand.
    pub(super) fn item_outside_comprehension(&mut self, items: &mut Items) {
        let before = items.has_comprehension();
        let start = self.token(0).range;
        self.item(items);
        if items.has_comprehension() && !before {
            let range = TextRange::new(start.start(), self.last_end().max(start.end()));
            self.misplaced_comprehension(range);
        }
    }

    fn misplaced_comprehension(&mut self, range: TextRange) {
        self.refuse(range, "a comprehension stands only as the argument of `all`, `sum`, `max` or `min`")
            .help("write it in the call, without brackets of its own: `sum(f(x) for x in s)`");
    }

    /// `[…]` where a value is expected.
    fn list(&mut self) -> Parsed {
        let open = self.open();
        let mut items = Items::default();
        self.separated(&mut items, Self::item);
        self.refused_list(open, items)
    }

    fn refused_list(&mut self, open: TextRange, items: Items) -> Parsed {
        let before = self.disorder;
        let range = open.cover(self.close());
        if self.disorder != before {
            let parts = items.into_list();
            return self.error(parts, range);
        }
        if let Some((_, iterable)) = items.comprehension {
            self.misplaced_comprehension(range);
            return self.error(vec![iterable], range);
        }
        let help = match items.list.as_slice() {
            [] => "write the empty tuple `()`".to_owned(),
            [one] => format!("write the tuple `({},)`", excerpt(self.text_of(one.outer))),
            many => {
                let texts: Vec<&str> = many.iter().map(|p| self.text_of(p.outer)).collect();
                format!("write the tuple `({})`", excerpt(&texts.join(", ")))
            }
        };
        self.refuse(range, "a list is outside the language").help(help);
        self.error(items.list, range)
    }

    /// `{…}`
    fn braces(&mut self) -> Parsed {
        let open = self.open();
        let mut items = Items { braces: true, ..Items::default() };
        self.separated(&mut items, Self::item);
        self.refused_braces(open, items)
    }

    fn refused_braces(&mut self, open: TextRange, items: Items) -> Parsed {
        let before = self.disorder;
        let range = open.cover(self.close());
        if self.disorder != before {
            let parts = items.into_list();
            return self.error(parts, range);
        }
        let what =
            if items.dict || items.list.is_empty() && items.comprehension.is_none() { "dictionary" } else { "set" };
        let texts: Vec<&str> = items.list.iter().map(|p| self.text_of(p.outer)).collect();
        let tuple = match texts.as_slice() {
            [one] => format!("({one},)"),
            many => format!("({})", many.join(", ")),
        };
        let problem = self.refuse(range, format!("a {what} is outside the language"));
        if what == "set" && items.comprehension.is_none() {
            problem.help(format!("write the tuple `{}`", excerpt(&tuple)));
        } else if what == "set" {
            problem.help("whether axes are distinct is `unique_axes(dim, n)`");
        }
        let problem = self.problems.last();
        let Some((_, iterable)) = items.comprehension else { return self.error(items.list, range) };
        let note = Note::SetComprehension { problem, modulus: items.modulus, iterable: iterable.outer };
        let set = self.error(vec![iterable], range);
        self.noted(set, note)
    }

    // What follows a primary.

    fn postfixes(&mut self, mut base: Parsed) -> Parsed {
        loop {
            base = match self.peek() {
                T::LParen => self.call(base),
                T::LBracket => self.subscript(base),
                T::Dot => self.attribute(base),
                _ => return base,
            };
        }
    }

    fn attribute(&mut self, base: Parsed) -> Parsed {
        let dot = self.bump();
        let token = self.token(0);
        let text = self.text_of(token.range);
        if !matches!(token.kind, T::Name) {
            let is_word = text.starts_with(|c: char| c.is_ascii_alphabetic()) && token.kind != T::BadOperand;
            if is_word {
                self.structural(token.range, format!("`{text}` is a keyword of Python, and no name"));
                self.bump();
            } else if token.kind == T::BadOperand {
                self.disorder += 1;
                self.bump();
            } else {
                self.structural(dot.range, "`.` lacks the name after it");
            }
            let range = base.outer.cover(self.previous().map_or(dot.range, |t| t.range));
            return self.error(vec![base], range);
        }
        self.bump();
        let range = base.outer.cover(token.range);
        if self.peek() != T::LParen
            && let Some((_, help)) = TENSOR_ATTRIBUTES.iter().find(|(name, _)| *name == text)
        {
            let whole = excerpt(self.text_of(range));
            self.refuse(range, format!("`{whole}` reads an attribute of a tensor, which is outside the language"))
                .help(*help);
            let note = Note::TensorShape { problem: self.problems.last(), base: base.outer };
            // A tensor's name stands nowhere else in an expression, so it is not judged as one.
            let is_name = matches!(base.expr.kind, ExprKind::Name(_));
            let read = self.error(if is_name { Vec::new() } else { vec![base] }, range);
            return if text == "shape" { self.noted(read, note) } else { read };
        }
        let name = Spanned::new(Arc::from(text), self.place(token.range));
        let height = base.height;
        self.node(ExprKind::Attribute(base.expr, name), range, height)
    }

    fn subscript(&mut self, base: Parsed) -> Parsed {
        let open = self.open();
        let mut subscript = Subscript { disorder: self.disorder, ..Subscript::default() };
        if self.peek() != T::Colon && !self.at_close() {
            subscript.from = Some(self.expr(power::ANY));
        }
        while self.peek() == T::Colon {
            let colon = self.bump();
            subscript.colons += 1;
            if subscript.colons == 2 {
                self.refuse(colon.range, "a slice has no step");
            }
            if self.peek() == T::Colon || self.peek() == T::Comma || self.at_close() {
                continue;
            }
            let bound = self.expr(power::ANY);
            if subscript.colons == 1 { subscript.to = Some(bound) } else { subscript.more.push(bound) }
        }
        if !self.at_close() {
            self.subscript_junk(&mut subscript);
        }
        self.subscripted(base, open, subscript)
    }

    fn subscript_junk(&mut self, subscript: &mut Subscript) {
        let found = self.token(0);
        if found.kind == T::Comma {
            self.refuse(found.range, "a subscript has one index").help("subscript twice: `s[i][j]`");
            self.disorder += 1;
        } else {
            let message = format!("expected `]`, found {}", self.shown(found));
            self.structural(found.range, message);
        }
        self.bump();
        let mut more = Items::default();
        while !self.at_close() {
            if self.peek() == T::Comma || self.peek() == T::Colon {
                self.bump();
            } else {
                self.separated(&mut more, Self::axis_index);
            }
        }
        subscript.more.append(&mut more.list);
    }

    fn subscripted(&mut self, base: Parsed, open: TextRange, subscript: Subscript) -> Parsed {
        let closed = self.peek() == T::RBracket;
        let range = open.cover(self.close());
        let Subscript { from, to, mut more, colons, disorder } = subscript;
        if closed && from.is_none() && colons == 0 && disorder == self.disorder {
            self.structural(range, "`[]` has no index in it");
        }
        let range = base.outer.cover(range);
        if colons > 1 || self.disorder != disorder {
            let mut all = vec![base];
            all.extend(from);
            all.extend(to);
            all.append(&mut more);
            return self.error(all, range);
        }
        let height =
            [Some(&base), from.as_ref(), to.as_ref()].into_iter().flatten().map(|p| p.height).max().unwrap_or(0);
        let kind = match (colons, from) {
            (0, Some(index)) => ExprKind::Index(base.expr, index.expr),
            (_, from) => ExprKind::Slice(base.expr, from.map(|p| p.expr), to.map(|p| p.expr)),
        };
        self.node(kind, range, height)
    }

    /// An index or a slice behind the first comma of a subscript.
    fn axis_index(&mut self, items: &mut Items) {
        while self.peek() == T::Colon {
            self.bump();
        }
        if !self.at_close() && self.peek() != T::Comma {
            let index = self.expr(power::ANY);
            items.list.push(index);
        }
        while self.peek() == T::Colon {
            self.bump();
            if !self.at_close() && self.peek() != T::Comma && self.peek() != T::Colon {
                let bound = self.expr(power::ANY);
                items.list.push(bound);
            }
        }
    }

    fn call(&mut self, base: Parsed) -> Parsed {
        let open = self.open();
        let before = self.disorder;
        let mut args = Arguments::default();
        let commas = self.separated(&mut args, Self::argument);
        self.called(base, open, args, commas, before)
    }

    fn called(&mut self, base: Parsed, open: TextRange, mut args: Arguments, commas: usize, before: usize) -> Parsed {
        let callee = dotted(&base.expr);
        let range = base.outer.cover(open).cover(self.close());
        let disorder = self.disorder != before;
        let callee = match callee {
            Some(name) if base.expr.range == self.place(base.outer) => name,
            _ => {
                self.not_a_function(&base, open, range);
                let mut parts = vec![base];
                parts.append(&mut args.into_parts());
                return self.error(parts, range);
            }
        };
        if self.refused_call(&callee, &base, &args, range) {
            let keep = if callee == "isinstance" { Vec::new() } else { args.into_parts() };
            return self.error(keep, range);
        }
        self.judge_arguments(&args);
        let callee_is_len = callee == "len";
        let callee = Spanned::new(Arc::from(callee), base.expr.range);
        if let Some((variable, iterable)) = args.comprehension.take() {
            let sole = args.positional.is_empty() && args.keywords.is_empty();
            let takes = COMPREHENSION_CALLEES.contains(&&*callee.value);
            if !takes || !sole || commas > 0 {
                let place = args.comprehension_range;
                let message = if takes && sole {
                    format!("a comprehension is the only argument of `{}`, without a comma behind it", callee.value)
                } else if takes {
                    format!("a comprehension is the only argument of `{}`", callee.value)
                } else {
                    format!("a comprehension is no argument of `{}`", callee.value)
                };
                let problem = self.refuse(place, message);
                problem.help(if takes && sole {
                    "leave the comma out"
                } else if takes {
                    "for an empty sequence, write a conditional around the call"
                } else {
                    "a comprehension stands only as the argument of `all`, `sum`, `max` or `min`"
                });
                let mut parts = args.into_parts();
                parts.push(iterable);
                return self.error(parts, range);
            }
            let (Some(element), Some(variable), false) = (args.element.take(), variable, disorder || args.refused)
            else {
                return self.error(vec![iterable], range);
            };
            let height = element.height.max(iterable.height);
            let comprehension = Some(Box::new(Comprehension { variable, iterable: *iterable.expr }));
            let call = Call { callee, args: vec![*element.expr], keywords: Vec::new(), comprehension };
            return self.node(ExprKind::Call(call), range, height);
        }
        if disorder || args.refused {
            let parts = args.into_parts();
            return self.error(parts, range);
        }
        let mut note = None;
        if callee_is_len
            && let [only] = args.positional.as_slice()
            && let Note::SetComprehension { problem, modulus, iterable } = self.note(only.note)
        {
            note = Some(Note::LenOfSet { problem, modulus, iterable });
        }
        let height = args.height();
        let call = Call {
            callee,
            args: args.positional.into_iter().map(|p| *p.expr).collect(),
            keywords: args.keywords.into_iter().map(|(name, _, value)| (name, *value.expr)).collect(),
            comprehension: None,
        };
        let parsed = self.node(ExprKind::Call(call), range, height);
        match note {
            Some(note) => self.noted(parsed, note),
            None => parsed,
        }
    }

    fn not_a_function(&mut self, base: &Parsed, open: TextRange, range: TextRange) {
        let shown = excerpt(self.text_of(base.outer)).into_owned();
        if let ExprKind::Attribute(inner, name) = &base.expr.kind {
            if matches!(inner.kind, ExprKind::Error(_)) {
                // What the method is called on has been reported.
                return;
            }
            let name = name.value.clone();
            self.refuse(
                range,
                format!("`{}` calls a method, which is outside the language", excerpt(self.text_of(range))),
            )
            .help(method_help(&name));
        } else if let ExprKind::Error(_) = base.expr.kind {
            // What is called has been reported.
        } else {
            let rest = excerpt(self.text_of(TextRange::new(open.start(), range.end().max(open.start())))).into_owned();
            self.refuse(base.outer, format!("`{shown}` is not the name of a function"))
                .help(format!("a product is written `{shown} * {rest}`"));
        }
    }

    /// Reports a call of what Python has and the language has not.
    fn refused_call(&mut self, callee: &str, base: &Parsed, args: &Arguments, range: TextRange) -> bool {
        let shown = |parser: &Self, range| excerpt(parser.text_of(range)).into_owned();
        if callee == "range" {
            self.refuse(range, "`range` is outside the language")
                .help("a comprehension runs over a sequence: an index of kind `Shape`, a sequence parameter, a tuple");
            return true;
        }
        if callee == "isinstance" {
            let value = args.positional.first().map_or("s".to_owned(), |p| shown(self, p.outer));
            let help = format!("write `per_axis({value}, i, n)`: item `i` of a sequence of `n`, or the scalar itself");
            let message = format!("`{}` is outside the language", shown(self, range));
            self.refuse(range, message).help(help);
            return true;
        }
        let ExprKind::Attribute(_, name) = &base.expr.kind else { return false };
        let Some((_, help)) = METHODS.iter().find(|(method, _)| *method == &*name.value) else { return false };
        let message = format!("`{}` calls a method, which is outside the language", shown(self, range));
        self.refuse(range, message).help(*help);
        true
    }

    fn judge_arguments(&mut self, args: &Arguments) {
        for (name, place, first) in &args.repeats {
            self.problems
                .report(self.form.code, *place, &**name, format!("the argument `{name}` is passed twice"))
                .related(*first, format!("`{name}` is passed here first"));
        }
    }

    fn argument(&mut self, args: &mut Arguments) {
        let token = self.token(0);
        let named = token.kind == T::Name && self.nth(1) == T::Assign;
        if named {
            self.bump();
            self.bump();
        }
        let value = self.expr(power::ANY);
        if named {
            let name = Spanned::new(Arc::from(self.text_of(token.range)), self.place(token.range));
            match args.names.entry(Arc::clone(&name.value)) {
                Entry::Vacant(entry) => {
                    entry.insert(token.range);
                }
                Entry::Occupied(first) => {
                    args.refused = true;
                    args.repeats.push((Arc::clone(&name.value), token.range, *first.get()));
                }
            }
            args.keywords.push((name, token.range, value));
        } else if self.peek() == T::For {
            self.comprehension_argument(value, args);
        } else {
            self.positional(value, args);
        }
    }

    fn comprehension_argument(&mut self, element: Parsed, args: &mut Arguments) {
        let before = self.problems.len();
        let Some((variable, iterable)) = self.comprehension_clause() else {
            args.refused = true;
            return;
        };
        args.refused |= self.problems.len() != before;
        args.comprehension_range = element.outer.cover(iterable.outer);
        args.comprehension = Some((variable, iterable));
        args.element = Some(element);
    }

    fn positional(&mut self, value: Parsed, args: &mut Arguments) {
        if let Some((_, keyword, _)) = args.keywords.last() {
            let keyword = *keyword;
            args.refused = true;
            let message = "an argument without a name follows one with a name";
            if let Some(problem) = self.structural(value.outer, message) {
                problem.related(keyword, "this argument has a name");
            }
        }
        args.positional.push(value);
    }

    /// `for name in iterable`, the keyword being next. The variable is absent where it cannot be read.
    fn comprehension_clause(&mut self) -> Option<(Option<Ident>, Parsed)> {
        let variable = self.comprehension_target();
        if self.peek() != T::In {
            return None;
        }
        self.bump();
        let iterable = self.expr(power::OR);
        while matches!(self.peek(), T::If | T::For) {
            self.comprehension_junk();
        }
        Some((variable, iterable))
    }

    /// An `if` or a second `for` of a comprehension.
    fn comprehension_junk(&mut self) {
        let token = self.bump();
        if token.kind == T::For {
            while !matches!(self.peek(), T::In | T::End) && !is_closer(self.peek()) {
                self.bump();
            }
            if self.peek() != T::In {
                self.refuse(token.range, "a comprehension has one `for`");
                self.panicking = true;
                return;
            }
            self.bump();
        }
        let operand = self.expr(power::OR);
        let range = token.range.cover(operand.outer);
        if token.kind == T::If {
            self.refuse(range, "a comprehension has no `if`")
                .help("put the condition into the element: `(f(x) if condition else 0) for x in s`");
        } else {
            self.refuse(range, "a comprehension has one `for`");
        }
        self.panicking = true;
    }

    /// `for` and the name behind it, up to `in`.
    fn comprehension_target(&mut self) -> Option<Ident> {
        let keyword = self.bump();
        let target = self.token(0);
        let start = target.range;
        if target.kind == T::Name && self.nth(1) == T::In {
            self.bump();
            let text = self.text_of(start);
            if text == "inf" {
                self.structural(start, "`inf` is a number, and no name");
                return None;
            }
            return Some(Spanned::new(Arc::from(text), self.place(start)));
        }
        let mut brackets = 0_usize;
        while !matches!(self.peek(), T::In | T::End | T::For | T::If | T::Else) {
            match self.peek() {
                T::LParen | T::LBracket | T::LBrace => brackets += 1,
                kind if is_closer(kind) && brackets == 0 => break,
                kind if is_closer(kind) => brackets -= 1,
                _ => {}
            }
            self.bump();
        }
        let range = start.cover(self.previous().map_or(start, |t| t.range));
        match target.kind {
            T::Name | T::LParen if self.peek() == T::In => {
                self.refuse(range, "a comprehension has one name");
            }
            T::Name => {
                self.structural(keyword.range, "`for` has no `in`");
            }
            T::In | T::End => {
                self.structural(keyword.range, "`for` lacks the name after it");
            }
            _ => {
                let message = format!("expected a name after `for`, found {}", self.shown(target));
                self.structural(start, message);
            }
        }
        None
    }

    /// The depth of brackets that a list of types is read at.
    pub(super) fn nested<R>(&mut self, read: impl FnOnce(&mut Self) -> R) -> Option<R> {
        if self.depth >= MAX_DEPTH {
            self.limit();
            return None;
        }
        self.depth += 1;
        let result = read(self);
        self.depth -= 1;
        Some(result)
    }

    /// A type that could not be read.
    pub(super) fn bad_type(&self, range: TextRange) -> TypeExpr {
        TypeExpr { kind: TypeExprKind::Error, range: self.place(range) }
    }

    pub(super) fn last_end(&self) -> TextSize {
        self.previous().map_or(TextSize::new(0), |t| t.range.end())
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.stopped
    }

    pub(super) fn string_of(&mut self) -> (Parsed, TextRange) {
        let parsed = self.string();
        let range = parsed.outer;
        (parsed, range)
    }
}

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

/// The items of a display.
#[derive(Debug, Default)]
pub(super) struct Items {
    pub(super) list: Vec<Parsed>,
    braces: bool,
    dict: bool,
    /// The place of the element and what the comprehension runs over.
    comprehension: Option<(TextRange, Parsed)>,
    /// The place of `n` in an element `a % n`.
    modulus: Option<TextRange>,
}

impl Items {
    pub(super) fn push(&mut self, item: Parsed) {
        self.list.push(item);
    }

    pub(super) fn has_comprehension(&self) -> bool {
        self.comprehension.is_some()
    }

    /// The items; of a comprehension, what it runs over.
    pub(super) fn into_list(self) -> Vec<Parsed> {
        self.list.into_iter().chain(self.comprehension.map(|(_, iterable)| iterable)).collect()
    }
}

/// What stands in the brackets of a subscript.
#[derive(Debug, Default)]
struct Subscript {
    from: Option<Parsed>,
    to: Option<Parsed>,
    /// What cannot belong there.
    more: Vec<Parsed>,
    colons: usize,
    /// The disorder before it.
    disorder: usize,
}

/// The arguments of a call.
#[derive(Debug, Default)]
struct Arguments {
    positional: Vec<Parsed>,
    keywords: Vec<(Ident, TextRange, Parsed)>,
    element: Option<Parsed>,
    comprehension: Option<(Option<Ident>, Parsed)>,
    comprehension_range: TextRange,
    /// Where each name is passed first.
    names: FxHashMap<Arc<str>, TextRange>,
    /// The names passed again, with both places.
    repeats: Vec<(Arc<str>, TextRange, TextRange)>,
    refused: bool,
}

impl Arguments {
    fn height(&self) -> usize {
        let values = self.keywords.iter().map(|(_, _, value)| value);
        self.positional.iter().chain(values).map(|p| p.height).max().unwrap_or(0)
    }

    fn into_parts(self) -> Vec<Parsed> {
        let values = self.keywords.into_iter().map(|(_, _, value)| value);
        self.positional.into_iter().chain(values).collect()
    }
}

fn method_help(name: &str) -> &'static str {
    METHODS
        .iter()
        .find(|(method, _)| *method == name)
        .map_or("call a built-in with the value as its argument", |(_, help)| help)
}

/// `a.b.c` as text.
fn dotted(expr: &Expr) -> Option<String> {
    match &expr.kind {
        ExprKind::Name(name) => Some(name.to_string()),
        ExprKind::Attribute(..) => {
            let mut names = Vec::new();
            let mut at = expr;
            loop {
                match &at.kind {
                    ExprKind::Attribute(base, name) => {
                        names.push(&*name.value);
                        at = base;
                    }
                    ExprKind::Name(name) => {
                        names.push(name);
                        break;
                    }
                    _ => return None,
                }
            }
            names.reverse();
            Some(names.join("."))
        }
        _ => None,
    }
}

fn cover_all(parts: &[Parsed]) -> TextRange {
    parts.iter().map(|p| p.outer).reduce(TextRange::cover).unwrap_or_default()
}

/// How tightly `kind` binds as an operator between two values; `next` is the token behind it.
fn infix_power(kind: TokenKind, next: TokenKind) -> Option<u8> {
    Some(match kind {
        T::Walrus => power::ANY,
        T::Not if next == T::In => power::COMPARE,
        T::Not => power::ANY,
        T::If | T::Question => power::CONDITIONAL,
        T::Or | T::PipePipe => power::OR,
        T::And | T::AmpAmp => power::AND,
        T::EqEq
        | T::NotEq
        | T::Lt
        | T::Le
        | T::Gt
        | T::Ge
        | T::In
        | T::Is
        | T::LtGt
        | T::EqEqEq
        | T::NotEqEq
        | T::Reversed
        | T::Assign
        | T::Augmented => power::COMPARE,
        T::Pipe => power::BIT_OR,
        T::Caret => power::BIT_XOR,
        T::Amp => power::BIT_AND,
        T::Shl | T::Shr => power::SHIFT,
        T::Plus | T::Minus => power::SUM,
        T::Star | T::DoubleSlash | T::Percent | T::Slash | T::At => power::PRODUCT,
        T::BadCharacter => power::SUM,
        T::DoubleStar => power::POWER,
        _ => return None,
    })
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

/// Whether `kind` starts a value and is no operator between two.
pub(super) fn starts_operand(kind: TokenKind) -> bool {
    matches!(
        kind,
        T::Name
            | T::Int
            | T::Float
            | T::String
            | T::True
            | T::False
            | T::None
            | T::LParen
            | T::LBracket
            | T::LBrace
            | T::Lambda
            | T::Reserved
            | T::Ellipsis
            | T::Tilde
            | T::Bang
            | T::BadOperand
    )
}

/// Whether a value must follow `kind`.
fn takes_operand(kind: TokenKind) -> bool {
    infix_power(kind, T::End).is_some() || matches!(kind, T::Tilde | T::Bang | T::Else)
}

fn is_closer(kind: TokenKind) -> bool {
    matches!(kind, T::RParen | T::RBracket | T::RBrace)
}

fn closer_of(kind: TokenKind) -> TokenKind {
    match kind {
        T::LBracket => T::RBracket,
        T::LBrace => T::RBrace,
        _ => T::RParen,
    }
}

fn closer_text(kind: TokenKind) -> &'static str {
    match kind {
        T::LBracket => "]",
        T::LBrace => "}",
        _ => ")",
    }
}
