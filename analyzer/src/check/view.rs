//! What a signature says at one point: conditions decided, expressions folded, families applied, relevance, what the
//! generators determine, and the inference plan.

use std::sync::Arc;

use super::coverage::{Applied, Scrutinee};
use super::families;
use super::linear;
use super::plan::{Anchor, Place, Plan, Step};
use super::sheet::{
    Application, AxisItem, Bits, CallItem, Completed, Item, PointEnvironment, ShapeSheet, Sheet, Sym, When,
};
use super::{Branch, BranchCall, BranchRule, BranchTensor, Point, SymbolRole};
use crate::eval::Environment;
use crate::expr::{Axis, Expr, ExprKind};
use crate::lang::{Kind, Value};

/// A branch with what its judgments need beside it.
pub(crate) struct View {
    pub(crate) branch: Branch,
    /// Of each tensor, the items of its axes.
    pub(crate) items: Vec<Option<Arc<[AxisItem]>>>,
    /// Of each tensor, its dtype.
    pub(crate) dtypes: Vec<Option<Item>>,
    /// The families applied: all where that was asked for, else those of which not exactly one case matches.
    pub(crate) applied: Vec<Applied>,
    /// The symbols that the point reads, through `let`s too.
    pub(crate) read: Bits,
    /// Those that a sound place reads.
    pub(crate) sure: Bits,
    /// Of each `let`, what it reads at the point.
    pub(crate) lets: Vec<Option<Item>>,
    pub(crate) rules: Vec<Item>,
    pub(crate) formulas: Vec<Item>,
    /// Whether something that could solve an index could not be read.
    pub(crate) unsolvable: bool,
}

/// What the signature says at `point`.
pub(crate) fn view(sheet: &Sheet, point: &Point, accepted: bool) -> View {
    view_with(sheet, point, accepted, false)
}

/// As [`view`] of an accepted point, with every application of a family.
pub(crate) fn view_of_families(sheet: &Sheet, point: &Point) -> View {
    view_with(sheet, point, true, true)
}

/// What the tensors are at a point: what the derived bytes read.
pub(crate) struct TensorsAt {
    /// The point, completed with the presence of every tensor that it decides.
    pub(crate) point: Point,
    pub(crate) tensors: Vec<BranchTensor>,
    /// As [`Branch::poisoned`].
    pub(crate) poisoned: bool,
}

/// The tensors at `point`, without what a call's inference needs.
pub(crate) fn tensors_at(sheet: &Sheet, point: &Point) -> TensorsAt {
    let completed = sheet.complete(point);
    let Seen { tensors, poisoned, .. } = see(sheet, &completed, false);
    TensorsAt { point: completed.point, tensors, poisoned }
}

/// The tensors of a signature at a point, and what they read.
struct Seen {
    tensors: Vec<BranchTensor>,
    items: Vec<Option<Arc<[AxisItem]>>>,
    dtypes: Vec<Option<Item>>,
    applied: Vec<Applied>,
    read: Bits,
    /// What sound places read.
    sure: Bits,
    poisoned: bool,
    unsolvable: bool,
    /// Whether a generator is read, and whether it is not known which indices generators determine.
    generates: bool,
    unsure_generator: bool,
}

fn fold_at(sheet: &Sheet, item: &Item, environment: &PointEnvironment<'_>) -> Item {
    if item.varies() { sheet.fold(item, environment) } else { item.clone() }
}

