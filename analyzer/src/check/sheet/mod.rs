//! A signature made ready for its points: each expression with the names and the discriminants that it reads, each
//! family application expanded, `let`s and conditions in an order in which they can be decided.

mod bits;
mod complete;
mod shape;
mod survey;

use std::sync::Arc;

use rustc_hash::FxHashMap;

pub(crate) use bits::Bits;
pub(crate) use complete::{Completed, PointEnvironment};
use survey::Survey;

use super::discriminants::Variable;
use super::facts::{self, Read};
use super::families::{self, Families};
use super::{Assignment, Scope, Symbol, SymbolRole};
use crate::defect::{Code, Findings, Severity, nearest};
use crate::expr::{Axis, Call, Expr, ShapeKind};
use crate::lang::{DType, Value};
use crate::model::{Condition, Entry, Fact, Formula, Pattern, Signature, Tensor, TensorRole};
use crate::text::TextRange;

/// A symbol's position in the scope.
pub(crate) type Sym = usize;

/// An expression with what it reads.
#[derive(Debug, Clone)]
pub(crate) struct Item {
    pub(crate) expr: Arc<Expr>,
    /// The symbols whose values or fields it reads, each once.
    pub(crate) syms: Arc<[Sym]>,
    /// The variables of the point that it depends on, through `let`s and conditions too.
    pub(crate) vars: Bits,
    /// Whether it reads something that no point decides.
    pub(crate) open: bool,
    /// Whether part of it could not be read, or reads what nothing declares: those have defects of their own, and what
    /// it reads is not all known.
    pub(crate) broken: bool,
    /// Whether it, or a `let` or a condition that it reads, has a defect of its own: what it says proves nothing.
    pub(crate) faulty: bool,
}

impl Item {
    /// Whether it differs from point to point.
    pub(crate) fn varies(&self) -> bool {
        !self.vars.is_empty()
    }
}

/// One item of a shape.
#[derive(Debug, Clone)]
pub(crate) struct AxisItem {
    pub(crate) splice: bool,
    pub(crate) item: Item,
}

/// A generator's or a predicate's call.
#[derive(Debug, Clone)]
pub(crate) struct CallItem {
    pub(crate) call: Arc<Call>,
    pub(crate) range: TextRange,
    pub(crate) path: Arc<str>,
    pub(crate) syms: Arc<[Sym]>,
    pub(crate) vars: Bits,
    pub(crate) broken: bool,
    pub(crate) faulty: bool,
}

/// A shape with its families applied.
#[derive(Debug, Clone)]
pub(crate) enum ShapeSheet {
    /// Axes, shared by every point where none of them varies.
    Axes { items: Arc<[AxisItem]>, axes: Arc<[Axis]>, varies: bool },
    /// A family's application.
    Family(Box<Application>),
    /// Not readable; it has a defect of its own.
    Broken,
}

/// A family applied to arguments.
#[derive(Debug, Clone)]
pub(crate) struct Application {
    /// The family, by its position.
    pub(crate) family: usize,
    /// The arguments of the scrutinees.
    pub(crate) scrutinees: Vec<Item>,
    /// The cases, the arguments put in.
    pub(crate) cases: Vec<(Vec<Pattern>, ShapeSheet)>,
}

/// A Boolean that may depend on the point.
#[derive(Debug, Clone)]
pub(crate) enum When {
    Always(bool),
    /// The presence of a tensor of its own right: the point says it.
    Point,
    Condition(Item),
    /// Not readable; it has a defect of its own.
    Broken,
}

/// A tensor.
#[derive(Debug, Clone)]
pub(crate) struct TensorSheet {
    pub(crate) facts: Tensor,
    pub(crate) present: When,
    pub(crate) shape: ShapeSheet,
    pub(crate) dtype: Option<Item>,
    pub(crate) mutated: When,
    pub(crate) values: Option<CallItem>,
    pub(crate) requires: Vec<CallItem>,
    /// Every variable that it depends on.
    pub(crate) vars: Bits,
}

/// A `let`.
#[derive(Debug, Clone)]
pub(crate) struct LetSheet {
    pub(crate) name: Arc<str>,
    pub(crate) sym: Option<Sym>,
    pub(crate) value: Option<Item>,
}

/// A refinement.
#[derive(Debug, Clone)]
pub(crate) struct RuleSheet {
    pub(crate) position: usize,
    pub(crate) item: Item,
    pub(crate) range: TextRange,
    pub(crate) path: Arc<str>,
}

