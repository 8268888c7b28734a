//! The judgment of an entry's rows.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::Call;
use super::instantiate::{RowCache, case_id_of, check_refinements, instantiate};
use super::row::{EntryFacts, ReadCase, ReadRow, read_row};
use crate::check::{Branch, Checked, Scope, facts};
use crate::defect::{Defect, Findings, codes, list};
use crate::model::{Condition, Entry, Fact, Row, Status, TensorRole};
use crate::text::TextRange;

/// Judges every row of `entry` and gives the calls that they determine, in the order written: one a row and dtype case.
/// A case with a defect, or without a fact that it needs, gives no call.
pub fn check_rows(entry: &Entry, scope: &Scope, checked: &Checked, findings: &mut Findings) -> Vec<Call> {
    // Absent or malformed: that has a defect of its own.
    let Fact::Valid(rows, at) = &entry.workloads else { return Vec::new() };
    let signature = match &entry.signature {
        Fact::Valid(signature, _) => signature,
        Fact::Absent(_) | Fact::Malformed(_) => {
            findings.unreached(*at, "workloads", "the calls of the rows", "signature");
            return Vec::new();
        }
    };
    let found = findings.defects.clone();
    let facts = EntryFacts::new(entry, signature, scope, checked, &found);
    let mut calls = Vec::new();
    let mut cases = Cases::default();
    let mut coverage = Coverage::default();
    for row in rows {
        let Fact::Valid(row, _) = row else {
            coverage.unread = true;
            continue;
        };
        judge_row(&facts, row, &mut cases, &mut coverage, &mut calls, findings);
    }
    if let Fact::Valid(Status::Implemented, _) = entry.status {
        coverage.report(&facts, *at, findings);
    }
    calls
}

