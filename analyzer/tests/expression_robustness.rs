//! Any text at all: no panic, no stack overflow, bounded time, the same result each time, and every place in the scalar
//! and on the characters that it is about.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::sync::Arc;

use proptest::prelude::*;
use tileops_analyzer::defect::Findings;
use tileops_analyzer::expr::{
    Axis, Expr, ExprKind, Shape, ShapeKind, TypeExpr, TypeExprKind, parse_expression, parse_shape, parse_type, tokens,
};
use tileops_analyzer::syntax::{Scalar, ScalarStyle, ScalarValue, SourceMap};
use tileops_analyzer::text::{TextRange, TextSize};

/// A scalar, its range, and the source it stands in.
struct Written {
    source: String,
    scalar: Scalar,
    range: TextRange,
}

fn size(n: usize) -> TextSize {
    TextSize::new(n as u32)
}

/// `text` in double quotes behind an emoji, each of its characters escaped where `escape` says so.
fn written(text: &str, escape: impl Fn(usize) -> bool) -> Written {
    let mut source = "x: 😀 ".to_owned();
    let start = source.len();
    source.push('"');
    let mut map = SourceMap::empty(size(source.len()));
    for (position, c) in text.chars().enumerate() {
        let at = source.len();
        if escape(position) || matches!(c, '"' | '\\' | '\n' | '\r') || c.is_control() {
            source.push_str(&format!("\\U{:08x}", u32::from(c)));
        } else {
            source.push(c);
        }
        map.push(TextRange::new(size(at), size(source.len())), size(c.len_utf8()));
    }
    source.push('"');
    let range = TextRange::new(size(start), size(source.len()));
    let scalar =
        Scalar { text: Arc::from(text), style: ScalarStyle::DoubleQuoted, value: ScalarValue::Str, yaml12: None, map };
    Written { source, scalar, range }
}

impl Written {
    /// What the source characters at `range` stand for.
    fn decode(&self, range: TextRange) -> String {
        let mut text = self.source[usize::from(range.start())..usize::from(range.end())].to_owned();
        while let Some(at) = text.find("\\U") {
            let code = u32::from_str_radix(&text[at + 2..at + 10], 16).unwrap();
            text.replace_range(at..at + 10, &char::from_u32(code).unwrap().to_string());
        }
        text
    }

    fn inside(&self, range: TextRange) {
        assert!(self.range.contains_range(range), "{range:?} leaves {:?} in {}", self.range, self.source);
        assert!(self.source.is_char_boundary(range.start().into()), "{range:?} splits a character");
        assert!(self.source.is_char_boundary(range.end().into()), "{range:?} splits a character");
    }

    fn expr(&self, root: &Expr) {
        let mut open = vec![(root, 1)];
        while let Some((expr, depth)) = open.pop() {
            assert!(depth <= 256, "a tree of more than 256 levels");
            self.inside(expr.range);
            match &expr.kind {
                ExprKind::Name(name) => assert_eq!(self.decode(expr.range), **name),
                ExprKind::Attribute(base, name) => {
                    assert_eq!(self.decode(name.range), *name.value);
                    assert!(expr.range.contains_range(base.range) && expr.range.contains_range(name.range));
                }
                ExprKind::Call(call) => {
                    assert_eq!(
                        self.decode(call.callee.range).split_whitespace().collect::<String>(),
                        *call.callee.value
                    );
                    for (name, _) in &call.keywords {
                        assert_eq!(self.decode(name.range), *name.value);
                    }
                    if let Some(c) = &call.comprehension {
                        assert_eq!(self.decode(c.variable.range), *c.variable.value);
                    }
                }
                ExprKind::Compare(_, rest) => {
                    for (op, _) in rest {
                        self.inside(op.range);
                    }
                }
                _ => {}
            }
            expr.for_each_child(&mut |child| {
                assert!(expr.range.contains_range(child.range), "{:?} in {:?}: {}", child, expr, self.source);
                open.push((child, depth + 1));
            });
        }
    }

    fn shape(&self, shape: &Shape) {
        self.inside(shape.range);
        match &shape.kind {
            ShapeKind::Axes(axes) => axes.iter().for_each(|axis| match axis {
                Axis::One(e) | Axis::Splice(e) => self.expr(e),
            }),
            ShapeKind::Family(name, parts) => {
                assert_eq!(self.decode(name.range), *name.value);
                parts.iter().for_each(|e| self.expr(e));
            }
            ShapeKind::Error(parts) => parts.iter().for_each(|e| self.expr(e)),
        }
    }

