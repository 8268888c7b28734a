//! What is not wrong and can be said more plainly: a `bytes` that says what the signature says already.

use std::collections::BTreeMap;

use super::edits::{at_path, pairs, remove_pair};

use crate::analysis::{EntryContext, analyze_entry};
use crate::db::AnalysisDb;
use crate::eval::fold;
use crate::expr::{Axis, BinaryOp, Expr, ExprKind, ShapeKind, UnaryOp};
use crate::ide::Edit;
use crate::ide::site::Site;
use crate::lang::DType;
use crate::roofline::{Bytes, RooflineBody, Term};
use crate::text::TextRange;

/// An edit that changes how something is said, and not what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rewrite {
    /// What it does, as an imperative.
    pub title: String,
    /// The edits in the file, in order.
    pub edits: Vec<Edit>,
}

/// The rewrites of what touches `range` of a file.
pub fn rewrites(db: &AnalysisDb, path: &str, range: TextRange) -> Vec<Rewrite> {
    let Some(site) = Site::at(db, path, range.start()) else { return Vec::new() };
    derived_bytes(&site, range).into_iter().collect()
}

/// Drops a `bytes` that is the sum that the signature gives.
fn derived_bytes(site: &Site<'_>, range: TextRange) -> Option<Rewrite> {
    let analysis = site.analysis.as_ref()?;
    let formula = analysis.entry.roofline.valid()?.bytes.valid()?;
    let mapping = at_path(&site.tree, "roofline")?;
    let at = pairs(mapping).iter().position(|pair| pair.key.as_str() == Some("bytes"))?;
    let pair = pairs(mapping).get(at)?;
    let stated = TextRange::new(pair.key.range.start(), pair.value.range.end());
    site.global(stated).intersect(range)?;
    let edit = remove_pair(site.text(), &site.tree, mapping, at)?;
    let text = super::apply(site.text(), std::slice::from_ref(&edit))?;
    let context = EntryContext { adts: &site.adts, formulas: site.db.formulas() };
    let without = analyze_entry(&text, &context);
    // Nothing is said anew where something is wrong.
    if !analysis.findings.defects.is_empty() || !without.findings.defects.is_empty() {
        return None;
    }
    for (point, body) in &without.plan.as_ref()?.arms {
        let RooflineBody::Inline { bytes: Bytes::Derived(terms), .. } = body else { return None };
        let here = without.checked.branch(point);
        let own = Sum::of(&fold(&formula.expr, &here.point), terms)?;
        let mut derived = Sum::default();
        for term in terms {
            derived.add(&Sum::of_size(term)?, i128::from(term.reads + term.writes))?;
        }
        if own != derived {
            return None;
        }
    }
    let edit = Edit { range: site.global(edit.range), text: edit.text };
    Some(Rewrite { title: "Drop `bytes`, which is the sum over the tensors".to_owned(), edits: vec![edit] })
}

/// A sum of products, ordered: two that are equal are the same.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Sum(BTreeMap<Vec<String>, i128>);

/// How many products a sum has before it is given up.
const LARGEST: usize = 256;

impl Sum {
    fn number(value: i128) -> Self {
        let mut sum = Sum::default();
        if value != 0 {
            sum.0.insert(Vec::new(), value);
        }
        sum
    }

    fn atom(name: String) -> Self {
        Sum(BTreeMap::from([(vec![name], 1)]))
    }

    fn add(&mut self, other: &Sum, times: i128) -> Option<()> {
        for (product, count) in &other.0 {
            let entry = self.0.entry(product.clone()).or_default();
            *entry = entry.checked_add(count.checked_mul(times)?)?;
        }
        self.0.retain(|_, count| *count != 0);
        (self.0.len() <= LARGEST).then_some(())
    }

    fn times(&self, other: &Sum) -> Option<Sum> {
        let mut product = Sum::default();
        for (a, x) in &self.0 {
            for (b, y) in &other.0 {
                let mut factors: Vec<String> = a.iter().chain(b).cloned().collect();
                factors.sort_unstable();
                product.add(&Sum(BTreeMap::from([(factors, 1)])), x.checked_mul(*y)?)?;
            }
        }
        Some(product)
    }

    /// An expression in which `bytes(t)` is the size of a tensor of `terms`. What is neither a sum nor a product is an
    /// atom, by its text.
    fn of(expr: &Expr, terms: &[Term]) -> Option<Sum> {
        Some(match &expr.kind {
            ExprKind::Int(value) => Sum::number(*value),
            ExprKind::Unary(UnaryOp::Neg, operand) => {
                let mut sum = Sum::default();
                sum.add(&Sum::of(operand, terms)?, -1)?;
                sum
            }
            ExprKind::Binary(operator @ (BinaryOp::Add | BinaryOp::Sub), left, right) => {
                let mut sum = Sum::of(left, terms)?;
                sum.add(&Sum::of(right, terms)?, if *operator == BinaryOp::Add { 1 } else { -1 })?;
                sum
            }
            ExprKind::Binary(BinaryOp::Mul, left, right) => Sum::of(left, terms)?.times(&Sum::of(right, terms)?)?,
            ExprKind::Call(call) if &*call.callee.value == "bytes" => {
                let [tensor] = call.args.as_slice() else { return None };
                let name = tensor.as_name()?;
                Sum::of_size(terms.iter().find(|term| *term.tensor == *name)?)?
            }
            ExprKind::Error(_) | ExprKind::Bool(_) | ExprKind::Float(_) => return None,
            _ => Sum::atom(expr.to_string()),
        })
    }

    /// The size of a tensor.
    fn of_size(term: &Term) -> Option<Sum> {
        let ShapeKind::Axes(axes) = &term.shape.kind else { return None };
        let dtype: Option<DType> = match &term.dtype.kind {
            ExprKind::Name(name) | ExprKind::Str(name) => DType::from_name(name),
            _ => None,
        };
        let mut size = match dtype {
            Some(dtype) => Sum::number(i128::from(dtype.bits() / 8)),
            None => Sum::atom(format!("size of {}", term.dtype)),
        };
        for axis in axes {
            let factor = match axis {
                Axis::One(expr) => Sum::of(expr, &[])?,
                Axis::Splice(expr) => Sum::atom(format!("prod({expr})")),
            };
            size = size.times(&factor)?;
        }
        Some(size)
    }
}
