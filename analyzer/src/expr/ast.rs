//! The tree of an expression. Ranges are in the entry's source, also inside quoted, escaped and folded scalars.

use std::sync::Arc;

use crate::text::{Spanned, TextRange};

/// An expression and the characters that state it (parentheses around it are not part of them).
#[derive(Debug, Clone, PartialEq)]
pub struct Expr {
    /// What it is.
    pub kind: ExprKind,
    /// Where it stands.
    pub range: TextRange,
}

/// A name in an expression.
pub type Ident = Spanned<Arc<str>>;

/// The forms of the language, and [`ExprKind::Error`] for a place that has none of them.
#[derive(Debug, Clone, PartialEq)]
pub enum ExprKind {
    /// `12`
    Int(i128),
    /// `0.5`, `1e-6`, `inf`
    Float(f64),
    /// `True`, `False`
    Bool(bool),
    /// `None`
    None,
    /// `'text'`
    Str(Arc<str>),
    /// `(a, b)`, `()`, `(a,)`
    Tuple(Vec<Expr>),
    /// `M`
    Name(Arc<str>),
    /// `-x`, `not x`
    Unary(UnaryOp, Box<Expr>),
    /// `a + b`
    Binary(BinaryOp, Box<Expr>, Box<Expr>),
    /// `a and b and c`: two operands or more.
    Bools(BoolOp, Vec<Expr>),
    /// `a < b <= c`: the first operand and one comparison or more.
    Compare(Box<Expr>, Vec<(Spanned<CompareOp>, Expr)>),
    /// `then if condition else otherwise`
    If {
        /// The value where the condition holds.
        then: Box<Expr>,
        /// The condition.
        condition: Box<Expr>,
        /// The value elsewhere.
        otherwise: Box<Expr>,
    },
    /// `f(a, key=b)`, `conv.out(…)`, `sum(n * 2 for n in S)`
    Call(Call),
    /// `s[i]`
    Index(Box<Expr>, Box<Expr>),
    /// `s[a:b]`; a bound may be absent. There is no step.
    Slice(Box<Expr>, Option<Box<Expr>>, Option<Box<Expr>>),
    /// `v.value`, `layout.kind`, `layout.max_m`
    Attribute(Box<Expr>, Ident),
    /// A place that could not be read, or a form outside the language; its defect has been reported. What could be
    /// read inside it is kept, so that its names are still checked.
    Error(Vec<Expr>),
}

/// A call.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// The name called, with its dots: `conv.out`.
    pub callee: Ident,
    /// The positional arguments.
    pub args: Vec<Expr>,
    /// The keyword arguments.
    pub keywords: Vec<(Ident, Expr)>,
    /// `for name in iterable` behind the only argument.
    pub comprehension: Option<Box<Comprehension>>,
}

/// The `for name in iterable` of a comprehension; the element is the call's only argument.
#[derive(Debug, Clone, PartialEq)]
pub struct Comprehension {
    /// The variable.
    pub variable: Ident,
    /// What it runs over.
    pub iterable: Expr,
}

/// A prefix operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum UnaryOp {
    /// `-`
    Neg,
    /// `not`
    Not,
}

/// An arithmetic operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BinaryOp {
    /// `+`
    Add,
    /// `-`
    Sub,
    /// `*`
    Mul,
    /// `//`
    FloorDiv,
    /// `%`
    Mod,
}

/// A Boolean operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BoolOp {
    /// `and`
    And,
    /// `or`
    Or,
}

/// A comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CompareOp {
    /// `==`
    Eq,
    /// `!=`
    Ne,
    /// `<`
    Lt,
    /// `<=`
    Le,
    /// `>`
    Gt,
    /// `>=`
    Ge,
    /// `in`
    In,
    /// `not in`
    NotIn,
}

/// A tensor's shape.
#[derive(Debug, Clone, PartialEq)]
pub struct Shape {
    /// What it is.
    pub kind: ShapeKind,
    /// Where it stands.
    pub range: TextRange,
}

/// The forms of a shape.
#[derive(Debug, Clone, PartialEq)]
pub enum ShapeKind {
    /// `[axis, …]`
    Axes(Vec<Axis>),
    /// `Family[argument, …]`
    Family(Ident, Vec<Expr>),
    /// A place that has neither form; its defect has been reported.
    Error(Vec<Expr>),
}

/// One item of a shape's brackets.
#[derive(Debug, Clone, PartialEq)]
pub enum Axis {
    /// An integer expression: one axis.
    One(Expr),
    /// `*S` or `*reduced(…)`: any number of axes. The range of the star is where it starts.
    Splice(Expr),
}

/// A type: a parameter's `type`, a `forall` kind, an ADT field's type.
#[derive(Debug, Clone, PartialEq)]
pub struct TypeExpr {
    /// What it is.
    pub kind: TypeExprKind,
    /// Where it stands.
    pub range: TextRange,
}

