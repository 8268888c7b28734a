//! Suppression comments: `# tileops: ignore[code, code]`.
//!
//! A comment behind a line's content covers that line; one on a line of its own covers what stands directly below the
//! comment lines that it is among. Where the line covered is the key of an entry, the whole entry is covered. A line
//! that opens a block scalar brings the scalar's lines with it, since no comment can stand inside.
//!
//! Defects are suppressed by code only. A code that suppresses nothing is a defect itself, and so is a comment that
//! cannot be understood; neither of these two can be suppressed.

use std::sync::Arc;

use crate::defect::{Code, Defect, Instead, all_codes, codes, find_code, nearest};
use crate::text::{LineIndex, TextRange, TextSize};
use crate::workspace::{FileReport, Located};

/// What a suppression comment starts with, behind its `#`.
const MARK: &str = "tileops:";

/// Takes the defects that the comments of `text` suppress out of `report`, the report of that text, and returns them.
/// Suppressions that suppress nothing, or cannot be understood, become defects of the report.
pub fn apply(text: &str, report: &mut FileReport) -> Vec<Located> {
    if !text.contains(MARK) {
        return Vec::new();
    }
    let mut comments = leading_comments(text);
    comments.extend(&report.comments);
    comments.sort_by_key(|comment| (comment.start(), comment.end()));
    comments.dedup();

    let mut found = Vec::new();
    let mut suppressions = Vec::new();
    let lines = LineIndex::new(text);
    for comment in comments {
        let Some(stated) = slice(text, comment) else { continue };
        if stated.trim_start_matches('#').trim_start().starts_with(MARK) {
            let reader = Reader { text, lines: &lines, comment, report };
            reader.read(stated, &mut suppressions, &mut found);
        }
    }

    let mut suppressed = Vec::new();
    let mut used = vec![false; suppressions.len()];
    report.defects.retain(|located| {
        let mut hit = false;
        for (suppression, used) in suppressions.iter().zip(&mut used) {
            if suppression.covers(located) {
                *used = true;
                hit = true;
            }
        }
        if hit {
            suppressed.push(located.clone());
        }
        !hit
    });

    for (suppression, _) in suppressions.iter().zip(&used).filter(|(_, used)| !**used) {
        let name = suppression.code.name;
        found.push(Located {
            entry: suppression.entry.clone(),
            defect: Defect {
                code: &codes::UNUSED_SUPPRESSION,
                range: suppression.range,
                path: String::new(),
                subject: name.to_owned(),
                message: format!("there is no `{name}` to suppress {}", suppression.scope.describe()),
                help: Some("delete it from the comment".to_owned()),
                related: Vec::new(),
                instead: None,
            },
        });
    }
    report.defects.extend(found);
    // Within one place the order so far stands: a stable sort keeps it.
    report.defects.sort_by_key(|located| (located.defect.range.start(), located.defect.range.end()));
    suppressed
}

/// One code of one comment.
struct Suppression {
    code: &'static Code,
    /// Where the comment names it.
    range: TextRange,
    /// The entry that the comment is about.
    entry: Option<Arc<str>>,
    scope: Scope,
}

/// What a comment covers.
#[derive(Clone)]
enum Scope {
    /// Defects that start in these characters: a line, with the block scalar that it opens.
    Line(TextRange),
    /// The defects of one entry.
    Entry(TextRange),
    /// Nothing: the comment stands above a blank line, or at the end of the file.
    Nothing,
}

impl Scope {
    fn describe(&self) -> &'static str {
        match self {
            Scope::Line(_) => "on this line",
            Scope::Entry(_) => "in this entry",
            Scope::Nothing => "here: a comment covers its own line, or what stands directly below it",
        }
    }
}

impl Suppression {
    fn covers(&self, located: &Located) -> bool {
        let defect = &located.defect;
        let start = defect.range.start();
        defect.code == self.code
            && match self.scope {
                Scope::Line(line) => {
                    line.contains_inclusive(start) && start != line.end()
                        || line.end() == start && defect.range.is_empty()
                }
                // What is missing at an entry's end is reported there, at an empty range.
                Scope::Entry(entry) => {
                    entry.contains(start)
                        || (entry.end() == start && defect.range.is_empty() && located.entry == self.entry)
                }
                Scope::Nothing => false,
            }
    }
}

