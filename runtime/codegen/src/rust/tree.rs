//! Bodies that differ between points, as nested conditions over what decides between them.

use std::collections::BTreeSet;
use std::sync::Arc;

use rustc_hash::FxHashMap;
use tileops_analyzer::check::Assignment;
use tileops_analyzer::expr::Level;
use tileops_analyzer::lang::Value;

use super::expr::{HELD, Place, Printer, Ty, chain, type_of};
use super::stmt::{Stmt, free_in, read_by, string};
use crate::alternatives::{self, Parts, merged, of, parted};
use crate::layout::{Doc, flat};

/// One body a point, each point with the same names.
pub(crate) type Arms = alternatives::Arms<Stmt>;

/// The statements that run the body of the point that holds. What every body does stands once; the rest follows
/// conditions over what decides it, which bind what is read behind them. `tail` says that the bodies end in the value of
/// the block, `bound` which names have a value before it.
pub(crate) fn branches(
    arms: Arms,
    printer: &Printer<'_>,
    tail: bool,
    bound: &BTreeSet<String>,
) -> Result<Vec<Stmt>, String> {
    let Some(((_, first), others)) = arms.split_first() else { return Ok(Vec::new()) };
    if others.iter().all(|(_, body)| body == first) {
        return Ok(first.clone());
    }
    let last = first.last().filter(|last| tail && arms.iter().all(|(_, body)| body.last() == Some(last))).cloned();
    let mut arms = arms;
    if last.is_some() {
        arms.iter_mut().for_each(|(_, body)| {
            body.pop();
        });
    }
    let after = read_by(last.as_slice());
    let tail = tail && last.is_none();
    let mut runs = runs(&arms);
    if tail {
        // The values of the block are part of what is last.
        let values: Vec<usize> = runs.iter().rposition(|run| !run.decides.is_empty()).into_iter().collect();
        if let Some(&at) = values.first() {
            let rest = runs.split_off(at + 1);
            if let Some(run) = runs.last_mut() {
                rest.iter().for_each(|other| run.extend(other));
            }
        }
    }
    let mut bound = bound.clone();
    let mut statements = Vec::new();
    let mut done = vec![0; arms.len()];
    let mut at = 0;
    while let Some(run) = runs.get(at) {
        let ends: Vec<usize> = done.iter().zip(&run.counts).map(|(start, count)| start + count).collect();
        let segments: Arms = arms
            .iter()
            .zip(done.iter().zip(&ends))
            .map(|((point, body), (&from, &to))| (point.clone(), body.get(from..to).unwrap_or_default().to_vec()))
            .collect();
        if run.decides.is_empty() {
            for statement in segments.into_iter().next().map(|(_, segment)| segment).unwrap_or_default() {
                bound.extend(statement.defines().iter().cloned());
                statements.push(statement);
            }
            done = ends;
            at += 1;
            continue;
        }
        let is_last = at + 1 == runs.len();
        // What is bound in the segments and read behind them leaves them. Where an arm has no value for it, the segments
        // reach further.
        let mut needed: Vec<String> = Vec::new();
        for ((_, segment), ((_, body), &end)) in segments.iter().zip(arms.iter().zip(&ends)) {
            let rest = body.get(end..).unwrap_or_default();
            let mut read = free_in(rest);
            let rebound: BTreeSet<&String> = rest.iter().flat_map(Stmt::defines).collect();
            read.extend(after.iter().filter(|name| !rebound.contains(name)).cloned());
            for name in segment.iter().flat_map(Stmt::defines).filter(|name| read.contains(*name)) {
                if !needed.contains(name) {
                    needed.push(name.clone());
                }
            }
        }
        let has = |name: &String| {
            bound.contains(name) || segments.iter().all(|(_, s)| s.iter().any(|s| s.defines().contains(name)))
        };
        if !needed.iter().all(has) && !is_last {
            let next = runs.remove(at + 1);
            if let Some(run) = runs.get_mut(at) {
                run.extend(&next);
            }
            continue;
        }
        let value = Stmt::line(super::stmt::tuple(&needed));
        if is_last && tail {
            statements.extend(split(segments, printer, Some(Vec::new()), &bound)?);
        } else if is_last && last.as_ref() == Some(&value) && !needed.is_empty() {
            // The value of the block is what the arms end in.
            let segments = with_value(segments, &value);
            statements.extend(split(segments, printer, Some(Vec::new()), &bound)?);
            return Ok(statements);
        } else if needed.is_empty() {
            statements.extend(split(segments, printer, None, &bound)?);
        } else {
            let segments = with_value(segments, &value);
            statements.extend(split(segments, printer, Some(needed.clone()), &bound)?);
            bound.extend(needed);
        }
        done = ends;
        at += 1;
    }
    statements.extend(last);
    Ok(statements)
}