/// The forms of a type.
#[derive(Debug, Clone, PartialEq)]
pub enum TypeExprKind {
    /// `int`, `None`, `torch.dtype`
    Name(Arc<str>),
    /// `'tight'`
    Literal(Arc<str>),
    /// `tuple[int, ...]`, `DType[float16 | bfloat16]`, `Seq[Int]`
    Apply(Ident, Vec<TypeExpr>),
    /// `...`, as an argument of `tuple`
    Ellipsis,
    /// `a | b`
    Union(Vec<TypeExpr>),
    /// A place that could not be read; its defect has been reported.
    Error,
}

impl BinaryOp {
    /// The operator as written.
    pub fn as_str(self) -> &'static str {
        match self {
            BinaryOp::Add => "+",
            BinaryOp::Sub => "-",
            BinaryOp::Mul => "*",
            BinaryOp::FloorDiv => "//",
            BinaryOp::Mod => "%",
        }
    }
}

impl CompareOp {
    /// The operator as written.
    pub fn as_str(self) -> &'static str {
        match self {
            CompareOp::Eq => "==",
            CompareOp::Ne => "!=",
            CompareOp::Lt => "<",
            CompareOp::Le => "<=",
            CompareOp::Gt => ">",
            CompareOp::Ge => ">=",
            CompareOp::In => "in",
            CompareOp::NotIn => "not in",
        }
    }

    /// The operator that holds where this one does not: no value of the language is a NaN.
    pub fn opposite(self) -> CompareOp {
        match self {
            CompareOp::Eq => CompareOp::Ne,
            CompareOp::Ne => CompareOp::Eq,
            CompareOp::Lt => CompareOp::Ge,
            CompareOp::Le => CompareOp::Gt,
            CompareOp::Gt => CompareOp::Le,
            CompareOp::Ge => CompareOp::Lt,
            CompareOp::In => CompareOp::NotIn,
            CompareOp::NotIn => CompareOp::In,
        }
    }
}

impl BoolOp {
    /// The operator as written.
    pub fn as_str(self) -> &'static str {
        match self {
            BoolOp::And => "and",
            BoolOp::Or => "or",
        }
    }
}

impl Expr {
    /// An expression of `kind` at `range`.
    pub fn new(kind: ExprKind, range: TextRange) -> Self {
        Expr { kind, range }
    }

    /// The name, if it is nothing but one.
    pub fn as_name(&self) -> Option<&str> {
        match &self.kind {
            ExprKind::Name(name) => Some(name),
            _ => None,
        }
    }

    /// The negation of a condition: `a != b` of `a == b`, `a` of `not a`. A chain of comparisons has none but `not`.
    pub fn negated(&self) -> Expr {
        let kind = match &self.kind {
            ExprKind::Unary(UnaryOp::Not, operand) => return (**operand).clone(),
            ExprKind::Compare(first, rest) if rest.len() == 1 => {
                let opposite = |(op, operand): &(Spanned<CompareOp>, Expr)| {
                    let mut op = op.clone();
                    op.value = op.value.opposite();
                    (op, operand.clone())
                };
                ExprKind::Compare(first.clone(), rest.iter().map(opposite).collect())
            }
            _ => ExprKind::Unary(UnaryOp::Not, Box::new(self.clone())),
        };
        Expr::new(kind, self.range)
    }

    /// Calls `visit` on each direct operand, in the order written.
    pub fn for_each_child<'a>(&'a self, visit: &mut dyn FnMut(&'a Expr)) {
        match &self.kind {
            ExprKind::Int(_)
            | ExprKind::Float(_)
            | ExprKind::Bool(_)
            | ExprKind::None
            | ExprKind::Str(_)
            | ExprKind::Name(_) => {}
            ExprKind::Tuple(items) | ExprKind::Bools(_, items) | ExprKind::Error(items) => items.iter().for_each(visit),
            ExprKind::Unary(_, operand) | ExprKind::Attribute(operand, _) => visit(operand),
            ExprKind::Binary(_, left, right) | ExprKind::Index(left, right) => {
                visit(left);
                visit(right);
            }
            ExprKind::Compare(first, rest) => {
                visit(first);
                rest.iter().for_each(|(_, operand)| visit(operand));
            }
            ExprKind::If { then, condition, otherwise } => {
                visit(then);
                visit(condition);
                visit(otherwise);
            }
            ExprKind::Call(call) => {
                call.args.iter().for_each(&mut *visit);
                call.keywords.iter().for_each(|(_, value)| visit(value));
                if let Some(comprehension) = &call.comprehension {
                    visit(&comprehension.iterable);
                }
            }
            ExprKind::Slice(base, from, to) => {
                visit(base);
                from.iter().chain(to).for_each(|bound| visit(bound));
            }
        }
    }
}