fn see(sheet: &Sheet, completed: &Completed, all_families: bool) -> Seen {
    let environment = completed.environment();
    let (point, lets) = (&completed.point, &completed.lets);
    let fold = |item: &Item| fold_at(sheet, item, &environment);

    let mut tensors = Vec::with_capacity(sheet.tensors.len());
    let mut items = Vec::with_capacity(sheet.tensors.len());
    let mut dtypes = Vec::with_capacity(sheet.tensors.len());
    let mut record = Record { tensor: 0, all: all_families, applied: Vec::new() };
    let mut read = Bits::default();
    let mut poisoned = sheet.unread_lets;
    let mut unsolvable = sheet.unread_inputs || lets.iter().any(|l| l.as_ref().is_none_or(|item| item.faulty));
    let mut sure = Bits::default();
    let (mut generates, mut unsure_generator) = (false, false);
    for (position, tensor) in sheet.tensors.iter().enumerate() {
        let facts = &tensor.facts;
        let present = match &tensor.present {
            When::Broken => None,
            _ => point.present(&facts.name.value),
        };
        let absent = present == Some(false);
        let mut add = |syms: &[Sym]| read.extend(syms);
        record.tensor = position;
        let resolved = if absent { None } else { resolve(sheet, &tensor.shape, &environment, &mut record) };
        let (axis_items, axes) = resolved.unzip();
        let dtype = tensor.dtype.as_ref().filter(|_| !absent).map(fold);
        let axes_of = axis_items.iter().flat_map(|items| items.iter()).map(|axis| &axis.item);
        for item in axes_of.chain(&dtype) {
            add(&item.syms);
            if present == Some(true) && !item.faulty {
                sure.extend(&item.syms);
            }
        }
        let call =
            |item: &CallItem| if item.vars.is_empty() { item.clone() } else { sheet.fold_call(item, &environment) };
        let values = tensor.values.as_ref().filter(|_| !absent).map(call);
        let requires: Vec<CallItem> = tensor.requires.iter().filter(|_| !absent).map(call).collect();
        for call in values.iter().chain(&requires) {
            add(&call.syms);
            if present == Some(true) && !call.faulty {
                sure.extend(&call.syms);
            }
        }
        let mutated = match &tensor.mutated {
            When::Always(mutated) => Some(*mutated),
            When::Condition(item) => match fold(item).expr.kind {
                ExprKind::Bool(mutated) => Some(mutated),
                _ => None,
            },
            When::Point | When::Broken => None,
        };
        if !absent {
            let unread_call = tensor.has_unread_call() || values.iter().chain(&requires).any(|call| call.broken);
            let is_whole = |spoils: fn(&Item) -> bool| {
                axis_items.as_ref().is_some_and(|items| items.iter().all(|axis| !spoils(&axis.item)))
                    && dtype.as_ref().is_some_and(|item| !spoils(item))
                    && present.is_some()
            };
            let sound = is_whole(|item| item.faulty);
            poisoned |= !is_whole(|item| item.broken) || unread_call;
            unsolvable |= !sound && tensor.is_passed();
            if !facts.values.is_absent() {
                generates = true;
                unsure_generator |= !sound || values.as_ref().is_none_or(|call| call.faulty);
            }
        }
        let public =
            |call: &CallItem| BranchCall { call: call.call.clone(), range: call.range, path: call.path.clone() };
        tensors.push(BranchTensor {
            name: facts.name.value.clone(),
            role: facts.role,
            path: facts.path.clone(),
            range: facts.name.range,
            present,
            axes,
            shape_range: facts.shape.range(),
            dtype: dtype.as_ref().map(|item| item.expr.clone()),
            mutated,
            write_only: facts.write_only.valid().copied().unwrap_or(false),
            buffer: facts.buffer.valid().is_some(),
            alias: facts.alias.valid().map(|alias| alias.value.clone()),
            values: values.as_ref().map(public),
            requires: requires.iter().map(public).collect(),
        });
        items.push(axis_items);
        dtypes.push(dtype);
    }
    Seen {
        tensors,
        items,
        dtypes,
        applied: record.applied,
        read,
        sure,
        poisoned,
        unsolvable,
        generates,
        unsure_generator,
    }
}