fn with_value(mut arms: Arms, value: &Stmt) -> Arms {
    arms.iter_mut().for_each(|(_, body)| body.push(value.clone()));
    arms
}

/// Statements behind one another that follow the same discriminants.
struct Run {
    /// How many statements of each arm are in it.
    counts: Vec<usize>,
    /// The names of the discriminants that decide which arms have which statement.
    decides: BTreeSet<Arc<str>>,
}

impl Run {
    fn extend(&mut self, next: &Run) {
        self.counts.iter_mut().zip(&next.counts).for_each(|(count, more)| *count += more);
        self.decides.extend(next.decides.iter().cloned());
    }
}

/// The statements of all arms in an order that each arm's own is part of, as runs.
fn runs(arms: &Arms) -> Vec<Run> {
    // Each statement by its first occurrence; the second one of equal statements is another.
    let mut keys: Vec<(&Stmt, usize)> = Vec::new();
    let mut sequences: Vec<Vec<usize>> = Vec::new();
    for (_, body) in arms {
        let mut sequence: Vec<usize> = Vec::new();
        for (position, statement) in body.iter().enumerate() {
            let number = body.iter().take(position).filter(|other| *other == statement).count();
            let known = keys.iter().position(|key| *key == (statement, number));
            sequence.push(known.unwrap_or_else(|| {
                keys.push((statement, number));
                keys.len() - 1
            }));
        }
        sequences.push(sequence);
    }
    let whole = || {
        let decides = arms.iter().flat_map(|(point, _)| point.assignments.iter().map(|(name, _)| name.clone()));
        vec![Run { counts: arms.iter().map(|(_, body)| body.len()).collect(), decides: decides.collect() }]
    };
    let mut heads = vec![0; arms.len()];
    let mut order = Vec::new();
    while order.len() < keys.len() {
        // A statement that stands first wherever it still stands; of several, the one that the earliest arm has.
        let is_first = |key: usize| {
            sequences.iter().zip(&heads).all(|(sequence, &head)| {
                sequence.get(head) == Some(&key) || !sequence.get(head..).unwrap_or_default().contains(&key)
            })
        };
        let next = sequences.iter().zip(&heads).filter_map(|(sequence, &head)| sequence.get(head).copied());
        let Some(key) = next.into_iter().find(|&key| is_first(key)) else { return whole() };
        for (sequence, head) in sequences.iter().zip(heads.iter_mut()) {
            if sequence.get(*head) == Some(&key) {
                *head += 1;
            }
        }
        order.push(key);
    }
    let mut names: Vec<Arc<str>> = Vec::new();
    for (name, _) in arms.iter().flat_map(|(point, _)| &point.assignments) {
        if !names.contains(name) {
            names.push(name.clone());
        }
    }
    // What each arm's point says of each name, as a number.
    let classes: Vec<Vec<usize>> = names
        .iter()
        .map(|name| {
            let mut known: Vec<Vec<&Assignment>> = Vec::new();
            arms.iter()
                .map(|(point, _)| {
                    let own = of(point, name);
                    known.iter().position(|other| *other == own).unwrap_or_else(|| {
                        known.push(own);
                        known.len() - 1
                    })
                })
                .collect()
        })
        .collect();
    let mut runs: Vec<Run> = Vec::new();
    for key in order {
        let members: Vec<bool> = sequences.iter().map(|sequence| sequence.contains(&key)).collect();
        let counts: Vec<usize> = members.iter().map(|&member| usize::from(member)).collect();
        let decides: BTreeSet<Arc<str>> =
            deciders(&members, &classes).into_iter().filter_map(|at| names.get(at).cloned()).collect();
        let run = Run { counts, decides };
        match runs.last_mut() {
            Some(last) if last.decides == run.decides => last.extend(&run),
            _ => runs.push(run),
        }
    }
    runs
}

