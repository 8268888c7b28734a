//! One row at one dtype case, made a call.

mod metadata;

use std::sync::Arc;

pub(super) use metadata::RowCache;
use metadata::bind;

use super::frame::Frame;
use super::row::{EntryFacts, ReadCase, ReadRow};
use super::unify::{Unified, unify};
use super::words::{add, join, names_of, origins, readings, show};
use super::{Call, CallTensor, Effect, Generated, case_id};
use crate::check::{Branch, BranchCall, BranchTensor, Observed, execute, facts};
use crate::defect::{Code, Findings, codes};
use crate::eval::{Environment, EvalError, EvalFailure, evaluate, fold};
use crate::expr::{self, Axis, Expr, ExprKind};
use crate::lang::builtins::{self, Argument, Builtin, Contents, Predicate, Role, Seed};
use crate::lang::{DType, Kind, Value};
use crate::model::{Fact, TensorRole};
use crate::text::TextRange;

/// A path that nothing has: where only the characters count.
const NO_PATH: &str = "\0";

/// Why something has no value, kept until it is known whether an earlier defect explains it.
struct Trouble {
    code: &'static Code,
    /// The names that it follows from, in the order in which they are at fault.
    names: Vec<Arc<str>>,
    subject: Arc<str>,
    message: String,
    related: (TextRange, String),
}

struct Maker<'a, 'f> {
    facts: &'a EntryFacts<'a>,
    read: &'a ReadRow<'a>,
    case: &'a ReadCase<'a>,
    branch: &'a Branch,
    frame: Frame<'a>,
    findings: &'f mut Findings,
    /// The names that a reported defect already explains.
    blamed: Vec<Arc<str>>,
    /// What could not be judged for want of a fact.
    lacking: Option<String>,
}

/// Makes the call of `read` at `case`. Nothing where it has a defect or lacks a fact; each has been said.
pub(super) fn instantiate(
    facts: &EntryFacts<'_>,
    read: &ReadRow<'_>,
    branch: &Branch,
    case: &ReadCase<'_>,
    cache: &mut RowCache,
    findings: &mut Findings,
) -> Option<Call> {
    let mut known: Vec<(Arc<str>, Value)> = read.params.clone();
    known.extend(read.indices.iter().cloned());
    known.extend(case.dtypes.iter().map(|(name, dtype)| (name.clone(), Value::DType(*dtype))));
    let before = findings.defects.len();
    let mut maker = Maker {
        facts,
        read,
        case,
        branch,
        frame: frame_of(facts, branch, known),
        findings,
        blamed: Vec::new(),
        lacking: None,
    };
    let call = maker.make(cache);
    let clean = maker.findings.defects.len() == before;
    if let Some(missing) = maker.lacking.filter(|_| clean) {
        let (at, path) = read.place();
        findings.unreached(at, path, "the call of this row", missing);
        return None;
    }
    call.filter(|_| clean)
}

fn frame_of<'a>(facts: &EntryFacts<'_>, branch: &'a Branch, known: Vec<(Arc<str>, Value)>) -> Frame<'a> {
    Frame::new(branch, known, |name| {
        let at = facts.scope.get(name).map_or(TextRange::default(), |symbol| symbol.range);
        facts.is_faulty(at, &format!("signature.let.{name}"))
    })
}

/// Reports the refinements that the row breaks at a point where nothing else is judged.
pub(super) fn check_refinements(facts: &EntryFacts<'_>, read: &ReadRow<'_>, branch: &Branch, findings: &mut Findings) {
    let mut known = read.params.clone();
    known.extend(read.indices.iter().cloned());
    let frame = frame_of(facts, branch, known);
    let case = ReadCase { dtypes: Vec::new(), written: None };
    let (blamed, lacking) = (Vec::new(), None);
    let mut maker = Maker { facts, read, case: &case, branch, frame, findings, blamed, lacking };
    maker.refinements(&mut Vec::new());
}

impl Maker<'_, '_> {
    fn make(&mut self, cache: &mut RowCache) -> Option<Call> {
        let mut troubles = Vec::new();
        self.frame.settle();
        let recipes = self.generate(cache, &mut troubles);
        self.frame.settle();
        self.refinements(&mut troubles);
        self.lets(&mut troubles);
        let tensors = self.tensors(&recipes, &mut troubles);
        troubles.sort_by_key(|trouble| trouble.code != &codes::ROW_DOMAIN);
        troubles.into_iter().for_each(|trouble| self.tell(trouble));
        self.combos();
        self.contents(&tensors, cache);
        if self.findings.defects.is_empty() && self.lacking.is_none() {
            self.infer(&tensors);
        }
        let call = Call {
            row: self.read.row.position,
            range: self.read.row.range,
            case_id: case_id_of(self.facts, self.read, self.case)?,
            params: self.read.params.clone(),
            indices: self.indices(),
            tensors,
        };
        if call.bytes().is_none() {
            self.oversized(&call);
        }
        Some(call)
    }

