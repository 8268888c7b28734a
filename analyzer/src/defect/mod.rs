//! Defects: what is wrong, where, and what would be accepted there.

pub mod codes;
mod merge;
mod registry;

pub(crate) use merge::merge_repeats;
pub use registry::{Code, Mend, Severity, Status, all_codes, find_code};

use crate::text::TextRange;

/// Something wrong with a manifest. Its identity is (code, path, subject); message and range may change with the text
/// around it.
#[derive(Debug, Clone, PartialEq)]
pub struct Defect {
    /// Which rule is broken.
    pub code: &'static Code,
    /// The characters at fault. Relative to the entry while an entry is judged, to the file afterwards.
    pub range: TextRange,
    /// Where in the entry, as a path of keys: `signature.inputs.x.shape`, `workloads[3].M`; empty for the entry itself.
    pub path: String,
    /// The name or text that the defect is about.
    pub subject: String,
    /// What is wrong, as one sentence without a full stop, that stands on its own.
    pub message: String,
    /// What to write instead, or what is allowed here.
    pub help: Option<String>,
    /// The other places involved.
    pub related: Vec<Related>,
    /// What stands in place of the characters at fault in a text that is right, where the judgment knows it.
    pub instead: Option<Box<Instead>>,
}

/// A text in place of another, where both are inside of one scalar: of an expression, a type, a name, a word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Instead {
    /// The characters to replace, as a defect's.
    pub range: TextRange,
    /// The text that is meant, without the quotes and escapes that the scalar around it may need.
    pub text: String,
    /// Whether something else may be meant, too.
    pub is_guess: bool,
}

/// Another place that a defect involves.
#[derive(Debug, Clone, PartialEq)]
pub struct Related {
    /// Where.
    pub place: Place,
    /// What stands there: "`M` is declared here".
    pub message: String,
}

/// A place in the same entry, or one in another that is named rather than located, so that moving it re-judges nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// Characters of the same entry (or, in a file's own defect, of the same file).
    Here(TextRange),
    /// The declaration of a shared ADT in `types.yaml`.
    Adt(String),
    /// The entry of another op, by its name and which of its declarations, from zero, is meant.
    Op(String, u32),
}

/// A judgment that could not be made for want of a fact. Never an error: what is missing has a defect of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unreached {
    /// The characters that were to be judged, relative to the entry.
    pub range: TextRange,
    /// Where in the entry, as in [`Defect::path`].
    pub path: String,
    /// What was to be judged: "the kind of this formula".
    pub judgment: String,
    /// The fact that is missing, by its path or name: "signature.forall", "the kind of `M`".
    pub missing: String,
}

/// What a pass found. Passes add to it; none stops at a defect.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Findings {
    /// What is wrong.
    pub defects: Vec<Defect>,
    /// What could not be judged.
    pub unreached: Vec<Unreached>,
}

impl Findings {
    /// Adds a defect and returns it, so that help and related places can follow: see [`Defect::help`] and
    /// [`Defect::related`].
    pub fn report(
        &mut self,
        code: &'static Code,
        range: TextRange,
        path: impl Into<String>,
        subject: impl Into<String>,
        message: impl Into<String>,
    ) -> &mut Defect {
        self.defects.push(Defect {
            code,
            range,
            path: path.into(),
            subject: subject.into(),
            message: message.into(),
            help: None,
            related: Vec::new(),
            instead: None,
        });
        // The vector is not empty: an element was pushed on the line above.
        #[allow(clippy::unwrap_used)]
        self.defects.last_mut().unwrap()
    }

    /// Records a judgment that lacks a fact.
    pub fn unreached(
        &mut self,
        range: TextRange,
        path: impl Into<String>,
        judgment: impl Into<String>,
        missing: impl Into<String>,
    ) {
        self.unreached.push(Unreached { range, path: path.into(), judgment: judgment.into(), missing: missing.into() });
    }

    /// Takes over everything that `other` found.
    pub fn append(&mut self, mut other: Findings) {
        self.defects.append(&mut other.defects);
        self.unreached.append(&mut other.unreached);
    }

    /// Puts everything in its total order (place, then code, path, subject and message) and drops exact repeats.
    pub fn normalize(&mut self) {
        fn key(d: &Defect) -> (TextRange2, &str, &str, &str, &str) {
            (order(d.range), d.code.name, &d.path, &d.subject, &d.message)
        }
        self.defects.sort_by(|a, b| key(a).cmp(&key(b)));
        self.defects.dedup();
        self.unreached.sort_by(|a, b| {
            (order(a.range), &a.path, &a.judgment, &a.missing).cmp(&(order(b.range), &b.path, &b.judgment, &b.missing))
        });
        self.unreached.dedup();
    }
}

type TextRange2 = (u32, u32);

