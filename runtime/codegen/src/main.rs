//! `tileops-codegen`: writes the classes of a manifest, or checks that those written are up to date.

mod package;

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use clap::{Parser, ValueEnum};
use globset::{Glob, GlobMatcher};
use tileops_analyzer::analysis::EntryAnalysis;
use tileops_analyzer::workspace::{SourceFile, Workspace};
use tileops_codegen::{EmittedFile, Refusal, emit};

use package::Package;

/// Writes an op manifest as plain source: constructor checks, call checks, output shapes, rooflines.
#[derive(Debug, Parser)]
#[command(name = "tileops-codegen", version)]
struct Arguments {
    /// The folder of the manifest's YAML files.
    #[arg(long, value_name = "DIR")]
    manifest: PathBuf,
    /// The language to write.
    #[arg(long, value_enum)]
    target: Language,
    /// The folder of the package that is written.
    #[arg(long, value_name = "DIR", required_unless_present = "stdout", conflicts_with = "stdout")]
    out: Option<PathBuf>,
    /// Write nothing; fail where what is there is not what would be written.
    #[arg(long, conflicts_with = "stdout")]
    check: bool,
    /// Print instead of writing.
    #[arg(long)]
    stdout: bool,
    /// Only the ops whose name matches; what is written are the modules that they are in, whole.
    #[arg(long, value_name = "GLOB")]
    op: Option<Glob>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Language {
    /// Python, with its standard library alone.
    Python,
    /// Rust, on the interface of `tileops-ops`.
    Rust,
}

impl Language {
    fn target(self) -> tileops_codegen::Target {
        match self {
            Language::Python => tileops_codegen::Target::Python,
            Language::Rust => tileops_codegen::Target::Rust,
        }
    }
}

/// Exit codes: 0 all is well, 1 the manifest has defects or the output is stale, 2 the program could not do its work.
fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match run(&arguments) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            say(&format!("error: {error:#}"));
            ExitCode::from(2)
        }
    }
}

/// A line on standard error. A reader that has gone away is no reason to fail.
fn say(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

fn run(arguments: &Arguments) -> Result<bool> {
    let target = arguments.target.target();
    let workspace = Workspace::new(read_manifest(&arguments.manifest)?);
    let analyses = workspace.entries().iter().map(|entry| workspace.analyze(entry)).collect();
    let report = workspace.finish(analyses);
    let matcher = arguments.op.as_ref().map(Glob::compile_matcher);
    let select = |name: &str| matcher.as_ref().is_none_or(|matcher: &GlobMatcher| matcher.is_match(name));
    if !workspace.entries().iter().any(|entry| entry.name.as_deref().is_some_and(select)) {
        bail!("no op of `{}` is selected", arguments.manifest.display());
    }
    // A module is written whole, with the ops beside those that were asked for.
    let family = |analysis: &EntryAnalysis| analysis.entry.family.valid().map(|family| family.value.clone());
    let chosen: Vec<_> = report.analyses.iter().filter(|a| select(&a.entry.name.value)).filter_map(family).collect();
    let in_module = |name: &str| {
        report.analyses.iter().any(|a| &*a.entry.name.value == name && family(a).is_some_and(|f| chosen.contains(&f)))
    };
    let partial = arguments.op.is_some() && !arguments.stdout;
    let emitted = match partial {
        true => emit(target, &workspace, &report, &in_module),
        false => emit(target, &workspace, &report, &select),
    };
    let mut files = match emitted {
        Ok(files) => files,
        Err(refusals) => {
            refusals.iter().for_each(|refusal| say(&described(refusal)));
            say("error: nothing is written from a manifest with defects");
            return Ok(false);
        }
    };
    if partial {
        // The module that lists the others is of the whole manifest.
        files.retain(|file| file.path != "mod.rs");
    }
    match &arguments.out {
        Some(out) if arguments.check => check(&files, out, arguments),
        Some(out) => write(&files, out, arguments).map(|()| true),
        None => print(&files, target).map(|()| true),
    }
}

fn described(refusal: &Refusal) -> String {
    let mut text = format!("error: {}", refusal.file);
    for part in refusal.op.iter().chain(Some(&refusal.place).filter(|place| !place.is_empty())) {
        text.push_str(&format!(": {part}"));
    }
    format!("{text}: {}", refusal.message)
}

fn read_manifest(folder: &Path) -> Result<Vec<SourceFile>> {
    let mut files = Vec::new();
    let listed = std::fs::read_dir(folder).with_context(|| format!("cannot list `{}`", folder.display()))?;
    for item in listed {
        let path = item.with_context(|| format!("cannot list `{}`", folder.display()))?.path();
        let is_yaml = path.extension().is_some_and(|extension| extension == "yaml" || extension == "yml");
        if !is_yaml || !path.is_file() {
            continue;
        }
        let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read `{}`", path.display()))?;
        let shown = path.display().to_string();
        files.push(SourceFile { path: shown.into(), text: text.into(), configured: true, judged: true });
    }
    if files.is_empty() {
        bail!("`{}` holds no YAML file", folder.display());
    }
    Ok(files)
}

fn check(files: &[EmittedFile], out: &Path, arguments: &Arguments) -> Result<bool> {
    let target = arguments.target.target();
    let package = Package::read(out, target)?;
    let mut stale = false;
    let mut tell = |name: &str, what: &str| {
        stale = true;
        say(&format!("error: `{}` {what}", out.join(name).display()));
    };
    for file in files {
        match package.text(&file.path) {
            None => tell(&file.path, "is missing"),
            Some(text) if *text != file.text => tell(&file.path, "is not what the manifest gives"),
            Some(_) => {}
        }
    }
    for name in gone(files, &package, arguments) {
        tell(&name, "has no family in the manifest any more");
    }
    if stale {
        say(&format!(
            "to mend it: tileops-codegen --manifest {} --target {} --out {}",
            arguments.manifest.display(),
            target.name(),
            out.display()
        ));
    }
    Ok(!stale)
}

/// The files to remove. Where only some modules are written, nothing is known of the others.
fn gone(files: &[EmittedFile], package: &Package, arguments: &Arguments) -> Vec<String> {
    if arguments.op.is_some() { Vec::new() } else { package.gone(files) }
}

fn write(files: &[EmittedFile], out: &Path, arguments: &Arguments) -> Result<()> {
    let package = Package::read(out, arguments.target.target())?;
    let gone = gone(files, &package, arguments);
    package.replace(files, &gone)
}

fn print(files: &[EmittedFile], target: tileops_codegen::Target) -> Result<()> {
    let comment = if target == tileops_codegen::Target::Rust { "//" } else { "#" };
    let mut out = std::io::stdout().lock();
    for file in files {
        let result = write!(out, "{comment} {}\n{}", file.path, file.text);
        match result {
            Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => return Ok(()),
            result => result.context("cannot print")?,
        }
    }
    Ok(())
}
