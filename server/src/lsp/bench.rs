//! Running the program that prices rows, where the settings name one. It writes records, which are read when it ends.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// How much of what a program said of its failure is shown, in lines.
const SHOWN: usize = 5;

/// A program to run.
#[derive(Debug)]
pub(crate) struct Run {
    /// The op whose rows it is about; every op of the manifest where there is none.
    pub(crate) op: Option<String>,
    pub(crate) program: String,
    pub(crate) args: Vec<String>,
    pub(crate) cwd: PathBuf,
    /// The file that it writes.
    pub(crate) out: Option<PathBuf>,
}

impl Run {
    /// What it is about, in words.
    pub(crate) fn title(&self) -> String {
        format!("Pricing the rows of {}", self.op.as_deref().unwrap_or("every op"))
    }

    /// Runs it to its end; says why where it fails.
    pub(crate) fn run(&self) -> Result<(), String> {
        // A path is relative to the project; a name alone is looked up as the system does.
        let program = match self.program.contains(['/', '\\']) {
            true => self.cwd.join(&self.program),
            false => PathBuf::from(&self.program),
        };
        if let Some(folder) = self.out.as_deref().and_then(Path::parent) {
            // Where that fails, the program says what it could not write.
            let _ = std::fs::create_dir_all(folder);
        }
        let output = Command::new(&program)
            .args(&self.args)
            .current_dir(&self.cwd)
            .stdin(Stdio::null())
            .output()
            .map_err(|error| format!("cannot run `{}`: {error}", self.program))?;
        if output.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&output.stderr);
        let lines: Vec<&str> = said.lines().filter(|line| !line.trim().is_empty()).collect();
        let last = lines.get(lines.len().saturating_sub(SHOWN)..).unwrap_or_default().join("\n");
        let what = self.op.as_ref().map_or_else(|| "every op".to_owned(), |op| format!("`{op}`"));
        Err(format!("pricing the rows of {what} failed ({}): {last}", output.status))
    }
}
