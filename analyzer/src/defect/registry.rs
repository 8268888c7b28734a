//! The one declaration of each defect code.

/// A rule of the manifest language that a manifest can break.
#[derive(Debug)]
pub struct Code {
    /// Its kebab-case name, unique and stable: what `--ignore`, a suppression comment and a baseline name.
    pub name: &'static str,
    /// What is wrong, in one line.
    pub summary: &'static str,
    /// How bad it is unless configured otherwise.
    pub severity: Severity,
    /// Where it is in its life.
    pub status: Status,
    /// Whether there are fixes for it.
    pub mend: Mend,
    /// The documentation in Markdown: why it matters, a wrong and a right example. Both examples are run as tests.
    pub docs: &'static str,
}

impl PartialEq for Code {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Code {}

/// How bad a defect is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Worth knowing; the manifest can still be emitted, run and priced.
    Advisory,
    /// The manifest cannot be used as it is.
    Error,
}

/// Whether a code has fixes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mend {
    /// It has, of some of its defects at least; what they do, as a clause: "removes the key".
    Fix(&'static str),
    /// It has none, as no mend is the clear one; why, as a clause.
    None(&'static str),
}

/// Where a code is in its life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// In use since the release named.
    Stable(&'static str),
}

/// Every code, by group, in the order declared.
pub fn all_codes() -> impl Iterator<Item = (&'static str, &'static Code)> {
    super::codes::GROUPS.iter().flat_map(|&(group, members)| members.iter().map(move |&code| (group, code)))
}

/// The code called `name`.
pub fn find_code(name: &str) -> Option<&'static Code> {
    all_codes().map(|(_, code)| code).find(|code| code.name == name)
}

impl Severity {
    /// What a report calls it.
    pub fn name(self) -> &'static str {
        match self {
            Severity::Advisory => "advisory",
            Severity::Error => "error",
        }
    }
}

impl Code {
    /// The group that declares it.
    pub fn group(&self) -> &'static str {
        all_codes().find(|(_, code)| *code == self).map_or("", |(group, _)| group)
    }

    /// Its page in Markdown: what `--explain` prints and `docs/defects` holds.
    pub fn page(&self) -> String {
        let Code { name, summary, severity, status: Status::Stable(since), mend, docs } = self;
        let (severity, group) = (severity.name(), self.group());
        let mend = match mend {
            Mend::Fix(what) => format!("Fix: {what}."),
            Mend::None(why) => format!("No fix: {why}."),
        };
        let docs = docs.trim();
        format!("# {name}\n\n{summary}.\n\nSeverity: {severity}. Group: {group}. Since {since}.\n\n{mend}\n\n{docs}\n")
    }
}
