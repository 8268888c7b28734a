//! JUnit reports to records.

use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Args;
use tileops_roofline::import::{Assumptions, RoofMap, import_junit};

use super::Escapes;

/// Turns JUnit reports of pytest nightlies into records, one JSON object a line.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Reports: `.xml`, or `.xml.xz`.
    #[arg(required = true)]
    reports: Vec<PathBuf>,
    /// The device that ran them; a report does not say.
    #[arg(long, value_name = "NAME")]
    device: Option<String>,
    /// A YAML mapping from op to roof key, for reports that state none.
    #[arg(long, value_name = "FILE")]
    roofs: Option<PathBuf>,
    /// Where to write the records instead of the standard output.
    #[arg(long, value_name = "FILE")]
    output_file: Option<PathBuf>,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode> {
    let roofs = match &arguments.roofs {
        Some(path) => {
            let text = fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
            RoofMap::from_yaml(&text)
                .with_context(|| format!("{} is no mapping from op to roof key", path.display()))?
        }
        None => RoofMap::default(),
    };
    let assumptions = Assumptions { device: arguments.device.clone(), roofs };
    let mut lines = String::new();
    let mut whole = true;
    let (mut records, mut untimed) = (0, 0);
    for path in &arguments.reports {
        let xml = read_xml(path).with_context(|| format!("cannot read {}", path.display()))?;
        let imported = import_junit(&xml, &assumptions);
        for error in &imported.errors {
            whole = false;
            let _ = writeln!(io::stderr(), "error: {}: {error}", path.display());
        }
        untimed += imported.untimed;
        records += imported.records.len();
        for record in &imported.records {
            lines.push_str(&serde_json::to_string(record).context("a record that JSON cannot state")?);
            lines.push('\n');
        }
    }
    super::write(arguments.output_file.as_deref(), Escapes::Text, lines.as_bytes())?;
    let _ = writeln!(io::stderr(), "{records} records; {untimed} test cases state no time");
    Ok(if whole { ExitCode::SUCCESS } else { ExitCode::from(2) })
}

fn read_xml(path: &Path) -> Result<String> {
    let bytes = fs::read(path)?;
    let bytes = if path.extension().is_some_and(|e| e == "xz") {
        let mut plain = Vec::new();
        liblzma::read::XzDecoder::new(bytes.as_slice()).read_to_end(&mut plain)?;
        plain
    } else {
        bytes
    };
    String::from_utf8(bytes).context("not UTF-8")
}
