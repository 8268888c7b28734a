//! Text to tokens. Every character of the text is in a token, in white space, or in a problem.

use crate::defect::Code;
use crate::defect::codes::REFUSED_FORM;
use crate::text::{TextRange, TextSize};

use super::problem::{Problem, Problems, excerpt};

/// What a token is. Operators that other languages spell differently have kinds of their own, so that the parser can
/// say what to write and go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TokenKind {
    Name,
    Int,
    Float,
    String,
    // Keywords of the language.
    And,
    Or,
    Not,
    In,
    If,
    Else,
    For,
    True,
    False,
    None,
    // Keywords of Python that are outside it.
    Is,
    Lambda,
    Reserved,
    // Operators of the language.
    Plus,
    Minus,
    Star,
    DoubleSlash,
    Percent,
    EqEq,
    NotEq,
    Lt,
    Le,
    Gt,
    Ge,
    // Punctuation of the language.
    LParen,
    RParen,
    LBracket,
    RBracket,
    Comma,
    Colon,
    Dot,
    Assign,
    // `|` and `...` are in the language of types only.
    Pipe,
    Ellipsis,
    // Operators and punctuation of other languages.
    LBrace,
    RBrace,
    Slash,
    DoubleStar,
    Amp,
    Caret,
    Tilde,
    Shl,
    Shr,
    At,
    Walrus,
    Augmented,
    AmpAmp,
    PipePipe,
    Bang,
    LtGt,
    EqEqEq,
    NotEqEq,
    Reversed,
    Question,
    Arrow,
    Semicolon,
    /// A word, a number or a string that cannot be read; its problem has been reported.
    BadOperand,
    /// Characters that mean nothing; their problem has been reported.
    BadCharacter,
    End,
}

/// A token and its place in the decoded text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Token {
    pub(super) kind: TokenKind,
    pub(super) range: TextRange,
}

/// A text in tokens.
#[derive(Debug)]
pub(super) struct Lexed {
    /// The tokens; the last is [`TokenKind::End`].
    pub(super) tokens: Vec<Token>,
    /// Whether an unterminated string swallowed the rest: closing brackets may be in it.
    pub(super) cut_short: bool,
}

/// What is being read: it decides the code and the words of defects about its form.
#[derive(Debug, Clone, Copy)]
pub(super) struct Form {
    pub(super) code: &'static Code,
    pub(super) noun: &'static str,
}

/// Longest first, so that the first that matches is the one.
const OPERATORS: &[(&str, TokenKind)] = &[
    ("...", TokenKind::Ellipsis),
    ("**=", TokenKind::Augmented),
    ("//=", TokenKind::Augmented),
    ("<<=", TokenKind::Augmented),
    (">>=", TokenKind::Augmented),
    ("===", TokenKind::EqEqEq),
    ("!==", TokenKind::NotEqEq),
    ("//", TokenKind::DoubleSlash),
    ("**", TokenKind::DoubleStar),
    ("==", TokenKind::EqEq),
    ("!=", TokenKind::NotEq),
    ("<=", TokenKind::Le),
    (">=", TokenKind::Ge),
    ("<>", TokenKind::LtGt),
    ("<<", TokenKind::Shl),
    (">>", TokenKind::Shr),
    (":=", TokenKind::Walrus),
    ("->", TokenKind::Arrow),
    ("=>", TokenKind::Reversed),
    ("=<", TokenKind::Reversed),
    ("+=", TokenKind::Augmented),
    ("-=", TokenKind::Augmented),
    ("*=", TokenKind::Augmented),
    ("/=", TokenKind::Augmented),
    ("%=", TokenKind::Augmented),
    ("&=", TokenKind::Augmented),
    ("|=", TokenKind::Augmented),
    ("^=", TokenKind::Augmented),
    ("@=", TokenKind::Augmented),
    ("&&", TokenKind::AmpAmp),
    ("||", TokenKind::PipePipe),
    ("+", TokenKind::Plus),
    ("-", TokenKind::Minus),
    ("*", TokenKind::Star),
    ("%", TokenKind::Percent),
    ("<", TokenKind::Lt),
    (">", TokenKind::Gt),
    ("(", TokenKind::LParen),
    (")", TokenKind::RParen),
    ("[", TokenKind::LBracket),
    ("]", TokenKind::RBracket),
    ("{", TokenKind::LBrace),
    ("}", TokenKind::RBrace),
    (",", TokenKind::Comma),
    (":", TokenKind::Colon),
    (".", TokenKind::Dot),
    ("=", TokenKind::Assign),
    ("|", TokenKind::Pipe),
    ("/", TokenKind::Slash),
    ("&", TokenKind::Amp),
    ("^", TokenKind::Caret),
    ("~", TokenKind::Tilde),
    ("@", TokenKind::At),
    ("!", TokenKind::Bang),
    ("?", TokenKind::Question),
    (";", TokenKind::Semicolon),
];