fn view_with(sheet: &Sheet, point: &Point, accepted: bool, all_families: bool) -> View {
    let completed = sheet.complete(point);
    let environment = completed.environment();
    let (point, lets) = (&completed.point, &completed.lets);
    let fold = |item: &Item| fold_at(sheet, item, &environment);
    let seen = see(sheet, &completed, all_families);
    let Seen { tensors, items, dtypes, applied, mut read, mut sure, poisoned, unsolvable, generates, unsure_generator } =
        seen;
    let faulty_let = sheet.unread_inputs || lets.iter().any(|l| l.as_ref().is_none_or(|item| item.faulty));

    let rules: Vec<Item> = sheet.rules.iter().map(|rule| fold(&rule.item)).collect();
    let formulas: Vec<Item> = sheet.formulas.iter().map(fold).collect();
    for item in rules.iter().chain(&formulas) {
        read.extend(&item.syms);
        if !item.faulty {
            sure.extend(&item.syms);
        }
    }
    pass_on(sheet, lets, &mut read, |_| true);
    pass_on(sheet, lets, &mut sure, |item| !item.faulty);
    let relevant: Vec<Sym> = sheet.indices.iter().copied().filter(|&sym| read.contains(sym)).collect();
    let unsure_generators = sheet.unread_inputs || unsure_generator || (generates && faulty_let);
    let certain = relevant
        .iter()
        .copied()
        .filter(|&sym| sure.contains(sym) && (!unsure_generators || matches!(sheet.symbols[sym].kind, Kind::DType(_))));
    let certain = certain.map(|sym| sheet.symbols[sym].name.clone()).collect();

    let mut view = View {
        branch: Branch {
            point: point.clone(),
            accepted,
            tensors,
            lets: sheet
                .lets
                .iter()
                .zip(lets)
                .filter_map(|(l, item)| Some((l.name.clone(), item.as_ref()?.expr.clone())))
                .collect(),
            rules: sheet
                .rules
                .iter()
                .zip(&rules)
                .map(|(rule, item)| BranchRule {
                    position: rule.position,
                    expr: item.expr.clone(),
                    range: rule.range,
                    path: rule.path.clone(),
                })
                .collect(),
            relevant: relevant.iter().map(|&sym| sheet.symbols[sym].name.clone()).collect(),
            solved_by_generator: Vec::new(),
            plan: Plan::default(),
            poisoned,
            reads_more: poisoned || sheet.unread_rules,
            certain,
        },
        items,
        dtypes,
        applied,
        read,
        sure,
        lets: lets.clone(),
        rules,
        formulas,
        unsolvable,
    };
    let by_generator = solved_by_generator(sheet, &view, &relevant);
    view.branch.solved_by_generator = by_generator.iter().map(|&sym| sheet.symbols[sym].name.clone()).collect();
    view.branch.plan = plan(sheet, &view, &relevant, &by_generator);
    view
}

/// Adds to `read` what the `let`s in it read, those for which `passes` holds.
fn pass_on(sheet: &Sheet, lets: &[Option<Item>], read: &mut Bits, passes: impl Fn(&Item) -> bool) {
    let mut pending: Vec<Sym> = read.iter().collect();
    while let Some(sym) = pending.pop() {
        let value = sheet.let_of.get(sym).copied().flatten().and_then(|l| lets.get(l)).and_then(Option::as_ref);
        for &inner in value.into_iter().filter(|item| passes(item)).flat_map(|item| item.syms.iter()) {
            if read.insert(inner) {
                pending.push(inner);
            }
        }
    }
}

type Axes = (Arc<[AxisItem]>, Arc<[Axis]>);

/// The families that shapes apply at a point.
struct Record {
    /// The tensor whose shape is looked at.
    tensor: usize,
    /// Whether those count too of which exactly one case matches.
    all: bool,
    applied: Vec<Applied>,
}

/// The axes of a shape at a point; nothing where it could not be read, or the point does not decide one case of a family.
fn resolve(sheet: &Sheet, shape: &ShapeSheet, point: &PointEnvironment<'_>, record: &mut Record) -> Option<Axes> {
    match shape {
        ShapeSheet::Broken => None,
        ShapeSheet::Axes { items, axes, varies: false } => Some((items.clone(), axes.clone())),
        ShapeSheet::Axes { items, .. } => {
            let items: Arc<[AxisItem]> = items
                .iter()
                .map(|axis| AxisItem {
                    splice: axis.splice,
                    item: if axis.item.varies() { sheet.fold(&axis.item, point) } else { axis.item.clone() },
                })
                .collect();
            let axes = items
                .iter()
                .map(|axis| match axis.splice {
                    true => Axis::Splice((*axis.item.expr).clone()),
                    false => Axis::One((*axis.item.expr).clone()),
                })
                .collect();
            Some((items, axes))
        }
        ShapeSheet::Family(application) => resolve_family(sheet, application, point, record),
    }
}

