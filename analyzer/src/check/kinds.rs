//! Names and kinds in every place of a signature that holds an expression.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::constants;
use super::facts::tensors;
use super::infer::{CallRole, Inference, Position};
use super::value::{ValueProblem, value_of_node};
use super::{FamilySymbol, Scope};
use crate::defect::{Findings, codes};
use crate::expr::ShapeKind;
use crate::lang::{Kind, Literals};
use crate::model::{Condition, Entry, Fact, Family, FamilyCase, ParamRole, Pattern, PatternFields, Signature, Tensor};

/// Judges names and kinds in the signature of `entry`, but for its `let`s, which [`Scope::of`] has judged, and its
/// parameters' defaults.
pub fn check_kinds(entry: &Entry, scope: &Scope, findings: &mut Findings) {
    let Some(signature) = entry.signature.valid() else { return };
    check_defaults(signature, scope, findings);
    check_order(signature, findings);
    for tensor in tensors(signature) {
        check_tensor(tensor, scope, findings);
    }
    for (position, family) in signature.types.items().iter().enumerate() {
        // The scope lists the families in the order declared.
        if let Some(symbol) = scope.families().nth(position) {
            check_family(family, symbol, scope, findings);
        }
    }
    for formula in signature.shape_rules.items().iter().filter_map(Fact::valid) {
        Inference::new(scope, Position::Refinement, &formula.path, findings).condition(&formula.expr, "a refinement");
    }
}

/// A parameter that has no default and follows one that has is passed by name only: Python takes it no other way.
fn check_order(signature: &Signature, findings: &mut Findings) {
    let mut defaulted: Option<&crate::expr::Ident> = None;
    for param in signature.params.items() {
        let ParamRole::Value { ty: Fact::Valid(..), default, kw_only } = &param.role else { continue };
        if !matches!(kw_only, Fact::Absent(_) | Fact::Valid(false, _)) {
            continue;
        }
        match (default, defaulted) {
            (Fact::Valid(..), None) => defaulted = Some(&param.name),
            (Fact::Absent(_), Some(first)) => {
                let name = &param.name.value;
                findings
                    .report(
                        &codes::DEFAULT_ORDER,
                        param.name.range,
                        &*param.path,
                        &**name,
                        format!("`{name}` has no default and follows `{}`, which has one", first.value),
                    )
                    .help(format!(
                        "it can be passed by name only: move it before `{}`, or say so with `kw_only: true`",
                        first.value
                    ))
                    .related(first.range, format!("`{}` is declared here", first.value));
            }
            _ => {}
        }
    }
}

fn check_defaults(signature: &Signature, scope: &Scope, findings: &mut Findings) {
    for param in signature.params.items() {
        let ParamRole::Value { ty, default: Fact::Valid(node, _), .. } = &param.role else { continue };
        let Some(symbol) = scope.get(&param.name.value).filter(|symbol| symbol.range == param.name.range) else {
            continue;
        };
        let Err(problems) = value_of_node(node, &symbol.kind) else { continue };
        for ValueProblem { range, message, help, inside } in problems {
            let name = &*param.name.value;
            let path = format!("{}.default{inside}", param.path);
            let defect = findings.report(
                &codes::BAD_DEFAULT,
                range,
                path,
                name,
                format!("the default of `{name}` does not fit its type: {message}"),
            );
            if let Some(help) = help {
                defect.help(help);
            }
            defect.related(ty.range(), format!("`{name}` is `{}`", symbol.kind));
        }
    }
}