/// Characters that look like an operator of the language, with that operator.
const LOOKALIKES: &[(char, &str, TokenKind)] = &[
    ('×', "*", TokenKind::Star),
    ('·', "*", TokenKind::Star),
    ('⋅', "*", TokenKind::Star),
    ('∗', "*", TokenKind::Star),
    ('−', "-", TokenKind::Minus),
    ('–', "-", TokenKind::Minus),
    ('—', "-", TokenKind::Minus),
    ('÷', "//", TokenKind::DoubleSlash),
    ('≤', "<=", TokenKind::Le),
    ('≥', ">=", TokenKind::Ge),
    ('≠', "!=", TokenKind::NotEq),
    ('∧', "and", TokenKind::And),
    ('∨', "or", TokenKind::Or),
    ('¬', "not", TokenKind::Not),
    ('∈', "in", TokenKind::In),
    ('∉', "not in", TokenKind::BadCharacter),
    ('∞', "inf", TokenKind::BadOperand),
];

/// The keywords of the language.
const KEYWORDS: &[(&str, TokenKind)] = &[
    ("and", TokenKind::And),
    ("or", TokenKind::Or),
    ("not", TokenKind::Not),
    ("in", TokenKind::In),
    ("if", TokenKind::If),
    ("else", TokenKind::Else),
    ("for", TokenKind::For),
];

/// The words that stand for a value.
const CONSTANTS: &[(&str, TokenKind)] =
    &[("True", TokenKind::True), ("False", TokenKind::False), ("None", TokenKind::None)];

/// The keywords of the language: `and`, `if`.
pub fn keywords() -> impl Iterator<Item = &'static str> {
    KEYWORDS.iter().map(|&(word, _)| word)
}

/// The words that stand for a value: `True`.
pub fn constants() -> impl Iterator<Item = &'static str> {
    CONSTANTS.iter().map(|&(word, _)| word)
}

/// The keyword that `word` is.
fn keyword(word: &str) -> Option<TokenKind> {
    let declared = KEYWORDS.iter().chain(CONSTANTS).find(|&&(name, _)| name == word);
    declared.map(|&(_, kind)| kind).or(match word {
        "is" => Some(TokenKind::Is),
        "lambda" => Some(TokenKind::Lambda),
        "as" | "assert" | "async" | "await" | "break" | "class" | "continue" | "def" | "del" | "elif" | "except"
        | "finally" | "from" | "global" | "import" | "nonlocal" | "pass" | "raise" | "return" | "try" | "while"
        | "with" | "yield" => Some(TokenKind::Reserved),
        _ => None,
    })
}

/// Reads `text`, which is shorter than 4 GiB, as tokens.
pub(super) fn lex(text: &str, form: Form, problems: &mut Problems) -> Lexed {
    let mut lexer = Lexer { text, form, at: 0, tokens: Vec::new(), problems, cut_short: false };
    while let Some(c) = lexer.peek() {
        lexer.token(c);
    }
    let end = lexer.tokens.last().map_or(TextSize::new(0), |t| t.range.end());
    lexer.tokens.push(Token { kind: TokenKind::End, range: TextRange::empty(end) });
    Lexed { tokens: lexer.tokens, cut_short: lexer.cut_short }
}

struct Lexer<'a> {
    text: &'a str,
    form: Form,
    at: usize,
    tokens: Vec<Token>,
    problems: &'a mut Problems,
    cut_short: bool,
}