/// The names that membership is a function of; no name of them can be left out.
fn deciders(members: &[bool], classes: &[Vec<usize>]) -> Vec<usize> {
    let mut kept: Vec<usize> = (0..classes.len()).collect();
    if members.iter().all(|&member| member) {
        return Vec::new();
    }
    for dropped in 0..classes.len() {
        let without: Vec<usize> = kept.iter().copied().filter(|&at| at != dropped).collect();
        let mut seen: FxHashMap<Vec<usize>, bool> = FxHashMap::default();
        let decided = members.iter().enumerate().all(|(arm, &member)| {
            let class = without.iter().filter_map(|&at| classes.get(at)?.get(arm).copied()).collect();
            *seen.entry(class).or_insert(member) == member
        });
        if decided {
            kept = without;
        }
    }
    kept
}

/// Bodies behind conditions; what they end in is bound to `names`.
fn split(
    arms: Arms,
    printer: &Printer<'_>,
    names: Option<Vec<String>>,
    bound: &BTreeSet<String>,
) -> Result<Vec<Stmt>, String> {
    let (name, groups) = match parted(arms) {
        Parts::One(body) => return Ok(body),
        Parts::By(name, groups) => (name, groups),
    };
    let tail = names.is_some();
    let bodies = groups.into_iter().map(|(own, arms)| Ok((own, branches(arms, printer, tail, bound)?)));
    let mut bodies = merged(bodies.collect::<Result<_, String>>()?);
    // Two bodies at least, since the name decides, of which only the last can be empty.
    let otherwise = bodies.pop().map(|(_, body)| body).filter(|body| !body.is_empty());
    let arms = bodies.into_iter().map(|(alternatives, body)| {
        let tests = alternatives.iter().map(|own| test(&name, own, printer)).collect::<Result<Vec<Doc>, String>>()?;
        let condition = match tests.as_slice() {
            [one] => one.clone(),
            _ => chain("||", tests),
        };
        Ok((Some(condition), body))
    });
    let mut arms = arms.collect::<Result<Conditions, String>>()?;
    arms.extend(otherwise.map(|body| (None, body)));
    Ok(vec![Stmt::If(arms, names)])
}

fn literal(value: &Value) -> Result<String, String> {
    match value {
        Value::Bool(value) => Ok(value.to_string()),
        Value::Str(text) => Ok(string(text)),
        other => Err(format!("a discriminant's value is `{other}`")),
    }
}

/// Whether a point's assignments of one name hold.
fn test(name: &str, own: &[Assignment], printer: &Printer<'_>) -> Result<Doc, String> {
    let place = printer.names.get(name);
    let value = own.iter().find_map(|a| if let Assignment::Value(value) = a { Some(value) } else { None });
    let symbol = printer.scope.get(name);
    let present = own.iter().find_map(|a| if let Assignment::Present(present) = a { Some(*present) } else { None });
    if let Some(value) = value {
        let literal = literal(value)?;
        return Ok(Doc::text(match (present, printer.place) {
            (Some(true), Place::Price) => format!("*call.value({})? == Value::from({literal})", string(name)),
            (Some(true), Place::Check) => match symbol.map(|symbol| type_of(&symbol.kind, Place::Check, false)) {
                Some(Ty::Opt(_)) => format!("{place} == Some({literal})"),
                _ => format!("*{place} == Value::from({literal})"),
            },
            _ => match value {
                Value::Bool(true) => place,
                Value::Bool(false) => format!("!{place}"),
                _ => format!("{place} == {literal}"),
            },
        }));
    }
    if let Some(present) = present {
        return Ok(printer.presence(name, present)?.at(Level::Compare));
    }
    let mut tests = Vec::new();
    for assignment in own {
        if let Assignment::Constructor { constructor, fields } = assignment {
            tests.push(format!("{place}.kind() == {}", string(constructor)));
            for (field, value) in fields {
                tests.push(match value {
                    Value::Bool(_) => format!("{place}.bool({}) == Ok({})", string(field), literal(value)?),
                    _ => format!("{place}.is({}, {})", string(field), literal(value)?),
                });
            }
        }
    }
    Ok(match tests.len() {
        1 => Doc::text(tests.remove(0)),
        _ => chain("&&", tests.into_iter().map(Doc::text).collect()),
    })
}

