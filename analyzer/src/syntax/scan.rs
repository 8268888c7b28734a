//! Characters to tokens, as PyYAML's scanner cuts them.
//!
//! PyYAML's `safe_load` decides what a manifest says, so its scanner is followed rule by rule: where a plain scalar
//! ends, which line breaks fold, which tab is refused, how far away the `:` of a key may stand. Only the messages, the
//! positions and the limits are this crate's own.

mod scalars;

use std::collections::VecDeque;

use super::{MAX_DEPTH, ScalarStyle, SourceMap};
use crate::text::{TextRange, TextSize};

/// Why reading stops.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Refusal {
    /// The characters at fault.
    pub(super) range: TextRange,
    /// Where reading stopped; progress is measured by it.
    pub(super) at: usize,
    /// The start of the construct that the fault lies in, where it is not the fault itself: a quote or a bracket.
    pub(super) construct: Option<usize>,
    /// Where the innermost open bracket around it stands.
    pub(super) flow: Option<usize>,
    /// Whether a limit of ours was met, rather than a rule of YAML broken.
    pub(super) is_limit: bool,
    /// What is wrong.
    pub(super) message: String,
    /// What to write instead.
    pub(super) help: Option<&'static str>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Token<'t> {
    pub(super) kind: TokenKind<'t>,
    pub(super) range: TextRange,
    /// The column that the token starts at.
    pub(super) column: usize,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum TokenKind<'t> {
    BlockSequenceStart,
    BlockMappingStart,
    BlockEnd,
    FlowSequenceStart,
    FlowMappingStart,
    FlowSequenceEnd,
    FlowMappingEnd,
    BlockEntry,
    FlowEntry,
    Key,
    Value,
    Alias(&'t str),
    Anchor(&'t str),
    Tag(&'t str),
    Scalar(RawScalar),
    /// The end of the text, or a `---` or `...` line.
    End,
}

/// A scalar as written, before it gets a type.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct RawScalar {
    pub(super) text: String,
    pub(super) style: ScalarStyle,
    pub(super) map: SourceMap,
    /// Whether some of it could not be decoded; the defect is among the scanner's `faults`.
    pub(super) broken: bool,
}

struct SimpleKey {
    token: usize,
    required: bool,
    at: usize,
    chars: usize,
    line: usize,
    column: usize,
}

/// How far in front of its `:` a key may start, in characters. PyYAML's rule.
const SIMPLE_KEY_LIMIT: usize = 1024;

pub(super) struct Scanner<'t> {
    text: &'t str,
    at: usize,
    /// `at`, counted in characters.
    chars: usize,
    line: usize,
    column: usize,
    flow: Vec<usize>,
    tokens: VecDeque<Token<'t>>,
    taken: usize,
    done: bool,
    /// The column of the innermost block collection, -1 outside of any.
    indent: isize,
    indents: Vec<isize>,
    allow_simple_key: bool,
    /// By flow level: a token that a `:` would make a key.
    simple_keys: Vec<Option<SimpleKey>>,
    /// Comments, each with its `#`.
    pub(super) comments: Vec<TextRange>,
    /// Faults that do not stop the scanner: escapes that no character has.
    pub(super) faults: Vec<Refusal>,
    /// The last quoted scalar that spans lines: where it starts and ends. A forgotten quote is closed by the next one,
    /// and what follows that is then the first thing that makes no sense.
    last_long_quote: Option<(usize, usize)>,
    /// The last plain scalar that spans lines: where it starts and ends.
    last_long_plain: Option<(usize, usize)>,
}

/// A character that ends a line to YAML 1.1.
pub(super) fn is_break(c: char) -> bool {
    matches!(c, '\n' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// The end (`\0`), a blank or a line break: what must follow an indicator.
fn is_blank(c: char) -> bool {
    matches!(c, '\0' | ' ' | '\t') || is_break(c)
}

fn is_break_or_end(c: char) -> bool {
    c == '\0' || is_break(c)
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_')
}

fn size(offset: usize) -> TextSize {
    // Texts beyond 4 GiB are refused before they are scanned.
    TextSize::new(u32::try_from(offset).unwrap_or(u32::MAX))
}

pub(super) fn span(start: usize, end: usize) -> TextRange {
    TextRange::new(size(start), size(end.max(start)))
}

type Scan<T> = Result<T, Refusal>;

/// A line break that was passed: what it decodes to, and where.
#[derive(Clone, Copy)]
struct Break {
    c: char,
    start: usize,
    end: usize,
}

impl<'t> Scanner<'t> {
    /// Scans `text`, which holds none of the characters that YAML forbids.
    pub(super) fn new(text: &'t str) -> Self {
        Scanner {
            text,
            at: 0,
            chars: 0,
            line: 0,
            column: 0,
            flow: Vec::new(),
            tokens: VecDeque::new(),
            taken: 0,
            done: false,
            indent: -1,
            indents: Vec::new(),
            allow_simple_key: true,
            simple_keys: vec![None],
            comments: Vec::new(),
            faults: Vec::new(),
            last_long_quote: None,
            last_long_plain: None,
        }
    }

    /// The next token, which is [`TokenKind::End`] for ever once the text has ended.
    pub(super) fn peek_token(&mut self) -> Scan<&Token<'t>> {
        self.fill()?;
        // `fill` leaves at least one token: only the end token is last, and `next_token` never takes that one.
        #[allow(clippy::unwrap_used)]
        Ok(self.tokens.front().unwrap())
    }

    /// Takes the next token.
    pub(super) fn next_token(&mut self) -> Scan<Token<'t>> {
        let token = self.peek_token()?.clone_end();
        match token {
            Some(end) => Ok(end),
            None => {
                self.taken += 1;
                // See `peek_token`.
                #[allow(clippy::unwrap_used)]
                Ok(self.tokens.pop_front().unwrap())
            }
        }
    }

    /// The quoted scalar over several lines that ends on the line of `at`, before it, if there is one.
    pub(super) fn long_quote_before(&self, at: usize) -> Option<usize> {
        let (start, end) = self.last_long_quote?;
        (end <= at && !self.text.get(end..at)?.contains(is_break)).then_some(start)
    }

    fn fill(&mut self) -> Scan<()> {
        while !self.done {
            if !self.tokens.is_empty() {
                self.drop_stale_keys()?;
                let first = self.simple_keys.iter().flatten().map(|key| key.token).min();
                if first != Some(self.taken) {
                    break;
                }
            }
            self.fetch().map_err(|refusal| Refusal { flow: self.flow.last().copied(), ..refusal })?;
        }
        Ok(())
    }

    // Characters.

    fn char_at(&self, at: usize) -> char {
        match self.text.as_bytes().get(at) {
            None => '\0',
            Some(&b) if b < 0x80 => b as char,
            Some(_) => self.text.get(at..).and_then(|rest| rest.chars().next()).unwrap_or('\0'),
        }
    }

    fn peek(&self) -> char {
        self.char_at(self.at)
    }

    /// The character behind the current one, which is ASCII.
    fn peek_second(&self) -> char {
        self.char_at(self.at + 1)
    }

    fn is_end(&self) -> bool {
        self.at >= self.text.len()
    }

    /// Steps over one character.
    fn forward(&mut self) {
        if self.is_end() {
            return;
        }
        let c = self.peek();
        self.at += c.len_utf8();
        self.chars += 1;
        match c {
            '\r' if self.peek() == '\n' => self.column += 1,
            c if is_break(c) => {
                self.line += 1;
                self.column = 0;
            }
            '\u{feff}' => {}
            _ => self.column += 1,
        }
    }

    /// Steps to `end` over characters of which none breaks a line.
    fn forward_to(&mut self, end: usize) -> &'t str {
        let passed = self.text.get(self.at..end).unwrap_or_default();
        let chars = if passed.is_ascii() { passed.len() } else { passed.chars().count() };
        self.chars += chars;
        self.column += chars - if passed.is_ascii() { 0 } else { passed.matches('\u{feff}').count() };
        self.at += passed.len();
        passed
    }

    /// The first offset from the current one whose character satisfies `stop`; the end otherwise.
    fn find(&self, stop: impl Fn(char) -> bool) -> usize {
        let rest = self.text.get(self.at..).unwrap_or_default();
        rest.char_indices().find(|&(_, c)| stop(c)).map_or(self.text.len(), |(i, _)| self.at + i)
    }

    fn skip_spaces(&mut self) {
        while self.peek() == ' ' && !self.is_end() {
            self.forward();
        }
    }

    fn skip_comment(&mut self) {
        if self.peek() == '#' {
            let start = self.at;
            let end = self.find(is_break);
            self.forward_to(end);
            self.comments.push(span(start, end));
        }
    }

    fn line_break(&mut self) -> Option<Break> {
        let start = self.at;
        let c = match self.peek() {
            '\r' if self.peek_second() == '\n' => {
                self.forward();
                '\n'
            }
            '\r' | '\n' | '\u{85}' => '\n',
            c @ ('\u{2028}' | '\u{2029}') => c,
            _ => return None,
        };
        self.forward();
        Some(Break { c, start, end: self.at })
    }

    /// `---` or `...` at the current offset, as a line of its own or the start of one.
    fn is_document_marker(&self) -> bool {
        let rest = self.text.get(self.at..).unwrap_or_default();
        (rest.starts_with("---") || rest.starts_with("...")) && is_blank(self.char_at(self.at + 3))
    }

    // Refusals.

    fn refusal(&self, range: TextRange, message: impl Into<String>, help: Option<&'static str>) -> Refusal {
        Refusal { range, at: self.at, construct: None, flow: None, is_limit: false, message: message.into(), help }
    }

    fn refuse<T>(&self, range: TextRange, message: impl Into<String>, help: Option<&'static str>) -> Scan<T> {
        Err(self.refusal(range, message, help))
    }

    /// The characters from `start` up to a blank or a `:`, at least one where there is one.
    pub(super) fn word_at(&self, start: usize) -> TextRange {
        let rest = self.text.get(start..).unwrap_or_default();
        let end = rest.char_indices().skip(1).find(|&(_, c)| is_blank(c) || c == ':').map_or(rest.len(), |(i, _)| i);
        span(start, start + end)
    }

    fn here(&self) -> TextRange {
        let c = if self.is_end() { 0 } else { self.peek().len_utf8() };
        span(self.at, self.at + c)
    }

    /// The characters from `start` to the end of its line, for a message.
    fn rest_of_line(&self, start: usize) -> (&'t str, TextRange) {
        let rest = self.text.get(start..).unwrap_or_default();
        let line = rest.find(is_break).map_or(rest, |end| &rest[..end]);
        let line = line.find(" #").map_or(line, |end| &line[..end]).trim_end();
        (line, span(start, start + line.len()))
    }

    // Keys and indentation.

    fn drop_stale_keys(&mut self) -> Scan<()> {
        for level in 0..self.simple_keys.len() {
            let Some(key) = &self.simple_keys[level] else { continue };
            if key.line != self.line || self.chars - key.chars > SIMPLE_KEY_LIMIT {
                if key.required {
                    return self.refuse_key_without_colon(key.at, key.line);
                }
                self.simple_keys[level] = None;
            }
        }
        Ok(())
    }

    fn refuse_key_without_colon<T>(&self, start: usize, line: usize) -> Scan<T> {
        let (text, range) = self.rest_of_line(start);
        if line == self.line && text.len() > SIMPLE_KEY_LIMIT {
            let range = span(start, start + text.chars().next().map_or(0, char::len_utf8));
            return self.refuse(range, "a key is longer than 1024 characters, which YAML does not allow", None);
        }
        if let Some(quote) = self.long_quote_before(self.at) {
            return self.refuse_open_quote(quote);
        }
        let (message, help) = if text.starts_with('"') || text.starts_with('\'') {
            (format!("{} stands where a key is expected, and no `:` follows it", shorten(text)), None)
        } else if text.contains(':') {
            let help = "put a space behind the `:`";
            (format!("{} is no key: its `:` is followed by no space", shorten(text)), Some(help))
        } else {
            (format!("{} stands where a key is expected, and no `:` follows it", shorten(text)), None)
        };
        self.refuse(range, message, help)
    }

    /// Blames a quote that was not closed where it should have been.
    pub(super) fn refuse_open_quote<T>(&self, start: usize) -> Scan<T> {
        let quote = self.char_at(start);
        Err(Refusal {
            range: span(start, start + 1),
            at: self.at,
            construct: Some(start),
            flow: None,
            is_limit: false,
            message: format!(
                "the text that this `{quote}` opens is not closed on its line, and what follows makes no sense"
            ),
            help: Some("close the quote"),
        })
    }

    fn save_simple_key(&mut self) -> Scan<()> {
        let required = self.flow.is_empty() && self.indent == self.column as isize;
        if self.allow_simple_key {
            self.remove_simple_key()?;
            let key = SimpleKey {
                token: self.taken + self.tokens.len(),
                required,
                at: self.at,
                chars: self.chars,
                line: self.line,
                column: self.column,
            };
            if let Some(slot) = self.simple_keys.get_mut(self.flow.len()) {
                *slot = Some(key);
            }
        }
        Ok(())
    }

    fn remove_simple_key(&mut self) -> Scan<()> {
        if let Some(key) = self.simple_keys.get_mut(self.flow.len()).and_then(Option::take)
            && key.required
        {
            return self.refuse_key_without_colon(key.at, key.line);
        }
        Ok(())
    }

    fn unwind_indent(&mut self, column: isize) {
        if !self.flow.is_empty() {
            return;
        }
        while self.indent > column {
            self.indent = self.indents.pop().unwrap_or(-1);
            self.push(TokenKind::BlockEnd, self.at);
        }
    }

    fn add_indent(&mut self, column: usize) -> Scan<bool> {
        if self.indent >= column as isize {
            return Ok(false);
        }
        if self.indents.len() + self.flow.len() >= MAX_DEPTH {
            return self.refuse_depth();
        }
        self.indents.push(self.indent);
        self.indent = column as isize;
        Ok(true)
    }

    fn refuse_depth<T>(&self) -> Scan<T> {
        Err(Refusal {
            range: self.here(),
            at: self.at,
            construct: None,
            flow: None,
            is_limit: true,
            message: format!("the entry is nested more than {MAX_DEPTH} levels deep"),
            help: None,
        })
    }

    // Tokens.

    fn push(&mut self, kind: TokenKind<'t>, start: usize) {
        let range = span(start, self.at);
        let column = self.column.saturating_sub(if start < self.at { range.len().into() } else { 0 });
        self.tokens.push_back(Token { kind, range, column });
    }

    fn fetch(&mut self) -> Scan<()> {
        self.skip_to_token();
        self.drop_stale_keys()?;
        self.unwind_indent(self.column as isize);
        if self.is_end() || (self.column == 0 && self.is_document_marker()) {
            return self.fetch_end();
        }
        let in_flow = !self.flow.is_empty();
        match self.peek() {
            '%' if self.column == 0 => self.refuse(
                self.here(),
                "a line that starts with `%` is a directive, and none may stand in an entry",
                None,
            ),
            '[' => self.fetch_flow_start(TokenKind::FlowSequenceStart),
            '{' => self.fetch_flow_start(TokenKind::FlowMappingStart),
            ']' => self.fetch_flow_end(TokenKind::FlowSequenceEnd),
            '}' => self.fetch_flow_end(TokenKind::FlowMappingEnd),
            ',' => {
                self.allow_simple_key = true;
                self.remove_simple_key()?;
                self.indicator(TokenKind::FlowEntry);
                Ok(())
            }
            '-' if is_blank(self.peek_second()) => self.fetch_block_entry(),
            '?' if in_flow || is_blank(self.peek_second()) => self.fetch_key(),
            ':' if in_flow || is_blank(self.peek_second()) => self.fetch_value(),
            '*' => self.fetch_name(TokenKind::Alias),
            '&' => self.fetch_name(TokenKind::Anchor),
            '!' => self.fetch_tag(),
            c @ ('|' | '>') if !in_flow => self.fetch_block_scalar(c == '>'),
            c @ ('\'' | '"') => self.fetch_quoted(c),
            c if self.starts_plain(c) => self.fetch_plain(),
            c => self.refuse_start(c),
        }
    }

    fn starts_plain(&self, c: char) -> bool {
        let in_flow = !self.flow.is_empty();
        let indicator = matches!(
            c,
            '-' | '?'
                | ':'
                | ','
                | '['
                | ']'
                | '{'
                | '}'
                | '#'
                | '&'
                | '*'
                | '!'
                | '|'
                | '>'
                | '\''
                | '"'
                | '%'
                | '@'
                | '`'
        );
        !(is_blank(c) || indicator)
            || (!is_blank(self.peek_second()) && (c == '-' || (!in_flow && matches!(c, '?' | ':'))))
    }

    fn refuse_start<T>(&self, c: char) -> Scan<T> {
        match c {
            '\t' => {
                let end = self.find(|c| c != '\t');
                let help = "YAML is indented and separated with spaces";
                self.refuse(span(self.at, end), "a tab stands where only spaces may", Some(help))
            }
            '|' | '>' => {
                let help = "write the text in quotes";
                self.refuse(self.here(), format!("a block scalar (`{c}`) cannot stand between brackets"), Some(help))
            }
            _ => {
                let help = "write the value in quotes";
                self.refuse(self.here(), format!("a value without quotes cannot start with `{c}`"), Some(help))
            }
        }
    }

    fn skip_to_token(&mut self) {
        loop {
            self.skip_spaces();
            self.skip_comment();
            if self.line_break().is_none() {
                break;
            }
            if self.flow.is_empty() {
                self.allow_simple_key = true;
            }
        }
    }

    fn fetch_end(&mut self) -> Scan<()> {
        if let Some(&open) = self.flow.last() {
            let bracket = self.char_at(open);
            return Err(Refusal {
                range: span(open, open + 1),
                at: self.at,
                construct: Some(open),
                flow: None,
                is_limit: false,
                message: format!("this `{bracket}` is never closed"),
                help: None,
            });
        }
        self.unwind_indent(-1);
        self.remove_simple_key()?;
        self.allow_simple_key = false;
        self.push(TokenKind::End, self.at);
        self.done = true;
        Ok(())
    }

    fn indicator(&mut self, kind: TokenKind<'t>) {
        let start = self.at;
        self.forward();
        self.push(kind, start);
    }

    fn fetch_flow_start(&mut self, kind: TokenKind<'t>) -> Scan<()> {
        self.save_simple_key()?;
        if self.indents.len() + self.flow.len() >= MAX_DEPTH {
            return self.refuse_depth();
        }
        self.flow.push(self.at);
        self.simple_keys.resize_with(self.flow.len() + 1, || None);
        self.allow_simple_key = true;
        self.indicator(kind);
        Ok(())
    }

    fn fetch_flow_end(&mut self, kind: TokenKind<'t>) -> Scan<()> {
        self.remove_simple_key()?;
        if self.flow.pop().is_none() {
            return self.refuse(self.here(), format!("this `{}` closes nothing", self.peek()), None);
        }
        self.simple_keys.truncate(self.flow.len() + 1);
        self.allow_simple_key = false;
        self.indicator(kind);
        Ok(())
    }

    fn fetch_block_entry(&mut self) -> Scan<()> {
        if self.flow.is_empty() {
            if !self.allow_simple_key {
                let help = "start the list on a line of its own, or write it in brackets";
                return self.refuse(self.here(), "a list item (`- `) cannot start here", Some(help));
            }
            if self.add_indent(self.column)? {
                self.push(TokenKind::BlockSequenceStart, self.at);
            }
        }
        self.allow_simple_key = true;
        self.remove_simple_key()?;
        self.indicator(TokenKind::BlockEntry);
        Ok(())
    }

    fn fetch_key(&mut self) -> Scan<()> {
        if self.flow.is_empty() {
            if !self.allow_simple_key {
                return self.refuse(self.here(), "an explicit key (`? `) cannot start here", None);
            }
            if self.add_indent(self.column)? {
                self.push(TokenKind::BlockMappingStart, self.at);
            }
        }
        self.allow_simple_key = self.flow.is_empty();
        self.remove_simple_key()?;
        self.indicator(TokenKind::Key);
        Ok(())
    }

    fn fetch_value(&mut self) -> Scan<()> {
        if let Some(key) = self.simple_keys.get_mut(self.flow.len()).and_then(Option::take) {
            let index = key.token.saturating_sub(self.taken).min(self.tokens.len());
            let token = |kind| Token { kind, range: span(key.at, key.at), column: key.column };
            self.tokens.insert(index, token(TokenKind::Key));
            if self.flow.is_empty() && self.add_indent(key.column)? {
                self.tokens.insert(index, token(TokenKind::BlockMappingStart));
            }
            self.allow_simple_key = false;
        } else {
            if self.flow.is_empty() {
                if !self.allow_simple_key {
                    return self.refuse_value();
                }
                if self.add_indent(self.column)? {
                    self.push(TokenKind::BlockMappingStart, self.at);
                }
            }
            self.allow_simple_key = self.flow.is_empty();
            self.remove_simple_key()?;
        }
        self.indicator(TokenKind::Value);
        Ok(())
    }

    fn refuse_value<T>(&self) -> Scan<T> {
        if let Some(quote) = self.long_quote_before(self.at) {
            return self.refuse_open_quote(quote);
        }
        if let Some((start, end)) = self.last_long_plain
            && self.text.get(end..self.at).is_some_and(|between| between.trim().is_empty())
        {
            let before = self.text.get(..start).unwrap_or_default();
            if before.trim_end_matches(' ').chars().next_back().is_some_and(is_break) {
                // A key whose own `:` is missing swallowed the line below it.
                let (text, range) = self.rest_of_line(start);
                let message = format!("{} stands where a key is expected, and no `:` follows it", shorten(text));
                return Err(Refusal { construct: Some(start), ..self.refusal(range, message, None) });
            }
            let line = self.text.get(..end).and_then(|text| text.rfind(is_break)).unwrap_or(start);
            let line = line + self.text.get(line..end).map_or(0, |text| text.len() - text.trim_start().len());
            let key = self.text.get(line..end).unwrap_or_default();
            let message = format!("{} continues the value above, so it cannot be a key", shorten(key));
            let help = "indent it exactly as far as its siblings";
            return self.refuse(span(line, end), message, Some(help));
        }
        let help = "write the value in quotes if the `:` is part of it; a key starts a line, as far in as its siblings";
        self.refuse(self.here(), "a `:` cannot stand here: what is in front of it is not a key", Some(help))
    }

    fn fetch_name(&mut self, kind: fn(&'t str) -> TokenKind<'t>) -> Scan<()> {
        self.save_simple_key()?;
        self.allow_simple_key = false;
        let start = self.at;
        let sigil = self.peek();
        self.forward();
        let end = self.find(|c| !is_word(c));
        let column = self.column - 1;
        let name = self.forward_to(end);
        let next = self.peek();
        if name.is_empty() || !(is_blank(next) || matches!(next, '?' | ':' | ',' | ']' | '}' | '%' | '@' | '`')) {
            let what = if sigil == '*' { "an alias" } else { "an anchor" };
            let help = "write the value in quotes";
            return self.refuse(
                span(start, self.at.max(start + 1)),
                format!("a value that starts with `{sigil}` is {what}, and this is not the name of one"),
                Some(help),
            );
        }
        self.tokens.push_back(Token { kind: kind(name), range: span(start, self.at), column });
        Ok(())
    }

    fn fetch_tag(&mut self) -> Scan<()> {
        self.save_simple_key()?;
        self.allow_simple_key = false;
        let (start, column) = (self.at, self.column);
        let is_uri = |c: char| is_word(c) || ";/?:@&=+$,.!~*'()[]%".contains(c);
        self.forward();
        let well_formed = if self.peek() == '<' {
            self.forward();
            let uri = self.find(|c| !is_uri(c));
            let uri = self.forward_to(uri);
            let closed = self.peek() == '>';
            if closed {
                self.forward();
            }
            closed && !uri.is_empty()
        } else if is_blank(self.peek()) {
            true
        } else {
            let uri = self.find(|c| !is_uri(c));
            self.forward_to(uri);
            true
        };
        let next = self.peek();
        if !well_formed || !(next == ' ' || is_break_or_end(next)) {
            let help = "write the value in quotes";
            let message = "a value that starts with `!` is a tag, and this is not a well-formed one";
            return self.refuse(span(start, self.at), message, Some(help));
        }
        let tag = self.text.get(start..self.at).unwrap_or_default();
        self.tokens.push_back(Token { kind: TokenKind::Tag(tag), range: span(start, self.at), column });
        Ok(())
    }
}

impl<'t> Token<'t> {
    /// A copy of the token if it is the end.
    fn clone_end(&self) -> Option<Token<'t>> {
        matches!(self.kind, TokenKind::End).then(|| self.clone())
    }
}

/// A text in backticks, shortened for a message.
pub(super) fn shorten(text: &str) -> String {
    let mut chars = text.chars();
    let start: String = chars.by_ref().take(40).collect();
    if chars.next().is_some() { format!("`{start}…`") } else { format!("`{start}`") }
}
