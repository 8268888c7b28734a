//! The names of an entry and what each of them is.

use std::collections::BTreeSet;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::facts::reads;
use super::infer::{Inference, Position};
use super::types::{kind_of_formal, kind_of_index, kind_of_type};
use crate::defect::{Findings, codes, list};
use crate::expr::{BoolOp, CompareOp, Expr, ExprKind};
use crate::lang::{AdtTable, Kind};
use crate::model::{Entry, Fact, Family, Formula, Let, ParamRole, Signature, TensorRole};
use crate::text::TextRange;

/// A name of the entry.
#[derive(Debug, Clone, PartialEq)]
pub struct Symbol {
    /// The name.
    pub name: Arc<str>,
    /// What declares it.
    pub role: SymbolRole,
    /// Its kind before any guard narrows it. [`Kind::Error`] where its declaration could not be read.
    pub kind: Kind,
    /// Where its declaration's name stands.
    pub range: TextRange,
}

/// What declares a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SymbolRole {
    /// `forall`
    Index,
    /// `params`, as a value.
    Param,
    /// `let`
    Let,
    /// A tensor of `params`, `inputs` or `outputs`.
    Tensor(TensorRole),
}

/// A type family, as a name that shapes apply.
#[derive(Debug, Clone, PartialEq)]
pub struct FamilySymbol {
    /// Its name.
    pub name: Arc<str>,
    /// Its formals, each with its kind; nothing where they could not be read.
    pub formals: Option<Vec<(Arc<str>, Kind)>>,
    /// Where its declaration's name stands.
    pub range: TextRange,
}

/// The names of an entry, in the order `forall`, `params`, `inputs`, `outputs`, `let`. Of two declarations of one name
/// the first stands.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Scope {
    symbols: Vec<Symbol>,
    /// Positions in `symbols`; looked up, never iterated.
    positions: FxHashMap<Arc<str>, usize>,
    families: Vec<FamilySymbol>,
    /// Names that a refused equality defines: their defect has been reported, their uses give no other.
    poisoned: BTreeSet<Arc<str>>,
    /// Whether an output takes the caller's buffer, so that `out` is a name.
    takes_out: bool,
    /// Whether every section that declares names could be read. Where not, a name that is not here may still be
    /// declared: it is unreached, not unknown.
    pub complete: bool,
}

impl Scope {
    /// A scope of `symbols`; `complete` says that every declaring section could be read.
    pub fn new(symbols: Vec<Symbol>, complete: bool) -> Self {
        let mut scope = Scope { complete, ..Scope::default() };
        symbols.into_iter().for_each(|symbol| scope.declare(symbol));
        scope
    }

    /// The names of `entry`. Reports types that are none, `let`s that depend on themselves, and everything that is wrong
    /// inside a `let`.
    pub fn of(entry: &Entry, adts: &AdtTable, findings: &mut Findings) -> Scope {
        let Some(signature) = entry.signature.valid() else {
            return Scope::default();
        };
        let mut scope = Scope { complete: is_complete(signature, findings), ..Scope::default() };
        // Which of two declarations is meant is not known.
        let repeated: Vec<String> =
            findings.defects.iter().filter(|d| *d.code == codes::DUPLICATE_KEY).map(|d| d.path.clone()).collect();
        let is_repeated = |section: &str, name: &str| repeated.contains(&format!("signature.{section}.{name}"));
        for index in signature.forall.items() {
            let kind = index.kind.valid().filter(|_| !is_repeated("forall", &index.name.value));
            let kind = kind.map_or(Kind::Error, kind_of_index);
            scope.declare_named(&index.name, SymbolRole::Index, kind);
        }
        for param in signature.params.items() {
            match &param.role {
                ParamRole::Value { ty, .. } => {
                    let mut kind = ty.valid().map_or(Kind::Error, |ty| kind_of_type(&ty.ty, adts, &ty.path, findings));
                    if is_repeated("params", &param.name.value) {
                        kind = Kind::Error;
                    }
                    scope.declare_named(&param.name, SymbolRole::Param, kind);
                }
                ParamRole::Tensor(_) => {
                    scope.declare_named(&param.name, SymbolRole::Tensor(TensorRole::Construction), Kind::Tensor);
                }
            }
        }
        for tensor in signature.inputs.items() {
            scope.declare_named(&tensor.name, SymbolRole::Tensor(TensorRole::Input), Kind::Tensor);
        }
        for tensor in signature.outputs.items() {
            scope.declare_named(&tensor.name, SymbolRole::Tensor(TensorRole::Output), Kind::Tensor);
        }
        scope.takes_out = signature.outputs.is_malformed()
            || signature.outputs.items().iter().any(|output| !output.buffer.is_absent());
        scope.families = signature.types.items().iter().map(|family| family_symbol(family, adts, findings)).collect();
        scope.declare_lets(signature.lets.items(), signature, findings);
        scope
    }