/// A refinement that cannot be relied on. Mended, it may refuse combinations of these variables.
#[derive(Debug, Clone)]
pub(crate) struct Doubt {
    pub(crate) path: Arc<str>,
    /// Nothing where it may be about any of them.
    pub(crate) vars: Option<Bits>,
}

/// What decides the points' order: a `let`, or a tensor's presence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Node {
    Let(usize),
    Tensor(usize),
}

/// A signature made ready.
#[derive(Debug)]
pub(crate) struct Sheet {
    pub(crate) symbols: Vec<Symbol>,
    by_name: FxHashMap<Arc<str>, Sym>,
    pub(crate) variables: Vec<Variable>,
    variable_of: FxHashMap<Arc<str>, usize>,
    /// Of each symbol, the `let` that it is.
    pub(crate) let_of: Vec<Option<usize>>,
    /// What no point changes: the presence of required tensors, and `let`s that are literals.
    constants: super::Point,
    pub(crate) constant_lets: Vec<(Arc<str>, Value)>,
    /// The `forall` indices, in the order declared: those of the scope.
    pub(crate) indices: Vec<Sym>,
    pub(crate) tensors: Vec<TensorSheet>,
    pub(crate) lets: Vec<LetSheet>,
    pub(crate) rules: Vec<RuleSheet>,
    /// `flops` and `bytes` of an inline roofline.
    pub(crate) formulas: Vec<Item>,
    /// Their paths.
    pub(crate) formula_paths: Vec<Arc<str>>,
    pub(crate) families: Families,
    /// Which families a tensor's shape applies.
    pub(crate) applied: Vec<bool>,
    /// `let`s and conditional tensors, each behind what it reads. Those on a cycle are not here.
    pub(crate) order: Vec<Node>,
    /// The conditional tensors that are not in `order`.
    pub(crate) cyclic: Vec<usize>,
    /// The refinements whose part in the domain is not known.
    pub(crate) doubts: Vec<Doubt>,
    /// Whether an expression could not be read: then what nothing reads may still be used.
    pub(crate) unread: bool,
    /// Whether a `let` could not be read, or the names are not all known.
    pub(crate) unread_lets: bool,
    /// Whether a refinement or a formula could not be read.
    pub(crate) unread_rules: bool,
    /// The names that expressions read and nothing declares: each was meant to be another.
    pub(crate) unknown_names: Vec<Arc<str>>,
    /// Whether the indices, or the tensors that could solve them, are not all known.
    pub(crate) unread_inputs: bool,
    /// What each `let` and each tensor's presence depends on, while the sheet is built.
    let_surveys: Vec<Survey>,
    presence_surveys: FxHashMap<Arc<str>, Survey>,
    /// Where the entry is wrong, and how, as was said before.
    errors: Vec<(TextRange, &'static Code)>,
}

impl Sheet {
    /// Makes the signature of `entry` ready. Defects of family applications are reported.
    pub(crate) fn new(
        entry: &Entry,
        signature: &Signature,
        scope: &Scope,
        variables: Vec<Variable>,
        families: Families,
        findings: &mut Findings,
    ) -> Sheet {
        let symbols: Vec<Symbol> = scope.iter().cloned().collect();
        let by_name = symbols.iter().enumerate().map(|(sym, symbol)| (symbol.name.clone(), sym)).collect();
        let variable_of = variables.iter().enumerate().map(|(var, variable)| (variable.name.clone(), var)).collect();
        let indices = (0..symbols.len()).filter(|&sym| symbols[sym].role == SymbolRole::Index).collect();
        let inline: Vec<&Formula> =
            entry.roofline.valid().into_iter().flat_map(|r| [r.flops.valid(), r.bytes.valid()]).flatten().collect();
        let unread_lets = !scope.complete || signature.lets.is_malformed();
        let unread_roofline = match &entry.roofline {
            Fact::Absent(_) | Fact::Malformed(_) => true,
            Fact::Valid(r, _) => {
                let lacks_flops = r.flops.is_absent() && r.func.is_absent();
                lacks_flops || r.flops.is_malformed() || r.bytes.is_malformed() || r.func.is_malformed()
            }
        };
        let unread_rules = signature.shape_rules.is_malformed()
            || signature.shape_rules.items().iter().any(Fact::is_malformed)
            || unread_roofline;
        let errors = findings.defects.iter().filter(|defect| defect.code.severity == Severity::Error);
        let errors = errors.map(|defect| (defect.range, defect.code)).collect();
        let mut let_of = vec![None; symbols.len()];
        for (position, l) in signature.lets.items().iter().enumerate() {
            let sym = symbols.iter().position(|s| s.role == SymbolRole::Let && s.range == l.name.range);
            sym.into_iter().for_each(|sym| let_of[sym] = Some(position));
        }
        let required = facts::tensors(signature).filter(|tensor| match &tensor.optional {
            Fact::Absent(_) | Fact::Valid(Condition::Always(false), _) => true,
            Fact::Malformed(_) | Fact::Valid(..) => false,
        });
        let constants =
            super::Point { assignments: required.map(|t| (t.name.value.clone(), Assignment::Present(true))).collect() };
        let mut sheet = Sheet {
            let_of,
            constants,
            constant_lets: Vec::new(),
            symbols,
            by_name,
            variables,
            variable_of,
            indices,
            tensors: Vec::new(),
            lets: Vec::new(),
            rules: Vec::new(),
            formulas: Vec::new(),
            formula_paths: inline.iter().map(|formula| formula.path.clone()).collect(),
            applied: vec![false; families.members.len()],
            families,
            order: Vec::new(),
            cyclic: Vec::new(),
            doubts: Vec::new(),
            unread: unread_lets || unread_rules || signature.types.is_malformed(),
            unread_lets,
            unread_rules,
            unknown_names: Vec::new(),
            unread_inputs: !scope.complete,
            let_surveys: Vec::new(),
            presence_surveys: FxHashMap::default(),
            errors,
        };
        sheet.survey_nodes(signature);
        for tensor in facts::tensors(signature) {
            let ready = sheet.tensor(tensor, findings);
            sheet.tensors.push(ready);
        }
        let rules = signature.shape_rules.items().iter().enumerate();
        for (position, formula) in rules.filter_map(|(position, rule)| Some((position, rule.valid()?))) {
            let item = sheet.item(&formula.expr);
            let range = signature.shape_rules.items()[position].range();
            sheet.rules.push(RuleSheet { position, item, range, path: formula.path.clone() });
        }
        for formula in inline {
            let item = sheet.item(&formula.expr);
            sheet.formulas.push(item);
        }
        sheet.unread_lets |= sheet.lets.iter().any(|l| l.value.as_ref().is_none_or(|v| v.broken));
        sheet.unread_rules |= sheet.rules.iter().map(|rule| &rule.item).chain(&sheet.formulas).any(|item| item.broken);
        sheet.unread |= sheet.tensors.iter().any(TensorSheet::is_unread);
        sheet.note_unknown(entry, signature);
        sheet.note_doubts(signature);
        sheet
    }

