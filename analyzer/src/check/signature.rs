//! The judgments on a signature that range over its discriminant points, behind one entry point.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use super::discriminants::{Variable, discriminants, variables};
use super::groups::{self, Groups, MAX_COMBINATIONS, QUIET_COMBINATIONS};
use super::inference;
use super::sheet::{Bits, Doubt, Sheet};
use super::view;
use super::{Assignment, Branch, Discriminant, Point, Scope};
use super::{combos, constants, coverage, describe, effects, families, metadata};
use crate::defect::{Code, Findings, codes, list};
use crate::lang::{AdtTable, Value};
use crate::model::{Entry, Signature};
use crate::text::TextRange;

/// A judged signature: its discriminants, and what it says at each of their points.
#[derive(Debug)]
pub struct Checked {
    discriminants: Vec<Discriminant>,
    /// Nothing where the signature could not be read.
    sheet: Option<Sheet>,
    groups: Groups,
    /// Branches that were asked for, so that rows of one point share one.
    branches: Mutex<Vec<(Point, Arc<Branch>)>>,
    /// The indices that nothing uses at any point, each of which has been reported.
    unused: Vec<Arc<str>>,
}

/// How many branches are kept; a manifest's rows visit far fewer points.
const KEPT_BRANCHES: usize = 64;

/// A defect that holds at some points: the message is completed with those.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Fault {
    pub(crate) code: &'static Code,
    pub(crate) range: TextRange,
    pub(crate) path: String,
    pub(crate) subject: String,
    pub(crate) message: String,
    pub(crate) help: Option<String>,
    pub(crate) related: Vec<(TextRange, String)>,
}

impl Fault {
    /// What makes it the same fault at another point.
    fn key(&self) -> FaultKey {
        let range = (self.range.start().into(), self.range.end().into());
        (self.code.name, self.path.clone(), self.subject.clone(), self.message.clone(), range)
    }
}

