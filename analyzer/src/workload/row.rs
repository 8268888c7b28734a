//! Reading one row: its keys and values against what its call needs.

mod keys;

use std::cell::{OnceCell, RefCell};
use std::sync::Arc;

use keys::*;

use super::words::join;
use super::{MAX_LABEL, label};
use crate::check::{
    Branch, Checked, Point, Scope, SymbolRole, ValueProblem, describe, facts, value_of_index, value_of_node,
};
use crate::defect::{Defect, Findings, Severity, codes, list, nearest, nearest_first};
use crate::expr::Ident;
use crate::lang::{DType, Kind, Value};
use crate::model::{Condition, DTypeCase, Entry, Fact, Index, IndexKind, ParamRole, Row, Signature, TensorRole};
use crate::syntax::Node;
use crate::text::TextRange;

/// How many points a message compares a row's with.
const COMPARED_POINTS: usize = 256;

/// A value parameter of the entry.
pub(super) struct ParamFact<'a> {
    pub(super) name: &'a Ident,
    pub(super) kind: &'a Kind,
    pub(super) default: Default,
}

/// The default of a parameter.
pub(super) enum Default {
    /// It has none: a row must give the parameter.
    Required,
    /// It has one that could not be read.
    Unreadable,
    /// It has one.
    Is(Value),
}

/// What all rows of an entry are judged by.
pub(super) struct EntryFacts<'a> {
    pub(super) entry: &'a Entry,
    pub(super) signature: &'a Signature,
    pub(super) scope: &'a Scope,
    pub(super) checked: &'a Checked,
    pub(super) params: Vec<ParamFact<'a>>,
    /// The names that expressions read and nothing declares, as was said before.
    undeclared: Vec<&'a str>,
    /// Where the signature is wrong, as was said before. What follows from it there proves nothing of a row.
    faults: Vec<(TextRange, String)>,
    /// The paths of keys that their section does not know.
    unknown_keys: Vec<&'a str>,
    /// The points that a message compares a row's with, once one does.
    compared: OnceCell<Vec<(Arc<Branch>, Point)>>,
    /// What was found out about them.
    answers: RefCell<Vec<((Question, Point), String)>>,
}

impl<'a> EntryFacts<'a> {
    pub(super) fn new(
        entry: &'a Entry,
        signature: &'a Signature,
        scope: &'a Scope,
        checked: &'a Checked,
        found: &'a [Defect],
    ) -> Self {
        let errors = found.iter().filter(|defect| defect.code.severity == Severity::Error);
        let faults = errors
            .filter(|defect| defect.path.starts_with("signature"))
            .map(|defect| (defect.range, defect.path.clone()))
            .collect();
        let unknown = found.iter().filter(|defect| *defect.code == codes::UNKNOWN_KEY);
        let unknown_keys = unknown.map(|defect| defect.path.as_str()).collect();
        let mut params: Vec<ParamFact<'a>> = Vec::new();
        for param in signature.params.items() {
            let ParamRole::Value { ty, default, .. } = &param.role else { continue };
            // Of two declarations of one name the first stands.
            let Some(symbol) = scope.get(&param.name.value).filter(|symbol| symbol.range == param.name.range) else {
                continue;
            };
            let default = match default {
                // A declaration without its type lacks more than a default.
                Fact::Absent(_) if ty.is_absent() || default.is_malformed() => Default::Unreadable,
                Fact::Absent(_) => Default::Required,
                Fact::Malformed(_) => Default::Unreadable,
                Fact::Valid(node, _) => {
                    // What is wrong with a default is reported at its declaration.
                    value_of_node(node, &symbol.kind).map_or(Default::Unreadable, Default::Is)
                }
            };
            params.push(ParamFact { name: &param.name, kind: &symbol.kind, default });
        }
        let undeclared = found.iter().filter(|defect| defect.code == &codes::UNKNOWN_NAME);
        let undeclared = undeclared.map(|defect| &*defect.subject).collect();
        EntryFacts {
            entry,
            signature,
            scope,
            checked,
            params,
            undeclared,
            faults,
            unknown_keys,
            compared: OnceCell::new(),
            answers: RefCell::default(),
        }
    }

