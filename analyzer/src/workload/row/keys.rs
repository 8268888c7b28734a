//! A row's keys: which a call takes, which it lacks, and when it would be otherwise.

use super::*;

/// The indices that a row gives at `branch`: the relevant ones that no generator determines, dtypes aside.
pub(super) fn needed_indices<'b>(facts: &EntryFacts<'_>, branch: &'b Branch) -> Vec<&'b Arc<str>> {
    branch
        .relevant
        .iter()
        .filter(|name| !branch.solved_by_generator.contains(name))
        .filter(|name| {
            let kind = facts.index(name).and_then(|index| index.kind.valid());
            kind.is_some_and(|kind| !matches!(kind, IndexKind::DType(_)))
        })
        .collect()
}

/// What a message says of points: where it holds is worth a "when".
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Question {
    /// The call reads the index.
    Reads(Arc<str>),
    /// The call does not read the index.
    Ignores(Arc<str>),
    /// The call reads no dtype index.
    NoDType,
}

/// " when …", over the points of the entry: the least that, where it holds, answers the question as it is answered at
/// `point`. Many rows ask the same, so that answers are kept.
pub(super) fn when(facts: &EntryFacts<'_>, point: &Point, question: Question) -> String {
    let key = (question, point.clone());
    if let Some((_, answer)) = facts.answers.borrow().iter().find(|(asked, _)| *asked == key) {
        return answer.clone();
    }
    let others = facts.compared.get_or_init(|| {
        let names: Vec<Arc<str>> = facts.checked.discriminants().iter().map(|d| d.name.clone()).collect();
        let points = facts.checked.points_over(&names, COMPARED_POINTS).into_iter();
        points.map(|point| (facts.checked.branch(&point), point)).collect()
    });
    let holds = |branch: &Branch| match &key.0 {
        Question::Reads(name) => branch.relevant.contains(name),
        Question::Ignores(name) => !branch.relevant.contains(name),
        Question::NoDType => facts.dtype_indices(branch).is_empty(),
    };
    let mut judged: Vec<(&Point, bool)> = vec![(point, true)];
    judged.extend(others.iter().map(|(branch, other)| (other, holds(branch))));
    // Of too many points to compare with, those count that differ from the row's in one discriminant.
    let beside = if others.len() < COMPARED_POINTS { Vec::new() } else { points_beside(facts, point) };
    judged.extend(beside.iter().map(|(branch, other)| (other, holds(branch))));
    let answer = describe::when(&judged);
    facts.answers.borrow_mut().push((key, answer.clone()));
    answer
}

/// The accepted points that differ from `point` in one discriminant.
pub(super) fn points_beside(facts: &EntryFacts<'_>, point: &Point) -> Vec<(Arc<Branch>, Point)> {
    let mut found = Vec::new();
    let mut last: Option<&Arc<str>> = None;
    for discriminant in facts.checked.discriminants() {
        // The presence of a `Maybe` and its value are two discriminants of one name.
        let name = &discriminant.name;
        if last.replace(name) == Some(name) {
            continue;
        }
        for other in facts.checked.points_over(std::slice::from_ref(name), COMPARED_POINTS) {
            let kept = point.assignments.iter().filter(|(of, _)| of != name).cloned();
            let changed = Point { assignments: kept.chain(other.assignments).collect() };
            let branch = facts.checked.branch(&changed);
            if branch.accepted {
                found.push((branch, changed));
            }
        }
    }
    found
}

