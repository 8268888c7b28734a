//! `--check`: every defect, in order, in the format asked for.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, Result};
use globset::{Glob, GlobSet, GlobSetBuilder};
use rayon::prelude::*;
use tileops_analyzer::defect::nearest;
use tileops_analyzer::workspace::{FileKind, FileReport};

use crate::baseline::{Baseline, Known};
use crate::cli::{Arguments, Format};
use crate::config::Configs;
use crate::diagnostic::{Diagnostic, JudgedFile, Level, Outcome, count};
use crate::discover;
use crate::engine::{self, Group};
use crate::exit::Exit;
use crate::findings::{self, Found, Reporting};
use crate::fix;
use crate::formulas;
use crate::levels::Levels;
use crate::notes::Notes;
use crate::render::{self, Style};
use crate::{output, render::human};

/// Checks once.
pub(crate) fn run(arguments: &Arguments, notes: &Notes) -> Result<Exit> {
    Checker::new(arguments)?.check(notes)
}

/// The ops that a run looks at.
#[derive(Debug)]
pub(crate) struct Selection {
    globs: GlobSet,
    /// The globs as written; none selects every op.
    pub(crate) written: Vec<String>,
}

impl Selection {
    pub(crate) fn new(arguments: &Arguments) -> Result<Self> {
        let mut builder = GlobSetBuilder::new();
        for glob in &arguments.select_op {
            builder.add(Glob::new(glob).with_context(|| format!("--select-op: `{glob}` is not a glob"))?);
        }
        let globs = builder.build().context("--select-op: the globs cannot be used together")?;
        Ok(Selection { globs, written: arguments.select_op.clone() })
    }

    /// Whether every op is looked at.
    pub(crate) fn is_everything(&self) -> bool {
        self.written.is_empty()
    }

    /// Whether an entry is looked at. One without a name is where nothing else is asked for.
    pub(crate) fn selects(&self, entry: Option<&str>) -> bool {
        self.is_everything() || entry.is_some_and(|name| self.globs.is_match(name))
    }

    /// What to say where no op of `names` is selected.
    pub(crate) fn miss<'n>(&self, names: impl IntoIterator<Item = &'n str>) -> String {
        let written = self.written.join("`, `");
        let close = self.written.first().and_then(|glob| nearest(glob, names));
        match close {
            Some(close) => format!("no op matches `{written}`; did you mean `{close}`?"),
            None => format!("no op matches `{written}`"),
        }
    }
}

/// A check that can be made again and again.
pub(crate) struct Checker<'a> {
    pub(crate) arguments: &'a Arguments,
    pub(crate) levels: Levels,
    pub(crate) selection: Selection,
    pool: rayon::ThreadPool,
}

impl<'a> Checker<'a> {
    pub(crate) fn new(arguments: &'a Arguments) -> Result<Self> {
        Ok(Checker {
            arguments,
            levels: Levels::from_arguments(arguments)?,
            selection: Selection::new(arguments)?,
            pool: engine::pool(arguments)?,
        })
    }

    /// The files and folders that a check depends on.
    pub(crate) fn watched(&self) -> Result<Vec<PathBuf>> {
        let mut configs = Configs::default();
        let mut paths = discover::roots(self.arguments, &mut configs)?;
        let configs: Vec<_> = paths.iter().filter_map(|path| configs.of(path)).collect();
        paths.extend(configs.iter().flat_map(|config| formulas::sources(config)));
        paths.sort();
        paths.dedup();
        Ok(paths)
    }

