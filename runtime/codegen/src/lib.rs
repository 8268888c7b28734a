//! What the analyzer decided, as source: each entry a plain class of Python, or a plain struct of Rust.
//!
//! Everything is decided in the analyzer's plans. Emission prints them as arithmetic: no expression, no map of names and
//! no interpreter is left in what it writes.

mod alternatives;
mod layout;
mod python;
mod rust;
mod shared;

use tileops_analyzer::defect::Severity;
use tileops_analyzer::workspace::{Report, Workspace};

/// The language that is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// Python, with its standard library alone.
    Python,
    /// Rust, on the interface of `tileops-ops`.
    Rust,
}

impl Target {
    /// Its name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Target::Python => "python",
            Target::Rust => "rust",
        }
    }

    /// What every emitted file begins with.
    pub fn header(self) -> &'static str {
        match self {
            Target::Python => python::HEADER,
            Target::Rust => rust::HEADER,
        }
    }

    /// What the names of its files end in, behind the dot.
    pub fn extension(self) -> &'static str {
        match self {
            Target::Python => "py",
            Target::Rust => "rs",
        }
    }
}

/// A file of the emitted package.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EmittedFile {
    /// Its path in the package.
    pub path: String,
    /// Its text.
    pub text: String,
}

/// Why an entry, or a file, is not emitted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The manifest's file.
    pub file: String,
    /// The op; nothing where the file itself has the defect.
    pub op: Option<String>,
    /// The place in the entry.
    pub place: String,
    /// What is wrong.
    pub message: String,
}

/// The package of the entries that `select` accepts, or every reason for which there is none. Rows are not
/// emitted; a defect in one refuses its entry all the same, since what a manifest says must be whole before it is used.
pub fn emit(
    target: Target,
    workspace: &Workspace,
    report: &Report,
    select: &dyn Fn(&str) -> bool,
) -> Result<Vec<EmittedFile>, Vec<Refusal>> {
    let mut refusals = Vec::new();
    for file in &report.files {
        for located in &file.defects {
            let op = located.entry.as_deref();
            if located.defect.code.severity == Severity::Error && op.is_none_or(select) {
                refusals.push(Refusal {
                    file: file.path.to_string(),
                    op: op.map(str::to_owned),
                    place: located.defect.path.clone(),
                    message: format!("{} [{}]", located.defect.message, located.defect.code.name),
                });
            }
        }
    }
    let mut entries = Vec::new();
    for (entry, analysis) in workspace.entries().iter().zip(&report.analyses) {
        let name = &*analysis.entry.name.value;
        let file = workspace.files().get(entry.file).map_or("", |file| &*file.path);
        if !select(name) || refusals.iter().any(|refusal| refusal.op.as_deref().is_none_or(|op| op == name)) {
            continue;
        }
        let refusal = |message: &str| Refusal {
            file: file.to_owned(),
            op: Some(name.to_owned()),
            place: String::new(),
            message: message.to_owned(),
        };
        match analysis.entry.family.valid() {
            Some(family) if is_module(&family.value) => entries.push((file, &*family.value, analysis)),
            _ => refusals.push(refusal("its family is no name of a module")),
        }
    }
    if !refusals.is_empty() {
        return Err(refusals);
    }
    let pairs: Vec<_> = entries.iter().map(|&(_, family, analysis)| (family, analysis)).collect();
    let emitted = match target {
        Target::Python => python::emit(&pairs),
        Target::Rust => rust::emit(&pairs),
    };
    emitted.map_err(|problems| {
        let file_of =
            |op: &str| entries.iter().find(|(.., a)| &*a.entry.name.value == op).map_or("", |(file, ..)| file);
        problems
            .into_iter()
            .map(|(op, message)| Refusal { file: file_of(&op).to_owned(), op: Some(op), place: String::new(), message })
            .collect()
    })
}

fn is_module(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    name.starts_with(|c: char| c.is_ascii_lowercase()) && name.chars().all(plain)
}
