//! PyYAML's `safe_load` is the judge of what a manifest says: where it reads a text, we read the same values; where it
//! refuses one, we report an error.
//!
//! All texts go through one Python process. Without Python or PyYAML the test is skipped, except in CI (`CI` is set).
//! `PYYAML_ROUNDS` multiplies the number of generated texts, `PYYAML_EXTRA` names a folder of YAML files to add.

#![allow(clippy::disallowed_methods, clippy::print_stderr)]

mod support;

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value, json};
use support::{Random, judge};
use tileops_analyzer::syntax::{Node, NodeKind, ScalarValue, cut, parse_entry};

const PYTHON: &str = r#"
import json, struct, sys, yaml
class Loader(yaml.SafeLoader):
    # A word that is a key and no string (`on`) is a defect, and read as the string that it looks like.
    def construct_mapping(self, node, deep=False):
        super().construct_mapping(node, deep=deep)
        names = {}
        for key, value in node.value:
            name = self.construct_object(key, deep=deep)
            if isinstance(key, yaml.ScalarNode) and key.value[:1].isascii() and key.value[:1].isalpha(): name = key.value
            names[name] = self.construct_object(value, deep=deep)
        return names
budget = 0
def encode(value, seen=()):
    global budget
    budget -= 1
    if budget < 0 or id(value) in seen: raise OverflowError
    if value is None: return "null"
    if value is True or value is False: return f"bool {value}"
    if isinstance(value, int):
        return f"int {value}" if -(1 << 127) < value < (1 << 127) else "other"
    if isinstance(value, float): return "nan" if value != value else "float " + struct.pack(">d", value).hex()
    if isinstance(value, str):
        try: value.encode("utf-8")
        except UnicodeEncodeError: return "surrogate"
        return "str " + value
    if isinstance(value, list): return [encode(item, seen + (id(value),)) for item in value]
    if isinstance(value, dict):
        return {json.dumps(encode(k)): encode(v, seen + (id(value),)) for k, v in value.items()}
    return "other"
results = []
for text in json.load(sys.stdin):
    budget = 200000
    try: results.append({"value": encode(yaml.load(text, Loader))})
    except OverflowError: results.append({"large": True})
    except Exception as error: results.append({"error": str(error)})
json.dump(results, sys.stdout)
"#;

/// What PyYAML makes of each text; nothing where it is not there.
fn pyyaml(texts: &[String]) -> Option<Vec<Value>> {
    judge("yaml", &["-c", PYTHON], texts)
}

fn encode(node: &Node) -> Value {
    match &node.kind {
        NodeKind::Unreadable => json!("unreadable"),
        NodeKind::Scalar(scalar) => match &scalar.value {
            ScalarValue::Null => json!("null"),
            ScalarValue::Bool(true) => json!("bool True"),
            ScalarValue::Bool(false) => json!("bool False"),
            ScalarValue::Int(value) => json!(format!("int {value}")),
            ScalarValue::Float(value) if value.is_nan() => json!("nan"),
            ScalarValue::Float(value) => json!(format!("float {:016x}", value.to_bits())),
            ScalarValue::Str => json!(format!("str {}", scalar.text)),
            ScalarValue::Other(_) => json!("other"),
        },
        NodeKind::Sequence(items) => Value::Array(items.iter().map(encode).collect()),
        NodeKind::Mapping(pairs) => mapping(pairs.iter().map(|pair| (encode(&pair.key), encode(&pair.value)))),
    }
}

/// Of repeated keys the last wins, and keys are compared in no order.
fn mapping(pairs: impl Iterator<Item = (Value, Value)>) -> Value {
    let sorted: BTreeMap<String, Value> =
        pairs.map(|(key, value)| (serde_json::to_string(&key).expect("JSON"), value)).collect();
    Value::Object(sorted.into_iter().collect())
}

fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(object) => {
            let sorted: BTreeMap<String, Value> = object
                .iter()
                .map(|(key, value)| {
                    // Python writes the key's JSON with its own spacing and escapes.
                    let key: Value = serde_json::from_str(key).expect("JSON");
                    (serde_json::to_string(&key).expect("JSON"), sorted(value))
                })
                .collect();
            Value::Object(sorted.into_iter().collect())
        }
        Value::Array(items) => Value::Array(items.iter().map(sorted).collect()),
        other => other.clone(),
    }
}

