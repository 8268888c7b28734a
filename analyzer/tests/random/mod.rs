//! Random expressions of the language, mostly well kinded, as text.

use tileops_analyzer::defect::Findings;
use tileops_analyzer::expr::{Expr, parse_expression};
use tileops_analyzer::lang::builtins::{Random, Seed};
use tileops_analyzer::syntax::Scalar;
use tileops_analyzer::text::{TextRange, TextSize};

/// The tree of `text`, which has no defect.
pub(crate) fn parse(text: &str) -> Expr {
    let mut findings = Findings::default();
    let range = TextRange::up_to(TextSize::of(text));
    let expr = parse_expression(&Scalar::plain(text), range, "", &mut findings);
    assert!(findings.defects.is_empty(), "{text}: {:?}", findings.defects);
    expr
}

/// What expressions are made of.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Names {
    /// Literals and what CPython has too.
    None,
    /// `a b c` (integers), `p q` (Booleans), `s t` (sequences), `m r` (a `Maybe` integer), `layout` (an ADT), `T` (a
    /// dtype), `e` (an enum), and the built-ins.
    Some,
}

pub(crate) struct Source {
    random: Random,
    names: Names,
    /// Variables of the comprehensions around.
    variables: usize,
}

impl Source {
    pub(crate) fn new(seed: u64, names: Names) -> Self {
        Source { random: Random::new(Seed(seed)), names, variables: 0 }
    }

    fn below(&mut self, n: u64) -> u64 {
        self.random.below(n)
    }

