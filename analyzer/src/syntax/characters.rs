//! Characters that YAML forbids, and those that only some readers take for line breaks.

use std::borrow::Cow;

use super::scan::span;
use crate::defect::{Findings, codes};
use crate::text::TextRange;

/// How many runs of such characters are told one by one.
const TOLD: usize = 8;

/// A text without forbidden characters.
pub(super) struct Clean<'t> {
    /// The text, each byte of a forbidden character replaced by an `x`, so that offsets stay.
    pub(super) text: Cow<'t, str>,
    /// Where those characters stand, in order.
    pub(super) damage: Vec<TextRange>,
}

/// Whether PyYAML refuses `c` wherever it stands.
fn is_forbidden(c: char) -> bool {
    !matches!(c, '\t' | '\n' | '\r' | ' '..='~' | '\u{85}' | '\u{a0}'..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..)
}

/// Whether `c` ends a line to YAML 1.1 and not to YAML 1.2.
fn is_old_break(c: char) -> bool {
    matches!(c, '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// Reports the characters of `text` that no reader takes, or that readers take differently, and replaces the former.
pub(super) fn clean<'t>(text: &'t str, findings: &mut Findings) -> Clean<'t> {
    let mut runs: Vec<(char, TextRange)> = Vec::new();
    let unusual = |b: u8| !matches!(b, b'\t' | b'\n' | b'\r' | b' '..=b'~');
    let mut at = 0;
    while let Some(skip) = text.as_bytes().get(at..).and_then(|rest| rest.iter().position(|&b| unusual(b))) {
        let start = at + skip;
        // Everything skipped is ASCII, so a character starts here.
        let Some(c) = text.get(start..).and_then(|rest| rest.chars().next()) else { break };
        at = start + c.len_utf8();
        if is_forbidden(c) || is_old_break(c) {
            match runs.last_mut() {
                Some((last, range)) if *last == c && usize::from(range.end()) == start => {
                    *range = span(range.start().into(), at);
                }
                _ => runs.push((c, span(start, at))),
            }
        }
    }
    for &(c, range) in runs.iter().take(TOLD) {
        let name = format!("U+{:04X}", u32::from(c));
        let (message, help) = if is_forbidden(c) {
            (
                format!("the character {name} cannot stand in YAML"),
                format!("remove it, or write it as an escape in double quotes: {}", escape(c)),
            )
        } else {
            let message =
                format!("the character {name} ends a line to PyYAML (YAML 1.1), but not to readers of YAML 1.2");
            (message, format!("write it as an escape in double quotes: {}", escape(c)))
        };
        findings.report(&codes::YAML_CHARACTER, range, "", name, message).help(help);
    }
    if let [_, .., (_, last)] = runs.get(TOLD..).unwrap_or_default() {
        let message = format!("{} more places hold characters that YAML does not allow", runs.len() - TOLD);
        findings.report(&codes::YAML_CHARACTER, *last, "", "", message);
    }
    let damage: Vec<TextRange> = runs.iter().filter(|(c, _)| is_forbidden(*c)).map(|&(_, range)| range).collect();
    if damage.is_empty() {
        return Clean { text: Cow::Borrowed(text), damage };
    }
    let mut owned = String::with_capacity(text.len());
    let mut from = 0;
    for range in &damage {
        let (start, end) = (usize::from(range.start()), usize::from(range.end()));
        owned.push_str(text.get(from..start).unwrap_or_default());
        owned.extend(std::iter::repeat_n('x', end - start));
        from = end;
    }
    owned.push_str(text.get(from..).unwrap_or_default());
    Clean { text: Cow::Owned(owned), damage }
}

fn escape(c: char) -> String {
    let code = u32::from(c);
    if code < 0x100 { format!("`\\x{code:02X}`") } else { format!("`\\u{code:04X}`") }
}