/// What an `Option` holds, and how it is taken out of it where nothing else says that it holds something.
pub(crate) struct Holder {
    /// The local's name.
    pub(crate) name: String,
    /// An expression that refuses the call where it holds nothing.
    pub(crate) held: String,
}

/// Binds what the statements read out of an `Option` (a name with [`HELD`] behind it): by the condition that says it is
/// there, or before the first statement that reads it.
pub(crate) fn resolve(statements: Vec<Stmt>, holders: &[Holder]) -> Vec<Stmt> {
    let mut resolved = Vec::new();
    let mut bound: Vec<&str> = Vec::new();
    for statement in statements {
        match statement {
            Stmt::If(mut arms, names) => {
                // What takes something out stands first: an `else` has no pattern.
                if let [(Some(first), _), (None, second)] = arms.as_slice() {
                    let first = flat(first);
                    let holder = holders.iter().find(|holder| first == format!("{}.is_none()", holder.name));
                    if let Some(holder) = holder
                        && reads_held(second, holder)
                        && !bound.contains(&&*holder.name)
                    {
                        arms.reverse();
                        if let [(first, _), (second, _)] = arms.as_mut_slice() {
                            *first = Some(Doc::text(format!("{}.is_some()", holder.name)));
                            *second = None;
                        }
                    }
                }
                let arms = arms.into_iter().map(|(condition, body)| {
                    let text = condition.as_ref().map(flat).unwrap_or_default();
                    let holder = holders.iter().find(|holder| text == format!("{}.is_some()", holder.name));
                    let open: Vec<Holder> = holders
                        .iter()
                        .filter(|own| !bound.contains(&&*own.name))
                        .map(|own| Holder { name: own.name.clone(), held: own.held.clone() })
                        .collect();
                    match holder {
                        Some(holder) if reads_held(&body, holder) => {
                            let pattern = Doc::text(format!("let Some({0}) = {0}", holder.name));
                            let open: Vec<Holder> = open.into_iter().filter(|own| own.name != holder.name).collect();
                            (Some(pattern), resolve(body, &open))
                        }
                        _ => (condition, resolve(body, &open)),
                    }
                });
                resolved.push(Stmt::If(arms.collect(), names));
            }
            statement => {
                for holder in holders {
                    if !bound.contains(&&*holder.name) && reads_held(std::slice::from_ref(&statement), holder) {
                        bound.push(&holder.name);
                        resolved.push(Stmt::bind(&holder.name, Doc::text(holder.held.clone())));
                    }
                }
                resolved.push(statement);
            }
        }
    }
    resolved
}

fn reads_held(statements: &[Stmt], holder: &Holder) -> bool {
    let mark = format!("{}{HELD}", holder.name);
    let reads = |doc: &Doc| {
        let text = flat(doc);
        text.match_indices(&mark)
            .any(|(at, _)| !text.get(..at).unwrap_or_default().ends_with(|c: char| c.is_alphanumeric() || c == '_'))
    };
    statements.iter().any(|statement| match statement {
        Stmt::Expr(doc) | Stmt::Let(_, doc) => reads(doc),
        Stmt::If(arms, _) => {
            arms.iter().any(|(condition, body)| condition.as_ref().is_some_and(&reads) || reads_held(body, holder))
        }
    })
}

