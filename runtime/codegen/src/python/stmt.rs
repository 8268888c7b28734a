//! Statements of Python, written as a formatter leaves them.

use super::outline::{Outline, enclosed, joined, spread};
use crate::layout::{Doc, write_line};

/// The longest line, where a line can be broken at all.
pub(super) const WIDTH: usize = 100;

/// One statement.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Stmt {
    /// A simple statement.
    Simple(Doc),
    /// A header that ends in a colon, and what is under it.
    Block(Doc, Vec<Stmt>),
    /// `if` and each `elif` with its test and what is under it, and what is under `else`, if anything is.
    If(Vec<(Doc, Vec<Stmt>)>, Vec<Stmt>),
}

impl Stmt {
    /// A statement that is not broken.
    pub(super) fn line(text: impl Into<String>) -> Stmt {
        Stmt::Simple(Doc::text(text))
    }

    /// `body`, if `test` holds.
    pub(super) fn when(test: Doc, body: Vec<Stmt>) -> Stmt {
        Stmt::chain(vec![(test, body)], Vec::new())
    }

    /// `if`, `elif`, `else`. Neighbours that do the same are one, and a condition inside of the last of them joins it.
    pub(super) fn chain(mut arms: Vec<(Doc, Vec<Stmt>)>, mut otherwise: Vec<Stmt>) -> Stmt {
        if let [Stmt::If(..)] = otherwise.as_slice()
            && let Some(Stmt::If(others, last)) = otherwise.pop()
        {
            arms.extend(others);
            otherwise = last;
        }
        arms.dedup_by(|next, before| {
            let same = next.1 == before.1;
            if same {
                before.0 = either(before.0.clone(), next.0.clone());
            }
            same
        });
        if otherwise.is_empty()
            && let Some((test, body)) = arms.last_mut()
            && let [Stmt::If(inner, last)] = body.as_mut_slice()
            && let ([(other, under)], []) = (inner.as_mut_slice(), last.as_slice())
        {
            *test = both(test.clone(), other.clone());
            *body = std::mem::take(under);
        }
        Stmt::If(arms, otherwise)
    }
}

/// One of the tests holds.
fn either(left: Doc, right: Doc) -> Doc {
    let operand = |doc: Doc| if Outline::of(&doc).is_no_alternative() { enclosed(doc) } else { doc };
    joined(vec![operand(left), operand(right)], "or")
}

/// Both tests hold.
fn both(left: Doc, right: Doc) -> Doc {
    let operand = |doc: Doc| if Outline::of(&doc).is_looser_than_and() { enclosed(doc) } else { doc };
    joined(vec![operand(left), operand(right)], "and")
}

/// Writes `statements` with `indent` columns before each.
pub(super) fn write_statements(out: &mut String, statements: &[Stmt], indent: usize) {
    let mut block = |header: &Doc, body: &[Stmt]| {
        write_line(out, header, indent, WIDTH);
        // The nesting of blocks is that of the discriminants, which the analyzer bounds.
        write_statements(out, body, indent + 4);
    };
    for statement in statements {
        match statement {
            Stmt::Simple(doc) => block(doc, &[]),
            Stmt::Block(header, body) => block(header, body),
            Stmt::If(arms, otherwise) => {
                for (position, (test, body)) in arms.iter().enumerate() {
                    let keyword = if position == 0 { "if " } else { "elif " };
                    block(&spread(keyword, test.clone(), ":"), body);
                }
                if !otherwise.is_empty() {
                    block(&Doc::text("else:"), otherwise);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_are_joined_as_a_person_would() {
        let pass = |name: &str| vec![Stmt::line(name)];
        let when = |test: &str, body| Stmt::when(Doc::text(test), body);
        let nested = when("a or b", vec![when("c", pass("x"))]);
        let arms = vec![(Doc::text("a"), pass("x")), (Doc::text("b and c"), pass("x")), (Doc::text("d"), pass("y"))];
        let chained = Stmt::chain(arms, vec![when("e", pass("z"))]);
        let mut text = String::new();
        write_statements(&mut text, &[nested, chained], 0);
        assert_eq!(text, "if (a or b) and c:\n    x\nif a or (b and c):\n    x\nelif d:\n    y\nelif e:\n    z\n");
    }
}
