//! What is not wrong and can be said more plainly: a `bytes` that says what the signature says already.

use super::edits::{at_path, pairs, remove_pair};
use crate::analysis::{EntryAnalysis, EntryContext, analyze_entry};
use crate::db::AnalysisDb;
use crate::eval::fold;
use crate::expr::ExprKind;
use crate::ide::Edit;
use crate::ide::site::Site;
use crate::ide::sums::{Reader, Sum, Width};
use crate::lang::{DType, DTypeSet, Kind};
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

/// Drops a `bytes` that is the sum that the signature gives, on every branch and for every dtype.
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
        let branch = without.checked.branch(point);
        let plain = Reader { bytes: &|_| None, lets: Some(&*branch) };
        let size = |term: &Term| plain.size(term, &width(&without, term));
        let bytes = |name: &str| size(terms.iter().find(|term| *term.tensor == *name)?);
        let mut derived = Sum::default();
        for term in terms {
            derived.add(&size(term)?, i128::from(term.reads + term.writes))?;
        }
        let own = Reader { bytes: &bytes, lets: Some(&*branch) }.read(&fold(&formula.expr, &branch.point));
        if !own.minus(&derived)?.is_empty() {
            return None;
        }
    }
    let edit = Edit { range: site.global(edit.range), text: edit.text };
    Some(Rewrite { title: "Drop `bytes`, which is the sum over the tensors".to_owned(), edits: vec![edit] })
}

/// The width of a tensor's dtype: a number where all that it can be have one.
fn width(analysis: &EntryAnalysis, term: &Term) -> Width {
    let set = match &term.dtype.kind {
        ExprKind::Name(name) | ExprKind::Str(name) => match DType::from_name(name) {
            Some(dtype) => DTypeSet::EMPTY.with(dtype),
            None => match analysis.scope.get(name).map(|symbol| &symbol.kind) {
                Some(Kind::DType(set)) => *set,
                _ => DTypeSet::EMPTY,
            },
        },
        _ => DTypeSet::EMPTY,
    };
    let mut widths: Vec<u32> = set.iter().map(|dtype| dtype.bits() / 8).collect();
    widths.dedup();
    match widths.as_slice() {
        [bytes] => Width::Known(*bytes),
        _ => Width::Of(term.dtype.to_string()),
    }
}
