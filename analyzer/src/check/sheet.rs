//! A signature made ready for its points: each expression with the names and the discriminants that it reads, each
//! family application expanded, `let`s and conditions in an order in which they can be decided.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::discriminants::{Variable, finite_values};
use super::facts::{self, Read};
use super::families::{self, Families};
use super::{Assignment, Scope, Symbol, SymbolRole};
use crate::defect::{Code, Findings, Severity, codes, nearest};
use crate::eval::{self, Environment};
use crate::expr::{Axis, Call, Expr, Shape, ShapeKind};
use crate::lang::{DType, Kind, Value};
use crate::model::{Condition, Entry, Fact, Formula, Generator, Pattern, Signature, Tensor, TensorRole};
use crate::text::TextRange;

/// A symbol's position in the scope.
pub(crate) type Sym = usize;

/// A set of small numbers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Bits(Vec<u64>);

impl Bits {
    pub(crate) fn insert(&mut self, bit: usize) -> bool {
        let word = bit / 64;
        if self.0.len() <= word {
            self.0.resize(word + 1, 0);
        }
        let fresh = self.0[word] & (1 << (bit % 64)) == 0;
        self.0[word] |= 1 << (bit % 64);
        fresh
    }

    pub(crate) fn extend(&mut self, bits: &[usize]) {
        for &bit in bits {
            self.insert(bit);
        }
    }

    pub(crate) fn contains(&self, bit: usize) -> bool {
        self.0.get(bit / 64).is_some_and(|word| word & (1 << (bit % 64)) != 0)
    }

    pub(crate) fn union(&mut self, other: &Bits) {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        self.0.iter_mut().zip(&other.0).for_each(|(word, more)| *word |= more);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.iter().all(|&word| word == 0)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        self.0
            .iter()
            .enumerate()
            .flat_map(|(word, &bits)| (0..64).filter(move |b| bits & (1 << b) != 0).map(move |b| word * 64 + b))
    }
}

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

#[derive(Debug, Clone, Default)]
struct Survey {
    vars: Bits,
    open: bool,
    broken: bool,
    faulty: bool,
}

impl Survey {
    fn union(&mut self, other: &Survey) {
        self.vars.union(&other.vars);
        self.open |= other.open;
        self.broken |= other.broken;
        self.faulty |= other.faulty;
    }
}

/// A point with what follows from it.
pub(crate) struct Completed {
    /// The point, with the presence of every tensor that it decides.
    pub(crate) point: super::Point,
    /// The `let`s whose values it decides.
    pub(crate) known_lets: Vec<(Arc<str>, Value)>,
    /// Every `let`, folded.
    pub(crate) lets: Vec<Option<Item>>,
}

impl Completed {
    pub(crate) fn environment(&self) -> PointEnvironment<'_> {
        PointEnvironment { point: &self.point, lets: &self.known_lets }
    }
}

/// What a point fixes: its assignments, and the `let`s that it decides.
pub(crate) struct PointEnvironment<'a> {
    pub(crate) point: &'a super::Point,
    pub(crate) lets: &'a [(Arc<str>, Value)],
}

