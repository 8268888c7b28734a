//! What a name, a key or a comment says when it is looked at.

use std::fmt::Write;

use super::branches::{branches, distinct};
use super::hints::readable;
use super::mentions::{Mention, Subject, formals, literals, mention_at, mentions, role_noun};
use super::site::{Owner, Site};
use crate::analysis::EntryAnalysis;
use crate::check::{Branch, Step};
use crate::db::AnalysisDb;
use crate::defect::{Code, find_code, list};
use crate::expr::{Shape, ShapeKind};
use crate::lang::builtins::Builtin;
use crate::lang::{Adt, DType, Kind};
use crate::model::schema::INDEX_KINDS;
use crate::roofline::FormulaLanguage;
use crate::text::{TextRange, TextSize};
use crate::workload::Call;

/// What is said of a place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hover {
    /// The characters that it is about, in the file.
    pub range: TextRange,
    /// What is said, in Markdown.
    pub markdown: String,
}

/// What is known of what stands at `offset`.
pub fn hover(db: &AnalysisDb, path: &str, offset: TextSize) -> Option<Hover> {
    let site = Site::at(db, path, offset)?;
    let at = site.local(offset);
    if let Some(hover) = code_in_comment(&site, at) {
        return Some(hover);
    }
    let found = mentions(&site);
    let named = mention_at(&found, at).and_then(|mention| Some((mention.range, describe(&site, mention)?)));
    let named = named.or_else(|| label_at(&site, at));
    let defects = defects_at(&site, offset);
    let explained: Vec<String> = defects.iter().map(|(_, code)| explain(code)).collect();
    let range = named.as_ref().map(|(range, _)| site.global(*range)).or(defects.first().map(|(range, _)| *range))?;
    let parts: Vec<String> = named.map(|(_, text)| text).into_iter().chain(explained).collect();
    Some(Hover { range, markdown: parts.join("\n\n---\n\n") })
}

/// What the row whose label stands at an offset determines.
fn label_at(site: &Site<'_>, at: TextSize) -> Option<(TextRange, String)> {
    let analysis = site.analysis.as_deref()?;
    let mut rows = analysis.entry.workloads.items().iter().filter_map(|row| row.valid());
    let row = rows.find(|row| row.label.valid().is_some_and(|label| label.range.contains_inclusive(at)))?;
    let mut text = String::new();
    for call in analysis.calls.iter().filter(|call| call.row == row.position) {
        text.push_str(&describe_call(call));
        text.push('\n');
    }
    (!text.is_empty()).then(|| Some((row.label.valid()?.range, text.trim_end().to_owned()))).flatten()
}

/// One call of a row: its bytes, its tensors, its indices.
pub(crate) fn describe_call(call: &Call) -> String {
    let mut text = format!("**{}**", call.case_id);
    let traffic = call.bytes();
    if let Some(traffic) = &traffic {
        let _ = write!(text, ": {} bytes, {} read, {} written", traffic.total, traffic.read, traffic.write);
    }
    text.push_str("\n\n");
    for (name, tensor) in &call.tensors {
        let _ = write!(text, "- `{name}`: ");
        let Some(tensor) = tensor else {
            text.push_str("absent\n");
            continue;
        };
        let extents: Vec<String> = tensor.shape.iter().map(ToString::to_string).collect();
        let _ = write!(text, "`[{}]` of `{}`", extents.join(", "), tensor.dtype.name());
        match traffic.iter().flat_map(|traffic| &traffic.terms).find(|term| term.tensor == *name) {
            Some(term) => {
                let _ = writeln!(text, ", {} read, {} written", term.read, term.write);
            }
            None => text.push('\n'),
        }
    }
    let solved: Vec<String> = call.indices.iter().map(|(name, value)| format!("`{name} = {value}`")).collect();
    if !solved.is_empty() {
        let _ = writeln!(text, "\n{}\n", solved.join(", "));
    }
    text
}