struct Ours {
    value: Value,
    defects: Vec<(&'static str, String)>,
}

fn ours(text: &str) -> Ours {
    let cut = cut(text);
    let mut defects: Vec<_> = cut.findings.defects.iter().map(|d| (d.code.name, d.message.clone())).collect();
    let mut pairs = Vec::new();
    for chunk in &cut.chunks {
        let tree = parse_entry(&text[chunk.range]);
        defects.extend(tree.findings.defects.iter().map(|d| (d.code.name, d.message.clone())));
        pairs.push((encode(&tree.key), encode(&tree.value)));
    }
    Ours { value: mapping(pairs.into_iter()), defects }
}

/// What is wrong with our reading of `text`, given PyYAML's.
fn disagreement(text: &str, theirs: &Value) -> Option<String> {
    let ours = ours(text);
    let has = |code: &str| ours.defects.iter().any(|(name, _)| *name == code);
    if let Some(error) = theirs.get("error") {
        return ours.defects.is_empty().then(|| format!("PyYAML refuses it: {error}"));
    }
    if theirs.get("large").is_some() {
        return (!has("yaml-anchor")).then(|| "aliases without a defect".to_owned());
    }
    let value = &theirs["value"];
    if value.as_object().is_none_or(|object| object.is_empty()) {
        let says_so = has("yaml-top-level") || ours.defects.iter().any(|(_, message)| message.contains("no entry"));
        return (!says_so).then(|| format!("no mapping, and no defect says so: {value}"));
    }
    // A surrogate escape is no character, and so refused by us alone.
    if text.contains("\\ud") && has("yaml-syntax") {
        return None;
    }
    // Braces at the top level and a value behind `---` are refused by us alone.
    if has("yaml-top-level") || has("yaml-document") || has("yaml-limit") {
        return None;
    }
    // A quote that happens to be closed far below, by one that a `#` follows at once, counts as forgotten.
    let forgotten = text.contains("'#") || text.contains("\"#");
    if forgotten && ours.defects.iter().any(|(_, message)| message.contains("closed")) {
        return None;
    }
    let old_breaks = text.contains(['\u{85}', '\u{2028}', '\u{2029}']);
    if has("yaml-syntax") || (has("yaml-character") && !old_breaks) {
        return Some(format!("PyYAML reads it, we report {:?}", ours.defects));
    }
    // An alias whose anchor is in another entry is not followed; tags may construct what only Python has.
    let is_followed = !has("yaml-anchor") || !ours.value.to_string().contains("unreadable");
    let differs = !has("yaml-tag") && is_followed && ours.value != sorted(value);
    differs.then(|| format!("ours   {}\ntheirs {}", ours.value, sorted(value)))
}

fn check(texts: &[String]) {
    let Some(theirs) = pyyaml(texts) else { return };
    assert_eq!(texts.len(), theirs.len());
    let failures: Vec<String> = texts
        .iter()
        .zip(&theirs)
        .filter_map(|(text, theirs)| disagreement(text, theirs).map(|why| format!("{text:?}\n{text}\n{why}\n")))
        .collect();
    let refused = theirs.iter().filter(|value| value.get("error").is_some()).count();
    eprintln!("{} texts, {refused} of them refused by PyYAML", texts.len());
    assert!(
        failures.is_empty(),
        "{} disagreements, the first:\n{}",
        failures.len(),
        failures[..failures.len().min(5)].join("\n")
    );
}

/// Pieces of text: those that fit anywhere, and those that PyYAML refuses somewhere.
struct Pieces(&'static [&'static str], &'static [&'static str]);

const PLAIN: Pieces = Pieces(
    &[
        "M",
        "a b",
        "float16 | bfloat16",
        "x#y",
        "a:b",
        "http://x/y",
        "-1",
        "1e-6",
        "0x1F",
        "010",
        "1_000",
        "yes",
        "N",
        "null",
        "~",
        "",
        "2026-01-01",
        "1:30",
        ".5",
        "-.inf",
        "é😀",
        "a'b",
        "a\"b",
        "x, y",
        "[M, K]",
        "{a: 1}",
        "?x",
        "a\n          b",
        "a\n\n            b c\n           d",
        "not present(bias)",
        "--- x",
        "...",
        "M # note",
    ],
    &["- 1", "=", "<<", "@x", "%x", "*b", "&a x", "!t x", "!!str 5", "a: b", "`", "x\ty"],
);
const KEYS: Pieces = Pieces(
    &["a", "b", "M", "shape", "\"q\"", "'s'", "N", "a b", "é", "x-y", "\"a: b\"", "k4", "k5", "k6", "k7", "1e3"],
    &["yes", "1", "? k", "<<", "&k k", "[l]", "", "=", "!t k"],
);
const DOUBLE: Pieces = Pieces(
    &[
        "[M, K]",
        "a\\nb",
        "\\x41\\u00e9\\U0001F600",
        "a\\\\b",
        "\\t",
        "a\n      b",
        "a\n\n\n   b",
        "a \\\n      b",
        "  a  ",
        "",
        "#x",
        "\\/",
        "\\ ",
        "a\t b",
        "é",
        "'",
        "\\\"",
        "a\\\n\n  b",
        "\n  a",
        "a\n  ",
        "a: b",
    ],
    &["\\ud83d", "\\q", "\\x4", "a\n--- b", "\" \""],
);
const SINGLE: Pieces = Pieces(
    &["[M, K]", "it''s", "a\n      b", "a\n\n   b", "", "\\n", "\"", " a ", "#", "''", "a\n  \n  \n b", "a: b"],
    &["'", "a\n... b"],
);
const LINES: Pieces =
    Pieces(&["text", "  deeper", "", "more text", "# no comment", "a: b", "- y", "  ", "\"", "["], &["\ttab", "\t"]);
