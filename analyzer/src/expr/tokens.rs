//! The tokens of a scalar in source ranges, for highlighting and completion.

use crate::defect::codes::EXPRESSION_SYNTAX;
use crate::syntax::Scalar;
use crate::text::TextRange;

use super::lexer::{self, Form, TokenKind as T};
use super::problem::Problems;
use super::{MAX_LENGTH, Source};

/// A token of an expression, a shape or a type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Token {
    /// What it is.
    pub class: TokenClass,
    /// Where it stands in the entry.
    pub range: TextRange,
}

/// What a token is, as far as its characters tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TokenClass {
    /// A name, of whatever it stands for.
    Name,
    /// `and`, `or`, `not`, `in`, `if`, `else`, `for`
    Keyword,
    /// `True`, `False`, `None`
    Constant,
    /// A number.
    Number,
    /// A string.
    String,
    /// An operator.
    Operator,
    /// A bracket, a comma, a colon, a dot, the `=` of an argument.
    Punctuation,
    /// Anything outside the language.
    Unknown,
}

/// The tokens of `scalar`, which stands at `range`; none of a text too long to read.
pub fn tokens(scalar: &Scalar, range: TextRange) -> Vec<Token> {
    if scalar.text.len() > MAX_LENGTH {
        return Vec::new();
    }
    let source = Source { scalar, node: range, path: "" };
    let form = Form { code: &EXPRESSION_SYNTAX, noun: "expression" };
    let lexed = lexer::lex(source.text(), form, &mut Problems::default());
    lexed
        .tokens
        .into_iter()
        .filter(|token| token.kind != T::End)
        .map(|token| Token { class: class(token.kind), range: source.place(token.range) })
        .collect()
}

fn class(kind: T) -> TokenClass {
    match kind {
        T::Name => TokenClass::Name,
        T::Int | T::Float => TokenClass::Number,
        T::String => TokenClass::String,
        T::And | T::Or | T::Not | T::In | T::If | T::Else | T::For => TokenClass::Keyword,
        T::True | T::False | T::None => TokenClass::Constant,
        T::Plus
        | T::Minus
        | T::Star
        | T::DoubleSlash
        | T::Percent
        | T::EqEq
        | T::NotEq
        | T::Lt
        | T::Le
        | T::Gt
        | T::Ge
        | T::Pipe => TokenClass::Operator,
        T::LParen | T::RParen | T::LBracket | T::RBracket | T::Comma | T::Colon | T::Dot | T::Assign | T::Ellipsis => {
            TokenClass::Punctuation
        }
        _ => TokenClass::Unknown,
    }
}