/// The defects that stand at `offset`, each code once, from the narrowest.
fn defects_at(site: &Site<'_>, offset: TextSize) -> Vec<(TextRange, &'static Code)> {
    let Some(report) = site.db.report(&site.path) else { return Vec::new() };
    let here = report.defects.iter().map(|located| &located.defect).filter(|d| d.range.contains_inclusive(offset));
    let mut found: Vec<(TextRange, &'static Code)> = here.map(|defect| (defect.range, defect.code)).collect();
    found.sort_by_key(|(range, code)| (range.len(), code.name));
    let mut seen: Vec<&str> = Vec::new();
    found.retain(|(_, code)| {
        !seen.contains(&code.name) && {
            seen.push(code.name);
            true
        }
    });
    found
}

/// Why a defect is one, without the examples of its page: what is wrong here, its message says.
fn explain(code: &Code) -> String {
    let why = code.docs.split("\n## ").next().unwrap_or("").trim();
    format!("**{}**: {}.\n\n{why}", code.name, code.summary)
}

/// A code in a suppression comment.
fn code_in_comment(site: &Site<'_>, at: TextSize) -> Option<Hover> {
    let comment = *site.tree.comments.iter().find(|comment| comment.contains_inclusive(at))?;
    let text = site.slice(comment);
    if !text.contains("tileops:") {
        return None;
    }
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '-';
    let within = usize::from(at - comment.start());
    let before = text.get(..within)?;
    let start = before.rfind(|c| !is_word(c)).map_or(0, |i| i + 1);
    let end = within + text.get(within..)?.find(|c| !is_word(c)).unwrap_or(text.len() - within);
    let code = find_code(text.get(start..end)?)?;
    let range = TextRange::new(TextSize::try_from(start).ok()?, TextSize::try_from(end).ok()?) + comment.start();
    Some(Hover { range: site.global(range), markdown: code.page() })
}

fn code_block(text: &str) -> String {
    format!("```tileops\n{text}\n```\n")
}

/// What a built-in is, in Markdown.
pub(crate) fn describe_builtin(builtin: &Builtin) -> String {
    format!("{}\n{}", code_block(&builtin.signature()), describe_builtin_meaning(builtin))
}

/// The same without its signature.
pub(crate) fn describe_builtin_meaning(builtin: &Builtin) -> String {
    let mut text = format!("{}: {}.", capital(builtin.noun()), builtin.doc);
    if !builtin.domain.is_empty() {
        let _ = write!(text, " Domain: {}.", builtin.domain);
    }
    text
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|c| c.to_uppercase().to_string() + chars.as_str()).unwrap_or_default()
}

pub(crate) fn describe_dtype(dtype: DType) -> String {
    format!("`{}`: {} bits, {}.", dtype.name(), dtype.bits(), dtype.category().name())
}

fn describe_adt(adt: &Adt) -> String {
    let mut text = format!("type **{}**, one of\n", adt.name);
    for constructor in &adt.constructors {
        let fields: Vec<String> = constructor.fields.iter().map(|f| format!("{}: {}", f.name, f.kind)).collect();
        let _ = write!(text, "\n- `{}`", constructor.name);
        if !fields.is_empty() {
            let _ = write!(text, " with `{}`", fields.join(", "));
        }
        if let Some(python) = &constructor.python {
            let _ = write!(text, " (`{python}`)");
        }
    }
    text
}