const HEADERS: Pieces = Pieces(&["", "", "", "-", "+", "2", "1-", "+2", " # note"], &["0", "x", "-+", " x", "#"]);
const BLANKS: Pieces = Pieces(&[" ", " ", " ", "  "], &["\t", "", " \t"]);
const ENDS: Pieces = Pieces(&["", "", "", " ", " # note", " #"], &["\t", "\t# note", "#"]);
const FLOW_PLAIN: Pieces =
    Pieces(&["M", "1", "a b", "x:y", "~", "a\n   b", "-1", "é"], &["?", "-", "- a", "a?b", "|", ""]);

struct Generator {
    random: Random,
    /// Whether the text may hold what PyYAML refuses.
    is_nasty: bool,
    out: String,
}

impl Generator {
    fn document(seed: u64) -> String {
        let mut this = Generator { random: Random::new(seed), is_nasty: seed.is_multiple_of(3), out: String::new() };
        if this.random.below(6) == 0 {
            let head = this.random.pick(&["# head\n", "\u{feff}", "---\n", "\n\n", "%YAML 1.1\n---\n"]);
            this.out.push_str(head);
        }
        for i in 0..1 + this.random.below(3) {
            this.out.push_str(&format!("Op{i}:"));
            this.block(2, 0);
            if this.random.below(5) == 0 {
                let between = this.random.pick(&["\n", "# between\n", "  # in\n", "\n# a\n\n# b\n"]);
                this.out.push_str(between);
            }
        }
        match this.random.below(12) {
            0 => this.out.replace('\n', "\r\n"),
            1 => this.out.replace('\n', "\r"),
            _ => this.out,
        }
    }