    /// Collects the names that nothing declares, and whether a place is worse than that.
    fn note_unknown(&mut self, entry: &Entry, signature: &Signature) {
        let mut unread = false;
        let mut names: Vec<Arc<str>> = Vec::new();
        let mut read = |read: Read<'_>| {
            let name = read.name();
            if self.sym(name).is_none() && DType::from_name(name).is_none() && !names.contains(name) {
                names.push(name.clone());
            }
        };
        let mut expr = |expr: &Expr| {
            unread |= facts::has_error(expr) || self.may_read_anything(expr.range);
            facts::reads(expr, &mut read);
        };
        signature.lets.items().iter().filter_map(|l| l.value.valid()).for_each(|formula| expr(&formula.expr));
        signature.shape_rules.items().iter().filter_map(Fact::valid).for_each(|formula| expr(&formula.expr));
        let roofline = entry.roofline.valid().into_iter().flat_map(|r| [r.flops.valid(), r.bytes.valid()]).flatten();
        roofline.for_each(|formula| expr(&formula.expr));
        for tensor in facts::tensors(signature) {
            tensor.dtype.valid().into_iter().for_each(|formula| expr(&formula.expr));
            for condition in [&tensor.optional, &tensor.mutated] {
                if let Fact::Valid(Condition::When(formula), _) = condition {
                    expr(&formula.expr);
                }
            }
            let calls = tensor.values.valid().into_iter().chain(tensor.requires.items().iter().filter_map(Fact::valid));
            for call in calls {
                let keywords = call.call.keywords.iter().map(|(_, value)| value);
                call.call.args.iter().chain(keywords).for_each(&mut expr);
            }
            if let Some(shape) = tensor.shape.valid() {
                match &shape.kind {
                    ShapeKind::Axes(axes) => {
                        axes.iter().for_each(|(Axis::One(axis) | Axis::Splice(axis))| expr(axis));
                    }
                    ShapeKind::Family(_, operands) | ShapeKind::Error(operands) => operands.iter().for_each(&mut expr),
                }
            }
        }
        unread |= facts::tensors(signature)
            .flat_map(|tensor| {
                tensor.values.valid().into_iter().chain(tensor.requires.items().iter().filter_map(Fact::valid))
            })
            .any(|call| self.may_read_anything(call.range));
        self.unread |= unread;
        self.unknown_names = names;
    }

