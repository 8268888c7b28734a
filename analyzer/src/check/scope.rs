//! The names of an entry and what each of them is.

use std::sync::Arc;

use crate::lang::Kind;
use crate::model::TensorRole;
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

/// The names of an entry, in the order `forall`, `params`, `inputs`, `outputs`, `let`. Of two declarations of one name
/// the first stands.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Scope {
    symbols: Vec<Symbol>,
    /// Whether every section that declares names could be read. Where not, a name that is not here may still be
    /// declared: it is unreached, not unknown.
    pub complete: bool,
}

impl Scope {
    /// A scope of `symbols`; `complete` says that every declaring section could be read.
    pub fn new(symbols: Vec<Symbol>, complete: bool) -> Self {
        Scope { symbols, complete }
    }

    /// The symbol called `name`.
    pub fn get(&self, name: &str) -> Option<&Symbol> {
        self.symbols.iter().find(|symbol| &*symbol.name == name)
    }

    /// Every symbol, in order.
    pub fn iter(&self) -> impl Iterator<Item = &Symbol> {
        self.symbols.iter()
    }
}