    fn declare(&mut self, symbol: Symbol) {
        if !self.positions.contains_key(&symbol.name) {
            self.positions.insert(symbol.name.clone(), self.symbols.len());
            self.symbols.push(symbol);
        }
    }

    fn declare_named(&mut self, name: &crate::expr::Ident, role: SymbolRole, kind: Kind) {
        self.declare(Symbol { name: name.value.clone(), role, kind, range: name.range });
    }

    /// Declares the `let`s, each after those that it reads, so that their kinds are known.
    fn declare_lets(&mut self, lets: &[Let], signature: &Signature, findings: &mut Findings) {
        // Every name stands first, in the order declared; the kinds follow.
        for item in lets {
            self.declare_named(&item.name, SymbolRole::Let, Kind::Error);
        }
        self.poison_refused_definitions(signature, findings);
        for position in dependency_order(lets, findings) {
            let Some(item) = lets.get(position) else { continue };
            let Fact::Valid(formula, _) = &item.value else { continue };
            let mut inference = Inference::new(self, Position::Let, &formula.path, findings);
            let kind = inference.let_value(&item.name.value, &formula.expr);
            let declared = self.positions.get(&item.name.value).and_then(|&at| self.symbols.get_mut(at));
            if let Some(symbol) = declared
                && symbol.role == SymbolRole::Let
                && symbol.range == item.name.range
            {
                symbol.kind = kind;
            }
        }
    }

    /// Reports the refinements that define a name rather than restrict one, and remembers the names.
    fn poison_refused_definitions(&mut self, signature: &Signature, findings: &mut Findings) {
        if !self.complete {
            return;
        }
        for formula in signature.shape_rules.items().iter().filter_map(Fact::valid) {
            let mut conjuncts = vec![&formula.expr];
            while let Some(conjunct) = conjuncts.pop() {
                match &conjunct.kind {
                    ExprKind::Bools(BoolOp::And, operands) => conjuncts.extend(operands.iter().rev()),
                    ExprKind::Compare(first, rest) => {
                        if let [(operator, second)] = rest.as_slice()
                            && operator.value == CompareOp::Eq
                        {
                            self.poison_definition(first, second, formula, findings);
                        }
                    }
                    _ => {}
                }
            }
        }
    }

    fn poison_definition(&mut self, first: &Expr, second: &Expr, formula: &Formula, findings: &mut Findings) {
        let undeclared = |expr: &Expr| match &expr.kind {
            ExprKind::Name(name) if self.get(name).is_none() && !self.poisoned.contains(name) => Some(name.clone()),
            _ => None,
        };
        let (name, at, value) = match (undeclared(first), undeclared(second)) {
            (Some(name), None) => (name, first, second),
            (None, Some(name)) => (name, second, first),
            _ => return,
        };
        // `m == M`, or a constant, is a misspelt name rather than a definition.
        let defines = matches!(value.kind, ExprKind::Binary(..) | ExprKind::Call(_) | ExprKind::If { .. });
        let mut known = true;
        reads(value, &mut |read| known &= **read.name() != *name && self.get(read.name()).is_some());
        if !defines || !known {
            return;
        }
        findings
            .report(&codes::UNKNOWN_NAME, at.range, &*formula.path, &*name, format!("`{name}` is not declared"))
            .help(format!("an equality does not define a name; write `let: {{{name}: \"{value}\"}}`"));
        self.poisoned.insert(name);
    }

    /// The symbol called `name`.
    pub fn get(&self, name: &str) -> Option<&Symbol> {
        self.positions.get(name).and_then(|&position| self.symbols.get(position))
    }

    /// Every symbol, in order.
    pub fn iter(&self) -> impl Iterator<Item = &Symbol> {
        self.symbols.iter()
    }

    /// The type family called `name`.
    pub fn family(&self, name: &str) -> Option<&FamilySymbol> {
        self.families.iter().find(|family| &*family.name == name)
    }

    /// Every type family, in the order declared.
    pub fn families(&self) -> impl Iterator<Item = &FamilySymbol> {
        self.families.iter()
    }

    /// Whether an output takes the caller's buffer, so that `present(out)` asks something.
    pub fn takes_out(&self) -> bool {
        self.takes_out
    }

    /// Whether `name` is undeclared and that has been reported once for the whole entry.
    pub fn is_poisoned(&self, name: &str) -> bool {
        self.poisoned.contains(name)
    }
}

