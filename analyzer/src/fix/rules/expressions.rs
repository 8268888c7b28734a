//! Expressions: forms that the language refuses, definitions, guards.

use super::super::edits::{
    at_path, decoded, edit, items, pairs, quoted, remove_item, remove_pair, rewrite, scalar_at, slice, span, value_of,
};
use super::super::{Applicability, Candidate};
use super::keys::define;
use super::{is_word, shown};
use crate::defect::{Defect, Findings};
use crate::expr::{Axis, CompareOp, Expr, ExprKind, ShapeKind, parse_expression, parse_shape};
use crate::ide::Edit;
use crate::ide::site::Site;
use crate::syntax::{Node, Scalar};
use crate::text::TextRange;

/// Removes a refinement; with the last one goes `shape_rules`.
fn remove_rule(site: &Site<'_>, path: &str) -> Option<Edit> {
    let position: usize = path.strip_prefix("signature.shape_rules[")?.strip_suffix(']')?.parse().ok()?;
    let signature = at_path(&site.tree, "signature")?;
    let rules = value_of(signature, "shape_rules")?;
    if items(rules).len() > 1 {
        return remove_item(site.text(), &site.tree, rules, position);
    }
    let at = pairs(signature).iter().position(|pair| pair.key.as_str() == Some("shape_rules"))?;
    remove_pair(site.text(), &site.tree, signature, at)
}

fn text_at<'s>(site: &'s Site<'_>, range: TextRange) -> Option<(&'s Node, &'s Scalar)> {
    let node = scalar_at(&site.tree, range)?;
    Some((node, node.as_scalar()?))
}

/// `C == expr` where nothing declares `C`: the refinement is a definition.
pub(super) fn definition(site: &Site<'_>, defect: &Defect) -> Vec<Candidate> {
    let Some((node, scalar)) = text_at(site, defect.range) else { return Vec::new() };
    let expr = parse_expression(scalar, node.range, "", &mut Findings::default());
    let ExprKind::Compare(first, rest) = &expr.kind else { return Vec::new() };
    let [(operator, second)] = rest.as_slice() else { return Vec::new() };
    if operator.value != CompareOp::Eq || !defect.path.starts_with("signature.shape_rules[") {
        return Vec::new();
    }
    let (name, value) = match (first.as_name(), second.as_name()) {
        (Some(name), _) if name == defect.subject => (name, second),
        (_, Some(name)) if name == defect.subject => (name, &**first),
        _ => return Vec::new(),
    };
    let Some(stated) = scalar.text.get(decoded(scalar, node, value.range)) else { return Vec::new() };
    let stated = stated.split_whitespace().collect::<Vec<_>>().join(" ");
    let (Some(mut edits), Some(removal)) = (define(site, name, &stated), remove_rule(site, &defect.path)) else {
        return Vec::new();
    };
    edits.push(removal);
    vec![Candidate::new(format!("Define `{name}` in `let`"), edits, Applicability::Safe)]
}

/// Forms that say in Python what a declaration says here.
pub(super) fn refused_form(site: &Site<'_>, defect: &Defect) -> Vec<Candidate> {
    let mut candidates = shape_equality(site, defect).into_iter().collect::<Vec<_>>();
    candidates.extend(attribute(site, defect));
    candidates
}

