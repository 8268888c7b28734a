//! Scalars: what they say, and where each character of it stands.

use super::*;

/// Builds a decoded text and its map.
struct Decoded {
    text: String,
    map: SourceMap,
    broken: bool,
}

impl Decoded {
    fn new(start: usize) -> Self {
        Decoded { text: String::new(), map: SourceMap::empty(size(start)), broken: false }
    }

    fn copy(&mut self, text: &str, start: usize) {
        self.text.push_str(text);
        self.map.push(span(start, start + text.len()), TextSize::of(text));
    }

    fn replace(&mut self, c: char, start: usize, end: usize) {
        self.text.push(c);
        self.map.push(span(start, end), TextSize::of(c));
    }

    fn breaks(&mut self, breaks: &[Break]) {
        for b in breaks {
            self.replace(b.c, b.start, b.end);
        }
    }

    fn finish(self, style: ScalarStyle) -> RawScalar {
        RawScalar { text: self.text, style, map: self.map, broken: self.broken }
    }
}

impl Scanner<'_> {
    fn scalar(&mut self, decoded: Decoded, style: ScalarStyle, range: TextRange, column: usize) {
        self.tokens.push_back(Token { kind: TokenKind::Scalar(decoded.finish(style)), range, column });
    }

    pub(super) fn fetch_plain(&mut self) -> Scan<()> {
        self.save_simple_key()?;
        self.allow_simple_key = false;
        let (start, column) = (self.at, self.column);
        let mut spans_lines = false;
        let indent = self.indent + 1;
        let in_flow = !self.flow.is_empty();
        let mut decoded = Decoded::new(start);
        let mut end = start;
        // The blanks and breaks before the next word, kept back until there is one.
        let mut gap = Gap::None;
        loop {
            if self.peek() == '#' {
                break;
            }
            let word = self.plain_word_end(in_flow);
            if word == self.at {
                break;
            }
            self.allow_simple_key = false;
            match gap {
                Gap::None => {}
                Gap::Spaces(start, end) => decoded.copy(self.text.get(start..end).unwrap_or_default(), start),
                Gap::Fold(ref folded) => {
                    spans_lines = true;
                    folded.decode(&mut decoded, self.at);
                }
            }
            let word_start = self.at;
            decoded.copy(self.forward_to(word), word_start);
            end = self.at;
            gap = self.plain_gap();
            if matches!(gap, Gap::None) || self.peek() == '#' || (!in_flow && (self.column as isize) < indent) {
                break;
            }
        }
        if spans_lines {
            self.last_long_plain = Some((start, end));
        }
        self.scalar(decoded, ScalarStyle::Plain, span(start, end), column);
        Ok(())
    }

    /// Where the word of a plain scalar at the current offset ends.
    fn plain_word_end(&self, in_flow: bool) -> usize {
        let bytes = self.text.as_bytes();
        let mut at = self.at;
        while let Some(&b) = bytes.get(at) {
            let ends = match b {
                b' ' | b'\t' | b'\n' | b'\r' => true,
                b':' => {
                    let next = self.char_at(at + 1);
                    is_blank(next) || (in_flow && matches!(next, ',' | '[' | ']' | '{' | '}'))
                }
                b',' | b'?' | b'[' | b']' | b'{' | b'}' => in_flow,
                // The lead bytes of U+0085 and of U+2028 and U+2029.
                0xc2 | 0xe2 => is_break(self.char_at(at)),
                _ => false,
            };
            if ends {
                break;
            }
            at += 1;
        }
        at
    }

    fn plain_gap(&mut self) -> Gap {
        let start = self.at;
        self.skip_spaces();
        if !is_break(self.peek()) || self.is_end() {
            return if self.at > start { Gap::Spaces(start, self.at) } else { Gap::None };
        }
        let Some(first) = self.line_break() else { return Gap::None };
        self.allow_simple_key = true;
        if self.is_document_marker() {
            return Gap::None;
        }
        let mut more = Vec::new();
        loop {
            self.skip_spaces();
            match self.line_break() {
                Some(b) => more.push(b),
                None => break,
            }
            if self.is_document_marker() {
                return Gap::None;
            }
        }
        Gap::Fold(Fold { start, first, more })
    }

    pub(super) fn fetch_quoted(&mut self, quote: char) -> Scan<()> {
        self.save_simple_key()?;
        self.allow_simple_key = false;
        let (start, column, line) = (self.at, self.column, self.line);
        self.forward();
        let mut decoded = Decoded::new(self.at);
        loop {
            self.quoted_word(quote, &mut decoded, start)?;
            if self.peek() == quote {
                break;
            }
            let gap = self.at;
            let end = self.find(|c| !matches!(c, ' ' | '\t'));
            let blanks = self.forward_to(end);
            if self.is_end() {
                return Err(Refusal {
                    range: span(start, start + 1),
                    at: self.at,
                    construct: Some(start),
                    flow: None,
                    is_limit: false,
                    message: format!("the text that this `{quote}` opens is never closed"),
                    help: Some("close the quote"),
                });
            }
            match self.line_break() {
                Some(first) => {
                    let more = self.quoted_breaks(start)?;
                    Fold { start: gap, first, more }.decode(&mut decoded, self.at);
                }
                None if blanks.is_empty() => {
                    // Only a NUL, which callers take out first, is neither part of a word nor a blank.
                    self.forward();
                    decoded.replace('\u{fffd}', gap, self.at);
                }
                None => decoded.copy(blanks, gap),
            }
        }
        self.forward();
        if self.line > line {
            self.last_long_quote = Some((start, self.at));
        }
        let style = if quote == '"' { ScalarStyle::DoubleQuoted } else { ScalarStyle::SingleQuoted };
        self.scalar(decoded, style, span(start, self.at), column);
        Ok(())
    }

    /// Everything up to a blank, a line break, the closing quote or the end.
    fn quoted_word(&mut self, quote: char, decoded: &mut Decoded, start: usize) -> Scan<()> {
        loop {
            let word = self.at;
            let end = self.find(|c| matches!(c, '\'' | '"' | '\\') || is_blank(c));
            decoded.copy(self.forward_to(end), word);
            match (self.peek(), quote) {
                ('\'', '\'') if self.peek_second() == '\'' => {
                    self.forward();
                    self.forward();
                    decoded.replace('\'', self.at - 2, self.at);
                }
                ('\'', '"') | ('"' | '\\', '\'') => {
                    let at = self.at;
                    decoded.replace(self.peek(), at, at + 1);
                    self.forward();
                }
                ('\\', '"') => self.escape(decoded, start)?,
                _ => return Ok(()),
            }
        }
    }

    fn escape(&mut self, decoded: &mut Decoded, quote: usize) -> Scan<()> {
        let start = self.at;
        self.forward();
        let c = self.peek();
        let replacement = match c {
            '0' if !self.is_end() => '\0',
            'a' => '\x07',
            'b' => '\x08',
            't' | '\t' => '\t',
            'n' => '\n',
            'v' => '\x0b',
            'f' => '\x0c',
            'r' => '\r',
            'e' => '\x1b',
            ' ' | '"' | '\\' | '/' => c,
            'N' => '\u{85}',
            '_' => '\u{a0}',
            'L' => '\u{2028}',
            'P' => '\u{2029}',
            'x' => return self.numeric_escape(2, decoded, start),
            'u' => return self.numeric_escape(4, decoded, start),
            'U' => return self.numeric_escape(8, decoded, start),
            c if is_break(c) => {
                self.line_break();
                let more = self.quoted_breaks(quote)?;
                decoded.breaks(&more);
                return Ok(());
            }
            // The quote that the end interrupts has a refusal of its own.
            _ if self.is_end() => return Ok(()),
            _ => {
                self.forward();
                let message = format!("`\\{c}` is not an escape of YAML");
                self.fault(decoded, start, message, Some("write `\\\\` for a backslash"));
                return Ok(());
            }
        };
        self.forward();
        decoded.replace(replacement, start, self.at);
        Ok(())
    }

    fn numeric_escape(&mut self, digits: usize, decoded: &mut Decoded, start: usize) -> Scan<()> {
        let letter = self.peek();
        self.forward();
        let rest = self.text.as_bytes().get(self.at..).unwrap_or_default();
        let found = rest.iter().take(digits).take_while(|b| b.is_ascii_hexdigit()).count();
        let text = self.forward_to(self.at + found);
        if found < digits {
            let message = format!("the escape `\\{letter}` needs {digits} hexadecimal digits, and {found} follow");
            self.fault(decoded, start, message, None);
            return Ok(());
        }
        match u32::from_str_radix(text, 16).ok().and_then(char::from_u32) {
            Some(c) => decoded.replace(c, start, self.at),
            None => self.fault(decoded, start, format!("the escape `\\{letter}{text}` is not a character"), None),
        }
        Ok(())
    }

    /// Records a fault inside a scalar that goes on.
    fn fault(&mut self, decoded: &mut Decoded, start: usize, message: String, help: Option<&'static str>) {
        decoded.broken = true;
        decoded.replace('\u{fffd}', start, self.at);
        self.faults.push(Refusal {
            range: span(start, self.at),
            at: self.at,
            construct: None,
            flow: None,
            is_limit: false,
            message,
            help,
        });
    }

    /// The further line breaks behind one inside a quoted scalar, and the indentation behind the last.
    fn quoted_breaks(&mut self, quote: usize) -> Scan<Vec<Break>> {
        let mut breaks = Vec::new();
        loop {
            if self.is_document_marker() {
                return self.refuse_open_quote(quote);
            }
            let end = self.find(|c| !matches!(c, ' ' | '\t'));
            self.forward_to(end);
            match self.line_break() {
                Some(b) => breaks.push(b),
                None => return Ok(breaks),
            }
        }
    }

    pub(super) fn fetch_block_scalar(&mut self, folded: bool) -> Scan<()> {
        self.allow_simple_key = true;
        self.remove_simple_key()?;
        let (start, column) = (self.at, self.column);
        self.forward();
        let (chomping, increment) = self.block_header(start)?;
        let header_end = self.at;
        self.skip_spaces();
        self.skip_comment();
        if !is_break_or_end(self.peek()) {
            let (_, range) = self.rest_of_line(self.at);
            let help = "the text of a block scalar starts on the line below";
            return self.refuse(range, "only a comment may follow the `|` or `>` of a block scalar", Some(help));
        }
        self.line_break();

        let min_indent = (self.indent + 1).max(1) as usize;
        let mut breaks = Vec::new();
        let indent = match increment {
            Some(increment) => {
                let indent = min_indent + increment - 1;
                self.block_breaks(indent, &mut breaks);
                indent
            }
            None => {
                let mut deepest = 0;
                loop {
                    self.skip_spaces();
                    deepest = deepest.max(self.column);
                    match self.line_break() {
                        Some(b) => breaks.push(b),
                        None => break,
                    }
                }
                min_indent.max(deepest)
            }
        };

        let mut decoded = Decoded::new(self.at);
        let mut end = header_end;
        let mut last_break = None;
        while self.column == indent && !self.is_end() {
            decoded.breaks(&breaks);
            breaks.clear();
            let starts_with_blank = matches!(self.peek(), ' ' | '\t');
            let line = self.at;
            let line_end = self.find(is_break);
            decoded.copy(self.forward_to(line_end), line);
            end = self.at;
            last_break = self.line_break();
            self.block_breaks(indent, &mut breaks);
            let Some(b) = last_break else { break };
            if self.column != indent || self.is_end() {
                break;
            }
            last_break = None;
            if folded && b.c == '\n' && !starts_with_blank && !matches!(self.peek(), ' ' | '\t') {
                if breaks.is_empty() {
                    decoded.replace(' ', b.start, self.at);
                }
            } else {
                decoded.replace(b.c, b.start, b.end);
            }
        }
        if chomping != Some('-')
            && let Some(b) = last_break
        {
            decoded.replace(b.c, b.start, b.end);
            end = b.end;
        }
        if chomping == Some('+') {
            decoded.breaks(&breaks);
            end = breaks.last().map_or(end, |b| b.end);
        }
        let style = if folded { ScalarStyle::Folded } else { ScalarStyle::Literal };
        self.scalar(decoded, style, span(start, end), column);
        Ok(())
    }

    /// The chomping and indentation indicators, in either order.
    fn block_header(&mut self, start: usize) -> Scan<(Option<char>, Option<usize>)> {
        let (mut chomping, mut increment) = (None, None);
        loop {
            match self.peek() {
                c @ ('+' | '-') if chomping.is_none() => chomping = Some(c),
                c @ '1'..='9' if increment.is_none() => increment = Some(c as usize - '0' as usize),
                ' ' => break,
                c if is_break_or_end(c) => break,
                _ => {
                    let end = self.find(is_blank);
                    return self.refuse(
                        span(start, end),
                        "a block scalar's `|` or `>` is followed by `+` or `-` and a digit from 1 to 9, or nothing",
                        Some("the text of a block scalar starts on the line below; write a short text in quotes"),
                    );
                }
            }
            self.forward();
        }
        Ok((chomping, increment))
    }

    /// Passes blank lines and the indentation, up to `indent`, of the line behind them.
    fn block_breaks(&mut self, indent: usize, breaks: &mut Vec<Break>) {
        loop {
            while self.column < indent && self.peek() == ' ' {
                self.forward();
            }
            match self.line_break() {
                Some(b) => breaks.push(b),
                None => break,
            }
        }
    }
}

/// What stands between two words of a plain scalar.
enum Gap {
    None,
    Spaces(usize, usize),
    Fold(Fold),
}

/// A folded line end: the blanks from `start`, the first break, and further ones.
struct Fold {
    start: usize,
    first: Break,
    more: Vec<Break>,
}

impl Fold {
    /// One break folds to a space, each further one stays. `end` is where the next word starts.
    fn decode(&self, decoded: &mut Decoded, end: usize) {
        if self.first.c != '\n' {
            decoded.replace(self.first.c, self.first.start, self.first.end);
        } else if self.more.is_empty() {
            decoded.replace(' ', self.start, end);
        }
        decoded.breaks(&self.more);
    }
}
