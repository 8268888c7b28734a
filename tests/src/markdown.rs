//! Cases and fenced files of a Markdown text.

use std::ops::Range;

/// A fenced YAML block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    /// The file's name: what follows `yaml` behind the fence, else `demo.yaml`.
    pub name: String,
    /// The lines between the fences, by line number of the Markdown text.
    pub lines: Range<usize>,
    /// Their text.
    pub text: String,
}

/// One case of a suite.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Case {
    /// Its `##` heading.
    pub name: String,
    /// The line of the heading, from zero.
    pub line: usize,
    /// Its files, in the order written.
    pub files: Vec<File>,
}

/// The cases of `markdown`. A fenced block before the first `##` heading belongs to no case.
pub fn cases(markdown: &str) -> Vec<Case> {
    let mut cases: Vec<Case> = Vec::new();
    let blocks = blocks(markdown);
    for (line, text) in markdown.lines().enumerate() {
        let fenced = blocks.iter().any(|block| block.lines.contains(&line));
        if let (Some(name), false) = (text.strip_prefix("## "), fenced) {
            cases.push(Case { name: name.trim().to_owned(), line, files: Vec::new() });
        }
    }
    for file in blocks {
        if let Some(case) = cases.iter_mut().rfind(|case| case.line < file.lines.start) {
            case.files.push(file);
        }
    }
    cases
}

/// The fenced YAML blocks of the section called `heading`, up to the next heading of that depth.
pub fn fenced_files(markdown: &str, heading: &str) -> Vec<File> {
    cases(markdown).into_iter().find(|case| case.name == heading).map(|case| case.files).unwrap_or_default()
}

fn blocks(markdown: &str) -> Vec<File> {
    let mut files: Vec<File> = Vec::new();
    let mut open: Option<(String, usize, Vec<&str>)> = None;
    for (line, text) in markdown.lines().enumerate() {
        match &mut open {
            None => {
                if let Some(info) = text.strip_prefix("```yaml") {
                    let name = if info.trim().is_empty() { "demo.yaml" } else { info.trim() };
                    open = Some((name.to_owned(), line + 1, Vec::new()));
                }
            }
            Some((name, start, lines)) => {
                if text.trim_end() == "```" {
                    let text = lines.iter().map(|line| format!("{line}\n")).collect();
                    files.push(File { name: std::mem::take(name), lines: *start..line, text });
                    open = None;
                } else {
                    lines.push(text);
                }
            }
        }
    }
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_open_cases_and_fences_files() {
        let text = "# T\n\n## one\n\n```yaml\na: 1\n## not a case\n```\n\n```yaml types.yaml\nadts: {}\n```\n## two\n";
        let cases = cases(text);
        assert_eq!(cases.len(), 2);
        assert_eq!(cases[0].files[0].text, "a: 1\n## not a case\n");
        assert_eq!((cases[0].files[0].name.as_str(), cases[0].files[0].lines.clone()), ("demo.yaml", 5..7));
        assert_eq!(cases[0].files[1].name, "types.yaml");
        assert!(cases[1].files.is_empty());
        assert_eq!(fenced_files(text, "one").len(), 2);
    }
}