    /// The values of every relevant index and of every `let`.
    fn indices(&self) -> Vec<(Arc<str>, Value)> {
        let lets = self.branch.lets.iter().map(|(name, _)| name);
        self.branch
            .relevant
            .iter()
            .chain(lets)
            .filter_map(|name| Some((name.clone(), self.frame.value(name)?)))
            .collect()
    }

    fn lack(&mut self, fact: impl Into<String>) {
        self.lacking.get_or_insert_with(|| fact.into());
    }

    /// Where the row states the first of `names` that it states; its label where it states none.
    fn site(&self, names: &[Arc<str>]) -> (TextRange, String) {
        for name in names {
            if let Some((_, node)) = self.read.row.values.iter().find(|(key, _)| key.value == *name) {
                return (node.range, format!("{}.{name}", self.read.row.path));
            }
            if let Some((position, case)) = self.case.written
                && let Some((_, dtype)) = case.assignments.iter().find(|(key, _)| key.value == *name)
            {
                return (dtype.range(), format!("{}.dtype_cases[{position}].{name}", self.read.row.path));
            }
        }
        self.read.place()
    }

    /// Reports a trouble unless a defect that has been reported explains it.
    fn tell(&mut self, trouble: Trouble) {
        if trouble.names.iter().any(|name| self.blamed.contains(name)) {
            return;
        }
        let (at, path) = self.site(&trouble.names);
        let (range, what) = trouble.related;
        self.findings.report(trouble.code, at, path, &*trouble.subject, trouble.message).related(range, what);
        self.blame(&trouble.names);
    }

    fn blame(&mut self, names: &[Arc<str>]) {
        names.iter().for_each(|name| add(&mut self.blamed, name));
    }

    /// What follows from an evaluation that failed: a trouble where an operation fails, a lack where a name has no value.
    fn failed(
        &mut self,
        error: &EvalError,
        expr: &Expr,
        what: &str,
        subject: &Arc<str>,
        related: (TextRange, String),
        troubles: &mut Vec<Trouble>,
    ) {
        match &error.reason {
            EvalFailure::Domain(why) => troubles.push(Trouble {
                code: &codes::ROW_DOMAIN,
                names: names_of(expr, &self.frame),
                subject: subject.clone(),
                message: format!("{what} cannot be computed: {why}"),
                related,
            }),
            // A `let` that fails is a trouble of its own.
            EvalFailure::Undetermined(name) if self.frame.failure(name).is_some() => {}
            EvalFailure::Undetermined(name) => self.lack(format!("the value of `{name}`")),
            EvalFailure::Poisoned => self.lack(what.to_owned()),
        }
    }

    /// The recipes of the metadata tensors, and with them the indices that they determine.
    fn generate(&mut self, cache: &mut RowCache, troubles: &mut Vec<Trouble>) -> Vec<Option<Arc<Generated>>> {
        let branch = self.branch;
        let mut recipes: Vec<Option<Arc<Generated>>> = vec![None; branch.tensors.len()];
        let mut pending: Vec<usize> = (0..branch.tensors.len())
            .filter(|&at| branch.tensors.get(at).is_some_and(|t| t.present == Some(true) && t.values.is_some()))
            .collect();
        loop {
            let mut progress = false;
            let mut waiting = Vec::new();
            for at in pending {
                let Some(tensor) = branch.tensors.get(at) else { continue };
                let Some(values) = &tensor.values else { continue };
                if recipes.get(at).is_some_and(Option::is_none) {
                    match self.recipe(tensor, values, cache, troubles) {
                        Ok(Some(recipe)) => {
                            progress = true;
                            recipes[at] = Some(recipe);
                        }
                        Ok(None) => {
                            waiting.push(at);
                            continue;
                        }
                        Err(()) => continue,
                    }
                }
                let faulty = self.facts.is_faulty(tensor.shape_range, &format!("{}.shape", tensor.path));
                let axes = tensor.axes.as_ref().filter(|_| !faulty);
                let (Some(Some(recipe)), Some(axes)) = (recipes.get(at), axes) else { continue };
                match unify(&tensor.name, axes, recipe.shape(), &self.frame) {
                    Unified::Agree => {}
                    Unified::Contradict(contradiction) => {
                        let mut names = Vec::new();
                        facts::call_reads(&values.call, &mut |read| add(&mut names, read.name()));
                        let mut names = origins(names, &self.frame);
                        names_of(contradiction.expr, &self.frame).iter().for_each(|name| add(&mut names, name));
                        troubles.push(Trouble {
                            code: &codes::ROW_METADATA,
                            names,
                            subject: tensor.name.clone(),
                            message: contradiction.message,
                            related: (values.range, format!("the `values` of `{}`", tensor.name)),
                        });
                    }
                    Unified::Open(found) => {
                        for (name, value) in found {
                            let is_index = branch.relevant.contains(&name) && branch.folded_let(&name).is_none();
                            if is_index && self.frame.given(&name).is_none() {
                                progress = true;
                                self.frame.bind(&name, value);
                            }
                        }
                        waiting.push(at);
                    }
                }
            }
            if !progress || waiting.is_empty() {
                return recipes;
            }
            pending = waiting;
        }
    }

