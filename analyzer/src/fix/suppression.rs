//! The comment that suppresses a defect.

use super::bench::Bench;
use super::edits::{edit, line_end, line_start, line_stop, span};
use super::{Applicability, Candidate, Fix, passed};
use crate::db::AnalysisDb;
use crate::defect::codes;
use crate::ide::Edit;
use crate::ide::site::Site;
use crate::text::TextSize;
use crate::workspace::Located;

/// Suppresses a defect where it stands: by a comment behind its line, above it, or at the entry's key. Nothing where no
/// comment can.
pub fn suppression(db: &AnalysisDb, path: &str, located: &Located) -> Option<Fix> {
    let defect = &located.defect;
    let text = db.text(path)?;
    if defect.code == &codes::BAD_SUPPRESSION || defect.code == &codes::UNUSED_SUPPRESSION {
        return None;
    }
    let code = defect.code.name;
    let at = usize::from(defect.range.start());
    let mut edits: Vec<Edit> = vec![behind(&text, at, code)];
    // A text over several lines has no room for a comment: the line that opens it has.
    let site = Site::at(db, path, defect.range.start());
    if let Some(site) = &site {
        let local = site.local(defect.range.start());
        let opens = super::edits::way(&site.tree, crate::text::TextRange::empty(local)).last().map(|held| match held {
            super::edits::Held::Pair(_, pairs, at) => pairs[*at].key.range.start(),
            super::edits::Held::Item(_, items, at) => items[*at].range.start(),
        });
        edits.extend(opens.map(|opens| behind(&text, usize::from(site.range.start() + opens), code)));
        edits.push(above(&text, at, code));
        let key = site.range.start() + site.tree.key.range.start();
        edits.push(behind(&text, key.into(), code));
    }
    let candidates = edits
        .into_iter()
        .map(|edit| Candidate::new(format!("Suppress `{code}` here"), vec![edit], Applicability::Unsafe))
        .collect();
    let bench = Bench::of_file(db, path)?;
    let mut effort = usize::MAX;
    passed(&bench, candidates, defect, TextSize::new(0), &mut effort).into_iter().next()
}

/// A comment behind the line, or the code in the one that is there.
fn behind(text: &str, at: usize, code: &str) -> Edit {
    let (start, stop) = (line_start(text, at), line_stop(text, at));
    let line = text.get(start..stop).unwrap_or("");
    if let Some(comment) = line.find("# tileops: ignore[")
        && let Some(close) = line.get(comment..).and_then(|rest| rest.find(']'))
    {
        let close = start + comment + close;
        return edit(span(close, close), format!(", {code}"));
    }
    let end = start + line.trim_end().len();
    edit(span(end, stop), format!("  # tileops: ignore[{code}]"))
}

/// A comment on a line of its own above.
fn above(text: &str, at: usize, code: &str) -> Edit {
    let start = line_start(text, at);
    let line = text.get(start..line_stop(text, at)).unwrap_or("");
    let indent = line.len() - line.trim_start_matches(' ').len();
    edit(span(start, start), format!("{}# tileops: ignore[{code}]{}", " ".repeat(indent), line_end(text)))
}