/// `x.shape == (B, S)`: the shape of `x`; `y.shape == x.shape`: one shape for both.
fn shape_equality(site: &Site<'_>, defect: &Defect) -> Option<Candidate> {
    let (_, scalar) = text_at(site, defect.range)?;
    let removal = remove_rule(site, &defect.path)?;
    let (left, right) = scalar.text.split_once("==")?;
    if right.contains("==") || scalar.text.contains(" and ") || scalar.text.contains(" or ") {
        return None;
    }
    let tensor = |side: &str| {
        let name = side.trim().strip_suffix(".shape")?.to_owned();
        (!name.is_empty() && name.chars().all(is_word)).then_some(name)
    };
    let shape = |name: &str| {
        let place = ["inputs", "outputs", "params"];
        let at = |section: &&str| at_path(&site.tree, &format!("signature.{section}.{name}.shape"));
        place.iter().find_map(at)
    };
    let (target, new) = match (tensor(left), tensor(right)) {
        (Some(own), Some(other)) => {
            let other_shape = shape(&other)?;
            // The output follows the input, whichever side it is on.
            let is_output = |name: &str| at_path(&site.tree, &format!("signature.outputs.{name}")).is_some();
            if is_output(&other) && !is_output(&own) {
                (shape(&other)?, slice(site.text(), shape(&own)?.range).to_owned())
            } else {
                (shape(&own)?, slice(site.text(), other_shape.range).to_owned())
            }
        }
        (Some(own), None) | (None, Some(own)) => {
            let other = if tensor(left).is_some() { right } else { left };
            let axes = other.trim();
            let axes = axes.strip_prefix(['(', '['])?.strip_suffix([')', ']'])?.trim().trim_end_matches(',');
            (shape(&own)?, quoted(&site.tree, &format!("[{axes}]")))
        }
        (None, None) => return None,
    };
    let old = slice(site.text(), target.range);
    if new.contains(['\n', '\r']) {
        return None;
    }
    let same = |text: &str| text.trim_matches(['"', '\'']).split_whitespace().collect::<String>();
    if same(old) == same(&new) {
        return Some(Candidate::new("Remove what the shapes say already", vec![removal], Applicability::Safe));
    }
    let title = format!("Write the shape as {}", shown(&new));
    Some(Candidate::new(title, vec![edit(target.range, new), removal], Applicability::Unsafe))
}

/// `x.shape[0]`, `x.ndim`, `x.dtype`: what the declaration of `x` says.
fn attribute(site: &Site<'_>, defect: &Defect) -> Option<Candidate> {
    let (node, scalar) = text_at(site, defect.range)?;
    let part = decoded(scalar, node, defect.range);
    let stated = scalar.text.get(part.clone())?;
    let (stated, is_call) = match stated.strip_suffix("()") {
        Some(read) => (read, true),
        None => (stated, false),
    };
    let (name, read) = stated.rsplit_once('.')?;
    if name.is_empty() || !name.chars().all(is_word) {
        return None;
    }
    let declared = ["inputs", "outputs", "params"]
        .iter()
        .find_map(|section| at_path(&site.tree, &format!("signature.{section}.{name}")))?;
    let rest = scalar.text.get(part.end..)?;
    let (length, text) = match read {
        "shape" if !is_call => {
            let index = rest.strip_prefix('[')?;
            let close = index.find(']')?;
            let position: i64 = index.get(..close)?.trim().parse().ok()?;
            (close + 2, axis(declared, position)?)
        }
        "ndim" | "dim" => (0, rank(declared)?),
        "dtype" if !is_call => (0, value_of(declared, "dtype")?.as_str()?.to_owned()),
        _ => return None,
    };
    let range = scalar.map.range(span(part.start, part.end + length));
    let edits = rewrite(site.text(), &site.tree, &[(range, text.clone())])?;
    Some(Candidate::new(super::replace_title(slice(site.text(), range), &text), edits, Applicability::Safe))
}

fn axes_of(tensor: &Node) -> Option<(Vec<Axis>, &Scalar, &Node)> {
    let node = value_of(tensor, "shape")?;
    let scalar = node.as_scalar()?;
    match parse_shape(scalar, node.range, "", &mut Findings::default()).kind {
        ShapeKind::Axes(axes) => Some((axes, scalar, node)),
        _ => None,
    }
}

/// The axis of a tensor at a position, from the end where that is negative.
fn axis(tensor: &Node, position: i64) -> Option<String> {
    let (axes, ..) = axes_of(tensor)?;
    let count = i64::try_from(axes.len()).ok()?;
    let at = usize::try_from(if position < 0 { count + position } else { position }).ok()?;
    let between = if position < 0 { axes.get(at..)? } else { axes.get(..=at)? };
    if between.iter().any(|axis| matches!(axis, Axis::Splice(_))) {
        return None;
    }
    match axes.get(at)? {
        Axis::One(expr) if matches!(expr.kind, ExprKind::Name(_) | ExprKind::Int(_) | ExprKind::Call(_)) => {
            Some(expr.to_string())
        }
        Axis::One(expr) => Some(format!("({expr})")),
        Axis::Splice(_) => None,
    }
}

