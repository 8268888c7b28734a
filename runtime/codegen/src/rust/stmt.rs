//! Statements of Rust, laid out as rustfmt does with this workspace's settings.

use std::collections::BTreeSet;

use crate::layout::{Doc, flat, write_line};

/// The longest line, where a line can be broken at all.
pub(crate) const WIDTH: usize = 120;

/// One statement.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Stmt {
    /// An expression statement, or the value of a block; with its semicolon, if it has one.
    Expr(Doc),
    /// `let names = value;`
    Let(Vec<String>, Doc),
    /// Conditions, each with its body, the last of them without one perhaps. What the bodies end in is bound to the names;
    /// no name, and it is the value of the block.
    If(Vec<(Option<Doc>, Vec<Stmt>)>, Option<Vec<String>>),
}

impl Stmt {
    /// An expression statement that is not broken.
    pub(crate) fn line(text: impl Into<String>) -> Stmt {
        Stmt::Expr(Doc::text(text))
    }

    /// `let name = value;`
    pub(crate) fn bind(name: &str, value: Doc) -> Stmt {
        Stmt::Let(vec![name.to_owned()], value)
    }

    /// The names that are bound behind it.
    pub(crate) fn defines(&self) -> &[String] {
        match self {
            Stmt::Let(names, _) | Stmt::If(_, Some(names)) => names,
            Stmt::Expr(_) | Stmt::If(_, None) => &[],
        }
    }

    /// The identifiers that it reads, among others.
    pub(crate) fn reads(&self, words: &mut BTreeSet<String>) {
        match self {
            Stmt::Expr(doc) | Stmt::Let(_, doc) => identifiers(&flat(doc), words),
            Stmt::If(arms, _) => {
                for (condition, body) in arms {
                    if let Some(condition) = condition {
                        identifiers(&flat(condition), words);
                    }
                    body.iter().for_each(|statement| statement.reads(words));
                }
            }
        }
    }
}

/// The identifiers of code; what stands in string literals is none.
fn identifiers(text: &str, words: &mut BTreeSet<String>) {
    let mut word = String::new();
    let (mut quoted, mut escaped) = (false, false);
    for c in text.chars().chain([' ']) {
        match c {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            c if !quoted && (c.is_alphanumeric() || c == '_') => {
                word.push(c);
                continue;
            }
            _ => {}
        }
        if !word.is_empty() {
            words.insert(std::mem::take(&mut word));
        }
    }
}

/// The identifiers that the statements read, among others.
pub(crate) fn read_by(statements: &[Stmt]) -> BTreeSet<String> {
    let mut words = BTreeSet::new();
    statements.iter().for_each(|statement| statement.reads(&mut words));
    words
}

/// The identifiers that the statements read before they bind them.
pub(crate) fn free_in(statements: &[Stmt]) -> BTreeSet<String> {
    let mut free = BTreeSet::new();
    let mut bound: BTreeSet<&String> = BTreeSet::new();
    for statement in statements {
        let mut reads = BTreeSet::new();
        match statement {
            Stmt::If(arms, _) => {
                for (condition, body) in arms {
                    if let Some(condition) = condition {
                        identifiers(&flat(condition), &mut reads);
                    }
                    reads.extend(free_in(body));
                }
            }
            statement => statement.reads(&mut reads),
        }
        free.extend(reads.into_iter().filter(|name| !bound.contains(name)));
        bound.extend(statement.defines());
    }
    free
}

/// A name, or several as a tuple.
pub(crate) fn tuple(names: &[String]) -> String {
    match names {
        [one] => one.clone(),
        names => format!("({})", names.join(", ")),
    }
}

fn broken(doc: &Doc, indent: usize) -> String {
    let mut out = String::new();
    write_line(&mut out, doc, indent, WIDTH);
    out
}

/// Whether the text ends in a method's call with a `?` behind it.
fn ends_in_method(text: &str) -> bool {
    let Some(call) = text.strip_suffix(")?") else { return false };
    // The bracket that the last one closes; brackets in string literals are balanced where the manifest's are.
    let mut depth = 1_usize;
    let mut quoted = false;
    for (at, c) in call.char_indices().rev() {
        match c {
            '"' if !call.get(..at).unwrap_or_default().ends_with('\\') => quoted = !quoted,
            ')' if !quoted => depth += 1,
            '(' if !quoted => {
                depth -= 1;
                if depth == 0 {
                    let name = call.get(..at).unwrap_or_default();
                    let start = name.rfind(|c: char| !(c.is_alphanumeric() || c == '_'));
                    return start.is_some_and(|start| name.get(start..).is_some_and(|rest| rest.starts_with('.')));
                }
            }
            _ => {}
        }
    }
    false
}

