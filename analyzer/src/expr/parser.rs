//! Tokens to trees: precedence climbing over a token list, with every problem reported and none fatal.

mod operators;
mod postfixes;
mod primaries;

pub(super) use primaries::Items;

use std::ops::ControlFlow;

use crate::defect::codes::{EXPRESSION_LIMIT, REFUSED_FORM};
use crate::text::{TextRange, TextSize};

use super::lexer::{self, Form, Token, TokenKind, TokenKind as T};
use super::problem::{Problem, Problems, excerpt};
use super::{BoolOp, Expr, ExprKind, MAX_DEPTH, Source, TypeExpr, TypeExprKind};

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
            .help(format!("write `{}`", excerpt(&text)))
            .instead_of(range, text);
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