impl Environment for PointEnvironment<'_> {
    fn value(&self, name: &str) -> Option<Value> {
        self.point.value(name).or_else(|| self.lets.iter().find(|(n, _)| &**n == name).map(|(_, v)| v.clone()))
    }

    fn present(&self, name: &str) -> Option<bool> {
        self.point.present(name)
    }

    fn field(&self, name: &str, field: &str) -> Option<Value> {
        self.point.field(name, field)
    }
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

    /// Whether something inside is wrong, and whether, once it is mended, other names may be read there: not where a
    /// literal is at fault.
    fn faults(&self, range: TextRange) -> Survey {
        let mut survey = Survey::default();
        for (_, code) in self.errors.iter().filter(|(error, _)| range.contains_range(*error)) {
            survey.faulty = true;
            survey.broken |= **code != codes::NO_SUCH_MEMBER;
        }
        survey
    }

    /// Whether something inside is wrong that may have been meant to read any other name.
    fn may_read_anything(&self, range: TextRange) -> bool {
        let named = [&codes::NO_SUCH_MEMBER, &codes::UNKNOWN_NAME];
        self.errors.iter().any(|(error, code)| range.contains_range(*error) && !named.contains(code))
    }

    /// The symbol called `name`.
    pub(crate) fn sym(&self, name: &str) -> Option<Sym> {
        self.by_name.get(name).copied()
    }

    /// The variable called `name`.
    pub(crate) fn variable(&self, name: &str) -> Option<usize> {
        self.variable_of.get(name).copied()
    }

    /// Puts `let`s and conditional tensors in order and surveys them.
    fn survey_nodes(&mut self, signature: &Signature) {
        let lets: Vec<_> = signature.lets.items().iter().collect();
        let tensors: Vec<&Tensor> = facts::tensors(signature).collect();
        let condition = |tensor: &Tensor| match &tensor.optional {
            Fact::Valid(Condition::When(formula), _) => Some(formula.expr.clone()),
            _ => None,
        };
        let mut node_of: FxHashMap<Arc<str>, usize> = FxHashMap::default();
        let mut nodes: Vec<(Node, Option<Expr>)> = Vec::new();
        for (position, l) in lets.iter().enumerate() {
            // Of two declarations of one name the first stands, and a `let` may be the second.
            if self.let_of.contains(&Some(position)) {
                node_of.entry(l.name.value.clone()).or_insert(nodes.len());
            }
            nodes.push((Node::Let(position), l.value.valid().map(|f| f.expr.clone())));
        }
        for (position, tensor) in tensors.iter().enumerate() {
            if let Some(expr) = condition(tensor) {
                node_of.entry(tensor.name.value.clone()).or_insert(nodes.len());
                nodes.push((Node::Tensor(position), Some(expr)));
            }
        }
        for tensor in tensors.iter().filter(|tensor| tensor.optional.is_malformed()) {
            let survey = Survey { faulty: true, ..Survey::default() };
            self.presence_surveys.insert(tensor.name.value.clone(), survey);
        }
        // Kahn's algorithm; in the order declared where several are ready.
        let mut waits: Vec<usize> = vec![0; nodes.len()];
        let mut readers: Vec<Vec<usize>> = vec![Vec::new(); nodes.len()];
        for (position, (_, expr)) in nodes.iter().enumerate() {
            let mut read_nodes = Vec::new();
            if let Some(expr) = expr {
                facts::reads(expr, &mut |read| {
                    if let (Read::Value(name) | Read::Present(name), Some(&node)) = (read, node_of.get(read.name())) {
                        let is_let = matches!(nodes[node].0, Node::Let(_));
                        // A `let` is read by value, a tensor by its presence.
                        if is_let == matches!(read, Read::Value(_)) && !read_nodes.contains(&node) {
                            let _ = name;
                            read_nodes.push(node);
                        }
                    }
                });
            }
            waits[position] = read_nodes.len();
            read_nodes.iter().for_each(|&node| readers[node].push(position));
        }
        let unread = Survey { broken: true, faulty: true, open: true, ..Survey::default() };
        self.let_surveys = vec![unread.clone(); lets.len()];
        self.lets = lets
            .iter()
            .enumerate()
            .map(|(position, l)| LetSheet {
                name: l.name.value.clone(),
                sym: self.sym(&l.name.value).filter(|&sym| self.let_of[sym] == Some(position)),
                value: None,
            })
            .collect();
        let mut ready: std::collections::BTreeSet<usize> = (0..nodes.len()).filter(|&n| waits[n] == 0).collect();
        let mut reached = vec![false; nodes.len()];
        while let Some(position) = ready.pop_first() {
            reached[position] = true;
            let (node, expr) = &nodes[position];
            self.order.push(*node);
            let survey = expr.as_ref().map_or_else(|| unread.clone(), |e| self.survey(e));
            match *node {
                Node::Let(l) => {
                    self.let_surveys[l] = survey;
                    let value = expr.as_ref().map(|expr| self.item(expr));
                    let constant = value.as_ref().and_then(|item| facts::literal(&item.expr));
                    if let Some(constant) = constant.filter(|_| self.lets[l].sym.is_some()) {
                        self.constant_lets.push((self.lets[l].name.clone(), constant));
                    }
                    self.lets[l].value = value;
                }
                Node::Tensor(t) => {
                    self.presence_surveys.insert(tensors[t].name.value.clone(), survey);
                }
            }
            for &reader in &readers[position] {
                waits[reader] -= 1;
                if waits[reader] == 0 {
                    ready.insert(reader);
                }
            }
        }
        for (position, (node, expr)) in nodes.iter().enumerate().filter(|(position, _)| !reached[*position]) {
            let _ = position;
            match *node {
                Node::Tensor(t) => {
                    self.cyclic.push(t);
                    let survey = Survey { broken: true, faulty: true, ..Survey::default() };
                    self.presence_surveys.insert(tensors[t].name.value.clone(), survey);
                }
                Node::Let(l) => {
                    self.lets[l].value = expr.as_ref().map(|expr| {
                        let mut item = self.item(expr);
                        item.broken = true;
                        item.faulty = true;
                        item
                    });
                }
            }
        }
    }

    fn survey(&self, expr: &Expr) -> Survey {
        let mut survey = Survey { broken: facts::has_error(expr), ..Survey::default() };
        facts::reads(expr, &mut |read| survey.union(&self.survey_read(read)));
        survey.union(&self.faults(expr.range));
        survey.faulty |= survey.broken;
        survey
    }

    /// Whether no point decides what `read` reads.
    pub(crate) fn is_open(&self, read: Read<'_>) -> bool {
        self.survey_read(read).open
    }

    fn survey_read(&self, read: Read<'_>) -> Survey {
        let mut survey = Survey::default();
        let name = read.name();
        let symbol = self.sym(name).map(|sym| &self.symbols[sym]);
        match read {
            Read::Tensor(_) => survey.broken = symbol.is_none(),
            Read::Present(_) => {
                if let Some(condition) = self.presence_surveys.get(name) {
                    survey.union(condition);
                } else if let Some(variable) = self.variable(name) {
                    survey.vars.insert(variable);
                } else if symbol.is_none() {
                    // `out` without a buffer, and an unknown name, have defects of their own.
                    survey.broken = true;
                }
            }
            Read::Value(_) => match symbol {
                None => survey.broken = DType::from_name(name).is_none(),
                Some(symbol) => match symbol.role {
                    SymbolRole::Index | SymbolRole::Tensor(_) => {
                        survey.open = true;
                        survey.faulty = symbol.kind == Kind::Error;
                    }
                    SymbolRole::Let => {
                        match self.sym(name).and_then(|sym| self.let_of[sym]).and_then(|l| self.let_surveys.get(l)) {
                            Some(of_let) => survey.union(of_let),
                            None => survey.broken = true,
                        }
                    }
                    SymbolRole::Param => {
                        if let Some(variable) = self.variable(name) {
                            survey.vars.insert(variable);
                        }
                        let inner = match &symbol.kind {
                            Kind::Maybe(inner) => inner,
                            kind => kind,
                        };
                        survey.open = !matches!(inner, Kind::Bool | Kind::Enum(_));
                        survey.faulty = *inner == Kind::Error;
                    }
                },
            },
            Read::Field(_, field) => {
                survey.open = true;
                match symbol.map(|s| &s.kind) {
                    None => survey.broken = true,
                    Some(kind) => {
                        let kind = match kind {
                            Kind::Maybe(inner) => inner,
                            kind => kind,
                        };
                        if let Kind::Adt(adt, _) = kind {
                            let finite = &**field == "kind"
                                || adt
                                    .constructors
                                    .iter()
                                    .filter_map(|c| c.field(field))
                                    .any(|f| !finite_values(&f.kind).is_empty());
                            if let Some(variable) = self.variable(name).filter(|_| finite) {
                                survey.vars.insert(variable);
                                survey.open = false;
                            }
                        }
                        survey.faulty = *kind == Kind::Error;
                    }
                }
            }
        }
        survey
    }

    /// `expr` with what it reads, folded where nothing that it depends on varies.
    pub(crate) fn item(&self, expr: &Expr) -> Item {
        let survey = self.survey(expr);
        let expr = match survey.vars.is_empty() {
            true => eval::fold(expr, &PointEnvironment { point: &self.constants, lets: &self.constant_lets }),
            false => expr.clone(),
        };
        let expr = Arc::new(expr);
        let syms = self.syms(&expr);
        Item { syms, vars: survey.vars, open: survey.open, broken: survey.broken, faulty: survey.faulty, expr }
    }

    /// The symbols whose values or fields `expr` reads.
    pub(crate) fn syms(&self, expr: &Expr) -> Arc<[Sym]> {
        let mut syms = Vec::new();
        facts::reads(expr, &mut |read| self.note(read, &mut syms));
        syms.into()
    }

    /// As [`Sheet::syms`], of a call's arguments.
    pub(crate) fn call_syms(&self, call: &Call) -> Arc<[Sym]> {
        let mut syms = Vec::new();
        facts::call_reads(call, &mut |read| self.note(read, &mut syms));
        syms.into()
    }

    fn note(&self, read: Read<'_>, syms: &mut Vec<Sym>) {
        if let (Read::Value(name) | Read::Field(name, _), Some(sym)) = (read, self.sym(read.name())) {
            let _ = name;
            if !syms.contains(&sym) {
                syms.push(sym);
            }
        }
    }

    fn call_item(&self, generator: &Generator) -> CallItem {
        let mut survey = Survey::default();
        facts::call_reads(&generator.call, &mut |read| survey.union(&self.survey_read(read)));
        let arguments = generator.call.args.iter().chain(generator.call.keywords.iter().map(|(_, value)| value));
        survey.union(&self.faults(generator.range));
        let broken = survey.broken || arguments.into_iter().any(facts::has_error);
        CallItem {
            call: Arc::new(generator.call.clone()),
            range: generator.range,
            path: generator.path.clone(),
            syms: self.call_syms(&generator.call),
            vars: survey.vars,
            broken,
            faulty: broken || survey.faulty,
        }
    }

    fn when(&self, condition: &Fact<Condition>, absent: bool, own: bool) -> When {
        match condition {
            Fact::Absent(_) => When::Always(absent),
            Fact::Malformed(_) => When::Broken,
            Fact::Valid(Condition::Always(true), _) if own => When::Point,
            Fact::Valid(Condition::Always(value), _) => When::Always(if own { true } else { *value }),
            Fact::Valid(Condition::When(formula), _) => When::Condition(self.item(&formula.expr)),
        }
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

    fn axes(&self, axes: &[Axis]) -> ShapeSheet {
        let items: Arc<[AxisItem]> = axes
            .iter()
            .map(|axis| match axis {
                Axis::One(expr) => AxisItem { splice: false, item: self.item(expr) },
                Axis::Splice(expr) => AxisItem { splice: true, item: self.item(expr) },
            })
            .collect();
        let varies = items.iter().any(|axis| axis.item.varies());
        ShapeSheet::Axes { items, axes: axes.into(), varies }
    }

    /// How many families may be applied inside each other.
    const MAX_NESTING: usize = 32;

    fn shape(
        &mut self,
        shape: &Shape,
        path: &str,
        depth: usize,
        budget: &mut usize,
        findings: &mut Findings,
    ) -> ShapeSheet {
        let (name, arguments) = match &shape.kind {
            ShapeKind::Axes(axes) => return self.axes(axes),
            ShapeKind::Error(_) => return ShapeSheet::Broken,
            ShapeKind::Family(name, arguments) => (name, arguments),
        };
        if depth == 0
            && let Some((position, _)) = self.families.find(&name.value)
        {
            self.applied[position] = true;
        }
        let families = std::mem::take(&mut self.families);
        // An application inside a case is judged with the case; here it is expanded only.
        let mut silent = Findings::default();
        let judged = {
            let into = if depth == 0 { &mut *findings } else { &mut silent };
            families::judge_application(&families, name, arguments, path, into)
        };
        let expanded = judged.and_then(|(position, family)| {
            let scrutinees: Vec<Item> =
                family.scrutinees.iter().filter_map(|&s| arguments.get(s)).map(|arg| self.item(arg)).collect();
            if !self.judge_scrutinees(family, &scrutinees, name, path, findings) || depth >= Self::MAX_NESTING {
                return None;
            }
            let cases: Option<Vec<(Vec<Pattern>, Shape)>> = family
                .cases
                .iter()
                .map(|case| {
                    let shape = families::substitute_shape(&case.shape, &family.formals, arguments, budget)?;
                    Some((case.patterns.clone(), shape))
                })
                .collect();
            if cases.is_none() {
                findings
                    .report(
                        &crate::defect::codes::FAMILY_APPLICATION,
                        name.range,
                        path,
                        &*name.value,
                        format!("`{}` with its arguments put in grows too large", name.value),
                    )
                    .help("name the large arguments in `let`");
            }
            Some((position, scrutinees, cases?))
        });
        self.families = families;
        let Some((family, scrutinees, cases)) = expanded else { return ShapeSheet::Broken };
        let cases = cases
            .into_iter()
            .map(|(patterns, shape)| (patterns, self.shape(&shape, path, depth + 1, budget, findings)))
            .collect();
        ShapeSheet::Family(Box::new(Application { family, scrutinees, cases }))
    }

    /// Whether the points decide every scrutinee of an application; one that they do not is a defect.
    fn judge_scrutinees(
        &self,
        family: &families::FamilyFacts,
        scrutinees: &[Item],
        name: &crate::expr::Ident,
        path: &str,
        findings: &mut Findings,
    ) -> bool {
        let mut decided = true;
        for (&position, item) in family.scrutinees.iter().zip(scrutinees) {
            let Some((formal, kind)) = family.formals.get(position) else { continue };
            if item.faulty {
                decided = false;
                continue;
            }
            let names_adt = facts::without_value(&item.expr).as_name().and_then(|n| self.sym(n)).is_some_and(|sym| {
                match &self.symbols[sym].kind {
                    Kind::Adt(..) => true,
                    Kind::Maybe(inner) => matches!(**inner, Kind::Adt(..)),
                    _ => false,
                }
            });
            let fits = match kind {
                Kind::Adt(..) => names_adt,
                _ => !item.open,
            };
            if fits {
                continue;
            }
            decided = false;
            // An argument of the wrong kind is a defect of its own kind, judged where kinds are.
            let wrong_kind = matches!(kind, Kind::Adt(..)) || names_adt || self.is_plain_misfit(&item.expr, kind);
            if wrong_kind {
                continue;
            }
            findings
                .report(
                    &crate::defect::codes::FAMILY_APPLICATION,
                    item.expr.range,
                    path,
                    &*name.value,
                    format!(
                        "`{}` matches on `{}`, which no discriminant decides here: `{}`",
                        name.value, formal.value, item.expr
                    ),
                )
                .help("pass a Boolean or an enum parameter, `present(…)`, or a condition over them")
                .related(family.name.range, format!("`{}` is declared here", name.value));
        }
        decided
    }

    /// Whether the argument is a bare name whose kind cannot be the formal's.
    fn is_plain_misfit(&self, expr: &Expr, formal: &Kind) -> bool {
        let Some(symbol) = expr.as_name().and_then(|n| self.sym(n)).map(|sym| &self.symbols[sym]) else { return false };
        match formal {
            Kind::Bool => !matches!(symbol.kind, Kind::Bool),
            _ => !matches!(symbol.kind, Kind::Enum(_)),
        }
    }

    /// The point completed with every tensor's presence, and the `let`s that it decides.
    pub(crate) fn complete(&self, point: &super::Point) -> Completed {
        let mut completed = point.clone();
        let mut lets = self.constant_lets.clone();
        let mut folded: Vec<Option<Item>> = vec![None; self.lets.len()];
        for tensor in &self.tensors {
            if let When::Always(present) = tensor.present {
                completed.assignments.push((tensor.facts.name.value.clone(), Assignment::Present(present)));
            }
        }
        for node in &self.order {
            match *node {
                Node::Let(l) => {
                    let Some(item) = &self.lets[l].value else { continue };
                    if !item.varies() {
                        folded[l] = Some(item.clone());
                        continue;
                    }
                    let item = self.fold(item, &PointEnvironment { point: &completed, lets: &lets });
                    if let Some(value) = facts::literal(&item.expr).filter(|_| self.lets[l].sym.is_some()) {
                        lets.push((self.lets[l].name.clone(), value));
                    }
                    folded[l] = Some(item);
                }
                Node::Tensor(t) => {
                    let tensor = &self.tensors[t];
                    if let When::Condition(item) = &tensor.present {
                        let item = self.fold(item, &PointEnvironment { point: &completed, lets: &lets });
                        if let Some(Value::Bool(present)) = facts::literal(&item.expr) {
                            completed.assignments.push((tensor.facts.name.value.clone(), Assignment::Present(present)));
                        }
                    }
                }
            }
        }
        // A `let` on a cycle is taken as written.
        for (l, slot) in folded.iter_mut().enumerate() {
            if slot.is_none() {
                slot.clone_from(&self.lets[l].value);
            }
        }
        Completed { point: completed, known_lets: lets, lets: folded }
    }

    /// `item` folded at a point.
    pub(crate) fn fold(&self, item: &Item, point: &PointEnvironment<'_>) -> Item {
        let expr = eval::fold(&item.expr, point);
        let syms = self.syms(&expr);
        Item { expr: Arc::new(expr), syms, vars: Bits::default(), ..item.clone() }
    }

    /// `call` with its arguments folded at a point.
    pub(crate) fn fold_call(&self, item: &CallItem, point: &PointEnvironment<'_>) -> CallItem {
        let mut call = (*item.call).clone();
        call.args.iter_mut().chain(call.keywords.iter_mut().map(|(_, value)| value)).for_each(|arg| {
            *arg = eval::fold(arg, point);
        });
        let syms = self.call_syms(&call);
        CallItem { call: Arc::new(call), syms, vars: Bits::default(), ..item.clone() }
    }
}

impl ShapeSheet {
    pub(crate) fn add_vars(&self, vars: &mut Bits) {
        match self {
            ShapeSheet::Axes { items, .. } => items.iter().for_each(|axis| vars.union(&axis.item.vars)),
            ShapeSheet::Family(application) => {
                application.scrutinees.iter().for_each(|item| vars.union(&item.vars));
                application.cases.iter().for_each(|(_, shape)| shape.add_vars(vars));
            }
            ShapeSheet::Broken => {}
        }
    }

    /// The symbols that it reads in any case.
    pub(crate) fn add_syms(&self, syms: &mut Bits) {
        match self {
            ShapeSheet::Axes { items, .. } => items.iter().for_each(|axis| syms.extend(&axis.item.syms)),
            ShapeSheet::Family(application) => application.cases.iter().for_each(|(_, shape)| shape.add_syms(syms)),
            ShapeSheet::Broken => {}
        }
    }

    fn is_unread(&self) -> bool {
        match self {
            ShapeSheet::Axes { .. } => false,
            ShapeSheet::Family(application) => application.cases.iter().any(|(_, shape)| shape.is_unread()),
            ShapeSheet::Broken => true,
        }
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
