//! Tests of the front end as a whole.

use std::fmt::Write;

use super::*;

/// A tree in a compact form: strings quoted, other scalars by value, unreadable places as `?`.
fn show(node: &Node) -> String {
    let mut out = String::new();
    write_node(node, &mut out);
    out
}

fn write_node(node: &Node, out: &mut String) {
    match &node.kind {
        NodeKind::Unreadable => out.push('?'),
        NodeKind::Scalar(s) => match &s.value {
            ScalarValue::Str => write!(out, "{:?}", s.text).unwrap(),
            ScalarValue::Null => out.push_str("null"),
            ScalarValue::Bool(v) => write!(out, "{v}").unwrap(),
            ScalarValue::Int(v) => write!(out, "{v}").unwrap(),
            ScalarValue::Float(v) => write!(out, "{v:?}").unwrap(),
            ScalarValue::Other(what) => write!(out, "<{what}>").unwrap(),
        },
        NodeKind::Mapping(pairs) => {
            out.push('{');
            for (i, pair) in pairs.iter().enumerate() {
                if i > 0 {
                    out.push_str(", ");
                }
                write_node(&pair.key, out);
                out.push_str(": ");
                write_node(&pair.value, out);
            }
            out.push('}');
        }
        NodeKind::Sequence(items) => {
            out.push('[');
            for (i, item) in items.iter().enumerate() {
                if i > 0 {
                    out.push_str(", ");
                }
                write_node(item, out);
            }
            out.push(']');
        }
    }
}

/// The value of an entry and its defects, each as `code@characters: message`.
fn read(chunk: &str) -> (String, Vec<String>) {
    let tree = parse_entry(chunk);
    let defects = tree.findings.defects.iter().map(|d| format!("{}@{}: {}", d.code.name, &chunk[d.range], d.message));
    (show(&tree.value), defects.collect())
}

/// The characters that each character of a scalar comes from.
fn sources(chunk: &str, scalar: &Scalar) -> Vec<String> {
    let range = |i: usize, c: char| TextRange::at(TextSize::new(i as u32), TextSize::of(c));
    scalar.text.char_indices().map(|(i, c)| chunk[scalar.map.range(range(i, c))].to_owned()).collect()
}

#[track_caller]
fn decodes(value: &str, text: &str, chars: &[&str]) {
    let chunk = format!("Op: {value}");
    let tree = parse_entry(&chunk);
    let scalar = tree.value.as_scalar().expect("a scalar");
    assert_eq!(tree.findings, Findings::default(), "{value}");
    assert_eq!(&*scalar.text, text, "{value}");
    assert_eq!(sources(&chunk, scalar), chars, "{value}");
}

