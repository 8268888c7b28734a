//! The expression language: shapes, `let`, refinements, conditions, generator arguments, formulas, types.
//!
//! Reading never fails. A malformed text still gives a tree, with [`ExprKind::Error`] where it could not be read, and
//! every defect of it. Names have no meaning here: what is declared, and which attribute a value has, is judged by the
//! checker. The reader refuses by itself what no declaration can make right.
//!
//! Where Python leaves a choice, the language is the smaller one: names are ASCII, strings have no prefix and do not
//! stand side by side, and a tuple has its parentheses. Line breaks are white space, since folded and literal blocks
//! hold them.

mod ast;
mod level;
mod lexer;
mod parser;
mod print;
mod problem;
mod shape;
mod tokens;
mod types;

#[cfg(test)]
mod tests;

pub use ast::{
    Axis, BinaryOp, BoolOp, Call, CompareOp, Comprehension, Expr, ExprKind, Ident, Shape, ShapeKind, TypeExpr,
    TypeExprKind, UnaryOp,
};
pub use level::Level;
pub use lexer::{constants, keywords};
pub use tokens::{Token, TokenClass, tokens};

use crate::defect::Findings;
use crate::defect::codes::{EXPRESSION_LIMIT, EXPRESSION_SYNTAX, TYPE_SYNTAX};
use crate::syntax::Scalar;
use crate::text::{TextRange, TextSize};

use lexer::Form;
use parser::Parser;

/// No tree is higher than this, and no text that nests deeper is read further.
pub const MAX_DEPTH: usize = 256;

/// The longest text that is read, in bytes.
pub const MAX_LENGTH: usize = 64 * 1024;

/// A text to read and where it stands.
struct Source<'a> {
    scalar: &'a Scalar,
    /// The scalar's characters, quotes included.
    node: TextRange,
    /// Its path in the entry.
    path: &'a str,
}

impl<'a> Source<'a> {
    fn text(&self) -> &'a str {
        &self.scalar.text
    }

    /// The source characters of decoded `range`. They never leave the scalar.
    fn place(&self, range: TextRange) -> TextRange {
        let range = self.scalar.map.range(range);
        let inside = |offset: TextSize| offset.clamp(self.node.start(), self.node.end());
        TextRange::new(inside(range.start()), inside(range.end()))
    }

    /// Reports a text that is too long to read.
    fn is_too_long(&self, form: Form, findings: &mut Findings) -> bool {
        let length = self.text().len();
        if length <= MAX_LENGTH {
            return false;
        }
        let message = format!("the {} has {length} bytes, and the longest that is read has {MAX_LENGTH}", form.noun);
        findings
            .report(&EXPRESSION_LIMIT, self.node, self.path, "", message)
            .help("name the parts of it in the signature's `let`");
        true
    }
}

/// Reads `scalar`, which stands at `range` and has the path `path` in its entry, as an expression.
pub fn parse_expression(scalar: &Scalar, range: TextRange, path: &str, findings: &mut Findings) -> Expr {
    let form = Form { code: &EXPRESSION_SYNTAX, noun: "expression" };
    let source = Source { scalar, node: range, path };
    if source.is_too_long(form, findings) {
        return Expr::new(ExprKind::Error(Vec::new()), range);
    }
    let mut parser = Parser::new(&source, form);
    let expr = parser.whole();
    parser.problems.submit(&source, findings);
    expr
}

/// Reads `scalar` as a shape, as [`parse_expression`] does an expression.
pub fn parse_shape(scalar: &Scalar, range: TextRange, path: &str, findings: &mut Findings) -> Shape {
    let form = Form { code: &EXPRESSION_SYNTAX, noun: "shape" };
    let source = Source { scalar, node: range, path };
    if source.is_too_long(form, findings) {
        return Shape { kind: ShapeKind::Error(Vec::new()), range };
    }
    let mut parser = Parser::new(&source, form);
    let shape = parser.whole_shape();
    parser.problems.submit(&source, findings);
    shape
}

/// Reads `scalar` as a type, as [`parse_expression`] does an expression.
pub fn parse_type(scalar: &Scalar, range: TextRange, path: &str, findings: &mut Findings) -> TypeExpr {
    let form = Form { code: &TYPE_SYNTAX, noun: "type" };
    let source = Source { scalar, node: range, path };
    if source.is_too_long(form, findings) {
        return TypeExpr { kind: TypeExprKind::Error, range };
    }
    let mut parser = Parser::new(&source, form);
    let ty = parser.whole_type();
    parser.problems.submit(&source, findings);
    ty
}
