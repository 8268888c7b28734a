//! Our arithmetic, comparisons and sequences, held to CPython's.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod random;
mod support;

use random::{Names, Source, parse};
use support::judge;
use tileops_analyzer::eval::{Environment, EvalFailure, evaluate};
use tileops_analyzer::lang::Value;

const JUDGE: &str = r#"
import json, math, struct, sys
def show(v):
    if isinstance(v, bool): return "bool " + str(v)
    if isinstance(v, int): return "int " + str(v)
    if isinstance(v, float): return "nan" if math.isnan(v) else "float " + struct.pack(">d", v).hex()
    if isinstance(v, tuple): return "(" + ", ".join(map(show, v)) + ")"
    return repr(v)
sys.set_int_max_str_digits(0)
out = []
for text in json.load(sys.stdin):
    try:
        out.append(show(eval(text, {"inf": math.inf})))
    except (ArithmeticError, LookupError, TypeError, ValueError) as e:
        out.append("error " + type(e).__name__)
json.dump(out, sys.stdout)
"#;

struct Nothing;

impl Environment for Nothing {
    fn value(&self, _: &str) -> Option<Value> {
        None
    }

    fn present(&self, _: &str) -> Option<bool> {
        None
    }
}

fn show(value: &Value) -> String {
    match value {
        Value::Bool(value) => format!("bool {}", if *value { "True" } else { "False" }),
        Value::Int(value) => format!("int {value}"),
        Value::Float(value) => format!("float {:016x}", value.to_bits()),
        Value::Seq(items) => format!("({})", items.iter().map(show).collect::<Vec<_>>().join(", ")),
        other => format!("{other:?}"),
    }
}

fn compare(texts: &[String]) {
    let judged: Option<Vec<String>> = judge("json", &["-W", "ignore", "-c", JUDGE], texts);
    let Some(judged) = judged else { return };
    let (mut wrong, mut agreed) = (Vec::new(), 0);
    for (text, judged) in texts.iter().zip(&judged) {
        let ours = evaluate(&parse(text), &Nothing);
        let fails = judged.starts_with("error") || judged == "nan";
        let right = match &ours {
            Ok(value) => show(value) == *judged,
            // Beyond 128 bits Python goes on; and `nan` on the way to a value is an error of ours.
            Err(error) => match &error.reason {
                EvalFailure::Domain(why) => fails || why.contains("beyond 128 bits") || why.contains("is not a number"),
                _ => false,
            },
        };
        agreed += usize::from(right && ours.is_ok());
        if !right {
            wrong.push(format!("{text}\n  python {judged}\n  ours   {ours:?}"));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {} differ:\n{}",
        wrong.len(),
        texts.len(),
        wrong[..wrong.len().min(20)].join("\n")
    );
    assert!(agreed * 2 > texts.len(), "only {agreed} of {} have a value", texts.len());
}

#[test]
fn random_expressions_have_pythons_values() {
    let texts: Vec<String> = (0..8_000).map(|seed| Source::new(seed, Names::None).any(1 + (seed % 4) as u32)).collect();
    compare(&texts);
}

#[test]
fn division_has_pythons_values() {
    let numbers = [
        "0", "1", "-1", "2", "-2", "7", "-7", "8", "0.0", "-0.0", "0.5", "-0.5", "2.5", "-7.25", "1e300", "inf",
        "-inf", "True",
    ];
    let mut texts = Vec::new();
    for a in numbers {
        for b in numbers {
            for op in ["//", "%", "*", "-", "+", "<", "==", ">="] {
                texts.push(format!("({a}) {op} ({b})"));
            }
        }
    }
    let largest = "170141183460469231731687303715884105727";
    for op in ["//", "%", "<", "=="] {
        for (a, b) in [
            ("largest", "-1"),
            ("-largest - 1", "-1"),
            ("-largest - 1", "largest"),
            ("largest", "1.7014118346046923e38"),
            ("9007199254740993", "9007199254740992.0"),
        ] {
            texts.push(format!("({}) {op} ({})", a.replace("largest", largest), b.replace("largest", largest)));
        }
    }
    compare(&texts);
}

#[test]
fn sequences_have_pythons_values() {
    let mut texts = Vec::new();
    for from in ["", "0", "1", "2", "5", "-1", "-3", "-9", "None"] {
        for to in ["", "0", "1", "3", "9", "-1", "-4", "None"] {
            for items in ["()", "(1,)", "(1, 2, 3)", "(1, (2, 3), 4)"] {
                texts.push(format!("{items}[{from}:{to}]"));
            }
        }
    }
    for index in -4..4 {
        texts.extend(["()", "(7,)", "(1, 2, 3)"].map(|items| format!("{items}[{index}]")));
    }
    for op in ["==", "!=", "<", "<=", ">", ">="] {
        for a in ["()", "(1,)", "(1, 2)", "(1, 3)", "(True, 2.0)", "('a', 1)"] {
            texts.extend(["()", "(1,)", "(1, 2)", "(1, 2, 0)", "('a', 2)"].map(|b| format!("{a} {op} {b}")));
        }
    }
    for text in [
        "1 in (1, 2)",
        "1.0 in (1, 2)",
        "True in (1, 2)",
        "'a' not in ('b', 'c')",
        "None in (None,)",
        "(1,) in ((1,), 2)",
    ] {
        texts.push(text.to_owned());
    }
    for text in
        ["'a' < 'b'", "'a' == 'b'", "'é' < 'z'", "'😀' > '\u{ffff}'", "1 == 'a'", "1 < 'a'", "None < 1", "() < 1"]
    {
        texts.push(text.to_owned());
    }
    compare(&texts);
}