    /// Whether something is wrong at `range` or at `path`, or inside either.
    pub(super) fn is_faulty(&self, range: TextRange, path: &str) -> bool {
        self.faults.iter().any(|(at, of)| {
            let inside = of.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']));
            inside || range.contains_range(*at) || (at.contains_range(range) && !range.is_empty())
        })
    }

    /// Whether the kind of a relevant index could not be read: what the row owes it is not known.
    fn has_unread_index(&self, branch: &Branch) -> bool {
        branch.relevant.iter().filter_map(|name| self.index(name)).any(|index| index.kind.valid().is_none())
    }

    pub(super) fn index(&self, name: &str) -> Option<&'a Index> {
        let index = self.signature.forall.items().iter().find(|index| &*index.name.value == name)?;
        self.scope.get(name).is_some_and(|symbol| symbol.range == index.name.range).then_some(index)
    }

    /// Whether what stands at `path` has a key that it does not know.
    fn has_unknown_key(&self, path: &str) -> bool {
        self.unknown_keys.iter().any(|key| {
            key.strip_prefix(path).and_then(|rest| rest.strip_prefix('.')).is_some_and(|rest| !rest.contains('.'))
        })
    }

    fn tensor(&self, name: &str) -> Option<&'a crate::model::Tensor> {
        facts::tensors(self.signature).find(|tensor| &*tensor.name.value == name)
    }

    /// The relevant dtype indices of `branch`, in the order of `forall`.
    pub(super) fn dtype_indices(&self, branch: &Branch) -> Vec<&'a Index> {
        branch
            .relevant
            .iter()
            .filter_map(|name| self.index(name))
            .filter(|index| matches!(index.kind, Fact::Valid(IndexKind::DType(_), _)))
            .collect()
    }
}

/// What a row states, read as far as it can be.
pub(super) struct ReadRow<'a> {
    pub(super) row: &'a Row,
    /// Every value parameter that has a value, in the order declared.
    pub(super) params: Vec<(Arc<str>, Value)>,
    /// The indices that the row gives and the call takes.
    pub(super) indices: Vec<(Arc<str>, Value)>,
    /// The signature at the row's point; nothing where nothing is known of what the row passes.
    pub(super) branch: Option<Arc<Branch>>,
    /// Whether the row decides every discriminant. Where not, the branch leaves open what depends on the others.
    pub(super) decided: bool,
    /// The cases that could be read, in the order written: the assignments in the order of `forall`.
    pub(super) cases: Vec<ReadCase<'a>>,
    /// Why no call can be made of the row, if so: the fact that is missing.
    pub(super) lacking: Option<String>,
}

/// A dtype case that could be read.
pub(super) struct ReadCase<'a> {
    /// The assignments, in the order of `forall`.
    pub(super) dtypes: Vec<(Arc<str>, DType)>,
    /// The case as written and its position; nothing for the one call of a row without dtype indices.
    pub(super) written: Option<(usize, &'a DTypeCase)>,
}

impl ReadRow<'_> {
    fn lack(&mut self, fact: impl Into<String>) {
        self.lacking.get_or_insert_with(|| fact.into());
    }

    /// Where a defect of the row as a whole stands: at its label, by which people know it.
    pub(super) fn place(&self) -> (TextRange, String) {
        place(self.row)
    }
}

fn place(row: &Row) -> (TextRange, String) {
    match &row.label {
        Fact::Valid(_, range) | Fact::Malformed(range) => (*range, format!("{}.label", row.path)),
        Fact::Absent(_) => (row.range, row.path.to_string()),
    }
}