    /// The recipe of one tensor: nothing while an argument is not known, an error where there is none.
    fn recipe(
        &mut self,
        tensor: &BranchTensor,
        values: &BranchCall,
        cache: &mut RowCache,
        troubles: &mut Vec<Trouble>,
    ) -> Result<Option<Arc<Generated>>, ()> {
        let faulty = self.facts.is_faulty(values.range, &values.path);
        let found = builtins::find(&values.call.callee.value).filter(|_| !faulty);
        let Some((builtin, generator)) = found.and_then(|b| match b.role {
            Role::Generator(generator) => Some((b, generator)),
            _ => None,
        }) else {
            self.lack(format!("the `values` of `{}`", tensor.name));
            return Err(());
        };
        let Some(slots) = bind(&values.call, builtin) else {
            self.lack(format!("the `values` of `{}`", tensor.name));
            return Err(());
        };
        let mut args = Vec::with_capacity(slots.len());
        for &slot in &slots {
            let Some(expr) = slot else {
                args.push(Value::None);
                continue;
            };
            match evaluate(expr, &self.frame) {
                Ok(value) => args.push(value),
                Err(EvalError { reason: EvalFailure::Undetermined(_), .. }) => return Ok(None),
                Err(error) => {
                    let what = format!("the argument `{expr}` of `{}`", builtin.name);
                    let related = (values.range, format!("the `values` of `{}`", tensor.name));
                    self.failed(&error, expr, &what, &tensor.name, related, troubles);
                    return Err(());
                }
            }
        }
        match cache.recipe(&self.facts.entry.name.value, &tensor.name, builtin.name, generator, args) {
            Ok(recipe) => Ok(Some(recipe)),
            Err(why) => {
                let mut names = Vec::new();
                // The reason names the parameter at fault first; what its argument reads is what the row should mend.
                let why = why.to_string();
                let blamed = builtin
                    .params
                    .iter()
                    .zip(&slots)
                    .filter_map(|(parameter, slot)| Some((why.find(&format!("`{}`", parameter.name))?, (*slot)?)));
                if let Some((_, expr)) = blamed.min_by_key(|(at, _)| *at) {
                    facts::reads(expr, &mut |read| add(&mut names, read.name()));
                }
                facts::call_reads(&values.call, &mut |read| add(&mut names, read.name()));
                troubles.push(Trouble {
                    code: &codes::ROW_DOMAIN,
                    names: origins(names, &self.frame),
                    subject: tensor.name.clone(),
                    message: format!("`{}` cannot fill `{}`: {why}", written(values), tensor.name),
                    related: (values.range, format!("the `values` of `{}`", tensor.name)),
                });
                Err(())
            }
        }
    }