impl<'a> Lexer<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn nth(&self, n: usize) -> Option<char> {
        self.rest().chars().nth(n)
    }

    fn skip_while(&mut self, accept: impl Fn(char) -> bool) {
        let rest = self.rest();
        self.at += rest.find(|c| !accept(c)).unwrap_or(rest.len());
    }

    fn range_from(&self, start: usize) -> TextRange {
        // A text that is lexed is shorter than 4 GiB, so every offset fits.
        TextRange::new(TextSize::new(start as u32), TextSize::new(self.at as u32))
    }

    fn push(&mut self, kind: TokenKind, start: usize) {
        let range = self.range_from(start);
        self.tokens.push(Token { kind, range });
    }

    fn syntax(&mut self, start: usize, message: impl Into<String>) -> &mut Problem {
        let range = self.range_from(start);
        self.problems.report(self.form.code, range, excerpt(&self.text[start..self.at]), message)
    }

    fn refused(&mut self, start: usize, message: impl Into<String>) -> &mut Problem {
        let range = self.range_from(start);
        self.problems.report(&REFUSED_FORM, range, excerpt(&self.text[start..self.at]), message)
    }

    fn token(&mut self, c: char) {
        let start = self.at;
        match c {
            ' ' | '\t' | '\n' | '\r' | '\u{c}' => self.skip_while(|c| matches!(c, ' ' | '\t' | '\n' | '\r' | '\u{c}')),
            '\\' if matches!(self.nth(1), Some('\n' | '\r')) => self.at += 2,
            '#' => self.comment(),
            '\'' | '"' => {
                self.string(start, false);
            }
            '0'..='9' => self.number(),
            '.' if self.nth(1).is_some_and(|c| c.is_ascii_digit()) => self.number(),
            _ if c == '_' || c.is_alphanumeric() => self.word(),
            _ => {
                let operator = OPERATORS.iter().find(|(text, _)| self.rest().starts_with(text));
                if let Some(&(text, kind)) = operator {
                    self.at += text.len();
                    self.push(kind, start);
                } else {
                    self.stray(c);
                }
            }
        }
    }

    fn comment(&mut self) {
        let start = self.at;
        self.skip_while(|c| !matches!(c, '\n' | '\r'));
        self.refused(start, format!("the {} has a comment in it, which is outside the language", self.form.noun))
            .help("write the comment in the YAML around it");
    }

    fn word(&mut self) {
        let start = self.at;
        self.skip_while(|c| c == '_' || c.is_alphanumeric());
        let word = &self.text[start..self.at];
        if matches!(self.peek(), Some('\'' | '"')) && is_string_prefix(word) {
            return self.prefixed_string(start, word);
        }
        if !word.is_ascii() {
            let message = format!("`{}` is not a name", excerpt(word));
            self.syntax(start, message).help("a name is made of the letters `A` to `Z` and `a` to `z`, digits and `_`");
            return self.push(TokenKind::BadOperand, start);
        }
        self.push(keyword(word).unwrap_or(TokenKind::Name), start);
    }

    fn number(&mut self) {
        let start = self.at;
        let digits = |c: char| c.is_ascii_digit() || c == '_';
        let mut kind = TokenKind::Int;
        let radix = match (self.peek(), self.nth(1)) {
            (Some('0'), Some('x' | 'X')) => Some(16),
            (Some('0'), Some('o' | 'O')) => Some(8),
            (Some('0'), Some('b' | 'B')) => Some(2),
            _ => None,
        };
        if let Some(radix) = radix {
            self.at += 2;
            self.skip_while(|c| c.is_digit(radix) || c == '_');
        } else {
            self.skip_while(digits);
            if self.peek() == Some('.') {
                kind = TokenKind::Float;
                self.at += 1;
                if self.peek() != Some('_') {
                    self.skip_while(digits);
                }
            }
            let exponent = match (self.peek(), self.nth(1), self.nth(2)) {
                (Some('e' | 'E'), Some('0'..='9'), _) => 1,
                (Some('e' | 'E'), Some('+' | '-'), Some('0'..='9')) => 2,
                _ => 0,
            };
            if exponent > 0 {
                kind = TokenKind::Float;
                self.at += exponent;
                self.skip_while(digits);
            }
        }
        let end = self.at;
        let number = &self.text[start..end];
        self.skip_while(|c| c == '_' || c.is_alphanumeric());
        let suffix = &self.text[end..self.at];
        if let Some(keyword) = keyword(suffix) {
            let after = format!("a space is missing between `{number}` and `{suffix}`");
            self.syntax(start, after);
            self.at = end;
            self.push(kind, start);
            self.at = end + suffix.len();
            return self.push(keyword, end);
        }
        let whole = excerpt(&self.text[start..self.at]);
        if matches!(suffix, "j" | "J") {
            self.refused(start, format!("`{whole}` is a complex number, and the language has none"));
            return self.push(TokenKind::BadOperand, start);
        }
        if suffix.is_empty()
            && let Ok(()) = check_number(number, radix, kind)
        {
            return self.push(kind, start);
        }
        let problem = check_number(number, radix, kind);
        let defect = self.syntax(start, format!("`{whole}` is not a number"));
        match problem {
            Err(help) => defect.help(help),
            Ok(()) if suffix.starts_with(|c: char| c.is_ascii_alphabetic()) => defect
                .help(format!("a product is written `{number} * {suffix}`"))
                .instead(format!("{number} * {suffix}")),
            Ok(()) => defect,
        };
        self.push(TokenKind::BadOperand, start);
    }

    /// A string whose opening quote comes next. `start` is where its token starts.
    fn string(&mut self, start: usize, raw: bool) -> bool {
        let rest = self.rest();
        let quote = if rest.starts_with('"') { '"' } else { '\'' };
        let triple = if quote == '"' { "\"\"\"" } else { "'''" };
        if rest.starts_with(triple) {
            self.at += 3;
            let rest = self.rest();
            match rest.find(triple) {
                Some(length) => self.at += length + 3,
                None => {
                    self.at = self.text.len();
                    self.cut_short = true;
                }
            }
            let message = format!("a string in {triple} is outside the language");
            self.refused(start, message).help(format!("write the string between two {quote}"));
            self.push(TokenKind::BadOperand, start);
            return false;
        }
        self.at += 1;
        loop {
            match self.peek() {
                Some(c) if c == quote => {
                    self.at += 1;
                    break;
                }
                Some('\\') => {
                    self.at += 1;
                    if let Some(escaped) = self.peek() {
                        self.at += escaped.len_utf8();
                        if escaped == '\r' && self.peek() == Some('\n') {
                            self.at += 1;
                        }
                    }
                }
                None | Some('\n' | '\r') => {
                    self.cut_short = true;
                    let message = format!("the string that starts here has no closing {quote}");
                    self.syntax(start, message);
                    self.push(TokenKind::BadOperand, start);
                    return false;
                }
                Some(c) => self.at += c.len_utf8(),
            }
        }
        if !raw {
            self.push(TokenKind::String, start);
        }
        true
    }

    fn prefixed_string(&mut self, start: usize, prefix: &str) {
        if !self.string(start, true) {
            return;
        }
        let what = match prefix.to_ascii_lowercase().as_str() {
            p if p.contains('f') => "a formatted string",
            p if p.contains('b') => "a bytes literal",
            "r" => "a raw string",
            _ => "a string with a prefix",
        };
        let text = &self.text[start + prefix.len()..self.at];
        let help = format!("write it as a plain string, `{}`", excerpt(text));
        let plain = (!prefix.contains(['f', 'F'])).then(|| text.to_owned());
        let problem = self.refused(start, format!("{what} is outside the language")).help(help);
        if let Some(plain) = plain {
            problem.instead(plain);
        }
        self.push(TokenKind::BadOperand, start);
    }

    /// A character that starts no token.
    fn stray(&mut self, c: char) {
        let start = self.at;
        if let Some(&(_, operator, kind)) = LOOKALIKES.iter().find(|(like, ..)| *like == c) {
            self.at += c.len_utf8();
            self.syntax(start, format!("`{c}` is not an operator"))
                .help(format!("write `{operator}`"))
                .instead(operator);
            return self.push(kind, start);
        }
        if let Some(close) = match c {
            '‘' | '’' | '‚' | '‛' => Some(['‘', '’', '’']),
            '“' | '”' | '„' | '«' => Some(['“', '”', '»']),
            _ => None,
        } {
            self.at += c.len_utf8();
            self.skip_while(|c| !close.contains(&c) && !matches!(c, '\n' | '\r'));
            match self.peek() {
                Some(c) if close.contains(&c) => self.at += c.len_utf8(),
                _ => self.cut_short = true,
            }
            self.syntax(start, format!("`{c}` does not quote a string")).help("write the string between two '");
            return self.push(TokenKind::BadOperand, start);
        }
        if c.is_whitespace() || matches!(c, '\u{feff}' | '\u{200b}'..='\u{200f}' | '\u{2060}') {
            self.at += c.len_utf8();
            self.skip_while(|next| next == c);
            let message = format!("the character U+{:04X} is not a space here", u32::from(c));
            self.syntax(start, message).help("write a plain space").instead(" ");
            return;
        }
        let stray = |c: char| {
            !c.is_ascii_graphic()
                && !c.is_whitespace()
                && !c.is_alphanumeric()
                && !matches!(
                    c,
                    '‘' | '’' | '‚' | '‛' | '“' | '”' | '„' | '«' | '\u{feff}' | '\u{200b}'..='\u{200f}' | '\u{2060}'
                )
                && !LOOKALIKES.iter().any(|(like, ..)| *like == c)
                || matches!(c, '$' | '`')
        };
        self.at += c.len_utf8();
        self.skip_while(stray);
        let text = &self.text[start..self.at];
        let shown = if text.chars().all(|c| !c.is_control() && c != '`') {
            format!("`{}`", excerpt(text))
        } else if text == "`" {
            "a backquote".to_owned()
        } else {
            format!("the character U+{:04X}", u32::from(c))
        };
        self.syntax(start, format!("{shown} means nothing here"));
        self.push(TokenKind::BadCharacter, start);
    }
}

