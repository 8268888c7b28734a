//! Cutting a file at its top-level keys, so that each entry is read on its own.
//!
//! The cut is made line by line. A line that stands as far out as the first key and looks like `key:` begins an entry,
//! unless it lies inside a quoted text or a bracket that the text does close, properly, further down. A quote or bracket
//! that is not closed, or behind which something stands that no YAML allows there, does not swallow the entries behind
//! it: the cut is made, and the broken entry alone is broken.
//!
//! A line that stands as far out as a key, has none, and could not be part of anything above it (a key whose `:` is not
//! written yet) begins a chunk of its own as well, without a key, so that the entry above stays whole.
//!
//! Comment lines directly above a key, at its column, belong to the key's chunk; any other comment to the chunk before.

use super::scan::{Scanner, TokenKind, is_break, span};
use super::{Chunk, Cut, MAX_ENTRIES, MAX_FILE_BYTES, characters};
use crate::defect::{Findings, codes};
use crate::text::{TextRange, TextSize};

/// Cuts `text` at its top-level keys.
pub fn cut(text: &str) -> Cut {
    if text.len() > MAX_FILE_BYTES {
        let mut cut = Cut { head: TextSize::new(u32::try_from(text.len()).unwrap_or(u32::MAX)), ..Cut::default() };
        let message = format!("the file has {} bytes, more than the {MAX_FILE_BYTES} that are read", text.len());
        cut.findings.report(&codes::YAML_LIMIT, TextRange::default(), "", "", message);
        return cut;
    }
    Cutter::new(text).run()
}

struct Cutter<'t> {
    text: &'t str,
    cut: Cut,
    /// The column of the first key.
    base: Option<usize>,
    /// The first line of content in front of any key, and its column.
    stray: Option<(usize, TextRange)>,
    /// The first `---` or `...`, or the first content, whatever comes first.
    document: Option<TextRange>,
    /// How many bytes may still be looked ahead for the end of quotes and brackets. Enough for any sane file, and what
    /// keeps the cut linear on the others.
    lookahead: usize,
}

impl<'t> Cutter<'t> {
    fn new(text: &'t str) -> Self {
        let lookahead = 8 * text.len() + 0x1_0000;
        Cutter { text, cut: Cut::default(), base: None, stray: None, document: None, lookahead }
    }