fn describe(site: &Site<'_>, mention: &Mention) -> Option<String> {
    Some(match &mention.subject {
        Subject::Name(name) => describe_name(site.analysis.as_deref()?, name)?,
        Subject::Out => "`out`: the buffer that the caller may pass for the output to be written to.".to_owned(),
        Subject::Builtin(builtin) => describe_builtin(builtin),
        Subject::DType(dtype) => describe_dtype(*dtype),
        Subject::Key(section, key) => {
            let required = if key.required { "required" } else { "optional" };
            let example = format!("{}: {}", key.name, key.example);
            format!(
                "**{}**, a key of {} ({required})\n\n{}\n\nIt takes {}:\n\n```yaml\n{example}\n```",
                key.name, section.noun, key.doc, key.expects
            )
        }
        Subject::Word(key, word) => format!("`{word}`, a value of **{}**\n\n{}", key.name, key.doc),
        Subject::Family(name) => describe_family(site, name)?,
        Subject::Formal(family, name) => {
            let owner = Owner { within: Some(super::site::Names::Types), name: Some(family), ..Owner::default() };
            let known = formals(&site.analysis.as_deref()?.scope, &owner)?;
            let (_, kind) = known.iter().find(|(formal, _)| formal == name)?;
            format!("{}\nformal of the type family `{family}`", code_block(&format!("{name}: {kind}")))
        }
        Subject::Local(name, _) => format!("`{name}`: the variable of this comprehension."),
        Subject::Adt(name) => describe_adt(site.adts.get(name)?),
        Subject::Constructor(adt, name) => {
            let constructor = site.adts.get(adt)?.constructor(name)?;
            let fields: Vec<String> = constructor.fields.iter().map(|f| format!("{}: {}", f.name, f.kind)).collect();
            let mut text = code_block(&format!("{name} {{{}}}", fields.join(", ")));
            let _ = write!(text, "\nconstructor of `{adt}`");
            if let Some(python) = &constructor.python {
                let _ = write!(text, ", in Python `{python}`");
            }
            text
        }
        Subject::Field(adt, name) => {
            let adt = site.adts.get(adt)?;
            let having: Vec<_> = adt.constructors.iter().filter(|c| c.field(name).is_some()).collect();
            let kind = having.first()?.field(name).map(|field| field.kind.to_string()).unwrap_or_default();
            let owners = list(having.iter().map(|c| &*c.name), "and");
            format!("{}\nfield of {owners} of `{}`", code_block(&format!("{name}: {kind}")), adt.name)
        }
        Subject::Literal(text) => {
            let scope = site.analysis.as_ref().map(|analysis| &analysis.scope);
            let symbols = scope.into_iter().flat_map(|scope| scope.iter());
            let owners = symbols.filter(|symbol| literals(&symbol.kind).contains(&&**text));
            let owners: Vec<&str> = owners.map(|symbol| &*symbol.name).collect();
            match owners.is_empty() {
                true => format!("`'{text}'`: a literal."),
                false => format!("`'{text}'`: a literal of {}.", list(owners, "and")),
            }
        }
        Subject::Kind(name) => {
            let doc = INDEX_KINDS.iter().find(|(kind, _)| kind.split('[').next() == Some(name)).map(|(_, doc)| *doc);
            format!("`{name}`{}", doc.map(|doc| format!(": {doc}")).unwrap_or_default())
        }
        Subject::Member("value") => "`.value`: what an optional parameter is, where it is passed.".to_owned(),
        Subject::Member(_) => "`.kind`: the name of the constructor.".to_owned(),
        Subject::Op(name) => describe_op(site, name)?,
        Subject::Function(path) => describe_function(site, path),
        Subject::Type(_) | Subject::OpFamily(_) | Subject::Unknown(_) => return None,
    })
}

fn describe_op(site: &Site<'_>, name: &str) -> Option<String> {
    let (path, range) = site.db.locate(&site.path, &crate::defect::Place::Op(name.to_owned(), 0))?;
    let (analysis, _) = site.db.entry_at(&path, range.start())?;
    let signature = analysis.entry.signature.valid()?;
    let names = |tensors: &[crate::model::Tensor]| {
        tensors.iter().map(|tensor| tensor.name.value.to_string()).collect::<Vec<_>>().join(", ")
    };
    let params: Vec<&str> = signature.params.items().iter().map(|param| &*param.name.value).collect();
    let first = format!(
        "{name}({})({}) -> {}",
        params.join(", "),
        names(signature.inputs.items()),
        names(signature.outputs.items())
    );
    let count = |n: usize, noun: &str| if n == 1 { format!("1 {noun}") } else { format!("{n} {noun}s") };
    let rows = count(analysis.entry.workloads.items().len(), "row");
    let points = count(analysis.checked.points_checked(), "point");
    Some(format!("{}\n{rows}, {points}", code_block(&first)))
}

/// A type family: its formals, and what it is in each case.
pub(crate) fn describe_family(site: &Site<'_>, name: &str) -> Option<String> {
    let analysis = site.analysis.as_deref()?;
    let symbol = analysis.scope.family(name)?;
    let params: Vec<String> =
        symbol.formals.iter().flatten().map(|(formal, kind)| format!("{formal}: {kind}")).collect();
    let mut text = code_block(&format!("{name}[{}]", params.join(", ")));
    text.push_str("\ntype family\n");
    let family = analysis.entry.signature.valid()?.types.items().iter().find(|f| &*f.name.value == name)?;
    for case in family.cases.items().iter().filter_map(|case| case.valid()) {
        if let (Some(shape), when) = (case.is.valid(), case.when.range()) {
            let _ = write!(text, "\n- `{}`: `{shape}`", site.slice(when));
        }
    }
    Some(text)
}

/// The function of a roofline: how it is declared, and what its source says of it.
fn describe_function(site: &Site<'_>, path: &str) -> String {
    let Some(place) = site.db.formula_place(path) else {
        return format!("`{path}`: the function that computes the roofline.");
    };
    let language = match place.language {
        FormulaLanguage::Python => "python",
        FormulaLanguage::Rust => "rust",
    };
    let mut text = format!("```{language}\n{}\n```\n\nThe function that computes the roofline.", place.function.head);
    if !place.function.doc.is_empty() {
        let _ = write!(text, "\n\n{}", place.function.doc);
    }
    text
}

