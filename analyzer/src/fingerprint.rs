//! The identity of an entry's text, which tells whether a record was made of the entry as it stands now.

use std::fmt::Write;

use sha2::{Digest, Sha256};

/// The fingerprint of the entry whose text is `chunk` (see [`crate::syntax::cut`]): SHA-256, in lowercase hexadecimal.
///
/// It is of the lines from the entry's key to the last one that says something, each ended by a line feed. So it does
/// not change where the file is saved with other line ends or with a byte order mark, where the entry is moved, or where
/// comments and blank lines come and go above its key and behind its end. Any other character of the entry counts, a
/// comment inside it too. What the entry names and does not hold (a type of `types.yaml`, a formula's source) is no part
/// of it.
pub fn fingerprint(chunk: &str) -> String {
    let text = chunk.strip_prefix('\u{feff}').unwrap_or(chunk);
    let lines: Vec<&str> = lines(text).collect();
    let says = |line: &&str| !matches!(line.trim_start_matches([' ', '\t']).as_bytes(), [] | [b'#', ..]);
    let first = lines.iter().position(says).unwrap_or(lines.len());
    let end = lines.iter().rposition(says).map_or(first, |last| last + 1);
    let mut hasher = Sha256::new();
    for line in lines.get(first..end).unwrap_or_default() {
        hasher.update(line.as_bytes());
        hasher.update(b"\n");
    }
    let mut hex = String::with_capacity(64);
    for byte in hasher.finalize() {
        // Writing to a string cannot fail.
        let _ = write!(hex, "{byte:02x}");
    }
    hex
}

/// The lines of a text: `\n`, `\r\n` and a lone `\r` each end one.
fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.split('\n').flat_map(|line| line.strip_suffix('\r').unwrap_or(line).split('\r'))
}

#[cfg(test)]
mod tests {
    use super::fingerprint;
    use crate::syntax::cut;

    const ENTRY: &str = "AFwdOp:\n  family: demo # why\n\n  # what\n  roofline: {flops: \"M\"}\n";

    fn of_first(file: &str) -> String {
        fingerprint(file.get(std::ops::Range::<usize>::from(cut(file).chunks[0].range)).unwrap_or_default())
    }

    #[test]
    fn it_is_sha256_of_the_lines_from_the_key_to_the_last_that_says_something() {
        // `printf 'AFwdOp:\n  family: demo\n' | sha256sum`
        let expected = "90110cc841066e73d0d7f62345bc51cd86411f1423d58f343f7ec7e1ceb2e639";
        assert_eq!(fingerprint("AFwdOp:\n  family: demo\n"), expected);
        assert_eq!(fingerprint(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    }

    #[test]
    fn what_does_not_belong_to_the_entry_does_not_change_it() {
        let own = of_first(ENTRY);
        for same in [
            ENTRY.replace('\n', "\r\n"),
            ENTRY.replace('\n', "\r"),
            ENTRY.trim_end().to_owned(),
            format!("\u{feff}{ENTRY}"),
            format!("# A file.\n\n# An entry.\n{ENTRY}\n\n  # No more.\n# Of another.\nBFwdOp: {{}}\n"),
            format!("{ENTRY}   \n\t\n#\r\n"),
        ] {
            assert_eq!(of_first(&same), own, "{same:?}");
        }
    }

    #[test]
    fn what_belongs_to_it_does() {
        let own = of_first(ENTRY);
        for other in [
            ENTRY.replace("\"M\"", "\"2 * M\""),
            ENTRY.replace("AFwdOp", "BFwdOp"),
            ENTRY.replace("# why", "# why not"),
            ENTRY.replace("\n\n", "\n"),
            ENTRY.replace("  family", "   family"),
        ] {
            assert_ne!(of_first(&other), own, "{other:?}");
        }
    }
}
