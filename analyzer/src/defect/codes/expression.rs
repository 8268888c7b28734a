//! Codes about the form of an expression, a shape or a type.

codes! {
    EXPRESSION_SYNTAX = "expression-syntax", Error, "An expression is not well-formed",
        Fix "writes the operator that a lookalike stands for, a plain space, a `*` that is missing";
    REFUSED_FORM = "refused-form", Error, "An expression has a form that is outside the language",
        Fix "writes the form of the language that says the same, or gives the tensor the shape that a comparison states";
    EXPRESSION_LIMIT = "expression-limit", Error, "An expression is too long or nests too deep to be read",
        None "which part of it deserves a name is for its author to say";
    SHAPE_SYNTAX = "shape-syntax", Error, "A shape is neither a list of axes nor an applied type family",
        Fix "puts the axes in brackets";
    TYPE_SYNTAX = "type-syntax", Error, "A type is not well-formed",
        Fix "joins alternatives with `|`";
}