type FaultKey = (&'static str, String, String, String, (u32, u32));

/// Judges the signature of `entry` at its discriminant points: presence and effects, families, inference, `dtype_combos`.
/// What it finds goes to `findings`; the result answers for any point.
pub fn check_signature(entry: &Entry, scope: &Scope, adts: &AdtTable, findings: &mut Findings) -> Checked {
    let _ = adts;
    let Some(signature) = entry.signature.valid() else { return Checked::nothing() };
    let discriminants = discriminants(signature, scope);
    let variables = variables(&discriminants, scope, entry.name.range);
    let families = families::read(signature, scope, findings);
    let sheet = Sheet::new(entry, signature, scope, variables, families, findings);
    families::judge_unused(&sheet.families, &sheet.applied, signature, findings);
    constants::judge(&sheet, findings);
    effects::judge(&sheet, signature, findings);
    metadata::judge(&sheet, findings);
    combos::judge(&sheet, signature, findings);
    let groups = groups::groups(&sheet);
    let unused = judge_points(&sheet, signature, &groups, findings);
    Checked { discriminants, sheet: Some(sheet), groups, branches: Mutex::new(Vec::new()), unused }
}

/// Goes through the points of every group, and reports what is wrong at some of them, once each. Gives the indices that
/// no point uses.
fn judge_points(sheet: &Sheet, signature: &Signature, groups: &Groups, findings: &mut Findings) -> Vec<Arc<str>> {
    judge_domain(sheet, groups, findings);
    for group in groups.groups.iter().filter(|group| group.combinations > QUIET_COMBINATIONS) {
        let names = describe::names(&sheet.variables, &group.variables);
        let range = group.variables.first().map_or(TextRange::default(), |&v| sheet.variables[v].range);
        let checked = match group.combinations > MAX_COMBINATIONS as u128 {
            true => format!(", of which {MAX_COMBINATIONS} are checked"),
            false => String::new(),
        };
        findings
            .report(
                &codes::MANY_POINTS,
                range,
                "signature",
                names.first().map_or("", |n| n),
                format!("{} together have {} combinations{checked}", list(&names, "and"), group.combinations),
            )
            .help("a refinement or a shape links them; state it for fewer of them at a time");
    }
    // Where no point is accepted there is nothing to judge, and that has been said.
    let domain_is_empty = domain_is_empty(sheet, groups);

    // The points judged: each group's, the others at their base.
    let mut points: Vec<(usize, Point)> = Vec::new();
    if !domain_is_empty {
        points.push((usize::MAX, groups.base.clone()));
        for (position, group) in groups.groups.iter().enumerate() {
            // The first of each group is the base.
            points.extend(group.points.iter().skip(1).map(|p| (position, groups::over(&groups.base, p))));
        }
    }
    let columns = combos::columns(sheet, signature);
    let mut used = Bits::default();
    let mut found: BTreeMap<FaultKey, (Fault, Vec<usize>)> = BTreeMap::new();
    let mut faults = Vec::new();
    let mut uncased = false;
    let said = findings.defects.iter().filter(|defect| *defect.code == codes::OUTSIDE_DOMAIN);
    let said: Vec<TextRange> = said.map(|defect| defect.range).collect();
    for (at, (_, point)) in points.iter().enumerate() {
        let view = view::view(sheet, point, true);
        used.union(&view.read);
        faults.clear();
        uncased |= !view.applied.is_empty();
        constants::faults(sheet, &view, &said, &mut faults);
        effects::faults(sheet, &view, &mut faults);
        metadata::faults(sheet, &view, &mut faults);
        combos::faults(sheet, &columns, &view, &mut faults);
        inference::faults(sheet, &view, &mut faults, findings);
        for fault in faults.drain(..) {
            found.entry(fault.key()).or_insert_with(|| (fault, Vec::new())).1.push(at);
        }
    }
    let all: Vec<&Point> = points.iter().map(|(_, point)| point).collect();
    let of_families = if uncased { coverage::faults(sheet, &all) } else { Vec::new() };
    let found = found.into_values().map(|(fault, at)| (fault, at, false));
    for (fault, at, says_when) in found.chain(of_families) {
        // The same fault may come from several tensors at one point.
        let holds = |position: usize| at.contains(&position);
        // It is told apart within one group: the first in which it does not hold everywhere.
        let group = (0..groups.groups.len()).find(|&g| {
            let mut own = points.iter().enumerate().filter(|(p, (of, _))| *of == g || *p == 0);
            let any = own.clone().any(|(p, _)| holds(p));
            any && !own.all(|(p, _)| holds(p))
        });
        let when = match group {
            _ if says_when => String::new(),
            None => String::new(),
            Some(g) => {
                let judged: Vec<(&Point, bool)> = points
                    .iter()
                    .enumerate()
                    .filter(|(p, (of, _))| *of == g || *p == 0)
                    .map(|(p, (_, point))| (point, holds(p)))
                    .collect();
                let own: Vec<(Point, bool)> = judged
                    .iter()
                    .map(|(point, holds)| (only(point, sheet, &groups.groups[g].variables), *holds))
                    .collect();
                describe::when(&own.iter().map(|(point, holds)| (point, *holds)).collect::<Vec<_>>())
            }
        };
        let message = format!("{}{when}", fault.message);
        if let Some(doubt) = doubt(sheet, groups, &points, &at) {
            let missing = format!("what `{}` refuses", doubt.path);
            findings.unreached(fault.range, fault.path, format!("whether {message}"), missing);
            continue;
        }
        let defect = findings.report(fault.code, fault.range, fault.path, fault.subject, message);
        if let Some(help) = fault.help {
            defect.help(help);
        }
        for (range, message) in fault.related {
            defect.related(range, message);
        }
    }
    if domain_is_empty { Vec::new() } else { inference::judge_unused(sheet, signature, &used, findings) }
}

/// A refinement that, once it is mended, may refuse every point at which a fault holds.
fn doubt<'s>(sheet: &'s Sheet, groups: &Groups, points: &[(usize, Point)], at: &[usize]) -> Option<&'s Doubt> {
    sheet.doubts.iter().find(|doubt| {
        groups.groups.iter().enumerate().any(|(g, group)| {
            let read = |v: &usize| doubt.vars.as_ref().is_none_or(|vars| vars.contains(*v));
            let variables: Vec<usize> = group.variables.iter().copied().filter(read).collect();
            if variables.is_empty() {
                return false;
            }
            let own = || points.iter().enumerate().filter(|(p, (of, _))| *of == g || *p == 0);
            let holding: Vec<Point> =
                own().filter(|(p, _)| at.contains(p)).map(|(_, (_, point))| only(point, sheet, &variables)).collect();
            // A fault of another group holds at none of these; one that holds whatever the refinement reads is sure.
            !holding.is_empty() && own().any(|(_, (_, point))| !holding.contains(&only(point, sheet, &variables)))
        })
    })
}

