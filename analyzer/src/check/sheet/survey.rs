//! What each expression reads and depends on: the variables that decide it, and whether something in it is wrong.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::{Bits, CallItem, Item, LetSheet, Node, PointEnvironment, Sheet, Sym, When};
use crate::check::SymbolRole;
use crate::check::discriminants::finite_values;
use crate::check::facts::{self, Read};
use crate::defect::codes;
use crate::eval;
use crate::expr::{Call, Expr};
use crate::lang::{DType, Kind};
use crate::model::{Condition, Fact, Generator, Signature, Tensor};
use crate::text::TextRange;

#[derive(Debug, Clone, Default)]
pub(super) struct Survey {
    pub(super) vars: Bits,
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

impl Sheet {
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
    pub(super) fn may_read_anything(&self, range: TextRange) -> bool {
        let named = [&codes::NO_SUCH_MEMBER, &codes::UNKNOWN_NAME];
        self.errors.iter().any(|(error, code)| range.contains_range(*error) && !named.contains(code))
    }

    /// Puts `let`s and conditional tensors in order and surveys them.
    pub(super) fn survey_nodes(&mut self, signature: &Signature) {
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
                    if let (Read::Value(_) | Read::Present(_), Some(&node)) = (read, node_of.get(read.name())) {
                        let is_let = matches!(nodes[node].0, Node::Let(_));
                        // A `let` is read by value, a tensor by its presence.
                        if is_let == matches!(read, Read::Value(_)) && !read_nodes.contains(&node) {
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
        for ((node, expr), _) in nodes.iter().zip(reached).filter(|(_, reached)| !reached) {
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
        if let (Read::Value(_) | Read::Field(..), Some(sym)) = (read, self.sym(read.name()))
            && !syms.contains(&sym)
        {
            syms.push(sym);
        }
    }

    pub(super) fn call_item(&self, generator: &Generator) -> CallItem {
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

    pub(super) fn when(&self, condition: &Fact<Condition>, absent: bool, own: bool) -> When {
        match condition {
            Fact::Absent(_) => When::Always(absent),
            Fact::Malformed(_) => When::Broken,
            Fact::Valid(Condition::Always(true), _) if own => When::Point,
            Fact::Valid(Condition::Always(value), _) => When::Always(if own { true } else { *value }),
            Fact::Valid(Condition::When(formula), _) => When::Condition(self.item(&formula.expr)),
        }
    }
}