/// Reads one comment of a file.
struct Reader<'a> {
    text: &'a str,
    lines: &'a LineIndex,
    comment: TextRange,
    report: &'a FileReport,
}

impl Reader<'_> {
    fn read(&self, stated: &str, suppressions: &mut Vec<Suppression>, found: &mut Vec<Located>) {
        let (scope, entry) = self.scope();
        // Offsets within the comment: its text is a suffix of `stated` at every step.
        let offset = |rest: &str| TextSize::of(stated) - TextSize::of(rest);
        let mut bad = |range: TextRange, subject: &str, message: String, help: String, meant: Option<&str>| {
            let range = range + self.comment.start();
            found.push(Located {
                entry: entry.clone(),
                defect: Defect {
                    code: &codes::BAD_SUPPRESSION,
                    range,
                    path: String::new(),
                    subject: subject.to_owned(),
                    message,
                    help: Some(help),
                    related: Vec::new(),
                    instead: meant.map(|text| Box::new(Instead { range, text: text.to_owned(), is_guess: false })),
                },
            });
        };
        let whole = TextRange::up_to(TextSize::of(stated.trim_end()));
        let form = || "write `# tileops: ignore[code]`, or several codes with commas between them".to_owned();

        let after_mark = stated.trim_start_matches('#').trim_start().strip_prefix(MARK).unwrap_or("").trim_start();
        let Some(rest) = after_mark.strip_prefix("ignore").map(str::trim_start).and_then(|rest| rest.strip_prefix('['))
        else {
            let word = after_mark.split(|c: char| !c.is_alphanumeric() && c != '-').next().unwrap_or("");
            let message = match word {
                "ignore" => "a suppression names the codes that it suppresses in brackets".to_owned(),
                "" => "a comment for tileops says nothing".to_owned(),
                other => format!("a comment for tileops cannot say `{other}`"),
            };
            bad(whole, word, message, form(), None);
            return;
        };
        let Some(close) = rest.find(']') else {
            bad(whole, "", "the brackets of a suppression are not closed".to_owned(), form(), None);
            return;
        };
        let inside = &rest[..close];
        if inside.trim().is_empty() {
            bad(whole, "", "a suppression names no code".to_owned(), form(), None);
            return;
        }
        let mut at = offset(rest);
        let mut named: Vec<&str> = Vec::new();
        for part in inside.split(',') {
            let name = part.trim();
            let start = at + TextSize::of(&part[..part.len() - part.trim_start().len()]);
            at += TextSize::of(part) + TextSize::of(',');
            let range = TextRange::at(start, TextSize::of(name));
            if name.is_empty() {
                bad(range, "", "a code is missing between the commas".to_owned(), form(), None);
                continue;
            }
            if named.contains(&name) {
                bad(range, name, format!("`{name}` is named twice"), "name a code once".to_owned(), None);
                continue;
            }
            named.push(name);
            match find_code(name) {
                None => {
                    let close = nearest(name, all_codes().map(|(_, code)| code.name));
                    let help = match close {
                        Some(close) => format!("did you mean `{close}`?"),
                        None => "`tileops-lsp --explain all` lists the codes".to_owned(),
                    };
                    bad(range, name, format!("there is no code `{name}`"), help, close);
                }
                Some(code) if *code == codes::BAD_SUPPRESSION || *code == codes::UNUSED_SUPPRESSION => bad(
                    range,
                    name,
                    format!("`{name}` cannot be suppressed by a comment"),
                    "correct or delete the comment that it is about".to_owned(),
                    None,
                ),
                Some(code) => suppressions.push(Suppression {
                    code,
                    range: range + self.comment.start(),
                    entry: entry.clone(),
                    scope: scope.clone(),
                }),
            }
        }
    }

    /// What the comment covers, and the entry that it is about.
    fn scope(&self) -> (Scope, Option<Arc<str>>) {
        let mut line = self.lines.line(self.comment.start());
        let before = TextRange::new(self.lines.line_start(line), self.comment.start());
        let own_line =
            slice(self.text, before).is_none_or(|before| before.trim_start_matches('\u{feff}').trim().is_empty());
        if own_line {
            loop {
                line += 1;
                let below = self.line_text(line).trim();
                if line >= self.lines.line_count() || below.is_empty() {
                    return (Scope::Nothing, self.entry_at(self.comment.start()).and_then(|(name, _)| name));
                }
                if !below.starts_with('#') {
                    break;
                }
            }
        }
        let start = self.lines.line_start(line);
        match self.entry_at(start) {
            Some((name, range)) if self.key_line(range) == line => (Scope::Entry(range), name),
            within => (Scope::Line(self.covered(line, own_line)), within.and_then(|(name, _)| name)),
        }
    }

    /// The characters of `line`, line break excluded, and those of the block scalar that it opens.
    fn covered(&self, line: u32, own_line: bool) -> TextRange {
        let start = self.lines.line_start(line);
        let content_end = if own_line { start + TextSize::of(self.line_text(line)) } else { self.comment.start() };
        let content = slice(self.text, TextRange::new(start, content_end)).unwrap_or("");
        let mut last = line;
        if opens_block_scalar(content) {
            let depth = indentation(content);
            let mut below = line + 1;
            while below < self.lines.line_count() {
                let text = self.line_text(below);
                if !text.trim().is_empty() {
                    if indentation(text) <= depth {
                        break;
                    }
                    last = below;
                }
                below += 1;
            }
        }
        TextRange::new(start, self.lines.line_start(last) + TextSize::of(self.line_text(last)))
    }

    /// The text of a line without its line break.
    fn line_text(&self, line: u32) -> &str {
        let range = TextRange::new(self.lines.line_start(line), self.lines.line_start(line + 1));
        slice(self.text, range).unwrap_or("").trim_end_matches(['\n', '\r'])
    }

    /// The line of an entry's key: its first that is neither blank nor a comment.
    fn key_line(&self, entry: TextRange) -> u32 {
        let first = self.lines.line(entry.start());
        let is_content = |&line: &u32| {
            let text = self.line_text(line).trim_start_matches('\u{feff}').trim();
            !text.is_empty() && !text.starts_with('#')
        };
        (first..self.lines.line_count()).find(is_content).unwrap_or(first)
    }

    /// The entry that `offset` falls in.
    fn entry_at(&self, offset: TextSize) -> Option<(Option<Arc<str>>, TextRange)> {
        let next = self.report.entries.partition_point(|(_, range)| range.start() <= offset);
        self.report.entries.get(next.checked_sub(1)?).filter(|(_, range)| range.contains_inclusive(offset)).cloned()
    }
}

