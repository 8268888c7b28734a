//! Whether a formatter of Python breaks an expression in its own brackets, or puts it in parentheses: black's rule, as ruff
//! has it.

use crate::layout::{Doc, flat};

/// How loosely an operator binds, as far as the rule tells them apart: `and` and `or` are one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Looseness {
    Unary,
    Product,
    Sum,
    Comparison,
    Boolean,
    Conditional,
}

/// What the rule reads of an expression: all that stands outside of brackets.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Outline {
    /// The loosest operator, and how often it stands there.
    loosest: Option<(Looseness, usize)>,
    /// Whether one of them is `or`.
    has_or: bool,
    /// Whether one of them is `and`.
    has_and: bool,
    has_brackets: bool,
    /// Whether the first part is in brackets; nothing before there is one.
    first: Option<bool>,
    /// Whether the last part ends in brackets.
    last: bool,
}

impl Outline {
    /// The outline of an expression on one line.
    pub(super) fn of(doc: &Doc) -> Outline {
        let text = flat(doc);
        let mut outline = Outline::default();
        let mut rest = text.trim_start();
        // Whether an operand has ended, so that a bracket calls or subscripts it and a sign is no operand's own.
        let mut ended = false;
        while let Some(c) = rest.chars().next() {
            let length = match c {
                '"' => string_length(rest),
                '(' | '[' => bracket_length(rest),
                '=' | '!' | '<' | '>' | '+' | '-' | '*' | '/' | '%' => {
                    rest.find(|c| !"=!<>+-*/%".contains(c)).unwrap_or(rest.len())
                }
                _ if is_of_word(c) => word_length(rest),
                _ => c.len_utf8(),
            };
            let (token, behind) = rest.split_at(length);
            let negates = token == "not" && behind.trim_start().starts_with("in ");
            let looseness = match token {
                "and" | "or" => Some(Looseness::Boolean),
                "if" | "else" => Some(Looseness::Conditional),
                "in" | "is" | "==" | "!=" | "<" | "<=" | ">" | ">=" => Some(Looseness::Comparison),
                "+" | "-" if ended => Some(Looseness::Sum),
                "*" | "/" | "//" | "%" => Some(Looseness::Product),
                "not" | "-" => Some(Looseness::Unary),
                _ => None,
            };
            match looseness {
                // `not in` and `is not` are one operator.
                Some(Looseness::Unary) if negates || text[..text.len() - rest.len()].ends_with("is ") => {}
                Some(looseness) => {
                    outline.operator(looseness);
                    outline.has_or |= token == "or";
                    outline.has_and |= token == "and";
                    if looseness == Looseness::Unary {
                        outline.word();
                    }
                    ended = false;
                }
                None if c == '(' || c == '[' => {
                    outline.brackets(c == '(' || !ended, ended, length == 2);
                    ended = true;
                }
                None => {
                    outline.word();
                    ended = true;
                }
            }
            rest = behind.trim_start();
        }
        outline
    }

    /// Whether some operator stands outside of brackets.
    pub(super) fn is_loose(&self) -> bool {
        self.loosest.is_some()
    }

    /// Whether it is an operand of `and` only in parentheses.
    pub(super) fn is_looser_than_and(&self) -> bool {
        self.has_or || matches!(self.loosest, Some((Looseness::Conditional, _)))
    }

    /// Whether it is an operand of `or` only in parentheses.
    pub(super) fn is_no_alternative(&self) -> bool {
        self.has_and || matches!(self.loosest, Some((Looseness::Conditional, _)))
    }

    /// One operator at most is given up to be broken at, and there are brackets at an end to be broken instead.
    pub(super) fn breaks_in_brackets(&self) -> bool {
        self.has_brackets
            && match self.loosest {
                None | Some((Looseness::Unary, _)) => true,
                Some((_, count)) => count == 1 && (self.last || self.first == Some(true)),
            }
    }

    fn operator(&mut self, looseness: Looseness) {
        match &mut self.loosest {
            Some((known, _)) if *known > looseness => {}
            Some((known, count)) if *known == looseness => *count += 1,
            loosest => *loosest = Some((looseness, 1)),
        }
    }

    /// Brackets: of a call or a subscript where they are `behind` an operand. A subscript is no end that is broken.
    fn brackets(&mut self, ends: bool, behind: bool, empty: bool) {
        self.has_brackets |= !empty || behind;
        self.last = ends;
        self.first.get_or_insert(!behind);
    }