fn is_string_prefix(word: &str) -> bool {
    word.len() <= 2 && matches!(word.to_ascii_lowercase().as_str(), "r" | "u" | "b" | "f" | "br" | "rb" | "fr" | "rf")
}

/// Whether `number` is one of Python's; otherwise what to write.
fn check_number(number: &str, radix: Option<u32>, kind: TokenKind) -> Result<(), String> {
    let misplaced = |digits: &str| digits.is_empty() || digits.ends_with('_') || digits.contains("__");
    match radix {
        Some(_) if misplaced(&number[2..]) => Err("digits are missing".to_owned()),
        Some(_) => Ok(()),
        None if kind == TokenKind::Int => {
            let value = number.trim_start_matches(['0', '_']);
            if misplaced(number) {
                Err("a `_` stands between two digits".to_owned())
            } else if number.len() > 1 && number.starts_with('0') && !value.is_empty() {
                Err(format!("write `{value}`; a number does not start with 0"))
            } else {
                Ok(())
            }
        }
        None => {
            let parts = number.split(['.', 'e', 'E', '+', '-']).filter(|part| !part.is_empty());
            if parts.into_iter().any(|part| part.starts_with('_') || misplaced(part)) {
                Err("a `_` stands between two digits".to_owned())
            } else {
                Ok(())
            }
        }
    }
}