/// The rank of a tensor.
fn rank(tensor: &Node) -> Option<String> {
    let (axes, ..) = axes_of(tensor)?;
    let single = axes.iter().filter(|axis| matches!(axis, Axis::One(_))).count();
    let splices: Vec<String> = axes
        .iter()
        .filter_map(|axis| match axis {
            Axis::Splice(expr) => Some(format!("len({expr})")),
            Axis::One(_) => None,
        })
        .collect();
    Some(match (splices.as_slice(), single) {
        ([], n) => n.to_string(),
        ([one], 0) => one.clone(),
        (many, 0) => format!("({})", many.join(" + ")),
        (many, n) => format!("({} + {n})", many.join(" + ")),
    })
}

/// Gives a comprehension's variable a name that nothing else has.
pub(super) fn shadowed_name(site: &Site<'_>, defect: &Defect) -> Vec<Candidate> {
    let Some((node, scalar)) = text_at(site, defect.range) else { return Vec::new() };
    let expr = parse_expression(scalar, node.range, "", &mut Findings::default());
    let mut places = Vec::new();
    let mut open = vec![&expr];
    while let Some(at) = open.pop() {
        if let ExprKind::Call(call) = &at.kind
            && let Some(comprehension) = &call.comprehension
            && comprehension.variable.range == defect.range
        {
            places.push(comprehension.variable.range);
            call.args.iter().for_each(|element| uses(element, &defect.subject, &mut places));
        }
        at.for_each_child(&mut |child| open.push(child));
    }
    let is_free = |name: &str| {
        site.analysis.as_ref().is_none_or(|analysis| analysis.scope.get(name).is_none()) && !scalar.text.contains(name)
    };
    let lower = defect.subject.to_ascii_lowercase();
    let fresh = [lower.clone(), format!("{lower}_i"), "item".to_owned(), "each".to_owned()];
    let Some(fresh) = fresh.into_iter().find(|name| is_free(name)) else { return Vec::new() };
    let changes: Vec<(TextRange, String)> = places.into_iter().map(|range| (range, fresh.clone())).collect();
    let edits = rewrite(site.text(), &site.tree, &changes);
    let title = format!("Call the variable `{fresh}`");
    edits.map(|edits| Candidate::new(title, edits, Applicability::Safe)).into_iter().collect()
}

fn uses(expr: &Expr, name: &str, places: &mut Vec<TextRange>) {
    if expr.as_name() == Some(name) {
        places.push(expr.range);
    }
    expr.for_each_child(&mut |child| uses(child, name, places));
}

/// In a refinement, what reads an optional value holds where there is none.
pub(super) fn unguarded(site: &Site<'_>, defect: &Defect) -> Vec<Candidate> {
    let Some((node, scalar)) = text_at(site, defect.range) else { return Vec::new() };
    if !defect.path.starts_with("signature.shape_rules[") {
        return Vec::new();
    }
    let Some((base, field)) = defect.subject.rsplit_once('.') else { return Vec::new() };
    let otherwise = if field == "value" {
        vec![format!("not present({base})")]
    } else {
        let adts = site.adts.iter().flat_map(|adt| &adt.constructors);
        adts.filter(|constructor| constructor.field(field).is_some())
            .map(|constructor| format!("{base}.kind != '{}'", constructor.name))
            .collect()
    };
    let rule = scalar.text.trim();
    let expr = parse_expression(scalar, node.range, "", &mut Findings::default());
    let is_plain = matches!(expr.kind, ExprKind::Compare(..) | ExprKind::Call(_) | ExprKind::Name(_));
    let rule = if is_plain { rule.to_owned() } else { format!("({rule})") };
    otherwise
        .into_iter()
        .filter_map(|guard| {
            let edits = rewrite(site.text(), &site.tree, &[(node.range, format!("{guard} or {rule}"))])?;
            Some(Candidate::new(format!("Ask it only where `{guard}` fails"), edits, Applicability::Unsafe))
        })
        .collect()
}
