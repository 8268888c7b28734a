//! Discriminants grouped by dependency, and the points of each group.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::Point;
use super::discriminants::Variable;
use super::linear;
use super::sheet::{Bits, ShapeSheet, Sheet, Sym, TensorSheet, When};
use crate::expr::ExprKind;
use crate::lang::Kind;

/// Up to this many combinations of a group are checked without a word.
pub(crate) const QUIET_COMBINATIONS: u128 = 256;
/// At most this many combinations of a group are checked; beyond, an even spread of them.
pub(crate) const MAX_COMBINATIONS: usize = 1024;

/// Discriminants whose values matter together.
#[derive(Debug, Clone)]
pub(crate) struct Group {
    /// The variables, in order.
    pub(crate) variables: Vec<usize>,
    /// How many combinations there are, restrictions aside.
    pub(crate) combinations: u128,
    /// The accepted combinations that are checked: assignments of the group's variables only.
    pub(crate) points: Vec<Point>,
}

/// The groups, the point that gives every other group's variables while one is checked, and the restrictions.
#[derive(Debug, Clone)]
pub(crate) struct Groups {
    pub(crate) groups: Vec<Group>,
    /// Each group's first accepted combination, and the first value of each variable that nothing reads.
    pub(crate) base: Point,
    /// The refinements that read only discriminants, by position among the sheet's.
    pub(crate) restrictions: Vec<usize>,
    /// The groups that the restrictions leave without a point.
    pub(crate) empty: Vec<usize>,
}

struct Links(Vec<usize>);

impl Links {
    fn root(&mut self, mut v: usize) -> usize {
        while self.0[v] != v {
            self.0[v] = self.0[self.0[v]];
            v = self.0[v];
        }
        v
    }

    fn join(&mut self, vars: &Bits) {
        let mut vars = vars.iter();
        if let Some(first) = vars.next() {
            let root = self.root(first);
            for other in vars {
                let other = self.root(other);
                self.0[other] = root;
            }
        }
    }
}

/// Groups the variables of `sheet` and lists each group's accepted points.
pub(crate) fn groups(sheet: &Sheet) -> Groups {
    let mut links = Links((0..sheet.variables.len()).collect());
    let mut read = Bits::default();
    let mut join = |vars: &Bits| {
        links.join(vars);
        read.union(vars);
    };
    for tensor in &sheet.tensors {
        join(&tensor.vars);
        // An alias and what it aliases are compared, a predicate's tensors are read together.
        let named = tensor.facts.alias.valid().map(|alias| alias.value.clone());
        let named = named.into_iter().chain(tensor.requires.iter().flat_map(|call| tensors_named(sheet, call)));
        for other in named.filter_map(|name| sheet.tensors.iter().find(|t| t.facts.name.value == name)) {
            let mut both = tensor.vars.clone();
            both.union(&other.vars);
            join(&both);
        }
    }
    sheet.rules.iter().for_each(|rule| join(&rule.item.vars));
    sheet.doubts.iter().filter_map(|doubt| doubt.vars.as_ref()).for_each(&mut join);
    sheet.lets.iter().filter_map(|l| l.value.as_ref()).for_each(|item| join(&item.vars));
    for &index in &sheet.indices {
        if !solved_everywhere(sheet, index) {
            join(&readers(sheet, index));
        }
    }

    let mut members: Vec<(usize, Vec<usize>)> = Vec::new();
    for variable in read.iter() {
        let root = links.root(variable);
        match members.iter_mut().find(|(r, _)| *r == root) {
            Some((_, group)) => group.push(variable),
            None => members.push((root, vec![variable])),
        }
    }
    let restrictions: Vec<usize> = sheet
        .rules
        .iter()
        .enumerate()
        .filter(|(_, rule)| !rule.item.open && !rule.item.faulty)
        .map(|(position, _)| position)
        .collect();

    let mut found = Groups { groups: Vec::new(), base: Point::default(), restrictions, empty: Vec::new() };
    for (_, variables) in members {
        let own: Vec<usize> = found
            .restrictions
            .iter()
            .copied()
            .filter(|&rule| variables.iter().any(|&v| sheet.rules[rule].item.vars.contains(v)))
            .collect();
        let (combinations, points) = combinations(sheet, &variables, &own, MAX_COMBINATIONS);
        if points.is_empty() {
            found.empty.push(found.groups.len());
        }
        found.groups.push(Group { variables, combinations, points });
    }
    let mut base: Vec<(usize, Point)> = Vec::new();
    for group in &found.groups {
        for &variable in &group.variables {
            let name = &sheet.variables[variable].name;
            let assignments = match group.points.first() {
                Some(first) => first.assignments.iter().filter(|(n, _)| n == name).cloned().collect(),
                None => first_option(sheet, variable),
            };
            base.push((variable, Point { assignments }));
        }
    }
    for variable in (0..sheet.variables.len()).filter(|&v| !read.contains(v)) {
        base.push((variable, Point { assignments: first_option(sheet, variable) }));
    }
    base.sort_by_key(|(variable, _)| *variable);
    found.base.assignments = base.into_iter().flat_map(|(_, point)| point.assignments).collect();
    found
}

