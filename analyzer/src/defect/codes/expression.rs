//! Codes about the form of an expression, a shape or a type.

codes! {
    EXPRESSION_SYNTAX = "expression-syntax", Error, "An expression is not well-formed";
    REFUSED_FORM = "refused-form", Error, "An expression has a form that is outside the language";
    EXPRESSION_LIMIT = "expression-limit", Error, "An expression is too long or nests too deep to be read";
    SHAPE_SYNTAX = "shape-syntax", Error, "A shape is neither a list of axes nor an applied type family";
    TYPE_SYNTAX = "type-syntax", Error, "A type is not well-formed";
}