    /// Every refinement holds. Those that do not are reported at once; those that have no value wait.
    fn refinements(&mut self, troubles: &mut Vec<Trouble>) {
        let mut blamed = Vec::new();
        for rule in &self.branch.rules {
            let stated = match self.facts.signature.shape_rules.items().get(rule.position) {
                Some(Fact::Valid(formula, _)) => &formula.expr,
                _ => &*rule.expr,
            };
            if self.facts.is_faulty(rule.range, &rule.path) {
                self.lack(format!("whether `{stated}` holds"));
                continue;
            }
            let subject: Arc<str> = stated.to_string().into();
            match evaluate(&rule.expr, &self.frame) {
                Ok(Value::Bool(true)) => {}
                Ok(Value::Bool(false)) => {
                    let names = names_of(stated, &self.frame);
                    let (at, path) = self.site(&names);
                    let readings = readings(stated, &self.frame);
                    let values = if readings.is_empty() { readings } else { format!(": {readings}") };
                    self.findings
                        .report(
                            &codes::ROW_REFINEMENT,
                            at,
                            path,
                            &*subject,
                            format!("`{stated}` does not hold{values}"),
                        )
                        .related(rule.range, "the refinement");
                    blamed.extend(names);
                }
                // Another kind has a defect of its own.
                Ok(_) => self.lack(format!("whether `{stated}` holds")),
                Err(error) => {
                    let what = format!("`{stated}`");
                    self.failed(&error, stated, &what, &subject, (rule.range, "the refinement".to_owned()), troubles);
                }
            }
        }
        self.blame(&blamed);
    }

    /// Every `let` that the call reads has a value.
    fn lets(&mut self, troubles: &mut Vec<Trouble>) {
        let mut used: Option<Vec<Arc<str>>> = None;
        for (name, value) in &self.branch.lets {
            let Some(error) = self.frame.failure(name) else { continue };
            let used = used.get_or_insert_with(|| names_used(self.facts, self.branch, &self.frame));
            if used.contains(name) {
                let at = self.facts.scope.get(name).map_or(value.range, |symbol| symbol.range);
                let related = (at, format!("`{name}` is declared here"));
                self.failed(&error, value, &format!("`{name}`"), name, related, troubles);
            }
        }
    }

    /// Every tensor with its shape, dtype and effect, as far as they can be computed.
    fn tensors(
        &mut self,
        recipes: &[Option<Arc<Generated>>],
        troubles: &mut Vec<Trouble>,
    ) -> Vec<(Arc<str>, Option<CallTensor>)> {
        let branch = self.branch;
        let mut tensors = Vec::with_capacity(branch.tensors.len());
        for (at, tensor) in branch.tensors.iter().enumerate() {
            if tensor.present == Some(false) {
                tensors.push((tensor.name.clone(), None));
                continue;
            }
            let shape = self.shape(tensor, troubles);
            let dtype = self.dtype(tensor, troubles);
            let values = recipes.get(at).cloned().flatten();
            let whole = shape.zip(dtype).map(|(shape, dtype)| CallTensor {
                role: tensor.role,
                shape,
                dtype,
                effect: effect(branch, tensor),
                values,
            });
            if whole.is_none() && troubles.is_empty() {
                self.lack(format!("the shape and the dtype of `{}`", tensor.name));
            }
            tensors.push((tensor.name.clone(), whole));
        }
        tensors
    }

    fn shape(&mut self, tensor: &BranchTensor, troubles: &mut Vec<Trouble>) -> Option<Vec<i128>> {
        let faulty = || self.facts.is_faulty(tensor.shape_range, &format!("{}.shape", tensor.path));
        let Some(axes) = tensor.axes.as_ref().filter(|_| !faulty()) else {
            self.lack(format!("the shape of `{}`", tensor.name));
            return None;
        };
        let mut shape = Vec::with_capacity(axes.len());
        let mut whole = true;
        for axis in axes.iter() {
            let (Axis::One(expr) | Axis::Splice(expr)) = axis;
            if self.facts.is_faulty(expr.range, NO_PATH) {
                whole = false;
                self.lack(format!("the shape of `{}`", tensor.name));
                continue;
            }
            let related = || (tensor.shape_range, format!("the shape of `{}`", tensor.name));
            let value = match evaluate(expr, &self.frame) {
                Ok(value) => value,
                Err(error) => {
                    whole = false;
                    let what = format!("axis {} of `{}`, `{expr}`,", shape.len(), tensor.name);
                    self.failed(&error, expr, &what, &tensor.name, related(), troubles);
                    continue;
                }
            };
            let splice = matches!(axis, Axis::Splice(_));
            let extents: Vec<Option<i128>> = match &value {
                Value::Int(extent) if !splice => vec![Some(*extent)],
                Value::Seq(items) if splice => {
                    items.iter().map(|item| if let Value::Int(n) = item { Some(*n) } else { None }).collect()
                }
                _ => vec![None],
            };
            for extent in extents {
                let Some(extent) = extent else {
                    whole = false;
                    self.lack(format!("the shape of `{}`", tensor.name));
                    continue;
                };
                if extent < 0 {
                    whole = false;
                    let at = shape.len();
                    let message = match splice {
                        false => format!("axis {at} of `{}`, `{expr}`, is {extent}", tensor.name),
                        true => format!("axis {at} of `{}`, out of `*{expr}`, is {extent}", tensor.name),
                    };
                    let readings = readings(expr, &self.frame);
                    let values = if readings.is_empty() { readings } else { format!(": {readings}") };
                    troubles.push(Trouble {
                        code: &codes::ROW_DOMAIN,
                        names: names_of(expr, &self.frame),
                        subject: tensor.name.clone(),
                        message: format!("{message}, and an axis is not negative{values}"),
                        related: related(),
                    });
                }
                shape.push(extent);
            }
        }
        whole.then_some(shape)
    }