/// The statements without marks.
pub(crate) fn unmarked(statements: Vec<Stmt>) -> Vec<Stmt> {
    fn clean(doc: Doc) -> Doc {
        let all = |docs: Vec<Doc>| docs.into_iter().map(clean).collect();
        match doc {
            // A string literal of the manifest may have the character.
            Doc::Text(text) if text.contains(HELD) && !text.starts_with('"') => Doc::Text(text.replace(HELD, "")),
            Doc::Cat(docs) => Doc::Cat(all(docs)),
            Doc::Group(docs) => Doc::Group(all(docs)),
            Doc::Indent(docs) => Doc::Indent(all(docs)),
            other => other,
        }
    }
    let each = |statement| match statement {
        Stmt::Expr(doc) => Stmt::Expr(clean(doc)),
        Stmt::Let(names, doc) => Stmt::Let(names, clean(doc)),
        Stmt::If(arms, names) => {
            let arms = arms.into_iter().map(|(condition, body)| (condition.map(clean), unmarked(body)));
            Stmt::If(arms.collect(), names)
        }
    };
    statements.into_iter().map(each).collect()
}

/// The statements of a block whose value is what its last `let` binds, without that `let`.
pub(crate) fn settle(mut statements: Vec<Stmt>) -> Vec<Stmt> {
    if let Some(Stmt::Expr(value)) = statements.last()
        && let Some(before) = statements.len().checked_sub(2)
        && let Some(Stmt::Let(names, _) | Stmt::If(_, Some(names))) = statements.get(before)
        && !names.is_empty()
        && flat(value) == super::stmt::tuple(names)
    {
        statements.pop();
        statements = statements
            .into_iter()
            .enumerate()
            .map(|(at, statement)| match statement {
                Stmt::Let(_, value) if at == before => Stmt::Expr(value),
                Stmt::If(arms, _) if at == before => Stmt::If(arms, Some(Vec::new())),
                other => other,
            })
            .collect();
    }
    let each = |statement| match statement {
        Stmt::If(arms, Some(names)) => {
            let arms = arms.into_iter().map(|(condition, body)| (condition, settle(body)));
            Stmt::If(flattened(arms.collect(), |inner| inner.as_ref().is_some_and(Vec::is_empty)), Some(names))
        }
        Stmt::If(arms, None) => {
            let arms = arms.into_iter().map(|(condition, body)| (condition, inner(body)));
            Stmt::If(flattened(arms.collect(), |inner| inner.is_none()), None)
        }
        other => other,
    };
    statements.into_iter().map(each).collect()
}

type Conditions = Vec<(Option<Doc>, Vec<Stmt>)>;

/// An `else` that is a conditional alone, as an `else if`.
fn flattened(mut arms: Conditions, is_alike: impl Fn(&Option<Vec<String>>) -> bool) -> Conditions {
    if let Some((None, body)) = arms.last()
        && let [Stmt::If(inner, names)] = body.as_slice()
        && is_alike(names)
    {
        let inner = inner.clone();
        arms.pop();
        arms.extend(inner);
    }
    let mut merged: Conditions = Vec::new();
    for (condition, body) in arms {
        match (merged.last_mut(), condition) {
            // What does the same is one arm; a pattern stands alone.
            (Some((Some(known), same)), Some(condition))
                if *same == body && !is_pattern(known) && !is_pattern(&condition) =>
            {
                *known = chain("||", vec![known.clone(), condition]);
            }
            (_, condition) => merged.push((condition, body)),
        }
    }
    merged
}

fn is_pattern(condition: &Doc) -> bool {
    flat(condition).starts_with("let ")
}

/// The blocks inside of statements without a value.
fn inner(statements: Vec<Stmt>) -> Vec<Stmt> {
    let each = |statement| match statement {
        conditional @ Stmt::If(..) => settle(vec![conditional]).into_iter().next(),
        other => Some(other),
    };
    statements.into_iter().filter_map(each).collect()
}
