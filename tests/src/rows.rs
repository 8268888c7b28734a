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
            in_rows = line == "  workloads:" || in_rows && line.starts_with("  - ");
            match line {
                "  workloads:" => {
                    kept.push_str("  workloads:\n");
                    for row in own {
                        let _ = writeln!(kept, "  - {}", row.as_ref());
                    }
                }
                "  status: implemented" => kept.push_str("  status: spec-only\n"),
                line if in_rows || line.starts_with('#') => _ = line,
                line => _ = writeln!(kept, "{line}"),
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