    fn run(mut self) -> Cut {
        let mut starts: Vec<(usize, Option<String>)> = Vec::new();
        // The first of the comment lines directly above.
        let mut comments = None;
        // A `...` that nothing may follow.
        let mut ended: Option<TextRange> = None;
        let mut at = if self.text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
        while at < self.text.len() {
            let end = self.line_end(at);
            let line = self.text.get(at..end).unwrap_or_default();
            let content = line.trim_start_matches(' ');
            let column = line.len() - content.len();
            let trimmed = content.trim_end_matches([' ', '\t']);
            let place = span(at + column, at + column + trimmed.len());
            if trimmed.is_empty() {
                comments = None;
                at = self.next_line(end);
                continue;
            }
            if content.starts_with('#') {
                comments = if column <= self.base.unwrap_or(0) { comments.or(Some(at)) } else { None };
                at = self.next_line(end);
                continue;
            }
            let above = comments.take();
            if column == 0 && is_marker(line) {
                self.marker(line, span(at, at + 3), place, !starts.is_empty());
                ended = line.starts_with("...").then_some(place);
                at = self.next_line(end);
                continue;
            }
            if column == 0 && line.starts_with('%') && starts.is_empty() && self.stray.is_none() {
                self.cut
                    .findings
                    .report(&codes::YAML_DOCUMENT, place, "", trimmed, "a directive (`%`) is not allowed in a manifest")
                    .help("remove the line");
                at = self.next_line(end);
                continue;
            }
            if let Some(range) = ended.take() {
                let message = "`...` ends the document, and more follows it";
                self.cut.findings.report(&codes::YAML_DOCUMENT, range, "", "...", message).help("remove the line");
            }
            self.document.get_or_insert(place);
            // What is indented deeper than the first content is part of it, whatever that was.
            let outermost = self.base.or(self.stray.map(|(column, _)| column)).unwrap_or(column);
            let key = if column <= outermost { key_of_line(content) } else { None };
            // A line without a key that stands as far out as one can only be a broken entry, and not the one above.
            let is_broken = key.is_none()
                && column <= outermost
                && content.starts_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | '"' | '\'' | '@' | '`'))
                && starts.last().is_some_and(|(_, key)| key.is_some());
            let key = if is_broken { Some(None) } else { key };
            match key {
                Some(_) if starts.len() >= MAX_ENTRIES => {
                    let message =
                        format!("the file has more than {MAX_ENTRIES} entries; those from here on are not read");
                    self.cut.findings.report(&codes::YAML_LIMIT, place, "", "", message);
                    break;
                }
                Some(key) => {
                    let base = *self.base.get_or_insert(column);
                    if column != base && !is_broken {
                        let message = format!("this key stands {column} columns in, the first one {base}");
                        let defect = self.cut.findings.report(&codes::YAML_SYNTAX, place, "", trimmed, message);
                        defect.help("start every entry in the same column");
                    }
                    starts.push((above.unwrap_or(at), key));
                }
                None if starts.is_empty() => self.stray = self.stray.or(Some((column, place))),
                None => {}
            }
            at = self.skip_construct(at, column, end);
        }
        self.finish(starts)
    }

    fn finish(mut self, starts: Vec<(usize, Option<String>)>) -> Cut {
        let head = starts.first().map_or(self.text.len(), |&(start, _)| start);
        let head_text = self.text.get(..head).unwrap_or_default();
        characters::clean(head_text, &mut self.cut.findings);
        match (self.stray, starts.is_empty()) {
            (Some((_, range)), false) => {
                let message = "this line belongs to no entry";
                let help =
                    "a manifest is a mapping from op names to entries: `GemmFwdOp:` and what belongs to it, indented";
                self.cut.findings.report(&codes::YAML_SYNTAX, range, "", "", message).help(help);
            }
            (Some((_, range)), true) => {
                let first = self.text.get(usize::from(range.start())..).unwrap_or_default();
                let what = match first.as_bytes() {
                    [b'-', b' ' | b'\t' | b'\n' | b'\r', ..] | [b'-'] | [b'[', ..] => {
                        "the top level of the file is a list"
                    }
                    [b'{', ..] => "the top level of the file is a mapping in braces",
                    _ => "the top level of the file is a text",
                };
                let help = "a manifest maps op names to entries: start each with `Name:` at the start of a line";
                self.cut.findings.report(&codes::YAML_TOP_LEVEL, range, "", "", what).help(help);
            }
            (None, true) => {
                let help = "a manifest maps op names to entries: start each with `Name:` at the start of a line";
                let message = "the file has no entry";
                self.cut.findings.report(&codes::YAML_TOP_LEVEL, TextRange::default(), "", "", message).help(help);
            }
            (None, false) => {}
        }
        let ends: Vec<usize> = starts.iter().skip(1).map(|&(start, _)| start).chain([self.text.len()]).collect();
        self.cut.head = TextSize::new(head as u32);
        self.cut.chunks =
            starts.into_iter().zip(ends).map(|((start, key), end)| Chunk { key, range: span(start, end) }).collect();
        self.cut
    }

    /// A `---` or `...` line.
    fn marker(&mut self, line: &str, marker: TextRange, place: TextRange, has_entries: bool) {
        let starts = line.starts_with("---");
        if starts && let Some(first) = self.document {
            let message = "a second document starts here, and a manifest is one document";
            let defect = self.cut.findings.report(&codes::YAML_DOCUMENT, marker, "", "---", message);
            defect.help("remove the `---`, or move what follows to a file of its own");
            if !has_entries {
                defect.related(first, "the first document starts here");
            }
        }
        let rest = line.get(3..).unwrap_or_default().trim();
        if !(rest.is_empty() || rest.starts_with('#')) {
            let shown = &line[..3];
            let message = format!("`{shown}` is followed by something on its line");
            self.cut
                .findings
                .report(&codes::YAML_DOCUMENT, place, "", shown, message)
                .help(format!("write `{shown}` alone"));
        }
        self.document.get_or_insert(marker);
    }

    fn line_end(&self, at: usize) -> usize {
        line_end(self.text, at)
    }

    /// The start of the line behind the break at `end`.
    fn next_line(&self, end: usize) -> usize {
        next_line(self.text, end)
    }

    /// The start of the first line behind the one at `line` that is not inside a construct begun on it.
    fn skip_construct(&mut self, line: usize, indent: usize, end: usize) -> usize {
        let bytes = self.text.as_bytes();
        let blank_at = |at: usize| matches!(bytes.get(at), None | Some(b' ' | b'\t' | b'\n' | b'\r'));
        let mut at = line + indent;
        // The column of the innermost key or dash on the line.
        let mut column = indent;
        let next = self.next_line(end);
        while at < end {
            match bytes[at] {
                b' ' | b'\t' => at += 1,
                b'#' => return next,
                b'-' | b'?' | b':' if blank_at(at + 1) => {
                    column = at - line;
                    at += 1;
                }
                b'&' | b'!' => {
                    while at < end && !blank_at(at) {
                        at += 1;
                    }
                }
                quote @ (b'"' | b'\'') => match self.quote_end(at, quote) {
                    Some(close) if close < end => match colon_behind(self.text, close, end) {
                        Some(colon) => {
                            column = at - line;
                            at = colon + 1;
                        }
                        None => return next,
                    },
                    Some(close) => return self.next_line(self.line_end(close)),
                    None => return next,
                },
                b'[' | b'{' => match self.bracket_end(at) {
                    Some(close) if close < end => match colon_behind(self.text, close, end) {
                        Some(colon) => {
                            column = at - line;
                            at = colon + 1;
                        }
                        None => return next,
                    },
                    Some(close) => return self.next_line(self.line_end(close)),
                    None => return next,
                },
                b'|' | b'>' => {
                    let header = self.text.get(at + 1..end).unwrap_or_default();
                    let digit = header.bytes().take(2).find(u8::is_ascii_digit).map(|d| usize::from(d - b'0'));
                    return self.skip_block_scalar(next, column, digit);
                }
                _ => match plain_colon(self.text, at, end) {
                    Ok(colon) => {
                        column = at - line;
                        at = colon + 1;
                    }
                    Err(true) => return next,
                    Err(false) => return self.skip_deeper(next, column),
                },
            }
        }
        next
    }

    /// Passes the lines of a plain text: those indented deeper than its key, up to a comment.
    fn skip_deeper(&self, mut at: usize, column: usize) -> usize {
        while at < self.text.len() {
            let end = self.line_end(at);
            let line = self.text.get(at..end).unwrap_or_default();
            let content = line.trim_start_matches(' ');
            let is_deeper = line.len() - content.len() > column && !content.starts_with('#');
            if !content.is_empty() && !is_deeper {
                break;
            }
            at = self.next_line(end);
            if content.contains(" #") {
                break;
            }
        }
        at
    }

    fn skip_block_scalar(&self, mut at: usize, column: usize, digit: Option<usize>) -> usize {
        let mut indent = digit.map(|digit| column + digit.max(1));
        while at < self.text.len() {
            let end = self.line_end(at);
            let line = self.text.get(at..end).unwrap_or_default();
            let content = line.trim_start_matches(' ');
            let found = line.len() - content.len();
            if !content.is_empty() && found < *indent.get_or_insert(found.max(column + 1)) {
                break;
            }
            at = self.next_line(end);
        }
        at
    }

    /// Where the quote that opens at `open` is closed (the closing quote's offset), if what follows it may follow one.
    fn quote_end(&mut self, open: usize, quote: u8) -> Option<usize> {
        let close = self.closing_quote(open, quote)?;
        // On its own line, what follows is looked at by the caller.
        let own_line = self.line_end(open);
        (close < own_line || is_rest_blank(self.text, close + 1)).then_some(close)
    }

    fn closing_quote(&mut self, open: usize, quote: u8) -> Option<usize> {
        let bytes = self.text.as_bytes();
        let mut at = open + 1;
        while let Some(&b) = bytes.get(at) {
            if self.lookahead == 0 {
                return None;
            }
            self.lookahead -= 1;
            match b {
                b'\\' if quote == b'"' => at += 1,
                b'\'' if quote == b'\'' && bytes.get(at + 1) == Some(&b'\'') => at += 1,
                b if b == quote => return Some(at),
                b'\n' | b'\r' if self.text.get(at + 1..).is_some_and(is_marker) => return None,
                _ => {}
            }
            at += 1;
        }
        None
    }

    /// Where the bracket that opens at `open` is closed (the closing bracket's offset), if everything between makes sense
    /// as far as brackets and quotes go, and what follows may follow.
    fn bracket_end(&mut self, open: usize) -> Option<usize> {
        let bytes = self.text.as_bytes();
        let mut stack: Vec<u8> = Vec::new();
        // The last character that is no blank: a quote opens a text only where a value may start.
        let mut before = b',';
        let mut at = open;
        while let Some(&b) = bytes.get(at) {
            if self.lookahead == 0 || stack.len() > 256 {
                return None;
            }
            self.lookahead -= 1;
            match b {
                b'[' => stack.push(b']'),
                b'{' => stack.push(b'}'),
                b']' | b'}' => {
                    if stack.pop() != Some(b) {
                        return None;
                    }
                    if stack.is_empty() {
                        let own_line = self.line_end(open);
                        return (at < own_line || is_rest_blank(self.text, at + 1)).then_some(at);
                    }
                }
                b'"' | b'\'' if matches!(before, b'[' | b'{' | b',' | b':') => {
                    at = self.closing_quote(at, b)?;
                    let rest = self.text.get(at + 1..).unwrap_or_default().trim_start();
                    if !matches!(rest.as_bytes().first(), Some(b',' | b':' | b']' | b'}' | b'#')) {
                        return None;
                    }
                }
                b'#' if at.checked_sub(1).and_then(|i| bytes.get(i)).is_some_and(u8::is_ascii_whitespace) => {
                    at = self.line_end(at);
                    continue;
                }
                b'\n' | b'\r' if self.text.get(at + 1..).is_some_and(is_marker) => return None,
                _ => {}
            }
            if !b.is_ascii_whitespace() {
                before = b;
            }
            at += 1;
        }
        None
    }
}

