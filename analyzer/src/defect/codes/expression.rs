//! Codes about the form of an expression.

codes! {
    EXPRESSION_SYNTAX = "expression-syntax", Error, "An expression is not well-formed";
}