pub(super) fn refuse_index(
    facts: &EntryFacts<'_>,
    row: &Row,
    branch: &Branch,
    point: &Point,
    name: &Ident,
    findings: &mut Findings,
) {
    let path = format!("{}.{}", row.path, name.value);
    if branch.relevant.contains(&name.value) {
        let (at, generator) = solver_of(branch, &name.value);
        let message = match &generator {
            Some(tensor) => format!("`{}` is determined by the `values` of `{tensor}`", name.value),
            None => format!("`{}` is determined by a generator", name.value),
        };
        let defect = findings.report(&codes::ROW_KEY, name.range, path, &*name.value, message);
        defect.help(format!("remove `{}`: a row gives what no generator determines", name.value));
        if let Some(at) = at {
            defect.related(at, "it follows from this");
        }
        return;
    }
    // That nothing uses the index is one mistake, of its declaration: which row keys it takes follows from the mend.
    if facts.checked.is_unused(&name.value) {
        findings.unreached(name.range, path, format!("whether a row gives `{}`", name.value), "a use of the index");
        return;
    }
    let when = when(facts, point, Question::Ignores(name.value.clone()));
    let message = match when.as_str() {
        "" => format!("`{}` is irrelevant: no call reads it", name.value),
        when => format!("`{}` is irrelevant{when}", name.value),
    };
    findings.report(&codes::ROW_KEY, name.range, path, &*name.value, message).help(format!(
        "remove `{}`; {}",
        name.value,
        taken(facts, Some(branch), &name.value)
    ));
}

/// The tensor whose generator determines `name`, and where that generator stands: the first whose shape reads the name
/// and whose arguments do not.
pub(super) fn solver_of(branch: &Branch, name: &Arc<str>) -> (Option<TextRange>, Option<Arc<str>>) {
    for tensor in branch.tensors.iter().filter(|tensor| tensor.present == Some(true)) {
        let (Some(values), Some(axes)) = (&tensor.values, &tensor.axes) else { continue };
        let (mut shaped, mut given) = (false, false);
        axes.iter().for_each(|axis| facts::axis_reads(axis, &mut |read| shaped |= read.name() == name));
        facts::call_reads(&values.call, &mut |read| given |= read.name() == name);
        if shaped && !given {
            return (Some(values.range), Some(tensor.name.clone()));
        }
    }
    (None, None)
}

/// What a row takes, as a help says it, the nearest to `found` first.
pub(super) fn taken(facts: &EntryFacts<'_>, branch: Option<&Branch>, found: &str) -> String {
    let params = facts.params.iter().map(|param| &*param.name.value);
    let indices: Vec<&str> = match branch {
        Some(branch) => needed_indices(facts, branch).into_iter().map(|name| &**name).collect(),
        None => facts
            .signature
            .forall
            .items()
            .iter()
            .filter(|index| !matches!(index.kind, Fact::Valid(IndexKind::DType(_), _)))
            .map(|index| &*index.name.value)
            .collect(),
    };
    let allowed = params.chain(indices).chain(["some", "dtype_cases", "label"]);
    format!("this row takes {}", list(nearest_first(found, allowed), "and"))
}

