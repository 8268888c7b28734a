//! Types: a parameter's `type`, a kind of `forall`, the type of an ADT's field.

use std::sync::Arc;

use crate::text::{Spanned, TextRange};

use super::lexer::TokenKind as T;
use super::parser::Parser;
use super::problem::excerpt;
use super::{ExprKind, TypeExpr, TypeExprKind};

/// The members of a bracket or of a union.
#[derive(Default)]
struct Types(Vec<TypeExpr>);

impl Parser<'_> {
    /// A whole text as one type.
    pub(super) fn whole_type(&mut self) -> TypeExpr {
        if self.is_blank() {
            let blank = self.whole();
            return TypeExpr { kind: TypeExprKind::Error, range: blank.range };
        }
        let start = self.token(0).range.start();
        let ty = self.ty(false);
        if self.peek() == T::End {
            return ty;
        }
        let found = self.token(0);
        let shown = self.shown(found);
        let before = self.text_of(TextRange::new(start, self.last_end().max(start)));
        let help = match found.kind {
            T::Question => Some(format!("write `{} | None`", excerpt(before))),
            T::Comma => Some("alternatives are written `a | b`; a fixed sequence is `tuple[a, b]`".to_owned()),
            T::LParen => Some("what a type is applied to stands in square brackets, such as `list[int]`".to_owned()),
            _ => None,
        };
        if let Some(problem) = self.structural(found.range, format!("expected `|` or the end, found {shown}"))
            && let Some(help) = help
        {
            problem.help(help);
        }
        while self.peek() != T::End {
            self.bump();
        }
        self.bad_type(TextRange::new(start, self.last_end().max(start)))
    }

    /// A type, or a union of them. `...` is a member of brackets only.
    fn ty(&mut self, in_brackets: bool) -> TypeExpr {
        let start = self.token(0).range.start();
        let mut members = vec![self.nested(|p| p.type_member(in_brackets)).unwrap_or_else(|| self.stopped_type())];
        loop {
            match self.peek() {
                T::Pipe => {
                    self.bump();
                }
                T::Or | T::PipePipe | T::Slash => {
                    let token = self.bump();
                    let message = format!("`{}` does not join types", self.text_of(token.range));
                    if let Some(problem) = self.structural(token.range, message) {
                        problem.help("write `|`").instead("|");
                    }
                    self.panicking = false;
                }
                _ => break,
            }
            members.push(self.nested(|p| p.type_member(false)).unwrap_or_else(|| self.stopped_type()));
        }
        if members.len() == 1
            && let Some(only) = members.pop()
        {
            return only;
        }
        let range = self.place(TextRange::new(start, self.last_end().max(start)));
        // A union in parentheses is one with the union around it.
        let members = members
            .into_iter()
            .flat_map(|member| match member.kind {
                TypeExprKind::Union(inner) => inner,
                _ => vec![member],
            })
            .collect();
        TypeExpr { kind: TypeExprKind::Union(members), range }
    }

    fn stopped_type(&self) -> TypeExpr {
        self.bad_type(TextRange::empty(self.last_end()))
    }

    fn type_member(&mut self, in_brackets: bool) -> TypeExpr {
        let token = self.token(0);
        let range = token.range;
        match token.kind {
            T::Name => self.named_type(),
            T::None => {
                self.bump();
                TypeExpr { kind: TypeExprKind::Name(Arc::from("None")), range: self.place(range) }
            }
            T::String => {
                let (parsed, range) = self.string_of();
                match parsed.expr.kind {
                    ExprKind::Str(text) => TypeExpr { kind: TypeExprKind::Literal(text), range: self.place(range) },
                    _ => self.bad_type(range),
                }
            }
            T::Ellipsis if in_brackets => {
                self.bump();
                TypeExpr { kind: TypeExprKind::Ellipsis, range: self.place(range) }
            }
            T::Ellipsis => {
                self.bump();
                if let Some(problem) = self.structural(range, "`...` stands only behind the element of a tuple") {
                    problem.help("a tuple of any length is `tuple[int, ...]`");
                }
                self.bad_type(range)
            }
            T::LParen => {
                self.open();
                if let Some(problem) = self.structural(range, "a type has no parentheses") {
                    problem.help("write the alternatives `a | b` without them, and a fixed sequence as `tuple[a, b]`");
                }
                let mut inner = Types::default();
                self.separated(&mut inner, Self::type_item);
                let end = self.close();
                match inner.0.as_slice() {
                    [_] => inner.0.remove(0),
                    _ => self.bad_type(range.cover(end)),
                }
            }
            T::LBracket => {
                self.open();
                if let Some(problem) = self.structural(range, "a type does not start with a bracket") {
                    problem.help("a sequence is `list[int]`, `tuple[int, ...]` or `tuple[int, int]`");
                }
                let mut inner = Types::default();
                self.separated(&mut inner, Self::type_item);
                let end = self.close();
                self.bad_type(range.cover(end))
            }
            T::Int | T::Float | T::True | T::False => {
                self.bump();
                let message = format!("`{}` is not a type", excerpt(self.text_of(range)));
                if let Some(problem) = self.structural(range, message) {
                    problem.help("the literals of an enum are strings, such as `'tight' | 'padded'`");
                }
                self.bad_type(range)
            }
            T::BadOperand | T::BadCharacter => {
                self.bump();
                self.disorder += 1;
                self.panicking = true;
                self.bad_type(range)
            }
            _ => {
                self.missing_type();
                self.bad_type(TextRange::empty(self.last_end()))
            }
        }
    }

    fn missing_type(&mut self) {
        let found = self.token(0);
        if self.is_stopped() {
            return;
        }
        match self.previous() {
            Some(previous) if previous.kind == T::Pipe && self.at_close() => {
                self.structural(previous.range, "`|` lacks the type after it");
            }
            _ => {
                let message = format!("expected a type, found {}", self.shown(found));
                self.structural(found.range, message);
            }
        }
    }

    fn type_item(&mut self, types: &mut Types) {
        let ty = self.ty(true);
        types.0.push(ty);
    }

    /// `int`, `torch.dtype`, `tuple[int, ...]`
    fn named_type(&mut self) -> TypeExpr {
        let first = self.bump().range;
        let mut range = first;
        let mut name = self.text_of(first).to_owned();
        while self.peek() == T::Dot {
            let dot = self.bump();
            if self.peek() != T::Name {
                self.structural(dot.range, "`.` lacks the name after it");
                return self.bad_type(range.cover(dot.range));
            }
            let part = self.bump().range;
            name.push('.');
            name.push_str(self.text_of(part));
            range = range.cover(part);
        }
        let name: Arc<str> = Arc::from(name);
        if self.peek() != T::LBracket {
            return TypeExpr { kind: TypeExprKind::Name(name), range: self.place(range) };
        }
        let open = self.open();
        let before = self.disorder;
        let mut arguments = Types::default();
        self.separated(&mut arguments, Self::type_item);
        let disorder = self.disorder != before;
        let end = self.close();
        let whole = range.cover(open).cover(end);
        if arguments.0.is_empty() && !disorder && !self.is_stopped() {
            self.structural(open.cover(end), format!("`{}[]` has nothing in its brackets", excerpt(&name)));
        }
        if arguments.0.is_empty() || disorder {
            return self.bad_type(whole);
        }
        let ident = Spanned::new(name, self.place(range));
        TypeExpr { kind: TypeExprKind::Apply(ident, arguments.0), range: self.place(whole) }
    }
}