    /// Checks, writes the report, and gives how it went.
    pub(crate) fn check(&self, notes: &Notes) -> Result<Exit> {
        let arguments = self.arguments;
        let mut configs = Configs::default();
        let mut inputs = discover::discover(arguments, &mut configs)?;
        for root in &inputs.barren {
            notes.warning(&format!("`{root}` has no YAML file"));
        }
        let known = arguments.baseline.as_deref().map(Known::read).transpose()?.unwrap_or_default();
        let fixed = match arguments.fix || arguments.diff {
            true => Some(self.pool.install(|| fix::find(self, &mut inputs, &configs, &known))?),
            false => None,
        };
        if let Some(fixed) = fixed.as_ref().filter(|_| arguments.fix) {
            fix::write(fixed)?;
        }
        let mut outcome = self.pool.install(|| self.outcome(inputs, &configs, &known));

        let mut failed = !outcome.problems.is_empty();
        failed |= say_config_notes(&configs, notes);
        if !self.selection.is_everything() && outcome.entries() == 0 {
            notes.error(&self.selection.miss(outcome.names()));
            failed = true;
        }
        outcome.files.retain(|file| self.selection.is_everything() || !file.entries.is_empty());
        if let Some(path) = &arguments.baseline {
            Baseline::apply(
                path,
                arguments.write_baseline,
                &mut outcome,
                |entry| self.selection.selects(entry),
                notes,
            )?;
        }
        self.say(&outcome, notes);

        let format = arguments.format.unwrap_or(Format::Human);
        let styled = match &arguments.output_file {
            Some(_) => arguments.color == crate::cli::ColorChoice::Always,
            None => arguments.color.applies_to(&std::io::stdout()),
        };
        let exit = self.exit(&outcome, failed);
        let mut report = Vec::new();
        if let Some(fixed) = &fixed {
            notes.note(&fixed.summary(&outcome, arguments.diff));
            if arguments.diff {
                output::write(fixed.diff().as_bytes(), arguments.output_file.as_deref())?;
                return Ok(if exit == Exit::Clean && fixed.made() > 0 { Exit::Defects } else { exit });
            }
        }
        let style = Style { styled, statistics: arguments.statistics, exit };
        render::render(format, &outcome, &style, &mut report).context("cannot write the report")?;
        if arguments.statistics && format != Format::Human {
            notes.raw(&render::statistics(&outcome));
        }
        match fixed.and_then(|fixed| fixed.stdin) {
            // Standard output has the text, so the report goes beside it.
            Some(_) if arguments.output_file.is_none() => notes.raw(&String::from_utf8_lossy(&report)),
            _ => output::write(&report, arguments.output_file.as_deref())?,
        }
        Ok(exit)
    }

    fn exit(&self, outcome: &Outcome, failed: bool) -> Exit {
        if !outcome.bugs.is_empty() {
            Exit::Bug
        } else if failed {
            Exit::Failure
        } else if outcome.count(Level::Error) > 0
            || (self.arguments.error_on_advisory && outcome.count(Level::Advisory) > 0)
        {
            Exit::Defects
        } else {
            Exit::Clean
        }
    }

    /// Says what is not part of the report.
    fn say(&self, outcome: &Outcome, notes: &Notes) {
        for problem in &outcome.problems {
            notes.error(&format!("cannot read `{}`: {}", problem.path, problem.message));
        }
        for bug in &outcome.bugs {
            let entry = bug.entry.as_deref().map_or_else(String::new, |name| format!(" in `{name}`"));
            notes.bug(&format!("internal error{entry} of `{}`: {}", bug.path, bug.message));
        }
        say_skipped(outcome, self.arguments.verbose, notes);
        let human = self.arguments.format.is_none_or(|format| format == Format::Human);
        if human && outcome.unreached > 0 && !self.arguments.unreached {
            let judgments = count(outcome.unreached, "judgment", "judgments");
            notes.note(&format!("{judgments} could not be made for want of a fact; --unreached lists them"));
        }
        if human && outcome.suppressed > 0 {
            notes.note(&format!("{} suppressed by comments", count(outcome.suppressed, "defect is", "defects are")));
        }
        if human && outcome.baselined > 0 {
            notes.note(&format!("{} held back by the baseline", count(outcome.baselined, "defect is", "defects are")));
        }
    }

