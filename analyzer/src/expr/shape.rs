//! Shapes: `"[axis, …]"` and `"Family[argument, …]"`.

use std::sync::Arc;

use crate::defect::codes::SHAPE_SYNTAX;
use crate::text::{Spanned, TextRange};

use super::lexer::TokenKind as T;
use super::parser::{Items, Parsed, Parser};
use super::problem::excerpt;
use super::{Axis, Expr, Shape, ShapeKind};

/// The items of a shape's brackets, and which of them have a star.
#[derive(Default)]
struct Axes {
    items: Items,
    splices: Vec<bool>,
}

impl Parser<'_> {
    /// A whole text as one shape.
    pub(super) fn whole_shape(&mut self) -> Shape {
        let start = self.token(0).range;
        if self.is_blank() {
            let blank = self.whole();
            return Shape { kind: ShapeKind::Error(Vec::new()), range: blank.range };
        }
        let kind = match (self.peek(), self.nth(1)) {
            (T::LBracket, _) => self.axes(),
            (T::Name, T::LBracket) if !self.is_slice() => self.family(),
            _ => return self.no_shape(),
        };
        let range = self.place(TextRange::new(start.start(), self.last_end()));
        if self.peek() == T::End {
            return Shape { kind, range };
        }
        // Something follows the brackets.
        let found = self.token(0);
        let message = format!("nothing follows the brackets of a shape, but {} does", self.shown(found));
        let subject = self.text_of(found.range).to_owned();
        self.problems
            .report(&SHAPE_SYNTAX, found.range, subject, message)
            .help("axes are joined in one pair of brackets, such as `[*S, *T]`");
        self.panicking = true;
        self.disorder += 1;
        let mut parts = match kind {
            ShapeKind::Axes(axes) => axes
                .into_iter()
                .map(|axis| match axis {
                    Axis::One(e) | Axis::Splice(e) => e,
                })
                .collect(),
            ShapeKind::Family(_, parts) | ShapeKind::Error(parts) => parts,
        };
        self.bump();
        let before = self.problems.len();
        parts.extend(self.rest().into_iter().map(|p| *p.expr));
        let range = self.place(TextRange::new(start.start(), self.last_end().max(start.end())));
        // A list behind the brackets is part of the same mistake.
        self.problems.withdraw_from(before);
        Shape { kind: ShapeKind::Error(parts), range }
    }

    /// What is left of the text, as far as it can be read.
    fn rest(&mut self) -> Vec<Parsed> {
        let mut axes = Axes::default();
        while self.peek() != T::End {
            self.separated(&mut axes, Self::axis);
            // Whatever stopped the list belongs to nothing here.
            if self.peek() != T::End {
                self.bump();
                self.disorder += 1;
            }
        }
        axes.items.into_list()
    }

    fn axes(&mut self) -> ShapeKind {
        self.open();
        let before = self.disorder;
        let mut axes = Axes::default();
        self.separated(&mut axes, Self::axis);
        self.close();
        let disorder = self.disorder != before || axes.items.has_comprehension();
        let list = axes.items.into_list();
        if disorder || list.len() != axes.splices.len() {
            return ShapeKind::Error(list.into_iter().map(|p| *p.expr).collect());
        }
        let axis = |(splice, parsed): (bool, Parsed)| {
            if splice { Axis::Splice(*parsed.expr) } else { Axis::One(*parsed.expr) }
        };
        ShapeKind::Axes(axes.splices.into_iter().zip(list).map(axis).collect())
    }

    fn axis(&mut self, axes: &mut Axes) {
        if self.peek() == T::Star {
            self.bump();
            let spread = self.spread();
            axes.items.push(spread);
            axes.splices.push(true);
            return;
        }
        self.item_outside_comprehension(&mut axes.items);
        axes.splices.push(false);
    }

    fn family(&mut self) -> ShapeKind {
        let token = self.bump();
        let name = Spanned::new(Arc::from(self.text_of(token.range)), self.place(token.range));
        let open = self.open();
        let before = self.disorder;
        let mut items = Items::default();
        self.separated(&mut items, Self::item_outside_comprehension);
        let close = self.close();
        let mut disorder = self.disorder != before || items.has_comprehension();
        let list: Vec<Expr> = items.into_list().into_iter().map(|p| *p.expr).collect();
        if list.is_empty() && !disorder && !self.is_stopped() {
            disorder = true;
            let message = format!("`{}[]` has no arguments", excerpt(&name.value));
            self.problems
                .report(&SHAPE_SYNTAX, open.cover(close), &*name.value, message)
                .help("a type family is applied to its arguments, such as `Mat[trans_a, M, K]`");
        }
        if disorder { ShapeKind::Error(list) } else { ShapeKind::Family(name, list) }
    }

    /// Whether the brackets behind the next token hold a slice.
    fn is_slice(&self) -> bool {
        let mut depth = 0_usize;
        for ahead in 1.. {
            match self.nth(ahead) {
                T::LBracket | T::LParen | T::LBrace => depth += 1,
                T::RBracket | T::RParen | T::RBrace if depth <= 1 => return false,
                T::RBracket | T::RParen | T::RBrace => depth -= 1,
                T::Colon if depth == 1 => return true,
                T::End => return false,
                _ => {}
            }
        }
        false
    }

    /// A text that has neither form of a shape.
    fn no_shape(&mut self) -> Shape {
        let start = self.token(0).range.start();
        let before = self.problems.len();
        let orderly = self.disorder;
        self.panicking = true;
        let parts = self.rest();
        let range = TextRange::new(start, self.last_end().max(start));
        let text = self.text_of(range);
        if self.problems.len() == before {
            let text = if text.contains(['[', '(']) { text } else { text.trim_end_matches([']', ')']) };
            let inside = text.strip_prefix('(').and_then(|t| t.strip_suffix(')')).unwrap_or(text).trim();
            let inside = if self.is_sequence_like(text) { format!("*{inside}") } else { inside.to_owned() };
            let inside = inside.trim_end_matches(',');
            let (is_orderly, shape) = (self.disorder == orderly, format!("[{inside}]"));
            self.problems
                .report(&SHAPE_SYNTAX, range, excerpt(text), format!("`{}` is not a shape", excerpt(text)))
                .help(if is_orderly {
                    format!("a shape is a list of axes in brackets, `[{}]`", excerpt(inside))
                } else {
                    "a shape is a list of axes in brackets, such as `[M, K]`".to_owned()
                });
            if is_orderly && let Some(problem) = self.problems.get(before) {
                problem.instead(shape);
            }
        }
        let range = self.place(range);
        Shape { kind: ShapeKind::Error(parts.into_iter().map(|p| *p.expr).collect()), range }
    }

    /// Whether `text` reads as one sequence rather than one axis: a slice or a call that gives a shape.
    fn is_sequence_like(&self, text: &str) -> bool {
        text.ends_with(']')
            || ["broadcast(", "reduced(", "repeat(", "balanced_sizes("].iter().any(|f| text.starts_with(f))
    }
}
