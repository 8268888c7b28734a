//! `tileops-codegen`: writes the classes of a manifest, or checks that those written are up to date.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use clap::{Parser, ValueEnum};
use globset::{Glob, GlobMatcher};
use tileops_analyzer::workspace::{SourceFile, Workspace};
use tileops_codegen::{EmittedFile, HEADER, Refusal, emit_python};

/// Writes an op manifest as plain source: constructor checks, call checks, output shapes, rooflines.
#[derive(Debug, Parser)]
#[command(name = "tileops-codegen", version)]
struct Arguments {
    /// The folder of the manifest's YAML files.
    #[arg(long, value_name = "DIR")]
    manifest: PathBuf,
    /// The language to write.
    #[arg(long, value_enum)]
    target: Target,
    /// The folder of the package that is written.
    #[arg(long, value_name = "DIR", required_unless_present = "stdout", conflicts_with = "stdout")]
    out: Option<PathBuf>,
    /// Write nothing; fail where what is there is not what would be written.
    #[arg(long, conflicts_with = "stdout")]
    check: bool,
    /// Print instead of writing.
    #[arg(long)]
    stdout: bool,
    /// Only the ops whose name matches; a package is written whole, so this needs --stdout.
    #[arg(long, value_name = "GLOB", requires = "stdout")]
    op: Option<Glob>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Target {
    /// Python, with its standard library alone.
    Python,
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
    let Target::Python = arguments.target;
    let workspace = Workspace::new(read_manifest(&arguments.manifest)?);
    let analyses = workspace.entries().iter().map(|entry| workspace.analyze(entry)).collect();
    let report = workspace.finish(analyses);
    let matcher = arguments.op.as_ref().map(Glob::compile_matcher);
    let select = |name: &str| matcher.as_ref().is_none_or(|matcher: &GlobMatcher| matcher.is_match(name));
    if !workspace.entries().iter().any(|entry| entry.name.as_deref().is_some_and(select)) {
        bail!("no op of `{}` is selected", arguments.manifest.display());
    }
    let files = match emit_python(&workspace, &report, &select) {
        Ok(files) => files,
        Err(refusals) => {
            refusals.iter().for_each(|refusal| say(&described(refusal)));
            say("error: nothing is written from a manifest with defects");
            return Ok(false);
        }
    };
    match &arguments.out {
        Some(out) if arguments.check => check(&files, out, arguments),
        Some(out) => write(&files, out).map(|()| true),
        None => print(&files).map(|()| true),
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

/// The Python files of the package as they are: their names and texts.
fn existing(out: &Path) -> Result<BTreeMap<String, String>> {
    let mut found = BTreeMap::new();
    let listed = match std::fs::read_dir(out) {
        Ok(listed) => listed,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(found),
        Err(error) => return Err(error).with_context(|| format!("cannot list `{}`", out.display())),
    };
    for item in listed {
        let path = item.with_context(|| format!("cannot list `{}`", out.display()))?.path();
        let Some(name) = path.file_name().and_then(|name| name.to_str()).filter(|name| name.ends_with(".py")) else {
            continue;
        };
        let text = std::fs::read(&path).with_context(|| format!("cannot read `{}`", path.display()))?;
        found.insert(name.to_owned(), String::from_utf8_lossy(&text).into_owned());
    }
    Ok(found)
}

/// The files that an earlier manifest had and this one has not.
fn superfluous<'e>(files: &[EmittedFile], existing: &'e BTreeMap<String, String>) -> Vec<&'e str> {
    existing
        .iter()
        .filter(|(name, text)| text.starts_with(HEADER) && !files.iter().any(|file| file.path == **name))
        .map(|(name, _)| name.as_str())
        .collect()
}

fn check(files: &[EmittedFile], out: &Path, arguments: &Arguments) -> Result<bool> {
    let existing = existing(out)?;
    let mut stale = false;
    let mut tell = |name: &str, what: &str| {
        stale = true;
        say(&format!("error: `{}` {what}", out.join(name).display()));
    };
    for file in files {
        match existing.get(&file.path) {
            None => tell(&file.path, "is missing"),
            Some(text) if *text != file.text => tell(&file.path, "is not what the manifest gives"),
            Some(_) => {}
        }
    }
    superfluous(files, &existing).into_iter().for_each(|name| tell(name, "has no family in the manifest any more"));
    if stale {
        say(&format!(
            "to mend it: tileops-codegen --manifest {} --target python --out {}",
            arguments.manifest.display(),
            out.display()
        ));
    }
    Ok(!stale)
}

fn write(files: &[EmittedFile], out: &Path) -> Result<()> {
    std::fs::create_dir_all(out).with_context(|| format!("cannot make `{}`", out.display()))?;
    let existing = existing(out)?;
    for file in files {
        let path = out.join(&file.path);
        match existing.get(&file.path) {
            Some(text) if *text == file.text => continue,
            // An empty `__init__.py` is nobody's work.
            Some(text) if !text.starts_with(HEADER) && !text.trim().is_empty() => {
                bail!("`{}` was not written by tileops-codegen; move it away or choose another folder", path.display());
            }
            _ => {}
        }
        // Written beside its place and moved there: no reader ever sees half of it.
        let mut temporary =
            tempfile::NamedTempFile::new_in(out).with_context(|| format!("cannot write `{}`", path.display()))?;
        temporary.write_all(file.text.as_bytes()).with_context(|| format!("cannot write `{}`", path.display()))?;
        readable(temporary.as_file())?;
        temporary.persist(&path).with_context(|| format!("cannot write `{}`", path.display()))?;
    }
    for name in superfluous(files, &existing) {
        let path = out.join(name);
        std::fs::remove_file(&path).with_context(|| format!("cannot remove `{}`", path.display()))?;
    }
    Ok(())
}

/// Temporary files are private; what is emitted is for everyone.
#[cfg(unix)]
fn readable(file: &std::fs::File) -> Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    file.set_permissions(std::fs::Permissions::from_mode(0o644)).context("cannot set permissions")
}

#[cfg(not(unix))]
fn readable(_: &std::fs::File) -> Result<()> {
    Ok(())
}

fn print(files: &[EmittedFile]) -> Result<()> {
    let mut out = std::io::stdout().lock();
    for file in files {
        let result = write!(out, "# {}\n{}", file.path, file.text);
        match result {
            Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => return Ok(()),
            result => result.context("cannot print")?,
        }
    }
    Ok(())
}
