//! Everything that is found about one entry: the passes, in order.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::check::{Checked, Scope, check_kinds, check_signature, withdraw_fields};
use crate::defect::{Findings, codes, merge_repeats};
use crate::expr::{TypeExpr, TypeExprKind};
use crate::lang::AdtTable;
use crate::model::{Entry, ParamRole, read_entry};
use crate::roofline::{self, Formulas, RooflinePlan};
use crate::syntax::parse_entry;
use crate::text::TextRange;
use crate::workload::{Call, check_rows};

/// An entry that was read, and not judged yet.
#[derive(Debug, Clone, PartialEq)]
pub struct ParsedEntry {
    /// Its facts.
    pub entry: Entry,
    /// The defects of its YAML and of its form.
    pub findings: Findings,
    /// Its comments, each with its `#`, in order.
    pub comments: Vec<TextRange>,
}

/// What an entry is judged against: all that it does not say itself.
#[derive(Debug, Clone, Copy)]
pub struct EntryContext<'a> {
    /// The ADTs that it can name.
    pub adts: &'a AdtTable,
    /// The functions that its roofline can name.
    pub formulas: &'a Formulas,
}

/// All that is known of one entry. Every range is relative to the entry's text.
#[derive(Debug)]
pub struct EntryAnalysis {
    /// Its facts.
    pub entry: Entry,
    /// Its names.
    pub scope: Scope,
    /// Its signature at every point.
    pub checked: Checked,
    /// What its generated roofline computes; nothing where emission would not be safe.
    pub plan: Option<RooflinePlan>,
    /// The calls that its workload rows determine.
    pub calls: Vec<Call>,
    /// What is wrong with it, and what could not be judged, in their total order.
    pub findings: Findings,
    /// Its comments, each with its `#`, in order.
    pub comments: Vec<TextRange>,
}

/// Reads the entry whose text is `chunk`.
pub fn parse(chunk: &str) -> ParsedEntry {
    let tree = parse_entry(chunk);
    let mut read = Findings::default();
    let entry = read_entry(&tree, &mut read);
    let mut findings = tree.findings;
    withdraw_unsure(&mut read, &findings);
    findings.append(read);
    ParsedEntry { entry, findings, comments: tree.comments }
}

/// Where YAML could not be read, what seems to be missing may be in the part that was lost: such judgments are unreached.
fn withdraw_unsure(read: &mut Findings, yaml: &Findings) {
    // A text that is broken in more places than this has lost its sense anyway.
    let broken = yaml.defects.iter().filter(|defect| defect.code == &codes::YAML_SYNTAX).take(64);
    let broken: Vec<&str> = broken.map(|defect| defect.path.as_str()).collect();
    let is_lost = |path: &str| {
        let within =
            |inner: &str| inner.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']));
        broken.iter().any(|inner| path.is_empty() || within(inner))
    };
    let mut unreached = Vec::new();
    read.defects.retain(|defect| {
        let unsure = (defect.code == &codes::MISSING_KEY || defect.code == &codes::WRONG_FORM) && is_lost(&defect.path);
        if unsure {
            let judgment = match defect.code == &codes::MISSING_KEY {
                true => format!("whether `{}` is there", defect.subject),
                false => format!("the form of `{}`", defect.subject),
            };
            unreached.push((defect.range, defect.path.clone(), judgment));
        }
        !unsure
    });
    for (range, path, judgment) in unreached {
        read.unreached(range, path, judgment, "well-formed YAML");
    }
}

/// Judges an entry that was read.
pub fn judge(parsed: &ParsedEntry, context: &EntryContext<'_>) -> EntryAnalysis {
    let ParsedEntry { entry, mut findings, comments } = parsed.clone();
    withdraw_fields(&entry, context.adts, &mut findings);
    let (scope, checked) = judge_declarations(&entry, context.adts, &mut findings);
    let plan = roofline::analyze(&entry, &checked, context.formulas, &mut findings);
    let calls = check_rows(&entry, &scope, &checked, &mut findings);
    findings.normalize();
    let has_forall = entry.signature.valid().is_none_or(|signature| !signature.forall.is_absent());
    merge_repeats(&mut findings, has_forall, entry.workloads.items().len());
    EntryAnalysis { entry, scope, checked, plan, calls, findings, comments }
}

/// Judges all of an entry but what its roofline comes to and its rows, which cost most.
pub(crate) fn judge_declarations(entry: &Entry, adts: &AdtTable, findings: &mut Findings) -> (Scope, Checked) {
    let scope = Scope::of(entry, adts, findings);
    check_kinds(entry, &scope, findings);
    roofline::check_formulas(entry, &scope, findings);
    let checked = check_signature(entry, &scope, adts, findings);
    (scope, checked)
}

/// Reads and judges the entry whose text is `chunk`.
pub fn analyze_entry(chunk: &str, context: &EntryContext<'_>) -> EntryAnalysis {
    judge(&parse(chunk), context)
}

/// The names of types that `entry` mentions, in order and without repeats: all that its verdict can depend on of
/// `types.yaml`.
pub fn mentioned_types(entry: &Entry) -> Vec<Arc<str>> {
    let mut names = BTreeSet::new();
    let mut stack: Vec<&TypeExpr> = Vec::new();
    if let Some(signature) = entry.signature.valid() {
        for param in signature.params.items() {
            if let ParamRole::Value { ty, .. } = &param.role {
                stack.extend(ty.valid().map(|ty| &ty.ty));
            }
        }
        for family in signature.types.items() {
            stack.extend(family.params.items().iter().filter_map(|(_, kind)| kind.valid()));
        }
    }
    while let Some(ty) = stack.pop() {
        match &ty.kind {
            TypeExprKind::Name(name) => {
                names.insert(name.clone());
            }
            TypeExprKind::Apply(head, arguments) => {
                names.insert(head.value.clone());
                stack.extend(arguments);
            }
            TypeExprKind::Union(members) => stack.extend(members),
            TypeExprKind::Literal(_) | TypeExprKind::Ellipsis | TypeExprKind::Error => {}
        }
    }
    names.into_iter().collect()
}
