//! Judgments that span entries. They read summaries only, so an edit that leaves a summary as it is re-judges nothing.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::file::{file_name, stem};
use crate::analysis::mentioned_types;
use crate::defect::{Findings, Place, codes, list, nearest, nearest_first};
use crate::expr::Ident;
use crate::model::{Entry, Fact, Stage, StageTarget};
use crate::text::TextRange;

/// What other entries, and the file, see of an entry. Ranges are relative to the entry.
#[derive(Debug, Clone, PartialEq)]
pub struct Summary {
    /// The op's name.
    pub name: Ident,
    /// Its family.
    pub family: Fact<Ident>,
    /// The ops that its stages name, each with the path of the stage.
    pub stages: Vec<(Ident, Arc<str>)>,
    /// Stages of which it cannot be read what they run: where they stand, and their paths.
    pub unread_stages: Vec<(TextRange, String)>,
    /// The types that it names, in order and without repeats: all that its verdict can depend on of `types.yaml`.
    pub types: Vec<Arc<str>>,
}

impl Summary {
    /// Summarizes `entry`.
    pub fn of(entry: &Entry) -> Self {
        let mut summary = Summary {
            name: entry.name.clone(),
            family: entry.family.clone(),
            stages: Vec::new(),
            unread_stages: Vec::new(),
            types: mentioned_types(entry),
        };
        match &entry.composition {
            Fact::Absent(_) => {}
            Fact::Malformed(range) => summary.unread_stages.push((*range, "composition".to_owned())),
            Fact::Valid(composition, _) => summary.take_stages(&composition.stages),
        }
        summary
    }

    fn take_stages(&mut self, stages: &Fact<Vec<Fact<Stage>>>) {
        let Some(stages) = stages.valid() else {
            self.unread_stages.push((stages.range(), "composition.stages".to_owned()));
            return;
        };
        for (position, stage) in stages.iter().enumerate() {
            match stage.valid().and_then(|stage| Some((stage.target.valid()?, &stage.path))) {
                Some((StageTarget::Op(op), path)) => self.stages.push((op.clone(), path.clone())),
                Some((StageTarget::Kernel(_), _)) => {}
                None => self.unread_stages.push((stage.range(), format!("composition.stages[{position}]"))),
            }
        }
    }
}

/// The names of a manifest's ops, and how often each is declared.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OpIndex {
    /// Further declarations, of files that change less often.
    base: Option<Arc<OpIndex>>,
    ops: BTreeMap<Arc<str>, u32>,
    /// How many entries have no name that can be read.
    unnamed: u32,
}

impl OpIndex {
    /// Adds a declaration. One whose name cannot be read has an empty one.
    pub fn declare(&mut self, name: &Arc<str>) {
        if name.is_empty() {
            self.unnamed += 1;
        } else {
            *self.ops.entry(name.clone()).or_default() += 1;
        }
    }

    /// Takes a declaration back.
    pub(crate) fn forget(&mut self, name: &str) {
        if name.is_empty() && self.unnamed > 0 {
            self.unnamed -= 1;
        } else if let Some(count) = self.ops.get_mut(name) {
            *count -= 1;
            if *count == 0 {
                self.ops.remove(name);
            }
        } else if let Some(base) = &mut self.base {
            Arc::make_mut(base).forget(name);
        }
    }

    /// An index with all that `base` has.
    pub fn over(base: Arc<OpIndex>) -> Self {
        OpIndex { base: Some(base), ..OpIndex::default() }
    }

    /// Whether every entry's name could be read.
    pub fn is_complete(&self) -> bool {
        self.unnamed == 0 && self.base.as_ref().is_none_or(|base| base.is_complete())
    }

    /// How often `name` is declared.
    pub fn declarations(&self, name: &str) -> u32 {
        let below = self.base.as_ref().map_or(0, |base| base.declarations(name));
        self.ops.get(name).copied().unwrap_or(0) + below
    }

    /// Every name, in alphabetical order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let mut names: Vec<&str> = self.ops.keys().map(|name| &**name).collect();
        let mut base = self.base.as_deref();
        while let Some(index) = base {
            names.extend(index.ops.keys().map(|name| &**name));
            base = index.base.as_deref();
        }
        names.sort_unstable();
        names.dedup();
        names.into_iter()
    }
}