fn describe_name(analysis: &EntryAnalysis, name: &str) -> Option<String> {
    let symbol = analysis.scope.get(name)?;
    let mut text = code_block(&format!("{name}: {}", symbol.kind));
    let _ = write!(text, "\n{}", role_noun(symbol.role));
    let taken = branches(analysis);
    let lines = distinct(&taken, |taken| on_branch(&taken.branch, name, &symbol.kind));
    match lines.as_slice() {
        [] => {}
        [(when, line)] if when.is_empty() => {
            let _ = write!(text, "\n\n{line}");
        }
        lines => {
            text.push('\n');
            for (when, line) in lines {
                let _ = write!(text, "\n- when {when}: {line}");
            }
        }
    }
    text.push_str(&on_rows(analysis, name));
    Some(text)
}

/// What a name is on a branch.
fn on_branch(branch: &Branch, name: &str, kind: &Kind) -> Option<String> {
    if *kind != Kind::Tensor {
        return match branch.folded_let(name) {
            Some(value) => Some(format!("`{value}`")),
            None => solved(branch, name),
        };
    }
    let tensor = branch.tensor(name)?;
    if tensor.present == Some(false) {
        return Some("absent".to_owned());
    }
    let shape = tensor.axes.as_ref().map(|axes| {
        let shape = Shape { kind: ShapeKind::Axes(axes.to_vec()), range: tensor.shape_range };
        format!("`{shape}`")
    });
    let dtype = tensor.dtype.as_ref().map(|dtype| format!("`{dtype}`"));
    let parts: Vec<String> = shape.into_iter().chain(dtype).collect();
    let mut line = parts.join(" of ");
    if tensor.mutated == Some(true) {
        line.push_str(if tensor.write_only { ", written and not read" } else { ", read and written" });
    }
    if let Some(alias) = &tensor.alias {
        let _ = write!(line, ", the storage of `{alias}`");
    }
    Some(line)
}

/// What a name is on each row: a value, or a tensor's extents, dtype and size.
fn on_rows(analysis: &EntryAnalysis, name: &str) -> String {
    const MOST: usize = 8;
    let value = |call: &Call| -> Option<String> {
        let named = call.indices.iter().chain(&call.params).find(|(other, _)| &**other == name);
        if let Some((_, value)) = named {
            return Some(format!("`{value}`"));
        }
        let (_, tensor) = call.tensors.iter().find(|(other, _)| &**other == name)?;
        let Some(tensor) = tensor else { return Some("absent".to_owned()) };
        let extents: Vec<String> = tensor.shape.iter().map(ToString::to_string).collect();
        let size = tensor.size().map(|size| format!(", {}", readable(size))).unwrap_or_default();
        Some(format!("`[{}]` of `{}`{size}", extents.join(", "), tensor.dtype.name()))
    };
    let lines: Vec<(&str, String)> =
        analysis.calls.iter().filter_map(|call| Some((call.case_id.as_str(), value(call)?))).collect();
    let Some((_, first)) = lines.first() else { return String::new() };
    if lines.iter().all(|(_, line)| line == first) {
        return format!("\n\nOn every row: {first}");
    }
    let mut text = "\n\nOn the rows:\n".to_owned();
    for (case, line) in lines.iter().take(MOST) {
        let _ = write!(text, "\n- {case}: {line}");
    }
    if lines.len() > MOST {
        let _ = write!(text, "\n- and {} more", lines.len() - MOST);
    }
    text
}

/// Where an index is solved from at a point.
fn solved(branch: &Branch, name: &str) -> Option<String> {
    if branch.solved_by_generator.iter().any(|index| &**index == name) {
        return Some("determined by a generator".to_owned());
    }
    branch.plan.steps.iter().find_map(|step| match step {
        Step::BindAxis { place, index, .. } if &**index == name => {
            Some(format!("solved from axis {} of `{}`", place.item, place.tensor))
        }
        Step::BindSplice { place, index } if &**index == name => {
            Some(format!("solved from the axes of `{}` at item {}", place.tensor, place.item))
        }
        Step::BindDType { tensor, index, .. } if &**index == name => {
            Some(format!("solved from the dtype of `{tensor}`"))
        }
        _ => None,
    })
}