fn first_option(sheet: &Sheet, variable: usize) -> Vec<(Arc<str>, super::Assignment)> {
    let Variable { name, options, .. } = &sheet.variables[variable];
    options.first().into_iter().flatten().map(|assignment| (name.clone(), assignment.clone())).collect()
}

/// `base` with the assignments of `point` in the place of its own for the same names.
pub(crate) fn over(base: &Point, point: &Point) -> Point {
    let mut assignments = Vec::with_capacity(base.assignments.len() + 2);
    let mut done: Vec<&str> = Vec::new();
    for (name, assignment) in &base.assignments {
        if done.contains(&&**name) {
            continue;
        }
        let mut own = point.assignments.iter().filter(|(n, _)| n == name).peekable();
        if own.peek().is_some() {
            assignments.extend(own.cloned());
            done.push(name);
        } else {
            assignments.push((name.clone(), assignment.clone()));
        }
    }
    Point { assignments }
}

/// The number of combinations of `variables`, and the accepted ones among at most `limit` of them, spread evenly where
/// there are more. The first is that of every variable's first value.
pub(crate) fn combinations(
    sheet: &Sheet,
    variables: &[usize],
    restrictions: &[usize],
    limit: usize,
) -> (u128, Vec<Point>) {
    let sizes: Vec<u128> = variables.iter().map(|&v| sheet.variables[v].options.len() as u128).collect();
    let total = sizes.iter().fold(1_u128, |n, &size| n.saturating_mul(size));
    let wanted = total.min(limit as u128);
    // Where all are wanted the step is one; else it is about the golden ratio of the total, which spreads any prefix of
    // the walk evenly, and coprime to it, so that no combination comes twice.
    let step = if total == wanted { 1 } else { coprime_near(total / 1_000_000 * 618_034 + total % 1_000_000, total) };
    let mut points = Vec::new();
    // What a restriction says follows from its own variables: each combination of those is asked about once.
    let mut said: Vec<FxHashMap<Vec<usize>, bool>> = vec![FxHashMap::default(); restrictions.len()];
    let mut at = 0_u128;
    for _ in 0..wanted {
        let mut rest = at;
        // The last variable varies fastest.
        let mut picks = vec![0_usize; variables.len()];
        for (pick, &size) in picks.iter_mut().zip(&sizes).rev() {
            if size > 0 {
                // A remainder is below the number of options, which is a `usize`.
                *pick = usize::try_from(rest % size).unwrap_or(0);
                rest /= size;
            }
        }
        let picked = || {
            let mut assignments = Vec::with_capacity(variables.len());
            for (&variable, &pick) in variables.iter().zip(&picks) {
                let Variable { name, options, .. } = &sheet.variables[variable];
                let option = options.get(pick).into_iter().flatten();
                assignments.extend(option.map(|assignment| (name.clone(), assignment.clone())));
            }
            Point { assignments }
        };
        let accepted = restrictions.iter().zip(&mut said).all(|(&rule, said)| {
            let own = variables.iter().zip(&picks).filter(|(v, _)| sheet.rules[rule].item.vars.contains(**v));
            let own = own.map(|(_, &pick)| pick).collect();
            *said.entry(own).or_insert_with(|| accepts(sheet, &picked(), &[rule]))
        });
        if accepted {
            points.push(picked());
        }
        at = at.checked_add(step).map_or(0, |next| next % total.max(1));
    }
    (total, points)
}