/// Whether every section that declares names could be read: none is malformed, and YAML lost nothing in one.
fn is_complete(signature: &Signature, findings: &Findings) -> bool {
    const DECLARING: [&str; 6] = ["forall", "params", "inputs", "outputs", "types", "let"];
    let malformed = signature.forall.is_malformed()
        || signature.params.is_malformed()
        || signature.inputs.is_malformed()
        || signature.outputs.is_malformed()
        || signature.types.is_malformed()
        || signature.lets.is_malformed();
    // A member whose key is no string is read by nobody; it may be what another place names.
    let hides = |code| code == &codes::YAML_SYNTAX || code == &codes::NON_STRING_KEY;
    let lost = findings.defects.iter().filter(|defect| hides(defect.code)).any(|defect| {
        let mut keys = defect.path.split(['.', '[']);
        match (keys.next(), keys.next()) {
            (Some("" | "signature"), None) => true,
            (Some("signature"), Some(section)) => DECLARING.contains(&section),
            _ => false,
        }
    });
    !malformed && !lost
}

fn family_symbol(family: &Family, adts: &AdtTable, findings: &mut Findings) -> FamilySymbol {
    let path = format!("{}.params", family.path);
    let formals = family.params.valid().map(|formals| {
        let kind = |(name, ty): &(crate::expr::Ident, Fact<crate::expr::TypeExpr>)| {
            let path = format!("{path}.{}", name.value);
            let kind = ty.valid().map_or(Kind::Error, |ty| kind_of_formal(ty, adts, &path, findings));
            let repeated = findings.defects.iter().any(|d| *d.code == codes::DUPLICATE_KEY && d.path == path);
            (name.value.clone(), if repeated { Kind::Error } else { kind })
        };
        formals.iter().map(kind).collect()
    });
    FamilySymbol { name: family.name.value.clone(), formals, range: family.name.range }
}

/// The positions of `lets`, each after those that it reads. Each cycle is reported, and its members are left out.
fn dependency_order(lets: &[Let], findings: &mut Findings) -> Vec<usize> {
    let mut positions: FxHashMap<&str, usize> = FxHashMap::default();
    for (position, item) in lets.iter().enumerate() {
        positions.entry(&item.name.value).or_insert(position);
    }
    let reads_of: Vec<Vec<usize>> = lets
        .iter()
        .map(|item| {
            let mut read = Vec::new();
            if let Some(formula) = item.value.valid() {
                reads(&formula.expr, &mut |name| read.extend(positions.get(&**name.name())));
            }
            read
        })
        .collect();
    #[derive(Clone, Copy, PartialEq)]
    enum State {
        New,
        Open,
        Done,
    }
    let mut states = vec![State::New; lets.len()];
    let mut cyclic = vec![false; lets.len()];
    let mut order = Vec::with_capacity(lets.len());
    for root in 0..lets.len() {
        if states[root] != State::New {
            continue;
        }
        states[root] = State::Open;
        // The open `let`s, each with how many of its reads have been followed. A stack of its own, since a chain of
        // `let`s can be as long as the entry.
        let mut open = vec![(root, 0)];
        while let Some(top) = open.last_mut() {
            let (at, followed) = *top;
            top.1 += 1;
            match reads_of[at].get(followed) {
                Some(&next) => match states[next] {
                    State::New => {
                        states[next] = State::Open;
                        open.push((next, 0));
                    }
                    State::Open => {
                        let start = open.iter().position(|&(p, _)| p == next).unwrap_or(0);
                        let members: Vec<usize> = open[start..].iter().map(|&(p, _)| p).collect();
                        // A `let` in two cycles is one knot: its first cycle says it.
                        if !members.iter().any(|&member| cyclic[member]) {
                            report_cycle(lets, &members, findings);
                        }
                        members.iter().for_each(|&member| cyclic[member] = true);
                    }
                    State::Done => {}
                },
                None => {
                    states[at] = State::Done;
                    if !cyclic[at] {
                        order.push(at);
                    }
                    open.pop();
                }
            }
        }
    }
    order
}

fn report_cycle(lets: &[Let], members: &[usize], findings: &mut Findings) {
    let names: Vec<&crate::expr::Ident> =
        members.iter().filter_map(|&at| lets.get(at)).map(|item| &item.name).collect();
    let Some(first) = names.iter().min_by_key(|name| name.range.start()) else { return };
    let path = format!("signature.let.{}", first.value);
    let message = if names.len() == 1 {
        format!("`{}` is defined by itself", first.value)
    } else {
        format!("{} are defined by each other", list(names.iter().map(|name| &*name.value), "and"))
    };
    let defect = findings.report(&codes::LET_CYCLE, first.range, path, &*first.value, message);
    for other in names.iter().filter(|name| name.range != first.range) {
        defect.related(other.range, format!("`{}` is part of the cycle", other.value));
    }
}