    fn piece(&mut self, pieces: &Pieces) -> &'static str {
        let pieces = if self.is_nasty && self.random.below(8) == 0 { pieces.1 } else { pieces.0 };
        pieces[self.random.below(pieces.len())]
    }

    /// The value behind a `key:` or a `-`, to the end of its line or of its block.
    fn block(&mut self, indent: usize, depth: usize) {
        let pad = " ".repeat(indent);
        match self.random.below(if depth > 3 { 7 } else { 14 }) {
            0 | 1 => {
                let text = self.piece(&PLAIN);
                self.line(text);
            }
            2 => {
                let text = format!("\"{}\"", self.piece(&DOUBLE));
                self.line(&text);
            }
            3 => {
                let text = format!("'{}'", self.piece(&SINGLE));
                self.line(&text);
            }
            4 => {
                let text = self.flow(0);
                self.line(&text);
            }
            5 | 6 => self.block_scalar(indent),
            7..=10 => {
                self.out.push('\n');
                for _ in 0..1 + self.random.below(4) {
                    let key = self.piece(&KEYS);
                    self.out.push_str(&format!("{pad}{key}:"));
                    let more = 1 + self.random.below(4);
                    self.block(indent + more, depth + 1);
                }
            }
            _ => {
                self.out.push('\n');
                let pad = if self.random.below(2) == 0 { &pad[..indent - indent.min(2)] } else { &pad };
                let pad = if depth == 0 { &" ".repeat(indent)[..] } else { pad };
                for _ in 0..1 + self.random.below(3) {
                    self.out.push_str(&format!("{pad}-"));
                    if self.random.below(3) == 0 {
                        let key = self.piece(&KEYS);
                        self.out.push_str(&format!(" {key}:"));
                        self.block(pad.len() + 4, depth + 1);
                    } else {
                        self.block(pad.len() + 2, depth + 1);
                    }
                }
            }
        }
    }

    fn line(&mut self, text: &str) {
        let blank = self.piece(&BLANKS);
        let end = self.piece(&ENDS);
        self.out.push_str(&format!("{blank}{text}{end}\n"));
    }

    fn block_scalar(&mut self, indent: usize) {
        let style = self.random.pick(&["|", ">"]);
        let header = self.piece(&HEADERS);
        self.out.push_str(&format!(" {style}{header}\n"));
        let pad = " ".repeat(indent);
        for _ in 0..self.random.below(6) {
            let line = self.piece(&LINES);
            self.out.push_str(&format!("{}{line}\n", if line.is_empty() { "" } else { &pad }));
        }
    }

    fn flow(&mut self, depth: usize) -> String {
        let gap = self.random.pick(&["", " ", " ", "\n        ", " # c\n   "]);
        match self.random.below(if depth > 2 { 3 } else { 6 }) {
            0 => self.piece(&FLOW_PLAIN).to_owned(),
            1 => format!("\"{}\"", self.piece(&DOUBLE)),
            2 => format!("'{}'", self.piece(&SINGLE)),
            3 => {
                let items: Vec<String> = (0..self.random.below(4)).map(|_| self.flow(depth + 1)).collect();
                format!("[{}{}]", items.join(&format!(",{gap}")), self.random.pick(&["", "", ","]))
            }
            4 => {
                let key = self.piece(&KEYS);
                format!("[{key}: {}]", self.flow(depth + 1))
            }
            _ => {
                let pairs: Vec<String> = (0..self.random.below(4))
                    .map(|_| {
                        let key = self.piece(&KEYS);
                        let colon = self.random.pick(&[": ", ": ", ":", " : "]);
                        format!("{key}{colon}{}", self.flow(depth + 1))
                    })
                    .collect();
                format!("{{{}{}}}", pairs.join(&format!(",{gap}")), self.random.pick(&["", "", ","]))
            }
        }
    }
}

/// Drops, doubles or inserts characters.
fn mutate(text: &str, random: &mut Random) -> String {
    let mut chars: Vec<char> = text.chars().collect();
    const INSERTED: &str = "\"'[]{}:,#&*!|>%@`-?\t \n\r\\\0x\u{85}\u{2028}\u{feff}\u{7}=<";
    let inserted: Vec<char> = INSERTED.chars().collect();
    for _ in 0..1 + random.below(3) {
        if chars.is_empty() {
            break;
        }
        let at = random.below(chars.len());
        match random.below(4) {
            0 => {
                chars.remove(at);
            }
            1 => chars.insert(at, inserted[random.below(inserted.len())]),
            2 => chars[at] = inserted[random.below(inserted.len())],
            _ => chars.truncate(at),
        }
    }
    chars.into_iter().collect()
}

fn rounds() -> u64 {
    std::env::var("PYYAML_ROUNDS").ok().and_then(|n| n.parse().ok()).unwrap_or(1)
}

#[test]
fn generated_texts_read_as_pyyaml_reads_them() {
    let texts: Vec<String> = (0..500 * rounds()).map(Generator::document).collect();
    check(&texts);
}

#[test]
fn mutated_texts_are_refused_where_pyyaml_refuses_them() {
    let mut random = Random::new(42);
    let texts: Vec<String> =
        (0..700 * rounds()).map(|seed| mutate(&Generator::document(1_000_000 + seed), &mut random)).collect();
    check(&texts);
}

#[test]
fn manifests_read_as_pyyaml_reads_them() {
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("../manifest")];
    folders.extend(std::env::var_os("PYYAML_EXTRA").map(Into::into));
    let mut texts = Vec::new();
    for folder in folders {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            if entry.path().extension().is_some_and(|extension| extension == "yaml") {
                texts.push(std::fs::read_to_string(entry.path()).expect("a manifest is readable"));
            }
        }
    }
    check(&texts);
    let Some(first) = texts.first() else { return };
    // A real manifest damaged anywhere.
    let mut random = Random::new(7);
    let damaged: Vec<String> = (0..40 * rounds()).map(|_| mutate(first, &mut random)).collect();
    check(&damaged);
}