    /// Collects the refinements that may restrict the domain once they are mended.
    fn note_doubts(&mut self, signature: &Signature) {
        let path: Arc<str> = Arc::from("signature.shape_rules");
        let mut doubts = Vec::new();
        if signature.shape_rules.is_malformed() {
            doubts.push(Doubt { path: path.clone(), vars: None });
        }
        for (position, rule) in signature.shape_rules.items().iter().enumerate() {
            if rule.is_malformed() {
                doubts.push(Doubt { path: format!("{path}[{position}]").into(), vars: None });
            }
        }
        for rule in self.rules.iter().filter(|rule| rule.item.faulty && !rule.item.open) {
            let mut vars = rule.item.vars.clone();
            facts::reads(&rule.item.expr, &mut |read| {
                let name = read.name();
                if self.sym(name).is_none() && DType::from_name(name).is_none() {
                    let meant = nearest(name, self.variables.iter().map(|variable| &*variable.name));
                    vars.extend(meant.and_then(|meant| self.variable(meant)).as_slice());
                }
            });
            let known = !rule.item.broken || !vars.is_empty();
            doubts.push(Doubt { path: rule.path.clone(), vars: known.then_some(vars) });
        }
        self.doubts = doubts;
    }

    /// Whether something that could not be read may have been meant to read the name.
    pub(crate) fn may_read(&self, name: &str) -> bool {
        self.unread
            || self.unknown_names.iter().any(|unknown| {
                let names = self.indices.iter().map(|&sym| &*self.symbols[sym].name);
                nearest(unknown, names).is_none_or(|meant| meant == name)
            })
    }

    /// The symbol called `name`.
    pub(crate) fn sym(&self, name: &str) -> Option<Sym> {
        self.by_name.get(name).copied()
    }

    /// The variable called `name`.
    pub(crate) fn variable(&self, name: &str) -> Option<usize> {
        self.variable_of.get(name).copied()
    }

    fn tensor(&mut self, tensor: &Tensor, findings: &mut Findings) -> TensorSheet {
        let present = self.when(&tensor.optional, true, true);
        let present = match present {
            // An output has no presence of its own; `nullable: true` has a defect where effects are judged.
            When::Point if tensor.role == TensorRole::Output => When::Broken,
            other => other,
        };
        let mut vars = Bits::default();
        match &present {
            When::Point => vars.extend(self.variable(&tensor.name.value).as_slice()),
            When::Condition(item) => vars.union(&item.vars),
            When::Always(_) | When::Broken => {}
        }
        let mut budget = families::MAX_NODES;
        let path = format!("{}.shape", tensor.path);
        let shape = match &tensor.shape {
            Fact::Valid(shape, _) => self.shape(shape, &path, 0, &mut budget, findings),
            Fact::Absent(_) | Fact::Malformed(_) => ShapeSheet::Broken,
        };
        let dtype = tensor.dtype.valid().map(|formula| self.item(&formula.expr));
        let mutated = self.when(&tensor.mutated, false, false);
        let values = tensor.values.valid().map(|generator| self.call_item(generator));
        let requires: Vec<CallItem> =
            tensor.requires.items().iter().filter_map(Fact::valid).map(|call| self.call_item(call)).collect();
        shape.add_vars(&mut vars);
        dtype.iter().for_each(|item| vars.union(&item.vars));
        if let When::Condition(item) = &mutated {
            vars.union(&item.vars);
        }
        values.iter().chain(&requires).for_each(|call| vars.union(&call.vars));
        TensorSheet { facts: tensor.clone(), present, shape, dtype, mutated, values, requires, vars }
    }
}

impl TensorSheet {
    /// Whether a part of it could not be read at all.
    pub(crate) fn is_unread(&self) -> bool {
        self.shape.is_unread() || self.dtype.is_none() || matches!(self.present, When::Broken) || self.has_unread_call()
    }

    /// Whether its generator or one of its predicates could not be read.
    pub(crate) fn has_unread_call(&self) -> bool {
        self.facts.values.is_malformed()
            || self.facts.requires.is_malformed()
            || self.facts.requires.items().iter().any(Fact::is_malformed)
    }

    /// Whether it is a tensor that a call passes in.
    pub(crate) fn is_passed(&self) -> bool {
        matches!(self.facts.role, TensorRole::Construction | TensorRole::Input)
    }
}