    fn dtype(&mut self, tensor: &BranchTensor, troubles: &mut Vec<Trouble>) -> Option<DType> {
        let faulty = |expr: &Expr| self.facts.is_faulty(expr.range, &format!("{}.dtype", tensor.path));
        let Some(expr) = tensor.dtype.as_ref().filter(|expr| !faulty(expr)) else {
            self.lack(format!("the dtype of `{}`", tensor.name));
            return None;
        };
        let found = match evaluate(expr, &self.frame) {
            Ok(Value::DType(dtype)) => Some(dtype),
            Ok(Value::Str(name)) => DType::from_name(&name),
            Ok(_) => None,
            Err(error) => {
                let what = format!("the dtype of `{}`, `{expr}`,", tensor.name);
                let related = (expr.range, format!("the dtype of `{}`", tensor.name));
                self.failed(&error, expr, &what, &tensor.name, related, troubles);
                return None;
            }
        };
        if found.is_none() {
            self.lack(format!("the dtype of `{}`", tensor.name));
        }
        found
    }

    /// The dtypes of the call are a row of `dtype_combos`.
    fn combos(&mut self) {
        let Fact::Valid(combos, range) = &self.facts.signature.dtype_combos else {
            if self.facts.signature.dtype_combos.is_malformed() {
                self.lack("`dtype_combos`");
            }
            return;
        };
        if self.facts.is_faulty(*range, "signature.dtype_combos") {
            self.lack("`dtype_combos`");
            return;
        }
        let mut unread = false;
        let mut nearest: Option<(usize, String)> = None;
        let mut columns: Vec<Arc<str>> = Vec::new();
        for combo in combos {
            let Fact::Valid(combo, _) = combo else {
                unread = true;
                continue;
            };
            let mut agree = 0;
            let mut cells = Vec::new();
            for (column, dtype) in &combo.columns {
                add(&mut columns, &column.value);
                let Some(dtype) = dtype.valid() else {
                    unread = true;
                    continue;
                };
                cells.push(format!("{}: {}", column.value, dtype.name()));
                agree += usize::from(self.frame.given(&column.value) == Some(&Value::DType(*dtype)));
            }
            if agree == combo.columns.len() {
                return;
            }
            if nearest.as_ref().is_none_or(|(best, _)| agree > *best) {
                nearest = Some((agree, cells.join(", ")));
            }
        }
        let known = columns.iter().all(|column| self.frame.given(column).is_some());
        if unread || !known || columns.is_empty() {
            self.lack("`dtype_combos`");
            return;
        }
        let stated: Vec<String> = columns
            .iter()
            .filter_map(|column| Some(format!("`{column}` is {}", show(self.frame.given(column)?))))
            .collect();
        let (at, path) = match self.case.written {
            Some((position, case)) => (case.range, format!("{}.dtype_cases[{position}]", self.read.row.path)),
            None => self.site(&columns),
        };
        let defect = self.findings.report(
            &codes::ROW_COMBO,
            at,
            path,
            columns.join(", "),
            format!("{}, which no row of `dtype_combos` allows", join(&stated)),
        );
        defect.related(*range, "the combinations that the op takes");
        if let Some((_, cells)) = nearest {
            defect.help(format!("the nearest row is `{{{cells}}}`"));
        }
    }