fn line_end(text: &str, at: usize) -> usize {
    let rest = text.as_bytes().get(at..).unwrap_or_default();
    let mut from = 0;
    while let Some(skip) = rest[from..].iter().position(|b| matches!(b, b'\n' | b'\r' | 0xc2 | 0xe2)) {
        let found = at + from + skip;
        if text.get(found..).and_then(|rest| rest.chars().next()).is_some_and(is_break) {
            return found;
        }
        from += skip + 1;
    }
    text.len()
}

fn next_line(text: &str, end: usize) -> usize {
    match text.get(end..).and_then(|rest| rest.chars().next()) {
        Some('\r') if text.as_bytes().get(end + 1) == Some(&b'\n') => end + 2,
        Some(c) => end + c.len_utf8(),
        None => text.len(),
    }
}

/// Whether a line is `---` or `...`, alone or followed by a blank.
fn is_marker(line: &str) -> bool {
    (line.starts_with("---") || line.starts_with("..."))
        && line.get(3..).is_some_and(|rest| rest.chars().next().is_none_or(|c| matches!(c, ' ' | '\t') || is_break(c)))
}

/// Whether nothing but blanks and a comment follows `at` on its line.
fn is_rest_blank(text: &str, at: usize) -> bool {
    let rest = text.get(at..line_end(text, at)).unwrap_or_default();
    let trimmed = rest.trim_start_matches([' ', '\t']);
    trimmed.is_empty() || (trimmed.starts_with('#') && trimmed.len() < rest.len())
}