/// Reads `row`. Everything wrong with its keys, values, `some`, `dtype_cases` and label is reported.
pub(super) fn read_row<'a>(facts: &EntryFacts<'a>, row: &'a Row, findings: &mut Findings) -> ReadRow<'a> {
    let mut read = ReadRow {
        row,
        params: Vec::new(),
        indices: Vec::new(),
        branch: None,
        decided: false,
        cases: Vec::new(),
        lacking: None,
    };
    check_label(row, findings);
    let mut missing: Vec<Arc<str>> = Vec::new();
    read_params(facts, &mut read, &mut missing, findings);
    let passed = read_some(facts, &mut read, findings);
    let stated = read_indices(facts, &mut read, findings);

    read.decided = passed.is_some()
        && facts.checked.discriminants().iter().all(|discriminant| {
            let name = &discriminant.name;
            facts.params.iter().all(|param| param.name.value != *name) || read.params.iter().any(|(n, _)| n == name)
        });
    let point = passed.map(|passed| facts.checked.point_of(&read.params, &passed));
    let branch = point.as_ref().map(|point| facts.checked.branch(point));
    // At a refused point, and at one that is not known whole, relevance proves nothing.
    let decided = read.decided;
    let accepted = branch.as_ref().filter(|branch| decided && branch.accepted);
    // Where something could not be read no call can be made, and what seems irrelevant may be read there.
    let judged = accepted.filter(|branch| !branch.poisoned && facts.scope.complete);
    let mut reported_missing = missing.clone();
    if let (Some(branch), Some(point)) = (accepted, &point) {
        let needed = needed_indices(facts, branch);
        let all_known = judged.is_some() && !branch.reads_more;
        for name in needed.iter().filter(|name| !stated.iter().any(|(n, _)| &n.value == **name)) {
            if branch.certain.contains(name) {
                reported_missing.push((*name).clone());
            } else {
                read.lack(format!("whether the row gives `{name}`"));
            }
        }
        for (name, value) in &stated {
            if facts.index(&name.value).is_none_or(|index| index.kind.valid().is_none()) {
                read.lack(format!("the kind of `{}`", name.value));
            } else if needed.contains(&&name.value) {
                match value {
                    Some(value) => read.indices.push((name.value.clone(), value.clone())),
                    None => read.lack(format!("the value of `{}`", name.value)),
                }
            } else if all_known {
                refuse_index(facts, row, branch, point, name, findings);
            } else {
                let path = format!("{}.{}", row.path, name.value);
                let judgment = format!("whether the call reads `{}`", name.value);
                findings.unreached(name.range, path, judgment, "an expression that could not be read");
                read.indices.extend(value.clone().map(|value| (name.value.clone(), value)));
            }
        }
    } else {
        // What the row states counts where it is read; whether it should state it is not known.
        read.indices.extend(stated.iter().filter_map(|(name, value)| Some((name.value.clone(), value.clone()?))));
    }
    if judged.is_none() && branch.as_ref().is_none_or(|branch| branch.accepted) {
        read.lack(if decided { "what the call reads" } else { "the point of the row" });
    }
    report_keys(facts, &mut read, accepted, point.as_ref(), reported_missing, findings);
    read_cases(facts, &mut read, judged, point.as_ref(), findings);
    read.branch = branch;
    read
}

fn check_label(row: &Row, findings: &mut Findings) {
    let Fact::Valid(text, range) = &row.label else { return };
    if let Some((message, help)) = label::label_fault(&text.value) {
        findings
            .report(&codes::ROW_LABEL, *range, format!("{}.label", row.path), &*text.value, message)
            .help(format!("{help}; it has at most {MAX_LABEL} characters and is part of the case's id"));
    }
}

