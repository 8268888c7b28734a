//! Defects of one text while it is being read: in decoded offsets, refinable and retractable until the end.

use std::borrow::Cow;

use crate::defect::codes::EXPRESSION_LIMIT;
use crate::defect::{Code, Findings, Instead};
use crate::text::TextRange;

use super::Source;

/// How many defects of one text are listed: a text that has more is no expression at all.
const MAX_PROBLEMS: usize = 256;

/// A defect in the making.
#[derive(Debug, Clone)]
pub(super) struct Problem {
    pub(super) code: &'static Code,
    pub(super) range: TextRange,
    pub(super) subject: String,
    pub(super) message: String,
    pub(super) help: Option<String>,
    related: Vec<(TextRange, String)>,
    /// What is to be replaced, by what, and whether something else may be meant.
    instead: Option<(TextRange, String, bool)>,
    withdrawn: bool,
}

impl Problem {
    pub(super) fn help(&mut self, help: impl Into<String>) -> &mut Self {
        self.help = Some(help.into());
        self
    }

    /// Says what stands in place of `range` in a text that is right, as [`crate::defect::Defect::instead_of`] does.
    pub(super) fn instead_of(&mut self, range: TextRange, text: impl Into<String>) -> &mut Self {
        self.instead = Some((range, text.into(), false));
        self
    }

    /// Says what stands in place of what is marked.
    pub(super) fn instead(&mut self, text: impl Into<String>) -> &mut Self {
        self.instead_of(self.range, text)
    }

    /// Says that something else may be meant than what stands instead.
    pub(super) fn guess(&mut self) -> &mut Self {
        if let Some((_, _, is_guess)) = &mut self.instead {
            *is_guess = true;
        }
        self
    }

    pub(super) fn related(&mut self, range: TextRange, message: impl Into<String>) -> &mut Self {
        self.related.push((range, message.into()));
        self
    }

    /// Takes the problem back: a wider one says it better.
    pub(super) fn withdraw(&mut self) {
        self.withdrawn = true;
    }
}

/// The problems found so far. They are named by their position, so that a form recognised later can refine one.
#[derive(Debug, Default)]
pub(super) struct Problems {
    list: Vec<Problem>,
}

impl Problems {
    pub(super) fn report(
        &mut self,
        code: &'static Code,
        range: TextRange,
        subject: impl Into<String>,
        message: impl Into<String>,
    ) -> &mut Problem {
        self.list.push(Problem {
            code,
            range,
            subject: subject.into(),
            message: message.into(),
            help: None,
            related: Vec::new(),
            instead: None,
            withdrawn: false,
        });
        // The vector is not empty: an element was pushed on the line above.
        #[allow(clippy::unwrap_used)]
        self.list.last_mut().unwrap()
    }

    /// The position of the problem reported last.
    pub(super) fn last(&self) -> usize {
        self.list.len().saturating_sub(1)
    }

    pub(super) fn len(&self) -> usize {
        self.list.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Takes back the problems from a position on.
    pub(super) fn withdraw_from(&mut self, position: usize) {
        self.list.iter_mut().skip(position).for_each(Problem::withdraw);
    }

    pub(super) fn get(&mut self, position: usize) -> Option<&mut Problem> {
        self.list.get_mut(position)
    }

    /// Reports them all, in the order of their places.
    pub(super) fn submit(mut self, source: &Source<'_>, findings: &mut Findings) {
        self.list.retain(|p| !p.withdrawn);
        self.list.sort_by_key(|p| (p.range.start(), p.range.end()));
        if let Some(first) = self.list.get(MAX_PROBLEMS) {
            let message = format!("{} more defects of this text are not listed", self.list.len() - MAX_PROBLEMS);
            let rest = Problem {
                code: &EXPRESSION_LIMIT,
                message,
                help: None,
                related: Vec::new(),
                instead: None,
                ..first.clone()
            };
            self.list.truncate(MAX_PROBLEMS);
            self.list.push(rest);
        }
        for problem in self.list {
            let range = source.place(problem.range);
            let defect = findings.report(problem.code, range, source.path, problem.subject, problem.message);
            defect.help = problem.help;
            if let Some((range, text, is_guess)) = problem.instead {
                defect.instead = Some(Box::new(Instead { range: source.place(range), text, is_guess }));
            }
            for (range, message) in problem.related {
                defect.related(source.place(range), message);
            }
        }
    }
}

/// `text` fit for a message: on one line, and cut where it is long.
pub(super) fn excerpt(text: &str) -> Cow<'_, str> {
    const LONGEST: usize = 48;
    let plain = |c: char| c == ' ' || !(c.is_whitespace() || c.is_control());
    if text.len() <= LONGEST && text.chars().all(plain) && !text.contains("  ") {
        return Cow::Borrowed(text);
    }
    let mut out = String::new();
    let mut space = false;
    for (count, c) in text.chars().enumerate() {
        if count == LONGEST {
            out.push('…');
            break;
        }
        if c.is_whitespace() {
            space = true;
            continue;
        }
        if std::mem::take(&mut space) && !out.is_empty() {
            out.push(' ');
        }
        if c.is_control() { out.extend(c.escape_default()) } else { out.push(c) }
    }
    Cow::Owned(out)
}