fn resolve_family(
    sheet: &Sheet,
    application: &Application,
    point: &PointEnvironment<'_>,
    record: &mut Record,
) -> Option<Axes> {
    let scrutinees: Vec<Item> = application
        .scrutinees
        .iter()
        .map(|item| if item.varies() { sheet.fold(item, point) } else { item.clone() })
        .collect();
    let mut matching = Vec::new();
    for (position, (patterns, _)) in application.cases.iter().enumerate() {
        let mut matched = Some(true);
        for (pattern, scrutinee) in patterns.iter().zip(&scrutinees) {
            match families::matches(pattern, &scrutinee.expr, point) {
                Some(true) => {}
                Some(false) => {
                    matched = Some(false);
                    break;
                }
                None => matched = None,
            }
        }
        if matched? {
            matching.push(position);
        }
    }
    let one = if let [one] = matching.as_slice() { Some(*one) } else { None };
    if one.is_none() || record.all {
        let is_discriminant = |item: &Item| {
            let name = super::facts::without_value(&item.expr).as_name();
            name.is_some_and(|name| sheet.variable(name).is_some())
        };
        record.applied.push(Applied {
            tensor: record.tensor,
            family: application.family,
            scrutinees: scrutinees.iter().map(|item| scrutinee(&item.expr, point)).collect(),
            cases: matching,
            direct: application.scrutinees.iter().all(is_discriminant),
        });
    }
    resolve(sheet, &application.cases[one?].1, point, record)
}

/// The value of a scrutinee.
fn scrutinee(argument: &Expr, point: &PointEnvironment<'_>) -> Scrutinee {
    let name = super::facts::without_value(argument).as_name();
    let constructors = name.into_iter().flat_map(|name| {
        point.point.assignments.iter().filter(move |(n, _)| &**n == name).filter_map(|(_, assignment)| match assignment
        {
            super::Assignment::Constructor { constructor, fields } => Some((constructor, fields)),
            _ => None,
        })
    });
    if let Some((constructor, fields)) = constructors.into_iter().next() {
        return Scrutinee::Constructor(constructor.clone(), fields.clone());
    }
    let value = name.and_then(|name| point.value(name)).or_else(|| super::facts::literal(argument));
    value.map_or_else(|| Scrutinee::Text(argument.to_string()), Scrutinee::Value)
}

/// What one item of a shape can do for inference.
enum Role {
    /// It is computed from known names.
    Check(Anchor),
    /// It binds the symbol.
    Bind { sym: Sym, anchor: Anchor, coefficient: i128, offset: Option<Arc<Expr>> },
    /// Nothing yet.
    Wait,
}

/// What is known while names are being solved.
struct Known<'s> {
    sheet: &'s Sheet,
    known: Bits,
}

impl<'s> Known<'s> {
    /// Everything but indices and `let`s.
    fn parameters(sheet: &'s Sheet) -> Self {
        let mut known = Bits::default();
        for (sym, symbol) in sheet.symbols.iter().enumerate() {
            if matches!(symbol.role, SymbolRole::Param | SymbolRole::Tensor(_)) {
                known.insert(sym);
            }
        }
        Known { sheet, known }
    }

    fn all(&self, syms: &[Sym]) -> bool {
        syms.iter().all(|&sym| self.known.contains(sym))
    }

