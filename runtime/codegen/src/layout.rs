//! Texts laid out in lines.

/// A text that can be broken at some of its places.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Doc {
    /// Characters that stay together.
    Text(String),
    /// Nothing, or a line break.
    Line,
    /// A space, or a line break.
    Space,
    /// A line break.
    Break,
    /// Characters that stand only where the group is broken.
    IfBroken(&'static str),
    /// One after the other.
    Cat(Vec<Doc>),
    /// On one line where that fits; otherwise broken at each of its own places.
    Group(Vec<Doc>),
    /// A group in brackets, outside of any other: where it follows what is measured, that may end at its first break.
    Bracket(Vec<Doc>),
    /// Lines of it start four columns further right.
    Indent(Vec<Doc>),
}

impl Doc {
    /// `text` as it is.
    pub(crate) fn text(text: impl Into<String>) -> Doc {
        Doc::Text(text.into())
    }

    /// As [`Doc::list`], for a display of a tuple or a dict: its items never share a line of their own.
    pub(crate) fn display(open: impl Into<String>, items: Vec<Doc>, close: &str) -> Doc {
        match Doc::list(open, items, close) {
            Doc::Group(parts) => Doc::Group(
                parts
                    .into_iter()
                    .map(|part| match part {
                        Doc::Indent(inner) => Doc::Indent(
                            inner
                                .into_iter()
                                .map(|part| if let Doc::Group(items) = part { Doc::Cat(items) } else { part })
                                .collect(),
                        ),
                        other => other,
                    })
                    .collect(),
            ),
            other => other,
        }
    }

    /// `open`, the items with commas, `close`; the items go on a line of their own, or each on one, where they must.
    pub(crate) fn list(open: impl Into<String>, items: Vec<Doc>, close: &str) -> Doc {
        if items.is_empty() {
            return Doc::text(open.into() + close);
        }
        let mut inner = Vec::new();
        let count = items.len();
        for (position, item) in items.into_iter().enumerate() {
            inner.push(item);
            if position + 1 < count {
                inner.extend([Doc::text(","), Doc::Space]);
            }
        }
        inner.push(Doc::IfBroken(","));
        Doc::Group(vec![Doc::text(open), Doc::Indent(vec![Doc::Line, Doc::Group(inner)]), Doc::Line, Doc::text(close)])
    }
}

/// Writes `doc` as a line, or as several, of at most `width` columns.
pub(crate) fn write_line(out: &mut String, doc: &Doc, indent: usize, width: usize) {
    if matches!(doc, Doc::Text(text) if text.is_empty()) {
        out.push('\n');
        return;
    }
    out.extend(std::iter::repeat_n(' ', indent));
    write(out, doc, indent, width);
    out.push('\n');
}

/// Writes `doc` behind the `indent` columns that are there.
fn write(out: &mut String, doc: &Doc, indent: usize, width: usize) {
    let mut column = indent;
    let mut stack: Vec<(usize, bool, &Doc)> = vec![(indent, true, doc)];
    while let Some((indent, broken, doc)) = stack.pop() {
        match doc {
            Doc::Text(text) => {
                out.push_str(text);
                column += text.chars().count();
            }
            Doc::Break | Doc::Line | Doc::Space if broken || *doc == Doc::Break => {
                out.push('\n');
                out.extend(std::iter::repeat_n(' ', indent));
                column = indent;
            }
            Doc::Break | Doc::Line => {}
            Doc::Space => {
                out.push(' ');
                column += 1;
            }
            Doc::IfBroken(text) if broken => {
                out.push_str(text);
                column += text.len();
            }
            Doc::IfBroken(_) => {}
            Doc::Cat(items) => stack.extend(items.iter().rev().map(|item| (indent, broken, item))),
            Doc::Indent(items) => stack.extend(items.iter().rev().map(|item| (indent + 4, broken, item))),
            Doc::Group(items) | Doc::Bracket(items) => {
                let broken = !fits(items, &stack, column, width);
                stack.extend(items.iter().rev().map(|item| (indent, broken, item)));
            }
        }
    }
}

/// A text on one line.
pub(crate) fn flat(doc: &Doc) -> String {
    match doc {
        Doc::Text(text) => text.clone(),
        Doc::Line | Doc::IfBroken(_) => String::new(),
        Doc::Space | Doc::Break => " ".to_owned(),
        Doc::Cat(items) | Doc::Group(items) | Doc::Bracket(items) | Doc::Indent(items) => {
            items.iter().map(flat).collect()
        }
    }
}

/// Whether `items` on one line, and what follows up to the next break, end before the margin.
fn fits(items: &[Doc], rest: &[(usize, bool, &Doc)], mut column: usize, width: usize) -> bool {
    let mut stack: Vec<(bool, &Doc)> = rest.iter().map(|(_, broken, doc)| (*broken, *doc)).collect();
    stack.extend(items.iter().rev().map(|item| (false, item)));
    while let Some((broken, doc)) = stack.pop() {
        match doc {
            Doc::Text(text) => column += text.chars().count(),
            Doc::Break => return true,
            Doc::Line | Doc::Space if broken => return true,
            Doc::Line => {}
            Doc::Space => column += 1,
            Doc::IfBroken(text) if broken => column += text.len(),
            Doc::IfBroken(_) => {}
            Doc::Cat(items) | Doc::Indent(items) => stack.extend(items.iter().rev().map(|item| (broken, item))),
            Doc::Bracket(items) => stack.extend(items.iter().rev().map(|item| (broken, item))),
            Doc::Group(items) => stack.extend(items.iter().rev().map(|item| (false, item))),
        }
        if column > width {
            return false;
        }
    }
    true
}