/// Writes `prefix value suffix`: on a line, or the value on the next one, or broken, whichever rustfmt prefers.
pub(crate) fn write_assignment(out: &mut String, prefix: &str, value: &Doc, suffix: &str, indent: usize) {
    let whole = Doc::Cat(vec![Doc::text(prefix), Doc::text(" "), value.clone(), Doc::text(suffix)]);
    let here = broken(&whole, indent);
    let below = broken(&Doc::Cat(vec![value.clone(), Doc::text(suffix)]), indent + 4);
    let lines = |text: &str| text.lines().count();
    let fits = |text: &str| text.lines().all(|line| line.chars().count() <= WIDTH);
    // rustfmt counts the `?` behind a method's call twice, and the semicolon too where it stands on the first line.
    let text = flat(value);
    if ends_in_method(&text) && !here.trim_end().contains('\n') && here.trim_end().chars().count() > WIDTH - 2 {
        let below = broken(&Doc::Cat(vec![value.clone(), Doc::text(suffix)]), indent + 4);
        if below.trim_end().chars().count() <= WIDTH {
            out.push_str(&format!("{}{prefix}\n{below}", " ".repeat(indent)));
            return;
        }
    }
    // And more so where an argument is a closure.
    if ends_in_method(&text)
        && text.contains("|v| ")
        && lines(&here) > 1
        && below.trim_end().chars().count() >= WIDTH - 1
    {
        out.push_str(&here);
        return;
    }
    if ends_in_method(&text) && text.contains("? + ") && below.trim_end().chars().count() == WIDTH {
        out.push_str(&here);
        return;
    }
    let opens = |text: &str| text.lines().next().is_some_and(|line| line.ends_with(['(', '{', '[']));
    let next = lines(&here) > 1
        && fits(&below)
        && (lines(&below) == 1 || lines(&here) > lines(&below) + 1 || (opens(&here) && !opens(&below)));
    if next {
        out.push_str(&" ".repeat(indent));
        out.push_str(prefix);
        out.push('\n');
        out.push_str(&below);
    } else {
        out.push_str(&here);
    }
}

fn fits(doc: &Doc, indent: usize) -> bool {
    indent + flat(doc).chars().count() <= WIDTH
}

/// A conditional whose arms are expressions, as an expression.
fn inline(arms: &[(Option<Doc>, Vec<Stmt>)]) -> Option<Doc> {
    let [(Some(condition), then), (None, otherwise)] = arms else { return None };
    let ([Stmt::Expr(then)], [Stmt::Expr(otherwise)]) = (then.as_slice(), otherwise.as_slice()) else { return None };
    let block =
        |doc: &Doc| vec![Doc::text("{"), Doc::Indent(vec![Doc::Space, doc.clone()]), Doc::Space, Doc::text("}")];
    let mut docs = vec![Doc::text("if "), condition.clone(), Doc::text(" ")];
    docs.extend(block(then));
    docs.push(Doc::text(" else "));
    docs.extend(block(otherwise));
    Some(Doc::Group(docs))
}

/// Binds `value` to `name` behind `statements`. A local that was made for nothing else takes the name itself.
pub(crate) fn bind(statements: &mut Vec<Stmt>, name: &str, value: Doc, is_made: impl Fn(&str) -> bool) {
    let own = match &value {
        Doc::Text(text) => text.strip_suffix(".clone()").unwrap_or(text).to_owned(),
        _ => String::new(),
    };
    if is_made(&own)
        && let Some(Stmt::Let(names, _) | Stmt::If(_, Some(names))) = statements.last_mut()
        && *names == [own]
    {
        *names = vec![name.to_owned()];
        return;
    }
    statements.push(Stmt::bind(name, value));
}