    /// What item `position` of a shape whose rank is known can do.
    fn role(&self, items: &[AxisItem], position: usize) -> Role {
        let Some(AxisItem { splice, item }) = items.get(position) else { return Role::Wait };
        if item.faulty {
            return Role::Wait;
        }
        let fixed = |range: &[AxisItem]| range.iter().all(|a| !a.splice || (!a.item.faulty && self.all(&a.item.syms)));
        let left = fixed(&items[..position]);
        let right = fixed(&items[position + 1..]);
        let anchor = match (left, right) {
            (true, _) => Anchor::Left,
            (false, true) => Anchor::Right,
            (false, false) => return Role::Wait,
        };
        let mut unknown = item.syms.iter().copied().filter(|&sym| !self.known.contains(sym));
        let (first, second) = (unknown.next(), unknown.next());
        let Some(sym) = first else { return Role::Check(anchor) };
        if second.is_some() || self.sheet.symbols[sym].role != SymbolRole::Index {
            return Role::Wait;
        }
        let symbol = &self.sheet.symbols[sym];
        match (splice, &symbol.kind) {
            (true, Kind::Shape) if left && right && item.expr.as_name() == Some(&symbol.name) => {
                Role::Bind { sym, anchor: Anchor::Left, coefficient: 1, offset: None }
            }
            (false, Kind::Dim) => linear::solves(&item.expr, &symbol.name)
                .map_or(Role::Wait, |(coefficient, offset)| Role::Bind { sym, anchor, coefficient, offset }),
            _ => Role::Wait,
        }
    }
}

/// The relevant indices that generators determine, in the order of `forall`: what the row's own names, `let`s and the
/// generators' result shapes give.
fn solved_by_generator(sheet: &Sheet, view: &View, relevant: &[Sym]) -> Vec<Sym> {
    let generated: Vec<usize> = (0..sheet.tensors.len())
        .filter(|&t| view.branch.tensors[t].values.is_some() && view.branch.tensors[t].present != Some(false))
        .collect();
    if generated.is_empty() {
        return Vec::new();
    }
    let mut shaped = Bits::default();
    for &t in &generated {
        for axis in view.items[t].iter().flat_map(|items| items.iter()) {
            shaped.extend(&axis.item.syms);
        }
    }
    let mut known = Known::parameters(sheet);
    let mut given = Bits::default();
    for &sym in relevant {
        if matches!(sheet.symbols[sym].kind, Kind::DType(_)) || !shaped.contains(sym) {
            known.known.insert(sym);
            given.insert(sym);
        }
    }
    loop {
        let mut changed = compute_lets(sheet, view, &mut known, &mut |_| {});
        for &t in &generated {
            let Some(items) = &view.items[t] else { continue };
            let arguments = view.branch.tensors[t].values.as_ref().map(|values| sheet.call_syms(&values.call));
            if !arguments.is_some_and(|syms| known.all(&syms)) {
                continue;
            }
            for position in 0..items.len() {
                if let Role::Bind { sym, .. } = known.role(items, position) {
                    changed |= known.known.insert(sym);
                }
            }
        }
        if !changed {
            break;
        }
    }
    relevant.iter().copied().filter(|&sym| known.known.contains(sym) && !given.contains(sym)).collect()
}

/// Computes the `let`s that the point reads and whose names are known; whether there was one.
fn compute_lets(sheet: &Sheet, view: &View, known: &mut Known<'_>, emit: &mut dyn FnMut(Step)) -> bool {
    let mut changed = false;
    for (position, l) in sheet.lets.iter().enumerate() {
        let (Some(sym), Some(item)) = (l.sym, &view.lets[position]) else { continue };
        if view.read.contains(sym) && !known.known.contains(sym) && !item.faulty && known.all(&item.syms) {
            known.known.insert(sym);
            changed = true;
            emit(Step::Let { name: l.name.clone(), value: item.expr.clone() });
        }
    }
    changed
}

