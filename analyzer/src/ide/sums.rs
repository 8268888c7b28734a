//! Sums of products of names: what a size is in the signature's terms, and how two such sums differ. A sum is compared
//! by its terms; what a term comes to on a call is never asked.

use crate::check::Branch;
use crate::expr::{Axis, BinaryOp, Expr, ExprKind, ShapeKind, UnaryOp};
use crate::roofline::Term;

/// Products multiplied out to more terms than this stay as they were written.
const MOST_TERMS: usize = 64;
/// `let`s are replaced by what they are no deeper than this.
const MOST_LETS: u32 = 16;

/// An integer times a product of factors, each the text of an expression.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Product {
    coefficient: i128,
    /// In the order written.
    factors: Vec<String>,
}

impl Product {
    /// What says that two products differ by their integer alone.
    fn key(&self) -> Vec<&str> {
        let mut key: Vec<&str> = self.factors.iter().map(String::as_str).collect();
        key.sort_unstable();
        key
    }
}

/// A sum of products, equal ones added, in the order in which they were first met.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Sum {
    products: Vec<Product>,
}

impl Sum {
    fn one(coefficient: i128, factors: Vec<String>) -> Sum {
        Sum { products: vec![Product { coefficient, factors }] }
    }

    /// A name, or another text that stands for a quantity.
    pub(crate) fn name(text: &str) -> Sum {
        Sum::one(1, vec![text.to_owned()])
    }

    /// Adds a product; nothing where the integer becomes too large.
    fn push(&mut self, product: Product) -> Option<()> {
        let key = product.key();
        match self.products.iter_mut().find(|other| other.key() == key) {
            Some(other) => other.coefficient = other.coefficient.checked_add(product.coefficient)?,
            None => self.products.push(product),
        }
        Some(())
    }

    /// Adds `other`, `times` over.
    pub(crate) fn add(&mut self, other: &Sum, times: i128) -> Option<()> {
        other.products.iter().try_for_each(|product| {
            let coefficient = product.coefficient.checked_mul(times)?;
            self.push(Product { coefficient, factors: product.factors.clone() })
        })
    }

    fn times(&self, other: &Sum) -> Option<Sum> {
        if self.products.len().saturating_mul(other.products.len()) > MOST_TERMS {
            return None;
        }
        let mut sum = Sum::default();
        for a in &self.products {
            for b in &other.products {
                let coefficient = a.coefficient.checked_mul(b.coefficient)?;
                let factors = a.factors.iter().chain(&b.factors).cloned().collect();
                sum.push(Product { coefficient, factors })?;
            }
        }
        Some(sum)
    }

    fn without_zeros(mut self) -> Sum {
        self.products.retain(|product| product.coefficient != 0);
        self
    }

    /// What is left of `self` without `other`.
    pub(crate) fn minus(&self, other: &Sum) -> Option<Sum> {
        let mut sum = self.clone();
        sum.add(other, -1)?;
        Some(sum.without_zeros())
    }

    /// Whether nothing is left.
    pub(crate) fn is_empty(&self) -> bool {
        self.products.iter().all(|product| product.coefficient == 0)
    }

    /// How many terms it has.
    pub(crate) fn len(&self) -> usize {
        self.products.len()
    }

    /// Its terms, each with its sign: `("+", "2*M*K")`.
    fn terms(&self) -> impl Iterator<Item = (&'static str, String)> + '_ {
        self.products.iter().filter(|product| product.coefficient != 0).map(|product| {
            let size = product.coefficient.unsigned_abs();
            let mut parts: Vec<String> = Vec::new();
            if size != 1 || product.factors.is_empty() {
                parts.push(size.to_string());
            }
            parts.extend(product.factors.iter().cloned());
            (if product.coefficient < 0 { "-" } else { "+" }, parts.join("*"))
        })
    }

    /// As what is added to something else: ` + 2*M*K - N`.
    pub(crate) fn signed(&self) -> String {
        self.terms().map(|(sign, term)| format!(" {sign} {term}")).collect()
    }
}

impl std::fmt::Display for Sum {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut is_first = true;
        for (sign, term) in self.terms() {
            match (is_first, sign) {
                (true, "-") => write!(f, "-{term}")?,
                (true, _) => f.write_str(&term)?,
                (false, sign) => write!(f, " {sign} {term}")?,
            }
            is_first = false;
        }
        if is_first { f.write_str("0") } else { Ok(()) }
    }
}

/// What a dtype's width is, in bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Width {
    /// The same on every call in question.
    Known(u32),
    /// A name's or an expression's, as text.
    Of(String),
}

impl Width {
    fn sum(&self) -> Sum {
        match self {
            Width::Known(bytes) => Sum::one(i128::from(*bytes), Vec::new()),
            Width::Of(dtype) => Sum::one(1, vec![format!("size({dtype})")]),
        }
    }
}

/// A tensor's size as it is written: axes stay as they are.
pub(crate) fn size(term: &Term, width: &Width) -> Option<Sum> {
    let ShapeKind::Axes(axes) = &term.shape.kind else { return None };
    let mut sum = width.sum();
    for axis in axes {
        let factor = match axis {
            Axis::One(expr) => flat(expr),
            Axis::Splice(expr) => Some(Sum::one(1, vec![format!("prod({expr})")])),
        };
        sum = sum.times(&factor?)?;
    }
    Some(sum)
}

/// A product as it is written: only its factors are told apart.
fn flat(expr: &Expr) -> Option<Sum> {
    match &expr.kind {
        ExprKind::Int(value) => Some(Sum::one(*value, Vec::new())),
        ExprKind::Binary(BinaryOp::Mul, a, b) => flat(a)?.times(&flat(b)?),
        _ => Some(Sum::one(1, vec![atom(expr)])),
    }
}

