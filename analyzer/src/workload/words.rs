//! Names and values as messages show them.

use std::sync::Arc;

use super::frame::Frame;
use crate::check::facts::{self, Read};
use crate::eval::Environment;
use crate::expr::Expr;
use crate::lang::Value;

/// How many items of a sequence a message shows.
const SHOWN_ITEMS: usize = 8;

/// A value as a manifest would state it, not without end.
pub(super) fn plain(value: &Value) -> String {
    match value {
        Value::Int(n) => n.to_string(),
        Value::Bool(b) => b.to_string(),
        Value::Float(x) => x.to_string(),
        Value::None => "None".to_owned(),
        Value::Str(text) | Value::Opaque(text) => text.to_string(),
        Value::DType(dtype) => dtype.name().to_owned(),
        Value::Seq(items) => {
            let mut shown: Vec<String> = items.iter().take(SHOWN_ITEMS).map(plain).collect();
            if items.len() > SHOWN_ITEMS {
                shown.push(format!("… {} in all", items.len()));
            }
            format!("[{}]", shown.join(", "))
        }
        Value::Adt(adt) => {
            let fields: Vec<String> =
                adt.fields.iter().map(|(field, value)| format!("{field}: {}", plain(value))).collect();
            format!("{{{}: {{{}}}}}", adt.constructor, fields.join(", "))
        }
    }
}

/// A value in a sentence: numbers, booleans and dtypes bare, what could be read as a word in backticks.
pub(super) fn show(value: &Value) -> String {
    match value {
        Value::Str(_) | Value::Opaque(_) | Value::Adt(_) => format!("`{}`", plain(value)),
        _ => plain(value),
    }
}

/// "a", "a and b", "a, b and c".
pub(super) fn join(clauses: &[String]) -> String {
    match clauses {
        [] => String::new(),
        [one] => one.clone(),
        [most @ .., last] => format!("{} and {last}", most.join(", ")),
    }
}

/// What the names of `expr` are in the call: "`H` is 30 and `H_kv` is 8"; nothing where no name of it has a value.
pub(super) fn readings(expr: &Expr, frame: &Frame<'_>) -> String {
    let mut seen: Vec<Read<'_>> = Vec::new();
    let mut clauses = Vec::new();
    facts::reads(expr, &mut |read| {
        if !seen.contains(&read) {
            seen.push(read);
            clauses.extend(reading(read, frame));
        }
    });
    join(&clauses)
}

fn reading(read: Read<'_>, frame: &Frame<'_>) -> Option<String> {
    Some(match read {
        Read::Value(name) => format!("`{name}` is {}", show(&frame.value(name)?)),
        Read::Present(name) => format!("`{name}` is {}passed", if frame.present(name)? { "" } else { "not " }),
        Read::Field(name, field) => format!("`{name}.{field}` is {}", show(&frame.field(name, field)?)),
        Read::Tensor(_) => return None,
    })
}

/// The names that `expr` reads, in the order written, each once, and behind them what they follow from.
pub(super) fn names_of(expr: &Expr, frame: &Frame<'_>) -> Vec<Arc<str>> {
    let mut names: Vec<Arc<str>> = Vec::new();
    facts::reads(expr, &mut |read| add(&mut names, read.name()));
    origins(names, frame)
}

/// `names`, and behind them what stands behind those of them that the row does not state: what a `let` reads, and what
/// the generator reads that determines an index.
pub(super) fn origins(mut names: Vec<Arc<str>>, frame: &Frame<'_>) -> Vec<Arc<str>> {
    let mut at = 0;
    while let Some(name) = names.get(at).cloned() {
        at += 1;
        if let Some(value) = frame.branch.folded_let(&name) {
            facts::reads(value, &mut |read| add(&mut names, read.name()));
        }
        if frame.branch.solved_by_generator.contains(&name) {
            for tensor in &frame.branch.tensors {
                let (Some(values), Some(axes)) = (&tensor.values, &tensor.axes) else { continue };
                let mut determines = false;
                axes.iter().for_each(|axis| facts::axis_reads(axis, &mut |r| determines |= *r.name() == name));
                if determines {
                    facts::call_reads(&values.call, &mut |read| add(&mut names, read.name()));
                }
            }
        }
    }
    names
}

pub(super) fn add(names: &mut Vec<Arc<str>>, name: &Arc<str>) {
    if !names.contains(name) {
        names.push(name.clone());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lang::{AdtValue, DType};

    #[test]
    fn values_read_as_a_manifest_states_them() {
        let adt = Value::Adt(Arc::new(AdtValue {
            adt: "Layout".into(),
            constructor: "slab".into(),
            fields: vec![("capacity".into(), Value::Int(4)), ("index".into(), Value::Str("by_row".into()))],
        }));
        assert_eq!(show(&adt), "`{slab: {capacity: 4, index: by_row}}`");
        assert_eq!(show(&Value::DType(DType::Float16)), "float16");
        assert_eq!(show(&Value::ints(0..9)), "[0, 1, 2, 3, 4, 5, 6, 7, … 9 in all]");
        assert_eq!(join(&["a".into(), "b".into(), "c".into()]), "a, b and c");
    }
}