fn judge_row(
    facts: &EntryFacts<'_>,
    row: &Row,
    cases: &mut Cases,
    coverage: &mut Coverage,
    calls: &mut Vec<Call>,
    findings: &mut Findings,
) {
    let before = findings.defects.len();
    let read = read_row(facts, row, findings);
    cases.check(facts, &read, findings);
    coverage.note(read.branch.as_deref().filter(|_| read.decided));
    let (at, path) = read.place();
    let unreached = |findings: &mut Findings, missing: &str| {
        findings.unreached(at, path.as_str(), "the call of this row", missing);
    };
    let Some(branch) = read.branch.as_ref() else {
        return unreached(findings, read.lacking.as_deref().unwrap_or("its point"));
    };
    if !read.decided || !branch.accepted {
        // At a point that is not known whole, or that a domain restriction refuses, the refinements are all there is
        // to judge.
        let reported = findings.defects.len();
        check_refinements(facts, &read, branch, findings);
        if findings.defects.len() == reported || !read.decided {
            unreached(findings, read.lacking.as_deref().unwrap_or("a point that the op accepts"));
        }
        return;
    }
    let mut cache = RowCache::default();
    let mut made: Vec<Option<Call>> = Vec::new();
    let mut found: Vec<Findings> = Vec::new();
    // Without a case that could be read, what depends on no dtype is judged all the same.
    let no_dtypes = [ReadCase { dtypes: Vec::new(), written: None }];
    let judged: &[ReadCase<'_>] = if read.cases.is_empty() { &no_dtypes } else { &read.cases };
    for case in judged {
        let mut of_case = Findings::default();
        made.push(instantiate(facts, &read, branch, case, &mut cache, &mut of_case));
        found.push(of_case);
    }
    if let Some(missing) = &read.lacking {
        // What a case lacks follows from what its row lacks.
        found.iter_mut().for_each(|of_case| of_case.unreached.clear());
        unreached(findings, missing);
    }
    merge(&read, found, findings);
    if findings.defects.len() == before && read.lacking.is_none() {
        calls.extend(made.into_iter().flatten());
    }
}

/// Adds what the cases of a row found: what several of them found is said once, with the cases where it is not all.
fn merge(read: &ReadRow<'_>, found: Vec<Findings>, findings: &mut Findings) {
    let judged = found.len();
    let mut merged: Vec<(Defect, Vec<usize>)> = Vec::new();
    for (position, of_case) in found.into_iter().enumerate() {
        for missing in of_case.unreached {
            if !findings.unreached.contains(&missing) {
                findings.unreached.push(missing);
            }
        }
        for defect in of_case.defects {
            let same = |other: &Defect| {
                other.code == defect.code
                    && other.range == defect.range
                    && other.subject == defect.subject
                    && other.related == defect.related
            };
            match merged.iter_mut().find(|(other, _)| same(other)) {
                Some((_, cases)) => {
                    if !cases.contains(&position) {
                        cases.push(position);
                    }
                }
                None => merged.push((defect, vec![position])),
            }
        }
    }
    for (mut defect, positions) in merged {
        // A defect inside one case says by its place which one it is.
        let inside = defect.path.contains(".dtype_cases");
        if positions.len() < judged && !inside {
            let cases = positions.iter().filter_map(|&position| read.cases.get(position)).map(|case| {
                let cells: Vec<String> =
                    case.dtypes.iter().map(|(name, dtype)| format!("{name}: {}", dtype.name())).collect();
                cells.join(", ")
            });
            defect.message.push_str(&format!(" (in the case {})", list(cases.collect::<Vec<_>>(), "and")));
        }
        findings.defects.push(defect);
    }
}

/// The ids of the cases so far, each with the label that gave it.
#[derive(Default)]
struct Cases {
    first: FxHashMap<String, (usize, TextRange)>,
}

impl Cases {
    /// Reports the ids of `read` that an earlier row has.
    fn check(&mut self, facts: &EntryFacts<'_>, read: &ReadRow<'_>, findings: &mut Findings) {
        let row = read.row;
        let Fact::Valid(label, range) = &row.label else { return };
        let mut repeated: Vec<String> = Vec::new();
        let mut first: Vec<TextRange> = Vec::new();
        for case in &read.cases {
            let Some(id) = case_id_of(facts, read, case) else { continue };
            match self.first.get(&id) {
                Some((position, earlier)) if *position != row.position => {
                    if !first.contains(earlier) {
                        first.push(*earlier);
                    }
                    repeated.push(id);
                }
                Some(_) => {}
                None => {
                    self.first.insert(id, (row.position, *range));
                }
            }
        }
        if repeated.is_empty() {
            return;
        }
        let (noun, verb) = if repeated.len() == 1 { ("case", "is") } else { ("cases", "are") };
        let defect = findings.report(
            &codes::DUPLICATE_CASE,
            *range,
            format!("{}.label", row.path),
            &*label.value,
            format!("the {noun} {} {verb} already there", list(&repeated, "and")),
        );
        defect.help("give the row a label of its own");
        for range in first {
            defect.related(range, "the first row of that id");
        }
    }
}

/// Which optional tensors rows pass and omit.
#[derive(Default)]
struct Coverage {
    passed: Vec<Arc<str>>,
    omitted: Vec<Arc<str>>,
    /// Whether a row was not understood: it could have been the one.
    unread: bool,
}

impl Coverage {
    fn note(&mut self, branch: Option<&Branch>) {
        let Some(branch) = branch else {
            self.unread = true;
            return;
        };
        for tensor in &branch.tensors {
            match tensor.present {
                Some(true) => super::words::add(&mut self.passed, &tensor.name),
                Some(false) => super::words::add(&mut self.omitted, &tensor.name),
                None => self.unread = true,
            }
        }
    }

    fn report(&self, facts: &EntryFacts<'_>, workloads: TextRange, findings: &mut Findings) {
        for tensor in facts::tensors(facts.signature).filter(|tensor| tensor.role != TensorRole::Output) {
            let Fact::Valid(condition, at) = &tensor.optional else { continue };
            let how = match condition {
                Condition::Always(false) => continue,
                Condition::Always(true) => (
                    format!("add a row with `some: [{}]`", tensor.name.value),
                    format!("add a row without `{}` in `some`", tensor.name.value),
                ),
                Condition::When(formula) => (
                    format!("add a row at which `{}` holds", formula.expr),
                    format!("add a row at which `{}` does not hold", formula.expr),
                ),
            };
            let name = &tensor.name.value;
            let path = format!("{}.optional", tensor.path);
            let gaps = [(&self.passed, "passes", how.0), (&self.omitted, "omits", how.1)];
            for (rows, does, help) in gaps {
                if rows.contains(name) {
                    continue;
                }
                if self.unread {
                    findings.unreached(*at, &*path, format!("whether a row {does} `{name}`"), "workloads");
                    continue;
                }
                findings
                    .report(&codes::OPTIONAL_COVERAGE, *at, &*path, &**name, format!("no row {does} `{name}`"))
                    .help(help)
                    .related(workloads, "the rows");
            }
        }
    }
}