    fn ty(&self, root: &TypeExpr) {
        let mut open = vec![(root, 1)];
        while let Some((ty, depth)) = open.pop() {
            assert!(depth <= 600, "a type of too many levels");
            self.inside(ty.range);
            match &ty.kind {
                TypeExprKind::Name(name) => {
                    assert_eq!(self.decode(ty.range).split_whitespace().collect::<String>(), **name);
                }
                TypeExprKind::Apply(_, parts) | TypeExprKind::Union(parts) => {
                    open.extend(parts.iter().map(|p| (p, depth + 1)));
                }
                _ => {}
            }
        }
    }

    fn findings(&self, findings: &Findings) {
        for defect in &findings.defects {
            self.inside(defect.range);
            let message = &defect.message;
            assert!(!message.ends_with('.') && message.len() < 400 && !message.contains('\n'), "{message}");
        }
    }

    /// Reads it in all three ways, twice.
    fn check(&self) {
        let mut first = Findings::default();
        let expr = parse_expression(&self.scalar, self.range, "p", &mut first);
        let mut second = Findings::default();
        assert_eq!(expr, parse_expression(&self.scalar, self.range, "p", &mut second));
        assert_eq!(first, second);
        self.expr(&expr);
        self.findings(&first);
        if first.defects.is_empty() {
            assert!(!has_error(&expr), "an error without a defect: {}", self.source);
        }

        let mut findings = Findings::default();
        let shape = parse_shape(&self.scalar, self.range, "p", &mut findings);
        self.shape(&shape);
        self.findings(&findings);
        assert!(!findings.defects.is_empty() || !matches!(shape.kind, ShapeKind::Error(_)));

        let mut findings = Findings::default();
        let ty = parse_type(&self.scalar, self.range, "p", &mut findings);
        self.ty(&ty);
        self.findings(&findings);
        assert!(!findings.defects.is_empty() || !matches!(ty.kind, TypeExprKind::Error));

        let mut last = self.range.start();
        for token in tokens(&self.scalar, self.range) {
            self.inside(token.range);
            assert!(token.range.start() >= last && !token.range.is_empty());
            last = token.range.end();
        }
    }
}

fn has_error(root: &Expr) -> bool {
    let mut open = vec![root];
    while let Some(expr) = open.pop() {
        if matches!(expr.kind, ExprKind::Error(_)) {
            return true;
        }
        expr.for_each_child(&mut |child| open.push(child));
    }
    false
}

fn check(text: &str) {
    written(text, |_| false).check();
}

