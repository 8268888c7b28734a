//! Plain Python: a class an entry, a module a family.

mod check;
mod construct;
mod expr;
mod roofline;
mod tree;

use std::collections::{BTreeMap, BTreeSet};

use tileops_analyzer::analysis::EntryAnalysis;

use crate::layout::{Doc, Stmt, write_statements};
use crate::{EmittedFile, HEADER};

/// The module that all others import from.
const SUPPORT: &str = include_str!("support.py");

/// The emitted package: `entries` are without defects, and each is of the family that it names.
pub(crate) fn emit(entries: &[(&str, &EntryAnalysis)]) -> Result<Vec<EmittedFile>, Vec<(String, String)>> {
    let mut families: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    let mut problems = Vec::new();
    for &(family, analysis) in entries {
        match class(family, analysis) {
            Ok(text) => families.entry(family).or_default().push(text),
            Err(problem) => problems.push((analysis.entry.name.value.to_string(), problem)),
        }
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    let mut files = vec![
        EmittedFile { path: "__init__.py".to_owned(), text: format!("{HEADER}\"\"\"The ops of the manifest.\"\"\"\n") },
        EmittedFile { path: "_tileops.py".to_owned(), text: format!("{HEADER}{SUPPORT}") },
    ];
    for (family, classes) in families {
        files.push(EmittedFile { path: format!("{family}.py"), text: module(family, &classes) });
    }
    files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(files)
}

/// What an emitted class may use of the support module, besides `Op`.
const IMPORTS: &[&str] = &[
    "CheckedCall",
    "INF",
    "TensorInfo",
    "TensorLike",
    "Variant",
    "all_of",
    "balanced_sizes",
    "broadcast",
    "category",
    "ceil_div",
    "coalesce_dtype",
    "conv_out",
    "dtype_name",
    "extents",
    "frozen",
    "is_bool",
    "is_dim",
    "is_dtype",
    "is_float",
    "is_int",
    "is_int_or_none",
    "is_seq",
    "is_str",
    "last",
    "max_of",
    "mhc_expansion",
    "min_of",
    "moe_capacity",
    "per_axis",
    "pool_out",
    "prod",
    "promote_int_to_float",
    "reduced",
    "repeat",
    "representable",
    "show",
    "sum_of",
    "unique_axes",
    "valid_axes",
    "variant",
];

fn module(family: &str, classes: &[String]) -> String {
    let body = classes.join("\n\n");
    let used = words(&body);
    let mut text =
        format!("{HEADER}\"\"\"The ops of the family `{family}`.\"\"\"\n\nfrom __future__ import annotations\n\n");
    if used.contains("Sequence") {
        text.push_str("from collections.abc import Sequence\n");
    }
    let typing: Vec<&str> = ["Any", "Literal"].into_iter().filter(|name| used.contains(*name)).collect();
    if !typing.is_empty() {
        text.push_str(&format!("from typing import {}\n", typing.join(", ")));
    }
    if !text.ends_with("\n\n") {
        text.push('\n');
    }
    let mut names: Vec<&str> = IMPORTS.iter().copied().filter(|name| used.contains(*name)).chain(["Op"]).collect();
    // As isort does: constants, classes, functions.
    let rank = |name: &str| match name {
        _ if name.chars().all(char::is_uppercase) => 0,
        _ if name.starts_with(char::is_uppercase) => 1,
        _ => 2,
    };
    names.sort_by_key(|name| (rank(name), *name));
    let line = format!("from ._tileops import {}", names.join(", "));
    if line.len() <= 100 {
        text.push_str(&line);
        text.push('\n');
    } else {
        text.push_str("from ._tileops import (\n");
        names.iter().for_each(|name| text.push_str(&format!("    {name},\n")));
        text.push_str(")\n");
    }
    text.push_str("\n\n");
    text.push_str(&body);
    text
}

/// The identifiers of the code in `text`; those of an f-string's replacement fields are code, the rest of a string is not.
fn words(text: &str) -> BTreeSet<String> {
    let mut code = String::new();
    let (mut quoted, mut depth, mut escaped) = (false, 0_usize, false);
    for c in text.chars() {
        match c {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' if depth == 0 => {
                quoted = !quoted;
                code.push(' ');
            }
            '{' if quoted => depth += 1,
            '}' if quoted => {
                depth = depth.saturating_sub(1);
                code.push(' ');
            }
            _ if !quoted || depth > 0 => code.push(c),
            _ => {}
        }
    }
    code.split(|c: char| !(c.is_alphanumeric() || c == '_')).map(str::to_owned).collect()
}

fn class(family: &str, analysis: &EntryAnalysis) -> Result<String, String> {
    let name = &analysis.entry.name.value;
    let mut text = format!("class {name}(Op):\n    \"\"\"`{name}` of the manifest family `{family}`.\"\"\"\n\n");
    text.push_str(&format!("    NAME = \"{name}\"\n"));
    let methods =
        [construct::method(analysis)?, check::method(analysis)?, outputs(analysis), roofline::method(analysis)?];
    for method in methods.iter().filter(|method| !method.is_empty()) {
        text.push('\n');
        write_statements(&mut text, method, 4);
    }
    Ok(text)
}

/// `outputs`: what the last call gives.
fn outputs(analysis: &EntryAnalysis) -> Vec<Stmt> {
    let outputs = analysis.entry.signature.valid().map_or(&[][..], |signature| signature.outputs.items());
    let items: Vec<Doc> = outputs
        .iter()
        .map(|output| {
            let name = expr::string(&output.name.value);
            Doc::text(format!("{name}: tensors[{name}]"))
        })
        .collect();
    let read = if items.is_empty() { "self.completed_call()" } else { "tensors = self.completed_call().tensors" };
    vec![Stmt::Block(
        Doc::text("def outputs(self) -> dict[str, TensorInfo | None]:"),
        vec![
            Stmt::line("\"\"\"The outputs of the last call; `None` for one that it does not emit.\"\"\""),
            Stmt::line(read),
            Stmt::Simple(Doc::display("return {", items, "}")),
        ],
    )]
}

/// `raise` of a refusal that names `declaration`. `message` is the inside of an f-string.
fn refuse(declaration: &str, message: &str) -> Stmt {
    let prefix = if message.contains('{') { "f" } else { "" };
    Stmt::Simple(Doc::list(
        "raise self._refuse(",
        vec![Doc::text(expr::string(declaration)), Doc::text(format!("{prefix}\"{message}\""))],
        ")",
    ))
}

/// `statement`, under the name of its declaration where it can fail.
fn declared(declaration: &str, statement: Stmt, can_fail: bool) -> Stmt {
    match can_fail {
        true => Stmt::Block(Doc::text(format!("with self._declared({}):", expr::string(declaration))), vec![statement]),
        false => statement,
    }
}

/// A function's header, broken where it is too long.
fn header(name: &str, parameters: Vec<Doc>, result: &str) -> Doc {
    Doc::Cat(vec![Doc::list(format!("def {name}("), parameters, ")"), Doc::text(format!(" -> {result}:"))])
}