fn read_params(facts: &EntryFacts<'_>, read: &mut ReadRow<'_>, missing: &mut Vec<Arc<str>>, findings: &mut Findings) {
    let row = read.row;
    for param in &facts.params {
        let name = &param.name.value;
        let stated = row.values.iter().find(|(key, _)| key.value == *name);
        let value = match (stated, &param.default) {
            (Some((key, node)), _) => read_parameter(key, node, param.kind, &format!("{}.{name}", row.path), findings),
            (None, Default::Is(value)) => Some(value.clone()),
            (None, Default::Required) => {
                missing.push(name.clone());
                None
            }
            (None, Default::Unreadable) => None,
        };
        match value {
            Some(value) => read.params.push((name.clone(), value)),
            None => read.lack(format!("the value of `{name}`")),
        }
    }
}

/// The `optional: true` tensors that the row passes; nothing where that could not be read.
fn read_some(facts: &EntryFacts<'_>, read: &mut ReadRow<'_>, findings: &mut Findings) -> Option<Vec<Arc<str>>> {
    let row = read.row;
    let names = match &row.some {
        Fact::Absent(_) => return Some(Vec::new()),
        Fact::Malformed(_) => {
            read.lack("`some`");
            return None;
        }
        Fact::Valid(names, _) => names,
    };
    let own: Vec<&str> = facts::tensors(facts.signature)
        .filter(|tensor| matches!(tensor.optional, Fact::Valid(Condition::Always(true), _)))
        .filter(|tensor| tensor.role != TensorRole::Output)
        .map(|tensor| &*tensor.name.value)
        .collect();
    let path = format!("{}.some", row.path);
    let mut passed: Vec<&Ident> = Vec::new();
    let mut whole = true;
    for name in names {
        if let Some(first) = passed.iter().find(|first| first.value == name.value) {
            findings
                .report(
                    &codes::ROW_SOME,
                    name.range,
                    &*path,
                    &*name.value,
                    format!("`some` names `{}` twice", name.value),
                )
                .related(first.range, "it is named here first");
            continue;
        }
        if own.contains(&&*name.value) {
            passed.push(name);
            continue;
        }
        whole = false;
        if facts.tensor(&name.value).is_some_and(|tensor| tensor.optional.is_malformed()) {
            findings.unreached(name.range, &*path, format!("whether a row passes `{}`", name.value), "its `optional`");
            continue;
        }
        // A key that the tensor does not know may have been meant to say that it is optional.
        if let Some(tensor) = facts.tensor(&name.value)
            && tensor.optional.is_absent()
            && facts.has_unknown_key(&tensor.path)
        {
            findings.unreached(name.range, &*path, format!("whether a row passes `{}`", name.value), "its `optional`");
            continue;
        }
        let unsure = !facts.scope.complete || facts.undeclared.contains(&&*name.value);
        if unsure && facts.scope.get(&name.value).is_none() {
            findings.unreached(name.range, &*path, format!("what `{}` is", name.value), "signature");
            continue;
        }
        let (message, help) = refused_some(facts, name, &own);
        let defect = findings.report(&codes::ROW_SOME, name.range, &*path, &*name.value, message);
        defect.help(help).meant(nearest(&name.value, own.iter().copied()));
        if let Some(tensor) = facts.tensor(&name.value) {
            let at = if tensor.optional.is_absent() { tensor.name.range } else { tensor.optional.range() };
            defect.related(at, format!("`{}` is declared here", name.value));
        }
    }
    if !whole {
        read.lack("`some`");
    }
    whole.then(|| passed.iter().map(|name| name.value.clone()).collect())
}

