//! What follows a primary: attributes, subscripts, calls and the comprehensions in them.

use std::collections::hash_map::Entry;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::expr::lexer::TokenKind as T;
use crate::expr::problem::excerpt;
use crate::expr::{Call, Comprehension, Expr, ExprKind, Ident};
use crate::text::{Spanned, TextRange};

use super::{Items, Note, Parsed, Parser, is_closer, power};

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

impl Parser<'_> {
    pub(super) fn postfixes(&mut self, mut base: Parsed) -> Parsed {
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
            // Of an ADT's value it is a field: the tree has it, and what reads one takes the defect back.
            let name = Spanned::new(Arc::from(text), self.place(token.range));
            let height = base.height;
            let read = self.node(ExprKind::Attribute(base.expr, name), range, height);
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
    pub(super) fn comprehension_clause(&mut self) -> Option<(Option<Ident>, Parsed)> {
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