    fn pick<'a>(&mut self, choices: &[&'a str]) -> &'a str {
        choices[self.below(choices.len() as u64) as usize]
    }

    /// An expression of any kind.
    pub(crate) fn any(&mut self, depth: u32) -> String {
        match self.below(if self.names == Names::None { 8 } else { 10 }) {
            0..3 => self.int(depth),
            3..6 => self.bool(depth),
            6 => self.seq(depth),
            7 => self.float(depth),
            8 => self.dtype(depth),
            _ => self.odd(depth),
        }
    }

    /// A conditional on anything between two expressions of one kind.
    fn conditional(&mut self, depth: u32, arm: fn(&mut Self, u32) -> String) -> String {
        let (then, condition, otherwise) = (arm(self, depth), self.bool(depth), arm(self, depth));
        format!("({then} if {condition} else {otherwise})")
    }

    pub(crate) fn int(&mut self, depth: u32) -> String {
        if depth == 0 {
            return self.int_leaf();
        }
        let depth = depth - 1;
        match self.below(if self.names == Names::None { 10 } else { 14 }) {
            0 => self.int_leaf(),
            1 => format!("-{}", self.int(depth)),
            2..6 => {
                let op = self.pick(&["+", "-", "*", "//", "%"]);
                let (left, right) = (self.int(depth), self.int(depth));
                if self.below(2) == 0 { format!("{left} {op} {right}") } else { format!("({left} {op} {right})") }
            }
            6 => {
                let op = self.pick(&["+", "-", "*"]);
                format!("({} {op} {})", self.bool_operand(depth), self.int(depth))
            }
            7 => self.conditional(depth, Self::int),
            8 => format!("{}[{}]", self.seq(depth), self.pick(&["0", "1", "-1", "-2", "2"])),
            9 => {
                let function = self.pick(&["sum", "max", "min", "len"]);
                if function == "len" || self.below(2) == 0 {
                    format!("{function}({})", self.seq(depth))
                } else {
                    let (body, variable, items) = self.comprehension(depth, Self::int);
                    format!("{function}({body} for {variable} in {items})")
                }
            }
            10 => self.conditional(depth, Self::maybe_value),
            11 => "layout.max_m if layout.kind == 'masked' else layout.alignment".to_owned(),
            12 => format!("ceil_div({}, {})", self.int(depth), self.int(depth)),
            _ => format!("prod({})", self.seq(depth)),
        }
        .pipe(|text| if text.contains(" if ") && !text.starts_with('(') { format!("({text})") } else { text })
    }

    fn int_leaf(&mut self) -> String {
        if self.variables > 0 && self.below(3) == 0 {
            return format!("v{}", self.below(self.variables as u64));
        }
        if self.names == Names::Some && self.below(2) == 0 {
            return self.pick(&["a", "b", "c"]).to_owned();
        }
        self.pick(&["0", "1", "2", "3", "7", "12", "9007199254740993", "170141183460469231731687303715884105727"])
            .to_owned()
    }

    fn maybe_value(&mut self, _: u32) -> String {
        self.pick(&["m.value", "r.value", "(m.value if present(m) else 3)"]).to_owned()
    }

    /// A Boolean as an operand of arithmetic.
    fn bool_operand(&mut self, depth: u32) -> String {
        let text = self.bool(depth);
        format!("({text})")
    }

    pub(crate) fn bool(&mut self, depth: u32) -> String {
        if depth == 0 {
            return self.bool_leaf();
        }
        let depth = depth - 1;
        match self.below(if self.names == Names::None { 9 } else { 12 }) {
            0 => self.bool_leaf(),
            1 => format!("(not {})", self.bool(depth)),
            2..4 => {
                let op = self.pick(&[" and ", " or "]);
                let operands: Vec<String> = (0..2 + self.below(2)).map(|_| self.bool(depth)).collect();
                format!("({})", operands.join(op))
            }
            4..6 => {
                let mut text = format!("({}", self.number(depth));
                for _ in 0..1 + self.below(3) {
                    let op = self.pick(&["<", "<=", ">", ">=", "==", "!="]);
                    text.push_str(&format!(" {op} {}", self.number(depth)));
                }
                text + ")"
            }
            6 => {
                let op = self.pick(&["in", "not in"]);
                format!("({} {op} {})", self.number(depth), self.seq(depth))
            }
            7 => {
                let op = self.pick(&["==", "!=", "<", "<="]);
                format!("({} {op} {})", self.seq(depth), self.seq(depth))
            }
            8 => {
                let (body, variable, items) = self.comprehension(depth, Self::bool);
                format!("all({body} for {variable} in {items})")
            }
            9 => self.conditional(depth, Self::bool),
            10 => self
                .pick(&["present(m)", "present(r)", "layout.kind == 'masked'", "e == 'tight'", "T == 'float16'"])
                .to_owned()
                .pipe(|text| format!("({text})")),
            _ => format!("valid_axes({}, {})", self.int(depth), self.int(depth)),
        }
    }

    fn bool_leaf(&mut self) -> String {
        if self.names == Names::Some && self.below(2) == 0 {
            return self.pick(&["p", "q"]).to_owned();
        }
        self.pick(&["True", "False"]).to_owned()
    }

    fn number(&mut self, depth: u32) -> String {
        match self.below(6) {
            0 => self.float(depth),
            1 => self.bool_operand(depth),
            _ => self.int(depth),
        }
    }

    fn float(&mut self, depth: u32) -> String {
        if depth == 0 || self.below(3) == 0 {
            return self.pick(&["0.5", "0.0", "1e308", "2.5", "9007199254740992.0", "inf", "1.7e38", "3.0"]).to_owned();
        }
        let op = self.pick(&["+", "-", "*", "//", "%"]);
        format!("({} {op} {})", self.number(depth - 1), self.float(depth - 1))
    }

    fn seq(&mut self, depth: u32) -> String {
        if depth == 0 || self.below(2) == 0 {
            if self.names == Names::Some && self.below(2) == 0 {
                return self.pick(&["s", "t"]).to_owned();
            }
            return self.pick(&["()", "(1,)", "(1, 2, 3)", "(4, -1, 4)", "(0, 0)"]).to_owned();
        }
        let depth = depth - 1;
        match self.below(3) {
            0 => format!("({}, {})", self.int(depth), self.int(depth)),
            1 => self.conditional(depth, Self::seq),
            _ => {
                let (from, to) = (self.bound(), self.bound());
                format!("{}[{from}:{to}]", self.seq(depth))
            }
        }
    }

    fn bound(&mut self) -> &'static str {
        self.pick(&["", "0", "1", "-1", "2", "5", "-5", "-2"])
    }

    fn dtype(&mut self, depth: u32) -> String {
        match self.below(3) {
            0 if depth > 0 => self.conditional(depth - 1, Self::dtype),
            1 => "promote_int_to_float(T)".to_owned(),
            2 => "coalesce_dtype(T if p else None, T)".to_owned(),
            _ => "T".to_owned(),
        }
    }

    /// Something that the checker would refuse, or that often fails.
    fn odd(&mut self, depth: u32) -> String {
        let depth = depth.saturating_sub(1);
        match self.below(6) {
            0 => format!("({} and {})", self.any(depth), self.any(depth)),
            1 => format!("({} + {})", self.any(depth), self.any(depth)),
            2 => format!("(layout, {})", self.any(depth)),
            3 => format!("not {}", self.any(depth)),
            4 => format!("({} == {})", self.any(depth), self.any(depth)),
            _ => format!("broadcast({}, {})", self.seq(depth), self.seq(depth)),
        }
        .pipe(|text| format!("({text})"))
    }

    /// Element, variable and iterable. Every variable is a new name or one that hides another.
    fn comprehension(&mut self, depth: u32, element: fn(&mut Self, u32) -> String) -> (String, String, String) {
        let items = self.seq(depth);
        let variable = format!("v{}", self.variables);
        self.variables += 1;
        let body = element(self, depth);
        self.variables -= 1;
        (body, variable, items)
    }
}

trait Pipe: Sized {
    fn pipe<T>(self, f: impl FnOnce(Self) -> T) -> T {
        f(self)
    }
}

impl Pipe for String {}
