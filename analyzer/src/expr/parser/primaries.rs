//! Primaries: one token, or a pair of brackets.

use std::sync::Arc;

use crate::expr::lexer::{self, TokenKind as T};
use crate::expr::print::quoted;
use crate::expr::problem::excerpt;
use crate::expr::{BinaryOp, ExprKind};
use crate::text::{TextRange, TextSize};

use super::{Note, Parsed, Parser, power, starts_operand};

/// The items of a display.
#[derive(Debug, Default)]
pub(in crate::expr) struct Items {
    pub(in crate::expr) list: Vec<Parsed>,
    braces: bool,
    dict: bool,
    /// The place of the element and what the comprehension runs over.
    comprehension: Option<(TextRange, Parsed)>,
    /// The place of `n` in an element `a % n`.
    modulus: Option<TextRange>,
}

impl Items {
    pub(in crate::expr) fn push(&mut self, item: Parsed) {
        self.list.push(item);
    }

    pub(in crate::expr) fn has_comprehension(&self) -> bool {
        self.comprehension.is_some()
    }

    /// The items; of a comprehension, what it runs over.
    pub(in crate::expr) fn into_list(self) -> Vec<Parsed> {
        self.list.into_iter().chain(self.comprehension.map(|(_, iterable)| iterable)).collect()
    }
}

impl Parser<'_> {
    pub(super) fn primary(&mut self) -> Parsed {
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

    pub(super) fn string(&mut self) -> Parsed {
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
            let joined = quoted(&joined);
            let help = format!("write one string, `{}`", excerpt(&joined));
            self.refuse(range, "strings side by side are outside the language").help(help).instead(joined);
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
    pub(in crate::expr) fn item_outside_comprehension(&mut self, items: &mut Items) {
        let before = items.has_comprehension();
        let start = self.token(0).range;
        self.item(items);
        if items.has_comprehension() && !before {
            let range = TextRange::new(start.start(), self.last_end().max(start.end()));
            self.misplaced_comprehension(range);
        }
    }

    pub(super) fn misplaced_comprehension(&mut self, range: TextRange) {
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
        let tuple = tuple_of(&items.list.iter().map(|p| self.text_of(p.outer)).collect::<Vec<_>>());
        let help = match items.list.as_slice() {
            [] => "write the empty tuple `()`".to_owned(),
            _ => format!("write the tuple `{}`", excerpt(&tuple)),
        };
        self.refuse(range, "a list is outside the language").help(help).instead(tuple);
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
        let tuple = tuple_of(&texts);
        let problem = self.refuse(range, format!("a {what} is outside the language"));
        if what == "set" && items.comprehension.is_none() {
            problem.help(format!("write the tuple `{}`", excerpt(&tuple))).instead(tuple);
        } else if what == "set" {
            problem.help("whether axes are distinct is `unique_axes(dim, n)`");
        }
        let problem = self.problems.last();
        let Some((_, iterable)) = items.comprehension else { return self.error(items.list, range) };
        let note = Note::SetComprehension { problem, modulus: items.modulus, iterable: iterable.outer };
        let set = self.error(vec![iterable], range);
        self.noted(set, note)
    }
}

/// A tuple of items, as written.
fn tuple_of(items: &[&str]) -> String {
    match items {
        [one] => format!("({one},)"),
        items => format!("({})", items.join(", ")),
    }
}