#[test]
fn handwritten_texts_read_as_pyyaml_reads_them() {
    let texts = [
        "",
        "# only a comment\n",
        "---\n",
        "\u{feff}A: 1\n",
        "A:",
        "A: null",
        "A: 1\nB: 2\nA: 3\n",
        "- a\n- b\n",
        "text\n",
        "{A: 1, B: {c: 2}}\n",
        "[1]: x\n",
        "? A\n: 1\n",
        "  A: 1\n  B: 2\n",
        "  A: 1\nB: 2\n",
        "A: 1\n  B: 2\n",
        "A: 1\n---\nB: 2\n",
        "---\nA: 1\n...\n",
        "---\nA: 1\n...\nB: 2\n",
        "--- {A: 1}\n",
        "--- A: 1\n",
        "%YAML 1.1\n---\nA: 1\n",
        "%YAML 2.0\n---\nA: 1\n",
        "%YAML 1.1\nA: 1\n",
        "A: 1\n%x: 2\n",
        "A: \"foo\nB: bar\"\nC: 1\n",
        "A: 'foo\nB: bar'\nC: 1\n",
        "A: {x: 1,\nB: 2}\nC: 1\n",
        "A: [\n1,\n2\n]\nC: 1\n",
        "A: |\n  x: \"\n  [\nB: 1\n",
        "A: >\n a\n b\n\n  c\n d\n\n\nB: |+\n x\n\n\nC: |-\n x\n\n",
        "A: |2\n   x\n  y\n",
        "A:\n- 1\n- 2\nB:\n  - 3\n",
        "A:\n  - - 1\n    - 2\n  -\n  - a: 1\n    b: 2\n",
        "A: a: b\n",
        "A: @x\n",
        "A: `x`\n",
        "A: %x\n",
        "A: \tx\n",
        "A:\tx\n",
        "A:\n\tb: 1\n",
        "A: x\t# c\n",
        "A: 'x'#c\n",
        "A: {a:1}\n",
        "A: {\"a\":1}\n",
        "A: {a, b: , c: }\n",
        "A: [a, , b]\n",
        "A: [a, b,]\n",
        "A: [a b: c, ? d : e, ? f]\n",
        "A: {? a : b, ? c}\n",
        "A: [a\n---\nb]\n",
        "A: &x {a: 1}\nB: *x\n",
        "A: {p: &x {a: 1}, q: *x, r: {<<: *x, b: 2}}\n",
        "A: {<<: [{a: 1, b: 1}, {a: 2, c: 2}], b: 3}\n",
        "A: {<<: 1}\n",
        "A: &x [*x]\n",
        "A: !!str 5\nB: !!int '5'\nC: !!float 1\nD: !x y\nE: ! 5\n",
        "A: =\n",
        "A: {=: 1}\n",
        "A: <<\n",
        "A: 0x_\n",
        "A: 2026-13-45\n",
        "A: [yes, No, on, OFF, y, N, true, ~, null, 010, 0o17, 0b1, 0x1F, 1_0, 1:30, 1e3, 1.0e+3, .5, -.5, +1, .inf, .NaN]\n",
        "A: \"\\x41\\u00e9\\U0001F600\\n\\0\\e\\N\\_\\L\\P\\/\\\t\"\n",
        "A: \"\\ud83d\\ude00\"\n",
        "A: \"\\U00110000\"\n",
        "A: \"a\\\n   b\n\n   c  \n  d\"\n",
        "A: \"a\u{85}b\u{2028}c\"\n",
        "A: x\u{2028}B: y\n",
        "A: x\u{85}B: y\n",
        "A: \u{7}\n",
        "A: x # \0\n",
        "A: 1\r\nB:\r\n  c: |\r\n    x\r\n    y\r\n",
        "A: 1\rB:\r  c: |\r    x\r    y\r",
        "A: [\"unclosed\nB: 1\n",
        "A: \"unclosed\nB: 1\n",
        "A:\n  b: 1\n   c: 2\n",
        "A:\n    b: 1\n  c: 2\n",
        "A: - 1\n",
        "A: x\n- y\n",
        "A: ]\n",
        "A: }\n",
        "A: [}\n",
        "A: |x\n",
        "A: | x\n  y\n",
        "A: *\n",
        "A: &\n",
        "A: *x y\n",
        "A: >-\n  a\n   b\n  c\n\n  d\n",
        "A: |\n\n   x\n  y\n",
        "A: |\n     \n   x\n",
        "A: a\n  b\n  # c\n  d\n",
        "A: a # c\n  b\n",
        "\"A\": 1\n'B': 2\n\"C\\u0044\": 3\n",
        "A : 1\n",
        "A:b\n",
        ": 1\n",
        "A\n",
        "!!map {A: 1}\n",
        "&a A: 1\n*a : 2\n",
        "<<: {A: 1}\n",
        "1: x\nyes: y\nnull: z\n",
    ]
    .map(str::to_owned);
    check(&texts);
}
