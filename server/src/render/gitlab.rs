//! GitLab's code quality report. A fingerprint is a digest of what a diagnostic is about, never of its line, so that a
//! merge request shows what it brings and not what it moves.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{self, Write};

use serde_json::json;
use sha2::{Digest, Sha256};

use super::{Extent, write_json};
use crate::diagnostic::{Diagnostic, Level, Outcome};

pub(super) fn render(outcome: &Outcome, out: &mut dyn Write) -> io::Result<()> {
    let mut fingerprints = Fingerprints::default();
    let items: Vec<_> = outcome
        .diagnostics
        .iter()
        .map(|diagnostic| {
            let Extent { start, end } = Extent::of(diagnostic);
            json!({
                "description": diagnostic.message,
                "check_name": diagnostic.code(),
                "fingerprint": fingerprints.of(diagnostic),
                "severity": match diagnostic.level {
                    Level::Error => "major",
                    Level::Advisory => "minor",
                    Level::Unreached => "info",
                },
                "location": {
                    "path": &*diagnostic.source.path,
                    "positions": {
                        "begin": {"line": start.0, "column": start.1},
                        "end": {"line": end.0, "column": end.1},
                    },
                },
            })
        })
        .collect();
    write_json(&items, out)
}

/// Gives each diagnostic a fingerprint of its own: of several that are alike, each says which it is.
#[derive(Debug, Default)]
pub(super) struct Fingerprints {
    seen: BTreeMap<String, u32>,
}

impl Fingerprints {
    pub(super) fn of(&mut self, diagnostic: &Diagnostic) -> String {
        let Diagnostic { source, entry, path, subject, .. } = diagnostic;
        let identity = [&*source.path, entry.as_deref().unwrap_or(""), diagnostic.code(), path, subject].join("\0");
        let nth = self.seen.entry(identity.clone()).or_default();
        *nth += 1;
        let digest = Sha256::digest(format!("{identity}\0{nth}"));
        digest.iter().take(16).fold(String::new(), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        })
    }
}
