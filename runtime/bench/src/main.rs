//! `tileops-bench`: the ops of a manifest on the rows of their entries.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use clap::Parser;
use globset::Glob;
use tileops_bench::price;
use tileops_bench::rows::Manifest;
use tileops_ops::generated::REGISTRY;

/// Runs the ops of a manifest on the rows of their entries, and writes a record a row (JSON Lines).
#[derive(Debug, Parser)]
#[command(name = "tileops-bench", version)]
struct Arguments {
    /// Prices every row: its op is called without data and says its FLOPs and bytes. Needs no GPU.
    #[arg(long, required = true)]
    price: bool,
    /// The folder of the manifest's YAML files.
    #[arg(long, value_name = "DIR", default_value = "manifest")]
    manifest: PathBuf,
    /// Only the ops whose name matches.
    #[arg(long, value_name = "GLOB")]
    op: Option<Glob>,
    /// The file to write; one that ends in `.zst` is compressed. Without it, records are printed.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// Exit codes: 0 every row has its price, 1 a row has none (its record says why), 2 the program could not do its work.
fn main() -> ExitCode {
    match run(&Arguments::parse()) {
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
    let manifest = Manifest::read(&arguments.manifest)?;
    let matcher = arguments.op.as_ref().map(Glob::compile_matcher);
    let mut lines = Vec::new();
    let (mut ops, mut rows, mut failed) = (0_usize, 0_usize, 0_usize);
    for entry in manifest.entries().filter(|entry| matcher.as_ref().is_none_or(|m| m.is_match(entry.op()))) {
        ops += 1;
        for call in entry.calls() {
            let record = price::record(REGISTRY, &entry, call);
            rows += 1;
            if let Some(failure) = &record.failure {
                failed += 1;
                say(&format!("{} {}: {}", record.op, record.case, failure.message.as_deref().unwrap_or_default()));
            }
            serde_json::to_writer(&mut lines, &record)?;
            lines.push(b'\n');
        }
    }
    if ops == 0 {
        bail!("no op of `{}` is selected", arguments.manifest.display());
    }
    match &arguments.out {
        Some(path) => write(path, &lines)?,
        None => print(&lines)?,
    }
    say(&format!("{rows} rows of {ops} ops priced, {failed} without a price"));
    Ok(failed == 0)
}

/// Writes the records beside their place and moves them there: no reader ever sees half of them.
fn write(path: &Path, lines: &[u8]) -> Result<()> {
    let context = || format!("cannot write `{}`", path.display());
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut temporary = tempfile::NamedTempFile::new_in(folder).with_context(context)?;
    let compressed = path.extension().is_some_and(|extension| extension == "zst");
    let bytes = if compressed { zstd::encode_all(lines, 0).with_context(context)? } else { lines.to_vec() };
    temporary.write_all(&bytes).with_context(context)?;
    readable(temporary.as_file())?;
    temporary.persist(path).with_context(context)?;
    Ok(())
}

/// Temporary files are private; records are for everyone.
#[cfg(unix)]
fn readable(file: &std::fs::File) -> Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    file.set_permissions(std::fs::Permissions::from_mode(0o644)).context("cannot set permissions")
}

#[cfg(not(unix))]
fn readable(_: &std::fs::File) -> Result<()> {
    Ok(())
}

fn print(lines: &[u8]) -> Result<()> {
    match std::io::stdout().lock().write_all(lines) {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        result => result.context("cannot print"),
    }
}