#[test]
fn every_style_maps_each_character_to_its_source() {
    decodes("a b", "a b", &["a", " ", "b"]);
    decodes("a\n  b\n\n  c", "a b\nc", &["a", "\n  ", "b", "\n", "c"]);
    decodes("'it''s\n  é'", "it's é", &["i", "t", "''", "s", "\n  ", "é"]);
    decodes(r#""\x41\u00e9😀\n\"""#, "Aé😀\n\"", &[r"\x41", r"\u00e9", "😀", r"\n", "\\\""]);
    decodes("\"a  \n\n  b\\\n   c\"", "a\nbc", &["a", "\n", "b", "c"]);
    decodes("|\n  a\n   b\n", "a\n b\n", &["a", "\n", " ", "b", "\n"]);
    decodes("|+\n  a\n\n", "a\n\n", &["a", "\n", "\n"]);
    decodes(">-\n  a\n  b\n\n  c\n", "a b\nc", &["a", "\n  ", "b", "\n", "c"]);
    decodes("|2\n    a\n", "  a\n", &[" ", " ", "a", "\n"]);
    decodes("a\r\n  b\r  c", "a b c", &["a", "\r\n  ", "b", "\r  ", "c"]);
}

#[test]
fn a_node_covers_its_value_and_nothing_else() {
    let chunk = "Op: # note\n  a: &x !!str \"v\" # note\n  b: [1, {c: d}]\n  e:\n  f: |\n    t\n  g:\n  - h\n";
    let tree = parse_entry(chunk);
    let NodeKind::Mapping(pairs) = &tree.value.kind else { panic!("a mapping") };
    let covered: Vec<&str> = pairs.iter().map(|pair| &chunk[pair.value.range]).collect();
    assert_eq!(covered, ["\"v\"", "[1, {c: d}]", "", "|\n    t\n", "- h"]);
    assert_eq!(&chunk[pairs[2].value.range.start().into()..][..3], "\n  ");
    let comments: Vec<&str> = tree.comments.iter().map(|&range| &chunk[range]).collect();
    assert_eq!(comments, ["# note", "# note"]);
    assert_eq!(&chunk[tree.key.range], "Op");
}

#[test]
fn a_broken_place_is_unreadable_and_the_rest_is_read() {
    for (chunk, value, defects) in [
        (
            "Op:\n  a: 1\n  sha\n  b: 2\n",
            r#"{"a": 1, ?: ?, "b": 2}"#,
            vec!["yaml-syntax@sha: `sha` stands where a key is expected, and no `:` follows it"],
        ),
        (
            "Op:\n  sig\n    a: 1\n    b: 2\n  c: 3\n",
            r#"{?: ?, "c": 3}"#,
            vec!["yaml-syntax@sig: `sig` stands where a key is expected, and no `:` follows it"],
        ),
        (
            "Op:\n  a: [M, K\n  b: 2\n  c:\n    d: 1\n",
            r#"{"a": ?, "b": 2, "c": {"d": 1}}"#,
            vec!["yaml-syntax@[: this `[` is never closed"],
        ),
        (
            "Op:\n  a: \"[M, K]\n  b: 2\n",
            r#"{"a": ?, "b": 2}"#,
            vec!["yaml-syntax@\": the text that this `\"` opens is never closed"],
        ),
        (
            "Op:\n  a: \"[M, K]\n  b: \"2\"\n  c: 3\n",
            r#"{"a": ?, "b": "2", "c": 3}"#,
            vec![
                "yaml-syntax@\": the text that this `\"` opens is not closed on its line, and what follows makes no sense",
            ],
        ),
        (
            "Op:\n  a: M\n   b: 2\n  c: 3\n",
            r#"{"a": "M", ?: ?, "c": 3}"#,
            vec!["yaml-syntax@b: `b` continues the value above, so it cannot be a key"],
        ),
        (
            "Op:\n  a: \"M\"\n   b: 2\n  c: 3\n",
            r#"{"a": "M", ?: ?, "c": 3}"#,
            vec!["yaml-syntax@b: the indentation of this line fits no block above it"],
        ),
        (
            "Op:\n  a: 1\n\tb: 2\n  c: 3\n",
            r#"{"a": 1, ?: ?, "c": 3}"#,
            vec!["yaml-syntax@\t: a tab stands where only spaces may"],
        ),
        (
            "Op:\n  a: b: c\n  d: @e\n  f: 1\n",
            r#"{"a": ?, "d": ?, "f": 1}"#,
            vec![
                "yaml-syntax@:: a `:` cannot stand here: what is in front of it is not a key",
                "yaml-syntax@@: a value without quotes cannot start with `@`",
            ],
        ),
        (
            "Op:\n  w:\n  - {M: 4, c [{T: f}], l: s}\n  - @x\n  - {M: 5 l: t}\n  s: 1\n",
            r#"{"w": [{"M": 4, ?: ?, "l": "s"}, ?, {?: ?}], "s": 1}"#,
            vec![
                "yaml-syntax@[: `[` stands where `,` or `}` is expected",
                "yaml-syntax@@: a value without quotes cannot start with `@`",
                "yaml-syntax@:: `:` stands where `,` or `}` is expected",
            ],
        ),
        (
            "Op:\n  a: \"\\q\"\n  b: \"\\ud800\"\n  c: \"\\x4\"\n",
            r#"{"a": ?, "b": ?, "c": ?}"#,
            vec![
                "yaml-syntax@\\q: `\\q` is not an escape of YAML",
                "yaml-syntax@\\ud800: the escape `\\ud800` is not a character",
                "yaml-syntax@\\x4: the escape `\\x` needs 2 hexadecimal digits, and 1 follow",
            ],
        ),
        (
            "Op:\n  a: x\u{0}y\n  b: 1\n",
            r#"{"a": ?, "b": 1}"#,
            vec!["yaml-character@\u{0}: the character U+0000 cannot stand in YAML"],
        ),
        ("Op: [", "?", vec!["yaml-syntax@[: this `[` is never closed"]),
        ("Op:", "null", vec![]),
    ] {
        let (read, found) = read(chunk);
        assert_eq!((read.as_str(), found), (value, defects.into_iter().map(str::to_owned).collect()), "{chunk}");
    }
}

#[test]
fn what_a_manifest_refuses_is_read_all_the_same() {
    let (value, defects) =
        read("Op: {a: &x [1, *x], b: *x, c: *y, <<: {d: 1, a: 2}, !t e: f, 1: yes, a: 010, [g]: h, N: Y}");
    assert_eq!(value, r#"{"d": 1, "a": [1, ?], "b": [1, ?], "c": ?, "e": "f", 1: true, "a": 8, ["g"]: "h", "N": "Y"}"#);
    let codes: Vec<&str> = defects.iter().filter_map(|d| d.split(": ").next()).collect();
    assert_eq!(
        codes,
        [
            "yaml-anchor@&x",
            "yaml-anchor@*x",
            "yaml-anchor@*x",
            "yaml-anchor@*y",
            "yaml-merge-key@<<",
            "yaml-tag@!t",
            "non-string-key@1",
            "ambiguous-scalar@yes",
            "ambiguous-scalar@010",
            "duplicate-key@a",
            "non-string-key@[g]",
        ]
    );
}

#[test]
fn aliases_are_copied_within_a_budget_and_a_depth() {
    let mut chunk = "Op:\n  a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for i in 1..60 {
        let uses = vec![format!("*a{}", i - 1); 10].join(", ");
        writeln!(chunk, "  a{i}: &a{i} [{uses}]").unwrap();
    }
    let tree = parse_entry(&chunk);
    assert_eq!(tree.findings.defects.iter().filter(|d| d.code.name == "yaml-limit").count(), 1);
}

#[test]
fn paths_lead_from_the_entry() {
    let tree = parse_entry("Op:\n  a:\n    b:\n    - {c: yes}\n    - @x\n  yes: 1\n");
    let paths: Vec<&str> = tree.findings.defects.iter().map(|d| d.path.as_str()).collect();
    assert_eq!(paths, ["a.b[1]", "a.b[0].c", "yes"]);
    assert_eq!(parse_entry("yes: 1").findings.defects[0].path, "");
}

fn chunks(text: &str) -> Vec<(Option<String>, &str)> {
    cut(text).chunks.into_iter().map(|chunk| (chunk.key, &text[chunk.range])).collect()
}

fn keys(text: &str) -> Vec<String> {
    cut(text).chunks.into_iter().map(|chunk| chunk.key.unwrap_or_default()).collect()
}

fn cut_defects(text: &str) -> Vec<String> {
    let found = cut(text).findings.defects;
    found.iter().map(|d| format!("{}@{}: {}", d.code.name, &text[d.range], d.message)).collect()
}

#[test]
fn comments_directly_above_a_key_belong_to_it() {
    let text = "# licence\n\n# about A\n# more\nA: 1\n# stray\n\n  # inside\nB: 2\n# about C\nC: 3\n";
    let cut = cut(text);
    assert_eq!(&text[..cut.head.into()], "# licence\n\n");
    let key = |name: &str| Some(name.to_owned());
    assert_eq!(
        chunks(text),
        [
            (key("A"), "# about A\n# more\nA: 1\n# stray\n\n  # inside\n"),
            (key("B"), "B: 2\n"),
            (key("C"), "# about C\nC: 3\n")
        ]
    );
}

#[test]
fn what_only_looks_like_a_key_cuts_nothing() {
    assert_eq!(keys("A: \"x\nB: y\"\nC: 1\n"), ["A", "C"]);
    assert_eq!(keys("A: 'x\nB: it''s'\nC: 1\n"), ["A", "C"]);
    assert_eq!(keys("A: {x: 1,\nB: '}'}\nC: 1\n"), ["A", "C"]);
    assert_eq!(keys("A: [\nx,\n\"B\", # ]\n]\nC: 1\n"), ["A", "C"]);
    assert_eq!(keys("A: |\n  \"\n\n  [\nB: 1\n"), ["A", "B"]);
    assert_eq!(keys("A:\n- x: 1\n- y\n? B\n: z\nC: 1\n"), ["A", "", "C"]);
    assert_eq!(keys("A: x\n  \"y\nB: \"\nC: 1\n"), ["A", "B", "C"]);
    assert_eq!(keys("A: x # '\nB: '\nC: '\nD: 1\n"), ["A", "B", "D"]);
}

#[test]
fn what_is_left_open_does_not_swallow_the_next_entry() {
    assert_eq!(keys("A: \"x\nB:\n  s: \"[M]\"\nC: 1\n"), ["A", "B", "C"]);
    assert_eq!(keys("A: [x\nB:\n  s: [M]\nC: 1\n"), ["A", "B", "C"]);
    assert_eq!(keys("A: {x: 'y\nB:\n  s: {a: 'b'}\n"), ["A", "B"]);
}

#[test]
fn keys_are_decoded_and_every_line_end_counts() {
    let text = "\u{feff}\"A\\u0042\": 1\r\n'C''': 2\r&d D : 3\n[e]: 4\nhttp://f: 5\n";
    assert_eq!(keys(text), ["AB", "C'", "D", "", "http://f"]);
    assert_eq!(keys("A: x\u{2028}B: y\u{85}C: z"), ["A", "B", "C"]);
    assert_eq!(keys("A:b\nC:\n"), ["C"]);
}

#[test]
fn files_that_are_no_plain_mapping() {
    let help = "the top level of the file is";
    for (text, defects) in [
        ("", vec!["yaml-top-level@: the file has no entry".to_owned()]),
        ("# only\n", vec!["yaml-top-level@: the file has no entry".to_owned()]),
        ("- a\n- b\n", vec![format!("yaml-top-level@- a: {help} a list")]),
        ("{A: 1}\n", vec![format!("yaml-top-level@{{A: 1}}: {help} a mapping in braces")]),
        ("text\n", vec![format!("yaml-top-level@text: {help} a text")]),
        ("junk\nA: 1\n", vec!["yaml-syntax@junk: this line belongs to no entry".to_owned()]),
        ("---\nA: 1\n...\n", vec![]),
        (
            "A: 1\n---\nB: 2\n",
            vec!["yaml-document@---: a second document starts here, and a manifest is one document".to_owned()],
        ),
        ("A: 1\n...\nB: 2\n", vec!["yaml-document@...: `...` ends the document, and more follows it".to_owned()]),
        (
            "%YAML 1.2\n---\nA: 1\n",
            vec!["yaml-document@%YAML 1.2: a directive (`%`) is not allowed in a manifest".to_owned()],
        ),
        ("  A: 1\n  B: 2\n", vec![]),
        ("  A: 1\nB: 2\n", vec!["yaml-syntax@B: 2: this key stands 0 columns in, the first one 2".to_owned()]),
    ] {
        assert_eq!(cut_defects(text), defects, "{text}");
    }
    assert_eq!(keys("A: 1\n---\nB: 2\n"), ["A", "B"]);
    assert_eq!(keys("  A: 1\n  B: 2\n"), ["A", "B"]);
}

#[test]
fn limits_cost_one_entry_or_one_file() {
    let has_limit = |text: &str| {
        let tree = parse_entry(text);
        let limits = tree.findings.defects.iter().filter(|d| d.code.name == "yaml-limit").count();
        (limits, tree.key.as_str().map(str::to_owned))
    };
    let key = Some("Op".to_owned());
    assert_eq!(has_limit(&format!("Op: {}", "[".repeat(100_000))), (1, key.clone()));
    assert_eq!(has_limit(&format!("Op:\n {}", "- ".repeat(10_000))), (1, key.clone()));
    assert_eq!(has_limit(&format!("Op:\n{}", "  a: 1\n".repeat(50_000))), (1, key.clone()));
    let deep: String = (1..300).map(|i| format!("{}a:\n", " ".repeat(i))).collect();
    assert_eq!(has_limit(&format!("Op:\n{deep}")), (1, key));
    assert_eq!(cut_defects(&"x".repeat(MAX_FILE_BYTES + 1)).len(), 1);
    let many: String = (0..MAX_ENTRIES + 10).map(|i| format!("K{i}: 1\n")).collect();
    assert_eq!((cut(&many).chunks.len(), cut_defects(&many).len()), (MAX_ENTRIES, 1));
}
