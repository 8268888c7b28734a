//! What a name, a key or a comment says when it is looked at.

use std::fmt::Write;

use super::mentions::{Mention, Subject, formals, mention_at, mentions, role_noun};
use super::site::{Owner, Site};
use crate::analysis::EntryAnalysis;
use crate::check::{Branch, Point, Step};
use crate::db::AnalysisDb;
use crate::defect::{find_code, list};
use crate::expr::{Shape, ShapeKind};
use crate::lang::builtins::Builtin;
use crate::lang::{Adt, DType, Kind};
use crate::model::schema::INDEX_KINDS;
use crate::text::{TextRange, TextSize};

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
    let mention = mention_at(&found, at)?;
    Some(Hover { range: site.global(mention.range), markdown: describe(&site, mention)? })
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
    let mut text = code_block(&builtin.signature());
    let _ = write!(text, "\n{}: {}.", capital(builtin.noun()), builtin.doc);
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
        Subject::Family(name) => {
            let analysis = site.analysis.as_deref()?;
            let symbol = analysis.scope.family(name)?;
            let params: Vec<String> =
                symbol.formals.iter().flatten().map(|(formal, kind)| format!("{formal}: {kind}")).collect();
            let mut text = code_block(&format!("{name}[{}]", params.join(", ")));
            text.push_str("\ntype family\n");
            let family = analysis.entry.signature.valid()?.types.items().iter().find(|f| f.name.value == *name)?;
            for case in family.cases.items().iter().filter_map(|case| case.valid()) {
                if let (Some(shape), when) = (case.is.valid(), case.when.range()) {
                    let _ = write!(text, "\n- `{}`: `{shape}`", site.slice(when));
                }
            }
            text
        }
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
        Subject::Literal(text) => format!("`'{text}'`: a literal."),
        Subject::Kind(name) => {
            let doc = INDEX_KINDS.iter().find(|(kind, _)| kind.split('[').next() == Some(name)).map(|(_, doc)| *doc);
            format!("`{name}`{}", doc.map(|doc| format!(": {doc}")).unwrap_or_default())
        }
        Subject::Member("value") => "`.value`: what an optional parameter is, where it is passed.".to_owned(),
        Subject::Member(_) => "`.kind`: the name of the constructor.".to_owned(),
        Subject::Op(name) => describe_op(site, name)?,
        Subject::Function(name) => format!("`{name}`: the function that computes the roofline."),
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
    let rows = analysis.entry.workloads.items().len();
    Some(format!("{}\n{rows} rows, {} points", code_block(&first), analysis.checked.points_checked()))
}

/// The branches to show: those of the workload rows, or the one that leaves everything open; at most four.
pub(crate) fn branches(analysis: &EntryAnalysis) -> Vec<(String, std::sync::Arc<Branch>)> {
    let mut points: Vec<Point> = Vec::new();
    for call in &analysis.calls {
        let passed: Vec<_> =
            call.tensors.iter().filter(|(_, tensor)| tensor.is_some()).map(|(name, _)| name.clone()).collect();
        let point = analysis.checked.point_of(&call.params, &passed);
        if !points.contains(&point) {
            points.push(point);
        }
        if points.len() == 4 {
            break;
        }
    }
    if points.is_empty() {
        points.push(Point::default());
    }
    points.iter().map(|point| (analysis.checked.describe(point), analysis.checked.branch(point))).collect()
}

fn describe_name(analysis: &EntryAnalysis, name: &str) -> Option<String> {
    let symbol = analysis.scope.get(name)?;
    let mut text = code_block(&format!("{name}: {}", symbol.kind));
    let _ = write!(text, "\n{}", role_noun(symbol.role));
    let branches = branches(analysis);
    let mut lines: Vec<(String, String)> = Vec::new();
    for (when, branch) in &branches {
        let line = match &symbol.kind {
            Kind::Tensor => match branch.tensor(name) {
                Some(tensor) if tensor.present == Some(false) => "absent".to_owned(),
                Some(tensor) => {
                    let dtype = tensor.dtype.as_ref().map(|dtype| format!("`{dtype}`")).unwrap_or_default();
                    let shape = tensor.axes.as_ref().map(|axes| {
                        format!(" `{}`", Shape { kind: ShapeKind::Axes(axes.to_vec()), range: tensor.shape_range })
                    });
                    format!("{dtype}{}", shape.unwrap_or_default())
                }
                None => continue,
            },
            _ => match branch.folded_let(name) {
                Some(value) => format!("`{value}`"),
                None => match solved(branch, name) {
                    Some(line) => line,
                    None => continue,
                },
            },
        };
        lines.push((when.clone(), line));
    }
    if let Some((_, first)) = lines.first() {
        if lines.iter().all(|(_, line)| line == first) {
            let _ = write!(text, "\n\n{first}");
        } else {
            for (when, line) in &lines {
                let _ = write!(text, "\n- when {when}: {line}");
            }
        }
    }
    Some(text)
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