fn coprime_near(start: u128, total: u128) -> u128 {
    let gcd = |mut a: u128, mut b: u128| {
        while b != 0 {
            (a, b) = (b, a % b);
        }
        a
    };
    (start.max(1)..start.saturating_add(10_000)).find(|&step| gcd(step, total) == 1).unwrap_or(1)
}

/// Whether no restriction of `restrictions` rejects the point. One that the point does not decide accepts it.
pub(crate) fn accepts(sheet: &Sheet, point: &Point, restrictions: &[usize]) -> bool {
    if restrictions.is_empty() {
        return true;
    }
    let completed = sheet.complete(point);
    let environment = completed.environment();
    restrictions.iter().all(|&rule| {
        let item = &sheet.rules[rule].item;
        let folded = if item.varies() { sheet.fold(item, &environment).expr } else { item.expr.clone() };
        folded.kind != ExprKind::Bool(false)
    })
}

/// The tensors that a predicate's arguments name.
pub(crate) fn tensors_named(sheet: &Sheet, call: &super::sheet::CallItem) -> Vec<Arc<str>> {
    let named = call.syms.iter().map(|&sym| &sheet.symbols[sym]);
    named.filter(|s| matches!(s.role, super::SymbolRole::Tensor(_))).map(|s| s.name.clone()).collect()
}

/// Whether some tensor that every call passes, in a shape that no discriminant changes, binds the index by itself.
fn solved_everywhere(sheet: &Sheet, index: Sym) -> bool {
    let symbol = &sheet.symbols[index];
    let mut passed = sheet.tensors.iter().filter(|t| t.is_passed() && matches!(t.present, When::Always(true)));
    passed.any(|tensor: &TensorSheet| {
        if let (Kind::DType(_), Some(dtype)) = (&symbol.kind, &tensor.dtype) {
            return dtype.expr.as_name() == Some(&symbol.name);
        }
        let ShapeSheet::Axes { items, varies: false, .. } = &tensor.shape else { return false };
        let unknown = |sym: &Sym| !matches!(sheet.symbols[*sym].role, super::SymbolRole::Param);
        let open = items.iter().filter(|axis| axis.splice && axis.item.syms.iter().any(unknown)).count();
        items.iter().any(|axis| match (&symbol.kind, axis.splice) {
            (Kind::Shape, true) => open == 1 && axis.item.expr.as_name() == Some(&symbol.name),
            (Kind::Dim, false) => {
                open <= 1
                    && axis.item.syms.iter().filter(|sym| unknown(sym)).all(|&sym| sym == index)
                    && linear::solves(&axis.item.expr, &symbol.name).is_some()
            }
            _ => false,
        })
    })
}

/// The variables of everything that reads the index, directly or through `let`s.
fn readers(sheet: &Sheet, index: Sym) -> Bits {
    // The index, and the `let`s that read it.
    let mut names = Bits::default();
    names.insert(index);
    let mut vars = Bits::default();
    loop {
        let mut changed = false;
        for l in &sheet.lets {
            let (Some(sym), Some(item)) = (l.sym, &l.value) else { continue };
            if !names.contains(sym) && item.syms.iter().any(|&s| names.contains(s)) {
                names.insert(sym);
                vars.union(&item.vars);
                changed = true;
            }
        }
        if !changed {
            break;
        }
    }
    let reads = |syms: &[Sym]| syms.iter().any(|&sym| names.contains(sym));
    for tensor in &sheet.tensors {
        let mut syms = Bits::default();
        tensor.shape.add_syms(&mut syms);
        let shape = syms.iter().any(|sym| names.contains(sym));
        let dtype = tensor.dtype.as_ref().is_some_and(|item| reads(&item.syms));
        let calls = tensor.values.iter().chain(&tensor.requires).any(|call| reads(&call.syms));
        if shape || dtype || calls {
            vars.union(&tensor.vars);
        }
    }
    for item in sheet.rules.iter().map(|rule| &rule.item).chain(&sheet.formulas) {
        if reads(&item.syms) {
            vars.union(&item.vars);
        }
    }
    vars
}
