//! Our reading of expressions, shapes and types, held to CPython's.
//!
//! For every text: where CPython reads it and the language has it, our tree is CPython's, to the byte, and has no
//! defect; where CPython refuses it, or reads what the language leaves out, we report a defect.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod support;

use std::fmt::Write as _;
use std::sync::Arc;

use support::{Random, judge};
use tileops_analyzer::defect::Findings;
use tileops_analyzer::expr::{
    Axis, BinaryOp, BoolOp, Call, CompareOp, Comprehension, Expr, ExprKind, Shape, ShapeKind, TypeExpr, TypeExprKind,
    UnaryOp, parse_expression, parse_shape, parse_type,
};
use tileops_analyzer::syntax::Scalar;
use tileops_analyzer::text::{Spanned, TextRange, TextSize};

/// A tree as an s-expression.
struct Dump {
    places: bool,
}

impl Dump {
    fn place(&self, range: TextRange) -> String {
        if self.places { format!(" {} {}", u32::from(range.start()), u32::from(range.end())) } else { String::new() }
    }

    fn all<'a>(&self, exprs: impl IntoIterator<Item = &'a Expr>) -> String {
        exprs.into_iter().map(|e| self.expr(e)).collect::<Vec<_>>().join(" ")
    }

    fn expr(&self, expr: &Expr) -> String {
        let at = self.place(expr.range);
        match &expr.kind {
            ExprKind::Int(value) => format!("(int {value}{at})"),
            ExprKind::Float(value) => format!("(float {:016x}{at})", value.to_bits()),
            ExprKind::Bool(value) => format!("(bool {}{at})", if *value { "True" } else { "False" }),
            ExprKind::None => format!("(none{at})"),
            ExprKind::Str(text) => format!("(str {}.{at})", hex(text)),
            ExprKind::Tuple(items) => format!("(tuple {}{at})", self.all(items)),
            ExprKind::Name(name) => format!("(name {name}{at})"),
            ExprKind::Unary(UnaryOp::Neg, operand) => format!("(- {}{at})", self.expr(operand)),
            ExprKind::Unary(UnaryOp::Not, operand) => format!("(not {}{at})", self.expr(operand)),
            ExprKind::Binary(op, left, right) => {
                format!("({} {} {}{at})", op.as_str(), self.expr(left), self.expr(right))
            }
            ExprKind::Bools(op, operands) => format!("({} {}{at})", op.as_str(), self.all(operands)),
            ExprKind::Compare(first, rest) => {
                let mut out = format!("(compare {}", self.expr(first));
                for (op, operand) in rest {
                    write!(out, " {} {}", op.value.as_str(), self.expr(operand)).unwrap();
                }
                format!("{out}{at})")
            }
            ExprKind::If { then, condition, otherwise } => {
                format!("(if {} {} {}{at})", self.expr(then), self.expr(condition), self.expr(otherwise))
            }
            ExprKind::Call(call) => self.call(call, &at),
            ExprKind::Index(base, index) => format!("(index {} {}{at})", self.expr(base), self.expr(index)),
            ExprKind::Slice(base, from, to) => {
                let bound = |b: &Option<Box<Expr>>| b.as_ref().map_or("()".to_owned(), |b| self.expr(b));
                format!("(slice {} {} {}{at})", self.expr(base), bound(from), bound(to))
            }
            ExprKind::Attribute(base, name) => format!("(. {} {}{at})", self.expr(base), name.value),
            ExprKind::Error(parts) => format!("(error {}{at})", self.all(parts)),
        }
    }

    fn call(&self, call: &Call, at: &str) -> String {
        let callee = format!("{}{}", call.callee.value, self.place(call.callee.range));
        if let Some(c) = &call.comprehension {
            let variable = format!("{}{}", c.variable.value, self.place(c.variable.range));
            return format!("(for {callee} {} {variable} {}{at})", self.all(&call.args), self.expr(&c.iterable));
        }
        let mut parts = vec![callee];
        parts.extend(call.args.iter().map(|a| self.expr(a)));
        for (name, value) in &call.keywords {
            parts.push(format!("{}={} {}", name.value, self.place(name.range), self.expr(value)));
        }
        format!("(call {}{at})", parts.join(" "))
    }

    fn shape(&self, shape: &Shape) -> String {
        let at = self.place(shape.range);
        match &shape.kind {
            ShapeKind::Axes(axes) => {
                let axis = |axis: &Axis| match axis {
                    Axis::One(e) => self.expr(e),
                    Axis::Splice(e) => format!("* {}", self.expr(e)),
                };
                format!("(axes {}{at})", axes.iter().map(axis).collect::<Vec<_>>().join(" "))
            }
            ShapeKind::Family(name, arguments) => format!("(family {} {}{at})", name.value, self.all(arguments)),
            ShapeKind::Error(parts) => format!("(error {}{at})", self.all(parts)),
        }
    }

    fn ty(&self, ty: &TypeExpr) -> String {
        let at = self.place(ty.range);
        let all = |types: &[TypeExpr]| types.iter().map(|t| self.ty(t)).collect::<Vec<_>>().join(" ");
        match &ty.kind {
            TypeExprKind::Name(name) => format!("(type {name}{at})"),
            TypeExprKind::Literal(text) => format!("(str {}.{at})", hex(text)),
            TypeExprKind::Apply(name, arguments) => format!("(apply {} {}{at})", name.value, all(arguments)),
            TypeExprKind::Ellipsis => "...".to_owned(),
            TypeExprKind::Union(members) => format!("(| {}{at})", all(members)),
            TypeExprKind::Error => format!("(error{at})"),
        }
    }
}