    /// Inferring the call back from its tensors gives the row's indices. The tensors were made from them, so a call that
    /// does not come back is a plan that is wrong, not a row: it is said as what could not be reached.
    fn infer(&mut self, tensors: &[(Arc<str>, Option<CallTensor>)]) {
        let observed: Vec<Observed<'_>> = tensors
            .iter()
            .filter_map(|(name, tensor)| tensor.as_ref().map(|tensor| (name, tensor)))
            .filter(|(_, tensor)| tensor.role != TensorRole::Output)
            .map(|(name, tensor)| Observed { name, shape: &tensor.shape, dtype: tensor.dtype })
            .collect();
        match execute(&self.branch.plan, &self.frame, &observed, &self.read.params) {
            Ok(solved) => {
                for (name, value) in solved {
                    let Some(stated) = self.frame.value(&name) else { continue };
                    if stated != value {
                        self.lack(format!(
                            "an inference that agrees: `{name}` is {} where it gives {}",
                            show(&stated),
                            show(&value)
                        ));
                    }
                }
            }
            Err(mismatch) => self.lack(format!("an inference that agrees: {}", mismatch.message)),
        }
    }

    fn oversized(&mut self, call: &Call) {
        let largest = call
            .tensors
            .iter()
            .filter_map(|(name, tensor)| Some((name, tensor.as_ref()?)))
            .find(|(_, tensor)| tensor.size().is_none());
        let (at, path) = self.read.place();
        let (subject, message) = match largest {
            Some((name, _)) => (&**name, format!("the size of `{name}` in bytes is beyond 128 bits")),
            None => ("bytes", "the bytes that the call moves are beyond 128 bits".to_owned()),
        };
        self.findings.report(&codes::ROW_DOMAIN, at, path, subject, message);
    }
}

/// The id of the case; nothing where a part of it is not known.
pub(super) fn case_id_of(facts: &EntryFacts<'_>, read: &ReadRow<'_>, case: &ReadCase<'_>) -> Option<String> {
    let label = read.row.label.valid()?;
    let mut dtype_params = Vec::new();
    for param in &facts.params {
        // What its values are is not known: they may tell the ids apart.
        if *param.kind == Kind::Error {
            return None;
        }
        let is_dtype = match param.kind {
            Kind::DType(_) => true,
            Kind::Maybe(inner) => matches!(**inner, Kind::DType(_)),
            _ => false,
        };
        if is_dtype {
            let (_, value) = read.params.iter().find(|(name, _)| *name == param.name.value)?;
            dtype_params.push(value);
        }
    }
    Some(case_id(&label.value, &case.dtypes, &dtype_params))
}

/// The names that the call reads at its point, through `let`s too, the formulas of the roofline included.
fn names_used(facts: &EntryFacts<'_>, branch: &Branch, frame: &Frame<'_>) -> Vec<Arc<str>> {
    let mut names = Vec::new();
    for tensor in branch.tensors.iter().filter(|tensor| tensor.present != Some(false)) {
        let axes = tensor.axes.iter().flat_map(|axes| axes.iter());
        axes.for_each(|axis| facts::axis_reads(axis, &mut |read| add(&mut names, read.name())));
        tensor.dtype.iter().for_each(|dtype| facts::reads(dtype, &mut |read| add(&mut names, read.name())));
        for call in tensor.values.iter().chain(&tensor.requires) {
            facts::call_reads(&call.call, &mut |read| add(&mut names, read.name()));
        }
    }
    for rule in &branch.rules {
        facts::reads(&rule.expr, &mut |read| add(&mut names, read.name()));
    }
    if let Some(roofline) = facts.entry.roofline.valid() {
        for formula in [&roofline.flops, &roofline.bytes].into_iter().filter_map(Fact::valid) {
            facts::reads(&fold(&formula.expr, &branch.point), &mut |read| add(&mut names, read.name()));
        }
    }
    origins(names, frame)
}

/// What the call does to the tensor.
fn effect(branch: &Branch, tensor: &BranchTensor) -> Effect {
    match tensor.role {
        TensorRole::Construction => Effect::Read,
        TensorRole::Input => match (tensor.mutated, tensor.write_only) {
            (Some(true), true) => Effect::Write,
            (Some(true), false) => Effect::ReadWrite,
            _ => Effect::Read,
        },
        TensorRole::Output => {
            let source = tensor.alias.as_ref().and_then(|alias| branch.tensor(alias));
            let counted = source.is_some_and(|input| input.present == Some(true) && input.mutated == Some(true));
            if counted { Effect::Alias } else { Effect::Write }
        }
    }
}

/// A call as the manifest writes it.
fn written(call: &BranchCall) -> Expr {
    Expr::new(ExprKind::Call((*call.call).clone()), call.range)
}
