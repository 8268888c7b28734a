//! `signature.types`: type families, their cases and patterns.

use super::fields::{self, Fields, Slot};
use super::signature::{fact, member, type_expr};
use crate::defect::{Findings, codes};
use crate::expr::Ident;
use crate::model::{Fact, Family, FamilyCase, Path, Pattern, PatternFields, schema};
use crate::syntax::{Node, NodeKind, Scalar, ScalarValue};

/// Reads one family.
pub(super) fn read(name: Ident, node: &Node, path: &str, findings: &mut Findings) -> Family {
    let slot = member(&name, node, path, "a mapping", "{params: {t: Bool, R: Dim}, match: t, cases: […]}");
    let title = format!("type family `{}`", fields::shown(&name.value));
    let Some(family) = Fields::open(&schema::FAMILY, slot, &title, findings) else {
        let range = if node.range.is_empty() { name.range } else { node.range };
        return Family {
            name,
            params: Fact::Malformed(range),
            scrutinees: Fact::Malformed(range),
            cases: Fact::Malformed(range),
            path: Path::from(path),
        };
    };
    Family {
        params: family.fact("params", findings, |slot, findings| {
            let pairs = fields::mapping(slot, false, findings)?;
            Some(fields::named(pairs, slot.path, findings, |name, node, path, findings| {
                let slot = member(&name, node, path, "a kind in a string", "Dim");
                let kind = fact(slot, type_expr(slot, findings));
                (name, kind)
            }))
        }),
        scrutinees: family.fact("match", findings, |slot, findings| match slot.node.kind {
            NodeKind::Sequence(_) => fields::names(slot, false, findings),
            _ => fields::name(slot, findings).map(|name| vec![name]),
        }),
        cases: family.fact("cases", findings, |slot, findings| {
            fields::items(slot, false, "a mapping", "{when: true, is: \"[R, C]\"}", findings, |_, item, findings| {
                case(item, findings)
            })
        }),
        path: Path::from(path),
        name,
    }
}

fn case(slot: Slot<'_>, findings: &mut Findings) -> Option<FamilyCase> {
    let label = format!("`{}`", fields::label(slot.path));
    let case = Fields::open(&schema::CASE, slot, &label, findings)?;
    Some(FamilyCase {
        when: case.fact("when", findings, |slot, findings| match &slot.node.kind {
            NodeKind::Sequence(_) => {
                let nodes = fields::sequence(slot, false, findings)?;
                let patterns = nodes.iter().enumerate().map(|(position, node)| {
                    let path = format!("{}[{position}]", slot.path);
                    let key = if node.range.is_empty() { slot.key } else { node.range };
                    pattern(Slot { node, key, path: &path, expects: PATTERN, example: "_" }, true, findings)
                });
                Some(patterns.collect())
            }
            _ => Some(vec![pattern(Slot { expects: PATTERN, ..slot }, true, findings)]),
        }),
        is: case.fact("is", findings, fields::shape),
        range: slot.node.range,
        path: Path::from(slot.path),
    })
}

const PATTERN: &str = "`true`, `false`, a literal, a constructor, or `_`";

/// Reads a pattern; a constructor's fields take none of constructors.
fn pattern(slot: Slot<'_>, may_be_constructor: bool, findings: &mut Findings) -> Pattern {
    let range = if slot.node.range.is_empty() { slot.key } else { slot.node.range };
    match &slot.node.kind {
        NodeKind::Scalar(Scalar { value: ScalarValue::Bool(value), .. }) => return Pattern::Bool(*value, range),
        NodeKind::Scalar(Scalar { value: ScalarValue::Str, text, .. }) if &**text == "_" => return Pattern::Any(range),
        NodeKind::Scalar(Scalar { value: ScalarValue::Str, .. }) => {
            if let Some(literal) = fields::text(slot, findings) {
                return Pattern::Literal(literal);
            }
        }
        NodeKind::Mapping(pairs) if may_be_constructor => match pairs.as_slice() {
            [pair] => {
                if let Some(constructor) = fields::key_text(pair) {
                    let path = format!("{}.{}", slot.path, constructor.value);
                    let slot = member(&constructor, &pair.value, &path, "`_` or a mapping of fields to patterns", "_");
                    if let Some(fields) = pattern_fields(slot, findings) {
                        return Pattern::Constructor(constructor, fields);
                    }
                }
            }
            [_, second, ..] => {
                let at = fields::key_text(second).map_or(second.key.range, |key| key.range);
                findings
                    .report(
                        &codes::WRONG_FORM,
                        at,
                        slot.path,
                        "when",
                        format!("`{}` names more than one constructor", fields::label(slot.path)),
                    )
                    .help("a pattern names one constructor; write one case for each");
            }
            [] => fields::wrong_form(slot, findings),
        },
        NodeKind::Scalar(_) | NodeKind::Mapping(_) | NodeKind::Sequence(_) | NodeKind::Unreadable => {
            fields::wrong_form(slot, findings);
        }
    }
    Pattern::Error(range)
}

fn pattern_fields(slot: Slot<'_>, findings: &mut Findings) -> Option<PatternFields> {
    if slot.node.as_str() == Some("_") {
        return Some(PatternFields::Any);
    }
    let pairs = fields::mapping(slot, true, findings)?;
    Some(PatternFields::Named(fields::named(pairs, slot.path, findings, |name, node, path, findings| {
        let slot = member(&name, node, path, "`true`, `false`, a literal, or `_`", "_");
        let pattern = pattern(slot, false, findings);
        (name, pattern)
    })))
}
