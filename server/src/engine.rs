//! From files to what the analyzer knows of them: reads, cuts and analyzes on all threads, and merges in order.

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::{Context, Result};
use rayon::prelude::*;
use tileops_analyzer::analysis::{EntryAnalysis, EntryContext, analyze_entry};
use tileops_analyzer::roofline::Formulas;
use tileops_analyzer::text::TextRange;
use tileops_analyzer::workspace::{EntryRef, FileKind, Report, SourceFile, Workspace, outline};

use crate::cli::Arguments;
use crate::config::{Config, Configs};
use crate::diagnostic::{Bug, Problem, Skipped};
use crate::discover::{self, Input, Inputs};
use crate::formulas;
use crate::panics;
use crate::source::{self, Decoded, Source};

/// Enough for the deepest expression that the analyzer reads, in a build without optimization.
pub(crate) const STACK_BYTES: usize = 16 << 20;

/// The bytes that are no UTF-8, by the path of the file that has them.
type Faults = BTreeMap<Arc<str>, Vec<TextRange>>;

/// The files under one configuration, analyzed.
#[derive(Debug)]
pub(crate) struct Group {
    /// The configuration.
    pub(crate) config: Arc<Config>,
    /// The files and entries.
    pub(crate) workspace: Workspace,
    /// The texts, in the order of the workspace's files.
    pub(crate) sources: Vec<Arc<Source>>,
    /// What is not UTF-8 in them.
    pub(crate) faults: Faults,
    /// What was found.
    pub(crate) report: Report,
}

/// Everything that a run looked at.
#[derive(Debug, Default)]
pub(crate) struct Judged {
    pub(crate) groups: Vec<Group>,
    pub(crate) skipped: Vec<Skipped>,
    pub(crate) problems: Vec<Problem>,
    pub(crate) bugs: Vec<Bug>,
}

/// A pool of as many threads as asked for.
pub(crate) fn pool(arguments: &Arguments) -> Result<rayon::ThreadPool> {
    threads(arguments.jobs.map_or(0, usize::from))
}

/// A pool of `count` threads, or of as many as the machine has where that is 0.
pub(crate) fn threads(count: usize) -> Result<rayon::ThreadPool> {
    let builder = rayon::ThreadPoolBuilder::new().num_threads(count).stack_size(STACK_BYTES);
    builder.build().context("cannot start the threads")
}

/// Reads and analyzes `inputs` on the threads of the pool that it is called in.
pub(crate) fn judge(inputs: Inputs, configs: &Configs) -> Judged {
    judge_with(inputs, configs, |workspace, entry| {
        entry.name.as_deref().inspect(|name| panics::injected(name));
        workspace.analyze(entry)
    })
}

fn judge_with(
    inputs: Inputs,
    configs: &Configs,
    analyze: impl Fn(&Workspace, &EntryRef) -> EntryAnalysis + Sync,
) -> Judged {
    let Inputs { files, configs: known, problems, contents, .. } = inputs;
    let mut judged = Judged { problems, ..Judged::default() };
    for (path, message) in &configs.unreadable {
        judged.problems.push(Problem { path: discover::shown(path), message: message.clone() });
    }

    let files: Vec<(Arc<str>, Input)> = files.into_iter().collect();
    let texts: Vec<Result<Decoded>> = files
        .par_iter()
        .map(|(path, input)| match contents.get(path) {
            Some(bytes) => Ok(source::decode(bytes.clone())),
            None => Ok(source::decode(read(input)?)),
        })
        .collect();
    let mut groups: Vec<(Vec<SourceFile>, Faults)> = known.iter().map(|_| Default::default()).collect();
    for ((path, input), text) in files.iter().zip(texts) {
        let message = match text {
            Ok(Decoded::Text(text, faults)) => {
                // Every input names a configuration of the list that came with it.
                let Some((sources, faulty)) = groups.get_mut(input.config) else { continue };
                let Input { configured, judged, .. } = *input;
                sources.push(SourceFile { path: path.clone(), text: text.into(), configured, judged });
                if !faults.is_empty() {
                    faulty.insert(path.clone(), faults);
                }
                continue;
            }
            Ok(Decoded::NoText(reason)) if input.configured || input.named => reason.to_owned(),
            Ok(Decoded::NoText(reason)) => {
                let reason = reason.split(';').next().unwrap_or(reason).to_owned();
                judged.skipped.push(Skipped { path: path.clone(), reason, named: false });
                continue;
            }
            Err(error) => match error.downcast_ref() {
                Some(error) => discover::describe(error),
                None => format!("{error:#}"),
            },
        };
        if input.judged {
            judged.problems.push(Problem { path: path.to_string(), message });
        }
    }

    let input = |path: &str| files.binary_search_by(|(known, _)| (**known).cmp(path)).ok().map(|at| &files[at].1);
    for (config, (sources, faults)) in known.into_iter().zip(groups) {
        // Where no file is under a configuration, nobody asks for its formulas.
        let formulas = if sources.is_empty() {
            Formulas::default()
        } else {
            formulas::read(&config, &mut judged.problems).formulas
        };
        let group = analyze_group(config, formulas, sources, faults, &analyze, &mut judged.bugs);
        for file in &group.report.files {
            // A file beside those asked for is none that was left out.
            let asked_for = input(&file.path).filter(|input| input.judged);
            if let (FileKind::Skipped(reason), Some(input)) = (file.kind, asked_for) {
                let (path, reason) = (file.path.clone(), reason.to_owned());
                judged.skipped.push(Skipped { named: input.named, path, reason });
            }
        }
        judged.groups.push(group);
    }
    judged.skipped.sort();
    judged.problems.sort();
    judged.problems.dedup();
    judged.bugs.sort();
    judged
}