/// The assignments of `point` to some of the variables.
fn only(point: &Point, sheet: &Sheet, variables: &[usize]) -> Point {
    let named = |name: &Arc<str>| variables.iter().any(|&v| sheet.variables[v].name == *name);
    Point { assignments: point.assignments.iter().filter(|(name, _)| named(name)).cloned().collect() }
}

/// The restrictions that read no discriminant at all and do not hold.
fn rejecting_constants(sheet: &Sheet, groups: &Groups) -> Vec<usize> {
    let empty = Point::default();
    let constant = |rule: &usize| sheet.rules[*rule].item.vars.is_empty();
    groups
        .restrictions
        .iter()
        .copied()
        .filter(constant)
        .filter(|&rule| !groups::accepts(sheet, &empty, &[rule]))
        .collect()
}

fn domain_is_empty(sheet: &Sheet, groups: &Groups) -> bool {
    !groups.empty.is_empty() || !rejecting_constants(sheet, groups).is_empty()
}

/// A domain that no point is in.
fn judge_domain(sheet: &Sheet, groups: &Groups, findings: &mut Findings) {
    for rule in rejecting_constants(sheet, groups) {
        let rule = &sheet.rules[rule];
        findings
            .report(&codes::EMPTY_DOMAIN, rule.range, &*rule.path, "shape_rules", "this refinement never holds")
            .help("no call satisfies it; correct or remove it");
    }
    for group in groups.empty.iter().filter_map(|&g| groups.groups.get(g)) {
        let names = describe::names(&sheet.variables, &group.variables);
        let mut rules = groups
            .restrictions
            .iter()
            .map(|&rule| &sheet.rules[rule])
            .filter(|rule| group.variables.iter().any(|&v| rule.item.vars.contains(v)));
        let Some(first) = rules.next() else { continue };
        if group.combinations > MAX_COMBINATIONS as u128 {
            // None of those looked at is accepted; that proves nothing of the others.
            findings.unreached(first.range, &*first.path, "whether a combination is accepted", "the time to try all");
            continue;
        }
        let mut others = rules.peekable();
        let message = match others.peek() {
            None => format!("this refinement rejects every combination of {}", list(&names, "and")),
            Some(_) => format!("the refinements together reject every combination of {}", list(&names, "and")),
        };
        let defect = findings.report(&codes::EMPTY_DOMAIN, first.range, &*first.path, "shape_rules", message);
        defect.help("no call satisfies them; correct one, or remove the parameter");
        for other in others {
            defect.related(other.range, "this refinement restricts them too");
        }
    }
}

impl Checked {
    /// Whether the index called `name` has been reported as one that nothing uses.
    pub fn is_unused(&self, name: &str) -> bool {
        self.unused.iter().any(|unused| **unused == *name)
    }

    fn nothing() -> Self {
        let groups = Groups { groups: Vec::new(), base: Point::default(), restrictions: Vec::new(), empty: Vec::new() };
        Checked { discriminants: Vec::new(), sheet: None, groups, branches: Mutex::new(Vec::new()), unused: Vec::new() }
    }

    /// Every discriminant: parameters, `optional: true` tensors, `out`.
    pub fn discriminants(&self) -> &[Discriminant] {
        &self.discriminants
    }

    fn variables(&self) -> &[Variable] {
        self.sheet.as_ref().map_or(&[], |sheet| &sheet.variables)
    }

    /// How many points were checked: each group's accepted combinations.
    pub fn points_checked(&self) -> usize {
        1 + self.groups.groups.iter().map(|group| group.points.len().saturating_sub(1)).sum::<usize>()
    }