    /// Everything that is found in `inputs`.
    pub(crate) fn outcome(&self, inputs: discover::Inputs, configs: &Configs, known: &Known) -> Outcome {
        let judged = engine::judge(inputs, configs);
        let mut outcome =
            Outcome { skipped: judged.skipped, problems: judged.problems, bugs: judged.bugs, ..Outcome::default() };
        // What the report says of fixes is for people.
        let human = self.arguments.format.is_none_or(|format| format == Format::Human);
        outcome.fixable = (human && !self.arguments.diff).then_some((0, 0));
        for mut group in judged.groups {
            outcome.fixable =
                outcome.fixable.zip(fix::fixable(self, &group, known)).map(|(a, b)| (a.0 + b.0, a.1 + b.1));
            let reports = std::mem::take(&mut group.report.files);
            let parts: Vec<Part> = reports.into_par_iter().filter_map(|file| self.part(&group, file)).collect();
            for part in parts {
                outcome.diagnostics.extend(part.diagnostics);
                outcome.files.push(part.file);
                outcome.unreached += part.unreached;
                outcome.suppressed += part.suppressed;
                outcome.all_names.extend(part.names);
            }
        }
        outcome.files.sort_by(|a, b| a.source.path.cmp(&b.source.path));
        outcome.diagnostics.sort_by(Diagnostic::order);
        outcome
    }

    /// One file's part of the outcome.
    fn part(&self, group: &Group, report: FileReport) -> Option<Part> {
        if let FileKind::Skipped(_) = report.kind {
            return None;
        }
        let position = group.position(&report.path)?;
        let source = group.source(position)?.clone();
        let names: Vec<_> = report.entries.iter().map(|(name, _)| name.clone()).collect();
        let entries: Vec<_> = names.iter().filter(|name| self.selection.selects(name.as_deref())).cloned().collect();
        // What is wrong with a file concerns each of its entries.
        let selects = |entry: &Option<Arc<str>>| match entry {
            Some(name) => self.selection.selects(Some(name)),
            None => self.selection.is_everything() || !entries.is_empty(),
        };

        let faults = group.faults.get(&report.path).map_or(&[][..], Vec::as_slice);
        let reporting = Reporting {
            level: &|code| self.levels.level(&group.config.levels, code),
            unreached: self.arguments.unreached,
            selects: &selects,
            locate: &|place| {
                let (file, range) = group.workspace.locate(position, place)?;
                Some((group.source(file)?.clone(), range))
            },
        };
        let Found { diagnostics, unreached, suppressed } = findings::collect(&source, report, faults, &reporting);
        Some(Part { file: JudgedFile { source, entries }, names, diagnostics, unreached, suppressed })
    }
}

/// What one file contributes.
struct Part {
    file: JudgedFile,
    names: Vec<Option<Arc<str>>>,
    diagnostics: Vec<Diagnostic>,
    unreached: usize,
    suppressed: usize,
}

/// Says what configuration files need said, and whether one of them cannot be followed.
pub(crate) fn say_config_notes(configs: &Configs, notes: &Notes) -> bool {
    let mut fatal = false;
    for note in &configs.notes {
        fatal |= note.fatal;
        notes.raw(&human::config_note(note, notes.styled()));
    }
    fatal
}

/// Says which files were left alone: those that the command line named always, the others on demand.
pub(crate) fn say_skipped(outcome: &Outcome, verbose: bool, notes: &Notes) {
    let (said, counted): (Vec<_>, Vec<_>) = outcome.skipped.iter().partition(|skipped| verbose || skipped.named);
    for skipped in said {
        notes.note(&format!("skipped `{}`: {}", skipped.path, skipped.reason));
    }
    if !counted.is_empty() {
        let files = count(counted.len(), "file that is no manifest", "files that are no manifests");
        notes.note(&format!("skipped {files}; --verbose says which and why"));
    }
}