/// The bytes of a file.
pub(crate) fn read(input: &Input) -> Result<Vec<u8>> {
    if input.stdin { source::bounded(std::io::stdin().lock(), 0) } else { source::read(&input.path) }
}

fn analyze_group(
    config: Arc<Config>,
    formulas: Formulas,
    files: Vec<SourceFile>,
    faults: Faults,
    analyze: &(impl Fn(&Workspace, &EntryRef) -> EntryAnalysis + Sync),
    bugs: &mut Vec<Bug>,
) -> Group {
    let outlines = files.par_iter().map(|file| outline(&file.path, &file.text, file.configured)).collect();
    let sources = files.iter().map(|file| Arc::new(Source::new(file.path.clone(), file.text.clone()))).collect();
    let workspace = Workspace::assemble(files, outlines).with_formulas(formulas);
    let results: Vec<(EntryAnalysis, Option<String>)> = workspace
        .entries()
        .par_iter()
        .map(|entry| match panics::catch(|| analyze(&workspace, entry)) {
            Ok(analysis) => (analysis, None),
            Err(panic) => (stand_in(&workspace, entry), Some(panic)),
        })
        .collect();
    let mut analyses = Vec::with_capacity(results.len());
    for (entry, (analysis, panic)) in workspace.entries().iter().zip(results) {
        analyses.push(analysis);
        if let (Some(message), Some(file)) = (panic, workspace.files().get(entry.file).filter(|file| file.judged)) {
            bugs.push(Bug { path: file.path.clone(), entry: entry.name.clone(), message });
        }
    }
    let report = workspace.finish(analyses);
    Group { config, workspace, sources, faults, report }
}

/// An analysis in place of one that panicked: the entry keeps its name, so that others can name it, and says nothing.
fn stand_in(workspace: &Workspace, entry: &EntryRef) -> EntryAnalysis {
    let text = entry.name.as_ref().map_or_else(String::new, |name| format!("{name}:\n"));
    let mut analysis =
        analyze_entry(&text, &EntryContext { adts: workspace.adts(entry.file), formulas: workspace.formulas() });
    analysis.findings = Default::default();
    analysis.comments.clear();
    analysis
}

impl Group {
    /// The text of the file at `position` of the workspace.
    pub(crate) fn source(&self, position: usize) -> Option<&Arc<Source>> {
        self.sources.get(position)
    }

    /// The position in the workspace of the file at `path`.
    pub(crate) fn position(&self, path: &str) -> Option<usize> {
        self.workspace.files().binary_search_by(|file| (*file.path).cmp(path)).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_costs_its_entry_and_is_said() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("demo.yaml");
        std::fs::write(&path, "AFwdOp:\n  signature: 1\nBFwdOp:\n  signature: 1\n").expect("written");
        let input = Input { path, stdin: false, configured: true, judged: true, named: true, config: 0 };
        let inputs = Inputs {
            files: BTreeMap::from([(Arc::from("demo.yaml"), input)]),
            configs: vec![Arc::new(Config::default())],
            ..Inputs::default()
        };
        let judged = judge_with(inputs, &Configs::default(), |workspace, entry| {
            assert_ne!(entry.name.as_deref(), Some("AFwdOp"), "a deliberate panic");
            workspace.analyze(entry)
        });
        assert_eq!(judged.bugs.len(), 1);
        assert_eq!((&*judged.bugs[0].path, judged.bugs[0].entry.as_deref()), ("demo.yaml", Some("AFwdOp")));
        assert!(judged.bugs[0].message.contains("a deliberate panic"));
        let of = |name: &str| {
            judged.groups[0].report.files[0].defects.iter().filter(|d| d.entry.as_deref() == Some(name)).count()
        };
        assert_eq!(of("AFwdOp"), 0);
        assert_ne!(of("BFwdOp"), 0);
    }
}