/// The `:` that makes a key of what closes at `close`.
fn colon_behind(text: &str, close: usize, end: usize) -> Option<usize> {
    let rest = text.get(close + 1..end)?;
    let trimmed = rest.trim_start_matches(' ');
    let follows = trimmed.strip_prefix(':')?;
    (follows.is_empty() || follows.starts_with([' ', '\t'])).then_some(close + 1 + (rest.len() - trimmed.len()))
}

/// The `:` that ends a plain key between `at` and `end`; without one, whether a comment ends the text.
fn plain_colon(text: &str, at: usize, end: usize) -> Result<usize, bool> {
    let line = text.get(at..end).unwrap_or_default();
    let bytes = line.as_bytes();
    for (i, &b) in bytes.iter().enumerate() {
        match b {
            b':' if matches!(bytes.get(i + 1), None | Some(b' ' | b'\t')) => return Ok(at + i),
            b'#' if i > 0 && matches!(bytes[i - 1], b' ' | b'\t') => return Err(true),
            _ => {}
        }
    }
    Err(false)
}

/// Whether a line (without its indentation) begins with a key, and the key if it can be read.
#[allow(clippy::option_option)]
fn key_of_line(content: &str) -> Option<Option<String>> {
    let content = content.get(..line_end(content, 0)).unwrap_or_default();
    let bytes = content.as_bytes();
    let blank_second = matches!(bytes.get(1), None | Some(b' ' | b'\t'));
    let colon = match bytes.first()? {
        b'-' | b':' if blank_second => return None,
        b'?' if blank_second => return Some(None),
        b'#' | b',' | b']' | b'}' | b'|' | b'>' | b'%' | b'\t' => return None,
        quote @ (b'"' | b'\'') => {
            let mut line = Cutter::new(content);
            let close = line.closing_quote(0, *quote)?;
            colon_behind(content, close, content.len())?
        }
        b'[' | b'{' => {
            let mut line = Cutter::new(content);
            let close = line.bracket_end(0)?;
            colon_behind(content, close, content.len())?;
            return Some(None);
        }
        _ => plain_colon(content, 0, content.len()).ok()?,
    };
    Some(key_text(content.get(..colon)?))
}

/// The decoded text of a key, if it is one scalar.
fn key_text(key: &str) -> Option<String> {
    let clean = characters::clean(key, &mut Findings::default());
    if !clean.damage.is_empty() {
        return None;
    }
    let mut scanner = Scanner::new(key);
    let mut text = None;
    loop {
        match scanner.next_token().ok()?.kind {
            TokenKind::Anchor(_) | TokenKind::Tag(_) if text.is_none() => {}
            TokenKind::Scalar(raw) if text.is_none() && !raw.broken => text = Some(raw.text),
            TokenKind::End => return text,
            _ => return None,
        }
    }
}