/// Reports the keys that are no parameter and no index, and the names that are missing. A key that was meant to be a
/// missing name is one defect, not two.
pub(super) fn report_keys(
    facts: &EntryFacts<'_>,
    read: &mut ReadRow<'_>,
    branch: Option<&Arc<Branch>>,
    point: Option<&Point>,
    mut missing: Vec<Arc<str>>,
    findings: &mut Findings,
) {
    let row = read.row;
    let branch = branch.map(|branch| &**branch);
    let unknown: Vec<&Ident> = row
        .values
        .iter()
        .map(|(key, _)| key)
        .filter(|key| {
            let index = facts.index(&key.value);
            let is_index = index.is_some_and(|index| !matches!(index.kind, Fact::Valid(IndexKind::DType(_), _)));
            !is_index && !facts.params.iter().any(|param| param.name.value == key.value)
        })
        .collect();
    for name in &missing {
        read.lack(format!("the value of `{name}`"));
    }
    for key in &unknown {
        let path = format!("{}.{}", row.path, key.value);
        let name = &*key.value;
        let symbol = facts.scope.get(name);
        if symbol.is_none() && (!facts.scope.complete || facts.undeclared.contains(&name)) {
            findings.unreached(key.range, path, format!("what `{name}` is"), "signature");
            if let Some(meant) = nearest(name, missing.iter().map(|m| &**m)).map(Arc::<str>::from) {
                missing.retain(|name| *name != meant);
            }
            continue;
        }
        let meant = if symbol.is_some() {
            None
        } else {
            let near = nearest(name, missing.iter().map(|m| &**m)).map(Arc::from);
            let only =
                || if let ([one], [_]) = (missing.as_slice(), unknown.as_slice()) { Some(one.clone()) } else { None };
            near.or_else(only)
        };
        let (message, help) = match symbol.map(|symbol| symbol.role) {
            Some(SymbolRole::Index) => (
                format!("`{name}` is a dtype index"),
                format!("assign it in `dtype_cases`: `dtype_cases: [{{{name}: {}}}]`", example_dtype(facts, name)),
            ),
            Some(SymbolRole::Let) => (
                format!("`{name}` is a `let`, which is computed"),
                format!("remove `{name}`; {}", taken(facts, branch, name)),
            ),
            Some(SymbolRole::Tensor(_)) => refused_tensor(facts, name),
            // A parameter whose declaration is not the one that stands.
            Some(SymbolRole::Param) => continue,
            None if name == "out" => {
                ("`out` is the caller's buffer, which no row passes".to_owned(), "remove `out`".to_owned())
            }
            None => {
                let help = match &meant {
                    Some(meant) => format!(
                        "did you mean `{meant}`, which is missing? {}",
                        capitalized(&taken(facts, branch, name))
                    ),
                    None => taken(facts, branch, name),
                };
                (format!("`{name}` is neither a parameter nor an index"), help)
            }
        };
        let defect = findings.report(&codes::ROW_KEY, key.range, path, name, message);
        defect.help(help);
        if let Some(symbol) = symbol {
            defect.related(symbol.range, format!("`{name}` is declared here"));
        }
        if let Some(meant) = meant {
            defect.instead(&*meant);
            missing.retain(|name| *name != meant);
        }
    }
    let (at, path) = place(row);
    for name in missing {
        let is_param = facts.params.iter().any(|param| param.name.value == name);
        let declared = facts.scope.get(&name).map(|symbol| symbol.range);
        let (message, help) = if is_param {
            (format!("the parameter `{name}` is missing"), format!("write `{name}: …`; it has no default"))
        } else {
            let when = point.map_or(String::new(), |point| when(facts, point, Question::Reads(name.clone())));
            let form = match facts.index(&name).and_then(|index| index.kind.valid()) {
                Some(IndexKind::Shape) => "[…]",
                Some(IndexKind::Seq) => "[…]",
                _ => "…",
            };
            (format!("the index `{name}` is missing, which the call reads{when}"), format!("write `{name}: {form}`"))
        };
        let defect = findings.report(&codes::ROW_KEY, at, path.as_str(), &*name, message);
        defect.help(help);
        match branch.and_then(|branch| reader_of(branch, &name)).filter(|_| !is_param) {
            Some((range, tensor)) => {
                defect.related(range, format!("`{tensor}` reads it here"));
            }
            None => {
                declared.map(|range| defect.related(range, format!("`{name}` is declared here")));
            }
        }
    }
}

pub(super) fn capitalized(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or(String::new(), |first| first.to_uppercase().chain(chars).collect())
}

/// The first tensor whose shape reads `name`, and where that shape stands.
pub(super) fn reader_of<'b>(branch: &'b Branch, name: &Arc<str>) -> Option<(TextRange, &'b Arc<str>)> {
    branch.tensors.iter().find_map(|tensor| {
        let mut read = false;
        tensor.axes.iter().flat_map(|axes| axes.iter()).for_each(|axis| {
            facts::axis_reads(axis, &mut |r| read |= r.name() == name);
        });
        read.then_some((tensor.shape_range, &tensor.name))
    })
}

pub(super) fn refused_tensor(facts: &EntryFacts<'_>, name: &str) -> (String, String) {
    let optional = facts.tensor(name).map(|tensor| &tensor.optional);
    let message = format!("`{name}` is a tensor");
    let help = match optional {
        Some(Fact::Valid(Condition::Always(true), _)) => format!("pass it with `some: [{name}]`"),
        _ => "a row gives the indices that its shape reads, not the tensor".to_owned(),
    };
    (message, help)
}

pub(super) fn example_dtype(facts: &EntryFacts<'_>, name: &str) -> &'static str {
    let members = facts.index(name).and_then(|index| index.kind.valid()).map(IndexKind::dtypes);
    members.and_then(|set| set.iter().next()).map_or("float16", DType::name)
}