/// Texts that are nearly expressions.
fn near() -> impl Strategy<Value = String> {
    let word = prop_oneof![
        Just("M"),
        Just("K "),
        Just(" "),
        Just("\n"),
        Just("("),
        Just(")"),
        Just("["),
        Just("]"),
        Just("{"),
        Just("}"),
        Just(","),
        Just(":"),
        Just("."),
        Just("="),
        Just("=="),
        Just("<"),
        Just("//"),
        Just("/"),
        Just("*"),
        Just("**"),
        Just("-"),
        Just("|"),
        Just("..."),
        Just(" if "),
        Just(" else "),
        Just(" not "),
        Just(" in "),
        Just(" is "),
        Just(" and "),
        Just(" for "),
        Just("sum("),
        Just("len("),
        Just("lambda x:"),
        Just(":="),
        Just("?"),
        Just("'a'"),
        Just("'"),
        Just("\""),
        Just("'''"),
        Just("f'"),
        Just("\\"),
        Just("\\u"),
        Just("1"),
        Just("1e"),
        Just("0x"),
        Just(".5"),
        Just("_"),
        Just("None"),
        Just("class"),
        Just(".shape"),
        Just("%n for d in dim}"),
        Just("é"),
        Just("😀"),
        Just("“"),
        Just("×"),
        Just("\u{a0}"),
        Just("\0"),
        Just("#"),
        Just("$"),
    ];
    proptest::collection::vec(word, 0..24).prop_map(|words| words.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_read(text in any::<String>()) {
        check(&text);
    }

    #[test]
    fn a_text_that_is_nearly_an_expression_is_read(text in near(), escaped in any::<u64>()) {
        written(&text, |position| escaped >> (position % 64) & 1 == 1).check();
    }
}

/// Runs on a thread with half the stack that a thread has by default.
fn on_half_a_stack(work: impl FnOnce() + Send + 'static) {
    std::thread::Builder::new().stack_size(1 << 20).spawn(work).unwrap().join().unwrap();
}

#[test]
fn deep_texts_have_one_limit_defect_and_need_no_stack() {
    let deep = [
        "(".repeat(5000) + "x" + &")".repeat(5000),
        "(".repeat(5000),
        ")".repeat(5000),
        "[".repeat(5000),
        "{".repeat(5000) + &"}".repeat(5000),
        "f(".repeat(5000) + &")".repeat(5000),
        "-".repeat(5000) + "x",
        "not ".repeat(5000) + "x",
        "~".repeat(5000) + "x",
        "x".to_owned() + &" + x".repeat(5000),
        "x".to_owned() + &" / x".repeat(5000),
        "x".to_owned() + &" ** x".repeat(5000),
        "x".to_owned() + &" y".repeat(5000),
        "x".to_owned() + &" $ y".repeat(5000),
        "x".to_owned() + &" if x else x".repeat(3000),
        "x".to_owned() + &" if x".repeat(5000),
        "x".to_owned() + &" ? x : x".repeat(3000),
        "x".to_owned() + &".y".repeat(5000),
        "x".to_owned() + &"[0]".repeat(5000),
        "x".to_owned() + &"(0)".repeat(5000),
        "x".to_owned() + &"[a:".repeat(5000),
        "x := ".repeat(5000) + "x",
        "lambda x: ".repeat(5000) + "x",
        "$".to_owned() + &" $ ".repeat(5000),
        "*".repeat(5000) + "x",
        "* ".repeat(5000) + "x",
        "sum(x for x in ".repeat(3000) + "x",
        "a or b and not c < d + e * -(".repeat(2000),
        "list[".repeat(5000) + "int" + &"]".repeat(5000),
        "int | (".repeat(5000) + "int",
    ];
    for text in deep {
        on_half_a_stack(move || {
            check(&text);
            let w = written(&text, |_| false);
            let mut findings = Findings::default();
            parse_expression(&w.scalar, w.range, "p", &mut findings);
            let limits = findings.defects.iter().filter(|d| d.code.name == "expression-limit").count();
            assert!(limits <= 1 && !findings.defects.is_empty());
        });
    }
    for flat in [" and x", ", x", " < x"] {
        let text = format!("f(x{})", flat.repeat(5000));
        on_half_a_stack(move || {
            let w = written(&text, |_| false);
            let mut findings = Findings::default();
            parse_expression(&w.scalar, w.range, "p", &mut findings);
            assert_eq!(findings.defects, []);
        });
    }
}

#[test]
fn a_text_beyond_the_bound_is_one_defect() {
    let text = "x + ".repeat(1 << 18) + "x";
    let w = written(&text, |_| false);
    let mut findings = Findings::default();
    let expr = parse_expression(&w.scalar, w.range, "p", &mut findings);
    parse_shape(&w.scalar, w.range, "p", &mut findings);
    parse_type(&w.scalar, w.range, "p", &mut findings);
    let codes: Vec<_> = findings.defects.iter().map(|d| d.code.name).collect();
    assert_eq!(codes, ["expression-limit"; 3]);
    assert_eq!(expr.kind, ExprKind::Error(Vec::new()));
}

#[test]
fn the_longest_texts_are_read() {
    let units = [
        "$ ",
        "a, ",
        "a,) ",
        "a b ",
        "((",
        "[",
        "f(a=1,",
        "a=1,",
        "1 ",
        "x for (",
        "x for x in ",
        "if ",
        "not ",
        "'a' ",
        "a.b",
        "a < ",
        "a and ",
        "é ",
        "\\\n",
        "# ",
        "a[b",
        "a:b,",
        "} ",
        "a is None is ",
        "|a",
        "\u{a0} ",
        "'\\d' ,",
        "x.shape == ",
    ];
    for unit in units {
        for before in ["", "sum(", "["] {
            let text = before.to_owned() + &unit.repeat((1 << 16) / unit.len() - 1);
            let w = written(&text, |_| false);
            let mut findings = Findings::default();
            parse_expression(&w.scalar, w.range, "p", &mut findings);
            if before == "[" {
                parse_shape(&w.scalar, w.range, "p", &mut findings);
                parse_type(&w.scalar, w.range, "p", &mut findings);
            }
            assert!(!findings.defects.is_empty());
        }
    }
}

#[test]
fn a_tree_has_at_most_256_levels_and_one_of_256_is_read() {
    let chain = |n: usize| format!("x{}", " + x".repeat(n));
    for (text, fits) in [(chain(255), true), (chain(256), false)] {
        let w = written(&text, |_| false);
        let mut findings = Findings::default();
        parse_expression(&w.scalar, w.range, "p", &mut findings);
        assert_eq!(findings.defects.is_empty(), fits, "{:?}", findings.defects);
    }
    let nested = |n: usize| format!("{}x{}", "(".repeat(n), ")".repeat(n));
    for (text, fits) in [(nested(255), true), (nested(256), false)] {
        let w = written(&text, |_| false);
        let mut findings = Findings::default();
        parse_expression(&w.scalar, w.range, "p", &mut findings);
        assert_eq!(findings.defects.is_empty(), fits, "{:?}", findings.defects);
    }
}
