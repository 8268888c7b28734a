//! `dtype_combos`: a table of the dtypes that a call can have together.

use std::sync::Arc;

use super::SymbolRole;
use super::sheet::Sheet;
use super::signature::Fault;
use super::view::View;
use crate::defect::{Findings, codes, list, nearest, nearest_first};
use crate::expr::Ident;
use crate::lang::{DType, DTypeSet, Kind};
use crate::model::{Combo, Fact, Signature};

const PATH: &str = "signature.dtype_combos";

/// The columns that the first readable row states, each with the set that its values come from.
pub(crate) fn columns<'a>(sheet: &Sheet, signature: &'a Signature) -> Vec<(&'a Ident, DTypeSet)> {
    let Some(first) = signature.dtype_combos.items().iter().find_map(Fact::valid) else { return Vec::new() };
    first.columns.iter().filter_map(|(name, _)| Some((name, column_set(sheet, &name.value)?))).collect()
}

/// The dtypes of a column; nothing where it cannot be one.
fn column_set(sheet: &Sheet, name: &str) -> Option<DTypeSet> {
    let symbol = &sheet.symbols[sheet.sym(name)?];
    match (&symbol.role, &symbol.kind) {
        (SymbolRole::Index | SymbolRole::Param, Kind::DType(set)) => Some(*set),
        (SymbolRole::Param, Kind::Maybe(inner)) => match **inner {
            Kind::DType(set) => Some(set),
            _ => None,
        },
        _ => None,
    }
}

/// Judges the rows: the same columns in each, each a DType index or a dtype parameter, members of its set, no row twice.
pub(crate) fn judge(sheet: &Sheet, signature: &Signature, findings: &mut Findings) {
    let rows: Vec<(usize, &Combo)> = signature
        .dtype_combos
        .items()
        .iter()
        .enumerate()
        .filter_map(|(position, row)| Some((position, row.valid()?)))
        .collect();
    let Some(&(_, first)) = rows.first() else { return };
    let known: Vec<&str> =
        sheet.symbols.iter().filter(|s| column_set(sheet, &s.name).is_some()).map(|s| &*s.name).collect();
    let mut refused: Vec<&Arc<str>> = Vec::new();
    let mut seen: Vec<(Vec<(&str, DType)>, &Combo)> = Vec::new();
    for &(position, row) in &rows {
        let path = format!("{PATH}[{position}]");
        for (column, value) in &row.columns {
            let Some(set) = column_set(sheet, &column.value) else {
                // The rows repeat the columns of the first: one mistake, one defect.
                if !refused.contains(&&column.value) {
                    refused.push(&column.value);
                    judge_column(sheet, column, &known, &path, findings);
                }
                continue;
            };
            let in_first = first.columns.iter().any(|(name, _)| name.value == column.value);
            // A column that was refused was meant to be another.
            if !in_first && refused.is_empty() {
                findings
                    .report(
                        &codes::DTYPE_COMBOS,
                        column.range,
                        path.clone(),
                        &*column.value,
                        format!("this row has the column `{}`, and the first row has not", column.value),
                    )
                    .help("every row has the same columns")
                    .related(first.range, "the first row is here");
            }
            if let Fact::Valid(dtype, range) = value
                && !set.contains(*dtype)
            {
                let members: Vec<&str> = set.iter().map(DType::name).collect();
                findings
                    .report(
                        &codes::DTYPE_COMBOS,
                        *range,
                        format!("{path}.{}", column.value),
                        dtype.name(),
                        format!("`{}` is no dtype of `{}`", dtype.name(), column.value),
                    )
                    .help(format!(
                        "its dtypes are {}",
                        list(nearest_first(dtype.name(), members.iter().copied()), "and")
                    ))
                    .meant(nearest(dtype.name(), members))
                    .guess();
            }
        }
        let missing: Vec<&str> = first
            .columns
            .iter()
            .map(|(name, _)| &*name.value)
            .filter(|name| !row.columns.iter().any(|(column, _)| &*column.value == *name))
            .collect();
        if !missing.is_empty() && refused.is_empty() {
            findings
                .report(
                    &codes::DTYPE_COMBOS,
                    row.range,
                    path.clone(),
                    missing[0],
                    format!("this row lacks {}", list(&missing, "and")),
                )
                .help("every row has the same columns")
                .related(first.range, "the first row is here");
        }
        let mut values: Vec<(&str, DType)> =
            row.columns.iter().filter_map(|(name, value)| Some((&*name.value, *value.valid()?))).collect();
        values.sort_unstable();
        let whole = values.len() == row.columns.len() && missing.is_empty();
        match seen.iter().find(|(other, _)| *other == values) {
            Some((_, other)) if whole => {
                findings
                    .report(&codes::DTYPE_COMBOS, row.range, path, "dtype_combos", "this row repeats an earlier one")
                    .help("remove it")
                    .related(other.range, "the earlier row is here");
            }
            _ if whole => seen.push((values, row)),
            _ => {}
        }
    }
}

fn judge_column(sheet: &Sheet, column: &Ident, known: &[&str], path: &str, findings: &mut Findings) {
    let name = &column.value;
    let help = match known {
        [] => "a column is a `DType[…]` index or a dtype parameter; this entry has neither".to_owned(),
        _ => format!("the columns can be {}", list(nearest_first(name, known.iter().copied()), "and")),
    };
    match sheet.sym(name).map(|sym| &sheet.symbols[sym]) {
        None if sheet.unread_inputs => {
            findings.unreached(column.range, path, format!("what `{name}` is"), "signature");
        }
        None => {
            findings
                .report(&codes::UNKNOWN_NAME, column.range, path, &**name, format!("`{name}` is not declared"))
                .help(help)
                .meant(nearest(name, known.iter().copied()));
        }
        Some(symbol) if symbol.kind == Kind::Error => {
            findings.unreached(column.range, path, format!("the dtypes of `{name}`"), format!("the kind of `{name}`"));
        }
        Some(symbol) => {
            findings
                .report(
                    &codes::DTYPE_COMBOS,
                    column.range,
                    path,
                    &**name,
                    format!("`{name}` is neither a DType index nor a dtype parameter"),
                )
                .help(help)
                .related(symbol.range, format!("`{name}` is declared here"));
        }
    }
}

/// A column is relevant on every branch: a call that has no such dtype would have no row.
pub(crate) fn faults(sheet: &Sheet, columns: &[(&Ident, DTypeSet)], view: &View, into: &mut Vec<Fault>) {
    if view.branch.reads_more {
        return;
    }
    for (name, _) in columns {
        let Some(sym) = sheet.sym(&name.value) else { continue };
        if !view.read.contains(sym) {
            into.push(Fault {
                code: &codes::DTYPE_COMBOS,
                range: name.range,
                path: format!("{PATH}[0]"),
                subject: name.value.to_string(),
                message: format!("no tensor, refinement or formula reads the column `{}`", name.value),
                help: Some("a column is one that every call has; restrict the others in `shape_rules`".to_owned()),
                related: vec![(sheet.symbols[sym].range, format!("`{}` is declared here", name.value))],
            });
        }
    }
}