/// How expressions are multiplied out.
pub(crate) struct Reader<'a> {
    /// What stands for `bytes(t)`; nothing where the call stays as it is.
    pub(crate) bytes: &'a dyn Fn(&str) -> Option<Sum>,
    /// Where `let`s are replaced by what they are there.
    pub(crate) lets: Option<&'a Branch>,
}

impl Reader<'_> {
    /// A tensor's size with everything multiplied out.
    pub(crate) fn size(&self, term: &Term, width: &Width) -> Option<Sum> {
        let ShapeKind::Axes(axes) = &term.shape.kind else { return None };
        axes.iter().try_fold(width.sum(), |sum, axis| {
            let factor = match axis {
                Axis::One(expr) => self.read(expr),
                Axis::Splice(expr) => match self.let_of(expr, 0) {
                    Some(value) => Sum::one(1, vec![format!("prod({value})")]),
                    None => Sum::one(1, vec![format!("prod({expr})")]),
                },
            };
            sum.times(&factor)
        })
    }

    /// An integer expression with everything multiplied out. What is neither a sum nor a product stays as it is.
    pub(crate) fn read(&self, expr: &Expr) -> Sum {
        self.parts(expr, 0).map_or_else(|| Sum::one(1, vec![atom(expr)]), Sum::without_zeros)
    }

    fn let_of(&self, expr: &Expr, depth: u32) -> Option<&Expr> {
        let ExprKind::Name(name) = &expr.kind else { return None };
        self.lets.filter(|_| depth < MOST_LETS)?.folded_let(name).map(|value| &**value)
    }

    // No deeper than the parser reads, times the depth of `let`s.
    fn parts(&self, expr: &Expr, depth: u32) -> Option<Sum> {
        let part = |expr: &Expr| self.parts(expr, depth).unwrap_or_else(|| Sum::one(1, vec![atom(expr)]));
        match &expr.kind {
            ExprKind::Int(value) => Some(Sum::one(*value, Vec::new())),
            ExprKind::Unary(UnaryOp::Neg, inner) => {
                let mut sum = Sum::default();
                sum.add(&part(inner), -1)?;
                Some(sum)
            }
            ExprKind::Binary(operator @ (BinaryOp::Add | BinaryOp::Sub), a, b) => {
                let mut sum = part(a);
                sum.add(&part(b), if *operator == BinaryOp::Add { 1 } else { -1 })?;
                (sum.len() <= MOST_TERMS).then_some(sum)
            }
            ExprKind::Binary(BinaryOp::Mul, a, b) => part(a).times(&part(b)),
            ExprKind::Name(_) => {
                let value = self.let_of(expr, depth)?;
                Some(self.parts(value, depth + 1).unwrap_or_else(|| Sum::one(1, vec![atom(value)])))
            }
            ExprKind::Call(call) if &*call.callee.value == "bytes" => match call.args.as_slice() {
                [Expr { kind: ExprKind::Name(name), .. }] => (self.bytes)(name),
                _ => None,
            },
            _ => None,
        }
    }
}

/// A factor, in parentheses where it must be.
fn atom(expr: &Expr) -> String {
    let is_atom = match &expr.kind {
        ExprKind::Name(_) | ExprKind::Call(_) | ExprKind::Attribute(..) | ExprKind::Index(..) => true,
        ExprKind::Int(value) => *value >= 0,
        _ => false,
    };
    if is_atom { expr.to_string() } else { format!("({expr})") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::defect::Findings;
    use crate::expr::parse_expression;
    use crate::syntax::Scalar;
    use crate::text::{TextRange, TextSize};

    fn expr(text: &str) -> Expr {
        let range = TextRange::up_to(TextSize::of(text));
        let scalar = Scalar::plain(text);
        let mut found = Findings::default();
        let expr = parse_expression(&scalar, range, "", &mut found);
        assert!(found.defects.is_empty(), "{text}: {found:?}");
        expr
    }

    fn read(text: &str) -> Sum {
        Reader { bytes: &|_| None, lets: None }.read(&expr(text))
    }

    #[test]
    fn products_are_multiplied_out_and_equal_terms_added() {
        let cases = [
            ("2 * M * K + K * 3 * M", "5*M*K"),
            ("(M + 1) * (K - 2)", "M*K - 2*M + K - 2"),
            ("M - M", "0"),
            ("-(M - 2)", "-M + 2"),
            ("-M * -2", "2*M"),
            ("M // 2 * 4", "4*(M // 2)"),
            ("prod(B) * (M if p else 0)", "prod(B)*(M if p else 0)"),
            ("7", "7"),
            ("bytes(x) + bytes(x)", "2*bytes(x)"),
            ("M % 2 - M % 2", "0"),
        ];
        for (text, expected) in cases {
            assert_eq!(read(text).to_string(), expected, "{text}");
        }
    }

    #[test]
    fn a_difference_is_what_is_more_and_less() {
        let of = |a: &str, b: &str| read(a).minus(&read(b)).map(|sum| sum.signed());
        assert_eq!(of("M * K", "K * M").as_deref(), Some(""));
        assert_eq!(of("2 * M + 4 * N", "M * 2 + P").as_deref(), Some(" + 4*N - P"));
    }

    #[test]
    fn what_is_too_large_stays_as_it_is_written() {
        let huge = format!("{} * 3", i128::MAX);
        assert_eq!(read(&huge).to_string(), format!("({huge})"));
        let wide = ["(a + b + c + d)"; 4].join(" * ");
        assert!(read(&wide).len() <= MOST_TERMS);
        assert!(read(&format!("{huge} + {huge}")).minus(&read(&huge)).is_some());
    }
}