fn hex(text: &str) -> String {
    text.bytes().map(|b| format!("{b:02x}")).collect()
}

/// Our reading: the dump, and how many defects.
fn read(form: char, text: &str, places: bool) -> (String, Findings) {
    let (scalar, range) = (Scalar::plain(text), TextRange::up_to(TextSize::of(text)));
    let mut findings = Findings::default();
    let dump = Dump { places };
    let tree = match form {
        'e' => dump.expr(&parse_expression(&scalar, range, "", &mut findings)),
        's' => dump.shape(&parse_shape(&scalar, range, "", &mut findings)),
        _ => dump.ty(&parse_type(&scalar, range, "", &mut findings)),
    };
    (tree, findings)
}

/// CPython's reading of every text.
fn cpython(texts: &[(char, String)]) -> Option<Vec<String>> {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/python/expressions.py");
    judge("ast", &[script], texts)
}

fn compare(texts: &[(char, String)]) {
    let Some(judged) = cpython(texts) else { return };
    assert_eq!(judged.len(), texts.len());
    let mut wrong = Vec::new();
    let mut read_by_both = 0;
    for ((form, text), judged) in texts.iter().zip(&judged) {
        let (ours, findings) = read(*form, text, true);
        let defects: Vec<&str> = findings.defects.iter().map(|d| d.message.as_str()).collect();
        if judged.starts_with('(') {
            read_by_both += 1;
            if *judged != squeeze(&ours) && squeeze(judged) != squeeze(&ours) || !defects.is_empty() {
                wrong.push(format!("{form} {text:?}\n  python {judged}\n  ours   {ours}\n  {defects:?}"));
            }
        } else if defects.is_empty() {
            wrong.push(format!("{form} {text:?}\n  python {judged}\n  ours   {ours}"));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {} differ:\n{}",
        wrong.len(),
        texts.len(),
        wrong[..wrong.len().min(25)].join("\n")
    );
    assert!(read_by_both > 0);
}

/// One space for several.
fn squeeze(text: &str) -> String {
    text.split(' ').filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ").replace("( ", "(").replace(" )", ")")
}

const NAMES: &[&str] = &["M", "K", "S", "dim", "x", "trans_a", "_", "f16", "match", "e1"];
const STRINGS: &[&str] = &["", "full", "it's", "\"", "a\\b", "\n\t\u{1}", "é😀", "'\""];
const CALLEES: &[&str] = &["ceil_div", "conv.out", "present", "f", "len", "max"];
const KEYWORDS: &[&str] = &["default", "fallback", "k"];

fn expr(kind: ExprKind) -> Expr {
    Expr::new(kind, TextRange::default())
}

fn ident(name: &str) -> Spanned<Arc<str>> {
    Spanned::new(Arc::from(name), TextRange::default())
}

/// A random tree of the language, of at most `depth` levels.
fn tree(r: &mut Random, depth: usize) -> Expr {
    let choice = if depth == 0 { r.below(7) } else { r.below(20) };
    let sub = |r: &mut Random| tree(r, depth.saturating_sub(1));
    let boxed = |r: &mut Random| Box::new(tree(r, depth.saturating_sub(1)));
    let many = |r: &mut Random, least: usize| {
        let n = least + r.below(3);
        (0..n).map(|_| sub(r)).collect::<Vec<_>>()
    };
    expr(match choice {
        0 => ExprKind::Int(r.pick(&[0, 1, 2, 16, 255, i128::MAX])),
        1 => ExprKind::Float(r.pick(&[0.0, 0.5, 1.0, 1e-6, 1e16, 1.5e300, f64::INFINITY, f64::MIN_POSITIVE])),
        2 => ExprKind::Bool(r.below(2) == 0),
        3 => ExprKind::Str(Arc::from(r.pick(STRINGS))),
        4 => ExprKind::Tuple(if depth == 0 { Vec::new() } else { many(r, 0) }),
        5 | 6 => ExprKind::Name(Arc::from(r.pick(NAMES))),
        7 => ExprKind::Unary(UnaryOp::Neg, boxed(r)),
        8 => ExprKind::Unary(UnaryOp::Not, boxed(r)),
        9..=11 => {
            let op = r.pick(&[BinaryOp::Add, BinaryOp::Sub, BinaryOp::Mul, BinaryOp::FloorDiv, BinaryOp::Mod]);
            ExprKind::Binary(op, boxed(r), boxed(r))
        }
        12 => ExprKind::Bools(r.pick(&[BoolOp::And, BoolOp::Or]), many(r, 2)),
        13 | 14 => {
            let first = boxed(r);
            let ops = [
                CompareOp::Eq,
                CompareOp::Ne,
                CompareOp::Lt,
                CompareOp::Le,
                CompareOp::Gt,
                CompareOp::Ge,
                CompareOp::In,
                CompareOp::NotIn,
            ];
            let n = 1 + r.below(3);
            let rest = (0..n).map(|_| (Spanned::new(r.pick(&ops), TextRange::default()), sub(r))).collect();
            ExprKind::Compare(first, rest)
        }
        15 => ExprKind::If { then: boxed(r), condition: boxed(r), otherwise: boxed(r) },
        16 => {
            let keywords = (0..r.below(3)).map(|i| (ident(KEYWORDS[i]), sub(r))).collect();
            let callee = ident(r.pick(CALLEES));
            ExprKind::Call(Call { callee, args: many(r, 0), keywords, comprehension: None })
        }
        17 => {
            let comprehension = Comprehension { variable: ident(r.pick(NAMES)), iterable: sub(r) };
            ExprKind::Call(Call {
                callee: ident(r.pick(&["all", "sum", "max", "min"])),
                args: vec![sub(r)],
                keywords: Vec::new(),
                comprehension: Some(Box::new(comprehension)),
            })
        }
        18 if r.below(2) == 0 => ExprKind::Index(boxed(r), boxed(r)),
        18 => {
            let from = (r.below(2) == 0).then(|| boxed(r));
            let to = (r.below(2) == 0).then(|| boxed(r));
            ExprKind::Slice(boxed(r), from, to)
        }
        _ => ExprKind::Attribute(boxed(r), ident(r.pick(&["value", "kind", "max_m"]))),
    })
}

fn random_shape(r: &mut Random) -> Shape {
    let kind = if r.below(4) == 0 {
        ShapeKind::Family(ident("Mat"), (0..1 + r.below(3)).map(|_| tree(r, 2)).collect())
    } else {
        let axis = |r: &mut Random| if r.below(3) == 0 { Axis::Splice(tree(r, 2)) } else { Axis::One(tree(r, 2)) };
        ShapeKind::Axes((0..r.below(4)).map(|_| axis(r)).collect())
    };
    Shape { kind, range: TextRange::default() }
}

fn random_type(r: &mut Random, depth: usize) -> TypeExpr {
    let choice = if depth == 0 { r.below(3) } else { r.below(6) };
    let kind = match choice {
        0 | 1 => TypeExprKind::Name(Arc::from(r.pick(&["int", "None", "torch.dtype", "float16"]))),
        2 => TypeExprKind::Literal(Arc::from(r.pick(STRINGS))),
        3 | 4 => {
            let mut arguments: Vec<_> = (0..1 + r.below(3)).map(|_| random_type(r, depth - 1)).collect();
            if r.below(3) == 0 {
                arguments.push(TypeExpr { kind: TypeExprKind::Ellipsis, range: TextRange::default() });
            }
            TypeExprKind::Apply(ident(r.pick(&["list", "tuple", "DType"])), arguments)
        }
        _ => {
            let members = (0..2 + r.below(3)).map(|_| random_type(r, depth - 1));
            // A union in a union is one union.
            let flat = members.flat_map(|m| match m.kind {
                TypeExprKind::Union(inner) => inner,
                _ => vec![m],
            });
            TypeExprKind::Union(flat.collect())
        }
    };
    TypeExpr { kind, range: TextRange::default() }
}

#[test]
fn what_is_printed_reads_as_the_same_tree_here_and_in_cpython() {
    let mut r = Random::new(1);
    let dump = Dump { places: false };
    let mut texts = Vec::new();
    for round in 0..4000 {
        let depth = 1 + round % 5;
        let (form, text, tree) = match round % 8 {
            0 => {
                let shape = random_shape(&mut r);
                ('s', shape.to_string(), dump.shape(&shape))
            }
            1 => {
                let ty = random_type(&mut r, depth);
                ('t', ty.to_string(), dump.ty(&ty))
            }
            _ => {
                let tree = tree(&mut r, depth);
                ('e', tree.to_string(), dump.expr(&tree))
            }
        };
        let (again, findings) = read(form, &text, false);
        assert_eq!(again, tree, "{text}");
        assert_eq!(findings, Findings::default(), "{text}");
        texts.push((form, text));
    }
    compare(&texts);
}

const WORDS: &[&str] = &[
    "a",
    "b",
    "M",
    "inf",
    "1",
    "0",
    "010",
    "1_0",
    "1__0",
    "0x1F",
    "0b2",
    "1.",
    ".5",
    "1e5",
    "1e999",
    "1.5e-3",
    "2j",
    "'s'",
    "\"t\"",
    "''",
    "'a\\n'",
    "'\\d'",
    "f'x'",
    "b'x'",
    "r'x'",
    "'''x'''",
    "and",
    "or",
    "not",
    "in",
    "is",
    "if",
    "else",
    "for",
    "lambda",
    "None",
    "True",
    "False",
    "class",
    "await",
    "yield",
    "match",
    "+",
    "-",
    "*",
    "/",
    "//",
    "%",
    "**",
    "@",
    "<",
    "<=",
    ">",
    ">=",
    "==",
    "!=",
    "=",
    ":=",
    "+=",
    "//=",
    "->",
    "&",
    "|",
    "^",
    "~",
    "<<",
    ">>",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    ",",
    ":",
    ".",
    "...",
    ";",
    "!",
    "?",
    "$",
    "&&",
    "||",
    "<>",
    "===",
    "#",
    "sum",
    "max",
    "f",
    "len",
    ".kind",
    ".value",
    ".shape",
    ".size",
    "range",
    "isinstance",
    "not in",
    "is not",
    "if a else",
    "for x in S",
    "sum(x for x in",
    "(a, b)",
    "f(",
    "s[",
    "k=",
    "é",
    "×",
];

fn soup(r: &mut Random, least: usize, most: usize) -> String {
    let n = least + r.below(most - least + 1);
    let mut out = String::new();
    for position in 0..n {
        if position > 0 && r.below(5) > 0 {
            out.push(' ');
        }
        out.push_str(r.pick(WORDS));
    }
    out
}

/// A valid text with one to three words put in, taken out or exchanged.
fn broken(r: &mut Random, text: &str) -> String {
    let mut words: Vec<String> = Vec::new();
    let class = |c: char| match c {
        ' ' => 0,
        _ if c == '_' || c.is_alphanumeric() => 1,
        _ => 2,
    };
    for c in text.chars() {
        match words.last_mut() {
            Some(word) if class(c) != 2 && word.chars().next_back().map(class) == Some(class(c)) => word.push(c),
            _ => words.push(c.to_string()),
        }
    }
    for _ in 0..1 + r.below(2) {
        let at = r.below(words.len() + 1);
        match r.below(3) {
            0 => words.insert(at, format!(" {} ", r.pick(WORDS))),
            1 if at < words.len() => {
                words.remove(at);
            }
            _ if at < words.len() => words[at] = r.pick(WORDS).to_owned(),
            _ => {}
        }
    }
    words.concat().trim_start().replace(['\n', '\u{c}'], " ")
}

#[test]
fn texts_of_random_words_are_read_as_cpython_reads_them() {
    let mut r = Random::new(2);
    let mut texts = Vec::new();
    for round in 0..24_000 {
        let form = if round % 10 == 0 {
            's'
        } else if round % 10 == 1 {
            't'
        } else {
            'e'
        };
        let text = if round % 3 == 0 {
            soup(&mut r, 1, 7)
        } else {
            let base = match form {
                's' => random_shape(&mut r).to_string(),
                't' => random_type(&mut r, 2).to_string(),
                _ => tree(&mut r, 2).to_string(),
            };
            broken(&mut r, &base)
        };
        texts.push((form, text));
    }
    compare(&texts);
}

#[test]
fn handwritten_texts_are_read_as_cpython_reads_them() {
    let texts: Vec<(char, String)> = include_str!("../src/expr/texts.txt")
        .lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| line.split_once('|'))
        .map(|(form, text)| (form.chars().next().unwrap(), text.trim_start().to_owned()))
        .chain(
            [
                "a if b else c if d else e",
                "(a if b else c) if d else e",
                "a or b and not c == d",
                "not a in b",
                "- - a",
                "-a[0].value(",
                "a < b < c == (d < e)",
                "a - b - c * d // e % f",
                "f(a,)",
                "f(a, b=1,)",
                "f(a)(b)",
                "(f)(a)",
                "s[(a, b)]",
                "s[a:]",
                "s[::]",
                "s[a if b else c:d]",
                "sum(a if b else c for x in s)",
                "sum(x for x in a if b else c)",
                "sum(x for x in (a if b else c))",
                "all(x > 0 for x in s) and b",
                "max((x for x in s), default=0)",
                "x == (None)",
                "1 .real",
                "1.e5",
                "0_0",
                "0x_f",
                "0xg",
                "00",
                "1e5_0",
                "1._5",
                "a\tb",
                "'\\x41\\u00e9\\101\\0'",
                "'\\x4'",
                "'\\ud800'",
                "'\\N{BULLET}'",
                "a \\",
                "sum(x for (x) in s)",
                "f(a for a in s)",
                "f(k=1, k=2)",
                "f(True=1)",
                "f(a.b=1)",
                "*a",
                "a, *b",
                "(*a, b)",
                "()",
                "((a, b), (c,))",
                "(a), (b)",
                "s[(a), (b)]",
                "(a).b(c)",
                "inf",
                "x.inf",
                "f(inf=1)",
            ]
            .map(|text| ('e', text.to_owned())),
        )
        .collect();
    compare(&texts);
}