fn slice(text: &str, range: TextRange) -> Option<&str> {
    text.get(usize::from(range.start())..usize::from(range.end()))
}

fn indentation(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

/// Whether a line's content ends in the header of a block scalar: `|`, `>-`, `|2+`, …
fn opens_block_scalar(content: &str) -> bool {
    let content = content.split(" #").next().unwrap_or("").trim_end();
    let header = content.trim_end_matches(|c: char| c.is_ascii_digit() || c == '-' || c == '+');
    header
        .strip_suffix(['|', '>'])
        .is_some_and(|before| before.ends_with([' ', ':']) && content.len() - header.len() <= 2)
}

/// The comments above everything else in a file, which are in no entry.
fn leading_comments(text: &str) -> Vec<TextRange> {
    let mut comments = Vec::new();
    let mut at = TextSize::new(0);
    for line in text.split_inclusive(['\n', '\r']) {
        let content = line.trim_start_matches('\u{feff}').trim();
        if content.starts_with('#') {
            let start = at + TextSize::of(&line[..line.len() - line.trim_start_matches(['\u{feff}', ' ', '\t']).len()]);
            comments.push(TextRange::at(start, TextSize::of(content)));
        } else if !content.is_empty() && !content.starts_with('%') && content != "---" {
            break;
        }
        at += TextSize::of(line);
    }
    comments
}
