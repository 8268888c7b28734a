//! `--rows`: every call that workload rows determine, as it was understood.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use anyhow::{Context, Result};
use serde::{Serialize, Serializer, ser::SerializeMap};
use tileops_analyzer::defect::Severity;
use tileops_analyzer::workload::{Call, CallTensor};
use unicode_width::UnicodeWidthStr;

use crate::check::{Selection, say_config_notes, say_skipped};
use crate::cli::{Arguments, Format};
use crate::config::Configs;
use crate::diagnostic::{Outcome, count};
use crate::exit::Exit;
use crate::notes::Notes;
use crate::{discover, engine, output};

/// One call.
#[derive(Debug, Serialize)]
struct Row<'c> {
    file: &'c str,
    op: &'c str,
    case_id: &'c str,
    tensors: Tensors<'c>,
    bytes: Option<u128>,
    read: Option<u128>,
    write: Option<u128>,
}

/// A call's tensors, in the order declared.
#[derive(Debug)]
struct Tensors<'c>(&'c Call);

#[derive(Debug, Serialize)]
struct Tensor<'c> {
    shape: &'c [i128],
    dtype: &'static str,
    effect: &'static str,
}

impl Serialize for Tensors<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.tensors.len()))?;
        for (name, tensor) in &self.0.tensors {
            map.serialize_entry(&**name, &tensor.as_ref().map(Tensor::of))?;
        }
        map.end()
    }
}

impl<'c> Tensor<'c> {
    fn of(tensor: &'c CallTensor) -> Self {
        Tensor { shape: &tensor.shape, dtype: tensor.dtype.name(), effect: tensor.effect.name() }
    }
}

/// Prints the rows.
pub(crate) fn run(arguments: &Arguments, notes: &Notes) -> Result<Exit> {
    let selection = Selection::new(arguments)?;
    let mut configs = Configs::default();
    let inputs = discover::discover(arguments, &mut configs)?;
    for root in &inputs.barren {
        notes.warning(&format!("`{root}` has no YAML file"));
    }
    let judged = engine::pool(arguments)?.install(|| engine::judge(inputs, &configs));

    let mut failed = say_config_notes(&configs, notes) || !judged.problems.is_empty();
    let mut rows = Vec::new();
    let mut errors: BTreeMap<&str, usize> = BTreeMap::new();
    let mut selected = 0;
    for group in &judged.groups {
        for (entry, analysis) in group.workspace.entries().iter().zip(&group.report.analyses) {
            let Some(file) = group.workspace.files().get(entry.file).filter(|file| file.judged) else { continue };
            if !selection.selects(entry.name.as_deref()) {
                continue;
            }
            selected += 1;
            let wrong = analysis.findings.defects.iter().filter(|d| d.code.severity == Severity::Error).count();
            if wrong > 0 {
                *errors.entry(&file.path).or_default() += wrong;
            }
            for call in &analysis.calls {
                let traffic = call.bytes();
                rows.push(Row {
                    file: &file.path,
                    op: &analysis.entry.name.value,
                    case_id: &call.case_id,
                    tensors: Tensors(call),
                    bytes: traffic.as_ref().map(|traffic| traffic.total),
                    read: traffic.as_ref().map(|traffic| traffic.read),
                    write: traffic.as_ref().map(|traffic| traffic.write),
                });
            }
        }
    }
    // A stable sort: within a file, entries and rows stay in the order written.
    rows.sort_by(|a, b| a.file.cmp(b.file));

    let outcome = Outcome { skipped: judged.skipped.clone(), ..Outcome::default() };
    say_skipped(&outcome, arguments.verbose, notes);
    for problem in &judged.problems {
        notes.error(&format!("cannot read `{}`: {}", problem.path, problem.message));
    }
    for bug in &judged.bugs {
        let entry = bug.entry.as_deref().unwrap_or("an entry");
        notes.bug(&format!("internal error in `{entry}` of `{}`: {}", bug.path, bug.message));
    }
    for (file, wrong) in &errors {
        notes.warning(&format!(
            "`{file}` has {}, and calls may be missing; --check says more",
            count(*wrong, "error", "errors")
        ));
    }
    if !selection.is_everything() && selected == 0 {
        let names = judged.groups.iter().flat_map(|group| group.workspace.entries());
        notes.error(&selection.miss(names.filter_map(|entry| entry.name.as_deref())));
        failed = true;
    }

    let report = match arguments.format {
        Some(Format::Json) => json(&rows).context("cannot write the rows")?,
        // The command line takes no other format in this mode.
        _ => table(&rows),
    };
    output::write(report.as_bytes(), arguments.output_file.as_deref())?;
    Ok(if !judged.bugs.is_empty() {
        Exit::Bug
    } else if failed {
        Exit::Failure
    } else if errors.is_empty() {
        Exit::Clean
    } else {
        Exit::Defects
    })
}

/// An array with a call a line.
fn json(rows: &[Row<'_>]) -> serde_json::Result<String> {
    let rows: Vec<String> = rows.iter().map(serde_json::to_string).collect::<Result<_, _>>()?;
    Ok(if rows.is_empty() { "[]\n".to_owned() } else { format!("[\n{}\n]\n", rows.join(",\n")) })
}

/// A table an op: a line a call, a column a tensor.
fn table(rows: &[Row<'_>]) -> String {
    let mut text = String::new();
    for group in rows.chunk_by(|a, b| (a.file, a.op) == (b.file, b.op)) {
        let Some(first) = group.first() else { continue };
        if !text.is_empty() {
            text.push('\n');
        }
        let _ = writeln!(text, "{} ({})", first.op, first.file);
        let names = first.tensors.0.tensors.iter().map(|(name, _)| name.to_string());
        let mut lines: Vec<Vec<String>> = Vec::new();
        lines.push(["case".to_owned()].into_iter().chain(names).chain(["read", "write"].map(str::to_owned)).collect());
        for row in group {
            let tensors = row.tensors.0.tensors.iter().map(|(_, tensor)| match tensor {
                None => "-".to_owned(),
                Some(tensor) => {
                    let shape: Vec<String> = tensor.shape.iter().map(i128::to_string).collect();
                    format!("{}[{}]", tensor.dtype.name(), shape.join(", "))
                }
            });
            let number = |number: Option<u128>| number.map_or_else(|| "?".to_owned(), grouped);
            let ends = [number(row.read), number(row.write)];
            lines.push([row.case_id.to_owned()].into_iter().chain(tensors).chain(ends).collect());
        }
        let columns = lines.iter().map(Vec::len).max().unwrap_or(0);
        let widths: Vec<usize> = (0..columns)
            .map(|column| lines.iter().filter_map(|line| line.get(column)).map(|cell| cell.width()).max().unwrap_or(0))
            .collect();
        for line in &lines {
            text.push(' ');
            for (column, (cell, width)) in line.iter().zip(&widths).enumerate() {
                let gap = " ".repeat(width - cell.width());
                // Numbers end where their neighbours end.
                let aligned = if column + 2 >= columns { format!(" {gap}{cell}") } else { format!(" {cell}{gap}") };
                text.push_str(&aligned);
            }
            text.truncate(text.trim_end().len());
            text.push('\n');
        }
    }
    let _ = writeln!(text, "{}{}", if text.is_empty() { "" } else { "\n" }, count(rows.len(), "call", "calls"));
    text
}

/// `1_234_567`, as people read it.
fn grouped(number: u128) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (position, digit) in digits.chars().enumerate() {
        if position > 0 && (digits.len() - position).is_multiple_of(3) {
            text.push('_');
        }
        text.push(digit);
    }
    text
}