    /// The point of a call with these parameter values (an absent `Maybe` is [`Value::None`]) and these `optional: true`
    /// tensors, and `out`, passed. A discriminant parameter without a value is left undetermined.
    pub fn point_of(&self, params: &[(Arc<str>, Value)], passed: &[Arc<str>]) -> Point {
        let mut assignments = Vec::new();
        for variable in self.variables() {
            let name = &variable.name;
            let value = params.iter().find(|(n, _)| n == name).map(|(_, value)| value);
            let mut assign = |assignment| assignments.push((name.clone(), assignment));
            match (variable.is_param, value) {
                (false, _) => assign(Assignment::Present(passed.contains(name))),
                (true, None) => {}
                (true, Some(value)) => {
                    if variable.is_maybe {
                        assign(Assignment::Present(*value != Value::None));
                    }
                    match value {
                        Value::Adt(adt) => {
                            // The finite fields are those that the constructor's options name.
                            let options = variable.options.iter().flatten();
                            let named = options.filter_map(|option| match option {
                                Assignment::Constructor { constructor, fields } if *constructor == adt.constructor => {
                                    Some(fields)
                                }
                                _ => None,
                            });
                            let names: Vec<&Arc<str>> = named.take(1).flatten().map(|(field, _)| field).collect();
                            let fields =
                                adt.fields.iter().filter(|(field, _)| names.contains(&field)).cloned().collect();
                            assign(Assignment::Constructor { constructor: adt.constructor.clone(), fields });
                        }
                        Value::Bool(_) | Value::Str(_) if variable.has_values => {
                            assign(Assignment::Value(value.clone()));
                        }
                        _ => {}
                    }
                }
            }
        }
        Point { assignments }
    }

    /// The accepted combinations of the discriminants called `names`, at most `limit` of them, in the discriminants'
    /// order, the last varying fastest. Other discriminants are left undetermined. No name gives one empty point.
    pub fn points_over(&self, names: &[Arc<str>], limit: usize) -> Vec<Point> {
        let Some(sheet) = &self.sheet else { return vec![Point::default()] };
        let variables: Vec<usize> =
            (0..sheet.variables.len()).filter(|&v| names.contains(&sheet.variables[v].name)).collect();
        groups::combinations(sheet, &variables, &self.groups.restrictions, limit).1
    }

    /// Whether the domain restrictions reject every point. That is a defect of its own: nothing else is judged at points,
    /// and no row can be.
    pub fn domain_is_empty(&self) -> bool {
        self.sheet.as_ref().is_some_and(|sheet| domain_is_empty(sheet, &self.groups))
    }

    /// Whether no domain restriction rejects the point.
    pub fn accepts(&self, point: &Point) -> bool {
        self.sheet.as_ref().is_none_or(|sheet| groups::accepts(sheet, point, &self.groups.restrictions))
    }

    /// A point in words: "`trans_a` is true and `bias` is passed".
    pub fn describe(&self, point: &Point) -> String {
        let own = |name: &Arc<str>| self.variables().iter().any(|v| v.name == *name);
        let assignments = point.assignments.iter().filter(|(name, _)| own(name)).cloned().collect();
        describe::point(&Point { assignments })
    }

    /// The tensors at `point`: less than [`Checked::branch`] says, at a fraction of its cost. Nothing where the signature
    /// could not be read.
    pub(crate) fn tensors_at(&self, point: &Point) -> Option<view::TensorsAt> {
        self.sheet.as_ref().map(|sheet| view::tensors_at(sheet, point))
    }

    /// What the signature says at `point`. A point that leaves discriminants undetermined gives a view that leaves what
    /// depends on them undecided.
    pub fn branch(&self, point: &Point) -> Arc<Branch> {
        let Some(sheet) = &self.sheet else {
            return Arc::new(Branch {
                point: point.clone(),
                accepted: true,
                tensors: Vec::new(),
                lets: Vec::new(),
                rules: Vec::new(),
                relevant: Vec::new(),
                solved_by_generator: Vec::new(),
                plan: super::Plan::default(),
                poisoned: true,
                reads_more: true,
                certain: Vec::new(),
            });
        };
        // A panic elsewhere leaves whole branches behind: each is pushed when it is complete.
        let kept = || self.branches.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, branch)) = kept().iter().find(|(p, _)| p == point) {
            return branch.clone();
        }
        let accepted = groups::accepts(sheet, point, &self.groups.restrictions);
        let branch = Arc::new(view::view(sheet, point, accepted).branch);
        let mut kept = kept();
        if kept.len() < KEPT_BRANCHES {
            kept.push((point.clone(), branch.clone()));
        }
        branch
    }
}