fn order(range: TextRange) -> TextRange2 {
    (range.start().into(), range.end().into())
}

impl Defect {
    /// Says what to write instead, or what is allowed.
    pub fn help(&mut self, help: impl Into<String>) -> &mut Self {
        self.help = Some(help.into());
        self
    }

    /// Says what stands in place of the characters at fault in a text that is right.
    pub fn instead(&mut self, text: impl Into<String>) -> &mut Self {
        self.instead_of(self.range, text)
    }

    /// Says what stands in place of `range`, which has the characters at fault, in a text that is right.
    pub fn instead_of(&mut self, range: TextRange, text: impl Into<String>) -> &mut Self {
        self.instead = Some(Box::new(Instead { range, text: text.into(), is_guess: false }));
        self
    }

    /// Says which name was most likely meant, if any is close.
    pub fn meant(&mut self, name: Option<impl Into<String>>) -> &mut Self {
        if let Some(name) = name {
            self.instead(name);
        }
        self
    }

    /// Says that something else may be meant than what stands instead.
    pub fn guess(&mut self) -> &mut Self {
        if let Some(instead) = &mut self.instead {
            instead.is_guess = true;
        }
        self
    }

    /// Points at another place in the same entry.
    pub fn related(&mut self, range: TextRange, message: impl Into<String>) -> &mut Self {
        self.related_place(Place::Here(range), message)
    }

    /// Points at another place, wherever it is.
    pub fn related_place(&mut self, place: Place, message: impl Into<String>) -> &mut Self {
        self.related.push(Related { place, message: message.into() });
        self
    }
}

impl Unreached {
    /// The judgment as one sentence without a full stop.
    pub fn message(&self) -> String {
        format!("{} is not judged: it needs {}", self.judgment, self.missing)
    }
}

/// "nothing", "`a`", "`a` and `b`", "`a`, `b` and `c`": how every message lists names.
pub fn list<S: AsRef<str>>(names: impl IntoIterator<Item = S>, joiner: &str) -> String {
    let quoted: Vec<String> = names.into_iter().map(|n| format!("`{}`", n.as_ref())).collect();
    match quoted.as_slice() {
        [] => "nothing".to_owned(),
        [one] => one.clone(),
        [most @ .., last] => format!("{} {joiner} {last}", most.join(", ")),
    }
}

/// So many axes, as a sentence says it: `no axis`, `1 axis`, `2 axes`.
pub fn axes_word(count: usize) -> String {
    match count {
        0 => "no axis".to_owned(),
        1 => "1 axis".to_owned(),
        n => format!("{n} axes"),
    }
}

/// `allowed` with those that look like `found` first (nearest first), the rest in the order given.
pub fn nearest_first<'a>(found: &str, allowed: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let mut scored: Vec<(bool, usize, usize, &str)> = allowed
        .into_iter()
        .enumerate()
        .map(|(position, name)| {
            let distance = distance(found, name);
            (distance.is_none(), distance.unwrap_or(0), position, name)
        })
        .collect();
    scored.sort_unstable();
    scored.into_iter().map(|(.., name)| name).collect()
}

/// The one name of `allowed` that `found` was most likely meant to be.
pub fn nearest<'a>(found: &str, allowed: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let first = nearest_first(found, allowed).into_iter().next()?;
    distance(found, first).map(|_| first)
}

/// How far apart two names are that can be one another's typo: a typo changes a third of a name at most; of a one- or
/// two-letter name, its case alone.
fn distance(found: &str, name: &str) -> Option<usize> {
    // The comparison of long texts would be quadratic; no name is that long.
    if found.len() > 128 || name.len() > 128 {
        return None;
    }
    let (short, long) = match (found.chars().count(), name.chars().count()) {
        (a, b) if a <= b => (a, b),
        (a, b) => (b, a),
    };
    // The difference in length is a distance already, and most pairs differ by more than a typo.
    if long - short > long / 3 {
        return None;
    }
    let distance = strsim::damerau_levenshtein(&found.to_lowercase(), &name.to_lowercase());
    (distance <= long / 3).then_some(distance)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_comes_first_and_far_ones_keep_their_order() {
        assert_eq!(nearest_first("shpae", ["dtype", "optional", "shape"]), ["shape", "dtype", "optional"]);
        assert_eq!(nearest("shpae", ["dtype", "shape"]), Some("shape"));
        assert_eq!(nearest("b", ["a", "c"]), None);
        assert_eq!(nearest("m", ["K", "M"]), Some("M"));
    }

    #[test]
    fn lists_read_as_english() {
        assert_eq!(list(["a"; 0], "or"), "nothing");
        assert_eq!(list(["a", "b", "c"], "or"), "`a`, `b` or `c`");
        assert_eq!([0, 1, 2].map(axes_word), ["no axis", "1 axis", "2 axes"]);
    }
}
