//! An array of objects: lines and columns from one, columns in Unicode scalars.

use std::io::{self, Write};

use serde::Serialize;
use tileops_analyzer::text::{TextRange, TextSize};

use super::write_json;
use crate::diagnostic::{Diagnostic, Level, Outcome, Related};
use crate::source::Source;

#[derive(Serialize)]
struct Item<'d> {
    file: &'d str,
    entry: Option<&'d str>,
    code: &'d str,
    path: &'d str,
    subject: &'d str,
    severity: Level,
    message: &'d str,
    help: Option<&'d str>,
    related: Vec<Place<'d>>,
    range: Range,
    byte_range: [u32; 2],
}

#[derive(Serialize)]
struct Place<'d> {
    file: &'d str,
    message: &'d str,
    range: Range,
    byte_range: [u32; 2],
}

#[derive(Serialize)]
struct Range {
    start: Position,
    end: Position,
}

#[derive(Serialize)]
struct Position {
    line: u32,
    column: u32,
}

impl Range {
    fn of(source: &Source, range: TextRange) -> Self {
        let position = |offset: TextSize| {
            let at = source.line_column(offset);
            Position { line: at.line + 1, column: at.column + 1 }
        };
        Range { start: position(range.start()), end: position(range.end()) }
    }
}

fn bytes(range: TextRange) -> [u32; 2] {
    [range.start().into(), range.end().into()]
}

impl<'d> Place<'d> {
    fn of(related: &'d Related) -> Self {
        let Related { source, range, message } = related;
        Place { file: &source.path, message, range: Range::of(source, *range), byte_range: bytes(*range) }
    }
}

impl<'d> Item<'d> {
    fn of(diagnostic: &'d Diagnostic) -> Self {
        Item {
            file: &diagnostic.source.path,
            entry: diagnostic.entry.as_deref(),
            code: diagnostic.code(),
            path: &diagnostic.path,
            subject: &diagnostic.subject,
            severity: diagnostic.level,
            message: &diagnostic.message,
            help: diagnostic.help.as_deref(),
            related: diagnostic.related.iter().map(Place::of).collect(),
            range: Range::of(&diagnostic.source, diagnostic.range),
            byte_range: bytes(diagnostic.range),
        }
    }
}

pub(super) fn render(outcome: &Outcome, out: &mut dyn Write) -> io::Result<()> {
    let items: Vec<Item<'_>> = outcome.diagnostics.iter().map(Item::of).collect();
    write_json(&items, out)
}