fn refused_some(facts: &EntryFacts<'_>, name: &Ident, own: &[&str]) -> (String, String) {
    let name = &*name.value;
    let allowed = match own {
        [] => "no tensor of this op is `optional: true`; remove `some`".to_owned(),
        own => format!("`some` takes {}", list(nearest_first(name, own.iter().copied()), "and")),
    };
    if let Some(tensor) = facts.tensor(name) {
        if tensor.role == TensorRole::Output {
            return (format!("`some` names `{name}`, an output, which no row passes"), allowed);
        }
        return match &tensor.optional {
            Fact::Valid(Condition::When(condition), _) => (
                format!("`some` names `{name}`, whose presence follows `{}`", condition.expr),
                format!("it is passed where `{}` holds; remove it from `some`", condition.expr),
            ),
            Fact::Malformed(_) => (format!("`some` names `{name}`, whose `optional` cannot be read"), allowed),
            _ => (
                format!("`some` names `{name}`, which every call passes"),
                "remove it from `some`, or declare it `optional: true`".to_owned(),
            ),
        };
    }
    if name == "out" {
        return ("`some` names `out`, the caller's buffer, which no row passes".to_owned(), allowed);
    }
    match facts.scope.get(name).map(|symbol| symbol.role) {
        Some(SymbolRole::Param) => (
            format!("`some` names `{name}`, a parameter"),
            format!("give the parameter a value of its own: `{name}: …`"),
        ),
        Some(_) => (format!("`some` names `{name}`, which is no tensor"), allowed),
        None => (format!("`some` names `{name}`, which is not declared"), allowed),
    }
}

/// The `Dim`, `Shape` and `Seq` indices that the row states, with their values where those can be read.
fn read_indices<'a>(
    facts: &EntryFacts<'_>,
    read: &mut ReadRow<'a>,
    findings: &mut Findings,
) -> Vec<(&'a Ident, Option<Value>)> {
    let row = read.row;
    let mut stated = Vec::new();
    for (key, node) in &row.values {
        let Some(index) = facts.index(&key.value) else { continue };
        let path = format!("{}.{}", row.path, key.value);
        // Of an index that is declared twice, which kind it has is not known.
        let is_known = facts.scope.get(&key.value).is_none_or(|symbol| symbol.kind != Kind::Error);
        let value = match index.kind.valid().filter(|_| is_known) {
            Some(IndexKind::Dim) => read_value(key, node, &Kind::Dim, &path, findings),
            Some(IndexKind::Shape) => read_value(key, node, &Kind::Shape, &path, findings),
            Some(IndexKind::Seq) => read_value(key, node, &Kind::Seq(Box::new(Kind::Int), None), &path, findings),
            // A dtype index is no key; that is said with the other keys.
            Some(IndexKind::DType(_)) => continue,
            None => None,
        };
        stated.push((key, value));
    }
    stated
}

/// The value that the row gives a parameter. A list of integers is a list there, in every form.
fn read_parameter(name: &Ident, node: &Node, kind: &Kind, path: &str, findings: &mut Findings) -> Option<Value> {
    if is_refused(node, findings) {
        return None;
    }
    report_problems(name, value_of_node(node, kind), path, findings)
}

/// The value that the row gives an index; nothing where it is none of `kind`, which is reported.
fn read_value(name: &Ident, node: &Node, kind: &Kind, path: &str, findings: &mut Findings) -> Option<Value> {
    if is_refused(node, findings) {
        return None;
    }
    let value = value_of_index(node, kind, path, findings);
    report_problems(name, value, path, findings)
}

/// Whether the YAML of a value has a defect already: readers do not agree on what it is.
fn is_refused(node: &Node, findings: &Findings) -> bool {
    let errors = findings.defects.iter().filter(|defect| defect.code.severity == Severity::Error);
    errors.into_iter().any(|defect| node.range.contains_range(defect.range))
}

fn report_problems(
    name: &Ident,
    value: Result<Value, Vec<ValueProblem>>,
    path: &str,
    findings: &mut Findings,
) -> Option<Value> {
    let problems = match value {
        Ok(value) => return Some(value),
        Err(problems) => problems,
    };
    for problem in problems {
        let defect = findings.report(
            &codes::ROW_VALUE,
            problem.range,
            format!("{path}{}", problem.inside),
            &*name.value,
            format!("the value of `{}` does not fit: {}", name.value, problem.message),
        );
        defect.help = problem.help;
    }
    None
}