/// Writes the statements of a block, each with `indent` columns before it.
pub(crate) fn write_statements(out: &mut String, statements: &[Stmt], indent: usize) {
    for statement in statements {
        match statement {
            Stmt::Expr(doc) => write_line(out, doc, indent, WIDTH),
            Stmt::Let(names, value) => write_assignment(out, &format!("let {} =", tuple(names)), value, ";", indent),
            Stmt::If(arms, Some(names))
                if !names.is_empty() && inline(arms).is_some_and(|value| fits(&value, indent + 5)) =>
            {
                if let Some(value) = inline(arms) {
                    write_assignment(out, &format!("let {} =", tuple(names)), &value, ";", indent);
                }
            }
            Stmt::If(arms, Some(names))
                if names.is_empty() && inline(arms).is_some_and(|value| fits(&value, indent)) =>
            {
                if let Some(value) = inline(arms) {
                    write_line(out, &value, indent, WIDTH);
                }
            }
            Stmt::If(arms, names) => {
                let margin = " ".repeat(indent);
                for (position, (condition, body)) in arms.iter().enumerate() {
                    let opening = match (position, names) {
                        (0, Some(names)) if !names.is_empty() => format!("let {} = if ", tuple(names)),
                        (0, _) => "if ".to_owned(),
                        (_, _) if condition.is_some() => "} else if ".to_owned(),
                        _ => "} else {".to_owned(),
                    };
                    match condition {
                        // What ends in a bracket of its own takes the brace behind it.
                        Some(condition) if flat(condition).starts_with("one_of(") => {
                            let header = Doc::Cat(vec![Doc::text(opening), condition.clone(), Doc::text(" {")]);
                            write_line(out, &header, indent, WIDTH);
                        }
                        Some(condition) => {
                            let header =
                                Doc::Group(vec![Doc::text(opening), condition.clone(), Doc::Space, Doc::text("{")]);
                            write_line(out, &header, indent, WIDTH);
                        }
                        None => {
                            out.push_str(&margin);
                            out.push_str(&opening);
                            out.push('\n');
                        }
                    }
                    // The nesting of blocks is that of the discriminants, which the analyzer bounds.
                    write_statements(out, body, indent + 4);
                }
                out.push_str(&margin);
                out.push_str(if names.as_ref().is_some_and(|names| !names.is_empty()) { "};\n" } else { "}\n" });
            }
        }
    }
}

/// `open`, the arguments with commas, `close`: on a line, or each argument on its own.
pub(crate) fn call(open: impl Into<String>, arguments: Vec<Doc>, close: &str) -> Doc {
    if arguments.is_empty() {
        return Doc::text(open.into() + close);
    }
    let mut inner = vec![Doc::Line];
    let count = arguments.len();
    for (position, argument) in arguments.into_iter().enumerate() {
        inner.push(argument);
        if position + 1 < count {
            inner.extend([Doc::text(","), Doc::Space]);
        }
    }
    inner.push(Doc::IfBroken(","));
    Doc::Group(vec![Doc::text(open), Doc::Indent(inner), Doc::Line, Doc::text(close)])
}

/// `open`, the body of a closure, `close`: an expression, or statements in a block.
pub(crate) fn call_with_block(open: Doc, body: Vec<Stmt>, close: &str) -> Doc {
    if let [Stmt::Expr(value)] = body.as_slice() {
        return Doc::Cat(vec![open, value.clone(), Doc::text(close)]);
    }
    let mut lines = Vec::new();
    for statement in body {
        lines.push(Doc::Break);
        let statement = match statement {
            Stmt::If(arms, Some(names)) => match inline(&arms) {
                Some(value) => Stmt::Let(names, value),
                None => Stmt::If(arms, Some(names)),
            },
            other => other,
        };
        match statement {
            Stmt::Expr(doc) => lines.push(doc),
            Stmt::Let(names, value) => {
                lines.extend([Doc::text(format!("let {} = ", tuple(&names))), value, Doc::text(";")]);
            }
            Stmt::If(arms, names) => {
                let names = names.unwrap_or_default();
                let mut opening = format!("let {} = if ", tuple(&names));
                for (condition, body) in arms {
                    match condition {
                        Some(condition) => lines.extend([Doc::text(opening), condition, Doc::text(" ")]),
                        None => lines.push(Doc::text(opening)),
                    }
                    lines.push(call_with_block(Doc::text("{"), body, "}"));
                    opening = " else ".to_owned();
                }
                lines.push(Doc::text(";"));
            }
        }
    }
    Doc::Cat(vec![open, Doc::text("{"), Doc::Indent(lines), Doc::Break, Doc::text(format!("}}{close}"))])
}

/// `text` as a string literal of Rust.
pub(crate) fn string(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            '"' => out.push_str("\\\""),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            _ if u32::from(c) < 0x20 || u32::from(c) == 0x7f => out.push_str(&format!("\\x{:02x}", u32::from(c))),
            _ => out.push(c),
        }
    }
    out.push('"');
    out
}