    fn word(&mut self) {
        self.last = false;
        self.first.get_or_insert(false);
    }
}

fn is_of_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '.'
}

/// The length of the name or number that `text` begins with, the sign of a number's exponent included.
fn word_length(text: &str) -> usize {
    let is_number = text.starts_with(|c: char| c.is_ascii_digit());
    let mut before = None;
    let end = text.find(|c: char| {
        let signs = is_number && matches!(c, '+' | '-') && before == Some('e');
        before = Some(c);
        !(signs || is_of_word(c))
    });
    end.unwrap_or(text.len())
}

/// The length of the string literal that `text` begins with.
fn string_length(text: &str) -> usize {
    let mut escaped = false;
    let end = text.char_indices().skip(1).find(|&(_, c)| {
        let ends = c == '"' && !escaped;
        escaped = c == '\\' && !escaped;
        ends
    });
    end.map_or(text.len(), |(at, _)| at + 1)
}

/// The length of what is between the bracket that `text` begins with and its counterpart, both included.
fn bracket_length(text: &str) -> usize {
    let (mut depth, mut at) = (0_usize, 0);
    while let Some(c) = text[at..].chars().next() {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            '"' => at += string_length(&text[at..]) - 1,
            _ => {}
        }
        at += c.len_utf8();
        if depth == 0 {
            break;
        }
    }
    at
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

/// `prefix`, `doc`, `suffix`: where it needs more than a line, broken in its own brackets if that does, else in parentheses.
pub(super) fn spread(prefix: &str, doc: Doc, suffix: &str) -> Doc {
    let outline = Outline::of(&doc);
    let (prefix, suffix) = (Doc::text(prefix), Doc::text(suffix));
    if !outline.is_loose() {
        return Doc::Cat(vec![prefix, doc, suffix]);
    }
    if outline.breaks_in_brackets() {
        return Doc::Cat(vec![prefix, bracketed(doc), suffix]);
    }
    let inner = Doc::Indent(vec![Doc::Line, Doc::Group(vec![doc])]);
    Doc::Group(vec![prefix, Doc::IfBroken("("), inner, Doc::Line, Doc::IfBroken(")"), suffix])
}

/// The operands with `operator` between them, broken before it.
pub(super) fn joined(operands: Vec<Doc>, operator: &str) -> Doc {
    let mut docs = Vec::new();
    for operand in operands {
        if !docs.is_empty() {
            docs.extend([Doc::Space, Doc::text(format!("{operator} "))]);
        }
        docs.push(operand);
    }
    Doc::Cat(docs)
}

/// `doc` in parentheses, which it keeps on one line too.
pub(super) fn enclosed(doc: Doc) -> Doc {
    let inner = Doc::Indent(vec![Doc::Line, Doc::Group(vec![doc])]);
    Doc::Group(vec![Doc::text("("), inner, Doc::Line, Doc::text(")")])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_outside_of_brackets_decides() {
        let outline = |text: &str| Outline::of(&Doc::text(text));
        for broken_inside in ["f(a, b)", "not (a or b)", "f(a) + 1 * b(c or d)", "x not in (1, 2)", "(a and b) or c(d)"]
        {
            assert!(outline(broken_inside).breaks_in_brackets(), "{broken_inside}");
        }
        for wrapped in ["a + b", "a and b(c) and d(e)", "x[1] == y[2]", "f(a) is not None", "a if b(c) else d(e)"] {
            assert!(!outline(wrapped).breaks_in_brackets(), "{wrapped}");
        }
        assert!(outline("a == \"or\" and b").loosest == Some((Looseness::Boolean, 1)));
        assert!(!outline("a == \"x or y\" and f(b or c)").is_looser_than_and());
        assert!(outline("a or b").is_looser_than_and() && outline("1 if a else 2").is_looser_than_and());
        assert!(!outline("f(\"a) + (b\", [-1])").is_loose() && outline("-a").is_loose());
        assert_eq!(outline("a - -b").loosest, Some((Looseness::Sum, 1)));
        // The sign of an exponent is no operator.
        assert!(!outline("1e-7").is_loose() && !outline("2.5e+16").is_loose());
        assert_eq!(outline("1e-7 * a * f(b)").loosest, Some((Looseness::Product, 2)));
        assert_eq!(outline("x1e-7").loosest, Some((Looseness::Sum, 1)));
        assert_eq!(outline("1e-7-a-2").loosest, Some((Looseness::Sum, 2)));
    }
}