/// Reads `dtype_cases` against the dtype indices of the call.
fn read_cases(
    facts: &EntryFacts<'_>,
    read: &mut ReadRow<'_>,
    branch: Option<&Arc<Branch>>,
    point: Option<&Point>,
    findings: &mut Findings,
) {
    let row = read.row;
    let path = format!("{}.dtype_cases", row.path);
    let needed: Option<Vec<&Index>> =
        branch.filter(|branch| !facts.has_unread_index(branch)).map(|branch| facts.dtype_indices(branch));
    if branch.is_some() && needed.is_none() {
        read.lack("the kind of an index");
    }
    let cases = match (&row.dtype_cases, &needed) {
        (Fact::Malformed(_), _) => {
            read.lack("`dtype_cases`");
            return;
        }
        (Fact::Absent(_), None) => return,
        (Fact::Absent(_), Some(needed)) if needed.is_empty() => {
            read.cases.push(ReadCase { dtypes: Vec::new(), written: None });
            return;
        }
        (Fact::Absent(_), Some(needed)) => {
            let (at, _) = place(row);
            let names: Vec<&str> = needed.iter().map(|index| &*index.name.value).collect();
            let example: Vec<String> =
                names.iter().map(|name| format!("{name}: {}", example_dtype(facts, name))).collect();
            findings
                .report(
                    &codes::ROW_DTYPES,
                    at,
                    path,
                    names.join(", "),
                    format!("`dtype_cases` is missing: the call has {}", indices(&names)),
                )
                .help(format!("write `dtype_cases: [{{{}}}]`", example.join(", ")));
            read.lack("`dtype_cases`");
            return;
        }
        (Fact::Valid(_, range), Some(needed)) if needed.is_empty() => {
            let when = match point {
                Some(point) => when(facts, point, Question::NoDType),
                None => String::new(),
            };
            findings
                .report(
                    &codes::ROW_DTYPES,
                    *range,
                    path,
                    "dtype_cases",
                    format!("the call has no dtype index{when}, so there is nothing to assign"),
                )
                .help("remove `dtype_cases`");
            read.cases.push(ReadCase { dtypes: Vec::new(), written: None });
            return;
        }
        (Fact::Valid(cases, _), _) => cases,
    };
    for (position, case) in cases.iter().enumerate() {
        let Fact::Valid(case, _) = case else {
            read.lack("`dtype_cases`");
            continue;
        };
        let path = format!("{path}[{position}]");
        let assigned = read_case(facts, case, needed.as_deref(), point, &path, findings);
        let (Some(dtypes), Some(_)) = (assigned, &needed) else {
            continue;
        };
        let first = read.cases.iter().find(|other| other.dtypes == dtypes).and_then(|other| other.written);
        if let Some((_, first)) = first {
            findings
                .report(&codes::ROW_DTYPES, case.range, path, "dtype_cases", "the case is there twice")
                .related(first.range, "it is here first")
                .help("remove one of them");
            continue;
        }
        read.cases.push(ReadCase { dtypes, written: Some((position, case)) });
    }
}

fn indices(names: &[&str]) -> String {
    format!("the dtype {} {}", if names.len() == 1 { "index" } else { "indices" }, list(names, "and"))
}