/// Finds an order in which the tensors passed in bind every index, by trying what is possible until nothing is.
fn plan(sheet: &Sheet, view: &View, relevant: &[Sym], by_generator: &[Sym]) -> Plan {
    struct State<'v> {
        t: usize,
        items: &'v Arc<[AxisItem]>,
        axes: &'v Arc<[Axis]>,
        done: Vec<bool>,
        dtype_done: bool,
        binds_splice: bool,
    }
    let mut known = Known::parameters(sheet);
    let mut steps = Vec::new();
    let mut states: Vec<State<'_>> = Vec::new();
    for (t, tensor) in sheet.tensors.iter().enumerate() {
        let branch = &view.branch.tensors[t];
        if !tensor.is_passed() || branch.present == Some(false) {
            continue;
        }
        let (Some(items), Some(axes)) = (&view.items[t], &branch.axes) else { continue };
        steps.push(Step::CheckRank {
            tensor: branch.name.clone(),
            fixed: items.iter().filter(|axis| !axis.splice).count(),
            open: items.iter().any(|axis| axis.splice),
            range: branch.shape_range,
        });
        let done = vec![false; items.len()];
        states.push(State { t, items, axes, done, dtype_done: false, binds_splice: false });
    }
    compute_lets(sheet, view, &mut known, &mut |step| steps.push(step));
    loop {
        let mut changed = false;
        for state in &mut states {
            let tensor = &view.branch.tensors[state.t];
            for position in 0..state.items.len() {
                if state.done[position] {
                    continue;
                }
                let place =
                    |anchor| Place { tensor: tensor.name.clone(), axes: state.axes.clone(), item: position, anchor };
                let splice = state.items[position].splice;
                match known.role(state.items, position) {
                    Role::Wait => continue,
                    Role::Check(anchor) if splice => steps.push(Step::CheckSplice { place: place(anchor) }),
                    Role::Check(anchor) => steps.push(Step::CheckAxis { place: place(anchor) }),
                    Role::Bind { sym, anchor, coefficient, offset } => {
                        known.known.insert(sym);
                        changed = true;
                        let index = sheet.symbols[sym].name.clone();
                        if splice {
                            state.binds_splice = true;
                            steps.push(Step::BindSplice { place: place(anchor), index });
                        } else {
                            steps.push(Step::BindAxis { place: place(anchor), index, coefficient, offset });
                        }
                    }
                }
                state.done[position] = true;
            }
            if let (false, Some(item)) = (state.dtype_done, &view.dtypes[state.t]) {
                let unknown = item.syms.iter().copied().find(|&sym| !known.known.contains(sym));
                match unknown {
                    None if !item.faulty => {
                        steps.push(Step::CheckDType { tensor: tensor.name.clone(), dtype: item.expr.clone() });
                        state.dtype_done = true;
                    }
                    Some(sym)
                        if item.expr.as_name() == Some(&sheet.symbols[sym].name)
                            && sheet.symbols[sym].role == SymbolRole::Index
                            && matches!(sheet.symbols[sym].kind, Kind::DType(_)) =>
                    {
                        known.known.insert(sym);
                        changed = true;
                        let index = sheet.symbols[sym].name.clone();
                        steps.push(Step::BindDType { tensor: tensor.name.clone(), index, range: item.expr.range });
                        state.dtype_done = true;
                    }
                    _ => {}
                }
            }
        }
        changed |= compute_lets(sheet, view, &mut known, &mut |step| steps.push(step));
        if !changed {
            break;
        }
    }
    for state in &states {
        let has_splice = state.items.iter().any(|axis| axis.splice);
        if has_splice && !state.binds_splice && state.done.iter().all(|&done| done) {
            let tensor = &view.branch.tensors[state.t];
            steps.push(Step::CheckLength {
                tensor: tensor.name.clone(),
                axes: state.axes.clone(),
                range: tensor.shape_range,
            });
        }
    }
    for item in &view.rules {
        let decided = super::facts::literal(&item.expr) == Some(Value::Bool(true));
        if !decided && !item.faulty && known.all(&item.syms) {
            steps.push(Step::Rule { rule: item.expr.clone() });
        }
    }
    let unsolved = relevant
        .iter()
        .copied()
        .filter(|&sym| matches!(sheet.symbols[sym].kind, Kind::Dim | Kind::Shape | Kind::DType(_)))
        .filter(|&sym| !known.known.contains(sym) && !by_generator.contains(&sym))
        .map(|sym| sheet.symbols[sym].name.clone())
        .collect();
    Plan { steps, unsolved }
}