/// Judges an entry against the ops of its manifest. `nth` says which declaration of its name it is, from zero, in the
/// order of paths and then of places.
pub fn across_files(summary: &Summary, nth: u32, ops: &OpIndex, findings: &mut Findings) {
    if nth > 0 && !summary.name.value.is_empty() {
        findings
            .report(
                &codes::DUPLICATE_OP,
                summary.name.range,
                "",
                &*summary.name.value,
                format!("`{}` is declared already", summary.name.value),
            )
            .help("an op is declared once over all files of a manifest: drop or rename one of the entries")
            .related_place(Place::Op(summary.name.value.to_string(), 0), "it is first declared here");
    }
    for (range, path) in &summary.unread_stages {
        findings.unreached(*range, path, "whether the ops that the stages run exist", path);
    }
    for (op, path) in &summary.stages {
        if ops.declarations(&op.value) > 0 {
            continue;
        }
        if !ops.is_complete() {
            let path = format!("{path}.op");
            findings.unreached(
                op.range,
                path,
                format!("whether the op `{}` exists", op.value),
                "the names of all entries",
            );
            continue;
        }
        let near = nearest_first(&op.value, ops.names());
        let help = match nearest(&op.value, near.iter().copied()) {
            Some(close) => format!("did you mean `{close}`?"),
            None if near.len() <= 12 => format!("the manifest has {}", list(&near, "and")),
            None => "a stage names an entry of this manifest by `op`, or a kernel of its own by `kernel`".to_owned(),
        };
        findings
            .report(
                &codes::UNKNOWN_STAGE_OP,
                op.range,
                format!("{path}.op"),
                &*op.value,
                format!("the manifest has no op `{}`", op.value),
            )
            .help(help)
            .meant(nearest(&op.value, near.iter().copied()));
    }
}

/// Judges the families of one file's entries: a file is called `<family>.yaml` or `<family>_<shard>.yaml`, and all its
/// entries are of that family. `found[i]` takes what concerns `summaries[i]`.
pub fn within_file(path: &str, summaries: &[&Summary], found: &mut [Findings]) {
    let stem = stem(path);
    let mut first: Option<&Ident> = None;
    for (summary, findings) in summaries.iter().zip(found) {
        let Some(family) = summary.family.valid() else {
            findings.unreached(
                summary.family.range(),
                "family",
                "whether the file is that of the entry's family",
                "family",
            );
            continue;
        };
        let name = &*family.value;
        if !is_family_of(name, stem) {
            report(
                findings,
                family,
                format!("an entry of family `{name}` cannot be in the file `{}`", file_name(path)),
            )
            .help(format!(
                "the file of a family is called `{name}.yaml` or `{name}_<shard>.yaml`: move the entry, or write \
                     the file's own family{}",
                match first {
                    Some(other) => format!(", `{}`", other.value),
                    None => String::new(),
                }
            ));
            continue;
        }
        match first {
            None => first = Some(family),
            Some(other) if other.value != family.value => {
                report(
                    findings,
                    family,
                    format!("an entry of family `{name}` cannot be in a file of family `{}`", other.value),
                )
                .help("all entries of a file are of one family");
            }
            Some(_) => {}
        }
    }
}

fn report<'f>(findings: &'f mut Findings, family: &Ident, message: String) -> &'f mut crate::defect::Defect {
    findings.report(&codes::FAMILY_FILE, family.range, "family", &*family.value, message)
}

/// Whether a file called `stem` can hold entries of `family`.
fn is_family_of(family: &str, stem: &str) -> bool {
    stem.strip_prefix(family).is_some_and(|rest| rest.is_empty() || rest.starts_with('_'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_family_has_its_file_and_its_shards() {
        assert!(is_family_of("gemm", "gemm") && is_family_of("gemm", "gemm_small"));
        assert!(is_family_of("linear_attention", "linear_attention_bwd"));
        assert!(!is_family_of("gemm", "gemms") && !is_family_of("gemm_small", "gemm") && !is_family_of("moe", "gemm"));
    }
}
