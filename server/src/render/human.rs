//! Reports for people: the source lines, what is marked in them, and what to write instead.

use std::io::{self, Write};

use annotate_snippets::{AnnotationKind, Group, Level, Origin, Renderer, Snippet, normalize_untrusted_str};
use tileops_analyzer::text::{TextRange, TextSize};

use super::{Style, statistics};
use crate::config::ConfigNote;
use crate::diagnostic::{self, Diagnostic, Outcome};
use crate::source::Source;

/// How far apart two places of a file are still shown in one excerpt, in lines.
const NEAR: u32 = 40;
/// How much of a long line is shown before and behind what is marked, in bytes.
const AROUND: usize = 30;
/// The longest line that is shown whole, in bytes.
const LONG: usize = 2_000;

pub(super) fn render(outcome: &Outcome, style: &Style, out: &mut dyn Write) -> io::Result<()> {
    let renderer = renderer(style.styled);
    for diagnostic in &outcome.diagnostics {
        writeln!(out, "{}\n", block(diagnostic, &renderer))?;
    }
    if style.statistics && !outcome.diagnostics.is_empty() {
        writeln!(out, "{}", statistics(outcome))?;
    }
    writeln!(out, "{}", outcome.summary())?;
    match outcome.fixable {
        None | Some((0, 0)) => Ok(()),
        Some((safe, 0)) => writeln!(out, "[*] {safe} fixable with --fix"),
        Some((0, other)) => writeln!(out, "[*] {other} fixable with --fix --unsafe-fixes"),
        Some((safe, other)) => writeln!(out, "[*] {safe} fixable with --fix, {other} more with --unsafe-fixes"),
    }
}

fn renderer(styled: bool) -> Renderer {
    if styled { Renderer::styled() } else { Renderer::plain() }
}

/// What a configuration file needs said.
pub(crate) fn config_note(note: &ConfigNote, styled: bool) -> String {
    let level = if note.fatal { Level::ERROR } else { Level::WARNING };
    let title = level.primary_title(normalize_untrusted_str(&note.message));
    let mut group = excerpt(Group::with_title(title), &note.source, note.range, &[]);
    if let Some(help) = &note.help {
        group = group.element(Level::HELP.message(normalize_untrusted_str(help)));
    }
    format!("{}\n", renderer(styled).render(&[group]))
}

fn block(diagnostic: &Diagnostic, renderer: &Renderer) -> String {
    let level = match diagnostic.level {
        diagnostic::Level::Error => Level::ERROR,
        diagnostic::Level::Advisory => Level::WARNING.with_name("advisory"),
        diagnostic::Level::Unreached => Level::NOTE.with_name("unreached"),
    };
    let source = &*diagnostic.source;
    let mut title = level.primary_title(normalize_untrusted_str(&diagnostic.message));
    if let Some(rule) = diagnostic.rule {
        title = title.id(rule.name);
    }
    let line = source.lines().line(diagnostic.range.start());
    let is_near = |related: &&diagnostic::Related| {
        related.source.path == source.path
            && source.lines().line(related.range.start()).abs_diff(line) <= NEAR
            && !is_long(source, related.range)
            && !is_long(source, diagnostic.range)
    };
    let (near, far): (Vec<_>, Vec<_>) = diagnostic.related.iter().partition(is_near);
    let also: Vec<_> = near.iter().map(|related| (related.range, related.message.as_str())).collect();
    let mut group = excerpt(Group::with_title(title), source, diagnostic.range, &also);
    let place = match (&diagnostic.entry, diagnostic.path.as_str()) {
        (Some(entry), "") => Some(format!("in `{entry}`")),
        (Some(entry), path) => Some(format!("in `{entry}`, at `{path}`")),
        (None, "") => None,
        (None, path) => Some(format!("at `{path}`")),
    };
    if let Some(place) = place {
        group = group.element(Level::NOTE.message(normalize_untrusted_str(&place)));
    }
    if let Some(help) = &diagnostic.help {
        group = group.element(Level::HELP.message(normalize_untrusted_str(help)));
    }
    let mut groups = vec![group];
    for related in far {
        let title = Level::NOTE.secondary_title(normalize_untrusted_str(&related.message));
        groups.push(excerpt(Group::with_title(title), &related.source, related.range, &[]));
    }
    renderer.render(&groups)
}

/// Adds the lines of `source` that hold `range` and the ranges of `also`, each of which has a label.
fn excerpt<'s>(group: Group<'s>, source: &'s Source, range: TextRange, also: &[(TextRange, &str)]) -> Group<'s> {
    let marked = first_line(source, range);
    if is_long(source, range) {
        let at = source.line_column(range.start());
        let origin = Origin::path(&*source.path).line(at.line as usize + 1).char_column(at.column as usize + 1);
        let text = normalize_untrusted_str(&around(source, marked));
        return group.element(origin).element(Level::NOTE.message(format!("the line is long; here it reads `{text}`")));
    }
    let ranges: Vec<TextRange> = also.iter().map(|(range, _)| first_line(source, *range)).chain([marked]).collect();
    let lines = ranges.iter().map(|range| source.lines().line(range.start()));
    let first = lines.clone().min().unwrap_or(0);
    let last = lines.max().unwrap_or(0);
    let window = TextRange::new(source.lines().line_start(first), source.lines().line_start(last + 1));
    let text = source.slice(window).trim_end_matches(['\n', '\r']);
    let span = |range: TextRange| {
        let within = |offset: TextSize| usize::from(offset.max(window.start()) - window.start()).min(text.len());
        within(range.start())..within(range.end())
    };
    let mut snippet = Snippet::source(text)
        .path(&*source.path)
        .line_start(first as usize + 1)
        .annotation(AnnotationKind::Primary.span(span(marked)));
    for ((_, message), range) in also.iter().zip(&ranges) {
        let label = normalize_untrusted_str(message);
        snippet = snippet.annotation(AnnotationKind::Context.span(span(*range)).label(label));
    }
    group.element(snippet)
}

/// A range up to the end of its first line.
fn first_line(source: &Source, range: TextRange) -> TextRange {
    let line = source.line_range(source.lines().line(range.start()));
    let content = source.slice(line).trim_end_matches(['\n', '\r']);
    let end = line.start() + TextSize::of(content);
    TextRange::new(range.start(), range.end().min(end).max(range.start()))
}

fn is_long(source: &Source, range: TextRange) -> bool {
    usize::from(source.line_range(source.lines().line(range.start())).len()) > LONG
}

/// The part of a long line around `marked`.
fn around(source: &Source, marked: TextRange) -> String {
    let line = source.line_range(source.lines().line(marked.start()));
    let text = source.slice(line).trim_end_matches(['\n', '\r']);
    let start = usize::from(marked.start() - line.start()).min(text.len());
    let first = text.floor_char_boundary(start.saturating_sub(AROUND));
    let last = text.ceil_char_boundary((start + AROUND).min(text.len()));
    let (before, behind) = (if first > 0 { "…" } else { "" }, if last < text.len() { "…" } else { "" });
    format!("{before}{}{behind}", text.get(first..last).unwrap_or(""))
}
