//! The rows of a file's entries with the bytes of their calls: what a view beside the text lists.

use super::site::{Site, text_range};
use crate::db::AnalysisDb;
use crate::fingerprint::fingerprint;
use crate::text::TextRange;

/// An entry and its rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntryRows {
    /// The op.
    pub op: String,
    /// Identifies its text: a record that names another was made of another.
    pub fingerprint: String,
    /// The entry's name in the file.
    pub range: TextRange,
    /// Its rows, in the order written.
    pub rows: Vec<Row>,
}

/// A workload row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// Its label; nothing where it states none.
    pub label: Option<String>,
    /// Where it stands in the file.
    pub range: TextRange,
    /// The calls that it determines: none for a row that is defective.
    pub cases: Vec<Case>,
}

/// A call of a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Case {
    /// Its name, which records name it by.
    pub id: String,
    /// The bytes that it reads and that it writes, counted from its tensors; nothing where that is beyond 128 bits.
    pub bytes: Option<(u128, u128)>,
}

/// The entries of a file, in the order written.
pub fn entry_rows(db: &AnalysisDb, path: &str) -> Vec<EntryRows> {
    let entry = |site: Site<'_>| {
        let analysis = site.analysis.clone()?;
        let rows = analysis.entry.workloads.items().iter().filter_map(|row| row.valid());
        let rows = rows.map(|row| Row {
            label: row.label.valid().map(|label| label.value.to_string()),
            range: site.global(row.range),
            cases: analysis
                .calls
                .iter()
                .filter(|call| call.row == row.position)
                .map(|call| Case {
                    id: call.case_id.clone(),
                    bytes: call.bytes().map(|traffic| (traffic.read, traffic.write)),
                })
                .collect(),
        });
        Some(EntryRows {
            op: site.op()?.to_string(),
            fingerprint: fingerprint(site.text()),
            range: site.global(text_range(&site.tree.key)),
            rows: rows.collect(),
        })
    };
    Site::all(db, path).into_iter().filter_map(entry).collect()
}
