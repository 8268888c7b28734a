//! A manifest's entries with other rows than their own.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{Error, Result};
use std::path::Path;

/// Writes the entries of the ops in `rows`, of the manifest in `from`, into the folder `to`, with those rows (what stands
/// behind the dash of a list's item) instead of their own. They are `spec-only` there, as rows that were not made to
/// cover an entry need not pass and omit each tensor.
///
/// # Errors
///
/// Where a file cannot be read or written, or an op is not in the manifest.
pub fn with_rows<R: AsRef<str>>(from: &Path, to: &Path, rows: &BTreeMap<&str, Vec<R>>) -> Result<()> {
    let mut left: BTreeMap<&str, &Vec<R>> = rows.iter().map(|(op, rows)| (*op, rows)).collect();
    for file in std::fs::read_dir(from)? {
        let file = file?;
        let text = std::fs::read_to_string(file.path())?;
        let mut kept = String::new();
        let (mut of_entry, mut in_rows) = (None, false);
        for line in text.lines() {
            if !line.starts_with([' ', '#']) && !line.is_empty() {
                of_entry = line.strip_suffix(':').and_then(|op| left.remove(op));
            }
            let Some(own) = of_entry else { continue };
            // Rows end where another field begins: comments and lines of a long row stand among them.
            let begins_field = line.strip_prefix("  ").is_some_and(|line| line.starts_with(char::is_alphabetic));
            in_rows = if begins_field { line == "  workloads:" } else { in_rows };
            match line {
                "  workloads:" => {
                    kept.push_str("  workloads:\n");
                    for row in own {
                        let _ = writeln!(kept, "  - {}", row.as_ref());
                    }
                }
                "  status: implemented" => kept.push_str("  status: spec-only\n"),
                _ if in_rows || line.starts_with('#') => {}
                _ => _ = writeln!(kept, "{line}"),
            }
        }
        if !kept.is_empty() {
            std::fs::write(to.join(file.file_name()), kept)?;
        }
    }
    match left.keys().next() {
        None => Ok(()),
        Some(op) => Err(Error::other(format!("the manifest has no `{op}`"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_has_the_given_rows_alone() {
        let (from, to) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
        let text = "# Of a family.\n\nAFwdOp:\n  family: f\n  status: implemented\n  workloads:\n  - {M: 1, label: one}\n\
                    \x20 # Why the next one is there.\n  - {M: 2,\n     label: two}\n  roofline: {flops: M}\n\n\
                    BFwdOp:\n  workloads:\n  - {M: 3, label: three}\n";
        std::fs::write(from.path().join("f.yaml"), text).expect("the folder takes files");
        with_rows(from.path(), to.path(), &[("AFwdOp", vec!["{M: 9}"])].into()).expect("the op is there");
        let kept = std::fs::read_to_string(to.path().join("f.yaml")).expect("it was written");
        assert_eq!(
            kept,
            "AFwdOp:\n  family: f\n  status: spec-only\n  workloads:\n  - {M: 9}\n  roofline: {flops: M}\n\n"
        );
        let error = with_rows(from.path(), to.path(), &[("CFwdOp", vec!["{M: 9}"])].into()).expect_err("no such op");
        assert_eq!(error.to_string(), "the manifest has no `CFwdOp`");
    }
}