/// The assignments of a case in the order of `forall`; nothing where it has a defect.
fn read_case(
    facts: &EntryFacts<'_>,
    case: &DTypeCase,
    needed: Option<&[&Index]>,
    point: Option<&Point>,
    path: &str,
    findings: &mut Findings,
) -> Option<Vec<(Arc<str>, DType)>> {
    let mut whole = true;
    let mut missing: Vec<&str> = needed
        .unwrap_or(&[])
        .iter()
        .map(|index| &*index.name.value)
        .filter(|name| !case.assignments.iter().any(|(key, _)| &*key.value == *name))
        .collect();
    let allowed: Vec<&str> = match needed {
        Some(needed) => needed.iter().map(|index| &*index.name.value).collect(),
        None => Vec::new(),
    };
    for (key, dtype) in &case.assignments {
        let name = &*key.value;
        let path = format!("{path}.{name}");
        let index = facts
            .index(name)
            .filter(|index| !matches!(index.kind, Fact::Valid(ref kind, _) if !matches!(kind, IndexKind::DType(_))));
        let relevant = needed.is_none() || allowed.contains(&name);
        if let (Some(index), true) = (index, relevant) {
            let (Fact::Valid(dtype, range), Some(kind)) = (dtype, index.kind.valid()) else {
                whole = false;
                continue;
            };
            let members = kind.dtypes();
            if !members.contains(*dtype) {
                whole = false;
                let near = nearest_first(dtype.name(), members.iter().map(DType::name));
                findings
                    .report(&codes::ROW_DTYPES, *range, path, name, format!("`{name}` cannot be {}", dtype.name()))
                    .help(format!("`{name}` is {}", list(near, "or")))
                    .meant(nearest(dtype.name(), members.iter().map(DType::name)))
                    .guess()
                    .related(index.kind.range(), format!("`{name}` is declared here"));
            }
            continue;
        }
        whole = false;
        if facts.scope.get(name).is_none() && (!facts.scope.complete || facts.undeclared.contains(&name)) {
            findings.unreached(key.range, path, format!("what `{name}` is"), "signature");
            continue;
        }
        let meant = nearest(name, missing.iter().copied()).or(match (missing.as_slice(), case.assignments.len()) {
            (&[one], n) if n == allowed.len() && facts.scope.get(name).is_none() => Some(one),
            _ => None,
        });
        let takes = match allowed.as_slice() {
            [] if needed.is_none() => "a case assigns the dtype indices of the call".to_owned(),
            [] => "the call has no dtype index".to_owned(),
            allowed => format!("a case assigns exactly {}", list(nearest_first(name, allowed.iter().copied()), "and")),
        };
        let (message, help) = match facts.scope.get(name).map(|symbol| (symbol.role, &symbol.kind)) {
            Some((SymbolRole::Index, Kind::DType(_))) => {
                let when =
                    point.map_or(String::new(), |point| when(facts, point, Question::Ignores(key.value.clone())));
                match when.as_str() {
                    "" => (format!("`{name}` is irrelevant: no call reads it"), takes),
                    when => (format!("`{name}` is irrelevant{when}"), takes),
                }
            }
            Some((SymbolRole::Param, _)) => (
                format!("`{name}` is a parameter, not a dtype index"),
                format!("write `{name}: …` as a key of the row"),
            ),
            Some(_) => (format!("`{name}` is not a dtype index"), takes),
            None => (format!("`{name}` is not a dtype index"), takes),
        };
        let defect = findings.report(&codes::ROW_DTYPES, key.range, path, name, message);
        match meant {
            Some(meant) => {
                defect.help(format!("did you mean `{meant}`? {}", capitalized(&help))).instead(meant);
                missing.retain(|name| *name != meant);
            }
            None => {
                defect.help(help);
            }
        }
    }
    if !missing.is_empty() {
        whole = false;
        let example: Vec<String> =
            missing.iter().map(|name| format!("`{name}: {}`", example_dtype(facts, name))).collect();
        findings
            .report(
                &codes::ROW_DTYPES,
                case.range,
                path,
                missing.join(", "),
                format!("the case does not assign {}", list(&missing, "or")),
            )
            .help(format!("add {}", join(&example)));
    }
    let needed = needed?;
    let assigned: Vec<(Arc<str>, DType)> = needed
        .iter()
        .filter_map(|index| {
            let (_, dtype) = case.assignments.iter().find(|(key, _)| key.value == index.name.value)?;
            Some((index.name.value.clone(), *dtype.valid()?))
        })
        .collect();
    (whole && assigned.len() == needed.len()).then_some(assigned)
}