/// The value of an integer's token; `None` where it does not fit 128 bits.
pub(super) fn int_value(text: &str) -> Option<i128> {
    let digits: String = text.chars().filter(|&c| c != '_').collect();
    let (radix, digits) = match digits.get(..2) {
        Some("0x" | "0X") => (16, &digits[2..]),
        Some("0o" | "0O") => (8, &digits[2..]),
        Some("0b" | "0B") => (2, &digits[2..]),
        _ => (10, digits.as_str()),
    };
    i128::from_str_radix(digits, radix).ok()
}

/// The value of a float's token; `None` where it is not finite.
pub(super) fn float_value(text: &str) -> Option<f64> {
    let digits: String = text.chars().filter(|&c| c != '_').collect();
    digits.parse().ok().filter(|value: &f64| value.is_finite())
}

/// An escape that a string cannot have: its place in the token, and what to say.
pub(super) type BadEscape = (std::ops::Range<usize>, &'static str);

/// The value of a string's token. An escape that cannot be read is left out and returned.
pub(super) fn string_value(token: &str) -> (String, Vec<BadEscape>) {
    let inside = token.get(1..token.len().saturating_sub(1)).unwrap_or("");
    let mut value = String::with_capacity(inside.len());
    let mut bad = Vec::new();
    let mut chars = inside.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        if c != '\\' {
            value.push(c);
            continue;
        }
        let Some((_, escaped)) = chars.next() else { break };
        let mut code = |radix: u32, most: usize, first: Option<char>| {
            let mut digits: String = first.into_iter().collect();
            while digits.len() < most
                && let Some(&(_, c)) = chars.peek()
                && c.is_digit(radix)
            {
                digits.push(c);
                chars.next();
            }
            (digits.len(), u32::from_str_radix(&digits, radix).ok().and_then(char::from_u32))
        };
        let decoded = match escaped {
            '\n' => continue,
            '\r' => {
                chars.next_if(|&(_, c)| c == '\n');
                continue;
            }
            '\\' | '\'' | '"' => Ok(escaped),
            'a' => Ok('\u{7}'),
            'b' => Ok('\u{8}'),
            'f' => Ok('\u{c}'),
            'n' => Ok('\n'),
            'r' => Ok('\r'),
            't' => Ok('\t'),
            'v' => Ok('\u{b}'),
            '0'..='7' => code(8, 3, Some(escaped)).1.ok_or("is not a character"),
            'x' | 'u' | 'U' => {
                let wanted = match escaped {
                    'x' => 2,
                    'u' => 4,
                    _ => 8,
                };
                match code(16, wanted, None) {
                    (length, _) if length < wanted => Err("has too few hexadecimal digits"),
                    (_, Some(c)) => Ok(c),
                    (_, None) => Err("is not a character"),
                }
            }
            _ => Err("is not an escape"),
        };
        match decoded {
            Ok(c) => value.push(c),
            Err(why) => {
                let end = chars.peek().map_or(inside.len(), |&(next, _)| next);
                bad.push((at + 1..end + 1, why));
            }
        }
    }
    (value, bad)
}
