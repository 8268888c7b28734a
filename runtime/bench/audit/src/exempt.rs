//! Calls for which a shortfall proves nothing: `when` over the call, and the reason.
//!
//! A kernel may leave out loads that a value makes useless, and so read less than the formula charges. Such calls are
//! configured here and not in the manifest. The form of a condition is checked; that it names the property which causes the
//! shortfall, and not a number that today's rows happen to have, is for its reader to judge.

use std::collections::BTreeSet;

use serde::Deserialize;
use tileops_analyzer::defect::{Findings, nearest};
use tileops_analyzer::eval::{Environment, EvalFailure, evaluate, free_names};
use tileops_analyzer::expr::{Expr, ExprKind, parse_expression};
use tileops_analyzer::lang::Value;
use tileops_analyzer::syntax::Scalar;
use tileops_analyzer::text::{TextRange, TextSize};
use tileops_analyzer::workload::Call;

/// The exemptions of a configuration.
#[derive(Debug, Clone, Default)]
pub struct Exemptions {
    all: Vec<Exemption>,
}

/// One exemption.
#[derive(Debug, Clone)]
pub struct Exemption {
    /// The op that it is of.
    pub op: String,
    /// The condition, as it is written.
    pub when: String,
    /// Why a conforming kernel may read less there.
    pub reason: String,
    condition: Expr,
}

/// What is wrong with a configuration.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ConfigError {
    /// It is no list of exemptions.
    #[error("not a configuration of exemptions: {0}")]
    Form(String),
    /// One exemption is not one.
    #[error("exemptions[{at}] ({op}): {what}")]
    Exemption {
        /// Its position, from zero.
        at: usize,
        /// Its op.
        op: String,
        /// What is wrong, and what to write instead.
        what: String,
    },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    exemptions: Vec<Written>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    op: String,
    when: String,
    reason: String,
}

impl Exemptions {
    /// Reads a configuration and checks the form of everything in it; all that is wrong is told at once.
    pub fn from_yaml(text: &str) -> Result<Exemptions, Vec<ConfigError>> {
        let file: File = serde_yaml::from_str(text).map_err(|e| vec![ConfigError::Form(e.to_string())])?;
        let mut all: Vec<Exemption> = Vec::new();
        let mut errors = Vec::new();
        for (at, written) in file.exemptions.into_iter().enumerate() {
            let twice = all.iter().any(|e| (&e.op, &e.when) == (&written.op, &written.when));
            match Exemption::new(&written) {
                Ok(_) if twice => errors.push(wrong(at, &written.op, "the same condition stands above".to_owned())),
                Ok(exemption) => all.push(exemption),
                Err(what) => errors.push(wrong(at, &written.op, what)),
            }
        }
        if errors.is_empty() { Ok(Exemptions { all }) } else { Err(errors) }
    }

    /// Holds each exemption against the calls of its op: the op has to exist, and the condition to name what its calls have.
    pub fn check<'a>(&self, calls: impl Fn(&str) -> Option<&'a [Call]>) -> Vec<ConfigError> {
        let check = |(at, exemption): (usize, &Exemption)| {
            let Some(calls) = calls(&exemption.op) else {
                return Some(wrong(at, &exemption.op, "the manifest has no such op".to_owned()));
            };
            let known: BTreeSet<&str> = calls.iter().flat_map(names).collect();
            let unknown = free_names(&exemption.condition).into_iter().find(|name| !known.contains(&**name))?;
            let close =
                nearest(&unknown, known.iter().copied()).map(|n| format!("; `{n}` is close")).unwrap_or_default();
            let what = format!(
                "`{unknown}` is no parameter, index or tensor of the op's calls{close}. They have {}",
                Vec::from_iter(known).join(", ")
            );
            Some(wrong(at, &exemption.op, what))
        };
        self.all.iter().enumerate().filter_map(check).collect()
    }

    /// The exemption that `call` of `op` is inside of. Fails where a condition has no value for the call.
    pub fn of(&self, op: &str, call: &Call) -> Result<Option<&Exemption>, String> {
        for exemption in self.all.iter().filter(|e| e.op == op) {
            if exemption.holds(call)? {
                return Ok(Some(exemption));
            }
        }
        Ok(None)
    }

    /// The exemptions, in their order.
    pub fn iter(&self) -> impl Iterator<Item = &Exemption> {
        self.all.iter()
    }
}

fn wrong(at: usize, op: &str, what: String) -> ConfigError {
    ConfigError::Exemption { at, op: op.to_owned(), what }
}

impl Exemption {
    fn new(written: &Written) -> Result<Exemption, String> {
        if written.reason.trim().is_empty() {
            return Err(
                "it states no reason: write why a conforming kernel may read less where the condition holds".to_owned()
            );
        }
        let mut findings = Findings::default();
        let range = TextRange::up_to(TextSize::of(written.when.as_str()));
        let condition = parse_expression(&Scalar::plain(&written.when), range, "when", &mut findings);
        if let Some(defect) = findings.defects.first() {
            let place = &written.when[usize::from(defect.range.start())..usize::from(defect.range.end())];
            return Err(format!("`when` is no expression: {} (at `{place}`)", defect.message));
        }
        let boolean = matches!(
            condition.kind,
            ExprKind::Compare(..)
                | ExprKind::Bools(..)
                | ExprKind::Unary(..)
                | ExprKind::Call(_)
                | ExprKind::Name(_)
                | ExprKind::Bool(_)
                | ExprKind::If { .. }
                | ExprKind::Attribute(..)
        );
        if !boolean {
            return Err(format!("`when: {}` is no condition: write a comparison, such as `S_kv > 4096`", written.when));
        }
        if free_names(&condition).is_empty() {
            return Err(format!(
                "`when: {}` reads nothing of the call, and would exempt every row: write a condition over its parameters and indices",
                written.when
            ));
        }
        Ok(Exemption { op: written.op.clone(), when: written.when.clone(), reason: written.reason.clone(), condition })
    }

    /// Whether the condition holds for `call`.
    fn holds(&self, call: &Call) -> Result<bool, String> {
        match evaluate(&self.condition, &Of(call)) {
            Ok(Value::Bool(holds)) => Ok(holds),
            Ok(other) => Err(format!("the condition `{}` gives `{}`, and no Boolean", self.when, other.excerpt())),
            Err(error) => Err(match error.reason {
                EvalFailure::Undetermined(name) => {
                    format!("the condition `{}` reads `{name}`, which the call does not have", self.when)
                }
                EvalFailure::Domain(why) => format!("the condition `{}` has no value: {why}", self.when),
                EvalFailure::Poisoned => format!("the condition `{}` cannot be evaluated", self.when),
            }),
        }
    }
}

/// What a condition may name.
fn names(call: &Call) -> impl Iterator<Item = &str> {
    let values = call.params.iter().chain(&call.indices).map(|(name, _)| &**name);
    values.chain(call.tensors.iter().map(|(name, _)| &**name))
}

/// A call, as expressions see it.
struct Of<'a>(&'a Call);

impl Environment for Of<'_> {
    fn value(&self, name: &str) -> Option<Value> {
        self.0.params.iter().chain(&self.0.indices).find(|(n, _)| &**n == name).map(|(_, value)| value.clone())
    }

    fn present(&self, name: &str) -> Option<bool> {
        match self.0.tensors.iter().find(|(n, _)| &**n == name) {
            Some((_, tensor)) => Some(tensor.is_some()),
            None => self.value(name).map(|value| value != Value::None),
        }
    }
}