fn check_tensor(tensor: &Tensor, scope: &Scope, findings: &mut Findings) {
    // What a tensor states of itself counts where it is passed: what its condition guards is guarded there.
    let condition = match &tensor.optional {
        Fact::Valid(Condition::When(formula), _) => Some(&formula.expr),
        _ => None,
    };
    let within = |inference: &mut Inference<'_>| {
        if let Some(condition) = condition {
            inference.assume(condition);
        }
    };
    if let Fact::Valid(dtype, _) = &tensor.dtype {
        let mut inference = Inference::new(scope, Position::Dtype, &dtype.path, findings);
        within(&mut inference);
        inference.dtype(&dtype.expr);
    }
    if let Fact::Valid(shape, _) = &tensor.shape {
        let path = format!("{}.shape", tensor.path);
        let mut inference = Inference::new(scope, Position::Shape, &path, findings);
        within(&mut inference);
        inference.shape(shape);
    }
    for (fact, taker) in [(&tensor.optional, "the condition of presence"), (&tensor.mutated, "`mutated`")] {
        if let Fact::Valid(Condition::When(formula), _) = fact {
            Inference::new(scope, Position::Condition, &formula.path, findings).condition(&formula.expr, taker);
        }
    }
    if let Fact::Valid(call, _) = &tensor.values {
        let mut inference = Inference::new(scope, Position::Generator, &call.path, findings);
        within(&mut inference);
        inference.generator_or_predicate(&call.call, CallRole::Generator, call.range);
    }
    for call in tensor.requires.items().iter().filter_map(Fact::valid) {
        let mut inference = Inference::new(scope, Position::Predicate, &call.path, findings);
        within(&mut inference);
        inference.generator_or_predicate(&call.call, CallRole::Predicate, call.range);
    }
}

fn check_family(family: &Family, symbol: &FamilySymbol, scope: &Scope, findings: &mut Findings) {
    let Some(formals) = &symbol.formals else {
        if !family.params.is_absent() {
            findings.unreached(
                family.name.range,
                family.path.to_string(),
                format!("the names in the cases of `{}`", family.name.value),
                format!("{}.params", family.path),
            );
        }
        return;
    };
    for case in family.cases.items().iter().filter_map(Fact::valid) {
        let Fact::Valid(shape, _) = &case.is else { continue };
        let path = format!("{}.is", case.path);
        let mut inference = Inference::new(scope, Position::Family, &path, findings).with_formals(formals);
        for (formal, kind) in case_facts(family, case, formals) {
            inference.narrow(&formal, kind);
        }
        inference.shape(shape);
        if let ShapeKind::Axes(axes) = &shape.kind {
            constants::check_axes(axes, &path, findings);
        }
    }
}

/// What a case's patterns say of the formals that they match: the constructor, and the literals of its fields.
fn case_facts(family: &Family, case: &FamilyCase, formals: &[(Arc<str>, Kind)]) -> Vec<(Arc<str>, Kind)> {
    let mut facts = Vec::new();
    let (Some(scrutinees), Some(patterns)) = (family.scrutinees.valid(), case.when.valid()) else { return facts };
    for (scrutinee, pattern) in scrutinees.iter().zip(patterns) {
        let Some((formal, kind)) = formals.iter().find(|(formal, _)| *formal == scrutinee.value) else { continue };
        match (pattern, kind) {
            (Pattern::Literal(literal), Kind::Enum(literals)) if literals.contains(&literal.value) => {
                facts.push((formal.clone(), Kind::Enum(Literals::from([literal.value.clone()]))));
            }
            (Pattern::Constructor(name, fields), Kind::Adt(adt, _)) => {
                let Some(constructor) = adt.constructor(&name.value) else { continue };
                facts.push((formal.clone(), Kind::Adt(adt.clone(), BTreeSet::from([constructor.name.clone()]))));
                let PatternFields::Named(named) = fields else { continue };
                for (field, pattern) in named {
                    if let (Pattern::Literal(literal), Some(_)) = (pattern, constructor.field(&field.value)) {
                        let path = format!("{formal}.{}", field.value);
                        facts.push((path.into(), Kind::Enum(Literals::from([literal.value.clone()]))));
                    }
                }
            }
            _ => {}
        }
    }
    facts
}
