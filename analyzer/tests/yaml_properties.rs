//! Properties of the YAML front end that hold for any text.

#![allow(clippy::disallowed_methods)]

#[path = "../../fuzz/checks.rs"]
mod checks;

use std::path::Path;

use proptest::prelude::*;
use tileops_analyzer::defect::Findings;
use tileops_analyzer::syntax::{EntryTree, Node, NodeKind, ScalarValue, cut, parse_entry};

/// Texts in which YAML's own characters are as likely as all others together.
fn yaml_like() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("A:".to_owned()),
        Just("\n".to_owned()),
        Just("\nB: ".to_owned()),
        Just("\n  c: ".to_owned()),
        Just("\n    ".to_owned()),
        Just("\n  - ".to_owned()),
        Just("\r\n".to_owned()),
        "[\\[\\]{}:,\"'#&*!|>%@`?\\\\ \t\r-]",
        Just("---\n".to_owned()),
        Just("\"\\u00e9\\x4".to_owned()),
        Just("|2-\n".to_owned()),
        Just("<<: *a".to_owned()),
        "[a-z0-9]{1,3}",
        any::<char>().prop_map(String::from),
        Just("\u{2028}".to_owned()),
        Just("\u{feff}".to_owned()),
    ];
    proptest::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_gives_a_result_with_places_inside_it(text in yaml_like()) {
        checks::file(&text);
    }

    #[test]
    fn any_characters_at_all_give_a_result(text in any::<String>()) {
        checks::file(&text);
    }

    #[test]
    fn a_double_quoted_text_reads_as_what_was_escaped(text in any::<String>()) {
        let escaped: String = text
            .chars()
            .map(|c| match c {
                '"' | '\\' => format!("\\{c}"),
                c if c.is_ascii_graphic() => c.to_string(),
                c => format!("\\U{:08x}", u32::from(c)),
            })
            .collect();
        let chunk = format!("Op: \"{escaped}\"\n");
        let tree = checks::entry(&chunk);
        prop_assert_eq!(tree.value.as_str(), Some(text.as_str()));
        prop_assert_eq!(tree.findings, Findings::default());
    }

    #[test]
    fn a_single_quoted_line_reads_as_itself(text in "[ -~é😀]*") {
        let chunk = format!("Op: '{}'\n", text.replace('\'', "''"));
        let tree = checks::entry(&chunk);
        prop_assert_eq!(tree.value.as_str(), Some(text.as_str()));
    }

    #[test]
    fn a_literal_block_reads_as_its_lines(lines in proptest::collection::vec("[!-~][ -~é]{0,8}", 1..6)) {
        let body: String = lines.iter().map(|line| format!("  {line}\n")).collect();
        let tree = checks::entry(&format!("Op: |\n{body}"));
        let text = format!("{}\n", lines.join("\n"));
        prop_assert_eq!(tree.value.as_str(), Some(text.as_str()));
    }
}

/// The entries of this repository's own manifests, in threes.
fn sample() -> Vec<[String; 3]> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../manifest");
    let mut files: Vec<_> =
        std::fs::read_dir(folder).expect("the manifest folder").flatten().map(|e| e.path()).collect();
    files.sort();
    let mut samples = Vec::new();
    for file in files {
        let text = std::fs::read_to_string(file).expect("a manifest is readable");
        let chunks = cut(&text).chunks;
        let entries: Vec<String> = chunks.iter().map(|chunk| text[chunk.range].to_owned()).collect();
        samples.extend(
            entries.chunks_exact(3).take(1).map(|three| [three[0].clone(), three[1].clone(), three[2].clone()]),
        );
    }
    // Every byte of a few entries is more telling than some bytes of many.
    samples.sort_by_key(|[_, broken, _]| broken.len());
    samples.truncate(5);
    assert_eq!(samples.len(), 5, "the manifests have entries to try");
    samples
}

/// The trees of the entries called as those of `neighbours`.
fn trees(text: &str, names: [&Node; 2]) -> Vec<EntryTree> {
    let cut = cut(text);
    let all = cut.chunks.iter().map(|chunk| parse_entry(&text[chunk.range]));
    all.filter(|tree| names.iter().any(|name| name.as_str() == tree.key.as_str())).collect()
}

/// Comments above an entry go to whichever entry they touch; what an entry says must stay.
fn says(tree: &EntryTree) -> String {
    fn write(node: &Node, out: &mut String) {
        match &node.kind {
            NodeKind::Unreadable => out.push('?'),
            NodeKind::Scalar(scalar) if scalar.value == ScalarValue::Str => out.push_str(&format!("{:?}", scalar.text)),
            NodeKind::Scalar(scalar) => out.push_str(&format!("{:?}", scalar.value)),
            NodeKind::Mapping(pairs) => {
                for pair in pairs {
                    out.push('{');
                    write(&pair.key, out);
                    out.push(':');
                    write(&pair.value, out);
                    out.push('}');
                }
            }
            NodeKind::Sequence(items) => {
                for item in items {
                    out.push('[');
                    write(item, out);
                    out.push(']');
                }
            }
        }
    }
    let mut out = String::new();
    write(&tree.key, &mut out);
    write(&tree.value, &mut out);
    out
}

#[test]
fn an_entry_cut_anywhere_changes_nothing_in_its_neighbours() {
    for [before, broken, after] in sample() {
        // What stands above a key stays above it.
        let (first, last) = (parse_entry(&before), parse_entry(&after));
        let wanted = [says(&first), says(&last)];
        for end in (0..broken.len()).filter(|&end| broken.is_char_boundary(end)) {
            let text = format!("{before}{}\n{after}", &broken[..end]);
            let found = trees(&text, [&first.key, &last.key]);
            let said: Vec<String> = found.iter().map(says).collect();
            assert_eq!(said, wanted, "cut behind {:?}", &broken[..end]);
            assert!(found.iter().all(|tree| tree.findings.defects.is_empty()), "cut behind {:?}", &broken[..end]);
        }
    }
}

#[test]
fn an_entry_broken_by_any_character_changes_nothing_in_its_neighbours() {
    for [before, broken, after] in sample() {
        let (first, last) = (parse_entry(&before), parse_entry(&after));
        let wanted = [says(&first), says(&last)];
        for inserted in ["\"", "'", "[", "}", ":", "#", "\t", "@", "&", "|", "\0", "\n"] {
            for at in (1..broken.len()).step_by(5).filter(|&at| broken.is_char_boundary(at)) {
                let text = format!("{before}{}{inserted}{}{after}", &broken[..at], &broken[at..]);
                let found = trees(&text, [&first.key, &last.key]);
                let said: Vec<String> = found.iter().map(says).collect();
                assert_eq!(said, wanted, "{inserted:?} behind {:?}", &broken[..at]);
            }
        }
    }
}
