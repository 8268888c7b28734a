//! The fuzz targets on stable: the saved corpus, and mutations of it, for a bounded number of rounds.
//!
//! The mutations are the same in every run. `FUZZ_ROUNDS` multiplies their number, and `FUZZ_SEED` gives others.

#![allow(clippy::disallowed_methods)]

#[path = "../../fuzz/checks.rs"]
mod checks;

use std::path::Path;

/// How many mutations of the whole corpus one round makes.
const MUTATIONS: u64 = 1500;

/// The corpus of a target, in the order of its names.
fn corpus(target: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/corpus").join(target);
    let mut files: Vec<_> = std::fs::read_dir(&folder).expect("the corpus").flatten().map(|e| e.path()).collect();
    files.sort();
    assert!(!files.is_empty(), "{} is empty", folder.display());
    files.iter().map(|file| std::fs::read(file).expect("a corpus file is readable")).collect()
}

fn number(variable: &str, default: u64) -> u64 {
    std::env::var(variable).ok().and_then(|n| n.parse().ok()).unwrap_or(default)
}

/// SplitMix64.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % n.max(1) as u64) as usize
    }
}

/// Splices, drops, repeats and changes bytes.
fn mutate(corpus: &[Vec<u8>], tokens: &[&str], random: &mut Random) -> Vec<u8> {
    let mut data = corpus[random.below(corpus.len())].clone();
    for _ in 0..1 + random.below(4) {
        let at = random.below(data.len() + 1);
        let to = (at + random.below(12)).min(data.len());
        match random.below(7) {
            0 => drop(data.drain(at..to)),
            1 => drop(data.splice(at..at, tokens[random.below(tokens.len())].bytes())),
            2 => drop(data.splice(at..to, tokens[random.below(tokens.len())].bytes())),
            3 => {
                let copy = data[at..to].repeat(1 + random.below(3));
                data.splice(at..at, copy);
            }
            4 => {
                let other = &corpus[random.below(corpus.len())];
                let from = random.below(other.len() + 1);
                let piece = other[from..(from + random.below(60)).min(other.len())].to_vec();
                data.splice(at..to, piece);
            }
            5 => data.truncate(at),
            _ if at < data.len() => data[at] = random.below(256) as u8,
            _ => {}
        }
    }
    data
}

fn run(target: &str, tokens: &[&str], check: fn(&str)) {
    let corpus = corpus(target);
    for data in &corpus {
        check(&String::from_utf8_lossy(data));
    }
    let mut random = Random(number("FUZZ_SEED", 1));
    for _ in 0..MUTATIONS * number("FUZZ_ROUNDS", 1) {
        check(&String::from_utf8_lossy(&mutate(&corpus, tokens, &mut random)));
    }
}

#[test]
fn yaml() {
    const TOKENS: &[&str] = &[
        "\"",
        "'",
        "[",
        "]",
        "{",
        "}",
        ": ",
        ":",
        ", ",
        "- ",
        "? ",
        "\n",
        "\r\n",
        "\r",
        "\t",
        "#",
        " #",
        "|\n",
        ">-\n",
        "|2\n",
        "&a ",
        "*a",
        "<<: ",
        "!!str ",
        "---\n",
        "...\n",
        "%YAML 1.1\n",
        "\\",
        "\\x4",
        "\\ud800",
        "@",
        "`",
        "\0",
        "\u{feff}",
        "\u{2028}",
        "\n  ",
        "\n    ",
        "\nB: ",
        "é😀",
        "yes",
        "1e-6",
        "~",
    ];
    run("yaml", TOKENS, checks::file);
}

#[test]
fn expression() {
    const TOKENS: &[&str] = &[
        "(",
        ")",
        "[",
        "]",
        "*",
        "+",
        " - ",
        "//",
        "%",
        "==",
        " < ",
        " in ",
        " not in ",
        " not ",
        " and ",
        " or ",
        " if ",
        " else ",
        " for ",
        ".",
        ",",
        "'",
        "\"",
        "None",
        "True",
        "inf",
        "1",
        "0.5",
        "1e400",
        "present(",
        "_",
        "|",
        ":",
        "é",
        "x",
        "\n",
        "**",
        "/",
        "lambda",
        "=",
        "9999999999999999999999999999999999999999999",
        "...",
    ];
    run("expression", TOKENS, checks::expression);
}
