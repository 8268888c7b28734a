//! What a name stands for where it is read.

use std::sync::Arc;

use super::calls::{parameter_names, sort_of};
use super::{Found, Inference, Position, some_of};
use crate::check::guards::{Guards, Subject};
use crate::check::{Symbol, SymbolRole};
use crate::defect::{codes, nearest, nearest_first};
use crate::expr::{Call, Expr, ExprKind};
use crate::lang::builtins::{self};
use crate::lang::{DType, DTypeSet, Kind};
use crate::text::TextRange;

impl Inference<'_> {
    pub(super) fn names_tensor(&self, name: &str) -> bool {
        self.formals.is_none()
            && self.local(name).is_none()
            && self.scope.get(name).is_some_and(|symbol| matches!(symbol.role, SymbolRole::Tensor(_)))
    }

    pub(super) fn local(&self, name: &str) -> Option<&Kind> {
        self.locals.iter().rev().find(|(local, _)| &**local == name).map(|(_, kind)| kind)
    }

    /// The names inside a place that could not be read: those that nothing declares are reported, nothing else is known.
    pub(super) fn names_in(&mut self, expr: &Expr) {
        if let ExprKind::Name(name) = &expr.kind {
            if self.is_undeclared(name) && builtins::find(name).is_none() && DType::from_name(name).is_none() {
                self.unknown_name(name, expr.range);
            }
            return;
        }
        let pushed = match &expr.kind {
            ExprKind::Call(Call { comprehension: Some(comprehension), .. }) => {
                self.locals.push((comprehension.variable.value.clone(), Kind::Error));
                true
            }
            _ => false,
        };
        expr.for_each_child(&mut |child| self.names_in(child));
        if pushed {
            self.locals.pop();
        }
    }

    pub(super) fn is_undeclared(&self, name: &str) -> bool {
        if self.local(name).is_some() {
            return false;
        }
        if let Some(formals) = self.formals {
            return !formals.iter().any(|(formal, _)| &**formal == name);
        }
        self.scope.get(name).is_none()
            && self.scope.family(name).is_none()
            && !self.scope.is_poisoned(name)
            && name != "out"
    }

    pub(super) fn name(&mut self, name: &Arc<str>, range: TextRange, guards: &Guards) -> Found {
        if let Some(kind) = self.local(name) {
            return Found::new(kind.clone());
        }
        let declared = match self.formals {
            Some(formals) => formals.iter().find(|(formal, _)| formal == name).map(|(_, kind)| kind.clone()),
            None => match self.scope.get(name) {
                Some(symbol) if self.position.admits(symbol) => Some(symbol.kind.clone()),
                Some(symbol) if self.position == Position::Dtype && DType::from_name(name).is_some() => {
                    // Whatever else has the name, it is no dtype.
                    let _ = symbol;
                    None
                }
                Some(symbol) => {
                    self.misplaced(symbol, range);
                    return Found::error();
                }
                None => None,
            },
        };
        if let Some(declared) = declared {
            let kind = guards.get(name).cloned().unwrap_or_else(|| declared.clone());
            let subject = Some(Subject { path: name.clone(), tag_of: None });
            return Found { kind, declared, subject, branches: None };
        }
        if self.position == Position::Dtype
            && let Some(dtype) = DType::from_name(name)
        {
            return Found::new(Kind::DType(DTypeSet::EMPTY.with(dtype)));
        }
        if self.formals.is_none() && self.scope.is_poisoned(name) {
            return Found::error();
        }
        if self.formals.is_none() && &**name == "out" {
            let message = "`out` has no value".to_owned();
            self.findings
                .report(&codes::MISPLACED_NAME, range, self.path, "out", message)
                .help("whether the caller passes it is `present(out)`");
            return Found::error();
        }
        if self.formals.is_none() && self.scope.family(name).is_some() {
            let message = format!("`{name}` is a type family, and has no value");
            self.findings
                .report(&codes::MISPLACED_NAME, range, self.path, &**name, message)
                .help(format!("a family is applied as a tensor's shape: `shape: \"{name}[…]\"`"));
            return Found::error();
        }
        if self.formals.is_none_or(|_| self.scope.get(name).is_none())
            && (self.formals.is_some() || self.scope.complete)
            && let Some(builtin) = builtins::find(name)
        {
            let message = format!("`{name}` is {}, and has no value", sort_of(&builtin.role));
            self.findings
                .report(&codes::MISPLACED_NAME, range, self.path, &**name, message)
                .help(format!("call it: `{name}({})`", parameter_names(builtin)));
            return Found::error();
        }
        self.unknown_name(name, range);
        Found::error()
    }

    pub(super) fn misplaced(&mut self, symbol: &Symbol, range: TextRange) {
        let name = &symbol.name;
        let position = self.position.describe();
        let (message, help) = match symbol.role {
            SymbolRole::Tensor(_) => {
                let bytes = if self.position == Position::Roofline {
                    format!(", its size is `bytes({name})`")
                } else {
                    String::new()
                };
                (
                    format!("`{name}` is a tensor, and has no value in {position}"),
                    Some(format!("whether it is passed is `present({name})`{bytes}")),
                )
            }
            SymbolRole::Index => (
                format!("`{name}` is a value list, and {position} cannot read it"),
                Some("a `Seq[Int]` index is an argument of a generator only".to_owned()),
            ),
            SymbolRole::Param | SymbolRole::Let => (
                format!("`{name}` is `{}`, which takes no part in types, and {position} cannot read it", symbol.kind),
                Some(match &symbol.kind {
                    Kind::Opaque(class) if !class.contains(['.', '[']) => format!(
                        "refinements and the roofline can read `{name}`; were `{class}` an ADT, types.yaml would declare it"
                    ),
                    _ => format!("refinements and the roofline can read `{name}`"),
                }),
            ),
        };
        let defect = self.findings.report(&codes::MISPLACED_NAME, range, self.path, &**name, message);
        if let Some(help) = help {
            defect.help(help);
        }
        if let SymbolRole::Tensor(_) = symbol.role {
            let ask = if self.position == Position::Roofline { "bytes" } else { "present" };
            defect.instead(format!("{ask}({name})")).guess();
        }
        defect.related(symbol.range, format!("`{name}` is declared here"));
    }

    pub(super) fn unknown_name(&mut self, name: &Arc<str>, range: TextRange) {
        if self.formals.is_none() && !self.scope.complete {
            let judgment = format!("what `{name}` is");
            self.findings.unreached(range, self.path, judgment, "a declaring section of the signature");
            return;
        }
        // One text that uses a name twice lacks one declaration.
        if !self.unknown.insert(name.clone()) {
            return;
        }
        let locals = self.locals.iter().rev().map(|(local, _)| &**local);
        let allowed: Vec<&str> = match self.formals {
            Some(formals) => locals.chain(formals.iter().map(|(formal, _)| &**formal)).collect(),
            None => locals.chain(self.scope.iter().filter(|s| self.position.admits(s)).map(|s| &*s.name)).collect(),
        };
        let what = match self.formals {
            Some(_) => "no formal of the family",
            None => "not declared",
        };
        let allowed: Vec<&str> = if self.position == Position::Dtype {
            let dtype_like =
                |name: &&str| self.scope.get(name).is_some_and(|s| matches!(s.kind, Kind::DType(_) | Kind::Error));
            let known: Vec<&str> = allowed.into_iter().filter(dtype_like).collect();
            known.into_iter().chain(DType::ALL.iter().map(|dtype| dtype.name())).collect()
        } else {
            allowed
        };
        let order = nearest_first(name, allowed);
        let help = if self.formals.is_some_and(|_| self.scope.get(name).is_some()) {
            format!("a family's case reads its formals only; pass `{name}` as an argument")
        } else if self.position != Position::Dtype && DType::from_name(name).is_some() {
            format!("a dtype is compared as a string: `'{name}'`")
        } else if matches!(&**name, "true" | "false" | "none" | "null") {
            "the language writes `True`, `False` and `None`".to_owned()
        } else if order.is_empty() {
            format!("{} has no names to read here", self.position.describe())
        } else {
            format!("{} can read {}", self.position.describe(), some_of(&order, "and"))
        };
        let meant = match &**name {
            "true" => Some("True".to_owned()),
            "false" => Some("False".to_owned()),
            "none" | "null" => Some("None".to_owned()),
            // `true` is no dtype, and `float16` no index.
            _ if self.position != Position::Dtype && DType::from_name(name).is_some() => Some(format!("'{name}'")),
            _ => nearest(name, order.iter().copied()).map(str::to_owned),
        };
        self.findings
            .report(&codes::UNKNOWN_NAME, range, self.path, &**name, format!("`{name}` is {what}"))
            .help(help)
            .meant(meant);
    }
}
